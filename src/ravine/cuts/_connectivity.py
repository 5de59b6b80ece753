"""How connected points are in a projection, as a function of its directions, with its gradient (ch. 3A).

The connectivity is λ₂, the second eigenvalue of the Laplacian of the graph of the projected points. The function is its
logarithm. So the weight of the correlation between directions has no unit, and the scale of the similarities can go to
zero. One evaluation costs O(m³) for m points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ravine import _kernels
from ravine._matrix import LARGEST, Bools, Floats
from ravine._ties import first_least, is_less, rounded_order
from ravine.cuts._pursuit import descend
from ravine.cuts._similarity import (
    LEAST_CONNECTED,
    SHAPE,
    contraction_at,
    drawn_in,
    first_vectors,
    scratch_for_pairs,
    weigh,
)

TOLERANCE = 1e-4
"""A search ends at this decrease of log λ₂."""

REPEATED, MOST_REPEATED = 1e-6, 8
"""Eigenvalues count as equal if their relative difference is below the first number; at most the second number of them
are used."""


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
        self._pairs = scratch_for_pairs(n)
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
        weigh(drawn, self.counts, self.scale, self._pairs, self._graph, self._degrees)

    def _slopes(self, view: View, vector: Floats) -> Floats:
        """Return the derivatives of the eigenvalue, or of the form on any vector, by the directions as given."""
        columns = np.ascontiguousarray(view.drawn.T)
        by_column, by_value = np.zeros_like(columns), np.empty_like(view.drawn)
        settings = (self.scale, SHAPE, self._graph, vector, view.value, self.normalized)
        _kernels.spectral.slopes(columns, *settings, by_column)
        by_drawn, count = np.ascontiguousarray(by_column.T), float(self.counts.sum())
        _kernels.spectral.slopes_before(
            view.values, self.counts, count, self.bound, view.deviation, view.slope, by_drawn, by_value
        )
        return np.asarray(across(by_value.T @ self.points, view).ravel())


def across(by_direction: Floats, view: View) -> Floats:
    """Convert derivatives by unit directions into derivatives by directions of any length."""
    along = (by_direction * view.directions).sum(axis=1, keepdims=True)
    return np.asarray((by_direction - along * view.directions) / view.lengths)
