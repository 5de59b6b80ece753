"""The parts of a saved model: an estimator of ravine, a transformer of scikit-learn, or a composition of these.

A part becomes a dictionary for the header of a file, and its arrays go into the archive. A pipeline and a
`ColumnTransformer` have parts of their own. A file refers to a class by its name in a table here or in
`_transformers`, never by the name of a module.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine import cluster, semi_supervised
from ravine._schema import Custom, Either, FieldError, Group, Number
from ravine.persist._header import PIPELINE, SIMPLE, check_fields
from ravine.persist._own import own_model, set_columns
from ravine.persist._transformers import KINDS, Kind
from ravine.persist._values import Given, decode, encode

ESTIMATORS: dict[str, Any] = {
    name: member
    for package in (cluster, semi_supervised)
    for name in package.__all__
    if issubclass(member := getattr(package, name), BaseEstimator)
}
"""Estimators that can be saved. A file cannot refer to any other class."""

PREPARATIONS = {"TableEncoder": "ravine.prepare"}
"""Transformers of ravine that can be saved as steps of a pipeline, and their modules, which need more packages.

A class needs what an estimator of ravine has for its files: `_state`, `_restore` and `_schema`. Name a new one here.
"""

MOST_PARTS, MOST_CHOSEN = 1000, 1 << 18
"""Largest number of parts of a pipeline, and of columns that all its column transformers together choose."""

OUTPUTS = ("default", "pandas", "polars")
"""What `set_output` can make of the result of a step."""

Arrays = dict[str, NDArray[Any]]
Node = Any
"""A part as the header of a file has it: a dictionary, or one of the words "drop" and "passthrough"."""


class UnsavableError(ValueError):
    """An error about a part that cannot be saved: where it is, and why."""


# Estimators and transformers of ravine


def own_fields(model: Any, resume: bool, arrays: Arrays, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a fitted model of ravine for the header of a file."""
    check_is_fitted(model, msg="this %(name)s is not fitted yet: call fit before save")
    model._validate_params()  # they may have changed after the fit, and `load` would reject them
    names = getattr(model, "feature_names_in_", None)
    return {
        "estimator": type(model).__name__,
        "parameters": {
            key: _parameter(key, value, arrays, prefix) for key, value in model.get_params(deep=False).items()
        },
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else [str(column) for column in names],
        "state": encode(model._state(resume), f"{prefix}state", arrays),
    }


def _own_class(name: str) -> Any:
    """Return the class of ravine with this name, None if there is none."""
    return getattr(import_module(PREPARATIONS[name]), name) if name in PREPARATIONS else ESTIMATORS.get(name)


def own_class(fields: Mapping[str, Any]) -> Any:
    """Return the class of ravine that the fields name. Raises ValueError if there is none."""
    name = fields["estimator"]
    made = _own_class(name)
    if made is None:
        raise ValueError(f"contains a {name[:50]}, but this version of ravine knows only {', '.join(ESTIMATORS)}")
    return made


def _parameter(name: str, value: Any, arrays: Arrays, prefix: str) -> Any:
    try:
        return encode(value, f"{prefix}parameters.{name}", arrays)
    except ValueError as error:
        raise ValueError(
            f"parameter {name!r} cannot be saved: {error}; change it with set_params({name}=...) before save"
        ) from None


# Parts of a pipeline


