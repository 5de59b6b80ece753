import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine._matrix import moments_of
from ravine.cuts._projection import CenteredRows, Projection, middle_of_widest_gap, threshold


def rows_of(X):
    return CenteredRows(X, np.ones(len(X)), moments_of(X, np.ones(len(X))), None)


def projection_of(rows, directions, is_left):
    positions = rows.project(directions)
    return Projection(directions, positions, rows.weights, is_left, 0.5, 1.0, 3.0, positions)


def test_projected_rows_are_centered_and_in_units(rng):
    X = 7 * rng.normal(size=(50, 3)) + 100
    rows = rows_of(X)
    values = rows.project(np.eye(3))
    assert_allclose(values, (X - X.mean(axis=0)) / rows.unit, atol=1e-12)
    assert (values**2).mean() == pytest.approx(1.0)


def test_threshold_puts_the_least_weight_on_the_wrong_side():
    values, is_left = np.array([3.0, 0.0, 1.0, 2.0]), np.array([False, True, False, True])
    assert threshold(values, is_left, np.ones(4)) == (0.0, 1.0)
    assert threshold(values, is_left, np.array([1.0, 1.0, 1.0, 5.0])) == (2.0, 3.0)


def test_position_is_the_middle_of_the_widest_gap_between_two_points():
    values = np.array([-9.0, 0.1, 0.2, 0.9, 5.0])
    assert middle_of_widest_gap(values, 0.0, 1.0) == pytest.approx(0.55)
    assert middle_of_widest_gap(values, 1.0, 4.0) == pytest.approx(2.5)


def test_cut_of_a_line_is_a_hyperplane_between_the_sides(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), rng.normal([9, 0], size=(20, 2))])
    rows, is_left = rows_of(X), np.arange(50) >= 30
    projection = projection_of(rows, np.array([[-1.0, 0.0]]), is_left)
    assert projection.lighter_side == 20
    cut = projection.cut(rows)
    assert cut.surface is None
    assert_array_equal(cut.normal, [1.0, 0.0])
    assert X[:30, 0].max() < cut.offset < X[30:, 0].min()
    assert cut.value == 0.5


def test_cut_of_a_plane_is_a_surface_with_the_discriminant_near_it(rng):
    X = np.concatenate([rng.normal(size=(40, 3)), rng.normal([9, 9, 0], size=(40, 3))])
    rows, is_left = rows_of(X), np.arange(80) < 40
    cut = projection_of(rows, np.eye(3)[:2], is_left).cut(rows)
    assert_array_equal(cut.goes_left(X), is_left)
    assert_array_equal(X @ cut.normal < cut.offset, is_left)
    assert_allclose(np.abs(cut.normal), [0.5**0.5, 0.5**0.5, 0], atol=0.2)
