"""Finding which of many classes are near each other, and voting among the classes near a row.

k classes have k(k - 1) / 2 pairs. Most pairs are so far apart that their boundary adds no information. Here a class is
compared only with the few classes whose means are nearest to its own. A row is first assigned to the class with the
nearest mean. Then this class and the classes near it vote. Distances are those of a linear discriminant: they are
measured in standard deviations within the classes. docs/decisions/semi-supervised.md gives the reasons.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np
from scipy import linalg, sparse
from scipy.special import log_expit
from sklearn.neighbors import NearestNeighbors

from ravine import _kernels
from ravine._blocks import map_blocks
from ravine._matrix import Floats, Ints, Matrix, scatter

MOST_PAIRED = 15
"""With at most this many classes, every pair has a boundary."""

N_NEAREST = 6
"""With more classes, each class is compared with this many nearest classes, or more."""

LEAST_SHRINKAGE = 0.5
"""Minimum shrinkage of the covariance within classes towards a spherical one, because there are few labels."""

MOST_COLUMNS = 500
"""With more columns than this, or with sparse data, the covariance within classes is taken as spherical."""

LogOdds = Callable[[Matrix, int], Floats]
"""Function of rows and the number of a pair; returns the log-odds of its second class against its first."""


@dataclass(frozen=True)
class NearClasses:
    """Linear discriminants of the classes, and the nearest classes of each.

    The discriminant of class c is x · towards[c] - least[c]. If the classes were Gaussian, the difference between two
    discriminants would be the log-odds of the two classes.

    Attributes
    ----------
    towards : ndarray of shape (n_classes, n_features)
    least : ndarray of shape (n_classes,)
    nearest : ndarray of shape (n_classes, n_nearest)
        Nearest classes of each class, the nearest first.
    """

    towards: Floats
    least: Floats
    nearest: Ints

    @classmethod
    def of(cls, rows: Matrix, code: Ints, weights: Floats, n_classes: int) -> Self:
        """Compute the discriminants from rows and their classes; a row with a negative code belongs to no class."""
        here = np.flatnonzero(code >= 0)
        rows, code, weights = rows[here], code[here], weights[here]
        means = class_means(rows, code, weights, n_classes)
        center = means.mean(axis=0)
        white, towards = _whitened(means - center, rows, means[code], weights, n_classes)
        search = NearestNeighbors(n_neighbors=N_NEAREST, algorithm="brute").fit(white)
        least = towards @ center + 0.5 * (white**2).sum(axis=1)
        return cls(towards, least, search.kneighbors(return_distance=False).astype(np.int64))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Sorted pairs of classes in which one is among the nearest of the other, the smaller number first."""
        own = np.repeat(np.arange(len(self.least)), self.nearest.shape[1])
        both = np.sort(np.stack([own, self.nearest.ravel()], axis=1), axis=1)
        return [(int(a), int(b)) for a, b in np.unique(both, axis=0)]

    @cached_property
    def _number(self) -> dict[tuple[int, int], int]:
        return {pair: number for number, pair in enumerate(self.pairs)}

    def nearest_class(self, rows: Matrix, n_jobs: int | None) -> Ints:
        """Return the class with the largest discriminant for each row."""
        shape = (rows.shape[0], len(self.least))
        return np.concatenate(map_blocks(lambda b: self._discriminants(rows[b], None).argmax(axis=1), shape, n_jobs))

    def decide(self, rows: Matrix, log_odds: LogOdds, slopes: Floats, n_jobs: int | None) -> Floats:
        """Return the logarithm of the probability that a class wins its pairs, of shape (n_samples, n_classes).

        The class nearest to a row is the home of the row. The pairs are those among the home and the classes near it.
        If two of these classes have no boundary, they are compared by their log-odds against the home. All other
        classes are compared by their discriminants against the home, scaled to the steepness of the boundaries, and
        never come first. `slopes` has the slope of the log-odds of each pair.
        """
        decision = self._discriminants(rows, n_jobs) * self._temper(slopes)
        for here, near, by_home, votes in self._by_home(rows, decision.argmax(axis=1), log_odds):
            behind = decision[here] - decision[here, near[0]][:, np.newaxis]
            others = np.sum([log_expit(behind - odds[:, np.newaxis]) for odds in by_home], axis=0)
            decision[here] = np.minimum(others, np.nextafter(votes.max(axis=1, keepdims=True), -np.inf))
            decision[here[:, np.newaxis], near] = votes
        return decision

    def best(self, rows: Matrix, log_odds: LogOdds, n_jobs: int | None) -> Ints:
        """Return the class that comes first in `decide`, for each row."""
        best = np.empty(rows.shape[0], dtype=np.int64)
        for here, near, _, votes in self._by_home(rows, self.nearest_class(rows, n_jobs), log_odds):
            order = np.argsort(near)  # a tie goes to the first class
            best[here] = near[order][votes[:, order].argmax(axis=1)]
        return best

    def _by_home(
        self, rows: Matrix, home: Ints, log_odds: LogOdds
    ) -> Iterator[tuple[Ints, Ints, list[Floats], Floats]]:
        """Yield, for each class that is the home of rows: these rows, the classes that vote, and their `_votes`."""
        order = np.argsort(home, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(home[order])) + 1):
            near = np.append(home[here[0]], self.nearest[home[here[0]]])
            yield here, near, *self._votes(rows[here], near.tolist(), log_odds)

    def _temper(self, slopes: Floats) -> float:
        """Return the steepness of the boundaries per unit of the discriminants, the median over the pairs."""
        first, second = np.array(self.pairs).T
        steepness = np.linalg.norm(self.towards[first] - self.towards[second], axis=1)
        return float(np.median(slopes[steepness > 0] / steepness[steepness > 0])) if steepness.any() else 1.0

    def _votes(self, rows: Matrix, near: list[int], log_odds: LogOdds) -> tuple[list[Floats], Floats]:
        """Return the log-odds of some classes against the first of them, and the votes of all pairs among them."""

        def against(a: int, b: int) -> Floats | None:
            first, second = min(near[a], near[b]), max(near[a], near[b])
            number = self._number.get((first, second))
            if number is None:
                return None
            odds = log_odds(rows, number)
            return odds if near[a] == second else -odds

        by_home = [np.zeros(rows.shape[0])]
        for a in range(1, len(near)):
            odds = against(a, 0)
            assert odds is not None, "a class and each of its nearest classes are a pair"
            by_home.append(odds)
        votes = np.zeros((rows.shape[0], len(near)))
        for a, b in combinations(range(len(near)), 2):
            odds = against(b, a) if a else by_home[b]
            odds = by_home[b] - by_home[a] if odds is None else odds
            votes[:, b] += log_expit(odds)
            votes[:, a] += log_expit(-odds)
        return by_home, votes

    def _discriminants(self, rows: Matrix, n_jobs: int | None) -> Floats:
        if sparse.issparse(rows):
            return np.asarray(rows @ self.towards.T - self.least, dtype=np.float64)
        out = np.empty((rows.shape[0], len(self.least)))
        map_blocks(lambda b: _kernels.rows.project_all(rows[b], self.towards, out[b]), out.shape, n_jobs)
        return out - self.least


