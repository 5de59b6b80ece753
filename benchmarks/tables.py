"""Clusters of tables with numbers and categories, by how categories are encoded, and of plain tables of numbers.

``python -m benchmarks.tables`` prints the tables of docs/decisions/tables.md.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ravine import MDH, IncrementalMDH, NCutH
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


def print_numbers() -> None:
    """Print how plain tables of numbers are clustered, as they are and encoded."""
    print(f"\n{'':36}{'raw':>10}{'encoded':>10}{'raw, k':>10}{'encoded, k':>12}")
    for name in ("iris", "wine", "breast_cancer", "digits"):
        data = getattr(datasets, f"load_{name}")(as_frame=True)
        rows = TableEncoder().fit_transform(data.data)
        line = f"{name:36}"
        for k in (None, len(data.target_names)):
            for standardize, X in ((True, data.data.to_numpy(float)), (False, rows)):
                model = IncrementalMDH(k, standardize=standardize, random_state=0)
                line += f"{score(lambda model=model: model, X, data.target.to_numpy()):10.3f}"  # type: ignore[misc]
        print(line, flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print_categories()
        print_rings()
        print_numbers()
