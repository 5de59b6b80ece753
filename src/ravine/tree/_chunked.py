"""Out-of-core data as the rows on which a tree grows."""

from collections.abc import Callable, Sequence
from typing import Any

from ravine._matrix import Moments, moments_of
from ravine._outofcore import ChunkedNode
from ravine.cuts import Cut
from ravine.cuts._cut import RoughCut
from ravine.cuts._pursuit import is_small
from ravine.tree._derived import with_leaves
from ravine.tree._grow import FindCut, NodeRows
from ravine.tree._tree import HyperplaneTree

FindChunkedCut = Callable[[ChunkedNode], Cut | RoughCut[Any] | None]
"""Finds the cut of a node of out-of-core data; it may search a sample of the rows only."""

FinishChunkedCut = Callable[[ChunkedNode, RoughCut[Any]], Cut | None]
"""Finishes a cut that was found on a sample of the rows."""


class ChunkedRows(NodeRows):
    """Out-of-core data; the rows of a small node are fetched into memory to find its cut.

    Parameters
    ----------
    root : ChunkedNode
        The node of all rows.
    find_cut : callable
        Finds the cut of in-memory data.
    find_chunked_cut : callable
        Finds the cut of a node whose rows are not fetched.
    finish_chunked_cut : callable, optional
        Finishes a rough cut.
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
        """Return the node of all rows."""
        return self._root

    def moments_of(self, rows: ChunkedNode) -> Moments:
        """Return the moments, which the node already has."""
        return rows.moments

    def find_cut(self, rows: ChunkedNode, moments: Moments) -> Cut | RoughCut[Any] | None:
        """Find the cut with the method."""
        if not is_small(rows.n_rows, self.n_features):
            return self._find_chunked_cut(rows)
        taken = rows.fetch()
        # Same order as for in-memory data, so that the digits are the same: `fetch` sorts the rows.
        return self._find_cut(taken.X, taken.weights, moments_of(taken.X, taken.weights))

    def finish_cut(self, rows: ChunkedNode, moments: Moments, rough: RoughCut[Any]) -> Cut | None:
        """Finish the cut with the method."""
        assert self._finish_chunked_cut is not None
        return self._finish_chunked_cut(rows, rough)

    def divide(self, rows: ChunkedNode, cut: Cut) -> tuple[float, tuple[ChunkedNode, ChunkedNode]] | None:
        """Return the weight on the left, and the two nodes."""
        both = rows.children(cut.normal, cut.offset)
        return None if both is None else (both[0].moments.count, both)

    def map(self, function: Callable[[int], Any], nodes: Sequence[ChunkedNode], n_jobs: int | None) -> list[Any]:
        """Call a function with the numbers of the nodes; their passes over the rows are shared or run in parallel."""
        return self._root.whole.chunks.at_once(function, range(len(nodes)))

    def children(self, node: ChunkedNode, division: tuple[ChunkedNode, ChunkedNode]) -> tuple[ChunkedNode, ChunkedNode]:
        """Return the two nodes that `divide` returned."""
        return division


def with_counts_of_chunks(tree: HyperplaneTree, root: ChunkedNode) -> HyperplaneTree:
    """Return the same cuts with the counts of out-of-core data, as `with_counts_of` does for in-memory data."""
    cuts = tree.normal, tree.offset, tree.left, tree.right
    return with_leaves(tree, *root.leaf_moments(cuts, tree.leaves, tree.mean[tree.leaves]))
