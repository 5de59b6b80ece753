"""The minimum normalized cut hyperplane (Hofmeyr 2016, ch. 4): the direction and cut of least NCut.

Exact for few rows, O(n log n) for the sort; on a grid for many, O(n + bins), which finds the partition of the exact
objective to some hundredths of a percent of the rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Matrix, Moments, project
from ravine._ties import is_less
from ravine.cuts._cut import Cut
from ravine.cuts._density import Line, normal_reference
from ravine.cuts._pursuit import COARSE_ABOVE, Found, OnLine, Starts, cut_at, even_sample, pursue, search

EXACT_ROWS = 1000
"""Up to here the sums run over the rows themselves."""

BINS_PER_DEVIATION = 128

TOLERANCE = 4e-6
"""Decrease at which a search ends, in units of how much NCut varies; ten times as much changes partitions."""

MARGIN_SHRINK, MARGIN_STEPS, MARGIN_SIDE = 5.0, 12, 0.2
"""For the large margin σ is divided by the first number, at most so often; a side has the third share of the rows."""

LIMIT_SHRINK, LIMIT_STEPS, LIMIT_STILL, LIMIT_SCALE = 2.0, 30, 1e-5, 0.1
"""Then by this, at most so often, until the direction turns by less than the cosine 1 - third, and σ is less than the
fourth share of the root mean square distance of the rows to their mean."""

LOG_TOLERANCE = 1e-4
"""Decrease of log NCut at which a search ends."""


@dataclass(frozen=True)
class NormalizedCut:
    """NCut of projected rows as an objective of `ravine.cuts._pursuit`.

    Parameters
    ----------
    scale : float
        σ of the similarity exp(-distance / σ).
    step : float
        Distance of the grid points for more than `exact_rows` rows. The grid does not move with the direction.
    least : float, default=1
        Least weight on either side.
    exact_rows : int
    log : bool, default=False
        Give the logarithm of NCut, which has a slope also where NCut itself has all but vanished.
    """

    scale: float
    step: float
    least: float = 1.0
    exact_rows: int = EXACT_ROWS
    log: bool = False

    @property
    def tolerance(self) -> float:
        """Against how much NCut varies: less than 1 by about the deviation of the rows over σ, where σ is large."""
        if self.log:
            return LOG_TOLERANCE
        return TOLERANCE * min(BINS_PER_DEVIATION * self.step / self.scale, 1.0)

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Least NCut, where it is, and its derivatives by the values."""
        exact = len(values) <= self.exact_rows
        value, place, derivatives = self._exact(values, weights) if exact else self._binned(values, weights)
        if not self.log:
            return value, place, derivatives
        if not 0 < value < np.inf:
            return np.inf, place, derivatives
        return math.log(value), place, lambda: derivatives() / value

    def _exact(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        order = np.argsort(values, kind="stable")
        sorted_values, mass = values[order], weights[order]
        decay = np.append(np.exp(-np.diff(sorted_values) / self.scale), 0.0)
        potential, slope = np.zeros(len(mass)), np.zeros(len(mass))
        value, k = _kernels.ncut.best_cut(mass, decay, self.least, potential, slope)

        def derivatives() -> Floats:
            out = np.empty(len(values))
            out[order] = mass * slope / self.scale
            return out

        return value, float(sorted_values[k : k + 2].mean()) if k >= 0 else 0.0, derivatives

    def _binned(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        line = Line.around(values, self.step)
        value, place, potential = self._on_grid(line, line.bin(values, weights))
        return value, place, lambda: line.slopes(potential, values, weights)

    def on_line(self, line: Line, mass: Floats, deviation: float) -> OnLine:
        """Least NCut of weights on a grid, as `ravine.cuts._pursuit.LineObjective` asks for it."""
        value, place, potential = self._on_grid(line, mass)
        return OnLine(value, place, np.diff(potential) / line.step)

    def _on_grid(self, line: Line, mass: Floats) -> tuple[float, float, Floats]:
        decay = np.full(line.n_bins, math.exp(-line.step / self.scale))
        potential, slope = np.zeros(line.n_bins), np.zeros(line.n_bins)
        value, k = _kernels.ncut.best_cut(mass, decay, self.least, potential, slope)
        return value, line.low + (k + 0.5) * line.step, potential


def ncut_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    scale: float | Callable[[float, float], float],
    margin: bool = False,
    min_cluster_size: float = 1,
    rough: bool = False,
    n_jobs: int | None = None,
) -> Cut | None:
    """Cut of least NCut that is found from some starts.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    starts : Starts
    scale : float or callable ``(deviation, count) -> σ``
        Factor of σ = scale · deviation · count^(-1/5), `deviation` the standard deviation along the first start.
    margin : bool, default=False
        Shrink σ until the partition stands still, with a fifth of the rows on either side at least.
    min_cluster_size : float, default=1
        Least weight on either side.
    rough : bool, default=False
        Search a large node on a sample only; `finished_ncut` is to follow. Not with a margin.
    """
    rough = rough and X.shape[0] > COARSE_ABOVE and not margin
    best: Found | None = None
    objective: NormalizedCut | None = None
    for start in starts(X, weights, moments):
        if objective is None:
            values = project(X, start, n_jobs) - moments.mean @ start
            deviation = math.sqrt(weights @ values**2 / moments.count)
            count = moments.count
            sigma = scale(deviation, count) if callable(scale) else normal_reference(scale, deviation, count)
            if not deviation > 0:
                return None
            objective = NormalizedCut(float(sigma), deviation / BINS_PER_DEVIATION, least=min_cluster_size)
            if margin:
                least = max(MARGIN_SIDE * moments.count, min_cluster_size)
                objective = replace(objective, least=least, exact_rows=X.shape[0])
        if rough:
            sample = even_sample(X, weights, moments.mean, start, n_jobs)
            direction = search(*sample, moments.mean, objective, start, n_jobs).direction
            value, place, _ = objective(project(X, direction, n_jobs) - moments.mean @ direction, weights)
            found = Found(direction, value, place)
        else:
            found = pursue(X, weights, moments.mean, objective, start, n_jobs)
        if margin:
            found = _widen_margin(X, weights, moments, objective, found, n_jobs)
        if best is None or is_less(found.value, best.value):
            best = found
    if best is None or not np.isfinite(best.value):
        return None
    cut = cut_at(X, weights, moments, best, n_jobs)
    return replace(cut, rough=objective) if rough else cut


def finished_ncut(X: Matrix, weights: Floats, moments: Moments, cut: Cut, n_jobs: int | None = None) -> Cut:
    """The end of the search on all rows that begins at a rough cut."""
    return cut_at(X, weights, moments, search(X, weights, moments.mean, cut.rough, cut.normal, n_jobs), n_jobs)


def _widen_margin(
    X: Matrix, weights: Floats, moments: Moments, objective: NormalizedCut, found: Found, n_jobs: int | None
) -> Found:
    side = None
    for _ in range(MARGIN_STEPS):
        new_side = _left_of(X, moments, found, n_jobs)
        if side is not None and _same(side, new_side):
            break
        side = new_side
        objective = replace(objective, scale=objective.scale / MARGIN_SHRINK)
        narrower = pursue(X, weights, moments.mean, objective, found.direction, n_jobs)
        if not 0 < narrower.value < np.inf:  # similarities across the cut have vanished
            break
        found = narrower
    if X.shape[0] <= X.shape[1]:  # every partition has a margin then, and it means nothing
        return found
    return _at_the_limit(X, weights, moments, objective, found, n_jobs)


def _at_the_limit(
    X: Matrix, weights: Floats, moments: Moments, objective: NormalizedCut, found: Found, n_jobs: int | None
) -> Found:
    """Turn a cut to the largest margin of its partition: σ shrinks on until the direction stands still."""
    side = _left_of(X, moments, found, n_jobs)
    small = LIMIT_SCALE * math.sqrt(moments.sum_sq / moments.count)
    for _ in range(LIMIT_STEPS):
        objective = replace(objective, scale=objective.scale / LIMIT_SHRINK, log=True)
        narrower = pursue(X, weights, moments.mean, objective, found.direction, n_jobs)
        if not np.isfinite(narrower.value) or not _same(side, _left_of(X, moments, narrower, n_jobs)):
            break
        cosine = abs(narrower.direction @ found.direction)
        found = replace(narrower, value=math.exp(narrower.value))
        if cosine > 1 - LIMIT_STILL and objective.scale < small:
            break
    return found


def _left_of(X: Matrix, moments: Moments, found: Found, n_jobs: int | None) -> Bools:
    return np.asarray(project(X, found.direction, n_jobs) - moments.mean @ found.direction < found.place)


def _same(side: Bools, other: Bools) -> bool:
    return bool((side == other).all() or (side != other).all())
