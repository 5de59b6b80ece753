"""What both forms of the sum-of-norms problem share: points with masses that attract each other and fuse.

    min Σ mᵢ ‖xᵢ - uᵢ‖² / 2 + λ Σ wₑ ‖uₐ - u_b‖

over centroids u, with a sum over edges e = (a, b). This is eq. 1 of Panahi et al. (2017) if all masses are 1 and all
pairs are edges of weight 1. Points with the same centroid can be merged into one point at their mean, with the sum of
their masses. The problem then stays the same except for a constant.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ravine._convex._groups import group_mean, mass_of
from ravine._matrix import Floats, Ints

SHORT = 0.05
"""Centroids are close enough to fuse if their distance is at most this many steps of a multiplier."""

INSIDE = 0.01
"""An edge of the path is fused if the length of its dual variable is below 1 by at least this much."""

FIRST = 0.05
"""A path begins where this share of the edges could fuse at the earliest."""


@dataclass(frozen=True)
class Bound:
    """Quality of the centroids.

    Attributes
    ----------
    objective : float
        The objective at the centroids.
    gap : float
        Upper bound for its excess over the minimum objective, as a share of the objective.
    n_iter : int
        Number of rounds of the method.
    """

    objective: float
    gap: float
    n_iter: int

    @classmethod
    def of(cls, objective: float, excess: float, n_iter: int) -> "Bound":
        """Return the bound for an objective that exceeds the minimum by at most `excess`."""
        return cls(objective, max(excess, 0.0) / objective if objective > 0 else 0.0, n_iter)


class Problem(ABC):
    """Points, their masses and centroids; subclasses store the edges and their dual variables.

    Attributes
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    centroids : ndarray of shape (n_points, n_features)
        Centroids for the last λ that was solved.
    constant : float
        Contribution to the objective of rows that were merged into one point.
    """

    def __init__(self, rows: Floats, mass: Floats) -> None:
        self.rows = rows
        self.mass = mass
        self.centroids = rows.copy()
        self.constant = 0.0

    @abstractmethod
    def solve(self, lam: float, tol: float, max_iter: int) -> Bound:
        """Move the centroids from their current values until the gap is at most the share `tol` of the objective.

        The objective excludes its constant, so small groups beside large ones are solved just as well.
        """

    @abstractmethod
    def fused(self, tolerance: float = INSIDE) -> Ints:
        """Return the group of each point; edges with a dual variable shorter than 1 - tolerance join points.

        Such an edge must also be so short that its dual variable would need many steps to reach length 1.
        """

    @abstractmethod
    def lambda_range(self) -> tuple[float, float]:
        """Return the λ at which the first points fuse, and one at or shortly after which all have fused.

        A few points may fuse before the first λ.
        """

    @abstractmethod
    def _contract_edges(self, group: Ints, n_groups: int) -> None:
        """Keep the edges between groups; edges between the same two groups are merged."""

    def contract(self, group: Ints) -> None:
        """Merge the points of each group, numbered from 0, into one point."""
        n_groups = int(group.max()) + 1
        self._contract_edges(group, n_groups)
        mass = mass_of(group, self.mass)
        rows = group_mean(self.rows, self.mass, group)
        centroids = group_mean(self.centroids, self.mass, group)
        self.constant += float(0.5 * self.mass @ ((self.rows - rows[group]) ** 2).sum(axis=1))
        self.rows, self.mass, self.centroids = rows, mass, centroids
