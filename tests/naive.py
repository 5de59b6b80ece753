"""A slow, obvious twin of every kernel and of the searches built on them."""

import clarabel
import numpy as np
from scipy import linalg, optimize, sparse
from scipy.stats import binom, multivariate_t, norm


def walk(x, normal, offset, left, right, root=0):
    node = root
    while left[node] != -1:
        node = left[node] if x @ normal[node] < offset[node] else right[node]
    return node


def moments(X, weights):
    mean = np.average(X, axis=0, weights=weights)
    return weights.sum(), mean, sum(w * np.sum((x - mean) ** 2) for x, w in zip(X, weights, strict=True))


def unit_rows(X):
    return np.array([x / np.sqrt(x @ x) if x.any() else x for x in X.astype(float)])


def scatter(X, weights, mean):
    return sum(w * np.outer(x - mean, x - mean) for x, w in zip(X, weights, strict=True))


def principal_direction(X, weights):
    mean = np.average(X, axis=0, weights=weights)
    v = np.linalg.svd(np.sqrt(weights)[:, None] * (X - mean), full_matrices=False)[2][0]
    return v if v[np.abs(v).argmax()] > 0 else -v


def density(values, weights, bandwidth, at):
    return np.array([weights @ norm.pdf(x, values, bandwidth) for x in at]) / weights.sum()


def rounded_rows(X, weights, center, scale):
    """Return √w (x - center) · scale, rounded to integers, entry by entry."""
    rows = zip(X.astype(float), weights, strict=True)
    return np.array([[round((x[j] - center[j]) * w**0.5 * scale[j]) for j in range(len(x))] for x, w in rows])


def look_at_rounded(Y, u, shift, step):
    """Return the positions of rows, how many are on each point of a lattice, and their sums in each cell."""
    values = [sum(y * x for y, x in zip(row, u, strict=True)) + shift for row in Y.astype(float)]
    on, sums = {}, {}
    for row, value in zip(Y.astype(float), values, strict=True):
        cell = int(np.floor(value / step))
        share = round((value / step - cell) * 2**22) / 2**22
        on[cell], on[cell + 1] = on.get(cell, 0) + 1 - share, on.get(cell + 1, 0) + share
        sums[cell] = sums.get(cell, 0) + np.append(row, 1)
    return values, on, sums


def nearest(values, positions, unit, numbers):
    """For each position, return which value is nearest in whole units, that with the smallest number among equals."""
    away = [[round(abs(x - p) / unit) for x in values] for p in positions]
    return [min(range(len(values)), key=lambda i: (line[i], numbers[i])) for line in away], [min(line) for line in away]


def bin_linear(values, weights, low, step, n_bins):
    grid = low + step * np.arange(n_bins)
    shares = np.maximum(1 - np.abs(values[:, None] - grid) / step, 0)
    return weights @ shares


def smooth(counts, weights):
    full = np.concatenate([weights[:0:-1], weights])
    return np.convolve(counts, full)[len(weights) - 1 :][: len(counts)]


def valleys(density):
    """Antimodes of a density without plateaus."""
    n = len(density)
    found = []
    for i in range(1, n - 1):
        if density[i - 1] > density[i] < density[i + 1]:
            left, right = i, i
            while left > 0 and density[left - 1] > density[left]:
                left -= 1
            while right < n - 1 and density[right + 1] > density[right]:
                right += 1
            found.append((i, left, right, 1))
    return np.array(found).reshape(-1, 4)


def typical_gap(values):
    distinct = np.unique(values)
    if len(distinct) == 1:
        return 0.0
    gap = np.append(np.diff(distinct), distinct[-1] - distinct[-2])
    return np.median(gap[np.searchsorted(distinct, values)])


def best_window_score(density, step, count, shares, least_window, least_side):
    mass = np.cumsum(density) / density.sum()
    points = np.arange(len(density))

    def inside(center, window):
        return np.interp(center + window / 2, points, mass) - np.interp(center - window / 2, points, mass)

    best = 0.0
    for valley, *near, _ in valleys(density):
        if not least_side <= density[: valley + 1].sum() / density.sum() <= 1 - least_side:
            continue
        far = [density[: valley + 1].argmax(), valley + density[valley:].argmax()]
        for left, right in (near, far):
            for share in shares:
                window = share * min(valley - left, right - valley)
                if window * step >= least_window:
                    middle = inside(valley, window)
                    sides = [inside(left, window), inside(right, window)]
                    scores = [(s - middle) * np.sqrt(count / (s + middle + 1 / count)) for s in sides]
                    best = max(best, *[min(scores)])
    return best


def valley_p_value(place, left_mode, right_mode, window, values):
    middle, left, right = (
        np.sum((center - window / 2 <= values) & (values < center + window / 2))
        for center in (place, left_mode, right_mode)
    )
    return max(binom.cdf(middle, middle + left, 0.5), binom.cdf(middle, middle + right, 0.5))


def subtree_sequence_from_leaves(tree):
    """Total sum of squares for 1, 2, … clusters: remove the cheapest cut of two leaves, trying every one."""
    cut = {int(node): (int(tree.left[node]), int(tree.right[node])) for node in tree.cuts}
    totals = [sum(tree.sum_sq[node] for node in tree.leaves)]
    while cut:
        costs = {
            node: tree.sum_sq[node] - tree.sum_sq[a] - tree.sum_sq[b]
            for node, (a, b) in cut.items()
            if a not in cut and b not in cut
        }
        node = min(costs, key=lambda n: (costs[n], n))
        del cut[node]
        totals.append(totals[-1] + costs[node])
    return np.array(totals[::-1])


def elbow(path, k_max):
    """Smallest angle between the chords to the first and to the last point, in the unit square."""
    x = np.arange(k_max) / (k_max - 1)
    y = (path[:k_max] - path[k_max - 1]) / (path[0] - path[k_max - 1])
    angles = {}
    for k in range(1, k_max - 1):
        to_first = np.array([x[0] - x[k], y[0] - y[k]])
        to_last = np.array([x[-1] - x[k], y[-1] - y[k]])
        cosine = to_first @ to_last / np.linalg.norm(to_first) / np.linalg.norm(to_last)
        angle = np.arccos(np.clip(cosine, -1, 1))
        above_the_chord = y[k] > 1 - x[k]
        angles[k + 1] = 2 * np.pi - angle if above_the_chord else angle
    return min(angles, key=angles.get)


def ncut(positions, mass, scale, k):
    """NCut of the masses up to k against those after k, from the full matrix of similarities."""
    similarity = np.exp(-np.abs(positions[:, None] - positions) / scale) * mass[:, None] * mass
    left = np.arange(len(mass)) <= k
    across = similarity[left][:, ~left].sum()
    return across * (1 / similarity[left].sum() + 1 / similarity[~left].sum())


def best_ncut(values, weights, scale):
    order = np.argsort(values)
    return min(ncut(values[order], weights[order], scale, k) for k in range(len(values) - 1))


