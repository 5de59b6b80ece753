import io
import subprocess
import sys
import time
import warnings

import pytest
from rich.console import Console

from ravine._kernels._watch import begin, end
from ravine.cli import _screen
from ravine.cli._screen import Screen


@pytest.fixture
def terminal(monkeypatch):
    """A screen whose standard error is a terminal, and what is written there."""
    monkeypatch.setattr(_screen, "PATIENCE", 0.1)
    screen, written = Screen(), io.StringIO()
    screen._err = Console(file=written, force_terminal=True, width=120)
    return screen, written


def test_long_work_shows_rows_speed_and_time_left(terminal):
    screen, written = terminal
    with screen.progress("learning", 10_000) as meter:
        for _ in range(8):
            meter.count(1000)
            meter.step(1000)
            time.sleep(0.1)
    shown = written.getvalue()
    assert "learning" in shown
    assert "8,000 rows" in shown
    assert "rows/s" in shown
    assert "left" in shown


def test_bar_says_when_kernels_are_compiled_and_then_what_runs(terminal):
    screen, written = terminal
    with screen.progress("learning", 10):
        begin("walk")
        time.sleep(0.4)
        assert "compiling, only the first time" in written.getvalue()
        assert "learning" not in written.getvalue()
        end()
        time.sleep(0.3)
    assert "learning" in written.getvalue()


def test_short_work_shows_nothing(terminal):
    screen, written = terminal
    with screen.progress("learning", 10) as meter:
        meter.step(5)
    assert written.getvalue() == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_no_bar_without_a_terminal_or_when_quiet(monkeypatch, capsys, quiet):
    monkeypatch.setattr(_screen, "PATIENCE", 0.0)
    screen = Screen(quiet=quiet)
    if quiet:
        screen._err = Console(file=sys.stderr, force_terminal=True)
    with screen.progress("learning", None) as meter:
        meter.count(3)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_warnings_of_python_become_lines_each_once(capsys):
    with Screen().warnings_in_a_line():
        for _ in range(2):
            warnings.warn("a  long\n story", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a long story\n"


def test_markup_in_a_name_is_shown_as_it_is(capsys):
    screen = Screen()
    screen.say("[bold]a[/bold]")
    screen.table(["name"], [["[red]b[/red]"]], numbers=0)
    screen.warn("[link]c")
    out, err = capsys.readouterr()
    assert "[bold]a[/bold]" in out
    assert "[red]b[/red]" in out
    assert err == "warning: [link]c\n"


def test_help_imports_none_of_the_heavy_libraries():
    code = (
        "import sys, ravine.cli._app; print(*(m for m in ('numpy', 'pyarrow', 'sklearn', 'numba') if m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b""
