"""Directions along which some rows may have a valley, and the strongest valley of each, in one compiled call.

The directions are the leading principal components, the differences of the means of a small k-means (each mean against
the mean of all other rows, and against the nearest other mean), and the columns with the lightest and the heaviest
tails. Components alone do not separate many groups in many columns, and neither they nor the means see groups that
differ in a single column of many. For n rows, d features and q components, a call costs O(n d q); the loops over the
rows are short, since a leaf of a stream keeps about a thousand rows.
"""

import math

import numpy as np

from ravine._kernels._compile import kernel, reduction
from ravine._kernels.density import best_window, bin_linear, smooth, valleys
from ravine._kernels.rows import dot, project, project_all
from ravine._kernels.ties import is_less
from ravine._ties import OF_A_SUM

SCORE, POSITION, LEFT_MODE, RIGHT_MODE, WINDOW, RESOLUTION = range(6)
"""Entries of a valley: its score, the positions of the valley and of its two modes, the width of the windows of its
test, and the width over which a row is spread along the direction. The score is 0 if there is no valley."""

N_VALLEY = 6

BANDWIDTH = 1.06
"""Factor of the normal-reference bandwidth."""

MULTIPLES = np.array([0.5, 1.0, 0.25])
"""Multiples of that bandwidth that are searched for valleys. The first one alone ranks the directions."""

SHARES = np.array([0.25, 0.5, 0.75, 1.0])
"""Window widths that are tried, relative to the distance from the valley to the nearer mode."""

MARGIN, REACH, BINS_PER_BANDWIDTH, MIN_BINS, MAX_BINS = 3.0, 4.0, 4.0, 200, 4096
"""The grid extends this many bandwidths beyond the values, and the kernel this many beyond a value; number of bins."""

N_ITERATIONS = 4
"""Number of subspace iterations for the components: directions to try need not be exact."""

N_STEPS = 6
"""Number of steps of k-means."""

FEWEST = 4
"""A mean counts if it has at least this many rows, and if as many others are left."""

TINY = 1e-150
"""A vector that is shorter than this has no direction."""

SAME = 0.98
"""Two directions count as one if the absolute value of their cosine is at least this."""


@kernel
def strongest(values, resolution, least_side, n_multiples):
    """Return the strongest valley of numbers on a line, as an array with the entries named above."""
    n = values.shape[0]
    found = np.zeros(N_VALLEY)
    found[RESOLUTION] = resolution
    low, high, mean = values[0], values[0], 0.0
    for i in range(n):
        low, high = min(low, values[i]), max(high, values[i])
        mean += values[i] / n
    square = 0.0
    for i in range(n):
        square += (values[i] - mean) ** 2
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return found
    reference = BANDWIDTH * math.sqrt(square / n) * n**-0.2
    weights = np.ones(n)
    for m in range(n_multiples):
        bandwidth = math.hypot(MULTIPLES[m] * reference, resolution / 2)
        start = low - MARGIN * bandwidth
        width = high - low + 2 * MARGIN * bandwidth
        n_bins = int(min(max(BINS_PER_BANDWIDTH * width / bandwidth, MIN_BINS), MAX_BINS))
        step = width / (n_bins - 1)
        n_kernel = int(REACH * bandwidth / step) + 1
        right_half = np.empty(n_kernel)
        for k in range(n_kernel):
            right_half[k] = math.exp(-0.5 * (k * step / bandwidth) ** 2)
        density = smooth(bin_linear(values, weights, start, step, n_bins), right_half)
        mass = np.cumsum(density)
        for k in range(n_bins):
            mass[k] /= mass[n_bins - 1]
        score, valley, left, right, window = best_window(
            density, mass, valleys(density), float(n), step, SHARES, resolution, least_side
        )
        if score > 0.0 and (found[SCORE] == 0.0 or is_less(found[SCORE], score)):
            found[SCORE], found[WINDOW] = score, window
            found[POSITION], found[LEFT_MODE], found[RIGHT_MODE] = (
                start + step * valley,
                start + step * left,
                start + step * right,
            )
    return found


