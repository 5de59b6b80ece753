"""Log densities of rows in the components of a Gaussian mixture.

A component k has a mean, a lower triangular matrix F, and a constant c. The logarithm of its weighted density at x is
c - |F (x - mean)|² / 2. It costs d² / 2 products for a row, less where only the largest one is asked for: the sum of
squares only grows, so that most components are ruled out after a few columns. The result of a row does not depend on
other rows.
"""

import numpy as np

from ravine._kernels._compile import kernel
from ravine._kernels.rows import dot


@kernel
def log_densities(X, mean, factor, constant, out):
    """Compute out[i, k] = constant[k] - |factor[k] (X[i] - mean[k])|² / 2; a single factor is that of all k."""
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        for k in range(mean.shape[0]):
            out[i, k] = _log_density(X[i], k, mean, factor, constant, -np.inf, z)


@kernel
def likeliest(X, mean, factor, constant, first, out):
    """Compute out[i] = the k of the largest log density, the smallest k if there are several.

    The search starts with first[i], which is also the result if no density is above zero.
    """
    z = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        best = first[i]
        most = _log_density(X[i], best, mean, factor, constant, -np.inf, z)
        for k in range(mean.shape[0]):
            if k != first[i]:
                density = _log_density(X[i], k, mean, factor, constant, most, z)
                if density > most or (density == most and k < best and most > -np.inf):
                    best = k
                    most = density
        out[i] = best


@kernel
def _log_density(x, k, mean, factor, constant, least, z):
    """Return the log density of a row in component k, or any smaller number if it is below `least`."""
    matrix = factor[k] if factor.shape[0] > 1 else factor[0]
    center = mean[k]
    density = constant[k]
    for j in range(x.shape[0]):
        z[j] = x[j] - center[j]
        y = dot(z[: j + 1], matrix[j, : j + 1])
        density -= 0.5 * y * y
        if density < least:
            return density
    return density
