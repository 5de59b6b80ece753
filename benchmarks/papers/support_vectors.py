"""Pham, Le and Dang, *Scalable support vector clustering using budget*: Tables 2, 3, 4, 7 and 8, and Figures 1 to 3.

    python -m benchmarks.papers.support_vectors DATA --out results
    python -m benchmarks.papers.support_vectors DATA --out results --picture budget.png
    python -m benchmarks.papers.support_vectors DATA --out results --small    # in a minute

DATA is a folder of Parquet files, columns x0… and label; of the paper's data sets, those that are there are used. As in
the paper γ and C come from a grid, and each index is the best on the grid of its mean over five runs; ten more runs say
how much of that is chance. shuttle has 43,500 random rows and one run. What users get, without labels and without a
grid, is a table of its own. "SVC, scikit-learn" is scikit-learn's OneClassSVM with ν for C. The paper does not say how
columns are scaled: standard scores are better than [0, 1] for each of the three strategies, `--scale unit` shows it.

The other parts are the objective against the budget, relative to the exact optimum, and the shapes of Figures 1 to 3
drawn with twenty seeds. Writes support_vectors.md and .json, and a CSV for each part. Times are of one thread, while as
many processes as `--jobs` are at work.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks import report, stored
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load
from ravine import SupportVectorClustering
from ravine._reservoir import merge_copies, visits
from ravine._svc import STRATEGIES, KernelSum, Learner, Strip, objective, solve_exactly
from ravine.datasets import make_blobs, make_moons, make_rings
from ravine.metrics import purity

Floats = NDArray[np.float64]
Data = tuple[Floats, NDArray[np.int64]]
Record = dict[str, Any]

NAME = "support_vectors"
GRID = tuple(2.0**power for power in range(-5, 6, 2))
NUS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
EPSILON = 0.1
BUDGETS = dict.fromkeys(("aggregation", "breast_cancer", "compound", "d31", "flame", "iris", "jain", "spiral"), 50) | {
    "shuttle": 100
}
LARGE, LARGE_ROWS, N_BLOCKS = "shuttle", 43_500, 3
SCALERS = {"standard": StandardScaler, "unit": MinMaxScaler}

COLUMNS = ("SVC", "SGD", "FSVC", "BSGD-R", "BSGD-PNN", "BSGD-PRN")
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "purity": {
        "aggregation": (1.00, 1.00, 0.22, 1.00, 1.00, 1.00),
        "breast_cancer": (0.98, 0.99, 0.99, 0.95, 0.99, 0.97),
        "compound": (0.66, 0.62, 0.13, 0.99, 0.98, 0.97),
        "d31": (0.94, 0.99, 0.42, 0.96, 0.97, 0.91),
        "flame": (0.86, 0.87, 0.03, 1.00, 1.00, 1.00),
        "iris": (1.00, 1.00, 0.68, 1.00, 1.00, 0.99),
        "jain": (0.37, 0.46, 0.69, 1.00, 1.00, 1.00),
        "spiral": (0.09, 0.33, 0.53, 1.00, 1.00, 1.00),
        "shuttle": (0.06, 0.05, 0.06, 0.34, 0.90, 0.42),
    },
    "rand": {
        "aggregation": (1.00, 1.00, 0.22, 0.94, 0.93, 0.95),
        "breast_cancer": (0.82, 0.85, 0.81, 0.73, 0.78, 0.72),
        "compound": (0.92, 0.88, 0.25, 0.90, 0.95, 0.91),
        "d31": (0.88, 0.81, 0.54, 0.98, 0.98, 0.96),
        "flame": (0.75, 0.76, 0.03, 0.87, 0.74, 0.91),
        "iris": (0.97, 0.96, 0.69, 0.83, 0.84, 0.81),
        "jain": (0.70, 0.71, 0.77, 1.00, 0.98, 0.89),
        "spiral": (0.15, 0.94, 0.75, 0.91, 0.75, 0.75),
        "shuttle": (0.84, 0.83, 0.75, 0.50, 0.62, 0.63),
    },
    "nmi": {
        "aggregation": (0.69, 0.75, 0.60, 0.89, 0.89, 0.89),
        "breast_cancer": (0.22, 0.55, 0.45, 0.42, 0.43, 0.41),
        "compound": (0.51, 0.81, 0.45, 0.82, 0.82, 0.77),
        "d31": (0.45, 0.50, 0.38, 0.80, 0.81, 0.89),
        "flame": (0.55, 0.51, 0.05, 0.57, 0.54, 0.66),
        "iris": (0.63, 0.75, 0.71, 0.76, 0.76, 0.76),
        "jain": (0.53, 0.31, 1.00, 0.98, 0.92, 0.68),
        "spiral": (0.52, 0.34, 0.16, 0.85, 0.58, 0.59),
        "shuttle": (0.26, 0.41, 0.50, 0.38, 0.47, 0.52),
    },
    "training_s": {
        "aggregation": (0.05, 0.03, 0.05, 0.01, 0.02, 0.03),
        "breast_cancer": (0.18, 0.02, 0.05, 0.02, 0.03, 0.04),
        "compound": (0.03, 0.02, 0.10, 0.01, 0.01, 0.01),
        "d31": (0.17, 0.09, 0.09, 0.13, 0.16, 0.11),
        "flame": (0.02, 0.02, 15.16, 0.01, 0.01, 0.01),
        "iris": (0.02, 0.02, 0.04, 0.01, 0.01, 0.01),
        "jain": (0.02, 0.02, 0.03, 0.01, 0.01, 0.01),
        "spiral": (0.02, 0.03, 0.02, 0.01, 0.01, 0.01),
        "shuttle": (10.03, 0.46, 68.43, 1.51, 2.15, 1.82),
    },
    "clustering_s": {
        "aggregation": (31.42, 2.83, 7.51, 0.37, 0.61, 1.43),
        "breast_cancer": (19.80, 2.14, 22.86, 0.29, 0.62, 1.48),
        "compound": (6.82, 1.17, 7.24, 0.11, 0.15, 0.51),
        "d31": (467.72, 6.56, 33.08, 4.58, 8.39, 13.33),
        "flame": (1.81, 0.67, 4.31, 0.05, 0.08, 0.24),
        "iris": (1.03, 0.34, 4.33, 0.03, 0.03, 0.15),
        "jain": (5.80, 0.81, 4.59, 0.10, 0.16, 0.45),
        "spiral": (1.60, 0.99, 7.78, 0.07, 0.10, 0.35),
        "shuttle": (1972.61, 925.0, 1125.46, 1766.66, 1739.62, 1759.06),
    },
}
TITLES = {
    "purity": "Table 2, purity, and in brackets the corresponding number of clusters",
    "rand": "Table 3, Rand index",
    "nmi": "Table 4, normalized mutual information",
    "training_s": "Table 7, seconds of training, median over the grid",
    "clustering_s": "Table 8, seconds of clustering, median over the grid",
}

VARIANTS: dict[str, Record] = {
    "removal": {"maintenance": "removal"},
    "nearest": {"maintenance": "nearest"},
    "random": {"maintenance": "random"},
    "nearest, Algorithm 3": {"assignment": "segments", "epsilon": EPSILON},
    "SGD, ravine": {"budget": None},
}
CLASSICAL = "SVC, scikit-learn"
SAME_AS = {"removal": "BSGD-R", "nearest": "BSGD-PNN", "random": "BSGD-PRN"}
INDICES = ("rand", "nmi", "purity")
FOUND = [*INDICES, "ari", "n_clusters", "training_s", "clustering_s"]

GAP_BUDGETS = (10, 20, 50, 100, 200, 400)
GAP_SETS = ("aggregation", "breast_cancer")
EPOCHS, OPTIMAL, SWEEPS = 20, 1e-7, 20_000
COLORS = {"removal": "#CC79A7", "random": "#E69F00", "nearest": "#0072B2"}
MARKERS = {"removal": "s", "random": "^", "nearest": "o"}


class Timed(SupportVectorClustering):
    """With the seconds of both phases of the last fit."""

    training_s: float
    clustering_s: float

    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Timed:
        start = time.perf_counter()
        super().fit(X, y, sample_weight)
        self.clustering_s = time.perf_counter() - start - self.training_s
        return self

    def _learn(self, *args: Any) -> Any:
        start = time.perf_counter()
        result = super()._learn(*args)
        self.training_s = time.perf_counter() - start
        return result


def scaled(data: DataSet, scale: str) -> Data:
    """Features and labels; of the large data set as many random rows as the paper has."""
    X, y = load(data, False)
    if data.name == LARGE and len(X) > LARGE_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(len(X), LARGE_ROWS, replace=False))
        X, y = X[chosen], y[chosen]
    return np.ascontiguousarray(SCALERS[scale]().fit_transform(X)), y


def scores(y: NDArray[np.int64], labels: NDArray[np.int64]) -> Record:
    return {
        "rand": rand_score(y, labels),
        "nmi": normalized_mutual_info_score(y, labels),
        "ari": adjusted_rand_score(y, labels),
        "purity": purity(y, labels),
        "n_clusters": int(labels.max()) + 1,
    }


def fit(data: DataSet, scale: str, variant: str, gamma: float, C: float, seed: int) -> Record:
    """One run at one place of the grid."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # most of the grid is not for these data
    X, y = scaled(data, scale)
    options: Record = {"budget": BUDGETS[data.name], "gamma": gamma, "C": C, "random_state": seed} | VARIANTS[variant]
    model = Timed(**options).fit(X)
    times = {"training_s": model.training_s, "clustering_s": model.clustering_s}
    return {"dataset": data.name, "variant": variant, "gamma": gamma, "C": C, **scores(y, model.labels_), **times}


