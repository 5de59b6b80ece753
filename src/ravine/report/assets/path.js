// The path of a sum-of-norms model: how its rows meet as the penalty λ grows, and the clusters at a chosen λ.
const { path } = data;
const pathFigures = [];
const lambdaTicks = (lam) => (lam >= 1e-3 && lam < 1e5 ? d3.format(",~r")(lam) : `1e${Math.round(Math.log10(lam))}`);
const lambdaText = (lam) => (lam >= 1e-4 && lam < 1e6 ? d3.format(",.3~r")(lam) : d3.format(".3~g")(lam).replace("e+", "e"));

const pathLevel = () => path.levels[levels === null ? path.chosen : state.level];

function drawPath() {
  if (path === null && data.no_path === "") return;
  const section = el("section", { id: "path-section", "aria-labelledby": "path-title" }, el("h2", { id: "path-title" }, "How the rows meet"));
  byId("rules-section").before(section);
  if (path === null) {
    section.append(el("p", { class: "lead" }, data.no_path));
    return;
  }
  const idea = "Each row has a centroid, which starts at the row. A penalty λ pulls centroids of neighboring rows together. As λ grows, they meet and stay together.";
  section.append(
    el("p", { class: "lead" }, idea),
    el("p", { class: "lead", id: "path-found" }, path.sentences.join(" ")),
    el("p", { class: "lead", id: "path-at", "aria-live": "polite" }),
  );
  if (path.picture !== null) pathFigures.push(meetingFigure());
  pathFigures.push(stepsFigure());
  section.append(el("div", { class: "grid" }, pathFigures));
  if (levels !== null) drawLevelSlider();
}

// The slider at the top of the page chooses a stretch of λ.
function drawLevelSlider() {
  byId("granularity").setAttribute("aria-label", "Penalty");
  byId("granularity").classList.add("stretches");
  byId("granularity").querySelector("label").textContent = "Penalty λ";
  byId("k").max = levels.nodes.length;
}

const stretchText = ({ low, high }, from = "from ") => (low === high ? `λ = ${lambdaText(low)}` : `λ ${from}${lambdaText(low)} to ${lambdaText(high)}`);

function setLevel(level) {
  state.level = level;
  state.k = levels.nodes[level].length;
  if (!isShown(state.node)) state.node = levels.nodes[level][0];
  const chosen = level === levels.chosen ? "chosen: " : "";
  byId("k").value = level + 1;
  byId("k").setAttribute("aria-valuetext", `${chosen}${counted(state.k, "cluster")}, ${stretchText(path.levels[level])}`);
  byId("k-value").replaceChildren(counted(state.k, "cluster"), el("small", {}, `${chosen}${stretchText(path.levels[level], "")}`));
}

function drawPathAt() {
  if (path === null) return;
  const isChosen = levels === null || state.level === levels.chosen;
  byId("path-at").textContent = isChosen
    ? levels === null ? "" : "Move the slider at the top of the page to see the clusters at another λ."
    : `The page now shows the ${counted(state.k, "cluster")} for ${stretchText(pathLevel())}. The model did not choose them.`;
  pathFigures.forEach(drawAgain);
}

// The rows by cluster at the chosen level, and lines that end where they meet.
function meetingFigure() {
  const { axes, share } = path.picture;
  const note = axes.length === 1
    ? "Each line is the centroid of a row. Strong lines are those up to the λ of the page. Rings are the centroids of the clusters."
    : `Each row is a point. Lines lead to where its centroid meets others: strong lines up to the λ of the page, faint ones beyond it. Rings are the centroids of the clusters.${share === null ? "" : ` The axes are the two directions in which the rows vary most; they hold ${percent(share)} of the variance.`}`;
  return chartFigure({ title: "The path of the rows", note, level: "h3", attributes: { id: "path-picture", class: axes.length === 1 ? "full" : null }, above: el("ul", { class: "swatches" }), draw: drawMeeting });
}

function pathNode(i) {
  const { picture } = path;
  return levels === null ? picture.node[i] : levels.parts[state.level][picture.part[i]];
}

