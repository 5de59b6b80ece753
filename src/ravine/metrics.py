"""Clustering scores that the papers report and scikit-learn does not have.

There are purity, two scores of a single cut (binary V-measure and success ratio), compactness, and regret across data
sets. `contingency_scores` computes the usual scores from a table of counts, for data that does not fit in memory.
All scores cost one pass over the labels, except `compactness`, which needs every distance within a cluster.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances_chunked, v_measure_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array

__all__ = ["binary_v_measure", "compactness", "contingency_scores", "purity", "regret", "success_ratio"]


def _check_labels(labels: ArrayLike, name: str, n_rows: int | None = None) -> NDArray[Any]:
    array = check_array(labels, dtype=None, ensure_2d=False, allow_nd=True, ensure_min_samples=0, input_name=name)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} has shape {array.shape}: pass a one-dimensional array, with one label for each row")
    if n_rows not in (None, len(array)):
        raise ValueError(f"{name} has {len(array)} labels for {n_rows} rows: pass one label for each row, in row order")
    return array


def _check_label_pair(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    classes = _check_labels(labels_true, "labels_true")
    return classes, _check_labels(labels_pred, "labels_pred", len(classes))


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of rows that belong to the most common class of their cluster.

    The score is that of Zhao and Karypis (2001), as in Pham, Le and Dang, §5.2. It does not penalize a class that is
    split over several clusters.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Class and cluster of each row.

    Returns
    -------
    float
        Purity in (0, 1]; 1 if no cluster mixes classes.

    Examples
    --------
    >>> from ravine.metrics import purity
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    classes, clusters = _check_label_pair(labels_true, labels_pred)
    table = contingency_matrix(classes, clusters, sparse=True)
    return float(table.max(axis=0).sum() / len(classes))


def contingency_scores(table: ArrayLike) -> dict[str, float]:
    """Compute the usual clustering scores from a contingency table.

    Sums are computed in float64, so that counts of billions do not overflow.

    Parameters
    ----------
    table : array-like of shape (n_clusters, n_classes)
        Number of rows in each cluster and class. Empty rows and columns are ignored.

    Returns
    -------
    dict
        ``"nmi"`` (with the arithmetic mean, so that it equals the V-measure), ``"ari"``, ``"purity"``,
        ``"homogeneity"`` and ``"completeness"``, as defined by scikit-learn and `purity`.

    Examples
    --------
    >>> from ravine.metrics import contingency_scores
    >>> scores = contingency_scores([[50, 0, 0], [0, 50, 50]])
    >>> {name: round(score, 3) for name, score in scores.items()}
    {'nmi': 0.734, 'ari': 0.568, 'purity': 0.667, 'homogeneity': 0.579, 'completeness': 1.0}
    """
    counts: NDArray[np.float64] = check_array(table, dtype=np.float64, input_name="table")
    if counts.min() < 0 or not counts.sum() > 0:
        raise ValueError("table must contain counts of rows: no negative entries, and a positive total")
    clusters, classes = counts.sum(axis=1), counts.sum(axis=0)
    total = classes.sum()
    i, j = np.nonzero(counts)
    cells = counts[i, j]
    class_entropy, cluster_entropy = _entropy(classes / total), _entropy(clusters / total)
    # Each conditional entropy is summed directly: as a difference of entropies it would lose digits near 1.
    homogeneity = 1 - cells @ np.log(clusters[i] / cells) / total / class_entropy if class_entropy > 0 else 1.0
    completeness = 1 - cells @ np.log(classes[j] / cells) / total / cluster_entropy if cluster_entropy > 0 else 1.0
    homogeneity, completeness = max(float(homogeneity), 0.0), max(float(completeness), 0.0)
    both = homogeneity + completeness
    return {
        "nmi": 2 * homogeneity * completeness / both if both > 0 else 0.0,
        "ari": _adjusted_rand(cells, clusters, classes, total),
        "purity": float(counts.max(axis=1).sum() / total),
        "homogeneity": homogeneity,
        "completeness": completeness,
    }


def _entropy(shares: NDArray[np.float64]) -> float:
    shares = shares[shares > 0]
    return float(-(shares @ np.log(shares))) if len(shares) > 1 else 0.0


def _adjusted_rand(
    cells: NDArray[np.float64], clusters: NDArray[np.float64], classes: NDArray[np.float64], total: float
) -> float:
    together, in_clusters, in_classes = (float(n @ (n - 1)) for n in (cells, clusters, classes))
    if together == in_clusters == in_classes:
        return 1.0
    by_chance = in_clusters * in_classes / (total * (total - 1))
    return float((together - by_chance) / ((in_clusters + in_classes) / 2 - by_chance))


def _aggregate(labels_true: ArrayLike, labels_pred: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return, for each row, the side of the cut that has most of its class, and the side of the row itself."""
    classes, clusters = _check_label_pair(labels_true, labels_pred)
    sides, side = np.unique(clusters, return_inverse=True)
    if len(sides) > 2:
        raise ValueError(
            f"labels_pred has {len(sides)} values, but a binary partition has at most two: "
            "score the cuts of a tree one at a time, or use sklearn.metrics.v_measure_score"
        )
    _, class_of_row = np.unique(classes, return_inverse=True)
    on_second = np.bincount(class_of_row, weights=side)
    on_first = np.bincount(class_of_row) - on_second
    second_is_smaller = 2 * side.sum() < len(side)
    to_second = (on_second > on_first) | (second_is_smaller & (on_second == on_first))
    return to_second.astype(np.intp)[class_of_row], side