def fit_classical(data: DataSet, scale: str, gamma: float, nu: float) -> Record:
    """OneClassSVM, and Algorithm 3 on its function."""
    X, y = scaled(data, scale)
    start = time.perf_counter()
    model = OneClassSVM(gamma=gamma, nu=nu).fit(X)
    trained = time.perf_counter()
    kernel_sum = KernelSum(model.support_vectors_, model.dual_coef_[0] / model.offset_[0], gamma)
    labels = Strip.of(kernel_sum, X, EPSILON, None).predict(X)
    times = {"training_s": trained - start, "clustering_s": time.perf_counter() - trained}
    return {"dataset": data.name, "variant": CLASSICAL, "gamma": gamma, "nu": nu, **scores(y, labels), **times}


def fit_default(data: DataSet, scale: str, seed: int) -> Record:
    """One run with default parameters."""
    X, y = scaled(data, scale)
    model = Timed(random_state=seed).fit(X)
    times = {"training_s": model.training_s, "clustering_s": model.clustering_s}
    chosen = {"gamma": model.gamma_, "C": model.C_, "strength": model.strength_}
    return {"dataset": data.name, **scores(y, model.labels_), **chosen, **times}


def run_grid(
    sets: list[DataSet], scale: str, grid: tuple[float, ...], variants: Sequence[str], seeds: range, n_jobs: int
) -> pd.DataFrame:
    """Means over the runs for each data set, variant and place of the grid; of the large data set there is one run."""
    records: list[Record] = []
    for data in sets:
        is_large = data.name == LARGE
        calls = [
            delayed(fit)(data, scale, variant, gamma, C, seed)
            for variant in variants
            if variant in VARIANTS and not (is_large and variant == "SGD, ravine")
            for seed in (seeds[:1] if is_large else seeds)
            for gamma in grid
            for C in grid
        ]
        if CLASSICAL in variants and not is_large:
            calls += [delayed(fit_classical)(data, scale, gamma, nu) for gamma in grid for nu in NUS]
        records += Parallel(n_jobs)(calls)
        print(f"grid, {data.name}, runs {seeds[0]} to {seeds[-1]}", flush=True)
    keys = ["dataset", "variant", "gamma", "C", "nu"]
    return pd.DataFrame(records, columns=[*keys, *FOUND]).groupby(keys, dropna=False, sort=False).mean().reset_index()


