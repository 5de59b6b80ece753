import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import chisquare
from sklearn.metrics import adjusted_rand_score
from tests import naive
from tests.strategies import seeds

from ravine import _kernels
from ravine._kernels.svc import NEAREST, RANDOM
from ravine._numbering import renumber

sizes, columns, gammas = st.integers(1, 25), st.integers(1, 5), st.sampled_from([0.05, 0.5, 5.0])
ratios = st.sampled_from([0.3, 1.0, 2.0, 4.0, 50.0])
RIDGE = 1e-3


def random_problem(n, d, gamma, ratio, seed):
    """Kernel between random rows, and bounds with the sum C = ratio / mean kernel."""
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.2, 3, n)
    K = naive.gaussian_kernel(X, X, gamma)
    share = mass / mass.sum()
    return K, ratio / (share @ K @ share) * share


def random_surface(n_vectors, d, gamma, seed):
    rng = np.random.default_rng(seed)
    vectors, coefficients = 2 * rng.normal(size=(n_vectors, d)), rng.uniform(0.1, 1, n_vectors)

    def height(x):
        return coefficients @ np.exp(-gamma * ((x - vectors) ** 2).sum(axis=1))

    return rng, vectors, coefficients, height


@given(sizes, columns, gammas, ratios, seeds)
def test_dual_solution_agrees_with_an_interior_point_method(n, d, gamma, ratio, seed):
    K, bound = random_problem(n, d, gamma, ratio, seed)
    beta, margin = np.zeros(n), np.zeros(n)
    _, gap = _kernels.svc.solve_dual(K, bound, beta, margin, 1e-9, 200_000)
    optimum, least = naive.one_class_optimum(K, bound)
    assert gap <= 1e-9
    assert_allclose(naive.one_class_objective(beta, K, bound), least, rtol=1e-8)
    assert_allclose(K @ beta, K @ optimum, atol=1e-3)


@given(sizes, columns, gammas, ratios, seeds)
def test_dual_solution_meets_the_conditions_of_an_optimum(n, d, gamma, ratio, seed):
    K, bound = random_problem(n, d, gamma, ratio, seed)
    beta, margin = np.zeros(n), np.zeros(n)
    _kernels.svc.solve_dual(K, bound, beta, margin, 1e-12, 20_000)
    assert_allclose(margin, K @ beta, atol=1e-10)
    assert ((beta >= 0) & (beta <= bound)).all()
    assert_array_equal(beta[margin < 1 - 1e-4], bound[margin < 1 - 1e-4])
    assert_array_equal(beta[margin > 1 + 1e-4], 0)


@given(st.integers(2, 25), columns, gammas, ratios, st.integers(1, 8), seeds)
def test_reported_gap_bounds_the_distance_to_the_optimum(n, d, gamma, ratio, max_sweeps, seed):
    K, bound = random_problem(n, d, gamma, ratio, seed)
    beta = np.random.default_rng(seed).uniform(size=n) * bound
    sweeps, gap = _kernels.svc.solve_dual(K, bound, beta, K @ beta, 1e-3, max_sweeps)
    assert sweeps <= max_sweeps
    assert gap <= 1e-3 or sweeps == max_sweeps
    primal, dual = naive.one_class_objective(beta, K, bound), beta.sum() - 0.5 * beta @ K @ beta
    _, least = naive.one_class_optimum(K, bound)
    assert_allclose(gap, 1 - dual / primal, atol=1e-12)
    assert (1 - gap) * primal <= least * (1 + 1e-9)


@given(sizes, columns, gammas, seeds)
def test_coefficients_are_at_their_bounds_where_no_row_can_be_inside(n, d, gamma, seed):
    K, bound = random_problem(n, d, gamma, 1.0, seed)
    bound /= (K @ bound).max() * 1.001
    beta, margin = np.zeros(n), np.zeros(n)
    sweeps, gap = _kernels.svc.solve_dual(K, bound, beta, margin, 1e-9, 10)
    assert_array_equal(beta, bound)
    assert (margin < 1).all()
    assert sweeps == 1
    assert abs(gap) < 1e-12


def learn_one(x, size, gamma, strategy, k, seed, steps, vectors, sums):
    """Coefficients times steps after one more row, for which there is no room."""
    n, d = vectors.shape
    state = np.array([steps, n])
    similarity = np.zeros((n + 1, n + 1))
    similarity[:n, :n] = naive.gaussian_kernel(vectors, vectors, gamma)
    vectors, sums = np.vstack([vectors, np.zeros((1, d))]), np.append(sums, 0.0)
    args = (gamma, n, strategy, k, RIDGE, seed, state, vectors, sums, similarity)
    _kernels.svc.learn(x[None], np.zeros(1, dtype=np.int64), np.array([size]), *args)
    assert_array_equal(state, [steps + 1, n])
    return sums[:n]


