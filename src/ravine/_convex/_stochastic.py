"""Stochastic splitting (Panahi et al. 2017, Algorithm 1): proximal steps of random edges, O(columns) each.

The step of one edge is derived again here, since the paper's eq. 9 drops a normalization. Let s be the share of the
data term of an end in each of its edges, c = s + 1/μ and y = (u/μ + s x)/c. If ‖yₐ - y_b‖ ≤ λ w (1/cₐ + 1/c_b), the two
ends fuse at their c-weighted mean. Otherwise each end moves by λ w / c along the difference.
"""

import numpy as np

from ravine import _kernels
from ravine._convex._edges import Edges
from ravine._convex._pairs import dual_value, next_momentum, objective_of_pairs
from ravine._matrix import Floats

POWER = 0.9
"""Exponent α of the step sizes μ₁ k^(-α); it must lie between 2/3 and 1 for the rate of Theorem 2."""

CHAIN = 12
"""Maximum number of dual steps for a bound; each step computes all previous ones again."""

START = 1e-3
"""Smallest distance in the first dual variables, relative to the mean distance of the centroids."""

SAMPLE = 20
"""Number of edges per point in the sample that estimates the objective for the adaptive step."""

FIRST_STEP, ROUNDS, WINDOW, DOWN, UP, SLOW = 10.0, 8, 5, 0.7, 1.05, 1e-3
"""Settings of the adaptive step: the first step size; rounds per sweep; number of rounds over which the change of the
objective is averaged; factors of the step size after an increase, and after a decrease by less than the last number as
a share of the objective."""


class StochasticSplitting:
    """Proximal steps of random edges.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    edges : Edges or None
        If None, all pairs are edges, weighted by the product of their masses.
    lam : float
    seed : int
    adaptive : bool
        If true, the step size follows the objective, estimated on a sample of edges (§5). Otherwise it is μ₁ k^(-0.9),
        which is 1 after as many steps as there are edges.
    """

    def __init__(
        self, rows: Floats, mass: Floats, edges: Edges | None, lam: float, seed: int, adaptive: bool = False
    ) -> None:
        self.rows, self.mass, self.lam, self.seed = rows, mass, lam, seed
        self.centroids = rows.copy()
        n_points = len(mass)
        nothing = np.empty(0, dtype=np.int64)
        self._edges = Edges(nothing, nothing, np.empty(0)) if edges is None else edges
        self.sweep = n_points * (n_points - 1) // 2 if edges is None else len(edges.weight)
        ends = np.concatenate([self._edges.a, self._edges.b])
        degree = np.full(n_points, n_points - 1) if edges is None else np.bincount(ends, minlength=n_points)
        self._share = mass / degree
        self._done = 0
        self._mu = (FIRST_STEP if adaptive else 1.0) / float(mass.mean())
        self._sampled = self._sample_edges() if adaptive else None
        self._history: list[float] = []

    def run(self, n_sweeps: int) -> None:
        """Run this many more sweeps; a sweep has as many steps as there are edges."""
        if self._sampled is None:
            self._step(n_sweeps * self.sweep, self._mu * self.sweep**POWER, POWER)
            return
        for _ in range(ROUNDS * n_sweeps):
            self._step(max(self.sweep // ROUNDS, 1), self._mu, 0.0)
            self._adapt(self._sampled)

    def _step(self, n_steps: int, first: float, power: float) -> None:
        _kernels.pairs.random_steps(
            self.rows,
            self.mass,
            self._share,
            *self._edges,
            self.centroids,
            self.lam,
            first,
            power,
            self._done,
            n_steps,
            self.seed,
        )
        self._done += n_steps

    def _adapt(self, sampled: Edges) -> None:
        """Shorten the step if the objective has increased in the last rounds, lengthen it if it hardly decreases."""
        fit = 0.5 * self.mass @ ((self.rows - self.centroids) ** 2).sum(axis=1)
        apart = np.linalg.norm(self.centroids[sampled.a] - self.centroids[sampled.b], axis=1)
        self._history.append(float(fit + self.lam * self.sweep / len(apart) * (sampled.weight @ apart)))
        if len(self._history) <= WINDOW:
            return
        change = (self._history[-1] - self._history[0]) / WINDOW
        if change > 0:
            # Stay above the steps of a series with infinite sum; otherwise the steps could stop before the optimum.
            least = self.sweep / (self._done * float(self.mass.mean()))
            self._mu = max(self._mu * DOWN, min(self._mu, least))
        elif change > -SLOW * self._history[-1]:
            self._mu *= UP
        self._history = []

    def _sample_edges(self) -> Edges:
        rng = np.random.default_rng(self.seed)
        n_points, size = len(self.mass), min(self.sweep, SAMPLE * len(self.mass))
        if len(self._edges.weight):
            chosen = rng.choice(self.sweep, size, replace=False)
            a, b, weight = self._edges
            return Edges(a[chosen], b[chosen], weight[chosen])
        a = rng.integers(n_points, size=size)
        b = (a + rng.integers(1, n_points, size=size)) % n_points
        return Edges(a, b, self.mass[a] * self.mass[b])


def bound_of_pairs(rows: Floats, centroids: Floats, mass: Floats, lam: float) -> tuple[float, float]:
    """Return the objective at the centroids if all pairs are edges, and a lower bound of the minimum objective.

    The bound is the dual objective after a few accelerated steps from the dual variables suggested by the centroids. No
    dual variable is stored, so memory is O(n columns). The work is that of about fifty passes over the pairs.
    """
    X, U, m = np.ascontiguousarray(rows.T), np.ascontiguousarray(centroids.T), mass
    objective = objective_of_pairs(X, U, m, lam)
    total = m.sum()
    distance = _kernels.pairs.weighted_distances(U, m) / (0.5 * (total**2 - m @ m))
    smallest = START * distance if distance > 0 else 1.0
    steps, betas = np.empty((CHAIN, *X.shape)), np.empty(CHAIN)
    force, force_old = np.empty_like(X), np.empty_like(X)
    momentum, beta, best = 1.0, 0.0, -np.inf
    for t in range(CHAIN + 1):
        force, force_old = force_old, force
        _kernels.pairs.chained_forces(U, smallest, steps[:t], betas[:t], 1.0 / (lam * total), m, force)
        dual = dual_value(X, force, m, lam)
        if t == CHAIN or (t > 2 and dual - best < 0.05 * (objective - dual)):
            break
        momentum, beta = (1.0, 0.0) if t == 0 else next_momentum(momentum)
        best = max(best, dual)
        steps[t] = X - lam / m * (force + beta * (force - force_old) if t else force)
        betas[t] = beta
    return objective, max(best, dual)
