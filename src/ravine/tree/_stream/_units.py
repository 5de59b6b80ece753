"""Units of the columns of a stream, renewed as rows come, so that a result does not depend on the units of the data."""

from dataclasses import dataclass

import numpy as np

from ravine._matrix import Floats
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import MIN_PROFILE
from ravine.tree._valley_test import lattice_steps

RECENT_ROWS = 128
"""Number of recent rows of each leaf that determine the units."""

SPREAD_GROWTH, STEPS_GROWTH = 1.25, 4.0
"""How much a stream grows before the spreads, and the lattice steps, are computed again."""

CONSTANT = 1e-9
"""A column counts as constant if its spread is below this share of its largest value."""

LEAST_DEVIATION = 1e-3
"""No deviation of a profile is below this share of the spread of the column."""


@dataclass
class Units:
    """Spread and lattice step of each column.

    Attributes
    ----------
    spread : ndarray of shape (n_features,)
        Standard deviation of recent rows of all leaves; infinite for a constant column.
    steps : ndarray of shape (n_features,)
        Lattice steps; almost 0 for a continuous column.
    least_deviation : ndarray of shape (n_features,)
        Lower bound of the deviations of a profile.
    spread_due, steps_due : float
        Rows at which they are computed again.
    """

    spread: Floats
    steps: Floats
    least_deviation: Floats
    spread_due: float = 0.0
    steps_due: float = 0.0

    def renew(self, nodes: Nodes, now: int) -> None:
        """Compute them again if that is due."""
        if now < self.spread_due:
            return
        rows = np.concatenate([nodes.recent(leaf, most=RECENT_ROWS)[0] for leaf in nodes.leaves()])
        spread, largest = rows.std(axis=0), np.abs(rows).max(axis=0)
        is_constant = ~(spread > CONSTANT * largest)
        self.spread = np.where(is_constant, np.inf, spread)
        self.spread_due = SPREAD_GROWTH * now
        if now >= self.steps_due and len(rows) >= MIN_PROFILE:
            self.steps = np.where(np.isfinite(self.spread), lattice_steps(rows), 0.0)
            self.steps_due = STEPS_GROWTH * now
        # A constant column is measured by its value, a column of zeros by the other columns.
        size = np.where(is_constant, np.where(largest > 0, largest, largest.max()), spread)
        floor = np.hypot(LEAST_DEVIATION * size, self.steps / np.sqrt(12))
        self.least_deviation = np.where(floor > 0, floor, 1.0)
