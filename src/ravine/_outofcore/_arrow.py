"""Rows of a `pyarrow.dataset`, read from the files again in every pass, one batch at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Matrix
from ravine._outofcore._chunks import LocalChunks

BATCH_CELLS = 1 << 21
"""Maximum number of values in a batch."""

AHEAD, BUFFER = 2, 1 << 20
"""Number of batches read ahead, and number of bytes of a column read at a time."""

TOGETHER = 1 << 12
"""Number of rows whose columns are copied together at a time, so that they stay in the cache."""


def is_arrow_dataset(X: Any) -> bool:
    """Return whether something is a pyarrow dataset, without importing pyarrow."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "scanner") and hasattr(X, "schema")


def arrow_chunks(X: Any, n_jobs: int | None) -> LocalChunks:
    """Return the batches of a dataset as chunks; all columns must be numeric."""
    names = _numeric_names(X)
    n_rows = X.count_rows() if _is_parquet(X) else None  # other files would have to be read
    return LocalChunks(lambda: ((rows, None) for rows in batches(X)), len(names), names, n_jobs, n_rows=n_rows)


def batches(X: Any) -> Iterator[Matrix]:
    """Yield the rows of the dataset, always in the same batches."""
    names = _numeric_names(X)
    size = max(BATCH_CELLS // len(names), 1)
    dtype = _dtype(X)
    options = {"batch_size": size, "batch_readahead": AHEAD, "fragment_readahead": 1, **_sparing(X)}
    for batch in X.scanner(columns=names, **options).to_batches():
        columns = [_numbers(batch.column(j)) for j in range(len(names))]
        rows = np.empty((batch.num_rows, len(names)), dtype=dtype)
        for start in range(0, batch.num_rows, TOGETHER):
            block = slice(start, start + TOGETHER)
            for j, column in enumerate(columns):
                rows[block, j] = column[block]
        yield rows


def _sparing(X: Any) -> dict[str, Any]:
    """Return scan options that keep little of a Parquet file in memory."""
    from pyarrow import dataset

    if not _is_parquet(X):
        return {}
    options = {"pre_buffer": False, "use_buffered_stream": True, "buffer_size": BUFFER}
    return {"fragment_scan_options": dataset.ParquetFragmentScanOptions(**options)}


def _is_parquet(X: Any) -> bool:
    return getattr(getattr(X, "format", None), "default_extname", None) == "parquet"


def _dtype(X: Any) -> Any:
    """Return float32 if no column has more digits, as for in-memory data, else float64."""
    found = [np.dtype(field.type.to_pandas_dtype()) for field in X.schema]
    return np.float32 if all(dtype in (np.float32, np.float16) for dtype in found) else np.float64


def _numbers(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _numeric_names(X: Any) -> list[str]:
    import pyarrow as pa

    for field in X.schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)):
            raise ValueError(
                f"column {field.name!r} of the dataset holds {field.type}, not numbers: leave it out, for example with "
                "dataset.replace_schema"
            )
    if not len(X.schema):
        raise ValueError("the dataset has no columns")
    return [str(name) for name in X.schema.names]
