"""Grow a tree of cuts, the most promising leaf first.

Rows move by index: beside the data there is one permutation of the rows, one side for each row, and a contiguous copy
of the rows at work: those of one node, or of two children that together have no more than half of the data.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from ravine.blocks import BLOCK_CELLS, map_both
from ravine.cuts import Cut
from ravine.matrix import Bools, Floats, Matrix, Moments, moments
from ravine.tree._tree import HyperplaneTree

PAIR_CELLS = 1 << 18
"""Numbers in two children that are worth a thread each, where a search is mostly Python's."""

LEAST_DEPTH = 0.1
"""Of a valley, in the order of the leaves: a large node whose cut shows none must still have its turn."""

FindCut: TypeAlias = Callable[[Matrix, Floats, Moments], Cut | None]
"""Finds the cut of some rows, given their weights and moments; None where they should not be cut."""

Order: TypeAlias = (
    Literal["size", "value", "relative_depth", "sum_sq", "sum_sq_depth"] | Callable[[Cut, Moments], float]
)

ORDERS: dict[str, Callable[[Cut, Moments], float]] = {
    "size": lambda cut, rows: -rows.count,
    "value": lambda cut, rows: cut.value,
    "relative_depth": lambda cut, rows: -cut.relative_depth,
    "sum_sq": lambda cut, rows: -rows.sum_sq,
    "sum_sq_depth": lambda cut, rows: -rows.sum_sq * math.log1p(max(cut.relative_depth, LEAST_DEPTH)),
}

WITHOUT_CUT = ("size", "sum_sq")
"""Orders that do not ask for the cut: a leaf is searched when its turn has come, and perhaps never."""


@dataclass
class _Node:
    start: int
    stop: int
    depth: int
    credit: int
    moments: Moments
    cut: Cut | None = None
    goes_left: Bools | None = None
    children: tuple[int, int] = (-1, -1)
    rank: int = 0
    believed: bool = False
    searched: bool = False


