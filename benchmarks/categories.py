"""Decisions of the encoder of tables, one at a time: how categories are encoded, what is a code, what gets a logarithm.

    python -m benchmarks.categories
    python -m benchmarks.categories --rings
    python -m benchmarks.categories --counts
    python -m benchmarks.categories --codes
    python -m benchmarks.categories DATA

prints the tables of docs/decisions/tables.md: clusters of tables with numbers and categories, by how these are encoded;
clusters of tables without any, by how parts of dates are encoded; clusters of tables with small counts; and how many
columns of other tables, or of a folder of Parquet files, are read as codes, if each is cut into a few grades, and if
these are numbered at random.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.messy_tables import halves
from ravine import MDH, IncrementalMDH, NCutH
from ravine.datasets import random_messy_table
from ravine.prepare import TableEncoder

Table = dict[str, NDArray[Any]]
Labels = NDArray[np.int64]

N_ROWS, SEEDS = 2000, range(3)

METHODS: dict[str, Callable[[], Any]] = {
    "IncrementalMDH(standardize=False)": lambda: IncrementalMDH(standardize=False, random_state=0),
    "IncrementalMDH()": lambda: IncrementalMDH(random_state=0),
    "NCutH()": NCutH,
    "MDH()": MDH,
    "KMeans(3)": lambda: KMeans(3, n_init=5, random_state=0),
}

ENCODINGS: dict[str, dict[str, Any] | None] = {
    "numbers only": None,
    "indicators 0.1": {"category_encoding": "indicators", "category_weight": 0.1},
    "indicators 1": {"category_encoding": "indicators", "category_weight": 1.0},
    "spread 0.1": {"category_encoding": "spread", "category_weight": 0.1},
    "spread 0.5": {"category_encoding": "spread", "category_weight": 0.5},
    "spread 1": {"category_encoding": "spread", "category_weight": 1.0},
}


def numbers(rng: np.random.Generator, n_columns: int, distance: float) -> tuple[Table, Labels]:
    """Return three Gaussian clusters with equal distances between their means, or one cluster."""
    label = rng.integers(0, 3, N_ROWS)
    corners = np.array([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]]) * distance / 3**0.5
    turn = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0][:2]
    rows = corners[label] @ turn + rng.normal(size=(N_ROWS, n_columns))
    return {f"v{j}": rows[:, j] for j in range(n_columns)}, label if distance else np.zeros(N_ROWS, dtype=np.int64)


def noise(rng: np.random.Generator, n_columns: int) -> Table:
    """Return categories that have nothing to do with the clusters: two or more levels, even and uneven."""
    table: Table = {"even": rng.choice(["a", "b"], N_ROWS)}
    table["uneven"] = rng.choice(["a", "b", "c", "d"], N_ROWS, p=[0.5, 0.3, 0.15, 0.05])
    for j in range(n_columns - 2):
        table[f"noise{j}"] = rng.choice([f"level {v}" for v in range(2 + j % 7)], N_ROWS)
    return table


def agreeing(rng: np.random.Generator, label: Labels) -> Table:
    """Return three categories that name the cluster in 85 % of the rows."""
    names = np.array(["a", "b", "c"])
    return {
        f"named{j}": names[np.where(rng.random(N_ROWS) < 0.85, (label + j) % 3, rng.integers(0, 3, N_ROWS))]
        for j in range(3)
    }


def one_cluster(rng: np.random.Generator) -> tuple[Table, Labels]:
    """Five numbers without clusters, and three categories."""
    table, label = numbers(rng, 5, 0.0)
    return table | noise(rng, 3), label


def three_clusters(rng: np.random.Generator) -> tuple[Table, Labels]:
    """Three clusters in five numbers, and three categories that do not matter."""
    table, label = numbers(rng, 5, 5.0)
    return table | noise(rng, 3), label


def mostly_noise(rng: np.random.Generator) -> tuple[Table, Labels]:
    """Three clusters in two numbers, and 13 categories that do not matter."""
    table, label = numbers(rng, 2, 4.5)
    return table | noise(rng, 13), label


def categories_matter(rng: np.random.Generator) -> tuple[Table, Labels]:
    """Three clusters that overlap in five numbers, and three categories that agree with them."""
    table, label = numbers(rng, 5, 3.0)
    return table | agreeing(rng, label), label


TABLES = (one_cluster, three_clusters, mostly_noise, categories_matter)


def score(method: Callable[[], Any], rows: NDArray[np.float64], label: Labels) -> float:
    """Return the adjusted Rand index of a fit."""
    return float(adjusted_rand_score(label, method().fit(rows).labels_))


def print_categories() -> None:
    """Print a line for each table and method."""
    for make in TABLES:
        print(f"\n{make.__doc__}\n{'':36}" + "".join(f"{name:>16}" for name in ENCODINGS))
        for method_name, method in METHODS.items():
            if make is one_cluster and method_name.startswith("KMeans"):
                continue
            line = f"{method_name:36}"
            for options in ENCODINGS.values():
                scores = []
                for seed in SEEDS:
                    table, label = make(np.random.default_rng(seed))
                    if options is None:
                        table = {name: cells for name, cells in table.items() if name.startswith("v")}
                    scores.append(score(method, TableEncoder(**(options or {})).fit_transform(table), label))
                line += f"{np.mean(scores):16.3f}"
            print(line, flush=True)


def times(rng: np.random.Generator, kind: str) -> NDArray[Any]:
    """Return dates of two years, with hours as the name of a table says."""
    hours = {
        "at any hour": lambda: rng.uniform(0, 24, N_ROWS),
        "from 8 to 22": lambda: rng.uniform(8, 22, N_ROWS),
        "around 13": lambda: rng.normal(13, 2.5, N_ROWS) % 24,
    }[kind]()
    seconds = rng.integers(0, 730, N_ROWS) * 86400 + (hours * 3600).astype(np.int64)
    return np.datetime64("2023-01-01T00:00:00") + seconds


def print_rings() -> None:
    """Print in how many of six tables without clusters some are found, by how parts of dates are encoded."""
    print(f"\n{'four numbers without clusters, and a date':42}{'ring':>26}{'filled ring':>26}")
    for kind, part in (
        ("at any hour", "hour"),
        ("from 8 to 22", "hour"),
        ("around 13", "hour"),
        ("at any hour", "weekday"),
        ("at any hour", "month"),
    ):
        line = f"{kind}, date:{part}".ljust(42)
        for encoding in ("indicators", "spread"):
            found = dict.fromkeys(("IncrementalMDH()", "NCutH()", "MDH()"), 0)
            for seed in range(6):
                rng = np.random.default_rng(seed)
                table = numbers(rng, 4, 0.0)[0] | {"when": times(rng, kind)}
                encoder = TableEncoder(roles={"when": f"date:{part}"}, category_encoding=encoding)
                rows = encoder.fit_transform(table)
                for name in found:
                    found[name] += int(METHODS[name]().fit(rows).n_clusters_ > 1)
            line += f"{', '.join(map(str, found.values())):>26}"
        print(line, flush=True)


def counts(seed: int, mean: float, n_clusters: int) -> tuple[Table, Labels]:
    """Return four numbers and four columns of counts, with clusters that differ in all of them, or without."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_clusters, N_ROWS)
    centers = 2.2 * rng.normal(size=(n_clusters, 4)) * (n_clusters > 1)
    table: Table = {f"v{j}": centers[label, j] + rng.normal(size=N_ROWS) for j in range(4)}
    for j in range(4):
        means = mean * np.exp(0.8 * rng.normal(size=n_clusters) * (n_clusters > 1))[label]
        uneven = rng.poisson(means * np.exp(0.8 * rng.normal(size=N_ROWS)))
        table[f"c{j}"] = np.floor(rng.exponential(means)) if j % 2 else uneven
    return table, label


