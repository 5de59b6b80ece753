"""Cuts that are placed anew: they separate the same clusters better, and rows on the wrong side are dropped."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.tree.stream.leaves import chain
from tests.tree.stream.streams import rows_about

from ravine import _kernels
from ravine.tree._stream import StreamSettings, StreamTree
from ravine.tree._stream._placement import place_anew
from ravine.tree._stream._units import Units

kernel = _kernels.stream


def three_leaves(offset):
    """Leaves about 0, 20 and 40, whose first cut lies at an offset; its rows are on the sides that it gives them."""
    nodes, leaves = chain([0.0, 20.0, 40.0], [np.arange(k, 600, 3) for k in range(3)])
    nodes.cut[nodes.root, [kernel.OFFSET, kernel.N_ROWS]] = offset, 10
    return nodes, leaves, Units(np.ones(1), np.zeros(1), np.ones(1))


def test_cut_moves_into_the_middle_of_the_valley():
    nodes, leaves, units = three_leaves(3.5)
    place_anew(nodes, nodes.root, units, 600)
    assert 5 < nodes.cut[nodes.root, kernel.OFFSET] < 15
    assert nodes.leaves() == leaves
    assert [len(nodes.times_of(leaf)) for leaf in leaves] == [200] * 3


def test_rows_on_the_wrong_side_are_dropped():
    nodes, leaves, units = three_leaves(3.5)
    ring = nodes.ring[leaves[1]]
    nodes.rows[ring, :15] = 0.1  # rows of the first leaf that the old cut had sent to the second one
    place_anew(nodes, nodes.root, units, 600)
    assert [len(nodes.times_of(leaf)) for leaf in leaves] == [200, 185, 200]
    assert_array_equal(nodes.times_of(leaves[1]), np.arange(1, 600, 3)[15:])


@pytest.mark.parametrize("why", ["few rows", "alarm of the cut", "alarm of a leaf"])
def test_cut_stays_where_it_is_if_there_are_few_more_rows_or_something_changes(why):
    nodes, leaves, units = three_leaves(3.5)
    if why == "few rows":
        nodes.cut[nodes.root, kernel.N_ROWS] = 300
    elif why == "alarm of the cut":
        nodes.mark_filled(nodes.root, 500, 10)
    else:
        nodes.leaf[leaves[2], kernel.STATE] = kernel.CHANGED
    place_anew(nodes, nodes.root, units, 600)
    assert nodes.cut[nodes.root, kernel.OFFSET] == 3.5


def test_cut_stays_where_it_is_if_a_leaf_would_come_to_the_other_side():
    nodes, leaves, units = three_leaves(3.5)
    nodes.rows[nodes.ring[leaves[1]], :200] *= 0.01  # now about 0, as the first leaf
    place_anew(nodes, nodes.root, units, 600)
    assert nodes.cut[nodes.root, kernel.OFFSET] == 3.5
    assert len(nodes.times_of(leaves[1])) == 200


def test_cuts_are_placed_anew_as_rows_come_and_strays_leave_the_rings(rng):
    centers = 3.2 * np.linalg.qr(rng.normal(size=(12, 12)))[0][:6] * np.sqrt(6)
    X, y = rows_about(rng, centers, 6000)
    tree = StreamTree(12, StreamSettings())
    tree.learn(X[:1000])
    early = tree.snapshot()[0]
    tree.learn(X[1000:])
    late, _ = tree.snapshot()
    assert early.n_clusters == late.n_clusters == 6
    assert not np.allclose(np.sort(early.offset), np.sort(late.offset), atol=1e-3)
    wrong = [
        (y[tree.nodes.times_of(leaf)] != np.bincount(y[tree.nodes.times_of(leaf)]).argmax()).mean()
        for leaf in tree.nodes.leaves()
    ]
    assert max(wrong) < 0.01
