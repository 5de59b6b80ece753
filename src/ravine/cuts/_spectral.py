"""The projection in which rows are least connected, and the cut that it shows (Hofmeyr 2016, ch. 3A).

The connectivity of projected points is λ₂, the second eigenvalue of the Laplacian of their graph. The search minimizes
its logarithm. So the weight of the correlation between directions has no unit, and the scale of the similarities can go
to zero. One evaluation costs O(m³) for m points, independent of the number of rows: the points are microclusters or, if
the projection is a line, masses of the rows on a grid.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ravine import _kernels
from ravine._matrix import LARGEST, Bools, Floats, Matrix, Moments, order_along, project
from ravine._ties import first_least, is_less, pointing_up, rounded_order
from ravine.cuts._cut import Cut
from ravine.cuts._density import Line, depth_at, normal_reference
from ravine.cuts._microclusters import Microclusters, microclusters, stretched
from ravine.cuts._pursuit import Starts, descend, search
from ravine.cuts._surface import Surface

SHAPE = 0.1
"""Parameter α of the similarity (d / (σ α) + 1)^α exp(-d / σ), eq. 3.30."""

CONTRACTION = 0.01
"""Maximum δ of eq. 3.23; δ is σ² if that is smaller. Distances outside the bound are multiplied by about this much."""

BOUNDS = (3.0, 1.5, 1.0, 0.5)
"""Values of β, in standard deviations: distances count in full up to β from the mean. The first β with a balanced cut
is used."""

LEAST_SHARE, MOST_SHARE = 1 / 8, 1 / 4
"""Limits for the share of a node's rows that the lighter side of a balanced cut must have."""

ORTHOGONAL, CORRELATED = 1.0, -0.1
"""Values of ω, the weight of the squared correlations of the directions in log λ₂."""

ROUGHLY, TOLERANCE = 1e-3, 1e-4
"""A search ends at this decrease of log λ₂: a rough one, to see whether the cut is balanced, and a full one."""

LINE_POINTS = 256
"""Number of grid points on a line at the start of a search."""

MARGIN_SHRINK, MARGIN_STEPS, MARGIN_STILL = 2.0, 10, 1e-3
"""The large-margin search divides σ by the first number, at most the second number of times, until the cosine between
old and new directions exceeds 1 minus the third number."""

SMALL = 1e-12
"""A share of the spread below this counts as zero; it is also added to a covariance before inversion."""

REPEATED, MOST_REPEATED = 1e-6, 8
"""Eigenvalues count as equal if their relative difference is below the first number; at most the second number of them
are used."""

LEAST_CONNECTED = 1e-22
"""λ₂ below this share of the largest degree counts as zero: its vector then has too few digits for a derivative."""

NOISE = 1e-3
"""Noise in the first vectors of an iteration, relative to their deviation."""


def drawn_in(values: Floats, bound: Floats | float, contraction: float) -> tuple[Floats, Floats]:
    """Shorten the distances beyond ± `bound` (T of eq. 3.23, centered); return the new values and their slopes."""
    columns, bounds = values.reshape(len(values), -1), np.atleast_1d(np.asarray(bound, dtype=np.float64))
    drawn, slope = np.empty_like(columns), np.empty_like(columns)
    _kernels.spectral.draw_in(columns, bounds, contraction, drawn, slope)
    return drawn.reshape(values.shape), slope.reshape(values.shape)


def contraction_at(scale: float) -> float:
    """Return δ for a scale in units of the deviation of the data (ch. 3A §7.1)."""
    return max(min(CONTRACTION, scale * scale), sys.float_info.min)


def first_vectors(drawn: Floats) -> Floats:
    """Return two start vectors for the eigenvectors: along the points and their squares, with a little noise.

    Without noise, points with a symmetry could have an eigenvector that is orthogonal to both.
    """
    vectors = np.stack([drawn[:, 0], drawn[:, -1] ** 2 + drawn[:, -1]])
    noise = np.random.default_rng(0).normal(size=vectors.shape)
    return np.asarray(vectors + NOISE * vectors.std(axis=1, keepdims=True) * noise)


