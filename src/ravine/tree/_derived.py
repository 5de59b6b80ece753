"""Trees derived from a tree: with the counts of other rows, with another order of cuts, without empty leaves.

All of them keep the cuts. The operations for users (`cut_to`, `prune`, `split`) are methods of the tree.
"""

import numpy as np
from numpy.typing import ArrayLike

from ravine._checks import checked_weights
from ravine._matrix import Floats, Ints, Matrix, group_moments
from ravine.tree._mixture import Mixture
from ravine.tree._tree import HyperplaneTree, columns_of, fields_of


def with_counts_of(
    tree: HyperplaneTree, X: Matrix, weights: Floats, leaf: Ints | None = None, n_jobs: int | None = -1
) -> HyperplaneTree:
    """Return the same cuts with the counts, means and sums of squares of these rows; see `with_leaves`.

    Parameters
    ----------
    tree : HyperplaneTree
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    leaf : ndarray of shape (n_samples,), optional
        Result of ``tree.apply`` for these rows. The rows are then not checked again.
    n_jobs : int, default=-1

    Examples
    --------
    >>> from ravine import PDDP
    >>> X = [[0, 0], [0, 1], [9, 0], [9, 1], [0, 9], [1, 9]]
    >>> tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
    >>> with_counts_of(tree, np.array([[0.0, 0], [9, 0], [9, 2]]), np.ones(3)).count
    array([3., 1., 2.])
    """
    leaf = tree.apply(X, n_jobs) if leaf is None else leaf
    weights = checked_weights(weights, X.shape[0], allow_all_zero=True)
    return with_leaves(tree, *group_moments(X, weights, tree.label[leaf], tree.mean[tree.leaves], n_jobs))


def with_leaves(tree: HyperplaneTree, count: Floats, mean: Floats, sum_sq: Floats) -> HyperplaneTree:
    """Return the same cuts with these counts, means and sums of squares of the leaves.

    Cuts with no weight on one side are removed. The mixture of other rows is dropped.
    """
    columns = {**fields_of(tree), "mixture": None, "count": np.zeros(tree.n_nodes), "mean": tree.mean.copy()}
    columns["sum_sq"] = np.zeros(tree.n_nodes)
    for name, values in (("count", count), ("mean", mean), ("sum_sq", sum_sq)):
        columns[name][tree.leaves] = values
    return without_empty_leaves(with_summed_cuts(HyperplaneTree(**columns)))


def with_summed_cuts(tree: HyperplaneTree) -> HyperplaneTree:
    """Return the same tree with counts, means and sums of squares of its cuts computed from those of its leaves."""
    count, mean, sum_sq = tree.count.copy(), tree.mean.copy(), tree.sum_sq.copy()
    for node in tree.cuts[::-1]:  # children come after their parents
        a, b = tree.left[node], tree.right[node]
        count[node] = count[a] + count[b]
        if count[node] > 0:
            apart = mean[b] - mean[a]
            share = count[b] / count[node]
            mean[node] = mean[a] + share * apart
            sum_sq[node] = sum_sq[a] + sum_sq[b] + count[a] * share * (apart @ apart)
    return HyperplaneTree(**{**fields_of(tree), "count": count, "mean": mean, "sum_sq": sum_sq})


def without_empty_leaves(tree: HyperplaneTree) -> HyperplaneTree:
    """Remove the cuts that have no weight on one side; the subtree on the other side moves up."""
    if (tree.count > 0).all() or not tree.count[0] > 0:
        return tree
    left, right = tree.left.copy(), tree.right.copy()
    stands_for = np.arange(tree.n_nodes)
    for node in tree.cuts[::-1]:
        a, b = stands_for[left[node]], stands_for[right[node]]
        left[node], right[node] = a, b
        if not (tree.count[a] > 0 and tree.count[b] > 0):
            stands_for[node] = a if tree.count[a] > 0 else b
    root = stands_for[0]
    order = np.r_[root, np.delete(np.arange(tree.n_nodes), root)]  # the root comes first
    position = np.full(tree.n_nodes + 1, -1)
    position[order] = np.arange(tree.n_nodes)
    columns = {name: array[order] for name, array in columns_of(tree).items()}
    columns["left"], columns["right"] = position[left[order]], position[right[order]]
    return HyperplaneTree.from_nodes(**columns)


def with_ranks(tree: HyperplaneTree, rank: ArrayLike) -> HyperplaneTree:
    """Return the same tree with another sequence of cuts for `cut_to`.

    `rank` is 0 for a leaf and numbers the cuts from 1; the rank of a cut exceeds that of its parent.
    """
    return HyperplaneTree(**{**fields_of(tree), "rank": np.asarray(rank)})


def with_mixture(tree: HyperplaneTree, mixture: Mixture | None) -> HyperplaneTree:
    """Return the same tree with another mixture."""
    return HyperplaneTree(**{**fields_of(tree), "mixture": mixture})
