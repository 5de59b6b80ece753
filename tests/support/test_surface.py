import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine import blocks
from ravine.matrix import LARGEST
from ravine.support import Surface

sizes, columns, gammas = st.integers(1, 15), st.integers(1, 5), st.sampled_from([0.05, 0.5, 5.0])


def random_surface(n_vectors, d, gamma, seed):
    rng = np.random.default_rng(seed)
    return rng, Surface(2 * rng.normal(size=(n_vectors, d)), rng.uniform(0.1, 1, n_vectors), gamma)


def twin_of(surface):
    return lambda x: surface.coefficients @ np.exp(-surface.gamma * ((x - surface.vectors) ** 2).sum(axis=1))


@given(sizes, columns, gammas, seeds)
def test_heights_and_norm_agree_with_the_kernel_matrix(n_vectors, d, gamma, seed):
    rng, surface = random_surface(n_vectors, d, gamma, seed)
    X, (V, c) = rng.normal(size=(9, d)), (surface.vectors, surface.coefficients)
    assert_allclose(surface.heights(X), naive.gaussian_kernel(X, V, gamma) @ c, rtol=1e-12)
    assert_allclose(surface.norm_sq(), c @ naive.gaussian_kernel(V, V, gamma) @ c, rtol=1e-12)
    assert surface.heights(X[:0]).shape == (0,)


def test_kernel_has_fallen_to_an_eth_at_the_width():
    surface = Surface(np.zeros((1, 2)), np.ones(1), 7.0)
    assert_allclose(surface.heights(np.array([[0.0, surface.width]])), np.exp(-1))


@given(sizes, columns, gammas, seeds)
def test_climb_ends_higher_at_a_point_without_a_gradient(n_vectors, d, gamma, seed):
    rng, surface = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(9, d))
    ends = surface.climb(X)
    assert (surface.heights(ends) >= surface.heights(X) * (1 - 1e-12)).all()
    for end, height in zip(ends, surface.heights(ends), strict=True):
        slope = naive.slopes(twin_of(surface), end, 1e-5 * surface.width)
        assert np.linalg.norm(slope) * surface.width <= 1e-3 * height


def test_climb_ends_where_the_mean_shift_does(rng):
    centers = 10 * np.array([[0, 0], [1, 0], [0, 1]])
    surface = Surface((rng.normal(size=(20, 3, 2)) + centers).reshape(-1, 2), rng.uniform(0.1, 1, 60), 0.2)
    X = (rng.normal(size=(5, 3, 2)) + centers).reshape(-1, 2)
    for x, end in zip(X, surface.climb(X), strict=True):
        plain = naive.mean_shift(x, surface.vectors, surface.coefficients, 0.2, 2000)
        assert_allclose(end, plain, atol=1e-3 * surface.width)


def test_equilibria_of_many_rows_take_no_pairs_of_them(rng):
    surface = Surface(np.array([[0.0, 0.0], [9.0, 0.0]]), np.array([1.0, 2.0]), 1.0)
    X = rng.uniform(-3, 3, (100_000, 2)) + np.repeat([[0, 0], [9, 0]], 50_000, axis=0)
    equilibria, which = surface.equilibria(X)
    assert_allclose(equilibria, [[9, 0], [0, 0]], atol=1e-4)
    assert_array_equal(which, np.repeat([1, 0], 50_000))


@pytest.mark.parametrize("far", [1e3, 1e100, LARGEST])
def test_rows_far_beyond_all_vectors_climb_from_the_nearest_one(far):
    _, surface = random_surface(12, 3, 5.0, 0)
    X = far * np.array([[1.0, 0, 0], [0, -1, 0], [1, 1, 1]])
    assert_array_equal(surface.heights(X), 0)
    ends = surface.climb(X)
    if far < 1e100:
        nearest = ((X[:, None] - surface.vectors) ** 2).sum(axis=2).argmin(axis=1)
        assert_allclose(ends, surface.climb(surface.vectors[nearest]), atol=1e-3 * surface.width)
    assert np.isfinite(ends).all()
    assert (np.abs(ends) <= np.abs(surface.vectors).max()).all()


@given(sizes, columns, gammas, seeds)
def test_equilibria_are_fixed_points_apart_from_each_other_and_the_highest_is_first(n_vectors, d, gamma, seed):
    rng, surface = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(12, d))
    equilibria, which = surface.equilibria(X)
    ends = surface.climb(X)
    assert_array_equal(np.unique(which), np.arange(len(equilibria)))
    heights = surface.heights(equilibria)
    assert (np.diff(heights) <= 0).all()
    for e in equilibria:
        step = naive.mean_shift(e, surface.vectors, surface.coefficients, gamma, 1) - e
        assert np.linalg.norm(step) <= 1e-5 * surface.width
    same, apart = which[:, None] == which, np.linalg.norm(ends[:, None] - ends, axis=2) / surface.width
    rounding = 0.01 * np.sqrt(d)
    closest, close = (naive.components(12, np.argwhere(apart <= 0.05 + r)) for r in (-rounding, rounding))
    assert same[closest[:, None] == closest].all()
    assert (close[:, None] == close)[same].all()
    assert_allclose(surface.heights(ends), heights[which], rtol=1e-2)


def test_ends_that_are_close_one_by_one_are_one_equilibrium_at_the_highest_of_them(monkeypatch):
    monkeypatch.setattr(Surface, "climb", lambda self, X, n_jobs: X)
    surface = Surface(np.array([[0.08], [10.0]]), np.array([1.0, 2.0]), 1.0)
    equilibria, which = surface.equilibria(np.array([[0.0], [10.0], [0.04], [0.2], [0.08], [9.98]]))
    assert_array_equal(equilibria, [[10.0], [0.08], [0.2]])
    assert_array_equal(which, [1, 0, 1, 2, 1, 0])


@given(sizes, columns, gammas, seeds)
def test_lowest_between_is_the_lowest_of_points_half_a_width_apart_and_twelve_parts_at_most(n_vectors, d, gamma, seed):
    rng, surface = random_surface(n_vectors, d, gamma, seed)
    X = 2 * rng.normal(size=(6, d))
    a, b = np.triu_indices(6, 1)
    lowest = surface.lowest_between(X, a, b, surface.heights(X))
    for e, (x, y) in enumerate(zip(X[a], X[b], strict=True)):
        n_parts = int(min(np.ceil(np.linalg.norm(x - y) / (0.5 * surface.width)), 12))
        assert_allclose(lowest[e], naive.lowest_on_line(twin_of(surface), x, y, n_parts), rtol=1e-9)


def test_number_of_threads_changes_no_bit(monkeypatch):
    rng, surface = random_surface(40, 4, 0.5, 0)
    X = 2 * rng.normal(size=(60, 4))
    a, b = np.triu_indices(60, 1)
    at_rows = surface.heights(X)
    whole = surface.heights(X), surface.climb(X), *surface.equilibria(X), surface.lowest_between(X, a, b, at_rows)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 500)
    for jobs in (1, 2, 5):
        lowest = surface.lowest_between(X, a, b, at_rows, jobs)
        parts = surface.heights(X, jobs), surface.climb(X, jobs), *surface.equilibria(X, jobs), lowest
        for ours, other in zip(parts, whole, strict=True):
            assert_array_equal(ours, other)
