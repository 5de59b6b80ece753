"""Grow a tree of cuts, the most promising leaf first.

In-memory rows move by index. Besides the data, memory holds one permutation of the rows, one side per row, and a
contiguous copy of the rows being processed: those of one node, or of two children with at most half of the data
together.
"""

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from ravine._blocks import BLOCK_CELLS, map_items
from ravine._matrix import Bools, Floats, Matrix, Moments, fingerprint, moments_of
from ravine._ties import pop_first
from ravine.cuts import Cut
from ravine.cuts._cut import RoughCut
from ravine.cuts._pursuit import is_small
from ravine.tree._tree import HyperplaneTree

PAIR_CELLS = 1 << 18
"""Two children with at least this many numbers are searched on separate threads; a search is mostly Python."""

LEAST_DEPTH = 0.1
"""Minimum depth of a valley in the order of the leaves: a large node whose cut shows no valley must still get its
turn."""

FindCut: TypeAlias = Callable[[Matrix, Floats, Moments], Cut | None]
"""Finds the cut of rows, given their weights and moments; None if they should not be cut."""

FindRoughCut: TypeAlias = Callable[[Matrix, Floats, Moments], Cut | RoughCut[Any] | None]
"""Finds a cut as `FindCut` does, but may search a sample of the rows only."""

FinishCut: TypeAlias = Callable[[Matrix, Floats, Moments, RoughCut[Any]], Cut | None]
"""Finishes a cut that was found on a sample of the rows."""

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
"""Orders that do not need the cut: a leaf is searched only when it is its turn."""


class NodeRows(ABC):
    """The rows of the nodes of a growing tree, wherever they are stored.

    This class decides what a node is: `root` returns the first node, `children` the others.
    """

    n_features: int

    @abstractmethod
    def root(self) -> Any:
        """Return the node of all rows."""

    def fetch(self, node: Any) -> Any:
        """Return the rows of a node as the other methods take them; by default the node itself."""
        return node

    @abstractmethod
    def moments_of(self, rows: Any) -> Moments:
        """Return the moments of fetched rows."""

    @abstractmethod
    def find_cut(self, rows: Any, moments: Moments) -> Cut | RoughCut[Any] | None:
        """Return the cut of fetched rows; None if they should not be cut."""

    @abstractmethod
    def finish_cut(self, rows: Any, moments: Moments, rough: RoughCut[Any]) -> Cut | None:
        """Finish a cut of fetched rows that was found on a sample of them."""

    @abstractmethod
    def divide(self, rows: Any, cut: Cut) -> tuple[float, Any] | None:
        """Return the weight on the left of a cut, and the argument of `children`; None if all rows lie on one side."""

    @abstractmethod
    def children(self, node: Any, division: Any) -> tuple[Any, Any]:
        """Return the nodes on both sides of a cut, from the result of `divide`."""

    def at_once(self, nodes: Sequence[Any]) -> bool:
        """Return whether two nodes are searched at the same time."""
        return False

    def map(self, function: Callable[[Any], Any], nodes: Sequence[Any], n_jobs: int | None) -> list[Any]:
        """Call a function on two nodes, at the same time if that helps."""
        return map_items(function, nodes, n_jobs if self.at_once(nodes) else 1)


class HeldRows(NodeRows):
    """In-memory rows; a node is a slice of their permutation, and `fetch` returns its rows and weights."""

    def __init__(
        self,
        X: Matrix,
        weights: Floats,
        find_cut: FindRoughCut,
        pair_cells: float,
        n_jobs: int | None,
        keep_order: bool = False,
        finish_cut: FinishCut | None = None,
    ) -> None:
        self.n_features = X.shape[1]
        self._X, self._weights, self._find_cut, self._n_jobs = X, weights, find_cut, n_jobs
        self._pair_cells, self._finish_cut = pair_cells, finish_cut
        self._row_length = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
        self._order = np.arange(X.shape[0])
        self._number = None if keep_order else fingerprint(X, 0, n_jobs)

    def root(self) -> slice:
        """Return the slice of the whole permutation."""
        return slice(0, len(self._order))

    def fetch(self, node: slice) -> tuple[Matrix, Floats]:
        """Return a copy of the rows of a node; all rows, if they are many, are not copied.

        Few rows are sorted into an order that does not depend on how they are stored, because the last digit of a sum
        can decide which of two cuts is found.
        """
        mine = self._order[node]
        if self._number is not None and is_small(len(mine), self.n_features):
            mine = mine[np.lexsort([self._weights[mine], self._number[mine]])]
            self._order[node] = mine
        elif len(mine) == len(self._order):
            return self._X, self._weights
        return self._X[mine], self._weights[mine]

    def moments_of(self, rows: tuple[Matrix, Floats]) -> Moments:
        """Compute the moments in two passes."""
        return moments_of(*rows, self._n_jobs)

    def find_cut(self, rows: tuple[Matrix, Floats], moments: Moments) -> Cut | RoughCut[Any] | None:
        """Find the cut with the method."""
        return self._find_cut(*rows, moments)

    def finish_cut(self, rows: tuple[Matrix, Floats], moments: Moments, rough: RoughCut[Any]) -> Cut | None:
        """Finish the cut with the method."""
        assert self._finish_cut is not None
        return self._finish_cut(*rows, moments, rough)

    def divide(self, rows: tuple[Matrix, Floats], cut: Cut) -> tuple[float, Bools] | None:
        """Return the weight and the rows on the left."""
        X, weights = rows
        goes_left = cut.goes_left(X, self._n_jobs)
        if not goes_left.any() or goes_left.all():
            return None
        return float(weights[goes_left].sum()), goes_left

    def children(self, node: slice, division: Bools) -> tuple[slice, slice]:
        """Move the rows on the left to the front, and return the two slices."""
        mine = self._order[node]
        middle = node.start + int(division.sum())
        self._order[node] = np.concatenate([mine[division], mine[~division]])
        return slice(node.start, middle), slice(middle, node.stop)

    def at_once(self, nodes: Sequence[slice]) -> bool:
        """Return whether there is enough work for two threads, and enough memory for both copies."""
        n_rows = sum(node.stop - node.start for node in nodes)
        n_cells = n_rows * self._row_length
        return n_cells >= self._pair_cells and (2 * n_rows <= len(self._order) or n_cells <= BLOCK_CELLS)


