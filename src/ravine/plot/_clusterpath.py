"""Plots of the path of a convex clustering: where rows fuse as λ grows, and the number of groups at each λ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import NullFormatter

from ravine._convex import FusionTree, clusters_that_matter
from ravine._matrix import Floats, Ints
from ravine.cluster import SumOfNorms
from ravine.plot._common import (
    COLORS,
    FAINT,
    LINE,
    LONGEST,
    MARKERS,
    MOST_NAMED,
    MOST_POINTS,
    PALE,
    RIGHT,
    columns_and_names,
    fitted_as,
    new_axes,
    written,
)
from ravine.tree import _map
from ravine.tree._text import counted, shortened

EARLY, LATE = 0.4, 1.4
"""Line widths of the first and the last fusions, in points."""

CORNERS = 16
"""Number of points of a curved line."""

INK = LinearSegmentedColormap.from_list("ink", ["#cccccc", LINE])
"""Colors of the lines, from the first fusions to the last."""

DASHES = (0, (3, 2))


def clusterpath(
    model: SumOfNorms,
    *,
    features: Sequence[str | int] | str | int | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the rows and the paths along which their centroids merge as λ grows.

    When two groups fuse, a line leads from each of them to the point where they meet. Lines are thin and light while
    there are many groups, and thick and dark when few are left. Each cluster has its own color and marker. A large
    hollow marker is the center of a cluster. With one column, the values are drawn against λ on a logarithmic axis.

    Parameters
    ----------
    model : SumOfNorms
        Model fitted with its path.
    features : one or two columns, by name or number, optional
        Columns to draw. Default: the first two.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1 and so on.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Notes
    -----
    Identical rows are one point. If there are more than 2,000 points, 2,000 of them are drawn, at even steps along the
    first column, with the lines that start at them. The paths are exact at each fusion and at the λ of the model. In
    between they are drawn as straight lines, although centroids may move along a curve.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Two half moons of rows, and lines along which the centroids of each moon merge.

        >>> from ravine import SumOfNorms, plot
        >>> from ravine.datasets import make_moons
        >>> X, y = make_moons(200, noise=0.05, random_state=0)
        >>> model = SumOfNorms().fit(X)
        >>> ax = plot.clusterpath(model)
    """
    path = _path_of(model, "clusterpath")
    columns, names = columns_and_names(model, features, feature_names)
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0} if ax is None else {"loc": "best"}
    ax = new_axes(6.5, 4.5) if ax is None else ax
    n_rows, group = path.n_points, path.labels_at(model.lam_)
    drawn = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_POINTS)).astype(np.int64))
    row = _row_of_point(model)
    halts = model.centroids_[row[np.unique(group, return_index=True)[1]]]
    place = np.concatenate([model.points_, path.centroids, halts])[:, columns]
    centers = model.cluster_centers_[:, columns]
    if len(columns) == 1:
        grid = path.lambdas if len(path.lambdas) else np.ones(1)
        at = np.clip(model.lam_, grid[0], grid[-1])
        lam = np.concatenate([np.full(n_rows, grid[0]), path.merge_lambdas, np.full(len(halts), at)])
        place, centers = np.column_stack([lam, place]), np.column_stack([np.full(len(centers), at), centers])
        ax.set_xscale("log")
        ax.axvline(at, color=LINE, linestyle=DASHES, linewidth=0.8, zorder=1)
        names = ["λ", *names]
    start, end, lateness = _ways(path, model.lam_, drawn)
    ways = np.stack([place[start], place[end]], axis=1) if len(columns) == 2 else _bent(place[start], place[end])
    widths = EARLY + (LATE - EARLY) * lateness
    ax.add_collection(LineCollection(list(ways), colors=INK(lateness), linewidths=widths, capstyle="round", zorder=3))
    _draw_clusters(ax, place[drawn], model.labels_[row[drawn]], centers, _cluster_sizes(model))
    ax.legend(frameon=False, fontsize=8, **beside)
    ax.set_xlabel(written(shortened(names[0], LONGEST)))
    ax.set_ylabel(written(shortened(names[1], LONGEST)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_in_words(model, path, len(drawn)), fontsize=10)
    return ax


def fusions(model: SumOfNorms, *, ax: Axes | None = None) -> Axes:
    """Plot the number of groups against λ: of all groups, and of groups that are large enough to count as clusters.

    The λ of the model is marked. The range of λ around it in which the clusters stay the same is shaded.

    Parameters
    ----------
    model : SumOfNorms
        Model fitted with its path.
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
        :alt: The number of groups falls from 200 to 1 as λ grows; the range with the two clusters is shaded.

        >>> from ravine import SumOfNorms, plot
        >>> from ravine.datasets import make_moons
        >>> X, y = make_moons(200, noise=0.05, random_state=0)
        >>> model = SumOfNorms().fit(X)
        >>> ax = plot.fusions(model)
    """
    path, size = _path_of(model, "fusions"), model.min_cluster_size_
    ax = new_axes(6.5, 3.4) if ax is None else ax
    n_fusions = np.searchsorted(path.merge_lambdas, path.lambdas, side="right")
    _, number, changes, is_covered = clusters_that_matter(path, model.point_weights_, size)
    ax.set(xscale="log", yscale="log", xlabel="λ", ylabel="number of groups", ylim=(0.8, 1.4 * path.n_points))
    ax.step(
        path.lambdas,
        path.n_points - n_fusions,
        where="post",
        color=FAINT,
        linestyle=DASHES,
        label="all groups",
        linewidth=1.3,
    )
    ax.step(
        path.lambdas,
        np.where(number > 0, number, np.nan)[n_fusions],
        where="post",
        color=LINE,
        linewidth=1.6,
        label=f"{_map.rows_in_words(np.ceil(size))} or more",
    )
    if len(path.lambdas) and path.lambdas[0] <= model.lam_ <= path.lambdas[-1]:
        here = path.n_fusions_at(model.lam_)
        same = np.flatnonzero((changes[n_fusions] == changes[here]) & is_covered[n_fusions])
        if is_covered[here] and number[here] > 0:
            stretch = path.lambdas[[same[0], min(same[-1] + 1, len(path.lambdas) - 1)]]
            ax.axvspan(*stretch, color=PALE, linewidth=0, zorder=0, label="same clusters")
        ax.axvline(model.lam_, color=RIGHT, linewidth=1.3, zorder=1, label="λ of the model")
    ax.set_title(_in_words(model, path, path.n_points), fontsize=10, pad=24)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, borderaxespad=0, fontsize=8)
    return ax


