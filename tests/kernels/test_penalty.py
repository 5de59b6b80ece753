import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive
from tests.strategies import seeds

from ravine import _kernels


def some_labels(rng, n):
    """Arguments of a kernel for marks with pulls of either sign and a margin, and those of its naive twin."""
    marks, pulls, margin = rng.normal(size=n), rng.normal(size=n), float(rng.uniform(0, 0.5))
    return (marks, _kernels.penalty.Labels(np.arange(n), pulls, margin)), (marks, pulls, margin)


def some_density(rng, bound):
    """Arguments of a kernel for a density of eight rows with a penalty outside a bound, and those of its naive twin."""
    positions, mass = rng.normal(size=8), rng.uniform(size=8)
    settings = _kernels.penalty.Settings(0.4, 0.0, 2.0, 1.5, 0.05, 8.0, 1 << 16, 200)
    points = _kernels.penalty.Points(positions, mass, 0.0, np.empty(8))
    return (points, bound, settings), (positions, mass, 0.4, bound, 2.0, 1.5)


@given(seeds, st.floats(-2, 2), st.floats(0, 1), st.sampled_from([0, 5]))
def test_derivatives_agree_with_finite_differences(seed, b, bound, n_labels):
    rng = np.random.default_rng(seed)
    arguments, slow = some_density(rng, bound)
    labels, slow_labels = some_labels(rng, n_labels)
    first, second = _kernels.penalty.derivatives_at(b, *arguments, *labels)
    f = [naive.penalized(b + step, *slow) + naive.wrong_side(b + step, *slow_labels) for step in (1e-5, 0, -1e-5)]
    if abs(abs(b) - bound) > 1e-3 and abs(b) > 1e-3:  # away from the kinks
        assert_allclose(first, (f[0] - f[2]) / 2e-5, rtol=1e-4, atol=1e-5)
        slopes = [_kernels.penalty.derivatives_at(b + step, *arguments, *labels)[0] for step in (1e-6, -1e-6)]
        at_margin = np.abs(slow_labels[0] - np.sign(slow_labels[1]) * slow_labels[2] - b).min(initial=1)
        if at_margin > 1e-5:  # where a label begins to count the second derivative jumps
            assert_allclose(second, (slopes[0] - slopes[1]) / 2e-6, rtol=1e-4, atol=1e-4)


@given(seeds, st.floats(0, 1), st.sampled_from([0, 5]))
def test_refined_minimum_is_no_worse_than_a_fine_grid(seed, bound, n_labels):
    rng = np.random.default_rng(seed)
    arguments, slow = some_density(rng, bound)
    labels, slow_labels = some_labels(rng, n_labels)

    def value(b):
        return naive.penalized(b, *slow) + naive.wrong_side(b, *slow_labels)

    grid = np.linspace(-3, 3, 121)
    j = int(np.argmin([value(b) for b in grid]))
    j = min(max(j, 1), 119)
    b = _kernels.penalty.refine(grid[j - 1], grid[j + 1], *arguments, *labels)
    fine = min(value(x) for x in np.linspace(grid[j - 1], grid[j + 1], 500))
    assert value(b) <= fine + 1e-9


@given(seeds, st.integers(0, 30), st.integers(0, 40), st.floats(-3, 1))
def test_penalty_of_labels_on_a_grid_agrees_with_naive(seed, n_labels, n_points, low):
    labels, slow_labels = some_labels(np.random.default_rng(seed), n_labels)
    on_grid = _kernels.penalty.wrong_side_on_grid(low, 0.07, n_points, *labels)
    assert_allclose(on_grid, [naive.wrong_side(low + 0.07 * k, *slow_labels) for k in range(n_points)], atol=1e-12)
    assert_allclose(_kernels.penalty.wrong_side(low, *labels)[0], naive.wrong_side(low, *slow_labels), atol=1e-12)


def test_rounding_does_not_shorten_a_kernel_that_ends_on_a_grid_point(rng):
    values, weights = rng.normal(size=300), np.ones(300)
    values -= values.mean()
    found = []
    for h in 0.3 * (1 + 1e-15 * np.arange(-20, 21)):
        settings = _kernels.penalty.Settings(h, 0.9, 2.0, 1.5, 0.2 * h, 4.0, 1 << 16, 0)  # 4 h / 0.2 h is 20, or almost
        found.append(_kernels.penalty.least(values, weights, settings, None).value)
    assert_allclose(found, found[0], rtol=1e-11)


@given(seeds, st.floats(-40, 40), st.floats(0.01, 0.5), st.integers(1, 60))
def test_bells_on_a_grid_agree_with_the_exponential(seed, b, step, n_points):
    rng = np.random.default_rng(seed)
    low, bandwidth, bells = rng.normal(), rng.uniform(0.1, 2), np.empty(n_points)
    _kernels.penalty.fill_bells(b, low, step, bandwidth, bells)
    away = (b - low - step * np.arange(n_points)) / bandwidth
    assert_allclose(bells, np.exp(-0.5 * away**2), rtol=1e-9, atol=1e-12)
