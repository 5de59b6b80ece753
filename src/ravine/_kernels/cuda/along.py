"""Rows along a direction on a CUDA device: on lattices, their positions, and the nearest ones; one pass each.

The counterparts of `look` in `ravine._kernels.exact` and of `cell_extremes` and `rows_at_distance` in
`ravine._kernels.along`.
"""

import math

import numpy as np
from numba import cuda

from ravine._kernels.cuda._tile import THREADS, TILE, coarse, load, position, rint, row_of, rows_in_tile
from ravine._kernels.cuda.draw import fingerprint


@cuda.jit
def look(
    X, edges, rows, n, w, w_step, v, origin, steps, firsts, begins, scale, fine, square_grid, masses, range_, squares
):
    """Put the positions p = x · v - origin of the rows on lattices.

    The lattice m has the points step[m] · (firsts[m] + k), whose weights, times `scale` and rounded, are added to
    masses[:, begins[m] + k], up to begins[m + 1]; the lines of `masses` are to be summed. The smallest and the largest
    p of a block are written to `range_`, and Σ w p² is added to `squares`, as a pair.
    """
    tile = cuda.shared.array(TILE, np.float64)
    shared = cuda.shared.array((4, THREADS), np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, line = rows_in_tile(d, cuda.blockDim.x), cuda.blockIdx.x % masses.shape[0]
    low, high, s0, s1 = np.inf, -np.inf, 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            p = position(tile, t, d, v) - origin
            weight = w[row_of(rows, start + t) * w_step]
            low, high = min(low, p), max(high, p)
            term = weight * p * p
            part = coarse(term, square_grid)
            s0 += part
            s1 += coarse(term - part, square_grid * fine)
            whole = np.int64(rint(weight * scale))
            for m in range(steps.shape[0]):
                place = p / steps[m]
                before = math.floor(place)
                after = np.int64(rint(weight * (place - before) * scale))
                cell = min(max(np.int64(before) - firsts[m], 0), begins[m + 1] - begins[m] - 2)
                k = begins[m] + cell
                cuda.atomic.add(masses, (line, k), whole - after)
                cuda.atomic.add(masses, (line, k + 1), after)
        cuda.syncthreads()
    shared[0, t], shared[1, t], shared[2, t], shared[3, t] = low, high, s0, s1
    cuda.syncthreads()
    if t == 0:
        for k in range(1, cuda.blockDim.x):
            low, high = min(low, shared[0, k]), max(high, shared[1, k])
            s0 += shared[2, k]
            s1 += shared[3, k]
        range_[cuda.blockIdx.x, 0], range_[cuda.blockIdx.x, 1] = low, high
        cuda.atomic.add(squares, 0, s0)
        cuda.atomic.add(squares, 1, s1)


@cuda.jit
def add_lines(masses):
    """Add all lines of an array to its first line."""
    for k in range(cuda.grid(1), masses.shape[1], cuda.gridsize(1)):
        total = masses[0, k]
        for line in range(1, masses.shape[0]):
            total += masses[line, k]
        masses[0, k] = total


@cuda.jit
def positions(X, edges, rows, n, v, origin, out):
    """Compute out[k] = x · v - origin."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = rows_in_tile(d, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            out[start + t] = position(tile, t, d, v) - origin
        cuda.syncthreads()


@cuda.jit(device=True)
def _cell(value, places):
    """Return the number of sorted places that do not exceed the value."""
    a, b = 0, places.shape[0]
    while a < b:
        middle = (a + b) // 2
        if places[middle] <= value:
            a = middle + 1
        else:
            b = middle
    return a


@cuda.jit
def cell_extremes(X, edges, rows, n, v, origin, places, extremes):
    """Lower extremes[0] and raise extremes[1] to the positions p = x · v - origin in each cell between the places."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = rows_in_tile(d, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            p = position(tile, t, d, v) - origin
            c = _cell(p, places)
            if p < extremes[0, c]:
                cuda.atomic.min(extremes, (0, c), p)
            if p > extremes[1, c]:
                cuda.atomic.max(extremes, (1, c), p)
        cuda.syncthreads()


@cuda.jit
def rows_at_distance(
    X,
    edges,
    rows,
    n,
    v,
    origin,
    places,
    extremes,
    distance,
    first_before,
    end_after,
    unit,
    factors,
    salt,
    last,
    number,
    row,
):
    """For each place, find the row with the smallest number among those at the distance of the nearest row.

    See `ravine._kernels.along.rows_at_distance`. The first call finds the numbers; with `last`, the rows that have
    them are found.
    """
    tile = cuda.shared.array(TILE, np.float64)
    cell = cuda.local.array(1, np.float64)
    d, t, n_places = X.shape[1], cuda.threadIdx.x, places.shape[0]
    size = rows_in_tile(d, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            p = position(tile, t, d, v) - origin
            c = _cell(p, places)
            is_first, is_last = p - extremes[0, c] <= 2.0 * unit, extremes[1, c] - p <= 2.0 * unit
            if is_first or is_last:
                h = fingerprint(tile, t, d, factors, salt, cell)
                begin = first_before[c] if is_first else c
                end = end_after[c] if is_last else c
                while begin > 0 and rint(abs(p - places[begin - 1]) / unit) <= distance[begin - 1]:
                    begin -= 1
                while end < n_places and rint(abs(p - places[end]) / unit) <= distance[end]:
                    end += 1
                for k in range(begin, end):
                    if rint(abs(p - places[k]) / unit) == distance[k]:
                        if last:
                            if number[k] == h:
                                cuda.atomic.min(row, k, row_of(rows, start + t))
                        elif h < number[k]:
                            cuda.atomic.min(number, k, h)
        cuda.syncthreads()
