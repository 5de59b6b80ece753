"""Number groups by a rule that depends neither on rounding nor on how the groups were found."""

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-9
"""Means of groups count as equal if they differ by less than this share of the extent of the rows."""


def renumber(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same groups, numbered in order of appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def from_low_to_high(
    labels: NDArray[np.int64], rows: NDArray[np.float64], mass: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the same groups, numbered from low to high in the column in which their means differ most.

    If two groups have the same mean in this column, the column with the next largest difference decides; if they have
    the same mean in all columns, the group with the smallest row comes first.

    Examples
    --------
    >>> rows = np.array([[1.0, 9.0], [0.0, 5.0], [0.0, 1.0], [0.0, 0.0]])
    >>> from_low_to_high(np.array([0, 1, 2, 2]), rows, np.ones(4))
    array([2, 1, 0, 0])
    """
    low = rows.min(axis=0)
    extent = float((rows.max(axis=0) - low).max())
    order = np.lexsort(rows.T[::-1])
    ordered = renumber(labels[order])
    size = np.bincount(ordered, mass[order])
    columns = ((rows[order] - low) / (extent or 1.0)).T
    means = np.stack([np.bincount(ordered, mass[order] * column) for column in columns]) / size
    means = ((means - means.min(axis=1, keepdims=True)) / ROUNDING).round()
    widest_first = np.argsort(-means.max(axis=1), kind="stable")
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.lexsort(means[widest_first][::-1])] = np.arange(len(size))
    numbered = np.empty(len(labels), dtype=np.int64)
    numbered[order] = rank[ordered]
    return numbered
