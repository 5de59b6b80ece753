"""Sums over rows that do not depend, to the last bit, on the order or the grouping of the rows.

Every term is rounded to a multiple of one number before it is added, and the remainder to a multiple of a much smaller
number. Both sums are then exact as long as their totals stay below bounds that are known beforehand (Demmel and Nguyen
2013). Adding and subtracting a large `grid` rounds; `fine` is the ratio of the second grid to the first. Sums are
pairs, the rounded terms and the remainders, which are added at the end.

`rows` lists the rows to sum over.
"""

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.rows import dot


@inner
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
    a, b = np.empty(X.shape[1]), np.empty(X.shape[1])
    for k in range(rows.shape[0]):
        i, g = rows[k], group[k]
        for j in range(X.shape[1]):
            a[j], b[j] = _halves(w[i] * (X[i, j] - center[j]), grid[j], fine)
        for j in range(X.shape[1]):
            out[0, g, j] += a[j]
        for j in range(X.shape[1]):
            out[1, g, j] += b[j]


LOOKED_ROWS = 256
"""Number of rows that `look` projects at a time, few enough to stay in the cache."""


@kernel
def look(X, rows, w, v, origin, step, most, center, fine, grid, square_grid, cell_grid, values):
    """Run `project`, `bins` and `groups` in one pass over the rows.

    Returns the index of the first cell, which rows are in how many cells, the weights on the points, the sums over the
    cells, and Σ w value². Cells are those of a lattice, from one of its points to the next. There are no cells if there
    would be more than `most`.
    """
    d = X.shape[1]
    first, size = 0, 0
    occurs, masses, sums = np.zeros(0, np.bool_), np.zeros((2, 1)), np.zeros((2, 0, d))
    square, a, b, rest_grid = np.zeros(2), np.empty(d), np.empty(d), cell_grid * fine
    for start in range(0, rows.shape[0], LOOKED_ROWS):
        mine, p = rows[start : start + LOOKED_ROWS], values[start : start + LOOKED_ROWS]
        project(X, mine, v, origin, p)
        low, high = np.floor(np.min(p) / step), np.floor(np.max(p) / step)
        if size == 0 or low < first or high >= first + size:
            if size > 0:
                low, high = min(low, float(first)), max(high, float(first + size - 1))
            if high - low >= most:
                return first, occurs[:0], masses, sums, square
            margin = min(high - low, most - (high - low)) // 4
            old, n_old = first, size
            first, size = int(low - margin), int(high - low + 1 + 2 * margin)
            old_occurs, old_masses, old_sums = occurs, masses, sums
            occurs, masses, sums = np.zeros(size, np.bool_), np.zeros((2, size + 1)), np.zeros((2, size, d))
            if n_old > 0:
                begin = old - first
                occurs[begin : begin + n_old] = old_occurs
                masses[:, begin : begin + n_old + 1] = old_masses
                sums[:, begin : begin + n_old] = old_sums
        for k in range(mine.shape[0]):
            i = mine[k]
            floor = np.floor(p[k] / step)
            share, g = p[k] / step - floor, int(floor) - first
            occurs[g] = True
            coarse, rest = _halves(w[i] * (1.0 - share), grid, fine)
            masses[0, g] += coarse
            masses[1, g] += rest
            coarse, rest = _halves(w[i] * share, grid, fine)
            masses[0, g + 1] += coarse
            masses[1, g + 1] += rest
            coarse, rest = _halves(w[i] * p[k] * p[k], square_grid, fine)
            square[0] += coarse
            square[1] += rest
            for j in range(d):
                term = w[i] * (X[i, j] - center[j])
                a[j] = (term + cell_grid[j]) - cell_grid[j]
                b[j] = ((term - a[j]) + rest_grid[j]) - rest_grid[j]
            for j in range(d):
                sums[0, g, j] += a[j]
            for j in range(d):
                sums[1, g, j] += b[j]
    return first, occurs, masses, sums, square


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


@kernel
def rounded(X, rows, w, center, scale, out):
    """Compute out[k] = √w (x - center) · scale for the k-th of `rows`, rounded to integers."""
    for k in range(rows.shape[0]):
        i = rows[k]
        root = np.sqrt(w[i])
        for j in range(X.shape[1]):
            out[k, j] = np.rint((X[i, j] - center[j]) * root * scale[j])


@kernel
def extent(X, rows, low, high):
    """Lower `low` and raise `high` to the entries of each column; return whether there is a NaN."""
    n_strange = 0
    for i in rows:
        for j in range(X.shape[1]):
            x = X[i, j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]
            n_strange += x != x
    return n_strange > 0
