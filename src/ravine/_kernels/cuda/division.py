"""Divides lists of rows on a CUDA device, and copies rows; one pass over the rows, or over their numbers.

The lists keep their order. So they do not depend on which blocks of threads finish first.
"""

import numpy as np
from numba import cuda

from ravine._kernels.cuda._tile import THREADS, TILE, load, position, read, row_of, rows_in_tile

SPAN = 1024
"""Number of rows that a block divides."""


@cuda.jit
def sides(X, edges, rows, n, normal, offset, is_left, counts):
    """Set whether each row lies on the left of a cut, and the number of these among each `SPAN` rows."""
    tile = cuda.shared.array(TILE, np.float64)
    found = cuda.shared.array(THREADS, np.int32)
    d, t = X.shape[1], cuda.threadIdx.x
    size, n_left = rows_in_tile(d, cuda.blockDim.x), 0
    end = min((cuda.blockIdx.x + 1) * SPAN, n)
    for start in range(cuda.blockIdx.x * SPAN, end, size):
        stop = min(start + size, end)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            left = position(tile, t, d, normal) < offset
            is_left[start + t] = left
            n_left += left
        cuda.syncthreads()
    found[t] = n_left
    cuda.syncthreads()
    if t == 0:
        for k in range(1, cuda.blockDim.x):
            n_left += found[k]
        counts[cuda.blockIdx.x] = n_left


@cuda.jit
def equals(values, number, is_left, counts):
    """Set whether each value is the given number, and how many are among each `SPAN` values."""
    found = cuda.shared.array(THREADS, np.int32)
    t, n_found = cuda.threadIdx.x, 0
    end = min((cuda.blockIdx.x + 1) * SPAN, values.shape[0])
    for k in range(cuda.blockIdx.x * SPAN + t, end, cuda.blockDim.x):
        is_left[k] = values[k] == number
        n_found += values[k] == number
    found[t] = n_found
    cuda.syncthreads()
    if t == 0:
        for k in range(1, cuda.blockDim.x):
            n_found += found[k]
        counts[cuda.blockIdx.x] = n_found


@cuda.jit
def partition(rows, n, is_left, starts, left, right):
    """Copy the rows to `left` or `right`, in their order; starts[b] are on the left before the b-th `SPAN` rows.

    `right` may be empty: then only those on the left are copied.
    """
    before = cuda.shared.array(THREADS, np.int32)
    t, begin = cuda.threadIdx.x, cuda.blockIdx.x * SPAN
    share = -(-SPAN // cuda.blockDim.x)
    mine, end = begin + t * share, min(begin + (t + 1) * share, begin + SPAN, n)
    n_left = 0
    for k in range(mine, end):
        n_left += is_left[k]
    before[t] = n_left
    cuda.syncthreads()
    at_left = starts[cuda.blockIdx.x]
    for k in range(t):
        at_left += before[k]
    at_right = mine - at_left
    for k in range(mine, end):
        if is_left[k]:
            left[at_left] = row_of(rows, k)
            at_left += 1
        else:
            if right.shape[0] > 0:
                right[at_right] = row_of(rows, k)
            at_right += 1


@cuda.jit
def gather(X, edges, rows, out):
    """Compute out[k] = X[rows[k]], or X[k] if there are no `rows`."""
    d = X.shape[1]
    for k in range(cuda.grid(1), out.shape[0] * d, cuda.gridsize(1)):
        out[k // d, k % d] = read(X, row_of(rows, k // d), k % d, edges)


@cuda.jit
def gather_values(values, step, rows, out):
    """Compute out[k] = values[rows[k] * step], or values[k * step] if there are no `rows`."""
    for k in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[k] = values[row_of(rows, k) * step]


@cuda.jit
def fill(values, number):
    """Set all values to one number."""
    for k in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        values[k] = number
