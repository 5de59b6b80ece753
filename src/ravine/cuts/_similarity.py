"""Similarities of projected points, and what the eigenvectors of their graph start from (Hofmeyr 2016, ch. 3A).

Distances far from the mean are shortened, so that a few distant points do not decide the cut.
"""

import sys

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats

SHAPE = 0.1
"""Parameter α of the similarity (d / (σ α) + 1)^α exp(-d / σ), eq. 3.30."""

CONTRACTION = 0.01
"""Maximum δ of eq. 3.23; δ is σ² if that is smaller. Distances outside the bound are multiplied by about this much."""

NOISE = 1e-3
"""Noise in the first vectors of an iteration, relative to their deviation."""

LEAST_CONNECTED = 1e-22
"""λ₂ below this share of the largest degree counts as zero: its vector then has too few digits for a derivative."""


def drawn_in(values: Floats, bound: Floats | float, contraction: float) -> tuple[Floats, Floats]:
    """Shorten the distances beyond ± `bound` (T of eq. 3.23, centered); return the new values and their slopes."""
    columns, bounds = values.reshape(len(values), -1), np.atleast_1d(np.asarray(bound, dtype=np.float64))
    drawn, slope = np.empty_like(columns), np.empty_like(columns)
    _kernels.spectral.draw_in(columns, bounds, contraction, drawn, slope)
    return drawn.reshape(values.shape), slope.reshape(values.shape)


def scratch_for_pairs(n_points: int) -> Floats:
    """Return an array that `weigh` needs, for one call after another."""
    return np.empty((3, n_points * (n_points - 1) // 2))


def weigh(points: Floats, counts: Floats, scale: float, pairs: Floats, graph: Floats, degrees: Floats) -> None:
    """Fill the weights of the graph of some points, and their sums; see `ravine._kernels.spectral.similarities`."""
    columns = np.ascontiguousarray(points.T)
    _kernels.spectral.similarities(columns, counts, scale, SHAPE, pairs, graph, degrees)


def contraction_at(scale: float) -> float:
    """Return δ for a scale in units of the deviation of the data (ch. 3A §7.1)."""
    return max(min(CONTRACTION, scale * scale), sys.float_info.min)


def log_similarity(distance: Floats) -> Floats:
    """Return the logarithm of the similarity at a distance in units of σ."""
    return np.asarray(SHAPE * np.log1p(distance / SHAPE) - distance)


def first_vectors(drawn: Floats) -> Floats:
    """Return two start vectors for the eigenvectors: along the points and their squares, with a little noise.

    Without noise, points with a symmetry could have an eigenvector that is orthogonal to both.
    """
    vectors = np.stack([drawn[:, 0], drawn[:, -1] ** 2 + drawn[:, -1]])
    noise = np.random.default_rng(0).normal(size=vectors.shape)
    return np.asarray(vectors + NOISE * vectors.std(axis=1, keepdims=True) * noise)
