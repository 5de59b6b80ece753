"""Compare PDDP with k chosen automatically, by the valley test and by the published rule, with KMeans with k given.

    python -m benchmarks.peers.number_of_clusters DATA --out results

Writes number_of_clusters.csv, .md and .json. The first table has the number of clusters found.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison

NAME = "number_of_clusters"
METHODS = {
    "evidence": methods.pddp_evidence,
    "published": methods.pddp_antimode,
    "KMeans, k given": methods.kmeans,
}


PAIRS = {"evidence": "published"}


def found(results: pd.DataFrame) -> str:
    """Return the table of the number of classes and the number of clusters found."""
    table = report.pivot(results, "k", list(METHODS))
    classes = results.groupby("dataset")["n_classes"].first()
    lines = [[name, f"{classes[name]}", *(f"{k:.0f}" for k in row)] for name, row in table.iterrows()]
    lines.append([f"mean of {len(table)}", f"{classes.mean():.0f}", *(f"{k:.0f}" for k in table.mean())])
    return report.section("Clusters found", report.grid(["data set", "classes", *METHODS], lines))


def comparisons(stem: Path) -> list[Comparison]:
    return [report.against(stored.read_table(stem), score, PAIRS) for score in ("nmi", "ari")]


def page(stem: Path) -> str:
    title = "PDDP with k chosen automatically"
    return runner.page(stem, title=title, methods=list(METHODS), pairs=PAIRS, first=found)


if __name__ == "__main__":
    runner.run(METHODS, name=NAME, description=__doc__, page=page)
