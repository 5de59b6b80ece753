"""Base class of the methods that follow a stream: they learn rows as they come and have a tree and events any time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import ArrayLike

from ravine import _kernels
from ravine._matrix import LARGEST, Floats, Ints, Matrix
from ravine._schema import Array, Group, Sizes, State
from ravine._warnings import warn_user
from ravine.cluster._base import TreeClusterer, fitting, refuse_magnitude, uninterrupted
from ravine.tree import HyperplaneTree
from ravine.tree._check import TREE
from ravine.tree._coarser import nodes_in
from ravine.tree._hsdc import STREAM, HSDCTree
from ravine.tree._tree import restored

MOST_NAMED = 5
"""Maximum number of columns that a warning names; it counts the others."""

OnEvent = Callable[[dict[str, Any]], None]


class Follower(Protocol):
    """A tree that follows a stream."""

    n_features: int
    n_rows: int
    largest: float

    def learn(self, X: Any, on_event: OnEvent | None = None) -> None:
        """Learn the next rows."""

    def snapshot(self) -> tuple[HyperplaneTree, Ints]:
        """Return the current tree, and the identifier of each of its nodes."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """The most recent events, in their order."""

    @property
    def n_events(self) -> dict[str, int]:
        """Number of events so far, by kind."""


class StreamingTreeClusterer(TreeClusterer, ABC):
    """Base class of the estimators whose tree follows a stream."""

    _accept_sparse: ClassVar[str | bool] = False

    on_event: OnEvent | None

    _in_state: ClassVar[tuple[str, ...]] = ("_tree", "_stream")

    _stream: Any  # a Follower
    _tree: HyperplaneTree | None
    _ids: Ints
    _batch: Floats

    @abstractmethod
    def _new_stream(self, n_features: int) -> Follower:
        """Return a tree that has seen no rows."""

    @abstractmethod
    def _stream_state(self) -> State:
        """Return what must be saved of the stream, so that it can continue."""

    @abstractmethod
    def _restore_stream(self, state: State) -> None:
        """Restore a stream, after its state was checked."""

    def _look_at(self, rows: Matrix, is_all: bool) -> None:
        """Warn of rows that the method cannot handle well, before they are learned."""

    @fitting
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Reset the model, and learn these rows as a stream.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in the order of time.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in ("_stream", "_tree", "_batch"):
            self.__dict__.pop(name, None)
        self._learn(X, is_all=True)
        self.tree_  # noqa: B018 — built now, so that predict does not change the model
        return self

    @fitting
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the next rows of a stream. The result does not depend on the batches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The next rows, in the order of time.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The updated estimator.

        Examples
        --------
        >>> from ravine import StreamClusterer
        >>> from ravine.datasets import make_blobs
        >>> X, y = make_blobs(2000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
        >>> model = StreamClusterer()
        >>> [model.partial_fit(batch).n_clusters_ for batch in (X[:30], X[30:60], X[60:])]
        [1, 2, 3]
        >>> model.n_samples_seen_
        2000
        """
        return self._learn(X, is_all=False)

    def _learn(self, X: ArrayLike, is_all: bool) -> Self:
        first = not hasattr(self, "_stream")
        if first and getattr(self, "_tree", None) is not None and not hasattr(self, "_batch"):
            raise ValueError(
                "this model was saved without its stream and cannot learn further: save it with resume=True, or start "
                "again with fit"
            )
        rows = self._validate(X, reset=first, order="C")
        # The largest value of all rows so far: a batch of small values must be accepted if the stream has larger ones.
        largest = max(self._largest(rows), 0.0 if first else self._stream.largest)
        refuse_magnitude(largest)
        if first:
            self._stream = self._new_stream(rows.shape[1])
        self._look_at(rows, is_all)
        self._add(rows, largest)
        return self

    def _add(self, rows: Floats, largest: float) -> None:
        """Learn checked rows, given the largest absolute value of all rows so far."""
        with uninterrupted():
            self._stream.largest = largest
            self._stream.learn(rows, self.on_event)
            self._tree, self._batch = None, rows

    def _restore_point(self) -> dict[str, Any]:
        before = super()._restore_point()
        if self.on_event is not None and "_stream" in before:  # on_event may raise in the middle of a batch
            before["_stream"] = deepcopy(self._stream)
        return before

    @property
    def _n_features_learned(self) -> int:
        return self._stream.n_features if hasattr(self, "_stream") else self.tree_.n_features

    def _largest(self, X: Matrix) -> float:
        """Return the largest absolute value in the rows."""
        return max(*self._extremes(X), 0.0)

    def _check_rows(self, X: ArrayLike) -> Matrix:
        rows = super()._check_rows(X)
        if rows.size and (largest := self._largest(rows)) > LARGEST:  # small values are fine here, large ones are not
            refuse_magnitude(largest)
        return rows

    @property
    def tree_(self) -> HyperplaneTree:
        """The current tree of cuts."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit or partial_fit")
        if self._tree is None:
            self._tree, self._ids = self._stream.snapshot()
        return self._tree

    @tree_.setter
    def tree_(self, tree: HyperplaneTree) -> None:
        self._tree = tree

    @property
    def cluster_ids_(self) -> Ints:
        """Identifier of each cluster, in the order of the labels; a cluster keeps it as long as it exists."""
        tree = self.tree_  # building the tree updates the identifiers
        return self._ids[tree.leaves]

    @property
    def labels_(self) -> Ints:  # type: ignore[override]
        """Cluster of each row of `fit`, or of the last batch of `partial_fit`, in the current tree."""
        if not hasattr(self, "_batch"):
            raise AttributeError("there are no rows to label: call fit or partial_fit first")
        return self._placed(self.tree_.predict(self._batch, self.n_jobs, check_input=False))

    def _drop_labels(self) -> None:
        self.__dict__.pop("_batch", None)

    @property
    def _learned_in_batches(self) -> bool:
        return not hasattr(self, "_batch")  # rows of one batch are learned as `fit` would learn them

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        return self._stream.n_rows

    @property
    def events_(self) -> list[dict[str, Any]]:
        """Changes of the tree, in the order of the rows: the last thousand events of each kind."""
        return self._stream.events

    def _events_of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events_ if event["kind"] == kind]

    @property
    def n_events_(self) -> dict[str, int]:
        """Number of events so far, by kind."""
        return dict(self._stream.n_events)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream") or getattr(self, "_tree", None) is not None

    def _state(self, resume: bool) -> dict[str, Any]:
        tree, ids = self.tree_, self._ids
        stream = self._stream_state() if resume and hasattr(self, "_stream") else None
        return {"tree": tree.to_dict(), "ids": ids, "stream": stream}

    def _restore(self, state: State) -> None:
        self._tree, self._ids = restored(state["tree"]), state["ids"]
        if state["stream"] is not None:
            self._stream = self._new_stream(self.n_features_in_)
            self._restore_stream(state["stream"])

    def _with_coarser_tree(self, tree: HyperplaneTree) -> Self:
        model = deepcopy(self)  # both models may learn further, independently
        model._tree, model._ids = tree, self._ids[nodes_in(self.tree_, tree)]
        return model


class HSDCTreeClusterer(StreamingTreeClusterer, ABC):
    """Base class of the published methods, whose tree is a `HSDCTree`."""

    _schema: ClassVar[Group] = Group({"tree": TREE, "ids": Array("int64", ("n_nodes",)), "stream": STREAM})

    n_intervals: int

    _stream: HSDCTree

    @abstractmethod
    def _new_stream(self, n_features: int) -> HSDCTree:
        """Return a tree that has seen no rows."""

    def _look_at(self, rows: Matrix, is_all: bool) -> None:
        found = self._stream.repeats.look(rows, self._stream.n_rows + len(rows), is_all)
        if not found:
            return
        names = getattr(self, "feature_names_in_", None)
        named = [f"{j if names is None else repr(names[j])} ({what})" for j, what in found.items()]
        if len(named) > MOST_NAMED:
            named = [*named[:MOST_NAMED], f"and {len(named) - MOST_NAMED} more"]
        warn_user(
            f"values repeat in {'column' if len(found) == 1 else 'columns'} {', '.join(named)}: "
            f"{type(self).__name__} takes repeated values for clusters and may find far too many. "
            "Add noise of half the step, X + rng.uniform(-step / 2, step / 2, X.shape), or drop the column"
        )

    @property
    def node_ids_(self) -> Ints:
        """Identifier of each node of ``tree_``, as it is used in the events."""
        self.tree_  # noqa: B018 — building the tree updates the identifiers
        return self._ids

    @property
    def split_events_(self) -> list[dict[str, Any]]:
        """Events of the kind "split": new cuts."""
        return self._events_of("split")

    @property
    def drift_events_(self) -> list[dict[str, Any]]:
        """Events of the kind "drift": removed cuts whose valley had been confirmed."""
        return self._events_of("drift")

    @property
    def withdrawal_events_(self) -> list[dict[str, Any]]:
        """Events of the kind "withdrawal": removed cuts whose valley was never confirmed."""
        return self._events_of("withdrawal")

    def _stream_state(self) -> State:
        return self._stream.state()

    def _restore_stream(self, state: State) -> None:
        self._stream.restore(state)

    def _sizes(self) -> Sizes:
        n_numbers = {"n_cut_numbers": _kernels.hsdc.N_CUT, "n_sample_numbers": _kernels.intervals.N_ROWS}
        return {**super()._sizes(), **n_numbers, "n_slots": int(self.n_intervals) + 1}
