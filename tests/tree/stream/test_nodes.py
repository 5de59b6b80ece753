"""Nodes stay a tree, whatever is done to them; rings belong to one leaf and keep its last rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import seeds
from tests.tree.stream.leaves import add_rows, chain, split_at

from ravine import _kernels
from ravine.tree._stream._nodes import ROOM, Nodes
from ravine.tree._stream._profile import profile_of


def leaf_with_rows(nodes, node, parent, rng, kept):
    """Make a leaf with rows that no other leaf has."""
    n = int(rng.integers(0, 2 * nodes.ring_size))
    X, t = rng.normal(size=(n, 2)), np.sort(rng.choice(10_000, size=n, replace=False))
    nodes.make_leaf(node, parent, X, t, 10_000)
    kept[node] = X[-nodes.ring_size :], t[-nodes.ring_size :]


def assert_is_tree(nodes, kept):
    """Links agree, each leaf has a ring of its own with its own rows, and all other nodes are not used."""
    order = nodes.below(nodes.root)
    assert nodes.parent[nodes.root] == -1
    assert len(set(order)) == len(order)
    leaves = nodes.leaves()
    assert set(leaves) == kept.keys()
    for node in order:
        children = [int(nodes.left[node]), int(nodes.right[node])]
        if node in kept:
            assert children == [-1, -1]
            assert_array_equal(nodes.recent(node)[0], kept[node][0])
            assert_array_equal(nodes.recent(node)[1], kept[node][1])
        else:
            assert_array_equal(nodes.parent[children], node)
            assert nodes.ring[node] == -1
            assert [nodes.sibling(child) for child in children] == children[::-1]
            assert node in nodes.above(children[0])
            assert nodes.common(nodes.leaves(node)) == node
    rings = nodes.ring[leaves]
    assert (rings >= 0).all()
    assert len(set(rings)) == len(rings)
    others = np.setdiff1d(np.arange(len(nodes.left)), order)
    assert (nodes.ring[others] == -2).all()
    cuts = np.setdiff1d(order, leaves)
    assert len(set(nodes.identity[cuts])) == len(cuts)


@given(seeds, st.lists(st.sampled_from(["split", "split", "split", "remove", "drop"]), min_size=1, max_size=60))
def test_links_and_rings_stay_valid_whatever_is_done(seed, steps):
    rng, nodes, kept = np.random.default_rng(seed), Nodes(2, 5), {}
    leaf_with_rows(nodes, nodes.take(), -1, rng, kept)
    for step in steps:
        leaf = int(rng.choice(nodes.leaves()))
        if step == "split":
            del kept[leaf]
            for child in nodes.make_cut(leaf, split_at(0.0, 2), rng.normal(size=10)):
                leaf_with_rows(nodes, child, leaf, rng, kept)
        elif len(kept) > 1 and step == "remove":
            del kept[leaf]
            nodes.remove(leaf)
        elif len(kept) > 1:
            cut = int(rng.choice(nodes.above(leaf)))
            for other in nodes.leaves(cut):
                del kept[other]
            nodes.drop_below(cut)
            leaf_with_rows(nodes, cut, int(nodes.parent[cut]), rng, kept)
        assert_is_tree(nodes, kept)


def test_nodes_and_rings_are_used_again(rng):
    nodes, kept = Nodes(2, 5), {}
    leaf_with_rows(nodes, nodes.take(), -1, rng, kept)
    for _ in range(10 * ROOM):
        (leaf,) = nodes.leaves()
        for child in nodes.make_cut(leaf, split_at(0.0, 2), rng.normal(size=10)):
            leaf_with_rows(nodes, child, leaf, rng, kept)
        nodes.remove(nodes.leaves()[0])
    assert len(nodes.left) == ROOM
    assert len(nodes.rows) <= 4
    assert nodes.n_cuts == 10 * ROOM


def test_what_was_in_a_node_before_is_gone():
    nodes, _ = chain([0.0, 9.0], [range(40), range(40, 80)])
    cut = nodes.root
    nodes.drop_below(cut)
    nodes.make_leaf(cut, -1, np.array([[5.0]]), np.array([99]), 100)
    assert_array_equal(nodes.recent(cut)[0], [[5.0]])
    assert nodes.profile(cut) is None
    assert nodes.order[cut] == -1
    ring = nodes.ring[cut]
    assert not nodes.rows[ring, 1:].any()
    assert (nodes.times[ring, 1:] == -1).all()
    assert not nodes.cut[cut].any()


@given(st.lists(st.integers(1, 5), max_size=50), st.integers(1, 20), st.integers(-1, 160), st.integers(0, 30))
def test_recent_rows_are_the_last_ones_since_a_row(gaps, ring_size, since, most):
    nodes, (leaf,) = chain([0.0], [[]], ring_size)
    times = np.cumsum(gaps)
    X = np.arange(len(times), dtype=float)[:, np.newaxis]
    add_rows(nodes, leaf, X, times)
    kept = [i for i in range(len(times))[-ring_size:] if times[i] >= since]
    for bound, expected in ((None, kept), (most, kept[len(kept) - min(most, len(kept)) :])):
        rows, t = nodes.recent(leaf, since, bound)
        assert_array_equal(rows[:, 0], expected)
        assert_array_equal(t, times[expected] if expected else [])


def test_leaf_counts_the_rows_that_it_is_made_of():
    times = [3, 4, 5, 10, 11, 30]
    nodes, (leaf,) = chain([0.0], [times], ring_size=4)
    kernel, L = _kernels.stream, nodes.leaf[leaf]
    assert (L[kernel.N_SEEN], L[kernel.N_SINCE], L[kernel.N_STORED]) == (6, 6, 4)
    assert (L[kernel.BORN], L[kernel.SINCE], L[kernel.LAST]) == (3, 3, 30)
    assert (L[kernel.LONGEST_GAP], L[kernel.N_VISITS]) == (19, 3)
    assert nodes.last(leaf) == 30
    assert nodes.rate(leaf) == 6 / 28
    looped, (other,) = chain([0.0], [[]], ring_size=4)
    looped.leaf[other, [kernel.BORN, kernel.SINCE]] = 3
    add_rows(looped, other, np.zeros((6, 1)), times)
    same = [kernel.N_SEEN, kernel.N_SINCE, kernel.BORN, kernel.LAST, kernel.LONGEST_GAP, kernel.N_VISITS]
    assert_array_equal(L[same], looped.leaf[other, same])
    assert_array_equal(nodes.recent(leaf)[1], looped.recent(other)[1])


def test_leaf_without_rows_begins_now():
    nodes, leaf = Nodes(1, 4), 0
    nodes.make_leaf(nodes.take(), -1, np.empty((0, 1)), np.empty(0, dtype=np.int64), 77)
    assert nodes.last(leaf) == 77
    assert nodes.rate(leaf) == 0
    assert nodes.moments(leaf) == (0.0, 0.0, 0.0)


def test_cut_counts_rows_between_the_modes_and_near_it(rng):
    nodes, (leaf,) = chain([0.0], [range(10)])
    distances = 5 * rng.normal(size=200)
    nodes.make_cut(leaf, split_at(2.0, reach=4.0), distances)
    kernel, c = _kernels.stream, nodes.cut[leaf]
    assert (c[kernel.OFFSET], c[kernel.LOW], c[kernel.HIGH]) == (2.0, -4.0, 4.0)
    assert 0 < c[kernel.REACH] < 4.0
    assert c[kernel.RATE] == pytest.approx(c[kernel.REACH] / 4.0)  # evenly spread rows
    assert c[kernel.N_INNER] == (np.abs(distances) < c[kernel.REACH]).sum()
    assert c[kernel.N_OUTER] == (np.abs(distances) < 4.0).sum()
    assert not nodes.is_filled(leaf)


def test_alarm_of_a_cut_keeps_the_row_at_which_it_was_raised():
    nodes, (left, right) = chain([0.0, 9.0], [range(40), range(40, 80)])
    nodes.mark_filled(nodes.root, 100, 50)
    nodes.mark_filled(nodes.root, 200, 50)
    assert nodes.is_filled(nodes.root)
    assert nodes.is_filled(nodes.root, by=100)
    assert not nodes.is_filled(nodes.root, by=99)
    assert not nodes.is_filled(left)
    assert nodes.leaf_of(1) == right


def test_profile_comes_back_as_it_was_given_and_starts_the_bets_anew(rng):
    nodes, (leaf,) = chain([0.0], [range(60)])
    kernel, L = _kernels.stream, nodes.leaf[leaf]
    L[[kernel.CUSUM, kernel.ONSET]] = 5.0, 3.0
    profile = profile_of(rng.normal(size=(50, 1)), np.ones(1))
    nodes.set_profile(leaf, profile)
    found = nodes.profile(leaf)
    assert (found.median, found.n_rows) == (profile.median, profile.n_rows)
    for name in ("mean", "inverse", "counts"):
        assert_array_equal(getattr(found, name), getattr(profile, name))
    assert (L[kernel.STATE], L[kernel.CUSUM], L[kernel.ONSET]) == (kernel.WATCHED, 0.0, 59.0)
    nodes.counts[leaf] += 1
    assert_array_equal(found.counts, profile.counts)


def test_moments_of_a_leaf_extend_those_of_its_recent_rows(rng):
    nodes, (leaf,) = chain([0.0], [range(100)], ring_size=25)
    X, _ = nodes.recent(leaf)
    count, mean, sum_sq = nodes.moments(leaf)
    assert count == 100
    assert_allclose(mean, X.mean(axis=0))
    assert sum_sq / count == pytest.approx(X.var())


def test_rows_that_are_not_kept_leave_the_ring_and_the_counts():
    nodes, (leaf,) = chain([0.0], [range(0, 80, 2)], ring_size=30)
    X, t = nodes.recent(leaf)
    nodes.leaf[leaf, _kernels.stream.SINCE] = 60
    n_since = nodes.leaf[leaf, _kernels.stream.N_SINCE]
    chosen = np.arange(30) % 3 > 0
    nodes.keep_rows(leaf, chosen)
    assert_array_equal(nodes.recent(leaf)[0], X[chosen])
    assert_array_equal(nodes.times_of(leaf), t[chosen])
    assert nodes.leaf[leaf, _kernels.stream.N_SINCE] == n_since - (t[~chosen] >= 60).sum()
    assert (nodes.times[nodes.ring[leaf], chosen.sum() :] == -1).all()
    add_rows(nodes, leaf, np.ones((25, 1)), range(100, 125))
    assert_array_equal(nodes.times_of(leaf), [*t[chosen][15:], *range(100, 125)])


def test_leaves_on_swapped_sides_are_in_the_other_order():
    nodes, leaves = chain([0.0, 10.0, 20.0], [range(40)] * 3)
    assert nodes.leaves() == leaves
    nodes.swap_children(nodes.root)
    assert nodes.leaves() == [*leaves[1:], leaves[0]]


def test_list_of_leaves_is_not_shared():
    nodes, leaves = chain([0.0, 10.0], [range(40)] * 2)
    nodes.leaves().clear()
    assert nodes.leaves() == leaves
