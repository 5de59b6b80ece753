"""The minimum density on a line with a penalty away from its mean (Hofmeyr 2016, eq. 2.10), and its derivatives.

If rows have labels, a second penalty applies to rows on the wrong side (eq. 2.16). The line is searched on a grid, O(n
+ bins), and the minimum is refined between two grid points. The refinement uses the values themselves if they are few,
and the grid if they are many.
"""

import numpy as np

from ravine._kernels import bfgs
from ravine._kernels._compile import kernel
from ravine._kernels.density import bin_linear, slopes
from ravine._kernels.rows import dot, project, weighted_sum
from ravine._kernels.ties import middle_of_least


@kernel
def wrong_side(b, marks, pulls, margin):
    """Return Σ |pull| · distance² over the marks less than `margin` on their own side of b, and two derivatives by b.

    Marks with a positive pull belong above b, those with a negative pull below it. The distance is measured to where
    the mark would be `margin` on its own side.
    """
    value, first, second = 0.0, 0.0, 0.0
    for i in range(marks.shape[0]):
        side = 1.0 if pulls[i] > 0.0 else -1.0
        distance = side * (b - marks[i]) + margin
        if distance > 0.0:
            value += abs(pulls[i]) * distance * distance
            first += 2.0 * pulls[i] * distance
            second += 2.0 * abs(pulls[i])
    return value, first, second


@kernel
def wrong_side_on_grid(low, step, n_points, marks, pulls, margin):
    """Return the sum of `wrong_side` at low, low + step, …, in O(points + marks).

    The sum at each point continues that of its neighbor.
    """
    total = np.zeros(n_points)
    entering = np.empty((n_points, 3))  # Σ |pull|, Σ |pull| · distance and Σ |pull| · distance² of new marks
    side = 1.0
    for _ in range(2 if marks.shape[0] > 0 else 0):
        for k in range(n_points):
            entering[k, 0], entering[k, 1], entering[k, 2] = 0.0, 0.0, 0.0
        for i in range(marks.shape[0]):
            begins = (marks[i] - side * margin - low) / step
            if side < 0.0:
                begins = n_points - 1.0 - begins
            k = max(np.ceil(begins), 0.0)
            if pulls[i] * side > 0.0 and k < n_points:
                distance = step * (k - begins)
                entering[int(k), 0] += abs(pulls[i])
                entering[int(k), 1] += abs(pulls[i]) * distance
                entering[int(k), 2] += abs(pulls[i]) * distance * distance
        mass, moment, square = 0.0, 0.0, 0.0
        for k in range(n_points):
            square += step * (2.0 * moment + step * mass) + entering[k, 2]
            moment += step * mass + entering[k, 1]
            mass += entering[k, 0]
            total[k if side > 0.0 else n_points - 1 - k] += square
        side = -side
    return total


@kernel
def derivatives_at(b, positions, mass, bandwidth, bound, weight, power, marks, pulls, margin):
    """Return two derivatives by b of the density, the penalty outside the bound and the penalty of labeled rows.

    The function is Σ mass · exp(-(b - x)² / 2h²) / h + weight · max(0, |b| - bound)^power + `wrong_side`.
    """
    first, second = 0.0, 0.0
    for i in range(positions.shape[0]):
        u = (b - positions[i]) / bandwidth
        k = mass[i] * np.exp(-0.5 * u * u) / bandwidth
        first -= k * u / bandwidth
        second += k * (u * u - 1.0) / (bandwidth * bandwidth)
    over = abs(b) - bound
    if over > 0.0:
        first += np.sign(b) * weight * power * over ** (power - 1.0)
        second += weight * power * (power - 1.0) * over ** (power - 2.0)
    _, by_labels, twice_by_labels = wrong_side(b, marks, pulls, margin)
    return first + by_labels, second + twice_by_labels


@kernel
def refine(low, high, positions, mass, bandwidth, bound, weight, power, marks, pulls, margin):
    """Return the minimum between low and high, by Newton steps inside a bracket that bisection shrinks."""
    b = 0.5 * (low + high)
    for _ in range(60):
        first, second = derivatives_at(b, positions, mass, bandwidth, bound, weight, power, marks, pulls, margin)
        if first > 0.0:
            high = b
        else:
            low = b
        new = b - first / second if second > 0.0 else low - 1.0
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - b) <= 1e-12 * bandwidth or high - low <= 1e-12 * bandwidth:
            return new
        b = new
    return b


