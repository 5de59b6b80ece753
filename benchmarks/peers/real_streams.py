"""Real data as streams: StreamClusterer compared with HSDC, IncrementalMDH, MiniBatchKMeans and River's clusterers.

    python -m benchmarks.peers.real_streams DATA --out results
    python -m benchmarks.peers.real_streams DATA --limit 6e5 --streams "covtype, file order" --skip-river --out other

DATA is a folder of Parquet files with a column `label`; all other columns are numbers, of covtype the ten continuous
ones. The order of the rows is that of the file, or shuffled, or by the column with most values, or in blocks of two
classes each. Means over segments of 100 rows every 200, each predicted before it is learned. StreamClusterer reads the
rows as they are. MiniBatchKMeans is given the number of classes, and rows scaled by the first 1,000; all others read
rows scaled by a running mean and variance. River's clusterers are slow, so they learn the first 4,000 rows alone, and
tables of their own compare all models on rows 1,000 to 4,000; DenStream waits for a thousand rows. Rows per second are
those of learning, on one thread. Writes real_streams.csv, .md and .json.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import report, stored
from benchmarks.worker import DataSet, load
from ravine import HSDC, IncrementalMDH, StreamClusterer
from ravine.evaluation import evaluate

NAME = "real_streams"
SEGMENT, EVERY = 100, 200
SCALING_ROWS, KEPT = 1_000, 4_000
START = 1_000
"""The comparison with River starts here, since DenStream waits for a thousand rows."""
CONTINUOUS = {"covtype": 10}
IN_ORDER = ("covtype", "shuttle", "pendigits")
ORDERED = ("satimage", "pendigits", "magic", "optdigits", "page_blocks")
KINDS = ("split", "appeared", "vanished", "returned", "moved", "merged", "drift")

Rows = NDArray[np.float64]
Labels = NDArray[Any]


class Learner(Protocol):
    """The part of a model that this script uses."""

    def partial_fit(self, X: Rows) -> Any: ...

    def predict(self, X: Rows) -> Labels: ...


class Scaled:
    """A model that reads rows scaled by the mean and variance of all rows so far, or of the first rows alone."""

    def __init__(self, model: Learner, first: Rows | None = None) -> None:
        self.model, self.running = model, first is None
        self.scaler = StandardScaler() if first is None else StandardScaler().fit(first)

    def partial_fit(self, X: Rows) -> Self:
        if self.running:
            self.scaler.partial_fit(X)
        self.model.partial_fit(self.scaler.transform(X))
        self.is_fitted_ = True
        return self

    def predict(self, X: Rows) -> Labels:
        return self.model.predict(self.scaler.transform(X))

    @property
    def n_clusters_(self) -> float:
        return float(getattr(self.model, "n_clusters_", getattr(self.model, "n_clusters", np.nan)))


class River:
    """One of River's clusterers, which learn and predict one dictionary at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def partial_fit(self, X: Rows) -> Self:
        for row in X.tolist():
            self.model.learn_one(dict(enumerate(row)))
        return self

    def predict(self, X: Rows) -> Labels:
        return np.array([self.model.predict_one(dict(enumerate(row))) for row in X.tolist()])

    @property
    def n_clusters_(self) -> int:
        """The number of clusters of the offline step; CluStream's is its parameter."""
        return int(getattr(self.model, "n_clusters", getattr(self.model, "n_macro_clusters", 0)))


class OneCluster:
    """Not clustering at all."""

    n_clusters_ = 1

    def partial_fit(self, X: Rows) -> Self:
        self.is_fitted_ = True
        return self

    def predict(self, X: Rows) -> Labels:
        return np.zeros(len(X), dtype=np.int64)


def _river(name: str, X: Rows, k: int) -> Scaled:
    from river import cluster

    options = {"seed": 0} if name == "CluStream" else {}
    return Scaled(River(getattr(cluster, name)(**options)))


