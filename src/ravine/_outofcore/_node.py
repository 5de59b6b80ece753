"""A node whose rows lie in parts, and what the searches for a cut ask of it."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ravine._checks import NEGLIGIBLE, refuse_weight
from ravine._matrix import Floats, Ints, Matrix, Moments
from ravine._outofcore import _reductions
from ravine._outofcore._chunks import Chunks, Handles
from ravine._outofcore._reductions import Lattice, fine_for, grid_for

CELL_COLUMNS = 64
"""Columns up to which a look at the rows brings the sums over the cells, which make the gradient without a pass, and a
division the scatter matrices of both sides."""


@dataclass(frozen=True)
class Whole:
    """What is known of all rows, which bounds the sums of all nodes."""

    parts: Chunks
    extent: _reductions.Extent

    @property
    def weight(self) -> float:
        """No node weighs more."""
        return self.extent.n_rows * self.extent.heaviest

    @property
    def moment_grids(self) -> tuple[Any, ...]:
        """Of `_reductions.moments`."""
        bounds = (self.weight, self.weight * self.reach, self.weight * self.reach**2)
        return self.fine, *(grid_for(bound) for bound in bounds)

    @property
    def scatter_grid(self) -> Floats:
        """Of `_reductions.scatter`."""
        return np.asarray(grid_for(self.weight * np.outer(self.reach, self.reach)))

    @cached_property
    def fine(self) -> float:
        """See `ravine._kernels.exact`."""
        return fine_for(self.extent.n_rows)

    @cached_property
    def reach(self) -> Floats:
        """No row lies further from a point between the rows, in each column."""
        return np.asarray(self.extent.high - self.extent.low)

    @cached_property
    def diameter(self) -> float:
        """No two rows lie further apart."""
        return float(np.linalg.norm(self.reach))


@dataclass(frozen=True)
class ChunkedNode:
    """Rows of a node in parts, their number, their moments, and the sum of the squares in each column."""

    whole: Whole
    handles: Handles
    n_rows: int
    moments: Moments
    squares: Floats
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def root(cls, parts: Chunks) -> "ChunkedNode":
        """The node of all rows, in two passes."""
        handles, extent = parts.everything()
        if extent is None:
            raise ValueError("there are no rows in any part, or none that have weight")
        refuse_weight(extent.heaviest)
        least = NEGLIGIBLE * extent.heaviest
        if extent.lightest < least:  # as `ravine._checks.checked_weights` has it
            handles, extent = parts.everything(np.nextafter(least, 0.0))
            assert extent is not None
        whole, center = Whole(parts, extent), (extent.low + extent.high) / 2
        return cls.of(whole, handles, center, parts.reduce(_reductions.moments, handles, center, *whole.moment_grids))

    @classmethod
    def of(cls, whole: Whole, handles: Handles, center: Floats, found: _reductions.Sums) -> "ChunkedNode":
        """The node of some rows, given their sums about a point between all rows."""
        n_rows, *pairs = found.sums
        count, mean, squares = _about_mean(center, *(pair.sum(axis=0) for pair in pairs[:3]))
        node = cls(whole, handles, int(n_rows), Moments(float(count), mean, float(squares.sum())), squares)
        for pair in pairs[3:]:
            shift = mean - center
            node._kept["scatter"] = _symmetric(pair.sum(axis=0)) - count * np.outer(shift, shift)
        return node

    def children(self, normal: Floats, offset: float) -> "tuple[ChunkedNode, ChunkedNode] | None":
        """The nodes on both sides of a cut, in one pass; None where all rows lie on one side."""
        center, grids = self.moments.mean, self.whole.moment_grids
        scatter_grid = self.whole.scatter_grid if "scatter" in self._kept and len(center) <= CELL_COLUMNS else None
        left, right, *sums = self.whole.parts.divide(self.handles, normal, offset, center, grids, scatter_grid)
        if not all(found.sums[0] for found in sums):
            return None
        return ChunkedNode.of(self.whole, left, center, sums[0]), ChunkedNode.of(self.whole, right, center, sums[1])

    def deviation(self, v: Floats) -> float:
        """Standard deviation along a unit vector; a pass, unless the scatter matrix is there."""
        if "scatter" in self._kept:
            square = float(v @ self.scatter @ v)
        else:
            square = self.lattice(v, math.sqrt(self.moments.sum_sq / self.moments.count)).square
        return math.sqrt(max(square, 0.0) / self.moments.count)

    @property
    def scatter(self) -> Floats:
        """The scatter matrix; a pass when it is first asked for."""
        if "scatter" not in self._kept:  # functools.cached_property would lock out the other threads
            grids = self.whole.fine, self.whole.scatter_grid
            (pair,) = self._reduce(_reductions.scatter, self.moments.mean, *grids).sums
            self._kept["scatter"] = _symmetric(pair.sum(axis=0))
        found: Floats = self._kept["scatter"]
        return found

    def scatter_times(self, v: Floats) -> Floats:
        """The scatter matrix times a unit vector."""
        grid = grid_for(self.whole.weight * self.whole.diameter * self.whole.reach)
        (pair,) = self._reduce(_reductions.scatter_times, self.moments.mean, v, self.whole.fine, grid).sums
        return np.asarray(pair.sum(axis=0))

    def lattice(self, v: Floats, step: float) -> Lattice:
        """The rows along a unit vector, from their mean, on a lattice."""
        return self._look(v, (step,), with_cells=False).lattices[0]

    def look(self, v: Floats, step: float, most_points: float, *finer: float) -> _reductions.Looked:
        """The rows along a unit vector, from their mean, on lattices, with what `pull` needs where that is little.

        The first lattice is coarser where it would be too long. What was seen last is remembered.
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
        bounds = (self.whole.weight, self.whole.weight * self.whole.diameter**2)
        grids = (self.whole.fine, *(grid_for(bound) for bound in bounds))
        cells = (self.moments.mean, grid_for(self.whole.weight * self.whole.reach)) if with_cells else (None, None)
        origin = float(self.moments.mean @ v)
        found: _reductions.Looked = self._reduce(_reductions.look, v, origin, steps, grids, *cells)
        return found.closed()

    def pull(self, v: Floats, looked: _reductions.Looked, slopes: Floats, tilt: float) -> Floats:
        """Σ c (x - mean), c the weight times (the slope of the row's cell - tilt · its place along v).

        Without a pass, or with one, should there be too many cells.
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
        """Rows spread evenly over all in their order along a unit vector; one of much weight may be there often."""
        places = _reductions.even_places(on.places, on.mass, n)
        found: _reductions.Nearest = self._reduce(_reductions.nearest, v, float(self.moments.mean @ v), places, on.step)
        return found.rows

    def draw(self, size: int, seed: int) -> _reductions.Drawn:
        """A random sample, see `ravine._reservoir.content_sample`.

        Copies of a row that lie in different parts draw the same numbers: how often such a row is drawn depends on how
        its copies are spread, on the average as often as it is there.
        """
        by_weight = self.whole.extent.lightest < self.whole.extent.heaviest
        drawn: _reductions.Drawn = self._reduce(_reductions.draw, size, seed, by_weight)
        return drawn

    def leaf_moments(self, cuts: tuple[Any, ...], leaves: Ints, centers: Floats) -> tuple[Floats, Floats, Floats]:
        """Weight, mean and sum of squares in each leaf of a tree, given a point near the mean of each."""
        found = self._reduce(_reductions.leaf_moments, cuts, leaves, centers, *self.whole.moment_grids)
        count, mean, squares = _about_mean(centers, *(pairs.sum(axis=1) for pairs in found.sums[1:]))
        return count, mean, squares.sum(axis=1)

    def fetch(self) -> _reductions.FetchedRows:
        """All rows, in an order that does not depend on the parts."""
        taken: _reductions.FetchedRows = self._reduce(_reductions.take)
        return taken.sorted()

    def _reduce(self, step: Any, *arguments: Any) -> Any:
        return self.whole.parts.reduce(step, self.handles, *arguments)


def _about_mean(center: Floats, count: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and squares about it in each column, from sums about a center; the mean of no rows is the center."""
    weight = np.where(count > 0, count, 1.0)[..., np.newaxis]
    shift = total / weight
    return count, center + shift, np.maximum(squares - weight * shift**2, 0.0)


def _symmetric(lower: Floats) -> Floats:
    """A matrix whose lower half is given."""
    return np.asarray(lower + np.tril(lower, -1).T)
