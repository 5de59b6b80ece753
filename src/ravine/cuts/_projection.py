"""A projection of the rows of a node, with points on two sides of a cut, and the cut in the user's columns."""

from dataclasses import dataclass

import numpy as np

from ravine._matrix import Bools, Floats, Matrix, Moments, project
from ravine._ties import first_least, pointing_up, rounded_order
from ravine.cuts._cut import Cut
from ravine.cuts._density import depth_at
from ravine.cuts._surface import Surface

RIDGE = 1e-12
"""Added to a covariance before inversion, relative to the spread of the points."""


@dataclass(frozen=True)
class CenteredRows:
    """The rows of a node, to be projected relative to their mean and in units of their deviation."""

    X: Matrix
    weights: Floats
    moments: Moments
    n_jobs: int | None

    @property
    def unit(self) -> float:
        """Root mean square deviation of a column."""
        return self.moments.unit

    def project(self, directions: Floats) -> Floats:
        """Return projected rows, centered and in units."""
        columns = [project(self.X, v, self.n_jobs) - self.moments.mean @ v for v in directions]
        return np.stack(columns, axis=1) / self.unit


@dataclass(frozen=True)
class Projection:
    """Points in a projection, and the sides of a cut on which they lie.

    Attributes
    ----------
    directions : ndarray of shape (n_directions, n_features)
        Unit directions in the columns of the rows.
    positions : ndarray of shape (n_points, n_directions)
        Points along them, centered and in units.
    counts : ndarray of shape (n_points,)
        Weights of the points.
    is_left : ndarray of shape (n_points,)
        Whether each point is on the left of the cut.
    value : float
        λ₂ of the points.
    scale, bound : float
        σ of the similarity and β, with which they were found.
    drawn : ndarray of shape (n_points, n_directions)
        The positions with the distances outside the bound shortened.
    """

    directions: Floats
    positions: Floats
    counts: Floats
    is_left: Bools
    value: float
    scale: float
    bound: float
    drawn: Floats

    @property
    def lighter_side(self) -> float:
        """Weight of the lighter side."""
        on_left = float(self.counts[self.is_left].sum())
        return min(on_left, float(self.counts.sum()) - on_left)

    def cut(self, rows: CenteredRows) -> Cut:
        """Return the cut in the user's columns.

        It is a hyperplane if the projection is a line, else a surface with a hyperplane near it.
        """
        on_line = len(self.directions) == 1
        normal = self.directions[0] if on_line else self._discriminant()
        along = self.positions @ (self.directions @ normal)
        up = pointing_up(normal[np.newaxis])[0]
        normal, along = up, along if up @ normal > 0 else -along
        is_left = self.is_left
        if along[is_left].mean() > along[~is_left].mean():
            is_left = ~is_left
        values = rows.project(normal[np.newaxis])[:, 0]
        low, high = threshold(along, is_left, self.counts)
        position = middle_of_widest_gap(values, low, high)
        depth = depth_at(position, values, rows.weights)
        offset = position * rows.unit + float(rows.moments.mean @ normal)
        surface = None
        if not on_line:
            positions = self.positions * rows.unit + self.directions @ rows.moments.mean
            surface = Surface(self.directions, positions, is_left)
        return Cut(normal, offset, self.value, depth, surface=surface)

    def _discriminant(self) -> Floats:
        """Return the unit normal in the span of the directions that discriminates the two sides."""
        weights = self.counts / self.counts.sum()
        means = [
            np.average(self.positions[side], axis=0, weights=weights[side]) for side in (self.is_left, ~self.is_left)
        ]
        centered = self.positions - np.where(self.is_left[:, np.newaxis], *means)
        within = (weights[:, np.newaxis] * centered).T @ centered
        within += RIDGE * np.trace(self.positions.T @ self.positions) * np.eye(len(within))
        normal = np.linalg.solve(within, means[1] - means[0]) @ self.directions
        length = np.linalg.norm(normal)
        return np.asarray(normal / length) if length > 0 else self.directions[0]


def threshold(values: Floats, is_left: Bools, counts: Floats) -> tuple[float, float]:
    """Return two neighbors on a line; a cut between them puts the least weight of points on the wrong side."""
    order = rounded_order(values)
    signed = np.where(is_left, counts, -counts)[order]
    k = first_least(-np.cumsum(signed)[:-1])
    return float(values[order[k]]), float(values[order[k + 1]])


def middle_of_widest_gap(values: Floats, low: float, high: float) -> float:
    """Return the midpoint of the widest gap among the values between two positions, which are included."""
    between = np.sort(np.concatenate([[low, high], values[(values > low) & (values < high)]]))
    k = first_least(-np.diff(between))
    return float(between[k] + between[k + 1]) / 2
