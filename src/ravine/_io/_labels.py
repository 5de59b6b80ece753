"""Write the labels of a table to a file: one line for each row, with its number, its identifiers and its cluster."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ravine._io._errors import UsageError
from ravine._matrix import Ints

ROW, CLUSTER = pa.field("row", pa.int64()), pa.field("cluster", pa.int32())
KINDS = (".csv", ".parquet")


class BesideChangedError(ValueError):
    """A column beside the labels has become text, and the file cannot hold two types."""


class LabelWriter:
    """Write labels batch by batch. A row that was left out has no cluster.

    Columns beside the labels may become text further down. CSV takes that; for Parquet, `add` raises
    BesideChangedError.

    Parameters
    ----------
    path : Path or None
        File; None is standard output.
    kind : {".csv", ".parquet"}
    """

    def __init__(self, path: Path | None, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._n_rows = 0
        self._schema = pa.schema([ROW, CLUSTER])
        self._writer: Any = None
        self._target: Any = None

    def add(self, labels: Ints, kept: Any, beside: pa.RecordBatch | None = None) -> None:
        """Write the next rows. `labels` are the clusters of the kept rows; `beside` has other columns to write."""
        cluster = np.zeros(len(kept), dtype=np.int32)
        cluster[kept] = labels
        number = np.arange(self._n_rows, self._n_rows + len(kept))
        self._n_rows += len(kept)
        fields, columns = ([], []) if beside is None else (list(beside.schema), list(beside.columns))
        schema = pa.schema([ROW, *(field.with_nullable(True) for field in fields), CLUSTER])
        if self._writer is None or schema != self._schema:  # create the file only when there is something to write
            is_first, self._schema = self._writer is None, schema
            self._writer = self._open(is_first)
        columns = [pa.array(number), *columns, pa.array(cluster, mask=~kept)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

    def _open(self, is_first: bool) -> Any:
        if self._kind == ".parquet":
            if not is_first:
                raise BesideChangedError(f"the types of {self._schema.names} have changed")
            return pa.parquet.ParquetWriter(self._path, self._schema)
        if not is_first:
            self._writer.close()
        if self._target is None:
            self._target = sys.stdout.buffer if self._path is None else open(self._path, "wb")  # noqa: SIM115
        is_plain = all(name.isprintable() and not set(name) & set(',"') for name in self._schema.names)
        options = pa.csv.WriteOptions(include_header=is_first, quoting_header="none" if is_plain else "needed")
        return pa.csv.CSVWriter(self._target, self._schema, write_options=options)

    def __enter__(self) -> "LabelWriter":
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._target is not None and self._path is not None:
            self._target.close()


def label_kind(path: str) -> str:
    """Return the format of the labels from the name of the file."""
    suffix = Path(path).suffix.lower()
    if path != "-" and suffix not in KINDS:
        raise UsageError(f"--out {path}: give the name of a {' or '.join(KINDS)} file, or - for standard output")
    return suffix if path != "-" else ".csv"
