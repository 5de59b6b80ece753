"""Passes over rows on a CUDA device, the counterparts of `exact`, `rows` and `along`.

A block of threads copies a tile of whole rows to its shared memory, where a thread per row projects them and a thread
per column adds them up, so that device memory is read once per pass. Sums are exact as in `exact`: terms are rounded to
multiples of a grid, or are integers. So no result depends on the order in which blocks run. A position along a direction
is the sum over the columns from left to right, in every kernel, so that fit and predict agree to the last bit.

`rows` lists the rows to read; if it is empty, these are the first `n` rows. Weights are `w[i * w_step]`: with a step
of 0, one weight is that of all rows. `edges` has the edges of each column and the distance to them that is far outside,
see `ravine._scaling`; if it is empty, no cell is moved.
"""

import math

import numpy as np
from numba import cuda

THREADS = 128
"""Number of threads in a block."""

TILE = 4160
"""Number of values in a tile; a row of `d` columns takes `d | 1` of them, so that threads read different banks."""

MOST_COLUMNS = TILE - 1
"""Largest number of columns."""

SPAN = 1024
"""Number of rows that a block divides."""

SCATTER_WIDTH, SCATTER_ROWS, SCATTER_SLICE, SIDE = 64, 32, 256, 4
"""`rounded_scatter`: columns of a tile, its rows, rows whose products are summed in float64, and the side of the square
of products that a thread sums."""

EMPTY = np.uint64(0)
"""A slot of the table of `tell_copies_apart` without a number."""


@cuda.jit(device=True)
def _row(rows, k):
    return np.int64(rows[k]) if rows.shape[0] > 0 else np.int64(k)


@cuda.jit(device=True)
def _value(X, i, j, edges):
    """Return a cell, moved to the nearer edge of its column if it is far outside."""
    x = np.float64(X[i, j])
    if edges.shape[1] > 0:
        if edges[0, j] - x > edges[2, j]:
            return edges[0, j]
        if x - edges[1, j] > edges[2, j]:
            return edges[1, j]
    return x


@cuda.jit(device=True)
def _coarse(term, grid):
    return (term + grid) - grid


