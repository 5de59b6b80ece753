"""Read lines from a growing text, and append lines to files.

Both keep their position, and can return to it in a later run.
"""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, TypeVar
from zlib import crc32

from ravine._files import LockedError, Place, lock_file
from ravine._io import DataError
from ravine.cli._system import heeded_signals

TAIL = 1024
"""Number of bytes before a position by which it is recognized."""

LONGEST = 1 << 24
"""Longest line, in bytes."""

CHUNK = 1 << 20

RESTART = "start again with another --checkpoint folder"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Mark:
    """A position in a file.

    Attributes
    ----------
    length : int
        Number of bytes before the position.
    checksum : int
        Checksum of the last of these bytes.
    """

    length: int
    checksum: int


START = Mark(0, 0)


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """Add the path to errors of the operating system."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


class Stopped(Exception):  # noqa: N818 — not an error
    """The user asked to stop while the program was waiting for a line."""


class Stop:
    """A request to stop: acts at once while the program waits for a line, otherwise after the current batch."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Treat SIGINT, SIGTERM and SIGHUP as requests to stop. An ignored SIGHUP, as under nohup, stays ignored."""
        heeded = heeded_signals(("SIGINT", "SIGTERM", "SIGHUP"))
        before = {number: signal.signal(number, self._ask) for number in heeded}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self._waiting:
            self._waiting = False
            raise Stopped

    def wait_for(self, call: Callable[..., Result], *args: Any) -> Result:
        """Return the result of the call. Raises Stopped if the request to stop comes first."""
        self._waiting = True
        try:
            if self.asked:
                raise Stopped
            return call(*args)
        finally:
            self._waiting = False


class Lines:
    """Iterate over the lines of a text.

    Parameters
    ----------
    file : binary file
    name : str
        Name of the text in messages.
    stop : Stop

    Attributes
    ----------
    at_start : bool
        Whether the last line returned is the first non-empty line of its file.
    """

    def __init__(self, file: BinaryIO, name: str, stop: Stop) -> None:
        self.at_start = False
        self._file = file
        self._name = name
        self._stop = stop
        self._begin()

    def _begin(self) -> None:
        """Reset the position to the start of a file."""
        self._length = 0
        self._tail = b""
        self._is_untouched = True

    @property
    def mark(self) -> Mark:
        """Position after the last line returned."""
        return Mark(self._length, crc32(self._tail))

    def next(self) -> bytes | None:
        """Return the next line, or None at the end of the text."""
        line = self._read_line()
        return self._give(line) if line else None

    def _read_line(self) -> bytes:
        """Read the next line, which may be incomplete."""
        line = self._stop.wait_for(self._file.readline, LONGEST)
        if len(line) == LONGEST:
            raise DataError(f"{self._name}: a line has more than {LONGEST:,} bytes: check that the input is text")
        return line

    def _give(self, line: bytes) -> bytes:
        """Update the position and return the line."""
        self._length += len(line)
        self._tail = (self._tail + line)[-TAIL:]
        self.at_start = self._is_untouched and not line.isspace()
        self._is_untouched &= line.isspace()
        return line

    def skip_to(self, mark: Mark, seek: bool) -> None:
        """Continue from the position of an earlier run. Without `seek`, the text before it is read again."""
        start = max(mark.length - TAIL, 0)
        if seek:
            self._file.seek(start)
        else:
            for done in range(0, start, CHUNK):
                self._stop.wait_for(self._file.read, min(CHUNK, start - done))
        self._tail = self._stop.wait_for(self._file.read, mark.length - start)
        self._length = mark.length
        self._is_untouched = mark.length == 0
        if len(self._tail) < mark.length - start:
            raise DataError(
                f"{self._name} ends before the position of the checkpoint, byte {mark.length:,}: give the same input "
                "again, from its start"
            )
        if self.mark != mark:
            raise DataError(
                f"{self._name} is not the input that the checkpoint was made from: give the same input again, from its "
                "start"
            )
        if self._tail and not self._tail.endswith(b"\n"):
            self._end_line()

    def _end_line(self) -> None:
        """Handle a text that ended without a newline. Raises DataError if its last line has grown since."""
        rest = self._stop.wait_for(self._file.readline, LONGEST)
        if rest.strip():
            raise DataError(f"{self._name}: the last line before the checkpoint has grown since: {RESTART}")
        self._length += len(rest)
        self._tail = (self._tail + rest)[-TAIL:]


class Sink:
    """Append JSON lines to a file or a stream.

    The file is locked until it is closed. Raises LockedError if another process is appending to it.

    Parameters
    ----------
    path : Path or None
        File; None if there is a stream.
    stream : binary stream, optional
        Without a stream and a path, nothing is written.
    """

    def __init__(self, path: Path | None, stream: BinaryIO | None = None) -> None:
        self.path = path
        self._stream = stream
        self._file: Any = None
        self._is_regular = False
        if path is not None:
            place = Place(path)
            self._is_regular = place.is_plain
            self._file = open(path, "a+b", buffering=0) if place.is_plain else place.open(buffering=0)  # noqa: SIM115
            if place.is_plain and lock_file(self._file.fileno()) == "held":
                self.close()
                raise LockedError(errno.EAGAIN, "in use by another process: wait until that process ends", str(path))

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append a line for each record."""
        lines = "".join(f"{json.dumps(record, allow_nan=False)}\n" for record in records).encode()
        if self._stream is not None:
            self._stream.write(lines)
            self._stream.flush()
        elif self._file is not None:
            left = memoryview(lines)
            with naming(self.path):
                while left:
                    left = left[self._file.write(left) :]

    def mark(self) -> Mark | None:
        """Write the file to disk and return its end; None if the output is not a regular file."""
        if not self._is_regular:
            return None
        os.fsync(self._file.fileno())
        return self._mark_at(os.fstat(self._file.fileno()).st_size)

    def check(self, mark: Mark | None) -> None:
        """Raise DataError if the file does not contain this position."""
        if mark is not None and self._is_regular and self._mark_at(mark.length) != mark:
            raise DataError(
                f"{self.path} has changed since the checkpoint, when it had {mark.length:,} bytes: restore the file, "
                f"or {RESTART}"
            )

    def cut_back(self, mark: Mark | None) -> None:
        """Remove everything after the position."""
        if mark is not None and self._is_regular:
            self._file.truncate(mark.length)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _mark_at(self, length: int) -> Mark:
        start = max(length - TAIL, 0)
        self._file.seek(start)
        tail = self._file.read(length - start)
        return Mark(start + len(tail), crc32(tail))
