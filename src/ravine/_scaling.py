"""Center and scale of columns that a few cells far out do not change.

One cell of 999 among numbers near 1 makes the deviation of its column so large that the column vanishes after scaling.
So cells that are far outside of their column are moved in, and the mean and the deviation are those of the result. A
column without such cells keeps its ordinary mean and deviation, also if it is skewed, has heavy tails or few values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ravine._matrix import Floats, Matrix, column_extent, column_moments
from ravine._ties import TIE

EDGE, FAR = 0.02, 10.0
"""A cell is far outside if its distance to the central rows is more than the second number times their range. The
central rows of a column are those between its two edges, with this share of the weight beyond each."""

NEAR = 5.0
"""A column has no such cell if all its cells are within this many deviations of the mean: fewer rows than are beyond an
edge cannot hide farther cells in the deviation."""

EDGE_CELLS, EDGE_ROWS, EDGE_SEED = 1 << 20, 5_000, 0
"""For a search, the edges of columns are those of all rows if these have at most so many numbers, and else of a sample
with so many numbers, but of at least so many rows, which is drawn with this seed."""

ALIKE = 0.1
"""If the scale of all rows and that of a sample differ by a larger share, rows that are not in the sample may have far
cells."""


class ScaledRows(np.ndarray):
    """Rows whose columns have a common scale on purpose, so that a method that scales columns leaves them alone.

    Slices and copies are of this class, too. Other arrays are not: not even those with columns of unit variance.
    """

    @classmethod
    def of(cls, X: Floats) -> "ScaledRows":
        """Return a view of the rows."""
        return X.view(cls)


@dataclass(frozen=True)
class Scaling:
    """Where the columns end, their centers and their scales.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Edges of the central rows; infinite if a column has no cell far outside.
    reach : ndarray of shape (n_features,)
        Cells that are farther than this from both edges are moved to the nearer edge.
    center, scale : ndarray of shape (n_features,)
        Mean and standard deviation of each column after that; the scale of a constant column is 1.
    """

    low: Floats
    high: Floats
    reach: Floats
    center: Floats
    scale: Floats

    @classmethod
    def of(cls, X: Matrix, weights: Floats, n_jobs: int | None = None) -> "Scaling":
        """Measure the columns of dense rows of positive weight."""
        count, center, squares = column_moments(X, weights, n_jobs)
        found = cls.without_bounds(center, squares)
        low, high = column_extent(X, n_jobs)
        farthest = np.maximum(high - center, center - low)
        suspect = np.flatnonzero(farthest**2 > NEAR**2 * squares / count)
        if len(suspect):
            columns = np.ascontiguousarray(X[:, suspect], dtype=np.float64)
            edges = edges_of(columns, weights)
            for every, of_suspect in zip((found.low, found.high, found.reach), edges, strict=True):
                every[suspect] = of_suspect
            _, center[suspect], squares[suspect] = column_moments(moved_in(columns, *edges), weights, n_jobs)
        deviation = np.sqrt(squares / count)
        varies = deviation > 8 * np.finfo(np.float64).eps * np.abs(center)
        return replace(found, scale=np.where(varies, deviation, 1.0))

    def with_moments_of(self, center: Floats, scale: Floats) -> "Scaling":
        """Return the scaling with the centers and scales of more rows, where far cells have no part in them."""
        agrees = np.isinf(self.reach) & (np.abs(scale - self.scale) <= ALIKE * self.scale)
        return replace(self, center=np.where(agrees, center, self.center), scale=np.where(agrees, scale, self.scale))

    @classmethod
    def without_bounds(cls, center: Floats, scale: Floats) -> "Scaling":
        """Return the scaling with these centers and scales that moves no cell."""
        infinite = np.full(len(center), np.inf)
        return cls(-infinite, infinite.copy(), infinite, center, scale)

    @property
    def moves_cells(self) -> bool:
        """Whether some column had a cell far outside."""
        return bool(np.isfinite(self.reach).any())

    def rows(self, X: Matrix) -> Matrix:
        """Return scaled rows; sparse rows are scaled but not centered, and no cell of them is moved."""
        if sparse.issparse(X):
            return sparse.csr_matrix(X.multiply(1.0 / self.scale))
        X = self.without_far_cells(X)
        return np.ascontiguousarray((X - self.center) / self.scale, dtype=X.dtype)

    def without_far_cells(self, X: Floats) -> Floats:
        """Return dense rows in which the cells far outside are moved in; the same rows if there are none."""
        return moved_in(X, self.low, self.high, self.reach) if self.moves_cells else X


def edges_by(
    low: Floats, high: Floats, mean: Floats, variance: Floats, rows: Callable[[], tuple[Matrix, Floats]]
) -> Floats | None:
    """Return what `edges_of` returns for each column, one line for each of the three; None if no cell is far outside.

    Parameters
    ----------
    low, high : ndarray of shape (n_features,)
        Smallest and largest cell of each column.
    mean, variance : ndarray of shape (n_features,)
    rows : callable ``() -> (rows, weights)``
        Returns all dense rows or a sample of them. It is called only if some cell may be far outside.
    """
    suspect = np.flatnonzero(np.maximum(high - mean, mean - low) ** 2 > NEAR**2 * variance)
    if not len(suspect):
        return None
    X, weights = rows()
    # The ends of all rows, with hardly any weight, say whether a cell is far outside if the rows are a sample.
    columns = np.vstack([X[:, suspect].astype(np.float64), low[suspect], high[suspect]])
    found = edges_of(columns, np.append(weights, [np.finfo(np.float64).tiny] * 2))
    if not np.isfinite(found[2]).any():
        return None
    edges = np.outer([-np.inf, np.inf, np.inf], np.ones(len(mean)))
    edges[:, suspect] = found
    return edges


def n_edge_rows(n_columns: int) -> int:
    """Return the maximum number of rows that say where the edges of the columns are."""
    return max(EDGE_CELLS // n_columns, EDGE_ROWS)


def edges_of(X: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the two edges of the central rows of each column, and the distance to them that is far outside.

    If all central rows have one value, the median distance of the other rows to it replaces the range. All three are
    infinite for a column without a cell far outside.
    """
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    mass = weights[order]
    below = np.cumsum(mass, axis=0)
    edge = EDGE * (1 + TIE) * below[-1]  # sums that differ by rounding are equal
    every = np.arange(X.shape[1])
    low = ordered[(below > edge).argmax(axis=0), every]
    high = ordered[(below >= below[-1] - edge).argmax(axis=0), every]
    width = high - low
    for j in np.flatnonzero(width == 0):
        others = ordered[:, j] != low[j]
        width[j] = np.inf
        if others.any():
            (width[j],) = weighted_quantiles(np.abs(ordered[others, j] - low[j]), mass[others, j], (0.5,))
    reach = FAR * width
    has_far = (ordered[0] < low - reach) | (ordered[-1] > high + reach)
    return np.where(has_far, low, -np.inf), np.where(has_far, high, np.inf), np.where(has_far, reach, np.inf)


def weighted_quantiles(values: Floats, weights: Floats, shares: tuple[float, ...]) -> Floats:
    """Return the smallest values that at least these shares of the weight do not exceed, up to rounding."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weights[order])
    return values[order][np.searchsorted(up_to, np.array(shares) * (1 - TIE) * up_to[-1])]


def moved_in(X: Matrix, low: Floats, high: Floats, reach: Floats) -> Matrix:
    """Return rows in which the cells far outside are moved to the nearer edge."""
    moved = np.where(low - X > reach, low, X)
    return np.where(X - high > reach, high, moved).astype(X.dtype, copy=False)
