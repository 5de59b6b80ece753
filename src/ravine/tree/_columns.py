"""Searches that start from a single column, for clusters that differ in few of many columns.

If all columns have the same variance, the principal components mix the columns that separate clusters with those that
do not, and a search from there may not find the way back. So the strongest valley of a column is compared with the
valley of the cut that was found. If that of a column is stronger, there is one more search, from this column. See
`docs/decisions/number-of-clusters.md` for the figures.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._matrix import Floats, Ints, Matrix, Moments, project
from ravine._ties import is_less, rounded_order
from ravine.cuts import Cut
from ravine.cuts._along import COARSE_ABOVE
from ravine.cuts._cut import RoughCut
from ravine.cuts._pursuit import even_sample
from ravine.tree._valley_test import lattice_steps

AnyCut = TypeVar("AnyCut", bound=Cut | RoughCut[Any])

MAX_COLUMNS, N_VALUES = 8, 400
"""The valleys of at most this many columns are measured, on this many quantiles of each."""

LEAST_SCORE, LEAST_SIDE = 3.0, 0.02
"""Minimum score of the valley of a column, and minimum share of the rows on either side."""

MAX_ATOM = 0.1
"""A column is left out if one value has a larger share of the rows: the gap beside that value is no valley."""

FEWEST_COLUMNS = 8
"""With fewer columns, the principal components show what a column shows."""


def best_with_column(
    found: AnyCut | None,
    X: Matrix,
    weights: Floats,
    moments: Moments,
    search: Callable[[Floats], AnyCut | None],
    n_jobs: int | None = None,
) -> AnyCut | None:
    """Return the cut, or the one that a search from a column finds, if the valley there is stronger.

    Parameters
    ----------
    found : Cut, RoughCut or None
        The cut that was found for the rows; None is returned as it is.
    X, weights, moments : rows of the node, their weights, which are positive, and moments
        Valleys of a large node are measured on a sample. Sparse rows have no search from a column.
    search : callable ``direction -> Cut, RoughCut or None``
        Finds a cut from a start.
    n_jobs : int, optional
        Number of threads.
    """
    if found is None or sparse.issparse(X) or X.shape[1] < FEWEST_COLUMNS:
        return found
    rows = X, weights
    if isinstance(found, RoughCut) and found.sample is not None:
        rows = found.sample
    elif X.shape[0] > COARSE_ABOVE:
        rows = even_sample(X, weights, moments.mean, _normal(found), n_jobs)
    score = score_along(*rows, _normal(found))
    column = column_with_valley(*rows, max(score, LEAST_SCORE))
    other = None if column is None else search(np.eye(1, X.shape[1], column)[0])
    is_better = other is not None and not is_less(score_along(*rows, _normal(other)), score)
    return other if is_better else found


def _normal(found: Cut | RoughCut[Any]) -> Floats:
    return found.cut.normal if isinstance(found, RoughCut) else found.normal


def column_with_valley(X: Floats, weights: Floats, least_score: float) -> int | None:
    """Return the column with the strongest valley; None if no score is larger than `least_score`."""
    best, column = least_score, None
    n_atom = int(MAX_ATOM * N_VALUES)
    for j in striking_columns(X, weights).tolist():
        values = quantiles(np.asarray(X[:, j], dtype=np.float64), weights)
        has_atom = (values[n_atom:] == values[:-n_atom]).any()
        if has_atom or not is_less(best, valley_score(values, float(weights.sum()))):
            continue
        step = float(lattice_steps(values[:, np.newaxis])[0])  # costs more than the score, which is seldom large
        score = valley_score(values, float(weights.sum()), step)
        if is_less(best, score):
            best, column = score, j
    return column


def striking_columns(X: Floats, weights: Floats) -> Ints:
    """Return the columns with the smallest and the largest kurtosis, half of them each.

    Two clusters of similar size have a small kurtosis, and a small one beside a large one has a large kurtosis.
    """
    n_columns = X.shape[1]
    if n_columns <= MAX_COLUMNS:
        return np.arange(n_columns)
    share = weights / weights.sum()
    mean = share @ X
    centered = X - mean
    deviation = np.sqrt(share @ centered**2)
    varies = deviation > 8 * np.finfo(np.float64).eps * np.abs(mean)
    squares = (centered / np.where(varies, deviation, 1.0)) ** 2  # a power of 4 would take far longer
    kurtosis = np.where(varies, share @ squares**2, 3.0)
    order = rounded_order(np.log(kurtosis))
    return np.concatenate([order[: MAX_COLUMNS // 2], order[-(MAX_COLUMNS // 2) :]])


def score_along(X: Floats, weights: Floats, direction: Floats) -> float:
    """Return the score of the strongest valley of rows along a direction, whatever the lattice of the columns."""
    return valley_score(quantiles(project(X, direction), weights), float(weights.sum()))


def quantiles(values: Floats, weights: Floats) -> Floats:
    """Return values that have equal weights between them, in increasing order: a sample of fixed size."""
    if (weights == weights[0]).all():  # a sort without weights is several times faster
        ordered, mass = np.sort(values), weights
    else:
        order = np.argsort(values, kind="stable")
        ordered, mass = values[order], weights[order]
    middle = np.cumsum(mass) - mass / 2
    return np.interp((np.arange(N_VALUES) + 0.5) / N_VALUES * mass.sum(), middle, ordered)


def valley_score(values: Floats, count: float, resolution: float = 0.0) -> float:
    """Return the score of the strongest valley of the quantiles of `count` rows, or as if of fewer; 0 if there is none.

    The score grows with the square root of the number of rows.
    """
    kernel = _kernels.proposals
    found = kernel.strongest(values, resolution, LEAST_SIDE, len(kernel.MULTIPLES))
    return float(found[kernel.SCORE]) * math.sqrt(min(count / N_VALUES, 1.0))