def packed(part: Any, where: str, resume: bool, arrays: Arrays, prefix: str, fitted: bool = True) -> Node:
    """Return a part for the header of a file; its arrays go into `arrays`, under names that start with `prefix`.

    Raises UnsavableError, which names the part by `where`, if it cannot be saved. A part of a `ColumnTransformer` that
    has no columns is not fitted.
    """
    if isinstance(part, str) or part is None:
        return part
    name = type(part).__name__
    own = _own_class(name)
    kind = KINDS.get(name)
    compositions: dict[Any, Callable[..., dict[str, Any]]]
    compositions = {Pipeline: _packed_pipeline, ColumnTransformer: _packed_columns}
    packs = compositions.get(type(part))
    if own is not type(part) and (kind is None or kind.made is not type(part)) and packs is None:
        raise UnsavableError(
            f"{where} is a {name}, which ravine cannot save: apply it before the pipeline and save the rest, use one "
            f"of {', '.join(sorted([*KINDS, *PREPARATIONS, 'ColumnTransformer', 'Pipeline']))} instead, or pickle the "
            "pipeline"
        )
    try:
        if packs is not None:
            return {"class": name, **packs(part, where, resume, arrays, prefix, fitted), "output": output_of(part)}
        if own is not None:
            fields = own_fields(part, resume, arrays, prefix) if fitted else _unfitted(part, arrays, prefix)
            return {"class": fields.pop("estimator"), **fields, "output": output_of(part)}
        assert kind is not None
        return {"class": name, **_packed_kind(kind, part, arrays, prefix, fitted), "output": output_of(part)}
    except UnsavableError:
        raise
    except (ValueError, AttributeError, TypeError) as error:
        raise UnsavableError(f"{where} is a {name} that ravine cannot save: {error}") from error


def _unfitted(part: Any, arrays: Arrays, prefix: str) -> dict[str, Any]:
    given = part.get_params(deep=False)
    return {
        "estimator": type(part).__name__,
        "parameters": {key: _parameter(key, value, arrays, prefix) for key, value in given.items()},
        **dict.fromkeys(("n_features_in", "feature_names", "state")),
    }


def _packed_kind(kind: Kind, part: Any, arrays: Arrays, prefix: str, fitted: bool) -> dict[str, Any]:
    node: dict[str, Any] = {
        "parameters": encode(kind.parameters_of(part), f"{prefix}parameters", arrays),
        **dict.fromkeys(("n_features_in", "feature_names", "state")),
    }
    if fitted:
        check_is_fitted(part)
        names = getattr(part, "feature_names_in_", None)
        node["n_features_in"] = int(part.n_features_in_)
        node["feature_names"] = None if names is None else [str(name) for name in names]
        node["state"] = encode(kind.state_of(part), f"{prefix}state", arrays)
    return node


def output_of(part: Any) -> str | None:
    """Return what `set_output` has made of the result of a transformer, if it was called."""
    chosen = getattr(part, "_sklearn_output_config", {}).get("transform")
    return None if chosen is None else str(chosen)


def unpacked(node: Node, arrays: Given, fitted: bool = True) -> Any:
    """Create a part from its fields in the header. Raises ValueError if a field is wrong."""
    if node is None or (isinstance(node, str) and node in ("passthrough", "drop")):
        return node
    if not isinstance(node, dict) or not isinstance(node.get("class"), str):
        raise ValueError("a step is neither a class with its fields nor 'passthrough'")
    name, output = node["class"], node.get("output")
    fields = {key: value for key, value in node.items() if key not in ("class", "output")}
    if output is not None and output not in OUTPUTS:
        raise ValueError("field 'output' of a step must be one of " + ", ".join(OUTPUTS))
    if "output" not in node:
        raise ValueError("field 'output' of a step is missing")
    try:
        part = _created(name, fields, arrays, fitted)
    except FieldError as error:
        raise ValueError(f"{error} ({name[:50]})") from None
    if output is not None:
        _set_output(part, output)
    return part


def _set_output(part: Any, output: str) -> None:
    """Set the output of this part only: the parts of a composition have their own."""
    if not hasattr(part, "set_output"):
        raise ValueError(f"a {type(part).__name__} has no field 'output'")
    if isinstance(part, ColumnTransformer):
        part._sklearn_output_config = {"transform": output}
    elif not isinstance(part, Pipeline):
        part.set_output(transform=output)


COLUMNS = {
    "parameters": dict,
    "n_features_in": int | None,
    "feature_names": list | None,
    "sparse_output": bool | None,
    "parts": list,
    "remainder": dict,
}
"""Fields of a `ColumnTransformer`, and their types."""


