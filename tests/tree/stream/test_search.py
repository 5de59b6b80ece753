"""Cuts that held-out rows confirm: the level under one mode, the power, rows that depend on each other, and units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine.tree._stream._profile import dependence_of
from ravine.tree._stream._search import MIN_ROWS, Found, _half, find_split, placed_between
from ravine.tree._valley_test import lattice_steps

ONE_MODE = {
    "gaussian": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size=size),
    "skewed": lambda rng, size: rng.exponential(size=size),
    "rounded": lambda rng, size: np.round(2 * rng.normal(size=size)),
}


def found(X, level=0.05, **more):
    return find_split(X, X.std(axis=0), np.zeros(X.shape[1]), level, **more).split


def two_groups(rng, n, d, distance, share=0.5):
    """Rows of two groups, apart along the diagonal."""
    is_second = rng.uniform(size=n) < share
    return rng.normal(size=(n, d)) + np.outer(is_second, np.full(d, distance / np.sqrt(d))), is_second


def correlated(rng, n, d, factor):
    """Rows of an AR(1) process."""
    X = rng.normal(size=(n, d))
    for i in range(1, n):
        X[i] = factor * X[i - 1] + np.sqrt(1 - factor**2) * X[i]
    return X


@pytest.mark.parametrize("kind", ONE_MODE)
def test_rows_with_one_mode_are_split_no_more_often_than_the_level_allows(kind):
    level, n_split = 0.05, 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = ONE_MODE[kind](rng, (rng.integers(MIN_ROWS, 150), rng.integers(1, 5)))
        n_split += find_split(X, X.std(axis=0), lattice_steps(X), level).split is not None
    assert n_split <= 300 * level


@pytest.mark.parametrize(("n", "d", "distance"), [(100, 1, 8.0), (200, 2, 6.0), (400, 5, 7.0), (400, 30, 12.0)])
def test_two_groups_are_split_between_them(n, d, distance):
    n_split = 0
    for seed in range(20):
        X, y = two_groups(np.random.default_rng(seed), n, d, distance)
        split = found(X)
        if split is not None:
            n_split += 1
            side = X @ split.normal >= split.offset
            assert max((side == y).mean(), (side != y).mean()) > 0.97
    assert n_split >= 18


def test_split_is_described_by_its_p_value_unit_normal_and_modes(rng):
    X, _ = two_groups(rng, 300, 3, 8.0)
    split = found(X, 0.01)
    assert 0 <= split.p_value <= 0.01
    assert np.linalg.norm(split.normal) == pytest.approx(1)
    assert_allclose(split.normal, np.full(3, 3**-0.5), atol=0.15)
    values = X @ split.normal
    assert values.min() < split.offset + split.low < split.offset < split.offset + split.high < values.max()
    assert_allclose([split.offset + split.low, split.offset + split.high], [0, 8], atol=1.5)


def test_stricter_level_splits_less(rng):
    X, _ = two_groups(rng, 120, 2, 6.0)
    assert found(X, 0.05) is not None
    assert found(X, 2.0**-30) is None  # sixty rows on one of two sides have no such p-value


def test_rows_that_follow_each_other_are_not_split_where_their_dependence_is_known():
    n_split = [0, 0]
    for seed in range(60):
        X = correlated(np.random.default_rng(seed), 300, 2, 0.97)
        dependence = dependence_of(X, X.std(axis=0))
        n_split[0] += found(X) is not None
        n_split[1] += found(X, dependence=dependence) is not None
    assert n_split[1] <= 3
    assert n_split[1] < n_split[0]


def test_neighbors_are_in_one_half_where_rows_depend_on_each_other():
    for n, length in ((100, 1), (100, 7), (5, 10)):
        half = _half(n, length, 0)
        blocks = np.arange(n) // length
        assert len(half) == n
        sides = [set(half[blocks == block]) for block in range(blocks[-1] + 1)]
        assert all(len(side) == 1 for side in sides)
        assert sides.count({True}) == len(sides) // 2
        assert_array_equal(half, _half(n, length, 0))


def test_copies_of_a_row_are_no_further_evidence_where_they_count_as_one(rng):
    X, _ = two_groups(rng, 200, 2, 7.0)
    copies = np.repeat(X, 4, axis=0)
    splits = found(X), found(copies, dependence=4.0), found(copies)
    once, as_one, as_many = (np.log(split.p_value) for split in splits)
    assert 1.5 * once < as_one < once / 1.5
    assert as_many < 2.5 * once


@pytest.mark.parametrize("n", [0, 1, 2, MIN_ROWS - 1])
def test_few_rows_are_not_split(n):
    X = np.repeat([[0.0, 0.0], [100.0, 0.0]], MIN_ROWS, axis=0)[MIN_ROWS - n // 2 :][:n]
    assert find_split(X, np.ones(2), np.zeros(2), 0.5).split is None


def test_few_rows_that_count_are_not_split(rng):
    X, _ = two_groups(rng, 200, 2, 12.0)
    assert found(X) is not None
    assert found(X, dependence=200 / MIN_ROWS + 1) is None


def test_constant_rows_and_ignored_columns_are_not_split(rng):
    assert find_split(np.full((100, 3), 0.1), np.full(3, np.inf), np.zeros(3), 0.5).split is None
    X, _ = two_groups(rng, 200, 2, 12.0)
    assert find_split(X, np.full(2, np.inf), np.zeros(2), 0.5).split is None
    unit = np.append(X.std(axis=0), np.inf)
    assert find_split(np.c_[X, np.full(200, 7.0)], unit, np.zeros(3), 0.05).split.normal[2] == 0


def test_rows_with_one_mode_are_hopeless_and_two_groups_too_few_to_be_confirmed_are_not(rng):
    assert find_split(rng.normal(size=(300, 3)), np.ones(3), np.zeros(3), 0.05) == Found(None, is_hopeless=True)
    X, _ = two_groups(rng, 30, 2, 12.0)
    assert find_split(X, np.ones(2), np.zeros(2), 1e-6) == Found(None, is_hopeless=False)


def test_lattice_is_not_split_where_its_step_is_known(rng):
    X = rng.integers(0, 3, size=(300, 1)).astype(float)
    assert find_split(X, X.std(axis=0), np.zeros(1), 0.05).split is not None
    assert find_split(X, X.std(axis=0), lattice_steps(X), 0.05).split is None


@pytest.mark.parametrize("scale", [[1e-3, 1.0, 1e6], [8.0, 0.5, 2.0]])
def test_unit_and_origin_of_the_columns_do_not_matter(scale, rng):
    X, _ = two_groups(rng, 300, 3, 8.0)
    moved = X * scale + [5.0, -3.0, 100.0]
    ours, theirs = found(X), found(moved)
    assert theirs.p_value == pytest.approx(ours.p_value)
    assert_array_equal(moved @ theirs.normal < theirs.offset, X @ ours.normal < ours.offset)


def test_a_small_group_is_found_along_the_direction_to_it(rng):
    X = np.concatenate([rng.normal(size=(300, 12)), rng.normal(size=(30, 12)) + 9 * np.eye(12)[3]])
    is_apart = np.arange(330) >= 300
    order = rng.permutation(330)
    X, is_apart = X[order], is_apart[order]
    for hint in ({"is_apart": is_apart}, {"extra": np.eye(12)[3:4]}):
        split = find_split(X, np.ones(12), np.zeros(12), 0.01, **hint).split
        side = X @ split.normal >= split.offset
        assert max((side == is_apart).mean(), (side != is_apart).mean()) > 0.98


def test_search_is_the_same_each_time_and_changes_no_row(rng):
    X, _ = two_groups(rng, 200, 4, 8.0)
    before = X.copy()
    first, second = found(X), found(X)
    assert_array_equal(X, before)
    assert (first.p_value, first.offset, first.low, first.high) == (
        second.p_value,
        second.offset,
        second.low,
        second.high,
    )
    assert_array_equal(first.normal, second.normal)


# A cut between two sets of rows


@pytest.mark.parametrize("scale", [[1.0, 1.0, 1.0], [1e-3, 1.0, 1e6]])
def test_cut_between_two_sets_lies_in_the_valley_although_some_rows_are_on_the_wrong_side(scale, rng):
    X, y = two_groups(rng, 400, 3, 7.0)
    is_right = y ^ (rng.uniform(size=400) < 0.1)
    X = X * scale
    split = placed_between(X, is_right, X.std(axis=0), np.zeros(3), 0.003)
    assert split.p_value == 0.003
    side = X @ split.normal >= split.offset
    assert max((side == y).mean(), (side != y).mean()) > 0.99
    assert split.low < 0 < split.high


def test_no_cut_is_placed_between_equal_sets_of_rows(rng):
    X = np.tile(rng.normal(size=(100, 2)), (2, 1))
    assert placed_between(X, np.repeat([False, True], 100), np.ones(2), np.zeros(2), 0.01) is None
