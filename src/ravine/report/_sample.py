"""The rows of the sample in the order of the leaves, so that the rows of a node form a slice."""

import numpy as np

from ravine._matrix import Floats, Ints, column_deviations
from ravine.report._data import ReportData
from ravine.tree import HyperplaneTree


class LeafRanges:
    """The range of leaves below each node, and sums over these leaves.

    Parameters
    ----------
    tree : HyperplaneTree
    """

    def __init__(self, tree: HyperplaneTree) -> None:
        n_below = np.ones(tree.n_nodes, dtype=np.int64)
        for node in tree.cuts[::-1]:  # children come after their parents
            n_below[node] = n_below[tree.left[node]] + n_below[tree.right[node]]
        self.first: Ints = np.cumsum(tree.is_leaf) - tree.is_leaf
        self.end: Ints = self.first + n_below

    @classmethod
    def of_groups(cls, n_groups: int) -> "LeafRanges":
        """Ranges of a flat clustering: node 0 has all rows, and the groups are its children."""
        ranges = cls.__new__(cls)
        ranges.first = np.concatenate([[0], np.arange(n_groups)])
        ranges.end = np.concatenate([[n_groups], np.arange(1, n_groups + 1)])
        return ranges

    def total(self, of_leaves: Ints) -> Ints:
        """Sums over the leaves below each node."""
        up_to = np.concatenate([np.zeros_like(of_leaves[:1]), np.cumsum(of_leaves, axis=0)])
        return np.asarray(up_to[self.end] - up_to[self.first])


class Sample:
    """Rows sorted by leaf, in original units (`X`) and standardized (`Z`).

    Parameters
    ----------
    rows : ReportData
    ranges : LeafRanges
    """

    def __init__(self, rows: ReportData, ranges: LeafRanges) -> None:
        self.turn: Ints = np.argsort(rows.cluster, kind="stable")
        self.X: Floats = rows.X[self.turn]
        self.number: Ints = rows.number[self.turn]
        self.classes: Ints | None = None if rows.classes is None else rows.classes[self.turn]
        starts = np.searchsorted(rows.cluster[self.turn], np.arange(len(rows.leaf_count) + 1))
        self._starts, self._ends = starts[ranges.first], starts[ranges.end]
        self.Z = self.X - (self.X.mean(axis=0) if len(self.X) else 0.0)
        self.deviation = column_deviations(self.X)
        self.Z /= np.where(self.deviation > 0, self.deviation, np.inf)

    def of(self, node: int) -> slice:
        """The rows of a node."""
        return slice(int(self._starts[node]), int(self._ends[node]))

    def some_of(self, node: int, n_rows: int) -> Ints:
        """At most `n_rows` rows of a node, drawn at random, in the order of the leaves."""
        here = self.of(node)
        if here.stop - here.start <= n_rows:
            return np.arange(here.start, here.stop)
        return here.start + np.sort(np.argpartition(self.turn[here], n_rows)[:n_rows])
