"""What more threads bring: fits and predictions on 1 to 16 threads, beside KMeans and one pass over the rows.

    python -m benchmarks.peers.cores --out results
    python -m benchmarks.peers.cores --out results --threads 1 2 --rows 200000

Ten groups in 50 columns, in float64 and float32. Every time is the best of three in one run, or of `--repeats`. A pass
is `ravine._matrix.project`, which reads every row once. `identical` says whether the tree is, to the bit, that of the
first number of threads. Writes cores.csv, cores.md and cores.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks import report, stored
from benchmarks.peers.predict import best
from ravine import MDH, PDDP, IncrementalMDH, NCutH
from ravine._matrix import project
from ravine.tree import HyperplaneTree

NAME = "cores"
COLUMNS, GROUPS, REPEATS = 50, 10, 3
FITS: dict[str, Callable[[int], Any]] = {
    "NCutH(10)": lambda threads: NCutH(GROUPS, n_jobs=threads),
    "MDH(10)": lambda threads: MDH(GROUPS, n_jobs=threads),
    "PDDP(10)": lambda threads: PDDP(GROUPS, n_jobs=threads),
    "IncrementalMDH()": lambda threads: IncrementalMDH(n_jobs=threads),
}
PASS, PREDICT, PEER = "one pass", "predict", "KMeans(10, n_init=1)"


def groups(n_rows: int, seed: int = 1) -> NDArray[np.float64]:
    """Return ten groups, made in place."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS))
    centers = rng.uniform(0, GROUPS * COLUMNS**0.25 / 3, (GROUPS, COLUMNS))
    for part in np.array_split(X, 100):
        part += centers[rng.integers(GROUPS, size=len(part))]
    return X


def measure(X: NDArray[Any], threads: int, repeats: int) -> Iterator[tuple[str, float, HyperplaneTree | None]]:
    """Yield the name, the seconds and the tree, if there is one, of everything that is measured."""
    direction = np.full(COLUMNS, COLUMNS**-0.5)
    yield PASS, best(lambda: project(X, direction, threads)), None
    for name, make in FITS.items():
        models: list[Any] = []
        seconds = best(lambda: models.append(make(threads).fit(X)), repeats)  # noqa: B023 — called at once
        yield name, seconds, models[0].tree_
        if name == next(iter(FITS)):
            model = models[0]
            yield PREDICT, best(lambda: model.predict(X)), None  # noqa: B023 — called at once
    with threadpool_limits(threads):
        yield PEER, best(lambda: KMeans(GROUPS, n_init=1, random_state=0).fit(X), repeats), None


def tables(n_rows: int, threads: list[int], repeats: int = REPEATS) -> Iterator[pd.DataFrame]:
    """Yield what is known after each number of threads: one line for each type of numbers, method and number."""
    lines = []
    for kind in (np.float64, np.float32):
        X = groups(n_rows).astype(kind, copy=False)
        for name, make in FITS.items():
            make(threads[-1]).fit(X[: min(n_rows, 60_000)])  # compiles the kernels
            print(f"{kind.__name__}: {name} is compiled", flush=True)
        first: dict[str, Any] = {}
        for count in threads:
            for name, seconds, tree in measure(X, count, repeats):
                arrays = None if tree is None else (tree.normal.tobytes(), tree.offset.tobytes(), tree.count.tobytes())
                is_same = first.setdefault(name, arrays) == arrays
                lines.append(
                    {"type": kind.__name__, "method": name, "threads": count, "seconds": seconds, "identical": is_same}
                )
                print(*lines[-1].values(), flush=True)
            yield pd.DataFrame(lines)


def page(stem: Path) -> str:
    found = stored.read_table(stem)
    parts = []
    for kind, of_kind in found.groupby("type", sort=False):
        seconds = of_kind.pivot(index="threads", columns="method", values="seconds")[of_kind["method"].unique()]
        heads = ["threads", *seconds.columns]
        for title, shown, form in (
            ("seconds", seconds, "{:.3f}"),
            ("times faster than on the first number of threads", seconds.iloc[0] / seconds, "{:.2f}"),
            ("as a multiple of one pass on the same threads", seconds.div(seconds[PASS], axis="index"), "{:.1f}"),
            ("as a multiple of KMeans on the same threads", seconds.div(seconds[PEER], axis="index"), "{:.2f}"),
        ):
            lines = [[f"{count}", *(form.format(value) for value in row)] for count, *row in shown.itertuples()]
            parts.append(report.section(f"{kind}: {title}", report.grid(heads, lines, text=0)))
    different = found[~found["identical"]]
    words = ", ".join(f"{row.method} in {row.type} on {row.threads} threads" for row in different.itertuples())
    parts.append(report.section("Results on other numbers of threads", f"Not identical: {words or 'none'}."))
    return stored.page("More threads", stem, parts)


def main() -> None:
    """Measure, print and write."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=int, default=1_000_000, help="number of rows (1,000,000)")
    cli.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16], help="numbers of threads")
    cli.add_argument("--repeats", type=int, default=REPEATS, help="how often each fit is timed (3)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    stored.record(stem, entry, anew=True)
    for found in tables(args.rows, args.threads, args.repeats):
        found.to_csv(f"{stem}.csv", index=False, float_format="%.6g", lineterminator="\n")
        stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
