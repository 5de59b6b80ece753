"""Streaming divisive clustering with drift detection (Hofmeyr, Pavlidis and Eckley 2016).

Every row passes once through a tree of cuts. A leaf is split when its rows show a second mode along their running
principal component. A cut is removed, together with everything below it, when its valley fills up; its node then starts
again as a leaf. The method needs no number of clusters, no window and no forgetting rate.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ravine._checks import numbers_of
from ravine._lazy import public
from ravine._sklearn import Interval
from ravine.cluster._base import N_JOBS
from ravine.cluster._streaming import HSDCTreeClusterer
from ravine.tree._hsdc import HSDCSettings, HSDCTree


@public("ravine")
class HSDC(HSDCTreeClusterer):
    """HSDC as published, for comparison: clustering of a data stream, with reports of when and where it drifts.

    Use `StreamClusterer` for a stream of your own. It finds groups that HSDC misses, and reports more kinds of changes.

    The model learns one row at a time, so the result does not depend on the batches. It does not keep the rows. The
    cost of a row does not grow with the length of the stream.

    Parameters
    ----------
    inherit : bool, default=False
        Whether the leaves below a new cut start with a direction that their parent has learned, as in HSDC(I) of the
        paper. The leaves are then split sooner in data with many columns.
    n_intervals : int, default=100
        Number of intervals that summarize the rows of a leaf along its direction.
    significance : float, default=0.05
        Significance level of the dip test for a second mode, which runs after each row; from 0.001 to 0.2.
    smoothing : float, default=0.9
        How slowly the forgetting rate follows the angles between successive directions of a leaf (γ of eq. 3).
    max_forgetting : float, default=0.5
        Maximum forgetting rate (Λ of eq. 3), below 1.
    min_samples_split : int, default=50
        Minimum number of rows in a leaf before it is split.
    min_weight : float, default=20.0
        Minimum weight of the rows of a leaf, after forgetting, before its first test. It is at least 10: with less
        weight, the dip of a few heavy rows has no meaning.
    inner_share : float, default=0.4
        Rows count as evidence against a cut if they lie within this share of the distance from the cut to its nearest
        mode (β of the paper).
    run_lengths : tuple of two floats, default=(1e8, 250.0)
        Average number of rows between the modes of a cut until the cut raises an alarm. It is at least the first number
        while the valley stays as it is. It is close to the second number once rows are as dense in the valley as
        elsewhere between the modes.
    on_event : callable ``(event) -> None``, optional
        Function that is called with every event when it happens. It is not saved with the model.
    random_state : int, RandomState instance or None, default=0
        Not used, since nothing in this method is random; present because every clusterer has it.
    n_jobs : int or None, default=-1
        Number of threads of `predict` and `transform`; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The current tree of cuts. Counts, means and sums of squares are those of the rows that each leaf has seen since
        it was created. `p_value` is the probability of seeing so few rows near a cut since it was made if there were no
        valley.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of `fit`, or of the last batch of `partial_fit`, in the current tree.
    cluster_ids_ : ndarray of shape (`n_clusters_`,)
        Identifier of each cluster, in the order of the labels. A cluster keeps its identifier as long as it exists.
    node_ids_ : ndarray of shape (n_nodes,)
        Identifier of each node of ``tree_``, as it is used in the events.
    n_clusters_ : int
        Current number of clusters.
    n_samples_seen_ : int
        Number of rows learned so far.
    events_ : list of dict
        Changes of the tree, in the order of the rows. The last thousand events of each kind are kept. Every event has
        `kind`, `row` (the number of the row in the stream, from 0), `node` (the identifier of the node) and `clusters`
        (the identifiers of the two clusters). There are three kinds. "split": `node` was split into the new `clusters`;
        `weight` is the weight of the rows that showed the valley. "drift": the cut of `node` was removed together with
        its `clusters`, although rows had confirmed its valley. "withdrawal": the cut was removed, and rows had never
        confirmed it. Both kinds of removal have `statistic` and `limit` of the CUSUM; `p0` and `p1`, the rate at which
        rows fell close to the cut and the rate without a valley; and `region`, the distance between the modes.
    split_events_, drift_events_, withdrawal_events_ : list of dict
        Events of one kind.
    n_events_ : dict of str to int
        Number of events so far, by kind.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    IncrementalMDH : Finds better cuts in a stream that does not drift.
    ravine.evaluation.evaluate : Scores a model on a stream.
    ravine.plot.stream : Draws the scores and the events.

    References
    ----------
    D. Hofmeyr, N. Pavlidis and I. Eckley, Divisive clustering of high dimensional data streams, Statistics and
    Computing, 2016.

    Examples
    --------
    >>> from ravine import HSDC
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(4000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = HSDC()
    >>> for start in range(0, 4000, 100):
    ...     model = model.partial_fit(X[start : start + 100])
    >>> model.n_clusters_
    3
    >>> moved, _ = make_blobs(2000, centers=[[4.5, 0], [9, 0], [0, 9]], random_state=2)
    >>> [event["kind"] for event in model.partial_fit(moved).drift_events_]
    ['drift']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "inherit": ["boolean"],
        "n_intervals": [Interval(Integral, 4, 10_000, closed="both")],
        "significance": [Interval(Real, 0.001, 0.2, closed="both")],
        "smoothing": [Interval(Real, 0, 1, closed="both")],
        "max_forgetting": [Interval(Real, 0, 1, closed="left")],
        "min_samples_split": [Interval(Integral, 1, None, closed="left")],
        "min_weight": [Interval(Real, 10, None, closed="left")],
        "inner_share": [Interval(Real, 0, 1, closed="neither")],
        "run_lengths": ["array-like"],
        "on_event": [callable, None],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        inherit: bool = False,
        n_intervals: int = 100,
        significance: float = 0.05,
        smoothing: float = 0.9,
        max_forgetting: float = 0.5,
        min_samples_split: int = 50,
        min_weight: float = 20.0,
        inner_share: float = 0.4,
        run_lengths: tuple[float, float] = (1e8, 250.0),
        on_event: Callable[[dict[str, Any]], None] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.inherit = inherit
        self.n_intervals = n_intervals
        self.significance = significance
        self.smoothing = smoothing
        self.max_forgetting = max_forgetting
        self.min_samples_split = min_samples_split
        self.min_weight = min_weight
        self.inner_share = inner_share
        self.run_lengths = run_lengths
        self.on_event = on_event
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _new_stream(self, n_features: int) -> HSDCTree:
        lengths = np.array(numbers_of(self.run_lengths, "run_lengths"))
        if lengths.shape != (2,) or not (np.isfinite(lengths).all() and (lengths > 1).all()):
            raise ValueError(f"run_lengths={self.run_lengths!r} must be two finite numbers of rows, each above 1")
        settings = HSDCSettings(
            inherit=bool(self.inherit),
            n_intervals=int(self.n_intervals),
            significance=float(self.significance),
            smoothing=float(self.smoothing),
            max_forgetting=float(self.max_forgetting),
            min_samples_split=float(self.min_samples_split),
            min_weight=float(self.min_weight),
            inner_share=float(self.inner_share),
            run_lengths=(float(lengths[0]), float(lengths[1])),
        )
        return HSDCTree(n_features, settings)
