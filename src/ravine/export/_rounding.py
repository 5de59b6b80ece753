"""Rows whose label may depend on rounding: those nearer to a cut, a boundary or a limit than sums can be exact.

A sum of n products, in whatever order, differs from the exact one by at most n times the precision times the sum of the
absolute products. An export and `predict` can differ only in rows for which a decision is within this bound.
"""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Bools, Floats
from ravine.export._recipe import Recipe, applied, bounded, recipe_of
from ravine.tree import HyperplaneTree
from ravine.tree._mixture import Mixture

SPARE = 8
"""Operations beside those of a sum that are counted for each decision."""


def within_rounding(
    model: Any, X: NDArray[Any], *, dtype: Literal["float64", "float32"] = "float64", n_jobs: int | None = -1
) -> Bools:
    """Find the rows whose label may depend on rounding, in which an export and `predict` may therefore differ.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        Model of a matrix; a `TableEncoder` is not taken.
    X : ndarray of shape (n_samples, n_features)
        Rows without gaps.
    dtype : {"float64", "float32"}, default="float64"
        Precision: of sums, and of the rows if they are rounded. With "float32", the result tells which labels may
        change when rows are stored in float32.
    n_jobs : int, default=-1
        Number of threads; -1 uses all cores. The result does not depend on it.

    Returns
    -------
    is_near : ndarray of shape (n_samples,)
        Whether a cut on the way of the row, a boundary between its two likeliest components, or a limit for outliers is
        nearer than the largest error of rounding. This bound is rarely reached: most of these rows have one label.

    See Also
    --------
    to_onnx : Writes a graph of ONNX.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import PDDP
    >>> from ravine.export import within_rounding
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[100.0], [120.0], [880.0], [900.0]])
    >>> within_rounding(model, np.array([[100.0], [500.0], [500.00001]]), dtype="float32")
    array([False,  True,  True])
    """
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} must be 'float64' or 'float32'")
    recipe = recipe_of(model)
    if not recipe.is_matrix:
        raise ValueError("within_rounding takes a model of a matrix: pass the last step, and the encoded rows")
    rows = np.asarray(X, dtype=np.float64)
    return _near_of(recipe, rows, float(np.finfo(dtype).eps), n_jobs)


def _near_of(recipe: Recipe, rows: Floats, eps: float, n_jobs: int | None) -> Bools:
    Z = np.ascontiguousarray(applied(recipe.steps, rows))
    unit = eps * (rows.shape[1] + Z.shape[1] + SPARE)
    with np.errstate(over="ignore", invalid="ignore"):
        size = bounded(recipe.steps, np.abs(rows), rows)
        near = _near_cuts(recipe.tree, Z, size, unit, n_jobs)
        mixture = recipe.tree.mixture
        if mixture is None or not mixture.has_labels:
            return near
        near_mixture, has_density = _near_mixture(mixture, Z, size, unit)
    return np.where(has_density & mixture.decides, near_mixture, near | near_mixture)


def _near_cuts(tree: HyperplaneTree, Z: Floats, size: Floats, unit: float, n_jobs: int | None) -> Bools:
    """Return which rows are within rounding of a cut on their way."""
    near = np.zeros(len(Z), dtype=bool)
    distance, path = tree.signed_distance(Z, n_jobs), tree.decision_path(Z, n_jobs).tocsc()
    for column, node in enumerate(tree.cuts):
        surface, passes = tree.surface[node], path[:, [node]].toarray()[:, 0] > 0
        if surface is None:
            error = size @ np.abs(tree.normal[node]) + abs(tree.offset[node])
        else:
            error = (size @ np.abs(surface.directions).T).max(axis=1) + np.abs(surface.positions).max()
        near |= passes & ~(np.abs(distance[:, column]) > unit * error)
    return near


def _near_mixture(mixture: Mixture, Z: Floats, size: Floats, unit: float) -> tuple[Bools, Bools]:
    """Return which rows are within rounding of a boundary or a limit, and which rows have a density above zero."""
    n_components = len(mixture.weight)
    density, error = np.empty((len(Z), n_components)), np.empty((len(Z), n_components))
    distance, distance_error = np.empty_like(density), np.empty_like(density)
    for k in range(n_components):
        factor = mixture.factor[k if len(mixture.factor) > 1 else 0]
        along = (Z - mixture.mean[k]) @ factor.T
        along_error = unit * ((size + np.abs(mixture.mean[k])) @ np.abs(factor).T)
        distance[:, k] = np.sqrt((along**2).sum(axis=1))
        distance_error[:, k] = np.sqrt((along_error**2).sum(axis=1)) + unit * distance[:, k]
        square_error = (2 * distance[:, k] + distance_error[:, k]) * distance_error[:, k]
        if math.isinf(mixture.freedom):
            center, constant, direction = mixture.planes
            density[:, k] = (Z - center) @ direction[k] + constant[k]
            error[:, k] = unit * ((size + np.abs(center)) @ np.abs(direction[k]) + abs(constant[k]))
        else:
            log = np.log1p(distance[:, k] ** 2 / mixture.freedom)
            density[:, k] = mixture.constant[k] - mixture.power * log
            relative = square_error / (mixture.freedom + distance[:, k] ** 2)
            error[:, k] = mixture.power * (relative + unit * (1 + log)) + unit * abs(mixture.constant[k])
    has_density = np.isfinite(density).any(axis=1) & ~np.isnan(error).any(axis=1)
    best = np.where(has_density, np.nan_to_num(density, nan=-np.inf).argmax(axis=1), 0)
    at = np.arange(len(Z)), best
    behind = density[at][:, np.newaxis] - density
    near = ~(behind > error + error[at][:, np.newaxis])
    near[:, :] &= mixture.cluster[np.newaxis] != mixture.cluster[best][:, np.newaxis]
    found = near.any(axis=1) if mixture.decides else np.zeros(len(Z), dtype=bool)
    if mixture.limit is not None:
        found |= ~(np.abs(distance[at] - mixture.limit[best]) > distance_error[at])
    return np.asarray(found), np.asarray(has_density)
