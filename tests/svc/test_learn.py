from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._kernels.svc import NEAREST, RANDOM, REMOVAL
from ravine._reservoir import visits
from ravine._svc import Learner, Sample, learn_epochs, learn_exactly, max_epochs, objective, solve_exactly
from ravine._svc import _learn as learn_module
from ravine.datasets import make_blobs, make_moons

STRATEGIES = {"removal": REMOVAL, "nearest": NEAREST, "random": RANDOM}
strategies = st.sampled_from(sorted(STRATEGIES))
budgets, ks, columns = st.integers(1, 12), st.integers(1, 6), st.integers(1, 5)
gammas, trade_offs = st.sampled_from([0.01, 0.2, 1.0, 10.0]), st.sampled_from([0.7, 3.3, 30.1, 1000.3])


def new_learner(d, gamma=0.5, C=20.0, budget=10, strategy="nearest", k=5, seed=3):
    return Learner(d, gamma, C, budget, STRATEGIES[strategy], k, seed)


def same_state(one, other):
    assert one.n_steps == other.n_steps
    assert_array_equal(one.kernel_sum.vectors, other.kernel_sum.vectors)
    assert_array_equal(one.kernel_sum.coefficients, other.kernel_sum.coefficients)


def rows_with_copies(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.integers(0, n, 2 * n), rng.uniform(0.3, 2, n)


@settings(max_examples=100)
@given(strategies, st.none() | budgets, ks, columns, gammas, trade_offs, seeds)
def test_learner_agrees_row_by_row_with_the_function_written_out(strategy, budget, k, d, gamma, C, seed):
    X, order, weights = rows_with_copies(25, d, seed)
    learner = new_learner(d, gamma, C, budget, strategy, k)
    twin = naive.BudgetedDescent(gamma, C, budget, strategy, k, learn_module.RIDGE, seed=3)
    for r in order:
        learner.learn(X, np.array([r]), weights)
        twin.learn(X[r], weights[r])
        assert_array_equal(learner.kernel_sum.vectors, twin.vectors)
        assert_allclose(learner.kernel_sum.coefficients, twin.alpha, rtol=1e-7, atol=1e-9 * C)
    assert learner.n_steps == 50


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [None, 7, 40])
def test_calls_into_which_rows_are_broken_change_no_bit(strategy, budget, monkeypatch):
    monkeypatch.setattr(learn_module, "ROOM", 16)
    X, order, weights = rows_with_copies(150, 3, 0)
    whole = new_learner(3, 2.0, 50.0, budget, strategy)
    whole.learn(X, order, weights)
    for sizes in ([1], [7, 0, 16, 40]):
        parts, start = new_learner(3, 2.0, 50.0, budget, strategy), 0
        for i in range(len(order)):
            stop = start + sizes[i % len(sizes)]
            parts.learn(X, order[start:stop], weights)
            start = stop
        same_state(parts, whole)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [None, 7, 40, 70])
@pytest.mark.parametrize("d", [1, 4, 9, 17])
def test_resumed_learner_goes_on_bit_for_bit(strategy, budget, d, monkeypatch):
    monkeypatch.setattr(learn_module, "ROOM", 16)
    X, order, weights = rows_with_copies(150, d, d)
    gamma = 2.0 / d
    C = 0.5 / naive.gaussian_kernel(X, X, gamma).mean()
    learner = new_learner(d, gamma, C, budget, strategy)
    for part in np.array_split(order, [1, 5, 30, 100]):
        resumed = new_learner(d, gamma, C, budget, strategy).resume(**deepcopy(learner.state()))
        same_state(resumed, learner)
        for either in (learner, resumed):
            either.learn(X, part, weights)
        same_state(resumed, learner)
        learner = resumed
    assert learner.n_vectors == budget if budget else learner.n_vectors > 70


def test_resumed_learner_leaves_what_it_was_given():
    X, order, weights = rows_with_copies(40, 2, 0)
    learner = new_learner(2)
    learner.learn(X, order[:40], weights)
    state = deepcopy(learner.state())
    new_learner(2).resume(**state).learn(X, order[40:], weights)
    for name, value in learner.state().items():
        assert_array_equal(state[name], value)


