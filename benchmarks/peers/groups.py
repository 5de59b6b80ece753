"""Streams of well separated groups, for the benchmarks in which the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

COEFFICIENT = 0.9
ZEROS = 0.7
SESSION = 50
NOISES = (
    "gaussian",
    "t3",
    "uniform",
    "exponential",
    "counts",
    "rounded",
    "zero-heavy",
    "AR(1)",
    "AR(1), sessions",
)


def generator(seed: int, *cell: object) -> np.random.Generator:
    """Return a generator that depends on the seed and on the name of the stream alone."""
    return np.random.default_rng([crc32(repr(cell).encode()), seed])


def separated(
    count: int, d: int, distance: float, rng: np.random.Generator, others: Sequence[Floats] | Floats = ()
) -> Floats:
    """Draw centers in a cube, each at least `distance` from the rest and from the others."""
    found = list(others)
    wanted = len(found) + count
    side = 1.2 * distance * wanted ** (1 / d) * min(1.0, np.sqrt(3 / d))
    tries = 0
    while len(found) < wanted:
        center = rng.uniform(-side, side, d)
        if all(np.linalg.norm(center - other) >= distance for other in found):
            found.append(center)
        tries += 1
        if tries % 200 == 0:
            side *= 1.1
    return np.array(found[len(others) :])


def independent_noise(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Draw independent noise of unit variance."""
    if kind in ("gaussian", "rounded"):
        return rng.standard_normal(shape)
    if kind == "t3":
        return rng.standard_t(3, shape) / np.sqrt(3)
    if kind == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)
    if kind == "exponential":
        return rng.exponential(size=shape)
    if kind == "zero-heavy":
        share = 1 - ZEROS
        values = rng.exponential(size=shape) * (rng.random(shape) < share)
        return values / np.sqrt(2 * share - share**2)
    raise ValueError(f"no noise is called {kind!r}")


@dataclass
class Groups:
    """Groups of one kind of noise, drawn batch by batch; their distribution does not change.

    All noise has unit variance. Counts are Poisson, with rates such that twice the root of a count has unit variance
    and the drawn centers. AR(1) noise runs over the rows of its group. In sessions, one group follows another after
    about 50 rows.
    """

    kind: str
    centers: Floats
    rng: np.random.Generator
    shares: Floats = field(init=False)
    _last: Floats | None = field(init=False, default=None)
    _group: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        shares = self.rng.uniform(1, 2, len(self.centers))
        self.shares = shares / shares.sum()

    def draw(self, n_rows: int) -> tuple[Floats, Labels]:
        """Return the next rows and their groups."""
        y = self._sessions(n_rows) if self.kind.endswith("sessions") else self._choose(n_rows)
        if self.kind == "counts":
            roots = 2 + self.centers - self.centers.min()
            return self.rng.poisson((roots[y] / 2) ** 2).astype(np.float64), y
        if self.kind.startswith("AR(1)"):
            return self.centers[y] + self._autoregressive(y), y
        X = self.centers[y] + independent_noise(self.kind, (n_rows, self.centers.shape[1]), self.rng)
        return (np.round(X) if self.kind == "rounded" else X), y

    def _choose(self, count: int) -> Labels:
        return self.rng.choice(len(self.shares), count, p=self.shares)

    def _sessions(self, n_rows: int) -> Labels:
        starts = self.rng.random(n_rows) < 1 / SESSION
        groups = np.r_[self._group, self._choose(int(starts.sum()))]
        y: Labels = groups[np.cumsum(starts)]
        self._group = int(y[-1])
        return y

    def _autoregressive(self, y: Labels) -> Floats:
        if self._last is None:
            self._last = self.rng.standard_normal(self.centers.shape)
        steps = np.sqrt(1 - COEFFICIENT**2) * self.rng.standard_normal((len(y), self.centers.shape[1]))
        noise = np.empty_like(steps)
        for group, last in enumerate(self._last):
            rows = np.flatnonzero(y == group)
            if len(rows):
                start = COEFFICIENT * last[None]
                noise[rows], _ = lfilter([1.0], [1.0, -COEFFICIENT], steps[rows], axis=0, zi=start)
                self._last[group] = noise[rows[-1]]
        return noise


def kinds(events: Sequence[dict[str, Any]]) -> str:
    """Return the number of events of each kind, in words."""
    names = [event["kind"] for event in events]
    return ", ".join(f"{names.count(kind)} {kind}" for kind in dict.fromkeys(names))
