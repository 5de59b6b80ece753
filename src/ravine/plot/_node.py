"""Plots of one cut: the density of its rows along the normal, and the rows themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ravine._matrix import Matrix, column_deviations, project
from ravine.cuts._density import normal_bandwidth, projected_density
from ravine.cuts._principal import spread_across
from ravine.plot._common import LEFT, LINE, LONGEST, MOST_POINTS, RIGHT, new_axes, rows_of_cut, tree_and_names, written
from ravine.tree import HyperplaneTree, _map
from ravine.tree._coarser import subtree_end
from ravine.tree._text import shares_of_cut, shares_of_spread

DASHES = (0, (3, 2))


def density(
    model: Any,
    X: ArrayLike,
    node: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a histogram and the density of the rows of a node along the normal of its cut.

    A dashed line marks the cut.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A fitted model with a tree, or the tree.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows to draw. Rows that do not reach the node are left out.
    node : int, default=0
        Node of the cut, one of ``tree_.cuts``.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
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
        :alt: Histogram and density of 150 rows along the normal of the first cut, which goes through a wide valley.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris(as_frame=True).data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> ax = plot.density(model, X)
    """
    tree, names = tree_and_names(model, "density", feature_names)
    here = rows_of_cut(model, tree, X, node)
    ax = new_axes(5, 3) if ax is None else ax
    draw_density(ax, tree, node, here, names, fontsize=9)
    ax.set_xlabel("distance to the cut")
    return ax


def node(
    model: Any,
    X: ArrayLike,
    node: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the rows of a node: their distance to the cut, and the perpendicular direction in which they vary most.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        A fitted model with a tree, or the tree.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows to draw. Rows that do not reach the node are left out. At most 2,000 rows are drawn, at even steps.
    node : int, default=0
        Node of the cut, one of ``tree_.cuts``.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
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
        :alt: 100 rows to the left and right of the second cut; the two sides touch, without a valley between them.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris(as_frame=True).data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> ax = plot.node(model, X, node=2)
    """
    tree, names = tree_and_names(model, "node", feature_names)
    here = rows_of_cut(model, tree, X, node)
    ax = new_axes(5, 4) if ax is None else ax
    across = spread_across(here, tree.normal[node])
    distance = tree.cut(node).heights(here)
    height = np.zeros(len(distance)) if across is None else project(here, across)
    drawn = np.unique(np.linspace(0, len(distance) - 1, min(len(distance), MOST_POINTS)).astype(np.int64))
    goes_left = distance < 0
    for child, side, marker, color, word in (
        (tree.left[node], goes_left, "o", LEFT, "left"),
        (tree.right[node], ~goes_left, "^", RIGHT, "right"),
    ):
        shown = drawn[side[drawn]]
        label = f"{word}: {_clusters_below(tree, child)}, {_map.rows_in_words(side.sum())}"
        ax.scatter(
            distance[shown], height[shown], s=14, marker=marker, facecolor=color, linewidth=0, alpha=0.6, label=label
        )
    ax.axvline(0, color=LINE, linestyle=DASHES, linewidth=1)
    ax.set_xlabel(written(f"distance to the cut\n{_map.carriers(shares_of_cut(tree, node), names, LONGEST)}"))
    if across is None:
        ax.set_yticks([])
        ax.set_ylabel("the rows do not vary along the cut")
    else:
        shares = shares_of_spread(across, column_deviations(here))
        ax.set_ylabel(written(f"direction of most spread along the cut\n{_map.carriers(shares, names, LONGEST)}"))
    sample = f", {len(drawn):,} of them drawn" if len(drawn) < len(distance) else ""
    ax.set_title(f"node {node}: {_map.rows_in_words(len(distance))}{sample}", fontsize=10)
    ax.legend(fontsize=8)
    return ax


def draw_density(ax: Axes, tree: HyperplaneTree, node: int, rows: Matrix, names: list[str], fontsize: float) -> None:
    """Draw a histogram and the density of rows along the normal. The title names the columns that drive the split."""
    evidence = f", p = {tree.p_value[node]:.1g}" if tree.p_value[node] < 1 else ""
    title = (
        f"node {node}: {_map.rows_in_words(rows.shape[0])}{evidence}\n{_map.carriers(shares_of_cut(tree, node), names)}"
    )
    ax.set_title(written(title), fontsize=fontsize, pad=fontsize - 5)
    ax.set_yticks([])
    ax.tick_params(labelsize=fontsize - 1, length=2, pad=1)
    ax.spines[["top", "left", "right"]].set_visible(False)
    if rows.shape[0] == 0:
        return
    distance = tree.cut(node).heights(rows)
    weights = np.ones(len(distance))
    bins = np.histogram_bin_edges(distance, bins=min(40, max(8, len(distance) // 5)))
    height = weights / (len(distance) * (bins[1] - bins[0]))
    for side, color in ((distance < 0, LEFT), (distance >= 0, RIGHT)):
        ax.hist(distance[side], bins=bins.tolist(), weights=height[side], color=color, alpha=0.55)
    bandwidth = normal_bandwidth(distance, weights, 1.06)
    if bandwidth > 0:
        along = projected_density(distance, weights, bandwidth)
        ax.plot(along.at(np.arange(len(along.density))), along.density, color=LINE, linewidth=1)
    ax.axvline(0, color=LINE, linestyle=DASHES, linewidth=1)


def _clusters_below(tree: HyperplaneTree, node: int) -> str:
    below = tree.label[node : subtree_end(tree, node)]
    first, last = below[below >= 0][[0, -1]]
    return f"cluster {first}" if first == last else f"clusters {first}–{last}"
