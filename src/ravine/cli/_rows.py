"""Rows of numbers from the lines of a stream, CSV or JSON.

The first line defines the fields; the first batch shows which of them are numbers. A row that does not match is a bad
row. Bad rows are reported and never repaired.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ravine._io import DataError, TextFormat, UsageError, check_is_table
from ravine._io._table import listed
from ravine._matrix import Floats
from ravine.cli._layout import BadRow, Layout, find_layout, is_header, mostly_numbers
from ravine.cli._lines import Lines, Mark, Stopped
from ravine.cli._quick import quick_rows

PATIENCE = 0.1
"""Seconds between two lines after which the lines of a batch are converted one by one, as they come."""

_Read = tuple[list[int], Floats, list[str | None]]


@dataclass(frozen=True)
class StreamOptions:
    """Options for the rows of a stream.

    Attributes
    ----------
    text : TextFormat
    columns : tuple of str
        Columns to use as numbers. If empty: the columns whose values in the first batch are mostly numbers.
    drop : tuple of str
    skip_bad : bool
        Skip bad rows instead of stopping.
    label : str, optional
        Column with the class of each row. It is not learned.
    """

    text: TextFormat
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    skip_bad: bool = False
    label: str | None = None

    def wants(self, column: str) -> bool:
        """Whether a column is to be used if it is a number."""
        return column not in (*self.drop, self.label) and (not self.columns or column in self.columns)


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a stream.

    Attributes
    ----------
    first : int
        Number of the first row.
    n_rows : int
    good : list of int
        Numbers of the rows that can be used.
    X : ndarray of shape (n_good, n_columns)
    bad : dict from int to str
        Why the other rows cannot be used.
    end : Mark
        Position after the last row.
    classes : list of str or None
        Classes of the rows in `X`; None for a row without a class.
    """

    first: int
    n_rows: int
    good: list[int]
    X: Floats
    bad: dict[int, str]
    end: Mark
    classes: list[str | None]


