"""Rows that `outliers="label"` flags, in clean clusters and among planted rows, beside two other rules.

``python -m benchmarks.outliers`` prints the tables of docs/decisions/soft-clusters.md.
"""

import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ravine import NCutH

Rows = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Rows]

SIZES = ((300, 2, 2), (2000, 2, 3), (2000, 10, 3), (2000, 50, 3), (1500, 150, 3))
"""Numbers of rows, columns and clusters."""

SEEDS = range(5)
PLANTED = 0.004
"""Share of planted rows: less than the one in 200 that the method needs for a cluster of its own."""

LEVEL = 1e-4
"""Share of the rows of a component that are outliers by its own distribution."""


def scaled_t(freedom: float) -> Draw:
    """Return a function that draws rows of a multivariate t distribution."""
    return lambda rng, shape: rng.normal(size=shape) / np.sqrt(rng.chisquare(freedom, (shape[0], 1)) / freedom)


CLUSTERS: dict[str, Draw] = {
    "Gaussian": lambda rng, shape: rng.normal(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-math.sqrt(3), math.sqrt(3), size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "t, 5 degrees": scaled_t(5),
    "t, 3 degrees": scaled_t(3),
}


def box(X: Rows, rows: NDArray[np.int64], rng: np.random.Generator) -> Rows:
    """Plant rows in a box that is ten times as wide as the rows, but outside of the box of the rows."""
    center, half = (X.max(axis=0) + X.min(axis=0)) / 2, (X.max(axis=0) - X.min(axis=0)) / 2
    place = rng.uniform(-10, 10, (len(rows), X.shape[1]))
    first = place[:, 0]
    place[:, 0] = np.sign(first) * np.maximum(np.abs(first), 2)
    return np.asarray(center + half * place)


def cell(X: Rows, rows: NDArray[np.int64], rng: np.random.Generator) -> Rows:
    """Plant one cell of 999 into rows of a scaled table, each in a column of its own."""
    planted = X[rows].copy()
    planted[np.arange(len(rows)), rng.permutation(np.arange(len(rows)) % X.shape[1])] = 999
    return planted


def shift(X: Rows, rows: NDArray[np.int64], rng: np.random.Generator) -> Rows:
    """Plant rows ten deviations away from where they were, or three times the radius of a cluster if that is more."""
    apart = rng.normal(size=(len(rows), X.shape[1]))
    far = max(10.0, 3 * math.sqrt(X.shape[1]))
    return np.asarray(X[rows] + far * apart / np.linalg.norm(apart, axis=1, keepdims=True))


def drawn(draw: Draw, size: tuple[int, int, int], rng: np.random.Generator) -> Rows:
    """Return clusters whose centers are 15 deviations from the origin."""
    n_rows, n_columns, n_clusters = size
    center = rng.normal(size=(n_clusters, n_columns))
    center *= 15 / np.linalg.norm(center, axis=1, keepdims=True)
    return np.asarray(draw(rng, (n_rows, n_columns)) + center[rng.integers(0, n_clusters, n_rows)])


def flags(model: NCutH, X: Rows) -> Iterator[NDArray[np.bool_]]:
    """Yield the outliers by the rule of the model, by the distribution of a component, and by a quantile."""
    mixture = model.tree_.mixture
    if mixture is None:  # a warning says so, and no row is flagged
        yield from np.zeros((3, len(X)), dtype=bool)
        return
    component = mixture.likeliest(X, np.maximum(model.labels_, 0))
    distance, n_columns = mixture.distance(X, component), X.shape[1]
    if math.isinf(mixture.freedom):
        limit = stats.chi2.isf(LEVEL, n_columns)
    else:
        limit = n_columns * stats.f.isf(LEVEL, n_columns, mixture.freedom)
    yield model.labels_ < 0
    yield distance > math.sqrt(limit)
    yield distance > np.quantile(distance, 0.999)


def shares(draw: Draw, size: tuple[int, int, int], plant: Callable[..., Rows] | None) -> tuple[Rows, Rows]:
    """Return the percentage of ordinary rows and of planted rows that each rule flags."""
    ordinary, planted = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = drawn(draw, size, rng)
        rows = np.arange(0 if plant is None else math.ceil(PLANTED * len(X)))
        if plant is not None:
            X = (X - X.mean(axis=0)) / X.std(axis=0) if plant is cell else X
            X[rows] = plant(X, rows, rng)
        model = NCutH(size[2] if plant is None else None, outliers="label").fit(X)
        found = list(flags(model, X))
        ordinary.append([100 * np.delete(each, rows).mean() for each in found])
        planted.append([100 * each[rows].mean() if len(rows) else np.nan for each in found])
    return np.mean(ordinary, axis=0), np.mean(planted, axis=0)


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    for plant in (None, box, cell, shift):
        print(f"\n{'clean' if plant is None else plant.__name__}: % of ordinary rows / of planted rows flagged")
        print("| clusters | rows, columns | learned limit | distribution | quantile |")
        for name, draw in CLUSTERS.items():
            for size in SIZES:
                cells = [
                    f"{few:.2f}" if plant is None else f"{few:.2f} / {many:.0f}"
                    for few, many in zip(*shares(draw, size, plant), strict=True)
                ]
                print(f"| {name} | {size[0]}, {size[1]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
