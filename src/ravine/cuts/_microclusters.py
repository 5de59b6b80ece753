"""Many small clusters that stand for the rows: centers with counts, by a few steps of k-means.

Where there are no more distinct rows than microclusters may be, each distinct row is one, and nothing is approximated.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Ints, Matrix, fingerprint
from ravine._ties import ROUNDING

STEPS, FURTHER_STEPS = 8, 3
"""Steps of k-means, and where it starts from a result: that groups are small matters, not that they are the best."""


@dataclass(frozen=True)
class Microclusters:
    """Means of groups of rows, their weights, the group of each row, and whether each group is one distinct row."""

    centers: Floats
    counts: Floats
    group: Ints
    exact: bool


def microclusters(
    X: Matrix, weights: Floats, n_groups: int, order: Ints, seed: int, n_jobs: int | None = None
) -> Microclusters:
    """At most `n_groups` microclusters of rows, all of positive weight.

    Parameters
    ----------
    X : ndarray or CSR matrix
    weights : ndarray
    n_groups : int
    order : ndarray of shape (n_samples,)
        The rows from one end to the other, so that how they are stored has no say in what is drawn.
    seed : int
        Draws the rows from which k-means begins.
    """
    _, first, group = np.unique(fingerprint(X, 0, n_jobs), return_index=True, return_inverse=True)
    if len(first) <= n_groups:
        return Microclusters(_dense(X[first]), _totals(group, weights), group, exact=True)
    is_first = np.zeros(X.shape[0], dtype=bool)
    is_first[first] = True
    candidates = order[is_first[order]]
    drawn = np.random.default_rng(seed).choice(len(candidates), n_groups, replace=False)
    return _means_of_nearest(X, weights, _dense(X[candidates[np.sort(drawn)]]), None, STEPS, n_jobs)


def stretched(
    micro: Microclusters, X: Matrix, weights: Floats, directions: Floats, n_jobs: int | None = None
) -> Microclusters:
    """Microclusters near those that are given, of rows that are near along some directions more than elsewhere.

    The squared distance of two rows is that in the data plus their squared difference in ``directions @ x``.
    """
    return _means_of_nearest(X, weights, micro.centers, directions, FURTHER_STEPS, n_jobs)


def _means_of_nearest(
    X: Matrix, weights: Floats, centers: Floats, directions: Floats | None, n_steps: int, n_jobs: int | None
) -> Microclusters:
    for _ in range(n_steps):
        group = _nearest(X, centers, directions, n_jobs)
        centers, counts, group = _means(X, weights, group)
    return Microclusters(centers, counts, group, exact=False)


def _nearest(X: Matrix, centers: Floats, directions: Floats | None, n_jobs: int | None) -> Ints:
    """Number of the nearest center of each row; of those that tie, the first."""
    origin = np.zeros(X.shape[1]) if sparse.issparse(X) else centers.mean(axis=0)  # far from it digits are lost
    places = centers - origin
    images = places if directions is None else places + (places @ directions.T) @ directions
    squares, twice = np.einsum("ij,ij->i", images, places), -2.0 * images.T

    def nearest(b: slice) -> Ints:
        rows = X[b] if sparse.issparse(X) else X[b] - origin
        return _kernels.ties.first_least_of_rows(rows @ twice, squares, ROUNDING * squares.max())

    return np.concatenate(map_blocks(nearest, (X.shape[0], len(centers)), n_jobs))


def _means(X: Matrix, weights: Floats, group: Ints) -> tuple[Floats, Floats, Ints]:
    """Means and weights of the groups that have rows, and the groups numbered without gaps."""
    used, group = np.unique(group, return_inverse=True)
    member = sparse.csr_array((weights, (group, np.arange(len(group)))), shape=(len(used), len(group)))
    counts = _totals(group, weights)
    return _dense(member @ X) / counts[:, np.newaxis], counts, group


def _totals(group: Ints, weights: Floats) -> Floats:
    return np.asarray(np.bincount(group, weights), dtype=np.float64)


def _dense(rows: Matrix) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
