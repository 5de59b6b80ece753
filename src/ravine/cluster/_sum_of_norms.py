"""Convex clustering (Panahi et al. 2017): one global solution, its path over λ, and a proof of how good it is.

Each row has a centroid that is drawn to those of other rows, with a force λ; rows whose centroids meet are a cluster.
On a graph of neighbors a path of 200 values of λ costs a few hundred passes over the edges; with all pairs as edges, a
solution costs some tens of passes over n²/2 pairs.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ravine import _kernels
from ravine._blocks import BLOCK_CELLS, count_threads
from ravine._convex import (
    Certificate,
    FusionTree,
    Points,
    ScaledProblem,
    Settings,
    choose,
    gaussian_weights,
    least_size,
)
from ravine._matrix import Floats, Ints
from ravine._neighbors import by_size
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import N_JOBS, Clusterer, fitting, warn_user
from ravine.cluster._saved import saved_fields, saved_floats, saved_ints

MAX_STEPS, MIN_SWEEPS, RANDOM_STEPS = 5000, 256, 10**7
"""Where no number is given: steps on the dual; sweeps of random steps, or more if they are fewer steps than these."""

DUAL_BYTES = 1 << 30
"""Memory that the dual variables of all pairs may take where no solver is named."""

NUMBERS: dict[str, Any] = {
    "lam_": float,
    "objective_": float,
    "gap_": float,
    "n_iter_": int,
    "partition_stable_": bool,
    "strength_": float,
    "_unit": float,
}
"""Attributes that are numbers, and their types."""

STATE = (
    "rows",
    "mass",
    "member",
    "weightless",
    "point_labels",
    "point_centroids",
    "cluster_centers",
    "numbers",
    "certificate",
    "path",
)
"""What a file keeps."""

PREDICT_STEPS = 50
"""In which a new row comes to rest, or nearly."""


class SumOfNorms(Clusterer):
    """Convex clustering by a sum of norms, with its path over λ and a certificate.

    Row i has a centroid uᵢ, and the centroids minimize

        Σ ‖xᵢ - uᵢ‖² / 2 + λ Σ wᵢₖ ‖uᵢ - uₖ‖,

    a convex function: there is one solution, whatever the start. Rows whose centroids coincide are a cluster. The
    larger λ, the fewer clusters there are.

    Parameters
    ----------
    n_clusters : int or None, default=None
        So many clusters that matter. None lets the path decide. Where `lam` is given, that decides.
    lam : float or None, default=None
        The force λ. None follows the path over all λ and takes the one at which the clusters that matter stay the same
        for longest, on a logarithmic scale.
    weights : {"knn", "uniform"}, default="knn"
        "knn": Gaussian weights between nearest neighbors, which finds clusters of any shape. "uniform": all pairs have
        weight 1, the problem of the paper, for which recovery is proved; clusters are round, and the cost is O(n²).
    n_neighbors : int, default=10
        Neighbors of each row, for "knn".
    gamma : float, default=2.0
        Weights of "knn" are exp(-gamma · d² / s²), d the distance of the two rows and s the median of these distances.
    solver : {"auto", "dual", "stochastic"}, default="auto"
        "stochastic" is the algorithm of the paper, proximal steps of random pairs, for one λ. "dual" is deterministic
        and keeps a dual variable for each pair. "auto" is "dual", but for "uniform" weights whose dual variables would
        need more than 1 GiB.
    step : {"power", "adaptive"}, default="power"
        Step of the stochastic solver: μ₁ k^(-0.9), or one that follows the objective.
    path : bool, default=False
        Follow the path also where `lam` is given.
    n_lambdas : int, default=200
        Values of λ on the path, geometric, from the first fusions to the last.
    tol : float, default=1e-4
        Relative duality gap to reach.
    max_iter : int or None, default=None
        Steps on the dual, or sweeps of as many random steps as there are pairs. None: 5,000 steps; 256 sweeps, or
        those of ten million steps. On the graph of "knn" the solver "dual" has limits of its own.
    fusion_tol : float, default=1e-3
        Two rows are fused where the dual variable between them, of length 1 at most, is shorter than 1 by so much.
    threshold : float or None, default=None
        Instead, cut the centroids into groups with no two of them this far apart or farther, as the paper does. Costs
        O(n²) memory.
    min_cluster_size : int or "auto", default="auto"
        Rows, or weight, of a cluster that matters where the path decides; smaller groups go to the cluster that they
        fuse with further along. "auto": a fiftieth of the rows or their square root, whichever is less, and 5 at least.
    random_state : int, RandomState instance or None, default=0
        Draws the pairs of the stochastic solver; nothing else is random.
    n_jobs : int or None, default=-1
        Threads of the search for neighbors; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 to ``n_clusters_ - 1``, the largest first.
    n_clusters_ : int
        Number of clusters found.
    lam_ : float
        λ of the solution.
    centroids_ : ndarray of shape (n_samples, n_features)
        The solution.
    cluster_centers_ : ndarray of shape (`n_clusters_`, n_features)
        Centroid of each cluster.
    objective_ : float
        Objective at the centroids.
    gap_ : float
        Most by which it is above the least objective there is, as a share of it: a bound that is proved.
    n_iter_ : int
        Rounds of the solver that were taken for `lam_`.
    partition_stable_ : bool
        The rows with equal centroids are sure to be those of the optimum: the forces within each group have room of ten
        times `fusion_tol`, and groups are farther apart than the gap lets them be off. After random steps: that
        tolerances ten times stricter and laxer give the same groups.
    strength_ : float
        How much the path speaks for these clusters: below 0.4 for most data that have none. NaN where `lam` was given.
    certificate_ : Certificate or None
        For "uniform" weights, the λ for which recovery of these clusters is proved (Theorem 1).
    path_ : FusionTree or None
        The path over the distinct rows; None for one λ. ``path_.is_complete`` says whether all rows fused at its end.
    children_ : ndarray of shape (n_fusions, 2)
        The path as a tree of the rows: the two nodes that fusion i made node ``n_rows + i``, as SciPy writes it.
    merge_lambdas_ : ndarray of shape (n_fusions,)
        λ of each fusion, a value of the grid; copies of a row fuse at 0.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    SupportVectorClustering : Clusters of any shape in more rows.
    ravine.plot.clusterpath : Draws the rows and the path.
    ravine.plot.fusions : Draws the number of groups against λ.

    Notes
    -----
    Copies of a row are one point with their weights added up, so `sample_weight` and repeated rows are the same thing.
    With "uniform" weights the pair of two points has the product of their weights, with "knn" the root of it.

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

    labels_: Ints
    lam_: float
    gap_: float
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
        """Solve for `lam`, or follow the path and choose.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. Scale the columns first if they have different units.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows; a row of weight 0 gets the label that `predict` gives it.

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
                f"n_samples={has_weight.sum()} is fewer than n_clusters={self.n_clusters}: ask for fewer clusters"
            )
        points = Points.of(rows[has_weight], row_weights[has_weight])
        problem = self._problem(points)
        with self._progress(rows, "lambda", self.n_lambdas) as on_lambda:
            self.path_ = problem.follow(self.n_lambdas, on_lambda=on_lambda) if self.lam is None or self.path else None
            self._settle(problem, self.n_clusters if self.lam is None else None, on_lambda)
        self._member = np.full(len(rows), -1)
        self._member[has_weight] = points.member
        self._weightless = rows[~has_weight]
        self._label_rows()
        self._warn()
        return self

    def predict(self, X: ArrayLike) -> Ints:
        """Cluster of each row.

        A new row is drawn to the centroids as the rows of `fit` were, while they stay where they are, and has the
        cluster of the centroid nearest to where it comes to rest. With "knn" weights these are the centroids of its
        nearest neighbors, with "uniform" weights those of all clusters. A row of `fit` keeps its label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            From 0 to ``n_clusters_ - 1``.

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
        """Group of each row of `fit` at λ: the rows that have fused on the path by then; single rows count too.

        Parameters
        ----------
        lam : float
            The force λ, from 0 to infinity.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The largest group is 0; -1 for rows of weight 0.

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
        labels = by_size(self._whole_path().labels_at(lam), self._points.mass)
        return np.where(self._member >= 0, labels[self._member], -1)

    def cut_to(self, n_clusters: int) -> Self:
        """This model with so many clusters from the same path, fitted; itself it stays as it is.

        It is the model that `fit` gives for this `n_clusters`.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of distinct rows.

        Returns
        -------
        model : SumOfNorms
            At another λ of the path, with so many clusters that matter.

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
            raise ValueError(f"n_clusters={n_clusters}: there are {len(self._points.mass)} distinct rows")
        model = copy(self)
        model._settle(self._problem(self._points), n_clusters)
        model._label_rows()
        return model

    @property
    def centroids_(self) -> Floats:
        """The solution: the centroid of each row."""
        check_is_fitted(self)
        without_weight = self._member < 0
        centroids = self._point_centroids[self._member]
        centroids[without_weight] = self.cluster_centers_[self.labels_[without_weight]]
        return centroids

    @property
    def children_(self) -> Ints:
        """The path as a tree of the rows: the two nodes that fusion i made node ``n_rows + i``, as SciPy writes it."""
        return self._fusions_of_rows()[0]

    @property
    def merge_lambdas_(self) -> Floats:
        """The λ of each fusion of `children_`; copies of a row fuse at 0."""
        return self._fusions_of_rows()[1]

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return len(self.cluster_centers_)

    @property
    def _n_features_learned(self) -> int:
        return self._points.rows.shape[1]

    def _problem(self, points: Points) -> ScaledProblem:
        n_points, n_columns = points.coordinates.shape
        size = 8 * n_columns * n_points**2 if self.weights == "uniform" else 0
        solver = self.solver
        if solver == "auto":
            solver = "dual" if size <= DUAL_BYTES else "stochastic"
            if size > DUAL_BYTES and (self.lam is None or self.path):
                raise ValueError(
                    f"a path with all pairs of {n_points} distinct rows takes {size / 1e9:.1f} GB of memory: use "
                    "weights='knn', or lam=... without path, or solver='dual' to go on"
                )
        if solver == "stochastic" and (self.lam is None or self.path):
            raise ValueError("solver='stochastic' solves for one lam: give lam without path, or use solver='dual'")
        settings = Settings(
            solver,
            self.tol,
            self._max_iter(solver, n_points),
            self.fusion_tol,
            self.step == "adaptive",
            self._draw_seed(),
        )
        n_neighbors = self.n_neighbors if self.weights == "knn" else None
        return ScaledProblem(points, settings, n_neighbors, self.gamma, self.n_jobs)

    def _max_iter(self, solver: str, n_points: int) -> int:
        if self.max_iter is not None or solver == "dual":
            return self.max_iter or MAX_STEPS
        n_partners = n_points - 1 if self.weights == "uniform" else min(self.n_neighbors, n_points - 1)
        return max(MIN_SWEEPS, RANDOM_STEPS // max(n_points * n_partners // 2, 1))

    def _settle(
        self, problem: ScaledProblem, n_clusters: int | None, on_lambda: Callable[[], bool] = lambda: False
    ) -> None:
        """Take a λ, solve for it, and store what was found, of the points."""
        self._points = problem.points
        mass = problem.points.mass
        lam, labels, way = self.lam, None, self.path_
        self.strength_ = np.nan
        if lam is None or n_clusters is not None:
            lam, labels = self._choose(n_clusters)
        elif way is None and problem.edges is not None and problem.settings.solver == "dual" and 0 < lam < np.inf:
            way = problem.follow(self.n_lambdas, until=lam, on_lambda=on_lambda)
        answer = problem.solve(lam, way)
        if self.threshold is not None:
            labels = _within(answer.centroids, self.threshold)
        labels = by_size(answer.group if labels is None else labels, mass)
        self._point_labels, self._point_centroids = labels, answer.centroids
        self._unit = problem.unit
        self.lam_ = float(lam)
        self.cluster_centers_ = _centers(answer.centroids, answer.group, labels, mass)
        self.objective_, self.gap_ = answer.solution.objective, answer.solution.gap
        self.n_iter_ = answer.solution.n_iter
        self.partition_stable_ = answer.stable
        self.certificate_ = problem.certificate(labels, self.lam_)

    def _warn(self) -> None:
        short = []
        if self.gap_ > self.tol:
            remedy = (
                "raise max_iter or tol" if self.weights == "uniform" else "raise tol, or take a lam between fusions"
            )
            short.append(f"the relative duality gap is {self.gap_:.2g} and not tol={self.tol:.2g}: {remedy}")
        if self.lam is None and self.n_clusters is not None and self.n_clusters != self.n_clusters_:
            short.append(
                f"found {self.n_clusters_} of the {self.n_clusters} clusters asked for: there are "
                f"{len(self._points.mass)} distinct rows, or a callback stopped the fit"
            )
        for text in short:
            warn_user(text, ConvergenceWarning)

    def _choose(self, n_clusters: int | None) -> tuple[float, Ints]:
        """λ and the clusters of the points, by the path."""
        path, rows, mass = self._whole_path(), self._points.rows, self._points.mass
        self.strength_ = 0.0
        choice = choose(path, rows, mass, self._least_size(), n_clusters)
        if choice is not None:
            self.strength_ = choice.strength
            return choice.lam, choice.labels
        n_fusions = len(path.children)
        if n_clusters is not None:
            n_fusions = min(max(len(mass) - n_clusters, 0), n_fusions)
        lam = path.merge_lambdas[n_fusions - 1] if n_fusions else 0.0
        return float(lam), path.groups_after(n_fusions)[0]

    def _least_size(self) -> float:
        """Weight of a cluster that matters."""
        if self.min_cluster_size == "auto":
            return least_size(float(self._points.mass.sum()))
        return float(self.min_cluster_size)

    def _label_rows(self) -> None:
        self.labels_ = self._point_labels[self._member]
        if len(self._weightless):
            self.labels_[self._member < 0] = self.predict(self._weightless)

    def _attracted(self, rows: Floats) -> Ints:
        """Cluster of the centroid nearest to where each new row comes to rest."""
        if self.n_clusters_ == 1:
            return np.zeros(len(rows), dtype=np.int64)
        nearest = np.empty(len(rows), dtype=np.int64)
        if self.weights == "uniform":
            weight = np.bincount(self._point_labels, self._points.mass)
            _kernels.pairs.attract(
                rows, self.cluster_centers_[np.newaxis], weight[np.newaxis], self.lam_, PREDICT_STEPS, nearest
            )
            return nearest
        n_neighbors = min(self.n_neighbors, len(self._points.mass))
        search = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=count_threads(self.n_jobs))
        length, neighbor = search.fit(self._points.rows).kneighbors(rows)
        weight = np.sqrt(self._points.mass[neighbor]) * gaussian_weights(length, self._unit, self.gamma)
        n_block = max(BLOCK_CELLS // (neighbor.shape[1] * rows.shape[1]), 2)
        for start in range(0, len(rows), n_block):
            b = slice(start, start + n_block)
            centers = self._point_centroids[neighbor[b]]
            _kernels.pairs.attract(rows[b], centers, weight[b], self.lam_, PREDICT_STEPS, nearest[b])
        return self._point_labels[np.take_along_axis(neighbor, nearest[:, np.newaxis], axis=1)[:, 0]]

    def _whole_path(self) -> FusionTree:
        check_is_fitted(self)
        if self.path_ is None:
            raise AttributeError("this model was fitted for one lam: set path=True and fit again for its path")
        return self.path_

    def _fusions_of_rows(self) -> tuple[Ints, Floats]:
        """Children and λ of the fusions of all rows: first the copies of a row, then the points."""
        path, n_rows = self._whole_path(), len(self._member)
        head = np.full(path.n_points, -1)
        copies: list[tuple[int, int]] = []
        for row, point in enumerate(self._member.tolist()):
            if point >= 0:
                if head[point] >= 0:
                    copies.append((int(head[point]), row))
                head[point] = row if head[point] < 0 else n_rows + len(copies) - 1
        node = np.append(head, n_rows + len(copies) + np.arange(len(path.children)))
        children = np.concatenate([np.array(copies, dtype=np.int64).reshape(-1, 2), node[path.children]])
        return children, np.append(np.zeros(len(copies)), path.merge_lambdas)

    def _state(self, resume: bool) -> dict[str, Any]:
        if not resume:
            raise ValueError("SumOfNorms predicts by its rows, so a file without rows cannot: save with resume=True")
        values = (
            self._points.rows,
            self._points.mass,
            self._member,
            self._weightless,
            self._point_labels,
            self._point_centroids,
            self.cluster_centers_,
            {name: getattr(self, name) for name in NUMBERS},
            None if self.certificate_ is None else asdict(self.certificate_),
            None if self.path_ is None else asdict(self.path_),
        )
        return dict(zip(STATE, values, strict=True))

    def _restore(self, state: dict[str, Any]) -> None:
        rows, mass, member, weightless, labels, centroids, centers, numbers, certificate, path = saved_fields(
            state, *STATE
        )
        count_threads(self.n_jobs)  # refuses what is no number of threads
        n_columns = self.n_features_in_
        n_points = len(saved_floats(rows, "rows", (None, n_columns)))
        saved_floats(mass, "mass", (n_points,), least=np.finfo(np.float64).tiny)
        self._points = Points.of(rows, mass)
        if (self._points.rows.shape != rows.shape) or (self._points.rows != rows).any():
            raise ValueError("field 'rows' has a row twice, or is not in the order in which rows are saved")
        self._weightless = saved_floats(weightless, "weightless", (None, n_columns))
        self._point_centroids = saved_floats(centroids, "point_centroids", (n_points, n_columns))
        self.cluster_centers_ = saved_floats(centers, "cluster_centers", (None, n_columns))
        self._point_labels = saved_ints(labels, "point_labels", n_points, 0, len(centers) - 1)
        self._member = saved_ints(member, "member", None, -1, n_points - 1)
        if (self._member < 0).sum() != len(weightless):
            raise ValueError("field 'weightless' has another number of rows than 'member' says")
        for name, value in zip(NUMBERS, saved_fields(numbers, *NUMBERS), strict=True):
            if type(value) is not NUMBERS[name] or not (value >= 0 or np.isnan(value)):
                raise ValueError(f"field {name!r} is {value!r}")
            setattr(self, name, value)
        self.certificate_ = None if certificate is None else Certificate.from_dict(certificate)
        self.path_ = None if path is None else FusionTree.from_dict(path, n_points, n_columns)
        self._label_rows()


def _centers(centroids: Floats, group: Ints, labels: Ints, mass: Floats) -> Floats:
    """Centroid of the heaviest group of each cluster."""
    heaviest_first = np.lexsort((-np.bincount(group, mass)[group], labels))
    return centroids[heaviest_first[np.searchsorted(labels[heaviest_first], np.arange(labels.max() + 1))]]


def _within(centroids: Floats, threshold: float) -> Ints:
    """Groups of centroids of which no two are farther apart than `threshold`."""
    if len(centroids) == 1:
        return np.zeros(1, dtype=np.int64)
    return fcluster(linkage(centroids, "complete"), threshold, "distance").astype(np.int64) - 1
