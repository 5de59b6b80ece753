// The tree: leaves next to each other, the root on top. It is laid out again for every number of clusters.
const LARGEST_DISC = 26;
const WIDEST_LABEL = 168;
const valley = (node) => nodes[node].relative_depth / (1 + nodes[node].relative_depth);
const linkWidth = (fall) => 1.25 + 6.75 * fall;
const isConfirmed = new Map((data.choice.evidence?.nodes ?? []).map((node, i) => [node, data.choice.evidence.confirmed[i]]));
const isUnsure = (node) => data.choice.kind === "evidence" && nodes[node].cut && isConfirmed.get(node) === false;

const mapBox = byId("map");
const mapSvg = d3.select(mapBox).append("svg").attr("role", "group").attr("aria-label", "Tree of clusters");
const linkLayer = mapSvg.append("g");
const nodeLayer = mapSvg.append("g");

function layOut(width) {
  const clusters = clustersAt();
  const shown = d3.range(nodes.length).filter((node) => isShown(node));
  const spacing = Math.min(Math.max((width - 32) / clusters.length, 46), 132);
  const isTight = spacing < 78;
  const deepest = d3.max(shown, (node) => tree.depth[node]);
  const levelHeight = deepest > 7 ? 70 : isTight ? 78 : 88;
  const full = Math.max(width, spacing * clusters.length + 32);
  const start = (full - spacing * clusters.length) / 2;
  const x = [];
  clusters.forEach((node, i) => (x[node] = start + spacing * (i + 0.5)));
  for (const node of [...shown].reverse()) if (isCut(node)) x[node] = (x[tree.left[node]] + x[tree.right[node]]) / 2;
  const largest = Math.min(LARGEST_DISC, spacing * 0.4);
  const radius = (node) => Math.max(largest * Math.sqrt(nodes[node].rows / Math.max(data.n_rows, 1)), 3.5);
  const y = (node) => 20 + LARGEST_DISC + tree.depth[node] * levelHeight;
  return { clusters, shown, spacing, isTight, width: full, height: y(shown[0]) + deepest * levelHeight + LARGEST_DISC + 46, x, y, radius };
}

function nodeLabel(node, clusters) {
  const rows = counted(nodes[node].rows, "row");
  if (!isCut(node)) return `${fullName(node)}, node ${node}, ${rows}`;
  return `node ${node}, ${rows}, split mainly by ${nameOf(nodes[node].features[0].feature)}`;
}

function drawMap(animate) {
  const width = mapBox.clientWidth;
  if (width === 0) return;
  const at = layOut(width);
  const seen = nodesInView(at);
  const labels = labelCuts({ ...at, shown: seen });
  const isSeen = new Set(seen);
  const isStill = !animate || state.k > MANY || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const moved = (selection) => (isStill ? selection : selection.transition().duration(260));
  mapSvg.attr("width", at.width).attr("height", at.height).attr("viewBox", `0 0 ${at.width} ${at.height}`);

  const path = (node) => {
    const parent = tree.parent[node];
    return d3.linkVertical()({
      source: [at.x[parent], at.y(parent) + at.radius(parent)],
      target: [at.x[node], at.y(node) - at.radius(node)],
    });
  };
  const links = linkLayer.selectAll("path").data(at.shown.slice(1).filter((node) => isSeen.has(node) || isSeen.has(tree.parent[node])), (node) => node);
  links.exit().remove();
  const drawn = links.enter().append("path").attr("class", (node) => (valley(tree.parent[node]) > 0 ? "link" : "link flat"))
    .attr("stroke-width", (node) => linkWidth(valley(tree.parent[node]))).attr("d", path);
  moved(links.merge(drawn)).attr("d", path);

  const groups = nodeLayer.selectAll("g").data(seen, (node) => node);
  groups.exit().remove();
  const entered = groups.enter().append("g").attr("role", "button").attr("data-node", (node) => node)
    .attr("transform", (node) => `translate(${at.x[node]},${at.y(node)})`)
    .on("click", (event, node) => select(node)).on("keydown", onMapKey);
  entered.append("title");
  entered.append("circle").attr("class", "touch");
  entered.append("circle").attr("class", "ring");
  entered.append("circle").attr("class", "disc");
  entered.append("text");
  const all = entered.merge(groups);
  all.order();
  all.attr("class", (node) => `node ${isCut(node) ? "" : "leaf"} ${isCut(node) && isUnsure(node) ? "unsure" : ""}`)
    .attr("aria-label", (node) => nodeLabel(node, at.clusters));
  markInMap(state.node);
  all.select("title").text((node) => (isCut(node) ? data.names[nodes[node].features[0].feature] : sentenceOf(node)));
  moved(all).attr("transform", (node) => `translate(${at.x[node]},${at.y(node)})`);
  all.select(".touch").attr("r", (node) => Math.max(at.radius(node) + 4, 16));
  all.select(".ring").attr("r", (node) => at.radius(node) + 4.5);
  moved(all.select(".disc")).attr("r", at.radius);
  all.select("text").each(function (node) {
    const text = d3.select(this).text(null);
    if (isCut(node)) {
      const { isLeft, text: name } = labels.get(node);
      text.attr("text-anchor", isLeft ? "end" : "start").attr("x", (isLeft ? -1 : 1) * (at.radius(node) + 11)).attr("y", 4);
      text.append("tspan").attr("class", "strong").text(name);
    } else {
      const below = at.radius(node) + 18;
      text.attr("text-anchor", "middle").attr("x", 0).attr("y", below);
      const number = numberOf(node);
      text.append("tspan").attr("class", "strong").attr("x", 0).attr("y", below).text(at.isTight ? number : fitted(`${number} ${clusterName(node)}`, at.spacing - 10));
      const rows = compact(nodes[node].rows);
      text.append("tspan").attr("x", 0).attr("y", below + 15).text(at.isTight ? rows : `${rows} row${nodes[node].rows === 1 ? "" : "s"}`);
    }
  });
}

