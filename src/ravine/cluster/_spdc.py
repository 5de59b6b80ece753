"""Streaming divisive clustering whose cuts move with every row: the baseline of Hofmeyr, Pavlidis and Eckley (2016)."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from ravine._lazy import public
from ravine._sklearn import Interval
from ravine.cluster._base import FACTOR, N_JOBS
from ravine.cluster._streaming import HSDCTreeClusterer
from ravine.tree._hsdc import HSDCSettings, HSDCTree
from ravine.tree._spdc import SPDCTree


@public("ravine")
class SPDC(HSDCTreeClusterer):
    """SPDC as published, for comparison: clustering of a data stream in which every row moves the cuts that it passes.

    This is a direct online form of dePDDP, after the description of SPDC (Tasoulis et al. 2012) in the paper on `HSDC`.
    Use `StreamClusterer` instead: in this method the cuts follow every change of the rows above them, no cut is tested,
    and drift is not reported.

    Parameters
    ----------
    n_intervals : int, default=50
        Number of intervals that summarize the rows of a node along its direction.
    bandwidth_factor : float, default=1.06
        Factor that multiplies the rule of thumb for the bandwidth: bandwidth_factor · σ n^(-1/5), where σ is the
        standard deviation along the direction of the node.
    min_samples_split : int, default=50
        Minimum number of rows in a leaf before it is split.
    on_event : callable ``(event) -> None``, optional
        Function that is called with every event when it happens. It is not saved with the model.
    random_state : int, RandomState instance or None, default=0
        Not used, since nothing in this method is random; present because every clusterer has it.
    n_jobs : int or None, default=-1
        Number of threads of `predict` and `transform`; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The current tree of cuts.
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
        Changes of the tree, in the order of the rows, as in `HSDC`. The kinds are "split", and "withdrawal" of a cut
        whose density no longer has an antimode. The last thousand events of each kind are kept.
    split_events_, drift_events_, withdrawal_events_ : list of dict
        Events of one kind. There are no drift events.
    n_events_ : dict of str to int
        Number of events so far, by kind.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    StreamClusterer : The method to use.

    References
    ----------
    S. Tasoulis, D. Tasoulis and V. Plagianakos, Clustering of high dimensional data streams, 2012.

    D. Hofmeyr, N. Pavlidis and I. Eckley, Divisive clustering of high dimensional data streams, Statistics and
    Computing, 2016.

    Examples
    --------
    >>> from ravine import SPDC
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(2000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> SPDC().partial_fit(X).n_clusters_ >= 3
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_intervals": [Interval(Integral, 4, 10_000, closed="both")],
        "bandwidth_factor": [FACTOR],
        "min_samples_split": [Interval(Integral, 1, None, closed="left")],
        "on_event": [callable, None],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        n_intervals: int = 50,
        bandwidth_factor: float = 1.06,
        min_samples_split: int = 50,
        on_event: Callable[[dict[str, Any]], None] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_intervals = n_intervals
        self.bandwidth_factor = bandwidth_factor
        self.min_samples_split = min_samples_split
        self.on_event = on_event
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _new_stream(self, n_features: int) -> HSDCTree:
        settings = HSDCSettings(
            n_intervals=int(self.n_intervals), min_samples_split=float(self.min_samples_split), max_forgetting=0.0
        )
        return SPDCTree(n_features, settings, float(self.bandwidth_factor))
