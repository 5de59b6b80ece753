"""A bounded random sample of rows, from data at hand or from a stream that never ends.

Every row draws a key, and the rows with the smallest keys are kept. So the sample does not depend on how the rows are
broken into batches; and not on their order either, where the key is drawn from what a row contains.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ravine.matrix import Floats, Ints, Matrix, fingerprint, mix

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Reservoir:
    """The `size` rows with the smallest keys among all that were added; up to twice as many are held.

    Parameters
    ----------
    size : int
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[tuple[Matrix, Floats, Floats]] = []
        self._largest = np.inf

    def add(self, X: Matrix, weights: Floats, keys: Floats) -> None:
        """Offer rows."""
        better = np.flatnonzero(keys < self._largest)
        if len(better):
            self._parts.append((X[better], weights[better], keys[better]))
        if sum(len(part[2]) for part in self._parts) > 2 * self.size:
            self._compact()

    def sample(self) -> tuple[Matrix, Floats]:
        """The rows kept and their weights, in the order of their keys."""
        self._compact()
        return self._parts[0][:2]

    def _compact(self) -> None:
        rows, weights, keys = zip(*self._parts, strict=True)
        all_keys = np.concatenate(keys)
        kept = np.argsort(all_keys, kind="stable")[: self.size]
        X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
        self._parts = [(X[kept], np.concatenate(weights)[kept], all_keys[kept])]
        if len(kept) == self.size:
            self._largest = all_keys[kept[-1]]


def arrival_keys(first: int, n_rows: int, seed: int, forget: float | None = None) -> Floats:
    """Keys of the rows number `first`, `first` + 1, … of a stream.

    With `forget` a row's chance to be kept falls by the factor e with every so many rows after it.
    """
    number = np.arange(first, first + n_rows, dtype=np.uint64)
    keys = _log_exponential(mix(mix(number * GOLDEN) + np.uint64(seed)))
    return keys if forget is None else keys - number / forget


def content_sample(X: Matrix, weights: Floats, size: int, seed: int, n_jobs: int | None = None) -> tuple[Ints, Floats]:
    """A random sample of rows that depends on what they contain, not on where they stand, and the keys of its rows.

    The copies of a row draw different keys, so a row that stands ten times in the data is drawn ten times as often.
    """
    drawn = fingerprint(X, seed, n_jobs)
    if (weights != weights[0]).any():
        drawn = mix(drawn + weights.view(np.uint64))
    in_order = np.sort(drawn)
    if (in_order[1:] == in_order[:-1]).any():
        order = np.argsort(drawn)
        is_first = np.append(True, in_order[1:] != in_order[:-1])
        number = np.arange(len(order))
        copy = number - np.maximum.accumulate(np.where(is_first, number, 0))
        drawn[order] = mix(in_order + copy.astype(np.uint64) * GOLDEN)
    rows = np.arange(len(drawn))
    if size < len(drawn):  # the keys fall as the numbers drawn rise
        rows = np.sort(np.argpartition(drawn, len(drawn) - size)[len(drawn) - size :])
    return rows, _log_exponential(drawn[rows])


def merge_copies(X: Matrix, weights: Floats, seed: int) -> tuple[Matrix, Floats]:
    """The distinct rows, in an order that depends on what they contain alone, and the weight of all copies of each."""
    _, first, which = np.unique(fingerprint(X, seed), return_index=True, return_inverse=True)
    return X[first], np.asarray(np.bincount(which, weights), dtype=np.float64)


def _log_exponential(random: NDArray[np.uint64]) -> Floats:
    """Logarithms of exponential variables from random bits."""
    uniform = ((random >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.log(-np.log(uniform))
