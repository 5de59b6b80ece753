"""Divide rows in two, again and again, so that the sums of squares are small: bisecting k-means in one compiled call.

A group starts as the two sides of the best cut along its first principal component, and a few steps of k-means follow.
A division costs O(n d) for n rows and d features. Nothing is random.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, kernel
from ravine._kernels.rows import dot

N_POWERS = 12
"""Number of power iterations for the principal component: a start for k-means need not be exact."""

N_STEPS = 8
"""Maximum number of steps of k-means."""


@inner
def _mean(X, w, rows, out):
    """Compute out = the mean of some rows, and return their weight."""
    total = 0.0
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in rows:
        total += w[i]
        for j in range(out.shape[0]):
            out[j] += w[i] * X[i, j]
    for j in range(out.shape[0]):
        out[j] /= total
    return total


@inner
def square_sum(X, w, rows, mean):
    """Return the weighted sum of the squared distances of some rows from a point."""
    total = 0.0
    for i in rows:
        s = 0.0
        for j in range(mean.shape[0]):
            s += (X[i, j] - mean[j]) * (X[i, j] - mean[j])
        total += w[i] * s
    return total


@inner
def component(X, w, rows, mean):
    """Return a direction near the first principal component of some rows; 0 if they do not vary.

    Power iterations start at the row that is farthest from the mean.
    """
    d = mean.shape[0]
    v, u, farthest = np.zeros(d), np.empty(d), 0.0
    for i in rows:
        s = 0.0
        for j in range(d):
            s += (X[i, j] - mean[j]) * (X[i, j] - mean[j])
        if s > farthest * (1.0 + 1e-9):
            farthest = s
            for j in range(d):
                v[j] = X[i, j] - mean[j]
    length = math.sqrt(dot(v, v))
    for _ in range(N_POWERS):
        if not length > 0.0:
            break
        for j in range(d):
            v[j] /= length
            u[j] = 0.0
        shift = dot(mean, v)
        for i in rows:
            along = w[i] * (dot(X[i], v) - shift)
            for j in range(d):
                u[j] += along * (X[i, j] - mean[j])
        for j in range(d):
            v[j] = u[j]
        length = math.sqrt(dot(v, v))
    for j in range(d):
        v[j] = v[j] / length if length > 0.0 else 0.0
    return v


@inner
def best_threshold(values, w):
    """Return the position on a line that divides values into two groups with the least sum of squares."""
    order = np.argsort(values)
    total, moment = 0.0, 0.0
    for i in range(values.shape[0]):
        total += w[i]
        moment += w[i] * values[i]
    left, left_moment, best, threshold = 0.0, 0.0, -1.0, values[order[-1]]
    for k in range(values.shape[0] - 1):
        i = order[k]
        left += w[i]
        left_moment += w[i] * values[i]
        if values[order[k + 1]] > values[i]:
            apart = left_moment / left - (moment - left_moment) / (total - left)
            between = apart * apart * left * (total - left)
            if between > best * (1.0 + 1e-9):
                best, threshold = between, 0.5 * (values[i] + values[order[k + 1]])
    return threshold


@inner
def halve(X, w, rows, is_left):
    """Divide some rows in two: set is_left[k] for each of them, and return how many are on the left.

    All are on one side if they do not differ.
    """
    n, d = rows.shape[0], X.shape[1]
    means, values, of_rows = np.empty((2, d)), np.empty(n), np.empty(n)
    _mean(X, w, rows, means[0])
    direction = component(X, w, rows, means[0])
    for k in range(n):
        values[k] = dot(X[rows[k]], direction)
        of_rows[k] = w[rows[k]]
    threshold = best_threshold(values, of_rows)
    for step in range(N_STEPS):
        n_left, has_moved = 0, step == 0
        for k in range(n):
            side = values[k] < threshold
            has_moved = has_moved or side != is_left[k]
            is_left[k] = side
            n_left += side
        if n_left == 0 or n_left == n or not has_moved:
            break
        _mean(X, w, rows[is_left], means[0])
        _mean(X, w, rows[~is_left], means[1])
        threshold = 0.5 * (dot(means[1], means[1]) - dot(means[0], means[0]))
        for j in range(d):
            direction[j] = means[1, j] - means[0, j]
        for k in range(n):
            values[k] = dot(X[rows[k]], direction)
    n_left = 0
    for k in range(n):
        n_left += is_left[k]
    return n_left


@kernel
def path(X, w, most):
    """Return the sums of squares within 1, 2, …, `most` groups: the group with the largest one is divided next."""
    n, d = X.shape
    order, mean = np.arange(n), np.empty(d)
    start, stop, squares = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most)
    out = np.empty(most)
    stop[0] = n
    _mean(X, w, order, mean)
    squares[0] = square_sum(X, w, order, mean)
    out[0] = squares[0]
    n_groups, is_left = 1, np.zeros(n, np.bool_)
    for number in range(1, most):
        out[number] = out[number - 1]
        g = 0
        for other in range(1, n_groups):
            if squares[other] > squares[g] * (1.0 + 1e-9):
                g = other
        rows = order[start[g] : stop[g]].copy()
        sides = is_left[: rows.shape[0]]
        n_left = halve(X, w, rows, sides) if rows.shape[0] > 1 else 0
        if n_left == 0 or n_left == rows.shape[0]:
            break
        left, right = start[g], start[g] + n_left
        start[n_groups], stop[n_groups], stop[g] = right, stop[g], right
        for k in range(rows.shape[0]):
            if sides[k]:
                order[left] = rows[k]
                left += 1
            else:
                order[right] = rows[k]
                right += 1
        out[number] -= squares[g]
        for group in (g, n_groups):
            mine = order[start[group] : stop[group]]
            _mean(X, w, mine, mean)
            squares[group] = square_sum(X, w, mine, mean)
            out[number] += squares[group]
        n_groups += 1
    for number in range(n_groups, most):
        out[number] = out[n_groups - 1]
    return out


@kernel
def between(X, w):
    """Return the direction from the mean of one half of divided rows to that of the other; 0 if rows do not differ."""
    rows, is_left = np.arange(X.shape[0]), np.zeros(X.shape[0], np.bool_)
    n_left = halve(X, w, rows, is_left)
    means = np.zeros((2, X.shape[1]))
    if 0 < n_left < X.shape[0]:
        _mean(X, w, rows[is_left], means[0])
        _mean(X, w, rows[~is_left], means[1])
    return means[1] - means[0]
