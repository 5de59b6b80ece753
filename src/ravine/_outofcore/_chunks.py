"""Chunks of rows that stay where they are: in memory, in files, or on the workers of a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ravine._blocks import count_threads, map_items
from ravine._matrix import LARGEST, Floats, Matrix
from ravine._outofcore import _reductions
from ravine._outofcore._shared_passes import SharedPasses

Item = TypeVar("Item")
Result = TypeVar("Result")

Handles: TypeAlias = list[Any]
"""For each chunk, which of its rows belong to a node, in a form that only the class that made them interprets."""


CHANGED = "the rows have changed between two passes over them"


Reduction: TypeAlias = Callable[..., Any]
"""A function of `_reductions`; its results have a method `merge`."""


class Chunks(ABC):
    """Rows in chunks.

    Attributes
    ----------
    n_features : int
    feature_names : list of str or None
        Names of the columns, if they have names.
    """

    n_features: int
    feature_names: list[str] | None = None

    @abstractmethod
    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows, and return the handles of those that weigh more than `least`, and their extent.

        The extent is None if there are no rows.
        """

    @abstractmethod
    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction to the chunks with rows of a node, and merge the results; None if there are no rows."""

    @abstractmethod
    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _reductions.Sums, _reductions.Sums]:
        """Return the handles of the rows on both sides of a cut and the sums over them; see `_reductions.divide`."""

    @abstractmethod
    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function that needs passes on each item; the passes are shared or run in parallel."""


class LocalChunks(Chunks):
    """Rows that are read chunk by chunk: arrays in memory, or the results of a function that is called in every pass.

    Parameters
    ----------
    read : callable ``() -> iterator of (rows, weights)``
        Returns the chunks, always the same ones in the same order; weights are None if all weights are 1.
    n_features : int
    feature_names : list of str, optional
    n_jobs : int, optional
        Number of threads; each works on one chunk.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[tuple[Matrix, Floats | None]]],
        n_features: int,
        feature_names: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.read, self._n_jobs = read, n_jobs
        self.n_features = n_features
        self.feature_names = None if feature_names is None else list(feature_names)
        self.n_passes = 0
        self._shared_passes = SharedPasses(self._pass)

    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows in one pass."""
        self.n_passes += 1
        handles, merged = [], None
        for number, (X, weights) in enumerate(_read_ahead(self.read())):
            rows = checked_rows(X, weights, self.n_features, number, least)
            handles.append(rows)
            if len(rows):
                found = _reductions.extent(X, _or_ones(weights, X), rows)
                merged = found if merged is None else merged.merge(found)
        return handles, merged

    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction in one pass, and merge the results as they arrive."""
        merged: Any = None

        def add(_: int, found: Any) -> None:
            nonlocal merged
            merged = found if merged is None else merged.merge(found)

        self._shared_passes.ask(_Request(reduction, handles, arguments, add))
        return merged

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _reductions.Sums, _reductions.Sums]:
        """Divide the rows in one pass."""
        left: Handles = [np.empty(0, dtype=np.int32)] * len(handles)
        right = list(left)
        sums: list[_reductions.Sums] = []

        def add(number: int, found: tuple[Any, Any, _reductions.Sums, _reductions.Sums]) -> None:
            left[number], right[number], *both = found
            sums[:] = [mine.merge(new) for mine, new in zip(sums, both, strict=True)] if sums else both

        self._shared_passes.ask(_Request(_reductions.divide, handles, arguments, add))
        return left, right, sums[0], sums[1]

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on each item; requests made at the same time share one pass over the rows."""
        return self._shared_passes.map(function, items)

    def _pass(self, requests: "list[_Request]") -> list[None]:
        self.n_passes += 1
        pending: list[Callable[[], Any]] = []
        takers: list[Callable[[Any], None]] = []
        number, n_chunks = -1, len(requests[0].handles)
        for number, (X, weights) in enumerate(_read_ahead(self.read())):
            if number >= n_chunks or X.shape[0] < max(len(request.handles[number]) for request in requests):
                raise RuntimeError(CHANGED)
            for request in requests:
                if len(request.handles[number]):
                    chunk = (X, _or_ones(weights, X), request.handles[number])
                    pending.append(partial(request.reduction, *chunk, *request.arguments))
                    takers.append(partial(request.add, number))
            if len(pending) >= count_threads(self._n_jobs):
                self._do(pending, takers)
        self._do(pending, takers)
        if number + 1 < n_chunks:
            raise RuntimeError(CHANGED)
        return [None] * len(requests)

    def _do(self, pending: list[Callable[[], Any]], takers: list[Callable[[Any], None]]) -> None:
        """Run the pending calls on threads, and hand over the results in order."""
        for take, found in zip(takers, map_items(lambda do: do(), pending, self._n_jobs), strict=True):
            take(found)
        pending.clear()
        takers.clear()


@dataclass(frozen=True)
class _Request:
    """A reduction over the rows of a node, and the function that takes its result for each chunk."""

    reduction: Reduction
    handles: Handles
    arguments: tuple[Any, ...]
    add: Callable[[int, Any], None]


def _read_ahead(chunks: Iterator[Item]) -> Iterator[Item]:
    """Yield the same chunks; the next one is read while the current one is processed."""
    chunks, end = iter(chunks), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] = pool.submit(next, chunks, end)
        while (chunk := coming.result()) is not end:
            coming = pool.submit(next, chunks, end)
            yield chunk


def _or_ones(weights: Floats | None, X: Matrix) -> Floats:
    return np.ones(X.shape[0]) if weights is None else weights


def _every(n_rows: int) -> _reductions.Rows:
    """Return all rows of a chunk as a view of one shared array, since there may be thousands of chunks."""
    rows = _numbers_up_to(1 << max(n_rows - 1, 1).bit_length())
    return rows[:n_rows]


@cache
def _numbers_up_to(n: int) -> _reductions.Rows:
    return np.arange(n, dtype=np.int32)


def checked_rows(
    X: Matrix, weights: Floats | None, n_features: int, number: int, least: float = 0.0
) -> _reductions.Rows:
    """Return the rows of a chunk that weigh more than `least`; a ValueError names an invalid chunk and says why."""
    name = f"chunk {number}"
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        found = f"{X.dtype}" if isinstance(X, np.ndarray) else type(X).__name__
        raise ValueError(f"{name} holds {found}: each chunk must be an array of float32 or float64")
    if X.ndim != 2 or X.shape[1] != n_features:
        width = X.shape[1] if X.ndim == 2 else f"{X.ndim} dimensions, not"
        raise ValueError(f"{name} has {width} columns, but the chunks before it have {n_features}")
    if not X.shape[0]:
        return np.empty(0, dtype=np.int32)
    if not np.isfinite(X).all():
        raise ValueError(f"{name} has NaN or infinity: remove or fill such rows before the fit")
    if max(float(X.max()), -float(X.min())) > LARGEST:
        raise ValueError(f"{name} has a number whose square would overflow in float64: change the unit of the columns")
    if weights is None:
        return _every(X.shape[0])
    if weights.shape != (X.shape[0],) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} has weights that are negative or not finite, or not one weight per row")
    return np.flatnonzero(weights > least).astype(np.int32)
