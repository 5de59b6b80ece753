"""Reductions: functions that turn the rows of one chunk into small arrays, and the rules that merge two results.

Each reduction takes the rows of a chunk, their weights and the rows that belong to a node, and returns a few small
arrays. Sums are exact (`ravine._kernels.exact`), and everything else is a minimum or a maximum. So the result does not
depend on how the rows are distributed over chunks, nor on the order in which chunks are merged.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._lattice import DENSE_POINTS, Lattice, added, comes_first, nearest_rows, on_lattice
from ravine._matrix import Floats, Matrix, fingerprint, walk
from ravine._reservoir import largest, largest_numbers

Rows = NDArray[np.int32]
"""Which rows of a chunk belong to a node."""

SLICE_BITS, SLICE_ROWS = 22, 256
"""Rows are rounded to this many bits, so that sums of products over this many rows are exact in float64."""

SLICES, LOW_BITS = 16, 31
"""Number of such sums that are added as integers at a time, and number of bits that are split off the sums then."""

DENSE_SUMS = 1 << 19
"""Up to this many sums over cells, empty cells are stored too while rows are read."""

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
    weights = weights if len(rows) == len(weights) else weights[rows]
    return Extent(*column_range(X, rows), len(rows), float(weights.min()), float(weights.max()))


def column_range(X: Matrix, rows: Rows) -> tuple[Floats, Floats]:
    """Return the smallest and the largest entry of each column, NaN everywhere if there is a NaN."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    if _kernels.exact.extent(X, rows, low, high):
        low[:] = high[:] = np.nan
    return low, high


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


@dataclass(frozen=True)
class Rounding:
    """How `rounded_scatter` rounds the rows: about which center, and to multiples of which powers of two.

    A row has at most `SLICE_BITS` bits then, besides the last one.
    """

    center: Floats
    unit: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats, center: Floats, heaviest: float) -> "Rounding":
        """Return the rounding for rows in these ranges, about a multiple of the unit near a point between them."""
        reach = math.sqrt(heaviest) * (high - low)
        unit = np.ldexp(1.0, np.frexp(reach)[1] - SLICE_BITS)
        return cls(unit * np.rint(center / unit), unit)

    def equals(self, other: "Rounding") -> bool:
        """Return whether another rounding is the same."""
        return np.array_equal(self.unit, other.unit) and np.array_equal(self.center, other.center)


def rounded_scatter(X: Matrix, weights: Floats, rows: Rows, rounding: Rounding) -> Sums:
    """Return Σ y yᵀ, where y = √w (x - center) is rounded, in units of the rounding, as pairs."""
    scale = 1.0 / rounding.unit

    def fill(start: int, out: Floats) -> None:
        _kernels.exact.rounded(X, rows[start : start + len(out)], weights, rounding.center, scale, out)

    return Sums((scatter_of_integers(fill, len(rows), X.shape[1]),))


