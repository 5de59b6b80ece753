"""Stochastic splitting (Panahi et al. 2017, Algorithm 1): proximal steps of edges drawn at random, O(columns) each.

The step of one edge, derived anew (the paper's eq. 9 drops a normalization): with the share s of the data term that an
end has in each of its edges, c = s + 1/μ and y = (u/μ + s x)/c, the two ends fuse at their c-weighted mean where
‖yₐ - y_b‖ ≤ λ w (1/cₐ + 1/c_b), else each moves by λ w / c along the difference.
"""

import numpy as np

from ravine import _kernels
from ravine._convex._edges import Edges
from ravine._convex._pairs import dual_value, next_momentum, objective_of_pairs
from ravine._matrix import Floats

POWER = 0.9
"""Of the steps μ₁ k^(-α): between 2/3 and 1 for the rate of Theorem 2."""

CHAIN = 12
"""Most steps on the dual for a bound, each of which computes all before it anew."""

START = 1e-3
"""Smallest distance in the first dual variables, in mean distances of the centroids."""

SAMPLE = 20
"""Edges for each point in the sample that estimates the objective for the adaptive step."""

FIRST_STEP, ROUNDS, WINDOW, DOWN, UP, SLOW = 10.0, 8, 5, 0.7, 1.05, 1e-3
"""Of the adaptive step: the first one; rounds in a sweep; how many of them the change of the objective is averaged
over; factors of the step after a rise, and after a fall that is smaller than this share of the objective."""


class StochasticSplitting:
    """Proximal steps of edges drawn at random.

    Parameters
    ----------
    rows : ndarray of shape (n_points, n_features)
    mass : ndarray of shape (n_points,)
    edges : Edges or None
        None: any two points, with the product of their masses.
    lam : float
    seed : int
    adaptive : bool
        The step follows the objective, estimated on a sample of edges (§5); else it is μ₁ k^(-0.9), and 1 after as
        many steps as there are edges.
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
        """Go on for so many sweeps, of as many steps as there are edges."""
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
        """Shorten the step where the objective has risen in the last rounds, lengthen it where it hardly falls."""
        fit = 0.5 * self.mass @ ((self.rows - self.centroids) ** 2).sum(axis=1)
        apart = np.linalg.norm(self.centroids[sampled.a] - self.centroids[sampled.b], axis=1)
        self._history.append(float(fit + self.lam * self.sweep / len(apart) * (sampled.weight @ apart)))
        if len(self._history) <= WINDOW:
            return
        change = (self._history[-1] - self._history[0]) / WINDOW
        if change > 0:
            # Not below the steps of a series that still adds up to infinity, or they could end before the optimum.
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
    """Objective at the centroids where all pairs are edges, and a lower bound of the least objective there is.

    The bound is the dual objective after a few accelerated steps from the dual variables that the centroids suggest. No
    dual variable is stored: memory stays O(n columns), and the work is that of some fifty passes over the pairs.
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
