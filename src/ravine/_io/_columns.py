"""Convert a table to a matrix: choose columns, encode words, and handle missing values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ravine._io._errors import DataError
from ravine._io._table import OnBytes, Table, check_known, listed, no_column
from ravine._matrix import Floats

MissingRule = Literal["error", "drop", "mean"]

MOST_CATEGORIES = 100
"""Largest number of distinct words in an encoded column. A column with more is free text or an identifier."""

Warn = Callable[[str], None]


class TableColumns(Protocol):
    """How to convert a table to a matrix: `Columns` of numbers as they are, or `EncodedColumns`."""

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the table that become columns of the matrix."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the columns of the matrix."""
        ...

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the matrix."""
        ...

    @property
    def missing(self) -> str:
        """What to do with rows that have missing or infinite values after `matrix`."""
        ...

    @property
    def fill(self) -> tuple[float, ...] | None:
        """Replacement for missing values, for each column of the matrix."""
        ...

    def matrix(self, batch: pa.RecordBatch) -> Floats:
        """Convert a batch to numbers."""
        ...


@dataclass(frozen=True)
class Columns:
    """How to convert the columns of numbers of a table to a matrix.

    Attributes
    ----------
    used : tuple of str
        Columns of the table to use, in the order of the table.
    categories : mapping from str to tuple of str
        Words of the columns that are not numbers. Each word becomes a column of zeros and ones.
    missing : {"error", "drop", "mean"}
        What to do with rows that have missing or infinite values.
    fill : tuple of float, optional
        Replacement for missing values, for each column of the matrix.
    single : bool
        Whether float32 can represent all the numbers.
    """

    used: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]
    missing: MissingRule = "error"
    fill: tuple[float, ...] | None = None
    single: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the columns of the matrix."""
        return [name for column in self.used for name in self._names_of(column)]

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the matrix."""
        return np.float32 if self.single else np.float64

    def _names_of(self, column: str) -> list[str]:
        return [f"{column}={word}" for word in self.categories[column]] if column in self.categories else [column]

    def matrix(self, batch: pa.RecordBatch) -> Floats:
        """Convert a batch to numbers. Missing values are NaN."""
        X = np.empty((batch.num_rows, len(self.names)), dtype=self.dtype)
        numbers = _numbers(batch, [name for name in self.used if name not in self.categories])
        j = 0
        for column in self.used:
            words = self.categories.get(column)
            if words is None:
                X[:, j] = numbers[column]
                j += 1
                continue
            X[:, j : j + len(words)] = _indicators(batch.column(column), words)
            j += len(words)
        return X

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, for the notes of a saved model."""
        return {
            "used": list(self.used),
            "categories": {column: list(words) for column, words in self.categories.items()},
            "missing": self.missing,
            "fill": None if self.fill is None else list(self.fill),
            "single": self.single,
        }

    @classmethod
    def from_dict(cls, record: Any) -> "Columns":
        """Restore from the result of `to_dict`. Raises ValueError if it is damaged."""
        try:
            used = tuple(str(name) for name in record["used"])
            categories = {str(c): tuple(map(str, words)) for c, words in record["categories"].items()}
            fill = None if record["fill"] is None else tuple(map(float, record["fill"]))
            columns = cls(used, categories, record["missing"], fill, bool(record["single"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the description of the columns is damaged: {error!r}") from None
        if columns.missing not in get_args(MissingRule) or (fill is not None and len(fill) != len(columns.names)):
            raise ValueError("the description of the columns is damaged")
        return columns


@dataclass(frozen=True)
class Block:
    """A block of rows of a table.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_columns)
    kept : ndarray of bool of shape (n_samples,)
        Which rows of the table are in `X`.
    label : list, optional
        Labels of the rows in `X`, if the table has a label column.
    beside : pyarrow.RecordBatch, optional
        Other columns of all rows of the table, such as identifiers.
    """

    X: Floats
    kept: Any
    label: list[Any] | None = None
    beside: pa.RecordBatch | None = None


def choose_columns(
    tables: Sequence[Table],
    *,
    only: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
    encode: bool = False,
    missing: MissingRule = "error",
    warn: Warn,
) -> Columns:
    """Choose the columns of the first table that are numbers or Booleans and, with `encode`, also words.

    `warn` is called with a message about the columns that are left out. `measure_columns` collects the words later.
    """
    table = tables[0]
    schema, names = table.schema, table.schema.names
    known = set(names)
    check_known(tables, (*only, *drop, *(() if label is None else (label,))), names)
    left = (known if not only else set(only)).difference(drop, [] if label is None else [label])
    wanted = [f for f in schema if f.name in left]
    numbers = {f.name for f in wanted if _is_numeric(f.type)}
    words = dict.fromkeys(f.name for f in wanted if encode and _is_text(f.type))
    left_out = [f.name for f in wanted if f.name not in numbers and f.name not in words]
    if left_out:
        remedy = "" if encode else "; use --encode to encode words as columns of zeros and ones"
        warn(f"columns left out because they are not numbers: {listed(left_out)}{remedy}")
    if not numbers and not words:
        raise DataError(
            f"{table.name}: none of the columns {listed(names)} contains numbers: check --delimiter and --decimal"
        )
    single = not words and all(_fits_single(f.type) for f in wanted if f.name in numbers)
    used = tuple(f.name for f in wanted if f.name in numbers or f.name in words)
    _check_others(tables, [*used, *([] if label is None else [label])], numbers)
    return Columns(used, dict.fromkeys(words, ()), missing, single=single)


def _check_others(tables: Sequence[Table], needed: Sequence[str], numbers: set[str]) -> None:
    """Raise DataError that names all columns of the first table that the other tables lack, or have as words."""
    complaints = []
    for table in tables[1:]:
        kinds = {f.name: f.type for f in table.schema}
        lacking = [name for name in needed if name not in kinds]
        words = [repr(name) for name in needed if name in numbers & set(kinds) and not _is_numeric(kinds[name])]
        said = [no_column(lacking)] if lacking else []
        said += [f"there are words in {listed(words)}"] if words else []
        complaints += [f"{table.name}: {' and '.join(said)}"] if said else []
    if complaints:
        raise DataError(
            f"the files do not have the same columns of numbers as {tables[0].name}: {_several(complaints)}; leave "
            "such columns out with --drop"
        )


def _several(complaints: list[str], most: int = 3) -> str:
    more = f"; and {len(complaints) - most} more files" if len(complaints) > most else ""
    return "; ".join(complaints[:most]) + more


def measure_columns(tables: Sequence[Table], columns: Columns, on_rows: Callable[[int], None]) -> Columns:
    """Collect the words of each column, and the means that replace missing values, in one pass."""
    if not columns.categories and columns.missing != "mean":
        return columns
    words: dict[str, dict[str, int]] = {column: {} for column in columns.categories}
    numbers = [name for name in columns.used if name not in words]
    count, total, n_rows = np.zeros(len(numbers)), np.zeros(len(numbers)), 0
    for table in tables:
        for batch in table.batches(columns.used):
            n_rows += batch.num_rows
            on_rows(batch.num_rows)
            for column, seen in words.items():
                for entry in pc.value_counts(_as_text(batch.column(column)).drop_null()):
                    word = entry["values"].as_py()
                    seen[word] = seen.get(word, 0) + entry["counts"].as_py()
                if len(seen) > MOST_CATEGORIES:
                    raise DataError(
                        f"{table.name}: column {column!r} has more than {MOST_CATEGORIES} different words: "
                        f"leave out the column with --drop {column}"
                    )
            X = np.column_stack([np.empty((batch.num_rows, 0)), *_numbers(batch, numbers).values()])
            known = np.isfinite(X)
            count += known.sum(axis=0)
            total += np.where(known, X, 0.0).sum(axis=0)
    mean = dict(zip(numbers, total / np.maximum(count, 1), strict=True))
    fill = []
    for column in columns.used:
        if column in words:
            known_words = sum(words[column].values())
            fill += [words[column][word] / max(known_words, 1) for word in sorted(words[column])]
        else:
            fill.append(mean[column])
    categories = {column: tuple(sorted(seen)) for column, seen in words.items()}
    return replace(columns, categories=categories, fill=tuple(fill) if columns.missing == "mean" else None)


def read_blocks(
    tables: Sequence[Table],
    columns: TableColumns,
    label: str | None = None,
    on_rows: Callable[[int], None] | None = None,
    on_bytes: OnBytes | None = None,
    beside: Sequence[str] = (),
) -> Iterator[Block]:
    """Iterate over the rows of all tables in blocks.

    With ``missing="error"``, a missing value raises DataError, after all rows with missing values have been counted.
    """
    wanted = list(dict.fromkeys([*columns.used, *([] if label is None else [label]), *beside]))
    names = columns.names
    types = _common_types(tables, beside)
    first, n_bad, n_seen, n_kept = "", 0, 0, 0
    for table in tables:
        for batch in table.batches(wanted, on_bytes):
            X = columns.matrix(batch)
            known = np.isfinite(X)
            whole = known.all(axis=1)
            if not whole.all():
                if columns.missing == "error" and not n_bad:
                    first = _where(table, n_seen, whole, known, X, names)
                n_bad += int((~whole).sum())
            n_seen += batch.num_rows
            if on_rows is not None:
                on_rows(batch.num_rows)
            if columns.missing == "error" and n_bad:
                continue
            if columns.fill is not None:
                X = np.where(known, X, np.array(columns.fill, dtype=X.dtype))
                whole = np.ones(len(X), dtype=bool)
            n_kept += int(whole.sum())
            classes = None if label is None else _labels(batch.column(label), whole, label in table.turned)
            others = _cast(batch.select(list(beside)), types) if beside else None
            yield Block(X if whole.all() else X[whole], whole, classes, others)
    if columns.missing == "error" and n_bad:
        rows = f"{n_bad:,} rows have" if n_bad > 1 else "1 row has"
        raise DataError(
            f"{rows} missing or infinite values, first {first}: use --missing drop to leave out such rows, or "
            "--missing mean to fill in column means"
        )
    if n_seen == 0:
        raise DataError(f"{listed([table.name for table in tables], 3)}: there are no rows")
    if n_kept == 0:
        raise DataError(
            "every row has a missing value: use --missing mean to fill in column means, or leave columns out with "
            "--drop"
        )


def _where(table: Table, n_before: int, whole: Any, known: Any, X: Floats, names: list[str]) -> str:
    row = int(np.argmin(whole))
    column = int(np.argmin(known[row]))
    what = "a missing or unknown value" if np.isnan(X[row, column]) else "an infinite value"
    return f"in row {n_before + row} (counted from 0) of {table.name}, {what} in column {names[column]!r}"


def _common_types(tables: Sequence[Table], columns: Sequence[str]) -> dict[str, pa.DataType]:
    """Return the type of each column, which is text if the tables do not agree."""
    found = {name: {kind for table in tables if (kind := table.type_of(name)) is not None} for name in columns}
    return {name: kinds.pop() if len(kinds) == 1 else pa.string() for name, kinds in found.items()}


def _cast(batch: pa.RecordBatch, types: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """Return a batch with these types. A column that is read as text since an odd cell stays text."""
    names = batch.schema.names
    cells = [
        values if pa.types.is_string(values.type) else values.cast(types[name])
        for name, values in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(cells, names)


def _labels(values: Any, kept: Any, is_turned: bool) -> list[Any]:
    """Classes of the kept rows. Whole numbers that were read as floating-point numbers become integers.

    So do numbers in a column that is read as text since an odd cell: the rows above it have numbers.
    """
    classes = values.to_pylist()
    if is_turned and pa.types.is_string(values.type):
        classes = [_number_or_word(value) for value in classes]
    elif pa.types.is_floating(values.type):
        classes = [int(value) if value is not None and value.is_integer() else value for value in classes]
    return classes if kept.all() else [value for value, keep in zip(classes, kept.tolist(), strict=True) if keep]


def _number_or_word(text: str | None) -> int | float | str | None:
    try:
        number = float(text) if text is not None else np.nan
    except ValueError:
        return text
    return text if not np.isfinite(number) else int(number) if number.is_integer() else number


def _numbers(batch: pa.RecordBatch, columns: Sequence[str]) -> dict[str, Floats]:
    """Return columns as numbers. Raises DataError that names all columns that are not numbers."""
    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
    found, bad = {}, []
    for name in columns:
        values = by_name[name]
        is_whole = pa.types.is_integer(values.type)  # the table has rejected integers that would be rounded
        try:
            numbers = values.cast(pa.float64(), safe=not is_whole).to_numpy(zero_copy_only=False)
        except pa.ArrowException:
            bad.append(f"{name!r} ({values.type})")
            continue
        found[name] = np.asarray(numbers, dtype=np.float64)
    if bad:
        what = "column" if len(bad) == 1 else "columns"
        raise DataError(f"{what} {listed(bad)} with values that are not numbers: leave out the {what}")
    return found


def _indicators(values: Any, words: Sequence[str]) -> Floats:
    """One column of zeros and ones for each word; NaN if the word is missing or unknown."""
    place = pc.index_in(_as_text(values), value_set=pa.array(words, pa.string()), skip_nulls=True)
    index = np.asarray(pc.fill_null(place, -1).to_numpy(zero_copy_only=False))
    out = (index[:, np.newaxis] == np.arange(len(words))).astype(np.float64)
    out[index < 0] = np.nan
    return out


def _as_text(values: Any) -> Any:
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    return values.cast(pa.string())


def _is_numeric(kind: pa.DataType) -> bool:
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numeric)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(kind) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _fits_single(kind: pa.DataType) -> bool:
    small = (pa.types.is_float32, pa.types.is_float16, pa.types.is_boolean, pa.types.is_int8, pa.types.is_uint8)
    return any(is_kind(kind) for is_kind in (*small, pa.types.is_int16, pa.types.is_uint16))
