"""The direction of the minimum density of a few rows, in one compiled call: the scout of the valley test.

It is the search of `ravine.cuts._mdh` in the space of the leading principal components, started from the first two of
them. With many columns, a search among all of them would cost far more, and would find valleys that other rows do not
have. If a column has a stronger valley, one more search starts from this column, as in `ravine.tree._columns`. For n
rows, d features and q components, a call costs O(n d q) and a few dozen evaluations of O(n q).
"""

import math

import numpy as np

from ravine._kernels import bfgs
from ravine._kernels._compile import inner, kernel
from ravine._kernels.density import best_window, bin_linear, smooth_dense, valleys
from ravine._kernels.penalty import Settings, search
from ravine._kernels.proposals import multiply, scatter
from ravine._kernels.rows import dot, project
from ravine._kernels.ties import is_less
from ravine._ties import OF_A_SUM

N_POWERS = 8
"""Number of subspace iterations for the components: the starts of a search need not be exact."""

MULTIPLES, RESCUE = np.array([1.0, 0.5, 0.25]), 1.06
"""If a bound stops every search, the strongest valley at these multiples of this bandwidth factor is taken instead."""

SHARES = np.array([0.25, 0.5, 0.75, 1.0])
"""Window widths that are tried then, relative to the distance from the valley to the nearer mode."""

DEEP = 4.0
"""A start whose valley has this relative depth is the last one."""

N_COLUMNS, FEWEST_COLUMNS = 8, 8
"""Number of columns whose valleys are measured, and the least number of columns of rows for which this is done."""

LEAST_SCORE, LEAST_SIDE, MAX_ATOM, MOST_COUNTED = 3.0, 0.02, 0.1, 400.0
"""Minimum score of the valley of a column, minimum share of the rows on either side, maximum share of one value, and
the number of rows up to which a score grows."""

MARGIN, REACH, BINS_PER_BANDWIDTH, MIN_BINS, MAX_BINS = 3.0, 4.0, 4.0, 64, 4096
"""The grid extends this many bandwidths beyond the values, and the kernel this many beyond a value; number of bins."""


@inner
def components(Z, w, start):
    """Return orthonormal directions of large variance of centered rows, one per row, by subspace iteration.

    If the rows span fewer dimensions, the other directions are 0.
    """
    q, d = start.shape
    n = Z.shape[0]
    V, W, T = start.copy(), np.empty((q, d)), np.empty((d, n))
    for i in range(n):
        root = math.sqrt(w[i])
        for j in range(d):
            T[j, i] = root * Z[i, j]
    has_scatter = d < 4 * N_POWERS * q  # it is cheaper
    S, along, rows = scatter(T) if has_scatter else np.empty((0, d)), np.empty((q, 0)), np.empty((0, d))
    if not has_scatter:
        along, rows = np.empty((q, n)), T.T.copy()
    for _ in range(N_POWERS):
        if has_scatter:
            multiply(V, S, W)
        else:
            multiply(V, T, along)
            multiply(along, rows, W)
        for a in range(q):
            rounding = OF_A_SUM * math.sqrt(dot(W[a], W[a]))
            for b in range(a):
                share = dot(W[a], V[b])
                for j in range(d):
                    W[a, j] -= share * V[b, j]
            length = math.sqrt(dot(W[a], W[a]))
            for j in range(d):
                V[a, j] = W[a, j] / length if length > max(rounding, 1e-150) else 0.0
    return V


@inner
def density_along(values, w, bandwidth):
    """Return the first grid point, the distance between grid points, and the density there, which is not normalized."""
    low, high = values[0], values[0]
    for i in range(values.shape[0]):
        low, high = min(low, values[i]), max(high, values[i])
    low, width = low - MARGIN * bandwidth, high - low + 2 * MARGIN * bandwidth
    n_bins = int(min(max(BINS_PER_BANDWIDTH * width / bandwidth, MIN_BINS), MAX_BINS))
    step = width / (n_bins - 1)
    right_half = np.empty(int(REACH * bandwidth / step) + 1)
    for k in range(right_half.shape[0]):
        right_half[k] = math.exp(-0.5 * (k * step / bandwidth) ** 2)
    return low, step, smooth_dense(bin_linear(values, w, low, step, n_bins), right_half)


