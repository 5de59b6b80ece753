"""Find the cuts of a tree that held-out rows confirm: a cheap scout first, and a search on all rows if it is confirmed.

All methods that choose the number of clusters use this module. A node is first looked at: if none of many directions
has a valley, there is no test. The scout finds a direction on a few rows of one half, by the search for the minimum
density, and the other half tests the valley there (`ravine.tree._valley_test`). The method searches all rows for its
own direction only if the valley is confirmed. Of many rows, a sample is tested, in memory and out of core alike.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine import _kernels
from ravine._matrix import Floats, Matrix, Moments, moments_of, multiply, project
from ravine._outofcore import ChunkedNode
from ravine._reservoir import content_numbers, largest_numbers
from ravine._ties import is_less, pointing_up
from ravine.cuts import Cut
from ravine.cuts._along import Along
from ravine.cuts._chunked import along
from ravine.cuts._density import MAX_BINS, normal_reference
from ravine.cuts._mdh import OUTSIDE, POWER, minimum_density_cut
from ravine.cuts._proposals import (
    NO_WORSE,
    Ranked,
    components,
    polish,
    propose,
    rank,
    start_vectors,
    strongest_on_lines,
)
from ravine.cuts._pursuit import SMALL_CELLS, Starts, make_starts
from ravine.tree._columns import best_of_few, best_with_column
from ravine.tree._copies import comes_in_copies, each_row_once
from ravine.tree._valley_test import (
    CLEAR_SCORE,
    LEAST_SCORE,
    UNSEEN,
    Direction,
    FromDirection,
    Seen,
    ValleyTest,
)

TESTED_ROWS, SAMPLE_SEED = 20_000, 0
"""Valleys are tested on a sample of at most this many rows of the data, drawn with this seed."""

FromDirectionOfChunks = Callable[[ChunkedNode, Floats], Floats | None]
"""Finds a direction for the rows of a node that is not in memory, given that of the scout."""

ALPHAS, N_COMPONENTS = (0.0, 0.9), 2
"""Searches keep a cut within these bounds, and start from this many principal components."""

BANDWIDTH, TOLERANCE = 0.9, 3e-5
"""Bandwidth factor and tolerance of that search."""

N_DIMENSIONS, N_POWERS, ENOUGH = 16, 8, 8.0
"""The scout searches among so many principal components, which this many subspace iterations find. If a start ends at a
valley with the last number as its score, there is no other one."""

SCOUT_TOLERANCE, GRID_STEP, SCOUT_REACH = 3e-4, 0.2, 4.0
"""Tolerance of the scout, and in bandwidths the step of its grid and where its kernel ends."""

NARROW = 0.5
"""A start is narrow if the deviation along it is less than this share of that along the first start."""

METRIC_ROWS = 10
"""The direction of the scout is turned in the metric of the rows if there are more rows per column than this."""

STEEPEST = 1.0 / (math.sqrt(2 * math.pi * math.e) * OUTSIDE ** (POWER - 1))
"""Steepness of the penalty outside a bound, for a bandwidth of 1."""

LOOK_ROWS, COARSE_STEP = 5000, 0.1
"""A node of at most this many rows is looked at. A lattice is coarse if the step of a column is larger than the second
number times the deviation of the rows."""


def density_scout(X: Matrix, weights: Floats, moments: Moments) -> Floats | None:
    """Return the direction of the minimum density of a few rows; the scout of all methods that search for directions.

    The search stays among the leading principal components, unless a column has a stronger valley.
    """
    X = _dense_if_small(X)
    if sparse.issparse(X):
        cut = density_cut(X, weights, moments, make_starts(N_COMPONENTS))
        return None if cut is None else cut.normal
    if not moments.varies:
        return None
    Z = np.asarray((X - moments.mean) / moments.unit, dtype=np.float64)
    roots = np.sqrt(weights / weights.max())  # squares of tiny weights would vanish
    start = start_vectors(min(N_DIMENSIONS, *Z.shape), Z.shape[1])
    T = np.ascontiguousarray((Z * roots[:, np.newaxis]).T)
    V = components(np.ascontiguousarray(T.T), T, start, N_POWERS)
    V = V[V.any(axis=1)]
    if not len(V):
        return None
    Y = np.ascontiguousarray(multiply(V, np.ascontiguousarray(Z.T)).T)
    searches = _Searches.of(Y[:, 0], weights, moments.count)
    best = _along(searches.follow(Y, np.eye(1, len(V))[0], ALPHAS) @ V, Z, weights)
    if best.scores[0] < ENOUGH and len(V) > 1:
        other = _along(searches.follow(Y, np.eye(1, len(V), 1)[0], ALPHAS) @ V, Z, weights)
        best = other if is_less(best.scores[0], other.scores[0]) else best
    # Bounds other than the last keep a cut at the mean, where there may be a cluster.
    if best.scores[0] < ENOUGH:
        normal = best_of_few(best.directions[0], Z, weights, lambda column: searches.follow(Z, column, ALPHAS[-1:]))
        if normal is not best.directions[0]:
            best = _along(normal, Z, weights)
    if best.scores[0] > 0:
        # The direction of the lowest density of few rows is too good for them. The one between the means of the sides
        # of its valley depends on all rows, and is better for other rows.
        best = polish(Z, best, np.zeros(Z.shape[1]), 0.0, NO_WORSE, weights, METRIC_ROWS)
    return pointing_up(best.directions)[0]


def _along(direction: Floats, Z: Floats, weights: Floats) -> Ranked:
    """Return a direction with its strongest valley, whose score is 0 if there is none."""
    normal = direction / np.linalg.norm(direction)
    none = np.zeros(1)
    valley = strongest_on_lines(project(Z, normal)[np.newaxis], none, 0.0, weights=weights)
    return Ranked(normal[np.newaxis], valley, none)


@dataclass(frozen=True)
class _Searches:
    """Searches for the minimum density of a few rows that are centered; `deviation` is that along the first start."""

    weights: Floats
    count: float
    deviation: float

    @classmethod
    def of(cls, values: Floats, weights: Floats, count: float) -> "_Searches":
        """Return the searches whose first start has these values along it."""
        return cls(weights, count, _deviation(values, weights, count))

    def follow(self, Y: Floats, direction: Floats, alphas: tuple[float, ...]) -> Floats:
        """Search with one bound after the other, each from the end of the last, and return the direction.

        The last one whose cut is a minimum of the density itself is kept. All searches have the bandwidth of the first
        start, except along a narrow one, whose valleys it would hide.
        """
        deviation = _deviation(project(Y, direction), self.weights, self.count)
        if deviation >= NARROW * self.deviation:
            deviation = self.deviation
        h = normal_reference(BANDWIDTH, deviation, self.count)
        tolerance = SCOUT_TOLERANCE / (math.sqrt(2 * math.pi) * deviation)
        mean, kept = np.zeros(Y.shape[1]), direction
        for number, alpha in enumerate(alphas):
            bounded = (h, alpha, STEEPEST / h ** (1 + POWER), POWER, h * GRID_STEP, SCOUT_REACH, MAX_BINS, 0)
            descent = _kernels.bfgs.begin(direction, tolerance)
            direction, _, found = _kernels.penalty.search(
                Y, self.weights, mean, descent, 1.0, _kernels.penalty.Settings(*bounded), None
            )
            if number == 0 or self._is_minimum(project(Y, direction), found, alpha):
                kept = direction
        return kept

    def _is_minimum(self, values: Floats, position: float, alpha: float) -> bool:
        """Return whether a cut lies within the bound, with rows on both sides."""
        bound = alpha * _deviation(values, self.weights, self.count)
        return bool(abs(position) < bound and 0 < np.count_nonzero(values < position) < len(values))


def _deviation(values: Floats, weights: Floats, count: float) -> float:
    return math.sqrt(float(weights @ values**2) / count)


def density_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    starts: Starts,
    alphas: tuple[float, ...] = ALPHAS,
    columns: bool = False,
) -> Cut | None:
    """Find the minimum density cut of rows; with `columns`, also from a column with a valley."""
    search = partial(minimum_density_cut, X, weights, moments, bandwidth=BANDWIDTH, tolerance=TOLERANCE)
    cut = search(starts=starts, alphas=alphas)
    if columns:  # the first bound keeps a cut at the mean, where there may be a cluster
        from_column = partial(search, alphas=alphas[-1:])
        cut = best_with_column(cut, X, weights, moments, lambda column: from_column(starts=make_starts(column)))
    # The largest entry of a normal is made positive, so that the labels do not depend on the start that has won.
    return cut if cut is None or cut.normal[np.abs(cut.normal).argmax()] > 0 else cut.turned()


def look(X: Matrix, weights: Floats, moments: Moments, steps: Floats) -> Seen:
    """Return the strongest valley of rows along many directions that are found without a search.

    Many rows, large sparse matrices and rows with different weights are not looked at. Neither are rows with a coarse
    lattice: most of these directions do not show what a search finds in them, and others show the gaps of the lattice.
    """
    if (steps > COARSE_STEP * moments.unit).any():
        return Seen(LEAST_SCORE, None)
    X = X if X.shape[0] > LOOK_ROWS else _dense_if_small(X)
    if X.shape[0] > LOOK_ROWS or sparse.issparse(X) or not moments.varies or (weights != weights[0]).any():
        return UNSEEN
    found = rank(propose((X - moments.mean) / moments.unit), steps / moments.unit, 0.0, 1, CLEAR_SCORE)
    return Seen(float(found.scores[0]), pointing_up(found.directions)[0]) if len(found.scores) else Seen(0.0, None)


def _dense_if_small(X: Matrix) -> Matrix:
    """Return the rows of a small sparse matrix as dense rows, so that they are treated alike."""
    return X.toarray() if sparse.issparse(X) and X.shape[0] * X.shape[1] <= SMALL_CELLS else X


class ConfirmedCuts:
    """Finds the cuts of the nodes of a tree, each with the p-value of its valley.

    The first node must be the root: it determines the sample, and what the test needs to know of the columns. Rows are
    drawn by their contents, so the sample of a node is its part of the sample of the root.

    Parameters
    ----------
    whole : FromDirection
        Finds the direction of all rows of a node, by the search of the method, given the direction of the scout.
    significance : float
        All rows are searched if the p-value is at most this.
    seed : int
        Seed for drawing the halves.
    bandwidth : float
        Bandwidth factor of the valleys.
    min_cluster_size : float
        Minimum weight on either side of a cut.
    scout : Direction
        Finds a direction for some rows of one half.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.
    **options : dict
        Further attributes of the `ValleyTest`.
    """

    def __init__(
        self,
        whole: FromDirection,
        significance: float,
        seed: int,
        bandwidth: float,
        min_cluster_size: float,
        scout: Direction = density_scout,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None:
        self._whole, self._significance, self._n_jobs = whole, significance, n_jobs
        self._bandwidth, self._min_cluster_size = bandwidth, min_cluster_size
        self._begin: Callable[[Matrix, Floats], ValleyTest] = partial(
            ValleyTest.of_rows,
            direction=scout,
            bandwidth=bandwidth,
            seed=seed,
            min_cluster_size=min_cluster_size,
            n_jobs=n_jobs,
            look=look,
            **options,
        )
        self._test: ValleyTest | None = None
        self._least_number: np.uint64 | None = None  # of the rows that are tested; None if all are
        self._reads_once = False  # each of several copies of a row
        self._by_weight = False

    def find_cut(self, X: Matrix, weights: Floats, moments: Moments) -> Cut | None:
        """Find the cut of a node in memory: the method of `ravine.tree.grow`."""
        if X.shape[0] > TESTED_ROWS:
            if self._test is None:
                self._by_weight = bool((weights != weights[0]).any())
            kept, numbers = largest_numbers(X, weights, TESTED_ROWS, SAMPLE_SEED, self._by_weight, self._n_jobs)
            return self._large_cut(
                X[kept],
                weights[kept],
                numbers,
                moments,
                lambda normal: self._whole(X, weights, moments, normal),
                lambda normal: Along.of(X, weights, moments.mean, normal, self._n_jobs).points(),
            )
        sample = None
        if self._least_number is not None:
            numbers = content_numbers(X, weights, SAMPLE_SEED, self._by_weight, self._n_jobs)
            sample = self._tested(X, weights, numbers, moments.count)
        return self._small_cut(X, weights, moments, sample)

    def find_chunked_cut(self, node: ChunkedNode, whole: FromDirectionOfChunks) -> Cut | None:
        """Find the cut of a node that is not in memory, as `find_cut` does.

        `whole` finds the direction of all its rows, given the direction of the scout.
        """
        drawn = node.draw(TESTED_ROWS, SAMPLE_SEED)
        if self._test is None:
            self._by_weight = node.whole.extent.lightest < node.whole.extent.heaviest
        if node.n_rows <= TESTED_ROWS:
            moments, sample = moments_of(drawn.X, drawn.weights, self._n_jobs), None
            if self._least_number is not None:
                sample = self._tested(drawn.X, drawn.weights, drawn.number, moments.count)
            return self._small_cut(drawn.X, drawn.weights, moments, sample)

        def on_line(normal: Floats) -> tuple[Floats, Floats]:
            on = along(node, normal)
            return on.positions, on.mass

        return self._large_cut(
            drawn.X, drawn.weights, drawn.number, node.moments, lambda normal: whole(node, normal), on_line
        )

    def _small_cut(
        self, X: Matrix, weights: Floats, moments: Moments, sample: tuple[Matrix, Floats] | None
    ) -> Cut | None:
        rows, of_rows = self._counted(*((X, weights) if sample is None else sample))
        test = self._test = self._test or self._begin(rows, of_rows)
        return test.cut(X, weights, moments, self._whole, self._significance, (rows, of_rows))

    def _large_cut(
        self,
        X: Matrix,
        weights: Floats,
        numbers: NDArray[np.uint64],
        moments: Moments,
        whole: Callable[[Floats], Floats | None],
        on_line: Callable[[Floats], tuple[Floats, Floats]],
    ) -> Cut | None:
        """Find the cut of a node by the rows with the largest numbers, and two functions of all its rows.

        One finds their direction, the other returns centered positions along a direction and the weights there.
        """
        if self._test is None:
            self._least_number = numbers.min()
        rows, of_rows = self._counted(*self._tested(X, weights, numbers, moments.count))
        test = self._test = self._test or self._begin(rows, of_rows)
        return test.cut_by(rows, of_rows, moments, whole, on_line, self._significance)

    def _counted(self, X: Matrix, weights: Floats) -> tuple[Matrix, Floats]:
        """Return the rows that count as evidence, with their weights: each row once if most of the root are copies."""
        if self._test is None:
            self._reads_once = comes_in_copies(X)
        return each_row_once(X, weights) if self._reads_once else (X, weights)

    def _tested(self, X: Matrix, weights: Floats, numbers: NDArray[np.uint64], count: float) -> tuple[Matrix, Floats]:
        """Return the rows of a node that are tested, in the order of their numbers, and their share of its weight."""
        assert self._least_number is not None
        tested = np.flatnonzero(numbers >= self._least_number)
        tested = tested[np.argsort(numbers[tested], kind="stable")]
        return X[tested], _of_total(weights[tested], count)


def _of_total(weights: Floats, total: float) -> Floats:
    return weights * (total / float(weights.sum())) if len(weights) else weights
