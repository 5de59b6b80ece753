"""Find a cut of some rows of a stream, if held-out rows confirm its valley.

One half of the rows proposes directions and valleys (`ravine.cuts._proposals`), and the other half confirms them by
the valley test; then the halves swap roles. The rows are in the order of time. If successive rows depend on each
other, a half is made of whole blocks of them: if neighbors were in different halves, they would confirm each other.
"""

import math
from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats, project
from ravine._ties import is_less, pointing_up
from ravine.cuts._proposals import NO_WORSE, DividedRows, Proposals, counts_around, polish, propose, rank
from ravine.tree._valley_test import binomial_bound

N_BEST = 2
"""Number of valleys of a half that the other half tests."""

N_HALVINGS = 2
"""Maximum number of halvings; in each, both halves propose."""

LEAST_SCORE, ENOUGH = 2.25, 2.26
"""Rows are not halved if no direction that all of them propose has a valley with this score. Rows with one mode seldom
have such a valley, and a valley that was confirmed always had. One direction with the second score settles it: the
scores of directions that tie differ by less than the difference."""

HOPELESS = 0.3
"""If no p-value of the first halving is below this, there is no second one."""

BEYOND_DOUBT = 1e-2
"""Nor is there if the combined p-value is below this share of the level."""

LEAST_SIDE, FEWEST_ON_SIDE = 0.02, 5
"""Minimum share of the rows, and minimum number of rows, on either side of a valley."""

MIN_ROWS = 24
"""With fewer rows, no valley can be distinguished from chance."""


@dataclass(frozen=True)
class Split:
    """A confirmed cut, with the positions of its two modes relative to it.

    Attributes
    ----------
    p_value : float
        Bound of the probability that the valley is due to chance.
    normal : ndarray of shape (n_features,)
        Unit normal.
    offset : float
    low, high : float
        Positions of the modes relative to the cut, in the unit of the rows.
    """

    p_value: float
    normal: Floats
    offset: float
    low: float
    high: float


@dataclass(frozen=True)
class Found:
    """Result of a search.

    Attributes
    ----------
    split : Split or None
        The cut, if there is one.
    is_hopeless : bool
        Whether the rows show no valley at all.
    """

    split: Split | None
    is_hopeless: bool


def find_split(
    X: Floats,
    unit: Floats,
    steps: Floats,
    level: float,
    *,
    dependence: float = 1.0,
    extra: Floats | None = None,
    is_apart: Bools | None = None,
) -> Found:
    """Find a cut whose valley is confirmed at a level.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows in the order of time.
    unit : ndarray of shape (n_features,)
        Spread of each column; infinite for a column to ignore.
    steps : ndarray of shape (n_features,)
        Lattice steps of the columns; 0 for continuous columns.
    level : float
        Significance level.
    dependence : float, default=1
        Number of successive rows that count as one.
    extra : ndarray of shape (n_directions, n_features), optional
        Further directions to try, in columns divided by their units.
    is_apart : ndarray of shape (n_samples,), optional
        Rows that may be a group: the direction from all others to them is tried, too.
    """
    n = len(X)
    if n < MIN_ROWS * dependence:
        return Found(None, is_hopeless=False)
    center = X.mean(axis=0)
    Z, steps = (X - center) / unit, steps / unit
    least_side = max(LEAST_SIDE, FEWEST_ON_SIDE / n)
    seen = rank(propose(Z, is_apart, extra), steps, least_side, 1, ENOUGH)
    if not len(seen.scores) or seen.scores[0] < LEAST_SCORE:
        return Found(None, is_hopeless=True)
    n_tests = 2 * N_BEST * N_HALVINGS
    best, normal = 1.0, None
    for halving in range(N_HALVINGS):
        first_half = _half(n, math.ceil(dependence), halving)
        for learn in (first_half, ~first_half):
            mine = Z[learn]
            proposals = propose(mine, None if is_apart is None else is_apart[learn], extra)
            seen = polish(mine, rank(proposals, steps, least_side, N_BEST), steps, least_side)
            counts = counts_around(Z[~learn], seen) / dependence
            for direction, (middle, left, right) in zip(seen.directions, counts, strict=True):
                p_value = max(binomial_bound(middle, left), binomial_bound(middle, right))
                if is_less(p_value, best):
                    best, normal = p_value, direction
        if best > HOPELESS or n_tests * best < BEYOND_DOUBT * level:
            break
    if normal is None or n_tests * best > level:
        return Found(None, is_hopeless=False)
    split = _placed(Z, normal, center, unit, steps, least_side, n_tests * best)
    return Found(split, is_hopeless=False)


def _half(n: int, length: int, seed: int) -> Bools:
    """Return which of n rows are in the first half: about half of all blocks of successive rows, drawn at random."""
    n_blocks = -(-n // length)
    is_first = np.random.default_rng(seed).permutation(n_blocks) < n_blocks // 2
    return np.repeat(is_first, length)[:n]


def _placed(
    Z: Floats, normal: Floats, center: Floats, unit: Floats, steps: Floats, least_side: float, p_value: float
) -> Split | None:
    """Place the cut at the strongest valley of all rows, and turn it to where the valley is stronger."""
    along = Proposals(normal[np.newaxis], project(Z, normal)[np.newaxis])
    seen = rank(along, steps, least_side, 1)
    if not len(seen.scores):
        return None
    seen = polish(Z, seen, steps, least_side, NO_WORSE)
    kernel, direction, valley = _kernels.density, seen.directions[0], seen.valleys[0]
    in_units = direction / unit
    length = float(np.linalg.norm(in_units))
    up = pointing_up(in_units[np.newaxis])[0]
    sign = 1.0 if up @ in_units > 0 else -1.0
    position = valley[kernel.POSITION]
    modes = sorted(sign * (valley[[kernel.LEFT_MODE, kernel.RIGHT_MODE]] - position) / length)
    offset = sign * position / length + _kernels.rows.dot(up, center)
    return Split(p_value, up, float(offset), float(modes[0]), float(modes[1]))


def placed_between(X: Floats, is_right: Bools, unit: Floats, steps: Floats, p_value: float) -> Split | None:
    """Place a cut between two sets of rows, with the p-value that it had; None if there is no valley.

    The parameters are those of `find_split`. The sides of the cut may be swapped.
    """
    center = X.mean(axis=0)
    Z, steps = (X - center) / unit, steps / unit
    direction = pointing_up(DividedRows.of(Z).between(~is_right)[-1:])
    if not len(direction):
        return None
    least_side = FEWEST_ON_SIDE / len(X)
    return _placed(Z, direction[0], center, unit, steps, least_side, p_value)
