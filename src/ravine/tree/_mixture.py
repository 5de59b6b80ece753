"""A mixture of t distributions that is started from the clusters of a tree: where they end, and how sure that is.

A tree says how many clusters there are and where they are. Its cuts are flat, and each was placed by the rows of one
node. The mixture has one component for each leaf and is fitted by expectation maximization, which takes a few passes
over a sample of the rows. Then a boundary lies where two components have the same density, so that a wide cluster may
reach farther than a narrow one beside it. With Gaussian components, a few rows far out would make a component so wide
that it takes the rows of others. With many columns and few rows, all components share one covariance, are Gaussian, and
have equal weights, so that the boundary between two of them is flat and halfway between their means. With free weights,
the largest component would grow at the expense of all others.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from scipy import sparse

from ravine import _kernels
from ravine._blocks import LEAST_CELLS, map_blocks, map_items
from ravine._matrix import Bools, Floats, Ints, Matrix, column_moments, scatter
from ravine._scaling import Scaling, weighted_quantiles
from ravine._schema import POSITIVE, Array, Group, Number, Sizes, State, require
from ravine._ties import TIE

SAMPLE_ROWS, ROWS_PER_COMPONENT, MOST_SAMPLE_ROWS = 5_000, 100, 20_000
"""The mixture is fitted to this many rows, or to more if there are many clusters or columns, up to the last number."""

N_STEPS, TOLERANCE = 40, 1e-3
"""Expectation maximization ends after this many steps, or if the mean change of a membership is below the tolerance."""

PRIOR_ROWS = 30.0
"""The covariance of a cluster is averaged with the pooled one, which counts as this many rows and one for each
column."""

FEWEST_ROWS, NEGLIGIBLE = 1.5, 1e-12
"""Expectation maximization also ends if a component has fewer rows. Rows with a smaller share in a component are left
out of its covariance."""

FREEDOM = 10.0
"""Degrees of freedom of a component that has a covariance of its own."""

RIDGE = 1e-3
"""This share of the mean variance is added to the variance along each column."""

MOST_OWN, MOST_COLUMNS = 100, 2048
"""With more columns than the first number, all clusters share one covariance; with more than the second, there is no
mixture."""

N_VALUES, DISCRETE_SHARE, LEAST_USED = 2, 0.9, 0.45
"""A column is discrete if so many of its values have at least the second share of the rows. If the cuts use discrete
columns less than the third number times as much as all columns on average, the components do not describe them: a
component that has only one of the values would be so narrow there that this column alone would decide."""

LEAST_VARIANCE = 1e-3
"""The variance of a cluster along a column counts as at least this share of that of all rows."""

LEAST_MOVED, LEAST_ROWS = 1e-3, 10
"""The mixture decides about labels if it moves at least this share of the rows to another cluster, and if there are at
least so many distinct rows for each cluster, and for each column of a shared covariance."""

FENCE, FENCE_SHARE = 5.0, 0.9
"""The limit for outliers is the median distance plus the first number times the way from it to the quantile of the
second number."""

LEAST_BEYOND = 1e-4
"""The limit is at least the distance that this share of the rows of a Gaussian component exceeds: a component of a few
rows, or of copies of one row, says little about its distances."""

ABOVE_ROUNDING = 1.000001
"""Limits are multiplied by this number: if all distances are equal, rounding must not put rows beyond the limit."""


def sizes_fit(state: State, sizes: Sizes) -> None:
    """There is one factor, or one for each component that is not Gaussian; every cluster has a component."""
    n_factors, n_components = len(state["factor"]), len(state["weight"])
    n_most = 1 if math.isinf(state["freedom"]) else n_components
    require(n_factors in (1, n_most), "factor", f"has {n_factors} matrices for {n_components} components")
    n_clusters = (sizes["n_nodes"] + 1) // 2  # of a binary tree
    found = np.unique(state["cluster"])
    is_whole = len(found) == n_clusters and found[-1] == n_clusters - 1
    require(is_whole, "cluster", f"does not name each of the {n_clusters} clusters of the tree")


def factors_are_triangular(state: State, sizes: Sizes) -> None:
    """A factor is lower triangular, with a positive diagonal, and zero for columns that are not described."""
    factor, beside = state["factor"], state["beside"]
    is_described = np.ones(factor.shape[1], dtype=bool) if beside is None else beside == 0
    diagonal = np.diagonal(factor, axis1=1, axis2=2)[:, is_described]
    require((diagonal > 0).all(), "factor", "has an entry on its diagonal that is not > 0")
    require(all(not np.triu(each, 1).any() for each in factor), "factor", "is not zero above its diagonal")
    others = factor[:, ~is_described].any() or factor[:, :, ~is_described].any()
    require(not others, "factor", "is not zero in a column that no component describes")


MIXTURE = Group(
    {
        "weight": Array("float64", ("n_components",), low=POSITIVE, high=1.0),
        "mean": Array("float64", ("n_components", "n_features")),
        "factor": Array("float64", ("n_factors", "n_features", "n_features")),
        "cluster": Array("integer", ("n_components",), low=0),
        "freedom": Number(float, low=3.0, high=math.inf),
        "decides": Number(bool),
        "limit": Array("float64", ("n_components",), low=POSITIVE, optional=True, required=False),
        "beside": Array("float64", ("n_features",), low=0, optional=True, required=False),
    },
    (sizes_fit, factors_are_triangular),
    optional=True,
    required=False,
)
"""The mixture of a tree in a file."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of t distributions whose components belong to the clusters of a tree.

    Parameters
    ----------
    weight : ndarray of shape (n_components,)
        Share of the rows in each component.
    mean : ndarray of shape (n_components, n_features)
        Mean of each component, in the units of the data.
    factor : ndarray of shape (n_components, n_features, n_features) or (1, n_features, n_features)
        Lower triangular matrix F of each component, or of all of them. The density of a row x depends on the length
        of F (x - mean).
    cluster : ndarray of shape (n_components,)
        Label of the cluster of each component. Several components belong to one cluster after `cut_to` and `prune`.
    freedom : float
        Degrees of freedom, more than 2; infinity for Gaussian components, which share one factor.
    decides : bool
        Whether the labels of rows come from the mixture. If not, they come from the cuts.
    limit : ndarray of shape (n_components,) or None
        A row that is farther from its likeliest component, in the length of F (x - mean), is an outlier with the label
        -1. If None, no row is.
    beside : ndarray of shape (n_features,) or None
        Variance of each column that the components do not describe, and 0 for the others. Factors are zero there, so
        that these columns have no part in distances and densities. None if all columns are described.
    """

    weight: Floats
    mean: Floats
    factor: Floats
    cluster: Ints
    freedom: float = math.inf
    decides: bool = True
    limit: Floats | None = None
    beside: Floats | None = None

    def __post_init__(self) -> None:
        for array in (self.weight, self.mean, self.factor, self.cluster, self.limit, self.beside):
            if array is not None:
                array.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max()) + 1

    @property
    def covariance(self) -> Floats:
        """Covariance matrix of each component; columns that are not described are uncorrelated with all others."""
        at = np.ix_(self.described, self.described)
        spread = 1.0 if math.isinf(self.freedom) else self.freedom / (self.freedom - 2)
        covariance = np.zeros_like(self.factor)
        for each, factor in zip(covariance, self.factor, strict=True):
            inverse = scipy.linalg.solve_triangular(factor[at], np.eye(len(self.described)), lower=True)
            each[at] = spread * inverse @ inverse.T
            if self.beside is not None:
                each[np.diag_indices(len(each))] += self.beside
        return np.broadcast_to(covariance, (len(self.weight), *covariance.shape[1:]))

    @cached_property
    def described(self) -> Ints:
        """Columns that the components describe."""
        return np.arange(self.mean.shape[1]) if self.beside is None else np.flatnonzero(self.beside == 0)

    @property
    def power(self) -> float:
        """Power of the density of a t distribution."""
        return (self.freedom + len(self.described)) / 2

    def cluster_moments(self) -> tuple[Floats, Floats, Floats]:
        """Return weight, mean and covariance matrix of each cluster."""
        of_cluster = (self.cluster == np.arange(self.n_clusters)[:, np.newaxis]) * self.weight
        weight = of_cluster.sum(axis=1)
        mean, covariance = pooled(of_cluster / weight[:, np.newaxis], self.mean, self.covariance)
        return weight, mean, covariance

    def unscaled(self, center: Floats, scale: Floats) -> "Mixture":
        """Return the mixture of the original rows, for one of ``(rows - center) / scale``."""
        beside = None if self.beside is None else self.beside * scale**2
        return replace(self, mean=self.mean * scale + center, factor=self.factor / scale, beside=beside)

    def merged(self, label: Ints) -> "Mixture":
        """Return the mixture for fewer clusters; `label` has the new label of each old one."""
        return replace(self, cluster=label[self.cluster])

    @property
    def first_components(self) -> Ints:
        """The first component of each cluster."""
        first = np.zeros(self.n_clusters, dtype=np.int64)
        first[self.cluster[::-1]] = np.arange(len(self.cluster))[::-1]
        return first

    @property
    def has_labels(self) -> bool:
        """Whether the labels of a tree depend on the mixture."""
        return self.decides or self.limit is not None

    def labels(self, X: Matrix, label: Ints, n_jobs: int | None = None) -> Ints:
        """Return the label of each row: -1 for an outlier, or else its cluster by what decides; `label` is by the cuts.

        This is the only place that makes outliers.
        """
        component = self.likeliest(X, label, n_jobs)
        found = self.cluster[component] if self.decides else label
        if self.limit is None:
            return np.asarray(found)
        is_inside = self.distance(X, component, n_jobs) <= self.limit[component]  # False also for what is no number
        return np.where(is_inside, found, -1)

    def predict(self, X: Matrix, label: Ints, n_jobs: int | None = None) -> Ints:
        """Return the cluster of the likeliest component of each row; see `likeliest` for `label`."""
        return np.asarray(self.cluster[self.likeliest(X, label, n_jobs)])

    def likeliest(self, X: Matrix, label: Ints, n_jobs: int | None = None) -> Ints:
        """Return the likeliest component of each row.

        `label` has the label of each row by the cuts. Where no component has a density above zero, the result is the
        first component of that cluster.
        """
        first = self.first_components[label]

        def predict_block(b: slice) -> Ints:
            rows = _dense(X, b)
            if math.isinf(self.freedom):
                return _largest(self._linear(rows), first[b])
            out = np.empty(len(rows), dtype=np.int64)
            components = self.mean, self.factor, self.constant, self.freedom, self.power
            _kernels.mixture.likeliest(rows, *components, first[b], out)
            return out

        parts = map_blocks(predict_block, self._work(X), n_jobs)
        return np.concatenate(parts) if parts else first

    def distance(self, X: Matrix, component: Ints, n_jobs: int | None = None) -> Floats:
        """Return the distance of each row from the mean of its component, in the length of F (x - mean)."""
        out = np.empty(X.shape[0])

        def fill(b: slice) -> None:
            _kernels.mixture.squared_distance(_dense(X, b), component[b], self.mean, self.factor, out[b])

        map_blocks(fill, X.shape, n_jobs)
        return np.asarray(np.sqrt(out))

    def memberships(self, X: Matrix, label: Ints, n_jobs: int | None = None) -> Floats:
        """Return the probability that each row belongs to each cluster; see `likeliest` for `label`."""
        joint = self._joint(X, n_jobs, up_to_constant=True)
        total = scipy.special.logsumexp(joint, axis=1, keepdims=True) if joint.size else np.zeros((len(joint), 1))
        known = np.isfinite(total[:, 0])
        probability = np.zeros((len(joint), self.n_clusters))
        for k in range(len(self.weight)):
            probability[known, self.cluster[k]] += np.exp(joint[known, k] - total[known, 0])
        probability[np.flatnonzero(~known), label[~known]] = 1.0
        return probability

    def log_density(self, X: Matrix, n_jobs: int | None = None) -> Floats:
        """Return the logarithm of the density of the mixture at each row."""
        joint = self._joint(X, n_jobs)
        return np.asarray(scipy.special.logsumexp(joint, axis=1)) if joint.size else np.empty(0)

    def log_density_beside(self, X: Matrix, center: Floats) -> Floats:
        """Return the log density of each row in the columns that are not described, each normal around `center`.

        With it, models that describe different columns have densities of the same columns, which can be compared.
        """
        if self.beside is None:
            return np.zeros(X.shape[0])
        others = np.flatnonzero(self.beside)
        cells, variance = X[:, others], self.beside[others]
        apart = (cells.toarray() if sparse.issparse(cells) else cells) - center[others]
        return np.asarray(-0.5 * (apart**2 / variance + np.log(2 * np.pi * variance)).sum(axis=1))

    def _joint(self, X: Matrix, n_jobs: int | None, up_to_constant: bool = False) -> Floats:
        """Return the logarithm of the weighted density of each row in each component.

        With `up_to_constant`, a number that is the same for all components of a row may be missing. Far away, it is so
        large that the differences between components would be lost in it.
        """
        out = np.empty((X.shape[0], len(self.weight)))

        def fill(b: slice) -> None:
            rows = _dense(X, b)
            if not math.isinf(self.freedom):
                _kernels.mixture.squared_distances(rows, self.mean, self.factor, out[b])
                out[b] = self._log_densities(out[b])
                return
            if up_to_constant:
                out[b] = self._linear(rows)
                return
            common = np.empty((len(rows), 1))
            _kernels.mixture.squared_distances(rows, self.planes[0][np.newaxis], self.factor, common)
            out[b] = self._linear(rows) - 0.5 * common

        with np.errstate(over="ignore", invalid="ignore"):
            map_blocks(fill, self._work(X), n_jobs)
        return out

    def _work(self, X: Matrix) -> tuple[int, int]:
        """Return the number of rows, and what to compare one with all components costs."""
        return X.shape[0], X.shape[1] * len(self.weight)

    @cached_property
    def constant(self) -> Floats:
        """Logarithm of the weighted density of each component at its mean."""
        volume = np.log(np.diagonal(self.factor, axis1=1, axis2=2)[:, self.described]).sum(axis=1)
        half, freedom = len(self.described) / 2, self.freedom
        if math.isinf(freedom):
            peak = -half * math.log(2 * math.pi)
        else:
            peak = math.lgamma(half + freedom / 2) - math.lgamma(freedom / 2) - half * math.log(freedom * math.pi)
        return np.asarray(np.log(self.weight) + volume + peak)

    def _log_densities(self, squares: Floats) -> Floats:
        """Return the logarithms of the weighted densities at some squared distances from each component."""
        return np.asarray(self.constant - self.power * np.log1p(squares / self.freedom))

    @cached_property
    def planes(self) -> tuple[Floats, Floats, Floats]:
        """Center, constants and directions: with a shared covariance, log densities differ by linear functions.

        They are ``(x - center) @ direction[k] + constant[k]``, and a term that is the same for all components.
        """
        center = self.weight @ self.mean
        whitened = (self.mean - center) @ self.factor[0].T
        return center, self.constant - 0.5 * (whitened**2).sum(axis=1), whitened @ self.factor[0]

    def _linear(self, rows: Floats) -> Floats:
        """Return the log densities with a shared covariance, without the term that is the same for all components."""
        center, constant, direction = self.planes
        out = np.empty((len(rows), len(self.weight)))
        with np.errstate(over="ignore", invalid="ignore"):
            _kernels.rows.project_all(rows - center, direction, out)
            out += constant
        return out


def pooled(share: Floats, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance matrix of groups of components; `share` has the share of each component in a group."""
    center = share @ mean
    apart = mean[np.newaxis] - center[:, np.newaxis]
    within = np.einsum("ck,kij->cij", share, covariance)
    return center, within + np.einsum("ck,cki,ckj->cij", share, apart, apart)


