"""The command `ravine`: from a file on disk to labels, a model and a page that explains what was found."""

import signal
import sys
from types import FrameType

from ravine.names import shown

INTERRUPTED = 130


def main() -> None:
    """Run the command line; errors end in one line and an exit code, 1 for bad data and 2 for bad usage."""
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        from ravine.cli._app import app

        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        # A library that is interrupted may raise something else; the user sees a line, and no traceback.
        if interrupted:
            message, code = "interrupted", INTERRUPTED
        else:
            from ravine.cli._errors import explain

            message, code = explain(error)
        if message:
            print(shown(message), file=sys.stderr)
    sys.exit(code)
