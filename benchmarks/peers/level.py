"""How often a method with k chosen automatically splits a single cluster, and how often it finds several.

    python -m benchmarks.peers.level NCutH --draws 40
    python -m benchmarks.peers.level MDH --draws 10 --only power --jobs 2

False positives: one cluster of several shapes, as it is and rounded to one standard deviation. Power: mixtures of two
to ten unit Gaussians, the two nearest centers 6 or 7 standard deviations apart, of about equal sizes or of sizes from 1
to 10. Prints one line per cell; a draw's data depend on its cell and number alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from zlib import crc32

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

import ravine

Draw = Callable[[np.random.Generator, int, int], NDArray[np.float64]]

SHAPES: dict[str, Draw] = {
    "gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "anisotropic": lambda rng, n, d: rng.normal(size=(n, d)) * np.linspace(1, 5, d),
    "t5": lambda rng, n, d: rng.standard_t(5, size=(n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "uniform": lambda rng, n, d: rng.uniform(size=(n, d)),
}
SIZES = [(n, d) for n in (100, 500, 5000) for d in (2, 20, 100)]
MIXTURES = [(6, 500, 1), (6, 1000, 1), (6, 1000, 10), (7, 500, 1), (7, 1000, 1)]


def draw_one(cell: tuple[str, bool, int, int], seed: int) -> tuple[NDArray[np.float64], int]:
    """Rows of a single cluster, and 1."""
    shape, rounded, n, d = cell
    X = SHAPES[shape](_random(cell, seed), n, d)
    return (np.round(X / X.std()) if rounded else X), 1


def draw_mixture(cell: tuple[int, int, int, int], seed: int) -> tuple[NDArray[np.float64], int]:
    """Rows of a mixture, the sizes of its components from 1 to `unequal`, and their number."""
    separation, n, unequal, d = cell
    rng = _random(cell, seed)
    k = int(rng.integers(2, 11))
    centers = rng.normal(size=(k, d))
    centers *= separation / pdist(centers).min()
    share = np.linspace(1, unequal, k)
    component = rng.choice(k, size=n, p=share / share.sum())
    return centers[component] + rng.normal(size=(n, d)), k


def _random(cell: tuple[object, ...], seed: int) -> np.random.Generator:
    return np.random.default_rng([crc32(repr(cell).encode()), seed])


def _found(method: str, draw: Callable[..., tuple[NDArray[np.float64], int]], cell: object, seed: int) -> bool:
    X, k = draw(cell, seed)
    options = {"selection": "evidence"} if method == "IncrementalMDH" else {}
    return bool(getattr(ravine, method)(random_state=seed, **options).fit(X).n_clusters_ == k)


def cells(only: str | None) -> Iterator[tuple[str, Callable[..., tuple[NDArray[np.float64], int]], object]]:
    """Description, drawer and cell of everything that is measured."""
    if only != "power":
        for shape in SHAPES:
            for rounded in (False, True):
                for n, d in SIZES:
                    cell = f"{shape}{', rounded' if rounded else ''}, n = {n}, d = {d}"
                    yield cell, draw_one, (shape, rounded, n, d)
    if only != "level":
        for separation, n, unequal in MIXTURES:
            for d in (2, 10, 50):
                sizes = f", sizes 1 : {unequal}" if unequal > 1 else ""
                yield f"{separation} σ, n = {n}, d = {d}{sizes}", draw_mixture, (separation, n, unequal, d)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("method", choices=["PDDP", "NCutH", "MDH", "IncrementalMDH"])
    cli.add_argument("--draws", type=int, default=40, help="draws a cell")
    cli.add_argument("--only", choices=["level", "power"])
    cli.add_argument("--jobs", type=int, default=1, help="processes")
    args = cli.parse_args()
    with joblib.Parallel(args.jobs) as parallel:
        for name, draw, cell in cells(args.only):
            right = sum(parallel(joblib.delayed(_found)(args.method, draw, cell, seed) for seed in range(args.draws)))
            print(f"{name}: right in {right} of {args.draws}", flush=True)


if __name__ == "__main__":
    main()
