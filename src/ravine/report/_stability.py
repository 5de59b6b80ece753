"""The stability of the clusters on the page: how many clusters refits found, and how well they found each of them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine._lazy import is_a
from ravine.report._data import ReportData
from ravine.report._format import rounded
from ravine.report._groups import Groups
from ravine.tree import HyperplaneTree
from ravine.tree._text import counted

if TYPE_CHECKING:
    from ravine.evaluation import Stability

WHY = "To see whether other samples of the rows give the same clusters,"
IN_PYTHON = f"{WHY} pass stability=ravine.evaluation.stability(model, X)."
BY_COMMAND = f"{WHY} run ravine cluster with --stability 20."


def stability_of(stable: Any, groups: Groups, rows: ReportData, is_given: bool) -> dict[str, Any] | None:
    """Return what the page shows of the stability of a model; None without it.

    `is_given` says whether the number of clusters was given.
    """
    if stable is None:
        return None
    n_clusters = len(groups.values) - groups.may_be_left_out
    _check(stable, n_clusters, groups, rows)
    about: list[dict[str, Any] | None] = [None] * n_clusters
    for i, cluster in enumerate(stable.clusters.tolist()):
        about[cluster] = _cluster(stable, i)
    n_refits = len(stable.n_clusters)
    return {
        "sentence": _sentence(stable, n_clusters, is_given),
        "lead": _lead(stable),
        "counts": None if is_given else [[k, n] for k, n in sorted(stable.counts.items())],
        "n_refits": n_refits,
        "clusters": about,
    }


def hint(model: Any, is_command: bool) -> str:
    """Return how to get the stability; nothing if it is not defined."""
    if isinstance(model, HyperplaneTree) or hasattr(model, "classes_"):
        return ""
    return BY_COMMAND if is_command else IN_PYTHON


def _check(stable: Any, n_clusters: int, groups: Groups, rows: ReportData) -> None:
    if not is_a(stable, "ravine.evaluation._stability.Stability"):
        raise TypeError(
            f"stability is an object of type {type(stable).__name__}: pass the result of "
            "ravine.evaluation.stability(model, X)"
        )
    if groups.tree is None and hasattr(groups.model, "classes_"):
        raise TypeError("the model is a classifier, whose classes are given by labels: leave stability out")
    is_same = set(stable.clusters.tolist()) <= set(range(n_clusters))
    if is_same and len(stable.row_agreement) == rows.n_rows:
        sizes = np.zeros(n_clusters, dtype=np.int64)
        sizes[stable.clusters] = stable.sizes
        is_same = np.array_equal(sizes, rows.leaf_count[:n_clusters])
    if not is_same:
        raise ValueError(
            "stability is that of other clusters than those of the model: fit the model first, and pass "
            "ravine.evaluation.stability(model, X)"
        )


def _cluster(stable: "Stability", i: int) -> dict[str, Any]:
    from ravine.evaluation._stability_text import together_with

    mean = float(stable.mean_jaccard[i])
    return {
        "found": int(stable.n_found_again[i]),
        "compared": int(np.count_nonzero(~np.isnan(stable.jaccard[:, i]))),
        "mean": None if np.isnan(mean) else rounded(mean, 3),
        "verdict": stable.verdicts[i],
        "together": [int(stable.clusters[j]) for j in together_with(stable, i)],
    }


def _sentence(stable: "Stability", n_clusters: int, is_given: bool) -> str:
    """Say how many refits found as many clusters as the model, and how many clusters are stable."""
    number = _numbers(stable, n_clusters)
    if is_given:
        number = f"The model was fitted again to {counted(len(stable.n_clusters), 'resample')}."
    if n_clusters == 1:
        return number
    n_stable = stable.verdicts.count("stable")
    which = f"{n_stable} of {n_clusters} clusters"
    if n_stable == n_clusters:
        which = f"All {n_clusters} clusters"
    elif not n_stable:
        which = f"None of the {n_clusters} clusters"
    return f"{number} {which} {'is' if n_stable < 2 else 'are'} stable."


def _numbers(stable: "Stability", n_clusters: int) -> str:
    n_refits, counts = len(stable.n_clusters), stable.counts
    often, n_often = next(iter(counts.items()))
    if n_often == n_refits:
        who = "The refit on a resample" if n_refits == 1 else f"All {n_refits} refits on resamples"
        return f"{who} found {counted(often, 'cluster')}{'' if often == n_clusters else f', not {n_clusters}'}."
    own = counts.get(n_clusters, 0)
    text = f"In {n_refits} refits on resamples, {own or 'none'} found {counted(n_clusters, 'cluster')}"
    return f"{text}." if own == n_often else f"{text}, and {n_often} found {often}."


def _lead(stable: "Stability") -> str:
    """Say what was done, and what the words mean."""
    from ravine.evaluation._stability import FOUND, SELDOM, STABLE

    text = (
        f"The model was fitted again to {counted(len(stable.n_clusters), 'random sample')} of "
        f"{counted(stable.n_fitted, 'row')}. A cluster is found again in a sample if a cluster there has a Jaccard "
        f"overlap of at least {FOUND} with it: the rows in both, divided by the rows in either. A cluster is stable if "
        f"it is found again in at least {STABLE:.0%} of the samples, and not found again if in less than {SELDOM:.0%}. "
        "Stable does not mean real: a method can divide rows without clusters in the same way every time."
    )
    return f"{text} {counted(len(stable.errors), 'more refit')} failed." if stable.errors else text
