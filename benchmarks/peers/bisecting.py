"""Compare PDDP with scikit-learn's BisectingKMeans and KMeans, all with k given: accuracy and time ratios.

    python -m benchmarks.peers.bisecting DATA --out results --limit 240

Writes bisecting.csv, .md and .json. Times are ratios to BisectingKMeans.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison

NAME = "bisecting"
METHODS = {
    "BisectingKMeans": methods.bisecting_kmeans,
    "KMeans": methods.kmeans,
    "PDDP mean": methods.pddp_mean,
    "PDDP density": methods.pddp_density,
}

PAIRS = {"PDDP mean": "BisectingKMeans", "PDDP density": "BisectingKMeans"}


def comparisons(stem: Path) -> list[Comparison]:
    return [report.against(stored.read_table(stem), score, PAIRS) for score in ("nmi", "ari")]


def page(stem: Path) -> str:
    return runner.page(stem, title="PDDP compared with BisectingKMeans and KMeans", methods=list(METHODS), pairs=PAIRS)


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
