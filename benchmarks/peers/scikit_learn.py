"""Compare the main methods with scikit-learn: KMeans with k given, HDBSCAN with k chosen automatically.

    python -m benchmarks.peers.scikit_learn DATA --out results --limit 60 --max-cells 2e6

Writes scikit_learn.csv, .md and .json. Columns have unit variance. `min_cluster_size` of HDBSCAN is a hundredth of the
rows, and its noise counts as one more cluster. Times are ratios to KMeans with ten starts.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison

NAME = "scikit_learn"
METHODS = {
    "KMeans": methods.kmeans,
    "NCutH": methods.ncuth_default,
    "MDH": methods.mdh_default,
    "HDBSCAN": methods.hdbscan,
    "NCutH, k automatic": methods.ncuth_evidence,
    "MDH, k automatic": methods.mdh_evidence,
    "IncrementalMDH, k automatic": methods.incremental,
}
PAIRS = {
    "NCutH": "KMeans",
    "MDH": "KMeans",
    "NCutH, k automatic": "HDBSCAN",
    "MDH, k automatic": "HDBSCAN",
    "IncrementalMDH, k automatic": "HDBSCAN",
}


def comparisons(stem: Path) -> list[Comparison]:
    return [report.against(stored.read_table(stem), score, PAIRS) for score in ("nmi", "ari")]


def page(stem: Path) -> str:
    return runner.page(
        stem, title="The main methods compared with KMeans and HDBSCAN", methods=list(METHODS), pairs=PAIRS
    )


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
