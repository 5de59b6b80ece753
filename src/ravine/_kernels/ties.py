"""The rules of `ravine._ties` for compiled loops."""

import numpy as np

from ravine import _ties
from ravine._kernels._compile import inner, kernel

is_less = inner(_ties.is_less)
round_together = kernel(_ties.round_together)


@inner
def middle_of_least(values):
    """Return the middle of the first run of values that tie for the minimum.

    No position in an empty stretch is better than another.
    """
    least, n = values[0], values.shape[0]
    for k in range(1, n):
        least = min(least, values[k])
    largest = least + _ties.TIE * abs(least)
    first = 0
    while values[first] > largest:
        first += 1
    last = first
    while last + 1 < n and values[last + 1] <= largest:
        last += 1
    return (first + last) // 2


@kernel
def first_least_of_rows(table, added, tolerance):
    """Return the column of the minimum of ``table[i] + added`` for each i; the first one within the tolerance wins."""
    out = np.empty(table.shape[0], np.int64)
    for i in range(table.shape[0]):
        least = np.inf
        for j in range(table.shape[1]):
            least = min(least, table[i, j] + added[j])
        j = 0
        while table[i, j] + added[j] > least + tolerance:
            j += 1
        out[i] = j
    return out
