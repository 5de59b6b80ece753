"""How often each method that chooses its number of clusters finds several in rows without clusters.

    python -m benchmarks.peers.false_clusters --out results
    python -m benchmarks.peers.false_clusters SumOfNorms --rows 100 1000 --columns 2 10 --draws 40 --out results

Rows are independent draws of one distribution: Gaussian, Gaussian with standard deviations from 1 to 5, t with 4
degrees of freedom, exponential, uniform, lognormal, Poisson counts of mean 3, and Gaussian rounded to one standard
deviation.
Methods have their defaults, on one thread, with `random_state` the number of the draw. Writes false_clusters.csv, .md
and .json. A cell, that is, a method, distribution and size, is written when it is done, and a later run with the same
--draws and --first-seed leaves it out; so a run can be split by method or by size, and continued. A draw depends on its
distribution, size and number alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import ravine
from benchmarks import report, stored
from benchmarks.peers import level
from benchmarks.peers.groups import generator

NAME = "false_clusters"
METHODS = (
    "PDDP",
    "MDH",
    "NCutH",
    "SpectralPursuit",
    "IncrementalMDH",
    "SumOfNorms",
    "SupportVectorClustering",
    "HSDC",
    "StreamClusterer",
)
SHAPES: dict[str, level.Draw] = {
    "Gaussian": level.SHAPES["gaussian"],
    "anisotropic": level.SHAPES["anisotropic"],
    "t4": lambda rng, n, d: rng.standard_t(4, size=(n, d)),
    "exponential": level.SHAPES["exponential"],
    "uniform": level.SHAPES["uniform"],
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "counts": lambda rng, n, d: rng.poisson(3.0, size=(n, d)).astype(np.float64),
    "rounded": lambda rng, n, d: np.round(rng.normal(size=(n, d))),
}
ROWS, COLUMNS = (100, 1_000, 5_000), (2, 10, 50)
KEY = ["method", "shape", "rows", "columns"]
Cell = tuple[str, str, int, int]


def draw(shape: str, n: int, d: int, seed: int) -> NDArray[np.float64]:
    """Draw rows without clusters."""
    return SHAPES[shape](generator(seed, NAME, shape, n, d), n, d)


def measure(cell: Cell, seeds: Sequence[int]) -> dict[str, Any]:
    """Fit every draw of a cell; return which have more than one cluster, and the median processor time."""
    method, shape, n, d = cell
    wrong, seconds = [], []
    for seed in seeds:
        X = draw(shape, n, d, seed)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(ravine, method)(random_state=seed, n_jobs=1).fit(X)
        seconds.append(time.process_time() - start)
        if model.n_clusters_ > 1:
            wrong.append(seed)
    found = {"draws": len(seeds), "false": len(wrong), "seeds": " ".join(map(str, wrong))}
    return {**dict(zip(KEY, cell, strict=True)), **found, "fit_s": round(float(np.median(seconds)), 3)}


def run(cells: Sequence[Cell], seeds: Sequence[int], jobs: int, path: Path) -> None:
    """Measure the cells that the file does not have, and add each to the file as soon as it is done."""
    done = set(read(path)[KEY].itertuples(index=False, name=None)) if path.exists() else set()
    left = [joblib.delayed(measure)(cell, seeds) for cell in cells if cell not in done]
    for found in joblib.Parallel(jobs, return_as="generator_unordered")(left):
        print(*found.values(), flush=True)
        pd.DataFrame([found]).to_csv(path, mode="a", index=False, header=not path.exists(), lineterminator="\n")


def read(path: Path) -> pd.DataFrame:
    """Return all cells, in the order of methods, distributions and sizes."""
    results = pd.read_csv(path, dtype={"seeds": str}, keep_default_na=False)
    order = {"method": list(METHODS), "shape": list(SHAPES)}
    for name, values in order.items():
        results[name] = pd.Categorical(results[name], values)
    return results.sort_values(KEY, ignore_index=True).astype(dict.fromkeys(order, str))


def page(stem: Path) -> str:
    """Return the rates of all sizes together, of each size, and the seconds of a fit."""
    results = read(stem.with_suffix(".csv"))
    sizes = [f"{n:,} × {d}" for n, d in zip(results["rows"], results["columns"], strict=True)]
    time_note = "Processor time: the median of the draws, averaged over the distributions."
    parts = [
        report.section("By distribution", "Share of draws with more than one cluster.", _rates(results, "shape")),
        report.section("By size", "The same by rows × columns.", _rates(results.assign(size=sizes), "size")),
        report.section("Seconds of a fit", time_note, _seconds(results)),
    ]
    return stored.page("Clusters in data without clusters", stem, parts)


def _rates(results: pd.DataFrame, by: str) -> str:
    """Return the table of the share of false clusters, with the number of draws of each method."""
    methods = list(dict.fromkeys(results["method"]))
    totals = results.groupby([by, "method"], sort=False)[["false", "draws"]].sum()
    lines = [
        [str(line), *(_rate(*totals.loc[line, m]) if (line, m) in totals.index else "–" for m in methods)]
        for line in dict.fromkeys(results.sort_values(["rows", "columns"], kind="stable")[by])
    ]
    whole = results.groupby("method", sort=False)[["false", "draws"]].sum()
    lines.append(["all", *(f"{_rate(*whole.loc[m])} of {whole.loc[m, 'draws']:,}" for m in methods)])
    return report.grid([by, *methods], lines)


def _rate(false: float, draws: float) -> str:
    return f"{100 * false / draws:.1f} %"


def _seconds(results: pd.DataFrame) -> str:
    methods = list(dict.fromkeys(results["method"]))
    table = results.groupby(["rows", "columns", "method"])["fit_s"].mean().unstack("method").reindex(columns=methods)
    lines = [
        [f"{n:,} × {d}", *("–" if np.isnan(value) else f"{value:.2f}" for value in values)]
        for (n, d), values in zip(table.index, table.to_numpy(), strict=True)
    ]
    return report.grid(["size", *methods], lines)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("methods", nargs="*", default=list(METHODS), metavar="METHOD", help="(all)")
    cli.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES, metavar="SHAPE", help="(all)")
    cli.add_argument("--rows", type=int, nargs="+", default=list(ROWS), metavar="N", help="(100 1000 5000)")
    cli.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS), metavar="D", help="(2 10 50)")
    cli.add_argument("--draws", type=int, default=40, metavar="N", help="draws of a cell (40)")
    cli.add_argument("--first-seed", type=int, default=0, metavar="SEED", help="number of the first draw (0)")
    cli.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    unknown = sorted(set(args.methods) - set(METHODS))
    if unknown:
        cli.error(f"{', '.join(unknown)}: choose from {', '.join(METHODS)}")
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    entry["settings"] = {"draws": args.draws, "first_seed": args.first_seed}
    stored.record(stem, entry)
    cells = [(m, s, n, d) for m in args.methods for n in args.rows for d in args.columns for s in args.shapes]
    path = stem.with_suffix(".csv")
    run(cells, range(args.first_seed, args.first_seed + args.draws), args.jobs, path)
    read(path).to_csv(path, index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
