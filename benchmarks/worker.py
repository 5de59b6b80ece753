"""Fit one method on one data set in a process of its own, so that a fit that takes too long can be stopped.

The process is spawned, not forked, because OpenMP does not survive a fork; so a method must be picklable: a function at
the top of a module, not a lambda. The process lives on from fit to fit and warms each method up on a few rows first:
`fit_s` holds neither imports nor compilation.
"""

from __future__ import annotations

import multiprocessing
import re
import signal
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ravine.metrics import purity

Methods = Mapping[str, Callable[[int, int], Any]]  # name -> factory (n_clusters, seed) -> estimator
Row = dict[str, Any]

SCORES: dict[str, Callable[[Any, Any], float]] = {
    "nmi": partial(normalized_mutual_info_score, average_method="geometric"),
    "ari": adjusted_rand_score,
    "v": v_measure_score,
    "purity": purity,
}
WARM_UP_ROWS = 200
REPEATS, ENOUGH_S = 3, 1.0  # a short fit is timed again: threads that wake late can cost it many times its own length


@dataclass(frozen=True)
class DataSet:
    """A Parquet file and what is known of it without reading its features."""

    path: Path
    n: int
    d: int
    n_classes: int
    sampled: bool = False

    @classmethod
    def describe(cls, path: Path, rows: int | None = None, *, sampled: bool = False) -> DataSet:
        """Read the labels of the file, of its first `rows` rows, or, if `sampled`, of as many random ones."""
        labels = _chosen(pq.read_table(path, columns=["label"]), rows, sampled)["label"].to_numpy()
        return cls(path, len(labels), len(pq.read_schema(path).names) - 1, len(np.unique(labels)), sampled)

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Task:
    """One fit."""

    data: DataSet
    method: str
    seed: int
    shuffle: bool
    scale: bool


def _chosen(table: pa.Table, rows: int | None, sampled: bool) -> pa.Table:
    """Return the first rows, or random ones in the order of the file: the same ones in every process."""
    if not sampled or rows is None or rows >= len(table):
        return table.slice(0, rows)
    return table.take(np.sort(np.random.default_rng(0).choice(len(table), rows, replace=False)))


@lru_cache(maxsize=1)
def load(data: DataSet, scale: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features and labels; `scale` drops constant columns and gives the others unit variance."""
    table = _chosen(pq.read_table(data.path), data.n, data.sampled)
    y = table["label"].to_numpy().astype(np.int64)
    X = np.column_stack([table[name].to_numpy().astype(np.float64) for name in table.column_names if name != "label"])
    if scale:
        X = StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0])
    return np.ascontiguousarray(X), y


def without_folders(text: str) -> str:
    """The text with the folders of every path left out."""
    return re.sub(r"(?<![\w/])[~.]*/(?:[^\s/'\"]+/)*(?=[^\s/])", "", text)


def _warm_up(estimator: Any, X: NDArray[np.float64]) -> None:
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        estimator.fit(np.ascontiguousarray(X[:: -(-len(X) // WARM_UP_ROWS)]))


def _timed(
    make: Callable[[], Any], X: NDArray[np.float64], stage_over: Callable[[], None]
) -> tuple[NDArray[Any], float]:
    """Labels, and the seconds of the fastest fit: a fit is repeated, at most twice, until a second has passed."""
    times: list[float] = []
    while not times or (len(times) < REPEATS and sum(times) < ENOUGH_S):
        stage_over()
        estimator = make()
        start = time.perf_counter()
        labels = estimator.fit_predict(X)
        times.append(time.perf_counter() - start)
    return labels, min(times)


def _make(task: Task, methods: Methods, threads: int | None) -> Any:
    """Make the estimator of a task, with so many threads where it has a parameter for them."""
    estimator = methods[task.method](task.data.n_classes, task.seed)
    if threads is not None and hasattr(estimator, "n_jobs"):
        estimator.n_jobs = threads
    return estimator


def _fit(task: Task, make: Callable[[], Any], warm: set[str], stage_over: Callable[[], None]) -> Row:
    X, y = load(task.data, task.scale)
    if task.shuffle:
        order = np.random.default_rng(task.seed).permutation(len(X))
        X, y = X[order], y[order]
    stage_over()
    if task.method not in warm:
        _warm_up(make(), X)
        warm.add(task.method)
    labels, fit_s = _timed(make, X, stage_over)
    scores = {name: round(float(score(y, labels)), 6) for name, score in SCORES.items()}
    return {"k": len(np.unique(labels)), **scores, "fit_s": round(fit_s, 6), "status": "ok"}


def _error(error: Exception) -> Row:
    message = " ".join(f"error: {type(error).__name__}: {error}".split())
    return {"status": without_folders(message)[:200]}


def _serve(pipe: Connection[Any, Any], methods: Methods, threads: int | None) -> None:
    """Answer tasks with rows until the other end closes; `None` says that a stage is over and the clock starts anew."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm: set[str] = set()
    with suppress(EOFError, BrokenPipeError):
        while True:
            task = pipe.recv()
            try:
                with threadpool_limits(threads):
                    row = _fit(task, partial(_make, task, methods, threads), warm, lambda: pipe.send(None))
            except BrokenPipeError:
                raise
            except Exception as error:
                row = _error(error)
            pipe.send(row)


class Worker:
    """A process that fits; `limit` bounds the seconds of a fit, and of the warm-up before the first one of a method.

    `threads` bounds the threads of a fit: those of BLAS, of OpenMP and of an estimator with the parameter `n_jobs`.
    """

    def __init__(self, methods: Methods, limit: float | None, threads: int | None = None) -> None:
        self._methods = methods
        self._limit = limit
        self._threads = threads
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection[Any, Any]

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._methods, self._threads))
        self._process.start()
        theirs.close()

    def _stop(self, patience: float = 0) -> int | None:
        if self._process is None:
            return None
        self._process.join(patience)
        self._process.kill()
        self._process.join()
        self._pipe.close()
        code, self._process = self._process.exitcode, None
        return code

    def fit(self, task: Task) -> Row:
        """Give the scores, the seconds and the status of one fit."""
        if self._process is None:
            self._start()
        try:
            return self._answer(task)
        except (EOFError, OSError):
            return {"status": f"error: the process died (exit code {self._stop(patience=5)})"}

    def _answer(self, task: Task) -> Row:
        self._pipe.send(task)
        limit = None  # starting and reading the file are not on the clock
        while self._pipe.poll(limit):
            row: Row | None = self._pipe.recv()
            if row is not None:
                return row
            limit = self._limit
        self._stop()
        return {"status": "timeout"}