def scatter_of_integers(fill: Callable[[int, Floats], None], n_rows: int, n_columns: int) -> Floats:
    """Return Σ y yᵀ as pairs, for integers y; `fill` writes the rows from a given one on to an array.

    Sums over `SLICE_ROWS` rows are integers below 2⁵³, which BLAS adds without error in any order (Ozaki et al. 2012).
    """
    total = np.zeros((2, n_columns, n_columns))
    y = np.empty((SLICES, SLICE_ROWS, n_columns))
    for start in range(0, n_rows, SLICES * SLICE_ROWS):
        n_mine = min(n_rows - start, SLICES * SLICE_ROWS)
        n = -(-n_mine // SLICE_ROWS)
        flat = y[:n].reshape(-1, n_columns)
        fill(start, flat[:n_mine])
        flat[n_mine:] = 0.0
        product = np.matmul(y[:n].transpose(0, 2, 1), y[:n]).astype(np.int64).sum(axis=0)
        high = product >> LOW_BITS
        total[0] += high
        total[1] += product - (high << LOW_BITS)
    return total


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
        index, sums = added(self.index, self.sums, other.index, other.sums)
        return Cells(index, sums if len(index) * sums.shape[2] <= MOST_SUMS else None)


def in_cells(
    X: Matrix, weights: Floats, rows: Rows, values: Floats, step: float, center: Floats, fine: float, grid: Floats
) -> Cells:
    """Return the `Cells` of rows that have these values on a line."""
    index, cell = distinct(np.floor(values / step).astype(np.int64))
    if len(index) * X.shape[1] > MOST_SUMS:
        return Cells(index, None)
    sums = np.zeros((2, len(index), X.shape[1]))
    _kernels.exact.groups(X, rows, weights, center, cell, fine, grid, sums)
    return Cells(index, sums)


def distinct(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    if center is None or cell_grid is None:
        values = projected(X, rows, v, origin)
        return Looked(tuple(on_lattice(values, rows, weights, step, *grids) for step in steps), None)
    values, most = np.empty(len(rows)), min(DENSE_POINTS, DENSE_SUMS // X.shape[1])
    fine, grid, square_grid = grids
    first, occurs, masses, sums, squares = _kernels.exact.look(
        X, rows, weights, v, origin, steps[0], most, center, fine, grid, square_grid, cell_grid, values
    )
    if not len(occurs):  # with far outliers there are too many cells, most of them empty
        lattice = on_lattice(values := projected(X, rows, v, origin), rows, weights, steps[0], *grids)
        cells = in_cells(X, weights, rows, values, steps[0], center, grids[0], cell_grid)
    else:
        used, filled = np.flatnonzero(masses.any(axis=0)), np.flatnonzero(occurs)
        low, high = float(values.min()), float(values.max())
        lattice = Lattice(steps[0], first + used, masses[:, used], squares, low, high)
        is_small = len(filled) * X.shape[1] <= MOST_SUMS
        cells = Cells(first + filled, sums[:, filled] if is_small else None)
    finer = (on_lattice(values, rows, weights, step, *grids) for step in steps[1:])
    return Looked((lattice, *finer), cells)


@dataclass(frozen=True)
class Nearest:
    """For each position on a line: the rounded distance of the nearest row, and the row itself.

    Ties are decided by the contents of the rows, so equal rows count as one.
    """

    distance: Floats
    rows: Matrix

    def merge(self, other: "Nearest") -> "Nearest":
        """Merge the results of two chunks."""
        mine = self.distance < other.distance
        ties = np.flatnonzero(self.distance == other.distance)
        mine[ties] = comes_first(self.rows[ties], other.rows[ties])
        rows = np.where(mine[:, np.newaxis], self.rows, other.rows)
        return Nearest(np.where(mine, self.distance, other.distance), rows)


def nearest(
    X: Matrix, weights: Floats, rows: Rows, v: Floats, origin: float, positions: Floats, step: float
) -> Nearest:
    """Find the `Nearest` row for each position."""
    chosen, distance = nearest_rows(X, rows, projected(X, rows, v, origin), positions, step)
    return Nearest(distance, X[chosen])


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
    kept, numbers = largest_numbers(mine, its_weights, size, seed, by_weight)
    return Drawn(size, numbers, mine[kept], its_weights[kept])


@dataclass(frozen=True)
class Side:
    """Rows on one side of a cut: the sums of `moments`, perhaps of a scatter matrix, and the range of each column."""

    sums: Sums
    low: Floats
    high: Floats

    def merge(self, other: "Side") -> "Side":
        """Merge the results of two chunks."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Side(self.sums.merge(other.sums), low, high)


@dataclass(frozen=True)
class ByMoments:
    """How `divide` describes both sides: by exact sums, and by scatter matrices if there is a rounding or a grid."""

    center: Floats
    grids: tuple[Any, ...]
    scatter_by: "Rounding | Floats | None"

    def described(self, X: Matrix, weights: Floats, left: Rows, right: Rows) -> tuple[Side, Side]:
        """Describe the rows on both sides."""
        return self._side(X, weights, left), self._side(X, weights, right)

    def _side(self, X: Matrix, weights: Floats, rows: Rows) -> Side:
        found = moments(X, weights, rows, self.center, *self.grids).sums
        if isinstance(self.scatter_by, Rounding):
            found += rounded_scatter(X, weights, rows, self.scatter_by).sums
        elif self.scatter_by is not None:
            found += scatter(X, weights, rows, self.center, self.grids[0], self.scatter_by).sums
        return Side(Sums(found), *column_range(X, rows))


def divide(
    X: Matrix, weights: Floats, rows: Rows, normal: Floats, offset: float, by: Any
) -> tuple[Rows, Rows, Any, Any]:
    """Divide the rows by a cut, with the same routine as in prediction, and describe both sides."""
    left, right = sides(X, rows, normal, offset)
    return left, right, *by.described(X, weights, left, right)


def sides(X: Matrix, rows: Rows, normal: Floats, offset: float) -> tuple[Rows, Rows]:
    """Return the rows on the left and on the right of a cut, decided by the same routine as in prediction."""
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    mine = X if len(rows) == X.shape[0] else X[rows]
    is_left = walk(mine, normal[np.newaxis], np.array([offset]), *children) == 1
    return rows[is_left], rows[~is_left]


def projected(X: Matrix, rows: Rows, v: Floats, origin: float) -> Floats:
    """Return x · v - origin."""
    values = np.empty(len(rows))
    _kernels.exact.project(X, rows, v, origin, values)
    return values


BY_CHUNK = (draw,)
"""Reductions whose result depends on which rows are in a chunk together."""
