"""Hofmeyr, Pavlidis and Eckley (2016), Tables 1 to 3: HSDC and HSDC(I) on streams of Gaussian classes.

    python -m benchmarks.papers.stream_tables --seeds 5 --out results
    python -m benchmarks.papers.stream_tables --seeds 2 --tables 3 --dims 100 --out results
    python -m benchmarks.papers.stream_tables --seeds 5 --set min_rows=100 min_weight=30 --out elsewhere

Writes stream_tables.csv, .md and .json; runs that the first one holds are not made again. Tables 1 and 2 score the 100
rows after the first 500 a class, Table 3 the mean over segments of 100 rows every 200. A seed gives both methods the
same stream. The paper has 50 streams a cell; it does not say where new classes lie, nor how long the stream with
overhauls is.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import runner
from ravine import HSDC
from ravine.datasets import make_gaussian_stream, make_merging_stream, make_overhaul_stream, make_splitting_stream
from ravine.stream import evaluate

SEGMENT, EVERY = 100, 200
METHODS = {"HSDC": False, "HSDC(I)": True}
PUBLISHED_ONLY = "CluStream"
SCORES = {"purity": "Purity", "v_measure": "V-measure"}
TITLES = {
    1: "Table 1, static",
    2: "Table 2, 20 classes, 100 relevant features and d irrelevant ones of deviation S",
    3: "Table 3, changing",
}
COLUMNS = ("table", "cell", "d", "method", "seed", *SCORES, "n_clusters", "splits", "drifts", "withdrawals", "learn_s")

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

    def run(self, seed: int, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A row of results for each method."""
        X, y = self.draw(random_state=seed)
        for method, inherit in METHODS.items():
            log: list[dict[str, Any]] = []
            model = HSDC(inherit=inherit, on_event=log.append, **settings)
            began = time.perf_counter()
            found = evaluate(model, X, y, segment=SEGMENT, every=EVERY if self.table == 3 else self.last).mean()
            seconds, count = time.perf_counter() - began, Counter(event["kind"] for event in log)
            key = {"table": self.table, "cell": self.name, "d": self.d, "method": method, "seed": seed}
            scores = {name: round(found[name], 4) for name in (*SCORES, "n_clusters")}
            events = {"splits": count["split"], "drifts": count["drift"], "withdrawals": count["withdrawal"]}
            yield {**key, **scores, **events, "learn_s": round(seconds, 3)}


def fill(path: Path, cells: Sequence[Cell], seeds: Sequence[int], settings: dict[str, Any]) -> pd.DataFrame:
    """Run what the file does not hold yet, and give all of its rows."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["table"], row["cell"], row["d"], row["seed"]) for row in rows}
    for cell in cells:
        for seed in seeds:
            if (cell.table, cell.name, cell.d, seed) not in done:
                rows.extend(cell.run(seed, settings))
        print(f"{TITLES[cell.table].partition(',')[0]}, {cell.name}, d = {cell.d}", flush=True)
        results = pd.DataFrame(rows, columns=list(COLUMNS))
        results.to_csv(path, index=False, lineterminator="\n")
    return results


def markdown(results: pd.DataFrame, table: int, score: str) -> str:
    """One score of one table: ours and the paper's with their deviations, the difference, and CluStream's."""
    columns = [head for method in METHODS for head in (f"{method}, ours", "paper", "difference")]
    heads = ["", "d", "runs", *columns, f"{PUBLISHED_ONLY}, paper"]
    rule = ["---", *["---:"] * (len(heads) - 1)]
    lines = [heads, rule, *_lines(results, table, list(SCORES).index(score))]
    title = f"## {TITLES[table]}: {SCORES[score]}"
    return "\n".join([title, "", *(f"| {' | '.join(cells)} |" for cells in lines)])


def _lines(results: pd.DataFrame, table: int, which: int) -> Iterator[list[str]]:
    score = list(SCORES)[which]
    differences = []
    for (number, name, d), published in PUBLISHED.items():
        runs = results[(results["table"] == number) & (results["cell"] == name) & (results["d"] == d)]
        if number != table or runs.empty:
            continue
        cells = [name, str(d), str(runs["seed"].nunique())]
        for i, method in enumerate(METHODS):
            ours, (mean, deviation) = runs.loc[runs["method"] == method, score], published[i][which]
            cells += [f"{ours.mean():.3f} ({ours.std():.3f})", f"{mean:.2f} ({deviation:.2f})"]
            cells += [f"{ours.mean() - mean:+.3f}"]
            differences.append(ours.mean() - mean)
        yield [*cells, f"{published[-1][which][0]:.2f}"]
    means = np.reshape(differences, (-1, len(METHODS))).mean(axis=0)
    yield [
        f"mean of {len(differences) // len(METHODS)}",
        "",
        "",
        *(x for m in means for x in ("", "", f"{m:+.3f}")),
        "",
    ]


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
    cli.add_argument("--set", type=_setting, nargs="+", default=[], metavar="NAME=VALUE", help="other settings of HSDC")
    args = cli.parse_args()
    stem, settings = (
        args.out / "stream_tables",
        json.loads(json.dumps(dict(args.set))),
    )  # a tuple is a list in the record
    args.out.mkdir(parents=True, exist_ok=True)
    record = stem.with_suffix(".json")
    past: list[dict[str, Any]] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else []
    if past and past[-1]["settings"] != settings:
        sys.exit(f"{record.name} was made with {past[-1]['settings']}, not {settings}: choose another --out")
    entry = runner.about(sys.argv[1:]) | {"settings": settings}
    cells = [Cell(*key) for key in PUBLISHED if key[0] in args.tables and key[2] in args.dims]
    results = fill(stem.with_suffix(".csv"), cells, range(args.first_seed, args.first_seed + args.seeds), settings)
    runs = [*past, entry]
    record.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    tables = [markdown(results, table, score) for table in TITLES if table in set(results["table"]) for score in SCORES]
    text = "\n\n".join(["# stream_tables", "\n".join(f"    {run['command']}" for run in runs), *tables]) + "\n"
    stem.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
