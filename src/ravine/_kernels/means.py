"""Means of small groups of a few rows: k-means from starts that are drawn far apart with a fixed seed.

The rows are given by their columns, so that each step is a pass over numbers that lie together. For n rows, q columns
and k means, a step costs O(n q k).
"""

import numpy as np

from ravine._kernels._compile import kernel


@kernel
def small_k_means(columns, k, n_steps, tie):
    """Return means and sizes of k groups of rows.

    A start is drawn in proportion to the squared distance from those before it, by the minimal standard generator. Half
    the squared distance of a row y from a mean m is that from the origin, plus m · m / 2 - y · m. A mean has a row only
    if it is nearer than those before it by more than `tie`.
    """
    q, n = columns.shape
    means, sizes = np.empty((k, q)), np.empty(k)
    nearest, product, group = np.empty(n), np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        nearest[i] = np.inf
    start, draw = 0, 1
    for c in range(k):
        for i in range(n):
            product[i] = 0.0
        for f in range(q):
            column, m = columns[f], columns[f, start]
            means[c, f] = m
            for i in range(n):
                product[i] += (column[i] - m) * (column[i] - m)
        total = 0.0
        for i in range(n):
            nearest[i] = min(nearest[i], product[i])
            total += nearest[i]
        draw = (draw * 16807) % 2147483647
        target, start = draw / 2147483647 * total, 0
        while start < n - 1 and target > nearest[start]:
            target -= nearest[start]
            start += 1
    for _ in range(n_steps):
        for i in range(n):
            nearest[i] = np.inf
        for c in range(k):
            half = 0.0
            for i in range(n):
                product[i] = 0.0
            for f in range(q):
                column, m = columns[f], means[c, f]
                half += 0.5 * m * m
                for i in range(n):
                    product[i] += column[i] * m
            for i in range(n):
                if half - product[i] < nearest[i] - tie:
                    nearest[i], group[i] = half - product[i], c
        for c in range(k):
            sizes[c] = 0.0
        for i in range(n):
            sizes[group[i]] += 1.0
        for c in range(k):
            for f in range(q if sizes[c] > 0.0 else 0):
                means[c, f] = 0.0
        for f in range(q):
            for i in range(n):
                means[group[i], f] += columns[f, i] / sizes[group[i]]
    return means, sizes
