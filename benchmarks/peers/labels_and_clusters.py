"""Compare the classifiers with a linear SVM where clusters follow the classes, and where they do not.

    python -m benchmarks.peers.labels_and_clusters DATA --out results

Writes labels_and_clusters.csv, .md and .json; runs that the first one holds are not made again. In the sets of the
group "follow", clusters have to do with the classes. The group "ignore" has real sets in which they have little to do
with them, and sets with new classes: the sides of the median along a random direction ("direction"), along the last
principal component with at least 5 % of the mean variance ("component"), along a random direction within each old class
("within"), or along two random columns ("columns"). The sets of a group are in two halves. Both were in view when the
rule of `use_unlabeled="auto"` was chosen, with other hyperplanes. Sets have at most 1,500 rows and scaled columns. Each
number of labels is drawn several times; the three sets of Table 6.6 have their published label sets. Accuracy is that
on the rows without a label.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import SVC

import ravine
from benchmarks import report, runner, stored
from benchmarks.papers.tables_6_5_and_6_6 import UNLABELLED, published_splits, warm_up
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAME = "labels_and_clusters"
MOST_ROWS = 1500
LEAST_VARIANCE = 0.05
N_LABELS = (10, 100)
COLUMNS = ("group", "half", "dataset", "classes", "labels", "draw", "method", "accuracy", "fit_s", "uses_unlabeled")
HALVES = ("first", "second")
SVM = "linear SVM"
OURS = ("MDHClassifier", "SpectralPursuitClassifier")
ALWAYS = ", always"


def above_median(values: Floats) -> Ints:
    return (values > np.median(values)).astype(np.int64)


def by_direction(X: Floats, old: Ints, random: np.random.Generator) -> Ints:
    return above_median(X @ random.normal(size=X.shape[1]))


def by_component(X: Floats, old: Ints, random: np.random.Generator) -> Ints:
    _, deviations, components = np.linalg.svd(X, full_matrices=False)
    variances = deviations**2
    return above_median(X @ components[np.flatnonzero(variances >= LEAST_VARIANCE * variances.mean())[-1]])


def by_direction_within(X: Floats, old: Ints, random: np.random.Generator) -> Ints:
    along, new = X @ random.normal(size=X.shape[1]), np.zeros(len(X), dtype=np.int64)
    for k in np.unique(old):
        new[old == k] = above_median(along[old == k])
    return new


def by_columns(X: Floats, old: Ints, random: np.random.Generator) -> Ints:
    columns = random.choice(X.shape[1], 2, replace=False)
    return above_median(X[:, columns] @ random.normal(size=2))


CLASSES: dict[str, Callable[[Floats, Ints, np.random.Generator], Ints]] = {
    "own": lambda X, old, random: old,
    "direction": by_direction,
    "component": by_component,
    "within": by_direction_within,
    "columns": by_columns,
}
SETS: dict[str, list[tuple[str, str]]] = {
    "follow": [
        ("ssl_digit1", "own"),
        ("ssl_usps", "own"),
        ("ssl_g241c", "own"),
        ("breast_cancer", "own"),
        ("voting", "own"),
        ("ionosphere", "own"),
        ("mushroom", "own"),
        ("banknote", "own"),
        ("twonorm", "own"),
    ],
    "ignore": [
        ("magic", "own"),
        ("adult", "own"),
        ("phoneme", "own"),
        ("pendigits", "direction"),
        ("satimage", "within"),
        ("optdigits", "component"),
        ("image_segmentation", "columns"),
        ("wine", "within"),
        ("synthetic_control", "direction"),
        ("ssl_digit1", "component"),
        ("ssl_g241c", "within"),
        ("waveform21", "within"),
        ("covtype", "direction"),
        ("dermatology", "component"),
        ("page_blocks", "columns"),
        ("breast_cancer", "within"),
        ("shuttle", "direction"),
        ("s1", "direction"),
    ],
}


def linear_svm(X: Floats, y: Ints) -> SVC:
    labeled = y != UNLABELLED
    return SVC(kernel="linear").fit(X[labeled], y[labeled])


METHODS: dict[str, Callable[[Floats, Ints], Any]] = {
    SVM: linear_svm,
    OURS[0]: lambda X, y: ravine.MDHClassifier(n_jobs=1).fit(X, y),
    OURS[0] + ALWAYS: lambda X, y: ravine.MDHClassifier(n_jobs=1, use_unlabeled="always").fit(X, y),
    OURS[1]: lambda X, y: ravine.SpectralPursuitClassifier(n_jobs=1).fit(X, y),
    OURS[1] + ALWAYS: lambda X, y: ravine.SpectralPursuitClassifier(n_jobs=1, use_unlabeled="always").fit(X, y),
}


def read(data: DataSet, classes: str) -> tuple[Floats, Ints]:
    """Return scaled rows, at most 1,500, and their classes."""
    X, labels = load(data, True)
    old = np.unique(labels, return_inverse=True)[1]
    if len(X) > MOST_ROWS:
        some = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
        X, old = X[some], old[some]
    X = X[:, np.ptp(X, axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, CLASSES[classes](X, old, np.random.default_rng(zlib.crc32(f"{data.name} {classes}".encode())))


def label_sets(data: DataSet, classes: str, truth: Ints, n_labels: int, n_draws: int) -> Iterator[Ints]:
    """Labeled rows of each draw, with each class among them."""
    published = data.path.with_name(f"{data.name}_splits.parquet")
    if classes == "own" and published.exists():
        yield from list(published_splits(published, n_labels))[:n_draws]
        return
    random, n_classes, found = np.random.default_rng(n_labels), len(np.unique(truth)), 0
    while found < n_draws:
        rows = random.choice(len(truth), n_labels, replace=False)
        if len(np.unique(truth[rows])) == n_classes:
            found += 1
            yield rows


def score(data: DataSet, classes: str, n_labels: int, n_draws: int, methods: list[str]) -> Iterator[dict[str, Any]]:
    X, truth = read(data, classes)
    if 2 * n_labels > len(X):
        return
    for draw, rows in enumerate(label_sets(data, classes, truth, n_labels, n_draws)):
        y = np.full(len(truth), UNLABELLED)
        y[rows] = truth[rows]
        new = y == UNLABELLED
        for method in methods:
            start = time.perf_counter()
            model = METHODS[method](X, y)
            seconds = time.perf_counter() - start
            yield {
                "draw": draw,
                "method": method,
                "accuracy": round(float(np.mean(model.predict(X[new]) == truth[new])), 6),
                "fit_s": round(seconds, 4),
                "uses_unlabeled": getattr(model, "uses_unlabeled_", False),
            }


def fill(path: Path, sets: dict[str, DataSet], n_draws: int, methods: list[str]) -> None:
    """Run what the file does not hold yet."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["dataset"], row["classes"], row["labels"], row["method"]) for row in rows}
    for group, members in SETS.items():
        for number, (name, classes) in enumerate(members):
            for n_labels in N_LABELS:
                missing = [m for m in methods if (name, classes, n_labels, m) not in done and name in sets]
                if missing:
                    key = {"group": group, "half": HALVES[number % 2], "dataset": name, "classes": classes}
                    found = score(sets[name], classes, n_labels, n_draws, missing)
                    rows += [{**key, "labels": n_labels, **row} for row in found]
                    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(path, index=False, lineterminator="\n")
                    print(name, classes, n_labels, *missing, flush=True)


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over the draws, sets × methods."""
    keys = ["group", "half", "labels", "dataset", "classes"]
    table = results.groupby([*keys, "method"], sort=False)["accuracy"].mean().unstack()
    return table.reindex(columns=[method for method in METHODS if method in table])


def comparisons(stem: Path) -> list[Comparison]:
    return [against_svm(stored.read_table(stem))]


def against_svm(results: pd.DataFrame) -> Comparison:
    """Ours less the linear SVM, in the means of each group, half and number of labels."""
    table = means(results).groupby(level=["group", "half", "labels"], sort=False).mean()
    known = [method for method in OURS if method in table]
    differences = table[known].sub(table[SVM], axis="index")
    differences.index = [f"{group}, {half}, with {labels} labels" for group, half, labels in table.index]
    return Comparison("Labels and clusters: accuracy, compared with a linear SVM on the labels", differences)


def groups_table(results: pd.DataFrame) -> str:
    table = means(results)
    by_half = table.groupby(level=["group", "half", "labels"], sort=False)
    lines = []
    for (group, half, labels), part in by_half:
        lines.append([group, half, str(labels), str(len(part)), *(f"{value:.3f}" for value in part.mean())])
    for (group, labels), part in table.groupby(level=["group", "labels"], sort=False):
        lines.append([group, "all", str(labels), str(len(part)), *(f"{value:.3f}" for value in part.mean())])
    compared = against_svm(results)
    heads = ["clusters", "half", "labels", "sets", *table.columns]
    return report.section(compared.title, compared.lower(), report.grid(heads, lines, text=2))


def sets_table(results: pd.DataFrame) -> str:
    table = means(results)
    shares = results[results["method"].isin(OURS)].groupby(["dataset", "classes", "labels", "method"])
    used = shares["uses_unlabeled"].mean().unstack()
    lines = []
    for (_, half, labels, name, classes), row in table.iterrows():
        share = [f"{used.loc[(name, classes, labels), method]:.2f}" for method in OURS if method in used]
        lines.append([name, classes, half, str(labels), *(f"{value:.3f}" for value in row), *share])
    shown = [f"{method} uses them" for method in OURS if method in used]
    note = "The last columns are the share of the draws in which the unlabeled rows are used."
    heads = ["data set", "classes", "half", "labels", *table.columns, *shown]
    return report.section("Each data set: accuracy", note, report.grid(heads, lines, text=3))


def time_table(results: pd.DataFrame) -> str:
    seconds = results.groupby(["labels", "method"])["fit_s"].agg(["median", "max"]).unstack(0)
    lines = [
        [method, *(f"{seconds.loc[method, (part, n)]:.3f}" for n in N_LABELS for part in ("median", "max"))]
        for method in METHODS
        if method in seconds.index
    ]
    heads = ["method", *(f"{n} labels, {part}" for n in N_LABELS for part in ("median", "max"))]
    return report.section("Seconds of a fit, one thread, over all sets and draws", report.grid(heads, lines))


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    return stored.page(
        "Where clusters follow the classes, and where they do not",
        stem,
        [groups_table(results), sets_table(results), time_table(results)],
    )


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--only", nargs="+", metavar="NAME", help="data sets to use")
    cli.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="(all)")
    cli.add_argument("--draws", type=int, default=4, help="draws of labels of each number (4)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:]) | {"settings": {"draws": args.draws}}
    stored.record(stem, entry)
    paths = runner.find(args.data, only=args.only, skip=())
    among = {name for members in SETS.values() for name, _ in members}
    sets = {name: DataSet.describe(path) for name, path in paths.items() if name in among}
    warm_up(["MDP2", "S3CP2"])
    fill(stem.with_suffix(".csv"), sets, args.draws, args.methods)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
