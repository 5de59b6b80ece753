"""The loop over the rows of a stream that `ravine.tree._stream` follows.

A row goes down the tree and updates the CUSUM of every cut whose valley it may fill. Its leaf keeps it in a ring of
recent rows, and bets against it: if the rows of the leaf are still distributed as before, the score of a row has a
uniform rank among the scores of the rows before it, and no bet on small ranks wins. The caller changes the tree: the
loop stops where something is due.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel
from ravine._kernels.rows import dot

END, TEST, MISFIT, PROFILE, RETURNED, DUE = range(6)
"""Reasons for which the loop stops: the last row; a leaf to be tested for a split; a leaf whose rows no longer fit its
profile; a profile to be renewed; a resting leaf with a row; something that is due at any node."""

(
    N_SEEN, BORN, LAST, LONGEST_GAP, N_VISITS, N_STORED, SINCE, N_SINCE, NEXT_TEST, N_TESTS,
    STATE, MEDIAN, N_SCORES, CUSUM, ONSET, NEXT_PROFILE, DEPENDENCE, NEXT_BET, REST_UNTIL, IS_MIXED,
) = range(20)  # fmt: skip
"""Columns of `leaf`.

Number of rows seen; the rows at which the leaf was made and last visited; its longest gap between two rows; the number
of visits, where successive rows of the stream are one visit; the number of rows ever put into the ring. The row since
which rows count for the next test, their number, the number at which the next test is due, and the number of tests so
far. The state; the median and the number of the scores; the CUSUM of the bets and the row at which it left 0; the
number of rows at which the profile is renewed; the number of successive rows that count as one; the number of rows at
which the next bet is made; the row until which a leaf without rows is kept, or 0; and 1 if the last test found a split
that was not made.
"""

N_LEAF = 20

FRESH, WATCHED, CHANGED = 0.0, 1.0, 2.0
"""States of a leaf: without a profile, with a profile, with rows that no longer fit their profile."""

OFFSET, LOW, HIGH, REACH, RATE, N_ROWS, N_INNER, N_OUTER, FILL, FILL_ONSET, INNER_SINCE, FILLED_AT, IS_TRIED = range(13)
"""Columns of `cut`.

