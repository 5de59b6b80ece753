"""Leaves and likeliest components of rows on a CUDA device, in one pass; see `walk` in `ravine._kernels.rows`."""

import math

import numpy as np
from numba import cuda

from ravine._kernels.cuda._tile import TILE, load, position, rows_in_tile

NEAR = 1024
"""Number of values of the cuts that a block keeps in its own memory: rows of a block are at different cuts."""


@cuda.jit(device=True)
def keep_near(normal, left, column, near, t, n_threads):
    """Copy the cuts into the memory of the block, in the order of their columns; return whether there is room."""
    n, d = normal.shape
    width = d | 1
    if (column[n - 1] + 1) * width > near.shape[0]:
        return False
    for k in range(t, n * d, n_threads):
        node = k // d
        if left[node] >= 0:
            near[column[node] * width + k % d] = normal[node, k % d]
    return True


@cuda.jit(device=True)
def position_at(tile, t, d, normal, column, near, is_near, node):
    """Return the product of row t of the tile with the normal of a cut."""
    if is_near:
        begin = column[node] * (d | 1)
        return position(tile, t, d, near[begin : begin + d])
    return position(tile, t, d, normal[node])


@cuda.jit
def look_up(table, places, out):
    """Compute out[k] = table[places[k]]."""
    for k in range(cuda.grid(1), places.shape[0], cuda.gridsize(1)):
        out[k] = table[places[k]]


@cuda.jit
def walk(X, edges, n, normal, offset, left, right, column, label, out, distance):
    """Compute out[i] = the label of the leaf of row i, which goes left at a cut if X[i] · normal < offset.

    distance[i, column[node]] is set for each cut on the way, unless `distance` has no columns.
    """
    tile = cuda.shared.array(TILE, np.float64)
    near = cuda.shared.array(NEAR, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = rows_in_tile(d, cuda.blockDim.x), label[:0]
    is_near = keep_near(normal, left, column, near, t, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, every, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            node = 0
            while left[node] >= 0:
                s = position_at(tile, t, d, normal, column, near, is_near, node)
                if distance.shape[1] > 0:
                    distance[start + t, column[node]] = s - offset[node]
                node = left[node] if s < offset[node] else right[node]
            out[start + t] = label[node]
        cuda.syncthreads()


@cuda.jit
def leaves(X, edges, rows, n, normal, offset, left, right, column, out):
    """Compute out[k] = the leaf of a row."""
    tile = cuda.shared.array(TILE, np.float64)
    near = cuda.shared.array(NEAR, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = rows_in_tile(d, cuda.blockDim.x)
    is_near = keep_near(normal, left, column, near, t, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            node = 0
            while left[node] >= 0:
                s = position_at(tile, t, d, normal, column, near, is_near, node)
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
def likeliest(X, edges, n, mean, factor, constant, freedom, power, first, label, out):
    """Compute out[i] = the component of the largest density; see `ravine._kernels.mixture.likeliest`.

    first[label[i]] is the component with which the search starts.
    """
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = rows_in_tile(d, cuda.blockDim.x), first[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, every, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            begin = t * (d | 1)
            begins_with = first[label[start + t]]
            best = begins_with
            most = constant[best] - power * math.log1p(_distance(tile, begin, d, best, mean, factor, np.inf) / freedom)
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
def likeliest_of_planes(X, edges, n, center, constant, direction, first, label, out):
    """Compute out[i] = the k with the largest (x - center) · direction[k] + constant[k], the smallest if several.

    If one of them is no finite number, it is first[label[i]].
    """
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = rows_in_tile(d, cuda.blockDim.x), first[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, every, start, stop, tile, t, cuda.blockDim.x)
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
            out[start + t] = best if is_finite else first[label[start + t]]
        cuda.syncthreads()


@cuda.jit
def label_outliers(X, edges, n, component, mean, factor, limit, out):
    """Set out[i] = -1 unless |factor[k] (X[i] - mean[k])| is at most limit[k] for k = component[i]."""
    tile = cuda.shared.array(TILE, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size, every = rows_in_tile(d, cuda.blockDim.x), component[:0]
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, every, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            k = component[start + t]
            if not math.sqrt(_distance(tile, t * (d | 1), d, k, mean, factor, np.inf)) <= limit[k]:
                out[start + t] = -1
        cuda.syncthreads()
