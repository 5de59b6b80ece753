"""Chunks of rows that stay where they are: in memory, in files, or on the workers of a cluster."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from ravine._blocks import count_threads, map_items
from ravine._matrix import LARGEST, Floats, Matrix
from ravine._outofcore import _reductions
from ravine._outofcore._copied import CopiedRows, Part
from ravine._outofcore._scratch import SETTING, is_switched_off
from ravine._outofcore._shared_passes import SharedPasses
from ravine._scaling import moved_in

Item = TypeVar("Item")
Result = TypeVar("Result")

Handles: TypeAlias = list[Any]
"""For each chunk, which of its rows belong to a node, in a form that only the class that made them interprets."""


LEAST_COPIED = 1 << 21
"""Rows with at most this many numbers are not copied: they are fetched into memory."""

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
    rounds_rows : bool
        Whether large nodes may be searched on rounded rows; see `ravine._outofcore._node.Whole`.
    """

    n_features: int
    feature_names: list[str] | None = None
    rounds_rows: bool = True

    @abstractmethod
    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows, and return the handles of those that weigh more than `least`, and their extent.

        The extent is None if there are no rows.
        """

    @abstractmethod
    def moved_in(self, edges: Floats) -> "Chunks":
        """Return the rows with the cells far outside moved to these edges, those of `ravine._scaling.edges_of`.

        Nodes of the rows as they are are of no use then, so that rows are not held twice. `everything` makes new ones,
        and closes the moved rows.
        """

    @abstractmethod
    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction to the chunks with rows of a node, and merge the results; None if there are no rows."""

    @abstractmethod
    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Return the handles of the rows on both sides of a cut and the sums over them; see `_reductions.divide`."""

    @abstractmethod
    def close(self) -> None:
        """Delete copies of rows; nodes are of no use after this."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
    copied : bool, default=False
        Whether many passes will follow. Then the first pass also writes the rows to disk, if there is space, and later
        passes read the rows of their nodes there; see `ravine._outofcore._copied`. Few rows are not copied.
    n_rows : int, optional
        Number of rows, if it is known beforehand.

    Attributes
    ----------
    n_passes, n_rows_read : int
        Number of passes so far, and of rows that they read.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[tuple[Matrix, Floats | None]]],
        n_features: int,
        feature_names: Sequence[str] | None = None,
        n_jobs: int | None = None,
        copied: bool = False,
        n_rows: int | None = None,
    ) -> None:
        self.read, self._n_jobs = read, n_jobs
        self.n_features = n_features
        self.feature_names = None if feature_names is None else list(feature_names)
        self.n_passes, self.n_rows_read = 0, 0
        self._copied, self._n_rows = copied, n_rows
        self._copy: CopiedRows | None = None
        self._moved: LocalChunks | None = None
        self._rows: Handles = []
        self._shared_passes = SharedPasses(self._pass)

    def copied(self) -> Self:
        """Have the chunks copied to disk in the next first pass, and return them."""
        self._copied = True
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._copied = False

    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows in one pass."""
        self.n_passes += 1
        self.close()
        handles, merged = [], None
        writer = _Writer(self.n_features, self._n_rows) if self._copied and not is_switched_off() else None
        try:
            for number, (X, weights) in enumerate(_read_ahead(self.read())):
                rows = checked_rows(X, weights, self.n_features, number, least)
                handles.append(rows)
                self.n_rows_read += len(X)
                if len(rows):
                    found = _reductions.extent(X, _or_ones(weights, X), rows)
                    merged = found if merged is None else merged.merge(found)
                    writer = None if writer is None or not writer.add(X, weights, rows) else writer
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        self._copy = None if writer is None else writer.copy
        if self._copy is None:
            return handles, merged
        self._rows = handles
        return [Part(0, self._copy.n_rows, rows=handles)], merged

    def moved_in(self, edges: Floats) -> "LocalChunks":
        """Return chunks that move cells when they read rows; they are copied to disk in place of these."""
        self.close()
        copied, self._copied = self._copied, False  # hardly any pass over the rows as they are will follow
        read = partial(_moved, self.read, edges)
        self._moved = LocalChunks(read, self.n_features, self.feature_names, self._n_jobs, copied, self._n_rows)
        return self._moved

    def close(self) -> None:
        """Delete the copy on disk, if there is one."""
        if self._moved is not None:
            self._moved.close()
            self._moved = None
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction in one pass, and merge the results as they arrive."""
        return self._shared_passes.ask(_Reduce(reduction, handles, arguments))

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Divide the rows in one pass."""
        left, right, *sums = self._shared_passes.ask(_Divide(_reductions.divide, handles, arguments))
        return left, right, sums[0], sums[1]

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on each item; requests made at the same time share one pass over the rows."""
        return self._shared_passes.map(function, items)

    def _pass(self, requests: "list[_Request]") -> list[Any]:
        self.n_passes += 1
        for part, on_part in _by_part(requests):
            if self._copy is None:
                break
            try:
                self._read_copy(self._copy, part, on_part)
            except OSError as error:
                self.close()
                _warn_of_no_copy(error)
        rest = [request for request in requests if not request.is_answered]
        if rest:
            self._read_source(rest)
        return [request.result() for request in requests]

    def _read_copy(self, copy: CopiedRows, part: Part, requests: "list[_Request]") -> None:
        """Answer requests for the rows of one part from the copy; a division is not asked together with others."""
        self.n_rows_read += len(part)
        if isinstance(requests[0], _Divide):
            (request,) = requests
            try:
                left, right, *sums = copy.divide(part, request.of_all, request.arguments[:2], self._n_jobs)
            except BaseException:  # some rows are not where they were
                self.close()
                raise
            request.found = [left], [right], *sums
        else:
            for request, found in zip(
                requests, copy.reduce(part, [request.of_all for request in requests], self._n_jobs), strict=True
            ):
                request.found = found
        for request in requests:
            request.is_answered = True

    def _read_source(self, requests: "list[_Request]") -> None:
        for request in requests:
            request.rows = self._rows_in_chunks(request.handles)
        pending: list[Callable[[], Any]] = []
        takers: list[Callable[[Any], None]] = []
        number, n_chunks = -1, len(requests[0].rows)
        for number, (X, weights) in enumerate(_read_ahead(self.read())):
            self.n_rows_read += len(X)
            if number >= n_chunks or X.shape[0] < max(len(request.rows[number]) for request in requests):
                raise RuntimeError(CHANGED)
            for request in requests:
                if len(request.rows[number]):
                    chunk = (X, _or_ones(weights, X), request.rows[number])
                    pending.append(partial(request.reduction, *chunk, *request.arguments))
                    takers.append(partial(request.add, number))
            if len(pending) >= count_threads(self._n_jobs):
                self._do(pending, takers)
        self._do(pending, takers)
        if number + 1 < n_chunks:
            raise RuntimeError(CHANGED)

    def _rows_in_chunks(self, handles: Handles) -> Handles:
        """Return which rows of each chunk belong to a node; those of a part are found by the cuts above it."""
        if not _is_part(handles):
            return handles
        part: Part = handles[0]
        if part.rows is None:
            self.n_passes += 1
            part.rows = []
            for (X, _), rows in zip(_read_ahead(self.read()), self._rows, strict=True):
                self.n_rows_read += len(X)
                part.rows.append(_at_end_of(part.path, X, rows))
        return part.rows

    def _do(self, pending: list[Callable[[], Any]], takers: list[Callable[[Any], None]]) -> None:
        """Run the pending calls on threads, and hand over the results in order."""
        for take, found in zip(takers, map_items(lambda do: do(), pending, self._n_jobs), strict=True):
            take(found)
        pending.clear()
        takers.clear()