def binary_v_measure(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the V-measure of one cut, after merging the classes on each side.

    The score is that of Hofmeyr, *Projection methods for clustering* (thesis), ch. 2 §5.1. A class is assigned to the
    side that has most of its rows. A tie goes to the smaller side, and between sides of equal size to the side whose
    label sorts first.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Class of each row; any number of classes.
    labels_pred : array-like of shape (n_samples,)
        Side of the cut on which each row lies; at most two values.

    Returns
    -------
    float
        Score in [0, 1]; 1 if the cut splits no class, 0 if all classes have their majority on the same side.

    Examples
    --------
    >>> from ravine.metrics import binary_v_measure
    >>> binary_v_measure(["a", "a", "b", "b", "c"], [0, 0, 1, 1, 1])
    1.0
    >>> binary_v_measure(["a", "a", "a", "b", "b", "b"], [0, 0, 1, 0, 0, 1])
    0.0
    """
    merged, side = _aggregate(labels_true, labels_pred)
    # v_measure_score gives 1 to one class in one cluster; a cut that separates nothing scores 0 here.
    return float(v_measure_score(merged, side)) if np.ptp(merged) else 0.0


def success_ratio(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the success ratio of one cut: correctly separated rows, relative to these plus the misplaced rows.

    The score is that of Hofmeyr, *Projection methods for clustering* (thesis), eq. 2.27–2.29. Ties are resolved as in
    `binary_v_measure`. If all classes have their majority on one side, eq. 2.28 as printed is positive, but the text
    below it says zero. This function returns zero.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Class of each row; any number of classes.
    labels_pred : array-like of shape (n_samples,)
        Side of the cut on which each row lies; at most two values.

    Returns
    -------
    float
        Score in [0, 1]; 1 if the cut splits no class, 0 if all classes have their majority on the same side.

    Examples
    --------
    >>> from ravine.metrics import success_ratio
    >>> success_ratio(["a", "a", "a", "b", "b", "c"], [0, 0, 1, 1, 1, 1])
    0.6666666666666666
    """
    merged, side = _aggregate(labels_true, labels_pred)
    if not np.ptp(merged):
        return 0.0
    table = contingency_matrix(merged, side)
    success = table.max(axis=0).min()
    error = len(side) - np.trace(table)  # the other sum of eq. 2.27 is never smaller, as classes follow their majority
    return float(success / (success + error))


def compactness(X: ArrayLike, labels: ArrayLike) -> float:
    """Compute the average distance between two rows of the same cluster, averaged over the rows.

    The score is that of Pham, Le and Dang, §5.2, with the sum over unordered pairs. Smaller is better. A cluster with
    one row adds 0.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The clustered rows.
    labels : array-like of shape (n_samples,)
        Cluster of each row. Every value is a cluster, including -1: remove noise rows beforehand.

    Returns
    -------
    float
        Compactness in the units of `X`. The time grows with the square of the largest cluster, the memory only with
        `n_samples`.

    Examples
    --------
    >>> from ravine.metrics import compactness
    >>> compactness([[0.0], [2.0], [7.0], [7.0]], [0, 0, 1, 1])
    1.0
    """
    data: NDArray[Any] = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    _, cluster = np.unique(_check_labels(labels, "labels", len(data)), return_inverse=True)
    ends = np.cumsum(np.bincount(cluster))
    total = 0.0
    for rows in np.split(np.argsort(cluster), ends[:-1]):
        if len(rows) > 1:
            # Centered, so that the squared distances of scikit-learn lose no digits to a distant origin.
            members = data[rows] - data[rows].mean(axis=0)
            chunks = pairwise_distances_chunked(members, reduce_func=_row_sums, working_memory=64)
            total += sum(float(sums.sum()) for sums in chunks) / (len(rows) - 1)
    return total / len(data)


def _row_sums(distances: NDArray[Any], start: int) -> NDArray[Any]:
    return distances.sum(axis=1, dtype=np.float64)


def regret(scores: ArrayLike, *, normalize: bool = False) -> NDArray[np.float64]:
    """Compute how far each method is behind the best method on the same data set.

    The measure is that of Hofmeyr, *Incremental estimation of low-density separating hyperplanes*, §4.1.1 and Figure 2.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Score of each method on each data set; larger is better. NaN if a method did not finish.
    normalize : bool, default=False
        Whether to scale each row to [0, 1], so that the worst method that finished has regret 1. A row in which all
        methods are equal stays 0.

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)
        Best score of the row minus the score; NaN if the score is NaN.

    Examples
    --------
    >>> from ravine.metrics import regret
    >>> regret([[0.5, 0.75, 0.25], [1.0, float("nan"), 1.0]], normalize=True)
    array([[0.5, 0. , 1. ],
           [0. , nan, 0. ]])
    """
    score = check_array(scores, dtype=np.float64, ensure_all_finite="allow-nan", input_name="scores")
    # fmax ignores NaN and, unlike nanmax, does not warn of a row that is all NaN.
    behind: NDArray[np.float64] = np.fmax.reduce(score, axis=1, keepdims=True) - score
    if not normalize:
        return behind
    worst = np.fmax.reduce(behind, axis=1, keepdims=True)
    return np.divide(behind, worst, out=behind.copy(), where=worst > 0)
