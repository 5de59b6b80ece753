"""Work on rows in blocks, on threads.

Blocks have a fixed size and their results come back in order, so sums over blocks never depend on the number of
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
"""Numbers in a block: enough to hide the cost of handing it to a thread, few enough for partial sums to be small."""


def map_blocks(function: Callable[[slice], Result], shape: tuple[int, ...], n_jobs: int | None) -> list[Result]:
    """Call `function` on slices that cover the rows of a matrix of this shape, and list the results in row order."""
    n_rows, n_columns = shape[0], max(shape[1], 1)
    block_rows = max(BLOCK_CELLS // n_columns, 1)
    slices = [slice(start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows)]
    return map_items(function, slices, n_jobs)


def map_items(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> list[Result]:
    """Call `function` on each item, on threads, and list the results in order; it may itself call this.

    Of several errors that of the first item is raised.
    """
    n_threads = min(count_threads(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    work = _Work(function, items)
    helpers = [_pool(os.getpid()).submit(work.run) for _ in range(n_threads - 1)]
    work.run()
    for helper in helpers:
        if not helper.cancel():  # one that has not begun is not waited for: it may stand behind this very call
            helper.result()
    return work.results()


class _Work(Generic[Item, Result]):
    """Items that several threads take one after the other, until none is left or one has failed."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._next = 0
        self._lock = Lock()
        self._done: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Take items as long as there are any."""
        while True:
            with self._lock:
                i = self._next
                if i == len(self._items) or self._errors:
                    return
                self._next += 1
            try:
                self._done[i] = self._function(self._items[i])
            except BaseException as error:  # raised again in the thread that asked for the work
                self._errors[i] = error

    def results(self) -> list[Result]:
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._done[i] for i in range(len(self._items))]


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that are kept: to start them anew costs more than a small block. A forked process gets its own.

    One pool for all, which starts threads as they are needed, beside the thread that asks for them one for each core.
    """
    return ThreadPoolExecutor(max(_count_cores() - 1, 1), thread_name_prefix="ravine")


@cache
def count_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs` as scikit-learn reads it: None is one, -1 all cores of the process, -2 all but one.

    Never more than there are cores: compiled loops do not wait for anything, and more threads only take turns.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use -1 for all cores, or the number of threads")
    if n_jobs is None:
        return 1
    n_cores = _count_cores()
    return min(n_jobs, n_cores) if n_jobs > 0 else max(n_cores + 1 + n_jobs, 1)


def _count_cores() -> int:
    """Cores that the process may use."""
    return int(joblib.cpu_count())
