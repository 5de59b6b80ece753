"""What the command asks of the operating system, and what differs between systems; for files see `ravine._files`."""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.platform == "win32":
    import ctypes

    class _MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of the Windows API."""

        _fields_ = (
            ("dwLength", ctypes.c_ulong),
            ("dwMemoryLoad", ctypes.c_ulong),
            *((f"value_{i}", ctypes.c_ulonglong) for i in range(7)),  # the first one is the physical memory
        )


def memory_of_the_machine() -> int:
    """Bytes of physical memory."""
    if sys.platform == "win32":
        status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            raise ctypes.WinError()
        return int(status.value_0)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def heeded_signals(names: Iterable[str]) -> list[signal.Signals]:
    """Signals that the system has and that were not ignored when the command began, as SIGHUP is under nohup.

    SIGINT is always among them: a shell ignores it for commands in the background, and a user may still send it.
    """
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [one for one in known if one == signal.SIGINT or signal.getsignal(one) != signal.SIG_IGN]


def sync(path: Path) -> None:
    """Wait until the file, or the names in the folder, are safe on disk."""
    on_windows = sys.platform == "win32"
    if on_windows and path.is_dir():  # a folder cannot be opened there
        return
    file = os.open(path, os.O_RDWR if on_windows else os.O_RDONLY)  # Windows syncs only what may be written
    try:
        os.fsync(file)
    finally:
        os.close(file)
