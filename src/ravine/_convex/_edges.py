"""Edges of a graph and their Gaussian weights."""

from typing import NamedTuple

import numpy as np

from ravine._matrix import Floats, Ints

LEAST_WEIGHT = 1e-6
"""Minimum weight of an edge, so that distant components still fuse at a λ that numbers can represent."""


class Edges(NamedTuple):
    """Edges (a, b) with a < b, sorted, and their weights."""

    a: Ints
    b: Ints
    weight: Floats


def gaussian_weights(length: Floats, unit: float, scale: float) -> Floats:
    """Return exp(-scale · (length / unit)²), but at least a small number."""
    return np.maximum(np.exp(-scale * (length / unit) ** 2), LEAST_WEIGHT)
