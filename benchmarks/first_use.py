"""How long the first fit of each estimator takes on a machine where nothing has been compiled yet.

    python -m benchmarks.first_use --out results
    python -m benchmarks.first_use --out results --before path/to/older/src

Each fit runs in a process of its own with an empty cache of Numba, on 1,000 rows of 10 columns in float64. The table
has CPU seconds, which a busy machine changes least, and seconds on the clock; the smallest of the repeats is kept.
With --before, an older version is measured in turn with this one. Writes first_use.csv, first_use.md, first_use.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import report, stored

NAME = "first_use"
ESTIMATORS = (
    "PDDP",
    "MDH",
    "NCutH",
    "SpectralPursuit",
    "IncrementalMDH",
    "HSDC",
    "SPDC",
    "StreamClusterer",
    "SumOfNorms",
    "SupportVectorClustering",
    "MDHClassifier",
    "SpectralPursuitClassifier",
)
N_SLOWEST = 5
"""Number of functions that are named with the seconds of each."""

WORKER = r"""
import json, sys, time, warnings
clock, cpu = time.perf_counter, time.process_time
start, start_cpu = clock(), cpu()
import numpy as np
import ravine
name, asks = sys.argv[1], sys.argv[2] == "1"
model = getattr(ravine, name)()
seen, seen_cpu = clock() - start, cpu() - start_cpu
from numba.core import event

compiled, open_ones = [], []

class Listener(event.Listener):
    def on_start(self, event):
        open_ones.append([cpu(), 0.0])

    def on_end(self, event):
        began, inside = open_ones.pop()
        seconds = cpu() - began
        if open_ones:
            open_ones[-1][1] += seconds
        function = event.data["dispatcher"].py_func
        compiled.append((f"{function.__module__.split('.')[-1]}.{function.__name__}", seconds - inside))

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = np.vstack([rng.normal(center, 1, size=(250, 10)) for center in (0, 4, 8, 12)])
y = np.full(1000, -1)
y[:50], y[-50:] = 0, 1
args = (X, y) if "Classifier" in name else (X,)
if asks:
    if "n_clusters" not in model.get_params():
        sys.exit(print("{}"))
    model.set_params(n_clusters=4)
event.register("numba:compile", Listener())
seconds = []
for _ in range(2):
    began, began_cpu = clock(), cpu()
    model.fit(*args)
    seconds += [clock() - began, cpu() - began_cpu]
functions = {}
for function, own in compiled:
    functions[function] = functions.get(function, 0.0) + own
print(json.dumps({
    "import_s": seen, "import_cpu_s": seen_cpu, "first_fit_s": seconds[0], "first_fit_cpu_s": seconds[1],
    "second_fit_s": seconds[2], "second_fit_cpu_s": seconds[3], "n_functions": len(functions),
    "n_compiled": len(compiled),
    "slowest": sorted(functions.items(), key=lambda item: -item[1]),
}))
"""


def measure(estimator: str, asks: bool, source: Path | None) -> dict[str, Any]:
    """Fit in a new process with an empty cache; empty if the estimator takes no number of clusters."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "NUMBA_CACHE_DIR": cache}
        if source is not None:
            env["PYTHONPATH"] = str(source)
        done = subprocess.run(
            [sys.executable, "-c", WORKER, estimator, str(int(asks))],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(estimators: list[str], n_repeats: int, before: Path | None) -> Iterator[dict[str, Any]]:
    """Measure all estimators, the versions in turn, and yield the fastest repeat of each."""
    versions = {"now": None} if before is None else {"before": before, "now": None}
    for asks in (False, True):
        for estimator in estimators:
            repeats: dict[str, list[dict[str, Any]]] = {version: [] for version in versions}
            for _ in range(n_repeats):
                for version, source in versions.items():
                    repeats[version].append(measure(estimator, asks, source))
            for version, found in repeats.items():
                if not found[0]:
                    continue
                best = min(found, key=lambda one: float(one["first_fit_cpu_s"]))
                slowest = "; ".join(f"{name} {own:.2f}" for name, own in best.pop("slowest")[:N_SLOWEST])
                line = {"estimator": estimator, "n_clusters": "4" if asks else "chosen", "version": version}
                print(f"{estimator:28} {line['n_clusters']:8} {version:8} {best['first_fit_cpu_s']:.2f} s", flush=True)
                yield {**line, **best, "slowest": slowest}


def page(stem: Path) -> str:
    """Return the page: one row per fit, and the functions that took longest."""
    table = stored.read_table(stem, keep_default_na=False)
    heads = ["estimator", "clusters", "version", "import", "first fit", "second fit", "both, on the clock"]
    heads += ["functions", "specializations"]
    lines = [
        [
            row.estimator,
            row.n_clusters,
            row.version,
            *(f"{value:.1f}" for value in (row.import_cpu_s, row.first_fit_cpu_s, row.second_fit_cpu_s)),
            f"{row.import_s + row.first_fit_s:.1f}",
            str(row.n_functions),
            str(row.n_compiled),
        ]
        for row in table.itertuples()
    ]
    longest = [
        [row.estimator, row.slowest] for row in table.itertuples() if (row.version, row.n_clusters) == ("now", "chosen")
    ]
    parts = [
        "CPU seconds of a process that has nothing in its cache, for 1,000 rows of 10 columns. The second fit runs in "
        "the same process. The time on the clock is that of the import and the first fit.",
        report.grid(heads, lines, text=3),
        "The functions that take longest to compile, each without those that it calls, in CPU seconds:",
        report.grid(["estimator", "functions"], longest, text=2),
    ]
    return stored.page("First use", stem, parts)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--out", type=Path, default=Path("results"), help="folder for the results")
    cli.add_argument("--before", type=Path, help="folder `src` of an older version, measured in turn with this one")
    cli.add_argument("--repeats", type=int, default=3)
    cli.add_argument("--only", nargs="*", default=list(ESTIMATORS), help="estimators")
    args = cli.parse_args()
    stem = args.out / NAME
    stored.record(stem, stored.run_details(sys.argv[1:], ["numba", "llvmlite"]), anew=True)
    lines = []
    for line in run(args.only, args.repeats, args.before):
        lines.append(line)
        pd.DataFrame(lines).to_csv(stem.with_suffix(".csv"), index=False, float_format="%.3g", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
