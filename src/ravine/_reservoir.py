"""A bounded random sample of rows, from data at hand or from a stream that never ends.

Every row draws a key, and the rows with the smallest keys are kept. So the sample does not depend on how the rows are
broken into batches; and not on their order either, where the key is drawn from what a row contains.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine._matrix import Floats, Ints, Matrix, column_deviations, fingerprint, mix, order_along, project

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Reservoir:
    """The `size` rows with the smallest keys among all that were added; up to twice as many are held.

    Parameters
    ----------
    size : int
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[Any, ...]] = []
        self._largest = np.inf

    @classmethod
    def from_state(cls, size: int, keys: Floats, *columns: Any) -> "Reservoir":
        """What `state` gave, as a reservoir of this size; ValueError where it cannot have been one."""
        if not 0 < len(keys) <= size:
            raise ValueError(f"field 'keys' has {len(keys)} entries for a sample of 1 to {size} rows")
        if not (keys < np.inf).all() or (keys[1:] < keys[:-1]).any():
            raise ValueError("field 'keys' is not in order, or has an entry that is no key")
        reservoir = cls(size)
        reservoir.add(keys, *columns)
        reservoir._compact()
        return reservoir

    def add(self, keys: Floats, *columns: Any) -> None:
        """Offer rows: their keys, and arrays or CSR matrices of what belongs to each, the same at every call."""
        better = np.flatnonzero(keys < self._largest)
        if len(better):
            self._parts.append((keys[better], *(column[better] for column in columns)))
        if sum(len(part[0]) for part in self._parts) > 2 * self.size:
            self._compact()

    def sample(self) -> tuple[Any, ...]:
        """The columns of the rows kept, in the order of their keys; nothing if no row was added."""
        return self.state()[1:]

    def state(self) -> tuple[Any, ...]:
        """Keys and columns of the rows kept, in the order of their keys: all that there is to remember."""
        self._compact()
        return self._parts[0] if self._parts else ()

    def _compact(self) -> None:
        if not self._parts:
            return
        keys, *columns = (_joined(parts) for parts in zip(*self._parts, strict=True))
        kept = np.argsort(keys, kind="stable")[: self.size]
        self._parts = [(keys[kept], *(column[kept] for column in columns))]
        if len(kept) == self.size:
            self._largest = keys[kept[-1]]


def _joined(parts: tuple[Any, ...]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def arrival_keys(first: int, n_rows: int, seed: int, memory_length: float | None = None) -> Floats:
    """Keys of the rows number `first`, `first` + 1, … of a stream.

    With `memory_length` a row's chance to be kept falls by the factor e with every so many rows after it.
    """
    number = np.arange(first, first + n_rows, dtype=np.uint64)
    keys = keys_of(mix(mix(number * GOLDEN) + np.uint64(seed)))
    return keys if memory_length is None else keys - number / memory_length


def content_sample(X: Matrix, weights: Floats, size: int, seed: int, n_jobs: int | None = None) -> tuple[Ints, Floats]:
    """A random sample of rows that depends on what they contain, not on where they stand, and the keys of its rows.

    The copies of a row draw different keys, so a row that stands ten times in the data is drawn ten times as often.
    """
    drawn = content_numbers(X, weights, seed, bool((weights != weights[0]).any()), n_jobs)
    rows = largest(drawn, size)
    return rows, keys_of(drawn[rows])


def content_numbers(
    X: Matrix, weights: Floats, seed: int, by_weight: bool, n_jobs: int | None = None
) -> NDArray[np.uint64]:
    """A random number for each row that depends on what it contains, and on its weight where that differs; copies of a
    row have different ones."""
    drawn = fingerprint(X, seed, n_jobs)
    if by_weight:
        drawn = mix(drawn + weights.view(np.uint64))
    in_order = np.sort(drawn)
    is_copy = np.append(False, in_order[1:] == in_order[:-1])
    if is_copy.any():
        order = np.argsort(drawn)
        number = np.arange(len(order))
        copy = number - np.maximum.accumulate(np.where(is_copy, 0, number))
        drawn[order[is_copy]] = mix(in_order + copy.astype(np.uint64) * GOLDEN)[is_copy]
    return drawn


def largest(numbers: NDArray[np.uint64], size: int) -> Ints:
    """Where the largest of some numbers stand, `size` of them at most."""
    if size >= len(numbers):
        return np.arange(len(numbers))
    return np.sort(np.argpartition(numbers, len(numbers) - size)[len(numbers) - size :])


def visits(X: Floats, weights: Floats, seed: int, n_jobs: int | None = None) -> "Visits":
    """Rows to be visited in epochs, each about as often as it has weight; the order depends on what they contain."""
    bits = fingerprint(X, seed, n_jobs)
    times = np.ceil(weights / weights.mean()).astype(np.int64)
    row = np.repeat(np.arange(len(X)), times)
    number = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    return Visits(row, weights / times * (len(row) / weights.sum()), mix(bits[row] + number.astype(np.uint64) * GOLDEN))


class Visits(NamedTuple):
    """Rows in any order, some of them several times, what a visit to each row weighs, and random bits of a visit."""

    row: Ints
    weight: Floats
    bits: NDArray[np.uint64]

    def in_epoch(self, number: int) -> Ints:
        """The rows in a random order, another one for each number."""
        salt = mix(np.array([number], dtype=np.uint64) * GOLDEN)
        return self.row[np.argsort(mix(self.bits + salt), kind="stable")]


def has_copies(X: Matrix, seed: int, n_jobs: int | None = None) -> bool:
    """Whether a row stands more than once in the data."""
    return _repeats(fingerprint(X, seed, n_jobs))


def _repeats(bits: NDArray[np.uint64]) -> bool:
    in_order = np.sort(bits)
    return bool((in_order[1:] == in_order[:-1]).any())


def merge_copies(X: Matrix, weights: Floats, seed: int) -> tuple[Matrix, Floats]:
    """The distinct rows, in a random order that depends on what they contain alone, and the weight of all their copies.

    In other units of the columns the order is the same.
    """
    bits = fingerprint(X, seed)
    rows, total = X, weights
    if _repeats(bits):
        _, first, which = np.unique(bits, return_index=True, return_inverse=True)
        rows, total = X[first], np.asarray(np.bincount(which, weights), dtype=np.float64)
    order = _order_in_any_unit(rows, total, seed)[np.random.default_rng(seed).permutation(len(total))]
    return rows[order], total[order]


def keys_in_any_unit(X: Matrix, weights: Floats, seed: int) -> Floats:
    """Keys of rows that are all kept, the same in other units of the columns, and whatever their order."""
    keys = np.empty(X.shape[0])
    keys[_order_in_any_unit(X, weights, seed)] = arrival_keys(0, X.shape[0], seed)
    return keys


def _order_in_any_unit(X: Matrix, weights: Floats, seed: int) -> Ints:
    """The rows in their order along a random direction, on which every column counts by its deviation."""
    deviation = column_deviations(X)
    direction = np.random.default_rng(seed).normal(size=X.shape[1])
    direction = np.divide(direction, deviation, out=np.zeros_like(direction), where=deviation > 0)
    if (weights == weights[0]).all():
        return order_along(X, project(X, direction))
    by_weight = np.argsort(weights, kind="stable")  # copies of a row, which no direction tells apart
    rows = X[by_weight]
    return by_weight[order_along(rows, project(rows, direction))]


def keys_of(random: NDArray[np.uint64]) -> Floats:
    """Logarithms of exponential variables from random bits; they fall as the numbers rise."""
    uniform = ((random >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.log(-np.log(uniform))
