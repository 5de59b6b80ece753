"""A bounded random sample of rows, from in-memory data or from an endless stream.

Every row draws a key, and the rows with the smallest keys are kept. So the sample does not depend on how the rows are
divided into batches. If keys are drawn from the contents of rows, it does not depend on their order either.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine._blocks import map_items, map_rows
from ravine._matrix import Floats, Ints, Matrix, column_deviations, fingerprint, mix, order_along, project
from ravine._schema import Array, Group, Sizes, State, require

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

CELLS_PER_NUMBER = 16
"""To sort a number takes about as long as a pass over this many values of rows."""


def keys_are_sorted(state: State, sizes: Sizes) -> None:
    """The keys are in order, and no more than the sample may have."""
    keys, size = state["keys"], sizes["sample_size"]
    require(len(keys) <= size, "keys", f"has {len(keys)} entries for a sample of at most {size} rows")
    require((keys[1:] >= keys[:-1]).all(), "keys", "is not sorted")


def sum_of_weights_is_finite(state: State, sizes: Sizes) -> None:
    """The weights have a finite sum."""
    require(state["weights"].sum() < np.inf, "weights", "has a sum that is not finite")


def sample_is_part_of_the_stream(state: State, sizes: Sizes) -> None:
    """The rows of the sample are some of those that were learned."""
    n_rows, n_kept = state["n_rows"], sizes.get("n_kept", 0)
    require(n_kept <= n_rows, "n_rows", f"is {n_rows}, less than the {n_kept} rows of the sample")


def sample_of(rows: Array, least_weight: float) -> Group:
    """Return the declaration of a sample of rows with their weights, the result of `Reservoir.state` by name."""
    return Group(
        {
            "rows": rows,
            "keys": Array("float64", ("n_kept",), low=-np.inf, high=sys.float_info.max),
            "weights": Array("float64", ("n_kept",), low=least_weight),
        },
        (keys_are_sorted, sum_of_weights_is_finite),
    )


class Reservoir:
    """The `size` rows with the smallest keys among all added rows; up to twice as many are held.

    Parameters
    ----------
    size : int
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._batches: list[tuple[Any, ...]] = []
        self._largest = np.inf

    @classmethod
    def from_state(cls, size: int, keys: Floats, *columns: Any) -> "Reservoir":
        """Restore a reservoir of this size from the checked result of `state`."""
        reservoir = cls(size)
        reservoir.add(keys, *columns)
        reservoir._compact()
        return reservoir

    def add(self, keys: Floats, *columns: Any) -> None:
        """Offer rows: their keys, and arrays or CSR matrices with one entry per row, the same ones in every call."""
        better = np.flatnonzero(keys < self._largest)
        if len(better):
            self._batches.append((keys[better], *(column[better] for column in columns)))
        if sum(len(batch[0]) for batch in self._batches) > 2 * self.size:
            self._compact()

    def sample(self) -> tuple[Any, ...]:
        """Return the columns of the kept rows, in the order of their keys; an empty tuple if no row was added."""
        return self.state()[1:]

    def state(self) -> tuple[Any, ...]:
        """Return keys and columns of the kept rows, sorted by key: everything that must be saved."""
        self._compact()
        return self._batches[0] if self._batches else ()

    def _compact(self) -> None:
        if not self._batches:
            return
        keys, *columns = (_joined(column) for column in zip(*self._batches, strict=True))
        kept = np.argsort(keys, kind="stable")[: self.size]
        self._batches = [(keys[kept], *(column[kept] for column in columns))]
        if len(kept) == self.size:
            self._largest = keys[kept[-1]]


def _joined(arrays: tuple[Any, ...]) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    return sparse.vstack(arrays, format="csr") if sparse.issparse(arrays[0]) else np.concatenate(arrays)


def arrival_keys(first: int, n_rows: int, seed: int, memory_length: float | None = None) -> Floats:
    """Return the keys of rows number `first`, `first` + 1, … of a stream.

    With `memory_length`, the probability of keeping a row drops by the factor e with every `memory_length` later rows.
    """
    number = np.arange(first, first + n_rows, dtype=np.uint64)
    keys = keys_of(mix(mix(number * GOLDEN) + np.uint64(seed)))
    return keys if memory_length is None else keys - number / memory_length


def content_sample(X: Matrix, weights: Floats, size: int, seed: int, n_jobs: int | None = None) -> tuple[Ints, Floats]:
    """Draw a random sample that depends on the contents of the rows, not on their positions; return rows and keys.

    The copies of a row draw different keys, so a row that occurs ten times in the data is drawn ten times as often.
    """
    rows, drawn = largest_numbers(X, weights, size, seed, bool((weights != weights[0]).any()), n_jobs)
    return rows, keys_of(drawn)


def content_rows(X: Matrix, weights: Floats, size: int, seed: int, n_jobs: int | None = None) -> tuple[Matrix, Floats]:
    """Return all rows and weights, or those of a sample of this size that depends on the contents of the rows."""
    if X.shape[0] <= size:
        return X, weights
    kept, _ = content_sample(X, weights, size, seed, n_jobs)
    return X[kept], weights[kept]


def content_numbers(
    X: Matrix, weights: Floats, seed: int, by_weight: bool, n_jobs: int | None = None
) -> NDArray[np.uint64]:
    """Return a random number per row that depends on its contents, and with `by_weight` on its weight.

    Copies of a row get different numbers.
    """
    return _content_numbers(X, weights, seed, by_weight, n_jobs)[0]


