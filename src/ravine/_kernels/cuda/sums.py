"""Exact sums over rows on a CUDA device, the counterparts of `ravine._kernels.exact`; one pass over the rows each.

The terms are rounded to multiples of a grid, or are integers, as described there. So no sum depends on the order in
which blocks of threads add to it.
"""

import math

import numpy as np
from numba import cuda

from ravine._kernels.cuda._tile import (
    THREADS,
    TILE,
    coarse,
    load,
    position,
    read,
    read_four,
    rint,
    row_of,
    rows_in_tile,
)

SCATTER_WIDTH, SCATTER_ROWS, SCATTER_SLICE, SIDE = 64, 32, 256, 4
"""`rounded_scatter`: columns of a tile, its rows, rows whose products are summed in float64, and the side of the square
of products that a thread sums."""

BOTH_HALVES = 2 * SCATTER_ROWS
"""Number of rows of a tile of `rounded_scatter`: two halves with other columns of the same rows."""


@cuda.jit
def extent(X, edges, rows, n, low, high, strange):
    """Lower `low` and raise `high` to the entries of each column; add to `strange` if there are NaN."""
    d, t = X.shape[1], cuda.threadIdx.x
    first = cuda.blockIdx.y * cuda.blockDim.x
    width = min(d - first, cuda.blockDim.x)
    step = cuda.blockDim.x // width
    if t >= step * width:
        return
    j = first + t % width
    least, most, n_strange = np.inf, -np.inf, 0
    k, every = cuda.blockIdx.x * step + t // width, cuda.gridDim.x * step
    while k + 3 * every < n:
        x0, x1, x2, x3 = read_four(X, rows, k, every, j, edges)
        least = min(least, min(min(x0, x1), min(x2, x3)))
        most = max(most, max(max(x0, x1), max(x2, x3)))
        n_strange += (x0 != x0) + (x1 != x1) + (x2 != x2) + (x3 != x3)
        k += 4 * every
    while k < n:
        x = read(X, row_of(rows, k), j, edges)
        least = min(least, x)
        most = max(most, x)
        n_strange += x != x
        k += every
    cuda.atomic.min(low, j, least)
    cuda.atomic.max(high, j, most)
    if n_strange > 0:
        cuda.atomic.add(strange, 0, n_strange)


@cuda.jit
def moments(X, edges, rows, n, w, w_step, center, fine, count_grid, grid, square_grid, count, total, square):
    """Add the weight of the rows, Σ w (x - center) and Σ w (x - center)² in each column, each as a pair."""
    d, t = X.shape[1], cuda.threadIdx.x
    first = cuda.blockIdx.y * cuda.blockDim.x
    width = min(d - first, cuda.blockDim.x)
    step = cuda.blockDim.x // width
    if t >= step * width:
        return
    j = first + t % width
    c, g, sg = center[j], grid[j], square_grid[j]
    n0, n1, a0, a1, b0, b1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ahead, every = cuda.blockIdx.x * step + t // width, cuda.gridDim.x * step
    x1, w1 = 0.0, 0.0
    if ahead < n:
        i = row_of(rows, ahead)
        x1, w1 = read(X, i, j, edges), w[i * w_step]
    for _ in range(ahead, n, every):
        apart, weight = x1 - c, w1
        ahead += every
        if ahead < n:  # read now, so that the sums do not wait for memory
            i = row_of(rows, ahead)
            x1, w1 = read(X, i, j, edges), w[i * w_step]
        if j == 0:
            part = coarse(weight, count_grid)
            n0 += part
            n1 += coarse(weight - part, count_grid * fine)
        term = weight * apart
        part = coarse(term, g)
        a0 += part
        a1 += coarse(term - part, g * fine)
        term = term * apart
        part = coarse(term, sg)
        b0 += part
        b1 += coarse(term - part, sg * fine)
    if j == 0:
        cuda.atomic.add(count, 0, n0)
        cuda.atomic.add(count, 1, n1)
    cuda.atomic.add(total, (0, j), a0)
    cuda.atomic.add(total, (1, j), a1)
    cuda.atomic.add(square, (0, j), b0)
    cuda.atomic.add(square, (1, j), b1)


