"""Hofmeyr (2016), Tables 3.1 to 3.6: purity and V-measure of SCP², SCₙP² and LMSC, all with k given.

    python -m benchmarks.papers.tables_3 DATA --out results --seeds 10
    python -m benchmarks.papers.tables_3 DATA --out results --times

The first writes tables_3.csv, .md and .json: means and, in brackets, standard deviations over the runs; the paper has
30 runs. The means over data sets leave voting out, whose missing votes are written in another way than in the paper.
The paper's image segmentation has 2309 rows, ravine's all 2310. The second writes tables_3_times.csv, .md and .json:
seconds of a fit on one thread, compared with the author's R package, measured once.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import ravine
from benchmarks import report, runner, stored
from benchmarks.papers import compare
from benchmarks.papers.compare import Table
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load


def spectral(
    n_clusters: int,
    seed: int,
    *,
    laplacian: Literal["normalized", "standard"] = "standard",
    projection: Literal["orthogonal", "correlated"],
    margin: bool = False,
) -> ravine.SpectralPursuit:
    """One thread, so that the times of data sets of all sizes can be compared."""
    variant: dict[str, Any] = {"laplacian": laplacian, "projection": projection, "margin": margin}
    return ravine.SpectralPursuit(n_clusters, random_state=seed, n_jobs=1, **variant)


METHODS = {
    "SCP2_o": partial(spectral, projection="orthogonal"),
    "SCP2_c": partial(spectral, projection="correlated"),
    "SCnP2_o": partial(spectral, laplacian="normalized", projection="orthogonal"),
    "SCnP2_c": partial(spectral, laplacian="normalized", projection="correlated"),
    "LMSC_o": partial(spectral, projection="orthogonal", margin=True),
    "LMSC": partial(spectral, projection="correlated", margin=True),
}
NAME, TIMES = "tables_3", "tables_3_times"
ALSO = {"ionosphere"}
"""For Tables 6.1 to 6.4, which show the same methods."""
OTHER_ENCODING = "voting"
BAR = -0.01
"""Least mean difference to the paper's scores."""
TABLES = [
    Table(
        "Table 3.1",
        "purity",
        ("SCP2_o", "SCP2_c"),
        {
            "optdigits": (0.81, 0.83),
            "pendigits": (0.78, 0.76),
            "satimage": (0.75, 0.73),
            "breast_cancer": (0.97, 0.97),
            "voting": (0.84, 0.83),
            "dermatology": (0.94, 0.90),
            "synthetic_control": (0.84, 0.83),
            "image_segmentation": (0.62, 0.68),
        },
    ),
    Table(
        "Table 3.2",
        "v",
        ("SCP2_o", "SCP2_c"),
        {
            "optdigits": (0.77, 0.78),
            "pendigits": (0.75, 0.74),
            "satimage": (0.60, 0.59),
            "breast_cancer": (0.79, 0.80),
            "voting": (0.42, 0.38),
            "dermatology": (0.89, 0.83),
            "synthetic_control": (0.77, 0.77),
            "image_segmentation": (0.62, 0.65),
        },
    ),
    Table(
        "Table 3.3",
        "purity",
        ("SCnP2_o", "SCnP2_c"),
        {
            "optdigits": (0.81, 0.74),
            "pendigits": (0.78, 0.74),
            "satimage": (0.75, 0.74),
            "breast_cancer": (0.97, 0.97),
            "voting": (0.85, 0.84),
            "dermatology": (0.86, 0.91),
            "synthetic_control": (0.87, 0.85),
            "image_segmentation": (0.66, 0.70),
        },
    ),
    Table(
        "Table 3.4",
        "v",
        ("SCnP2_o", "SCnP2_c"),
        {
            "optdigits": (0.77, 0.72),
            "pendigits": (0.76, 0.74),
            "satimage": (0.61, 0.60),
            "breast_cancer": (0.79, 0.81),
            "voting": (0.42, 0.41),
            "dermatology": (0.85, 0.86),
            "synthetic_control": (0.81, 0.80),
            "image_segmentation": (0.65, 0.68),
        },
    ),
    Table(
        "Table 3.5",
        "purity",
        ("LMSC_o", "LMSC"),
        {
            "optdigits": (0.74, 0.69),
            "pendigits": (0.80, 0.71),
            "satimage": (0.75, 0.72),
            "breast_cancer": (0.96, 0.97),
            "voting": (0.84, 0.84),
            "dermatology": (0.86, 0.86),
            "synthetic_control": (0.89, 0.83),
            "image_segmentation": (0.60, 0.65),
        },
    ),
    Table(
        "Table 3.6",
        "v",
        ("LMSC_o", "LMSC"),
        {
            "optdigits": (0.70, 0.62),
            "pendigits": (0.76, 0.66),
            "satimage": (0.61, 0.57),
            "breast_cancer": (0.76, 0.78),
            "voting": (0.43, 0.38),
            "dermatology": (0.86, 0.85),
            "synthetic_control": (0.85, 0.78),
            "image_segmentation": (0.60, 0.63),
        },
    ),
]

R_SECONDS = {
    "standard": {"dermatology": 11.5, "optdigits": 76.9, "pendigits": 72.9},
    "normalized": {"breast_cancer": 10.1, "dermatology": 13.5, "optdigits": 82.2},
}
"""Of the author's R package, for the Laplacians and data sets on which it was run."""
TIMED = ("breast_cancer", "dermatology", "optdigits", "pendigits")
REPEATS = 3


