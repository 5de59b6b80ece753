"""Measuring on held-out labels whether the unlabeled rows help to predict the classes.

A cluster boundary predicts the classes only if the clusters follow them, and unlabeled rows cannot tell. So some labels
are held out, and the boundary between two classes is found twice from the others: with the unlabeled rows, and from the
labels alone. The squared error of the probabilities of the held-out labels (the Brier score) compares the two. It takes
at most `N_FOLDS` more searches for each pair of classes. docs/decisions/semi-supervised.md gives the reasons.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from ravine._matrix import Floats, Ints

N_FOLDS = 5
"""Maximum number of parts in which the labels of a class are held out, one after another."""

WRONG = 0.25
"""Squared error above which the probability of the label is less than 1/2."""

LogOddsOf = Callable[[Ints], Floats]
"""Function of the labels that are left, -1, 1 or 0 for each row; returns the log-odds of 1 for each row."""


def folds_of(sides: Ints, position: Floats, tie: Ints) -> Ints:
    """Divide the labeled rows into folds; return the fold of each row, -1 for rows that are never held out.

    The rows of each class are sorted by their position and dealt out in turn, so that each fold has rows of all
    positions, and the folds do not depend on the order of the rows. `tie` orders rows at the same position. A class
    with a single label keeps it.
    """
    fold = np.full(len(sides), -1)
    for first, side in enumerate((-1, 1)):
        own = np.flatnonzero(sides == side)
        if len(own) > 1:
            own = own[np.lexsort((tie[own], position[own]))]
            fold[own] = (np.arange(len(own)) + first) % N_FOLDS
    return fold


def squared_errors(sides: Ints, held_out: Ints, log_odds: LogOddsOf) -> Floats:
    """Return the squared errors of the probabilities of some labels, when the boundary is found without them."""
    left = sides.copy()
    left[held_out] = 0
    return np.asarray(expit(-sides[held_out] * log_odds(left)[held_out]) ** 2)


def mean_of_classes(errors: Floats, sides: Ints, weights: Floats) -> float:
    """Return the mean error, in which both classes count the same; without errors it is 0."""
    means = [np.average(errors[own], weights=weights[own]) for own in (sides == -1, sides == 1) if own.any()]
    return float(np.mean(means)) if means else 0.0
