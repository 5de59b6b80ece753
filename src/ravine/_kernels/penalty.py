"""The minimum density on a line with a penalty away from its mean (Hofmeyr 2016, eq. 2.10), and its derivatives.

If rows have labels, a second penalty applies to rows on the wrong side (eq. 2.16). The line is searched on a grid, O(n
+ bins), and the minimum is refined between two grid points. The refinement uses the values themselves if they are few,
and the grid if they are many. Without labeled rows, `labels` is None, and what labels need is not compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from ravine._kernels import bfgs
from ravine._kernels._compile import inner, kernel
from ravine._kernels.density import bin_linear, slopes
from ravine._kernels.pursuit import aim, gradient_by_trial, project_centered
from ravine._kernels.rows import dot
from ravine._kernels.ties import middle_of_least
from ravine._ties import ROUNDING


class Settings(NamedTuple):
    """Constants of a search for the minimum penalized density.

    Attributes
    ----------
    bandwidth : float
    alpha : float
        The penalty begins at this many standard deviations.
    steepness, power : float
        The penalty is `steepness` times the distance to the `power`.
    grid_step, reach : float
        Step of the grid, and number of bandwidths at which the kernel is truncated.
    max_bins : int
        Maximum number of grid points.
    exact_rows : int
        Up to this many values, the density near the minimum is summed over the values, not over the grid.
    """

    bandwidth: float
    alpha: float
    steepness: float
    power: float
    grid_step: float
    reach: float
    max_bins: int
    exact_rows: int


class Labels(NamedTuple):
    """Labeled rows.

    Attributes
    ----------
    rows : ndarray of int
        Their indices.
    pulls : ndarray
        Rows with a positive pull belong above the cut, those with a negative pull below it.
    margin : float
        Distance to the cut that a row should have on its own side.
    """

    rows: Any
    pulls: Any
    margin: float


class Points(NamedTuple):
    """What the density near its minimum is summed over: rows, or grid points.

    Attributes
    ----------
    positions, masses : ndarray
    spacing : float
        Distance between grid points; 0 for rows.
    bells : ndarray
        Space for the result of `fill_bells`.
    """

    positions: Any
    masses: Any
    spacing: float
    bells: Any


class Least(NamedTuple):
    """The minimum penalized density of some values.

    Attributes
    ----------
    value, position : float
    pull : float
        The derivative of the value by a value x is that of the density minus pull · w · x.
    low, step, n_bins : float, float, int
        The grid that was searched.
    """

    value: float
    position: float
    pull: float
    low: float
    step: float
    n_bins: int


@inner
def wrong_side(b, marks, labels):
    """Return Σ |pull| · distance² over the marks less than the margin on their own side of b, and two derivatives by b.

    The marks are the positions of the labeled rows on the line. The distance is measured to where the mark would be the
    margin on its own side.
    """
    pulls = labels.pulls
    value, first, second = 0.0, 0.0, 0.0
    for i in range(marks.shape[0]):
        side = 1.0 if pulls[i] > 0.0 else -1.0
        distance = side * (b - marks[i]) + labels.margin
        if distance > 0.0:
            value += abs(pulls[i]) * distance * distance
            first += 2.0 * pulls[i] * distance
            second += 2.0 * abs(pulls[i])
    return value, first, second


@inner
def wrong_side_on_grid(low, step, n_points, marks, labels):
    """Return the sum of `wrong_side` at low, low + step, …, in O(points + marks).

    The sum at each point continues that of its neighbor.
    """
    pulls = labels.pulls
    total = np.zeros(n_points)
    entering = np.empty((n_points, 3))  # Σ |pull|, Σ |pull| · distance and Σ |pull| · distance² of new marks
    side = 1.0
    for _ in range(2 if marks.shape[0] > 0 else 0):
        for k in range(n_points):
            entering[k, 0], entering[k, 1], entering[k, 2] = 0.0, 0.0, 0.0
        for i in range(marks.shape[0]):
            begins = (marks[i] - side * labels.margin - low) / step
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


@inner
def fill_bells(b, low, step, bandwidth, out):
    """Compute out[k] = exp(-(b - x)² / 2h²) at the grid points x = low + step · k.

    Only the point nearest to b takes an exponential. Away from it, each value is the one before times a ratio, which
    shrinks by the same factor with each step.
    """
    last, ratio = out.shape[0] - 1, step / bandwidth
    nearest = int(min(max((b - low) / step + 0.5, 0.0), float(last)))
    away = (low + step * nearest - b) / bandwidth
    top, shrink = np.exp(-0.5 * away * away), np.exp(-ratio * ratio)
    out[nearest] = top
    bell, factor = top, np.exp(-ratio * (away + 0.5 * ratio))
    for k in range(nearest + 1, last + 1):
        bell *= factor
        factor *= shrink
        out[k] = bell
    bell, factor = top, np.exp(-ratio * (0.5 * ratio - away))
    for k in range(nearest - 1, -1, -1):
        bell *= factor
        factor *= shrink
        out[k] = bell


@inner
def fill_bells_of_points(b, points, bandwidth):
    """Compute bells[i] = exp(-(b - x)² / 2h²) at the position x of each point."""
    if points.spacing > 0.0:
        fill_bells(b, points.positions[0], points.spacing, bandwidth, points.bells)
        return
    for i in range(points.positions.shape[0]):
        u = (b - points.positions[i]) / bandwidth
        points.bells[i] = np.exp(-0.5 * u * u)


@inner
def derivatives_at(b, points, bound, settings, marks, labels):
    """Return two derivatives by b of the density, the penalty outside the bound and the penalty of labeled rows.

    The function is Σ mass · exp(-(b - x)² / 2h²) / h + steepness · max(0, |b| - bound)^power + `wrong_side`.
    """
    bandwidth, power = settings.bandwidth, settings.power
    first, second = 0.0, 0.0
    fill_bells_of_points(b, points, bandwidth)
    for i in range(points.positions.shape[0]):
        u = (b - points.positions[i]) / bandwidth
        k = points.masses[i] * points.bells[i] / bandwidth
        first -= k * u / bandwidth
        second += k * (u * u - 1.0) / (bandwidth * bandwidth)
    over = abs(b) - bound
    if over > 0.0:
        first += np.sign(b) * settings.steepness * power * over ** (power - 1.0)
        second += settings.steepness * power * (power - 1.0) * over ** (power - 2.0)
    if labels is not None:
        _, by_labels, twice_by_labels = wrong_side(b, marks, labels)
        first += by_labels
        second += twice_by_labels
    return first, second


@inner
def refine(low, high, points, bound, settings, marks, labels):
    """Return the minimum between low and high, by Newton steps inside a bracket that bisection shrinks."""
    b = 0.5 * (low + high)
    for _ in range(60):
        first, second = derivatives_at(b, points, bound, settings, marks, labels)
        if first > 0.0:
            high = b
        else:
            low = b
        new = b - first / second if second > 0.0 else low - 1.0
        # Away from the bound, the error after a Newton step is about the square of the step.
        enough = 1e-12 if abs(b) >= bound or abs(new) >= bound else 1e-7
        if not low < new < high:
            new, enough = 0.5 * (low + high), 1e-12
        if abs(new - b) <= enough * settings.bandwidth or high - low <= 1e-12 * settings.bandwidth:
            return new
        b = new
    return b


@inner
def least_on_grid(mass, first, step, count, deviation, positions, weights, settings, marks, labels):
    """Find the minimum penalized density of weights on the grid points step · (first + k): (value, position, pull).

    Parameters
    ----------
    mass, first, step : ndarray, float, float
    count, deviation : float
        Total weight, and the standard deviation about zero.
    positions, weights : ndarray
        What the density near the minimum is summed over; if empty, the grid.
    settings : Settings
    marks, labels : ndarray, Labels or None
        Positions of the labeled rows.

    Returns
    -------
    value, position, pull : float
        See `Least`.
    """
    bandwidth, steepness, power = settings.bandwidth, settings.steepness, settings.power
    n_bins, low = mass.shape[0], first * step
    bound = settings.alpha * deviation
    norm = 1.0 / (np.sqrt(2.0 * np.pi) * count)
    # Rounding must not decide about a point at the end of the kernel: the reach is often a multiple of the step.
    n_reach = int(settings.reach * bandwidth / step + ROUNDING)
    table = np.empty(2 * n_reach + 1)
    fill_bells(0.0, -n_reach * step, step, bandwidth, table)
    for k in range(2 * n_reach + 1):
        table[k] *= norm / bandwidth
    padded = np.zeros(n_bins + 2 * n_reach)
    for k in range(n_bins):
        padded[n_reach + k] = mass[k]
    # No density exceeds 0.4 / h. `steepness` makes the penalty alone exceed this one bandwidth outside the bound, even
    # if labeled rows pull the cut outwards.
    middle, within = int(-first), int((bound + bandwidth) / step) + 1
    begin, end = max(middle - within, 0), min(middle + within + 1, n_bins)
    if labels is not None:
        wrong = wrong_side_on_grid(low + begin * step, step, max(end - begin, 0), marks, labels)
    else:
        wrong = np.zeros(max(end - begin, 0))
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
    points = Points(near, masses, 0.0 if exact else step, np.empty(stop - start))
    position = low + j * step
    b = refine(position - step, position + step, points, bound, settings, marks, labels)
    over = max(abs(b) - bound, 0.0)
    value = steepness * over**power
    if labels is not None:
        value += wrong_side(b, marks, labels)[0]
    fill_bells_of_points(b, points, bandwidth)
    for i in range(near.shape[0]):
        value += masses[i] * points.bells[i] / bandwidth
    pull = 0.0
    if over > 0.0 and deviation > 0.0:
        pull = steepness * power * over ** (power - 1.0) * settings.alpha / (count * deviation)
    return value, b, pull


@inner
def least(values, w, settings, labels):
    """Find the minimum penalized density of values with mean zero, as a `Least`."""
    count, square, lowest, highest = 0.0, 0.0, np.inf, -np.inf
    for i in range(values.shape[0]):
        count += w[i]
        square += w[i] * values[i] * values[i]
        lowest, highest = min(lowest, values[i]), max(highest, values[i])
    step = max(settings.grid_step, (highest - lowest) / (settings.max_bins - 4))
    first = np.floor(lowest / step) - 1.0
    low = first * step
    n_bins = int(np.ceil(highest / step) - first) + 2
    mass = bin_linear(values, w, low, step, n_bins)
    n_marks = 0
    if labels is not None:
        n_marks = labels.rows.shape[0]
    marks = np.empty(n_marks)
    if labels is not None:
        for i in range(n_marks):
            marks[i] = values[labels.rows[i]]
    n_exact = values.shape[0] if values.shape[0] <= settings.exact_rows else 0
    value, b, pull = least_on_grid(
        mass, first, step, count, np.sqrt(square / count), values[:n_exact], w[:n_exact], settings, marks, labels
    )
    return Least(value, b, pull, low, step, n_bins)


@inner
def slopes_at(values, w, found, settings, labels):
    """Return the derivatives of the minimum penalized density by the values, from the result of `least`."""
    b, bandwidth = found.position, settings.bandwidth
    count = 0.0
    for i in range(w.shape[0]):
        count += w[i]
    norm = 1.0 / (np.sqrt(2.0 * np.pi) * count * bandwidth)
    if values.shape[0] > settings.exact_rows:
        potential = np.empty(found.n_bins)
        fill_bells(b, found.low, found.step, bandwidth, potential)
        for k in range(found.n_bins):
            potential[k] *= norm
        out = slopes(values, w, found.low, found.step, potential)
    else:
        out = np.empty(values.shape[0])
        for i in range(values.shape[0]):
            u = (b - values[i]) / bandwidth
            out[i] = w[i] * norm * u * np.exp(-0.5 * u * u) / bandwidth
    for i in range(values.shape[0]):
        out[i] -= found.pull * w[i] * values[i]
    if labels is not None:
        pulls = labels.pulls
        for k in range(pulls.shape[0]):
            side = 1.0 if pulls[k] > 0.0 else -1.0
            distance = side * (b - values[labels.rows[k]]) + labels.margin
            out[labels.rows[k]] -= 2.0 * pulls[k] * max(distance, 0.0)
    return out


@kernel
def search(X, w, mean, descent, unit, settings, labels):
    """Run `ravine.cuts._pursuit.search` for the minimum penalized density in one call.

    Returns the direction, the value and the position. `settings` and `labels` measure distances in `unit`.
    """
    direction, values = np.empty(X.shape[1]), np.empty(X.shape[0])
    trial, point = descent.vectors[bfgs.TRIAL], descent.vectors[bfgs.POINT]
    value, position, answer = np.inf, 0.0, bfgs.ASK_VALUE
    while answer == bfgs.ASK_VALUE:
        length = aim(trial, direction)
        project_centered(X, direction, mean, unit, values)
        found = least(values, w, settings, labels)
        answer = bfgs.tell_value(descent, found.value)
        if answer == bfgs.ASK_GRADIENT or answer == bfgs.ENDS_AT_TRIAL:
            value, position = found.value, found.position * unit
        if answer == bfgs.ASK_GRADIENT:
            by_value = slopes_at(values, w, found, settings, labels)
            answer = bfgs.tell_gradient(descent, gradient_by_trial(X, by_value, mean, direction, length * unit))
    aim(point, direction)
    return direction, value, position
