"""How connected points are: the second eigenvalue of the Laplacian of their graph, its vector and its derivatives.

Points with counts n and similarities s form the graph with the weights w = n n' s. Let G be its Laplacian, and M a
diagonal matrix of sizes, the counts or the degrees. The eigenvalues of G x = λ M x are those of the standard and of the
normalized Laplacian of all rows (Hofmeyr 2016, ch. 3A §6). G is eliminated node by node. Each step leaves the Laplacian
of a smaller graph and only adds positive numbers. So λ keeps its digits, however small it is, until similarities
underflow.
"""

import numpy as np

from ravine._kernels import elementary
from ravine._kernels._compile import inner_reduction, kernel, reduction
from ravine._kernels.ties import is_less
from ravine._ties import TIE

MAX_STEPS, TOLERANCE = 60, 1e-10
"""Maximum number of steps of inverse iteration, and the relative decrease of λ at which they end."""


@kernel
def draw_in(values, bounds, contraction, drawn, slope):
    """Shorten the distances beyond ± bounds[c] in each column (T of eq. 3.23, centered); fill the slopes of it."""
    # This number makes the slope 1 at the bound; for a small contraction it underflows.
    least = (contraction * (1.0 - contraction)) ** (1.0 / contraction)
    none = least ** (1.0 - contraction)
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            value = values[i, c]
            y = abs(value) - bounds[c] + least
            if y > least:
                power = y**-contraction
                further = bounds[c] + contraction * (y * power - none)
                drawn[i, c] = further if value > 0.0 else -further
                slope[i, c] = contraction * (1.0 - contraction) * power
            else:
                drawn[i, c], slope[i, c] = value, 1.0


@reduction
def slopes_before(values, counts, count, bound, deviation, slope, by_drawn, out):
    """Compute derivatives by the values, given the derivatives `by_drawn` by their images in `draw_in`.

    The bounds are `bound` times the deviations, and `count` is the sum of the counts. A value moves its own image.
    Through the deviation, it also moves the bound and all images outside it.
    """
    n = values.shape[0]
    for c in range(values.shape[1]):
        by_bound = 0.0
        for i in range(n):
            outwards = by_drawn[i, c] if values[i, c] > 0.0 else -by_drawn[i, c]
            by_bound += outwards * (1.0 - slope[i, c])
        spread = bound * by_bound / (count * deviation[c])
        for i in range(n):
            out[i, c] = by_drawn[i, c] * slope[i, c] + spread * counts[i] * values[i, c]


@reduction
def similarities(columns, counts, scale, shape, pairs, graph, degrees):
    """Fill the weights n n' (d / (σ α) + 1)^α exp(-d / σ), where α is `shape`, and their sums.

    The sums include n² for the point itself. The columns of the points are rows. `pairs` is scratch: three rows with a
    number for each pair of points.
    """
    n, n_pairs = columns.shape[1], pairs.shape[1]
    # The part below the diagonal, row by row.
    similarity, a, b = pairs[0], pairs[1], pairs[2]
    scratch = graph.ravel()[:n_pairs]
    similarity[:] = 0.0
    start = 0
    for i in range(n):
        square = similarity[start : start + i]
        for c in range(columns.shape[0]):
            at, there = columns[c, i], columns[c]
            for j in range(i):
                apart = at - there[j]
                square[j] += apart * apart
        start += i
    for k in range(n_pairs):
        similarity[k] = np.sqrt(similarity[k]) / scale
        a[k] = 1.0 + similarity[k] / shape
    elementary.log(a, scratch, b)
    for k in range(n_pairs):
        a[k] = shape * b[k] - similarity[k]
    elementary.exp(a, scratch, similarity)
    start = 0
    for i in range(n):
        row, mine, here = graph[i], counts[i], similarity[start : start + i]
        degree = mine * mine
        for j in range(i):
            w = mine * counts[j] * here[j]
            row[j] = w
            degree += w
            degrees[j] += w
        row[i] = 0.0
        degrees[i] = degree
        start += i
    for i in range(n):
        for j in range(i):
            graph[j, i] = graph[i, j]