@dataclass(frozen=True)
class View:
    """Points in a projection.

    Attributes
    ----------
    directions, lengths : ndarray of shape (n_components, n_features) and (n_components, 1)
        Unit directions, and the lengths with which they were given.
    values, deviation : ndarray of shape (n_points, n_components) and (n_components,)
        Projected points, and their standard deviations.
    drawn, slope : ndarray of shape (n_points, n_components)
        Projected points with the distances outside the bound shortened, and the slopes of this map.
    value, next_value : float
        λ₂ and an approximation of λ₃.
    vectors, sizes : ndarray of shape (2, n_points) and (n_points,)
        Eigenvectors of both, and the diagonal matrix in whose norm they have length 1.
    """

    directions: Floats
    lengths: Floats
    values: Floats
    deviation: Floats
    drawn: Floats
    slope: Floats
    value: float
    next_value: float
    vectors: Floats
    sizes: Floats


class Connectivity:
    """log λ₂ of projected points plus a term for correlated directions, as a function for `pursuit.descend`.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Points with mean zero, weighted by `counts`.
    counts : ndarray of shape (n_points,)
    scale : float
        σ of the similarity.
    bound : float
        β: distances beyond this many standard deviations along a direction are shortened.
    normalized : bool
        Whether the Laplacian is normalized.
    correlation : float
        ω, the weight of the correlation.
    """

    def __init__(
        self, points: Floats, counts: Floats, scale: float, bound: float, normalized: bool, correlation: float = 0.0
    ) -> None:
        self.points, self.counts, self.scale, self.bound = points, counts, scale, bound
        self.normalized, self.correlation = normalized, correlation
        n = len(counts)
        self._graph, self._degrees, self._pivots = np.empty((n, n)), np.empty(n), np.empty(n)
        self._vectors: Floats | None = None

    def __call__(self, flat: Floats) -> tuple[float, View, Callable[[], Floats]]:
        """Return value, view and gradient for directions of any length, concatenated in `flat`."""
        raw = flat.reshape(-1, self.points.shape[1])
        lengths = np.linalg.norm(raw, axis=1, keepdims=True)
        directions = raw / lengths
        values = self.points @ directions.T
        deviation = np.sqrt(self.counts @ values**2 / self.counts.sum())
        drawn, slope = drawn_in(values, self.bound * deviation, contraction_at(self.scale))
        self._weigh(drawn)
        _kernels.spectral.eliminate(self._graph, self._pivots)
        sizes = self._degrees.copy() if self.normalized else self.counts
        vectors = first_vectors(drawn) if self._vectors is None else self._vectors.copy()
        second, third = _kernels.spectral.second_pair(self._graph, self._pivots, sizes, vectors)
        view = View(directions, lengths, values, deviation, drawn, slope, second, third, vectors, sizes)
        if not LEAST_CONNECTED * (self._degrees / sizes).max() < second < np.inf:
            return np.inf, view, lambda: np.zeros_like(flat)
        between = directions @ directions.T - np.eye(len(directions))

        def gradient() -> Floats:
            self._vectors = vectors
            of_correlation = 4 * self.correlation * across(between @ directions, view)
            slopes = np.asarray(self._slopes(view, vectors[0]) / second + of_correlation.ravel())
            # The gradient is too steep to follow, since its square overflows: the similarities have almost vanished.
            return slopes if np.abs(slopes).max() < LARGEST else np.zeros_like(flat)

        return math.log(second) + self.correlation * float((between**2).sum()), view, gradient

    def minimize(self, start: Floats, tolerance: float = TOLERANCE) -> View | None:
        """Search from some directions and return the view at the end; None if all similarities have vanished.

        If the search ends at a repeated eigenvalue, it continues along a direction that separates the two.
        """
        at, value, view = descend(self, start.ravel(), tolerance)
        while np.isfinite(value) and view.next_value <= (1 + REPEATED) * view.value:
            further, lower, new_view = descend(self, self.decoupled(at), tolerance)
            if not lower < value - tolerance:
                break
            at, value, view = further, lower, new_view
        return view if np.isfinite(value) else None

    def decoupled(self, flat: Floats) -> Floats:
        """Return a lower point along one coordinate near a point with repeated λ₂ (Algorithm 1), or the point itself.

        At a repeated λ₂, the derivative of the Laplacian defines a quadratic form on the eigenvectors of λ₂. The
        smallest eigenvalue of this form is the derivative of λ₂ along a coordinate.
        """
        value, view, _ = self(flat)
        self._weigh(view.drawn)
        laplacian = np.diag(self._graph.sum(axis=1)) - self._graph
        all_values, all_vectors = linalg.eigh(laplacian, np.diag(view.sizes), check_finite=False)
        vectors = all_vectors[:, np.abs(all_values - view.value) <= REPEATED * view.value].T[:MOST_REPEATED]
        t = len(vectors)
        forms = np.empty((len(flat), t, t))
        for a in range(t):
            for b in range(t):  # by polarization
                plus, minus = vectors[a] + vectors[b], vectors[a] - vectors[b]
                forms[:, a, b] = (self._slopes(view, plus) - self._slopes(view, minus)) / 4
        eigenvalues = np.linalg.eigvalsh(forms)
        steepness = np.maximum(eigenvalues[:, -1], -eigenvalues[:, 0])
        steepest = first_least(-steepness)
        step = np.zeros(len(flat))
        step[steepest] = 1.0 if is_less(eigenvalues[steepest, -1], -eigenvalues[steepest, 0]) else -1.0
        for _ in range(_kernels.bfgs.MAX_SHRINKS if steepness[steepest] > 0 else 0):
            if self(flat + step)[0] < value:
                return np.asarray(flat + step)
            step = step * _kernels.bfgs.SHRINK
        return flat

    def best_cut(self, view: View) -> Bools:
        """Return the points on the left of the best cut among the cuts in the order of the second eigenvector."""
        self._weigh(view.drawn)
        order = rounded_order(view.vectors[0])
        _, n_left = _kernels.spectral.sweep(self._graph, order, view.sizes)
        is_left = np.zeros(len(order), dtype=bool)
        is_left[order[:n_left]] = True
        return is_left

    def _weigh(self, drawn: Floats) -> None:
        _kernels.spectral.similarities(drawn, self.counts, self.scale, SHAPE, self._graph, self._degrees)

    def _slopes(self, view: View, vector: Floats) -> Floats:
        """Return the derivatives of the eigenvalue, or of the form on any vector, by the directions as given."""
        by_drawn = np.empty_like(view.drawn)
        settings = (self.scale, SHAPE, self._graph, vector, view.value, self.normalized)
        _kernels.spectral.slopes(view.drawn, *settings, by_drawn)
        by_value = np.empty_like(by_drawn)
        _kernels.spectral.slopes_before(
            view.values, self.counts, self.bound, view.deviation, view.slope, by_drawn, by_value
        )
        return np.asarray(across(by_value.T @ self.points, view).ravel())


