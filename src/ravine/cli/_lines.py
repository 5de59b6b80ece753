"""Lines that come and lines that go: a text that is read as it grows, files that are appended to.

Both know the place up to which they have come, and find it again in a later run.
"""

import json
import os
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, TypeVar
from zlib import crc32

from ravine.io import DataError

TAIL = 1024
"""Bytes before a place by which it is recognised."""

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
        """Take SIGINT and SIGTERM for the wish to stop."""
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
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
    poll : float, optional
        Seconds after which a file that has come to its end is looked at again; without it the end is the end.
    """

    def __init__(self, file: BinaryIO, name: str, stop: Stop, poll: float | None = None) -> None:
        self._file = file
        self._name = name
        self._stop = stop
        self._poll = poll
        self._length = 0
        self._tail = b""

    @property
    def mark(self) -> Mark:
        """The place after the last line that was given out."""
        return Mark(self._length, crc32(self._tail))

    def next(self) -> bytes | None:
        """The next line, None at the end of the text."""
        while True:
            line = self._stop.wait_for(self._file.readline, LONGEST)
            if len(line) == LONGEST:
                raise DataError(f"{self._name}: a line has more than {LONGEST:,} bytes: is this text?")
            if line.endswith(b"\n") or (line and self._poll is None):
                self._length += len(line)
                self._tail = (self._tail + line)[-TAIL:]
                return line
            if self._poll is None:
                return None
            self._wait(self._poll)

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

    def _wait(self, seconds: float) -> None:
        """Wait for a file to grow; DataError if it is not the same file any more."""
        opened = os.fstat(self._file.fileno())
        try:
            named = os.stat(self._name)
        except FileNotFoundError:
            raise DataError(f"{self._name} was removed while it was followed") from None
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            raise DataError(f"{self._name} was replaced by another file while it was followed")
        self._stop.wait_for(time.sleep, seconds)
        if os.fstat(self._file.fileno()).st_size < self._length:
            raise DataError(f"{self._name} has become shorter while it was followed")
        self._file.seek(self._length - len(self._tail))
        if self._file.read(len(self._tail)) != self._tail:
            raise DataError(f"{self._name} was written anew while it was followed")


class Sink:
    """JSON lines that are appended to a file, or go to a stream.

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
        self._file: Any = None if path is None else open(path, "a+b", buffering=0)  # noqa: SIM115 — closed by `close`

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

    @property
    def _is_regular(self) -> bool:
        return self._file is not None and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)

    def _mark_at(self, length: int) -> Mark:
        start = max(length - TAIL, 0)
        self._file.seek(start)
        tail = self._file.read(length - start)
        return Mark(start + len(tail), crc32(tail))
