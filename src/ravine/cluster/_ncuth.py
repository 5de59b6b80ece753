"""Divisive clustering by minimum normalized cut hyperplanes (Hofmeyr 2016, ch. 4).

The search on a node takes a few dozen evaluations of two passes each. In large nodes most evaluations use a sample of
the rows.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ravine._lazy import public
from ravine.cluster._base import FACTOR, checked_bandwidth
from ravine.cluster._pursuit import PursuitClusterer, RoughSearch
from ravine.cuts import Cut
from ravine.cuts._chunked import chunked_ncut_cut, finished_chunked_ncut
from ravine.cuts._cut import RoughCut
from ravine.cuts._ncut import finished_ncut, ncut_cut, rough_ncut_cut
from ravine.tree._chunked import FinishChunkedCut
from ravine.tree._grow import Order


@public("ravine")
class NCutH(PursuitClusterer):
    """Divisive clustering by minimum normalized cut hyperplanes.

    The method projects the rows of a node on a direction. The similarity of two projected rows is exp(-distance / σ).
    The direction and the position of the cut minimize the similarity across the cut, relative to the similarity within
    each side. The cuts are balanced and pass through regions of low density.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. If None, it is chosen automatically: a node is split as long as rows that were not used to
        find the direction confirm a valley along it, at the level `significance`.
    init : {"pca"}, int, array-like of shape (n_starts, n_features) or callable, default="pca"
        Directions from which the search starts. "pca" is the first principal component of the node, an integer is the
        number of principal components, an array holds the directions, and a function is called as
        ``callable(rows) -> directions``. The start that leads to the smallest NCut wins. From
        principal components, the search also starts from a single column, if its valley is stronger than that of the
        cut that was found. If `n_clusters` is None, "pca" and an integer leave the start to the scout of the valley
        test: the search on all rows starts from the direction that held-out rows have confirmed.
    bandwidth_factor : float or callable ``(deviation, count) -> σ``, default=100.0
        Factor that multiplies the rule of thumb for the bandwidth: σ = bandwidth_factor · σ₁ n^(-1/5), where σ₁ is the
        standard deviation along the first start. A function returns σ itself.
    margin : bool, default=False
        Whether to shrink the bandwidth until the partition no longer changes. This gives cuts with a large margin
        (NCutH₀), with at least a fifth of the node's rows on each side.
    selection : {"auto", "evidence", "elbow"}, default="auto"
        How to choose the number of clusters if `n_clusters` is None. "evidence" keeps a cut if held-out rows confirm it
        or a cut below it; if they confirm none, there is one cluster. "elbow" takes the sharpest bend in the sum of
        squares (Hofmeyr 2020, eq. 22). "auto" uses the evidence. If no cut is confirmed, it uses the elbow, with a
        warning, but only if the rows are more clustered than rows without clusters; otherwise there is one cluster.
        Out-of-core data that does not fit in memory is always divided by evidence.
    significance : float, default=0.05
        Significance level of the valley test at each node. Used only if `n_clusters` is None.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable, default="auto"
        Which leaf is split next, see `ravine.tree.grow_on`. "auto" is "value", the smallest NCut; with `margin` it is
        "size", the largest leaf.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows, or total weight, on each side of a cut. "auto" is 1, or one row in 200 if the valley
        test chooses the number of clusters.
    max_depth : int or None, default=None
        Maximum depth of the tree. If None, there is no limit.
    assign_labels : {"auto", "tree", "mixture"}, default="auto"
        How rows are assigned to clusters. "tree" takes the leaf that a row reaches. "mixture" takes the likeliest
        component of a mixture of t distributions that is started from the leaves; it also gives `predict_proba` and
        `score_samples`. "auto" fits the mixture, and uses it for the labels if it moves at least one row in 1,000.
        Sparse data, and data with more than 2,048 columns, has no mixture.
    outliers : {"assign", "label"}, default="assign"
        "assign" assigns outliers to a cluster, "label" gives them the label -1. A row is an outlier if it is far
        from its component of the mixture, compared with most rows of this component. "label" needs a mixture: dense
        data, and not ``assign_labels="tree"``.
    random_state : int, RandomState instance or None, default=0
        Controls the random halves of the rows that the valley test draws. Nothing else is random.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The tree of cuts. `value` is the NCut of each cut.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, from 0 to ``n_clusters_ - 1``; -1 for outliers if ``outliers="label"``.
    n_clusters_ : int
        Number of clusters found.
    confirmed_ : int
        Number of cuts that held-out rows confirm.
    selection_ : {"asked", "evidence", "elbow"}
        What determined the number of clusters; "asked" means that `n_clusters` was given.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are all strings.

    See Also
    --------
    MDH : Cuts where the density is lowest; also finds clusters of very different sizes.
    IncrementalMDH : The method for large data and for streams.
    ravine.plot.tree : Draws the tree.
    ravine.report.write : Explains the tree in one HTML file.

    References
    ----------
    D. Hofmeyr, Clustering by minimum cut hyperplanes, IEEE Transactions on Pattern Analysis and Machine Intelligence,
    2017.

    Examples
    --------
    >>> from ravine import NCutH
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = NCutH(n_clusters=3).fit(X)
    >>> print(model.tree_)
    HyperplaneTree: 3 clusters, 2 cuts, 4 features
    0: 150 rows, x2 (76%), x3 (13%)
    ├─ 1: 50 rows → cluster 0
    └─ 2: 100 rows, x2 (57%), x0 (26%)
       ├─ 3: 62 rows → cluster 1
       └─ 4: 38 rows → cluster 2

    Without `n_clusters`, the model makes the cuts that held-out rows confirm.

    >>> NCutH().fit(X).n_clusters_
    2

    A row that is far from its cluster gets the label -1 if ``outliers="label"``.

    >>> NCutH(outliers="label").fit(X).predict([[5.0, 3.4, 1.5, 0.2], [50.0, 3.4, 1.5, 0.2]])
    array([ 1, -1])
    """

    _reads_devices: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PursuitClusterer._parameter_constraints,
        "bandwidth_factor": [FACTOR, callable],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        init: Literal["pca"] | int | ArrayLike | Callable[..., ArrayLike] = "pca",
        bandwidth_factor: float | Callable[[float, float], float] = 100.0,
        margin: bool = False,
        selection: Literal["auto", "evidence", "elbow"] = "auto",
        significance: float = 0.05,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        assign_labels: Literal["auto", "tree", "mixture"] = "auto",
        outliers: Literal["assign", "label"] = "assign",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.bandwidth_factor = bandwidth_factor
        self.margin = margin
        self.selection = selection
        self.significance = significance
        self.split_order = split_order
        self.min_cluster_size = min_cluster_size
        self.max_depth = max_depth
        self.assign_labels = assign_labels
        self.outliers = outliers
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cut_finder(self, min_cluster_size: float, total: float) -> Callable[..., Cut | None]:
        return partial(ncut_cut, scale=self._scale(), margin=self.margin, min_cluster_size=min_cluster_size)

    def _column_options(self) -> dict[str, Any]:
        return {}

    def _rough_search(self, min_cluster_size: float) -> RoughSearch | None:
        if self.margin:
            return None
        return partial(rough_ncut_cut, scale=self._scale(), min_cluster_size=min_cluster_size), finished_ncut

    def _chunked_cut_finder(self, min_cluster_size: float) -> Callable[..., Cut | RoughCut[Any] | None]:
        if self.margin:
            raise ValueError("margin=True needs in-memory data: use margin=False for a Dask collection or files")
        return partial(chunked_ncut_cut, scale=self._scale(), min_cluster_size=min_cluster_size)

    def _scale(self) -> Any:
        return checked_bandwidth("bandwidth_factor", self.bandwidth_factor)

    def _chunked_finisher(self) -> FinishChunkedCut:
        return finished_chunked_ncut

    def _order(self) -> Order:
        if self.split_order != "auto":
            return self.split_order
        return "size" if self.margin else "value"