def across(by_direction: Floats, view: View) -> Floats:
    """Convert derivatives by unit directions into derivatives by directions of any length."""
    along = (by_direction * view.directions).sum(axis=1, keepdims=True)
    return np.asarray((by_direction - along * view.directions) / view.lengths)


@dataclass(frozen=True)
class LineConnectivity:
    """log λ₂ of the masses of rows on a grid along a direction, as an objective for `ravine.cuts._pursuit`.

    Parameters
    ----------
    scale, bound, normalized : see `Connectivity`
    unit : float
        Unit of length for `scale`.
    step : float
        Distance between grid points, in units. Rows far outside the bound are moved to the outermost points.
    tolerance : float
        A search ends at this decrease.
    """

    scale: float
    bound: float
    normalized: bool
    unit: float
    step: float
    tolerance: float

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return log λ₂, the position of the best cut, and the derivatives with respect to the values."""
        count = weights.sum()
        values = values / self.unit
        deviation = math.sqrt(weights @ values**2 / count)
        reach = self.bound * deviation + 2 * self.scale
        inside = np.clip(values, -reach, reach)
        line = Line.around(inside, self.step)
        at_all = line.bin(inside, weights)
        here = np.flatnonzero(at_all)
        mass, positions = at_all[here], line.positions[here]
        drawn, slope = drawn_in(positions, self.bound * deviation, contraction_at(self.scale))
        points = drawn[:, np.newaxis]
        spectral, n = _kernels.spectral, len(here)
        graph, degrees, pivots = np.empty((n, n)), np.empty(n), np.empty(n)
        spectral.similarities(points, mass, self.scale, SHAPE, graph, degrees)
        sizes = degrees if self.normalized else mass
        _, n_left = spectral.sweep(graph, np.arange(n), sizes)
        spectral.eliminate(graph, pivots)
        vectors = first_vectors(points)
        second, _ = spectral.second_pair(graph, pivots, sizes, vectors)
        position = float(positions[n_left - 1 : n_left + 1].mean()) * self.unit
        if not LEAST_CONNECTED * (degrees / sizes).max() < second < np.inf:
            return np.inf, position, lambda: np.zeros_like(values)

        def derivatives() -> Floats:
            by_mass, by_point = np.empty(n), np.empty((n, 1))
            spectral.mass_slopes(graph, mass, vectors[0], second, self.normalized, by_mass)
            spectral.slopes(points, self.scale, SHAPE, graph, vectors[0], second, self.normalized, by_point)
            by_value = line.slopes(np.interp(line.positions, positions, by_mass), inside, weights)
            moved = np.abs(values) > reach
            # The deviation moves the bound, which moves the images outside it and the rows clipped at the reach.
            by_bound = by_point[:, 0] @ (np.sign(positions) * (1 - slope)) + by_value[moved] @ np.sign(values[moved])
            by_value[moved] = 0.0
            by_value += by_bound * self.bound * weights * values / (count * deviation)
            return np.asarray(by_value / (second * self.unit))

        return math.log(second), position, derivatives


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
    pursuit = _Search(X, weights, moments, normalized, correlated, micro, n_jobs)
    sigma = normal_reference(scale * math.sqrt(len(directions)), deviation, moments.count) / pursuit.unit
    found: _Found | None = None
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
        on_bound(pursuit.approximation_bound(found))
    return pursuit.cut(pursuit.widen_margin(found, least) if margin else found)


@dataclass(frozen=True)
class _Found:
    """Directions in the columns of the rows, points along them in units, and the sides of these points."""

    directions: Floats
    positions: Floats
    counts: Floats
    is_left: Bools
    value: float
    scale: float
    bound: float
    drawn: Floats

    @property
    def lighter_side(self) -> float:
        on_left = float(self.counts[self.is_left].sum())
        return min(on_left, float(self.counts.sum()) - on_left)


class _Search:
    """The rows of a node, centered and in units of their deviation, and searches over their projections."""

    def __init__(
        self,
        X: Matrix,
        weights: Floats,
        moments: Moments,
        normalized: bool,
        correlated: bool,
        micro: Microclusters,
        n_jobs: int | None,
    ) -> None:
        self.X, self.weights, self.moments, self.n_jobs = X, weights, moments, n_jobs
        self.normalized, self.correlated, self.micro = normalized, correlated, micro
        self.unit = moments.unit

    def run(self, directions: Floats, sigma: float, bound: float, tolerance: float) -> "_Found | None":
        """Find the least connected projection; correlated directions are merged into one, which is then searched."""
        n_directions = len(directions)
        if not self.correlated or n_directions == 1:
            return self._among_points(self.micro, directions, sigma, bound, ORTHOGONAL, tolerance)
        together = self._among_points(self.micro, directions, sigma, bound, CORRELATED, tolerance)
        if together is None:
            return None
        one = pointing_up(linalg.svd(together.directions, full_matrices=False)[2][:1])
        return self._among_points(self.micro, one, sigma / math.sqrt(n_directions), bound, 0.0, tolerance)

    def widen_margin(self, found: "_Found", least: float) -> "_Found":
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
                    micro = stretched(micro, self.X, self.weights, further, self.n_jobs)
                narrower = self._among_points(micro, directions, sigma, found.bound, ORTHOGONAL, tolerance)
            if narrower is None or narrower.lighter_side < least:
                break
            found = narrower
            if np.abs((found.directions * directions).sum(axis=1)).min() > 1 - MARGIN_STILL:
                break
        return found

    def _among_points(
        self, micro: Microclusters, directions: Floats, sigma: float, bound: float, correlation: float, tolerance: float
    ) -> "_Found | None":
        points = (micro.centers - self.moments.mean) / self.unit
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
        return _Found(directions, view.values, micro.counts, is_left, view.value, sigma, bound, view.drawn)

    def _on_line(self, direction: Floats, sigma: float, bound: float, tolerance: float) -> "_Found | None":
        values = self._values(direction[np.newaxis])[:, 0]
        reach = bound * math.sqrt(self.weights @ values**2 / self.moments.count) + 2 * sigma
        step = 2 * min(reach, float(np.abs(values).max())) / LINE_POINTS
        objective = LineConnectivity(sigma, bound, self.normalized, self.unit, step, tolerance)
        end = search(self.X, self.weights, self.moments.mean, objective, direction, self.n_jobs)
        if not np.isfinite(end.value):
            return None
        values = self._values(end.direction[np.newaxis])[:, 0]
        position = end.position / self.unit
        positions = position + np.array([[-step], [step]]) / 2
        on_left = float(self.weights[values < position].sum())
        counts, is_left = np.array([on_left, self.moments.count - on_left]), np.array([True, False])
        value = math.exp(end.value)
        return _Found(end.direction[np.newaxis], positions, counts, is_left, value, sigma, bound, positions)

    def _values(self, directions: Floats) -> Floats:
        """Return projected rows, centered and in units."""
        parts = [project(self.X, v, self.n_jobs) - self.moments.mean @ v for v in directions]
        return np.stack(parts, axis=1) / self.unit

    def cut(self, found: "_Found") -> Cut:
        """Return the cut in the user's columns.

        It is a hyperplane if the projection is a line, else a surface with a hyperplane near it.
        """
        on_line = len(found.directions) == 1
        normal = found.directions[0] if on_line else self._normal(found)
        along = found.positions @ (found.directions @ normal)
        up = pointing_up(normal[np.newaxis])[0]
        normal, along = up, along if up @ normal > 0 else -along
        is_left = found.is_left
        if along[is_left].mean() > along[~is_left].mean():
            is_left = ~is_left
        values = self._values(normal[np.newaxis])[:, 0]
        low, high = _threshold(along, is_left, found.counts)
        position = _middle_of_widest_gap(values, low, high)
        depth = depth_at(position, values, self.weights)
        offset = position * self.unit + float(self.moments.mean @ normal)
        surface = None
        if not on_line:
            positions = found.positions * self.unit + found.directions @ self.moments.mean
            surface = Surface(found.directions, positions, is_left)
        return Cut(normal, offset, found.value, depth, surface=surface)

    def approximation_bound(self, found: "_Found") -> float:
        """Return an upper bound for the relative difference between λ₂ of the microclusters and of the rows.

        Each similarity changes by a factor between two numbers (Lemma 15, with the radii in the projection, and applied
        to rows of one microcluster too). So λ₂ of the standard Laplacian changes by such a factor as well. For the
        normalized Laplacian, λ₂ is a ratio of two such sums and changes by the quotient of the two numbers.
        """
        if self.micro.exact:
            return 0.0
        distances = np.linalg.norm(self._values(found.directions) - found.positions[self.micro.group], axis=1)
        radii = np.zeros(len(found.counts))
        np.maximum.at(radii, self.micro.group, distances)
        both = radii[:, np.newaxis] + radii
        apart = np.linalg.norm(found.drawn[:, np.newaxis] - found.drawn, axis=2)
        here = _log_similarity(apart / found.scale)
        least = float((here - _log_similarity(np.maximum(apart - both, 0) / found.scale)).min())
        most = float((here - _log_similarity((apart + both) / found.scale)).max())
        with np.errstate(over="ignore"):
            bound = np.expm1(most - least) if self.normalized else max(-np.expm1(least), np.expm1(most))
        return min(float(bound), sys.float_info.max)

    def _normal(self, found: "_Found") -> Floats:
        """Return the unit normal in the span of the directions that discriminates the two sides."""
        weights = found.counts / found.counts.sum()
        means = [
            np.average(found.positions[side], axis=0, weights=weights[side]) for side in (found.is_left, ~found.is_left)
        ]
        centered = found.positions - np.where(found.is_left[:, np.newaxis], *means)
        within = (weights[:, np.newaxis] * centered).T @ centered
        within += SMALL * np.trace(found.positions.T @ found.positions) * np.eye(len(within))
        normal = np.linalg.solve(within, means[1] - means[0]) @ found.directions
        length = np.linalg.norm(normal)
        return np.asarray(normal / length) if length > 0 else found.directions[0]


def _log_similarity(r: Floats) -> Floats:
    return np.asarray(SHAPE * np.log1p(r / SHAPE) - r)


def _threshold(values: Floats, is_left: Bools, counts: Floats) -> tuple[float, float]:
    """Return two neighbors on a line; a cut between them puts the least weight of points on the wrong side."""
    order = rounded_order(values)
    signed = np.where(is_left, counts, -counts)[order]
    k = first_least(-np.cumsum(signed)[:-1])
    return float(values[order[k]]), float(values[order[k + 1]])


def _middle_of_widest_gap(values: Floats, low: float, high: float) -> float:
    """Return the midpoint of the widest gap among the values between two positions, which are included."""
    between = np.sort(np.concatenate([[low, high], values[(values > low) & (values < high)]]))
    k = first_least(-np.diff(between))
    return float(between[k] + between[k + 1]) / 2
