"""A curved cut: a partition of the plane, or space, onto which the rows are projected."""

from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._lazy import public
from ravine._matrix import Bools, Floats, Matrix, project


@public("ravine.cuts")
@dataclass(frozen=True, eq=False)
class Surface:
    """A curved cut: a row goes left if the point nearest to its projection is a point of the left side.

    The parameters are also readable attributes.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, n_features)
        The projection of a row x is ``directions @ x``.
    positions : ndarray of shape (n_positions, n_directions)
        Points in the projection.
    is_left : ndarray of shape (n_positions,)
        Whether each point belongs to the left. Both sides have at least one point.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.cuts import Surface
    >>> corner = Surface(np.eye(2), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), np.array([True, False, False]))
    >>> corner.heights(np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([-2.,  2.])
    """

    directions: Floats
    positions: Floats
    is_left: Bools

    def turned(self) -> "Surface":
        """Return the same surface with its sides exchanged.

        Returns
        -------
        surface : Surface
            A surface with the same points.
        """
        return Surface(self.directions, self.positions, ~self.is_left)

    def heights(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Return the distance of each row to the nearest point on the left minus that to the nearest on the right.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            Rows.
        n_jobs : int, optional
            Number of threads; -1 uses all cores. The result does not depend on it.

        Returns
        -------
        height : ndarray of shape (n_samples,)
            Negative if the row goes left.
        """
        values = np.stack([project(X, direction, n_jobs) for direction in self.directions], axis=1)
        out = np.empty(X.shape[0])

        def fill(block: slice) -> None:
            _kernels.spectral.heights(values[block], self.positions, self.is_left, out[block])

        map_blocks(fill, (X.shape[0], self.positions.size), n_jobs)
        return out

    def unscaled(self, center: Floats, scale: Floats) -> "Surface":
        """Return the surface for the rows before they were scaled by ``(rows - center) / scale``.

        Parameters
        ----------
        center, scale : ndarray of shape (n_features,)
            What was subtracted from the columns, and what they were divided by.

        Returns
        -------
        surface : Surface
            A surface that sends each row to the side to which this one sends the scaled row.
        """
        directions = self.directions / scale
        return Surface(directions, self.positions + directions @ center, self.is_left)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surface):
            return NotImplemented
        mine, theirs = ((s.directions, s.positions, s.is_left) for s in (self, other))
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]
