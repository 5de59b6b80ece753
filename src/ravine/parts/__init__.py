"""Rows that are not in memory at once, or not on this machine: read in passes, part by part.

A pass brings back a few small arrays, see `ravine.parts._steps`. How the rows are spread over parts, and which part
comes first, changes no result, to the last bit.
"""

from collections.abc import Iterator
from typing import Any

from ravine.matrix import Matrix
from ravine.parts._arrow import arrow_parts, batches, frames_of, is_arrow_dataset
from ravine.parts._dask import dask_in_order, dask_parts, is_dask
from ravine.parts._node import PartedNode
from ravine.parts._parts import HeldParts, Parts
from ravine.parts._steps import Lattice, even_rows

__all__ = [
    "HeldParts",
    "Lattice",
    "PartedNode",
    "Parts",
    "arrays_of",
    "even_rows",
    "frames_of",
    "in_order",
    "in_parts",
    "is_arrow_dataset",
    "is_dask",
    "parted_root",
]


def in_parts(X: Any) -> bool:
    """Whether rows are not in memory at once: a Dask collection, a dataset of pyarrow, or parts."""
    return is_dask(X) or is_arrow_dataset(X) or isinstance(X, Parts)


def parted_root(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> PartedNode:
    """The node of all rows, in two passes; see `in_parts`."""
    if isinstance(X, Parts):
        return PartedNode.root(X)
    find_parts = dask_parts if is_dask(X) else arrow_parts
    return PartedNode.root(find_parts(X, sample_weight, n_jobs))


def arrays_of(X: Any) -> Iterator[Matrix]:
    """The rows of one part after the other, of a dataset or of parts."""
    return batches(X) if is_arrow_dataset(X) else (rows for rows, _ in X.read())


def in_order(X: Any, sample_weight: Any = None) -> Iterator[tuple[int, Any, Any]]:
    """The number, rows and weights of one part after the other, as frames where columns have names; empty ones are
    left out."""
    if is_dask(X):
        parts = dask_in_order(X, sample_weight)
    else:
        parts = ((frame, None) for frame in frames_of(X)) if is_arrow_dataset(X) else X.read()
    for number, (rows, weights) in enumerate(parts):
        if len(rows):
            yield number, rows, weights
