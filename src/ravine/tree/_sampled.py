"""Grow the final tree of a stream on a sample of its rows.

The cuts that the stream has learned (`IMDHTree`) and the principal components of a node are the starts of the batch
search of `ravine.cuts._mdh`. Held-out rows of the sample decide which cuts to accept, or the elbow of the sum of
squares decides how many.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ravine._matrix import Floats, Ints, Matrix, Moments, moments_of, with_weight
from ravine.cuts import Cut
from ravine.cuts._mdh import minimum_density_cut
from ravine.cuts._principal import principal_directions
from ravine.cuts._pursuit import Starts, make_starts
from ravine.tree._columns import best_with_column
from ravine.tree._grow import FindCut, grow
from ravine.tree._imdh import IMDHTree
from ravine.tree._prune import cut_to_elbow
from ravine.tree._tree import HyperplaneTree
from ravine.tree._valley_test import VALLEY_BANDWIDTH, ValleyTest, confirmed_cut, direction_of, lattice_steps

POLISH_ROWS, ALPHAS, N_COMPONENTS = 2000, (0.0, 0.9), 2
"""A cut is refined on at most this many rows, within these bounds, from this many principal components."""

TRIAL_ROWS, GIVE_UP, PATIENT_SHARE = 750, 0.2, 0.2
"""The valley test finds a direction on at most this many rows of each half. It draws no more halves above this p-value,
unless the node has at least this share of the rows: a valley that is missed there costs many clusters."""

BANDWIDTH, TOLERANCE = 0.9, 3e-5
"""Bandwidth factor and tolerance of both searches: refining a cut, and testing for a valley."""

PAIR_CELLS = 1 << 13
"""Two child nodes with at least this many numbers are searched in parallel."""

ELBOW_LEAVES = 64
"""The elbow is searched in a tree of at most this many leaves."""


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

        return polished_cut(X, weights, moments, slice(POLISH_ROWS), starts, columns=True)


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
    test = ValleyTest(
        direction_of(trial_cut),
        VALLEY_BANDWIDTH,
        lattice_steps(sample.rows),
        seed,
        min_cluster_size,
        give_up=GIVE_UP,
        patient_rows=PATIENT_SHARE * sample.rows.shape[0],
    )
    whole = direction_of(sample.refined_cut)
    find_cut = partial(confirmed_cut, test=test, direction=whole, significance=significance)
    return sample.grow(
        find_cut,
        min_cluster_size=min_cluster_size,
        accept=accept,
        look_ahead=look_ahead,
        order="sum_sq_depth",
        **options,
    )


def grow_to_elbow(sample: StreamSample, max_depth: int, **options: Any) -> tuple[HyperplaneTree, Floats]:
    """Grow a tree, cut it back to the elbow, and return it with the sums of squares in which the elbow was searched."""
    n_leaves = min(ELBOW_LEAVES, sample.rows.shape[0])
    tree = sample.grow(sample.refined_cut, n_clusters=n_leaves, max_depth=max_depth, order="sum_sq", **options)
    return cut_to_elbow(tree)


def trial_cut(X: Matrix, weights: Floats, moments: Moments) -> Cut | None:
    """Find a cut from the rows of a node that are not held out, without the stream, which has seen all of them."""
    kept = np.flatnonzero(weights)[:TRIAL_ROWS]
    return polished_cut(X, weights, moments, kept, make_starts(N_COMPONENTS), columns=True)


def polished_cut(
    X: Matrix, weights: Floats, moments: Moments, kept: slice | Ints, starts: Starts, columns: bool = False
) -> Cut | None:
    """Find the minimum density cut of the rows `kept` of a node; with `columns`, also from a column with a valley."""
    n_rows = X.shape[0]
    X, weights = X[kept], weights[kept]
    if X.shape[0] < n_rows:
        moments = moments_of(X, weights)
    search = partial(minimum_density_cut, X, weights, moments, bandwidth=BANDWIDTH, tolerance=TOLERANCE)
    cut = search(starts=starts, alphas=ALPHAS)
    if columns:  # the first bound keeps a cut at the mean, where there may be a cluster
        from_column = partial(search, alphas=ALPHAS[-1:])
        cut = best_with_column(cut, X, weights, moments, lambda column: from_column(starts=make_starts(column)))
    # The largest entry of a normal is made positive, so that the labels do not depend on the start that has won.
    return cut if cut is None or cut.normal[np.abs(cut.normal).argmax()] > 0 else cut.turned()