def middle_of_least(values):
    """Middle of the first run of the least value."""
    least = [k for k, value in enumerate(values) if value == min(values)]
    run = [k for i, k in enumerate(least) if k == least[0] + i]
    return run[0] + (len(run) - 1) // 2


def penalized(b, positions, mass, bandwidth, bound, weight, power):
    density = mass @ np.exp(-0.5 * ((b - positions) / bandwidth) ** 2) / bandwidth
    return density + weight * max(0, abs(b) - bound) ** power


def least_penalized_density(values, weights, bandwidth, alpha, power=1.5, outside=0.1):
    """Eq. 2.10 of Hofmeyr (2016) on a fine grid."""
    bound = alpha * np.sqrt(np.average(values**2, weights=weights))
    steepest = 1 / (np.exp(0.5) * bandwidth**2 * np.sqrt(2 * np.pi))
    weight = steepest / (outside * bandwidth) ** (power - 1)
    mass = weights / weights.sum() / np.sqrt(2 * np.pi)
    grid = np.linspace(values.min(), values.max(), 4001)
    return min(penalized(b, values, mass, bandwidth, bound, weight, power) for b in grid)


def bfgs_inverse_hessian(steps, changes):
    """The inverse Hessian as a matrix, updated from the identity."""
    identity = np.eye(steps.shape[1])
    inverse = identity
    for s, y in zip(steps, changes, strict=True):
        left = identity - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    return inverse


def rounded_together(numbers, n_bits, negligible=0.0):
    """The numbers as multiples of one power of two, so that the largest keeps so many bits, or of a negligible one."""
    unit = 2.0 ** (np.floor(np.log2(np.abs(numbers).max())) + 1 - n_bits)
    if unit < negligible / 2:
        unit = 2.0 ** np.floor(np.log2(negligible))
    return np.rint(numbers / unit) * unit


def descend(value, gradient, start, tolerance):
    """BFGS with the rules of `ravine._kernels.bfgs`: all points that are evaluated, and those that are accepted."""
    start = rounded_together(start, 14)
    tried, accepted, steps, changes, small = [start], [start], [], [], 0
    for _ in range(200 if np.isfinite(value(start)) else 0):
        point, g = accepted[-1], rounded_together(gradient(accepted[-1]), 20, tolerance / 128)
        direction = -bfgs_inverse_hessian(np.reshape(steps, (-1, len(g))), np.reshape(changes, (-1, len(g)))) @ g
        for length in 0.2 ** np.arange(12) if direction @ g < 0 else ():
            tried.append(rounded_together(point + length * direction, 30))
            if value(tried[-1]) <= value(point) + 1e-4 * length * (direction @ g):
                break
        else:
            if not steps:
                break
            steps, changes = [], []
            continue
        accepted.append(tried[-1])
        small = small + 1 if value(point) - value(tried[-1]) <= tolerance else 0
        if small == 2:
            break
        step, change = length * direction, rounded_together(gradient(tried[-1]), 20, tolerance / 128) - g
        steps, changes = ([*steps[-19:], step], [*changes[-19:], change]) if step @ change > 0 else ([], [])
    return tried, accepted


class IMDHTree:
    """Algorithm 1 of Hofmeyr (2020), one row at a time, with a running principal component for the first rows."""

    def __init__(self, depth, n_features, exponent, alpha, penalty, clip, warm_up, most):
        self.depth, self.settings = depth, (exponent, alpha, penalty, clip, warm_up, most)
        start = np.full(n_features, n_features**-0.5)
        empty = {"v": start, "y": None, "b": 0.0, "mean": 0 * start, "count": 0.0, "ss": 0.0, "var": 0.0, "n": 0}
        self.nodes = [dict(empty) for _ in range(2 << depth)]

    def learn(self, x, weight):
        node = 1
        while True:
            goes_left = self._update(self.nodes[node], x, weight, is_cut=node < 1 << self.depth)
            if node >= 1 << self.depth:
                return
            node = 2 * node if goes_left else 2 * node + 1

    def _update(self, s, x, weight, is_cut):
        exponent, alpha, penalty, clip, warm_up, most = self.settings
        before, kept = s["count"], min(s["count"], max(most - weight, 0.0))
        s["count"], s["n"] = kept + weight, s["n"] + 1
        rate = weight / s["count"]
        old = x - s["mean"]
        s["mean"] = s["mean"] + rate * old
        new = x - s["mean"]
        s["ss"] = s["ss"] * (kept / before if before else 0.0) + weight * old @ new
        if not is_cut:
            return None
        sigma = np.sqrt(s["var"])
        s["var"] += rate * ((old @ s["v"]) * (new @ s["v"]) - s["var"])
        if s["n"] <= warm_up:
            if s["y"] is None or not s["y"].any():
                s["y"] = new.copy()
                if new.any():
                    s["v"] = new / np.linalg.norm(new)
                return False
            s["y"] = (1 - rate) * s["y"] + rate * (new @ s["v"]) * new
            s["v"] = s["y"] / np.linalg.norm(s["y"])
            return new @ s["v"] < 0
        h = sigma * s["count"] ** -exponent
        p, b = new @ s["v"], s["b"]
        pull = (b - p) / h**3 * np.exp(-0.5 * ((b - p) / h) ** 2) / np.sqrt(2 * np.pi) if h > 0 else 0.0
        push = 2 * penalty * max(abs(b) - alpha * sigma, 0.0) * np.sign(b)
        s["b"] = np.clip(b - rate * (push - pull), -clip * alpha * sigma, clip * alpha * sigma)
        v = s["v"] - np.sqrt(len(x)) * rate * pull * new
        s["v"] = v / np.linalg.norm(v)
        return new @ s["v"] < s["b"]


def atoms_of(intervals):
    """Places and weights of the atoms that some intervals stand for."""
    places = [np.linspace(i["low"], i["high"], i["atoms"]) for i in intervals]
    weights = [np.full(i["atoms"], i["weight"] / i["atoms"]) for i in intervals]
    return np.concatenate(places), np.concatenate(weights)


def merged(a, b):
    return {
        "low": a["low"],
        "high": b["high"],
        "weight": a["weight"] + b["weight"],
        "atoms": a["atoms"] + b["atoms"],
    }


def merger_cost(a, b):
    """How far the lines through the corners after a merger are from the distribution before it, at the inner ends."""
    places, weights = atoms_of([a, b])
    new_places, new_weights = atoms_of([merged(a, b)])
    above = np.cumsum(new_weights)
    at_end = weights[places <= a["high"]].sum() - np.interp(a["high"], new_places, above)
    before_start = weights[places < b["low"]].sum() - np.interp(b["low"], new_places, above - new_weights)
    return max(abs(at_end), abs(before_start))


