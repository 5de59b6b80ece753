"""Rows to cut, and what is asked of every objective that `ravine.cuts._pursuit` minimises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from ravine._matrix import moments_of, weighted_sum
from ravine.cuts._pursuit import search

ALL_ROWS, NO_ROWS = 10**6, 0
"""Values of `exact_rows`: sums over the rows themselves, or on a grid."""

exact_and_binned = pytest.mark.parametrize("exact", [ALL_ROWS, NO_ROWS], ids=["exact", "binned"])


def cloud(rng, n=80, d=4):
    """Two overlapping clouds of weighted rows."""
    X = rng.normal(size=(n, d))
    X[: n // 2, 0] += 3
    weights = rng.integers(1, 4, size=n).astype(float)
    return X, weights, moments_of(X, weights)


def separable(rng, gap=4.0):
    """Two clouds of 60 rows apart along a slanted direction, much noise along the others."""
    X = rng.normal(size=(120, 3)) * [0.3, 2, 2]
    X[60:, 0] += gap
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return X @ rotation


def smallest_distance(X, cut):
    """From the cut to a row."""
    return np.abs(X @ cut.normal - cut.offset).min()


def check_gradient(objective, rng):
    """Derivatives by the direction are those of finite differences."""
    X, weights, moments = cloud(rng)

    def value(v):
        return objective((X - moments.mean) @ (v / np.linalg.norm(v)), weights)[0]

    for _ in range(5):
        v = rng.normal(size=4)
        unit = v / np.linalg.norm(v)
        c = objective((X - moments.mean) @ unit, weights)[2]()
        by_direction = weighted_sum(X, c) - c.sum() * moments.mean
        gradient = (by_direction - (by_direction @ unit) * unit) / np.linalg.norm(v)
        differences = [(value(v + 1e-7 * e) - value(v - 1e-7 * e)) / 2e-7 for e in np.eye(4)]
        rounding = 1e-15 / 1e-7 * max(abs(value(v)), 1)  # of the value, over the step
        assert_allclose(gradient, differences, atol=1e-6 * max(np.abs(differences).max(), 1e-2) + rounding)


def check_grid(make, rng):
    """The grid changes the value and the partition little; `make` takes `exact_rows`."""
    values = np.concatenate([rng.normal(size=800), rng.normal(5, 1, size=700)])
    values -= values.mean()
    exact, binned = (make(rows)(values, np.ones(1500)) for rows in (ALL_ROWS, NO_ROWS))
    assert binned[0] == pytest.approx(exact[0], rel=0.03)
    assert np.mean((values < exact[1]) != (values < binned[1])) <= 0.001


def check_weights(objective, rng):
    """Integer weights count as repeated rows."""
    values, repeats = rng.normal(size=50), rng.integers(1, 4, size=50)
    values -= np.average(values, weights=repeats)
    often = np.repeat(values, repeats)
    once, repeated = objective(values, repeats.astype(float)), objective(often, np.ones(len(often)))
    assert once[0] == pytest.approx(repeated[0], rel=1e-9)
    assert once[1] == pytest.approx(repeated[1], abs=1e-6)


def check_end_of_search(objective, rng, as_csr):
    """Directions near the end of a search are no better."""
    X, weights, moments = cloud(rng, n=300)
    found = search(sparse.csr_array(X) if as_csr else X, weights, moments.mean, objective, np.eye(4)[0])
    for _ in range(50):
        v = found.direction + 0.05 * rng.normal(size=4)
        v /= np.linalg.norm(v)
        assert objective((X - moments.mean) @ v, weights)[0] >= found.value - 1e-4


def check_separates(cut, X):
    """The cut lies in the valley of `separable`."""
    side = cut.goes_left(X)
    assert side[:60].all() != side[60:].all()
    assert side[:60].sum() in (0, 60)
    assert cut.relative_depth > 0.5
