"""Two costs of PDDP: predict as a multiple of one pass `X @ v`, and the peak memory of fit as a multiple of the data.

    python -m benchmarks.peers.predict --out results

Predict sends the rows through a tree of depth 5 that was grown on 20,000 rows; both sides are the best of five in one
run. The memory is that of a fresh process: its peak after fit less what it held just before, when a fit on few rows had
imported and compiled everything.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks import methods, runner

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
        "leaf_depth": [int(leaf_depth.min()), int(leaf_depth.max())],
        "predict_s": round(ours, 4),
        "pass_s": round(one_pass, 4),
        "ratio": round(ours / one_pass, 2),
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


def main() -> None:
    """Measure, print and, if asked to, write `predict.json`."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=int, default=1_000_000, help="rows to predict")
    cli.add_argument("--fit-rows", type=int, default=500_000, help="rows of the fit whose memory is measured")
    cli.add_argument("--out", type=Path, metavar="DIR", help="write predict.json here")
    args = cli.parse_args()
    # Memory first: a child's peak starts at what its parent holds when it is born.
    memory = in_fresh_process(fit_memory, args.fit_rows)
    result = runner.about(sys.argv[1:]) | {"fit_memory": memory, "predict": predict_ratio(args.rows)}
    text = json.dumps(result, indent=1)
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "predict.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
