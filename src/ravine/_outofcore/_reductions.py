"""Reductions: functions that turn the rows of one chunk into small arrays, and the rules that merge two results.

Each reduction takes the rows of a chunk, their weights and the rows that belong to a node, and returns a few small
arrays. Sums are exact (`ravine._kernels.exact`), and everything else is a minimum or a maximum. So the result does not
depend on how the rows are distributed over chunks, nor on the order in which chunks are merged.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._matrix import Floats, Matrix, fingerprint, walk
from ravine._reservoir import content_numbers, largest
from ravine._ties import TIE

Rows = NDArray[np.int32]
"""Which rows of a chunk belong to a node."""

DENSE_POINTS = 1 << 16
"""Up to this many points of a lattice, all points are stored."""

MOST_SUMS = 1 << 16
"""Maximum number of values in the sums over the cells of a lattice; larger sums are not returned."""


@dataclass(frozen=True)
class Extent:
    """Smallest and largest entry of each column, number of rows, and smallest and largest weight."""

    low: Floats
    high: Floats
    n_rows: int
    lightest: float
    heaviest: float

    @property
    def largest(self) -> float:
        """Largest absolute entry."""
        return max(float(np.abs(self.low).max()), float(np.abs(self.high).max()))

    def merge(self, other: "Extent") -> "Extent":
        """Merge the results of two chunks."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        lightest, heaviest = min(self.lightest, other.lightest), max(self.heaviest, other.heaviest)
        return Extent(low, high, self.n_rows + other.n_rows, lightest, heaviest)


def extent(X: Matrix, weights: Floats, rows: Rows) -> Extent:
    """Return the `Extent` of the rows."""
    if len(rows) < X.shape[0]:
        X, weights = X[rows], weights[rows]
    lightest, heaviest = float(weights.min()), float(weights.max())
    return Extent(X.min(axis=0).astype(float), X.max(axis=0).astype(float), len(rows), lightest, heaviest)


@dataclass(frozen=True)
class Sums:
    """Numbers and arrays that are added."""

    sums: tuple[Any, ...]

    def merge(self, other: "Sums") -> "Sums":
        """Merge the results of two chunks."""
        return Sums(tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))


def moments(X: Matrix, weights: Floats, rows: Rows, center: Floats, *grids: Any) -> Sums:
    """Return the number and the weight of the rows, and the sums over them in each column.

    The sums are those of the distances to the center and of their squares.
    """
    return Sums((len(rows), *_kernels.exact.moments(X, rows, weights, center, *grids)))


def leaf_moments(
    X: Matrix, weights: Floats, rows: Rows, cuts: tuple[Any, ...], leaves: NDArray[Any], centers: Floats, *grids: Any
) -> Sums:
    """Return the `moments` of each leaf of a tree about its own center; `cuts` is passed to `ravine._matrix.walk`."""
    leaf = walk(X[rows], *cuts)
    order = np.argsort(leaf, kind="stable")
    bounds = np.searchsorted(leaf[order], leaves), np.searchsorted(leaf[order], leaves, "right")
    found = [moments(X, weights, rows[order[a:b]], c, *grids).sums for a, b, c in zip(*bounds, centers, strict=True)]
    return Sums(tuple(np.array(sums) for sums in zip(*found, strict=True)))


def scatter(X: Matrix, weights: Floats, rows: Rows, center: Floats, *grids: Any) -> Sums:
    """Return the lower half of the scatter matrix."""
    return Sums((_kernels.exact.scatter(X, rows, weights, center, *grids),))


def scatter_times(X: Matrix, weights: Floats, rows: Rows, center: Floats, v: Floats, *grids: Any) -> Sums:
    """Return the scatter matrix times a vector."""
    return Sums((_kernels.exact.scatter_times(X, rows, weights, center, v, *grids),))


def pull(X: Matrix, weights: Floats, rows: Rows, center: Floats, *settings: Any) -> Sums:
    """Return Σ c (x - center); see `ravine._kernels.exact.pull`."""
    return Sums((_kernels.exact.pull(X, rows, weights, center, *settings),))


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


