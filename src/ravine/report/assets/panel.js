// The selected node: its rows along the cut, across it, by column, and closest to the cut.
const panel = byId("panel");

function drawPanel() {
  const node = state.node;
  const about = nodes[node];
  const title = isCut(node) || !isShown(node) ? `Node ${node}` : capitalized(groupName(clusterRange(node)[0]));
  panel.replaceChildren(
    el("h3", { id: "panel-title", "aria-live": "polite" }, title),
    el("p", { class: "muted" }, panelSentence(node)),
    panelFacts(node),
    about.evidence ? el("p", { class: "evidence" }, about.evidence) : "",
    about.cut && !isCut(node)
      ? el("p", { class: "notice" }, `At ${counted(state.k, "cluster")}, this node is one cluster. From ${tree.rank[node] + 1} clusters on, it is split as shown here.`)
      : "",
    el("div", { class: "grid" }, about.along === null ? el("p", { class: "full note" }, emptyText(about)) : panelFigures(node)),
  );
}

const capitalized = (text) => cropped(`${text[0].toUpperCase()}${text.slice(1)}`, 60);
const emptyText = (about) => (about.rows === 0 ? "None of the given rows belongs to this group." : "None of its rows is in the random sample that the charts show.");

function panelSentence(node) {
  const about = nodes[node];
  const apart = node === 0 ? "All rows." : about.sentence ? `${capitalized2(clusterName(node))}: ${about.sentence}.` : "";
  return about.cut ? `${apart} This split is driven by ${drivers(about.features)}.` : apart;
}

const listed = (words) => words.join(" and ");
const drivers = (features) => listed(features.slice(0, 2).filter((about, i) => i === 0 || about.share >= 0.1).map((about) => nameOf(about.feature)));

function panelFacts(node) {
  const about = nodes[node];
  const fact = (name, value, small) => el("div", {}, el("dt", {}, name), el("dd", {}, value, small ? el("small", {}, ` ${small}`) : ""));
  const facts = [fact("Rows", whole(about.rows), node === 0 ? "" : `${share(about.rows, data.n_rows)} of all rows`)];
  if (about.cut) {
    facts.push(
      valley(node) > 0
        ? fact("Valley depth", percent(valley(node)), `below the lower of the two peaks (relative depth ${figure(about.relative_depth)})`)
        : fact("Valley depth", "none", "at the cut"),
    );
  }
  const tested = (data.choice.evidence?.nodes ?? []).indexOf(node);
  if (tested >= 0) facts.push(fact("p-value", pText(data.choice.evidence.p[tested]), about.cut ? "of the valley at the cut" : "of a further cut, which is not made"));
  if (about.spread !== null && node !== 0) facts.push(fact("Spread", figure(+about.spread.toPrecision(2)), "all rows together: 1"));
  if (isSoftCluster(node) && about.unsure !== null) facts.push(fact("Unsure rows", unsureText(node), `membership below ${percent(soft.sure)}`));
  const again = isShown(node) && !isCut(node) ? foundAgain(node) : null;
  if (again !== null) facts.push(fact("Found again", foundText(again), foundNote(again)));
  return el("dl", { class: "facts" }, facts);
}

const pText = (p) => (p === 0 ? "<1e-300" : d3.format(p < 0.001 ? ".1~e" : ".2~r")(p));

function panelFigures(node) {
  const about = nodes[node];
  const figures = [alongFigure(node), scatterFigure(node)];
  if (about.cut) figures.push(featureFigure(node), nearestFigure(node));
  if (isSoftCluster(node)) figures.push(boundaryFigure(node));
  return figures;
}

// The names of the two sides of a cut; left and right for a cut that is not made at the selected number.
function sideNames(node) {
  return [tree.left[node], tree.right[node]].map((child, i) => (isCut(node) ? clusterText(child) : ["left side", "right side"][i]));
}

function sides(node) {
  const [left, right] = sideNames(node);
  const rows = (child) => ` · ${counted(nodes[child].rows, "row")}`;
  return el(
    "div",
    { class: "sides" },
    el("span", { class: "to-left" }, `◀ ${left}${rows(tree.left[node])}`),
    el("span", { class: "to-right" }, `${right}${rows(tree.right[node])} ▶`),
  );
}

