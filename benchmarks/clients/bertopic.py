"""The clustering step of BERTopic: HDBSCAN on five UMAP columns, and ravine with and without UMAP.

    python -m benchmarks.clients.bertopic --out results
    python -m benchmarks.clients.bertopic FILE --rows 100000 1000000 --out results

FILE has embeddings of documents: Parquet with columns x0… and, if known, label; or .npy without labels. Its rows are
measured as they are, and enlarged to each of --rows: a new row is the mean of a class plus the deviations of three
random documents of the class, over √3, plus a little noise. Thus means and covariances stay, and no row has a copy.
Without FILE, embeddings are made: 50 topics of very different size, in 256 columns.

UMAP and HDBSCAN have the settings of BERTopic. Each step has a process of its own and one thread, and is warmed up on a
few rows; CPU seconds are compared, which other programs change least. Memory is the peak of the step above what the
process held before it, with the rows. `changed` is the share of some rows of the fit for which prediction gives another
cluster than the fit. UMAP, and what needs it, runs on up to --umap-rows rows. Needs the extra `peers`, and Linux.

The rows as they are also come in ten batches, as in `BERTopic.partial_fit`, with k given. `kept` is the share of all
rows whose cluster is the same before and after a batch, if the tree was not grown again, and if it was.

Writes bertopic.csv, bertopic_online.csv, bertopic.md and .json. A line is written when it is done, and a later run
leaves it out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks import report, stored
from ravine import IncrementalMDH
from ravine.integrations.bertopic import BERTopicClusterer

NAME = "bertopic"
PACKAGES = ("umap-learn", "hdbscan", "numba")
COLUMNS, TOPICS, TOPIC_RANK = 256, 50, 24
MADE_ROWS = 5_000
"""Number of made rows that stand for the rows of a file."""

NOISE = 0.1
"""Standard deviation of the noise of new rows, in standard deviations of the columns within classes."""

N_CHECKED = 10_000
"""Number of rows of the fit that are predicted."""

WARM_UP_ROWS = 5_000  # from 4,096 rows on, UMAP searches neighbors in another way
MIB = 2**20
AS_IT_IS, UMAP = "as it is", "umap"

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]


def read(path: Path) -> tuple[Rows, Labels | None]:
    """Embeddings, and labels if there are any."""
    if path.suffix == ".npy":
        return np.load(path).astype(np.float32), None
    table = pq.read_table(path)
    names = [name for name in table.column_names if name[0] == "x" and name[1:].isdigit()]
    X = np.column_stack([table[name].to_numpy().astype(np.float32) for name in names])
    return X, table["label"].to_numpy().astype(np.int64) if "label" in table.column_names else None


def made() -> tuple[Rows, Labels]:
    """Rows of unit length: each topic varies in a few directions of its own."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, TOPICS + 1)
    y = np.sort(rng.choice(TOPICS, MADE_ROWS, p=shares / shares.sum()))
    X = rng.normal(size=(TOPICS, COLUMNS))[y]
    for topic in range(TOPICS):
        own = y == topic
        X[own] += rng.normal(size=(own.sum(), TOPIC_RANK)) @ rng.normal(scale=0.3, size=(TOPIC_RANK, COLUMNS))
    X += rng.normal(scale=0.5, size=X.shape)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def enlarged(X: Rows, y: Labels | None, n_rows: int) -> tuple[Rows, Labels | None]:
    """Rows with the means and covariances of the classes; without classes, rows plus differences of others."""
    rng = np.random.default_rng(1)
    labels = np.zeros(len(X), dtype=np.int64) if y is None else y
    order = np.sort(rng.choice(labels, n_rows))
    out = np.empty((n_rows, X.shape[1]), dtype=np.float32)
    for label in np.unique(order):
        own, new = X[labels == label], np.flatnonzero(order == label)
        center = own.mean(axis=0)
        for part in np.array_split(new, -(-len(new) // 10_000)):
            one, two, three = (own[rng.integers(len(own), size=len(part))] for _ in range(3))
            if y is None:
                out[part] = one + 0.5 * (two - three)
            else:
                out[part] = center + (one + two + three - 3 * center) / np.sqrt(np.float32(3))
            out[part] += NOISE * own.std(axis=0) * rng.standard_normal((len(part), X.shape[1]), dtype=np.float32)
    shuffled = rng.permutation(n_rows)
    return out[shuffled], None if y is None else order[shuffled]


# Steps: each takes rows and the number of classes


def umap_step(X: Rows, n_classes: int | None) -> Rows:
    from umap import UMAP

    options = {"n_neighbors": 15, "n_components": 5, "min_dist": 0.0, "metric": "cosine", "low_memory": False}
    return np.asarray(UMAP(**options, random_state=0, n_jobs=1).fit_transform(X), dtype=np.float32)


def hdbscan_step(X: Rows, n_classes: int | None) -> tuple[Any, Callable[[Rows], Labels]]:
    """HDBSCAN as BERTopic makes it, but for the number of threads."""
    from hdbscan import HDBSCAN, approximate_predict

    model = HDBSCAN(min_cluster_size=10, prediction_data=True, core_dist_n_jobs=1).fit(X)
    return model, lambda some: approximate_predict(model, some)[0]


def hdbscan_large_step(X: Rows, n_classes: int | None) -> tuple[Any, Callable[[Rows], Labels]]:
    """HDBSCAN with the smallest cluster that ravine accepts, one row in 200."""
    from hdbscan import HDBSCAN, approximate_predict

    model = HDBSCAN(min_cluster_size=max(len(X) // 200, 5), prediction_data=True, core_dist_n_jobs=1).fit(X)
    return model, lambda some: approximate_predict(model, some)[0]


def ravine_step(X: Rows, n_classes: int | None) -> tuple[Any, Callable[[Rows], Labels]]:
    model = IncrementalMDH(n_jobs=1).fit(X)
    return model, model.predict


def ravine_k_step(X: Rows, n_classes: int | None) -> tuple[Any, Callable[[Rows], Labels]]:
    model = IncrementalMDH(n_classes, n_jobs=1).fit(X)
    return model, model.predict


REDUCED, ALL = "5 UMAP columns", "all columns"
STEPS: dict[str, tuple[str, Callable[..., Any]]] = {
    "UMAP": (ALL, umap_step),
    "HDBSCAN": (REDUCED, hdbscan_step),
    "HDBSCAN, n/200": (REDUCED, hdbscan_large_step),
    "IncrementalMDH, UMAP": (REDUCED, ravine_step),
    "IncrementalMDH(k), UMAP": (REDUCED, ravine_k_step),
    "IncrementalMDH": (ALL, ravine_step),
    "IncrementalMDH(k)": (ALL, ravine_k_step),
}
"""Each step: the columns that it reads, and its function."""

CLUSTERINGS = [step for step in STEPS if step != "UMAP"]


ONLINE: dict[str, Callable[[int], Any]] = {
    "IncrementalMDH(k)": lambda k: BERTopicClusterer(IncrementalMDH(k, n_jobs=1)),
    "IncrementalMDH(k), regrow_share=1": lambda k: BERTopicClusterer(IncrementalMDH(k, n_jobs=1), regrow_share=1),
    "MiniBatchKMeans(k)": lambda k: MiniBatchKMeans(k, random_state=0, n_init=3),
}
N_BATCHES = 10
KEPT = {"same tree": False, "new tree": True}
"""Whether the tree was grown again, by the words of the page."""


def online(name: str, X: Rows, y: Labels) -> dict[str, Any]:
    """Learn the rows in batches, in random order, and compare the clusters of all rows before and after each."""
    model, before, tree, kept = ONLINE[name](len(np.unique(y))), None, None, []
    start = time.process_time()
    for batch in np.array_split(np.random.default_rng(0).permutation(len(X)), N_BATCHES):
        model.partial_fit(X[batch])
        found, grown = model.predict(X), getattr(model, "tree_", None)
        if before is not None:
            kept.append((tree is None or grown is not tree, float((found == before).mean())))
        before, tree = found, grown
    means = {f"kept, {word}": [share for new, share in kept if new is is_new] for word, is_new in KEPT.items()}
    return {
        "model": name,
        "batches": N_BATCHES,
        "trees": None if tree is None else 1 + sum(new for new, _ in kept),
        **{word: round(float(np.mean(shares)), 4) if shares else None for word, shares in means.items()},
        "nmi": round(float(normalized_mutual_info_score(y, before, average_method="geometric")), 4),
        "cpu_s": round(time.process_time() - start, 2),
    }


def _peak(reset: bool = False) -> int:
    """Largest resident memory of this process, in bytes, since it was last reset; Linux only."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def measured(step: str, folder: Path) -> dict[str, Any]:
    """One step on the rows of a folder; call it in a fresh process."""
    warnings.simplefilter("ignore")
    columns, function = STEPS[step]
    X = np.load(folder / ("umap.npy" if columns == REDUCED else "rows.npy"))
    y = np.load(folder / "labels.npy") if (folder / "labels.npy").exists() else None
    n_classes = None if y is None else len(np.unique(y))
    few = X[np.random.default_rng(0).choice(len(X), min(len(X), WARM_UP_ROWS), replace=False)]
    function(few, n_classes)
    before = _peak(reset=True)
    start, start_cpu = time.perf_counter(), time.process_time()
    found = function(X, n_classes)
    row: dict[str, Any] = {"seconds": round(time.perf_counter() - start, 3)}
    row |= {"cpu_s": round(time.process_time() - start_cpu, 3), "mib": round((_peak() - before) / MIB)}
    if step == "UMAP":
        np.save(folder / "umap.npy", found)
        return row
    model, predict = found
    labels = np.asarray(model.labels_)
    row |= {"clusters": len(np.unique(labels[labels >= 0])), "outliers": round(float((labels < 0).mean()), 4)}
    row["changed"] = round(float((np.asarray(predict(X[:N_CHECKED])) != labels[:N_CHECKED]).mean()), 5)
    if y is not None:
        row["nmi"] = round(float(normalized_mutual_info_score(y, labels, average_method="geometric")), 4)
        row["ari"] = round(float(adjusted_rand_score(y, labels)), 4)
    return row


def in_fresh_process(step: str, folder: Path) -> dict[str, Any]:
    # One thread for all that a library begins by itself, from its import on.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    os.environ.update(threads)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (step, folder))


def wanted(n_rows: int, umap_rows: int) -> list[str]:
    """The steps for so many rows."""
    return [step for step, (columns, _) in STEPS.items() if n_rows <= umap_rows or (columns == ALL and step != "UMAP")]


def page(stem: Path) -> str:
    table = stored.read_table(stem)
    formats = {"step": "{}", "columns": "{}", "seconds": "{:,.2f}", "cpu_s": "{:,.2f}", "mib": "{:,.0f}"}
    scores = {"clusters": "{:,.0f}", "outliers": "{:.3f}", "changed": "{:.4f}", "nmi": "{:.3f}", "ari": "{:.3f}"}
    parts = []
    for (data, n_rows), own in table.groupby(["data", "rows"], sort=False):
        kind = "as they are" if data == AS_IT_IS else "enlarged"
        parts.append(
            report.section(f"{n_rows:,} rows, {kind}", _ratios(own), report.formatted(own, formats | scores, text=2))
        )
    note = (
        "Every step has one thread: `cpu_s` is its time on an idle machine, `seconds` has what others took too. "
        "`mib` is the memory of the step in addition to the process with its rows. `k` is the number of classes. "
        "HDBSCAN is that of BERTopic, `min_cluster_size=10`, and once with a row in 200. Outliers count as one cluster "
        "of the scores. `changed` is the share of rows of the fit that are predicted otherwise."
    )
    if Path(f"{stem}_online.csv").exists():
        formats = {"model": "{}", "batches": "{}", "trees": "{:.0f}"}
        formats |= dict.fromkeys([f"kept, {word}" for word in KEPT], "{:.3f}") | {"nmi": "{:.3f}", "cpu_s": "{:.2f}"}
        online_note = (
            "The rows as they are, in ten batches. `kept` is the mean share of all rows whose cluster a batch does not "
            "change, if the tree stays and if it is grown again; MiniBatchKMeans has no tree and moves its centers "
            "with each batch. `nmi` is that after the last batch. The seconds include the predictions of all rows."
        )
        online_table = report.formatted(stored.read_table(stem, "online"), formats)
        parts.append(report.section("Online, k given", online_note, online_table))
    return stored.page("The clustering step of BERTopic", stem, [note, *parts])


def _ratios(own: pd.DataFrame) -> str:
    """Say how long ravine takes compared with HDBSCAN, if both were run."""
    seconds = own.set_index("step")["cpu_s"]
    if "HDBSCAN" not in seconds:
        return "UMAP, and what needs its columns, was not run on so many rows."
    ours = [step for step in CLUSTERINGS if step.startswith("Incremental") and step in seconds]
    alone = ", ".join(f"{seconds['HDBSCAN'] / seconds[step]:.1f} of `{step}`" for step in ours)
    both = seconds["UMAP"] + seconds["HDBSCAN"]
    direct = ", ".join(f"{both / seconds[step]:.1f} of `{step}`" for step in ours if STEPS[step][0] == ALL)
    return (
        f"CPU seconds of HDBSCAN, as a multiple of those of ravine: {alone}. Those of UMAP and HDBSCAN together, as a "
        f"multiple of those of ravine without UMAP: {direct}."
    )


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("file", nargs="?", type=Path, help="embeddings; made if left out")
    cli.add_argument("--rows", nargs="*", type=int, default=[100_000], help="numbers of rows (100000)")
    cli.add_argument("--umap-rows", type=int, default=100_000, help="largest number of rows for UMAP (100000)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem = args.out / NAME
    source = args.file.stem if args.file else "made"
    stored.record(stem, stored.run_details(sys.argv[1:], PACKAGES) | {"settings": {"source": source, "threads": 1}})
    done = stored.read_table(stem).to_dict("records") if stem.with_suffix(".csv").exists() else []
    X, y = read(args.file) if args.file else made()
    for n_rows in (len(X), *args.rows):
        data = AS_IT_IS if n_rows == len(X) else "enlarged"
        known = {row["step"] for row in done if row["rows"] == n_rows}
        steps = [step for step in wanted(n_rows, args.umap_rows) if step not in known]
        if not steps:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            rows, labels = (X, y) if data == AS_IT_IS else enlarged(X, y, n_rows)
            np.save(folder / "rows.npy", rows)
            if labels is not None:
                np.save(folder / "labels.npy", labels)
            shape = rows.shape
            del rows
            if "UMAP" not in steps and any(STEPS[step][0] == REDUCED for step in steps):
                in_fresh_process("UMAP", folder)
            for step in steps:
                row = {"data": data, "rows": n_rows, "step": step, "columns": STEPS[step][0]}
                done.append(row | in_fresh_process(step, folder))
                print(shape, done[-1], flush=True)
                table = pd.DataFrame(done)
                table.to_csv(stem.with_suffix(".csv"), index=False, float_format="%.6g", lineterminator="\n")
    if y is not None and not Path(f"{stem}_online.csv").exists():
        with threadpool_limits(1):
            stored.write_table(stem, "online", pd.DataFrame([online(name, X, y) for name in ONLINE]))
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
