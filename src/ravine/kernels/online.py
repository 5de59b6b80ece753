"""Low-density cuts learned one row at a time (Hofmeyr 2020, eq. 4-7 and Algorithm 1), node by node.

A node's updates depend only on the rows that reach it, in their order. So a batch goes through a node completely, then
its two halves through its children: bit for bit the numbers of one row at a time, at the speed of a pass over memory.

A tree is a heap: the children of node i are 2 i and 2 i + 1, the root is 1. The nodes of the last level only count.
"""

import numpy as np

from ravine.kernels._compile import kernel, reduction

KERNEL_REACH = 8.0
"""Rows more than so many bandwidths from the cut do not move it: the kernel has fallen to 1e-14."""

COUNT, SUM_SQ, SPREAD, OFFSET, N_ROWS = range(5)
"""Columns of `scalars`: weight, sum of squares, variance along the normal, cut's distance from the mean, rows seen."""


@reduction
def _along(x, mean, v):
    """(x - mean) · v and ‖x - mean‖²."""
    along, square = 0.0, 0.0
    for j in range(x.shape[0]):
        deviation = x[j] - mean[j]
        along += deviation * v[j]
        square += deviation * deviation
    return along, square


@reduction
def _norm(v):
    square = 0.0
    for j in range(v.shape[0]):
        square += v[j] * v[j]
    return np.sqrt(square)


@kernel
def standardise(X, w, count, most, mean, square, out):
    """out[i] = X[i] in units of the deviations, from the means, of all rows up to it; gives the new count.

    `mean` and `square` (sums of squared deviations) of the rows before are brought up to date; rows before a row weigh
    no more than `most` minus its weight.
    """
    for i in range(X.shape[0]):
        kept = min(count, max(most - w[i], 0.0))
        fade = kept / count if count > 0.0 else 0.0
        count = kept + w[i]
        rate = w[i] / count
        for j in range(X.shape[1]):
            before = X[i, j] - mean[j]
            mean[j] += before * rate
            after = before * (1.0 - rate)
            square[j] = fade * square[j] + w[i] * before * after
            out[i, j] = after / np.sqrt(square[j] / count) if square[j] > 0.0 else 0.0
    return count


@kernel
def learn(X, w, rows, chunk, first, stop_level, normal, mean, component, scalars, settings, goes_left):
    """Pass rows, in their order, through the subtree at node `first`, whose nodes from `stop_level` on only count.

    Parameters
    ----------
    X, w : rows and their weights
    rows : ndarray of int
        Which rows reach the node. In the end they stand in the order of the nodes they have reached.
    chunk : int
        So many rows at a time, few enough to stay in the cache on their way down.
    first : int
    stop_level : int
        Nodes with numbers from here on are not descended into: 2^depth for all of the tree.
    normal, component : ndarray of shape (n_cuts, n_features)
        Direction of the cut, and the running principal component with which it starts.
    mean : ndarray of shape (n_nodes, n_features)
        Mean of the rows.
    scalars : ndarray of shape (n_nodes, 5)
    settings : tuple of float
        See `ravine.tree.online.Settings`.
    goes_left : ndarray of bool of shape (n_rows,)

    Returns
    -------
    ends : ndarray of shape (n, 3)
        Node, start and stop in `rows` of the nodes that were not descended into.
    """
    n_rows = rows.shape[0]
    ends = np.empty((n_rows, 3), np.int64)
    n_ends = 0
    scratch = np.empty_like(rows)
    for begin in range(0, n_rows, chunk):
        stack = [(first, begin, min(begin + chunk, n_rows))]
        while len(stack) > 0:
            node, start, stop = stack.pop()
            if start == stop:
                continue
            if node >= stop_level:
                ends[n_ends, 0], ends[n_ends, 1], ends[n_ends, 2] = node, start, stop
                n_ends += 1
                continue
            here = rows[start:stop]
            if node >= normal.shape[0]:
                _count(X, w, here, mean[node], scalars[node], settings)
                continue
            cut = (normal[node], mean[node], component[node], scalars[node])
            _update(X, w, here, *cut, settings, goes_left)
            middle = _partition(rows, start, stop, goes_left, scratch)
            stack.append((2 * node + 1, middle, stop))
            stack.append((2 * node, start, middle))
    return ends[:n_ends]