def print_counts() -> None:
    """Print in how many of 30 tables without clusters a cut is confirmed, and the scores of 12 tables with three."""
    print(f"{'mean count':>10}{'logarithms':>12}{'confirmed':>12}{'ARI':>10}")
    for mean in (1, 1.5, 2, 3, 4, 8):
        n_logs = n_confirmed = 0
        for seed in range(30):
            encoder = TableEncoder()
            model = IncrementalMDH(random_state=0).fit(encoder.fit_transform(counts(seed, mean, 1)[0]))
            n_logs += sum(column.transform == "log" for column in encoder.columns_)
            n_confirmed += model.confirmed_ > 0
        scores = [
            score(METHODS["IncrementalMDH()"], TableEncoder().fit_transform(table), label)
            for table, label in (counts(seed, mean, 3) for seed in range(12))
        ]
        print(f"{mean:10g}{n_logs:12}{n_confirmed:12}{np.mean(scores):10.3f}", flush=True)


def graded(frame: pd.DataFrame, n_grades: int) -> pd.DataFrame:
    """Return the columns with enough values, cut into grades of equal width between their outer percentiles."""
    out = {}
    for name in frame:
        low, high = np.quantile(frame[name], (0.02, 0.98))
        if low < high and frame[name].nunique() > 2 * n_grades:
            grades = np.clip(((frame[name] - low) / (high - low) * n_grades).astype(np.int64), 0, n_grades - 1)
            if grades.nunique() == n_grades:
                out[name] = grades
    return pd.DataFrame(out)


