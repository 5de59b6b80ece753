// The page: fixed parts are drawn once, the others when the number of clusters or the selected node changes.
function select(node, scroll = false) {
  state.node = node;
  markInMap(node);
  showInMap(node);
  drawPanel();
  paintHeat();
  drawProfile();
  drawBoundaryAt();
  for (const row of document.querySelectorAll("tr[data-node]")) row.classList.toggle("selected", Number(row.dataset.node) === node);
  if (scroll) byId(profiles === null || !nodes[node].cells ? "panel" : "profile").scrollIntoView({ block: "start", behavior: "smooth" });
}

// The position of the slider is the number of clusters, or the number of a level from 1 on.
function setClusters(position) {
  if (levels !== null) setLevel(position - 1);
  else state.k = position;
  const { k } = state;
  while (!isShown(state.node)) state.node = tree.parent[state.node];
  if (!isFlat) setSlider(k);
  const compared = isFlat && data.noun === "class" ? "Each class is compared with all rows." : k === 1 ? "There is one cluster, which holds all rows." : "Each cluster is described by the columns in which it differs most from the other rows.";
  const untested = levels === null || showsFit() ? "" : " The model did not choose these clusters, and they were not tested.";
  byId("clusters-lead").textContent = `${compared} ${k === 1 ? "" : "Select one to see its profile."}`.trim() + untested;
  byId("rules-lead").textContent = `Short descriptions of the ${nClusters === 1 ? "cluster" : `${nClusters} ${data.noun === "class" ? "classes" : "clusters"}`} of the fit, to use in other tools. They do not hold for every row.${showsFit() ? "" : " The clusters that the page shows now are others, with other numbers."}`;
  byId("clusters-note").textContent = `Typical rows are the rows closest to the mean of the ${data.noun}.${rowNote}${unsureNote}${againNote()}`;
  drawClusters();
  if (!isFlat) drawWhenSeen("tree-section", () => { drawMap(true); showInMap(state.node); drawPanelSoon(); });
  else drawPanel();
  drawWhenSeen("profiles-section", () => { drawHeat(); drawProfileSoon(); });
  drawWhenSeen("classes-section", drawClassesAt);
  drawWhenSeen("choice-section", () => choiceFigures.forEach(drawAgain));
  drawWhenSeen("path-section", drawPathAt);
  drawWhenSeen("boundary-section", drawBoundaryAt);
}

// With many clusters, the charts of the selected cluster follow when the slider rests.
const whenResting = (draw) => {
  let resting = null;
  return () => {
    clearTimeout(resting);
    if (state.k <= MANY) draw();
    else resting = setTimeout(draw, 150);
  };
};
const [drawPanelSoon, drawProfileSoon] = [whenResting(() => drawPanel()), whenResting(() => drawProfile())];

// With many clusters, a part of the page is drawn when it comes into view.
const [waiting, inView] = [new Map(), new Set()];
const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) inView.add(target.id);
    else inView.delete(target.id);
    if (isIntersecting) drawWaiting(target.id);
  }
}, { rootMargin: "200px" });

function drawWaiting(id) {
  const draw = waiting.get(id);
  waiting.delete(id);
  draw?.();
}

function drawWhenSeen(id, draw) {
  waiting.set(id, draw);
  if (state.k <= MANY || inView.has(id)) drawWaiting(id);
}

function setSlider(k) {
  const slider = byId("k");
  slider.value = k;
  slider.setAttribute("aria-valuetext", `${k} of ${counted(nClusters, "cluster")}`);
  byId("k-value").textContent = k === nClusters ? counted(k, "cluster") : `${k} of ${nClusters}`;
}

// Without a tree there is no map and no slider. The details of a group are shown below the table.
function leaveOutTree() {
  byId("profiles-section").append(panel);
  byId("tree-section").remove();
  if (levels === null) byId("granularity").remove();
  if (data.noun === "class") byId("clusters-title").textContent = "Classes";
}

// All that shows a name, after a cluster was renamed.
function drawNamed() {
  drawClusters();
  drawHeat();
  drawProfile();
  drawPanel();
  drawRules();
  drawPathAt();
  drawBoundaryAt();
  if (!isFlat) drawMap(false);
}

function drawProfileFrame() {
  if (profiles === null) {
    for (const id of ["heat-key", "heat-readout", "heat", "heat-table", "profile"]) byId(id).remove();
    if (isFlat) byId("profiles-title").textContent = "Details";
    else byId("profiles-section").remove();
    return;
  }
  const some = profiles.n_rows < data.n_sample ? ` Profiles are computed from ${counted(profiles.n_rows, "row")} of the sample.` : "";
  const ignored = profiles.columns.some((column) => !column.used) ? " Columns in gray were not used to find the clusters." : "";
  byId("profiles-lead").textContent = `Every ${data.noun} and column at a glance. The stronger the color, the more the ${data.noun} differs from the other rows. Texts are the median and, in parentheses, the range of the middle half of the rows, or the most frequent values.${ignored}${some}`;
  byId("heat-readout").textContent = "Point at a cell to read it, or select a row to see its profile.";
  drawHeatKey();
  byId("heat-table").addEventListener("toggle", drawHeatTable);
  new ResizeObserver(() => paintHeat()).observe(byId("heat"));
  byId("theme").addEventListener("click", () => paintHeat());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paintHeat());
}

function drawHeader() {
  drawFrame();
  drawTrust();
  byId("chosen").textContent = data.choice.sentence;
  if (isFlat) return;
  const slider = byId("k");
  slider.max = nClusters;
  slider.disabled = nClusters === 1;
}

function drawFooter() {
  const texts = [
    data.n_sample < data.n_rows
      ? `Counts and scores cover all ${whole(data.n_rows)} rows. Charts, descriptions, rules, typical rows and the rows closest to a cut come from a random sample of ${whole(data.n_sample)} rows.`
      : `This report covers all ${counted(data.n_rows, "row")}.`,
  ];
  if (data.n_fitted !== data.n_rows) {
    const fitted = `The ${isFlat ? "model" : "tree"} was fitted on ${figure(data.n_fitted)} rows`;
    texts.push(isFlat ? `${fitted}.` : `${fitted}, or on rows with this total weight. Valley depths, p-values and sums of squares refer to those rows.`);
  }
  byId("sampled").textContent = texts.join(" ");
  byId("reproduce-by").textContent = `Make this report again ${data.reproduce.by}:`;
  byId("reproduce").textContent = data.reproduce.lines.join("\n");
}

if (isFlat) leaveOutTree();
drawHeader();
drawFooter();
if (!isFlat) drawMapKey();
drawProfileFrame();
drawRules();
drawRows();
drawColumns();
drawChoice();
drawStability();
drawClasses();
drawPath();
drawBoundary();
for (const id of ["path-section", "boundary-section", "tree-section", "profiles-section", "classes-section", "choice-section"]) if (byId(id) !== null) watch.observe(byId(id));
addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawWaiting));
setClusters(levels === null ? nClusters : levels.chosen + 1);
let wanted = null;
byId("k")?.addEventListener("input", (event) => {
  if (wanted === null) requestAnimationFrame(() => { setClusters(wanted); wanted = null; });  // a drag fires more often than the page can be drawn
  wanted = Number(event.target.value);
});
new ResizeObserver(() => { if (!waiting.has("tree-section")) drawMap(false); }).observe(mapBox);
mapBox.addEventListener("scroll", drawScrolledMap);
