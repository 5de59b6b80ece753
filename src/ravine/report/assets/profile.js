// The profile of one cluster, column by column, beside all rows or beside another cluster.
const N_CARDS = 6;
const tenth = (permille) => percent(permille / 1000, permille % 10 === 0 || permille > 100 ? 0 : 1);

// The cluster whose profile is shown: the selected one, or the first one if all rows are selected.
const profiledNode = () => (nodes[state.node].cells ? state.node : clustersAt().find((node) => nodes[node].cells) ?? null);

function drawProfile() {
  if (profiles === null) return;
  const node = profiledNode();
  if (node === null) {
    byId("profile").replaceChildren();
    return;
  }
  if (state.other !== null && (!isShown(state.other) || isCut(state.other) || state.other === node)) state.other = null;
  const isCluster = isShown(node) && !isCut(node);
  const about = nodes[node];
  const place = el("span", { class: "name-place" }, cropped(isCluster ? capitalized(fullName(node)) : `Node ${node}: ${clusterName(node)}`, 90));
  byId("profile").replaceChildren(
    el("h3", { id: "profile-title", "data-named": "profile" }, place, isCluster && !hasOwnName(node) ? renameButton(node, () => place) : ""),
    el("p", { class: "muted" }, `${counted(about.rows, "row")}, ${share(about.rows, data.n_rows)} of all rows. ${capitalized2(sentenceOf(node))}.`),
    compareControl(node),
    profileKey(node),
    el("div", { class: "features profile-cards" }, cardColumns(node).map((j) => profileCard(node, j))),
    moreColumns(),
    typicalTable(node),
  );
}

const capitalized2 = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

function compareControl(node) {
  const option = (other) => el("option", { value: other, selected: other === state.other }, cropped(fullName(other), 70));
  const others = clustersAt().filter((other) => other !== node && nodes[other].cells);
  return el("p", { class: "choose" }, el("label", {}, "Compare with ", el("select", { id: "compare", onchange: (event) => { state.other = event.target.value === "" ? null : Number(event.target.value); drawProfile(); byId("compare").focus(); } },
    el("option", { value: "" }, "all rows"), others.map(option))));
}

// Columns in which the cluster differs most, from all rows or from the other cluster.
function cardColumns(node) {
  const all = d3.range(profiles.columns.length);
  if (state.other === null) {
    const rest = d3.sort(all.filter((j) => !nodes[node].top.includes(j)), (j) => -Math.abs(cellOf(node, j)[1]));
    return [...nodes[node].top, ...rest].slice(0, state.allColumns ? all.length : N_CARDS);
  }
  const apart = (j) => d3.sum(cellOf(node, j)[2], (part, i) => Math.abs(part - cellOf(state.other, j)[2][i]));
  return d3.sort(all, (j) => -apart(j)).slice(0, state.allColumns ? all.length : N_CARDS);
}

const otherName = () => (state.other === null ? "all rows" : cropped(fullName(state.other), 50));
const otherCell = (j) => (state.other === null ? [profiles.columns[j].all, 0, profiles.columns[j].bins] : cellOf(state.other, j));

function profileKey(node) {
  const mark = (kind, text) => el("li", {}, el("i", { class: `mark ${kind}`, "aria-hidden": "true" }), text);
  return el("ul", { class: "swatches" }, mark("filled", isCut(node) ? `node ${node}` : cropped(fullName(node), 50)), mark("outlined", otherName()));
}

function profileCard(node, j) {
  const column = profiles.columns[j];
  const [text, , bins] = cellOf(node, j);
  const [otherText, , otherBins] = otherCell(j);
  const picture = column.levels ? levelBars(column, bins, otherBins) : histogram(column, bins, otherBins);
  return el("div", { class: "feature card" },
    el("div", { class: "name" }, named("b", column.name, {}, 40), column.used ? null : el("span", {}, "not used")),
    el("p", { class: "figures" }, el("b", {}, text), el("span", {}, `${state.other === null ? "all rows" : `cluster ${numberOf(state.other)}`}: ${otherText}`)),
    picture);
}

