"""Profiles of leaves: scores without the row itself, p-values of new rows, moves, and rows that count as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import seeds

from ravine import _kernels
from ravine.tree._stream._profile import APART, FITS, SHIFT, dependence_of, profile_of


def correlated(rng, n, d, factor):
    """Rows of an AR(1) process."""
    X = rng.normal(size=(n, d))
    for i in range(1, n):
        X[i] = factor * X[i - 1] + np.sqrt(1 - factor**2) * X[i]
    return X


@given(seeds, st.integers(3, 40), st.integers(1, 4), st.sampled_from([1e-6, 0.5]), st.booleans())
def test_scores_of_a_profile_are_those_without_the_row_itself(seed, n, d, floor, ties):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(float) if ties else rng.normal(size=(n, d))
    floor = np.full(d, floor)
    profile = profile_of(X, floor)
    scores = []
    for i in range(n):
        others = np.delete(X, i, axis=0)
        deviation = np.maximum(others.std(axis=0, ddof=1), floor)
        scores.append((((X[i] - others.mean(axis=0)) / deviation) ** 2).sum())
    assert_allclose(profile.median, np.median(scores), rtol=1e-6, atol=1e-9)
    assert profile.counts.sum() == profile.n_rows == n
    bins = [_kernels.stream.bin_of(score, profile.median) for score in scores]
    if not ties:  # equal scores may be on the end of a bin
        expected = np.bincount(bins, minlength=len(profile.counts))
        assert np.abs(np.cumsum(profile.counts - expected)).max() <= 1
    assert_allclose(profile.mean, X.mean(axis=0), atol=1e-12)
    assert_allclose(1 / profile.inverse, np.maximum(X.std(axis=0, ddof=1), floor))


def test_p_values_of_new_rows_are_uniform(rng):
    p_values = []
    for _ in range(40):
        X = rng.normal(size=(400, 3))
        p_values.append(profile_of(X[:200], np.full(3, 1e-3)).p_values(X[200:]))
    p_values = np.concatenate(p_values)
    for level in (APART, FITS, 0.2, 0.5, 0.8):
        assert (p_values <= level).mean() == pytest.approx(level, abs=0.02 + 0.1 * level)


@given(seeds, st.integers(3, 60))
def test_p_value_is_the_share_of_larger_scores_with_ties_by_half(seed, n):
    rng = np.random.default_rng(seed)
    profile = profile_of(rng.normal(size=(n, 2)), np.full(2, 1e-3))
    X = 2 * rng.normal(size=(5, 2))
    scores = (((X - profile.mean) * profile.inverse) ** 2).sum(axis=1)
    for score, p_value in zip(scores, profile.p_values(X), strict=True):
        b = _kernels.stream.bin_of(score, profile.median)
        larger = profile.counts[b + 1 :].sum() + profile.counts[b] / 2
        assert p_value == pytest.approx(larger / (n + 1))


def test_rows_of_the_leaf_fit_and_far_rows_do_not(rng):
    profile = profile_of(rng.normal(size=(200, 4)), np.full(4, 1e-3))
    assert profile.fit_share(rng.normal(size=(500, 4))) > 0.9
    assert profile.fit_share(rng.normal(size=(500, 4)) + 5) == 0
    assert profile.fit_share(np.empty((0, 4))) == 0
    assert (profile.p_values(np.full((1, 4), 1e100)) == profile.counts[-1] / 2 / 201).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_profile_of_equal_rows_fits_them_and_no_other(value):
    X = np.full((50, 2), value)
    profile = profile_of(X, np.ones(2))
    assert profile.median == pytest.approx(0, abs=1e-9)
    assert profile.fit_share(X) == 1
    assert profile.fit_share(X + 5) == 0


@pytest.mark.parametrize(("n", "d"), [(30, 1), (60, 4), (100, 20)])
def test_means_that_differ_by_chance_have_not_moved(n, d):
    n_moved, floor = 0, np.full(d, 1e-3)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        ours, theirs = (profile_of(rng.normal(size=(n, d)), floor) for _ in range(2))
        n_moved += ours.has_moved(theirs)
        moved = profile_of(rng.normal(size=(n, d)) + (5 * SHIFT) * np.eye(d)[0], floor)
        assert ours.has_moved(moved)
    assert n_moved <= 2


def test_shift_is_measured_in_deviations(rng):
    X = rng.normal(size=(100, 2)) * [1.0, 50.0]
    before, after = (profile_of(rows, np.full(2, 1e-3)) for rows in (X, X + 100 * np.eye(2)[1]))
    assert before.shift_to(after.mean) == pytest.approx(100 / X[:, 1].std(ddof=1))


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_profile_does_not_depend_on_the_unit(unit, rng):
    X = rng.normal(size=(80, 3))
    ours, theirs = profile_of(X, np.full(3, 1e-3)), profile_of(unit * X, np.full(3, 1e-3 * unit))
    assert theirs.median == pytest.approx(ours.median)
    assert_allclose(theirs.inverse * unit, ours.inverse)
    assert_array_equal(ours.p_values(2 * X), theirs.p_values(2 * unit * X))


@pytest.mark.parametrize("factor", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("d", [1, 5])
def test_dependence_of_correlated_rows_is_that_of_the_variance_of_their_mean(factor, d):
    expected = (1 + factor) / (1 - factor)
    estimates = [dependence_of(correlated(np.random.default_rng(s), 1000, d, factor), np.ones(d)) for s in range(10)]
    assert np.median(estimates) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_independent_rows_count_one_by_one(n):
    estimates = [dependence_of(np.random.default_rng(s).normal(size=(n, 2)), np.ones(2)) for s in range(100)]
    assert np.mean(np.array(estimates) == 1) >= 0.98


def test_rows_that_alternate_or_are_equal_count_one_by_one():
    assert dependence_of(np.tile([[0.0], [1.0]], (50, 1)), np.ones(1)) == 1
    for value in (0.0, 0.1, 1e9 / 3):
        assert dependence_of(np.full((50, 2), value), np.array([1.0, np.inf])) == 1


def test_dependence_is_bounded_by_the_number_of_rows():
    assert dependence_of(np.linspace(0, 1, 200)[:, np.newaxis], np.ones(1)) <= 2 * 200


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_dependence_is_the_same_in_any_unit(unit, rng):
    X = correlated(rng, 300, 2, 0.8)
    assert dependence_of(X / unit * 1e-60, np.full(2, 1e-60)) == pytest.approx(dependence_of(X, np.ones(2)))
