"""The connected graph of nearest neighbors, and the numbered components of a graph."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from ravine._blocks import count_threads
from ravine._matrix import Bools, Floats, Ints
from ravine._numbering import renumber

FEW = 1000
"""Components with at most this many rows look for their nearest neighbor outside among all rows."""


def neighbor_graph(rows: Floats, n_neighbors: int, n_jobs: int | None = None) -> tuple[Ints, Ints, Floats]:
    """Return the edges between rows if one is among the nearest neighbors of the other, and their lengths.

    Components are joined by the shortest edges between them, those of the minimum spanning tree, so the graph is
    connected. Rows must be distinct.
    """
    n_rows = len(rows)
    n_neighbors = min(n_neighbors, n_rows - 1)
    if n_neighbors == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    nearest = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=count_threads(n_jobs)).fit(rows)
    neighbor = nearest.kneighbors(return_distance=False)
    pairs = _ordered(np.repeat(np.arange(n_rows), n_neighbors), neighbor.ravel(), n_rows)
    while True:
        a, b = np.divmod(pairs, n_rows)
        component = components(a, b, n_rows)
        if component.max() == 0:
            return a, b, np.linalg.norm(rows[a] - rows[b], axis=1)
        exits = np.array([_shortest_exit(rows, component == c, nearest) for c in range(component.max() + 1)])
        pairs = np.union1d(pairs, _ordered(exits[:, 0], exits[:, 1], n_rows))


def components(a: Ints, b: Ints, n_points: int) -> Ints:
    """Return the group of each point when the edges (a, b) join points; groups are numbered in order of appearance."""
    links = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), (n_points, n_points))
    return renumber(connected_components(links, directed=False)[1])


def _ordered(a: Ints, b: Ints, n_rows: int) -> Ints:
    """Return one number per pair, independent of the order within the pair; sorted and unique."""
    return np.unique(np.minimum(a, b).astype(np.int64) * n_rows + np.maximum(a, b))


def _shortest_exit(rows: Floats, inside: Bools, nearest: NearestNeighbors) -> tuple[int, int]:
    """Return the shortest edge from the rows inside to a row outside; ties go to the first."""
    own, other = np.flatnonzero(inside), np.flatnonzero(~inside)
    if len(own) <= FEW and len(own) < len(other):
        length, neighbor = nearest.kneighbors(rows[own], n_neighbors=len(own) + 1)
        length[inside[neighbor]] = np.inf
        row, position = np.unravel_index(length.argmin(), length.shape)
        return int(own[row]), int(neighbor[row, position])
    length, neighbor = NearestNeighbors(n_neighbors=1).fit(rows[other]).kneighbors(rows[own])
    row = int(length.argmin())
    return int(own[row]), int(other[neighbor[row, 0]])
