// The boundary of a support vector model: where its function is high, its support vectors and the outliers.
const { boundary } = data;
let boundaryChart = null;

function drawBoundary() {
  if (boundary === null) return;
  const fact = (name, value, small) => el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, ` ${small}`) : ""));
  const { n_outliers: nOutliers, picture } = boundary;
  const section = el("section", { id: "boundary-section", "aria-labelledby": "boundary-title" },
    el("h2", { id: "boundary-title" }, "The boundary"),
    boundary.sentences.map((text) => el("p", { class: "lead" }, text)),
    el("dl", { class: "facts" },
      fact("Width of a bump", figure(boundary.width), `γ = ${figure(boundary.gamma)}`),
      fact("Support vectors", whole(boundary.n_vectors)),
      fact("Outliers", whole(nOutliers), `w below ${figure(boundary.offset)}`)));
  byId("rules-section").before(section);
  if (picture !== null) {
    boundaryChart = picture.axes.length === 1 ? curveFigure() : regionFigure();
    section.append(el("div", { class: "grid" }, boundaryChart));
  }
  if (nOutliers > 0) section.append(outlierTable());
}

function drawBoundaryAt() {
  if (boundary === null || boundaryChart === null) return;
  drawAgain(boundaryChart);
  const said = byId("slice-note");
  if (said !== null) said.textContent = sliceText();
}

// The slice of the selected cluster, or of the first one that has a slice.
function gridNow() {
  const { grids } = boundary.picture;
  return grids.find((grid) => grid.cluster === state.node - 1) ?? grids[0];
}

function sliceText() {
  const { cluster, agreement } = gridNow();
  const { share, n_features: nFeatures, grids } = boundary.picture;
  const other = cluster === state.node - 1 || grids.length === 1 ? "" : " There is no slice for the selected group.";
  const right = agreement === null ? "" : ` For ${percent(agreement)} of the rows of this cluster, the picture shows the right side of the boundary.`;
  return `The model has ${whole(nFeatures)} columns, and a picture has two. This is a flat slice through the row of cluster ${cluster} at which w is highest, along the two directions in which the rows vary most (${percent(share)} of the variance). Rows are drawn where they lie along these directions. A row far from the slice can look inside the boundary and be outside, or the reverse.${right}${grids.length > 1 ? " Select another cluster to see its slice." : ""}${other}`;
}

function pointGroups() {
  const { picture } = boundary;
  const points = picture.row.map((row, i) => ({ x: picture.points[0][i], y: picture.points[1]?.[i] ?? picture.height[i], row, cluster: picture.cluster[i], height: picture.height[i], isOutlier: picture.outlier[i] === 1 }));
  return d3.groups(points, (point) => point.cluster).map(([cluster, mine]) => ({ node: cluster + 1, mine, ...(hasOwnName(cluster + 1) ? { symbol: "circle", color: "var(--class-other)" } : classStyle(cluster)) })).sort((a, b) => a.node - b.node);
}

const pointTitle = (point) => `${rowHead} ${rowName(point.row)}, ${cropped(fullName(point.cluster + 1), 60)}, w = ${figure(point.height)}${point.isOutlier ? ", outlier" : ""}`;

// Filled marks inside the boundary, hollow ones outside.
const rowMarks = (groups) => groups.flatMap(({ mine, symbol, color }) => [
  Plot.dot(mine.filter((point) => !point.isOutlier), { x: "x", y: "y", r: 2.6, symbol, ...(strokedSymbols.has(symbol) ? { stroke: color, strokeWidth: 1.4 } : { fill: color }), opacity: 0.85, title: pointTitle }),
  Plot.dot(mine.filter((point) => point.isOutlier), { x: "x", y: "y", r: 4.5, symbol, stroke: color, strokeWidth: 2, fill: "var(--bg)", title: pointTitle }),
]);

function boundaryKey() {
  const { n_vectors: nVectors, picture } = boundary;
  const nDrawn = picture.vectors[0].length;
  const mark = (kind, text) => el("li", {}, el("i", { class: `mark ${kind}`, "aria-hidden": "true" }), text);
  const groups = pointGroups();
  return el("ul", { class: "swatches" },
    clusterKey(groups.filter(({ node }) => !hasOwnName(node))),
    mark("step strong", `boundary, w = ${figure(boundary.offset)}`),
    mark("hollow", "outlier"),
    mark("ring", nDrawn < nVectors ? `support vector (${nDrawn} of ${whole(nVectors)}, those that weigh most)` : "support vector"));
}

function drawnNote() {
  const { row, n_points: nPoints } = boundary.picture;
  return row.length < nPoints ? ` ${whole(row.length)} of ${counted(nPoints, "row")} are drawn.` : "";
}

function regionFigure() {
  const { picture } = boundary;
  const isSlice = picture.grids[0].cluster !== null;
  const note = `Colored regions belong to a cluster. Thin lines join places where w is the same.${drawnNote()}`;
  return chartFigure({
    title: isSlice ? "A slice through w" : "w in the two columns", level: "h3", attributes: { id: "boundary-picture", class: "full" },
    note, above: el("div", {}, isSlice ? el("p", { class: "note", id: "slice-note" }, sliceText()) : null, boundaryKey()), draw: drawRegion,
  });
}

