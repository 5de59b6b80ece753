"""What became of old clusters, in small cases worked out by hand, and for any rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ravine.tree._stream._matching import NOBODY, Matching, match


def matched(pairs, n_leaves, identities):
    owner, leaf = np.array([pair for pair, n in pairs for _ in range(n)], dtype=np.int64).reshape(-1, 2).T
    return match(owner, leaf, n_leaves, identities)


def test_cluster_continues_in_the_leaf_with_most_of_its_rows():
    found = matched([((4, 1), 9), ((4, 0), 2), ((5, 0), 8)], 2, [4, 5])
    assert found == Matching(continues={4: 1, 5: 0})


def test_clusters_that_continue_in_one_leaf_have_merged_and_the_largest_is_first():
    found = matched([((4, 0), 5), ((5, 0), 9)], 1, [4, 5])
    assert found == Matching(continues={5: 0, 4: 0}, merged={0: [5, 4]})


def test_leaves_of_one_cluster_are_its_parts():
    found = matched([((4, 0), 5), ((4, 1), 9)], 2, [4])
    assert found == Matching(continues={4: 1}, parts={4: [1, 0]})


def test_leaf_with_rows_of_nobody_is_new():
    found = matched([((4, 0), 9), ((NOBODY, 1), 9), ((4, 1), 2)], 2, [4])
    assert found == Matching(continues={4: 0}, new=[1])


def test_leaf_with_rows_of_several_clusters_is_new():
    found = matched([((4, 0), 9), ((5, 1), 9), ((4, 2), 3), ((5, 2), 3)], 3, [4, 5])
    assert found == Matching(continues={4: 0, 5: 1}, new=[2])


def test_cluster_without_rows_is_lost():
    assert matched([((NOBODY, 0), 9)], 1, [4]) == Matching(new=[0], lost=[4])


def test_region_without_clusters_has_only_new_leaves():
    assert matched([((NOBODY, 0), 3), ((NOBODY, 1), 3)], 2, []) == Matching(new=[0, 1])
    assert matched([], 1, []) == Matching(new=[0])


def test_merged_clusters_and_parts_of_one_of_them_are_told_apart():
    found = matched([((4, 0), 9), ((5, 0), 6), ((4, 1), 5)], 2, [4, 5])
    assert found == Matching(continues={4: 0, 5: 0}, merged={0: [4, 5]}, parts={4: [0, 1]})


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 4)), max_size=40))
def test_every_cluster_and_every_leaf_is_accounted_for_once(rows):
    owner, leaf = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    identities = list(range(5))
    found = match(owner, leaf, 5, identities)
    assert not set(found.continues) & set(found.lost)
    assert found.lost == [old for old in identities if old not in owner]
    further = [part for parts in found.parts.values() for part in parts[1:]]
    assert sorted([*set(found.continues.values()), *further, *found.new]) == list(range(5))
    for old, here in found.continues.items():
        assert (leaf[owner == old] == here).sum() == np.bincount(leaf[owner == old]).max()
    for old in set(identities) - set(found.continues) - set(found.lost):  # rows of several other clusters
        counts = np.bincount(leaf[owner == old], minlength=5)
        assert 2 * counts.max() < counts.sum()
        assert 2 * counts.max() < (leaf == counts.argmax()).sum()
    for here, clusters in found.merged.items():
        assert clusters == [old for old in found.continues if found.continues[old] == here]
    assert all(parts[0] == found.continues[old] for old, parts in found.parts.items())
