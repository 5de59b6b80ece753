import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._convex._edges import Edges
from ravine._convex._pairs import PairsProblem
from ravine._convex._stochastic import StochasticSplitting, bound_of_pairs
from ravine._neighbors import neighbor_graph


def random_problem(n, d, seed):
    rng = np.random.default_rng(seed)
    X, mass = rng.normal(size=(n, d)), rng.uniform(0.5, 3, n)
    a, b = np.triu_indices(n, 1)
    return X, mass, Edges(a, b, mass[a] * mass[b])


def splitting_of(kind, adaptive, seed=5):
    X, mass, edges = random_problem(30, 2, 0)
    if kind == "graph":
        a, b, _ = neighbor_graph(X, 5)
        edges = Edges(a, b, np.ones(len(a)))
    lam = 0.3 if kind == "graph" else 1.5 / mass.sum()
    splitting = StochasticSplitting(X, mass, None if kind == "pairs" else edges, lam, seed, adaptive)
    return splitting, edges


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("kind", ["pairs", "graph"])
def test_same_seed_gives_the_same_whatever_the_split_into_runs(kind, adaptive):
    results = []
    for runs in ((6,), (1, 1, 4), (2, 3, 1)):
        splitting, _ = splitting_of(kind, adaptive)
        for n_sweeps in runs:
            splitting.run(n_sweeps)
        results.append(splitting.centroids)
    assert_array_equal(results[0], results[1])
    assert_array_equal(results[0], results[2])
    other, _ = splitting_of(kind, adaptive, seed=6)
    other.run(6)
    assert (other.centroids != results[0]).any()


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("kind", ["pairs", "graph"])
def test_both_steps_converge_to_the_optimum(kind, adaptive):
    splitting, edges = splitting_of(kind, adaptive)
    problem = splitting.rows, *edges, splitting.lam, splitting.mass
    optimum, _ = naive.cone_optimum(*problem)
    excess = []
    for n_sweeps in (4, 60, 400_000 // splitting.sweep):
        splitting.run(n_sweeps)
        excess.append(naive.sum_of_norms(splitting.centroids, *problem) / optimum - 1)
    assert excess[0] > excess[2]
    assert excess[2] < 1e-4
    assert min(excess) >= -1e-9


def test_pairs_are_edges_with_the_product_of_the_masses():
    X, mass, edges = random_problem(20, 2, 1)
    lam = 1.0 / mass.sum()
    ends = [StochasticSplitting(X, mass, e, lam, 0) for e in (None, edges)]
    for splitting in ends:
        splitting.run(1500)
    assert_allclose(ends[0].centroids, ends[1].centroids, atol=0.02)


@given(st.integers(2, 25), st.integers(1, 4), st.sampled_from([0.1, 0.5, 1.5, 5.0]), seeds)
def test_bound_of_pairs_is_below_the_optimum_and_close_at_the_solution(n, d, share, seed):
    X, mass, edges = random_problem(n, d, seed)
    lam = share / mass.sum()
    problem = PairsProblem(X, mass)
    best = problem.solve(lam, 1e-8, 50_000)
    rng = np.random.default_rng(seed)
    for centroids in (problem.centroids, X, problem.centroids + 0.2 * rng.normal(size=X.shape)):
        objective, least = bound_of_pairs(X, centroids, mass, lam)
        assert_allclose(objective, naive.sum_of_norms(centroids, X, *edges, lam, mass), rtol=1e-10)
        assert least <= best.objective * (1 + 1e-9)
    objective, least = bound_of_pairs(X, problem.centroids, mass, lam)
    assert least >= best.objective * (1 - 1e-3)


def test_bound_of_points_that_are_all_at_the_mean_is_finite_and_close():
    X, mass, _ = random_problem(20, 3, 2)
    center = np.broadcast_to(mass @ X / mass.sum(), X.shape)
    objective, least = bound_of_pairs(X, center, mass, 1.1 * 6.0 / mass.sum())
    assert_allclose(objective, 0.5 * mass @ ((X - center) ** 2).sum(axis=1))
    assert 0.999 * objective <= least <= objective * (1 + 1e-12)
