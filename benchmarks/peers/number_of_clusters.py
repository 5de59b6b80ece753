"""Compare PDDP with k chosen automatically, by the valley test and by the published rule, with KMeans with k given.

    python -m benchmarks.peers.number_of_clusters DATA --out results

Writes number_of_clusters.csv, .md and .json. The first table has the number of clusters found.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison

NAME = "number_of_clusters"
METHODS = {
    "evidence": methods.pddp_evidence,
    "published": methods.pddp_antimode,
    "KMeans, k given": methods.kmeans,
}


PAIRS = {"evidence": "published"}


def comparisons(stem: Path) -> list[Comparison]:
    return [report.against(stored.read_table(stem), score, PAIRS) for score in ("nmi", "ari")]


def page(stem: Path) -> str:
    title, found = "PDDP with k chosen automatically", partial(report.clusters_found, methods=list(METHODS))
    return runner.page(stem, title=title, methods=list(METHODS), pairs=PAIRS, first=found)


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
