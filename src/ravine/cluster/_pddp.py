"""Principal direction divisive partitioning, and its density-enhanced form dePDDP.

Boley (1998) cuts every node at its mean across the first principal component. Tasoulis et al. (2010) cut at the lowest
antimode of the projected density instead. The number of clusters is decided by a valley test on held-out rows. A node
costs a few passes over its rows, seven times that with the test.
"""

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ravine._outofcore import is_out_of_core
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, N_JOBS, checked_order, fitting
from ravine.cluster._batch import BatchTreeClusterer
from ravine.cuts._chunked import chunked_antimode_cut, chunked_mean_cut, cut_with_sampled_evidence
from ravine.cuts._principal import antimode_cut, mean_cut, principal_direction
from ravine.tree._chunked import FindChunkedCut
from ravine.tree._grow import ORDERS, FindCut, Order


class PDDP(BatchTreeClusterer):
    """Divisive clustering along principal directions.

    Every node is projected on its first principal component and cut there: at the valley of the projected density
    (dePDDP), or at the mean (PDDP). Fast, deterministic, and the baseline of the methods that search for a better
    direction.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None lets the method decide, which needs ``criterion="density"``.
    criterion : {"density", "mean"}, default="density"
        Where to cut: at an antimode of the density, or at the mean. A node whose density has one mode is not cut.
    selection : {"evidence", "antimode"}, default="evidence"
        Which cuts to believe when the method decides on the number of clusters. "evidence": those whose valley is
        confirmed at the level `significance` on rows that did not choose it, and those above them. "antimode": every
        node with an antimode is cut, as published; expect many small clusters. With a given `n_clusters` there is
        nothing to select, and the lowest antimode is cut first, as published.
    significance : float, default=0.05
        Level of the test at each node.
    bandwidth_factor : float, default=1.06
        Factor of the bandwidth σ n^(-1/5), σ the standard deviation of the projected rows of the node.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq"} or callable, default="auto"
        Which leaf is cut next, see `ravine.tree.grow_on`. "auto": "value", the lowest density at the cut, for
        ``criterion="density"``, and "sum_sq" for ``criterion="mean"``.
    min_cluster_size : int or "auto", default="auto"
        A cut that leaves fewer rows (or less weight) on one side is not made. "auto" is 1, and one row in 500 where
        evidence decides: of many rows, a few that a cut above left on the wrong side look like a cluster.
    max_depth : int or None, default=None
        Most cuts above a cluster.
    random_state : int, RandomState instance or None, default=0
        Draws the halves of the valley test; nothing else is random.
    n_jobs : int or None, default=-1
        Threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The cuts, with a p-value for each node that was tested.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 to ``n_clusters_ - 1``.
    n_clusters_ : int
        Number of clusters found.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, where `X` had any.

    See Also
    --------
    NCutH : Searches for the direction of each cut; the first choice.
    ravine.plot.tree : Draws the tree.

    References
    ----------
    D. Boley, Principal direction divisive partitioning, Data Mining and Knowledge Discovery, 1998.

    S. Tasoulis, D. Tasoulis and V. Plagianakos, Enhancing principal direction divisive clustering, Pattern Recognition,
    2010.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(500, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = PDDP().fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict([[0.5, 8.5]]) == model.predict([[-0.5, 9.5]])
    array([ True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"density", "mean"})],
        "selection": [StrOptions({"evidence", "antimode"})],
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "bandwidth_factor": [FACTOR],
        "split_order": [StrOptions({"auto", *ORDERS}), callable],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        criterion: Literal["density", "mean"] = "density",
        selection: Literal["evidence", "antimode"] = "evidence",
        significance: float = 0.05,
        bandwidth_factor: float = 1.06,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.criterion = criterion
        self.selection = selection
        self.significance = significance
        self.bandwidth_factor = bandwidth_factor
        self.split_order = split_order
        self.min_cluster_size = min_cluster_size
        self.max_depth = max_depth
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or frame, pyarrow dataset} of shape (n_samples, n_features)
            A CSR matrix is not made dense. Rows of a Dask collection or of files stay where they are, see
            the guide on large data; `labels_` are then lazy, or not kept.
        y : Ignored
            Not used; it is there for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows; as evidence for a valley it counts as one.

        Returns
        -------
        self : object
            The fitted model.
        """
        if self.criterion == "mean" and self.n_clusters is None:
            raise ValueError("criterion='mean' never stops by itself: set n_clusters, or use criterion='density'")
        tested = self.criterion == "density" and self.n_clusters is None and self.selection == "evidence"
        if is_out_of_core(X):
            root = self._root_of_parts(X, sample_weight)
            options = self._options(root.moments.count, tested)
            few = self._fetch_if_few(root)
            if few is None:
                self._grow_on_chunks(X, root, find_chunked_cut=self._find_chunked_cut(options, tested), **options)
            else:
                self._grow(few.X, sample_weight=few.weights, **options)
                self._label_parts(X)
        else:
            rows, weights = self._enter(X, sample_weight)
            options = self._options(float(weights.sum()), tested)
            self._grow(rows, sample_weight=weights, **options)
        if not tested:
            self._warn_if_short("a smaller bandwidth_factor finds more valleys, criterion='mean' needs none")
        return self

    def _options(self, total: float, tested: bool) -> dict[str, Any]:
        """What the growth takes for rows of this weight."""
        size = self._least_size(total, tested)
        if tested:
            options = self._tested(partial(principal_direction, n_jobs=self.n_jobs), self.bandwidth_factor, size)
        else:
            options = {"find_cut": self._find_cut(size, total), "min_cluster_size": size}
        return {**options, "max_depth": self.max_depth, "order": checked_order(self._order())}

    def _find_chunked_cut(self, options: dict[str, Any], tested: bool) -> FindChunkedCut:
        size = options["min_cluster_size"]
        if tested:
            find_cut = options["find_cut"]
            return partial(
                cut_with_sampled_evidence, find_cut=find_cut, bandwidth=self.bandwidth_factor, min_cluster_size=size
            )
        if self.criterion == "mean":
            return chunked_mean_cut
        return partial(chunked_antimode_cut, bandwidth=self.bandwidth_factor, min_cluster_size=size)

    def _find_cut(self, min_cluster_size: float, total: float) -> FindCut:
        if self.criterion == "mean":
            return partial(mean_cut, n_jobs=self.n_jobs)
        return partial(
            antimode_cut, bandwidth=self.bandwidth_factor, min_cluster_size=min_cluster_size, n_jobs=self.n_jobs
        )

    def _order(self) -> Order:
        if self.split_order != "auto":
            return self.split_order
        return "sum_sq" if self.criterion == "mean" else "value"