function drawRegion(width) {
  const { picture, level } = boundary;
  const { low, high, size, heights, regions } = gridNow();
  const highest = d3.max(heights);
  const half = [0, 1].map((axis) => (high[axis] - low[axis]) / (size - 1) / 2);  // a value stands in the middle of its cell
  const inner = { width: size, height: size, x1: low[0] - half[0], y1: low[1] - half[1], x2: high[0] + half[0], y2: high[1] + half[1] };
  const contour = (values, thresholds, options) => Plot.contour(values, { ...inner, value: (v) => v, thresholds, fill: "none", ...options });
  // Negative inside other clusters: where two regions touch, each ends half-way between grid points.
  const clusters = d3.sort(new Set(regions.filter((region) => region > 0)));
  const above = (cluster) => heights.map((height, i) => (regions[i] !== 0 && regions[i] !== cluster ? level - height - 1 : height - level));
  const lines = d3.range(1, 4).map((i) => Math.min(level, 0) + (i * (highest - Math.min(level, 0))) / 4).filter((at) => at > d3.min(heights) && at < highest);
  const vectors = picture.vectors[0].map((x, i) => ({ x, y: picture.vectors[1][i] }));
  const wide = Math.min(width, 860);
  return plot(wide, `Regions of ${counted(clusters.length, "cluster")} and the boundary for outliers`, {
    height: Math.min(sideOf(wide, [[low[0], high[0]], [low[1], high[1]]]), 620), marginTop: 30, marginLeft: 46, marginBottom: 40, marginRight: 16,
    x: { domain: [low[0], high[0]], label: fitted(picture.axes[0], wide - 70), labelAnchor: "center", labelArrow: "none", ticks: wide / 90, tickFormat: figure, tickSize: 4 },
    y: { domain: [low[1], high[1]], label: fitted(picture.axes[1], wide - 20), labelAnchor: "top", labelArrow: "none", ticks: 5, tickFormat: figure, tickSize: 4 },
    color: { type: "identity" },
    marks: [
      ...clusters.map((cluster) => contour(above(cluster), [0], { fill: classStyle(cluster - 1).color, fillOpacity: 0.17 })),
      lines.length > 0 ? contour(heights, lines, { stroke: "var(--strong-line)", strokeWidth: 0.7 }) : null,
      contour(heights, [0], { stroke: "var(--text)", strokeWidth: 1.8 }),
      Plot.dot(vectors, { x: "x", y: "y", r: 6, stroke: "var(--text)", strokeWidth: 0.7 }),
      ...rowMarks(pointGroups()),
    ],
  });
}

// With one column, w is a curve over it.
function curveFigure() {
  return chartFigure({
    title: "w over the column", level: "h3", attributes: { id: "boundary-picture", class: "full" },
    note: `Each row is a point on the curve.${drawnNote()}`, above: boundaryKey(), draw: drawCurve,
  });
}

function drawCurve(width) {
  const { picture, offset, unit } = boundary;
  const { low, high, size, heights } = gridNow();
  const highest = d3.max(heights);
  const curve = heights.map((height, i) => ({ x: low[0] + (i * (high[0] - low[0])) / (size - 1), y: height * unit + offset }));
  const vectors = picture.vectors[0].map((x) => ({ x, y: 0 }));
  return plot(width, `w over ${picture.axes[0]}, and the boundary for outliers`, {
    height: 300, marginTop: 30, marginLeft: 46, marginBottom: 40, marginRight: 16,
    x: { domain: [low[0], high[0]], label: fitted(picture.axes[0], width - 70), labelAnchor: "center", labelArrow: "none", ticks: width / 90, tickFormat: figure, tickSize: 4 },
    y: { domain: [0, (highest * unit + offset) * 1.06], label: "w", labelArrow: "none", ticks: 5, tickFormat: figure, tickSize: 4 },
    marks: [
      Plot.areaY(curve, { x: "x", y: "y", fill: "var(--accent)", fillOpacity: 0.12 }),
      Plot.line(curve, { x: "x", y: "y", stroke: "var(--accent)", strokeWidth: 1.5 }),
      Plot.ruleY([offset], { stroke: "var(--text)", strokeWidth: 1.8 }),
      Plot.dot(vectors, { x: "x", y: "y", r: 5, stroke: "var(--text)", strokeWidth: 0.7 }),
      ...rowMarks(pointGroups()),
    ],
  });
}

function outlierTable() {
  const { columns, rows } = boundary.outliers;
  const head = (text, isNumber) => named("th", text, { class: isNumber ? "number" : null, scope: "col" }, 24);
  const row = (about) => el("tr", {}, named("td", rowName(about.row), {}, 30), el("td", { class: "number" }, figure(about.height)),
    el("td", {}, about.cluster < 0 ? "none" : `cluster ${about.cluster}`), about.values.map((value) => named("td", value, {}, 24)),
    about.class === null ? null : className("td", about.class));
  const some = rows.length < boundary.n_outliers ? `The ${rows.length} of ${whole(boundary.n_outliers)} rows outside the boundary where w is lowest.` : "All rows outside the boundary, those where w is lowest first.";
  return rowTable("outliers", "Outliers", `${some} The columns are those in which they are farthest out.${rowNote}`, [head(rowHead), head("w", true), head("cluster"), ...columns.map((name) => head(name))], rows.map(row));
}
