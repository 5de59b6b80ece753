"""SumOfNorms: its speed on all pairs and on a graph of neighbors, and the clusters of its default λ against HDBSCAN.

    python -m benchmarks.peers.convex DATA --out results
    python -m benchmarks.peers.convex DATA --out results --large    # a path of 200,000 rows too
    python -m benchmarks.peers.convex DATA --out results --small    # in a minute

DATA is a folder of Parquet files, columns x0… and label; of those named below, the ones that are there are used. Writes
convex.md and .json, and a CSV for each of the three parts. Our kernels run on one core; OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1 keep the libraries to one too. HDBSCAN is scikit-learn's, with the same minimum cluster size;
its noise counts as one more cluster in the scores.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks import report, stored
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load
from ravine import SumOfNorms
from ravine._convex import Points, ScaledProblem, Settings, least_size
from ravine._convex._solver_choice import DUAL_BYTES
from ravine.datasets import make_two_gaussians

Floats = NDArray[np.float64]
Data = tuple[Floats, NDArray[np.int64]]

NAME = "convex"
TOL, N_LAMBDAS, N_PROVED = 1e-4, 200, 10
PULLS = (0.25, 0.5, 0.75, 1.0, 1.25)
"""λ times the number of rows."""

CCMMR = {1_000: 0.40, 5_000: 5.9, 20_000: 45.0}
"""Seconds of a path that are published for the R package CCMMR, on another machine of two cores."""

PLANAR = ("spiral", "jain", "flame", "aggregation", "compound", "s1", "s2", "d31", "a1", "unbalance")
STANDARDISED = ("iris", "wine", "breast_cancer", "banknote")

PAIRS_FORMATS = {"rows": "{:,}", "lam": "{:.2e}", "solver": "{}", "seconds": "{:.2f}", "gap": "{:.1e}"}
PAIRS_FORMATS |= {"rounds": "{}", "n_clusters": "{:,}", "ari": "{:.3f}"}
PATH_FORMATS = {"rows": "{:,}", "graph_s": "{:.2f}", "path_s": "{:.2f}", "ccmmr_published_s": "{:.2f}"}
PATH_FORMATS |= {"proof_median_s": "{:.2f}", "proof_max_s": "{:.2f}", "gap_median": "{:.1e}", "gap_max": "{:.1e}"}
PATH_FORMATS |= {"n_proved": "{}"}
SCORE_FORMATS = {"dataset": "{}", "rows": "{:,}", "n_classes": "{}", "n_clusters": "{}", "ari": "{:.3f}"}
SCORE_FORMATS |= {"nmi": "{:.3f}", "strength": "{:.2f}", "gap": "{:.1e}", "seconds": "{:.2f}"}
SCORE_FORMATS |= {"hdbscan_n_clusters": "{}", "hdbscan_ari": "{:.3f}", "hdbscan_nmi": "{:.3f}"}
SCORE_FORMATS |= {"hdbscan_noise": "{:.2f}", "hdbscan_s": "{:.2f}"}
FORMATS = {"pairs": PAIRS_FORMATS, "path": PATH_FORMATS, "clusters": SCORE_FORMATS}
TITLES = {"pairs": "All pairs", "path": "A path on a graph of neighbors", "clusters": "Clusters of the default λ"}
NOTES = {
    "pairs": f"Two Gaussians, d = 2, all pairs of weight 1: seconds of a fit to a relative gap of {TOL:g}.",
    "path": f"Moons, 10 neighbors: a path of {N_LAMBDAS} λ, then solutions at {N_PROVED} of them with a proved gap; "
    f"`n_proved` reach {TOL:g}. CCMMR's seconds are published ones, on another machine of two cores.",
    "clusters": "Default λ. HDBSCAN's noise counts as one more cluster in its scores.",
}


def gaussians(sizes: list[int], centers: Floats, spread: float = 1.0) -> Data:
    """Round Gaussians of so many rows around the centers."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(7).standard_normal((len(y), centers.shape[1]))
    return centers[y] + spread * noise, y