@reduction
def eliminate(graph, pivots):
    """Eliminate the Laplacian of a graph, from the last node to the second.

    The factors are stored below the diagonal, and the pivots in `pivots`.

    The part above the diagonal does not change. A node without neighbors has pivot 0.
    """
    shares = np.empty(graph.shape[0])
    for k in range(graph.shape[0] - 1, 0, -1):
        row = graph[k]
        pivot = 0.0
        for j in range(k):
            pivot += row[j]
        pivots[k] = pivot
        for j in range(k):
            shares[j] = row[j] / pivot
        for i in range(1, k):
            share, other = shares[i], graph[i]
            for j in range(i):
                other[j] += share * row[j]
        for j in range(k):
            row[j] = shares[j]


@inner_reduction
def solve(graph, pivots, right, out):
    """Solve G out = right with the factors of `eliminate`.

    `right` must sum to zero and is overwritten; out[0] is 0.
    """
    n = graph.shape[0]
    for k in range(n - 1, 0, -1):
        row, mine = graph[k], right[k]
        for j in range(k):
            right[j] += row[j] * mine
    out[0] = 0.0
    for k in range(1, n):
        row, total = graph[k], 0.0
        for j in range(k):
            total += row[j] * out[j]
        out[k] = right[k] / pivots[k] + total


