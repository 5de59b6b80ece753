"""The stream of stochastic gradients against its naive twin, one row at a time, and against itself in other batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive
from tests.strategies import seeds

from ravine import _kernels
from ravine.tree._imdh import IMDHTree, Settings


def cloud(rng, n=300, d=4):
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.7)
    X[: n // 2, :2] += 4
    order = rng.permutation(n)
    return X[order], rng.integers(1, 4, size=n).astype(float)


@given(
    seeds,
    st.sampled_from([0.0, 1.0, 30.0]),
    st.sampled_from([np.inf, 40.0, 5.0]),
    st.sampled_from([(1 / 6, 0.25, 1.0), (0.2, 0.1, 10.0)]),
    st.booleans(),
)
def test_cuts_agree_with_one_row_at_a_time(seed, warm_up, most, constants, is_sparse):
    X, weights = cloud(np.random.default_rng(seed), n=60)
    settings = (*constants, 5.0, warm_up, most)
    ours, twin = IMDHTree(2, 4, Settings(*settings), is_sparse), naive.IMDHTree(2, 4, *settings)
    ours.learn(sparse.csr_array(X) if is_sparse else X, weights)
    for x, weight in zip(X, weights, strict=True):
        twin.learn(x, weight)
    for node in range(1, 8):
        expected = twin.nodes[node]
        normal, mean = ours.normal_and_mean(node)
        count, sum_sq, variance, offset, n_rows = ours.scalars[node, :5]
        assert (count, n_rows) == (expected["count"], expected["n"])
        assert_allclose(mean, expected["mean"], atol=1e-9)
        assert_allclose(sum_sq, expected["ss"], atol=1e-8)
        if node < 4:
            assert_allclose(normal, expected["v"], atol=1e-7)
            assert_allclose([variance, offset], [expected["var"], expected["b"]], atol=1e-8)


@given(seeds, st.lists(st.integers(1, 200), min_size=1, max_size=6), st.sampled_from([1, 2, 5]), st.booleans())
def test_batches_and_threads_change_no_bit(seed, sizes, n_jobs, is_sparse):
    X, weights = cloud(np.random.default_rng(seed), n=1300, d=16)
    rows = sparse.csr_array(X) if is_sparse else X
    settings = Settings(1 / 6, 0.25, 1.0, 5.0, 20.0, 500.0)
    whole, parts = IMDHTree(4, 16, settings, is_sparse), IMDHTree(4, 16, settings, is_sparse)
    whole.learn(rows, weights, 1)
    start, i = 0, 0
    while start < 1300:
        stop = start + sizes[i % len(sizes)]
        parts.learn(rows[start:stop], weights[start:stop], n_jobs)
        start, i = stop, i + 1
    for name in ("_normal", "_mean", "scalars"):
        assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_threads_change_no_bit_of_a_large_batch(rng):
    X, weights = cloud(rng, n=3000, d=20)
    trees = [IMDHTree(5, 20, Settings()) for _ in range(3)]
    for tree, n_jobs in zip(trees, (1, 2, 7), strict=True):
        tree.learn(X, weights, n_jobs)
        assert_array_equal(tree.scalars, trees[0].scalars)
        assert_array_equal(tree._normal, trees[0]._normal)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_long_streams_keep_their_digits(is_sparse, rng):
    X, weights = cloud(rng, n=5000)
    settings = Settings(warm_up=100, most=300.0)
    tree, twin = IMDHTree(1, 4, settings, is_sparse), naive.IMDHTree(1, 4, 0.2, 0.1, 10.0, 5.0, 100, 300.0)
    tree.learn(sparse.csr_array(X) if is_sparse else X, weights)
    for x, weight in zip(X, weights, strict=True):
        twin.learn(x, weight)
    normal, mean = tree.normal_and_mean(1)
    assert_allclose(normal, twin.nodes[1]["v"], atol=1e-9)
    assert_allclose(mean, twin.nodes[1]["mean"], atol=1e-9)


def test_sums_of_squares_survive_a_far_origin(rng):
    X, weights = cloud(rng)
    near, far = IMDHTree(2, 4, Settings()), IMDHTree(2, 4, Settings())
    near.learn(X, weights)
    far.learn(X + 1e8, weights)
    root = slice(1, 2)
    assert_allclose(far.scalars[root, 1], near.scalars[root, 1], rtol=1e-6)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_stream_that_forgets_everything_stays_finite(is_sparse, rng):
    X, weights = cloud(rng)
    tree = IMDHTree(2, 4, Settings(warm_up=10, most=1.0), is_sparse)
    tree.learn(sparse.csr_array(X) if is_sparse else X, weights)
    assert_allclose(tree.normal_and_mean(1)[1], X[-1])
    assert np.isfinite(tree.scalars).all()


@pytest.mark.parametrize("warm_up", [0.0, 100.0])
def test_wide_sparse_rows_give_the_cuts_of_the_same_dense_ones(warm_up):
    X = sparse.random_array((700, 2000), density=0.01, format="csr", rng=np.random.default_rng(0))
    settings = Settings(1 / 6, 0.25, 1.0, 5.0, warm_up)
    ours, dense = IMDHTree(2, 2000, settings, is_sparse=True), IMDHTree(2, 2000, settings)
    ours.learn(X, np.ones(700))
    dense.learn(X.toarray(), np.ones(700))
    assert all(np.isfinite(array).all() for array in ours.state().values())
    for node in range(1, 8):
        for one, other in zip(ours.normal_and_mean(node), dense.normal_and_mean(node), strict=True):
            assert_allclose(one, other, atol=1e-6)
    assert_allclose(ours.scalars[:, :5], dense.scalars[:, :5], atol=1e-6)


@pytest.mark.parametrize("unit", [1e-140, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_cuts_in_any_unit_are_finite(is_sparse, unit, rng):
    X, weights = cloud(rng)
    tree = IMDHTree(2, 4, Settings(warm_up=50), is_sparse)
    tree.learn((sparse.csr_array(X) if is_sparse else X) * unit, weights)
    assert all(np.isfinite(array).all() for array in tree.state().values())
    assert_allclose([np.linalg.norm(tree.normal_and_mean(node)[0]) for node in (1, 2, 3)], 1)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_that_are_all_equal_leave_finite_numbers(is_sparse):
    tree = IMDHTree(3, 2, Settings(warm_up=5), is_sparse)
    X = np.full((50, 2), 0.1)
    tree.learn(sparse.csr_array(X) if is_sparse else X, np.ones(50))
    assert np.isfinite(tree.scalars).all()
    assert_allclose([np.linalg.norm(tree.normal_and_mean(node)[0]) for node in range(1, 8)], 1)
    assert tree.cut_tree(np.zeros(2), np.ones(2)).n_clusters == 1


@given(seeds, st.sampled_from([np.inf, 30.0]))
def test_running_scale_agrees_with_the_moments_of_the_rows_so_far(seed, most):
    X, weights = cloud(np.random.default_rng(seed), n=40)
    mean, square, out = np.zeros(4), np.zeros(4), np.empty_like(X)
    count = _kernels.imdh.standardize(X, weights, 0.0, most, mean, square, out)
    share = weights.copy()
    for i in range(1, 40):
        share[:i] *= min(1.0, max(most - weights[i], 0.0) / share[:i].sum())
        center = np.average(X[: i + 1], axis=0, weights=share[: i + 1])
        deviation = np.sqrt(np.average((X[: i + 1] - center) ** 2, axis=0, weights=share[: i + 1]))
        assert_allclose(out[i] * deviation, np.where(deviation > 1e-12, X[i] - center, 0.0), atol=1e-9)
    assert count == pytest.approx(share.sum())


@given(seeds)
def test_running_scale_of_sparse_rows_is_that_of_dense_ones(seed):
    X, weights = cloud(np.random.default_rng(seed), n=40)
    rows = sparse.csr_array(X)
    seen, mean, square, out = np.zeros(4), np.zeros(4), np.zeros(4), np.empty_like(rows.data)
    _kernels.imdh.standardize_csr(rows.indptr, rows.indices, rows.data, weights, 0.0, seen, mean, square, out)
    for i in range(1, 40):
        so_far, kept = X[: i + 1], weights[: i + 1]
        deviation = np.sqrt(np.average((so_far - np.average(so_far, axis=0, weights=kept)) ** 2, axis=0, weights=kept))
        j = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        ours = out[rows.indptr[i] : rows.indptr[i + 1]]
        assert_allclose(ours * deviation[j], X[i, j] * (deviation[j] > 0), atol=1e-9)
