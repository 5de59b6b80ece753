"""Clustering of a stream for use: clusters are found, followed, and reported when they change.

The spine is that of Hofmeyr, Pavlidis and Eckley (2016): one pass, bounded memory, a tree of cuts in which a valley
that fills is noticed. Splits are confirmed on held-out rows, as in the batch methods. Each cluster is watched by bets
against the ranks of its rows (Shin, Ramdas and Rinaldo, E-detectors, 2023), and only what no longer fits is learned
again.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ravine._lazy import public
from ravine._matrix import LARGEST, SMALLEST, Floats
from ravine._schema import Array, Group, Sizes, State
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import N_JOBS
from ravine.cluster._streaming import StreamingTreeClusterer
from ravine.tree._check import TREE
from ravine.tree._stream import STREAM_TREE, StreamSettings, StreamTree, restore, sizes_of_stream, state_of


@public("ravine")
class StreamClusterer(StreamingTreeClusterer):
    """Clustering of a data stream that reports clusters that appear, vanish, move, merge or split.

    The model learns one row at a time, so the result does not depend on the batches. It scales the columns by itself
    and chooses the number of clusters. Every cluster keeps its most recent rows and an identifier. The cost of a row
    and the memory do not grow with the length of the stream.

    Parameters
    ----------
    significance : float, default=0.02
        Significance level of the valley test for a split. All tests of a cluster share it, however often it is tested.
    run_length : float, default=1e8
        Average number of rows between two false alarms of the whole model, if the stream does not change. With a
        smaller number, changes are noticed sooner.
    max_clusters : int, default=200
        Maximum number of clusters. It bounds the memory, together with `window_size`.
    window_size : int, default=2048
        Number of most recent rows that each cluster keeps. They describe the cluster and are tested for a split.
    dependence : "auto" or float, default="auto"
        Number of successive rows of a cluster that count as one. It is 1 for independent rows, and larger for a sensor
        whose readings change slowly. "auto" estimates it from the correlation of each row with the next one.
    on_event : callable ``(event) -> None``, optional
        Function that is called with every event when it happens. It is not saved with the model.
    random_state : int, RandomState instance or None, default=0
        Not used, since nothing in this method is random; present because every clusterer has it.
    n_jobs : int or None, default=-1
        Number of threads of `predict` and `transform`; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The current tree of cuts. A cluster counts all its rows since it was last learned; its mean and its sum of
        squares come from its recent rows. `p_value` is that of the valley test when the cut was made.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of `fit`, or of the last batch of `partial_fit`, in the current tree.
    cluster_ids_ : ndarray of shape (`n_clusters_`,)
        Identifier of each cluster, in the order of the labels. A cluster keeps its identifier when it moves, and also
        when it returns after it had vanished.
    n_clusters_ : int
        Current number of clusters, including those that vanished a short time ago.
    n_samples_seen_ : int
        Number of rows learned so far.
    events_ : list of dict
        What happened, in the order of the rows. The last thousand events of each kind are kept. Every event has `kind`,
        `row` (the number of the row after which it was reported, from 0), `since` (the row at which the change began,
        as far as it is known), `clusters` (identifiers), `text` (the event in words) and `number` (which counts all
        events). The kinds are "split": the cluster `node` became the new `clusters`, with the `p_value` of the valley
        test; "appeared": a new cluster; "vanished": no rows for far longer than ever before; "returned": rows again;
        "moved": the mean has shifted by `shift` standard deviations; "merged": the `clusters` are one, which keeps the
        first identifier; "drift": most clusters of a region changed at once and are learned again.
    n_events_ : dict of str to int
        Number of events so far, by kind.
    history_ : dict of ndarray
        Number of rows of each cluster over time, for a table or `ravine.plot.timeline`. The stream is divided into at
        most 512 bins of equal width, which doubles as the stream grows: `start` and `stop` are the first row of each
        bin and the row after its last one. `cluster_ids` are the identifiers of all clusters so far, in ascending
        order, and `counts` of shape (n_bins, n_ids) has their rows. A row counts for the cluster to which it was
        assigned when it came. If a new cluster turns out to be an old one that moved, or a part of another one, before
        it was reported, its rows count for that one. A cluster that merged keeps the rows from before. Of the clusters
        that are gone, the 128 with the most rows are listed, and all others are summed under the identifier -1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    IncrementalMDH : Finds better cuts in a stream that does not change.
    HSDC : The published method, for comparison.
    ravine.evaluation.evaluate : Scores a model on a stream.

    References
    ----------
    D. Hofmeyr, N. Pavlidis and I. Eckley, Divisive clustering of high dimensional data streams, Statistics and
    Computing, 2016.

    J. Shin, A. Ramdas and A. Rinaldo, E-detectors: a nonparametric framework for sequential change detection, New
    England Journal of Statistics in Data Science, 2023.

    Examples
    --------
    Three clusters. After 4,000 rows the first one moves.

    >>> from ravine import StreamClusterer
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(8000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> X[4000:] += 5 * (y[4000:, None] == 0)
    >>> model = StreamClusterer()
    >>> for start in range(0, 8000, 500):
    ...     model = model.partial_fit(X[start : start + 500])
    >>> model.n_clusters_
    3
    >>> for event in model.events_:
    ...     if event["row"] > 4000:
    ...         print(event["row"], event["text"])
    4223 cluster 4 has had no rows since row 3999
    4544 cluster 4 moved

    The rows of each cluster over time, as a table:

    >>> import pandas as pd
    >>> history = model.history_
    >>> table = pd.DataFrame(history["counts"], index=history["start"], columns=history["cluster_ids"])
    >>> print(table.groupby(table.index // 2048 * 2048).sum())
           0   1    2    3    4
    0     40  68  667  642  631
    2048   0   0  718  676  654
    4096   0   0  700  779  569
    6144   0   0  613  620  623
    """

    _schema: ClassVar[Group] = Group({"tree": TREE, "ids": Array("int64", ("n_nodes",)), "stream": STREAM_TREE})

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "run_length": [Interval(Real, 100, 1e15, closed="both")],
        "max_clusters": [Interval(Integral, 1, 100_000, closed="both")],
        "window_size": [Interval(Integral, 64, 1_000_000, closed="both")],
        "dependence": [Interval(Real, 1, 1e6, closed="both"), StrOptions({"auto"})],
        "on_event": [callable, None],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        significance: float = 0.02,
        run_length: float = 1e8,
        max_clusters: int = 200,
        window_size: int = 2048,
        dependence: float | str = "auto",
        on_event: Callable[[dict[str, Any]], None] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.significance = significance
        self.run_length = run_length
        self.max_clusters = max_clusters
        self.window_size = window_size
        self.dependence = dependence
        self.on_event = on_event
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _new_stream(self, n_features: int) -> StreamTree:
        settings = StreamSettings(
            significance=float(self.significance),
            run_length=float(self.run_length),
            max_clusters=int(self.max_clusters),
            window_size=int(self.window_size),
            dependence=None if isinstance(self.dependence, str) else float(self.dependence),
        )
        return StreamTree(n_features, settings)

    # One row at a time. The public methods spend far more time on checks, and on the tree, than on the row. These two
    # methods do the same without that work for a plain row, and call the public ones for any other: so there is one
    # place that says what is wrong with a row.

    def _learn_row(self, row: Floats) -> None:
        """Learn one row as `partial_fit` does; `row` is a C-contiguous float64 array of shape (1, n_features).

        The parameters are not checked again: the stream has its settings since the first row.
        """
        size = self._size_if_plain(row)
        if size is not None and self.on_event is None:  # on_event may raise, and the row must then be undone
            largest = max(size, self._stream.largest)
            if largest == 0 or largest >= SMALLEST:
                self._add(row, largest)
                return
        self.partial_fit(row)

    def _cluster_of_row(self, row: Floats) -> int:
        """Return ``cluster_ids_[predict(row)]`` of one row, as in `_learn_row`; the tree is not built."""
        if self._tree is None and self._size_if_plain(row) is not None:
            return self._stream.identity_of(row)
        label = self.predict(row)[0]
        return int(self.cluster_ids_[label])

    def _size_if_plain(self, row: Floats) -> float | None:
        """Return the largest absolute value of a row that needs no error message, and None for any other.

        The model has learned rows with as many columns, and no value is NaN or too large.
        """
        if not hasattr(self, "_stream") or not row.shape[1] == self.n_features_in_ == self._stream.n_features:
            return None
        size = float(np.maximum.reduce(np.abs(row[0])))
        return size if size <= LARGEST else None  # NaN is not <= LARGEST

    @property
    def history_(self) -> dict[str, Any]:
        """Number of rows of each cluster over time."""
        return self._with_stream().history.table()

    def _with_stream(self) -> StreamTree:
        """Return the tree that follows the stream; a model may have been saved without it."""
        check_is_fitted(self)
        if not hasattr(self, "_stream"):
            raise AttributeError("this model was saved without its stream: save it with resume=True")
        return self._stream

    def _stream_state(self) -> State:
        return state_of(self._stream)

    def _restore_stream(self, state: State) -> None:
        restore(self._stream, state)

    def _sizes(self) -> Sizes:
        return {**super()._sizes(), **sizes_of_stream(int(self.window_size))}
