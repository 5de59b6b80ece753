"""The clusters of a mixture in a plane, as ellipses.

A group of components has a mean and a covariance matrix. Seen in a plane, these are an ellipse. The covariance matrices
are computed once; after that, a plane costs as much as two rows for each component.
"""

import math

import numpy as np

from ravine._matrix import Bools, Floats
from ravine.tree._mixture import Mixture, pooled

LEVEL = 0.9
"""An ellipse holds this share of a Gaussian cluster with the same mean and covariance."""

RADIUS = math.sqrt(-2 * math.log(1 - LEVEL))
"""Half the width of an ellipse, in standard deviations."""

N_OUTLINE = 72
"""Number of points on the outline of an ellipse."""


class PlaneEllipses:
    """Ellipses of groups of components, in any plane.

    Parameters
    ----------
    mixture : Mixture
    """

    def __init__(self, mixture: Mixture) -> None:
        self._mixture = mixture
        covariance = mixture.covariance
        self._covariance = covariance[:1] if len(mixture.factor) == 1 else covariance

    def of(self, members: Bools, plane: Floats, origin: Floats) -> Floats:
        """Return the ellipse of each group: center (x, y), half width, half height and correlation.

        Parameters
        ----------
        members : ndarray of shape (n_groups, n_components)
            Whether each component belongs to each group. Every group has a component.
        plane : ndarray of shape (2, n_features)
            Directions of the two axes.
        origin : ndarray of shape (2,)
            What is subtracted from the coordinates along the axes.

        Returns
        -------
        ellipses : ndarray of shape (n_groups, 5)
        """
        used = np.flatnonzero(members.any(axis=0))
        part = members[:, used] * self._mixture.weight[used]
        component = plane @ (self._covariance if len(self._covariance) == 1 else self._covariance[used]) @ plane.T
        mean, covariance = pooled(
            part / part.sum(axis=1, keepdims=True),
            self._mixture.mean[used] @ plane.T - origin,
            np.broadcast_to(component, (len(used), 2, 2)),
        )
        deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        correlation = np.clip(covariance[:, 0, 1] / deviation.prod(axis=1), -1.0, 1.0)
        return np.column_stack([mean, RADIUS * deviation, correlation])


def outlines(ellipses: Floats) -> Floats:
    """Return points on the outline of each ellipse, of shape (n_groups, `N_OUTLINE`, 2)."""
    x, y, width, height, correlation = ellipses.T[:, :, np.newaxis]
    turn = np.linspace(0, 2 * np.pi, N_OUTLINE)
    return np.stack([x + width * np.cos(turn), y + height * np.sin(turn + np.arcsin(correlation))], axis=-1)
