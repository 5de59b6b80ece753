"""Rows that belong to other leaves: slivers of one, strays of many, and clusters that belong to nobody."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.tree.stream.leaves import chain

from ravine import _kernels
from ravine.tree._stream._ownership import nearest_of_strays, owners
from ravine.tree._stream._profile import profile_of
from ravine.tree._stream._region import Region

kernel = _kernels.stream


@pytest.fixture
def nodes():
    return chain([0.0, 20.0, 40.0], [np.arange(k, 600, 3) for k in range(3)])


def part(rng, center, n=30):
    return Region.with_owner(center + rng.normal(size=(n, 1)), np.arange(600, 600 + n), 1)


def test_rows_that_fit_another_leaf_belong_to_it(nodes, rng):
    nodes, leaves = nodes
    assert owners(nodes, leaves[1], part(rng, 1.0), lambda region: False) == [leaves[0]]
    assert owners(nodes, leaves[1], part(rng, 1.0), lambda region: True) == []  # there is a valley between


def test_rows_far_from_all_leaves_belong_to_nobody(nodes, rng):
    nodes, leaves = nodes
    assert owners(nodes, leaves[1], part(rng, 60.0), lambda region: False) == []


@pytest.mark.parametrize("why", ["few rows", "mixed"])
def test_leaf_that_may_be_several_clusters_owns_nothing(nodes, why, rng):
    nodes, leaves = nodes
    nodes.leaf[leaves[0], kernel.N_SINCE if why == "few rows" else kernel.IS_MIXED] = 1
    assert owners(nodes, leaves[1], part(rng, 1.0), lambda region: False) == []


def test_valley_is_looked_for_among_all_rows_of_the_time(nodes, rng):
    nodes, leaves = nodes
    seen = []
    owners(nodes, leaves[1], Region.with_owner(np.zeros((30, 1)) + 0.5, np.arange(300, 330), 1), seen.append)
    assert len(seen[0].t) == 30 + 100  # a third of the rows since row 300
    assert (np.diff(seen[0].t) >= 0).all()


def test_rows_of_many_clusters_are_strays_and_rows_of_one_are_not(rng):
    centers = 10 * np.eye(8)[:6]
    profiles = [profile_of(center + rng.normal(size=(200, 8)), np.full(8, 1e-3)) for center in centers]
    strays = centers[np.arange(30) % 6] + 2 * rng.normal(size=(30, 8))
    assert_array_equal(nearest_of_strays(strays, profiles), np.arange(30) % 6)
    cluster = 10 * np.eye(8)[7] + rng.normal(size=(30, 8))
    assert nearest_of_strays(cluster, profiles) is None
