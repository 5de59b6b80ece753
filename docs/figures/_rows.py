"""Example rows for the figures, mostly in the plane, with their classes."""

import numpy as np


def ridges(n_rows=600, seed=0):
    """Generate two long clusters side by side, rotated by 45 degrees."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) * [5, 0.6]
    X[:, 1] += np.where(y, 2, -2)
    return X @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2), y


def large_and_small(n_large=970, n_small=30, seed=0):
    """Generate a large cluster, and a small one 8 units from its center."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(0, 2, (n_large, 2)), rng.normal([8, 0], 0.4, (n_small, 2))])
    return X, np.repeat([0, 1], [n_large, n_small])


def arc_and_core(seed=0):
    """Generate an arc around a core in two columns, and six columns of noise that is almost as wide."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, 300)
    arc = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.5, (300, 2))
    plane = np.vstack([arc, rng.normal(0, 0.9, (300, 2))])
    return np.column_stack([plane, rng.normal(0, 1.8, (600, 6))]), np.repeat([0, 1], 300)


def valley_between_classes(rng, n_rows=600):
    """Generate two long clusters side by side, rotated, where each cluster is a class."""
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 2)) * [3, 0.8]
    X[:, 1] += 4 * y
    return X @ np.array([[0.8, 0.6], [-0.6, 0.8]]), y


def valley_across_classes(rng, n_rows=600):
    """Generate two clusters, where the boundary between the classes cuts through both of them."""
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += 5 * rng.integers(2, size=n_rows)
    return X, (X[:, 1] > 0).astype(int)


def one_in_ten(rng, n_rows=600):
    """Generate two Gaussians 5 σ apart, the second with a tenth of the rows."""
    y = (rng.random(n_rows) < 0.1).astype(int)
    X = rng.normal(size=(n_rows, 2))
    X[:, 0] += 5 * y
    return X, y


def few_labels(y, n_labels, rng):
    """Keep `n_labels` random labels of each class, and set all others to -1."""
    given = np.full(len(y), -1)
    for k in np.unique(y):
        given[rng.choice(np.flatnonzero(y == k), n_labels, replace=False)] = k
    return given
