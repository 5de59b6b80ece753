import io
import sys
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from tests.commands import ravine_in_this_process


@pytest.fixture
def ravine_here(capfd):
    """Runs the command in this process; bytes in, text out."""

    def run(*args, stdin=b""):
        with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))):
            code = ravine_in_this_process(*args)
        out, err = capfd.readouterr()
        return SimpleNamespace(returncode=code, out=out, err=err)

    return run
