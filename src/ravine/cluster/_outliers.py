"""Detection of a few cells that are so large that they alone would determine the result.

The methods choose directions by the spread of the rows. One cell of 1e12, from an error in a measurement or a unit,
can have more spread than all others together. The clusters would then be "this row" and "all other rows".
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Matrix, Moments

FEW, MOST_ROWS, FEWEST_ROWS = 5, 0.02, 10
"""Maximum number of outlying cells, their maximum share of the rows, and the minimum number of rows for a warning."""

OUTLYING_SHARE = 0.9999
"""Outlying cells have at least this share of the sum of squares of all columns."""

LOOKED_AT, SUSPECT = 256, 100.0
"""The spread of ordinary rows is estimated on this many rows; a column is examined closely if its squared range is more
than this many times the total spread."""


class Outliers(NamedTuple):
    """The largest outlying cell, and the number of cells that hold nearly all of the sum of squares."""

    row: int
    column: int
    value: float
    n_cells: int


def find_outliers(X: Matrix, weights: Floats, reach: float, n_jobs: int | None = None) -> Outliers | None:
    """Find the cells that hold nearly all of the sum of squares; None if these are more than a few.

    Parameters
    ----------
    X, weights : the rows and their weights
    reach : float
        Range of all entries: the largest minus the smallest.
    n_jobs : int or None, default=None
        Number of threads.
    """
    return _in_sparse_rows(X, weights) if sparse.issparse(X) else _in_dense_rows(X, weights, reach, n_jobs)


def is_outlier(far: float, weight: float, n_rows: int, moments: Moments, squares: Floats, column: int) -> bool:
    """Return whether a cell at the distance `far` from its column's mean holds nearly all of the sum of squares.

    `squares` has the sum of squares of each column. `weight` may be a lower bound of the weight of the row.
    """
    has_others = bool(np.delete(squares, column).any()) or len(squares) == 1
    share = weight * far**2 * moments.count / max(moments.count - weight, weight)  # the cell has moved the mean
    return n_rows >= FEWEST_ROWS and has_others and share >= OUTLYING_SHARE * moments.sum_sq > 0


def _in_dense_rows(X: Matrix, weights: Floats, reach: float, n_jobs: int | None) -> Outliers | None:
    some = X[:: max(X.shape[0] // LOOKED_AT, 1)].astype(np.float64)
    quartiles = [len(some) // 4, len(some) // 2, 3 * len(some) // 4]
    low, center, high = np.partition(some, quartiles, axis=0)[quartiles]
    least = math.sqrt(SUSPECT * X.shape[0] * float(((high - low) ** 2).sum()))
    if reach <= least:
        return None
    # From here on the check costs passes over the rows; ordinary data does not get here.
    of_columns = np.ptp(X, axis=0).astype(np.float64)
    suspect = np.argsort(-of_columns, kind="stable")[:FEW]
    suspect = suspect[of_columns[suspect] > least]
    if not len(suspect):
        return None
    far = weights[:, np.newaxis] * (X[:, suspect] - center[suspect]) ** 2
    cells = np.argsort(-far, axis=None, kind="stable")[:FEW]
    others = weights.copy()
    others[cells // len(suspect)] = 0.0

    def add_up(b: slice) -> Floats:
        squares = np.zeros((1, X.shape[1]))
        _kernels.rows.column_squares(X[b], others[b], center, X.shape[0], squares)
        return squares[0]

    squares = map_blocks(add_up, X.shape, n_jobs)
    n_cells = _few_enough(far.ravel()[cells], float(np.sum(squares)), weights)
    if n_cells is None:
        return None
    row, position = divmod(int(cells[0]), len(suspect))
    return Outliers(row, int(suspect[position]), float(X[row, suspect[position]]), n_cells)


def _in_sparse_rows(X: Matrix, weights: Floats) -> Outliers | None:
    if not X.nnz:
        return None
    largest = float(max(X.data.max(), -X.data.min()))
    scaled = X.data / largest  # now the square of the largest is 1
    if (weights == weights[0]).all() and float(scaled @ scaled) > 2 * FEW:
        return None
    squares = np.repeat(weights, np.diff(X.indptr)) * np.square(scaled, dtype=np.float64)
    cells = np.argsort(-squares, kind="stable")[:FEW]
    n_cells = _few_enough(squares[cells], float(np.delete(squares, cells).sum()), weights)
    if n_cells is None:
        return None
    row = int(np.searchsorted(X.indptr, cells[0], side="right")) - 1
    return Outliers(row, int(X.indices[cells[0]]), float(X.data[cells[0]]), n_cells)


def _few_enough(largest: Floats, others: float, weights: Floats) -> int | None:
    """Return how many of the largest squares hold nearly all of the sum; None if these are too many, or all."""
    n_rows = np.count_nonzero(weights)
    enough = np.cumsum(largest) >= OUTLYING_SHARE * (largest.sum() + others)
    n_cells = int(enough.argmax()) + 1
    is_few = n_cells <= max(n_rows * MOST_ROWS, 1)
    return n_cells if n_rows >= FEWEST_ROWS and others > 0 and enough.any() and is_few else None
