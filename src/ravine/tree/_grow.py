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
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine._blocks import BLOCK_CELLS, map_items, map_rows
from ravine._matrix import Bools, Floats, Matrix, Moments, fingerprint, moments_of, take_rows
from ravine._ties import pop_first
from ravine.cuts import Cut
from ravine.cuts._along import COARSE_ABOVE
from ravine.cuts._cut import RoughCut
from ravine.cuts._principal import MAX_SCATTER_COLUMNS
from ravine.cuts._pursuit import is_small
from ravine.tree._tree import HyperplaneTree

PAIR_CELLS = 1 << 18
"""Two children with at least this many numbers are searched on separate threads; a search is mostly Python."""

LEAST_DEPTH = 0.1
"""Minimum depth of a valley in the order of the leaves: a large node whose cut shows no valley must still get its
turn."""

LEAST_LEFT = 1e-4
"""The squares of a column can be those of the node above less those of the other child, if at least this share is
left. The difference has lost four digits then."""

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

    def release(self, rows: Any) -> None:  # noqa: B027 — most rows are not copies, and need no release
        """Take back fetched rows that nobody reads any more."""

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

    def moments_of_children(self, moments: Moments, both: tuple[Any, Any]) -> tuple[Moments | None, Moments | None]:
        """Return the moments of two nodes, given those of the node above; None where `moments_of` should find them."""
        return None, None

    def at_once(self, nodes: Sequence[Any]) -> bool:
        """Return whether two nodes are searched at the same time."""
        return False

    def map(self, function: Callable[[int], Any], nodes: Sequence[Any], n_jobs: int | None) -> list[Any]:
        """Call a function with the numbers 0 and 1 of two nodes, at the same time if that helps."""
        return map_items(function, range(len(nodes)), n_jobs if self.at_once(nodes) else 1)


