"""Describe clusters in words and numbers: what sets each apart, its typical rows, its spread, its classes.

No tree is needed here: a cluster is a slice of the sample and its counts.
"""

from typing import Any

import numpy as np

from ravine._matrix import Ints
from ravine.report._format import all_rounded, rounded
from ravine.report._sample import Sample
from ravine.tree._text import sets_apart

N_TYPICAL = 3
"""Number of typical rows that the report shows."""

SHOWN_CLASSES = 50
"""With more classes than this, the most common ones are shown and the rest are combined into one."""


def typical(sample: Sample, here: slice) -> dict[str, Any]:
    """The rows of a cluster nearest to its mean, and its spread, both in standard deviations of the columns."""
    Z = sample.Z[here]
    if not len(Z):
        return {"typical": [], "spread": None}
    apart = Z - Z.mean(axis=0)
    squares = np.einsum("ij,ij->i", apart, apart)
    nearest = np.lexsort((sample.number[here], squares))[:N_TYPICAL]
    n_varying = np.count_nonzero(sample.deviation)
    return {
        "typical": sample.number[here][nearest].tolist(),
        # Every column that varies has variance 1 over all rows.
        "spread": rounded(np.sqrt(squares.mean() / n_varying)) if n_varying else None,
    }


def describe(sample: Sample, here: slice, names: list[str]) -> dict[str, Any]:
    """Describe a cluster from the sample, in standard deviations of the columns so that units do not matter."""
    Z = sample.Z[here]
    return {"words": sets_apart(Z.mean(axis=0), names) if len(Z) else "", **typical(sample, here)}


def shown_classes(contingency: Ints, class_names: list[str]) -> tuple[list[str], Ints]:
    """Names of the classes on the page, and the position of each class among them."""
    if len(class_names) <= SHOWN_CLASSES:
        return class_names, np.arange(len(class_names))
    commonest = np.sort(np.argsort(-contingency.sum(axis=0), kind="stable")[: SHOWN_CLASSES - 1])
    place = np.full(len(class_names), SHOWN_CLASSES - 1)
    place[commonest] = np.arange(SHOWN_CLASSES - 1)
    n_others = len(class_names) - len(commonest)
    return [*(class_names[j] for j in commonest), f"{n_others:,} other classes"], place


def merged(contingency: Ints, place: Ints) -> Ints:
    """Add up the columns of the table that have the same position."""
    return contingency @ np.eye(int(place.max()) + 1, dtype=np.int64)[place]


def score_path(tables: list[Ints]) -> dict[str, list[float]]:
    """Scores of several tables of clusters and classes, as one list for each score."""
    from ravine.metrics import contingency_scores  # it needs scikit-learn

    scores = [contingency_scores(table) for table in tables]
    return {name: all_rounded(score[name] for score in scores) for name in scores[0]}
