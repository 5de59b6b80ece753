"""Gaps in numbers: what the other numbers of a row lead one to expect.

The median of a column in every gap would make a spike, and would put rows of one cluster between all of them. A gap
gets its conditional mean, given the other numbers of the row. The rows are described by a mixture of a few normal
distributions, so that a gap in a row of one cluster is filled by rows of that cluster. The mixture is started from
groups that are halved along their principal directions, and learned by expectation maximization, with the gaps filled
anew a few times.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from ravine._matrix import Bools, Floats, Ints, scatter
from ravine._ties import first_least

LEARNED_ROWS, N_ROUNDS, N_STEPS = 5_000, 4, 4
"""Number of rows from which the mixture is learned, how often their gaps are filled anew, and the number of steps of
expectation maximization before that."""

N_COMPONENTS, ROWS_PER_COLUMN = 8, 20
"""Maximum number of components, and the number of rows that each of them needs for each column."""

PRIOR_ROWS = 30.0
"""The covariance of a component is averaged with the pooled one, which counts as this many rows and one for each
column."""

RIDGE = 0.01
"""Added to the variance of each column, which is near 1: columns may be nearly functions of each other."""

LEAST_SHARE = 1e-12
"""Smallest share of a row in a component, so that no component is ever without rows."""

MOST_COLUMNS, MOST_GAPS = 200, 5
"""With more columns, or with more gaps in a row, gaps keep the median of their column."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """A mixture of normal distributions of the scaled numbers of a table.

    Attributes
    ----------
    weight : ndarray of shape (n_components,)
    mean : ndarray of shape (n_components, n_numbers)
    covariance : ndarray of shape (n_components, n_numbers, n_numbers)
    """

    weight: Floats
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, rows: Floats, is_gap: Bools) -> "Gaps | None":
        """Learn them from rows in which gaps have the median; None if there are too few or too many columns."""
        n_rows, n_columns = rows.shape
        if not 2 <= n_columns <= MOST_COLUMNS or n_rows <= n_columns:
            return None
        rows, is_gap = rows[:LEARNED_ROWS], is_gap[:LEARNED_ROWS]
        found = cls._moments(rows, np.ones((len(rows), 1)))
        filled = rows
        for _ in range(N_ROUNDS if is_gap.any() else 0):
            filled = found.filled(rows, is_gap)
            found = cls._moments(filled, np.ones((len(rows), 1)))
        n_components = min(N_COMPONENTS, len(rows) // (ROWS_PER_COLUMN * n_columns))
        if n_components <= 1:
            return found
        share = _groups(filled, n_components)
        for _ in range(N_ROUNDS):
            for _ in range(N_STEPS):
                found = cls._moments(filled, share)
                share = found._shares(filled, np.arange(n_columns))
            filled = found.filled(rows, is_gap)
        return found

    @classmethod
    def _moments(cls, rows: Floats, share: Floats) -> "Gaps":
        """Return the components, given the share of each row in each of them."""
        count, n_columns = share.sum(axis=0), rows.shape[1]
        mean = (share.T @ rows) / count[:, np.newaxis]
        scatters = np.array([scatter(rows, share[:, k], center) for k, center in enumerate(mean)])
        pooled = scatters.sum(axis=0) / len(rows) + RIDGE * np.eye(n_columns)
        prior = PRIOR_ROWS + n_columns
        covariance = (scatters + prior * pooled) / (count + prior)[:, np.newaxis, np.newaxis]
        return cls(count / len(rows), mean, covariance)

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
            cells = rows[np.ix_(here, known)]
            share = self._shares(cells, known)
            estimate = np.zeros((len(here), len(gap)))
            for k, (mean, covariance) in enumerate(zip(self.mean, self.covariance, strict=True)):
                slope = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, gap)])
                estimate += share[:, [k]] * (mean[gap] + _product(cells - mean[known], slope))
            out[np.ix_(here, gap)] = estimate
        return out

    def _shares(self, cells: Floats, known: Ints) -> Floats:
        """Return the probability of each component for each row, given the cells of its known columns."""
        joint = np.empty((len(cells), len(self.weight)))
        for k, (weight, mean, covariance) in enumerate(zip(self.weight, self.mean, self.covariance, strict=True)):
            root = np.linalg.cholesky(covariance[np.ix_(known, known)])
            inverse = scipy.linalg.solve_triangular(root, np.eye(len(known)), lower=True)
            white = _product(cells - mean[known], inverse.T)
            volume = np.log(np.diagonal(root)).sum()
            joint[:, k] = np.log(weight) - volume - 0.5 * np.einsum("ij,ij->i", white, white)
        share = np.exp(joint - scipy.special.logsumexp(joint, axis=1, keepdims=True))
        return np.asarray(np.maximum(share, LEAST_SHARE))


def _groups(rows: Floats, n_groups: int) -> Floats:
    """Return indicators of groups of rows: the group with the largest scatter is halved, at its mean, again and again.

    The direction is the first principal component.
    """
    groups = [np.arange(len(rows))]
    while len(groups) < n_groups:
        values, vectors = zip(*(_principal(rows[group]) for group in groups), strict=True)
        widest = first_least(-np.array(values))
        group = groups.pop(widest)
        along = (rows[group] - rows[group].mean(axis=0)) @ vectors[widest]
        is_left = along < 0
        if is_left.all() or not is_left.any():  # all rows are equal
            groups.append(group)
            break
        groups += [group[is_left], group[~is_left]]
    share = np.zeros((len(rows), len(groups)))
    for k, group in enumerate(groups):
        share[group, k] = 1.0
    return share


def _principal(rows: Floats) -> tuple[float, Floats]:
    """Return the scatter along the first principal component, and the component, whose largest entry is positive."""
    values, vectors = np.linalg.eigh(scatter(rows, np.ones(len(rows)), rows.mean(axis=0)))
    first = vectors[:, -1]
    return float(values[-1]), first * np.sign(first[np.abs(first).argmax()])


def _product(rows: Floats, matrix: Floats) -> Floats:
    """Return the product with sums in one order for each row, so that a row is the same in every batch."""
    return np.einsum("ij,jk->ik", rows, matrix, optimize=False)