@kernel
def least_on_grid(
    mass, first, step, count, deviation, positions, weights,
    bandwidth, alpha, steepness, power, reach, marks, pulls, margin,
):  # fmt: skip
    """Find the minimum penalized density of weights on the grid points step · (first + k): (value, position, pull).

    Parameters
    ----------
    mass, first, step : ndarray, float, float
    count, deviation : float
        Total weight, and the standard deviation about zero.
    positions, weights : ndarray
        What the density near the minimum is summed over; if empty, the grid.
    marks, pulls, margin : ndarray, ndarray, float
        See `wrong_side`.
    bandwidth, alpha, steepness, power, reach : see `least`

    Returns
    -------
    value, position : float
    pull : float
        The derivative of the value by a value x is that of the density minus pull · w · x.
    """
    n_bins, low = mass.shape[0], first * step
    bound = alpha * deviation
    norm = 1.0 / (np.sqrt(2.0 * np.pi) * count)
    n_reach = int(reach * bandwidth / step)
    table = np.empty(2 * n_reach + 1)
    for k in range(2 * n_reach + 1):
        u = (k - n_reach) * (step / bandwidth)
        table[k] = np.exp(-0.5 * u * u) * (norm / bandwidth)
    padded = np.zeros(n_bins + 2 * n_reach)
    for k in range(n_bins):
        padded[n_reach + k] = mass[k]
    # No density exceeds 0.4 / h. `steepness` makes the penalty alone exceed this one bandwidth outside the bound, even
    # if labeled rows pull the cut outwards.
    middle, within = int(-first), int((bound + bandwidth) / step) + 1
    begin, end = max(middle - within, 0), min(middle + within + 1, n_bins)
    wrong = wrong_side_on_grid(low + begin * step, step, max(end - begin, 0), marks, pulls, margin)
    for k in range(begin, end):
        here = dot(padded[k : k + 2 * n_reach + 1], table)
        over = abs(low + k * step) - bound
        if over > 0.0:
            here += steepness * over**power
        wrong[k - begin] += here
    j = begin + middle_of_least(wrong) if end > begin else middle

    exact = positions.shape[0] > 0
    start, stop = (0, positions.shape[0]) if exact else (max(j - n_reach, 0), min(j + n_reach + 1, n_bins))
    near, masses = np.empty(stop - start), np.empty(stop - start)
    for k in range(start, stop):
        near[k - start] = positions[k] if exact else low + step * k
        masses[k - start] = norm * (weights[k] if exact else mass[k])
    position = low + j * step
    b = refine(position - step, position + step, near, masses, bandwidth, bound, steepness, power, marks, pulls, margin)
    over = max(abs(b) - bound, 0.0)
    value = steepness * over**power + wrong_side(b, marks, pulls, margin)[0]
    for i in range(near.shape[0]):
        u = (b - near[i]) / bandwidth
        value += masses[i] * np.exp(-0.5 * u * u) / bandwidth
    pull = 0.0
    if over > 0.0 and deviation > 0.0:
        pull = steepness * power * over ** (power - 1.0) * alpha / (count * deviation)
    return value, b, pull


@kernel
def least(values, w, bandwidth, alpha, steepness, power, grid_step, reach, max_bins, exact, labeled, pulls, margin):
    """Find the minimum penalized density of values with mean zero: (value, position, low, step, n_bins, pull).

    Parameters
    ----------
    alpha : float
        The penalty begins at this many standard deviations; it is `steepness` times the distance to the `power`.
    grid_step, reach, max_bins : float, float, int
        Step of the grid, number of bandwidths at which the kernel is truncated, and maximum number of grid points.
    exact : bool
        Sum over the values near the minimum, not over the grid.
    labeled, pulls, margin : ndarray of int, ndarray, float
        Indices of the labeled values, and the arguments of `wrong_side` for them.

    Returns
    -------
    value, position : float
    low, step, n_bins : the grid
    pull : float
        See `least_on_grid`.
    """
    count, square, lowest, highest = 0.0, 0.0, np.inf, -np.inf
    for i in range(values.shape[0]):
        count += w[i]
        square += w[i] * values[i] * values[i]
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    step = max(grid_step, (highest - lowest) / (max_bins - 4))
    first = np.floor(lowest / step) - 1.0
    low = first * step
    n_bins = int(np.ceil(highest / step) - first) + 2
    mass = bin_linear(values, w, low, step, n_bins)
    marks = np.empty(labeled.shape[0])
    for i in range(labeled.shape[0]):
        marks[i] = values[labeled[i]]
    n_exact = values.shape[0] if exact else 0
    value, b, pull = least_on_grid(
        mass, first, step, count, np.sqrt(square / count), values[:n_exact], w[:n_exact],
        bandwidth, alpha, steepness, power, reach, marks, pulls, margin,
    )  # fmt: skip
    return value, b, low, step, n_bins, pull


