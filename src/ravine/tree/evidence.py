"""Is a split real? A valley test on rows that did not choose the valley.

Half of the rows choose a direction, a valley on it, the modes beside it and one width. On the other half the rows in
three windows of that width are counted, at the two modes and at the valley. Under any unimodal density the window
between the others holds at least as much as the emptier of them, so two one-sided binomial tests bound the chance that
the valley is an accident; both must reject. The halves swap roles, a few random halvings are drawn, and Bonferroni's
bound combines them. `docs/decisions/number-of-clusters.md` has the reasoning and the figures.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.special import betainc
from sklearn.utils.extmath import row_norms

from ravine.cuts import Cut
from ravine.cuts.valley import Valley, strongest_valley
from ravine.matrix import Floats, Matrix, Moments, moments, project

Direction = Callable[[Matrix, Floats, Moments], Floats | None]
"""Finds a direction for some rows, given their weights (zero if held out) and moments; None where there is none."""

BEYOND_DOUBT = 1e-6
"""No more halves are drawn once the p-value is below this."""

MIN_ROWS = 20
"""With fewer rows no valley can be told from chance."""


def valley_p_value(valley: Valley, values: Floats, weights: Floats, resolution: float = 0.0) -> float:
    """Bound on the chance that held-out values of a unimodal density fall so thinly into the valley."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    middle, left, right = (
        _spread_mass(values, weights, place - valley.window / 2, place + valley.window / 2, resolution)
        for place in (valley.place, valley.left_mode, valley.right_mode)
    )
    return max(_binomial(middle, left), _binomial(middle, right))


def _binomial(middle: float, beside: float) -> float:
    """P(B <= middle), B the middle's part of the two windows' rows if each row chose its window by a fair coin."""
    return float(betainc(beside, middle + 1, 0.5)) if beside > 0 else 1.0


def _spread_mass(values: Floats, weights: Floats, low: float, high: float, resolution: float) -> float:
    """Weight between low and high if each of the sorted values is spread evenly over the resolution around it."""
    if resolution == 0:
        return float(weights[np.searchsorted(values, low) : np.searchsorted(values, high)].sum())
    near = slice(np.searchsorted(values, low - resolution / 2), np.searchsorted(values, high + resolution / 2))
    below = (np.array([[high], [low]]) - values[near]) / resolution + 0.5
    return float(weights[near] @ np.diff(-np.clip(below, 0, 1), axis=0)[0])


def cut_with_evidence(
    X: Matrix,
    weights: Floats,
    about: Moments,
    *,
    direction: Direction,
    bandwidth: float,
    seed: int,
    min_cluster_size: float = 1,
    whole_direction: Direction | None = None,
    steps: Floats | None = None,
    n_halvings: int = 3,
    n_jobs: int | None = None,
) -> Cut | None:
    """Cut at the strongest valley of a node, with the p-value that the node has one.

    Each half of the rows is tested on the direction, and at the valley, that the other half found. The cut itself is
    the strongest valley of all rows, on the direction that all of them found or one of the halves: a few far outliers
    can turn the former away from every valley.

    Parameters
    ----------
    X, weights, about : rows of the node, their weights and moments
    direction : Direction
        Finds the direction of a cut.
    bandwidth : float
        Factor of the bandwidth, as for `strongest_valley`.
    seed : int
        Draws the halves. They are drawn among the rows in their order along the cut of all rows, so the order in which
        the rows are stored has no say.
    min_cluster_size : float, default=1
        Least weight on either side of the cut.
    whole_direction : Direction, optional
        Finds the direction of all rows, where it may use what the halves must not know. Default: `direction`.
    steps : ndarray of shape (n_features,), optional
        Lattice steps of the columns. Default: those of the rows of the node.
    n_halvings : int, default=3
        Random halvings at most; each gives two p-values.
    """
    normal = (whole_direction or direction)(X, weights, about)
    if normal is None:
        return None
    steps = lattice_steps(X) if steps is None else steps
    least_side = min_cluster_size / weights.sum()
    values = project(X, normal, n_jobs)
    valley = strongest_valley(values, weights, bandwidth, resolution_along(normal, steps), least_side)
    smallest, n_rows = 1.0, X.shape[0]
    if n_rows >= MIN_ROWS:
        rows = weights * (weights.sum() / (weights @ weights))  # evidence counts rows: Kish's effective number of them
        random = np.random.default_rng(seed)
        order = np.argsort(values, kind="stable")
        for _ in range(n_halvings):
            if 2 * n_halvings * smallest < BEYOND_DOUBT:
                break
            first_half = np.zeros(n_rows, dtype=bool)
            first_half[order[random.permutation(n_rows)[: n_rows // 2]]] = True
            for learn in (first_half, ~first_half):
                half = np.where(learn, weights, 0.0)
                tried = direction(X, half, moments(X, half, n_jobs)) if half.any() else None
                if tried is None:
                    continue
                values, resolution = project(X, tried, n_jobs), resolution_along(tried, steps)
                found = strongest_valley(values[learn], weights[learn], bandwidth, resolution, least_side)
                if found is not None:
                    smallest = min(smallest, valley_p_value(found, values[~learn], rows[~learn], resolution))
                found = strongest_valley(values, weights, bandwidth, resolution, least_side)
                if found is not None and (valley is None or found.score > valley.score):
                    normal, valley = tried, found
    if valley is None:
        return None
    return Cut(normal, valley.place, valley.density, valley.relative_depth, min(1.0, 2 * n_halvings * smallest))


def resolution_along(normal: Floats, steps: Floats) -> float:
    """The largest step that one lattice feature takes along a direction: gaps of this size are the lattice's."""
    return float(np.abs(normal * steps).max())


def lattice_steps(X: Matrix, max_rows: int = 2000) -> Floats:
    """Typical distance from a value of each feature to the next other value.

    It is 1 for integers, 0.1 for numbers rounded to one digit, and next to nothing for continuous features. Of many
    rows, `max_rows` are looked at, spread evenly over their order by length, so that the order of the rows has no say.
    """
    n_rows, n_columns = X.shape
    sample = np.linspace(0, n_rows - 1, min(n_rows, max_rows)).astype(np.int64)
    rows = X if n_rows <= max_rows else X[np.argsort(row_norms(X, squared=True), kind="stable")[sample]]
    chunk = max((1 << 22) // len(sample), 1)
    steps = np.empty(n_columns)
    for start in range(0, n_columns, chunk):
        columns = rows[:, start : start + chunk]
        dense = columns.toarray() if sparse.issparse(columns) else columns
        steps[start : start + chunk] = _typical_gaps(np.sort(dense.T.astype(np.float64), axis=1))
    return steps


def _typical_gaps(rows: Floats) -> Floats:
    """For each row of sorted values, the median over its entries of the distance to the next larger value.

    The largest value counts the distance to the value below it; a constant row gives 0.
    """
    last = rows.shape[1] - 1
    if last == 0:
        return np.zeros(len(rows))
    gap = np.diff(rows, axis=1)
    step = np.where(gap > 0, np.arange(last), last)
    next_step = np.minimum.accumulate(step[:, ::-1], axis=1)[:, ::-1]
    last_step = np.where(gap > 0, np.arange(last), 0).max(axis=1, keepdims=True)
    above = np.concatenate([np.where(next_step < last, next_step, last_step), last_step], axis=1)
    return np.asarray(np.median(np.take_along_axis(gap, above, axis=1), axis=1))
