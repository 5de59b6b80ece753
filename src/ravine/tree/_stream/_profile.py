"""What the rows of a leaf look like, so that rows that no longer fit are noticed.

A profile has the mean and the deviations of the columns, and the counts of the scores of rows. The score of a row is
its squared distance from the mean, in deviations. The share of the scores above that of a new row is its p-value.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats
from ravine._ties import OF_A_SUM

FITS, APART = 0.05, 0.01
"""A row fits a profile if its p-value is above the first number, and is apart from it if it is below the second."""

MIN_PROFILE = 30
"""Minimum number of rows for a profile."""

LEAST_CORRELATION = 0.2
"""Successive rows count as independent if their correlation is below this, or below three standard errors."""

SHIFT, STANDARD_ERRORS = 0.75, 5.0
"""A profile has moved if its mean has shifted by more than this many deviations, and by more than so many standard
errors."""


@dataclass(frozen=True)
class Profile:
    """Profile of the rows of a leaf.

    Attributes
    ----------
    mean, inverse : ndarray of shape (n_features,)
        Mean, and inverse of the standard deviation.
    median : float
        Median of the scores when the profile was made.
    counts : ndarray of shape (N_BINS,)
        Number of scores in each bin.
    n_rows : int
        Number of rows that mean and deviations were computed from.
    """

    mean: Floats
    inverse: Floats
    median: float
    counts: Floats
    n_rows: int

    def p_values(self, X: Floats) -> Floats:
        """Return the share of the scores that are larger than that of each row; ties count half."""
        return self._share_above[_kernels.stream.bins_of(X, self.mean, self.inverse, self.median)]

    @cached_property
    def _share_above(self) -> Floats:
        """The p-value of the scores in each bin."""
        above = np.cumsum(self.counts[::-1])[::-1] - self.counts / 2
        return np.asarray(above / (self.counts.sum() + 1))

    def fit_share(self, X: Floats) -> float:
        """Return the share of the rows that fit."""
        return float((self.p_values(X) > FITS).mean()) if len(X) else 0.0

    def shift_to(self, mean: Floats) -> float:
        """Return how far another mean lies from that of this profile, in deviations of this one."""
        return float(np.linalg.norm((mean - self.mean) * self.inverse))

    def has_moved(self, other: "Profile") -> bool:
        """Return whether the mean of a later profile differs by more than `SHIFT`, and more than by chance."""
        d, noise = len(self.mean), 1 / self.n_rows + 1 / other.n_rows
        return self.shift_to(other.mean) ** 2 - d * noise > SHIFT**2 + STANDARD_ERRORS * np.sqrt(2 * d) * noise


def median(values: Floats) -> float:
    """Return the median of some numbers; `numpy.median` takes most of its time for checks.

    Examples
    --------
    >>> median(np.array([3.0, 1.0, 2.0])), median(np.array([4.0, 1.0, 2.0, 3.0]))
    (2.0, 2.5)
    """
    half, is_odd = divmod(len(values), 2)
    if is_odd:
        return float(np.partition(values, half)[half])
    ordered = np.partition(values, (half - 1, half))
    return float((ordered[half - 1] + ordered[half]) / 2)


def profile_of(X: Floats, floor: Floats) -> Profile:
    """Make the profile of some rows; no deviation is below the floor.

    The score of each row is computed without the row itself, as it will be for new rows.
    """
    mean, _, _ = _kernels.stream.extent(X)
    variance, parts = _kernels.stream.parts_of_scores(X, mean, floor)
    scores = parts.sum(axis=1)
    middle = median(scores)
    counts = _kernels.stream.counts_of(scores, middle)
    return Profile(mean, 1 / np.sqrt(np.maximum(variance, floor**2)), middle, counts, len(X))


def dependence_of(X: Floats, unit: Floats) -> float:
    """Estimate the number of successive rows that count as one, from the correlation of each row with the next.

    If the correlation falls by the factor r with each row, the mean of n rows varies as that of n (1 - r) / (1 + r)
    independent rows.
    """
    mean, low, high = _kernels.stream.extent(X)
    reach = np.maximum(high - mean, mean - low)
    reach = np.where(reach > OF_A_SUM * np.maximum(np.abs(low), np.abs(high)), reach, 0.0)
    largest = (reach / unit).max()
    if not largest > 0:
        return 1.0
    # Equal values are not correlated, and squares of numbers far larger than the unit would overflow.
    correlation = _kernels.stream.correlation(X, mean, np.where(reach > 0, 1 / unit / largest, 0.0))
    if correlation < max(LEAST_CORRELATION, 3 / np.sqrt(len(X))):
        return 1.0
    return (1 + correlation) / max(1 - correlation, 1 / len(X))
