"""The header of a file: its fields, and what they say of the whole file. It does not know how models are made."""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.persist import _archive
from ravine.persist._values import Given, bounded

FORMAT, FORMAT_VERSION, PIPELINE_VERSION = "ravine model", 1, 2
"""Name of the format, and its version for a single model and for a pipeline. A version of ravine that does not know
pipelines reads single models, and asks to be updated for a pipeline."""

FIELDS = {
    "format": str,
    "format_version": int,
    "ravine_version": str,
    "estimator": str,
    "parameters": dict,
    "n_features_in": int,
    "feature_names": list | None,
    "state": dict,
    "notes": dict | None,
}
"""Fields of the header of a single model, and their types."""

PIPELINE = {"steps": list, "verbose": bool, "transform_input": list | None}
"""Fields of a pipeline, and their types."""

SIMPLE = {
    "parameters": dict,
    "n_features_in": int | None,
    "feature_names": list | None,
    "state": dict | None,
}
"""Fields of a step that is not a composition, and their types."""

COMMON = {name: FIELDS[name] for name in ("format", "format_version", "ravine_version", "notes")}
"""Fields of every header, and their types."""

LONGEST_COMPLAINT = 500
"""Longest error message about a file, in characters. It may contain text from the file."""


@dataclass(frozen=True)
class Saved:
    """The content of a saved file.

    The parameters are also attributes.

    Parameters
    ----------
    model : estimator
        The fitted model.
    notes : dict or None
        Notes that were passed to `save`.
    ravine_version : str
        Version of ravine that wrote the file.

    See Also
    --------
    read : Read a file.

    Examples
    --------
    >>> import tempfile
    >>> from ravine import PDDP, save
    >>> from ravine.persist import read
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.ravine", notes={"unit": "m"})
    ...     saved = read(folder + "/model.ravine")
    >>> saved.notes, saved.model
    ({'unit': 'm'}, PDDP(criterion='mean', n_clusters=2))
    """

    model: Any
    notes: dict[str, Any] | None
    ravine_version: str


def saved(text: str, arrays: Given, make: Callable[[dict[str, Any]], Any]) -> Saved:
    """Return the content of a file from its header and its arrays.

    Parameters
    ----------
    text : str
        The header.
    arrays : dict
        Functions that read the arrays. Each array that is used is removed.
    make : callable
        Makes the model of its fields in the header: those of a single model, or those of a pipeline, with "steps".
    """
    header = checked_header(_archive.parsed_json(text))
    fields = {name: header[name] for name in PIPELINE} if "steps" in header else header
    with np.errstate(all="ignore"):  # invalid numbers raise errors, not warnings
        model = make(fields)
    if arrays:
        raise ValueError(f"has arrays that the header does not mention: {', '.join(sorted(arrays))}")
    return Saved(model, header["notes"], header["ravine_version"])


def check_fields(fields: Any, kinds: Mapping[str, Any], what: str) -> None:
    """Raise ValueError unless a dictionary has exactly these fields, with values of these types."""
    if not isinstance(fields, dict) or fields.keys() != kinds.keys():
        raise ValueError(f"{what} must have the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        value = fields[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, bool | None)):
            raise ValueError(f"field {name!r} of {what} has the wrong type {type(value).__name__}")


def shortened(error: ValueError) -> str:
    """Return the message of an error, shortened: it may have any text of a file."""
    said = str(error)
    return said if len(said) <= LONGEST_COMPLAINT else f"{said[:LONGEST_COMPLAINT]}…"


def checked_header(header: Any) -> dict[str, Any]:
    """Check the fields of the header and their types."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("is not a model saved by ravine: its header has another format")
    version = header.get("format_version")
    if type(version) is int and version > PIPELINE_VERSION:
        raise ValueError(
            f"was written by ravine {str(header.get('ravine_version'))[:50]} in format {version}; "
            f"this version reads formats up to {PIPELINE_VERSION}: update ravine"
        )
    fields = {**COMMON, **PIPELINE} if version == PIPELINE_VERSION else FIELDS
    if header.keys() != fields.keys():
        raise ValueError(f"the header must have the fields {list(fields)}, but has {reprlib.repr(sorted(header))}")
    for name, kind in fields.items():
        if not isinstance(header[name], kind) or (isinstance(header[name], bool) and kind is not bool):
            raise ValueError(f"field {name!r} of the header has the wrong type {type(header[name]).__name__}")
    if version not in (FORMAT_VERSION, PIPELINE_VERSION):
        raise ValueError(f"has the unknown format {version}")
    if version == FORMAT_VERSION:
        bounded(header["n_features_in"])
    return header
