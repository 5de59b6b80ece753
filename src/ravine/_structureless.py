"""Are clusters stronger than chance? Compare their strength with that of rows that have no clusters.

The rows for comparison keep what is not a cluster in the data: the distribution of each column, made unimodal and with
its rounding, and the correlations of the ranks (a Gaussian copula). One draw costs O(rows · columns²). See
`docs/decisions/sum-of-norms.md` for the figures.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri

from ravine import _kernels
from ravine._matrix import Floats, Ints

N_DRAWS = 19
"""Number of draws. Without clusters, all of them are weaker than the data with a probability of 1 / 20."""

N_FIRST, CLEARLY = 5, 3.0
"""The first draws suffice if the data are stronger than each of them by this factor."""

N_KNOTS, N_EXTREMES, N_MODES = 200, 10, 32
"""Number of values that describe a column with many values, of its extreme values on either side that are always among
them, and of the positions at which a mode is tried."""

MOST_COPIES = 10
"""A draw has at most so many rows for each distinct row of the data, whatever the weights are."""

RIDGE = 1e-9
"""Added to the squared scores, since the correlations of columns that depend on each other have no Cholesky factor."""


class Margin(NamedTuple):
    """A unimodal distribution of one column: positions, the probability below each of them, and the rounding.

    Positions are relative to `low` in units of `scale`. A rounding of 0 is none.
    """

    low: float
    scale: float
    positions: Floats
    below: Floats
    rounding: float

    def at(self, probability: Floats) -> Floats:
        """Return the values below which the probabilities lie."""
        position = np.interp(probability, self.below, self.positions)
        if self.rounding > 0:
            position = self.rounding * np.round(position / self.rounding)
        return self.low + self.scale * position


@dataclass(frozen=True)
class Structureless:
    """A distribution without clusters that is otherwise like the given rows.

    Attributes
    ----------
    margins : list of Margin
        The distribution of each column.
    factor : ndarray of shape (n_factors, n_scores)
        Standard normal rows times this matrix have the correlations of the ranks.
    score : ndarray of shape (n_features,)
        The normal score of each column; copies of a column have the same score.
    """

    margins: list[Margin]
    factor: Floats
    score: Ints

    @classmethod
    def like(cls, rows: Floats, mass: Floats) -> Self:
        """Return the distribution that resembles these rows, whose copies are merged into the masses."""
        share = mass / mass.sum()
        margins, scores = [], np.empty_like(rows)
        for j, column in enumerate(rows.T):
            values, position = np.unique(column, return_inverse=True)
            probability: Floats = np.asarray(np.bincount(position, share), dtype=np.float64)
            margins.append(unimodal_margin(values, probability, float(mass.sum())))
            score = ndtri(np.clip(np.cumsum(probability) - probability / 2, 0.0, 1.0))[position]
            scores[:, j] = score / np.sqrt(share @ score**2) if len(values) > 1 else 0.0
        scores, of_column = _distinct_columns(scores)
        factor = scores * np.sqrt(share)[:, np.newaxis]
        if scores.shape[1] <= len(rows):
            factor = np.linalg.cholesky(factor.T @ factor + RIDGE * np.eye(scores.shape[1])).T
        return cls(margins, factor, of_column)

    def draw(self, n_rows: int, random: np.random.Generator) -> Floats:
        """Draw rows."""
        scores = random.standard_normal((n_rows, len(self.factor))) @ self.factor
        probability = ndtr(scores)[:, self.score]
        return np.column_stack([margin.at(probability[:, j]) for j, margin in enumerate(self.margins)])


def _distinct_columns(scores: Floats) -> tuple[Floats, Ints]:
    """Return the distinct columns in lexicographic order, and the place of each column there.

    `np.unique` with an axis makes a data type with a field for each row, which takes longer than a draw.
    """
    columns = [column.tobytes() for column in scores.T]
    distinct = sorted(set(columns), key=lambda column: array("d", column))
    place = {column: k for k, column in enumerate(distinct)}
    return np.array([np.frombuffer(column) for column in distinct]).T, np.array([place[column] for column in columns])


def is_stronger_than_chance(
    strength: float,
    strength_of: Callable[[Floats], float],
    rows: Floats,
    mass: Floats,
    most_rows: int,
    seed: int,
    n_draws: int = N_DRAWS,
) -> bool:
    """Return whether clusters are stronger than those that are found in each of some draws without clusters.

    Parameters
    ----------
    strength : float
        Strength of the clusters found in the rows.
    strength_of : callable
        Finds clusters in a draw in the same way, and returns their strength, or 0 if there are none.
    rows, mass : ndarray
        Distinct rows, and the total weight of the copies of each.
    most_rows : int
        Maximum number of rows of a draw. With fewer rows, chance makes stronger clusters, so the test gets stricter.
    seed : int
        Seed of the draws.
    n_draws : int, default=19
        Number of draws.
    """
    if not strength > 0:
        return False
    chance = Structureless.like(rows, mass)
    random = np.random.default_rng(seed)
    n_rows = int(min(max(np.round(mass.sum()), 2.0), most_rows, MOST_COPIES * len(rows)))
    strongest = 0.0
    for i in range(n_draws):
        strongest = max(strongest, strength_of(chance.draw(n_rows, random)))
        if strongest >= strength:
            return False
        if i + 1 == N_FIRST and 0 < CLEARLY * strongest < strength:
            return True
    return True


def unimodal_margin(values: Floats, probability: Floats, n_rows: float) -> Margin:
    """Return the unimodal distribution nearest to that of some values, in the largest difference of probabilities.

    Parameters
    ----------
    values : ndarray
        Distinct values, in increasing order.
    probability : ndarray
        The probability of each.
    n_rows : float
        Number of rows. With half as many values or fewer, the values are rounded, to their typical distance.
    """
    low, scale = float(values[0]), float(values[-1] - values[0])
    if scale == 0:
        return Margin(low, 0.0, np.zeros(1), np.zeros(1), 0.0)
    positions = (values - low) / scale
    rounding = 0.0
    if len(values) <= n_rows / 2:
        gap = np.diff(positions, append=2 * positions[-1] - positions[-2])
        order = np.argsort(gap, kind="stable")
        middle = int(np.searchsorted(np.cumsum(probability[order]), 0.5))
        rounding = float(gap[order[min(middle, len(gap) - 1)]])
    below = np.cumsum(probability) - (0.0 if rounding > 0 else probability / 2)
    knots = _knots(below)
    positions, below = positions[knots] + rounding / 2, below[knots]
    if rounding > 0:  # all that is rounded to a value lies below its upper end
        positions, below = np.append(-rounding / 2, positions), np.append(0.0, below)
    below = (below - below[0]) / (below[-1] - below[0])
    return Margin(low, scale, positions, _unimodal(positions, below), rounding)


def _knots(below: Floats) -> Ints:
    """Return which values describe a column: all, or some that have equal probabilities between them and the extremes.

    The choice does not depend on the order of the rows.
    """
    n_values = len(below)
    if n_values <= N_KNOTS:
        return np.arange(n_values)
    between = np.searchsorted(below, np.linspace(0.0, 1.0, N_KNOTS))
    extremes = np.arange(N_EXTREMES)
    return np.unique(np.concatenate([extremes, np.minimum(between, n_values - 1), n_values - 1 - extremes]))


def _unimodal(positions: Floats, below: Floats) -> Floats:
    """Return the probability below each position for densities that increase up to a mode, and decrease from there."""
    width = np.maximum(np.diff(positions), np.finfo(np.float64).tiny)
    density = np.diff(below) / width
    modes = np.unique(np.linspace(0, len(width), N_MODES).astype(np.int64))
    return _kernels.unimodal.nearest(density, width, below, modes)
