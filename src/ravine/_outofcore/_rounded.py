"""Reductions of rows that are rounded to integers: plain sums are exact, and a row needs four bytes per column.

A large node with equal weights and many columns is searched on such rows. They are rounded in every pass, or once if
they can be kept (`ravine._outofcore._group`); the result is the same. The side of a row at a cut is always decided by
the row itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._lattice import DENSE_POINTS, Lattice, nearest_rows
from ravine._matrix import Floats, Matrix
from ravine._outofcore._reductions import (
    DENSE_SUMS,
    LOW_BITS,
    MOST_SUMS,
    Cells,
    Looked,
    Nearest,
    Rounding,
    Rows,
    distinct,
    scatter_of_integers,
)

RoundedRows: TypeAlias = NDArray[np.float32]
"""Rows of a node as integers; see `ravine._kernels.rounded`."""

MOST_ROWS = 1 << 31
"""Sums over this many rounded rows are exact."""


def round_rows(X: Matrix, rows: Rows, rounding: Rounding, out: RoundedRows | None = None) -> RoundedRows:
    """Return some rows of a chunk as integers, in `out` if it is given."""
    out = np.empty((len(rows), X.shape[1]), dtype=np.float32) if out is None else out
    _kernels.rounded.round_rows(X, rows, rounding.center, 1.0 / rounding.unit, out)
    return out


@dataclass(frozen=True)
class RoundedSums:
    """Number and sum of rounded rows, their range in each column, and perhaps their scatter about 0, in pairs."""

    n_rows: int
    total: Floats
    low: Floats
    high: Floats
    scatter: Floats | None

    def merge(self, other: "RoundedSums") -> "RoundedSums":
        """Merge the results of two chunks."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        scatter = None if self.scatter is None or other.scatter is None else self.scatter + other.scatter
        return RoundedSums(self.n_rows + other.n_rows, self.total + other.total, low, high, scatter)

    def with_scatter_left_by(self, other: "RoundedSums", whole: "RoundedSums") -> "RoundedSums":
        """Return the sums with the scatter that is left of a node without the rows of its other side."""
        assert whole.scatter is not None
        assert other.scatter is not None
        return replace(self, scatter=whole.scatter - other.scatter)

    def scatter_about_mean(self, rounding: Rounding) -> Floats:
        """Return the scatter matrix of the rows about their mean; it is the same however the rows were merged."""
        assert self.scatter is not None
        about_0 = np.ldexp(self.scatter[0], LOW_BITS) + self.scatter[1]
        of_integers = about_0 - np.outer(self.total, self.total) / max(self.n_rows, 1)
        return np.asarray(of_integers * np.outer(rounding.unit, rounding.unit))


def sums_of(Y: RoundedRows, with_scatter: bool) -> RoundedSums:
    """Return the `RoundedSums` of rows."""
    n_rows, n_columns = Y.shape
    total = np.zeros(n_columns)
    low, high = np.full(n_columns, np.inf, dtype=np.float32), np.full(n_columns, -np.inf, dtype=np.float32)
    _kernels.rounded.total_and_range(Y, total, low, high)

    def fill(start: int, out: Floats) -> None:
        out[:] = Y[start : start + len(out)]

    scatter = scatter_of_integers(fill, n_rows, n_columns) if with_scatter else None
    return RoundedSums(n_rows, total, low.astype(np.float64), high.astype(np.float64), scatter)


