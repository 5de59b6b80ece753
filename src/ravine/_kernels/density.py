"""The density of numbers on a line: linear binning, smoothing on the grid, and valleys between modes.

Binning costs O(n) and smoothing O(bins · bandwidth in bins). Both are exact sums, so an empty stretch has density
exactly zero and no ripple is mistaken for a valley.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.ties import is_less
from ravine._ties import ROUNDING, TIE

EPS = np.finfo(np.float64).eps


@kernel
def bin_linear(values, w, low, step, n_bins):
    """Return the weight on the grid points low, low + step, …

    Each value shares its weight between its two neighbors.
    """
    counts = np.zeros(n_bins)
    add_linear(values, w, low, step, counts)
    return counts


@inner
def add_linear(values, w, low, step, counts):
    """Add weights to grid points as `bin_linear` does."""
    last = counts.shape[0] - 2
    for i in range(values.shape[0]):
        position = (values[i] - low) / step
        k = min(max(int(position), 0), last)
        share = position - k
        counts[k] += w[i] * (1.0 - share)
        counts[k + 1] += w[i] * share


@inner
def slopes(values, w, low, step, potential):
    """Return derivatives by the values of a function of the binned weights; `potential` are those by the weights."""
    out = np.empty(values.shape[0])
    last = potential.shape[0] - 2
    for i in range(values.shape[0]):
        k = min(max(int((values[i] - low) / step), 0), last)
        out[i] = w[i] * (potential[k + 1] - potential[k]) / step
    return out


@kernel
def smooth(counts, weights):
    """Convolve `counts` with the symmetric kernel whose right half, including the center, is `weights`."""
    n, reach = counts.shape[0], weights.shape[0]
    padded, taps = np.zeros(n + 2 * reach + 4), np.zeros(2 * reach + 3)
    for k in range(n):
        padded[reach - 1 + k] = counts[k]
    for m in range(reach):
        taps[reach - 1 - m] = taps[reach - 1 + m] = weights[m]
    out = np.zeros(n)
    for k in range(0, 2 * reach - 1, 4):
        _add_shifted(out, padded[k:], padded[k + 1 :], padded[k + 2 :], padded[k + 3 :], taps[k:])
    return out


@inner
def _add_shifted(out, x, y, z, u, taps):
    """Add four arrays, each times its tap, in their order; with one array, most time would go into loads and stores."""
    a, b, c, e = taps[0], taps[1], taps[2], taps[3]
    for k in range(out.shape[0]):
        out[k] = out[k] + x[k] * a + y[k] * b + z[k] * c + u[k] * e


@kernel
def valleys(density):
    """Return rows (valley, left mode, right mode, width) of grid indices, one per antimode, from left to right.

    An antimode is a maximal run of values that are equal, up to rounding, with larger values on both sides. `valley` is
    its middle and `width` its length. The modes are the nearest ones, where the density stops increasing.
    """
    n = density.shape[0]
    found = np.empty((n, 4), np.int64)
    n_found = 0
    mode = 0  # start of the last run after which the density decreased
    open_valley = -1  # row of `found` whose right mode is not known yet
    start = 0
    direction = 0  # of the step into the current run: 1 up, -1 down, 0 none yet
    while start < n:
        stop = start + 1  # advances past NaN too
        while stop < n and abs(density[stop] - density[start]) <= ROUNDING * abs(density[start]):
            stop += 1
        rises = stop < n and density[stop] > density[start]
        middle = (start + stop - 1) // 2
        if not rises and direction >= 0:  # a mode
            mode = middle
            if open_valley >= 0:
                found[open_valley, 2] = middle
                open_valley = -1
        if rises and direction < 0:  # an antimode
            found[n_found, 0] = middle
            found[n_found, 1] = mode
            found[n_found, 3] = stop - start
            open_valley = n_found
            n_found += 1
        direction = 1 if rises else -1
        start = stop
    return found[:n_found]


@inner
def best_window(density, mass, found, count, step, shares, least_window, least_side):
    """Find the valley and window with the best test score: (score, valley, left mode, right mode, window).

    `mass` is the share of the weight up to each grid point. Each row of `found` (from `valleys`) is tried with its
    nearest modes, and with the highest mode on each side. The windows are `shares` times the distance to the nearer
    mode; windows smaller than `least_window` are skipped. The score is the smaller of the two standardized differences
    between the window of a mode and that of the valley; 0 if there is no such window. Valleys with less than the share
    `least_side` of the weight on one side are skipped.
    """
    n = density.shape[0]
    highest_before, highest_after = np.empty(n, np.int64), np.empty(n, np.int64)
    before, after = 0, n - 1
    highest_before[before], highest_after[after] = before, after
    for k in range(1, n if found.shape[0] > 0 else 0):
        if is_less(density[before], density[k]):
            before = k
        if is_less(density[after], density[n - 1 - k]):
            after = n - 1 - k
        highest_before[k], highest_after[n - 1 - k] = before, after
    best_score, best_valley, best_left, best_right, best_window = 0.0, 0, 0, 0, 0.0
    for i in range(found.shape[0]):
        valley = found[i, 0]
        if not least_side <= mass[valley] <= 1.0 - least_side:
            continue
        for far in range(2):
            left = highest_before[valley] if far else found[i, 1]
            right = highest_after[valley] if far else found[i, 2]
            for j in range(shares.shape[0]):
                window = shares[j] * min(valley - left, right - valley)
                if window * step < least_window:
                    continue
                middle = _mass_around(mass, valley, window)
                score = min(
                    _difference(_mass_around(mass, left, window), middle, count),
                    _difference(_mass_around(mass, right, window), middle, count),
                )
                if score > best_score + TIE * (1.0 + best_score):
                    best_score, best_valley, best_left, best_right = score, valley, left, right
                    best_window = window * step
    return best_score, best_valley, best_left, best_right, best_window


SCORE, POSITION, LEFT_MODE, RIGHT_MODE, WINDOW, AT_VALLEY, AT_LEFT, AT_RIGHT, BANDWIDTH = range(9)
"""Entries of a valley: its score, the positions of the valley and of its two modes, the width of the windows of its
test, the densities at the three positions, which are not normalized, and their bandwidth. All are 0 without a
valley."""

N_ENTRIES = 9


@inner
def strongest_on_line(values, w, count, factor, resolution, multiples, shares, rule, least_side, found):
    """Set `found` to the strongest valley of a line; see `strongest_on_lines`."""
    low, high, total, mean, square = values[0], values[0], 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        low, high = min(low, values[i]), max(high, values[i])
        total += w[i]
        mean += w[i] * (values[i] - values[0])
    mean = values[0] + mean / total
    for i in range(values.shape[0]):
        square += w[i] * (values[i] - mean) * (values[i] - mean)
    reference = factor * math.sqrt(square / total) * max(count, 1.0) ** -0.2
    has_spread = high - low > 8 * EPS * max(abs(low), abs(high))  # more than rounding
    for m in range(multiples.shape[0] if has_spread else 0):
        bandwidth = math.hypot(multiples[m] * reference, resolution / 2)
        start, width = low - rule.margin * bandwidth, high - low + 2 * rule.margin * bandwidth
        n_bins = int(min(max(rule.bins_per_bandwidth * width / bandwidth, rule.min_bins), rule.max_bins))
        step = width / (n_bins - 1)
        right_half = np.empty(int(rule.reach * bandwidth / step) + 1)
        for k in range(right_half.shape[0]):
            right_half[k] = math.exp(-0.5 * (k * step / bandwidth) ** 2)
        counts, total = np.zeros(n_bins), 0.0
        add_linear(values, w, start, step, counts)
        density = smooth(counts, right_half)
        for k in range(n_bins):
            total += density[k]
            counts[k] = total
        for k in range(n_bins):
            counts[k] /= total
        score, valley, left, right, window = best_window(
            density, counts, valleys(density), count, step, shares, resolution, least_side
        )
        if score > 0.0 and (found[SCORE] == 0.0 or is_less(found[SCORE], score)):
            found[SCORE], found[WINDOW], found[BANDWIDTH] = score, window, bandwidth
            found[POSITION], found[AT_VALLEY] = start + step * valley, density[valley]
            found[LEFT_MODE], found[AT_LEFT] = start + step * left, density[left]
            found[RIGHT_MODE], found[AT_RIGHT] = start + step * right, density[right]


@kernel
def strongest_on_lines(values, w, count, factor, resolutions, multiples, shares, rule, least_side, enough, found):
    """Find the strongest valley of each line; that of the last line comes first.

    Parameters
    ----------
    values : ndarray of shape (n_lines, n_values)
        Positions on each line.
    w, count : ndarray of shape (n_values,), float
        Weights, and the number of rows that they count as.
    factor : float
        The bandwidth of a line is this factor times σ n^(-1/5). A line whose values do not vary has no valley.
    resolutions : ndarray of shape (n_lines,)
        Width over which a row is spread along each line.
    multiples, shares : ndarray
        Multiples of the bandwidth that are searched, and window widths relative to the distance from the valley to the
        nearer mode. Valleys that tie are those of the first multiple.
    rule : GridRule
        How fine the grid is; see `ravine.cuts._density`.
    least_side : float
        Minimum share of the weight on either side of a valley.
    enough : float
        Score that ends the search: lines before the one that has it get no valley.
    found : ndarray of shape (n_lines, N_ENTRIES)
        Zeros, where the entries named above are stored.
    """
    for line in range(values.shape[0] - 1, -1, -1):
        resolution = resolutions[line]
        strongest_on_line(values[line], w, count, factor, resolution, multiples, shares, rule, least_side, found[line])
        if found[line, SCORE] >= enough:
            break


@kernel
def mass_around(values, w, center, width, resolution):
    """Return the weight of the values in a window, if each value is spread evenly over the resolution around it."""
    low, high, total = center - width / 2, center + width / 2, 0.0
    for i in range(values.shape[0]):
        if resolution <= 0.0:
            total += w[i] if low <= values[i] < high else 0.0
        else:
            inside = min(high, values[i] + resolution / 2) - max(low, values[i] - resolution / 2)
            total += w[i] * max(0.0, inside) / resolution
    return total


@inner
def _difference(beside, middle, count):
    return (beside - middle) * (count / (beside + middle + 1.0 / count)) ** 0.5


@inner
def _mass_around(mass, center, window):
    return _interpolate(mass, center + window / 2) - _interpolate(mass, center - window / 2)


@inner
def _interpolate(mass, position):
    n = mass.shape[0]
    position = min(max(position, 0.0), n - 1.0)
    k = min(int(position), n - 2)
    return mass[k] + (position - k) * (mass[k + 1] - mass[k])