def _dense(X: Matrix, b: slice) -> Any:
    return X[b].toarray() if sparse.issparse(X) else np.ascontiguousarray(X[b])


def _largest(score: Floats, first: Ints) -> Ints:
    """Return the position of the largest score of each row, and `first` where a score is no number."""
    return np.where(np.isfinite(score).all(axis=1), np.nan_to_num(score).argmax(axis=1), first)


def sample_size(n_clusters: int, n_columns: int) -> int:
    """Return the number of rows to which the mixture of so many clusters is fitted."""
    wanted = max(SAMPLE_ROWS, ROWS_PER_COMPONENT * n_clusters, 2 * LEAST_ROWS * n_columns)
    return min(wanted, MOST_SAMPLE_ROWS)


def fit_mixture(
    X: Floats,
    weights: Floats,
    label: Ints,
    n_clusters: int,
    always_decides: bool = False,
    used: Floats | None = None,
    n_jobs: int | None = None,
) -> Mixture | None:
    """Fit a mixture to rows that a tree has labeled.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        A sample of the rows.
    weights : ndarray of shape (n_samples,)
        Their weights, which are positive.
    label : ndarray of shape (n_samples,)
        Cluster of each row by the cuts.
    n_clusters : int
    always_decides : bool, default=False
        Whether labels come from the mixture even if it moves hardly any row, or if there are few rows.
    used : ndarray of shape (n_features,), optional
        Share of each column in the cuts. By default, all columns are used alike.
    n_jobs : int or None
        Number of threads. The result does not depend on it.

    Returns
    -------
    mixture : Mixture or None
        None if there are too many columns, if a cluster has no row, or if a cluster would lose all its rows.
    """
    n_columns = X.shape[1]
    if n_columns > MOST_COLUMNS or len(np.unique(label)) < n_clusters:
        return None
    if used is not None and used.any():
        is_discrete = discrete_columns(X, weights, n_jobs)
        if used[is_discrete].sum() < LEAST_USED * used.sum() * is_discrete.mean():
            return _beside_discrete(X, weights, label, n_clusters, always_decides, is_discrete, n_jobs)
    if _has_own_covariances(X, weights, n_clusters):
        differs = differing_columns(X, weights, label, n_clusters)
        if differs.any() and not differs.all():
            return _with_common_columns(X, weights, label, n_clusters, always_decides, differs, n_jobs)
    return _fit_to_all_columns(X, weights, label, n_clusters, always_decides, n_jobs)


