"""Trees of cuts: the result of every hyperplane method, and all that prediction, pruning and plots need."""

from typing import TYPE_CHECKING

from ravine._lazy import lazy_names
from ravine.tree._tree import HyperplaneTree

if TYPE_CHECKING:
    from ravine.tree._grow import grow, grow_on
    from ravine.tree._model import tree_of
    from ravine.tree._prune import elbow, rank_by_sum_sq, sum_sq_path, vote_elbow
    from ravine.tree._valley_test import cut_with_evidence, direction_of

__all__ = [
    "HyperplaneTree",
    "cut_with_evidence",
    "direction_of",
    "elbow",
    "grow",
    "grow_on",
    "rank_by_sum_sq",
    "sum_sq_path",
    "tree_of",
    "vote_elbow",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("grow", "grow_on"), "_grow"),
        "tree_of": "_model",
        **dict.fromkeys(("elbow", "rank_by_sum_sq", "sum_sq_path", "vote_elbow"), "_prune"),
        **dict.fromkeys(("cut_with_evidence", "direction_of"), "_valley_test"),
    },
)
