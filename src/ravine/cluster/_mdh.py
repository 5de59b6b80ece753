"""Divisive clustering by minimum density hyperplanes (Hofmeyr 2016, ch. 2; Pavlidis, Hofmeyr and Tasoulis 2016).

A search on a node of n rows takes some tens of evaluations of two passes each, most of them on a sample where n is
large, for each start and each α.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ravine._checks import numbers_of
from ravine.cluster._base import FACTOR, checked_bandwidth
from ravine.cluster._pursuit import PursuitClusterer
from ravine.cuts import Cut
from ravine.cuts._chunked import chunked_density_cut, finished_chunked_density_cut
from ravine.cuts._mdh import finished_density_cut, minimum_density_cut
from ravine.tree._chunked import FinishChunkedCut
from ravine.tree._grow import FinishCut, Order


class MDH(PursuitClusterer):
    """Divisive clustering by the hyperplanes on which the density is least.

    The rows of a node are projected on a direction, and cut where the density of the projections is lowest near their
    mean. The direction is the one where that density is least.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None lets the method decide: a node is cut while rows that did not choose the direction
        confirm a valley on it, at the level `significance`.
    init : {"pca"}, int, array-like of shape (n_starts, n_features) or callable, default=2
        Directions from which to search: the first principal component of the node, so many of the first ones, given
        directions, or ``callable(rows) -> directions``. The deepest valley wins.
    bandwidth_factor : float or callable ``(deviation, count) -> h``, default=0.9
        Factor of the bandwidth h = bandwidth_factor · σ₁ n^(-1/5), where σ₁ is the standard deviation along the first
        start. A function returns h itself.
    alphas : sequence of float, default=(0.0, 0.9)
        How far from the mean the cut may lie, in standard deviations, one search after the other. The last cut that is
        a minimum of the density is kept.
    margin : bool, default=False
        Shrink the bandwidth until the partition stands still: cuts of large margin.
    significance : float, default=0.05
        Level of the test at each node where the method decides on the number.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable, default="auto"
        Which leaf is cut next, see `ravine.tree.grow_on`. "auto": "sum_sq_depth", much scatter and a deep valley.
    min_cluster_size : int or "auto", default="auto"
        A cut that leaves fewer rows (or less weight) on one side is not made. "auto" is 1, and one row in 500 where
        the method decides on the number.
    max_depth : int or None, default=None
        Most cuts above a cluster.
    random_state : int, RandomState instance or None, default=0
        Draws the halves of the valley test; nothing else is random.
    n_jobs : int or None, default=-1
        Threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The cuts; `value` is the density on them, `relative_depth` the depth of their valleys.
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
    NCutH : Balanced cuts; faster.
    IncrementalMDH : For many rows, and for streams.
    MDHClassifier : The same objective, with a few labels.

    References
    ----------
    N. Pavlidis, D. Hofmeyr and S. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research, 2016.

    Examples
    --------
    >>> from ravine import MDH
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = MDH().fit(X)
    >>> [int(n) for n in model.tree_.count[model.tree_.leaves]]
    [50, 100]

    The p-value of the valley at the one cut, on rows that did not choose it, is far below `significance`.

    >>> bool(model.tree_.p_value[0] < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PursuitClusterer._parameter_constraints,
        "bandwidth_factor": [FACTOR, callable],
        "alphas": ["array-like"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        init: Literal["pca"] | int | ArrayLike | Callable[..., ArrayLike] = 2,
        bandwidth_factor: float | Callable[[float, float], float] = 0.9,
        alphas: Sequence[float] = (0.0, 0.9),
        margin: bool = False,
        significance: float = 0.05,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.bandwidth_factor = bandwidth_factor
        self.alphas = alphas
        self.margin = margin
        self.significance = significance
        self.split_order = split_order
        self.min_cluster_size = min_cluster_size
        self.max_depth = max_depth
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cut_finder(self, min_cluster_size: float, total: float) -> Callable[..., Cut | None]:
        return partial(minimum_density_cut, bandwidth=self._bandwidth(), alphas=self._alphas(), margin=self.margin)

    def _chunked_cut_finder(self, min_cluster_size: float) -> Callable[..., Cut | None]:
        if self.margin:
            raise ValueError("margin=True needs the rows in memory: leave it out for a Dask collection or files")
        return partial(chunked_density_cut, bandwidth=self._bandwidth(), alphas=self._alphas())

    def _bandwidth(self) -> Any:
        return checked_bandwidth("bandwidth_factor", self.bandwidth_factor)

    def _alphas(self) -> list[float]:
        alphas = numbers_of(self.alphas, "alphas")
        if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
            raise ValueError(f"alphas={self.alphas!r}: give at least one number, none negative, from small to large")
        return alphas

    def _finishers(self) -> tuple[FinishCut, FinishChunkedCut]:
        return partial(finished_density_cut, n_jobs=self.n_jobs), finished_chunked_density_cut

    def _order(self) -> Order:
        return "sum_sq_depth" if self.split_order == "auto" else self.split_order
