"""Read a frame of any library as columns of Arrow, each under its name.

Frames with ``__arrow_c_stream__`` (pandas, Polars, DuckDB), tables of pyarrow, dictionaries of columns and arrays are
accepted. A column that mixes numbers and words becomes text, as it would be in a file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

SEED = 0
"""Seed of the sample of rows from which the roles of the columns are decided."""


def columns_of(frame: Any) -> tuple[dict[str, pa.ChunkedArray], bool]:
    """Return the columns by name, in their order, and whether the frame gives them names."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _named(frame.column_names, frame.columns), True
    if isinstance(frame, Mapping):
        return _of_equal_length(_named(list(frame), list(frame.values()))), True
    if hasattr(frame, "columns") and hasattr(frame, "dtypes") and hasattr(frame, "iloc"):  # pandas
        names = list(frame.columns)
        return _named(names, [frame.iloc[:, j] for j in range(len(names))]), all(isinstance(n, str) for n in names)
    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
        return _named(table.column_names, table.columns), True
    return _of_array(frame), False


def sampled(columns: dict[str, pa.ChunkedArray], size: int) -> dict[str, pa.ChunkedArray]:
    """Return the columns with at most this many rows, drawn at random, the same rows in every call."""
    n_rows = n_rows_of(columns)
    if n_rows <= size:
        return columns
    rows = pa.array(np.sort(np.random.default_rng(SEED).choice(n_rows, size, replace=False)))
    return {name: values.take(rows) for name, values in columns.items()}


def n_rows_of(columns: Mapping[str, pa.ChunkedArray]) -> int:
    """Return the number of rows of some columns."""
    return len(next(iter(columns.values()))) if columns else 0


def _named(names: list[Any], values: list[Any]) -> dict[str, pa.ChunkedArray]:
    texts = [str(name) for name in names]
    twice = sorted({name for name in texts if texts.count(name) > 1}) if len(set(texts)) < len(texts) else []
    if twice:
        raise ValueError(f"the table has more than one column of the name {', '.join(map(repr, twice))}: rename them")
    return {name: as_arrow(column) for name, column in zip(texts, values, strict=True)}


def _of_equal_length(columns: dict[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns must have the same number of rows, but have {lengths}")
    return columns


def as_arrow(values: Any) -> pa.ChunkedArray:
    """Return one column; Python objects of different types become text."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        cells = values.tolist() if hasattr(values, "tolist") else list(values)
        found = pa.array([_as_text(cell) for cell in cells], pa.large_string())
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _as_text(cell: Any) -> str | None:
    is_gap = cell is None or (isinstance(cell, float) and cell != cell) or str(cell) == "<NA>"
    return None if is_gap else str(cell)


def _of_array(given: Any) -> dict[str, pa.ChunkedArray]:
    if hasattr(given, "toarray"):
        raise TypeError("a sparse matrix was passed, but dense data is required: use X.toarray()")
    array = np.asarray(given)
    if array.ndim != 2:
        raise ValueError(
            f"a table has rows and columns, but this array has the shape {array.shape}. Reshape your data: "
            "array.reshape(-1, 1) is one column"
        )
    if np.iscomplexobj(array):
        raise ValueError("Complex data not supported")
    columns = [np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])]
    return {f"x{j}": as_arrow(column if array.dtype != object else list(column)) for j, column in enumerate(columns)}
