"""Process rows in blocks, on threads.

Blocks do not depend on the number of threads, and their results are added in order. So sums never depend on it, either.
There are three ways to divide rows:

- `map_blocks` calls a function on every block. A block is large enough to hide the cost of the call.
- `sum_blocks` adds up what a kernel returns for every block. One call does many blocks, so that blocks can be small and
  few rows can use many threads.
- `map_rows` calls a function on as many slices as there are threads, for results that do not depend on the slices.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK_CELLS = 1 << 20
"""Number of values in a block: enough to hide the cost of passing it to a thread, and few enough for small partial
sums."""

N_BLOCKS, LEAST_CELLS = 64, 1 << 15
"""Maximum number of blocks of a sum, and minimum number of values in a block."""

LEAST_SHARE = 1 << 18
"""Minimum number of values in the share of a thread: they take several times as long as waking one."""

RUNS_PER_THREAD = 2
"""A pass has this many calls for each thread, so that one that begins late does less."""


def map_blocks(function: Callable[[slice], Result], shape: tuple[int, ...], n_jobs: int | None) -> list[Result]:
    """Call `function` on slices that cover the rows of a matrix of this shape, and return the results in row order."""
    n_rows, n_columns = shape[0], max(shape[1], 1)
    block_rows = max(BLOCK_CELLS // n_columns, 1)
    slices = [slice(start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows)]
    return map_items(function, slices, n_jobs)


def sum_blocks(
    kernel: Callable[[slice, int], NDArray[Any]], shape: tuple[int, int], n_jobs: int | None, n_blocks: int = N_BLOCKS
) -> NDArray[Any]:
    """Return the sum over blocks of rows, in their order, of the lines of `lines_of_blocks`."""
    lines = lines_of_blocks(kernel, shape, n_jobs, n_blocks)
    return lines[0] if len(lines) == 1 else np.asarray(np.sum(lines, axis=0))


def lines_of_blocks(
    kernel: Callable[[slice, int], NDArray[Any]], shape: tuple[int, int], n_jobs: int | None, n_blocks: int = N_BLOCKS
) -> NDArray[Any]:
    """Return what a kernel computes from each block of rows, one line for each.

    Parameters
    ----------
    kernel : callable ``(rows, block_rows) -> ndarray``
        Returns one line for each block of `block_rows` rows; `rows` is a slice that begins with a block.
    shape : tuple of int
        Shape of the rows; there must be at least one.
    n_jobs : int or None
    n_blocks : int
        Maximum number of blocks.
    """
    n_rows, n_columns = shape[0], max(shape[1], 1)
    block_rows = max(-(-n_rows // n_blocks), LEAST_CELLS // n_columns, 1)
    if n_rows <= block_rows:
        check_threads(n_jobs)
        return kernel(slice(0, n_rows), block_rows)
    starts = range(0, n_rows, block_rows)
    bounds = [*(starts[k] for k in _even_bounds(len(starts), n_rows * n_columns, n_jobs)[:-1]), n_rows]
    parts = map_items(lambda rows: kernel(rows, block_rows), _slices(bounds), n_jobs)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def count_blocks(rows: slice, block_rows: int) -> int:
    """Return how many blocks of `block_rows` rows a slice has; the last one may be shorter."""
    return -(-(rows.stop - rows.start) // block_rows)


def map_rows(
    function: Callable[[slice], Result], shape: tuple[int, int], n_jobs: int | None, least_rows: int = 1
) -> list[Result]:
    """Call `function` on slices that cover the rows, and return the results in order.

    The slices depend on the number of threads, so the results must not depend on where a slice begins. `least_rows` is
    the number of rows for which a slice is worth its result.
    """
    n_rows, n_columns = shape[0], max(shape[1], 1)
    n_slices = max(n_rows // least_rows, 1)
    if n_rows * n_columns < 2 * LEAST_SHARE or n_slices == 1:
        check_threads(n_jobs)
        return [function(slice(0, n_rows))]
    bounds = _even_bounds(n_slices, n_rows * n_columns, n_jobs)
    return map_items(function, _slices([bound * n_rows // n_slices for bound in bounds]), n_jobs)


def _even_bounds(n_items: int, n_cells: int, n_jobs: int | None) -> list[int]:
    """Return where runs of items begin and end, with enough work in each to be worth a thread."""
    n_runs = max(min(n_cells // LEAST_SHARE, n_items), 1)
    if n_runs > 1:
        n_threads = count_threads(n_jobs)
        n_runs = min(n_runs, RUNS_PER_THREAD * n_threads if n_threads > 1 else 1)
    return [k * n_items // n_runs for k in range(n_runs + 1)]


def _slices(bounds: list[int]) -> list[slice]:
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def map_items(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> list[Result]:
    """Call `function` on each item, on threads, and return the results in order; `function` may call this itself.

    If several items fail, the error of the first item is raised.
    """
    check_threads(n_jobs)
    n_threads = min(count_threads(n_jobs), len(items)) if len(items) > 1 else 1
    if n_threads <= 1:
        return [function(item) for item in items]
    work = _Work(function, items)
    _helpers(os.getpid()).ask(work.run, n_threads - 1)
    work.run()
    return work.results()


class _Work(Generic[Item, Result]):
    """Items that several threads take one after another, until none is left or one has failed."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._next, self._n_running = 0, 0
        self._lock, self._ended = Lock(), Event()
        self._done: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Process items until none is left."""
        i = self._take()
        while i is not None:
            try:
                self._done[i] = self._function(self._items[i])
            except BaseException as error:  # raised again in the thread that requested the work
                self._errors[i] = error
            i = self._take(1)

    def _take(self, n_finished: int = 0) -> int | None:
        """Return the next item, after one or none that was finished; None if no item is left."""
        with self._lock:
            self._n_running -= n_finished
            if self._next == len(self._items) or self._errors:
                if self._n_running == 0:
                    self._ended.set()
                return None
            i = self._next
            self._next, self._n_running = i + 1, self._n_running + 1
            return i

    def results(self) -> list[Result]:
        """Wait for the items that other threads process, but not for threads that have not come to help."""
        self._ended.wait()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._done[i] for i in range(len(self._items))]


class _Helpers:
    """Threads that are kept, because starting them costs more than a small block; they start when first needed.

    A pass over a large node takes a few milliseconds on all cores. The standard library's executor would spend a tenth
    of that on its futures.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._n_threads = 0
        self._lock = Lock()

    def ask(self, call: Callable[[], None], n_threads: int) -> None:
        """Have this many threads make a call that never raises, each as soon as it is free."""
        with self._lock:
            while self._n_threads < min(n_threads, count_threads(-1) - 1):
                self._n_threads += 1
                Thread(target=self._serve, name=f"ravine-{self._n_threads}", daemon=True).start()
        for _ in range(n_threads):
            self._calls.put(call)

    def _serve(self) -> None:
        while True:
            self._calls.get()()


@cache
def _helpers(process: int) -> _Helpers:
    """Return the threads of this process; a forked process gets its own."""
    return _Helpers()


@cache
def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`, as in scikit-learn.

    None is 1, -1 means all cores of the process, and -2 all but one.

    It never exceeds the number of cores: compiled loops never wait, so more threads would only take turns.
    """
    check_threads(n_jobs)
    if n_jobs is None:
        return 1
    n_cores = _count_cores()
    return min(n_jobs, n_cores) if n_jobs > 0 else max(n_cores + 1 + n_jobs, 1)


def check_threads(n_jobs: int | None) -> None:
    """Raise ValueError if `n_jobs` is not a number of threads."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not valid: use -1 for all cores, or a number of threads")


def _count_cores() -> int:
    """Return the number of cores that the process may use."""
    import joblib  # a small file needs one block, and no threads

    return int(joblib.cpu_count())
