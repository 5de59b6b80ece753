"""The minimum normalized cut hyperplane (Hofmeyr 2016, ch. 4): the direction and cut with the smallest NCut.

For few rows the objective is exact and costs a sort, O(n log n). For many rows it uses a grid, O(n + bins), and finds
the partition of the exact objective up to some hundredths of a percent of the rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Matrix, Moments, project
from ravine._ties import is_less
from ravine.cuts._along import COARSE_ABOVE, Along, deviation_along
from ravine.cuts._cut import Cut, RoughCut
from ravine.cuts._density import MAX_BINS, Line, normal_reference
from ravine.cuts._pursuit import (
    Found,
    OnLine,
    Starts,
    cut_along,
    cut_at,
    even_sample,
    look,
    pursue,
    search,
)

EXACT_ROWS = 1000
"""Up to this many rows, the sums run over the rows themselves."""

BINS_PER_DEVIATION = 128

TOLERANCE = 4e-6
"""A search ends at this decrease, in units of how much NCut varies; a value ten times larger changes partitions."""

MARGIN_SHRINK, MARGIN_STEPS, MARGIN_SIDE = 5.0, 12, 0.2
"""The large-margin search divides σ by the first number, at most the second number of times. The third number is the
minimum share of the rows on a side."""

LIMIT_SHRINK, LIMIT_STEPS, LIMIT_STILL, LIMIT_SCALE = 2.0, 30, 1e-5, 0.1
"""After that, σ is divided by the first number, at most the second number of times. This ends when the cosine between
two directions exceeds 1 minus the third number and σ is below the fourth number times the root mean square distance of
the rows to their mean."""

LOG_TOLERANCE = 1e-4
"""A search ends when log NCut decreases by less than this."""


@dataclass(frozen=True)
class NormalizedCut:
    """NCut of projected rows, as an objective for `ravine.cuts._pursuit`.

    Parameters
    ----------
    scale : float
        σ of the similarity exp(-distance / σ).
    step : float
        Distance between grid points for more than `exact_rows` rows. The grid does not move with the direction.
    least : float, default=1
        Minimum weight on either side.
    exact_rows : int
    log : bool, default=False
        Return the logarithm of NCut, which has a slope even where NCut itself has almost vanished.
    """

    scale: float
    step: float
    least: float = 1.0
    exact_rows: int = EXACT_ROWS
    log: bool = False

    @property
    def tolerance(self) -> float:
        """Tolerance relative to the range of NCut.

        For large σ, NCut is below 1 by about the deviation of the rows over σ.
        """
        if self.log:
            return LOG_TOLERANCE
        return TOLERANCE * min(BINS_PER_DEVIATION * self.step / self.scale, 1.0)

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return the minimum NCut, its position, and its derivatives with respect to the values."""
        exact = len(values) <= self.exact_rows
        value, position, derivatives = self._exact(values, weights) if exact else self._binned(values, weights)
        if not self.log:
            return value, position, derivatives
        if not 0 < value < np.inf:
            return np.inf, position, derivatives
        return math.log(value), position, lambda: derivatives() / value

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
        value, position, potential = self._on_grid(line, line.bin(values, weights))
        return value, position, lambda: line.slopes(potential, values, weights)

    def search_block(self, X: Floats, weights: Floats, mean: Floats, descent: Any) -> tuple[Floats, float, float]:
        """Search in one compiled call; see `ravine.cuts._pursuit.CompiledObjective`."""
        settings = _kernels.ncut.Settings(self.scale, self.step, float(self.least), MAX_BINS, self.exact_rows, self.log)
        order = np.arange(len(weights))
        found: tuple[Floats, float, float] = _kernels.ncut.search(X, weights, mean, descent, settings, order)
        return found

    def reads_line(self, n_rows: int) -> bool:
        """See `ravine.cuts._pursuit.LineObjective`."""
        return n_rows > self.exact_rows and not self.log

    def on_line(self, line: Line, mass: Floats, deviation: float) -> OnLine:
        """Return the minimum NCut of weights on a grid; see `ravine.cuts._pursuit.LineObjective`."""
        value, position, potential = self._on_grid(line, mass)
        return OnLine(value, position, np.diff(potential) / line.step)

    def _on_grid(self, line: Line, mass: Floats) -> tuple[float, float, Floats]:
        decay = np.full(line.n_bins, math.exp(-line.step / self.scale))
        potential, slope = np.zeros(line.n_bins), np.zeros(line.n_bins)
        value, k = _kernels.ncut.best_cut(mass, decay, self.least, potential, slope)
        return value, line.low + (k + 0.5) * line.step, potential


