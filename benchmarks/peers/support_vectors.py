"""SupportVectorClustering on many rows, how its time and memory grow, and its default clusters against HDBSCAN.

    python -m benchmarks.peers.support_vectors DATA --out results
    python -m benchmarks.peers.support_vectors DATA --out results --small    # in a minute

DATA is a folder of Parquet files, columns x0… and label; of those named below, the ones that are there are used. Writes
support_vectors_peers.md and .json, and a CSV for each part. All run on one thread; OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1 keep the libraries to one too. HDBSCAN is scikit-learn's, with its defaults, and for small data
also with ravine's minimum cluster size; its noise counts as one more cluster in the scores. The memory is that of a
fresh process: its peak after fit less what it held just before, when a fit on few rows had imported and compiled
everything.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import report, stored
from benchmarks.papers.support_vectors import Timed
from benchmarks.peers.convex import Data, data_sets, timed
from benchmarks.peers.predict import MIB, _peak_bytes, in_fresh_process
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load
from ravine import SupportVectorClustering
from ravine._svc import least_size

Floats = NDArray[np.float64]

NAME = "support_vectors_peers"
N_CLOUDS, N_COLUMNS, MANY, MOST = 8, 10, 100_000, 200_000
SIZES = (12_500, 25_000, 50_000, 100_000, 200_000)
BUDGET, GAMMA, C = 100, 0.05, 20.0
"""Where the growth of the time is measured; γ is about the inverse of the mean squared distance in a cloud."""

LARGE_FORMATS = {"dataset": "{}", "rows": "{:,}", "columns": "{}", "method": "{}", "seconds": "{:.2f}"}
LARGE_FORMATS |= {"training_s": "{:.2f}", "n_clusters": "{}", "ari": "{:.3f}", "nmi": "{:.3f}", "noise": "{:.3f}"}
GROWTH_FORMATS = {"rows": "{:,}", "training_s": "{:.3f}", "us_per_row": "{:.2f}", "seconds": "{:.3f}"}
SCORE_FORMATS = {"dataset": "{}", "rows": "{:,}", "columns": "{}", "n_classes": "{}", "n_clusters": "{}"}
SCORE_FORMATS |= {"ari": "{:.3f}", "nmi": "{:.3f}", "strength": "{:.1f}", "seconds": "{:.2f}"}
SCORE_FORMATS |= {
    f"{name}_{of}": form
    for name in ("hdbscan", "same_size")
    for of, form in {"n_clusters": "{}", "ari": "{:.3f}", "nmi": "{:.3f}", "noise": "{:.2f}"}.items()
}
FORMATS = {"large": LARGE_FORMATS, "growth": GROWTH_FORMATS, "clusters": SCORE_FORMATS}
TITLES = {"large": "Many rows", "growth": "Growth with the rows", "clusters": "Clusters of the default parameters"}
NOTES = {
    "large": f"Whole fits, shuttle as it is and with standard scores, and {N_CLOUDS} Gaussians; `training_s` of the "
    "seconds are phase one. `noise` is the share of outliers; ravine assigns outliers to clusters as well.",
    "growth": f"One epoch at budget {BUDGET}, γ = {GAMMA}, C = {C:g}: phase one, then the whole fit.",
    "clusters": "Default parameters. `same_size` is HDBSCAN with ravine's minimum cluster size.",
}


def clouds(rows: int) -> Data:
    """Gaussians of unit variance in a cube, made in place: a temporary array would count as memory of the fit."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((rows, N_COLUMNS)), np.sort(np.arange(rows) % N_CLOUDS)
    centers = rng.uniform(0, 10, (N_CLOUDS, N_COLUMNS))
    for label, center in enumerate(centers):
        X[slice(*np.searchsorted(y, [label, label + 1]))] += center
    return X, y


def found(y: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, Any]:
    return {
        "n_clusters": int(labels.max()) + 1,
        "ari": adjusted_rand_score(y, labels),
        "nmi": normalized_mutual_info_score(y, labels),
    }


