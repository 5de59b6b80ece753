"""The tree out of what a user passes: a fitted estimator, or the tree itself."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ravine.tree._tree import HyperplaneTree


def tree_of(model: Any) -> HyperplaneTree:
    """The tree of a fitted model, or the tree itself; ValueError for a model that has none."""
    if isinstance(model, HyperplaneTree):
        return model
    check_is_fitted(model)
    if not hasattr(model, "tree_"):
        raise ValueError(
            f"{type(model).__name__} has no tree of cuts, which this needs: use its own predict and pictures in Python"
        )
    tree: HyperplaneTree = model.tree_
    return tree
