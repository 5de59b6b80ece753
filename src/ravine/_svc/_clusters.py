"""From a learned function to its clusters: which modes to separate, and where the boundary for outliers lies."""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ravine._matrix import Floats
from ravine._svc._kernel_sum import KernelSum
from ravine._svc._learn import Learned
from ravine._svc._modes import Modes, Nearest, Strip
from ravine._svc._width_choice import Sample, WidthChoice, levels_below


@dataclass(frozen=True)
class Clustering:
    """A learned function and its clusters.

    Attributes
    ----------
    kernel_sum : KernelSum
        The function.
    modes : Nearest
        Rows with known clusters; another row gets the cluster of the nearest of them.
    C : float
        The trade-off for which the function was learned.
    offset : float
        Height of the boundary for outliers.
    strength : float
        How widely the clusters stay the same; 0 for one cluster.
    objective, gap, n_iter : float, float, int
        As in `Learned`.
    confirmed : bool or None
        Whether there are several clusters, and they are stronger than chance; None if this was not tested.
    """

    kernel_sum: KernelSum
    modes: Nearest
    C: float
    offset: float
    strength: float
    objective: float
    gap: float
    n_iter: int
    confirmed: bool | None


class Found(NamedTuple):
    """Modes, their strength, and how well they agree with the clusters that were chosen with γ; 1 if none were.

    Also whether those clusters are stronger than chance.
    """

    modes: Nearest
    strength: float
    agreement: float = 1.0
    confirmed: bool | None = None


def find_modes(
    kernel_sum: KernelSum,
    sample: Sample,
    choice: WidthChoice,
    least: float,
    n_clusters: int | None,
    gamma_is_given: bool,
) -> Found:
    """Find the modes that were chosen together with γ on the sample, or the most stable ones for a given γ.

    `least` is the minimum share of the rows in a cluster. If these are not `n_clusters` modes, find modes of this
    number, where a level of the function has as many.
    """
    if gamma_is_given:
        found = Found(*Modes.most_steady(kernel_sum, sample, least, n_clusters))
    elif choice.labels is None:
        found = Found(Modes.with_number(kernel_sum, sample, least, 1), choice.strength, confirmed=choice.confirmed)
    else:
        modes, agreement = Modes.most_like(kernel_sum, sample, least, choice.labels)
        found = Found(modes, choice.strength, agreement, choice.confirmed)
    if n_clusters is not None and found.modes.n_clusters != n_clusters:
        with suppress(ValueError):  # raised if no level of the function has this many clusters
            found = found._replace(modes=Modes.with_number(kernel_sum, sample, least, n_clusters))
    return found


def find_segments(
    kernel_sum: KernelSum, rows: Floats, choice: WidthChoice, epsilon: float, n_jobs: int | None
) -> Found:
    """Find the clusters of the rows near the boundary w = 1, by Algorithm 3 of Pham, Le and Dang."""
    return Found(Strip.of(kernel_sum, rows, epsilon, n_jobs), choice.strength)


def clustering_of(learned: Learned, found: Found, sample: Sample, contamination: float) -> Clustering:
    """Put a learned function and its clusters together; at most the share `contamination` of the sample is outside."""
    below = levels_below(learned.heights, sample.share, np.array([contamination]))
    return Clustering(
        learned.kernel_sum,
        found.modes,
        learned.C,
        offset=min(1.0, float(below[0])),
        strength=found.strength if found.modes.n_clusters > 1 else 0.0,
        objective=learned.objective,
        gap=learned.gap,
        n_iter=learned.n_iter,
        confirmed=None if found.confirmed is None else found.confirmed and found.modes.n_clusters > 1,
    )
