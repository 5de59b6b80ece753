"""`predict` and `transform` for out-of-core data, chunk by chunk."""

from copy import copy
from typing import Any

import numpy as np

from ravine._outofcore import is_dask, tables_of


def by_chunks(model: Any, method: str, X: Any, n_columns: int | None, dtype: Any) -> Any:
    """Call a method of a fitted model on out-of-core data; the result is lazy for Dask, and an array for files.

    Parameters
    ----------
    model : fitted estimator
    method : str
        Name of a method that takes rows and returns one number for each row, or `n_columns` numbers.
    """
    if not is_dask(X):
        tables = tables_of(X, named=hasattr(model, "feature_names_in_"))
        results = [getattr(model, method)(rows) for rows in tables if len(rows)]
        shape = (0,) if n_columns is None else (0, n_columns)
        return np.concatenate(results) if results else np.empty(shape, dtype)
    light = copy(model)
    light._drop_labels()
    light.n_jobs = 1  # a Dask task has one thread
    if hasattr(X, "map_partitions"):
        return _of_frame(light, method, X, n_columns, dtype)
    rows = X.rechunk({1: -1})
    if n_columns is None:
        return rows.map_blocks(_of_block, light, method, n_columns, dtype, drop_axis=1, dtype=dtype)
    chunks = (rows.chunks[0], (n_columns,))
    return rows.map_blocks(_of_block, light, method, n_columns, dtype, chunks=chunks, dtype=dtype)


def _of_frame(model: Any, method: str, X: Any, n_columns: int | None, dtype: Any) -> Any:
    import pandas as pd

    if n_columns is None:
        meta: Any = pd.Series(np.empty(0, dtype), name="cluster")
    else:
        meta = pd.DataFrame(np.empty((0, n_columns), dtype), columns=model.get_feature_names_out())
    return X.map_partitions(_of_partition, model, method, meta, meta=meta)


def _of_block(rows: Any, model: Any, method: str, n_columns: int | None, dtype: Any) -> Any:
    if not rows.shape[0]:
        return np.empty((0,) if n_columns is None else (0, n_columns), dtype)
    return getattr(model, method)(rows)


def _of_partition(frame: Any, model: Any, method: str, meta: Any) -> Any:
    import pandas as pd

    if not len(frame):
        return meta
    found = getattr(model, method)(frame)
    if meta.ndim == 1:
        return pd.Series(found, index=frame.index, name=meta.name)
    return pd.DataFrame(np.asarray(found), index=frame.index, columns=meta.columns)
