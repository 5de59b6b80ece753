import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from tests import naive

from ravine import MDH, IncrementalMDH, NCutH
from ravine._matrix import moments_of
from ravine.cuts import Cut
from ravine.tree import _columns
from ravine.tree._columns import (
    LEAST_SCORE,
    N_VALUES,
    best_with_column,
    column_with_valley,
    quantiles,
    striking_columns,
    valley_scores,
)


def planted(rng, n_rows=1000, n_columns=30, column=4):
    """Three clusters in one column; the others are noise of the same variance."""
    y = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, column] += 6.0 * y
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize("estimator", [IncrementalMDH, MDH, NCutH])
def test_clusters_in_one_of_many_columns_are_found(estimator, n_clusters, rng):
    X, y = planted(rng)
    assert adjusted_rand_score(y, estimator(n_clusters).fit(X).labels_) > 0.95


def test_column_with_clusters_is_found_in_any_order_and_unit(rng):
    X, _ = planted(rng)
    weights = rng.uniform(0.5, 2, size=len(X))
    order = rng.permutation(len(X))
    assert column_with_valley(X, weights, LEAST_SCORE) == 4
    assert column_with_valley(X[order], weights[order], LEAST_SCORE) == 4
    assert column_with_valley(X * 1e-120, weights, LEAST_SCORE) == 4


@pytest.mark.parametrize(
    "columns",
    [
        lambda rng: rng.normal(size=(1000, 20)),
        lambda rng: rng.uniform(size=(1000, 20)),
        lambda rng: (rng.random((1000, 20)) < 0.5).astype(np.float64),  # the gap of a lattice is no valley
        lambda rng: rng.integers(5, size=(1000, 20)).astype(np.float64),
        lambda rng: rng.normal(size=(1000, 20)) * (rng.random((1000, 20)) < 0.5),
        lambda rng: np.ones((1000, 20)),
    ],
)
def test_columns_without_clusters_are_not_tried(columns, rng):
    assert column_with_valley(columns(rng), np.ones(1000), LEAST_SCORE) is None


def test_search_from_a_column_is_used_only_if_its_valley_is_stronger(rng):
    X, _ = planted(rng)
    weights, axes = np.ones(len(X)), np.eye(30)
    moments = moments_of(X, weights)
    tried = []

    def search(direction):
        tried.append(int(direction.argmax()))
        return Cut(direction, 0.0)

    found = best_with_column(Cut(axes[0], 0.0), X, weights, moments, search)
    assert_array_equal(found.normal, axes[4])
    kept = Cut(axes[4], 0.0)
    assert best_with_column(kept, X, weights, moments, search) is kept
    assert best_with_column(None, X, weights, moments, search) is None
    assert tried == [4]
    worse = Cut(axes[0], 0.0)
    assert best_with_column(worse, X, weights, moments, lambda _: None) is worse
    assert best_with_column(worse, sparse.csr_matrix(X), weights, moments, search) is worse
    assert best_with_column(worse, X[:, :4], weights, moments, search) is worse


def test_large_node_is_measured_on_a_sample(rng, monkeypatch):
    X, _ = planted(rng, 5000)
    weights = np.ones(len(X))
    monkeypatch.setattr(_columns, "is_small", lambda n_rows, n_columns: False)
    monkeypatch.setattr(_columns, "COARSE_ROWS", 4500)
    found = best_with_column(
        Cut(np.eye(30)[0], 0.0), X, weights, moments_of(X, weights), lambda direction: Cut(direction, 0.0)
    )
    assert found.normal[4] == 1


def test_striking_columns_are_those_of_extreme_kurtosis(rng):
    X = np.column_stack([rng.standard_t(4 + j, size=400) for j in range(12)] + [rng.uniform(size=(400, 6))])
    by_kurtosis = np.argsort([naive.kurtosis(column) for column in X.T])
    T = (X - X.mean(axis=0)).T
    assert set(striking_columns(T, 8)) == {*by_kurtosis[:4], *by_kurtosis[-4:]}
    assert_array_equal(striking_columns(T, 8, np.ones(400)), striking_columns(T, 8))
    assert_array_equal(striking_columns(T[:8], 8), np.arange(8))


def test_repeated_rows_have_the_striking_columns_of_weights(rng):
    X, repeats = rng.normal(size=(60, 20)) ** 3, rng.integers(1, 4, size=60)
    repeated = np.repeat(X, repeats, axis=0)
    mean = repeated.mean(axis=0)
    weighted = striking_columns((X - mean).T, 8, repeats.astype(float))
    assert_array_equal(weighted, striking_columns((repeated - mean).T, 8))


def test_quantiles_match_the_naive_ones(rng):
    lines = rng.normal(size=(3, 30))
    for weights in (rng.uniform(0.5, 2, size=30), np.full(30, 1.7)):
        expected = [naive.weighted_quantiles(values, weights, N_VALUES) for values in lines]
        assert_allclose(quantiles(lines, weights), expected, atol=1e-12)
    assert_array_equal(quantiles(np.array([[5.0]]), np.ones(1)), np.full((1, N_VALUES), 5.0))


def test_score_of_quantiles_is_that_of_as_many_rows(rng):
    values = np.concatenate([rng.normal(size=N_VALUES // 2), rng.normal(8, size=N_VALUES // 2)])
    of_rows = naive.strongest_score(np.sort(values), 0.0, 0.02, (0.5, 1.0, 0.25), (0.25, 0.5, 0.75, 1.0))
    lines = quantiles(values[np.newaxis], np.ones(N_VALUES))
    (score,) = valley_scores(lines, N_VALUES)
    assert score == pytest.approx(of_rows, rel=1e-6)
    assert valley_scores(lines, N_VALUES / 4) == pytest.approx(score / 2)
