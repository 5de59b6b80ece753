"""Whether clusters can be trusted, in a sentence or two for somebody in a hurry.

The banner of a report, the first lines that the command prints, and the text of an exploration all come from here.
"""

from typing import Any

import numpy as np

from ravine.report._count_reason import CountReason, choice_of
from ravine.tree import HyperplaneTree
from ravine.tree._text import counted

HELD_OUT = "Held-out rows were not used to choose where to split."
NOT_REAL = "These groups describe the data but may not be real."
UNCONFIRMED = f"No clusters could be confirmed. {NOT_REAL}"


CONFIRMED, DOUBTFUL = ("good", "partly"), ("unsure", "none")
"""Levels of banners about clusters that a test confirms, at least some of them, and about those that none does."""


def trust_in(model: Any) -> dict[str, str]:
    """Return the banner of a fitted model."""
    tree = getattr(model, "tree_", None)
    return trust_of(model, tree, choice_of(model, tree))


def is_confirmed(model: Any) -> bool:
    """Return whether a test confirms the clusters of a fitted model, or at least some of its splits."""
    return trust_in(model)["level"] in CONFIRMED


def finding(model: Any, found: str) -> str:
    """Return what was found and whether to trust it, in two lines. A doubt comes first, with its reason."""
    trust = trust_in(model)
    if trust["level"] in DOUBTFUL:
        return f"{trust['text']} {trust['note']}".rstrip() + f"\n{found}"
    return f"{found}\n{trust['text']}"


def trust_of(model: Any, tree: HyperplaneTree | None, choice: CountReason) -> dict[str, str]:
    """Return the banner: its level ("good", "partly", "unsure", "none" or "plain"), a sentence, and a note."""
    level, text, note = _without_tree(model) if tree is None else _of_tree(model, tree, choice)
    return {"level": level, "text": text, "note": note}


def is_given(model: Any) -> bool:
    """Return whether the number of clusters was given."""
    return getattr(model, "n_clusters", None) is not None and not isinstance(model, HyperplaneTree)


def _of_tree(model: Any, tree: HyperplaneTree, choice: CountReason) -> tuple[str, str, str]:
    if choice.kind == "asked":
        return _asked(tree.n_clusters)
    if tree.n_clusters == 1:
        tested = "Held-out rows show no valley between two groups." if choice.kind == "evidence" else ""
        return "none", "No clusters were found.", tested
    if choice.kind == "evidence":
        return _of_evidence(tree, choice)
    if choice.kind == "elbow":
        is_tested = model.selection == "auto" and getattr(model, "algorithm", "polished") == "polished"
        note = "The rows are more clustered than rows without clusters, but no boundary between two groups is certain."
        return "unsure", UNCONFIRMED, note if is_tested else "Their number was chosen without a test on held-out rows."
    if choice.kind == "stream":
        return _of_stream(model, tree)
    return "unsure", f"These clusters were not tested on held-out rows. {NOT_REAL}", ""


def _of_evidence(tree: HyperplaneTree, choice: CountReason) -> tuple[str, str, str]:
    n_cuts = len(tree.cuts)
    n_confirmed = int(np.count_nonzero(choice.confirmed[tree.cuts]))
    if n_confirmed == n_cuts:
        return "good", f"Held-out rows confirm {'the split' if n_cuts == 1 else f'all {n_cuts} splits'}.", HELD_OUT
    if not n_confirmed:
        return "unsure", UNCONFIRMED, HELD_OUT
    rest = choice.rest.replace("a cut", "a split")
    return "partly", f"Held-out rows confirm {n_confirmed} of {n_cuts} splits. {rest}", HELD_OUT


def _of_stream(model: Any, tree: HyperplaneTree) -> tuple[str, str, str]:
    level = getattr(model, "significance", None)
    n_tested = int(np.count_nonzero(tree.p_value[tree.cuts] < (level if isinstance(level, float) else 0.05)))
    n_cuts = len(tree.cuts)
    if n_tested == n_cuts:
        which = "the split" if n_cuts == 1 else f"all {n_cuts} splits"
        return "good", f"Rows that arrived later confirm {which}.", ""
    if n_tested:
        return "partly", f"Rows that arrived later confirm {n_tested} of {n_cuts} splits.", ""
    return "unsure", f"These clusters were not tested on rows that arrived later. {NOT_REAL}", ""


def _asked(n_clusters: int) -> tuple[str, str, str]:
    if n_clusters == 1:
        return "none", "There is one cluster with all rows, as asked for.", ""
    text = f"{counted(n_clusters, 'cluster')} were asked for, so it was not tested whether they are real."
    return "unsure", text, NOT_REAL


def _without_tree(model: Any) -> tuple[str, str, str]:
    if hasattr(model, "classes_"):
        return "plain", "The classes are those of the labels that were given.", ""
    if is_given(model):
        return _asked(int(model.n_clusters_))
    confirmed = getattr(model, "confirmed_", None)
    if int(model.n_clusters_) == 1:
        return "none", "No clusters were found.", "No groups are stronger than those that chance produces."
    if confirmed:
        return "good", "The clusters are stronger than those that chance produces in data without clusters.", ""
    return "unsure", f"It was not tested whether these clusters are real. {NOT_REAL}", ""
