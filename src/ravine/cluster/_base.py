"""Base classes of the estimators: checks of the data, progress callbacks, and growing a tree."""

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import cache, wraps
from numbers import Integral, Real
from types import FrameType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from ravine._blocks import BLOCK_CELLS, map_blocks
from ravine._checks import (
    as_floats,
    as_table,
    checked_sparse,
    checked_weights,
    is_half,
    refuse_names_given_twice,
    refuse_product,
    refuse_what_has_no_rows,
    refuse_what_is_no_number,
)
from ravine._matrix import LARGEST, SMALLEST, Floats, Ints, Matrix, Moments, column_extent, with_weight
from ravine._outofcore import ChunkedNode, Chunks, FetchedRows, is_dask, is_from_host, is_on_device, is_out_of_core
from ravine._pickles import PlainPickles
from ravine._schema import Group, Sizes
from ravine._sklearn import Interval, InvalidParameterError, StrOptions, fit_context, is_fitted
from ravine._warnings import warn_user
from ravine.cluster._arrays import answering, learning, like, on_host, to_numpy
from ravine.cluster._chunked_predict import by_chunks
from ravine.cluster._fitted import FittedTree
from ravine.cluster._outliers import find_outliers, is_outlier
from ravine.cuts import Cut
from ravine.tree import HyperplaneTree
from ravine.tree._coarser import labels_in, relabeled
from ravine.tree._grow import FindCut, Order, grow
from ravine.tree._scout import ConfirmedCuts
from ravine.tree._valley_test import FromDirection

Method = TypeVar("Method", bound=Callable[..., Any])

LOOK_AHEAD = 2
"""Below a cut that is not accepted, this many further levels are tried: docs/decisions/number-of-clusters.md."""

FETCHED_CELLS = 1 << 21
"""Out-of-core data with at most this many numbers is loaded and fitted in memory."""

ROWS_PER_CLUSTER = 200
"""If the valley test chooses the number of clusters, a cluster has at least one in this many rows."""


MOST_COUNTED, MOST = 2**31 - 1, 1e30
"""Largest values of parameters: of those that count something, and of all others."""

N_JOBS = [Interval(Integral, -10_000, 10_000, closed="both"), None]
"""Constraint of the parameter `n_jobs`."""

LEAST_FACTOR, LARGEST_FACTOR = 1e-9, 1e9
"""A bandwidth is between these multiples of the standard deviation of the rows."""

OUTLIERS = [StrOptions({"assign", "label"})]
"""Constraint of the parameter `outliers`."""

FACTOR = Interval(Real, LEAST_FACTOR, LARGEST_FACTOR, closed="both")
"""Constraint of the parameter `bandwidth_factor`."""


@cache
def thread_pools() -> ThreadpoolController:
    """Return the thread pools; they are looked up only once, because that takes longer than a small fit."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS work on one thread. Its sums then do not depend on the number of cores, and threads of ours do not wait
    for its threads."""
    limit: AbstractContextManager[Any] = thread_pools().limit(limits=1, user_api="blas")
    return limit


def all_or_nothing(method: Method) -> Method:
    """Restore the estimator if the method fails for any reason: bad data, a callback, Ctrl-C."""

    @wraps(method)
    def undone_if_it_fails(self: "RowEstimator", *args: Any, **kwargs: Any) -> Any:
        before = self._restore_point()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return undone_if_it_fails  # type: ignore[return-value]


def fitting(method: Method) -> Method:
    """Decorate `fit` and `partial_fit`: check the parameters, end the callbacks, undo a failed call."""
    return all_or_nothing(fit_context(prefer_skip_nested_validation=True)(learning(method)))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until all rows of a batch are learned: half a batch cannot be undone."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread is interrupted
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: caught.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        handler(*caught[0])


def _without_duplicates(rows: Matrix) -> Matrix:
    """Return rows without duplicate entries, as the compiled passes over sparse rows expect them."""
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()  # the user's matrix is left unchanged
        rows.sum_duplicates()
    return rows


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return LARGEST**2 if value > 0 else -(LARGEST**2)


