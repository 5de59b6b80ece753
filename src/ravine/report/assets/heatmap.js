// All clusters and columns at a glance: the color says how much a cluster differs from the other rows, and how.
const LEAST_CELL = 24;
const profiles = data.profiles;
const heat = { rows: [], columns: profiles?.order ?? [], at: null, cell: { x: 0, y: 0 }, place: [0, 0] };

// Position of each leaf in an order in which similar clusters are beside each other.
const leafPlace = new Map((profiles?.nodes ?? []).map((node, i) => [node, i]));
function placeOf(node) {
  if (leafPlace.has(node)) return leafPlace.get(node);
  if (isFlat || tree.left[node] < 0) return 1e9 + node;
  return (placeOf(tree.left[node]) + placeOf(tree.right[node])) / 2;
}

// Colors of the page as numbers, for the canvas.
function colorOf(name) {
  const probe = el("i", { style: { color: `var(${name})`, display: "none" } });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const cellOf = (node, j) => nodes[node].cells[j];
const isSigned = (column) => column.kind !== "category";
const hueOf = (column, signed) => (isSigned(column) ? (signed < 0 ? "--left" : "--right") : "--class-2");
const wayOf = (column, signed) => (!isSigned(column) ? "differs" : column.kind === "date" ? (signed < 0 ? "earlier" : "later") : column.kind === "boolean" ? (signed < 0 ? "less often yes" : "more often yes") : signed < 0 ? "lower" : "higher");

function cellText(node, j) {
  const [text, signed] = cellOf(node, j);
  const column = profiles.columns[j];
  const way = Math.abs(signed) < 10 ? "much like the other rows" : `${wayOf(column, signed)}, difference ${Math.abs(signed)} of 100`;
  return `${cropped(capitalized2(fullName(node)), 90)}. ${cropped(column.name, 60)}: ${text}; all rows: ${column.all}. ${capitalized(way)}.`;
}

function drawHeat() {
  if (profiles === null) return;
  const drawn = clustersAt().filter((node) => nodes[node].cells);
  heat.rows = levels === null || drawn.every((node) => leafPlace.has(node)) ? d3.sort(drawn, placeOf) : drawn;
  const box = byId("heat");
  if (heat.rows.length === 0) {
    box.replaceChildren();
    return;
  }
  if (heat.canvas === undefined) {
    heat.canvas = el("canvas", { tabindex: 0, role: "application", "aria-label": "Heat map of clusters and columns. Arrow keys move between cells.", "aria-describedby": "heat-readout", onmousemove: onHeatMove, onclick: onHeatClick, onkeydown: onHeatKey, onfocus: () => readHeat(heat.place) });
  }
  if (!heat.canvas.isConnected) box.replaceChildren(heat.canvas);
  paintHeat();
  heat.hint ??= byId("heat-readout").textContent;
  byId("heat-readout").textContent = heat.hint;  // the cell may be gone, or have another name
  drawHeatTable();
}

function paintHeat() {
  if (profiles === null) return;
  const width = byId("heat").clientWidth;
  if (width === 0 || heat.rows.length === 0) return;
  const { rows, canvas } = heat;
  const labels = rows.map((node) => (hasOwnName(node) ? clusterName(node) : `${numberOf(node)}  ${clusterName(node)}`));
  const height = rows.length <= 25 ? 30 : rows.length <= 60 ? 19 : Math.max(3, Math.min(14, 900 / rows.length));
  const hasNames = height >= 13;
  const left = hasNames ? Math.min(d3.max(labels, (label) => widthOf(label)) + 14, width * (width < 600 ? 0.34 : 0.28)) : 6;
  const n = heat.columns.length;
  const names = heat.columns.map((j) => fitted(profiles.columns[j].name, 130));
  const widest = d3.max(names, widthOf);
  const isFlatHead = widest < Math.min(150, (width - left - 4) / n) - 8;
  const right = isFlatHead ? 4 : 0.72 * widthOf(names.at(-1)) + 4;
  const cell = Math.max(LEAST_CELL, Math.min(150, (width - left - right) / n));
  const top = isFlatHead ? 26 : Math.min(widest * 0.72 + 26, 130);
  const full = [left + n * cell + right, top + rows.length * height + 4];
  Object.assign(heat, { cell: { x: cell, y: height }, origin: [left, top] });
  const ratio = Math.min(devicePixelRatio || 1, 2);
  canvas.width = Math.round(full[0] * ratio);
  canvas.height = Math.round(full[1] * ratio);
  canvas.style.width = `${full[0]}px`;
  canvas.style.height = `${full[1]}px`;
  const hues = new Map(["--left", "--right", "--class-2", "--text", "--muted", "--accent", "--line"].map((name) => [name, colorOf(name)]));
  const brush = canvas.getContext("2d");
  brush.scale(ratio, ratio);
  brush.font = pen.font.replace("620", "500");
  brush.textBaseline = "middle";
  const gap = height > 8 ? 1 : 0;
  const hasText = cell >= 84 && height >= 24;
  rows.forEach((node, i) => {
    if (hasNames) {
      brush.fillStyle = hues.get(node === state.node ? "--accent" : "--text");
      brush.fillText(fitted(labels[i], left - 10), 2, top + (i + 0.5) * height);
    }
    heat.columns.forEach((j, at) => {
      const [text, signed] = cellOf(node, j);
      brush.globalAlpha = 1;
      brush.fillStyle = hues.get("--line");
      brush.globalAlpha = 0.35;
      brush.fillRect(left + at * cell, top + i * height, cell - 1, height - gap);
      brush.globalAlpha = Math.min(Math.abs(signed) / 100, 1) * 0.8;
      brush.fillStyle = hues.get(hueOf(profiles.columns[j], signed));
      brush.fillRect(left + at * cell, top + i * height, cell - 1, height - gap);
      brush.globalAlpha = 1;
      if (hasText) {
        brush.fillStyle = hues.get("--text");
        brush.textAlign = "center";
        brush.fillText(fitted(text.split(" (")[0].split("; ")[0].split(", ")[0], cell - 8), left + (at + 0.5) * cell, top + (i + 0.5) * height);
        brush.textAlign = "left";
      }
    });
  });
  heat.columns.forEach((j, at) => {
    brush.save();
    brush.fillStyle = hues.get(profiles.columns[j].used ? "--text" : "--muted");
    brush.translate(left + (at + 0.5) * cell, top - 9);
    if (isFlatHead) brush.textAlign = "center";
    else brush.rotate(-Math.PI / 4);
    brush.fillText(names[at], 0, 0);
    brush.restore();
  });
}

function heatPlace(event) {
  const box = heat.canvas.getBoundingClientRect();
  const at = [Math.floor((event.clientY - box.top - heat.origin[1]) / heat.cell.y), Math.floor((event.clientX - box.left - heat.origin[0]) / heat.cell.x)];
  return at[0] < 0 || at[0] >= heat.rows.length ? null : [at[0], Math.max(0, Math.min(at[1], heat.columns.length - 1))];
}

function readHeat(place) {
  heat.place = [Math.min(place[0], heat.rows.length - 1), place[1]];
  byId("heat-readout").textContent = cellText(heat.rows[heat.place[0]], heat.columns[heat.place[1]]);
}

function onHeatMove(event) {
  const place = heatPlace(event);
  if (place !== null) readHeat(place);
}

function onHeatClick(event) {
  const place = heatPlace(event);
  if (place === null) return;
  readHeat(place);
  select(heat.rows[place[0]]);
}

function onHeatKey(event) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    select(heat.rows[heat.place[0]]);
  }
  if (step === undefined) return;
  event.preventDefault();
  const clamp = (value, size) => Math.max(0, Math.min(value, size - 1));
  readHeat([clamp(heat.place[0] + step[0], heat.rows.length), clamp(heat.place[1] + step[1], heat.columns.length)]);
}