@dataclass
class _Node:
    rows: Any
    depth: int
    lookahead_left: int
    moments: Moments
    cut: Cut | None = None
    rough: RoughCut[Any] | None = None
    division: Any = None
    children: tuple[int, int] = (-1, -1)
    rank: int = 0
    accepted: bool = False
    searched: bool = False


def grow(
    X: Matrix,
    find_cut: FindRoughCut,
    *,
    sample_weight: Floats | None = None,
    pair_cells: float = PAIR_CELLS,
    keep_order: bool = False,
    finish_cut: FinishCut | None = None,
    n_jobs: int | None = -1,
    **options: Any,
) -> HyperplaneTree:
    """Grow a tree on in-memory rows.

    Parameters
    ----------
    X : ndarray (C-contiguous) or CSR matrix
        Rows.
    find_cut : callable ``(rows, weights, moments) -> Cut or None``
        The method: returns the cut of a node, or None if there is no cut. The moments are `count`, `mean`, `sum_sq` and
        `unit`, the root mean square deviation of the rows.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows, all positive. The default is 1 for each row.
    pair_cells : float, default=2**18
        Two children with at least this many numbers are searched at the same time. With fewer numbers, threads would
        wait for each other.
    keep_order : bool, default=False
        Pass the rows of a node in the order in which they are stored, even if they are few.
    finish_cut : callable ``(rows, weights, moments, rough) -> Cut or None``, optional
        Finishes the cuts that `find_cut` found on a sample of the rows, for a node whose turn it is.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.
    **options : dict
        Parameters of `grow_on`: `n_clusters`, `min_cluster_size`, `max_depth`, `order`, `accept`, `look_ahead` and
        `on_split`.

    Returns
    -------
    tree : HyperplaneTree
        The cuts in the order in which they were made.

    See Also
    --------
    grow_on : The same for rows that are not in memory.
    ravine.tree.cut_with_evidence : Tests the valley at a cut.

    Examples
    --------
    A custom method: cut orthogonally to the column with the largest variance, at its mean, largest cluster first.

    >>> import numpy as np
    >>> from ravine.cuts import Cut
    >>> from ravine.tree._grow import grow
    >>> def find_cut(rows, weights, moments):
    ...     widest = rows.var(axis=0).argmax()
    ...     return Cut(np.eye(rows.shape[1])[widest], moments.mean[widest])
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0], [0.0, 9.0], [1.0, 9.0]])
    >>> print(grow(X, find_cut, n_clusters=3, order="size"))
    HyperplaneTree: 3 clusters, 2 cuts, 2 features
    0: 6 rows, x0 (100%)
    ├─ 1: 4 rows, x1 (100%)
    │  ├─ 2: 2 rows → cluster 0
    │  └─ 3: 2 rows → cluster 1
    └─ 4: 2 rows → cluster 2
    """
    weights = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    return grow_on(HeldRows(X, weights, find_cut, pair_cells, n_jobs, keep_order, finish_cut), n_jobs=n_jobs, **options)


