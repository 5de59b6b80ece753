// Shared by all parts of the page of a model: the state, and the shape of the tree.
const { nodes, groups } = data;
// A model without a tree has groups: node 0 holds all rows, and the other nodes are the groups.
const isFlat = groups !== null;
const tree = data.tree ?? { parent: nodes.map((_, node) => (node === 0 ? -1 : 0)) };
// A model may have several clusterings without a tree. Then the slider chooses one of these levels.
const { levels } = data;
const nClusters = isFlat ? groups.length : (nodes.length + 1) / 2;
const state = { k: nClusters, level: levels?.chosen ?? 0, node: isFlat ? 1 : 0, color: "side", sort: { by: "number", down: false }, other: null, allColumns: false, allClusters: false };

// With more clusters than this, the page draws only what can be seen.
const MANY = 150;

const isCut = (node, k = state.k) => isFlat ? node === 0 : tree.rank[node] > 0 && tree.rank[node] < k;
const isShown = (node, k = state.k) => levels !== null ? node === 0 || levels.nodes[state.level].includes(node) : tree.parent[node] < 0 || isCut(tree.parent[node], k);

// The clusters at a number of clusters, and the number of each of them.
const cuts = new Map();
function cutAt(k) {
  if (levels !== null) return levelCuts[state.level];
  if (!cuts.has(k)) {
    const clusters = d3.range(nodes.length).filter((node) => isShown(node, k) && !isCut(node, k));
    cuts.set(k, { clusters, number: new Map(clusters.map((node, i) => [node, i])) });
  }
  return cuts.get(k);
}
const levelCuts = (levels?.nodes ?? []).map((clusters) => ({ clusters, number: new Map(clusters.map((node, i) => [node, i])) }));
const cutOfFit = () => (levels === null ? cutAt(nClusters) : levelCuts[levels.chosen]);
const showsFit = () => (levels === null ? state.k === nClusters : state.level === levels.chosen);
const clustersAt = (k = state.k) => cutAt(k).clusters;
const numberOf = (node) => cutAt(state.k).number.get(node) ?? -1;

// Numbers of the clusters below a node, at the selected number of clusters.
function clusterRange(node) {
  let [first, last] = [node, node];
  while (isCut(first)) first = tree.left[first];
  while (isCut(last)) last = tree.right[last];
  return [numberOf(first), numberOf(last)];
}

const groupName = (number) => (isFlat && levels === null ? groups[number] : `cluster ${number}`);

function clusterText(node) {
  const [first, last] = clusterRange(node);
  return first === last ? `cluster ${first}` : `clusters ${first}–${last}`;
}
const className = (tag, code, attributes) => named(tag, data.classes.names[code], attributes);
