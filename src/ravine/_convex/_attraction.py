"""Where fixed centroids pull a new row, with the same forces as those of the problem."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._blocks import BLOCK_CELLS, count_threads
from ravine._convex._edges import gaussian_weights
from ravine._convex._points import Points
from ravine._matrix import Floats, Ints

STEPS = 50
"""Number of steps, after which the centroid of a new row hardly moves."""


def nearest_center(rows: Floats, centers: Floats, weight: Floats, lam: float) -> Ints:
    """Return, for each row, the center nearest to its final position; all centers pull with their weights."""
    nearest = np.empty(len(rows), dtype=np.int64)
    _kernels.pairs.attract(rows, centers[np.newaxis], weight[np.newaxis], lam, STEPS, nearest)
    return nearest


def nearest_neighbor(
    rows: Floats,
    points: Points,
    centroids: Floats,
    lam: float,
    n_neighbors: int,
    unit: float,
    scale: float,
    n_jobs: int | None,
) -> Ints:
    """Return, for each row, the point whose centroid is nearest to its final position.

    The centroids of its nearest points pull it, with Gaussian weights exp(-scale · (distance / unit)²).
    """
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(points.mass)), n_jobs=count_threads(n_jobs))
    length, neighbor = search.fit(points.rows).kneighbors(rows)
    weight = np.sqrt(points.mass[neighbor]) * gaussian_weights(length, unit, scale)
    nearest = np.empty(len(rows), dtype=np.int64)
    n_block = max(BLOCK_CELLS // (neighbor.shape[1] * rows.shape[1]), 2)
    for start in range(0, len(rows), n_block):
        b = slice(start, start + n_block)
        _kernels.pairs.attract(rows[b], centroids[neighbor[b]], weight[b], lam, STEPS, nearest[b])
    return np.take_along_axis(neighbor, nearest[:, np.newaxis], axis=1)[:, 0]