def differences(results: pd.DataFrame) -> pd.DataFrame:
    """Methods × scores: the mean over data sets of ravine's score minus the paper's."""
    means: dict[str, dict[str, float]] = {}
    for table in TABLES:
        frame = report.comparable(_without_voting(compare.side_by_side(results, table, _columns(table))))
        means.setdefault(table.score, {}).update({name: frame[name, "difference"].mean() for name in table.columns})
    return pd.DataFrame(means).reindex(list(METHODS))


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem)
    return [compare.comparison(results, table, _columns(table), {OTHER_ENCODING}) for table in TABLES]


def summary(results: pd.DataFrame) -> str:
    """The means of the differences, and whether both are at least the bar."""
    found = differences(results)
    heads = ["method", *(report.TITLES[score] for score in found.columns), f"at least {BAR}"]
    lines = [
        [method, *(f"{value:+.4f}" for value in row), "yes" if (row >= BAR).all() else "no"]
        for method, row in zip(found.index, found.to_numpy(), strict=True)
    ]
    return report.section(f"Mean difference from the paper, without {OTHER_ENCODING}", report.grid(heads, lines))


def markdown(results: pd.DataFrame, table: Table) -> str:
    """Return one table: ravine's mean (standard deviation), the paper's mean, and the difference."""
    frame = compare.side_by_side(results, table, _columns(table))
    spread = results[results["status"] == "ok"].groupby(["dataset", "method"])[table.score].std(ddof=0)
    common = report.comparable(_without_voting(frame))
    heads = [head for method in table.columns for head in (f"{method}, ravine", "paper", "difference")]
    lines = []
    for data in frame.index:
        cells = []
        for method in table.columns:
            ours, paper, difference = (frame[method, part][data] for part in ("ours", "paper", "difference"))
            deviation = spread.get((data, method), np.nan)
            cells += [f"{ours:.3f} ({deviation:.3f})", f"{paper:.2f}", f"{difference:+.3f}"]
        lines.append([data, *cells])
    means = common.mean()
    shown = [f"{means[column]:{'+' if column[1] == 'difference' else ''}.3f}" for column in frame.columns]
    lines.append([f"mean of {len(common)}", *shown])
    note = compare.comparison(results, table, _columns(table), {OTHER_ENCODING}).lower()
    return report.section(table.name, note, report.grid(["data set", *heads], lines))


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    parts = [summary(results), *(markdown(results, table) for table in TABLES)]
    parts.append(report.time_table(results, list(METHODS)))
    return stored.page("Minimum spectral connectivity (Tables 3.1 to 3.6)", stem, parts)


def times_page(stem: Path) -> str:
    """The page of the second command."""
    return stored.page("Seconds, compared with the author's R package", stem, [time_table(stored.read_table(stem))])


def _columns(table: Table) -> dict[str, str]:
    return {method: method for method in table.columns}


def _without_voting(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(index=OTHER_ENCODING, errors="ignore")


def seconds(data: DataSet, method: str) -> float:
    """Of the fastest of three fits, after one that is not counted."""
    X, _ = load(data, True)
    times = []
    for _ in range(REPEATS + 1):
        model = METHODS[method](data.n_classes, 0)
        start = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def time_table(times: pd.DataFrame) -> str:
    """Seconds of each method, those of the R package, and how many times as fast the slower of each Laplacian is."""
    wide = times.pivot(index="dataset", columns="method", values="fit_s")
    theirs = [head for laplacian in R_SECONDS for head in (f"R package, {laplacian}", "times as fast")]
    lines = []
    for data in (name for name in TIMED if name in wide.index):
        cells = [f"{wide.loc[data, name]:.3f}" for name in METHODS]
        for laplacian, seconds_of in R_SECONDS.items():
            slower = max(wide.loc[data, name] for name in METHODS if _is_plain(name, laplacian))
            known = data in seconds_of
            cells += [f"{seconds_of[data]:.1f}", f"{seconds_of[data] / slower:.0f}"] if known else ["–", "–"]
        lines.append([data, *cells])
    table = report.grid(["data set", *METHODS, *theirs], lines)
    return report.section("Seconds of a fit, one thread, the best of three", table)


def _is_plain(method: str, laplacian: str) -> bool:
    """Whether a method is of this Laplacian and without a margin."""
    options = METHODS[method].keywords
    return not options.get("margin") and options.get("laplacian", "standard") == laplacian


def measure_times(folder: Path, out: Path) -> None:
    """Time every method and write the table."""
    entry, paths = stored.run_details(sys.argv[1:]), runner.find(folder, only=None, skip=())
    rows = []
    for data in (DataSet.describe(paths[name]) for name in TIMED if name in paths):
        for method in METHODS:
            rows.append({"dataset": data.name, "method": method, "fit_s": round(seconds(data, method), 4)})
            print(*rows[-1].values(), flush=True)
    stem = out / TIMES
    stored.record(stem, entry, anew=True)
    pd.DataFrame(rows).to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    stored.write_page(stem, times_page(stem))


def main() -> None:
    if "--times" in sys.argv:
        cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
        cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="(results)")
        cli.add_argument("--times", action="store_true", help="measure times only")
        args = cli.parse_args()
        measure_times(args.data, args.out)
    else:
        among = compare.data_sets(TABLES) | ALSO
        runner.run(METHODS, name=NAME, description=__doc__, among=among, page=page)


if __name__ == "__main__":
    main()
