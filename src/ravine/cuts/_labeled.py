"""The direction along which rows are least connected while their labels keep them apart (Hofmeyr 2016, ch. 3B).

All rows are masses on a grid along the direction. Those of a class are one node of the graph: the thesis joins them by
a similarity H, and this is its limit for large H. A labeled row is joined to what lies on the wrong side of it by a
penalty that grows with the distance, so the least connected direction separates the classes where one can.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.spatial import distance
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._matrix import Floats, Ints, Matrix, Moments, fingerprint, project
from ravine.cuts._cut import Cut
from ravine.cuts._density import Line, depth_at
from ravine.cuts._pursuit import COARSE_ROWS, search, spread_sample
from ravine.cuts._spectral import contraction_at, drawn_in, first_vectors

FIRST_SCALE, FIRST_BOUND = 3.0, 0.5
"""A search begins with a scale so many times as large, and the cut near the mean: without it, it stays at its start."""

POWER = 1.5
"""1 + ε of eq. 3.47."""

APART = 1e-6
"""Rows are apart where λ₂ is so small a share of their weight; to make it smaller still is not worth a step."""

POINTS = 128
"""Grid points within reach, at the start of a search; no more rows than these are the points themselves."""

REACH = 4.0
"""The grid reaches so many scales beyond the bound; rows further out are moved to its ends."""

TOLERANCE = 1e-4
"""Decrease of log λ₂ at which a search ends."""

CENTILE = 99
"""Of the distances of rows to their nearest neighbors, which give the scale."""

FEW_ROWS = 256
"""Up to here all distances are computed."""


@dataclass(frozen=True)
class LabeledConnectivity:
    """log λ₂ of rows on a line, some of them labeled, as an objective of `ravine.cuts._pursuit`.

    Parameters
    ----------
    sides : ndarray of shape (n_samples,)
        -1 for the rows of the class on the left, 1 for that on the right, 0 for rows without a label.
    scale : float
        σ of the similarity exp(-d² / 2σ²), in units.
    bound : float
        β: distances beyond so many standard deviations are shortened.
    unit : float
        Length in which distances are measured.
    step : float
        Distance of the grid points, in units.
    tolerance : float, default=TOLERANCE
    """

    sides: Ints
    scale: float
    bound: float
    unit: float
    step: float
    tolerance: float = TOLERANCE

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """log λ₂, the place of the best cut, and the derivatives by the values."""
        count = weights.sum()
        values = values / self.unit
        deviation = math.sqrt(weights @ values**2 / count)
        parts = [np.where(self.sides == side, weights, 0.0) for side in (0, -1, 1)]
        exact = len(values) <= POINTS
        if exact:
            order = np.argsort(values, kind="stable")
            places, masses = values[order], [part[order] for part in parts]
        else:
            reach = self.bound * deviation + REACH * self.scale
            inside = np.clip(values, -reach, reach)
            line = Line.around(inside, self.step)
            places, masses = line.places, [line.bin(inside, part) for part in parts]
        mass, left, right = masses
        drawn, slope = drawn_in(places, self.bound * deviation, contraction_at(self.scale))
        n, free = len(places), np.flatnonzero(mass)
        n_nodes = len(free) + 2
        similarity, graph, pivots = np.empty((n, n)), np.empty((n_nodes, n_nodes)), np.empty(n_nodes)
        settings = (drawn, places, mass, left, right, self.scale, POWER)
        _kernels.spectral.labeled_similarities(*settings, free, similarity, graph)
        sizes = np.concatenate([[left.sum(), right.sum()], mass[free]])
        place = _best_place(graph, sizes, places, places[free]) * self.unit
        _kernels.spectral.eliminate(graph, pivots)
        first = np.concatenate([[drawn[0], drawn[-1]], drawn[free]])
        vectors = first_vectors(first[:, np.newaxis])
        second, _ = _kernels.spectral.second_pair(graph, pivots, sizes, vectors)
        tiny = APART * count
        if not 0 < second < np.inf:  # similarities have vanished: nothing is joined
            return math.log(tiny), place, lambda: np.zeros_like(values)

        def derivatives() -> Floats:
            vector, slopes = np.zeros(n + 2), np.empty((5, n))
            vector[:2], vector[free + 2] = vectors[0, :2], vectors[0, 2:]
            _kernels.spectral.labeled_slopes(*settings, similarity, vector, second, slopes)
            by_bound = slopes[3] @ (np.sign(places) * (1 - slope))
            if exact:
                by_value = np.empty(n)
                by_value[order] = slopes[3] * slope + slopes[4]
            else:
                if len(free):
                    slopes[0] = np.interp(places, places[free], slopes[0, free])
                by_part = [line.slopes(s, inside, part) for s, part in zip(slopes[:3], parts, strict=True)]
                by_value = np.sum(by_part, axis=0)
                moved = np.abs(values) > reach
                by_bound += by_value[moved] @ np.sign(values[moved])
                by_value[moved] = 0.0
            by_value += by_bound * self.bound * weights * values / (count * deviation)
            return np.asarray(by_value / ((second + tiny) * self.unit))

        return math.log(second + tiny), place, derivatives


def _best_place(graph: Floats, sizes: Floats, places: Floats, free: Floats) -> float:
    """The middle between two neighbors of all places where the best cut lies, the classes on their sides."""
    among = graph[2:, 2:]
    added = among.sum(axis=1) - 2 * np.tril(among).sum(axis=1) + graph[1, 2:] - graph[0, 2:]
    across = graph[0].sum() + np.concatenate([[0.0], np.cumsum(added)])
    on_left = sizes[0] + np.concatenate([[0.0], np.cumsum(sizes[2:])])
    k = int((across * (1 / on_left + 1 / (sizes.sum() - on_left))).argmin())
    low = free[k - 1] if k > 0 else places[0]
    high = free[k] if k < len(free) else places[-1]
    return float(low + high) / 2


def labeled_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    sides: Ints,
    *,
    starts: Floats,
    scale: float,
    bound: float,
    n_jobs: int | None = None,
) -> Cut | None:
    """Cut along the least connected direction that is found from some starts.

    Parameters
    ----------
    X, weights, moments : rows, their weights and moments
    sides : ndarray of shape (n_samples,)
        -1 for the rows that belong to the left of the cut, 1 to the right, 0 for those without a label.
    starts : ndarray of shape (n_starts, n_features)
        Unit directions, the left class on their low side.
    scale : float
        Factor of σ = scale · q / √d for d columns, q the 99th centile of the distances to the nearest neighbors.
    bound : float
        β, in standard deviations.

    Returns
    -------
    cut : Cut or None
        None where the rows do not vary.
    """
    if not moments.sum_sq > 0 or not len(starts):
        return None
    unit = moments.unit
    sigma = scale * typical_gap(X, moments, starts[0], n_jobs) / (math.sqrt(X.shape[1]) * unit)
    ends = []
    for direction in starts:
        for sigma_here, bound_here in ((FIRST_SCALE * sigma, min(FIRST_BOUND, bound)), (sigma, bound)):
            values = (project(X, direction, n_jobs) - moments.mean @ direction) / unit
            reach = bound_here * math.sqrt(weights @ values**2 / moments.count) + REACH * sigma_here
            step = 2 * min(reach, float(np.abs(values).max())) / POINTS
            if not step > 0:
                break
            objective = LabeledConnectivity(sides, sigma_here, bound_here, unit, step)
            found = search(X, weights, moments.mean, objective, direction, n_jobs)
            direction = found.direction
        else:
            ends.append(found)
    if not ends:
        return None
    best = min(ends, key=lambda found: found.value)
    values = project(X, best.direction, n_jobs) - moments.mean @ best.direction
    depth = depth_at(best.place, values, weights)
    return Cut(best.direction, float(best.place + moments.mean @ best.direction), best.value, depth)


def merged(X: Matrix, sides: Ints, weights: Floats) -> tuple[Matrix, Ints, Floats]:
    """Rows with those that are equal, and on the same side, made one of more weight; many rows as they are.

    Few rows in many columns fall apart along very many directions, and which of them is found hangs by the last digit:
    copies and weights must not differ in that.
    """
    if X.shape[0] > COARSE_ROWS:
        return X, sides, weights
    keys = np.stack([fingerprint(X, 0).view(np.int64), sides])
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return X[first], sides[first], np.asarray(np.bincount(group.reshape(-1), weights), dtype=np.float64)


def typical_gap(X: Matrix, moments: Moments, direction: Floats, n_jobs: int | None = None) -> float:
    """The 99th centile of the distances of distinct rows to their nearest neighbors; of many rows, of a sample
    that is spread along a direction.

    Where nothing but copies is left, it is the root mean square distance to the mean.
    """
    rows = X
    if X.shape[0] > COARSE_ROWS:
        rows = X[spread_sample(X, direction, n_jobs)]
    distinct = np.unique(fingerprint(rows, 0), return_index=True)[1]
    if len(distinct) > 1:
        gap = float(np.percentile(_nearest_distances(rows[np.sort(distinct)], moments.mean), CENTILE))
        if gap > 0:
            return gap
    return math.sqrt(moments.sum_sq / moments.count)


def _nearest_distances(rows: Matrix, mean: Floats) -> Floats:
    """Distance of each row to its nearest neighbor."""
    if sparse.issparse(rows):
        return np.asarray(NearestNeighbors(n_neighbors=1).fit(rows).kneighbors()[0][:, 0])
    centered = rows - mean  # far from the origin squares would lose their digits
    if len(rows) > FEW_ROWS:
        return np.asarray(NearestNeighbors(n_neighbors=1).fit(centered).kneighbors()[0][:, 0])
    apart = distance.squareform(distance.pdist(centered))  # threads would take longer to wake up
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=1))
