"""λ₂ of projected points against dense matrices and finite differences."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.cuts.graphs import both_laplacians, cloud, differences

from ravine.cuts import _connectivity, _similarity
from ravine.cuts._connectivity import Connectivity
from ravine.cuts._pursuit import descend


def test_tiny_scales_leave_nothing_to_compare(rng):
    points, counts = cloud(rng)
    assert Connectivity(points, counts, 1e-170, 2.0, False).minimize(np.eye(4)[:2]) is None


@both_laplacians
@pytest.mark.parametrize("n_directions", [1, 2, 3])
@pytest.mark.parametrize("bound", [0.7, 4.0], ids=["outside", "inside"])
@pytest.mark.parametrize("correlation", [0.0, 1.0, -0.1])
def test_connectivity_and_its_gradient_agree_with_dense_matrices(normalized, n_directions, bound, correlation, rng):
    points, counts = cloud(rng)
    objective = Connectivity(points, counts, 0.8, bound, normalized, correlation)

    def value(flat):
        directions = flat.reshape(n_directions, 4)
        return naive.connectivity(points, counts, directions, 0.8, bound, normalized, correlation)[0]

    for _ in range(3):
        flat = rng.normal(size=4 * n_directions) * np.repeat(rng.uniform(0.5, 2, size=n_directions), 4)
        ours, view, gradient = objective(flat)
        assert ours == pytest.approx(value(flat), abs=1e-8)
        assert_allclose(gradient(), differences(value, flat), atol=1e-5)
        assert (np.abs(view.values) > bound * view.deviation).any() == (bound < 1)


def test_symmetry_does_not_hide_the_second_eigenvalue():
    points = np.array(list(itertools.product([-10, -5, 0, 5, 10.0], [-4, -3.5, 3.5, 4.0], [-1, 0, 1.0])))
    ours = Connectivity(points, np.ones(60), 1.0, 3.0, False)(np.eye(3).ravel())[0]
    assert ours == pytest.approx(naive.connectivity(points, np.ones(60), np.eye(3), 1.0, 3.0, False)[0], rel=1e-6)


@both_laplacians
def test_end_of_a_search_is_no_worse_than_its_neighbors(normalized, rng):
    points, counts = cloud(rng, n=60)
    objective = Connectivity(points, counts, 0.8, 2.0, normalized, 1.0)
    start = np.eye(4)[2:]
    view = objective.minimize(start, 1e-7)
    end = objective(view.directions.ravel())[0]
    assert end < objective(start.ravel())[0] - 0.1
    for _ in range(50):
        assert objective((view.directions + 0.03 * rng.normal(size=(2, 4))).ravel())[0] >= end - 1e-5


def square():
    """Corners of a square: both axes carry λ₂, and neither has a derivative, since to turn left is to turn right.

    One side is longer by a hair, so that the vector along it is found, and not a mixture of both.
    """
    return np.array(list(itertools.product([-1.0, 1.0], [-1 + 1e-7, 1 - 1e-7])))


@both_laplacians
def test_repeated_eigenvalue_is_chunked_by_a_step_along_a_coordinate(normalized, monkeypatch):
    monkeypatch.setattr(_similarity, "NOISE", 0.0)
    objective = Connectivity(square(), np.full(4, 3.0), 0.5, 3.0, normalized)
    start = np.eye(2).ravel()
    value, view, gradient = objective(start)
    assert view.next_value == pytest.approx(view.value, rel=1e-6)
    assert_allclose(gradient(), 0, atol=1e-6)
    lower = objective.decoupled(start)
    new_value, new_view, _ = objective(lower)
    assert np.count_nonzero(lower - start) == 1
    assert new_value < value - 0.05
    assert new_view.next_value > 1.05 * new_view.value


@both_laplacians
def test_search_that_ends_at_a_repeated_eigenvalue_goes_on(normalized, monkeypatch):
    starts = []

    def stuck_at_first(evaluate, start, tolerance):
        starts.append(start)
        return (start, *evaluate(start)[:2]) if len(starts) == 1 else descend(evaluate, start, tolerance)

    monkeypatch.setattr(_connectivity, "descend", stuck_at_first)
    objective = Connectivity(square(), np.full(4, 3.0), 0.5, 3.0, normalized)
    end = objective.minimize(np.eye(2))
    assert np.count_nonzero(starts[1] - starts[0]) == 1
    assert np.log(end.value) < objective(starts[0])[0] - 0.1
    assert end.next_value > 1.05 * end.value


@both_laplacians
def test_step_along_a_coordinate_goes_down_on_either_side(normalized, rng):
    points, counts = cloud(rng)
    objective = Connectivity(points, counts, 0.8, 2.0, normalized)
    signs = set()
    for _ in range(8):
        flat = rng.normal(size=8)
        value, _, gradient = objective(flat)
        steepest = np.abs(gradient()).argmax()
        step = objective.decoupled(flat) - flat
        assert_array_equal(np.flatnonzero(step), [steepest])
        assert objective(flat + step)[0] < value
        signs.add(np.sign(step[steepest]))
    assert signs == {-1, 1}


def test_no_step_is_made_where_every_derivative_is_zero(rng):
    points = rng.normal(size=(9, 1))
    objective = Connectivity(points - points.mean(), np.ones(9), 0.5, 3.0, False)
    assert_array_equal(objective.decoupled(np.ones(1)), np.ones(1))


@pytest.mark.parametrize("normalized", [True, False])
def test_a_connection_without_digits_for_its_derivative_counts_as_none(normalized):
    points = np.repeat([[0.0, 0.0], [3.0, 1.0]], 10, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(20, 2))
    points -= points.mean(axis=0)
    start, values = np.eye(2)[:1].ravel(), []
    for scale in (0.1, 0.006):
        objective = Connectivity(points, np.full(20, 1e12), scale, 3.0, normalized)
        values.append(objective(start)[0])
    assert np.isfinite(values[0])
    assert values[1] == np.inf
