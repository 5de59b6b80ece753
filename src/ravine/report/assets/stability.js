// How well refits on other samples of the rows found the clusters again, and how many clusters they found.
const { stability } = data;

// What is known about a cluster of the fit; nothing about the nodes above.
const foundAgain = (node) => stability?.clusters[cutOfFit().number.get(node)] ?? null;
const foundText = ({ found, compared }) => `${found} of ${compared}`;

function againNote() {
  if (stability === null) return "";
  const rest = showsFit() ? "" : ` It is known for the ${counted(nClusters, "cluster")} of the fit.`;
  return ` Found again: in how many of ${counted(stability.n_refits, "sample")} of the rows a refit has nearly the same cluster.${rest}`;
}

function foundCell(node) {
  const again = foundAgain(node);
  if (again === null) return "–";
  return el("span", {}, el("span", { class: "part" }, foundText(again)), again.verdict === "stable" ? null : el("span", { class: "part muted" }, again.verdict));
}

function foundNote(again) {
  const overlap = again.mean === null ? "" : `, mean overlap ${again.mean.toFixed(2)}`;
  const isNamed = showsFit() && again.verdict !== "stable" && again.together.length > 0; // by numbers of the fit
  const together = !isNamed ? "" : `, often together with ${listed(again.together.map(groupName))}`;
  return `${again.verdict}${overlap}${together}`;
}

function drawStability() {
  byId("stable").textContent = stability?.sentence ?? "";
  byId("stability-lead").textContent = stability?.lead ?? data.stability_hint;
  if (stability === null) byId(data.stability_hint === "" ? "stability" : "stability-title").remove();
  if (stability === null || stability.counts === null) return;
  byId("stability").append(chartFigure({
    title: "Number of clusters in the refits", level: "h4", attributes: { class: "small" },
    note: "The filled bar is the number of clusters of this model.",
    draw: drawNumbers,
  }));
}

function drawNumbers(width) {
  const bars = stability.counts.map(([k, n]) => ({ k, n }));
  const [least, most] = d3.extent([nClusters, ...bars.map((bar) => bar.k)]);
  return plot(width, `Number of clusters in ${counted(stability.n_refits, "refit")}: ${bars.map(({ k, n }) => `${k} in ${n}`).join(", ")}`, {
    height: 180, marginBottom: 38, marginTop: 20,
    x: { domain: [least - 0.8, most + 0.8], label: "number of clusters", labelAnchor: "center", labelArrow: "none", tickSize: 0, ticks: d3.ticks(least, most, Math.min(width / 40, most - least + 1)).filter(Number.isInteger), tickFormat: String },
    y: { axis: null },
    marks: [
      Plot.rectY(bars, { x1: ({ k }) => k - 0.4, x2: ({ k }) => k + 0.4, y: "n", stroke: "var(--accent)", fill: "var(--accent)", fillOpacity: ({ k }) => (k === nClusters ? 0.75 : 0.12) }),
      Plot.text(bars, { x: "k", y: "n", text: ({ n }) => String(n), dy: -9, fill: "var(--text)" }),
      Plot.ruleY([0], { stroke: "var(--strong-line)" }),
    ],
    opacity: { type: "identity" },
  });
}
