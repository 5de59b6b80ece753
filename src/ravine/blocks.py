"""Work on rows in blocks, on threads.

Blocks have a fixed size and their results come back in order, so sums over blocks never depend on the number of
threads.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

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
    """Call `function` on each item, on threads, and list the results in order."""
    n_threads = min(count_threads(n_jobs), len(items))
    if n_threads <= 1:
        return [function(item) for item in items]
    return list(_pool(n_threads, os.getpid()).map(function, items))


def map_both(function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None) -> list[Result]:
    """Call `function` on two items, at the same time if there are threads for it; it may itself call `map_blocks`."""
    if count_threads(n_jobs) == 1:
        return [function(item) for item in items]
    return list(_pool(2, os.getpid(), "pairs").map(function, items))


@cache
def _pool(n_threads: int, process: int, purpose: str = "blocks") -> ThreadPoolExecutor:
    """Threads that are kept: to start them anew costs more than a small block. A forked process gets its own."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix=f"ravine-{purpose}")


@cache
def count_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs` as scikit-learn reads it: None is one, -1 all cores of the process, -2 all but one."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use -1 for all cores, or the number of threads")
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(joblib.cpu_count() + 1 + n_jobs, 1)
