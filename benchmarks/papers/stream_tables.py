"""Hofmeyr, Pavlidis and Eckley (2016), Tables 1 to 3: HSDC, HSDC(I) and SPDC, and StreamClusterer on the same streams.

    python -m benchmarks.papers.stream_tables --seeds 5 --out results
    python -m benchmarks.papers.stream_tables --seeds 5 --tables 1 3 --methods HSDC StreamClusterer --out other
    python -m benchmarks.papers.stream_tables --seeds 2 --tables 3 --dims 100 --out results
    python -m benchmarks.papers.stream_tables --seeds 5 --set min_samples_split=100 min_weight=30 --out elsewhere

Writes stream_tables.csv, .md and .json; runs that the first one holds are not made again. Tables 1 and 2 score the 100
rows after the first 500 per class, Table 3 the mean over segments of 100 rows every 200. A seed gives all methods the
same stream. SPDC is ravine's own form of the paper's baseline. StreamClusterer is not in the paper: it is compared with
the published HSDC and the published CluStream. The paper has 50 streams per cell; it does not say where new classes
lie, nor how long the stream with overhauls is.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import report, stored
from benchmarks.report import Comparison
from ravine import HSDC, SPDC, StreamClusterer
from ravine.datasets import make_gaussian_stream, make_merging_stream, make_overhaul_stream, make_splitting_stream
from ravine.evaluation import evaluate

SEGMENT, EVERY = 100, 200
NAME = "stream_tables"
NEW = "StreamClusterer"
METHODS: dict[str, Callable[..., Any]] = {
    "HSDC": HSDC,
    "HSDC(I)": partial(HSDC, inherit=True),
    "SPDC": SPDC,
    NEW: StreamClusterer,
}
PUBLISHED_ONLY = "CluStream"
PAPER_DEVIATION = "paper's deviation"
SCORES = {"purity": "Purity", "v_measure": "V-measure"}
TITLES = {
    1: "Table 1, static",
    2: "Table 2, irrelevant features",
    3: "Table 3, changing",
}
KEY, EVENTS = ("table", "cell", "d", "method", "seed"), ("splits", "drifts", "withdrawals", "other_events")
COLUMNS = (*KEY, *SCORES, "n_clusters", *EVENTS, "learn_s")

# (purity, deviation), (V, deviation) of HSDC, HSDC(I) and CluStream, a cell of the paper a line.
Score = tuple[float, float]
PUBLISHED: dict[tuple[int, str, int], tuple[tuple[Score, Score], ...]] = {
    (1, "C = 10", 50): (((0.84, 0.16), (0.83, 0.15)), ((0.82, 0.16), (0.81, 0.15)), ((0.44, 0.06), (0.49, 0.06))),
    (1, "C = 10", 100): (((0.88, 0.19), (0.86, 0.20)), ((0.88, 0.17), (0.86, 0.15)), ((0.37, 0.05), (0.41, 0.06))),
    (1, "C = 10", 500): (((0.90, 0.14), (0.91, 0.12)), ((0.94, 0.12), (0.92, 0.08)), ((0.30, 0.04), (0.30, 0.05))),
    (1, "C = 20", 50): (((0.98, 0.03), (0.97, 0.02)), ((0.98, 0.02), (0.96, 0.02)), ((0.94, 0.04), (0.97, 0.02))),
    (1, "C = 20", 100): (((0.96, 0.13), (0.95, 0.10)), ((0.96, 0.09), (0.95, 0.06)), ((0.94, 0.04), (0.97, 0.02))),
    (1, "C = 20", 500): (((0.97, 0.08), (0.97, 0.05)), ((0.99, 0.03), (0.98, 0.02)), ((0.83, 0.13), (0.89, 0.09))),
    (1, "C = 30", 50): (((0.98, 0.06), (0.98, 0.03)), ((0.95, 0.13), (0.96, 0.08)), ((0.94, 0.03), (0.97, 0.01))),
    (1, "C = 30", 100): (((0.97, 0.12), (0.97, 0.07)), ((0.97, 0.09), (0.97, 0.05)), ((0.95, 0.02), (0.98, 0.01))),
    (1, "C = 30", 500): (((0.96, 0.14), (0.97, 0.11)), ((0.98, 0.08), (0.98, 0.05)), ((0.94, 0.04), (0.97, 0.04))),
    (2, "S = 10", 50): (((0.99, 0.02), (0.97, 0.02)), ((0.97, 0.07), (0.96, 0.03)), ((0.94, 0.03), (0.97, 0.02))),
    (2, "S = 10", 100): (((0.92, 0.21), (0.92, 0.19)), ((0.92, 0.20), (0.91, 0.20)), ((0.94, 0.04), (0.97, 0.02))),
    (2, "S = 10", 200): (((0.96, 0.11), (0.96, 0.07)), ((0.97, 0.07), (0.96, 0.05)), ((0.91, 0.08), (0.95, 0.05))),
    (2, "S = 20", 50): (((0.97, 0.09), (0.96, 0.06)), ((0.96, 0.12), (0.95, 0.08)), ((0.92, 0.05), (0.96, 0.03))),
    (2, "S = 20", 100): (((0.96, 0.09), (0.96, 0.05)), ((0.97, 0.06), (0.96, 0.04)), ((0.67, 0.07), (0.79, 0.05))),
    (2, "S = 20", 200): (((0.87, 0.21), (0.89, 0.19)), ((0.94, 0.10), (0.95, 0.06)), ((0.65, 0.08), (0.78, 0.06))),
    (2, "S = 30", 50): (((0.88, 0.20), (0.90, 0.19)), ((0.88, 0.20), (0.89, 0.18)), ((0.72, 0.07), (0.83, 0.05))),
    (2, "S = 30", 100): (((0.70, 0.28), (0.77, 0.26)), ((0.85, 0.20), (0.88, 0.17)), ((0.72, 0.07), (0.75, 0.08))),
    (2, "S = 30", 200): (((0.14, 0.10), (0.07, 0.18)), ((0.56, 0.27), (0.65, 0.28)), ((0.71, 0.07), (0.79, 0.05))),
    (3, "increasing", 100): (((0.91, 0.04), (0.93, 0.03)), ((0.91, 0.04), (0.93, 0.02)), ((0.90, 0.01), (0.92, 0.00))),
    (3, "decreasing", 100): (((0.90, 0.04), (0.92, 0.03)), ((0.89, 0.04), (0.92, 0.03)), ((0.90, 0.01), (0.92, 0.01))),
    (3, "overhaul", 100): (((0.82, 0.04), (0.84, 0.04)), ((0.82, 0.04), (0.83, 0.03)), ((0.94, 0.00), (0.97, 0.00))),
    (3, "increasing", 500): (((0.91, 0.03), (0.93, 0.03)), ((0.87, 0.03), (0.92, 0.02)), ((0.88, 0.01), (0.91, 0.01))),
    (3, "decreasing", 500): (((0.93, 0.03), (0.94, 0.03)), ((0.89, 0.03), (0.93, 0.02)), ((0.88, 0.01), (0.91, 0.01))),
    (3, "overhaul", 500): (((0.78, 0.04), (0.80, 0.03)), ((0.82, 0.03), (0.83, 0.03)), ((0.86, 0.03), (0.91, 0.03))),
}

SPDC_PUBLISHED: dict[tuple[int, str, int], tuple[Score, Score]] = {
    (1, "C = 10", 50): ((0.88, 0.14), (0.87, 0.10)),
    (1, "C = 10", 100): ((0.89, 0.16), (0.88, 0.15)),
    (1, "C = 10", 500): ((0.79, 0.25), (0.82, 0.23)),
    (1, "C = 20", 50): ((0.92, 0.15), (0.93, 0.11)),
    (1, "C = 20", 100): ((0.85, 0.21), (0.90, 0.15)),
    (1, "C = 20", 500): ((0.81, 0.16), (0.90, 0.11)),
    (1, "C = 30", 50): ((0.81, 0.20), (0.89, 0.13)),
    (1, "C = 30", 100): ((0.73, 0.22), (0.84, 0.16)),
    (1, "C = 30", 500): ((0.77, 0.20), (0.86, 0.18)),
    (2, "S = 10", 50): ((0.85, 0.24), (0.90, 0.17)),
    (2, "S = 10", 100): ((0.80, 0.22), (0.86, 0.16)),
    (2, "S = 10", 200): ((0.83, 0.20), (0.89, 0.15)),
    (2, "S = 20", 50): ((0.83, 0.22), (0.89, 0.17)),
    (2, "S = 20", 100): ((0.78, 0.22), (0.86, 0.17)),
    (2, "S = 20", 200): ((0.71, 0.24), (0.80, 0.19)),
    (2, "S = 30", 50): ((0.73, 0.23), (0.81, 0.19)),
    (2, "S = 30", 100): ((0.64, 0.21), (0.76, 0.18)),
    (2, "S = 30", 200): ((0.49, 0.20), (0.62, 0.22)),
    (3, "increasing", 100): ((0.83, 0.08), (0.89, 0.06)),
    (3, "decreasing", 100): ((0.83, 0.07), (0.89, 0.04)),
    (3, "overhaul", 100): ((0.51, 0.06), (0.56, 0.07)),
    (3, "increasing", 500): ((0.81, 0.08), (0.89, 0.05)),
    (3, "decreasing", 500): ((0.83, 0.07), (0.89, 0.05)),
    (3, "overhaul", 500): ((0.53, 0.06), (0.63, 0.05)),
}
"""The same of SPDC, from the tables of the thesis, 5.1 to 5.3."""

CHANGING = {"increasing": make_splitting_stream, "decreasing": make_merging_stream, "overhaul": make_overhaul_stream}


@dataclass(frozen=True)
class Cell:
    """A stream of the paper, and how often it is scored."""

    table: int
    name: str
    d: int

    @property
    def draw(self) -> Callable[..., tuple[NDArray[np.float64], NDArray[Any]]]:
        if self.table == 3:
            return partial(CHANGING[self.name], n_features=self.d)
        number = int(self.name.rpartition(" ")[2])
        if self.table == 2:
            noise = {"n_irrelevant": self.d, "irrelevant_scale": number}
            return partial(make_gaussian_stream, self.last + SEGMENT, n_classes=20, n_features=100, **noise)
        return partial(make_gaussian_stream, self.last + SEGMENT, n_classes=number, n_features=self.d)

    @property
    def last(self) -> int:
        """Where the last segment of a static stream begins."""
        return 500 * (20 if self.table == 2 else int(self.name.rpartition(" ")[2]))

    def run(self, seed: int, methods: Iterable[str], settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A row of results for each method; the settings are those of HSDC."""
        X, y = self.draw(random_state=seed)
        for method in methods:
            log: list[dict[str, Any]] = []
            model = METHODS[method](on_event=log.append, **(settings if method.startswith("HSDC") else {}))
            began = time.perf_counter()
            found = evaluate(model, X, y, segment=SEGMENT, every=EVERY if self.table == 3 else self.last).mean()
            seconds, count = time.perf_counter() - began, Counter(event["kind"] for event in log)
            key = {"table": self.table, "cell": self.name, "d": self.d, "method": method, "seed": seed}
            scores = {name: round(found[name], 4) for name in (*SCORES, "n_clusters")}
            events = {"splits": count["split"], "drifts": count["drift"], "withdrawals": count["withdrawal"]}
            events["other_events"] = len(log) - sum(events.values())
            yield {**key, **scores, **events, "learn_s": round(seconds, 3)}


