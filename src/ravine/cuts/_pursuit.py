"""Search for the direction that minimizes an objective of the projected rows.

The objective sees only the projections, so its value and gradient cost two passes over the rows. Directions move by
BFGS with backtracking steps; the first inverse Hessian is the identity. The objective is not rescaled, since the length
of the first step decides which basin is found (docs/decisions/projection-pursuit.md).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ravine import _kernels
from ravine._blocks import BLOCK_CELLS
from ravine._matrix import Floats, Ints, Matrix, Moments, order_along, project, weighted_sum
from ravine._ties import first_least
from ravine.cuts._along import COARSE_ABOVE, Along, values_along
from ravine.cuts._cut import Cut
from ravine.cuts._density import Line, depth_at
from ravine.cuts._principal import principal_directions

Extra = TypeVar("Extra")
Evaluate = Callable[[Floats], tuple[float, Extra, Callable[[], Floats]]]

COARSE_ROWS = 4_000
"""Nodes with more than `COARSE_ABOVE` rows are first searched on a sample of this size, then on all rows."""

SMALL_CELLS = 1 << 21
"""Maximum number of cells in a small node."""


def is_small(n_rows: int, n_columns: int) -> bool:
    """Return whether a node is searched without a sample, so that a copy of its rows costs little."""
    return n_rows <= COARSE_ABOVE and n_rows * n_columns <= SMALL_CELLS


class Objective(Protocol):
    """A function of projected rows."""

    @property
    def tolerance(self) -> float:
        """The search ends when the decrease is below this twice in a row."""

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return the value, the position of the cut, and a function for the derivatives by the projected rows."""


class CompiledObjective(Objective, Protocol):
    """An objective whose whole search is compiled: fast for few rows, and without the interpreter's lock."""

    def search_block(self, X: Floats, weights: Floats, mean: Floats, descent: Any) -> tuple[Floats, float, float]:
        """Run `search` on dense rows; return the direction, the value and the position.

        `descent` is the state of `ravine._kernels.bfgs` at its beginning.
        """


@dataclass(frozen=True)
class OnLine:
    """Value of an objective of weights on a grid along a direction.

    Attributes
    ----------
    value, position : float
        See `Objective`.
    slopes : ndarray of shape (n_bins - 1,)
    tilt : float, default=0
        The derivative by the position of a row is its weight times (the slope of its cell minus tilt · the position).
    """

    value: float
    position: float
    slopes: Floats
    tilt: float = 0.0


class LineObjective(Protocol):
    """A function of the weights of projected rows on a grid."""

    @property
    def tolerance(self) -> float:
        """See `Objective`."""

    @property
    def step(self) -> float:
        """Distance between grid points."""

    def reads_line(self, n_rows: int) -> bool:
        """Return whether so many rows may be replaced by their weights on a grid."""

    def on_line(self, line: Line, mass: Floats, deviation: float) -> OnLine:
        """Evaluate weights on a grid around the mean, given the standard deviation of the rows along it."""


@dataclass(frozen=True)
class Found:
    """Result of a search: a unit vector, the objective there, and the position of the cut from the projected mean.

    `descent` is the state at the end of the search, which has learned the curvature of the objective.
    """

    direction: Floats
    value: float
    position: float
    descent: Any = field(default=None, repr=False, compare=False)


Starts = Callable[[Matrix, Floats, Moments], Floats]
"""A function that returns the directions, one per row, from which to search rows with given weights and moments."""


def make_starts(init: str | int | ArrayLike | Callable[..., ArrayLike], n_jobs: int | None = None) -> Starts:
    """Return the starts for `init`: "pca", a number of principal components, directions, or a callable."""
    if isinstance(init, str):
        init = 1

    def starts(X: Matrix, weights: Floats, moments: Moments) -> Floats:
        if isinstance(init, int | np.integer):
            return steady(principal_directions(X, weights, moments, int(init), n_jobs))
        return steady(unit_directions(init(X) if callable(init) else init, X.shape[1]))

    return starts