function alongFigure(node) {
  const { along, cut, main } = nodes[node];
  const total = d3.sum(along.counts);
  const bins = along.counts.map((count, i) => ({
    x1: (along.first + i) * along.width, x2: (along.first + i + 1) * along.width, y: count / (total * along.width), isLeft: along.first + i < 0, count,
  }));
  const curve = (along.density?.height ?? []).map((y, i) => ({ x: along.density.low + i * along.density.step, y }));
  const label = cut ? "distance to the cut" : "distance from the mean";
  return chartFigure({
    title: cut ? "Density across the cut" : "Density along the main direction",
    note: cut ? `How far the rows of this node lie from the cut, which is at 0.${beyondNote(node)}` : main ? `In the main direction the rows vary most: mainly in ${listed(main.map((j) => nameOf(j)))}.` : "All rows are equal.",
    above: cut ? sides(node) : null,
    draw: (width) => plot(width, cut ? "Histogram and density of the distances to the cut" : "Histogram and density", {
      height: 232, marginBottom: 38, x: { label, labelAnchor: "center", labelArrow: "none", ticks: Math.max(width / 80, 3), tickFormat: figure, tickSize: 4 }, y: { axis: null },
      marks: [
        ...[true, false].map((isLeft) => Plot.rectY(bins.filter((bin) => !cut || bin.isLeft === isLeft).slice(0, cut || isLeft ? undefined : 0), {
          x1: "x1", x2: "x2", y: "y", inset: 0.5, fill: cut ? (isLeft ? "var(--left)" : "var(--right)") : "var(--accent)", fillOpacity: cut && !isLeft ? 0.62 : 0.5,
          title: (bin) => counted(bin.count, "row"),
        })),
        Plot.ruleY([0], { stroke: "var(--strong-line)" }),
        Plot.line(curve, { x: "x", y: "y", stroke: "var(--text)", strokeWidth: 1.75 }),
        cut ? Plot.ruleX([0], { stroke: "var(--text)", strokeDasharray: "4 3", strokeWidth: 1.5 }) : null,
        cut ? Plot.text([{ x: 0 }], { x: "x", frameAnchor: "top", dy: -12, text: () => "cut", fill: "var(--text)", fontWeight: 600 }) : null,
      ],
    }),
  });
}

function scatterFigure(node) {
  const { scatter, cut } = nodes[node];
  if (scatter === null) {
    return el("figure", {}, el("h4", {}, "Scatter plot of the rows"), el("p", { class: "note" }, "The rows vary in at most one direction, so there is no second direction to draw."));
  }
  const points = scatter.x.map((x, i) => ({ x, y: scatter.y[i], row: scatter.row[i], class: scatter.class?.[i] ?? null }));
  const byClass = data.classes !== null && state.color === "class";
  const groups = byClass ? classGroups(points) : sideGroups(node, points);
  const ellipses = outlines(node);
  const colorOf = ({ cluster }) => (byClass ? "var(--text)" : !isCut(node) ? "var(--accent)" : isBelow(cluster, tree.left[node]) ? "var(--left-text)" : "var(--right-text)");
  const switchButton = (value, text) => el("button", { type: "button", "aria-pressed": String(state.color === value), onclick: () => setColor(value) }, text);
  return chartFigure({
    title: "Scatter plot of the rows",
    note: `Vertical axis: the direction perpendicular to the horizontal one in which the rows vary most, mainly in ${listed(scatter.across.map((j) => nameOf(j)))}.${ellipseNote(ellipses.length)}`,
    extra: data.classes === null ? null : el("div", { class: "switch", role: "group", "aria-label": "Color of the points" }, switchButton("side", cut ? "by side" : "plain"), switchButton("class", "by class")),
    above: groups.length > 1 || byClass ? el("ul", { class: "swatches" }, groups.map((group) => swatch(group.symbol, group.color, group.text))) : null,
    draw: (width) => plot(width, `Scatter plot of the rows of the node${ellipses.length === 0 ? "" : `, with ${counted(ellipses.length, "ellipse")}`}`, {
      height: 250, marginBottom: 38, inset: 6, x: { label: cut ? "distance to the cut" : "distance from the mean", labelAnchor: "center", labelArrow: "none", ticks: Math.max(width / 80, 3), tickFormat: figure, tickSize: 4 },
      y: { axis: null },
      marks: [
        Plot.frame({ stroke: "var(--line)" }),
        cut ? Plot.ruleX([0], { stroke: "var(--text)", strokeDasharray: "4 3", strokeWidth: 1.5 }) : null,
        ...groups.map((group) => Plot.dot(group.points, {
          x: "x", y: "y", r: 3, symbol: group.symbol, ...(strokedSymbols.has(group.symbol) ? { stroke: group.color, strokeWidth: 1.6 } : { fill: group.color }), opacity: 0.78,
          title: (point) => `${rowHead} ${rowName(point.row)}${point.class === null ? "" : `, ${cropped(data.classes.names[point.class], 60)}`}`,
        })),
        ...ellipseMarks(ellipses, colorOf),
      ],
    }),
  });
}

function setColor(value) {
  state.color = value;
  drawPanel();
  panel.querySelector('.switch [aria-pressed="true"]').focus();
}

function sideGroups(node, points) {
  if (!nodes[node].cut) return [{ symbol: "circle", color: "var(--accent)", points, text: "" }];
  const [left, right] = sideNames(node);
  const nLeft = nodes[node].scatter.n_left;
  return [
    { symbol: "circle", color: "var(--left)", points: points.slice(0, nLeft), text: left },
    { symbol: "triangle", color: "var(--right)", points: points.slice(nLeft), text: right },
  ];
}

