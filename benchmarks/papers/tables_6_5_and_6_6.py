"""Hofmeyr (2016), Tables 6.5, 6.6, 3.7 and 3.8: accuracy of the semi-supervised MDP² and S³CP² with some labels.

    python -m benchmarks.papers.tables_6_5_and_6_6 DATA --out results
    python -m benchmarks.papers.tables_6_5_and_6_6 DATA --out results --methods MDP2 "linear SVM"

Writes tables_6_5_and_6_6.csv, .md and .json; runs that the first one holds are not made again. Table 6.5 has ten random
label sets of 2, 10 and 25 % of the rows, drawn again where a class has none; the paper's are not known. Table 6.6 has
the twelve published sets of 10 and 100 labels, in DATA/NAME_splits.parquet: columns n_labelled, split, row. Columns are
scaled to unit variance. Accuracy is that on the rows without a label, mean and standard deviation over the sets. MDP2
is MDHClassifier and S3CP2 is SpectralPursuitClassifier, each as it comes. "linear SVM" has the labeled rows only;
"self-training" is scikit-learn's, around the same machine with calibrated probabilities.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

import ravine
from benchmarks import report, runner, stored
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAME = "tables_6_5_and_6_6"
UNLABELLED = -1
N_DRAWS = 10
MOST_FOLDS = 3
COLUMNS = ("dataset", "labels", "split", "method", "accuracy", "fit_s")

# Accuracy of MDP² and S³CP², a cell of the paper a line.
PUBLISHED_COLUMNS = ("MDP2", "S3CP2")
PUBLISHED: dict[str, dict[tuple[str, str], tuple[float, float]]] = {
    "Table 6.5": {
        ("2 %", "breast_cancer"): (0.9645, 0.9618),
        ("2 %", "ionosphere"): (0.7195, 0.6644),
        ("2 %", "voting"): (0.8526, 0.8453),
        ("10 %", "breast_cancer"): (0.9608, 0.9604),
        ("10 %", "ionosphere"): (0.8083, 0.8571),
        ("10 %", "voting"): (0.8926, 0.9074),
        ("25 %", "breast_cancer"): (0.9338, 0.9649),
        ("25 %", "ionosphere"): (0.8544, 0.8718),
        ("25 %", "voting"): (0.8985, 0.9034),
    },
    "Table 6.6": {
        ("10", "ssl_g241c"): (0.8517, 0.8202),
        ("10", "ssl_digit1"): (0.8796, 0.8951),
        ("10", "ssl_usps"): (0.7265, 0.7617),
        ("100", "ssl_g241c"): (0.8509, 0.8615),
        ("100", "ssl_digit1"): (0.9277, 0.9277),
        ("100", "ssl_usps"): (0.8442, 0.8662),
    },
}
PUBLISHED_MACHINES: dict[str, dict[tuple[str, str], tuple[float, float]]] = {
    "Table 3.7": {
        ("2 %", "breast_cancer"): (0.9159, 0.9584),
        ("2 %", "ionosphere"): (0.7082, 0.7283),
        ("2 %", "voting"): (0.8448, 0.8690),
        ("10 %", "breast_cancer"): (0.9526, 0.9666),
        ("10 %", "ionosphere"): (0.8029, 0.8562),
        ("10 %", "voting"): (0.8900, 0.8974),
        ("25 %", "breast_cancer"): (0.9626, 0.9645),
        ("25 %", "ionosphere"): (0.8498, 0.8692),
        ("25 %", "voting"): (0.8933, 0.8920),
    },
    "Table 3.8": {
        ("10", "ssl_g241c"): (0.5528, 0.7905),
        ("10", "ssl_digit1"): (0.7290, 0.7941),
        ("10", "ssl_usps"): (0.7912, 0.6934),
        ("100", "ssl_g241c"): (0.7467, 0.8182),
        ("100", "ssl_digit1"): (0.9010, 0.8195),
        ("100", "ssl_usps"): (0.8689, 0.7888),
    },
}
"""Accuracy of a linear SVM on the labeled rows and of S³VM; their third column is that of S³CP² above."""

ALL = "all"


def mdh(X: Floats, y: Ints) -> ravine.MDHClassifier:
    """MDP² (ch. 2 §2.2)."""
    return ravine.MDHClassifier(n_jobs=1).fit(X, y)


def spectral(X: Floats, y: Ints) -> ravine.SpectralPursuitClassifier:
    """S³CP² (ch. 3B)."""
    return ravine.SpectralPursuitClassifier(n_jobs=1).fit(X, y)


def linear_svm(X: Floats, y: Ints) -> SVC:
    """What the labeled rows know by themselves."""
    labeled = y != UNLABELLED
    return SVC(kernel="linear").fit(X[labeled], y[labeled])


def label_spreading(X: Floats, y: Ints) -> LabelSpreading:
    return LabelSpreading(kernel="knn", n_neighbors=7).fit(X, y)


def self_training(X: Floats, y: Ints) -> SelfTrainingClassifier | SVC:
    """The machine alone where a class has one label: there is nothing to calibrate it with."""
    folds = min(MOST_FOLDS, np.bincount(y[y != UNLABELLED]).min())
    if folds < 2:
        return linear_svm(X, y)
    machine = CalibratedClassifierCV(SVC(kernel="linear"), cv=folds, ensemble=False)
    return SelfTrainingClassifier(machine).fit(X, y)


METHODS: dict[str, Callable[[Floats, Ints], Any]] = {
    "MDP2": mdh,
    "S3CP2": spectral,
    "linear SVM": linear_svm,
    "LabelSpreading": label_spreading,
    "self-training": self_training,
}


def warm_up(methods: Collection[str]) -> None:
    """One fit on other rows, so that no time has a compilation in it."""
    X, y = make_blobs(200, 5, centers=2, random_state=0)
    y[20:] = UNLABELLED
    for method in methods:
        METHODS[method](X, y)


def drawn_splits(y: Ints, share: float, seed: int) -> Iterator[Ints]:
    """Labeled rows, uniform among the sets that have each class."""
    random, n_classes = np.random.default_rng(seed), len(np.unique(y))
    found = 0
    while found < N_DRAWS:
        rows = random.choice(len(y), round(share * len(y)), replace=False)
        if len(np.unique(y[rows])) == n_classes:
            found += 1
            yield rows


def published_splits(path: Path, n_labeled: int) -> Iterator[Ints]:
    """Labeled rows of each published set of this size."""
    table = pd.read_parquet(path)
    for _, split in table[table["n_labelled"] == n_labeled].groupby("split"):
        yield split["row"].to_numpy()


def splits(data: DataSet, y: Ints, labels: str, seed: int) -> Iterator[Ints]:
    """Drawn where `labels` is a percentage, published where it is a number."""
    number, _, percent = labels.partition(" ")
    if percent:
        return drawn_splits(y, int(number) / 100, seed)
    return published_splits(data.path.with_name(f"{data.name}_splits.parquet"), int(number))


def score(data: DataSet, labels: str, methods: Collection[str], seed: int) -> Iterator[dict[str, Any]]:
    """A row of results for each set of labels and method."""
    X, classes = load(data, True)
    truth = np.unique(classes, return_inverse=True)[1]
    for split, rows in enumerate(splits(data, truth, labels, seed)):
        y = np.full(len(truth), UNLABELLED)
        y[rows] = truth[rows]
        unlabeled = y == UNLABELLED
        for method in methods:
            start = time.perf_counter()
            model = METHODS[method](X, y)
            seconds = time.perf_counter() - start
            accuracy = np.mean(model.predict(X[unlabeled]) == truth[unlabeled])
            key = {"dataset": data.name, "labels": labels, "split": split, "method": method}
            yield {**key, "accuracy": round(float(accuracy), 6), "fit_s": round(seconds, 4)}


def fill(path: Path, sets: dict[str, DataSet], methods: Collection[str], seed: int) -> pd.DataFrame:
    """Run what the file does not hold yet, and give all of its rows."""
    rows = pd.read_csv(path, dtype={"labels": str}).to_dict("records") if path.exists() else []
    done = {(row["labels"], row["dataset"], row["method"]) for row in rows}
    for labels, name in (cell for cells in PUBLISHED.values() for cell in cells if cell[1] in sets):
        missing = [method for method in methods if (labels, name, method) not in done]
        if missing:
            rows.extend(score(sets[name], labels, missing, seed))
            pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(path, index=False, lineterminator="\n")
            print(name, labels, *missing, flush=True)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def tables_of(results: pd.DataFrame) -> list[str]:
    """The tables of which something was run."""
    return [table for table, cells in PUBLISHED.items() if {name for _, name in cells} & set(results["dataset"])]


def side_by_side(results: pd.DataFrame, table: str) -> pd.DataFrame:
    """(Labels, data set) × (method, ours | deviation | paper | difference | fit_s) for what was run."""
    groups = results.groupby(["labels", "dataset", "method"])
    ours, deviation = groups["accuracy"].mean().unstack(), groups["accuracy"].std(ddof=0).unstack()
    fit_s = groups["fit_s"].median().unstack()
    cells = [cell for cell in PUBLISHED[table] if cell in ours.index]
    frame = pd.DataFrame(index=pd.MultiIndex.from_tuples(cells, names=["labels", "dataset"]))
    for method in (method for method in METHODS if method in ours):
        frame[method, "ours"], frame[method, "deviation"] = ours[method], deviation[method]
        if method in PUBLISHED_COLUMNS:
            column = PUBLISHED_COLUMNS.index(method)
            frame[method, "paper"] = [PUBLISHED[table][cell][column] for cell in cells]
            frame[method, "difference"] = frame[method, "ours"] - frame[method, "paper"]
        frame[method, "fit_s"] = fit_s[method]
    return frame


def comparisons(stem: Path) -> list[Comparison]:
    results = _read(stem)
    found = [comparison(results, table) for table in tables_of(results)]
    return found + [difference_to_svms(results, table)[1] for table in PUBLISHED_MACHINES]


def comparison(results: pd.DataFrame, table: str) -> Comparison:
    """Ours less the paper's."""
    frame = side_by_side(results, table)
    known = [method for method in PUBLISHED_COLUMNS if (method, "difference") in frame.columns]
    differences = pd.DataFrame({method: frame[method, "difference"] for method in known})
    differences.index = [f"{name} with {labels} labels" for labels, name in frame.index]
    return Comparison(f"{table}: accuracy", differences)