Position of the cut; the modes relative to it; half the width of the inner region around it, and the share of the rows
between the modes that would fall there without a valley; the number of rows from which the cut was made; the number of
rows in the inner region and between the modes;
the CUSUM, the row at which it left 0 and the number of inner rows since then; the row at which it raised an alarm, or
-1; and 1 if it was tried in vain to place the cut anew.
"""

N_CUT = 13

N_BINS, MIDDLE, PER_OCTAVE = 96, 32, 8
"""Scores are counted in bins of a logarithmic scale: their number, the bin that begins at the median, and the number of
bins from a score to twice the score."""

LEAF_LIMIT, CUT_LIMIT, SILENCE_LIMIT, DEPENDENT, NEXT_LOOK = range(5)
"""Entries of `settings`: limits of the CUSUM of a leaf and of a cut, and of the log odds against a gap between rows;
and the number of successive rows that count as one for the cuts."""

EXPONENTS = (0.2, 0.5, 0.8)
"""The bet on the rank p is the mean of e p^(e - 1) over these exponents e: its expectation is 1 for a uniform p."""

GOLDEN = 0.6180339887498949
"""Equal scores are ordered by multiples of this number modulo 1, which are spread evenly."""

SHALLOW = 0.8
"""A cut is not watched while its rate of inner rows is above this share of the rate without a valley."""

EVERY = 64
"""Gaps are looked at after this many rows."""

LONGER = 4.0
"""A leaf is silent if its gap is this many times its longest gap so far, and unlikely at the rate of its visits."""

PATIENCE = 64
"""Number of rows to wait after the alarm of a cut, so that there are rows to learn from."""


class Arrays(NamedTuple):
    """The nodes of a tree.

    Attributes
    ----------
    left, right, ring : ndarray of int of shape (n_nodes,)
        Children, -1 for a leaf; position of the ring of a leaf, -1 for a cut, and -2 for a node that is not used.
    normal, cut : ndarray of shape (n_nodes, n_features), (n_nodes, N_CUT)
    leaf, mean, inverse, counts : ndarray of shape (n_nodes, N_LEAF), (n_nodes, n_features) twice, (n_nodes, N_BINS)
        Numbers of the leaves. Mean, inverse deviations and counts of scores are their profile.
    rows, times : ndarray of shape (n_rings, size, n_features), (n_rings, size)
        Recent rows of each leaf, and their numbers in the stream.
    """

    left: Any
    right: Any
    ring: Any
    normal: Any
    cut: Any
    leaf: Any
    mean: Any
    inverse: Any
    counts: Any
    rows: Any
    times: Any


@inner_reduction
def _score(x, mean, inverse):
    """Return the squared distance of a row from the mean of a leaf, in deviations of the leaf."""
    s = 0.0
    for j in range(x.shape[0]):
        z = (x[j] - mean[j]) * inverse[j]
        s += z * z
    return s


@inner
def bin_of(score, median):
    """Return the bin of a score."""
    if not median > 0.0:
        return N_BINS - 1 if score > 0.0 else 0
    if not score > 0.0:
        return 0
    position = MIDDLE + PER_OCTAVE * math.log2(score / median)  # infinite if the ratio is
    return int(min(max(position, 0.0), N_BINS - 1.0))


@kernel
def bins_of(X, mean, inverse, median):
    """Return the bin of the score of each row."""
    out = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        out[i] = bin_of(_score(X[i], mean, inverse), median)
    return out


@kernel
def counts_of(scores, median):
    """Return the number of scores in each bin."""
    counts = np.zeros(N_BINS)
    for score in scores:
        counts[bin_of(score, median)] += 1.0
    return counts


@kernel
def extent(X):
    """Return the mean, the least and the largest value of each column; the mean of equal values is that value."""
    n, d = X.shape
    mean, low, high = np.zeros(d), X[0].copy(), X[0].copy()
    for i in range(n):
        x = X[i]
        for j in range(d):
            mean[j] += x[j]
            low[j] = x[j] if x[j] < low[j] else low[j]
            high[j] = x[j] if x[j] > high[j] else high[j]
    for j in range(d):
        mean[j] = mean[j] / n if low[j] < high[j] else low[j]
    return mean, low, high


@kernel
def parts_of_scores(X, mean, floor):
    """Return the variance of each column, and the part of each entry in the score of its row.

    Each score is computed without the row itself; no variance is below the square of the floor.
    """
    n, d = X.shape
    variance, parts, correction = np.zeros(d), np.empty((n, d)), n / (n - 1)
    for i in range(n):
        x, out = X[i], parts[i]
        for j in range(d):
            out[j] = (x[j] - mean[j]) * (x[j] - mean[j])
            variance[j] += out[j]
    for j in range(d):
        variance[j] /= n - 1
    for i in range(n):
        out = parts[i]
        for j in range(d):
            square, least = out[j] * correction, floor[j] * floor[j]
            without = ((n - 1) * variance[j] - square) / (n - 2)
            out[j] = square * correction / (without if without > least else least)
    return variance, parts


@kernel
def correlation(X, center, scale):
    """Return the correlation of each row with the next one, in centered and scaled columns."""
    own, next_one = 0.0, 0.0
    here, before = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            here[j] = (X[i, j] - center[j]) * scale[j]
        own += dot(here, here)
        next_one += dot(here, before)
        here, before = before, here
    return next_one / own


@inner
def _bet(L, counts, score):
    """Return the logarithm of what a bet on a small rank of the score wins; the score is then counted."""
    b = bin_of(score, L[MEDIAN])
    above = 0.0
    for k in range(b + 1, N_BINS):
        above += counts[k]
    n = L[N_SCORES] + 1.0
    share = n * GOLDEN % 1.0
    p = max((above + share * (counts[b] + 1.0)) / n, 0.5 / n)
    counts[b] += 1.0
    L[N_SCORES] = n
    wins = 0.0
    for e in EXPONENTS:
        wins += e * p ** (e - 1.0)
    return math.log(wins / len(EXPONENTS))


@inner
def _pass_cut(c, distance, row, settings):
    """Update the CUSUM of a cut with a row at this distance from it."""
    if not (c[LOW] < distance < c[HIGH]):
        return
    is_inner = abs(distance) < c[REACH]
    with_valley = (c[N_INNER] + 1.0) / (c[N_OUTER] + 1.0 / c[RATE])
    if with_valley < SHALLOW * c[RATE] and c[FILLED_AT] < 0.0:
        if c[FILL] <= 0.0:
            c[FILL], c[FILL_ONSET], c[INNER_SINCE] = 0.0, row, 0.0
        ratio = c[RATE] / with_valley if is_inner else (1.0 - c[RATE]) / (1.0 - with_valley)
        c[FILL] += math.log(ratio) / settings[DEPENDENT]
        if c[FILL] > settings[CUT_LIMIT]:
            c[FILLED_AT] = row
    c[N_OUTER] += 1.0
    if is_inner:
        c[N_INNER] += 1.0
        c[INNER_SINCE] += 1.0


@inner
def _keep(L, rows, times, x, row):
    """Put a row into the ring of its leaf, and count it."""
    gap = row - L[LAST]
    if L[N_SEEN] > 0.0:
        L[LONGEST_GAP] = max(L[LONGEST_GAP], gap)
    if gap > 1.0 or L[N_SEEN] == 0.0:
        L[N_VISITS] += 1.0
    k = int(L[N_STORED]) % rows.shape[0]
    for j in range(x.shape[0]):
        rows[k, j] = x[j]
    times[k] = row
    L[LAST] = row
    L[N_SEEN] += 1.0
    L[N_STORED] += 1.0
    L[N_SINCE] += 1.0


@inner
def is_over(L, row, limit):
    """Return whether a leaf has had no row for far longer than ever before, or has rested long enough.

    After v visits in a rows, a gap of g rows has the predictive probability (a / (a + g))^v if visits come by chance.
    """
    if L[REST_UNTIL] > 0.0:
        return row >= L[REST_UNTIL]
    gap, age = row - L[LAST], max(L[LAST] - L[BORN], 1.0)
    return gap > LONGER * L[LONGEST_GAP] and L[N_VISITS] * math.log1p(gap / age) > limit


@inner
def _is_due(row, left, ring, cut, leaf, settings):
    """Return whether a leaf is over, or a cut is to be renewed."""
    for node in range(left.shape[0]):
        if ring[node] >= 0 and is_over(leaf[node], row, settings[SILENCE_LIMIT]):
            return True
        if ring[node] == -1 and 0.0 <= cut[node, FILLED_AT] <= row - PATIENCE:
            return True
    return False


@kernel
def n_watched(node, left, right, leaf, size):
    """Return the number of rows in the rings below a node; 0 if a leaf there is not watched, or is changing."""
    stack, n_stack, total = np.empty(left.shape[0], np.int64), 1, 0
    stack[0] = node
    while n_stack > 0:
        n_stack -= 1
        here = stack[n_stack]
        if left[here] >= 0:
            stack[n_stack], stack[n_stack + 1] = left[here], right[here]
            n_stack += 2
        elif leaf[here, STATE] != WATCHED:
            return 0
        else:
            total += min(int(leaf[here, N_STORED]), size)
    return total


@kernel
def leaf_of(X, root, left, right, normal, cut):
    """Return the leaf of the first row of `X`, which is not learned; sides are decided as in `follow`."""
    node = root
    while left[node] >= 0:
        node = left[node] if dot(X[0], normal[node]) < cut[node, OFFSET] else right[node]
    return node


@kernel
def follow(X, start, first, root, nodes, settings):
    """Learn rows from `start` on.

    Parameters
    ----------
    X : rows
    start : int
        Position in `X`.
    first : int
        Number of the first row of `X` in the stream.
    root : int
    nodes : Arrays
    settings : tuple of float

    Returns
    -------
    next : int
        Row with which to continue.
    why : int
    node : int
    """
    left, right, ring, normal, cut, leaf, mean, inverse, counts, rows, times = nodes
    for i in range(start, X.shape[0]):
        x, row, node = X[i], float(first + i), root
        while left[node] >= 0:
            s = dot(x, normal[node])
            _pass_cut(cut[node], s - cut[node, OFFSET], row, settings)
            node = left[node] if s < cut[node, OFFSET] else right[node]
        L = leaf[node]
        _keep(L, rows[ring[node]], times[ring[node]], x, row)
        if L[STATE] == WATCHED:
            win = _bet(L, counts[node], _score(x, mean[node], inverse[node]))
            if L[N_SEEN] >= L[NEXT_BET]:
                L[NEXT_BET] = L[N_SEEN] + L[DEPENDENCE]
                if L[CUSUM] <= 0.0:
                    L[CUSUM], L[ONSET] = 0.0, row
                L[CUSUM] += win
                if L[CUSUM] > settings[LEAF_LIMIT]:
                    return i + 1, MISFIT, node
        if L[REST_UNTIL] > 0.0:
            return i + 1, RETURNED, node
        if L[N_SINCE] >= L[NEXT_TEST]:
            return i + 1, TEST, node
        if L[N_SEEN] >= L[NEXT_PROFILE]:
            return i + 1, PROFILE, node
        if row >= settings[NEXT_LOOK]:
            return i + 1, DUE, -1
        if (first + i + 1) % EVERY == 0 and left[root] >= 0 and _is_due(row, left, ring, cut, leaf, settings):
            return i + 1, DUE, -1
    return X.shape[0], END, -1
