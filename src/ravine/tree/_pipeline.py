"""The tree of a pipeline in the columns of the rows that the user has, before the first step.

Scaling, imputing rows without gaps, choosing columns, PCA and truncated SVD are linear: a row x becomes
``z = matrix @ x + shift``. A cut ``z @ normal < offset`` of the last step is then the cut of x with the normal
``matrix.T @ normal`` and the offset ``offset - normal @ shift``. Other steps cannot be undone in this way; then the
columns that the last step sees are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_array, check_is_fitted

from ravine._matrix import Bools, Floats, Ints, Matrix, unit_rows
from ravine._sklearn import get_feature_names
from ravine.cuts import Surface
from ravine.tree._mixture import Mixture
from ravine.tree._tree import HyperplaneTree, fields_of
from ravine.tree._unit_rows import has_unit_rows

WORST_CONDITION = 1e10
"""A matrix with a larger condition number counts as singular."""


class NotLinearError(ValueError):
    """An error about the step of a pipeline that prevents a tree in the columns before it."""


@dataclass(frozen=True, eq=False)
class LinearMap:
    """What the steps of a pipeline do to a row without gaps: ``matrix @ x + shift``.

    Parameters
    ----------
    matrix : ndarray or sparse array of shape (n_out, n_features)
        It is sparse, with one entry in each row, as long as each column of the result comes from one column.
    shift : ndarray of shape (n_out,)
    fill : ndarray of shape (n_features,)
        What an imputer fills in for a missing cell, in the units of x; NaN for a column without an imputer.
    center, spread : ndarray of shape (n_features,)
        A row in the middle of the data, and units of the columns, for directions that the steps remove.
    """

    matrix: Any
    shift: Floats
    fill: Floats
    center: Floats
    spread: Floats

    @classmethod
    def identity(cls, n_features: int) -> "LinearMap":
        """The map that changes nothing."""
        gaps, zeros, ones = (np.full(n_features, value) for value in (np.nan, 0.0, 1.0))
        return cls(sparse.eye_array(n_features, format="csr"), zeros, gaps, zeros, ones)

    @property
    def is_sparse(self) -> bool:
        """Whether each column of the result comes from one column."""
        return bool(sparse.issparse(self.matrix))

    @property
    def used(self) -> Ints:
        """Columns of x on which the result depends."""
        return np.flatnonzero(np.asarray(abs(self.matrix).sum(axis=0)).ravel() > 0)

    @cached_property
    def _exact_inverse(self) -> Any:
        """The inverse of the matrix, or None if it has none."""
        n_out, n_features = self.matrix.shape
        if n_out != n_features:
            return None
        if self.is_sparse:
            is_once = np.bincount(self.matrix.indices, minlength=n_features) == 1
            return self._mean_inverse if is_once.all() else None
        try:
            inverse = np.linalg.inv(self.matrix)
        except np.linalg.LinAlgError:
            return None
        condition = np.linalg.norm(self.matrix, 1) * np.linalg.norm(inverse, 1)
        return inverse if condition < WORST_CONDITION else None

    @property
    def _mean_inverse(self) -> Any:
        """The matrix of a sparse map back: the mean of what each column of the result says about a column of x."""
        n_of = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        back = self.matrix.copy()
        back.data = 1 / (back.data * n_of[back.indices])
        return back.T.tocsr()

    @property
    def is_invertible(self) -> bool:
        """Whether x can be computed from the result."""
        return self._exact_inverse is not None

    @cached_property
    def _inverse(self) -> Any:
        if self._exact_inverse is not None:
            return self._exact_inverse
        if self.is_sparse:
            return self._mean_inverse
        return self.spread[:, np.newaxis] * np.linalg.pinv(self.matrix * self.spread)

    def before(self, Z: Floats) -> Floats:
        """Return rows that become `Z`: the ones nearest to `center`, in units of `spread`, if there are several."""
        apart = Z - self.shift - self.matrix @ self.center
        return np.asarray(self.center + (self._inverse @ apart.T).T)

    def then(self, scale: Any, shift: Any) -> "LinearMap":
        """Return this map, followed by a scale and a shift of each column of the result."""
        scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), self.shift.shape)
        if self.is_sparse:
            matrix = sparse.csr_array(sparse.diags_array(scale) @ self.matrix)
        else:
            matrix = self.matrix * scale[:, np.newaxis]
        return replace(self, matrix=matrix, shift=self.shift * scale + shift)

    def chosen(self, columns: Any) -> "LinearMap":
        """Return this map with some columns of the result only."""
        return replace(self, matrix=self.matrix[columns], shift=self.shift[columns])

    def around(self, middle: Any) -> "LinearMap":
        """Return this map with a center that becomes a row in the middle of its result, if one is known."""
        if middle is None:
            return self
        return replace(self, center=self.before(np.asarray(middle, dtype=np.float64)[np.newaxis])[0])

    def projected(self, components: Floats, center: Any) -> "LinearMap":
        """Return this map, followed by the projection of the rows minus `center`."""
        components = np.asarray(components, dtype=np.float64)
        matrix = np.asarray((self.matrix.T @ components.T).T)
        spread = self.spread
        if self.is_sparse:
            unit = np.asarray(abs(self._mean_inverse).sum(axis=1)).ravel()
            spread = np.where(unit > 0, unit, spread)
        return replace(self, matrix=matrix, shift=components @ (self.shift - center), spread=spread)

    def filled(self, fills: Floats) -> "LinearMap":
        """Return this map, followed by an imputer."""
        if not self.is_sparse:
            return self  # a projection has no missing values
        fill = self.fill.copy()
        source = self.matrix.indices
        is_new = np.isnan(fill[source]) & ~np.isnan(fills)
        fill[source[is_new]] = ((fills - self.shift) / self.matrix.data)[is_new]
        return replace(self, fill=fill)

    def only(self, columns: Ints) -> "LinearMap":
        """Return the map for rows that have only some of the columns, on which alone the result depends."""
        matrix = self.matrix[:, columns]
        return LinearMap(matrix, self.shift, self.fill[columns], self.center[columns], self.spread[columns])


def kept_by(imputer: SimpleImputer) -> Bools:
    """Return whether an imputer keeps each column; it drops those without any value."""
    fills = imputer.statistics_.tolist()
    return np.array([bool(imputer.keep_empty_features) or fill == fill for fill in fills], dtype=bool)


def _after(before: LinearMap, step: Any, where: str) -> LinearMap:
    """Return a map followed by a step. Raises NotLinearError if the step is not linear."""
    match step:
        case None | "passthrough":
            return before
        case Pipeline():
            for name, each in step.steps:
                before = _after(before, each, f"{where}, step {name!r}")
            return before
        case StandardScaler():
            scale = 1 / step.scale_ if step.with_std else 1.0
            return before.around(step.mean_).then(scale, -step.mean_ * scale if step.with_mean else 0.0)
        case RobustScaler():
            scale = 1 / step.scale_ if step.with_scaling else 1.0
            return before.around(step.center_).then(scale, -step.center_ * scale if step.with_centering else 0.0)
        case MinMaxScaler() if not step.clip:
            return before.then(step.scale_, step.min_)
        case MaxAbsScaler() if not step.clip:
            return before.then(1 / step.scale_, 0.0)
        case PCA():
            after = before.around(step.mean_).projected(step.components_, step.mean_)
            least = np.finfo(step.explained_variance_.dtype).eps
            return after.then(1 / np.maximum(np.sqrt(step.explained_variance_), least), 0.0) if step.whiten else after
        case TruncatedSVD():
            return before.projected(step.components_, 0.0)
        case SimpleImputer() if step.missing_values != step.missing_values and not step.add_indicator:
            kept = kept_by(step)
            fills = np.array([fill if keep else np.nan for fill, keep in zip(step.statistics_, kept, strict=True)])
            return before.filled(fills.astype(np.float64)).chosen(kept)
        case FunctionTransformer() if step.func is None:
            return before
        case ColumnTransformer():
            return _after_columns(before, step, where)
        case UnitRows():
            raise NotLinearError("metric='cosine' divides rows by their lengths")
    raise NotLinearError(
        f"{where} ({type(step).__name__}) is not a scaling, a choice of columns or a projection, so the cuts cannot be "
        "written in the columns of X"
    )


def _after_columns(before: LinearMap, step: Any, where: str) -> LinearMap:
    """Return a map followed by a `ColumnTransformer`: the maps of its parts, one below the other."""
    parts, weights = [], step.transformer_weights or {}
    for name, part, _ in step.transformers_:
        columns = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)
        if part == "drop" or not len(columns):
            continue
        after = _after(before.chosen(columns), part, f"{where}, part {name!r}")
        parts.append(after.then(weights.get(name, 1.0), 0.0))
    fill, center, spread = before.fill, before.center, before.spread
    for part in parts:
        fill = np.where(np.isnan(fill), part.fill, fill)
        center = np.where(center == before.center, part.center, center)
        spread = np.where(spread == before.spread, part.spread, spread)
    matrices = [part.matrix for part in parts]
    if all(part.is_sparse for part in parts):
        matrix: Any = sparse.vstack(matrices, format="csr")
    else:
        matrix = np.vstack([each.toarray() if sparse.issparse(each) else each for each in matrices])
    return LinearMap(matrix, np.concatenate([part.shift for part in parts]), fill, center, spread)


def first_step(pipe: Pipeline) -> Any:
    """Return the first step that does something. It has the number and the names of the columns of X."""
    return next(step for _, step in pipe.steps if step not in (None, "passthrough"))


def map_of(pipe: Pipeline) -> LinearMap:
    """Return what all steps of a fitted pipeline but the last one do. Raises NotLinearError, which names a step."""
    steps = list(pipe.steps[:-1])
    out = LinearMap.identity(int(first_step(pipe).n_features_in_))
    for name, step in steps:
        out = _after(out, step, f"step {name!r}")
    if out.is_sparse and np.count_nonzero(out.matrix.data) < len(out.shift):
        raise NotLinearError("a column has the weight 0, so the cuts cannot be written in the columns of X")
    return out


def before_map(tree: HyperplaneTree, steps: LinearMap) -> HyperplaneTree:
    """Return the tree of the rows before a linear map, for a tree of the rows after it.

    The sums of squares are not converted. Means are exact if the map is invertible. If it is not, they lack what the
    map removes, and there is no mixture.
    """
    normal = np.asarray((steps.matrix.T @ tree.normal.T).T, dtype=np.float64)
    length = np.linalg.norm(normal, axis=1)
    if not (length[~tree.is_leaf] > 0).all():
        raise NotLinearError("a cut does not depend on the columns of X")
    length[tree.is_leaf] = 1.0
    offset = np.where(tree.is_leaf, 0.0, (tree.offset - tree.normal @ steps.shift) / length)
    surface = np.array([each if each is None else _surface_before(each, steps) for each in tree.surface], dtype=object)
    moved: dict[str, Any] = {"normal": normal / length[:, np.newaxis], "offset": offset, "surface": surface}
    moved |= {"mean": steps.before(tree.mean), "mixture": _mixture_before(tree.mixture, steps)}
    return HyperplaneTree(**{**fields_of(tree), **moved})


def _surface_before(surface: Surface, steps: LinearMap) -> Surface:
    directions = np.asarray((steps.matrix.T @ surface.directions.T).T)
    return Surface(directions, surface.positions - surface.directions @ steps.shift, surface.is_left)


def _mixture_before(mixture: Mixture | None, steps: LinearMap) -> Mixture | None:
    """Return the mixture of the rows before an invertible map; its density is that of the rows in their units."""
    if mixture is None or not steps.is_invertible:
        return None
    if steps.is_sparse and (steps.matrix.indices == np.arange(len(steps.shift))).all() and steps.matrix.data.min() > 0:
        scale = 1 / steps.matrix.data
        return mixture.unscaled(-steps.shift * scale, scale)
    matrix = steps.matrix.toarray() if steps.is_sparse else steps.matrix
    factor = np.array([_lower(each @ matrix) for each in mixture.factor])
    return replace(mixture, mean=steps.before(mixture.mean), factor=factor)


def _lower(matrix: Floats) -> Floats:
    """Return a lower triangular matrix L with positive diagonal and LᵀL = MᵀM, for an invertible matrix M."""
    _, upper = np.linalg.qr(matrix[:, ::-1])
    lower = upper[::-1, ::-1]
    return np.tril(lower * np.where(np.diagonal(lower) < 0, -1.0, 1.0)[:, np.newaxis])


class UnitRows(Normalizer):
    """Divides rows by their lengths as a model with ``metric="cosine"`` does, to the last bit."""

    def transform(self, X: Any, copy: bool | None = None) -> Matrix:
        """Return rows of length 1; rows of zeros remain."""
        rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", ensure_min_samples=0)
        return unit_rows(rows)


def _with_own_step(model: Any) -> Pipeline:
    """Return a pipeline, or a model as one; a model with ``metric="cosine"`` has its conversion as a step before it."""
    *before, (name, last) = model.steps if isinstance(model, Pipeline) else [("model", model)]
    if not has_unit_rows(last):
        return model if isinstance(model, Pipeline) else Pipeline([(name, last)])
    step = UnitRows()
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(last, attribute):
            setattr(step, attribute, getattr(last, attribute))
    return Pipeline([*before, ("metric='cosine'", step), (name, last._of_unit_rows())])


@dataclass(frozen=True, eq=False)
class ShownPipeline:
    """A fitted pipeline as reports and plots show it.

    Parameters
    ----------
    pipe : Pipeline
    model : fitted estimator
        The last step.
    tree : HyperplaneTree or None
        The tree of the model, in the columns that are shown.
    names : list of str
        Names of the columns that are shown.
    n_features : int
        Number of columns that are shown.
    steps : LinearMap or None
        How the columns of X that are shown become those that the model sees; None if these are shown.
    columns : ndarray
        Positions in X of the columns that are shown, if `steps` is not None.
    reason : str
        Why the columns of X are not shown, or "".
    """

    pipe: Pipeline
    model: Any
    tree: HyperplaneTree | None
    names: list[str]
    n_features: int
    steps: LinearMap | None
    columns: Ints
    reason: str

    @classmethod
    def of(cls, pipe: Any) -> "ShownPipeline":
        """Show a pipeline in the columns of X, without those that it does not use, or else in those of its model.

        A model that divides rows by their lengths is shown as the pipeline that it stands for.
        """
        check_is_fitted(pipe)
        pipe = _with_own_step(pipe)
        model = pipe.steps[-1][1]
        tree = getattr(model, "tree_", None)
        try:
            steps = map_of(pipe)
            columns = steps.used
            steps = steps.only(columns)
            names = getattr(first_step(pipe), "feature_names_in_", None)
            shown = [f"x{j}" if names is None else str(names[j]) for j in columns]
            tree = None if tree is None else before_map(tree, steps)
            return cls(pipe, model, tree, shown, len(columns), steps, columns, "")
        except NotLinearError as error:
            names, n_features = names_before_model(pipe), int(model.n_features_in_)
            return cls(pipe, model, tree, names, n_features, None, np.empty(0, dtype=np.int64), str(error))

    @property
    def has_means(self) -> bool:
        """Whether the means of the tree are those of the rows."""
        return self.steps is None or self.steps.is_invertible

    def read(self, X: Any) -> tuple[Any, Any]:
        """Return the rows that are shown, not checked for gaps, and the rows that the model sees."""
        Z = self.prepared(X)
        return (Z, Z) if self.steps is None else (self.in_columns(X), Z)

    def prepared(self, X: Any) -> Any:
        """Return the rows that the model sees."""
        return self.pipe[:-1].transform(X) if len(self.pipe.steps) > 1 else X

    def in_columns(self, X: Any) -> Matrix:
        """Return the columns of X that are shown, with missing cells filled in as the pipeline does."""
        assert self.steps is not None
        names, known = get_feature_names(X), getattr(first_step(self.pipe), "feature_names_in_", None)
        if names is not None and known is not None:
            X = X[[str(name) for name in known[self.columns]]]
        elif sparse.issparse(X):
            X = X.tocsr()[:, self.columns]
        else:
            X = np.asarray(X)[:, self.columns]
        rows = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite="allow-nan",
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
        )
        values = rows.data if sparse.issparse(rows) else rows
        if not np.isnan(values).any():
            return cast(Matrix, rows)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return np.where(np.isnan(dense), self.steps.fill.astype(dense.dtype), dense)


def names_before_model(pipe: Pipeline) -> list[str]:
    """Return the names of the columns that the last step of a pipeline sees."""
    names: Sequence[str] | None = getattr(first_step(pipe), "feature_names_in_", None)
    n_features = getattr(first_step(pipe), "n_features_in_", None)
    if names is None and n_features is not None:
        names = [f"x{j}" for j in range(n_features)]
    for _, step in pipe.steps[:-1]:
        if step not in (None, "passthrough"):
            names = _names_after(step, names)
    n_seen = int(pipe.steps[-1][1].n_features_in_)
    if names is None or len(names) != n_seen:
        return [f"x{j}" for j in range(n_seen)]
    return [str(name) for name in names]


def _names_after(step: Any, names: Sequence[str] | None) -> list[str] | None:
    """Return the names of the columns after a step, or None if it does not name them."""
    if isinstance(step, FunctionTransformer) and names is not None:
        function = getattr(step.func, "__name__", None)
        return [str(name) if function is None else f"{function}({name})" for name in names]
    if isinstance(step, Pipeline):
        for _, each in step.steps:
            names = names if each in (None, "passthrough") else _names_after(each, names)
        return None if names is None else list(names)
    own = getattr(step, "feature_names_in_", names)
    try:
        after = [str(name) for name in step.get_feature_names_out(own)]
        return list(names) if names is not None and own is not None and after == [str(name) for name in own] else after
    except (AttributeError, ValueError, TypeError):
        pass
    if isinstance(step, ColumnTransformer) and names is not None:
        given = [str(name) for name in names]
        found = [
            _names_after(part, [given[j] for j in step._transformer_to_input_indices[name]])
            for name, part, _ in step.transformers_
            if part != "drop" and len(step._transformer_to_input_indices[name])
        ]
        return None if any(each is None for each in found) else [name for each in found for name in each or ()]
    return None
