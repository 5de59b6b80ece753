"""A model as a JSON document, for readers in other languages: its schema is `docs/_static/export.schema.json`."""

import json
import math
from typing import Any

import numpy as np

from ravine import __version__
from ravine._matrix import Floats
from ravine.export._recipe import InputColumn, Levels, Recipe, Scaling, Step, recipe_of
from ravine.tree._mixture import Mixture

FORMAT, FORMAT_VERSION = "ravine export", 1
"""Name of the format, and its version. A reader should refuse a version that it does not know."""


def to_json(model: Any, *, indent: int | None = None) -> str:
    """Write a model as a JSON document, from which a program in any language can give the labels of `predict`.

    Parameters
    ----------
    model : fitted estimator with a tree, Pipeline that ends with one, or HyperplaneTree
        The steps of a pipeline may scale, choose and project columns, divide rows by their norms and fill gaps, or be a
        `TableEncoder` of numbers and categories, with ``category_encoding="indicators"``.
    indent : int, optional
        Number of spaces by which to indent; None puts everything into one line.

    Returns
    -------
    text : str
        The document. Numbers have all their digits. There is no infinity in it, and no NaN.

    See Also
    --------
    to_python : Writes a function in Python.

    Notes
    -----
    The file ``docs/_static/export.schema.json`` is its JSON Schema, and says what to compute. `format_version` changes
    if a reader would have to change.

    Examples
    --------
    >>> import json
    >>> from ravine import PDDP
    >>> from ravine.export import to_json
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[100.0], [120.0], [880.0], [900.0]])
    >>> document = json.loads(to_json(model))
    >>> document["columns"], document["n_clusters"]
    ([{'name': 'x0'}], 2)
    >>> list(document["nodes"][0])
    ['normal', 'offset', 'left', 'right']
    >>> document["nodes"][1:]
    [{'label': 0, 'count': 2.0}, {'label': 1, 'count': 2.0}]
    """
    return json.dumps(document_of(recipe_of(model)), indent=indent, ensure_ascii=False, allow_nan=False)


def document_of(recipe: Recipe) -> dict[str, Any]:
    """Return the content of the document."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "ravine_version": __version__,
        "estimator": recipe.estimator,
        "n_clusters": recipe.tree.n_clusters,
        "columns": [_column(column) for column in recipe.columns],
        "most_estimated": recipe.most_estimated,
        "steps": _steps(recipe.steps),
        "nodes": [_node(recipe, node) for node in range(recipe.tree.n_nodes)],
        "mixture": None if recipe.tree.mixture is None else _mixture(recipe.tree.mixture),
    }


def _column(column: InputColumn) -> dict[str, Any]:
    encoding = column.encoding
    if encoding is None:
        return {"name": column.name}
    if isinstance(encoding, Levels):
        levels = [
            {"word": name.lower(), "numbers": numbers}
            for name, numbers in zip(encoding.names, encoding.numbers.tolist(), strict=True)
        ]
        others = {"other": encoding.other.tolist(), "gap": encoding.gap.tolist()}
        return {"name": column.name, "levels": levels, **others, "gap_words": list(encoding.gap_words)}
    return {"name": column.name, "scaling": _scaling(encoding)}


def _scaling(scaling: Scaling) -> dict[str, Any]:
    log = {"log": {"offset": scaling.offset, "knee": scaling.knee}} if scaling.is_log else {}
    names = ("low", "high", "reach", "center", "scale", "weight", "fill")
    return {"gaps": list(scaling.gaps), **log, **{name: getattr(scaling, name) for name in names}}


def _steps(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    return [_step(step) for step in steps]


def _step(step: Step) -> dict[str, Any]:
    if step.kind == "join":
        parts = [{"columns": columns.tolist(), "steps": _steps(inner)} for columns, inner in step.parts]
        return {"do": "join", "parts": parts}
    if step.kind == "normalize":
        return {"do": "normalize", "norm": step.values}
    return {"do": step.kind, "values": _finite(step.values)}


def _finite(values: Any) -> Any:
    """Return an array as lists, with None for NaN."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values.tolist()
    return [None if math.isnan(value) else value for value in values.tolist()]


def _node(recipe: Recipe, node: int) -> dict[str, Any]:
    tree = recipe.tree
    if tree.is_leaf[node]:
        return {"label": int(tree.label[node]), "count": float(tree.count[node])}
    children = {"left": int(tree.left[node]), "right": int(tree.right[node])}
    surface = tree.surface[node]
    if surface is None:
        return {"normal": tree.normal[node].tolist(), "offset": float(tree.offset[node]), **children}
    arrays = ("directions", "positions", "is_left")
    return {**{name: getattr(surface, name).tolist() for name in arrays}, **children}


def _mixture(mixture: Mixture) -> dict[str, Any]:
    """Return what gives labels and memberships; the constants are computed here, so that a reader needs no gamma."""
    is_gaussian = math.isinf(mixture.freedom)
    common: dict[str, Any] = {
        "decides": mixture.decides,
        "freedom": None if is_gaussian else mixture.freedom,
        "power": None if is_gaussian else mixture.power,
        "factors": [lower_rows(mixture, factor) for factor in mixture.factor],
    }
    if is_gaussian:
        center, constant, direction = mixture.planes
        common |= {"center": center.tolist()}
    else:
        constant, direction = mixture.constant, None
    components = []
    for k in range(len(mixture.weight)):
        component = {
            "cluster": int(mixture.cluster[k]),
            "weight": float(mixture.weight[k]),
            "constant": float(constant[k]),
            "mean": mixture.mean[k].tolist(),
            "factor": k if len(mixture.factor) > 1 else 0,
        }
        component |= {} if direction is None else {"direction": direction[k].tolist()}
        component |= {} if mixture.limit is None else {"limit": float(mixture.limit[k])}
        components.append(component)
    return {**common, "components": components}


def lower_rows(mixture: Mixture, factor: Floats) -> list[list[float]]:
    """Return the rows of a lower triangular matrix, without the zeros above its diagonal and without rows of zeros."""
    return [factor[j, : j + 1].tolist() for j in mixture.described]
