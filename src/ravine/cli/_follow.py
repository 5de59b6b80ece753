"""Follow the lines of a file by its name, as `tail -F` does, through rotation, truncation and removal.

The name may come to refer to another file:

- **Replaced** (renamed and created again, or moved over): the old file is read to its end, until one check finds no new
  data. A last line without a newline counts as a line. Then the new file is read from its beginning.
- **Removed**: the old file is read as long as it is written to, until a new file appears.
- **Truncated or rewritten** in place: the file is read again from its beginning. Data that were not read yet are lost,
  and so is a last line without a newline. A message reports both.

A checkpoint keeps the position in the file that was read last. If that file was replaced in the meantime, it is
searched for next to the name, as `name.1` or `name-20260131`, and recognized by its content. All later files are read
as well.
"""

import errno
import io
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

from ravine._io import DataError
from ravine.cli._lines import Lines, Mark, Stop
from ravine.tree._text import counted

ROTATED = r"[.-]\d[\dT:_.-]*"
"""What rotation appends to a name: a number or a date."""


def is_rotated(path: Path, name: Path) -> bool:
    """Whether a file looks like a rotated version of `name`."""
    is_beside = path.parent.resolve() == name.parent.resolve()
    return is_beside and re.fullmatch(re.escape(name.name) + ROTATED, path.name) is not None


class FollowedLines(Lines):
    """The lines of a growing file, and of the files that take its name later. There is no end.

    Parameters
    ----------
    path : Path
    stop : Stop
    poll : float
        Seconds between two checks of a file that was read to its end.
    tell : callable
        Called with a message when another file is read, or the same file again.
    """

    def __init__(self, path: Path, stop: Stop, poll: float, tell: Callable[[str], None]) -> None:
        super().__init__(io.BytesIO(), str(path), stop)
        self._path = path
        self._poll = poll
        self._tell = tell
        self._is_open = False
        self._is_over = False
        self._is_missed = False
        self._later: list[Path] = []
        self._before: bytes | None = None

    def next(self) -> bytes:
        """The next line."""
        while True:
            if not self._is_open or self._is_over:
                self._open_next()
            line = self._read_line()
            if line.endswith(b"\n"):
                self._before = None
                return self._give(line)
            has_successor = self._has_successor()
            if has_successor and line == self._before:  # nothing new in the old file
                self._is_over = True
                if line:
                    self._tell(f"{self._name}: the last line of the old file has no newline; it is read as it is")
                    return self._give(line)
                continue
            self._before = line if has_successor else None
            self._stop.wait_for(time.sleep, self._poll)
            self._look_again(line)

    def skip_to(self, mark: Mark, seek: bool) -> None:
        """Continue from the position of an earlier run, in the file that has the name now or had it then."""
        if mark.length == 0:
            return
        rotated = self._rotated()
        if self._path.exists() or not rotated:
            self._open_next()
            try:
                super().skip_to(mark, seek)
                return
            except DataError as error:
                refused = error
        else:
            refused = DataError(f"{self._name} does not exist, nor does the file that the checkpoint was made from")
        for n_later, path in enumerate(rotated):
            try:
                self._open(path)
                super().skip_to(mark, seek)
            except (DataError, OSError):
                continue
            self._later = rotated[:n_later][::-1]
            self._tell(f"{self._name} was replaced since the checkpoint: continuing in {path}")
            return
        raise refused

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open_next(self) -> None:
        """Open the next file, or wait for it if it does not exist yet."""
        is_first = not self._is_open
        while self._later:
            path = self._later.pop(0)
            try:
                self._open(path)
            except OSError as error:
                self._tell(f"{path} cannot be read, so its rows are left out: {error.strerror}")
                continue
            self._tell(f"continuing at the beginning of {path}")
            return
        while True:
            try:
                self._open(self._path)
                break
            except OSError as error:
                self._miss(error)
            self._stop.wait_for(time.sleep, self._poll)
        if not is_first:
            self._tell(f"{self._name} was replaced by another file: continuing at the beginning of the new file")

    def _open(self, path: Path) -> None:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "Not a file", str(path))
        file = open(path, "rb")  # noqa: SIM115 — closed by `close`
        self._file.close()
        self._file = file
        self._is_open, self._is_over, self._is_missed, self._before = True, False, False, None
        self._begin()

    def _has_successor(self) -> bool:
        """Whether another file has taken the place of the open one."""
        if self._later:
            return True
        try:
            named = os.stat(self._path)
        except OSError as error:
            self._miss(error)
            return False
        return stat.S_ISREG(named.st_mode) and not os.path.samestat(named, os.fstat(self._file.fileno()))

    def _miss(self, error: OSError) -> None:
        """Report once that there is no file."""
        if not self._is_missed:
            self._is_missed = True
            self._tell(f"{self._name}: {(error.strerror or str(error)).lower()}, waiting for it")

    def _look_again(self, line: bytes) -> None:
        """Go to the end of the last line that was read, or to the start if that line has disappeared."""
        if os.fstat(self._file.fileno()).st_size >= self._length:
            self._file.seek(self._length - len(self._tail))
            if self._file.read(len(self._tail)) == self._tail:
                return
        lost = f"; {counted(len(line), 'byte')} of an incomplete line are lost" if line else ""
        self._tell(f"{self._name} was truncated or rewritten: continuing at its beginning{lost}")
        self._file.seek(0)
        self._before = None
        self._begin()

    def _rotated(self) -> list[Path]:
        """Files that had the name before, newest first."""
        try:
            found = [path for path in self._path.parent.iterdir() if is_rotated(path, self._path) and path.is_file()]
            return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)
        except FileNotFoundError:
            raise DataError(f"files next to {self._name} are being removed: run the command again") from None
