"""Getting the tree from a user's argument, which is a fitted estimator or a tree."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from ravine._checks import checked_sparse, refuse_what_is_no_number
from ravine._matrix import LARGEST, Matrix
from ravine._sklearn import check_feature_names, get_feature_names
from ravine.tree._text import counted
from ravine.tree._tree import HyperplaneTree


def tree_of(model: Any) -> HyperplaneTree:
    """Return the tree of a fitted model, or the tree itself; raise ValueError for a model without a tree.

    Parameters
    ----------
    model : fitted estimator or HyperplaneTree
        Model or tree.

    Returns
    -------
    tree : HyperplaneTree
        The attribute ``model.tree_``, or `model` itself if it is a tree.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.tree import tree_of
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]])
    >>> tree_of(model)
    <HyperplaneTree: 2 clusters, 1 cut, 1 feature>
    >>> tree_of(tree_of(model)) is model.tree_
    True
    """
    if isinstance(model, HyperplaneTree):
        return model
    if not hasattr(model, "fit"):
        raise TypeError(f"model is of type {type(model).__name__}: pass a fitted model or its tree")
    check_is_fitted(model)
    if not hasattr(model, "tree_"):
        raise ValueError(
            f"{type(model).__name__} has no tree of cuts, which is needed here: use its own predict and plots in Python"
        )
    tree: HyperplaneTree = model.tree_
    return tree


def rows_to_show(model: Any, n_features: int, X: Any) -> Matrix:
    """Check the rows that a user passes with a model or a tree, to draw or to count them.

    There may be no rows. A data frame must have the same columns as in `fit`, in the same order.
    """
    if X is None:
        raise TypeError("X is None: pass the rows to show, those of fit or other rows with the same columns")
    if isinstance(model, BaseEstimator) and hasattr(model, "feature_names_in_") and get_feature_names(X) is not None:
        check_feature_names(model, X, reset=False)
    refuse_what_is_no_number(X, "X")
    rows = check_array(
        checked_sparse(X) if sparse.issparse(X) else X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
    )
    if rows.shape[1] != n_features:
        raise ValueError(f"X has {counted(rows.shape[1], 'column')}, but the model was fitted on {n_features}")
    stored = rows.data if sparse.issparse(rows) else rows
    if stored.size and max(float(stored.max()), -float(stored.min())) > LARGEST:
        raise ValueError(f"X has an entry beyond {LARGEST:g}, whose square would overflow: rescale X")
    return rows
