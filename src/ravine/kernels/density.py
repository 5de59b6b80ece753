"""The density of numbers on a line: linear binning, smoothing on the grid, valleys between modes.

Binning costs O(n), smoothing O(bins · bandwidth in bins); both are exact sums, so an empty stretch has density exactly
zero and no ripple is taken for a valley.
"""

import numpy as np

from ravine.kernels._compile import kernel


@kernel
def bin_linear(values, w, low, step, n_bins):
    """Weight on the grid points low, low + step, …; that of a value is shared between its two neighbours."""
    counts = np.zeros(n_bins)
    for i in range(values.shape[0]):
        position = (values[i] - low) / step
        k = min(max(int(position), 0), n_bins - 2)
        share = position - k
        counts[k] += w[i] * (1.0 - share)
        counts[k + 1] += w[i] * share
    return counts


@kernel
def smooth(counts, weights):
    """Convolve `counts` with the symmetric kernel whose right half, centre included, is `weights`."""
    n = counts.shape[0]
    reach = weights.shape[0]
    out = np.zeros(n)
    for k in range(n):
        c = counts[k]
        if c == 0.0:
            continue
        out[k] += c * weights[0]
        for m in range(1, min(reach, n - k)):
            out[k + m] += c * weights[m]
        for m in range(1, min(reach, k + 1)):
            out[k - m] += c * weights[m]
    return out


@kernel
def valleys(density):
    """Rows (valley, left mode, right mode, width) of grid indices, one for each antimode, from left to right.

    An antimode is a longest run of equal values with larger values on both sides; `valley` is its middle and `width`
    its length. The modes are the nearest ones, where the density stops rising.
    """
    n = density.shape[0]
    found = np.empty((n, 4), np.int64)
    n_found = 0
    mode = 0  # start of the last run after which the density fell
    open_valley = -1  # row of `found` whose right mode is still to come
    start = 0
    direction = 0  # of the step into the present run: 1 up, -1 down, 0 none yet
    while start < n:
        stop = start
        while stop < n and density[stop] == density[start]:
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


@kernel
def typical_gaps(rows):
    """For each row of sorted values, the median over its entries of the distance to the next larger value.

    The largest value counts the distance to the value below it; a constant row gives 0.
    """
    n_rows, n = rows.shape
    out = np.zeros(n_rows)
    gaps = np.empty(n)
    for r in range(n_rows):
        values = rows[r]
        if values[0] == values[n - 1]:
            continue
        gap = 0.0
        for i in range(n - 1, -1, -1):
            if i < n - 1 and values[i + 1] > values[i]:
                gap = values[i + 1] - values[i]
            gaps[i] = gap
        i = n - 1
        while gaps[i] == 0.0:
            i -= 1
        for k in range(i + 1, n):
            gaps[k] = gaps[i]
        out[r] = np.median(gaps)
    return out


@kernel
def best_window(density, found, count, step, shares, least_window, least_side):
    """The valley and the window whose test promises most: (score, valley, left mode, right mode, window).

    Each row of `found` (from `valleys`) is tried with its nearest modes and with the highest mode on each side, with
    windows of `shares` times the distance to the nearer mode, no smaller than `least_window`. The score is the smaller
    of the two standardised differences between a mode's window and the valley's; 0 where there is no such window. A
    valley with less than the share `least_side` of the weight on one side is passed over.
    """
    n = density.shape[0]
    mass = np.cumsum(density) * step
    highest_before = np.zeros(n, np.int64)
    highest_after = np.full(n, n - 1)
    for k in range(1, n):
        before, after = highest_before[k - 1], highest_after[n - k]
        highest_before[k] = k if density[k] > density[before] else before
        highest_after[n - 1 - k] = n - 1 - k if density[n - 1 - k] > density[after] else after
    best = (0.0, 0, 0, 0, 0.0)
    for i in range(found.shape[0]):
        valley = found[i, 0]
        if not least_side <= mass[valley] / mass[n - 1] <= 1.0 - least_side:
            continue
        for far in range(2):
            left = highest_before[valley] if far else found[i, 1]
            right = highest_after[valley] if far else found[i, 2]
            for share in shares:
                window = share * min(valley - left, right - valley)
                if window * step < least_window:
                    continue
                middle = _mass_around(mass, valley, window)
                score = np.inf
                for mode in (left, right):
                    beside = _mass_around(mass, mode, window)
                    score = min(score, (beside - middle) * np.sqrt(count / (beside + middle + 1.0 / count)))
                if score > best[0]:
                    best = (score, valley, left, right, window * step)
    return best


@kernel
def _mass_around(mass, centre, window):
    return _interpolate(mass, centre + window / 2) - _interpolate(mass, centre - window / 2)


@kernel
def _interpolate(mass, position):
    n = mass.shape[0]
    position = min(max(position, 0.0), n - 1.0)
    k = min(int(position), n - 2)
    return mass[k] + (position - k) * (mass[k + 1] - mass[k])
