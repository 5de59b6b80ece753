"""All rows along a direction: projections, grids, gradients and samples, the same on any number of threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.cuts.objectives import cloud

from ravine import _blocks
from ravine._lattice import even_positions, even_rows, nearest_rows
from ravine._matrix import moments_of
from ravine.cuts import _along
from ravine.cuts._along import Along, deviation_along, values_along
from ravine.cuts._density import depth_at
from ravine.cuts._mdh import PenalizedDensity
from ravine.cuts._ncut import NormalizedCut
from ravine.cuts._pursuit import search_in_passes, search_on_line

kinds = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
KINDS = ["normal", "rounded", "far", "heavy tails", "twice", "one value"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 100)


@pytest.fixture
def rows(rng):
    X, weights, moments = cloud(rng, n=700)
    v = rng.normal(size=4)
    return X, weights, moments, v / np.linalg.norm(v)


@kinds
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_values_and_their_moments_are_those_of_the_projected_rows(make, n_jobs, rows):
    X, weights, moments, v = rows
    along = Along.of(make(X), weights, moments.mean, v, n_jobs)
    values = (X - moments.mean) @ v
    assert_allclose(along.values, values, atol=1e-12)
    assert (along.low, along.high) == pytest.approx((values.min(), values.max()))
    assert along.deviation == pytest.approx(np.sqrt(weights @ values**2 / weights.sum()))


@kinds
def test_weights_on_a_line_are_those_of_the_values(make, rows):
    X, weights, moments, v = rows
    along = Along.of(make(X), weights, moments.mean, v)
    line = along.line(0.05)
    assert_allclose(along.on(line), line.bin(along.values, weights), atol=1e-12)


@kinds
def test_pull_is_the_weighted_sum_of_the_centered_rows(make, rows, rng):
    X, weights, moments, v = rows
    along = Along.of(make(X), weights, moments.mean, v)
    line = along.line(0.3)
    slopes, tilt = rng.normal(size=line.n_bins - 1), 0.7
    cell = ((along.values - line.low) / line.step).astype(int)
    c = weights * (slopes[cell] - tilt * along.values)
    assert_allclose(along.pull(line, slopes, tilt), c @ (X - moments.mean))


def test_points_can_replace_the_rows(rows):
    X, weights, moments, v = rows
    along = Along.of(X, weights, moments.mean, v)
    positions, mass = along.points()
    assert mass.sum() == pytest.approx(weights.sum())
    assert mass @ positions == pytest.approx(weights @ along.values, abs=1e-3)
    assert depth_at(0.1, positions, mass) == pytest.approx(depth_at(0.1, along.values, weights), abs=1e-3)


def test_many_rows_have_points_and_few_rows_their_own_values(rows, monkeypatch):
    X, weights, moments, v = rows
    assert_array_equal(values_along(X, weights, moments.mean, v)[1], weights)
    monkeypatch.setattr(_along, "COARSE_ABOVE", 500)
    positions, mass = values_along(X, weights, moments.mean, v)
    assert_array_equal(positions, np.unique(positions))
    assert mass.sum() == pytest.approx(weights.sum())


@pytest.mark.parametrize("with_scatter", [False, True])
def test_deviation_is_that_of_the_values_and_zero_where_only_rounding_differs(with_scatter, rows):
    X, weights, _, v = rows
    moments = moments_of(X, weights, with_scatter=with_scatter)
    expected = np.sqrt(weights @ ((X - moments.mean) @ v) ** 2 / weights.sum())
    assert deviation_along(X, weights, moments, v) == pytest.approx(expected)
    far = np.full((300, 2), 0.1) + np.array([0.0, 1e9])
    moments = moments_of(far, np.ones(300), with_scatter=with_scatter)
    assert deviation_along(far, np.ones(300), moments, np.array([0.0, 1.0])) == 0


@pytest.mark.parametrize("objective", [NormalizedCut(8.0, 0.01, exact_rows=0), PenalizedDensity(1.5, 0.9, 1e-7)])
@kinds
def test_search_on_a_line_agrees_with_the_general_one(make, objective, rng):
    X, weights, moments = cloud(rng, n=2000)
    for start in np.eye(4)[:2]:
        one, other = (
            search(make(X), weights, moments.mean, objective, start, 2) for search in (search_on_line, search_in_passes)
        )
        assert_allclose(one.direction, other.direction, atol=1e-2)
        assert one.value == pytest.approx(other.value, rel=1e-4)
        assert one.position == pytest.approx(other.position, abs=1e-2)


def rows_of(kind, n, rng):
    X = rng.normal(size=(n, 3))
    if kind == "rounded":
        X = np.rint(2 * X)
    elif kind == "far":
        X[0] *= 1000
    elif kind == "heavy tails":
        X = rng.standard_t(2, size=(n, 3))
    elif kind == "twice":
        X = np.repeat(X[: n // 2], 2, axis=0)
    elif kind == "one value":
        X[:, :2] = 1.5
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("weighted", [False, True])
def test_even_rows_are_the_nearest_ones_of_all_sorted_values(kind, n, weighted, rng):
    X = rows_of(kind, n, rng)
    weights = rng.integers(1, 4, size=len(X)).astype(float) if weighted else np.ones(len(X))
    values = X @ [0.6, 0.8, 0.0]
    values -= values.mean()
    step = max(values.std(), 1e-3) / 256
    points, mass = _points_on_lattice(values, weights, step)
    for size in (10, 400):
        chosen = nearest_rows(X, np.arange(len(X)), values, even_positions(points, mass, size), step)[0]
        for n_jobs in (1, 2):
            assert_array_equal(X[even_rows(X, values, weights, step, size, n_jobs)], X[chosen])


def _points_on_lattice(values, weights, step):
    """Share every weight between the two points of the lattice beside its value."""
    before = np.floor(values / step).astype(int)
    share = values / step - before
    first = before.min()
    mass = np.bincount(before - first, weights * (1 - share), minlength=before.max() - first + 2)
    mass += np.bincount(before - first + 1, weights * share, minlength=len(mass))
    used = np.flatnonzero(mass)
    return np.clip(step * (first + used), values.min(), values.max()), mass[used]


def test_even_rows_do_not_depend_on_the_order_of_the_rows(rng):
    X = rows_of("rounded", 3000, rng)
    values, order = X @ [0.6, 0.8, 0.0], rng.permutation(3000)
    one, other = (
        even_rows(X, values, np.ones(3000), 0.01, 300),
        even_rows(X[order], values[order], np.ones(3000), 0.01, 300),
    )
    assert_array_equal(X[one], X[order][other])