@cuda.jit(device=True)
def _tile_rows(n_columns):
    """Return the number of rows in a tile, at most one for each thread."""
    return min(cuda.blockDim.x, TILE // (n_columns | 1))


@cuda.jit(device=True)
def _load(X, edges, rows, start, stop, tile):
    """Copy rows to the tile; neighboring threads read neighboring columns."""
    d, t = X.shape[1], cuda.threadIdx.x
    width = d | 1
    if d <= cuda.blockDim.x:
        step = cuda.blockDim.x // d
        if t < step * d:
            j = t % d
            for r in range(t // d, stop - start, step):
                tile[r * width + j] = _value(X, _row(rows, start + r), j, edges)
    else:
        for r in range(stop - start):
            i = _row(rows, start + r)
            for j in range(t, d, cuda.blockDim.x):
                tile[r * width + j] = _value(X, i, j, edges)


@cuda.jit(device=True)
def _position(tile, r, d, v):
    """Return the product of row r of the tile with a vector."""
    begin, s = r * (d | 1), 0.0
    for j in range(d):
        s += tile[begin + j] * v[j]
    return s


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
    for k in range(cuda.blockIdx.x * step + t // width, n, cuda.gridDim.x * step):
        x = _value(X, _row(rows, k), j, edges)
        least = min(least, x)
        most = max(most, x)
        n_strange += x != x
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
    for k in range(cuda.blockIdx.x * step + t // width, n, cuda.gridDim.x * step):
        i = _row(rows, k)
        weight = w[i * w_step]
        apart = _value(X, i, j, edges) - c
        if j == 0:
            part = _coarse(weight, count_grid)
            n0 += part
            n1 += _coarse(weight - part, count_grid * fine)
        term = weight * apart
        part = _coarse(term, g)
        a0 += part
        a1 += _coarse(term - part, g * fine)
        term = term * apart
        part = _coarse(term, sg)
        b0 += part
        b1 += _coarse(term - part, sg * fine)
    if j == 0:
        cuda.atomic.add(count, 0, n0)
        cuda.atomic.add(count, 1, n1)
    cuda.atomic.add(total, (0, j), a0)
    cuda.atomic.add(total, (1, j), a1)
    cuda.atomic.add(square, (0, j), b0)
    cuda.atomic.add(square, (1, j), b1)


@cuda.jit
def look(X, edges, rows, n, w, w_step, v, origin, steps, firsts, begins, scale, fine, square_grid, masses, range_, squares):
    """Put the positions p = x · v - origin of the rows on lattices.

    The lattice m has the points step[m] · (firsts[m] + k), whose weights, times `scale` and rounded, are added to
    masses[:, begins[m] + k]; the lines of `masses` are to be summed. The smallest and the largest p of a block are
    written to `range_`, and Σ w p² is added to `squares`, as a pair.
    """
    tile = cuda.shared.array(TILE, np.float64)
    shared = cuda.shared.array((4, THREADS), np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, line = _tile_rows(d), cuda.blockIdx.x % masses.shape[0]
    low, high, s0, s1 = np.inf, -np.inf, 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            p = _position(tile, t, d, v) - origin
            weight = w[_row(rows, start + t) * w_step]
            low, high = min(low, p), max(high, p)
            term = weight * p * p
            part = _coarse(term, square_grid)
            s0 += part
            s1 += _coarse(term - part, square_grid * fine)
            whole = np.int64(np.rint(weight * scale))
            for m in range(steps.shape[0]):
                place = p / steps[m]
                before = math.floor(place)
                after = np.int64(np.rint(weight * (place - before) * scale))
                k = begins[m] + np.int64(before) - firsts[m]
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
    k = cuda.grid(1)
    if k < masses.shape[1]:
        total = masses[0, k]
        for line in range(1, masses.shape[0]):
            total += masses[line, k]
        masses[0, k] = total


@cuda.jit
def positions(X, edges, rows, n, v, origin, out):
    """Compute out[k] = x · v - origin."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = _tile_rows(d)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            out[start + t] = _position(tile, t, d, v) - origin
        cuda.syncthreads()


@cuda.jit
def pull(X, edges, rows, n, w, w_step, center, v, origin, step, first, slopes, tilt, fine, grid, total):
    """Add Σ c (x - center) as a pair, where c = w (slopes[cell of p] - tilt · p) for p = x · v - origin.

    With more columns than threads, blocks with another y add up other columns.
    """
    tile = cuda.shared.array(TILE, np.float64)
    factor = cuda.shared.array(THREADS, np.float64)
    d, t, last = X.shape[1], cuda.threadIdx.x, slopes.shape[0] - 1
    size, row_width = _tile_rows(d), d | 1
    begin = cuda.blockIdx.y * cuda.blockDim.x
    width = min(d - begin, cuda.blockDim.x)
    per_pass = cuda.blockDim.x // width
    is_busy, j, own = t < per_pass * width, begin + t % width, t // width
    c, g = center[j], grid[j]
    a, b = 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            p = _position(tile, t, d, v) - origin
            m = min(max(np.int64(math.floor(p / step) - first), 0), last)
            factor[t] = w[_row(rows, start + t) * w_step] * (slopes[m] - tilt * p)
        cuda.syncthreads()
        if is_busy:
            for r in range(own, stop - start, per_pass):
                term = factor[r] * (tile[r * row_width + j] - c)
                part = _coarse(term, g)
                a += part
                b += _coarse(term - part, g * fine)
        cuda.syncthreads()
    if is_busy:
        cuda.atomic.add(total, (0, j), a)
        cuda.atomic.add(total, (1, j), b)


@cuda.jit
def scatter(X, edges, rows, n, w, w_step, center, fine, grid, total):
    """Add the lower half of Σ w (x - center)(x - center)ᵀ, as a pair; a thread adds up one of its entries.

    Blocks with another y have other entries.
    """
    tile = cuda.shared.array(TILE, np.float64)
    weight = cuda.shared.array(THREADS, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, width = _tile_rows(d), d | 1
    entry = cuda.blockIdx.y * cuda.blockDim.x + t
    is_busy = entry < d * (d + 1) // 2
    j = 0
    while is_busy and (j + 1) * (j + 2) // 2 <= entry:
        j += 1
    k = entry - j * (j + 1) // 2 if is_busy else 0
    g, a, b = grid[j, k], 0.0, 0.0
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        if t < stop - start:
            weight[t] = w[_row(rows, start + t) * w_step]
        cuda.syncthreads()
        if is_busy:
            for r in range(stop - start):
                x = tile[r * width + j] - center[j]
                term = (weight[r] * x) * (tile[r * width + k] - center[k])
                part = _coarse(term, g)
                a += part
                b += _coarse(term - part, g * fine)
        cuda.syncthreads()
    if is_busy:
        cuda.atomic.add(total, (0, j, k), a)
        cuda.atomic.add(total, (1, j, k), b)


@cuda.jit(device=True)
def _load_rounded(X, edges, rows, start, stop, w, w_step, center, scale, begin, tile):
    """Fill a tile of `SCATTER_ROWS` rows with integers, and with 0 where there are no more rows or columns."""
    for k in range(cuda.threadIdx.x, SCATTER_ROWS * SCATTER_WIDTH, cuda.blockDim.x):
        r, j = k // SCATTER_WIDTH, begin + k % SCATTER_WIDTH
        y = 0.0
        if start + r < stop and j < X.shape[1]:
            i = _row(rows, start + r)
            y = np.rint((_value(X, i, j, edges) - center[j]) * math.sqrt(w[i * w_step]) * scale[j])
        tile[r, k % SCATTER_WIDTH] = y


@cuda.jit
def rounded_scatter(X, edges, rows, n, w, w_step, center, scale, low_bits, total):
    """Add the lower half of Σ y yᵀ for y = √w (x - center) · scale, rounded to integers; see `_reductions.Rounding`.

    total[0] and total[1] are the upper and the `low_bits` lower bits of the sums. Blocks with another y sum other
    squares of `SCATTER_WIDTH` columns, and each thread has squares of `SIDE` by `SIDE` of their products. Sums over
    `SCATTER_SLICE` rows are exact in float64, and sums of these in 64 bits.
    """
    left = cuda.shared.array((SCATTER_ROWS, SCATTER_WIDTH), np.float64)
    right = cuda.shared.array((SCATTER_ROWS, SCATTER_WIDTH), np.float64)
    products = cuda.local.array((SIDE, SIDE), np.float64)
    sums = cuda.local.array((SIDE, SIDE), np.int64)
    tile_j = 0
    while (tile_j + 1) * (tile_j + 2) // 2 <= cuda.blockIdx.y:
        tile_j += 1
    begin_j = SCATTER_WIDTH * tile_j
    begin_k = SCATTER_WIDTH * (cuda.blockIdx.y - tile_j * (tile_j + 1) // 2)
    span = -(-n // (cuda.gridDim.x * SCATTER_SLICE)) * SCATTER_SLICE  # rows of a block
    first = cuda.blockIdx.x * span
    per_line = SCATTER_WIDTH // SIDE
    for square in range(cuda.threadIdx.x, per_line * per_line, cuda.blockDim.x):
        at_j, at_k = square // per_line * SIDE, square % per_line * SIDE
        for a in range(SIDE):
            for b in range(SIDE):
                products[a, b] = 0.0
                sums[a, b] = 0
        for start in range(first, min(first + span, n), SCATTER_ROWS):
            cuda.syncthreads()
            _load_rounded(X, edges, rows, start, min(first + span, n), w, w_step, center, scale, begin_j, left)
            _load_rounded(X, edges, rows, start, min(first + span, n), w, w_step, center, scale, begin_k, right)
            cuda.syncthreads()
            for r in range(SCATTER_ROWS):
                for a in range(SIDE):
                    y = left[r, at_j + a]
                    for b in range(SIDE):
                        products[a, b] += y * right[r, at_k + b]
            if (start - first) % SCATTER_SLICE == SCATTER_SLICE - SCATTER_ROWS:
                for a in range(SIDE):
                    for b in range(SIDE):
                        sums[a, b] += np.int64(products[a, b])
                        products[a, b] = 0.0
        for a in range(SIDE):
            for b in range(SIDE):
                j, k = begin_j + at_j + a, begin_k + at_k + b
                if k <= j and j < X.shape[1]:
                    value = sums[a, b] + np.int64(products[a, b])
                    upper = value >> low_bits
                    cuda.atomic.add(total, (0, j, k), upper)
                    cuda.atomic.add(total, (1, j, k), value - (upper << low_bits))


@cuda.jit
def sides(X, edges, rows, n, normal, offset, is_left, counts):
    """Set whether each row lies on the left of a cut, and the number of these among each `SPAN` rows."""
    tile = cuda.shared.array(TILE, np.float64)
    found = cuda.shared.array(THREADS, np.int32)
    d, t = X.shape[1], cuda.threadIdx.x
    size, n_left = _tile_rows(d), 0
    end = min((cuda.blockIdx.x + 1) * SPAN, n)
    for start in range(cuda.blockIdx.x * SPAN, end, size):
        stop = min(start + size, end)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            left = _position(tile, t, d, normal) < offset
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
            left[at_left] = _row(rows, k)
            at_left += 1
        else:
            if right.shape[0] > 0:
                right[at_right] = _row(rows, k)
            at_right += 1


@cuda.jit
def gather(X, edges, rows, out):
    """Compute out[k] = X[rows[k]], or X[k] if there are no `rows`."""
    d = X.shape[1]
    for k in range(cuda.grid(1), out.shape[0] * d, cuda.gridsize(1)):
        out[k // d, k % d] = _value(X, _row(rows, k // d), k % d, edges)


@cuda.jit
def gather_values(values, step, rows, out):
    """Compute out[k] = values[rows[k] * step], or values[k * step] if there are no `rows`."""
    for k in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[k] = values[_row(rows, k) * step]


@cuda.jit
def fill(values, number):
    """Set all values to one number."""
    for k in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        values[k] = number


@cuda.jit
def look_up(table, places):
    """Replace each place by the entry of the table there."""
    for k in range(cuda.grid(1), places.shape[0], cuda.gridsize(1)):
        places[k] = table[places[k]]


@cuda.jit
def walk(X, edges, n, normal, offset, left, right, label, out, column, distance):
    """Compute out[i] = the label of the leaf of row i, which goes left at a cut if X[i] · normal < offset.

    distance[i, column[node]] is set for each cut on the way, unless `distance` has no columns.
    """
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = _tile_rows(d), label[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, every, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            node = 0
            while left[node] >= 0:
                s = _position(tile, t, d, normal[node])
                if distance.shape[1] > 0:
                    distance[start + t, column[node]] = s - offset[node]
                node = left[node] if s < offset[node] else right[node]
            out[start + t] = label[node]
        cuda.syncthreads()


@cuda.jit
def leaves(X, edges, rows, n, normal, offset, left, right, out):
    """Compute out[k] = the leaf of a row."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = _tile_rows(d)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            node = 0
            while left[node] >= 0:
                s = _position(tile, t, d, normal[node])
                node = left[node] if s < offset[node] else right[node]
            out[start + t] = node
        cuda.syncthreads()


@cuda.jit(device=True)
def _distance(tile, begin, d, k, mean, factor, reach):
    """Return the squared distance of a row from component k, or any larger number if it is beyond `reach`."""
    of = k if factor.shape[0] > 1 else 0
    q = 0.0
    for j in range(d):
        y = 0.0
        for m in range(j + 1):
            y += factor[of, j, m] * (tile[begin + m] - mean[k, m])
        q += y * y
        if q > reach:
            return q
    return q


@cuda.jit
def likeliest(X, edges, n, mean, factor, constant, freedom, power, first, out):
    """Compute out[i] = the component of the largest density; see `ravine._kernels.mixture.likeliest`.

    first[out[i]] is the component with which the search starts.
    """
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = _tile_rows(d), first[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, every, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            begin = t * (d | 1)
            begins_with = first[out[start + t]]
            best = begins_with
            most = constant[best] - power * math.log1p(
                _distance(tile, begin, d, best, mean, factor, np.inf) / freedom
            )
            for k in range(mean.shape[0]):
                if k != begins_with and constant[k] >= most:
                    reach = 1.000001 * freedom * math.expm1((constant[k] - most) / power) + 1e-300
                    q = _distance(tile, begin, d, k, mean, factor, reach)
                    density = constant[k] - power * math.log1p(q / freedom) if q <= reach else -np.inf
                    if density > most or (density == most and k < best and most > -np.inf):
                        best, most = k, density
            out[start + t] = best
        cuda.syncthreads()


@cuda.jit
def likeliest_of_planes(X, edges, n, center, constant, direction, first, out):
    """Compute out[i] = the k with the largest (x - center) · direction[k] + constant[k], the smallest if several.

    If one of them is no finite number, it is first[out[i]].
    """
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = _tile_rows(d), first[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, every, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            begin = t * (d | 1)
            best, most, is_finite = 0, -np.inf, True
            for k in range(direction.shape[0]):
                s = constant[k]
                for j in range(d):
                    s += (tile[begin + j] - center[j]) * direction[k, j]
                is_finite = is_finite and math.isfinite(s)
                if s > most:
                    best, most = k, s
            out[start + t] = best if is_finite else first[out[start + t]]
        cuda.syncthreads()


@cuda.jit
def squared_distance(X, edges, n, component, mean, factor, out):
    """Compute out[i] = |factor[k] (X[i] - mean[k])|² for k = component[i]; a single factor is that of all k."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = _tile_rows(d), component[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, every, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            out[start + t] = _distance(tile, t * (d | 1), d, component[start + t], mean, factor, np.inf)
        cuda.syncthreads()


# Numbers that depend on the contents of rows


@cuda.jit(device=True)
def _mix(h):
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@cuda.jit(device=True)
def _fingerprint(tile, r, d, factors, salt, cell):
    """Return the number of `ravine._kernels.rows.fingerprint_of`; the bits of a value are read through `cell`."""
    begin, h = r * (d | 1), salt
    bits = cell.view(np.uint64)
    for j in range(d):
        cell[0] = tile[begin + j] + 0.0  # turns -0.0 into 0.0
        b = bits[0]
        h += (b ^ (b >> np.uint64(32))) * factors[j]
    return _mix(h)


@cuda.jit
def fingerprints(X, edges, rows, n, w, w_step, factors, salt, by_weight, out):
    """Compute a number per row that depends only on its entries, and with `by_weight` also on its weight."""
    tile = cuda.shared.array(TILE, np.float64)
    cell = cuda.local.array(1, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = _tile_rows(d)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            h = _fingerprint(tile, t, d, factors, salt, cell)
            if by_weight:
                cell[0] = w[_row(rows, start + t) * w_step]
                h = _mix(h + cell.view(np.uint64)[0])
            out[start + t] = h
        cuda.syncthreads()


@cuda.jit
def tell_copies_apart(numbers, part, n_parts, golden, keys, counts, copies):
    """Give the second, third … row with the same number another number, as `ravine._reservoir.content_numbers` does.

    Only numbers that belong to `part` of `n_parts` are treated, so that the table of `keys` can be small; a number that
    has been changed is marked in `copies`, and not treated again. Which copy is the first does not matter: they are
    equal.
    """
    mask = np.uint64(keys.shape[0] - 1)
    for k in range(cuda.grid(1), numbers.shape[0], cuda.gridsize(1)):
        h = numbers[k]
        if h % np.uint64(n_parts) == np.uint64(part) and copies[k] == 0:
            key = h if h != EMPTY else np.uint64(1)
            slot = _mix(key) & mask
            found = cuda.atomic.cas(keys, slot, EMPTY, key)
            while found != EMPTY and found != key:
                slot = (slot + np.uint64(1)) & mask
                found = cuda.atomic.cas(keys, slot, EMPTY, key)
            rank = cuda.atomic.add(counts, slot, 1)
            if rank > 0:
                numbers[k] = _mix(h + np.uint64(rank) * golden)
                copies[k] = 1


@cuda.jit
def count_upper_bits(numbers, shift, counts):
    """Add up how many numbers there are with each value of their upper bits."""
    for k in range(cuda.grid(1), numbers.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(counts, np.int64(numbers[k] >> np.uint64(shift)), 1)


@cuda.jit
def select(numbers, least, n_found, places, found):
    """Copy the numbers that are not below `least`, and their places, in any order."""
    for k in range(cuda.grid(1), numbers.shape[0], cuda.gridsize(1)):
        if numbers[k] >= least:
            at = cuda.atomic.add(n_found, 0, 1)
            if at < places.shape[0]:
                places[at], found[at] = k, numbers[k]


# The nearest rows to positions on a line


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
    size = _tile_rows(d)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            p = _position(tile, t, d, v) - origin
            c = _cell(p, places)
            if p < extremes[0, c]:
                cuda.atomic.min(extremes, (0, c), p)
            if p > extremes[1, c]:
                cuda.atomic.max(extremes, (1, c), p)
        cuda.syncthreads()


@cuda.jit
def rows_at_distance(
    X, edges, rows, n, v, origin, places, extremes, distance, first_before, end_after, unit, factors, salt, last, number, row
):
    """For each place, find the row with the smallest number among those at the distance of the nearest row.

    See `ravine._kernels.along.rows_at_distance`. The first call finds the numbers; with `last`, the rows that have
    them are found.
    """
    tile = cuda.shared.array(TILE, np.float64)
    cell = cuda.local.array(1, np.float64)
    d, t, n_places = X.shape[1], cuda.threadIdx.x, places.shape[0]
    size = _tile_rows(d)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        _load(X, edges, rows, start, stop, tile)
        cuda.syncthreads()
        if t < stop - start:
            p = _position(tile, t, d, v) - origin
            c = _cell(p, places)
            is_first, is_last = p - extremes[0, c] <= 2.0 * unit, extremes[1, c] - p <= 2.0 * unit
            if is_first or is_last:
                h = _fingerprint(tile, t, d, factors, salt, cell)
                begin = first_before[c] if is_first else c
                end = end_after[c] if is_last else c
                while begin > 0 and np.rint(abs(p - places[begin - 1]) / unit) <= distance[begin - 1]:
                    begin -= 1
                while end < n_places and np.rint(abs(p - places[end]) / unit) <= distance[end]:
                    end += 1
                for k in range(begin, end):
                    if np.rint(abs(p - places[k]) / unit) == distance[k]:
                        if last:
                            if number[k] == h:
                                cuda.atomic.min(row, k, _row(rows, start + t))
                        elif h < number[k]:
                            cuda.atomic.min(number, k, h)
        cuda.syncthreads()
