"""Process rows in blocks, on threads.

Blocks have a fixed size and their results are returned in order, so sums over blocks never depend on the number of
threads.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Generic, TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")

BLOCK_CELLS = 1 << 20
"""Number of values in a block: enough to hide the cost of passing it to a thread, and few enough for small partial
sums."""


def map_blocks(function: Callable[[slice], Result], shape: tuple[int, ...], n_jobs: int | None) -> list[Result]:
    """Call `function` on slices that cover the rows of a matrix of this shape, and return the results in row order."""
    n_rows, n_columns = shape[0], max(shape[1], 1)
    block_rows = max(BLOCK_CELLS // n_columns, 1)
    slices = [slice(start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows)]
    return map_items(function, slices, n_jobs)


def map_items(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> list[Result]:
    """Call `function` on each item, on threads, and return the results in order; `function` may call this itself.

    If several items fail, the error of the first item is raised.
    """
    n_threads = min(count_threads(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    work = _Work(function, items)
    helpers = [_pool(os.getpid()).submit(work.run) for _ in range(n_threads - 1)]
    work.run()
    for helper in helpers:
        if not helper.cancel():  # do not wait for one that has not started: it may be queued behind this very call
            helper.result()
    return work.results()


class _Work(Generic[Item, Result]):
    """Items that several threads take one after another, until none is left or one has failed."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._next = 0
        self._lock = Lock()
        self._done: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Process items until none is left."""
        while True:
            with self._lock:
                i = self._next
                if i == len(self._items) or self._errors:
                    return
                self._next += 1
            try:
                self._done[i] = self._function(self._items[i])
            except BaseException as error:  # raised again in the thread that requested the work
                self._errors[i] = error

    def results(self) -> list[Result]:
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._done[i] for i in range(len(self._items))]


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the shared threads, which are kept because starting threads costs more than a small block.

    There is one pool per process; a forked process gets its own. Threads start when needed, up to one per core
    including the calling thread.
    """
    return ThreadPoolExecutor(max(_count_cores() - 1, 1), thread_name_prefix="ravine")


@cache
def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`, as in scikit-learn.

    None is 1, -1 means all cores of the process, and -2 all but one.

    It never exceeds the number of cores: compiled loops never wait, so more threads would only take turns.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not valid: use -1 for all cores, or a number of threads")
    if n_jobs is None:
        return 1
    n_cores = _count_cores()
    return min(n_jobs, n_cores) if n_jobs > 0 else max(n_cores + 1 + n_jobs, 1)


def _count_cores() -> int:
    """Return the number of cores that the process may use."""
    return int(joblib.cpu_count())