def test_row_that_is_a_vector_adds_to_its_coefficient():
    learner = new_learner(2, gamma=1.0, C=0.4, budget=5)
    X = np.array([[0.0, 0.0], [3.0, 0.0]])
    for order, expected in (([0], [0.4]), ([1], [0.2, 0.2]), ([0, 0], [0.3, 0.1])):
        learner.learn(X, np.array(order), np.ones(2))
        assert_array_equal(learner.kernel_sum.vectors, X[: len(expected)])
        assert_allclose(learner.kernel_sum.coefficients, expected)


def test_row_inside_or_on_the_boundary_makes_the_function_smaller_and_no_vector():
    learner = new_learner(1, C=5.0)
    for n_more, coefficient in ((5, 1.0), (1, 5 / 6), (1, 10 / 7)):
        learner.learn(np.zeros((1, 1)), np.zeros(n_more, dtype=np.int64), np.ones(1))
        assert_allclose(learner.kernel_sum.coefficients, [coefficient])


def test_learner_without_rows_is_the_function_nought():
    kernel_sum = new_learner(3).kernel_sum
    assert kernel_sum.vectors.shape == (0, 3)
    assert_array_equal(kernel_sum.heights(np.ones((2, 3))), 0)


def test_vectors_without_a_budget_are_all_rows_that_were_outside(monkeypatch):
    monkeypatch.setattr(learn_module, "ROOM", 4)
    X = 100.0 * np.arange(50)[:, None]
    learner = new_learner(1, 1.0, 1.0, None)
    learner.learn(X, np.arange(50), np.ones(50))
    assert_array_equal(learner.kernel_sum.vectors, X)


@given(strategies, budgets, ks, columns, gammas, trade_offs, seeds)
def test_lemmas_1_and_2_hold_after_every_step(strategy, budget, k, d, gamma, C, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d))
    learner = new_learner(d, gamma, C, budget, strategy, k)
    for r in rng.integers(0, 60, 120):
        learner.learn(X, np.array([r]), np.ones(60))
        kernel_sum = learner.kernel_sum
        assert len(kernel_sum.vectors) <= budget
        assert (kernel_sum.coefficients >= 0).all()
        assert kernel_sum.coefficients.sum() <= C * (1 + 1e-9)
        assert kernel_sum.norm_sq() <= (C * (1 + 1e-9)) ** 2


def epochs(X, gamma, C, budget, strategy="nearest", n_epochs=20, seed=0):
    """Objective after some epochs."""
    learner = new_learner(X.shape[1], gamma, C, budget, strategy, seed=seed)
    visited = visits(X, np.ones(len(X)), seed)
    for epoch in range(n_epochs):
        learner.learn(X, visited.in_epoch(epoch), visited.weight)
    return value_of(learner.kernel_sum, X, C)


def value_of(kernel_sum, X, C):
    return objective(kernel_sum, C, kernel_sum.heights(X), np.ones(len(X)))


def problem(name, gamma, ratio, n=300):
    X = (make_moons(n, noise=0.05, random_state=1) if name == "moons" else make_blobs(n, centers=3, random_state=1))[0]
    return X, gamma, ratio / naive.gaussian_kernel(X, X, gamma).mean()


@pytest.mark.parametrize("ratio", [1.0, 2.0, 4.0])
@pytest.mark.parametrize(("name", "gamma"), [("moons", 3.0), ("moons", 30.0), ("blobs", 0.3), ("blobs", 3.0)])
def test_twenty_epochs_without_a_binding_budget_come_within_a_percent_of_the_optimum(name, gamma, ratio):
    X, gamma, C = problem(name, gamma, ratio)
    kernel_sum, gap, _ = solve_exactly(X, np.ones(len(X)), gamma, C, 1e-5, 5000)
    optimum = value_of(kernel_sum, X, C)
    assert gap <= 1e-5
    for seed in range(2):
        assert (1 - 1e-5) * optimum <= epochs(X, gamma, C, len(X), seed=seed) <= 1.01 * optimum


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_objective_gets_worse_as_the_budget_shrinks(strategy):
    X, gamma, C = problem("moons", 10.0, 2.0)
    values = [np.mean([epochs(X, gamma, C, b, strategy, 5, s) for s in range(4)]) for b in (10, 30, 90, 300)]
    assert all(more <= 1.02 * less for less, more in pairwise(values))
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize(("name", "gamma"), [("moons", 10.0), ("blobs", 0.5)])
def test_nearest_vectors_do_better_than_random_ones_and_these_than_removal(name, gamma):
    X, gamma, C = problem(name, gamma, 2.0)
    values = {s: np.mean([epochs(X, gamma, C, 30, s, 5, seed) for seed in range(4)]) for s in STRATEGIES}
    assert values["nearest"] < 0.95 * values["random"]
    assert values["random"] < 0.8 * values["removal"]


