"""Sum-of-norms problems in which every pair of points is an edge: dual steps, random proximal steps, bounds.

Points are columns: ``U[:, i]`` is the centroid of point i, so that loops over the partners of a point run along memory.
The pairs (i, k) with i < k are stored in order, starting with i = 0. The weight of a pair is ``m[i] m[k]``. A dual
variable ``z`` has length at most 1. Its force on i is ``λ m[i] m[k] z``, and the opposite on k. The forces of a row of
pairs cost O(columns) each and are added up in ``F``, without λ.
"""

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel, reduction


@reduction
def dual_step(U, m, z, old, beta, h, F):
    """Project z + β (z - old) + h (Uᵢ - Uₖ) onto the unit ball for each pair; the result replaces `old`."""
    d, n = U.shape
    length = np.empty(n)
    F[:] = 0.0
    e = 0
    for i in range(n - 1):
        last = e + n - 1 - i
        q, right = length[i + 1 :], m[i + 1 :]
        for k in range(q.shape[0]):
            q[k] = 0.0
        for j in range(d):
            u, partner, now, before = U[j, i], U[j, i + 1 :], z[j, e:last], old[j, e:last]
            for k in range(q.shape[0]):
                v = now[k] + beta * (now[k] - before[k]) + h * (u - partner[k])
                before[k] = v
                q[k] += v * v
        for k in range(q.shape[0]):
            q[k] = 1.0 / np.sqrt(max(q[k], 1.0))
        for j in range(d):
            before, pull, total = old[j, e:last], F[j, i + 1 :], 0.0
            for k in range(q.shape[0]):
                v = before[k] * q[k]
                before[k] = v
                v *= right[k]
                total += v
                pull[k] -= m[i] * v
            F[j, i] += m[i] * total
        e = last


@reduction
def chained_forces(start, smallest, steps, beta, h, m, F):
    """Compute the forces of the dual variables after some steps, for each pair from scratch, so that none is stored.

    The first dual variable is (startᵢ - startₖ) / smallest, projected onto the unit ball. Step t is that of
    `dual_step`, with the centroids ``steps[t]`` and the momentum ``beta[t]``.
    """
    d, n = start.shape
    z, old, length = np.empty((d, n)), np.empty((d, n)), np.empty(n)
    F[:] = 0.0
    for i in range(n - 1):
        q, right = length[i + 1 :], m[i + 1 :]
        for t in range(-1, steps.shape[0]):
            for k in range(q.shape[0]):
                q[k] = 0.0
            for j in range(d):
                now, before = z[j, i + 1 :], old[j, i + 1 :]
                if t < 0:
                    u, partner = start[j, i], start[j, i + 1 :]
                    for k in range(q.shape[0]):
                        v = (u - partner[k]) / smallest
                        before[k] = v
                        q[k] += v * v
                else:
                    u, partner = steps[t, j, i], steps[t, j, i + 1 :]
                    for k in range(q.shape[0]):
                        v = now[k] + beta[t] * (now[k] - before[k]) + h * (u - partner[k])
                        before[k] = v
                        q[k] += v * v
            for k in range(q.shape[0]):
                q[k] = 1.0 / np.sqrt(max(q[k], 1.0))
            for j in range(d):
                now, before = z[j, i + 1 :], old[j, i + 1 :]
                for k in range(q.shape[0]):
                    v = before[k] * q[k]
                    before[k] = v if t < 0 else now[k]
                    now[k] = v
        for j in range(d):
            now, pull, total = z[j, i + 1 :], F[j, i + 1 :], 0.0
            for k in range(q.shape[0]):
                v = now[k] * right[k]
                total += v
                pull[k] -= m[i] * v
            F[j, i] += m[i] * total


@inner_reduction
def _squares_to_later(U, i, q):
    """Compute q[k] = squared distance from point i to the k-th point after it."""
    for k in range(q.shape[0]):
        q[k] = 0.0
    for j in range(U.shape[0]):
        u, later = U[j, i], U[j, i + 1 :]
        for k in range(q.shape[0]):
            v = u - later[k]
            q[k] += v * v


