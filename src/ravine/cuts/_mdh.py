"""The minimum density hyperplane (Hofmeyr 2016, ch. 2): the direction and cut with the lowest projected density.

A penalty keeps the cut within α standard deviations of the mean. α grows, and each search starts where the previous one
ended. The last cut that is a minimum of the density itself is kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ravine import _kernels
from ravine._blocks import map_items
from ravine._matrix import Floats, Ints, Matrix, Moments, project
from ravine._ties import first_least, is_less
from ravine.cuts._along import COARSE_ABOVE, Along, deviation_along, values_along
from ravine.cuts._cut import Cut, RoughCut
from ravine.cuts._density import MAX_BINS, REACH, Line, normal_reference, projected_density
from ravine.cuts._pursuit import (
    COARSE_ROWS,
    Found,
    OnLine,
    Starts,
    even_sample,
    on_line_along,
    search,
    spread_sample,
)
from ravine.cuts._valley import strongest_valley

EXACT_ROWS = 200
"""Up to this many rows, the density near the cut is summed over the rows themselves."""

STEPS_PER_BANDWIDTH = 8

POWER, OUTSIDE = 1.5, 0.1
"""Exponent 1 + ε of eq. 2.10, and η in bandwidths: the maximum distance of a minimum from the bound, if outside."""

TOLERANCE = 1e-5
"""A search ends at this decrease, in units of the peak of a Gaussian density with the deviation along the start."""

RESCUE_BANDWIDTH = 1.06
"""Bandwidth factor used to look for a valley on the whole line when the bound has stopped every search."""

MARGIN_SHRINK, MARGIN_STEPS = 2.0, 12
"""The large-margin search divides the bandwidth by the first number, and repeats this at most the second number of
times."""


@dataclass(frozen=True)
class Labels:
    """Rows that must lie on one side of a cut.

    Parameters
    ----------
    rows : ndarray of int
    pulls : ndarray
        Positive for rows that belong above the cut, negative for the others. A row on the wrong side adds the penalty
        |pull| · distance², in units of the objective.
    margin : float
        Distance to the cut that a row should have on its own side.
    reach : float
        Upper bound for the distance of labeled rows to the mean, and for the standard deviation along any direction.
    """

    rows: Ints
    pulls: Floats
    margin: float
    reach: float


NO_LABELS = Labels(np.empty(0, dtype=np.int64), np.empty(0), 0.0, 0.0)


@dataclass(frozen=True)
class PenalizedDensity:
    """Minimum penalized density of projected rows, as an objective for `ravine.cuts._pursuit`.

    Parameters
    ----------
    bandwidth : float
    alpha : float
        Bound for the position of the cut, in standard deviations of the projected rows.
    tolerance : float
        A search ends when the density decreases by less than this.
    unit : float, default=1
        Unit of length for distances, so that the steps of the search do not depend on the unit of the data.
    exact_rows : int
    labels : Labels, optional
        Rows that must lie on one side of the cut.
    """

    bandwidth: float
    alpha: float
    tolerance: float
    unit: float = 1.0
    exact_rows: int = EXACT_ROWS
    labels: Labels = NO_LABELS

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return the minimum penalized density, its position, and its derivatives with respect to the values."""
        values, settings, labels = values / self.unit, *self._settings()
        found = _kernels.penalty.least(values, weights, settings, labels)

        def derivatives() -> Floats:
            return _kernels.penalty.slopes_at(values, weights, found, settings, labels) / self.unit

        return found.value, found.position * self.unit, derivatives

    @property
    def step(self) -> float:
        """Distance between grid points."""
        return self.bandwidth / STEPS_PER_BANDWIDTH

    def reads_line(self, n_rows: int) -> bool:
        """See `ravine.cuts._pursuit.LineObjective`."""
        return n_rows > self.exact_rows and not len(self.labels.rows)

    def on_line(self, line: Line, mass: Floats, deviation: float) -> OnLine:
        """Return the minimum penalized density of weights on a grid; see `ravine.cuts._pursuit.LineObjective`."""
        (settings, _), none = self._settings(), np.empty(0)
        h, step, count = settings.bandwidth, line.step / self.unit, float(mass.sum())
        first = round(line.low / line.step)
        value, b, pull = _kernels.penalty.least_on_grid(
            mass, float(first), step, count, deviation / self.unit, none, none, settings, none, None
        )
        away = (b - step * (first + np.arange(line.n_bins))) / h
        potential = np.exp(-0.5 * away**2) / (math.sqrt(2 * math.pi) * count * h)
        return OnLine(value, b * self.unit, np.diff(potential) / line.step, pull / self.unit**2)

    def search_block(self, X: Floats, weights: Floats, mean: Floats, descent: Any) -> tuple[Floats, float, float]:
        """Search in one compiled call; see `ravine.cuts._pursuit.CompiledObjective`."""
        found: tuple[Floats, float, float] = _kernels.penalty.search(
            X, weights, mean, descent, self.unit, *self._settings()
        )
        return found

    def _settings(self) -> tuple[Any, Any]:
        """Return the `Settings` and `Labels` of `ravine._kernels.penalty`, with lengths in `unit`; None without labels.

        None leaves all that labels need out of the compiled kernels.
        """
        h = self.bandwidth / self.unit
        margin = self.labels.margin / self.unit
        steepest = 1.0 / (math.sqrt(2 * math.pi * math.e) * h * h)  # upper bound for the slope of any density
        furthest = (1 + self.alpha) * self.labels.reach / self.unit + margin
        steepest += 2 * float(np.abs(self.labels.pulls).sum()) * furthest  # and for that of the labeled rows
        steepness = steepest / (OUTSIDE * h) ** (POWER - 1)
        grid = (self.step / self.unit, REACH, MAX_BINS, self.exact_rows)
        settings = _kernels.penalty.Settings(h, float(self.alpha), steepness, POWER, *grid)
        if self.labels is NO_LABELS:
            return settings, None
        return settings, _kernels.penalty.Labels(self.labels.rows, self.labels.pulls, margin)


