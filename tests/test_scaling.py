import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive

from ravine._scaling import EDGE, FAR, Scaling, edges_of


def columns_of(name, rng, n=500):
    """Return a table with columns that may have cells far outside by nature."""
    return {
        "normal": lambda: rng.normal(size=(n, 3)),
        "heavy tails": lambda: rng.standard_t(3, size=(n, 3)),
        "exponential": lambda: rng.exponential(size=(n, 3)),
        "binary": lambda: (rng.random((n, 3)) < 0.3).astype(np.float64),
        "mostly zero": lambda: (rng.random((n, 3)) < 0.01) * rng.integers(1, 6, size=(n, 3)).astype(np.float64),
        "constant": lambda: np.full((n, 3), 7.0),
    }[name]()


NAMES = ("normal", "heavy tails", "exponential", "binary", "mostly zero", "constant")


@pytest.mark.parametrize("name", NAMES)
def test_clean_columns_keep_their_mean_and_deviation(name, rng):
    X = columns_of(name, rng)
    scaling = Scaling.of(X, np.ones(len(X)))
    assert_allclose(scaling.center, X.mean(axis=0))
    assert_allclose(scaling.scale, np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0))
    assert not np.isfinite(scaling.reach).any()


@pytest.mark.parametrize("name", NAMES[:-1])
@pytest.mark.parametrize("size", [999.0, -1e6])
def test_few_far_cells_hardly_change_the_scale(name, size, rng):
    X = columns_of(name, rng)
    clean = Scaling.of(X, np.ones(len(X)))
    dirty = X.copy()
    dirty[[3, 50], [0, 2]] = size * X.std(axis=0)[[0, 2]]
    scaling = Scaling.of(dirty, np.ones(len(X)))
    assert_allclose(scaling.scale, clean.scale, rtol=0.15)
    assert np.abs(scaling.rows(dirty) - clean.rows(dirty))[[3, 50], [0, 2]].min() > 100
    assert np.isinf(scaling.reach[1])


@pytest.mark.parametrize("name", NAMES)
def test_scale_matches_the_naive_one(name, rng):
    X = columns_of(name, rng, 120)
    X[7, 0], X[9, 2] = 5e4, -3e4
    scaling = Scaling.of(X, np.ones(len(X)))
    naives = [naive.robust_scale(column, EDGE, FAR) for column in X.T]
    assert_allclose(np.transpose(naives), [scaling.center, scaling.scale])


def test_row_of_weight_two_counts_as_two_rows(rng):
    X = rng.normal(size=(200, 2))
    X[0, 0] = 1e5
    weights = rng.integers(1, 4, size=200)
    copies = np.repeat(X, weights, axis=0)
    for one, other in zip(edges_of(X, weights.astype(np.float64)), edges_of(copies, np.ones(len(copies))), strict=True):
        assert_array_equal(one, other)


def test_order_of_the_rows_does_not_matter(rng):
    X = rng.normal(size=(300, 4))
    X[[1, 2], [0, 3]] = 1e4
    weights, order = rng.uniform(0.5, 2, size=300), rng.permutation(300)
    one, other = Scaling.of(X, weights), Scaling.of(X[order], weights[order])
    assert_array_equal(one.reach, other.reach)
    assert_allclose(one.scale, other.scale, rtol=1e-12)


def test_rows_keep_their_type_and_sparse_rows_are_only_scaled(rng):
    X = rng.normal(size=(100, 3)).astype(np.float32)
    X[0, 1] = 1e4
    scaling = Scaling.of(X, np.ones(100))
    assert scaling.rows(X).dtype == np.float32
    assert np.abs(scaling.rows(X)).max() < 5
    assert_allclose(scaling.rows(sparse.csr_matrix(X)).toarray(), X / scaling.scale, rtol=1e-6)


def test_moments_of_more_rows_are_used_where_far_cells_have_no_part_in_them(rng):
    X = rng.normal(size=(400, 3))
    X[0, 2] = 1e5
    sampled = Scaling.of(X, np.ones(400))
    center, scale = np.array([0.1, 0.2, 0.3]), np.array([1.01, 50.0, 1.01])
    found = sampled.with_moments_of(center, scale)
    assert_array_equal(found.center, [0.1, *sampled.center[1:]])
    assert_array_equal(found.scale, [1.01, *sampled.scale[1:]])
