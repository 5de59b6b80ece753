"""Convex clustering (Panahi et al. 2017): one global solution, its path over λ, and a proven bound on its error.

Each row has a centroid that is pulled towards the centroids of other rows with a force λ. Rows whose centroids meet
form a cluster. On a graph of neighbors, a path of 200 values of λ costs a few hundred passes over the edges. With all
pairs as edges, one solution costs a few dozen passes over n²/2 pairs.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ravine._convex import (
    CERTIFICATE,
    PATH,
    Certificate,
    FusionTree,
    Points,
    ScaledProblem,
    Settings,
    choose_on_path,
    choose_solver,
    default_max_iter,
    find_clusters,
    fusions_of_rows,
    is_confirmed,
    is_in_order,
    least_size,
    mass_of,
    nearest_center,
    nearest_neighbor,
    one_cluster,
    path_to,
)
from ravine._lazy import public
from ravine._matrix import Floats, Ints
from ravine._numbering import from_low_to_high
from ravine._schema import Array, Field, Group, Number, Sizes, State, require
from ravine._sklearn import Interval, StrOptions
from ravine._warnings import warn_user
from ravine.cluster._arrays import answering, to_numpy
from ravine.cluster._base import N_JOBS, Clusterer, fitting, one_blas_thread


def rows_are_distinct(state: State, sizes: Sizes) -> None:
    """The rows are the distinct rows of the data, in an order that depends only on them."""
    require(is_in_order(state["rows"]), "rows", "has duplicate rows, or rows in the wrong order")


def rows_without_weight_are_there(state: State, sizes: Sizes) -> None:
    """The rows of the data that belong to no point are kept beside the points."""
    n_rows = int((state["member"] < 0).sum())
    require(n_rows == sizes["n_weightless"], "weightless", f"must have {n_rows} rows, as many as field 'member' says")


SCORE = Number(float, low=0, high=np.inf, nan=True)
NUMBERS: dict[str, Field] = {
    "lam_": SCORE,
    "objective_": SCORE,
    "gap_": SCORE,
    "n_iter_": Number(int, low=0),
    "partition_stable_": Number(bool),
    "strength_": SCORE,
    "confirmed_": Number(bool, optional=True, required=False),
    "_unit": SCORE,
}
"""Attributes that are numbers."""

SAVED = Group(
    {
        "rows": Array("float64", ("n_points", "n_features")),
        "mass": Array("float64", ("n_points",), low=np.finfo(np.float64).tiny),
        "member": Array("integer", ("n_samples",), low=-1, index_of="n_points"),
        "weightless": Array("float64", ("n_weightless", "n_features"), empty=True),
        "point_centroids": Array("float64", ("n_points", "n_features")),
        "cluster_centers": Array("float64", ("n_clusters", "n_features")),
        "point_labels": Array("integer", ("n_points",), index_of="n_clusters"),
        "numbers": Group(NUMBERS),
        "certificate": CERTIFICATE,
        "path": PATH,
    },
    (rows_are_distinct, rows_without_weight_are_there),
)


@public("ravine")
class SumOfNorms(Clusterer):
    """Convex clustering by a sum of norms, with its path over λ and a certificate.

    Row i has a centroid uᵢ, and the centroids minimize

        Σ ‖xᵢ - uᵢ‖² / 2 + λ Σ wᵢₖ ‖uᵢ - uₖ‖.

    This function is convex: there is one solution, which does not depend on the start. Rows whose centroids coincide
    form a cluster. A larger λ gives fewer clusters. Clusters of at least `min_cluster_size` rows are called large here.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of large clusters. If None, it is chosen automatically, from the path. Ignored if `lam` is given.
    lam : float or None, default=None
        The force λ. If None, the model computes the path over all λ. Of the λ on the path it takes the one at which the
        large clusters stay the same for longest, on a logarithmic scale. If their number is chosen automatically too,
        there is one cluster unless they are stronger than those found in each of 19 draws without clusters. These draws
        have the unimodal distributions nearest to those of the columns, and the correlations of their ranks.
    weights : {"knn", "uniform"}, default="knn"
        "knn" gives Gaussian weights to pairs of nearest neighbors, and finds clusters of any shape. "uniform" gives
        weight 1 to all pairs. It is the problem of the paper, for which recovery is proved; its clusters are round, and
        the cost is O(n²).
    n_neighbors : int, default=10
        Number of neighbors of each row, for "knn".
    gamma : float, default=2.0
        The weights of "knn" are exp(-gamma · d² / s²), where d is the distance between the two rows and s is the median
        of these distances.
    solver : {"auto", "dual", "stochastic"}, default="auto"
        "stochastic" is the algorithm of the paper: proximal steps on random pairs, for a single λ. "dual" is
        deterministic and stores a dual variable for each pair. "auto" is "dual", except for "uniform" weights whose
        dual variables would need more than 1 GiB.
    step : {"power", "adaptive"}, default="power"
        Step size of the stochastic solver. "power" is μ₁ k^(-0.9), "adaptive" follows the objective.
    path : bool, default=False
        Whether to compute the path even if `lam` is given.
    n_lambdas : int, default=200
        Number of values of λ on the path, in geometric progression from the first fusions to the last.
    tol : float, default=1e-4
        Relative duality gap at which the solver stops.
    max_iter : int or None, default=None
        Maximum number of steps on the dual, or of sweeps of the stochastic solver; a sweep has as many random steps as
        there are pairs. None is 5,000 steps, or 256 sweeps but at least ten million random steps. With "knn" weights,
        the solver "dual" has limits of its own.
    fusion_tol : float, default=1e-3
        The dual variable between two rows has a length of at most 1. The rows are fused if it is shorter than 1 by at
        least this much.
    threshold : float or None, default=None
        If given, the clusters are instead groups of rows in which no two centroids are farther apart than this, as in
        the paper. Needs O(n²) memory.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows, or total weight, of a large cluster. Used when the clusters are chosen on the path: a
        smaller group joins the cluster that it fuses with further along. "auto" is a fiftieth of the rows or their
        square root, whichever is less, but at least 5.
    random_state : int, RandomState instance or None, default=0
        Controls the random pairs of the stochastic solver, and the draws without clusters. Nothing else is random.
    n_jobs : int or None, default=-1
        Number of threads of the neighbor search; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, from 0 to ``n_clusters_ - 1``. Clusters are numbered from low to high in
        the column in which their means differ most.
    n_clusters_ : int
        Number of clusters found.
    lam_ : float
        λ of the solution.
    centroids_ : ndarray of shape (n_samples, n_features)
        Centroid of each row: the solution.
    cluster_centers_ : ndarray of shape (`n_clusters_`, n_features)
        Centroid of each cluster.
    objective_ : float
        Value of the objective at the centroids.
    gap_ : float
        Upper bound on the relative distance of `objective_` to the minimum. The bound is proven.
    n_iter_ : int
        Number of iterations of the solver for `lam_`.
    partition_stable_ : bool
        Whether the groups of equal centroids are certain to be those of the optimum. It is True if the forces within
        each group have a slack of ten times `fusion_tol`, and the groups are farther apart than the error that the gap
        allows. For the stochastic solver, it is True if tolerances ten times stricter and ten times looser give the
        same groups.
    strength_ : float
        Strength of these clusters on the path; 0 for one cluster. NaN if `lam` was given.
    confirmed_ : bool or None
        Whether several clusters were found, and are stronger than those of the draws without clusters. None if this was
        not tested: `n_clusters`, `lam` or `threshold` was given, or a callback stopped the fit.
    certificate_ : Certificate or None
        For "uniform" weights, the λ for which recovery of these clusters is proved (Theorem 1).
    path_ : FusionTree or None
        The path over the distinct rows; None for a single λ. ``path_.is_complete`` says whether all rows are fused at
        its end.
    children_ : ndarray of shape (n_fusions, 2)
        The path as a tree of the rows: fusion i joins two nodes into node ``n_rows + i``, as in a SciPy linkage.
    merge_lambdas_ : ndarray of shape (n_fusions,)
        λ of each fusion, a value of the grid; copies of a row fuse at 0.
    points_ : ndarray of shape (n_points, n_features)
        The distinct rows of positive weight, in the order of the leaves of `path_`.
    point_weights_ : ndarray of shape (n_points,)
        Total weight of the copies of each of `points_`.
    point_indices_ : ndarray of shape (n_samples,)
        Position of each row in `points_`; -1 for rows of weight 0.
    min_cluster_size_ : float
        The given or chosen minimum weight of a large cluster.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    SupportVectorClustering : Finds clusters of any shape in larger data.
    ravine.plot.clusterpath : Draws the rows and the path.
    ravine.plot.fusions : Draws the number of groups against λ.

    Notes
    -----
    The test against draws without clusters takes most of the time of a fit. A draw has at most 2,000 rows (200 with
    "uniform" weights). Five draws suffice if the clusters are three times as strong as those of each draw.

    Copies of a row are merged into one point with the sum of their weights. Repeating a row is therefore the same as
    raising its `sample_weight`. With "uniform" weights, the weight of a pair is the product of the weights of its two
    points; with "knn" weights, it is multiplied by the square root of that product.

    References
    ----------
    A. Panahi, D. Dubhashi, F. D. Johansson, C. Bhattacharyya, Clustering by sum of norms: stochastic incremental
    algorithm, convergence and cluster recovery, ICML 2017.

    Examples
    --------
    >>> from ravine import SumOfNorms
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = SumOfNorms().fit(X)
    >>> model.n_clusters_, bool(model.gap_ < 1e-3)
    (2, True)
    >>> [len(set(model.labels_at(lam))) for lam in (0, float("inf"))]
    [300, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "lam": [Interval(Real, 0, None, closed="both"), None],
        "weights": [StrOptions({"knn", "uniform"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "dual", "stochastic"})],
        "step": [StrOptions({"power", "adaptive"})],
        "path": ["boolean"],
        "n_lambdas": [Interval(Integral, 2, 10_000, closed="both")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "fusion_tol": [Interval(Real, 0, 0.1, closed="neither")],
        "threshold": [Interval(Real, 0, None, closed="neither"), None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
    _in_units_of_rows: ClassVar[tuple[str, ...]] = ("lam", "threshold")
    _accept_sparse: ClassVar[str | bool] = False
    _dtypes: ClassVar[list[Any]] = [np.float64]
    _schema: ClassVar[Group] = SAVED
    _in_state: ClassVar[tuple[str, ...]] = ("_points", "path_", "certificate_")

    labels_: Ints
    lam_: float
    gap_: float
    confirmed_: bool | None
    cluster_centers_: Floats
    certificate_: Certificate | None
    path_: FusionTree | None

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        lam: float | None = None,
        weights: Literal["knn", "uniform"] = "knn",
        n_neighbors: int = 10,
        gamma: float = 2.0,
        solver: Literal["auto", "dual", "stochastic"] = "auto",
        step: Literal["power", "adaptive"] = "power",
        path: bool = False,
        n_lambdas: int = 200,
        tol: float = 1e-4,
        max_iter: int | None = None,
        fusion_tol: float = 1e-3,
        threshold: float | None = None,
        min_cluster_size: int | Literal["auto"] = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.weights = weights
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.solver = solver
        self.step = step
        self.path = path
        self.n_lambdas = n_lambdas
        self.tol = tol
        self.max_iter = max_iter
        self.fusion_tol = fusion_tol
        self.threshold = threshold
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Solve for the given `lam`, or compute the path and choose λ on it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. Scale the columns first if they have different units.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; a row of weight 0 gets its label from `predict`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows = self._validate(X, reset=True, order="C")
        row_weights, _ = self._admit(rows, sample_weight)
        has_weight = row_weights > 0
        if self.n_clusters is not None and self.n_clusters > has_weight.sum():
            raise ValueError(
                f"n_samples={has_weight.sum()} is fewer than n_clusters={self.n_clusters}: set a smaller n_clusters"
            )
        points = Points.of(rows[has_weight], row_weights[has_weight])
        problem = self._problem(points)
        with one_blas_thread(), self._progress(rows, "lambda", self.n_lambdas) as on_lambda:
            self.path_ = problem.follow(self.n_lambdas, on_lambda=on_lambda) if self.lam is None or self.path else None
            self._settle(problem, self.n_clusters if self.lam is None else None, on_lambda)
        self._member = np.full(len(rows), -1)
        self._member[has_weight] = points.member
        self._weightless = rows[~has_weight]
        self._label_rows()
        self._warn()
        return self

    @answering
    def predict(self, X: ArrayLike) -> Ints:
        """Predict the cluster of each row.

        A new row is pulled towards the fixed centroids by the same forces as in `fit`. It gets the cluster of the
        centroid that is nearest to its final position. With "knn" weights, the centroids are those of its nearest
        neighbors; with "uniform" weights, they are those of all clusters. A row of `fit` keeps its label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row, from 0 to ``n_clusters_ - 1``.

        Examples
        --------
        >>> from ravine import SumOfNorms
        >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
        >>> model = SumOfNorms(n_clusters=2, min_cluster_size=2).fit(X)
        >>> model.predict([[0.05], [4.0]])
        array([0, 1])
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False, order="C")
        point = self._points.find(rows)
        labels = self._point_labels[point]
        new = np.flatnonzero(point < 0)
        if len(new):
            labels[new] = self._attracted(rows[new])
        return labels

    def labels_at(self, lam: float) -> Ints:
        """Return the groups of the rows of `fit` that have fused on the path up to λ, including single rows.

        Parameters
        ----------
        lam : float
            The force λ, from 0 to infinity.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Group of each row, numbered as `labels_`; rows of weight 0 have the label -1.

        Examples
        --------
        >>> from ravine import SumOfNorms
        >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
        >>> model = SumOfNorms(n_clusters=2, min_cluster_size=2).fit(X)
        >>> for lam in (0.0, model.lam_, float("inf")):
        ...     print(model.labels_at(lam))
        [0 1 2 3 4]
        [0 0 0 1 1]
        [0 0 0 0 0]
        """
        labels = from_low_to_high(self._whole_path().labels_at(lam), self._points.rows, self._points.mass)
        return np.where(self._member >= 0, labels[self._member], -1)

    def cut_to(self, n_clusters: int) -> Self:
        """Return a copy of the fitted model with `n_clusters` clusters from the same path; the original is unchanged.

        The result is the same as `fit` with this `n_clusters`.

        Parameters
        ----------
        n_clusters : int
            Number of large clusters, from 1 to the number of distinct rows.

        Returns
        -------
        model : SumOfNorms
            Fitted model at another λ of the path.

        Examples
        --------
        >>> from ravine import SumOfNorms
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(200, noise=0.05, random_state=0)
        >>> model = SumOfNorms().fit(X)
        >>> model.n_clusters_, model.cut_to(4).n_clusters_
        (2, 4)
        """
        self._whole_path()
        if not 1 <= n_clusters <= len(self._points.mass):
            raise ValueError(
                f"n_clusters={n_clusters} must be between 1 and {len(self._points.mass)}, the number of distinct rows"
            )
        model = copy(self)
        with one_blas_thread():
            model._settle(self._problem(self._points), n_clusters)
        model._label_rows()
        model.labels_ = model._placed(model.labels_)
        return model

    @property
    def centroids_(self) -> Floats:
        """Centroid of each row: the solution."""
        check_is_fitted(self)
        without_weight = self._member < 0
        centroids = self._point_centroids[self._member]
        centroids[without_weight] = self.cluster_centers_[self._labels_on_host()[without_weight]]
        return centroids

    @property
    def children_(self) -> Ints:
        """The path as a tree of the rows: fusion i joins two nodes into node ``n_rows + i``, as in a SciPy linkage."""
        return fusions_of_rows(self._whole_path(), self._member)[0]

    @property
    def merge_lambdas_(self) -> Floats:
        """Value of λ at each fusion of `children_`; copies of a row fuse at 0."""
        return fusions_of_rows(self._whole_path(), self._member)[1]

    @property
    def points_(self) -> Floats:
        """The distinct rows of positive weight, in the order of the leaves of `path_`."""
        check_is_fitted(self)
        return self._points.rows

    @property
    def point_weights_(self) -> Floats:
        """Total weight of the copies of each of `points_`."""
        check_is_fitted(self)
        return self._points.mass

    @property
    def point_indices_(self) -> Ints:
        """Position of each row in `points_`; -1 for rows of weight 0."""
        check_is_fitted(self)
        return self._member

    @property
    def min_cluster_size_(self) -> float:
        """The given or chosen minimum weight of a large cluster."""
        check_is_fitted(self)
        return self._least_size(self._points.mass)

    @property
    def n_clusters_(self) -> int:
        """Number of clusters found."""
        return len(self.cluster_centers_)

    @property
    def _n_features_learned(self) -> int:
        return self._points.rows.shape[1]

    def _problem(self, points: Points) -> ScaledProblem:
        n_points, n_columns = points.coordinates.shape
        n_neighbors = self.n_neighbors if self.weights == "knn" else None
        solver = choose_solver(self.solver, n_points, n_columns, n_neighbors is None, self.lam is None or self.path)
        max_iter = default_max_iter(solver, n_points, n_neighbors) if self.max_iter is None else self.max_iter
        adaptive = self.step == "adaptive"
        settings = Settings(solver, self.tol, max_iter, self.fusion_tol, adaptive, self._draw_seed())
        return ScaledProblem(points, settings, n_neighbors, self.gamma, self.n_jobs)

    def _settle(
        self, problem: ScaledProblem, n_clusters: int | None, on_lambda: Callable[[], bool] = lambda: False
    ) -> None:
        """Choose λ, solve for it, and store the result for the points."""
        self._points, self._unit = problem.points, problem.unit
        lam, labels, path = self.lam, None, self.path_
        self.strength_, self.confirmed_ = np.nan, None
        if lam is None or n_clusters is not None:
            assert path is not None
            rows, mass = problem.points.rows, problem.points.mass
            choice = choose_on_path(path, rows, mass, self._least_size(mass), n_clusters)
            if n_clusters is None and self.threshold is None and path.is_complete:
                min_size = None if self.min_cluster_size == "auto" else float(self.min_cluster_size)
                self.confirmed_ = is_confirmed(problem, choice, self.n_lambdas, min_size)
                choice = choice if self.confirmed_ else one_cluster(problem)
            lam, labels, self.strength_ = choice.lam, choice.labels, choice.strength
        elif path is None:
            path = path_to(problem, lam, self.n_lambdas, on_lambda)
        found = find_clusters(problem, lam, path, labels, self.threshold)
        self._point_labels, self._point_centroids = found.labels, found.centroids
        self.lam_ = found.lam
        self.cluster_centers_ = found.centers
        self.objective_, self.gap_, self.n_iter_ = found.bound.objective, found.bound.gap, found.bound.n_iter
        self.partition_stable_ = found.stable
        self.certificate_ = found.certificate

    def _warn(self) -> None:
        short = []
        if self.gap_ > self.tol:
            remedy = (
                "raise max_iter or tol" if self.weights == "uniform" else "raise tol, or set a lam between two fusions"
            )
            short.append(f"the relative duality gap is {self.gap_:.2g}, above tol={self.tol:.2g}: {remedy}")
        if self.lam is None and self.n_clusters is not None and self.n_clusters != self.n_clusters_:
            why = f"there are only {len(self._points.mass)} distinct rows, or a callback stopped the fit"
            if self.n_clusters_ > self.n_clusters:
                why = (
                    "no lambda of the path has this number of clusters that are large enough, or a callback stopped "
                    "the fit: ask for another number, or set a smaller min_cluster_size"
                )
            short.append(f"found {self.n_clusters_} of the {self.n_clusters} requested clusters: {why}")
        for text in short:
            warn_user(text, ConvergenceWarning)

    def _least_size(self, mass: Floats) -> float:
        if self.min_cluster_size == "auto":
            return least_size(float(mass.sum()))
        return float(self.min_cluster_size)

    def _labels_on_host(self) -> Ints:
        return self.labels_ if self._home is None else to_numpy(self.labels_)

    def _label_rows(self) -> None:
        self.labels_ = self._point_labels[self._member]
        if len(self._weightless):
            self.labels_[self._member < 0] = self.predict(self._weightless)

    def _attracted(self, rows: Floats) -> Ints:
        """Return, for each new row, the cluster of the centroid nearest to its final position."""
        if self.n_clusters_ == 1:
            return np.zeros(len(rows), dtype=np.int64)
        if self.weights == "uniform":
            weight = mass_of(self._point_labels, self._points.mass)
            return nearest_center(rows, self.cluster_centers_, weight, self.lam_)
        near = (self.n_neighbors, self._unit, self.gamma, self.n_jobs)
        return self._point_labels[nearest_neighbor(rows, self._points, self._point_centroids, self.lam_, *near)]

    def _whole_path(self) -> FusionTree:
        check_is_fitted(self)
        if self.path_ is None:
            raise AttributeError("this model was fitted for a single lam and has no path: set path=True and fit again")
        return self.path_

    def _state(self, resume: bool) -> dict[str, Any]:
        if not resume:
            raise ValueError("SumOfNorms needs its rows to predict: save it with resume=True, which keeps them")
        return {
            "rows": self._points.rows,
            "mass": self._points.mass,
            "member": self._member,
            "weightless": self._weightless,
            "point_labels": self._point_labels,
            "point_centroids": self._point_centroids,
            "cluster_centers": self.cluster_centers_,
            "numbers": {name: getattr(self, name) for name in NUMBERS},
            "certificate": None if self.certificate_ is None else asdict(self.certificate_),
            "path": None if self.path_ is None else asdict(self.path_),
        }

    def _restore(self, state: State) -> None:
        self._points = Points.of(state["rows"], state["mass"])
        self._member, self._weightless = state["member"], state["weightless"]
        self._point_labels, self._point_centroids = state["point_labels"], state["point_centroids"]
        self.cluster_centers_ = state["cluster_centers"]
        for name, value in state["numbers"].items():
            setattr(self, name, value)
        self.certificate_ = None if state["certificate"] is None else Certificate(**state["certificate"])
        self.path_ = None if state["path"] is None else FusionTree(**state["path"])
        self._label_rows()
