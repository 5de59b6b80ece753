import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels

kernel = _kernels.bisect


@pytest.fixture
def groups(rng):
    X = np.vstack([rng.normal(center, 1, (40, 3)) for center in ([0, 0, 0], [30, 0, 0], [0, 50, 9])])
    return X[rng.permutation(120)], rng.uniform(0.5, 2, 120)


def test_path_agrees_with_naive(rng, groups):
    for X, weights in (groups, (rng.normal(size=(60, 2)), np.ones(60)), (rng.exponential(size=(30, 1)), np.ones(30))):
        assert_allclose(
            kernel.path(X, weights, 6), naive.bisecting_path(X, weights, 6, kernel.N_POWERS, kernel.N_STEPS)
        )


def test_clear_groups_explain_nearly_all_of_the_squares(groups):
    path = kernel.path(*groups, 5)
    assert (np.diff(path) <= 0).all()
    assert path[2] < 0.02 * path[0]
    assert path[3] > 0.5 * path[2]


def test_rows_that_do_not_differ_are_not_divided():
    assert_array_equal(kernel.path(np.ones((5, 2)), np.ones(5), 3), np.zeros(3))
    assert_array_equal(kernel.between(np.ones((5, 2)), np.ones(5)), np.zeros(2))


def test_two_distinct_rows_make_two_groups():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    assert_allclose(kernel.path(X, np.ones(3), 4), [50 / 3, 0, 0, 0], atol=1e-12)


def test_direction_between_two_groups_is_that_of_their_means(groups):
    X, weights = groups
    direction = kernel.between(X, weights)
    assert abs(direction[1]) > 45
    assert abs(direction @ [0, 50, 9]) / np.linalg.norm(direction) / np.linalg.norm([0, 50, 9]) > 0.9


def test_threshold_of_values_agrees_with_naive(rng):
    for values in (rng.normal(size=30), np.round(rng.normal(size=30))):
        weights = rng.uniform(0.5, 2, 30)
        found = kernel.best_threshold(values, weights)
        assert naive.share_within_two(values, weights, 0.0) == pytest.approx(
            naive.sum_sq_of_sides(values, weights, found) / naive.sum_sq_of_sides(values, weights, np.inf)
        )
