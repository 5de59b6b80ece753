"""Groups of points: found as the components of a graph, numbered, and added up."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ravine.matrix import Floats, Ints


def components(a: Ints, b: Ints, n_points: int) -> Ints:
    """Group of each point: the edges (a, b) join the points of a group. Numbered as their first points come."""
    links = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), (n_points, n_points))
    return renumber(connected_components(links, directed=False)[1])


def renumber(labels: Ints) -> Ints:
    """The same groups, numbered in the order in which they first come."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def mass_of(group: Ints, mass: Floats, n_groups: int = 0) -> Floats:
    """Sum of the masses in each group."""
    return np.asarray(np.bincount(group, mass, n_groups), dtype=np.float64)


def group_sum(values: Floats, group: Ints, n_groups: int) -> Floats:
    """Sum of the rows of `values` in each group, always added in the same order."""
    out = np.empty((n_groups, values.shape[1]))
    for j in range(values.shape[1]):
        out[:, j] = np.bincount(group, values[:, j], n_groups)
    return out


def group_mean(values: Floats, mass: Floats, group: Ints) -> Floats:
    """Mean of the rows of `values` in each group."""
    n_groups = int(group.max()) + 1
    total = group_sum(mass[:, np.newaxis] * values, group, n_groups)
    return total / mass_of(group, mass, n_groups)[:, np.newaxis]
