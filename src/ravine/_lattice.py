"""Weights of values on a lattice, with exact sums, and samples of rows spread evenly along a direction.

In-memory and out-of-core data use the same rules, so that they give the same numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._matrix import Floats, Matrix, fingerprint
from ravine._ties import TIE

DENSE_POINTS = 1 << 16
"""Up to this many points of a lattice, all points are stored."""


@dataclass(frozen=True)
class Lattice:
    """Weights of values at the points ``step * index``, the sum of their weighted squares, and their range.

    Weights and squares are in pairs, see `ravine._kernels.exact`. Points without weight may be left out.
    """

    step: float
    index: NDArray[np.int64]
    masses: Floats
    squares: Floats
    low: float
    high: float

    @cached_property
    def mass(self) -> Floats:
        """Weight at each point."""
        return np.asarray(self.masses.sum(axis=0))

    def closed(self) -> "Lattice":
        """Add up the pairs, when no more results will be merged."""
        masses, squares = self.masses.sum(axis=0, keepdims=True), self.squares.sum(axis=0, keepdims=True)
        return replace(self, masses=masses, squares=squares)

    @property
    def positions(self) -> Floats:
        """Positions of the points; points just outside the range of the values are moved to its ends."""
        return np.clip(self.step * self.index, self.low, self.high)

    @property
    def square(self) -> float:
        """Sum of the weighted squares of the values."""
        return float(self.squares.sum())

    @property
    def first(self) -> int:
        """Index of the first point of the section of the lattice that contains the values."""
        return _floor(self.low, self.step) - 1

    @property
    def n_points(self) -> int:
        """Number of points of that section."""
        return int(np.ceil(self.high / self.step)) - self.first + 2

    def dense(self) -> Floats:
        """Return the weights at all points of the section."""
        out = np.zeros(self.n_points)
        out[self.index - self.first] = self.mass
        return out

    def merge(self, other: "Lattice") -> "Lattice":
        """Merge the results of two chunks."""
        index, position = np.unique(np.concatenate([self.index, other.index]), return_inverse=True)
        masses = np.zeros((2, len(index)))
        masses[:, position[: len(self.index)]] += self.masses
        masses[:, position[len(self.index) :]] += other.masses
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Lattice(self.step, index, masses, self.squares + other.squares, low, high)


def on_lattice(values: Floats, rows: NDArray[Any], weights: Floats, step: float, *grids: Any) -> Lattice:
    """Put the values of some rows on a `Lattice`."""
    low, high = float(values.min()), float(values.max())
    before = np.floor(values / step).astype(np.int64)
    index = np.arange(_floor(low, step), _floor(high, step) + 2)
    if len(index) <= DENSE_POINTS:
        before -= index[0]
        after = before + 1
    else:  # with far outliers, store only the points that are used
        index, position = np.unique(np.concatenate([before, before + 1]), return_inverse=True)
        before, after = position[: len(values)], position[len(values) :]
    masses = np.zeros((2, len(index)))
    fine, grid, square_grid = grids
    squares = _kernels.exact.bins(values, rows, weights, step, before, after, fine, grid, square_grid, masses)
    used = np.flatnonzero(masses.any(axis=0))
    return Lattice(step, index[used], masses[:, used], squares, low, high)


def nearest_rows(
    X: Matrix, rows: NDArray[Any], values: Floats, positions: Floats, step: float
) -> tuple[NDArray[Any], Floats, NDArray[np.uint64]]:
    """For each position on a line, find the nearest of the rows with these values, its distance and its number.

    Distances are integer multiples of a small share of a lattice step. A position is often midway between two rows, and
    rounding must not choose one of them.
    """
    order = np.argsort(values, kind="stable")
    along = values[order]
    after = np.searchsorted(along, positions)
    beside = along[np.stack([np.maximum(after - 1, 0), np.minimum(after, len(along) - 1)])]
    away = np.rint(np.abs(beside - positions) / (TIE * step))
    distance = away.min(axis=0)
    # Among all rows that are equally near, before or after a position, take the one with the smallest number.
    low = np.searchsorted(along, np.where(away[0] == distance, beside[0], beside[1]), "left")
    high = np.searchsorted(along, np.where(away[1] == distance, beside[1], beside[0]), "right")
    stretches, which = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    lengths = stretches[1] - stretches[0]
    begin = np.cumsum(lengths) - lengths
    candidates = rows[order[np.repeat(stretches[0] - begin, lengths) + np.arange(lengths.sum())]]
    numbers = fingerprint(X[candidates], 0)
    smallest = np.minimum.reduceat(numbers, begin)
    is_smallest = numbers == np.repeat(smallest, lengths)
    first = np.flatnonzero(is_smallest)[np.searchsorted(np.flatnonzero(is_smallest), begin)]
    which = which.reshape(-1)
    return candidates[first][which], distance, smallest[which]


def even_positions(positions: Floats, mass: Floats, n: int) -> Floats:
    """Return `n` positions that divide the weight on a line into equal shares, given the weight at some positions."""
    below = np.cumsum(mass)
    share = (np.arange(n) + 0.5) / n
    return np.interp(share * below[-1], below - mass / 2, positions)


def even_rows(X: Matrix, values: Floats, weights: Floats, step: float, n: int) -> NDArray[Any]:
    """Return `n` rows spread evenly over the weight along a line, given the values of all rows on it."""
    rows, count = np.arange(X.shape[0]), float(weights.sum())
    bounds = (count, count * float(np.abs(values).max()) ** 2)
    on = on_lattice(values, rows, weights, step, fine_for(X.shape[0]), *(grid_for(bound) for bound in bounds))
    return nearest_rows(X, rows, values, even_positions(on.positions, on.mass, n), step)[0]


def grid_for(bound: Any) -> Any:
    """Return the number whose addition and subtraction rounds terms so that sums up to `bound` are exact."""
    grid = np.where(np.asarray(bound) > 0, np.ldexp(1.5, np.frexp(bound)[1] + 1), 0.0)
    return float(grid) if grid.ndim == 0 else grid


def fine_for(n_rows: int) -> float:
    """Return the ratio between the second grid, for the remainders of `n_rows` terms, and the first grid."""
    return float(np.ldexp(1.0, int(np.frexp(float(n_rows))[1]) + 2 - 53))


def _floor(value: float, step: float) -> int:
    return int(np.floor(value / step))
