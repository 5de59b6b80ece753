import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.strategies import seeds

from ravine.cuts._microclusters import microclusters, stretched


def rows(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(1, 4, size=n).astype(float)


def groups_of(X, weights, n_groups, seed=0, **options):
    return microclusters(X, weights, n_groups, np.argsort(X[:, 0], kind="stable"), seed, **options)


@given(seeds, st.integers(2, 119))
def test_centers_and_counts_are_those_of_the_groups(seed, n_groups):
    X, weights = rows(seed)
    micro = groups_of(X, weights, n_groups)
    assert not micro.exact
    assert len(micro.centers) <= n_groups
    assert_array_equal(np.unique(micro.group), np.arange(len(micro.counts)))
    for g in range(len(micro.counts)):
        mine = micro.group == g
        assert_allclose(micro.counts[g], weights[mine].sum())
        assert_allclose(micro.centers[g], np.average(X[mine], axis=0, weights=weights[mine]), atol=1e-12)


def test_few_rows_are_microclusters_themselves_and_equal_rows_one():
    X = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [3.0, 0.0]])
    micro = groups_of(X, np.array([1.0, 2.0, 4.0, 8.0]), 4)
    assert micro.exact
    assert_array_equal(micro.centers[micro.group], X)
    assert_array_equal(np.sort(micro.counts), [2.0, 5.0, 8.0])


def test_few_distinct_rows_are_exact_however_many_rows_there_are():
    X = np.repeat([[0.0], [1.0], [5.0]], [5000, 2, 1], axis=0)
    micro = groups_of(X, np.ones(5003), 200)
    assert micro.exact
    assert_array_equal(micro.counts[np.argsort(micro.centers[:, 0])], [5000, 2, 1])


def test_groups_are_small():
    X, weights = rows(0, n=2000)
    micro = groups_of(X, weights, 100)
    within = np.sum((X - micro.centers[micro.group]) ** 2)
    drawn = X[np.random.default_rng(1).choice(2000, 100, replace=False)]
    to_drawn = np.min(np.sum((X[:, None] - drawn) ** 2, axis=2), axis=1).sum()
    assert within < 0.85 * to_drawn


@given(seeds)
def test_order_of_the_rows_and_their_format_do_not_matter(seed):
    X, weights = rows(seed)
    shuffled = np.random.default_rng(seed).permutation(120)
    one, other = groups_of(X, weights, 20), groups_of(X[shuffled], weights[shuffled], 20)
    assert_allclose(other.centers, one.centers, atol=1e-12)
    assert_array_equal(other.group, one.group[shuffled])
    csr = microclusters(sparse.csr_array(X), weights, 20, np.argsort(X[:, 0], kind="stable"), 0)
    assert_array_equal(csr.group, one.group)
    assert_allclose(csr.centers, one.centers, atol=1e-12)


def test_seed_and_nothing_else_decides_and_threads_do_not():
    X, weights = rows(0)
    one, again, threads = (groups_of(X, weights, 20, n_jobs=n_jobs) for n_jobs in (1, 1, 2))
    assert_array_equal(one.group, again.group)
    assert_array_equal(one.group, threads.group)
    assert not np.array_equal(groups_of(X, weights, 20, seed=1).group, one.group)


def test_stretched_groups_are_short_along_the_directions():
    X, weights = rows(0, n=1000)
    micro = groups_of(X, weights, 40)
    direction = np.array([[0.6, 0.8, 0.0]])
    for as_given in (X, sparse.csr_array(X)):
        short = stretched(micro, as_given, weights, 100 * direction)
        assert not short.exact
        assert_allclose(np.sum(short.counts), weights.sum())
        along, before = ((X - m.centers[m.group]) @ direction[0] for m in (short, micro))
        assert np.abs(along).mean() < 0.3 * np.abs(before).mean()


def test_rows_go_to_the_center_that_is_nearest_by_the_stretched_distance():
    X, weights = np.array([[0.0, 0.0], [1.0, 3.0], [1.9, 0.0], [3.0, 3.0]]), np.ones(4)
    ends = groups_of(X[[0, 3]], np.ones(2), 2)
    for factor, expected in ((0.0, [0, 1, 0, 1]), (10.0, [0, 0, 1, 1])):
        group = stretched(ends, X, weights, factor * np.array([[1.0, 0.0]])).group
        assert_array_equal(group == group[0], np.array(expected) == 0)