@reduction
def weighted_distances(U, m):
    """Return Σ m[i] m[k] ‖Uᵢ - Uₖ‖ over all pairs."""
    n = U.shape[1]
    length = np.empty(n)
    total = 0.0
    for i in range(n - 1):
        q, right, s = length[i + 1 :], m[i + 1 :], 0.0
        _squares_to_later(U, i, q)
        for k in range(q.shape[0]):
            s += right[k] * np.sqrt(q[k])
        total += m[i] * s
    return total


@reduction
def diameter(U):
    """Return the largest distance between two points."""
    n = U.shape[1]
    length = np.empty(n)
    largest = 0.0
    for i in range(n - 1):
        q = length[i + 1 :]
        _squares_to_later(U, i, q)
        for k in range(q.shape[0]):
            largest = max(largest, q[k])
    return np.sqrt(largest)


@reduction
def merge_pairs(z, m, group, merged):
    """Add up m[i] m[k] zᵢₖ between the groups of the points into `merged`, which has the pairs of the groups."""
    d, n_groups, n = z.shape[0], 0, m.shape[0]
    for i in range(n):
        n_groups = max(n_groups, group[i] + 1)
    merged[:] = 0.0
    e = 0
    for i in range(n - 1):
        for k in range(i + 1, n):
            low, high = min(group[i], group[k]), max(group[i], group[k])
            if low < high:
                target = low * n_groups - low * (low + 1) // 2 + high - low - 1
                p = m[i] * m[k] if group[i] == low else -m[i] * m[k]
                for j in range(d):
                    merged[j, target] += p * z[j, e]
            e += 1


@kernel
def random_steps(X, m, share, a, b, w, U, lam, first, power, done, n_steps, seed):
    """Do proximal steps of random edges (Panahi et al., Algorithm 1); points are rows here.

    `done` steps were made before. Step number k has the size first · k^(-power), updated every 64 steps. Edge (i, k)
    has the data term shareᵢ ‖xᵢ - uᵢ‖² / 2 for both its ends, and λ w ‖uᵢ - uₖ‖. Without edges, all pairs are edges of
    weight m[i] m[k].
    """
    n, d = X.shape
    golden = np.uint64(0x9E3779B97F4A7C15)
    n_edges, state, mu = a.shape[0], np.uint64(seed) + np.uint64(done) * golden, 0.0
    low = np.uint64(0xFFFFFFFF)
    for t in range(n_steps):
        if (done + t) % 64 == 0 or t == 0:
            mu = first * ((done + t) // 64 * 64 + 1.0) ** -power
        state += golden  # SplitMix, Steele et al. 2014
        bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
        if n_edges:
            e = np.int64(((bits >> np.uint64(32)) * np.uint64(n_edges)) >> np.uint64(32))
            i, k, weight = a[e], b[e], w[e]
        else:
            i = np.int64(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))
            k = np.int64(((bits & low) * np.uint64(n - 1)) >> np.uint64(32))
            k += k >= i
            weight = m[i] * m[k]
        ci, ck = share[i] + 1.0 / mu, share[k] + 1.0 / mu
        keep_i, keep_k = 1.0 / (mu * ci), 1.0 / (mu * ck)
        q = 0.0
        for j in range(d):
            U[i, j] = X[i, j] + keep_i * (U[i, j] - X[i, j])
            U[k, j] = X[k, j] + keep_k * (U[k, j] - X[k, j])
            q += (U[i, j] - U[k, j]) ** 2
        q = np.sqrt(q)
        if q <= lam * weight * (1.0 / ci + 1.0 / ck):
            p = ci / (ci + ck)
            for j in range(d):
                v = p * U[i, j] + (1.0 - p) * U[k, j]
                U[i, j] = v
                U[k, j] = v
        else:
            for j in range(d):
                v = lam * weight / q * (U[i, j] - U[k, j])
                U[i, j] -= v / ci
                U[k, j] += v / ck


