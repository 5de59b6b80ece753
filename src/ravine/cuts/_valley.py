"""Find the candidate for a cut on a line: its strongest valley. `ravine.tree._valley_test` tests whether it is real.

The deepest valley of a density often cuts off just a few outliers. The strongest valley is the one whose emptiness is
most surprising, given the number of rows in windows of one width at the valley and at its two modes.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats
from ravine.cuts._cut import Cut
from ravine.cuts._density import FINE, depth_above

BANDWIDTHS = np.array([1.0, 0.5, 0.25])
"""Multiples of the normal-reference bandwidth that are searched for valleys; that bandwidth oversmooths many
clusters."""

WINDOWS = np.array([0.25, 0.5, 0.75, 1.0])
"""Window widths that are tried, relative to the distance from the valley to the nearer mode."""

for constant in (BANDWIDTHS, WINDOWS):
    constant.setflags(write=False)  # always: a kernel is compiled a second time for arrays that can be written


@dataclass(frozen=True)
class Valley:
    """A valley on a line: its position, its modes, the window for its test, and the score that chose it."""

    position: float
    left_mode: float
    right_mode: float
    window: float
    score: float
    density: float
    relative_depth: float

    def moved(self, cut: Cut, origin: float = 0.0) -> Cut:
        """Return a cut along this line that is moved to the valley; positions on the line are relative to `origin`."""
        offset = self.position + origin
        return replace(cut, offset=offset, value=self.density, relative_depth=self.relative_depth)


def strongest_valley(
    values: Floats, weights: Floats, bandwidth: float, resolution: float = 0.0, least_side: float = 0.0
) -> Valley | None:
    """Find the valley with the best score over all bandwidths, windows and antimodes.

    Parameters
    ----------
    values, weights : ndarray of shape (n_samples,)
        Projected rows.
    bandwidth : float
        Factor of σ n^(-1/5); the multiples `BANDWIDTHS` of it are searched.
    resolution : float, default=0
        Structure finer than this is ignored; see `ravine.tree._valley_test.resolution_along`.
    least_side : float, default=0
        Minimum share of the weight on either side of the valley.
    """
    kernel, count = _kernels.density, float(weights.sum())
    entries = np.zeros((1, kernel.N_ENTRIES))
    kernel.strongest_on_lines(
        values[np.newaxis],
        weights,
        count,
        float(bandwidth),
        np.array([resolution]),
        BANDWIDTHS,
        WINDOWS,
        FINE,
        float(least_side),
        math.inf,
        entries,
    )
    found = entries[0].tolist()
    if not found[kernel.SCORE] > 0:
        return None
    used = found[kernel.BANDWIDTH]
    at_valley, *at_modes = (
        found[entry] / (math.sqrt(2 * math.pi) * used * count)
        for entry in (kernel.AT_VALLEY, kernel.AT_LEFT, kernel.AT_RIGHT)
    )
    return Valley(
        found[kernel.POSITION],
        found[kernel.LEFT_MODE],
        found[kernel.RIGHT_MODE],
        found[kernel.WINDOW],
        found[kernel.SCORE],
        at_valley,
        depth_above(at_valley, min(at_modes), used, count),
    )