def _fit_to_all_columns(
    X: Floats, weights: Floats, label: Ints, n_clusters: int, always_decides: bool, n_jobs: int | None
) -> Mixture | None:
    n_columns = X.shape[1]
    scaling, count = Scaling.of(X, weights), float(weights.sum())
    X = np.asarray(X, dtype=np.float64)
    ways = [scaling.rows(X)]
    if scaling.moves_cells:  # they may be a cluster of their own
        ways.append((X - scaling.center) / scaling.scale)
    for Z in ways:
        mixture, found = _maximize(Z, weights / count, label, n_clusters, n_jobs)
        if len(np.unique(found)) == n_clusters:
            break
    else:
        return None
    least = LEAST_ROWS * max(n_clusters, n_columns if math.isinf(mixture.freedom) else 0)
    has_moved = weights[found != label].sum() >= LEAST_MOVED * count
    decides = always_decides or bool(has_moved and len(Z) >= least)
    return replace(mixture.unscaled(scaling.center, scaling.scale), decides=decides)


def discrete_columns(X: Floats, weights: Floats, n_jobs: int | None = None) -> Bools:
    """Return which columns have two values with nearly all of the weight; constant columns are not among them."""

    def is_discrete(j: int) -> bool:
        values, place = np.unique(X[:, j], return_inverse=True)
        share = np.sort(np.bincount(place, weights))[::-1] / weights.sum()
        return len(values) > 1 and bool(share[:N_VALUES].sum() >= DISCRETE_SHARE * (1 - TIE))

    return np.array(map_items(is_discrete, range(X.shape[1]), _worth(X, n_jobs)), dtype=bool)


