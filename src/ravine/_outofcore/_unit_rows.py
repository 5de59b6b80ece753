"""Out-of-core data whose rows are divided by their lengths whenever they are read."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ravine._checks import as_floats
from ravine._matrix import Floats, Matrix, unit_rows
from ravine._outofcore._arrow import arrow_chunks, is_arrow_dataset
from ravine._outofcore._chunks import LocalChunks
from ravine._outofcore._dask import is_dask


def with_unit_rows(X: Any, n_jobs: int | None = None) -> Any:
    """Return out-of-core data with rows of length 1, as `ravine._matrix.unit_rows` returns them."""
    if not is_dask(X):
        chunks = arrow_chunks(X, n_jobs) if is_arrow_dataset(X) else X
        return LocalChunks(partial(_read, chunks.read), chunks.n_features, chunks.feature_names, n_jobs)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_of_frame, meta=X._meta.astype(_dtype(X)))
    return X.rechunk({1: -1}).map_blocks(_of_block, dtype=_dtype(X))


def _dtype(X: Any) -> Any:
    """Return float32 if no column has more digits, else float64."""
    kinds = list(X.dtypes) if hasattr(X, "columns") else [X.dtype]
    return np.float32 if all(dtype in (np.float16, np.float32) for dtype in kinds) else np.float64


def _of_frame(frame: Any) -> Any:
    rows = _of_block(frame)
    return type(frame)(rows, index=frame.index, columns=frame.columns)


def _of_block(rows: Any) -> Matrix:
    floats = np.ascontiguousarray(as_floats(rows, "a partition of X"))
    return unit_rows(floats, 1) if len(floats) else floats


def _read(read: Callable[[], Iterator[tuple[Matrix, Floats | None]]]) -> Iterator[tuple[Matrix, Floats | None]]:
    for X, weights in read():
        yield unit_rows(X, 1), weights
