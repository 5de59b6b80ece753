"""How well the clusters of one partition of some rows are found again in another: Jaccard overlaps and matches.

The Jaccard overlap of two clusters is the number of rows in both, divided by the number of rows in at least one of
them. All of it comes from one table of counts, so the cost is one pass over the labels. A negative label marks a row in
no cluster.
"""

from dataclasses import dataclass

import numpy as np

from ravine._matrix import Floats, Ints

NO_MATCH = -2
"""Match of a cluster if the other partition has no cluster at all; differs from -1, the position of a row in none."""


@dataclass(frozen=True)
class Overlap:
    """Overlap of the clusters of a reference with those of another partition of the same rows.

    Parameters
    ----------
    jaccard : ndarray of shape (n_clusters,)
        For each cluster of the reference, the largest overlap with a cluster of the other partition. NaN if the
        cluster has no weight among the rows.
    match : ndarray of shape (n_clusters,)
        The cluster with this overlap; of several, the first.
    together : ndarray of shape (n_clusters, n_clusters)
        Probability that a row of one cluster and a row of another are in the same cluster of the other partition.
    """

    jaccard: Floats
    match: Ints
    together: Floats


def positions(labels: Ints) -> tuple[Ints, Ints]:
    """Return the sorted labels of the clusters, and the position in them of the label of each row, or -1.

    Examples
    --------
    >>> positions(np.array([4, -1, 2, 4]))
    (array([2, 4]), array([ 1, -1,  0,  1]))
    """
    values, position = np.unique(labels, return_inverse=True)
    n_outside = int(np.searchsorted(values, 0))
    return values[n_outside:], np.maximum(position - n_outside, -1)


def overlap(reference: Ints, n_clusters: int, found: Ints, n_found: int, weights: Floats) -> Overlap:
    """Compare two partitions of the same rows, given the position of each row's cluster, or -1.

    Examples
    --------
    >>> rows = overlap(np.array([0, 0, 0, 1, 1]), 2, np.array([0, 0, 1, 1, 1]), 2, np.ones(5))
    >>> rows.jaccard.round(2), rows.match
    (array([0.67, 0.67]), array([0, 1]))
    """
    cell = (reference + 1) * (n_found + 1) + found + 1  # the first row and column are those of rows in no cluster
    table = np.bincount(cell, weights, (n_clusters + 1) * (n_found + 1)).reshape(n_clusters + 1, n_found + 1)
    size, found_size, both = table.sum(axis=1)[1:], table.sum(axis=0)[1:], table[1:, 1:]
    has_weight = size > 0
    jaccard = np.where(has_weight, 0.0, np.nan)
    match = np.full(n_clusters, NO_MATCH)
    if n_found:
        either = size[:, np.newaxis] + found_size - both
        share = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
        match = share.argmax(axis=1)
        jaccard[has_weight] = share.max(axis=1)[has_weight]
    part = np.full_like(both, np.nan)
    part[has_weight] = both[has_weight] / size[has_weight, np.newaxis]
    return Overlap(jaccard, match, np.einsum("ij,kj->ik", part, part))
