"""How the number of clusters was chosen, and what the valley test says of each node, in sentences that are true.

A p-value of 1 means that a node was not tested, or that no valley was found in it: what decided on the number tells
which.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Bools, Floats
from ravine.cluster import HSDC, SumOfNorms, SupportVectorClustering
from ravine.cluster._base import TreeClusterer
from ravine.cluster._streaming import StreamingTreeClusterer
from ravine.report._text import all_rounded, p_text, rounded
from ravine.tree import HyperplaneTree
from ravine.tree._prune import sum_sq_path
from ravine.tree._text import counted


@dataclass(frozen=True, eq=False)
class CountReason:
    """What decided on the number of clusters: "evidence", "asked", "elbow", "antimode", "stream", or nobody knows.

    `level` is that of the test at each node, None where there is none.
    """

    kind: str
    sentence: str
    level: Floats | None
    confirmed: Bools


def choice_of(model: Any, tree: HyperplaneTree | None) -> CountReason:
    """How a model came to its number of clusters."""
    if tree is None:
        return CountReason("unknown", _sentence_without_tree(model), None, np.zeros(0, dtype=bool))
    kind = _kind(model)
    confirmed = np.zeros(tree.n_nodes, dtype=bool)
    level = None
    if kind == "evidence":
        level, confirmed = _levels(tree, model.significance, model._shrink)
    return CountReason(kind, _sentence(kind, model, tree, confirmed), level, confirmed)


def _kind(model: Any) -> str:
    if isinstance(model, HyperplaneTree):
        return "unknown"
    found: str | None = getattr(model, "selection_", None)
    if found is not None:
        return found
    if isinstance(model, StreamingTreeClusterer):
        return "stream"
    if getattr(model, "n_clusters", None) is not None:
        return "asked"
    if getattr(model, "selection", None) == "antimode":
        return "antimode"
    return "evidence" if isinstance(model, TreeClusterer) and hasattr(model, "significance") else "unknown"


def _levels(tree: HyperplaneTree, significance: float, shrink: float) -> tuple[Floats, Bools]:
    """The level at which each node was tested, which is smaller below cuts without evidence; and where it was met."""
    level, confirmed = np.full(tree.n_nodes, significance), np.zeros(tree.n_nodes, dtype=bool)
    for node in range(tree.n_nodes):
        parent = tree.parent[node]
        if parent >= 0:
            level[node] = significance if confirmed[parent] else level[parent] / shrink
        confirmed[node] = tree.p_value[node] <= level[node]
    return level, confirmed


def _sentence(kind: str, model: Any, tree: HyperplaneTree, confirmed: Bools) -> str:
    if kind == "evidence":
        if tree.n_clusters == 1:
            return "The method decided: no cut was confirmed by rows that had not chosen it, so there is one cluster."
        which = "each cut is" if confirmed[tree.cuts].all() else "each cut, or one below it, is"
        return (
            f"The method decided: {which} confirmed by rows that had not chosen it, at the level {model.significance}."
        )
    if kind == "asked":
        return _asked(model, tree.n_clusters)
    if kind == "stream":
        return _sentence_of_stream(model)
    if kind == "elbow":
        why = (
            ": no cut was confirmed by held-out rows, and then the elbow decides"
            if model.selection == "auto" and model.algorithm == "polished"
            else ""
        )
        return (
            f"The method decided by the elbow of the sum of squares{why}. It finds clusters also where there are none."
        )
    if kind == "antimode":
        return "The method decided: a leaf was cut while the density along its first principal component had a valley."
    if model is tree:
        return "The tree alone does not say how its number of clusters was chosen."
    return "The method decided."


def _asked(model: Any, n_found: int) -> str:
    found = "" if model.n_clusters == n_found else f", and {n_found} {'was' if n_found == 1 else 'were'} found"
    return f"{counted(model.n_clusters, 'cluster')} {'was' if model.n_clusters == 1 else 'were'} asked for{found}."


def _sentence_of_stream(model: Any) -> str:
    if isinstance(model, HSDC):
        return (
            "The method decided row by row: a leaf was cut when its rows showed a second mode, at the level "
            f"{model.significance} of the dip test, and a cut whose valley filled up was taken back."
        )
    return "The method decided row by row: a node is cut where the density along its direction has a valley."


def _sentence_without_tree(model: Any) -> str:
    if hasattr(model, "classes_"):
        return "The classes are those of the labels that were given in the fit; the cuts between them decide on a row."
    if isinstance(model, SumOfNorms) and model.lam is not None:
        return f"λ = {model.lam_:.3g} was given, and rows whose centroids have met at it are a cluster."
    if getattr(model, "n_clusters", None) is not None:
        return _asked(model, model.n_clusters_)
    if isinstance(model, SumOfNorms):
        return (
            f"The method decided: on the path over λ these clusters stay the same for longest, around λ = "
            f"{model.lam_:.3g}. Their strength is {model.strength_:.3g}; where there are no clusters it is mostly "
            "below 0.4."
        )
    if isinstance(model, SupportVectorClustering) and model.n_clusters_ > 1:
        return (
            "The method decided: these clusters stay the same most widely as the width of the kernel and the level "
            f"change. Their strength is {model.strength_:.3g}."
        )
    return "The method decided."


def evidence_text(tree: HyperplaneTree, node: int, choice: CountReason) -> str:
    """What the valley test says of a node."""
    p = float(tree.p_value[node])
    if choice.kind == "stream":
        if p < 1:
            return f"Rows that came after the cut: {p_text(p)} for a valley."
        return "" if tree.is_leaf[node] else "Not tested on rows that came after the cut."
    if choice.kind != "evidence":
        if p < 1:
            return f"Held-out rows: {p_text(p)} for a valley."
        why = {"asked": ": the number of clusters was asked for", "elbow": ": the elbow decided"}.get(choice.kind, "")
        return f"Not tested on held-out rows{why}."
    if tree.is_leaf[node]:
        if choice.confirmed[node]:
            return (
                f"Held-out rows confirm another valley in it ({p_text(p)}), which is not cut: "
                "a side would be too small, or the tree was cut back."
            )
        if p < 1:
            return f"Tested, and no valley was confirmed: {p_text(p)}."
        return "No valley was found in it, or it has too few rows for a test."
    if choice.confirmed[node]:
        return f"Held-out rows confirm the valley: {p_text(p)}."
    if _confirmed_below(tree, node, choice.confirmed):
        return f"No evidence of its own ({p_text(p)}): kept for the sake of a cut below it."
    return f"Not confirmed by held-out rows: {p_text(p)}."


def _confirmed_below(tree: HyperplaneTree, node: int, confirmed: Bools) -> bool:
    cuts = np.flatnonzero(confirmed & ~tree.is_leaf)
    while len(cuts):
        cuts = tree.parent[cuts[cuts > node]]  # a parent comes before its children
        if (cuts == node).any():
            return True
    return False


def evidence_chart(tree: HyperplaneTree, model: Any, choice: CountReason) -> dict[str, Any] | None:
    """The test at each node that was tested; None where none was."""
    tested = np.flatnonzero((tree.p_value < 1) | ((choice.kind == "evidence") & ~tree.is_leaf))
    if not len(tested):
        return None
    return {
        "level": None if choice.level is None else float(model.significance),
        "nodes": tested.tolist(),
        "p": all_rounded(tree.p_value[tested], 2),
        "levels": None if choice.level is None else all_rounded(choice.level[tested], 3),
        "confirmed": choice.confirmed[tested].tolist(),
    }


def sum_sq_chart(tree: HyperplaneTree, model: Any) -> dict[str, Any] | None:
    """The part of the sum of squares that is left within 1, 2, … clusters of the rows of the fit.

    Where the elbow was sought, all of the path in which it was, beyond the clusters of the tree.
    """
    sought = getattr(model, "elbow_path_", None)
    path = sum_sq_path(tree) if sought is None else sought
    if not path[0] > 0:
        return None
    in_deviations = sought is not None and bool(model.standardize)
    return {"left": [rounded(max(float(part), 0.0)) for part in path / path[0]], "in_deviations": in_deviations}
