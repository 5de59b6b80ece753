"""Rows of a `pyarrow.dataset`, read from the files anew in every pass, a batch at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ravine.matrix import Floats, Matrix
from ravine.parts._parts import HeldParts

BATCH_CELLS = 1 << 22
"""Numbers in a batch at most."""

AHEAD = 2
"""Batches that are read ahead."""


def is_arrow_dataset(X: Any) -> bool:
    """Whether something is a dataset of pyarrow, which is not imported for it."""
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "scanner") and hasattr(X, "schema")


def arrow_parts(X: Any, sample_weight: Any, n_jobs: int | None) -> HeldParts:
    """The batches of a dataset all of whose columns are numbers."""
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported for a dataset of files: use a Dask frame")
    names = _numeric_names(X)
    return HeldParts(lambda: ((rows, None) for rows in batches(X)), len(names), names, n_jobs)


def batches(X: Any) -> Iterator[Matrix]:
    """Rows of the dataset, always in the same batches."""
    names = _numeric_names(X)
    size = max(BATCH_CELLS // len(names), 1)
    scanner = X.scanner(columns=names, batch_size=size, batch_readahead=AHEAD, fragment_readahead=1)
    for batch in scanner.to_batches():
        out = np.empty((batch.num_rows, len(names)))
        for j in range(len(names)):
            out[:, j] = _numbers(batch.column(j))
        yield out


def frames_of(X: Any) -> Iterator[Any]:
    """The same batches, with the names of their columns."""
    import pandas as pd

    for rows in batches(X):
        yield pd.DataFrame(rows, columns=X.schema.names)


def _numbers(column: Any) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numeric_names(X: Any) -> list[str]:
    import pyarrow as pa

    for field in X.schema:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)):
            raise ValueError(
                f"column {field.name!r} of the dataset holds {field.type}, not numbers: leave it out, for instance by "
                "dataset.replace_schema"
            )
    if not len(X.schema):
        raise ValueError("the dataset has no columns")
    return [str(name) for name in X.schema.names]
