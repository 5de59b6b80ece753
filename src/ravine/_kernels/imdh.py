"""Low-density cuts learned one row at a time (Hofmeyr 2020, eq. 4-7 and Algorithm 1), node by node.

A node's updates depend only on the rows that reach it, in their order. So a batch goes through a node completely, then
its two halves through its children: bit for bit the numbers of one row at a time, at the speed of a pass over memory.

A tree is a heap: the children of node i are 2 i and 2 i + 1, the root is 1. The nodes of the last level only count.

For a sparse row an update touches its non-zeros only. The mean and the normal change in every coordinate, but always by
a multiple of the row or of the sum of all rows. So with T = fade · total the weighted sum of the rows,

    mean = T / count,    normal = scale · (base + share · total),

a row changes `base` and `total` where it is not zero, and the scalars. The products base · total and total · total are
kept up to date, and all is made anew from time to time, lest rounding adds up.
"""

import numpy as np

from ravine._kernels._compile import kernel, reduction
from ravine._kernels.rows import dot

KERNEL_REACH = 8.0
"""Rows more than so many bandwidths from the cut do not move it: the kernel has fallen to 1e-14."""

MAX_STACK = 64
"""Nodes that wait while a chunk goes down: one a level, and the present one."""

REFRESH = 1024.0
"""Rows of a node after which rounding is put right."""

EQUAL = 1e-13
"""A sparse row whose squared distance to the mean is so small, beside its squared length, lies on it."""

LEAST_FADE = 1e-3
"""The sum of sparse rows is made anew when the past has faded to this: `base` and `total` would cancel each other."""

LEAST_SCALE = 1e-30
"""The normal of sparse rows is made anew when its scale has come to this, or to its inverse: the long steps that wide
rows take multiply it by small factors, until it would be zero."""

COUNT, SUM_SQ, SPREAD, OFFSET, N_ROWS, LENGTH, SCALE, SHARE, FADE, ALONG, SQUARE = range(11)
"""Columns of `scalars`.

Weight, sum of squares, variance along the normal, distance of the cut from the mean, rows seen, length of the running
principal component; and for sparse rows the scalars of the normal and of the mean, base · total, and total · total.
"""

N_SCALARS = 11


@reduction
def _along(x, mean, v):
    """(x - mean) · v and ‖x - mean‖²."""
    along, square = 0.0, 0.0
    for j in range(x.shape[0]):
        deviation = x[j] - mean[j]
        along += deviation * v[j]
        square += deviation * deviation
    return along, square


@kernel
def _make_unit(v):
    """Make v a unit vector; any direction does where rounding has left nothing of it."""
    length = np.sqrt(dot(v, v))
    if not length > 0.0:
        v[:], length = 1.0, np.sqrt(v.shape[0])
    for j in range(v.shape[0]):
        v[j] /= length


@kernel
def standardize(X, w, count, most, mean, square, out):
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
def standardize_csr(indptr, indices, data, w, count, seen, mean, square, out):
    """out[k] = data[k] in units of its column's deviation over all rows up to it; gives the new count.

    `mean` and `square` of a column are those of its first `seen` weight; zeros after that are added with a number.
    """
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if count > seen[j]:
                square[j] += mean[j] * mean[j] * seen[j] * (count - seen[j]) / count
                mean[j] *= seen[j] / count
            seen[j] = count + w[i]
            before = data[k] - mean[j]
            mean[j] += before * (w[i] / seen[j])
            square[j] += w[i] * before * (data[k] - mean[j])
            out[k] = data[k] / np.sqrt(square[j] / seen[j]) if square[j] > 0.0 else 0.0
        count += w[i]
    return count


@kernel
def learn(X, w, rows, chunk, first, stop_level, normal, mean, scalars, settings, goes_left):
    """Pass rows, in their order, through the subtree at node `first`, whose nodes from `stop_level` on are left alone.

    Parameters
    ----------
    X, w : rows and their weights
    rows : ndarray of int
        Which rows reach the node. In the end they stand in the order of the nodes they have reached.
    chunk : int
        So many rows at a time, few enough to stay in the cache on their way down.
    first, stop_level : int
    normal : ndarray of shape (n_cuts, n_features)
    mean : ndarray of shape (n_nodes, n_features)
    scalars : ndarray of shape (n_nodes, N_SCALARS)
    settings : tuple of float
        See `ravine.tree._imdh.Settings`.
    goes_left : ndarray of bool of shape (n_samples,)

    Returns
    -------
    ends : ndarray of shape (n, 3)
        Node, start and stop in `rows` of what has reached `stop_level`.
    """
    n_rows = rows.shape[0]
    ends = np.empty((n_rows, 3), np.int64)
    n_ends = 0
    scratch = np.empty(n_rows, np.int64)
    stack = np.empty((MAX_STACK, 3), np.int64)
    for begin in range(0, n_rows, chunk):
        depth = _push(stack, 0, first, begin, min(begin + chunk, n_rows))
        while depth > 0:
            depth -= 1
            node, start, stop = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            if start == stop:
                continue
            if node >= stop_level:
                n_ends = _push(ends, n_ends, node, start, stop)
                continue
            is_cut = node < normal.shape[0]
            cut, here = normal[node if is_cut else 0], rows[start:stop]
            _update(X, w, here, is_cut, cut, mean[node], scalars[node], settings, goes_left)
            if is_cut:
                middle = _partition(rows, start, stop, goes_left, scratch)
                depth = _push(stack, depth, 2 * node + 1, middle, stop)
                depth = _push(stack, depth, 2 * node, start, middle)
    return ends[:n_ends]


