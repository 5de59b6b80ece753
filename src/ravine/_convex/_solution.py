"""The solution for one λ by each solver: centroids, groups, whether the groups are certain, and a proved gap."""

from dataclasses import dataclass, replace

import numpy as np

from ravine import _kernels
from ravine._convex._edges import Edges
from ravine._convex._graph import GraphProblem
from ravine._convex._groups import group_mean
from ravine._convex._pairs import PairsProblem, objective_of_pairs
from ravine._convex._problem import Bound
from ravine._convex._stochastic import StochasticSplitting, bound_of_pairs
from ravine._matrix import Floats, Ints
from ravine._neighbors import components

FINER = 0.1
"""Groups are solved to this share of the tolerance, so that the bound on the whole graph decides."""

PROOF_ROUNDS = 20
"""Maximum number of rounds of multipliers for a bound on the whole graph."""

ROOM = 10.0
"""Number of tolerances that edges must have as a margin in groups that are certain. It is also the factor by which the
tolerance is made stricter and laxer to check the result of random steps."""

SURE, ROUNDING = 1e-7, 1e-9
"""Largest gap at which groups on a graph can be certain, and a number added to a gap before it bounds the error of the
centroids."""

JITTER = 1e4
"""Centroids that random steps leave apart count as fused within this many tolerances times the mean distance by which
the steps alone can have moved them."""


@dataclass(frozen=True)
class Solution:
    """Result of a solver for one λ.

    Attributes
    ----------
    centroids : ndarray of shape (n_points, n_features)
    group : ndarray of shape (n_points,)
        Group of each point; points of a group have the same centroid.
    solution : Solution
        Objective at the centroids, and its proved gap.
    stable : bool
        Whether the groups are proved to be those of the solution, with a margin of ten times the tolerance. After
        random steps, whether tolerances ten times larger and smaller give the same groups.
    """

    centroids: Floats
    group: Ints
    solution: Bound
    stable: bool


def solve_pairs(rows: Floats, mass: Floats, lam: float, tol: float, max_iter: int, tolerance: float) -> Solution:
    """Solve on the dual with an edge between any two points."""
    problem = PairsProblem(rows, mass)
    n_iter = 0
    for finer in (1.0, FINER, FINER**2):
        own = problem.solve(lam, finer * tol, max_iter)
        n_iter += own.n_iter
        group = problem.fused(tolerance)
        centroids = group_mean(problem.centroids, mass, group)[group]
        objective = objective_of_pairs(np.ascontiguousarray(rows.T), np.ascontiguousarray(centroids.T), mass, lam)
        solution = Bound.of(objective, objective - own.objective * (1.0 - own.gap), n_iter)
        if solution.gap <= tol:
            stable = problem.is_partition(group, ROOM * tolerance, (solution.gap + ROUNDING) * objective)
            return Solution(centroids, group, solution, stable)
    return Solution(problem.centroids, group, replace(own, n_iter=n_iter), False)


def solve_graph(
    rows: Floats, mass: Floats, edges: Edges, lam: float, group: Ints, tol: float, max_iter: int, tolerance: float
) -> Solution:
    """Solve on a graph for groups that a path has found, then prove the solution on the whole graph."""
    coarse = GraphProblem(rows, mass, edges)
    coarse.contract(group)
    objective, n_iter = coarse.constant, 0
    while len(coarse.mass) > 1:
        solution = coarse.solve(lam, min(FINER * tol, SURE), max_iter)
        objective, n_iter = solution.objective, n_iter + solution.n_iter
        more = coarse.fused()
        if more.max() + 1 == len(more):
            break
        coarse.contract(more)  # λ may lie between two values of the path
        group, objective = more[group], coarse.constant
    problem = GraphProblem(rows, mass, edges)
    proof = problem.prove(lam, coarse.centroids[group], objective, tol, PROOF_ROUNDS)
    solution = replace(proof, n_iter=n_iter + proof.n_iter)
    if proof.gap <= tol:
        stable = proof.gap <= SURE and problem.is_partition(group, ROOM * tolerance, (proof.gap + ROUNDING) * objective)
        return Solution(coarse.centroids[group], group, solution, stable)
    # The groups of the path are no longer those of the solution, so the result of the proof is better.
    better = problem.objective(lam)
    if better < objective:
        least = objective * (1.0 - proof.gap)
        group, solution = problem.fused(tolerance), Bound.of(better, better - least, solution.n_iter)
        return Solution(problem.centroids, group, solution, False)
    return Solution(coarse.centroids[group], group, solution, False)


def solve_stochastically(
    rows: Floats,
    mass: Floats,
    edges: Edges | None,
    lam: float,
    tol: float,
    max_sweeps: int,
    tolerance: float,
    seed: int,
    adaptive: bool,
) -> Solution:
    """Solve by stochastic splitting; the gap is checked after 1, 2, 4, … sweeps."""
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
    excess, force = max(objective - least, np.finfo(np.float64).eps * objective), lam * total
    jitter = JITTER * excess / force if force > 0 else 0.0  # without a force, nothing has moved
    strict, group, lax = (_near(splitting.centroids, edges, t * tolerance * jitter) for t in (1 / ROOM, 1, ROOM))
    stable = bool((group == strict).all() and (group == lax).all())
    return Solution(splitting.centroids, group, Bound.of(objective, objective - least, n_sweeps), stable)


def _bounds(splitting: StochasticSplitting, edges: Edges | None, tol: float) -> tuple[float, float]:
    """Return the objective at the centroids, and a lower bound of the minimum objective."""
    rows, mass, centroids, lam = splitting.rows, splitting.mass, splitting.centroids, splitting.lam
    if edges is None:
        return bound_of_pairs(rows, centroids, mass, lam)
    problem = GraphProblem(rows, mass, edges)
    problem.centroids = centroids
    objective = problem.objective(lam)
    return objective, objective * (1.0 - problem.prove(lam, centroids, objective, tol, PROOF_ROUNDS).gap)


def _near(centroids: Floats, edges: Edges | None, distance: float) -> Ints:
    """Return the groups of points joined by edges that are at most `distance` long."""
    if edges is None:
        return _kernels.pairs.join_near(np.ascontiguousarray(centroids.T), distance)
    short = np.linalg.norm(centroids[edges.a] - centroids[edges.b], axis=1) <= distance
    return components(edges.a[short], edges.b[short], len(centroids))