def _worth(X: Floats, n_jobs: int | None) -> int | None:
    """Return the number of threads for steps over columns or components: one for few rows."""
    return n_jobs if X.size >= LEAST_CELLS else 1


def differing_columns(X: Floats, weights: Floats, label: Ints, n_clusters: int) -> Bools:
    """Return the columns in which the clusters have different distributions, by the Bayesian information criterion.

    A normal distribution for each cluster is compared with one for all rows. With many columns in which clusters do not
    differ, what the components learn there by chance outweighs what the other columns say. This is so for covariances
    of their own; a shared one learns little by chance, and may add up many columns that each differ too little.
    """
    scaling, X = Scaling.of(X, weights), np.asarray(X, dtype=np.float64)
    differs = _differs(scaling.rows(X), weights, label, n_clusters)
    if scaling.moves_cells:  # they may be a cluster of their own
        differs |= _differs((X - scaling.center) / scaling.scale, weights, label, n_clusters)
    return differs


def _differs(Z: Floats, weights: Floats, label: Ints, n_clusters: int) -> Bools:
    count, _, squares = column_moments(Z, weights)
    variance, gain = squares / count, np.zeros(Z.shape[1])
    for k in range(n_clusters):
        rows = np.flatnonzero(label == k)
        size, _, squares = column_moments(Z[rows], weights[rows])
        within = np.maximum(squares / size, LEAST_VARIANCE * variance)
        ratio = np.divide(variance, within, out=np.ones_like(within), where=within > 0)
        gain += size / count * np.log(ratio)
    n_effective = count**2 / float(weights @ weights)
    return np.asarray(n_effective * gain > 2 * (n_clusters - 1) * math.log(n_effective))