def largest_numbers(
    X: Matrix, weights: Floats, size: int, seed: int, by_weight: bool, n_jobs: int | None = None
) -> tuple[Ints, NDArray[np.uint64]]:
    """Return the rows with the largest of the `content_numbers`, at most `size` of them, and these numbers."""
    drawn, in_order = _content_numbers(X, weights, seed, by_weight, n_jobs)
    rows = largest(drawn, size) if in_order is None else np.flatnonzero(drawn >= in_order[-min(size, len(in_order))])
    return rows, drawn[rows]


def _content_numbers(
    X: Matrix, weights: Floats, seed: int, by_weight: bool, n_jobs: int | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None]:
    """Return the `content_numbers`, and the same in ascending order if no row is a copy of another one."""
    drawn = fingerprint(X, seed, n_jobs)
    if by_weight:
        drawn = mix(drawn + weights.view(np.uint64))
    in_order = sorted_numbers(drawn, n_jobs)
    is_copy = np.append(False, in_order[1:] == in_order[:-1])
    if not is_copy.any():
        return drawn, in_order
    order = np.argsort(drawn)
    number = np.arange(len(order))
    copy = number - np.maximum.accumulate(np.where(is_copy, 0, number))
    drawn[order[is_copy]] = mix(in_order + copy.astype(np.uint64) * GOLDEN)[is_copy]
    return drawn, None


def sorted_numbers(numbers: NDArray[np.uint64], n_jobs: int | None = None) -> NDArray[np.uint64]:
    """Return the numbers in ascending order: parts of them are sorted on threads and then merged on threads."""
    parts = map_rows(lambda b: np.sort(numbers[b]), (len(numbers), CELLS_PER_NUMBER), n_jobs)
    if len(parts) == 1:
        return parts[0]
    bounds = parts[0][np.arange(1, len(parts)) * len(parts[0]) // len(parts)]
    places = [np.concatenate([[0], np.searchsorted(part, bounds), [len(part)]]) for part in parts]

    def merged(k: int) -> NDArray[np.uint64]:
        between = [part[place[k] : place[k + 1]] for part, place in zip(parts, places, strict=True)]
        return np.sort(np.concatenate(between), kind="stable")  # it merges what is sorted already

    return np.concatenate(map_items(merged, range(len(parts)), n_jobs))


def largest(numbers: NDArray[np.uint64], size: int) -> Ints:
    """Return the positions of the largest numbers, at most `size` of them."""
    if size >= len(numbers):
        return np.arange(len(numbers))
    return np.sort(np.argpartition(numbers, len(numbers) - size)[len(numbers) - size :])


def visits(X: Floats, weights: Floats, seed: int, n_jobs: int | None = None) -> "Visits":
    """Return rows to visit in epochs, each about as often as its weight; the order depends on their contents."""
    bits = fingerprint(X, seed, n_jobs)
    times = np.ceil(weights / weights.mean()).astype(np.int64)
    row = np.repeat(np.arange(len(X)), times)
    number = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    return Visits(row, weights / times * (len(row) / weights.sum()), mix(bits[row] + number.astype(np.uint64) * GOLDEN))


class Visits(NamedTuple):
    """Rows in any order, possibly repeated, the weight of one visit to each row, and the random bits of each visit."""

    row: Ints
    weight: Floats
    bits: NDArray[np.uint64]

    def in_epoch(self, number: int) -> Ints:
        """Return the rows in a random order that depends on the number of the epoch."""
        salt = mix(np.array([number], dtype=np.uint64) * GOLDEN)
        return self.row[np.argsort(mix(self.bits + salt), kind="stable")]


def has_copies(X: Matrix, seed: int, n_jobs: int | None = None) -> bool:
    """Return whether a row occurs more than once in the data."""
    return _repeats(fingerprint(X, seed, n_jobs), n_jobs)


def _repeats(bits: NDArray[np.uint64], n_jobs: int | None = None) -> bool:
    in_order = sorted_numbers(bits, n_jobs)
    return bool((in_order[1:] == in_order[:-1]).any())


def merge_copies(X: Matrix, weights: Floats, seed: int) -> tuple[Matrix, Floats]:
    """Return the distinct rows in a random order that depends only on their contents, and the weights of all copies.

    The order does not depend on the units of the columns.
    """
    bits = fingerprint(X, seed)
    rows, total = X, weights
    if _repeats(bits):
        _, first, which = np.unique(bits, return_index=True, return_inverse=True)
        rows, total = X[first], np.asarray(np.bincount(which, weights), dtype=np.float64)
    order = _order_in_any_unit(rows, total, seed)[np.random.default_rng(seed).permutation(len(total))]
    return rows[order], total[order]


def keys_in_any_unit(X: Matrix, weights: Floats, seed: int) -> Floats:
    """Return keys of rows that are all kept.

    They depend neither on the units of the columns nor on the order of the rows.
    """
    keys = np.empty(X.shape[0])
    keys[_order_in_any_unit(X, weights, seed)] = arrival_keys(0, X.shape[0], seed)
    return keys


def _order_in_any_unit(X: Matrix, weights: Floats, seed: int) -> Ints:
    """Return the order of the rows along a random direction on which each column is scaled by its deviation."""
    deviation = column_deviations(X)
    direction = np.random.default_rng(seed).normal(size=X.shape[1])
    direction = np.divide(direction, deviation, out=np.zeros_like(direction), where=deviation > 0)
    if (weights == weights[0]).all():
        return order_along(X, project(X, direction))
    by_weight = np.argsort(weights, kind="stable")  # orders copies of a row, which no direction can separate
    rows = X[by_weight]
    return by_weight[order_along(rows, project(rows, direction))]


def keys_of(random: NDArray[np.uint64]) -> Floats:
    """Return logarithms of exponential variables made from random bits; larger numbers give smaller keys."""
    uniform = ((random >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.log(-np.log(uniform))