def grow(
    X: Matrix,
    find_cut: FindCut,
    *,
    sample_weight: Floats | None = None,
    n_clusters: int | None = None,
    min_cluster_size: float = 1,
    max_depth: int | None = None,
    order: Order = "value",
    believe: Callable[[Cut, int], bool] | None = None,
    look_ahead: int = 0,
    pair_cells: float = PAIR_CELLS,
    on_split: Callable[[int], bool] | None = None,
    n_jobs: int | None = -1,
) -> HyperplaneTree:
    """Cut leaf after leaf until there are `n_clusters`, or no leaf has a cut that may be made.

    Parameters
    ----------
    X : ndarray (C-contiguous) or CSR matrix
    find_cut : callable ``(rows, weights, moments) -> Cut or None``
        The method: finds the cut of a node, or says that there is none.
    sample_weight : ndarray, optional
    n_clusters : int, optional
        Stop at this many leaves. Default: stop where nothing is left to cut.
    min_cluster_size : float, default=1
        A cut that leaves less weight than this on one side is not made.
    max_depth : int, optional
        Leaves at this depth are not cut.
    order : {"size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable ``(cut, moments) -> float``
        Which leaf is cut next: the largest, the one whose cut has the smallest objective, the deepest valley, the
        largest sum of squares, the largest product of this and the logarithm of how far the modes rise above the
        valley, or the one with the smallest number from the callable. Ties go to the older leaf.
    believe : callable ``(cut, n_unbelieved) -> bool``, optional
        The stopping test of the method; the second argument is the number of cuts just above that were not believed. A
        cut that is not believed is undone in the end, unless a cut below it is believed. Default: every cut is.
    look_ahead : int, default=0
        So many cuts in a row are made on trial below one that is not believed: the upper cuts of many clusters often
        show no valley while those below them do.
    pair_cells : float
        Two children with at least so many numbers are searched at the same time; on fewer, threads would wait for each
        other.
    on_split : callable, optional
        Called with the number of leaves after each cut; true ends the growth.
    """
    n_rows = X.shape[0]
    weights = np.ones(n_rows) if sample_weight is None else sample_weight
    row_length = X.nnz / n_rows if sparse.issparse(X) else X.shape[1]
    rank_leaf = ORDERS[order] if isinstance(order, str) else order
    cut_decides = order not in WITHOUT_CUT
    rows = np.arange(n_rows)
    nodes: list[_Node] = []
    heap: list[tuple[float, int]] = []
    n_leaves = 1

    def rows_between(start: int, stop: int) -> tuple[Matrix, Floats]:
        mine = rows[start:stop]
        return (X, weights) if len(mine) == n_rows else (X[mine], weights[mine])

    def examine(start: int, stop: int, depth: int, credit: int) -> _Node:
        """A leaf of rows[start:stop], with its cut where that decides on its turn."""
        X_node, w_node = rows_between(start, stop)
        node = _Node(start, stop, depth, credit, moments(X_node, w_node, n_jobs))
        if cut_decides and n_leaves != n_clusters and may_be_searched(node):
            search(node, X_node, w_node)
        return node

    def may_be_searched(node: _Node) -> bool:
        return (max_depth is None or node.depth < max_depth) and node.moments.count >= 2 * min_cluster_size

    def search(node: _Node, X_node: Matrix, w_node: Floats) -> None:
        """Find the cut of a leaf, and the sides of its rows if it may be made."""
        node.searched = True
        node.cut = find_cut(X_node, w_node, node.moments)
        node.believed = node.cut is not None and (believe is None or believe(node.cut, look_ahead - node.credit))
        if node.cut is not None and (node.believed or node.credit > 0):
            goes_left = node.cut.goes_left(X_node, n_jobs)
            left_weight = w_node[goes_left].sum()
            lighter_side = min(left_weight, node.moments.count - left_weight)
            if lighter_side >= min_cluster_size and goes_left.any() and not goes_left.all():
                node.goes_left = goes_left

    def add(node: _Node) -> int:
        """Number the leaf, and put it in the queue if its cut may be made, or is still to be found."""
        nodes.append(node)
        if node.goes_left is not None or (not cut_decides and may_be_searched(node)):
            # An order that does not ask for the cut is given one that may not be there.
            heapq.heappush(heap, (rank_leaf(node.cut, node.moments), len(nodes) - 1))  # type: ignore[arg-type]
        return len(nodes) - 1

    def at_once(n_pair_rows: int) -> bool:
        """Whether two leaves are searched at the same time; both hold copies of their rows."""
        n_cells = n_pair_rows * row_length
        return n_cells >= pair_cells and (2 * n_pair_rows <= n_rows or n_cells <= BLOCK_CELLS)

    add(examine(0, n_rows, 0, look_ahead))
    while heap and n_leaves != n_clusters:
        node = nodes[heapq.heappop(heap)[1]]
        if not node.searched:
            pending = [node]
            if heap and n_leaves + 1 != n_clusters:  # the next in the queue, while a thread is free
                following = nodes[heap[0][1]]
                both = node.stop - node.start + following.stop - following.start
                pending += [following] if not following.searched and at_once(both) else []
            map_both(lambda leaf: search(leaf, *rows_between(leaf.start, leaf.stop)), pending, n_jobs)
        if node.goes_left is None:
            continue
        mine = rows[node.start : node.stop]
        middle = node.start + int(node.goes_left.sum())
        rows[node.start : node.stop] = np.concatenate([mine[node.goes_left], mine[~node.goes_left]])
        node.goes_left = None
        node.rank, n_leaves = n_leaves, n_leaves + 1
        below = (node.depth + 1, look_ahead if node.believed else node.credit - 1)
        children = [(node.start, middle, *below), (middle, node.stop, *below)]
        pair_jobs = n_jobs if at_once(len(mine)) else 1
        left, right = map_both(lambda child: examine(*child), children, pair_jobs)
        node.children = (add(left), add(right))
        if on_split is not None and on_split(n_leaves):
            break
    return _assemble(_undo_unbelieved(nodes), X.shape[1])


def _undo_unbelieved(nodes: list[_Node]) -> list[_Node]:
    """Make leaves of the nodes whose cut is not believed, nor any cut below it."""
    kept = [False] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):  # children come after their parents
        node = nodes[i]
        if node.children[0] >= 0:
            kept[i] = node.believed or any(kept[child] for child in node.children)
            if not kept[i]:
                node.children = (-1, -1)
    return nodes


def _assemble(nodes: list[_Node], n_features: int) -> HyperplaneTree:
    none = Cut(np.zeros(n_features), 0.0)
    cuts = [node.cut if node.cut is not None and node.children[0] >= 0 else none for node in nodes]
    return HyperplaneTree.from_nodes(
        left=[node.children[0] for node in nodes],
        right=[node.children[1] for node in nodes],
        rank=[node.rank for node in nodes],
        normal=[cut.normal for cut in cuts],
        offset=[cut.offset for cut in cuts],
        value=[cut.value for cut in cuts],
        relative_depth=[cut.relative_depth for cut in cuts],
        p_value=[1.0 if node.cut is None else node.cut.p_value for node in nodes],
        surface=np.array([cut.surface for cut in cuts], dtype=object),
        count=[node.moments.count for node in nodes],
        mean=[node.moments.mean for node in nodes],
        sum_sq=[node.moments.sum_sq for node in nodes],
    )
