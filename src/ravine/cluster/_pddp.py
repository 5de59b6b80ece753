"""Principal direction divisive partitioning, and its density-enhanced form dePDDP.

Boley (1998) projects every node on its first principal component and cuts it at the mean. Tasoulis et al. (2010) cut at
the lowest antimode of the projected density instead. A valley test on held-out rows chooses the number of clusters. A
node costs a few passes over its rows.
"""

import sys
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ravine._lazy import public
from ravine._matrix import Floats, Matrix, Moments
from ravine._outofcore import ChunkedNode, chunks_of, is_out_of_core
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, N_JOBS, OUTLIERS, checked_order, fitting
from ravine.cluster._batch import BatchTreeClusterer
from ravine.cluster._fitted import FittedPDDP
from ravine.cluster._soft import ASSIGN_LABELS
from ravine.cuts._chunked import chunked_antimode_cut, chunked_directions, chunked_mean_cut
from ravine.cuts._principal import antimode_cut, mean_cut, principal_direction
from ravine.tree._chunked import FindChunkedCut
from ravine.tree._grow import ORDERS, FindCut, Order
from ravine.tree._scout import ConfirmedCuts


@public("ravine")
class PDDP(FittedPDDP, BatchTreeClusterer):
    """Divisive clustering along principal directions.

    The method projects every node on its first principal component. It cuts the node at the valley of the projected
    density (dePDDP), or at the mean (PDDP). It is fast and deterministic. It is also the baseline of the methods that
    search for a better direction.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. If None, it is chosen automatically, which needs ``criterion="density"``.
    criterion : {"density", "mean"}, default="density"
        Where to cut a node: at an antimode of the density, or at the mean. With "density", a node whose density has
        only one mode is not cut.
    selection : {"auto", "evidence", "elbow", "antimode"}, default="auto"
        How to choose the number of clusters if `n_clusters` is None. "evidence" keeps a cut if held-out rows confirm it
        or a cut below it; if they confirm none, there is one cluster. "elbow" takes the sharpest bend in the sum of
        squares (Hofmeyr 2020, eq. 22). "auto" uses the evidence. If no cut is confirmed, it uses the elbow, with a
        warning, but only if the rows are more clustered than rows without clusters; otherwise there is one cluster.
        "antimode" cuts every node that has an antimode, as published; expect many small clusters. Out-of-core data
        that does not fit in memory is divided by evidence or at antimodes.
    significance : float, default=0.05
        Significance level of the valley test at each node. Used only if `n_clusters` is None.
    bandwidth_factor : float, default=1.06
        Factor that multiplies the rule of thumb for the bandwidth: bandwidth_factor · σ n^(-1/5), where σ is the
        standard deviation of the projected rows of the node.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq"} or callable, default="auto"
        Which leaf is split next, see `ravine.tree.grow_on`. "auto" is "value", the lowest density at the cut, for
        ``criterion="density"``, and "sum_sq" for ``criterion="mean"``.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows, or total weight, on each side of a cut. "auto" is 1, or one row in 200 if the valley
        test chooses the number of clusters. In large data, the few rows that an earlier cut left on the wrong side
        can look like a cluster.
    max_depth : int or None, default=None
        Maximum depth of the tree. If None, there is no limit.
    assign_labels : {"auto", "tree", "mixture"}, default="tree"
        How rows are assigned to clusters. "tree" takes the leaf that a row reaches. "mixture" takes the likeliest
        component of a mixture of t distributions that is started from the leaves; it also gives `predict_proba` and
        `score_samples`. "auto" fits the mixture, and uses it for the labels if it moves at least one row in 1,000.
        Sparse data, and data with more than 2,048 columns, has no mixture.
    outliers : {"assign", "label"}, default="assign"
        "assign" assigns outliers to a cluster, "label" gives them the label -1. A row is an outlier if it is far
        from its component of the mixture, compared with most rows of this component. "label" needs a mixture: dense
        data, and another `assign_labels` than "tree".
    random_state : int, RandomState instance or None, default=0
        Controls the random halves of the rows that the valley test draws. Nothing else is random.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The tree of cuts. `p_value` is the p-value of each node that was tested.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, from 0 to ``n_clusters_ - 1``; -1 for outliers if ``outliers="label"``.
    n_clusters_ : int
        Number of clusters found.
    confirmed_ : int
        Number of cuts that held-out rows confirm.
    selection_ : {"asked", "evidence", "elbow", "antimode"}
        What determined the number of clusters; "asked" means that `n_clusters` was given.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    NCutH : Searches for the direction of each cut. It is the first choice.
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

    _reads_devices: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"density", "mean"})],
        "selection": [StrOptions({"auto", "evidence", "elbow", "antimode"})],
        "significance": [Interval(Real, 0, 1, closed="neither")],
        "bandwidth_factor": [FACTOR],
        "split_order": [StrOptions({"auto", *ORDERS}), callable],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "assign_labels": ASSIGN_LABELS,
        "outliers": OUTLIERS,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        criterion: Literal["density", "mean"] = "density",
        selection: Literal["auto", "evidence", "elbow", "antimode"] = "auto",
        significance: float = 0.05,
        bandwidth_factor: float = 1.06,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        assign_labels: Literal["auto", "tree", "mixture"] = "tree",
        outliers: Literal["assign", "label"] = "assign",
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
        self.assign_labels = assign_labels
        self.outliers = outliers
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tree of cuts to the data.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or frame, pyarrow dataset} of shape (n_samples, n_features)
            Training data. A CSR matrix is not converted to a dense array. A Dask collection or a pyarrow dataset is
            read out of core, see the guide on large data; `labels_` are then lazy for Dask, and not kept for files.
            An array on a CUDA device stays there, and so do `labels_`, see the guide on GPUs.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; in the valley test it counts as one row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self.criterion == "mean" and self.n_clusters is None:
            raise ValueError("criterion='mean' cannot choose n_clusters: set n_clusters, or use criterion='density'")
        tested = self.n_clusters is None and self.selection != "antimode"
        if is_out_of_core(X):
            with chunks_of(X, sample_weight, self.n_jobs, copied=True) as chunks:
                root = self._root_of_chunks(chunks)
                self._check_chunked_outlier(root)
                few = self._fetch_if_few(root)
                if few is None:
                    self._fit_chunks(X, root, tested)
            if few is not None:
                self._fit_rows(few.X, few.weights, tested)
                self._label_chunks(X)
        else:
            self._fit_rows(*self._enter(X, sample_weight), tested)
        if not tested:
            self._warn_if_short("a smaller bandwidth_factor finds more valleys, and criterion='mean' needs no valley")
        return self

    def _fit_rows(self, X: Matrix, weights: Floats, tested: bool) -> None:
        total = float(weights.sum())
        size = self._least_size(total, tested)
        find_any_cut = find_cut = self._find_cut(size, total)
        options: dict[str, Any] = {}
        if tested:
            find_cut, options = self._tested(size).find_cut, self._acceptance()
        self._grow(X, find_cut, weights, find_any_cut if tested else None, **self._options(size), **options)

    def _fit_chunks(self, X: Any, root: ChunkedNode, tested: bool) -> None:
        total = root.moments.count
        size = self._least_size(total, tested)
        find_cut, find_chunked_cut = self._find_cut(size, total), self._find_chunked_cut(size)
        options = self._options(size)
        if tested:
            cuts = self._tested(size)
            find_cut, options = cuts.find_cut, options | self._acceptance()
            find_chunked_cut = partial(cuts.find_chunked_cut, whole=principal_direction_of_chunks)
        self._grow_on_chunks(X, root, root, find_cut, find_chunked_cut, **options)

    def _options(self, min_cluster_size: float) -> dict[str, Any]:
        order = checked_order(self._order())
        return {"min_cluster_size": min_cluster_size, "max_depth": self.max_depth, "order": order}

    def _tested(self, min_cluster_size: float) -> ConfirmedCuts:
        scout = partial(principal_direction, n_jobs=self.n_jobs)

        def whole(X: Matrix, weights: Floats, moments: Moments, normal: Floats) -> Floats | None:
            return scout(X, weights, moments)

        # A principal component costs little, so all rows of a half are used. It often shows no valley where there are
        # many clusters, so there is always a look ahead.
        options: dict[str, Any] = {"scout": scout, "trial_rows": sys.maxsize, "hopeless": 1.0}
        return self._confirmed_cuts(whole, self.bandwidth_factor, min_cluster_size, **options)

    def _find_chunked_cut(self, min_cluster_size: float) -> FindChunkedCut:
        if self.criterion == "mean":
            return chunked_mean_cut
        return partial(chunked_antimode_cut, bandwidth=self.bandwidth_factor, min_cluster_size=min_cluster_size)

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


def principal_direction_of_chunks(node: ChunkedNode, normal: Floats) -> Floats | None:
    """Return the first principal direction of out-of-core data; None if it does not vary."""
    found = chunked_directions(node, 1)
    return found[0] if len(found) else None
