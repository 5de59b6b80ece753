"""Base class of the tree methods that can also assign rows to clusters by a mixture."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine._checks import checked_weights
from ravine._matrix import Floats, Matrix, with_weight
from ravine._outofcore import ChunkedNode, Chunks, is_out_of_core
from ravine._reservoir import content_rows, merge_copies
from ravine._sklearn import StrOptions, is_fitted
from ravine._warnings import warn_user
from ravine.cluster._arrays import answering, on_host
from ravine.cluster._base import one_blas_thread
from ravine.cluster._chunked_predict import by_chunks
from ravine.cluster._fitted import check_that_outliers_have_a_mixture
from ravine.cluster._number import SEED, EvidenceTreeClusterer
from ravine.tree import HyperplaneTree
from ravine.tree._derived import with_mixture
from ravine.tree._mixture import MOST_COLUMNS, fit_mixture, sample_size, with_limit
from ravine.tree._text import shares_of_cuts

ASSIGN_LABELS = [StrOptions({"auto", "tree", "mixture"})]
"""Constraint of the parameter `assign_labels`."""


def _has_mixture(model: "SoftTreeClusterer") -> bool:
    """Whether the model is fitted and has a mixture."""
    return is_fitted(model) and model.tree_.mixture is not None


def _can_score(model: "SoftTreeClusterer") -> bool:
    """Whether the model has a mixture, or may have one after its fit: a search asks for `score` before it fits."""
    if not is_fitted(model):
        return model.assign_labels != "tree"
    model.tree_._required_mixture()
    return True


class SoftTreeClusterer(EvidenceTreeClusterer):
    """Base class of the tree methods with memberships, densities and boundaries by a mixture."""

    assign_labels: str = "tree"  # of a method without this parameter
    outliers: str = "assign"  # of a method without this parameter

    @available_if(_has_mixture)
    @answering
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Compute the probability that each row belongs to each cluster, by the mixture.

        A model that is not fitted, or has no mixture, does not have this method.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. A Dask collection or a pyarrow dataset is read block by block.

        Returns
        -------
        probability : ndarray of shape (n_samples, `n_clusters_`)
            Each row adds up to 1. Lazy for a Dask collection.

        Examples
        --------
        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> model.predict_proba(X[[0, 77, 120]]).round(2)
        array([[1.  , 0.  , 0.  ],
               [0.  , 0.68, 0.32],
               [0.  , 0.  , 1.  ]])
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return by_chunks(self, "predict_proba", X, self.n_clusters_, np.float64)
        return self.tree_.membership(self._check_rows(X), self.n_jobs, check_input=False)

    @available_if(_has_mixture)
    @answering
    def score_samples(self, X: ArrayLike) -> Floats:
        """Compute the logarithm of the density of the mixture at each row: how typical a row is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`. A Dask collection or a pyarrow dataset is read block by block.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Smaller for rows far from all clusters. It depends on the units of the columns. Lazy for a Dask collection.

        Examples
        --------
        A row that is like none of the others:

        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = NCutH(n_clusters=3).fit(X)
        >>> bool(model.score_samples([[9, 9, 9, 9]]) < model.score_samples(X).min())
        True
        """
        check_is_fitted(self)
        if is_out_of_core(X):
            return by_chunks(self, "score_samples", X, None, np.float64)
        return self.tree_.log_density(self._check_rows(X), self.n_jobs, check_input=False)

    @available_if(_can_score)
    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Compute the mean log density of some rows, for instance of held-out rows in GridSearchCV.

        A model with ``assign_labels="tree"`` does not have this method, nor has a fitted model without a mixture.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. A row of weight 2 counts as two rows.

        Returns
        -------
        score : float
            Mean of `score_samples`. Larger is better. If the mixture does not describe all columns, because some have
            hardly more than two values, one normal distribution for each of these columns is added, so that models
            that describe different columns can be compared.

        Examples
        --------
        Three clusters describe the other half of the flowers better than one:

        >>> from ravine import NCutH
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> [round(NCutH(n_clusters=k).fit(X[::2]).score(X[1::2]), 2) for k in (1, 2, 3)]
        [-2.67, -1.95, -1.72]
        """
        density = np.asarray(on_host(self._log_density_of_all_columns(X)))
        return float(np.average(density, weights=checked_weights(on_host(sample_weight), len(density))))

    @answering
    def _log_density_of_all_columns(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        if is_out_of_core(X):
            return by_chunks(self, "_log_density_of_all_columns", X, None, np.float64)
        rows = self._check_rows(X)
        return self.tree_.log_density(rows, self.n_jobs, check_input=False) + self.tree_._log_density_beside(rows)

    @property
    def cluster_centers_(self) -> Floats:
        """Mean of each cluster: of its components in the mixture, or of its rows if there is no mixture."""
        tree = self.tree_
        return tree.mean[tree.leaves] if tree.mixture is None else tree.mixture.cluster_moments()[1]

    @property
    def covariances_(self) -> Floats:
        """Covariance matrix of each cluster in the mixture."""
        if self.tree_.mixture is None:
            raise AttributeError("there are no covariances, because the model has no mixture: see assign_labels")
        return self.tree_.mixture.cluster_moments()[2]

    def _refined(self, tree: HyperplaneTree, X: Matrix, weights: Floats) -> HyperplaneTree:
        """Return the tree with a mixture that is fitted to a sample of the rows, if `assign_labels` asks for one."""
        if not self._can_refine(X):
            return tree
        size = sample_size(tree.n_clusters, X.shape[1])
        return self._refined_by(tree, *content_rows(X, weights, size, SEED, self.n_jobs))

    def _refined_on_chunks(self, tree: HyperplaneTree, root: ChunkedNode) -> HyperplaneTree:
        """Do the same for out-of-core data, whose sample takes one more pass."""
        if self.assign_labels == "tree" or root.whole.chunks.n_features > MOST_COLUMNS:
            return tree
        drawn = root.draw(sample_size(tree.n_clusters, tree.n_features), SEED)
        return self._refined_by(tree, drawn.X, drawn.weights)

    def _can_refine(self, X: Matrix) -> bool:
        return self.assign_labels != "tree" and not sparse.issparse(X) and X.shape[1] <= MOST_COLUMNS

    def _refined_by(self, tree: HyperplaneTree, X: Matrix, weights: Floats) -> HyperplaneTree:
        rows, total = merge_copies(*with_weight(X, weights), SEED)
        label = tree.label[tree.apply(rows, self.n_jobs, check_input=False)]
        with one_blas_thread():
            always = self.assign_labels == "mixture"
            mixture = fit_mixture(rows, total, label, tree.n_clusters, always, shares_of_cuts(tree), self.n_jobs)
            if mixture is not None and self.outliers == "label":
                mixture = with_limit(mixture, rows, total, label)
        if self.outliers == "label" and (mixture is None or mixture.limit is None):
            warn_user(
                "no outliers are labeled, because a cluster would lose all its rows: set a smaller n_clusters or a "
                "larger min_cluster_size"
            )
        return with_mixture(tree, mixture)

    def _validate_params(self) -> None:
        super()._validate_params()
        check_that_outliers_have_a_mixture(self.outliers, self.assign_labels)

    def _validate(self, X: ArrayLike, reset: bool, order: str | None) -> Matrix:
        rows = super()._validate(X, reset=reset, order=order)
        if reset:
            self._check_mixture_of_outliers(sparse.issparse(rows), rows.shape[1])
        return rows

    def _root_of_chunks(self, chunks: Chunks) -> ChunkedNode:
        root = super()._root_of_chunks(chunks)
        self._check_mixture_of_outliers(False, root.whole.chunks.n_features)
        return root

    def _check_mixture_of_outliers(self, is_sparse: bool, n_features: int) -> None:
        """Raise ValueError before a long fit if outliers are asked for and there cannot be a mixture."""
        if self.outliers == "label" and (is_sparse or n_features > MOST_COLUMNS):
            found = "a sparse X" if is_sparse else f"{n_features} columns"
            raise ValueError(
                f"outliers='label' needs a mixture, which {found} cannot have: use outliers='assign', or reduce X to "
                f"a dense array of at most {MOST_COLUMNS} columns, for instance with TruncatedSVD"
            )
