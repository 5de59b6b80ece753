"""What the two forms of the sum-of-norms problem share: points with masses that are drawn together and fuse.

    min Σ mᵢ ‖xᵢ - uᵢ‖² / 2 + λ Σ wₑ ‖uₐ - u_b‖

over centroids u, the sum over edges e = (a, b): eq. 1 of Panahi et al. (2017) where all masses are 1 and all pairs are
edges of weight 1. Points whose centroids coincide can be made one point, with the sum of the masses at their mean, and
the problem stays the same but for a constant.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ravine._convex._groups import group_mean, mass_of
from ravine._matrix import Floats, Ints

SHORT = 0.05
"""Centroids are close enough to be fused where they are so many steps of a multiplier apart, or less."""

INSIDE = 0.01
"""An edge of the path is fused where its dual variable is shorter than 1 by so much."""

FIRST = 0.05
"""A path begins where this share of the edges could fuse at the earliest."""


@dataclass(frozen=True)
class Bound:
    """How good the centroids are.

    Attributes
    ----------
    objective : float
        The objective at the centroids.
    gap : float
        Most by which it is above the least objective there is, as a share of it.
    n_iter : int
        Rounds of the method that were taken.
    """

    objective: float
    gap: float
    n_iter: int

    @classmethod
    def of(cls, objective: float, excess: float, n_iter: int) -> "Bound":
        """An objective that is above the least one by `excess` at most."""
        return cls(objective, max(excess, 0.0) / objective if objective > 0 else 0.0, n_iter)


class Problem(ABC):
    """Points, their masses and centroids; subclasses know the edges and their dual variables.

    Attributes
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    centroids : ndarray of shape (n_points, n_features)
        Of the last λ that was solved.
    constant : float
        What the objective has from rows that were made one point.
    """

    def __init__(self, rows: Floats, mass: Floats) -> None:
        self.rows = rows
        self.mass = mass
        self.centroids = rows.copy()
        self.constant = 0.0

    @abstractmethod
    def solve(self, lam: float, tol: float, max_iter: int) -> Bound:
        """Move the centroids from where they are, until the gap is the share `tol` of the objective.

        Of the objective without its constant: small groups beside large ones are placed just as well.
        """

    @abstractmethod
    def fused(self, tolerance: float = INSIDE) -> Ints:
        """Group of each point: points are joined by edges whose dual variable is shorter than 1 - tolerance.

        Such an edge must also be so short that its dual variable would take long to get out.
        """

    @abstractmethod
    def lambda_range(self) -> tuple[float, float]:
        """Values of λ at which the first points fuse, all but a few, and at which all have, or soon after."""

    @abstractmethod
    def _contract_edges(self, group: Ints, n_groups: int) -> None:
        """Keep the edges between groups; those between the same two groups become one."""

    def contract(self, group: Ints) -> None:
        """Make the points of each group, 0 to the largest, one point."""
        n_groups = int(group.max()) + 1
        self._contract_edges(group, n_groups)
        mass = mass_of(group, self.mass)
        rows = group_mean(self.rows, self.mass, group)
        centroids = group_mean(self.centroids, self.mass, group)
        self.constant += float(0.5 * self.mass @ ((self.rows - rows[group]) ** 2).sum(axis=1))
        self.rows, self.mass, self.centroids = rows, mass, centroids