@cuda.jit
def scatter(X, edges, rows, n, w, w_step, center, fine, grid, total):
    """Add the lower half of Σ w (x - center)(x - center)ᵀ, as a pair; a thread adds up one of its entries.

    Blocks with another y have other entries.
    """
    tile = cuda.shared.array(TILE, np.float64)
    weight = cuda.shared.array(THREADS, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, width = rows_in_tile(d, cuda.blockDim.x), d | 1
    entry = cuda.blockIdx.y * cuda.blockDim.x + t
    is_busy = entry < d * (d + 1) // 2
    j = 0
    while is_busy and (j + 1) * (j + 2) // 2 <= entry:
        j += 1
    k = entry - j * (j + 1) // 2 if is_busy else 0
    g, a, b = grid[j, k], 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        if t < stop - start:
            weight[t] = w[row_of(rows, start + t) * w_step]
        cuda.syncthreads()
        if is_busy:
            for r in range(stop - start):
                x = tile[r * width + j] - center[j]
                term = (weight[r] * x) * (tile[r * width + k] - center[k])
                part = coarse(term, g)
                a += part
                b += coarse(term - part, g * fine)
        cuda.syncthreads()
    if is_busy:
        cuda.atomic.add(total, (0, j, k), a)
        cuda.atomic.add(total, (1, j, k), b)


@cuda.jit
def pull(X, edges, rows, n, w, w_step, center, v, origin, step, first, slopes, tilt, fine, grid, total):
    """Add Σ c (x - center) as a pair, where c = w (slopes[cell of p] - tilt · p) for p = x · v - origin.

    With more columns than threads, blocks with another y add up other columns.
    """
    tile = cuda.shared.array(TILE, np.float64)
    factor = cuda.shared.array(THREADS, np.float64)
    d, t, last = X.shape[1], cuda.threadIdx.x, slopes.shape[0] - 1
    size, row_width = rows_in_tile(d, cuda.blockDim.x), d | 1
    begin = cuda.blockIdx.y * cuda.blockDim.x
    width = min(d - begin, cuda.blockDim.x)
    per_pass = cuda.blockDim.x // width
    is_busy, j, own = t < per_pass * width, begin + t % width, t // width
    c, g = center[j], grid[j]
    a, b = 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            p = position(tile, t, d, v) - origin
            m = min(max(np.int64(math.floor(p / step) - first), 0), last)
            factor[t] = w[row_of(rows, start + t) * w_step] * (slopes[m] - tilt * p)
        cuda.syncthreads()
        if is_busy:
            for r in range(own, stop - start, per_pass):
                term = factor[r] * (tile[r * row_width + j] - c)
                part = coarse(term, g)
                a += part
                b += coarse(term - part, g * fine)
        cuda.syncthreads()
    if is_busy:
        cuda.atomic.add(total, (0, j), a)
        cuda.atomic.add(total, (1, j), b)


@cuda.jit(device=True)
def _load_rounded(X, edges, rows, start, stop, w, w_step, center, scale, begin, tile, half):
    """Fill half of a tile, `SCATTER_ROWS` rows, with integers, and with 0 where there are no more rows or columns.

    The number of threads is a multiple of `SCATTER_WIDTH`, so that a thread has one column.
    """
    t, step = cuda.threadIdx.x, cuda.blockDim.x // SCATTER_WIDTH
    at, r = t % SCATTER_WIDTH, t // SCATTER_WIDTH
    j, n_rows = begin + at, stop - start
    if j < X.shape[1]:
        c, s = center[j], scale[j]
        while r + 3 * step < min(n_rows, SCATTER_ROWS):
            x0, x1, x2, x3 = read_four(X, rows, start + r, step, j, edges)
            for x in (x0, x1, x2, x3):
                weight = w[row_of(rows, start + r) * w_step]
                tile[half + r, at] = rint((x - c) * math.sqrt(weight) * s)
                r += step
        while r < min(n_rows, SCATTER_ROWS):
            i = row_of(rows, start + r)
            tile[half + r, at] = rint((read(X, i, j, edges) - c) * math.sqrt(w[i * w_step]) * s)
            r += step
    while r < SCATTER_ROWS:
        tile[half + r, at] = 0.0
        r += step


@cuda.jit(device=True)
def _square(number, is_same):
    """Return row and column of a square of products; on the diagonal of the matrix only those of its lower half."""
    if not is_same:
        return number // (SCATTER_WIDTH // SIDE), number % (SCATTER_WIDTH // SIDE)
    line = 0
    while (line + 1) * (line + 2) // 2 <= number:
        line += 1
    return line, number - line * (line + 1) // 2


@cuda.jit
def rounded_scatter(X, edges, rows, n, w, w_step, center, scale, low_bits, total):
    """Add the lower half of Σ y yᵀ for y = √w (x - center) · scale, rounded to integers; see `_reductions.Rounding`.

    total[0] and total[1] are the upper and the `low_bits` lower bits of the sums. Blocks with another y sum other
    squares of `SCATTER_WIDTH` columns, and each thread has a square of `SIDE` by `SIDE` of their products. Sums over
    `SCATTER_SLICE` rows are exact in float64, and sums of these in 64 bits. All threads of a block fill its tiles, also
    those that have no square: on the diagonal of the matrix, half of the squares are left out.
    """
    tile = cuda.shared.array((BOTH_HALVES, SCATTER_WIDTH), np.float64)
    products = cuda.local.array((SIDE, SIDE), np.float64)
    sums = cuda.local.array((SIDE, SIDE), np.int64)
    tile_j = 0
    while (tile_j + 1) * (tile_j + 2) // 2 <= cuda.blockIdx.y:
        tile_j += 1
    begin_j = SCATTER_WIDTH * tile_j
    begin_k = SCATTER_WIDTH * (cuda.blockIdx.y - tile_j * (tile_j + 1) // 2)
    is_same = begin_j == begin_k
    other = 0 if is_same else SCATTER_ROWS
    span = -(-n // (cuda.gridDim.x * SCATTER_SLICE)) * SCATTER_SLICE  # rows of a block
    first = cuda.blockIdx.x * span
    per_line = SCATTER_WIDTH // SIDE
    is_busy = cuda.threadIdx.x < (per_line * (per_line + 1) // 2 if is_same else per_line * per_line)
    line, place = _square(cuda.threadIdx.x if is_busy else 0, is_same)
    at_j, at_k = line * SIDE, place * SIDE
    for a in range(SIDE):
        for b in range(SIDE):
            products[a, b] = 0.0
            sums[a, b] = 0
    for start in range(first, min(first + span, n), SCATTER_ROWS):
        stop = min(first + span, n)
        cuda.syncthreads()
        _load_rounded(X, edges, rows, start, stop, w, w_step, center, scale, begin_j, tile, 0)
        if not is_same:
            _load_rounded(X, edges, rows, start, stop, w, w_step, center, scale, begin_k, tile, other)
        cuda.syncthreads()
        if is_busy:
            for r in range(SCATTER_ROWS):
                for a in range(SIDE):
                    y = tile[r, at_j + a]
                    for b in range(SIDE):
                        products[a, b] += y * tile[other + r, at_k + b]
            if (start - first) % SCATTER_SLICE == SCATTER_SLICE - SCATTER_ROWS:
                for a in range(SIDE):
                    for b in range(SIDE):
                        sums[a, b] += np.int64(products[a, b])
                        products[a, b] = 0.0
    for a in range(SIDE):
        for b in range(SIDE):
            j, k = begin_j + at_j + a, begin_k + at_k + b
            if is_busy and k <= j and j < X.shape[1]:
                value = sums[a, b] + np.int64(products[a, b])
                upper = value >> low_bits
                cuda.atomic.add(total, (0, j, k), upper)
                cuda.atomic.add(total, (1, j, k), value - (upper << low_bits))
