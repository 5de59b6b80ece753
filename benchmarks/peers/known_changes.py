"""Streams in which one thing changes at a known row: does StreamClusterer follow, and does it report what happened?

    python -m benchmarks.peers.known_changes --settings 5x10 20x50 --out results
    python -m benchmarks.peers.known_changes --distances 5 --sizes unequal --changes jump appear+vanish --out other

Gaussian groups of standard deviations 0.7 to 1.3, at least 8 (or 5) apart, in sizes of at most 1 : 2, or unequal: 1 :
10. After 20,000 rows a group appears, vanishes, moves within 10,000 rows by 1.5 distances, jumps, merges with the
nearest one or splits, or all groups are drawn anew. Two changes joined by a plus sign follow each other. Every batch of
500 rows is predicted before it is learned. V-measure is the mean over the 10,000 rows before a change, the first 4,000
after it ("after") and the last 10,000 before the next ("late"). A change is reported if an event of a right kind names
a cluster that holds one of the groups concerned, from the change until 12,500 rows later. All other events after row
5,000 are false. Writes known_changes.csv, .md and .json; a stream depends on its name and its seed alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import v_measure_score

from benchmarks import report, stored
from benchmarks.peers.groups import Floats, Labels, generator, kinds, separated
from ravine import StreamClusterer

NAME = "known_changes"
PHASE, BATCH, START = 20_000, 500, 5_000
AFTER, LATE, ALLOWED = 4_000, PHASE // 2, PHASE // 2 + 2_500
RIGHT = {
    "none": (),
    "appear": ("appeared", "split"),
    "vanish": ("vanished",),
    "slow": ("moved",),
    "jump": ("moved",),
    "overhaul": ("drift",),
    "merge": ("merged",),
    "split": ("split", "appeared"),
}
"""The kinds of events that report a change."""

Run = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """The groups between two changes; `way` is how far a group moves in the first half of the phase."""

    groups: Labels
    centers: Floats
    spreads: Floats
    weights: Floats
    distance: float
    way: Floats = field(default_factory=lambda: np.zeros(0))

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Floats, Labels]:
        """Return the rows of a phase and their groups."""
        chosen = rng.choice(len(self.groups), n_rows, p=self.weights / self.weights.sum())
        X = self.centers[chosen] + self.spreads[chosen, None] * rng.normal(size=(n_rows, self.centers.shape[1]))
        if len(self.way):
            done = np.minimum(np.arange(n_rows) / (n_rows / 2), 1.0)
            X += done[:, None] * self.way[chosen]
        return X, self.groups[chosen]

    def settled(self) -> Scene:
        """Return the groups after they have moved."""
        return replace(self, centers=self.centers + self.way, way=np.zeros(0)) if len(self.way) else self

    def without(self, *at: int) -> Scene:
        """Return the other groups."""
        rest = np.setdiff1d(np.arange(len(self.groups)), at)
        return Scene(self.groups[rest], self.centers[rest], self.spreads[rest], self.weights[rest], self.distance)

    def plus(self, first: int, centers: Floats, spreads: Floats, weights: Floats) -> Scene:
        """Return these groups and new ones, numbered from `first`."""
        return Scene(
            np.r_[self.groups, first + np.arange(len(centers))],
            np.vstack([self.centers, centers]),
            np.r_[self.spreads, spreads],
            np.r_[self.weights, weights],
            self.distance,
        )


def opening(n_groups: int, d: int, distance: float, sizes: str, rng: np.random.Generator) -> Scene:
    """Return the groups of the first phase."""
    weights = rng.uniform(1, 2, n_groups) if sizes == "equal" else rng.permutation(np.geomspace(1, 10, n_groups))
    centers = separated(n_groups, d, distance, rng)
    return Scene(np.arange(n_groups), centers, rng.uniform(0.7, 1.3, n_groups), weights, distance)


def changed(change: str, scene: Scene, rng: np.random.Generator) -> tuple[Scene, Labels, Labels]:
    """Return the groups after a change, and the groups concerned before and after it."""
    nobody = np.zeros(0, dtype=np.int64)
    j, d, fresh = int(rng.integers(len(scene.groups))), scene.centers.shape[1], int(scene.groups.max()) + 1
    one = scene.groups[[j]]
    if change == "none":
        return scene, nobody, nobody
    if change == "vanish":
        return scene.without(j), one, nobody
    if change == "appear":
        center = separated(1, d, scene.distance, rng, scene.centers)
        after = scene.plus(fresh, center, rng.uniform(0.7, 1.3, 1), rng.choice(scene.weights, 1))
        return after, nobody, after.groups[-1:]
    if change == "jump":
        centers = scene.centers.copy()
        centers[j] = separated(1, d, scene.distance, rng, scene.centers)[0]
        return replace(scene, centers=centers), one, one
    if change == "slow":
        way = np.zeros_like(scene.centers)
        way[j] = _free_way(scene, j, 1.5 * scene.distance, np.linspace(0, 1, 13), rng)
        return replace(scene, way=way), one, one
    if change == "overhaul":
        centers = separated(len(scene.groups), d, scene.distance, rng)
        after = replace(scene, groups=fresh + np.arange(len(centers)), centers=centers)
        return after, scene.groups, after.groups
    if change == "merge":
        pair = list(_closest_pair(scene))
        center = scene.centers[pair].mean(axis=0, keepdims=True)
        weight = scene.weights[pair].sum(keepdims=True)
        after = scene.without(*pair).plus(fresh, center, scene.spreads[pair[:1]], weight)
        return after, scene.groups[pair], after.groups[-1:]
    if change == "split":
        way = _free_way(scene, j, scene.distance / 2, np.array([-1.0, 1.0]), rng)
        halves = scene.centers[j] + np.array([-way, way])
        after = scene.without(j).plus(fresh, halves, scene.spreads[[j, j]], 0.7 * scene.weights[[j, j]])
        return after, one, after.groups[-2:]
    raise ValueError(f"no change is called {change!r}")


def _free_way(scene: Scene, j: int, length: float, steps: Floats, rng: np.random.Generator) -> Floats:
    """Return a way of this length for group j, the one of 500 that stays farthest from the other groups."""
    ways = rng.normal(size=(500, scene.centers.shape[1]))
    ways *= length / np.linalg.norm(ways, axis=1, keepdims=True)
    others = np.delete(scene.centers, j, axis=0)
    if not len(others):
        return ways[0]
    nearest = [cdist(scene.centers[j] + steps[:, None] * way, others).min() for way in ways]
    free = np.flatnonzero(np.array(nearest) >= 0.75 * scene.distance)
    best: Floats = ways[int(free[0]) if len(free) else int(np.argmax(nearest))]
    return best


def _closest_pair(scene: Scene) -> tuple[int, int]:
    """Return the closest two groups whose midpoint is far from all others."""
    pairs = np.column_stack(np.triu_indices(len(scene.groups), 1))
    for i, j in pairs[np.argsort(pdist(scene.centers))]:
        middle = scene.centers[[i, j]].mean(axis=0)
        rest = np.delete(scene.centers, [i, j], axis=0)
        if not len(rest) or np.linalg.norm(rest - middle, axis=1).min() >= 0.75 * scene.distance:
            return int(i), int(j)
    i, j = pairs[np.argmin(pdist(scene.centers))]
    return int(i), int(j)


@dataclass
class Watch:
    """What a model did in one phase, which began with a change."""

    change: str
    row: int
    old: Labels
    new: Labels
    clusters: set[int] = field(default_factory=set)

    def look(self, row: int, ids: Labels, y: Labels) -> None:
        """Note which clusters hold the groups concerned, before and after the change."""
        for group in self.old if row < self.row else self.new:
            inside = ids[y == group]
            if len(inside) and self.row - 2_000 <= row < self.row + ALLOWED:
                values, counts = np.unique(inside, return_counts=True)
                self.clusters.add(int(values[counts.argmax()]))

    def concerns(self, event: dict[str, Any]) -> bool:
        """Return whether an event may be about this change."""
        if self.change == "none" or not self.row <= event["row"] < self.row + ALLOWED:
            return False
        return self.change == "overhaul" or bool({*event["clusters"], event.get("node")} & self.clusters)


def follow(name: str, n_groups: int, d: int, distance: float, sizes: str, seed: int) -> list[Run]:
    """Learn one stream; return a row of results for each of its changes."""
    rng = generator(seed, NAME, name, n_groups, d, distance, sizes)
    scene = opening(n_groups, d, distance, sizes, rng)
    parts, watches, ends = [scene.draw(PHASE, rng)], [], []
    for number, change in enumerate(name.split("+"), start=1):
        scene, old, new = changed(change, scene.settled(), rng)
        parts.append(scene.draw(PHASE, rng))
        watches.append(Watch(change, number * PHASE, old, new))
        ends.append(len(scene.groups))
    X, y = np.vstack([rows for rows, _ in parts]), np.concatenate([groups for _, groups in parts])

    events: list[dict[str, Any]] = []
    model, seconds, scores, counts = StreamClusterer(on_event=events.append), 0.0, [], []
    for start in range(0, len(X), BATCH):
        rows = slice(start, start + BATCH)
        if start:
            ids = model.cluster_ids_[model.predict(X[rows])]
            scores.append((start, v_measure_score(y[rows], ids)))
            for watch in watches:
                watch.look(start, ids, y[rows])
        began = time.process_time()
        model.partial_fit(X[rows])
        seconds += time.process_time() - began
        counts.append(model.n_clusters_)
    at, v = np.array(scores).T
    key = {"change": name, "groups": n_groups, "columns": d, "distance": distance, "sizes": sizes, "seed": seed}
    results = []
    for number, (watch, true) in enumerate(zip(watches, ends, strict=True), start=1):
        first = START if number == 1 else watch.row
        here = [event for event in events if first <= event["row"] < watch.row + PHASE]
        fitting = [event for event in here if watch.concerns(event)]
        false = [event for event in here if not watch.concerns(event)]
        right = [event["row"] - watch.row for event in fitting if event["kind"] in RIGHT[watch.change]]
        results.append(
            key
            | {
                "number": number,
                "before": _mean(v, at, watch.row - LATE, watch.row),
                "after": _mean(v, at, watch.row, watch.row + AFTER),
                "late": _mean(v, at, watch.row + PHASE - LATE, watch.row + PHASE),
                "clusters": counts[(watch.row + PHASE) // BATCH - 1],
                "true": true,
                "delay": right[0] if right else None,
                "place": bool(fitting),
                "false": len(false),
                "events": kinds(fitting),
                "false_events": "; ".join(f"{event['kind']} {event['row']}" for event in false[:5]),
                "rows_s": round(len(X) / seconds),
            }
        )
    return results


def _mean(v: Floats, at: Floats, first: int, end: int) -> float:
    return round(float(v[(at >= first) & (at < end)].mean()), 4)


def streams(
    settings: list[tuple[int, int]], distances: list[float], sizes: list[str], changes: list[str], seeds: range
) -> Iterator[Run]:
    """Yield the results of each stream, and print them."""
    follow("none", 2, 2, 8.0, "equal", 0)  # compiles
    for (n_groups, d), distance, size, change, seed in product(settings, distances, sizes, changes, seeds):
        for found in follow(change, n_groups, d, distance, size, seed):
            print(*found.values(), flush=True)
            yield found


def page(stem: Path) -> str:
    """Return a table per setting, a line per change, and the streams that went wrong."""
    results = stored.read_table(stem)
    parts = []
    for (k, d, distance, sizes), part in results.groupby(["groups", "columns", "distance", "sizes"], sort=False):
        title = f"{k} groups, {d} columns, distance {distance:g}, {sizes} sizes"
        parts.append(report.section(title, _table(part)))
    parts.append(report.section("What went wrong", _wrong(results)))
    return stored.page("Streams with a known change", stem, parts)


def _table(results: pd.DataFrame) -> str:
    heads = ["change", "V before", "after", "late", "clusters", "true", "right kind", "right place"]
    heads += ["rows until the report, median", "false events", "rows/s"]
    lines = []
    for (name, number), part in results.groupby(["change", "number"], sort=False):
        scores = [f"{part[column].mean():.3f}" for column in ("before", "after", "late")]
        counts = [f"{part[column].mean():.1f}" for column in ("clusters", "true")]
        kind = "–" if _last_change(name, number) == "none" else f"{part['delay'].notna().sum()} of {len(part)}"
        place = "–" if _last_change(name, number) == "none" else f"{part['place'].sum()} of {len(part)}"
        delay = f"{part['delay'].median():,.0f}" if part["delay"].notna().any() else "–"
        shown = f"{name}, {number}." if "+" in name else str(name)
        lines.append([shown, *scores, *counts, kind, place, delay, f"{part['false'].mean():.2f}"])
        lines[-1].append(f"{part['rows_s'].mean():,.0f}")
    return report.grid(heads, lines)


def _last_change(name: str, number: int) -> str:
    return name.split("+")[number - 1]


def _wrong(results: pd.DataFrame) -> str:
    """List every change that was missed, not followed, or came with false events."""
    missed = results["delay"].isna() & (results["change"] != "none")
    lost = (results["late"] < 0.98) | (results["clusters"] != results["true"])
    wrong = results[missed | lost | (results["false"] > 0)]
    names = ("change", "groups", "columns", "distance", "sizes", "seed", "number")
    formats = dict.fromkeys(names, "{}") | dict.fromkeys(("before", "after", "late"), "{:.3f}")
    formats |= {"clusters": "{:.0f}", "true": "{:.0f}", "delay": "{:.0f}", "events": "{}", "false_events": "{}"}
    shares = f"{len(wrong)} of {len(results)} changes were missed, not followed, or came with false events."
    return "\n\n".join([shares, report.formatted(wrong, formats)] if len(wrong) else [shares])


def _setting(word: str) -> tuple[int, int]:
    groups, _, columns = word.partition("x")
    return int(groups), int(columns)


def _change(word: str) -> str:
    for name in word.split("+"):
        if name not in RIGHT:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(RIGHT)}")
    return word


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    settings = [(5, 10), (20, 50)]
    cli.add_argument("--settings", type=_setting, nargs="+", default=settings, metavar="KxD", help="groups x columns")
    cli.add_argument("--distances", type=float, nargs="+", default=[8.0], help="deviations between groups (8)")
    cli.add_argument("--sizes", nargs="+", choices=["equal", "unequal"], default=["equal"], help="of groups (equal)")
    cli.add_argument("--changes", type=_change, nargs="+", default=list(RIGHT), metavar="NAME", help="(all)")
    cli.add_argument("--seeds", type=int, default=4, metavar="N", help="streams of each kind (4)")
    cli.add_argument("--first-seed", type=int, default=0, metavar="SEED", help="seed of the first (0)")
    cli.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="where the results go (results)")
    args = cli.parse_args()
    stem, entry = args.out / NAME, stored.run_details(sys.argv[1:])
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    results = pd.DataFrame(streams(args.settings, args.distances, args.sizes, args.changes, seeds))
    stored.record(stem, entry, anew=True)
    results.to_csv(stem.with_suffix(".csv"), index=False, lineterminator="\n")
    stored.write_page(stem, page(stem))


if __name__ == "__main__":
    main()
