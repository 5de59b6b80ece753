"""Tell codes from counts and grades: whether the order of small whole numbers says anything about the other columns.

Colors numbered from 0 to 8 and grades from 0 to 8 have the same cells. But the other columns change along the grades,
and between the colors in no order. So the means of the other columns at each value are compared with those for the
same values in other orders. One column with a few values has few orders, so all columns of small whole numbers are
judged together: they are codes if hardly more of what they say about the other columns lies on a straight line than for
a random order. A column among them whose own order matters is a number, and so is one that says nothing about the
others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ravine._matrix import Floats, Ints
from ravine._ties import TIE
from ravine.prepare import _integers
from ravine.prepare._roles import MOST_LEVELS, Draft

FEWEST_VALUES, MOST_VALUES, CELLS = 3, 50, 10
"""Columns with this many values are looked at, and at least so many cells for each value on average."""

FIRST = (-1.0, 1.0)
"""Codes begin between these two numbers."""

FILLED = 0.75
"""Codes leave out few numbers: their values are at least this share of all whole numbers in their range."""

TELLS = 2.0
"""The means of the other columns vary at least this many times as much between the values as they do by chance."""

COMMON, FREEDOM, FEWEST_OTHERS = 0.25, 12, 5
"""Small whole numbers of a table are codes if the mean share of a straight line is below the first number, if they have
together at least so many values, not counting two of each column, and if there are at least so many other columns."""

LINE, ORDERS, OWN_VALUES = 0.5, 0.01, 5
"""A column among codes is a number if its share of a straight line is at least the first number, or if at most this
share of all orders is as good as its own. With fewer values than the last number there are too few orders to tell."""

N_ROWS, N_OTHERS, N_ORDERS, ALL_ORDERS = 5_000, 100, 500, 6
"""At most so many rows, other columns and random orders are looked at; up to the last number of values, all orders."""


@dataclass(frozen=True)
class Evidence:
    """What the values of a column say about the other columns, and how much of it is in their order.

    Attributes
    ----------
    n_values : int
    tells : float
        Variance of the means of the other columns between the values, in multiples of that by chance.
    gain, most : float
        Share of it on a straight line, less the mean for all orders, and the same for the best that an order could be.
    orders : float
        Share of all orders in which the line is as good, or neighbors are as much alike.
    """

    n_values: int
    tells: float
    gain: float
    most: float
    orders: float

    @property
    def is_number(self) -> bool:
        """Whether the order of this column matters, whatever that of the others does."""
        return self.n_values >= OWN_VALUES and (self.gain >= LINE * self.most or self.orders <= ORDERS)


def codes_among(drafts: Sequence[Draft], asked: Mapping[str, str]) -> dict[int, int]:
    """Return the positions of the numbers that are codes, with their numbers of values."""
    candidates = [j for j, one in enumerate(drafts) if one.column.name not in asked and _may_be_code(one)]
    if not candidates or sum(one.column.is_used for one in drafts) <= FEWEST_OTHERS:
        return {}
    n_rows = max(len(one.cells) for one in drafts if one.cells is not None)
    chosen = np.linspace(0, n_rows - 1, min(n_rows, N_ROWS)).astype(np.int64)
    others, owner = _standardized(drafts, chosen)
    found = {}
    for j in candidates:
        cells = drafts[j].cells
        assert cells is not None
        evidence = evidence_of(cells[chosen], others[:, owner != j])
        if evidence is not None and evidence.tells >= TELLS:
            found[j] = evidence
    if sum(one.n_values - 2 for one in found.values()) < FREEDOM:
        return {}
    if sum(one.gain for one in found.values()) >= COMMON * sum(one.most for one in found.values()):
        return {}
    return {j: one.n_values for j, one in found.items() if not one.is_number}


def _may_be_code(found: Draft) -> bool:
    """Return whether a column has small whole numbers without holes, and no name of counts or measurements."""
    column, cells = found.column, found.cells
    if column.role != "number" or column.unit or cells is None or _integers.names_amounts(column.name):
        return False
    known = cells[~np.isnan(cells)]
    if not len(known) or known.max() > MOST_VALUES / FILLED or not FIRST[0] <= known.min() <= FIRST[1]:
        return False
    if (known % 1 != 0).any():
        return False
    n_values = len(np.unique(known))
    is_full = n_values >= FILLED * (known.max() - known.min() + 1)
    return is_full and FEWEST_VALUES <= n_values <= MOST_VALUES and len(known) >= CELLS * n_values


def _standardized(drafts: Sequence[Draft], chosen: Ints) -> tuple[Floats, Ints]:
    """Return some rows of the numbers and of an indicator for each frequent level, and the column of each."""
    columns, owner = [], []
    for j, one in enumerate(drafts):
        if one.column.is_scaled and one.cells is not None:
            columns.append(one.cells[chosen])
            owner.append(j)
        elif one.column.is_used and one.words is not None:
            codes = one.words.codes[chosen]
            for level in np.argsort(-one.words.counts, kind="stable")[:MOST_LEVELS]:
                columns.append(np.where(codes < 0, np.nan, codes == level))
                owner.append(j)
    some = np.linspace(0, len(columns) - 1, min(len(columns), N_OTHERS)).astype(np.int64)
    rows = np.column_stack([_scaled(columns[i]) for i in some])
    return rows, np.array(owner)[some]


def _scaled(cells: Floats) -> Floats:
    """Return cells by their ranks, with variance 1: far cells do not matter; gaps are 0."""
    known = ~np.isnan(cells)
    out = np.zeros(len(cells))
    if known.any():
        _, place, counts = np.unique(cells[known], return_inverse=True, return_counts=True)
        rank = (np.cumsum(counts) - counts / 2)[place]
        rank = rank - rank.mean()
        out[known] = rank / (rank.std() or 1.0)
    return out


def evidence_of(cells: Floats, others: Floats) -> Evidence | None:
    """Compare the order of the values of a column with other orders, by the means of the other columns.

    Parameters
    ----------
    cells : ndarray of shape (n_rows,)
        Cells of the column; gaps are NaN.
    others : ndarray of shape (n_rows, n_others)
        The other columns, with variance 1.

    Returns
    -------
    evidence : Evidence or None
        None if there is nothing to compare.
    """
    known = ~np.isnan(cells)
    others = others[known]
    varies = others.std(axis=0) > 0
    values, place, counts = np.unique(cells[known], return_inverse=True, return_counts=True)
    n_values, n_others = len(values), int(varies.sum())
    if not n_others or n_values < FEWEST_VALUES:
        return None
    others = others[:, varies]
    order = np.argsort(place, kind="stable")
    starts = np.cumsum(counts) - counts
    sums = np.add.reduceat(others[order], starts, axis=0)
    mean = sums / counts[:, np.newaxis] - others.mean(axis=0)
    between = float((counts[:, np.newaxis] * mean**2).sum())
    tells = between / (n_others * (n_values - 1))
    if tells <= 1:
        return Evidence(n_values, tells, 0.0, 0.0, 1.0)
    scores = _orders(values)
    line = _line(mean, counts, scores)
    rough = _roughness(mean, counts, scores)
    beyond_noise = between - n_others * (n_values - 1)
    chance = float(line.mean())
    gain, most = (line[0] - chance) / beyond_noise, 1 - (chance - n_others) / beyond_noise
    as_good = min((line >= line[0] * (1 - TIE)).mean(), (rough <= rough[0] * (1 + TIE)).mean())
    return Evidence(n_values, tells, float(gain), most, float(as_good))


def _orders(values: Floats) -> Floats:
    """Return the values in their own order, and in others: all, or some at random, the same ones every time."""
    if len(values) <= ALL_ORDERS:
        return np.array(list(permutations(values)))
    draw: Callable[[Floats], Floats] = np.random.RandomState(0).permutation
    return np.array([values, *(draw(values) for _ in range(N_ORDERS - 1))])


def _line(mean: Floats, counts: Ints, scores: Floats) -> Floats:
    """Return, for each order, the part of the sum of squares between the values that lies on a straight line."""
    weighted = counts[:, np.newaxis] * mean
    products = weighted @ weighted.T
    apart = scores - (scores @ counts / counts.sum())[:, np.newaxis]
    found: Floats = ((apart @ products) * apart).sum(axis=1) / (apart**2 @ counts)
    return found


def _roughness(mean: Floats, counts: Ints, scores: Floats) -> Floats:
    """Return, for each order, the mean squared distance of neighbors, weighted by how well it is known."""
    products = mean @ mean.T
    square = np.diag(products)
    distance = square[:, np.newaxis] + square - 2 * products
    weight = counts[:, np.newaxis] * counts / (counts[:, np.newaxis] + counts)
    order = np.argsort(scores, axis=1)
    left, right = order[:, :-1], order[:, 1:]
    found: Floats = (weight * distance)[left, right].sum(axis=1) / weight[left, right].sum(axis=1)
    return found
