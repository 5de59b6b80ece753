"""The large-margin one-class problem, its budgeted stochastic solution, and the modes of the resulting function.

A solution is a function w(x) = Σ cᵢ K(vᵢ, x) of vectors v with coefficients c ≥ 0, where K(v, x) = exp(-γ ‖v - x‖²). A
step of the mean shift x ← Σ cᵢ K(vᵢ, x) vᵢ / Σ cᵢ K(vᵢ, x) never leads down, and w is nowhere lower than at x on the
straight line to its end. The reason: K is a convex function of the squared distance, so its tangents at x bound w from
below by a parabola, and the step ends at the top of that parabola.
"""

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel, reduction

REMOVAL, NEAREST, RANDOM = 0, 1, 2
"""Strategies to enforce a budget."""

SWEEPS = 20
"""Number of sweeps over the shares that other vectors take over, if the linear system has negative ones."""


# The exact and the stochastic solution of one problem


@kernel
def solve_dual(K, bound, beta, margin, tol, max_sweeps):
    """Maximize Σ β - βᵀKβ / 2 for 0 ≤ β ≤ bound, one coordinate at a time; return sweeps and the relative gap.

    margin is Kβ, and is kept up to date.
    """
    n = K.shape[0]
    gap = np.inf
    for sweep in range(1, max_sweeps + 1):
        for i in range(n):
            new = min(max(beta[i] + (1.0 - margin[i]) / K[i, i], 0.0), bound[i])
            change = new - beta[i]
            if change != 0.0:
                beta[i] = new
                for j in range(n):
                    margin[j] += change * K[i, j]
        square, loss, total = 0.0, 0.0, 0.0
        for i in range(n):
            square += beta[i] * margin[i]
            loss += bound[i] * max(0.0, 1.0 - margin[i])
            total += beta[i]
        primal = 0.5 * square + loss
        gap = (primal - (total - 0.5 * square)) / primal
        if gap <= tol:
            return sweep, gap
    return max_sweeps, gap


@inner_reduction
def _weigh(x, vectors, gamma, n_vectors, out):
    """Compute the kernel of x with each vector; return the largest value and its position."""
    largest, position = -1.0, 0
    for i in range(n_vectors):
        distance = 0.0
        for j in range(x.shape[0]):
            v = x[j] - vectors[i, j]
            distance += v * v
        out[i] = distance
    for i in range(n_vectors):
        out[i] = np.exp(-gamma * out[i])
        if out[i] > largest:
            largest, position = out[i], i
    return largest, position


@inner
def _choose_nearest(similarity, n_vectors, left_out, chosen):
    """Find the vectors most similar to the one left out; return their number."""
    n_chosen = 0
    for i in range(n_vectors):
        if i == left_out:
            continue
        m = n_chosen
        while m > 0 and similarity[left_out, i] > similarity[left_out, chosen[m - 1]]:
            if m < chosen.shape[0]:
                chosen[m] = chosen[m - 1]
            m -= 1
        if m < chosen.shape[0]:
            chosen[m] = i
            n_chosen = min(n_chosen + 1, chosen.shape[0])
    return n_chosen


@inner
def _mixed(number):
    """Return random bits that belong to a number."""
    number = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@inner
def _choose_random(n_vectors, left_out, number, chosen):
    """Draw vectors other than the one left out, determined by a number; return how many."""
    n_chosen = min(chosen.shape[0], n_vectors - 1)
    for m in range(n_chosen):
        is_new = False
        while not is_new:
            number = _mixed(number + np.uint64(1))
            chosen[m] = np.int64(number % np.uint64(n_vectors))
            is_new = chosen[m] != left_out
            for j in range(m):
                is_new = is_new and chosen[j] != chosen[m]
    return n_chosen


