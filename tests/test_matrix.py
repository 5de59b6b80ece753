import tracemalloc

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive

from ravine import _blocks, _matrix

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 5)) * (_rng.uniform(size=(60, 5)) < 0.4)
weights = _rng.uniform(size=60)
kinds = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])


@kinds
def test_moments_agree_with_naive(make):
    moments = _matrix.moments_of(make(X), weights)
    count, mean, sum_sq = naive.moments(X, weights)
    assert moments.count == pytest.approx(count)
    assert_allclose(moments.mean, mean)
    assert moments.sum_sq == pytest.approx(sum_sq)


@kinds
def test_sum_of_squares_survives_a_far_origin(make):
    far = X + 1e8
    assert _matrix.moments_of(make(far), weights).sum_sq == pytest.approx(naive.moments(X, weights)[2], rel=1e-6)


@kinds
def test_deviations_of_columns_are_zero_where_only_rounding_differs(make):
    assert_allclose(_matrix.column_deviations(make(X)), X.std(axis=0))
    constant = np.full((30, 2), 0.1) + np.array([0.0, 1e9])
    assert_array_equal(_matrix.column_deviations(make(constant)), [0, 0])
    assert_array_equal(_matrix.column_deviations(make(X)[:0]), np.zeros(5))


@kinds
def test_project_and_scatter_times_agree_with_naive(make, rng):
    v, mean = rng.normal(size=5), X.mean(axis=0)
    assert_allclose(_matrix.project(make(X), v), X @ v)
    assert_allclose(_matrix.scatter_times(make(X), weights, mean, v), naive.scatter(X, weights, mean) @ v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 5), (1, 1), (247, 4), (248, 3), (1000, 2), (700, 31)])
def test_scatter_agrees_with_naive(shape, dtype, rng, monkeypatch):
    rows = rng.normal(size=shape).astype(dtype)
    some = rng.uniform(size=len(rows))
    some *= some > 0.5
    for least_cells in (_blocks.LEAST_CELLS, 1000):
        monkeypatch.setattr(_blocks, "LEAST_CELLS", least_cells)
        found = _matrix.scatter(rows, some, rows[0].astype(float))
        assert_allclose(found, naive.scatter(rows.astype(float), some, rows[0].astype(float)), atol=1e-9)


def test_moments_with_a_scatter_matrix_are_the_same():
    plain, full = (_matrix.moments_of(X, weights, with_scatter=scatter) for scatter in (False, True))
    assert_allclose(full.mean, plain.mean)
    assert full.sum_sq == pytest.approx(plain.sum_sq)
    assert_allclose(full.scatter, naive.scatter(X, weights, plain.mean))


@kinds
def test_taken_rows_are_those_asked_for(make):
    rows = np.array([7, 3, 3, 59])
    taken = _matrix.take_rows(make(X), rows)
    assert_array_equal(taken.toarray() if sparse.issparse(taken) else taken, X[rows])


def test_extent_has_the_smallest_and_largest_entry_of_each_column():
    low, high = _matrix.column_extent(X)
    assert_array_equal(low, X.min(axis=0))
    assert_array_equal(high, X.max(axis=0))


def test_numbers_of_rows_are_mixed_as_arrays_are():
    factors, salt = _matrix.fingerprint_factors(5, 3)
    bits = (X + 0.0).view(np.uint64)
    plain = ((bits ^ (bits >> np.uint64(32))) * factors).sum(axis=1, dtype=np.uint64) + salt
    assert_array_equal(_matrix.fingerprint(X, 3), _matrix.mix(plain))


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, rng):
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 35)
    one, three = (_matrix.moments_of(X, weights, n_jobs) for n_jobs in (1, 3))
    assert_array_equal(one.mean, three.mean)
    assert one.sum_sq == three.sum_sq
    assert_array_equal(*(_matrix.column_extent(X, n_jobs) for n_jobs in (1, 3)))
    assert_array_equal(*(_matrix.take_rows(X, np.arange(59, 0, -2), n_jobs) for n_jobs in (1, 3)))
    assert_array_equal(_matrix.scatter(X, weights, X[0], 1), _matrix.scatter(X, weights, X[0], 3))
    v = rng.normal(size=5)
    times = [_matrix.scatter_times(X, weights, X[0], v, n_jobs) for n_jobs in (1, 3)]
    assert_array_equal(*times)


def test_n_jobs_counts_threads_as_scikit_learn_does(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    _blocks.count_threads.cache_clear()
    assert [_blocks.count_threads(n) for n in (None, 1, 3, -1, -2, -9)] == [1, 1, 3, 4, 3, 1]
    _blocks.count_threads.cache_clear()
    with pytest.raises(ValueError, match="n_jobs=0 is not valid: use -1"):
        _blocks.count_threads(0)


def test_blocks_cover_every_row_once(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_CELLS", 10)
    for shape in ((0, 3), (1, 3), (7, 3), (9, 3), (5, 0), (4, 100)):
        parts = _blocks.map_blocks(lambda b: list(range(b.start, b.stop)), shape, n_jobs=2)
        assert [row for part in parts for row in part] == list(range(shape[0]))


def test_rows_that_are_not_aligned_are_taken_without_a_copy_of_all(rng):
    unaligned = np.empty(8 * 20_000 * 5 + 6, dtype=np.uint8)[6:].view(np.float64).reshape(20_000, 5)
    unaligned[:] = rng.normal(size=unaligned.shape)
    rows = rng.choice(20_000, 100, replace=False)
    _matrix.take_rows(unaligned, rows)  # compiles
    tracemalloc.start()
    taken = _matrix.take_rows(unaligned, rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not unaligned.flags.aligned
    assert_array_equal(taken, unaligned[rows])
    assert peak < unaligned.nbytes / 10
