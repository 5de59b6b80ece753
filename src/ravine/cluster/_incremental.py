"""Incremental clustering by low-density hyperplanes (Hofmeyr 2020), for data of any size and for streams.

Stochastic gradients learn a tree of cuts in one pass. The cuts are then refined with the batch objective of `MDH` on a
bounded sample of the rows. Held-out rows of that sample decide which cuts to accept.
"""

from collections.abc import Callable
from copy import copy, deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ravine._checks import is_half
from ravine._lazy import public
from ravine._matrix import Floats, Ints, Matrix, unit_rows
from ravine._outofcore import chunks_of, in_order, is_on_device, is_out_of_core, with_unit_rows
from ravine._reservoir import Reservoir
from ravine._scaling import ScaledRows
from ravine._schema import State
from ravine._sklearn import Interval, StrOptions, fit_context
from ravine.cluster._arrays import learning
from ravine.cluster._base import (
    N_JOBS,
    OUTLIERS,
    all_or_nothing,
    fitting,
    one_blas_thread,
    uninterrupted,
)
from ravine.cluster._fitted_incremental import FittedIncremental
from ravine.cluster._identity import Identities
from ravine.cluster._sampled_stream import SampledStream
from ravine.cluster._soft import ASSIGN_LABELS, SoftTreeClusterer
from ravine.tree import HyperplaneTree
from ravine.tree._chunked import with_counts_of_chunks
from ravine.tree._coarser import labels_in, relabeled
from ravine.tree._derived import with_counts_of
from ravine.tree._imdh import IMDHTree
from ravine.tree._mixture import sample_size
from ravine.tree._prune import cut_to_elbow, rank_by_sum_sq
from ravine.tree._sampled import StreamSample, grow_confirmed, grow_to_elbow, grow_to_number
from ravine.tree._tree import restored

STALE_SHARE = 0.1
"""`_recent_clusters` uses a tree until the rows learned after it are this share of the rows that it was grown from."""