// The most common classes each have their own symbol, the same in every node.
const classRank = data.classes === null ? [] : (() => {
  const { shown, counts } = data.classes;
  const commonest = d3.range(shown.length).sort((a, b) => counts[0][b] - counts[0][a]).slice(0, symbols.length);
  const rank = shown.map(() => symbols.length);
  commonest.sort((a, b) => a - b).forEach((code, i) => (rank[code] = i));
  return rank;
})();

function classGroups(points) {
  const groups = d3.groups(points, (point) => classRank[data.classes.shown_as[point.class]]).sort((a, b) => a[0] - b[0]);
  return groups.map(([rank, mine]) => ({ ...classStyle(rank), points: mine, text: rank < symbols.length ? className("span", mine[0].class) : "other classes" }));
}

function featureFigure(node) {
  const [left, right] = sideNames(node);
  const cards = nodes[node].features.map((about) => {
    const total = { left: Math.max(d3.sum(about.left), 1), right: Math.max(d3.sum(about.right), 1) };
    const bars = about.left.flatMap((count, i) => [
      { i, y: count / total.left, isLeft: true, count }, { i, y: -about.right[i] / total.right, isLeft: false, count: about.right[i] },
    ]);
    const place = (i) => about.low + i * about.width;
    const chart = chartFigure({
      attributes: { class: "feature" },
      above: el("div", {},
        el("div", { class: "name" }, featureName("b", about.feature, {}, 36), el("span", {}, `${percent(about.share)} of the split`)),
        el("div", { class: "meter" }, el("i", { style: { width: `${100 * about.share}%` } }))),
      draw: (width) => plot(width, `${nameOf(about.feature)}: ${left} above the line, ${right} below`, {
        height: 116, marginTop: 6, marginBottom: 24, marginLeft: 8, marginRight: 8, x: about.kind === "date" ? { type: "utc", label: null, ticks: 3, tickSize: 3 } : { label: null, ticks: 4, tickFormat: figure, tickSize: 3 }, y: { axis: null },
        marks: [
          Plot.rectY(bars, { x1: (bar) => place(bar.i), x2: (bar) => place(bar.i + 1), y: "y", inset: 0.5, fill: (bar) => (bar.isLeft ? "var(--left)" : "var(--right)"), fillOpacity: 0.8, title: (bar) => counted(bar.count, "row") }),
          Plot.ruleY([0], { stroke: "var(--text)" }),
        ],
        color: { type: "identity" },
      }),
    });
    return chart;
  });
  return el("div", { class: "full" },
    el("h4", {}, "Columns that drive this split"),
    el("p", { class: "note" }, "Percentage: the column's share of the distance between the means of the two sides, measured perpendicular to the cut. It does not depend on the units of the columns. Bars: the share of the rows of each side that have these values." + (nodes[node].nearest_columns ? " The outer bars also hold the few values beyond them." : "")),
    el("div", { class: "sides" }, el("span", { class: "to-left" }, `▲ above the line: ${left}`), el("span", { class: "to-right" }, `▼ below the line: ${right}`)),
    el("div", { class: "features" }, cards));
}

function nearestFigure(node) {
  const { nearest, features, nearest_columns: given } = nodes[node];
  const listedColumns = given ?? features.slice(0, nearest[0]?.values.length ?? 0).map((about) => data.names[about.feature]);
  const [left, right] = sideNames(node);
  const row = (about) => el("tr", {},
    named("td", rowName(about.row), {}, 30),
    el("td", { class: "number" }, figure(about.distance)),
    el("td", {}, about.left ? `◀ ${left}` : `▶ ${right}`),
    about.values.map((value) => (typeof value === "string" ? named("td", value, {}, 30) : el("td", { class: "number" }, figure(value)))),
    about.class === null ? null : className("td", about.class));
  const heads = [
    el("th", { scope: "col" }, rowHead), el("th", { class: "number", scope: "col" }, "distance"), el("th", { scope: "col" }, "side"),
    ...listedColumns.map((name) => named("th", name, { class: given ? null : "number", scope: "col" }, 24)),
  ];
  return rowTable("nearest", "Rows closest to the cut", `These rows could most easily have ended up on the other side.${rowNote}`, heads, nearest.map(row));
}

// A table of rows, with their classes in the last column if these are known.
function rowTable(id, title, note, heads, rows, hasClass = data.classes !== null) {
  return el("div", { class: `full row-table ${id}` },
    el("h4", { id: `${id}-title` }, title),
    el("p", { class: "note" }, note),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": `${id}-title` },
      el("table", {},
        el("thead", {}, el("tr", {}, heads, hasClass ? el("th", { scope: "col" }, "class") : null)),
        el("tbody", {}, rows))));
}
