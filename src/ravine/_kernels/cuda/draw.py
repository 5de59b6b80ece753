"""Numbers by which a random sample is drawn on a CUDA device, as in `ravine._reservoir`: each row gets one in one pass.

They depend on the contents of the rows, so the sample does not depend on their order. The rows with the largest numbers
are the sample.
"""

import numpy as np
from numba import cuda

from ravine._kernels.cuda._tile import TILE, load, row_of, rows_in_tile

EMPTY = np.uint64(0)
"""A slot of the table of `tell_copies_apart` without a number."""


@cuda.jit(device=True)
def mix(h):
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@cuda.jit(device=True)
def fingerprint(tile, r, d, factors, salt, cell):
    """Return the number of `ravine._kernels.rows.fingerprint_of`; the bits of a value are read through `cell`."""
    begin, h = r * (d | 1), salt
    bits = cell.view(np.uint64)
    for j in range(d):
        cell[0] = tile[begin + j] + 0.0  # turns -0.0 into 0.0
        b = bits[0]
        h += (b ^ (b >> np.uint64(32))) * factors[j]
    return mix(h)


@cuda.jit
def fingerprints(X, edges, rows, n, w, w_step, factors, salt, by_weight, out):
    """Compute a number per row that depends only on its entries, and with `by_weight` also on its weight."""
    tile = cuda.shared.array(TILE, np.float64)
    cell = cuda.local.array(1, np.float64)
    d, t = X.shape[1], cuda.threadIdx.x
    size = rows_in_tile(d, cuda.blockDim.x)
    for start in range(cuda.blockIdx.x * size, n, cuda.gridDim.x * size):
        stop = min(start + size, n)
        load(X, edges, rows, start, stop, tile, t, cuda.blockDim.x)
        cuda.syncthreads()
        if t < stop - start:
            h = fingerprint(tile, t, d, factors, salt, cell)
            if by_weight:
                cell[0] = w[row_of(rows, start + t) * w_step]
                h = mix(h + cell.view(np.uint64)[0])
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
            slot = mix(key) & mask
            found = cuda.atomic.cas(keys, slot, EMPTY, key)
            while found != EMPTY and found != key:
                slot = (slot + np.uint64(1)) & mask
                found = cuda.atomic.cas(keys, slot, EMPTY, key)
            rank = cuda.atomic.add(counts, slot, 1)
            if rank > 0:
                numbers[k] = mix(h + np.uint64(rank) * golden)
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
