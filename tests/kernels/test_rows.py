import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive
from tests.strategies import random_tree

from ravine import _kernels, _matrix

_rng = np.random.default_rng(0)
X = _rng.normal(size=(50, 7))
weights = _rng.uniform(size=50)


def test_project_is_the_matrix_vector_product():
    out = np.empty(50)
    _kernels.rows.project(X, X[0], out)
    assert_allclose(out, X @ X[0])


def test_projections_on_several_directions_are_the_matrix_product():
    out = np.empty((50, 4))
    _kernels.rows.project_all(X, X[:4], out)
    assert_allclose(out, X @ X[:4].T, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_length_1_agree_with_naive(dtype):
    rows = np.vstack([X, np.zeros((1, 7)), 1e-30 * X[:3], 1e30 * X[:3]]).astype(dtype)
    rounding = 4 * np.finfo(dtype).eps
    assert_allclose(_matrix.unit_rows(rows), naive.unit_rows(rows), rtol=rounding)
    assert_allclose(_matrix.unit_rows(sparse.csr_array(rows)).toarray(), naive.unit_rows(rows), rtol=rounding)


def test_rows_of_length_1_do_not_depend_on_the_layout_nor_on_powers_of_two():
    found = _matrix.unit_rows(X)
    assert_array_equal(_matrix.unit_rows(np.asfortranarray(X)), found)
    assert_array_equal(_matrix.unit_rows(sparse.csr_array(X)).toarray(), found)
    assert_array_equal(_matrix.unit_rows(np.repeat(X, 2, axis=1)[:, ::2]), found)
    for power in (-500, 500, 900):
        assert_array_equal(_matrix.unit_rows(X * 2.0**power), found)
    rows = X.copy()
    assert _matrix.unit_rows(rows, copy=False) is rows
    assert_array_equal(rows, found)


def test_weighted_sum_agrees_with_naive():
    assert_allclose(_kernels.rows.weighted_sum(X, weights), weights @ X)


def test_weighted_sums_of_blocks_agree_with_naive():
    out = np.zeros((3, 7))
    _kernels.rows.weighted_sums(X, weights, 20, out)
    assert_allclose(out, [weights[b] @ X[b] for b in (slice(0, 20), slice(20, 40), slice(40, 50))])


def test_column_squares_of_blocks_agree_with_naive():
    mean, out = np.average(X, axis=0, weights=weights), np.zeros((3, 7))
    _kernels.rows.column_squares(X, weights, mean, 20, out)
    assert_allclose(out.sum(), naive.moments(X, weights)[2])
    assert_allclose(out[2], weights[40:] @ (X[40:] - mean) ** 2)


@pytest.mark.parametrize("n_columns", [6, 7])
def test_scatters_of_blocks_agree_with_naive(n_columns):
    rows, w = np.tile(X[:, :n_columns], (20, 1)), np.where(np.arange(1000) % 7, np.tile(weights, 20), 0.0)
    out, tile = np.zeros((2, 8, 8)), np.zeros((8, _kernels.rows.TILE))
    _kernels.rows.scatters(rows, w, X[0, :n_columns], 600, tile, out)
    lower = np.tril_indices(n_columns)
    for k, b in enumerate((slice(0, 600), slice(600, 1000))):
        assert_allclose(out[k][lower], naive.scatter(rows[b], w[b], X[0, :n_columns])[lower], atol=1e-12)


def test_group_moments_agree_with_naive(rng):
    group = rng.integers(0, 3, size=50)
    count, mean, sum_sq = _matrix.group_moments(X, weights, group, np.zeros((4, 7)))
    for g in range(3):
        moments = naive.moments(X[group == g], weights[group == g])
        assert_allclose(count[g], moments[0])
        assert_allclose(mean[g], moments[1])
        assert_allclose(sum_sq[g], moments[2])
    assert count[3] == sum_sq[3] == 0


def test_fingerprints_tell_rows_apart_and_copies_not(rng):
    rows = rng.integers(0, 2, size=(400, 12)).astype(float)
    ours = _matrix.fingerprint(rows, seed=1)
    assert_array_equal(ours, _matrix.fingerprint(sparse.csr_array(rows), seed=1))
    assert_array_equal(ours, _matrix.fingerprint(np.where(rows == 0, -0.0, rows), seed=1))
    assert len(np.unique(ours)) == len(np.unique(rows, axis=0))
    assert (ours != _matrix.fingerprint(rows, seed=2)).all()


def test_scatter_times_agrees_with_naive():
    assert_allclose(_kernels.rows.scatter_times(X, weights, X[1], X[0]), naive.scatter(X, weights, X[1]) @ X[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_walk_agrees_with_naive(dtype, kind):
    tree = random_tree(10, 7, seed=1)
    arrays = (tree.normal, tree.offset, tree.left, tree.right)
    rows = X.astype(dtype)
    leaf, column, distance = np.empty(50, np.int64), np.cumsum(tree.left >= 0) - 1, np.zeros((50, 10))
    if kind == "dense":
        _kernels.rows.walk(rows, *arrays, leaf, column, distance)
    else:
        csr = sparse.csr_array(rows)
        _kernels.rows.walk_csr(csr.indptr, csr.indices, csr.data, *arrays, leaf, column, distance)
    assert_array_equal(leaf, [naive.walk(x.astype(float), *arrays) for x in rows])
    for i, x in enumerate(rows.astype(float)):
        node = leaf[i]
        while node > 0:
            node = tree.parent[node]
            assert_allclose(distance[i, column[node]], x @ tree.normal[node] - tree.offset[node], atol=1e-6)


def test_kernels_work_where_no_cache_folder_can_be_written(monkeypatch):
    from numba.core import caching

    from ravine._kernels._compile import kernel

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    @kernel
    def twice(x):
        return 2 * x

    assert twice(3.0) == 6.0


def test_orthonormal_rows_are_those_of_numpy(rng):
    W = rng.normal(size=(4, 9))
    W[2] = W[0] - 3 * W[1]
    V = W.copy()
    _kernels.rows.orthonormalize(V, 1e-13, 1e-150)
    assert_array_equal(V[2], 0)
    Q, R = np.linalg.qr(W[[0, 1, 3]].T)
    assert_allclose(V[[0, 1, 3]], (Q * np.sign(np.diag(R))).T, atol=1e-12)
