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

const symbols = ["circle", "triangle", "square", "diamond", "cross", "star", "wye", "hexagon", "times", "plus"];
const strokedSymbols = new Set(["times", "plus"]);
const classStyle = (rank) =>
  rank < symbols.length ? { symbol: symbols[rank], color: `var(--class-${rank})` } : { symbol: "circle", color: "var(--class-other)" };

// The same marks in a legend as in the chart.
function swatch(symbol, color, text) {
  const isStroked = strokedSymbols.has(symbol);
  const picture = d3.create("svg").attr("width", 12).attr("height", 12).attr("viewBox", "-6 -6 12 12").attr("aria-hidden", "true");
  const shapes = {
    circle: d3.symbolCircle, triangle: d3.symbolTriangle, square: d3.symbolSquare, diamond: d3.symbolDiamond,
    cross: d3.symbolCross, star: d3.symbolStar, wye: d3.symbolWye, plus: d3.symbolPlus, times: d3.symbolTimes,
    hexagon: { draw: (context, size) => {
      const r = Math.sqrt(size / 2.6);
      d3.range(6).forEach((i) => context[i ? "lineTo" : "moveTo"](r * Math.sin((i * Math.PI) / 3), -r * Math.cos((i * Math.PI) / 3)));
      context.closePath();
    } },
  };
  const path = picture.append("path").attr("d", d3.symbol(shapes[symbol], 44)());
  path.style("fill", isStroked ? "none" : color).style("stroke", isStroked ? color : "none").style("stroke-width", 1.6);
  return el("li", {}, picture.node(), text);
}
