"""Plot of the tree. It needs no rows: everything it shows is stored in the tree."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ravine._matrix import Floats
from ravine.plot._common import FAINT, LEFT, LINE, coarse_enough, points, tree_and_names, written
from ravine.tree import HyperplaneTree, _map
from ravine.tree._text import counted

PAGE, NARROWEST, WIDEST = 11.0, 0.36, 1.0
"""Width of a page, and narrowest and widest column, in inches."""

LEVEL, LEAST_LEVEL, TALLEST, TITLE = 0.85, 0.4, 12.0, 0.5
"""Heights in inches: a level, the smallest level, all levels together, and the title."""

TWO_LINES = 42
"""Smallest height of a level, in points, at which the label of a cut has a second line."""

FONT, SMALL_FONT, LETTER, LYING = 8, 7, 0.58, 58
"""Font sizes in points, width of a letter as a share of them, and narrowest column with horizontal leaf labels."""

MOST_CLUSTERS = 500
"""Largest number of clusters. With more, the image would be wider than image files can be."""

AREA = 500
"""Area of the circle of the root, in square points."""

THIN, THICK = 0.8, 6.0
"""Line widths for an unknown valley and for an empty one, in points."""


def tree(
    model: Any,
    *,
    n_clusters: int | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the tree, with the root on top and the clusters next to each other.

    The area of a circle shows the number of rows, and the width of a line the depth of the valley at the cut. The label
    of a cut names the one or two columns that drive the split, and the p-value of the valley if it was tested.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        A fitted model with a tree, a pipeline that ends with one, or the tree.
    n_clusters : int, optional
        Draw only the first cuts, down to this number of clusters. At most 500; more than forty are hard to read.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure, as large as the tree needs.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: A tree with two cuts and three clusters; each cut is labeled with the columns that drive the split.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris(as_frame=True).data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> ax = plot.tree(model)
    """
    tree, names = tree_and_names(model, "tree", feature_names)
    tree = coarse_enough(tree, n_clusters, MOST_CLUSTERS)
    ax = _axes_for(tree) if ax is None else ax
    column, level = _lay_out(ax, tree)
    x, y = _map.columns(tree), -tree.depth.astype(np.float64)
    area = AREA * _map.share_of_rows(tree)
    _draw_lines(ax, tree, x, y)
    for nodes, face in ((tree.cuts, ax.get_facecolor()), (tree.leaves, LEFT)):
        ax.scatter(x[nodes], y[nodes], s=area[nodes], facecolor=face, edgecolor=LINE, linewidth=0.8, zorder=2)
    _label(ax, tree, x, y, np.sqrt(area / np.pi), names, column, level)
    ax.set_title(f"{counted(tree.n_clusters, 'cluster')} in {_map.rows_in_words(tree.count[0])}", fontsize=10, pad=16)
    ax.annotate(
        _map.LEGEND, (0.5, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", ha="center", fontsize=6.5
    )
    return ax


def _axes_for(tree: HyperplaneTree) -> Axes:
    column = min(max(PAGE / tree.n_clusters, NARROWEST), WIDEST)
    n_levels = int(tree.depth.max()) + 1
    width, height = max(column * (tree.n_clusters + 0.5), 5.0), min(LEVEL * n_levels, TALLEST) + TITLE + 0.5
    return plt.figure(figsize=(width, height)).add_axes((0, 0, 1, 1 - TITLE / height))


def _lay_out(ax: Axes, tree: HyperplaneTree) -> tuple[float, float]:
    """Set the limits of the axes; return the width of a column and the height of a level in points."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    width, height = points(ax)
    column = width / (tree.n_clusters + 0.5)
    longest = max(len(line) for leaf in tree.leaves for line in _map.leaf_label(tree, leaf))
    below = 3.5 * FONT if column >= LYING else LETTER * FONT * longest
    margin = np.sqrt(AREA / np.pi)
    above, below = margin + 3 * FONT, margin + below
    n_steps = int(tree.depth.max())
    level = max((height - above - below) / max(n_steps, 1), 72 * LEAST_LEVEL)
    ax.set(xlim=(-0.75, tree.n_clusters - 0.25), ylim=(-n_steps - below / level, above / level))
    return column, level


def _draw_lines(ax: Axes, tree: HyperplaneTree, x: Floats, y: Floats) -> None:
    """Draw one line for each cut, from its left child through the cut to its right child."""
    depth = _map.depth_of_valley(tree)
    for cut in tree.cuts:
        a, b = tree.left[cut], tree.right[cut]
        ax.plot(
            [x[a], x[a], x[b], x[b]],
            [y[a], y[cut], y[cut], y[b]],
            color=FAINT,
            linewidth=THIN + (THICK - THIN) * depth[cut],
            linestyle="-" if depth[cut] > 0 else "--",
            solid_joinstyle="miter",
            solid_capstyle="butt",
            zorder=1,
        )


def _label(
    ax: Axes,
    tree: HyperplaneTree,
    x: Floats,
    y: Floats,
    radius: Floats,
    names: list[str],
    column: float,
    level: float,
) -> None:
    lies = column >= LYING
    font = FONT if lies else SMALL_FONT
    n_letters = int((2 * column - font) / (LETTER * font))
    behind = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6}
    for node in range(tree.n_nodes):
        if tree.is_leaf[node]:
            lines, gap, place = _map.leaf_label(tree, node), -radius[node] - 3, "top"
        else:
            lines, gap, place = _map.cut_label(tree, node, names, n_letters), radius[node] + 2.5, "bottom"
            lines = lines if level >= TWO_LINES else lines[:1]
        ax.annotate(
            written("\n".join(lines)),
            (x[node], y[node]),
            (0, gap),
            textcoords="offset points",
            ha="center",
            va=place,
            rotation=90 if tree.is_leaf[node] and not lies else 0,
            fontsize=font,
            linespacing=1.25,
            bbox=None if tree.is_leaf[node] else behind,
        )
