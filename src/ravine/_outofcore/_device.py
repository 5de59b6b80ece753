"""Rows on a CUDA device, as one chunk: a node is a list of row numbers, four bytes for each of its rows.

The array of the user is read where it is, and is never copied or changed. The reductions are those of
`ravine._outofcore._device_reductions`. Only small arrays, and the rows of samples and of small nodes, come to the host.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ravine._matrix import LARGEST, Floats
from ravine._outofcore._chunks import Chunks, Handles, Item, Result
from ravine._outofcore._device_arrays import as_rows, as_weights, cuda, on_device_of
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

BYTES_PER_ROW, OTHER_BYTES = 24, 1 << 29
"""Memory that a fit needs besides the rows: for lists of row numbers, random numbers and labels, and for tables."""


class DeviceChunks(Chunks):
    """Rows on a CUDA device, as one chunk.

    Parameters
    ----------
    X : array on a device, of shape (n_samples, n_features)
    weights : array-like of shape (n_samples,), optional
        On the device or on the host.
    edges : ndarray of shape (3, n_features), optional
        Edges of the columns, to which cells far outside are moved whenever they are read; see `ravine._scaling`.
    is_fit : bool, default=True
        Whether a fit follows, which needs memory of the device.

    Attributes
    ----------
    n_passes : int
        Number of reductions and divisions so far.
    """

    rounds_rows = False

    def __init__(self, X: Any, weights: Any = None, edges: Floats | None = None, is_fit: bool = True) -> None:
        self._source, self._given = X, weights
        self.n_passes = 0
        with on_device_of(X):
            rows = as_rows(X)
            if is_fit:
                refuse_what_does_not_fit(rows.shape[0])
            w, w_step = (to_device(np.ones(1)), 0) if weights is None else (as_weights(weights, X), 1)
            if w_step and w.shape != (rows.shape[0],):
                raise ValueError(f"sample_weight has shape {tuple(w.shape)}, and X has {rows.shape[0]} rows")
            self.n_features = int(rows.shape[1])
            self._rows = DeviceRows(rows, w, w_step, to_device(np.empty((3, 0)) if edges is None else edges))

    def close(self) -> None:
        """There are no copies of rows."""

    def at_once(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function on one item after the other: each pass uses the whole device."""
        return [function(item) for item in items]

    def everything(self, least: float = 0.0) -> tuple[Handles, Extent | None]:
        """Check all rows, in one pass."""
        with on_device_of(self._source):
            part = Part(to_device(np.empty(0, dtype=np.int32)), self._rows.X.shape[0])
            part, lightest, heaviest = self._weighted(part, least)
            if not part.n:
                return [part], None
            low, high = column_range(self._rows, part)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ValueError("X contains NaN or infinity: remove or fill such rows")
        if max(float(high.max()), -float(low.min())) > LARGEST:
            raise ValueError("X has a number whose square would overflow in float64: change the unit of the columns")
        self._rows.extent = Extent(low, high, part.n, lightest, heaviest)
        return [part], self._rows.extent

    def _weighted(self, part: Part, least: float) -> tuple[Part, float, float]:
        """Return the rows that weigh more than `least`, and their smallest and largest weight."""
        if not self._rows.w_step or not part.n:
            return part, 1.0, 1.0
        weights = DeviceRows(self._rows.w.reshape(part.n, 1), self._rows.w, 1, to_device(np.empty((3, 0))))
        low, high = column_range(weights, part)
        if not np.isfinite([low[0], high[0]]).all() or low[0] < 0:
            raise ValueError("sample_weight has an entry that is negative or not finite: give such rows the weight 0")
        if low[0] <= least:
            _, part = divided(weights, part, np.ones(1), float(np.nextafter(least, math.inf)))
            if part.n:
                low, high = column_range(weights, part)
        return part, float(low[0]), float(high[0])

    def reduce(self, reduction: Any, handles: Handles, *arguments: Any) -> Any:
        """Apply a reduction in one pass, or a few."""
        self.n_passes += 1
        (part,) = handles
        if not part.n:
            return None
        with on_device_of(self._source):
            return REDUCTIONS[reduction](self._rows, part, *arguments)

    def divide(self, handles: Handles, *arguments: Any) -> tuple[Handles, Handles, Any, Any]:
        """Divide the rows, and describe both sides."""
        self.n_passes += 1
        normal, offset, by = arguments
        with on_device_of(self._source):
            both = divided(self._rows, handles[0], normal, offset)
            left, right = (described(self._rows, part, by) if part.n else None for part in both)
        return [both[0]], [both[1]], left, right

    def moved_in(self, edges: Floats) -> "DeviceChunks":
        """Return the same rows, of which cells are moved whenever they are read."""
        return DeviceChunks(self._source, self._given, edges)


def check_device_rows(X: Any) -> None:
    """Raise an error that says what to change if rows on a device cannot be used; this takes a pass over them."""
    if len(X.shape) != 2 or X.shape[0]:
        DeviceChunks(X, is_fit=False).everything()
    else:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")


def refuse_what_does_not_fit(n_rows: int) -> None:
    """Raise MemoryError if the current device has too little free memory for a fit to so many rows on it."""
    needed, free = n_rows * BYTES_PER_ROW + OTHER_BYTES, cuda().current_context().get_memory_info().free
    if free < needed:
        raise MemoryError(
            f"a fit to {n_rows} rows needs {needed / 2**30:.1f} GiB of the memory of the device besides the rows, and "
            f"{free / 2**30:.1f} GiB are free: free some, or fit from the memory of the host, X.cpu() or X.get()"
        )
