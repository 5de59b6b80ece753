"""Directions along which some rows may have a valley, and the strongest valley of each.

The directions are the leading principal components, the differences of the means of a small k-means (each mean against
the mean of all other rows, and against the nearest other mean), and the columns with the lightest and the heaviest
tails. Components alone do not separate many groups in many columns, and neither they nor the means see groups that
differ in a single column of many. For n rows, d features and q components, a call costs O(n d min(d, q)). Components
and means are combinations of q directions, so the positions of the rows along them cost O(n q) each.
"""

import math

import numpy as np

from ravine._kernels._compile import inner, inner_reduction, kernel
from ravine._kernels.density import best_window, smooth_dense, valleys
from ravine._kernels.rows import dot, project
from ravine._kernels.ties import is_less
from ravine._ties import OF_A_SUM, ROUNDING

SCORE, POSITION, LEFT_MODE, RIGHT_MODE, WINDOW, RESOLUTION = range(6)
"""Entries of a valley: its score, the positions of the valley and of its two modes, the width of the windows of its
test, and the width over which a row is spread along the direction. The score is 0 if there is no valley."""

N_VALLEY = 6

BANDWIDTH = 1.06
"""Factor of the normal-reference bandwidth."""

MULTIPLES = np.array([0.5, 1.0, 0.25])
"""Multiples of that bandwidth that are searched for valleys. The first one alone ranks the directions."""

SHARES = np.array([0.25, 0.5, 0.75, 1.0])
"""Window widths that are tried, relative to the distance from the valley to the nearer mode."""

MARGIN, REACH, BINS_PER_BANDWIDTH, MIN_BINS, MAX_BINS = 3.0, 4.0, 4.0, 64, 4096
"""The grid extends this many bandwidths beyond the values, and the kernel this many beyond a value; number of bins."""

N_COMPONENTS, N_COLUMNS = 4, 16
"""Number of principal components, and of columns, that are tried as directions."""

N_ITERATIONS = 4
"""Number of subspace iterations for the components: directions to try need not be exact."""

N_MEANS, ROWS_PER_MEAN, N_STEPS = 24, 12, 6
"""Largest number of means of k-means, number of rows for each mean, and number of steps."""

ROWS_PER_BLOCK = 128
"""Distances from the means are computed for so many rows at once: they fit into the cache."""

FEWEST = 4
"""A mean counts if it has at least this many rows, and if as many others are left."""

N_POLISHES, BETTER = 3, 1.001
"""A direction is improved at most this often, as long as the score of its valley grows by this factor."""

ROWS_PER_COLUMN, RIDGE, N_SOLVES = 3, 0.1, 8
"""With this many rows per column, a direction is also improved in the metric of the rows on either side: the share of
their mean variance that is added to each variance, and the number of steps that solve for the direction."""

TINY = 1e-150
"""A vector that is shorter than this has no direction."""

SAME = 0.98
"""Two directions count as one if the absolute value of their cosine is at least this."""


@inner
def _binned(values, low, step, n_bins):
    """Compute `ravine._kernels.density.bin_linear` of values that all have the weight 1."""
    counts = np.zeros(n_bins)
    for i in range(values.shape[0]):
        position = (values[i] - low) / step
        k = min(max(int(position), 0), n_bins - 2)
        share = position - k
        counts[k] += 1.0 - share
        counts[k + 1] += share
    return counts


@inner
def strongest(values, resolution, least_side, n_multiples):
    """Return the strongest valley of numbers on a line, as an array with the entries named above."""
    found = np.zeros(N_VALLEY)
    found[RESOLUTION] = resolution
    _strengthen(found, values, least_side, np.int64(0), n_multiples)
    return found


@inner
def _deviation(values):
    """Return the standard deviation."""
    n, mean, square = values.shape[0], 0.0, 0.0
    for i in range(n):
        mean += values[i]
    mean /= n
    for i in range(n):
        square += (values[i] - mean) * (values[i] - mean)
    return math.sqrt(square / n)


