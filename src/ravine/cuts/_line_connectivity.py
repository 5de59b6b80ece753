"""How connected rows are along a direction: log λ₂ of their masses on a grid, with its derivatives (ch. 3A).

One evaluation costs a pass over the rows and O(m³) for m grid points.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._matrix import Floats
from ravine.cuts._density import Line
from ravine.cuts._similarity import (
    LEAST_CONNECTED,
    SHAPE,
    contraction_at,
    drawn_in,
    first_vectors,
    scratch_for_pairs,
    weigh,
)


@dataclass(frozen=True)
class LineConnectivity:
    """log λ₂ of the masses of rows on a grid along a direction, as an objective for `ravine.cuts._pursuit`.

    Parameters
    ----------
    scale, bound, normalized : see `Connectivity`
    unit : float
        Unit of length for `scale`.
    step : float
        Distance between grid points, in units. Rows far outside the bound are moved to the outermost points.
    tolerance : float
        A search ends at this decrease.
    """

    scale: float
    bound: float
    normalized: bool
    unit: float
    step: float
    tolerance: float

    def __call__(self, values: Floats, weights: Floats) -> tuple[float, float, Callable[[], Floats]]:
        """Return log λ₂, the position of the best cut, and the derivatives with respect to the values."""
        count = weights.sum()
        values = values / self.unit
        deviation = math.sqrt(weights @ values**2 / count)
        reach = self.bound * deviation + 2 * self.scale
        inside = np.clip(values, -reach, reach)
        line = Line.around(inside, self.step)
        at_all = line.bin(inside, weights)
        here = np.flatnonzero(at_all)
        mass, positions = at_all[here], line.positions[here]
        drawn, slope = drawn_in(positions, self.bound * deviation, contraction_at(self.scale))
        points = drawn[:, np.newaxis]
        spectral, n = _kernels.spectral, len(here)
        graph, degrees, pivots = np.empty((n, n)), np.empty(n), np.empty(n)
        weigh(points, mass, self.scale, scratch_for_pairs(n), graph, degrees)
        sizes = degrees if self.normalized else mass
        _, n_left = spectral.sweep(graph, np.arange(n), sizes)
        spectral.eliminate(graph, pivots)
        vectors = first_vectors(points)
        second, _ = spectral.second_pair(graph, pivots, sizes, vectors)
        position = float(positions[n_left - 1 : n_left + 1].mean()) * self.unit
        if not LEAST_CONNECTED * (degrees / sizes).max() < second < np.inf:
            return np.inf, position, lambda: np.zeros_like(values)

        def derivatives() -> Floats:
            by_mass, by_point = np.empty(n), np.zeros((1, n))
            spectral.mass_slopes(graph, mass, vectors[0], second, self.normalized, by_mass)
            columns = drawn[np.newaxis]
            spectral.slopes(columns, self.scale, SHAPE, graph, vectors[0], second, self.normalized, by_point)
            by_value = line.slopes(np.interp(line.positions, positions, by_mass), inside, weights)
            moved = np.abs(values) > reach
            # The deviation moves the bound, which moves the images outside it and the rows clipped at the reach.
            by_bound = by_point[0] @ (np.sign(positions) * (1 - slope)) + by_value[moved] @ np.sign(values[moved])
            by_value[moved] = 0.0
            by_value += by_bound * self.bound * weights * values / (count * deviation)
            return np.asarray(by_value / (second * self.unit))

        return math.log(second), position, derivatives
