"""Points whose graph has two groups, and what the tests of its eigenvalues share."""

import numpy as np
import pytest

both_laplacians = pytest.mark.parametrize("normalized", [False, True], ids=["standard", "normalized"])


def cloud(rng, n=30, d=4):
    """Points of mean zero in two groups, and counts."""
    points = rng.normal(size=(n, d))
    points[: n // 3, 0] += 3
    counts = rng.integers(1, 4, size=n).astype(float)
    return points - np.average(points, axis=0, weights=counts), counts


def differences(function, at, step=1e-6):
    return np.array([(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))])


def same_partition(one, other):
    return (one == other).all() or (one != other).all()
