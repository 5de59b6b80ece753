"""Resamples that `ravine.evaluation.stability` may draw: what they do to the number of clusters and to the verdicts.

``python -m benchmarks.stability`` prints the tables of docs/decisions/stability.md; ``--time`` prints the times.
"""

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from ravine import IncrementalMDH, NCutH
from ravine.evaluation import Stability, stability

Rows = NDArray[np.float64]

SCHEMES = (("subsample", 0.5), ("subsample", 0.63), ("subsample", 0.8), ("subsample", 0.9), ("bootstrap", 1.0))
"""How rows are drawn, and how many."""

VERDICTS = ("stable", "uncertain", "not found again")

SEEDS = range(4)
"""Draws of the rows."""

N_RESAMPLES = 10

N_COLUMNS = 5

APART, NEAR = 7.0, (1.0, 2.0, 3.0, 3.5, 4.0)
"""Distance of separate clusters, and distances of the two that overlap, in standard deviations."""


def centers(pair: float) -> Rows:
    """Return five centers, the last two of them at a distance `pair`, all others APART."""
    placed = APART / np.sqrt(2) * np.eye(N_COLUMNS)
    placed[4] = placed[3]
    placed[4, 4] = pair
    return placed


def planted(n_samples: int, pair: float, seed: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return rows of five clusters of unequal size and their clusters; the last two are `pair` apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice(N_COLUMNS, n_samples, p=[0.3, 0.25, 0.15, 0.15, 0.15])
    return centers(pair)[y] + rng.normal(size=(n_samples, N_COLUMNS)), y


NOISE: dict[str, Callable[[np.random.Generator, tuple[int, int]], Rows]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t, 5 degrees": lambda rng, shape: rng.standard_t(5, size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "integers": lambda rng, shape: rng.poisson(6, size=shape).astype(np.float64),
}


def runs(model: Any, X: Rows) -> Iterator[tuple[tuple[str, float], Stability]]:
    """Yield the stability of a model that is fitted once, for each way to draw rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(X)
        for scheme, share in SCHEMES:
            found = stability(fitted, X, resample=scheme, share=share, n_resamples=N_RESAMPLES)
            yield (scheme, share), found


def numbers(found: Stability, right: int) -> Counter[str]:
    """Count the resamples with fewer clusters than `right`, as many, and more."""
    side = np.sign(found.n_clusters - right)
    return Counter(fewer=int((side < 0).sum()), same=int((side == 0).sum()), more=int((side > 0).sum()))


def separate_clusters(model: Callable[[], Any], n_samples: int) -> None:
    """Print how many clusters are found among five separate ones, and the verdicts about them."""
    counts: dict[Any, Counter[str]] = {scheme: Counter() for scheme in SCHEMES}
    for seed in SEEDS:
        X, _ = planted(n_samples, APART, seed)
        for scheme, found in runs(model(), X):
            counts[scheme] += numbers(found, N_COLUMNS) + Counter(found.verdicts)
            counts[scheme]["k"] += len(found.clusters)
    _show(f"five separate clusters, {n_samples} rows", model, counts, ("k", "fewer", "same", "more", *VERDICTS))


def overlapping_pair(model: Callable[[], Any], n_samples: int, near: float) -> None:
    """Print the verdicts about three separate clusters and two that overlap."""
    counts: dict[Any, Counter[str]] = {scheme: Counter() for scheme in SCHEMES}
    for seed in SEEDS:
        X, y = planted(n_samples, near, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model().fit(X).predict(X)
        owner = np.array([np.bincount(y[labels == c], minlength=N_COLUMNS).argmax() for c in range(labels.max() + 1)])
        for scheme, found in runs(model(), X):
            counts[scheme]["k"] += len(found.clusters)
            for verdict, c in zip(found.verdicts, owner, strict=True):
                counts[scheme][f"{'pair' if c >= 3 else 'other'}: {verdict}"] += 1
    columns = ("k", *(f"{whose}: {verdict}" for whose in ("other", "pair") for verdict in VERDICTS))
    _show(f"two of five clusters are {near} apart, {n_samples} rows", model, counts, columns)


def noise(model: Callable[[], Any], n_samples: int) -> None:
    """Print how many clusters are found among rows without clusters, and the verdicts about them."""
    for name, draw in NOISE.items():
        counts: dict[Any, Counter[str]] = {scheme: Counter() for scheme in SCHEMES}
        for seed in SEEDS:
            X = draw(np.random.default_rng(seed), (n_samples, N_COLUMNS))
            for scheme, found in runs(model(), X):
                counts[scheme] += numbers(found, len(found.clusters)) + Counter(found.verdicts)
                counts[scheme]["k"] += len(found.clusters)
        _show(f"noise: {name}, {n_samples} rows", model, counts, ("k", "fewer", "same", "more", *VERDICTS))


def _show(what: str, model: Callable[[], Any], counts: dict[Any, Counter[str]], columns: tuple[str, ...]) -> None:
    print(f"\n{model()!r}: {what}")
    print("| resample | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns), sep="\n")
    for (scheme, share), count in counts.items():
        print(f"| {scheme} {share} | " + " | ".join(str(count[column]) for column in columns) + " |", flush=True)


def times() -> None:
    """Print the seconds of twenty resamples of 100,000 rows and 20 columns."""
    rng = np.random.default_rng(0)
    place = rng.normal(size=(8, 20)) * 4
    X = place[rng.integers(8, size=100_000)] + rng.normal(size=(100_000, 20))
    for model in (IncrementalMDH(), NCutH(), KMeans(8, n_init=1)):
        fitted = model.fit(X)
        for max_rows in (None, 20_000):
            began = time.perf_counter()
            found = stability(fitted, X, max_rows=max_rows)
            print(type(model).__name__, max_rows, found.counts, f"{time.perf_counter() - began:.1f} s", flush=True)


def main() -> None:
    """Print all tables."""
    if "--time" in sys.argv:
        times()
        return
    for model in (IncrementalMDH, NCutH):
        separate_clusters(model, 400)
        separate_clusters(model, 2000)
        for near in NEAR[2:]:
            overlapping_pair(model, 1000, near)
        noise(model, 1000)
    for four in (lambda: KMeans(4, n_init=1), lambda: KMeans(4, n_init=10), lambda: NCutH(4)):
        noise(four, 1000)
    for five in (lambda: KMeans(5, n_init=10), lambda: NCutH(5)):
        for near in NEAR[:3]:
            overlapping_pair(five, 1000, near)


if __name__ == "__main__":
    main()
