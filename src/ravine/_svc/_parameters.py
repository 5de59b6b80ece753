"""The parameters of a fit: those that are given, checked, and those that are chosen on a sample.

See docs/decisions/support-vectors.md for the rule that accepts clusters only if they are stronger than chance.
"""

import math
from dataclasses import replace

import numpy as np

from ravine._matrix import Floats
from ravine._reservoir import merge_copies
from ravine._structureless import is_stronger_than_chance
from ravine._svc._width_choice import Sample, WidthChoice, choose, least_size

MOST_ROWS, N_DRAWS = 1000, 39
"""Maximum number of rows of a draw without clusters, and number of draws. The time of a draw grows with the square of
the first. With 19 draws, a tenth of small uniform samples have clusters."""

WIDEST = 1e9
"""Largest ratio between the width of the kernel and the extent of the rows, in either direction."""


def choose_parameters(
    sample: Sample, least: float, gamma: float | None, C: float | None, n_clusters: int | None
) -> WidthChoice:
    """Choose γ and C where they are None.

    `least` is the minimum share of the rows in a cluster.
    """
    if gamma is not None:
        check_gamma(gamma, sample.rows)
        if C is not None:
            return WidthChoice(gamma, C, None, 0.0)
    return choose(sample, least, gamma, C, n_clusters)


def confirmed_or_one(
    choice: WidthChoice, sample: Sample, n_rows: float, least: float | None, C: float | None, seed: int
) -> WidthChoice:
    """Return the choice if its clusters are stronger than those of draws without clusters, and one cluster otherwise.

    Parameters
    ----------
    choice : WidthChoice
    sample : Sample
        The sample on which it was made.
    n_rows : float
        Number of rows of the sample, copies included.
    least : float or None
        The given minimum share of the rows in a cluster. If it is None, it follows from the number of rows.
    C : float or None
        The given C.
    seed : int
        Seed of the draws.
    """

    def strength_of(rows: Floats) -> float:
        draw = Sample(*merge_copies(rows, np.ones(len(rows)), seed), sample.n_jobs)
        found = choose(draw, least_size(len(rows)) / len(rows) if least is None else least, None, C)
        return even_strength(found, draw.share)

    mass = sample.share * n_rows
    strength = even_strength(choice, sample.share)
    if is_stronger_than_chance(strength, strength_of, sample.rows, mass, MOST_ROWS, seed, N_DRAWS):
        return replace(choice, confirmed=True)
    return WidthChoice(choice.gamma, choice.C, None, 0.0, confirmed=False)


def even_strength(choice: WidthChoice, share: Floats) -> float:
    """Return the strength of the clusters times the probability that two rows are in different clusters.

    Where chance makes strong clusters, they are small: a few rows in a tail.
    """
    if choice.labels is None:
        return 0.0
    part = np.bincount(np.maximum(choice.labels, 0), share)
    return choice.strength * float(1.0 - part @ part)


def least_share(min_cluster_size: int | None, total: float, weights: Floats) -> float:
    """Return the minimum share of the rows in a cluster.

    `total` is the weight of all rows, and `weights` are those of the rows of the sample. If `min_cluster_size` is None,
    the share follows from the size of the sample.
    """
    if min_cluster_size is not None:
        return min_cluster_size / total
    n_rows = rows_counted(weights)
    return least_size(n_rows) / n_rows


def rows_counted(weights: Floats) -> float:
    """Return the number of rows that a sample counts as: the total of their weights, but at least their number."""
    return max(float(weights.sum()), float(len(weights)))


def check_gamma(gamma: float, rows: Floats) -> None:
    """Raise ValueError if the kernel is so narrow or so wide that it sees all rows as unrelated or as equal."""
    diameter = float(np.linalg.norm(np.ptp(rows, axis=0)))
    if diameter > 0 and not 1 / WIDEST <= math.sqrt(gamma) * diameter <= WIDEST:
        raise ValueError(
            f"gamma={gamma:.3g} gives a kernel of width {1 / math.sqrt(gamma):.3g}, but the rows extend over "
            f"{diameter:.3g}: set gamma to about {(10 / diameter) ** 2:.3g}, or gamma='auto'"
        )
