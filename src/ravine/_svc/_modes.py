"""Clusters as the modes of a surface above a level, and the assignment of Pham, Le and Dang, Algorithm 3."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._blocks import count_threads
from ravine._matrix import Floats, Ints
from ravine._numbering import from_low_to_high
from ravine._svc._kernel_sum import KernelSum
from ravine._svc._width_choice import Cells, Sample, largest_region

N_POINTS = 20
"""Number of tested points on a straight line between two equilibria, including its ends."""

FEWEST = 10
"""Minimum number of rows in the strip, if fewer are within ε of the boundary."""


@dataclass(frozen=True)
class Nearest:
    """Rows with known clusters, which assign clusters to other rows.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)
    level : float
        Height above which the surface has these clusters.
    """

    rows: Floats
    labels: Ints
    level: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    def predict(self, X: Floats, n_jobs: int | None = None) -> Ints:
        """Return the cluster of the nearest stored row for each row of X."""
        return self.labels[self.find(X, n_jobs)]

    def find(self, X: Floats, n_jobs: int | None = None) -> Ints:
        """Return the nearest stored row for each row of X."""
        return self._search.set_params(n_jobs=count_threads(n_jobs)).kneighbors(X, return_distance=False)[:, 0]

    @cached_property
    def _search(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=1).fit(self.rows)


@dataclass(frozen=True)
class Modes(Nearest):
    """The modes above a level, found on a sample of rows; points below belong to the mode that they join first."""

    @classmethod
    def most_like(cls, kernel_sum: KernelSum, sample: Sample, least: float, target: Ints) -> tuple[Self, float]:
        """Find the modes at the level whose clusters agree best with the target, and how well they agree."""
        levels, cells, _ = cls._at_levels(kernel_sum, sample, least)
        labels, number = cells.labels[0, 0], cells.number[0, 0]
        n_labels = max(int(number.max()), int(target.max()) + 1)
        alike = np.zeros(len(levels))
        for j in np.flatnonzero(number > 0):
            alike[j] = _kernels.svc.agreement(labels[j], target, n_labels, sample.share)
        best = int(alike.argmax())
        return cls._with(sample, labels[best], levels[best]), float(alike[best])

    @classmethod
    def most_steady(
        cls, kernel_sum: KernelSum, sample: Sample, least: float, n_clusters: int | None
    ) -> tuple[Self, float]:
        """Find the modes that stay the same over most levels, or one cluster, and the number of these levels."""
        levels, cells, _ = cls._at_levels(kernel_sum, sample, least)
        # With one γ, all valleys look alike: their depth says little, so levels are just counted.
        counted = cells._replace(depth=np.where(cells.depth > 0, 1.0, 0.0))
        found = largest_region(counted, sample.share, n_clusters)
        if found is None:
            return cls._with(sample, np.zeros(len(sample.rows), dtype=np.int64), levels[0]), 0.0
        (_, _, level), strength = found
        return cls._with(sample, cells.labels[0, 0, level], levels[level]), strength

    @classmethod
    def with_number(cls, kernel_sum: KernelSum, sample: Sample, least: float, n_clusters: int) -> Self:
        """Find `n_clusters` modes: take a level with at least as many, and merge across the highest valleys."""
        levels, cells, lowest = cls._at_levels(kernel_sum, sample, least)
        labels, number, depth = cells.labels[0, 0], cells.number[0, 0], cells.depth[0, 0]
        if not 1 <= n_clusters <= max(number.max(), 1):
            raise ValueError(
                f"n_clusters={n_clusters}: no level of this surface has more than {number.max()} clusters; fit with "
                f"n_clusters={n_clusters}"
            )
        best = int(np.lexsort((-depth, np.where(number >= n_clusters, number, np.inf)))[0])
        found = np.maximum(labels[best], 0)
        between = np.flatnonzero(found[sample.a] != found[sample.b])
        for e in between[np.argsort(-lowest[between], kind="stable")]:
            if len(np.unique(found)) == n_clusters:
                break
            found[found == found[sample.b[e]]] = found[sample.a[e]]
        return cls._with(sample, found, levels[best])

    @classmethod
    def _with(cls, sample: Sample, labels: Ints, level: float) -> Self:
        return cls(sample.rows, from_low_to_high(np.maximum(labels, 0), sample.rows, sample.share), float(level))

    @staticmethod
    def _at_levels(kernel_sum: KernelSum, sample: Sample, least: float) -> tuple[Floats, Cells, Floats]:
        """Return the levels, the result at each of them, and the minimum height on each edge of the sample."""
        at_rows = kernel_sum.heights(sample.rows, sample.n_jobs)
        lowest = kernel_sum.lowest_between(sample.rows, sample.a, sample.b, at_rows, sample.n_jobs)
        levels = sample.levels(at_rows)
        parts: tuple[Any, ...] = (levels, *sample.flood(lowest, at_rows, least))
        return levels, Cells(*(part[np.newaxis, np.newaxis] for part in parts)), lowest


@dataclass(frozen=True)
class Strip(Nearest):
    """The rows near the boundary w = 1, with the clusters of their equilibria."""

    @classmethod
    def of(cls, kernel_sum: KernelSum, rows: Floats, epsilon: float, n_jobs: int | None) -> Self:
        """Return the strip of the rows with w within ε of 1, or of those nearest to it, as published."""
        rows = np.unique(rows, axis=0)
        off = np.abs(kernel_sum.heights(rows, n_jobs) - 1.0)
        strip = np.flatnonzero(off <= epsilon)
        if len(strip) < FEWEST:
            strip = np.sort(np.argsort(off, kind="stable")[:FEWEST])
        equilibria, which = kernel_sum.equilibria(rows[strip], n_jobs)
        group = np.empty(len(equilibria), dtype=np.int64)
        vectors = (kernel_sum.vectors, kernel_sum.coefficients, kernel_sum.gamma)
        _kernels.svc.connect(equilibria, *vectors, 1.0, N_POINTS, group)
        return cls(rows[strip], from_low_to_high(group[which], rows[strip], np.ones(len(which))), 1.0)
