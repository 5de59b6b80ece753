"""Divisive clustering in the projections where the rows are least connected (Hofmeyr 2016, ch. 3A).

The search on a node takes a few dozen evaluations. Each costs the cube of `n_microclusters` and does not depend on the
number of rows. The rows are read only to build the microclusters and to assign the rows to the two sides.
"""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ravine._lazy import public
from ravine._matrix import Floats, Matrix
from ravine._schema import Group, Number, State
from ravine._sklearn import Interval, StrOptions
from ravine.cluster._base import FACTOR, checked_directions
from ravine.cluster._fitted import LABELED_TREE
from ravine.cluster._pursuit import PursuitClusterer
from ravine.cuts import Cut
from ravine.cuts._spectral import spectral_cut
from ravine.tree._grow import Order

N_COMPONENTS = {"orthogonal": 2, "correlated": 3}
"""Default number of directions for each kind of projection."""

SAVED = Group(
    {**LABELED_TREE.fields, "approximation_bound": Number((float, np.float64), low=0, high=np.inf)},
    LABELED_TREE.relations,
)


@public("ravine")
class SpectralPursuit(PursuitClusterer):
    """Divisive clustering in the projections where the rows are least connected.

    The method projects the rows of a node, or microclusters that represent them, on a few directions. The projected
    points form a graph whose similarities decrease with the distance. The directions minimize λ₂, the second eigenvalue
    of the Laplacian of that graph. Its eigenvector splits the rows in two. In a projection on a plane, the boundary
    between the two sides need not be a straight line.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. If None, it is chosen automatically: a node is split as long as rows that were not used to
        find the projection confirm a valley across it, at the level `significance`. The cuts are then hyperplanes at
        the valleys, for both kinds of projection.
    laplacian : {"normalized", "standard"}, default="normalized"
        Which graph Laplacian to use: "normalized" gives SCₙP², "standard" gives SCP².
    projection : {"orthogonal", "correlated"}, default="orthogonal"
        "orthogonal" searches for a plane, in which the boundary may bend. "correlated" starts from three directions
        that are pulled together into one, and cuts by a hyperplane.
    n_components : int or None, default=None
        Number of directions. None is 2 for an orthogonal projection and 3 for a correlated one.
    margin : bool, default=False
        Whether to halve the bandwidth until the directions no longer change. This gives cuts with a large margin
        (LMSC).
    bandwidth_factor : float, default=1.0
        Factor that multiplies the rule of thumb for the bandwidth: σ = bandwidth_factor · √l σ₁ n^(-1/5) for l
        directions, where σ₁ is the standard deviation along the first principal component of the node.
    n_microclusters : int, default=200
        Number of microclusters that represent the rows of a node in the search. If it is at least the number of rows,
        the search uses no approximation.
    init : {"pca"}, array-like of shape (n_components, n_features) or callable, default="pca"
        Directions from which the search starts. "pca" takes the first principal components of the node, an array holds
        the directions, and a function is called as ``callable(rows) -> directions``.
    selection : {"auto", "evidence", "elbow"}, default="auto"
        How to choose the number of clusters if `n_clusters` is None. "evidence" keeps a cut if held-out rows confirm it
        or a cut below it; if they confirm none, there is one cluster. "elbow" takes the sharpest bend in the sum of
        squares (Hofmeyr 2020, eq. 22). "auto" uses the evidence. If no cut is confirmed, it uses the elbow, with a
        warning, but only if the rows are more clustered than rows without clusters; otherwise there is one cluster.
        Out-of-core data that does not fit in memory is always divided by evidence.
    significance : float, default=0.05
        Significance level of the valley test at each node. Used only if `n_clusters` is None.
    split_order : {"auto", "size", "value", "relative_depth", "sum_sq", "sum_sq_depth"} or callable, default="auto"
        Which leaf is split next, see `ravine.tree.grow_on`. "auto" is "size": the largest leaf.
    min_cluster_size : int or "auto", default="auto"
        Minimum number of rows, or total weight, on each side of a cut. "auto" is 1, or one row in 200 if the valley
        test chooses the number of clusters.
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
        Controls the random rows from which the microclusters start, and the random halves of the rows that the valley
        test draws.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    tree_ : HyperplaneTree
        The tree of cuts. `value` is λ₂ of each cut; `surface` describes the cuts that bend.
    approximation_bound_ : float
        Upper bound on the relative difference between λ₂ of the rows and λ₂ of the microclusters at the end of a
        search. It is the largest bound over all searches of `fit`, and 0 if each row was a microcluster. With `margin`,
        it is the bound at the first bandwidth. The bound is a worst case: with few microclusters, values far above 1
        are normal.
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
    NCutH : Straight cuts by a similar objective. It is the first choice.
    SpectralPursuitClassifier : The same objective for data with a few labels.

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

    _schema: ClassVar[Group] = SAVED
    _pair_cells: ClassVar[float] = 0  # all of a search but the moments is compiled, for any number of rows

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
        selection: Literal["auto", "evidence", "elbow"] = "auto",
        significance: float = 0.05,
        split_order: Literal["auto"] | Order = "auto",
        min_cluster_size: int | Literal["auto"] = "auto",
        max_depth: int | None = None,
        assign_labels: Literal["auto", "tree", "mixture"] = "tree",
        outliers: Literal["assign", "label"] = "assign",
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
        self.selection = selection
        self.significance = significance
        self.split_order = split_order
        self.min_cluster_size = min_cluster_size
        self.max_depth = max_depth
        self.assign_labels = assign_labels
        self.outliers = outliers
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tree of cuts to the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, in memory. A CSR matrix is not converted to a dense array.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows; in the valley test it counts as one row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight)

    def _fit_rows(self, X: Matrix, weights: Floats) -> None:
        self._bounds: list[float] = []
        super()._fit_rows(X, weights)
        self.approximation_bound_ = max(self._bounds, default=0.0)
        del self._bounds

    def _state(self, resume: bool) -> dict[str, Any]:
        return {**super()._state(resume), "approximation_bound": self.approximation_bound_}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.approximation_bound_ = state["approximation_bound"]

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
