"""Rows made ready for a sum-of-norms problem: copies of a row are one point, and no unit, origin or order is left."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from ravine._convex._groups import mass_of
from ravine._matrix import Floats, Ints, fingerprint

SEED = 0
"""Of the fingerprints by which equal rows are found."""

IN_SPAN = 8 * np.finfo(np.float64).eps
"""Points that lie no farther from a space than this share of their extent, times √columns, lie in it."""


@dataclass(frozen=True)
class Points:
    """The distinct rows of a matrix, in an order that does not depend on that of the matrix.

    Attributes
    ----------
    rows : ndarray of shape (n_points, n_features)
        The distinct rows.
    mass : ndarray of shape (n_points,)
        Total weight of the copies of each.
    member : ndarray of shape (n_samples,)
        Point of each row of the matrix.
    coordinates : ndarray of shape (n_points, n_coordinates)
        The rows about their mean, in units of their deviation from it; where they span fewer dimensions than there are
        columns, in a basis of that space.
    """

    rows: Floats
    mass: Floats
    member: Ints
    coordinates: Floats
    mean: Floats
    scale: float
    basis: Floats | None

    @classmethod
    def of(cls, X: Floats, weights: Floats) -> Self:
        """Points of a matrix of float64, all of whose rows have weight."""
        order = order_of_rows(X)
        ordered = X[order]
        is_new = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
        member = np.empty(len(X), dtype=np.int64)
        member[order] = np.cumsum(is_new) - 1
        rows = ordered[is_new]
        mass = mass_of(member, weights)
        mean = mass @ rows / mass.sum()
        centered = rows - mean
        centered -= mass @ centered / mass.sum()  # far from the origin the mean itself is rounded
        largest = float(np.abs(centered).max())
        scale = largest * float(np.sqrt(mass @ ((centered / (largest or 1.0)) ** 2).sum(axis=1) / mass.sum()))
        coordinates = centered / (scale or 1.0)
        basis = _basis_of_span(coordinates)
        if basis is not None:
            coordinates = coordinates @ basis
        return cls(rows, mass, member, coordinates, mean, scale or 1.0, basis)

    def find(self, X: Floats) -> Ints:
        """The point that each row is equal to, -1 for rows that are none."""
        code = fingerprint(self.rows, SEED)
        order = np.argsort(code, kind="stable")
        place = np.searchsorted(code[order], fingerprint(X, SEED))
        found = order[np.minimum(place, len(order) - 1)]
        return np.where((self.rows[found] == X).all(axis=1), found, -1)

    def to_rows(self, coordinates: Floats) -> Floats:
        """Points of the space of `coordinates` in the columns of the rows."""
        in_columns = coordinates if self.basis is None else coordinates @ self.basis.T
        return in_columns * self.scale + self.mean


def _basis_of_span(points: Floats) -> Floats | None:
    """Orthonormal columns that span the points, up to rounding; None where these need as many as there are.

    Columns that depend on others change no distance, and would only cost.
    """
    n_columns = points.shape[1]
    if n_columns == 1:
        return None
    basis, triangle, _ = linalg.qr(points.T, mode="economic", pivoting=True, check_finite=False)
    away = np.abs(np.diag(triangle))  # how far the farthest point lies from the space of those before
    rank = max(int((away > IN_SPAN * np.sqrt(n_columns) * away[0]).sum()), 1)
    return None if rank == n_columns else np.ascontiguousarray(basis[:, :rank])


def order_of_rows(X: Floats) -> Ints:
    """An order in which equal rows stand together, and rows close to each other not far apart."""
    return np.lexsort((fingerprint(X, SEED), X[:, 0]))
