"""Prepare rows for a sum-of-norms problem: merge copies of a row, and remove unit, origin and order."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from ravine._convex._groups import mass_of
from ravine._matrix import Floats, Ints, fingerprint

SEED = 0
"""Seed of the fingerprints that identify equal rows."""

IN_SPAN = 8 * np.finfo(np.float64).eps
"""Points lie in a subspace if their distance to it is at most this share of their extent times √columns."""


@dataclass(frozen=True)
class Points:
    """The distinct rows of a matrix, in an order that does not depend on that of the matrix.

    Attributes
    ----------
    rows : ndarray of shape (n_points, n_features)
        The distinct rows.
    mass : ndarray of shape (n_points,)
        Total weight of the copies of each row.
    member : ndarray of shape (n_samples,)
        Point of each row of the matrix.
    coordinates : ndarray of shape (n_points, n_coordinates)
        The rows relative to their mean, in units of their deviation from it. If they span fewer dimensions than there
        are columns, they are in a basis of that subspace.
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
        """Return the points of a float64 matrix whose rows all have weight."""
        order = order_of_rows(X)
        ordered = X[order]
        is_new = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
        member = np.empty(len(X), dtype=np.int64)
        member[order] = np.cumsum(is_new) - 1
        rows = ordered[is_new]
        mass = mass_of(member, weights)
        mean = mass @ rows / mass.sum()
        centered = rows - mean
        centered -= mass @ centered / mass.sum()  # far from the origin, the mean itself is rounded
        largest = float(np.abs(centered).max())
        scale = largest * float(np.sqrt(mass @ ((centered / (largest or 1.0)) ** 2).sum(axis=1) / mass.sum()))
        coordinates = centered / (scale or 1.0)
        basis = _basis_of_span(coordinates)
        if basis is not None:
            coordinates = coordinates @ basis
        return cls(rows, mass, member, coordinates, mean, scale or 1.0, basis)

    def find(self, X: Floats) -> Ints:
        """Return the point that each row equals; -1 for rows that equal no point."""
        code = fingerprint(self.rows, SEED)
        order = np.argsort(code, kind="stable")
        position = np.searchsorted(code[order], fingerprint(X, SEED))
        found = order[np.minimum(position, len(order) - 1)]
        return np.where((self.rows[found] == X).all(axis=1), found, -1)

    def to_rows(self, coordinates: Floats) -> Floats:
        """Convert points from `coordinates` to the columns of the rows."""
        in_columns = coordinates if self.basis is None else coordinates @ self.basis.T
        return in_columns * self.scale + self.mean


def _basis_of_span(points: Floats) -> Floats | None:
    """Return orthonormal columns that span the points, up to rounding; None if they span all columns.

    Columns that depend on other columns do not change distances, and would only cost time.
    """
    n_columns = points.shape[1]
    if n_columns == 1:
        return None
    basis, triangle, _ = linalg.qr(points.T, mode="economic", pivoting=True, check_finite=False)
    away = np.abs(np.diag(triangle))  # distance of the farthest point to the span of the points before it
    rank = max(int((away > IN_SPAN * np.sqrt(n_columns) * away[0]).sum()), 1)
    return None if rank == n_columns else np.ascontiguousarray(basis[:, :rank])


def is_in_order(rows: Floats) -> bool:
    """Return whether the rows are distinct and in the order of `Points.rows`."""
    ordered = rows[order_of_rows(rows)]
    return bool((ordered == rows).all() and (rows[1:] != rows[:-1]).any(axis=1).all())


def order_of_rows(X: Floats) -> Ints:
    """Return an order in which equal rows are adjacent, and close rows are near each other."""
    return np.lexsort((fingerprint(X, SEED), X[:, 0]))
