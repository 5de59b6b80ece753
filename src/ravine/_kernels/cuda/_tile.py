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
def read(X, i, j, edges):
    """Return a cell, moved to the nearer edge of its column if it is far outside."""
    x = np.float64(X[i, j])
    if edges.shape[1] > 0:
        if edges[0, j] - x > edges[2, j]:
            return edges[0, j]
        if x - edges[1, j] > edges[2, j]:
            return edges[1, j]
    return x


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
            j = t % d
            for r in range(t // d, stop - start, step):
                tile[r * width + j] = read(X, row_of(rows, start + r), j, edges)
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
