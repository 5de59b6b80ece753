"""A node of out-of-core data, and the reductions that a search for a cut needs."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ravine._checks import NEGLIGIBLE, refuse_weight
from ravine._lattice import Lattice, even_positions, fine_for, grid_for
from ravine._matrix import Floats, Ints, Matrix, Moments
from ravine._outofcore import _reductions, _rounded
from ravine._outofcore._chunks import Chunks, Handles

CELL_COLUMNS = 64
"""Up to this many columns, a look at the rows also returns the sums over the cells, which give the gradient without
another pass, and a division also returns the scatter matrices of both sides."""


MANY_ROWS, MANY_COLUMNS, FINE_UNIT = 1 << 16, 32, 2.0**-16
"""A node with at least this many rows and columns is searched on rounded rows, if they are rounded to less than this
share of their root mean square distance to the mean. With weights, or with more than `CELL_COLUMNS` columns, only its
scatter matrix is that of rounded rows."""


@dataclass(frozen=True)
class Whole:
    """What is known of all rows; it bounds the sums of all nodes."""

    chunks: Chunks
    extent: _reductions.Extent

    @property
    def weight(self) -> float:
        """Upper bound for the weight of a node."""
        return self.extent.n_rows * self.extent.heaviest

    @property
    def moment_grids(self) -> tuple[Any, ...]:
        """Grids for `_reductions.moments`."""
        bounds = (self.weight, self.weight * self.reach, self.weight * self.reach**2)
        return self.fine, *(grid_for(bound) for bound in bounds)

    @property
    def scatter_grid(self) -> Floats:
        """Grid for `_reductions.scatter`."""
        return np.asarray(grid_for(self.weight * np.outer(self.reach, self.reach)))

    def rounding(self, low: Floats, high: Floats, center: Floats) -> _reductions.Rounding:
        """Return the rounding of `_reductions.rounded_scatter` for rows in these ranges."""
        return _reductions.Rounding.of(low, high, center, self.extent.heaviest)

    @property
    def rounds_rows(self) -> bool:
        """Whether large nodes are searched on rounded rows."""
        is_wide = self.chunks.rounds_rows and MANY_COLUMNS <= len(self.extent.low) <= CELL_COLUMNS
        return is_wide and self.extent.lightest == self.extent.heaviest and self.extent.n_rows <= _rounded.MOST_ROWS

    @cached_property
    def fine(self) -> float:
        """See `ravine._kernels.exact`."""
        return fine_for(self.extent.n_rows)

    @cached_property
    def reach(self) -> Floats:
        """Upper bound, in each column, for the distance of a row to a point between the rows."""
        return np.asarray(self.extent.high - self.extent.low)

    @cached_property
    def diameter(self) -> float:
        """Upper bound for the distance between two rows."""
        return float(np.linalg.norm(self.reach))


@dataclass(frozen=True)
class ChunkedNode:
    """A node of out-of-core data: its rows, their number and moments, and the squares and the range of each column.

    With a `rounding`, passes read rounded rows, and the sums over them may be known.
    """

    whole: Whole
    handles: Handles
    n_rows: int
    moments: Moments
    squares: Floats
    low: Floats
    high: Floats
    rounding: _reductions.Rounding | None = None
    _sums: _rounded.RoundedSums | None = field(default=None, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def root(cls, chunks: Chunks) -> "ChunkedNode":
        """Return the node of all rows, computed in two passes."""
        handles, extent = chunks.everything()
        if extent is None:
            raise ValueError("there are no rows in any chunk, or no rows with weight")
        refuse_weight(extent.heaviest)
        least = NEGLIGIBLE * extent.heaviest
        if extent.lightest < least:  # same rule as in `ravine._checks.checked_weights`
            handles, extent = chunks.everything(np.nextafter(least, 0.0))
            assert extent is not None
        whole, center = Whole(chunks, extent), (extent.low + extent.high) / 2
        sums = chunks.reduce(_reductions.moments, handles, center, *whole.moment_grids)
        node = cls.of(whole, handles, center, _reductions.Side(sums, extent.low, extent.high))
        return node._with_rounding()

    @classmethod
    def of(
        cls,
        whole: Whole,
        handles: Handles,
        center: Floats,
        found: _reductions.Side,
        rounding: _reductions.Rounding | None = None,
    ) -> "ChunkedNode":
        """Return the node of some rows, given their sums about a point between all rows.

        If there is a scatter matrix with a `rounding` that is too coarse for these rows, it is not used.
        """
        n_rows, *pairs = found.sums.sums
        count, mean, squares = about_mean(center, *(pair.sum(axis=0) for pair in pairs[:3]))
        moments = Moments(float(count), mean, float(squares.sum()))
        node = cls(whole, handles, int(n_rows), moments, squares, found.low, found.high)
        for pair in pairs[3:]:
            if rounding is None:
                node._kept["scatter"] = _shifted(_symmetric(pair.sum(axis=0)), moments.count, mean - center)
            elif node._is_fine(rounding):
                node._kept["scatter"] = _of_rounded(pair, moments.count, mean, rounding)
        return node

    @classmethod
    def of_rounded(
        cls, parent: "ChunkedNode", handles: Handles, rounding: _reductions.Rounding, sums: _rounded.RoundedSums
    ) -> "ChunkedNode":
        """Return a child from the sums over its rounded rows; if these are too coarse, passes read the rows again."""
        whole, unit = parent.whole, rounding.unit
        low, high = rounding.center + (sums.low - 1) * unit, rounding.center + (sums.high + 1) * unit
        weight, mean = whole.extent.heaviest, rounding.center + sums.total / sums.n_rows * unit
        scatter = weight * sums.scatter_about_mean(rounding)
        squares = np.maximum(np.diag(scatter), 0.0)
        moments = Moments(weight * sums.n_rows, mean, float(squares.sum()))
        node = cls(whole, handles, sums.n_rows, moments, squares, low, high, rounding, sums)
        if node._is_fine(rounding):
            return node
        exact = whole.chunks.reduce(_reductions.moments, handles, mean, *whole.moment_grids)
        return cls.of(whole, handles, mean, _reductions.Side(exact, low, high))._with_rounding()

    def _with_rounding(self) -> "ChunkedNode":
        """Return the node with its own rounding, if it is large and this is fine enough."""
        if self.n_rows < MANY_ROWS or not self.whole.rounds_rows:
            return self
        rounding = _reductions.Rounding.of(self.low, self.high, self.moments.mean, 1.0)
        return replace(self, rounding=rounding) if self._is_fine(rounding) else self

    def children(self, normal: Floats, offset: float) -> "tuple[ChunkedNode, ChunkedNode] | None":
        """Return the nodes on both sides of a cut, in one pass; None if all rows lie on one side."""
        if self.rounding is not None:
            return self._rounded_children(self.rounding, normal, offset)
        center, grids = self.moments.mean, self.whole.moment_grids
        scatter_by: Any = None
        if "scatter" in self._kept and len(center) <= CELL_COLUMNS:
            scatter_by = self._rounding() or self.whole.scatter_grid
        by = _reductions.ByMoments(center, grids, scatter_by)
        left, right, *both = self.whole.chunks.divide(self.handles, normal, offset, by)
        if not all(side is not None and side.sums.sums[0] for side in both):
            return None
        rounding = scatter_by if isinstance(scatter_by, _reductions.Rounding) else None
        nodes = [
            ChunkedNode.of(self.whole, handles, center, side, rounding)._with_rounding()
            for handles, side in zip((left, right), both, strict=True)
        ]
        return nodes[0], nodes[1]

    def _rounded_children(
        self, rounding: _reductions.Rounding, normal: Floats, offset: float
    ) -> "tuple[ChunkedNode, ChunkedNode] | None":
        """Divide rounded rows; the scatter matrix of one side, likely the smaller one, gives that of the other."""
        whole = self._rounded_sums
        by = _rounded.ByRounding(rounding, left_has_scatter=float(self.moments.mean @ normal) >= offset)
        *both, on_left, on_right = self.whole.chunks.divide(self.handles, normal, offset, by)
        if on_left is None or on_right is None or not (on_left.n_rows and on_right.n_rows):
            return None
        if by.left_has_scatter:
            on_right = on_right.with_scatter_left_by(on_left, whole)
        else:
            on_left = on_left.with_scatter_left_by(on_right, whole)
        left, right = (
            ChunkedNode.of_rounded(self, handles, rounding, sums)
            for handles, sums in zip(both, (on_left, on_right), strict=True)
        )
        return left, right

    @property
    def _rounded_sums(self) -> _rounded.RoundedSums:
        """Sums over the rounded rows with their scatter; they take one pass on first use."""
        if self._sums is not None:
            return self._sums
        if "sums" not in self._kept:
            self._kept["sums"] = self._reduce(_rounded.sums, self.rounding, True)
        found: _rounded.RoundedSums = self._kept["sums"]
        return found

    def deviation(self, v: Floats) -> float:
        """Return the standard deviation along a unit vector; this takes a pass unless the scatter matrix is known."""
        if "scatter" in self._kept or self.rounding is not None:
            square = float(v @ self.scatter @ v)
        else:
            square = self.lattice(v, math.sqrt(self.moments.sum_sq / self.moments.count)).square
        return math.sqrt(max(square, 0.0) / self.moments.count)

    @property
    def scatter(self) -> Floats:
        """The scatter matrix; it takes one pass on first use."""
        if "scatter" not in self._kept:  # functools.cached_property would block the other threads
            rounding, mean = self._rounding(), self.moments.mean
            if self.rounding is not None:
                of_rows = self._rounded_sums.scatter_about_mean(self.rounding)
                self._kept["scatter"] = self.whole.extent.heaviest * of_rows
            elif rounding is not None:
                (pair,) = self._reduce(_reductions.rounded_scatter, rounding).sums
                self._kept["scatter"] = _of_rounded(pair, self.moments.count, mean, rounding)
            else:
                (pair,) = self._reduce(_reductions.scatter, mean, self.whole.fine, self.whole.scatter_grid).sums
                self._kept["scatter"] = _symmetric(pair.sum(axis=0))
        found: Floats = self._kept["scatter"]
        return found

    def _rounding(self) -> _reductions.Rounding | None:
        """Return how rows are rounded for the scatter matrix; None if that would save little, or be too coarse."""
        if self.n_rows < MANY_ROWS or len(self.low) < MANY_COLUMNS or self.whole.rounds_rows:
            return self.rounding
        rounding = self.whole.rounding(self.low, self.high, self.moments.mean)
        return rounding if self._is_fine(rounding) else None

    def _is_fine(self, rounding: _reductions.Rounding) -> bool:
        # Without `rounds_rows`, the unit is that of rows times the roots of their weights.
        weight = self.moments.count if self.whole.rounds_rows else self.n_rows
        return float(rounding.unit.max()) <= FINE_UNIT * math.sqrt(self.moments.sum_sq / weight)

    def scatter_times(self, v: Floats) -> Floats:
        """Return the scatter matrix times a unit vector."""
        grid = grid_for(self.whole.weight * self.whole.diameter * self.whole.reach)
        (pair,) = self._reduce(_reductions.scatter_times, self.moments.mean, v, self.whole.fine, grid).sums
        return np.asarray(pair.sum(axis=0))

    def lattice(self, v: Floats, step: float) -> Lattice:
        """Project the rows on a unit vector, centered at their mean, on a lattice."""
        return self._look(v, (step,), with_cells=False).lattices[0]

    def look(self, v: Floats, step: float, most_points: float, *finer: float) -> _reductions.Looked:
        """Project the rows on a unit vector, centered at their mean, on lattices.

        The result has the sums that `pull` needs, if they are small.

        The first lattice gets a larger step if it had too many points. The last result is cached.
        """
        key = (v.tobytes(), step, most_points)
        before, seen_finer, seen = self._kept.get("look", (None, (), None))
        if before == key and seen_finer[: len(finer)] == finer:
            return seen
        found = self._look(v, (step, *finer), with_cells=len(v) <= CELL_COLUMNS)
        least = (found.lattices[0].high - found.lattices[0].low) / (most_points - 4)
        if step < least:
            found = self._look(v, (least, *finer), with_cells=len(v) <= CELL_COLUMNS)
        self._kept["look"] = key, finer, found
        return found

    def _look(self, v: Floats, steps: tuple[float, ...], with_cells: bool) -> _reductions.Looked:
        if self.rounding is not None:
            return self._look_at_rounded(self.rounding, v, steps, with_cells)
        bounds = (self.whole.weight, self.whole.weight * self.whole.diameter**2)
        grids = (self.whole.fine, *(grid_for(bound) for bound in bounds))
        cells = (self.moments.mean, grid_for(self.whole.weight * self.whole.reach)) if with_cells else (None, None)
        origin = float(self.moments.mean @ v)
        found: _reductions.Looked = self._reduce(_reductions.look, v, origin, steps, grids, *cells)
        return found.closed()

    def _look_at_rounded(
        self, rounding: _reductions.Rounding, v: Floats, steps: tuple[float, ...], with_cells: bool
    ) -> _reductions.Looked:
        along = self._along(rounding, v)
        found: _reductions.Looked = self._reduce(_rounded.look, rounding, *along, steps, with_cells)
        weight, squares = self.whole.extent.heaviest, np.array([v @ self.scatter @ v])
        lattices = tuple(replace(on, masses=weight * on.masses, squares=squares) for on in found.lattices)
        cells = found.cells
        if cells is not None and cells.sums is not None:
            of_y, n_rows = cells.sums[..., :-1], cells.sums[..., -1:]
            shift = rounding.center - self.moments.mean
            cells = replace(cells, sums=weight * (rounding.unit * of_y + n_rows * shift))
        return _reductions.Looked(lattices, cells)

    def _along(self, rounding: _reductions.Rounding, v: Floats) -> tuple[Floats, float]:
        """Return what gives the position of a rounded row y on a unit vector: y · the first plus the second."""
        return rounding.unit * v, float((rounding.center - self.moments.mean) @ v)

    def pull(self, v: Floats, looked: _reductions.Looked, slopes: Floats, tilt: float) -> Floats:
        """Return Σ c (x - mean), with c the weight times (the slope of the row's cell - tilt · its position on v).

        This needs a pass only if there are too many cells.
        """
        on, cells = looked.lattices[0], looked.cells
        if cells is not None and cells.sums is not None:
            by_cell = (slopes[cells.index - on.first, np.newaxis] * cells.sums[0]).sum(axis=0)
            return np.asarray(by_cell - tilt * (self.scatter @ v) if tilt else by_cell)
        steepest = float(np.abs(slopes).max()) + abs(tilt) * self.whole.diameter
        grid = grid_for(self.whole.weight * steepest * self.whole.reach)
        along = (v, float(self.moments.mean @ v), on.step, float(on.first))
        (pair,) = self._reduce(_reductions.pull, self.moments.mean, *along, slopes, tilt, self.whole.fine, grid).sums
        return np.asarray(pair.sum(axis=0))

    def sample(self, v: Floats, n: int, on: Lattice) -> Matrix:
        """Return rows spread evenly over all rows in their order along a unit vector; heavy rows may be repeated."""
        positions = even_positions(on.positions, on.mass, n)
        found: _reductions.Nearest
        if self.rounding is not None:
            along = self._along(self.rounding, v)
            found = self._reduce(_rounded.nearest, self.rounding, *along, positions, on.step)
        else:
            origin = float(self.moments.mean @ v)
            found = self._reduce(_reductions.nearest, v, origin, positions, on.step)
        return found.rows

    def draw(self, size: int, seed: int) -> _reductions.Drawn:
        """Draw a random sample; see `ravine._reservoir.content_sample`.

        Copies of a row in different chunks draw the same numbers. So how often such a row is drawn depends on how its
        copies are distributed over chunks; on average it is drawn as often as it occurs.
        """
        by_weight = self.whole.extent.lightest < self.whole.extent.heaviest
        drawn: _reductions.Drawn = self._reduce(_reductions.draw, size, seed, by_weight)
        return drawn

    def leaf_moments(self, cuts: tuple[Any, ...], leaves: Ints, centers: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weight, mean and sum of squares in each leaf of a tree, given a point near the mean of each leaf."""
        found = self._reduce(_reductions.leaf_moments, cuts, leaves, centers, *self.whole.moment_grids)
        count, mean, squares = about_mean(centers, *(pairs.sum(axis=1) for pairs in found.sums[1:]))
        return count, mean, squares.sum(axis=1)

    def fetch(self) -> _reductions.FetchedRows:
        """Return all rows, in an order that does not depend on the chunks."""
        taken: _reductions.FetchedRows = self._reduce(_reductions.take)
        return taken.sorted()

    def _reduce(self, reduction: Any, *arguments: Any) -> Any:
        return self.whole.chunks.reduce(reduction, self.handles, *arguments)


def about_mean(center: Floats, count: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """Convert sums about a center to weight, mean and squares about the mean; without rows, the mean is the center."""
    weight = np.where(count > 0, count, 1.0)[..., np.newaxis]
    shift = total / weight
    return count, center + shift, np.maximum(squares - weight * shift**2, 0.0)


def _of_rounded(pair: Floats, count: float, mean: Floats, rounding: _reductions.Rounding) -> Floats:
    """Return the scatter matrix about the mean from the sums of `_reductions.rounded_scatter`."""
    total = np.ldexp(pair[0], _reductions.LOW_BITS) + pair[1]
    return _shifted(total * np.outer(rounding.unit, rounding.unit), count, mean - rounding.center)


def _shifted(scatter: Floats, count: float, shift: Floats) -> Floats:
    """Return the scatter matrix about the mean from that about a point at distance `shift`."""
    return np.asarray(scatter - count * np.outer(shift, shift))


def _symmetric(lower: Floats) -> Floats:
    """Return the symmetric matrix with the given lower half."""
    return np.asarray(lower + np.tril(lower, -1).T)
