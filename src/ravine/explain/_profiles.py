"""What the rows of each cluster look like in each column, beside all rows: quartiles, shares of levels, histograms.

A column costs one sort and a few passes, whatever the number of clusters.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from ravine._checks import checked_weights
from ravine.explain import _measure
from ravine.explain._bins import bins_of, sums
from ravine.explain._format import DAY, YEARS
from ravine.explain._table import Column, Floats, Ints, columns_of, labels_of

N_BINS = 12
"""A histogram has about this many bins."""

OUTER, EXTRA_BINS = 0.01, 3
"""The bins of a histogram are between the values that this share of the rows is below, or above. Values beyond them
have up to so many more bins on each side."""

HUGE = 1e300
"""Beyond this, differences of numbers overflow, and the histogram has a single bin."""

STEPS_OF_DAYS = (1, 2, 7, 14, 30, 91, 182, 365, 730, 1826, 3652)
"""Widths of the bins of dates, in days."""

STEPS_OF_TIME = (1, 5, 15, 60, 360)
"""Widths of the bins of dates that are within a few days, in minutes."""

MOST_ORDERED = 1000
"""With more clusters or columns than this, the order is that of average linkage, without the best order of its
leaves."""


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column in each cluster and, in the last entry of each array, in all rows.

    Arrays that do not apply to the kind of the column are empty. Values of dates are dates (``datetime64``).

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "date", "category", "boolean"}
        Kind of the column.
    count, gaps : ndarray of shape (n_clusters + 1,)
        Weight of the rows that have a value, and of the rows that have none.
    quartiles : ndarray of shape (n_clusters + 1, 3)
        First quartile, median and third quartile of numbers or dates.
    mean : ndarray of shape (n_clusters + 1,)
        Mean of the finite numbers, or of the dates.
    edges : ndarray of shape (n_bins + 1,)
        Edges of the bins of the histogram, which all clusters share.
    histogram : ndarray of shape (n_clusters + 1, n_bins)
        Weight of the rows in each bin. The first and the last bin also have the rows beyond the edges.
    beyond : ndarray of shape (n_clusters + 1, 2)
        Weight of the rows below the first edge, and above the last one.
    levels : tuple of str
        The most frequent levels of categories, at most 255. Those of truth values are "yes" and "no".
    shares : ndarray of shape (n_clusters + 1, n_levels + 2)
        Share of the rows that have each level, that have another level, and that have a gap.
    difference : ndarray of shape (n_clusters,)
        How much each cluster differs from the other rows, from 0 to 1.
    direction : ndarray of shape (n_clusters,)
        Whether the values are higher or lower than those of the other rows, from -1 to 1; 0 for categories.
    spread : float
        Difference between the third and the first quartile of all rows, in days for dates.
    is_year : bool
        Whether the numbers are years, which are written without a thousands separator.

    See Also
    --------
    Profiles.column : Returns the profile of a column.

    Examples
    --------
    >>> from ravine.explain import profile
    >>> table = {"spend": [10, 20, 30, 900, 950], "channel": ["web", "web", None, "app", "app"]}
    >>> profiles = profile(table, [0, 0, 0, 1, 1])
    >>> profiles.column("spend").quartiles[:, 1].tolist()
    [20.0, 925.0, 30.0]
    >>> profiles.column("channel").levels
    ('app', 'web')
    >>> profiles.column("channel").shares[1].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    name: str
    kind: str
    count: Floats
    gaps: Floats
    quartiles: NDArray[Any]
    mean: NDArray[Any]
    edges: NDArray[Any]
    histogram: Floats
    beyond: Floats
    levels: tuple[str, ...]
    shares: Floats
    difference: Floats
    direction: Floats
    spread: float
    is_year: bool

    @property
    def is_ordered(self) -> bool:
        """Whether the column has numbers or dates."""
        return self.kind in ("number", "date")

    @property
    def gap_share(self) -> Floats:
        """Share of the rows of each cluster, and of all rows, that have no value."""
        return self.gaps / np.maximum(self.count + self.gaps, 1e-300)


@dataclass(frozen=True, eq=False)
class Profiles:
    """What the rows of each cluster look like, beside all rows.

    Parameters
    ----------
    clusters : ndarray of shape (n_clusters,)
        Labels of the clusters, in increasing order. Rows with the label -1 are part of all rows only.
    sizes : ndarray of shape (n_clusters + 1,)
        Weight of the rows of each cluster, and of all rows.
    columns : tuple of ColumnProfile
        Profile of each column, in the order of the table.

    See Also
    --------
    profile : Computes the profiles.
    sentence : Describes a cluster in a sentence.

    Examples
    --------
    >>> from ravine.explain import profile
    >>> table = {"spend": [10, 20, 30, 900, 950], "channel": ["web", "web", None, "app", "app"]}
    >>> profiles = profile(table, [0, 0, 0, 1, 1])
    >>> profiles.clusters, profiles.names
    (array([0, 1]), ('spend', 'channel'))
    >>> frame = profiles.to_frame()
    >>> frame.loc[frame.column == "spend", ["cluster", "count", "median", "mean"]]
      cluster  count  median   mean
    0       0    3.0    20.0   20.0
    2       1    2.0   925.0  925.0
    4     all    5.0    30.0  382.0
    """

    clusters: Ints
    sizes: Floats
    columns: tuple[ColumnProfile, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> ColumnProfile:
        """Return the profile of a column.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        column : ColumnProfile
            Its profile in each cluster.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(repr, self.names))}")

    def position(self, cluster: int) -> int:
        """Return the position of a cluster in all arrays.

        Parameters
        ----------
        cluster : int
            Label of the cluster.

        Returns
        -------
        position : int
            Position in `clusters`.
        """
        found = np.flatnonzero(self.clusters == cluster)
        if not len(found):
            raise ValueError(f"there is no cluster {cluster!r}; the clusters are {self.clusters.tolist()}")
        return int(found[0])

    @cached_property
    def difference(self) -> Floats:
        """How much each cluster differs from the other rows in each column, from 0 to 1."""
        return self._stacked("difference")

    @cached_property
    def direction(self) -> Floats:
        """Whether the values of each cluster are higher or lower, from -1 to 1; 0 for categories."""
        return self._stacked("direction")

    @property
    def signed_difference(self) -> Floats:
        """`difference` with the sign of `direction`, for a heat map; categories have no sign and are positive."""
        return np.where(self.direction < 0, -self.difference, self.difference)

    def _stacked(self, name: str) -> Floats:
        if not self.columns:
            return np.empty((len(self.clusters), 0))
        return np.stack([getattr(column, name) for column in self.columns], axis=1)

    def ranked_columns(self, cluster: int) -> list[int]:
        """Return the columns of a cluster, those in which it differs most first.

        Parameters
        ----------
        cluster : int
            Label of the cluster.

        Returns
        -------
        columns : list of int
            Positions of all columns.
        """
        at = self.position(cluster)
        difference, direction = self.difference[at].round(6), np.abs(self.direction[at]).round(6)
        return np.lexsort([np.arange(len(self.columns)), -direction, -difference]).tolist()

    @cached_property
    def cluster_order(self) -> Ints:
        """Positions of the clusters in an order in which similar clusters are beside each other."""
        parts = [self.signed_difference[:, [j for j, one in enumerate(self.columns) if one.is_ordered]]]
        others = [column.shares for column in self.columns if not column.is_ordered]
        parts += [(shares[:-1] - shares[-1]) / np.sqrt(2) for shares in others]
        return _order(np.concatenate(parts, axis=1))

    @cached_property
    def column_order(self) -> Ints:
        """Positions of the columns in an order in which columns that tell the same clusters are beside each other."""
        return _order(self.difference.T)

    def to_frame(self) -> Any:
        """Return the profiles as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each cluster and column, and for all rows (``cluster="all"``). `level` is the level of a
            category that is most frequent beyond its share of all rows, and `share` is its share.
        """
        import pandas as pd

        records = [
            {"cluster": cluster, "column": column.name, **_record(column, at)}
            for at, cluster in enumerate([*self.clusters.tolist(), "all"])
            for column in self.columns
        ]
        return pd.DataFrame.from_records(records, columns=list(_FIELDS))


