"""Describe clusters in words and numbers: what sets each apart, its typical rows, its spread, its classes.

No tree is needed here: a cluster is a slice of the sample and its counts.
"""

from typing import Any

import numpy as np

from ravine._matrix import Ints
from ravine.metrics import contingency_scores
from ravine.report._format import all_rounded, rounded
from ravine.report._sample import Sample
from ravine.tree._text import sets_apart

N_TYPICAL, N_DIFFERENCES = 3, 6
"""Number of typical rows and of largest differences that the report shows."""

SMALL = 0.005
"""Smaller differences are not shown, in standard deviations."""

SHOWN_CLASSES = 50
"""With more classes than this, the most common ones are shown and the rest are combined into one."""


def describe(sample: Sample, here: slice, names: list[str], short_names: list[str]) -> dict[str, Any]:
    """Describe a cluster from the sample, in standard deviations of the columns so that units do not matter."""
    Z = sample.Z[here]
    if not len(Z):
        return {"words": "", "differences": [], "typical": [], "spread": None}
    mean = Z.mean(axis=0)
    apart = Z - mean
    squares = np.einsum("ij,ij->i", apart, apart)
    nearest = np.lexsort((sample.number[here], squares))[:N_TYPICAL]
    largest = np.argsort(-np.abs(mean), kind="stable")[:N_DIFFERENCES]
    words, in_full = (sets_apart(mean, known_as) for known_as in (short_names, names))
    n_varying = np.count_nonzero(sample.deviation)
    described: dict[str, Any] = {
        "words": words,
        "differences": [[int(j), rounded(mean[j])] for j in largest if abs(mean[j]) >= SMALL],
        "typical": sample.number[here][nearest].tolist(),
        # Every column that varies has variance 1 over all rows.
        "spread": rounded(np.sqrt(squares.mean() / n_varying)) if n_varying else None,
    }
    return described if in_full == words else {**described, "in_full": in_full}


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
    scores = [contingency_scores(table) for table in tables]
    return {name: all_rounded(score[name] for score in scores) for name in scores[0]}
