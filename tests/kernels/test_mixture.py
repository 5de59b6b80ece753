import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels


@pytest.fixture
def mixture(rng):
    d, k = 4, 5
    factor = np.tril(rng.normal(size=(k, d, d))) + 2 * np.eye(d)
    factor = factor * np.sign(np.diagonal(factor, axis1=1, axis2=2))[:, :, np.newaxis]
    weight, mean = rng.dirichlet(np.ones(k)), 2 * rng.normal(size=(k, d))
    covariance = np.array([np.linalg.inv(each.T @ each) for each in factor])
    volume = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    return weight, mean, covariance, factor, np.log(weight) + volume - d / 2 * np.log(2 * np.pi)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_log_densities_agree_with_naive(mixture, rng, dtype):
    weight, mean, covariance, factor, constant = mixture
    X, out = rng.normal(size=(30, 4)).astype(dtype), np.empty((30, 5))
    _kernels.mixture.log_densities(X, mean, factor, constant, out)
    assert_allclose(out, naive.log_joint(X.astype(np.float64), weight, mean, covariance))


@pytest.mark.parametrize("first", [0, 3])
def test_likeliest_component_is_that_of_the_largest_density_wherever_the_search_starts(mixture, rng, first):
    weight, mean, covariance, factor, constant = mixture
    X, out = 3 * rng.normal(size=(200, 4)), np.empty(200, dtype=np.int64)
    _kernels.mixture.likeliest(X, mean, factor, constant, np.full(200, first), out)
    assert_array_equal(out, naive.log_joint(X, weight, mean, covariance).argmax(axis=1))
    assert len(np.unique(out)) > 2


def test_equal_components_give_the_first_one(mixture):
    _, mean, _, factor, constant = mixture
    twice = [np.concatenate([array[[1, 1]], array[2:]]) for array in (mean, factor, constant)]
    out = np.empty(1, dtype=np.int64)
    for first in (0, 1):
        _kernels.mixture.likeliest(mean[[1]], *twice, np.array([first]), out)
        assert out[0] == 0


def test_rows_without_any_density_keep_the_component_they_had(mixture):
    _, mean, _, factor, constant = mixture
    out = np.empty(1, dtype=np.int64)
    _kernels.mixture.likeliest(np.full((1, 4), 1e200), mean, factor, constant, np.array([3]), out)
    assert out[0] == 3
