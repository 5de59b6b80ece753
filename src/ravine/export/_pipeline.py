"""The transformers of scikit-learn whose work an export can repeat, operation by operation.

The operations are those of `transform`, in the same order, so that numbers are rounded as in `predict`.
"""

from typing import Any

import numpy as np
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
from sklearn.utils.validation import check_is_fitted

from ravine.export._recipe import ExportError, Kind, Step, applied
from ravine.tree._pipeline import kept_by


def steps_of(step: Any, where: str) -> tuple[Step, ...]:
    """Return the operations of a fitted transformer. Raises ExportError, which names it by `where`, if there are none.

    Parameters
    ----------
    step : transformer, Pipeline of transformers, None or "passthrough"
    where : str
        What an error calls it.
    """
    if isinstance(step, str) or step is None:
        return ()
    if isinstance(step, Pipeline):
        return tuple(each for name, inner in step.steps for each in steps_of(inner, f"{where}, step {name!r}"))
    check_is_fitted(step)
    match step:
        case StandardScaler():
            return _scaled(step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None)
        case RobustScaler():
            return _scaled(step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None)
        case MinMaxScaler():
            edges = np.repeat(np.array([step.feature_range], dtype=np.float64).T, len(step.scale_), axis=1)
            clip = (Step("clip", edges),) if step.clip else ()
            return (_number("multiply", step.scale_), _number("add", step.min_), *clip)
        case MaxAbsScaler() if not getattr(step, "clip", False):
            return (_number("divide", step.scale_),)
        case Normalizer():
            return (Step("normalize", step.norm),)
        case PCA():
            return _projected(step)
        case TruncatedSVD():
            return (_number("project", step.components_),)
        case SimpleImputer() if step.missing_values != step.missing_values and not step.add_indicator:
            return _imputed(step, where)
        case FunctionTransformer() if step.func is None:
            return ()
        case ColumnTransformer():
            return (_joined(step, where),)
    raise ExportError(
        f"{where} is a {type(step).__name__}, which cannot be exported: use StandardScaler, RobustScaler, "
        "MinMaxScaler, MaxAbsScaler, Normalizer, SimpleImputer, PCA, TruncatedSVD, a ColumnTransformer of these, or a "
        "TableEncoder; or do this step before the pipeline, and export the rest"
    )


def _number(kind: Kind, values: Any) -> Step:
    return Step(kind, np.asarray(values, dtype=np.float64))


def _scaled(center: Any, scale: Any) -> tuple[Step, ...]:
    shift = () if center is None else (_number("subtract", center),)
    return (*shift, *(() if scale is None else (_number("divide", scale),)))


def _projected(step: PCA) -> tuple[Step, ...]:
    """Return the operations of PCA, which subtracts the projection of the mean."""
    shift = step.mean_.reshape(1, -1) @ step.components_.T
    steps = (_number("project", step.components_), _number("subtract", shift[0]))
    if not step.whiten:
        return steps
    scale = np.sqrt(step.explained_variance_)
    least = np.finfo(scale.dtype).eps
    return (*steps, _number("divide", np.maximum(scale, least)))


def _imputed(step: SimpleImputer, where: str) -> tuple[Step, ...]:
    kept = np.flatnonzero(kept_by(step))
    try:
        fills = np.asarray(step.statistics_, dtype=np.float64)[kept]
    except (TypeError, ValueError):
        raise ExportError(f"{where} fills in words, which cannot be exported: use a TableEncoder") from None
    return (Step("choose", kept), Step("fill", fills))


def _joined(step: ColumnTransformer, where: str) -> Step:
    """Return the parts of a `ColumnTransformer`, each with its columns."""
    weights = step.transformer_weights or {}
    parts = []
    for name, part, _ in step.transformers_:
        columns = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)
        if (isinstance(part, str) and part == "drop") or not len(columns):
            continue
        steps = steps_of(part, f"{where}, part {name!r}")
        if name in weights:
            n_out = applied(steps, np.ones((1, len(columns)))).shape[1]
            steps = (*steps, _number("multiply", np.full(n_out, float(weights[name]))))
        parts.append((columns, steps))
    return Step("join", parts=tuple(parts))