def _with_common_columns(
    X: Floats,
    weights: Floats,
    label: Ints,
    n_clusters: int,
    always_decides: bool,
    differs: Bools,
    n_jobs: int | None,
) -> Mixture | None:
    """Fit the mixture to the columns that differ; the others have one distribution for all components."""
    own, common = np.flatnonzero(differs), np.flatnonzero(~differs)
    found = _fit_to_all_columns(np.ascontiguousarray(X[:, own]), weights, label, n_clusters, always_decides, n_jobs)
    if found is None:
        return None
    others = np.ascontiguousarray(X[:, common])
    scaling, share = Scaling.of(others, weights), weights / weights.sum()
    Z = scaling.rows(np.asarray(others, dtype=np.float64))
    center = share @ Z
    covariance = _regular(scatter(Z, share, center), 1, 1.0 / float(share @ share))
    spread = 1.0 if math.isinf(found.freedom) else found.freedom / (found.freedom - 2)
    mean = np.empty((n_clusters, X.shape[1]))
    factor = np.zeros((len(found.factor), X.shape[1], X.shape[1]))
    mean[:, own], mean[:, common] = found.mean, center * scaling.scale + scaling.center
    factor[:, own[:, np.newaxis], own] = found.factor
    factor[:, common[:, np.newaxis], common] = _factors(covariance[np.newaxis] / spread)[0] / scaling.scale
    return replace(found, mean=mean, factor=factor)


