import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import trees

from ravine.cuts._principal import mean_cut
from ravine.datasets import make_blobs
from ravine.tree import HyperplaneTree
from ravine.tree._grow import grow
from ravine.tree._prune import cut_to_elbow, elbow, rank_by_sum_sq, sum_sq_path, vote_elbow


@given(trees)
def test_sequence_from_the_leaves_agrees_with_naive(tree):
    assert_allclose(sum_sq_path(rank_by_sum_sq(tree)), naive.subtree_sequence_from_leaves(tree), atol=1e-9)


@given(trees)
def test_path_is_the_sum_of_squares_of_the_leaves(tree):
    for start in ("leaves", "root"):
        ranked = rank_by_sum_sq(tree, start)
        totals = [cut.sum_sq[cut.leaves].sum() for cut in map(ranked.cut_to, range(1, tree.n_clusters + 1))]
        assert_allclose(sum_sq_path(ranked), totals, atol=1e-9)


@given(trees)
def test_sequence_from_the_root_takes_the_largest_gain_that_is_open(tree):
    ranked = rank_by_sum_sq(tree, "root")
    for k in range(1, tree.n_clusters):
        chosen = int(np.flatnonzero(ranked.rank == k)[0])
        is_open = (ranked.rank >= k) & ((ranked.parent < 0) | (ranked.rank[ranked.parent] < k))
        gains = {
            n: tree.sum_sq[n] - tree.sum_sq[tree.left[n]] - tree.sum_sq[tree.right[n]] for n in np.flatnonzero(is_open)
        }
        assert gains[chosen] == max(gains.values())


def test_the_two_orders_differ_where_a_small_gain_hides_a_large_one():
    # Gains: root 60; left child 1, right child 4, below the right child 50.
    sum_sq = {"root": 150.0, "l": 11.0, "l0": 5.0, "l1": 5.0, "r": 79.0, "r0": 75.0, "r1": 0.0, "r00": 20.0, "r01": 5.0}
    tree = tree_of(["root", ["l", ["l0"], ["l1"]], ["r", ["r0", ["r00"], ["r01"]], ["r1"]]], sum_sq)
    assert_allclose(sum_sq_path(rank_by_sum_sq(tree, "root")), [150, 90, 86, 36, 35])
    assert_allclose(sum_sq_path(rank_by_sum_sq(tree, "leaves")), [150, 90, 86, 36, 35])
    sum_sq |= {"l": 30.0, "l0": 10.0, "l1": 10.0, "root": 169.0}  # now the left child gains 10, more than the right's 4
    tree = tree_of(["root", ["l", ["l0"], ["l1"]], ["r", ["r0", ["r00"], ["r01"]], ["r1"]]], sum_sq)
    assert_allclose(sum_sq_path(rank_by_sum_sq(tree, "root")), [169, 109, 99, 95, 45])
    assert_allclose(sum_sq_path(rank_by_sum_sq(tree, "leaves")), [169, 109, 105, 55, 45])


def tree_of(nested, sum_sq):
    """A tree from nested lists [name, left, right], every cut on the same line."""
    left, right, names = [], [], []

    def add(entry):
        number = len(names)
        names.append(entry[0])
        left.append(-1)
        right.append(-1)
        if len(entry) > 1:
            left[number], right[number] = add(entry[1]), add(entry[2])
        return number

    add(nested)
    is_cut = np.array(left) >= 0
    flat = {name: np.zeros(len(names)) for name in ("offset", "count", "value", "relative_depth", "p_value")}
    totals = np.array([sum_sq[name] for name in names])
    return HyperplaneTree.from_nodes(
        left,
        right,
        np.arange(len(names)),
        normal=is_cut[:, None] * 1.0,
        mean=is_cut[:, None] * 1.0,
        sum_sq=totals,
        **flat,
    )


def test_unknown_order_is_refused():
    with pytest.raises(ValueError, match="neither 'leaves' nor 'root'"):
        rank_by_sum_sq(tree_of(["root"], {"root": 1.0}), "middle")


falling = arrays(float, st.integers(3, 20), elements=st.floats(0.01, 1)).map(lambda a: np.cumsum(a[::-1])[::-1].copy())


@given(falling)
def test_elbow_agrees_with_naive(path):
    ours, theirs = elbow(path, len(path)), naive.elbow(path, len(path))
    if ours != theirs:  # two angles that tie up to rounding
        assert_allclose(*[_angle(path, k) for k in (ours, theirs)], atol=1e-6)


def _angle(path, k):
    n = len(path)
    x, y = (k - 1) / (n - 1), (path[0] - path[k - 1]) / (path[0] - path[-1])
    return np.arctan2(x, y) + np.arctan2(1 - y, 1 - x)


def test_elbow_by_hand():
    assert elbow(np.array([10.0, 4.0, 1.0, 0.9, 0.8]), 5) == 3


def test_elbow_of_a_flat_path_is_one():
    assert elbow(np.ones(5), 5) == 1
    assert vote_elbow(np.ones(5)) == 1


def test_elbow_needs_three_points():
    for k_max in (2, 9):
        with pytest.raises(ValueError, match="not between 3 and the length of the path, 5"):
            elbow(np.ones(5), k_max)
    assert vote_elbow(np.array([2.0])) == 1
    assert vote_elbow(np.array([2.0, 1.0])) == 2


def test_vote_is_the_commonest_elbow_of_the_range():
    path = np.array([10.0, 4.0, 1.0, 0.9, 0.8, 0.7, 0.6])
    assert vote_elbow(path) == 3
    assert vote_elbow(path, range(3, 4)) == 2


def test_elbow_of_a_complete_tree_on_separated_blobs_is_their_number():
    X, _ = make_blobs(600, centers=[[0, 0], [30, 0], [0, 30], [30, 30]], random_state=0)
    tree = rank_by_sum_sq(grow(X, mean_cut, max_depth=5))
    assert vote_elbow(sum_sq_path(tree)) == 4
    assert_array_equal(np.bincount(tree.cut_to(4).predict(X)), [150] * 4)


@given(trees)
def test_tree_at_the_elbow_has_as_many_clusters_as_the_votes_say(tree):
    at_elbow, path = cut_to_elbow(tree)
    assert_allclose(path, sum_sq_path(rank_by_sum_sq(tree)))
    assert at_elbow.n_clusters == vote_elbow(path)
