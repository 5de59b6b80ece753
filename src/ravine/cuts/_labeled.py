"""The direction along which rows are least connected while labels keep the classes apart (Hofmeyr 2016, ch. 3B).

All rows are masses on a grid along the direction. The rows of a class form one node of the graph: the thesis joins them
by a similarity H, and this is its limit for large H. A penalty that grows with the distance joins a labeled row to
whatever lies on the wrong side of it. So the least connected direction separates the classes where a direction can.
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
from ravine.cuts._similarity import contraction_at, drawn_in, first_vectors

FIRST_SCALE, FIRST_BOUND = 3.0, 0.5
"""A search begins with a scale this many times larger, and with the cut near the mean; otherwise it stays at its
start."""

POWER = 1.5
"""Exponent 1 + ε of eq. 3.47."""

APART = 1e-6
"""Rows count as separated if λ₂ is below this share of their weight; a smaller λ₂ is not worth another step."""

POINTS = 128
"""Number of grid points within reach at the start of a search; with at most this many rows, the rows are the points."""

REACH = 4.0
"""The grid extends this many scales beyond the bound; rows farther out are moved to its ends."""

TOLERANCE = 1e-4
"""A search ends when log λ₂ decreases by less than this."""

CENTILE = 99
"""Percentile of the distances from rows to their nearest neighbors that sets the scale."""

FEW_ROWS = 256
"""Up to this many rows, all distances are computed."""


@dataclass(frozen=True)
class LabeledConnectivity:
    """log λ₂ of rows on a line, some of them labeled, as an objective for `ravine.cuts._pursuit`.

    Parameters
    ----------
    sides : ndarray of shape (n_samples,)
        -1 for rows of the class on the left, 1 for rows of the class on the right, 0 for unlabeled rows.
    scale : float
        σ of the similarity exp(-d² / 2σ²), in units.
    bound : float
        β: distances beyond this many standard deviations are shortened.
    unit : float
        Unit of length for distances.
    step : float
        Distance between grid points, in units.
    tolerance : float, default=TOLERANCE
    """

    sides: Ints
    scale: float
    bound: float
    unit: float
    step: float
    tolerance: float = TOLERANCE

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return log λ₂, the position of the best cut, and the derivatives with respect to the values."""
        count = weights.sum()
        values = values / self.unit
        deviation = math.sqrt(weights @ values**2 / count)
        parts = [np.where(self.sides == side, weights, 0.0) for side in (0, -1, 1)]
        exact = len(values) <= POINTS
        if exact:
            order = np.argsort(values, kind="stable")
            positions, masses = values[order], [part[order] for part in parts]
        else:
            reach = self.bound * deviation + REACH * self.scale
            inside = np.clip(values, -reach, reach)
            line = Line.around(inside, self.step)
            positions, masses = line.positions, [line.bin(inside, part) for part in parts]
        mass, left, right = masses
        drawn, slope = drawn_in(positions, self.bound * deviation, contraction_at(self.scale))
        n, free = len(positions), np.flatnonzero(mass)
        n_nodes = len(free) + 2
        similarity, graph, pivots = np.empty((n, n)), np.empty((n_nodes, n_nodes)), np.empty(n_nodes)
        settings = (drawn, positions, mass, left, right, self.scale, POWER)
        _kernels.spectral.labeled_similarities(*settings, free, similarity, graph)
        sizes = np.concatenate([[left.sum(), right.sum()], mass[free]])
        position = _best_position(graph, sizes, positions, positions[free]) * self.unit
        _kernels.spectral.eliminate(graph, pivots)
        first = np.concatenate([[drawn[0], drawn[-1]], drawn[free]])
        vectors = first_vectors(first[:, np.newaxis])
        second, _ = _kernels.spectral.second_pair(graph, pivots, sizes, vectors)
        tiny = APART * count
        if not 0 < second < np.inf:  # the similarities have vanished, so nothing is connected
            return math.log(tiny), position, lambda: np.zeros_like(values)

        def derivatives() -> Floats:
            vector, slopes = np.zeros(n + 2), np.empty((5, n))
            vector[:2], vector[free + 2] = vectors[0, :2], vectors[0, 2:]
            _kernels.spectral.labeled_slopes(*settings, similarity, vector, second, slopes)
            by_bound = slopes[3] @ (np.sign(positions) * (1 - slope))
            if exact:
                by_value = np.empty(n)
                by_value[order] = slopes[3] * slope + slopes[4]
            else:
                if len(free):
                    slopes[0] = np.interp(positions, positions[free], slopes[0, free])
                by_part = [line.slopes(s, inside, part) for s, part in zip(slopes[:3], parts, strict=True)]
                by_value = np.sum(by_part, axis=0)
                moved = np.abs(values) > reach
                by_bound += by_value[moved] @ np.sign(values[moved])
                by_value[moved] = 0.0
            by_value += by_bound * self.bound * weights * values / (count * deviation)
            return np.asarray(by_value / ((second + tiny) * self.unit))

        return math.log(second + tiny), position, derivatives


