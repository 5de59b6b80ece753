"""Rows in parts, as a tree grows on them."""

from collections.abc import Callable, Sequence
from typing import Any

from ravine._matrix import Moments, moments_of
from ravine._outofcore import ChunkedNode
from ravine.cuts import Cut
from ravine.cuts._pursuit import is_small
from ravine.tree._grow import FindCut, NodeRows

FindChunkedCut = Callable[[ChunkedNode], Cut | None]
"""Finds the cut of a node whose rows lie in parts."""

FinishChunkedCut = Callable[[ChunkedNode, Cut], Cut | None]
"""Finds it from one that a sample of the rows has found."""


class ChunkedRows(NodeRows):
    """Rows in parts; the rows of a small node are fetched while its cut is found.

    Parameters
    ----------
    root : ChunkedNode
        All rows.
    find_cut : callable
        Finds the cut of rows in memory.
    find_chunked_cut : callable
        Finds that of a node whose rows stay where they are.
    finish_chunked_cut : callable, optional
        Finds it from a rough one.
    """

    def __init__(
        self,
        root: ChunkedNode,
        find_cut: FindCut,
        find_chunked_cut: FindChunkedCut,
        finish_chunked_cut: FinishChunkedCut | None = None,
    ) -> None:
        self.n_features = len(root.moments.mean)
        self._root, self._find_cut = root, find_cut
        self._find_chunked_cut, self._finish_chunked_cut = find_chunked_cut, finish_chunked_cut

    def root(self) -> ChunkedNode:
        """All rows."""
        return self._root

    def moments_of(self, rows: ChunkedNode) -> Moments:
        """They are known."""
        return rows.moments

    def find_cut(self, rows: ChunkedNode, moments: Moments) -> Cut | None:
        """By the method."""
        if not is_small(rows.n_rows, self.n_features):
            return self._find_chunked_cut(rows)
        taken = rows.fetch()
        # As rows in memory are: in the order that `fetch` gives, the same digits.
        return self._find_cut(taken.X, taken.weights, moments_of(taken.X, taken.weights))

    def finish_cut(self, rows: ChunkedNode, moments: Moments, cut: Cut) -> Cut | None:
        """By the method."""
        assert self._finish_chunked_cut is not None
        return self._finish_chunked_cut(rows, cut)

    def divide(self, rows: ChunkedNode, cut: Cut) -> tuple[float, tuple[ChunkedNode, ChunkedNode]] | None:
        """Weight on the left, and the two nodes."""
        both = rows.children(cut.normal, cut.offset)
        return None if both is None else (both[0].moments.count, both)

    def map(
        self, function: Callable[[ChunkedNode], Any], nodes: Sequence[ChunkedNode], n_jobs: int | None
    ) -> list[Any]:
        """What both ask of the rows is answered in one pass, or side by side."""
        return self._root.whole.parts.at_once(function, nodes)

    def children(self, node: ChunkedNode, division: tuple[ChunkedNode, ChunkedNode]) -> tuple[ChunkedNode, ChunkedNode]:
        """What `part` gave."""
        return division
