"""Low-density cuts learned one row at a time (Hofmeyr 2020, eq. 4-7 and Algorithm 1), node by node.

The updates of a node depend only on the rows that reach it, in their order. So a whole batch goes through a node, then
its two halves go through the children. This gives, bit for bit, the numbers of one row at a time, at the speed of a
pass over memory.

A tree is a heap: the children of node i are 2 i and 2 i + 1, and the root is 1. The nodes of the last level only count.

For a sparse row, an update touches only its nonzeros. The mean and the normal change in every column, but always by a
multiple of the row or of the sum of all rows. So with T = fade · total, the weighted sum of the rows,

    mean = T / count,    normal = scale · (base + share · total),

a row changes `base` and `total` at its nonzeros, and the scalars. The products base · total and total · total are kept
up to date. Everything is recomputed from time to time, so that rounding errors do not accumulate.
"""

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel
from ravine._kernels.rows import dot

KERNEL_REACH = 8.0
"""Rows more than this many bandwidths from the cut do not move it, since the kernel has dropped to 1e-14."""

MAX_STACK = 64
"""Maximum number of nodes that wait while a chunk goes down: one per level, and the current one."""

REFRESH = 1024.0
"""Number of rows of a node after which rounding errors are removed."""

EQUAL = 1e-13
"""A sparse row equals the mean if its squared distance to the mean is below this share of its squared length."""

LEAST_FADE = 1e-3
"""The sum of sparse rows is recomputed when the past has faded to this share; `base` and `total` would cancel each
other."""

LEAST_SCALE = 1e-30
"""The normal of sparse rows is recomputed when its scale reaches this number or its inverse. The long steps that wide
rows take multiply the scale by small factors, until it would be zero."""

COUNT, SUM_SQ, SPREAD, OFFSET, N_ROWS, LENGTH, SCALE, SHARE, FADE, ALONG, SQUARE = range(11)
"""Columns of `scalars`.

Weight, sum of squares, variance along the normal, distance of the cut from the mean, rows seen, length of the running
principal component. For sparse rows also the scalars of the normal and of the mean, base · total, and total · total.
"""

N_SCALARS = 11


@inner_reduction
def _along(x, mean, v):
    """Return (x - mean) · v and ‖x - mean‖²."""
    along, square = 0.0, 0.0
    for j in range(x.shape[0]):
        deviation = x[j] - mean[j]
        along += deviation * v[j]
        square += deviation * deviation
    return along, square


@inner
def _make_unit(v):
    """Normalize v to unit length; if rounding has left nothing of it, any direction will do."""
    length = np.sqrt(dot(v, v))
    if not length > 0.0:
        for j in range(v.shape[0]):
            v[j] = 1.0
        length = np.sqrt(v.shape[0])
    for j in range(v.shape[0]):
        v[j] /= length


