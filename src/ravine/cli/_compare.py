"""`ravine compare`: compare several methods on the same rows."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score
from sklearn.metrics.cluster import contingency_matrix

from ravine._io import UsageError
from ravine._matrix import Floats, Ints
from ravine.cli._cluster import fit, make_model, scale_in_place
from ravine.cli._data import TableOptions, open_data
from ravine.cli._places import check_files
from ravine.cli._screen import Screen
from ravine.metrics import contingency_scores
from ravine.report import Compared, write_comparison

TREES = ("imdh", "ncuth", "mdh", "pddp")
"""Methods of ravine that can be compared."""

PEERS = ("kmeans", "hdbscan")
"""Methods of scikit-learn that can be compared."""

SILHOUETTE_ROWS = 5000
"""Size of the sample for the silhouette, which needs all pairwise distances."""


def compare(
    where: Sequence[str],
    options: TableOptions,
    *,
    methods: Sequence[str],
    n_clusters: int | None,
    scale: bool,
    seed: int,
    report_path: Path | None,
    n_jobs: int,
    screen: Screen,
) -> None:
    """Fit and score each method, print a table, and write a report."""
    _check_methods(methods, n_clusters)
    check_files("compare", data=where, report=report_path)
    with open_data(where, options, screen) as data:
        X, classes = data.matrix("reading")
    scaled = X.copy() if scale else X
    if scale:
        scale_in_place(scaled, n_jobs)
    sample = np.random.default_rng(seed).permutation(len(X))[:SILHOUETTE_ROWS]
    found = []
    for method in methods:
        rows = X if method == "imdh" else scaled  # imdh scales the columns itself
        with screen.warnings_in_a_line():
            start = time.perf_counter()
            labels, tree = _labels(method, rows, n_clusters, scale, seed, n_jobs, screen)
            seconds = time.perf_counter() - start
        scores = {"silhouette": _silhouette(scaled[sample], labels[sample])}
        if classes:
            scores |= contingency_scores(contingency_matrix(labels, _codes(classes)))
        found.append(Compared(method, labels, tree, seconds, scores))
    if report_path is not None:
        write_comparison(found, report_path, title=data.name, feature_names=data.columns.names)
    _show(found, report_path, screen)


def _labels(
    method: str, X: Floats, n_clusters: int | None, scale: bool, seed: int, n_jobs: int, screen: Screen
) -> tuple[Ints, Any | None]:
    """Labels of the rows, and the tree if the method has one."""
    if method == "kmeans":
        return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X).astype(np.int64), None
    if method == "hdbscan":
        return HDBSCAN(n_jobs=n_jobs, copy=True).fit_predict(X).astype(np.int64), None
    model = make_model(method, n_clusters, scale, seed, n_jobs)
    fit(model, X, screen)
    return model.labels_, model.tree_


def _check_methods(methods: Sequence[str], n_clusters: int | None) -> None:
    known = (*TREES, *PEERS)
    for method in methods:
        if method not in known:
            raise UsageError(f"--methods {method}: there is no such method; choose from {', '.join(known)}")
    if not methods:
        raise UsageError(f"--methods is empty; choose from {', '.join(known)}")
    if "kmeans" in methods and n_clusters is None:
        raise UsageError("kmeans cannot choose the number of clusters: give it with --clusters")


def _silhouette(X: Floats, labels: Ints) -> float | None:
    """Silhouette of the rows that are in clusters; None if it is not defined."""
    kept = labels >= 0
    n_labels = len(np.unique(labels[kept]))
    return float(silhouette_score(X[kept], labels[kept])) if 1 < n_labels < kept.sum() else None


def _codes(classes: list[Any]) -> Ints:
    number: dict[Any, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in classes], dtype=np.int64)


def _show(found: list[Compared], report_path: Path | None, screen: Screen) -> None:
    screen.result(
        {
            "methods": [
                {"method": f.method, "n_clusters": f.n_clusters, "noise": f.noise, "seconds": f.seconds, **f.scores}
                for f in found
            ],
            "files": {} if report_path is None else {"report": str(report_path)},
        }
    )
    names = list(found[0].scores)
    rows = [
        [f.method, str(f.n_clusters), *(_shown(f.scores[name]) for name in names), f"{f.seconds:.2f}"] for f in found
    ]
    screen.table(["method", "clusters", *names, "seconds"], rows, numbers=0)
    if report_path is not None:
        screen.say(f"\nwritten: {report_path}")


def _shown(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"
