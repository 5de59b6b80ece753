"""Cells far outside of their column in out-of-core data. Searches for cuts move them in, as they do in memory."""

from ravine._matrix import Floats, Matrix
from ravine._outofcore._node import ChunkedNode
from ravine._scaling import EDGE_SEED, edges_by, n_edge_rows


def without_far_cells(root: ChunkedNode) -> ChunkedNode:
    """Return the node of all rows with the cells far outside moved in; the same node if there are none.

    If there are some, the given node is of no use any more; see `Chunks.moved_in`.
    """
    extent, moments = root.whole.extent, root.moments
    edges = edges_by(extent.low, extent.high, moments.mean, root.squares / moments.count, lambda: _edge_rows(root))
    return root if edges is None else ChunkedNode.root(root.whole.chunks.moved_in(edges))


def _edge_rows(root: ChunkedNode) -> tuple[Matrix, Floats]:
    most = n_edge_rows(len(root.moments.mean))
    some = root.fetch() if root.n_rows <= most else root.draw(most, EDGE_SEED)
    return some.X, some.weights
