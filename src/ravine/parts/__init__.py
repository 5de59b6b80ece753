"""Rows that are not in memory at once, or not on this machine: read in passes, part by part.

A pass brings back a few small arrays, see `ravine.parts._steps`. How the rows are spread over parts, and which part
comes first, changes no result, to the last bit.
"""

from typing import Any

from ravine.parts._arrow import arrow_parts, batches, is_arrow_dataset
from ravine.parts._dask import dask_parts, is_dask
from ravine.parts._node import PartedNode
from ravine.parts._parts import HeldParts, Parts
from ravine.parts._steps import Lattice, even_rows

__all__ = [
    "HeldParts",
    "Lattice",
    "PartedNode",
    "Parts",
    "batches",
    "even_rows",
    "is_arrow_dataset",
    "is_dask",
    "parted_root",
    "parts_of",
]


def parted_root(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> PartedNode | None:
    """The node of all rows of a Dask collection or a dataset of files; None for rows in memory."""
    parts = parts_of(X, sample_weight, n_jobs)
    return None if parts is None else PartedNode.root(parts)


def parts_of(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Parts | None:
    """The parts of a Dask collection or a dataset of pyarrow; None for rows in memory."""
    if is_dask(X):
        return dask_parts(X, sample_weight, n_jobs)
    return arrow_parts(X, sample_weight, n_jobs) if is_arrow_dataset(X) else None
