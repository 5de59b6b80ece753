"""Out-of-core data: rows that do not fit in memory, or that lie on other machines, are read in passes over chunks.

A pass returns a few small arrays, see `ravine._outofcore._reductions`. The result does not depend on how the rows are
divided into chunks, nor on the order of the chunks, to the last bit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ravine._outofcore._arrow import arrow_chunks, is_arrow_dataset
from ravine._outofcore._chunks import Chunks, LocalChunks
from ravine._outofcore._dask import dask_chunks, dask_in_order, is_dask
from ravine._outofcore._node import ChunkedNode
from ravine._outofcore._reductions import FetchedRows, Lattice, even_rows

__all__ = [
    "ChunkedNode",
    "Chunks",
    "FetchedRows",
    "Lattice",
    "LocalChunks",
    "chunked_root",
    "even_rows",
    "in_order",
    "is_dask",
    "is_out_of_core",
    "tables_of",
]


def is_out_of_core(X: Any) -> bool:
    """Whether rows are not in memory at once: a Dask collection, a dataset of pyarrow, or parts."""
    return is_dask(X) or is_arrow_dataset(X) or isinstance(X, LocalChunks)


def chunked_root(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> ChunkedNode:
    """The node of all rows, in two passes; see `is_out_of_core`."""
    if is_dask(X):
        return ChunkedNode.root(dask_chunks(X, sample_weight, n_jobs))
    return ChunkedNode.root(_local_chunks(X, sample_weight, n_jobs))


def tables_of(X: Any, named: bool) -> Iterator[Any]:
    """The rows of one part of files after the other: arrays, or frames where names are wanted and columns have any."""
    return (rows for rows, _ in _tables(_local_chunks(X, None, None), named))


def in_order(X: Any, sample_weight: Any = None) -> Iterator[tuple[int, Any, Any]]:
    """The number, rows and weights of one part after the other, without those that have no rows or no weight."""
    parts = dask_in_order(X, sample_weight) if is_dask(X) else _tables(_local_chunks(X, sample_weight, None), True)
    for number, (rows, weights) in enumerate(parts):
        if len(rows) and (weights is None or np.any(weights)):
            yield number, rows, weights


def _local_chunks(X: Any, sample_weight: Any, n_jobs: int | None) -> LocalChunks:
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported for files or parts: give a Dask frame, or parts with weights")
    return arrow_chunks(X, n_jobs) if is_arrow_dataset(X) else X


def _tables(parts: LocalChunks, named: bool) -> Iterator[tuple[Any, Any]]:
    if not named or parts.feature_names is None:
        yield from parts.read()
        return
    import pandas as pd

    for rows, weights in parts.read():
        yield pd.DataFrame(rows, columns=parts.feature_names), weights