def run_defaults(sets: list[DataSet], scale: str, n_runs: int, n_jobs: int) -> pd.DataFrame:
    """Means over the runs for each data set."""
    calls = [delayed(fit_default)(data, scale, seed) for data in sets for seed in range(n_runs)]
    print("defaults", flush=True)
    return pd.DataFrame(Parallel(n_jobs)(calls)).groupby("dataset", sort=False).mean().reset_index()


def best_of_grid(results: pd.DataFrame) -> pd.DataFrame:
    """The place where each index is best, of equal ones that with the fewest clusters; times are medians."""
    keys = ["dataset", "variant"]
    medians = results.groupby(keys, sort=False, as_index=False)[["training_s", "clustering_s"]].median()
    found = []
    for index in INDICES:
        order = results.sort_values([index, "n_clusters"], ascending=[False, True], kind="stable")
        best = order.groupby(keys, as_index=False).first(skipna=False)
        found.append(best.assign(index=index, value=best[index]))
    heads = [*keys, "index", "value", "gamma", "C", "nu", "n_clusters", "training_s", "clustering_s"]
    return medians.merge(pd.concat(found).drop(columns=["training_s", "clustering_s"]), on=keys)[heads]


def block_of_runs(best: pd.DataFrame, seeds: range) -> pd.DataFrame:
    """Means over the small data sets of the best on the grid, for the three strategies."""
    part = best[(best.dataset != LARGE) & best.variant.isin(STRATEGIES) & best["index"].isin(["rand", "nmi"])]
    means = part.groupby(["variant", "index"], sort=False).value.mean().reset_index()
    return means.assign(runs=f"{seeds[0]} to {seeds[-1]}")


