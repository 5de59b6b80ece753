"""λ₂ of masses on a line against points and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cuts.graphs import both_laplacians, cloud, differences, same_partition

from ravine.cuts._connectivity import Connectivity
from ravine.cuts._line_connectivity import LineConnectivity
from ravine.cuts._pursuit import search


def values_on_a_line(rng, n=80):
    """Values and weights; those outside a bound of 1 are many, and some lie beyond what the grid reaches."""
    values, weights = np.concatenate([rng.uniform(-2, 0, size=n // 2), rng.uniform(0.5, 2, size=n // 2)]), np.ones(n)
    weights[::3] = 2.0
    return values - np.average(values, weights=weights), weights


@both_laplacians
@pytest.mark.parametrize("bound", [0.8, 3.0], ids=["outside", "inside"])
def test_gradient_on_a_line_agrees_with_finite_differences(normalized, bound, rng):
    values, weights = values_on_a_line(rng)
    objective = LineConnectivity(0.15, bound, normalized, 1.7, 0.02, 1e-4)
    gradient = objective(values, weights)[2]()
    expected = differences(lambda v: objective(v, weights)[0], values, 1e-7)
    moved = np.abs(values) / 1.7 > bound * np.sqrt(np.average(values**2, weights=weights)) / 1.7 + 0.3
    assert moved.any() == (bound < 1)
    assert_allclose(gradient, expected, atol=2e-5 * np.abs(expected).max())


@both_laplacians
def test_line_tends_to_the_points_as_its_grid_gets_finer(normalized, rng):
    values, weights = values_on_a_line(rng, n=40)
    objective = Connectivity(values[:, np.newaxis], weights, 0.3, 2.0, normalized)
    exact, view, _ = objective(np.ones(1))
    errors, places = [], []
    for step in (0.1, 0.05, 0.02, 0.01):
        on_grid, place, _ = LineConnectivity(0.3, 2.0, normalized, 1.0, step, 1e-4)(values, weights)
        errors.append(abs(on_grid - exact))
        places.append(place)
    assert errors[-1] < 1e-3
    assert errors[-1] < 0.1 * errors[0]
    assert same_partition(objective.best_cut(view), values < places[-1])


@both_laplacians
def test_line_gradient_by_direction_tends_to_that_of_the_points(normalized, rng):
    points, counts = cloud(rng, n=40, d=3)
    direction = np.array([0.8, 0.6, 0.0])
    _, _, gradient = Connectivity(points, counts, 0.8, 4.0, normalized)(direction)
    c = LineConnectivity(0.8, 4.0, normalized, 1.0, 0.01, 1e-4)(points @ direction, counts)[2]()
    by_direction = points.T @ c
    assert_allclose(by_direction - (by_direction @ direction) * direction, gradient(), atol=0.04)


def test_vanished_similarities_give_an_infinite_value_that_ends_a_search(rng):
    values = np.concatenate([rng.uniform(size=20), 1e6 + rng.uniform(size=20)])
    values -= values.mean()
    objective = Connectivity(values[:, np.newaxis], np.ones(40), 1e-3, 3.0, False)
    assert objective(np.ones(1))[0] == np.inf
    assert_array_equal(objective(np.ones(1))[2](), [0.0])
    assert objective.minimize(np.ones((1, 1))) is None
    on_line = LineConnectivity(1.0, 3.0, False, 1.0, 1e5, 1e-4)
    assert on_line(values, np.ones(40))[0] == np.inf
    found = search(values[:, np.newaxis], np.ones(40), np.zeros(1), on_line, np.ones(1))
    assert_array_equal(found.direction, [1.0])
    assert found.value == np.inf
