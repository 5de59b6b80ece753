"""The number of clusters by a search over held-out log density, compared with the default test.

    python -m benchmarks.clients.model_selection --out results
    python -m benchmarks.clients.model_selection --data DATA --out results

`GridSearchCV` without a scorer compares 1 to 15 clusters by the mean log density of held-out rows, in five folds. Two
numbers are chosen from it: the one with the largest score, and the smallest one whose score is within a standard error
of that, over the folds. Columns are scaled to unit variance. The data are generated mixtures, with rows in a single
cluster among them, the tables of scikit-learn, and with `--data` the tables of a folder with at most `--max-rows` rows
and `--max-columns` columns. Writes model_selection.csv, model_selection.md and model_selection.json.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

import ravine
from benchmarks import report, stored
from ravine.datasets import make_blobs, make_moons, make_rings

NAME = "model_selection"
METHODS = ("NCutH", "MDH", "IncrementalMDH")
NUMBERS = tuple(range(1, 16))
FOLDS = 5
CHOICES = {"default": "the default test", "best": "largest score", "se": "one standard error"}
"""The columns of the table, by the start of their name."""

Rows = tuple[NDArray[Any], NDArray[Any]]


def _blobs(n_clusters: int, n_columns: int, separation: float, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_clusters, n_columns))
    centers *= separation / min((np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i]), default=1)
    X, y = make_blobs(200 * n_clusters, centers=centers, random_state=seed)
    return X, y


def _single(draw: Callable[[np.random.Generator], NDArray[Any]], seed: int) -> Rows:
    X = draw(np.random.default_rng(seed))
    return X, np.zeros(len(X), dtype=int)


def _heavy_tails(seed: int) -> Rows:
    X, y = _blobs(4, 5, 12, seed)
    noise = np.random.default_rng(seed).standard_t(3, size=X.shape)
    return X + noise, y


GENERATED: dict[str, Callable[[int], Rows]] = {
    "one Gaussian, 5 columns": lambda seed: _single(lambda rng: rng.normal(size=(600, 5)), seed),
    "one uniform cube, 5 columns": lambda seed: _single(lambda rng: rng.uniform(size=(600, 5)), seed),
    "one skewed cluster, 5 columns": lambda seed: _single(lambda rng: rng.exponential(size=(600, 5)), seed),
    "3 Gaussians, 2 columns": lambda seed: _blobs(3, 2, 7, seed),
    "5 Gaussians, 10 columns": lambda seed: _blobs(5, 10, 7, seed),
    "10 Gaussians, 20 columns": lambda seed: _blobs(10, 20, 7, seed),
    "4 clusters with heavy tails": _heavy_tails,
    "2 moons": lambda seed: make_moons(800, noise=0.08, random_state=seed),
    "2 rings": lambda seed: make_rings(800, random_state=seed),
}
TABLES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def data(draws: int, folder: Path | None, max_rows: int, max_columns: int) -> Iterator[tuple[str, str, int, Rows]]:
    """Kind, name, number of the draw, and rows with classes."""
    for name, draw in GENERATED.items():
        for seed in range(draws):
            yield "generated", name, seed, draw(seed)
    for name, load in TABLES.items():
        yield "real", name, 0, load(return_X_y=True)
    for path in sorted(folder.glob("*.parquet")) if folder else ():
        names = pq.read_schema(path).names
        few = pq.read_metadata(path).num_rows <= max_rows and len(names) - 1 <= max_columns
        if few and "label" in names and path.stem not in TABLES:
            table = pq.read_table(path).to_pandas()
            yield "real", path.stem, 0, (table.drop(columns="label").to_numpy(float), table["label"].to_numpy())


def within_one_standard_error(results: dict[str, Any]) -> int:
    """Position of the smallest number of clusters whose score is within a standard error of the largest."""
    mean, deviation = results["mean_test_score"], results["std_test_score"]
    best = np.nanargmax(mean)
    return int(np.flatnonzero(mean >= mean[best] - deviation[best] / np.sqrt(FOLDS))[0])


def measured(method: str, X: NDArray[Any], y: NDArray[Any], seed: int) -> dict[str, Any]:
    """Number of clusters, adjusted Rand index and seconds of the default test and of both choices of the search."""
    make = getattr(ravine, method)
    started = time.perf_counter()
    default = make().fit(X)
    seconds = time.perf_counter() - started
    line: dict[str, Any] = {"k_default": default.n_clusters_, "default_s": seconds}
    line["ari_default"] = adjusted_rand_score(y, default.labels_)
    started = time.perf_counter()
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(make(), {"n_clusters": NUMBERS}, cv=folds, refit=False).fit(X)
    line["search_s"] = time.perf_counter() - started
    results = search.cv_results_
    line["n_failed"] = int(np.isnan([results[f"split{fold}_test_score"] for fold in range(FOLDS)]).sum())
    chosen = {"best": int(np.nanargmax(results["mean_test_score"])), "se": within_one_standard_error(results)}
    for name, place in chosen.items():
        line[f"k_{name}"] = NUMBERS[place]
        line[f"ari_{name}"] = adjusted_rand_score(y, make(NUMBERS[place]).fit(X).labels_)
    return line


def page(stem: Path) -> str:
    found = stored.read_table(stem)
    found["off_default"], found["off_best"], found["off_se"] = (
        (found[f"k_{choice}"] - found["classes"]).abs() for choice in CHOICES
    )
    parts = [
        report.section(
            "Means",
            "`off` is the mean distance of the number of clusters from the number of classes. `ari` is the adjusted "
            "Rand index of a fit to all rows with this number. "
            + ", ".join(f"`{short}`: {long}" for short, long in CHOICES.items())
            + ". `times` is the time of the search as a multiple of a fit with the default test.",
            _means(found),
        ),
        report.section("Generated data", "Means over the draws.", _lines(found[found["kind"] == "generated"])),
        report.section("Real data", "", _lines(found[found["kind"] == "real"])),
    ]
    return stored.page("The number of clusters by held-out log density", stem, parts)


def _means(found: pd.DataFrame) -> str:
    groups = found.assign(times=found["search_s"] / found["default_s"]).groupby(["kind", "method"], sort=False)
    lines = groups.agg(
        **{f"off, {choice}": (f"off_{choice}", "mean") for choice in CHOICES},
        **{f"ari, {choice}": (f"ari_{choice}", "mean") for choice in CHOICES},
        times=("times", "median"),
    ).reset_index()
    formats = {"kind": "{}", "method": "{}"} | {f"off, {choice}": "{:.1f}" for choice in CHOICES}
    formats |= {f"ari, {choice}": "{:.3f}" for choice in CHOICES} | {"times": "{:.0f}"}
    return report.formatted(lines, formats, text=2)


def _lines(found: pd.DataFrame) -> str:
    if found.empty:
        return ""
    names = ["classes", *(f"{what}_{choice}" for what in ("k", "ari") for choice in CHOICES), "n_failed"]
    lines = found.groupby(["dataset", "method"], sort=False)[names].mean().reset_index()
    formats = {"dataset": "{}", "method": "{}"} | {name: "{:.2f}" if name[0] == "a" else "{:.3g}" for name in names}
    return report.formatted(lines, formats, text=2)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, help="(all)")
    cli.add_argument("--draws", type=int, default=3, help="draws of a generated data set (3)")
    cli.add_argument("--data", type=Path, metavar="DATA", help="folder of Parquet files with a column label")
    cli.add_argument("--max-rows", type=int, default=2000, help="rows of a table of the folder (2000)")
    cli.add_argument("--max-columns", type=int, default=40, help="columns of a table of the folder (40)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    for method in args.methods:  # a first fit also compiles
        getattr(ravine, method)().fit(GENERATED["3 Gaussians, 2 columns"](0)[0])
    lines = []
    for kind, name, seed, (X, y) in data(args.draws, args.data, args.max_rows, args.max_columns):
        rows = StandardScaler().fit_transform(X)
        about = {"kind": kind, "dataset": name, "draw": seed, "n": len(X), "d": X.shape[1], "classes": len(set(y))}
        for method in args.methods:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                line = about | {"method": method} | measured(method, rows, y, seed)
            print({key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()})
            lines.append(line)
    stored.record(stem, entry, anew=True)
    pd.DataFrame(lines).to_csv(stem.with_suffix(".csv"), index=False, float_format="%.4g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
