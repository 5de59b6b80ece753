"""All rows of a node along a direction: what a search asks of them, on threads.

The projected values are reduced to weights on a grid. From there on nothing costs more for more rows, except the
gradient, which is a second pass over the rows.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import count_blocks, lines_of_blocks, sum_blocks
from ravine._lattice import CELLS_PER_VALUE, even_rows
from ravine._matrix import Floats, Ints, Matrix, Moments, project, weighted_sum
from ravine.cuts._density import Line

COARSE_ABOVE = 20_000
"""A node with more rows is large: most of its search uses a sample or a grid."""

POINTS_PER_DEVIATION = 2048
"""Points per standard deviation of a grid that replaces the rows along a direction."""

GRID_BLOCKS, GRID_POINTS = 16, 1 << 16
"""Weights on a grid are added up in at most so many blocks, each with its own grid, of at most so many points together,
but in two blocks at least."""


@dataclass(frozen=True)
class Along:
    """Rows projected on a unit vector, relative to their projected mean.

    Attributes
    ----------
    X, weights, mean : the rows, their weights and their mean
    values : ndarray of shape (n_samples,)
        The projected rows.
    low, high : float
        Smallest and largest value.
    deviation : float
        Standard deviation of the values.
    n_jobs : int or None
    """

    X: Matrix
    weights: Floats
    mean: Floats
    values: Floats
    low: float
    high: float
    deviation: float
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        X: Matrix,
        weights: Floats,
        mean: Floats,
        direction: Floats,
        n_jobs: int | None = None,
        out: Floats | None = None,
    ) -> "Along":
        """Project the rows, in one pass; the values are written to `out`, if it is given."""
        origin = float(mean @ direction)
        if sparse.issparse(X):
            values = project(X, direction) - origin
            low, high = float(values.min()), float(values.max())
            square, count = float(weights @ values**2), float(weights.sum())
        else:
            values = np.empty(X.shape[0]) if out is None else out

            def project_rows(b: slice, block_rows: int) -> Floats:
                lines = np.empty((count_blocks(b, block_rows), 4))
                _kernels.along.project_centered(X[b], weights[b], direction, origin, values[b], block_rows, lines)
                return lines

            lines = lines_of_blocks(project_rows, X.shape, n_jobs)
            low, high = float(lines[:, 0].min()), float(lines[:, 1].max())
            square, count = lines[:, 2:].sum(axis=0).tolist()
        return cls(X, weights, mean, values, low, high, math.sqrt(square / count), n_jobs)

    def line(self, step: float) -> Line:
        """Return the section of the lattice with this step that contains the values."""
        return Line.between(self.low, self.high, step)

    def on(self, line: Line) -> Floats:
        """Return the weight on each point of a line."""

        def bin_values(b: slice, block_rows: int) -> Floats:
            grid = line.low, line.step, line.n_bins
            return _kernels.along.masses(self.values[b], self.weights[b], *grid, block_rows)

        n_blocks = min(GRID_BLOCKS, max(GRID_POINTS // line.n_bins, 2))
        return sum_blocks(bin_values, (len(self.values), CELLS_PER_VALUE), self.n_jobs, n_blocks)

    def points(self) -> tuple[Floats, Floats]:
        """Return positions and weights that can replace the values, for a density or a valley."""
        line = self.line(self.deviation / POINTS_PER_DEVIATION if self.deviation > 0 else 1.0)
        mass = self.on(line)
        used = np.flatnonzero(mass)
        return np.clip(line.low + line.step * used, self.low, self.high), mass[used]

    def pull(self, line: Line, slopes: Floats, tilt: float) -> Floats:
        """Return Σ c (x - mean), with c the weight times (the slope of the row's cell - tilt · its value)."""
        if sparse.issparse(self.X):
            cell = np.clip(((self.values - line.low) / line.step).astype(np.int64), 0, len(slopes) - 1)
            c = self.weights * (slopes[cell] - tilt * self.values)
            return np.asarray(weighted_sum(self.X, c) - c.sum() * self.mean)

        def pull_rows(b: slice, block_rows: int) -> Floats:
            along = self.values[b], line.low, line.step
            return _kernels.along.pull(self.X[b], self.weights[b], *along, slopes, tilt, block_rows)

        sums = sum_blocks(pull_rows, self.X.shape, self.n_jobs)
        return np.asarray(sums[:-1] - sums[-1] * self.mean)

    def sample(self, n: int) -> Ints:
        """Return rows spread evenly over the weight along the direction."""
        step = self.deviation / POINTS_PER_DEVIATION
        return np.asarray(even_rows(self.X, self.values, self.weights, step, n, self.n_jobs, (self.low, self.high)))


def values_along(
    X: Matrix, weights: Floats, mean: Floats, direction: Floats, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Return the projected rows, relative to their mean, and their weights; for many rows, points of a fine grid."""
    if X.shape[0] > COARSE_ABOVE:
        return Along.of(X, weights, mean, direction, n_jobs).points()
    return project(X, direction, n_jobs) - mean @ direction, weights


def deviation_along(
    X: Matrix, weights: Floats, moments: Moments, direction: Floats, n_jobs: int | None = None
) -> float:
    """Return the standard deviation along a direction; 0 if the values differ at most by rounding."""
    largest = abs(float(moments.mean @ direction))
    if moments.scatter is not None:
        square = float(direction @ moments.scatter @ direction)
        deviation = width = math.sqrt(max(square, 0.0) / moments.count)
    else:
        along = Along.of(X, weights, moments.mean, direction, n_jobs)
        deviation, width, largest = along.deviation, along.high - along.low, largest + max(-along.low, along.high)
    return deviation if width > 8 * np.finfo(np.float64).eps * largest else 0.0
