"""The parameters of a fit: those that are given, checked, and those that are chosen on a sample.

See docs/decisions/support-vectors.md for the rule that accepts clusters only if they are stronger than chance.
"""

import math

import numpy as np

from ravine._matrix import Floats
from ravine._svc._width_choice import Sample, WidthChoice, choose, least_size

STRENGTH, FEW_ROWS = 200.0, 200
"""Clusters may arise by chance if their strength is below STRENGTH / (n_features · √n_samples) of the sample, with
n_samples at least FEW_ROWS."""

WIDEST = 1e9
"""Largest ratio between the width of the kernel and the extent of the rows, in either direction."""


def choose_parameters(
    sample: Sample, least: float, gamma: float | None, C: float | None, n_clusters: int | None
) -> WidthChoice:
    """Choose γ and C where they are None. There is one cluster if chance would produce clusters as strong.

    `least` is the minimum share of the rows in a cluster.
    """
    if gamma is not None:
        check_gamma(gamma, sample.rows)
        if C is not None:
            return WidthChoice(gamma, C, None, 0.0)
    choice = choose(sample, least, gamma, C, n_clusters)
    if gamma is None and n_clusters is None and is_by_chance(choice.strength, *sample.rows.shape):
        return WidthChoice(choice.gamma, choice.C, None, 0.0)
    return choice


def is_by_chance(strength: float, n_samples: int, n_features: int) -> bool:
    """Return whether clusters of this strength may arise by chance in a sample of this shape."""
    return strength < STRENGTH / (n_features * math.sqrt(max(n_samples, FEW_ROWS)))


def least_share(min_cluster_size: int | None, total: float, weights: Floats) -> float:
    """Return the minimum share of the rows in a cluster.

    `total` is the weight of all rows, and `weights` are those of the rows of the sample. If `min_cluster_size` is None,
    the share follows from the size of the sample.
    """
    if min_cluster_size is not None:
        return min_cluster_size / total
    n_rows = max(float(weights.sum()), float(len(weights)))
    return least_size(n_rows) / n_rows


def check_gamma(gamma: float, rows: Floats) -> None:
    """Raise ValueError if the kernel is so narrow or so wide that it sees all rows as unrelated or as equal."""
    diameter = float(np.linalg.norm(np.ptp(rows, axis=0)))
    if diameter > 0 and not 1 / WIDEST <= math.sqrt(gamma) * diameter <= WIDEST:
        raise ValueError(
            f"gamma={gamma:.3g} gives a kernel of width {1 / math.sqrt(gamma):.3g}, but the rows extend over "
            f"{diameter:.3g}: set gamma to about {(10 / diameter) ** 2:.3g}, or gamma='auto'"
        )
