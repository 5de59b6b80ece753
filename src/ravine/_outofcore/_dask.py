"""Rows in the partitions of a Dask collection, which stay on their workers.

The partitions on one worker are a group, and a pass is one call of each group. Such a call goes to an actor: it takes a
few milliseconds, while tasks take the scheduler twenty. Results are merged on the workers, a few at a time. Groups can
be made again with the same results, so a lost worker only costs time.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from ravine._checks import as_floats
from ravine._matrix import Floats, Matrix
from ravine._outofcore import _reductions
from ravine._outofcore._chunks import Chunks, Handles, LocalChunks, Reduction
from ravine._outofcore._group import Group, Path, merged
from ravine._scaling import moved_in

Item = TypeVar("Item")
Result = TypeVar("Result")

FAN_IN = 8
"""Maximum number of results of other groups that a group, or the client, merges."""

ATTEMPTS = 10
"""A pass fails after workers have been lost this many times."""


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
    """Partitions held by the workers of a cluster; the partitions on a worker are a `Group`, which is an actor of Dask.

    A node is named by the cuts above it. When a worker is lost, Dask computes its partitions again, and new groups find
    the rows of the nodes by these cuts.

    Parameters
    ----------
    client : distributed.Client
    blocks, weights : list of Delayed
        Rows of each partition, and their weights or None.
    n_features : int
    feature_names : list of str, optional
    edges : ndarray of shape (3, n_features), optional
        Edges to which the cells far outside are moved.
    """

    def __init__(
        self,
        client: Any,
        blocks: list[Any],
        weights: list[Any],
        n_features: int,
        feature_names: list[str] | None,
        edges: Floats | None = None,
    ) -> None:
        self._client, self.n_features, self.feature_names = client, n_features, feature_names
        self._blocks, self._weights, self._edges = blocks, weights, edges
        self._moved: DaskChunks | None = None
        self._chunks: list[Any] = []
        self._least = 0.0
        self._groups: _Groups | None = None
        self._lock = Lock()
        self._numbers = count(1)
        self.n_passes = 0

    def everything(self, least: float = 0.0) -> tuple[Handles, _reductions.Extent | None]:
        """Check all rows; errors name the partition."""
        self.close()
        raw = self._client.compute(self._blocks)
        of_weights = [None if weight is None else self._client.compute(weight) for weight in self._weights]
        pairs = zip(raw, of_weights, strict=True)
        self._chunks = [self._client.submit(_prepared, *pair, self._edges, pure=False) for pair in pairs]
        self._least = least
        root: Path = ()
        return [root], self.reduce(_reductions.extent, [root])

    def reduce(self, reduction: Reduction, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction; the results of workers are merged."""
        found = self._ask("reduce", reduction, handles[0], arguments)
        return found.closed() if hasattr(found, "closed") else found

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Divide the rows, which stay on the workers."""
        normal, offset, by = arguments
        (path,), cut = handles, (np.asarray(normal, dtype=np.float64).tobytes(), float(offset))
        found = self._ask("divide", path, cut, by)
        return [(*path, (*cut, True))], [(*path, (*cut, False))], *found.sides

    def moved_in(self, edges: Floats) -> "DaskChunks":
        """Return partitions that are computed again, with the cells moved; the workers free those of these chunks."""
        self.close()
        names = self.n_features, self.feature_names
        self._moved = DaskChunks(self._client, self._blocks, self._weights, *names, edges)
        return self._moved

    def close(self) -> None:
        """Let the workers free what they hold."""
        if self._moved is not None:
            self._moved.close()
            self._moved = None
        self._drop(self._groups)
        self._chunks = []

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on threads of the client, so that the workers stay busy while one thread computes."""
        with ThreadPoolExecutor(max(len(items), 1)) as pool:
            return list(pool.map(function, items))

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Ask all groups at the same time, and merge their results; if a worker is lost, ask new groups."""
        self.n_passes = next(self._numbers)
        for _ in range(ATTEMPTS - 1):
            groups = self._current_groups()
            try:
                return groups.ask(method, *arguments)
            except Exception as error:
                if not isinstance(error, OSError) and not groups.are_lost():
                    raise
                self._drop(groups)
        return self._current_groups().ask(method, *arguments)

    def _drop(self, groups: "_Groups | None") -> None:
        """Free groups on all workers; Dask alone would keep an actor as long as its last call is remembered."""
        with self._lock:
            if groups is not None and self._groups is groups:
                self._groups = None
                with suppress(OSError, RuntimeError):  # without a scheduler there is nothing to free
                    self._client.cancel(groups.futures)

    def _current_groups(self) -> "_Groups":
        with self._lock:
            if self._groups is None:
                self._groups = self._grouped()
            return self._groups

    def _grouped(self) -> "_Groups":
        """Make a group of the partitions on each worker; again, if a worker is lost meanwhile."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._new_groups()
            except (OSError, RuntimeError):
                import_module("distributed").wait(self._chunks)
        return self._new_groups()

    def _new_groups(self) -> "_Groups":
        on_workers, n_threads = self._on_workers(), self._client.nthreads()
        groups: dict[int, Any] = {}
        for k in reversed(range(len(on_workers))):  # those below a group are made before it
            worker, numbers = on_workers[k]
            below = [groups[j] for j in range(FAN_IN * (k + 1), FAN_IN * (k + 2)) if j in groups]
            chunks = [self._chunks[number] for number in numbers]
            settings = numbers, self.n_features, self._least, n_threads.get(worker, 1), below
            place = {"workers": [worker], "allow_other_workers": True} if worker else {}
            groups[k] = self._client.submit(Group, chunks, *settings, actor=True, pure=False, **place)
        actors = [groups[k].result() for k in range(len(groups))]
        return _Groups(list(groups.values()), actors[:FAN_IN])

    def _on_workers(self) -> list[tuple[str, list[int]]]:
        """Return the workers, each with the numbers of its partitions."""
        import_module("distributed").wait(self._chunks)
        holders = self._client.who_has(self._chunks)
        on_worker: dict[str, list[int]] = {}
        for number, chunk in enumerate(self._chunks):
            on_worker.setdefault(min(holders.get(chunk.key, ()), default=""), []).append(number)
        return sorted(on_worker.items())


@dataclass(frozen=True, eq=False)
class _Groups:
    """Actors as futures, and those that the client asks; these ask the others."""

    futures: list[Any]
    asked: list[Any]

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of all groups at the same time, and merge their results."""
        pending = [getattr(group, method)(*arguments) for group in self.asked]
        return merged([one.result() for one in pending])

    def are_lost(self) -> bool:
        """Return whether a worker of these groups is known to be lost."""
        return any(future.status not in ("finished", "pending") for future in self.futures)


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


def _prepared(X: Any, weights: Any, edges: Floats | None = None) -> tuple[Matrix, Floats | None]:
    """Convert rows to the form that the passes read, and move the cells beyond the edges, if there are any."""
    if sparse.issparse(X):
        raise ValueError(
            "a partition of X is a sparse matrix, but out-of-core data must be dense: convert it with map_blocks"
        )
    rows = np.ascontiguousarray(as_floats(X, "a partition of X"))
    rows = rows if edges is None else moved_in(rows, *edges)
    return rows, None if weights is None else as_floats(weights, "sample_weight").astype(np.float64)
