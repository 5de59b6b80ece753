"""Write files completely or not at all, find out whether two names are the same file, and lock files.

A file is first written under another name in the same folder, as a *part*, for instance `.labels.csv.0f3a….part`, and
then renamed. A part is locked while its process runs. The system releases the lock when the process ends, however it
ends. A part that can be locked is therefore a leftover, and the next process that writes the same file removes it.
"""

import errno
import os
import re
import secrets
import shutil
import socket
import stat
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

StrPath = str | os.PathLike[str]

LETTERS = 50
"""Number of characters of a file name at the start of the name of its part, which must not become too long."""

MOST_LINKS = 40

LOCKED_BYTE = 1 << 40
"""Position of the locked byte on Windows, far behind the end, where a lock prevents reading and writing."""

SETTLED = 60.0
"""Age in seconds below which a part is not removed on Windows, where it is unlocked while it is renamed."""

NOT_HERE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV, errno.EBUSY}
"""Errors for a file that can be written, but not created in its folder or replaced by renaming."""

_parts: set[Path] = set()


class LockedError(OSError):
    """Another process has locked the file."""


class Place:
    """The file that a name refers to, with links followed. An open file can be given by its file descriptor.

    Parameters
    ----------
    name : path-like or int

    Attributes
    ----------
    path : Path
        Path without links if it is a plain file or does not exist yet; otherwise the name.
    number : int or None
        File descriptor, if the name refers to an open file of this process, such as /dev/stdout or /dev/fd/63.
    status : os.stat_result or None
        Status of the file; None if it does not exist yet.

    Examples
    --------
    >>> Place("labels.csv").is_same(Place("../" + Path.cwd().name + "/labels.csv"))
    True
    """

    def __init__(self, name: StrPath | int) -> None:
        self.number = name if isinstance(name, int) else _number(name)
        self.path = Path(f"/dev/fd/{name}" if isinstance(name, int) else name)
        self.status: os.stat_result | None = None
        try:
            self.status = os.stat(self.path) if self.number is None else os.fstat(self.number)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from None
        if self.is_plain:
            self.path = Path(os.path.realpath(self.path))

    @property
    def is_plain(self) -> bool:
        """Whether it is a regular file or does not exist yet; not a device, a pipe or an open file."""
        return self.number is None and (self.status is None or stat.S_ISREG(self.status.st_mode))

    def is_same(self, other: "Place") -> bool:
        """Whether both are, or would become, the same file."""
        if self.status is not None and other.status is not None:
            return os.path.samestat(self.status, other.status)
        if self.status is not None or other.status is not None:
            return False
        folder = self.path.parent
        try:
            is_one_folder = os.path.samefile(folder, other.path.parent)
        except OSError:
            return self.path == other.path
        return is_one_folder and _is_one_name(folder, self.path.name, other.path.name)

    def check(self) -> None:
        """Raise OSError if the file cannot be written."""
        mode = 0 if self.status is None else self.status.st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "this is a folder: give the name of a file in it", str(self.path))
        if stat.S_ISSOCK(mode) and self.number is None:
            raise OSError(errno.ENXIO, "this is a socket: give the name of a file or of a pipe", str(self.path))
        # A write-protected file could still be replaced, but somebody has protected it on purpose.
        if self.number is None and self.status is not None and not _may_write(self.path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.path))

    def open(self, buffering: int = -1) -> Any:
        """Open the file for writing in place. A plain file is emptied first."""
        if self.number is not None:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()  # printed text comes first
            return os.fdopen(os.dup(self.number), "wb", buffering)
        # Without O_CREAT, which some systems reject for the file of another user in a shared folder.
        return open(self.path, "wb", buffering, opener=lambda name, flags: os.open(name, flags & ~os.O_CREAT))


def _number(name: StrPath) -> int | None:
    """Return the file descriptor that a name refers to, or None."""
    folders = {os.path.realpath(folder) for folder in ("/dev/fd", "/proc/self/fd") if os.path.isdir(folder)}
    place = os.fspath(name)
    for _ in range(MOST_LINKS if folders else 0):
        folder, last = os.path.split(place)
        if last.isdecimal() and os.path.realpath(folder) in folders:
            return int(last)
        try:
            place = os.path.join(folder, os.readlink(place))
        except OSError:
            break
    return None


