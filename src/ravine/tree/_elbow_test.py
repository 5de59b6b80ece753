"""Is there anything to find where no single cut is confirmed? Compare the rows with rows that have no clusters.

The elbow of the sum of squares finds clusters in any data. It is used only if rows lie closer to their clusters than
rows without clusters do: the sums of squares within 2, 3, … clusters are compared with those of draws that have the
margins and rank correlations of the rows, each divided in the same way. The statistic of a data set is the largest
number of standard deviations by which one of its logarithms lies below the mean of all data sets. All of them are
treated alike, so without clusters the rows are the most extreme data set with probability 1 / (draws + 1).
"""

from functools import partial

import numpy as np
from scipy import sparse

from ravine._blocks import map_items
from ravine._matrix import Floats, Matrix, column_deviations
from ravine._reservoir import merge_copies
from ravine._structureless import Structureless
from ravine.cuts._pursuit import make_starts
from ravine.tree._grow import grow
from ravine.tree._prune import sum_sq_path
from ravine.tree._sampled import N_COMPONENTS, polished_cut
from ravine.tree._valley_test import MIN_ROWS

N_DRAWS, N_FIRST = 39, 9
"""Number of draws without clusters. If one of the first draws is more extreme than the rows, there are no more."""

MOST_ROWS, MOST_COLUMNS, MOST_CLUSTERS = 500, 10, 8
"""The test uses at most this many rows, as many principal components if there are more columns, and this many clusters;
more of them cost more and show no more."""

FAR = 10.0
"""Values farther than this many interquartile ranges from the quartiles of a column are drawn in: one huge cell is no
cluster."""


def elbow_p_value(X: Matrix, weights: Floats, seed: int, n_jobs: int | None = None) -> float:
    """Return the p-value of the hypothesis that rows have no clusters.

    It is 1 if one of the first draws is more extreme than the rows, or if there are few distinct rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Rows in random order; the first ones are used.
    weights : ndarray of shape (n_samples,)
        Their weights. Draws have as many rows, of equal weight.
    seed : int
        Seed of the draws.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    """
    rows, mass = merge_copies(X[:MOST_ROWS], weights[:MOST_ROWS], seed)
    if len(mass) < MIN_ROWS:
        return 1.0
    rows = _main_columns(rows)
    if rows.shape[1] == 0:
        return 1.0
    like = Structureless.like(rows, mass)

    def of_draw(number: int) -> Floats:
        return _path(like.draw(len(rows), np.random.default_rng([seed, number])), np.ones(len(rows)))

    paths = [_path(rows, mass), *map_items(of_draw, range(N_FIRST), n_jobs)]
    if _n_more_extreme(paths) > 0:
        return 1.0
    paths += map_items(of_draw, range(N_FIRST, N_DRAWS), n_jobs)
    return (1 + _n_more_extreme(paths)) / (N_DRAWS + 1)


def _main_columns(X: Matrix) -> Floats:
    """Return columns of unit variance without far outliers: those of the rows, or their first principal components."""
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    reach = np.where(high > low, FAR * (high - low), np.inf)
    rows = np.clip(rows, low - reach, high + reach)
    deviation = column_deviations(rows)
    varies = deviation > 0
    rows = (rows[:, varies] - rows[:, varies].mean(axis=0)) / deviation[varies]
    if rows.shape[1] <= MOST_COLUMNS:
        return np.ascontiguousarray(rows)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(left[:, :MOST_COLUMNS] * values[:MOST_COLUMNS])


def _path(rows: Floats, weights: Floats) -> Floats:
    """Return the logarithms of the sums of squares within 2, 3, … clusters, relative to that of all rows."""
    find_cut = partial(polished_cut, kept=slice(None), starts=make_starts(N_COMPONENTS))
    tree = grow(rows, find_cut, sample_weight=weights, n_clusters=MOST_CLUSTERS, order="sum_sq")
    path = sum_sq_path(tree)
    path = np.maximum(path / max(path[0], np.finfo(np.float64).tiny), np.finfo(np.float64).eps)
    return np.log(np.append(path, np.full(MOST_CLUSTERS - len(path), path[-1]))[1:])


def _n_more_extreme(paths: list[Floats]) -> int:
    """Return how many of the other data sets are at least as extreme as the first one."""
    logs = np.array(paths)
    deviation = logs.std(axis=0)
    below = (logs.mean(axis=0) - logs) / np.where(deviation > 0, deviation, 1.0)
    extreme = below.max(axis=1)
    return int((extreme[1:] >= extreme[0]).sum())
