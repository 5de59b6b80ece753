"""Rows of numbers from an Arrow IPC stream.

The schema says which columns are numbers. A position in the stream is a number of rows. To return to it, the rows
before it are read again; this costs little, since nothing has to be parsed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
import pyarrow as pa

from ravine._io import DataError
from ravine._io._table import LARGEST_WHOLE, listed
from ravine.cli._layout import Layout, twice_named
from ravine.cli._lines import Mark, Stop, Stopped
from ravine.cli._quick import numbers_of
from ravine.cli._rows import Batch, StreamOptions, check_names, none_is_numeric, sift

FILE_MAGIC = b"ARROW1\0\0"
"""Start of the IPC file format, which contains a stream and an index behind it."""

TAIL_ROWS = 8
"""Number of rows before a position by which it is recognized."""

AS_THEY_ARE = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
"""Types of columns whose values are classes as they are; other values are converted to text."""


class ArrowStream:
    """The rows of an Arrow IPC stream, or of a file in the IPC file format, from its beginning to its end.

    Parameters
    ----------
    file : binary file
    name : str
        Name of the stream in messages.
    stop : Stop
    warn : callable
        Called with a message about data behind the end of the stream.

    Attributes
    ----------
    stopped : bool
        Whether the user asked to stop while the program was waiting for rows.
    """

    def __init__(self, file: BinaryIO, name: str, stop: Stop, warn: Callable[[str], None]) -> None:
        self.stopped = False
        self._file = file
        self._name = name
        self._stop = stop
        self._warn = warn
        self._reader: Any = None
        self._is_file_format = False
        self._waiting: list[Any] = []  # rows that were read and not taken yet
        self._n_rows = 0
        self._tail = np.empty((0, 0))

    @property
    def mark(self) -> Mark:
        """Position after the last row taken."""
        return Mark(self._n_rows, crc32(np.ascontiguousarray(self._tail).tobytes()))

    def take(self, size: int) -> Any:
        """Return a table with the next rows: fewer at the end or if the user asked to stop; None before a schema."""
        try:
            while sum(map(len, self._waiting)) < size and self._stop.wait_for(self._read):
                pass
        except Stopped:
            self.stopped = True
        if self._reader is None:
            return None
        waiting = pa.Table.from_batches(self._waiting, self._reader.schema)
        taken, self._waiting = waiting.slice(0, size), waiting.slice(size).to_batches()
        self._n_rows += len(taken)
        last = numbers_of(taken.slice(max(len(taken) - TAIL_ROWS, 0)), numeric(taken.schema))
        self._tail = np.vstack([self._tail.reshape(-1, last.shape[1]), last])[-TAIL_ROWS:]
        return taken

    def skip_to(self, mark: Mark, seek: bool) -> None:
        """Continue from the position of an earlier run."""
        while self._n_rows < mark.length:
            taken = self.take(min(1 << 16, mark.length - self._n_rows))
            if self.stopped:
                raise Stopped
            if taken is None or not len(taken):
                raise DataError(
                    f"{self._name} ends before the position of the checkpoint, row {mark.length:,}: give the same "
                    "input again, from its start"
                )
        if self.mark != mark:
            raise DataError(
                f"{self._name} is not the input that the checkpoint was made from: give the same input again, from its "
                "start"
            )

    def _read(self) -> bool:
        """Read the schema or the next rows. Returns False at the end."""
        with self._complaining():
            if self._reader is None:
                self._reader = self._opened()
            try:
                self._waiting.append(self._reader.read_next_batch())
            except StopIteration:
                self._check_end()
                return False
            return True

    def _opened(self) -> Any:
        start = self._file.read(len(FILE_MAGIC))
        self._is_file_format = start == FILE_MAGIC
        source = self._file if self._is_file_format else _Prefixed(start, self._file)
        reader = pa.ipc.open_stream(pa.PythonFile(source, mode="r"))
        if twice := twice_named(reader.schema.names):
            raise DataError(f"{self._name}: {twice}")
        return reader

    def _check_end(self) -> None:
        if not self._is_file_format and self._file.seekable() and self._file.read(1):
            self._warn(f"{self._name}: there are data behind the end of the Arrow stream, which are not read")

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Turn errors of pyarrow into one line that names the stream."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            line = str(error).strip().split("\n")[0].removesuffix(".")[:200]
            raise DataError(f"{self._name}: this is not a complete Arrow stream ({line})") from None


class _Prefixed:
    """A file whose first bytes were read already."""

    def __init__(self, start: bytes, file: BinaryIO) -> None:
        self._start = start
        self._file = file
        self.closed = False

    def read(self, size: int) -> bytes:
        first, self._start = self._start[:size], self._start[size:]
        return first + self._file.read(size - len(first)) if len(first) < size else first


class ArrowRows:
    """The rows of an Arrow stream, in batches. It has the interface of `Rows`.

    Parameters
    ----------
    stream : ArrowStream
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
        stream: ArrowStream,
        name: str,
        options: StreamOptions,
        warn: Callable[[str], None],
        layout: Layout | None = None,
        n_rows: int = 0,
    ) -> None:
        self.layout = layout
        self._stream = stream
        self._name = name
        self._options = options
        self._warn = warn
        self._n_rows = n_rows

    @property
    def stopped(self) -> bool:
        """Whether the user asked to stop while the program was waiting for rows."""
        return self._stream.stopped

    def next_batch(self, size: int) -> Batch:
        """Return the next rows: fewer than `size` at the end of the stream, or if the user asked to stop."""
        first, bad = self._n_rows, dict[int, str]()
        table = self._stream.take(size)
        if table is None:
            return Batch(first, 0, [], np.empty((0, 0)), bad, self._stream.mark, [])
        layout = self.layout = self._checked(self.layout, table.schema)
        self._n_rows += len(table)
        X = numbers_of(table, layout.used or ())
        classes = [None] * len(table) if layout.label is None else _classes(table[layout.label], layout)
        # NaN is odd, too. An integer that is not below this number may have been rounded.
        odd = np.flatnonzero(~(np.abs(X) < LARGEST_WHOLE).all(axis=1)).tolist()
        checked = sift(((first + i, i) for i in odd), lambda i: layout.numbers(_row(table, layout, i)), bad, self._said)
        for row, numbers in checked:
            X[row - first] = numbers
        good = [row for row in range(first, self._n_rows) if row not in bad]
        kept = [row - first for row in good]
        return Batch(first, len(table), good, X[kept], bad, self._stream.mark, [classes[i] for i in kept])

    @property
    def _said(self) -> tuple[str, bool]:
        return self._name, self._options.skip_bad

    def _checked(self, layout: Layout | None, schema: Any) -> Layout:
        """Return the layout, after a check that the columns of the schema are still those of a checkpoint."""
        if layout is None:
            return self._layout(schema)
        if layout.fields != tuple(schema.names) or not set(layout.used or ()) <= set(numeric(schema)):
            raise DataError(f"{self._name} does not have the columns of the input that the checkpoint was made from")
        return layout

    def _layout(self, schema: Any) -> Layout:
        """Choose the columns from the schema."""
        options, names = self._options, tuple(schema.names)
        check_names(names, options, self._name)
        layout = Layout(True, names, "", options.text.decimal, options.text.encoding, label=options.label)
        wanted = [name for name in names if options.wants(name)]
        used = tuple(name for name in wanted if name in numeric(schema))
        left_out = [name for name in wanted if name not in used]
        if options.columns and left_out:
            kind = schema.field(left_out[0]).type
            raise DataError(f"{self._name}: the column {left_out[0]!r} has the type {kind}, which is not a number")
        if not used:
            raise DataError(none_is_numeric(self._name, names))
        if left_out:
            self._warn(f"columns left out because they are not numbers: {listed(left_out)}")
        return replace(layout, used=used)


def numeric(schema: Any) -> list[str]:
    """Return the names of the columns of numbers."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]


def _row(table: Any, layout: Layout, row: int) -> list[Any]:
    """Return the values of a row; None for columns that are not used."""
    used = set(layout.used or ())
    return [_value(table[name][row]) if name in used else None for name in layout.fields]


def _value(scalar: Any) -> Any:
    return scalar.as_py() if pa.types.is_integer(scalar.type) else scalar.cast(pa.float64(), safe=False).as_py()


def _classes(values: Any, layout: Layout) -> list[str | None]:
    kind = values.type
    if not any(is_kind(kind) for is_kind in (*AS_THEY_ARE, pa.types.is_floating)):
        try:
            values = values.cast(pa.string())
        except pa.ArrowException:
            raise DataError(
                f"--label: the column {layout.label!r} has the type {kind}: give a column of texts"
            ) from None
    return [layout.class_of(value) for value in values.to_pylist()]
