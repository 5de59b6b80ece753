import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from tests import naive
from tests.strategies import seeds

from ravine._lattice import NEAR, added, nearest_rows
from ravine._matrix import fingerprint


@given(seed=seeds, spread=st.sampled_from([10, 100, 10**7]), same=st.booleans())
def test_added_sums_are_those_of_a_dictionary(seed, spread, same):
    rng = np.random.default_rng(seed)
    first, second = (np.unique(rng.integers(-spread, spread, size=rng.integers(1, 30))) for _ in range(2))
    second = first if same else second
    sums, others = (rng.integers(-9, 9, size=(2, len(index), 3)).astype(float) for index in (first, second))
    total = {}
    for index, terms in ((first, sums), (second, others)):
        for k, i in enumerate(index):
            total[i] = total.get(i, 0) + terms[:, k]
    index, found = added(first, sums, second, others)
    assert index.tolist() == sorted(total)
    for k, i in enumerate(index):
        assert_array_equal(found[:, k], total[i])


@pytest.mark.parametrize("n_positions", [1, 2, 50])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@given(seed=seeds, kind=st.sampled_from(["normal", "outliers", "whole", "few"]))
@example(seed=484795514, kind="whole")  # positions that differ by rounding only
def test_nearest_rows_agree_with_naive(n_positions, make, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 if kind == "few" else 60, 2))
    if kind == "outliers":
        X[:2] *= 1e9
    elif kind == "whole":
        X = np.round(X)
    rows = rng.permutation(len(X)).astype(np.int32)
    values = X[rows] @ [0.6, 0.8]
    positions = np.sort(rng.choice(values, n_positions) + rng.choice([0.0, 0.01, -5.0], n_positions))
    chosen, distance = nearest_rows(make(X), rows, values, positions, 0.1)
    expected, away = naive.nearest(values, positions, NEAR * 0.1, fingerprint(X, 0)[rows])
    assert_array_equal(X[chosen], X[rows[expected]])
    assert_array_equal(distance, away)


def test_values_are_not_sorted(rng, monkeypatch):
    X, positions = np.round(rng.normal(size=(500, 2)), 1), np.linspace(-3, 3, 40)
    for name in ("argsort", "sort", "lexsort", "unique"):
        monkeypatch.setattr(np, name, lambda *arguments, **options: pytest.fail("sorted"))
    nearest_rows(X, np.arange(500), X[:, 0], positions, 0.1)


@given(seed=seeds, n_positions=st.integers(1, 30), whole=st.booleans())
def test_nearest_row_is_the_first_of_all_that_are_equally_near(seed, n_positions, whole):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=60)
    values[30:] = values[:30] + NEAR * 0.1 * rng.choice([0.0, 0.1, 0.4, 0.9, 3.0], 30)
    if whole:
        values = np.round(values, 1) + NEAR * 0.1 * rng.choice([0.0, 0.3], 60)
    X = np.stack([values, rng.normal(size=60)], axis=1)
    positions = np.sort(rng.normal(size=n_positions))
    chosen, distance = nearest_rows(X, np.arange(60), values, positions, 0.1)
    expected, away = naive.nearest(values, positions, NEAR * 0.1, fingerprint(X, 0))
    assert_array_equal(chosen, expected)
    assert_array_equal(distance, away)


def test_nearest_rows_do_not_hang_on_the_last_digits_of_whole_numbers():
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(5000, 3)) * [1.0, 0.3, 0.7]
    values, positions = X @ [0.48, 0.6, 0.64], np.linspace(-4, 4, 400)
    chosen, _ = nearest_rows(X, None, values, positions, 0.1)
    for _ in range(20):
        others = values * (1 + 1e-13 * rng.normal(size=5000))
        assert_array_equal(X[nearest_rows(X, None, others, positions, 0.1)[0]], X[chosen])
