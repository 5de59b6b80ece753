import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._convex._pairs import PairsProblem
from ravine._numbering import renumber


def random_problem(n, d, seed):
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.5, 3, n)
    a, b = np.triu_indices(n, 1)
    return X, mass, (a, b, mass[a] * mass[b])


@given(st.integers(2, 9), st.integers(1, 3), st.sampled_from([0.02, 0.1, 0.4]), seeds)
def test_solution_with_masses_is_that_of_the_cone_solver(n, d, share, seed):
    X, mass, edges = random_problem(n, d, seed)
    lam = share * 4 / mass.sum()
    optimum, centroids = naive.cone_optimum(X, *edges, lam, mass)
    problem = PairsProblem(X, mass)
    solution = problem.solve(lam, 1e-9, 50_000)
    assert_allclose(solution.objective, optimum, rtol=1e-6)
    assert_allclose(problem.centroids, centroids, atol=1e-3)
    assert solution.gap >= (solution.objective - optimum) / optimum - 1e-9


@given(st.integers(2, 8), seeds)
def test_masses_are_repeated_rows(n, seed):
    X, _, _ = random_problem(n, 2, seed)
    copies = np.random.default_rng(seed).integers(1, 4, n)
    weighted, repeated = (
        PairsProblem(X, copies.astype(float)),
        PairsProblem(np.repeat(X, copies, axis=0), np.ones(copies.sum())),
    )
    lam = 0.5 / copies.sum()
    solutions = [problem.solve(lam, 1e-11, 50_000) for problem in (weighted, repeated)]
    assert_allclose(solutions[0].objective, solutions[1].objective, rtol=1e-9)
    assert_allclose(np.repeat(weighted.centroids, copies, axis=0), repeated.centroids, atol=1e-4)


@pytest.mark.parametrize("change", ["order", "shift", "rotation", "scale"])
def test_solution_follows_the_rows(change, rng):
    X, mass, _ = random_problem(25, 3, 1)
    lam, factor = 1.5 / mass.sum(), 7.0 if change == "scale" else 1.0
    order, turn = rng.permutation(25) if change == "order" else np.arange(25), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    move = {
        "order": lambda rows: rows,
        "shift": lambda rows: rows + np.array([5.0, -3.0, 100.0]),
        "rotation": lambda rows: rows @ turn,
        "scale": lambda rows: 7.0 * rows,
    }[change]
    one, other = PairsProblem(X, mass), PairsProblem(move(X)[order], mass[order])
    objective = one.solve(lam, 1e-10, 50_000).objective
    assert_allclose(other.solve(factor * lam, 1e-10, 50_000).objective, factor**2 * objective, rtol=1e-9)
    assert_allclose(other.centroids, move(one.centroids)[order], atol=1e-4 * factor)
    assert_array_equal(renumber(one.fused(1e-3)[order]), renumber(other.fused(1e-3)))


def test_contraction_of_a_solution_changes_nothing_but_a_constant():
    X, mass, _ = random_problem(30, 2, 3)
    lam = 2.2 / mass.sum()
    whole, part = PairsProblem(X, mass), PairsProblem(X, mass)
    objective = whole.solve(lam, 1e-10, 50_000).objective
    part.solve(lam, 1e-10, 50_000)
    group = part.fused(1e-3)
    assert 1 < group.max() + 1 < 30
    part.contract(group)
    assert part.constant > 0
    assert_allclose(part.mass.sum(), mass.sum())
    assert_allclose(part.solve(lam, 1e-10, 50_000).objective, objective, rtol=1e-8)
    assert_allclose(part.centroids[group], whole.centroids, atol=1e-4)


def test_start_from_the_solution_of_a_smaller_lambda_leads_to_the_same_place():
    X, mass, _ = random_problem(30, 3, 4)
    direct, warm = PairsProblem(X, mass), PairsProblem(X, mass)
    for share in (0.3, 0.8, 1.6):
        end = warm.solve(share / mass.sum(), 1e-9, 50_000)
    assert_allclose(end.objective, direct.solve(1.6 / mass.sum(), 1e-9, 50_000).objective, rtol=1e-8)
    assert_allclose(warm.centroids, direct.centroids, atol=1e-3)


def test_all_points_have_fused_at_the_end_of_the_range_and_none_before_its_start():
    X, mass, _ = random_problem(40, 2, 5)
    first, last = PairsProblem(X, mass).lambda_range()
    end, start = PairsProblem(X, mass), PairsProblem(X, mass)
    end.solve(last, 1e-9, 50_000)
    assert end.fused(1e-3).max() == 0
    assert_allclose(end.centroids, np.broadcast_to(mass @ X / mass.sum(), X.shape), atol=1e-4)
    start.solve(first / 10, 1e-9, 50_000)
    assert start.fused(1e-3).max() == 39


def test_all_fused_is_one_point_at_the_mean():
    X, mass, _ = random_problem(10, 2, 6)
    problem = PairsProblem(X, mass)
    problem.contract(np.zeros(10, dtype=np.int64))
    mean = mass @ X / mass.sum()
    assert_allclose(problem.rows, [mean])
    assert_allclose(problem.mass, [mass.sum()])
    assert_allclose(problem.constant, 0.5 * mass @ ((X - mean) ** 2).sum(axis=1))
    assert problem.multipliers.shape == (2, 0)


def test_dual_variables_are_made_only_where_they_are_used():
    X, mass, _ = random_problem(50, 2, 8)
    problem = PairsProblem(X, mass)
    first, last = problem.lambda_range()
    assert max(array.size for array in vars(problem).values() if isinstance(array, np.ndarray)) == X.size
    problem.solve(np.sqrt(first * last), 1e-4, 100)
    assert problem.multipliers.shape == (2, 50 * 49 // 2)


def test_few_steps_leave_a_gap_that_is_still_proved():
    X, mass, edges = random_problem(12, 2, 7)
    lam = 2.0 / mass.sum()
    optimum, _ = naive.cone_optimum(X, *edges, lam, mass)
    for max_iter in (1, 2, 5):
        solution = PairsProblem(X, mass).solve(lam, 1e-12, max_iter)
        assert solution.n_iter == max_iter
        assert solution.gap >= (solution.objective - optimum) / solution.objective > 0
