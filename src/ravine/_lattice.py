"""Weights of values on a lattice, with exact sums, and samples of rows spread evenly along a direction.

In-memory and out-of-core data use the same rules, so that they give the same numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_rows
from ravine._matrix import Floats, Matrix, fingerprint, fingerprint_factors

DENSE_POINTS = 1 << 16
"""Up to this many points of a lattice, all points are stored."""

CELLS_PER_VALUE = 8
"""To put a value on a grid, or between positions, costs as much as to read this many cells."""

VALUES_PER_RESULT = 4
"""A thread has at least this many values for each number that it returns: others would take longer to merge."""

NEAR = 2.0**-14
"""Rows are equally near to a position if their distances agree to this share of a lattice step. It is far above
rounding, and far below the distance between positions."""

BUCKETS_PER_POSITION = 4
"""Buckets of equal width find the neighbors of a value among positions, this many for each position."""


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
        index, masses = added(self.index, self.masses, other.index, other.masses)
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Lattice(self.step, index, masses, self.squares + other.squares, low, high)


def added(index: NDArray[Any], sums: Floats, other_index: NDArray[Any], others: Floats) -> tuple[NDArray[Any], Floats]:
    """Add sums over points of a lattice, at sorted indices along the second axis; return those of the total."""
    if np.array_equal(index, other_index):
        return index, sums + others
    first, last = min(index[0], other_index[0]), max(index[-1], other_index[-1])
    if last - first > DENSE_POINTS:
        union, position = np.unique(np.concatenate([index, other_index]), return_inverse=True)
        mine, yours = position[: len(index)], position[len(index) :]
    else:
        occurs = np.zeros(last - first + 1, dtype=bool)
        occurs[index - first] = occurs[other_index - first] = True
        union, position = first + np.flatnonzero(occurs), np.cumsum(occurs) - 1
        mine, yours = position[index - first], position[other_index - first]
    total = np.zeros((sums.shape[0], len(union), *sums.shape[2:]))
    total[:, mine] = sums
    total[:, yours] += others
    return union, total


def on_lattice(values: Floats, rows: NDArray[Any], weights: Floats, step: float, *grids: Any) -> Lattice:
    """Put the values of some rows on a `Lattice`."""
    low, high = float(values.min()), float(values.max())
    before = np.floor(values / step).astype(np.int64)
    first, last = _floor(low, step), _floor(high, step) + 1
    if last - first < DENSE_POINTS:
        index = np.arange(first, last + 1)
        before -= first
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
    X: Matrix,
    rows: NDArray[Any] | None,
    values: Floats,
    positions: Floats,
    step: float,
    n_jobs: int | None = None,
    numbers: NDArray[np.uint64] | None = None,
) -> tuple[NDArray[Any], Floats]:
    """For each position on a line, find the nearest of the rows with these values, and its distance.

    `rows` are the numbers of the rows; None stands for all rows of `X`. Distances are integer multiples of a small
    share of a lattice step. A position is often midway between two rows, and rounding must not choose one of them:
    among all rows that are equally near, that with the smallest fingerprint is taken. `numbers` are the fingerprints of
    all rows, if they are known; `X` is not read then.

    The values are not sorted. The first pass finds the extremes between each two positions, which say how far
    the nearest row is, and the second one the rows at this distance.
    """
    n, unit = len(positions), NEAR * step
    cells, extremes = _cells_of(values, positions, n_jobs)
    distance, first_before, end_after = nearest_distances(positions, extremes, unit)
    if numbers is None:
        numbers = fingerprint(X, 0, n_jobs) if sparse.issparse(X) else np.empty(0, dtype=np.uint64)
    dense = np.empty((0, X.shape[1])) if sparse.issparse(X) else X
    contents = numbers, *fingerprint_factors(X.shape[1], 0)

    def find(b: slice) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        mine = np.arange(b.start, b.stop) if rows is None else rows[b]
        found: tuple[NDArray[Any], NDArray[np.uint64]] = _kernels.along.rows_at_distance(
            dense, mine, values[b], cells[b], extremes, positions, distance, first_before, end_after, unit, *contents
        )
        return found

    found = map_rows(find, (len(values), CELLS_PER_VALUE), n_jobs, least_rows=VALUES_PER_RESULT * n)
    row, number = np.stack([row for row, _ in found]), np.stack([number for _, number in found])
    best = np.where(row >= 0, number, np.uint64(2**64 - 1)).argmin(axis=0)
    return row[best, np.arange(n)], distance


def nearest_distances(positions: Floats, extremes: Floats, unit: float) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
    """Return the distance from each position to the nearest value, in units, given the extremes between positions.

    The two other arrays say for each cell between positions where the positions begin for which it is the nearest cell
    with values after them, and where those end for which it is the nearest one before them.
    """
    n = len(positions)
    has_rows, every = extremes[0] <= extremes[1], np.arange(n + 1)
    before = np.maximum.accumulate(np.where(has_rows, every, -1))[:-1]
    after = np.minimum.accumulate(np.where(has_rows, every, n + 1)[::-1])[::-1][1:]
    edges = np.append(extremes[1], -np.inf)[before], np.append(extremes[0], np.inf)[after]
    distance = np.rint(np.minimum(positions - edges[0], edges[1] - positions) / unit)
    return distance, np.searchsorted(after, every, "left"), np.searchsorted(before, every, "right")


def _cells_of(values: Floats, positions: Floats, n_jobs: int | None) -> tuple[NDArray[np.int32], Floats]:
    """Return the number of positions that do not exceed each value, and the extremes of the values with each number."""
    n_buckets, length = BUCKETS_PER_POSITION * len(positions), float(positions[-1] - positions[0])
    line = float(positions[0]), n_buckets / length if length > 0 else 0.0
    starts, cells = _kernels.along.index_positions(positions, *line, n_buckets), np.empty(len(values), dtype=np.int32)

    def find(b: slice) -> Floats:
        extremes: Floats = _kernels.along.cell_extremes(values[b], positions, starts, *line, cells[b])
        return extremes

    least = VALUES_PER_RESULT * len(positions)
    parts = np.stack(map_rows(find, (len(values), CELLS_PER_VALUE), n_jobs, least_rows=least))
    return cells, np.stack([parts[:, 0].min(axis=0), parts[:, 1].max(axis=0)])


def comes_first(X: Matrix, others: Matrix) -> NDArray[np.bool_]:
    """Return whether a row wins against the other one that is as near; equal rows count as one."""
    return np.asarray(fingerprint(X, 0) <= fingerprint(others, 0)) if len(X) else np.zeros(0, dtype=bool)


def even_positions(positions: Floats, mass: Floats, n: int) -> Floats:
    """Return `n` positions that divide the weight on a line into equal shares, given the weight at some positions."""
    below = np.cumsum(mass)
    share = (np.arange(n) + 0.5) / n
    return np.interp(share * below[-1], below - mass / 2, positions)


def even_rows(
    X: Matrix,
    values: Floats,
    weights: Floats,
    step: float,
    n: int,
    n_jobs: int | None = None,
    extent: tuple[float, float] | None = None,
) -> NDArray[Any]:
    """Return `n` rows spread evenly over the weight along a line, given the values of all rows on it.

    `extent` are the smallest and the largest value, if they are known.
    """
    low, high = _range(values, n_jobs) if extent is None else extent
    first = _floor(low, step)
    n_points = _floor(high, step) - first + 2
    if n_points > DENSE_POINTS:
        count = float(weights.sum())
        grids = (grid_for(bound) for bound in (count, count * max(-low, high) ** 2))
        on = on_lattice(values, np.arange(X.shape[0]), weights, step, fine_for(X.shape[0]), *grids)
        positions, mass = on.positions, on.mass
    else:
        mass = _masses(values, weights, step, first, n_points, n_jobs)
        used = np.flatnonzero(mass)
        positions, mass = np.clip(step * (first + used), low, high), mass[used]
    return nearest_rows(X, None, values, even_positions(positions, mass, n), step, n_jobs)[0]


def _range(values: Floats, n_jobs: int | None) -> tuple[float, float]:
    parts = np.array(map_rows(lambda b: (values[b].min(), values[b].max()), (len(values), 1), n_jobs))
    return float(parts[:, 0].min()), float(parts[:, 1].max())


def _masses(values: Floats, weights: Floats, step: float, first: int, n_points: int, n_jobs: int | None) -> Floats:
    """Return the weight at the points of a lattice; the sums are exact, so threads can share the rows as they like."""
    grid, fine = grid_for(float(weights.sum())), fine_for(len(values))

    def add_up(b: slice) -> Floats:
        pair = np.zeros((2, n_points))
        _kernels.along.exact_masses(values[b], weights[b], step, first, fine, grid, pair)
        return pair

    total, *others = map_rows(add_up, (len(values), CELLS_PER_VALUE), n_jobs, least_rows=VALUES_PER_RESULT * n_points)
    for pair in others:
        total += pair
    return np.asarray(total.sum(axis=0))


def grid_for(bound: Any) -> Any:
    """Return the number whose addition and subtraction rounds terms so that sums up to `bound` are exact."""
    grid = np.where(np.asarray(bound) > 0, np.ldexp(1.5, np.frexp(bound)[1] + 1), 0.0)
    return float(grid) if grid.ndim == 0 else grid


def fine_for(n_rows: int) -> float:
    """Return the ratio between the second grid, for the remainders of `n_rows` terms, and the first grid."""
    return float(np.ldexp(1.0, int(np.frexp(float(n_rows))[1]) + 2 - 53))


def _floor(value: float, step: float) -> int:
    return int(np.floor(value / step))
