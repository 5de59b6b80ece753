// Charts: each fills the width of its container and is redrawn when that changes.
const redraw = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const chart = redraw.get(target);
    if (!target.isConnected) {
      watcher.unobserve(target);
      redraw.delete(target);
    } else if (Math.abs(contentRect.width - chart.width) > 1 && contentRect.width > 0) {
      chart.width = contentRect.width;
      target.replaceChildren(chart.draw(contentRect.width));
    }
  }
});

// A figure with a title, a note and a chart; `draw` makes the chart for a width.
function chartFigure({ title, note, extra, above, draw, level = "h4", attributes = {} }) {
  const place = el("div", { class: "chart" });
  redraw.set(place, { draw, width: 0 });
  watcher.observe(place);
  return el(
    "figure",
    attributes,
    title ? el("div", { class: "head" }, el(level, {}, title), extra) : null,
    note ? el("p", { class: "note" }, note) : null,
    above,
    place,
  );
}

const drawAgain = (figureElement) => {
  const place = figureElement.querySelector(".chart");
  const chart = redraw.get(place);
  if (chart.width > 0) place.replaceChildren(chart.draw(chart.width));
};

// A chart is one image with one label. Plot also labels its parts, on elements that may not have a label.
function plot(width, label, options) {
  const svg = Plot.plot({ width, marginLeft: 12, marginRight: 12, marginTop: 14, ...options });
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  return svg;
}

// Widths of texts in charts.
const pen = document.createElement("canvas").getContext("2d");
pen.font = `620 12px ${getComputedStyle(document.body).fontFamily}`;
const widthOf = (text) => pen.measureText(text).width;

// The text, or as much of it as fits; nothing if fewer than three letters fit.
function fitted(text, room) {
  if (widthOf(text) <= room) return text;
  let length = Math.min(text.length, 40);
  while (length > 3 && widthOf(cropped(text, length)) > room) length -= 1;
  return length > 3 ? cropped(text, length) : "";
}

// Bars of the columns in which a cluster differs most, with the differences at the right.
function barFigure(bars, note, attributes = { class: "single" }) {
  return chartFigure({
    title: "What sets it apart",
    note,
    attributes,
    draw: (width) => {
      const names = bars.map((bar) => fitted(data.names[bar.feature], Math.min(width * 0.42, 240)));
      const [lowest, highest] = d3.extent([0, ...bars.map((bar) => bar.difference)]);
      return plot(width, "Largest differences of the cluster", {
        height: 28 * bars.length + 50, marginLeft: Math.max(...names.map(widthOf)) + 18, marginRight: 56, marginBottom: 40,
        x: { domain: [Math.min(lowest, -0.25) * 1.04, Math.max(highest, 0.25) * 1.04], label: "standard deviations", labelAnchor: "center", labelArrow: "none", tickFormat: figure, ticks: width < 420 ? 2 : 4, tickSize: 4 },
        y: { type: "band", domain: d3.range(bars.length), label: null, tickSize: 0, tickFormat: (i) => names[i], padding: 0.32 },
        marks: [
          Plot.barX(bars, { x: "difference", y: (bar, i) => i, fill: "var(--accent)", fillOpacity: 0.75, title: (bar) => data.names[bar.feature] }),
          Plot.ruleX([0], { stroke: "var(--text)" }),
          Plot.text(bars, { frameAnchor: "right", y: (bar, i) => i, text: (bar) => d3.format("+.2f")(bar.difference).replace("-", "−"), textAnchor: "end", dx: 52, fill: "var(--text)" }),
        ],
      });
    },
  });
}

const symbols = ["circle", "triangle", "square", "diamond", "cross", "star", "wye", "hexagon", "times", "plus"];
const strokedSymbols = new Set(["times", "plus"]);
const classStyle = (rank) =>
  rank < symbols.length ? { symbol: symbols[rank], color: `var(--class-${rank})` } : { symbol: "circle", color: "var(--class-other)" };

const symbolShapes = {
  circle: d3.symbolCircle, triangle: d3.symbolTriangle, square: d3.symbolSquare, diamond: d3.symbolDiamond,
  cross: d3.symbolCross, star: d3.symbolStar, wye: d3.symbolWye, plus: d3.symbolPlus, times: d3.symbolTimes,
  hexagon: { draw: (context, size) => {
    const r = Math.sqrt(size / 2.6);
    d3.range(6).forEach((i) => context[i ? "lineTo" : "moveTo"](r * Math.sin((i * Math.PI) / 3), -r * Math.cos((i * Math.PI) / 3)));
    context.closePath();
  } },
};

// The same marks in a legend as in the chart.
function swatch(symbol, color, text) {
  const isStroked = strokedSymbols.has(symbol);
  const picture = d3.create("svg").attr("width", 12).attr("height", 12).attr("viewBox", "-6 -6 12 12").attr("aria-hidden", "true");
  const path = picture.append("path").attr("d", d3.symbol(symbolShapes[symbol], 44)());
  path.style("fill", isStroked ? "none" : color).style("stroke", isStroked ? color : "none").style("stroke-width", 1.6);
  return el("li", {}, picture.node(), text);
}
