import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from tests import naive

from ravine._convex import Points, ScaledProblem, Settings
from ravine._convex._graph import GraphProblem
from ravine._numbering import renumber

X, _ = make_moons(80, noise=0.08, random_state=1)
DUAL = Settings("dual", 1e-6, 20_000, 1e-3, False, 0)


def problem_of(rows, n_neighbors, weights=None, settings=DUAL):
    points = Points.of(rows, np.ones(len(rows)) if weights is None else weights)
    return ScaledProblem(points, settings, n_neighbors, 1.0, None)


def solved(problem, lam):
    path = None if problem.edges is None else problem.follow(40, until=lam)
    return problem.solve(lam, path)


@pytest.mark.parametrize("n_neighbors", [None, 6])
@pytest.mark.parametrize("change", ["order", "shift", "rotation", "scale"])
def test_solution_follows_the_rows(change, n_neighbors, rng):
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    order = rng.permutation(80) if change == "order" else np.arange(80)
    factor = 7.0 if change == "scale" else 1.0
    move = {
        "order": lambda rows: rows,
        "shift": lambda rows: rows + np.array([50.0, -30.0]),
        "rotation": lambda rows: rows @ turn,
        "scale": lambda rows: 7.0 * rows,
    }[change]
    lam = 0.006 if n_neighbors is None else 0.2
    one, other = problem_of(X, n_neighbors), problem_of(move(X)[order], n_neighbors)
    ours, theirs = solved(one, lam), solved(other, factor * lam)
    assert_allclose(theirs.solution.objective, factor**2 * ours.solution.objective, rtol=1e-5)
    moved = move(ours.centroids[one.points.member])[order]
    assert_allclose(theirs.centroids[other.points.member], moved, atol=0.02 * factor)
    if change == "order":
        assert_array_equal(theirs.centroids[other.points.member], moved)


def test_weights_are_repeated_rows():
    copies = 1 + np.arange(80) % 3
    for n_neighbors, lam in ((None, 0.004), (6, 0.2)):
        weighted = problem_of(X, n_neighbors, copies.astype(float))
        repeated = problem_of(np.repeat(X, copies, axis=0), n_neighbors)
        ours, theirs = solved(weighted, lam), solved(repeated, lam)
        assert ours.solution == theirs.solution
        assert_array_equal(ours.centroids, theirs.centroids)


def test_objective_and_centroids_are_in_the_units_of_the_rows():
    rows, lam = 100 + 50 * X[:30], 0.5
    a, b = np.triu_indices(30, 1)
    problem = problem_of(rows, None)
    answer = solved(problem, lam)
    edges = a, b, np.ones(len(a))
    optimum, centroids = naive.cone_optimum(problem.points.rows - 100, *edges, lam, np.ones(30))
    assert_allclose(answer.solution.objective, optimum, rtol=1e-5)
    assert_allclose(answer.centroids, centroids + 100, atol=0.5)
    assert answer.solution.gap <= 1e-6


def test_path_in_the_units_of_the_rows_scales_with_them():
    small, large = (problem_of(factor * X, 6).follow(30) for factor in (1.0, 8.0))
    assert_allclose(large.lambdas, 8 * small.lambdas)
    assert_array_equal(large.children, small.children)
    assert_allclose(large.centroids, 8 * small.centroids)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_path_up_to_a_lambda_is_the_beginning_of_the_whole_path(n_neighbors):
    problem = problem_of(X, n_neighbors)
    whole = problem.follow(30)
    until = float(whole.lambdas[12])
    part = problem.follow(30, until=until)
    assert_allclose(part.lambdas, whole.lambdas[:13], rtol=1e-12)
    assert_array_equal(part.labels_at(until * 1.0001), whole.labels_at(until * 1.0001))
    between = problem.follow(30, until=until * 1.01)
    assert_allclose(between.lambdas, np.append(whole.lambdas[:13], until * 1.01), rtol=1e-12)


def test_solutions_on_a_path_of_neighbors_are_proved_and_equal_a_direct_solve():
    problem = problem_of(X, 6)
    path, points = problem.follow(40), problem.points
    for lam in path.lambdas[[8, 16, 24]]:
        answer = problem.solve(float(lam), path)
        direct = GraphProblem(points.coordinates, points.mass, problem.edges)
        best = direct.solve(lam / points.scale, 1e-8, 200)
        assert answer.solution.gap <= 1e-3
        assert_allclose(answer.solution.objective, best.objective * points.scale**2, rtol=1e-4)
        assert_allclose(answer.centroids, points.to_rows(direct.centroids), atol=0.02)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_no_force_leaves_all_rows_alone_and_the_largest_fuses_them(n_neighbors):
    problem = problem_of(X, n_neighbors)
    alone, together = problem.solve(0.0, None), problem.solve(np.inf, None)
    assert_array_equal(alone.group, np.arange(80))
    assert_allclose(alone.centroids, problem.points.rows, atol=1e-12)
    assert not together.group.any()
    assert_allclose(together.centroids, np.broadcast_to(X.mean(axis=0), X.shape), atol=1e-12)
    assert_allclose(together.solution.objective, 0.5 * ((X - X.mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_random_steps_reach_the_same_solution(n_neighbors):
    lam = 0.006 if n_neighbors is None else 0.2
    steps = Settings("stochastic", 1e-4, 50_000, 1e-3, False, 3)
    ours = problem_of(X, n_neighbors, settings=steps).solve(lam, None)
    assert ours.solution.gap <= 1e-4
    assert_allclose(ours.solution.objective, solved(problem_of(X, n_neighbors), lam).solution.objective, rtol=2e-4)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_one_point_has_an_empty_path(n_neighbors):
    problem = problem_of(np.ones((4, 2)), n_neighbors)
    path = problem.follow(10)
    assert path.is_complete
    assert len(path.lambdas) == 0
    assert_allclose(problem.solve(1.0, path).centroids, [[1.0, 1.0]])


def test_certificate_is_given_where_all_pairs_are_edges():
    labels = renumber((X[:, 1] > 0.25).astype(np.int64))
    problem = problem_of(X, None)
    certificate = problem.certificate(labels[np.argsort(problem.points.member)], 0.1)
    lower, upper, upper_any = naive.recovery_bounds(X, labels)
    assert_allclose((certificate.lower, certificate.upper, certificate.upper_any), (lower, upper, upper_any))
    assert problem_of(X, 6).certificate(labels, 0.1) is None
