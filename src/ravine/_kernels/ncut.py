"""The normalized cut of masses on a line (Hofmeyr 2016, ch. 4 §3.1-3.2), by recursions that cannot overflow.

With the similarity exp(-|x - y| / σ), the sums from the left and from the right of a sorted line follow from their
neighbors by one multiplication. So every cut of n masses costs O(n) in total, and so do the derivatives of the best
cut.
"""

from typing import NamedTuple

import numpy as np

from ravine._kernels import bfgs
from ravine._kernels._compile import inner, kernel
from ravine._kernels.density import bin_linear
from ravine._kernels.pursuit import aim, gradient_by_trial, project_centered
from ravine._kernels.ties import middle_of_least
from ravine._ties import ROUNDING

RUN = 16
"""Runs of this length are sorted by insertion before they are merged."""


class Settings(NamedTuple):
    """Constants of a search for the minimum normalized cut; see `ravine.cuts._ncut.NormalizedCut`.

    Attributes
    ----------
    scale, step, least : float
    max_bins, exact_rows : int
    log : bool
    """

    scale: float
    step: float
    least: float
    max_bins: int
    exact_rows: int
    log: bool


@inner
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

    values, insides = np.empty(n), np.empty(n)
    values[n - 1] = np.inf
    before, inside = 0.0, 0.0
    for i in range(n - 1):
        values[i] = np.inf
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


@inner
def sort_order(values, order, scratch):
    """Sort `order` so that values[order] increases; equal values keep their order.

    It starts from the order that it is given: in a search, that of the direction before, which is almost sorted.
    """
    n = order.shape[0]
    for start in range(0, n, RUN):
        for i in range(start + 1, min(start + RUN, n)):
            moved = order[i]
            j = i
            while j > start and values[order[j - 1]] > values[moved]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    width = RUN
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle, stop = start + width, min(start + 2 * width, n)
            if values[order[middle - 1]] <= values[order[middle]]:
                continue
            for i in range(start, middle):
                scratch[i] = order[i]
            i, j, k = start, middle, start
            while i < middle:
                if j < stop and values[order[j]] < values[scratch[i]]:
                    order[k] = order[j]
                    j += 1
                else:
                    order[k] = scratch[i]
                    i += 1
                k += 1
        width *= 2


@inner
def least_of_rows(values, w, order, scratch, settings, slopes):
    """Find the minimum NCut of values: (value, position). `slopes` is filled with the derivatives by the values.

    `order` is the order of the values for a direction before, and is updated.
    """
    n = values.shape[0]
    sort_order(values, order, scratch)
    mass, decay, potential, slope = np.empty(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        mass[i] = w[order[i]]
        if i > 0:
            decay[i - 1] = np.exp(-(values[order[i]] - values[order[i - 1]]) / settings.scale)
    value, k = best_cut(mass, decay, settings.least, potential, slope)
    for i in range(n):
        slopes[order[i]] = mass[i] * slope[i] / settings.scale
    position = 0.5 * (values[order[k]] + values[order[k + 1]]) if k >= 0 else 0.0
    return value, position


@inner
def least_on_grid(values, w, settings, slopes):
    """Find the minimum NCut of values binned on a grid, as `least_of_rows` does for the values themselves."""
    lowest, highest = np.inf, -np.inf
    for i in range(values.shape[0]):
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    step = max(settings.step, (highest - lowest) / (settings.max_bins - 4))
    first = np.floor(lowest / step) - 1.0
    n_bins = int(np.ceil(highest / step) - first) + 2
    mass = bin_linear(values, w, first * step, step, n_bins)
    decay, potential, slope = np.empty(n_bins), np.zeros(n_bins), np.zeros(n_bins)
    decay[:] = np.exp(-step / settings.scale)
    value, k = best_cut(mass, decay, settings.least, potential, slope)
    for i in range(values.shape[0]):
        m = min(max(int((values[i] - first * step) / step), 0), n_bins - 2)
        slopes[i] = w[i] * (potential[m + 1] - potential[m]) / step
    return value, first * step + (k + 0.5) * step


@kernel
def search(X, w, mean, descent, settings, order):
    """Run `ravine.cuts._pursuit.search` for the minimum normalized cut in one call: direction, value and position.

    `order` has as many entries as there are rows; it is used for at most `exact_rows` rows.
    """
    direction, values, slopes = np.empty(X.shape[1]), np.empty(X.shape[0]), np.empty(X.shape[0])
    scratch = np.empty(order.shape[0], np.int64)
    trial, point = descent.vectors[bfgs.TRIAL], descent.vectors[bfgs.POINT]
    value, position, answer = np.inf, 0.0, bfgs.ASK_VALUE
    while answer == bfgs.ASK_VALUE:
        length = aim(trial, direction)
        project_centered(X, direction, mean, 1.0, values)
        if X.shape[0] <= settings.exact_rows:
            here, place = least_of_rows(values, w, order, scratch, settings, slopes)
        else:
            here, place = least_on_grid(values, w, settings, slopes)
        if settings.log:
            length *= here
            here = np.log(here) if 0.0 < here < np.inf else np.inf
        answer = bfgs.tell_value(descent, here)
        if answer == bfgs.ASK_GRADIENT or answer == bfgs.ENDS_AT_TRIAL:
            value, position = here, place
        if answer == bfgs.ASK_GRADIENT:
            answer = bfgs.tell_gradient(descent, gradient_by_trial(X, slopes, mean, direction, length))
    aim(point, direction)
    return direction, value, position
