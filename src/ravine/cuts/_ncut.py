"""The minimum normalized cut hyperplane (Hofmeyr 2016, ch. 4): the direction and cut with the smallest NCut.

For few rows the objective is exact and costs a sort, O(n log n). For many rows it uses a grid, O(n + bins), and finds
the partition of the exact objective up to some hundredths of a percent of the rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, Matrix, Moments, project
from ravine._ties import is_less
from ravine.cuts._cut import Cut, RoughCut
from ravine.cuts._density import Line, normal_reference
from ravine.cuts._pursuit import COARSE_ABOVE, Found, OnLine, Starts, cut_at, even_sample, pursue, search

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

    def on_line(self, line: Line, mass: Floats, deviation: float) -> OnLine:
        """Return the minimum NCut of weights on a grid; see `ravine.cuts._pursuit.LineObjective`."""
        value, position, potential = self._on_grid(line, mass)
        return OnLine(value, position, np.diff(potential) / line.step)

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
    found = _best_found(X, weights, moments, starts, scale, margin, min_cluster_size, False, n_jobs)
    return None if found is None else cut_at(X, weights, moments, found[0], n_jobs)


def rough_ncut_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    scale: float | Callable[[float, float], float],
    min_cluster_size: float = 1,
    n_jobs: int | None = None,
) -> Cut | RoughCut[NormalizedCut] | None:
    """Find the cut of `ncut_cut`, but search a large node on a sample only.

    `finished_ncut` continues the search of a rough cut.
    """
    rough = X.shape[0] > COARSE_ABOVE
    found = _best_found(X, weights, moments, starts, scale, False, min_cluster_size, rough, n_jobs)
    if found is None:
        return None
    cut = cut_at(X, weights, moments, found[0], n_jobs)
    return RoughCut(cut, found[1]) if rough else cut


def finished_ncut(
    X: Matrix, weights: Floats, moments: Moments, rough: RoughCut[NormalizedCut], n_jobs: int | None = None
) -> Cut:
    """Continue the search on all rows from a rough cut to its end."""
    found = search(X, weights, moments.mean, rough.state, rough.cut.normal, n_jobs)
    return cut_at(X, weights, moments, found, n_jobs)


def _best_found(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    starts: Starts,
    scale: float | Callable[[float, float], float],
    margin: bool,
    min_cluster_size: float,
    rough: bool,
    n_jobs: int | None,
) -> tuple[Found, NormalizedCut] | None:
    """Search from all starts, on a sample only if `rough`; return the smallest NCut and the objective."""
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
            value, position, _ = objective(project(X, direction, n_jobs) - moments.mean @ direction, weights)
            found = Found(direction, value, position)
        else:
            found = pursue(X, weights, moments.mean, objective, start, n_jobs)
        if margin:
            found = _widen_margin(X, weights, moments, objective, found, n_jobs)
        if best is None or is_less(found.value, best.value):
            best = found
    if best is None or objective is None or not np.isfinite(best.value):
        return None
    return best, objective


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