def minimum_density_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    margin: bool = False,
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut of minimum density, over several starts, that has the deepest valley.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    starts : Starts
    bandwidth : float or callable ``(deviation, count) -> h``
        Factor in h = bandwidth · deviation · count^(-1/5), where `deviation` is the standard deviation along the first
        start.
    alphas : sequence of float
        Bounds for the cut, in increasing order.
    margin : bool, default=False
        Shrink the bandwidth until the partition no longer changes.
    tolerance : float
        See `TOLERANCE`.
    """
    found = _found_on_few(X, weights, moments, starts, bandwidth, alphas, tolerance, n_jobs)
    if found is None:
        return None
    path, best, sample = found
    if sample is not None:
        best = path.last.follow(X, weights, moments, best.normal, n_jobs)
    return _widen_margin(X, weights, moments, path, best, n_jobs) if margin else best


def rough_density_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> "Cut | RoughCut[DensityPath] | None":
    """Find the cut of `minimum_density_cut`, but search a large node on a sample only.

    `finished_density_cut` continues the search of a rough cut.
    """
    found = _found_on_few(X, weights, moments, starts, bandwidth, alphas, tolerance, n_jobs)
    if found is None:
        return None
    path, best, sample = found
    if sample is None:
        return best
    return RoughCut(path.last.stay(X, weights, moments, best.normal, n_jobs), path.last, sample)


def finished_density_cut(
    X: Matrix, weights: Floats, moments: Moments, rough: "RoughCut[DensityPath]", n_jobs: int | None = None
) -> Cut:
    """Continue the search on all rows from a rough cut to its end."""
    return rough.state.follow(X, weights, moments, rough.cut.normal, n_jobs)


def _found_on_few(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    starts: Starts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    tolerance: float,
    n_jobs: int | None,
) -> "tuple[DensityPath, Cut, tuple[Matrix, Floats] | None] | None":
    """Follow the path from all starts, for a large node on a sample.

    Returns the path, the cut with the deepest valley and, for a large node, the sample with its weights.
    """
    directions = starts(X, weights, moments)
    deviation = deviation_along(X, weights, moments, directions[0], n_jobs) if len(directions) else 0.0
    path = DensityPath.of(deviation, moments, bandwidth, alphas, tolerance)
    if path is None:
        return None
    is_large = X.shape[0] > COARSE_ABOVE
    sample = even_sample(X, weights, moments.mean, directions[0], n_jobs) if is_large else None

    def follow(start: Floats) -> Cut:
        return path.follow(*(sample or (X, weights)), moments, start, n_jobs)

    cuts = map_items(follow, list(directions), n_jobs if is_large else 1)
    best = cuts[0]
    for cut in cuts[1:]:
        best = cut if is_less(1 + best.relative_depth, 1 + cut.relative_depth) else best
    return path, best, sample


def labeled_density_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    sides: Ints,
    *,
    starts: Starts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    gammas: Sequence[float],
    margin: float,
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find a low-density cut with the labeled rows on their sides, the best over several starts.

    Parameters
    ----------
    X, weights, moments, starts, bandwidth, alphas, tolerance : as for `minimum_density_cut`
    sides : ndarray of shape (n_samples,)
        -1 for rows that belong to the left of the cut, 1 for those to the right, 0 for unlabeled rows.
    gammas : sequence of float
        Weights of the labels, in increasing order. The penalty is gamma times the weighted mean over the labeled rows
        of (distance / deviation)². Its unit is the peak of a Gaussian density with the deviation along the first start.
    margin : float
        Distance from the cut, in bandwidths, that a labeled row should have on its side.

    Returns
    -------
    cut : Cut or None
        None if the rows do not vary.
    """
    directions = starts(X, weights, moments)
    if not len(directions):
        return None
    deviation = deviation_along(X, weights, moments, directions[0], n_jobs)
    path = DensityPath.of(deviation, moments, bandwidth, alphas, tolerance)
    if path is None:
        return None
    labels = _labels(X, weights, moments, sides, path, margin)
    rows, row_weights, row_labels = X, weights, labels
    if X.shape[0] > COARSE_ABOVE:
        rows, row_weights, row_labels = _coarse(X, weights, labels, directions[0], n_jobs)
    stages = [(alpha, gammas[0]) for alpha in alphas] + [(alphas[-1], gamma) for gamma in gammas[1:]]
    ends = []
    for start in directions:
        first = path.objective(*stages[0], row_labels)
        forth, back = (first(project(rows, v, n_jobs) - moments.mean @ v, row_weights)[0] for v in (start, -start))
        direction = -start if is_less(back, forth) else start
        for stage in stages:
            found = search(rows, row_weights, moments.mean, path.objective(*stage, row_labels), direction, n_jobs)
            direction = found.direction
        ends.append(found)
    best = ends[first_least([found.value for found in ends])]
    if rows is not X:
        best = search(X, weights, moments.mean, path.objective(*stages[-1], labels), best.direction, n_jobs)
    values = project(X, best.direction, n_jobs) - moments.mean @ best.direction
    return path.cut_at(values, weights, moments, best.direction, best.position)


