"""How a tree and a coarser one, which `cut_to` or `prune` made from it, correspond: nodes and labels."""

from typing import TYPE_CHECKING

import numpy as np

from ravine._matrix import Ints

if TYPE_CHECKING:
    from ravine.tree._tree import HyperplaneTree


def nodes_in(tree: "HyperplaneTree", coarser: "HyperplaneTree") -> Ints:
    """Return the node of `tree` that each node of `coarser` was; `cut_to` or `prune` made `coarser` from it.

    Examples
    --------
    >>> from ravine import PDDP
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
    >>> nodes_in(tree, tree.cut_to(2))
    array([0, 1, 4])
    """
    out = np.empty(coarser.n_nodes, dtype=np.int64)
    pairs = [(0, 0)]
    while pairs:
        mine, theirs = pairs.pop()
        out[theirs] = mine
        if not coarser.is_leaf[theirs]:
            pairs.append((int(tree.left[mine]), int(coarser.left[theirs])))
            pairs.append((int(tree.right[mine]), int(coarser.right[theirs])))
    return out


def labels_in(tree: "HyperplaneTree", coarser: "HyperplaneTree") -> Ints:
    """Return, for each label of `tree`, the label in `coarser`, which `cut_to` or `prune` made from `tree`.

    Thus ``relabeled(tree.predict(X), labels_in(tree, coarser))`` equals ``coarser.predict(X)``.

    Examples
    --------
    >>> from ravine import PDDP
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
    >>> labels_in(tree, tree.cut_to(2))
    array([0, 0, 1])
    """
    out = np.empty(tree.n_clusters, dtype=np.int64)
    mine = nodes_in(tree, coarser)
    for leaf in coarser.leaves:
        below = tree.label[mine[leaf] : subtree_end(tree, int(mine[leaf]))]
        out[below[below >= 0]] = coarser.label[leaf]
    return out


def relabeled(labels: Ints, new: Ints) -> Ints:
    """Return the new label of each row, given that of each old label; an outlier keeps the label -1.

    Examples
    --------
    >>> relabeled(np.array([0, 2, -1, 1]), np.array([5, 6, 7]))
    array([ 5,  7, -1,  6])
    """
    return np.asarray(np.append(new, -1)[labels])  # -1 is the position of the last entry


def subtree_end(tree: "HyperplaneTree", node: int) -> int:
    """Return one more than the largest number of a node below `node`; in preorder, a subtree is a range of numbers."""
    while not tree.is_leaf[node]:
        node = int(tree.right[node])
    return node + 1
