"""Divisive clustering in the projections where the rows are least connected (Hofmeyr 2016, ch. 3A).

A search on a node takes some tens of evaluations that cost the cube of `n_microclusters` and not the number of rows;
these are read for the microclusters and for the sides.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ravine._matrix import Floats, Matrix
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, checked_directions
from ravine.cluster._pursuit import PursuitClusterer
from ravine.cluster._saved import saved_fields
from ravine.cuts import Cut
from ravine.cuts._spectral import spectral_cut
from ravine.tree._grow import Order

N_COMPONENTS = {"orthogonal": 2, "correlated": 3}


class SpectralPursuit(PursuitClusterer):
    """Divisive clustering in the projections where the rows are least connected.

    The rows of a node, or microclusters that stand for them, are projected on a few directions and joined by
    similarities that fall with the distance there. The directions minimize λ₂, the second eigenvalue of the Laplacian
    of that graph, and its eigenvector parts the rows. On a plane the parts need not be separated by a straight line.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None lets the method decide: a node is cut while rows that did not choose the projection
        confirm a valley across it, at the level `significance`. The cuts are hyperplanes at the valleys then, whatever
        the projection.
    laplacian : {"normalized", "standard"}, default="normalized"
        Which graph Laplacian: SCₙP² or SCP².
    projection : {"orthogonal", "correlated"}, default="orthogonal"
        "orthogonal" searches for a plane, whose partition may bend. "correlated" searches from three directions that
        are drawn together to one, and cuts by a hyperplane.
    n_components : int or None, default=None
        Number of directions. None is 2 for an orthogonal and 3 for a correlated projection.
    margin : bool, default=False
        Halve the scale of the similarities until the directions stand still: cuts of large margin (LMSC).
    bandwidth_factor : float, default=1.0
        Factor of the bandwidth of the similarities, σ = bandwidth_factor · √l σ₁ n^(-1/5) for l directions, where σ₁ is
        the standard deviation along the first principal component of the node.
    n_microclusters : int, default=200
        Points that stand for the rows of a node in the search. With at least as many as rows nothing is approximated.
    init : {"pca"}, array-like of shape (n_components, n_features) or callable, default="pca"
        Directions from which to search: the first principal components of the node, given directions, or
        ``callable(rows) -> directions``.
    significance : float, default=0.05
        Level of the test at each node where the method decides on the number.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable, default="auto"
        Which leaf is cut next, see `ravine.tree.grow_on`. "auto": "size", the largest.
    min_cluster_size : int or "auto", default="auto"
        A cut that leaves fewer rows (or less weight) on one side is not made. "auto" is 1, and one row in 500 where
        the method decides on the number.
    max_depth : int or None, default=None
        Most cuts above a cluster.
    random_state : int, RandomState instance or None, default=0
        Draws the rows from which microclusters begin, and the halves of the valley test.
    n_jobs : int or None, default=-1
        Threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The cuts; `value` is λ₂, `surface` has what decides where a cut bends.
    approximation_bound_ : float
        How much λ₂ of the rows can differ at most from that of the microclusters at the end of a search, relatively,
        the largest over the searches of `fit`; 0 where each row was a microcluster. With `margin`, at the first scale.
        It is a worst case: numbers far above 1 are the rule with few microclusters.
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
    NCutH : Straight cuts by a similar objective; the first choice.
    SpectralPursuitClassifier : The same objective, with a few labels.

    References
    ----------
    D. Hofmeyr, N. Pavlidis and I. Eckley, Minimum spectral connectivity projection pursuit, Statistics and Computing,
    2019.

    Examples
    --------
    >>> from ravine import SpectralPursuit
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = SpectralPursuit(n_clusters=3).fit(X)
    >>> [int(n) for n in model.tree_.count[model.tree_.leaves]]
    [50, 65, 35]
    """

    _pair_cells: ClassVar[float] = 0  # a search is compiled but for moments, whatever the number of rows

    approximation_bound_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PursuitClusterer._parameter_constraints,
        "laplacian": [StrOptions({"standard", "normalized"})],
        "projection": [StrOptions(set(N_COMPONENTS))],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "bandwidth_factor": [FACTOR],
        "n_microclusters": [Interval(Integral, 2, None, closed="left")],
        "init": [StrOptions({"pca"}), "array-like", callable],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        laplacian: Literal["normalized", "standard"] = "normalized",
        projection: Literal["orthogonal", "correlated"] = "orthogonal",
        n_components: int | None = None,
        margin: bool = False,
        bandwidth_factor: float = 1.0,
        n_microclusters: int = 200,
        init: Literal["pca"] | ArrayLike | Callable[..., ArrayLike] = "pca",
        significance: float = 0.05,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.laplacian = laplacian
        self.projection = projection
        self.n_components = n_components
        self.margin = margin
        self.bandwidth_factor = bandwidth_factor
        self.n_microclusters = n_microclusters
        self.init = init
        self.significance = significance
        self.split_order = split_order
        self.min_cluster_size = min_cluster_size
        self.max_depth = max_depth
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, in memory. A CSR matrix is not made dense.
        y : Ignored
            Not used; it is there for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows; as evidence for a valley it counts as one.

        Returns
        -------
        self : object
            The fitted model.
        """
        return super().fit(X, y, sample_weight)

    def _fit_rows(self, X: Matrix, weights: Floats) -> None:
        self._bounds: list[float] = []
        super()._fit_rows(X, weights)
        self.approximation_bound_ = max(self._bounds, default=0.0)
        del self._bounds

    def _state(self, resume: bool) -> dict[str, Any]:
        return {**super()._state(resume), "approximation_bound": self.approximation_bound_}

    def _restore(self, state: dict[str, Any]) -> None:
        tree, labels, bound = saved_fields(state, "tree", "labels", "approximation_bound")
        if not isinstance(bound, float) or not bound >= 0:
            raise ValueError(f"field 'approximation_bound' is {bound!r}, not a number from 0 up")
        super()._restore({"tree": tree, "labels": labels})
        self.approximation_bound_ = bound

    def _init(self) -> Any:
        if isinstance(self.init, str):
            return self.n_components or N_COMPONENTS[self.projection]
        return checked_directions(self.init)

    def _cut_finder(self, min_cluster_size: float, total: float) -> Callable[..., Cut | None]:
        return partial(
            spectral_cut,
            normalized=self.laplacian == "normalized",
            correlated=self.projection == "correlated",
            scale=self.bandwidth_factor,
            margin=self.margin,
            n_microclusters=self.n_microclusters,
            balance=0.0 if self.n_clusters is None else total / (2 * self.n_clusters),
            seed=self._draw_seed(),
            on_bound=getattr(self, "_bounds", []).append,
        )

    def _order(self) -> Order:
        return "size" if self.split_order == "auto" else self.split_order