class Rows:
    """The rows of a stream, in batches.

    Parameters
    ----------
    lines : Lines
    name : str
        Name of the stream in messages.
    options : StreamOptions
    warn : callable
        Called with a message about columns that are left out.
    layout : Layout, optional
        Layout of a stream that continues.
    n_rows : int
        Number of rows that were read before.
    """

    def __init__(
        self,
        lines: Lines,
        name: str,
        options: StreamOptions,
        warn: Callable[[str], None],
        layout: Layout | None = None,
        n_rows: int = 0,
    ) -> None:
        self.layout = layout
        self.stopped = False
        self._lines = lines
        self._name = name
        self._options = options
        self._warn = warn
        self._n_rows = n_rows
        self._first_line: bytes | None = None

    def next_batch(self, size: int) -> Batch:
        """Return the next rows: fewer than `size` at the end of the stream, or if the user asked to stop."""
        first, bad = self._n_rows, dict[int, str]()
        if self.layout is None:
            self._begin()
        if self.layout is None:
            return Batch(first, 0, [], np.empty((0, 0)), bad, self._lines.mark, [])
        read = self._first_rows if self.layout.used is None else self._later_rows
        good, X, classes = read(size, self.layout, bad)
        return Batch(first, self._n_rows - first, good, X, bad, self._lines.mark, classes)

    def _first_rows(self, size: int, layout: Layout, bad: dict[int, str]) -> _Read:
        """Read the first batch, and choose the fields to use."""
        kept = self._sift(self._numbered(size), layout.values, bad)
        if kept:
            layout = self.layout = replace(layout, used=self._choose(layout, [values for _, values in kept]))
        return _collected(self._sift(kept, layout.record, bad), layout)

    def _later_rows(self, size: int, layout: Layout, bad: dict[int, str]) -> _Read:
        """Read a batch, all lines at once if they come quickly and none of them is unusual."""
        numbered, lines = self._numbered(size), list[tuple[int, bytes]]()
        before = perf_counter()
        for item in numbered:
            lines.append(item)
            waited, before = perf_counter() - before, perf_counter()
            if waited > PATIENCE:  # a bad row is reported now, not when the batch is full
                break
        else:
            quick = quick_rows(layout, [line for _, line in lines])
            if quick is not None:
                return [row for row, _ in lines], *quick
        return _collected(self._sift(chain(lines, numbered), _both(layout.values, layout.record), bad), layout)

    def _begin(self) -> None:
        """Detect the layout from the first line."""
        line = self._next_line()
        if line is None:
            return
        check_is_table(Path(self._name), self._name, line)
        try:
            self.layout, is_row = find_layout(line, self._options.text)
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from None
        self.layout = replace(self.layout, label=self._options.label)
        check_names(self.layout.fields, self._options, self._name)
        self._first_line = line if is_row else None

    def _next_line(self) -> bytes | None:
        """Return the next non-empty line, or None at the end or if the user asked to stop."""
        line, self._first_line = self._first_line, None
        if line is not None:
            return line
        try:
            while (line := self._lines.next()) is not None:
                if not line.isspace() and not self._is_header_again(line):
                    return line.removeprefix(codecs.BOM_UTF8) if self._lines.at_start else line
        except Stopped:
            self.stopped = True
        return None

    def _is_header_again(self, line: bytes) -> bool:
        """Whether the line is the header of a file after the first one."""
        if self.layout is None or not self._lines.at_start:
            return False
        try:
            return is_header(line.removeprefix(codecs.BOM_UTF8), self.layout, self._options.text.header)
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from None

    def _numbered(self, size: int) -> Iterator[tuple[int, bytes]]:
        for _ in range(size):
            line = self._next_line()
            if line is None:
                return
            self._n_rows += 1
            yield self._n_rows - 1, line

    def _sift(
        self, items: Iterable[tuple[int, Any]], parse: Callable[[Any], Any], bad: dict[int, str]
    ) -> list[tuple[int, Any]]:
        return sift(items, parse, bad, (self._name, self._options.skip_bad))

    def _choose(self, layout: Layout, records: list[list[Any]]) -> tuple[str, ...]:
        """Choose the fields to use."""
        wanted = [field for field in layout.fields if self._options.wants(field)]
        if self._options.columns and wanted:
            return tuple(wanted)
        columns = dict(zip(layout.fields, zip(*records, strict=True), strict=True))
        used = tuple(field for field in wanted if mostly_numbers(layout, columns[field]))
        if not used:
            raise DataError(f"{none_is_numeric(self._name, layout.fields)}: check --delimiter and --decimal")
        left_out = [field for field in wanted if field not in used]
        if left_out:
            self._warn(f"columns left out because they are not numbers: {listed(left_out)}")
        return used


def sift(
    items: Iterable[tuple[int, Any]], parse: Callable[[Any], Any], bad: dict[int, str], stream: tuple[str, bool]
) -> list[tuple[int, Any]]:
    """Parse numbered items. Those that cannot be parsed go into `bad`, or stop the stream.

    Parameters
    ----------
    items : iterable of pairs
        Number of each row, and what is parsed.
    parse : callable
        Raises BadRow.
    bad : dict from int to str
        Why rows cannot be used, by their numbers.
    stream : pair of str and bool
        Name of the stream in messages, and whether bad rows are skipped.
    """
    name, skip_bad = stream
    kept = []
    for row, item in items:
        try:
            kept.append((row, parse(item)))
        except BadRow as error:
            if not skip_bad:
                raise DataError(
                    f"{name}: row {row} (counted from 0): {error}; correct it, or skip such rows with --bad-rows skip"
                ) from None
            bad[row] = str(error)
    return kept


def check_names(fields: Sequence[str], options: StreamOptions, name: str) -> None:
    """Raise UsageError if the user names a column that does not exist."""
    label = () if options.label is None else (options.label,)
    for column in (*options.columns, *options.drop, *label):
        if column not in fields:
            raise UsageError(f"{name}: there is no column {column!r}; choose from {listed(fields)}")


def none_is_numeric(name: str, fields: Sequence[str]) -> str:
    """Return the message about a stream without columns of numbers."""
    return f"{name}: none of the columns {listed(fields)} contains numbers"


def _collected(kept: list[tuple[int, Any]], layout: Layout) -> _Read:
    """Return the numbers of the rows, their values as an array, and their classes."""
    X = np.array([numbers for _, (numbers, _) in kept], dtype=np.float64).reshape(len(kept), len(layout.used or ()))
    return [row for row, _ in kept], X, [name for _, (_, name) in kept]


def _both(first: Callable[[Any], Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda item: then(first(item))
