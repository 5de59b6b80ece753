"""Clusters as the hills of a surface above a level; and the assignment of Pham, Le and Dang, Algorithm 3."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._blocks import count_threads
from ravine._matrix import Floats, Ints
from ravine._neighbors import by_size
from ravine._svc._kernel_sum import KernelSum
from ravine._svc._width_choice import Cells, Sample, largest_region

N_POINTS = 20
"""Of a straight line between two equilibria that are tested, with its ends."""

FEWEST = 10
"""Rows in the strip, where fewer are as near to the boundary as asked."""


@dataclass(frozen=True)
class Nearest:
    """Rows whose clusters are known, and give other rows theirs.

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
        """Cluster of the nearest of the rows to each."""
        return self.labels[self.find(X, n_jobs)]

    def find(self, X: Floats, n_jobs: int | None = None) -> Ints:
        """The nearest of the rows to each."""
        return self._search.set_params(n_jobs=count_threads(n_jobs)).kneighbors(X, return_distance=False)[:, 0]

    @cached_property
    def _search(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=1).fit(self.rows)


@dataclass(frozen=True)
class Modes(Nearest):
    """The hills above a level, by a sample of rows; what lies below belongs to the hill that it is joined to first."""

    @classmethod
    def most_like(cls, kernel_sum: KernelSum, sample: Sample, least: float, target: Ints) -> tuple[Self, float]:
        """The hills at the level at which the clusters are most like those aimed at, and how much they are."""
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
        """The hills that stay the same over most levels, or all as one, and the number of these levels."""
        levels, cells, _ = cls._at_levels(kernel_sum, sample, least)
        # One γ gives all valleys alike: here their depth says little, and levels just count.
        counted = cells._replace(depth=np.where(cells.depth > 0, 1.0, 0.0))
        found = largest_region(counted, sample.share, n_clusters)
        if found is None:
            return cls._with(sample, np.zeros(len(sample.rows), dtype=np.int64), levels[0]), 0.0
        (_, _, level), strength = found
        return cls._with(sample, cells.labels[0, 0, level], levels[level]), strength

    @classmethod
    def with_number(cls, kernel_sum: KernelSum, sample: Sample, least: float, n_clusters: int) -> Self:
        """So many hills: those of a level that has as many or more, joined over the highest of the valleys."""
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
        return cls(sample.rows, _numbered(sample.rows, np.maximum(labels, 0), sample.share), float(level))

    @staticmethod
    def _at_levels(kernel_sum: KernelSum, sample: Sample, least: float) -> tuple[Floats, Cells, Floats]:
        """Levels, what is found at each of them, and the lowest height on each edge of the sample."""
        at_rows = kernel_sum.heights(sample.rows, sample.n_jobs)
        lowest = kernel_sum.lowest_between(sample.rows, sample.a, sample.b, at_rows, sample.n_jobs)
        levels = sample.levels(at_rows)
        parts: tuple[Any, ...] = (levels, *sample.flood(lowest, at_rows, least))
        return levels, Cells(*(part[np.newaxis, np.newaxis] for part in parts)), lowest


@dataclass(frozen=True)
class Strip(Nearest):
    """The rows near the boundary w = 1, in the clusters of their equilibria."""

    @classmethod
    def of(cls, kernel_sum: KernelSum, rows: Floats, epsilon: float, n_jobs: int | None) -> Self:
        """The rows at which w is within ε of 1, or the nearest to it, as published."""
        rows = np.unique(rows, axis=0)
        off = np.abs(kernel_sum.heights(rows, n_jobs) - 1.0)
        strip = np.flatnonzero(off <= epsilon)
        if len(strip) < FEWEST:
            strip = np.sort(np.argsort(off, kind="stable")[:FEWEST])
        equilibria, which = kernel_sum.equilibria(rows[strip], n_jobs)
        group = np.empty(len(equilibria), dtype=np.int64)
        vectors = (kernel_sum.vectors, kernel_sum.coefficients, kernel_sum.gamma)
        _kernels.svc.connect(equilibria, *vectors, 1.0, N_POINTS, group)
        return cls(rows[strip], _numbered(rows[strip], group[which], np.ones(len(which))), 1.0)


def _numbered(rows: Floats, labels: Ints, mass: Floats) -> Ints:
    """The same groups, the heaviest first; of equal ones that with the least row, as no unit and no order change it."""
    order = np.lexsort(rows.T[::-1])
    numbered = np.empty(len(rows), dtype=np.int64)
    numbered[order] = by_size(labels[order], mass[order])
    return numbered
