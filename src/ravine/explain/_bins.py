"""Counts of rows in the bins of a column, for each cluster.

An ordered column has bins with about the same number of rows, or one bin for each value if there are few values. Other
columns have a bin for each of the most frequent levels, and one for all other levels. Gaps have a bin of their own, the
last one. All that is counted afterwards costs a pass over the bins, not over the rows.
"""

from dataclasses import dataclass

import numpy as np

from ravine.explain._table import Column, Floats, Ints

MOST_BINS = 512
"""An ordered column has at most this many bins."""

MOST_LEVELS = 255
"""This many of the most frequent levels are counted each by itself, the other ones together."""


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of each row, and what the bins are.

    Attributes
    ----------
    code : ndarray of shape (n_samples,)
        Bin of each row; `n_bins` for a gap.
    n_bins : int
        Number of bins without that of the gaps.
    starts : ndarray of shape (n_bins,)
        Smallest value of each bin of an ordered column. A bin ends before the next one starts.
    levels : tuple of str
        Level of each bin of another column. If there is one more bin, it has all other levels.
    """

    code: Ints
    n_bins: int
    starts: Floats
    levels: tuple[str, ...]

    @property
    def has_rest(self) -> bool:
        """Whether the last bin has several levels."""
        return len(self.levels) > 0 and self.n_bins > len(self.levels)

    def counts(self, group: Ints, n_groups: int, weights: Floats) -> Floats:
        """Return the weight of the rows of each group in each bin, with the gaps last; groups below 0 are left out."""
        size = self.n_bins + 1
        known = group >= 0
        where = group[known] * size + self.code[known]
        return sums(where, weights[known], n_groups * size).reshape(n_groups, size)


def sums(group: Ints, values: Floats, n_groups: int) -> Floats:
    """Return the sum of the values of each group."""
    return np.asarray(np.bincount(group, values, n_groups), dtype=np.float64)


def bins_of(column: Column, weights: Floats, most_bins: int = MOST_BINS) -> Bins:
    """Return the bins of a column."""
    return _of_numbers(column, most_bins) if column.is_ordered else _of_levels(column, weights)


def _of_numbers(column: Column, most_bins: int) -> Bins:
    present = np.sort(column.values[~column.is_gap])
    starts = present[np.append(True, present[1:] > present[:-1])] if len(present) else present
    if len(starts) > most_bins:
        starts = np.unique(present[np.arange(most_bins) * len(present) // most_bins])
    code = np.searchsorted(starts, column.values, side="right") - 1
    return Bins(np.where(column.is_gap, len(starts), code), len(starts), starts, ())


def _of_levels(column: Column, weights: Floats) -> Bins:
    codes, is_gap = column.codes_of_levels, column.is_gap
    count = sums(codes[~is_gap], weights[~is_gap], len(column.levels))
    count = np.round(count / max(float(weights.sum()), 1e-300), 9)  # sums that differ by rounding are equal
    frequent = np.argsort(-count, kind="stable")  # levels are in the order of their names
    frequent = frequent[count[frequent] > 0]
    kept = frequent[:MOST_LEVELS]
    n_bins = len(kept) + (len(frequent) > len(kept))
    bin_of = np.full(len(column.levels) + 1, len(kept))
    bin_of[kept] = np.arange(len(kept))
    bin_of[-1] = n_bins  # of the code -1
    return Bins(bin_of[codes], n_bins, np.empty(0), tuple(column.levels[code] for code in kept))
