"""Convert a table to a matrix by a `TableEncoder`: its columns have roles, and nothing stops at an odd one.

Roles are learned from a random sample of the rows, in one pass over the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from ravine._io._columns import Warn
from ravine._io._errors import DataError
from ravine._io._table import DELIMITERS, Table, all_names, check_known, listed, no_column
from ravine._matrix import Floats, Ints

if TYPE_CHECKING:
    from ravine.prepare import TableEncoder

SAMPLE_ROWS = 100_000
"""Roles are learned from at most this many rows."""

SEED = 0


@dataclass(frozen=True)
class EncodedColumns:
    """How a fitted encoder converts a table to a matrix.

    Attributes
    ----------
    encoder : TableEncoder
        The fitted encoder.
    """

    encoder: "TableEncoder"
    missing: ClassVar[str] = "encoded"
    fill: ClassVar[None] = None
    dtype: ClassVar[type[np.float64]] = np.float64

    @property
    def used(self) -> tuple[str, ...]:
        """Columns of the table that become columns of the matrix."""
        return tuple(column.name for column in self.encoder.columns_ if column.is_used)

    @property
    def names(self) -> list[str]:
        """Names of the columns of the matrix."""
        return [str(name) for name in self.encoder.get_feature_names_out()]

    def matrix(self, batch: pa.RecordBatch) -> Floats:
        """Convert a batch to numbers; gaps are filled."""
        return self.encoder.transform(batch)


def fit_encoder(
    tables: Sequence[Table],
    *,
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    label: str | None = None,
    roles: Mapping[str, str] | None = None,
    on_rows: Callable[[int], None],
    warn: Warn,
) -> EncodedColumns:
    """Learn the roles of the columns of all tables from a sample of their rows."""
    from ravine.prepare import TableEncoder

    table = tables[0]
    names = read_raw(tables, warn)
    check_known(tables, (*only, *ignore, *(roles or ()), *(() if label is None else (label,))), names)
    if len(names) == 1 and any(mark in names[0] for mark in DELIMITERS):
        raise DataError(f"{table.name}: there is only one column, {names[0]}: check --delimiter")
    left = [name for name in names if name != label]
    asked = {name: role for name, role in (roles or {}).items() if name != label}
    if not left:
        raise DataError(f"{table.name}: there is no column beside {label!r}")
    asked |= {name: "ignore" for name in left if name in ignore or (only and name not in only)}
    n_turned = -1
    while n_turned != (n_turned := sum(len(each.turned) for each in tables)):  # again if a column has become text
        sample = _sampled(tables, left, on_rows)
    if sample is None:
        raise DataError(f"{listed([each.name for each in tables], 3)}: there are no rows")
    return EncodedColumns(TableEncoder(roles=asked or None).fit(sample))


def read_raw(tables: Sequence[Table], warn: Warn, needed: Sequence[str] = ()) -> list[str]:
    """Read all columns of some tables as they are found, and return their names.

    Columns are matched by name. Those that some of the tables lack are gaps there. Whole numbers with zeros in front
    are read as text in all tables.

    Parameters
    ----------
    tables : sequence of Table
    warn : callable
        Called with a message about columns that are missing in some tables, and later about odd cells.
    needed : sequence of str
        Columns that must be there.
    """
    for table in tables:
        table.read_raw(warn)
    names = all_names(tables)
    seen = set(tables[0].schema.names)
    for table in tables[1:]:
        if seen.isdisjoint(table.schema.names):
            raise DataError(
                f"{table.name} shares no column with {tables[0].name}: it has {listed(table.schema.names, 4)}, and not "
                f"{listed(tables[0].schema.names, 4)}; give files of one table, and check that all have a header"
            )
        seen.update(table.schema.names)
    lacking = [name for name in needed if name not in set(names)]
    if lacking:
        raise DataError(f"{tables[0].name}: {no_column(lacking)}; the columns are {listed(names)}")
    _warn_of_gaps(tables, names, warn)
    for name in dict.fromkeys(name for table in tables for name in table.zero_padded()):
        for table in tables:
            table.read_as_text(name)
    return names


def _warn_of_gaps(tables: Sequence[Table], names: Sequence[str], warn: Warn) -> None:
    """Warn in one line of columns that only some of the tables have."""
    known = [set(table.schema.names) for table in tables]
    lacking = {
        name: [table.name for table, there in zip(tables, known, strict=True) if name not in there] for name in names
    }
    said = [f"{name!r} in {listed(files, 2)}" for name, files in lacking.items() if files]
    if said:
        warn(f"columns are missing in some files, and their cells are gaps: {listed(said, 5)}")


def take_rows(tables: Sequence[Table], columns: Sequence[str], numbers: Ints) -> pa.Table:
    """Read some rows again, by their numbers among all rows; the result has them in the order of `numbers`."""
    order = np.argsort(numbers, kind="stable")
    wanted = numbers[order]

    parts, start = [], 0
    for batch in _batches(tables, columns):
        first, last = np.searchsorted(wanted, [start, start + batch.num_rows])
        parts.append(batch.take(pa.array(wanted[first:last] - start)))
        start += batch.num_rows
    found = _joined(parts)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return found.take(pa.array(back))


def _sampled(tables: Sequence[Table], columns: Sequence[str], on_rows: Callable[[int], None]) -> pa.Table | None:
    """Return a random sample of the rows, in their order; None if there are no rows.

    Of the keys drawn for all rows, the sample has the smallest ones.
    """
    random = np.random.default_rng(SEED)
    parts: list[tuple[Floats, pa.RecordBatch]] = []
    n_kept, largest = 0, 1.0
    for batch in _batches(tables, columns):
        on_rows(batch.num_rows)
        keys = random.random(batch.num_rows)
        parts.append(_below(keys, batch, largest))
        n_kept += len(parts[-1][0])
        if n_kept > 2 * SAMPLE_ROWS:
            largest = float(np.partition(np.concatenate([kept for kept, _ in parts]), SAMPLE_ROWS)[SAMPLE_ROWS])
            parts = [_below(*part, largest) for part in parts]
            n_kept = sum(len(kept) for kept, _ in parts)
    keys = np.concatenate([kept for kept, _ in parts]) if parts else np.empty(0)
    if len(keys) > SAMPLE_ROWS:
        largest = float(np.partition(keys, SAMPLE_ROWS)[SAMPLE_ROWS])
        parts = [_below(*part, largest) for part in parts]
    return _joined([batch for _, batch in parts]) if len(keys) else None


def _below(keys: Floats, batch: pa.RecordBatch, largest: float) -> tuple[Floats, pa.RecordBatch]:
    kept = keys < largest
    return (keys, batch) if kept.all() else (keys[kept], batch.filter(pa.array(kept)))


def _batches(tables: Sequence[Table], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from table.batches(columns)


def _joined(batches: list[pa.RecordBatch]) -> pa.Table:
    """Return one table; a column that has several types becomes text, unless it is empty in some batches."""
    types: dict[str, set[pa.DataType]] = {}
    for batch in batches:
        for field in batch.schema:
            types.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, found in types.items() if len(found - {pa.null()}) > 1}
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    for name in mixed:
        tables = [
            table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.string()))
            for table in tables
        ]
    return pa.concat_tables(tables, promote_options="default")
