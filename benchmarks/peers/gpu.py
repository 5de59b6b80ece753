"""Rows on a CUDA device: times, memory, the same bytes each time, and the clusters of the host.

    python -m benchmarks.peers.gpu --data FOLDER --out results
    python -m benchmarks.peers.gpu --parts times bytes --out results
    python -m benchmarks.peers.gpu --check

Needs torch and the extra `gpu`. The rows are ten clouds in float32, made on the device. Times are the best of three,
after a first fit that compiles; KMeans is twenty iterations of plain torch on the same rows. The host fits fewer rows
on all cores; `sizes` has both for several tables. Memory is that of the device, sampled during a fit. `large` fits
three times as many rows, and `from_host` rows that stay in the memory of the host. A later run with other parts keeps
the tables of this one. `--check` measures nothing: it runs the tests of the kernels, reductions and estimators in
tests/cuda on the device, and a fit for each library of arrays that is installed.
Writes gpu.md and .json, and a CSV for each part.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from benchmarks import report, runner, stored
from benchmarks.worker import DataSet, load
from ravine import MDH, PDDP, IncrementalMDH, NCutH, _outofcore, gpu
from ravine.cluster import _base

NAME = "gpu"
CLUSTERS, RUNS, ITERATIONS = 10, 10, 20
GIB = 2**30
METHODS: dict[str, Callable[[], Any]] = {
    "NCutH(10)": lambda: NCutH(CLUSTERS),
    "MDH(10)": lambda: MDH(CLUSTERS),
    "PDDP(10)": lambda: PDDP(CLUSTERS),
    "IncrementalMDH()": IncrementalMDH,
}
TEST_PACKAGES = ("pytest", "hypothesis", "clarabel")
SETS = ("pendigits", "satimage", "shuttle", "mnist")
SIZES = [(100_000, 16), (100_000, 256), (1_000_000, 16), (1_000_000, 64), (1_000_000, 256), (10_000_000, 16)]
"""Rows and columns of the tables for which both times are shown."""
TABLES: dict[str, tuple[str, str, dict[str, str]]] = {
    "times": (
        "Times and memory",
        "`first_s` is the first fit, which compiles; `memory` is the peak as a multiple of the rows.",
        {"what": "{}", "rows": "{:,}", "columns": "{}", "first_s": "{:.2f}", "seconds": "{:.3f}", "memory": "{:.2f}"},
    ),
    "sizes": (
        "When a device pays",
        "Seconds of `NCutH(10)` on the device and on all cores of the host, with the rows in the memory of each.",
        {"rows": "{:,}", "columns": "{}", "device": "{:.2f}", "host": "{:.2f}", "times_faster": "{:.1f}"},
    ),
    "large": (
        "Rows that fill most of the device",
        "One fit; `memory` is the peak as a multiple of the rows.",
        {"what": "{}", "rows": "{:,}", "columns": "{}", "seconds": "{:.2f}", "memory": "{:.2f}"},
    ),
    "from_host": (
        "Rows in the memory of the host",
        "`passes` is the number of rows that were sent to the device, as a multiple of all rows; `reading_s` is what "
        "so many rows take to be sent and do nothing else.",
        {
            "what": "{}",
            "rows": "{:,}",
            "columns": "{}",
            "seconds": "{:.1f}",
            "passes": "{:.1f}",
            "reading_s": "{:.1f}",
            "times_reading": "{:.2f}",
        },
    ),
    "bytes": (
        "The same bytes",
        f"Different results of {RUNS} fits: cuts and labels.",
        {"method": "{}", "rows": "{:,}", "different": "{}"},
    ),
    "clusters": (
        "The clusters of the host",
        "ARI of the labels on the device to those on the host, and both numbers of clusters.",
        {"dataset": "{}", "method": "{}", "ari": "{:.4f}", "k_device": "{}", "k_host": "{}"},
    ),
}


def why_not() -> str | None:
    """What is missing to run on a device, in a sentence."""
    try:
        from numba import cuda
    except ImportError:
        return "there is no CUDA target of Numba here: pip install 'ravine[gpu]'"
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return "Numba's simulator is no device: unset NUMBA_ENABLE_CUDASIM"
    if not cuda.is_available():
        return "there is no CUDA device here, so nothing was run: use a machine on which nvidia-smi shows one"
    return None


def rows_on_device(n_rows: int, n_columns: int, seed: int = 0) -> Any:
    """Ten clouds, made in place."""
    import torch

    generator = torch.Generator("cuda").manual_seed(seed)
    X = torch.randn((n_rows, n_columns), generator=generator, device="cuda", dtype=torch.float32)
    for part in X.chunk(CLUSTERS):
        part += 10 * torch.rand(n_columns, generator=generator, device="cuda")
    return X


class Peak:
    """The largest use of the memory of the device while a block runs, above what was in use before."""

    def __enter__(self) -> Peak:
        self._before, self._done, self.most = self._used(), threading.Event(), 0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _used(self) -> int:
        import torch

        free, total = torch.cuda.mem_get_info()
        return int(total - free)

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self.most = max(self.most, self._used() - self._before)


def timed(call: Callable[[], object]) -> float:
    """Seconds of a call, until the device has finished."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def k_means(X: Any) -> Any:
    """Labels of twenty iterations of KMeans, in blocks, from the first rows of ten parts."""
    import torch

    centers = torch.stack([part[0] for part in X.chunk(CLUSTERS)])
    labels = torch.empty(len(X), dtype=torch.int64, device=X.device)
    for _ in range(ITERATIONS):
        sums, counts = torch.zeros_like(centers), torch.zeros(CLUSTERS, device=X.device)
        for rows, mine in zip(X.split(1 << 22), labels.split(1 << 22), strict=True):
            mine.copy_((centers.square().sum(1) - 2 * rows @ centers.T).argmin(1))
            sums.index_add_(0, mine, rows)
            counts += torch.bincount(mine, minlength=CLUSTERS)
        centers = sums / counts.clamp(min=1)[:, None]
    return labels


