"""Out-of-core data: rows that do not fit in memory, or that lie on other machines, are read in passes over chunks.

A pass returns a few small arrays; see `ravine._outofcore._reductions`. The result does not depend, to the last bit, on
how the rows are divided into chunks, nor on the order of the chunks.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ravine._outofcore._arrow import arrow_chunks, is_arrow_dataset
from ravine._outofcore._chunks import Chunks, LocalChunks
from ravine._outofcore._dask import dask_chunks, dask_in_order, is_dask
from ravine._outofcore._device import DeviceChunks, check_device_rows
from ravine._outofcore._device_arrays import (
    blocks_on_host,
    empty_like,
    fill_block,
    is_on_device,
    is_tensor,
    moved_beside,
    to_host,
)
from ravine._outofcore._far_cells import without_far_cells
from ravine._outofcore._from_host import CHUNK_BYTES, ChunksFromHost, RowsFromHost, is_from_host
from ravine._outofcore._node import ChunkedNode
from ravine._outofcore._reductions import FetchedRows
from ravine._outofcore._unit_rows import with_unit_rows

__all__ = [
    "CHUNK_BYTES",
    "ChunkedNode",
    "Chunks",
    "ChunksFromHost",
    "DeviceChunks",
    "FetchedRows",
    "LocalChunks",
    "RowsFromHost",
    "blocks_on_host",
    "check_device_rows",
    "chunked_root",
    "chunks_of",
    "empty_like",
    "fill_block",
    "in_order",
    "is_dask",
    "is_from_host",
    "is_on_device",
    "is_out_of_core",
    "is_tensor",
    "moved_beside",
    "tables_of",
    "to_host",
    "with_unit_rows",
    "without_far_cells",
]


def is_out_of_core(X: Any) -> bool:
    """Return whether rows are out of core: a Dask collection, a pyarrow dataset, chunks, or read by a device."""
    return is_dask(X) or is_arrow_dataset(X) or isinstance(X, LocalChunks) or is_on_device(X) or is_from_host(X)


def chunks_of(X: Any, sample_weight: Any = None, n_jobs: int | None = None, copied: bool = False) -> Chunks:
    """Return the chunks of `X`; see `is_out_of_core` for its types.

    If they are read again in every pass, `copied` writes a copy to disk in the first pass.
    """
    if is_on_device(X):
        return DeviceChunks(X, sample_weight)
    if is_from_host(X):
        return ChunksFromHost(X, sample_weight, n_jobs)
    chunks = dask_chunks(X, sample_weight, n_jobs) if is_dask(X) else _local_chunks(X, sample_weight, n_jobs)
    return chunks.copied() if copied and isinstance(chunks, LocalChunks) else chunks


def chunked_root(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> ChunkedNode:
    """Return the node of all rows, computed in two passes; see `is_out_of_core` for the types of `X`."""
    return ChunkedNode.root(chunks_of(X, sample_weight, n_jobs))


def tables_of(X: Any, named: bool) -> Iterator[Any]:
    """Yield the rows of one chunk of files after another: arrays, or frames if `named` and the columns have names."""
    return (rows for rows, _ in _tables(_local_chunks(X, None, None), named))


def in_order(X: Any, sample_weight: Any = None) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number, rows and weights of one chunk after another, without chunks that have no rows or no weight."""
    chunks: Iterator[tuple[Any, Any]]
    if is_on_device(X):
        chunks = _blocks(X, sample_weight)
    else:
        chunks = dask_in_order(X, sample_weight) if is_dask(X) else _tables(_local_chunks(X, sample_weight, None), True)
    for number, (rows, weights) in enumerate(chunks):
        if len(rows) and (weights is None or np.any(weights)):
            yield number, rows, weights


def _blocks(X: Any, sample_weight: Any) -> Iterator[tuple[Any, Any]]:
    weights = to_host(sample_weight) if is_on_device(sample_weight) else sample_weight
    for block, rows in blocks_on_host(X):
        yield rows, None if weights is None else np.asarray(weights)[block]


def _local_chunks(X: Any, sample_weight: Any, n_jobs: int | None) -> LocalChunks:
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported for files or chunks: use a Dask frame, or chunks with weights")
    return arrow_chunks(X, n_jobs) if is_arrow_dataset(X) else X


def _tables(chunks: LocalChunks, named: bool) -> Iterator[tuple[Any, Any]]:
    if not named or chunks.feature_names is None:
        yield from chunks.read()
        return
    import pandas as pd

    for rows, weights in chunks.read():
        yield pd.DataFrame(rows, columns=chunks.feature_names), weights
