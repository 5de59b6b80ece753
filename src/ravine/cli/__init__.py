"""The command line `ravine`: from a file to labels, a model and a report that explains the result."""

import atexit
import gc
import os
import signal
import sys
from types import FrameType

from ravine._names import shown
from ravine.cli._system import heeded_signals

__all__ = ["main", "run"]

ENDINGS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that end the command, if the system has them, and the message for each."""


OBJECTS = 50_000
"""The garbage collector of the command looks for cycles after this many new objects. Imports make many objects and few
cycles: with the default of 700, it takes a tenth of the time of a small file."""


def run() -> None:
    """Run the command line in a process of its own, which ends here.

    The functions of `atexit` are called, and what was printed is written. But modules are not unloaded one by one, as
    the interpreter does at its end: after Numba was imported, that takes a third of a second.
    """
    gc.set_threshold(OBJECTS)
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # as the interpreter does
        code = 120
    os._exit(code)


def main() -> None:
    """Run the command line.

    An error prints one line and sets the exit code: 1 for bad data, 2 for bad usage. A signal sets the exit code to 128
    plus the number of the signal, and leaves no incomplete file. SIGHUP is ignored if it was ignored at the start, as
    under nohup.
    """
    from ravine._files import remove_parts

    ended_by: signal.Signals | None = None

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        if ended_by is not None:  # a second signal, perhaps while files are being removed
            remove_parts()
            os._exit(128 + number)
        ended_by = signal.Signals(number)
        raise KeyboardInterrupt

    heeded = heeded_signals(ENDINGS)
    for one in heeded:
        signal.signal(one, end)
    message = ""
    try:
        from ravine.cli._app import app

        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        # An interrupted library may raise another exception. The user sees one line and no traceback.
        if ended_by is None:
            from ravine.cli._errors import explain

            message, code = explain(error)
    if ended_by is not None:
        remove_parts()
        message, code = ENDINGS[ended_by.name], 128 + ended_by
    for one in heeded:
        signal.signal(one, signal.SIG_DFL)  # no clean-up is needed any more
    if message:
        print(shown(message), file=sys.stderr)
    sys.exit(code)
