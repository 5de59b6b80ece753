"""Read the tree of a file, with the encoder of its table, without scikit-learn.

Most files of the command line are such: a model of a tree method, alone or after a `TableEncoder`. Whatever is unusual
about a file is left to `_models.read`, which reads all of them and says what is wrong.
"""

import os
from dataclasses import dataclass
from typing import Any

from ravine.cluster._read_only import read_only_class
from ravine.persist import _archive
from ravine.persist._header import FIELDS, PIPELINE, Saved, check_fields, saved
from ravine.persist._own import own_model
from ravine.persist._values import Given

N_STEPS = 2
"""Number of steps of a pipeline that `ravine cluster` saves: the encoder and the model."""

FITTED = {name: FIELDS[name] for name in ("parameters", "n_features_in", "feature_names", "state")}
STEP = {"class": str, **FITTED, "output": type(None)}
"""Fields of a fitted step whose output is not changed by `set_output`, and their types."""


@dataclass(frozen=True)
class EncodedModel:
    """A fitted encoder of tables, and the model of its rows. It has the steps of a pipeline."""

    steps: list[tuple[str, Any]]


def read_only(path: str | os.PathLike[str]) -> Saved:
    """Load a model with its notes, like `ravine.persist.read`, but without its estimator if that is possible.

    The result predicts and describes itself as the estimator does, and cannot learn. Models that need more, and files
    that are not valid, are left to `read`.
    """
    try:
        with _archive.opened(path) as (text, arrays):
            return saved(text, arrays, lambda fields: _model(fields, arrays))
    except (ValueError, RecursionError):
        pass  # the error refers to what was read so far, which is freed before the file is read again
    from ravine.persist._models import read

    return read(path)


def _model(fields: dict[str, Any], arrays: Given) -> Any:
    if "steps" not in fields:
        return own_model(_of_tree(fields["estimator"]), fields, arrays)
    check_fields(fields, PIPELINE, "a pipeline")
    if len(fields["steps"]) != N_STEPS or fields["transform_input"] is not None:
        raise ValueError("this pipeline needs scikit-learn")
    steps = []
    for position, entry in enumerate(fields["steps"]):
        check_fields(entry, {"name": str, "step": dict}, "a step")
        node = entry["step"]
        check_fields(node, STEP, "a step")
        made = _of_tree(node["class"]) if position else _encoder(node["class"])
        steps.append((entry["name"], own_model(made, {"estimator": node["class"], **node}, arrays)))
    (before, encoder), (name, model) = steps
    n_columns = len(encoder.get_feature_names_out())
    if before == name or not before or not name or "__" in before + name or n_columns != model.n_features_in_:
        raise ValueError("the steps of this pipeline do not fit together")
    return EncodedModel(steps)


def _of_tree(name: str) -> Any:
    made = read_only_class(name)
    if made is None:
        raise ValueError(f"a {name} needs scikit-learn")
    return made


def _encoder(name: str) -> Any:
    if name != "TableEncoder":
        raise ValueError(f"a {name} needs scikit-learn")
    from ravine.prepare._read_only import TableEncoder  # it needs pyarrow

    return TableEncoder