def fill(
    path: Path, cells: Sequence[Cell], seeds: Sequence[int], settings: dict[str, Any], methods: Sequence[str]
) -> pd.DataFrame:
    """Run what the file does not hold yet, and give all of its rows."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["table"], row["cell"], row["d"], row["seed"], row["method"]) for row in rows}
    for cell in cells:
        for seed in seeds:
            missing = [name for name in methods if (cell.table, cell.name, cell.d, seed, name) not in done]
            if missing:
                rows.extend(cell.run(seed, missing, settings))
        print(f"{TITLES[cell.table].partition(',')[0]}, {cell.name}, d = {cell.d}", flush=True)
        results = pd.DataFrame(rows, columns=list(COLUMNS))
        results.to_csv(path, index=False, lineterminator="\n")
    return results


def published_of(cell: tuple[int, str, int], method: str) -> tuple[Score, Score]:
    """Purity and V-measure of a method in a cell of the paper, each with its deviation; HSDC's for StreamClusterer."""
    if method == "SPDC":
        return SPDC_PUBLISHED[cell]
    if method == NEW:
        method = "HSDC"
    purity, v = PUBLISHED[cell][("HSDC", "HSDC(I)", PUBLISHED_ONLY).index(method)]
    return purity, v


def side_by_side(results: pd.DataFrame, table: int, score: str) -> pd.DataFrame:
    """Cells that were run × (method, ours | deviation | runs | paper | paper's deviation | difference)."""
    groups = results[results["table"] == table].groupby(["cell", "d", "method"])[score]
    found = groups.agg(["mean", "std", "count"])
    lines: dict[tuple[str, int], dict[tuple[str, str], float]] = {}
    for number, name, d in PUBLISHED:
        for method in METHODS:
            if number == table and (name, d, method) in found.index:
                ours, deviation, runs = found.loc[(name, d, method)]
                paper, paper_deviation = published_of((number, name, d), method)[list(SCORES).index(score)]
                parts = {"ours": ours, "deviation": deviation, "runs": runs, "paper": paper}
                parts |= {PAPER_DEVIATION: paper_deviation, "difference": ours - paper}
                lines.setdefault((name, d), {}).update({(method, part): value for part, value in parts.items()})
    frame = pd.DataFrame.from_dict(lines, orient="index")
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    return frame