def blocks_table(results: pd.DataFrame) -> str:
    wide = results.pivot(index="runs", columns=["variant", "index"], values="value").loc[results.runs.unique()]
    heads = [(variant, index) for index in ("rand", "nmi") for variant in STRATEGIES]
    lines = [[runs, *(f"{row[head]:.3f}" for head in heads)] for runs, row in wide.iterrows()]
    return report.grid(["random_state", *(f"{variant}, {index}" for variant, index in heads)], lines)


def side_by_side(best: pd.DataFrame, score: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Data sets × the paper's columns, × ours, and × the numbers of clusters of ours."""
    variants, is_time = [*VARIANTS, CLASSICAL], score not in INDICES
    part = best[best["index"] == (INDICES[0] if is_time else score)].set_index(["dataset", "variant"])
    ours = part[score if is_time else "value"].unstack().reindex(columns=variants)
    names = [name for name in BUDGETS if name in ours.index]
    published = pd.DataFrame.from_dict(PUBLISHED[score], orient="index", columns=list(COLUMNS))
    return published.loc[names], ours.loc[names], part["n_clusters"].unstack().reindex(names, columns=variants)


def comparison(best: pd.DataFrame, score: str) -> Comparison:
    """Our strategies less the paper's."""
    published, ours, _ = side_by_side(best, score)
    differences = pd.DataFrame({name: ours[name] - published[column] for name, column in SAME_AS.items()})
    return Comparison(TITLES[score].partition(", and in")[0], differences, {LARGE})


def comparisons(stem: Path) -> list[Comparison]:
    best = stored.read_table(stem, "grid")
    return [comparison(best, score) for score in TITLES if score in INDICES]


def table(best: pd.DataFrame, score: str) -> str:
    """The paper's columns and ours, and the mean over the small data sets."""
    published, ours, number = side_by_side(best, score)
    frame = published.add_suffix(", paper").join(ours)
    small = [name for name in frame.index if name != LARGE]
    mean = f"mean of {len(small)}"
    frame.loc[mean], number.loc[mean] = frame.loc[small].mean(), number.loc[small].mean()
    digits = 3 if score in INDICES else 2
    lines = []
    for name, row in frame.iterrows():
        cells = [f"{value:.{2 if head.endswith('paper') and name != mean else digits}f}" for head, value in row.items()]
        if score == "purity":
            clusters = [f" ({value:.0f})" for value in number.loc[name]]
            cells = cells[: len(COLUMNS)] + [c + b for c, b in zip(cells[len(COLUMNS) :], clusters, strict=True)]
        lines.append([name, *("–" if cell.startswith("nan") else cell for cell in cells)])
    return report.grid(["data set", *frame.columns], lines)


def _note(best: pd.DataFrame, score: str) -> str:
    if score in INDICES:
        return comparison(best, score).lower()
    published, ours, _ = side_by_side(best, score)
    columns = list(SAME_AS.values())
    return report.slower(ours[list(SAME_AS)].set_axis(columns, axis="columns"), published[columns])


def defaults_table(results: pd.DataFrame) -> str:
    formats = dict.fromkeys(("rand", "nmi", "ari", "purity"), "{:.3f}") | {"n_clusters": "{:.1f}", "strength": "{:.1f}"}
    formats |= {"gamma": "{:.3g}", "C": "{:.3g}", "training_s": "{:.2f}", "clustering_s": "{:.2f}"}
    lines = [
        [record["dataset"], *(form.format(record[name]) for name, form in formats.items())]
        for record in results.to_dict("records")
    ]
    small = results[results.dataset != LARGE]
    means = [f"{small[name].mean():.3f}" for name in ("rand", "nmi", "ari", "purity")]
    lines.append([f"mean of {len(small)}", *means, *[""] * (len(formats) - 4)])
    return report.grid(["data set", *formats], lines)


def gaps(name: str, X: Floats, n_runs: int) -> pd.DataFrame:
    """Relative gap of the objective to its optimum for each budget, strategy and run, γ and C as chosen by default."""
    chosen = SupportVectorClustering().fit(X)
    gamma, C = chosen.gamma_, chosen.C_
    rows, mass = merge_copies(X, np.ones(len(X)), 0)
    exact, proved, _ = solve_exactly(rows, mass, gamma, C, OPTIMAL, SWEEPS)
    least = objective(exact, C, exact.heights(rows), mass)
    records = []
    for budget in (*(budget for budget in GAP_BUDGETS if budget < len(rows)), None):
        for strategy, number in STRATEGIES.items():
            for seed in range(n_runs):
                visited = visits(rows, mass, seed)
                learner = Learner(rows.shape[1], gamma, C, budget, number, 5, seed)
                for epoch in range(1, EPOCHS + 1):
                    learner.learn(rows, visited.in_epoch(epoch), visited.weight)
                kernel_sum = learner.kernel_sum
                gap = objective(kernel_sum, C, kernel_sum.heights(rows), mass) / least - 1
                records.append((name, len(rows), gamma, C, budget, strategy, seed, learner.n_vectors, gap, proved))
    print(f"budget, {name}", flush=True)
    heads = ["dataset", "rows", "gamma", "C", "budget", "strategy", "seed", "n_vectors", "gap", "optimum_proved_to"]
    frame = pd.DataFrame(records, columns=heads).astype({"budget": "Int64"})
    keys = ["dataset", "rows", "gamma", "C", "optimum_proved_to", "budget", "strategy"]
    return frame.groupby(keys, dropna=False, sort=False)[["n_vectors", "gap"]].mean().reset_index()


def draw_gaps(results: pd.DataFrame, path: Path) -> None:
    plt = importlib.import_module("matplotlib.pyplot")
    names = list(results.dataset.unique())
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.5), sharey=True, layout="constrained")
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        part = results[results.dataset == name]
        for strategy, color in COLORS.items():
            line = part[(part.strategy == strategy) & part.budget.notna()]
            style = {"color": color, "marker": MARKERS[strategy], "markersize": 5.5, "linewidth": 1.8}
            ax.plot(line.budget.astype(float), line.gap, label=strategy, **style)
        ax.axhline(part.gap[part.budget.isna()].iloc[0], color="#555555", linestyle="--", label="no budget")
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="budget",
            title=f"{name.replace('_', ' ')}, {part.rows.iloc[0]} distinct rows",
        )
        ax.set_xticks(GAP_BUDGETS, [str(budget) for budget in GAP_BUDGETS])
        ax.minorticks_off()
        ax.grid(alpha=0.25)
    figure.supylabel("objective / optimum − 1", fontsize="medium")
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def gaps_table(results: pd.DataFrame) -> str:
    wide = results.pivot_table("gap", ["dataset", "budget"], "strategy", dropna=False, sort=False, observed=True)
    lines = [
        [name, "none" if pd.isna(budget) else f"{budget:.0f}", *(f"{row[strategy]:.1e}" for strategy in STRATEGIES)]
        for (name, budget), row in wide.iterrows()
    ]
    return report.grid(["data set", "budget", *STRATEGIES], lines)