def n_codes(frame: pd.DataFrame) -> int:
    """Return how many columns of whole numbers are read as categories."""
    return sum(column.role == "category" for column in TableEncoder().fit(frame).columns_)


def stored_tables(folder: Path) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the half, the name and at most 5,000 rows and some 100 columns of each file."""
    for path, half in halves(folder).items():
        frame = pd.read_parquet(path).drop(columns="label")
        frame = frame.sample(min(len(frame), 5000), random_state=1)
        yield half, path.stem, frame.iloc[:, :: 1 + frame.shape[1] // 100]


def other_tables() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield tables that had no part in the choice of the rule: of scikit-learn, and clean numbers of made-up ones."""
    for name in ("diabetes", "breast_cancer", "linnerud"):
        yield "scikit-learn", name, getattr(datasets, f"load_{name}")(as_frame=True).data
    for seed in range(200, 260):
        rows = random_messy_table(seed).truth
        yield "made-up", str(seed), pd.DataFrame(rows, columns=[f"x{j}" for j in range(rows.shape[1])])


def print_codes(tables: Iterable[tuple[str, str, pd.DataFrame]]) -> None:
    """Print how many columns are read as codes, by number of grades: as grades, and numbered at random."""
    found = []
    for group, name, frame in tables:
        for n_grades in (3, 4, 5, 7, 10):
            grades = graded(frame, n_grades)
            if grades.shape[1] > 1:
                rng = np.random.default_rng(0)
                codes = grades.apply(lambda cells: rng.permutation(cells.max() + 1)[cells])  # noqa: B023
                found.append((group, name, n_grades, grades.shape[1], n_codes(grades), n_codes(codes)))
    results = pd.DataFrame(found, columns=["tables", "name", "grades", "columns", "graded", "coded"])
    print(results[results["graded"] > 0].to_string(index=False))
    print(results.groupby(["tables", "grades"])[["columns", "graded", "coded"]].sum().to_string())


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, nargs="?", metavar="DATA", help="folder of Parquet files: grades and codes")
    cli.add_argument("--rings", action="store_true", help="parts of dates")
    cli.add_argument("--codes", action="store_true", help="grades and codes in other tables")
    cli.add_argument("--counts", action="store_true", help="tables with small counts")
    args = cli.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.data:
            print_codes(stored_tables(args.data))
        elif args.rings:
            print_rings()
        elif args.codes:
            print_codes(other_tables())
        elif args.counts:
            print_counts()
        else:
            print_categories()


if __name__ == "__main__":
    main()