def _beside_discrete(
    X: Floats,
    weights: Floats,
    label: Ints,
    n_clusters: int,
    always_decides: bool,
    is_discrete: Bools,
    n_jobs: int | None,
) -> Mixture | None:
    """Fit the mixture to the other columns; in the discrete ones, components have the means of their clusters."""
    described = np.flatnonzero(~is_discrete)
    rows = np.ascontiguousarray(X[:, described])
    found = fit_mixture(rows, weights, label, n_clusters, always_decides, n_jobs=n_jobs)
    if found is None:
        return None
    others = np.asarray(X[:, is_discrete], dtype=np.float64)
    mean = np.empty((len(found.weight), X.shape[1]))
    factor = np.zeros((len(found.factor), X.shape[1], X.shape[1]))
    mean[:, described] = found.mean
    factor[:, described[:, np.newaxis], described] = found.factor
    part = (label == np.arange(n_clusters)[:, np.newaxis]) * weights
    mean[:, is_discrete] = (part @ others) / part.sum(axis=1, keepdims=True)
    beside = np.zeros(X.shape[1])
    beside[is_discrete] = column_moments(others, weights)[2] / weights.sum()
    return replace(found, mean=mean, factor=factor, beside=beside)


def _has_own_covariances(X: Floats, weights: Floats, n_clusters: int) -> bool:
    """Return whether there are enough rows for a covariance matrix of each component."""
    n_effective = float(weights.sum()) ** 2 / float(weights @ weights)
    return X.shape[1] <= MOST_OWN and n_effective >= X.shape[1] * n_clusters * (1 - TIE)