def grow_on(
    rows: NodeRows,
    *,
    n_clusters: int | None = None,
    min_cluster_size: float = 1,
    max_depth: int | None = None,
    order: Order = "value",
    accept: Callable[[Cut, int], bool] | None = None,
    look_ahead: int = 0,
    on_split: Callable[[int], bool] | None = None,
    n_jobs: int | None = -1,
) -> HyperplaneTree:
    """Split one leaf after another until there are `n_clusters`, or no leaf has a valid cut.

    Parameters
    ----------
    rows : NodeRows
        The rows of the nodes, and the method that cuts them.
    n_clusters : int, optional
        Stop at this many leaves. By default, stop when no leaf can be split.
    min_cluster_size : float, default=1
        Cuts that leave less weight than this on one side are not made.
    max_depth : int, optional
        Leaves at this depth are not split.
    order : {"size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable, default="value"
        Which leaf is split next: the largest leaf, the one whose cut has the smallest objective, the deepest valley,
        the largest sum of squares, or the largest product of the sum of squares and the logarithm of how far the modes
        rise above the valley. A callable ``callable(cut, moments) -> float`` picks the leaf with the smallest number.
        Ties go to the older leaf.
    accept : callable ``(cut, n_not_accepted) -> bool``, optional
        The stopping test of the method. The second argument is the number of rejected cuts just above. A rejected cut
        is undone in the end, unless a cut below it is accepted. By default, every cut is accepted.
    look_ahead : int, default=0
        Maximum number of successive cuts made on trial below a rejected one. The upper cuts of many clusters often show
        no valley while those below them do.
    on_split : callable, optional
        Called with the number of leaves after each cut. If it returns true, growth stops.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Returns
    -------
    tree : HyperplaneTree
        The cuts in the order in which they were made.

    See Also
    --------
    grow : The same for in-memory rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.cuts import Cut
    >>> from ravine.tree._grow import HeldRows, grow_on
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [30.0]])
    >>> def at_mean(rows, weights, moments):
    ...     return Cut(np.ones(1), moments.mean[0])
    >>> rows = HeldRows(X, np.ones(5), at_mean, pair_cells=np.inf, n_jobs=1)
    >>> grow_on(rows, n_clusters=3, order="sum_sq").count
    array([5., 4., 2., 2., 1.])
    """
    rank_leaf = ORDERS[order] if isinstance(order, str) else order
    cut_decides = order not in WITHOUT_CUT
    nodes: list[_Node] = []
    heap: list[tuple[float, int]] = []
    n_leaves = 1

    def examine(mine: Any, depth: int, lookahead_left: int) -> _Node:
        """Make a leaf of some rows, with its cut if the order of the leaves needs it."""
        here = rows.fetch(mine)
        node = _Node(mine, depth, lookahead_left, rows.moments_of(here))
        if cut_decides and n_leaves != n_clusters and may_be_searched(node):
            search(node, here)
        return node

    def may_be_searched(node: _Node) -> bool:
        return (max_depth is None or node.depth < max_depth) and node.moments.count >= 2 * min_cluster_size

    def search(node: _Node, here: Any) -> None:
        """Find the cut of a leaf and, if the cut is valid, the sides of its rows."""
        node.searched = True
        found = rows.find_cut(here, node.moments)
        if isinstance(found, RoughCut):
            node.cut, node.rough = found.cut, found
        elif found is not None:
            node.cut = found.beside_rows(node.moments)
        node.accepted = node.cut is not None and (accept is None or accept(node.cut, look_ahead - node.lookahead_left))
        if node.cut is not None and node.rough is None and (node.accepted or node.lookahead_left > 0):
            divide(node, here)

    def divide(node: _Node, here: Any) -> None:
        """Find the sides of the rows of a leaf, if its cut is valid."""
        division = None if node.cut is None else rows.divide(here, node.cut)
        if division is not None and min(division[0], node.moments.count - division[0]) >= min_cluster_size:
            node.division = division[1]

    def add(node: _Node) -> int:
        """Number the leaf, and queue it if its cut is valid or still has to be found."""
        nodes.append(node)
        if node.division is not None or node.rough is not None or (not cut_decides and may_be_searched(node)):
            # An order that does not need the cut may receive None here.
            heapq.heappush(heap, (rank_leaf(node.cut, node.moments), len(nodes) - 1))  # type: ignore[arg-type]
        return len(nodes) - 1

    add(examine(rows.root(), 0, look_ahead))
    while heap and n_leaves != n_clusters:
        node = nodes[pop_first(heap)]
        if not node.searched:
            pending = [node]
            if heap and n_leaves + 1 != n_clusters:  # also search the next leaf in the queue while a thread is free
                following = nodes[heap[0][1]]
                pending += [following] if not following.searched and rows.at_once([node.rows, following.rows]) else []
            map_items(lambda leaf: search(leaf, rows.fetch(leaf.rows)), pending, n_jobs)
        if node.rough is not None:
            here = rows.fetch(node.rows)
            finished, node.rough = rows.finish_cut(here, node.moments, node.rough), None
            node.cut = None if finished is None else finished.beside_rows(node.moments)
            divide(node, here)
        if node.division is None:
            continue
        both = rows.children(node.rows, node.division)
        node.division = None
        node.rank, n_leaves = n_leaves, n_leaves + 1
        look_below = partial(
            examine, depth=node.depth + 1, lookahead_left=look_ahead if node.accepted else node.lookahead_left - 1
        )
        left, right = rows.map(look_below, both, n_jobs)
        node.rows = None
        node.children = (add(left), add(right))
        if on_split is not None and on_split(n_leaves):
            break
    return _assemble(_undo_not_accepted(nodes), rows.n_features)


def _undo_not_accepted(nodes: list[_Node]) -> list[_Node]:
    """Turn nodes into leaves if neither their cut nor any cut below it is accepted."""
    kept = [False] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):  # children come after their parents
        node = nodes[i]
        if node.children[0] >= 0:
            kept[i] = node.accepted or any(kept[child] for child in node.children)
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