@dataclass(frozen=True)
class Cells:
    """Σ w (x - center) over the rows in each nonempty cell of a lattice, in pairs; `index` is where a cell begins.

    The sums are None if they would have more than `MOST_SUMS` values.
    """

    index: NDArray[np.int64]
    sums: Floats | None

    def closed(self) -> "Cells":
        """See `Lattice.closed`."""
        return replace(self, sums=None if self.sums is None else self.sums.sum(axis=0, keepdims=True))

    def merge(self, other: "Cells") -> "Cells":
        """Merge the results of two chunks."""
        if self.sums is None or other.sums is None:
            return Cells(self.index, None)
        index, position = np.unique(np.concatenate([self.index, other.index]), return_inverse=True)
        n_columns = self.sums.shape[2]
        if len(index) * n_columns > MOST_SUMS:
            return Cells(index, None)
        sums = np.zeros((2, len(index), n_columns))
        sums[:, position[: len(self.index)]] += self.sums
        sums[:, position[len(self.index) :]] += other.sums
        return Cells(index, sums)


def in_cells(
    X: Matrix, weights: Floats, rows: Rows, values: Floats, step: float, center: Floats, fine: float, grid: Floats
) -> Cells:
    """Return the `Cells` of rows that have these values on a line."""
    index, cell = _distinct(np.floor(values / step).astype(np.int64))
    if len(index) * X.shape[1] > MOST_SUMS:
        return Cells(index, None)
    sums = np.zeros((2, len(index), X.shape[1]))
    _kernels.exact.groups(X, rows, weights, center, cell, fine, grid, sums)
    return Cells(index, sums)