def versus_clustream(frame: pd.DataFrame, table: int, score: str) -> list[float]:
    """The score of StreamClusterer in each line, minus the published score of CluStream."""
    papers = [published_of((table, name, d), PUBLISHED_ONLY)[list(SCORES).index(score)][0] for name, d in frame.index]
    return [float(ours) - paper for ours, paper in zip(frame[NEW, "ours"], papers, strict=True)]


def comparison(results: pd.DataFrame, table: int, score: str) -> Comparison:
    frame = side_by_side(results, table, score)
    peer = versus_clustream(frame, table, score) if NEW in frame.columns.levels[0] else None
    frame = frame.xs("difference", axis="columns", level=1).rename(columns={NEW: f"{NEW} vs. HSDC"})
    if peer is not None:
        frame[f"{NEW} vs. {PUBLISHED_ONLY}"] = peer
    frame.index = [f"{name}, d = {d}" for name, d in frame.index]
    return Comparison(f"{TITLES[table]}: {SCORES[score]}", frame)


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem)
    return [comparison(results, table, score) for table in sorted(set(results["table"])) for score in SCORES]


def markdown(results: pd.DataFrame, table: int, score: str) -> str:
    """One score of one table: ours and the paper's with their deviations, the difference, and CluStream's."""
    frame, compared = side_by_side(results, table, score), comparison(results, table, score)
    methods = list(dict.fromkeys(method for method, _ in frame.columns))
    ahead = versus_clustream(frame, table, score) if NEW in methods else None
    lines = []
    for number, ((name, d), row) in enumerate(frame.iterrows()):
        cells = [name, f"{d}", f"{row[methods[0], 'runs']:.0f}"]
        for method in methods:
            if np.isnan(row[method, "ours"]):
                cells += ["–"] * 3
                continue
            cells += [f"{row[method, 'ours']:.3f} ({row[method, 'deviation']:.3f})"]
            cells += [f"{row[method, 'paper']:.2f} ({row[method, PAPER_DEVIATION]:.2f})"]
            cells += [f"{row[method, 'difference']:+.3f}"]
        peer = published_of((table, name, d), PUBLISHED_ONLY)[list(SCORES).index(score)][0]
        last = [] if ahead is None else ["–" if np.isnan(ahead[number]) else f"{ahead[number]:+.3f}"]
        lines.append([*cells, f"{peer:.2f}", *last])
    means = [cell for method in methods for cell in ("", "", f"{frame[method, 'difference'].mean():+.3f}")]
    lines.append(
        [f"mean of {len(frame)}", "", "", *means, "", *([] if ahead is None else [f"{np.nanmean(ahead):+.3f}"])]
    )
    papers = {method: "HSDC, paper" if method == NEW else "paper" for method in methods}
    heads = [head for method in methods for head in (f"{method}, ravine", papers[method], "difference")]
    heads = ["stream", "d", "runs", *heads, f"{PUBLISHED_ONLY}, paper"]
    heads += [] if ahead is None else [f"{NEW} − {PUBLISHED_ONLY}"]
    return report.section(compared.title, compared.lower(), report.grid(heads, lines))