def difference_to_peers(results: pd.DataFrame, table: str) -> Comparison:
    """Ours less the best peer of each line."""
    frame = side_by_side(results, table)
    known = [method for method in METHODS if (method, "ours") in frame.columns]
    ours, peers = (
        [m for m in known if m in PUBLISHED_COLUMNS],
        [(m, "ours") for m in known if m not in PUBLISHED_COLUMNS],
    )
    best = frame[peers].max(axis="columns")
    differences = pd.DataFrame({method: frame[method, "ours"] - best for method in ours})
    differences.index = [f"{name} with {labels} labels" for labels, name in frame.index]
    return Comparison(f"{table}, compared with the best peer of each line", differences)


def difference_to_svms(results: pd.DataFrame, table: str) -> tuple[pd.DataFrame, Comparison]:
    """Return ravine's and the published scores, and ravine's minus those of the published S³VM."""
    ours = results.groupby(["labels", "dataset", "method"])["accuracy"].mean().unstack()
    cells = [cell for cell in PUBLISHED_MACHINES[table] if cell in ours.index]
    frame = ours.loc[cells, [method for method in ("MDP2", "S3CP2", "linear SVM") if method in ours]].copy()
    for column, name in enumerate(("SVM, paper", "S3VM, paper")):
        frame[name] = [PUBLISHED_MACHINES[table][cell][column] for cell in cells]
    mine = [method for method in PUBLISHED_COLUMNS if method in frame]
    differences = frame[mine].sub(frame["S3VM, paper"], axis="index")
    differences.index = [f"{name} with {labels} labels" for labels, name in cells]
    return frame, Comparison(f"{table}: accuracy, compared with the published S³VM", differences)