@inner
def _share_out(similarity, left_out, chosen, n_chosen, sums, ridge, A, share):
    """Compute the shares of a vector that others take over.

    They are its projection onto their span in feature space, with a ridge.

    The shares sum to at most 1, and leave no coefficient negative.
    """
    # The Cholesky factor of the similarities, and both right-hand sides: the projection, and ones for the bound on the
    # sum.
    for u in range(n_chosen):
        right, one = similarity[chosen[u], left_out], 1.0
        for v in range(u + 1):
            value = similarity[chosen[u], chosen[v]]
            for w in range(v):
                value -= A[u, w] * A[v, w]
            A[u, v] = value / A[v, v] if v < u else np.sqrt(value + ridge)
        for v in range(u):
            right -= A[u, v] * A[v, -2]
            one -= A[u, v] * A[v, -1]
        A[u, -2], A[u, -1] = right / A[u, u], one / A[u, u]
    total, weight = 0.0, 0.0
    for u in range(n_chosen - 1, -1, -1):
        for v in range(u + 1, n_chosen):
            A[u, -2] -= A[v, u] * A[v, -2]
            A[u, -1] -= A[v, u] * A[v, -1]
        A[u, -2] /= A[u, u]
        A[u, -1] /= A[u, u]
        total += A[u, -2]
        weight += A[u, -1]
    excess = max(total - 1.0, 0.0) / weight
    is_positive = True
    for u in range(n_chosen):
        share[u] = A[u, -2] - excess * A[u, -1]
        is_positive = is_positive and sums[chosen[u]] + sums[left_out] * share[u] >= 0.0
    if is_positive:
        return
    total = 0.0
    for u in range(n_chosen):
        share[u] = 0.0
    for _ in range(SWEEPS):
        for u in range(n_chosen):
            slope = similarity[chosen[u], left_out]
            for v in range(n_chosen):
                slope -= similarity[chosen[u], chosen[v]] * share[v]
            new = min(max(share[u] + slope, 0.0), 1.0 - (total - share[u]))
            total += new - share[u]
            share[u] = new


@kernel
def learn(X, order, size, gamma, budget, strategy, k, ridge, seed, state, vectors, sums, similarity):
    """Do steps of budgeted stochastic gradient descent: one per row in order, with the size of that row.

    sums are the coefficients times the number of steps so far. With steps of 1/t, the function times t - 1 only ever
    gains the kernel of a row, so nothing is rescaled. state contains the number of steps and of vectors. Without
    similarities between the vectors, there is no budget.
    """
    steps, n_vectors = state[0], state[1]
    row = np.empty(vectors.shape[0])
    chosen = np.empty(k, np.int64)
    share = np.empty(k)
    A = np.empty((k, k + 2))
    for r in order:
        largest, position = _weigh(X[r], vectors, gamma, n_vectors, row)
        total = 0.0
        for i in range(n_vectors):
            total += sums[i] * row[i]
        is_short = total < steps or steps == 0
        steps += 1
        if not is_short:
            continue
        if largest == 1.0:
            sums[position] += size[r]
            continue
        for j in range(X.shape[1]):
            vectors[n_vectors, j] = X[r, j]
        sums[n_vectors] = size[r]
        n_vectors += 1
        if similarity.shape[0] == 0:
            continue
        for i in range(n_vectors - 1):
            similarity[i, n_vectors - 1] = row[i]
            similarity[n_vectors - 1, i] = row[i]
        similarity[n_vectors - 1, n_vectors - 1] = 1.0
        if n_vectors <= budget:
            continue
        last = n_vectors - 1  # not 0: a number that is written out is a type of its own, for which kernels are compiled
        for i in range(n_vectors - 2, -1, -1):
            if sums[i] <= sums[last]:
                last = i
        n_chosen = 0
        if strategy == NEAREST:
            n_chosen = _choose_nearest(similarity, n_vectors, last, chosen)
        elif strategy == RANDOM:
            n_chosen = _choose_random(n_vectors, last, np.uint64(seed) + np.uint64(steps) * np.uint64(97), chosen)
        if n_chosen > 0:
            _share_out(similarity, last, chosen, n_chosen, sums, ridge, A, share)
        for m in range(n_chosen):
            sums[chosen[m]] += sums[last] * share[m]
        n_vectors -= 1
        if last < n_vectors:
            for j in range(X.shape[1]):
                vectors[last, j] = vectors[n_vectors, j]
            sums[last] = sums[n_vectors]
            for i in range(n_vectors):
                similarity[last, i] = similarity[n_vectors, i]
                similarity[i, last] = similarity[i, n_vectors]
            similarity[last, last] = 1.0
    state[0], state[1] = steps, n_vectors


