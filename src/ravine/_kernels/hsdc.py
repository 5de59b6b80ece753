"""A tree of cuts that grows and withers with a stream (Hofmeyr, Pavlidis and Eckley 2016, Algorithm 1), row by row.

A row goes down the tree. At every cut on its way the CUSUM of that cut hears of it (§4.3). At the leaf it moves the
mean, the running principal component (CCIPCA, §4.1), the forgetting factor (eq. 3) and the sample of projections
(§4.2), and the sample is tested for a second mode. Whatever changes the tree itself is left to the caller: the loop
stops at a cut whose CUSUM raises the alarm, and after a row that makes a leaf's dip significant.
"""

import math

import numpy as np

from ravine._kernels._compile import kernel, reduction
from ravine._kernels.intervals import COST, WEIGHT, dip, insert
from ravine._kernels.rows import dot

END, ALARM, SPLIT, RENEWAL_DUE = range(4)
"""Why the loop has stopped."""

N_SEEN, SUM_SQ, HEAD_START, LENGTH, FORGET, FADE, TOTAL, BOUND, WAIT, UNIT = range(10)
"""Columns of `leaf`.

Rows seen and their sum of squares; updates that an inherited direction has had before, length of the running component,
forgetting factor, product of what it has left of the first row, weight of the sample, bound on its dip, weight before
which no test is made, and the unit of the components: length times unit is the variance along one. The variance itself
has no place, as its square, which a length takes, would overflow.
"""

OFFSET, CUSUM, DRAG, LIMIT, OUTER_LOW, OUTER_HIGH, INNER_LOW, INNER_HIGH, N_INNER, N_OUTER, RENEW, RATE = range(12)
"""Columns of `cut`.

Place of the cut, its CUSUM, what every row takes off it, where it raises the alarm; the outer region R and the inner
region N, from the cut; how many rows have fallen into each, the number at which DRAG and LIMIT are renewed, and the
rate p1.
"""

N_LEAF, N_CUT = 10, 12

INHERIT, SMOOTHING, MOST_FORGOTTEN, MIN_ROWS, MIN_WEIGHT, RUN_BEFORE, RUN_AFTER = range(7)
"""Entries of `settings`."""

RENEWAL = 1.05
"""DRAG and LIMIT are renewed when the rows in R have grown by this factor."""

SMALLEST_FADE = 1e-100

FAR, FARTHEST = 16.0, 1e300
"""A leaf whose rows lie farther from its mean than so many units takes a larger unit, at most so many times larger."""


@reduction
def _update_direction(u, x, keep, add):
    """u = keep u + add x; gives the squared length of u."""
    square = 0.0
    for j in range(u.shape[0]):
        u[j] = keep * u[j] + add * x[j]
        square += u[j] * u[j]
    return square


@reduction
def _center(x, n, mean, centered):
    """Take a row, the n-th, into the mean and center it there; gives how much the sum of squares grows."""
    square = 0.0
    for j in range(x.shape[0]):
        before = x[j] - mean[j]
        mean[j] += before / n
        centered[j] = x[j] - mean[j]
        square += before * centered[j]
    return square


@kernel
def cusum_limit(p0, p1, run_before, run_after):
    """Drag and limit of a Bernoulli CUSUM (Reynolds and Stoumbos 1999), the larger limit of those for two run lengths.

    S grows by 1 - drag with a row of the inner region, and falls by drag with another one. The expected number of rows
    until S exceeds the limit is at least `run_before` while the rate is p0 and about `run_after`, or more, at p1. Both
    come from the diffusion approximation with its correction for the overshoot.
    """
    r1 = -math.log((1.0 - p1) / (1.0 - p0))
    r2 = math.log(p1 * (1.0 - p0) / (p0 * (1.0 - p1)))
    logarithm = math.log(min(max(p0, 0.01), 0.5))
    correction = (
        0.41 - 0.0842 * logarithm - 0.0391 * logarithm**3 - 0.00376 * logarithm**4 - 0.000008 * logarithm**7
    ) * math.sqrt(p0 * (1.0 - p0))
    before = _solve_run(1.0, run_before * (r1 - r2 * p0))
    after = _solve_run(-1.0, run_after * (r2 * p1 - r1))
    return r1 / r2, max(max(before, after) / r2 - correction, 1.0)


@kernel
def _solve_run(sign, target):
    """The positive y at which exp(sign y) - sign y - 1 is the target; it rises with y."""
    low, high = 0.0, 1.0
    while math.exp(sign * high) - sign * high - 1.0 < target:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if math.exp(sign * middle) - sign * middle - 1.0 < target:
            low = middle
        else:
            high = middle
    return high