class _Workspace:
    """Memory for copies of rows, used again and again: the first use of new memory costs more than the copy.

    It grows to the largest node that is copied.
    """

    def __init__(self, n_columns: int, dtype: Any) -> None:
        self._memory = np.empty((0, n_columns), dtype)
        self._lent: dict[int, int] = {}
        self._lock = Lock()

    def borrow(self, n_rows: int) -> NDArray[Any]:
        """Return memory for so many rows."""
        with self._lock:
            if not self._lent and n_rows > len(self._memory):
                self._memory = np.empty((0, self._memory.shape[1]), self._memory.dtype)  # before the next is made
                self._memory = np.empty((n_rows, self._memory.shape[1]), self._memory.dtype)
            start = 0
            for begins, ends in sorted(self._lent.items()):
                if begins - start >= n_rows:
                    break
                start = ends
            if len(self._memory) - start < n_rows:
                return np.empty((n_rows, self._memory.shape[1]), self._memory.dtype)
            self._lent[start] = start + n_rows
            return self._memory[start : start + n_rows]

    def take_back(self, rows: NDArray[Any]) -> None:
        """Take back what was borrowed; other arrays are ignored."""
        if rows.base is self._memory:
            with self._lock:
                offset = rows.__array_interface__["data"][0] - self._memory.__array_interface__["data"][0]
                del self._lent[offset // self._memory.strides[0]]


class HeldRows(NodeRows):
    """In-memory rows; a node is a slice of their permutation, and `fetch` returns its rows and weights.

    The rows of a large node are a copy that is valid until it is released.
    """

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
        self._fetched: dict[int, tuple[Matrix, Floats]] = {}
        self._workspace = None if sparse.issparse(X) else _Workspace(X.shape[1], X.dtype)
        self._has_equal_weights = bool((weights == weights[0]).all())
        self._number = None if keep_order else fingerprint(X, 0, n_jobs)

    def root(self) -> slice:
        """Return the slice of the whole permutation."""
        return slice(0, len(self._order))

    def moments_of_children(self, moments: Moments, both: tuple[slice, slice]) -> tuple[Moments | None, Moments | None]:
        """Return the moments of both children of a large node, from the rows of the smaller one only.

        Its copy of the rows is kept for its search.
        """
        smaller = min((0, 1), key=lambda k: both[k].stop - both[k].start)
        if moments.scatter is None or both[smaller].stop - both[smaller].start <= COARSE_ABOVE:
            return None, None
        self._fetched[both[smaller].start] = rows = self.fetch(both[smaller])
        found = self.moments_of(rows)
        others = _without(moments, found)
        return (others, found) if smaller else (found, others)

    def fetch(self, node: slice) -> tuple[Matrix, Floats]:
        """Return a copy of the rows of a node; all rows, if they are many, are not copied.

        Few rows are sorted into an order that does not depend on how they are stored, because the last digit of a sum
        can decide which of two cuts is found.
        """
        if node.start in self._fetched:
            return self._fetched.pop(node.start)
        mine = self._order[node]
        if self._number is not None and is_small(len(mine), self.n_features):
            mine = mine[np.lexsort([self._weights[mine], self._number[mine]])]
            self._order[node] = mine
        elif len(mine) == len(self._order):
            return self._X, self._weights
        weights = self._weights[: len(mine)] if self._has_equal_weights else self._weights[mine]
        out = None
        if self._workspace is not None and len(mine) > COARSE_ABOVE:
            out = self._workspace.borrow(len(mine))
        return take_rows(self._X, mine, self._n_jobs, out), weights

    def release(self, rows: tuple[Matrix, Floats]) -> None:
        """Use the memory of the copy again."""
        if self._workspace is not None:
            self._workspace.take_back(rows[0])

    def moments_of(self, rows: tuple[Matrix, Floats]) -> Moments:
        """Compute the moments in two passes; for a large node, the second one also gives the scatter matrix."""
        n_rows, n_columns = rows[0].shape
        is_useful = n_rows > COARSE_ABOVE and n_columns <= MAX_SCATTER_COLUMNS and not sparse.issparse(rows[0])
        return moments_of(*rows, self._n_jobs, with_scatter=is_useful)

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
        n_left = np.count_nonzero(goes_left)
        if n_left in (0, len(goes_left)):
            return None
        return float(weights[:n_left].sum() if self._has_equal_weights else weights[goes_left].sum()), goes_left

    def children(self, node: slice, division: Bools) -> tuple[slice, slice]:
        """Move the rows on the left to the front, and return the two slices."""
        mine = self._order[node].copy()
        parts = map_rows(lambda b: (b, np.count_nonzero(division[b])), (len(mine), 1), self._n_jobs)
        lefts = np.cumsum([0, *(n_left for _, n_left in parts)])
        middle = int(lefts[-1])

        def move(k: int) -> None:
            b, n_left = parts[k]
            right, order = middle + b.start - lefts[k], self._order[node]
            order[lefts[k] : lefts[k + 1]] = mine[b][division[b]]
            order[right : right + b.stop - b.start - n_left] = mine[b][~division[b]]

        map_items(move, range(len(parts)), self._n_jobs)
        return slice(node.start, node.start + middle), slice(node.start + middle, node.stop)

    def map(self, function: Callable[[int], Any], nodes: Sequence[Any], n_jobs: int | None) -> list[Any]:
        """Call a function with the numbers of the nodes; without memory for two copies, the fetched rows come first."""
        if self.at_once(nodes):
            return map_items(function, range(len(nodes)), n_jobs)
        order = sorted(range(len(nodes)), key=lambda k: nodes[k].start not in self._fetched)
        found = {k: function(k) for k in order}
        return [found[k] for k in range(len(nodes))]

    def at_once(self, nodes: Sequence[slice]) -> bool:
        """Return whether there is enough work for two threads, and enough memory for both copies."""
        n_rows = sum(node.stop - node.start for node in nodes)
        n_cells = n_rows * self._row_length
        return n_cells >= self._pair_cells and (2 * n_rows <= len(self._order) or n_cells <= BLOCK_CELLS)


def _without(whole: Moments, part: Moments) -> Moments | None:
    """Return the moments of the other rows of a node, with their scatter matrix; None if too many digits are lost."""
    if whole.scatter is None or part.scatter is None:
        return None
    count, apart = whole.count - part.count, part.mean - whole.mean
    shift = -apart * (part.count / count)
    between = part.count * np.outer(apart, apart) + count * np.outer(shift, shift)
    scatter = whole.scatter - part.scatter - between
    if not (np.diag(scatter) >= LEAST_LEFT * np.diag(whole.scatter)).all():
        return None
    return Moments(count, whole.mean + shift, float(np.trace(scatter)), scatter)


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

    def examine(mine: Any, depth: int, lookahead_left: int, moments: Moments | None = None) -> _Node:
        """Make a leaf of some rows, with its cut if the order of the leaves needs it."""
        here = rows.fetch(mine)
        node = _Node(mine, depth, lookahead_left, rows.moments_of(here) if moments is None else moments)
        if cut_decides and n_leaves != n_clusters and may_be_searched(node):
            search(node, here)
        rows.release(here)
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

    def fetch_and_search(node: _Node) -> None:
        here = rows.fetch(node.rows)
        search(node, here)
        rows.release(here)

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
            map_items(fetch_and_search, pending, n_jobs)
        if node.rough is not None:
            here = rows.fetch(node.rows)
            finished, node.rough = rows.finish_cut(here, node.moments, node.rough), None
            node.cut = None if finished is None else finished.beside_rows(node.moments)
            divide(node, here)
            rows.release(here)
        if node.division is None:
            continue
        both = rows.children(node.rows, node.division)
        node.division = None
        node.rank, n_leaves = n_leaves, n_leaves + 1
        known = rows.moments_of_children(node.moments, both)
        lookahead_left = look_ahead if node.accepted else node.lookahead_left - 1

        def look_below(k: int) -> _Node:
            return examine(both[k], node.depth + 1, lookahead_left, known[k])  # noqa: B023 — called at once

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