def _maximize(
    Z: Floats, share: Floats, label: Ints, n_clusters: int, n_jobs: int | None = None
) -> tuple[Mixture, Ints]:
    """Return the mixture after expectation maximization, and the likeliest component of each row.

    It begins with the memberships that the labels give.

    `share` are the weights of the rows, which add up to 1. Rows far from a component count less in its mean and in its
    covariance. A component that lost nearly all its rows ends the search. All matrices of components and rows have one
    line for each component, which is much longer than one for each row.
    """
    n_effective = 1.0 / float(share @ share)
    has_own = _has_own_covariances(Z, share, n_clusters)
    total = np.empty(0) if has_own else scatter(Z, share, np.zeros(Z.shape[1]))
    freedom = FREEDOM if has_own else math.inf
    columns = np.ascontiguousarray(Z.T)
    membership, trust = np.zeros((n_clusters, len(Z))), np.ones((n_clusters, len(Z)))
    membership[label, np.arange(len(Z))] = 1.0
    cluster = np.arange(n_clusters)
    for _ in range(N_STEPS):
        trusted = membership * share
        weight = trusted.sum(axis=1)
        trusted *= trust
        mean = (trusted @ Z) / trusted.sum(axis=1)[:, np.newaxis]
        if has_own:
            covariance = _own_covariances(Z, trusted, mean, n_effective, n_jobs)
            weight = np.minimum(weight, 1.0)  # that of a single component may exceed 1 by rounding
        else:
            within = total - (mean * weight[:, np.newaxis]).T @ mean
            covariance = _regular(within, n_clusters, n_effective)[np.newaxis]
            weight = np.full(n_clusters, 1 / n_clusters)
        mixture = Mixture(weight, mean, _factors(covariance), cluster, freedom)
        if has_own:
            squares = _squares(columns, mixture, n_jobs)
            joint = mixture._log_densities(squares.T).T
            trust = (freedom + Z.shape[1]) / (freedom + squares)
        else:  # the term that is the same for all components is left out
            center, constant, direction = mixture.planes
            joint = direction @ (columns - center[:, np.newaxis]) + constant[:, np.newaxis]
        joint -= joint.max(axis=0)
        after = np.exp(joint, out=joint)
        after /= after.sum(axis=0)
        membership -= after
        change = float(np.abs(membership, out=membership).sum(axis=0) @ share) / 2
        membership = after
        if change < TOLERANCE or (membership @ share).min() * n_effective < FEWEST_ROWS:
            break
    return mixture, membership.argmax(axis=0)


