"""A tree of cuts that follows a stream (Hofmeyr, Pavlidis and Eckley 2016, Algorithm 1), row by row.

A row goes down the tree and updates the CUSUM of every cut on its way (§4.3). At the leaf it updates the mean, the
running principal component (CCIPCA, §4.1), the forgetting factor (eq. 3) and the sample of projections (§4.2). The
sample is then tested for a second mode. The caller changes the tree itself: the loop stops at a cut whose CUSUM raises
an alarm, and after a row that makes the dip of a leaf significant.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel
from ravine._kernels.intervals import COST, WEIGHT, dip, insert
from ravine._kernels.rows import dot

END, ALARM, SPLIT, RENEWAL_DUE = range(4)
"""Reasons for which the loop stops."""

N_SEEN, SUM_SQ, HEAD_START, LENGTH, FORGET, FADE, TOTAL, BOUND, WAIT, UNIT = range(10)
"""Columns of `leaf`.

Number of rows seen and their sum of squares; number of earlier updates of an inherited direction; length of the running
component; forgetting factor; the share that forgetting has left of the first row; weight of the sample; upper bound for
its dip; weight before which no test is made; and the unit of the components. Length times unit is the variance along a
component. The variance itself is not stored, since computing a length would square it and overflow.
"""

OFFSET, CUSUM, DRAG, LIMIT, OUTER_LOW, OUTER_HIGH, INNER_LOW, INNER_HIGH, N_INNER, N_OUTER, RENEW, RATE = range(12)
"""Columns of `cut`.

Position of the cut, its CUSUM, what every row subtracts from it, and the limit of the alarm; the outer region R and the
inner region N, relative to the cut; the number of rows in each region; the number of rows in R at which DRAG and LIMIT
are updated; and the rate p1.
"""

N_LEAF, N_CUT = 10, 12

INHERIT, SMOOTHING, MOST_FORGOTTEN, MIN_ROWS, MIN_WEIGHT, RUN_BEFORE, RUN_AFTER = range(7)
"""Entries of `settings`."""

RENEWAL = 1.05
"""DRAG and LIMIT are updated when the number of rows in R has grown by this factor."""

SMALLEST_FADE = 1e-100

FAR, FARTHEST = 16.0, 1e300
"""If the rows of a leaf lie farther from its mean than this many units, its unit is enlarged, at most by the second
factor."""


@inner_reduction
def _update_direction(u, x, keep, add):
    """Compute u = keep u + add x, and return the squared length of u."""
    square = 0.0
    for j in range(u.shape[0]):
        u[j] = keep * u[j] + add * x[j]
        square += u[j] * u[j]
    return square


@inner_reduction
def _center(x, n, mean, centered):
    """Add the n-th row to the mean and center it; return the growth of the sum of squares."""
    square = 0.0
    for j in range(x.shape[0]):
        before = x[j] - mean[j]
        mean[j] += before / n
        centered[j] = x[j] - mean[j]
        square += before * centered[j]
    return square


@inner
def cusum_limit(p0, p1, run_before, run_after):
    """Return drag and limit of a Bernoulli CUSUM (Reynolds and Stoumbos 1999), the larger limit for two run lengths.

    S increases by 1 - drag with a row in the inner region, and decreases by drag with any other row. While the rate is
    p0, the expected number of rows until S exceeds the limit is at least `run_before`. At the rate p1 it is about
    `run_after` or more. Both come from the diffusion approximation with its correction for the overshoot.
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


@inner
def _solve_run(sign, target):
    """Return the positive y with exp(sign y) - sign y - 1 = target; the left side increases with y."""
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
    """Update drag and limit from the current estimate of p0; they do not change if p0 is no longer below p1."""
    p1 = cut[RATE]
    p0 = max(cut[N_INNER] / cut[N_OUTER], 0.001 * p1)
    if p0 < 0.98 * p1:
        cut[DRAG], cut[LIMIT] = cusum_limit(p0, p1, run_before, run_after)
    cut[RENEW] = RENEWAL * cut[N_OUTER] + 1.0