def machines_table(results: pd.DataFrame, table: str) -> str:
    frame, compared = difference_to_svms(results, table)
    lines = [
        [*cell, *(f"{value:.3f}" for value in row)] for cell, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    lines.append([ALL, f"mean of {len(frame)}", *(f"{value:.3f}" for value in frame.mean())])
    grid = report.grid(["labels", "data set", *frame.columns], lines, text=2)
    return report.section(compared.title, compared.lower(), grid)


def markdown(results: pd.DataFrame, table: str) -> str:
    """A line a data set and number of labels, with the mean over data sets, and the mean of all lines."""
    frame, compared = side_by_side(results, table), comparison(results, table)
    columns = [column for column in frame.columns if column[1] in {"ours", "paper", "difference"}]
    lines = []
    for labels, group in frame.groupby(level="labels", sort=False):
        lines += [[labels, name, *(_cell(row, column) for column in columns)] for (_, name), row in group.iterrows()]
        lines.append([labels, f"mean of {len(group)}", *(_cell(group.mean(), column, False) for column in columns)])
    lines.append([ALL, f"mean of {len(frame)}", *(_cell(frame.mean(), column, False) for column in columns)])
    heads = ["labels", "data set", *(name if part == "ours" else part for name, part in columns)]
    has_peers = any(method not in PUBLISHED_COLUMNS for method, _ in columns)
    peers = difference_to_peers(results, table).lower() if has_peers else ""
    return report.section(
        compared.title,
        f"Beside the paper. {compared.lower()}",
        f"Compared with the best of the three peers on each line. {peers}" if peers else "",
        report.grid(heads, lines, text=2),
    )


def _cell(row: pd.Series[float], column: tuple[str, str], deviation: bool = True) -> str:
    method, part = column
    if part == "difference":
        return f"{row[column]:+.3f}"
    shown = f"{row[column]:.3f}"
    return f"{shown} ({row[method, 'deviation']:.3f})" if part == "ours" and deviation else shown


def time_table(results: pd.DataFrame) -> str:
    """Seconds of a fit, the median over the sets of labels."""
    frame = pd.concat([side_by_side(results, table) for table in tables_of(results)])
    columns = [column for column in frame.columns if column[1] == "fit_s"]
    lines = [[*cell, *(f"{row[column]:.3f}" for column in columns)] for cell, row in frame.iterrows()]
    table = report.grid(["labels", "data set", *(name for name, _ in columns)], lines, text=2)
    return report.section("Seconds of a fit, one thread, the median", table)


def _read(stem: Path) -> pd.DataFrame:
    return stored.read_table(stem, dtype={"labels": str})


def page(stem: Path) -> str:
    results = _read(stem)
    parts = [markdown(results, table) for table in tables_of(results)]
    parts += [machines_table(results, table) for table in PUBLISHED_MACHINES]
    parts.append(time_table(results))
    return stored.page("With some labels (Tables 6.5, 6.6, 3.7 and 3.8)", stem, parts)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--only", nargs="+", metavar="NAME", help="data sets to use")
    cli.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="(all)")
    cli.add_argument("--seed", type=int, default=0, help="draws the label sets of Table 6.5 (0)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:]) | {"settings": {"seed": args.seed}}
    stored.record(stem, entry)
    among = {name for cells in PUBLISHED.values() for _, name in cells}
    paths = runner.find(args.data, only=args.only, skip=())
    sets = {name: DataSet.describe(path) for name, path in paths.items() if name in among}
    # LabelSpreading has 0 / 0 for rows that no label reaches.
    warnings.filterwarnings("ignore", "invalid value encountered", RuntimeWarning, module="sklearn")
    warm_up(args.methods)
    fill(stem.with_suffix(".csv"), sets, args.methods, args.seed)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
