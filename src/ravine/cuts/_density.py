"""Kernel density of projected rows on a grid, and its valleys.

The kernel is Gaussian and the binning is linear, so that a density costs O(n + bins). Tasoulis et al. (2010) use the
exact sum; `tests/naive.py` measures the difference.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats, Ints

MARGIN = 3.0
"""The grid extends this many bandwidths beyond the smallest and the largest value."""

REACH = 8.0
"""The kernel is truncated at this many bandwidths, where it has dropped to 1e-14."""

DEPTH_BANDWIDTH = 0.9
"""Bandwidth factor used to measure the depth of the valley at a cut."""

MIN_BINS, MAX_BINS, BINS_PER_BANDWIDTH = 512, 1 << 16, 4


class GridRule(NamedTuple):
    """How fine the grid of a density is.

    Attributes
    ----------
    margin, reach : float
        The grid extends this many bandwidths beyond the values, and the kernel this many beyond a value.
    bins_per_bandwidth : float
    min_bins, max_bins : float
    """

    margin: float
    reach: float
    bins_per_bandwidth: float
    min_bins: float
    max_bins: float


FINE = GridRule(MARGIN, REACH, float(BINS_PER_BANDWIDTH), float(MIN_BINS), float(MAX_BINS))
"""The grid on which a cut is placed."""

COARSE = GridRule(MARGIN, 4.0, float(BINS_PER_BANDWIDTH), 64.0, 4096.0)
"""The grid on which many directions are compared."""


@dataclass(frozen=True)
class ProjectedDensity:
    """Density of values on a line, of total weight `count`, at the grid points ``low + step * i``."""

    low: float
    step: float
    density: Floats
    bandwidth: float
    count: float

    def at(self, index: Ints) -> Floats:
        """Return the positions of grid points."""
        return np.asarray(self.low + self.step * index, dtype=np.float64)

    def mass(self) -> Floats:
        """Return the share of the weight up to each grid point."""
        total = np.cumsum(self.density)
        return np.asarray(total / total[-1])

    def index(self, position: float) -> int:
        """Return the grid point nearest to a position."""
        return int(min(max(round((position - self.low) / self.step), 0), len(self.density) - 1))

    def valleys(self) -> Ints:
        """Return rows (valley, left mode, right mode, width) of grid indices; see `ravine._kernels.density.valleys`."""
        return _kernels.density.valleys(self.density)

    def relative_depth(self, valley: int, left_mode: int, right_mode: int) -> float:
        """Return the relative depth of a valley; see `depth_above`."""
        lower_mode = min(self.density[left_mode], self.density[right_mode])
        return depth_above(float(self.density[valley]), float(lower_mode), self.bandwidth, self.count)

    def relative_depth_at(self, position: float) -> float:
        """Return the relative depth at a position; 0 unless it lies between two modes and below both."""
        here = self.index(position)
        for _, left_mode, right_mode, _ in self.valleys():
            if left_mode < here < right_mode:
                return max(self.relative_depth(here, left_mode, right_mode), 0.0)
        return 0.0


def depth_above(valley: float, lower_mode: float, bandwidth: float, count: float) -> float:
    """Return the relative depth of a valley, given the densities there and at its lower mode (Hofmeyr 2016, eq. 2.30).

    The density at the valley is at least what one row adds where the kernel is truncated.
    """
    floor = math.exp(-0.5 * REACH**2) / (math.sqrt(2 * math.pi) * bandwidth * count)
    return lower_mode / max(valley, floor) - 1


def normal_reference(factor: float, deviation: float, count: float) -> float:
    """Return ``factor * σ * n^(-1/5)``, where n is the total weight, but at least 1."""
    return factor * deviation * max(count, 1.0) ** -0.2


def normal_bandwidth(values: Floats, weights: Floats, factor: float) -> float:
    """Return the `normal_reference` of weighted values; 0 if the values differ at most by rounding."""
    if np.ptp(values) <= 8 * np.finfo(np.float64).eps * np.abs(values).max():
        return 0.0
    count = weights.sum()
    deviation = values - (weights @ values) / count
    return normal_reference(factor, math.sqrt((weights @ deviation**2) / count), float(count))


@dataclass(frozen=True)
class Grid:
    """Grid points ``low + step * i`` for the density of values on a line, for one bandwidth."""

    low: float
    step: float
    n_bins: int
    bandwidth: float
    reach: float = REACH

    @classmethod
    def around(cls, lowest: float, highest: float, bandwidth: float, rule: GridRule = FINE) -> "Grid":
        """Return the grid for values between two numbers; the bandwidth must be positive."""
        low, high = lowest - rule.margin * bandwidth, highest + rule.margin * bandwidth
        n_bins = int(min(max(rule.bins_per_bandwidth * (high - low) / bandwidth, rule.min_bins), rule.max_bins))
        return cls(low, (high - low) / (n_bins - 1), n_bins, bandwidth, rule.reach)

    @property
    def numbers(self) -> tuple[float, float, int]:
        """First grid point, step and number of points, as kernels take them."""
        return self.low, self.step, self.n_bins

    def kernel(self, count: float) -> Floats:
        """Return the right half of the kernel for values of this total weight, at the grid points."""
        offsets = np.arange(int(self.reach * self.bandwidth / self.step) + 1) * (self.step / self.bandwidth)
        return np.asarray(np.exp(-0.5 * offsets**2) / (math.sqrt(2 * math.pi) * self.bandwidth * count))


def projected_density(values: Floats, weights: Floats, bandwidth: float, rule: GridRule = FINE) -> ProjectedDensity:
    """Return the density of weighted values; the bandwidth must be positive."""
    grid, count = Grid.around(float(values.min()), float(values.max()), bandwidth, rule), float(weights.sum())
    counts = _kernels.density.bin_linear(values, weights, *grid.numbers)
    return ProjectedDensity(grid.low, grid.step, _kernels.density.smooth(counts, grid.kernel(count)), bandwidth, count)


def depth_at(position: float, values: Floats, weights: Floats) -> float:
    """Return the relative depth of the valley at a position among weighted values; 0 if there is no valley."""
    bandwidth = normal_bandwidth(values, weights, DEPTH_BANDWIDTH)
    return projected_density(values, weights, bandwidth).relative_depth_at(position) if bandwidth > 0 else 0.0


@dataclass(frozen=True)
class Line:
    """Grid points ``low + step * i`` around some values, on a lattice that is the same for all directions."""

    low: float
    step: float
    n_bins: int

    @classmethod
    def around(cls, values: Floats, step: float) -> "Line":
        """Return the section of the lattice that contains the values, with a larger step if it had too many points."""
        return cls.between(float(values.min()), float(values.max()), step)

    @classmethod
    def between(cls, lowest: float, highest: float, step: float) -> "Line":
        """Return the section of the lattice that contains two values, with a larger step if it had too many points."""
        step = max(step, (highest - lowest) / (MAX_BINS - 4))
        first = math.floor(lowest / step) - 1
        return cls(first * step, step, math.ceil(highest / step) - first + 2)

    @property
    def positions(self) -> Floats:
        """Positions of the grid points."""
        return np.asarray(self.low + self.step * np.arange(self.n_bins), dtype=np.float64)

    def bin(self, values: Floats, weights: Floats) -> Floats:
        """Return the weight on each grid point; see `ravine._kernels.density.bin_linear`."""
        return _kernels.density.bin_linear(values, weights, self.low, self.step, self.n_bins)

    def slopes(self, potential: Floats, values: Floats, weights: Floats) -> Floats:
        """Return derivatives by the values, given the derivatives by the binned weights (`potential`)."""
        return _kernels.density.slopes(values, weights, self.low, self.step, potential)
