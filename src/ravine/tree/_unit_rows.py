"""Models that divide each row by its length before their tree sees it, as with ``metric="cosine"``."""

from typing import Any

from ravine.tree._tree import HyperplaneTree


def has_unit_rows(model: Any) -> bool:
    """Return whether a model divides each row by its length before its tree sees it."""
    return bool(getattr(model, "_has_unit_rows", False))


def own_tree(model: Any) -> HyperplaneTree:
    """Return the tree of the rows that a fitted model, or a model from a file, sees."""
    if not hasattr(model, "tree_"):
        raise ValueError(
            f"{type(model).__name__} has no tree of cuts, which is needed here: use its own predict and plots in Python"
        )
    tree: HyperplaneTree = model.tree_
    return tree
