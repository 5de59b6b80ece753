"""Pham, Le and Dang, Tables 5 and 6: compactness and Davies–Bouldin index of support vectors on a budget.

    python -m benchmarks.papers.support_vectors_internal DATA --out results --runs 2

DATA is a folder of Parquet files, columns x0… and label; of the paper's small data sets, those that are there are used.
The grid, the budgets and the scaling are those of benchmarks.papers.support_vectors. No index looks at the classes.
Compactness is the least on the grid of the mean over the runs. Of the Davies–Bouldin index, which is better when it is
small, there are the least and the largest: the paper's text wants it small and its table calls large better. Writes
support_vectors_internal.csv, .md and .json.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import davies_bouldin_score

from benchmarks import report, stored
from benchmarks.papers.support_vectors import BUDGETS, COLUMNS, GRID, LARGE, SAME_AS, Record, find_sets, scaled
from benchmarks.worker import DataSet
from ravine import SupportVectorClustering
from ravine.metrics import compactness

NAME = "support_vectors_internal"
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "compactness": {
        "aggregation": (0.29, 0.29, 2.84, 0.01, 0.01, 0.02),
        "breast_cancer": (1.26, 0.68, 0.71, 2.17, 1.04, 2.18),
        "compound": (0.50, 0.21, 2.43, 0.02, 0.01, 0.03),
        "d31": (1.41, 0.26, 1.78, 0.01, 0.01, 0.25),
        "flame": (0.58, 0.44, 2.28, 0.03, 0.03, 0.03),
        "iris": (0.98, 0.25, 0.99, 0.02, 0.01, 0.05),
        "jain": (0.96, 0.36, 1.16, 0.01, 0.01, 0.01),
        "spiral": (2.00, 0.17, 0.18, 0.01, 0.01, 0.02),
    },
    "davies_bouldin": {
        "aggregation": (0.68, 0.67, 0.63, 4.45, 4.53, 3.99),
        "breast_cancer": (1.58, 1.38, 0.53, 4.80, 4.64, 5.71),
        "compound": (2.45, 0.86, 0.67, 3.84, 5.15, 3.01),
        "d31": (2.33, 1.35, 1.21, 4.40, 5.36, 3.35),
        "flame": (1.30, 0.65, 3.56, 3.42, 4.01, 3.29),
        "iris": (1.95, 1.17, 0.77, 3.42, 3.96, 3.44),
        "jain": (1.23, 1.08, 0.71, 4.38, 4.19, 4.22),
        "spiral": (1.41, 0.98, 0.36, 5.38, 4.69, 5.66),
    },
}
TITLES = {"compactness": "Table 5: compactness", "davies_bouldin": "Table 6: Davies–Bouldin index"}


def fit(data: DataSet, strategy: str, gamma: float, C: float, seed: int) -> Record:
    """Both indices of one run at one place of the grid."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # most of the grid is not for these data
    X, _ = scaled(data, "standard")
    options: Record = {"maintenance": strategy, "budget": BUDGETS[data.name], "random_state": seed}
    labels = SupportVectorClustering(gamma=gamma, C=C, **options).fit(X).labels_
    number = int(labels.max()) + 1
    index = davies_bouldin_score(X, labels) if 1 < number < len(X) else np.nan
    found = {"compactness": compactness(X, labels), "davies_bouldin": index, "n_clusters": number}
    return {"dataset": data.name, "strategy": strategy, "gamma": gamma, "C": C, "seed": seed, **found}


def over_grid(results: pd.DataFrame, index: str, which: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Data sets × strategies: the least or largest mean over the runs, and the number of clusters that it has."""
    keys = ["dataset", "strategy", "gamma", "C"]
    means = results.groupby(keys, sort=False)[[index, "n_clusters"]].agg(lambda runs: runs.mean(skipna=False))
    rows = means.dropna().groupby(level=["dataset", "strategy"], sort=False)[index].agg(f"idx{which}")
    chosen = means.loc[rows]
    chosen.index = rows.index
    return chosen[index].unstack()[list(SAME_AS)], chosen["n_clusters"].unstack()[list(SAME_AS)]


def table(results: pd.DataFrame, index: str) -> str:
    """The paper's columns and ours, with the number of clusters in brackets."""
    published = pd.DataFrame.from_dict(PUBLISHED[index], orient="index", columns=list(COLUMNS))
    kinds = ("min",) if index == "compactness" else ("min", "max")
    found = {kind: over_grid(results, index, kind) for kind in kinds}
    heads = [f"{name}, paper" for name in COLUMNS]
    words = {"min": "smallest", "max": "largest"}
    heads += [f"{strategy}, {words[kind]}" for kind in kinds for strategy in SAME_AS]
    lines = []
    for data in (name for name in published.index if name in set(results.dataset)):
        cells = [f"{value:.2f}" for value in published.loc[data]]
        for values, numbers in found.values():
            cells += [_cell(values[name][data], numbers[name][data]) for name in SAME_AS]
        lines.append([data, *cells])
    least, _ = found["min"]
    paper = published[list(SAME_AS.values())].set_axis(list(SAME_AS), axis="columns")
    worse = [
        f"{name} on {', '.join(f'{data} ({value:+.2f})' for data, value in larger.items())}"
        for name, values in (least - paper).items()
        if len(larger := values[values > report.MARGIN])
    ]
    listed = "; ".join(worse) or "none"
    note = f"**Where ravine's smallest value is larger**, so worse, by more than {report.MARGIN:g}: {listed}."
    return report.section(TITLES[index], note, report.grid(["data set", *heads], lines))


def _cell(value: float, n_clusters: float) -> str:
    """A dash where no place of the grid has two clusters in all runs."""
    return "–" if np.isnan(value) else f"{value:.2f} ({n_clusters:.0f})"


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    return stored.page("Indices without classes (Tables 5 and 6)", stem, [table(results, index) for index in TITLES])


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--runs", type=int, default=5, metavar="N", help="runs at each place of the grid (5)")
    cli.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    calls = [
        delayed(fit)(data, strategy, gamma, C, seed)
        for data in find_sets(args.data, [name for name in BUDGETS if name != LARGE])
        for strategy in SAME_AS
        for gamma in GRID
        for C in GRID
        for seed in range(args.runs)
    ]
    results = pd.DataFrame(Parallel(args.jobs)(calls))
    stored.record(stem, entry, anew=True)
    results.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.4g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
