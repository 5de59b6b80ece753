"""Plots of one cut: the density of its rows along the normal, and the rows themselves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from ravine._matrix import Floats, Ints, Matrix, column_deviations, project
from ravine.cuts._density import normal_bandwidth, projected_density
from ravine.cuts._principal import spread_across
from ravine.plot._common import (
    LEFT,
    LINE,
    LONGEST,
    MOST_NAMED,
    MOST_POINTS,
    RIGHT,
    new_axes,
    rows_of_cut,
    tree_and_names,
    written,
)
from ravine.tree import HyperplaneTree, _map
from ravine.tree._coarser import subtree_end
from ravine.tree._ellipses import LEVEL, PlaneEllipses, outlines
from ravine.tree._mixture import Mixture
from ravine.tree._text import shares_of_cut, shares_of_spread

DASHES = (0, (3, 2))

HALO = [withStroke(linewidth=3, foreground="white")]
"""A white rim around numbers, so that they can be read on top of rows."""


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
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
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
    ellipses: bool | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the rows of a node: their distance to the cut, and the perpendicular direction in which they vary most.

    If the tree has a mixture, an ellipse shows each cluster below the node. It has the mean and the covariance of the
    cluster in the mixture, and holds 90 % of a Gaussian cluster.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows to draw. Rows that do not reach the node are left out. At most 2,000 rows are drawn, at even steps.
    node : int, default=0
        Node of the cut, one of ``tree_.cuts``.
    ellipses : bool, optional
        Whether to draw the ellipses. Default: if the tree has a mixture, the cut is a hyperplane, and at most 12
        clusters are below the node.
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
        :alt: 100 rows left and right of the second cut, and the ellipses of two clusters, which overlap a little.

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
    mixture = _mixture_to_draw(tree, node, ellipses)
    if mixture is not None and across is not None:
        _draw_ellipses(ax, tree, mixture, node, across)
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


def _mixture_to_draw(tree: HyperplaneTree, node: int, wanted: bool | None) -> Mixture | None:
    """Return the mixture whose ellipses are drawn. Raises ValueError if they are wanted, but there are none."""
    bends = tree.surface[node] is not None
    if wanted and (tree.mixture is None or bends):
        reason = "its cut is not a hyperplane" if bends else "the tree has no mixture: see assign_labels"
        raise ValueError(f"node {node} has no ellipses, because {reason}")
    if wanted is None:
        wanted = not bends and len(_labels_below(tree, node)) <= MOST_NAMED
    return tree.mixture if wanted else None


def _draw_ellipses(ax: Axes, tree: HyperplaneTree, mixture: Mixture, node: int, across: Floats) -> None:
    """Draw the ellipses of the clusters below a node, in the colors of the two sides, with their numbers."""
    labels = _labels_below(tree, node)
    plane, origin = np.array([tree.normal[node], across]), np.array([tree.offset[node], 0.0])
    found = PlaneEllipses(mixture).of(mixture.cluster == labels[:, np.newaxis], plane, origin)
    n_left = len(_labels_below(tree, int(tree.left[node])))
    for i, (label, (x, y, *_), outline) in enumerate(zip(labels, found, outlines(found), strict=True)):
        name = f"cluster in the mixture ({LEVEL:.0%})" if i == 0 else None
        ax.plot(*outline.T, color=LEFT if i < n_left else RIGHT, linewidth=1.5, label=name)
        ax.text(x, y, str(label), ha="center", va="center", weight="bold", path_effects=HALO)


def _labels_below(tree: HyperplaneTree, node: int) -> Ints:
    label = tree.label[node : subtree_end(tree, node)]
    return label[label >= 0]


def _clusters_below(tree: HyperplaneTree, node: int) -> str:
    first, last = _labels_below(tree, node)[[0, -1]]
    return f"cluster {first}" if first == last else f"clusters {first}–{last}"