@inner
def _pass_cut(cut, distance, settings):
    """Update the CUSUM of a cut with a row at this distance from it; return whether it raises an alarm."""
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


@inner
def threshold(weight, log_first, log_step, log_dip):
    """Return the dip that a Gaussian sample of this size exceeds by chance, interpolated on logarithmic scales."""
    position = (math.log(weight) - log_first) / log_step
    i = min(max(int(position), 0), log_dip.shape[0] - 2)
    return math.exp(log_dip[i] + (position - i) * (log_dip[i + 1] - log_dip[i]))


@inner
def _enlarge_unit(leaf, u, z, distance):
    """Enlarge the unit to about this distance; it is a power of two, so that the components keep their digits."""
    while distance > FAR * leaf[UNIT]:
        _, exponent = math.frexp(min(distance / leaf[UNIT], FARTHEST))
        shrink = math.ldexp(1.0, -exponent)
        leaf[UNIT] /= shrink
        leaf[LENGTH] *= shrink
        for j in range(u.shape[0]):
            u[j] *= shrink
            z[j] *= shrink


@inner
def _move(x, leaf, mean, u, z, p, settings, centered, rest):
    """Update mean, directions and forgetting factor of a leaf; return the projection of the row."""
    d = x.shape[0]
    leaf[N_SEEN] += 1.0
    n = leaf[N_SEEN]
    grown = _center(x, n, mean, centered)
    leaf[SUM_SQ] += grown
    across = dot(centered, p) if leaf[HEAD_START] > 0.0 else 0.0  # stay orthogonal to the parent
    for j in range(d):
        rest[j] = centered[j] - across * p[j]
    length = leaf[LENGTH]
    if length == 0.0:  # the first row that differs from the mean sets the direction, with the weight of any other row
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


@inner
def _keep(leaf, sample, n_intervals, limit, projection):
    """Fade the sample of a leaf and add a projection to it; return the number of intervals."""
    forget = leaf[FORGET]
    leaf[FADE] *= 1.0 - forget
    leaf[TOTAL] = 1.0 + (1.0 - forget) * leaf[TOTAL]
    if leaf[FADE] < SMALLEST_FADE:
        for i in range(n_intervals):
            sample[WEIGHT, i] *= leaf[FADE]
            sample[COST, i] *= leaf[FADE]
        leaf[FADE] = 1.0
    n_intervals, raised = insert(sample, n_intervals, limit, projection, 1.0 / leaf[FADE])
    # One row moves the distribution by at most its weight, and the dip by at most as much as the distribution.
    leaf[BOUND] += (1.0 + raised * leaf[FADE]) / leaf[TOTAL]
    return n_intervals


@kernel
def learn(
    X, start, node, left, right, parent, mean, direction, second, leaf, cut, sample, n_intervals, settings, table
):
    """Learn rows from `start` on; the first of them starts at `node`.

    Parameters
    ----------
    X : rows
    start, node : int
    left, right, parent : ndarray of int of shape (n_nodes,)
        The root is node 0; `left` is -1 for a leaf.
    mean, direction, second : ndarray of shape (n_nodes, n_features)
        `direction` is the unit normal of a cut, or the running principal component of a leaf; `second` is the direction
        that its children inherit.
    leaf, cut : ndarray of shape (n_nodes, N_LEAF), (n_nodes, N_CUT)
    sample : ndarray of shape (n_nodes, N_ROWS, limit + 1)
    n_intervals : ndarray of int of shape (n_nodes,)
    settings : tuple of float
    table : tuple
        Arguments of `threshold`.

    Returns
    -------
    next : int
        Row with which to continue; after an alarm, the current row.
    why : int
        `END`, `ALARM` or `SPLIT`.
    node : int
        Node at which the loop stopped.
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
    """Learn rows from `start` on, at every node on their way, so that cuts keep moving as in SPDC.

    The parameters are those of `learn`, but `OFFSET` is a position among the projections. The loop stops after a row
    that brings a node to the weight for which it waits. It returns the next row, the reason and the node.
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
