"""The sum-of-norms problem with an edge between any two points: an accelerated projected gradient on its dual.

The Laplacian of a complete graph has only one eigenvalue besides 0, so the dual is as well conditioned as possible, and
some tens of steps are enough. Each step is one pass over the dual variables. Together with those of the previous step,
they take 8 bytes times n² times the number of columns.
"""

from functools import cached_property

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._convex._groups import group_mean, mass_of
from ravine._convex._problem import FIRST, INSIDE, SHORT, Bound, Problem
from ravine._matrix import Floats, Ints

END_MARGIN = 1.05
"""A path ends a little after all points must have fused, since dual variables can still have length 1 at exactly that
λ."""

OVERLOAD = 1e-3
"""Allowed excess length of dual variables, as a share of the required margin; the margin can absorb it."""

CHECK_EVERY = 3
"""Number of steps between two checks of the gap; a check costs a third of a step."""


class PairsProblem(Problem):
    """Points of which every two attract each other, weighted by the product of their masses.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    """

    def __init__(self, rows: Floats, mass: Floats) -> None:
        super().__init__(rows, mass)
        self._lam, self._n_steps = 0.0, 0

    @cached_property
    def multipliers(self) -> Floats:
        """Dual variables of the pairs, in columns; created on first use, since there can be very many."""
        n_points, n_columns = self.rows.shape
        return np.zeros((n_columns, n_points * (n_points - 1) // 2))

    def solve(self, lam: float, tol: float, max_iter: int) -> Bound:
        """Move the centroids from their current values until the gap is at most the share `tol` of the objective."""
        X, m = np.ascontiguousarray(self.rows.T), self.mass
        self._carry(lam)
        h = 1.0 / (lam * m.sum())
        z, old = self.multipliers, np.zeros_like(self.multipliers)
        force = np.zeros_like(X)
        if z.any():
            _kernels.pairs.dual_step(X, m, z, old, 0.0, 0.0, force)  # no step: copies z and adds up its forces
        force_old = force.copy()
        momentum, beta, dual = 1.0, 0.0, -np.inf
        for n_steps in range(1, max_iter + 1):
            U = X - lam / m * (force + beta * (force - force_old))
            _kernels.pairs.dual_step(U, m, z, old, beta, h, force_old)
            z, old, force, force_old = old, z, force_old, force
            U = X - lam / m * force
            before, dual = dual, dual_value(X, force, m, lam)
            momentum, beta = next_momentum(1.0 if dual < before else momentum)
            if n_steps % CHECK_EVERY == 0 or n_steps == max_iter:
                objective = objective_of_pairs(X, U, m, lam)
                if objective - dual <= tol * objective:
                    break
        self.multipliers, self.centroids = z, np.ascontiguousarray(U.T)
        self._n_steps += n_steps
        return Bound.of(objective + self.constant, objective - dual, n_steps)

    def fused(self, tolerance: float = INSIDE) -> Ints:
        """Return the group of each point; edges with a dual variable shorter than 1 - tolerance join points."""
        # With momentum, the same number of steps again moves a dual variable this many times as far as a single step.
        ahead = max(1.0 / SHORT, self._n_steps**2 / 4.0)
        longest = self._lam * self.mass.sum() / ahead
        U = np.ascontiguousarray(self.centroids.T)
        return _kernels.pairs.join(self.multipliers, U, 1.0 - tolerance, longest)

    def is_partition(self, group: Ints, tolerance: float, excess: float) -> bool:
        """Return whether it is proved that each group has one centroid, and that different groups have different ones.

        A group has one centroid if forces within it take each point to the mean of the group, and pairs whose force has
        a margin of `tolerance` join all of its points. Forces from outside are the same for all of them. If centroids
        exceed the minimum objective by `excess`, their error is at most √(2 excess / mass).
        """
        mass = mass_of(group, self.mass)
        need = (self.rows - group_mean(self.rows, self.mass, group)[group]).T / self._lam
        largest, joined = _kernels.pairs.balance_within(
            self.multipliers, self.mass, group, mass, np.ascontiguousarray(need), 1.0 - tolerance
        )
        centroids = np.ascontiguousarray(group_mean(self.centroids, self.mass, group).T)
        return bool(
            largest < 1.0 + OVERLOAD * tolerance
            and (joined == group).all()
            and _kernels.pairs.are_apart(centroids, np.sqrt(2.0 * excess / mass))
        )

    def lambda_range(self) -> tuple[float, float]:
        """Return the λ at which the first points fuse, and one at which all have fused (Theorem 1 for k = 1).

        A few points may fuse before the first λ.
        """
        total = float(self.mass.sum())
        nearest = NearestNeighbors(n_neighbors=1).fit(self.rows).kneighbors()[0]
        first = float(np.quantile(nearest[nearest > 0], FIRST)) / (2.0 * total)
        return first, END_MARGIN * _kernels.pairs.diameter(np.ascontiguousarray(self.rows.T)) / total

    def _contract_edges(self, group: Ints, n_groups: int) -> None:
        merged = np.empty((self.rows.shape[1], n_groups * (n_groups - 1) // 2))
        _kernels.pairs.merge_pairs(self.multipliers, self.mass, group, merged)
        mass = mass_of(group, self.mass)
        low, high = np.triu_indices(n_groups, 1)
        self.multipliers = merged / (mass[low] * mass[high])

    def _carry(self, lam: float) -> None:
        """Adapt the multipliers to a new λ: forces inside groups do not change, forces between groups grow with λ."""
        if self._lam > 0:
            inside = np.linalg.norm(self.multipliers, axis=0) < 1.0 - INSIDE
            self.multipliers[:, inside] *= min(self._lam / lam, 1.0)
        self._n_steps = self._n_steps if lam == self._lam else 0
        self._lam = lam


def next_momentum(momentum: float) -> tuple[float, float]:
    """Return the next momentum of Nesterov's method, and the share of the last step that is added to the next."""
    following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
    return following, (momentum - 1.0) / following


def objective_of_pairs(X: Floats, U: Floats, m: Floats, lam: float) -> float:
    """Return the objective at the centroids U; points are columns here."""
    return float(0.5 * m @ ((X - U) ** 2).sum(axis=0) + lam * _kernels.pairs.weighted_distances(U, m))


def dual_value(X: Floats, force: Floats, m: Floats, lam: float) -> float:
    """Return the dual objective of multipliers with these forces: a lower bound of any objective."""
    pull = lam * force
    return float((pull * (X - 0.5 * pull / m)).sum())
