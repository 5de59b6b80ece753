"""Choose width, trade-off and level: the values around which the clusters stay the same over the largest region.

On a sample of the rows, the problem is solved exactly for a grid of widths γ and a few trade-offs C, and each solution
is cut at a few levels. Neighboring cells of the (γ, level) plane with the same clusters form a region. A cell counts by
the depth of the shallowest valley between its clusters, and a region by the sum of its cells. See
docs/decisions/support-vectors.md for the reasons.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ravine import _kernels
from ravine._blocks import count_threads, map_items
from ravine._matrix import Floats, Ints
from ravine._neighbors import components, neighbor_graph

RATIOS = (1.0, 2.0, 4.0)
"""C is one of these divided by the mean of the kernel. At 1 the function resembles a density; larger values make it
flatter."""

SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4])
"""Shares of the rows that lie below a level."""

N_NEIGHBORS = 10
"""Number of nearest neighbors with which each row is connected."""

OCTAVE, MOST_OCTAVES = 2, 24
"""Number of values of γ per doubling, and maximum number of doublings."""

SAME, COVERED, NUMBER_BONUS = 0.9, 0.5, 0.2
"""Minimum agreement for clusters to count as the same, minimum share of the rows on their modes, and the bonus for more
clusters: a region counts more by this share of the logarithm of their number."""

FAR = 1e15
"""Maximum distance of a row to the median row, relative to the median distance; its inverse is the minimum distance to
another row."""

GAP, SWEEPS = 1e-2, 200
"""The exact solutions reach this relative gap, or stop after this many sweeps."""


@dataclass(frozen=True)
class WidthChoice:
    """Parameters of a fit, and the clusters of the sample that they should give.

    Attributes
    ----------
    gamma, C : float
        Parameters of the kernel and of the problem.
    labels : ndarray of shape (n_samples,) or None
        Clusters; None if there is only one.
    strength : float
        Sum of the depths over the cells of the region; 0 if there is only one cluster.
    confirmed : bool or None
        Whether there are clusters that are stronger than chance; None if this was not tested.
    """

    gamma: float
    C: float
    labels: Ints | None
    strength: float
    confirmed: bool | None = None


class Cells(NamedTuple):
    """Results for a grid of parameters and levels; the first axes of each array are γ, C and level."""

    C: Floats
    labels: Ints
    number: Ints
    covered: Floats
    depth: Floats


class Sample:
    """Distinct rows with masses, and the edges between neighbors.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    mass : ndarray of shape (n_samples,)
    n_jobs : int or None
    """

    def __init__(self, rows: Floats, mass: Floats, n_jobs: int | None = None) -> None:
        self.rows, self.n_jobs = rows, n_jobs
        self.share = mass / mass.sum()
        # Use medians: a far row then neither costs the others their digits nor sets the unit.
        centered = rows - np.median(rows, axis=0)
        distance = np.linalg.norm(centered, axis=1)
        self.unit = float(np.median(distance)) or float(distance.max()) or 1.0
        self._scaled = np.clip(centered / self.unit, -FAR, FAR)
        self.a, self.b, self._length = neighbor_graph(self._scaled, N_NEIGHBORS, n_jobs)

    def grid(self) -> Floats:
        """Return values of γ.

        The widths go from three times the spread of the rows to half the distance between neighbors.
        """
        nearest = np.full(len(self.rows), np.inf)
        np.minimum.at(nearest, self.a, self._length)
        np.minimum.at(nearest, self.b, self._length)
        first = 0.125 / float(self.share @ (self._scaled**2).sum(axis=1))
        last = 4.0 / max(float(np.median(nearest)), 1.0 / FAR) ** 2
        n_octaves = min(max(np.log2(last / first), 0.0), MOST_OCTAVES)
        steps = np.arange(int(np.ceil(n_octaves * OCTAVE)) + 1)[::-1]
        return last * 2.0 ** (-steps / OCTAVE) / self.unit / self.unit

    def levels(self, at_rows: Floats) -> Floats:
        """Return the heights below which the shares `SHARES` of the rows lie."""
        return levels_below(at_rows, self.share, SHARES)

    def flood(self, lowest: Floats, at_rows: Floats, least: float) -> tuple[Ints, Ints, Floats, Floats]:
        """Return labels, number of clusters, covered share and depth at each level."""
        n_levels = len(SHARES)
        order = np.argsort(-lowest, kind="stable")
        labels = np.empty((n_levels, len(at_rows)), dtype=np.int64)
        found = [
            _kernels.svc.flood(self.a, self.b, lowest, order, at_rows, self.share, level, least, labels[j])
            for j, level in enumerate(self.levels(at_rows))
        ]
        number, covered, depth = (np.array(part) for part in zip(*found, strict=True))
        return labels, number, covered, depth

    def cells(self, gammas: Floats, C: float | None, least: float) -> Cells:
        """Compute the results for each γ, C and level; the grid of γ ends when no modes cover half of the rows."""
        distance = cdist(self._scaled, self._scaled, "sqeuclidean").astype(np.float32)
        squares = self._length**2

        def at_gamma(gamma: float) -> tuple[Any, ...]:
            gamma = gamma * self.unit * self.unit
            root = np.exp(distance * np.float32(-gamma / 4))
            kernel = root * root
            kernel *= kernel
            wide = kernel.astype(np.float64)  # each product with a vector would do this again
            mean = float(self.share @ (wide @ self.share))
            growth = np.exp(np.minimum(squares * (gamma / 4), 80.0))
            found = []
            beta = None
            for value in tuple(ratio / mean for ratio in RATIOS) if C is None else (C,):
                bound = value * self.share
                beta = bound.copy() if beta is None else beta
                at_rows = wide @ beta
                _kernels.svc.solve_dual(kernel, bound, beta, at_rows, GAP, SWEEPS)
                lowest = np.empty(len(self.a))
                narrow = beta.astype(np.float32)
                _kernels.svc.lowest_between_rows(root, narrow, self.a, self.b, growth, at_rows, lowest)
                found.append((np.full(len(SHARES), value), *self.flood(lowest, at_rows, least)))
            return tuple(np.array(part) for part in zip(*found, strict=True))

        found: list[tuple[Any, ...]] = []
        n_threads = count_threads(self.n_jobs)
        n_bare = 0
        for start in range(0, len(gammas), n_threads):
            for column in map_items(at_gamma, gammas[start : start + n_threads].tolist(), self.n_jobs):
                if n_bare < 2:
                    found.append(column)
                    n_bare = n_bare + 1 if column[3].max() < COVERED else 0
            if n_bare == 2:
                break
        return Cells(*(np.array(part) for part in zip(*found, strict=True)))


def levels_below(at_rows: Floats, share: Floats, shares: Floats) -> Floats:
    """Return the heights below which these shares of the rows lie."""
    order = np.argsort(at_rows, kind="stable")
    position = np.searchsorted(np.cumsum(share[order]), shares, side="right")
    return at_rows[order[np.minimum(position, len(order) - 1)]]


def least_size(total: float) -> float:
    """Return the minimum number of rows of a cluster, given the total number of rows."""
    return max(5.0, min(0.02 * total, 0.5 * float(np.sqrt(total))))


def choose(
    sample: Sample, least: float, gamma: float | None = None, C: float | None = None, n_clusters: int | None = None
) -> WidthChoice:
    """Choose the middle of the largest region of the grid, or of the largest region with `n_clusters` clusters.

    `least` is the minimum share of the rows in a cluster. Values given for γ and C are not searched.
    """
    gammas = np.array([gamma]) if gamma is not None else sample.grid() if len(sample.rows) > 1 else np.ones(1)
    cells = sample.cells(gammas, C, least)
    found = largest_region(cells, sample.share, n_clusters)
    if found is None:
        middle = (len(cells.C) - 1) // 2
        return WidthChoice(float(gammas[middle]), float(cells.C[middle, -1, 0]), None, 0.0)
    cell, strength = found
    return WidthChoice(float(gammas[cell[0]]), float(cells.C[cell]), cells.labels[cell], strength)


def largest_region(cells: Cells, share: Floats, n_clusters: int | None) -> tuple[tuple[int, int, int], float] | None:
    """Return the middle cell of the largest region, or of the largest with `n_clusters` clusters, and its strength."""
    region = _regions(cells, share)
    best, best_score, best_strength = None, 0.0, 0.0
    for r in np.unique(region[region >= 0]):
        inside = region == r
        number = int(cells.number[inside][0])
        strength = float(cells.depth[inside].sum())
        score = strength * (1.0 + NUMBER_BONUS * np.log(number))
        if score > best_score and n_clusters in (None, number):
            best, best_score, best_strength = inside, score, strength
    if best is None:
        return None
    position = np.argwhere(best)
    weight = cells.depth[best]
    center = weight @ position / weight.sum()
    g, c, level = position[((position - center) ** 2).sum(axis=1).argmin()].tolist()
    return (g, c, level), best_strength


def _regions(cells: Cells, share: Floats) -> Ints:
    """Return the region of each cell; -1 for cells with fewer than two clusters.

    A region consists of adjacent cells, in γ or level, with the same clusters.
    """
    number = cells.number
    is_good = (number > 1) & (cells.covered >= COVERED) & (cells.depth > 0)
    cell = np.arange(number.size).reshape(number.shape)
    a, b = [], []
    for axis in (0, 2):
        one, other = (np.moveaxis(cell, axis, 0)[part].ravel() for part in (slice(None, -1), slice(1, None)))
        flat_good, flat_number = is_good.ravel(), number.ravel()
        near = flat_good[one] & flat_good[other] & (flat_number[one] == flat_number[other])
        labels = cells.labels.reshape(number.size, -1)
        for p, r in zip(one[near], other[near], strict=True):
            if _kernels.svc.agreement(labels[p], labels[r], flat_number[p], share) >= SAME:
                a.append(p)
                b.append(r)
    group = components(np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), number.size).reshape(number.shape)
    return np.where(is_good, group, -1)
