"""Find the candidate for a cut on a line: its strongest valley. `ravine.tree._valley_test` tests whether it is real.

The deepest valley of a density often cuts off just a few outliers. The strongest valley is the one whose emptiness is
most surprising, given the number of rows in windows of one width at the valley and at its two modes.
"""

from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats
from ravine._ties import is_less
from ravine.cuts._density import normal_bandwidth, projected_density

BANDWIDTHS = (1.0, 0.5, 0.25)
"""Multiples of the normal-reference bandwidth that are searched for valleys; that bandwidth oversmooths many
clusters."""

WINDOWS = np.array([0.25, 0.5, 0.75, 1.0])
"""Window widths that are tried, relative to the distance from the valley to the nearer mode."""


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
    reference = normal_bandwidth(values, weights, bandwidth)
    if not reference > 0:
        return None
    best = None
    for multiple in BANDWIDTHS:
        along = projected_density(values, weights, float(np.hypot(multiple * reference, resolution / 2)))
        score, valley, left, right, window = _kernels.density.best_window(
            along.density, along.mass(), along.valleys(), along.count, along.step, WINDOWS, resolution, least_side
        )
        if score > 0 and (best is None or is_less(best.score, score)):
            position, left_mode, right_mode = along.at(np.array([valley, left, right])).tolist()
            depth = along.relative_depth(valley, left, right)
            best = Valley(position, left_mode, right_mode, window, score, float(along.density[valley]), depth)
    return best