@kernel
def slopes_at(values, w, b, bandwidth, low, step, n_bins, pull, exact, labeled, pulls, margin):
    """Return the derivatives of the minimum penalized density by the values, from the results of `least`."""
    count = w.sum()
    norm = 1.0 / (np.sqrt(2.0 * np.pi) * count * bandwidth)
    potential = np.empty(n_bins)
    if not exact:
        for k in range(n_bins):
            u = (b - (low + step * k)) / bandwidth
            potential[k] = norm * np.exp(-0.5 * u * u)
        out = slopes(values, w, low, step, potential)
    else:
        out = np.empty(values.shape[0])
        for i in range(values.shape[0]):
            u = (b - values[i]) / bandwidth
            out[i] = w[i] * norm * u * np.exp(-0.5 * u * u) / bandwidth
    for i in range(values.shape[0]):
        out[i] -= pull * w[i] * values[i]
    for k in range(labeled.shape[0]):
        side = 1.0 if pulls[k] > 0.0 else -1.0
        distance = side * (b - values[labeled[k]]) + margin
        out[labeled[k]] -= 2.0 * pulls[k] * max(distance, 0.0)
    return out


@kernel
def search(
    X, w, mean, start, unit, tolerance,
    bandwidth, alpha, steepness, power, grid_step, reach, max_bins, exact, labeled, pulls, margin,
):  # fmt: skip
    """Run `ravine.cuts._pursuit.search` for the minimum penalized density in one call.

    Returns the direction, the value and the position. Distances are measured in `unit`; the other arguments are those
    of `least`.
    """
    n_columns = start.shape[0]
    values = np.empty(X.shape[0])
    none = n_columns - n_columns  # a literal 0 has a type of its own, which would compile everything a second time
    steps, changes, n_steps = np.empty((bfgs.MEMORY, n_columns)), np.empty((bfgs.MEMORY, n_columns)), none
    v, g, downhill = np.empty(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    direction, moved, change = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    for j in range(n_columns):
        v[j] = start[j]
    value, position, slope = np.inf, 0.0, 0.0
    small_decreases, n_iterations, n_shrinks, length = 0, 0, 0, 1.0
    while True:
        # Evaluate at v - length · downhill; the first time, this is the start itself.
        for j in range(n_columns):
            moved[j] = -length * downhill[j]
            direction[j] = v[j] + moved[j]
        norm = np.sqrt(dot(direction, direction))
        for j in range(n_columns):
            direction[j] /= norm
        project(X, direction, values)
        center = dot(mean, direction)
        for i in range(values.shape[0]):
            values[i] = (values[i] - center) / unit
        new_value, b, low, step, n_bins, pull = least(
            values, w, bandwidth, alpha, steepness, power, grid_step, reach, max_bins, exact, labeled, pulls, margin
        )
        if n_iterations > 0 and not new_value <= value + bfgs.SUFFICIENT * length * slope:
            n_shrinks += 1
            if n_shrinks < bfgs.MAX_SHRINKS:
                length *= bfgs.SHRINK
                continue
            if n_steps == 0:
                break
            n_steps = none  # the curvature was misleading: restart with steepest descent from here
        else:
            c = slopes_at(values, w, b, bandwidth, low, step, n_bins, pull, exact, labeled, pulls, margin)
            total = 0.0
            for i in range(c.shape[0]):
                c[i] /= unit
                total += c[i]
            new_g = weighted_sum(X, c)
            for j in range(n_columns):
                new_g[j] -= total * mean[j]
            along = dot(new_g, direction)
            for j in range(n_columns):
                new_g[j] = (new_g[j] - along * direction[j]) / norm
                change[j] = new_g[j] - g[j]
                g[j] = new_g[j]
                v[j] += moved[j]
            if n_iterations > 0:
                n_steps = bfgs.remember(moved, change, steps, changes, n_steps)
                small_decreases = small_decreases + 1 if value - new_value <= tolerance else 0
            value, position = new_value, b * unit
            if small_decreases == 2:
                break
        n_iterations += 1
        if n_iterations > bfgs.MAX_ITERATIONS or not np.isfinite(value):
            break
        downhill = bfgs.inverse_hessian_times(g, steps, changes, n_steps)
        slope = -dot(g, downhill)
        if not slope < 0.0:
            n_steps = none
            downhill = bfgs.inverse_hessian_times(g, steps, changes, n_steps)
            slope = -dot(g, downhill)
            if not slope < 0.0:
                break
        length, n_shrinks = 1.0, 0
    norm = np.sqrt(dot(v, v))
    for j in range(n_columns):
        v[j] /= norm
    return v, value, position
