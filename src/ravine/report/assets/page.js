// The page: fixed parts are drawn once, the others when the number of clusters or the selected node changes.
function select(node, scroll = false) {
  state.node = node;
  markInMap(node);
  showInMap(node);
  drawPanel();
  for (const row of document.querySelectorAll("tr[data-node]")) row.classList.toggle("selected", Number(row.dataset.node) === node);
  if (scroll) byId("panel").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function setClusters(k) {
  state.k = k;
  while (!isShown(state.node)) state.node = tree.parent[state.node];
  if (!isFlat) setSlider(k);
  const compared = isFlat ? `Each ${data.noun} is compared with all rows. Select one to look inside.` : k === 1 ? "There is one cluster, which holds all rows." : `${k} clusters, each compared with all rows.`;
  byId("clusters-lead").textContent = `${compared} Typical rows are the rows closest to the mean of the ${data.noun}. Spread is how far the rows lie from that mean; all rows together have spread 1.${soft === null ? "" : ` Unsure rows have a membership below ${percent(soft.sure)} in their cluster.`} Rows are numbered from 0.`;
  if (!isFlat) drawMap(true);
  showInMap(state.node);
  drawPanel();
  for (const id of ["clusters", "contingency"]) byId(id)?.classList.toggle("many", k > 200);
  drawClusters();
  drawClassesAt();
  choiceFigures.forEach(drawAgain);
}

function setSlider(k) {
  const slider = byId("k");
  slider.value = k;
  slider.setAttribute("aria-valuetext", `${k} of ${counted(nClusters, "cluster")}`);
  byId("k-value").textContent = k === nClusters ? counted(k, "cluster") : `${k} of ${nClusters}`;
}

// Without a tree there is no map and no slider. The details of a group are shown below the table.
function leaveOutTree() {
  byId("clusters-section").append(panel);
  for (const id of ["granularity", "tree-section"]) byId(id).remove();
  byId("skip").textContent = "Skip to the clusters";
  if (data.noun === "class") byId("clusters-title").textContent = "Classes";
}

function drawHeader() {
  drawFrame();
  byId("chosen").textContent = data.choice.sentence;
  if (isFlat) return;
  const slider = byId("k");
  slider.max = nClusters;
  slider.disabled = nClusters === 1;
}

function drawFooter() {
  const texts = [
    data.n_sample < data.n_rows
      ? `Counts and scores cover all ${whole(data.n_rows)} rows. Charts, descriptions, typical rows and the rows closest to a cut come from a random sample of ${whole(data.n_sample)} rows.`
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
drawChoice();
drawClasses();
setClusters(nClusters);
let wanted = null;
byId("k")?.addEventListener("input", (event) => {
  if (wanted === null) requestAnimationFrame(() => { setClusters(wanted); wanted = null; });  // a drag fires more often than the page can be drawn
  wanted = Number(event.target.value);
});
new ResizeObserver(() => drawMap(false)).observe(mapBox);