def with_atom(intervals, x, weight):
    for j, i in enumerate(intervals):
        if i["low"] <= x <= i["high"]:
            return [*intervals[:j], {**i, "weight": i["weight"] + weight, "atoms": i["atoms"] + 1}, *intervals[j + 1 :]]
    return sorted([*intervals, {"low": x, "high": x, "weight": weight, "atoms": 1}], key=lambda i: i["low"])


def excess_mass(places, below, above, levels, n_intervals):
    """For each level, the largest sum of mass - level · length over so many disjoint intervals between atoms."""
    best = np.zeros((len(places) + 1, len(levels)))  # with the first 0, 1, … places
    for _ in range(n_intervals):
        opened, with_one_more = np.full(len(levels), -np.inf), np.zeros_like(best)
        for i, x in enumerate(places):
            opened = np.maximum(opened, best[i] - below[i] + levels * x)
            with_one_more[i + 1] = np.maximum(with_one_more[i], opened + above[i] - levels * x)
        best = with_one_more
    return best[-1]


def excess_mass_difference(values, weights, levels):
    """What a second interval adds to the excess mass at each level."""
    places, which = np.unique(values, return_inverse=True)
    weights = np.bincount(which, weights) / weights.sum()
    above = np.cumsum(weights)
    below = above - weights
    one, two = (excess_mass(places, below, above, np.asarray(levels), c) for c in (1, 2))
    return two - one


def dip(values, weights):
    """Half of the excess mass statistic; the slopes between corners of the distribution are the levels to try."""
    places, which = np.unique(values, return_inverse=True)
    above = np.cumsum(np.bincount(which, weights)) / weights.sum()
    below = np.append(0, above[:-1])
    i, j = np.triu_indices(len(places), 1)
    slopes = [(b[j] - a[i]) / (places[j] - places[i]) for a in (below, above) for b in (below, above)]
    return excess_mass_difference(values, weights, np.append(0, slopes)).max() / 2


class StreamLeaf:
    """Mean, direction, second direction and forgetting of §4.1 and eq. 3 of Hofmeyr, Pavlidis and Eckley (2016).

    `u`, `n_updates` and `p` are the inherited direction, its updates before that, and the direction of the parent.
    """

    def __init__(self, n_features, smoothing, max_forgetting, u=None, n_updates=0, p=None):
        self.smoothing, self.max_forgetting, self.n_updates = smoothing, max_forgetting, n_updates
        self.u, self.p = (np.zeros(n_features) if a is None else a.copy() for a in (u, p))
        self.z, self.rows, self.projections, self.weights = np.zeros(n_features), [], [], []
        self.forget = 0.0

    def learn(self, x):
        self.rows.append(x)
        t = len(self.rows)
        x_c = x - np.mean(self.rows, axis=0)
        x_0 = x_c - (x_c @ self.p) * self.p
        if not self.u.any():
            self.u = np.linalg.norm(x_0) / t * x_0
        else:
            n = t + self.n_updates
            before = self.u / np.linalg.norm(self.u)
            self.u = (n - 1) / n * self.u + (x_0 @ before) / n * x_0
            angle = np.arccos(np.clip(self.u @ before / np.linalg.norm(self.u), -1, 1))
            self.forget = min(self.max_forgetting, self.smoothing * self.forget + (1 - self.smoothing) * angle)
            rest = x_c - (x_c @ self.u) / (self.u @ self.u) * self.u
            along = (rest @ self.z) / np.linalg.norm(self.z) if self.z.any() else np.linalg.norm(rest)
            self.z = (t - 1) / t * self.z + along / t * rest
        self.projections.append(x_c @ self.u / np.linalg.norm(self.u) if self.u.any() else 0.0)
        self.weights = [*((1 - self.forget) * np.array(self.weights)), 1.0]


def in_unit_ball(v):
    return v / max(1.0, np.linalg.norm(v))


def dual_steps(U, m, z, old, beta, h):
    """The dual variables after one step, pair by pair; points are columns."""
    new = np.empty_like(z)
    for e, (i, k) in enumerate(zip(*np.triu_indices(len(m), 1), strict=True)):
        new[:, e] = in_unit_ball(z[:, e] + beta * (z[:, e] - old[:, e]) + h * (U[:, i] - U[:, k]))
    return new


def forces(z, m):
    """What all pairs together do to each point, without λ; points are columns."""
    F = np.zeros((len(z), len(m)))
    for e, (i, k) in enumerate(zip(*np.triu_indices(len(m), 1), strict=True)):
        F[:, i] += m[i] * m[k] * z[:, e]
        F[:, k] -= m[i] * m[k] * z[:, e]
    return F


