"""The rows of the input files, which can be read several times."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ravine._io import (
    Block,
    DataError,
    EncodedColumns,
    MissingRule,
    Table,
    TableColumns,
    TextFormat,
    UsageError,
    all_names,
    check_known,
    choose_columns,
    fit_encoder,
    measure_columns,
    open_tables,
    read_blocks,
    take_rows,
)
from ravine._matrix import Floats
from ravine.cli._screen import Screen
from ravine.cli._system import memory_of_the_machine

if TYPE_CHECKING:
    from ravine.report import ReportData

pa.enable_signal_handlers(False)  # the command handles interruptions itself


class _NoPandas(MetaPathFinder):
    """Makes imports of pandas fail."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def keep_pandas_out() -> None:
    """Keep pyarrow from importing pandas in a command that needs no frames.

    At its first conversion, pyarrow imports pandas if it is installed, to recognize its objects. That takes longer than
    to label a small file. It looks for pandas once, and again when a frame is asked for. If pandas is imported already,
    nothing is done.
    """
    if "pandas" in sys.modules:
        return
    hidden = _NoPandas()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array(np.zeros(1)).to_numpy()
    finally:
        sys.meta_path.remove(hidden)


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table.

    Attributes
    ----------
    columns, drop : tuple of str
        Columns to use, and columns not to use.
    label : str, optional
        Column of known classes.
    encode, missing : bool, str
        What to do with words and with missing values in a plain table.
    text : TextFormat
    sheet : str, optional
        Sheet of the workbooks.
    roles : mapping, optional
        Roles of some columns by name.
    keep : tuple of str, optional
        Columns to write beside the labels. Default: the first identifier, and none of a plain table.
    plain : bool
        Use the columns of numbers as they are. Otherwise, a `TableEncoder` finds the role of each column.
    """

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    label: str | None
    encode: bool
    missing: MissingRule
    text: TextFormat
    sheet: str | None = None
    roles: Mapping[str, str] | None = None
    keep: tuple[str, ...] | None = None
    plain: bool = True


@dataclass(frozen=True)
class Data:
    """The tables of a command, and how their rows become numbers.

    Attributes
    ----------
    tables : sequence of Table
    columns : TableColumns
    label : str, optional
        Column of known classes.
    screen : Screen
    keep : tuple of str
        Columns to write beside the labels.
    """

    tables: Sequence[Table]
    columns: TableColumns
    label: str | None
    screen: Screen
    keep: tuple[str, ...] = ()

    @property
    def encoder(self) -> Any:
        """The fitted `TableEncoder`, None for a plain table."""
        return self.columns.encoder if isinstance(self.columns, EncodedColumns) else None

    @property
    def name(self) -> str:
        """Name of the data for a title."""
        first = self.tables[0].name
        return os.path.basename(first) if len(self.tables) == 1 else f"{os.path.basename(first)} and more"

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if the files record it."""
        counts = [table.n_rows for table in self.tables]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)

    def blocks(self, what: str, with_label: bool = False) -> Iterator[Block]:
        """Iterate over all rows in blocks, with a progress bar of rows, or of bytes if the number is not known.

        `with_label` also reads the classes, and the columns that are written beside the labels.
        """
        by_rows = self.n_rows is not None
        with self.screen.progress(what, self.n_rows if by_rows else self._n_bytes) as meter:

            def on_rows(n_rows: int) -> None:
                meter.count(n_rows)
                if by_rows:
                    meter.step(n_rows)

            label, keep = (self.label, self.keep) if with_label else (None, ())
            on_bytes = None if by_rows else meter.step
            yield from read_blocks(self.tables, self.columns, label, on_rows, on_bytes, keep)

    def arrays(self) -> Iterator[Floats]:
        """Iterate over all rows in blocks."""
        return (block.X for block in read_blocks(self.tables, self.columns))

    def with_table(self, rows: "ReportData") -> "ReportData":
        """Return the rows of a report with the values of all columns of the table, read once more for the sample."""
        there = set(all_names(self.tables))  # of a new table, columns that are not used may be missing
        names = [column.name for column in self.encoder.columns_ if column.name in there]
        values = self.encoder.values(take_rows(self.tables, names, rows.number))
        units = {column.name: column.affixes for column in self.encoder.columns_ if column.unit}
        identifier = self.encoder.identifier_
        return rows.with_table(values, identifier if identifier in values else None, units, self.encoder.summary())

    @property
    def _n_bytes(self) -> int:
        return sum(table.path.stat().st_size for table in self.tables)

    def matrix(self, what: str) -> tuple[Floats, list[Any]]:
        """All rows, and their classes if there is a label column. Raises TooLargeError if memory is too small."""
        self._check_memory(self.n_rows or 0)
        blocks: list[Floats] = []
        classes: list[Any] = []
        n_rows = 0
        for block in self.blocks(what, with_label=True):
            blocks.append(block.X)
            classes += block.label or []
            n_rows += len(block.X)
            self._check_memory(n_rows)
        return stacked(blocks), classes

    def _check_memory(self, n_rows: int) -> None:
        n_bytes = n_rows * len(self.columns.names) * np.dtype(self.columns.dtype).itemsize
        memory = memory_of_the_machine()
        if 2 * n_bytes > memory:
            raise TooLargeError(
                f"{self.name} has more than {n_bytes / 1e9:.1f} GB of numbers, and twice that much memory is needed, "
                f"but this machine has {memory / 1e9:.1f} GB: use ravine cluster, which can read the files in passes"
            )


class TooLargeError(DataError):
    """The rows do not fit into memory."""


def stacked(blocks: list[Floats]) -> Floats:
    """Stack the blocks into one array. The list is emptied, to free the memory of each block once it is copied."""
    X = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), dtype=blocks[0].dtype)
    start = 0
    while blocks:
        block = blocks.pop(0)
        X[start : start + len(block)] = block
        start += len(block)
    return X


@contextmanager
def open_data(where: Sequence[str], options: TableOptions, screen: Screen) -> Iterator[Data]:
    """Open the input files and choose their usable columns."""
    with open_tables(where, options.text, sheet=options.sheet, note=screen.note) as tables:
        if not options.plain:
            yield _encoded(tables, options, screen)
            return
        columns = choose_columns(
            tables,
            only=options.columns,
            drop=options.drop,
            label=options.label,
            encode=options.encode,
            missing=options.missing,
            warn=screen.warn,
        )
        with screen.progress("reading the columns", None) as meter:
            columns = measure_columns(tables, columns, meter.count)
        yield Data(tables, columns, options.label, screen, _checked(tables, options.keep or ()))


def _encoded(tables: Sequence[Table], options: TableOptions, screen: Screen) -> Data:
    """Learn the roles of the columns."""
    with screen.progress("looking at the columns", None) as meter:
        columns = fit_encoder(
            tables,
            only=options.columns,
            ignore=options.drop,
            label=options.label,
            roles=options.roles,
            on_rows=meter.count,
            warn=screen.warn,
        )
    first = columns.encoder.identifier_
    keep = options.keep if options.keep is not None else () if first is None else (first,)
    return Data(tables, columns, options.label, screen, _checked(tables, keep))


def _checked(tables: Sequence[Table], keep: Sequence[str]) -> tuple[str, ...]:
    check_known(tables, keep, all_names(tables))
    for name in keep:
        if name in ("row", "cluster"):
            raise UsageError(f"--keep {name}: the labels have a column of this name: rename it in the table")
    return tuple(dict.fromkeys(keep))