def times(n_rows: int, n_columns: int, host_rows: int) -> pd.DataFrame:
    """Fits and predictions on the device, KMeans beside them, and a fit on the host."""
    X = rows_on_device(n_rows, n_columns)
    size, found = X.numel() * X.element_size(), []

    def measure(what: str, call: Callable[[], object], repeats: int = 3) -> None:
        first = timed(call)
        with Peak() as peak:
            seconds = min(timed(call) for _ in range(repeats))
        line = {"what": what, "rows": n_rows, "columns": n_columns, "first_s": first, "seconds": seconds}
        found.append({**line, "memory": 1 + peak.most / size})

    for name, make in METHODS.items():
        measure(name, lambda make=make: make().fit(X))  # type: ignore[misc]
    model = NCutH(CLUSTERS).fit(X)
    measure("predict of NCutH(10)", lambda: model.predict(X))
    measure(f"KMeans(10), {ITERATIONS} iterations", lambda: k_means(X), repeats=1)
    few = X[:: n_rows // host_rows].cpu().numpy()
    NCutH(CLUSTERS).fit(few[:100_000])
    start = time.perf_counter()
    NCutH(CLUSTERS).fit(few)
    seconds = time.perf_counter() - start
    found.append({"what": "NCutH(10) on the host", "rows": len(few), "columns": n_columns, "seconds": seconds})
    return pd.DataFrame(found)


def sizes() -> pd.DataFrame:
    """The same fit on the device and on the host, for tables of several sizes."""
    found = []
    for n_rows, n_columns in SIZES:
        X = rows_on_device(n_rows, n_columns)
        on_host = X.cpu().numpy()
        seconds = []
        for rows in (X, on_host):
            NCutH(CLUSTERS).fit(rows[:100_000])
            seconds.append(min(timed(lambda rows=rows: NCutH(CLUSTERS).fit(rows)) for _ in range(2)))  # type: ignore[misc]
        device, host = seconds
        line = {"rows": n_rows, "columns": n_columns, "device": device, "host": host}
        found.append({**line, "times_faster": host / device})
    return pd.DataFrame(found)


def large(n_rows: int, n_columns: int) -> pd.DataFrame:
    """A fit to rows that fill most of the device."""
    X = rows_on_device(n_rows, n_columns)
    with Peak() as peak:
        seconds = timed(lambda: NCutH(CLUSTERS).fit(X))
    memory = 1 + peak.most / (X.numel() * X.element_size())
    line = {"what": "NCutH(10)", "rows": n_rows, "columns": n_columns, "seconds": seconds, "memory": memory}
    return pd.DataFrame([line])


def from_host(n_rows: int, n_columns: int) -> pd.DataFrame:
    """A fit to rows in the memory of the host, and how long it takes to send them as often and do nothing else."""
    X = gpu.from_host(rows_on_device(n_rows, n_columns).cpu().numpy())
    made: list[_outofcore.ChunksFromHost] = []

    class Kept(_outofcore.ChunksFromHost):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    def send() -> None:
        for _ in X.sent(-1):
            pass

    send()
    once = min(timed(send) for _ in range(2))
    with mock.patch.object(_outofcore, "ChunksFromHost", Kept):
        seconds = timed(lambda: NCutH(CLUSTERS).fit(X))
    passes = sum(chunks.n_rows_read for chunks in made) / n_rows + 1  # the labels are one more pass
    line = {"what": "NCutH(10)", "rows": n_rows, "columns": n_columns, "seconds": seconds, "passes": passes}
    return pd.DataFrame([{**line, "reading_s": passes * once, "times_reading": seconds / (passes * once)}])


def same_bytes(n_rows: int, n_columns: int) -> pd.DataFrame:
    """How many different results there are among ten fits."""
    X, found = rows_on_device(n_rows, n_columns), []
    for name, make in METHODS.items():
        different = set()
        for _ in range(RUNS):
            model = make().fit(X)
            tree = b"".join(array.tobytes() for array in (model.tree_.normal, model.tree_.offset, model.tree_.count))
            different.add(hashlib.sha256(tree + model.labels_.cpu().numpy().tobytes()).hexdigest())
        found.append({"method": name, "rows": n_rows, "different": len(different)})
    return pd.DataFrame(found)


def clusters(folder: Path | None) -> pd.DataFrame:
    """Labels on the device beside those of the host; all rows are read on the device, however few they are."""
    import torch

    sets = {"ten clouds, 1,000,000 × 50": rows_on_device(1_000_000, 50).cpu().numpy()}
    paths = {} if folder is None else runner.find(folder, only=None, skip=())
    for name in (name for name in SETS if name in paths):
        sets[name] = load(DataSet.describe(paths[name], None), scale=True)[0].astype(np.float32)
    found = []
    for name, X in sets.items():
        for method, make in (*METHODS.items(), ("NCutH()", NCutH), ("MDH()", MDH)):
            host = make().fit(X)
            with mock.patch.object(_base, "FETCHED_CELLS", 0):
                model = make().fit(torch.asarray(X, device="cuda"))
            ari = adjusted_rand_score(host.labels_, model.labels_.cpu().numpy())
            line = {"dataset": name, "method": method, "ari": ari}
            found.append({**line, "k_device": model.n_clusters_, "k_host": host.n_clusters_})
            print(*found[-1].values(), flush=True)
    return pd.DataFrame(found)


def page(stem: Path) -> str:
    parts = []
    for name, (title, about, formats) in TABLES.items():
        if not Path(f"{stem}_{name}.csv").exists():
            continue
        parts.append(report.section(title, about, report.formatted(stored.read_table(stem, name), formats)))
    return stored.page("Rows on a CUDA device", stem, parts)


def run_tests() -> int:
    """Run the tests of tests/cuda on the device, without those of the documentation; return their exit status."""
    missing = [name for name in TEST_PACKAGES if find_spec(name) is None]
    if missing:
        print(f"the tests were not run, since {', '.join(missing)} is not installed: pip install 'ravine[test]'")
        return 1
    options = ["-q", "-p", "no:xdist", "-o", "addopts=--strict-markers --import-mode=importlib", "--confcutdir=tests"]
    variables = {**os.environ, "RAVINE_TEST_DEVICE": "1"}
    words = [sys.executable, "-m", "pytest", *options, "tests/cuda"]
    return subprocess.run(words, env=variables, cwd=Path(__file__).parents[2]).returncode


def check() -> int:
    """Run the tests of tests/cuda on the device, and a fit for each library; return the exit status of the tests."""
    status = run_tests()
    rows = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    rows += 9 * (np.arange(3000) % 3)[:, np.newaxis]
    expected = NCutH(3).fit(rows).labels_
    for library in ("torch", "cupy"):
        if find_spec(library) is None:
            print(f"{library} is not installed, and was not checked")
            continue
        xp: Any = __import__(library)
        X = xp.asarray(rows, device="cuda") if library == "torch" else xp.asarray(rows)
        for fetched in (0, _base.FETCHED_CELLS):
            with mock.patch.object(_base, "FETCHED_CELLS", fetched):
                model = NCutH(3).fit(X)
            results: list[Any] = [model.labels_, model.predict(X)]
            for found in results:
                assert type(found) is type(X), f"{library}: the result is {type(found)}"
                assert found.device == X.device
                on_host = found.cpu().numpy() if library == "torch" else found.get()
                assert np.array_equal(on_host, expected)
        print(f"{library}: labels and predictions are {type(X).__name__} on {X.device}, as on the host")
    return status


def main() -> None:
    """Measure, print and write; or check."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--check", action="store_true", help="run the tests on the device, and measure nothing")
    cli.add_argument("--parts", nargs="+", choices=TABLES, default=list(TABLES), metavar="PART", help="what to measure")
    cli.add_argument("--data", type=Path, help="folder of Parquet files; without it, only made rows are used")
    cli.add_argument("--rows", type=int, default=100_000_000, help="rows on the device")
    cli.add_argument("--columns", type=int, default=64)
    cli.add_argument("--host-rows", type=int, default=10_000_000, help="rows of the fit on the host")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    missing = why_not()
    if missing:
        sys.exit(missing)
    if args.check:
        sys.exit(check())
    if find_spec("torch") is None:
        sys.exit("torch makes the rows and is the peer: install it for this version of CUDA")
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:], ["torch", "numba-cuda"])
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "times": lambda: times(args.rows, args.columns, args.host_rows),
        "sizes": sizes,
        "large": lambda: large(3 * args.rows, args.columns),
        "from_host": lambda: from_host(args.rows // 5, args.columns),
        "bytes": lambda: same_bytes(args.rows // 10, args.columns),
        "clusters": lambda: clusters(args.data),
    }
    stored.record(stem, entry, anew=args.parts == list(TABLES))
    for part in args.parts:
        table = tables[part]()
        print(table.to_string(), flush=True)
        stored.write_table(stem, part, table)
        stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
