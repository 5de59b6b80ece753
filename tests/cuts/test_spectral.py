"""λ₂ of projected points against dense matrices and finite differences, and the cut that a search ends with."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive

from ravine import _kernels
from ravine._matrix import moments_of
from ravine.cuts import _spectral
from ravine.cuts._pursuit import descend, make_starts, search
from ravine.cuts._spectral import Connectivity, LineConnectivity, contraction_at, drawn_in, spectral_cut

both_laplacians = pytest.mark.parametrize("normalized", [False, True], ids=["standard", "normalized"])


def cloud(rng, n=30, d=4):
    """Points of mean zero in two groups, and counts."""
    points = rng.normal(size=(n, d))
    points[: n // 3, 0] += 3
    counts = rng.integers(1, 4, size=n).astype(float)
    return points - np.average(points, axis=0, weights=counts), counts


def differences(function, at, step=1e-6):
    return np.array([(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))])


@given(st.floats(0, 3), st.sampled_from([1e-3, 0.01, 0.1, 0.3]), st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_drawn_in_agrees_with_naive_and_never_expands_a_distance(bound, contraction, values):
    values = np.sort(values)
    drawn, slope = drawn_in(values, bound, contraction)
    assert_allclose(drawn, [naive.drawn_in(v, bound, contraction) for v in values], atol=1e-12)
    assert (np.diff(drawn) >= 0).all()
    assert (np.diff(drawn) <= np.diff(values) + 1e-12).all()
    assert ((slope > 0) & (slope <= 1)).all()


@pytest.mark.parametrize("contraction", [0.01, 0.1, 0.3])
def test_drawn_in_is_smooth_at_the_bound(contraction):
    least = (contraction * (1 - contraction)) ** (1 / contraction)
    drawn, slope = drawn_in(np.array([-1e-3, 0.0, 1e-3]) * least, 0.0, contraction)
    assert_allclose(slope, 1, atol=1e-3)
    assert_allclose(drawn, np.array([-1e-3, 0.0, 1e-3]) * least, rtol=1e-3)
    inside, outside = drawn_in(np.array([1.0, 1.0 + 1e-12]), 1.0, contraction)[0]
    assert abs(outside - inside) <= 1.001e-12
    x = np.array([1.5, -3.0])
    moved = drawn_in(x + 1e-6, 1.0, contraction)[0] - drawn_in(x - 1e-6, 1.0, contraction)[0]
    assert_allclose(drawn_in(x, 1.0, contraction)[1], moved / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("contraction", [1e-3, 1e-6, 1e-12, 1e-100, 1e-300])
def test_tiny_contractions_do_not_underflow(contraction):
    drawn, slope = drawn_in(np.array([-5.0, -1.0, 0.5, 1.0, 1.0 + 1e-15, 1e100]), 1.0, contraction)
    assert np.isfinite(drawn).all()
    assert np.isfinite(slope).all()
    assert (np.diff(drawn) >= 0).all()
    assert_allclose(drawn[:3], [-1.0, -1.0, 0.5], atol=0.01)


def test_contraction_is_small_and_falls_with_the_scale():
    assert contraction_at(1.0) == 0.01
    assert contraction_at(1e-3) == 1e-6
    assert contraction_at(0.1) == pytest.approx(0.01)


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
    monkeypatch.setattr(_spectral, "NOISE", 0.0)
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

    monkeypatch.setattr(_spectral, "descend", stuck_at_first)
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


# The cut


def two_groups(rng, n=40, d=3):
    X = rng.normal(size=(n, d)) * [1.5, 1.0, 0.5][:d]
    X[: n // 2, -1] += 4
    return X


def cut_of(X, weights=None, n_directions=2, correlated=False, normalized=True, **options):
    weights = np.ones(X.shape[0]) if weights is None else weights
    settings = {"balance": weights.sum() / 4, **options}
    return spectral_cut(
        X,
        weights,
        moments_of(X, weights),
        starts=make_starts(n_directions),
        correlated=correlated,
        normalized=normalized,
        **settings,
    )


def same_partition(one, other):
    return (one == other).all() or (one != other).all()


@both_laplacians
@pytest.mark.parametrize(("n_directions", "correlated"), [(2, False), (3, True), (1, False)])
def test_exact_cut_agrees_with_a_dense_search(normalized, n_directions, correlated, rng):
    X = two_groups(rng, n=24)
    is_left, value = naive.spectral_partition(X, n_directions, normalized, correlated, least=6)
    cut = cut_of(X, None, n_directions, correlated, normalized)
    assert same_partition(cut.goes_left(X), is_left)
    assert cut.value == pytest.approx(value, rel=0.01)
    assert (cut.surface is None) == (correlated or n_directions == 1)


@both_laplacians
@pytest.mark.parametrize("correlated", [False, True])
def test_weights_stand_for_repeated_rows(normalized, correlated, rng):
    X = two_groups(rng)
    repeats = rng.integers(1, 4, size=40)
    often = np.repeat(X, repeats, axis=0)
    settings = {"correlated": correlated, "normalized": normalized, "n_directions": 3 if correlated else 2}
    weighted, repeated = cut_of(X, repeats.astype(float), **settings), cut_of(often, **settings)
    assert_array_equal(weighted.goes_left(X), repeated.goes_left(X))
    assert weighted.value == pytest.approx(repeated.value, rel=1e-4)


@pytest.mark.parametrize("n_microclusters", [15, 200], ids=["microclusters", "exact"])
@pytest.mark.parametrize("options", [{}, {"correlated": True, "n_directions": 3}, {"margin": True}], ids=str)
def test_order_of_the_rows_does_not_matter(n_microclusters, options, rng):
    X = two_groups(rng)
    order = rng.permutation(40)
    one = cut_of(X, n_microclusters=n_microclusters, **options)
    other = cut_of(X[order], n_microclusters=n_microclusters, **options)
    assert_array_equal(other.goes_left(X[order]), one.goes_left(X)[order])
    assert other.value == pytest.approx(one.value, rel=1e-3)


@pytest.mark.parametrize("n_microclusters", [15, 200], ids=["microclusters", "exact"])
@pytest.mark.parametrize("options", [{}, {"correlated": True, "n_directions": 3}, {"margin": True}], ids=str)
def test_shift_rotation_and_scale_leave_the_partition(n_microclusters, options, rng):
    X = two_groups(rng)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    side = cut_of(X, n_microclusters=n_microclusters, **options).goes_left(X)
    for moved in (X + 100, X @ turn, 1e-6 * X, 1e12 * X - 3):
        assert same_partition(cut_of(moved, n_microclusters=n_microclusters, **options).goes_left(moved), side)


def test_sparse_rows_give_the_same_cut(rng):
    X = two_groups(rng) * (rng.random((40, 3)) < 0.7)
    dense, csr = cut_of(X), cut_of(sparse.csr_array(X))
    assert_array_equal(dense.goes_left(X), csr.goes_left(sparse.csr_array(X)))
    assert_allclose(np.abs(dense.normal @ csr.normal), 1, atol=1e-6)


@both_laplacians
def test_more_columns_than_rows_are_searched_in_the_span_of_the_rows(normalized, rng):
    X = two_groups(rng, n=30)
    wide = X @ np.linalg.qr(rng.normal(size=(200, 3)))[0].T
    side = cut_of(X, normalized=normalized).goes_left(X)
    cut = cut_of(wide, normalized=normalized)
    assert same_partition(cut.goes_left(wide), side)
    assert cut.normal.shape == (200,)
    assert cut.surface.directions.shape == (2, 200)


def test_search_of_many_columns_begins_at_the_start(rng, monkeypatch):
    monkeypatch.setattr(_kernels.bfgs, "MAX_ITERATIONS", 0)
    X = rng.normal(size=(30, 200)) * np.linspace(3, 1, 200)
    moments = moments_of(X, np.ones(30))
    start = make_starts(2)(X, np.ones(30), moments)
    assert_allclose(cut_of(X).surface.directions, start, atol=1e-9)


def test_hyperplane_beside_a_surface_says_nearly_the_same(rng):
    X = two_groups(rng, n=200)
    cut = cut_of(X)
    assert np.linalg.norm(cut.normal) == pytest.approx(1)
    assert cut.normal[np.abs(cut.normal).argmax()] > 0
    assert np.mean((X @ cut.normal < cut.offset) == cut.goes_left(X)) > 0.98
    assert cut.relative_depth > 1


def test_cut_of_a_line_lies_in_the_widest_gap(rng):
    X = two_groups(rng, n=200)
    cut = cut_of(X, n_directions=3, correlated=True, n_microclusters=50)
    along = np.sort(X @ cut.normal)
    k = np.searchsorted(along, cut.offset)
    assert cut.offset == pytest.approx((along[k - 1] + along[k]) / 2)


@both_laplacians
def test_bound_shrinks_until_the_sides_are_balanced(normalized, rng, monkeypatch):
    X = two_groups(rng, n=80)
    X[:3, 0] += 12
    sides = np.bincount(cut_of(X, normalized=normalized).goes_left(X))
    assert sides.min() >= 20
    monkeypatch.setattr(_spectral, "BOUNDS", (3.0,))
    assert np.bincount(cut_of(X, normalized=normalized).goes_left(X)).min() < 20


@both_laplacians
@pytest.mark.parametrize("n_directions", [1, 2])
@pytest.mark.parametrize("n_microclusters", [60, 90])
def test_eigenvalue_of_the_rows_lies_within_the_bound(normalized, n_directions, n_microclusters, rng, monkeypatch):
    X = two_groups(rng, n=100)
    ends, bounds = [], []
    measure = _spectral._Search.approximation_bound
    monkeypatch.setattr(
        _spectral._Search, "approximation_bound", lambda self, found: ends.append(found) or measure(self, found)
    )
    options = {"normalized": normalized, "n_directions": n_directions, "n_microclusters": n_microclusters}
    cut_of(X, on_bound=bounds.append, **options)
    points = X - X.mean(axis=0)
    points /= np.sqrt((points**2).mean())
    settings = (ends[0].directions, ends[0].scale, ends[0].bound, normalized)
    of_rows = np.exp(naive.connectivity(points, np.ones(100), *settings)[0])
    difference = abs(ends[0].value - of_rows) / of_rows
    assert 0 < difference <= bounds[0] < 1e3


def test_bound_is_zero_where_nothing_is_approximated(rng):
    bounds = []
    cut_of(two_groups(rng), on_bound=bounds.append)
    assert bounds == [0.0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@both_laplacians
def test_bound_is_finite_and_not_negative(normalized, scale, rng):
    bounds = []
    cut_of(two_groups(rng, n=300), normalized=normalized, scale=scale, n_microclusters=5, on_bound=bounds.append)
    assert all(0 <= bound < np.inf for bound in bounds)


def test_rows_that_cannot_be_told_apart_have_no_cut():
    assert cut_of(np.ones((30, 2))) is None
    assert cut_of(np.ones((300, 2)), n_microclusters=20) is None


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
