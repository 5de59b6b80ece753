"""What a fit would take on 16 threads if memory were no limit: how much of it is serial, found on any machine.

    python -m benchmarks.serial_share
    python -m benchmarks.serial_share --threads 8 --rows 200000 --type float32

Everything runs on one thread. Items that threads would share are timed one by one, and count as long as those of the
busiest thread, together with what waking the threads takes. All else counts in full. Two nodes that are searched at the
same time count as if each had all threads, so the figures are a little too good. Ten groups in 50 columns, as in
`benchmarks.peers.cores`. Prints a table.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.peers.cores import FITS, groups
from ravine import _blocks

WAKING = 15e-6
"""Seconds that it takes until all threads work on an item."""


class Clock:
    """Seconds that would pass if threads shared the work."""

    def __init__(self) -> None:
        self.saved = 0.0

    def now(self) -> float:
        return time.perf_counter() - self.saved


def busiest(seconds: list[float], n_threads: int) -> float:
    """Return how long the busiest thread works if each takes the next item when it is free."""
    loads = [0.0] * n_threads
    for one in seconds:
        heapq.heapreplace(loads, loads[0] + one)
    return max(loads)


def timed_work(clock: Clock, n_threads: int) -> type[_blocks._Work[Any, Any]]:
    """Return the class that does all items on this thread, and lets the clock show what threads would take."""

    class TimedWork(_blocks._Work[Any, Any]):
        def run(self) -> None:
            function, seconds = self._function, []

            def timed(item: Any) -> Any:
                start = clock.now()
                try:
                    return function(item)
                finally:
                    seconds.append(clock.now() - start)

            self._function = timed
            began = clock.now()
            super().run()
            clock.saved += clock.now() - began - busiest(seconds, n_threads) - WAKING

    return TimedWork


class Nobody:
    """Takes the place of the other threads. A mock would keep all that it is asked to do, and so all results."""

    def ask(self, call: Callable[[], None], n_threads: int) -> None:
        """Do nothing: the work is done by the thread that asks."""


def fit_as_if(make: Callable[[int], Any], X: np.ndarray, n_threads: int) -> tuple[float, float]:
    """Return the seconds of a fit on one thread, and those that it would take on more."""
    clock, nobody = Clock(), Nobody()

    def count_threads(n_jobs: int | None) -> int:
        return n_threads

    def helpers(process: int) -> Nobody:
        return nobody

    work = timed_work(clock, n_threads)
    with mock.patch.multiple(_blocks, count_threads=count_threads, _helpers=helpers, _Work=work):
        start, start_as_if = time.perf_counter(), clock.now()
        make(n_threads).fit(X)
        return time.perf_counter() - start, clock.now() - start_as_if


def main() -> None:
    """Measure and print."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=int, default=1_000_000, help="number of rows (1,000,000)")
    cli.add_argument("--threads", type=int, default=16, help="number of threads (16)")
    cli.add_argument("--type", choices=["float64", "float32"], default="float64", help="type of numbers (float64)")
    cli.add_argument("--repeats", type=int, default=3, help="how often each fit is timed; the best counts (3)")
    args = cli.parse_args()
    X = groups(args.rows).astype(args.type, copy=False)
    print(f"{'':18}{'one thread':>12}{f'as if {args.threads}':>12}{'times faster':>14}")
    for name, make in FITS.items():
        make(1).fit(X[:60_000])  # compiles the kernels
        alone, shared = min((fit_as_if(make, X, args.threads) for _ in range(args.repeats)), key=lambda both: both[1])
        print(f"{name:18}{alone:10.3f} s{shared:10.3f} s{alone / shared:14.1f}", flush=True)


if __name__ == "__main__":
    main()