const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes, title) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (title) made.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: title }));
  return made;
}

// Bars of the cluster, and the outline of what it is compared with. Outer bins also hold what is beyond.
function histogram(column, bins, others) {
  const n = bins.length;
  if (n === 0) return el("p", { class: "note" }, "No values to draw.");
  const highest = Math.max(...bins, ...others, 1);
  const [width, height] = [240, 64];
  const x = (i) => (i * width) / n;
  const y = (part) => height - 1 - ((height - 3) * part) / highest;
  const { edges, beyond } = column;
  const range = (i) => `${i === 0 && beyond[0] ? "below " : `${edges[i]} to `}${i === n - 1 && beyond[1] ? "and beyond" : edges[i + 1]}`;
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${column.name}: histogram of the cluster and of ${otherName()}` });
  const outline = `M0,${height - 1}${others.map((part, i) => `L${x(i)},${y(part)}L${x(i + 1)},${y(part)}`).join("")}L${width},${height - 1}`;
  picture.append(
    ...bins.map((part, i) => shape("rect", { class: "bar-own", x: x(i) + 0.5, width: Math.max(x(1) - 1, 0.5), y: y(part), height: height - 1 - y(part) })),
    shape("path", { class: "bar-other", d: outline, "vector-effect": "non-scaling-stroke" }),
    ...bins.map((part, i) => shape("rect", { class: "bar-touch", x: x(i), width: x(1), y: 0, height }, `${range(i)}: ${tenth(part)}; ${otherName()}: ${tenth(others[i])}`)),
  );
  return el("div", {}, picture, el("div", { class: "ends" }, el("span", {}, beyond[0] ? `${edges[0]} and below` : edges[0]), el("span", {}, beyond[1] ? `${edges[n]} and beyond` : edges[n])));
}

// Shares of the levels, the most frequent in the cluster first; a line marks the share of what it is compared with.
function levelBars(column, bins, others) {
  const shown = d3.sort(d3.range(bins.length).filter((i) => bins[i] > 0 || others[i] >= 10), (i) => -bins[i]).slice(0, 6);
  return el("ul", { class: "levels" }, shown.map((i) => el("li", { title: `${column.levels[i]}: ${tenth(bins[i])}; ${otherName()}: ${tenth(others[i])}` },
    named("span", column.levels[i], { class: "level" }, 24),
    el("span", { class: "track", "aria-hidden": "true" }, el("i", { style: { width: `${bins[i] / 10}%` } }), el("b", { style: { left: `${others[i] / 10}%` } })),
    el("span", { class: "number" }, tenth(bins[i])))));
}

function moreColumns() {
  const n = profiles.columns.length;
  const left = profiles.left_out > 0 ? ` ${counted(profiles.left_out, "column")} that tell${profiles.left_out === 1 ? "s" : ""} less about the clusters ${profiles.left_out === 1 ? "is" : "are"} left out of this page.` : "";
  const button = n <= N_CARDS ? null : el("button", { type: "button", class: "quiet", id: "all-columns", "aria-expanded": String(state.allColumns), onclick: () => { state.allColumns = !state.allColumns; drawProfile(); byId("all-columns").focus(); } }, state.allColumns ? `Show the ${N_CARDS} most different columns` : `Show all ${n} columns`);
  return el("p", { class: "note more" }, button, left);
}

function typicalTable(node) {
  const about = nodes[node];
  if (about.typical.length === 0) return "";
  const heads = [el("th", { scope: "col" }, rowHead), ...about.top.map((j) => named("th", profiles.columns[j].name, { scope: "col" }, 24))];
  const row = (number, i) => el("tr", {}, named("td", rowName(number), {}, 40), about.typical_values[i].map((value) => named("td", value, {}, 30)));
  return rowTable("typical", "Typical rows", `The rows closest to the mean of the ${data.noun}, with the columns in which it differs most.${rowNote}`, heads, about.typical.map(row), false);
}
