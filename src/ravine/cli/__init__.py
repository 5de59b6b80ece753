"""The command `ravine`: from a file on disk to labels, a model and a page that explains what was found."""

import os
import signal
import sys
from types import FrameType

from ravine._names import shown
from ravine.cli._system import heeded_signals

__all__ = ["main"]

ENDINGS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that end the command, as far as the system has them, and what is said then."""


def main() -> None:
    """Run the command line; errors end in one line and an exit code, 1 for bad data and 2 for bad usage.

    A signal ends it with 128 and the number of the signal, and no half file is left. SIGHUP is not heeded where it was
    ignored before, as under nohup.
    """
    from ravine._files import remove_parts

    ended_by: signal.Signals | None = None

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended_by
        if ended_by is not None:  # the first one was not enough, or came while files were being removed
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
        # A library that is interrupted may raise something else; the user sees a line, and no traceback.
        if ended_by is None:
            from ravine.cli._errors import explain

            message, code = explain(error)
    if ended_by is not None:
        remove_parts()
        message, code = ENDINGS[ended_by.name], 128 + ended_by
    for one in heeded:
        signal.signal(one, signal.SIG_DFL)  # nothing is left to be done
    if message:
        print(shown(message), file=sys.stderr)
    sys.exit(code)
