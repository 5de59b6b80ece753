"""A sum of Gaussian kernels as a surface over the space of the rows: its height, and the ascent to its modes."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import KDTree

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Ints
from ravine._neighbors import components

APART, MOST_PARTS = 0.5, 12.0
"""Distance between the evaluated points of a line, relative to the kernel width, and maximum number of segments of a
line."""

LEAST_STEP, MAX_STEPS = 1e-5, 5000
"""A trajectory ends when its steps are this short, relative to the kernel width, or after this many steps."""

SAME = 0.05
"""Trajectories that end closer to each other than this, in the same unit, have found the same equilibrium."""


@dataclass(frozen=True)
class KernelSum:
    """The function w(x) = Σ cᵢ exp(-γ ‖x - vᵢ‖²).

    Attributes
    ----------
    vectors : ndarray of shape (n_vectors, n_features)
        The vectors v.
    coefficients : ndarray of shape (n_vectors,)
        The coefficients c, all nonnegative.
    gamma : float
        γ, the inverse of the squared width of the kernel.
    """

    vectors: Floats
    coefficients: Floats
    gamma: float

    @property
    def width(self) -> float:
        """Distance at which the kernel has dropped to 1/e."""
        return float(1.0 / np.sqrt(self.gamma))

    def heights(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return the value of the function at each row."""
        out = np.empty(len(X))
        map_blocks(lambda b: _kernels.svc.heights(X[b], *self._arguments, out[b]), self._work(X), n_jobs)
        return out

    def reach(self, height: float) -> float:
        """Return a distance from all vectors beyond which the function is lower than a height.

        At a distance d from all vectors, w is at most Σ cᵢ exp(-γ d²). The result is at least the width of the kernel.
        """
        ratio = self.coefficients.sum() / max(height, np.finfo(np.float64).tiny)
        return float(np.sqrt(np.log(max(float(ratio), math.e)) / self.gamma))

    def climb(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return the equilibrium to which the mean shift leads from each row."""
        out = np.empty_like(X)
        step = LEAST_STEP * self.width

        def block(b: slice) -> None:
            _kernels.svc.climb(X[b], *self._arguments, step, MAX_STEPS, out[b])

        map_blocks(block, self._work(X), n_jobs)
        return out

    def equilibria(self, X: Floats, n_jobs: int | None = None) -> tuple[Floats, Ints]:
        """Return the distinct ends of trajectories from the rows, highest first, and the end that each row reaches."""
        ends = self.climb(X, n_jobs)
        # Ends in one cell of a fine lattice are one point; points close to each other are one equilibrium.
        origin = self.vectors[0]
        cell, position = np.unique(np.round((ends - origin) / (0.2 * SAME * self.width)), axis=0, return_inverse=True)
        near = KDTree(cell).query_radius(cell, 5.0)
        a = np.repeat(np.arange(len(cell)), [len(n) for n in near])
        group = components(a, np.concatenate(near).astype(np.int64), len(cell))[position]
        height = self.heights(ends, n_jobs)
        highest_first = np.lexsort((-height, group))
        top = highest_first[np.searchsorted(group[highest_first], np.arange(group.max() + 1))]
        order = np.argsort(-height[top], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return ends[top[order]], rank[group]

    def lowest_between(self, X: Floats, a: Ints, b: Ints, at_rows: Floats, n_jobs: int | None = None) -> Floats:
        """Return the minimum height on the straight lines between rows a and b."""
        out = np.empty(len(a))

        def block(e: slice) -> None:
            _kernels.svc.lowest_between(
                X, a[e], b[e], *self._arguments, APART * self.width, MOST_PARTS, at_rows, out[e]
            )

        map_blocks(block, (len(a), 3 * len(self.vectors)), n_jobs)
        return out

    def norm_sq(self) -> float:
        """Return the squared norm of the function in feature space."""
        return float(self.coefficients @ self.heights(self.vectors))

    @property
    def _arguments(self) -> tuple[Floats, Floats, float]:
        return self.vectors, self.coefficients, self.gamma

    def _work(self, X: Floats) -> tuple[int, int]:
        """Return the shape of a matrix that takes as long to process."""
        return len(X), max(self.vectors.size // 4, 1)


def kernel_matrix(X: Floats, gamma: float, out: Floats) -> None:
    """Fill `out` with the kernel between all rows."""
    one = np.ones(1)
    for i, row in enumerate(X):
        _kernels.svc.heights(X, row[np.newaxis], one, gamma, out[i])