def _kmeans(X: Rows, k: int) -> Scaled:
    return Scaled(MiniBatchKMeans(k, n_init=1, random_state=0), X[:SCALING_ROWS])


OURS = "StreamClusterer"
MODELS: dict[str, Callable[[Rows, int], Any]] = {
    OURS: lambda X, k: StreamClusterer(),
    "HSDC": lambda X, k: Scaled(HSDC()),
    "IncrementalMDH": lambda X, k: Scaled(IncrementalMDH(memory_length=2000)),
    "MiniBatchKMeans, k given": _kmeans,
    "one cluster": lambda X, k: OneCluster(),
}
RIVER = {name: partial(_river, name) for name in ("CluStream", "DenStream", "DBSTREAM")}


def in_file_order(X: Rows, y: Labels) -> Labels:
    return np.arange(len(y))


def shuffled(X: Rows, y: Labels) -> Labels:
    return np.random.default_rng(0).permutation(len(y))


def by_column(X: Rows, y: Labels) -> Labels:
    """Sort by the column with most values."""
    values = [len(np.unique(column)) for column in X.T]
    return np.argsort(X[:, int(np.argmax(values))], kind="stable")


def class_blocks(X: Rows, y: Labels) -> Labels:
    """Put two classes into each block, so that every score has two classes; a class is in one block alone."""
    _, classes = np.unique(y, return_inverse=True)
    last = (int(classes.max()) + 1) // 2 - 1  # takes a third class if their number is odd
    order = shuffled(X, y)
    return order[np.argsort(np.minimum(classes[order] // 2, last), kind="stable")]


ORDERS: dict[str, Callable[[Rows, Labels], Labels]] = {
    "shuffled": shuffled,
    "by column": by_column,
    "class blocks": class_blocks,
}


@dataclass(frozen=True)
class Stream:
    """The rows of a data set in one order."""

    data: str
    order: str

    @property
    def name(self) -> str:
        return f"{self.data}, {self.order}"

    def read(self, folder: Path, limit: int) -> tuple[Rows, Labels]:
        X, y = load(DataSet.describe(folder / f"{self.data}.parquet", rows=limit), scale=False)
        X = np.ascontiguousarray(X[:, : CONTINUOUS.get(self.data)])
        rows = ORDERS.get(self.order, in_file_order)(X, y)
        return X[rows], y[rows]


STREAMS = [Stream(data, "file order") for data in IN_ORDER]
STREAMS += [Stream(data, order) for data in ORDERED for order in ORDERS]
STREAMS.remove(Stream("magic", "class blocks"))  # has two classes, so that it would be the shuffled one


def score(model: Learner, X: Rows, y: Labels, first: int) -> dict[str, Any]:
    """Return the means over all segments, and over those of the first rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(model, X, y, segment=SEGMENT, every=EVERY, metrics=("purity", "v_measure"))
    table = pd.DataFrame(found.records)
    early = table[(table["row"] >= START) & (table["row"] < first)]
    counts = getattr(model, "n_events_", {})
    return {
        "rows": len(X),
        "v_measure": round(table["v_measure"].mean(), 4),
        "purity": round(table["purity"].mean(), 4),
        "v_first": round(early["v_measure"].mean(), 4),
        "purity_first": round(early["purity"].mean(), 4),
        "clusters_mean": round(table["n_clusters"].mean(), 1),
        "clusters_end": table["n_clusters"].iloc[-1],
        "rows_s": round(found.mean()["rows_per_second"]),
        **{kind: counts.get(kind) for kind in KINDS},
    }


def results(
    folder: Path, streams: Iterable[Stream], limit: int, river_rows: int, with_river: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row for each stream and model, and print it."""
    for make in MODELS.values():  # compiles
        warm = np.random.default_rng(0).normal(size=(2_000, 2)) + np.repeat([[0], [9]], 1_000, axis=0)
        score(make(warm, 2), warm, np.repeat([0, 1], 1_000), len(warm))
    for stream in streams:
        X, y = stream.read(folder, limit)
        k = len(np.unique(y))
        models: dict[str, Callable[[Rows, int], Any]] = {**MODELS, **(RIVER if with_river else {})}
        for name, make in models.items():
            n_rows = min(river_rows, len(X)) if name in RIVER else len(X)
            found = score(make(X, k), X[:n_rows], y[:n_rows], river_rows)
            if name in RIVER:
                found |= {"v_measure": np.nan, "purity": np.nan}
            print(stream.name, name, *found.values(), flush=True)
            yield {"stream": stream.name, "columns": X.shape[1], "classes": k, "model": name, **found}


def page(stem: Path) -> str:
    """Return V-measure and purity of all models, then clusters and events of StreamClusterer, and speed."""
    table = stored.read_table(stem)
    rows = stored.runs(stem)[-1]["river_rows"]
    parts = [report.section(title, _scores(table, score)) for score, title in _titles(rows).items()]
    ours = table[table["model"] == OURS]
    formats = {"stream": "{}"} | dict.fromkeys(("rows", "columns", "classes"), "{:.0f}")
    formats |= {"clusters_mean": "{:.1f}", "clusters_end": "{:.0f}"} | dict.fromkeys(KINDS, "{:.0f}")
    parts.append(report.section("Clusters and events of StreamClusterer", report.formatted(ours, formats)))
    speeds = table.pivot_table(index="stream", columns="model", values="rows_s", sort=False)
    speeds = speeds.drop(columns="one cluster", errors="ignore").reset_index()
    shown = report.formatted(speeds, {"stream": "{}"} | dict.fromkeys(speeds.columns[1:], "{:,.0f}"))
    parts.append(report.section("Rows per second of learning", shown))
    return stored.page("Real data as streams", stem, parts)


def _titles(river_rows: int) -> dict[str, str]:
    first = f"rows {START:,} to {river_rows:,}, with River's clusterers"
    return {
        "v_measure": "V-measure",
        "purity": "Purity",
        "v_first": f"V-measure, {first}",
        "purity_first": f"Purity, {first}",
    }


def _scores(table: pd.DataFrame, score: str) -> str:
    """Return streams × models with the mean; the best of each line is bold."""
    found = table.pivot_table(index="stream", columns="model", values=score, sort=False)
    found = found.reindex(columns=[name for name in table["model"].unique() if name in found.columns])
    found.loc[f"mean of {len(found)}"] = found.mean()
    lines = []
    for name, values in zip(found.index, found.round(3).to_numpy(), strict=True):
        cells = ["–" if np.isnan(v) else f"**{v:.3f}**" if v == np.nanmax(values) else f"{v:.3f}" for v in values]
        lines.append([str(name), *cells])
    return report.grid(["stream", *found.columns], lines)


def chosen(names: Sequence[str]) -> list[Stream]:
    """Return the streams with these names, or all."""
    return [stream for stream in STREAMS if not names or stream.name in names]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder of Parquet files")
    cli.add_argument("--limit", type=float, default=2e4, metavar="ROWS", help="rows of a stream at most (2e4)")
    cli.add_argument("--river-rows", type=float, default=KEPT, metavar="ROWS", help=f"rows for River ({KEPT})")
    cli.add_argument("--skip-river", action="store_true", help="leave River's clusterers out")
    cli.add_argument("--streams", nargs="+", default=[], metavar="NAME", help='such as "magic, shuffled" (all)')
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    streams = chosen(args.streams)
    if not streams:
        cli.error("no such stream: " + "; ".join(stream.name for stream in STREAMS))
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:]) | {"river_rows": int(args.river_rows)}
    found = results(args.data, streams, int(args.limit), int(args.river_rows), not args.skip_river)
    with threadpool_limits(1):
        table = pd.DataFrame(found)
    stored.record(stem, entry, anew=True)
    table.to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
