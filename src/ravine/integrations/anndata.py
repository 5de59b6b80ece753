"""Clusters of the cells of an AnnData, written to where scanpy looks for them.

Nothing of anndata is imported: an AnnData brings its package, and pandas.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ravine import __version__
from ravine._lazy import is_a
from ravine._matrix import Ints
from ravine._names import shown
from ravine.tree import HyperplaneTree
from ravine.tree import tree_of as tree_of_model

__all__ = ["cluster", "tree_of"]

OUTLIER = "outlier"
"""Category of the cells that belong to no cluster."""


def cluster(
    adata: Any, model: Any = None, *, use_rep: str = "X_pca", key_added: str = "ravine", copy: bool = False
) -> Any:
    """Cluster the cells of an AnnData, as the functions of ``scanpy.tl`` do.

    Parameters
    ----------
    adata : AnnData
        Cells and what is known about them. It may be backed by a file: the representation is read into memory.
    model : estimator or Pipeline, optional
        Clusterer with `labels_`. A clone of it is fitted. Default: ``IncrementalMDH(standardize=False)``. The scores of
        principal components are not to be scaled: the first ones vary most because they tell the cells apart best.
    use_rep : str, default="X_pca"
        Key of ``adata.obsm``, or "X" for ``adata.X`` itself, dense or sparse.
    key_added : str, default="ravine"
        Key of ``adata.obs`` and ``adata.uns`` under which the results are stored.
    copy : bool, default=False
        If True, return a copy of `adata` with the results, and leave `adata` unchanged.

    Returns
    -------
    adata : AnnData or None
        The copy, or None if `adata` itself was changed. These fields are set:

        - ``adata.obs[key_added]``: cluster of each cell, a categorical with the categories "0", "1", …; cells that are
          outliers of the model have the category "outlier".
        - ``adata.uns[key_added]``: a dictionary that ``write_h5ad`` and ``write_zarr`` can write. `params` has the
          representation, the class and the parameters of the model; those that are not a number, a string or a bool
          are there as Python shows them. `n_clusters`, `selection`, `confirmed` and `p_values` say how far to trust the
          number of clusters, as the attributes of the model do. `tree` has the arrays of its tree, see `tree_of`. A
          model without such an attribute has no entry.

    See Also
    --------
    tree_of : Returns the tree, which predicts the clusters of other cells.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from ravine.datasets import make_blobs
    >>> from ravine.integrations.anndata import cluster
    >>> X, _ = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> adata = AnnData(X, obsm={"X_pca": X})
    >>> cluster(adata)
    >>> list(adata.obs["ravine"].cat.categories)
    ['0', '1', '2']
    >>> adata.uns["ravine"]["selection"], adata.uns["ravine"]["confirmed"]
    ('evidence', 2)
    """
    if not is_a(adata, "anndata.AnnData"):
        raise TypeError(f"adata is of type {type(adata).__name__}: pass an AnnData, such as mdata.mod['rna']")
    from sklearn.base import clone

    if model is None:
        from ravine.cluster import IncrementalMDH

        model = IncrementalMDH(standardize=False)
    rows = _representation(adata, use_rep)
    fitted = clone(model).fit(rows)
    if not hasattr(fitted, "labels_") and not hasattr(fitted, "steps"):
        raise TypeError(f"{type(model).__name__} has no labels_ after fit: pass a clusterer, such as NCutH()")
    labels = np.asarray(fitted[-1].labels_ if hasattr(fitted, "steps") else fitted.labels_)
    target = adata.copy() if copy else adata
    target.obs[key_added] = _categories(labels)
    target.uns[key_added] = {"params": _params(model, use_rep), **_findings(fitted, labels)}
    return target if copy else None


def tree_of(adata: Any, key: str = "ravine") -> HyperplaneTree:
    """Return the tree that `cluster` stored in an AnnData, also after it was written to a file and read again.

    Parameters
    ----------
    adata : AnnData
        Cells that were clustered by a model with a tree.
    key : str, default="ravine"
        The `key_added` of `cluster`.

    Returns
    -------
    tree : HyperplaneTree
        The tree. It takes the columns of the representation that was clustered.

    See Also
    --------
    cluster : Clusters the cells and stores the tree.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from ravine.datasets import make_blobs
    >>> from ravine.integrations.anndata import cluster, tree_of
    >>> X, _ = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> adata = AnnData(X, obsm={"X_pca": X})
    >>> cluster(adata)
    >>> tree_of(adata).predict([[0.0, 0.0], [9.0, 0.0]])
    array([0, 1])
    """
    with_tree = [name for name in adata.uns if isinstance(adata.uns[name], Mapping) and "tree" in adata.uns[name]]
    if key not in with_tree:
        there = f"those with a tree are {', '.join(map(shown, with_tree))}" if with_tree else "no other key has one"
        raise KeyError(f"adata.uns has no tree under {key!r}: {there}")
    return HyperplaneTree.from_dict(adata.uns[key]["tree"])


def _representation(adata: Any, use_rep: str) -> Any:
    """Return the rows of a representation, in memory."""
    if use_rep == "X":
        if adata.X is None:
            raise ValueError(f"adata has no X: pass the name of a representation as use_rep, {_there(adata)}")
        return _in_memory(adata.X)
    if use_rep not in adata.obsm:
        hint = "; run scanpy.pp.pca(adata) first" if use_rep == "X_pca" else ""
        raise KeyError(f"adata.obsm has no {use_rep!r}: use_rep can be {_there(adata)}{hint}")
    return _in_memory(adata.obsm[use_rep])


def _there(adata: Any) -> str:
    names = [repr(name) for name in adata.obsm]
    return ", ".join([*names, *(["'X'"] if adata.X is not None else [])]) or "nothing, because there is no X either"


def _in_memory(matrix: Any) -> Any:
    """Return a matrix of an AnnData as NumPy or SciPy have it, if it is a view, or lies in a file."""
    if hasattr(matrix, "to_memory"):  # sparse, in a file
        return matrix.to_memory()
    if type(matrix).__module__.partition(".")[0] in ("h5py", "zarr"):
        return matrix[...]
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix)
    return matrix.compute() if hasattr(matrix, "__dask_graph__") else matrix


def _categories(labels: Ints) -> Any:
    """Return the labels as strings: the clusters in the order of their numbers, then outliers, if there are any."""
    import pandas as pd

    is_outlier = labels < 0
    names = [str(label) for label in np.unique(labels[~is_outlier])] + [OUTLIER] * bool(is_outlier.any())
    # anndata cannot write the strings that pandas 3 makes by default
    found = np.where(is_outlier, OUTLIER, labels.astype(str)).astype(object)
    return pd.Categorical(found, categories=pd.Index(names, dtype=object))


def _params(model: Any, use_rep: str) -> dict[str, Any]:
    """Return the settings in a form that can be written to a file."""
    given = {name: _writable(value) for name, value in model.get_params(deep=False).items()}
    about = {"use_rep": use_rep, "model": type(model).__name__, "ravine_version": __version__}
    return {**about, "model_params": given}


def _writable(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str) else repr(value)


def _findings(fitted: Any, labels: Ints) -> dict[str, Any]:
    """Return the number of clusters, what decides how far to trust it, and the tree, as far as the model has them."""
    model = fitted[-1] if hasattr(fitted, "steps") else fitted
    found: dict[str, Any] = {"n_clusters": len(np.unique(labels[labels >= 0]))}
    for name in ("selection", "confirmed"):
        value = getattr(model, f"{name}_", None)
        if value is not None:
            found[name] = value
    if hasattr(model, "tree_"):
        found["p_values"] = model.tree_.p_value[model.tree_.cuts]
        with suppress(ValueError):  # of a pipeline whose first steps cannot be undone: it has no tree in these columns
            found["tree"] = tree_of_model(fitted).to_dict()
    return found
