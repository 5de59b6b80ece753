"""Checks of the state that an estimator restores from a file; a ValueError names the invalid field."""

import reprlib
from typing import Any

import numpy as np

from ravine._matrix import LARGEST, Floats, Ints


def saved_fields(state: Any, *names: str) -> list[Any]:
    """Return the fields of a saved state, which must be exactly these."""
    if not isinstance(state, dict) or state.keys() != set(names):
        found = sorted(state) if isinstance(state, dict) else type(state).__name__
        raise ValueError(f"the state needs the fields {sorted(names)}; it has {reprlib.repr(found)}")
    return [state[name] for name in names]


def saved_floats(array: Any, name: str, shape: tuple[int | None, ...], least: float = -np.inf) -> Floats:
    """Check an array of finite float64 of this shape (None for any length), with no entry below `least`."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != len(shape):
        raise ValueError(f"field {name!r} must be an array of float64 with {len(shape)} dimensions")
    if any(asked is not None and length != asked for length, asked in zip(array.shape, shape, strict=True)):
        raise ValueError(f"field {name!r} has shape {array.shape}, not {shape}")
    if not np.isfinite(array).all() or (array < least).any():
        raise ValueError(f"field {name!r} has an entry that is not finite or is below {least:g}")
    return array


def saved_ints(array: Any, name: str, length: int | None, least: int, largest: int) -> Ints:
    """Check a one-dimensional array of integers from `least` to `largest`, of this length if one is given."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.ndim != 1:
        raise ValueError(f"field {name!r} must be a one-dimensional array of integers")
    if (length is not None and len(array) != length) or not len(array):
        raise ValueError(f"field {name!r} has {len(array)} entries, not {length or 'at least one'}")
    if not ((array >= least) & (array <= largest)).all():
        raise ValueError(f"field {name!r} has an entry outside {least} to {largest}")
    return array.astype(np.int64)


def saved_rows(array: Any, name: str, n_columns: int) -> Floats:
    """Check a matrix of rows: float64, at least one row, this number of columns, no entry too large."""
    rows = saved_floats(array, name, (None, n_columns))
    if not len(rows) or not (np.abs(rows) <= LARGEST).all():
        raise ValueError(f"field {name!r} has no rows, or an entry that is far too large")
    return rows