@inner
def depth_at(values, w, bandwidth, position):
    """Return how far the lower mode beside a position rises above it; 0 unless it lies between modes and below both."""
    low, step, density = density_along(values, w, bandwidth)
    here = int(min(max(round((position - low) / step), 0), density.shape[0] - 1))
    found = valleys(density)
    for k in range(found.shape[0]):
        if found[k, 1] < here < found[k, 2]:
            lower = min(density[found[k, 1]], density[found[k, 2]])
            return max(lower / max(density[here], 1e-14 * lower) - 1.0, 0.0)
    return 0.0


@inner
def strongest(values, w, count, resolution, least_side):
    """Return score and position of the strongest valley on a line, for a total weight `count`; 0 if there is none."""
    total, mean, square = 0.0, 0.0, 0.0
    for i in range(values.shape[0]):
        total += w[i]
        mean += w[i] * values[i]
    mean /= total
    for i in range(values.shape[0]):
        square += w[i] * (values[i] - mean) * (values[i] - mean)
    reference = RESCUE * math.sqrt(square / total) * max(count, 1.0) ** -0.2
    best, position = 0.0, 0.0
    if not reference > OF_A_SUM * abs(mean):
        return best, position
    for m in range(MULTIPLES.shape[0]):
        low, step, density = density_along(values, w, math.hypot(MULTIPLES[m] * reference, resolution / 2))
        mass, below = np.empty(density.shape[0]), 0.0
        for k in range(density.shape[0]):
            below += density[k]
            mass[k] = below
        for k in range(density.shape[0]):
            mass[k] /= below
        score, valley, _, _, _ = best_window(
            density, mass, valleys(density), count, step, SHARES, resolution, least_side
        )
        if score > 0.0 and is_less(best, score):
            best, position = score, low + step * valley
    return best, position


