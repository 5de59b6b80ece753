"""Hofmeyr (2016), Tables 4.2 to 4.4: purity, V-measure and time of NCutH, NCutH₀ and dePDDP, with k given.

    python -m benchmarks.papers.tables_4_2_and_4_3 DATA --out results --limit 120

Writes tables_4_2_and_4_3.csv, .md and .json. The paper's isolet has the first 6238 rows of the file only; its image
segmentation has 2309 rows, ravine's all 2310. Its seconds are those of R on another machine.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import methods, report, runner, stored
from benchmarks.papers import compare
from benchmarks.papers.compare import Table
from benchmarks.report import Comparison

NAME = "tables_4_2_and_4_3"
METHODS = {
    "NCutH": methods.ncuth,
    "NCutH_0": methods.ncuth_margin,
    "dePDDP": methods.pddp_density,
}
ROWS = {"isolet": 6238}
TABLES = [
    Table(
        "Table 4.2",
        "purity",
        ("NCutH", "NCutH_0", "dePDDP"),
        {
            "breast_cancer": (0.9685, 0.9685, 0.9671),
            "ionosphere": (0.7123, 0.7123, 0.6895),
            "optdigits": (0.7871, 0.7969, 0.2643),
            "pendigits": (0.7798, 0.7683, 0.5673),
            "voting": (0.846, 0.8437, 0.8506),
            "image_segmentation": (0.6219, 0.6379, 0.2932),
            "satimage": (0.74, 0.7576, 0.7501),
            "synthetic_control": (0.6667, 0.8383, 0.68),
            "dermatology": (0.9617, 0.8552, 0.8552),
            "isolet": (0.5167, 0.5917, 0.2188),
        },
    ),
    Table(
        "Table 4.3",
        "v",
        ("NCutH", "NCutH_0", "dePDDP"),
        {
            "breast_cancer": (0.788, 0.7868, 0.7799),
            "ionosphere": (0.1349, 0.1349, 0.0982),
            "optdigits": (0.7162, 0.7465, 0.2852),
            "pendigits": (0.7095, 0.7307, 0.5915),
            "voting": (0.4282, 0.4239, 0.3925),
            "image_segmentation": (0.5938, 0.6381, 0.3515),
            "satimage": (0.5963, 0.6268, 0.6105),
            "synthetic_control": (0.7965, 0.7705, 0.7775),
            "dermatology": (0.9356, 0.8382, 0.8739),
            "isolet": (0.6534, 0.7036, 0.4234),
        },
    ),
]

SECONDS = {
    "breast_cancer": (0.01, 0.23, 0.01),
    "ionosphere": (0.01, 0.16, 0.02),
    "optdigits": (4.40, 12.01, 0.19),
    "pendigits": (1.55, 6.37, 0.12),
    "voting": (0.02, 0.16, 0.01),
    "image_segmentation": (0.39, 1.22, 0.06),
    "satimage": (0.81, 3.26, 0.11),
    "synthetic_control": (0.20, 0.78, 0.12),
    "dermatology": (0.13, 0.56, 0.06),
    "isolet": (80.86, 220.19, 16.43),
}


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem)
    return [compare.comparison(results, table, {method: method for method in METHODS}) for table in TABLES]


def time_table(results: pd.DataFrame) -> str:
    """Table 4.4."""
    ours = report.pivot(results, "fit_s", list(METHODS))
    paper = pd.DataFrame.from_dict(SECONDS, orient="index", columns=list(METHODS))
    ours = ours.loc[[data for data in paper.index if data in ours.index]]
    paper = paper.loc[ours.index]
    heads = [head for method in METHODS for head in (f"{method}, ravine", "paper")]
    lines = [
        [data, *(cell for method in METHODS for cell in (f"{ours[method][data]:.3f}", f"{paper[method][data]:.2f}"))]
        for data in ours.index
    ]
    return report.section("Table 4.4: seconds", report.slower(ours, paper), report.grid(["data set", *heads], lines))


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    tables = [compare.markdown(results, table, {method: method for method in METHODS}) for table in TABLES]
    return stored.page("Minimum normalized cuts (Tables 4.2 to 4.4)", stem, [*tables, time_table(results)])


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, among=compare.data_sets(TABLES), rows=ROWS, page=page)
