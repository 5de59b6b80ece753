"""Clusters that continue, have changed or are gone, from the rates of their rows and from how these fit."""

import numpy as np
import pytest
from tests.tree.stream.leaves import add_rows, chain, split_at

from ravine.tree._stream._changes import current_rows, drifted_subtree, is_gone, is_trail, too_few
from ravine.tree._stream._matching import NOBODY
from ravine.tree._stream._region import Region


@pytest.mark.parametrize(
    ("n", "expected", "few"), [(0, 20, True), (8, 20, False), (30, 100, True), (65, 100, False), (0, 4, False)]
)
def test_rows_are_too_few_if_their_number_is_small_and_unlikely(n, expected, few):
    assert too_few(n, expected) == few


def followed(late):
    """Three leaves in turns up to row 600; then the first one gets the given rows, one in three."""
    nodes, leaves = chain([0.0, 20.0, 40.0], [np.arange(k, 600, 3) for k in range(3)])
    add_rows(nodes, leaves[0], late, range(600, 600 + 3 * len(late), 3))
    return nodes, leaves, 600 + 3 * len(late)


def test_cluster_whose_rows_come_and_fit_continues_with_its_old_rows(rng):
    nodes, leaves, now = followed(rng.normal(size=(50, 1)))
    region, continues = current_rows(nodes, leaves[0], 600, now, 40)
    assert continues
    assert (region.t < 600).sum() == 40
    assert (region.t >= 600).sum() == 50
    assert not is_gone(nodes, leaves[0], 600, now)


def test_cluster_whose_rows_come_and_do_not_fit_has_moved(rng):
    nodes, leaves, now = followed(6 + rng.normal(size=(50, 1)))
    add_rows(nodes, leaves[1], 20 + rng.normal(size=(50, 1)), range(601, now, 3))
    region, continues = current_rows(nodes, leaves[0], 600, now, 40)
    assert not continues
    assert (region.t >= 600).all()
    assert (region.owner == 0).all()
    assert is_gone(nodes, leaves[0], 600, now)


def test_rows_of_a_cluster_that_is_gone_belong_to_nobody(rng):
    nodes, leaves, now = followed(6 + rng.normal(size=(50, 1)))
    few = rng.normal(size=(3, 1)) + 26
    add_rows(nodes, leaves[1], few, range(601, 610, 3))
    region, continues = current_rows(nodes, leaves[1], 600, now, 40)
    assert not continues
    assert (region.owner == NOBODY).all()


def test_clusters_have_fewer_rows_while_new_ones_appear(rng):
    """A third of the rows is of a new cluster: two thirds of the rows that were expected are enough to continue."""
    nodes, leaves, now = followed(8 + rng.normal(size=(100, 1)))
    add_rows(nodes, leaves[1], 20 + rng.normal(size=(55, 1)), range(601, 901, 3)[:55])
    assert current_rows(nodes, leaves[1], 600, now, 40)[1]


def test_subtree_has_drifted_where_most_of_its_clusters_are_gone(rng):
    centers = [0.0, 20.0, 40.0, 60.0]
    nodes, leaves = chain(centers, [np.arange(k, 800, 4) for k in range(4)])
    for k, leaf in enumerate(leaves):
        add_rows(nodes, leaf, centers[k] + 7 + rng.normal(size=(30, 1)), range(800 + k, 920, 4))
    assert drifted_subtree(nodes, leaves[3], 800, 920) == nodes.root
    nodes, leaves = chain(centers, [np.arange(k, 800, 4) for k in range(4)])
    for k, leaf in enumerate(leaves):
        add_rows(nodes, leaf, centers[k] + 7 * (k == 3) + rng.normal(size=(30, 1)), range(800 + k, 920, 4))
    assert drifted_subtree(nodes, leaves[3], 800, 920) is None


def test_side_without_recent_rows_is_a_trail(rng):
    t = np.arange(200)
    left = Region.with_owner(np.where(t < 100, -5.0, 5.0)[:, np.newaxis], t, 0)
    both = Region.with_owner(np.where(t % 2, -5.0, 5.0)[:, np.newaxis], t, 0)
    assert is_trail(left, split_at(0.0))
    assert not is_trail(both, split_at(0.0))
