"""The tree out of what a user passes: a fitted estimator, or the tree itself."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ravine.tree._tree import HyperplaneTree


def tree_of(model: Any) -> HyperplaneTree:
    """The tree of a fitted model, or the tree itself; ValueError for a model that has none.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        What a user passes where a tree is needed.

    Returns
    -------
    tree : HyperplaneTree
        That of ``model.tree_``.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.tree import tree_of
    >>> model = PDDP(n_clusters=2, split="mean").fit([[0.0], [1.0], [9.0]])
    >>> tree_of(model)
    <HyperplaneTree: 2 clusters, 1 cut, 1 feature>
    >>> tree_of(tree_of(model)) is model.tree_
    True
    """
    if isinstance(model, HyperplaneTree):
        return model
    check_is_fitted(model)
    if not hasattr(model, "tree_"):
        raise ValueError(
            f"{type(model).__name__} has no tree of cuts, which this needs: use its own predict and pictures in Python"
        )
    tree: HyperplaneTree = model.tree_
    return tree
