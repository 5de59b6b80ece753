"""Reductions: functions that turn the rows of one chunk into small arrays, and the rules that merge two results.

Each reduction takes the rows of a chunk, their weights and the rows that belong to a node, and returns a few small
arrays. Sums are exact (`ravine._kernels.exact`), and everything else is a minimum or a maximum. So the result does not
depend on how the rows are distributed over chunks, nor on the order in which chunks are merged.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._lattice import DENSE_POINTS, Lattice, nearest_rows, on_lattice
from ravine._matrix import Floats, Matrix, fingerprint, walk
from ravine._reservoir import content_numbers, largest

Rows = NDArray[np.int32]
"""Which rows of a chunk belong to a node."""

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
