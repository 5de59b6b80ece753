"""The projection in which rows are least connected, and the cut that it shows (Hofmeyr 2016, ch. 3A).

The connectivity of projected points is λ₂, the second eigenvalue of the Laplacian of their graph. Its logarithm is
minimized, which makes the weight of the correlation between directions a number without unit, and lets the scale of the
similarities go to zero. An evaluation costs O(m³) for m points, whatever the number of rows: the points are
microclusters, or the masses of the rows on a grid where the projection is a line.
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
"""α of the similarity (d / (σ α) + 1)^α exp(-d / σ), eq. 3.30."""

CONTRACTION = 0.01
"""δ of eq. 3.23 at most; it is σ² where that is smaller. Distances outside the bound are this much shorter."""

BOUNDS = (3.0, 1.5, 1.0, 0.5)
"""β: how far from the mean distances count in full, in standard deviations; the first that gives a balanced cut."""

LEAST_SHARE, MOST_SHARE = 1 / 8, 1 / 4
"""Of the rows of a node, which the lighter side of a balanced cut may be asked to have."""

ORTHOGONAL, CORRELATED = 1.0, -0.1
"""ω: what the squared correlations of the directions add to log λ₂."""

ROUGHLY, TOLERANCE = 1e-3, 1e-4
"""Decrease of log λ₂ at which a search ends: to see whether the cut will be balanced, and to its end."""

LINE_POINTS = 256
"""Grid points on a line, at the start of a search."""

MARGIN_SHRINK, MARGIN_STEPS, MARGIN_STILL = 2.0, 10, 1e-3
"""For the large margin σ is divided by the first number until no direction turns by more than the cosine 1 - third."""

SMALL = 1e-12
"""Share of the spread that is none; added to a covariance before it is inverted."""

REPEATED, MOST_REPEATED = 1e-6, 8
"""Eigenvalues are one where they differ by less, relatively; of more than so many, the first are looked at."""

LEAST_CONNECTED = 1e-22
"""λ₂ below this share of the largest degree counts as zero: its vector has too few digits left for a derivative."""

NOISE = 1e-3
"""In the first vectors of an iteration, over their deviation."""


def drawn_in(values: Floats, bound: Floats | float, contraction: float) -> tuple[Floats, Floats]:
    """Values with the distances beyond ± `bound` shortened (T of eq. 3.23, centered), and the slopes of that."""
    columns, bounds = values.reshape(len(values), -1), np.atleast_1d(np.asarray(bound, dtype=np.float64))
    drawn, slope = np.empty_like(columns), np.empty_like(columns)
    _kernels.spectral.draw_in(columns, bounds, contraction, drawn, slope)
    return drawn.reshape(values.shape), slope.reshape(values.shape)


def contraction_at(scale: float) -> float:
    """δ for a scale in units of the data's deviation (ch. 3A §7.1)."""
    return max(min(CONTRACTION, scale * scale), sys.float_info.min)


