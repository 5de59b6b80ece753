"""How much a cluster differs from the other rows in one column, comparable between numbers, dates and categories.

The question is the same for every column: of all conditions on this column alone, which one holds for the largest share
of the cluster beyond its share of the other rows? For categories, a condition is any set of levels, and the answer is
the total variation distance. For numbers and dates, it is a range of values or all values outside of a range, and the
answer is Kuiper's statistic: the largest difference of the two distribution functions minus the smallest. A gap is a
level, or a value between the largest and the smallest one. So 0.6 says that some condition holds for 75 % of the
cluster and 15 % of the other rows, say. Units, monotone transforms and far values do not change it.

A few rows differ by chance. What they differ by on average is subtracted, as in the adjusted Rand index.
"""

import numpy as np

from ravine.explain._table import Floats

KUIPER = np.sqrt(np.pi / 2)
"""Mean of Kuiper's statistic of n rows without a difference, times the root of n: that of the range of a Brownian
bridge."""

MOST_CHANCE = 0.9
"""Clusters of one or two rows differ from the others in everything; no more than this is put down to chance."""


def differences(counts: Floats, total: Floats, n_rows: Floats, n_others: Floats, is_ordered: bool) -> Floats:
    """Return how much each cluster differs from the other rows.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters, n_bins)
        Weight of the rows of each cluster in each bin, with the gaps last.
    total : ndarray of shape (n_bins,)
        Weight of all rows in each bin.
    n_rows, n_others : ndarray of shape (n_clusters,)
        Effective number of rows of each cluster, and of the other rows.
    is_ordered : bool
        Whether the bins are those of numbers or dates.

    Returns
    -------
    difference : ndarray of shape (n_clusters,)
        From 0, no more than by chance, to 1.
    """
    here, there = _shares(counts), _shares(np.maximum(total - counts, 0.0))
    apart = here - there
    effective = n_rows * n_others / np.maximum(n_rows + n_others, 1e-300)
    chance = _by_chance_of_levels(_shares(total[np.newaxis])[0], effective)
    if is_ordered:
        below = np.cumsum(apart[:, :-1], axis=1)
        found = np.maximum(below.max(axis=1, initial=0.0), 0.0) - np.minimum(below.min(axis=1, initial=0.0), 0.0)
        chance = np.minimum(chance, KUIPER / np.sqrt(np.maximum(effective, 1e-300)))
    else:
        found = np.abs(apart).sum(axis=1) / 2
    chance = np.minimum(chance, MOST_CHANCE)
    has_both = (n_rows > 0) & (n_others > 0)
    return np.where(has_both, np.clip((found - chance) / (1 - chance), 0.0, 1.0), 0.0)


def directions(counts: Floats, total: Floats) -> Floats:
    """Return whether the values of each cluster are higher or lower than those of the other rows, from -1 to 1.

    This is the probability that a row of the cluster has a higher value than another row, minus the probability of a
    lower one. The arguments are those of `differences`; gaps are left out.
    """
    here, there = _shares(counts[:, :-1]), _shares(np.maximum(total - counts, 0.0)[:, :-1])
    below = np.cumsum(there, axis=1)
    higher = (here * (below - there)).sum(axis=1)
    lower = (here * (below[:, -1:] - below)).sum(axis=1)
    return np.clip(higher - lower, -1.0, 1.0)


def _by_chance_of_levels(share: Floats, n_rows: Floats) -> Floats:
    """Return the mean total variation distance of rows without a difference, for each number of rows.

    The mean difference of a share p is about the root of 2 p (1 - p) / (π n). For a level that less than one row would
    have, it is about 2 p exp(-p n).
    """
    share = np.minimum(share, 1 - share)
    share = share[share > 0]
    spread = np.sqrt(2 / np.pi * share * (1 - share))
    n = np.maximum(n_rows, 1.0)[:, np.newaxis]
    rare = 2 * share * np.exp(-np.minimum(share * n, 1.0))
    return np.where(share * n < 1, rare, spread / np.sqrt(n)).sum(axis=1) / 2


def _shares(counts: Floats) -> Floats:
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
