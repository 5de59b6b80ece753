// Clusters compared with known classes: scores for every number of clusters, and the table of counts.
const scoreNames = [
  { key: "nmi", name: "NMI", dash: null },
  { key: "ari", name: "ARI", dash: "1.5 3" },
  { key: "purity", name: "purity", dash: "7 3" },
  { key: "homogeneity", name: "homogeneity", dash: "4 2" },
  { key: "completeness", name: "completeness", dash: "9 3 2 3" },
];
let scoreFigure = null;

function drawClasses() {
  if (data.classes === null) {
    byId("classes-section").remove();
    return;
  }
  if (data.noun === "class") byId("classes-lead").textContent = "The known labels of the rows, compared with the predicted classes. Each score is 1 if they match exactly.";
  if (isFlat) return;
  scoreFigure = chartFigure({
    title: "Scores for every number of clusters", level: "h3", attributes: { class: "full" },
    note: "NMI uses the arithmetic mean, so it equals the V-measure: the harmonic mean of homogeneity and completeness.",
    draw: drawScores,
  });
  byId("score-chart").append(scoreFigure);
}

function drawScores(width) {
  const { scores } = data.classes;
  const lines = scoreNames.map((about, i) => ({ ...about, color: `var(--class-${i})`, points: scores[about.key].map((y, j) => ({ k: j + 1, y })) }));
  const lowest = Math.min(0, ...lines.flatMap((line) => line.points.map((point) => point.y)));
  return plot(width, "Scores for every number of clusters", {
    height: 280, marginLeft: 40, marginRight: 16, marginBottom: 38,
    x: { domain: nClusters > 1 ? [1, nClusters] : [0.5, 1.5], label: "number of clusters", labelAnchor: "center", labelArrow: "none", tickSize: 4, ticks: d3.ticks(1, nClusters, Math.min(width / 60, nClusters)).filter(Number.isInteger), tickFormat: String },
    y: { domain: [lowest, 1], label: null, tickSize: 0, ticks: 5 },
    marks: [
      Plot.gridY([0, 0.2, 0.4, 0.6, 0.8, 1], { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.ruleX([state.k], { stroke: "var(--text)", strokeDasharray: "4 3" }),
      ...lines.flatMap((line) => [
        Plot.line(line.points, { x: "k", y: "y", stroke: line.color, strokeWidth: 2, strokeDasharray: line.dash }),
        Plot.dot(line.points.filter((point) => point.k === state.k), { x: "k", y: "y", r: 4, fill: line.color }),
      ]),
    ],
  });
}

// The line style of a score, shown next to its value.
function stroke(i) {
  const picture = d3.create("svg").attr("width", 26).attr("height", 8).attr("aria-hidden", "true");
  picture.append("line").attr("x2", 26).attr("y1", 4).attr("y2", 4).attr("stroke-dasharray", scoreNames[i].dash)
    .style("stroke", `var(--class-${i})`).style("stroke-width", 2.5);
  return picture.node();
}

function drawClassesAt() {
  if (data.classes === null) return;
  const fact = ({ key, name }, i) => el("div", {}, el("dt", {}, isFlat ? "" : stroke(i), key === "nmi" ? "NMI = V-measure" : name), el("dd", {}, data.classes.scores[key][isFlat ? state.level : state.k - 1].toFixed(3)));
  byId("scores").replaceChildren(...scoreNames.map(fact));
  if (scoreFigure !== null) drawAgain(scoreFigure);
  const { shown, counts } = data.classes;
  const cell = (count, total) => el("td", { class: count === 0 ? "none" : null, style: { background: `color-mix(in srgb, var(--accent) ${Math.round((44 * count) / Math.max(total, 1))}%, transparent)` } }, whole(count));
  const row = (node, number) => el("tr", { class: node === state.node ? "selected" : null, "data-node": node },
    named("th", groupName(number), { scope: "row" }), counts[node].map((count) => cell(count, nodes[node].rows)), el("td", { class: "none" }, whole(nodes[node].rows)));
  byId("contingency").replaceChildren(el("table", { class: `contingency${shown.length > 14 ? " broad" : ""}` },
    el("thead", {}, el("tr", {}, el("td"), shown.map((name) => named("th", name, { scope: "col" })), el("th", { scope: "col" }, "total"))),
    el("tbody", {}, clustersAt().map(row))));
}
