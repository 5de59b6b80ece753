"""The normalized cut of masses on a line (Hofmeyr 2016, ch. 4 §3.1-3.2), by recursions that cannot overflow.

With the similarity exp(-|x - y| / σ), the sums from the left and from the right of a sorted line follow from their
neighbors by one multiplication. So every cut of n masses costs O(n) in total, and so do the derivatives of the best
cut.
"""

import numpy as np

from ravine._kernels._compile import kernel
from ravine._kernels.ties import middle_of_least
from ravine._ties import ROUNDING


@kernel
def best_cut(mass, decay, least, potential, slope):
    """Find the best cut of sorted masses: (value, k), with the masses 0..k on its left.

    Equal positions are never separated.

    Cuts across the same empty stretch have the same value; the middle one is taken.

    Parameters
    ----------
    mass : ndarray of shape (n,)
    decay : ndarray of shape (n,)
        decay[i] is the similarity between positions i and i + 1; the last entry is not used.
    least : float
        Minimum mass on either side.
    potential, slope : ndarray of shape (n,)
        Filled with the derivative of the best value by the mass at each position, and with the derivative of that by
        the position, in units of 1 / σ. Not changed if there is no cut; k is then -1.
    """
    n = mass.shape[0]
    left, right = np.empty(n), np.empty(n)  # similarity to all masses up to and including i; to all masses after i
    left[0] = mass[0]
    for i in range(1, n):
        left[i] = mass[i] + decay[i - 1] * left[i - 1]
    right[n - 1] = 0.0
    for i in range(n - 2, -1, -1):
        right[i] = decay[i] * (mass[i + 1] + right[i + 1])
    total, volume = 0.0, 0.0
    for i in range(n):
        total += mass[i]
        volume += mass[i] * (left[i] + right[i])

    values, insides = np.full(n, np.inf), np.empty(n)
    before, inside = 0.0, 0.0
    for i in range(n - 1):
        before += mass[i]
        inside += mass[i] * (left[i] + right[i])
        insides[i] = inside
        if decay[i] >= 1.0 - ROUNDING or before < least or total - before < least:
            continue
        if inside > 0.0 and volume - inside > 0.0:
            values[i] = left[i] * right[i] * (1.0 / inside + 1.0 / (volume - inside))
    k = middle_of_least(values)
    value = values[k]
    if value == np.inf:
        return value, -1

    a = insides[k]
    b = volume - a
    cut = left[k] * right[k]
    both = 1.0 / a + 1.0 / b
    per_a, per_b = cut / (a * a), cut / (b * b)
    to_k = 1.0
    for i in range(k, -1, -1):
        across = to_k * right[k]
        degree, tilt = left[i] + right[i], right[i] - (left[i] - mass[i])
        potential[i] = across * both - per_a * (2.0 * degree - across) - per_b * across
        slope[i] = across * both - per_a * (2.0 * tilt - across) - per_b * across
        if i > 0:
            to_k *= decay[i - 1]
    to_k = 1.0
    for i in range(k + 1, n):
        to_k *= decay[i - 1]
        across = to_k * left[k]
        degree, tilt = left[i] + right[i], right[i] - (left[i] - mass[i])
        potential[i] = across * both - per_a * across - per_b * (2.0 * degree - across)
        slope[i] = -across * both + per_a * across - per_b * (2.0 * tilt + across)
    return value, k
