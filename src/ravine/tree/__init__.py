"""Trees of cuts: the product of every hyperplane method, and all that prediction, pruning and plots need to know."""

from ravine.tree._model import tree_of
from ravine.tree._tree import HyperplaneTree

__all__ = ["HyperplaneTree", "tree_of"]
