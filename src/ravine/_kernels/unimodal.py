"""The unimodal distribution nearest to another one, by isotonic regression on both sides of a mode.

The pool of adjacent violators costs O(n) for each mode that is tried.
"""

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._ties import TIE


@inner
def _monotone(density, width, first, step, n, out):
    """Compute out = the weighted least-squares fit of n densities, from `first` in steps of 1 or -1, that increases."""
    value, weight, size = np.empty(n), np.empty(n), np.empty(n, np.int64)
    top = -1
    for k in range(n):
        i = first + step * k
        top += 1
        value[top], weight[top], size[top] = density[i], width[i], 1
        while top > 0 and value[top - 1] >= value[top]:
            both = weight[top - 1] + weight[top]
            value[top - 1] = (value[top - 1] * weight[top - 1] + value[top] * weight[top]) / both
            weight[top - 1] = both
            size[top - 1] += size[top]
            top -= 1
    k = 0
    for block in range(top + 1):
        for _ in range(size[block]):
            out[first + step * k] = value[block]
            k += 1


@kernel
def nearest(density, width, below, modes):
    """Return the probabilities below each position whose densities increase up to a mode and decrease from there.

    Parameters
    ----------
    density, width : ndarray of shape (n,)
        Density between two positions, and their distance.
    below : ndarray of shape (n + 1,)
        Probability below each position.
    modes : ndarray of int
        Numbers of densities before the modes that are tried. The first one of those that are nearest to `below`, in
        the largest difference, wins.
    """
    n = density.shape[0]
    found, apart = np.zeros((modes.shape[0], n + 1)), np.zeros(modes.shape[0])
    fitted = np.empty(n)
    first, step = 0, 1  # not written out below: a number that is written out is a type of its own
    least = np.inf
    for m in range(modes.shape[0]):
        _monotone(density, width, first, step, modes[m], fitted)
        _monotone(density, width, n - 1, -step, n - modes[m], fitted)
        for i in range(n):
            found[m, i + 1] = found[m, i] + fitted[i] * width[i]
        total = found[m, n]
        for i in range(n + 1):
            found[m, i] /= total
            apart[m] = max(apart[m], abs(found[m, i] - below[i]))
        least = min(least, apart[m])
    for m in range(modes.shape[0]):
        if apart[m] <= least * (1.0 + TIE):
            return found[m]
    return found[0]
