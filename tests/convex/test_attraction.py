import numpy as np
from numpy.testing import assert_array_equal

from ravine import _kernels
from ravine._convex import Points, _attraction, gaussian_weights, nearest_center, nearest_neighbor


def test_weak_forces_leave_a_row_at_its_nearest_center(rng):
    rows, centers = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    near = np.linalg.norm(rows[:, None] - centers, axis=2).argmin(axis=1)
    assert_array_equal(nearest_center(rows, centers, np.ones(5), 1e-9), near)


def test_strong_forces_take_a_row_to_the_heaviest_center(rng):
    centers = np.array([[0.0, 0.0], [5.0, 0.0]])
    assert_array_equal(nearest_center(rng.normal(size=(9, 2)), centers, np.array([1.0, 50.0]), 10.0), 1)


def test_neighbors_pull_with_the_weights_of_their_edges(rng, monkeypatch):
    X, rows = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    points = Points.of(X, rng.uniform(0.5, 2, 40))
    centroids = 0.5 * points.rows
    expected = []
    for row in rows:
        distance = np.linalg.norm(points.rows - row, axis=1)
        near = np.argsort(distance)[:6]
        weight = np.sqrt(points.mass[near]) * gaussian_weights(distance[near], 0.7, 2.0)
        out = np.empty(1, dtype=np.int64)
        _kernels.pairs.attract(row[None], centroids[near][None], weight[None], 0.2, _attraction.STEPS, out)
        expected.append(near[out[0]])
    for cells in (1, 1 << 20):
        monkeypatch.setattr(_attraction, "BLOCK_CELLS", cells)
        assert_array_equal(nearest_neighbor(rows, points, centroids, 0.2, 6, 0.7, 2.0, 1), expected)


def test_all_points_are_neighbors_where_there_are_few(rng):
    points = Points.of(np.array([[0.0], [1.0]]), np.ones(2))
    assert_array_equal(nearest_neighbor(np.array([[-1.0], [3.0]]), points, points.rows, 1e-9, 10, 1.0, 1.0, 1), [0, 1])
