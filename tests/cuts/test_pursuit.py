"""The search for a direction, and where it starts; objectives are tested in files of their own."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import naive
from tests.cuts.objectives import cloud

from ravine._matrix import moments_of, weighted_sum
from ravine.cuts import _pursuit
from ravine.cuts._ncut import NormalizedCut
from ravine.cuts._pursuit import descend, make_starts, pursue, search


@dataclass
class Quadratic:
    """Σ wᵢ (tᵢ - targetᵢ)², least where the direction is the one that made the target."""

    target: np.ndarray
    tolerance: float = 1e-14

    def __call__(self, values, weights):
        gap = values - self.target
        return float(weights @ gap**2), 0.0, lambda: 2 * weights * gap


def test_search_finds_the_minimum_of_a_smooth_function(rng):
    X = rng.normal(size=(200, 6))
    X -= X.mean(axis=0)
    best = rng.normal(size=6)
    best /= np.linalg.norm(best)
    found = search(X, np.ones(200), np.zeros(6), Quadratic(X @ best), np.eye(6)[0])
    assert_allclose(found.direction, best, atol=1e-5)


def test_descent_returns_what_belongs_to_the_accepted_point():
    tried = []

    def evaluate(v):
        tried.append(v)
        return float(np.abs(v).sum()), v, lambda: np.sign(v)

    point, value, extra = descend(evaluate, np.array([0.3, -0.2]), 1e-9)
    assert extra is not tried[-1]  # the last steps cross the kink, and none of them goes down
    assert value == np.abs(point).sum()
    np.testing.assert_array_equal(extra, point)


def test_large_nodes_end_at_a_stationary_point_of_all_rows(rng, monkeypatch):
    monkeypatch.setattr(_pursuit, "COARSE_ABOVE", 1000)
    monkeypatch.setattr(_pursuit, "COARSE_ROWS", 300)
    X, _, _ = cloud(rng, n=4000)
    moments = moments_of(X, np.ones(4000))
    objective = NormalizedCut(5.0, 0.01)
    found = pursue(X, np.ones(4000), moments.mean, objective, np.eye(4)[0])
    c = objective((X - moments.mean) @ found.direction, np.ones(4000))[2]()
    by_direction = weighted_sum(X, c) - c.sum() * moments.mean
    gradient = by_direction - (by_direction @ found.direction) * found.direction
    assert np.linalg.norm(gradient) < 2e-3
    alone = search(X, np.ones(4000), moments.mean, objective, np.eye(4)[0])
    assert abs(found.direction @ alone.direction) > 0.999


@pytest.mark.parametrize("init", ["pca", 1, 2])
def test_starts_are_principal_components(init, rng):
    X = rng.normal(size=(100, 3)) * [3, 2, 1]
    moments = moments_of(X, np.ones(100))
    starts = make_starts(init)(X, np.ones(100), moments)
    assert starts.shape == (1 if init == "pca" else init, 3)
    assert_allclose(starts[0], naive.principal_direction(X, np.ones(100)), atol=1e-4)
    assert_allclose(np.linalg.norm(starts, axis=1), 1, rtol=1e-15)


def test_starts_may_be_given_or_made(rng):
    X = rng.normal(size=(10, 3))
    moments = moments_of(X, np.ones(10))
    for init in ([[0, 3, 0]], lambda rows: np.array([0.0, 3, 0])):
        assert_allclose(make_starts(init)(X, np.ones(10), moments), [[0, 1, 0]])
    for bad in ([[0, 0, 0]], [[1, 2]], [[np.nan, 1, 1]]):
        with pytest.raises(ValueError, match=r"init gives directions of shape .* 3 finite numbers"):
            make_starts(bad)(X, np.ones(10), moments)


def test_derivatives_of_another_length_than_the_rows_are_refused(rng):
    class Short:
        tolerance = 1e-6

        def __call__(self, values, weights):
            return 1.0, 0.0, lambda: np.zeros(len(values) - 1)

    X, weights = rng.normal(size=(20, 3)), np.ones(20)
    with pytest.raises(ValueError, match=r"derivatives of shape \(19,\) for 20 rows"):
        search(X, weights, X.mean(axis=0), Short(), np.eye(3)[0])
