"""What the methods share that grow their tree from all rows at once: a cluster can be cut further by hand."""

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from ravine._matrix import moments_of
from ravine.cluster._base import TreeClusterer
from ravine.tree._grow import FindCut


class BatchTreeClusterer(TreeClusterer, ABC):
    """A tree that is grown from rows in memory, or out of core, by a search for one cut after the other."""

    # scikit-learn takes every method of this name for one of its splitters, whose metadata it routes.
    __metadata_request__split: ClassVar[dict[str, str]] = {"node": UNUSED, "sample_weight": UNUSED}

    def split(self, node: int, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """A copy of this model in which the method has cut the cluster `node` in two; the original is unchanged.

        Parameters
        ----------
        node : int
            A leaf of ``tree_``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to find the cut with, those of `fit` as a rule; those that do not reach the node are left aside.
            `labels_` of the new model are theirs.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of these rows. Default: 1 for each.

        Returns
        -------
        model : estimator of the same class
            With one cluster more.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = NCutH(n_clusters=2).fit(X)
        >>> model.tree_.leaves
        array([1, 2])
        >>> np.bincount(model.split(2, X).labels_)
        array([50, 62, 38])
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        weights, _ = self._admit(rows, sample_weight)
        here = np.flatnonzero((self.tree_.apply(rows, self.n_jobs, check_input=False) == node) & (weights > 0))
        cut = None
        if len(here) > 1:
            X_node, w_node = rows[here], weights[here]
            moments = moments_of(X_node, w_node, self.n_jobs)
            cut = self._find_cut(1.0, float(weights.sum()))(X_node, w_node, moments)
        if cut is None:
            raise ValueError(f"no cut was found for node {node}: {len(here)} of the rows of X reach it")
        model = copy(self)
        model.tree_ = self.tree_.split(node, cut.beside_rows(moments), rows, weights)
        model.labels_ = model.tree_.predict(rows, self.n_jobs, check_input=False)
        return model

    @abstractmethod
    def _find_cut(self, min_cluster_size: float, total: float) -> FindCut:
        """The search for a cut of some rows; `total` is the weight of all rows."""
