"""A sum-of-norms problem in the user's own units: its path, its solution for one λ, and its certificate."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ravine._convex._certificate import Certificate, certify
from ravine._convex._edges import Edges, gaussian_weights
from ravine._convex._graph import GraphProblem
from ravine._convex._pairs import PairsProblem
from ravine._convex._path import FusionTree, follow, lambda_grid
from ravine._convex._points import Points
from ravine._convex._problem import Bound, Problem
from ravine._convex._solution import Solution, solve_graph, solve_pairs, solve_stochastically
from ravine._matrix import Ints
from ravine._neighbors import neighbor_graph
from ravine._ties import ROUNDING

MAX_ROUNDS = 100
"""Maximum number of rounds of multipliers on a graph; each round has many steps."""


@dataclass(frozen=True)
class Settings:
    """Settings of the solver; see the parameters of the same names of `SumOfNorms`."""

    solver: Literal["dual", "stochastic"]
    tol: float
    max_iter: int
    fusion_tol: float
    adaptive: bool
    seed: int


class ScaledProblem:
    """Points, the edges between them, and the settings of the solver.

    Parameters
    ----------
    points : Points
    settings : Settings
    n_neighbors : int or None
        If None, all pairs are edges.
    scale : float
        Factor in the exponent of the Gaussian weights between neighbors.
    n_jobs : int or None
    """

    def __init__(
        self, points: Points, settings: Settings, n_neighbors: int | None, scale: float, n_jobs: int | None
    ) -> None:
        self.points, self.settings, self.n_neighbors = points, settings, n_neighbors
        self._scale, self._n_jobs = scale, n_jobs
        self.edges: Edges | None = None
        self.unit = 1.0
        if n_neighbors is not None:
            a, b, length = neighbor_graph(points.coordinates, n_neighbors, n_jobs)
            unit = float(np.median(length[length > 0])) if len(length) else 1.0
            pull = np.sqrt(points.mass[a] * points.mass[b])
            self.edges = Edges(a, b, pull * gaussian_weights(length, unit, scale))
            self.unit = unit * points.scale

    def of(self, points: Points) -> "ScaledProblem":
        """Return the problem of other points, with the same settings."""
        return ScaledProblem(points, self.settings, self.n_neighbors, self._scale, self._n_jobs)

    @property
    def last_lambda(self) -> float:
        """A λ at which all points are certain to have fused, above the bound by more than rounding."""
        return (1.0 + ROUNDING) * self._lambda_range[1] * self.points.scale if len(self.points.mass) > 1 else 0.0

    def follow(
        self, n_lambdas: int, *, until: float = np.inf, on_lambda: Callable[[], bool] = lambda: False
    ) -> FusionTree:
        """Return the path over a geometric sequence of λ, from the first fusions to the last or up to `until`."""
        problem, scale = self._problem(), self.points.scale
        lambdas = lambda_grid(*self._lambda_range, n_lambdas) if len(problem.mass) > 1 else np.empty(0)
        if until < np.inf:
            lambdas = np.append(lambdas[lambdas < until / scale], until / scale)
        path = follow(problem, lambdas, self.settings.tol, self._max_iter(), on_lambda)
        return replace(
            path,
            lambdas=path.lambdas * scale,
            merge_lambdas=path.merge_lambdas * scale,
            centroids=self.points.to_rows(path.centroids),
        )

    def solve(self, lam: float, path: FusionTree | None) -> Solution:
        """Return the solution for λ; on a graph, it starts from the groups of the path."""
        own = self._solve(lam / self.points.scale, None if path is None else path.labels_at(lam))
        objective = own.solution.objective * self.points.scale**2
        return replace(
            own,
            centroids=self.points.to_rows(own.centroids),
            solution=replace(own.solution, objective=objective),
        )

    def certificate(self, labels: Ints, lam: float) -> Certificate | None:
        """Return what is proved of a partition of the points; None unless all pairs are edges."""
        if self.edges is not None:
            return None
        return certify(self.points.rows, self.points.mass, labels, lam)

    def _solve(self, lam: float, group: Ints | None) -> Solution:
        X, mass, how = self.points.coordinates, self.points.mass, self.settings
        if lam == 0:
            return Solution(X, np.arange(len(mass)), Bound(0.0, 0.0, 1), True)
        if len(mass) == 1 or lam >= self._lambda_range[1]:
            center = np.broadcast_to(mass @ X / mass.sum(), X.shape)
            objective = float(0.5 * mass @ ((X - center) ** 2).sum(axis=1))
            return Solution(center, np.zeros(len(mass), dtype=np.int64), Bound(objective, 0.0, 1), True)
        if how.solver == "stochastic":
            return solve_stochastically(
                X, mass, self.edges, lam, how.tol, how.max_iter, how.fusion_tol, how.seed, how.adaptive
            )
        if self.edges is None:
            return solve_pairs(X, mass, lam, how.tol, how.max_iter, how.fusion_tol)
        assert group is not None, "a solution on a graph needs a path"
        return solve_graph(X, mass, self.edges, lam, group, how.tol, MAX_ROUNDS, how.fusion_tol)

    @cached_property
    def _lambda_range(self) -> tuple[float, float]:
        return self._problem().lambda_range()

    def _problem(self) -> Problem:
        X, mass = self.points.coordinates, self.points.mass
        return PairsProblem(X, mass) if self.edges is None else GraphProblem(X, mass, self.edges)

    def _max_iter(self) -> int:
        return self.settings.max_iter if self.edges is None else MAX_ROUNDS