NCutState = tuple[NormalizedCut, Any]
"""What a search on all rows continues from: the objective, and the descent of the search on a sample."""


def ncut_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    scale: float | Callable[[float, float], float],
    margin: bool = False,
    min_cluster_size: float = 1,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut with the smallest NCut over several starts.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    starts : Starts
    scale : float or callable ``(deviation, count) -> σ``
        Factor in σ = scale · deviation · count^(-1/5), where `deviation` is the standard deviation along the first
        start.
    margin : bool, default=False
        Shrink σ until the partition no longer changes, with at least a fifth of the rows on either side.
    min_cluster_size : float, default=1
        Minimum weight on either side.
    """
    best: Found | None = None
    objective: NormalizedCut | None = None
    for start in starts(X, weights, moments):
        if objective is None:
            objective = _objective(X, weights, moments, start, scale, min_cluster_size, n_jobs)
            if objective is None:
                return None
            if margin:
                least = max(MARGIN_SIDE * moments.count, min_cluster_size)
                objective = replace(objective, least=least, exact_rows=X.shape[0])
        found = pursue(X, weights, moments.mean, objective, start, n_jobs)
        if margin:
            found = _widen_margin(X, weights, moments, objective, found, n_jobs)
        if best is None or is_less(found.value, best.value):
            best = found
    if best is None or not np.isfinite(best.value):
        return None
    return cut_at(X, weights, moments, best, n_jobs)


def rough_ncut_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    scale: float | Callable[[float, float], float],
    min_cluster_size: float = 1,
    n_jobs: int | None = None,
) -> Cut | RoughCut[NCutState] | None:
    """Find the cut of `ncut_cut`, but search a large node on a sample only.

    `finished_ncut` continues the search of a rough cut.
    """
    if X.shape[0] <= COARSE_ABOVE:
        return ncut_cut(
            X, weights, moments, starts=starts, scale=scale, min_cluster_size=min_cluster_size, n_jobs=n_jobs
        )
    objective: NormalizedCut | None = None
    best: tuple[Found, Along, tuple[Matrix, Floats], Any] | None = None
    for start in starts(X, weights, moments):
        if objective is None:
            objective = _objective(X, weights, moments, start, scale, min_cluster_size, n_jobs)
            if objective is None:
                return None
        sample = even_sample(X, weights, moments.mean, start, n_jobs)
        on_sample = search(*sample, moments.mean, objective, start, n_jobs)
        found, along = look(X, weights, moments.mean, objective, on_sample.direction, n_jobs)
        if best is None or is_less(found.value, best[0].value):
            best = found, along, sample, on_sample.descent
    if best is None or objective is None or not np.isfinite(best[0].value):
        return None
    found, along, sample, descent = best
    return RoughCut(cut_along(found, moments, *along.points()), (objective, descent), sample)


def finished_ncut(
    X: Matrix, weights: Floats, moments: Moments, rough: RoughCut[NCutState], n_jobs: int | None = None
) -> Cut:
    """Continue the search on all rows from a rough cut to its end."""
    objective, descent = rough.state
    found = search(X, weights, moments.mean, objective, rough.cut.normal, n_jobs, descent)
    return cut_at(X, weights, moments, found, n_jobs)


def _objective(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    start: Floats,
    scale: float | Callable[[float, float], float],
    min_cluster_size: float,
    n_jobs: int | None,
) -> NormalizedCut | None:
    """Return the objective for the first start; None if the rows do not vary along it."""
    deviation, count = deviation_along(X, weights, moments, start, n_jobs), moments.count
    if not deviation > 0:
        return None
    sigma = scale(deviation, count) if callable(scale) else normal_reference(scale, deviation, count)
    return NormalizedCut(float(sigma), deviation / BINS_PER_DEVIATION, least=min_cluster_size)


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
        if not 0 < narrower.value < np.inf:  # the similarities across the cut have vanished
            break
        found = narrower
    if X.shape[0] <= X.shape[1]:  # then every partition has a margin, and a large one means nothing
        return found
    return _at_the_limit(X, weights, moments, objective, found, n_jobs)


def _at_the_limit(
    X: Matrix, weights: Floats, moments: Moments, objective: NormalizedCut, found: Found, n_jobs: int | None
) -> Found:
    """Rotate a cut to the largest margin of its partition: shrink σ until the direction no longer changes."""
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
    return np.asarray(project(X, found.direction, n_jobs) - moments.mean @ found.direction < found.position)


def _same(side: Bools, other: Bools) -> bool:
    return bool((side == other).all() or (side != other).all())
