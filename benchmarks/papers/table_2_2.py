"""Hofmeyr (2016), Table 2.2: one cut by MDP², PDDP and dePDDP, scored by its success ratio and binary V-measure.

    python -m benchmarks.papers.table_2_2 DATA --out results

Writes table_2_2.csv, .md and .json. Columns are scaled to unit variance. "MDP2" has ravine's defaults; "MDP2 thesis"
has the settings of the thesis and is compared with the same published column. All are deterministic. The thesis has
5618 rows of optdigits and 2309 of image segmentation; ravine's have all 5620 and 2310.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from benchmarks import methods, runner, stored
from benchmarks.papers import compare
from benchmarks.papers.compare import Table
from benchmarks.report import Comparison
from benchmarks.worker import DataSet, load
from ravine.metrics import binary_v_measure, success_ratio

NAME = "table_2_2"
METHODS = {
    "MDP2": methods.mdh,
    "MDP2 thesis": methods.mdh_thesis,
    "PDDP": methods.pddp_mean,
    "dePDDP": methods.pddp_density,
}
BESIDE = {method: method for method in METHODS} | {"MDP2 thesis": "MDP2"}
COLUMNS = ("MDP2", "PDDP", "dePDDP")
TABLES = [
    Table(
        "Table 2.2",
        "success_ratio",
        COLUMNS,
        {
            "banknote": (0.79, 0.40, 0.00),
            "breast_cancer": (0.91, 0.91, 0.90),
            "image_segmentation": (0.89, 0.87, 1.00),
            "ionosphere": (0.48, 0.47, 0.42),
            "optdigits": (0.93, 0.68, 0.00),
            "pendigits": (0.74, 0.79, 0.61),
            "satimage": (0.89, 0.71, 0.00),
            "synthetic_control": (0.98, 0.69, 1.00),
            "voting": (0.70, 0.70, 0.68),
            "wine": (0.77, 0.65, 0.68),
        },
    ),
    Table(
        "Table 2.2",
        "binary_v",
        COLUMNS,
        {
            "banknote": (0.55, 0.03, 0.03),
            "breast_cancer": (0.79, 0.78, 0.77),
            "image_segmentation": (0.72, 0.67, 1.00),
            "ionosphere": (0.13, 0.12, 0.09),
            "optdigits": (0.85, 0.30, 0.00),
            "pendigits": (0.39, 0.54, 0.42),
            "satimage": (0.75, 0.37, 0.00),
            "synthetic_control": (0.94, 0.51, 1.00),
            "voting": (0.43, 0.40, 0.38),
            "wine": (0.61, 0.46, 0.49),
        },
    ),
]


def score(data: DataSet, method: str) -> dict[str, object]:
    """Both scores of the first cut."""
    X, y = load(data, True)
    labels = METHODS[method](2, 0).fit_predict(X)
    scores = {"success_ratio": success_ratio(y, labels), "binary_v": binary_v_measure(y, labels)}
    return {"dataset": data.name, "method": method, **scores, "status": "ok"}


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem)
    return [compare.comparison(results, table, BESIDE) for table in TABLES]


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    tables = [compare.markdown(results, table, BESIDE, digits=3) for table in TABLES]
    return stored.page("One cut (Table 2.2)", stem, tables)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files: columns x0…, integer label")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    paths = runner.find(args.data, only=None, skip=())
    sets = [DataSet.describe(paths[name]) for name in TABLES[0].scores if name in paths]
    results = pd.DataFrame([score(data, method) for data in sets for method in METHODS])
    stored.record(stem, entry, anew=True)
    results.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.6f", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