def checked_bandwidth(name: str, given: Any) -> Any:
    """Return a factor unchanged; wrap a function ``(deviation, count) -> bandwidth`` to check what it returns."""
    if not callable(given):
        return given

    def bandwidth(deviation: float, count: float) -> float:
        if not deviation > 0:  # constant rows are not cut
            return 0.0
        answer = given(deviation, count)
        is_number = isinstance(answer, Real) or getattr(answer, "shape", None) == ()
        if not is_number or not LEAST_FACTOR * deviation <= float(answer) <= LARGEST_FACTOR * deviation:
            raise ValueError(
                f"{name}({deviation:.3g}, {count:.3g}) returned {answer!r}: it must return a number from "
                f"{LEAST_FACTOR:g} to {LARGEST_FACTOR:g} times its first argument, the standard deviation of the rows"
            )
        return float(answer)

    return bandwidth


def checked_directions(init: Any) -> Any:
    """Return the parameter `init` with its numbers checked; a function is wrapped to check what it returns."""
    if callable(init):
        return lambda rows: as_floats(init(rows), "the result of init")
    return init if isinstance(init, str | Integral) else as_floats(init, "init")


def checked_order(order: Order) -> Order:
    """Return the name of an order unchanged; wrap a function ``(cut, moments) -> number`` to check what it returns."""
    if not callable(order):
        return order

    def number(cut: Cut, moments: Moments) -> float:
        answer: Any = order(cut, moments)
        is_number = isinstance(answer, Real) or getattr(answer, "shape", None) == ()
        if not is_number or np.isnan(float(answer)):
            raise ValueError(
                f"split_order returned {answer!r} for a leaf: it must return a number; the smallest is split next"
            )
        return float(answer)

    return number


def refuse_magnitude(largest: float) -> None:
    """Raise ValueError if the square of the largest absolute value in the rows overflows or vanishes."""
    if largest > LARGEST or 0 < largest < SMALLEST:
        what = "overflow" if largest > 1 else "vanish"
        raise ValueError(
            f"the largest absolute value in X is {largest:.3g}, and its square would {what} in float64: "
            "change the unit of X, for instance X / abs(X).max(), or use StandardScaler"
        )


