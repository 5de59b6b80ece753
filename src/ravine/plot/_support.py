"""Plot of support vector clusters in two columns: the regions of the clusters and the boundary for outliers."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy import sparse

from ravine._matrix import Bools, Floats, Ints
from ravine.cluster import SupportVectorClustering
from ravine.plot._common import (
    COLORS,
    FAINT,
    LINE,
    LONGEST,
    MARKERS,
    MOST_NAMED,
    MOST_POINTS,
    columns_and_names,
    fitted_as,
    new_axes,
    points,
    written,
)
from ravine.tree import _map
from ravine.tree._model import rows_to_show
from ravine.tree._text import counted, shortened

GRID = 200
"""Number of grid points along the longer side."""

N_LINES = 3
"""Number of contour lines above the boundary."""

MOST_VECTORS = 100
"""Largest number of support vectors that are marked by default."""

N_STYLES = len(COLORS) * len(MARKERS)
"""Number of clusters that differ in color or marker."""

HOLLOW: dict[str, Any] = {"s": 16, "facecolor": "none", "linewidth": 0.9, "zorder": 4}
"""Style of outliers."""


def support(
    model: SupportVectorClustering,
    X: ArrayLike | None = None,
    *,
    vectors: bool | None = None,
    equilibria: bool | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the rows, the region of each cluster, and the boundary beyond which rows are outliers.

    Each cluster has its own color and marker. Its region is where w is `level_` or higher. The dark line is the
    boundary, w = `offset_`. Outliers are hollow, and gray if they belong to no cluster. Thin lines are contours of w at
    even steps.

    Parameters
    ----------
    model : SupportVectorClustering
        Model fitted on two columns.
    X : array-like of shape (n_samples, 2), optional
        Rows to draw. Default: the sample of rows that the model keeps, in which identical rows are one.
    vectors : bool, optional
        Whether to mark the support vectors with rings. Default: if there are 100 or fewer.
    equilibria : bool, optional
        Whether to mark the equilibria with crosses. With a thousand support vectors, finding them may take longer than
        the fit. Default: if there are 100 support vectors or fewer.
    feature_names : sequence of str, optional
        Names of the columns. Default: the names that the estimator saw in `fit`, or x0, x1.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure. Given axes get no legend; add it with ``ax.legend()``.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    Notes
    -----
    If X has more than 2,000 rows, 2,000 of them are drawn, at even steps.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: Two half moons of rows, each in its own colored region, with a dark boundary around them.

        >>> from ravine import SupportVectorClustering, plot
        >>> from ravine.datasets import make_moons
        >>> X, y = make_moons(300, noise=0.05, random_state=0)
        >>> ax = plot.support(SupportVectorClustering().fit(X))
    """
    fitted_as(SupportVectorClustering, model, "support")
    if model.n_features_in_ != 2:
        raise ValueError(
            f"the model has {counted(model.n_features_in_, 'column')}, but plot.support needs two: fit the model on "
            "two columns, or on a projection such as PCA(2).fit_transform(X)"
        )
    _, names = columns_and_names(model, None, feature_names)
    sample = model.sample_  # after partial_fit, this finds the clusters, which the copy shares
    plain = _plain(model)
    rows = sample if X is None else _rows(model, X)
    label, is_outlier = _labeled(plain, rows)
    if model.outliers == "label":
        label = np.where(is_outlier, -1, label)
    drawn = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(np.int64))
    shown = rows[drawn], label[drawn], is_outlier[drawn]
    if X is None and not model._learned_in_batches:
        label, is_outlier = model.labels_, model.outlier_
    is_new = ax is None
    ax = new_axes(6.5, 4.5) if ax is None else ax
    ax.set_title(_in_words(model, len(drawn), is_outlier), fontsize=10)
    ax.set_xlabel(written(shortened(names[0], LONGEST)))
    ax.set_ylabel(written(shortened(names[1], LONGEST)))
    ax.spines[["top", "right"]].set_visible(False)
    _draw_rows(ax, *shown, size=np.bincount(label[label >= 0], minlength=model.n_clusters_))
    _draw_marks(ax, model, int(is_outlier.sum()), vectors, equilibria)
    if is_new:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False, fontsize=8)
        ax.figure.canvas.draw()  # sets the size of the axes next to the legend
    _draw_region(ax, plain, shown[0])
    return ax


def _rows(model: Any, X: ArrayLike) -> Floats:
    """Validate rows to draw."""
    if sparse.issparse(X):
        raise TypeError("X is sparse, but plot.support needs dense rows: pass X.toarray()")
    return np.asarray(rows_to_show(model, 2, X), dtype=np.float64)


def _plain(model: Any) -> Any:
    """A copy of the model that gives outliers their cluster too, and takes arrays without names of columns."""
    plain = copy(model).set_params(outliers="assign")
    vars(plain).pop("feature_names_in_", None)
    return plain


def _labeled(model: Any, rows: Floats) -> tuple[Ints, Bools]:
    """Cluster of each row, and whether it is an outlier."""
    if not len(rows):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
    return model.predict(rows), model.decision_function(rows) < 0