def _labels(X: Matrix, weights: Floats, moments: Moments, sides: Ints, path: "DensityPath", margin: float) -> Labels:
    """Return labels whose absolute pulls sum to one."""
    rows = np.flatnonzero(sides)
    pulls = sides[rows] * weights[rows]
    reach = math.sqrt(max(_furthest_square(X[rows], moments.mean), moments.sum_sq / moments.count))
    return Labels(rows, pulls / np.abs(pulls).sum(), margin * path.bandwidth, reach)


def _furthest_square(X: Matrix, mean: Floats) -> float:
    """Return the largest squared distance of a row to the mean."""
    if sparse.issparse(X):
        return float((X.multiply(X).sum(axis=1) - 2 * (X @ mean)).max() + mean @ mean)
    return float(((X - mean) ** 2).sum(axis=1).max())


def _coarse(
    X: Matrix, weights: Floats, labels: Labels, direction: Floats, n_jobs: int | None
) -> tuple[Matrix, Floats, Labels]:
    """Sample the rows and the labeled rows; rows added only for their label have no weight in the density."""
    sample = spread_sample(X, direction, n_jobs)
    kept = np.arange(len(labels.rows))
    if len(kept) > COARSE_ROWS:
        kept = spread_sample(X[labels.rows], direction, n_jobs)
    chosen = np.union1d(sample, labels.rows[kept])
    pulls = labels.pulls[kept] / np.abs(labels.pulls[kept]).sum()
    positions = np.searchsorted(chosen, labels.rows[kept])
    return (
        X[chosen],
        np.where(np.isin(chosen, sample), weights[chosen], 0.0),
        replace(labels, rows=positions, pulls=pulls),
    )