def two_rings() -> Data:
    """Fifteen Gaussians: one, seven around it, seven farther out."""
    angle = np.arange(7) * 2 * np.pi / 7
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return gaussians([40] * 15, np.concatenate([np.zeros((1, 2)), 2.2 * circle, 6 * circle]), 0.35)


def uneven(sizes: list[int], d: int, distance: float) -> Data:
    """Gaussians of different sizes, one at the origin and each other one so far along an axis of its own."""
    return gaussians(sizes, distance * np.eye(len(sizes), d, k=-1))


def shapeless(kind: str, d: int) -> Data:
    """500 rows without clusters: one Gaussian, or a uniform square."""
    rng = np.random.default_rng(7)
    return (rng.standard_normal if kind == "gaussian" else rng.random)((500, d)), np.zeros(500, dtype=np.int64)


GENERATED: dict[str, Callable[[], Data]] = {
    **{
        f"moons, {n}, noise {noise}": partial(make_moons, n, noise=noise, random_state=0)
        for n, noise in ((300, 0.08), (500, 0.05), (500, 0.1), (1000, 0.1), (1000, 0.15), (2000, 0.1), (5000, 0.12))
    },
    **{
        f"circles, {n}, noise {noise}": partial(make_circles, n, noise=noise, factor=0.5, random_state=0)
        for n, noise in ((500, 0.05), (1000, 0.08))
    },
    "fifteen on two rings": two_rings,
    "1000 : 100, d = 2, 6 apart": partial(uneven, [1000, 100], 2, 6.0),
    "1000 : 100, d = 10, 6 apart": partial(uneven, [1000, 100], 10, 6.0),
    "1000 : 300 : 100, d = 2, 8 apart": partial(uneven, [1000, 300, 100], 2, 8.0),
    "1000 : 300 : 100, d = 10, 8 apart": partial(uneven, [1000, 300, 100], 10, 8.0),
    "one Gaussian, d = 2": partial(shapeless, "gaussian", 2),
    "one Gaussian, d = 10": partial(shapeless, "gaussian", 10),
    "one square": partial(shapeless, "square", 2),
}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the call, and what it gave."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def warm_up() -> None:
    """Compile what is timed."""
    X, _ = make_moons(100, random_state=0)
    SumOfNorms().fit(X)
    SumOfNorms(lam=0.005, weights="uniform", solver="dual").fit(X)
    SumOfNorms(lam=0.005, weights="uniform", solver="stochastic").fit(X)


def all_pairs(n: int, pulls: tuple[float, ...]) -> list[dict[str, Any]]:
    """Two Gaussians with weight 1 for each pair: seconds and gap for each λ, the solver left to itself."""
    X, y = make_two_gaussians(n, variance=0.01, random_state=0)
    records = []
    for pull in pulls:
        model = SumOfNorms(lam=pull / n, weights="uniform", tol=TOL)
        seconds, _ = timed(partial(model.fit, X))
        records.append(
            {
                "rows": n,
                "lam": pull / n,
                "solver": "dual" if 8 * X.size * n <= DUAL_BYTES else "stochastic",
                "seconds": seconds,
                "gap": model.gap_,
                "rounds": model.n_iter_,
                "n_clusters": model.n_clusters_,
                "ari": adjusted_rand_score(y, model.labels_),
            }
        )
        print(f"all pairs, {n} rows, λ = {pull / n:.3g}: {seconds:.1f} s", flush=True)
    return records


def path_on_graph(n: int) -> dict[str, Any]:
    """Moons: seconds of the graph, of the path, and of proofs at λ spread over the path; and the gaps proved."""
    X, _ = make_moons(n, noise=0.1, random_state=0)
    points = Points.of(X, np.ones(n))
    settings = Settings("dual", TOL, 5000, 1e-3, False, 0)
    graph_s, problem = timed(partial(ScaledProblem, points, settings, 10, 2.0, -1))
    path_s, path = timed(partial(problem.follow, N_LAMBDAS))
    spread = np.linspace(0, len(path.lambdas) - 1, N_PROVED + 2).round().astype(int)[1:-1]
    proofs = [timed(partial(problem.solve, float(path.lambdas[i]), path)) for i in spread]
    seconds = np.array([seconds for seconds, _ in proofs])
    gaps = np.array([answer.solution.gap for _, answer in proofs])
    print(f"path, {n} rows: {path_s:.1f} s", flush=True)
    return {
        "rows": n,
        "graph_s": graph_s,
        "path_s": path_s,
        "ccmmr_published_s": CCMMR.get(n, math.nan),
        "proof_median_s": np.median(seconds),
        "proof_max_s": seconds.max(),
        "gap_median": np.median(gaps),
        "gap_max": gaps.max(),
        "n_proved": int((gaps <= TOL).sum()),
        "gaps": " ".join(f"{gap:.1e}" for gap in gaps),
    }