@public("ravine")
class IncrementalMDH(FittedIncremental, SoftTreeClusterer):
    """Clustering of large data and streams by low-density hyperplanes, in bounded memory.

    In a stream (`partial_fit`), every row passes once through a tree of cuts. It moves the cuts on its path by a
    stochastic gradient of the density at the cut (Hofmeyr 2020). The model also keeps a random sample of `sample_size`
    rows. With all data available (`fit`), only the sample passes through this tree, more than once if it is small.

    The final tree is then grown on the sample. The cuts of the stream and the principal components of a node are the
    starts of a batch search. A cut is made if rows that were not used to find it confirm a valley.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. If None, it is chosen automatically, as `selection` says.
    algorithm : {"polished", "online"}, default="polished"
        "polished" refines the cuts on a sample of the rows. "online" is the published method: it uses the cuts of the
        stream directly, prunes them by their sums of squares, and keeps no rows.
    selection : {"auto", "evidence", "elbow"}, default="auto"
        How to choose the number of clusters if `n_clusters` is None. "evidence" keeps a cut if held-out rows confirm it
        or a cut below it; if they confirm none, there is one cluster. "elbow" takes the sharpest bend in the sum of
        squares (Hofmeyr 2020, eq. 22). "auto" uses the evidence. If no cut is confirmed, it uses the elbow, with a
        warning, but only if the rows are more clustered than rows without clusters; otherwise there is one cluster.
        ``algorithm="online"`` supports only the elbow.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Geometry of the rows. "cosine" divides every row by its length first, in `fit`, `partial_fit`, `predict` and all
        other methods, so that only directions count, as usual for embeddings. The columns are then not scaled. A row of
        zeros remains a row of zeros. The tree and the centers are those of rows of length 1.
    standardize : bool, default=True
        Whether to scale every column to unit variance; ``metric="cosine"`` never does. A few cells far outside of a
        dense column do not change its scale, unless ``algorithm="online"``. The cuts are always given in the original
        units of the data. Rows from a `TableEncoder` are on a common scale already and are never scaled.
    memory_length : float or None, default=None
        Number of rows over which the past fades in a stream that drifts. If None, nothing is forgotten. The scales of
        sparse columns are never forgotten.
    sample_size : int, default=20000
        Maximum number of rows that the model keeps.
    n_passes : int or "auto", default="auto"
        Number of passes of the stochastic gradient over its rows in `fit`. "auto" is two for ``algorithm="online"``.
        Otherwise it is one, and more if there are few rows and `n_clusters` is given.
    max_depth : int, default=7
        Maximum depth of the tree that the stochastic gradient learns.
    exponent : float, default=1/6
        The bandwidth of the stochastic gradient after t rows is σ t^(-exponent).
    alpha : float, default=0.25
        The stochastic gradient penalizes a cut that is farther than this from the mean of its rows, in standard
        deviations.
    penalty : float, default=1.0
        Weight of that penalty.
    significance : float, default=0.05
        Significance level of the valley test at each node. Used only if `n_clusters` is None.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows, or total weight, on each side of a cut. "auto" is 1, or one row in 200 if the valley
        test chooses the number of clusters.
    assign_labels : {"auto", "tree", "mixture"}, default="auto"
        How rows are assigned to clusters. "tree" takes the leaf that a row reaches. "mixture" takes the likeliest
        component of a mixture of t distributions that is started from the leaves; it also gives `predict_proba` and
        `score_samples`. "auto" fits the mixture, and uses it for the labels if it moves at least one row in 1,000.
        Sparse data, and data with more than 2,048 columns, has no mixture.
    outliers : {"assign", "label"}, default="assign"
        "assign" assigns outliers to a cluster, "label" gives them the label -1. A row is an outlier if it is far
        from its component of the mixture, compared with most rows of this component. "label" needs a mixture: dense
        data, and neither ``assign_labels="tree"`` nor ``algorithm="online"``.
    random_state : int, RandomState instance or None, default=0
        Controls the random sample, and the random halves of the rows that the valley test draws.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The tree of cuts. After `partial_fit`, it is grown at its first use, and counts, means and sums of squares are
        estimates from the sample.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of `fit`, or of the last batch of `partial_fit`; -1 for outliers if ``outliers="label"``.
    n_clusters_ : int
        Number of clusters found.
    cluster_ids_ : ndarray of shape (`n_clusters_`,)
        Identifier of each cluster, in the order of the labels. When `tree_` is grown again after `partial_fit`, a
        cluster keeps the identifier of the old cluster with which it shares most rows of the sample.
    n_samples_seen_ : int
        Number of rows learned so far; rows of weight 0 do not count.
    p_values_ : ndarray of shape (`n_clusters_` - 1,)
        P-value of the valley of each of ``tree_.cuts`` on held-out rows; 1 if the cut was not tested.
    confirmed_ : int
        Number of cuts that held-out rows confirm.
    selection_ : {"asked", "evidence", "elbow"}
        What determined the number of clusters; "asked" means that `n_clusters` was given.
    elbow_path_ : ndarray or None
        Sums of squares within 1, 2, … clusters of the tree in which the elbow was searched; None if it was not
        searched.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    HSDC : For a stream that drifts; reports when and where it drifts.
    MDH : The batch objective, for data that fits in memory.
    ravine.evaluation.evaluate : Scores a model on a stream.

    References
    ----------
    D. Hofmeyr, Clustering large data sets with incremental estimation of low-density separating hyperplanes, 2020.

    Examples
    --------
    >>> from ravine import IncrementalMDH
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(3000, centers=5, random_state=1)
    >>> model = IncrementalMDH()
    >>> for start in range(0, 3000, 500):
    ...     model = model.partial_fit(X[start : start + 500])
    >>> model.n_clusters_
    5
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions({"polished", "online"})],
        "selection": [StrOptions({"auto", "evidence", "elbow"})],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "standardize": ["boolean"],
        "memory_length": [Interval(Real, 1, None, closed="left"), None],
        "sample_size": [Interval(Integral, 2, None, closed="left")],
        "n_passes": [Interval(Integral, 1, 10_000, closed="both"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 1, 20, closed="both")],
        "exponent": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "assign_labels": ASSIGN_LABELS,
        "outliers": OUTLIERS,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    _in_state: ClassVar[tuple[str, ...]] = ("_tree", "_last_tree", "_stream", "_identities")
    _reads_devices: ClassVar[bool] = True

    _stream: SampledStream
    _tree: HyperplaneTree | None
    _last_tree: HyperplaneTree | None = None  # the tree before the rows that were learned since
    _n_grown_from: int = 0  # number of rows learned when `_tree`, or else `_last_tree`, was grown
    _identities: Identities  # of the clusters of `_tree`, or else of `_last_tree`
    _labels: Ints | None = None
    _batch: Any = None
    _selection: str
    _elbow_path: Floats | None

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        algorithm: Literal["polished", "online"] = "polished",
        selection: Literal["auto", "evidence", "elbow"] = "auto",
        metric: Literal["euclidean", "cosine"] = "euclidean",
        standardize: bool = True,
        memory_length: float | None = None,
        sample_size: int = 20_000,
        n_passes: int | Literal["auto"] = "auto",
        max_depth: int = 7,
        exponent: float = 1 / 6,
        alpha: float = 0.25,
        penalty: float = 1.0,
        significance: float = 0.05,
        min_cluster_size: int | Literal["auto"] = "auto",
        assign_labels: Literal["auto", "tree", "mixture"] = "auto",
        outliers: Literal["assign", "label"] = "assign",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.selection = selection
        self.metric = metric
        self.standardize = standardize
        self.memory_length = memory_length
        self.sample_size = sample_size
        self.n_passes = n_passes
        self.max_depth = max_depth
        self.exponent = exponent
        self.alpha = alpha
        self.penalty = penalty
        self.significance = significance
        self.min_cluster_size = min_cluster_size
        self.assign_labels = assign_labels
        self.outliers = outliers
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to a data set. The result does not depend on the order of the rows, unless algorithm="online".

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or frame, pyarrow dataset} of shape (n_samples, n_features)
            Training data. A CSR matrix is not converted to a dense array. From a Dask collection or a pyarrow dataset
            the sample is drawn out of core, in four passes, see the guide on large data; `labels_` are then lazy for
            Dask, and not kept for files. An array on a CUDA device stays there, and so do `labels_`.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; in the valley test it counts as one row.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from ravine import IncrementalMDH
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = IncrementalMDH().fit(X)
        >>> model.n_clusters_, model.selection_
        (3, 'evidence')
        """
        self._has_unit_rows = self.metric == "cosine"
        if is_out_of_core(X):
            read, count = self._in_chunks(X, sample_weight)
        else:
            is_scaled = isinstance(X, ScaledRows)
            X, weights = self._enter(X, sample_weight)
            read, count = self._in_memory(X, weights, is_scaled)
        with self._progress_of_cuts(X) as on_split:
            read()
            count(self._settle(on_split))
        self._identities = Identities.of_new_clusters(self.n_clusters_)
        self._n_grown_from = self._stream.n_rows
        self._warn_if_short("equal rows cannot be separated")
        return self

    def _in_memory(
        self, X: Matrix, weights: Floats, is_scaled: bool = False
    ) -> tuple[Callable[[], None], Callable[[HyperplaneTree], None]]:
        """Return a function that reads the rows into a new stream, and one that counts them in the resulting tree."""
        self._stream = self._new_stream(X.shape[1], sparse.issparse(X), is_scaled)
        read = partial(self._stream.read_sample, X, weights, self._passes(), self.n_jobs)
        if self.algorithm == "online":
            passes = 2 if self.n_passes == "auto" else self.n_passes
            read = partial(self._stream.read_in_order, X, weights, passes, self.n_jobs)

        def count(tree: HyperplaneTree) -> None:
            leaf = tree.apply(X, self.n_jobs, check_input=False)
            counted = with_counts_of(tree, X, weights, leaf, self.n_jobs)
            self.tree_ = self._refined_by_sample(counted)
            is_settled = counted.n_clusters == tree.n_clusters and not self.tree_.has_soft_labels
            self.labels_ = tree.label[leaf] if is_settled else self.tree_.predict(X, self.n_jobs, check_input=False)

        return read, count

    def _in_chunks(self, X: Any, sample_weight: Any) -> tuple[Callable[[], None], Callable[[HyperplaneTree], None]]:
        """Return the same two functions for out-of-core data, which is loaded if the sample can hold all rows."""
        if self.algorithm == "online":
            raise ValueError("algorithm='online' reads the rows in their order: use partial_fit for out-of-core data")
        chunks = chunks_of(with_unit_rows(X, self.n_jobs) if self._has_unit_rows else X, sample_weight, self.n_jobs)
        root = self._root_of_chunks(chunks)
        self._check_chunked_outlier(root)
        if root.n_rows <= self.sample_size:
            few = root.fetch()
            read, count_rows = self._in_memory(few.X, few.weights)
        else:
            self._stream = self._new_stream(self.n_features_in_, is_sparse=False)
            read = partial(self._stream.read_sample_of_chunks, root, self._passes(), self.n_jobs)

            def count_rows(tree: HyperplaneTree) -> None:
                self.tree_ = self._refined_by_sample(with_counts_of_chunks(tree, root))

        def count(tree: HyperplaneTree) -> None:
            count_rows(tree)
            self._label_chunks(X)

        return read, count

    def _passes(self) -> int | str:
        """Return the number of passes over the sample; the cuts of the stream hardly matter if a scout finds cuts."""
        return 1 if self.n_passes == "auto" and self.n_clusters is None else self.n_passes

    def _refined_by_sample(self, tree: HyperplaneTree) -> HyperplaneTree:
        """Return the tree with the mixture of the rows that the model keeps, or unchanged if it keeps none."""
        if self._stream.reservoir is None:
            return tree
        rows, weights = self._stream.sample()
        size = sample_size(tree.n_clusters, rows.shape[1])
        return self._refined_by(tree, rows[:size], weights[:size]) if self._can_refine(rows) else tree

    @fit_context(prefer_skip_nested_validation=True)
    @learning
    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the next rows of a stream. The result does not depend on the batches.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or frame, pyarrow dataset} of shape (n_samples, n_features)
            The next rows. The chunks of a Dask collection or of files are read one after the other. If a chunk raises
            an error, the model has learned the chunks before it.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; in the valley test it counts as one row.

        Returns
        -------
        self : object
            The updated estimator. Its `labels_` are those of the last batch of in-memory rows.

        Examples
        --------
        >>> from ravine import IncrementalMDH
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = IncrementalMDH()
        >>> for batch in (X[:200], X[200:]):
        ...     model = model.partial_fit(batch)
        >>> model.predict([[0, 0], [0.5, 0.5], [9, 0]])
        array([0, 0, 1])
        >>> len(model.labels_)
        400
        """
        if not is_out_of_core(X):
            return self._learn_batch(X, sample_weight)
        for number, rows, weights in in_order(X, sample_weight):
            try:
                self._learn_batch(rows, weights)
            except ValueError as error:
                raise ValueError(f"chunk {number}: {error}") from error
            self._batch = None  # the labels of one chunk would not be those of X
        if is_on_device(X):
            self._batch = X
        return self

    @all_or_nothing
    def _learn_batch(self, X: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        first = not hasattr(self, "_stream")
        if first and self.__sklearn_is_fitted__():
            raise ValueError(
                "this model was saved without its sample of rows and cannot learn further: save it with resume=True, "
                "or start again with fit"
            )
        if first:
            self._has_unit_rows = self.metric == "cosine"
        rows = self._validate(X, reset=first, order="C")
        weights, _ = self._admit(rows, sample_weight, allow_all_zero=not first)
        if first:
            self._stream = self._new_stream(rows.shape[1], sparse.issparse(rows), isinstance(X, ScaledRows))
        elif self._stream.is_sparse != sparse.issparse(rows):
            raise ValueError(
                "X is sparse and the rows learned so far are dense, or the other way round: pass one kind only"
            )
        with uninterrupted():
            self._stream.learn(rows, weights, self.n_jobs)
            if self._tree is not None:
                self._last_tree, self._tree = self._tree, None
            self._labels, self._batch = None, rows
        return self

    @property
    def tree_(self) -> HyperplaneTree:
        """The tree of cuts. It is grown now if rows have been learned since its last use."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit")
        if self._tree is None:
            self._validate_params()  # parameters may have been set since the first rows
            tree = self._settle(None)
            if self.algorithm == "polished":
                rows, weights = self._stream.sample()
                weights = weights * (self._stream.count / weights.sum())
                tree = self._refined_by_sample(with_counts_of(tree, rows, weights, n_jobs=self.n_jobs))
            self._identities = self._identities_in(tree)
            self._tree, self._n_grown_from = tree, self._stream.n_rows
            self._warn_if_short("equal rows cannot be separated")
        return self._tree

    @tree_.setter
    def tree_(self, tree: HyperplaneTree) -> None:
        self._tree = tree

    def _identities_in(self, tree: HyperplaneTree) -> Identities:
        """Return the identifiers of the clusters of a new tree, which follows `_last_tree` if there is one."""
        last = self._last_tree
        if last is None:
            return Identities.of_new_clusters(tree.n_clusters)
        if self._stream.reservoir is not None:
            rows, weights = self._stream.sample()
        else:  # no rows are kept: the mean of a cluster says where it is now
            rows, weights = last.mean[last.leaves], last.count[last.leaves]
        before, after = (each.predict(rows, self.n_jobs, check_input=False) for each in (last, tree))
        return self._identities.carried_over(before, after, weights, tree.n_clusters)

    @property
    def cluster_ids_(self) -> Ints:
        """Identifier of each cluster, in the order of the labels; a cluster keeps it while the model learns."""
        self.tree_  # noqa: B018 — growing the tree updates the identifiers
        return self._identities.ids

    def _recent_clusters(self, X: ArrayLike) -> Ints:
        """Return the identifier of the cluster of each row, or that in the last tree if few rows were learned after it.

        A question after every row would otherwise grow a tree for every row. The public methods never use an old tree:
        their results do not depend on the questions that were asked before.
        """
        if self._tree is None and self._last_tree is not None and not self._is_stale():
            labels = self._last_tree.predict(self._check_rows(X), self.n_jobs, check_input=False)
        else:
            labels = self.predict(X)
        return relabeled(labels, self._identities.ids)

    def _is_stale(self, share: float = STALE_SHARE, grown_from: int | None = None) -> bool:
        """Return whether a tree, or else the last one, misses this share of the rows that the model remembers."""
        n_rows = self._n_grown_from if grown_from is None else grown_from
        remembered = n_rows if self.memory_length is None else min(n_rows, self.memory_length)
        return self._stream.n_rows - n_rows >= share * remembered

    @property
    def labels_(self) -> Any:
        """Cluster of each row of `fit`, or of the last batch of `partial_fit`."""
        if self._labels is None:
            if self._batch is None:
                raise AttributeError("there are no rows to label: use predict")
            if is_on_device(self._batch):
                return self.predict(self._batch)
            self._labels = self.tree_.predict(self._batch, self.n_jobs, check_input=False)
        return self._placed(self._labels)

    @labels_.setter
    def labels_(self, labels: Ints) -> None:
        self._labels = labels

    def _drop_labels(self) -> None:
        self._labels = self._batch = None

    @property
    def _learned_in_batches(self) -> bool:
        return self._labels is None or self._batch is not None

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far; rows of weight 0 do not count."""
        return self._stream.n_rows

    @property
    def p_values_(self) -> Floats:
        """P-value of the valley of each of ``tree_.cuts`` on held-out rows; 1 if the cut was not tested."""
        return self.tree_.p_value[self.tree_.cuts]

    @property
    def selection_(self) -> str:
        """What determined the number of clusters: "asked" (`n_clusters` was given), "evidence" or "elbow"."""
        self.tree_  # noqa: B018 — grows the tree if necessary
        return self._selection

    @property
    def elbow_path_(self) -> Floats | None:
        """Sums of squares within 1, 2, … clusters in which the elbow was searched; None if it was not searched."""
        self.tree_  # noqa: B018 — grows the tree if necessary
        return self._elbow_path

    @property
    def _n_features_learned(self) -> int:
        return self._stream.online.n_features if hasattr(self, "_stream") else self.tree_.n_features

    def __sklearn_is_fitted__(self) -> bool:
        if getattr(self, "_tree", None) is not None:  # the model may have been saved without its stream
            return True
        return hasattr(self, "_stream") and self._stream.n_rows > 0

    def __str__(self) -> str:
        if not self.__sklearn_is_fitted__():
            return repr(self)
        reason = {
            "asked": "as given by n_clusters",
            "evidence": "held-out rows confirmed each cut or a cut below it",
            "elbow": "chosen by the elbow of the sum of squares",
        }[self.selection_]
        if self.selection_ == "elbow" and self.selection == "auto" and self.algorithm == "polished":
            reason += ", because held-out rows confirmed no single cut"
        return f"{self!r}\n{self.n_clusters_} clusters, {reason}"

    def _with_coarser_tree(self, tree: HyperplaneTree) -> Self:
        model = super()._with_coarser_tree(tree)
        sizes, labels = self.tree_.count[self.tree_.leaves], np.arange(self.n_clusters_)
        merged = labels_in(self.tree_, tree)
        model._identities = self._identities.carried_over(labels, merged, sizes, tree.n_clusters)
        if hasattr(self, "_stream"):
            model._stream = deepcopy(self._stream)  # both models may learn further, independently
        return model

    def _state(self, resume: bool) -> dict[str, Any]:
        if self._has_unit_rows != (self.metric == "cosine"):
            raise ValueError(
                "metric was changed after the fit, so a loaded model would read rows in another way: restore the old "
                "value, or fit again"
            )
        grown = not resume or self._tree is not None
        tree: dict[str, Any] = super()._state(resume) if grown else {"tree": None, "labels": None}
        chosen = {"selection": self._selection, "elbow_path": self._elbow_path} if grown else None
        stream = self._stream_state() if resume and hasattr(self, "_stream") else None
        return {**tree, "chosen": chosen, "stream": stream, "identities": self._identity_state(grown)}

    def _identity_state(self, grown: bool) -> dict[str, Any] | None:
        """Return the identifiers, and their tree if it is not `tree_`; None if no tree was grown yet."""
        if not grown and self._last_tree is None:
            return None
        tree = None if grown or self._last_tree is None else self._last_tree.to_dict()
        return {"ids": self._identities.ids, "next_id": self._identities.next_id, "tree": tree}

    def _stream_state(self) -> dict[str, Any]:
        stream, (settings, size) = self._stream, self._stream_options()
        kept = stream.reservoir.size if stream.reservoir is not None else None
        began_with = (stream.online.depth, stream.online.settings, kept, stream.standardize, stream.memory_length)
        if began_with != (self.max_depth, settings, size, self._scales_columns, self.memory_length):
            raise ValueError(
                "a parameter of the stream was changed after its first rows, so a loaded model could not continue as "
                "this one would: restore the old value, or save with resume=False"
            )
        return stream.state()

    def _restore(self, state: State) -> None:
        self._tree, self._has_unit_rows = None, self.metric == "cosine"
        if state["tree"] is not None:
            super()._restore(state)
            self._selection, self._elbow_path = state["chosen"]["selection"], state["chosen"]["elbow_path"]
        if (identities := state["identities"]) is not None:
            self._last_tree = None if identities["tree"] is None else restored(identities["tree"])
            self._identities = Identities(identities["ids"], identities["next_id"])
        if state["stream"] is not None:
            self._stream = self._restored_stream(state["stream"])

    def _restored_stream(self, state: State) -> SampledStream:
        (settings, size), sample, is_sparse = self._stream_options(), state["sample"], state["is_sparse"]
        online = IMDHTree.from_state(self.max_depth, settings, is_sparse, state["online"])
        reservoir = None
        if size is not None:
            reservoir = Reservoir.from_state(size, sample["keys"], sample["rows"], sample["weights"])
        is_scaled = bool(state["is_scaled"])
        options = self._scales_columns, self.memory_length, state["seed"], is_sparse, is_scaled
        stream = SampledStream(online, reservoir, *options)
        stream.restore(state)
        return stream

    def _validate(self, X: ArrayLike, reset: bool, order: str | None) -> Matrix:
        rows = super()._validate(X, reset=reset, order=order)
        # Rows that were converted to float32 are ours, and rows of the user stay as they are.
        return unit_rows(rows, self.n_jobs, copy=not is_half(X)) if self._has_unit_rows else rows

    def _is_swayed(self, n_features: int) -> bool:
        if self._has_unit_rows:
            return False
        return not self.standardize or n_features == 1  # after scaling, a column with one large cell is almost constant

    def _of_unit_rows(self) -> Self:
        """Return a copy of the model that takes rows of length 1 as they are."""
        model = copy(self)
        model.metric, model.standardize, model._has_unit_rows = "euclidean", False, False
        model._set_feature_names(None)  # these rows are arrays
        return model

    def _new_stream(self, n_features: int, is_sparse: bool, is_scaled: bool = False) -> SampledStream:
        if self.algorithm == "online" and self.selection == "evidence":
            raise ValueError(
                "selection='evidence' needs rows for its test, but algorithm='online' keeps none: use "
                "selection='elbow', or algorithm='polished'"
            )
        if self.algorithm == "online" and self.outliers == "label":
            raise ValueError(
                "outliers='label' needs rows for its mixture, but algorithm='online' keeps none: use "
                "outliers='assign', or algorithm='polished'"
            )
        self._tree = self._last_tree = None
        self._n_grown_from = 0
        self._drop_labels()
        settings, size = self._stream_options()
        online = IMDHTree(self.max_depth, n_features, settings, is_sparse)
        reservoir = Reservoir(size) if size is not None else None
        options = self._scales_columns, self.memory_length, self._draw_seed(), is_sparse, is_scaled
        return SampledStream(online, reservoir, *options)

    def _settle(self, on_split: Callable[[int], bool] | None) -> HyperplaneTree:
        """Return the tree of the current state, in the units of the data, with the counts of the sample."""
        self._selection = "asked" if self.n_clusters is not None else "elbow"
        self._elbow_path = None
        scaling = self._stream.scaling()
        if self.algorithm == "online":
            tree = self._stream.online.cut_tree(scaling.center, scaling.scale)
            if self.n_clusters is not None:
                return rank_by_sum_sq(tree).cut_to(min(self.n_clusters, tree.n_clusters))
            tree, self._elbow_path = cut_to_elbow(tree)
            return tree
        rows, weights = self._stream.sample()
        sample = StreamSample(scaling.rows(rows), weights, self._stream.online)
        with one_blas_thread():
            return self._grow_sample(sample, on_split).unscaled(scaling.center, scaling.scale)

    def _grow_sample(self, sample: StreamSample, on_split: Callable[[int], bool] | None) -> HyperplaneTree:
        options: dict[str, Any] = {"on_split": on_split, "n_jobs": self.n_jobs}
        total = float(sample.weights.sum())
        if self.n_clusters is not None:
            return grow_to_number(sample, self.n_clusters, self._least_size(total, tested=False), **options)
        if self.selection != "elbow":
            size, seed = self._least_size(total, tested=True), self._stream.seed
            tree = grow_confirmed(sample, self.significance, size, seed, **self._acceptance(), **options)
            is_settled = tree.n_clusters > 1 or self.selection == "evidence"
            if is_settled or not self._may_use_elbow(sample.rows, sample.weights, seed):
                self._selection = "evidence"
                return tree
        tree, self._elbow_path = grow_to_elbow(sample, self.max_depth, **options)
        return tree