def look_at(Y: RoundedRows, u: Floats, shift: float, steps: tuple[float, ...], with_cells: bool) -> Looked:
    """Return the rows at y · u + shift on lattices, and the sums over the cells of the first one.

    Weights are numbers of rows. There are no squares. The sums are those of y, and in the last column numbers of rows.
    """
    values = np.empty(len(Y))
    if not with_cells:
        _kernels.rounded.project(Y, u, shift, values)
        return Looked(tuple(_on_lattice(values, step) for step in steps), None)
    most = min(DENSE_POINTS, DENSE_SUMS // Y.shape[1])
    first, on, sums = _kernels.rounded.look(Y, u, shift, steps[0], most, values)
    if len(sums):
        used, filled = np.flatnonzero(on), np.flatnonzero(sums[:, -1])
        lattice = _lattice(steps[0], first + used, on[used], values)
        cells = Cells(first + filled, sums[np.newaxis, filled] if len(filled) * sums.shape[1] <= MOST_SUMS else None)
    else:  # with far rows there are too many cells, most of them empty
        _kernels.rounded.project(Y, u, shift, values)
        lattice, cells = _on_lattice(values, steps[0]), _in_cells(Y, values, steps[0])
    return Looked((lattice, *(_on_lattice(values, step) for step in steps[1:])), cells)


def _in_cells(Y: RoundedRows, values: Floats, step: float) -> Cells:
    index, cell = distinct(np.floor(values / step).astype(np.int64))
    if len(index) * (Y.shape[1] + 1) > MOST_SUMS:
        return Cells(index, None)
    sums = np.zeros((1, len(index), Y.shape[1] + 1))
    _kernels.rounded.cell_sums(Y, cell, sums[0])
    return Cells(index, sums)


def _on_lattice(values: Floats, step: float) -> Lattice:
    first, last = (int(np.floor(end / step)) for end in (values.min(), values.max()))
    if last - first + 2 <= DENSE_POINTS:
        on = np.zeros(last - first + 2)
        _kernels.rounded.masses(values, step, first, on)
        used = np.flatnonzero(on)
        return _lattice(step, first + used, on[used], values)
    before = np.floor(values / step)
    share = ((values / step - before) + _kernels.rounded.SHARE_GRID) - _kernels.rounded.SHARE_GRID
    both = np.concatenate([before, before + 1]).astype(np.int64)
    index, place = np.unique(both, return_inverse=True)
    on = np.asarray(np.bincount(place.reshape(-1), np.concatenate([1.0 - share, share])), dtype=np.float64)
    return _lattice(step, index[on > 0], on[on > 0], values)


def _lattice(step: float, index: NDArray[np.int64], on: Floats, values: Floats) -> Lattice:
    return Lattice(step, index, on[np.newaxis], np.zeros(1), float(values.min()), float(values.max()))


def nearest_to(
    Y: RoundedRows,
    rows: NDArray[Any],
    X: Matrix,
    numbers: NDArray[np.uint64] | None,
    u: Floats,
    shift: float,
    positions: Floats,
    step: float,
) -> tuple[NDArray[Any], Floats]:
    """Find the nearest row for each position, and its distance; see `nearest_rows`."""
    values = np.empty(len(Y))
    _kernels.rounded.project(Y, u, shift, values)
    return nearest_rows(X, rows, values, positions, step, numbers=numbers)


def sums(X: Matrix, weights: Floats, rows: Rows, rounding: Rounding, with_scatter: bool) -> RoundedSums:
    """Return the `RoundedSums` of the rows of a chunk."""
    return sums_of(round_rows(X, rows, rounding), with_scatter)


def look(X: Matrix, weights: Floats, rows: Rows, rounding: Rounding, *along: Any) -> Looked:
    """Look at the rows of a chunk; see `look_at`."""
    return look_at(round_rows(X, rows, rounding), *along)


def nearest(X: Matrix, weights: Floats, rows: Rows, rounding: Rounding, *along: Any) -> Nearest:
    """Find the `Nearest` row for each position."""
    chosen, distance = nearest_to(round_rows(X, rows, rounding), rows, X, None, *along)
    return Nearest(distance, X[chosen])


@dataclass(frozen=True)
class ByRounding:
    """How `divide` describes both sides: by the sums of rounded rows, with the scatter of one side."""

    rounding: Rounding
    left_has_scatter: bool

    def described(self, X: Matrix, weights: Floats, left: Rows, right: Rows) -> tuple[RoundedSums, RoundedSums]:
        """Describe the rows on both sides."""
        return (
            sums(X, weights, left, self.rounding, self.left_has_scatter),
            sums(X, weights, right, self.rounding, not self.left_has_scatter),
        )


OF_KEPT: dict[Callable[..., Any], Callable[..., Any]] = {sums: sums_of, look: look_at}
"""The same reductions of rows that are rounded already, where other rows are not needed."""
