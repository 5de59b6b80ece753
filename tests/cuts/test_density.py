import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import naive

from ravine.cuts._density import MAX_BINS, normal_bandwidth, projected_density


@pytest.mark.parametrize("n", [5, 100, 5000])
@pytest.mark.parametrize("draw", ["normal", "standard_cauchy"])
def test_binned_density_agrees_with_the_exact_sum(n, draw, rng):
    values, weights = getattr(rng, draw)(size=n), rng.uniform(size=n)
    along = projected_density(values, weights, normal_bandwidth(values, weights, 1.06))
    index = np.linspace(0, len(along.density) - 1, 200).astype(int)
    exact = naive.density(values, weights, along.bandwidth, along.at(index))
    # Linear binning adds at most a quarter of a squared step to each row's variance, and a bandwidth has four steps.
    assert_allclose(along.density[index], exact, atol=0.011 * exact.max())


def test_binned_density_of_many_bins_per_bandwidth_is_exact_to_four_digits(rng):
    values, weights = rng.normal(size=50), np.ones(50)
    along = projected_density(values, weights, 0.5)
    exact = naive.density(values, weights, 0.5, along.at(np.arange(len(along.density))))
    assert_allclose(along.density, exact, atol=2e-4 * exact.max())


def test_density_integrates_to_one(rng):
    values = np.concatenate([rng.normal(size=300), rng.normal(100, size=300)])
    along = projected_density(values, np.ones(600), normal_bandwidth(values, np.ones(600), 1.06))
    assert along.density.sum() * along.step == pytest.approx(1, abs=2e-3)


def test_integer_weight_equals_repeated_value(rng):
    values, repeats = rng.normal(size=40), rng.integers(1, 4, size=40)
    once = projected_density(values, repeats.astype(float), 0.3)
    often = projected_density(np.repeat(values, repeats), np.ones(repeats.sum()), 0.3)
    assert_allclose(once.density, often.density, rtol=1e-12)
    assert normal_bandwidth(values, repeats.astype(float), 1.0) == pytest.approx(
        normal_bandwidth(np.repeat(values, repeats), np.ones(repeats.sum()), 1.0)
    )


def test_gap_between_far_values_has_density_zero_and_a_finite_depth():
    values = np.array([0.0, 1e-3, 1.0, 1.001])
    along = projected_density(values, np.ones(4), 0.01)
    ((valley, left, right, _),) = along.valleys()
    assert along.density[valley] == 0
    assert along.at(valley) == pytest.approx(0.5, abs=0.05)
    assert 1e10 < along.relative_depth(valley, left, right) < np.inf


def test_grid_is_bounded_however_far_an_outlier_lies(rng):
    values = np.append(rng.normal(size=100), 1e12)
    along = projected_density(values, np.ones(101), 0.1)
    assert len(along.density) == MAX_BINS
    assert len(along.valleys()) == 1


def test_relative_depth_by_hand():
    along = projected_density(np.array([0.0, 3.0]), np.ones(2), 1.0)
    ((valley, left, right, _),) = along.valleys()
    peak, middle = naive.density(np.array([0.0, 3.0]), np.ones(2), 1.0, [0.023, 1.5])
    assert along.relative_depth(valley, left, right) == pytest.approx(peak / middle - 1, rel=1e-2)