def _in_words(model: Any, n_drawn: int, is_outlier: Bools) -> str:
    """Title: the clusters, γ, the outliers, and how many rows are drawn."""
    share = is_outlier.sum() / max(len(is_outlier), 1)
    title = f"{counted(model.n_clusters_, 'cluster')}, γ = {model.gamma_:.3g}, {share:.1%} outliers"
    if len(is_outlier) > MOST_POINTS:
        title += f", {n_drawn:,} of {len(is_outlier):,} rows drawn"
    return title


def _draw_rows(ax: Axes, rows: Floats, label: Ints, is_outlier: Bools, size: Ints) -> None:
    """Draw each cluster with its color and marker. Outliers are hollow, and gray if they are in no cluster."""
    for cluster in range(min(len(size), N_STYLES)):
        marker, color = MARKERS[cluster % len(MARKERS)], COLORS[cluster % len(COLORS)]
        is_here = (label >= 0) & (label % N_STYLES == cluster)
        x, y = rows[is_here & ~is_outlier].T
        name = f"cluster {cluster}, {_map.rows_in_words(size[cluster])}" if cluster < MOST_NAMED else None
        ax.scatter(x, y, s=12, marker=marker, facecolor=color, linewidth=0, alpha=0.6, zorder=3, label=name)
        ax.scatter(*rows[is_here & is_outlier].T, marker=marker, edgecolor=color, **HOLLOW)
    ax.scatter(*rows[label < 0].T, edgecolor=FAINT, **HOLLOW)
    if len(size) > MOST_NAMED:
        ax.scatter([], [], s=0, label=f"and {len(size) - MOST_NAMED} smaller")


def _draw_marks(ax: Axes, model: Any, n_outliers: int, vectors: bool | None, equilibria: bool | None) -> None:
    """Draw what the legend lists below the clusters."""
    are_few = len(model.support_vectors_) <= MOST_VECTORS
    if n_outliers:
        ax.scatter([], [], edgecolor=FAINT, label=f"outliers, {_map.rows_in_words(n_outliers)}", **HOLLOW)
    if are_few if vectors is None else vectors:
        x, y = model.support_vectors_.T
        name = counted(len(x), "support vector")
        ax.scatter(x, y, s=34, facecolor="none", edgecolor=LINE, linewidth=0.5, zorder=5, label=name)
    if are_few if equilibria is None else equilibria:
        x, y = model.equilibria_.T
        name = "1 equilibrium" if len(x) == 1 else f"{len(x):,} equilibria"
        ax.scatter(x, y, s=36, marker="+", color=LINE, linewidth=1.1, zorder=6, label=name)
    ax.plot([], [], color=LINE, linewidth=1.0, label="boundary for outliers")


def _draw_region(ax: Axes, model: Any, rows: Floats) -> None:
    """Draw the regions of the clusters, the boundary, and contours between it and the highest point.

    Heights are those of the decision function, which is 0 at the boundary.
    """
    level = model.level_ - model.offset_
    low, high = _box(model, rows, np.array(points(ax)))
    n_points = np.maximum(GRID * (high - low) / (high - low).max(), 2).astype(np.int64)
    x, y = (np.linspace(*ends) for ends in zip(low, high, n_points, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    height = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    is_inside = height >= level
    color = np.zeros(height.shape, dtype=np.int64)
    if is_inside.any():
        color[is_inside] = model.predict(grid[is_inside]) % len(COLORS)
    for c in np.unique(color[is_inside]):
        # negative inside the other clusters: where two touch, the region of each ends half-way between grid points
        above = np.where(is_inside & (color != c), level - height, height - level)
        ax.contourf(x, y, above, levels=[0, np.inf], colors=[COLORS[c]], alpha=0.16, zorder=0)
        _draw_lines(ax, x, y, above, np.zeros(1), color=COLORS[c], width=0.6)
    _draw_lines(ax, x, y, height, np.linspace(min(level, 0.0), height.max(), N_LINES + 2)[1:-1], color=FAINT, width=0.5)
    _draw_lines(ax, x, y, height, np.zeros(1), color=LINE, width=1.0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")


def _draw_lines(ax: Axes, x: Floats, y: Floats, height: Floats, levels: Floats, color: str, width: float) -> None:
    """Draw contour lines at the levels that occur in the grid."""
    reached = levels[(levels > height.min()) & (levels < height.max())]
    if len(reached):
        ax.contour(x, y, height, levels=reached, colors=[color], linewidths=width, zorder=1)


def _box(model: Any, rows: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Two corners of a box with the shape of the axes, around the region unless that is far wider than the rows."""
    positions = np.concatenate([rows, model.support_vectors_])
    low, high = positions.min(axis=0), positions.max(axis=0)
    margin = model._result.kernel_sum.reach(min(model.level_, model.offset_))
    size = float((high - low).max())
    if size > 0:
        margin = min(margin, size / 2)
    side = shape * ((high - low + 2 * margin) / shape).max()
    return (low + high - side) / 2, (low + high + side) / 2
