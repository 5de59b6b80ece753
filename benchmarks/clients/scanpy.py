"""Clusters of blood cells in scanpy: ravine beside Leiden, on the data that scanpy brings along.

    python -m benchmarks.clients.scanpy --out results

The 700 cells of `scanpy.datasets.pbmc68k_reduced()` have a label of their type, `bulk_labels`. Each method clusters the
scores of the first 10, 20 and 50 principal components: Leiden at three resolutions, on a graph of 15 neighbors, with
five seeds; models of ravine by `ravine.integrations.anndata.cluster`, with the number of clusters chosen and given. The
result is written as h5ad and read again, and its tree predicts the cells.

A second table has the scores of other data with and without `standardize`. Writes scanpy.csv, scanpy_scaling.csv,
scanpy.md and scanpy.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import report, stored
from ravine import MDH, IncrementalMDH, NCutH
from ravine.integrations.anndata import cluster, tree_of

NAME = "scanpy"
PACKAGES = ("scanpy", "anndata", "pandas", "igraph")
COMPONENTS = (10, 20, 50)
RESOLUTIONS = (0.25, 0.5, 1.0)
SEEDS = range(5)
TRUTH = "bulk_labels"
N_TYPES = 10

MODELS: Mapping[str, Callable[[], Any]] = {
    "ravine, default": lambda: None,
    "IncrementalMDH()": IncrementalMDH,
    "NCutH()": NCutH,
    "MDH()": MDH,
    "IncrementalMDH(10, standardize=False)": lambda: IncrementalMDH(N_TYPES, standardize=False),
    "NCutH(10)": lambda: NCutH(N_TYPES),
}
"""Models of ravine; None is the default of `cluster`."""

SETS: Mapping[str, Callable[..., Any]] = {
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
    "wine": load_wine,
}


def scores(truth: Any, found: Any) -> dict[str, Any]:
    """Agreement with the known types, and the number of clusters."""
    return {
        "clusters": len(set(found)),
        "ari": adjusted_rand_score(truth, found),
        "nmi": normalized_mutual_info_score(truth, found),
    }


def with_leiden(adata: Any, use_rep: str, truth: Any) -> Iterator[dict[str, Any]]:
    """Lines of Leiden, whose time includes the graph of neighbors."""
    import scanpy

    for resolution in RESOLUTIONS:
        for seed in SEEDS:
            start = time.perf_counter()
            scanpy.pp.neighbors(adata, use_rep=use_rep, random_state=seed)
            scanpy.tl.leiden(
                adata, resolution=resolution, flavor="igraph", n_iterations=2, directed=False, random_state=seed
            )
            seconds = time.perf_counter() - start
            found = scores(truth, adata.obs["leiden"])
            yield {"method": f"Leiden, resolution {resolution:g}", "seed": seed, **found, "seconds": seconds}


def with_ravine(adata: Any, use_rep: str, truth: Any, folder: Path) -> Iterator[dict[str, Any]]:
    """Lines of ravine, after a first call that compiles."""
    import anndata

    for name, make in MODELS.items():
        cluster(adata, make(), use_rep=use_rep)
        start = time.perf_counter()
        cluster(adata, make(), use_rep=use_rep)
        seconds = time.perf_counter() - start
        stored_there = adata.uns["ravine"]
        adata.write_h5ad(folder / "cells.h5ad")
        read = anndata.read_h5ad(folder / "cells.h5ad")
        predicted = tree_of(read).predict(np.asarray(read.obsm[use_rep])).astype(str)
        yield {
            "method": name,
            "seed": 0,
            **scores(truth, adata.obs["ravine"]),
            "confirmed": stored_there["confirmed"],
            "seconds": seconds,
            "read_again": tree_of(read) == tree_of(adata) and bool((read.obs["ravine"].to_numpy() == predicted).all()),
        }


def cells_lines() -> pd.DataFrame:
    """All lines about the cells."""
    import scanpy

    adata = scanpy.datasets.pbmc68k_reduced()
    truth = adata.obs[TRUTH].astype(str).to_numpy()
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for n_components in COMPONENTS:
            use_rep = f"X_pca{n_components}"
            adata.obsm[use_rep] = adata.obsm["X_pca"][:, :n_components]
            list(with_leiden(adata[:100].copy(), use_rep, truth[:100]))  # compiles
            found = [*with_leiden(adata, use_rep, truth), *with_ravine(adata, use_rep, truth, Path(folder))]
            lines += [{"components": n_components, **line} for line in found]
    return pd.DataFrame(lines)


def scaling_lines() -> pd.DataFrame:
    """Scores of principal components of scaled columns, clustered with and without scaling them once more."""
    lines = []
    for name, load in SETS.items():
        X, truth = load(return_X_y=True)
        for n_components in COMPONENTS:
            if n_components > X.shape[1]:
                continue
            rows = make_pipeline(StandardScaler(), PCA(n_components, random_state=0)).fit_transform(X)
            for standardize in (False, True):
                labels = IncrementalMDH(standardize=standardize).fit(rows).labels_
                lines.append({"dataset": name, "components": n_components, "standardize": standardize})
                lines[-1] |= scores(truth, labels)
    return pd.DataFrame(lines)


def page(stem: Path) -> str:
    table, scaling = stored.read_table(stem), stored.read_table(stem, "scaling")
    names = {"clusters": ("clusters", "mean"), "ARI": ("ari", "mean"), "NMI": ("nmi", "mean")}
    names |= {"confirmed cuts": ("confirmed", "mean"), "seconds": ("seconds", "median")}
    by_method = table.groupby(["components", "method"], sort=False).agg(**names).reset_index()
    formats = {"components": "{}", "method": "{}", "clusters": "{:.3g}", "ARI": "{:.3f}", "NMI": "{:.3f}"}
    formats |= {"confirmed cuts": "{:.0f}", "seconds": "{:.2f}"}
    n_equal = int(table["read_again"].eq(True).sum())
    n_models = len(MODELS) * len(COMPONENTS)
    kept = scaling.pivot(index=["dataset", "components"], columns="standardize", values=["ari", "clusters"])
    kept.columns = [
        f"{'ARI' if score == 'ari' else score}, {'scaled' if flag else 'as they are'}" for score, flag in kept
    ]
    by_set = {"dataset": "{}", "components": "{}"}
    by_set |= {name: "{:.3f}" if name.startswith("ARI") else "{:.0f}" for name in kept.columns}
    parts = [
        report.section(
            "Blood cells",
            f"700 cells, {N_TYPES} types. Leiden: means over {len(SEEDS)} seeds, with the time of the graph of "
            f"neighbors. {n_equal} of {n_models} results of ravine were equal after writing and reading a file, and "
            "their trees predicted the label of every cell.",
            report.formatted(by_method, formats, text=2),
        ),
        report.section(
            "Scores of components, scaled or not",
            "`IncrementalMDH` with `standardize=False` and with `standardize=True`, on scores of scaled columns.",
            report.formatted(kept.reset_index(), by_set, text=1),
        ),
    ]
    return stored.page("ravine and Leiden in scanpy", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem = args.out / NAME
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells, scaling = cells_lines(), scaling_lines()
    stored.record(stem, stored.run_details(sys.argv[1:], PACKAGES), anew=True)
    cells.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.6g", lineterminator="\n")
    stored.write_table(stem, "scaling", scaling)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