def polygon(n_corners: int, side: float) -> Floats:
    """Corners of a regular polygon."""
    angle = 2 * np.pi * np.arange(n_corners) / n_corners
    return side / (2 * np.sin(np.pi / n_corners)) * np.column_stack([np.cos(angle), np.sin(angle)])


SHAPES: dict[str, tuple[Callable[..., Data], Record]] = {
    "two moons, budget 100": (partial(make_moons, 500, noise=0.05), {"budget": 100}),
    "three Gaussians, budget 100": (partial(make_blobs, 300, centers=polygon(3, 8.0)), {"budget": 100}),
    "four Gaussians, budget 100": (partial(make_blobs, 300, centers=polygon(4, 8.0)), {"budget": 100}),
    "two rings and a blob, exact": (partial(make_rings, 1000, sizes="length", noise=0.1), {"solver": "exact"}),
    "two rings and a blob, budget 200": (partial(make_rings, 1000, sizes="length", noise=0.1), {"budget": 200}),
}


def fit_shape(name: str, seed: int) -> Record:
    """Figures 1 to 3 with everything chosen by the estimator."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the index says how good it is
    make, options = SHAPES[name]
    X, y = make(random_state=seed)
    model = SupportVectorClustering(**options).fit(X)
    found = {"ari": adjusted_rand_score(y, model.labels_), "n_clusters": model.n_clusters_}
    return {"shape": name, "seed": seed, **found, "strength": model.strength_, "gamma": model.gamma_}


def shapes_table(results: pd.DataFrame) -> str:
    lines = [
        [name, f"{len(part)}", f"{(part.ari >= 0.99).sum()}", f"{part.ari.mean():.4f}", f"{part.ari.min():.4f}"]
        for name, part in results.groupby("shape", sort=False)
    ]
    return report.grid(["shape", "seeds", "ARI ≥ 0.99", "mean ARI", "lowest ARI"], lines)


def page(stem: Path) -> str:
    best, runs, defaults, budget, shapes = (
        stored.read_table(stem, part) for part in ("grid", "runs", "defaults", "budget", "shapes")
    )
    n_small = sum(name != LARGE for name in best.dataset.unique())
    unguided = "Without a grid: γ, C and the number of clusters chosen automatically, budget 1,000"
    parts = [
        *(report.section(title, _note(best, score), table(best, score)) for score, title in TITLES.items()),
        report.section(f"The same for other runs: means over {n_small} data sets", blocks_table(runs)),
        report.section(unguided, defaults_table(defaults)),
        report.section(f"Objective divided by its optimum, minus 1, after {EPOCHS} epochs", gaps_table(budget)),
        report.section("Figures 1 to 3", shapes_table(shapes)),
    ]
    return stored.page("Support vectors on a budget (Tables 2 to 4, 7 and 8)", stem, parts)


def find_sets(folder: Path, names: Iterable[str]) -> list[DataSet]:
    paths = [folder / f"{name}.parquet" for name in names]
    return [DataSet.describe(path) for path in paths if path.exists()]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--scale", choices=SCALERS, default="standard", help="standard scores, or [0, 1] (standard)")
    cli.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    cli.add_argument("--picture", type=Path, metavar="PNG", help="draw the objective against the budget here")
    cli.add_argument("--small", action="store_true", help="two small data sets, four places of the grid, two runs")
    args = cli.parse_args()
    entry = stored.run_details(sys.argv[1:])
    mpl.use("Agg")
    sets = find_sets(args.data, ("iris", "flame") if args.small else BUDGETS)
    grid, n_runs = (GRID[2:4], 2) if args.small else (GRID, 5)
    n_seeds = 2 if args.small else 20
    moons, _ = make_moons(500, noise=0.1, random_state=0)
    problems = {"moons": moons}
    problems |= {d.name: scaled(d, args.scale)[0] for d in find_sets(args.data, () if args.small else GAP_SETS)}
    shapes = [delayed(fit_shape)(name, 1000 + number) for name in SHAPES for number in range(n_seeds)]
    on_grid = partial(run_grid, scale=args.scale, grid=grid, n_jobs=args.jobs)
    small = [data for data in sets if data.name != LARGE]
    first, *others = (range(start, start + n_runs) for start in range(0, N_BLOCKS * n_runs, n_runs))
    best = best_of_grid(on_grid(sets, variants=[*VARIANTS, CLASSICAL], seeds=first))
    blocks = [block_of_runs(best, first)]
    blocks += [block_of_runs(best_of_grid(on_grid(small, variants=[*STRATEGIES], seeds=s)), s) for s in others]
    parts = {
        "grid": best,
        "runs": pd.concat(blocks),
        "defaults": run_defaults(sets, args.scale, n_runs, args.jobs),
        "budget": pd.concat([gaps(name, X, n_runs) for name, X in problems.items()]),
        "shapes": pd.DataFrame(Parallel(args.jobs)(shapes)),
    }
    stem = args.out / NAME
    stored.record(stem, entry, anew=True)
    for name, results in parts.items():
        stored.write_table(stem, name, results, "%.4g")
    if args.picture:
        draw_gaps(parts["budget"], args.picture)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
