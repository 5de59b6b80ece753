"""Passes over the rows of a matrix: projections, walks down a tree, weighted sums, the scatter matrix times a vector.

Each kernel reads every row once and is limited by memory, not by arithmetic. Sums run in float64, whatever the type of
the data. The side of a row at a cut is decided only in `walk` (`walk_csr` for sparse rows), so fit and predict agree to
the last bit.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel, reduction

TILE = 248
"""Number of rows that `scatters` transposes at a time. The rows of a power of two would share the same cache lines."""


@inner_reduction
def dot(x, v):
    """Return x · v."""
    s = 0.0
    for j in range(x.shape[0]):
        s += x[j] * v[j]
    return s


@inner
def _dot_csr(indptr, indices, data, i, v):
    s = 0.0
    for k in range(indptr[i], indptr[i + 1]):
        s += data[k] * v[indices[k]]
    return s


@kernel
def walk(X, normal, offset, left, right, leaf, column, distance):
    """Compute leaf[i] = the leaf of row i, which goes left at a cut if X[i] · normal < offset.

    distance[i, column[node]] is set to X[i] · normal - offset for each cut on the way, unless `distance` has no
    columns.
    """
    for i in range(X.shape[0]):
        x = X[i]
        node = 0
        while left[node] >= 0:
            s = dot(x, normal[node])
            if distance.shape[1] > 0:
                distance[i, column[node]] = s - offset[node]
            node = left[node] if s < offset[node] else right[node]
        leaf[i] = node


@kernel
def walk_csr(indptr, indices, data, normal, offset, left, right, leaf, column, distance):
    """Run `walk` on the rows of a CSR matrix."""
    for i in range(indptr.shape[0] - 1):
        node = 0
        while left[node] >= 0:
            s = _dot_csr(indptr, indices, data, i, normal[node])
            if distance.shape[1] > 0:
                distance[i, column[node]] = s - offset[node]
            node = left[node] if s < offset[node] else right[node]
        leaf[i] = node


@kernel
def project_all(X, directions, out):
    """Compute out[i, k] = X[i] · directions[k]; the result of a row does not depend on other rows."""
    for i in range(X.shape[0]):
        for k in range(directions.shape[0]):
            out[i, k] = dot(X[i], directions[k])


@reduction
def multiply(A, B, out):
    """Compute out = A B for small matrices.

    Each pass adds four rows of B to a row of the result: with one row, most time would go into loads and stores.
    """
    n_whole = A.shape[1] - A.shape[1] % 4
    for a in range(A.shape[0]):
        row, shares = out[a], A[a]
        for i in range(row.shape[0]):
            row[i] = 0.0
        for f in range(0, n_whole, 4):
            r, s, t, u = shares[f], shares[f + 1], shares[f + 2], shares[f + 3]
            w, x, y, z = B[f], B[f + 1], B[f + 2], B[f + 3]
            for i in range(row.shape[0]):
                row[i] += r * w[i] + s * x[i] + t * y[i] + u * z[i]
        for f in range(n_whole, A.shape[1]):
            r, w = shares[f], B[f]
            for i in range(row.shape[0]):
                row[i] += r * w[i]


@reduction
def orthonormalize(V, rounding, tiny):
    """Make the rows of V orthonormal, in place; a row becomes 0 if it depends on those before it, up to rounding."""
    for a in range(V.shape[0]):
        v = V[a]
        before = np.sqrt(dot(v, v))
        for b in range(a):
            u = V[b]
            share = dot(u, v)
            for j in range(v.shape[0]):
                v[j] -= share * u[j]
        length = np.sqrt(dot(v, v))
        factor = 1.0 / length if length > rounding * before and length > tiny else 0.0
        for j in range(v.shape[0]):
            v[j] *= factor


@kernel
def project(X, v, out):
    """Compute out[i] = X[i] · v."""
    for i in range(X.shape[0]):
        out[i] = dot(X[i], v)


@inner
def weighted_sum(X, w):
    """Return Σᵢ w[i] X[i]."""
    total = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total[j] += w[i] * X[i, j]
    return total


@kernel
def weighted_sums(X, w, block_rows, out):
    """Add Σᵢ w[i] X[i] to out[k], where i are the rows of block k: so many rows are a block."""
    for k in range(out.shape[0]):
        total = out[k]
        for i in range(k * block_rows, min((k + 1) * block_rows, X.shape[0])):
            x, weight = X[i], w[i]
            for j in range(x.shape[0]):
                total[j] += weight * x[j]


@kernel
def column_squares(X, w, center, block_rows, out):
    """Add Σᵢ w[i] (X[i, j] - center[j])² to out[k, j], where i are the rows of block k: so many rows are a block."""
    for k in range(out.shape[0]):
        total = out[k]
        for i in range(k * block_rows, min((k + 1) * block_rows, X.shape[0])):
            x, weight = X[i], w[i]
            for j in range(x.shape[0]):
                deviation = x[j] - center[j]
                total[j] += weight * deviation * deviation


@inner
def scatter_times(X, w, center, v):
    """Return Σᵢ w[i] ((X[i] - center) · v) (X[i] - center), with both halves of the product in one pass."""
    total = np.zeros(X.shape[1])
    row = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            row[j] = X[i, j] - center[j]
        c = w[i] * dot(row, v)
        for j in range(X.shape[1]):
            total[j] += c * row[j]
    return total


@kernel
def scatter_times_of_blocks(X, w, center, v, block_rows):
    """Return `scatter_times` of each block of so many rows."""
    n_blocks = (X.shape[0] + block_rows - 1) // block_rows
    out = np.empty((n_blocks, X.shape[1]))
    for k in range(n_blocks):
        start, stop = k * block_rows, min((k + 1) * block_rows, X.shape[0])
        total = scatter_times(X[start:stop], w[start:stop], center, v)
        for j in range(X.shape[1]):
            out[k, j] = total[j]
    return out


@kernel
def group_moments(X, w, group, center, count, total, square):
    """Add up the weight of each group, its distances to the center, and its squared distances."""
    for i in range(X.shape[0]):
        g = group[i]
        count[g] += w[i]
        s = 0.0
        for j in range(X.shape[1]):
            deviation = X[i, j] - center[g, j]
            total[g, j] += w[i] * deviation
            s += deviation * deviation
        square[g] += w[i] * s


@kernel
def fingerprint(X, factors, salt, out):
    """Compute out[i] = a number that depends only on the entries of row i, `factors` and `salt`."""
    for i in range(X.shape[0]):
        out[i] = fingerprint_of(X, i, factors, salt)


@inner
def fingerprint_of(X, i, factors, salt):
    """Return the number of one row."""
    h = salt
    for j in range(X.shape[1]):
        h += _bits(X[i, j]) * factors[j]
    return mix(h)


@inner
def mix(h):
    """Scramble 64 bits, so that similar inputs give unrelated outputs (Steele et al. 2014, SplitMix)."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel
