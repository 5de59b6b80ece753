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

import numpy as np
from scipy import sparse
from scipy.special import betainc
from sklearn.utils.extmath import row_norms

from ravine._matrix import Floats, Ints, Matrix, Moments, moments_of, order_along, project
from ravine._ties import OF_A_SUM, first_least, is_less
from ravine.cuts import Cut
from ravine.cuts._valley import Valley, strongest_valley

Direction = Callable[[Matrix, Floats, Moments], Floats | None]
"""Finds a direction for rows, given their weights (0 for held-out rows) and moments; None if there is no direction."""

VALLEY_BANDWIDTH = 1.06
"""Bandwidth factor of the test, for methods without a bandwidth of their own for it."""

BEYOND_DOUBT = 1e-6
"""No more halvings are drawn once the p-value is below this."""

HOPELESS = 0.5
"""If all p-values exceed this, neither the node nor a cut below it on trial can show a valley."""

MIN_ROWS = 20
"""With fewer rows, no valley can be distinguished from chance."""


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
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    middle, left, right = (
        _spread_mass(values, weights, position - valley.window / 2, position + valley.window / 2, resolution)
        for position in (valley.position, valley.left_mode, valley.right_mode)
    )
    return max(binomial_bound(middle, left), binomial_bound(middle, right))


def binomial_bound(middle: float, beside: float) -> float:
    """Return P(B <= middle), where B counts the rows of the middle if each row chose its window by a fair coin."""
    return float(betainc(beside, middle + 1, 0.5)) if beside > 0 else 1.0


def _spread_mass(values: Floats, weights: Floats, low: float, high: float, resolution: float) -> float:
    """Return the weight between low and high if each sorted value is spread evenly over the resolution around it."""
    if resolution == 0:
        return float(weights[np.searchsorted(values, low) : np.searchsorted(values, high)].sum())
    near = slice(np.searchsorted(values, low - resolution / 2), np.searchsorted(values, high + resolution / 2))
    below = (np.array([[high], [low]]) - values[near]) / resolution + 0.5
    return float(weights[near] @ np.diff(-np.clip(below, 0, 1), axis=0)[0])


def cut_with_evidence(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    direction: Direction,
    bandwidth: float,
    seed: int,
    min_cluster_size: float = 1,
    n_jobs: int | None = None,
) -> Cut | None:
    """Find the cut at the strongest valley of a node, with the p-value of the valley test.

    Each half of the rows is tested on the direction and at the valley that the other half found. The cut itself is at
    the strongest valley of all rows, on the direction found by all rows or by one of the halves. The halves are
    included because a few far outliers can turn the direction of all rows away from every valley.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Rows of the node.
    weights : ndarray of shape (n_samples,)
        Their weights.
    moments : Moments
        Their moments, as `grow` passes them to a method.
    direction : callable ``(rows, weights, moments) -> ndarray or None``
        Finds the direction of a cut from the rows with weight; rows of weight 0 are held out.
    bandwidth : float
        Factor of the bandwidth σ n^(-1/5) of the density along a direction; 1.06 is typical.
    seed : int
        Seed for drawing the halves. They are drawn from the rows in their order along the cut of all rows, so the
        result does not depend on the order in which the rows are stored.
    min_cluster_size : float, default=1
        Minimum weight on either side of the cut.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. The result does not depend on it.

    Returns
    -------
    cut : Cut or None
        The cut with its p-value; None if the rows have no valley on any of these directions.

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
    False
    """
    normal = direction(X, weights, moments)
    if normal is None:
        return None
    test = ValleyTest(direction, bandwidth, lattice_steps(X), seed, min_cluster_size, n_jobs=n_jobs)
    order = order_along(X, project(X, normal, n_jobs), n_jobs)
    trials = test.run(X, weights, order)
    return test.strongest_cut(X, weights, [normal, *(trial.normal for trial in trials)], test.combine(trials))


