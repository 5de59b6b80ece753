"""The valley of a sample that is known by intervals (Hofmeyr, Pavlidis and Eckley 2016, §4.2).

The level is that at which the dip is attained, the bandwidth the smallest one with two components above it. A density
costs the number of intervals times the number of places.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ravine import _kernels
from ravine._matrix import Floats, Ints

BISECTIONS, NARROWEST, FINE = 20, 1e-4, 256
"""Steps of the search for a bandwidth, the smallest one as a share of the spread, and points between two components."""

EMPTIEST = 1e-12
"""Least density of a valley as a share of the lower mode: an emptier one looks just as empty."""


@dataclass(frozen=True)
class SampleValley:
    """Where a sample is cut, the highest modes beside that, and how much of it lies between them and around the cut.

    `reach` is how far the inner region goes, which is a share of the way to the nearest mode.
    """

    place: float
    left_mode: float
    right_mode: float
    reach: float
    density: float
    relative_depth: float
    inner_mass: float
    outer_mass: float


def find_valley(parts: Floats, inner_share: float) -> SampleValley | None:
    """The lowest antimode between two components above the level of the dip, at the smallest bandwidth with just two.

    None where no bandwidth has two.
    """
    low, high, weight = pieces_of(parts)
    room = 2 * parts.shape[1] + 2
    floats, ints = [np.empty(room) for _ in range(3)], [np.empty(room, dtype=np.int64) for _ in range(4)]
    _, level = _kernels.intervals.dip(np.ascontiguousarray(parts), parts.shape[1], *floats, *ints)
    middle = (low + high) / 2
    grid = np.unique(np.concatenate([low, high, middle, (high[:-1] + low[1:]) / 2]))
    spread = spread_of(low, high, weight)
    if not (level > 0 and spread > 0):
        return None
    narrow, wide = math.log(NARROWEST), math.log(4)  # of the spread, so that the unit does not change a digit
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
    place, lowest = float(fine[between.argmin()]), float(between.min())
    peak = min(density[a : b + 1].max(), density[c : d + 1].max())
    reach = inner_share * np.abs(grid[_modes(density, level)] - place).min()
    mass = mass_below(low, high, weight, bandwidth, np.array([left_mode, place - reach, place + reach, right_mode]))
    depth = float(peak) / max(lowest, EMPTIEST * float(peak)) - 1
    return SampleValley(
        place,
        left_mode,
        right_mode,
        float(reach),
        lowest,
        depth,
        float(mass[2] - mass[1]),
        float(mass[3] - mass[0]),
    )


def _modes(density: Floats, level: float) -> Ints:
    """Points that are no lower than the level and their neighbors."""
    around = np.concatenate([[-np.inf], density, [-np.inf]])
    return np.flatnonzero((density >= level) & (density >= around[:-2]) & (density >= around[2:]))


def pieces_of(parts: Floats) -> tuple[Floats, Floats, Floats]:
    """Ends of the intervals of a sample, and their shares of the weight."""
    intervals = _kernels.intervals
    weight = parts[intervals.WEIGHT]
    return parts[intervals.LOW], parts[intervals.HIGH], weight / weight.sum()


def spread_of(low: Floats, high: Floats, weight: Floats) -> float:
    """Standard deviation of uniform pieces."""
    middle = (low + high) / 2
    return math.sqrt(weight @ ((middle - weight @ middle) ** 2 + (high - low) ** 2 / 12))


def _components(density: Floats, level: float) -> list[tuple[int, int]]:
    """First and last point of each run of points above the level."""
    above = np.concatenate([[False], density >= level, [False]])
    edges = np.flatnonzero(above[1:] != above[:-1])
    return [(int(i), int(j) - 1) for i, j in edges.reshape(-1, 2)]


def density_of(low: Floats, high: Floats, weight: Floats, bandwidth: float, x: Floats) -> Floats:
    """Density of uniform pieces, and of points where a piece has no length, smoothed by a Gaussian."""
    out = np.empty(len(x))
    _kernels.intervals.smooth(low, high, weight, bandwidth, x, out)
    return out


def mass_below(low: Floats, high: Floats, weight: Floats, bandwidth: float, x: Floats) -> Floats:
    """Distribution function of the same density."""

    def integral(z: Floats) -> Floats:  # of the Gaussian distribution function
        return np.asarray(z * ndtr(z) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))

    from_low, length = (x[:, np.newaxis] - low) / bandwidth, (high - low) / bandwidth
    point = length <= _kernels.intervals.SHORT
    safe = np.where(point, 1.0, length)
    piece = (integral(from_low) - integral(from_low - length)) / safe
    return np.asarray(np.where(point, ndtr(from_low), piece) @ weight)
