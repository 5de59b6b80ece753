"""Charts of the rows of a node: along the cut, across it, by column, and closest to the cut.

The size of these data does not grow with the number of rows: a density, a histogram, some points.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._matrix import Floats, column_deviations, moments_of, project
from ravine._names import shown
from ravine.cuts._density import normal_bandwidth, projected_density
from ravine.cuts._principal import principal_directions, spread_across
from ravine.report._format import all_rounded, as_given, rounded
from ravine.report._rows import RowTexts
from ravine.report._sample import Sample
from ravine.report._soft import SoftClusters
from ravine.report._table import Sources
from ravine.tree import HyperplaneTree
from ravine.tree._text import largest, shares_of_cut, shares_of_spread

DENSITY_POINTS, BANDWIDTH = 96, 1.06
"""Number of points of the density of a node, and the factor of its bandwidth."""

MAX_BINS, FEWEST_BINS, ROWS_PER_BIN = 40, 8, 5
"""Limits on the number of bins of a histogram along a direction, and the number of rows for each bin."""

FEATURE_BINS, N_FEATURES = 20, 6
"""Number of bins of the histogram of a column, and number of columns shown."""

OUTER = 0.005
"""In the histogram of a column of a table, the outer bins also have the rows beyond them: this share on each side."""

MAX_POINTS, LEAST_POINTS, ALL_POINTS = 300, 40, 12_000
"""Most and fewest points of a scatter plot, and most points of all scatter plots together."""

DIRECTION_ROWS = 1000
"""Number of rows from which the directions of the charts are computed."""

N_NEAREST, N_VALUES = 8, 4
"""Number of rows listed for a cut, and number of columns listed for each row."""


def points_each(n_rows: list[int]) -> list[int]:
    """Number of points in the scatter plot of each node. It grows with the square root of the number of rows."""
    weight = np.sqrt(n_rows)
    n_points = ALL_POINTS * weight / max(weight.sum(), 1.0)
    return [int(n) for n in np.clip(n_points, LEAST_POINTS, MAX_POINTS)]


def cut_picture(
    tree: HyperplaneTree,
    node: int,
    sample: Sample,
    n_points: int,
    soft: SoftClusters | None,
    sources: Sources,
    texts: RowTexts | None,
) -> dict[str, Any]:
    """Charts of a node that is cut. Distances to the cut are negative on the left.

    The first `n_left` rows belong to clusters on the left. If a mixture decides, some of them may lie beyond the cut.
    """
    here = sample.of(node)
    X = sample.X[here]
    n_left = sample.of(int(tree.left[node])).stop - here.start
    distance = tree.cut(node).heights(X)
    deviation = column_deviations(X)
    carriers = largest(shares_of_cut(tree, node), N_FEATURES)
    few = _few(sample, node)
    across = spread_across(few, tree.normal[node]) if len(few) else None
    along = None if tree.surface[node] is not None else (tree.normal[node], float(tree.offset[node]))
    return {
        "features": [
            {"feature": j, "share": rounded(share, 3), **_drawn(sources, j, here, n_left)} for j, share in carriers
        ],
        "along": _along(distance),
        "n_beyond": int(np.count_nonzero((distance < 0) != (np.arange(len(distance)) < n_left))),
        "scatter": _scatter(sample, node, n_points, _Axes(distance, along, across, deviation, n_left), soft),
        **_nearest(sample, here, distance, n_left, [j for j, _ in carriers], sources, texts),
    }


def leaf_picture(sample: Sample, node: int, n_points: int, soft: SoftClusters | None) -> dict[str, Any]:
    """Charts of a node that is not cut, along the directions in which its rows vary most."""
    few = _few(sample, node)
    if not len(few):
        return {"along": _along(np.empty(0)), "scatter": None}
    weights = np.ones(len(few))
    moments = moments_of(few, weights)
    directions = principal_directions(few, weights, moments, 2)
    if not len(directions):
        return {"along": _along(np.zeros(len(few))), "scatter": None}
    X = sample.X[sample.of(node)]
    middle = float(moments.mean @ directions[0])
    distance, deviation = project(X, directions[0]) - middle, column_deviations(X)
    main = largest(shares_of_spread(directions[0], deviation), 2)
    across = directions[1] if len(directions) > 1 else None
    axes = _Axes(distance, (directions[0], middle), across, deviation, len(X))
    return {
        "along": _along(distance),
        "scatter": _scatter(sample, node, n_points, axes, soft),
        "main": [j for j, _ in main],
    }


def _few(sample: Sample, node: int) -> Floats:
    return np.ascontiguousarray(sample.X[sample.some_of(node, DIRECTION_ROWS)])


def _along(distance: Floats) -> dict[str, Any] | None:
    """Histogram and density. No bin lies on both sides of 0."""
    if not len(distance):
        return None
    bandwidth = normal_bandwidth(distance, np.ones(len(distance)), BANDWIDTH)
    if not bandwidth > 0:
        return {**_binned(distance, rounded(float(np.abs(distance).max()) / 10) or 1), "density": None}
    n_bins = min(max(len(distance) // ROWS_PER_BIN, FEWEST_BINS), MAX_BINS)
    return {**_binned(distance, rounded(float(np.ptp(distance) / n_bins))), "density": _density(distance, bandwidth)}


def _binned(distance: Floats, width: float) -> dict[str, Any]:
    place = np.floor(distance / width).astype(np.int64)
    first = int(place.min())
    return {"width": width, "first": first, "counts": np.bincount(place - first).tolist()}


def _density(distance: Floats, bandwidth: float) -> dict[str, Any]:
    """Mean density in cells of equal width, so that the total is 1 however thin a peak is."""
    fine = projected_density(distance, np.ones(len(distance)), bandwidth)
    grid = fine.at(np.arange(len(fine.density)))
    edges = np.linspace(grid[0], grid[-1], DENSITY_POINTS + 1)
    mass = np.interp(edges, grid + fine.step / 2, fine.mass(), left=0.0)
    step = edges[1] - edges[0]
    return {
        "low": rounded(edges[0] + step / 2, 6),
        "step": rounded(step, 6),
        "height": all_rounded(np.diff(mass / mass[-1]) / step),
    }


@dataclass(frozen=True, eq=False)
class _Axes:
    """The axes of the scatter plot of a node.

    Parameters
    ----------
    distance : ndarray of shape (n_rows,)
        Position of each row of the node along the horizontal axis.
    along : tuple of ndarray and float, or None
        Direction of the horizontal axis, and the position that is drawn as 0; None if the cut bends.
    across : ndarray or None
        Direction of the vertical axis, if there is one.
    deviation : ndarray of shape (n_features,)
        Standard deviation of each column.
    n_left : int
        Number of rows that belong to the left side; they come first.
    """

    distance: Floats
    along: tuple[Floats, float] | None
    across: Floats | None
    deviation: Floats
    n_left: int


def _scatter(sample: Sample, node: int, n_points: int, axes: _Axes, soft: SoftClusters | None) -> dict[str, Any] | None:
    if axes.across is None:
        return None
    here, picked = sample.of(node), sample.some_of(node, n_points)
    height = project(np.ascontiguousarray(sample.X[picked]), axes.across)
    middle = height.mean()
    main = largest(shares_of_spread(axes.across, axes.deviation), 2)
    scatter = {
        "x": all_rounded(axes.distance[picked - here.start]),
        "y": all_rounded(height - middle),
        "n_left": int(np.count_nonzero(picked < here.start + axes.n_left)),
        "row": sample.number[picked].tolist(),
        "class": None if sample.classes is None else sample.classes[picked].tolist(),
        "across": [j for j, _ in main],
    }
    if soft is not None and axes.along is not None:
        direction, zero = axes.along
        plane, origin = np.array([direction, axes.across]), np.array([zero, middle])
        scatter["ellipses"] = soft.ellipses(node, plane, origin)
    return scatter


def feature_bins(values: Floats, n_left: int, most_digits: int = 6) -> dict[str, Any]:
    """Histograms of a column on the left (the first `n_left` values) and on the right, with the same bins."""
    if not len(values):
        return {"low": 0, "width": 1, "left": [], "right": []}
    low, high = float(values.min()), float(values.max())
    if high - low < 2.0**52 and (values == np.floor(values)).all():
        width = float(max(np.ceil((high - low + 1) / FEATURE_BINS), 1.0))
        low -= 0.5  # every bin holds the same number of integers, so that none is empty by construction
    else:
        width = (high - low) / FEATURE_BINS or max(abs(low), 1.0)
    n_bins = int(min(np.floor((high - low) / width) + 1, FEATURE_BINS))
    place = np.clip(np.floor((values - low) / width).astype(np.int64), 0, n_bins - 1)
    return {
        "low": rounded(low, most_digits),
        "width": rounded(width, most_digits),
        "left": np.bincount(place[:n_left], minlength=n_bins).tolist(),
        "right": np.bincount(place[n_left:], minlength=n_bins).tolist(),
    }


def _drawn(sources: Sources, feature: int, here: slice, n_left: int) -> dict[str, Any]:
    """Histograms of a column in the units of the table."""
    values, kind = sources.values(feature, here)
    known = ~np.isnan(values)
    n_known, values = int(np.count_nonzero(known[:n_left])), values[known]
    if sources.column(feature) is not None and len(values):
        low, high = np.quantile(values, [OUTER, 1 - OUTER], method="inverted_cdf")
        values = np.clip(values, low, high)  # a table may have typing errors far out
    bins = feature_bins(values, n_known, most_digits=14 if kind == "date" else 6)
    return bins if kind == "number" else {**bins, "kind": kind}


def _nearest(
    sample: Sample,
    here: slice,
    distance: Floats,
    n_left: int,
    features: list[int],
    sources: Sources,
    texts: RowTexts | None,
) -> dict[str, Any]:
    """The rows nearest to the cut, with their values in the columns that drive the split."""
    order = np.lexsort((sample.number[here], np.abs(distance)))[:N_NEAREST].tolist()
    columns: list[str] | None = None
    values: list[list[Any]]
    if texts is None:
        values = [[as_given(float(sample.X[here][i, j])) for j in features[:N_VALUES]] for i in order]
    else:
        found = [sources.column(j) for j in features]
        columns = list(dict.fromkeys(name for name in found if name is not None))[:N_VALUES]
        values = [[texts.of(name, here.start + i) for name in columns] for i in order]
    nearest = [
        {
            "row": int(sample.number[here][i]),
            "distance": rounded(distance[i]),
            "left": bool(i < n_left),
            "values": cells,
            "class": None if sample.classes is None else int(sample.classes[here][i]),
        }
        for i, cells in zip(order, values, strict=True)
    ]
    if columns is None:
        return {"nearest": nearest}
    return {"nearest": nearest, "nearest_columns": [shown(name) for name in columns]}