def _is_one_name(folder: Path, one: str, other: str) -> bool:
    """Whether two names are the same in a folder, which may ignore upper and lower case."""
    if one == other:
        return True
    if len({unicodedata.normalize("NFKC", name).casefold() for name in (one, other)}) > 1:
        return False
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".ravine-") as trial:
            (Path(trial) / one).touch()
            return (Path(trial) / other).exists()
    except OSError:
        return False


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_standard_output(name: StrPath) -> bool:
    """Whether the name refers to standard output, as /dev/stdout does.

    Examples
    --------
    >>> is_standard_output("labels.csv")
    False
    """
    return _number(name) == 1


@contextmanager
def written_whole(path: StrPath) -> Iterator[Path]:
    """Yield a path to write to, which is renamed to `path` at the end. After an error, no file is left.

    A symbolic link is kept, and its target is written. Owner, group and permissions are kept. If a file has several
    names (hard links), only the given name gets the new content, so that copies made by hard links are safe.

    A pipe, a device or /dev/stdout is not replaced: it gets the whole content at the end. A file that cannot be
    replaced, because of the permissions of its folder or its owner, is overwritten in place at the end.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "labels.csv") as place:
    ...         _ = place.write_text("cluster")
    ...     [file.name for file in Path(folder).iterdir()]
    ['labels.csv']
    """
    target = Place(path)
    target.check()
    with _part_of(target) as part:
        yield part.place
        part.move_to(target)


def check_writable(path: StrPath) -> None:
    """Raise OSError if `written_whole` could not write there. Leftover parts are removed.

    Examples
    --------
    >>> try:
    ...     check_writable(tempfile.gettempdir())
    ... except IsADirectoryError as error:
    ...     error.strerror
    'this is a folder: give the name of a file in it'
    """
    target = Place(path)
    target.check()
    if target.is_plain:
        with _part_of(target):
            pass


