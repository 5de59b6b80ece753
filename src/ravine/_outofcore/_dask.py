"""Rows in the partitions of a Dask collection, which stay on their workers.

The partitions on one worker are grouped, one group per thread, and a reduction is one task per group. Results are
merged on the workers, a few at a time, and one result is returned. Tasks can run again with the same result, so a lost
worker only costs time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from ravine._checks import as_floats
from ravine._matrix import Floats, Matrix
from ravine._outofcore import _reductions
from ravine._outofcore._chunks import Chunks, Handles, LocalChunks, Reduction, checked_rows

Item = TypeVar("Item")
Result = TypeVar("Result")

Chunk: TypeAlias = tuple[Matrix, Floats | None]
"""Rows of a partition, and their weights or None."""

FAN_IN = 8
"""Number of results that one task merges."""

FEW_ROWS = 1 << 11
"""If a node has fewer rows than this in a chunk, those of several chunks are put together for a pass."""

SENT_BYTES = 1 << 16
"""Arguments of a pass that are larger than this are sent once, not with each task."""

GATHERED_CELLS = 1 << 20
"""Maximum number of values that are put together, up to the rows of a chunk."""


def is_dask(X: Any) -> bool:
    """Return whether something is a Dask array or frame, without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame if all of them are strings, else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return [str(name) for name in columns]


def dask_chunks(X: Any, sample_weight: Any, n_jobs: int | None) -> Chunks:
    """Return the partitions of a Dask array or frame as chunks.

    They stay on the workers of the current client, or are read again in every pass if there is no client.
    """
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension{'s' if X.ndim != 1 else ''}: it needs two, rows and columns")
    blocks, weights = _blocks_of(X, sample_weight)
    client = _client()
    if client is not None:
        return DaskChunks(client, blocks, weights, X.shape[1], names_of(X))

    def read() -> Iterator[tuple[Matrix, Floats | None]]:
        for rows, its_weights in dask_in_order(X, sample_weight):
            yield _prepared(rows, its_weights)

    return LocalChunks(read, X.shape[1], names_of(X), n_jobs)


def dask_in_order(X: Any, sample_weight: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and weights of one partition after another; each is computed when it is needed."""
    compute = import_module("dask").compute
    for pair in zip(*_blocks_of(X, sample_weight), strict=True):
        yield compute(*pair)


class DaskChunks(Chunks):
    """Partitions held by the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    blocks, weights : list of Delayed
        Rows of each partition, and their weights or None.
    n_features : int
    feature_names : list of str, optional
    """

    def __init__(
        self, client: Any, blocks: list[Any], weights: list[Any], n_features: int, feature_names: list[str] | None
    ) -> None:
        self._client, self.n_features, self.feature_names = client, n_features, feature_names
        self._blocks, self._weights = blocks, weights
        self._groups: list[Any] = []
        self._numbers = count(1)
        self.n_passes = 0

    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows; errors name the partition."""
        raw = self._client.compute(self._blocks)
        of_weights = [None if weight is None else self._client.compute(weight) for weight in self._weights]
        chunks = [self._submit(_prepared, *pair) for pair in zip(raw, of_weights, strict=True)]
        groups = self._grouped(chunks)
        self._groups = [self._submit(_as_it_is, [chunks[number] for number in numbers]) for numbers in groups]
        checked = [
            self._submit(_checked, group, self.n_features, numbers, least)
            for group, numbers in zip(self._groups, groups, strict=True)
        ]
        handles = [_Handle(rows) for rows in checked]
        return handles, self.reduce(_reductions.extent, handles)

    def _grouped(self, chunks: list[Any]) -> list[list[int]]:
        """Return the numbers of the partitions in each group."""
        import_module("distributed").wait(chunks)
        holders, n_threads = self._client.who_has(chunks), self._client.nthreads()
        on_worker: dict[str, list[int]] = {}
        for number, chunk in enumerate(chunks):
            on_worker.setdefault(min(holders.get(chunk.key, ()), default=""), []).append(number)
        groups = []
        for worker, numbers in sorted(on_worker.items()):
            n_groups = min(n_threads.get(worker, 1), len(numbers))
            groups += [numbers[i::n_groups] for i in range(n_groups)]
        return groups

    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction, and merge the results on the workers."""
        found = self._on_groups(partial(_reduced, reduction), handles, arguments)
        return _closed(self._gather(found))

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, _reductions.Side, _reductions.Side]:
        """Divide the rows; they stay on the workers, and sums are merged there."""
        found = self._on_groups(_divided, handles, arguments)
        both = self._gather(self._client.map(_both_sides, found, pure=False))
        left, right = ([_Handle(one, side) for one in found] for side in (0, 1))
        return left, right, *_merged(both).sides

    def close(self) -> None:
        """Forget the groups, so that workers can free what they hold for them."""
        self._groups = []

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on threads of the client, so that the workers stay busy while one thread computes."""
        with ThreadPoolExecutor(max(len(items), 1)) as pool:
            return list(pool.map(function, items))

    def _on_groups(self, function: Callable[..., Any], handles: Handles, arguments: tuple[Any, ...]) -> list[Any]:
        """Start a pass: one task for each group, all of them in one message to the scheduler."""
        self.n_passes = next(self._numbers)
        sent: Any = arguments
        if len(self._groups) > FAN_IN or import_module("dask.sizeof").sizeof(arguments) > SENT_BYTES:
            sent = self._submit(_as_it_is, arguments)  # sent once, and computed again if its worker is lost
        rows, sides = [handle.rows for handle in handles], [handle.side for handle in handles]
        futures: list[Any] = self._client.map(function, self._groups, rows, sides, [sent] * len(rows), pure=False)
        return futures

    def _gather(self, found: list[Any]) -> list[Any]:
        """Return results of groups; if there are many, workers merge them before."""
        while len(found) > FAN_IN:
            found = [self._submit(_merged, found[i : i + FAN_IN]) for i in range(0, len(found), FAN_IN)]
        results: list[Any] = self._client.gather(found)
        return results

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)


