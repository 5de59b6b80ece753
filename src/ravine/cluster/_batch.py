"""Base class of the methods that grow their tree from all rows at once; a user can split a cluster further."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from ravine._matrix import Floats, Matrix, moments_of
from ravine._outofcore import ChunkedNode
from ravine.cluster._base import one_blas_thread
from ravine.cluster._number import SEED
from ravine.cluster._soft import SoftTreeClusterer
from ravine.tree import HyperplaneTree
from ravine.tree._chunked import ChunkedRows, FindChunkedCut, FinishChunkedCut, with_counts_of_chunks
from ravine.tree._derived import with_counts_of
from ravine.tree._grow import FindCut, grow_on
from ravine.tree._prune import cut_to_elbow
from ravine.tree._sampled import elbow_leaves


class BatchTreeClusterer(SoftTreeClusterer, ABC):
    """Base class of the estimators that grow a tree one cut at a time, in memory or out of core."""

    # scikit-learn treats every method with this name as one of its splitters, and routes metadata to it.
    __metadata_request__split: ClassVar[dict[str, str]] = {"node": UNUSED, "sample_weight": UNUSED}

    def split(self, node: int, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Return a copy of the fitted model in which the cluster `node` is split in two; the original is unchanged.

        Parameters
        ----------
        node : int
            A leaf of ``tree_``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to find the cut with, usually those of `fit`. Rows that do not reach the node are ignored. The new
            model has the `labels_` of these rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. Default: 1 for each.

        Returns
        -------
        model : estimator of the same class
            Fitted model with one more cluster.

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
        array([50, 47, 53])
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        weights, _ = self._admit(rows, sample_weight)
        here = np.flatnonzero((self.tree_.apply(rows, self.n_jobs, check_input=False) == node) & (weights > 0))
        cut = None
        if len(here) > 1:
            X_node, w_node = self._searched(rows, weights)[here], weights[here]
            moments = moments_of(X_node, w_node, self.n_jobs)
            cut = self._find_cut(1.0, float(weights.sum()))(X_node, w_node, moments)
        if cut is None:
            raise ValueError(
                f"no cut was found for node {node}, which {len(here)} rows of X reach: pass a leaf of "
                "tree_, and rows that reach it and differ"
            )
        model = copy(self)
        model.tree_ = self._refined(self.tree_.split(node, cut.beside_rows(moments), rows, weights), rows, weights)
        model.labels_ = model.tree_.predict(rows, self.n_jobs, check_input=False)
        return model

    def _grow(
        self, X: Matrix, find_cut: FindCut, sample_weight: Floats, find_any_cut: FindCut | None = None, **options: Any
    ) -> None:
        """Grow the tree, notify the callbacks of every cut, and store the result.

        `find_any_cut` finds a cut without a test. It is needed if the elbow may choose the number of clusters.
        """
        searched = self._searched(X, sample_weight)
        with self._progress_of_cuts(X) as on_split:
            options["on_split"] = on_split
            if find_any_cut is None or self.n_clusters is not None or self.selection == "evidence":
                tree = self._grown(searched, find_cut, sample_weight, **options)
            elif self.selection == "elbow":
                tree = self._grown_to_elbow(searched, find_any_cut, sample_weight, **options)
            else:
                tree = self._grown(searched, find_cut, sample_weight, **options)
                if tree.n_clusters == 1 and self._may_use_elbow(X, sample_weight, SEED):
                    tree = self._grown_to_elbow(searched, find_any_cut, sample_weight, **options)
            if searched is not X:
                tree = with_counts_of(tree, X, sample_weight, n_jobs=self.n_jobs)
            self.tree_ = self._refined(tree, X, sample_weight)
            self.labels_ = self.tree_.predict(X, self.n_jobs, check_input=False)

    def _searched(self, X: Matrix, weights: Floats) -> Matrix:
        """Return the rows in which cuts are searched: those of `fit`, or a copy in which far cells are moved in."""
        return X

    def _grown_to_elbow(self, X: Matrix, find_cut: FindCut, weights: Floats, **options: Any) -> HyperplaneTree:
        """Grow a tree without tests, and cut it back to the elbow of its sums of squares."""
        n_leaves = elbow_leaves(int((weights > 0).sum()))
        kept = {name: options[name] for name in ("max_depth", "pair_cells", "on_split") if name in options}
        return cut_to_elbow(self._grown(X, find_cut, weights, n_clusters=n_leaves, order="sum_sq", **kept))[0]

    def _grow_on_chunks(
        self,
        X: Any,
        root: ChunkedNode,
        searched: ChunkedNode,
        find_cut: FindCut,
        find_chunked_cut: FindChunkedCut,
        finish_chunked_cut: FinishChunkedCut | None = None,
        **options: Any,
    ) -> None:
        """Grow the tree on out-of-core data, as `_grow` does in memory; cuts are searched in the rows of `searched`."""
        with self._progress_of_cuts(X) as on_split, one_blas_thread():
            rows = ChunkedRows(searched, find_cut, find_chunked_cut, finish_chunked_cut)
            tree = grow_on(rows, n_clusters=self.n_clusters, on_split=on_split, n_jobs=self.n_jobs, **options)
            if searched is not root:
                root = ChunkedNode.root(root.whole.chunks)
                tree = with_counts_of_chunks(tree, root)
            self.tree_ = self._refined_on_chunks(tree, root)
        self._label_chunks(X)

    @abstractmethod
    def _find_cut(self, min_cluster_size: float, total: float) -> FindCut:
        """Return the function that finds a cut of some rows; `total` is the weight of all rows."""
