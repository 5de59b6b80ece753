// The present clusters: a table of all, and the columns of the selected one.
const FIRST_COLUMNS = 12;
const presentState = { id: null, sort: { by: "share", down: true }, all: false };
const presentColumns = [
  { key: "id", title: "cluster", of: (cluster) => cluster.id },
  { key: "share", title: "share", of: (cluster) => cluster.share },
  { key: "since", title: "since row", number: true, of: (cluster) => cluster.since },
  { key: "rows", title: "rows", number: true, of: (cluster) => cluster.rows },
  { key: "state", title: "state", of: (cluster) => (cluster.rests ? 1 : 0) },
  { key: "words", title: "what sets it apart" },
];
const stateText = (cluster) => (cluster.rests ? `vanished, last row ${whole(cluster.last)}` : "active");

function drawPresent() {
  byId("clusters-lead").textContent = `Share of the last ${counted(data.n_recent, "row")}. Each cluster is compared with all others; the description comes from the recent rows that it keeps, at most ${whole(data.window_size)}. Select a cluster to see its columns.`;
  const { by, down } = presentState.sort;
  const order = presentColumns.find((column) => column.key === by).of;
  const clusters = [...data.clusters].sort((a, b) => (down ? -1 : 1) * (order(a) - order(b)) || a.id - b.id);
  presentState.id ??= clusters[0].id;
  const largest = d3.max(clusters, (cluster) => cluster.share);
  const heads = presentColumns.map((column) => {
    const sorted = column.key === by ? (down ? "descending" : "ascending") : column.of ? "none" : null;
    const title = column.of ? el("button", { type: "button", "data-key": column.key, onclick: () => sortPresent(column.key) }, column.title) : column.title;
    return el("th", { scope: "col", role: "columnheader", class: column.number ? "number" : column.key === "state" ? "after-number" : null, "aria-sort": sorted }, title);
  });
  byId("clusters").replaceChildren(el("div", { class: "clusters" },
    el("table", { role: "table", "aria-labelledby": "clusters-title" },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
      el("tbody", { role: "rowgroup" }, clusters.map((cluster) => presentRow(cluster, largest))))));
  stack(document.querySelector(".clusters"));
  drawCluster();
}

function presentRow(cluster, largest) {
  const cell = (attributes, ...children) => el("td", { role: "cell", ...attributes }, ...children);
  const part = largest > 0 ? cluster.share / largest : 0;
  return el("tr", { role: "row", class: cluster.id === presentState.id ? "selected" : null, "data-cluster": cluster.id, onclick: () => selectCluster(cluster.id) },
    cell({ class: "which" }, bandSwatch(cluster.id), el("button", { type: "button", "aria-label": `cluster ${cluster.id}: show its columns` }, String(cluster.id))),
    cell({ class: "share" }, el("div", { class: "share-bar" }, el("div", {}, el("i", { style: { width: `${100 * part}%`, background: bandColor(cluster.id) } })), el("span", {}, percent(cluster.share, 1)))),
    cell({ class: "number", "data-label": "since row" }, whole(cluster.since)),
    cell({ class: "number", "data-label": "rows" }, whole(cluster.rows)),
    cell({ class: "after-number", "data-label": "state" }, stateText(cluster)),
    cell({ "data-label": "sets it apart" }, cluster.words || "–"));
}

function sortPresent(key) {
  const { by, down } = presentState.sort;
  presentState.sort = { by: key, down: by === key ? !down : key === "share" || key === "rows" };
  drawPresent();
  document.querySelector(`.clusters [data-key="${key}"]`).focus();
}

function selectCluster(id) {
  Object.assign(presentState, { id, all: false });
  for (const row of document.querySelectorAll("tr[data-cluster]")) row.classList.toggle("selected", Number(row.dataset.cluster) === id);
  drawCluster();
  byId("panel").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function drawCluster() {
  const cluster = data.clusters.find((one) => one.id === presentState.id);
  const fact = (name, value, small) => el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, ` ${small}`) : ""));
  const age = data.n_rows - cluster.since;
  byId("panel").replaceChildren(
    el("h3", { id: "panel-title", "aria-live": "polite" }, bandSwatch(cluster.id), `Cluster ${cluster.id}`),
    cluster.words ? el("p", { class: "muted" }, `Compared with all other clusters: ${cluster.words}.`) : "",
    el("dl", { class: "facts" },
      fact("Share", percent(cluster.share, 1), `of the last ${counted(data.n_recent, "row")}`),
      fact("Rows so far", whole(cluster.rows)),
      fact("Exists for", counted(age, "row"), `since row ${whole(cluster.since)}`),
      fact("Last row", whole(cluster.last), cluster.rests ? "vanished" : "")),
    cluster.columns.length ? el("div", { class: "grid" }, columnTable(cluster), differences(cluster)) : el("p", { class: "note" }, "It has no rows yet."),
  );
}

function columnTable(cluster) {
  const listed = presentState.all ? cluster.columns : cluster.columns.slice(0, FIRST_COLUMNS);
  const compares = cluster.columns[0].others !== null;
  const row = (about) => el("tr", {},
    featureName("th", about.feature, { scope: "row" }, 36),
    el("td", { class: "number" }, about.text[0]), el("td", { class: "number" }, about.text[1]),
    compares ? el("td", { class: "number" }, about.others) : null);
  const left = data.names.length - cluster.columns.length;
  return el("div", { class: cluster.columns.length > 1 ? "columns" : "columns full" },
    el("h4", { id: "columns-title" }, "Columns"),
    el("p", { class: "note" }, `Mean and standard deviation of its last ${counted(cluster.kept, "row")}, in the units of the data.${compares ? " Columns in which it differs most from the other clusters come first." : ""}${left > 0 ? ` ${counted(left, "column")} that differ less are not listed.` : ""}`),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": "columns-title" },
      el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "column"), el("th", { scope: "col", class: "number" }, "mean"), el("th", { scope: "col", class: "number" }, "spread"), compares ? el("th", { scope: "col", class: "number" }, "mean of others") : null)),
        el("tbody", {}, listed.map(row)))),
    listed.length < cluster.columns.length ? el("p", { class: "choose" }, el("button", { type: "button", class: "quiet", onclick: () => { presentState.all = true; drawCluster(); } }, `Show ${counted(cluster.columns.length, "column")}`)) : "");
}

function differences(cluster) {
  const bars = cluster.columns.filter((about) => Math.abs(about.difference) >= 0.005).slice(0, 8);
  if (bars.length === 0) return "";
  return barFigure(bars, "Mean of the cluster minus the mean of all other clusters, in standard deviations of all recent rows.", {});
}