def fit_all(name: str, X: Floats, y: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Measure seconds and scores of both, for ravine with its default budget and with a small one."""
    shared = {"dataset": name, "rows": len(X), "columns": X.shape[1]}
    records = []
    for method, model in {"default": Timed(), f"budget {BUDGET}": Timed(budget=BUDGET)}.items():
        seconds, _ = timed(partial(model.fit, X))
        outside = float(model.outlier_.mean())
        times = {"seconds": seconds, "training_s": model.training_s}
        records.append({**shared, "method": method, **times, **found(y, model.labels_), "noise": outside})
        print(f"{name}, {method}: {seconds:.1f} s", flush=True)
    peer = HDBSCAN(copy=True)
    seconds, _ = timed(partial(peer.fit, X))
    noise = float((peer.labels_ < 0).mean())
    times = {"seconds": seconds, "training_s": math.nan}
    records.append({**shared, "method": "HDBSCAN", **times, **found(y, peer.labels_), "noise": noise})
    print(f"{name}, HDBSCAN: {seconds:.1f} s", flush=True)
    return records


def growth(sizes: tuple[int, ...]) -> pd.DataFrame:
    """Seconds of one epoch for growing numbers of rows, the best of three."""
    records = []
    for rows in sizes:
        X, _ = clouds(rows)
        X = X[np.random.default_rng(0).permutation(rows)]
        model = Timed(gamma=GAMMA, C=C, budget=BUDGET, max_iter=1)
        best = {"training_s": math.inf, "seconds": math.inf}
        for _ in range(3):
            seconds, _ = timed(partial(model.fit, X))
            best = {"training_s": min(best["training_s"], model.training_s), "seconds": min(best["seconds"], seconds)}
        records.append({"rows": rows, **best, "us_per_row": 1e6 * best["training_s"] / rows})
        print(f"growth, {rows} rows: {best['training_s']:.2f} s", flush=True)
    return pd.DataFrame(records)


def fit_memory(rows: int) -> dict[str, Any]:
    """Peak memory of a fit above what was held before; call it in a fresh process."""
    X, _ = clouds(rows)
    SupportVectorClustering().fit(clouds(3000)[0])
    before, earlier_peak = psutil.Process().memory_info().rss, _peak_bytes()
    SupportVectorClustering().fit(X)
    peak = _peak_bytes()
    return {
        "rows": rows,
        "columns": N_COLUMNS,
        "data_mib": round(X.nbytes / MIB, 1),
        "before_mib": round(before / MIB, 1),
        "peak_mib": round(peak / MIB, 1),
        "fit_mib": round((peak - before) / MIB, 1),
        "fit_over_data": round((peak - before) / X.nbytes, 2),
        "upper_bound_only": peak == earlier_peak,
    }


def clusters(X: Floats, y: NDArray[np.int64]) -> dict[str, Any]:
    """Score both with their defaults, and HDBSCAN with ravine's minimum cluster size."""
    ours = SupportVectorClustering()
    seconds, _ = timed(partial(ours.fit, X))
    record = {"rows": len(X), "columns": X.shape[1], "n_classes": len(np.unique(y)), **found(y, ours.labels_)}
    record |= {"strength": ours.strength_, "gamma": ours.gamma_, "C": ours.C_, "seconds": seconds}
    least = math.ceil(least_size(len(X)))
    for name, peer in {"hdbscan": HDBSCAN(copy=True), "same_size": HDBSCAN(least, copy=True)}.items():
        labels = peer.fit_predict(X)
        record |= {f"{name}_{of}": value for of, value in found(y, labels).items()}
        record[f"{name}_noise"] = float((labels < 0).mean())
    return record


def large_sets(folder: Path, rows: int | None) -> dict[str, Callable[[], Data]]:
    """Name -> what loads or draws it."""
    sets: dict[str, Callable[[], Data]] = {}
    if (folder / "shuttle.parquet").exists():
        shuttle = DataSet.describe(folder / "shuttle.parquet", rows)
        sets = {"shuttle": partial(load, shuttle, False), "shuttle, standard scores": partial(load, shuttle, True)}
    return sets | {f"{N_CLOUDS} Gaussians": partial(clouds, rows or MANY)}


def comparisons(stem: Path) -> list[Comparison]:
    found = stored.read_table(stem, "clusters").set_index("dataset")
    compared = []
    for peer, name in {"hdbscan": "HDBSCAN", "same_size": "HDBSCAN with the same minimum size"}.items():
        columns = {report.TITLES["ari"]: found.ari - found[f"{peer}_ari"], "NMI": found.nmi - found[f"{peer}_nmi"]}
        compared.append(Comparison(f"SupportVectorClustering vs. {name}", pd.DataFrame(columns)))
    return compared


def page(stem: Path) -> str:
    lower = "\n\n".join(f"{comparison.title}. {comparison.lower()}" for comparison in comparisons(stem))
    parts = [
        report.section(
            TITLES[name],
            lower if name == "clusters" else "",
            NOTES[name],
            report.formatted(stored.read_table(stem, name), formats),
        )
        for name, formats in FORMATS.items()
    ]
    memory = stored.read_table(stem, "memory").iloc[0]
    held = (
        f"The fit of {memory.rows:,} × {memory['columns']}, {memory.data_mib} MiB, takes {memory.fit_mib} MiB besides "
        f"the data, {memory.fit_over_data} times as much."
    )
    return stored.page("SupportVectorClustering compared with HDBSCAN", stem, [*parts, report.section("Memory", held)])


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--small", action="store_true", help="3,000 rows where time is measured, three small data sets")
    args = cli.parse_args()
    entry = stored.run_details(sys.argv[1:])
    # Memory first: a child's peak starts at what its parent holds when it is born.
    memory = in_fresh_process(fit_memory, 3_000 if args.small else MOST)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the scores say how good a fit on a small budget is
    for budget in (BUDGET, 1000):
        SupportVectorClustering(budget=budget).fit(make_moons(3000, noise=0.1, random_state=0)[0])  # compiles
    large: list[dict[str, Any]] = []
    for name, make in large_sets(args.data, 3_000 if args.small else None).items():
        large += fit_all(name, *make())
    small = data_sets(args.data)
    if args.small:
        small = dict(list(small.items())[:3])
    scores = []
    for name, make in small.items():
        scores.append({"dataset": name, **clusters(*make())})
        print(name, flush=True)
    tables = {
        "large": pd.DataFrame(large),
        "growth": growth((2_000, 3_000) if args.small else SIZES),
        "clusters": pd.DataFrame(scores),
        "memory": pd.DataFrame([memory]),
    }
    stem = args.out / NAME
    stored.record(stem, entry, anew=True)
    for name, table in tables.items():
        stored.write_table(stem, name, table)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
