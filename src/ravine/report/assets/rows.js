// Rows of the sample: search for one, and download all of them with their clusters.
const listedRows = data.rows;
const isWholeTable = data.n_sample === data.n_rows && listedRows.number.length === data.n_rows;

// The leaf of a row in the list; rows in no cluster come after the last leaf.
const leafAt = (place) => d3.bisectRight(listedRows.ends, place);

function drawRows() {
  const what = data.identifier === null ? "its number, from 0" : `${cropped(data.identifier, 30)} or its number, from 0`;
  const scope = isWholeTable ? "All rows are listed" : `${counted(listedRows.number.length, "row")} of ${whole(data.n_rows)} are listed, drawn at random`;
  byId("rows-lead").textContent = `Find a row by ${what}, and see how it came into its ${data.noun}. ${scope}.`;
  const field = el("input", { type: "search", id: "row-search", autocomplete: "off", "aria-label": `Find a row by ${what}` });
  byId("rows").replaceChildren(
    el("form", { class: "find", role: "search", onsubmit: (event) => { event.preventDefault(); findRow(field.value); } }, field, el("button", { type: "submit", class: "quiet" }, "Find")),
    el("div", { id: "found", "aria-live": "polite" }),
    el("p", { class: "copies" },
      el("button", { type: "button", class: "quiet", id: "download-csv", onclick: () => download(fileName("csv"), "text/csv", csvText()) }, "Download rows and clusters (CSV)"),
      el("button", { type: "button", class: "quiet", id: "download-json", onclick: () => download(fileName("json"), "application/json", jsonText()) }, "Download clusters (JSON)")),
  );
}

function findRow(text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return;
  const { number, ids } = listedRows;
  const same = d3.range(number.length).filter((i) => (ids?.[i] ?? "").toLowerCase() === wanted);
  const found = same.length > 0 ? same : d3.range(number.length).filter((i) => String(number[i]) === wanted);
  const similar = found.length > 0 ? [] : d3.range(number.length).filter((i) => (ids?.[i] ?? "").toLowerCase().includes(wanted)).slice(0, 8);
  if (found.length > 0) showRow(found[0]);
  else if (similar.length > 0) byId("found").replaceChildren(el("p", { class: "note" }, "Rows with a similar name:"), el("p", { class: "copies" }, similar.map((i) => el("button", { type: "button", class: "quiet", onclick: () => showRow(i) }, cropped(rowName(number[i]), 40)))));
  else byId("found").replaceChildren(el("p", { class: "note" }, isWholeTable ? "There is no such row." : "There is no such row in the sample."));
}

function showRow(place) {
  const leaf = leafAt(place);
  const title = data.identifier === null ? `Row ${listedRows.number[place]}` : `${rowName(listedRows.number[place])} (row ${listedRows.number[place]})`;
  if (leaf >= nClusters) {
    byId("found").replaceChildren(el("p", {}, el("b", {}, title), " is an outlier and belongs to no cluster."));
    return;
  }
  const node = clusterOfPlace(place);
  byId("found").replaceChildren(
    el("p", {}, el("b", {}, title), ` is in ${fullName(node)}.`),
    isFlat ? "" : el("ol", { class: "way" }, wayTo(node).map((step) => el("li", {}, step))),
    el("p", {}, el("button", { type: "button", class: "quiet", onclick: () => select(node, true) }, `Show the ${data.noun}`)),
  );
}

// The cuts on the way from all rows to a cluster.
function wayTo(node) {
  const path = [];
  for (let below = node; tree.parent[below] >= 0; below = tree.parent[below]) path.unshift(below);
  if (path.length === 0) return ["There is one cluster, so no cut."];
  return path.map((below) => {
    const cut = tree.parent[below];
    return `Of ${counted(nodes[cut].rows, "row")}, split mainly by ${drivers(nodes[cut].features)}, it goes with ${clusterText(below)}: ${counted(nodes[below].rows, "row")}${nodes[below].sentence ? `, ${nodes[below].sentence}` : ""}.`;
  });
}

const quoted = (value) => (/[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

function clusterOfPlace(place) {
  const leaf = leafAt(place);
  if (levels !== null) return levels.parts[state.level][levels.part_of[place]];
  if (leaf >= nClusters) return null;
  return isFlat ? leafNode(leaf) : clusterOf(leafNode(leaf));
}

function csvText() {
  const heads = ["row", ...(data.identifier === null ? [] : [data.identifier]), "cluster", "cluster_name"];
  const lines = d3.sort(d3.range(listedRows.number.length), (i) => listedRows.number[i]).map((i) => {
    const node = clusterOfPlace(i);
    const id = data.identifier === null ? [] : [listedRows.ids[i] ?? ""];
    return [listedRows.number[i], ...id, node === null ? -1 : numberOf(node), node === null ? "outliers" : clusterName(node)];
  });
  return [heads, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function againRecord(node) {
  const again = foundAgain(node);
  return again === null ? {} : { found_again: again.found / again.compared, verdict: again.verdict };
}

function jsonText() {
  const rules = new Map(data.rules.list.map((rule) => [leafNode(rule.cluster), rule.text]));
  const clusters = clustersAt().map((node) => ({ cluster: numberOf(node), name: clusterName(node), rows: nodes[node].rows, share: nodes[node].rows / Math.max(data.n_rows, 1), description: sentenceOf(node), rule: rules.get(node) ?? null, typical_rows: nodes[node].typical.map(rowName), ...againRecord(node) }));
  return JSON.stringify({ title: data.title, trust: data.trust.text, n_rows: data.n_rows, clusters }, null, 2);
}

// Other clusters than those of the fit have other numbers, so their file has another name.
const fileName = (ending) => `clusters${showsFit() ? "" : `-${state.k}`}.${ending}`;

function download(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
