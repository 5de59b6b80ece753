"""Files without a name that hold a copy of the rows while a fit lasts.

A file has no name, or is deleted by the system when it is closed, so it disappears with the process, however that ends.
It is read and written with plain calls, not mapped into memory: its pages do not count as memory of the process.
"""

import os
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

SETTING = "RAVINE_SCRATCH"
"""Environment variable that names the folder for copies of rows; if it is empty, no copy is made."""

SHARE = 0.9
"""A copy takes at most this share of the free space on the disk."""

IN_MEMORY = ("tmpfs", "ramfs")
"""Types of file systems whose files are held in memory."""


class NoSpaceError(OSError):
    """There is no folder with enough space for a copy; the message says what to change."""


def is_switched_off() -> bool:
    """Return whether the user wants no copies."""
    return os.environ.get(SETTING) == ""


def find_folder(n_bytes: int) -> tuple[str, float]:
    """Return a folder with space for this many bytes, and how many bytes a copy there may take.

    The folder is that of the setting, or else the system's folder for temporary files, or /var/tmp if the former is
    held in memory or too full.
    """
    chosen, found = os.environ.get(SETTING), []
    for folder in [chosen] if chosen else _temporary_folders():
        try:
            free = _free(folder)
        except OSError as error:
            found.append(f"{folder} cannot be used ({error.strerror})")
            continue
        if not os.access(folder, os.W_OK):
            found.append(f"{folder} cannot be written to")
        elif n_bytes > SHARE * free:
            found.append(f"{folder} has {_text(free)} free and the copy takes {_text(n_bytes)}")
        else:
            return folder, SHARE * free
    raise NoSpaceError(", ".join(found) or "all folders for temporary files are held in memory")


def _temporary_folders() -> list[str]:
    folders = dict.fromkeys([tempfile.gettempdir(), "/var/tmp"] if os.name == "posix" else [tempfile.gettempdir()])
    return [folder for folder in folders if not _is_in_memory(folder)]


def _is_in_memory(folder: str) -> bool:
    """Return whether files of a folder are held in memory; only Linux tells."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        place = Path(folder).resolve()
    except OSError:
        return False
    above = [(len(m[1]), m[2]) for m in mounts if len(m) > 2 and place.is_relative_to(m[1].replace("\\040", " "))]
    return bool(above) and max(above)[1] in IN_MEMORY


def _free(folder: str) -> int:
    """Return the number of free bytes on the disk of a folder."""
    import shutil

    return shutil.disk_usage(folder).free


def _text(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB"


class ScratchFile:
    """Arrays on disk, read and written at positions in bytes, from several threads.

    Parameters
    ----------
    folder : str
    """

    def __init__(self, folder: str) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed by `close`
        self._lock = Lock()

    def read(self, position: int, out: NDArray[Any]) -> None:
        """Fill an array."""
        left = _bytes_of(out)
        while len(left):
            n = self._read_at(position, left)
            if not n:
                raise OSError("the copy of the rows is shorter than it was written")
            position, left = position + n, left[n:]

    def write(self, position: int, array: NDArray[Any]) -> None:
        """Write all entries of an array."""
        left = _bytes_of(np.ascontiguousarray(array))
        while len(left):
            n = self._write_at(position, left)
            position, left = position + n, left[n:]

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def _read_at(self, position: int, out: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [out], position)
        with self._lock:
            self._file.seek(position)
            return int(self._file.readinto(out) or 0)

    def _write_at(self, position: int, data: memoryview) -> int:
        if hasattr(os, "pwrite"):
            return os.pwrite(self._file.fileno(), data, position)
        with self._lock:
            self._file.seek(position)
            return self._file.write(data)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