@kernel
def along(Z, direction):
    """Return the position of each row along a direction."""
    out = np.empty(Z.shape[0])
    project(Z, direction, out)
    return out


@kernel
def count_around(values, center, width, resolution):
    """Return how many values lie in a window, if each value is spread evenly over the resolution around it."""
    low, high, total = center - width / 2, center + width / 2, 0.0
    for i in range(values.shape[0]):
        x = values[i]
        if resolution <= 0.0:
            total += 1.0 if low <= x < high else 0.0
        else:
            total += max(0.0, min(high, x + resolution / 2) - max(low, x - resolution / 2)) / resolution
    return total


@reduction
def _add(out, share, x):
    """Compute out += share x."""
    for j in range(out.shape[0]):
        out[j] += share * x[j]


@kernel
def leading_components(Z, start):
    """Return orthonormal directions of large variance of centered rows, one per row, by subspace iteration.

    If the rows span fewer dimensions, the other directions are 0.
    """
    V, W = start.copy(), np.empty_like(start)
    n_vectors, d = V.shape
    for _ in range(N_ITERATIONS):
        for a in range(n_vectors):
            for j in range(d):
                W[a, j] = 0.0
        for i in range(Z.shape[0]):
            for a in range(n_vectors):
                _add(W[a], dot(V[a], Z[i]), Z[i])
        for a in range(n_vectors):
            rounding = OF_A_SUM * math.sqrt(dot(W[a], W[a]))
            for b in range(a):
                _add(W[a], -dot(W[a], V[b]), V[b])
            length = math.sqrt(dot(W[a], W[a]))
            for j in range(d):
                V[a, j] = W[a, j] / length if length > max(TINY, rounding) else 0.0
    return V


@kernel
def small_k_means(Y, k):
    """Return means and sizes of k groups of rows, from starts that are drawn far apart with a fixed seed."""
    n, q = Y.shape
    means, sizes = np.zeros((k, q)), np.zeros(k)
    nearest, group = np.full(n, np.inf), np.zeros(n, np.int64)
    chosen, draw = 0, 1
    for c in range(k):
        total = 0.0
        for f in range(q):
            means[c, f] = Y[chosen, f]
        for i in range(n):
            s = 0.0
            for f in range(q):
                s += (Y[i, f] - means[c, f]) ** 2
            nearest[i] = min(nearest[i], s)
            total += nearest[i]
        draw = (draw * 16807) % 2147483647  # the minimal standard generator
        target, chosen = draw / 2147483647 * total, 0
        while chosen < n - 1 and target > nearest[chosen]:
            target -= nearest[chosen]
            chosen += 1
    for _ in range(N_STEPS):
        for i in range(n):
            least = np.inf
            for c in range(k):
                s = 0.0
                for f in range(q):
                    s += (Y[i, f] - means[c, f]) ** 2
                    if s > least:
                        break
                if s < least:
                    least, group[i] = s, c
        for c in range(k):
            sizes[c] = 0.0
        sums = np.zeros((k, q))
        for i in range(n):
            sizes[group[i]] += 1.0
            for f in range(q):
                sums[group[i], f] += Y[i, f]
        for c in range(k):
            for f in range(q):
                if sizes[c] > 0.0:
                    means[c, f] = sums[c, f] / sizes[c]
    return means, sizes