def _created(name: str, fields: dict[str, Any], arrays: Given, fitted: bool) -> Any:
    if name == "Pipeline":
        return pipeline(fields, arrays, fitted)
    if name == "ColumnTransformer":
        return _columns(fields, arrays, fitted)
    check_fields(fields, SIMPLE, f"a {name[:50]}")
    is_whole = fields["n_features_in"] is not None and fields["state"] is not None
    if is_whole is not fitted:
        raise ValueError(f"a {name[:50]} is {'not fitted' if fitted else 'fitted, but has no columns'}")
    if name not in KINDS:
        if fitted:
            whole = {"estimator": name, **fields}
            return own_model(own_class(whole), whole, arrays)
        raise ValueError(f"contains a {name[:50]} that is not fitted")
    kind = KINDS[name]
    part = kind.create(decode(fields["parameters"], arrays))
    if fitted:
        set_columns(part, fields["n_features_in"], fields["feature_names"])
        kind.restore(part, decode(fields["state"], arrays))
    return part


# Pipelines


def _packed_pipeline(
    pipe: Any, where: str, resume: bool, arrays: Arrays, prefix: str, fitted: bool = True
) -> dict[str, Any]:
    inside = "" if where == "" else f"{where}, "
    return {
        "steps": [
            {"name": name, "step": packed(step, f"{inside}step {name!r}", resume, arrays, f"{prefix}{i}.", fitted)}
            for i, (name, step) in enumerate(pipe.steps)
        ],
        "verbose": bool(pipe.verbose),
        "transform_input": pipe.transform_input,
    }


def packed_pipeline(pipe: Any, resume: bool, arrays: Arrays) -> dict[str, Any]:
    """Return the fields of a whole pipeline, whose last step is an estimator of ravine."""
    if not pipe.steps or ESTIMATORS.get(type(pipe.steps[-1][1]).__name__) is not type(pipe.steps[-1][1]):
        last = type(pipe.steps[-1][1]).__name__ if pipe.steps else "missing"
        raise UnsavableError(
            f"the last step is {last}: ravine can save pipelines that end with one of its own estimators, "
            f"{', '.join(sorted(ESTIMATORS))}"
        )
    fields = _packed_pipeline(pipe, "", resume, arrays, "steps.")
    fields["steps"][-1]["step"]["output"] = None  # as for an estimator that is saved alone
    return fields


