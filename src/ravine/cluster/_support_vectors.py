"""Support vector clustering on a budget (Pham, Le and Dang): the modes of a function that encloses the rows.

One learning step costs O(budget · columns), one pass O(rows · budget · columns). The width of the kernel, the trade-off
C and the level at which modes are separated are chosen on a sample of at most `SAMPLE` rows. Every other row gets the
cluster of the nearest row of the sample.
"""

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine._lazy import public
from ravine._matrix import LARGEST, Bools, Floats, Ints
from ravine._schema import POSITIVE, Array, Field, Group, Number, Sizes, State, require
from ravine._sklearn import Interval, StrOptions
from ravine._svc import (
    STRATEGIES,
    SWEEPS,
    Clustering,
    KernelSum,
    Learned,
    Learner,
    Modes,
    Nearest,
    Sample,
    WidthChoice,
    choose_parameters,
    clustering_of,
    confirmed_or_one,
    find_modes,
    find_segments,
    learn_epochs,
    learn_exactly,
    least_share,
    max_epochs,
    rows_counted,
)
from ravine._warnings import warn_user
from ravine.cluster._arrays import answering
from ravine.cluster._base import N_JOBS, OUTLIERS, Clusterer, fitting, one_blas_thread, uninterrupted
from ravine.cluster._identity import IDENTITIES, Identities, ids_are_distinct
from ravine.cluster._support_stream import SAMPLE, STREAM, Stream

ALIKE = 0.9
"""A warning is given if the final clusters agree less than this with those found when gamma was chosen."""


def function_is_not_zero(state: State, sizes: Sizes) -> None:
    """At least one coefficient is positive."""
    require(state["coefficients"].any(), "coefficients", "has no entry above 0")


def clusters_have_rows(state: State, sizes: Sizes) -> None:
    """The labels are 0, 1, … without gaps, and each cluster has an identifier."""
    labels = state["mode_labels"]
    n_clusters, n_ids = int(labels.max()) + 1, sizes["n_identities"]
    require(len(np.unique(labels)) == n_clusters, "mode_labels", "has a cluster without rows")
    require(n_ids == n_clusters, "ids", f"has {n_ids} entries for {n_clusters} clusters")


SCORE = Number(float, low=0, high=np.inf)
NUMBERS: dict[str, Field] = {
    "C": SCORE,
    "level": SCORE,
    "offset": SCORE,
    "strength": SCORE,
    "objective": SCORE,
    "gap": Number(float, low=0, high=np.inf, nan=True),
    "n_iter": Number(int, low=0),
    "confirmed": Number(bool, optional=True, required=False),
}
"""Numbers of a result that a file keeps beside its arrays."""

SAVED = Group(
    {
        "vectors": Array("float64", ("n_vectors", "n_features"), low=-LARGEST, high=LARGEST),
        "coefficients": Array("float64", ("n_vectors",), low=0),
        "gamma": Number(float, low=POSITIVE),
        "mode_rows": Array("float64", ("n_mode_rows", "n_features"), low=-LARGEST, high=LARGEST),
        "mode_labels": Array("integer", ("n_mode_rows",), index_of="n_mode_rows"),
        "numbers": Group(NUMBERS),
        **IDENTITIES,
        "rows": Group(
            {
                "nearest": Array("integer", ("n_samples",), index_of="n_mode_rows"),
                "outlier": Array("bool", ("n_samples",)),
            },
            optional=True,
        ),
        "stream": STREAM,
    },
    (function_is_not_zero, clusters_have_rows, ids_are_distinct),
)


def _learns_online(model: "SupportVectorClustering") -> bool:
    if model.solver == "exact":
        raise AttributeError("solver='exact' has no partial_fit, as it needs all rows: use fit, or solver='budgeted'")
    return True