@given(st.integers(1, 6), columns, gammas, seeds)
def test_shares_of_a_projection_are_the_best_of_all_that_add_up_to_one_at_most(n, d, gamma, seed):
    rng = np.random.default_rng(seed)
    vectors, x, sums = rng.normal(size=(n, d)), rng.normal(size=d), np.full(n, 1e3)
    share = (learn_one(x, 1.0, gamma, NEAREST, n, 0, 10**9, vectors, sums) - sums) / 1.0
    K, right = naive.gaussian_kernel(vectors, vectors, gamma), naive.gaussian_kernel(vectors, x[None], gamma)[:, 0]

    def cost(s):
        return 0.5 * s @ K @ s - right @ s + 0.5 * RIDGE * s @ s

    bound = {"type": "ineq", "fun": lambda s: 1 - s.sum()}
    best = minimize(cost, np.zeros(n), method="SLSQP", constraints=bound, options={"ftol": 1e-14, "maxiter": 500}).fun
    assert share.sum() <= 1 + 1e-9
    assert cost(share) <= best + 1e-9


@pytest.mark.parametrize(("others", "is_free"), [(3.0, True), (1.5, False)])
def test_shares_that_would_leave_a_negative_coefficient_are_taken_anew_without_negative_ones(others, is_free):
    vectors, x, gamma = np.arange(5.0)[:, None], np.array([5.0]), 0.1
    K, right = naive.gaussian_kernel(vectors, vectors, gamma), naive.gaussian_kernel(vectors, x[None], gamma)[:, 0]
    sums = np.full(5, others)
    share = learn_one(x, 1.0, gamma, NEAREST, 5, 0, 10**9, vectors, sums) - sums
    assert (share.min() < -2) == is_free
    assert (share.min() >= 0) == (not is_free)
    assert share.sum() <= 1 + 1e-9
    assert 0.5 * share @ K @ share - right @ share < -0.3


def test_random_vectors_that_take_over_are_drawn_equally_often(rng):
    vectors, sums, drawn = rng.normal(size=(6, 2)), np.full(6, 2.0), np.zeros(6)
    for steps in range(100, 3100):
        after = learn_one(rng.normal(size=2), 1.0, 1e-3, RANDOM, 2, 7, steps, vectors, sums)
        assert (after != sums).sum() == 2
        drawn += after != sums
    assert chisquare(drawn).pvalue > 1e-3


@given(st.integers(1, 10), columns, gammas, seeds)
def test_first_step_is_that_of_the_mean_shift(n_vectors, d, gamma, seed):
    rng, vectors, coefficients, _ = random_surface(n_vectors, d, gamma, seed)
    X, out = 2 * rng.normal(size=(8, d)), np.empty((8, d))
    _kernels.svc.climb(X, vectors, coefficients, gamma, 0.0, 1, out)
    for x, end in zip(X, out, strict=True):
        assert_allclose(end, naive.mean_shift(x, vectors, coefficients, gamma, 1), rtol=1e-8, atol=1e-10)


@given(st.integers(1, 10), columns, gammas, seeds)
def test_no_step_leads_down_nor_does_its_straight_line(n_vectors, d, gamma, seed):
    rng, vectors, coefficients, height = random_surface(n_vectors, d, gamma, seed)
    X = 3 * rng.normal(size=(8, d))
    for _ in range(4):
        ends = np.empty_like(X)
        _kernels.svc.climb(X, vectors, coefficients, gamma, 0.0, 1, ends)
        for x, end in zip(X, ends, strict=True):
            assert min(height(x + t * (end - x)) for t in np.linspace(0, 1, 21)) >= height(x) * (1 - 1e-12)
        X = ends


@given(st.integers(1, 10), columns, gammas, seeds)
def test_no_climb_ends_lower_than_it_starts(n_vectors, d, gamma, seed):
    rng, vectors, coefficients, height = random_surface(n_vectors, d, gamma, seed)
    X, out = 3 * rng.normal(size=(8, d)), np.empty((8, d))
    for max_steps in (2, 3, 5, 10, 30):
        _kernels.svc.climb(X, vectors, coefficients, gamma, 0.0, max_steps, out)
        for x, end in zip(X, out, strict=True):
            assert height(end) >= height(x) * (1 - 1e-12)


def test_climb_counts_the_rows_for_which_there_were_too_few_steps():
    vectors, out = np.zeros((1, 1)), np.empty((3, 1))
    X = np.array([[0.0], [1.0], [2.0]])
    for n_steps, unfinished in ((1, 2), (2, 0)):
        assert _kernels.svc.climb(X, vectors, np.ones(1), 1.0, 1e-5, n_steps, out) == unfinished
        assert_array_equal(out, 0)


