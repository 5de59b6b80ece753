import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import naive

from ravine import _kernels
from ravine._matrix import moments_of
from ravine.cuts._pursuit import make_starts
from ravine.tree._scout import density_cut, density_scout

kernel = _kernels.scout


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(200, 6)) * [5, 3, 1, 1, 1, 1]
    return X - X.mean(axis=0), rng.uniform(0.5, 2, 200)


@pytest.mark.parametrize("n_columns", [6, 1200])  # with a scatter matrix, and by products
def test_components_span_the_directions_of_largest_variance(rng, n_columns):
    X = rng.normal(size=(60, n_columns))
    X[:, :2] *= [[300, 100]]
    weights = rng.uniform(0.5, 2, 60)
    V = kernel.components(X, weights, rng.normal(size=(2, n_columns)))
    _, vectors = np.linalg.eigh((X * weights[:, np.newaxis]).T @ X)
    assert_allclose(np.abs(V @ vectors[:, [-1, -2]]), np.eye(2), atol=0.02)
    assert_allclose(V @ V.T, np.eye(2), atol=1e-9)


def test_components_that_rows_do_not_span_are_zero(rng):
    X = np.outer(rng.normal(size=30), [1.0, 2.0, 2.0])
    V = kernel.components(X, np.ones(30), rng.normal(size=(3, 3)))
    assert_allclose(np.abs(V[0]), [1 / 3, 2 / 3, 2 / 3])
    assert_allclose(V[1:], 0)


def test_typical_gap_agrees_with_naive(rng):
    for values in (rng.normal(size=31), np.round(rng.normal(size=31), 2)):
        assert kernel.typical_gap(np.sort(values)) == pytest.approx(naive.typical_gap(values))


def test_a_value_that_many_rows_share_has_no_gap(rng):
    values = np.sort(np.append(rng.normal(size=80), np.zeros(20)))
    assert kernel.typical_gap(values) == -1


def test_striking_columns_have_the_smallest_and_the_largest_kurtosis(rng):
    X = rng.normal(size=(500, 20))
    X[:, 3], X[:, 7], X[:, 11] = np.sign(X[:, 3]), X[:, 7] ** 5, 0.0
    X -= X.mean(axis=0)
    found = kernel.striking_columns(X, np.ones(500), 500.0)
    order = np.argsort([np.inf if j == 11 else naive.kurtosis(X[:, j]) for j in range(20)])[:19]
    assert set(found.tolist()) == {*order[:4].tolist(), *order[-4:].tolist()}
    assert (found[0], found[1]) == (3, 7)


def test_depth_is_that_of_the_lower_mode_above_the_valley(rng):
    values = np.concatenate([rng.normal(size=4000), rng.normal(6, 1, 2000)])
    weights, bandwidth = np.ones(6000), 0.3
    at = np.linspace(-1, 7, 801)
    density = naive.density(values, weights, bandwidth, at)
    valley = 200 + density[200:500].argmin()
    lower = min(density[:valley].max(), density[valley:].max())
    assert kernel.depth_at(values, weights, bandwidth, at[valley]) == pytest.approx(
        lower / density[valley] - 1, rel=0.1
    )
    assert kernel.depth_at(values, weights, bandwidth, -30.0) == 0


@pytest.mark.parametrize("seed", range(5))
def test_scout_finds_a_valley_as_deep_as_that_of_the_search_in_parts(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) + 6.0 * np.outer(rng.uniform(size=300) < 0.5, rng.normal(size=5))
    weights = np.ones(300)
    moments = moments_of(X, weights)
    cut = density_cut(X, weights, moments, make_starts(2))
    assert abs(density_scout(X, weights, moments) @ cut.normal) > 0.95
