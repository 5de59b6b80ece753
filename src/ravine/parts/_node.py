"""A node whose rows lie in parts, and what the searches for a cut ask of it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ravine.matrix import Floats, Matrix, Moments
from ravine.parts import _steps
from ravine.parts._parts import Handles, Parts
from ravine.parts._steps import Lattice, fine_for, grid_for


@dataclass(frozen=True)
class Whole:
    """What is known of all rows, which bounds the sums of all nodes."""

    parts: Parts
    extent: _steps.Extent

    @property
    def weight(self) -> float:
        """No node weighs more."""
        return self.extent.n_rows * self.extent.heaviest

    @cached_property
    def fine(self) -> float:
        """See `ravine.kernels.exact`."""
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
class PartedNode:
    """Rows of a node in parts, their number and moments."""

    whole: Whole
    handles: Handles
    n_rows: int
    about: Moments

    @classmethod
    def root(cls, parts: Parts) -> "PartedNode":
        """The node of all rows, in three passes: checks, extents, moments."""
        handles = parts.everything()
        extent = parts.reduce(_steps.extent, handles)
        if extent is None:
            raise ValueError("there are no rows in any part, or none that have weight")
        root = cls.of(Whole(parts, extent), handles, (extent.low + extent.high) / 2)
        assert root is not None
        return root

    @classmethod
    def of(cls, whole: Whole, handles: Handles, centre: Floats) -> "PartedNode | None":
        """The node of some rows, given a point between all rows; None for no rows."""
        bounds = (whole.weight, whole.weight * whole.reach, whole.weight * whole.diameter**2)
        grids = (whole.fine, *(grid_for(bound) for bound in bounds))
        found = whole.parts.reduce(_steps.moments, handles, centre, *grids)
        if found is None:
            return None
        n_rows, *pairs = found.sums
        count, total, square = (pair.sum(axis=0) for pair in pairs)
        shift = total / count
        about = Moments(float(count), centre + shift, max(float(square - count * (shift @ shift)), 0.0))
        return cls(whole, handles, int(n_rows), about)

    def children(self, normal: Floats, offset: float) -> "tuple[PartedNode | None, PartedNode | None]":
        """The nodes on both sides of a cut, in three passes."""
        left, right = self.whole.parts.divide(self.handles, normal, offset)
        return tuple(PartedNode.of(self.whole, handles, self.about.mean) for handles in (left, right))  # type: ignore[return-value]

    def scatter(self) -> Floats:
        """The scatter matrix."""
        reach = self.whole.reach
        grid = grid_for(self.whole.weight * np.outer(reach, reach))
        (pair,) = self._reduce(_steps.scatter, self.about.mean, self.whole.fine, grid).sums
        lower = pair.sum(axis=0)
        return np.asarray(lower + np.tril(lower, -1).T)

    def scatter_times(self, v: Floats) -> Floats:
        """The scatter matrix times a unit vector."""
        grid = grid_for(self.whole.weight * self.whole.diameter * self.whole.reach)
        (pair,) = self._reduce(_steps.scatter_times, self.about.mean, v, self.whole.fine, grid).sums
        return np.asarray(pair.sum(axis=0))

    def lattice(self, v: Floats, step: float, most_points: float = np.inf) -> Lattice:
        """The rows along a unit vector, from their mean, on a lattice; its step is wider where it would be too long."""
        origin = float(self.about.mean @ v)
        bounds = (self.whole.weight, self.whole.weight * self.whole.diameter**2)
        grids = (self.whole.fine, *(grid_for(bound) for bound in bounds))
        found: Lattice = self._reduce(_steps.lattice, v, origin, step, *grids)
        least = (found.high - found.low) / (most_points - 4)
        return found if step >= least else self._reduce(_steps.lattice, v, origin, least, *grids)

    def pull(self, v: Floats, on: Lattice, slopes: Floats, tilt: float) -> Floats:
        """Σ c (x - mean), c the weight times (the slope of the row's cell - tilt · its place along v)."""
        steepest = float(np.abs(slopes).max()) + abs(tilt) * self.whole.diameter
        grid = grid_for(self.whole.weight * steepest * self.whole.reach)
        along = (v, float(self.about.mean @ v), on.step, float(on.first))
        (pair,) = self._reduce(_steps.pull, self.about.mean, *along, slopes, tilt, self.whole.fine, grid).sums
        return np.asarray(pair.sum(axis=0))

    def sample(self, v: Floats, n: int, on: Lattice) -> Matrix:
        """Rows spread evenly over all in their order along a unit vector; one of much weight may be there often."""
        places = _steps.even_places(on.places, on.mass, n)
        found: _steps.Nearest = self._reduce(_steps.nearest, v, float(self.about.mean @ v), places)
        return found.rows

    def fetch(self) -> _steps.Taken:
        """All rows, in an order that does not depend on the parts."""
        taken: _steps.Taken = self._reduce(_steps.take)
        return taken.sorted()

    def _reduce(self, step: Any, *arguments: Any) -> Any:
        return self.whole.parts.reduce(step, self.handles, *arguments)