def class_means(rows: Matrix, code: Ints, weights: Floats, n_classes: int) -> Floats:
    """Return the weighted mean of the rows of each class."""
    member = sparse.csr_array((weights, (code, np.arange(len(code)))), shape=(n_classes, len(code)))
    total = member @ rows
    dense = np.asarray(total.toarray() if sparse.issparse(total) else total, dtype=np.float64)
    return np.asarray(dense / np.bincount(code, weights, n_classes)[:, np.newaxis])


def _whitened(means: Floats, rows: Matrix, own_mean: Floats, weights: Floats, n_classes: int) -> tuple[Floats, Floats]:
    """Return L⁻¹ and (L Lᵀ)⁻¹ times the means, where L Lᵀ is the shrunk covariance of the rows within their classes."""
    n_columns, count = means.shape[1], float(weights.sum())
    if sparse.issparse(rows) or n_columns > MOST_COLUMNS:
        squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else (rows**2).sum(axis=1)
        along = rows.multiply(own_mean).sum(axis=1) if sparse.issparse(rows) else (rows * own_mean).sum(axis=1)
        within, shrinkage = np.zeros((0, 0)), 1.0
        trace = float(weights @ np.maximum(squares - 2 * along + (own_mean**2).sum(axis=1), 0.0)) / count
    else:
        within = scatter(rows - own_mean, weights, np.zeros(n_columns)) / count
        shrinkage = max(LEAST_SHRINKAGE, n_columns / (n_columns + max(count - n_classes, 0.0)))
        trace = float(np.trace(within))
    # If the rows of each class are all equal, the means themselves give the unit.
    variance = trace / n_columns or float((means**2).mean()) or 1.0
    if shrinkage == 1.0 or not trace > 0:
        unit = np.sqrt(variance)
        return means / unit, np.ascontiguousarray(means / unit / unit)
    shrunk = (1 - shrinkage) * within / variance + shrinkage * np.eye(n_columns)
    factor = linalg.cholesky(shrunk, lower=True) * np.sqrt(variance)
    white = linalg.solve_triangular(factor, means.T, lower=True)
    towards = linalg.solve_triangular(factor.T, white, lower=False)
    return np.ascontiguousarray(white.T), np.ascontiguousarray(towards.T)
