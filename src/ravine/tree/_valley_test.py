"""The valley test: is a split real? The valley is tested on rows that did not choose it.

Half of the rows choose a direction, a valley on it, the two modes beside it and a window width. The test counts the
rows of the other half in three windows of that width: at the two modes and at the valley. Under any unimodal density,
the middle window holds at least as much as the emptier of the other two. So two one-sided binomial tests bound the
probability that the valley is due to chance, and both must reject. The halves then swap roles, and a few random
halvings are drawn. Simes' rule combines the p-values. See `docs/decisions/number-of-clusters.md` for the reasoning and
the figures.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betainc
from sklearn.utils.extmath import row_norms

from ravine import _kernels
from ravine._blocks import map_items
from ravine._matrix import Floats, Ints, Matrix, Moments, column_deviations, moments_of, order_along, project
from ravine._ties import OF_A_SUM, first_least, is_less
from ravine.cuts import Cut
from ravine.cuts._valley import Valley, strongest_valley

OnLine = Callable[[Floats], tuple[Floats, Floats]]
"""Returns the positions of rows along a direction, relative to their mean, and their weights."""

Direction = Callable[[Matrix, Floats, Moments], Floats | None]
"""Finds a direction for rows, given their weights and moments; None if there is no direction."""

FromDirection = Callable[[Matrix, Floats, Moments, Floats], Floats | None]
"""Finds a direction as `Direction` does, given that of a trial, from which it may start."""

VALLEY_BANDWIDTH = 1.06
"""Bandwidth factor of the test, for methods without a bandwidth of their own for it."""

N_HALVINGS, FEWER_HALVINGS, BEYOND_DOUBT = 3, 2, 1e-2
"""Maximum number of random halvings of a large node, which has at least `PATIENT_SHARE` of the weight, and of a smaller
one. No more are drawn once the p-value is below the last number times the level: a method that looks ahead accepts cuts
at larger levels only."""

HOPELESS = 0.5
"""If all p-values exceed this, neither the node nor a cut below it on trial can show a valley."""

MIN_ROWS = 20
"""With fewer rows, no valley can be distinguished from chance."""

TRIAL_ROWS, GIVE_UP, PATIENT_SHARE = 750, 0.2, 0.2
"""A direction is found on at most this many rows of each half. No more halves are drawn above this p-value, unless the
node has at least this share of the weight, or a clear valley is seen in it: a valley that is missed there costs many
clusters."""

LEAST_SCORE, CLEAR_SCORE = 2.25, 4.0
"""A node is not tested if no valley with this score is seen in it: a valley that is confirmed hardly ever has less. A
valley with the second score is clear. If no trial comes near to confirming a valley, but a clear one is seen, the node
is cut there on trial: it may have so many clusters that no search finds a way between them."""

FEW_CELLS = 1 << 18
"""With fewer numbers than this, the halves are tried one after the other: two threads would wait for each other."""

AXIS_SEED = 0
"""Seed of the direction along which rows are ordered before they are halved."""


def direction_of(find_cut: Callable[[Matrix, Floats, Moments], Cut | None]) -> Direction:
    """Return a function that finds the direction of the cuts of a method.

    Parameters
    ----------
    find_cut : callable ``(rows, weights, moments) -> Cut or None``
        The method.

    Returns
    -------
    direction : callable ``(rows, weights, moments) -> ndarray or None``
        The argument of `cut_with_evidence`: it returns the normal of the cut, or None if there is no cut.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.cuts import Cut
    >>> from ravine.tree._valley_test import direction_of
    >>> direction = direction_of(lambda rows, weights, moments: Cut(np.array([0.0, 1.0]), 0.5))
    >>> direction(np.zeros((3, 2)), np.ones(3), None)
    array([0., 1.])
    """

    def direction(X: Matrix, weights: Floats, moments: Moments) -> Floats | None:
        cut = find_cut(X, weights, moments)
        return None if cut is None else cut.normal

    return direction


def valley_p_value(valley: Valley, values: Floats, weights: Floats, resolution: float = 0.0) -> float:
    """Bound the probability that so few held-out values of a unimodal density fall into the valley."""
    middle, left, right = (
        _kernels.density.mass_around(values, weights, position, valley.window, resolution)
        for position in (valley.position, valley.left_mode, valley.right_mode)
    )
    return max(binomial_bound(middle, left), binomial_bound(middle, right))


def binomial_bound(middle: float, beside: float) -> float:
    """Return P(B <= middle), where B counts the rows of the middle if each row chose its window by a fair coin."""
    return float(betainc(beside, middle + 1, 0.5)) if beside > 0 else 1.0


def cut_with_evidence(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    direction: Direction,
    bandwidth: float,
    seed: int,
    min_cluster_size: float = 1,
    significance: float = 0.05,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut at the strongest valley of a node, with the p-value of the valley test.

    Each half of the rows is tested on the direction and at the valley that the other half found. If the valley is
    confirmed, the cut is at the strongest valley of all rows, on the direction found by all rows or by a half. The half
    is included because a few far outliers can turn the direction of all rows away from every valley. If it is not
    confirmed, no direction is searched on all rows, and the cut is that of the half that came nearest.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Rows of the node.
    weights : ndarray of shape (n_samples,)
        Their weights, which are positive.
    moments : Moments
        Their moments, as `grow` passes them to a method.
    direction : callable ``(rows, weights, moments) -> ndarray or None``
        Finds the direction of a cut of rows; None if there is no direction. For a half, it gets at most 750 rows.
    bandwidth : float
        Factor of the bandwidth σ n^(-1/5) of the density along a direction; 1.06 is typical.
    seed : int
        Seed for drawing the halves. They are drawn from the rows in an order that their contents determine, so the
        result does not depend on the order in which the rows are stored.
    min_cluster_size : float, default=1
        Minimum weight on either side of the cut.
    significance : float, default=0.05
        A valley with this p-value or a smaller one is confirmed.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.

    Returns
    -------
    cut : Cut or None
        The cut with its p-value; None if there is no valley, or if held-out rows clearly reject it.

    See Also
    --------
    ravine.tree.grow : Its argument `accept` decides by the p-value.
    direction_of : Returns the direction of a method that finds cuts.

    Examples
    --------
    Two clouds and one cloud, cut along the first column.

    >>> import numpy as np
    >>> from ravine.datasets import make_blobs
    >>> from ravine._matrix import moments_of
    >>> from ravine.tree._valley_test import cut_with_evidence
    >>> def first_column(rows, weights, moments):
    ...     return np.array([1.0, 0.0])
    >>> for centers in ([[0, 0], [9, 0]], [[0, 0]]):
    ...     X, y = make_blobs(200, centers=centers, random_state=0)
    ...     moments = moments_of(X, np.ones(200))
    ...     cut = cut_with_evidence(X, np.ones(200), moments, direction=first_column, bandwidth=1.06, seed=0)
    ...     print(None if cut is None else cut.p_value < 0.05)
    True
    None
    """
    test = ValleyTest.of_rows(X, weights, direction, bandwidth, seed, min_cluster_size, n_jobs)

    def whole(X: Matrix, weights: Floats, moments: Moments, normal: Floats) -> Floats | None:
        return direction(X, weights, moments)

    return test.cut(X, weights, moments, whole, significance)


