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
from ravine._matrix import Floats, Matrix, Moments, project
from ravine._outofcore import ChunkedNode
from ravine._ties import is_less
from ravine.cuts import Cut
from ravine.cuts._chunked import chunked_sample
from ravine.cuts._cut import RoughCut
from ravine.cuts._proposals import striking_columns, strongest_on_lines
from ravine.cuts._pursuit import COARSE_ROWS, even_sample, is_small
from ravine.tree._valley_test import typical_gaps

AnyCut = TypeVar("AnyCut", bound=Cut | RoughCut[Any] | Floats)

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
    elif not measures_all(*X.shape):
        rows = even_sample(X, weights, moments.mean, _normal(found), n_jobs)
    return best_of_few(found, *rows, search)


def chunked_best_with_column(
    found: AnyCut | None, node: ChunkedNode, search: Callable[[Floats], AnyCut | None]
) -> AnyCut | None:
    """Return the result of `best_with_column` for a node of out-of-core data whose rows are not fetched to be cut."""
    n_columns = len(node.moments.mean)
    if found is None or n_columns < FEWEST_COLUMNS:
        return found
    if isinstance(found, RoughCut) and found.sample is not None:
        rows = found.sample
    elif measures_all(node.n_rows, n_columns):
        taken = node.fetch()
        rows = taken.X, taken.weights
    else:
        rows = chunked_sample(node, _normal(found))
    return best_of_few(found, *rows, search)


def measures_all(n_rows: int, n_columns: int) -> bool:
    """Return whether valleys are measured on all rows of a node, not on a sample of them."""
    return n_rows <= COARSE_ROWS or is_small(n_rows, n_columns)


def best_of_few(found: AnyCut, X: Floats, weights: Floats, search: Callable[[Floats], AnyCut | None]) -> AnyCut:
    """Return the result of `best_with_column` for dense rows that need no sample; a cut may be a direction only."""
    if X.shape[1] < FEWEST_COLUMNS:
        return found
    score = score_along(X, weights, _normal(found))
    column = column_with_valley(X, weights, max(score, LEAST_SCORE))
    other = None if column is None else search(np.eye(1, X.shape[1], column)[0])
    is_better = other is not None and not is_less(score_along(X, weights, _normal(other)), score)
    return other if other is not None and is_better else found


def _normal(found: Cut | RoughCut[Any] | Floats) -> Floats:
    if isinstance(found, np.ndarray):
        return found
    return found.cut.normal if isinstance(found, RoughCut) else found.normal


def column_with_valley(X: Floats, weights: Floats, least_score: float) -> int | None:
    """Return the column with the strongest valley; None if no score is larger than `least_score`."""
    T, n_atom, count = _standardized(X, weights), int(MAX_ATOM * N_VALUES), float(weights.sum())
    columns = striking_columns(T, MAX_COLUMNS, weights)
    values = quantiles(T[columns], weights)
    score = np.where((values[:, n_atom:] == values[:, :-n_atom]).any(axis=1), 0.0, valley_scores(values, count))
    high = np.flatnonzero([is_less(least_score, one) for one in score.tolist()])
    if not len(high):
        return None
    best, column = least_score, None
    for k, one in zip(high, valley_scores(values[high], count, typical_gaps(values[high])).tolist(), strict=True):
        if is_less(best, one):
            best, column = one, int(columns[k])
    return column


def _standardized(X: Floats, weights: Floats) -> Floats:
    """Return the columns of rows as rows, each with mean 0 and variance 1; 0 for a column that does not vary."""
    share = weights / weights.sum()
    T = np.array(X.T, dtype=np.float64, order="C")
    mean = np.einsum("ij,j->i", T, share)
    T -= mean[:, np.newaxis]
    deviation = np.sqrt(np.einsum("ij,ij,j->i", T, T, share))
    varies = deviation > 8 * np.finfo(np.float64).eps * np.abs(mean)
    T *= np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)[:, np.newaxis]
    return T


def score_along(X: Floats, weights: Floats, direction: Floats) -> float:
    """Return the score of the strongest valley of rows along a direction, whatever the lattice of the columns."""
    return float(valley_scores(quantiles(project(X, direction)[np.newaxis], weights), float(weights.sum()))[0])


def quantiles(lines: Floats, weights: Floats) -> Floats:
    """Return for each line of values those that have equal weights between them, in increasing order."""
    at = (np.arange(N_VALUES) + 0.5) / N_VALUES * weights.sum()
    if (weights == weights[0]).all():  # all lines have the same weights in their order
        ordered = np.sort(lines, axis=1)
        place = np.clip(at / weights[0] - 0.5, 0, lines.shape[1] - 1)
        below = np.minimum(place.astype(np.int64), max(lines.shape[1] - 2, 0))
        above = np.minimum(below + 1, lines.shape[1] - 1)
        low, high = np.take(ordered, below, axis=1), np.take(ordered, above, axis=1)
        return low + (place - below) * (high - low)
    found = np.empty((len(lines), N_VALUES))
    for values, line in zip(lines, found, strict=True):
        order = np.argsort(values, kind="stable")
        line[:] = np.interp(at, np.cumsum(weights[order]) - weights[order] / 2, values[order])
    return found


def valley_scores(values: Floats, count: float, resolutions: Floats | None = None) -> Floats:
    """Return the score of the strongest valley of each line of quantiles of `count` rows, or as if of fewer.

    It is 0 if there is no valley. The score grows with the square root of the number of rows.
    """
    resolutions = np.zeros(len(values)) if resolutions is None else resolutions
    score = strongest_on_lines(values, resolutions, LEAST_SIDE)[:, _kernels.density.SCORE]
    return np.asarray(score * math.sqrt(min(count / N_VALUES, 1.0)))
