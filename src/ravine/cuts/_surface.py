"""Where a cut bends: a partition of the plane, or space, on which the rows are projected."""

from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Bools, Floats, Matrix, project


@dataclass(frozen=True, eq=False)
class Surface:
    """A row goes left if the nearest of some places in the projection is one of the left.

    The parameters are also the attributes that are there to be read.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, n_features)
        The projection of a row x is ``directions @ x``.
    places : ndarray of shape (n_places, n_directions)
        Places in the projection.
    is_left : ndarray of shape (n_places,)
        Whether each place is one of the left; there is a place on either side.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.cuts import Surface
    >>> corner = Surface(np.eye(2), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), np.array([True, False, False]))
    >>> corner.heights(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([-2.,  2.])
    """

    directions: Floats
    places: Floats
    is_left: Bools

    def turned(self) -> "Surface":
        """The same surface with its sides exchanged.

        Returns
        -------
        surface : Surface
            With the same places.
        """
        return Surface(self.directions, self.places, ~self.is_left)

    def heights(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Distance of each row to the nearest place on the left minus that to the nearest on the right.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.
        n_jobs : int, optional
            Threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        height : ndarray of shape (n_samples,)
            Below 0 where a row goes left.
        """
        values = np.stack([project(X, direction, n_jobs) for direction in self.directions], axis=1)
        out = np.empty(X.shape[0])

        def fill(block: slice) -> None:
            _kernels.spectral.heights(values[block], self.places, self.is_left, out[block])

        map_blocks(fill, (X.shape[0], self.places.size), n_jobs)
        return out

    def unscaled(self, center: Floats, scale: Floats) -> "Surface":
        """The surface of the rows before ``(rows - center) / scale`` was taken.

        Parameters
        ----------
        center, scale : ndarray of shape (n_features,)
            What was subtracted from the columns, and what they were divided by.

        Returns
        -------
        surface : Surface
            Which sends a row where this one sends the scaled row.
        """
        directions = self.directions / scale
        return Surface(directions, self.places + directions @ center, self.is_left)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surface):
            return NotImplemented
        mine, theirs = ((s.directions, s.places, s.is_left) for s in (self, other))
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]
