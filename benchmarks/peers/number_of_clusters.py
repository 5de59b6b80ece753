"""PDDP deciding on the number of clusters, by the valley test and by the published rule, beside KMeans that is told it.

    python -m benchmarks.peers.number_of_clusters DATA --out results

Writes number_of_clusters.csv, .md and .json. The first table has the number of clusters found.
"""

from __future__ import annotations

import pandas as pd

from benchmarks import methods, report, runner

METHODS = {
    "evidence": methods.pddp_evidence,
    "published": methods.pddp_antimode,
    "KMeans, told": methods.kmeans,
}


def found(results: pd.DataFrame) -> str:
    """Number of clusters found, beside the number of classes, as Markdown."""
    table = report.pivot(results, "k", list(METHODS))
    classes = results.groupby("dataset")["n_classes"].first()
    lines = [
        f"| {name} | {classes[name]} | " + " | ".join(f"{k:.0f}" for k in row) + " |" for name, row in table.iterrows()
    ]
    return "\n".join(
        [f"| data set | classes | {' | '.join(METHODS)} |", "| --- | ---: |" + " ---: |" * len(METHODS), *lines]
    )


if __name__ == "__main__":
    runner.run(METHODS, name="number_of_clusters", description=__doc__, appendix=found)
