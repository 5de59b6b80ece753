"""Every granularity from one fit: the sequence from one cluster to all of them, as ``cut_to`` gives it."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ravine.matrix import Floats
from ravine.plot._common import FAINT, LEFT, LINE, PALE, RIGHT, new_axes, points, tree_and_names
from ravine.tree.prune import sum_sq_path

BLOCK, FONT = 0.86, 7
"""Width of a block, and points of its label."""

DASHES = (0, (3, 2))


def elbow(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the total sum of squares within the clusters for one cluster, two, and so on.

    Where an elbow was sought the line goes on to the end of the tree in which it was, else it ends at the number of
    clusters of the model, which is marked.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A model with a tree, or the tree.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        What was drawn on.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: The sum of squares within one to five clusters falls steeply to two, then little; five are marked.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> model = NCutH(n_clusters=5).fit(load_iris().data)
        >>> ax = plot.elbow(model)
    """
    tree, _ = tree_and_names(model, None)
    ax = new_axes(5, 3.2) if ax is None else ax
    sought = getattr(model, "elbow_path_", None)
    total = sum_sq_path(tree) if sought is None else sought
    chosen = tree.n_clusters
    ax.plot(np.arange(1, len(total) + 1), total, color=LINE, marker="o", markersize=4, linewidth=1)
    ax.plot([chosen], [total[chosen - 1]], color=RIGHT, marker="D", markersize=9, fillstyle="none", markeredgewidth=1.5)
    label = f"{chosen} cluster{'' if chosen == 1 else 's'}"
    ax.annotate(
        label,
        (chosen, total[chosen - 1]),
        (0, 24),
        textcoords="offset points",
        ha="center",
        arrowprops={"arrowstyle": "-", "color": FAINT, "shrinkB": 6},
    )
    ax.set(xlabel="number of clusters", ylabel="sum of squares within clusters")
    ax.set_xlim(0.5, 1.04 * len(total) + 0.5)
    ax.set_ylim(0, 1.25 * total[0] or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def path(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw every granularity of the tree: for each number of clusters, their shares of the rows as stacked blocks.

    Blocks stand in the order of the clusters, cluster 0 at the bottom. The two that a cut has just made are coloured,
    and a dashed line runs where the next cut divides a block.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A model with a tree, or the tree.
    ax : matplotlib Axes, optional
        Where to draw. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        What was drawn on.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Five columns of stacked blocks: one cluster, then two, up to five, the newest two coloured in each.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> model = NCutH(n_clusters=5).fit(load_iris().data)
        >>> ax = plot.path(model)
    """
    tree, _ = tree_and_names(model, None)
    n_clusters = tree.n_clusters
    if ax is None:
        ax = new_axes(min(max(2.5 + 0.4 * n_clusters, 4.0), 12.0), min(max(3.5, 1.5 + 0.14 * n_clusters), 7.0))
    share = tree.count / (tree.count[tree.leaves].sum() or 1.0)
    cut_at = {int(tree.rank[cut]): int(cut) for cut in tree.cuts}
    blocks, made = [0], (-1, -1)
    for k in range(1, n_clusters + 1):
        heights = share[blocks]
        bottoms = np.cumsum(heights) - heights
        colours = [PALE if b not in made else LEFT if b == made[0] else RIGHT for b in blocks]
        ax.bar(k, heights, BLOCK, bottoms, color=colours, edgecolor=LINE, linewidth=0.6)
        if k < n_clusters:
            place = blocks.index(cut_at[k])
            made = (int(tree.left[cut_at[k]]), int(tree.right[cut_at[k]]))
            cut = bottoms[place] + share[made[0]]
            ax.plot([k - BLOCK / 2, k + BLOCK / 2], [cut, cut], color=LINE, linestyle=DASHES, linewidth=1)
            blocks[place : place + 1] = made
    _label_blocks(ax, n_clusters, heights, bottoms)
    ax.set(xlabel="number of clusters", ylabel="share of the rows", xlim=(0.4, n_clusters + 0.6), ylim=(0, 1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _label_blocks(ax: Axes, k: int, heights: Floats, bottoms: Floats) -> None:
    """Write beside the blocks of the last column, where they are tall enough for a line, what they are."""
    tall = points(ax)[1]
    for label, (height, bottom) in enumerate(zip(heights, bottoms, strict=True)):
        if height * tall >= FONT + 1:
            ax.text(k + 0.5, bottom + height / 2, f" cluster {label}, {height:.0%}", va="center", fontsize=FONT)
