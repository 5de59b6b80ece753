"""The projection in which rows are least connected, and the cut that it shows (Hofmeyr 2016, ch. 3A).

The search minimizes the connectivity of points that replace the rows: microclusters or, if the projection is a line,
masses of the rows on a grid. One evaluation costs O(m³) for m points, however many rows there are.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg

from ravine._matrix import Floats, Matrix, Moments, order_along, project
from ravine._ties import pointing_up
from ravine.cuts._connectivity import TOLERANCE, Connectivity
from ravine.cuts._cut import Cut
from ravine.cuts._density import normal_reference
from ravine.cuts._line_connectivity import LineConnectivity
from ravine.cuts._microclusters import Microclusters, approximation_bound, microclusters, stretched
from ravine.cuts._projection import CenteredRows, Projection
from ravine.cuts._pursuit import Starts, search

BOUNDS = (3.0, 1.5, 1.0, 0.5)
"""Values of β, in standard deviations: distances count in full up to β from the mean. The first β with a balanced cut
is used."""

LEAST_SHARE, MOST_SHARE = 1 / 8, 1 / 4
"""Limits for the share of a node's rows that the lighter side of a balanced cut must have."""

ORTHOGONAL, CORRELATED = 1.0, -0.1
"""Values of ω, the weight of the squared correlations of the directions in log λ₂."""

ROUGHLY = 1e-3
"""A rough search ends at this decrease of log λ₂. It shows whether the cut is balanced; a full search then follows."""

LINE_POINTS = 256
"""Number of grid points on a line at the start of a search."""

MARGIN_SHRINK, MARGIN_STEPS, MARGIN_STILL = 2.0, 10, 1e-3
"""The large-margin search divides σ by the first number, at most the second number of times, until the cosine between
old and new directions exceeds 1 minus the third number."""

SMALL = 1e-12
"""A deviation below this share of the largest counts as zero."""


