// Names of clusters, which can be changed, and of rows.
const renamed = new Map();
const NAME_LENGTH = 60;

// Groups that a user knows by a name of their own: classes, and rows in no cluster.
const hasOwnName = (node) => isFlat && node > 0 && (data.noun === "class" || groups[node - 1] === "outliers");

function givenName(node) {
  if (hasOwnName(node)) return groups[node - 1];
  return nodes[node].name ?? (node === 0 || nodes[node].rows === data.n_rows ? "all rows" : "no rows in the sample");
}

// Two clusters may have the same name; then the name ends with the number.
let known = { k: 0, level: 0, names: new Map() };
function clusterName(node) {
  if (known.k !== state.k || known.level !== state.level) {
    const twins = d3.rollup(clustersAt(), (same) => same.length, (cluster) => renamed.get(cluster) ?? givenName(cluster));
    const unique = (cluster, name) => (twins.get(name) > 1 ? `${name} (cluster ${numberOf(cluster)})` : name);
    known = { k: state.k, level: state.level, names: new Map(clustersAt().map((cluster) => [cluster, unique(cluster, renamed.get(cluster) ?? givenName(cluster))])) };
  }
  return known.names.get(node) ?? renamed.get(node) ?? givenName(node);
}

// "cluster 3: high spend"; a group with its own name is called by it alone.
const fullName = (node) => (hasOwnName(node) ? givenName(node) : `cluster ${numberOf(node)}: ${clusterName(node)}`);

const sentenceOf = (node) => nodes[node].sentence ?? (node === 0 ? "all rows" : emptyText(nodes[node]));

function rename(node, text) {
  const name = text.replace(/\s+/g, " ").trim().slice(0, 200);
  if (name === "" || name === givenName(node)) renamed.delete(node);
  else renamed.set(node, name);
  known.k = 0;
  drawNamed();
}

// A pencil that turns a name into a field to type in. `place` holds the name.
function renameButton(node, place) {
  const button = el("button", { type: "button", class: "pencil", title: "Rename", "aria-label": `Rename ${groupName(numberOf(node))}`, "data-rename": node, onclick: (event) => { event.stopPropagation(); typeName(node, place()); } }, "✎");
  return button;
}

function typeName(node, place) {
  const field = el("input", { type: "text", class: "name-field", maxlength: 200, value: renamed.get(node) ?? givenName(node), "aria-label": `Name of ${groupName(numberOf(node))}` });
  let isDone = false;
  const end = (isKept) => {
    if (isDone) return;
    isDone = true;
    const parent = field.closest("[data-named]")?.dataset.named;
    if (isKept) rename(node, field.value);
    else drawNamed();
    document.querySelector(`[data-named="${parent}"] [data-rename="${node}"]`)?.focus();
  };
  field.addEventListener("click", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();  // the focus moves to a button, which the key would press
    end(event.key === "Enter");
  });
  field.addEventListener("blur", () => end(true));
  place.replaceChildren(field);
  field.focus();
  field.select();
}

// Rows by their identifier, if the table has one.
const idOf = new Map(data.rows.ids === null ? [] : data.rows.number.map((number, i) => [number, data.rows.ids[i]]));
const rowName = (number) => idOf.get(number) ?? String(number);
const rowHead = data.identifier === null ? "row" : cropped(data.identifier, 24);
const rowNote = data.identifier === null ? " Rows are numbered from 0." : "";