@kernel
def attract(X, centers, weight, lam, n_iterations, out):
    """Compute out[i] = the center nearest to the equilibrium of row i under the forces λ weight towards `centers`.

    Minimizes ‖x - u‖² / 2 + λ Σ weightₖ ‖u - centerₖ‖ by majorization, as in Weiszfeld's method. The rows of `weight`
    and the slices ``centers[i]`` belong to the rows of X; a single slice is used for all rows.
    """
    n_centers, d = centers.shape[1], centers.shape[2]
    u, mean = np.empty(d), np.empty(d)
    for i in range(X.shape[0]):
        own = i if centers.shape[0] > 1 else 0
        for j in range(d):
            u[j] = X[i, j]
        for iteration in range(n_iterations + 1):
            nearest, least, total = 0, np.inf, 1.0
            for j in range(d):
                mean[j] = X[i, j]
            for k in range(n_centers):
                q = 0.0
                for j in range(d):
                    q += (u[j] - centers[own, k, j]) ** 2
                if q < least:
                    least, nearest = q, k
                c = lam * weight[own, k] / max(np.sqrt(q), 1e-300)
                if np.isfinite(c):
                    total += c
                    for j in range(d):
                        mean[j] += c * centers[own, k, j]
            out[i] = nearest
            if least == 0.0 or iteration == n_iterations:
                break
            for j in range(d):
                u[j] = mean[j] / total


@kernel
def join(z, U, longest, short):
    """Return the group of each point; pairs are joined if z is shorter than `longest` and their centroids are close.

    Close means a distance of at most `short` times the difference between 1 and the length of z.
    """
    d, n = U.shape
    parent, length = np.arange(n), np.empty(n)
    e = 0
    for i in range(n - 1):
        q = length[i + 1 :]
        _squares_to_later(U, i, q)
        for k in range(q.shape[0]):
            if q[k] <= short**2:
                inside = 0.0
                for j in range(d):
                    inside += z[j, e + k] ** 2
                inside = np.sqrt(inside)
                if inside < longest and q[k] <= (short * (1.0 - inside)) ** 2:
                    _unite(parent, i, i + 1 + k)
        e += q.shape[0]
    return _groups(parent)


@kernel
def join_near(U, short):
    """Return the group of each point; pairs are joined if their centroids are at most `short` apart."""
    n = U.shape[1]
    parent, length = np.arange(n), np.empty(n)
    for i in range(n - 1):
        q = length[i + 1 :]
        _squares_to_later(U, i, q)
        for k in range(q.shape[0]):
            if q[k] <= short**2:
                _unite(parent, i, i + 1 + k)
    return _groups(parent)


@kernel
def balance_within(z, m, group, total, need, longest):
    """Change the dual variables within groups so that they have the required forces, without storing them.

    ``need`` is the force on each point from its own group, per mass, and ``total`` the mass of each group. What is
    missing on the points is distributed over all pairs of a group. Returns the largest length, and the groups of points
    joined by pairs whose length is below `longest`.
    """
    d, n = z.shape[0], m.shape[0]
    excess = need.copy()
    e = 0
    for i in range(n - 1):
        for k in range(i + 1, n):
            if group[i] == group[k]:
                for j in range(d):
                    excess[j, i] -= m[k] * z[j, e]
                    excess[j, k] += m[i] * z[j, e]
            e += 1
    largest, parent, e = 0.0, np.arange(n), 0
    for i in range(n - 1):
        for k in range(i + 1, n):
            if group[i] == group[k]:
                length = 0.0
                for j in range(d):
                    length += (z[j, e] + (excess[j, i] - excess[j, k]) / total[group[i]]) ** 2
                largest = max(largest, length)
                if length < longest**2:
                    _unite(parent, i, k)
            e += 1
    return np.sqrt(largest), _groups(parent)


@kernel
def are_apart(U, radius):
    """Return whether all pairs of points are farther apart than the sum of their radii."""
    n = U.shape[1]
    length = np.empty(n)
    for i in range(n - 1):
        q = length[i + 1 :]
        _squares_to_later(U, i, q)
        for k in range(q.shape[0]):
            if q[k] <= (radius[i] + radius[i + 1 + k]) ** 2:
                return False
    return True


@inner
def _unite(parent, i, k):
    low, high = _root(parent, i), _root(parent, k)
    parent[max(low, high)] = min(low, high)


@inner
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inner
def _groups(parent):
    """Return the group of each point; groups are numbered in order of appearance."""
    group, n_groups = np.empty(parent.shape[0], np.int64), 0
    for i in range(parent.shape[0]):
        if parent[i] == i:
            group[i] = n_groups
            n_groups += 1
        else:
            group[i] = group[_root(parent, i)]
    return group