@inner
def _strengthen(found, values, least_side, first, last):
    """Replace a valley by the strongest one at some of the multiples, if that is stronger."""
    n, resolution = values.shape[0], found[RESOLUTION]
    low = high = values[0]
    for i in range(n):
        low, high = min(low, values[i]), max(high, values[i])
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return
    reference = BANDWIDTH * _deviation(values) * n**-0.2
    for m in range(first, last):
        bandwidth = math.hypot(MULTIPLES[m] * reference, resolution / 2)
        start = low - MARGIN * bandwidth
        width = high - low + 2 * MARGIN * bandwidth
        n_bins = int(min(max(BINS_PER_BANDWIDTH * width / bandwidth, MIN_BINS), MAX_BINS))
        step = width / (n_bins - 1)
        n_kernel = int(REACH * bandwidth / step) + 1
        right_half = np.empty(n_kernel)
        for k in range(n_kernel):
            right_half[k] = math.exp(-0.5 * (k * step / bandwidth) ** 2)
        density = smooth_dense(_binned(values, start, step, n_bins), right_half)
        mass, total = np.empty(n_bins), 0.0
        for k in range(n_bins):
            total += density[k]
            mass[k] = total
        for k in range(n_bins):
            mass[k] /= total
        score, valley, left, right, window = best_window(
            density, mass, valleys(density), float(n), step, SHARES, resolution, least_side
        )
        if score > 0.0 and (found[SCORE] == 0.0 or is_less(found[SCORE], score)):
            found[SCORE], found[WINDOW] = score, window
            found[POSITION], found[LEFT_MODE], found[RIGHT_MODE] = (
                start + step * valley,
                start + step * left,
                start + step * right,
            )


@kernel
def along(Z, direction):
    """Return the position of each row along a direction."""
    out = np.empty(Z.shape[0])
    project(Z, direction, out)
    return out


@inner
def count_around(values, center, width, resolution):
    """Return how many values lie in a window, if each value is spread evenly over the resolution around it."""
    low, high, total = center - width / 2, center + width / 2, 0.0
    for i in range(values.shape[0]):
        x = values[i]
        if resolution <= 0.0:
            total += 1.0 if low <= x < high else 0.0
        else:
            total += max(0.0, min(high, x + resolution / 2) - max(low, x - resolution / 2)) / resolution
    return total


# Vectors are copied by loops: an assignment of slices or an expression of arrays takes Numba seconds to compile. So
# does a second version of a function for a number that is written out: np.int64(1) has the type of a variable.


@inner_reduction
def _add(out, share, x):
    """Compute out += share x."""
    for j in range(out.shape[0]):
        out[j] += share * x[j]


@inner
def _clear(out):
    """Compute out = 0."""
    for j in range(out.shape[0]):
        out[j] = 0.0


@inner_reduction
def _set(out, share, x):
    """Compute out = share x."""
    for j in range(out.shape[0]):
        out[j] = share * x[j]


@inner_reduction
def multiply(A, B, out):
    """Compute out = A B.

    Each pass adds four rows of B to a row of the result: with one row, most time would go into loads and stores.
    """
    n_whole = A.shape[1] - A.shape[1] % 4
    for a in range(A.shape[0]):
        for i in range(B.shape[1]):
            out[a, i] = 0.0
        for f in range(0, n_whole, 4):
            r, s, t, u = A[a, f], A[a, f + 1], A[a, f + 2], A[a, f + 3]
            for i in range(B.shape[1]):
                out[a, i] += r * B[f, i] + s * B[f + 1, i] + t * B[f + 2, i] + u * B[f + 3, i]
        for f in range(n_whole, A.shape[1]):
            r = A[a, f]
            for i in range(B.shape[1]):
                out[a, i] += r * B[f, i]


@inner
def _transposed(Z):
    """Return the columns of a matrix as rows."""
    n, d = Z.shape
    T = np.empty((d, n))
    for first in range(0, n, ROWS_PER_BLOCK):  # all rows at once would need one line of the cache for each column
        for j in range(d):
            for i in range(first, min(first + ROWS_PER_BLOCK, n)):
                T[j, i] = Z[i, j]
    return T


@inner_reduction
def _four_dots(x, a, b, c, e):
    """Return the products of a vector with four others, which read it once."""
    r, s, t, u = 0.0, 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        r += x[i] * a[i]
        s += x[i] * b[i]
        t += x[i] * c[i]
        u += x[i] * e[i]
    return r, s, t, u