@kernel
def _push(stack, depth, node, start, stop):
    stack[depth, 0] = node
    stack[depth, 1] = start
    stack[depth, 2] = stop
    return depth + 1


@kernel
def learn_csr(indptr, indices, data, w, rows, chunk, first, stop_level, base, total, scalars, settings, goes_left):
    """`learn` for the rows of a CSR matrix; `base` and `total` stand for the normals and the means."""
    n_rows = rows.shape[0]
    ends = np.empty((n_rows, 3), np.int64)
    n_ends = 0
    scratch = np.empty(n_rows, np.int64)
    stack = np.empty((MAX_STACK, 3), np.int64)
    for begin in range(0, n_rows, chunk):
        depth = _push(stack, 0, first, begin, min(begin + chunk, n_rows))
        while depth > 0:
            depth -= 1
            node, start, stop = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            if start == stop:
                continue
            if node >= stop_level:
                n_ends = _push(ends, n_ends, node, start, stop)
                continue
            is_cut = node < base.shape[0]
            cut, here = base[node if is_cut else 0], rows[start:stop]
            _update_csr(indptr, indices, data, w, here, is_cut, cut, total[node], scalars[node], settings, goes_left)
            if is_cut:
                middle = _partition(rows, start, stop, goes_left, scratch)
                depth = _push(stack, depth, 2 * node + 1, middle, stop)
                depth = _push(stack, depth, 2 * node, start, middle)
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
    for k in range(n_right):
        rows[middle + k] = scratch[k]
    return middle


@kernel
def _weigh(scalars, weight, along, square, most):
    """Take in a row: (rate of the new mean, factor of all before, distances along the normal and squared to it).

    `along` and `square` are the row's distances from the mean so far.
    """
    kept = min(scalars[COUNT], max(most - weight, 0.0))  # forgetting: what was before weighs no more than this
    fade = kept / scalars[COUNT] if scalars[COUNT] > 0.0 else 0.0
    scalars[COUNT] = kept + weight
    rate = weight / scalars[COUNT]
    scalars[SUM_SQ] = fade * scalars[SUM_SQ] + weight * (1.0 - rate) * square
    scalars[N_ROWS] += 1.0
    return rate, fade, (1.0 - rate) * along, (1.0 - rate) * (1.0 - rate) * square


@kernel
def _move(scalars, rate, along, square, n_columns, settings):
    """Decide on a row's step: the new normal is (normal - step · row) · shorten, the row measured from the new mean.

    Moves the cut's offset, and gives (step, shorten, whether the row goes left). Where shorten is 0 there is no normal
    yet, and it becomes the row itself.
    """
    exponent, alpha, penalty, clip, warm_up, _ = settings
    deviation = np.sqrt(scalars[SPREAD])  # of the rows before
    if rate < 1.0:
        scalars[SPREAD] += rate * (along * along / (1.0 - rate) - scalars[SPREAD])
    if scalars[N_ROWS] <= warm_up:
        # The running principal component (Weng et al. 2003) is `length` · normal; it moves by rate · along · row.
        length = (1.0 - rate) * scalars[LENGTH]
        if length == 0.0:
            scalars[LENGTH] = np.sqrt(square)
            return 0.0, 0.0, False
        step = -rate * along / length
        growth = np.sqrt(1.0 - 2.0 * step * along + step * square * step)  # no square of a square: it may overflow
        scalars[LENGTH] = length * growth
        return step, 1.0 / growth, (along - step * square) / growth < 0.0
    h = deviation * scalars[COUNT] ** -exponent
    b = scalars[OFFSET]
    pull = 0.0
    if h > 0.0:
        u = (b - along) / h
        if abs(u) < KERNEL_REACH:
            pull = u / (h * h) * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
    over = abs(b) - alpha * deviation
    push = 2.0 * penalty * over * np.sign(b) if over > 0.0 else 0.0
    bound = clip * alpha * deviation
    b = min(max(b - rate * (push - pull), -bound), bound)
    scalars[OFFSET] = b
    step = np.sqrt(n_columns) * rate * pull
    square_length = 1.0 - 2.0 * step * along + step * square * step
    if square_length < 1e-24:  # the step would end at zero: no direction is left
        step, square_length = 0.0, 1.0
    shorten = 1.0 / np.sqrt(square_length)
    return step, shorten, (along - step * square) * shorten < b


