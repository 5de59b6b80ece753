"""How often a method that is not told the number of clusters splits a single one, and how often it finds several.

    python -m benchmarks.peers.level NCutH --draws 40
    python -m benchmarks.peers.level MDH --draws 10 --only power

False alarms: one cluster of several shapes, as it is and rounded at one standard deviation. Power: mixtures of two to
ten unit Gaussians, the two nearest centres 6 or 7 standard deviations apart. Prints a line a cell.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

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


def false_alarms(method: Callable[..., object], draws: int, rng: np.random.Generator) -> None:
    """Print how many draws of one cluster are split, for each shape, rounding and size."""
    for name, draw in SHAPES.items():
        for rounded in (False, True):
            for n, d in SIZES:
                split = 0
                for seed in range(draws):
                    X = draw(rng, n, d)
                    X = np.round(X / X.std()) if rounded else X
                    split += method(random_state=seed).fit(X).n_clusters_ > 1  # type: ignore[attr-defined]
                print(f"{name}{', rounded' if rounded else ''}, n = {n}, d = {d}: {split} of {draws} split", flush=True)


def power(method: Callable[..., object], draws: int, rng: np.random.Generator) -> None:
    """Print how often the number of components of a mixture is found."""
    for separation in (6, 7):
        for d in (2, 10, 50):
            for n in (500, 1000):
                right = 0
                for seed in range(draws):
                    k = int(rng.integers(2, 11))
                    centres = rng.normal(size=(k, d))
                    centres *= separation / pdist(centres).min()
                    X = centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))
                    right += method(random_state=seed).fit(X).n_clusters_ == k  # type: ignore[attr-defined]
                print(f"{separation} σ, n = {n}, d = {d}: right in {right} of {draws}", flush=True)


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("method", choices=["PDDP", "NCutH", "MDH"])
    cli.add_argument("--draws", type=int, default=40, help="draws a cell")
    cli.add_argument("--only", choices=["level", "power"])
    args = cli.parse_args()
    method, rng = getattr(ravine, args.method), np.random.default_rng(0)
    if args.only != "power":
        false_alarms(method, args.draws, rng)
    if args.only != "level":
        power(method, args.draws, rng)


if __name__ == "__main__":
    main()
