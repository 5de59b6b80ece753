"""Plots of the sequence from one cluster to all clusters of a tree, as ``cut_to`` returns it."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ravine._matrix import Floats, Ints
from ravine.plot._common import FAINT, LEFT, LINE, PALE, RIGHT, new_axes, points, tree_and_names
from ravine.tree import HyperplaneTree
from ravine.tree._prune import sum_sq_path

BLOCK, FONT = 0.86, 7
"""Width of a block, and font size of its label in points."""

MOST_COLUMNS = 60
"""Largest number of separate columns. With more clusters, a block is drawn once across all its columns."""

DASHES = (0, (3, 2))


def elbow(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the total sum of squares within clusters against the number of clusters.

    The number of clusters of the model is marked. If the model searched for an elbow, the line covers the whole tree
    that was searched. Otherwise it ends at the number of clusters of the model.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: The sum of squares within clusters falls steeply from one to two clusters, then slowly; five are marked.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> model = NCutH(n_clusters=5).fit(load_iris().data)
        >>> ax = plot.elbow(model)
    """
    model = model.steps[-1][1] if isinstance(model, Pipeline) else model  # no column is drawn
    tree, _ = tree_and_names(model, "elbow", None)
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
    """Plot the shares of the clusters for each number of clusters, as columns of stacked blocks.

    Blocks are in the order of the clusters, with cluster 0 at the bottom. The two newest clusters of each column are
    colored. A dashed line shows where the next cut splits a block. With more than 60 clusters, the columns touch, and a
    cluster that does not change is drawn as one block.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Five columns of stacked blocks: one cluster, then two, up to five, the newest two colored in each.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> model = NCutH(n_clusters=5).fit(load_iris().data)
        >>> ax = plot.path(model)
    """
    tree, _ = tree_and_names(model.steps[-1][1] if isinstance(model, Pipeline) else model, "path", None)
    n_clusters = tree.n_clusters
    if ax is None:
        ax = new_axes(min(max(2.5 + 0.4 * n_clusters, 4.0), 12.0), min(max(3.5, 1.5 + 0.14 * n_clusters), 7.0))
    share = tree.count / (tree.count[tree.leaves].sum() or 1.0)
    bottom = _bottoms(tree, share)
    first, last = _columns_of(tree)
    draw = _draw_columns if n_clusters <= MOST_COLUMNS else _draw_stretches
    draw(ax, tree, np.column_stack([first, last]), bottom, share)
    _draw_next_cuts(ax, tree, bottom, share)
    _label_blocks(ax, n_clusters, share[tree.leaves], bottom[tree.leaves])
    ax.set(xlabel="number of clusters", ylabel="share of the rows", xlim=(0.4, n_clusters + 0.6), ylim=(0, 1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _bottoms(tree: HyperplaneTree, share: Floats) -> Floats:
    """Bottom of the block of each node: above all leaves to its left, for any number of clusters."""
    of_leaves = np.cumsum(share[tree.leaves]) - share[tree.leaves]
    return np.asarray(of_leaves[np.cumsum(tree.is_leaf) - tree.is_leaf])


def _columns_of(tree: HyperplaneTree) -> tuple[Ints, Ints]:
    """Smallest and largest number of clusters for which each node is a cluster."""
    first = np.where(tree.parent >= 0, tree.rank[tree.parent] + 1, 1)
    return first, np.where(tree.is_leaf, tree.n_clusters, tree.rank)


def _colors(tree: HyperplaneTree) -> NDArray[Any]:
    """Color of each node in the column in which it is new."""
    is_left = np.zeros(tree.n_nodes, dtype=bool)
    is_left[tree.left[tree.cuts]] = True
    return np.where(tree.parent < 0, PALE, np.where(is_left, LEFT, RIGHT))


def _draw_columns(ax: Axes, tree: HyperplaneTree, columns: Ints, bottom: Floats, share: Floats) -> None:
    """Draw a column of blocks for each number of clusters."""
    node = np.repeat(np.arange(tree.n_nodes), columns[:, 1] - columns[:, 0] + 1)
    column = np.concatenate([np.arange(first, last + 1) for first, last in columns])
    is_new = column == columns[node, 0]
    order = np.lexsort((node, column))  # nodes are in preorder, so from left to right
    node, column, is_new = node[order], column[order], is_new[order]
    colors = np.where(is_new, _colors(tree)[node], PALE)
    _add_blocks(ax, column - BLOCK / 2, column + BLOCK / 2, bottom[node], share[node], colors, linewidth=0.6)


def _draw_stretches(ax: Axes, tree: HyperplaneTree, columns: Ints, bottom: Floats, share: Floats) -> None:
    """Draw one block for each node, across all its columns, with its first column colored."""
    first, last = columns.T
    _add_blocks(ax, first - 0.5, last + 0.5, bottom, share, np.full(len(first), PALE), linewidth=0.15)
    _add_blocks(ax, first - 0.5, first + 0.5, bottom, share, _colors(tree), linewidth=0)


def _add_blocks(
    ax: Axes, left: Floats, right: Floats, bottom: Floats, height: Floats, colors: NDArray[Any], linewidth: float
) -> None:
    top = bottom + height
    corners = np.stack([[left, left, right, right], [bottom, top, top, bottom]]).transpose(2, 1, 0)
    ax.add_collection(PolyCollection(list(corners), facecolor=colors, edgecolor=LINE, linewidth=linewidth))


def _draw_next_cuts(ax: Axes, tree: HyperplaneTree, bottom: Floats, share: Floats) -> None:
    """Draw a dashed line in the last column of each block, where the next cut splits it."""
    at, height = tree.rank[tree.cuts], (bottom + share)[tree.left[tree.cuts]]
    half = np.array([-BLOCK / 2, BLOCK / 2])
    lines = np.stack([at[:, np.newaxis] + half, np.repeat(height[:, np.newaxis], 2, axis=1)], axis=2)
    ax.add_collection(LineCollection(list(lines), colors=LINE, linestyles=[DASHES], linewidths=1))


def _label_blocks(ax: Axes, k: int, heights: Floats, bottoms: Floats) -> None:
    """Label the blocks of the last column that are tall enough for a line of text."""
    tall = points(ax)[1]
    for label, (height, bottom) in enumerate(zip(heights, bottoms, strict=True)):
        if height * tall >= FONT + 1:
            ax.text(k + 0.5, bottom + height / 2, f" cluster {label}, {height:.0%}", va="center", fontsize=FONT)
