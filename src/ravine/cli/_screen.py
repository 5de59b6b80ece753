"""Terminal output: results on standard output, the rest on standard error, progress only on a terminal."""

import json
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ravine._kernels._watch import on_compilation
from ravine._names import shown

PATIENCE = 2.0
"""Seconds before a progress bar appears."""

PIPE_WIDTH = 120

COMPILING = "compiling, only the first time"
"""What the bar says instead of the name of the work while kernels are compiled."""


class Screen:
    """Print results, warnings and progress.

    Parameters
    ----------
    quiet : bool
        Print only errors.
    as_json : bool
        Print the result as one JSON object.
    results_to_stderr : bool
        Print results to standard error, because standard output is used for something else.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False, results_to_stderr: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        stream = sys.stderr if results_to_stderr else sys.stdout
        self._out = Console(file=stream, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)
        self._err = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """Print one or more lines of the result."""
        if not (self.quiet or self.as_json):
            text = "\n".join(map(shown, text.split("\n")))
            self._out.print(text, markup=False, soft_wrap=True)

    def table(self, head: list[str], rows: list[list[str]], numbers: int) -> None:
        """Print a table of the result, with its first `numbers` columns aligned to the right."""
        if self.quiet or self.as_json:
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for j, name in enumerate(head):
            table.add_column(name, justify="right" if j < numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(shown(cell)) for cell in row))
        self._out.print(table)

    def result(self, record: dict[str, Any]) -> None:
        """Print the whole result as JSON, if requested."""
        if self.as_json:
            text = json.dumps(record, allow_nan=False, ensure_ascii=False)
            # An unpaired surrogate, as in some paths, can be written only as an escape.
            text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
            print(text, file=self._out.file)

    def warn(self, text: str) -> None:
        """Print a warning."""
        if not self.quiet:
            self._err.print(f"warning: {shown(text)}", markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print what the user may want to know, but need not act on."""
        if not self.quiet:
            self._err.print(f"note: {shown(text)}", markup=False, soft_wrap=True)

    @contextmanager
    def warnings_in_a_line(self) -> Iterator[None]:
        """Print Python warnings as single lines, each once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(" ".join(str(w.message).split()) for w in caught):
            self.warn(text)

    @contextmanager
    def progress(self, what: str, total: float | None, unit: str = "rows") -> Iterator["Meter"]:
        """Return a meter that counts steps. On a terminal, a bar appears if the work takes long.

        Parameters
        ----------
        what : str
            Name of the work.
        total : float, optional
            Total number of steps.
        unit : str
            Unit of the count next to the bar.
        """
        if self.quiet or not self._err.is_terminal:
            yield Meter()
            return
        count = TextColumn("{task.fields[done]:,} " + unit)
        columns = (TextColumn("{task.description}"), BarColumn(), count, _Speed(unit), TimeElapsedColumn(), _Left())
        bar = Progress(*columns, console=self._err, transient=True)
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        task = bar.add_task(what, total=total, done=0)

        def on_kernel(name: str | None) -> None:
            bar.update(task, description=what if name is None else COMPILING)

        try:
            with on_compilation(on_kernel):
                yield Meter(bar, task)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()


class Meter:
    """Move a progress bar, if there is one.

    Parameters
    ----------
    bar : Progress, optional
    task : TaskID, optional
    """

    def __init__(self, bar: Progress | None = None, task: TaskID = TaskID(0)) -> None:  # noqa: B008 — a number
        self._bar = bar
        self._task = task

    def step(self, n_steps: float) -> None:
        """Advance the bar."""
        if self._bar is not None:
            self._bar.advance(self._task, n_steps)

    def count(self, n: int) -> None:
        """Add to the count next to the bar."""
        if self._bar is not None:
            self._bar.update(self._task, done=self._bar.tasks[self._task].fields["done"] + n)


class _Speed(ProgressColumn):
    """Count per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Average since the start."""
        speed = task.fields["done"] / task.elapsed if task.elapsed else 0.0
        return Text(f"{speed:,.0f} {self._unit}/s" if speed >= 10 else f"{speed:.1f} {self._unit}/s")


class _Left(ProgressColumn):
    """Time left, if the end is known."""

    def render(self, task: Task) -> Text:
        """In minutes and seconds."""
        if task.time_remaining is None:
            return Text("")
        minutes, seconds = divmod(int(task.time_remaining), 60)
        return Text(f"{minutes}:{seconds:02d} left")
