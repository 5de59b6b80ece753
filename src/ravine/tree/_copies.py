"""Rows that were stored several times: the valley test reads each of them once.

A table that was joined twice, or embeddings of repeated documents, have most rows more than once. A sample of a density
has no such copies: they count as evidence several times, so the test would confirm clusters of a few rows each. Rows of
integers or categories are equal without being copies. They agree by chance, and each of them is evidence. So copies are
recognized only by columns that are fine enough that two different rows hardly ever agree in them.
"""

import numpy as np
from scipy import sparse

from ravine._matrix import Floats, Matrix, fingerprint
from ravine._ties import OF_A_SUM

LEAST_SHARE, MOST_COPIES = 0.5, 20
"""Rows come in copies if at least this share of them has an equal row, and if there are at most so many rows for each
distinct one on average; with more, the table is one of a few kinds of rows."""

FINE_COLUMNS, FINE_SHARE = 2, 0.5
"""At least so many columns must be fine. A fine column has at least this share as many values as there are distinct
rows, and they do not lie on a lattice."""

SMALL_GAPS, IRREGULAR = 0.1, 0.5
"""Values do not lie on a lattice if this share of the gaps between neighbors is smaller than the second number times
the median gap."""

FEWEST_ROWS = 20
"""Fewer distinct rows do not say what the columns are like."""

SEED = 0
"""Seed of the numbers by which equal rows are found."""


def comes_in_copies(X: Matrix) -> bool:
    """Return whether most rows are stored more than once, and not equal by chance; sparse rows are not looked at.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> numbers, integers = rng.normal(size=(50, 2)), rng.integers(5, size=(50, 2)).astype(float)
    >>> [comes_in_copies(np.repeat(X, n, axis=0)) for X in (numbers, integers) for n in (1, 2)]
    [False, True, False, False]
    """
    if sparse.issparse(X):
        return False
    bits = fingerprint(X, SEED)
    ordered = np.sort(bits)
    is_repeated = ordered[1:] == ordered[:-1]
    n_distinct = len(X) - np.count_nonzero(is_repeated)
    n_copied = np.count_nonzero(np.append(is_repeated, False) | np.append(False, is_repeated))
    if n_distinct < FEWEST_ROWS or n_copied < LEAST_SHARE * len(X) or len(X) > MOST_COPIES * n_distinct:
        return False
    _, first = np.unique(bits, return_index=True)
    return sum(_is_fine(np.sort(column)) for column in X[first].T) >= FINE_COLUMNS


def each_row_once(X: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct rows in the order of their first copies; the total weight remains.

    The weight of a row is the mean of its copies, so that it does not matter how often a row was stored.
    """
    _, first, which = np.unique(fingerprint(X, SEED), return_index=True, return_inverse=True)
    if len(first) == len(X):
        return X, weights
    order = np.argsort(first)
    mean = (np.bincount(which, weights) / np.bincount(which))[order]
    return X[first[order]], mean * (float(weights.sum()) / float(mean.sum()))


def _is_fine(ordered: Floats) -> bool:
    """Return whether a column of distinct rows, whose entries are in order, is fine."""
    gaps = np.diff(ordered.astype(np.float64))
    gaps = gaps[gaps > OF_A_SUM * np.abs(ordered[[0, -1]]).max()]
    if len(gaps) + 1 < FINE_SHARE * len(ordered):
        return False
    small, median = np.quantile(gaps, [SMALL_GAPS, 0.5])
    return bool(small < IRREGULAR * median)
