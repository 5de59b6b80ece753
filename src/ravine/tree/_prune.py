"""Sequences of subtrees by the within-cluster sum of squares, and the elbow that picks one (Hofmeyr 2020, §3, eq. 22).

A sequence is stored in the tree as the `rank` of its cuts, where `HyperplaneTree.cut_to` reads it.
"""

import heapq
from typing import Literal

import numpy as np

from ravine._matrix import Floats
from ravine._ties import first_least, pop_first
from ravine.tree._derived import with_ranks
from ravine.tree._tree import HyperplaneTree


def rank_by_sum_sq(tree: HyperplaneTree, start: Literal["leaves", "root"] = "leaves") -> HyperplaneTree:
    """Rank the cuts of a tree by a greedy sequence of the sum of squares, in O(nodes log nodes).

    ``start="leaves"`` repeatedly removes the cut between two leaves that raises the total least. ``start="root"``
    repeatedly adds the cut of a leaf that lowers the total most. Both give a sequence of nested subtrees, and the two
    can differ.

    Parameters
    ----------
    tree : HyperplaneTree
        Any tree.
    start : {"leaves", "root"}, default="leaves"
        Where the sequence begins.

    Returns
    -------
    tree : HyperplaneTree
        The same cuts with another `rank`, which `cut_to` reads.

    Examples
    --------
    A tree that was split from left to right, and its order by the sum of squares.

    >>> from ravine import PDDP
    >>> from ravine.tree._prune import rank_by_sum_sq
    >>> leftmost = PDDP(n_clusters=4, criterion="mean", split_order=lambda cut, rows: cut.offset)
    >>> tree = leftmost.fit([[0], [1], [30], [40]]).tree_
    >>> tree.rank
    array([1, 2, 0, 0, 3, 0, 0])
    >>> rank_by_sum_sq(tree).rank
    array([1, 3, 0, 0, 2, 0, 0])
    """
    rank = np.zeros(tree.n_nodes, dtype=np.int64)
    gain = _gain(tree)
    if start == "leaves":
        n_cut_children = np.zeros(tree.n_nodes, dtype=np.int64)
        np.add.at(n_cut_children, tree.parent[tree.cuts[tree.cuts > 0]], 1)
        heap = [(gain[node], node) for node in tree.cuts if n_cut_children[node] == 0]
        heapq.heapify(heap)
        for position in range(len(tree.cuts), 0, -1):
            node = pop_first(heap)
            rank[node] = position
            parent = tree.parent[node]
            if parent >= 0:
                n_cut_children[parent] -= 1
                if n_cut_children[parent] == 0:
                    heapq.heappush(heap, (gain[parent], parent))
    elif start == "root":
        heap = [(-gain[0], 0)] if len(tree.cuts) else []
        for position in range(1, len(tree.cuts) + 1):
            node = pop_first(heap)
            rank[node] = position
            for child in (tree.left[node], tree.right[node]):
                if not tree.is_leaf[child]:
                    heapq.heappush(heap, (-gain[child], child))
    else:
        raise ValueError(f"start={start!r} is neither 'leaves' nor 'root'")
    return with_ranks(tree, rank)


def sum_sq_path(tree: HyperplaneTree) -> Floats:
    """Return the total sum of squares of the leaves of ``cut_to(1)``, ``cut_to(2)``, …, up to the whole tree.

    Parameters
    ----------
    tree : HyperplaneTree
        Any tree.

    Returns
    -------
    path : ndarray of shape (n_clusters,)
        Never increasing if the cuts separate the rows that the tree has counted.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.tree._prune import sum_sq_path
    >>> tree = PDDP(n_clusters=4, criterion="mean").fit([[0], [1], [30], [40]]).tree_
    >>> sum_sq_path(tree).round(2).tolist()
    [1240.75, 50.5, 0.5, 0.0]
    """
    gain = _gain(tree)[tree.cuts]
    in_order = gain[np.argsort(tree.rank[tree.cuts])]
    return tree.sum_sq[0] - np.concatenate([[0.0], np.cumsum(in_order)])


def _gain(tree: HyperplaneTree) -> Floats:
    """Return how much each cut lowers the total; 0 at leaves."""
    gain = np.zeros(tree.n_nodes)
    cuts = tree.cuts
    gain[cuts] = tree.sum_sq[cuts] - tree.sum_sq[tree.left[cuts]] - tree.sum_sq[tree.right[cuts]]
    return gain


def elbow(path: Floats, k_max: int) -> int:
    """Return the number of clusters at the sharpest angle of ``path[:k_max]`` (eq. 22).

    The angle is not defined at the ends, so for ``k_max >= 3`` the result lies between 2 and ``k_max - 1``. If the sum
    of squares does not decrease at all, the result is one cluster.

    Parameters
    ----------
    path : ndarray
        The result of `sum_sq_path`.
    k_max : int
        From 3 to the length of the path.

    Returns
    -------
    n_clusters : int
        The elbow.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.tree._prune import elbow
    >>> elbow(np.array([100.0, 40.0, 10.0, 8.0, 7.0]), k_max=5)
    3
    """
    if not 3 <= k_max <= len(path):
        raise ValueError(f"k_max={k_max} is not between 3 and the length of the path, {len(path)}")
    fall = path[0] - path[k_max - 1]
    if not fall > 0:
        return 1
    across = np.arange(1, k_max - 1) / (k_max - 1)
    down = (path[0] - path[1 : k_max - 1]) / fall
    angle = np.arctan2(across, down) + np.arctan2(1 - down, 1 - across)
    return first_least(angle) + 2


def vote_elbow(path: Floats, k_max: range | None = None) -> int:
    """Return the elbow found most often over a range of `k_max`; ties go to the smaller number.

    Parameters
    ----------
    path : ndarray
        The result of `sum_sq_path`.
    k_max : range, optional
        By default 3 to the length of the path. A path of one or two numbers has no elbow; its length is returned.

    Returns
    -------
    n_clusters : int
        The elbow with the most votes.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.tree._prune import elbow, vote_elbow
    >>> path = np.array([100.0, 40.0, 10.0, 8.0, 7.0])
    >>> [elbow(path, k) for k in (3, 4, 5)], vote_elbow(path)
    ([2, 3, 3], 3)
    """
    if len(path) < 3:
        return len(path)
    votes = np.bincount([elbow(path, k) for k in (k_max or range(3, len(path) + 1))])
    return int(votes.argmax())


def cut_to_elbow(tree: HyperplaneTree) -> tuple[HyperplaneTree, Floats]:
    """Rank the cuts of a tree by their sums of squares, and cut it back to the elbow.

    Parameters
    ----------
    tree : HyperplaneTree
        A tree with the sums of squares of its nodes.

    Returns
    -------
    tree : HyperplaneTree
        The tree at the elbow.
    path : ndarray
        Sums of squares within 1, 2, … clusters, in which the elbow was searched.
    """
    ranked = rank_by_sum_sq(tree)
    path = sum_sq_path(ranked)
    return ranked.cut_to(vote_elbow(path)), path