_FIELDS = (
    "cluster",
    "column",
    "kind",
    "count",
    "gaps",
    "first_quartile",
    "median",
    "third_quartile",
    "mean",
    "level",
    "share",
    "difference",
    "direction",
)


def _record(column: ColumnProfile, at: int) -> dict[str, Any]:
    """Return what a frame has about a column in a cluster, or in all rows."""
    is_cluster = at < len(column.difference)
    first, median, third = column.quartiles[at] if column.is_ordered else (None, None, None)
    level = typical_level(column, at)
    return {
        "kind": column.kind,
        "count": column.count[at],
        "gaps": column.gaps[at],
        "first_quartile": first,
        "median": median,
        "third_quartile": third,
        "mean": column.mean[at] if column.is_ordered else None,
        "level": None if level is None else column.levels[level],
        "share": np.nan if level is None else column.shares[at, level],
        "difference": column.difference[at] if is_cluster else np.nan,
        "direction": column.direction[at] if is_cluster else np.nan,
    }


def typical_level(column: ColumnProfile, at: int) -> int | None:
    """Return the level that is most frequent beyond its share of all rows; for all rows, the most frequent one."""
    if column.is_ordered or not column.levels:
        return None
    share = column.shares[at, : len(column.levels)]
    beyond = share - (column.shares[-1, : len(column.levels)] if at < len(column.difference) else 0.0)
    return int(np.argmax(beyond.round(9)))


