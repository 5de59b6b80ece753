"""The command `ravine` in this process, where all is imported already: that takes most of its time."""

import signal
import sys
from unittest.mock import patch

from ravine.cli import main


def ravine_in_this_process(*args):
    """Run the command; its exit code."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        with patch.object(sys, "argv", ["ravine", *map(str, args)]):
            main()
    except SystemExit as ended:
        return ended.code or 0
    finally:
        signal.signal(signal.SIGINT, handler)
    return 0
