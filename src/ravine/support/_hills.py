"""Clusters as the hills of a surface above a level; and the assignment of Pham, Le and Dang, Algorithm 3."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ravine import kernels
from ravine.matrix import Floats, Ints
from ravine.neighbours import by_size
from ravine.support._choice import Sample
from ravine.support._surface import Surface

N_POINTS = 20
"""Of a straight line between two equilibria that are tested, with its ends."""

FEWEST = 10
"""Rows in the strip, where fewer are as near to the boundary as asked."""


@dataclass(frozen=True)
class Nearest:
    """Rows whose clusters are known, and give other rows theirs.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features)
    labels : ndarray of shape (n_rows,)
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
        return self._search.set_params(n_jobs=n_jobs).kneighbors(X, return_distance=False)[:, 0]

    @cached_property
    def _search(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=1).fit(self.rows)


@dataclass(frozen=True)
class Hills(Nearest):
    """The hills above a level, by a sample of rows; what lies below belongs to the hill that it is joined to first."""

    @classmethod
    def of(cls, surface: Surface, sample: Sample, least: float, target: Ints | None) -> tuple[Self, float]:
        """The hills at the level at which the clusters are most like those aimed at, and how much they are.

        Without an aim all is one hill.
        """
        levels, labels, number, _ = cls.at_levels(surface, sample, least)
        if target is None:
            return cls(sample.rows, np.zeros(len(sample.rows), dtype=np.int64), float(levels[0])), 1.0
        n_labels = max(int(number.max()), int(target.max()) + 1)
        alike = np.zeros(len(levels))
        for j in np.flatnonzero(number > 0):
            alike[j] = kernels.support.agreement(labels[j], target, n_labels, sample.share)
        best = int(alike.argmax())
        return cls(sample.rows, by_size(np.maximum(labels[best], 0), sample.share), float(levels[best])), float(
            alike[best]
        )

    @classmethod
    def with_number(cls, surface: Surface, sample: Sample, least: float, n_clusters: int) -> Self:
        """So many hills, at the level at which the valleys between them are deepest."""
        levels, labels, number, depth = cls.at_levels(surface, sample, least)
        has_number = np.flatnonzero(number == n_clusters)
        if not len(has_number):
            raise ValueError(
                f"no level of this surface has {n_clusters} clusters, they have {sorted(set(number.tolist()))}: fit "
                f"with n_clusters={n_clusters}"
            )
        best = has_number[depth[has_number].argmax()]
        return cls(sample.rows, by_size(labels[best], sample.share), float(levels[best]))

    @staticmethod
    def at_levels(surface: Surface, sample: Sample, least: float) -> tuple[Floats, Ints, Ints, Floats]:
        """Levels, and at each of them the labels of the sample, the number of hills and the depth between them."""
        at_rows = surface.heights(sample.rows, sample.n_jobs)
        lowest = surface.lowest_between(sample.rows, sample.a, sample.b, at_rows, sample.n_jobs)
        labels, number, _, depth = sample.flood(lowest, at_rows, least)
        return sample.levels(at_rows), labels, number, depth


@dataclass(frozen=True)
class Strip(Nearest):
    """The rows near the boundary w = 1, in the clusters of their equilibria."""

    @classmethod
    def of(cls, surface: Surface, rows: Floats, epsilon: float, n_jobs: int | None) -> Self:
        """The rows at which w is within ε of 1, or the nearest to it, as published."""
        off = np.abs(surface.heights(rows, n_jobs) - 1.0)
        strip = np.flatnonzero(off <= epsilon)
        if len(strip) < FEWEST:
            strip = np.sort(np.argsort(off, kind="stable")[:FEWEST])
        equilibria, which = surface.equilibria(rows[strip], n_jobs)
        group = np.empty(len(equilibria), dtype=np.int64)
        vectors = (surface.vectors, surface.coefficients, surface.gamma)
        kernels.support.connect(equilibria, *vectors, 1.0, N_POINTS, group)
        return cls(rows[strip], by_size(group[which], np.ones(len(which))), 1.0)
