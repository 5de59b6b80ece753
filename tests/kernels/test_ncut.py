import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive
from tests.strategies import seeds

from ravine import _kernels


def line(seed, n=12):
    rng = np.random.default_rng(seed)
    return np.sort(rng.normal(size=n)), rng.integers(1, 4, size=n).astype(float)


def best_cut(positions, mass, scale, least=1.0):
    decay = np.append(np.exp(-np.diff(positions) / scale), 0.0)
    potential, slope = np.zeros(len(mass)), np.zeros(len(mass))
    value, k = _kernels.ncut.best_cut(mass, decay, least, potential, slope)
    return value, k, potential, slope


@given(seeds, st.sampled_from([1e-3, 0.3, 1.0, 50.0]))
def test_best_cut_agrees_with_naive(seed, scale):
    positions, mass = line(seed)
    value, k, _, _ = best_cut(positions, mass, scale)
    cuts = [naive.ncut(positions, mass, scale, i) for i in range(len(mass) - 1)]
    assert_allclose(value, min(cuts), rtol=1e-9)
    assert_allclose(cuts[k], min(cuts), rtol=1e-9)


@given(seeds, st.sampled_from([0.3, 1.0, 50.0]))
def test_slope_is_the_derivative_by_the_positions(seed, scale):
    positions, mass = line(seed)
    _, k, _, slope = best_cut(positions, mass, scale)
    for i in range(len(mass)):
        moved = [naive.ncut(positions + step * np.eye(len(mass))[i], mass, scale, k) for step in (1e-6, -1e-6)]
        assert_allclose(mass[i] * slope[i] / scale, (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-8)


@given(seeds, st.sampled_from([0.3, 1.0, 50.0]))
def test_potential_is_the_derivative_by_the_masses(seed, scale):
    positions, mass = line(seed)
    _, k, potential, _ = best_cut(positions, mass, scale)
    for i in range(len(mass)):
        moved = [naive.ncut(positions, mass + step * np.eye(len(mass))[i], scale, k) for step in (1e-6, -1e-6)]
        assert_allclose(potential[i], (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-8)


def test_range_of_a_million_scales_does_not_overflow():
    positions = np.array([0.0, 1.0, 1e6, 1e6 + 1])
    value, k, potential, slope = best_cut(positions, np.ones(4), scale=1.0)
    assert (value, k) == (0.0, 1)
    assert np.isfinite(potential).all()
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("least", [1, 3, 6])
def test_least_mass_holds_on_both_sides(least):
    positions, mass = np.array([0.0, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60]), np.ones(12)
    _, k, _, _ = best_cut(positions, mass, 1.0, least)
    assert least <= k + 1 <= 12 - least


def test_no_cut_where_no_side_is_large_enough():
    value, k, _, _ = best_cut(np.arange(4.0), np.ones(4), 1.0, least=3)
    assert (value, k) == (np.inf, -1)


@given(seeds, st.integers(1, 200), st.sampled_from([3, 1000]))
def test_order_is_that_of_a_stable_sort_from_any_start(seed, n, n_values):
    rng = np.random.default_rng(seed)
    values = rng.integers(n_values, size=n).astype(float)
    order = np.arange(n)
    _kernels.ncut.sort_order(values, order, np.empty_like(order))
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    values += rng.normal(size=n)
    _kernels.ncut.sort_order(values, order, np.empty_like(order))
    np.testing.assert_array_equal(values[order], np.sort(values))
