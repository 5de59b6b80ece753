// The clusters as a table, at the selected number of clusters.
function commonestClass(node) {
  return { code: data.classes.commonest[node], share: data.classes.commonest_rows[node] / Math.max(nodes[node].rows, 1) };
}

const columns = [
  { key: "number", title: data.noun, of: (row) => row.number },
  { key: "rows", title: "rows", number: true, of: (row) => nodes[row.node].rows },
  { key: "share", title: "share", of: (row) => nodes[row.node].rows },
  { key: "words", title: "what is typical of it" },
  { key: "typical", title: "typical rows" },
  ...(soft === null ? [] : [{ key: "unsure", title: "unsure rows", number: true, of: (row) => nodes[row.node].unsure ?? -1 }]),
  ...(stability === null ? [] : [{ key: "again", title: "found again", number: true, of: ({ node }) => (foundAgain(node)?.found ?? -1) / (foundAgain(node)?.compared || 1) }]),
  ...(data.classes === null ? [] : [{ key: "class", title: "most common class", of: (row) => commonestClass(row.node).share }]),
];

function drawClusters() {
  const rows = clustersAt().map((node, number) => ({ node, number }));
  const { by, down } = state.sort;
  const order = columns.find((column) => column.key === by).of;
  rows.sort((a, b) => (down ? -1 : 1) * (order(a) - order(b)) || a.number - b.number);
  const listed = state.allClusters ? rows : rows.slice(0, MANY);
  const largest = d3.max(rows, (row) => nodes[row.node].rows);
  const heads = columns.map((column) => {
    const sorted = column.key === by ? (down ? "descending" : "ascending") : column.of ? "none" : null;
    const title = column.of ? el("button", { type: "button", "data-key": column.key, onclick: () => sortBy(column.key) }, column.title) : column.title;
    return el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null, "aria-sort": sorted }, title);
  });
  byId("clusters").replaceChildren(el("div", { class: "clusters", "data-named": "table" },
    el("table", { role: "table", "aria-labelledby": "clusters-title" },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
      el("tbody", { role: "rowgroup" }, listed.map((row) => clusterRow(row, largest)))),
    rows.length <= MANY ? null : el("p", { class: "more" }, el("button", { type: "button", class: "quiet", id: "all-clusters", onclick: () => { state.allClusters = !state.allClusters; drawClusters(); byId("all-clusters").focus(); } }, state.allClusters ? `Show the first ${MANY}` : `Show all ${whole(rows.length)} clusters`))));
  stack(document.querySelector(".clusters"));
}

function clusterRow({ node, number }, largest) {
  const about = nodes[node];
  const cell = (attributes, ...children) => el("td", { role: "cell", ...attributes }, ...children);
  const part = about.rows / Math.max(largest, 1);
  const name = named("span", clusterName(node), { class: "cluster-name" }, NAME_LENGTH);
  const place = el("span", { class: "name-place" }, el("button", { type: "button", class: "choose-cluster", "aria-label": `${fullName(node)}: show its profile` }, hasOwnName(node) ? null : el("span", { class: "cluster-number" }, String(number)), name));
  const cells = [
    cell({ class: "which" }, el("div", { class: "which-line" }, place, hasOwnName(node) ? null : renameButton(node, () => place))),
    cell({ class: "number rows" }, whole(about.rows)),
    cell({ class: "share" }, el("div", { class: "share-bar" }, el("div", {}, el("i", { style: { width: `${100 * part}%` } })), el("span", {}, share(about.rows, data.n_rows)))),
    cell({ class: "words" }, sentenceParts(sentenceOf(node))),
    cell({ class: "typical", "data-label": "typical rows" }, about.typical.length === 0 ? "–" : el("span", {}, about.typical.map((row) => el("span", { class: "part" }, cropped(rowName(row), 18))))),
  ];
  if (soft !== null) cells.push(cell({ class: "number", "data-label": "unsure rows" }, unsureText(node)));
  if (stability !== null) cells.push(cell({ class: "number", "data-label": "found again" }, foundCell(node)));
  if (data.classes !== null) {
    const { code, share: part } = commonestClass(node);
    cells.push(cell({ class: "class", "data-label": "class" }, about.rows === 0 ? "–" : el("span", {}, className("span", code), ` (${percent(part)})`)));
  }
  return el("tr", { role: "row", class: node === state.node ? "selected" : null, "data-node": node, onclick: () => select(node, true) }, cells);
}

// The parts of a sentence, each on its own line: "median spend €950, against €465 for all".
const sentenceParts = (text) => text.split("; ").map((part) => el("span", { class: "part" }, part.replaceAll(" %", "\u00a0%")));

function sortBy(key) {
  state.sort = { by: key, down: state.sort.by === key ? !state.sort.down : key !== "number" };
  drawClusters();
  document.querySelector(`.clusters [data-key="${key}"]`).focus();
}
