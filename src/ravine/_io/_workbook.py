"""Read a sheet of an Excel workbook (.xlsx) with python-calamine.

The whole sheet is held in memory. Its table begins below titles and empty rows, wherever it is on the sheet. Cells with
an error (#N/A, #DIV/0!) are gaps.
"""

import datetime
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ravine._io._errors import DataError, UsageError
from ravine._io._table import LARGEST_WHOLE, MISSING, OnBytes, Table, listed

MOST_CELLS = 50_000_000
"""Largest number of cells of a sheet, from its first one to the last row and the last column that are used. A sheet of
1,048,576 rows may have 47 columns."""

TOP_ROWS = 100
"""The header is one of the first rows."""

GAPS = frozenset(MISSING)

CHUNK = 1 << 20
"""Number of bytes of a sheet that are looked at at a time."""

ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""Name of the part of an Office file that holds an encrypted workbook."""

Cells = list[Any]


@dataclass(frozen=True)
class Sheet:
    """The table on a sheet.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    columns : list of list
        Cells of each column below the header; None is a gap.
    """

    names: list[str]
    columns: list[Cells]

    @property
    def is_table(self) -> bool:
        """Whether there are two columns or more, and a row."""
        return len(self.names) > 1 and len(self.columns[0]) > 0


class Workbook(Table):
    """A sheet of a workbook.

    Parameters
    ----------
    path : Path
    sheet : str, optional
        Name of the sheet. Default: the first one with a table.
    header : bool, optional
        Whether the table begins with column names. Default: yes, unless its first row has only numbers.
    note : callable
        Called with a message that says which of several sheets is read.
    name : str, optional
        Name of the file in messages. Default: its path.
    """

    def __init__(
        self,
        path: Path,
        sheet: str | None,
        header: bool | None,
        note: Callable[[str], None],
        name: str | None = None,
    ) -> None:
        super().__init__(path, name)
        self._sheet, self._header, self._note = sheet, header, note

    @cached_property
    def _table(self) -> pa.Table:
        sheet = self._chosen()
        if not sheet.names:
            raise DataError(f"{self.name}: the sheet is empty")
        return pa.table([as_column(cells) for cells in sheet.columns], names=sheet.names)

    def _chosen(self) -> Sheet:
        """Read the sheet that is asked for, or the first one with a table."""
        calamine = _calamine()
        self._check_file()
        try:
            with open(self.path, "rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
                return self._sheet_of(book)
        except calamine.PasswordError:
            raise self._is_locked() from None
        except calamine.CalamineError as error:
            raise self._is_damaged(error) from None

    def _sheet_of(self, book: Any) -> Sheet:
        names = [str(one.name) for one in book.sheets_metadata if str(one.typ).endswith("WorkSheet")]
        if self._sheet is not None:
            if self._sheet not in names:
                raise UsageError(f"{self.name}: there is no sheet {self._sheet!r}; choose from {listed(names)}")
            return table_of(book.get_sheet_by_name(self._sheet), self._header)
        hidden = {str(one.name) for one in book.sheets_metadata if not str(one.visible).endswith("Visible")}
        best: Sheet | None = None
        for name in sorted(names, key=lambda name: name in hidden):
            sheet = table_of(book.get_sheet_by_name(name), self._header)
            if best is None or (sheet.names and not best.names) or sheet.is_table:
                best, chosen = sheet, name
            if sheet.is_table:
                break
        if best is None:
            raise DataError(f"{self.name}: the workbook has no sheet with cells")
        if len(names) > 1:
            others = listed([repr(name) for name in names if name != chosen], 5)
            self._note(f"{self.name}: read the sheet {chosen!r}; use --sheet for another one ({others})")
            self.name = f"{self.name}, sheet {chosen!r}"
        return best

    def _check_file(self) -> None:
        """Raise DataError if the file is no workbook, or if a sheet is too large to be held in memory."""
        with open(self.path, "rb") as file:
            if file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
                raise self._is_locked() if ENCRYPTED in file.read() else self._is_damaged("it is an older Office file")
        try:
            with zipfile.ZipFile(self.path) as archive:
                for part in archive.namelist():
                    if re.fullmatch(r"xl/worksheets/[^/]+\.xml", part):
                        self._check_size(archive, part)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
            raise self._is_damaged(error) from None

    def _check_size(self, archive: zipfile.ZipFile, part: str) -> None:
        """Raise DataError if the last row times the last column is too large: empty cells between them count."""
        last_row, letters, before = 0, {b"A"}, b""
        with archive.open(part) as sheet:
            while data := sheet.read(CHUNK):
                text = before + data
                cells = set(re.findall(rb'\br="([A-Z]{1,3})\d', text))
                rows = re.findall(rb'<row\b[^>]*?\br="(\d{1,7})"', text)
                letters |= cells
                last_row = max([last_row, *map(int, rows[-1:])])
                before = text[-200:]
        n_columns = max(map(_number_of_column, letters))
        if last_row * n_columns > MOST_CELLS:
            raise DataError(
                f"{self.name}: a sheet reaches to row {last_row:,} and column {n_columns:,}, which is too large to be "
                "read: save the table as CSV, or delete the cells that are far away from it"
            )

    def _is_locked(self) -> DataError:
        return DataError(
            f"{self.name}: the workbook is protected by a password: save it without the password, or save the sheet as "
            "CSV"
        )

    def _is_damaged(self, why: object) -> DataError:
        return DataError(
            f"{self.name}: this is no workbook that can be read, or it is damaged ({_short(why)}): "
            "open it in a spreadsheet program, and save it as .xlsx or CSV"
        )

    def _read_schema(self) -> pa.Schema:
        return self._table.schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows of the sheet."""
        with self._complaining():
            return int(self._table.num_rows)

    def _read(self, columns: list[str], on_bytes: OnBytes | None) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(columns).to_batches()


