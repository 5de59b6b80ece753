"""Encode a category without valleys: hidden normal numbers that exceed a threshold where the row has the level.

An indicator has two values and nothing between them. Whatever its scale, this is an empty valley, and methods that
adapt to the scale of a column find it. So each level gets a hidden number: for rows of the level it is drawn from the
upper end of a standard normal distribution, for rows of later levels from the rest, and for rows of earlier levels and
gaps from all of it. If a category has nothing to do with the other columns, its numbers are independent normal noise,
in which there is nothing to find. If it agrees with them, or with other categories, its numbers are shifted together.

The draws are not random: they are a function of the cells of the row.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from ravine._matrix import Floats, Ints, mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Bits = NDArray[np.uint64]


def bits_of(cells: list[Floats], levels: list[Ints], n_rows: int) -> Bits:
    """Return 64 pseudorandom bits of each row from its numbers in their own units and the positions of its levels."""
    bits = np.zeros(n_rows, dtype=np.uint64)
    for column in cells:
        known = np.where(np.isnan(column), np.inf, column) + 0.0  # one bit pattern for gaps, and one for zero
        bits = mix(bits * GOLDEN + known.view(np.uint64))
    for place in levels:
        bits = mix(bits * GOLDEN + place.astype(np.uint64))
    return bits


def uniform_of(bits: Bits, number: int) -> Floats:
    """Return a number from 0 to 1, both excluded, for each row. Each encoded column has draws of its own."""
    salt = np.array([number + 1], dtype=np.uint64) * GOLDEN
    return ((mix(bits + salt) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def thresholds(shares: tuple[float, ...], is_boolean: bool) -> list[tuple[int, float]]:
    """Return the position of each level with a number, and its share of the rows that have no earlier level.

    The last share is that of all other levels. The last level has no number: it is what the earlier ones leave.

    Examples
    --------
    >>> thresholds((0.5, 0.25, 0.25, 0.0), is_boolean=False)
    [(0, 0.5), (1, 0.5)]
    >>> thresholds((0.75, 0.25, 0.0), is_boolean=True)
    [(1, 0.25)]
    """
    if is_boolean:
        return [(1, shares[1])]
    n_numbers = len(shares) - 1 if shares[-1] > 0 else len(shares) - 2
    left = 1.0 - np.concatenate([[0.0], np.cumsum(shares)])[:n_numbers]
    return [(j, float(min(shares[j] / left[j], 1.0))) for j in range(n_numbers)]


def spread_numbers(place: Ints, bits: Bits, first: int, shares: tuple[float, ...], is_boolean: bool) -> Floats:
    """Return the hidden numbers of some rows.

    Parameters
    ----------
    place : ndarray of int64
        Position of the level of each row; ``len(shares) - 1`` for all other levels, ``len(shares)`` for gaps.
    bits : ndarray of uint64
        Bits of each row.
    first : int
        Number of the first encoded column, so that each column has draws of its own.
    shares, is_boolean :
        As in `thresholds`.
    """
    wanted = thresholds(shares, is_boolean)
    out = np.empty((len(place), len(wanted)))
    is_gap = place == len(shares)
    for column, (level, share) in enumerate(wanted):
        uniform = uniform_of(bits, first + column)
        is_free = is_gap if is_boolean else is_gap | (place < level)
        below = (1.0 - share) * uniform
        drawn = np.where(place == level, 1.0 - share + share * uniform, below)
        out[:, column] = scipy.special.ndtri(np.clip(np.where(is_free, uniform, drawn), 2.0**-53, 1 - 2.0**-53))
    return out


def share_at(mean: Floats, share: float) -> Floats:
    """Return the share of a level among rows whose hidden numbers have this mean."""
    limit = float(scipy.special.ndtri(1.0 - share))
    return share + mean * share * (1.0 - share) * np.sqrt(2 * np.pi) * np.exp(limit**2 / 2)