def steady(directions: Floats) -> Floats:
    """Return directions, one per row, without the digits that rounding may have changed.

    The bandwidth of a search, and so all that follows, depends on its start.
    """
    found = np.array(directions)
    for direction in found:
        _kernels.ties.round_together(direction, _kernels.bfgs.START_BITS, 0.0)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def unit_directions(given: ArrayLike, n_features: int) -> Floats:
    """Return directions given by a user, one per row, scaled to length 1."""
    directions = np.atleast_2d(np.asarray(given, dtype=np.float64))
    lengths = np.linalg.norm(directions, axis=1)
    if directions.shape[1:] != (n_features,) or not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError(
            f"init gives directions of shape {directions.shape}: "
            f"each direction needs {n_features} finite numbers that are not all zero"
        )
    return np.asarray(directions / lengths[:, np.newaxis])


def pursue(
    X: Matrix, weights: Floats, mean: Floats, objective: Objective, start: Floats, n_jobs: int | None = None
) -> Found:
    """Return the direction near the unit vector `start` that minimizes the objective of the rows, centered at `mean`.

    A large node is searched on a sample first.
    """
    descent = None
    if X.shape[0] > COARSE_ABOVE:
        found = search(*even_sample(X, weights, mean, start, n_jobs), mean, objective, start, n_jobs)
        start, descent = found.direction, found.descent
    return search(X, weights, mean, objective, start, n_jobs, descent)


def pursued_cut(
    X: Matrix,
    weights: Floats,
    moments: Moments,
    *,
    starts: Starts,
    objective: Objective,
    n_jobs: int | None = None,
) -> Cut | None:
    """Return the cut with the smallest value of an objective over several starts; None if no value is finite.

    This is all that a method needs if its objective is the same for every node; see `docs/maintainers/objective.md`.
    """
    found = [pursue(X, weights, moments.mean, objective, start, n_jobs) for start in starts(X, weights, moments)]
    best = found[first_least([end.value for end in found])] if found else None
    return cut_at(X, weights, moments, best, n_jobs) if best is not None and math.isfinite(best.value) else None


def cut_at(X: Matrix, weights: Floats, moments: Moments, found: Found, n_jobs: int | None = None) -> Cut:
    """Return the cut at the end of a search, with the depth of the valley at the cut."""
    return cut_along(found, moments, *values_along(X, weights, moments.mean, found.direction, n_jobs))


def cut_along(found: Found, moments: Moments, values: Floats, weights: Floats) -> Cut:
    """Return the cut of `cut_at`, given the values of the rows on its direction and their weights."""
    offset = float(found.position + moments.mean @ found.direction)
    return Cut(found.direction, offset, found.value, depth_at(found.position, values, weights))


def look(
    X: Matrix, weights: Floats, mean: Floats, objective: LineObjective, direction: Floats, n_jobs: int | None = None
) -> tuple[Found, Along]:
    """Return the result of a search that stays at `direction`, and the projected rows, in one pass."""
    along = Along.of(X, weights, mean, direction, n_jobs)
    _, found = on_line_along(objective, along)
    return Found(direction, found.value, found.position), along


def on_line_along(objective: LineObjective, along: Along) -> tuple[Line, OnLine]:
    """Return the grid of an objective along a direction, and the objective of the rows on it."""
    line = along.line(objective.step)
    return line, objective.on_line(line, along.on(line), along.deviation)


def even_sample(
    X: Matrix, weights: Floats, mean: Floats, direction: Floats, n_jobs: int | None = None
) -> tuple[Matrix, Floats]:
    """Sample rows of a large node, spread evenly over the weight along a direction, and return them with weights.

    The sample does not depend on how the rows are stored. Out-of-core data gives the same sample.
    """
    along = Along.of(X, weights, mean, direction, n_jobs)
    if not along.deviation > 0:
        return X, weights
    return X[along.sample(COARSE_ROWS)], np.full(COARSE_ROWS, weights.sum() / COARSE_ROWS)


def spread_sample(X: Matrix, direction: Floats, n_jobs: int | None = None) -> Ints:
    """Return rows of a large node, spread evenly over all rows in their order along a direction."""
    order = order_along(X, project(X, direction, n_jobs), n_jobs)
    return np.sort(order[np.linspace(0, len(order) - 1, COARSE_ROWS).astype(np.int64)])


def _is_compiled(objective: Objective) -> TypeGuard[CompiledObjective]:
    # A fit asks this a thousand times, and `isinstance` of a protocol takes as long as a short search.
    return hasattr(objective, "search_block")


