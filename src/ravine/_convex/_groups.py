"""Sums and means of groups of points."""

import numpy as np

from ravine._matrix import Floats, Ints


def mass_of(group: Ints, mass: Floats, n_groups: int = 0) -> Floats:
    """Return the sum of the masses in each group."""
    return np.asarray(np.bincount(group, mass, n_groups), dtype=np.float64)


def group_sum(values: Floats, group: Ints, n_groups: int) -> Floats:
    """Return the sum of the rows of `values` in each group, always added in the same order."""
    out = np.empty((n_groups, values.shape[1]))
    for j in range(values.shape[1]):
        out[:, j] = np.bincount(group, values[:, j], n_groups)
    return out


def group_mean(values: Floats, mass: Floats, group: Ints) -> Floats:
    """Return the mean of the rows of `values` in each group."""
    n_groups = int(group.max()) + 1
    total = group_sum(mass[:, np.newaxis] * values, group, n_groups)
    return total / mass_of(group, mass, n_groups)[:, np.newaxis]
