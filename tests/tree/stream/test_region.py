"""Rows of a region: in the order of time, with their old clusters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine.tree._stream._profile import APART
from ravine.tree._stream._region import Region


def test_regions_are_put_together_in_the_order_of_time():
    first = Region.with_owner(np.array([[1.0], [3.0]]), np.array([1, 3]), 7)
    second = Region(np.array([[0.0], [2.0]]), np.array([0, 2]), np.array([8, -1]), np.array([False, True]))
    whole = Region.of([first, second])
    assert_array_equal(whole.X[:, 0], [0, 1, 2, 3])
    assert_array_equal(whole.t, [0, 1, 2, 3])
    assert_array_equal(whole.owner, [8, 7, -1, 7])
    assert_array_equal(whole.is_apart, [False, False, True, False])
    assert_array_equal(whole[whole.t >= 2].owner, [-1, 7])


def test_rows_apart_are_counted_beyond_those_that_are_so_by_chance():
    region = Region(np.zeros((50, 1)), np.arange(50), np.zeros(50, dtype=int), np.arange(50) < 4)
    assert region.n_apart == 4 - 50 * APART


@pytest.mark.parametrize(("n", "most", "expected"), [(10, 20, 10), (10, 10, 10), (11, 10, 6), (95, 10, 10), (0, 5, 0)])
def test_thinned_region_has_few_rows_spread_over_time(n, most, expected):
    thinned = Region.with_owner(np.zeros((n, 2)), np.arange(n), 3).thinned(most)
    assert len(thinned.t) == expected
    assert len(set(np.diff(thinned.t))) <= 1
