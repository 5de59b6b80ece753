"""Rows per second of HSDC and HSDC(I), as a ratio to River's CluStream, and the effect of a long stream.

    python -m benchmarks.peers.stream_speed --out results
    python -m benchmarks.peers.stream_speed --long 1e6    # a shorter stream

Ten Gaussian classes of 20 and of 50 columns, learned in batches of 1,000 rows, the best of three. CluStream is timed on
300 rows after its first 200, and ravine also on these alone, when most cuts have not been made yet. The long stream has
20 columns and is made in chunks; the time of making them is left out. Writes stream_speed.md and .json, and a CSV for
the short streams and for the long one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from numpy.typing import NDArray

from benchmarks import report, stored
from benchmarks.peers.incremental import CHUNK, mixture
from ravine import HSDC

NAME = "stream_speed"
BATCH, MILLION, MIB = 1_000, 1_000_000, 2**20
WARM, TIMED = 200, 300


def learn(model: HSDC, X: NDArray[np.float64]) -> float:
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


def same_rows_seconds(X: NDArray[np.float64], *, inherit: bool) -> float:
    """Seconds of HSDC for the rows on which CluStream is timed."""
    model = HSDC(inherit=inherit).partial_fit(X[:WARM])
    return learn(model, X[WARM : WARM + TIMED])


def speed(d: int, n_rows: int) -> dict[str, Any]:
    """Rows a second of all three, the best of three runs each."""
    X = mixture(n_rows, d, seed=1)
    learn(HSDC(inherit=True), X[: 5 * BATCH])  # compiles
    peer = TIMED / min(clustream_seconds(X) for _ in range(3))
    result: dict[str, Any] = {"columns": d, "rows": n_rows, "CluStream, rows/s": round(peer, 1)}
    for name, inherit in {"HSDC": False, "HSDC(I)": True}.items():
        ours = n_rows / min(learn(HSDC(inherit=inherit), X) for _ in range(3))
        same = TIMED / min(same_rows_seconds(X, inherit=inherit) for _ in range(3))
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


def page(stem: Path) -> str:
    short, long = stored.read_table(stem, "short"), stored.read_table(stem, "long")
    parts = [
        report.section("Rows per second, compared with CluStream", report.grid(*_turned(short))),
        report.section("A long stream of 20 columns", report.grid(*_turned(long))),
    ]
    return stored.page("Speed on streams, compared with River", stem, parts)


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
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    tables = {"long": [long_run(int(args.long))]}  # first, while the process is small
    tables["short"] = [speed(d, int(args.rows)) for d in (20, 50)]
    stored.record(stem, entry, anew=True)
    for part, rows in tables.items():
        pd.DataFrame(rows).to_csv(f"{stem}_{part}.csv", index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