class _Part:
    """A file that is being written. `_part_of` creates and removes it."""

    def __init__(self, place: Path, status: os.stat_result | None) -> None:
        self.place = place
        self._replaces = True
        self._file = _create(place, 0o666 if status is None else 0o600)
        if status is not None:
            self._replaces = _give_rights(self._file, place, status)

    @classmethod
    def elsewhere(cls, place: Path) -> "_Part":
        """Create a part for a file that it cannot replace."""
        part = cls(place, None)
        part._replaces = False
        os.chmod(place, 0o600)
        return part

    def move_to(self, target: Place) -> None:
        """Rename the part to the target, or copy its content there."""
        if self._replaces:
            if sys.platform == "win32":
                self.close()  # an open file cannot be moved there
            try:
                self.place.replace(target.path)
                return
            except OSError as error:
                if target.status is None or error.errno not in NOT_HERE:
                    raise
        with open(self.place, "rb") as source, target.open() as sink:
            shutil.copyfileobj(source, sink, 1 << 20)

    def close(self) -> None:
        """Close the part and release its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@contextmanager
def _part_of(target: Place) -> Iterator[_Part]:
    """Create a part for a file: in the same folder if possible, otherwise in the folder for temporary files."""
    folders = [target.path.parent] if target.is_plain else []
    if target.status is not None:
        folders.append(Path(tempfile.gettempdir()))
    name = f".{target.path.name[:LETTERS]}.{secrets.token_hex(8)}.part"
    part = None
    # The names are recorded before the files exist, so that an interruption can always remove them.
    places = [folder / name for folder in folders]
    _parts.update(places)
    try:
        for place in places:
            _remove_leftovers(place.parent, target.path.name)
            try:
                is_beside = target.is_plain and place is places[0]
                part = _Part(place, target.status) if is_beside else _Part.elsewhere(place)
                break
            except OSError as error:
                if place is places[-1] or error.errno not in NOT_HERE:
                    raise type(error)(error.errno, error.strerror, str(place.parent)) from None
        assert part is not None
        yield part
    finally:
        if part is not None:
            part.close()
        for place in places:
            with suppress(PermissionError):
                place.unlink(missing_ok=True)
            _parts.discard(place)


def remove_parts() -> None:
    """Remove the parts that this process is writing, before it ends."""
    for place in list(_parts):
        with suppress(OSError):
            place.unlink()


def _create(place: Path, mode: int) -> int:
    """Create a new file and lock it."""
    while True:
        file = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        lock_file(file)
        if _is_at(file, place):
            return file
        os.close(file)  # another process removed it as a leftover before it was locked


def _give_rights(file: int, place: Path, status: os.stat_result) -> bool:
    """Copy owner, group and permissions from the file that the part replaces; return whether this worked."""
    now = os.fstat(file)
    if sys.platform != "win32" and (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(file, status.st_uid, status.st_gid)
        except OSError:
            return False
    os.chmod(place, stat.S_IMODE(status.st_mode))
    return True


def _remove_leftovers(folder: Path, name: str) -> None:
    """Remove the parts of a file that ended processes have left."""
    pattern = re.compile(rf"\.{re.escape(name[:LETTERS])}\.[0-9a-f]{{16}}\.part")
    try:
        with os.scandir(folder) as entries:
            found = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:
        return
    for place in found:
        if place not in _parts:
            with suppress(OSError):
                _remove_if_left(place)


def _remove_if_left(place: Path) -> None:
    status = os.lstat(place)
    if not stat.S_ISREG(status.st_mode):
        return
    if sys.platform == "win32":
        if time.time() - status.st_mtime < SETTLED:
            return
    elif status.st_uid != os.geteuid():
        return
    file = os.open(place, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        is_left = lock_file(file) == "taken" and _is_at(file, place)
        if is_left and sys.platform != "win32":
            place.unlink()  # while it is locked
    finally:
        os.close(file)
    if is_left and sys.platform == "win32":
        place.unlink()


def _is_at(file: int, place: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(place, follow_symlinks=False))
    except FileNotFoundError:
        return False


def lock_file(file: int) -> Literal["taken", "held", "none"]:
    """Lock an open file until it is closed or the process ends.

    Returns
    -------
    outcome : {"taken", "held", "none"}
        This process has the lock; another process has it; the file system does not support locks.

    Examples
    --------
    >>> with tempfile.TemporaryFile() as file:
    ...     lock_file(file.fileno())
    'taken'
    """
    try:
        if sys.platform == "win32":
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB
            )  # this lock stays when another handle on the file is closed
    except OSError as error:
        return "held" if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK) else "none"
    return "taken"


@contextmanager
def locked(path: StrPath, remedy: str) -> Iterator[bool]:
    """Hold a lock while a block runs, with a lock file that is removed afterwards.

    Parameters
    ----------
    path : path-like
        Path of the lock file. Its content says who holds the lock.
    remedy : str
        What to do if another process has the lock, for the error message.

    Yields
    ------
    is_held : bool
        False if the file system does not support locks, so that other processes are not kept out.

    Raises
    ------
    LockedError
        If another process has the lock. The message names it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(folder + "/lock", "wait") as is_held:
    ...         Path(folder, "lock").read_text().split()[0]
    'process'
    """
    path = Path(path)
    file, is_held = _take(path, remedy)
    try:
        yield is_held
    finally:
        if sys.platform == "win32":
            os.close(file)
            with suppress(OSError):  # another process may have locked it by now
                path.unlink()
        else:
            path.unlink(missing_ok=True)  # while it is locked
            os.close(file)


def _take(path: Path, remedy: str) -> tuple[int, bool]:
    """Open and sign the lock file; return it and whether it is locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            outcome = lock_file(file)
            if outcome == "held":
                raise LockedError(errno.EAGAIN, f"in use by {_holder(file)}: {remedy}", str(path))
            if _is_at(file, path):
                _sign(file)
                return file, outcome == "taken"
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # its owner ended and removed the file after it was opened here


def _sign(file: int) -> None:
    """Write to the file who holds the lock."""
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, f"process {os.getpid()} on {socket.gethostname()} since {now}".encode())


def _holder(file: int) -> str:
    """Read who holds the lock. It may have been taken just now, before the file was signed."""
    for _ in range(10):
        os.lseek(file, 0, os.SEEK_SET)
        text = os.read(file, 500).decode(errors="replace")
        if text:
            return " ".join(text.split())
        time.sleep(0.02)
    return "another process"
