"""Rows of numbers from the lines of a stream, CSV or JSON.

The first line fixes the fields, the first batch which of them are numbers. A row that does not fit is a bad row: it is
told of, and never mended.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ravine._io import DataError, TextFormat, UsageError, check_is_table
from ravine._io._table import listed
from ravine._matrix import Floats
from ravine.cli._layout import BadRow, Layout, find_layout, is_header, mostly_numbers
from ravine.cli._lines import Lines, Mark, Stopped


@dataclass(frozen=True)
class StreamOptions:
    """What the user wants of the rows.

    Attributes
    ----------
    text : TextFormat
    columns : tuple of str
        Taken as numbers, whatever they are; without any, those that mostly are numbers in the first batch.
    drop : tuple of str
    skip_bad : bool
        Leave bad rows out instead of stopping.
    """

    text: TextFormat
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    skip_bad: bool = False


@dataclass(frozen=True)
class Batch:
    """Some rows of a stream, one after the other.

    Attributes
    ----------
    first : int
        Number of the first row in the stream.
    n_rows : int
    good : list of int
        Numbers of the rows that can be used.
    X : ndarray of shape (n_good, n_columns)
    bad : dict from int to str
        Why the other rows cannot be used.
    end : Mark
        Place after the last row.
    """

    first: int
    n_rows: int
    good: list[int]
    X: Floats
    bad: dict[int, str]
    end: Mark


class Rows:
    """The rows of a stream, in batches.

    Parameters
    ----------
    lines : Lines
    name : str
        What the stream is called in messages.
    options : StreamOptions
    warn : callable
        Is told of columns that are left out.
    layout : Layout, optional
        Of a stream that was begun before.
    n_rows : int
        Rows that were read before.
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
        """The next rows: fewer than `size` at the end of the stream or where the user asked to stop."""
        first, bad = self._n_rows, dict[int, str]()
        if self.layout is None:
            self._begin()
        layout = self.layout
        kept: list[tuple[int, Any]] = []
        if layout is not None and layout.used is None:
            kept = self._sift(self._numbered(size), layout.values, bad)
            if kept:
                layout = self.layout = replace(layout, used=self._choose(layout, [values for _, values in kept]))
                kept = self._sift(kept, layout.numbers, bad)
        elif layout is not None:
            kept = self._sift(self._numbered(size), _both(layout.values, layout.numbers), bad)
        width = len(layout.used) if layout is not None and layout.used is not None else 0
        X = np.array([numbers for _, numbers in kept], dtype=np.float64).reshape(len(kept), width)
        return Batch(first, self._n_rows - first, [row for row, _ in kept], X, bad, self._lines.mark)

    def _begin(self) -> None:
        """Find the layout in the first line."""
        line = self._next_line()
        if line is None:
            return
        check_is_table(Path(self._name), self._name, line)
        try:
            self.layout, is_row = find_layout(line, self._options.text)
        except DataError as error:
            raise DataError(f"{self._name}: {error}") from None
        for column in (*self._options.columns, *self._options.drop):
            if column not in self.layout.fields:
                raise UsageError(f"{self._name}: there is no column {column!r}; there are {listed(self.layout.fields)}")
        self._first_line = line if is_row else None

    def _next_line(self) -> bytes | None:
        """The next line that is not empty; None at the end, or where the user asked to stop."""
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
        """Whether the line is the header of a file that came after the first one."""
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
        self, items: Iterable[tuple[int, Any]], parse: Callable[[Any], list[Any]], bad: dict[int, str]
    ) -> list[tuple[int, Any]]:
        """What can be parsed, with the number of its row; what cannot is put into `bad`, or ends the stream."""
        kept = []
        for row, item in items:
            try:
                kept.append((row, parse(item)))
            except BadRow as error:
                if not self._options.skip_bad:
                    raise DataError(
                        f"{self._name}: row {row} (rows count from 0), {error}: mend it, or leave such rows out with "
                        "--bad-rows skip"
                    ) from None
                bad[row] = str(error)
        return kept

    def _choose(self, layout: Layout, records: list[list[Any]]) -> tuple[str, ...]:
        """The fields to be used."""
        drop, only = self._options.drop, self._options.columns
        wanted = [field for field in layout.fields if field not in drop and (not only or field in only)]
        if only and wanted:
            return tuple(wanted)
        columns = dict(zip(layout.fields, zip(*records, strict=True), strict=True))
        used = tuple(field for field in wanted if mostly_numbers(layout, columns[field]))
        if not used:
            among = listed(layout.fields)
            raise DataError(f"{self._name}: no column of numbers among {among}: are --delimiter and --decimal right?")
        left_out = [field for field in wanted if field not in used]
        if left_out:
            self._warn(f"left out, not numbers: {listed(left_out)}")
        return used


def _both(first: Callable[[Any], Any], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda item: then(first(item))
