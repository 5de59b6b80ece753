"""Streams that never change: the number of clusters of StreamClusterer, its false events, and its speed.

    python -m benchmarks.peers.stationary_streams --out results
    python -m benchmarks.peers.stationary_streams --rows 1e6 --noises t3 "AR(1)" --groups 5 --columns 2 10 --out other

Groups are at least 8 standard deviations apart, and their shares differ by a factor of at most two. The noise has unit
variance: Gaussian, t with 3 degrees of freedom, uniform, exponential, Poisson counts, Gaussian rounded to integers,
70 % zeros with exponential values otherwise, and AR(1) with coefficient 0.9 over the rows of each group, without and
with sessions of about 50 rows of one group. Rows are drawn and learned in batches. An event counts if it is reported
after row 5,000. V-measure is that of the last batch, which is predicted and not learned. Rows per second are those of
the learning alone, in processor time, without the first 5,000 rows. Writes stationary_streams.csv, .md and .json; a
stream depends on its name and its seed alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import v_measure_score

from benchmarks import report, stored
from benchmarks.peers.groups import NOISES, Groups, generator, kinds, separated
from ravine import StreamClusterer

NAME = "stationary_streams"
DISTANCE, BATCH, START = 8.0, 5_000, 5_000
GROUPS, COLUMNS = (1, 5, 20), (2, 10, 50)


def follow(noise: str, n_groups: int, d: int, seed: int, n_rows: int) -> dict[str, Any]:
    """Learn one stream; return what was found in it and how fast."""
    rng = generator(seed, NAME, noise, n_groups, d)
    stream = Groups(noise, separated(n_groups, d, DISTANCE, rng), rng)
    events: list[dict[str, Any]] = []
    model, seconds = StreamClusterer(on_event=events.append), 0.0
    for start in range(0, n_rows, BATCH):
        X, _ = stream.draw(min(BATCH, n_rows - start))
        began = time.process_time()
        model.partial_fit(X)
        seconds += time.process_time() - began if start >= START else 0.0
    X, y = stream.draw(BATCH)
    late = [event for event in events if event["row"] >= START]
    return {
        "noise": noise,
        "groups": n_groups,
        "columns": d,
        "seed": seed,
        "rows": n_rows,
        "clusters": model.n_clusters_,
        "v_measure": round(v_measure_score(y, model.predict(X)), 4),
        "events": len(late),
        "last_event": late[-1]["row"] if late else None,
        "kinds": kinds(late),
        "rows_s": round((n_rows - START) / seconds),
    }


def streams(
    noises: Sequence[str], groups: Sequence[int], columns: Sequence[int], seeds: Sequence[int], n_rows: int
) -> Iterator[dict[str, Any]]:
    """Yield a row of results for each stream, and print it."""
    follow("gaussian", 2, 2, 0, 2 * START)  # compiles
    for noise in noises:
        for n_groups in groups:
            for d in columns:
                for seed in seeds:
                    found = follow(noise, n_groups, d, seed, n_rows)
                    print(*found.values(), flush=True)
                    yield found


def page(stem: Path) -> str:
    """Return a table per question, noise × (groups, columns), and the streams that went wrong."""
    results = stored.read_table(stem)
    titles = {
        "clusters": ("Clusters at the end, mean", "{:.1f}"),
        "v_measure": ("V-measure of the last batch, mean", "{:.3f}"),
        "events": (f"Events after row {START:,}, mean per stream", "{:.1f}"),
        "rows_s": ("Rows per second, mean", "{:,.0f}"),
    }
    parts = [report.section(title, _crossed(results, name, form)) for name, (title, form) in titles.items()]
    wrong = results[(results["clusters"] != results["groups"]) | (results["events"] > 0)]
    shares = f"{len(wrong)} of {len(results)} streams have another number of clusters than groups, or an event."
    formats = {"noise": "{}", **dict.fromkeys(("groups", "columns", "seed", "clusters"), "{:.0f}")}
    formats |= {"v_measure": "{:.3f}", "events": "{:.0f}", "last_event": "{:.0f}", "kinds": "{}"}
    parts.append(report.section("What went wrong", shares, report.formatted(wrong, formats) if len(wrong) else ""))
    return stored.page("Streams that never change", stem, parts)


def _crossed(results: pd.DataFrame, name: str, form: str) -> str:
    table = results.groupby(["noise", "groups", "columns"], sort=False)[name].mean().unstack(["groups", "columns"])
    heads = ["noise", *(f"{k} × {d}" for k, d in table.columns)]
    lines = [
        [str(noise), *("–" if np.isnan(value) else form.format(value) for value in values)]
        for noise, values in zip(table.index, table.to_numpy(), strict=True)
    ]
    return report.grid(heads, lines)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--rows", type=float, default=2e5, help="rows of a stream, at least 10,000 (2e5)")
    cli.add_argument("--seeds", type=int, default=1, metavar="N", help="streams of each kind (1)")
    cli.add_argument("--first-seed", type=int, default=0, metavar="SEED", help="seed of the first (0)")
    cli.add_argument("--noises", nargs="+", default=list(NOISES), choices=NOISES, metavar="NOISE", help="(all)")
    cli.add_argument("--groups", type=int, nargs="+", default=list(GROUPS), metavar="K", help="(1 5 20)")
    cli.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS), metavar="D", help="(2 10 50)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    if args.rows < 2 * START:
        cli.error(f"--rows is below {2 * START}")
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    results = pd.DataFrame(streams(args.noises, args.groups, args.columns, seeds, int(args.rows)))
    stored.record(stem, entry, anew=True)
    results.to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
