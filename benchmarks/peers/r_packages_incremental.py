"""Compare IncrementalMDH, with k given and with k chosen automatically, with the author's R package iMDH.

    python -m benchmarks.peers.r_packages_incremental DATA --out results --max-cells 6e6 --seeds 5 --no-scale

Writes r_packages_incremental.csv, .md and .json. Both sides scale the columns for themselves and see the rows in random
orders: five here, ten there (three for the largest). The package's scores are in r_packages_reference.csv.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import methods, runner, stored
from benchmarks.peers import r_packages
from benchmarks.report import Comparison

NAME = "r_packages_incremental"
METHODS = {"IncrementalMDH": methods.incremental, "IncrementalMDH_k": methods.incremental_k}
BESIDE = {"IncrementalMDH": "imdh", "IncrementalMDH_k": "imdh_k"}


def comparisons(stem: Path) -> list[Comparison]:
    return [r_packages.comparison(stem, "iMDH", score, BESIDE) for score in r_packages.SCORES]


def page(stem: Path) -> str:
    tables = [r_packages.table(stem, "iMDH", score, BESIDE) for score in r_packages.SCORES]
    return stored.page("IncrementalMDH", stem, tables)


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
