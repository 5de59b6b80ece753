"""Rows per second of HSDC and StreamClusterer, as a ratio to River's CluStream, and the effect of a long stream.

    python -m benchmarks.peers.stream_speed --out results
    python -m benchmarks.peers.stream_speed --long 1e6 --flat 1e6    # shorter streams
    python -m benchmarks.peers.stream_speed --only followed flat --flat 1e8 --out other

Ten Gaussian classes of 20 and of 50 columns, learned in batches of 1,000 rows, the best of three. CluStream is timed on
300 rows after its first 200, and ravine also on these alone, when most cuts have not been made yet. The long stream has
20 columns and is made in chunks; the time of making them is left out.

The followed streams have 20 groups and 50 columns, the groups at least 8 standard deviations apart. One does not
change, in the other all groups are drawn anew every 15,000 rows. The first 30,000 rows are not timed. The flat streams
are the same, longer, and timed in tenths. These use one thread, and their time is that of the processor.

Writes stream_speed.md and .json, and a CSV for each table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks import report, stored
from benchmarks.peers.groups import Groups, generator, separated
from benchmarks.peers.incremental import CHUNK, mixture
from ravine import HSDC, StreamClusterer

NAME = "stream_speed"
BATCH, MILLION, MIB = 1_000, 1_000_000, 2**20
WARM, TIMED = 200, 300
GROUPS, COLUMNS, DISTANCE, OVERHAUL = 20, 50, 8.0, 15_000
Model = HSDC | StreamClusterer
MODELS: dict[str, Callable[[], Model]] = {
    "HSDC": lambda: HSDC(n_jobs=1),
    "HSDC(I)": lambda: HSDC(inherit=True, n_jobs=1),
    "StreamClusterer": lambda: StreamClusterer(n_jobs=1),
}


def learn(model: Model, X: NDArray[np.float64]) -> float:
    """Seconds of learning the rows in batches."""
    start = time.perf_counter()
    for first in range(0, len(X), BATCH):
        model.partial_fit(X[first : first + BATCH])
    return time.perf_counter() - start


def clustream_seconds(X: NDArray[np.float64]) -> float:
    """Seconds of CluStream for the timed rows, when it has all its microclusters."""
    from river import cluster, stream

    model: Any = cluster.CluStream(n_macro_clusters=10, seed=0)
    rows = [x for x, _ in stream.iter_array(X[: WARM + TIMED])]
    for x in rows[:WARM]:
        model.learn_one(x)
    start = time.perf_counter()
    for x in rows[WARM:]:
        model.learn_one(x)
    return time.perf_counter() - start


def same_rows_seconds(make: Callable[[], Model], X: NDArray[np.float64]) -> float:
    """Seconds of a model for the rows on which CluStream is timed."""
    return learn(make().partial_fit(X[:WARM]), X[WARM : WARM + TIMED])


def speed(d: int, n_rows: int) -> dict[str, Any]:
    """Rows a second of all models, the best of three runs each."""
    X = mixture(n_rows, d, seed=1)
    for make in MODELS.values():
        learn(make(), X[: 5 * BATCH])  # compiles
    peer = TIMED / min(clustream_seconds(X) for _ in range(3))
    result: dict[str, Any] = {"columns": d, "rows": n_rows, "CluStream, rows/s": round(peer, 1)}
    for name, make in MODELS.items():
        ours = n_rows / min(learn(make(), X) for _ in range(3))
        same = TIMED / min(same_rows_seconds(make, X) for _ in range(3))
        result |= {f"{name}, rows/s": round(ours), f"{name} / CluStream": round(ours / peer)}
        result |= {f"{name}, CluStream's rows only, rows/s": round(same)}
        result |= {f"{name} / CluStream, its rows only": round(same / peer)}
    return result


def long_run(n_rows: int) -> dict[str, Any]:
    """Speed and resident memory of one process, after a million rows and at the end."""
    model, process = HSDC(), psutil.Process()
    seconds, resident = [], []
    for million in range(n_rows // MILLION):
        seconds.append(0.0)
        for part in range(MILLION // CHUNK):
            seconds[-1] += learn(model, mixture(CHUNK, 20, seed=million * MILLION // CHUNK + part + 1))
        resident.append(process.memory_info().rss / MIB)
    return {
        "rows": n_rows,
        "learning, s": round(sum(seconds), 1),
        "second million, rows/s": round(MILLION / seconds[min(1, len(seconds) - 1)]),
        "last million, rows/s": round(MILLION / seconds[-1]),
        "slowest million, rows/s": round(MILLION / max(seconds[1:] or seconds)),
        "after the first million, MiB": round(resident[0], 1),
        "at the end, MiB": round(resident[-1], 1),
        "clusters": model.n_clusters_,
        "removed cuts": len(model.drift_events_) + len(model.withdrawal_events_),
    }


def followed_rows(n_rows: int, every: int | None) -> Iterator[NDArray[np.float64]]:
    """Yield batches of groups that are drawn anew every so many rows, or never."""
    rng = generator(0, NAME, every)
    stream = Groups("gaussian", separated(GROUPS, COLUMNS, DISTANCE, rng), rng)
    for start in range(0, n_rows, BATCH):
        if every and start and start % every == 0:
            stream = Groups("gaussian", separated(GROUPS, COLUMNS, DISTANCE, rng), rng)
        yield stream.draw(min(BATCH, n_rows - start))[0]


def batch_seconds(model: Model, batches: Iterator[NDArray[np.float64]]) -> Iterator[float]:
    """Yield the processor time of learning each batch."""
    with threadpool_limits(1):
        for X in batches:
            began = time.process_time()
            model.partial_fit(X)
            yield time.process_time() - began


def followed(n_rows: int) -> Iterator[dict[str, Any]]:
    """Yield rows a second of a stream that does not change and of one that is drawn anew again and again."""
    warm = 2 * OVERHAUL
    for title, every in {"no change": None, f"all groups anew every {OVERHAUL:,} rows": OVERHAUL}.items():
        for name, make in MODELS.items():
            learn(make(), mixture(5 * BATCH, COLUMNS, seed=1))  # compiles
            model = make()
            seconds = np.array([*batch_seconds(model, followed_rows(warm + n_rows, every))])[warm // BATCH :]
            yield {
                "stream": title,
                "model": name,
                "rows": n_rows,
                "rows/s": round(n_rows / seconds.sum()),
                "slowest 1,000 rows, ms": round(1000 * seconds.max(), 1),
                "clusters": model.n_clusters_,
                "events": sum(model.n_events_.values()),
            }


def flat(n_rows: int) -> Iterator[dict[str, Any]]:
    """Yield the speed and the resident memory of StreamClusterer after each tenth of a long stream."""
    process = psutil.Process()
    for title, every in {"no change": None, f"all groups anew every {OVERHAUL:,} rows": OVERHAUL}.items():
        model = MODELS["StreamClusterer"]()
        timer = batch_seconds(model, followed_rows(n_rows, every))
        for tenth in range(10):
            seconds = sum(next(timer) for _ in range(n_rows // 10 // BATCH))
            yield {
                "stream": title,
                "rows": (tenth + 1) * (n_rows // 10),
                "rows/s": round(n_rows // 10 / seconds),
                "resident, MiB": round(process.memory_info().rss / MIB, 1),
                "clusters": model.n_clusters_,
                "events": sum(model.n_events_.values()),
            }


TITLES = {
    "short": "Rows per second, compared with CluStream",
    "long": "A long stream of 20 columns",
    "followed": "Rows per second, 20 groups and 50 columns",
    "flat": "StreamClusterer over a long stream of 20 groups and 50 columns",
}


def page(stem: Path) -> str:
    """Return the tables that were measured."""
    parts = []
    for part, title in TITLES.items():
        if Path(f"{stem}_{part}.csv").exists():
            table = stored.read_table(stem, part)
            parts.append(report.section(title, report.grid(*(_turned if part in ("short", "long") else _lines)(table))))
    return stored.page("Speed on streams, compared with River", stem, parts)


def _lines(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of a table."""
    cells = [[str(v) if isinstance(v, str) else f"{v:,}" for v in row.values()] for row in table.to_dict("records")]
    return list(table.columns), cells


def _turned(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of a table whose rows become columns: names are long, and rows are few."""
    first, *others = table.columns
    cells = {name: [f"{value:,}" for value in table[name]] for name in table.columns}
    return [first, *cells[first]], [[name, *cells[name]] for name in others]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=float, default=2e5, help="rows of the short streams (2e5)")
    cli.add_argument("--long", type=float, default=5e7, help="rows of the long stream, in millions (5e7)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--flat", type=float, default=5e6, help="rows of the flat streams, a multiple of 10,000 (5e6)")
    cli.add_argument("--only", nargs="+", choices=list(TITLES), default=list(TITLES), help="tables (all)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    measure: dict[str, Callable[[], list[dict[str, Any]]]] = {  # the long ones first, while the process is small
        "long": lambda: [long_run(int(args.long))],
        "flat": lambda: [*flat(int(args.flat))],
        "followed": lambda: [*followed(int(args.rows))],
        "short": lambda: [speed(d, int(args.rows)) for d in (20, 50)],
    }
    tables = {part: run() for part, run in measure.items() if part in args.only}
    stored.record(stem, entry, anew=set(args.only) == set(TITLES))
    for part, rows in tables.items():
        pd.DataFrame(rows).to_csv(f"{stem}_{part}.csv", index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
