import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.strategies import seeds

from ravine import _blocks
from ravine._reservoir import (
    Reservoir,
    arrival_keys,
    content_sample,
    has_copies,
    merge_copies,
    sorted_numbers,
    visits,
)


@given(seeds, st.integers(2, 30), st.lists(st.integers(1, 40), min_size=1, max_size=5), st.booleans())
def test_sample_is_the_rows_with_the_smallest_keys_in_any_batches(seed, size, batches, as_csr):
    rng = np.random.default_rng(seed)
    X, weights, keys = rng.normal(size=(100, 2)), rng.uniform(size=100), rng.normal(size=100)
    rows = sparse.csr_array(X) if as_csr else X
    reservoir = Reservoir(size)
    start, i = 0, 0
    while start < 100:
        part = slice(start, start + batches[i % len(batches)])
        reservoir.add(keys[part], rows[part], weights[part])
        start, i = part.stop, i + 1
    kept, kept_weights = reservoir.sample()
    expected = np.argsort(keys)[:size]
    assert_array_equal(kept.toarray() if as_csr else kept, X[expected])
    assert_array_equal(kept_weights, weights[expected])


def test_keys_of_a_stream_do_not_depend_on_its_batches():
    assert_array_equal(
        arrival_keys(0, 50, seed=3), np.concatenate([arrival_keys(0, 20, seed=3), arrival_keys(20, 30, seed=3)])
    )
    assert (arrival_keys(0, 50, seed=3) != arrival_keys(0, 50, seed=4)).all()


def test_every_row_of_a_stream_has_the_same_chance():
    kept = [np.argsort(arrival_keys(0, 200, seed))[:20] for seed in range(500)]
    often = np.bincount(np.concatenate(kept), minlength=200)
    assert often.mean() == 50
    assert 0.7 < often.var() / 45 < 1.4  # binomial


def test_forgetting_keeps_late_rows():
    kept = np.argsort(arrival_keys(0, 10_000, seed=0, memory_length=500))[:100]
    assert 300 < 10_000 - kept.mean() < 800


@given(seeds, st.integers(1, 60), st.booleans())
def test_sample_of_rows_at_hand_does_not_depend_on_their_order(seed, size, weighted):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    weights = rng.integers(1, 3, size=60).astype(float) if weighted else np.ones(60)
    order = rng.permutation(60)
    rows, keys = content_sample(X, weights, size, seed=5)
    other, other_keys = content_sample(X[order], weights[order], size, seed=5)
    ours = np.c_[X[rows], weights[rows]][np.argsort(keys)]
    assert_array_equal(ours, np.c_[X[order][other], weights[order][other]][np.argsort(other_keys)])
    assert len(rows) == size


def test_copies_of_a_row_are_drawn_as_often_as_they_stand_in_the_data():
    X = np.repeat([[0.0], [1.0]], [900, 100], axis=0)
    shares = [X[content_sample(X, np.ones(1000), 100, seed)[0]].mean() for seed in range(50)]
    assert np.mean(shares) == pytest.approx(0.1, abs=0.02)
    assert np.std(shares) < 0.06


@given(seeds)
def test_merged_copies_have_the_weight_of_all(seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.integers(0, 3, size=(40, 2)).astype(float), rng.integers(1, 4, size=40).astype(float)
    rows, total = merge_copies(X, weights, seed=1)
    assert len(np.unique(rows, axis=0)) == len(rows) == len(np.unique(X, axis=0))
    assert_array_equal(total, [weights[(row == X).all(axis=1)].sum() for row in rows])
    repeated = np.repeat(X, weights.astype(int), axis=0)
    for ours, other in zip((rows, total), merge_copies(repeated, np.ones(len(repeated)), seed=1), strict=True):
        assert_array_equal(ours, other)


@given(seeds, st.integers(1, 40))
def test_rows_are_visited_as_often_as_they_have_weight_of_the_mean(seed, n):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(n, 2)), rng.uniform(0.01, 1, n) ** 3
    visited = visits(X, weights, seed=2)
    times = np.bincount(visited.row, minlength=n)
    assert_array_equal(times, [np.ceil(w / weights.mean()) for w in weights])
    assert_allclose(times * visited.weight / len(visited.row), weights / weights.sum())
    assert visited.weight.max() <= len(visited.row) / n + 1e-9


def test_rows_of_equal_weight_are_visited_once_each_with_weight_one(rng):
    visited = visits(rng.normal(size=(50, 3)), np.full(50, 0.3), seed=0)
    assert_array_equal(visited.row, np.arange(50))
    assert_allclose(visited.weight, 1)


@given(seeds)
def test_order_of_visits_depends_on_what_rows_contain_alone(seed):
    rng = np.random.default_rng(seed)
    X, weights, order = rng.normal(size=(30, 2)), rng.uniform(0.1, 3, 30), rng.permutation(30)
    ours, other = visits(X, weights, seed=4), visits(X[order], weights[order], seed=4)
    for epoch in (1, 2):
        assert_array_equal(ours.in_epoch(epoch), order[other.in_epoch(epoch)])
    assert_allclose(ours.weight[order], other.weight)


def test_every_epoch_and_every_seed_has_an_order_of_its_own(rng):
    X = rng.normal(size=(200, 2))
    orders = [visits(X, np.ones(200), seed).in_epoch(epoch) for seed in (0, 1) for epoch in (1, 2, 3)]
    for i, order in enumerate(orders):
        assert_array_equal(np.sort(order), np.arange(200))
        assert all((order == other).sum() < 10 for other in orders[:i])


def test_visits_of_an_epoch_are_the_same_each_time_and_on_threads(rng):
    X, weights = rng.normal(size=(60, 2)), rng.uniform(0.1, 3, 60)
    visited = visits(X, weights, seed=1)
    assert_array_equal(visited.in_epoch(7), visited.in_epoch(7))
    assert_array_equal(visited.in_epoch(7), visits(X, weights, seed=1, n_jobs=2).in_epoch(7))


def test_every_row_is_as_often_early_as_late_in_an_epoch(rng):
    visited = visits(rng.normal(size=(20, 1)), np.ones(20), seed=0)
    place = np.mean([np.argsort(visited.in_epoch(epoch)) for epoch in range(1000)], axis=0)
    assert_allclose(place, 9.5, atol=4 * np.sqrt(33.25 / 1000))


@given(seeds, st.integers(1, 8), st.integers(1, 12), st.booleans())
def test_data_have_copies_where_two_rows_are_equal(seed, n_values, n, as_csr):
    X = np.random.default_rng(seed).integers(0, n_values, size=(n, 2)).astype(float)
    assert has_copies(sparse.csr_array(X) if as_csr else X, seed=3) == (len(np.unique(X, axis=0)) < n)


@pytest.mark.parametrize("n_values", [1, 3, 1 << 60])
@pytest.mark.parametrize("n", [0, 1, 5, 333])
def test_numbers_are_sorted_on_any_number_of_threads(n, n_values, four_cores, monkeypatch):
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 16)
    numbers = np.random.default_rng(n).integers(n_values, size=n, dtype=np.uint64)
    for n_jobs in (1, 2, 4):
        assert_array_equal(sorted_numbers(numbers, n_jobs), np.sort(numbers))
        assert_array_equal(sorted_numbers(numbers[::-1], n_jobs), np.sort(numbers))
