"""Compare the main methods with strong peers: Leiden, Gaussian mixtures, Ward, spectral clustering, KMeans and HDBSCAN.

    python -m benchmarks.peers.strong_peers DATA --out results
    python -m benchmarks.peers.strong_peers DATA --out results --jobs 16 --limit 120

DATA is a folder of Parquet files, columns x0… and label. At most 5,000 random rows of each data set are used, and
columns have unit variance. Every fit has one thread, and 60 seconds unless --limit says otherwise. Writes
strong_peers.csv, .md and .json.

With k chosen automatically: Leiden on a graph of 15 neighbors, KMeans with the k of the largest silhouette, Gaussian
mixtures with the k of the smallest BIC, and HDBSCAN. At most 30 clusters are tried. `min_cluster_size` of HDBSCAN is a
hundredth of the rows, and its noise counts as one more cluster. Leiden needs the packages igraph and leidenalg, the
extra `peers`; the other methods run without them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import methods, report, runner, stored
from benchmarks.report import Comparison
from benchmarks.worker import Methods

NAME = "strong_peers"
MAX_ROWS, LIMIT_S = 5_000, 60.0
REFERENCE = "IncrementalMDH"
OURS = (REFERENCE, "NCutH", "MDH")
SCORES = ("nmi", "ari")
AUTOMATIC, GIVEN = "k automatic", "k given"
COMPARED: dict[str, Methods] = {
    AUTOMATIC: {
        "IncrementalMDH": methods.incremental,
        "NCutH": methods.ncuth_evidence,
        "MDH": methods.mdh_evidence,
        "Leiden": methods.leiden,
        "KMeans, silhouette": methods.kmeans_silhouette,
        "full mixture, BIC": methods.mixture_full_bic,
        "diagonal mixture, BIC": methods.mixture_diagonal_bic,
        "HDBSCAN": methods.hdbscan,
    },
    GIVEN: {
        "IncrementalMDH": methods.incremental_k,
        "NCutH": methods.ncuth_default,
        "MDH": methods.mdh_default,
        "full mixture": methods.mixture_full,
        "diagonal mixture": methods.mixture_diagonal,
        "Ward": methods.ward,
        "spectral": methods.spectral,
        "KMeans": methods.kmeans,
    },
}
METHODS: Methods = {f"{name}, {part}": make for part, makes in COMPARED.items() for name, make in makes.items()}
NOTES = {
    AUTOMATIC: "`log error of k` is the mean absolute value of log(clusters found / classes).",
    GIVEN: "k is the number of classes.",
}
OVERVIEW = (
    "The first three methods are ravine's. Scores and seconds are means over the data sets that a method finished; a "
    f"fit that was stopped does not count. A difference is {REFERENCE} minus the method, a mean over the common sets, "
    f"that is, the data sets that both finished. `lower on` counts those where the NMI of {REFERENCE} is lower by more "
    f"than {report.MARGIN:g}. Bold differences are those where ravine loses."
)


def read(stem: Path, part: str) -> pd.DataFrame:
    """Return the results with k automatic or k given, in the order of data sets and methods."""
    results, ending = stored.read_table(stem), f", {part}"
    results = results[results["method"].str.endswith(ending)]
    results = results.assign(method=results["method"].str.removesuffix(ending))
    order = pd.Categorical(results["method"], list(COMPARED[part]))
    ordered = results.assign(order=order).sort_values(["dataset", "order", "seed"], ignore_index=True)
    return ordered.drop(columns="order")


def compared(results: pd.DataFrame, part: str, score: str) -> Comparison:
    """Return one score of IncrementalMDH minus that of each peer."""
    peers = [name for name in COMPARED[part] if name not in OURS]
    columns = [report.against(results, score, {REFERENCE: peer}).differences for peer in peers]
    return Comparison(f"{report.TITLES[score]}, {part}", pd.concat(columns, axis="columns"))


def comparisons(stem: Path) -> list[Comparison]:
    return [compared(read(stem, part), part, score) for part in COMPARED for score in SCORES]


def overview(results: pd.DataFrame, part: str) -> str:
    """Return one line per method: scores, differences, the error of k where it is chosen, and seconds."""
    names = list(COMPARED[part])
    found = {column: report.pivot(results, column, names) for column in (*SCORES, "k", "fit_s")}
    classes = results.groupby("dataset")["n_classes"].first()
    errors = np.log(found["k"].div(classes, axis="index")).abs()
    why = report.why_missing(results, names)
    lines = []
    for name in names:
        differences = {score: (found[score][REFERENCE] - found[score][name]).dropna() for score in SCORES}
        is_peer = name not in OURS
        lines.append(
            [
                name,
                _finished(why[name]),
                *(_mean(found[score][name]) for score in SCORES),
                *(_lost(differences[score].mean()) if is_peer else "–" for score in SCORES),
                f"{len(differences['nmi'])}" if is_peer else "–",
                f"{(differences['nmi'] < -report.MARGIN).sum()}" if is_peer else "–",
                *([_mean(errors[name])] if part == AUTOMATIC else []),
                _mean(found["fit_s"][name]),
            ]
        )
    heads = [
        "method",
        "data sets finished",
        "NMI",
        "ARI",
        "difference, NMI",
        "difference, ARI",
        "common sets",
        "lower on",
    ]
    heads += [*(["log error of k"] if part == AUTOMATIC else []), "seconds"]
    return report.section(f"Means, {part}", NOTES[part], report.grid(heads, lines, text=2))


def _finished(why: pd.Series[str]) -> str:
    """Return how many data sets were finished, and why the others were not."""
    counts = Counter(why)
    others = "".join(f", {count} {word}" for word, count in sorted(counts.items()) if word)
    return f"{counts['']} of {len(why)}{others}"


def _mean(values: pd.Series[float]) -> str:
    return "–" if values.isna().all() else f"{values.mean():.3f}"


def _lost(difference: float) -> str:
    """Format a difference, in bold where ravine scores lower."""
    if np.isnan(difference):
        return "–"
    return f"**{report.signed(difference)}**" if round(difference, 3) < 0 else report.signed(difference)


def each_set(results: pd.DataFrame, part: str) -> list[str]:
    """Return the tables of each data set."""
    names = list(COMPARED[part])
    why = report.why_missing(results, names)
    parts = []
    for score in SCORES:
        comparison = compared(results, part, score)
        table = report.pivot(results, score, names)
        parts.append(report.score_lines(comparison.title, table, note=comparison.lower(), missing=why))
    return [*parts, *([report.clusters_found(results, names, missing=why)] if part == AUTOMATIC else [])]


def page(stem: Path) -> str:
    results = {part: read(stem, part) for part in COMPARED}
    first = [OVERVIEW, *(overview(results[part], part) for part in COMPARED)]
    rest = [table for part in COMPARED for table in each_set(results[part], part)]
    missing = pd.concat([table.assign(method=table["method"] + f", {part}") for part, table in results.items()])
    return stored.page("The main methods compared with strong peers", stem, [*first, *rest, report.unfinished(missing)])


if __name__ == "__main__":
    runner.run(
        METHODS,
        name=NAME,
        description=__doc__,
        page=page,
        sample=MAX_ROWS,
        limit=LIMIT_S,
        threads=1,
        packages=("igraph", "leidenalg"),
    )