@inner
def scatter(T):
    """Return the products of all pairs of rows of `T`."""
    d = T.shape[0]
    S = np.empty((d, d))
    for j in range(d):
        k = j
        while k + 4 <= d:
            S[j, k], S[j, k + 1], S[j, k + 2], S[j, k + 3] = _four_dots(T[j], T[k], T[k + 1], T[k + 2], T[k + 3])
            k += 4
        while k < d:
            S[j, k] = dot(T[j], T[k])
            k += 1
        for k in range(j):
            S[j, k] = S[k, j]
    return S


@inner
def leading_components(Z, T, start):
    """Return orthonormal directions of large variance of centered rows, one per row, by subspace iteration.

    `T` has the columns of `Z` as rows. If the rows span fewer dimensions, the other directions are 0.
    """
    V, W = start.copy(), np.empty_like(start)
    n_vectors, d = V.shape
    n = Z.shape[0]
    has_scatter = n * d / 4 + N_ITERATIONS * n_vectors * d < 2 * N_ITERATIONS * n_vectors * n  # it is cheaper
    S = scatter(T) if has_scatter else np.empty((0, d))
    Y = np.empty((n_vectors, 0 if has_scatter else n))
    for _ in range(N_ITERATIONS):
        if has_scatter:
            multiply(V, S, W)
        else:
            multiply(V, T, Y)
            multiply(Y, Z, W)
        for a in range(n_vectors):
            rounding = OF_A_SUM * math.sqrt(dot(W[a], W[a]))
            for b in range(a):
                _add(W[a], -dot(W[a], V[b]), V[b])
            length = math.sqrt(dot(W[a], W[a]))
            _set(V[a], 1.0 / length if length > max(TINY, rounding) else 0.0, W[a])
    return V


@inner_reduction
def _square_distance(x, y):
    """Return the squared distance of two rows."""
    s = 0.0
    for f in range(x.shape[0]):
        s += (x[f] - y[f]) * (x[f] - y[f])
    return s


@inner
def _seeds(Y, k):
    """Return k rows that are drawn far apart with a fixed seed."""
    n, q = Y.shape
    means, nearest = np.empty((k, q)), np.empty(n)
    for i in range(n):
        nearest[i] = np.inf
    chosen, draw = 0, 1
    for c in range(k):
        _set(means[c], 1.0, Y[chosen])
        total = 0.0
        for i in range(n):
            nearest[i] = min(nearest[i], _square_distance(Y[i], means[c]))
            total += nearest[i]
        draw = (draw * 16807) % 2147483647  # the minimal standard generator
        target, chosen = draw / 2147483647 * total, 0
        while chosen < n - 1 and target > nearest[chosen]:
            target -= nearest[chosen]
            chosen += 1
    return means


@inner
def _first_least(table, added, tie, least, chosen):
    """Compute chosen[i] = the first row c whose added[c] - table[c, i] is the least, up to the tie; fills the table."""
    for i in range(table.shape[1]):
        least[i] = np.inf
    for c in range(table.shape[0]):
        more = added[c]
        for i in range(table.shape[1]):
            apart = more - table[c, i]
            table[c, i] = apart
            least[i] = apart if apart < least[i] else least[i]
    for i in range(table.shape[1]):
        least[i] += tie
    for c in range(table.shape[0] - 1, -1, -1):
        for i in range(table.shape[1]):
            chosen[i] = c if table[c, i] <= least[i] else chosen[i]