// The same as a table, made when it is opened.
function drawHeatTable() {
  const details = byId("heat-table");
  if (!details.open) {
    byId("heat-cells").replaceChildren();
    return;
  }
  const row = (node) => el("tr", {}, named("th", fullName(node), { scope: "row" }), heat.columns.map((j) => el("td", {}, cellOf(node, j)[0])));
  const all = el("tr", {}, el("th", { scope: "row" }, "all rows"), heat.columns.map((j) => el("td", {}, profiles.columns[j].all)));
  byId("heat-cells").replaceChildren(el("table", { class: "cells" },
    el("thead", {}, el("tr", {}, el("td"), heat.columns.map((j) => named("th", profiles.columns[j].name, { scope: "col" }, 30)))),
    el("tbody", {}, heat.rows.map(row), all)));
}

function drawHeatKey() {
  const kinds = new Set(profiles.columns.map((column) => column.kind));
  const scale = (hue, from, to) => el("li", {}, from, el("i", { class: "scale", style: { background: `linear-gradient(to right, color-mix(in srgb, var(${hue}) ${from === "" ? 0 : 80}%, transparent), color-mix(in srgb, var(${hue}) ${from === "" ? 80 : 0}%, transparent))` } }), to);
  const late = kinds.has("date") ? " (dates: earlier)" : "";
  const items = [];
  if ([...kinds].some((kind) => kind !== "category")) items.push(scale("--left", `lower than the other rows${late}`, ""), scale("--right", "", `higher${kinds.has("date") ? " (dates: later)" : ""}`));
  if (kinds.has("category")) items.push(scale("--class-2", "", "categories: other levels are common"));
  byId("heat-key").replaceChildren(...items);
}