class RowEstimator(PlainPickles, CallbackSupportMixin, BaseEstimator):
    """Base class of all estimators: checks of the data, and progress callbacks."""

    n_features_in_: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    _in_units_of_rows: ClassVar[tuple[str, ...]] = ()
    """Parameters that scale with the units of the data, and so may be as large as the data."""

    _accept_sparse: ClassVar[str | bool] = "csr"
    _dtypes: ClassVar[list[Any]] = [np.float64, np.float32]
    _reads_devices: ClassVar[bool] = False
    """Whether the method reads rows on a CUDA device."""

    _home: Any = None
    """An empty array that says where results belong, if the rows of the fit were no NumPy array."""

    _schema: ClassVar[Group]
    """What a file keeps of the fitted model: the fields of `_state`."""

    def _sizes(self) -> Sizes:
        """Return the sizes in `_schema` that the parameters and the number of features determine."""
        return {"n_features": self.n_features_in_}

    @contextmanager
    def _progress(self, X: Matrix, task_name: str, n_tasks: int | None) -> Iterator[Callable[..., bool]]:
        """Yield a function to call after each task; it notifies the callbacks and returns whether one wants to stop."""
        progress = self._init_callback_context(max_subtasks=n_tasks)
        progress.call_on_fit_task_begin(estimator=self, X=X)

        def on_task(*_: object) -> bool:
            task = progress.subcontext(task_name=task_name)
            task.call_on_fit_task_begin(estimator=self)
            return bool(task.call_on_fit_task_end(estimator=self))

        yield on_task
        progress.call_on_fit_task_end(estimator=self, X=X)

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _validate_params(self) -> None:
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            constraints = self._parameter_constraints.get(name, "no_validation")
            if isinstance(value, Real | np.bool_) and constraints != "no_validation":
                self._check_number_given(name, value, constraints)

    def _check_number_given(self, name: str, value: Any, constraints: list[Any]) -> None:
        """Raise InvalidParameterError for unusable numbers that the constraints of scikit-learn accept."""
        kinds = {getattr(constraint, "type", constraint) for constraint in constraints if constraint != "array-like"}
        is_bool, is_whole = isinstance(value, bool | np.bool_), isinstance(value, Integral)
        most = MOST_COUNTED if is_whole and Integral in kinds else MOST
        if name in self._in_units_of_rows:
            most = LARGEST**2
        if is_bool and "boolean" not in constraints:
            complaint = f"a number, not {value}"
        elif not is_bool and name != "random_state" and abs(value) > most and not np.isposinf(_as_float(value)):
            complaint = f"at most {most:g} in size. Got {_as_float(value):.3g} instead"
        else:
            return
        raise InvalidParameterError(f"The {name!r} parameter of {type(self).__name__} must be {complaint}.")

    def _set_feature_names(self, names: Sequence[str] | None) -> None:
        """Set the names of the columns of a model that was fitted on plain arrays, or remove them with None."""
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _placed(self, found: NDArray[Any]) -> Any:
        """Return labels of the rows of the fit in the library and on the device of these rows."""
        return found if self._home is None else like(found, self._home)

    def _restore_point(self) -> dict[str, Any]:
        """Return the state that `all_or_nothing` restores; it has copies of attributes that change in place."""
        return dict(vars(self))

    def _validate(self, X: ArrayLike, reset: bool, order: str | None) -> Matrix:
        rows = self._read(X, reset=reset, order=order)
        if not reset and rows.shape[1] != self._n_features_learned:
            raise ValueError(
                f"X has {rows.shape[1]} features, but this {type(self).__name__} was fitted on "
                f"{self._n_features_learned}: n_features_in_ was changed after fit"
            )
        return _without_duplicates(rows)

    def _validate_with_target(self, X: ArrayLike, y: ArrayLike) -> tuple[Matrix, NDArray[Any]]:
        rows, target = self._read(X, y=y, order="C")
        return _without_duplicates(rows), target

    def _read(self, X: Any, **options: Any) -> Any:
        """Return the rows as `validate_data` does, after checks for input that it cannot read."""
        if is_on_device(X):
            raise TypeError("X is on a CUDA device, and this method reads rows of the host: pass X.cpu() or X.get()")
        X = as_table(on_host(X))
        if self._accept_sparse and sparse.issparse(X):
            X = checked_sparse(X)
        refuse_what_has_no_rows(X)
        refuse_names_given_twice(X)
        refuse_what_is_no_number(X, "X")
        if self._is_large_and_finite(X):
            options["ensure_all_finite"] = False
        dtypes = [np.float32] if is_half(X) and np.float32 in self._dtypes else self._dtypes
        try:
            return validate_data(self, X, **{"accept_sparse": self._accept_sparse, "dtype": dtypes, **options})
        except OverflowError:
            raise ValueError("X has an integer that is too large for float64: rescale its column") from None

    def _is_large_and_finite(self, X: Any) -> bool:
        """Return whether a large array has finite numbers only; scikit-learn would check it on one thread."""
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype not in (np.float32, np.float64):
            return False

        def has_finite_sum(b: slice) -> bool:
            with np.errstate(over="ignore", invalid="ignore"):
                return bool(np.isfinite(X[b].sum(dtype=np.float64)))

        return X.size > BLOCK_CELLS and all(map_blocks(has_finite_sum, X.shape, self.n_jobs))

    @property
    def _n_features_learned(self) -> int:
        """Number of features of the fitted model, even if `n_features_in_` was changed."""
        return self.n_features_in_

    def _check_magnitude(self, X: Any) -> float:
        """Return the range of all entries, after checking that their squares neither overflow nor vanish."""
        high, low = self._extremes(X)
        refuse_magnitude(max(high, low, 0.0))
        return high + low

    def _extremes(self, X: Any) -> tuple[float, float]:
        """Return the largest entry, and the negative of the smallest entry."""
        stored = X.data[:, np.newaxis] if sparse.issparse(X) else X
        if not stored.size:
            return 0.0, 0.0
        low, high = column_extent(stored, self.n_jobs)
        return float(high.max()), -float(low.min())

    def _check_outliers(self, X: Matrix, weights: Floats, reach: float) -> None:
        """Warn if a few cells hold nearly all of the sum of squares: they alone would determine the result."""
        found = find_outliers(X, weights, reach, self.n_jobs) if self._is_swayed(X.shape[1]) else None
        if found is not None:
            self._warn_of_outlier(found.column, found.value, f"in row {found.row}", found.n_cells)

    def _is_swayed(self, n_features: int) -> bool:
        """Return whether one cell that is far too large hides the structure in all other columns."""
        return True

    def _warn_of_outlier(self, column: int, value: float, where: str, n_cells: int = 1) -> None:
        names = getattr(self, "feature_names_in_", None)
        name = f"{column}" if names is None else f"{names[column]!r}"
        few = "one cell has" if n_cells == 1 else f"{n_cells} cells have"
        warn_user(
            f"{few} nearly all of the spread of the data and would hide every cluster: the largest is {value:.3g} in "
            f"column {name}, {where}. Drop the row, or clip the cell, for instance after a RobustScaler"
        )

    def _admit(self, X: Matrix, sample_weight: ArrayLike | None, allow_all_zero: bool = False) -> tuple[Floats, float]:
        """Return the weights and the range of all entries, after checking that sums of squares are finite."""
        reach = self._check_magnitude(X)
        # float64 even if the rows are float32: the counts of many rows need the digits.
        weights = checked_weights(sample_weight, X.shape[0], allow_all_zero)
        refuse_product(float(weights.max()), X.shape[0], reach)
        return weights, reach


