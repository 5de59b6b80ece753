"""Cells far outside of their column in out-of-core data. Searches for cuts move them in, as they do in memory."""

import numpy as np

from ravine._outofcore._node import ChunkedNode
from ravine._outofcore._reductions import FetchedRows
from ravine._scaling import NEAR, edges_of

EDGE_CELLS, EDGE_SEED = 1 << 24, 0
"""The edges of columns are those of all rows if these have at most so many numbers, and else of a sample of that size,
which is drawn with this seed."""


def without_far_cells(root: ChunkedNode) -> ChunkedNode:
    """Return the node of all rows with the cells far outside moved in; the same node if there are none.

    If there are some, the given node is of no use any more; see `Chunks.moved_in`.
    """
    extent, mean = root.whole.extent, root.moments.mean
    farthest = np.maximum(extent.high - mean, mean - extent.low)
    suspect = np.flatnonzero(farthest**2 > NEAR**2 * root.squares / root.moments.count)
    if not len(suspect):
        return root
    rows, low, high = _edge_rows(root), extent.low[suspect], extent.high[suspect]
    # The ends of all rows, with hardly any weight, say whether a cell is far outside if the rows are a sample.
    columns = np.vstack([rows.X[:, suspect].astype(np.float64), low, high])
    found = edges_of(columns, np.append(rows.weights, [np.finfo(np.float64).tiny] * 2))
    if not np.isfinite(found[2]).any():
        return root
    edges = np.outer([-np.inf, np.inf, np.inf], np.ones(len(mean)))
    edges[:, suspect] = found
    return ChunkedNode.root(root.whole.chunks.moved_in(edges))


def _edge_rows(root: ChunkedNode) -> FetchedRows:
    most = EDGE_CELLS // len(root.moments.mean)
    if root.n_rows <= most:
        return root.fetch()
    drawn = root.draw(most, EDGE_SEED)
    return FetchedRows(drawn.X, drawn.weights)