@inner
def small_k_means(Y, k):
    """Return means and sizes of k groups of rows, from starts that are drawn far apart with a fixed seed.

    Half the squared distance of a row y from a mean m is that from the origin, plus m · m / 2 - y · m. These numbers
    are computed for a block of rows at once. If they tie, the first mean has the row.
    """
    n, q = Y.shape
    n_blocks = -(-n // ROWS_PER_BLOCK)
    width = -(-n // n_blocks)
    means, sums, sizes, half_squares = _seeds(Y, k), np.empty((k, q)), np.zeros(k), np.empty(k)
    columns, products = np.zeros((n_blocks, q, width)), np.empty((k, width))
    least, chosen = np.empty(width), np.empty(width, np.int64)
    for i in range(width):
        chosen[i] = 0
    tie = 0.0
    for i in range(n):
        tie += ROUNDING * dot(Y[i], Y[i]) / n
        for f in range(q):
            columns[i // width, f, i % width] = Y[i, f]
    for _ in range(N_STEPS):
        for c in range(k):
            half_squares[c] = dot(means[c], means[c]) / 2
            sizes[c] = 0.0
            _clear(sums[c])
        for block in range(n_blocks):
            multiply(means, columns[block], products)
            _first_least(products, half_squares, tie, least, chosen)
            for i in range(block * width, min((block + 1) * width, n)):
                c = chosen[i - block * width]
                sizes[c] += 1.0
                _add(sums[c], 1.0, Y[i])
        for c in range(k):
            if sizes[c] > 0.0:
                _set(means[c], 1.0 / sizes[c], sums[c])
    return means, sizes


@inner
def differences(means, sizes, n_rows):
    """Return the mean of each group less the mean of all other rows, and less the nearest other mean."""
    k, q = means.shape
    counts, partner = np.empty(k, np.bool_), np.empty(k, np.int64)
    for c in range(k):
        partner[c] = -1
        counts[c] = FEWEST <= sizes[c] <= n_rows - FEWEST
    out, n_out = np.empty((2 * k, q)), 0
    for c in range(k):
        if counts[c]:
            for f in range(q):  # the rows are centered: all other rows sum to the negative of this group
                out[n_out, f] = means[c, f] * n_rows / (n_rows - sizes[c])
            n_out += 1
    for c in range(k):
        least = np.inf
        for other in range(k):
            if counts[c] and counts[other] and other != c:
                s = _square_distance(means[c], means[other])
                if s < least:
                    least, partner[c] = s, other
    for c in range(k):
        other = partner[c]
        if other >= 0 and not (other < c and partner[other] == c):
            for f in range(q):
                out[n_out, f] = means[c, f] - means[other, f]
            n_out += 1
    return out[:n_out]


@inner_reduction
def _powers(x):
    """Return the sums of the squares and of the fourth powers."""
    square, fourth = 0.0, 0.0
    for i in range(x.shape[0]):
        s = x[i] * x[i]
        square += s
        fourth += s * s
    return square, fourth


@inner
def striking_columns(T, n_columns):
    """Return the columns with the smallest and the largest kurtosis, half of them each.

    The columns, which are centered, are the rows of `T`.
    """
    d, n = T.shape
    if d <= n_columns:
        every = np.empty(d, np.int64)
        for j in range(d):
            every[j] = j
        return every
    kurtosis = np.empty(d)
    for j in range(d):
        square, fourth = _powers(T[j])
        kurtosis[j] = n * fourth / (square * square) if square > 0.0 else 3.0
    found = np.empty(2 * (n_columns // 2), np.int64)
    for k in range(found.shape[0]):  # the smallest and the largest one that are left, in turns
        sign, chosen = 1.0 if k % 2 == 0 else -1.0, -1
        for j in range(d):
            if not math.isnan(kurtosis[j]) and (chosen < 0 or is_less(sign * kurtosis[j], sign * kurtosis[chosen])):
                chosen = j
        found[k] = chosen
        kurtosis[chosen] = math.nan
    return found


@inner
def _length_of_sum(shares, V):
    """Return the length of a combination of the rows of `V`, which are orthonormal or 0."""
    square = 0.0
    for a in range(V.shape[0]):
        square += shares[a] * shares[a] * dot(V[a], V[a])
    return math.sqrt(square)


@inner
def _add_direction(Z, vector, directions, values, n_found):
    """Add the direction of a vector and the positions of the rows along it, if it has one; return the new number."""
    length = math.sqrt(dot(vector, vector))
    if length <= TINY:
        return n_found
    _set(directions[n_found], 1.0 / length, vector)
    project(Z, directions[n_found], values[n_found])
    return n_found + 1


@inner
def propose(Z, start, extra):
    """Return unit directions, one per row: columns, components, differences of means, and those of `extra`.

    The rows are centered. Their positions along the directions are returned as well.
    """
    n, d = Z.shape
    T = _transposed(Z)
    V = leading_components(Z, T, start)
    q = V.shape[0]
    along_V = np.empty((q, n))
    multiply(V, T, along_V)
    k = min(N_MEANS, n // ROWS_PER_MEAN)
    apart = np.empty((0, q))
    if k >= 2 and d > 1:
        means, sizes = small_k_means(_transposed(along_V), k)
        apart = differences(means, sizes, n)
    columns, n_components = striking_columns(T, N_COLUMNS), min(N_COMPONENTS, q)
    n_columns, n_shares = columns.shape[0], n_components + apart.shape[0]
    room = n_columns + n_shares + extra.shape[0]
    directions, values = np.zeros((room, d)), np.empty((room, n))
    for c in range(n_columns):
        directions[c, columns[c]] = 1.0
        _set(values[c], 1.0, T[columns[c]])
    shares, n_found = np.zeros((n_shares, q)), np.int64(0)
    for k in range(n_shares):  # combinations of the components, of which some are 0
        if k < n_components:
            shares[n_found, k] = 1.0
        else:
            _set(shares[n_found], 1.0, apart[k - n_components])
        length = _length_of_sum(shares[n_found], V)
        if length > TINY:
            _set(shares[n_found], 1.0 / length, shares[n_found])
            n_found += 1
    multiply(shares[:n_found], V, directions[n_columns:])
    multiply(shares[:n_found], along_V, values[n_columns:])
    n_found += n_columns
    for i in range(extra.shape[0]):
        n_found = _add_direction(Z, extra[i], directions, values, n_found)
    return directions[:n_found], values[:n_found]


@kernel
def rank(values, directions, steps, least_side, n_best, enough):
    """Return the directions with the strongest valleys, and these valleys; the strongest is first.

    Parameters
    ----------
    values, directions : ndarray of shape (n_directions, n_samples), ndarray of shape (n_directions, n_features)
        Positions of the rows along each direction, and the directions.
    steps : ndarray of shape (n_features,)
        Lattice steps of the columns.
    least_side : float
        Minimum share of the rows on either side of a valley.
    n_best : int
    enough : float
        Score of a valley that ends the search.

    Returns
    -------
    best : ndarray of shape (n_found, n_features)
    found : ndarray of shape (n_found, N_VALLEY)
    """
    n_directions, d = directions.shape
    valley, score = np.empty((n_directions, N_VALLEY)), np.zeros(n_directions)
    for k in range(n_directions - 1, -1, -1):  # the last ones are the most likely to have a valley
        s = 0.0
        for j in range(d):
            s += (directions[k, j] * steps[j]) ** 2
        _set(valley[k], 1.0, strongest(values[k], math.sqrt(s), least_side, np.int64(1)))
        score[k] = valley[k, SCORE]
        if score[k] >= enough:
            break
    best, found, n_found = np.empty((n_best, d)), np.empty((n_best, N_VALLEY)), 0
    while n_found < n_best:
        k = 0
        for other in range(n_directions):
            if is_less(score[k], score[other]):
                k = other
        if n_directions == 0 or score[k] == 0.0:
            break
        score[k] = 0.0
        is_new = True
        for m in range(n_found):
            is_new = is_new and abs(dot(directions[k], best[m])) < SAME
        if not is_new:
            continue
        _strengthen(valley[k], values[k], least_side, np.int64(1), MULTIPLES.shape[0])
        _set(best[n_found], 1.0, directions[k])
        _set(found[n_found], 1.0, valley[k])
        n_found += 1
    return best[:n_found], found[:n_found]


@kernel
def candidates(Z, is_apart, start, extra):
    """Propose directions, for `rank` to choose from.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        Rows.
    is_apart : ndarray of bool of shape (n_samples,)
        Rows that may be a group: the direction from all others to them is tried, too.
    start : ndarray of shape (n_components, n_features)
        Vectors from which the search for components starts.
    extra : ndarray of shape (n_directions, n_features)
        Further directions.

    Returns
    -------
    values : ndarray of shape (n_found, n_samples)
        Positions of the rows along each direction.
    directions : ndarray of shape (n_found, n_features)
    """
    n, d = Z.shape
    center, centered, n_apart = np.zeros(d), np.empty((n, d)), 0
    further = np.zeros((extra.shape[0] + 1, d))
    for i in range(n):
        _add(center, 1.0 / n, Z[i])
    for i in range(n):
        _set(centered[i], 1.0, Z[i])
        _add(centered[i], -1.0, center)
        if is_apart[i]:
            _add(further[0], 1.0, centered[i])  # the other rows sum to the negative
            n_apart += 1
    for k in range(extra.shape[0]):
        _set(further[k + 1], 1.0, extra[k])
    directions, values = propose(centered, start, further[0 if 0 < n_apart < n else 1 :])
    for k in range(directions.shape[0]):
        shift = dot(center, directions[k])
        for i in range(n):
            values[k, i] += shift
    return values, directions


# Improving a direction


@inner
def between_sides(Z, values, position):
    """Return the directions between the means of two sides: as it is, and in the metric of the rows within the sides.

    The second one solves a linear system with the covariance within the sides, by conjugate gradients. It is left out
    if there are few rows.
    """
    n, d = Z.shape
    total, means, sizes = np.zeros((2, d)), np.zeros((2, d)), np.zeros(2)
    trace = 0.0
    for i in range(n):
        side = 0 if values[i] < position else 1
        sizes[side] += 1.0
        _add(total[side], 1.0, Z[i])
        trace += dot(Z[i], Z[i]) / n
    for side in range(2):
        _set(means[side], 1.0 / sizes[side], total[side])
        trace -= sizes[side] / n * dot(means[side], means[side])
    directions = np.empty((2, d))
    _set(directions[0], 1.0, means[1])
    _add(directions[0], -1.0, means[0])
    if n <= ROWS_PER_COLUMN * d:
        return directions[:1]
    ridge = max(RIDGE * trace / d, 1e-12)
    solution, residual = np.zeros(d), directions[0].copy()
    step, out = residual.copy(), np.empty(d)
    square = first_square = dot(residual, residual)
    for _ in range(N_SOLVES):
        if not square > OF_A_SUM * first_square:
            break
        _set(out, ridge, step)
        for i in range(n):
            _add(out, dot(Z[i], step) / n, Z[i])
        for side in range(2):
            _add(out, -sizes[side] / n * dot(means[side], step), means[side])
        length = square / dot(step, out)
        _add(solution, length, step)
        _add(residual, -length, out)
        before, square = square, dot(residual, residual)
        _set(step, square / before, step)
        _add(step, 1.0, residual)
    _set(directions[1], 1.0, solution)
    return directions


@kernel
def turned(Z, values, position):
    """Return the positions of the rows along the directions of `between_sides`, and these as unit vectors."""
    n, d = Z.shape
    unit, positions, n_unit = np.empty((2, d)), np.empty((2, n)), np.int64(0)
    sides = between_sides(Z, values, position)
    for side in range(sides.shape[0]):
        n_unit = _add_direction(Z, sides[side], unit, positions, n_unit)
    return positions[:n_unit], unit[:n_unit]


def polish(Z, directions, found, steps, least_side, better):
    """Turn directions to where their valleys are stronger, in place.

    A direction between the sides of a valley replaces the one before it if its score is `better` times as large. This
    function is not compiled, since it would take a second copy of `rank`.
    """
    for k in range(len(directions)):
        for _ in range(N_POLISHES):
            values, position = along(Z, directions[k]), float(found[k, POSITION])
            if not 0 < np.count_nonzero(values < position) < len(Z):
                break
            positions, unit = turned(Z, values, position)
            best, valley = rank(positions, unit, steps, least_side, 1, math.inf)
            if len(valley) == 0 or valley[0, SCORE] <= better * found[k, SCORE]:
                break
            directions[k], found[k] = best[0], valley[0]


# Confirming a valley


@kernel
def counts_around(Z, directions, found):
    """Return the number of rows in the windows at each valley and at its two modes, along its direction."""
    counts, values = np.empty((directions.shape[0], 3)), np.empty(Z.shape[0])
    for k in range(directions.shape[0]):
        project(Z, directions[k], values)
        for m in range(3):
            center = found[k, POSITION + m]
            counts[k, m] = count_around(values, center, found[k, WINDOW], found[k, RESOLUTION])
    return counts