def _has_line(objective: Objective) -> TypeGuard[LineObjective]:
    return hasattr(objective, "on_line")


def search(
    X: Matrix,
    weights: Floats,
    mean: Floats,
    objective: Objective,
    start: Floats,
    n_jobs: int | None = None,
    before: Any = None,
) -> Found:
    """Run the search of `pursue` on all given rows; `before` is the `descent` of a search on a sample of them.

    Dense rows of one block are searched in one compiled call, if the objective has such a search. Many rows are put on
    a grid, if the objective needs no more.
    """
    if _is_compiled(objective) and not sparse.issparse(X) and X.size <= BLOCK_CELLS:
        descent = _kernels.bfgs.begin(start, objective.tolerance, before)
        return Found(*objective.search_block(X, weights, mean, descent), descent)
    if _has_line(objective) and objective.reads_line(X.shape[0]):
        return search_on_line(X, weights, mean, objective, start, n_jobs, before)
    return search_in_passes(X, weights, mean, objective, start, n_jobs)


def search_on_line(
    X: Matrix,
    weights: Floats,
    mean: Floats,
    objective: LineObjective,
    start: Floats,
    n_jobs: int | None = None,
    before: Any = None,
) -> Found:
    """Run `search` with an objective of weights on a grid: every step over the rows is on threads."""
    values = np.empty(X.shape[0])

    def evaluate(v: Floats) -> tuple[float, float, Callable[[], Floats]]:
        length = np.linalg.norm(v)
        unit = v / length
        along = Along.of(X, weights, mean, unit, n_jobs, values)
        line, found = on_line_along(objective, along)

        def gradient() -> Floats:
            by_direction = along.pull(line, found.slopes, found.tilt)
            return np.asarray((by_direction - (by_direction @ unit) * unit) / length)

        return found.value, found.position, gradient

    v, value, position = descend(evaluate, start, objective.tolerance, before)
    return Found(v / np.linalg.norm(v), value, position)


def search_in_passes(
    X: Matrix, weights: Floats, mean: Floats, objective: Objective, start: Floats, n_jobs: int | None = None
) -> Found:
    """Run `search` with any objective: one pass for a value, a second one for a gradient."""

    def evaluate(v: Floats) -> tuple[float, float, Callable[[], Floats]]:
        length = np.linalg.norm(v)
        unit = v / length
        value, position, derivatives = objective(project(X, unit, n_jobs) - mean @ unit, weights)

        def gradient() -> Floats:
            c = derivatives()
            if c.shape != weights.shape:  # compiled passes would read past its end
                raise ValueError(f"the objective returned derivatives of shape {c.shape} for {len(weights)} rows")
            by_direction = weighted_sum(X, c, n_jobs) - c.sum() * mean
            return np.asarray((by_direction - (by_direction @ unit) * unit) / length)

        return value, position, gradient

    v, value, position = descend(evaluate, start, objective.tolerance)
    return Found(v / np.linalg.norm(v), value, position)


def descend(
    evaluate: Evaluate[Extra], start: Floats, tolerance: float, before: Any = None
) -> tuple[Floats, float, Extra]:
    """Minimize by the BFGS of `ravine._kernels.bfgs`, and return the point, its value and the extra result there.

    Parameters
    ----------
    evaluate : callable ``v -> (value, extra, gradient)``
        The gradient is a function that is called only when needed.
    start : ndarray
    tolerance : float
        The search ends when the decrease is below this twice in a row.
    before : Descent, optional
        A descent of a similar function; see `ravine._kernels.bfgs.begin`.
    """
    bfgs = _kernels.bfgs
    descent, answer = bfgs.begin(start, tolerance, before), bfgs.ASK_VALUE
    while answer == bfgs.ASK_VALUE:
        at_trial, extra_at_trial, gradient = evaluate(descent.trial.copy())
        answer = bfgs.take_value(descent, float(at_trial))
        if answer in (bfgs.ASK_GRADIENT, bfgs.ENDS_AT_TRIAL):
            value, extra = at_trial, extra_at_trial
        if answer == bfgs.ASK_GRADIENT:
            answer = bfgs.take_gradient(descent, np.ascontiguousarray(gradient(), dtype=np.float64))
    return descent.point, value, extra
