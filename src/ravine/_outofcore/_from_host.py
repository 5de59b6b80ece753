"""Rows in the memory of the host that a CUDA device reads chunk by chunk in every pass: more than its memory can hold.

A chunk is a stretch of rows. A pass sends those that belong to the node; while the device works on them, threads copy
the rows of the next chunk to pinned memory, which a device reads fastest. The reductions are those of rows on a device,
and their results are merged, so they do not depend on the size of a chunk.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine import _kernels
from ravine._blocks import map_rows
from ravine._matrix import LARGEST, Floats, take_rows
from ravine._outofcore._chunks import Chunks, Handles, Item, Result
from ravine._outofcore._device_arrays import cuda
from ravine._outofcore._device_reductions import (
    REDUCTIONS,
    DeviceRows,
    Part,
    column_range,
    described,
    divided,
)
from ravine._outofcore._launch import to_device
from ravine._outofcore._reductions import Extent

CHUNK_BYTES = 1 << 30
"""Usual size of a chunk."""

ALL = np.empty(0, dtype=np.int32)
"""The list of the rows of a chunk if these are all of them."""


class RowsFromHost:
    """Rows in the memory of the host, to be read by a device; see `ravine.gpu.from_host`."""

    def __init__(self, X: ArrayLike, device: int = 0, chunk_bytes: int = CHUNK_BYTES) -> None:
        rows: NDArray[Any] = np.asanyarray(X)
        if rows.ndim != 2:
            raise ValueError(f"X has {rows.ndim} dimensions: it needs one row for each sample, as X.reshape(-1, 1)")
        if rows.dtype not in (np.float32, np.float64):
            raise ValueError(f"X has {rows.dtype}: convert it to float32, with X.astype('float32')")
        most = _most_columns()
        if not 1 <= rows.shape[1] <= most:
            raise ValueError(f"X has {rows.shape[1]} columns, and 1 to {most} are supported: use other columns")
        if not rows.flags.c_contiguous:
            raise ValueError("the rows of X are not contiguous: pass a copy in C order, np.ascontiguousarray(X)")
        self.rows, self.device, self.chunk_bytes = rows, device, chunk_bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self.rows.dtype

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rows of {self.shape[1]} columns, read from the host by device {self.device}>"

    @property
    def chunk_rows(self) -> int:
        """Number of rows in a chunk."""
        return max(self.chunk_bytes // (self.shape[1] * self.dtype.itemsize), 1)

    def stretches(self) -> Iterator[slice]:
        """Yield where each chunk stands."""
        for start in range(0, len(self.rows), self.chunk_rows):
            yield slice(start, min(start + self.chunk_rows, len(self.rows)))

    def on_device(self) -> Any:
        """Return a context in which kernels run on the device."""
        if not cuda().is_available():
            raise RuntimeError("Numba finds no CUDA device: check the driver with nvidia-smi, or fit X on the host")
        return cuda().gpus[self.device]

    def sent(self, n_jobs: int | None = None) -> Iterator[tuple[slice, Any]]:
        """Yield all chunks one after another, each as an array on the device that the next one overwrites."""
        with self.on_device():
            sender = _Sender(self, n_jobs)
            yield from sender.sent([(b, ALL) for b in self.stretches()])


def is_from_host(X: Any) -> bool:
    """Return whether `X` are rows of the host that a device reads."""
    return isinstance(X, RowsFromHost)


def _most_columns() -> int:
    cuda()  # raises ImportError if kernels for devices cannot be compiled
    return int(_kernels.cuda.MOST_COLUMNS)


class _Sender:
    """Sends chunks to the device, by two pieces of pinned memory and one of the device."""

    def __init__(self, X: RowsFromHost, n_jobs: int | None) -> None:
        self._X, self._n_jobs = X, n_jobs
        shape = min(X.chunk_rows, max(len(X), 1)), X.shape[1]
        needed, free = shape[0] * shape[1] * X.dtype.itemsize, cuda().current_context().get_memory_info().free
        if free < needed:
            raise MemoryError(
                f"a chunk needs {needed / 2**30:.1f} GiB of the memory of the device, and {free / 2**30:.1f} GiB are "
                "free: free some, or pass a smaller chunk_bytes"
            )
        self._pinned = [cuda().pinned_array(shape, X.dtype) for _ in range(2)]
        self._memory = cuda().device_array(shape, X.dtype)

    def sent(self, wanted: Sequence[tuple[slice, NDArray[Any]]]) -> Iterator[tuple[slice, Any]]:
        """Yield the given rows of chunks, on the device; the next ones are copied to pinned memory meanwhile."""
        if not wanted:
            return
        with ThreadPoolExecutor(1) as ahead:
            next_one = ahead.submit(self._pin, *wanted[0], self._pinned[0])
            for k, (stretch, _) in enumerate(wanted):
                rows = next_one.result()
                if k + 1 < len(wanted):
                    next_one = ahead.submit(self._pin, *wanted[k + 1], self._pinned[(k + 1) % 2])
                here = self._memory[: len(rows)]
                here.copy_to_device(rows)
                yield stretch, here

    def _pin(self, stretch: slice, listed: NDArray[Any], pinned: NDArray[Any]) -> NDArray[Any]:
        chunk = self._X.rows[stretch]
        out = pinned[: len(listed) or len(chunk)]
        if len(listed):
            take_rows(chunk, listed, self._n_jobs, out)
        else:
            map_rows(lambda b: np.copyto(out[b], chunk[b]), (len(chunk), chunk.shape[1]), self._n_jobs)
        return out


@dataclass(frozen=True)
class _Rows:
    """The rows of a chunk that belong to a node: where the chunk stands, and a list of its rows, `ALL` for all."""

    stretch: slice
    listed: NDArray[np.int32]
    n: int

    def some(self, places: NDArray[np.int32]) -> "_Rows":
        """Return the rows at some places among these."""
        return _Rows(self.stretch, self.listed[places] if len(self.listed) else places, len(places))


class ChunksFromHost(Chunks):
    """Rows of the host that a device reads in every pass.

    Parameters
    ----------
    X : RowsFromHost
    weights : array-like of shape (n_samples,), optional
    n_jobs : int, optional
        Number of threads that copy rows to pinned memory.
    edges : ndarray of shape (3, n_features), optional
        See `DeviceChunks`.

    Attributes
    ----------
    n_passes, n_rows_read : int
        Number of reductions and divisions so far, and of rows that were sent to the device for them.
    """

    rounds_rows = False

    def __init__(
        self, X: RowsFromHost, weights: Any = None, n_jobs: int | None = None, edges: Floats | None = None
    ) -> None:
        self._X, self._n_jobs, self._edges = X, n_jobs, np.empty((3, 0)) if edges is None else edges
        self.n_features, self.n_passes, self.n_rows_read = X.shape[1], 0, 0
        self._weights = None if weights is None else np.array(weights, dtype=np.float64)
        if self._weights is not None and self._weights.shape != (len(X),):
            raise ValueError(f"sample_weight has shape {self._weights.shape}, and X has {len(X)} rows")
        self._extent: Extent | None = None
        self._sender: _Sender | None = None

    def close(self) -> None:
        """Free the pinned memory and that of the device."""
        self._sender = None

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on one item after the other: each pass uses the whole device."""
        return [function(item) for item in items]

    def everything(self, least: float = 0.0) -> tuple[Handles, Extent | None]:
        """Check all rows, in one pass."""
        handles, merged = [], None
        for stretch in self._X.stretches():
            n = stretch.stop - stretch.start
            handle = _Rows(stretch, ALL, n)
            if self._weights is not None:
                w = self._weights[stretch]
                if not np.isfinite(w).all() or w.min() < 0:
                    raise ValueError(
                        "sample_weight has an entry that is negative or not finite: give such rows the weight 0"
                    )
                heavy = np.flatnonzero(w > least).astype(np.int32)
                handle = handle if len(heavy) == n else handle.some(heavy)
            handles.append(handle)
        for handle, rows in self._visits(handles):
            w = np.ones(1) if self._weights is None else self._weights_of(handle)
            found = Extent(*column_range(rows, _all_of(rows)), handle.n, float(w.min()), float(w.max()))
            merged = found if merged is None else merged.merge(found)
        if merged is not None:
            if not (np.isfinite(merged.low).all() and np.isfinite(merged.high).all()):
                raise ValueError("X contains NaN or infinity: remove or fill such rows")
            if merged.largest > LARGEST:
                raise ValueError(
                    "X has a number whose square would overflow in float64: change the unit of the columns"
                )
        self._extent = merged
        return handles, merged

    def reduce(self, reduction: Any, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction in one pass, or a few, over each chunk, and merge the results."""
        self.n_passes += 1
        merged: Any = None
        for _, rows in self._visits(handles):
            found = REDUCTIONS[reduction](rows, _all_of(rows), *arguments)
            merged = found if merged is None else merged.merge(found)
        return merged

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Divide the rows, and describe both sides."""
        self.n_passes += 1
        normal, offset, by = arguments
        sides: tuple[Handles, Handles] = ([], [])
        sums: list[Any] = [None, None]
        for handle, rows in self._visits(handles):
            for k, part in enumerate(divided(rows, _all_of(rows), normal, offset)):
                if part.n:
                    sides[k].append(handle.some(part.rows.copy_to_host()))
                    found = described(rows, part, by)
                    sums[k] = found if sums[k] is None else sums[k].merge(found)
        return *sides, sums[0], sums[1]

    def moved_in(self, edges: Floats) -> "ChunksFromHost":
        """Return the same rows, of which cells are moved whenever they are read."""
        self.close()
        return ChunksFromHost(self._X, self._weights, self._n_jobs, edges)

    def _visits(self, handles: Handles) -> Iterator[tuple[_Rows, DeviceRows]]:
        """Yield the rows of a node in each chunk, on the device."""
        handles = [handle for handle in handles if handle.n]
        with self._X.on_device():
            self._sender = self._sender or _Sender(self._X, self._n_jobs)
            edges, one = to_device(self._edges), to_device(np.ones(1))
            sent = self._sender.sent([(handle.stretch, handle.listed) for handle in handles])
            for handle, (_, here) in zip(handles, sent, strict=True):
                self.n_rows_read += handle.n
                w = (one, 0) if self._weights is None else (to_device(self._weights_of(handle)), 1)
                yield handle, DeviceRows(here, *w, edges, self._extent)

    def _weights_of(self, handle: _Rows) -> Floats:
        assert self._weights is not None
        of_chunk = self._weights[handle.stretch]
        return of_chunk[handle.listed] if len(handle.listed) else of_chunk


def _all_of(rows: DeviceRows) -> Part:
    return Part(to_device(ALL), rows.X.shape[0])
