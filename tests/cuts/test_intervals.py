"""The valley of a sample that is known by intervals: its cut, the bandwidth, and the density of uniform pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from tests.strategies import seeds

from ravine import _kernels
from ravine._kernels.intervals import HIGH, LOW, WEIGHT
from ravine.cuts import _intervals
from ravine.cuts._intervals import density_of, find_valley, mass_below, pieces_of, spread_of


def sample_of(values, limit=100):
    sample, n = np.zeros((_kernels.intervals.N_ROWS, limit + 1)), 0
    for x in values:
        n, _ = _kernels.intervals.insert(sample, n, limit, x, 1.0)
    return sample[:, :n]


def pieces(values, limit=100):
    sample = sample_of(values, limit)
    return sample[LOW], sample[HIGH], sample[WEIGHT] / sample[WEIGHT].sum()


def two_gaussians(rng, n=2000, share=0.5, distance=5.0, scale=1.0):
    return np.where(rng.uniform(size=n) < share, rng.normal(0, 1, n), rng.normal(distance, scale, n))


@pytest.mark.parametrize(("share", "distance", "scale"), [(0.5, 5, 1), (0.3, 6, 1), (0.5, 6, 0.5), (0.7, 4, 0.7)])
@pytest.mark.parametrize(("limit", "error"), [(30, 2.0), (100, 0.7)])
def test_cut_lies_near_the_antimode_of_two_gaussians(share, distance, scale, limit, error, rng):
    found = find_valley(sample_of(two_gaussians(rng, 2000, share, distance, scale), limit), 0.3)
    antimode = minimize_scalar(
        lambda x: share * norm.pdf(x) + (1 - share) * norm.pdf(x, distance, scale), bounds=(0, distance)
    ).x
    assert abs(found.position - antimode) < error
    assert share * norm.sf(found.position) + (1 - share) * norm.cdf(found.position, distance, scale) < 0.05
    assert abs(found.left_mode) < 1
    assert abs(found.right_mode - distance) < 1
    assert found.left_mode < found.position < found.right_mode
    assert found.relative_depth > 1
    assert 0 < found.inner_mass < 0.3 * found.outer_mass


def test_inner_region_goes_a_share_of_the_way_to_the_nearest_mode(rng):
    three = rng.permutation(np.concatenate([rng.normal(0, 1, 1000), rng.normal(7, 1, 1100), rng.normal(14, 1, 1200)]))
    found = find_valley(sample_of(three), 0.4)
    assert 2 < found.position < 12
    nearest = min(abs(found.position - mode) for mode in (0, 7, 14))
    assert found.reach == pytest.approx(0.4 * nearest, abs=0.3)


@given(seeds, st.sampled_from([20, 60, 100]), st.floats(3.5, 8))
def test_bandwidth_is_the_smallest_with_two_components(seed, limit, distance):
    sample = sample_of(two_gaussians(np.random.default_rng(seed), 400, distance=distance), limit)
    bandwidths = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_intervals, "density_of", lambda *args: bandwidths.append(args[3]) or density_of(*args))
        assert find_valley(sample, 0.3) is not None
    low, high, weight = sample[LOW], sample[HIGH], sample[WEIGHT] / sample[WEIGHT].sum()
    grid = np.unique(np.concatenate([low, high, (low + high) / 2, (high[:-1] + low[1:]) / 2]))
    room = 2 * len(low) + 2
    arrays = *np.empty((3, room)), *np.empty((4, room), dtype=np.int64)
    _, level = _kernels.intervals.dip(np.ascontiguousarray(sample), len(low), *arrays)

    def n_components(bandwidth):
        is_above = density_of(low, high, weight, bandwidth, grid) >= level
        return np.sum(np.diff(is_above, prepend=False) & is_above)

    last_step = np.log(4 / _intervals.NARROWEST) / 2**_intervals.BISECTIONS
    chosen = bandwidths[-1]
    assert n_components(chosen) == 2
    assert n_components(chosen * np.exp(-1.01 * last_step)) > 2 or chosen < 1.001 * min(bandwidths)


def test_sample_without_a_second_mode_has_no_valley():
    assert find_valley(sample_of(np.full(30, 2.0)), 0.3) is None
    assert find_valley(sample_of(np.arange(100.0), limit=200), 0.3) is None


def test_far_outliers_hardly_move_the_cut(rng):
    values = two_gaussians(rng, 1000)
    plain = find_valley(sample_of(values), 0.3)
    for outliers in ([1e3], [-1e3, 1e3], [1e5]):
        found = find_valley(sample_of([*values, *outliers]), 0.3)
        assert abs(found.position - plain.position) < 0.7
        assert abs(found.left_mode) < 1
        assert abs(found.right_mode - 5) < 1


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("limit", [6, 200])
def test_density_of_pieces_is_their_mixture_and_masses_are_its_integrals(bandwidth, limit, rng):
    low, high, weight = pieces(two_gaussians(rng, 100), limit)
    x = np.linspace(-4, 9, 40)
    expected = [
        sum(
            w * ((norm.cdf((at - a) / bandwidth) - norm.cdf((at - b) / bandwidth)) / (b - a))
            if b > a
            else w * norm.pdf(at, a, bandwidth)
            for a, b, w in zip(low, high, weight, strict=True)
        )
        for at in x
    ]
    assert_allclose(density_of(low, high, weight, bandwidth, x), expected, atol=1e-12)
    grid = np.linspace(-25, 30, 40_001)
    density = density_of(low, high, weight, bandwidth, grid)
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-5)
    below = mass_below(low, high, weight, bandwidth, np.array([0.0, 2.5, 30.0]))
    for place, mass in zip([0.0, 2.5, 30.0], below, strict=True):
        assert mass == pytest.approx(np.trapezoid(density[grid <= place], grid[grid <= place]), abs=2e-3)
    between = quad(lambda at: density_of(low, high, weight, bandwidth, np.array([at]))[0], 1.0, 2.0, limit=200)[0]
    assert np.diff(mass_below(low, high, weight, bandwidth, np.array([1.0, 2.0])))[0] == pytest.approx(
        between, abs=1e-7
    )


def test_pieces_hold_all_values_and_their_shares_of_the_weight(rng):
    values = two_gaussians(rng, 300)
    low, high, weight = pieces_of(sample_of(values, limit=20))
    assert len(low) <= 21
    assert (low <= high).all()
    assert (low[0], high[-1]) == (values.min(), values.max())
    assert weight.sum() == pytest.approx(1)


def test_spread_of_points_is_their_deviation_and_of_a_piece_that_of_a_uniform_distribution(rng):
    values = rng.normal(size=50)
    assert spread_of(values, values, np.full(50, 0.02)) == pytest.approx(values.std())
    assert spread_of(np.array([2.0]), np.array([5.0]), np.ones(1)) == pytest.approx(3 / np.sqrt(12))


@pytest.mark.parametrize(("shift", "scale"), [(100.0, 1.0), (0.0, 1e-6), (-3.0, 1e6)])
def test_cut_moves_with_the_data(shift, scale, rng):
    values = two_gaussians(rng, 1000)
    plain, moved = (find_valley(sample_of(x), 0.3) for x in (values, scale * values + shift))
    assert moved.position == pytest.approx(scale * plain.position + shift, abs=0.05 * scale)
    assert moved.relative_depth == pytest.approx(plain.relative_depth, rel=0.1)