def first_vectors(drawn: Floats) -> Floats:
    """Two vectors from which to look for eigenvectors: along the points, and their squares, with a little noise.

    Points that lie with a symmetry could have an eigenvector to which both are orthogonal.
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
        Unit directions, and the lengths that they were given with.
    values, deviation : ndarray of shape (n_points, n_components) and (n_components,)
        Where the points fall, and how far they spread.
    drawn, slope : ndarray of shape (n_points, n_components)
        The values with the distances outside the bound shortened, and the slopes of that.
    value, next_value : float
        λ₂ and λ₃, the latter roughly.
    vectors, sizes : ndarray of shape (2, n_points) and (n_points,)
        Their eigenvectors, and the diagonal that makes these of length 1.
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
    """log λ₂ of projected points plus the correlation of the directions, as a function for `pursuit.descend`.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Their mean, by `counts`, is zero.
    counts : ndarray of shape (n_points,)
    scale : float
        σ of the similarity.
    bound : float
        β: distances beyond so many standard deviations of a direction are shortened.
    normalized : bool
        The Laplacian.
    correlation : float
        ω.
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
        """Value, view and gradient for directions that lie one after the other in `flat`, of any length."""
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
            # Too steep to be followed, as its square overflows: the similarities have all but vanished.
            return slopes if np.abs(slopes).max() < LARGEST else np.zeros_like(flat)

        return math.log(second) + self.correlation * float((between**2).sum()), view, gradient

    def minimize(self, start: Floats, tolerance: float = TOLERANCE) -> View | None:
        """The view at the end of a search from some directions; None where nothing is left to compare.

        Where the search ends at an eigenvalue that is repeated, it goes on along a direction that parts the two.
        """
        at, value, view = descend(self, start.ravel(), tolerance)
        while np.isfinite(value) and view.next_value <= (1 + REPEATED) * view.value:
            further, lower, new_view = descend(self, self.decoupled(at), tolerance)
            if not lower < value - tolerance:
                break
            at, value, view = further, lower, new_view
        return view if np.isfinite(value) else None

    def decoupled(self, flat: Floats) -> Floats:
        """A lower point beside one where λ₂ is repeated, along one coordinate (Algorithm 1); itself where none is.

        The derivative of λ₂ along a coordinate is then the smallest eigenvalue of the form that the derivative of the
        Laplacian has on the eigenvectors of λ₂.
        """
        value, view, _ = self(flat)
        self._weigh(view.drawn)
        laplacian = np.diag(self._graph.sum(axis=1)) - self._graph
        all_values, all_vectors = linalg.eigh(laplacian, np.diag(view.sizes), check_finite=False)
        vectors = all_vectors[:, np.abs(all_values - view.value) <= REPEATED * view.value].T[:MOST_REPEATED]
        t = len(vectors)
        forms = np.empty((len(flat), t, t))
        for a in range(t):
            for b in range(t):  # by polarisation
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
        """Which points lie on the left of the best cut among those that the second eigenvector orders."""
        self._weigh(view.drawn)
        order = rounded_order(view.vectors[0])
        _, n_left = _kernels.spectral.sweep(self._graph, order, view.sizes)
        is_left = np.zeros(len(order), dtype=bool)
        is_left[order[:n_left]] = True
        return is_left

    def _weigh(self, drawn: Floats) -> None:
        _kernels.spectral.similarities(drawn, self.counts, self.scale, SHAPE, self._graph, self._degrees)

    def _slopes(self, view: View, vector: Floats) -> Floats:
        """Derivatives of the eigenvalue, or of the form on any vector, by the directions as they were given."""
        by_drawn = np.empty_like(view.drawn)
        settings = (self.scale, SHAPE, self._graph, vector, view.value, self.normalized)
        _kernels.spectral.slopes(view.drawn, *settings, by_drawn)
        by_value = np.empty_like(by_drawn)
        _kernels.spectral.slopes_before(
            view.values, self.counts, self.bound, view.deviation, view.slope, by_drawn, by_value
        )
        return np.asarray(across(by_value.T @ self.points, view).ravel())


def across(by_direction: Floats, view: View) -> Floats:
    """Derivatives by directions of any length, from those by unit directions."""
    along = (by_direction * view.directions).sum(axis=1, keepdims=True)
    return np.asarray((by_direction - along * view.directions) / view.lengths)


