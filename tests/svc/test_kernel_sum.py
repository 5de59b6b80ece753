import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine import _blocks
from ravine._matrix import LARGEST
from ravine._svc import KernelSum

sizes, columns, gammas = st.integers(1, 15), st.integers(1, 5), st.sampled_from([0.05, 0.5, 5.0])


def random_surface(n_vectors, d, gamma, seed):
    rng = np.random.default_rng(seed)
    return rng, KernelSum(2 * rng.normal(size=(n_vectors, d)), rng.uniform(0.1, 1, n_vectors), gamma)


def twin_of(kernel_sum):
    return lambda x: kernel_sum.coefficients @ np.exp(-kernel_sum.gamma * ((x - kernel_sum.vectors) ** 2).sum(axis=1))


@given(sizes, columns, gammas, seeds)
def test_heights_and_norm_agree_with_the_kernel_matrix(n_vectors, d, gamma, seed):
    rng, kernel_sum = random_surface(n_vectors, d, gamma, seed)
    X, (V, c) = rng.normal(size=(9, d)), (kernel_sum.vectors, kernel_sum.coefficients)
    assert_allclose(kernel_sum.heights(X), naive.gaussian_kernel(X, V, gamma) @ c, rtol=1e-12)
    assert_allclose(kernel_sum.norm_sq(), c @ naive.gaussian_kernel(V, V, gamma) @ c, rtol=1e-12)
    assert kernel_sum.heights(X[:0]).shape == (0,)


def test_kernel_has_fallen_to_an_eth_at_the_width():
    kernel_sum = KernelSum(np.zeros((1, 2)), np.ones(1), 7.0)
    assert_allclose(kernel_sum.heights(np.array([[0.0, kernel_sum.width]])), np.exp(-1))


@given(sizes, columns, gammas, seeds)
def test_climb_ends_higher_at_a_point_without_a_gradient(n_vectors, d, gamma, seed):
    rng, kernel_sum = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(9, d))
    ends = kernel_sum.climb(X)
    assert (kernel_sum.heights(ends) >= kernel_sum.heights(X) * (1 - 1e-12)).all()
    for end, height in zip(ends, kernel_sum.heights(ends), strict=True):
        slope = naive.slopes(twin_of(kernel_sum), end, 1e-5 * kernel_sum.width)
        assert np.linalg.norm(slope) * kernel_sum.width <= 1e-3 * height


def test_climb_ends_where_the_mean_shift_does(rng):
    centers = 10 * np.array([[0, 0], [1, 0], [0, 1]])
    kernel_sum = KernelSum((rng.normal(size=(20, 3, 2)) + centers).reshape(-1, 2), rng.uniform(0.1, 1, 60), 0.2)
    X = (rng.normal(size=(5, 3, 2)) + centers).reshape(-1, 2)
    for x, end in zip(X, kernel_sum.climb(X), strict=True):
        plain = naive.mean_shift(x, kernel_sum.vectors, kernel_sum.coefficients, 0.2, 2000)
        assert_allclose(end, plain, atol=1e-3 * kernel_sum.width)


def test_equilibria_of_many_rows_take_no_pairs_of_them(rng):
    kernel_sum = KernelSum(np.array([[0.0, 0.0], [9.0, 0.0]]), np.array([1.0, 2.0]), 1.0)
    X = rng.uniform(-3, 3, (100_000, 2)) + np.repeat([[0, 0], [9, 0]], 50_000, axis=0)
    equilibria, which = kernel_sum.equilibria(X)
    assert_allclose(equilibria, [[9, 0], [0, 0]], atol=1e-4)
    assert_array_equal(which, np.repeat([1, 0], 50_000))


@pytest.mark.parametrize("far", [1e3, 1e100, LARGEST])
def test_rows_far_beyond_all_vectors_climb_from_the_nearest_one(far):
    _, kernel_sum = random_surface(12, 3, 5.0, 0)
    X = far * np.array([[1.0, 0, 0], [0, -1, 0], [1, 1, 1]])
    assert_array_equal(kernel_sum.heights(X), 0)
    ends = kernel_sum.climb(X)
    if far < 1e100:
        nearest = ((X[:, None] - kernel_sum.vectors) ** 2).sum(axis=2).argmin(axis=1)
        assert_allclose(ends, kernel_sum.climb(kernel_sum.vectors[nearest]), atol=1e-3 * kernel_sum.width)
    assert np.isfinite(ends).all()
    assert (np.abs(ends) <= np.abs(kernel_sum.vectors).max()).all()


