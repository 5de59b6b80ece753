"""Lines that come and lines that go: a text that is read as it grows, files that are appended to.

Both know the place up to which they have come, and find it again in a later run.
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
"""Bytes before a place by which it is recognized."""

LONGEST = 1 << 24
"""Bytes of the longest line."""

CHUNK = 1 << 20

Result = TypeVar("Result")


@dataclass(frozen=True)
class Mark:
    """A place in a file.

    Attributes
    ----------
    length : int
        Bytes before it.
    checksum : int
        Of the last of them.
    """

    length: int
    checksum: int


START = Mark(0, 0)


@contextmanager
def naming(path: Path | None) -> Iterator[None]:
    """Where the system complains of what is written, say to which place it was to go."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


class Stopped(Exception):  # noqa: N818 — not an error
    """The user asked to stop while a line was waited for."""


class Stop:
    """The wish of the user to stop: heeded at once while a line is waited for, otherwise when the batch is done."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take SIGINT, SIGTERM and SIGHUP for the wish to stop; the last not where it is ignored, as under nohup."""
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
        """What the call returns; Stopped if the wish to stop comes before it does."""
        self._waiting = True
        try:
            if self.asked:
                raise Stopped
            return call(*args)
        finally:
            self._waiting = False


class Lines:
    """The lines of a text, one by one.

    Parameters
    ----------
    file : binary file
    name : str
        What it is called in messages.
    stop : Stop

    Attributes
    ----------
    at_start : bool
        Whether the line that was given out last is the first one of its file that is not empty.
    """

    def __init__(self, file: BinaryIO, name: str, stop: Stop) -> None:
        self.at_start = False
        self._file = file
        self._name = name
        self._stop = stop
        self._begin()

    def _begin(self) -> None:
        """Be at the start of a file."""
        self._length = 0
        self._tail = b""
        self._is_untouched = True

    @property
    def mark(self) -> Mark:
        """The place after the last line that was given out."""
        return Mark(self._length, crc32(self._tail))

    def next(self) -> bytes | None:
        """The next line, None at the end of the text."""
        line = self._read_line()
        return self._give(line) if line else None

    def _read_line(self) -> bytes:
        """What there is of the next line."""
        line = self._stop.wait_for(self._file.readline, LONGEST)
        if len(line) == LONGEST:
            raise DataError(f"{self._name}: a line has more than {LONGEST:,} bytes: is this text?")
        return line

    def _give(self, line: bytes) -> bytes:
        """Give a line out."""
        self._length += len(line)
        self._tail = (self._tail + line)[-TAIL:]
        self.at_start = self._is_untouched and not line.isspace()
        self._is_untouched &= line.isspace()
        return line

    def skip_to(self, mark: Mark, seek: bool) -> None:
        """Go on from a place that an earlier run has come to; without `seek` the text before it is read again."""
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
                f"{self._name} ends before the place that the checkpoint has come to, byte {mark.length:,}: give the "
                "same input again, from its start"
            )
        if self.mark != mark:
            raise DataError(
                f"{self._name} is not the input that the checkpoint was made from: give the same input again, from its "
                "start"
            )
        if self._tail and not self._tail.endswith(b"\n"):
            self._end_line()

    def _end_line(self) -> None:
        """The text ended without a newline; DataError if what has come since belongs to its last line."""
        rest = self._stop.wait_for(self._file.readline, LONGEST)
        if rest.strip():
            raise DataError(f"{self._name}: the line that was the last one at the checkpoint has become longer")
        self._length += len(rest)
        self._tail = (self._tail + rest)[-TAIL:]


class Sink:
    """JSON lines that are appended to a file, or go to a stream.

    A file is this process's alone until it is closed: LockedError if another one is appending to it.

    Parameters
    ----------
    path : Path or None
        None where there is a stream.
    stream : binary stream, optional
        Without a stream and a path nothing is written.
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
                raise LockedError(errno.EAGAIN, "in use by another process: wait until it ends", str(path))

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
        """The end of the file, which is safe on disk then; None where there is no file to come back to."""
        if not self._is_regular:
            return None
        os.fsync(self._file.fileno())
        return self._mark_at(os.fstat(self._file.fileno()).st_size)

    def check(self, mark: Mark | None) -> None:
        """DataError if the file has no such place."""
        if mark is not None and self._is_regular and self._mark_at(mark.length) != mark:
            raise DataError(
                f"{self.path} is not as the checkpoint left it, with {mark.length:,} bytes or more: put the file back, "
                "or begin anew with another --checkpoint"
            )

    def cut_back(self, mark: Mark | None) -> None:
        """Take away what comes after the place."""
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