@dataclass(frozen=True)
class LineConnectivity:
    """log λ₂ of the rows' masses on a grid along a direction, as an objective of `ravine.cuts._pursuit`.

    Parameters
    ----------
    scale, bound, normalized : as for `Connectivity`
    unit : float
        Length in which `scale` is given.
    step : float
        Distance of the grid points, in units. Rows far outside the bound are moved to the outermost points.
    tolerance : float
        Decrease at which a search ends.
    """

    scale: float
    bound: float
    normalized: bool
    unit: float
    step: float
    tolerance: float

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """log λ₂, the place of the best cut, and the derivatives by the values."""
        count = weights.sum()
        values = values / self.unit
        deviation = math.sqrt(weights @ values**2 / count)
        reach = self.bound * deviation + 2 * self.scale
        inside = np.clip(values, -reach, reach)
        line = Line.around(inside, self.step)
        at_all = line.bin(inside, weights)
        here = np.flatnonzero(at_all)
        mass, places = at_all[here], line.places[here]
        drawn, slope = drawn_in(places, self.bound * deviation, contraction_at(self.scale))
        points = drawn[:, np.newaxis]
        spectral, n = _kernels.spectral, len(here)
        graph, degrees, pivots = np.empty((n, n)), np.empty(n), np.empty(n)
        spectral.similarities(points, mass, self.scale, SHAPE, graph, degrees)
        sizes = degrees if self.normalized else mass
        _, n_left = spectral.sweep(graph, np.arange(n), sizes)
        spectral.eliminate(graph, pivots)
        vectors = first_vectors(points)
        second, _ = spectral.second_pair(graph, pivots, sizes, vectors)
        place = float(places[n_left - 1 : n_left + 1].mean()) * self.unit
        if not LEAST_CONNECTED * (degrees / sizes).max() < second < np.inf:
            return np.inf, place, lambda: np.zeros_like(values)

        def derivatives() -> Floats:
            by_mass, by_point = np.empty(n), np.empty((n, 1))
            spectral.mass_slopes(graph, mass, vectors[0], second, self.normalized, by_mass)
            spectral.slopes(points, self.scale, SHAPE, graph, vectors[0], second, self.normalized, by_point)
            by_value = line.slopes(np.interp(line.places, places, by_mass), inside, weights)
            moved = np.abs(values) > reach
            # The deviation moves the bound under the images outside, and the rows that the reach has moved.
            by_bound = by_point[:, 0] @ (np.sign(places) * (1 - slope)) + by_value[moved] @ np.sign(values[moved])
            by_value[moved] = 0.0
            by_value += by_bound * self.bound * weights * values / (count * deviation)
            return np.asarray(by_value / (second * self.unit))

        return math.log(second), place, derivatives


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
    """Cut of the rows in the projection, found from some starts, in which they are least connected.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    starts : Starts
        Their number is that of the directions of the projection.
    normalized : bool
        The Laplacian.
    correlated : bool
        Let the directions become one, and cut across it; else they stay apart, and the cut is a surface.
    scale : float
        Factor of σ = scale · √l · σ₁ n^(-1/5) for l directions, σ₁ the standard deviation along the first start.
    margin : bool, default=False
        Shrink σ until the directions stand still.
    n_microclusters : int
        Points that stand for the rows at most.
    balance : float
        Weight that the lighter side should have; no less than an eighth and no more than a fourth of the node.
    seed : int
        Draws the rows from which microclusters begin.
    on_bound : callable ``(bound)``, optional
        Told how much the microclusters can have changed λ₂ at most, relatively.
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
    """Directions in the coordinates of the rows, points along them in units, and the sides of these."""

    directions: Floats
    places: Floats
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
    """The rows of a node, centered and in units of their deviation, and the searches among their projections."""

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
        """Least connected projection from some directions, for several of them and then for the one they became."""
        n_directions = len(directions)
        if not self.correlated or n_directions == 1:
            return self._among_points(self.micro, directions, sigma, bound, ORTHOGONAL, tolerance)
        together = self._among_points(self.micro, directions, sigma, bound, CORRELATED, tolerance)
        if together is None:
            return None
        one = pointing_up(linalg.svd(together.directions, full_matrices=False)[2][:1])
        return self._among_points(self.micro, one, sigma / math.sqrt(n_directions), bound, 0.0, tolerance)

    def widen_margin(self, found: "_Found", least: float) -> "_Found":
        """Shrink σ until the directions stand still, or the lighter side becomes lighter than `least`."""
        first, micro = found.scale, self.micro
        least = min(least, found.lighter_side)
        for _ in range(MARGIN_STEPS):
            directions, sigma = found.directions, found.scale / MARGIN_SHRINK
            # log λ₂ is about the margin over σ: what a step of the directions changes grows as σ shrinks.
            tolerance = TOLERANCE * first / sigma
            if len(directions) == 1 and not micro.exact:
                narrower = self._on_line(directions[0], sigma, found.bound, tolerance)
            else:
                if not micro.exact:  # of rows that are close in the projection more than elsewhere
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
        if points.shape[1] > len(points):  # directions of descent lie in the span of the points
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
        place = end.place / self.unit
        places = place + np.array([[-step], [step]]) / 2
        on_left = float(self.weights[values < place].sum())
        counts, is_left = np.array([on_left, self.moments.count - on_left]), np.array([True, False])
        value = math.exp(end.value)
        return _Found(end.direction[np.newaxis], places, counts, is_left, value, sigma, bound, places)

    def _values(self, directions: Floats) -> Floats:
        """Projected rows, centered, in units."""
        parts = [project(self.X, v, self.n_jobs) - self.moments.mean @ v for v in directions]
        return np.stack(parts, axis=1) / self.unit

    def cut(self, found: "_Found") -> Cut:
        """The cut in the coordinates of the rows: a hyperplane on a line, else a surface and one near it."""
        on_line = len(found.directions) == 1
        normal = found.directions[0] if on_line else self._normal(found)
        along = found.places @ (found.directions @ normal)
        up = pointing_up(normal[np.newaxis])[0]
        normal, along = up, along if up @ normal > 0 else -along
        is_left = found.is_left
        if along[is_left].mean() > along[~is_left].mean():
            is_left = ~is_left
        values = self._values(normal[np.newaxis])[:, 0]
        low, high = _threshold(along, is_left, found.counts)
        place = _middle_of_widest_gap(values, low, high)
        depth = depth_at(place, values, self.weights)
        offset = place * self.unit + float(self.moments.mean @ normal)
        surface = None
        if not on_line:
            places = found.places * self.unit + found.directions @ self.moments.mean
            surface = Surface(found.directions, places, is_left)
        return Cut(normal, offset, found.value, depth, surface=surface)

    def approximation_bound(self, found: "_Found") -> float:
        """How much λ₂ of the microclusters can differ from that of the rows, relatively.

        Similarities change by a factor between two numbers (Lemma 15, with the radii in the projection, and for rows of
        one microcluster too), and so does λ₂ of the standard Laplacian; that of the normalized one, a ratio of two such
        sums, by their quotient.
        """
        if self.micro.exact:
            return 0.0
        distances = np.linalg.norm(self._values(found.directions) - found.places[self.micro.group], axis=1)
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
        """Unit normal in the plane of the directions, the discriminant of the two sides."""
        weights = found.counts / found.counts.sum()
        means = [
            np.average(found.places[side], axis=0, weights=weights[side]) for side in (found.is_left, ~found.is_left)
        ]
        centered = found.places - np.where(found.is_left[:, np.newaxis], *means)
        within = (weights[:, np.newaxis] * centered).T @ centered
        within += SMALL * np.trace(found.places.T @ found.places) * np.eye(len(within))
        normal = np.linalg.solve(within, means[1] - means[0]) @ found.directions
        length = np.linalg.norm(normal)
        return np.asarray(normal / length) if length > 0 else found.directions[0]


def _log_similarity(r: Floats) -> Floats:
    return np.asarray(SHAPE * np.log1p(r / SHAPE) - r)


def _threshold(values: Floats, is_left: Bools, counts: Floats) -> tuple[float, float]:
    """The two neighbors on a line between which a cut errs least about the sides of points."""
    order = rounded_order(values)
    signed = np.where(is_left, counts, -counts)[order]
    k = first_least(-np.cumsum(signed)[:-1])
    return float(values[order[k]]), float(values[order[k + 1]])


def _middle_of_widest_gap(values: Floats, low: float, high: float) -> float:
    """The middle of the widest gap between values that lie between two places, these included."""
    between = np.sort(np.concatenate([[low, high], values[(values > low) & (values < high)]]))
    k = first_least(-np.diff(between))
    return float(between[k] + between[k + 1]) / 2
