"""Pictures of a fitted tree, drawn with matplotlib from the attributes that a user can read.

A tree keeps no rows, so the rows to draw are given; those of `fit` or any others with the same columns.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ravine.cuts.density import normal_bandwidth, projected_density
from ravine.matrix import Floats, Matrix, project
from ravine.tree import HyperplaneTree

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("pictures need matplotlib: pip install 'ravine[plot]'") from error

LEFT, RIGHT, LINE, FAINT = "#4477aa", "#ee7733", "#222222", "#aaaaaa"
"""Two hues that differ for the colour-blind too; the cut between them is a line, so colour never speaks alone."""

PANEL_WIDTH, PANEL_HEIGHT = 1.35, 1.55
"""Inches of one node."""

DrawLeaf = Callable[[Axes, int], None]


def tree(
    model: Any,
    X: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    n_clusters: int | None = None,
    draw_leaf: DrawLeaf | None = None,
) -> Figure:
    """Draw the tree from the root down: at each cut, the rows along its normal.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows to draw.
    feature_names : sequence of str, optional
        Default: the names that the estimator saw in `fit`, or x0, x1, …
    n_clusters : int, optional
        Draw only the first cuts, down to so many clusters. More than some twenty are hard to read.
    draw_leaf : callable ``(axes, node) -> None``, optional
        Draws what a cluster looks like into its panel, for instance its mean image.

    Returns
    -------
    figure : matplotlib Figure
    """
    tree, rows, names = _unpack(model, X, feature_names)
    if n_clusters is not None:
        tree = tree.cut_to(n_clusters)
    passes = tree.decision_path(rows).tocsc()
    column = _columns(tree)
    n_columns, n_levels = tree.n_clusters, int(tree.depth.max()) + 1
    figure = plt.figure(figsize=(max(PANEL_WIDTH * n_columns, 4.0), PANEL_HEIGHT * n_levels + 0.5))
    top = 1 - 0.45 / figure.get_figheight()
    width, height = 1 / n_columns, top / n_levels
    _draw_edges(figure, tree, (column + 0.5) * width, top - tree.depth * height, 0.79 * height)
    for node in range(tree.n_nodes):
        middle, upper = (column[node] + 0.5) * width, top - tree.depth[node] * height
        panel = min(0.84 * width * (1.0 if tree.is_leaf[node] else 1.5), 0.9)
        left = min(max(middle - panel / 2, 0.01), 0.99 - panel)
        axes = figure.add_axes((left, upper - 0.72 * height, panel, 0.56 * height))
        here = rows[passes.indices[passes.indptr[node] : passes.indptr[node + 1]]]
        if tree.is_leaf[node]:
            _draw_leaf(axes, tree, node, draw_leaf)
        else:
            _draw_cut(axes, tree, node, here, names)
    title = f"{tree.n_clusters} clusters, {len(tree.cuts)} cuts, {rows.shape[0]:,} rows"
    figure.suptitle(title, fontsize=11, y=0.995, va="top")
    return figure


def node(
    model: Any,
    X: ArrayLike,
    node: int,
    *,
    feature_names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw one cut: histogram and density of the node's rows along the normal, and the place of the cut.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
    X : array-like or CSR matrix of shape (n_rows, n_features)
        Rows to draw; those that do not reach the node are left out.
    node : int
        A node that is cut, one of ``tree_.cuts``.
    feature_names : sequence of str, optional
    axes : matplotlib Axes, optional
    """
    tree, rows, names = _unpack(model, X, feature_names)
    if node not in tree.cuts:
        raise ValueError(f"node {node} is not a cut; the cuts are {tree.cuts.tolist()}")
    here = rows[np.flatnonzero(tree.decision_path(rows)[:, [node]].toarray()[:, 0])]
    axes = plt.figure(figsize=(5, 3)).add_subplot() if axes is None else axes
    _draw_cut(axes, tree, node, here, names)
    axes.set_xlabel("distance to the cut")
    return axes


def _unpack(model: Any, X: Any, feature_names: Sequence[str] | None) -> tuple[HyperplaneTree, Matrix, list[str]]:
    tree: HyperplaneTree = getattr(model, "tree_", model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(tree.n_features)])
    rows = X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    return tree, rows, [str(name) for name in feature_names]


def _columns(tree: HyperplaneTree) -> Floats:
    """Horizontal place of each node: leaves side by side, a cut midway between its children."""
    column = tree.label.astype(np.float64)
    for node in tree.cuts[::-1]:
        column[node] = (column[tree.left[node]] + column[tree.right[node]]) / 2
    return column


def _draw_edges(figure: Figure, tree: HyperplaneTree, x: NDArray[Any], y: NDArray[Any], drop: float) -> None:
    """Lines from below a cut's panel, `drop` under its top, to the top of its children's."""
    behind = figure.add_axes((0, 0, 1, 1))
    behind.set_axis_off()
    behind.set(xlim=(0, 1), ylim=(0, 1))
    for child in range(1, tree.n_nodes):
        parent = tree.parent[child]
        behind.plot([x[parent], x[child]], [y[parent] - drop, y[child]], color=FAINT, linewidth=1)


def _draw_cut(axes: Axes, tree: HyperplaneTree, node: int, rows: Matrix, names: list[str]) -> None:
    carriers = ", ".join(names[j] for j in np.argsort(-np.abs(tree.normal[node]))[:2])
    evidence = f", p = {tree.p_value[node]:.1g}" if tree.p_value[node] < 1 else ""
    axes.set_title(f"node {node}: {rows.shape[0]:,} rows{evidence}\n{carriers}", fontsize=7, pad=2)
    axes.set_yticks([])
    axes.tick_params(labelsize=6, length=2, pad=1)
    axes.spines[["top", "left", "right"]].set_visible(False)
    if rows.shape[0] == 0:
        return
    distance = project(rows, tree.normal[node]) - tree.offset[node]
    weights = np.ones(len(distance))
    bins = np.histogram_bin_edges(distance, bins=min(40, max(8, len(distance) // 5)))
    height = weights / (len(distance) * (bins[1] - bins[0]))
    for side, colour in ((distance < 0, LEFT), (distance >= 0, RIGHT)):
        axes.hist(distance[side], bins=bins.tolist(), weights=height[side], color=colour, alpha=0.55)
    bandwidth = normal_bandwidth(distance, weights, 1.06)
    if bandwidth > 0:
        along = projected_density(distance, weights, bandwidth)
        axes.plot(along.at(np.arange(len(along.density))), along.density, color=LINE, linewidth=1)
    axes.axvline(0, color=LINE, linestyle=(0, (3, 2)), linewidth=1)


def _draw_leaf(axes: Axes, tree: HyperplaneTree, node: int, draw_leaf: DrawLeaf | None) -> None:
    title = f"cluster {tree.label[node]}\n{tree.count[node]:,.10g} rows"
    axes.set_xticks([])
    axes.set_yticks([])
    if draw_leaf is None:
        axes.spines[:].set_color(FAINT)
        axes.text(0.5, 0.5, title, ha="center", va="center", fontsize=7, transform=axes.transAxes)
    else:
        draw_leaf(axes, node)
        axes.set_title(title, fontsize=7, pad=2)
