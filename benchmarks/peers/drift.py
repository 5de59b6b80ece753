"""How often HSDC reports a drift in stationary streams, and how often and how soon it reports a true drift.

    python -m benchmarks.peers.drift --runs 4 --moves 15 --out results

Stationary: a million rows of five unit Gaussians with centers in all directions, the nearest two 4 to 12 deviations
apart, and of the static stream of the paper (20 classes, d = 50). Moved: 20,000 rows of five Gaussians are learned,
then one of them is moved along the normal of a cut until its center lies on it, and 1,000 more rows are learned. Cut
and Gaussian are drawn from those for which the new center still reaches the cut. Writes drift_stationary.csv,
drift_moved.csv, drift.md and drift.json; the streams of a run depend on its cell, its number and `--seed` alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from benchmarks import report, stored
from ravine import HSDC
from ravine.datasets import make_gaussian_stream
from ravine.tree import HyperplaneTree

NAME = "drift"
CLASSES, CHUNK = 5, 50_000
LEARNED, AFTER = 20_000, 1_000
BLOBS = [(d, distance) for d in (2, 10, 50) for distance in (4, 6, 8, 12)]
MOVES = [(d, distance) for d in (2, 10, 50) for distance in (8, 12, 20)]


def centers_of(d: int, distance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal centers, scaled so that the nearest two are this far apart."""
    centers = rng.normal(size=(CLASSES, d))
    scaled: NDArray[np.float64] = centers * distance / pdist(centers).min()
    return scaled


def draw(centers: NDArray[np.float64], n_rows: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Rows of unit Gaussians of equal shares."""
    rows: NDArray[np.float64] = centers[rng.integers(CLASSES, size=n_rows)]
    rows += rng.normal(size=rows.shape)
    return rows


def random(seed: int, *cell: object) -> np.random.Generator:
    return np.random.default_rng([crc32(repr(cell).encode()), seed])


def stationary(name: str, chunks: Iterator[NDArray[np.float64]], run: int) -> dict[str, Any]:
    """Events of a stream that does not change."""
    log: list[dict[str, Any]] = []
    model = HSDC(on_event=log.append)
    for X in chunks:
        model.partial_fit(X)
    count = Counter(event["kind"] for event in log)
    return {
        "cell": name,
        "run": run,
        "n_clusters": model.n_clusters_,
        "drifts": count["drift"],
        "withdrawals": count["withdrawal"],
    }


def stationary_runs(n_runs: int, n_rows: int, seed: int) -> Iterator[dict[str, Any]]:
    for run in range(n_runs):
        for d, distance in BLOBS:
            rng = random(seed + run, "blobs", d, distance)
            centers = centers_of(d, distance, rng)
            chunks = (draw(centers, CHUNK, rng) for _ in range(n_rows // CHUNK))
            yield stationary(f"d = {d}, {distance} σ", chunks, run)
        X, _ = make_gaussian_stream(n_rows, n_classes=20, n_features=50, random_state=seed + run)
        yield stationary("the paper's, C = 20, d = 50", iter(np.array_split(X, n_rows // CHUNK)), run)


def path(tree: HyperplaneTree, x: NDArray[np.float64]) -> list[int]:
    """Cuts that a row passes."""
    node, cuts = 0, []
    while tree.left[node] >= 0:
        cuts.append(node)
        node = int(tree.left[node] if x @ tree.normal[node] < tree.offset[node] else tree.right[node])
    return cuts


def move(d: int, distance: float, run: int, seed: int) -> dict[str, Any]:
    """Whether the cut onto which a Gaussian has moved is reported, and after how many rows."""
    rng = random(seed + run, "moved", d, distance)
    centers = centers_of(d, distance, rng)
    model = HSDC().partial_fit(draw(centers, LEARNED, rng))
    tree = model.tree_
    choices = []
    for i, center in enumerate(centers):
        for node in path(tree, center):
            moved = center - (center @ tree.normal[node] - tree.offset[node]) * tree.normal[node]
            if node in path(tree, moved):
                choices.append((node, i, moved))
    result = {"d": d, "distance": distance, "run": run, "n_clusters": model.n_clusters_}
    if not choices:
        return result | {"outcome": "nothing to move"}
    node, i, centers[i] = choices[rng.integers(len(choices))]
    ids = model.node_ids_
    cut, above = ids[node], {ids[n] for n in path(tree, centers[i]) if n < node}
    p_value = float(tree.p_value[node])
    model.partial_fit(draw(centers, AFTER, rng))
    events = [event for event in model.drift_events_ + model.withdrawal_events_ if event["row"] >= LEARNED]
    at_cut = next((event for event in events if event["node"] == cut), None)
    if at_cut is not None:
        return result | {"p_value": p_value, "outcome": at_cut["kind"], "delay": at_cut["row"] - LEARNED}
    higher = any(event["node"] in above for event in events)
    return result | {"p_value": p_value, "outcome": "a cut above fell" if higher else "nothing"}


def page(stem: Path) -> str:
    """How often and how soon, and the events of streams that do not change."""
    moved, still = stored.read_table(stem, "moved"), stored.read_table(stem, "stationary")
    found = []
    for (d, distance), part in moved.groupby(["d", "distance"]):
        delay = part.delay[part.outcome == "drift"]
        times = [f"{delay.median():.0f}", f"{delay.max():.0f}"] if len(delay) else ["–", "–"]
        found.append([f"{d}", f"{distance:g}", f"{len(part)}", f"{len(delay)}", *times])
    delay = moved.delay[moved.outcome == "drift"]
    found.append(["all", "", f"{len(moved)}", f"{len(delay)}", f"{delay.median():.0f}", f"{delay.max():.0f}"])
    others = moved.outcome[moved.outcome != "drift"].value_counts()
    rest = "; ".join(f"{outcome}: {count}" for outcome, count in others.items()) or "none"
    heads = ["d", "distance, σ", "streams", "drift at the cut", "rows until the report, median", "maximum"]
    cells = still.groupby("cell", sort=False)
    events = [
        [name, f"{len(part)}", f"{part.n_clusters.mean():.1f}", f"{part.drifts.sum()}", f"{part.withdrawals.sum()}"]
        for name, part in cells
    ]
    events.append(["all", f"{len(still)}", "", f"{still.drifts.sum()}", f"{still.withdrawals.sum()}"])
    parts = [
        report.section("A cluster moved onto a cut", f"Other outcomes: {rest}.", report.grid(heads, found, text=0)),
        report.section(
            "Streams that do not change",
            report.grid(["stream", "runs", "clusters, mean", "drifts", "withdrawals"], events),
        ),
    ]
    return stored.page("Drift: false reports and delay", stem, parts)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--runs", type=int, default=4, help="stationary streams of each of 13 kinds (4)")
    cli.add_argument("--moves", type=int, default=15, help="moved Gaussians of each of 9 kinds (15)")
    cli.add_argument("--rows", type=float, default=1e6, help="rows of a stationary stream, a multiple of 50,000 (1e6)")
    cli.add_argument("--seed", type=int, default=0, help="seed of the first run (0)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    moved = pd.DataFrame([move(*cell, run, args.seed) for cell in MOVES for run in range(args.moves)])
    print(moved.groupby(["d", "distance"])["outcome"].value_counts().unstack(fill_value=0), flush=True)
    still = pd.DataFrame(stationary_runs(args.runs, int(args.rows), args.seed))
    stored.record(stem, entry, anew=True)
    moved.to_csv(f"{stem}_moved.csv", index=False, lineterminator="\n")
    still.to_csv(f"{stem}_stationary.csv", index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