@kernel
def renew_cusum(cut, run_before, run_after):
    """Drag and limit from the present estimate of p0; a cut on which p0 is no longer below p1 keeps what it has."""
    p1 = cut[RATE]
    p0 = max(cut[N_INNER] / cut[N_OUTER], 0.001 * p1)
    if p0 < 0.98 * p1:
        cut[DRAG], cut[LIMIT] = cusum_limit(p0, p1, run_before, run_after)
    cut[RENEW] = RENEWAL * cut[N_OUTER] + 1.0


@kernel
def _pass_cut(cut, distance, settings):
    """Tell the CUSUM of a cut of a row at this distance from it; true where it raises the alarm."""
    if not (cut[OUTER_LOW] < distance < cut[OUTER_HIGH]):
        return False
    inside = cut[INNER_LOW] < distance < cut[INNER_HIGH]
    cut[CUSUM] = max(cut[CUSUM], 0.0) - cut[DRAG]
    cut[N_OUTER] += 1.0
    if inside:
        cut[CUSUM] += 1.0
        cut[N_INNER] += 1.0
        if cut[CUSUM] > cut[LIMIT]:
            return True
    if cut[N_OUTER] >= cut[RENEW]:
        renew_cusum(cut, settings[RUN_BEFORE], settings[RUN_AFTER])
    return False


@kernel
def threshold(weight, log_first, log_step, log_dip):
    """Dip of a Gaussian sample of this size that is exceeded by chance, interpolated on logarithmic scales."""
    place = (math.log(weight) - log_first) / log_step
    i = min(max(int(place), 0), log_dip.shape[0] - 2)
    return math.exp(log_dip[i] + (place - i) * (log_dip[i + 1] - log_dip[i]))


@kernel
def _enlarge_unit(leaf, u, z, distance):
    """Take a unit near this distance; a power of two, so that the components keep their digits."""
    while distance > FAR * leaf[UNIT]:
        _, exponent = math.frexp(min(distance / leaf[UNIT], FARTHEST))
        shrink = math.ldexp(1.0, -exponent)
        leaf[UNIT] /= shrink
        leaf[LENGTH] *= shrink
        for j in range(u.shape[0]):
            u[j] *= shrink
            z[j] *= shrink


@kernel
def _move(x, leaf, mean, u, z, p, settings, centered, rest):
    """Bring mean, directions and forgetting factor of a leaf up to date; gives the projection of the row."""
    d = x.shape[0]
    leaf[N_SEEN] += 1.0
    n = leaf[N_SEEN]
    grown = _center(x, n, mean, centered)
    leaf[SUM_SQ] += grown
    across = dot(centered, p) if leaf[HEAD_START] > 0.0 else 0.0  # an inherited direction stays across the parent's
    for j in range(d):
        rest[j] = centered[j] - across * p[j]
    length = leaf[LENGTH]
    if length == 0.0:  # the first row that differs from the mean gives the direction, and weighs as any other
        leaf[LENGTH] = math.sqrt(_update_direction(u, rest, 0.0, 1.0 / n))
        leaf[UNIT] = n * leaf[LENGTH]
        return 0.0 if leaf[LENGTH] == 0.0 else dot(u, centered) / leaf[LENGTH]
    if grown > 0.0:
        _enlarge_unit(leaf, u, z, math.sqrt(grown))
        length = leaf[LENGTH]
    n_updates = n + leaf[HEAD_START]
    along = dot(rest, u) / length
    keep, add = (n_updates - 1.0) / n_updates, along / leaf[UNIT] / n_updates
    square = _update_direction(u, rest, keep, add)
    leaf[LENGTH] = math.sqrt(square)
    if square > 0.0:
        cosine = (keep * length + add * along) / leaf[LENGTH]
        angle = math.acos(min(max(cosine, -1.0), 1.0))
        smoothing = settings[SMOOTHING]
        leaf[FORGET] = min(settings[MOST_FORGOTTEN], smoothing * leaf[FORGET] + (1.0 - smoothing) * angle)
    projection = dot(u, centered) / leaf[LENGTH] if square > 0.0 else 0.0
    if settings[INHERIT] > 0.0 and square > 0.0:
        for j in range(d):
            rest[j] = centered[j] - projection / leaf[LENGTH] * u[j]
        size = math.sqrt(dot(z, z))
        if size == 0.0:
            _update_direction(z, rest, 0.0, math.sqrt(dot(rest, rest)) / leaf[UNIT] / n)
        else:
            _update_direction(z, rest, (n - 1.0) / n, dot(rest, z) / size / leaf[UNIT] / n)
    return projection


