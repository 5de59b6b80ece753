"""Microclusters: many small groups that replace the rows, each with a center and a count, found by a few k-means steps.

If there are at most as many distinct rows as allowed microclusters, each distinct row is one of them and nothing is
approximated.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Ints, Matrix, fingerprint
from ravine._ties import ROUNDING
from ravine.cuts._projection import CenteredRows, Projection
from ravine.cuts._similarity import log_similarity

STEPS, FURTHER_STEPS = 8, 3
"""Number of k-means steps from scratch, and from an earlier result. Groups must be small; they need not be optimal."""


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
    """Group rows of positive weight into at most `n_groups` microclusters.

    Parameters
    ----------
    X : ndarray or CSR matrix
    weights : ndarray
    n_groups : int
    order : ndarray of shape (n_samples,)
        The rows sorted from one end to the other, so that the sample does not depend on how they are stored.
    seed : int
        Seed for drawing the rows from which k-means starts.
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
    """Return new microclusters, started from given ones, whose rows are closest along some directions.

    The squared distance between two rows is their squared distance in the data plus the squared difference of
    ``directions @ x``.
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
    """Return the index of the nearest center for each row; ties go to the first center."""
    origin = np.zeros(X.shape[1]) if sparse.issparse(X) else centers.mean(axis=0)  # far from it, digits are lost
    shifted = centers - origin
    images = shifted if directions is None else shifted + (shifted @ directions.T) @ directions
    squares, twice = np.einsum("ij,ij->i", images, shifted), -2.0 * images.T

    def nearest(b: slice) -> Ints:
        rows = X[b] if sparse.issparse(X) else X[b] - origin
        return _kernels.ties.first_least_of_rows(rows @ twice, squares, ROUNDING * squares.max())

    return np.concatenate(map_blocks(nearest, (X.shape[0], len(centers)), n_jobs))


def _means(X: Matrix, weights: Floats, group: Ints) -> tuple[Floats, Floats, Ints]:
    """Return the means and weights of the groups that have rows, and the groups numbered without gaps."""
    used, group = np.unique(group, return_inverse=True)
    member = sparse.csr_array((weights, (group, np.arange(len(group)))), shape=(len(used), len(group)))
    counts = _totals(group, weights)
    return _dense(member @ X) / counts[:, np.newaxis], counts, group


def _totals(group: Ints, weights: Floats) -> Floats:
    return np.asarray(np.bincount(group, weights), dtype=np.float64)


def _dense(rows: Matrix) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def approximation_bound(micro: Microclusters, projection: Projection, rows: CenteredRows, normalized: bool) -> float:
    """Return an upper bound for the relative difference between λ₂ of the microclusters and of the rows.

    Each similarity changes by a factor between two numbers (Hofmeyr 2016, Lemma 15, with the radii in the projection,
    and applied to rows of one microcluster too). So λ₂ of the standard Laplacian changes by such a factor as well. For
    the normalized Laplacian, λ₂ is a ratio of two such sums and changes by the quotient of the two numbers.
    """
    if micro.exact:
        return 0.0
    distances = np.linalg.norm(rows.project(projection.directions) - projection.positions[micro.group], axis=1)
    radii = np.zeros(len(projection.counts))
    np.maximum.at(radii, micro.group, distances)
    both = radii[:, np.newaxis] + radii
    apart = np.linalg.norm(projection.drawn[:, np.newaxis] - projection.drawn, axis=2)
    here = log_similarity(apart / projection.scale)
    least = float((here - log_similarity(np.maximum(apart - both, 0) / projection.scale)).min())
    most = float((here - log_similarity((apart + both) / projection.scale)).max())
    with np.errstate(over="ignore"):
        bound = np.expm1(most - least) if normalized else max(-np.expm1(least), np.expm1(most))
    return min(float(bound), sys.float_info.max)