class Clusterer(ClusterMixin, RowEstimator):
    """Base class of the estimators that find clusters."""

    @property
    def _learned_in_batches(self) -> bool:
        """Whether `partial_fit`, not `fit`, has made the model."""
        return False


def _smallest_type(labels: Ints) -> np.dtype[Any]:
    """Return the smallest type of integers that holds the labels."""
    return np.result_type(*(np.min_scalar_type(int(end)) for end in (labels.min(), labels.max())))


class TreeClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedTree, Clusterer):
    """Base class of the estimators whose model is a HyperplaneTree in `tree_`."""

    _in_state: ClassVar[tuple[str, ...]] = ("tree_",)

    n_clusters: int | None
    min_cluster_size: int | str

    @answering
    def predict(self, X: ArrayLike) -> Ints:
        """Predict the cluster of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. A Dask collection or a pyarrow dataset is read block by block.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row, or -1 for an outlier if the model has ``outliers="label"``. For the rows of `fit` they
            are equal to `labels_`. Lazy for a Dask collection.

        Examples
        --------
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> model.predict(X[[0, 60, 120]])
        array([0, 1, 2])
        >>> bool((model.predict(X) == model.labels_).all())
        True
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return by_chunks(self, "predict", X, None, np.int64)
        return self.tree_.predict(self._check_rows(X), self.n_jobs, check_input=False)

    @answering
    def transform(self, X: ArrayLike) -> Floats:
        """Compute the signed distance of each row to the cuts on its path.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. A Dask collection or a pyarrow dataset is read block by block.

        Returns
        -------
        distance : ndarray of shape (n_samples, `n_clusters_` - 1)
            One column for each cut, in the order of ``tree_.cuts``. The distance is negative on the left of a cut, and
            0 for cuts that are not on the path of the row. A model with one cluster has no cut and returns one column
            of zeros, so that a pipeline still works. Lazy for a Dask collection.

        Examples
        --------
        The first row goes left at the first cut and meets no other.

        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> model.transform(X[[0, 60, 120]]).round(2)
        array([[-1.19,  0.  ],
               [ 1.22, -2.34],
               [ 3.85,  0.98]])
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return by_chunks(self, "transform", X, self._n_features_out, np.float64)
        rows = self._check_rows(X)
        distance = self.tree_.signed_distance(rows, self.n_jobs, check_input=False)
        return distance if distance.shape[1] else np.zeros((rows.shape[0], 1))

    def cut_to(self, n_clusters: int) -> Self:
        """Return a copy of the fitted model that has only its first ``n_clusters - 1`` cuts; the original is unchanged.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, from 1 to ``n_clusters_``.

        Returns
        -------
        model : estimator of the same class
            Fitted model with fewer cuts in `tree_`. Its `labels_`, if there are any, match the new tree.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> model = NCutH(n_clusters=3).fit(load_iris().data)
        >>> [np.bincount(model.cut_to(k).labels_).tolist() for k in (1, 2, 3)]
        [[150], [50, 100], [50, 47, 53]]
        """
        check_is_fitted(self)
        return self._with_coarser_tree(self.tree_.cut_to(n_clusters))

    def prune(self, node: int) -> Self:
        """Return a copy of the fitted model in which `node` is one cluster; the original is unchanged.

        Parameters
        ----------
        node : int
            A node that has a cut, one of ``tree_.cuts``.

        Returns
        -------
        model : estimator of the same class
            Fitted model without the cut of `node` and the cuts below it. Its `labels_`, if there are any, match the new
            tree.

        Examples
        --------
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> model = NCutH(n_clusters=3).fit(load_iris().data)
        >>> model.tree_.cuts
        array([0, 2])
        >>> model.prune(2).n_clusters_
        2
        """
        check_is_fitted(self)
        return self._with_coarser_tree(self.tree_.prune(node))

    def _unscale(self, center: Floats, deviation: Floats) -> None:
        """Convert the tree of a model fitted on ``(X - center) / deviation`` to the units of X."""
        self.tree_ = self.tree_.unscaled(center, deviation)

    def _with_coarser_tree(self, tree: HyperplaneTree) -> Self:
        model = copy(self)
        model.tree_ = tree
        if hasattr(self, "labels_"):
            labels = self.labels_ if self._home is None else to_numpy(self.labels_)
            model.labels_ = self._placed(relabeled(labels, labels_in(self.tree_, tree)))
        return model

    def _drop_labels(self) -> None:
        """Drop `labels_`, and everything else that belongs to single rows of the data."""
        self.__dict__.pop("labels_", None)

    def _state(self, resume: bool) -> dict[str, Any]:
        """Return what a file keeps of the fitted model; data about single rows is kept only with `resume`."""
        labels = getattr(self, "labels_", None) if resume and not self._learned_in_batches else None
        if is_dask(labels):  # lazy labels would have to be computed, and their rows are stored elsewhere
            labels = None
        elif labels is not None and self._home is not None:
            labels = to_numpy(labels)
        smallest = None if labels is None else labels.astype(_smallest_type(labels))
        return {"tree": self.tree_.to_dict(), "labels": smallest}

    @property
    def _n_features_out(self) -> int:
        return max(len(self.tree_.cuts), 1)

    @property
    def _n_features_learned(self) -> int:
        return self.tree_.n_features

    def _root_of_chunks(self, chunks: Chunks) -> ChunkedNode:
        """Return all rows of a Dask collection or of files, checked as `_enter` checks in-memory data."""
        root = ChunkedNode.root(chunks)
        self._check_number(root.n_rows)
        extent = root.whole.extent
        refuse_magnitude(extent.largest)
        refuse_product(extent.heaviest, root.n_rows, float((extent.high - extent.low).max()))
        self._name_columns(root)
        return root

    def _check_chunked_outlier(self, root: ChunkedNode) -> None:
        """Warn as `_check_outliers` does, of a single cell: to know more takes another pass over the chunks."""
        extent, mean = root.whole.extent, root.moments.mean
        column, value, far = max(
            ((j, v[j], abs(v[j] - mean[j])) for v in (extent.low, extent.high) for j in range(len(mean))),
            key=lambda found: found[2],
        )
        outlies = is_outlier(far, extent.lightest, root.n_rows, root.moments, root.squares, column)
        if outlies and self._is_swayed(len(mean)):
            self._warn_of_outlier(column, float(value), f"in one of {root.n_rows} rows")

    def _name_columns(self, root: ChunkedNode) -> None:
        chunks = root.whole.chunks
        self.n_features_in_ = chunks.n_features
        self._set_feature_names(chunks.feature_names)

    def _fetch_if_few(self, root: ChunkedNode) -> FetchedRows | None:
        """Load out-of-core data if it is so small that passes over it would take longer than a fit in memory."""
        return root.fetch() if root.n_rows * root.whole.chunks.n_features <= FETCHED_CELLS else None

    def _is_few(self, X: Any) -> bool:
        """Return whether rows on a device are so few that they are copied to the host and fitted there."""
        return math.prod(X.shape) <= FETCHED_CELLS

    def _label_chunks(self, X: Any) -> None:
        """Set `labels_`: lazy for a Dask collection, where the rows are if a device reads them, not kept for files."""
        self._drop_labels()
        if is_dask(X) or is_on_device(X) or is_from_host(X):
            self.labels_ = self.predict(X)

    def _progress_of_cuts(self, X: Matrix) -> AbstractContextManager[Callable[..., bool]]:
        return self._progress(X, "cut", None if self.n_clusters is None else self.n_clusters - 1)

    def _grown(self, X: Matrix, find_cut: FindCut, sample_weight: Floats, **options: Any) -> HyperplaneTree:
        """Grow a tree on the rows of positive weight."""
        with one_blas_thread():
            rows, weights = with_weight(X, sample_weight)
            return grow(
                rows,
                find_cut,
                sample_weight=weights,
                n_clusters=options.pop("n_clusters", self.n_clusters),
                n_jobs=self.n_jobs,
                **options,
            )

    def _confirmed_cuts(
        self, whole: FromDirection, bandwidth: float, min_cluster_size: float, **options: Any
    ) -> ConfirmedCuts:
        """Return the search for cuts that held-out rows confirm, given that of the method on all rows."""
        numbers = self.significance, self._draw_seed(), bandwidth, min_cluster_size
        return ConfirmedCuts(whole, *numbers, n_jobs=self.n_jobs, **options)

    def _acceptance(self) -> dict[str, Any]:
        """Return the options of `grow` that keep a cut if it is accepted, or if a cut below it is."""

        def accept(cut: Cut, n_not_accepted: int) -> bool:
            return cut.p_value <= self.significance / self._shrink**n_not_accepted

        return {"accept": accept, "look_ahead": LOOK_AHEAD}

    def _least_size(self, total: float, tested: bool) -> float:
        if self.min_cluster_size != "auto":
            return float(self.min_cluster_size)
        return max(total / ROWS_PER_CLUSTER, 1.0) if tested else 1.0

    def _warn_if_short(self, remedy: str) -> None:
        if self.n_clusters is not None and self.n_clusters_ < self.n_clusters:
            warn_user(
                f"found {self.n_clusters_} of the {self.n_clusters} requested clusters, because no leaf can be split "
                f"further or a callback stopped the fit: {remedy}",
                ConvergenceWarning,
            )

    def _check_rows(self, X: ArrayLike) -> Matrix:
        return self._validate(X, reset=False, order=None)

    def _enter(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Matrix, Floats]:
        """Return the checked rows and weights of a fit."""
        rows = self._validate(X, reset=True, order="C")
        self._check_number(rows.shape[0])
        weights, reach = self._admit(rows, sample_weight)
        self._check_outliers(rows, weights, reach)
        return rows, weights

    def _check_number(self, n_rows: int) -> None:
        if self.n_clusters is not None and self.n_clusters > n_rows:
            raise ValueError(
                f"n_samples={n_rows} is fewer than n_clusters={self.n_clusters}: set n_clusters to at most {n_rows}"
            )

    def _html_repr(self) -> str:
        """Return the diagram of scikit-learn for a notebook; if the model is fitted, the tree follows below it."""
        diagram: str = super()._html_repr()
        if not is_fitted(self):
            return diagram
        return diagram + self.tree_.to_html(getattr(self, "feature_names_in_", None))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._accept_sparse)
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
