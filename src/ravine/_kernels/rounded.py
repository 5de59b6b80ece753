"""Sums over rows that are rounded to integers, so that plain sums in float64 are exact in any order.

Rows are y = (x - center) / unit, integers of at most 23 bits with their sign, stored as float32. Sums of 2³¹ such
numbers stay below 2⁵³. Positions along a direction are real numbers. The share of a row that each of its two neighbors
on a lattice gets is a multiple of 2⁻²², so that the weights on the lattice are exact, too.
"""

import numpy as np

from ravine._kernels._compile import kernel
from ravine._kernels.rows import dot

SHARE_GRID = 1.5 * 2.0**30
"""Adding and subtracting this number rounds a share to a multiple of 2⁻²²."""

LOOKED_ROWS = 256
"""Number of rows that `look` projects at a time, few enough to stay in the cache."""


@kernel
def round_rows(X, rows, center, scale, out):
    """Compute out[k] = (x - center) · scale for the k-th of `rows`, rounded to integers."""
    for k in range(rows.shape[0]):
        i = rows[k]
        for j in range(X.shape[1]):
            out[k, j] = np.rint((X[i, j] - center[j]) * scale[j])


@kernel
def project(Y, u, shift, out):
    """Compute out = y · u + shift."""
    for k in range(Y.shape[0]):
        out[k] = dot(Y[k], u) + shift


@kernel
def masses(values, step, first, out):
    """Share each value between its neighbors on a lattice; out[k] is the number of rows at step · (first + k)."""
    for i in range(values.shape[0]):
        position = values[i] / step
        before = np.floor(position)
        k = int(before) - first
        share = ((position - before) + SHARE_GRID) - SHARE_GRID
        out[k] += 1.0 - share
        out[k + 1] += share


@kernel
def look(Y, u, shift, step, most, values):
    """Run `project` and `masses`, and add up the rows in each cell of the lattice, in one pass over the rows.

    Returns the index of the first cell, the number of rows on each point, and the sums over the cells: those of y, and
    in the last column the number of rows. There are no cells if there would be more than `most`.
    """
    d = Y.shape[1]
    first, size = 0, 0
    on, sums = np.zeros(1), np.zeros((0, d + 1))
    for start in range(0, Y.shape[0], LOOKED_ROWS):
        mine, p = Y[start : start + LOOKED_ROWS], values[start : start + LOOKED_ROWS]
        project(mine, u, shift, p)
        low, high = np.floor(np.min(p) / step), np.floor(np.max(p) / step)
        if size == 0 or low < first or high >= first + size:
            if size > 0:
                low, high = min(low, float(first)), max(high, float(first + size - 1))
            if high - low >= most:
                return first, on, sums[:0]
            margin = min(high - low, most - (high - low)) // 4
            old, n_old = first, size
            first, size = int(low - margin), int(high - low + 1 + 2 * margin)
            old_on, old_sums = on, sums
            on, sums = np.zeros(size + 1), np.zeros((size, d + 1))
            for g in range(n_old):
                for j in range(d + 1):
                    sums[old - first + g, j] = old_sums[g, j]
            for g in range(n_old + 1 if n_old > 0 else 0):
                on[old - first + g] = old_on[g]
        for k in range(mine.shape[0]):
            position = p[k] / step
            before = np.floor(position)
            g = int(before) - first
            share = ((position - before) + SHARE_GRID) - SHARE_GRID
            on[g] += 1.0 - share
            on[g + 1] += share
            for j in range(d):
                sums[g, j] += mine[k, j]
            sums[g, d] += 1.0
    return first, on, sums


@kernel
def cell_sums(Y, cell, out):
    """Add up the rows in each cell, and in the last column of `out` their number."""
    d = Y.shape[1]
    for k in range(Y.shape[0]):
        for j in range(d):
            out[cell[k], j] += Y[k, j]
        out[cell[k], d] += 1.0


@kernel
def total_and_range(Y, total, low, high):
    """Add the sum of each column to `total`, lower `low` and raise `high` to its entries."""
    for k in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            y = Y[k, j]
            total[j] += y
            low[j] = y if y < low[j] else low[j]
            high[j] = y if y > high[j] else high[j]


@kernel
def partition(Y, order, is_left):
    """Move the rows on the left to the front, in place and in any order, and return their number."""
    front, back = 0, Y.shape[0]
    while True:
        while front < back and is_left[front]:
            front += 1
        while front < back and not is_left[back - 1]:
            back -= 1
        if front >= back:
            return front
        back -= 1
        order[front], order[back] = order[back], order[front]
        for j in range(Y.shape[1]):
            Y[front, j], Y[back, j] = Y[back, j], Y[front, j]
        front += 1
