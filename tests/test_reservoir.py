import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from tests.strategies import seeds

from ravine.reservoir import Reservoir, arrival_keys, content_sample, merge_copies


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
    kept = np.argsort(arrival_keys(0, 10_000, seed=0, forget=500))[:100]
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