@kernel
def standardize(X, w, count, most, mean, square, out):
    """Compute out[i] = X[i], centered and scaled by the means and deviations of all rows up to it.

    Returns the new count.

    `mean` and `square` (sums of squared deviations) of the earlier rows are updated. The rows before a row weigh at
    most `most` minus its weight.
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
    """Compute out[k] = data[k] divided by the deviation of its column over all rows up to it.

    Returns the new count.

    `mean` and `square` of a column cover its first `seen` weight; zeros after that are added with the next nonzero.
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
    """Pass rows, in their order, through the subtree at node `first`; nodes from `stop_level` on are not changed.

    Parameters
    ----------
    X, w : rows and their weights
    rows : ndarray of int
        The rows that reach the node. At the end they are in the order of the nodes that they have reached.
    chunk : int
        Number of rows processed at a time, small enough to stay in the cache on their way down.
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
        Node, start and stop in `rows` for the rows that have reached `stop_level`.
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


@inner
def _push(stack, depth, node, start, stop):
    stack[depth, 0] = node
    stack[depth, 1] = start
    stack[depth, 2] = stop
    return depth + 1


@kernel
def learn_csr(indptr, indices, data, w, rows, chunk, first, stop_level, base, total, scalars, settings, goes_left):
    """Run `learn` on the rows of a CSR matrix; `base` and `total` replace the normals and the means."""
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


@inner
def _partition(rows, start, stop, goes_left, scratch):
    """Move the rows that go left before the others, without changing their order; return where the others start."""
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


@inner
def _weigh(scalars, weight, along, square, most):
    """Add a row, and return what the step needs.

    The results are the rate of the new mean, the factor of all earlier rows, the distance of the row from the new mean
    along the normal, and its squared distance.

    `along` and `square` are the distances of the row from the mean so far.
    """
    kept = min(scalars[COUNT], max(most - weight, 0.0))  # forgetting: the past has at most this weight
    fade = kept / scalars[COUNT] if scalars[COUNT] > 0.0 else 0.0
    scalars[COUNT] = kept + weight
    rate = weight / scalars[COUNT]
    scalars[SUM_SQ] = fade * scalars[SUM_SQ] + weight * (1.0 - rate) * square
    scalars[N_ROWS] += 1.0
    return rate, fade, (1.0 - rate) * along, (1.0 - rate) * (1.0 - rate) * square


@inner
def _move(scalars, rate, along, square, n_columns, settings):
    """Compute the step of a row: the new normal is (normal - step · row) · shorten, the row relative to the new mean.

    Moves the offset of the cut, and returns (step, shorten, whether the row goes left). If shorten is 0, there is no
    normal yet, and the row itself becomes the normal.
    """
    exponent, alpha, penalty, clip, warm_up, _ = settings
    deviation = np.sqrt(scalars[SPREAD])  # of the earlier rows
    if rate < 1.0:
        scalars[SPREAD] += rate * (along * along / (1.0 - rate) - scalars[SPREAD])
    if scalars[N_ROWS] <= warm_up:
        # The running principal component (Weng et al. 2003) is `length` · normal; it moves by rate · along · row.
        length = (1.0 - rate) * scalars[LENGTH]
        if length == 0.0:
            scalars[LENGTH] = np.sqrt(square)
            return 0.0, 0.0, False
        step = -rate * along / length
        growth = np.sqrt(1.0 - 2.0 * step * along + step * square * step)  # a square of a square may overflow
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
    if square_length < 1e-24:  # the step would end at zero, where there is no direction
        step, square_length = 0.0, 1.0
    shorten = 1.0 / np.sqrt(square_length)
    return step, shorten, (along - step * square) * shorten < b


@inner
def _update(X, w, rows, is_cut, v, mean, scalars, settings, goes_left):
    """Take one stochastic gradient step per row, and decide its side of the cut.

    A node without a cut only counts rows.
    """
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
        if shorten == 0.0:  # the normal becomes the row, relative to the mean, unless that is zero
            step = -1.0 if square > 0.0 else 0.0
            for j in range(n_columns):
                v[j] *= 1.0 + step
            shorten = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        for j in range(n_columns):
            mean[j] += rate * (x[j] - mean[j])
            v[j] = (v[j] - step * (x[j] - mean[j])) * shorten
        if scalars[N_ROWS] % REFRESH == 0.0:
            _make_unit(v)


@inner
def _update_csr(indptr, indices, data, w, rows, is_cut, base, total, scalars, settings, goes_left):
    """Run `_update` on sparse rows."""
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
        if square < EQUAL * by_self:  # no more than rounding: the row equals the mean
            square = 0.0
        along = scalars[SCALE] * (
            by_base + scalars[SHARE] * by_total - mean_share * (scalars[ALONG] + scalars[SHARE] * scalars[SQUARE])
        )
        along = min(max(along, -np.sqrt(square)), np.sqrt(square))  # rounding may exceed the bounds
        rate, fade, along, square = _weigh(scalars, w[i], along, square, settings[5])

        if fade > 0.0:
            scalars[FADE] *= fade
        else:  # this row is the only one
            _settle(is_cut, base, total, scalars)
            for j in range(n_columns):
                total[j] = 0.0
            scalars[FADE], scalars[ALONG], scalars[SQUARE] = 1.0, 0.0, 0.0
            by_total, by_base = 0.0, 0.0
            if is_cut:
                for m in range(start, stop):
                    by_base += data[m] * base[indices[m]]
        add = w[i] / scalars[FADE]
        keep = scalars[SHARE] * add  # subtracting this much of the row from `base` leaves the normal unchanged
        scalars[ALONG] += add * by_base - keep * by_total - keep * add * by_self
        scalars[SQUARE] += 2.0 * add * by_total + add * add * by_self
        by_total += add * by_self

        step, shorten = 0.0, 1.0
        if is_cut:
            step, shorten, goes_left[i] = _move(scalars, rate, along, square, n_columns, settings)
        if shorten == 0.0 and square > 0.0:  # the normal becomes the row, relative to the mean
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


@inner
def _settle(is_cut, base, total, scalars):
    """Apply the scalars to the vectors, and reset them."""
    if is_cut:
        for j in range(base.shape[0]):
            base[j] = scalars[SCALE] * (base[j] + scalars[SHARE] * total[j])
        _make_unit(base)
    for j in range(total.shape[0]):
        total[j] *= scalars[FADE]
    scalars[SCALE], scalars[SHARE], scalars[FADE] = 1.0, 0.0, 1.0
    scalars[SQUARE] = dot(total, total)
    scalars[ALONG] = dot(base, total) if is_cut else 0.0
