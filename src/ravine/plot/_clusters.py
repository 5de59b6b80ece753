"""Plots of clusters by the distances of rows: silhouettes, and distances between the means of clusters."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine._checks import as_table
from ravine._matrix import Floats, Ints, Matrix
from ravine._sklearn import num_samples, safe_indexing
from ravine.plot._common import COLORS, FAINT, LINE, new_axes, refusal
from ravine.tree import HyperplaneTree
from ravine.tree._text import counted

MOST_ROWS = 5_000
"""Silhouettes are computed for at most this many rows, since they compare each row with all others."""

MOST_CLUSTERS, MOST_WRITTEN = 40, 12
"""Largest number of clusters that are drawn, and of clusters whose distances are written into the plot."""

GAP = 0.012
"""Space between two clusters, as a share of the rows."""


def silhouette(model: Any, X: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Plot the silhouette of each row: how much nearer it is to its own cluster than to the nearest other one.

    A silhouette is between -1 and 1. Around 0, a row lies between two clusters; below 0, it is nearer to another
    cluster on average. A dashed line marks the mean of all rows. Silhouettes are made of Euclidean distances. So they
    prefer round clusters of equal size, and depend on the units of the columns: scale them first if the units differ.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Anything that predicts clusters. Distances of a pipeline are those of the rows that its last step gets.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to draw, with the same columns as in `fit`. Of more than 5,000 rows, a random sample is drawn, the same one
        each time. Rows without a cluster, which have the label -1, are left out.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    See Also
    --------
    distances : Distances between clusters.
    stability : Whether each cluster is found again in other samples of the rows.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: The sorted silhouettes of three clusters: those of the first are high, some of the others are below 0.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris().data
        >>> ax = plot.silhouette(NCutH(n_clusters=3).fit(X), X)
    """
    n_rows = num_samples(as_table(X))
    if n_rows > MOST_ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))
        X = safe_indexing(as_table(X), drawn)
    rows, label = _rows_and_labels(model, X, "silhouette")
    clusters = np.unique(label)
    if not 2 <= len(clusters) < len(label):
        raise ValueError(
            f"these rows are {counted(len(clusters), 'cluster')} of {counted(len(label), 'row')}: silhouettes compare "
            "at least two clusters, and one of them must have two rows"
        )
    value = silhouette_samples(rows, label)
    ax = new_axes(6, min(max(2.6, 1.2 + 0.45 * len(clusters)), 9)) if ax is None else ax
    gap, bottom = GAP * len(label), 0.0
    for i, cluster in enumerate(clusters):
        own = np.sort(value[label == cluster])
        at = bottom + np.arange(len(own) + 1)
        ax.stairs(own, at, orientation="horizontal", fill=True, color=COLORS[i % len(COLORS)])
        about = f"{own.mean():.2f}, {counted(len(own), 'row')}"
        place = (1.02, bottom + len(own) / 2)
        ax.annotate(about, place, xycoords=ax.get_yaxis_transform(), va="center", fontsize=8, annotation_clip=False)
        bottom = at[-1] + gap
    sizes = np.array([(label == cluster).sum() for cluster in clusters])
    middle = np.cumsum(sizes + gap) - gap - sizes / 2
    ax.set_yticks(middle, [f"cluster {cluster}" for cluster in clusters], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.axvline(value.mean(), color=LINE, linestyle=(0, (3, 2)), linewidth=0.9)
    ax.axvline(0, color=FAINT, linewidth=0.8)
    ax.set(xlabel="silhouette", xlim=(min(-0.1, 1.05 * float(value.min())), 1), ylim=(bottom, -gap))
    of_all = f" of {n_rows:,}" if n_rows > MOST_ROWS else ""
    ax.set_title(f"Mean silhouette {value.mean():.2f}, {len(label):,}{of_all} rows", fontsize=10, loc="left")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def distances(model: Any, X: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Plot the Euclidean distance between the means of each two clusters, as a matrix of colored squares.

    Dark squares are clusters that are close to each other. Up to 12 clusters, the distances are written into the
    squares. On the diagonal is the spread of each cluster: the root mean square distance of its rows from their mean.
    Two clusters are well separated if their distance is much larger than both of their spreads.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Anything that predicts clusters. Distances of a pipeline are those of the rows that its last step gets.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows with the same columns as in `fit`. Rows without a cluster, which have the label -1, are left out.
    ax : matplotlib Axes, optional
        Axes to draw on. Default: the axes of a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the plot.

    See Also
    --------
    silhouette : How near each row is to its own cluster and to the others.
    tree : Which clusters are split last, and how deep the valley between them is.

    Examples
    --------
    .. plot::
        :include-source:
        :alt: A matrix of three by three squares with the distances between the means of three clusters.

        >>> from sklearn.datasets import load_iris
        >>> from ravine import NCutH, plot
        >>> X = load_iris().data
        >>> ax = plot.distances(NCutH(n_clusters=3).fit(X), X)
    """
    rows, label = _rows_and_labels(model, X, "distances")
    clusters = np.unique(label)
    if not len(clusters):
        raise ValueError("none of these rows belongs to a cluster: pass the rows of fit")
    means = np.array([np.asarray(rows[label == cluster].mean(axis=0)).ravel() for cluster in clusters])
    apart = cdist(means, means)
    np.fill_diagonal(apart, [_spread(rows[label == c], mean) for c, mean in zip(clusters, means, strict=True)])
    size = min(max(3.2, 1.6 + 0.45 * len(clusters)), 9)
    ax = new_axes(size + 0.9, size) if ax is None else ax
    image = ax.imshow(apart, cmap="cividis", vmin=0)
    ax.figure.colorbar(image, ax=ax, label="distance", shrink=0.85)
    ticks = np.arange(len(clusters))
    ax.set_xticks(ticks, clusters, fontsize=8)
    ax.set_yticks(ticks, [f"cluster {cluster}" for cluster in clusters], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("on the diagonal: spread of the cluster", fontsize=8)
    ax.set_title("Distances between means", fontsize=10, loc="left")
    if len(clusters) <= MOST_WRITTEN:
        for i, j in np.ndindex(apart.shape):
            color = "white" if apart[i, j] < 0.55 * apart.max() else "black"
            weight = "bold" if i == j else "normal"
            ax.text(j, i, f"{apart[i, j]:.2g}", ha="center", va="center", fontsize=8, color=color, weight=weight)
    return ax


def _spread(rows: Matrix, mean: Floats) -> float:
    """Return the root mean square distance of rows from their mean."""
    cells = rows.toarray() if sparse.issparse(rows) else rows
    return float(np.sqrt(((cells - mean) ** 2).sum(axis=1).mean()))


def _rows_and_labels(model: Any, X: Any, picture: str) -> tuple[Matrix, Ints]:
    """Return the rows that belong to a cluster, as the last step of the model gets them, and their clusters."""
    if not hasattr(model, "predict"):
        raise TypeError(refusal(model, picture, "the clusters of a fitted model with the method predict"))
    if not isinstance(model, HyperplaneTree):
        check_is_fitted(model)
    X = as_table(X)
    label = np.asarray(model.predict(X))
    rows = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X
    rows = rows.tocsr() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    is_inside = label >= 0
    clusters = len(np.unique(label[is_inside]))
    if clusters > MOST_CLUSTERS:
        raise ValueError(
            f"{clusters:,} clusters are too many for this plot: pass a model with at most {MOST_CLUSTERS}, for "
            f"instance model.cut_to({MOST_CLUSTERS})"
        )
    return rows[is_inside], label[is_inside]
