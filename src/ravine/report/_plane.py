"""The plane in which a page draws a model without a tree: two columns, or two principal directions of the rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Floats, column_deviations, moments_of
from ravine._names import shown
from ravine.cuts._principal import principal_directions
from ravine.report._format import MAX_NAME, rounded
from ravine.report._groups import Groups
from ravine.tree._pipeline import LinearMap, names_before_model
from ravine.tree._text import largest, shares_of_spread, shortened

N_MAIN = 2
"""Number of columns by which a direction is described."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Where rows of a model are drawn.

    Parameters
    ----------
    origin : ndarray of shape (n_features,)
        The row that is drawn at 0.
    directions : ndarray of shape (n_axes, n_features)
        Orthonormal directions of the one or two axes.
    axes : list of str
        What each axis shows.
    share : float or None
        Share of the variance of the rows along the directions; None if the axes are the columns themselves.
    before : LinearMap or None
        Steps of a pipeline before the model, if the axes are columns of X in their own units.
    """

    origin: Floats
    directions: Floats
    axes: list[str]
    share: float | None = None
    before: LinearMap | None = None

    @classmethod
    def of(cls, groups: Groups, Z: Floats, weights: Floats, given_names: list[str]) -> "Plane | None":
        """Return the plane of rows as the model sees them: its columns if there are one or two.

        None if the rows do not vary.
        """
        n_features = Z.shape[1]
        steps = None if groups.pipeline is None else groups.pipeline.steps
        if n_features <= 2:
            eye, zero = np.eye(n_features), np.zeros(n_features)
            if steps is not None and groups.n_features == n_features and steps.is_invertible:
                return cls(zero, eye, [_name(name) for name in given_names], before=steps)
            return cls(zero, eye, [_name(name) for name in model_names(groups, given_names)])
        moments = moments_of(Z, weights)
        directions = principal_directions(Z, weights, moments, 2)
        if not len(directions):
            return None
        deviation, names = column_deviations(Z), model_names(groups, given_names)
        along = weights @ ((Z - moments.mean) @ directions.T) ** 2
        axes = [
            f"direction {i}, mainly {' and '.join(_name(names[j]) for j, _ in largest(shares, N_MAIN))}"
            for i, shares in enumerate((shares_of_spread(direction, deviation) for direction in directions), 1)
        ]
        return cls(moments.mean, directions, axes, float(along.sum() / moments.sum_sq))

    def project(self, Z: Floats) -> Floats:
        """Return where rows of the model are drawn, one column for each axis."""
        if self.before is not None:
            return np.asarray(self.before.before(Z))
        return np.asarray((Z - self.origin) @ self.directions.T)

    def lift(self, positions: Floats, through: Floats) -> Floats:
        """Return the rows of the model at some positions, on the slice that is parallel to the plane."""
        if self.before is not None:
            return seen_after(self.before, positions)
        return np.asarray(through + (positions - self.project(through[np.newaxis])) @ self.directions)

    def radius(self, distance: float) -> Floats:
        """Return how far a ball of a radius, in the columns that the model sees, extends along each axis."""
        if self.before is None:
            return np.full(len(self.directions), distance)
        corners = np.vstack([np.zeros(len(self.axes)), np.eye(len(self.axes))])
        place = self.project(corners)
        return np.asarray(distance * np.linalg.norm(place[1:] - place[0], axis=0))

    def words(self) -> dict[str, Any]:
        """Return what the page says about the axes."""
        return {"axes": self.axes, "share": None if self.share is None else rounded(self.share, 3)}


def model_names(groups: Groups, given_names: list[str]) -> list[str]:
    """Return the names of the columns that the model sees."""
    if groups.pipeline is None or groups.pipeline.steps is None:
        return given_names
    return names_before_model(groups.pipeline.pipe)


def seen_rows(groups: Groups, X: Floats) -> Floats:
    """Return rows in the columns that the model sees, given those that the report shows."""
    steps = None if groups.pipeline is None else groups.pipeline.steps
    return X if steps is None else seen_after(steps, X)


def seen_after(steps: LinearMap, X: Floats) -> Floats:
    """Return what the steps of a pipeline make of rows."""
    return np.ascontiguousarray((steps.matrix @ X.T).T + steps.shift)


def _name(name: str) -> str:
    return shortened(shown(name), MAX_NAME)
