"""The valley of a sample that is stored as intervals (Hofmeyr, Pavlidis and Eckley 2016, §4.2).

The level is where the dip is attained. The bandwidth is the smallest one with two components above that level. A
density costs the number of intervals times the number of positions.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ravine import _kernels
from ravine._matrix import Floats, Ints

BISECTIONS, NARROWEST, FINE = 20, 1e-4, 256
"""Number of steps in the search for a bandwidth, the smallest bandwidth as a share of the spread, and the number of
points between two components."""

EMPTIEST = 1e-12
"""Minimum density of a valley as a share of the lower mode; emptier valleys look just as empty."""


@dataclass(frozen=True)
class SampleValley:
    """The valley at which a sample is cut: its position, the highest modes on both sides, and the weight near it.

    `outer_mass` is the share of the sample between the modes and `inner_mass` the share within `reach` of the cut.
    `reach` is a share of the distance to the nearest mode.
    """

    position: float
    left_mode: float
    right_mode: float
    reach: float
    density: float
    relative_depth: float
    inner_mass: float
    outer_mass: float


def find_valley(sample: Floats, inner_share: float) -> SampleValley | None:
    """Find the lowest antimode between two components above the level of the dip.

    The bandwidth is the smallest one with exactly two components. The result is None if no bandwidth has two.
    """
    low, high, weight = pieces_of(sample)
    room = 2 * sample.shape[1] + 2
    floats, ints = [np.empty(room) for _ in range(3)], [np.empty(room, dtype=np.int64) for _ in range(4)]
    _, level = _kernels.intervals.dip(np.ascontiguousarray(sample), sample.shape[1], *floats, *ints)
    middle = (low + high) / 2
    grid = np.unique(np.concatenate([low, high, middle, (high[:-1] + low[1:]) / 2]))
    spread = spread_of(low, high, weight)
    if not (level > 0 and spread > 0):
        return None
    narrow, wide = math.log(NARROWEST), math.log(4)  # relative to the spread, so that the unit changes no digit
    for _ in range(BISECTIONS):
        half = (narrow + wide) / 2
        if len(_components(density_of(low, high, weight, spread * math.exp(half), grid), level)) > 2:
            narrow = half
        else:
            wide = half
    bandwidth = spread * math.exp(wide)
    density = density_of(low, high, weight, bandwidth, grid)
    components = _components(density, level)
    if len(components) != 2:
        return None
    (a, b), (c, d) = components
    left_mode, right_mode = (float(grid[i + int(density[i : j + 1].argmax())]) for i, j in components)
    fine = np.linspace(grid[b], grid[c], FINE)
    between = density_of(low, high, weight, bandwidth, fine)
    position, lowest = float(fine[between.argmin()]), float(between.min())
    peak = min(density[a : b + 1].max(), density[c : d + 1].max())
    reach = inner_share * np.abs(grid[_modes(density, level)] - position).min()
    mass = mass_below(
        low, high, weight, bandwidth, np.array([left_mode, position - reach, position + reach, right_mode])
    )
    depth = float(peak) / max(lowest, EMPTIEST * float(peak)) - 1
    return SampleValley(
        position,
        left_mode,
        right_mode,
        float(reach),
        lowest,
        depth,
        float(mass[2] - mass[1]),
        float(mass[3] - mass[0]),
    )


def _modes(density: Floats, level: float) -> Ints:
    """Return the points that are at least as high as the level and as their neighbors."""
    around = np.concatenate([[-np.inf], density, [-np.inf]])
    return np.flatnonzero((density >= level) & (density >= around[:-2]) & (density >= around[2:]))


def pieces_of(sample: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the ends of the intervals of a sample, and their shares of the weight."""
    intervals = _kernels.intervals
    weight = sample[intervals.WEIGHT]
    return sample[intervals.LOW], sample[intervals.HIGH], weight / weight.sum()


def spread_of(low: Floats, high: Floats, weight: Floats) -> float:
    """Return the standard deviation of uniform pieces."""
    middle = (low + high) / 2
    return math.sqrt(weight @ ((middle - weight @ middle) ** 2 + (high - low) ** 2 / 12))


def _components(density: Floats, level: float) -> list[tuple[int, int]]:
    """Return the first and the last point of each run of points above the level."""
    above = np.concatenate([[False], density >= level, [False]])
    edges = np.flatnonzero(above[1:] != above[:-1])
    return [(int(i), int(j) - 1) for i, j in edges.reshape(-1, 2)]


def density_of(low: Floats, high: Floats, weight: Floats, bandwidth: float, x: Floats) -> Floats:
    """Return the density of uniform pieces, smoothed by a Gaussian; a piece without length is a point."""
    out = np.empty(len(x))
    _kernels.intervals.smooth(low, high, weight, bandwidth, x, out)
    return out


def mass_below(low: Floats, high: Floats, weight: Floats, bandwidth: float, x: Floats) -> Floats:
    """Return the distribution function of the density of `density_of`."""

    def integral(z: Floats) -> Floats:  # of the Gaussian distribution function
        return np.asarray(z * ndtr(z) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))

    from_low, length = (x[:, np.newaxis] - low) / bandwidth, (high - low) / bandwidth
    point = length <= _kernels.intervals.SHORT
    safe = np.where(point, 1.0, length)
    piece = (integral(from_low) - integral(from_low - length)) / safe
    return np.asarray(np.where(point, ndtr(from_low), piece) @ weight)