// Of many clusters, the nodes that are on the screen or near it. A wide map is drawn again when it was scrolled.
let drawnAt = 0;
function nodesInView(at) {
  if (state.k <= MANY) return at.shown;
  const [width, left] = [mapBox.clientWidth, mapBox.scrollLeft];
  drawnAt = left;
  return at.shown.filter((node) => node === state.node || (at.x[node] > left - width && at.x[node] < left + 2 * width));
}

function drawScrolledMap() {
  if (state.k > MANY && Math.abs(mapBox.scrollLeft - drawnAt) > mapBox.clientWidth / 2) requestAnimationFrame(() => drawMap(false));
}

// Labels of the cuts, large nodes first: on the outer side, or on the side with more room.
function labelCuts(at) {
  const labels = new Map();
  for (const level of d3.group(at.shown, (node) => tree.depth[node]).values()) {
    const taken = level.map((node) => [at.x[node] - at.radius(node) - 6, at.x[node] + at.radius(node) + 6]);
    for (const node of d3.sort(level.filter((node) => isCut(node)), (node) => -nodes[node].rows)) {
      const from = at.radius(node) + 11;
      const room = {
        left: at.x[node] - from - Math.max(4, ...taken.map(([, end]) => end).filter((end) => end < at.x[node])),
        right: Math.min(at.width - 4, ...taken.map(([start]) => start).filter((start) => start > at.x[node])) - at.x[node] - from,
      };
      const name = data.names[nodes[node].features[0].feature];
      const [outer, inner] = node > 0 && tree.left[tree.parent[node]] === node ? ["left", "right"] : ["right", "left"];
      const side = room[outer] >= Math.min(widthOf(name), WIDEST_LABEL) || room[outer] >= room[inner] ? outer : inner;
      const text = fitted(name, Math.min(room[side], WIDEST_LABEL));
      const reach = from + widthOf(text) + 8;
      if (text) taken.push(side === "left" ? [at.x[node] - reach, at.x[node] - from] : [at.x[node] + from, at.x[node] + reach]);
      labels.set(node, { isLeft: side === "left", text });
    }
  }
  return labels;
}

function onMapKey(event, node) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    select(node);
    return;
  }
  const sameDepth = d3.range(nodes.length).filter((other) => isShown(other) && tree.depth[other] === tree.depth[node]);
  const place = sameDepth.indexOf(node);
  const to = {
    ArrowUp: tree.parent[node],
    ArrowDown: isCut(node) ? tree.left[node] : -1,
    ArrowLeft: sameDepth[place - 1] ?? -1,
    ArrowRight: sameDepth[place + 1] ?? -1,
    Home: 0,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to >= 0) focusNode(to);
}

function markInMap(node) {
  nodeLayer.selectAll("g").attr("aria-pressed", (other) => String(other === node)).attr("tabindex", (other) => (other === node ? 0 : -1));
}

function focusNode(node) {
  showInMap(node);
  if (state.k > MANY) drawMap(false);
  nodeLayer.selectAll("g").attr("tabindex", (other) => (other === node ? 0 : -1));
  nodeLayer.select(`g[data-node="${node}"]`).node()?.focus({ preventScroll: true });
}

function showInMap(node) {
  if (isFlat) return;
  const { x } = layOut(mapBox.clientWidth);
  const half = mapBox.clientWidth / 2;
  if (Math.abs(x[node] - mapBox.scrollLeft - half) > half - 40) mapBox.scrollLeft = x[node] - half;
}

function drawMapKey() {
  const item = (width, draw, text) => {
    const picture = d3.create("svg").attr("width", width).attr("height", 20).attr("aria-hidden", "true");
    draw(picture);
    return el("li", {}, picture.node(), text);
  };
  const ring = (picture, filled, dash) =>
    picture.append("circle").attr("cx", 8).attr("cy", 10).attr("r", 6).attr("stroke-dasharray", dash ?? null)
      .style("fill", filled ? "var(--accent)" : "none").style("stroke", "var(--accent)").style("stroke-width", 2);
  const lines = (picture) =>
    [0, 0.5, 0.98].forEach((fall, i) =>
      picture.append("line").attr("x1", 5 + i * 30).attr("x2", 22 + i * 30).attr("y1", 10).attr("y2", 10).attr("stroke-linecap", "round")
        .style("stroke", "var(--strong-line)").style("stroke-width", linkWidth(fall)).style("stroke-dasharray", fall ? "none" : "3 4"));
  byId("map-key").append(
    item(16, (picture) => ring(picture, true), "a cluster"),
    ...(nClusters > 1 ? [item(16, (picture) => ring(picture, false), "a cut, with the column that drives the split most")] : []),
    ...(d3.range(nodes.length).some(isUnsure) ? [item(16, (picture) => ring(picture, false, "3 3"), "a cut that is not confirmed by itself")] : []),
    ...(nClusters > 1 ? [item(90, lines, "line width: no valley at the cut, half as dense as on the sides, nearly empty")] : []),
  );
}
