"""Means of small groups of a few rows: k-means from starts that are drawn far apart with a fixed seed.

The rows are given by their columns, so that each step is a pass over numbers that lie together. For n rows, q columns
and k means, a step costs O(n q k).
"""

import numpy as np

from ravine._kernels._compile import inner, kernel


@kernel
def small_k_means(columns, n_steps, tie, means, sizes):
    """Fill the means and sizes of groups of rows.

    A start is drawn in proportion to the squared distance from those before it, by the minimal standard generator. A
    mean has a row only if its squared distance is smaller by more than `tie` than those of the means before it.
    """
    q, n = columns.shape
    nearest, square, group = np.empty(n), np.empty(n), np.empty(n, np.int64)
    nearest[:] = np.inf
    start, draw = 0, 1
    for c in range(means.shape[0]):
        for f in range(q):
            means[c, f] = columns[f, start]
        squared_distances(columns, means[c], square)
        total = 0.0
        for i in range(n):
            nearest[i] = min(nearest[i], square[i])
            total += nearest[i]
        draw = (draw * 16807) % 2147483647
        target, start = draw / 2147483647 * total, 0
        while start < n - 1 and target > nearest[start]:
            target -= nearest[start]
            start += 1
    for _ in range(n_steps):
        nearest[:] = np.inf
        sizes[:] = 0.0
        for c in range(means.shape[0]):
            squared_distances(columns, means[c], square)
            for i in range(n):
                if square[i] < nearest[i] - tie:
                    nearest[i], group[i] = square[i], c
        for i in range(n):
            sizes[group[i]] += 1.0
        for c in range(means.shape[0]):
            for f in range(q if sizes[c] > 0.0 else 0):
                means[c, f] = 0.0
        for f in range(q):
            for i in range(n):
                means[group[i], f] += columns[f, i] / sizes[group[i]]


@inner
def squared_distances(columns, point, out):
    """Compute out[i] = Σ over f of (columns[f, i] - point[f])²."""
    out[:] = 0.0
    for f in range(columns.shape[0]):
        column, p = columns[f], point[f]
        for i in range(out.shape[0]):
            out[i] += (column[i] - p) * (column[i] - p)
