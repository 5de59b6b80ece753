// How the number of clusters was chosen: the test at each node, and the sum of squares for each number.
const FAINTEST = 20;
const strength = (p) => Math.min(p > 0 ? -Math.log10(p) : FAINTEST, FAINTEST);
const choiceFigures = [];

function drawChoice() {
  const { evidence, sum_sq: sumSq, kind } = data.choice;
  if (isFlat) {
    byId("choice").remove();
    return;
  }
  if (evidence !== null) {
    const tested = evidence.nodes.map((node, i) => ({ node, p: evidence.p[i], level: evidence.levels?.[i] ?? null, confirmed: evidence.confirmed[i] }));
    const top = Math.max(3, ...tested.map((test) => strength(test.p))) * 1.08;
    const cuts = tested.filter((test) => nodes[test.node].cut).sort((a, b) => tree.rank[a.node] - tree.rank[b.node]);
    const leaves = tested.filter((test) => !nodes[test.node].cut);
    const nSilent = nClusters - leaves.length;
    if (cuts.length) choiceFigures.push(testFigure("The test at each cut", "Cuts in the order in which they were made. A higher point is a smaller p-value: stronger evidence for a valley.", cuts, top, (test) => tree.rank[test.node], "cut"));
    if (leaves.length) {
      const silent = nSilent === 0 ? "" : ` ${counted(nSilent, "cluster")} ${nSilent === 1 ? "has" : "have"} no point: no valley was found, or there are too few rows.`;
      choiceFigures.push(testFigure("The test in each cluster", `Is there another valley inside the cluster?${silent}`, leaves, top, (test) => cutAt(nClusters).number.get(test.node), "cluster"));
    }
  }
  if (sumSq !== null && kind !== "evidence" && nClusters > 1) choiceFigures.push(sumSqFigure(sumSq, kind));
  byId("choice").replaceChildren(...(choiceFigures.length ? choiceFigures : [el("p", { class: "note full" }, "No test has a p-value below 1, so there is nothing to draw.")]));
  if (choiceFigures.length === 1) choiceFigures[0].classList.add("single");
}

function testFigure(title, note, tests, top, place, noun) {
  const { level, levels } = data.choice.evidence;
  const ticks = d3.ticks(0, top, 5).filter((tick) => Number.isInteger(tick) && tick <= FAINTEST);
  const isMixed = levels !== null && tests.some((test) => test.level !== level);
  return chartFigure({
    title, note: `${note}${level === null ? "" : " Filled points are confirmed."}${isMixed ? " Short lines show the stricter level that applies below a cut that is not confirmed." : ""}`, level: "h3",
    draw: (width) => plot(width, `${title}: p-values`, {
      height: 236, marginLeft: 52, marginRight: level === null ? 12 : 74, marginBottom: 38, marginTop: 20,
      x: { type: "point", domain: tests.map(place), label: noun, labelAnchor: "center", labelArrow: "none", tickSize: 0, ticks: thinned(tests.map(place), width), padding: 0.6 },
      y: { domain: [0, top], label: null, ticks, tickSize: 0, tickFormat: (tick) => (tick === 0 ? "p = 1" : `${tick === FAINTEST ? "≤" : ""}1e-${tick}`) },
      marks: [
        Plot.gridY(ticks, { stroke: "var(--line)", strokeOpacity: 1 }),
        level === null ? null : Plot.ruleY([strength(level)], { stroke: "var(--text)", strokeDasharray: "4 3" }),
        level === null ? null : Plot.text([level], { x: null, frameAnchor: "right", y: strength, text: () => `level ${level}`, textAnchor: "start", dx: 8, fill: "var(--text)" }),
        isMixed ? Plot.tickY(tests.filter((test) => test.level !== level), { x: place, y: (test) => strength(test.level), stroke: "var(--text)" }) : null,
        Plot.ruleX(tests, { x: place, y1: 0, y2: (test) => strength(test.p), stroke: "var(--accent)", strokeOpacity: 0.35 }),
        Plot.dot(tests, {
          x: place, y: (test) => strength(test.p), r: 4.5, stroke: "var(--accent)", strokeWidth: 1.75, fill: (test) => (test.confirmed ? "var(--accent)" : "var(--bg)"),
          opacity: (test) => (noun === "cluster" || tree.rank[test.node] < state.k ? 1 : 0.35),
          title: (test) => `${noun} ${place(test)}, node ${test.node}: p = ${pText(test.p)}${test.confirmed ? ", confirmed" : ""}`,
        }),
      ],
      color: { type: "identity" }, opacity: { type: "identity" },
    }),
  });
}

function thinned(values, width) {
  const every = Math.ceil((values.length * 26) / Math.max(width - 64, 1));
  return values.filter((value, i) => i % every === 0);
}

function sumSqFigure(sumSq, kind) {
  const points = sumSq.left.map((left, i) => ({ k: i + 1, left }));
  const [chosen, last] = [points[nClusters - 1], points.at(-1)];
  const notes = ["Share of the total sum of squares that remains within the clusters, for each number of clusters. Based on the rows of the fit."];
  if (sumSq.in_deviations) notes.push("Columns are measured in standard deviations.");
  if (kind === "elbow") notes.push("The elbow is the sharpest bend: the one found most often as the end of the curve is moved.");
  return chartFigure({
    title: "Sum of squares within clusters", note: notes.join(" "), level: "h3",
    draw: (width) => plot(width, "Sum of squares within 1, 2, … clusters", {
      height: 236, marginLeft: 52, marginBottom: 38, marginTop: 20, marginRight: 24,
      x: { label: "number of clusters", labelAnchor: "center", labelArrow: "none", tickSize: 4, ticks: d3.ticks(1, last.k, Math.min(width / 50, last.k)).filter(Number.isInteger), tickFormat: String },
      y: { domain: [0, 1], label: null, tickSize: 0, ticks: 5, tickFormat: ".0%" },
      marks: [
        Plot.gridY([0, 0.2, 0.4, 0.6, 0.8, 1], { stroke: "var(--line)", strokeOpacity: 1 }),
        Plot.ruleX([state.k], { stroke: "var(--strong-line)", strokeDasharray: "4 3" }),
        Plot.line(points, { x: "k", y: "left", stroke: "var(--accent)", strokeWidth: 2 }),
        points.length <= 60 ? Plot.dot(points, { x: "k", y: "left", r: 3.5, fill: "var(--accent)", title: (point) => `${counted(point.k, "cluster")}: ${percent(point.left)}` }) : null,
        Plot.dot([chosen], { x: "k", y: "left", r: 7.5, stroke: "var(--text)", strokeWidth: 1.75 }),
        Plot.text([chosen], { x: "k", y: "left", text: () => `${kind === "elbow" ? "chosen" : kind === "asked" ? "given" : "fitted"}: ${chosen.k}`, dy: -18, ...(chosen === last ? { textAnchor: "end", dx: 8 } : { textAnchor: "start", dx: -8 }), fill: "var(--text)", fontWeight: 600 }),
      ],
    }),
  });
}
