"""The path of a sum-of-norms model: how its points meet as λ grows, and the clusters in each stretch of λ.

The path is that of the fit; nothing is solved again. The page has lines of at most `MOST_DRAWN` points, and the
clusters of at most `MOST_LEVELS` stretches of λ: those that are longest for their number of clusters.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine._convex import FusionTree, Stretch, clusters_that_matter, labels_in, stretches
from ravine._matrix import Floats, Ints
from ravine._numbering import from_low_to_high
from ravine.cluster import SumOfNorms
from ravine.report._data import ReportData
from ravine.report._format import all_rounded, rounded
from ravine.report._groups import Groups
from ravine.report._levels import Levels
from ravine.report._plane import Plane, seen_rows
from ravine.tree._text import counted

MOST_LEVELS, MOST_CLUSTERS, MOST_NODES = 14, 30, 120
"""Maximum number of stretches on the page, of clusters in a stretch, and of clusters in all of them together."""

MOST_DRAWN, MOVED = 300, 0.01
"""Maximum number of points whose lines are drawn. A line has no corner until the point has moved by this share of the
extent of the drawing, unless it meets another line."""

LEAST_GAP = 1e-5
"""A smaller bound is shown as this."""

SAME_ROW = 1e-9
"""Rows count as those of the fit if they differ by less than this share of the largest value."""


@dataclass(frozen=True, eq=False)
class Level:
    """The clusters in a stretch of the path, or those of the fit.

    Parameters
    ----------
    low, high, lam : float
        First and last λ, and the one for which the clusters are computed.
    n_fusions : int
        Number of fusions up to `lam`.
    labels : ndarray of shape (n_points,)
        Cluster of each point.
    is_fit : bool
        Whether these are the clusters of the fit.
    """

    low: float
    high: float
    lam: float
    n_fusions: int
    labels: Ints
    is_fit: bool = False

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def length(self) -> float:
        """Logarithm of the factor of λ."""
        return float(np.log(self.high / self.low)) if self.low > 0 else 0.0


@dataclass(frozen=True, eq=False)
class PathView:
    """What a page shows of the path of a model.

    Parameters
    ----------
    model : SumOfNorms
    path : FusionTree
    levels : list of Level
        In increasing order of λ.
    n_left_out : int
        Number of stretches that are not among the levels.
    row_of_point : ndarray of shape (n_points,), or None
        Position in the sample of a row that is equal to each point; None if the report has other rows.
    clusterings : Levels or None
        The levels as clusterings of the rows of the report.
    """

    model: SumOfNorms
    path: FusionTree
    levels: list[Level]
    n_left_out: int
    row_of_point: Ints | None
    clusterings: Levels | None

    @classmethod
    def of(cls, groups: Groups, rows: ReportData) -> "PathView | None":
        """The path of a model; None if it has none."""
        model = groups.model
        if not isinstance(model, SumOfNorms) or model.path_ is None or not len(model.path_.lambdas):
            return None
        levels, n_left_out = _levels_of(model, model.path_)
        point = _points_of_rows(groups, model, rows)
        if point is None:
            return cls(model, model.path_, levels, n_left_out, None, None)
        row_of_point = np.empty(model.path_.n_points, dtype=np.int64)
        row_of_point[point] = np.arange(len(point))
        chosen = next(i for i, level in enumerate(levels) if level.is_fit)
        clusterings = Levels.of(rows, [level.labels[point] for level in levels], chosen)
        return cls(model, model.path_, levels, n_left_out, row_of_point, clusterings if len(levels) > 1 else None)

    def summary(self, groups: Groups, rows: ReportData, names: list[str]) -> dict[str, Any]:
        """Return the charts and the sentences."""
        model, path = self.model, self.path
        plane = Plane.of(groups, model.points_, model.point_weights_, names)
        drawn = _some_points(next(level for level in self.levels if level.is_fit).labels)
        return {
            "lam": rounded(model.lam_, 6),
            "chosen": next(i for i, level in enumerate(self.levels) if level.is_fit),
            "sentences": [*sentences(model, path, self.levels), *self._limits(len(drawn))],
            "steps": _steps(model, path),
            "levels": [
                {"low": rounded(level.low, 6), "high": rounded(level.high, 6), "lam": rounded(level.lam, 6)}
                for level in self.levels
            ],
            "picture": None if plane is None else self._picture(plane, drawn, rows),
        }

    def _limits(self, n_drawn: int) -> list[str]:
        """Return sentences on what the page does not show."""
        said = []
        if n_drawn < self.path.n_points:
            said.append(f"The lines of {n_drawn:,} of {counted(self.path.n_points, 'distinct row')} are drawn.")
        if self.row_of_point is None:
            said.append(
                "This page has the clusters of one λ only. For those of other λ, make a report of the rows of the fit, "
                "in the same order and at most 20,000, or use model.cut_to(n_clusters)."
            )
        elif self.n_left_out and self.clusterings is not None:
            stretch = "stretch" if self.n_left_out == 1 else "stretches"
            said.append(
                f"The slider leaves out {self.n_left_out:,} {stretch} of λ that are short for their number of clusters."
            )
        return said

    def _picture(self, plane: Plane, drawn: Ints, rows: ReportData) -> dict[str, Any]:
        """Return the drawn points and their lines, at corners that are points or fusions."""
        model, path = self.model, self.path
        position = plane.project(np.concatenate([model.points_, path.centroids]))
        corner, start, end = lines_of(path, position, drawn)
        lam = np.concatenate([np.zeros(path.n_points), path.merge_lambdas])[corner]
        own_rows = self.row_of_point
        parts = None if self.clusterings is None or own_rows is None else self.clusterings.parts()[1][own_rows[drawn]]
        fit = next(level for level in self.levels if level.is_fit)
        return {
            **plane.words(),
            "corners": [all_rounded(column) for column in position[corner].T],
            "lam": all_rounded(lam),
            "n_points": len(drawn),
            "lines": np.stack([start, end], axis=1).ravel().tolist(),
            "row": None if own_rows is None else rows.number[own_rows[drawn]].tolist(),
            "node": (fit.labels[drawn] + 1).tolist(),
            "part": None if parts is None else parts.tolist(),
            "centers": [
                [all_rounded(column) for column in plane.project(_centers(model, path, level)).T]
                for level in (self.levels if self.clusterings is not None else [fit])
            ],
        }


def _levels_of(model: SumOfNorms, path: FusionTree) -> tuple[list[Level], int]:
    """Return the clusters of the fit and of the longest stretches, and the number of stretches that are left out."""
    rows, mass, min_size = model.points_, model.point_weights_, model.min_cluster_size_
    found = sorted(stretches(path, mass, min_size), key=lambda stretch: -stretch.length / stretch.number)
    first = sorted(found[: 3 * MOST_LEVELS], key=lambda stretch: stretch.low)
    levels: list[Level] = []
    for stretch in first:
        labels = from_low_to_high(labels_in(path, rows, mass, min_size, stretch), rows, mass)
        if levels and levels[-1].high == stretch.low and np.array_equal(levels[-1].labels, labels):
            levels[-1] = replace(levels[-1], high=stretch.high)
        else:
            levels.append(_level(stretch, labels))
    levels = _with_fit(model, path, levels)
    kept: list[Level] = []
    n_nodes = 0
    for level in sorted(levels, key=lambda level: (not level.is_fit, -level.length / level.n_clusters)):
        fits = level.length > 0 and level.n_clusters <= MOST_CLUSTERS and n_nodes + level.n_clusters <= MOST_NODES
        if level.is_fit or (fits and len(kept) < MOST_LEVELS):
            kept.append(level)
            n_nodes += level.n_clusters
    n_left_out = sum(level.length > 0 for level in levels if level not in kept) + len(found) - len(first)
    return sorted(kept, key=lambda level: (level.low, level.lam)), n_left_out


def _level(stretch: Stretch, labels: Ints) -> Level:
    return Level(stretch.low, stretch.high, stretch.lam, stretch.n_fusions, labels)


def _with_fit(model: SumOfNorms, path: FusionTree, levels: list[Level]) -> list[Level]:
    """Mark the stretch in which the clusters of the fit lie, or add one for them.

    A fit with a given λ also has small groups as clusters, and one without confirmed clusters may be beyond the path.
    """
    lam, labels = float(model.lam_), model.labels_[_row_of_point(model)]
    n_fusions = path.n_fusions_at(lam)
    for i, level in enumerate(levels):
        is_here = level.low <= lam and (lam <= level.high or i == len(levels) - 1)
        if is_here and np.array_equal(level.labels, labels):
            return [*levels[:i], replace(level, lam=lam, n_fusions=n_fusions, is_fit=True), *levels[i + 1 :]]
    return [*levels, Level(lam, lam, lam, n_fusions, labels, is_fit=True)]


def _row_of_point(model: SumOfNorms) -> Ints:
    """Return the last row of the fit that is equal to each point."""
    point = model.point_indices_
    row = np.empty(len(model.points_), dtype=np.int64)
    row[point[point >= 0]] = np.flatnonzero(point >= 0)
    return row


def _points_of_rows(groups: Groups, model: SumOfNorms, rows: ReportData) -> Ints | None:
    """Return the point of each row of the sample; None unless these are all rows of the fit, in its order."""
    point = model.point_indices_
    if not len(rows.number) == rows.n_rows == len(point) or (point < 0).any():
        return None
    order = np.argsort(rows.number, kind="stable")
    found = np.empty(len(point), dtype=np.int64)
    found[order] = point
    apart = np.abs(model.points_[found] - seen_rows(groups, rows.X)).max()
    is_same = apart <= SAME_ROW * np.abs(model.points_).max() and np.array_equal(model.labels_, rows.cluster[order])
    return found if is_same else None


def _some_points(labels: Ints) -> Ints:
    """Return the points to draw, at even steps in each cluster."""
    by_cluster = np.argsort(labels, kind="stable")
    return by_cluster[np.unique(np.linspace(0, len(labels) - 1, min(len(labels), MOST_DRAWN)).astype(np.int64))]


def lines_of(path: FusionTree, position: Floats, drawn: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the corners of the lines of some points, and the lines between them, as positions in the corners.

    The first corners are the points; the others are fusions at which two lines meet, or at which one has moved on.
    """
    least = MOVED * float(np.ptp(position, axis=0).max())
    last = np.full(path.n_points + len(path.children), -1)  # corner at which the line of a node has arrived
    last[drawn] = np.arange(len(drawn))
    corner, start, end = drawn.tolist(), [], []
    for node, pair in enumerate(path.children.tolist(), path.n_points):
        arrived = [int(last[child]) for child in pair if last[child] >= 0]
        if not arrived:
            continue
        moved = [float(np.abs(position[node] - position[corner[at]]).max()) for at in arrived]
        if len(arrived) == 1 and moved[0] <= least:
            last[node] = arrived[0]
            continue
        # All fusions of a group at one λ are at the same position and share a corner.
        here = next((at for at, way in zip(arrived, moved, strict=True) if way == 0 and at >= len(drawn)), len(corner))
        if here == len(corner):
            corner.append(node)
        for at in arrived:
            if at != here:
                start.append(at)
                end.append(here)
        last[node] = here
    return np.array(corner), np.array(start, dtype=np.int64), np.array(end, dtype=np.int64)