@kernel
def differences(means, sizes, n_rows):
    """Return the mean of each group less the mean of all other rows, and less the nearest other mean."""
    k, q = means.shape
    counts = np.zeros(k, np.bool_)
    for c in range(k):
        counts[c] = FEWEST <= sizes[c] <= n_rows - FEWEST
    out, n_out = np.empty((2 * k, q)), 0
    for c in range(k):
        if counts[c]:
            for f in range(q):  # the rows are centered: all other rows sum to the negative of this group
                out[n_out, f] = means[c, f] * n_rows / (n_rows - sizes[c])
            n_out += 1
    partner = np.full(k, -1)
    for c in range(k):
        least = np.inf
        for other in range(k):
            if counts[c] and counts[other] and other != c:
                s = 0.0
                for f in range(q):
                    s += (means[c, f] - means[other, f]) ** 2
                if s < least:
                    least, partner[c] = s, other
    for c in range(k):
        other = partner[c]
        if other >= 0 and not (other < c and partner[other] == c):
            for f in range(q):
                out[n_out, f] = means[c, f] - means[other, f]
            n_out += 1
    return out[:n_out]


@kernel
def striking_columns(Z, n_columns):
    """Return the columns with the smallest and the largest kurtosis, half of them each; rows are centered."""
    n, d = Z.shape
    kurtosis = np.empty(d)
    for j in range(d):
        square, fourth = 0.0, 0.0
        for i in range(n):
            s = Z[i, j] * Z[i, j]
            square += s
            fourth += s * s
        kurtosis[j] = n * fourth / (square * square) if square > 0.0 else 3.0
    order = np.argsort(kurtosis, kind="mergesort")
    if d <= n_columns:
        return order
    half = n_columns // 2
    return np.concatenate((order[:half], order[d - half :]))


@kernel
def propose(Z, start, n_components, n_means, n_columns, extra):
    """Return unit directions, one per row: components, differences of means, columns, and the rows of `extra`."""
    n, d = Z.shape
    V = leading_components(Z, start)
    k = min(n_means, n // 12)
    between = np.empty((0, d))
    if k >= 2 and d > 1:
        reduced = np.empty((n, V.shape[0]))
        project_all(Z, V, reduced)
        means, sizes = small_k_means(reduced, k)
        apart = differences(means, sizes, n)
        between = np.zeros((apart.shape[0], d))
        for i in range(apart.shape[0]):
            for a in range(V.shape[0]):
                _add(between[i], apart[i, a], V[a])
    n_components = min(n_components, V.shape[0])
    columns = striking_columns(Z, n_columns)
    out = np.zeros((n_components + between.shape[0] + extra.shape[0] + columns.shape[0], d))
    for k in range(columns.shape[0]):
        out[k, columns[k]] = 1.0
    n_out = columns.shape[0]
    for block in range(3):
        rows = V[:n_components] if block == 0 else (between if block == 1 else extra)
        for i in range(rows.shape[0]):
            length = math.sqrt(dot(rows[i], rows[i]))
            if length > TINY:
                for j in range(d):
                    out[n_out, j] = rows[i, j] / length
                n_out += 1
    return out[:n_out]


@kernel
def rank(Z, directions, steps, least_side, n_best):
    """Return the directions with the strongest valleys, and these valleys; the strongest is first."""
    n_directions, d = directions.shape
    values = np.empty((n_directions, Z.shape[0]))
    for k in range(n_directions):
        project(Z, directions[k], values[k])
    resolution, score = np.empty(n_directions), np.empty(n_directions)
    for k in range(n_directions):
        s = 0.0
        for j in range(d):
            s += (directions[k, j] * steps[j]) ** 2
        resolution[k] = math.sqrt(s)
        score[k] = strongest(values[k], resolution[k], least_side, 1)[SCORE]
    order = np.argsort(-score, kind="mergesort")
    best, found, n_found = np.empty((n_best, d)), np.empty((n_best, N_VALLEY)), 0
    for k in order:
        if n_found == n_best or score[k] == 0.0:
            break
        is_new = True
        for m in range(n_found):
            is_new = is_new and abs(dot(directions[k], best[m])) < SAME
        if not is_new:
            continue
        valley = strongest(values[k], resolution[k], least_side, MULTIPLES.shape[0])
        if valley[SCORE] > 0.0:
            for j in range(d):
                best[n_found, j] = directions[k, j]
            for e in range(N_VALLEY):
                found[n_found, e] = valley[e]
            n_found += 1
    return best[:n_found], found[:n_found]
