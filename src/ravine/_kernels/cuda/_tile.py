"""What all passes over rows on a CUDA device share: a tile of whole rows in the memory of a block of threads.

Device memory is read once per pass: a block copies rows to its tile, where a thread per row projects them, or a thread
per column adds them up. These functions do not use `cuda`, but get the number of the thread: the simulator of Numba
replaces `cuda` in a single module at a time.
"""

import math

import numpy as np
from numba import cuda

THREADS = 128
"""Largest number of threads in a block, and the usual one."""

TILE = 4160
"""Number of values in a tile; a row of `d` columns takes `d | 1` of them, so that threads read different banks."""


@cuda.jit(device=True)
def row_of(rows, k):
    return np.int64(rows[k]) if rows.shape[0] > 0 else np.int64(k)


@cuda.jit(device=True)
def moved_in(cell, j, edges):
    x = np.float64(cell)
    if edges.shape[1] > 0:
        if edges[0, j] - x > edges[2, j]:
            return edges[0, j]
        if x - edges[1, j] > edges[2, j]:
            return edges[1, j]
    return x


@cuda.jit(device=True)
def read(X, i, j, edges):
    """Return a cell, moved to the nearer edge of its column if it is far outside."""
    return moved_in(X[i, j], j, edges)


@cuda.jit(device=True)
def read_four(X, rows, k, step, j, edges):
    """Return the cells of a column in four rows, `step` apart: a thread waits for memory once, not four times."""
    i0, i1, i2, i3 = row_of(rows, k), row_of(rows, k + step), row_of(rows, k + 2 * step), row_of(rows, k + 3 * step)
    x0, x1, x2, x3 = X[i0, j], X[i1, j], X[i2, j], X[i3, j]
    return moved_in(x0, j, edges), moved_in(x1, j, edges), moved_in(x2, j, edges), moved_in(x3, j, edges)


@cuda.jit(device=True)
def coarse(term, grid):
    return (term + grid) - grid


@cuda.jit(device=True)
def rint(x):
    """Round to the nearest integer, ties to the even one, as `np.rint`, which devices do not have."""
    large = math.copysign(2.0**52, x)
    return (x + large) - large if abs(x) < 2.0**52 else x


@cuda.jit(device=True)
def rows_in_tile(n_columns, n_threads):
    """Return the number of rows in a tile, at most one for each thread."""
    return min(n_threads, TILE // (n_columns | 1))


@cuda.jit(device=True)
def load(X, edges, rows, start, stop, tile, t, n_threads):
    """Copy rows to the tile; neighboring threads read neighboring columns."""
    d = X.shape[1]
    width = d | 1
    if d <= n_threads:
        step = n_threads // d
        if t < step * d:
            j, r = t % d, t // d
            while r + 3 * step < stop - start:
                a, b, c, e = read_four(X, rows, start + r, step, j, edges)
                tile[r * width + j], tile[(r + step) * width + j] = a, b
                tile[(r + 2 * step) * width + j], tile[(r + 3 * step) * width + j] = c, e
                r += 4 * step
            while r < stop - start:
                tile[r * width + j] = read(X, row_of(rows, start + r), j, edges)
                r += step
    else:
        for r in range(stop - start):
            i = row_of(rows, start + r)
            for j in range(t, d, n_threads):
                tile[r * width + j] = read(X, i, j, edges)


@cuda.jit(device=True)
def position(tile, r, d, v):
    """Return the product of row r of the tile with a vector."""
    begin, s = r * (d | 1), 0.0
    for j in range(d):
        s += tile[begin + j] * v[j]
    return s