def _calamine() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise UsageError("reading a workbook needs python-calamine: pip install 'ravine[excel]'") from None
    return python_calamine


def table_of(sheet: Any, has_header: bool | None) -> Sheet:
    """Find the table on a sheet: its header, and the columns and rows below it that are not empty."""
    if sheet.start is None:  # there are no cells
        return Sheet([], [])
    rows = [[None if cell in GAPS else cell for cell in row] for row in sheet.iter_rows()]
    first = int(sheet.start[1])  # rows come without empty columns in front
    merged = sheet.merged_cell_ranges or ()
    for (top, left), (bottom, right) in merged:
        column = left - first
        if left == right and 0 <= column < len(rows[0]):  # merged rows of a column have the value of the first one
            for row in rows[top + 1 : bottom + 1]:
                row[column] = rows[top][column]
    titles = {top for (top, left), (_, right) in merged if left < right}
    head = _header(rows, titles)
    if head is None:
        return Sheet([], [])
    if has_header is None:
        has_header = not all(isinstance(cell, float) for cell in rows[head] if cell is not None)
    body = [row for row in rows[head + has_header :] if any(cell is not None for cell in row)]
    columns = [list(cells) for cells in zip(*body, strict=True)] or [[] for _ in rows[head]]
    names = [_named(cell, first + j) for j, cell in enumerate(rows[head])]
    kept = [j for j, cells in enumerate(columns) if rows[head][j] is not None or any(c is not None for c in cells)]
    if not has_header:
        names = [f"x{number}" for number in range(len(names))]
    return Sheet([names[j] for j in kept], [columns[j] for j in kept])


def _header(rows: Sequence[Cells], titles: set[int]) -> int | None:
    """Return the number of the first row of the table: more than half as wide as the widest row, preferably of words.

    Titles, which are merged cells, and other rows with few cells are above the table.
    """
    filled = [sum(cell is not None for cell in row) for row in rows[:TOP_ROWS]]
    if not any(filled):
        return next((number for number, row in enumerate(rows) if any(cell is not None for cell in row)), None)
    wide = [number for number, count in enumerate(filled) if 2 * count > max(filled) and number not in titles]
    wide = wide or [number for number, count in enumerate(filled) if count]
    words = [n for n in wide if all(isinstance(cell, str) for cell in rows[n] if cell is not None)]
    return words[0] if words and not any(_is_data(rows[n]) for n in wide if n < words[0]) else wide[0]


def _is_data(row: Cells) -> bool:
    """Return whether a row is more likely a part of a table than a line above it: it has numbers."""
    return any(isinstance(cell, float) for cell in row)


def _named(cell: Any, number: int) -> str:
    """Return the name of a column, by its letters if the header has none."""
    return f"column {_letters(number)}" if cell is None else _as_text(cell).strip()


def _letters(number: int) -> str:
    """Return the letters of a column of a sheet, counted from 0."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _number_of_column(letters: bytes) -> int:
    """Return the number of a column of a sheet, counted from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def as_column(cells: Cells) -> pa.Array:
    """Return cells of a sheet in the type of them all, or as text if there are several types."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {float}:
        numbers = pa.array(cells, pa.float64())
        known = np.array([cell for cell in cells if cell is not None])
        is_whole = bool((known % 1 == 0).all() and (np.abs(known) <= LARGEST_WHOLE).all())
        return numbers.cast(pa.int64()) if is_whole else numbers
    if kinds in ({bool}, {str}, {datetime.date}):
        return pa.array(cells)
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        return pa.array([_as_moment(cell) for cell in cells], pa.timestamp("us"))
    if kinds and kinds <= {datetime.time, datetime.timedelta}:
        return pa.array([_as_duration(cell) for cell in cells], pa.duration("us"))
    return pa.array([None if cell is None else _as_text(cell) for cell in cells], pa.string())


def _as_moment(cell: Any) -> datetime.datetime | None:
    is_day = cell is not None and not isinstance(cell, datetime.datetime)
    return datetime.datetime.combine(cell, datetime.time()) if is_day else cell


def _as_duration(cell: Any) -> datetime.timedelta | None:
    if not isinstance(cell, datetime.time):
        return cell
    return datetime.timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond)


def _as_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= LARGEST_WHOLE:
        return str(int(cell))
    return str(cell)


def _short(reason: object) -> str:
    return " ".join(str(reason).split())[:100]
