"""Passes over the rows of a matrix: projections, walks down a tree, weighted sums, the scatter matrix times a vector.

Each kernel reads every row once and is limited by memory, not by arithmetic. Sums run in float64, whatever the type of
the data. The side of a row at a cut is decided only in `walk` (`walk_csr` for sparse rows), so fit and predict agree to
the last bit.
"""

import numpy as np

from ravine._kernels._compile import kernel, reduction


@reduction
def dot(x, v):
    """Return x · v."""
    s = 0.0
    for j in range(x.shape[0]):
        s += x[j] * v[j]
    return s


@kernel
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


@kernel
def project(X, v, out):
    """Compute out[i] = X[i] · v."""
    for i in range(X.shape[0]):
        out[i] = dot(X[i], v)


@kernel
def weighted_sum(X, w):
    """Return Σᵢ w[i] X[i]."""
    total = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total[j] += w[i] * X[i, j]
    return total


@kernel
def column_squares(X, w, center):
    """Return Σᵢ w[i] (X[i, j] - center[j])² for each column j."""
    total = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            deviation = X[i, j] - center[j]
            total[j] += w[i] * deviation * deviation
    return total


@kernel
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
def group_moments(X, w, group, center):
    """Return the weight of each group, and the sums of distances to its center and of squared distances."""
    count, total, square = np.zeros(center.shape[0]), np.zeros(center.shape), np.zeros(center.shape[0])
    for i in range(X.shape[0]):
        g = group[i]
        count[g] += w[i]
        s = 0.0
        for j in range(X.shape[1]):
            deviation = X[i, j] - center[g, j]
            total[g, j] += w[i] * deviation
            s += deviation * deviation
        square[g] += w[i] * s
    return count, total, square


@kernel
def fingerprint(X, factors, salt):
    """Return a number per row that depends only on its entries, `factors` and `salt`.

    Similar rows have similar numbers, so the numbers must still be mixed.
    """
    out = np.empty(X.shape[0], np.uint64)
    for i in range(X.shape[0]):
        h = salt
        for j in range(X.shape[1]):
            h += _bits(X[i, j]) * factors[j]
        out[i] = h
    return out


@kernel
def fingerprint_csr(indptr, indices, data, factors, salt):
    """Return the numbers of `fingerprint` for the rows of a CSR matrix."""
    out = np.empty(indptr.shape[0] - 1, np.uint64)
    for i in range(indptr.shape[0] - 1):
        h = salt
        for k in range(indptr[i], indptr[i + 1]):
            h += _bits(data[k]) * factors[indices[k]]
        out[i] = h
    return out


@kernel
def _bits(x):
    """Return the bits of a number, with the upper half folded into the lower; round numbers use only the upper half."""
    bits = np.float64(x + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    return bits ^ (bits >> np.uint64(32))