def _centers(model: SumOfNorms, path: FusionTree, level: Level) -> Floats:
    """Return where each cluster is: its center in the fit, or where its heaviest group fused last."""
    if level.is_fit:
        return model.cluster_centers_
    group, top = path.groups_after(level.n_fusions)
    heaviest_first = np.lexsort((-np.bincount(group, model.point_weights_)[group], level.labels))
    first = heaviest_first[np.searchsorted(level.labels[heaviest_first], np.arange(level.n_clusters))]
    return np.concatenate([model.points_, path.centroids])[top[group[first]]]


def _steps(model: SumOfNorms, path: FusionTree) -> dict[str, Any]:
    """Return the number of all groups at each λ of the path, and of those that count as clusters."""
    _, number, _, _ = clusters_that_matter(path, model.point_weights_, model.min_cluster_size_)
    n_fusions = np.searchsorted(path.merge_lambdas, path.lambdas, side="right")
    return {
        "lam": all_rounded(path.lambdas),
        "groups": (path.n_points - n_fusions).tolist(),
        "clusters": number[n_fusions].tolist(),
        "size": rounded(float(np.ceil(model.min_cluster_size_)), 6),
    }


def sentences(model: SumOfNorms, path: FusionTree, levels: list[Level]) -> list[str]:
    """Return what the path says about the clusters, in words."""
    fit = next(level for level in levels if level.is_fit)
    n_clusters = counted(model.n_clusters_, "cluster")
    said = [f"At λ = {lambda_text(model.lam_)}, there {'is' if model.n_clusters_ == 1 else 'are'} {n_clusters}."]
    if model.n_clusters_ > 1 and fit.high > fit.low:
        said[0] = f"{said[0][:-1]}, the same ones from λ = {lambda_text(fit.low)} to λ = {lambda_text(fit.high)}."
    if model.lam is None:
        size = counted(float(np.ceil(model.min_cluster_size_)), "row")
        said.append(f"A group of fewer than {size} is not a cluster: it belongs to the cluster that it meets first.")
    if np.isfinite(model.gap_):
        said.append(f"The solution at this λ is proven to be within {percent_text(model.gap_)} of the best one.")
    if not path.is_complete:
        n_left = counted(path.n_points - len(path.children), "group")
        said.append(f"The path was stopped at λ = {lambda_text(path.lambdas[-1])}, with {n_left} left.")
    return said


