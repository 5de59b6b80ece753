"""The cut that a search for the least connected projection ends with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive
from tests.cuts.graphs import both_laplacians, same_partition

from ravine._matrix import moments_of
from ravine.cuts import _connectivity, _spectral
from ravine.cuts._pursuit import make_starts
from ravine.cuts._spectral import spectral_cut


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
    monkeypatch.setattr(_connectivity, "descend", lambda evaluate, start, _: (start, *evaluate(start)[:2]))
    X = rng.normal(size=(30, 200)) * np.linspace(3, 1, 200)
    moments = moments_of(X, np.ones(30))
    start = make_starts(2)(X, np.ones(30), moments)
    assert_allclose(cut_of(X).surface.directions, start, atol=1e-3)


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
    measure = _spectral.approximation_bound
    monkeypatch.setattr(
        _spectral, "approximation_bound", lambda micro, found, *how: ends.append(found) or measure(micro, found, *how)
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
