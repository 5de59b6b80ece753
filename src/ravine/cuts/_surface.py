"""Where a cut bends: a partition of the plane, or space, on which the rows are projected."""

from dataclasses import dataclass

import numpy as np

from ravine import kernels
from ravine.blocks import map_blocks
from ravine.matrix import Bools, Floats, Matrix, project


@dataclass(frozen=True, eq=False)
class Surface:
    """A row goes left if the nearest of some places in the projection is one of the left.

    Attributes
    ----------
    directions : ndarray of shape (n_directions, n_features)
        The projection of a row x is ``directions @ x``.
    places : ndarray of shape (n_places, n_directions)
    is_left : ndarray of shape (n_places,)
        There is a place on either side.
    """

    directions: Floats
    places: Floats
    is_left: Bools

    def turned(self) -> "Surface":
        """The same surface with its sides exchanged."""
        return Surface(self.directions, self.places, ~self.is_left)

    def heights(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Distance of each row to the nearest place on the left minus that to the nearest on the right."""
        values = np.stack([project(X, direction, n_jobs) for direction in self.directions], axis=1)
        out = np.empty(X.shape[0])

        def fill(block: slice) -> None:
            kernels.spectral.heights(values[block], self.places, self.is_left, out[block])

        map_blocks(fill, (X.shape[0], self.places.size), n_jobs)
        return out

    def unscaled(self, centre: Floats, scale: Floats) -> "Surface":
        """The surface of the rows before ``(rows - centre) / scale`` was taken."""
        directions = self.directions / scale
        return Surface(directions, self.places + directions @ centre, self.is_left)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surface):
            return NotImplemented
        mine, theirs = ((s.directions, s.places, s.is_left) for s in (self, other))
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]
