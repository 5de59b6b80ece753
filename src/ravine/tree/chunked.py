"""Rows in parts, as a tree grows on them."""

from collections.abc import Callable, Sequence
from typing import Any

from ravine._matrix import Moments, moments
from ravine._outofcore import ChunkedNode
from ravine.cuts import Cut
from ravine.cuts.pursuit import is_small
from ravine.tree.grow import FindCut, NodeRows

FindPartedCut = Callable[[ChunkedNode], Cut | None]
"""Finds the cut of a node whose rows lie in parts."""

FinishPartedCut = Callable[[ChunkedNode, Cut], Cut | None]
"""Finds it from one that a sample of the rows has found."""


class ChunkedRows(NodeRows):
    """Rows in parts; the rows of a small node are fetched while its cut is found.

    Parameters
    ----------
    root : ChunkedNode
        All rows.
    find_cut : callable
        Finds the cut of rows in memory.
    find_parted_cut : callable
        Finds that of a node whose rows stay where they are.
    finish_parted_cut : callable, optional
        Finds it from a rough one.
    """

    def __init__(
        self,
        root: ChunkedNode,
        find_cut: FindCut,
        find_parted_cut: FindPartedCut,
        finish_parted_cut: FinishPartedCut | None = None,
    ) -> None:
        self.n_features = len(root.about.mean)
        self._root, self._find_cut = root, find_cut
        self._find_parted_cut, self._finish_parted_cut = find_parted_cut, finish_parted_cut

    def root(self) -> ChunkedNode:
        """All rows."""
        return self._root

    def moments(self, rows: ChunkedNode) -> Moments:
        """They are known."""
        return rows.about

    def find_cut(self, rows: ChunkedNode, about: Moments) -> Cut | None:
        """By the method."""
        if not is_small(rows.n_rows, self.n_features):
            return self._find_parted_cut(rows)
        taken = rows.fetch()
        # As rows in memory are: in the order that `fetch` gives, the same digits.
        return self._find_cut(taken.X, taken.weights, moments(taken.X, taken.weights))

    def finish_cut(self, rows: ChunkedNode, about: Moments, cut: Cut) -> Cut | None:
        """By the method."""
        assert self._finish_parted_cut is not None
        return self._finish_parted_cut(rows, cut)

    def part(self, rows: ChunkedNode, cut: Cut) -> tuple[float, tuple[ChunkedNode, ChunkedNode]] | None:
        """Weight on the left, and the two nodes."""
        both = rows.children(cut.normal, cut.offset)
        return None if both is None else (both[0].about.count, both)

    def map(
        self, function: Callable[[ChunkedNode], Any], nodes: Sequence[ChunkedNode], n_jobs: int | None
    ) -> list[Any]:
        """What both ask of the rows is answered in one pass, or side by side."""
        return self._root.whole.parts.at_once(function, nodes)

    def children(self, node: ChunkedNode, parted: tuple[ChunkedNode, ChunkedNode]) -> tuple[ChunkedNode, ChunkedNode]:
        """What `part` gave."""
        return parted