# The function: its values, and the ascent to its modes


@inner_reduction
def _height(x, vectors, coefficients, gamma):
    total = 0.0
    for i in range(vectors.shape[0]):
        distance = 0.0
        for j in range(x.shape[0]):
            v = x[j] - vectors[i, j]
            distance += v * v
        total += coefficients[i] * np.exp(-gamma * distance)
    return total


@kernel
def heights(X, vectors, coefficients, gamma, out):
    """Compute the function w at each row."""
    for i in range(X.shape[0]):
        out[i] = _height(X[i], vectors, coefficients, gamma)


@reduction
def climb(X, vectors, coefficients, gamma, least_step, max_steps, out):
    """Follow the mean shift from each row, until its steps are shorter than `least_step`.

    On flat ground, steps are lengthened while they lead up, but not so much that they could cross a valley. Returns the
    number of rows for which `max_steps` was not enough.
    """
    n_vectors, d = vectors.shape
    distance = np.empty(n_vectors)
    x, to, safe = np.empty(d), np.empty(d), np.empty(d)
    longest = 0.25 / np.sqrt(gamma)
    unfinished = 0
    for i in range(X.shape[0]):
        for j in range(d):
            x[j] = safe[j] = X[i, j]
        is_over = False
        highest, stretch = -1.0, 1.0
        for _ in range(max_steps):
            nearest = np.inf
            for v in range(n_vectors):
                square = 0.0
                for j in range(d):
                    square += (x[j] - vectors[v, j]) ** 2
                distance[v] = square
                nearest = min(nearest, square)
            for j in range(d):
                to[j] = 0.0
            total = 0.0
            for v in range(n_vectors):
                weight = coefficients[v] * np.exp(-gamma * (distance[v] - nearest))
                total += weight
                for j in range(d):
                    to[j] += weight * vectors[v, j]
            height = total * np.exp(-gamma * nearest)
            if stretch > 1.0 and height < highest:
                for j in range(d):
                    x[j] = safe[j]
                stretch = 1.0
                continue
            highest = height
            step = 0.0
            for j in range(d):
                to[j] /= total
                step += (to[j] - x[j]) ** 2
            step = np.sqrt(step)
            for j in range(d):
                safe[j] = to[j]
            if step <= least_step:
                is_over = True
                break
            stretch = max(min(1.5 * stretch, longest / step), 1.0)
            for j in range(d):
                x[j] += stretch * (to[j] - x[j])
        unfinished += not is_over
        for j in range(d):
            out[i, j] = safe[j]
    return unfinished


# The modes: which rows belong to the same one at a level


@reduction
def lowest_between_rows(root, coefficients, a, b, growth, at_rows, out):
    """Compute the lowest w at both ends and at three points of the straight lines between rows a and b.

    root contains fourth roots of the kernel between rows. The squared distance to a point that divides a line is the
    interpolated squared distance to its ends, minus a term that depends only on the line. So products of roots replace
    exponentials.
    """
    for e in range(a.shape[0]):
        p, r = root[a[e]], root[b[e]]
        first, second, third = 0.0, 0.0, 0.0
        for i in range(root.shape[0]):
            both = p[i] * r[i] * coefficients[i]
            first += p[i] * p[i] * both
            second += p[i] * r[i] * both
            third += r[i] * r[i] * both
        between = min(min(first, third) * growth[e] ** 0.75, second * growth[e])
        out[e] = min(between, min(at_rows[a[e]], at_rows[b[e]]))


@kernel
def lowest_between(X, a, b, vectors, coefficients, gamma, step, most, at_rows, out):
    """Compute the lowest w on the straight lines between rows a and b.

    The points are `step` apart, or divide a line into `most` segments if that is fewer.
    """
    x = np.empty(X.shape[1])
    for e in range(a.shape[0]):
        out[e] = min(at_rows[a[e]], at_rows[b[e]])
        length = 0.0
        for j in range(X.shape[1]):
            length += (X[a[e], j] - X[b[e], j]) ** 2
        n_segments = int(min(np.ceil(np.sqrt(length) / step), most))
        for m in range(1, n_segments):
            for j in range(X.shape[1]):
                x[j] = X[a[e], j] + m / n_segments * (X[b[e], j] - X[a[e], j])
            out[e] = min(out[e], _height(x, vectors, coefficients, gamma))


