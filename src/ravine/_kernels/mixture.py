"""Distances of rows from the components of a mixture, and the component with the largest density.

A component k has a mean, a lower triangular matrix F, and a constant c. The squared distance of a row x is
q = |F (x - mean)|², and the logarithm of its weighted density is c - power · log(1 + q / freedom), that of a
multivariate t distribution. A distance costs d² / 2 products, less where only the largest density is asked for: the sum
of squares only grows, so that most components are ruled out after a few columns. The result of a row does not depend on
other rows.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.rows import dot


@kernel
def squared_distances(X, mean, factor, out):
    """Compute out[i, k] = |factor[k] (X[i] - mean[k])|²; a single factor is that of all k."""
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        for k in range(mean.shape[0]):
            out[i, k] = _distance(X[i], k, mean, factor, np.inf, z)


@kernel
def squared_distance(X, component, mean, factor, out):
    """Compute out[i] = |factor[k] (X[i] - mean[k])|² for k = component[i]; a single factor is that of all k."""
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        out[i] = _distance(X[i], component[i], mean, factor, np.inf, z)


@kernel
def likeliest(X, mean, factor, constant, freedom, power, first, out):
    """Compute out[i] = the k of the largest log density, the smallest k if there are several.

    The search starts with first[i], which is also the result if no density is above zero.
    """
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        best = first[i]
        most = constant[best] - power * math.log1p(_distance(X[i], best, mean, factor, np.inf, z) / freedom)
        for k in range(mean.shape[0]):
            if k == first[i] or constant[k] < most:
                continue
            # Beyond this distance, up to rounding, the density is below the largest one so far.
            reach = 1.000001 * freedom * math.expm1((constant[k] - most) / power) + 1e-300
            q = _distance(X[i], k, mean, factor, reach, z)
            density = constant[k] - power * math.log1p(q / freedom) if q <= reach else -np.inf
            if density > most or (density == most and k < best and most > -np.inf):
                best = k
                most = density
        out[i] = best


@inner
def _distance(x, k, mean, factor, reach, z):
    """Return the squared distance of a row from component k, or any larger number if it is beyond `reach`."""
    matrix = factor[k] if factor.shape[0] > 1 else factor[0]
    center = mean[k]
    q = 0.0
    for j in range(x.shape[0]):
        z[j] = x[j] - center[j]
        y = dot(z[: j + 1], matrix[j, : j + 1])
        q += y * y
        if q > reach:
            return q
    return q