@given(st.integers(2, 12), columns, gammas, seeds)
def test_lowest_between_rows_is_the_lowest_of_five_points_of_a_line(n, d, gamma, seed):
    _, X, coefficients, height = random_surface(n, d, gamma, seed)
    a, b = np.triu_indices(n, 1)
    near = gamma * ((X[a] - X[b]) ** 2).sum(axis=1) < 200
    a, b = a[near], b[near]
    root = naive.gaussian_kernel(X, X, gamma / 4)
    growth = np.exp(gamma / 4 * ((X[a] - X[b]) ** 2).sum(axis=1))
    at_rows, out = np.array([height(x) for x in X]), np.empty(len(a))
    expected = [naive.lowest_on_line(height, X[i], X[k], 4) for i, k in zip(a, b, strict=True)]
    for dtype, rtol, atol in ((np.float64, 1e-9, 0.0), (np.float32, 1e-4, 1e-12)):
        parts = root.astype(dtype), coefficients.astype(dtype)
        _kernels.svc.lowest_between_rows(*parts, a, b, growth, at_rows, out)
        assert_allclose(out, expected, rtol=rtol, atol=atol)


@given(st.integers(1, 8), st.sampled_from([0.05, 0.3, 0.8, 1.5]), seeds)
def test_connected_rows_are_those_between_which_lines_stay_above_the_level(n, level, seed):
    rng, vectors, coefficients, height = random_surface(6, 2, 0.5, seed)
    X, group = 2 * rng.normal(size=(n, 2)), np.empty(n, dtype=np.int64)
    _kernels.svc.connect(X, vectors, coefficients, 0.5, level, 20, group)
    assert_array_equal(renumber(group), naive.connected(height, X, level, 20))


@given(st.integers(1, 14), st.integers(0, 30), st.sampled_from([0.0, 0.3, 0.6, 1.1]), st.floats(0, 0.6), seeds)
def test_flood_agrees_with_edges_taken_one_by_one_as_the_level_falls(n, n_edges, level, least, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, n, (2, n_edges))
    at_rows, mass = rng.uniform(size=n), rng.dirichlet(np.ones(n))
    lowest = np.minimum(at_rows[a], at_rows[b]) * rng.choice([1.0, 0.95, 0.5], n_edges)
    order = np.argsort(-lowest, kind="stable")
    labels = np.empty(n, dtype=np.int64)
    number, held, depth = _kernels.svc.flood(a, b, lowest, order, at_rows, mass, level, least, labels)
    expected = naive.flood(a, b, lowest, order, at_rows, mass, level, least)
    assert_array_equal(labels, expected[0])
    assert number == expected[1]
    assert_allclose([held, depth], expected[2:], atol=1e-12)


def test_flood_of_two_modes_and_a_low_one():
    at_rows = np.array([1.0, 0.9, 0.3, 0.5, 0.8])
    a, b = np.arange(4), np.arange(1, 5)
    lowest = np.array([0.9, 0.3, 0.2, 0.4])
    labels = np.empty(5, dtype=np.int64)
    found = _kernels.svc.flood(a, b, lowest, np.argsort(-lowest), at_rows, np.full(5, 0.2), 0.6, 0.2, labels)
    assert_array_equal(labels, [0, 0, 0, 1, 1])
    assert_allclose(found, [2, 0.6, 1 - 0.2 / 0.8])
    _kernels.svc.flood(a, b, lowest, np.argsort(-lowest), at_rows, np.full(5, 0.2), 0.6, 0.4, labels)
    assert_array_equal(labels, 0)


partitions = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0.1, 5)), min_size=2, max_size=30)


@given(partitions)
def test_agreement_agrees_with_pairs_of_rows_drawn_by_mass(rows):
    first, second, mass = (np.array(column) for column in zip(*rows, strict=True))
    if min(len(set(first)), len(set(second))) == 1 and len(set(first)) == len(set(second)):
        assert _kernels.svc.agreement(first, second, 4, mass) == 1.0
    else:
        expected = naive.agreement_of_masses(first, second, mass)
        assert_allclose(_kernels.svc.agreement(first, second, 4, mass), expected, atol=1e-9)


@given(seeds)
def test_agreement_of_many_copies_is_the_adjusted_rand_index(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, 40)
    second = np.where(rng.uniform(size=40) < 0.7, first, rng.integers(0, 3, 40))
    expected = adjusted_rand_score(np.tile(first, 500), np.tile(second, 500))
    assert_allclose(_kernels.svc.agreement(first, second, 3, np.full(40, 500.0)), expected, atol=1e-3)
    assert _kernels.svc.agreement(first, (first + 1) % 3, 3, np.ones(40)) == pytest.approx(1.0)