@inner
def _find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def connect(X, vectors, coefficients, gamma, level, n_points, groups):
    """Group rows between which w is not below the level, at `n_points` points of the straight line between any two."""
    n = X.shape[0]
    x = np.empty(X.shape[1])
    parent = np.empty(n, np.int64)
    for i in range(n):
        parent[i] = i
    for a in range(n):
        for b in range(a):
            i, k = _find(parent, a), _find(parent, b)
            if i == k:
                continue
            is_inside = True
            for m in range(n_points):
                for j in range(X.shape[1]):
                    x[j] = X[a, j] + m / (n_points - 1) * (X[b, j] - X[a, j])
                if _height(x, vectors, coefficients, gamma) < level:
                    is_inside = False
                    break
            if is_inside:
                parent[max(i, k)] = min(i, k)
    for i in range(n):
        groups[i] = _find(parent, i)


@kernel
def flood(a, b, lowest, order, at_rows, mass, level, least, labels):
    """Find the clusters at a level: modes above it with enough mass. Other rows join them as the level decreases.

    order sorts the edges, highest first. Returns the number of clusters, their mass at the level, and the depth of the
    shallowest valley between two of them, as a share of the height of the lower of their tops.
    """
    n = mass.shape[0]
    parent, last, following = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    size, top = np.empty(n), np.empty(n)
    for i in range(n):  # `following` and `last` are linked lists of the rows of each group
        parent[i], last[i], following[i], size[i], top[i] = i, i, -1, mass[i], 0.0
    e = 0
    while e < order.shape[0] and lowest[order[e]] >= level:
        i, k = _find(parent, a[order[e]]), _find(parent, b[order[e]])
        if i != k:
            parent[max(i, k)] = min(i, k)
            size[min(i, k)] += size[max(i, k)]
        e += 1
    number, held = 0, 0.0
    for i in range(n):
        root = _find(parent, i)
        labels[i] = -1
        if root != i:
            labels[i] = labels[root]
            following[last[root]] = i
            last[root] = i
        elif at_rows[i] >= level and size[i] >= least:
            labels[i] = number
            number += 1
            held += size[i]
        if labels[i] >= 0:
            top[labels[i]] = max(top[labels[i]], at_rows[i])
    depth = 1.0
    for f in range(e, order.shape[0]):
        p, r = a[order[f]], b[order[f]]
        i, k = _find(parent, p), _find(parent, r)
        if i == k:
            continue
        if labels[p] >= 0 and labels[r] >= 0:
            depth = min(depth, 1.0 - lowest[order[f]] / min(top[labels[p]], top[labels[r]]))
        elif labels[p] >= 0 or labels[r] >= 0:
            row = i if labels[p] < 0 else k
            label = max(labels[p], labels[r])
            while row >= 0:
                labels[row] = label
                row = following[row]
        low, high = min(i, k), max(i, k)
        parent[high] = low
        following[last[low]] = high
        last[low] = last[high]
    return number, held, depth


@kernel
def agreement(first, second, n_labels, mass):
    """Return the adjusted Rand index of two partitions with at most `n_labels` clusters, weighted by mass."""
    table = np.zeros((n_labels, n_labels))
    for i in range(first.shape[0]):
        table[first[i], second[i]] += mass[i]
    both, one, other, total = 0.0, 0.0, 0.0, 0.0
    for u in range(n_labels):
        in_first, in_second = 0.0, 0.0
        for v in range(n_labels):
            both += table[u, v] ** 2
            in_first += table[u, v]
            in_second += table[v, u]
        one += in_first**2
        other += in_second**2
        total += in_first
    expected, most = one * other / total**2, 0.5 * (one + other)
    return (both - expected) / (most - expected) if most > expected else 1.0