class _Request(ABC):
    """A reduction over the rows of a node, and what is known of its result so far."""

    def __init__(self, reduction: Reduction, handles: Handles, arguments: tuple[Any, ...]) -> None:
        self.reduction, self.handles, self.arguments = reduction, handles, arguments
        self.rows: Handles = []
        self.found: Any = None
        self.is_answered = False

    def of_all(self, X: Matrix, weights: Floats | None) -> Any:
        """Apply the reduction to all rows of a block."""
        return self.reduction(X, _or_ones(weights, X), _every(X.shape[0]), *self.arguments)

    @abstractmethod
    def add(self, number: int, found: Any) -> None:
        """Take the result of a chunk."""

    def result(self) -> Any:
        """Return the result of all chunks."""
        return self.found


class _Reduce(_Request):
    def add(self, number: int, found: Any) -> None:
        self.found = found if self.found is None else self.found.merge(found)


class _Divide(_Request):
    def add(self, number: int, found: Any) -> None:
        if self.found is None:
            none: Handles = [np.empty(0, dtype=np.int32)] * len(self.rows)
            self.found = (none, list(none), *found[2:])
        else:
            both = zip(self.found[2:], found[2:], strict=True)
            self.found = (*self.found[:2], *(mine.merge(new) for mine, new in both))
        self.found[0][number], self.found[1][number] = found[:2]


