"""A user's table as plain columns: numbers, dates, truth values and categories, with gaps.

A table is a dict of arrays, a frame of pandas or Polars, a table of pyarrow, or a matrix with names. None of these
packages is imported here: each kind is recognized by its methods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._names import shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

YES, NO = "yes", "no"
"""Levels of a column of truth values, as people read them."""

GAP_TYPES = ("NAType", "NaTType")
"""Types of the values with which pandas marks a gap."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column: its name, its kind, and either numbers (NaN is a gap) or codes of levels (-1 is a gap).

    Dates are numbers, too: microseconds since 1970. Levels are in the order of their names.
    """

    name: str
    kind: str
    numbers: Floats | None = None
    codes: Ints | None = None
    levels: tuple[str, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether the column has numbers or dates."""
        return self.numbers is not None

    @cached_property
    def is_gap(self) -> NDArray[np.bool_]:
        """Whether the value of each row is missing."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return self.codes_of_levels < 0

    @property
    def values(self) -> Floats:
        """The numbers of a column that is ordered."""
        assert self.numbers is not None
        return self.numbers

    @property
    def codes_of_levels(self) -> Ints:
        """The codes of a column that is not ordered."""
        assert self.codes is not None
        return self.codes

    def __len__(self) -> int:
        return len(self.values) if self.is_ordered else len(self.codes_of_levels)


def columns_of(table: Any, feature_names: Sequence[str] | None = None) -> list[Column]:
    """Return the columns of a table; raise an error that names what cannot be read.

    Parameters
    ----------
    table : dict of arrays, frame of pandas or Polars, table of pyarrow, or matrix
        Values of all rows.
    feature_names : sequence of str, optional
        Names of the columns of a matrix; x0, x1 and so on by default.

    Returns
    -------
    columns : list of Column
        In the order of the table.
    """
    pairs = _pairs(table, feature_names)
    names = [name for name, _ in pairs]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"the table has two columns named {shown(twice)!r}: rename one of them")
    columns = [column_of(name, array) for name, array in pairs]
    for column in columns[1:]:
        if len(column) != len(columns[0]):
            raise ValueError(
                f"the column {shown(column.name)!r} has {len(column)} values, but {shown(columns[0].name)!r} has "
                f"{len(columns[0])}"
            )
    return columns


def _pairs(table: Any, feature_names: Sequence[str] | None) -> list[tuple[str, Any]]:
    if feature_names is None:
        if isinstance(table, Mapping):
            return [(str(name), values) for name, values in table.items()]
        if hasattr(table, "column_names"):  # pyarrow
            return [(str(name), table.column(j)) for j, name in enumerate(table.column_names)]
        if hasattr(table, "iloc"):  # pandas, where two columns may have one name
            return [(str(name), table.iloc[:, j]) for j, name in enumerate(table.columns)]
        if hasattr(table, "get_columns"):  # Polars
            return [(str(series.name), series) for series in table.get_columns()]
    elif isinstance(table, Mapping) or hasattr(table, "columns") or hasattr(table, "column_names"):
        raise TypeError("feature_names are for a matrix: this table has names of its own")
    rows = np.asarray(table)
    if rows.ndim != 2:
        raise TypeError(
            f"table is of type {type(table).__name__} with {rows.ndim} dimensions: pass a dict of arrays, a frame, or "
            "a matrix with feature_names"
        )
    names = [f"x{j}" for j in range(rows.shape[1])] if feature_names is None else [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(f"feature_names has {len(names)} entries, but the table has {rows.shape[1]} columns")
    return [(name, rows[:, j]) for j, name in enumerate(names)]


def column_of(name: str, array: Any) -> Column:
    """Return a column from an array of NumPy, pandas, Polars or pyarrow, or from a list."""
    values = _as_numpy(array)
    if values.ndim != 1:
        raise ValueError(f"the column {shown(name)!r} has {values.ndim} dimensions: pass one value for each row")
    kind = values.dtype.kind
    if kind == "b":
        return Column(name, "boolean", codes=values.astype(np.int64), levels=(NO, YES))
    if kind in "iuf":
        return Column(name, "number", numbers=values.astype(np.float64))
    if kind == "M":
        return Column(name, "date", numbers=_microseconds(values))
    if kind in "mc":
        what = "durations" if kind == "m" else "complex numbers"
        raise TypeError(f"the column {shown(name)!r} holds {what}: convert them to numbers")
    return _from_objects(name, values.astype(object).tolist())


def _as_numpy(array: Any) -> NDArray[Any]:
    """Return the values as an array of NumPy, with gaps as NaN, NaT or None."""
    if isinstance(array, np.ma.MaskedArray):
        values = np.array(array.data, dtype=object)
        values[np.ma.getmaskarray(array)] = None
        return values
    dtype = getattr(array, "dtype", None)
    if isinstance(array, np.ndarray) or dtype is None:
        if isinstance(array, np.ndarray):
            return array
        if hasattr(array, "to_pylist"):  # pyarrow, whose dictionaries lose their gaps in to_numpy
            return _objects(array.to_pylist()) if str(array.type).startswith("dictionary") else array.to_numpy()
        return _objects(list(array))
    if hasattr(array, "iloc"):  # pandas
        if hasattr(dtype, "categories"):  # also of numbers
            return _objects([value if _is_gap(value) else str(value) for value in array.tolist()])
        kind = getattr(dtype, "kind", "O")
        if kind == "M":  # a time zone makes objects otherwise
            return np.asarray(array.to_numpy(dtype="datetime64[us]"))
        if kind in "iuf" and array.hasnans:
            return np.asarray(array.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(array.to_numpy())
    return np.asarray(array.to_numpy())


def _objects(values: list[Any]) -> NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _microseconds(values: NDArray[Any]) -> Floats:
    values = values.astype("datetime64[us]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64).astype(np.float64))


def _from_objects(name: str, values: list[Any]) -> Column:
    """Find the kind of a column of Python objects: all numbers, all dates, all truth values, or else categories."""
    distinct_types = {type(value) for value in values}
    gap_types = {kind for kind in distinct_types if kind is type(None) or kind.__name__ in GAP_TYPES}
    kinds = distinct_types - gap_types
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        codes = np.array([-1 if type(value) in gap_types else int(value) for value in values], dtype=np.int64)
        return Column(name, "boolean", codes=codes, levels=(NO, YES))
    if all(issubclass(kind, Real | Decimal) and not issubclass(kind, bool) for kind in kinds):
        numbers = [np.nan if type(value) in gap_types else float(value) for value in values]
        return Column(name, "number", numbers=np.array(numbers, dtype=np.float64))
    if all(issubclass(kind, date | np.datetime64) for kind in kinds - {float}):
        days = [None if type(value) in gap_types or value != value else _naive(value) for value in values]
        return Column(name, "date", numbers=_microseconds(np.array(days, dtype="datetime64[us]")))
    is_text = kinds == {str} and gap_types <= {type(None)}
    texts = values if is_text else [None if _is_gap(value) else str(value) for value in values]
    levels = sorted(text for text in set(texts) if text is not None)
    code_of = {None: -1, **{level: code for code, level in enumerate(levels)}}
    codes = np.fromiter(map(code_of.__getitem__, texts), dtype=np.int64, count=len(texts))
    return Column(name, "category", codes=codes, levels=tuple(levels))


def _naive(value: Any) -> Any:
    """Return a time without its time zone, in UTC."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return (value - value.utcoffset()).replace(tzinfo=None)


def _is_gap(value: Any) -> bool:
    if value is None or type(value).__name__ in GAP_TYPES:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def labels_of(labels: Any, n_rows: int) -> Ints:
    """Return the labels of the rows as integers; raise ValueError if they are none, or not one for each row."""
    found = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    if found.ndim != 1 or len(found) != n_rows:
        raise ValueError(f"labels has shape {found.shape}, but the table has {n_rows} rows: pass one label for each")
    if found.dtype.kind == "f" and np.array_equal(found, np.round(found)):
        found = found.astype(np.int64)
    if not len(found):
        return np.empty(0, dtype=np.int64)
    if found.dtype.kind not in "iu":
        raise ValueError("labels must be integers, with -1 for rows that belong to no cluster")
    if found.min() < -1:
        raise ValueError(f"labels has {found.min()}: clusters are 0 or more, and -1 marks rows that belong to none")
    return found.astype(np.int64)
