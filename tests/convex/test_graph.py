import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._convex._edges import Edges, gaussian_weights
from ravine._convex._graph import GraphProblem, _solve_laplacian
from ravine._neighbors import neighbor_graph
from ravine._numbering import renumber


def random_problem(n, d, seed, n_neighbors=4):
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.5, 3, n)
    a, b, length = neighbor_graph(X, n_neighbors)
    return X, mass, Edges(a, b, gaussian_weights(length, float(np.median(length)), 0.5))


@given(st.integers(2, 12), st.integers(1, 4), st.sampled_from([0.03, 0.2, 0.8]), seeds)
def test_solution_is_that_of_the_cone_solver(n, d, lam, seed):
    X, mass, edges = random_problem(n, d, seed)
    optimum, centroids = naive.cone_optimum(X, *edges, lam, mass)
    problem = GraphProblem(X, mass, edges)
    solution = problem.solve(lam, 1e-8, 200)
    assert_allclose(solution.objective, optimum, rtol=1e-6)
    assert_allclose(problem.centroids, centroids, atol=2e-3)
    assert solution.gap >= (solution.objective - optimum) / optimum - 1e-9


@given(st.integers(2, 30), st.integers(1, 5), st.sampled_from([0.05, 0.3, 1.0]), seeds)
def test_bound_for_any_centroids_is_below_the_optimum_and_close_at_the_solution(n, d, lam, seed):
    X, mass, edges = random_problem(n, d, seed)
    problem = GraphProblem(X, mass, edges)
    best = problem.solve(lam, 1e-9, 200)
    rng = np.random.default_rng(seed)
    for centroids in (problem.centroids, problem.centroids + 0.1 * rng.normal(size=X.shape)):
        objective = naive.sum_of_norms(centroids, X, *edges, lam, mass)
        proof = GraphProblem(X, mass, edges).prove(lam, centroids, objective, 1e-4, 20)
        assert_allclose(proof.objective, objective)
        assert proof.gap >= (objective - best.objective) / objective - 1e-8
    proof = GraphProblem(X, mass, edges).prove(lam, problem.centroids, best.objective, 1e-4, 20)
    assert proof.gap <= 1e-3


@pytest.mark.parametrize("change", ["order", "shift", "rotation", "scale"])
def test_solution_follows_the_rows(change, rng):
    X, mass, edges = random_problem(40, 3, 1)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    order, lam = rng.permutation(40) if change == "order" else np.arange(40), 0.3
    factor = 7.0 if change == "scale" else 1.0
    move = {
        "order": lambda rows: rows,
        "shift": lambda rows: rows + np.array([5.0, -3.0, 100.0]),
        "rotation": lambda rows: rows @ turn,
        "scale": lambda rows: 7.0 * rows,
    }[change]
    place = np.argsort(order)
    other_edges = Edges(place[edges.a], place[edges.b], edges.weight)
    one, other = GraphProblem(X, mass, edges), GraphProblem(move(X)[order], mass[order], other_edges)
    objective = one.solve(lam, 1e-9, 200).objective
    assert_allclose(other.solve(factor * lam, 1e-9, 200).objective, factor**2 * objective, rtol=1e-8)
    assert_allclose(other.centroids, move(one.centroids)[order], atol=1e-3 * factor)
    assert_array_equal(renumber(one.fused(1e-3)[order]), renumber(other.fused(1e-3)))


def test_contraction_of_a_solution_changes_nothing_but_a_constant():
    X, mass, edges = random_problem(60, 2, 2)
    whole, part = GraphProblem(X, mass, edges), GraphProblem(X, mass, edges)
    objective = whole.solve(0.4, 1e-9, 200).objective
    part.solve(0.4, 1e-9, 200)
    group = part.fused(1e-3)
    assert 1 < group.max() + 1 < 60
    part.contract(group)
    assert part.constant > 0
    assert len(part.edges.weight) < len(edges.weight)
    assert (part.edges.a < part.edges.b).all()
    between = group[edges.a] != group[edges.b]
    assert_allclose(part.edges.weight.sum(), edges.weight[between].sum())
    assert_allclose(part.solve(0.4, 1e-9, 200).objective, objective, rtol=1e-7)
    assert_allclose(part.centroids[group], whole.centroids, atol=2e-3)


