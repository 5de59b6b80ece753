// The timeline: a band for each cluster, marks for the events, and the number of clusters.
const OTHERS = -1;
const kindSymbols = { split: "diamond", appeared: "triangle", vanished: "times", returned: "star", moved: "circle", merged: "square", drift: "cross" };
const kindText = (kind, n) => (kind === "split" || kind === "drift" ? counted(n, kind) : `${whole(n)} ${kind}`);
const clusterName = (id) => (id === OTHERS ? "others" : `cluster ${id}`);

// The color of a cluster depends on its identifier only: ten colors, each plain, lighter and darker.
function bandColor(id) {
  if (id === OTHERS) return "var(--line)";
  const color = `var(--class-${id % 10})`;
  const shade = Math.floor(id / 10) % 3;
  return shade === 0 ? color : `color-mix(in srgb, ${color} 58%, var(${shade === 1 ? "--bg" : "--text"}))`;
}

const bandSwatch = (id) => el("i", { class: "band-swatch", style: { background: bandColor(id) }, "aria-hidden": "true" });

// For each cluster, the share of the rows below its band and up to its top, in every bin.
function stackedBands() {
  const { start, ids, counts } = data.timeline;
  const totals = start.map((_, bin) => d3.sum(counts, (ofCluster) => ofCluster[bin]));
  const below = start.map(() => 0);
  return ids.map((id, k) => ({
    id,
    steps: start.map((_, bin) => {
      const low = below[bin];
      below[bin] += counts[k][bin] / totals[bin];
      return { bin, low, high: below[bin], count: counts[k][bin] };
    }),
  }));
}

function drawTimeline(width) {
  const { start, stop } = data.timeline;
  const lanes = data.kinds.map(([kind]) => kind);
  const margin = { top: 8 + 15 * lanes.length + (lanes.length ? 4 : 0), right: 24, bottom: 38, left: 40 };
  const bandHeight = Math.min(Math.max(240, 150 + 9 * data.timeline.ids.length), 460);
  const height = margin.top + bandHeight + margin.bottom;
  const x = d3.scaleLinear([0, data.n_rows], [margin.left, width - margin.right]);
  const y = d3.scaleLinear([0, 1], [margin.top + bandHeight, margin.top]);
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("viewBox", [0, 0, width, height]).attr("role", "img")
    .attr("aria-label", `Share of the rows of each cluster over ${counted(data.n_rows, "row")}, with ${counted(data.events.length, "event")}`);
  for (const band of stackedBands()) drawBand(svg, band, x, y, start, stop);
  const few = data.events.length <= 24;
  lanes.forEach((kind, lane) => {
    const middle = 8 + 15 * lane + 7;
    svg.append("line").attr("class", "lane").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", middle).attr("y2", middle);
    for (const event of data.events.filter((one) => one.kind === kind)) {
      if (few || kind === "drift") svg.append("line").attr("class", "event-line").attr("x1", x(event.row)).attr("x2", x(event.row)).attr("y1", middle).attr("y2", y(0));
      const stroked = strokedSymbols.has(kindSymbols[kind]);
      svg.append("path").attr("class", stroked ? "event stroked" : "event").attr("transform", `translate(${x(event.row)},${middle})`)
        .attr("d", d3.symbol(symbolShapes[kindSymbols[kind]], 44)()).append("title").text(`row ${whole(event.row)}: ${event.text}`);
    }
  });
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${y(0)})`).call(d3.axisBottom(x).ticks(Math.max(width / 110, 3)).tickSizeOuter(0));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(4, "%").tickSizeOuter(0));
  svg.append("text").attr("class", "axis-label").attr("x", (margin.left + width - margin.right) / 2).attr("y", height - 3).attr("text-anchor", "middle").text("row");
  return svg.node();
}

function drawBand(svg, { id, steps }, x, y, start, stop) {
  const corners = steps.flatMap((step) => [{ ...step, row: start[step.bin] }, { ...step, row: stop[step.bin] }]);
  const area = d3.area().defined((step) => step.count > 0).x((step) => x(step.row)).y0((step) => y(step.low)).y1((step) => y(step.high));
  const rows = d3.sum(steps, (step) => step.count);
  svg.append("path").attr("class", "band").attr("data-cluster", id).attr("d", area(corners)).style("fill", bandColor(id))
    .append("title").text(`${clusterName(id)}: ${counted(rows, "row")}`);
  const label = bandLabel(id, steps, x, y, start, stop);
  if (label !== null) svg.append("text").attr("class", "band-label").attr("x", label.x).attr("y", label.y).attr("dy", "0.35em").attr("text-anchor", "middle").text(label.text);
}

// Where a band has most room for its name, if there is enough of it.
function bandLabel(id, steps, x, y, start, stop) {
  for (const text of id === OTHERS ? ["others"] : [`cluster ${id}`, String(id)]) {
    const needed = widthOf(text) + 6;
    let best = { room: 13 };
    for (let i = 0; i < steps.length; i += 1) {
      let [low, high, j] = [0, 1, i];
      for (; j < steps.length; j += 1) {
        low = Math.max(low, steps[j].low);
        high = Math.min(high, steps[j].high);
        if (x(stop[j]) - x(start[i]) >= needed) break;
      }
      const room = y(low) - y(high);
      if (j < steps.length && room > best.room) best = { room, text, x: (x(start[i]) + x(stop[j])) / 2, y: (y(low) + y(high)) / 2 };
    }
    if (best.text) return best;
  }
  return null;
}

function drawNumber(width) {
  const { start, stop, n_clusters: numbers } = data.timeline;
  const corners = numbers.flatMap((n, bin) => [{ row: start[bin], n }, { row: stop[bin], n }]);
  return plot(width, "Number of clusters over time", {
    height: 150, marginLeft: 40, marginRight: 24, marginBottom: 38, x: { domain: [0, data.n_rows], label: "row", labelAnchor: "center", labelArrow: "none", ticks: Math.max(width / 110, 3), tickSize: 4, tickFormat: whole },
    y: { domain: [0, d3.max(numbers) + 1], label: null, ticks: d3.ticks(0, d3.max(numbers) + 1, 4).filter(Number.isInteger), tickFormat: whole, tickSize: 0, grid: true },
    marks: [Plot.line(corners, { x: "row", y: "n", stroke: "var(--accent)", strokeWidth: 2 })],
  });
}

function drawTimelines() {
  const width = data.timeline.stop[0] - data.timeline.start[0];
  byId("timeline-lead").textContent = `The height of a band is the cluster's share of the rows at that time, in steps of ${counted(width, "row")}. A row counts for the cluster to which it was assigned when it came. Marks above the bands are events, at the rows after which they were reported.`;
  const kinds = data.kinds.map(([kind, n]) => swatch(kindSymbols[kind], "var(--text)", kindText(kind, n)));
  byId("timeline").replaceChildren(
    chartFigure({ above: kinds.length ? el("ul", { class: "swatches" }, kinds) : null, draw: drawTimeline, attributes: { class: "timeline" } }),
    chartFigure({ title: "Number of clusters", level: "h3", note: "A cluster counts until its last row.", draw: drawNumber, attributes: { class: "timeline" } }),
  );
}
