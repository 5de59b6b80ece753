"""Plot of the stability of a clustering: how often each number of clusters came out, and how well each was found."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ravine._matrix import Ints
from ravine.evaluation._stability import FOUND
from ravine.plot._common import FAINT, LEFT, LINE, PALE, RIGHT, refusal
from ravine.tree._text import counted

WIDTH, ROW, LEAST_HEIGHT, MARGIN = 9.0, 0.42, 3.2, 1.15
"""Sizes in inches: the figure, the line of a cluster, the smallest figure, and what is above and below the lines."""

SPREAD = 0.62
"""Height of the dots of a cluster, as a share of its line."""

MOST_CLUSTERS, MOST_BARS = 40, 15
"""Largest number of clusters that are drawn, and of bars with a number below each."""

STYLES = {"stable": (LEFT, "o"), "uncertain": (RIGHT, "D"), "not found again": (LINE, "x")}
"""Color and marker of each verdict."""


def stability(found: Any) -> Figure:
    """Plot how often each number of clusters came out, and how well each cluster was found again.

    On the left, the bar of the model's own number is filled. On the right, each cluster has one dot for each resample,
    its Jaccard overlap with the most similar cluster, sorted from bottom to top. Dots in the gray region count as found
    again.

    Parameters
    ----------
    found : Stability
        Result of `ravine.evaluation.stability`.

    Returns
    -------
    figure : matplotlib Figure
        A new figure. If there are more than 40 clusters, it has those with the smallest mean overlaps.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Bars of the numbers of clusters in twenty resamples, and the Jaccard overlaps of each of four clusters.

        >>> from sklearn.cluster import KMeans
        >>> from ravine import plot
        >>> from ravine.datasets import make_blobs
        >>> from ravine.evaluation import stability
        >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> figure = plot.stability(stability(KMeans(4, n_init=1), X))
    """
    if not (hasattr(found, "jaccard") and hasattr(found, "verdicts")):
        raise TypeError(refusal(found, "stability", "the result of ravine.evaluation.stability(model, X)"))
    shown = _shown(found)
    height = max(LEAST_HEIGHT, ROW * len(shown) + MARGIN)
    figure = plt.figure(figsize=(WIDTH, height), layout="constrained")
    below = height - LEAST_HEIGHT
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 2.1), height_ratios=(LEAST_HEIGHT, max(below, 0.1)))
    _draw_numbers(figure.add_subplot(grid[0 if below > LEAST_HEIGHT / 2 else slice(None), 0]), found)
    _draw_overlaps(figure.add_subplot(grid[:, 1]), found, shown)
    return figure


def _shown(found: Any) -> Ints:
    """Return the positions of the clusters to draw, in the order of their labels."""
    everything = np.arange(len(found.clusters))
    if len(everything) <= MOST_CLUSTERS:
        return everything
    mean = np.nan_to_num(np.round(found.mean_jaccard, 9), nan=1.0)
    return np.sort(np.argsort(mean, kind="stable")[:MOST_CLUSTERS])


def _draw_numbers(ax: Axes, found: Any) -> None:
    n_resamples, own = len(found.n_clusters), len(found.clusters)
    for number, count in found.counts.items():
        face = LEFT if number == own else PALE
        ax.bar(number, count, width=0.72, color=face, edgecolor=LINE, linewidth=0.6)
        if len(found.counts) <= MOST_BARS:
            ax.annotate(f"{count}", (number, count), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    numbers = [*found.counts, own]
    ax.set_xlim(min(numbers) - 1.2, max(numbers) + 1.2)
    ax.set_ylim(0, 1.08 * n_resamples)
    ax.set(xlabel="number of clusters", ylabel=f"resamples, of {n_resamples}")
    ax.set_title(f"The model has {counted(own, 'cluster')}", fontsize=10, loc="left")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1, steps=(1, 2, 5, 10)))
    ax.spines[["top", "right"]].set_visible(False)


def _draw_overlaps(ax: Axes, found: Any, shown: Ints) -> None:
    ax.axvspan(FOUND, 1.0, color=PALE, alpha=0.45, linewidth=0, zorder=0)
    verdicts = found.verdicts
    for line, i in enumerate(shown):
        values = np.sort(found.jaccard[:, i])
        values = values[~np.isnan(values)]
        color, marker = STYLES[verdicts[i]]
        ax.axhline(line, color=PALE, linewidth=0.6, zorder=0.5)
        rank = (np.arange(len(values)) + 0.5) / max(len(values), 1) - 0.5
        edge: dict[str, Any] = {} if marker == "x" else {"edgecolors": "white", "linewidths": 0.4}
        ax.scatter(values, line - SPREAD * rank, s=16, color=color, marker=marker, zorder=2, clip_on=False, **edge)
        words = f"{verdicts[i]}, {found.n_found_again[i]} of {len(values)}"
        at = (1.03, line)
        ax.annotate(words, at, xycoords=ax.get_yaxis_transform(), va="center", fontsize=8, annotation_clip=False)
    ax.set_yticks(np.arange(len(shown)), [f"cluster {found.clusters[i]}" for i in shown], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="Jaccard overlap with the most similar cluster of a resample", xlim=(0, 1.0))
    ax.set_ylim(max(len(shown), 1) - 0.45, -0.55)
    ax.annotate(
        "found again",
        ((1 + FOUND) / 2, 1),
        (0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        fontsize=8,
    )
    ax.axvline(FOUND, color=FAINT, linewidth=0.8, zorder=0.6)
    few = len(shown) < len(found.clusters)
    title = f"The {len(shown)} least stable clusters" if few else "Is each cluster found again?"
    ax.set_title(title, fontsize=10, loc="left")
    ax.spines[["top", "right", "left"]].set_visible(False)
