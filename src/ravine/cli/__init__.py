"""The command `ravine`: from a file on disk to labels, a model and a page that explains what was found."""

import sys


def main() -> None:
    """Run the command line; errors end in one line and an exit code, 1 for bad data and 2 for bad usage."""
    try:
        from ravine.cli._errors import explain
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        from ravine.cli._app import app

        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # an interruption too ends in a line, not in a traceback
        message, code = explain(error)
        if message:
            print(message, file=sys.stderr)
    sys.exit(code)
