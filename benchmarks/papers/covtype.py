"""Hofmeyr, Pavlidis and Eckley (2016), §6.2: HSDC and HSDC(I) on Forest Cover Type, in its original order.

    python -m benchmarks.papers.covtype DATA --out results

DATA is a folder with covtype.parquet, columns x0…x53 and label; the ten continuous ones are used, not scaled. Writes
covtype.csv, .md and .json: means over segments of 100 rows every 200. "one cluster" is the score of not clustering.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import report, stored
from benchmarks.report import Comparison
from ravine import HSDC
from ravine.evaluation import evaluate

NAME = "covtype"
CONTINUOUS = [f"x{j}" for j in range(10)]
SEGMENT, EVERY = 100, 200
PUBLISHED = {"HSDC": (0.83, 0.25), "HSDC(I)": (0.85, 0.27), "CluStream": (0.86, 0.31)}
HEADS = ("purity", "v_measure", "n_clusters", "splits", "drifts", "withdrawals", "seconds")


def score(X: NDArray[np.float64], y: NDArray[Any], *, inherit: bool) -> dict[str, float]:
    """Means over the segments, events of the whole stream, and the time of both learning and predicting."""
    log: list[dict[str, Any]] = []
    began = time.perf_counter()
    model = HSDC(inherit=inherit, on_event=log.append)
    found = evaluate(model, X, y, segment=SEGMENT, every=EVERY).mean()
    seconds, count = time.perf_counter() - began, Counter(event["kind"] for event in log)
    numbers = (found["purity"], found["v_measure"], found["n_clusters"])
    events = (count["split"], count["drift"], count["withdrawal"])
    return dict(zip(HEADS, (*numbers, *events, seconds), strict=True))


def one_cluster(y: NDArray[Any]) -> dict[str, float]:
    """Share of the commonest class, averaged over the same segments."""
    starts = range(EVERY, len(y) - SEGMENT + 1, EVERY)
    shares = [np.unique(y[start : start + SEGMENT], return_counts=True)[1].max() / SEGMENT for start in starts]
    return {"purity": float(np.mean(shares)), "v_measure": 0.0, "n_clusters": 1.0}


def comparisons(stem: Path) -> list[Comparison]:
    results = stored.read_table(stem, index_col="method")
    paper = pd.DataFrame.from_dict(PUBLISHED, orient="index", columns=list(HEADS[:2]))
    both = (results[list(HEADS[:2])] - paper).dropna()
    return [Comparison("Forest Cover Type: Purity and V-measure", both.rename(columns={"v_measure": "V-measure"}))]


def page(stem: Path) -> str:
    results = stored.read_table(stem, index_col="method")
    lines = []
    for method in [*results.index, "CluStream"]:
        purity, v = (f"{number:.2f}" for number in PUBLISHED[method]) if method in PUBLISHED else ("–", "–")
        if method in results.index:
            row = results.loc[method]
            events = [
                "–" if np.isnan(row[name]) else f"{row[name]:.0f}" for name in ("splits", "drifts", "withdrawals")
            ]
            cells = [f"{row.purity:.4f}", purity, f"{row.v_measure:.4f}", v, f"{row.n_clusters:.1f}", *events]
        else:
            cells = ["–", purity, "–", v, *["–"] * 4]
        lines.append([method, *cells])
    heads = ["method", "purity", "paper", "V", "paper", "clusters", "splits", "drifts", "withdrawals"]
    notes = [comparison.lower() for comparison in comparisons(stem)]
    return stored.page("Forest Cover Type", stem, [*notes, report.grid(heads, lines)])


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("data", type=Path, help="folder with covtype.parquet")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args, entry = cli.parse_args(), stored.run_details(sys.argv[1:])
    frame = pd.read_parquet(args.data / "covtype.parquet", columns=[*CONTINUOUS, "label"])
    X, y = frame[CONTINUOUS].to_numpy(dtype=np.float64), frame["label"].to_numpy()
    rows = {"HSDC": score(X, y, inherit=False), "HSDC(I)": score(X, y, inherit=True), "one cluster": one_cluster(y)}
    results = pd.DataFrame.from_dict(rows, orient="index", columns=list(HEADS))
    stem = args.out / NAME
    stored.record(stem, entry | {"rows": len(X)}, anew=True)
    results.round(4).to_csv(stem.with_suffix(".csv"), index_label="method", lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