def _by_part(requests: "list[_Request]") -> "list[tuple[Part, list[_Request]]]":
    """Return the parts of the copy that requests need, each with its requests."""
    parts: dict[int, tuple[Part, list[_Request]]] = {}
    for request in requests:
        if _is_part(request.handles) and request.reduction not in _reductions.BY_CHUNK:
            parts.setdefault(id(request.handles[0]), (request.handles[0], []))[1].append(request)
    return list(parts.values())


def _is_part(handles: Handles) -> bool:
    return len(handles) == 1 and isinstance(handles[0], Part)


def _at_end_of(path: tuple[tuple[Floats, float, bool], ...], X: Matrix, rows: _reductions.Rows) -> _reductions.Rows:
    """Return those of some rows of a chunk that go to the given side at each cut."""
    for normal, offset, on_left in path:
        sides = _reductions.sides(X, rows, normal, offset)
        rows = sides[0] if on_left else sides[1]
    return rows


class _Writer:
    """Writes a copy of the rows, once it is clear that they are many."""

    def __init__(self, n_features: int, n_rows: int | None) -> None:
        self._n_features, self._n_rows = n_features, n_rows
        self._held: list[tuple[Matrix, Floats | None]] = []
        self._n_held = 0
        self.copy: CopiedRows | None = None

    def add(self, X: Matrix, weights: Floats | None, rows: _reductions.Rows) -> bool:
        """Write rows; False if there is no copy from now on, because the disk is full or cannot be written."""
        block = (X, weights) if len(rows) == len(X) else (X[rows], None if weights is None else weights[rows])
        self._held.append(block)
        self._n_held += len(rows)
        if self._n_held * self._n_features <= LEAST_COPIED:
            return True
        try:
            if self.copy is None:
                self.copy = CopiedRows(self._n_features, X.dtype, weights is not None, self._n_rows)
            for held in self._held:
                self.copy.append(*held)
        except OSError as error:
            self.close()
            _warn_of_no_copy(error)
            return False
        self._held.clear()
        return True

    def close(self) -> None:
        """Delete what was written."""
        self._held.clear()
        if self.copy is not None:
            self.copy.close()
            self.copy = None


def _warn_of_no_copy(error: OSError) -> None:
    text = error.strerror or str(error)
    warnings.warn(
        f"there is no copy of the rows on disk, so every pass reads all of them from where they are ({text}): set the "
        f"environment variable {SETTING} to a folder with more space, or to nothing if no copy is wanted",
        RuntimeWarning,
        stacklevel=2,
    )


def _read_ahead(chunks: Iterator[Item]) -> Iterator[Item]:
    """Yield the same chunks; the next one is read while the current one is processed."""
    chunks, end = iter(chunks), object()
    with ThreadPoolExecutor(1) as pool:
        coming: Future[Any] = pool.submit(next, chunks, end)
        while (chunk := coming.result()) is not end:
            coming = pool.submit(next, chunks, end)
            yield chunk


def _moved(
    read: Callable[[], Iterator[tuple[Matrix, Floats | None]]], edges: Floats
) -> Iterator[tuple[Matrix, Floats | None]]:
    for X, weights in read():
        yield moved_in(X, *edges), weights


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
    low, high = _reductions.column_range(X, _every(X.shape[0]))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"{name} has NaN or infinity: remove or fill such rows before the fit")
    if max(float(high.max()), -float(low.min())) > LARGEST:
        raise ValueError(f"{name} has a number whose square would overflow in float64: change the unit of the columns")
    if weights is None:
        return _every(X.shape[0])
    if weights.shape != (X.shape[0],) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} has weights that are negative or not finite, or not one weight per row")
    return np.flatnonzero(weights > least).astype(np.int32)
