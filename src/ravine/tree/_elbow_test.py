"""Is there anything to find where no single cut is confirmed? Compare the rows with rows that have no clusters.

The elbow of the sum of squares finds clusters in any data. It is used only if rows lie closer to their clusters than
rows without clusters do. The rows are compared with draws that have their margins and rank correlations, in two ways:
by the sums of squares within 2, 3, … clusters, each data set divided in the same way; and by the sum of squares within
two groups along a direction that other rows have found. The second shows two broad clusters in many columns, of which
the first sees little. The statistic of a data set is the largest number of standard deviations by which one of these
logarithms lies below the mean of all data sets. All of them are treated alike, so without clusters the rows are the
most extreme data set with probability 1 / (draws + 1).
"""

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_items
from ravine._matrix import Floats, Matrix, column_deviations, multiply
from ravine._reservoir import merge_copies
from ravine._structureless import Structureless
from ravine.cuts._proposals import components, start_vectors
from ravine.tree._valley_test import MIN_ROWS

N_DRAWS, N_FIRST, CLEARLY = 39, 9, 6.0
"""Number of draws without clusters. There are only the first ones if one of them is more extreme than the rows, or if
the rows lie this many standard deviations of the draws below them."""

MOST_ROWS, MOST_COLUMNS = 2000, 256
"""The test uses at most this many rows, and as many principal components if there are more columns."""

PATH_ROWS, PATH_COLUMNS, MOST_CLUSTERS = 500, 10, 8
"""Rows are divided into 2, 3, … clusters on at most this many rows and principal components, into at most this many
clusters; more of them cost more and show no more."""

N_POWERS = 8
"""Number of subspace iterations for the principal components, which are found in the same way for all data sets."""

LEAST_SHARE = 0.1
"""Minimum share of the rows in each of the two groups along a direction."""

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
    rows = _scaled_columns(rows)
    if rows.shape[1] == 0:
        return 1.0
    like = Structureless.like(rows, mass)

    def of_draw(number: int) -> Floats:
        return _logs_within(like.draw(len(rows), np.random.default_rng([seed, number])), np.ones(len(rows)))

    logs = [_logs_within(rows, mass), *map_items(of_draw, range(N_FIRST), n_jobs)]
    if _n_more_extreme(logs) > 0:
        return 1.0
    if _is_far_below(logs):
        return 1 / (N_DRAWS + 1)
    logs += map_items(of_draw, range(N_FIRST, N_DRAWS), n_jobs)
    return (1 + _n_more_extreme(logs)) / (N_DRAWS + 1)


def _scaled_columns(X: Matrix) -> Floats:
    """Return columns of unit variance without far outliers: those of the rows, or their first principal components."""
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    low, high = np.quantile(rows, [0.25, 0.75], axis=0)
    reach = np.where(high > low, FAR * (high - low), np.inf)
    rows = np.clip(rows, low - reach, high + reach)
    deviation = column_deviations(rows)
    varies = deviation > 0
    return _main_columns((rows[:, varies] - rows[:, varies].mean(axis=0)) / deviation[varies], MOST_COLUMNS)


def _main_columns(rows: Floats, most: int) -> Floats:
    """Return the columns of centered rows, or so many principal components if there are more columns."""
    if rows.shape[1] <= most:
        return np.ascontiguousarray(rows)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    return np.ascontiguousarray(left[:, :most] * values[:most])


def _few_columns(rows: Floats, n_columns: int) -> Floats:
    """Return what `_main_columns` does for few columns, nearly: a subspace iteration is three times as fast."""
    if rows.shape[1] <= n_columns:
        return np.ascontiguousarray(rows)
    T = np.ascontiguousarray(rows.T)
    V = components(rows, T, start_vectors(min(n_columns, len(rows)), rows.shape[1]), N_POWERS)
    return np.ascontiguousarray(multiply(V, T).T)


def _logs_within(rows: Floats, weights: Floats) -> Floats:
    """Return the logarithms of all sums of squares that are compared, relative to those of undivided rows."""
    few = rows[:PATH_ROWS]
    few = _few_columns(few - few.mean(axis=0), PATH_COLUMNS)
    return np.append(_path(few, weights[:PATH_ROWS]), _held_out(rows, weights))


def _path(rows: Floats, weights: Floats) -> Floats:
    """Return the logarithms of the sums of squares within 2, 3, … clusters, relative to that of all rows."""
    path = _kernels.bisect.path(rows, weights, MOST_CLUSTERS)
    return np.log(np.maximum(path[1:] / max(path[0], np.finfo(np.float64).tiny), np.finfo(np.float64).eps))


def _held_out(rows: Floats, weights: Floats) -> float:
    """Return the logarithm of the share within two groups along a direction that the other half found; a mean of two.

    Half of the rows is divided in two, and the other half is divided anew along the direction between its means.
    """
    middle = len(rows) // 2
    first, second = slice(0, middle), slice(middle, None)
    logs = []
    for learn, judge in ((first, second), (second, first)):
        direction = _kernels.bisect.between(rows[learn], weights[learn])
        share = share_within_two(rows[judge] @ direction, weights[judge])
        logs.append(np.log(max(share, np.finfo(np.float64).eps)))
    return float(np.mean(logs))


def share_within_two(values: Floats, weights: Floats) -> float:
    """Return the least sum of squares within two intervals of some values, relative to that of all values.

    Each interval has at least a tenth of the weight. The result is 1 if the values do not vary.
    """
    order = np.argsort(values)
    values, share = values[order], weights[order] / weights.sum()
    centered = values - share @ values
    variance = float(share @ centered**2)
    left, moment = np.cumsum(share)[:-1], np.cumsum(share * centered)[:-1]
    allowed = (np.diff(values) > 0) & (left >= LEAST_SHARE) & (left <= 1 - LEAST_SHARE)
    if not variance > 0 or not allowed.any():
        return 1.0
    between = moment[allowed] ** 2 / (left[allowed] * (1 - left[allowed]))
    return max(1.0 - float(between.max()) / variance, 0.0)


def _is_far_below(logs: list[Floats]) -> bool:
    """Return whether the first data set lies far below all others in one of the logarithms."""
    others = np.array(logs[1:])
    deviation = others.std(axis=0)
    below = others.mean(axis=0) - logs[0]
    return bool((below[deviation > 0] > CLEARLY * deviation[deviation > 0]).any())


def _n_more_extreme(logs: list[Floats]) -> int:
    """Return how many of the other data sets are at least as extreme as the first one."""
    all_logs = np.array(logs)
    deviation = all_logs.std(axis=0)
    below = (all_logs.mean(axis=0) - all_logs) / np.where(deviation > 0, deviation, 1.0)
    extreme = below.max(axis=1)
    return int((extreme[1:] >= extreme[0]).sum())