def chained_multipliers(start, smallest, steps, beta, h, m):
    ones = np.ones_like(m)
    nothing = np.zeros((len(start), len(m) * (len(m) - 1) // 2))
    old = z = dual_steps(start, ones, nothing, nothing, 0.0, 1 / smallest)
    for U, b in zip(steps, beta, strict=True):
        z, old = dual_steps(U, m, z, old, b, h), z
    return z


def merged_pairs(z, m, group):
    """Σ m[i] m[k] zᵢₖ from each group to each later one."""
    merged = []
    for g, h in zip(*np.triu_indices(group.max() + 1, 1), strict=True):
        total = np.zeros(len(z))
        for e, (i, k) in enumerate(zip(*np.triu_indices(len(m), 1), strict=True)):
            if (group[i], group[k]) == (g, h):
                total += m[i] * m[k] * z[:, e]
            if (group[k], group[i]) == (g, h):
                total -= m[i] * m[k] * z[:, e]
        merged.append(total)
    return np.array(merged).reshape(-1, len(z)).T


def components(n, links):
    """Number of the component of each of n points, in the order in which they begin."""
    label = list(range(n))
    for i, k in links:
        old, new = label[k], label[i]
        label = [new if number == old else number for number in label]
    return np.array([list(dict.fromkeys(label)).index(number) for number in label])


def sum_of_norms(U, X, a, b, w, lam, m):
    """The objective of convex clustering."""
    return 0.5 * m @ ((X - U) ** 2).sum(axis=1) + lam * w @ np.linalg.norm(U[a] - U[b], axis=1)


def sum_of_norms_dual(z, X, a, b, w, lam, m):
    """The least of the objective over U, with the length of each edge replaced by its product with z."""
    pull = np.zeros_like(X)
    for e in range(len(w)):
        pull[a[e]] += lam * w[e] * z[e]
        pull[b[e]] -= lam * w[e] * z[e]
    U = X - pull / m[:, None]
    return 0.5 * m @ ((X - U) ** 2).sum(axis=1) + lam * w @ (z * (U[a] - U[b])).sum(axis=1)


def cone_optimum(X, a, b, w, lam, m):
    """Least objective of convex clustering and the centroids there, by an interior-point method for cones.

    The unknowns are the centroids and a bound on the length of each edge: (bound, uₐ - u_b) is in a cone.
    """
    (n, d), n_edges = X.shape, len(w)
    quadratic = sparse.csc_matrix(sparse.diags(np.append(np.repeat(m, d), np.zeros(n_edges))))
    linear = np.append(-(m[:, None] * X).ravel(), lam * w)
    edge = np.arange(n_edges)
    entries = [(edge * (d + 1), n * d + edge, -1.0)]
    for j in range(d):
        entries += [(edge * (d + 1) + 1 + j, a * d + j, -1.0), (edge * (d + 1) + 1 + j, b * d + j, 1.0)]
    row, column = (np.concatenate([entry[i] for entry in entries]) for i in (0, 1))
    value = np.repeat([entry[2] for entry in entries], n_edges)
    constraints = sparse.csc_matrix((value, (row, column)), (n_edges * (d + 1), n * d + n_edges))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.SecondOrderConeT(d + 1)] * n_edges
    right = np.zeros(n_edges * (d + 1))
    solver = clarabel.DefaultSolver(quadratic, linear, constraints, right, cones, settings)
    U = np.array(solver.solve().x[: n * d]).reshape(n, d)
    return sum_of_norms(U, X, a, b, w, lam, m), U


def augmented_lagrangian(U, X, a, b, w, lam, ell, z, m):
    """Each edge has the largest of y · s - ‖y‖² / 2 over the unit ball, times λ w ℓ."""
    total = 0.5 * m @ ((X - U) ** 2).sum(axis=1)
    for e in range(len(w)):
        s = z[e] + (U[a[e]] - U[b[e]]) / ell
        y = in_unit_ball(s)
        total += lam * w[e] * ell * (y @ s - 0.5 * y @ y)
    return total


def slopes(function, x, step):
    """Derivatives of a function by central differences, one row for each entry of x."""
    out = []
    for i in range(x.size):
        shift = np.zeros(x.size)
        shift[i] = step
        out.append((function(x + shift.reshape(x.shape)) - function(x - shift.reshape(x.shape))) / (2 * step))
    return np.array(out)


def edge_hessian(a, b, S, c, m):
    """M + Σ c (1 - S Sᵀ) over the edges, as a matrix over all coordinates of all points."""
    n, d = len(m), S.shape[1]
    H = np.diag(np.repeat(m, d))
    for e in range(len(c)):
        ends = np.zeros(n)
        ends[a[e]], ends[b[e]] = 1.0, -1.0
        H += c[e] * np.kron(np.outer(ends, ends), np.eye(d) - np.outer(S[e], S[e]))
    return H


def spanning_edges(rows, component):
    """Shortest edges that join all components: the shortest one between two of them, again and again."""
    label, edges = component.copy(), set()
    length = np.linalg.norm(rows[:, None] - rows, axis=2)
    while label.max() > 0:
        apart = np.where(label[:, None] != label, length, np.inf)
        i, k = np.unravel_index(apart.argmin(), apart.shape)
        edges.add((int(min(i, k)), int(max(i, k))))
        label[label == max(label[i], label[k])] = min(label[i], label[k])
        label = np.unique(label, return_inverse=True)[1]
    return edges


def recovery_bounds(X, labels):
    """The three bounds of Theorem 1 of Panahi et al. (2017), all rows counted once."""
    clusters = [X[labels == k] for k in range(labels.max() + 1)]
    means = [V.mean(axis=0) for V in clusters]
    lower = max(np.linalg.norm(x - y) / len(V) for V in clusters for x in V for y in V)
    nearest = min(np.linalg.norm(means[i] - means[k]) for i in range(len(means)) for k in range(i))
    farthest = max(np.linalg.norm(c - X.mean(axis=0)) / (len(X) - len(V)) for c, V in zip(means, clusters, strict=True))
    return lower, nearest / (2 * len(X) * np.sqrt(len(means))), farthest


def balanced_within(z, m, group, need):
    """Dual variables of the pairs: 0 between groups, and within them with the forces that are needed, per mass."""
    out, pairs = np.zeros_like(z), [(i, k) for i in range(len(m)) for k in range(i + 1, len(m))]
    force = np.zeros_like(need)
    for e, (i, k) in enumerate(pairs):
        if group[i] == group[k]:
            force[:, i] += m[k] * z[:, e]
            force[:, k] -= m[i] * z[:, e]
    for e, (i, k) in enumerate(pairs):
        if group[i] == group[k]:
            missing = (need - force)[:, i] - (need - force)[:, k]
            out[:, e] = z[:, e] + missing / m[group == group[i]].sum()
    return out


def pair_forces(z, m):
    """Force of all pairs on each point."""
    force, e = np.zeros((len(z), len(m))), 0
    for i in range(len(m)):
        for k in range(i + 1, len(m)):
            force[:, i] += m[i] * m[k] * z[:, e]
            force[:, k] -= m[i] * m[k] * z[:, e]
            e += 1
    return force


def gaussian_kernel(X, Y, gamma):
    return np.exp(-gamma * ((X[:, None] - Y) ** 2).sum(axis=2))


def one_class_optimum(K, bound):
    """Coefficients of the large-margin one-class problem and its least value, by an interior-point method."""
    n = len(bound)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    constraints = sparse.csc_matrix(np.vstack([np.eye(n), -np.eye(n)]))
    right = np.append(bound, np.zeros(n))
    quadratic = sparse.csc_matrix(np.triu(K))
    cones = [clarabel.NonnegativeConeT(2 * n)]
    solver = clarabel.DefaultSolver(quadratic, -np.ones(n), constraints, right, cones, settings)
    beta = np.array(solver.solve().x)
    return beta, one_class_objective(beta, K, bound)


def one_class_objective(beta, K, bound):
    return 0.5 * beta @ K @ beta + bound @ np.maximum(1 - K @ beta, 0)


class BudgetedDescent:
    """Algorithm 2 of Pham, Le and Dang: w is there after each step, as vectors with their coefficients."""

    def __init__(self, gamma, C, budget, strategy, k, ridge, seed):
        self.gamma, self.C, self.budget, self.strategy, self.k = gamma, C, budget, strategy, k
        self.ridge, self.seed, self.t = ridge, seed, 0
        self.vectors, self.alpha = [], []

    def learn(self, x, weight):
        self.t += 1
        w = sum(a * np.exp(-self.gamma * ((x - v) ** 2).sum()) for a, v in zip(self.alpha, self.vectors, strict=True))
        self.alpha = [(self.t - 1) / self.t * a for a in self.alpha]
        if w >= 1:
            return
        known = [i for i, v in enumerate(self.vectors) if (v == x).all()]
        if known:
            self.alpha[known[0]] += self.C * weight / self.t
            return
        self.vectors.append(x)
        self.alpha.append(self.C * weight / self.t)
        if self.budget is not None and len(self.vectors) > self.budget:
            self._maintain()

    def _maintain(self):
        alpha, V = np.array(self.alpha), np.array(self.vectors)
        p = int(np.flatnonzero(alpha <= alpha.min() * (1 + 1e-9))[0])
        K = gaussian_kernel(V, V, self.gamma)
        others = {"removal": [], "nearest": self._nearest(K, p), "random": self._random(len(V), p)}[self.strategy]
        if others:
            A = K[np.ix_(others, others)]
            alpha[others] += alpha[p] * shares_of_projection(A, K[others, p], self.ridge, alpha[others] / alpha[p])
        alpha[p], V[p] = alpha[-1], V[-1]
        self.alpha, self.vectors = list(alpha[:-1]), list(V[:-1])

    def _nearest(self, K, p):
        return [i for i in np.argsort(-K[p], kind="stable") if i != p][: self.k]

    def _random(self, n, p):
        number, chosen = self.seed + 97 * self.t, []
        while len(chosen) < min(self.k, n - 1):
            number = split_mix(number + 1)
            if number % n != p and number % n not in chosen:
                chosen.append(number % n)
        return chosen


def split_mix(number):
    number = number * 0x9E3779B97F4A7C15 % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def shares_of_projection(K, right, ridge, most):
    """Least ‖φ - Σ s φᵢ‖² + ridge ‖s‖² with Σ s ≤ 1; if one is below -most: s ≥ 0, one after the other, no ridge."""
    A, ones = K + ridge * np.eye(len(K)), np.ones(len(K))
    share = np.linalg.solve(A, right)
    if share.sum() > 1:
        share -= (share.sum() - 1) / np.linalg.solve(A, ones).sum() * np.linalg.solve(A, ones)
    if (share >= -most).all():
        return share
    share = np.zeros(len(K))
    for _ in range(20):
        for u in range(len(K)):
            others = share.sum() - share[u]
            share[u] = min(max(share[u] + right[u] - K[u] @ share, 0), 1 - others)
    return share


def mean_shift(x, vectors, coefficients, gamma, n_steps):
    for _ in range(n_steps):
        weight = coefficients * np.exp(-gamma * ((x - vectors) ** 2).sum(axis=1))
        x = weight @ vectors / weight.sum()
    return x


def lowest_on_line(height, x, y, n_parts):
    return min(height(x + m / n_parts * (y - x)) for m in range(n_parts + 1))


def connected(height, X, level, n_points):
    """Components of rows between which all of so many points of a line are at the level or above."""
    pairs = [(i, k) for i in range(len(X)) for k in range(i)]
    return components(len(X), [p for p in pairs if lowest_on_line(height, *X[list(p)], n_points - 1) >= level])


def flood(a, b, lowest, order, at_rows, mass, level, least):
    """Labels, number of clusters, their mass at the level and the shallowest valley between two of them."""
    edges = [(a[e], b[e], lowest[e]) for e in order]
    group = components(len(mass), [(p, r) for p, r, low in edges if low >= level])
    labels, number = np.full(len(mass), -1), 0
    for g in range(group.max() + 1):
        if (at_rows[group == g] >= level).all() and mass[group == g].sum() >= least:
            labels[group == g] = number
            number += 1
    held = mass[labels >= 0].sum()
    top = [at_rows[labels == c].max() for c in range(number)]
    for p, r, _ in edges:
        if labels[p] < 0 <= labels[r]:
            labels[group == group[p]] = labels[r]
        elif labels[r] < 0 <= labels[p]:
            labels[group == group[r]] = labels[p]
        group[group == group[p]] = group[r]
    between = [(low, min(top[labels[p]], top[labels[r]])) for p, r, low in edges if labels[p] != labels[r]]
    return labels, number, held, min((1 - low / lower for low, lower in between), default=1.0)


def agreement_of_masses(first, second, mass):
    """Adjusted Rand index for pairs of rows that are drawn by their masses, one after the other."""
    chance = np.outer(mass, mass) / mass.sum() ** 2
    in_first, in_second = first[:, None] == first, second[:, None] == second
    both, one, other = (chance[same].sum() for same in (in_first & in_second, in_first, in_second))
    return (both - one * other) / ((one + other) / 2 - one * other)


def wrong_side(b, marks, pulls, margin):
    """Eq. 2.16 of Hofmeyr (2016) with squares and a margin: Σ |pull| max(0, margin - side · (mark - b))²."""
    return sum(abs(p) * max(0.0, margin - np.sign(p) * (x - b)) ** 2 for x, p in zip(marks, pulls, strict=True))


def labeled_density(values, weights, bandwidth, bound, steepness, marks, pulls, margin):
    """Density, penalty outside the bound and penalty of labeled rows, the least on a fine grid."""
    mass = weights / weights.sum() / np.sqrt(2 * np.pi)
    grid = np.linspace(-bound - bandwidth, bound + bandwidth, 8001)
    settings = (values, mass, bandwidth, bound, steepness, 1.5)
    return min(penalized(b, *settings) + wrong_side(b, marks, pulls, margin) for b in grid)


def similarity_graph(points, counts, scale):
    """Weights n n' (r / α + 1)^α exp(-r) of points at distances r σ, eq. 3.30 of Hofmeyr (2016) with α = 0.1."""
    r = np.linalg.norm(points[:, None] - points, axis=2) / scale
    return np.outer(counts, counts) * (r / 0.1 + 1) ** 0.1 * np.exp(-r)


def laplacian_pairs(graph, counts, normalized):
    """Eigenvalues from the smallest and vectors in columns, of length 1 by the counts or by the degrees."""
    degrees = graph.sum(axis=1)
    return linalg.eigh(np.diag(degrees) - graph, np.diag(degrees if normalized else counts))


def drawn_in(value, bound, contraction):
    """T of eq. 3.23 for one number."""
    if abs(value) <= bound:
        return value
    least = (contraction * (1 - contraction)) ** (1 / contraction)
    beyond = (abs(value) - bound + least) ** (1 - contraction) - least ** (1 - contraction)
    return np.sign(value) * (bound + contraction * beyond)


def connectivity(points, counts, directions, scale, bound, normalized, correlation=0.0):
    """log λ₂ of projected points of mean 0 plus the weight of the correlations; the second vector and the graph."""
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    values = points @ directions.T
    bounds = bound * np.sqrt(np.average(values**2, axis=0, weights=counts))
    drawn = [[drawn_in(v, b, min(0.01, scale**2)) for v, b in zip(row, bounds, strict=True)] for row in values]
    graph = similarity_graph(np.array(drawn), counts, scale)
    eigenvalues, vectors = laplacian_pairs(graph, counts, normalized)
    together = ((directions @ directions.T - np.eye(len(directions))) ** 2).sum()
    return np.log(eigenvalues[1]) + correlation * together, vectors[:, 1], graph


def cut_value(graph, is_left, sizes):
    """Weight across times the sum of the inverse sizes, eq. 3.2."""
    return graph[is_left][:, ~is_left].sum() * (1 / sizes[is_left].sum() + 1 / sizes[~is_left].sum())


def best_sweep(graph, order, sizes):
    """Which points lie before the best cut in an order."""
    sides = [np.isin(np.arange(len(order)), order[:k]) for k in range(1, len(order))]
    return min(sides, key=lambda is_left: cut_value(graph, is_left, sizes))


def spectral_partition(X, n_directions, normalized, correlated, least):
    """Sides of the rows in the projection of least λ₂ and λ₂ there, by dense matrices and numerical gradients."""
    centered = X - X.mean(axis=0)
    points, counts = centered / np.sqrt((centered**2).mean()), np.ones(len(X))
    start = np.linalg.svd(centered)[2][:n_directions]
    scale = np.sqrt(n_directions) * (points @ start[0]).std() * len(X) ** -0.2

    def minimize(directions, scale, bound, correlation):
        def value(flat):
            settings = (flat.reshape(directions.shape), scale, bound, normalized, correlation)
            return connectivity(points, counts, *settings)[0]

        return optimize.minimize(value, directions.ravel()).x.reshape(directions.shape)

    for bound in (3.0, 1.5, 1.0, 0.5):
        last, directions = scale, minimize(start, scale, bound, -0.1 if correlated else 1.0)
        if correlated:
            last, one = scale / np.sqrt(n_directions), np.linalg.svd(directions)[2][:1]
            directions = minimize(one, last, bound, 0.0)
        value, vector, graph = connectivity(points, counts, directions, last, bound, normalized)
        sizes = graph.sum(axis=1) if normalized else counts
        is_left = best_sweep(graph, np.argsort(vector), sizes)
        if min(is_left.sum(), (~is_left).sum()) >= least:
            break
    return is_left, np.exp(value)


def labeled_similarity(values, drawn, sides, i, j, scale):
    """Eq. 3.47 for two rows that are not of one class."""
    if sides[i] == 0:
        i, j = j, i
    wrong = sides[i] * (values[j] - values[i])  # how far the other lies on the wrong side of a labeled row
    return np.exp(-((drawn[i] - drawn[j]) ** 2) / (2 * scale**2)) + max(wrong, 0.0) ** 1.5


def labeled_connectivity(values, weights, sides, scale, bound, apart=1e-6):
    """log λ₂ of values of mean 0 on a line, each class a single node (ch. 3B), and the graph."""
    bound *= np.sqrt(np.average(values**2, weights=weights))
    drawn = [drawn_in(value, bound, min(0.01, scale**2)) for value in values]
    nodes = [np.flatnonzero(sides == -1), np.flatnonzero(sides == 1), *([i] for i in np.flatnonzero(sides == 0))]
    graph = np.zeros((len(nodes), len(nodes)))
    for a, mine in enumerate(nodes):
        for b, other in enumerate(nodes):
            if a != b:
                pairs = [(i, j) for i in mine for j in other]
                similar = [labeled_similarity(values, drawn, sides, i, j, scale) for i, j in pairs]
                graph[a, b] = sum(weights[i] * weights[j] * s for (i, j), s in zip(pairs, similar, strict=True))
    sizes = np.array([weights[node].sum() for node in nodes])
    eigenvalues = linalg.eigh(np.diag(graph.sum(axis=1)) - graph, np.diag(sizes), eigvals_only=True)
    return np.log(eigenvalues[1] + apart * weights.sum()), graph


def strongest_score(values, resolution, least_side, multiples, shares):
    """Score of the strongest valley over some multiples of the normal-reference bandwidth, each on a grid."""
    scores = [0.0]
    for multiple in multiples:
        bandwidth = np.hypot(multiple * 1.06 * values.std() * len(values) ** -0.2, resolution / 2)
        start, width = values.min() - 3 * bandwidth, np.ptp(values) + 6 * bandwidth
        n_bins = int(np.clip(4 * width / bandwidth, 64, 4096))
        step = width / (n_bins - 1)
        right_half = np.exp(-0.5 * (np.arange(int(4 * bandwidth / step) + 1) * step / bandwidth) ** 2)
        density = smooth(bin_linear(values, np.ones(len(values)), start, step, n_bins), right_half)
        scores.append(best_window_score(density, step, len(values), shares, resolution, least_side))
    return max(scores)


def count_around(values, center, width, resolution):
    """Values in a window; each is spread evenly over the resolution around it."""
    low, high = center - width / 2, center + width / 2
    if resolution == 0:
        return sum(low <= x < high for x in values)
    return sum(np.diff(np.clip([x - resolution / 2, x + resolution / 2], low, high))[0] for x in values) / resolution


def small_k_means(Y, k, n_steps):
    """Lloyd's steps from starts that are drawn in proportion to the squared distance from those before."""
    starts, draw = [Y[0]], 1
    while len(starts) < k:
        squares = np.min([((Y - start) ** 2).sum(axis=1) for start in starts], axis=0)
        draw = draw * 16807 % 2147483647
        reached = np.cumsum(squares) >= draw / 2147483647 * squares.sum()
        starts.append(Y[np.append(np.flatnonzero(reached), len(Y) - 1)[0] if squares.any() else 0])
    means = np.array(starts)
    for _ in range(n_steps):
        halves = ((Y[:, None] - means) ** 2).sum(axis=2) / 2
        tie = 1e-9 * (Y**2).sum() / len(Y)
        group = (halves <= halves.min(axis=1, keepdims=True) + tie).argmax(axis=1)  # the first of those that tie
        means = np.array([Y[group == c].mean(axis=0) if (group == c).any() else means[c] for c in range(k)])
    return means, np.bincount(group, minlength=k)


def differences_of_means(means, sizes, fewest):
    """Mean of each group less that of all other rows, then less the nearest other mean; each pair once."""
    n = sizes.sum()
    large = [c for c in range(len(sizes)) if fewest <= sizes[c] <= n - fewest]
    rest = [[b for b in range(len(sizes)) if b != c and sizes[b]] for c in large]
    found = [means[c] - np.average(means[r], axis=0, weights=sizes[r]) for c, r in zip(large, rest, strict=True)]
    pairs = []
    for c in large:
        others = [b for b in large if b != c]
        if others:
            nearest = min(others, key=lambda b: ((means[c] - means[b]) ** 2).sum())
            if (nearest, c) not in pairs:
                pairs.append((c, nearest))
    return np.array(found + [means[c] - means[b] for c, b in pairs]).reshape(-1, means.shape[1])


def best_directions(Z, directions, score, n_best, same):
    """Positions of the directions with the best scores, each unlike those before it."""
    chosen = []
    for k in sorted(range(len(directions)), key=lambda k: -score(Z @ directions[k])):
        if score(Z @ directions[k]) > 0 and all(abs(directions[k] @ directions[m]) < same for m in chosen):
            chosen.append(k)
    return chosen[:n_best]


def between_sides(Z, is_left, ridge):
    """Direction between the means of two sides, and the same in the metric of the covariance within the sides."""
    left, right = Z[is_left], Z[~is_left]
    apart = right.mean(axis=0) - left.mean(axis=0)
    within = np.concatenate([left - left.mean(axis=0), right - right.mean(axis=0)])
    covariance = within.T @ within / len(Z)
    return apart, np.linalg.solve(covariance + ridge * np.diag(covariance).mean() * np.eye(Z.shape[1]), apart)


def bin_of(score, median, n_bins, middle, per_octave):
    """Largest bin whose lower end, median · 2^((bin - middle) / per_octave), is at most the score."""
    if median == 0:
        return n_bins - 1 if score > 0 else 0
    ends = [median * 2 ** ((k - middle) / per_octave) for k in range(1, n_bins)]
    return sum(end <= score for end in ends)


def parts_of_scores(X, floor):
    """Squared distance of each entry from the mean of the other rows, in their deviations, which are at least floor."""
    parts = np.empty(X.shape)
    for i in range(len(X)):
        others = np.delete(X, i, axis=0)
        parts[i] = (X[i] - others.mean(axis=0)) ** 2 / np.maximum(others.var(axis=0, ddof=1), floor**2)
    return parts


def n_watched(node, left, right, n_stored, is_watched, size):
    """Number of rows in the rings below a node; 0 if a leaf there is not watched."""
    if left[node] < 0:
        return min(n_stored[node], size) if is_watched[node] else 0
    sides = [n_watched(child, left, right, n_stored, is_watched, size) for child in (left[node], right[node])]
    return sum(sides) if all(sides) else 0


class WatchedLeaf:
    """A leaf that keeps all its rows, times and bins of scores, and bets on small ranks."""

    def __init__(self, profile_bins, dependence, bin_of_row):
        self.bins, self.dependence, self.bin_of_row = list(profile_bins), dependence, bin_of_row
        self.rows, self.times, self.wins, self.cusum, self.onset, self.next_bet = [], [], [], 0.0, 0, 0

    def learn(self, x, row):
        self.rows.append(x)
        self.times.append(row)
        b, n = self.bin_of_row(x), len(self.bins) + 1
        larger, equal = sum(other > b for other in self.bins), sum(other == b for other in self.bins) + 1
        p = max((larger + n * 0.6180339887498949 % 1 * equal) / n, 0.5 / n)
        self.bins.append(b)
        self.wins.append(np.log(np.mean([e * p ** (e - 1) for e in (0.2, 0.5, 0.8)])))
        if len(self.rows) >= self.next_bet:
            self.next_bet = len(self.rows) + self.dependence
            if self.cusum <= 0:
                self.cusum, self.onset = 0.0, row
            self.cusum += self.wins[-1]

    @property
    def longest_gap(self):
        return max(np.diff(self.times), default=0)

    @property
    def n_visits(self):
        return sum(i == 0 or self.times[i] - self.times[i - 1] > 1 for i in range(len(self.times)))


class WatchedCut:
    """A cut with modes at low and high; rows nearer than the reach are inner ones."""

    def __init__(self, low, high, reach, n_inner, n_outer, limit, dependence):
        self.low, self.high, self.reach, self.limit, self.dependence = low, high, reach, limit, dependence
        self.rate = 2 * reach / (high - low)
        self.n_inner, self.n_outer = n_inner, n_outer
        self.fill, self.onset, self.inner_since, self.filled_at = 0.0, 0, 0, -1

    def learn(self, distance, row):
        if not self.low < distance < self.high:
            return
        is_inner, q = abs(distance) < self.reach, (self.n_inner + 1) / (self.n_outer + 1 / self.rate)
        if q < 0.8 * self.rate and self.filled_at < 0:
            if self.fill <= 0:
                self.fill, self.onset, self.inner_since = 0.0, row, 0
            with_valley, without = (q, self.rate) if is_inner else (1 - q, 1 - self.rate)
            self.fill += np.log(without / with_valley) / self.dependence
            self.filled_at = row if self.fill > self.limit else -1
        self.n_inner, self.n_outer = self.n_inner + is_inner, self.n_outer + 1
        self.inner_since += is_inner


def is_unimodal(density, slack=1e-9):
    """Whether a density increases up to some position and decreases from there, up to a share of its maximum."""
    step, few = np.diff(density), slack * density.max()
    return any((step[:mode] >= -few).all() and (step[mode:] <= few).all() for mode in range(len(density)))


def log_joint(X, weight, mean, shape, freedom=np.inf):
    columns = [
        np.log(w) + multivariate_t(m, s, df=freedom).logpdf(X) for w, m, s in zip(weight, mean, shape, strict=True)
    ]
    return np.column_stack([np.atleast_1d(column) for column in columns])


def own_covariances(Z, part, mean, n_rows, prior_rows, ridge):
    d, scatters = Z.shape[1], [scatter(Z, share, m) for share, m in zip(part.T, mean, strict=True)]
    pooled = sum(scatters) / part.sum()
    drawn = min(1, d * len(mean) / n_rows / 4) if d > 1 else 0
    diagonal = np.diag(np.diag(pooled))
    pooled = (1 - drawn) * pooled + drawn * diagonal + (ridge * np.diag(diagonal).mean() + 1e-9) * np.eye(d)
    prior = (prior_rows + d) / n_rows
    return [(s + prior * pooled) / (share.sum() + prior) for s, share in zip(scatters, part.T, strict=True)]


def weighted_quantiles(values, weights, n):
    """Values at equally spaced parts of the weight; half of the weight of a row lies below it."""
    pairs = sorted(zip(values, weights, strict=True))
    places = [sum(w for _, w in pairs[:i]) + pairs[i][1] / 2 for i in range(len(pairs))]
    return np.array([np.interp((i + 0.5) / n * sum(weights), places, [v for v, _ in pairs]) for i in range(n)])


def kurtosis(values):
    """Fourth moment of standardized values."""
    return (((values - values.mean()) / values.std()) ** 4).mean()


def robust_scale(values, edge, far):
    """Mean and deviation of a column after cells far outside of its central rows were moved to their edge."""
    n_out, ordered = int(edge * len(values)), sorted(values)
    low, high = ordered[n_out], ordered[len(values) - 1 - n_out]
    others = sorted(abs(x - low) for x in values if x != low)
    width = high - low if high > low else others[(len(others) - 1) // 2] if others else np.inf
    moved = [low if x < low - far * width else high if x > high + far * width else x for x in values]
    return np.mean(moved), np.std(moved) or 1.0


def distance_limits(X, weights, component, mean, shape, least):
    """Median plus five times the way from it to the 90th percentile, of the distances of the rows of each component."""
    out = []
    for k, (m, s) in enumerate(zip(mean, shape, strict=True)):
        mine = component == k
        distance = np.array([np.sqrt((x - m) @ np.linalg.inv(s) @ (x - m)) for x in X[mine]])
        share = np.array([weights[mine][distance <= r].sum() for r in distance]) / weights[mine].sum()
        middle, far = (distance[share >= q].min() for q in (0.5, 0.9))
        out.append(max(middle + 5 * (far - middle), least))
    return np.array(out)


def outliers(X, component, mean, shape, limit):
    apart = [x - mean[k] for x, k in zip(X, component, strict=True)]
    return np.array([a @ np.linalg.inv(shape[k]) @ a > limit[k] ** 2 for a, k in zip(apart, component, strict=True)])


def simes(p_values):
    return min(len(p_values) * p / rank for rank, p in enumerate(sorted(p_values), start=1))


def share_within_two(values, weights, least):
    """Least sum of squares of two intervals of the values that both have some weight, relative to that of all."""

    def sum_sq(part):
        return moments(values[part][:, None], weights[part])[2]

    total, shares = weights.sum(), [1.0]
    for limit in np.unique(values)[:-1]:
        left = values <= limit
        if least * total <= weights[left].sum() <= (1 - least) * total:
            shares.append((sum_sq(left) + sum_sq(~left)) / sum_sq(np.ones(len(values), dtype=bool)))
    return min(shares)


def difference_of_shares(values, is_in, conditions):
    """The largest difference, over some conditions, of the share of the cluster and that of the other rows."""
    shares = [(np.mean([c(v) for v in values[is_in]]), np.mean([c(v) for v in values[~is_in]])) for c in conditions]
    return max(here - there for here, there in shares)


def range_conditions(values):
    """All ranges of the values and all complements of ranges; None is a gap."""
    ends = [*sorted({v for v in values if v is not None}), np.inf]
    for a in ends:
        for b in ends:
            yield lambda v, a=a, b=b: v is not None and a <= v < b
            yield lambda v, a=a, b=b: not (v is not None and a <= v < b)


def set_conditions(values):
    """All sets of the levels; None is a gap, and a level."""
    levels = sorted(set(values), key=str)
    for bits in range(2 ** len(levels)):
        chosen = {level for i, level in enumerate(levels) if bits >> i & 1}
        yield lambda v, chosen=chosen: v in chosen


def quantile(values, weights, share):
    """The middle between the smallest and the largest value up to which the weight can be this share of all."""
    up_to = [sum(w for v, w in zip(values, weights, strict=True) if v <= x) for x in values]
    below = [sum(w for v, w in zip(values, weights, strict=True) if v < x) for x in values]
    target = share * sum(weights)
    low = min(v for v, upper in zip(values, up_to, strict=True) if upper >= target)
    high = max(v for v, lower in zip(values, below, strict=True) if lower <= target)
    return (low + high) / 2


def best_rule(values, is_in, price):
    """The best F1 minus the price of its bounds, over all ranges of one column."""
    ends = [-np.inf, *sorted(set(values)), np.inf]
    best = -np.inf
    for i, a in enumerate(ends):
        for b in ends[i + 1 :]:
            n_bounds = np.isfinite([a, b]).sum()
            holds = (a <= values) & (values < b)
            if n_bounds and holds.any():
                best = max(best, 2 * (holds & is_in).sum() / (holds.sum() + is_in.sum()) - price * n_bounds)
    return best


def jaccard_matching(reference, found):
    """For each cluster of the reference, the largest Jaccard overlap with a found cluster, and this cluster."""
    clusters = sorted(set(found[found >= 0].tolist()))
    overlaps, matches = [], []
    for label in sorted(set(reference[reference >= 0].tolist())):
        rows = set(np.flatnonzero(reference == label).tolist())
        others = [set(np.flatnonzero(found == other).tolist()) for other in clusters]
        values = [len(rows & other) / len(rows | other) for other in others]
        overlaps.append(max(values, default=0.0))
        matches.append(clusters[values.index(max(values))] if values else None)
    return overlaps, matches


def same_cluster_probability(reference, found):
    """For two clusters of the reference, how often a row of one and a row of the other are in one found cluster."""
    labels = sorted(set(reference[reference >= 0].tolist()))
    together = (found[:, None] == found) & (found >= 0)
    return np.array([[together[reference == a][:, reference == b].mean() for b in labels] for a in labels])


def nearest_unimodal(density, width, below, modes):
    """The distribution with densities up to a mode and down from there, by least squares, nearest to `below`."""
    found = []
    for mode in modes:
        fitted = np.append(
            isotonic(density[:mode], width[:mode]), isotonic(density[mode:][::-1], width[mode:][::-1])[::-1]
        )
        total = np.append(0.0, np.cumsum(fitted * width))
        found.append(total / total[-1])
    return min(found, key=lambda each: round(np.abs(each - below).max(), 9))


def isotonic(y, weights):
    """The increasing numbers nearest to y: at each place, the largest over starts of the least over ends of a mean."""
    n = len(y)
    mean = [
        [np.average(y[i : j + 1], weights=weights[i : j + 1]) if i <= j else None for j in range(n)] for i in range(n)
    ]
    return np.array([max(min(mean[i][j] for j in range(k, n)) for i in range(k + 1)) for k in range(n)])


def sum_sq_of_sides(values, weights, threshold):
    """Sum of squares within the values below a threshold and within the others."""
    total = 0.0
    for side in (values < threshold, values >= threshold):
        if side.any():
            total += weights[side] @ (values[side] - np.average(values[side], weights=weights[side])) ** 2
    return total


def bisecting_path(X, weights, most, n_powers, n_steps):
    """Sums of squares within 1, 2, … groups; the group with the largest one is halved next."""
    groups, path = [np.arange(len(X))], []
    squares = [sum(sum_sq_of_sides(X[g][:, j], weights[g], np.inf) for j in range(X.shape[1])) for g in groups]
    for _ in range(most):
        path.append(sum(squares))
        g = int(np.argmax(squares))
        rows = groups[g]
        is_left = _halved(X[rows], weights[rows], n_powers, n_steps)
        if is_left.all() or not is_left.any():
            continue
        groups[g : g + 1] = [rows[is_left], rows[~is_left]]
        squares = [sum(sum_sq_of_sides(X[g][:, j], weights[g], np.inf) for j in range(X.shape[1])) for g in groups]
    return np.array(path)


def _halved(X, weights, n_powers, n_steps):
    centered = X - np.average(X, axis=0, weights=weights)
    v = centered[np.argmax((centered**2).sum(axis=1))]
    for _ in range(n_powers):
        v = (centered * weights[:, np.newaxis]).T @ (centered @ (v / np.linalg.norm(v)))
    along = X @ (v / np.linalg.norm(v))
    cuts = (np.unique(along)[:-1] + np.unique(along)[1:]) / 2
    is_left = along < min(cuts, key=lambda cut: sum_sq_of_sides(along, weights, cut), default=np.inf)
    for _ in range(n_steps - 1):
        if is_left.all() or not is_left.any():
            break
        means = [np.average(X[side], axis=0, weights=weights[side]) for side in (is_left, ~is_left)]
        is_left = X @ (means[1] - means[0]) < (means[1] @ means[1] - means[0] @ means[0]) / 2
    return is_left