@public("ravine")
class SupportVectorClustering(Clusterer):
    """Clustering by the modes of a function that encloses the rows; finds clusters of any shape, and outliers.

    The function is a sum of Gaussian kernels, w(x) = Σ cᵢ exp(-γ ‖x - vᵢ‖²), with at most `budget` vectors v. It is
    learned by stochastic gradient descent, so that w is at least 1 on most rows and small where there are no rows
    (Pham, Le and Dang, *Scalable support vector clustering using budget*). Clusters are the connected components of the
    region where w is above a level. Rows outside the boundary are outliers.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters. If None, it is chosen automatically: the number whose clusters stay the same over the widest
        range of γ and the level. If γ is chosen automatically too, there is one cluster unless they are stronger than
        those found in each of 39 draws without clusters. These draws have the unimodal distributions nearest to those
        of the columns, and the correlations of their ranks.
    gamma : float or "auto", default="auto"
        The inverse γ of the squared width of the kernel. "auto" chooses it together with C and the level, on a sample.
    C : float or "auto", default="auto"
        Weight of the rows relative to the norm of w. "auto" is 1, 2 or 4 divided by the mean of the kernel.
    budget : int or None, default=1000
        Maximum number of vectors. If None, there is no limit.
    maintenance : {"nearest", "random", "removal"}, default="nearest"
        What to do with the vector of the smallest coefficient when the budget is exceeded. "nearest" projects it on the
        `n_projection_vectors` nearest vectors, "random" on as many random vectors, and "removal" drops it.
    n_projection_vectors : int, default=5
        Number of vectors to project on.
    solver : {"budgeted", "exact"}, default="budgeted"
        "budgeted" takes stochastic steps. "exact" finds the optimum by coordinate descent on the dual, for some
        thousands of rows.
    assignment : {"modes", "segments"}, default="modes"
        How to find the clusters of the function. "segments" is Algorithm 3 of the paper, for the given or chosen γ and
        C: rows near the boundary w = 1 climb to equilibria, and straight lines between the equilibria decide which of
        them belong together.
    epsilon : float, default=0.1
        With "segments", a row is near the boundary if w differs from 1 by at most this much.
    contamination : float, default=0.02
        Maximum share of outliers among the rows. In large data it is the share in a sample of 2,000 rows.
    outliers : {"assign", "label"}, default="assign"
        "assign" assigns outliers to a cluster, "label" gives them the label -1.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows in a cluster. "auto" is half the square root of the number of rows, but at most 2 % of
        the rows and at least 5.
    max_iter : int, optional
        Maximum number of epochs of stochastic steps, or of sweeps of the exact solver. None is 20 epochs but at least
        10,000 steps, or 1,000 sweeps.
    tol : float, default=1e-4
        Learning stops when an epoch, or 1,000 steps, improves the objective by less than this share of it. The exact
        solver stops when the relative duality gap is below it.
    random_state : int, RandomState instance or None, default=0
        Controls the random sample, the order of the steps, the random vectors and the draws without clusters.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of `fit`, or of the last batch of `partial_fit`. Clusters are numbered from low to high in
        the column in which their means differ most.
    n_clusters_ : int
        Number of clusters found.
    cluster_ids_ : ndarray of shape (`n_clusters_`,)
        Identifier of each cluster, in the order of the labels. When the clusters are found again after `partial_fit`, a
        cluster keeps the identifier of the old cluster with which it shares most rows of the sample.
    n_samples_seen_ : int
        Number of rows learned so far; rows of weight 0 do not count.
    outlier_ : ndarray of shape (n_samples,)
        Whether each row of `fit`, or of the last batch of `partial_fit`, is an outlier, that is, its
        `decision_function` is below 0.
    support_vectors_ : ndarray of shape (n_vectors, n_features)
        The vectors v.
    dual_coef_ : ndarray of shape (n_vectors,)
        The coefficients c of the vectors; none is negative.
    equilibria_ : ndarray of shape (n_equilibria, n_features)
        Local maxima of w that are reached by climbing from the vectors, the highest first.
    sample_ : ndarray of shape (n_sample, n_features)
        Rows whose clusters were found; `predict` gives a row the cluster of the nearest of them. They are a sample of
        at most 2,000 distinct rows or, with ``assignment="segments"``, the rows near the boundary.
    sample_labels_ : ndarray of shape (n_sample,)
        Cluster of each row of `sample_`.
    gamma_, C_ : float
        The given or chosen `gamma` and `C`.
    level_ : float
        Value of w above which the clusters are separated.
    offset_ : float
        Value of w at the boundary for outliers. It is 1, or less if more than `contamination` would be outside.
    strength_ : float
        Number of cells in the grid of γ and level in which the clusters stay the same; each cell counts by the depth of
        the valley between them. If γ was given, and after `partial_fit`, it is the number of levels out of nine. It is
        0 for one cluster.
    confirmed_ : bool or None
        Whether several clusters were found, and are stronger than those of the draws without clusters. The strength is
        multiplied by the probability that two rows are in different clusters for this. None if it was not tested:
        `n_clusters` or `gamma` was given, ``assignment="segments"``, or more than 2,000 rows were learned by
        `partial_fit`.
    objective_ : float
        Value of the objective, on the sample.
    gap_ : float
        Relative duality gap of the exact solver; NaN for the budgeted solver.
    n_iter_ : int
        Number of epochs, or of sweeps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    SumOfNorms : Finds clusters of any shape by solving a convex problem.
    ravine.plot.support : Draws the rows and the regions of two columns.

    Examples
    --------
    >>> from ravine import SupportVectorClustering
    >>> from ravine.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> model = SupportVectorClustering().fit(X)
    >>> model.n_clusters_
    2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(STRATEGIES))],
        "n_projection_vectors": [Interval(Integral, 1, 1000, closed="both")],
        "solver": [StrOptions({"budgeted", "exact"})],
        "assignment": [StrOptions({"modes", "segments"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "contamination": [Interval(Real, 0, 1, closed="left")],
        "outliers": OUTLIERS,
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }
    _in_units_of_rows: ClassVar[tuple[str, ...]] = ("gamma",)
    _accept_sparse: ClassVar[str | bool] = False
    _dtypes: ClassVar[list[Any]] = [np.float64]
    _schema: ClassVar[Group] = SAVED
    _in_state: ClassVar[tuple[str, ...]] = ("_settled", "_stream", "_identities", "_last_modes")

    _settled: Clustering | None
    _stream: Stream | None
    _last_modes: Nearest | None = None  # the clusters before the rows that were learned since
    _identities: Identities  # of the clusters of `_settled`, or else of `_last_modes`
    _nearest: Ints | None = None
    _outlier: Bools | None = None
    _labels: Ints | None = None
    _batch: Floats | None = None

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        gamma: float | Literal["auto"] = "auto",
        C: float | Literal["auto"] = "auto",
        budget: int | None = 1000,
        maintenance: Literal["nearest", "random", "removal"] = "nearest",
        n_projection_vectors: int = 5,
        solver: Literal["budgeted", "exact"] = "budgeted",
        assignment: Literal["modes", "segments"] = "modes",
        epsilon: float = 0.1,
        contamination: float = 0.02,
        outliers: Literal["assign", "label"] = "assign",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_iter: int | None = None,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.C = C
        self.budget = budget
        self.maintenance = maintenance
        self.n_projection_vectors = n_projection_vectors
        self.solver = solver
        self.assignment = assignment
        self.epsilon = epsilon
        self.contamination = contamination
        self.outliers = outliers
        self.min_cluster_size = min_cluster_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to a data set. The result does not depend on the order of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. Scale the columns first if they have different units.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows = self._validate(X, reset=True, order="C")
        weights, _ = self._admit(rows, sample_weight)
        has_weight = weights > 0
        training, mass = (rows, weights) if has_weight.all() else (rows[has_weight], weights[has_weight])
        if self.n_clusters is not None and self.n_clusters > len(training):
            raise ValueError(
                f"n_samples={len(training)} is fewer than n_clusters={self.n_clusters}: set a smaller n_clusters"
            )
        with one_blas_thread(), self._progress(rows, "epoch", self._max_iter(len(training))) as on_epoch:
            self._stream = stream = Stream(self._draw_seed())
            stream.read(training, mass, self.n_jobs)
            sample = stream.sample(self.n_jobs)
            choice = self._tested(self._choose(sample, stream), sample, stream)
            learned = self._learn(training, mass, sample, choice, on_epoch)
            self._settled = self._find_clusters(learned, training, sample, choice, self.gamma != "auto")
            self._identities = Identities.of_new_clusters(self.n_clusters_)
            self._last_modes = self._batch = None
            self._locate(rows)
        return self

    @available_if(_learns_online)
    @fitting
    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the next rows of a stream. The result does not depend on the batches.

        γ and C, if they are "auto", are chosen on the first 2,000 rows and then stay fixed. The clusters are updated at
        their next use, on a sample of all rows so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The next rows.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, which multiplies the length of its step.

        Returns
        -------
        self : object
            The updated estimator. Its `labels_` are those of the last batch.

        Examples
        --------
        >>> from ravine import SupportVectorClustering
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = SupportVectorClustering()
        >>> for batch in (X[:100], X[100:]):
        ...     model = model.partial_fit(batch)
        >>> model.n_clusters_
        3
        """
        stream = getattr(self, "_stream", None)
        if stream is None and self.__sklearn_is_fitted__():
            raise ValueError(
                "this model was saved without its sample of rows and cannot learn further: save it with resume=True, "
                "or start again with fit"
            )
        first = stream is None
        rows = self._validate(X, reset=first, order="C")
        weights, _ = self._admit(rows, sample_weight, allow_all_zero=not first)
        if stream is None:
            self._stream = stream = Stream(self._draw_seed())
        has_weight = weights > 0
        with uninterrupted():
            stream.learn(rows[has_weight], weights[has_weight], self._begin)
            settled: Clustering | None = getattr(self, "_settled", None)
            if settled is not None:
                self._last_modes = settled.modes
            self._settled = self._nearest = self._outlier = self._labels = None
            self._batch = rows
        return self

    def _restore_point(self) -> dict[str, Any]:
        before = super()._restore_point()
        stream = before.get("_stream")
        if stream is not None and stream.learner is None:  # the choice of parameters is still to come, and may fail
            before["_stream"] = deepcopy(stream)
        return before

    @property
    def _n_features_learned(self) -> int:
        if self._settled is not None:
            return self._settled.kernel_sum.vectors.shape[1]
        assert self._stream is not None
        return self._stream.n_features

    @answering
    def predict(self, X: ArrayLike) -> Ints:
        """Predict the cluster of each row, that of the nearest row of the sample. A row of `fit` keeps its label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row, from 0 to ``n_clusters_ - 1``; -1 for outliers with ``outliers="label"``.

        Examples
        --------
        >>> from ravine import SupportVectorClustering
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = SupportVectorClustering(outliers="label").fit(X)
        >>> model.predict([[0, 0], [9, 0], [30, 30]])
        array([ 1,  0, -1])
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False, order="C")
        labels = self._result.modes.predict(rows, self.n_jobs)
        if self.outliers == "label":
            labels[self._heights(rows) < self._result.offset] = -1
        return labels

    @answering
    def decision_function(self, X: ArrayLike) -> Floats:
        """Compute the height of w above the boundary at each row; it is negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        height : ndarray of shape (n_samples,)
            The function w minus `offset_`.

        Examples
        --------
        >>> from ravine import SupportVectorClustering
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = SupportVectorClustering().fit(X)
        >>> model.decision_function([[0, 0], [30, 30]]) > 0
        array([ True, False])
        """
        check_is_fitted(self)
        return self._heights(self._validate(X, reset=False, order="C")) - self._result.offset

    def cut_to(self, n_clusters: int) -> Self:
        """Return a copy of the fitted model with `n_clusters` clusters of the same function; the original is unchanged.

        Parameters
        ----------
        n_clusters : int
            Number of clusters. Some level of the function must have this many.

        Returns
        -------
        model : SupportVectorClustering
            Fitted model with another `level_`. Its `labels_`, if there are any, match the new level.

        Examples
        --------
        >>> from ravine import SupportVectorClustering
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(300, centers=[[0, 0], [4, 0], [0, 12]], random_state=0)
        >>> model = SupportVectorClustering(n_clusters=3).fit(X)
        >>> model.cut_to(2).n_clusters_
        2
        """
        check_is_fitted(self)
        if self._stream is None:
            raise ValueError("this model was saved without its sample of rows: save it with resume=True to use cut_to")
        if self.assignment == "segments":
            raise ValueError("assignment='segments' gives one fixed result: fit with assignment='modes' to use cut_to")
        result, sample = self._result, self._stream.sample(self.n_jobs)
        modes = Modes.with_number(result.kernel_sum, sample, self._least_share(self._stream), n_clusters)
        model = copy(self)
        model._stream = deepcopy(self._stream)  # both models may learn further, independently
        model._settled = replace(result, modes=modes, confirmed=None)
        model._identities = self._identities_in(modes, result.modes)
        if self._nearest is not None:
            model._label_rows()
        return model

    @property
    def n_clusters_(self) -> int:
        """Number of clusters found."""
        return self._result.modes.n_clusters

    @property
    def cluster_ids_(self) -> Ints:
        """Identifier of each cluster, in the order of the labels; a cluster keeps it while the model learns."""
        self._result  # noqa: B018 — finding the clusters updates the identifiers
        return self._identities.ids

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far; rows of weight 0 do not count."""
        if self._stream is None:
            raise AttributeError("this model was saved without its sample of rows: save it with resume=True")
        return self._stream.n_rows

    @property
    def labels_(self) -> Ints:
        """Cluster of each row of `fit`, or of the last batch of `partial_fit`."""
        self._locate_batch()
        assert self._labels is not None
        return self._placed(self._labels)

    @property
    def outlier_(self) -> Bools:
        """Whether each row of `fit`, or of the last batch of `partial_fit`, is an outlier."""
        self._locate_batch()
        assert self._outlier is not None
        return self._outlier

    @property
    def support_vectors_(self) -> Floats:
        """The vectors v of the function."""
        return self._result.kernel_sum.vectors

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients c of the vectors; none is negative."""
        return self._result.kernel_sum.coefficients

    @property
    def equilibria_(self) -> Floats:
        """Local maxima of the function that are reached by climbing from the vectors, the highest first."""
        return self._result.kernel_sum.equilibria(self.support_vectors_, self.n_jobs)[0]

    @property
    def sample_(self) -> Floats:
        """Rows whose clusters were found; `predict` gives a row the cluster of the nearest of them."""
        return self._result.modes.rows

    @property
    def sample_labels_(self) -> Ints:
        """Cluster of each row of `sample_`."""
        return self._result.modes.labels

    @property
    def gamma_(self) -> float:
        """Inverse of the squared width of the kernel."""
        return self._result.kernel_sum.gamma

    @property
    def C_(self) -> float:  # noqa: N802 — named after the parameter
        """Weight of the rows relative to the norm of the function."""
        return self._result.C

    @property
    def level_(self) -> float:
        """Value of the function above which the clusters are separated."""
        return self._result.modes.level

    @property
    def offset_(self) -> float:
        """Value of the function at the boundary for outliers: 1, or less if more than `contamination` is outside."""
        return self._result.offset

    @property
    def strength_(self) -> float:
        """How widely the clusters stay the same when γ and the level change."""
        return self._result.strength

    @property
    def confirmed_(self) -> bool | None:
        """Whether the clusters are stronger than those of draws without clusters; None if this was not tested."""
        return self._result.confirmed

    @property
    def objective_(self) -> float:
        """Value of the objective, on the sample."""
        return self._result.objective

    @property
    def gap_(self) -> float:
        """Relative duality gap of the exact solver; NaN for the budgeted solver."""
        return self._result.gap

    @property
    def n_iter_(self) -> int:
        """Number of epochs, or of sweeps of the exact solver."""
        return self._result.n_iter

    def __sklearn_is_fitted__(self) -> bool:
        if getattr(self, "_settled", None) is not None:
            return True
        stream = getattr(self, "_stream", None)
        return stream is not None and stream.n_rows > 0

    @property
    def _learned_in_batches(self) -> bool:
        return self._nearest is None or self._batch is not None

    @property
    def _result(self) -> Clustering:
        """The function and its clusters; after `partial_fit`, they are found here."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit")
        if self._settled is None:
            self._validate_params()  # parameters may have been set since the first rows
            settled = self._settle()
            self._identities = self._identities_in(settled.modes, self._last_modes)
            self._settled = settled
        return self._settled

    def _identities_in(self, modes: Nearest, last: Nearest | None) -> Identities:
        """Return the identifiers of the clusters of `modes`, which follow those of `last` if there are any."""
        if last is None:
            return Identities.of_new_clusters(modes.n_clusters)
        assert self._stream is not None
        rows, weights = self._stream.reservoir.sample()
        before, after = (each.predict(rows, self.n_jobs) for each in (last, modes))
        return self._identities.carried_over(before, after, weights, modes.n_clusters)

    def _settle(self) -> Clustering:
        """Find the clusters of a stream, on a sample of all rows so far."""
        assert self._stream is not None
        stream, sample = self._stream, self._stream.sample(self.n_jobs)
        rows, weights = stream.reservoir.sample()
        if stream.learner is None:  # too few rows to start the steps of the stream: all are in the sample
            choice = self._tested(self._choose(sample, stream), sample, stream)
            learner = self._new_learner(rows.shape[1], choice)
            learned = learn_epochs(learner, rows, weights, sample, self.max_iter, self.tol)
            return self._find_clusters(learned, rows, sample, choice, self.gamma != "auto")
        learner = stream.learner
        choice = WidthChoice(learner.gamma, learner.C, None, 0.0)
        learned = Learned.of(learner.kernel_sum, learner.C, sample)
        return self._find_clusters(learned, rows, sample, choice, gamma_is_given=True)

    def _choose(self, sample: Sample, stream: Stream) -> WidthChoice:
        gamma, C = (None if value == "auto" else float(value) for value in (self.gamma, self.C))
        return choose_parameters(sample, self._least_share(stream), gamma, C, self.n_clusters)

    def _tested(self, choice: WidthChoice, sample: Sample, stream: Stream) -> WidthChoice:
        """Return one cluster instead of clusters that chance would produce, if everything is chosen automatically."""
        if self.gamma != "auto" or self.n_clusters is not None or self.assignment == "segments":
            return choice
        _, weights = stream.reservoir.sample()
        least = None if self.min_cluster_size == "auto" else self._least_share(stream)
        C = None if self.C == "auto" else float(self.C)
        return confirmed_or_one(choice, sample, rows_counted(weights), least, C, stream.seed)

    def _learn(
        self, X: Floats, weights: Floats, sample: Sample, choice: WidthChoice, on_epoch: Callable[[], bool]
    ) -> Learned:
        assert self._stream is not None
        if self.solver == "budgeted":
            self._stream.learner = self._new_learner(X.shape[1], choice)
            return learn_epochs(self._stream.learner, X, weights, sample, self.max_iter, self.tol, on_epoch)
        seed = self._stream.seed
        learned = learn_exactly(X, weights, sample, choice.gamma, choice.C, self.max_iter, self.tol, seed)
        on_epoch()
        if learned.gap > self.tol:
            self._warn(
                f"the relative duality gap is {learned.gap:.2g}, above tol={self.tol:.2g}: raise max_iter or tol"
            )
        return learned

    def _begin(self, stream: Stream) -> None:
        """Choose the parameters that are "auto", and take the first steps of a stream."""
        with one_blas_thread():
            choice = self._choose(stream.sample(self.n_jobs), stream)
        rows, weights = stream.reservoir.sample()
        stream.learner = self._new_learner(rows.shape[1], choice)
        stream.learner.learn(rows, np.arange(len(rows)), weights)

    def _new_learner(self, n_features: int, choice: WidthChoice) -> Learner:
        assert self._stream is not None
        strategy = STRATEGIES[self.maintenance]
        return Learner(
            n_features, choice.gamma, choice.C, self.budget, strategy, self.n_projection_vectors, self._stream.seed
        )

    def _max_iter(self, n_rows: int) -> int:
        if self.max_iter is not None:
            return self.max_iter
        return SWEEPS if self.solver == "exact" else max_epochs(n_rows)

    def _least_share(self, stream: Stream) -> float:
        min_cluster_size = None if self.min_cluster_size == "auto" else self.min_cluster_size
        _, weights = stream.reservoir.sample()
        return least_share(min_cluster_size, stream.weight, weights)

    def _find_clusters(
        self, learned: Learned, rows: Floats, sample: Sample, choice: WidthChoice, gamma_is_given: bool
    ) -> Clustering:
        """Find the clusters of a learned function, and warn if they are not what was requested."""
        assert self._stream is not None
        highest = learned.heights.max()
        if self.C != "auto" and highest < 1.0:
            self._warn(
                f"with C={self.C:g} no row is inside the boundary at w = 1, as the largest w is {highest:.2g}: a "
                "lower level is used instead; set a larger C or a smaller gamma"
            )
        if self.assignment == "segments":
            found = find_segments(learned.kernel_sum, rows, choice, self.epsilon, self.n_jobs)
        else:
            least = self._least_share(self._stream)
            found = find_modes(learned.kernel_sum, sample, choice, least, self.n_clusters, gamma_is_given)
        if found.agreement < ALIKE:
            remedy = "lower tol" if self.solver == "exact" else f"raise budget={self.budget} or lower tol"
            self._warn(
                "the clusters differ from those of the sample on which gamma was chosen (adjusted Rand index "
                f"{found.agreement:.2f}): {remedy}"
            )
        if self.n_clusters not in (None, found.modes.n_clusters):
            self._warn(
                f"found {found.modes.n_clusters} of the {self.n_clusters} requested clusters: no gamma and level of "
                "the grid gives this number"
            )
        return clustering_of(learned, found, sample, self.contamination)

    def _heights(self, rows: Floats) -> Floats:
        return self._result.kernel_sum.heights(rows, self.n_jobs)

    def _locate_batch(self) -> None:
        """Find the clusters of the rows of the last batch, if they are not known yet."""
        if self._labels is None:
            if self._batch is None:
                raise AttributeError("there are no rows to label: use predict")
            self._locate(self._batch)

    def _locate(self, rows: Floats) -> None:
        self._nearest = self._result.modes.find(rows, self.n_jobs)
        self._outlier = self._heights(rows) < self._result.offset
        self._label_rows()

    def _label_rows(self) -> None:
        assert self._nearest is not None
        self._labels = self._result.modes.labels[self._nearest]
        if self.outliers == "label":
            assert self._outlier is not None
            self._labels[self._outlier] = -1

    def _warn(self, text: str) -> None:
        warn_user(text, ConvergenceWarning)

    # To a file and back

    def _state(self, resume: bool) -> dict[str, Any]:
        result = self._result
        rows = None
        if resume and not self._learned_in_batches:
            rows = {"nearest": self._nearest, "outlier": self._outlier}
        return {
            "vectors": result.kernel_sum.vectors,
            "coefficients": result.kernel_sum.coefficients,
            "gamma": result.kernel_sum.gamma,
            "mode_rows": result.modes.rows,
            "mode_labels": result.modes.labels,
            "numbers": {name: getattr(result.modes if name == "level" else result, name) for name in NUMBERS},
            "ids": self._identities.ids,
            "next_id": self._identities.next_id,
            "rows": rows,
            "stream": self._stream.state() if resume and self._stream is not None else None,
        }

    def _sizes(self) -> Sizes:
        budget = {} if self.budget is None else {"budget": int(self.budget)}
        return {**super()._sizes(), **budget, "sample_size": SAMPLE, "is_exact": self.solver == "exact"}

    def _restore(self, state: State) -> None:
        numbers = dict(state["numbers"])
        modes = Nearest(state["mode_rows"], state["mode_labels"], numbers.pop("level"))
        kernel_sum = KernelSum(state["vectors"], state["coefficients"], state["gamma"])
        self._settled = Clustering(kernel_sum=kernel_sum, modes=modes, **numbers)
        self._identities = Identities(state["ids"], state["next_id"])
        self._stream = None
        if state["stream"] is not None:
            self._stream = Stream.from_state(state["stream"])
            if state["stream"]["learner"] is not None:
                self._stream.learner = self._restored_learner(**state["stream"]["learner"])
        if state["rows"] is not None:
            self._nearest, self._outlier = state["rows"]["nearest"], state["rows"]["outlier"]
            self._label_rows()

    def _restored_learner(self, gamma: float, C: float, **state: Any) -> Learner:
        return self._new_learner(self.n_features_in_, WidthChoice(gamma, C, None, 0.0)).resume(**state)
