// What the mixture says about the clusters: their ellipses, and how sure the labels of rows are.
const { soft } = data;

const isBelow = (node, above) => {
  while (node > above) node = tree.parent[node]; // children have larger numbers than their parents
  return node === above;
};

// The node that holds the rows of a leaf and is a cluster at the selected number of clusters.
function clusterOf(leaf) {
  while (!isShown(leaf)) leaf = tree.parent[leaf];
  return leaf;
}

// Outlines of the clusters below a node; none if there are too many of them to be told apart.
function outlines(node) {
  const known = new Map((nodes[node].scatter.ellipses ?? []).map(([cluster, ...ellipse]) => [cluster, ellipse]));
  const shown = clustersAt().filter((cluster) => isBelow(cluster, node));
  if (!shown.every((cluster) => known.has(cluster))) return [];
  return shown.map((cluster) => {
    const [x, y, width, height, correlation] = known.get(cluster);
    const points = d3.range(72).map((i) => (i * Math.PI) / 36).map((turn) => ({ x: x + width * Math.cos(turn), y: y + height * Math.sin(turn + Math.asin(correlation)) }));
    return { cluster, number: clusterRange(cluster)[0], x, y, points };
  });
}

function ellipseNote(count) {
  if (count === 0) return "";
  const [which, whose] = count === 1 ? ["The ellipse", "the"] : ["Each ellipse", "a"];
  return ` ${which} has the mean and the covariance of ${whose} cluster in the mixture. It holds ${percent(soft.level)} of a Gaussian cluster.`;
}

// A row may belong to a cluster on the other side of the cut only if the mixture decides.
function beyondNote(node) {
  const count = nodes[node].n_beyond;
  return soft?.decides && count > 0 ? ` Where clusters touch, the mixture decides: ${counted(count, "row")} ${count === 1 ? "lies" : "lie"} beyond the cut.` : "";
}

const ellipseMarks = (ellipses, color) => [
  ...ellipses.map((ellipse) => Plot.line(ellipse.points, { x: "x", y: "y", curve: "linear-closed", stroke: color(ellipse), strokeWidth: 2, fill: color(ellipse), fillOpacity: 0.07 })),
  Plot.text(ellipses.length > 1 ? ellipses : [], { x: "x", y: "y", text: (ellipse) => String(ellipse.number), fill: "var(--text)", stroke: "var(--bg)", strokeWidth: 4, fontSize: 14, fontWeight: 650 }),
];

const isSoftCluster = (node) => soft !== null && state.k > 1 && isShown(node) && !isCut(node);
const unsureNote = soft === null ? "" : ` Unsure rows have a membership below ${percent(soft.sure)} in their cluster.`;
const unsureText = (node) => (nodes[node].unsure === null ? "–" : percent(nodes[node].unsure));

// Memberships of a row in the clusters at the selected number, largest first after that of its own cluster.
function membershipsOf(row, own) {
  const total = d3.rollups(row.memberships, (shares) => d3.sum(shares, (part) => part[1]), ([leaf]) => clusterOf(leaf));
  const [mine, others] = [total.filter(([cluster]) => cluster === own), total.filter(([cluster]) => cluster !== own)];
  return [[own, mine[0]?.[1] ?? 0], ...others.sort((a, b) => b[1] - a[1] || a[0] - b[0])];
}

function boundaryFigure(node) {
  const title = "Rows near a boundary";
  const { boundary } = nodes[node];
  if (boundary.length === 0) return el("div", { class: "full" }, el("h4", {}, title), el("p", { class: "note" }, "None. Every row belongs almost entirely to this cluster."));
  const row = (about) => {
    const [[, own], [next, second] = [null, 0]] = membershipsOf(about, node);
    return el("tr", {},
      named("td", rowName(about.row), {}, 30), el("td", { class: "number" }, percent(own, 0)),
      el("td", {}, next === null ? "–" : clusterText(next)), el("td", { class: "number" }, percent(second, 0)),
      about.values.map((value) => named("td", value, {}, 24)),
      about.class === null ? null : className("td", about.class));
  };
  const head = (text, isNumber) => el("th", { class: isNumber ? "number" : null, scope: "col" }, text);
  const heads = [head(rowHead), head(`membership in ${clusterText(node)}`, true), head("next cluster"), head("membership in it", true),
    ...boundary[0].values.map((_, i) => named("th", profiles.columns[nodes[node].top[i]].name, { scope: "col" }, 24))];
  const note = `These rows could most easily belong to another cluster. Membership is the probability that a row belongs to a cluster (predict_proba).${rowNote}`;
  return rowTable("boundary", title, note, heads, boundary.map(row));
}
