"""Cuts of out-of-core data: the searches of `ncut`, `mdh` and `principal`, done in passes that return small results.

Rows of small nodes are fetched into memory and cut there. A large node is first searched on a sample, which leaves only
a few evaluations on all rows. One evaluation takes one pass over the rows along a direction, or two passes for many
columns.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._lattice import Lattice
from ravine._matrix import Floats, Matrix
from ravine._outofcore import ChunkedNode
from ravine._ties import first_least
from ravine.cuts._along import COARSE_ABOVE, POINTS_PER_DEVIATION
from ravine.cuts._cut import Cut, RoughCut
from ravine.cuts._density import MAX_BINS, Line, depth_at, normal_reference
from ravine.cuts._mdh import TOLERANCE, DensityPath
from ravine.cuts._ncut import BINS_PER_DEVIATION, NCutState, NormalizedCut
from ravine.cuts._principal import (
    MAX_SCATTER_COLUMNS,
    directions_by_products,
    directions_of_scatter,
    lowest_antimode,
)
from ravine.cuts._pursuit import (
    COARSE_ROWS,
    Found,
    LineObjective,
    OnLine,
    descend,
    search,
    steady,
    unit_directions,
)

ChunkedStarts = Callable[[ChunkedNode], Floats]
"""A function that returns the directions, one per row of the array, from which the search of a node starts."""


def make_starts(init: str | int | ArrayLike | Callable[..., ArrayLike]) -> ChunkedStarts:
    """Return the starts for `init`, with the meaning that it has for in-memory data; callables are not supported."""
    if callable(init):
        raise ValueError(
            "init is a function of all rows, which is not supported for out-of-core data: use directions or a number"
        )
    if isinstance(init, str):
        init = 1
    if isinstance(init, int | np.integer):
        return lambda node: steady(chunked_directions(node, int(init)))
    return lambda node: steady(unit_directions(init, len(node.moments.mean)))


def chunked_directions(node: ChunkedNode, n_directions: int) -> Floats:
    """Return the first principal directions of out-of-core data, as `principal_directions` does for in-memory data."""
    n_columns = len(node.moments.mean)
    n_directions = min(n_directions, node.n_rows, n_columns)
    if not node.moments.varies:
        return np.empty((0, n_columns))
    if n_columns <= MAX_SCATTER_COLUMNS:
        return directions_of_scatter(node.scatter, n_directions)
    return directions_by_products(node.scatter_times, n_directions, n_columns)


def along(node: ChunkedNode, direction: Floats) -> Lattice:
    """Project the rows on a direction, centered at their mean, on a lattice fine enough to replace them."""
    return node.lattice(direction, _fine_step(node, direction))


def _fine_step(node: ChunkedNode, direction: Floats) -> float:
    deviation = node.deviation(direction)
    return deviation / POINTS_PER_DEVIATION if deviation > 0 else 1.0


def chunked_search(node: ChunkedNode, objective: LineObjective, start: Floats, before: Any = None) -> Found:
    """Run `ravine.cuts._pursuit.search` on out-of-core data."""

    def evaluate(v: Floats) -> tuple[float, float, Callable[[], Floats]]:
        length = np.linalg.norm(v)
        unit = v / length
        looked = node.look(unit, objective.step, MAX_BINS)
        found = _on_line(node, objective, looked.lattices[0])

        def gradient() -> Floats:
            by_direction = node.pull(unit, looked, found.slopes, found.tilt)
            return np.asarray((by_direction - (by_direction @ unit) * unit) / length)

        return found.value, found.position, gradient

    v, value, position = descend(evaluate, start, objective.tolerance, before)
    return Found(v / np.linalg.norm(v), value, position)


def _look(node: ChunkedNode, objective: LineObjective, direction: Floats) -> tuple[Found, Lattice]:
    """Return the result of a search that stays at `direction`, and the projected rows, in one pass."""
    looked = node.look(direction, objective.step, MAX_BINS, _fine_step(node, direction))
    found = _on_line(node, objective, looked.lattices[0])
    return Found(direction, found.value, found.position), looked.lattices[1]


def _on_line(node: ChunkedNode, objective: LineObjective, on: Lattice) -> OnLine:
    line = Line(on.step * on.first, on.step, on.n_points)
    return objective.on_line(line, on.dense(), math.sqrt(on.square / node.moments.count))


def chunked_sample(node: ChunkedNode, direction: Floats) -> tuple[Matrix, Floats]:
    """Return the sample of a large node and its weights that `ravine.cuts._pursuit.even_sample` has in memory."""
    rows = node.sample(direction, COARSE_ROWS, along(node, direction))
    return rows, np.full(len(rows), node.moments.count / len(rows))


def chunked_ncut_cut(
    node: ChunkedNode,
    *,
    starts: ChunkedStarts,
    scale: float | Callable[[float, float], float],
    min_cluster_size: float = 1,
) -> Cut | RoughCut[NCutState] | None:
    """Find the cut of `ravine.cuts._ncut.ncut_cut` for out-of-core data; the cut of a large node is rough."""
    directions = starts(node)
    deviation = node.deviation(directions[0]) if len(directions) else 0.0
    if not deviation > 0:
        return None
    count = node.moments.count
    sigma = scale(deviation, count) if callable(scale) else normal_reference(scale, deviation, count)
    objective = NormalizedCut(float(sigma), deviation / BINS_PER_DEVIATION, least=min_cluster_size)
    rough = node.n_rows > COARSE_ABOVE

    def find(start: Floats) -> tuple[Found, Lattice | None, Any, tuple[Matrix, Floats] | None]:
        if not rough:
            return chunked_search(node, objective, start), None, None, None
        sample = chunked_sample(node, start)
        on_sample = search(*sample, node.moments.mean, objective, start)
        return *_look(node, objective, on_sample.direction), on_sample.descent, sample

    ends = node.whole.chunks.at_once(find, list(directions))
    found, on, descent, sample = ends[first_least([end.value for end, *_ in ends])]
    if not np.isfinite(found.value):
        return None
    cut = _cut_at(node, found, on)
    return RoughCut(cut, (objective, descent), sample) if rough else cut


def finished_chunked_ncut(node: ChunkedNode, rough: RoughCut[NCutState]) -> Cut:
    """Finish a rough cut on all rows, as `ravine.cuts._ncut.finished_ncut` does for in-memory data."""
    objective, descent = rough.state
    return _cut_at(node, chunked_search(node, objective, rough.cut.normal, descent))


def _cut_at(node: ChunkedNode, found: Found, on: Lattice | None = None) -> Cut:
    on = along(node, found.direction) if on is None else on
    offset = float(found.position + node.moments.mean @ found.direction)
    return Cut(found.direction, offset, found.value, depth_at(found.position, on.positions, on.mass))


def chunked_density_cut(
    node: ChunkedNode,
    *,
    starts: ChunkedStarts,
    bandwidth: float | Callable[[float, float], float],
    alphas: Sequence[float],
    tolerance: float = TOLERANCE,
) -> Cut | RoughCut[DensityPath] | None:
    """Find the cut of `ravine.cuts._mdh.minimum_density_cut` for out-of-core data; that of a large node is rough."""
    directions = starts(node)
    deviation = node.deviation(directions[0]) if len(directions) else 0.0
    path = DensityPath.of(deviation, node.moments, bandwidth, alphas, tolerance)
    if path is None:
        return None
    rough = node.n_rows > COARSE_ABOVE
    sample = chunked_sample(node, directions[0]) if rough else None  # one for all starts, as for in-memory data

    def find(start: Floats) -> Cut:
        return _follow(node, path, start) if sample is None else path.follow(*sample, node.moments, start, None)

    cuts = node.whole.chunks.at_once(find, list(directions))
    best = cuts[first_least([-1 - cut.relative_depth for cut in cuts])]
    if not rough:
        return best
    return RoughCut(_stay(node, path.last, best.normal), path.last, sample)


def finished_chunked_density_cut(node: ChunkedNode, rough: RoughCut[DensityPath]) -> Cut:
    """Finish a rough cut on all rows, as `ravine.cuts._mdh.finished_density_cut` does for in-memory data."""
    return _follow(node, rough.state, rough.cut.normal)


def _follow(node: ChunkedNode, path: DensityPath, start: Floats) -> Cut:
    def values_along(direction: Floats) -> tuple[Floats, Floats]:
        on = along(node, direction)
        return on.positions, on.mass

    return path.follow_by(partial(chunked_search, node), values_along, node.moments, start)


def _stay(node: ChunkedNode, path: DensityPath, direction: Floats) -> Cut:
    """Return the cut of `_follow` without a search: its normal is `direction` itself."""
    on: Lattice | None = None

    def look(objective: LineObjective, direction: Floats) -> Found:
        nonlocal on
        found, on = _look(node, objective, direction)
        return found

    def values_along(_: Floats) -> tuple[Floats, Floats]:
        assert on is not None
        return on.positions, on.mass

    return path.follow_by(look, values_along, node.moments, direction)


def chunked_mean_cut(node: ChunkedNode) -> Cut | None:
    """Find the cut of `ravine.cuts._principal.mean_cut` for out-of-core data."""
    directions = chunked_directions(node, 1)
    return Cut(directions[0], float(node.moments.mean @ directions[0])) if len(directions) else None


def chunked_antimode_cut(node: ChunkedNode, *, bandwidth: float, min_cluster_size: float = 1) -> Cut | None:
    """Find the cut of `ravine.cuts._principal.antimode_cut` for out-of-core data."""
    directions = chunked_directions(node, 1)
    if not len(directions):
        return None
    on = along(node, directions[0])
    values = on.positions + node.moments.mean @ directions[0]
    return lowest_antimode(directions[0], values, on.mass, bandwidth, min_cluster_size)