@given(st.integers(1, 20), columns, gammas, st.sampled_from([0.2, 1.0, 3.0]), seeds)
def test_exact_solution_agrees_with_an_interior_point_method(n, d, gamma, ratio, seed):
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.2, 3, n)
    K = naive.gaussian_kernel(X, X, gamma)
    C = ratio / K.mean()
    kernel_sum, gap, _ = solve_exactly(X, mass, gamma, C, 1e-7, 200_000)
    _, least = naive.one_class_optimum(K, C * mass / mass.sum())
    assert gap <= 1e-7
    assert_allclose(objective(kernel_sum, C, kernel_sum.heights(X), mass), least, rtol=1e-6)
    assert (kernel_sum.coefficients > 0).all()
    assert {tuple(v) for v in kernel_sum.vectors} <= {tuple(x) for x in X}


def test_exact_solution_has_all_rows_where_none_can_be_inside(rng):
    X, mass = rng.normal(size=(30, 2)), rng.uniform(1, 2, 30)
    kernel_sum, gap, sweeps = solve_exactly(X, mass, 1.0, 0.9, 1e-9, 100)
    assert_array_equal(kernel_sum.vectors, X)
    assert_allclose(kernel_sum.coefficients, 0.9 * mass / mass.sum())
    assert abs(gap) < 1e-12
    assert sweeps == 1


def test_exact_solution_of_too_many_rows_names_the_memory():
    with pytest.raises(ValueError, match="20000 distinct rows, 3 GB of memory: use solver='budgeted'"):
        solve_exactly(np.zeros((20_000, 1)), np.ones(20_000), 1.0, 1.0, 1e-3, 10)


@given(st.integers(1, 12), columns, gammas, trade_offs, seeds)
def test_objective_is_half_the_squared_norm_and_the_losses(n, d, gamma, C, seed):
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.2, 3, n)
    learner = new_learner(d, gamma, C, None)
    learner.learn(X, np.arange(n), np.ones(n))
    kernel_sum = learner.kernel_sum
    beta = np.zeros(n)
    for v, c in zip(kernel_sum.vectors, kernel_sum.coefficients, strict=True):
        beta[(v == X).all(axis=1)] = c
    expected = naive.one_class_objective(beta, naive.gaussian_kernel(X, X, gamma), C * mass / mass.sum())
    assert_allclose(objective(kernel_sum, C, kernel_sum.heights(X), mass), expected, rtol=1e-9)


def test_epochs_end_when_the_objective_no_longer_improves_or_when_asked():
    X, _ = make_moons(100, random_state=0)
    weights, sample = np.ones(100), Sample(X, np.ones(100))
    whole = learn_epochs(new_learner(2), X, weights, sample, None, 0.0)
    assert whole.n_iter <= max_epochs(100) == 100
    loose = learn_epochs(new_learner(2), X, weights, sample, None, 1e9)
    assert loose.n_iter == 2 * learn_module.CHECK // 100
    first = learn_epochs(new_learner(2), X, weights, sample, None, 0.0, lambda: True)
    assert first.n_iter == learn_module.CHECK // 100
    assert learn_epochs(new_learner(2), X, weights, sample, 3, 0.0).n_iter == 3
    at_sample = first.kernel_sum.heights(X)
    assert_array_equal(first.heights, at_sample)
    assert first.objective == objective(first.kernel_sum, first.C, at_sample, sample.share)


def test_copies_of_rows_are_learned_as_one_row_of_their_weight():
    X, _ = make_moons(60, random_state=0)
    sample = Sample(X, np.ones(60))
    twice = learn_epochs(new_learner(2), np.r_[X, X], np.ones(120), sample, 5, 0.0)
    heavy = learn_epochs(new_learner(2), np.r_[X, X[:1]], np.r_[1.0, np.full(59, 2.0), 1.0], sample, 5, 0.0)
    assert_array_equal(twice.kernel_sum.vectors, heavy.kernel_sum.vectors)
    one = learn_exactly(np.r_[X, X], np.ones(120), sample, 0.5, 20.0, None, 1e-6, 3)
    other = learn_exactly(X, np.ones(60), sample, 0.5, 20.0, None, 1e-6, 3)
    assert one.objective == pytest.approx(other.objective)
    assert max(one.gap, other.gap) <= 1e-6