def _own_covariances(Z: Floats, trusted: Floats, mean: Floats, n_effective: float, n_jobs: int | None = None) -> Floats:
    """Return the average of the covariance of each component and the pooled one, by their numbers of rows.

    `trusted` are the shares of the rows, smaller for rows far out. A covariance is divided by their sum, as in the
    parameter-expanded algorithm of Kent, Tyler and Vardi (1994): with many columns, rows count for more than 1.
    """
    kept = np.where(trusted > NEGLIGIBLE, trusted, 0.0)
    scatters = np.array(map_items(lambda k: scatter(Z, kept[k], mean[k]), range(len(mean)), _worth(Z, n_jobs)))
    pooled = _regular(scatters.sum(axis=0) / kept.sum(), len(mean), n_effective)
    prior = (PRIOR_ROWS + Z.shape[1]) / n_effective
    return np.asarray((scatters + prior * pooled) / (kept.sum(axis=1) + prior)[:, np.newaxis, np.newaxis])


def _regular(pooled: Floats, n_components: int, n_effective: float) -> Floats:
    """Return the pooled covariance with a ridge, and drawn to its diagonal if there are few rows for its entries."""
    n_columns = len(pooled)
    drawn = min(1.0, n_columns * n_components / n_effective / 4) if n_columns > 1 else 0.0
    variance = np.diagonal(pooled).copy()
    pooled = pooled * (1 - drawn)
    pooled[np.diag_indices(n_columns)] = variance + RIDGE * variance.mean() + 1e-9
    return pooled


def _factors(covariance: Floats) -> Floats:
    """Return lower triangular matrices F with F C Fᵀ = 1 for each covariance matrix C."""
    return np.tril(np.linalg.inv(np.linalg.cholesky(covariance)))


def _squares(columns: Floats, mixture: Mixture, n_jobs: int | None = None) -> Floats:
    """Return the squared distance of each row from each component, by products of matrices, for memberships only."""
    squares = np.empty((len(mixture.weight), columns.shape[1]))

    def measure(k: int) -> None:
        white = mixture.factor[k] @ columns
        white -= (mixture.factor[k] @ mixture.mean[k])[:, np.newaxis]
        np.einsum("ij,ij->j", white, white, out=squares[k])

    map_items(measure, range(len(squares)), _worth(columns, n_jobs))
    return squares


def with_limit(mixture: Mixture, X: Floats, weights: Floats, label: Ints) -> Mixture:
    """Return the mixture with a limit for outliers, which is learned from the distances of the rows of each component.

    Parameters
    ----------
    mixture : Mixture
    X : ndarray of shape (n_samples, n_features)
        The rows to which the mixture was fitted.
    weights : ndarray of shape (n_samples,)
    label : ndarray of shape (n_samples,)
        Cluster of each row by the cuts.

    Returns
    -------
    mixture : Mixture
        The same mixture, without a limit if some cluster would lose all its rows.
    """
    component = mixture.likeliest(X, label)
    distance = mixture.distance(X, component)
    limit = np.full(len(mixture.weight), math.sqrt(scipy.special.chdtri(len(mixture.described), LEAST_BEYOND)))
    for k in np.unique(component):
        rows = np.flatnonzero(component == k)
        middle, far = weighted_quantiles(distance[rows], weights[rows], (0.5, FENCE_SHARE))
        limit[k] = max(limit[k], ABOVE_ROUNDING * (middle + FENCE * (far - middle)))
    limited = replace(mixture, limit=limit)
    left = np.setdiff1d(limited.labels(X, label), [-1])
    return limited if len(left) == mixture.n_clusters else mixture


def packed(mixture: Mixture | None) -> dict[str, Any] | None:
    """Return the fields of a mixture for a file; a limit that is not there is left out."""
    if mixture is None:
        return None
    values = {f.name: getattr(mixture, f.name) for f in fields(mixture)}
    return {name: value for name, value in values.items() if value is not None}


def unpacked(record: State | None) -> Mixture | None:
    """Return the mixture from the checked result of `packed`."""
    return None if record is None else Mixture(**record)
