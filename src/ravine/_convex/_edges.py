"""Edges of a graph and their Gaussian weights."""

from typing import NamedTuple

import numpy as np

from ravine._matrix import Floats, Ints

LEAST_WEIGHT = 1e-6
"""Of any edge: far components still fuse, at a λ that numbers can hold."""


class Edges(NamedTuple):
    """Edges (a, b), a < b, sorted, and their weights."""

    a: Ints
    b: Ints
    weight: Floats


def gaussian_weights(length: Floats, unit: float, scale: float) -> Floats:
    """exp(-scale · (length / unit)²), but not less than a small number."""
    return np.maximum(np.exp(-scale * (length / unit) ** 2), LEAST_WEIGHT)