@kernel
def _keep(leaf, sample, n_intervals, limit, projection):
    """Fade the sample of a leaf and add a projection to it; gives the number of intervals."""
    forget = leaf[FORGET]
    leaf[FADE] *= 1.0 - forget
    leaf[TOTAL] = 1.0 + (1.0 - forget) * leaf[TOTAL]
    if leaf[FADE] < SMALLEST_FADE:
        for i in range(n_intervals):
            sample[WEIGHT, i] *= leaf[FADE]
            sample[COST, i] *= leaf[FADE]
        leaf[FADE] = 1.0
    n_intervals, raised = insert(sample, n_intervals, limit, projection, 1.0 / leaf[FADE])
    # One row moves the distribution by no more than its weight, and the dip by no more than the distribution.
    leaf[BOUND] += (1.0 + raised * leaf[FADE]) / leaf[TOTAL]
    return n_intervals


@kernel
def learn(
    X, start, node, left, right, parent, mean, direction, second, leaf, cut, sample, n_intervals, settings, table
):
    """Learn rows from `start` on, the first of them from `node` on down.

    Parameters
    ----------
    X : rows
    start, node : int
    left, right, parent : ndarray of int of shape (n_nodes,)
        The root is node 0; a leaf has -1 for `left`.
    mean, direction, second : ndarray of shape (n_nodes, n_features)
        `direction` is the unit normal of a cut, and the running principal component of a leaf; `second` the one that
        its children inherit.
    leaf, cut : ndarray of shape (n_nodes, N_LEAF), (n_nodes, N_CUT)
    sample : ndarray of shape (n_nodes, N_ROWS, limit + 1)
    n_intervals : ndarray of int of shape (n_nodes,)
    settings : tuple of float
    table : tuple
        Of `threshold`.

    Returns
    -------
    next : int
        Row to go on with: the present one after an alarm.
    why : int
        `END`, `ALARM` or `SPLIT`.
    node : int
        Where.
    """
    limit = sample.shape[2] - 1
    room = 2 * limit + 2
    x, below, above = np.empty(room), np.empty(room), np.empty(room)
    a, b, c, d = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    centered, rest = np.empty(X.shape[1]), np.empty(X.shape[1])
    for i in range(start, X.shape[0]):
        while left[node] >= 0:
            distance = dot(X[i], direction[node]) - cut[node, OFFSET]
            if _pass_cut(cut[node], distance, settings):
                return i, ALARM, node
            node = left[node] if distance < 0.0 else right[node]
        above_it = direction[max(parent[node], 0)]
        projection = _move(
            X[i], leaf[node], mean[node], direction[node], second[node], above_it, settings, centered, rest
        )
        n_intervals[node] = _keep(leaf[node], sample[node], n_intervals[node], limit, projection)
        weight = leaf[node, TOTAL]
        if leaf[node, N_SEEN] >= settings[MIN_ROWS] and weight >= settings[MIN_WEIGHT] and weight >= leaf[node, WAIT]:
            significant = threshold(weight, table[0], table[1], table[2])
            if leaf[node, BOUND] > significant:
                leaf[node, BOUND] = dip(sample[node], n_intervals[node], x, below, above, a, b, c, d)[0]
                if leaf[node, BOUND] > significant:
                    return i + 1, SPLIT, node
        node = 0
    return X.shape[0], END, 0


@kernel
def learn_everywhere(X, start, left, right, parent, mean, direction, second, leaf, cut, sample, n_intervals, settings):
    """Learn rows from `start` on, at every node on their way: cuts go on moving, as in SPDC.

    Parameters as in `learn`, but `OFFSET` is a place among the projections. The loop stops after a row that brings a
    node to the weight for which it waits, and gives the next row, why, and the node.
    """
    limit = sample.shape[2] - 1
    centered, rest = np.empty(X.shape[1]), np.empty(X.shape[1])
    for i in range(start, X.shape[0]):
        node, due = 0, -1
        while True:
            above_it = direction[max(parent[node], 0)]
            projection = _move(
                X[i], leaf[node], mean[node], direction[node], second[node], above_it, settings, centered, rest
            )
            n_intervals[node] = _keep(leaf[node], sample[node], n_intervals[node], limit, projection)
            if due < 0 and leaf[node, N_SEEN] >= settings[MIN_ROWS] and leaf[node, TOTAL] >= leaf[node, WAIT]:
                due = node
            if left[node] < 0:
                break
            node = left[node] if projection < cut[node, OFFSET] else right[node]
        if due >= 0:
            return i + 1, RENEWAL_DUE, due
    return X.shape[0], END, 0
