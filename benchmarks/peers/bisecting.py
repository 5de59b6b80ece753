"""PDDP beside scikit-learn's BisectingKMeans and KMeans, all told the number of classes: accuracy and time ratios.

    python -m benchmarks.peers.bisecting DATA --out results --limit 240

Writes bisecting.csv, .md and .json. Times are ratios to BisectingKMeans.
"""

from __future__ import annotations

from benchmarks import methods, runner

METHODS = {
    "BisectingKMeans": methods.bisecting_kmeans,
    "KMeans": methods.kmeans,
    "PDDP mean": methods.pddp_mean,
    "PDDP density": methods.pddp_density,
}

if __name__ == "__main__":
    runner.run(METHODS, name="bisecting", description=__doc__)
