"""A few cells so large that nothing but them decides on the answer.

Directions are chosen by how the rows spread along them. One cell of 1e12, an error of measurement or of units, spreads
the rows more than all others together, and the cluster found is "all but this row".
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Matrix, Moments

FEW, MOST_ROWS, FEWEST_ROWS = 5, 0.02, 10
"""Cells that are a few, and the share of the rows that they may be; of fewer than so many rows none stands out."""

OUTLYING_SHARE = 0.9999
"""Share of the sum of squares of all columns that a few cells have where nothing else matters."""

LOOKED_AT, SUSPECT = 256, 100.0
"""Rows by which the spread of ordinary rows is judged; a column is looked at closely where the square of its reach is
so many times all that."""


class Outliers(NamedTuple):
    """The largest of a few cells, and how many it takes to have nearly all of the sum of squares."""

    row: int
    column: int
    value: float
    n_cells: int


def find_outliers(X: Matrix, weights: Floats, reach: float, n_jobs: int | None = None) -> Outliers | None:
    """The cells that have nearly all of the sum of squares, if a few have.

    Parameters
    ----------
    X, weights : the rows and their weights
    reach : float
        Largest less least entry of all columns.
    n_jobs : int or None, default=None
        Threads.
    """
    return _in_sparse_rows(X, weights) if sparse.issparse(X) else _in_dense_rows(X, weights, reach, n_jobs)


def is_outlier(far: float, weight: float, n_rows: int, moments: Moments, squares: Floats, column: int) -> bool:
    """Whether a cell of a column, so far from its mean, has nearly all of the sum of squares.

    `squares` has the sum of squares of each column. A lower bound of the row's weight is enough.
    """
    has_others = bool(np.delete(squares, column).any()) or len(squares) == 1
    share = weight * far**2 * moments.count / max(moments.count - weight, weight)  # the cell has moved the mean
    return n_rows >= FEWEST_ROWS and has_others and share >= OUTLYING_SHARE * moments.sum_sq > 0


def _in_dense_rows(X: Matrix, weights: Floats, reach: float, n_jobs: int | None) -> Outliers | None:
    some = X[:: max(X.shape[0] // LOOKED_AT, 1)].astype(np.float64)
    places = [len(some) // 4, len(some) // 2, 3 * len(some) // 4]
    low, center, high = np.partition(some, places, axis=0)[places]
    least = math.sqrt(SUSPECT * X.shape[0] * float(((high - low) ** 2).sum()))
    if reach <= least:
        return None
    # From here on it costs passes over the rows: ordinary ones do not get here.
    of_columns = np.ptp(X, axis=0).astype(np.float64)
    suspect = np.argsort(-of_columns, kind="stable")[:FEW]
    suspect = suspect[of_columns[suspect] > least]
    if not len(suspect):
        return None
    far = weights[:, np.newaxis] * (X[:, suspect] - center[suspect]) ** 2
    cells = np.argsort(-far, axis=None, kind="stable")[:FEW]
    others = weights.copy()
    others[cells // len(suspect)] = 0.0
    squares = map_blocks(lambda b: _kernels.rows.column_squares(X[b], others[b], center), X.shape, n_jobs)
    n_cells = _few_enough(far.ravel()[cells], float(np.sum(squares)), weights)
    if n_cells is None:
        return None
    row, place = divmod(int(cells[0]), len(suspect))
    return Outliers(row, int(suspect[place]), float(X[row, suspect[place]]), n_cells)


def _in_sparse_rows(X: Matrix, weights: Floats) -> Outliers | None:
    if not X.nnz:
        return None
    largest = float(max(X.data.max(), -X.data.min()))
    scaled = X.data / largest  # the square of the largest is 1 then
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
    """How many of the largest squares have nearly all of the sum; None if it takes more than a few, or all there is."""
    n_rows = np.count_nonzero(weights)
    enough = np.cumsum(largest) >= OUTLYING_SHARE * (largest.sum() + others)
    n_cells = int(enough.argmax()) + 1
    is_few = n_cells <= max(n_rows * MOST_ROWS, 1)
    return n_cells if n_rows >= FEWEST_ROWS and others > 0 and enough.any() and is_few else None
