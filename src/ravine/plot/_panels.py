"""Plot of the tree as panels: the rows along the normal at each cut, and a user-defined drawing at each leaf."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ravine._matrix import Floats
from ravine.plot._common import FAINT, as_rows, coarse_enough, tree_and_names
from ravine.plot._node import draw_density
from ravine.tree import HyperplaneTree, _map
from ravine.tree._text import counted

PANEL_WIDTH, PANEL_HEIGHT = 1.35, 1.55
"""Size of the panel of a node, in inches."""

MOST_CLUSTERS = 100
"""Largest number of clusters. Each panel takes some hundredths of a second."""

DrawLeaf = Callable[[Axes, int], None]


def panels(
    model: Any,
    X: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    n_clusters: int | None = None,
    draw_leaf: DrawLeaf | None = None,
) -> Figure:
    """Plot the tree from the root down, with the density of the rows at each cut.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Rows to draw.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    n_clusters : int, optional
        Draw only the first cuts, down to this number of clusters. At most 100; more than about 20 are hard to read.
    draw_leaf : callable ``(ax, node) -> None``, optional
        Function that draws a cluster into its panel, for instance as its mean image.

    Returns
    -------
    figure : matplotlib Figure
        A new figure, as large as the tree needs.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: The tree of three clusters from the root down, with the density of the rows at each of its two cuts.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris(as_frame=True).data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> figure = plot.panels(model, X)
    """
    tree, names = tree_and_names(model, "panels", feature_names)
    rows = as_rows(model, tree, X)
    tree = coarse_enough(tree, n_clusters, MOST_CLUSTERS)
    passes = tree.decision_path(rows).tocsc()
    column = _map.columns(tree)
    n_columns, n_levels = tree.n_clusters, int(tree.depth.max()) + 1
    figure = plt.figure(figsize=(max(PANEL_WIDTH * n_columns, 4.0), PANEL_HEIGHT * n_levels + 0.5))
    top = 1 - 0.45 / figure.get_figheight()
    width, height = 1 / n_columns, top / n_levels
    _draw_edges(figure, tree, (column + 0.5) * width, top - tree.depth.astype(np.float64) * height, 0.79 * height)
    for node in range(tree.n_nodes):
        middle, upper = (column[node] + 0.5) * width, top - tree.depth[node] * height
        panel = min(0.84 * width * (1.0 if tree.is_leaf[node] else 1.5), 0.9)
        left = min(max(middle - panel / 2, 0.01), 0.99 - panel)
        ax = figure.add_axes((left, upper - 0.72 * height, panel, 0.56 * height))
        if tree.is_leaf[node]:
            _draw_leaf(ax, tree, node, draw_leaf)
        else:
            here = rows[passes.indices[passes.indptr[node] : passes.indptr[node + 1]]]
            draw_density(ax, tree, node, here, names, fontsize=7)
    title = f"{counted(tree.n_clusters, 'cluster')}, {counted(len(tree.cuts), 'cut')}, {rows.shape[0]:,} rows"
    figure.suptitle(title, fontsize=11, y=0.995, va="top")
    return figure


def _draw_edges(figure: Figure, tree: HyperplaneTree, x: Floats, y: Floats, drop: float) -> None:
    """Draw lines from `drop` below the top of the panel of a cut to the top of the panels of its children."""
    behind = figure.add_axes((0, 0, 1, 1))
    behind.set_axis_off()
    behind.set(xlim=(0, 1), ylim=(0, 1))
    for child in range(1, tree.n_nodes):
        parent = tree.parent[child]
        behind.plot([x[parent], x[child]], [y[parent] - drop, y[child]], color=FAINT, linewidth=1)


def _draw_leaf(ax: Axes, tree: HyperplaneTree, node: int, draw_leaf: DrawLeaf | None) -> None:
    title = "\n".join(_map.leaf_label(tree, node))
    ax.set_xticks([])
    ax.set_yticks([])
    if draw_leaf is None:
        ax.spines[:].set_color(FAINT)
        ax.text(0.5, 0.5, title, ha="center", va="center", fontsize=7, transform=ax.transAxes)
    else:
        draw_leaf(ax, node)
        ax.set_title(title, fontsize=7, pad=2)