function drawMeeting(width) {
  const { picture } = path;
  const isLine = picture.axes.length === 1;
  const first = path.steps.lam[0];
  const corner = (i) => (isLine ? { x: Math.max(picture.lam[i], first), y: picture.corners[0][i] } : { x: picture.corners[0][i], y: picture.corners[1][i] });
  const now = pathLevel().lam;
  const lines = d3.range(picture.lines.length / 2).map((i) => ({ from: corner(picture.lines[2 * i]), to: corner(picture.lines[2 * i + 1]), isMet: picture.lam[picture.lines[2 * i + 1]] <= now }));
  const points = d3.range(picture.n_points).map((i) => ({ ...corner(i), node: pathNode(i), row: picture.row?.[i] ?? null }));
  const centers = clustersAt().map((node, i) => ({ node, at: picture.centers[levels === null ? 0 : state.level].map((column) => column[i]) }))
    .map(({ node, at }) => (isLine ? { node, x: Math.min(Math.max(now, first), path.steps.lam.at(-1)), y: at[0] } : { node, x: at[0], y: at[1] }));
  const groups = d3.groups(points, (point) => point.node).map(([node, mine]) => ({ node, mine, ...classStyle(numberOf(node)) })).sort((a, b) => numberOf(a.node) - numberOf(b.node));
  const key = byId("path-picture")?.querySelector(".swatches");
  key?.replaceChildren(...clusterKey(groups));
  const link = (some, options) => Plot.link(some, { x1: (line) => line.from.x, y1: (line) => line.from.y, x2: (line) => line.to.x, y2: (line) => line.to.y, ...options });
  return plot(width, `Rows in ${counted(state.k, "cluster")} and the lines along which they meet`, {
    height: isLine ? 320 : sideOf(width, picture.corners), marginTop: 30, marginLeft: 46, marginBottom: 40, marginRight: 16,
    x: isLine ? { type: "log", ...lambdaAxis(width) } : { label: fitted(picture.axes[0], width - 70), labelAnchor: "center", labelArrow: "none", ticks: width / 90, tickFormat: figure, tickSize: 4 },
    y: { label: fitted(picture.axes.at(-1), width - 20), labelAnchor: "top", labelArrow: "none", tickFormat: figure, tickSize: 4, ticks: 5 },
    marks: [
      link(lines.filter((line) => !line.isMet), { stroke: "var(--strong-line)", strokeWidth: 0.8, strokeOpacity: 0.75 }),
      link(lines.filter((line) => line.isMet), { stroke: "var(--text)", strokeWidth: 1 }),
      ...groups.map(({ mine, symbol, color }) => Plot.dot(mine, {
        x: "x", y: "y", r: 3, symbol, ...(strokedSymbols.has(symbol) ? { stroke: color, strokeWidth: 1.6 } : { fill: color }), opacity: 0.85,
        title: (point) => `${point.row === null ? "" : `${rowHead} ${rowName(point.row)}, `}${cropped(fullName(point.node), 60)}`,
      })),
      ...centers.map((center) => Plot.dot([center], { x: "x", y: "y", r: 7, stroke: classStyle(numberOf(center.node)).color, strokeWidth: 2.5, title: () => `centroid of ${cropped(fullName(center.node), 60)}` })),
    ],
  });
}

// Names of the clusters in a legend; beyond the ten with their own color, one entry.
function clusterKey(groups) {
  const own = groups.filter(({ node }) => numberOf(node) < symbols.length);
  const others = groups.length - own.length;
  return [
    ...own.map(({ node, symbol, color }) => swatch(symbol, color, cropped(fullName(node), 46))),
    ...(others === 0 ? [] : [swatch("circle", "var(--class-other)", counted(others, "other cluster"))]),
  ];
}

// Height of a picture whose axes have the same unit, within limits.
function sideOf(width, [x, y]) {
  const [wide, high] = [x, y].map((values) => d3.max(values) - d3.min(values));
  return Math.round(Math.min(Math.max((width * high) / Math.max(wide, 1e-300), 0.62 * width, 240), 0.95 * width));
}

const lambdaAxis = (width) => ({ label: "penalty λ", labelAnchor: "center", labelArrow: "none", ticks: width < 420 ? 3 : 6, tickFormat: lambdaTicks, tickSize: 4 });

function stepsFigure() {
  const { size } = path.steps;
  return chartFigure({
    title: "The number of clusters", level: "h3", attributes: { id: "path-steps", class: path.picture === null || path.picture.axes.length === 1 ? "full" : null },
    note: `At each λ: all groups of rows that have met, also single rows, and groups of at least ${counted(size, "row")}. The shaded part is the λ of the page.`,
    above: el("ul", { class: "swatches" }, el("li", {}, el("i", { class: "mark step dashed", "aria-hidden": "true" }), "all groups"), el("li", {}, el("i", { class: "mark step", "aria-hidden": "true" }), `groups of at least ${counted(size, "row")}`)),
    draw: drawSteps,
  });
}

function drawSteps(width) {
  const { lam, groups, clusters } = path.steps;
  const steps = lam.map((at, i) => ({ lam: at, groups: groups[i], clusters: clusters[i] > 0 ? clusters[i] : NaN }));
  const [first, last] = [lam[0], lam.at(-1)];
  const { low, high } = pathLevel();
  const within = (at) => Math.min(Math.max(at, first), last);
  const chosen = within(path.lam);
  const counts = d3.range(0, 7).flatMap((digit) => [1, 2, 5].map((n) => n * 10 ** digit)).filter((n) => n <= Math.max(...groups, 2));
  const isRight = Math.log(chosen / first) > 0.6 * Math.log(last / first);
  return plot(width, `Number of clusters for each λ. The model has ${counted(nClusters, "cluster")} at λ = ${lambdaText(path.lam)}`, {
    height: 300, marginLeft: 46, marginBottom: 40, marginRight: 16, marginTop: 24,
    x: { type: "log", domain: [first, last], ...lambdaAxis(width) },
    y: { type: "log", domain: [0.9, Math.max(...groups, 2)], axis: null },
    marks: [
      Plot.rectX([0], { x1: within(low), x2: within(high), fill: "var(--accent)", fillOpacity: 0.16 }),
      Plot.axisY(counts, { text: whole, tickSize: 0 }),
      Plot.gridY(counts, { stroke: "var(--line)", strokeOpacity: 1 }),
      Plot.line(steps, { x: "lam", y: "groups", curve: "step-after", stroke: "var(--muted)", strokeDasharray: "4 3", strokeWidth: 1.5 }),
      Plot.line(steps, { x: "lam", y: "clusters", curve: "step-after", stroke: "var(--accent)", strokeWidth: 2.5 }),
      Plot.ruleX([chosen], { stroke: "var(--text)", strokeWidth: 1.5 }),
      Plot.text([chosen], { x: (at) => at, frameAnchor: "top", dy: -14, dx: isRight ? 4 : -4, textAnchor: isRight ? "end" : "start", text: () => `λ of the model: ${lambdaText(path.lam)}`, fill: "var(--text)", fontWeight: 600 }),
    ],
  });
}