def confirmed_cut(
    X: Matrix, weights: Floats, moments: Moments, *, test: "ValleyTest", direction: Direction, significance: float
) -> Cut | None:
    """Test a node first; search all its rows for a direction only if the test finds evidence.

    Without evidence, the cut is that of the half whose valley the other half came nearest to confirming. There is no
    cut if a valley was clearly rejected. The halves depend on the order of the rows.

    Parameters
    ----------
    X, weights, moments : rows of the node, their weights and moments
    test : ValleyTest
    direction : Direction
        Finds the direction of all rows. Unlike the direction of the test, it may use what the halves must not know.
    significance : float
    """
    trials = test.run(X, weights, np.arange(X.shape[0]))
    if not trials or trials[0].p_value > HOPELESS:
        return None
    normals = [trials[0].normal]
    p_value = test.combine(trials)
    if p_value <= significance:
        whole = direction(X, weights, moments)
        normals = normals if whole is None else [whole, *normals]
    return test.strongest_cut(X, weights, normals, p_value)


@dataclass(frozen=True)
class Trial:
    """A direction found by one half, and the p-value of its valley on the other half."""

    p_value: float
    normal: Floats


@dataclass(frozen=True)
class ValleyTest:
    """Test whether rows have a valley, which is found on one half of them and tested on the other half.

    Attributes
    ----------
    direction : Direction
        Finds a direction for one half of the rows; the other rows have weight zero.
    bandwidth : float
        Bandwidth factor, as in `strongest_valley`.
    steps : ndarray of shape (n_features,)
        Lattice steps of the columns.
    seed : int
        Seed for drawing the halves.
    min_cluster_size : float
        Minimum weight on either side of a valley.
    n_halvings : int
        Maximum number of random halvings; each gives two p-values.
    give_up : float
        The test of a small node ends if no p-value is below this after a halving.
    patient_rows : float
        A node with at least so many rows gets all its halvings.
    """

    direction: Direction
    bandwidth: float
    steps: Floats
    seed: int
    min_cluster_size: float = 1
    n_halvings: int = 3
    give_up: float = 1.0
    patient_rows: float = math.inf
    n_jobs: int | None = None

    def combine(self, trials: list[Trial]) -> float:
        """Combine the p-values of all trials by Simes' rule; those of halvings that were not drawn count as 1."""
        p_values = sorted(trial.p_value for trial in trials)
        return min([2 * self.n_halvings * p / rank for rank, p in enumerate(p_values, start=1)] + [1.0])

    def run(self, X: Matrix, weights: Floats, order: Ints) -> list[Trial]:
        """Test halves of the rows, drawn from them in the given order; the trial with the smallest p-value is first."""
        n_rows = X.shape[0]
        if n_rows < MIN_ROWS:
            return []
        rows = weights * (weights.sum() / (weights @ weights))  # evidence counts rows: Kish's effective sample size
        random = np.random.default_rng(self.seed)
        trials: list[Trial] = []
        for _ in range(self.n_halvings):
            first_half = np.zeros(n_rows, dtype=bool)
            first_half[order[random.permutation(n_rows)[: n_rows // 2]]] = True
            for learn in (first_half, ~first_half):
                half = np.where(learn, weights, 0.0)
                normal = self.direction(X, half, moments_of(X, half, self.n_jobs)) if half.any() else None
                if normal is None:
                    continue
                values, resolution = project(X, normal, self.n_jobs), resolution_along(normal, self.steps)
                found = self._valley(values[learn], weights[learn], normal, weights.sum())
                p = 1.0 if found is None else valley_p_value(found, values[~learn], rows[~learn], resolution)
                trials.append(Trial(p, normal))
            if trials:
                trials.insert(0, trials.pop(first_least([trial.p_value for trial in trials])))
            is_hopeless = n_rows < self.patient_rows and trials and trials[0].p_value > self.give_up
            if is_hopeless or self.combine(trials) < BEYOND_DOUBT:
                break
        return trials

    def strongest_cut(self, X: Matrix, weights: Floats, normals: list[Floats], p_value: float) -> Cut | None:
        """Cut at the strongest valley of all rows on some directions; ties go to the first direction."""
        best: tuple[Floats, Valley] | None = None
        for normal in normals:
            found = self._valley(project(X, normal, self.n_jobs), weights, normal, weights.sum())
            if found is not None and (best is None or is_less(best[1].score, found.score)):
                best = normal, found
        if best is None:
            return None
        normal, valley = best
        return Cut(normal, valley.position, valley.density, valley.relative_depth, p_value)

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
        steps[here] = _typical_gaps(np.sort(dense.T.astype(np.float64), axis=1))
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


def _typical_gaps(rows: Floats) -> Floats:
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
