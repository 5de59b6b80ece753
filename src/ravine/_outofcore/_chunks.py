"""Rows in parts that stay where they are: in memory, in files, or with the workers of a cluster."""

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
"""For each part, which of its rows belong to a node, as the class that gave them understands it."""


CHANGED = "the rows have changed between two passes over them"


Step: TypeAlias = Callable[..., Any]
"""A function of `_reductions`: its results have a method `merge`."""


class Chunks(ABC):
    """Rows in parts.

    Attributes
    ----------
    n_features : int
    feature_names : list of str or None
        Names of the columns, where they have any.
    """

    n_features: int
    feature_names: list[str] | None = None

    @abstractmethod
    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """The handles of all rows that weigh more than `least`, once they are checked, and what they span.

        The second is None for no rows.
        """

    @abstractmethod
    def reduce(self, step: Step, handles: Handles, *arguments: Any) -> Any:
        """Results of a step of `_reductions` on the parts that have rows of a node, merged; None where no part has."""

    @abstractmethod
    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _reductions.Sums, _reductions.Sums]:
        """The handles of the rows on both sides of a cut and what is summed over them, see `_reductions.divide`."""

    @abstractmethod
    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function that asks for passes on each item; passes are shared, or made side by side."""


class LocalChunks(Chunks):
    """Rows that are read part by part: arrays in memory, or what a function reads anew in every pass.

    Parameters
    ----------
    read : callable ``() -> iterator of (rows, weights)``
        Gives the parts, always the same ones in the same order; weights are None where all are 1.
    n_features : int
    feature_names : list of str, optional
    n_jobs : int, optional
        Threads, each at work on a part.
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
        self._in_step = SharedPasses(self._pass)

    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """One pass."""
        self.n_passes += 1
        handles, merged = [], None
        for number, (X, weights) in enumerate(_read_ahead(self.read())):
            rows = checked_rows(X, weights, self.n_features, number, least)
            handles.append(rows)
            if len(rows):
                found = _reductions.extent(X, _or_ones(weights, X), rows)
                merged = found if merged is None else merged.merge(found)
        return handles, merged

    def reduce(self, step: Step, handles: Handles, *arguments: Any) -> Any:
        """One pass; the results are merged as they come."""
        merged: Any = None

        def add(_: int, found: Any) -> None:
            nonlocal merged
            merged = found if merged is None else merged.merge(found)

        self._in_step.ask(_Request(step, handles, arguments, add))
        return merged

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _reductions.Sums, _reductions.Sums]:
        """One pass."""
        left: Handles = [np.empty(0, dtype=np.int32)] * len(handles)
        right = list(left)
        sums: list[_reductions.Sums] = []

        def add(number: int, found: tuple[Any, Any, _reductions.Sums, _reductions.Sums]) -> None:
            left[number], right[number], *both = found
            sums[:] = [mine.merge(new) for mine, new in zip(sums, both, strict=True)] if sums else both

        self._in_step.ask(_Request(_reductions.divide, handles, arguments, add))
        return left, right, sums[0], sums[1]

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The rows are read once for what is asked of them at the same time."""
        return self._in_step.map(function, items)

    def _pass(self, requests: "list[_Request]") -> list[None]:
        self.n_passes += 1
        pending: list[Callable[[], Any]] = []
        takers: list[Callable[[Any], None]] = []
        number, n_parts = -1, len(requests[0].handles)
        for number, (X, weights) in enumerate(_read_ahead(self.read())):
            if number >= n_parts or X.shape[0] < max(len(request.handles[number]) for request in requests):
                raise RuntimeError(CHANGED)
            for request in requests:
                if len(request.handles[number]):
                    part = (X, _or_ones(weights, X), request.handles[number])
                    pending.append(partial(request.step, *part, *request.arguments))
                    takers.append(partial(request.add, number))
            if len(pending) >= count_threads(self._n_jobs):
                self._do(pending, takers)
        self._do(pending, takers)
        if number + 1 < n_parts:
            raise RuntimeError(CHANGED)
        return [None] * len(requests)

    def _do(self, pending: list[Callable[[], Any]], takers: list[Callable[[Any], None]]) -> None:
        """Do what is pending, on threads, and hand over the results in order."""
        for take, found in zip(takers, map_items(lambda do: do(), pending, self._n_jobs), strict=True):
            take(found)
        pending.clear()
        takers.clear()


@dataclass(frozen=True)
class _Request:
    """A step on the rows of a node, and what takes its result for each part."""

    step: Step
    handles: Handles
    arguments: tuple[Any, ...]
    add: Callable[[int, Any], None]


def _read_ahead(parts: Iterator[Item]) -> Iterator[Item]:
    """The same parts, the next one of which is read while one is worked on."""
    parts, end = iter(parts), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] = pool.submit(next, parts, end)
        while (part := coming.result()) is not end:
            coming = pool.submit(next, parts, end)
            yield part


def _or_ones(weights: Floats | None, X: Matrix) -> Floats:
    return np.ones(X.shape[0]) if weights is None else weights


def _every(n_rows: int) -> _reductions.Rows:
    """All rows of a part: a view of one array, since there may be thousands of parts."""
    rows = _numbers_up_to(1 << max(n_rows - 1, 1).bit_length())
    return rows[:n_rows]


@cache
def _numbers_up_to(n: int) -> _reductions.Rows:
    return np.arange(n, dtype=np.int32)


def checked_rows(
    X: Matrix, weights: Floats | None, n_features: int, number: int, least: float = 0.0
) -> _reductions.Rows:
    """The rows of a part that weigh more than `least`; ValueError names the part where something is wrong with it."""
    name = f"part {number}"
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        found = f"{X.dtype}" if isinstance(X, np.ndarray) else type(X).__name__
        raise ValueError(f"{name} holds {found}: rows in parts are arrays of float32 or float64")
    if X.ndim != 2 or X.shape[1] != n_features:
        width = X.shape[1] if X.ndim == 2 else f"{X.ndim} dimensions, not"
        raise ValueError(f"{name} has {width} columns, and those before it have {n_features}")
    if not X.shape[0]:
        return np.empty(0, dtype=np.int32)
    if not np.isfinite(X).all():
        raise ValueError(f"{name} has NaN or infinity: leave such rows out, or fill them, before the fit")
    if max(float(X.max()), -float(X.min())) > LARGEST:
        raise ValueError(f"{name} has a number whose square would overflow in float64: change the unit of the columns")
    if weights is None:
        return _every(X.shape[0])
    if weights.shape != (X.shape[0],) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} has weights that are negative or not finite, or another number of them than rows")
    return np.flatnonzero(weights > least).astype(np.int32)
