"""What the mixture of a tree says about its nodes: their ellipses in a plane, and their rows near a boundary.

A node is a cluster for some numbers of clusters. Its mean, its covariance and the memberships of rows are the same for
all of them: those of the leaves below it, added up.
"""

from typing import Any

import numpy as np

from ravine._matrix import Floats, Ints
from ravine.report._format import all_rounded, rounded
from ravine.report._sample import LeafRanges, Sample
from ravine.tree import HyperplaneTree
from ravine.tree._coarser import subtree_end
from ravine.tree._ellipses import LEVEL, PlaneEllipses
from ravine.tree._mixture import Mixture

MOST_ELLIPSES = 10
"""A scatter plot has ellipses if at most this many clusters are below its node."""

SURE, NO_BOUNDARY, N_BOUNDARY = 0.8, 0.99, 6
"""A row with a smaller membership in its cluster is unsure. A row with at least the second number is not near
a boundary. Number of rows listed for a cluster."""

MOST_SHARES, LEAST_SHARE = 12, 5e-4
"""Only the largest memberships of a row are kept, and only those that are not rounded to 0 are listed."""

BLOCK_CELLS = 1 << 22
"""Number of memberships that are computed at a time."""


class SoftClusters:
    """Ellipses and boundary rows of the nodes of a tree that has a mixture.

    Parameters
    ----------
    tree : HyperplaneTree
    mixture : Mixture
    ranges : LeafRanges
    sample : Sample
    """

    def __init__(self, tree: HyperplaneTree, mixture: Mixture, ranges: LeafRanges, sample: Sample) -> None:
        self._tree, self._mixture, self._ranges, self._sample = tree, mixture, ranges, sample
        self._ellipses = PlaneEllipses(mixture)
        self._leaf, self._membership = _largest_memberships(tree, sample.X)

    def words(self) -> dict[str, Any]:
        """Return what the page needs to explain the numbers."""
        return {"level": LEVEL, "sure": SURE, "decides": self._mixture.decides, "most_ellipses": MOST_ELLIPSES}

    def ellipses(self, node: int, plane: Floats, origin: Floats) -> list[list[float]]:
        """Return the ellipses of all nodes that can be clusters below a node, while there are few enough clusters.

        Each has the number of its node, and what `PlaneEllipses.of` returns.
        """
        nodes = _first_clusters(self._tree, node)
        cluster = self._mixture.cluster
        below = (self._ranges.first[nodes, np.newaxis] <= cluster) & (cluster < self._ranges.end[nodes, np.newaxis])
        ellipses = self._ellipses.of(below, plane, origin)
        return [[int(n), *all_rounded(ellipse)] for n, ellipse in zip(nodes, ellipses, strict=True)]

    def boundary(self, node: int) -> dict[str, Any]:
        """Return the share of the rows of a node that are unsure, and its rows nearest to a boundary."""
        here = self._sample.of(node)
        leaf, membership = self._leaf[here], self._membership[here]
        is_own = (self._ranges.first[node] <= leaf) & (leaf < self._ranges.end[node])
        own = np.where(is_own, membership, 0.0).sum(axis=1)
        nearest = np.lexsort((self._sample.number[here], own))[:N_BOUNDARY]
        return {
            "unsure": rounded(float(np.mean(own < SURE))) if len(own) else None,
            "boundary": [self._listed(here.start + i) for i in nearest if own[i] < NO_BOUNDARY],
        }

    def _listed(self, i: int) -> dict[str, Any]:
        """Return a row of the sample with its memberships in leaves, largest first."""
        sample = self._sample
        return {
            "row": int(sample.number[i]),
            "memberships": [
                [int(self._tree.leaves[leaf]), rounded(share, 3)]
                for leaf, share in zip(self._leaf[i], self._membership[i], strict=True)
                if share >= LEAST_SHARE
            ],
            "class": None if sample.classes is None else int(sample.classes[i]),
        }


def _first_clusters(tree: HyperplaneTree, node: int) -> Ints:
    """Return the nodes that are clusters below a node for some number of clusters that gives it few enough of them."""
    below = np.arange(node, subtree_end(tree, node))
    cuts = below[~tree.is_leaf[below]]
    first = cuts[np.argsort(tree.rank[cuts], kind="stable")[: MOST_ELLIPSES - 1]]
    return np.concatenate([[node], tree.left[first], tree.right[first]])


def _largest_memberships(tree: HyperplaneTree, X: Floats) -> tuple[Ints, Floats]:
    """Return the leaves in which each row has its largest memberships, and these memberships, largest first."""
    n_kept = min(MOST_SHARES, tree.n_clusters)
    leaf, share = np.empty((len(X), n_kept), dtype=np.int64), np.empty((len(X), n_kept))
    step = max(BLOCK_CELLS // tree.n_clusters, 1)
    for start in range(0, len(X), step):
        block = slice(start, start + step)
        membership = tree.membership(X[block], check_input=False)
        leaf[block] = np.argsort(-membership, axis=1, kind="stable")[:, :n_kept]
        share[block] = np.take_along_axis(membership, leaf[block], axis=1)
    return leaf, share