def clusters(X: Floats, y: NDArray[np.int64]) -> dict[str, Any]:
    """Scores and seconds of both with their defaults, the least size of a cluster apart."""
    ours = SumOfNorms()
    seconds, _ = timed(partial(ours.fit, X))
    peer = HDBSCAN(min_cluster_size=math.ceil(least_size(len(X))), copy=True)
    peer_seconds, _ = timed(partial(peer.fit, X))
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "n_classes": len(np.unique(y)),
        "n_clusters": ours.n_clusters_,
        "ari": adjusted_rand_score(y, ours.labels_),
        "nmi": normalized_mutual_info_score(y, ours.labels_),
        "strength": ours.strength_,
        "lam": ours.lam_,
        "gap": ours.gap_,
        "seconds": seconds,
        "hdbscan_n_clusters": int(peer.labels_.max()) + 1,
        "hdbscan_ari": adjusted_rand_score(y, peer.labels_),
        "hdbscan_nmi": normalized_mutual_info_score(y, peer.labels_),
        "hdbscan_noise": float((peer.labels_ < 0).mean()),
        "hdbscan_s": peer_seconds,
    }


def data_sets(folder: Path) -> dict[str, Callable[[], Data]]:
    """Name -> what loads or draws it."""
    files = {
        name: partial(load, DataSet.describe(folder / f"{name}.parquet"), name in STANDARDISED)
        for name in (*PLANAR, *STANDARDISED)
        if (folder / f"{name}.parquet").exists()
    }
    return {**files, **GENERATED}


def score_all(sets: dict[str, Callable[[], Data]]) -> pd.DataFrame:
    records = []
    for name, make in sets.items():
        records.append({"dataset": name, **clusters(*make())})
        print(name, flush=True)
    return pd.DataFrame(records)


def comparisons(stem: Path) -> list[Comparison]:
    found = stored.read_table(stem, "clusters").set_index("dataset")
    columns = {report.TITLES["ari"]: found.ari - found.hdbscan_ari, "NMI": found.nmi - found.hdbscan_nmi}
    return [Comparison("SumOfNorms vs. HDBSCAN", pd.DataFrame(columns))]


def page(stem: Path) -> str:
    lower = "\n\n".join(comparison.lower() for comparison in comparisons(stem))
    parts = [
        report.section(
            TITLES[name],
            lower if name == "clusters" else "",
            NOTES[name],
            report.formatted(stored.read_table(stem, name), formats),
        )
        for name, formats in FORMATS.items()
    ]
    return stored.page("SumOfNorms compared with HDBSCAN and CCMMR", stem, parts)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    size = cli.add_mutually_exclusive_group()
    size.add_argument("--large", action="store_true", help="follow a path of 200,000 rows too")
    size.add_argument("--small", action="store_true", help="1,000 rows where only time is measured")
    args = cli.parse_args()
    entry = stored.run_details(sys.argv[1:])
    warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the tables
    warm_up()
    pairs = all_pairs(1_000, PULLS) if args.small else all_pairs(5_000, PULLS) + all_pairs(20_000, PULLS[2:4])
    sizes = [1_000] if args.small else [1_000, 5_000, 20_000] + [200_000] * args.large
    paths = [path_on_graph(n) for n in sizes]
    tables = {
        "pairs": pd.DataFrame(pairs),
        "path": pd.DataFrame(paths),
        "clusters": score_all(data_sets(args.data)),
    }
    stem = args.out / NAME
    stored.record(stem, entry, anew=True)
    for name, table in tables.items():
        stored.write_table(stem, name, table)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