def _client() -> Any:
    """Return the current client, or None."""
    try:
        return import_module("distributed").default_client()
    except (ImportError, ValueError):
        return None


def _blocks_of(X: Any, sample_weight: Any) -> tuple[list[Any], list[Any]]:
    """Return the partitions of the rows, and those of their weights or a None for each."""
    blocks = _blocks(X)
    weights = [None] * len(blocks) if sample_weight is None else _blocks(sample_weight)
    if len(weights) != len(blocks):
        raise ValueError(f"sample_weight has {len(weights)} partitions and X {len(blocks)}: use the same for both")
    return blocks, weights


def _blocks(X: Any) -> list[Any]:
    """Return the partitions of a collection; each contains whole rows."""
    if hasattr(X, "rechunk") and X.ndim == 2:
        X = X.rechunk({1: -1})
    delayed = X.to_delayed()
    return list(delayed) if isinstance(delayed, list) else list(np.ravel(delayed))


def _prepared(X: Any, weights: Any) -> tuple[Matrix, Floats | None]:
    """Convert rows to the form that the passes read."""
    if sparse.issparse(X):
        raise ValueError(
            "a partition of X is a sparse matrix, but out-of-core data must be dense: convert it with map_blocks"
        )
    rows = np.ascontiguousarray(as_floats(X, "a partition of X"))
    return rows, None if weights is None else as_floats(weights, "sample_weight").astype(np.float64)


def _as_it_is(value: Any) -> Any:
    """Return the argument, as a task: for values sent once and used by many tasks, or stored together from now on."""
    return value


def _checked(group: list[Chunk], n_features: int, numbers: list[int], least: float) -> list[_reductions.Rows]:
    return [checked_rows(*chunk, n_features, number, least) for chunk, number in zip(group, numbers, strict=True)]


@dataclass(frozen=True)
class _Handle:
    """The rows of a node in a group: the result of a task, or one side of a division that a task has made."""

    rows: Any
    side: int | None = None


@dataclass(frozen=True)
class _Sides:
    """Both sides of a division, or None for a side without rows in some groups."""

    sides: tuple[Any, Any]

    def merge(self, other: "_Sides") -> "_Sides":
        """Merge the results of two groups."""
        left, right = (_merged([mine, yours]) for mine, yours in zip(self.sides, other.sides, strict=True))
        return _Sides((left, right))


def _both_sides(divided: tuple[Any, ...]) -> _Sides:
    """Return what `_divided` found on both sides, without the rows, which stay on the worker."""
    return _Sides((divided[2], divided[3]))


def _reduced(reduction: Reduction, group: list[Chunk], found: Any, side: int | None, arguments: tuple[Any, ...]) -> Any:
    rows = found if side is None else found[side]
    chunks: Iterable[tuple[Chunk, _reductions.Rows]] = zip(group, rows, strict=True)
    if reduction not in _reductions.BY_CHUNK:
        chunks = _with_few_gathered(chunks)
    return _merged(_reduce_chunk(reduction, *pair, arguments) for pair in chunks)


def _with_few_gathered(
    chunks: Iterable[tuple[Chunk, _reductions.Rows]],
) -> Iterator[tuple[Chunk, _reductions.Rows]]:
    """Put the rows of a node together, some at a time, if it has few in a chunk: each result takes time to merge."""
    few: list[Chunk] = []
    for chunk, rows in chunks:
        X, weights = chunk
        if len(rows) >= FEW_ROWS or (few and (few[0][0].dtype != X.dtype or (few[0][1] is None) != (weights is None))):
            yield chunk, rows
        elif len(rows):
            few.append((X[rows], None if weights is None else weights[rows]))
        if sum(X.size for X, _ in few) > GATHERED_CELLS:
            yield _together(few)
            few = []
    if few:
        yield _together(few)


def _together(few: list[Chunk]) -> tuple[Chunk, _reductions.Rows]:
    X = np.concatenate([rows for rows, _ in few])
    weights = [weights for _, weights in few if weights is not None]
    return (X, np.concatenate(weights) if weights else None), np.arange(len(X), dtype=np.int32)


def _divided(group: list[Chunk], found: Any, side: int | None, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the rows of both sides in each chunk of a group, and the sums over them."""
    rows = found if side is None else found[side]
    found = [_reduce_chunk(_reductions.divide, *pair, arguments) for pair in zip(group, rows, strict=True)]
    none = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), None, None
    left, right, *sums = zip(*(none if one is None else one for one in found), strict=True)
    return list(left), list(right), *(_merged(list(of_side)) for of_side in sums)


def _reduce_chunk(reduction: Reduction, chunk: Chunk, rows: _reductions.Rows, arguments: tuple[Any, ...]) -> Any:
    X, weights = chunk
    return reduction(X, np.ones(X.shape[0]) if weights is None else weights, rows, *arguments) if len(rows) else None


def _merged(found: Iterable[Any]) -> Any:
    merged = None
    for one in found:
        if one is not None:
            merged = one if merged is None else merged.merge(one)
    return merged


def _closed(found: list[Any]) -> Any:
    """Merge the last results; no more will follow, so the result can be made smaller."""
    merged = _merged(found)
    return merged.closed() if hasattr(merged, "closed") else merged