def profile(
    table: Any, labels: ArrayLike, *, sample_weight: ArrayLike | None = None, feature_names: Any = None
) -> Profiles:
    """Compare the rows of each cluster with all rows, column by column.

    Parameters
    ----------
    table : dict of arrays, frame of pandas or Polars, table of pyarrow, or matrix
        Values of all rows, in the units in which people know them. Gaps are NaN, NaT or None.
    labels : array-like of shape (n_samples,)
        Cluster of each row; -1 for a row that belongs to no cluster.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row. Default: 1 for each.
    feature_names : sequence of str, optional
        Names of the columns, if the table is a matrix.

    Returns
    -------
    Profiles
        Medians, quartiles, shares and histograms, and how much each cluster differs in each column.

    See Also
    --------
    sentence : Describes a cluster in a sentence.
    cluster_names : Gives each cluster a short name.

    Notes
    -----
    The difference of a cluster in a column is the largest difference between the share of the cluster and the share of
    the other rows for which a condition on the column holds, such as "spend of 820 or more" or "channel is app or web".
    What so many rows differ by chance is subtracted. It does not depend on units and can be compared between numbers
    and categories.

    Examples
    --------
    >>> from ravine.explain import profile, sentence
    >>> table = {"spend": [10, 20, 30, 900, 950, 990], "channel": ["web", "web", None, "app", "app", "app"]}
    >>> profiles = profile(table, [0, 0, 0, 1, 1, 1])
    >>> sentence(profiles, 1, units={"spend": ("€", "")})
    'median spend €950, against €465 for all; channel is app for 100 %, against 50 %'
    """
    columns = columns_of(table, feature_names)
    n_rows = len(columns[0]) if columns else len(np.asarray(labels))
    known = labels_of(labels, n_rows)
    weights = checked_weights(sample_weight, n_rows) if n_rows else np.empty(0)
    clusters, group = np.unique(known, return_inverse=True)
    if len(clusters) and clusters[0] == -1:
        clusters, group = clusters[1:], group - 1
    groups = _Groups(group, len(clusters), weights)
    return Profiles(clusters, groups.weight, tuple(_profile(column, groups) for column in columns))