def _path_of(model: Any, picture: str) -> FusionTree:
    path = fitted_as(SumOfNorms, model, picture).path_
    if path is None:
        raise ValueError(f"plot.{picture} draws the path over λ, but this model has only one λ: fit it with path=True")
    return path


def _ways(path: FusionTree, lam: float, drawn: Ints) -> tuple[Ints, Ints, Floats]:
    """Start and end of each line that leads away from a drawn row, and how late it is on the path, from 0 to 1.

    Nodes are the rows, the fusions, and the groups at λ. A group at λ lies between its node and the next fusion.
    """
    n_points, n_fusions = path.n_points, len(path.children)
    fusion = n_points + np.arange(n_fusions)
    group, halted = path.groups_after(path.n_fusions_at(lam))
    halt = n_points + n_fusions + np.arange(len(halted))
    parent = np.full(n_points + n_fusions + len(halt), -1)
    parent[path.children] = fusion[:, np.newaxis]
    parent[halt], parent[halted] = parent[halted], halt
    is_drawn = np.zeros(len(parent), dtype=bool)
    is_drawn[drawn] = True
    for node, pair in zip(fusion.tolist(), path.children.tolist(), strict=True):
        is_drawn[node] = is_drawn[pair[0]] or is_drawn[pair[1]]
    is_drawn[halt[group[drawn]]] = True
    n_groups = np.concatenate([np.full(n_points, n_points), 2 * n_points - 1 - fusion, np.full(len(halt), len(halt))])
    lateness = 1.0 - np.log(n_groups) / np.log(max(n_points, 2))
    start = np.flatnonzero(is_drawn & (parent >= 0))
    start = start[np.argsort(lateness[parent[start]], kind="stable")]
    return start, parent[start], lateness[parent[start]]


def _bent(start: Floats, end: Floats) -> Floats:
    """Curves over log λ along which values are linear in λ, like the centroids of one column between fusions."""
    share = np.linspace(0.0, 1.0, CORNERS)
    lam = np.geomspace(start[:, 0], end[:, 0], CORNERS, axis=1)
    passed, whole = lam - start[:, :1], end[:, :1] - start[:, :1]
    done = np.divide(passed, whole, out=np.tile(share, (len(start), 1)), where=whole > 0)
    return np.stack([lam, start[:, 1:] + done * (end[:, 1:] - start[:, 1:])], axis=2)


def _row_of_point(model: Any) -> Ints:
    """One of the rows of `fit` that are equal to each point."""
    point = model.point_indices_
    row = np.empty(len(model.points_), dtype=np.int64)
    row[point[point >= 0]] = np.flatnonzero(point >= 0)
    return row


def _cluster_sizes(model: Any) -> Floats:
    """Total weight of the rows of each cluster."""
    sizes = np.bincount(model.labels_[_row_of_point(model)], model.point_weights_, model.n_clusters_)
    return sizes.astype(np.float64)


def _draw_clusters(ax: Axes, place: Floats, label: Ints, centers: Floats, size: Floats) -> None:
    """Draw the rows with the color and marker of their cluster, and the centers."""
    for cluster, center in enumerate(centers):
        marker, color = MARKERS[cluster % len(MARKERS)], COLORS[cluster % len(COLORS)]
        x, y = place[label == cluster].T
        ax.scatter(x, y, s=14, marker=marker, facecolor=color, linewidth=0, alpha=0.6, zorder=2)
        ax.scatter(
            center[0],
            center[1],
            s=90,
            facecolor="none",
            marker=marker,
            edgecolor=color,
            linewidth=2.0,
            zorder=4,
            label=f"cluster {cluster}, {_map.rows_in_words(size[cluster])}" if cluster < MOST_NAMED else None,
        )
    if len(centers) > MOST_NAMED:
        ax.scatter([], [], s=0, label=f"and {len(centers) - MOST_NAMED} smaller")


def _in_words(model: Any, path: FusionTree, n_drawn: int) -> str:
    """Title: the clusters, their λ, and what the plot does not show."""
    title = f"{counted(model.n_clusters_, 'cluster')} at λ = {model.lam_:.3g}"
    if not np.isnan(model.strength_):
        title += f", strength {model.strength_:.2g}"
    if n_drawn < path.n_points:
        title += f", {n_drawn:,} of {path.n_points:,} rows drawn"
    if not path.is_complete:
        n_left = path.n_points - len(path.children)
        title += f"\nthe path ends at λ = {path.lambdas[-1]:.3g} with {n_left:,} groups not yet fused"
    return title
