"""Getting the tree from a user's argument, which is a fitted estimator or a tree."""

from typing import Any

import numpy as np
from scipy import sparse

from ravine._checks import all_finite, checked_sparse, is_half, refuse_what_is_no_number
from ravine._lazy import PIPELINE, is_a
from ravine._matrix import LARGEST, Matrix
from ravine._read_only import ReadOnlyModel
from ravine.tree._text import counted
from ravine.tree._tree import HyperplaneTree
from ravine.tree._unit_rows import has_unit_rows, own_tree


def tree_of(model: Any) -> HyperplaneTree:
    """Return the tree of a fitted model, or the tree itself; raise ValueError for a model without a tree.

    The tree of a pipeline has its cuts in the columns of X, in their units: scaling, the choice of columns, PCA and
    truncated SVD are undone. If another step comes before the model, such as an encoder of words or a logarithm, the
    error names it. ``tree_of(pipe[-1])`` is then the tree in the columns that the model sees. A model with
    ``metric="cosine"`` has a tree of rows of length 1, ``model.tree_``; its cuts cannot be written in the columns of X.

    Parameters
    ----------
    model : fitted estimator, Pipeline or HyperplaneTree
        Model or tree. The last step of a pipeline is a model with a tree.

    Returns
    -------
    tree : HyperplaneTree
        The attribute ``model.tree_``, or `model` itself if it is a tree. For a pipeline, a new tree with the same
        counts and sums of squares. If steps remove columns or directions, the means of its nodes lack them, and it has
        no mixture, so that its labels are those of the cuts.

    Examples
    --------
    >>> from ravine import PDDP
    >>> from ravine.tree import tree_of
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]])
    >>> tree_of(model)
    <HyperplaneTree: 2 clusters, 1 cut, 1 feature>
    >>> tree_of(tree_of(model)) is model.tree_
    True

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.array([[1.0, 500], [3, 510], [9, 900], [7, 890]])
    >>> pipe = make_pipeline(StandardScaler(), PDDP(n_clusters=2, criterion="mean")).fit(X)
    >>> tree_of(pipe).mean.round()
    array([[  5., 700.],
           [  2., 505.],
           [  8., 895.]])
    """
    if isinstance(model, HyperplaneTree):
        return model
    if is_a(model, PIPELINE):
        return _tree_of_pipeline(model)
    if isinstance(model, ReadOnlyModel):
        return _tree_in_columns(model)
    if not hasattr(model, "fit"):
        raise TypeError(f"model is of type {type(model).__name__}: pass a fitted model or its tree")
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    return _tree_in_columns(model)


def _tree_in_columns(model: Any) -> HyperplaneTree:
    tree = own_tree(model)
    if has_unit_rows(model):
        raise ValueError(
            f"{type(model).__name__} with metric='cosine' divides rows by their lengths, so its cuts cannot be written "
            "in the columns of X: use model.tree_ with rows of length 1, or model.predict"
        )
    return tree


def _tree_of_pipeline(pipe: Any) -> HyperplaneTree:
    from sklearn.utils.validation import check_is_fitted

    from ravine.tree._pipeline import NotLinearError, before_map, map_of

    check_is_fitted(pipe)
    tree = tree_of(pipe.steps[-1][1])
    try:
        return before_map(tree, map_of(pipe))
    except NotLinearError as error:
        raise ValueError(f"{error}: use tree_of(pipe[-1]) for the cuts in the columns that the model sees") from None


def rows_to_show(model: Any, n_features: int, X: Any) -> Matrix:
    """Check the rows that a user passes with a model or a tree, to draw or to count them.

    There may be no rows. A data frame must have the same columns as in `fit`, in the same order.
    """
    if X is None:
        raise TypeError("X is None: pass the rows to show, those of fit or other rows with the same columns")
    rows: Matrix = np.asarray(X, order="C") if _is_ready(X) else _checked_rows(model, X)
    if rows.shape[1] != n_features:
        raise ValueError(f"X has {counted(rows.shape[1], 'column')}, but the model was fitted on {n_features}")
    stored = rows.data if sparse.issparse(rows) else rows
    if stored.size and max(float(stored.max()), -float(stored.min())) > LARGEST:
        raise ValueError(f"X has an entry beyond {LARGEST:g}, whose square would overflow: rescale X")
    return rows


def _is_ready(X: Any) -> bool:
    """Return whether X is an array as a file is read into: `check_array` of scikit-learn would not change it."""
    is_array = isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.ndim == 2
    return is_array and all_finite(X)


def _checked_rows(model: Any, X: Any) -> Matrix:
    from sklearn.utils.validation import check_array

    from ravine._sklearn import check_feature_names, get_feature_names

    is_named = is_a(model, "sklearn.base.BaseEstimator") and hasattr(model, "feature_names_in_")
    if is_named and get_feature_names(X) is not None:
        check_feature_names(model, X, reset=False)
    refuse_what_is_no_number(X, "X")
    return check_array(
        checked_sparse(X) if sparse.issparse(X) else X,
        accept_sparse="csr",
        dtype=np.float32 if is_half(X) else [np.float64, np.float32],
        order="C",
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
    )