def lambda_text(lam: float) -> str:
    """Format a value of λ with three digits.

    Examples
    --------
    >>> lambda_text(0.012345), lambda_text(53778.77), lambda_text(134487114.3)
    ('0.0123', '53,800', '1.34e8')
    """
    if 1e-4 <= lam < 1e6:
        short = float(f"{lam:.3g}")
        return f"{short:,.0f}" if short >= 100 else f"{short:g}"
    mantissa, _, exponent = f"{lam:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def percent_text(share: float) -> str:
    """Format a small share, rounded up to two digits and to at least 0.001 %: a bound must not look better than it is.

    Examples
    --------
    >>> percent_text(3.21e-5), percent_text(0.0), percent_text(0.12)
    ('0.0033 %', '0.001 %', '12 %')
    """
    share = max(share, LEAST_GAP)
    unit = 10.0 ** (np.floor(np.log10(share)) - 1)
    return f"{100 * np.ceil(share / unit - 1e-9) * unit:.2g} %"


def no_path(model: Any) -> str:
    """Return why the page of a model has no path, or nothing if its method has none."""
    if not isinstance(model, SumOfNorms):
        return ""
    if model.path_ is None:
        return (
            f"The model was fitted for one λ, {lambda_text(model.lam_)}, so it has no path. To see how the rows meet "
            "as λ grows, fit it with path=True, or without lam."
        )
    return "All rows are equal, so there is no path." if not len(model.path_.lambdas) else ""