class _Groups:
    """The clusters as groups of rows: their weights, and their effective numbers of rows."""

    def __init__(self, group: Ints, n_groups: int, weights: Floats) -> None:
        self.group, self.n, self.weights = group, n_groups, weights
        self.weight = self.sums(weights)
        squares = self.sums(weights**2)
        total, total_squares = self.weight[-1], squares[-1]
        self.n_rows = self.weight[:-1] ** 2 / np.maximum(squares[:-1], 1e-300)
        others = total - self.weight[:-1]
        others[others <= 1e-9 * total] = 0.0
        self.n_others = others**2 / np.maximum(total_squares - squares[:-1], 1e-300 + 1e-12 * total_squares)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of some values over the rows of each group and, last, of all rows."""
        known = self.group >= 0
        inside = sums(self.group[known], values[known], self.n)
        return np.append(inside, values.sum())


def _profile(column: Column, groups: _Groups) -> ColumnProfile:
    bins = bins_of(column, groups.weights)
    counts = bins.counts(groups.group, groups.n, groups.weights)
    total = sums(bins.code, groups.weights, bins.n_bins + 1)
    gaps = groups.sums(np.where(column.is_gap, groups.weights, 0.0))
    count = np.maximum(groups.weight - gaps, 0.0)
    with_all = np.vstack([counts, total])
    found: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "count": count,
        "gaps": gaps,
        "difference": _measure.differences(counts, total, groups.n_rows, groups.n_others, column.is_ordered),
        "direction": np.zeros(groups.n),
        "levels": (),
        "shares": np.empty((groups.n + 1, 0)),
        "quartiles": np.empty((groups.n + 1, 0)),
        "mean": np.empty(0),
        "edges": np.empty(0),
        "histogram": np.empty((groups.n + 1, 0)),
        "beyond": np.empty((groups.n + 1, 0)),
        "spread": 0.0,
        "is_year": False,
    }
    if column.is_ordered:
        found["direction"] = _measure.directions(counts, total)
        found |= _of_numbers(column, groups)
    else:
        found["levels"] = bins.levels
        found["shares"] = _shares(with_all, bins.has_rest)
        if column.kind == "boolean":
            found["direction"] = _direction_of_yes(counts, total, bins.levels)
    return ColumnProfile(**found)


def _shares(counts: Floats, has_rest: bool) -> Floats:
    """Return the shares of the levels, with those of other levels and of gaps last."""
    if not has_rest:
        counts = np.insert(counts, -1, 0.0, axis=1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)


def _direction_of_yes(counts: Floats, total: Floats, levels: tuple[str, ...]) -> Floats:
    """Return `directions` of truth values, of which "yes" is the higher one."""
    order = [*(levels.index(level) for level in ("no", "yes") if level in levels), -1]
    return _measure.directions(counts[:, order], total[order])


def _of_numbers(column: Column, groups: _Groups) -> dict[str, Any]:
    """Return quartiles, means and histograms of numbers or dates."""
    rows = np.flatnonzero(~column.is_gap & (groups.weights > 0))
    rows = rows[np.argsort(column.values[rows], kind="stable")]
    values, weights, group = column.values[rows], groups.weights[rows], groups.group[rows]
    by_group = np.argsort(group.astype(np.int32), kind="stable")
    by_group = by_group[np.searchsorted(group[by_group], 0) :]
    shares = np.array([0.25, 0.5, 0.75])
    inside = _quantiles(values[by_group], weights[by_group], group[by_group], groups.n, shares)
    everywhere = _quantiles(values, weights, np.zeros(len(values), dtype=np.int64), 1, shares)
    quartiles = np.vstack([inside, everywhere])
    mean = _means(values, weights, group, groups.n, float(everywhere[0, 1]))
    edges = _edges(column, values, weights)
    histogram, beyond = _histogram(values, weights, group, groups.n, edges)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(everywhere[0, 2] - everywhere[0, 0]) if len(values) else 0.0
    is_whole = bool(len(values)) and bool((values == np.floor(values)).all())
    is_date = column.kind == "date"
    return {
        "quartiles": _as_dates(quartiles) if is_date else quartiles,
        "mean": _as_dates(mean) if is_date else mean,
        "edges": _as_dates(edges) if is_date else edges,
        "histogram": histogram,
        "beyond": beyond,
        "spread": spread / DAY if is_date else spread,
        "is_year": bool(not is_date and is_whole and YEARS[0] <= values[0] and values[-1] <= YEARS[1]),
    }


def _quantiles(values: Floats, weights: Floats, group: Ints, n_groups: int, shares: Floats) -> Floats:
    """Return weighted quantiles of each group; the values of a group are in increasing order, one group after another.

    A quantile is the value at which the share of the weight is reached. Where this is between two values, it is the
    middle of the two. So the median is that of any textbook, and a weight of 2 is the same as two rows.
    """
    found = np.full((n_groups, len(shares)), np.nan)
    if not len(values):
        return found
    up_to = np.cumsum(weights)
    ends = np.searchsorted(group, np.arange(n_groups), side="right")
    begins = np.append(0, ends[:-1])
    has_rows = np.flatnonzero(ends > begins)
    below = np.append(0.0, up_to)[begins[has_rows]]
    total = up_to[ends[has_rows] - 1] - below
    target = below[:, np.newaxis] + total[:, np.newaxis] * shares
    slack = 1e-9 * total[:, np.newaxis]
    low = np.searchsorted(up_to, target - slack)
    high = np.searchsorted(up_to, target + slack, side="right")
    first, last = begins[has_rows, np.newaxis], ends[has_rows, np.newaxis] - 1
    at_low, at_high = values[np.clip(low, first, last)], values[np.clip(high, first, last)]
    with np.errstate(invalid="ignore"):
        found[has_rows] = np.where(at_low == at_high, at_low, at_low / 2 + at_high / 2)
    return found


def _means(values: Floats, weights: Floats, group: Ints, n_groups: int, center: float) -> Floats:
    """Return the mean of the finite values of each group and of all rows."""
    finite = np.isfinite(values)
    values, weights, group = values[finite], weights[finite], group[finite]
    center = center if np.isfinite(center) else 0.0
    inside = group >= 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        apart = weights * (values - center)
        away = np.append(sums(group[inside], apart[inside], n_groups), apart.sum())
        total = np.append(sums(group[inside], weights[inside], n_groups), weights.sum())
        return np.asarray(np.where(total > 0, center + away / total, np.nan))


def _edges(column: Column, ordered: Floats, weights: Floats) -> Floats:
    """Return the edges of the bins of a histogram: at round numbers, without a few values far out."""
    finite = np.isfinite(ordered)
    ordered, weights = ordered[finite], weights[finite]
    if not len(ordered):
        return np.empty(0)
    distinct = np.unique(ordered)
    if np.abs(distinct[[0, -1]]).max() > HUGE:
        return distinct[[0, -1]]
    is_whole = column.kind == "number" and bool((distinct == np.floor(distinct)).all())
    if is_whole and distinct[-1] - distinct[0] < N_BINS:
        return np.asarray(np.arange(distinct[0], distinct[-1] + 2) - 0.5)
    low, high = _quantiles(ordered, weights, np.zeros(len(ordered), dtype=np.int64), 1, np.array([OUTER, 1 - OUTER]))[0]
    if low == high:
        low, high = ordered[0], ordered[-1]
        if low == high:
            width = DAY if column.kind == "date" else max(abs(low), 1.0) * 0.1
            return np.array([low - width / 2, high + width / 2])
        central = ordered[(weights.cumsum() > OUTER * weights.sum())]
        low, high = central[0], central[-1]
    step = _date_step(high - low) if column.kind == "date" else _number_step(high - low, ordered)
    first, last = np.floor(low / step), np.floor(high / step) + 1
    near = ordered[(ordered >= (first - EXTRA_BINS) * step) & (ordered < (last + EXTRA_BINS) * step)]
    first, last = min(first, np.floor(near[0] / step)), max(last, np.floor(near[-1] / step) + 1)
    return np.asarray(np.arange(first, last + 1) * step)


def _number_step(width: float, values: Floats) -> float:
    """Return the width of a bin: 1, 2 or 5 times a power of ten, and at least 1 for whole numbers."""
    power = 10.0 ** np.floor(np.log10(width / N_BINS))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * N_BINS >= width * (1 - 1e-9))
    return float(max(step, 1.0) if (values == np.floor(values)).all() else step)


def _date_step(width: float) -> float:
    steps = [60e6 * minutes for minutes in STEPS_OF_TIME] + [float(DAY * days) for days in STEPS_OF_DAYS]
    return next((step for step in steps if step * N_BINS >= width), np.ceil(width / N_BINS / steps[-1]) * steps[-1])


def _histogram(values: Floats, weights: Floats, group: Ints, n_groups: int, edges: Floats) -> tuple[Floats, Floats]:
    """Return the weight in each bin for each group and for all rows, and the weight beyond the outer edges."""
    n_bins = max(len(edges) - 1, 0)
    if not n_bins:
        return np.zeros((n_groups + 1, 0)), np.zeros((n_groups + 1, 2))
    place = np.searchsorted(edges, values, side="right")  # 0 below all edges
    inside = group >= 0
    size = n_bins + 2
    counts = sums(group[inside] * size + place[inside], weights[inside], n_groups * size).reshape(-1, size)
    counts = np.vstack([counts, sums(place, weights, size)])
    beyond = counts[:, [0, -1]]
    histogram = counts[:, 1:-1].copy()
    histogram[:, 0] += beyond[:, 0]
    histogram[:, -1] += beyond[:, 1]
    return histogram, beyond


def _as_dates(microseconds: Floats) -> NDArray[Any]:
    known = np.where(np.isnan(microseconds), 0.0, microseconds)
    dates = np.round(known).astype(np.int64).astype("datetime64[us]")
    return np.where(np.isnan(microseconds), np.datetime64("NaT", "us"), dates)


def _order(rows: Floats) -> Ints:
    """Return the order of some rows in which neighbors are similar; the first row is in the first half."""
    n = len(rows)
    if n < 3 or rows.shape[1] == 0:
        return np.arange(n)
    distances = np.round(pdist(np.round(rows, 6)), 9)
    order = leaves_list(linkage(distances, "average", optimal_ordering=n <= MOST_ORDERED)).astype(np.int64)
    return order[::-1].copy() if int(np.flatnonzero(order == 0)[0]) > (n - 1) / 2 else order
