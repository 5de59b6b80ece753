"""A sample on a line stored as few intervals, and its dip (Hofmeyr, Pavlidis and Eckley 2016, §4.2 and Appendix A).

An interval represents some atoms of equal weight at equal distances from one of its ends to the other. A sample is an
array with one row each for `LOW`, `HIGH`, `WEIGHT`, `ATOMS` and `COST`, and one column per interval, from left to
right. ``COST[i]`` is how far the distribution would move if intervals i and i + 1 were merged.
"""

import math

from ravine._kernels._compile import inner, kernel

LOW, HIGH, WEIGHT, ATOMS, COST = range(5)
N_ROWS = 5

REACH, SHORT = 8.0, 1e-9
"""Distances in bandwidths: beyond the first, a piece adds nothing to the density; a piece shorter than the second is a
point."""

TWICE_PEAK = 2.0 / math.sqrt(2.0 * math.pi)
"""Twice the standard Gaussian density at 0."""


@inner
def _merger_cost(sample, i):
    """Return the largest distance, times the total weight, between the distributions before and after a merger.

    Intervals i and i + 1 are merged. After the merger, the atoms lie at equal distances from end to end. Between the
    corners of the two distributions, the distance is linear. So it is largest at one of the inner ends: for the upper
    corners at the end of the left interval, or for the lower ones at the start of the right interval.
    """
    start = sample[LOW, i]
    length = sample[HIGH, i + 1] - start
    left = sample[WEIGHT, i]
    n_steps = sample[ATOMS, i] + sample[ATOMS, i + 1] - 1.0
    step = (left + sample[WEIGHT, i + 1]) / (n_steps + 1.0)
    at_end = left - step * (1.0 + (sample[HIGH, i] - start) / length * n_steps)
    at_start = left - step * ((sample[LOW, i + 1] - start) / length * n_steps)
    return max(abs(at_end), abs(at_start))


@inner
def insert(sample, n_intervals, limit, x, weight):
    """Add an atom, and merge two neighbors if there are then more than `limit` intervals.

    Returns the number of intervals, and an upper bound for the weight that the merger has added at a corner of the
    distribution. Relative to the total weight, this bounds how much the merger can have raised the dip. It is 0 for
    atoms of equal weights.
    """
    first, end = 0, n_intervals  # binary search for the first interval that starts after x
    while first < end:
        middle = (first + end) // 2
        if sample[LOW, middle] <= x:
            first = middle + 1
        else:
            end = middle
    if first > 0 and x <= sample[HIGH, first - 1]:
        sample[WEIGHT, first - 1] += weight
        sample[ATOMS, first - 1] += 1.0
        _renew_costs(sample, n_intervals, first - 1)
        return n_intervals, 0.0
    for row in range(N_ROWS):
        for j in range(n_intervals, first, -1):
            sample[row, j] = sample[row, j - 1]
    sample[LOW, first] = sample[HIGH, first] = x
    sample[WEIGHT, first] = weight
    sample[ATOMS, first] = 1.0
    _renew_costs(sample, n_intervals + 1, first)
    if n_intervals < limit:
        return n_intervals + 1, 0.0
    return n_intervals, _merge_cheapest(sample, n_intervals + 1)


@inner
def _renew_costs(sample, n_intervals, i):
    """Update the costs of the mergers that involve interval i."""
    if i > 0:
        sample[COST, i - 1] = _merger_cost(sample, i - 1)
    if i + 1 < n_intervals:
        sample[COST, i] = _merger_cost(sample, i)


@inner
def _merge_cheapest(sample, n_intervals):
    best = 0
    for i in range(1, n_intervals - 1):
        if sample[COST, i] < sample[COST, best]:
            best = i
    first_atom = sample[WEIGHT, best] / sample[ATOMS, best]
    last_atom = sample[WEIGHT, best + 1] / sample[ATOMS, best + 1]
    sample[HIGH, best] = sample[HIGH, best + 1]
    sample[WEIGHT, best] += sample[WEIGHT, best + 1]
    sample[ATOMS, best] += sample[ATOMS, best + 1]
    for row in range(N_ROWS):
        for j in range(best + 1, n_intervals - 1):
            sample[row, j] = sample[row, j + 1]
    _renew_costs(sample, n_intervals - 1, best)
    atom = sample[WEIGHT, best] / sample[ATOMS, best]
    return max(atom - min(first_atom, last_atom), 0.0)


@inner
def corners(sample, n_intervals, x, below, above):
    """Compute the ends of the intervals, and the distribution just before and at each end; return their number.

    The atoms between lie on the lines through these corners. Atoms at one position have two corners there, for the
    first and the last of them: a unimodal distribution may jump at its mode.
    """
    n, total = 0, 0.0
    for i in range(n_intervals):
        total += sample[WEIGHT, i]
    before = 0.0
    for i in range(n_intervals):
        weight = sample[WEIGHT, i] / total
        if sample[ATOMS, i] > 1.0:
            atom = weight / sample[ATOMS, i]
            x[n], below[n], above[n] = sample[LOW, i], before, before + atom
            x[n + 1], below[n + 1], above[n + 1] = sample[HIGH, i], before + weight - atom, before + weight
            n += 2
        else:
            x[n], below[n], above[n] = sample[LOW, i], before, before + weight
            n += 1
        before += weight
    return n