@inner_reduction
def _inner(a, sizes, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * sizes[i] * b[i]
    return total


@kernel
def second_pair(graph, pivots, sizes, vectors):
    """Return the second and third smallest eigenvalue of G x = λ M x, by inverse iteration from `vectors`.

    Parameters
    ----------
    graph, pivots : results of `eliminate`
    sizes : ndarray of shape (n,)
        The diagonal of M.
    vectors : ndarray of shape (2, n)
        Two start vectors, not constant and not multiples of each other. Filled with the eigenvectors, of length 1 in
        the norm of M. The first has converged; the second may not have.
    """
    n = graph.shape[0]
    total = 0.0
    for i in range(n):
        total += sizes[i]
    if n == 2:
        root = np.sqrt(sizes[0] * sizes[1] * total)
        vectors[0, 0], vectors[0, 1] = sizes[1] / root, -sizes[0] / root
        return pivots[1] * (1.0 / sizes[0] + 1.0 / sizes[1]), np.inf
    right, images = np.empty(n), np.empty((2, n))
    second, third = np.inf, np.inf
    for _ in range(MAX_STEPS):
        for a in range(2):
            mean = 0.0
            for i in range(n):
                mean += sizes[i] * vectors[a, i]
            for i in range(n):
                vectors[a, i] -= mean / total
                right[i] = sizes[i] * vectors[a, i]
            solve(graph, pivots, right, images[a])
            mean = 0.0
            for i in range(n):
                mean += sizes[i] * images[a, i]
            largest = 0.0  # squares of images would overflow for a tiny eigenvalue
            for i in range(n):
                images[a, i] -= mean / total
                largest = max(largest, abs(images[a, i]))
            for i in range(n):
                images[a, i] /= largest
                vectors[a, i] /= largest
        # The images have length 1 in the norm of M, and the second is orthogonal to the first; G times an image is M
        # times its vector.
        for a in range(2):
            if a == 1:
                along = _inner(images[0], sizes, images[1])
                for i in range(n):
                    images[1, i] -= along * images[0, i]
                    vectors[1, i] -= along * vectors[0, i]
            length = np.sqrt(_inner(images[a], sizes, images[a]))
            for i in range(n):
                images[a, i] /= length
                vectors[a, i] /= length
        first, last = _inner(images[0], sizes, vectors[0]), _inner(images[1], sizes, vectors[1])
        between = _inner(images[0], sizes, vectors[1])
        c, s, one, other = 1.0, 0.0, first, last
        if abs(first - last) > TIE * first or abs(between) > TIE * first:  # else rounding would rotate them
            angle = 0.5 * np.arctan2(2.0 * between, first - last)
            c, s = np.cos(angle), np.sin(angle)
            one = c * c * first + 2.0 * c * s * between + s * s * last
            other = s * s * first - 2.0 * c * s * between + c * c * last
            if other <= one:
                c, s, one, other = -s, c, other, one
        for i in range(n):
            x, y = images[0, i], images[1, i]
            vectors[0, i], vectors[1, i] = c * x + s * y, c * y - s * x
        done = abs(second - one) <= TOLERANCE * one
        second, third = one, other
        if done or not np.isfinite(one):
            break
    return second, third


@reduction
def slopes(columns, scale, shape, graph, vector, value, normalized, out):
    """Add the derivatives of an eigenvalue by the positions of the points; the columns of the points are rows.

    `graph` has the similarities above the diagonal.

    `vector` has length 1 in the norm of M.
    """
    n_columns, n = columns.shape
    pulls = np.empty(n)
    share = value if normalized else 0.0
    for i in range(n):
        row, others, pull = graph[i, i + 1 :], vector[i + 1 :], pulls[i + 1 :]
        for j in range(pull.shape[0]):
            pull[j] = 0.0
        for c in range(n_columns):
            at, there = columns[c, i], columns[c, i + 1 :]
            for j in range(pull.shape[0]):
                apart = at - there[j]
                pull[j] += apart * apart
        mine = vector[i]
        for j in range(pull.shape[0]):
            between = mine - others[j]
            change = between * between - share * (mine * mine + others[j] * others[j])
            pull[j] = change * row[j] / (scale * (np.sqrt(pull[j]) + shape * scale))
        for c in range(n_columns):
            at, there, sums = columns[c, i], columns[c, i + 1 :], out[c, i + 1 :]
            total = 0.0
            for j in range(pull.shape[0]):
                force = pull[j] * (at - there[j])
                total += force
                sums[j] += force
            out[c, i] -= total


@reduction
def mass_slopes(graph, mass, vector, value, normalized, out):
    """Compute the derivatives of an eigenvalue by the counts of the points.

    `graph` has the similarities above the diagonal.
    """
    n = mass.shape[0]
    for i in range(n):
        own = 2.0 * mass[i] if normalized else 1.0
        out[i] = -value * vector[i] * vector[i] * own
    for i in range(n):
        for j in range(i + 1, n):
            between = vector[i] - vector[j]
            pull = between * between
            if normalized:
                pull -= value * (vector[i] * vector[i] + vector[j] * vector[j])
            pull *= graph[i, j]
            out[i] += pull / mass[i]
            out[j] += pull / mass[j]


@kernel
def sweep(graph, order, sizes):
    """Find the best cut of points in a given order: (value, number of points before it).

    The value is the weight across the cut times the sum of the inverse sizes; `graph` has its weights above the
    diagonal.
    """
    n = len(order)
    total = 0.0
    for i in range(sizes.shape[0]):
        total += sizes[i]
    value, position = np.inf, 0
    across, before = 0.0, 0.0
    for k in range(n - 1):
        i = order[k]
        for m in range(n):
            j = order[m]
            if j != i:
                w = graph[min(i, j), max(i, j)]
                across += w if m > k else -w
        before += sizes[i]
        here = across * (1.0 / before + 1.0 / (total - before))
        if is_less(here, value):
            value, position = here, k + 1
    return value, position


@reduction
def labeled_similarities(drawn, positions, mass, left, right, scale, power, free, similarity, graph):
    """Fill exp(-d² / 2σ²) for points on a line, and the graph of two classes and the unlabeled points.

    Parameters
    ----------
    drawn, positions : ndarray of shape (n,)
        Positions of the points, with distances outside the bound shortened, and their true positions.
    mass, left, right : ndarray of shape (n,)
        Weight of the unlabeled rows at each point, and of the rows of the two classes.
    power : float
        A labeled row is connected to points on the wrong side of it by the distance to this power.
    free : ndarray of int
        The points with mass.
    similarity : ndarray of shape (n, n)
    graph : ndarray of shape (len(free) + 2, len(free) + 2)
        Its first two nodes are the class on the left and the class on the right, since rows of one class stay together.
    """
    n = drawn.shape[0]
    for i in range(n):
        similarity[i, i] = 1.0
        for j in range(i):
            r = (drawn[i] - drawn[j]) / scale
            similarity[i, j] = np.exp(-0.5 * r * r)
    for i in range(n):
        for j in range(i):
            similarity[j, i] = similarity[i, j]
    for a in range(free.shape[0] + 2):
        graph[a, a] = 0.0
    for a in range(free.shape[0]):
        i = free[a]
        to_left, to_right = _to_classes(i, positions, left, right, power, similarity)
        graph[a + 2, 0] = graph[0, a + 2] = mass[i] * to_left
        graph[a + 2, 1] = graph[1, a + 2] = mass[i] * to_right
        for b in range(a):
            graph[a + 2, b + 2] = graph[b + 2, a + 2] = mass[i] * mass[free[b]] * similarity[i, free[b]]
    between = 0.0
    for i in range(n):
        if right[i] > 0.0:
            between += right[i] * _to_classes(i, positions, left, right, power, similarity)[0]
    graph[1, 0] = graph[0, 1] = between


@inner_reduction
def _to_classes(i, positions, left, right, power, similarity):
    """Return the similarity of a point to all rows of each class, with the penalty for being on their wrong side."""
    to_left, to_right = 0.0, 0.0
    for j in range(positions.shape[0]):
        ahead = positions[j] - positions[i]
        if left[j] > 0.0:
            to_left += left[j] * (similarity[i, j] + (ahead**power if ahead > 0.0 else 0.0))
        if right[j] > 0.0:
            to_right += right[j] * (similarity[i, j] + ((-ahead) ** power if ahead < 0.0 else 0.0))
    return to_left, to_right


@reduction
def labeled_slopes(drawn, positions, mass, left, right, scale, power, similarity, vector, value, out):
    """Compute the derivatives of the eigenvalue of the graph of `labeled_similarities`.

    `vector` has the entries of the classes, then one entry per point; the entry of a point without mass is ignored.
    `out` has shape (5, n). It receives the derivatives by `mass` (where there is any), `left`, `right`, `drawn` and
    `positions`.
    """
    n = drawn.shape[0]
    at_left, at_right = vector[0], vector[1]
    apart = (at_left - at_right) ** 2
    for i in range(n):
        mine = vector[i + 2]
        from_left, from_right = (mine - at_left) ** 2, (mine - at_right) ** 2
        by_mass, by_left, by_right, by_drawn, by_position = -value * mine * mine, 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            s, other, ahead = similarity[i, j], vector[j + 2], positions[j] - positions[i]
            before = s + (ahead**power if ahead > 0.0 else 0.0)
            behind = s + ((-ahead) ** power if ahead < 0.0 else 0.0)
            square, to_left, to_right = (mine - other) ** 2, (other - at_left) ** 2, (other - at_right) ** 2
            by_mass += square * mass[j] * s + from_left * left[j] * before + from_right * right[j] * behind
            by_left += (to_left * mass[j] + apart * right[j]) * behind
            by_right += (to_right * mass[j] + apart * left[j]) * before
            pull = mass[i] * (square * mass[j] + from_left * left[j] + from_right * right[j])
            pull += mass[j] * (to_left * left[i] + to_right * right[i])
            pull += apart * (left[i] * right[j] + left[j] * right[i])
            by_drawn -= pull * s * (drawn[i] - drawn[j]) / (scale * scale)
            if ahead > 0.0:
                wrong = left[j] * (from_left * mass[i] + apart * right[i]) + right[i] * to_right * mass[j]
                by_position -= wrong * power * ahead ** (power - 1.0)
            elif ahead < 0.0:
                wrong = left[i] * (to_left * mass[j] + apart * right[j]) + right[j] * from_right * mass[i]
                by_position += wrong * power * (-ahead) ** (power - 1.0)
        out[0, i], out[1, i], out[2, i], out[3, i], out[4, i] = by_mass, by_left, by_right, by_drawn, by_position


@reduction
def heights(values, positions, is_left, out):
    """Compute the distance of values[i] to the nearest point on the left minus that to the nearest on the right."""
    for i in range(values.shape[0]):
        left, right = np.inf, np.inf
        for k in range(positions.shape[0]):
            square = 0.0
            for c in range(positions.shape[1]):
                apart = values[i, c] - positions[k, c]
                square += apart * apart
            if is_left[k]:
                left = min(left, square)
            else:
                right = min(right, square)
        out[i] = np.sqrt(left) - np.sqrt(right)