@given(sizes, columns, gammas, seeds)
def test_equilibria_are_fixed_points_apart_from_each_other_and_the_highest_is_first(n_vectors, d, gamma, seed):
    rng, kernel_sum = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(12, d))
    equilibria, which = kernel_sum.equilibria(X)
    ends = kernel_sum.climb(X)
    assert_array_equal(np.unique(which), np.arange(len(equilibria)))
    heights = kernel_sum.heights(equilibria)
    assert (np.diff(heights) <= 0).all()
    for e in equilibria:
        step = naive.mean_shift(e, kernel_sum.vectors, kernel_sum.coefficients, gamma, 1) - e
        assert np.linalg.norm(step) <= 1e-5 * kernel_sum.width
    same, apart = which[:, None] == which, np.linalg.norm(ends[:, None] - ends, axis=2) / kernel_sum.width
    rounding = 0.01 * np.sqrt(d)
    closest, close = (naive.components(12, np.argwhere(apart <= 0.05 + r)) for r in (-rounding, rounding))
    assert same[closest[:, None] == closest].all()
    assert (close[:, None] == close)[same].all()
    assert_allclose(kernel_sum.heights(ends), heights[which], rtol=1e-2)


def test_ends_that_are_close_one_by_one_are_one_equilibrium_at_the_highest_of_them(monkeypatch):
    monkeypatch.setattr(KernelSum, "climb", lambda self, X, n_jobs: X)
    kernel_sum = KernelSum(np.array([[0.08], [10.0]]), np.array([1.0, 2.0]), 1.0)
    equilibria, which = kernel_sum.equilibria(np.array([[0.0], [10.0], [0.04], [0.2], [0.08], [9.98]]))
    assert_array_equal(equilibria, [[10.0], [0.08], [0.2]])
    assert_array_equal(which, [1, 0, 1, 2, 1, 0])


@given(sizes, columns, gammas, seeds)
def test_lowest_between_is_the_lowest_of_points_half_a_width_apart_and_twelve_parts_at_most(n_vectors, d, gamma, seed):
    rng, kernel_sum = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(6, d))
    a, b = np.triu_indices(6, 1)
    lowest = kernel_sum.lowest_between(X, a, b, kernel_sum.heights(X))
    for e, (x, y) in enumerate(zip(X[a], X[b], strict=True)):
        n_parts = int(min(np.ceil(np.linalg.norm(x - y) / (0.5 * kernel_sum.width)), 12))
        assert_allclose(lowest[e], naive.lowest_on_line(twin_of(kernel_sum), x, y, n_parts), rtol=1e-9)


def test_number_of_threads_changes_no_bit(monkeypatch):
    rng, kernel_sum = random_surface(40, 4, 0.5, 0)
    X = 2 * rng.normal(size=(60, 4))
    a, b = np.triu_indices(60, 1)
    at_rows = kernel_sum.heights(X)
    whole = (
        kernel_sum.heights(X),
        kernel_sum.climb(X),
        *kernel_sum.equilibria(X),
        kernel_sum.lowest_between(X, a, b, at_rows),
    )
    monkeypatch.setattr(_blocks, "BLOCK_CELLS", 500)
    for jobs in (1, 2, 5):
        lowest = kernel_sum.lowest_between(X, a, b, at_rows, jobs)
        parts = kernel_sum.heights(X, jobs), kernel_sum.climb(X, jobs), *kernel_sum.equilibria(X, jobs), lowest
        for ours, other in zip(parts, whole, strict=True):
            assert_array_equal(ours, other)


def test_function_is_lower_than_a_height_beyond_its_reach():
    rng = np.random.default_rng(0)
    surface = KernelSum(rng.normal(size=(20, 2)), rng.random(20), 3.0)
    for height in (0.05, 0.4):
        away = surface.vectors.max(axis=0) + surface.reach(height)
        assert surface.heights(away[np.newaxis])[0] < height
    assert_allclose(surface.reach(1e9), surface.width)
