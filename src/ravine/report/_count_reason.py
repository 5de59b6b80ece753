"""Sentences on how the number of clusters was chosen, and on the valley test at each node.

A p-value of 1 means that a node was not tested, or that no valley was found in it. Which of the two it is depends on
how the number of clusters was chosen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._lazy import is_a
from ravine._matrix import Bools, Floats
from ravine.report._format import all_rounded, p_text, rounded
from ravine.tree import HyperplaneTree
from ravine.tree._prune import sum_sq_path

SUM_OF_NORMS = "ravine.cluster._sum_of_norms.SumOfNorms"
SUPPORT_VECTORS = "ravine.cluster._support_vectors.SupportVectorClustering"
"""Methods without a tree, for `is_a`."""

AUTOMATIC = "The number of clusters was chosen automatically"


@dataclass(frozen=True, eq=False)
class CountReason:
    """How the number of clusters was chosen.

    `kind` is "evidence", "asked", "elbow", "antimode", "stream" or "unknown". `level` is the significance level of the
    test at each node, or None if there was no test. `rest` says what is true of cuts that are not confirmed.
    """

    kind: str
    sentence: str
    level: Floats | None
    confirmed: Bools
    rest: str = ""


def choice_of(model: Any, tree: HyperplaneTree | None) -> CountReason:
    """How a model chose its number of clusters."""
    if tree is None:
        return CountReason("unknown", _sentence_without_tree(model), None, np.zeros(0, dtype=bool))
    kind = _kind(model)
    confirmed = np.zeros(tree.n_nodes, dtype=bool)
    level, rest = None, ""
    if kind == "evidence":
        level, confirmed = model._tested_levels()
        rest = _rest(tree, confirmed)
    return CountReason(kind, _sentence(kind, model, tree, confirmed), level, confirmed, rest)


def _kind(model: Any) -> str:
    if is_a(model, "ravine.cluster._streaming.StreamingTreeClusterer"):
        return "stream"
    return str(getattr(model, "selection_", "unknown"))  # a bare tree has none


def _sentence(kind: str, model: Any, tree: HyperplaneTree, confirmed: Bools) -> str:
    if kind == "evidence":
        return _sentence_of_evidence(tree, confirmed, model.significance)
    if kind == "asked":
        return _asked(model, tree.n_clusters)
    if kind == "stream":
        return _sentence_of_stream(model)
    if kind == "elbow" and model.selection == "auto" and getattr(model, "algorithm", "polished") == "polished":
        return (
            f"{AUTOMATIC}, at the elbow of the sum of squares, because no cut was confirmed on held-out rows. The rows "
            "are more clustered than rows without clusters, but no single boundary is certain."
        )
    if kind == "elbow":
        return f"{AUTOMATIC}, at the elbow of the sum of squares. The elbow finds clusters even in data without any."
    if kind == "antimode":
        return f"{AUTOMATIC}: a group was cut as long as the density along its first principal component had a valley."
    if model is tree:
        return "The tree does not record how its number of clusters was chosen."
    return f"{AUTOMATIC}."


def _sentence_of_evidence(tree: HyperplaneTree, confirmed: Bools, significance: float) -> str:
    if tree.n_clusters == 1:
        return f"{AUTOMATIC}. No cut was confirmed on held-out rows, so there is one cluster."
    unconfirmed = [cut for cut in tree.cuts.tolist() if not confirmed[cut]]
    n_cuts, n_others = len(tree.cuts), len(unconfirmed)
    which = f"{n_cuts - n_others} of {n_cuts} cuts" if n_others else f"All {n_cuts} cuts" if n_cuts > 1 else "The cut"
    was = "was" if n_cuts - n_others == 1 else "were"
    rest = _rest(tree, confirmed)
    return (
        f"{AUTOMATIC}. {which} {was} confirmed on held-out rows, that is, on rows that were not used to choose the "
        f"cut, at significance level {significance}.{rest and f' {rest}'}"
    )


def _rest(tree: HyperplaneTree, confirmed: Bools) -> str:
    """What is true of the cuts that are not confirmed; empty if all are."""
    unconfirmed = [cut for cut in tree.cuts.tolist() if not confirmed[cut]]
    n_others = len(unconfirmed)
    if not n_others:
        return ""
    if all(_confirmed_below(tree, cut, confirmed) for cut in unconfirmed):
        others, them = ("one is", "it") if n_others == 1 else (f"{n_others} are", "them")
        return f"The other {others} kept because a cut below {them} is confirmed."
    return f"The other {'one is' if n_others == 1 else f'{n_others} are'} not confirmed."


def _asked(model: Any, n_found: int) -> str:
    found = "" if model.n_clusters == n_found else f", but the method found {n_found}"
    return f"The number of clusters was given: {model.n_clusters}{found}."


def _sentence_of_stream(model: Any) -> str:
    if is_a(model, "ravine.cluster._hsdc.HSDC"):
        return (
            f"{AUTOMATIC}, row by row. A group was cut when its rows showed a second mode (peak), according to "
            f"the dip test at significance level {model.significance}. A cut was removed when its valley filled up."
        )
    return f"{AUTOMATIC}, row by row. A group is cut where the density along its direction has a valley."


def _sentence_without_tree(model: Any) -> str:
    if hasattr(model, "classes_"):
        return "The classes are the labels given for the fit. The cuts between them decide the class of a row."
    if is_a(model, SUM_OF_NORMS) and model.lam is not None:
        return f"λ = {model.lam_:.3g} was given. Rows whose centroids have merged at this λ form a cluster."
    if getattr(model, "n_clusters", None) is not None:
        return _asked(model, model.n_clusters_)
    if getattr(model, "confirmed_", None) is False:
        return (
            f"{AUTOMATIC}: there is one cluster, since no clusters were found that are stronger than those that chance "
            "produces in data without clusters."
        )
    if is_a(model, SUM_OF_NORMS):
        return (
            f"{AUTOMATIC}: along the path over λ, these clusters stay the same for the longest stretch, around λ = "
            f"{model.lam_:.3g}. Their strength is {model.strength_:.3g}.{_compared(model)}"
        )
    if is_a(model, SUPPORT_VECTORS) and model.n_clusters_ > 1:
        return (
            f"{AUTOMATIC}: these clusters stay the same over the widest range of kernel widths and levels. Their "
            f"strength is {model.strength_:.3g}.{_compared(model)}"
        )
    return f"{AUTOMATIC}."


def _compared(model: Any) -> str:
    return " They are stronger than those that chance produces in data without clusters." if model.confirmed_ else ""


def evidence_text(tree: HyperplaneTree, node: int, choice: CountReason) -> str:
    """What the valley test says about a node."""
    p = float(tree.p_value[node])
    if choice.kind == "stream":
        if p < 1:
            return f"Tested on rows that arrived after the cut: {p_text(p)} for a valley."
        return "" if tree.is_leaf[node] else "Not tested on rows that arrived after the cut."
    if choice.kind != "evidence":
        if p < 1:
            return f"Tested on held-out rows: {p_text(p)} for a valley."
        why = {"asked": ", because the number of clusters was given", "elbow": ", because the elbow decided"}.get(
            choice.kind, ""
        )
        return f"Not tested on held-out rows{why}."
    if tree.is_leaf[node]:
        if choice.confirmed[node]:
            return (
                f"Held-out rows confirm another valley in this cluster ({p_text(p)}). It was not cut because one side "
                "would be too small, or because the tree was cut back."
            )
        if p < 1:
            return f"Tested on held-out rows: no further valley was confirmed ({p_text(p)})."
        return "No further valley was found, or there are too few rows to test for one."
    if choice.confirmed[node]:
        return f"Confirmed: held-out rows show a valley at this cut ({p_text(p)})."
    if _confirmed_below(tree, node, choice.confirmed):
        return f"Not confirmed by itself ({p_text(p)}). The cut is kept because a cut below it is confirmed."
    return f"Not confirmed on held-out rows ({p_text(p)})."


def _confirmed_below(tree: HyperplaneTree, node: int, confirmed: Bools) -> bool:
    cuts = np.flatnonzero(confirmed & ~tree.is_leaf)
    while len(cuts):
        cuts = tree.parent[cuts[cuts > node]]  # a parent comes before its children
        if (cuts == node).any():
            return True
    return False


def evidence_chart(tree: HyperplaneTree, model: Any, choice: CountReason) -> dict[str, Any] | None:
    """The test at each node that was tested, or None if no node was."""
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
    """Share of the sum of squares that remains within 1, 2, … clusters, for the rows of the fit.

    If the method searched for an elbow, this is the whole path that it searched, beyond the clusters of the tree.
    """
    sought = getattr(model, "elbow_path_", None)
    path = sum_sq_path(tree) if sought is None else sought
    if not path[0] > 0:
        return None
    in_deviations = sought is not None and bool(model.standardize)
    return {"left": [rounded(max(float(part), 0.0)) for part in path / path[0]], "in_deviations": in_deviations}
