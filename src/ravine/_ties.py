"""Decisions that must not depend on rounding: signs of directions, equal eigenvalues, the better of two equals.

Another processor, another BLAS kernel or another order of a sum changes the last digits of a number. If two candidates
differ by no more than that, the first one wins. All modules use the rules of this one.
"""

import heapq
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

TIE = 1e-6
"""Results of a search or an eigendecomposition count as equal if their relative difference is smaller than this."""

ROUNDING, OF_A_SUM = 1e-9, 1e-13
"""Lengths below the first number times the spread of the rows count as rounding, and so do lengths below the second
number times the rows themselves."""


def is_less(value: float, other: float) -> bool:
    """Return whether one number is less than another by more than rounding."""
    return bool(value < other and (value + TIE * abs(value) < other or abs(value) == np.inf))


def round_together(numbers: NDArray[np.float64], n_bits: int, negligible: float = 0.0) -> None:
    """Round numbers in place to multiples of one power of two, so that the largest keeps so many bits.

    It keeps fewer if the power of two would be less than half of a number that is negligible.

    Examples
    --------
    >>> numbers = np.array([1.5 + 1e-12, -0.3])
    >>> round_together(numbers, 3)
    >>> numbers
    array([ 1.5 , -0.25])
    """
    largest = 0.0
    for j in range(len(numbers)):
        largest = max(largest, abs(numbers[j]))
    if not 0.0 < largest < np.inf:
        return
    unit = math.ldexp(1.0, math.frexp(largest)[1] - n_bits)
    if unit < negligible / 2:
        unit = math.ldexp(1.0, math.frexp(negligible)[1] - 1)
    for j in range(len(numbers) if unit > 0.0 else 0):
        numbers[j] = np.rint(numbers[j] / unit) * unit


def first_least(values: ArrayLike) -> int:
    """Return the position of the smallest number; ties go to the first.

    Examples
    --------
    >>> first_least([3.0, 1.0 + 1e-12, 1.0])
    1
    """
    numbers = np.asarray(values, dtype=np.float64)
    least = numbers.min()
    return int((numbers <= least + TIE * abs(least)).argmax())


def pop_first(heap: list[tuple[float, int]]) -> int:
    """Remove the number with the smallest rank from a heap of (rank, number); ties go to the smallest number.

    Examples
    --------
    >>> heap = [(1.0, 5), (1.0 + 1e-12, 3), (2.0, 1)]
    >>> pop_first(heap), heap
    (3, [(1.0, 5), (2.0, 1)])
    """
    tied = [heapq.heappop(heap)]
    while heap and not is_less(tied[0][0], heap[0][0]):
        tied.append(heapq.heappop(heap))
    first = min(tied, key=lambda entry: entry[1])
    for entry in tied:
        if entry is not first:
            heapq.heappush(heap, entry)
    return first[1]


def sorted_groups(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of some numbers, and the group at each position of this order; numbers of one group tie.

    Examples
    --------
    >>> sorted_groups(np.array([2.0, 1.0 + 1e-12, 1.0]))
    (array([2, 1, 0]), array([0, 0, 1]))
    """
    order = np.argsort(values, kind="stable")
    if not len(order):
        return order, order
    ordered = values[order]
    low, high = float(ordered[0]), float(ordered[-1])
    is_new = np.diff(ordered) > rounding_length(high - low, max(abs(low), abs(high)))
    return order, np.concatenate([[0], np.cumsum(is_new)])


def rounded_order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of some numbers; numbers that tie keep their order.

    Examples
    --------
    >>> rounded_order(np.array([2.0, 1.0 + 1e-12, 1.0]))
    array([1, 2, 0])
    """
    order, group = sorted_groups(values)
    return order[np.lexsort([order, group])]


def rounding_length(spread: float, largest: float) -> float:
    """Return the length that counts as rounding for sums with this spread that are no larger than `largest`."""
    return max(ROUNDING * spread, OF_A_SUM * largest)


def pointing_up(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit vectors along the rows of a matrix, with the first of the largest entries positive.

    Entries that tie count as equally large. Rows of zeros are left out.

    Examples
    --------
    >>> pointing_up(np.array([[-3.0, 4.0], [0.0, 0.0], [-2.0, 2.0 + 1e-12]])).round(2)
    array([[-0.6 ,  0.8 ],
           [ 0.71, -0.71]])
    """
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors[lengths > 0] / lengths[lengths > 0, np.newaxis]
    sizes = np.abs(unit)
    leading = (sizes >= (1 - TIE) * sizes.max(axis=1, initial=0.0, keepdims=True)).argmax(axis=1)
    is_up = unit[np.arange(len(unit)), leading] > 0
    return np.where(is_up[:, np.newaxis], unit, -unit)


def settled_basis(values: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return eigenvectors that do not depend on rounding, one per row, for eigenvalues in decreasing order.

    Eigenvectors of equal eigenvalues can be rotated into each other. Among these, the first is the one nearest to a
    coordinate axis; ties go to the first axis. The next one is chosen in the same way among the remaining directions.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Eigenvalues, the largest first.
    vectors : ndarray of shape (n, n_columns)
        Orthonormal eigenvectors, one per row.

    Examples
    --------
    >>> turned = np.array([[0.6, 0.8, 0.0], [0.8, -0.6, 0.0]])
    >>> settled_basis(np.array([2.0, 2.0]), turned).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    starts = np.flatnonzero(values[1:] < (1 - TIE) * values[:-1]) + 1
    groups = np.split(vectors, starts)
    return pointing_up(np.concatenate([group if len(group) == 1 else _nearest_to_axes(group) for group in groups]))


def _nearest_to_axes(basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return another basis of the span of orthonormal rows.

    Each vector is as near to an axis as the earlier ones allow.
    """
    found = []
    while len(basis) > 1:
        shares = np.einsum("ij,ij->j", basis, basis)
        axis = first_least(-shares)
        # The first row of the rotation points along the projection of the axis; the other rows span the rest.
        turn = np.linalg.qr(np.column_stack([basis[:, axis], np.eye(len(basis))]))[0].T
        basis = turn @ basis
        found.append(basis[0])
        basis = basis[1:]
    return np.array([*found, basis[0]])
