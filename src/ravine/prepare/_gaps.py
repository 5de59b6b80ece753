"""Gaps in numbers: what the other numbers of a row lead one to expect.

The median of a column in every gap would make a spike, and would put rows of one cluster between all of them. So a gap
gets its conditional mean, given the other numbers of the row, as if all rows had one normal distribution. The means and
the covariance are learned with the gaps filled in the same way, a few times over.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Bools, Floats

LEARNED_ROWS, N_ROUNDS = 20_000, 4
"""Number of rows from which the covariance is learned, and how often their gaps are filled anew."""

RIDGE = 0.01
"""Added to the variance of each column, which is near 1: columns may be nearly functions of each other."""

MOST_COLUMNS, MOST_GAPS = 200, 5
"""With more columns, or with more gaps in a row, gaps keep the median of their column."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """Mean and covariance matrix of the scaled numbers of a table.

    Attributes
    ----------
    mean : ndarray of shape (n_numbers,)
    covariance : ndarray of shape (n_numbers, n_numbers)
    """

    mean: Floats
    covariance: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Floats, is_gap: Bools) -> "Gaps | None":
        """Learn them from rows in which gaps have the median; None if there are too few or too many columns."""
        n_rows, n_columns = rows.shape
        if not 2 <= n_columns <= MOST_COLUMNS or n_rows <= n_columns:
            return None
        rows, is_gap = rows[:LEARNED_ROWS], is_gap[:LEARNED_ROWS]
        found = cls._moments(rows)
        for _ in range(N_ROUNDS if is_gap.any() else 0):
            found = cls._moments(found.filled(rows, is_gap))
        return found

    @classmethod
    def _moments(cls, rows: Floats) -> "Gaps":
        mean = rows.mean(axis=0)
        apart = rows - mean
        return cls(mean, apart.T @ apart / len(rows) + RIDGE * np.eye(len(mean)))

    def filled(self, rows: Floats, is_gap: Bools) -> Floats:
        """Return the rows with their conditional means in the gaps. A row does not depend on other rows."""
        out = rows.copy()
        n_gaps = is_gap.sum(axis=1)
        some = np.flatnonzero((n_gaps > 0) & (n_gaps <= min(MOST_GAPS, rows.shape[1] - 1)))
        patterns, which = np.unique(np.packbits(is_gap[some], axis=1), axis=0, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.searchsorted(which.ravel()[order], np.arange(len(patterns) + 1))
        for start, end in pairwise(ends):
            here = some[order[start:end]]
            gap = np.flatnonzero(is_gap[here[0]])
            known = np.flatnonzero(~is_gap[here[0]])
            slope = np.linalg.solve(self.covariance[np.ix_(known, known)], self.covariance[np.ix_(known, gap)])
            apart = rows[np.ix_(here, known)] - self.mean[known]
            # Sums in one order for each row, so that a row is the same in every batch.
            estimate = np.einsum("ij,jk->ik", apart, slope, optimize=False)
            out[np.ix_(here, gap)] = self.mean[gap] + estimate
        return out
