"""Grow the final tree of a stream on a sample of its rows.

The cuts that the stream has learned (`IMDHTree`) and the principal components of a node are the starts of the batch
search of `ravine.cuts._mdh`. Held-out rows of the sample decide which cuts to accept, or the elbow of the sum of
squares decides how many.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Floats, Matrix, Moments, moments_of, with_weight
from ravine.cuts import Cut
from ravine.cuts._principal import principal_directions
from ravine.cuts._pursuit import make_starts
from ravine.tree._grow import FindCut, grow
from ravine.tree._imdh import IMDHTree
from ravine.tree._prune import cut_to_elbow
from ravine.tree._scout import ALPHAS, N_COMPONENTS, ConfirmedCuts, density_cut
from ravine.tree._tree import HyperplaneTree
from ravine.tree._valley_test import VALLEY_BANDWIDTH

POLISH_ROWS = 2000
"""A cut is refined on at most this many rows."""

PAIR_CELLS = 1 << 13
"""Two child nodes with at least this many numbers are searched in parallel."""

ELBOW_LEAVES, ROWS_PER_LEAF = 64, 10
"""The elbow is searched in a tree of at most this many leaves, with at least so many rows for each on average."""


@dataclass(frozen=True)
class StreamSample:
    """A sample of the rows of a stream, and the cuts that the stream has learned.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n_samples, n_features)
        Standardized rows.
    weights : ndarray of shape (n_samples,)
    online : IMDHTree
        The cuts, for the same standardized rows.
    """

    rows: Matrix
    weights: Floats
    online: IMDHTree

    def grow(self, find_cut: FindCut, **options: Any) -> HyperplaneTree:
        """Grow a tree on the rows of positive weight; `options` are those of `ravine.tree.grow`."""
        rows, weights = with_weight(self.rows, self.weights)
        # The valley test draws its halves in the order of the sample.
        return grow(rows, find_cut, sample_weight=weights, pair_cells=PAIR_CELLS, keep_order=True, **options)

    def refined_cut(self, X: Matrix, weights: Floats, moments: Moments) -> Cut | None:
        """Refine the cut of a node, from its principal components and from the cut that the stream has learned."""
        proposal = self.online.normal_for(X[:POLISH_ROWS], weights[:POLISH_ROWS])

        def starts(X: Matrix, weights: Floats, moments: Moments) -> Floats:
            components = principal_directions(X, weights, moments, N_COMPONENTS)
            return components if proposal is None or not len(components) else np.vstack([components, proposal])

        return density_cut(*_few(X, weights, moments), starts, ALPHAS, columns=True)


def grow_to_number(sample: StreamSample, n_clusters: int, min_cluster_size: float, **options: Any) -> HyperplaneTree:
    """Grow a tree with this number of clusters."""
    return sample.grow(
        sample.refined_cut, n_clusters=n_clusters, min_cluster_size=min_cluster_size, order="sum_sq_depth", **options
    )


def grow_confirmed(
    sample: StreamSample,
    significance: float,
    min_cluster_size: float,
    seed: int,
    accept: Callable[[Cut, int], bool],
    look_ahead: int,
    **options: Any,
) -> HyperplaneTree:
    """Grow a tree of the cuts that held-out rows confirm, or that have a confirmed cut below them.

    `seed` draws the held-out rows. `accept` and `look_ahead` are as in `ravine.tree.grow_on`.
    """
    cuts = ConfirmedCuts(refined_direction, significance, seed, VALLEY_BANDWIDTH, min_cluster_size)
    return sample.grow(
        cuts.find_cut,
        min_cluster_size=min_cluster_size,
        accept=accept,
        look_ahead=look_ahead,
        order="sum_sq_depth",
        **options,
    )


def refined_direction(X: Matrix, weights: Floats, moments: Moments, normal: Floats) -> Floats | None:
    """Refine the direction of the scout on more rows of a node."""
    cut = density_cut(*_few(X, weights, moments), make_starts(normal), ALPHAS[-1:])
    return None if cut is None else cut.normal


def elbow_leaves(n_rows: int) -> int:
    """Return the number of leaves of the tree in which the elbow of so many rows is searched."""
    return min(ELBOW_LEAVES, max(n_rows // ROWS_PER_LEAF, 3), n_rows)


def grow_to_elbow(sample: StreamSample, max_depth: int, **options: Any) -> tuple[HyperplaneTree, Floats]:
    """Grow a tree, cut it back to the elbow, and return it with the sums of squares in which the elbow was searched.

    A cut is searched from the first principal component alone, or from a column with a valley. With more starts, the
    deepest valley wins, and that makes the sums of squares larger.
    """

    def find_cut(X: Matrix, weights: Floats, moments: Moments) -> Cut | None:
        return density_cut(*_few(X, weights, moments), make_starts(1), ALPHAS, columns=True)

    n_leaves = elbow_leaves(int((sample.weights > 0).sum()))
    tree = sample.grow(find_cut, n_clusters=n_leaves, max_depth=max_depth, order="sum_sq", **options)
    return cut_to_elbow(tree)


def _few(X: Matrix, weights: Floats, moments: Moments) -> tuple[Matrix, Floats, Moments]:
    """Return the rows of a node that are searched, with their weights and moments."""
    if X.shape[0] <= POLISH_ROWS:
        return X, weights, moments
    X, weights = X[:POLISH_ROWS], weights[:POLISH_ROWS]
    return X, weights, moments_of(X, weights)