def _best_position(graph: Floats, sizes: Floats, positions: Floats, free: Floats) -> float:
    """Return the midpoint between the two positions beside the best cut, with the classes on their sides."""
    among = graph[2:, 2:]
    added = among.sum(axis=1) - 2 * np.tril(among).sum(axis=1) + graph[1, 2:] - graph[0, 2:]
    across = graph[0].sum() + np.concatenate([[0.0], np.cumsum(added)])
    on_left = sizes[0] + np.concatenate([[0.0], np.cumsum(sizes[2:])])
    k = int((across * (1 / on_left + 1 / (sizes.sum() - on_left))).argmin())
    low = free[k - 1] if k > 0 else positions[0]
    high = free[k] if k < len(free) else positions[-1]
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
    """Find the cut along the least connected direction, over several starts.

    Parameters
    ----------
    X, weights, moments : rows, their weights and moments
    sides : ndarray of shape (n_samples,)
        -1 for rows that belong to the left of the cut, 1 for those to the right, 0 for unlabeled rows.
    starts : ndarray of shape (n_starts, n_features)
        Unit directions with the left class on their low side.
    scale : float
        Factor in σ = scale · q / √d for d columns, where q is the 99th percentile of the nearest-neighbor distances.
    bound : float
        β, in standard deviations.

    Returns
    -------
    cut : Cut or None
        None if the rows do not vary.
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
    depth = depth_at(best.position, values, weights)
    return Cut(best.direction, float(best.position + moments.mean @ best.direction), best.value, depth)


def merged(X: Matrix, sides: Ints, weights: Floats) -> tuple[Matrix, Ints, Floats]:
    """Merge equal rows on the same side into one row of more weight; many rows are returned unchanged.

    Few rows in many columns can be separated along very many directions, and the last digit decides which one is found.
    Copies of a row and a weight must give the same result there.
    """
    if X.shape[0] > COARSE_ROWS:
        return X, sides, weights
    keys = np.stack([fingerprint(X, 0).view(np.int64), sides])
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return X[first], sides[first], np.asarray(np.bincount(group.reshape(-1), weights), dtype=np.float64)


def typical_gap(X: Matrix, moments: Moments, direction: Floats, n_jobs: int | None = None) -> float:
    """Return the 99th percentile of the distances from distinct rows to their nearest neighbors.

    For many rows, a sample spread along a direction is used. If all rows are copies, the result is the root mean square
    distance to the mean.
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
    """Return the distance of each row to its nearest neighbor."""
    if sparse.issparse(rows):
        return np.asarray(NearestNeighbors(n_neighbors=1).fit(rows).kneighbors()[0][:, 0])
    centered = rows - mean  # squares lose digits far from the origin
    if len(rows) > FEW_ROWS:
        return np.asarray(NearestNeighbors(n_neighbors=1).fit(centered).kneighbors()[0][:, 0])
    apart = distance.squareform(distance.pdist(centered))  # starting threads would take longer
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.min(axis=1))