def _distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct numbers, and the index of each number among them."""
    first, last = int(numbers.min()), int(numbers.max())
    if last - first > DENSE_POINTS:
        index, which = np.unique(numbers, return_inverse=True)
        return index, which.reshape(-1)
    occurs = np.zeros(last - first + 1, dtype=bool)
    occurs[numbers - first] = True
    return first + np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers - first]


@dataclass(frozen=True)
class Looked:
    """Rows along a direction: on lattices of one or more steps, and the sums over the cells of the first lattice."""

    lattices: tuple[Lattice, ...]
    cells: Cells | None

    def closed(self) -> "Looked":
        """See `Lattice.closed`."""
        lattices = tuple(lattice.closed() for lattice in self.lattices)
        return Looked(lattices, None if self.cells is None else self.cells.closed())

    def merge(self, other: "Looked") -> "Looked":
        """Merge the results of two chunks."""
        lattices = tuple(mine.merge(yours) for mine, yours in zip(self.lattices, other.lattices, strict=True))
        if self.cells is None or other.cells is None:
            return Looked(lattices, None)
        return Looked(lattices, self.cells.merge(other.cells))


def look(
    X: Matrix,
    weights: Floats,
    rows: Rows,
    v: Floats,
    origin: float,
    steps: tuple[float, ...],
    grids: tuple[Any, ...],
    center: Floats | None,
    cell_grid: Floats | None,
) -> Looked:
    """Project the rows as described in `Looked`; cells are summed about the center, if it is given."""
    values = projected(X, rows, v, origin)
    lattices = tuple(on_lattice(values, rows, weights, step, *grids) for step in steps)
    if center is None or cell_grid is None:
        return Looked(lattices, None)
    return Looked(lattices, in_cells(X, weights, rows, values, steps[0], center, grids[0], cell_grid))


def _floor(value: float, step: float) -> int:
    return int(np.floor(value / step))


@dataclass(frozen=True)
class Nearest:
    """For each position on a line: the rounded distance of the nearest row, its number and the row itself.

    Ties go to the row with the smallest number, so equal rows count as one.
    """

    distance: Floats
    number: NDArray[np.uint64]
    rows: Matrix

    def merge(self, other: "Nearest") -> "Nearest":
        """Merge the results of two chunks."""
        tie = (self.distance == other.distance) & (self.number <= other.number)
        mine = (self.distance < other.distance) | tie
        rows = np.where(mine[:, np.newaxis], self.rows, other.rows)
        number = np.where(mine, self.number, other.number)
        return Nearest(np.where(mine, self.distance, other.distance), number, rows)


def nearest(
    X: Matrix, weights: Floats, rows: Rows, v: Floats, origin: float, positions: Floats, step: float
) -> Nearest:
    """Find the `Nearest` row for each position."""
    chosen, distance, number = nearest_rows(X, rows, projected(X, rows, v, origin), positions, step)
    return Nearest(distance, number, X[chosen])


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
    """Return the in-memory rows that `ChunkedNode.sample` would return for out-of-core data; `values` lie on a line."""
    rows, count = np.arange(X.shape[0]), float(weights.sum())
    bounds = (count, count * float(np.abs(values).max()) ** 2)
    on = on_lattice(values, rows, weights, step, fine_for(X.shape[0]), *(grid_for(bound) for bound in bounds))
    return nearest_rows(X, rows, values, even_positions(on.positions, on.mass, n), step)[0]


@dataclass(frozen=True)
class FetchedRows:
    """The rows themselves, with their weights."""

    X: Matrix
    weights: Floats

    def merge(self, other: "FetchedRows") -> "FetchedRows":
        """Merge the results of two chunks."""
        return FetchedRows(np.concatenate([self.X, other.X]), np.concatenate([self.weights, other.weights]))

    def sorted(self) -> "FetchedRows":
        """Sort the rows into an order that does not depend on the chunks."""
        order = np.lexsort([self.weights, fingerprint(self.X, 0)])
        return FetchedRows(self.X[order], self.weights[order])


def take(X: Matrix, weights: Floats, rows: Rows) -> FetchedRows:
    """Return the rows as `FetchedRows`."""
    return FetchedRows(X[rows], weights[rows])


@dataclass(frozen=True)
class Drawn:
    """A random sample: the rows that drew the largest numbers."""

    size: int
    number: NDArray[np.uint64]
    X: Matrix
    weights: Floats

    def merge(self, other: "Drawn") -> "Drawn":
        """Merge the results of two chunks."""
        columns = [np.concatenate(pair) for pair in zip(self._columns, other._columns, strict=True)]
        kept = largest(columns[0], self.size)
        return Drawn(self.size, *(column[kept] for column in columns))

    @property
    def _columns(self) -> tuple[Any, ...]:
        return self.number, self.X, self.weights


def draw(X: Matrix, weights: Floats, rows: Rows, size: int, seed: int, by_weight: bool) -> Drawn:
    """Draw a sample as described in `Drawn`; equal rows at different positions in a chunk draw different numbers."""
    whole = len(rows) == X.shape[0]
    mine, its_weights = (X, weights) if whole else (X[rows], weights[rows])
    number = content_numbers(mine, its_weights, seed, by_weight)
    kept = largest(number, size)
    return Drawn(size, number[kept], mine[kept], its_weights[kept])


def divide(
    X: Matrix,
    weights: Floats,
    rows: Rows,
    normal: Floats,
    offset: float,
    center: Floats,
    grids: tuple[Any, ...],
    scatter_grid: Floats | None,
) -> tuple[Rows, Rows, Sums, Sums]:
    """Divide the rows by a cut, with the same routine as in prediction, and compute sums over both sides.

    The sums are the `moments`, and the `scatter` if there is a grid for it.
    """
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    is_left = walk(X[rows], normal[np.newaxis], np.array([offset]), *children) == 1
    left, right = rows[is_left], rows[~is_left]

    def sums(side: Rows) -> Sums:
        found = moments(X, weights, side, center, *grids)
        if scatter_grid is None:
            return found
        return Sums((*found.sums, *scatter(X, weights, side, center, grids[0], scatter_grid).sums))

    return left, right, sums(left), sums(right)


def projected(X: Matrix, rows: Rows, v: Floats, origin: float) -> Floats:
    """Return x · v - origin."""
    values = np.empty(len(rows))
    _kernels.exact.project(X, rows, v, origin, values)
    return values


def grid_for(bound: Any) -> Any:
    """Return the number whose addition and subtraction rounds terms so that sums up to `bound` are exact."""
    grid = np.where(np.asarray(bound) > 0, np.ldexp(1.5, np.frexp(bound)[1] + 1), 0.0)
    return float(grid) if grid.ndim == 0 else grid


def fine_for(n_rows: int) -> float:
    """Return the ratio between the second grid, for the remainders of `n_rows` terms, and the first grid."""
    return float(np.ldexp(1.0, int(np.frexp(float(n_rows))[1]) + 2 - 53))