@dataclass(frozen=True)
class DensityPath:
    """A sequence of searches with one bandwidth, from one bound to the next."""

    bandwidth: float
    tolerance: float
    unit: float
    deviation: float
    alphas: Sequence[float]

    @classmethod
    def of(
        cls,
        deviation: float,
        moments: Moments,
        bandwidth: float | Callable[[float, float], float],
        alphas: Sequence[float],
        tolerance: float,
    ) -> "DensityPath | None":
        """Return the path for rows with this standard deviation along the first start; None if the rows do not vary."""
        if not deviation > 0:
            return None
        factor = bandwidth if callable(bandwidth) else partial(normal_reference, bandwidth)
        unit = moments.unit
        h = float(factor(deviation, moments.count))
        return cls(h, tolerance * unit / (math.sqrt(2 * math.pi) * deviation), unit, deviation, alphas)

    @property
    def last(self) -> "DensityPath":
        """The path with the last bound only."""
        return replace(self, alphas=self.alphas[-1:])

    def objective(self, alpha: float, gamma: float, labels: Labels) -> PenalizedDensity:
        """Return the objective of one search, given labels whose absolute pulls sum to one."""
        scale = gamma / math.sqrt(2 * math.pi) * (self.unit / self.deviation) ** 3
        pulling = replace(labels, pulls=scale * labels.pulls)
        return PenalizedDensity(self.bandwidth, alpha, self.tolerance, self.unit, labels=pulling)

    def follow(self, X: Matrix, weights: Floats, moments: Moments, start: Floats, n_jobs: int | None) -> Cut:
        """Return the cut at the end of the path that begins at `start`."""

        def search_from(objective: PenalizedDensity, direction: Floats) -> Found:
            return search(X, weights, moments.mean, objective, direction, n_jobs)

        def along(direction: Floats) -> tuple[Floats, Floats]:
            return values_along(X, weights, moments.mean, direction, n_jobs)

        return self.follow_by(search_from, along, moments, start)

    def stay(self, X: Matrix, weights: Floats, moments: Moments, direction: Floats, n_jobs: int | None) -> Cut:
        """Return the cut of a large node without a search: its normal is `direction` itself."""
        along = Along.of(X, weights, moments.mean, direction, n_jobs)

        def look(objective: PenalizedDensity, direction: Floats) -> Found:
            _, found = on_line_along(objective, along)
            return Found(direction, found.value, found.position)

        return self.follow_by(look, lambda _: along.points(), moments, direction)

    def follow_by(
        self,
        search_from: Callable[[PenalizedDensity, Floats], Found],
        along: Callable[[Floats], tuple[Floats, Floats]],
        moments: Moments,
        start: Floats,
    ) -> Cut:
        """Follow the path with two functions.

        One searches the rows, the other returns their values and weights along a direction.
        """
        direction, kept = start, None
        for alpha in self.alphas:
            found = search_from(PenalizedDensity(self.bandwidth, alpha, self.tolerance, self.unit), direction)
            direction = found.direction
            values, weights = along(direction)
            is_inside = abs(found.position) < alpha * math.sqrt(weights @ values**2 / weights.sum())
            left = values < found.position
            is_minimum = is_inside and weights[left].any() and weights[~left].any()  # far out there are no rows at all
            if kept is None or is_minimum:
                kept, kept_values, kept_weights, kept_is_minimum = found, values, weights, is_minimum
        assert kept is not None
        position = kept.position
        if not kept_is_minimum:  # the bound stopped every search, so look at the whole line
            valley = strongest_valley(kept_values, kept_weights, RESCUE_BANDWIDTH)
            position = kept.position if valley is None else valley.position
        return self.cut_at(kept_values, kept_weights, moments, kept.direction, position)

    def cut_at(self, values: Floats, weights: Floats, moments: Moments, direction: Floats, position: float) -> Cut:
        """Return the cut at a position along a direction, given the values of the centered rows on it."""
        along = projected_density(values, weights, self.bandwidth)
        offset = float(position + moments.mean @ direction)
        density = float(along.density[along.index(position)])
        return Cut(direction, offset, density, along.relative_depth_at(position))


def _widen_margin(X: Matrix, weights: Floats, moments: Moments, path: DensityPath, cut: Cut, n_jobs: int | None) -> Cut:
    side = cut.goes_left(X, n_jobs)
    for _ in range(MARGIN_STEPS):
        path = replace(path.last, bandwidth=path.bandwidth / MARGIN_SHRINK)
        cut = path.follow(X, weights, moments, cut.normal, n_jobs)
        new_side = cut.goes_left(X, n_jobs)
        if (new_side == side).all() or (new_side != side).all():
            break
        side = new_side
    return cut