@inner
def typical_gap(ordered):
    """Return the median distance of sorted values to the next larger value, 0 if there is none.

    If one value has a larger share of them than `MAX_ATOM`, the result is -1.
    """
    n = ordered.shape[0]
    reach = int(MAX_ATOM * n)
    gaps, following = np.empty(n), 0.0
    for i in range(n - 1):  # the largest value counts the distance to the value below it
        following = ordered[i + 1] - ordered[i] if ordered[i + 1] > ordered[i] else following
    for i in range(n - 1, -1, -1):
        if i + reach < n and ordered[i + reach] == ordered[i]:
            return -1.0
        if i + 1 < n and ordered[i + 1] > ordered[i]:
            following = ordered[i + 1] - ordered[i]
        gaps[i] = following
    gaps.sort()
    return 0.5 * (gaps[(n - 1) // 2] + gaps[n // 2])


@inner
def striking_columns(Z, w, count):
    """Return the columns with the smallest and the largest kurtosis, half of them each."""
    n, d = Z.shape
    kurtosis = np.full(d, math.nan)
    for j in range(d):
        square, fourth = 0.0, 0.0
        for i in range(n):
            s = Z[i, j] * Z[i, j]
            square += w[i] * s
            fourth += w[i] * s * s
        if square > 0.0:
            kurtosis[j] = count * fourth / (square * square)
    found, n_found = np.empty(N_COLUMNS, np.int64), 0
    for k in range(min(N_COLUMNS, d)):
        sign, chosen = 1.0 if k % 2 == 0 else -1.0, -1
        for j in range(d):
            if not math.isnan(kurtosis[j]) and (chosen < 0 or is_less(sign * kurtosis[j], sign * kurtosis[chosen])):
                chosen = j
        if chosen >= 0:
            found[n_found] = chosen
            n_found += 1
            kurtosis[chosen] = math.nan
    return found[:n_found]


@inner
def column_with_valley(Z, w, count, least_score):
    """Return the column of centered rows with the strongest valley; -1 if no score is larger than `least_score`."""
    best, column, values = least_score, -1, np.empty(Z.shape[0])
    for j in striking_columns(Z, w, count):
        for i in range(Z.shape[0]):
            values[i] = Z[i, j]
        score, _ = strongest(values, w, min(count, MOST_COUNTED), 0.0, LEAST_SIDE)
        gap = typical_gap(np.sort(values)) if is_less(best, score) else -1.0
        if gap > 0.0:
            score, _ = strongest(values, w, min(count, MOST_COUNTED), gap, LEAST_SIDE)
        if gap >= 0.0 and is_less(best, score):
            best, column = score, j
    return column


@inner
def follow(Y, w, count, start, alphas, tolerance, settings):
    """Search with one bound after the other, each from the end of the last; return the direction and its depth.

    The last cut that is a minimum of the density itself is kept.
    """
    n, q = Y.shape
    mean, values = np.zeros(q), np.empty(n)
    direction, kept, position, is_kept_minimum = start.copy(), start.copy(), 0.0, False
    for k in range(alphas.shape[0]):
        bounded = Settings(
            settings.bandwidth,
            alphas[k],
            settings.steepness,
            settings.power,
            settings.grid_step,
            settings.reach,
            settings.max_bins,
            settings.exact_rows,
        )
        descent = bfgs.begin_compiled(direction, tolerance)
        direction, _, found = search(Y, w, mean, descent, 1.0, bounded, None)
        square, left = 0.0, 0.0
        for i in range(n):
            values[i] = dot(Y[i], direction)
            square += w[i] * values[i] * values[i]
            left += w[i] if values[i] < found else 0.0
        is_minimum = abs(found) < alphas[k] * math.sqrt(square / count) and 0.0 < left < count
        if k == 0 or is_minimum:
            position, is_kept_minimum = found, is_minimum
            for j in range(q):
                kept[j] = direction[j]
    for i in range(n):
        values[i] = dot(Y[i], kept)
    if not is_kept_minimum:
        score, valley = strongest(values, w, count, 0.0, 0.0)
        position = valley if score > 0.0 else position
    return kept, depth_at(values, w, settings.bandwidth, position)


@kernel
def deepest(X, w, mean, unit, start, n_starts, alphas, factor, tolerance, steepest, settings):
    """Return the unit direction of the deepest valley that the searches find; 0 if the rows do not vary.

    Parameters
    ----------
    X, w : ndarray
        Rows and weights.
    mean, unit : ndarray, float
        Mean of the rows, and the unit of length.
    start : ndarray of shape (n_components, n_features)
        Vectors from which the iteration for the components starts.
    n_starts : int
        Number of components from which a search starts.
    alphas : ndarray
        Bounds, as in `ravine.cuts._mdh`.
    factor, tolerance : float
        Bandwidth factor, and the tolerance of a search.
    steepest : float
        Steepness of the penalty outside a bound, for a bandwidth of 1.
    settings : Settings
        Its bandwidth, steepness and step are relative to the bandwidth, which is computed here.
    """
    n, d = X.shape
    Z, count = np.empty((n, d)), 0.0
    for i in range(n):
        count += w[i]
        for j in range(d):
            Z[i, j] = (X[i, j] - mean[j]) / unit
    V = components(Z, w, start)
    q = V.shape[0]
    Y, best, depth = np.empty((n, q)), np.zeros(q), -1.0
    for i in range(n):
        for a in range(q):
            Y[i, a] = dot(Z[i], V[a])
    square = 0.0
    for i in range(n):
        square += w[i] * Y[i, 0] * Y[i, 0]
    deviation = math.sqrt(square / count)
    out = np.zeros(d)
    if not deviation > 0.0:
        return out
    h = factor * deviation * max(count, 1.0) ** -0.2
    scaled = Settings(
        h,
        0.0,
        steepest / h ** (1.0 + settings.power),
        settings.power,
        h * settings.grid_step,
        settings.reach,
        settings.max_bins,
        settings.exact_rows,
    )
    for a in range(min(n_starts, q)):
        if not dot(V[a], V[a]) > 0.0:
            break
        first = np.zeros(q)
        first[a] = 1.0
        direction, here = follow(Y, w, count, first, alphas, tolerance / (math.sqrt(2 * math.pi) * deviation), scaled)
        if depth < 0.0 or is_less(1.0 + depth, 1.0 + here):
            best, depth = direction, here
        if depth >= DEEP:
            break
    for a in range(q):
        for j in range(d):
            out[j] += best[a] * V[a, j]
    length = math.sqrt(dot(out, out))
    for j in range(d):
        out[j] /= length
    if d < FEWEST_COLUMNS:
        return out
    values = np.empty(n)
    project(Z, out, values)
    score, _ = strongest(values, w, min(count, MOST_COUNTED), 0.0, LEAST_SIDE)
    column = column_with_valley(Z, w, count, max(score, LEAST_SCORE))
    if column < 0:
        return out
    first = np.zeros(d)
    first[column] = 1.0
    # Bounds other than the last keep a cut at the mean, where there may be a cluster.
    direction, _ = follow(Z, w, count, first, alphas[-1:], tolerance / (math.sqrt(2 * math.pi) * deviation), scaled)
    project(Z, direction, values)
    other, _ = strongest(values, w, min(count, MOST_COUNTED), 0.0, LEAST_SIDE)
    return out if is_less(other, score) else direction