@dataclass(frozen=True)
class Seen:
    """The strongest valley that was seen along many directions without a search: its score and its direction.

    The direction is None if the rows were not looked at.
    """

    score: float
    normal: Floats | None


UNSEEN = Seen(math.inf, None)

Look = Callable[[Matrix, Floats, Moments, Floats], Seen]
"""Looks at rows, given their weights, their moments and the lattice steps of the columns."""


@dataclass(frozen=True)
class Trial:
    """A direction found by one half, and the p-value of its valley on the other half."""

    p_value: float
    normal: Floats


def combine(trials: list[Trial], n_halvings: int) -> float:
    """Combine the p-values of all trials by Simes' rule; those of halvings that were not drawn count as 1."""
    p_values = sorted(trial.p_value for trial in trials)
    return min([2 * n_halvings * p / rank for rank, p in enumerate(p_values, start=1)] + [1.0])


@dataclass(frozen=True)
class ValleyTest:
    """Test whether rows have a valley, which is found on one half of them and tested on the other half.

    Attributes
    ----------
    direction : Direction
        The scout: finds a direction for some rows of one half.
    bandwidth : float
        Bandwidth factor, as in `strongest_valley`.
    steps : ndarray of shape (n_features,)
        Lattice steps of the columns.
    seed : int
        Seed for drawing the halves.
    min_cluster_size : float
        Minimum weight on either side of a valley.
    axis : ndarray of shape (n_features,)
        Rows are halved in their order along this vector.
    give_up : float
        Without patience, the test ends if no p-value is below this after a halving.
    patient_count : float
        A node with at least this weight is large: it is halved more often, and tested with patience.
    hopeless : float
        If all p-values exceed this, the node is not cut on trial.
    trial_rows : int
        Maximum number of rows of a half on which the scout finds a direction.
    look : callable ``(rows, weights, moments, steps) -> Seen``, optional
        Looks at rows before they are tested. If there is no valley at all, they are not.
    """

    direction: Direction
    bandwidth: float
    steps: Floats
    seed: int
    min_cluster_size: float
    axis: Floats
    give_up: float = GIVE_UP
    patient_count: float = math.inf
    hopeless: float = HOPELESS
    trial_rows: int = TRIAL_ROWS
    look: Look | None = None
    n_jobs: int | None = None

    @classmethod
    def of_rows(
        cls,
        X: Matrix,
        weights: Floats,
        direction: Direction,
        bandwidth: float,
        seed: int,
        min_cluster_size: float,
        n_jobs: int | None = None,
        **options: Any,
    ) -> "ValleyTest":
        """Return the test for the nodes of a tree, given the rows of its root or a sample of them.

        `options` are further attributes.
        """
        deviation = column_deviations(X)
        axis = np.random.default_rng(AXIS_SEED).normal(size=X.shape[1])
        axis = np.divide(axis, deviation, out=np.zeros_like(axis), where=deviation > 0)
        return cls(
            direction,
            bandwidth,
            lattice_steps(X),
            seed,
            min_cluster_size,
            axis,
            patient_count=PATIENT_SHARE * float(weights.sum()),
            n_jobs=n_jobs,
            **options,
        )

    def cut(
        self,
        X: Matrix,
        weights: Floats,
        moments: Moments,
        whole: FromDirection,
        significance: float,
        sample: tuple[Matrix, Floats] | None = None,
    ) -> Cut | None:
        """Test a node; search all its rows for a direction only if the test finds evidence.

        Without evidence, the cut is that of the half whose valley the other half came nearest to confirming. There is
        no cut if a valley was clearly rejected, unless a clear one is seen.

        Parameters
        ----------
        X, weights, moments : rows of the node, their weights and moments
        whole : FromDirection
            Finds the direction of all rows. Unlike the scout, it may use what the halves must not know.
        significance : float
        sample : tuple of rows and weights, optional
            The rows that are tested; all rows by default.
        """

        def search(normal: Floats) -> Floats | None:
            return whole(X, weights, moments, normal)

        def on_line(normal: Floats) -> tuple[Floats, Floats]:
            return project(X, normal, self.n_jobs) - moments.mean @ normal, weights

        rows, of_rows = (X, weights) if sample is None else sample
        return self.cut_by(rows, of_rows, moments, search, on_line, significance)

    def cut_by(
        self,
        rows: Matrix,
        of_rows: Floats,
        moments: Moments,
        search: Callable[[Floats], Floats | None],
        on_line: OnLine,
        significance: float,
    ) -> Cut | None:
        """Do what `cut` does, given the rows that are tested and their weights, and two functions of all rows.

        Parameters
        ----------
        rows, of_rows : the rows that are tested and their weights
        moments : Moments
            Moments of all rows.
        search : callable ``direction -> ndarray or None``
            Finds the direction of all rows, given that of the test.
        on_line : callable ``direction -> (positions, weights)``
            Returns positions of all rows along a direction, relative to their mean.
        significance : float
        """
        if rows.shape[0] < MIN_ROWS:
            return None
        seen = UNSEEN if self.look is None else self.look(rows, of_rows, moments, self.steps)
        if seen.score < LEAST_SCORE:
            return None
        is_clear = seen.score >= CLEAR_SCORE
        is_large = moments.count >= self.patient_count
        n_halvings = N_HALVINGS if is_large else FEWER_HALVINGS
        trials = self.run(rows, of_rows, n_halvings, is_large or is_clear, significance)
        if not trials:
            return None
        p_value, normals = combine(trials, n_halvings), [trials[0].normal]
        if trials[0].p_value > self.hopeless:
            if seen.normal is None or not is_clear:
                return None
            p_value, normals = 1.0, [seen.normal]
        if p_value <= significance:
            normal = search(normals[0])
            normals = normals if normal is None else [normal, *normals]
        return self.strongest_cut(moments, on_line, normals, p_value)

    def run(self, X: Matrix, weights: Floats, n_halvings: int, is_patient: bool, significance: float) -> list[Trial]:
        """Test halves of the rows, with patience or without; the trial with the smallest p-value is first."""
        n_rows = X.shape[0]
        order = order_along(X, project(X, self.axis, self.n_jobs), self.n_jobs)
        total = float(weights.sum())
        rows = weights * (total / float(weights @ weights))  # evidence counts rows: Kish's effective sample size
        random = np.random.default_rng(self.seed)
        trials: list[Trial] = []
        n_jobs = self.n_jobs if X.shape[0] * X.shape[1] >= FEW_CELLS else 1

        def try_half(halves: tuple[Ints, Ints]) -> list[Trial]:
            learn, judge = halves
            normal = self._scouted(X, weights, learn[: self.trial_rows])
            if normal is None:
                return []
            values, resolution = project(X, normal, self.n_jobs), resolution_along(normal, self.steps)
            found = self._valley(values[learn], weights[learn], normal, total)
            p = 1.0 if found is None else valley_p_value(found, values[judge], rows[judge], resolution)
            return [Trial(p, normal)]

        for _ in range(n_halvings):
            drawn = order[random.permutation(n_rows)]
            halves = drawn[: n_rows // 2], drawn[n_rows // 2 :]
            for found in map_items(try_half, (halves, halves[::-1]), n_jobs):
                trials += found
            if trials:
                trials.insert(0, trials.pop(first_least([trial.p_value for trial in trials])))
            has_hope = is_patient or not trials or trials[0].p_value <= self.give_up
            if not has_hope or combine(trials, n_halvings) < BEYOND_DOUBT * significance:
                break
        return trials

    def _scouted(self, X: Matrix, weights: Floats, rows: Ints) -> Floats | None:
        """Return the direction that the scout finds for some rows."""
        few, of_few = X[rows], weights[rows]
        return self.direction(few, of_few, moments_of(few, of_few, self.n_jobs))

    def strongest_cut(self, moments: Moments, on_line: OnLine, normals: list[Floats], p_value: float) -> Cut | None:
        """Cut at the strongest valley of all rows on some directions; ties go to the first direction."""
        best: tuple[Floats, Valley] | None = None
        for normal in normals:
            values, weights = on_line(normal)
            found = self._valley(values, weights, normal, float(weights.sum()))
            if found is not None and (best is None or is_less(best[1].score, found.score)):
                best = normal, found
        if best is None:
            return None
        normal, valley = best
        offset = float(valley.position + moments.mean @ normal)
        return Cut(normal, offset, valley.density, valley.relative_depth, p_value)

    def _valley(self, values: Floats, weights: Floats, normal: Floats, total: float) -> Valley | None:
        resolution = resolution_along(normal, self.steps)
        return strongest_valley(values, weights, self.bandwidth, resolution, self.min_cluster_size / total)


def resolution_along(normal: Floats, steps: Floats) -> float:
    """Return how far a row would be spread along a direction if each feature were spread evenly over its step.

    It is the width of the uniform distribution with the variance of that sum. Gaps of this size come from the lattice.
    """
    return float(np.linalg.norm(normal * steps))


def lattice_steps(X: Matrix, max_rows: int = 2000) -> Floats:
    """Return the typical distance from a value of each feature to the next different value.

    It is 1 for integers, 0.1 for numbers rounded to one digit, and almost 0 for continuous features. For many rows, a
    sample of `max_rows` is used. The sample is spread evenly over the rows sorted by length, so it does not depend on
    the order of the rows.
    """
    n_rows, n_columns = X.shape
    sample = np.linspace(0, n_rows - 1, min(n_rows, max_rows)).astype(np.int64)
    rows = X if n_rows <= max_rows else X[order_along(X, row_norms(X, squared=True))[sample]]
    steps = np.zeros(n_columns)
    full = np.arange(n_columns)
    if sparse.issparse(rows):
        steps, n_stored = _gaps_above_zero(rows.tocsc())
        full = np.flatnonzero(2 * n_stored >= len(sample))
    chunk = max((1 << 22) // len(sample), 1)
    for start in range(0, len(full), chunk):
        here = full[start : start + chunk]
        columns = rows[:, here]
        dense = columns.toarray() if sparse.issparse(columns) else columns
        steps[here] = typical_gaps(np.sort(dense.T.astype(np.float64), axis=1))
    return steps


def _gaps_above_zero(columns: Matrix) -> tuple[Floats, Ints]:
    """Return the distance from zero to the next larger value of each CSC column.

    If there is no larger value, the next smaller one is used.

    If more than half of a column is zero, this is its typical gap. The second array counts the nonzero values.
    """
    n_columns = columns.shape[1]
    column, value = np.repeat(np.arange(n_columns), np.diff(columns.indptr)), columns.data.astype(np.float64)
    above, below = np.full(n_columns, np.inf), np.full(n_columns, np.inf)
    np.minimum.at(above, column[value > 0], value[value > 0])
    np.minimum.at(below, column[value < 0], -value[value < 0])
    gap = np.where(np.isfinite(above), above, below)
    return np.where(np.isfinite(gap), gap, 0.0), np.bincount(column[value != 0], minlength=n_columns)


def typical_gaps(rows: Floats) -> Floats:
    """Return the median over the entries of each row of sorted values of the distance to the next larger value.

    The largest value counts the distance to the value below it. A constant row gives 0. Values that differ by rounding
    are equal.
    """
    last = rows.shape[1] - 1
    if last == 0:
        return np.zeros(len(rows))
    gap = np.diff(rows, axis=1)
    gap = np.where(gap > OF_A_SUM * np.abs(rows[:, [0, last]]).max(axis=1, keepdims=True), gap, 0.0)
    step = np.where(gap > 0, np.arange(last), last)
    next_step = np.minimum.accumulate(step[:, ::-1], axis=1)[:, ::-1]
    last_step = np.where(gap > 0, np.arange(last), 0).max(axis=1, keepdims=True)
    above = np.concatenate([np.where(next_step < last, next_step, last_step), last_step], axis=1)
    return np.asarray(np.median(np.take_along_axis(gap, above, axis=1), axis=1))
