"""Open the input of a stream: lines of text, a followed file, or an Arrow stream."""

import io
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ravine._io import UsageError, check_is_table
from ravine._io._kinds import HEAD, kind_by
from ravine.cli._arrow import ArrowRows, ArrowStream
from ravine.cli._checkpoint import Generation
from ravine.cli._follow import FollowedLines
from ravine.cli._lines import Lines, Stop, Stopped
from ravine.cli._rows import Rows, StreamOptions

STDIN = "standard input"

NO_STREAMS = {"parquet": "a Parquet file", "npy": "a NumPy array", "xlsx": "an Excel workbook"}
"""Formats of tables that are not read row by row."""

Input = Lines | ArrowStream


def open_file(data: str, poll: float | None, stack: ExitStack) -> Any:
    """Open a file or standard input; None for a file that is followed. Raises UsageError if it is not a stream."""
    path = Path(data)
    if data != "-" and path.is_file():
        with path.open("rb") as start:
            _check_kind(path, data, start.read(HEAD), poll)
    if poll is not None:
        _check_kind(path, data, b"", poll)
        return None
    file: Any = sys.stdin.buffer if data == "-" else stack.enter_context(open(path, "rb"))  # noqa: SIM115 — by the stack
    return file if hasattr(file, "peek") else io.BufferedReader(file)


def recognized(
    file: Any, data: str, stop: Stop, poll: float | None, warn: Callable[[str], None], stack: ExitStack
) -> Input:
    """Return the input, by the kind of the file that `open_file` has opened. This waits for its first bytes."""
    if file is None:
        assert poll is not None
        lines = FollowedLines(Path(data), stop, poll, warn)
        stack.callback(lines.close)
        return lines
    name = STDIN if data == "-" else data
    try:
        head = stop.wait_for(file.peek, HEAD)[:HEAD]
    except Stopped:
        head = b""
    kind = _check_kind(None if data == "-" else Path(data), name, head, poll)
    return ArrowStream(file, name, stop, warn) if kind == "arrow" else Lines(file, name, stop)


def open_rows(
    source: Input, name: str, options: StreamOptions, warn: Callable[[str], None], start: Generation
) -> Rows | ArrowRows:
    """Return the rows of an input, from the position of a checkpoint."""
    if isinstance(source, ArrowStream):
        return ArrowRows(source, name, options, warn, start.layout, start.n_rows)
    return Rows(source, name, options, warn, start.layout, start.n_rows)


def _check_kind(path: Path | None, name: str, head: bytes, poll: float | None) -> str:
    """Return the kind of an input.

    Raises UsageError if it cannot be read as a stream or cannot be followed, and DataError if it is not a table.
    """
    kind = kind_by(path, head)
    if kind in NO_STREAMS:
        raise UsageError(
            f"{name}: {NO_STREAMS[kind]} is not a stream of rows: cluster it as a table with ravine cluster, or write "
            "it as CSV or as an Arrow stream"
        )
    if kind == "arrow" and poll is not None:
        raise UsageError(
            f"--follow reads lines of text, but {name} is in Arrow format: pipe the Arrow stream to ravine stream, "
            "which reads until the pipe is closed"
        )
    check_is_table(path, name, head)
    return kind
