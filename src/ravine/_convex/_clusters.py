"""The clusters of a sum-of-norms problem: choose λ, solve for it, and group the centroids."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from ravine._convex._certificate import Certificate
from ravine._convex._lambda_choice import LambdaChoice, choose, least_size
from ravine._convex._path import FusionTree
from ravine._convex._points import Points
from ravine._convex._problem import Bound
from ravine._convex._scaled import ScaledProblem
from ravine._matrix import Floats, Ints
from ravine._numbering import from_low_to_high
from ravine._structureless import is_stronger_than_chance

MOST_EDGES = 20_000
"""Maximum number of edges of a draw without clusters: 2,000 rows with 10 neighbors, or 200 with all pairs."""


@dataclass(frozen=True)
class Clusters:
    """The solution for one λ, and its clusters.

    Attributes
    ----------
    lam : float
        λ of the solution.
    labels : ndarray of shape (n_points,)
        Cluster of each point, the heaviest first.
    centroids : ndarray of shape (n_points, n_features)
        Centroid of each point.
    centers : ndarray of shape (n_clusters, n_features)
        Centroid of the heaviest group of each cluster.
    bound : Bound
        Objective at the centroids, and its proved gap.
    stable : bool
        Whether the groups of equal centroids are certain.
    certificate : Certificate or None
        What is proved of the clusters, if all pairs are edges.
    """

    lam: float
    labels: Ints
    centroids: Floats
    centers: Floats
    bound: Bound
    stable: bool
    certificate: Certificate | None


def choose_on_path(
    path: FusionTree, rows: Floats, mass: Floats, min_size: float, n_clusters: int | None
) -> LambdaChoice:
    """Choose λ on the path, with clusters of at least the weight `min_size`.

    If no such clusters are found, λ is the end of the path, or where `n_clusters` groups of any size are left.
    """
    choice = choose(path, rows, mass, min_size, n_clusters)
    if choice is not None:
        return choice
    n_fusions = len(path.children)
    if n_clusters is not None:
        n_fusions = min(max(len(mass) - n_clusters, 0), n_fusions)
    lam = path.merge_lambdas[n_fusions - 1] if n_fusions else 0.0
    return LambdaChoice(float(lam), path.groups_after(n_fusions)[0], 0.0)


def is_confirmed(problem: ScaledProblem, choice: LambdaChoice, n_lambdas: int, min_size: float | None) -> bool:
    """Return whether the clusters of a choice are stronger than those of draws without clusters.

    `min_size` is the given minimum weight of a cluster. If it is None, it follows from the number of rows.
    """
    points = problem.points
    total = float(points.mass.sum())

    def strength_of(rows: Floats) -> float:
        draw = problem.of(Points.of(rows, np.ones(len(rows))))
        least = least_size(len(rows)) if min_size is None else min_size * len(rows) / total
        found = choose(draw.follow(n_lambdas), draw.points.rows, draw.points.mass, least)
        return 0.0 if found is None else found.strength

    near = problem.n_neighbors
    most_rows = int(np.sqrt(2 * MOST_EDGES)) if near is None else max(MOST_EDGES // near, near + 1)
    return is_stronger_than_chance(
        choice.strength, strength_of, points.rows, points.mass, most_rows, problem.settings.seed
    )


def one_cluster(problem: ScaledProblem) -> LambdaChoice:
    """Return a λ at which all rows have fused."""
    return LambdaChoice(problem.last_lambda, np.zeros(len(problem.points.mass), dtype=np.int64), 0.0)


def path_to(
    problem: ScaledProblem, lam: float, n_lambdas: int, on_lambda: Callable[[], bool] = lambda: False
) -> FusionTree | None:
    """Return the path up to λ from which the solution on a graph starts; None if it starts from nothing."""
    if problem.edges is None or problem.settings.solver != "dual" or not 0 < lam < np.inf:
        return None
    return problem.follow(n_lambdas, until=lam, on_lambda=on_lambda)


def find_clusters(
    problem: ScaledProblem,
    lam: float,
    path: FusionTree | None,
    labels: Ints | None = None,
    threshold: float | None = None,
) -> Clusters:
    """Solve for λ, starting from the path if there is one.

    The clusters are the given labels of the points, or the groups of equal centroids. With a threshold, they are
    instead groups in which no two centroids are farther apart.
    """
    solution, mass = problem.solve(lam, path), problem.points.mass
    if threshold is not None:
        labels = groups_within(solution.centroids, threshold)
    labels = from_low_to_high(solution.group if labels is None else labels, problem.points.rows, mass)
    return Clusters(
        float(lam),
        labels,
        solution.centroids,
        centers_of(solution.centroids, solution.group, labels, mass),
        solution.solution,
        solution.stable,
        problem.certificate(labels, float(lam)),
    )


def centers_of(centroids: Floats, group: Ints, labels: Ints, mass: Floats) -> Floats:
    """Return the centroid of the heaviest group of each cluster."""
    heaviest_first = np.lexsort((-np.bincount(group, mass)[group], labels))
    return centroids[heaviest_first[np.searchsorted(labels[heaviest_first], np.arange(labels.max() + 1))]]


def groups_within(centroids: Floats, threshold: float) -> Ints:
    """Group the centroids so that no two centroids of a group are farther apart than `threshold`."""
    if len(centroids) == 1:
        return np.zeros(1, dtype=np.int64)
    return fcluster(linkage(centroids, "complete"), threshold, "distance").astype(np.int64) - 1