@kernel
def _partition(rows, start, stop, goes_left, scratch):
    """Bring the rows that go left before the others, both in their order; gives where the others start."""
    middle, n_right = start, 0
    for k in range(start, stop):
        i = rows[k]
        if goes_left[i]:
            rows[middle] = i
            middle += 1
        else:
            scratch[n_right] = i
            n_right += 1
    rows[middle:stop] = scratch[:n_right]
    return middle


@kernel
def _count(X, w, rows, mean, scalars, settings):
    """Weight, mean and sum of squares of a node that is not cut."""
    most = settings[5]
    for k in range(rows.shape[0]):
        x, weight = X[rows[k]], w[rows[k]]
        kept = min(scalars[COUNT], max(most - weight, 0.0))
        rate = weight / (kept + weight)
        square = 0.0
        for j in range(x.shape[0]):
            deviation = x[j] - mean[j]
            square += deviation * deviation
            mean[j] += rate * deviation
        fade = kept / scalars[COUNT] if scalars[COUNT] > 0.0 else 0.0
        scalars[SUM_SQ] = fade * scalars[SUM_SQ] + weight * (1.0 - rate) * square
        scalars[COUNT] = kept + weight
        scalars[N_ROWS] += 1.0


@kernel
def _update(X, w, rows, v, mean, component, scalars, settings, goes_left):
    """One step of stochastic gradient for each row, and its side of the cut after that."""
    exponent, alpha, penalty, clip, warm_up, most = settings
    n_columns = v.shape[0]
    count, sum_sq, spread, b, n_rows = scalars[0], scalars[1], scalars[2], scalars[3], scalars[4]
    for k in range(rows.shape[0]):
        i = rows[k]
        x, weight = X[i], w[i]
        kept = min(count, max(most - weight, 0.0))  # forgetting: what was before weighs no more than this
        fade = kept / count if count > 0.0 else 0.0
        count = kept + weight
        rate = weight / count
        along, square = _along(x, mean, v)
        deviation = np.sqrt(spread)
        sum_sq = fade * sum_sq + weight * (1.0 - rate) * square
        spread += rate * ((1.0 - rate) * along * along - spread)
        along *= 1.0 - rate  # from the new mean
        square *= (1.0 - rate) * (1.0 - rate)
        n_rows += 1.0
        if n_rows <= warm_up:
            for j in range(n_columns):
                mean[j] += rate * (x[j] - mean[j])
            along = _follow_component(x, mean, component, v, rate)
            goes_left[i] = along < 0.0
            continue
        h = deviation * count**-exponent
        pull = 0.0
        if h > 0.0:
            u = (b - along) / h
            if abs(u) < KERNEL_REACH:
                pull = u / (h * h) * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
        over = abs(b) - alpha * deviation
        push = 2.0 * penalty * over * np.sign(b) if over > 0.0 else 0.0
        b -= rate * (push - pull)
        if clip > 0.0:
            b = min(max(b, -clip * alpha * deviation), clip * alpha * deviation)
        if pull == 0.0:
            for j in range(n_columns):
                mean[j] += rate * (x[j] - mean[j])
        else:
            step = np.sqrt(n_columns) * rate * pull
            square_length = 1.0 - 2.0 * step * along + step * step * square
            if square_length < 1e-24:  # the step ends at zero: no direction is left
                step, square_length = 0.0, 1.0
            shorten = 1.0 / np.sqrt(square_length)
            for j in range(n_columns):
                mean[j] += rate * (x[j] - mean[j])
                v[j] = (v[j] - step * (x[j] - mean[j])) * shorten
            along = (along - step * square) * shorten
            if n_rows % 1024.0 == 0.0:  # what rounding has left of the unit length
                v /= _norm(v)
        goes_left[i] = along < b
    scalars[0], scalars[1], scalars[2], scalars[3], scalars[4] = count, sum_sq, spread, b, n_rows


@kernel
def _follow_component(x, mean, component, v, rate):
    """Move a running principal component towards a row (Weng et al. 2003), v with it; gives the row's place on it."""
    length = _norm(component)
    along, _ = _along(x, mean, component)
    if length > 0.0:
        along /= length
    for j in range(v.shape[0]):
        if length > 0.0:
            component[j] += rate * (along * (x[j] - mean[j]) - component[j])
        else:
            component[j] = x[j] - mean[j]
    length = _norm(component)
    if length > 0.0:
        for j in range(v.shape[0]):
            v[j] = component[j] / length
    return _along(x, mean, v)[0]
