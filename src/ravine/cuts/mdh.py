"""The minimum density hyperplane (Hofmeyr 2016, ch. 2): the direction and cut of least projected density.

A penalty keeps the cut within α standard deviations of the mean. α grows, each search starting where the last one
ended, and the last cut that is a minimum of the density itself is kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ravine import kernels
from ravine.cuts._cut import Cut
from ravine.cuts.density import REACH, Line, normal_bandwidth, projected_density, relative_depth_at
from ravine.cuts.pursuit import Starts, pursue
from ravine.cuts.valley import strongest_valley
from ravine.matrix import Floats, Matrix, Moments, project

EXACT_ROWS = 1000
"""Up to here the density near the cut is summed over the rows themselves."""

STEPS_PER_BANDWIDTH = 8

POWER, OUTSIDE = 1.5, 0.1
"""1 + ε of eq. 2.10, and η in units of the bandwidth: a minimum lies at most so far outside the bound."""

RESCUE_BANDWIDTH = 1.06
"""Factor of the bandwidth with which a line is searched for a valley where the bound stopped every search."""

MARGIN_SHRINK, MARGIN_STEPS = 2.0, 12
"""For the large margin the bandwidth is divided by the first number, at most so often."""


@dataclass(frozen=True)
class PenalisedDensity:
    """Least penalised density of projected rows as an objective of `ravine.cuts.pursuit`.

    Parameters
    ----------
    bandwidth : float
    alpha : float
        Bound of the cut, in standard deviations of the projected rows.
    exact_rows : int
    """

    bandwidth: float
    alpha: float
    exact_rows: int = EXACT_ROWS

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Least penalised density, where it is, and its derivatives by the values."""
        h, count = self.bandwidth, weights.sum()
        norm = 1.0 / (math.sqrt(2 * math.pi) * count)
        deviation = math.sqrt(weights @ values**2 / count)
        bound = self.alpha * deviation
        steepest = 1.0 / (math.sqrt(2 * math.pi * math.e) * h * h)  # the slope of no density exceeds this
        weight = steepest / (OUTSIDE * h) ** (POWER - 1)

        line = Line.around(values, h / STEPS_PER_BANDWIDTH)
        mass, grid = line.bin(values, weights), line.grid()
        reach = int(REACH * h / line.step) + 1
        kernel = np.exp(-0.5 * (np.arange(reach) * (line.step / h)) ** 2) * (norm / h)
        penalised = kernels.density.smooth(mass, kernel) + weight * np.maximum(np.abs(grid) - bound, 0) ** POWER
        j = int(penalised.argmin())

        exact = len(values) <= self.exact_rows
        near = slice(max(j - reach, 0), j + reach + 1)
        positions, masses = (values, weights * norm) if exact else (grid[near], mass[near] * norm)
        b = kernels.penalty.refine(grid[j] - line.step, grid[j] + line.step, positions, masses, h, bound, weight, POWER)
        over = max(abs(b) - bound, 0.0)
        value = float(masses @ np.exp(-0.5 * ((b - positions) / h) ** 2) / h + weight * over**POWER)

        def derivatives() -> Floats:
            if exact:
                u = (b - values) / h
                out = masses * u * np.exp(-0.5 * u * u) / (h * h)
            else:
                out = line.slopes(norm * np.exp(-0.5 * ((b - grid) / h) ** 2) / h, values, weights)
            if over > 0 and deviation > 0:  # the bound moves with the deviation
                out -= weight * POWER * over ** (POWER - 1) * self.alpha * weights * values / (count * deviation)
            return out

        return value, float(b), derivatives


def minimum_density_cut(
    X: Matrix,
    weights: Floats,
    about: Moments,
    *,
    starts: Starts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    margin: bool = False,
    n_jobs: int | None = None,
) -> Cut | None:
    """Cut of least density found from some starts, the one with the deepest valley.

    Parameters
    ----------
    X, weights, about : rows of the node, their weights and moments
    starts : Starts
    bandwidth : float or callable ``(deviation, count) -> h``
        Factor of h = bandwidth · deviation · count^(-1/5), `deviation` the standard deviation along the first start.
    alphas : sequence of float
        Bounds of the cut, from small to large.
    margin : bool, default=False
        Shrink the bandwidth until the partition stands still.
    """
    best: Cut | None = None
    h = 0.0
    for start in starts(X, weights, about):
        if not h:
            values = project(X, start, n_jobs) - about.mean @ start
            h = normal_bandwidth(values, weights, 1.0 if callable(bandwidth) else bandwidth)
            if not h > 0:
                return None
            if callable(bandwidth):
                h = float(bandwidth(math.sqrt(weights @ values**2 / about.count), about.count))
        cut = _follow(X, weights, about, h, start, alphas, n_jobs)
        if margin:
            cut = _widen_margin(X, weights, about, h, cut, alphas, n_jobs)
        if best is None or cut.relative_depth > best.relative_depth:
            best = cut
    return best


def _follow(
    X: Matrix, weights: Floats, about: Moments, h: float, start: Floats, alphas: Sequence[float], n_jobs: int | None
) -> Cut:
    """Cut at the end of the path of α that begins at `start`."""
    direction, kept = start, None
    for alpha in alphas:
        found = pursue(X, weights, about.mean, PenalisedDensity(h, alpha), direction, n_jobs)
        direction = found.direction
        values = project(X, direction, n_jobs) - about.mean @ direction
        is_minimum = abs(found.place) < alpha * math.sqrt(weights @ values**2 / about.count)
        if kept is None or is_minimum:
            kept, kept_values, kept_is_minimum = found, values, is_minimum
    assert kept is not None
    place = kept.place
    if not kept_is_minimum:  # the bound stopped every search: look at the whole line
        valley = strongest_valley(kept_values, weights, RESCUE_BANDWIDTH)
        place = kept.place if valley is None else valley.place
    along = projected_density(kept_values, weights, h)
    offset = float(place + about.mean @ kept.direction)
    depth = relative_depth_at(place, kept_values, weights, along)
    return Cut(kept.direction, offset, float(along.density[along.index(place)]), depth)


def _widen_margin(
    X: Matrix, weights: Floats, about: Moments, h: float, cut: Cut, alphas: Sequence[float], n_jobs: int | None
) -> Cut:
    side = cut.goes_left(X, n_jobs)
    for _ in range(MARGIN_STEPS):
        h /= MARGIN_SHRINK
        narrower = _follow(X, weights, about, h, cut.normal, alphas[-1:], n_jobs)
        new_side = narrower.goes_left(X, n_jobs)
        stands_still = (new_side == side).all() or (new_side != side).all()
        cut, side = narrower, new_side
        if stands_still:
            break
    return cut
