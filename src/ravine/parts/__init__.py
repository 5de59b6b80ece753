"""Rows that are not in memory at once, or not on this machine: read in passes, part by part.

A pass brings back a few small arrays, see `ravine.parts._steps`. How the rows are spread over parts, and which part
comes first, changes no result, to the last bit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ravine.parts._arrow import arrow_parts, is_arrow_dataset
from ravine.parts._dask import dask_in_order, dask_parts, is_dask
from ravine.parts._node import PartedNode
from ravine.parts._parts import HeldParts, Parts
from ravine.parts._steps import Lattice, Taken, even_rows

__all__ = [
    "HeldParts",
    "Lattice",
    "PartedNode",
    "Parts",
    "Taken",
    "even_rows",
    "in_order",
    "in_parts",
    "is_dask",
    "parted_root",
    "tables_of",
]


def in_parts(X: Any) -> bool:
    """Whether rows are not in memory at once: a Dask collection, a dataset of pyarrow, or parts."""
    return is_dask(X) or is_arrow_dataset(X) or isinstance(X, HeldParts)


def parted_root(X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> PartedNode:
    """The node of all rows, in two passes; see `in_parts`."""
    if is_dask(X):
        return PartedNode.root(dask_parts(X, sample_weight, n_jobs))
    return PartedNode.root(_held_parts(X, sample_weight, n_jobs))


def tables_of(X: Any, named: bool) -> Iterator[Any]:
    """The rows of one part of files after the other: arrays, or frames where names are wanted and columns have any."""
    return (rows for rows, _ in _tables(_held_parts(X, None, None), named))


def in_order(X: Any, sample_weight: Any = None) -> Iterator[tuple[int, Any, Any]]:
    """The number, rows and weights of one part after the other, without those that have no rows or no weight."""
    parts = dask_in_order(X, sample_weight) if is_dask(X) else _tables(_held_parts(X, sample_weight, None), True)
    for number, (rows, weights) in enumerate(parts):
        if len(rows) and (weights is None or np.any(weights)):
            yield number, rows, weights


def _held_parts(X: Any, sample_weight: Any, n_jobs: int | None) -> HeldParts:
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported for files or parts: give a Dask frame, or parts with weights")
    return arrow_parts(X, n_jobs) if is_arrow_dataset(X) else X


def _tables(parts: HeldParts, named: bool) -> Iterator[tuple[Any, Any]]:
    if not named or parts.feature_names is None:
        yield from parts.read()
        return
    import pandas as pd

    for rows, weights in parts.read():
        yield pd.DataFrame(rows, columns=parts.feature_names), weights
