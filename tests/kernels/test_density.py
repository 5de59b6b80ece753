import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels
from ravine.cuts._density import Grid, GridRule, normal_bandwidth


def test_bin_linear_agrees_with_naive(rng):
    values, weights = rng.normal(size=100), rng.uniform(size=100)
    low, step = values.min() - 0.5, 0.1
    n_bins = int((values.max() + 0.5 - low) / step) + 2
    ours = _kernels.density.bin_linear(values, weights, low, step, n_bins)
    assert_allclose(ours, naive.bin_linear(values, weights, low, step, n_bins), atol=1e-12)


def test_bin_linear_keeps_weight_and_mean(rng):
    values, weights = rng.normal(size=1000), rng.uniform(size=1000)
    counts = _kernels.density.bin_linear(values, weights, -6.0, 0.05, 241)
    assert_allclose(counts.sum(), weights.sum())
    assert_allclose(counts @ (-6.0 + 0.05 * np.arange(241)), weights @ values)


def test_bin_linear_keeps_a_value_on_the_last_point():
    assert_array_equal(_kernels.density.bin_linear(np.array([0.0, 1.0]), np.ones(2), 0.0, 0.5, 3), [1, 0, 1])


def test_smooth_agrees_with_naive(rng):
    for reach in (1, 3, 40):
        counts, weights = rng.uniform(size=30) * (rng.uniform(size=30) > 0.5), rng.uniform(size=reach)
        assert_allclose(_kernels.density.smooth(counts, weights), naive.smooth(counts, weights), atol=1e-12)


@given(arrays(int, st.integers(2, 40), elements=st.integers(0, 1_000_000), unique=True))
def test_valleys_agree_with_naive_where_no_values_are_equal(numbers):
    density = numbers / 1_000_000
    assert_array_equal(_kernels.density.valleys(density), naive.valleys(density))


def test_valley_of_a_flat_stretch_is_its_middle():
    assert_array_equal(_kernels.density.valleys(np.array([0.0, 2, 0, 0, 0, 1, 0])), [[3, 1, 5, 3]])


def test_rounding_makes_no_valley(rng):
    flat = np.array([0.0, 2, 2, 2, 2, 2, 0]) * (1 + 1e-15 * rng.normal(size=7))
    assert len(_kernels.density.valleys(flat)) == 0


def test_valleys_end_whatever_the_density_is():
    for strange in (np.nan, np.inf, -1e-300):
        assert len(_kernels.density.valleys(np.array([0.0, 2.0, strange, 1.0, strange]))) <= 2


def test_a_shoulder_is_not_a_valley():
    assert len(_kernels.density.valleys(np.array([0.0, 2, 1, 1, 0.5, 0]))) == 0
    assert len(_kernels.density.valleys(np.array([0.0, 1, 1, 2, 0]))) == 0


def test_modes_at_the_ends_of_the_grid_count():
    assert_array_equal(_kernels.density.valleys(np.array([2.0, 1, 3])), [[1, 0, 2, 1]])


def test_a_flat_mode_is_found_at_its_middle():
    assert_array_equal(_kernels.density.valleys(np.array([0.0, 3, 3, 3, 1, 2, 0])), [[4, 2, 5, 1]])


@given(
    arrays(float, st.integers(3, 30), elements=st.integers(1, 2000).map(lambda i: i / 2000), unique=True),
    st.floats(0, 2),
    st.sampled_from([(1.0,), (0.25, 0.5, 1.0)]),
    st.sampled_from([0.0, 0.1, 0.3]),
)
def test_best_window_agrees_with_naive(density, least_window, shares, least_side):
    found = _kernels.density.valleys(density)
    mass = np.cumsum(density) / density.sum()
    score, *_ = _kernels.density.best_window(
        density, mass, found, 50.0, 0.3, np.array(shares), least_window, least_side
    )
    assert_allclose(score, naive.best_window_score(density, 0.3, 50.0, shares, least_window, least_side), atol=1e-9)


def test_strongest_valley_of_a_line_is_that_of_the_steps_on_its_grid(rng):
    kernel, shares, rule = _kernels.density, np.array([0.25, 0.5, 1.0]), GridRule(3.0, 4.0, 4.0, 64.0, 4096.0)
    for n in (15, 400):
        values, weights = np.concatenate([rng.normal(size=n), rng.normal(5, 1, n)]), rng.uniform(1, 2, 2 * n)
        h = 0.5 * normal_bandwidth(values, weights, 1.06)
        grid = Grid.around(values.min(), values.max(), h, rule)
        density = kernel.smooth(kernel.bin_linear(values, weights, *grid.numbers), grid.kernel(1.0))
        mass = np.cumsum(density) / np.cumsum(density)[-1]
        score, *points, window = kernel.best_window(
            density, mass, kernel.valleys(density), weights.sum(), grid.step, shares, 0.0, 0.01
        )
        found = np.zeros(kernel.N_ENTRIES)
        kernel.strongest_on_lines(
            values[np.newaxis],
            weights,
            weights.sum(),
            1.06,
            np.zeros(1),
            np.array([0.5]),
            shares,
            rule,
            0.01,
            np.inf,
            found[np.newaxis],
        )
        assert found[kernel.SCORE] == pytest.approx(score)
        assert found[kernel.WINDOW] == pytest.approx(window)
        assert found[kernel.BANDWIDTH] == pytest.approx(h)
        positions = found[[kernel.POSITION, kernel.LEFT_MODE, kernel.RIGHT_MODE]]
        assert_allclose(positions, grid.low + grid.step * np.array(points))
        at_points = found[[kernel.AT_VALLEY, kernel.AT_LEFT, kernel.AT_RIGHT]]
        assert_allclose(at_points / (np.sqrt(2 * np.pi) * h), density[points], atol=1e-12)


def test_mass_around_counts_weights_as_the_naive_count_counts_rows(rng):
    values, repeats = np.round(rng.normal(size=50), 1), rng.integers(1, 4, size=50)
    often = np.repeat(values, repeats)
    for resolution in (0.0, 0.1, 0.7):
        mass = _kernels.density.mass_around(values, repeats.astype(float), 0.3, 0.9, resolution)
        assert_allclose(mass, naive.count_around(often, 0.3, 0.9, resolution))