def unpacked_pipeline(fields: Mapping[str, Any], arrays: Given) -> Pipeline:
    """Create a whole pipeline from its fields, after a check that it has not too many parts and columns."""
    nodes = list(_nodes(fields))
    n_chosen = sum(_n_chosen(node) for node in nodes)
    if len(nodes) > MOST_PARTS or n_chosen > MOST_CHOSEN:
        raise ValueError(
            f"has {len(nodes)} parts and {n_chosen} columns in parts; a pipeline has at most {MOST_PARTS} and "
            f"{MOST_CHOSEN}"
        )
    pipe = pipeline(fields, arrays)
    if type(pipe.steps[-1][1]).__name__ not in ESTIMATORS:
        raise ValueError("the last step of the pipeline is not an estimator of ravine")
    return pipe


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Iterate over the fields of all parts."""
    if isinstance(value, list):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, Mapping):
        if "class" in value:
            yield dict(value)
        for name in ("steps", "step", "parts", "part", "remainder"):
            yield from _nodes(value.get(name))


def _n_chosen(node: dict[str, Any]) -> int:
    """Return an upper bound on the number of positions of columns that a part keeps."""
    parts, n_features = node.get("parts"), node.get("n_features_in")
    if not isinstance(parts, list) or type(n_features) is not int:
        return 0
    n_slices = sum(isinstance(each, dict) and isinstance(each.get("columns"), dict) for each in parts)
    return (1 + n_slices) * max(n_features, 0)


def pipeline(fields: Mapping[str, Any], arrays: Given, fitted: bool = True) -> Pipeline:
    """Create a pipeline from its fields. Raises ValueError if a field is wrong, or if two steps do not fit together."""
    check_fields(fields, PIPELINE, "a pipeline")
    for entry in fields["steps"]:
        check_fields(entry, {"name": str, "step": dict | str | None}, "a step")
    names = [entry["name"] for entry in fields["steps"]]
    if not names or len(set(names)) < len(names) or any(not name or "__" in name for name in names):
        raise ValueError("a pipeline needs steps with names that differ, are not empty, and have no double underscore")
    wanted = fields["transform_input"]
    if wanted is not None and not all(isinstance(name, str) for name in wanted):
        raise ValueError("field 'transform_input' has an entry that is not a string")
    steps = [(entry["name"], _step(entry, arrays, fitted)) for entry in fields["steps"]]
    for name, step in steps:
        if step == "drop" or (step != "passthrough" and step is not None and not hasattr(step, "fit")):
            raise ValueError(f"step {name[:50]!r} cannot be a step of a pipeline")
    if fitted:
        _check_widths([(name, step) for name, step in steps if step not in (None, "passthrough")])
    return Pipeline(steps, transform_input=wanted, verbose=fields["verbose"])


def _step(entry: dict[str, Any], arrays: Given, fitted: bool) -> Any:
    try:
        return unpacked(entry["step"], arrays, fitted)
    except ValueError as error:
        raise ValueError(f"step {entry['name'][:50]!r}: {error}") from error


def _check_widths(steps: Sequence[tuple[str, Any]]) -> None:
    """Raise ValueError unless each step takes as many columns as the step before it returns."""
    for (before, one), (name, other) in pairwise(steps):
        if not hasattr(one, "transform"):
            raise ValueError(f"step {before[:50]!r} is not the last one, but cannot transform rows")
        returned, taken = n_columns_out(one), getattr(other, "n_features_in_", None)
        if returned is not None and taken is not None and returned != taken:
            raise ValueError(f"step {before[:50]!r} returns {returned} columns, but step {name[:50]!r} takes {taken}")


def n_columns_out(part: Any) -> int | None:
    """Return the number of columns of the result of a fitted part, or None if that is not known."""
    if isinstance(part, Pipeline):
        known = [step for _, step in part.steps if step not in (None, "passthrough")]
        return n_columns_out(known[-1]) if known else None
    if isinstance(part, ColumnTransformer):
        return max((each.stop for each in part.output_indices_.values()), default=0)
    kind = KINDS.get(type(part).__name__)
    if kind is not None:
        return kind.n_out(part)
    found = getattr(part, "_n_features_out", None)
    return None if found is None else int(found)


# Column transformers

OPTIONS = Group(
    {
        "sparse_threshold": Either((Number(int, low=0, high=1), Number(float, low=0.0, high=1.0))),
        "transformer_weights": Custom(lambda value: _weights(value), optional=True),
        "verbose_feature_names_out": Either((Number(bool), Custom(lambda value: _template(value)))),
    }
)
"""Parameters of a `ColumnTransformer` that a file keeps, besides its parts. Its `n_jobs` belongs to the machine."""

PART = {"name": str, "part": dict | str, "passes": bool, "columns": list | dict | str | int}
REMAINDER = {"part": dict | str, "passes": bool}
"""Fields of a part of a `ColumnTransformer`, and of its remainder, and their types. Whether columns pass unchanged is
told apart, because scikit-learn fits a transformer also for these."""


def _weights(value: Any) -> Any:
    kinds = (int, float)
    if not isinstance(value, dict) or not all(type(each) in kinds and math.isfinite(each) for each in value.values()):
        raise ValueError("must be a dictionary of finite numbers")
    return value


def _template(value: Any) -> Any:
    """Return the template of names; others could look up attributes of what they are given."""
    places = re.findall(r"\{[^}]*\}?", value) if isinstance(value, str) else [""]
    if not set(places) <= {"{transformer_name}", "{feature_name}"} or value.count("}") != len(places):
        raise ValueError("must be true, false, or a template with {transformer_name} and {feature_name}")
    return value


def _packed_columns(part: Any, where: str, resume: bool, arrays: Arrays, prefix: str, fitted: bool) -> dict[str, Any]:
    if fitted and not hasattr(part, "sparse_output_"):
        raise ValueError("it is not fitted, or returns no columns")
    given = part.transformers_ if fitted else [*part.transformers]
    positions = part._transformer_to_input_indices if fitted else {}

    def entry(i: int, given: tuple[str, Any, Any], old: Any) -> dict[str, Any]:
        name, each, columns = given
        is_used = bool(len(positions.get(name, ())))
        if fitted and isinstance(columns, slice) and not is_used:
            raise ValueError(f"its part {name!r} has no columns: leave it out")
        node = packed(each, f"{where}, part {name!r}", resume, arrays, f"{prefix}{i}.", is_used)
        passes = isinstance(old, str) and old == "passthrough"
        return {"name": name, "part": node, "passes": passes, "columns": _packed_selection(columns)}

    n_parts = len(part.transformers)
    olds = [old for _, old, _ in part.transformers]
    entries = [entry(i, each, olds[i]) for i, each in enumerate(given[:n_parts])]
    rest = given[n_parts] if len(given) > n_parts else ("remainder", part.remainder, [])
    remainder = entry(n_parts, rest, part.remainder)
    options = OPTIONS.checked({name: _python(getattr(part, name)) for name in OPTIONS.fields})
    names = getattr(part, "feature_names_in_", None) if fitted else None
    return {
        "parameters": encode(options, f"{prefix}parameters", arrays),
        "n_features_in": int(part.n_features_in_) if fitted else None,
        "feature_names": None if names is None else [str(name) for name in names],
        "sparse_output": bool(part.sparse_output_) if fitted else None,
        "parts": entries,
        "remainder": {name: remainder[name] for name in REMAINDER},
    }


def _python(value: Any) -> Any:
    """Return numbers of NumPy as numbers of Python."""
    if isinstance(value, dict):
        return {key: _python(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _packed_selection(columns: Any) -> Any:
    """Return a choice of columns for a file: a name, a position, a list of either or of true and false, or a slice."""
    if callable(columns):
        raise ValueError("its columns are given by a function that was not called yet")
    if isinstance(columns, slice):
        return {"slice": [_python(end) for end in (columns.start, columns.stop, columns.step)]}
    columns = columns.tolist() if hasattr(columns, "tolist") else columns
    return [_python(each) for each in columns] if isinstance(columns, list | tuple) else columns


def _selection(node: Any) -> Any:
    """Return the choice of columns from a file."""
    if not isinstance(node, dict):
        kinds = {type(each) for each in node} if isinstance(node, list) else {type(node)} - {bool}
        if len(kinds) > 1 or not kinds <= {str, int, bool} or (not kinds and node != []):
            raise ValueError("field 'columns' must have names, positions, or true and false")
        return node
    ends = node.get("slice")
    if node.keys() != {"slice"} or not isinstance(ends, list) or len(ends) != 3:
        raise ValueError("field 'columns' has a slice that cannot be read")
    kinds = {type(end) for end in ends[:2]} - {type(None)}
    if len(kinds) > 1 or not kinds <= {str, int} or type(ends[2]) not in (int, type(None)) or ends[2] == 0:
        raise ValueError("field 'columns' has a slice that cannot be read")
    return slice(*ends)


def _positions(columns: Any, n_features: int, names: list[str] | None) -> list[int]:
    """Return the positions of chosen columns. Raises ValueError if there is no such column."""

    def at(column: Any) -> int:
        if isinstance(column, str):
            if names is None or column not in places:
                raise ValueError(f"there is no column {column[:50]!r}")
            return places[column]
        if not -n_features <= column < n_features:
            raise ValueError(f"there is no column {column}")
        return int(column % n_features)

    places = {name: j for j, name in enumerate(names or ())}
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        start = at(start) if isinstance(start, str) else start
        stop = at(stop) + 1 if isinstance(stop, str) else stop  # a slice of names has its end
        return list(range(n_features))[slice(start, stop, columns.step)]
    if not isinstance(columns, list):
        return [at(columns)]
    if columns and isinstance(columns[0], bool):
        if len(columns) != n_features:
            raise ValueError(f"field 'columns' has {len(columns)} entries for {n_features} columns")
        return [j for j, is_chosen in enumerate(columns) if is_chosen]
    return [at(column) for column in columns]


def _columns(fields: dict[str, Any], arrays: Given, fitted: bool) -> ColumnTransformer:
    """Create a `ColumnTransformer` from its fields."""
    check_fields(fields, COLUMNS, "a ColumnTransformer")
    check_fields(fields["remainder"], REMAINDER, "a remainder")
    for entry in fields["parts"]:
        check_fields(entry, PART, "a part")
    names = [entry["name"] for entry in fields["parts"]]
    if len({*names, "remainder"}) <= len(names) or any(not name or "__" in name for name in names):
        raise ValueError("a ColumnTransformer needs parts with names that differ, are not empty, and have no '__'")
    options = OPTIONS.checked(decode(fields["parameters"], arrays))
    n_features, columns = fields["n_features_in"], [_selection(entry["columns"]) for entry in fields["parts"]]
    if not fitted:
        parts = [unpacked(entry["part"], arrays, False) for entry in fields["parts"]]
        rest = unpacked(fields["remainder"]["part"], arrays, False)
        return ColumnTransformer(list(zip(names, parts, columns, strict=True)), remainder=rest, **options)
    if n_features is None or fields["sparse_output"] is None:
        raise ValueError("a ColumnTransformer is not fitted")
    stub = ColumnTransformer([])
    set_columns(stub, n_features, fields["feature_names"])
    at = {
        name: _positions(each, n_features, fields["feature_names"]) for name, each in zip(names, columns, strict=True)
    }
    used = {j for each in at.values() for j in each}
    at["remainder"] = [j for j in range(n_features) if j not in used]
    parts = [_part(entry, at[entry["name"]], arrays) for entry in fields["parts"]]
    rest = _part({**fields["remainder"], "name": "remainder"}, at["remainder"], arrays)
    given = [_as_given(part, entry["passes"]) for part, entry in zip(parts, fields["parts"], strict=True)]
    whole = ColumnTransformer(
        list(zip(names, given, columns, strict=True)),
        remainder=_as_given(rest, fields["remainder"]["passes"]),
        **options,
    )
    vars(whole).update({name: value for name, value in vars(stub).items() if name.endswith("in_")})
    whole._columns, whole.sparse_output_ = columns, fields["sparse_output"]
    whole._transformer_to_input_indices = {name: at[name] for name in names}
    whole._validate_remainder(None)  # it looks only at what was just set
    whole.transformers_ = list(zip(names, parts, columns, strict=True))
    if at["remainder"]:
        whole.transformers_.append(("remainder", rest, whole._remainder[2]))
    whole.output_indices_ = _ranges_out(whole, at)
    return whole


def _part(entry: dict[str, Any], positions: list[int], arrays: Given) -> Any:
    """Return a part of a `ColumnTransformer`, which is fitted if it has columns."""
    part = unpacked(entry["part"], arrays, bool(positions))
    is_word = part is None or isinstance(part, str)
    if part is None or (not is_word and not hasattr(part, "transform")) or (part == "passthrough" and positions):
        raise ValueError(f"part {entry['name'][:50]!r} cannot transform columns")
    if not is_word and positions and getattr(part, "n_features_in_", len(positions)) != len(positions):
        raise ValueError(
            f"part {entry['name'][:50]!r} was fitted on {part.n_features_in_} columns, but has {len(positions)}"
        )
    return part


def _as_given(part: Any, passes: bool) -> Any:
    """Return what a user passes to a `ColumnTransformer` for a part."""
    return "passthrough" if passes else part if isinstance(part, str) else clone(part)


def _ranges_out(whole: Any, at: dict[str, list[int]]) -> dict[str, slice]:
    """Return which columns of the result each part makes."""
    ranges, start = {}, 0
    for name, part, _ in whole.transformers_:
        if isinstance(part, str) or not at[name]:
            continue
        n_columns = n_columns_out(part)
        if n_columns is None:
            raise ValueError(f"part {name[:50]!r} does not tell how many columns it returns")
        ranges[name] = slice(start, start + n_columns)
        start += n_columns
    return {**ranges, **{name: slice(0, 0) for name in at if name not in ranges}}