@kernel
def _update(X, w, rows, is_cut, v, mean, scalars, settings, goes_left):
    """One step of stochastic gradient for each row, and its side of the cut after that; or rows are only counted."""
    n_columns = mean.shape[0]
    for k in range(rows.shape[0]):
        i = rows[k]
        x = X[i]
        along, square = _along(x, mean, v)
        rate, _, along, square = _weigh(scalars, w[i], along, square, settings[5])
        step, shorten = 0.0, 1.0
        if is_cut:
            step, shorten, goes_left[i] = _move(scalars, rate, along, square, n_columns, settings)
        if shorten == 1.0 and step == 0.0:
            for j in range(n_columns):
                mean[j] += rate * (x[j] - mean[j])
            continue
        if shorten == 0.0:  # the normal becomes the row, measured from the mean, if that is not zero
            step = -1.0 if square > 0.0 else 0.0
            for j in range(n_columns):
                v[j] *= 1.0 + step
            shorten = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        for j in range(n_columns):
            mean[j] += rate * (x[j] - mean[j])
            v[j] = (v[j] - step * (x[j] - mean[j])) * shorten
        if scalars[N_ROWS] % REFRESH == 0.0:
            _make_unit(v)


@kernel
def _update_csr(indptr, indices, data, w, rows, is_cut, base, total, scalars, settings, goes_left):
    """`_update` for sparse rows."""
    n_columns = total.shape[0]
    if scalars[N_ROWS] == 0.0:
        scalars[SCALE], scalars[FADE] = 1.0, 1.0
    for k in range(rows.shape[0]):
        i = rows[k]
        start, stop = indptr[i], indptr[i + 1]
        by_base, by_total, by_self = 0.0, 0.0, 0.0
        for m in range(start, stop):
            x, j = data[m], indices[m]
            by_total += x * total[j]
            by_self += x * x
            if is_cut:
                by_base += x * base[j]
        mean_share = scalars[FADE] / scalars[COUNT] if scalars[COUNT] > 0.0 else 0.0
        square = by_self - 2.0 * mean_share * by_total + mean_share * mean_share * scalars[SQUARE]
        if square < EQUAL * by_self:  # no more than rounding: the row is the mean
            square = 0.0
        along = scalars[SCALE] * (
            by_base + scalars[SHARE] * by_total - mean_share * (scalars[ALONG] + scalars[SHARE] * scalars[SQUARE])
        )
        along = min(max(along, -np.sqrt(square)), np.sqrt(square))  # rounding knows no bounds
        rate, fade, along, square = _weigh(scalars, w[i], along, square, settings[5])

        if fade > 0.0:
            scalars[FADE] *= fade
        else:  # the row is all there is
            _settle(is_cut, base, total, scalars)
            for j in range(n_columns):
                total[j] = 0.0
            scalars[FADE], scalars[ALONG], scalars[SQUARE] = 1.0, 0.0, 0.0
            by_total, by_base = 0.0, 0.0
            if is_cut:
                for m in range(start, stop):
                    by_base += data[m] * base[indices[m]]
        add = w[i] / scalars[FADE]
        keep = scalars[SHARE] * add  # so much less of the row in `base` leaves the normal as it is
        scalars[ALONG] += add * by_base - keep * by_total - keep * add * by_self
        scalars[SQUARE] += 2.0 * add * by_total + add * add * by_self
        by_total += add * by_self

        step, shorten = 0.0, 1.0
        if is_cut:
            step, shorten, goes_left[i] = _move(scalars, rate, along, square, n_columns, settings)
        if shorten == 0.0 and square > 0.0:  # the normal becomes the row, measured from the mean
            for j in range(n_columns):
                base[j] = 0.0
            keep, take = 0.0, -1.0
            scalars[SHARE] = -scalars[FADE] / scalars[COUNT]
            scalars[SCALE] = 1.0 / np.sqrt(square)
            scalars[ALONG] = by_total
        elif shorten == 0.0:
            take = 0.0
        else:
            take = step / scalars[SCALE]
            scalars[ALONG] -= take * by_total
            scalars[SHARE] += take * scalars[FADE] / scalars[COUNT]
            scalars[SCALE] *= shorten
        for m in range(start, stop):
            x, j = data[m], indices[m]
            total[j] += add * x
            if is_cut:
                base[j] -= (keep + take) * x
        is_far = not LEAST_SCALE <= scalars[SCALE] <= 1.0 / LEAST_SCALE
        if scalars[N_ROWS] % REFRESH == 0.0 or scalars[FADE] < LEAST_FADE or is_far:
            _settle(is_cut, base, total, scalars)


@kernel
def _settle(is_cut, base, total, scalars):
    """Write the scalars into the vectors."""
    if is_cut:
        for j in range(base.shape[0]):
            base[j] = scalars[SCALE] * (base[j] + scalars[SHARE] * total[j])
        _make_unit(base)
    for j in range(total.shape[0]):
        total[j] *= scalars[FADE]
    scalars[SCALE], scalars[SHARE], scalars[FADE] = 1.0, 0.0, 1.0
    scalars[SQUARE] = dot(total, total)
    scalars[ALONG] = dot(base, total) if is_cut else 0.0
