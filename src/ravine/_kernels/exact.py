"""Sums over rows that do not depend, to the last bit, on the order or the grouping of the rows.

Every term is rounded to a multiple of one number before it is added, and the remainder to a multiple of a much smaller
number. Both sums are then exact as long as their totals stay below bounds that are known beforehand (Demmel and Nguyen
2013). Adding and subtracting a large `grid` rounds; `fine` is the ratio of the second grid to the first. Sums are
pairs, the rounded terms and the remainders, which are added at the end.

`rows` lists the rows to sum over.
"""

import numpy as np

from ravine._kernels._compile import kernel
from ravine._kernels.rows import dot


@kernel
def _halves(term, grid, fine):
    coarse = (term + grid) - grid
    grid = grid * fine
    return coarse, ((term - coarse) + grid) - grid


@kernel
def moments(X, rows, w, center, fine, count_grid, grid, square_grid):
    """Return the weight of the rows, Σ w (x - center), and Σ w (x - center)² in each column."""
    count, total, square = np.zeros(2), np.zeros((2, X.shape[1])), np.zeros((2, X.shape[1]))
    for i in rows:
        a, b = _halves(w[i], count_grid, fine)
        count[0] += a
        count[1] += b
        for j in range(X.shape[1]):
            apart = X[i, j] - center[j]
            a, b = _halves(w[i] * apart, grid[j], fine)
            total[0, j] += a
            total[1, j] += b
            a, b = _halves(w[i] * apart * apart, square_grid[j], fine)
            square[0, j] += a
            square[1, j] += b
    return count, total, square


@kernel
def scatter(X, rows, w, center, fine, grid):
    """Return Σ w (x - center)(x - center)ᵀ; entries above the diagonal are 0."""
    d = X.shape[1]
    total, apart = np.zeros((2, d, d)), np.empty(d)
    for i in rows:
        for j in range(d):
            apart[j] = X[i, j] - center[j]
        for j in range(d):
            scaled = w[i] * apart[j]
            for k in range(j + 1):
                a, b = _halves(scaled * apart[k], grid[j, k], fine)
                total[0, j, k] += a
                total[1, j, k] += b
    return total


@kernel
def scatter_times(X, rows, w, center, v, fine, grid):
    """Return Σ w ((x - center) · v)(x - center)."""
    d = X.shape[1]
    total, apart = np.zeros((2, d)), np.empty(d)
    for i in rows:
        for j in range(d):
            apart[j] = X[i, j] - center[j]
        c = w[i] * dot(apart, v)
        for j in range(d):
            a, b = _halves(c * apart[j], grid[j], fine)
            total[0, j] += a
            total[1, j] += b
    return total


@kernel
def project(X, rows, v, origin, out):
    """Compute out = x · v - origin."""
    for k in range(rows.shape[0]):
        out[k] = dot(X[rows[k]], v) - origin


@kernel
def bins(values, rows, w, step, before, after, fine, grid, square_grid, out):
    """Add up the weight on the points of a lattice, shared between the neighbors of each value, and return Σ w value².

    The points are multiples of `step`; out[:, before[k]] and out[:, after[k]] are the neighbors of values[k].
    """
    square = np.zeros(2)
    for k in range(values.shape[0]):
        share = values[k] / step - np.floor(values[k] / step)
        weight = w[rows[k]]
        a, b = _halves(weight * (1.0 - share), grid, fine)
        out[0, before[k]] += a
        out[1, before[k]] += b
        a, b = _halves(weight * share, grid, fine)
        out[0, after[k]] += a
        out[1, after[k]] += b
        a, b = _halves(weight * values[k] * values[k], square_grid, fine)
        square[0] += a
        square[1] += b
    return square


@kernel
def groups(X, rows, w, center, group, fine, grid, out):
    """Add up Σ w (x - center) over groups of rows; the k-th of `rows` belongs to the group group[k]."""
    for k in range(rows.shape[0]):
        i, g = rows[k], group[k]
        for j in range(X.shape[1]):
            a, b = _halves(w[i] * (X[i, j] - center[j]), grid[j], fine)
            out[0, g, j] += a
            out[1, g, j] += b


@kernel
def pull(X, rows, w, center, v, origin, step, first, slopes, tilt, fine, grid):
    """Return Σ c (x - center), where c = w (slopes[cell of p] - tilt · p) for p = x · v - origin."""
    d = X.shape[1]
    total = np.zeros((2, d))
    last = slopes.shape[0] - 1
    for i in rows:
        p = dot(X[i], v) - origin
        m = min(max(int(np.floor(p / step) - first), 0), last)
        c = w[i] * (slopes[m] - tilt * p)
        for j in range(d):
            a, b = _halves(c * (X[i, j] - center[j]), grid[j], fine)
            total[0, j] += a
            total[1, j] += b
    return total
