import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import seeds

from ravine._convex import Points
from ravine._convex._points import order_of_rows


@given(st.integers(1, 30), st.integers(1, 4), seeds)
def test_points_are_the_distinct_rows_with_the_weights_of_their_copies(n, d, seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.integers(0, 3, (n, d)).astype(float), rng.uniform(0.5, 2, n)
    points = Points.of(X, weights)
    distinct, which = np.unique(X, axis=0, return_inverse=True)
    assert len(points.rows) == len(distinct)
    assert_array_equal(points.rows[points.member], X)
    assert_allclose(points.mass[points.member], np.bincount(which.ravel(), weights)[which.ravel()])
    assert_array_equal(points.find(X), points.member)


@given(st.integers(1, 30), st.integers(1, 4), seeds)
def test_points_do_not_depend_on_the_order_of_the_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(float)
    order = rng.permutation(n)
    one, other = Points.of(X, np.ones(n)), Points.of(X[order], np.ones(n))
    assert_array_equal(one.rows, other.rows)
    assert_array_equal(one.mass, other.mass)
    assert_array_equal(one.coordinates, other.coordinates)
    assert_array_equal(one.member[order], other.member)


def test_coordinates_have_no_origin_and_no_unit(rng):
    X, weights = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    points, moved = Points.of(X, weights), Points.of(1000 * X + 5, weights)
    assert_allclose(points.mass @ points.coordinates, 0, atol=1e-12)
    assert_allclose(points.mass @ (points.coordinates**2).sum(axis=1), weights.sum())
    assert_allclose(moved.coordinates[moved.member], points.coordinates[points.member], atol=1e-10)
    assert_allclose(moved.scale, 1000 * points.scale)


def test_rows_with_more_columns_than_points_keep_their_distances_in_fewer_coordinates(rng):
    points = Points.of(rng.normal(size=(5, 50)), np.ones(5))
    assert points.coordinates.shape == (5, 4)
    distance = np.linalg.norm(points.rows[:, None] - points.rows, axis=2)
    inside = np.linalg.norm(points.coordinates[:, None] - points.coordinates, axis=2)
    assert_allclose(points.scale * inside, distance, atol=1e-12)
    assert_allclose(points.to_rows(points.coordinates), points.rows, atol=1e-12)


def test_columns_that_depend_on_others_add_no_coordinate(rng):
    plane = rng.normal(size=(40, 2))
    for X, n_coordinates in (
        (np.repeat(plane[:, :1], 100, axis=1), 1),
        (1e6 + np.repeat(plane, 3, axis=1), 2),
        (plane @ rng.normal(size=(2, 9)), 2),
        (np.c_[plane, 1e-9 * rng.normal(size=40)], 3),
    ):
        points = Points.of(X, np.ones(40))
        assert points.coordinates.shape == (40, n_coordinates)
        assert_allclose(points.to_rows(points.coordinates), points.rows, rtol=1e-9)


def test_coordinates_lead_back_to_the_rows(rng):
    points = Points.of(1e3 + rng.normal(size=(20, 2)), np.ones(20))
    assert_allclose(points.to_rows(points.coordinates), points.rows, rtol=1e-12)


def test_rows_that_are_no_point_are_not_found(rng):
    X = rng.normal(size=(20, 2))
    found = Points.of(X, np.ones(20)).find(np.concatenate([X[:3], X[:3] + 1e-12]))
    assert (found[:3] >= 0).all()
    assert (found[3:] == -1).all()


def test_values_at_the_edge_of_what_numbers_can_hold_have_finite_coordinates():
    for size in (1e-150, 1e150):
        points = Points.of(size * np.array([[-1.0], [0.0], [1.0]]), np.ones(3))
        assert_allclose(points.coordinates[:, 0], np.sqrt(1.5) * np.array([-1, 0, 1]), atol=1e-12)


def test_equal_rows_are_one_point_at_the_origin():
    points = Points.of(np.full((4, 2), 7.0), np.ones(4))
    assert not points.coordinates.any()
    assert_array_equal(points.to_rows(points.coordinates), [[7.0, 7.0]])
    assert_array_equal(points.mass, [4.0])
    assert points.scale == 1.0


def test_ordered_rows_have_equal_ones_together(rng):
    X = rng.integers(0, 2, (50, 3)).astype(float)
    ordered = X[order_of_rows(X)]
    n_runs = 1 + (ordered[1:] != ordered[:-1]).any(axis=1).sum()
    assert n_runs == len(np.unique(X, axis=0))
