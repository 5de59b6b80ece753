"""Streams of groups that change in some clear way, for the tests of trees, states and estimators."""

import numpy as np


def centers_of(n_features):
    """Four groups that are apart in every column."""
    ends = 12 * np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
    return np.array([[ends[(k + (j // 2 % 2) * (j % 3)) % 4, j % 2] for j in range(n_features)] for k in range(4)])


def rows_about(rng, centers, n):
    """Rows of groups of equal size, and their groups."""
    y = rng.integers(0, len(centers), size=n)
    return centers[y] + rng.normal(size=(n, centers.shape[1])), y


def stream(n_features, seed, *phases):
    """Rows of phases (n, centers), one after the other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rows_about(rng, np.asarray(centers), n)[0] for n, centers in phases])


def eventful(seed=0, n_features=3):
    """A stream in which a group vanishes, returns, another one jumps, and then all change at once."""
    C = centers_of(n_features)
    jumped = np.vstack([C[:3], 3 * C[3]])
    return stream(n_features, seed, (900, C), (600, C[:3]), (400, C), (700, jumped), (500, 25 - 2 * C))


def appearing(seed=0, n_features=3):
    """A stream in which a new group appears, beyond one of three."""
    C = centers_of(n_features)
    return stream(n_features, seed, (900, C[:3]), (900, np.vstack([C[:3], 3 * C[2]])))