@kernel
def dip(sample, n_intervals, x, below, above, minorant, majorant, gcm, lcm):
    """Return the dip of the sample (Hartigan 1985), and the level: the slope of the segment at which it is attained.

    The other arguments are work arrays for twice as many numbers as there are intervals.
    """
    n = corners(sample, n_intervals, x, below, above)
    if n < 2:
        return 0.0, 0.0
    minorant[0] = 0
    for j in range(1, n):
        minorant[j] = j - 1
        while True:
            a = minorant[j]
            b = minorant[a]
            if a == 0 or (x[j] - x[a]) * (below[a] - below[b]) < (x[a] - x[b]) * (below[j] - below[a]):
                break
            minorant[j] = b
    majorant[n - 1] = n - 1
    for k in range(n - 2, -1, -1):
        majorant[k] = k + 1
        while True:
            a = majorant[k]
            b = majorant[a]
            if a == n - 1 or (x[k] - x[a]) * (above[a] - above[b]) < (x[a] - x[b]) * (above[k] - above[a]):
                break
            majorant[k] = b
    low, high = 0, n - 1
    found, level = 0.0, 0.0
    while True:
        gcm[0] = high
        n_gcm = 1
        while gcm[n_gcm - 1] > low:
            gcm[n_gcm] = minorant[gcm[n_gcm - 1]]
            n_gcm += 1
        lcm[0] = low
        n_lcm = 1
        while lcm[n_lcm - 1] < high:
            lcm[n_lcm] = majorant[lcm[n_lcm - 1]]
            n_lcm += 1
        ig, ih = n_gcm - 1, n_lcm - 1
        widest = 0.0
        if n_gcm != 2 or n_lcm != 2:
            ix, iv = n_gcm - 2, 1
            while True:
                g, v = gcm[ix], lcm[iv]
                if g > v:  # a corner of the majorant above a segment of the minorant
                    g1 = gcm[ix + 1]
                    slope = (below[g] - below[g1]) / (x[g] - x[g1])
                    distance = above[v] - below[g1] - (x[v] - x[g1]) * slope
                    iv += 1
                    if distance >= widest:
                        widest, ig, ih = distance, ix + 1, iv - 1
                else:
                    v1 = lcm[iv - 1]
                    slope = (above[v] - above[v1]) / (x[v] - x[v1])
                    distance = (x[g] - x[v1]) * slope - (below[g] - above[v1])
                    ix -= 1
                    if distance >= widest:
                        widest, ig, ih = distance, ix + 1, iv
                ix = max(ix, 0)
                iv = min(iv, n_lcm - 1)
                if gcm[ix] == lcm[iv]:
                    break
        if widest < found:
            break
        for j in range(ig, n_gcm - 1):
            start, stop = gcm[j + 1], gcm[j]
            if x[start] == x[stop]:
                continue
            slope = (below[stop] - below[start]) / (x[stop] - x[start])
            for k in range(start, stop + 1):
                distance = above[k] - below[start] - (x[k] - x[start]) * slope
                if distance > found:
                    found, level = distance, slope
        for j in range(ih, n_lcm - 1):
            start, stop = lcm[j], lcm[j + 1]
            if x[start] == x[stop]:
                continue
            slope = (above[stop] - above[start]) / (x[stop] - x[start])
            for k in range(start, stop + 1):
                distance = (x[k] - x[start]) * slope - (below[k] - above[start])
                if distance > found:
                    found, level = distance, slope
        if low == gcm[ig] and high == lcm[ih]:
            break
        low, high = gcm[ig], lcm[ih]
        if low >= high:
            break
    return found / 2.0, level


@kernel
def smooth(low, high, weight, bandwidth, x, out):
    """Compute the density of uniform pieces at the positions x, smoothed by a Gaussian.

    A piece without length is a point.
    """
    reach, root = REACH * bandwidth, math.sqrt(2.0) * bandwidth
    for j in range(x.shape[0]):
        total = 0.0
        for i in range(low.shape[0]):
            if low[i] - reach < x[j] < high[i] + reach:
                length = high[i] - low[i]
                if length > SHORT * bandwidth:
                    total += weight[i] * (math.erf((x[j] - low[i]) / root) - math.erf((x[j] - high[i]) / root)) / length
                else:
                    z = (x[j] - low[i]) / bandwidth
                    total += weight[i] * math.exp(-0.5 * z * z) * TWICE_PEAK / bandwidth
        out[j] = total / 2.0
