"""Measure a column of numbers: the logarithm of long tails, gaps that are written as numbers, center and scale.

Cells that are far outside of a column are typing errors more often than rows of interest. They are found by the rule of
`ravine._scaling`, here with bounds that are always finite, so that those of later rows are found as well. The encoder
estimates them like gaps; where it cannot, they are moved in.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from ravine._matrix import Bools, Floats
from ravine._scaling import EDGE, FAR, moved_in
from ravine._ties import TIE, first_least

TAIL = 1.3
"""A column has a long tail if the way from its median to its upper edge is this many times that to its lower edge. It
is 1.5 for a lognormal distribution with σ = 0.2, 2.8 for a gamma distribution of shape 2, and 4.8 for an exponential
one."""

MOST_GROUPS, LOOKED_AT, N_STEPS = 3, 1_000, 30
"""A column is described by up to so many normal groups, fitted to so many of its cells, in so many steps."""

CENTRAL = 0.005
"""Share of the cells at each end that the groups do not have to describe."""

LEAST_VARIANCE, LEAST_SHARE = 1e-3, 1e-12
"""Smallest variance of a group, as a share of that of the column, and smallest share of a cell in a group."""

CLEARLY = 10.0
"""The logarithm is used if it makes the column likelier by this factor, as a logarithm: docs/decisions/tables.md."""

LOG_FAR = 1.0
"""As `FAR`, for logarithms: a number that is a thousand times too large is not so far away there."""

THINS = 0.4
"""The way from the 90th percentile to the upper edge is at least this share of that from the median to the 90th: a tail
thins out, cells that pile up at a largest value or in a cluster do not. It is 0.2 for a uniform distribution and 1 for
an exponential one."""

FEW_VALUES, FEW_CELLS = 10, 50
"""A column with at most this many values, or with fewer cells, is not transformed."""

NEGATIVE = 0.005
"""The logarithm needs positive cells; up to this share of the others are typing errors."""

GAP_CODES = (
    *(sign * float("9" * n) for n in range(2, 9) for sign in (-1, 1)),
    *(-8888.0, -7777.0, -888.0, -777.0, -32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 4294967295.0),
)
"""Numbers that often stand for a missing value."""

GAP_DAYS = tuple(
    np.array(
        [
            "0001-01-01",
            "1753-01-01",
            "1899-12-30",
            "1899-12-31",
            "1900-01-01",
            "1970-01-01",
            "2099-12-31",
            "9999-12-31",
        ],
        dtype="M8[D]",
    )
    .astype(np.float64)
    .tolist()
)
"""Dates that often stand for a missing value, as days after 1970-01-01."""

GAP_REPEATS, GAP_SHARE = 3, 0.0005
"""Such a number is a gap if it occurs this often, in at least this share of the cells, and lies outside of all others
by more than the range of their central rows."""

OUTSIDE = 0.001
"""Later rows are on another scale if their median is beyond all but this share of the rows of the fit."""


@dataclass(frozen=True)
class Scale:
    """What is learned of a column of numbers.

    Attributes
    ----------
    transform : {"none", "log"}
    offset, knee : float
        The logarithm is that of the cell plus `offset`. Below `knee` it continues as a straight line.
    center, scale : float
        Mean and deviation after the transform.
    low, high, reach : float
        Edges of the central rows after the transform; cells farther than `reach` from them are far outside.
    fill : float
        Median of the cells in their own units, which replaces gaps.
    lowest, highest : float
        Bounds of nearly all cells, in their own units.
    """

    transform: str = "none"
    offset: float = 0.0
    knee: float = 0.0
    center: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    reach: float = np.inf
    fill: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0

    def forward(self, cells: Floats) -> Floats:
        """Return the cells after the transform, before they are moved in."""
        if self.transform == "none":
            return cells
        base = self.knee + self.offset
        with np.errstate(over="ignore"):
            line = np.log(base) + (cells - self.knee) / base
        return np.where(cells < self.knee, line, np.log(np.maximum(cells, self.knee) + self.offset))

    def encode(self, cells: Floats) -> Floats:
        """Return centered and scaled numbers; gaps (NaN) get the median."""
        known = np.where(np.isnan(cells), self.fill, cells)
        inside = moved_in(self.forward(known), *_bounds(self.low, self.high, self.reach))
        return (inside - self.center) / self.scale

    def is_far(self, cells: Floats) -> Bools:
        """Return which cells are far outside; gaps are not."""
        inner = self.forward(cells)
        return (inner < self.low - self.reach) | (inner > self.high + self.reach)

    def decode(self, encoded: Floats) -> Floats:
        """Return the cells in their own units: the inverse of `encode` where no cell is moved in."""
        inner = np.asarray(encoded) * self.scale + self.center
        if self.transform == "none":
            return inner
        base = self.knee + self.offset
        line = (inner - np.log(base)) * base + self.knee
        return np.where(inner < np.log(base), line, np.exp(inner) - self.offset)


def measured(cells: Floats) -> tuple[Scale, int]:
    """Return the scale of the known cells of a column, and the number of cells that are far outside."""
    ordered = np.sort(cells)
    first = _transform(ordered)
    within = first.forward(ordered)
    low, high, reach = _edges(within, LOG_FAR if first.transform == "log" else FAR)
    kept = moved_in(within, *_bounds(low, high, reach))
    lowest, highest = (_quantile(ordered[kept == within], share) for share in (OUTSIDE, 1 - OUTSIDE))
    deviation = float(kept.std())
    center = float(kept.mean())
    is_constant = deviation <= 8 * np.finfo(np.float64).eps * abs(center)
    found = Scale(
        transform=first.transform,
        offset=first.offset,
        knee=first.knee,
        center=center,
        scale=1.0 if is_constant else deviation,
        low=low,
        high=high,
        reach=reach,
        fill=_quantile(ordered, 0.5),
        lowest=lowest,
        highest=highest,
    )
    return found, int((kept != within).sum())


def gap_codes(cells: Floats, codes: tuple[float, ...] = GAP_CODES) -> tuple[float, ...]:
    """Return the numbers of a column that stand for a missing value: repeated, far outside, and of a known shape."""
    found: list[float] = []
    ordered = np.sort(cells)
    while len(ordered):
        for code in (ordered[-1], ordered[0]):
            count = int(np.searchsorted(ordered, code, "right") - np.searchsorted(ordered, code, "left"))
            others = ordered[ordered != code]
            is_frequent = max(GAP_REPEATS, GAP_SHARE * len(cells)) <= count <= len(cells) / 2
            if code in codes and is_frequent and len(others):
                width = _quantile(others, 1 - EDGE) - _quantile(others, EDGE)
                if width > 0 and np.abs(others - code).min() > width:
                    found.append(float(code))
                    ordered = others
                    break
        else:
            break
    return tuple(sorted(found))


def _bounds(low: float, high: float, reach: float) -> tuple[Floats, Floats, Floats]:
    return np.asarray(low), np.asarray(high), np.asarray(reach)


def _quantile(ordered: Floats, share: float) -> float:
    """Return the smallest of some sorted numbers that at least this share of them does not exceed."""
    return float(ordered[min(max(int(np.ceil(share * len(ordered) * (1 - 1e-12))) - 1, 0), len(ordered) - 1)])


def _edges(ordered: Floats, far: float) -> tuple[float, float, float]:
    """Return the edges of the central rows, and the distance to them that is far outside, as `_scaling.edges_of`."""
    n_beyond = EDGE * (1 + TIE) * len(ordered)
    low, high = float(ordered[int(n_beyond)]), float(ordered[int(np.ceil(len(ordered) - n_beyond)) - 1])
    width = high - low
    if width == 0:
        others = np.sort(np.abs(ordered[ordered != low] - low))
        width = _quantile(others, 0.5) if len(others) else max(abs(low), 1.0)
    return low, high, min(far * width, np.finfo(np.float64).max / 4)


def _tail(ordered: Floats) -> float:
    """Return the logarithm of the ratio of the ways from the median to the upper and to the lower edge."""
    low, middle, high = (_quantile(ordered, share) for share in (EDGE, 0.5, 1 - EDGE))
    if middle == low or high == middle:
        return 0.0
    return float(np.log(high - middle) - np.log(middle - low))


def _transform(ordered: Floats) -> Scale:
    """Return a logarithm if it makes a long tail short and the column likelier, or no transform."""
    positive = ordered[ordered > 0]
    if len(ordered) < FEW_CELLS or (ordered < 0).mean() > NEGATIVE or len(positive) < len(ordered) / 2:
        return Scale()
    if len(np.unique(positive)) <= FEW_VALUES:
        return Scale()
    has_zeros = bool((ordered == 0).mean() > NEGATIVE)
    judged = ordered if _quantile(ordered, 0.5) > _quantile(ordered, EDGE) else positive
    middle, upper, edge = (_quantile(judged, share) for share in (0.5, 0.9, 1 - EDGE))
    if _tail(judged) < np.log(TAIL) or edge - upper < THINS * (upper - middle):
        return Scale()
    quarter = _quantile(positive, 0.25)
    if quarter == _quantile(positive, OUTSIDE):
        return Scale()  # a quarter of the cells have the smallest value: the logarithm puts a valley above it
    candidates = [Scale(transform="log", offset=quarter)]
    if not has_zeros:
        candidates.insert(0, Scale(transform="log", knee=_quantile(positive, OUTSIDE)))
    low, high = (_quantile(ordered, share) for share in (CENTRAL, 1 - CENTRAL))
    central = ordered[(ordered >= low) & (ordered <= high)]
    central = central[np.linspace(0, len(central) - 1, min(len(central), LOOKED_AT)).astype(np.int64)]
    gains = [_log_likelihood(one, central) - _log_likelihood(Scale(), central) for one in candidates]
    best = first_least([-gain for gain in gains])
    return candidates[best] if gains[best] > CLEARLY else Scale()


def _log_likelihood(scale: Scale, cells: Floats) -> float:
    """Return how well normal groups describe the cells after a transform, as a log density in their own units.

    It is half the Bayesian information criterion with the opposite sign, of the best number of groups.
    """
    inner = scale.forward(cells)
    slope = 0.0 if scale.transform == "none" else -np.log(np.maximum(cells, scale.knee) + scale.offset).sum()
    found = [_normal_groups(inner, n) - (3 * n - 1) / 2 * np.log(len(cells)) for n in range(1, MOST_GROUPS + 1)]
    return float(slope + max(found))


def _normal_groups(ordered: Floats, n_groups: int) -> float:
    """Return the log likelihood of a mixture of normal distributions, started from equal parts of sorted numbers."""
    group = np.arange(len(ordered)) * n_groups // len(ordered)
    share = np.eye(n_groups)[group]
    least = LEAST_VARIANCE * ordered.var()
    for _ in range(N_STEPS):
        count = share.sum(axis=0)
        mean = ordered @ share / count
        squares = (ordered[:, np.newaxis] - mean) ** 2
        variance = np.maximum((share * squares).sum(axis=0) / count, least)
        joint = np.log(count / len(ordered)) - 0.5 * (np.log(2 * np.pi * variance) + squares / variance)
        total = scipy.special.logsumexp(joint, axis=1, keepdims=True)
        share = np.maximum(np.exp(joint - total), LEAST_SHARE)
    return float(total.sum())
