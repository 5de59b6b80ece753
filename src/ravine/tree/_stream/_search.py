"""Find a cut of some rows of a stream, if held-out rows confirm its valley.

One half of the rows proposes directions and valleys (`ravine._kernels.proposals`), and the other half confirms them by
the valley test; then the halves swap roles. The rows are in the order of time. If successive rows depend on each
other, a half is made of whole blocks of them: if neighbors were in different halves, they would confirm each other.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from ravine import _kernels
from ravine._matrix import Bools, Floats
from ravine._ties import first_least, pointing_up
from ravine.tree._valley_test import binomial_bound

N_COMPONENTS, N_SUBSPACE, N_MEANS = 4, 16, 24
"""Number of principal components that are tried; dimension in which k-means runs, and its largest number of means."""

N_COLUMNS = 16
"""Number of columns that are tried as directions."""

N_BEST = 2
"""Number of valleys of a half that the other half tests."""

N_HALVINGS = 2
"""Maximum number of halvings; in each, both halves propose."""

HOPELESS = 0.3
"""If no p-value of the first halving is below this, there is no second one."""

BEYOND_DOUBT = 1e-2
"""Nor is there if the combined p-value is below this share of the level."""

LEAST_SIDE, FEWEST_ON_SIDE = 0.02, 5
"""Minimum share of the rows, and minimum number of rows, on either side of a valley."""

MIN_ROWS = 24
"""With fewer rows, no valley can be distinguished from chance."""

N_POLISHES = 3
"""The direction of a confirmed cut is improved at most this often."""

RIDGE = 0.1
"""Share of the mean variance that is added to each variance within the sides before their direction is computed."""


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


def find_split(
    X: Floats,
    unit: Floats,
    steps: Floats,
    level: float,
    *,
    dependence: float = 1.0,
    extra: Floats | None = None,
    is_apart: Bools | None = None,
) -> Split | None:
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
    n, d = X.shape
    if n < MIN_ROWS * dependence:
        return None
    center = X.mean(axis=0)
    Z, steps = (X - center) / unit, steps / unit
    extra = np.empty((0, d)) if extra is None else extra
    least_side = max(LEAST_SIDE, FEWEST_ON_SIDE / n)
    n_tests = 2 * N_BEST * N_HALVINGS
    best, normal = 1.0, None
    for halving in range(N_HALVINGS):
        first_half = _half(n, math.ceil(dependence), halving)
        for learn in (first_half, ~first_half):
            p_value, direction = _confirmed(Z, learn, steps, least_side, dependence, extra, is_apart)
            if p_value < best:
                best, normal = p_value, direction
        if best > HOPELESS or n_tests * best < BEYOND_DOUBT * level:
            break
    if normal is None or n_tests * best > level:
        return None
    return _placed(Z, normal, center, unit, steps, least_side, n_tests * best)


def _half(n: int, length: int, seed: int) -> Bools:
    """Return which of n rows are in the first half: about half of all blocks of successive rows, drawn at random."""
    n_blocks = -(-n // length)
    is_first = np.random.default_rng(seed).permutation(n_blocks) < n_blocks // 2
    return np.repeat(is_first, length)[:n]


@cache
def _start(n_vectors: int, n_features: int) -> Floats:
    """Return the vectors from which the search for components starts: always the same."""
    return np.random.default_rng(0).normal(size=(n_vectors, n_features))


def _confirmed(
    Z: Floats,
    learn: Bools,
    steps: Floats,
    least_side: float,
    dependence: float,
    extra: Floats,
    is_apart: Bools | None,
) -> tuple[float, Floats | None]:
    """Return the smallest p-value of valleys that half of the rows propose, and the direction of that valley."""
    kernel = _kernels.proposals
    mine, others = Z[learn], Z[~learn]
    mine = mine - mine.mean(axis=0)
    if is_apart is not None and 0 < (n_apart := is_apart[learn].sum()) < len(mine):
        apart = mine[is_apart[learn]].mean(axis=0) * (len(mine) / (len(mine) - n_apart))  # all rows have mean 0
        extra = np.concatenate([extra, apart[np.newaxis]])
    n_vectors = min(N_SUBSPACE, Z.shape[1], max(len(mine) // 4, 1))
    directions = kernel.propose(mine, _start(n_vectors, Z.shape[1]), N_COMPONENTS, N_MEANS, N_COLUMNS, extra)
    proposed, valleys = kernel.rank(Z[learn], directions, steps, least_side, N_BEST)
    normals, found = _polished(Z[learn], proposed, valleys, steps, least_side)
    p_values = []
    for normal, valley in zip(normals, found, strict=True):
        values = _kernels.proposals.along(others, normal)
        middle, left, right = (
            kernel.count_around(values, center, valley[kernel.WINDOW], valley[kernel.RESOLUTION]) / dependence
            for center in valley[[kernel.POSITION, kernel.LEFT_MODE, kernel.RIGHT_MODE]]
        )
        p_values.append(max(binomial_bound(middle, left), binomial_bound(middle, right)))
    if not p_values:
        return 1.0, None
    smallest = first_least(p_values)
    return p_values[smallest], normals[smallest]


def _polished(Z: Floats, normals: Floats, found: Floats, steps: Floats, least_side: float) -> tuple[Floats, Floats]:
    """Turn directions to where their valleys are stronger; return directions and valleys."""
    kernel = _kernels.proposals
    normals, found = normals.copy(), found.copy()
    for k in range(len(found)):
        for _ in range(N_POLISHES):
            is_left = kernel.along(Z, normals[k]) < found[k, kernel.POSITION]
            if not 0 < is_left.sum() < len(Z):
                break
            better, valley = kernel.rank(Z, _between_sides(Z, is_left), steps, least_side, 1)
            if not len(valley) or valley[0, kernel.SCORE] <= 1.001 * found[k, kernel.SCORE]:
                break
            normals[k], found[k] = better[0], valley[0]
    return normals, found


def _placed(
    Z: Floats, normal: Floats, center: Floats, unit: Floats, steps: Floats, least_side: float, p_value: float
) -> Split | None:
    """Place the cut at the strongest valley of all rows, and turn it to where the valley is stronger."""
    kernel = _kernels.proposals
    proposed, valleys = kernel.rank(Z, normal[np.newaxis], steps, least_side, 1)
    normals, found = _polished(Z, proposed, valleys, steps, least_side)
    if not len(found):
        return None
    direction, valley = normals[0], found[0]
    in_units = direction / unit
    length = float(np.linalg.norm(in_units))
    up = pointing_up(in_units[np.newaxis])[0]
    sign = 1.0 if up @ in_units > 0 else -1.0
    position = valley[kernel.POSITION]
    modes = sorted(sign * (valley[[kernel.LEFT_MODE, kernel.RIGHT_MODE]] - position) / length)
    offset = sign * position / length + _kernels.rows.dot(up, center)
    return Split(p_value, up, float(offset), float(modes[0]), float(modes[1]))


def _between_sides(Z: Floats, is_left: Bools) -> Floats:
    """Return the directions between the means of two sides: as they are, and in the metric of the rows within them."""
    n, d = Z.shape
    left, right = Z[is_left], Z[~is_left]
    apart = right.mean(axis=0) - left.mean(axis=0)
    directions = [apart]
    if n > 3 * d:
        within = np.concatenate([left - left.mean(axis=0), right - right.mean(axis=0)])
        scatter = within.T @ within / n
        scatter[np.diag_indices(d)] += max(RIDGE * np.trace(scatter) / d, 1e-12)
        directions.append(np.linalg.solve(scatter, apart))
    return pointing_up(np.array(directions))
