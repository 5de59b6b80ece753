"""Score clustering methods on a folder of Parquet files and go on where a killed run stopped.

A script hands :func:`run` a dict of methods, name -> factory `(n_clusters, seed) -> estimator`. Each fit adds a row to
`NAME.csv`; `NAME.json` says when, how and with which versions every part was run. At the end the script's own function
makes `NAME.md` of these two files.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import joblib
import pandas as pd

from benchmarks import report, stored
from benchmarks.worker import SCORES, DataSet, Methods, Row, Task, Worker

COLUMNS = ("dataset", "method", "seed", "n", "d", "n_classes", "k", *SCORES, "fit_s", "status")


def run(
    methods: Methods,
    *,
    name: str,
    page: Callable[[Path], str],
    description: str | None = None,
    among: Collection[str] | None = None,
    rows: Mapping[str, int] | None = None,
    sample: int | None = None,
    limit: float | None = None,
    threads: int | None = None,
    packages: Sequence[str] = (),
    argv: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Read the command line, fit what is not yet in the results, write the tables and give all rows.

    Parameters
    ----------
    methods : dict
        Name -> picklable factory `(n_clusters, seed) -> estimator`; times are ratios to the first.
    name : str
        Stem of the files written.
    page : callable
        Takes the path of the files without their endings and gives the Markdown of what they hold.
    description : str
        What `--help` says.
    among : collection of str
        The only data sets of interest; all by default.
    rows : dict
        Data set -> number of its first rows to use, where a paper used fewer.
    sample : int
        Number of random rows to use of every data set that has more, instead of `rows`.
    limit : float
        Seconds after which a fit is stopped, unless the command line says otherwise.
    threads : int
        Maximum number of threads of a fit.
    packages : sequence of str
        Other software under measurement, whose versions are recorded too.
    argv : sequence of str
        Arguments instead of those of the command line.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser(description, limit).parse_args(words)
    settings: dict[str, Any] = {"scale": args.scale, "shuffle": args.seeds > 1, "rows": dict(rows or {})}
    if sample is not None:
        settings["sample"] = sample
    paths = find(args.data, only=args.only, skip=args.skip)
    sets = [
        DataSet.describe(paths[key], sample or settings["rows"].get(key), sampled=sample is not None)
        for key in paths
        if among is None or key in among
    ]
    tasks = [
        Task(data, method, seed, settings["shuffle"], settings["scale"])
        for data in sets
        for method in methods
        for seed in range(args.seeds)
        if data.n * data.d <= args.max_cells
    ]
    if not tasks:
        sys.exit(f"no data set to use in {args.data.name}")
    stem = args.out / name
    stored.record(stem, stored.run_details(words, packages) | {"settings": settings})
    workers = [Worker(methods, args.limit, threads) for _ in range(args.jobs)]
    results = _fill(stem.with_suffix(".csv"), tasks, workers)
    stored.write_page(stem, page(stem))
    return results


def page(
    stem: Path,
    *,
    title: str,
    methods: Sequence[str],
    scores: Sequence[str] = ("nmi", "ari"),
    pairs: Mapping[str, str] | None = None,
    first: Callable[[pd.DataFrame], str] | None = None,
) -> str:
    """Tables of all scores and of the times, below what `first` makes of the rows; `pairs` as in `report.against`."""
    results = stored.read_table(stem)
    comparisons = [report.against(results, score, pairs) for score in scores] if pairs else []
    tables = report.markdown(results, scores, methods, comparisons)
    return stored.page(title, stem, [first(results) if first else "", tables])


def _parser(description: str | None, limit: float | None) -> argparse.ArgumentParser:
    cli = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--only", nargs="+", metavar="NAME", help="data sets to use")
    cli.add_argument("--skip", nargs="+", default=[], metavar="NAME", help="data sets to leave out")
    cli.add_argument(
        "--max-cells", type=float, default=float("inf"), help="leave out data sets with more rows × columns"
    )
    cli.add_argument(
        "--scale", action=argparse.BooleanOptionalAction, default=True, help="scale to unit variance (yes)"
    )
    cli.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="runs a method; more than one shuffles the rows (1)"
    )
    usual = "none" if limit is None else f"{limit:g}"
    cli.add_argument(
        "--limit", type=float, default=limit, metavar="SECONDS", help=f"stop a fit that takes longer ({usual})"
    )
    cli.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that fit at the same time (1)")
    return cli


def find(folder: Path, *, only: Collection[str] | None, skip: Collection[str]) -> dict[str, Path]:
    """Name -> file of the data sets asked for."""
    paths = {path.stem: path for path in sorted(folder.glob("*.parquet")) if not path.stem.endswith("_splits")}
    unknown = {*(only or ()), *skip} - set(paths)
    if unknown:
        sys.exit(f"no such data set: {', '.join(sorted(unknown))}")
    return {name: path for name, path in paths.items() if name in (only or paths) and name not in skip}


def _fill(path: Path, tasks: Sequence[Task], workers: Sequence[Worker]) -> pd.DataFrame:
    """Run the tasks that the file does not hold yet, one row at a time, and read it all back."""
    done = _finished(path)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not file.tell():
            writer.writeheader()
        for row in _rows((task for task in tasks if _key(task) not in done), workers):
            writer.writerow(row)
            file.flush()
            print(*(f"{row[key]}" for key in ("dataset", "method", "seed", "status")), flush=True)
    return pd.read_csv(path)


def _finished(path: Path) -> set[tuple[str, str, str]]:
    """Data set, method and seed of every row, after cutting off a line that a killed run left half-written."""
    if not path.exists():
        return set()
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    os.truncate(path, len(whole))
    return {(row["dataset"], row["method"], row["seed"]) for row in csv.DictReader(whole.decode().splitlines())}


def _key(task: Task) -> tuple[str, str, str]:
    return task.data.name, task.method, str(task.seed)


def _rows(tasks: Iterable[Task], workers: Sequence[Worker]) -> Iterator[Row]:
    """Yield the rows of the tasks as they are done: with one worker, in their order."""
    free: SimpleQueue[Worker] = SimpleQueue()
    with ExitStack() as stack:
        for worker in workers:
            free.put(stack.enter_context(worker))
        parallel = joblib.Parallel(len(workers), "threading", batch_size=1, return_as="generator_unordered")
        yield from parallel(joblib.delayed(_row)(task, free) for task in tasks)


def _row(task: Task, free: SimpleQueue[Worker]) -> Row:
    row = dict.fromkeys(COLUMNS, "") | {"dataset": task.data.name, "method": task.method, "seed": task.seed}
    row |= {"n": task.data.n, "d": task.data.d, "n_classes": task.data.n_classes}
    worker = free.get()
    try:
        return row | worker.fit(task)
    finally:
        free.put(worker)
