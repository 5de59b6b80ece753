"""Rows on a Dask cluster and in files: the same clusters as in memory, what they cost, and what a lost worker changes.

    python -m benchmarks.peers.out_of_core --data FOLDER --out results
    python -m benchmarks.peers.out_of_core --out results --only files --scratch BIG_FOLDER

The cluster has two worker processes with one thread each. All bytes are those that cross the loopback device, between
workers as well as to and from the client and the scheduler; the client's are what it sends for an evaluation and what
comes back. Memory is the peak of a fresh process. `peer` needs dask-ml. Writes out_of_core.md and .json, and a CSV for
each part that is run.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np
import pandas as pd
import psutil
from dask.delayed import delayed
from distributed import Client, LocalCluster
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks import report, stored
from ravine import MDH, IncrementalMDH, NCutH, _outofcore
from ravine._outofcore._dask import DaskChunks
from ravine.cluster import _base

NAME = "out_of_core"
ROWS, COLUMNS, CLUSTERS, PIECES = 1_000_000, 50, 10, 80
METHODS: dict[str, Any] = {"ncuth": NCutH, "mdh": MDH}
SETS = ("pendigits", "satimage", "shuttle")
KILLS = 10
PREDICTED = 10_000_000
FILES, ROWS_PER_FILE, FILE_COLUMNS = 50, 1_000_000, 20
GIB = 2**30
TABLES: dict[str, tuple[str, str, dict[str, str]]] = {
    "peer": (
        "Compared with KMeans of dask-ml",
        "A million rows of ten clouds in 50 columns on two worker processes, all with k given.",
        {"method": "{}", "seconds": "{:.2f}", "time_of_kmeans": "{:.2f}", "ari": "{:.4f}"},
    ),
    "fits": (
        "On a cluster and in memory",
        "`ari_to_memory` is the agreement of the two partitions. The others are seconds and their ratio, CPU seconds, "
        "the load of the machine (2 is all that it can do), passes and the data sent.",
        {"rows": "{}", "method": "{}", "n": "{:,}", "d": "{}", "partitions": "{}", "memory_s": "{:.2f}"}
        | {"dask_s": "{:.2f}", "ratio": "{:.2f}", "memory_cpu_s": "{:.2f}", "dask_cpu_s": "{:.2f}", "load": "{:.1f}"}
        | {"ari_to_memory": "{:.4f}", "passes": "{}"}
        | {"client_kb_per_evaluation": "{:,}", "all_kb_per_pass": "{:,}"},
    ),
    "identity": (
        "Other numbers and orders of partitions",
        "`identical` says whether the tree equals the first one bit for bit.",
        {"method": "{}", "workers": "{}", "partitions": "{}", "order": "{}", "identical": "{}"},
    ),
    "kills": (
        "A worker killed at a random moment",
        "`NCutH(10)`, a million rows. `identical` compares with a fit in which no worker was lost.",
        {"after_s": "{:.2f}", "fit_s": "{:.2f}", "undisturbed_s": "{:.2f}", "identical": "{}"},
    ),
    "predict": (
        "Prediction in blocks",
        "Compared with the same rows in one array, both on two threads.",
        {"rows": "{:,}", "local_s": "{:.3f}", "by_blocks_s": "{:.3f}", "ratio": "{:.2f}", "equal": "{}"}
        | {"data_mb": "{:,}", "memory_above_start_mb": "{}"},
    ),
    "files": (
        "Fifty million rows in files",
        "Twenty columns in 4.3 GB of Parquet. `reads` is the time as a multiple of reading the files once, `readings` "
        "is how often all rows were read, from the files or from the copy, and `load` is the load of the machine (2 is "
        "all that it can do).",
        {"what": "{}", "seconds": "{:.1f}", "cpu_s": "{:.1f}", "load": "{:.1f}", "reads": "{:.1f}", "passes": "{:.0f}"}
        | {"readings": "{:.1f}", "peak_gib": "{:.2f}"}
        | {"n_clusters": "{:.0f}", "ari_of_first_file": "{:.4f}"},
    ),
}


def piece(seed: int, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Some of the rows of ten clouds, and their clouds; the rows of a seed come in `PIECES` pieces."""
    centers = np.random.default_rng(seed).normal(scale=3, size=(CLUSTERS, COLUMNS))
    rng = np.random.default_rng([seed, number])
    y = rng.integers(CLUSTERS, size=ROWS // PIECES)
    return centers[y] + rng.normal(size=(len(y), COLUMNS)), y


def pieces(seed: int, numbers: list[int]) -> NDArray[Any]:
    """The rows of several pieces."""
    return np.concatenate([piece(seed, number)[0] for number in numbers])


def clouds(seed: int, n_parts: int, order: list[int] | None = None) -> Any:
    """A Dask array of all pieces in a number of partitions."""
    groups = np.array_split(range(PIECES) if order is None else order, n_parts)
    blocks = []
    for numbers in groups:
        block = delayed(pieces)(seed, [int(number) for number in numbers])
        blocks.append(da.from_delayed(block, (len(numbers) * ROWS // PIECES, COLUMNS), float))
    return da.concatenate(blocks)


@contextmanager
def cluster(n_workers: int = 2) -> Iterator[Client]:
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=n_workers, processes=True, **options) as workers, Client(workers) as client:
        yield client


def _cpu_of_workers(client: Client) -> float:
    """CPU seconds that the worker processes have used so far."""
    used = (psutil.Process(process).cpu_times() for process in client.run(os.getpid).values())
    return sum(times.user + times.system for times in used)


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = call(*arguments)
    return found, time.perf_counter() - start


def _bytes() -> int:
    return int(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)


class _Passes:
    """Counts the passes of fits while it is in use, and what evaluations send to the client and back."""

    def __enter__(self) -> _Passes:
        self.made: list[Any] = []
        self.largest_evaluation = 0
        self._root, self._reduce = _outofcore.ChunkedNode.root, DaskChunks.reduce
        _outofcore.ChunkedNode.root = classmethod(self._recorded)  # type: ignore[method-assign, assignment]
        DaskChunks.reduce = self._measured()  # type: ignore[method-assign]
        return self

    def _recorded(self, _: Any, rows: Any) -> Any:
        self.made.append(rows)
        return self._root(rows)

    def _measured(self) -> Any:
        reduce = self._reduce

        def measured(of: Any, step: Any, handles: Any, *arguments: Any) -> Any:
            found = reduce(of, step, handles, *arguments)
            if step.__name__ in ("look", "pull"):
                self.largest_evaluation = max(self.largest_evaluation, len(pickle.dumps((found, arguments))))
            return found

        return measured

    def __exit__(self, *_: object) -> None:
        _outofcore.ChunkedNode.root = self._root  # type: ignore[method-assign]
        DaskChunks.reduce = self._reduce  # type: ignore[method-assign]

    @property
    def n_passes(self) -> int:
        return int(self.made[-1].n_passes)


def fit_beside_memory(client: Client, name: str, X: Any, lazy: Any, k: int) -> Iterator[dict[str, Any]]:
    """Both methods in memory and on the cluster."""
    for method, make in METHODS.items():
        start = time.process_time()
        in_memory, memory_s = timed(make(k).fit, X)
        memory_cpu_s = time.process_time() - start
        before, start, of_workers = _bytes(), time.process_time(), _cpu_of_workers(client)
        with _Passes() as passes:
            model, dask_s = timed(make(k).fit, lazy)
        sent = _bytes() - before
        dask_cpu_s = time.process_time() - start + _cpu_of_workers(client) - of_workers
        row = {
            "rows": name,
            "method": method,
            "n": len(X),
            "d": X.shape[1],
            "partitions": lazy.numblocks[0],
            "memory_s": round(memory_s, 2),
            "dask_s": round(dask_s, 2),
            "ratio": round(dask_s / memory_s, 2),
            "memory_cpu_s": round(memory_cpu_s, 2),
            "dask_cpu_s": round(dask_cpu_s, 2),
            "load": round(os.getloadavg()[0], 1),
            "ari_to_memory": round(adjusted_rand_score(in_memory.labels_, model.labels_.compute()), 6),
            "passes": passes.n_passes,
            "client_kb_per_evaluation": round(passes.largest_evaluation / 1000),
            "all_kb_per_pass": round(sent / passes.n_passes / 1000),
        }
        print(row, flush=True)
        yield row


def fits(data: Path | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with cluster() as client:
        warm = clouds(99, PIECES)[: 4 * ROWS // PIECES].rechunk((ROWS // PIECES, COLUMNS))
        for make in METHODS.values():
            make(CLUSTERS).fit(warm)
            make(CLUSTERS).fit(warm.compute())
        for seed in range(3):
            lazy = clouds(seed, 16).persist()
            rows += fit_beside_memory(client, f"ten clouds, seed {seed}", lazy.compute(), lazy, CLUSTERS)
            del lazy
        for name in SETS:
            if data is None:
                break
            frame = pd.read_parquet(data / f"{name}.parquet")
            k = frame.pop("label").nunique()
            X = StandardScaler().fit_transform(frame.to_numpy(float)[:, frame.to_numpy(float).std(axis=0) > 0])
            lazy = da.from_array(X, chunks=(-(-len(X) // 8), X.shape[1])).persist()
            rows += fit_beside_memory(client, f"{name}, fetched", X, lazy, k)
            with mock.patch.object(_base, "FETCHED_CELLS", 0):
                rows += fit_beside_memory(client, f"{name}, in passes", X, lazy, k)
    return rows


def identity() -> list[dict[str, Any]]:
    """The same tree for other numbers and orders of partitions, and of workers."""
    order = list(range(PIECES))
    random.Random(0).shuffle(order)
    cases = [(2, 16, None), (2, 7, order), (1, 40, order[::-1]), (3, 16, order)]
    rows, trees = [], dict[str, Any]()
    for n_workers, n_parts, pieces_in_order in cases:
        with cluster(n_workers):
            lazy = clouds(0, n_parts, pieces_in_order).persist()
            for method, make in METHODS.items():
                tree = make(CLUSTERS).fit(lazy).tree_
                same = trees.setdefault(method, tree) == tree
                order_of = "as made" if pieces_in_order is None else "shuffled"
                rows.append({"method": method, "workers": n_workers, "partitions": n_parts, "order": order_of})
                rows[-1]["identical"] = bool(same)
                print(rows[-1], flush=True)
    return rows


def kills() -> list[dict[str, Any]]:
    """A worker is killed at a random moment of a fit."""
    rows = []
    # A local cluster gives up a worker that is not there 15 s after it was lost, because it was lost once more.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}), cluster() as client:
        lazy = clouds(0, 16).persist()
        NCutH(CLUSTERS).fit(lazy)
        undisturbed, seconds = timed(NCutH(CLUSTERS).fit, lazy)
        chance = random.Random(1)
        for _ in range(KILLS):
            client.wait_for_workers(2, timeout=60)
            victim, after = chance.choice(sorted(client.run(os.getpid).values())), chance.uniform(0, seconds)
            killer = threading.Timer(after, os.kill, (victim, signal.SIGKILL))
            killer.start()
            model, disturbed_s = timed(NCutH(CLUSTERS).fit, lazy)
            killer.join()
            row = {"after_s": round(after, 2), "fit_s": round(disturbed_s, 2), "undisturbed_s": round(seconds, 2)}
            rows.append({**row, "identical": bool(model.tree_ == undisturbed.tree_)})
            print(rows[-1], flush=True)
    return rows


def peer() -> list[dict[str, Any]]:
    """Compare with the KMeans of dask-ml, also with k given."""
    from dask_ml.cluster import KMeans

    rows = []
    y = np.concatenate([piece(0, number)[1] for number in range(PIECES)])
    with cluster():
        lazy = clouds(0, 16).persist()
        makers = {**METHODS, "dask-ml KMeans": lambda k: KMeans(k, random_state=0)}
        for make in makers.values():
            make(2).fit(lazy[: 2 * ROWS // 16])
        for name, make in makers.items():
            model, seconds = timed(make(CLUSTERS).fit, lazy)
            ari = adjusted_rand_score(y, model.labels_.compute())
            rows.append({"method": name, "seconds": round(seconds, 2), "ari": round(ari, 4)})
            print(rows[-1], flush=True)
    for row in rows:
        row["time_of_kmeans"] = round(row["seconds"] / rows[-1]["seconds"], 2)
    return rows


def predict_by_blocks() -> list[dict[str, Any]]:
    """Predict many rows in blocks and in one array, both on two threads."""
    model = NCutH(CLUSTERS).fit(_mixture(100_000))
    memory = _in_fresh_process(_predict_generated, model)
    X = _mixture(PREDICTED)
    lazy = da.from_array(X, chunks=(PREDICTED // 40, FILE_COLUMNS))
    local, by_chunks = [], []
    lazily: Any = model  # its labels are a Dask array
    for _ in range(4):
        labels, seconds = timed(model.predict, X)
        local.append(seconds)
        by_block, seconds = timed(lambda: lazily.predict(lazy).compute(scheduler="threads", num_workers=2))
        by_chunks.append(seconds)
    return [
        {
            "rows": PREDICTED,
            "local_s": round(min(local), 3),
            "by_blocks_s": round(min(by_chunks), 3),
            "ratio": round(min(by_chunks) / min(local), 2),
            "equal": bool((labels == by_block).all()),
            "data_mb": round(X.nbytes / 1e6),
            "memory_above_start_mb": memory,
        }
    ]


def _mixture(n_rows: int) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(CLUSTERS, FILE_COLUMNS))
    X = rng.standard_normal((n_rows, FILE_COLUMNS))
    for part, center in zip(np.array_split(X, CLUSTERS), centers, strict=True):
        part += center
    return X


def _predict_generated(model: Any) -> int:
    """Peak memory of labels of rows that are made block by block, in MB above what was there before."""

    def make(block_info: Any = None) -> NDArray[Any]:
        number = block_info[None]["chunk-location"][0]
        return np.random.default_rng(number).standard_normal((PREDICTED // 40, FILE_COLUMNS))

    chunks = ((PREDICTED // 40,) * 40, (FILE_COLUMNS,))
    lazy = da.map_blocks(make, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    model.predict(lazy[:1000]).compute(scheduler="threads", num_workers=2)
    before = _peak(reset=True)
    model.predict(lazy).max().compute(scheduler="threads", num_workers=2)
    return round((_peak() - before) / 1e6)


def _peak(reset: bool = False) -> int:
    """Largest resident memory of this process, in bytes, since it was last reset: what it inherits does not count."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def write_files(folder: Path) -> None:
    """Ten clouds in Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    centers = np.random.default_rng(0).normal(scale=3, size=(CLUSTERS, FILE_COLUMNS)).astype(np.float32)
    for number in range(FILES):
        path = folder / f"{number:02d}.parquet"
        if not path.exists():
            rng = np.random.default_rng([0, number])
            y = rng.integers(0, CLUSTERS, size=ROWS_PER_FILE)
            X = rng.standard_normal((ROWS_PER_FILE, FILE_COLUMNS), dtype=np.float32)
            X += centers[y]
            pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(FILE_COLUMNS)}), path)


def files(scratch: Path) -> list[dict[str, Any]]:
    """Fit on files, each fit in a fresh process, and read the files once for comparison."""
    write_files(scratch)
    rows: list[dict[str, Any]] = []
    for what in ("read", "imdh", "imdh_stream", "ncuth"):
        row = _in_fresh_process(_on_files, scratch, what)
        row["reads"] = round(row["seconds"] / (rows[0]["seconds"] if rows else row["seconds"]), 1)
        print(row, flush=True)
        rows.append(row)
    return rows


def _on_files(scratch: Path, what: str) -> dict[str, Any]:
    from pyarrow import dataset

    _peak(reset=True)
    rows, n_passes, n_clusters, ari = dataset.dataset(scratch, format="parquet"), None, None, None
    start, readings = time.process_time(), None
    if what == "read":
        sum(map(len, _outofcore.tables_of(rows, named=False)))  # the files are in the page cache after it, or are not
        start = time.process_time()
        _, seconds = timed(lambda: sum(map(len, _outofcore.tables_of(rows, named=False))))
    else:
        model: Any = NCutH(CLUSTERS) if what == "ncuth" else IncrementalMDH()
        with _Passes() as passes:
            fit = model.partial_fit if what == "imdh_stream" else model.fit
            _, seconds = timed(lambda: fit(rows).tree_)
        n_passes = 1 if what == "imdh_stream" else passes.n_passes
        if what != "imdh_stream":
            readings = round(passes.made[-1].n_rows_read / (FILES * ROWS_PER_FILE), 1)
    row = {"what": what, "seconds": round(seconds, 1), "passes": n_passes, "peak_gib": round(_peak() / GIB, 2)}
    row |= {"cpu_s": round(time.process_time() - start, 1), "load": round(os.getloadavg()[0], 1), "readings": readings}
    if what != "read":
        n_clusters, ari = model.n_clusters_, _score(model)
    return {**row, "n_clusters": n_clusters, "ari_of_first_file": ari}


def _score(model: Any) -> float:
    """On the rows of the first file, made once more."""
    centers = np.random.default_rng(0).normal(scale=3, size=(CLUSTERS, FILE_COLUMNS)).astype(np.float32)
    rng = np.random.default_rng([0, 0])
    y = rng.integers(0, CLUSTERS, size=ROWS_PER_FILE)
    X = rng.standard_normal((ROWS_PER_FILE, FILE_COLUMNS), dtype=np.float32)
    return round(float(adjusted_rand_score(y[:200_000], model.tree_.predict((X + centers[y])[:200_000]))), 4)


def _in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def page(stem: Path) -> str:
    """The tables that were made."""
    parts = [
        report.section(title, note, report.formatted(stored.read_table(stem, name), formats))
        for name, (title, note, formats) in TABLES.items()
        if Path(f"{stem}_{name}.csv").exists()
    ]
    return stored.page("Out-of-core data, compared with dask-ml", stem, parts)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--data", type=Path, help="folder with pendigits, satimage and shuttle as Parquet files")
    cli.add_argument("--scratch", type=Path, help="folder for 4 GB of generated files")
    cli.add_argument("--out", type=Path, required=True)
    names = ("fits", "identity", "kills", "peer", "predict", "files")
    cli.add_argument("--only", nargs="+", choices=names, default=names)
    args = cli.parse_args()
    sections: dict[str, Callable[[], Any]] = {
        "fits": lambda: fits(args.data),
        "identity": identity,
        "kills": kills,
        "peer": peer,
        "predict": predict_by_blocks,
        "files": lambda: files(args.scratch),
    }
    stem = args.out / NAME
    for name in args.only:
        if name == "files" and args.scratch is None:
            print("files: needs --scratch")
            continue
        entry = stored.run_details(sys.argv[1:]) | {"table": name}
        table = pd.DataFrame(sections[name]()).convert_dtypes()  # an integer that is not there is not a float
        others = [run for run in stored.runs(stem) if run["table"] != name]
        for number, run in enumerate([*others, entry]):
            stored.record(stem, run, anew=number == 0)
        table.to_csv(f"{stem}_{name}.csv", index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