def fingerprint_csr(indptr, indices, data, factors, salt):
    """Return the numbers of `fingerprint` for the rows of a CSR matrix."""
    out = np.empty(indptr.shape[0] - 1, np.uint64)
    for i in range(indptr.shape[0] - 1):
        h = salt
        for k in range(indptr[i], indptr[i + 1]):
            h += _bits(data[k]) * factors[indices[k]]
        out[i] = mix(h)
    return out


@inner
def _bits(x):
    """Return the bits of a number, with the upper half folded into the lower; round numbers use only the upper half."""
    bits = np.float64(x + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    return bits ^ (bits >> np.uint64(32))


@kernel
def gather(X, rows, out):
    """Compute out[i] = X[rows[i]]; `np.take` would copy all rows first if they are not aligned, as those of Dask."""
    for i in range(rows.shape[0]):
        x, copy = X[rows[i]], out[i]  # twice as fast as X[rows[i], j], which looks for negative indices in every column
        for j in range(x.shape[0]):
            copy[j] = x[j]


@kernel
def column_extent(X, low, high):
    """Lower `low` to the smallest entry of each column, and raise `high` to the largest."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]


@kernel
def scatters(X, w, center, block_rows, tile, out):
    """Add Σᵢ w[i] (X[i] - center)(X[i] - center)ᵀ of each block of so many rows to the lower half of out[block].

    Rows are transposed in `tile`, with `TILE` columns and an even number of rows, which stays in the cache. Rows of
    weight 0, those of a held-out half, cost little.
    """
    for block in range(out.shape[0]):
        n_filled, stop = 0, min((block + 1) * block_rows, X.shape[0])
        for i in range(block * block_rows, stop):
            if w[i] > 0.0:
                root, x = np.sqrt(w[i]), X[i]
                for j in range(x.shape[0]):
                    tile[j, n_filled] = root * (x[j] - center[j])
                n_filled += 1
            if n_filled == TILE or (i == stop - 1 and n_filled > 0):
                for j in range(X.shape[1]):
                    for k in range(n_filled, TILE):
                        tile[j, k] = 0.0
                _add_products(tile, out[block])
                n_filled = 0


@inner_reduction
def _add_products(tile, total):
    """Add the products of all pairs of rows to the lower half of a matrix: of two and two, to load each number once."""
    for j in range(0, tile.shape[0], 2):
        for k in range(0, j + 1, 2):
            a, b, c, e = 0.0, 0.0, 0.0, 0.0
            for i in range(tile.shape[1]):
                a += tile[j, i] * tile[k, i]
                b += tile[j, i] * tile[k + 1, i]
                c += tile[j + 1, i] * tile[k, i]
                e += tile[j + 1, i] * tile[k + 1, i]
            total[j, k] += a
            total[j, k + 1] += b
            total[j + 1, k] += c
            total[j + 1, k + 1] += e


@inner
def _scale_of(largest):
    """Return the power of two that brings a number to about 1, so that no square overflows or vanishes."""
    if not 0.0 < largest < np.inf:
        return 1.0
    return math.ldexp(1.0, -min(max(math.frexp(largest)[1], -1000), 1000))


@kernel
def to_unit_length(X, out):
    """Compute out[i] = X[i] / |X[i]|; a row of zeros stays as it is. `out` may be X.

    The result of a row depends neither on other rows nor on the layout of X in memory. Multiplying a row by a power of
    two does not change it.
    """
    for i in range(X.shape[0]):
        largest, squares = 0.0, 0.0
        for j in range(X.shape[1]):
            largest = max(largest, abs(X[i, j]))
        scale = _scale_of(largest)
        for j in range(X.shape[1]):
            x = X[i, j] * scale
            squares += x * x
        length = np.sqrt(squares) if squares > 0.0 else 1.0
        for j in range(X.shape[1]):
            out[i, j] = X[i, j] * scale / length


@kernel
def to_unit_length_csr(indptr, data, out):
    """Run `to_unit_length` on the rows of a CSR matrix without duplicate entries."""
    for i in range(indptr.shape[0] - 1):
        largest, squares = 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(data[k]))
        scale = _scale_of(largest)
        for k in range(indptr[i], indptr[i + 1]):
            x = data[k] * scale
            squares += x * x
        length = np.sqrt(squares) if squares > 0.0 else 1.0
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = data[k] * scale / length