def spectral_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    normalized: bool,
    correlated: bool,
    scale: float = 1.0,
    margin: bool = False,
    n_microclusters: int = 200,
    balance: float = 0.0,
    seed: int = 0,
    on_bound: Callable[[float], None] | None = None,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut in the projection in which the rows are least connected, starting from given directions.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    starts : Starts
        The number of starts is the number of directions of the projection.
    normalized : bool
        Whether the Laplacian is normalized.
    correlated : bool
        Let the directions become one, and cut orthogonally to it. Otherwise they stay apart, and the cut is a surface.
    scale : float
        Factor in σ = scale · √l · σ₁ n^(-1/5) for l directions, where σ₁ is the standard deviation along the first
        start.
    margin : bool, default=False
        Shrink σ until the directions no longer change.
    n_microclusters : int
        Maximum number of points that replace the rows.
    balance : float
        Desired weight of the lighter side, limited to between an eighth and a fourth of the node.
    seed : int
        Seed for drawing the rows from which microclusters start.
    on_bound : callable ``(bound)``, optional
        Called with an upper bound for the relative change of λ₂ by the microclusters.
    """
    directions = starts(X, weights, moments)
    values = [project(X, direction, n_jobs) - moments.mean @ direction for direction in directions]
    deviations = np.array([math.sqrt(weights @ along**2 / moments.count) for along in values])
    kept = np.flatnonzero(deviations > SMALL * deviations.max(initial=0.0))
    if not len(kept):
        return None
    directions, along, deviation = directions[kept], values[kept[0]], float(deviations[kept[0]])
    order = order_along(X, along, n_jobs)
    micro = microclusters(X, weights, n_microclusters, order, seed, n_jobs=n_jobs)
    if len(micro.counts) < 2:
        return None
    least = min(MOST_SHARE * moments.count, max(balance, LEAST_SHARE * moments.count))
    rows = CenteredRows(X, weights, moments, n_jobs)
    pursuit = _Search(rows, micro, normalized, correlated)
    sigma = normal_reference(scale * math.sqrt(len(directions)), deviation, moments.count) / rows.unit
    found: Projection | None = None
    for bound in BOUNDS:
        candidate = pursuit.run(directions, sigma, bound, ROUGHLY)
        if candidate is not None and candidate.lighter_side >= least:
            candidate = pursuit.run(candidate.directions, candidate.scale, bound, TOLERANCE)
        found = candidate or found
        if candidate is None or candidate.lighter_side >= least:
            break
    if found is None:
        return None
    if on_bound is not None:
        on_bound(approximation_bound(micro, found, rows, normalized))
    return (pursuit.widen_margin(found, least) if margin else found).cut(rows)


class _Search:
    """Searches over the projections of the rows of a node."""

    def __init__(self, rows: CenteredRows, micro: Microclusters, normalized: bool, correlated: bool) -> None:
        self.rows, self.micro, self.normalized, self.correlated = rows, micro, normalized, correlated

    def run(self, directions: Floats, sigma: float, bound: float, tolerance: float) -> Projection | None:
        """Find the least connected projection; correlated directions are merged into one, which is then searched."""
        n_directions = len(directions)
        if not self.correlated or n_directions == 1:
            return self._among_points(self.micro, directions, sigma, bound, ORTHOGONAL, tolerance)
        together = self._among_points(self.micro, directions, sigma, bound, CORRELATED, tolerance)
        if together is None:
            return None
        one = pointing_up(linalg.svd(together.directions, full_matrices=False)[2][:1])
        return self._among_points(self.micro, one, sigma / math.sqrt(n_directions), bound, 0.0, tolerance)

    def widen_margin(self, found: Projection, least: float) -> Projection:
        """Shrink σ until the directions no longer change, or the lighter side has less weight than `least`."""
        first, micro = found.scale, self.micro
        least = min(least, found.lighter_side)
        for _ in range(MARGIN_STEPS):
            directions, sigma = found.directions, found.scale / MARGIN_SHRINK
            # log λ₂ is about the margin over σ, so the effect of a step of the directions grows as σ shrinks.
            tolerance = TOLERANCE * first / sigma
            if len(directions) == 1 and not micro.exact:
                narrower = self._on_line(directions[0], sigma, found.bound, tolerance)
            else:
                if not micro.exact:  # group rows that are close in the projection
                    further = directions * math.sqrt((first / sigma) ** 2 - 1)
                    micro = stretched(micro, self.rows.X, self.rows.weights, further, self.rows.n_jobs)
                narrower = self._among_points(micro, directions, sigma, found.bound, ORTHOGONAL, tolerance)
            if narrower is None or narrower.lighter_side < least:
                break
            found = narrower
            if np.abs((found.directions * directions).sum(axis=1)).min() > 1 - MARGIN_STILL:
                break
        return found

    def _among_points(
        self, micro: Microclusters, directions: Floats, sigma: float, bound: float, correlation: float, tolerance: float
    ) -> Projection | None:
        points = (micro.centers - self.rows.moments.mean) / self.rows.unit
        basis = None
        if points.shape[1] > len(points):  # descent directions lie in the span of the points
            basis = linalg.qr(points.T, mode="economic", check_finite=False)[0].T
            points, directions = points @ basis.T, directions @ basis.T
        objective = Connectivity(points, micro.counts, sigma, bound, self.normalized, correlation)
        view = objective.minimize(directions, tolerance)
        if view is None:
            return None
        is_left = objective.best_cut(view)
        directions = view.directions if basis is None else view.directions @ basis
        return Projection(directions, view.values, micro.counts, is_left, view.value, sigma, bound, view.drawn)

    def _on_line(self, direction: Floats, sigma: float, bound: float, tolerance: float) -> Projection | None:
        rows = self.rows
        values = rows.project(direction[np.newaxis])[:, 0]
        reach = bound * math.sqrt(rows.weights @ values**2 / rows.moments.count) + 2 * sigma
        step = 2 * min(reach, float(np.abs(values).max())) / LINE_POINTS
        objective = LineConnectivity(sigma, bound, self.normalized, rows.unit, step, tolerance)
        end = search(rows.X, rows.weights, rows.moments.mean, objective, direction, rows.n_jobs)
        if not np.isfinite(end.value):
            return None
        values = rows.project(end.direction[np.newaxis])[:, 0]
        position = end.position / rows.unit
        positions = position + np.array([[-step], [step]]) / 2
        on_left = float(rows.weights[values < position].sum())
        counts, is_left = np.array([on_left, rows.moments.count - on_left]), np.array([True, False])
        value = math.exp(end.value)
        return Projection(end.direction[np.newaxis], positions, counts, is_left, value, sigma, bound, positions)