def test_edges_between_two_groups_become_one_with_their_weight_and_the_mean_of_their_forces():
    edges = Edges(np.array([0, 0, 1, 2]), np.array([2, 3, 3, 3]), np.array([1.0, 2.0, 3.0, 4.0]))
    problem = GraphProblem(np.arange(4.0)[:, None], np.ones(4), edges)
    problem.multipliers = np.array([[0.5], [-1.0], [0.25], [1.0]])
    problem.contract(np.array([1, 1, 0, 0]))
    assert_array_equal(problem.edges.a, [0])
    assert_array_equal(problem.edges.b, [1])
    assert_allclose(problem.edges.weight, [6.0])
    assert_allclose(problem.multipliers, [[-(1.0 * 0.5 - 2.0 * 1.0 + 3.0 * 0.25) / 6.0]])
    assert_allclose(problem.rows, [[2.5], [0.5]])


def test_forces_carried_to_a_larger_lambda_lead_to_the_same_place():
    X, mass, edges = random_problem(50, 3, 3)
    direct, warm = GraphProblem(X, mass, edges), GraphProblem(X, mass, edges)
    for lam in (0.1, 0.2, 0.4):
        end = warm.solve(lam, 1e-9, 200)
    assert_allclose(end.objective, direct.solve(0.4, 1e-9, 200).objective, rtol=1e-8)
    assert_allclose(warm.centroids, direct.centroids, atol=2e-3)


@pytest.mark.parametrize("d", [2, 6])
def test_all_points_have_fused_at_the_end_of_the_range(d):
    X, mass, edges = random_problem(40, d, 4)
    first, last = GraphProblem(X, mass, edges).lambda_range()
    assert 0 < first < last
    problem = GraphProblem(X, mass, edges)
    solution = problem.solve(last, 1e-7, 200)
    mean = np.broadcast_to(mass @ X / mass.sum(), X.shape)
    assert_allclose(solution.objective, naive.sum_of_norms(mean, X, *edges, last, mass), rtol=1e-6)
    assert problem.fused(1e-3).max() == 0


def chain(n, d):
    """Rows on a line through the space of so many columns, in two groups, and their graph."""
    x = np.random.default_rng(0).normal(size=n)
    x[n // 2 :] += 8
    X = np.repeat(x[:, np.newaxis], d, axis=1) / np.sqrt(d)
    a, b, length = neighbor_graph(X, 10)
    return X, np.ones(n), Edges(a, b, gaussian_weights(length, float(np.median(length)), 2.0))


def test_range_of_a_long_chain_does_not_depend_on_the_number_of_columns():
    one, many = (GraphProblem(*chain(1500, d)).lambda_range() for d in (1, 6))
    assert_allclose(many, one, rtol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_bound_keeps_its_digits_where_lambda_is_large(d):
    X, mass, edges = chain(800, d)
    lam = 0.02 * GraphProblem(X, mass, edges).lambda_range()[1]
    coarse = GraphProblem(X, mass, edges)
    group = np.repeat([0, 1], 400)
    coarse.contract(group)
    solution = coarse.solve(lam, 1e-10, 100)
    problem = GraphProblem(X, mass, edges)
    proof = problem.prove(lam, coarse.centroids[group], solution.objective, 1e-4, 20)
    assert lam > 1e5
    assert proof.gap < 1e-7
    assert problem.is_partition(group, 1e-2, proof.gap * proof.objective)


def test_flow_by_elimination_solves_the_system_of_the_laplacian(rng):
    X, mass, edges = random_problem(20, 2, 5)
    right = rng.normal(size=X.shape)
    matrix = np.diag(mass)
    for i, k, c in zip(*edges, strict=True):
        matrix[[i, k], [i, k]] += c
        matrix[[i, k], [k, i]] -= c
    assert_allclose(_solve_laplacian(*edges, mass, right), np.linalg.solve(matrix, right), rtol=1e-9)


def test_few_rounds_leave_a_gap_that_is_still_proved():
    X, mass, edges = random_problem(25, 2, 6)
    optimum, _ = naive.cone_optimum(X, *edges, 0.4, mass)
    for max_iter in (1, 2, 4):
        solution = GraphProblem(X, mass, edges).solve(0.4, 1e-12, max_iter)
        assert solution.n_iter == max_iter
        assert solution.gap >= (solution.objective - optimum) / solution.objective > 0
