"""Two costs of PDDP: predict as a multiple of one pass `X @ v`, and the peak memory of fit as a multiple of the data.

    python -m benchmarks.peers.predict --out results

Predict sends the rows through a tree of depth 5 that was grown on 20,000 rows; both sides are the best of five in one
run. The memory is that of a fresh process: its peak after fit less what it held just before, when a fit on few rows had
imported and compiled everything. Writes predict_time.csv, predict_memory.csv, predict.md and .json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from numpy.typing import NDArray

from benchmarks import methods, report, stored

NAME = "predict"
COLUMNS = 50
LEAVES = 32
CLUSTERS = 10
MIB = 2**20


def gaussian(rows: int, seed: int = 1) -> NDArray[np.float64]:
    """One cloud, made in place."""
    return np.random.default_rng(seed).standard_normal((rows, COLUMNS))


def mixture(rows: int, seed: int = 1) -> NDArray[np.float64]:
    """Ten clouds, made in place: a temporary array would count as memory of the fit."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS))
    for part in np.array_split(X, CLUSTERS):
        part += rng.uniform(0, 10, COLUMNS)
    return X


def best(call: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def predict_ratio(rows: int) -> dict[str, Any]:
    """Seconds of `HyperplaneTree.predict` over seconds of one matrix-vector product."""
    X = gaussian(rows)
    tree = methods.pddp_balanced(LEAVES, 0).fit(X[:20_000]).tree_
    leaf_depth = tree.depth[tree.is_leaf]
    tree.predict(X[:2000])
    v = np.ones(COLUMNS)
    ours, one_pass = best(lambda: tree.predict(X)), best(lambda: X @ v)
    return {
        "rows": rows,
        "leaves": len(leaf_depth),
        "predict_s": round(ours, 4),
        "pass_s": round(one_pass, 4),
        "ratio": round(ours / one_pass, 2),
        "least_leaf_depth": int(leaf_depth.min()),
        "most_leaf_depth": int(leaf_depth.max()),
    }


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def fit_memory(rows: int) -> dict[str, Any]:
    """Peak memory of a fit above what was held before; call it in a fresh process."""
    X = mixture(rows)
    methods.pddp_density(CLUSTERS, 0).fit(mixture(2000))
    before, earlier_peak = psutil.Process().memory_info().rss, _peak_bytes()
    methods.pddp_density(CLUSTERS, 0).fit(X)
    peak = _peak_bytes()
    return {
        "rows": rows,
        "data_mib": round(X.nbytes / MIB, 1),
        "before_mib": round(before / MIB, 1),
        "peak_mib": round(peak / MIB, 1),
        "fit_mib": round((peak - before) / MIB, 1),
        "ratio_with_data": round(1 + (peak - before) / X.nbytes, 3),
        "upper_bound_only": peak == earlier_peak,
    }


def in_fresh_process(call: Callable[[int], dict[str, Any]], rows: int) -> dict[str, Any]:
    """The result of `call(rows)` in a new interpreter."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(call, (rows,))


def page(stem: Path) -> str:
    time_formats = {"rows": "{:,}", "leaves": "{}", "least_leaf_depth": "{}", "most_leaf_depth": "{}"}
    time_formats |= {"predict_s": "{:.4f}", "pass_s": "{:.4f}", "ratio": "{:.2f}"}
    memory_formats = {"rows": "{:,}", "data_mib": "{:.1f}", "fit_mib": "{:.1f}", "ratio_with_data": "{:.2f}"}
    about_time = f"A tree of `PDDP` and {COLUMNS} columns; `pass_s` is one product `X @ v`."
    about_memory = f"`PDDP({CLUSTERS})`, {COLUMNS} columns; `fit_mib` is the memory of the fit in addition to the data."
    time_of, memory_of = (stored.read_table(stem, part) for part in ("time", "memory"))
    parts = [
        report.section("Time of predict", about_time, report.formatted(time_of, time_formats, text=0)),
        report.section("Peak memory of a fit", about_memory, report.formatted(memory_of, memory_formats, text=0)),
    ]
    return stored.page("The cost of predict, and the memory of a fit", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=int, default=1_000_000, help="rows to predict")
    cli.add_argument("--fit-rows", type=int, default=500_000, help="rows of the fit whose memory is measured")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    # Memory first: a child's peak starts at what its parent holds when it is born.
    tables = {"memory": in_fresh_process(fit_memory, args.fit_rows), "time": predict_ratio(args.rows)}
    stored.record(stem, entry, anew=True)
    for part, row in tables.items():
        stored.write_table(stem, part, pd.DataFrame([row]))
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
