"""The main methods beside scikit-learn's: KMeans where they are told the number of classes, HDBSCAN where they are not.

    python -m benchmarks.peers.scikit_learn DATA --out results --limit 60 --max-cells 2e6

Writes scikit_learn.csv, .md and .json. Columns have unit variance. The least cluster of HDBSCAN has a hundredth of the
rows, and its noise counts as one more cluster. Times are ratios to KMeans with ten starts.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison

NAME = "scikit_learn"
METHODS = {
    "KMeans": methods.kmeans,
    "NCutH": methods.ncuth,
    "MDH": methods.mdh,
    "HDBSCAN, not told": methods.hdbscan,
    "NCutH, not told": methods.ncuth_evidence,
    "MDH, not told": methods.mdh_evidence,
    "IncrementalMDH, not told": methods.incremental,
}
PAIRS = {
    "NCutH": "KMeans",
    "MDH": "KMeans",
    "NCutH, not told": "HDBSCAN, not told",
    "MDH, not told": "HDBSCAN, not told",
    "IncrementalMDH, not told": "HDBSCAN, not told",
}


def comparisons(stem: Path) -> list[Comparison]:
    return [report.against(stored.read_table(stem), score, PAIRS) for score in ("nmi", "ari")]


def page(stem: Path) -> str:
    return runner.page(stem, title="The main methods beside KMeans and HDBSCAN", methods=list(METHODS), pairs=PAIRS)


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