def page(stem: Path) -> str:
    results = stored.read_table(stem)
    tables = [markdown(results, table, score) for table in sorted(set(results["table"])) for score in SCORES]
    return stored.page("Streams of Gaussian classes (Tables 1 to 3)", stem, tables)


def _setting(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    return name, ast.literal_eval(value)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    cli.add_argument("--seeds", type=int, default=5, metavar="N", help="streams a cell (5)")
    cli.add_argument("--first-seed", type=int, default=0, metavar="SEED", help="seed of the first (0)")
    cli.add_argument("--tables", type=int, nargs="+", choices=list(TITLES), default=list(TITLES), help="(all)")
    cli.add_argument("--dims", type=int, nargs="+", default=[50, 100, 200, 500], metavar="D", help="values of d (all)")
    cli.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), help="(all)")
    cli.add_argument("--set", type=_setting, nargs="+", default=[], metavar="NAME=VALUE", help="other settings of HSDC")
    args = cli.parse_args()
    settings = json.loads(json.dumps(dict(args.set)))  # a tuple is a list in the record
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:]) | {"settings": settings}
    stored.record(stem, entry)
    cells = [Cell(*key) for key in PUBLISHED if key[0] in args.tables and key[2] in args.dims]
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    fill(stem.with_suffix(".csv"), cells, seeds, settings, args.methods)
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
