import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels

FREEDOM = 7.0
POWER = (FREEDOM + 4) / 2


@pytest.fixture
def mixture(rng):
    d, k = 4, 5
    factor = np.tril(rng.normal(size=(k, d, d))) + 2 * np.eye(d)
    factor = factor * np.sign(np.diagonal(factor, axis1=1, axis2=2))[:, :, np.newaxis]
    weight, mean = rng.dirichlet(np.ones(k)), 2 * rng.normal(size=(k, d))
    shape = np.array([np.linalg.inv(each.T @ each) for each in factor])
    at_means = naive.log_joint(mean, weight, mean, shape, FREEDOM)
    return weight, mean, shape, factor, np.diag(at_means).copy()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_distances_agree_with_naive(mixture, rng, dtype):
    _, mean, shape, factor, _ = mixture
    X, out = rng.normal(size=(30, 4)).astype(dtype), np.empty((30, 5))
    _kernels.mixture.squared_distances(X, mean, factor, out)
    for k in range(5):
        apart = X.astype(np.float64) - mean[k]
        assert_allclose(out[:, k], [x @ np.linalg.inv(shape[k]) @ x for x in apart])


def test_squared_distance_is_that_of_the_component_of_each_row(mixture, rng):
    _, mean, _, factor, _ = mixture
    X, component = rng.normal(size=(30, 4)), rng.integers(0, 5, 30)
    for factors in (factor, factor[:1]):
        every, out = np.empty((30, 5)), np.empty(30)
        _kernels.mixture.squared_distances(X, mean, factors, every)
        _kernels.mixture.squared_distance(X, component, mean, factors, out)
        assert_array_equal(out, every[np.arange(30), component])


@pytest.mark.parametrize("first", [0, 3])
def test_likeliest_component_is_that_of_the_largest_density_wherever_the_search_starts(mixture, rng, first):
    weight, mean, shape, factor, constant = mixture
    X, out = 3 * rng.normal(size=(500, 4)), np.empty(500, dtype=np.int64)
    _kernels.mixture.likeliest(X, mean, factor, constant, FREEDOM, POWER, np.full(500, first), out)
    assert_array_equal(out, naive.log_joint(X, weight, mean, shape, FREEDOM).argmax(axis=1))
    assert len(np.unique(out)) > 2


def test_equal_components_give_the_first_one(mixture):
    _, mean, _, factor, constant = mixture
    twice = [np.concatenate([array[[1, 1]], array[2:]]) for array in (mean, factor, constant)]
    out = np.empty(1, dtype=np.int64)
    for first in (0, 1):
        _kernels.mixture.likeliest(mean[[1]] + 0.1, *twice, FREEDOM, POWER, np.array([first]), out)
        assert out[0] == 0


def test_rows_without_any_density_keep_the_component_they_had(mixture):
    _, mean, _, factor, constant = mixture
    out = np.empty(1, dtype=np.int64)
    _kernels.mixture.likeliest(np.full((1, 4), 1e200), mean, factor, constant, FREEDOM, POWER, np.array([3]), out)
    assert out[0] == 3
