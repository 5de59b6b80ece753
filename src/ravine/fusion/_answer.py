"""The solution for one λ, by each of the solvers: centroids, groups and whether they are sure, a gap that is proved."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ravine import kernels
from ravine.fusion._graph import GraphProblem
from ravine.fusion._neighbours import Edges
from ravine.fusion._pairs import PairsProblem, objective_of_pairs
from ravine.fusion._path import renumber
from ravine.fusion._problem import SHORT, Problem, Solution, group_mean
from ravine.fusion._stochastic import StochasticSplitting, bound_of_pairs
from ravine.matrix import Floats, Ints

FINER = 0.1
"""Groups are solved to this share of the tolerance, so that the bound on the whole graph is what decides."""

PROOF_ROUNDS = 20
"""Of multipliers, for a bound on the whole graph."""

TEN = 10.0
"""Groups are sure where tolerances stricter and laxer by this factor give the same."""

JITTER = 1e4
"""Centroids that random steps leave apart count as fused within so many times the tolerance of the mean distance by
which steps alone can have moved them."""


@dataclass(frozen=True)
class Answer:
    """What a solver found for one λ.

    Attributes
    ----------
    centroids : ndarray of shape (n_points, n_features)
    group : ndarray of shape (n_points,)
        Points with the same centroid.
    solution : Solution
        Objective at the centroids, and its proved gap.
    stable : bool
        A tolerance ten times larger or smaller gives the same groups.
    """

    centroids: Floats
    group: Ints
    solution: Solution
    stable: bool


def answer_for_pairs(rows: Floats, mass: Floats, lam: float, tol: float, max_iter: int, tolerance: float) -> Answer:
    """Solve with an edge between any two points, on the dual."""
    problem = PairsProblem(rows, mass)
    for finer in (1.0, FINER, FINER**2):
        own = problem.solve(lam, finer * tol, max_iter)
        group, stable = _fused(problem, tolerance)
        centroids = group_mean(problem.centroids, mass, group)[group]
        objective = objective_of_pairs(np.ascontiguousarray(rows.T), np.ascontiguousarray(centroids.T), mass, lam)
        solution = Solution.of(objective, objective - own.objective * (1.0 - own.gap), own.n_iter)
        if solution.gap <= tol:
            break
    return Answer(centroids, group, solution, stable)


def answer_for_graph(
    rows: Floats, mass: Floats, edges: Edges, lam: float, group: Ints, tol: float, max_iter: int, tolerance: float
) -> Answer:
    """Solve on a graph for groups that a path has found, then prove the solution on the whole graph."""
    coarse = GraphProblem(rows, mass, edges)
    coarse.contract(group)
    objective, n_iter = coarse.constant, 0
    while len(coarse.mass) > 1:
        solution = coarse.solve(lam, FINER * tol, max_iter)
        objective, n_iter = solution.objective, n_iter + solution.n_iter
        more = coarse.fused()
        if more.max() + 1 == len(more):
            break
        coarse.contract(more)  # λ may lie between two values of the path
        group, objective = more[group], coarse.constant
    problem = GraphProblem(rows, mass, edges)
    proof = problem.prove(lam, coarse.centroids[group], objective, tol, PROOF_ROUNDS)
    own, stable = _fused(problem, tolerance)
    solution = replace(proof, n_iter=n_iter + proof.n_iter)
    return Answer(problem.centroids, group, solution, stable and _same(own, group))


def answer_by_random_steps(
    rows: Floats,
    mass: Floats,
    edges: Edges | None,
    lam: float,
    tol: float,
    max_sweeps: int,
    tolerance: float,
    seed: int,
    adaptive: bool,
) -> Answer:
    """Solve by stochastic splitting; the gap is looked at after 1, 2, 4, … sweeps."""
    splitting = StochasticSplitting(rows, mass, edges, lam, seed, adaptive)
    n_sweeps = 0
    while True:
        more = min(max(n_sweeps, 1), max_sweeps - n_sweeps)
        splitting.run(more)
        n_sweeps += more
        objective, least = _bounds(splitting, edges, tol)
        if objective - least <= tol * objective or n_sweeps == max_sweeps:
            break
    total = 0.5 * (mass.sum() ** 2 - mass @ mass) if edges is None else edges.weight.sum()
    jitter = JITTER * max(objective - least, np.finfo(np.float64).eps * objective) / (lam * total)
    strict, group, lax = (_near(splitting.centroids, edges, t * tolerance * jitter) for t in (1 / TEN, 1, TEN))
    stable = _same(group, strict) and _same(group, lax)
    return Answer(splitting.centroids, group, Solution.of(objective, objective - least, n_sweeps), stable)


def _fused(problem: Problem, tolerance: float) -> tuple[Ints, bool]:
    """Groups by the dual variables, and whether a stricter and a laxer look find the same."""
    group = renumber(problem.fused(tolerance))
    strict, lax = problem.fused(TEN * tolerance, SHORT / TEN), problem.fused(tolerance / TEN, SHORT * TEN)
    return group, _same(group, strict) and _same(group, lax)


def _same(group: Ints, other: Ints) -> bool:
    return bool((group == renumber(other)).all())


def _bounds(splitting: StochasticSplitting, edges: Edges | None, tol: float) -> tuple[float, float]:
    """Objective at the centroids, and a lower bound of the least objective there is."""
    rows, mass, centroids, lam = splitting.rows, splitting.mass, splitting.centroids, splitting.lam
    if edges is None:
        return bound_of_pairs(rows, centroids, mass, lam)
    length = np.linalg.norm(centroids[edges.a] - centroids[edges.b], axis=1)
    objective = float(0.5 * mass @ ((rows - centroids) ** 2).sum(axis=1) + lam * edges.weight @ length)
    proof = GraphProblem(rows, mass, edges).prove(lam, centroids, objective, tol, PROOF_ROUNDS)
    return objective, objective * (1.0 - proof.gap)


def _near(centroids: Floats, edges: Edges | None, distance: float) -> Ints:
    """Groups of points that are joined by edges not longer than `distance`."""
    if edges is None:
        return kernels.pairs.join_near(np.ascontiguousarray(centroids.T), distance)
    short = np.linalg.norm(centroids[edges.a] - centroids[edges.b], axis=1) <= distance
    links = sparse.coo_array((np.ones(short.sum()), (edges.a[short], edges.b[short])), (len(centroids),) * 2)
    return renumber(connected_components(links, directed=False)[1])
