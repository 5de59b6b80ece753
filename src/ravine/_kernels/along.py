"""Rows of a large node along a direction, block by block: their range, their weights on a grid, and the gradient.

Also the rows nearest to given positions, found without sorting. Every kernel reads each row, or each value, once.
"""

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.density import add_linear
from ravine._kernels.exact import _halves
from ravine._kernels.rows import dot, fingerprint_of

REMEMBERED = 4
"""Number of values of a cell whose smallest fingerprint `rows_at_distance` remembers."""


@kernel
def project_centered(X, w, v, origin, values, block_rows, out):
    """Compute values[i] = X[i] · v - origin, and a line of `out` for each block of so many rows.

    A line has the minimum and the maximum of the values, Σ w values² and Σ w.
    """
    for k in range(out.shape[0]):
        low, high, square, count = np.inf, -np.inf, 0.0, 0.0
        for i in range(k * block_rows, min((k + 1) * block_rows, X.shape[0])):
            p = dot(X[i], v) - origin
            values[i] = p
            low, high = min(low, p), max(high, p)
            square += w[i] * p * p
            count += w[i]
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = low, high, square, count


@kernel
def masses(values, w, low, step, n_points, block_rows):
    """Return the weights of each block of values on the grid points low, low + step, …; see `density.bin_linear`."""
    n_blocks = (values.shape[0] + block_rows - 1) // block_rows
    out = np.zeros((n_blocks, n_points))
    for block in range(n_blocks):
        start, stop = block * block_rows, min((block + 1) * block_rows, values.shape[0])
        add_linear(values[start:stop], w[start:stop], low, step, out[block])
    return out


@kernel
def pull(X, w, values, low, step, slopes, tilt, block_rows):
    """Return Σ c x and Σ c of each block, where c = w (slope of the cell of the row's value - tilt · value).

    The cells begin at low, low + step, … The last number of a line is Σ c.
    """
    d, last = X.shape[1], slopes.shape[0] - 1
    n_blocks = (X.shape[0] + block_rows - 1) // block_rows
    out = np.zeros((n_blocks, d + 1))
    for block in range(n_blocks):
        total = out[block]
        for i in range(block * block_rows, min((block + 1) * block_rows, X.shape[0])):
            cell = min(max(int((values[i] - low) / step), 0), last)
            c, x = w[i] * (slopes[cell] - tilt * values[i]), X[i]
            for j in range(d):
                total[j] += c * x[j]
            total[d] += c
    return out


@kernel
def exact_masses(values, w, step, first, fine, grid, out):
    """Add the weights of values to the points step · (first + k), in exact pairs; see `ravine._kernels.exact.bins`."""
    for i in range(values.shape[0]):
        position = values[i] / step
        before = np.floor(position)
        k, share = int(before) - first, position - before
        a, b = _halves(w[i] * (1.0 - share), grid, fine)
        out[0, k] += a
        out[1, k] += b
        a, b = _halves(w[i] * share, grid, fine)
        out[0, k + 1] += a
        out[1, k + 1] += b


@kernel
def index_positions(positions, low, scale, n_buckets):
    """Return where each bucket of a line begins in sorted positions; a bucket is int((position - low) · scale)."""
    starts = np.zeros(n_buckets + 1, np.int64)
    for k in range(positions.shape[0]):
        starts[_bucket(positions[k], low, scale, n_buckets) + 1] += 1
    for g in range(n_buckets):
        starts[g + 1] += starts[g]
    return starts


@inner
def _bucket(value, low, scale, n_buckets):
    return min(max(int((value - low) * scale), 0), n_buckets - 1)


@inner
def _cell(value, positions, starts, low, scale):
    """Return the number of positions that do not exceed the value."""
    g = _bucket(value, low, scale, starts.shape[0] - 1)
    a, b = starts[g], starts[g + 1]
    while a < b:
        middle = (a + b) // 2
        if positions[middle] <= value:
            a = middle + 1
        else:
            b = middle
    return a


@kernel
def cell_extremes(values, positions, starts, low, scale, cells):
    """Set the cell of each value, the number of sorted positions that do not exceed it; return extremes of the cells.

    These are the smallest and the largest value, in two rows: infinity and minus infinity for an empty cell.
    """
    extremes = np.empty((2, positions.shape[0] + 1))
    for k in range(positions.shape[0] + 1):
        extremes[0, k], extremes[1, k] = np.inf, -np.inf
    for i in range(values.shape[0]):
        k = _cell(values[i], positions, starts, low, scale)
        cells[i] = k
        extremes[0, k] = min(extremes[0, k], values[i])
        extremes[1, k] = max(extremes[1, k], values[i])
    return extremes


@kernel
def rows_at_distance(
    X, rows, values, cells, extremes, positions, distance, first_before, end_after, unit, numbers, factors, salt
):
    """For each position, find the row with the smallest fingerprint among those at the distance of the nearest row.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    rows, values, cells : ndarray of shape (n_values,)
        Some rows, their values, and the cells of `cell_extremes`.
    extremes : ndarray of shape (2, n_positions + 1)
    positions, distance : ndarray of shape (n_positions,)
        Distances are in whole units.
    first_before, end_after : ndarray of shape (n_positions + 1,)
        The cell c is the nearest one with rows after the positions from first_before[c] to c - 1, and the nearest one
        before the positions from c to end_after[c] - 1.
    unit : float
    numbers : ndarray of shape (n_samples,) or (0,)
        Fingerprints of all rows, if they are known.
    factors, salt
        See `ravine._matrix.fingerprint_factors`.

    Returns
    -------
    row, number : ndarray of shape (n_positions,)
        The row is -1 if none of these rows is at the distance.
    """
    n = positions.shape[0]
    row, number = np.full(n, -1), np.zeros(n, np.uint64)
    # Many rows may have one value, and many positions may be near it: of these rows, few have to be compared.
    known, smallest = np.full((n + 1, REMEMBERED), np.nan), np.zeros((n + 1, REMEMBERED), np.uint64)
    for i in range(values.shape[0]):
        x, c = values[i], cells[i]
        is_first, is_last = x - extremes[0, c] <= 2.0 * unit, extremes[1, c] - x <= 2.0 * unit
        if not (is_first or is_last):
            continue
        h = numbers[rows[i]] if numbers.shape[0] > 0 else fingerprint_of(X, rows[i], factors, salt)
        slot = 0
        while slot < REMEMBERED - 1 and known[c, slot] != x and known[c, slot] == known[c, slot]:
            slot += 1
        if known[c, slot] == x and smallest[c, slot] <= h:
            continue
        known[c, slot], smallest[c, slot] = x, h
        begin, end = first_before[c] if is_first else c, end_after[c] if is_last else c
        while begin > 0 and np.rint(abs(x - positions[begin - 1]) / unit) <= distance[begin - 1]:
            begin -= 1  # other positions that are nearer to each other than a unit
        while end < n and np.rint(abs(x - positions[end]) / unit) <= distance[end]:
            end += 1
        for k in range(begin, end):
            if np.rint(abs(x - positions[k]) / unit) == distance[k] and (row[k] < 0 or h < number[k]):
                row[k], number[k] = rows[i], h
    return row, number
