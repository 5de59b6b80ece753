"""Models in files: a JSON header and plain arrays in a zip archive, from which nothing is ever run.

An estimator gives what it has learned by ``_state(resume)``, as nested dictionaries of numbers, strings, arrays and CSR
matrices, and takes it back by ``_restore(state)``, which checks it. `numpy.load` reads the arrays too.
"""

import json
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ravine import __version__, cluster, semi_supervised
from ravine._files import written_whole
from ravine.persist import _archive
from ravine.persist._archive import MAX_MEMBERS
from ravine.persist._values import Given, bounded, decode, encode

FORMAT, FORMAT_VERSION = "ravine model", 1

ESTIMATORS = {
    name: member
    for package in (cluster, semi_supervised)
    for name in package.__all__
    if issubclass(member := getattr(package, name), BaseEstimator)
}
"""What can be saved; a file can name nothing else."""

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
"""What a header holds."""

LONGEST_COMPLAINT = 500
"""Letters of what is said about a file, which may have put its own words there."""


@dataclass(frozen=True)
class Saved:
    """What a file holds.

    The parameters are also the attributes that are there to be read.

    Parameters
    ----------
    model : estimator
        Fitted.
    notes : dict or None
        What was given to `save` with it.
    ravine_version : str
        Version that wrote the file.

    See Also
    --------
    read : Gives it.

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
    ({'unit': 'm'}, PDDP(n_clusters=2, criterion='mean'))
    """

    model: Any
    notes: dict[str, Any] | None
    ravine_version: str


def save(
    model: Any, path: str | os.PathLike[str], *, resume: bool = True, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted model to a file.

    The same model gives the same bytes. Callbacks and what `set_output` has set are not kept.

    Parameters
    ----------
    model : fitted estimator of ravine
        A clusterer or a classifier.
    path : path-like
        A file that is there is replaced, once the new one is whole.
    resume : bool, default=True
        Keep `labels_`, or a classifier's `transduction_`, and all that `partial_fit` needs to go on as if never
        interrupted. For `IncrementalMDH` that is its sample of up to `sample_size` **rows of the data**. With False the
        file has no rows, only their means: the model predicts, transforms and can be cut and described, but it does not
        go on learning. `SumOfNorms` predicts by its rows, and is not saved without them; every file of a
        `SupportVectorClustering` has its vectors and a sample of up to 2,000 rows, by which it predicts.
    notes : mapping, optional
        Anything that JSON can hold, to be kept with the model; `read` gives it back.

    See Also
    --------
    load : The model back.
    ravine.persist.read : The model with its notes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ravine import PDDP, load, save
    >>> from ravine.datasets import make_blobs
    >>> X, y = make_blobs(500, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = PDDP().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "blobs.ravine")
    ...     same = load(Path(folder) / "blobs.ravine")
    >>> (same.predict(X) == model.labels_).all()
    np.True_
    """
    name = type(model).__name__
    if ESTIMATORS.get(name) is not type(model):
        raise ValueError(f"{name} cannot be saved: ravine saves its own estimators, {', '.join(sorted(ESTIMATORS))}")
    check_is_fitted(model, msg="this %(name)s is not fitted yet: call fit before it is saved")
    model._validate_params()  # they may have been set after the fit, and `load` would refuse them
    arrays: dict[str, NDArray[Any]] = {}
    names = getattr(model, "feature_names_in_", None)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "ravine_version": __version__,
        "estimator": name,
        "parameters": {key: _parameter(key, value, arrays) for key, value in model.get_params(deep=False).items()},
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else [str(column) for column in names],
        "state": encode(model._state(resume), "state", arrays),
        "notes": _checked_notes(notes),
    }
    if len(arrays) >= MAX_MEMBERS:
        raise ValueError(f"{len(arrays)} arrays are more than a file keeps: pass lists of arrays as one array")
    text = json.dumps(header, indent=1, allow_nan=False)
    _check_that_it_loads(name, text, arrays)
    with written_whole(path) as place:
        _archive.write(place, text, arrays)


def _check_that_it_loads(name: str, text: str, arrays: dict[str, NDArray[Any]]) -> None:
    """ValueError names the field for which `load` would refuse a file."""
    try:
        _saved(text, {key: lambda array=array: array for key, array in arrays.items()})  # type: ignore[misc]
    except RecursionError:
        raise ValueError(f"this {name} cannot be saved: a parameter or a note is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"this {name} cannot be saved, for load would refuse it: {_shortened(error)}") from error


def load(path: str | os.PathLike[str]) -> Any:
    """Model that `save` wrote; ValueError says what is wrong with a file that it did not write.

    Whatever the file holds, no code from it is run.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : fitted estimator
        Which predicts as the one that was saved.

    See Also
    --------
    save : Writes the file.
    ravine.persist.read : The model with its notes.

    Examples
    --------
    >>> import tempfile
    >>> from ravine import PDDP, load, save
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.ravine")
    ...     same = load(folder + "/model.ravine")
    >>> same.predict([[0.5], [8.0]])
    array([0, 1])
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> Saved:
    """Model that `save` wrote, with the notes that were saved with it.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    saved : Saved
        The model, its notes, and the version that wrote them.

    See Also
    --------
    ravine.load : The model alone.

    Examples
    --------
    >>> import tempfile
    >>> from ravine import PDDP, save
    >>> from ravine.persist import read
    >>> model = PDDP(n_clusters=2, criterion="mean").fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.ravine", notes={"rows": "of May"})
    ...     read(folder + "/model.ravine").notes
    {'rows': 'of May'}
    """
    try:
        with _archive.opened(path) as (text, arrays):
            return _saved(text, arrays)
    except RecursionError:
        raise ValueError(f"{os.fspath(path)}: the header is nested too deeply") from None
    except OSError:
        raise
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {_shortened(error)}") from error


def _saved(text: str, arrays: Given) -> Saved:
    header = _checked_header(_archive.parsed_json(text))
    with np.errstate(all="ignore"):  # numbers that make no sense are refused, not warned of
        model = _model(header, arrays)
    if arrays:
        raise ValueError(f"has arrays that the header does not name: {', '.join(sorted(arrays))}")
    return Saved(model, header["notes"], header["ravine_version"])


def _shortened(error: ValueError) -> str:
    said = str(error)
    return said if len(said) <= LONGEST_COMPLAINT else f"{said[:LONGEST_COMPLAINT]}…"


def _model(header: dict[str, Any], arrays: Given) -> Any:
    """Estimator from what the file holds; each array that is used is taken out of `arrays`."""
    estimator = ESTIMATORS.get(header["estimator"])
    if estimator is None:
        raise ValueError(
            f"holds a {header['estimator'][:50]}, and this version of ravine knows {', '.join(ESTIMATORS)}"
        )
    parameters = {name: decode(node, arrays) for name, node in header["parameters"].items()}
    unknown = sorted(parameters.keys() - set(estimator._get_param_names()))
    if unknown:
        raise ValueError(f"{header['estimator']} has no parameter {unknown[0]!r}")
    model = estimator(**parameters)
    model._validate_params()
    model.n_features_in_ = header["n_features_in"]
    names = header["feature_names"]
    if model.n_features_in_ < 1 or (names is not None and len(names) != model.n_features_in_):
        raise ValueError("field 'n_features_in' is not positive, or 'feature_names' has another length")
    if names is not None:
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise ValueError("field 'feature_names' has an entry that is not a string, or stands twice")
        model._set_feature_names(names)
    model._restore(decode(header["state"], arrays))
    return model


def _parameter(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    try:
        return encode(value, f"parameters.{name}", arrays)
    except ValueError as error:
        raise ValueError(
            f"parameter {name!r} cannot be saved: {error}; give it another value, set_params({name}=...), before save"
        ) from None


def _checked_notes(notes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if notes is None:
        return None
    given = dict(notes)
    try:
        same = json.loads(json.dumps(given, allow_nan=False)) == given
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"notes cannot be written as JSON: {error}") from None
    if not same:
        raise ValueError("notes would not come back from JSON as they are: use strings as keys, lists for tuples")
    return given


def _checked_header(header: Any) -> dict[str, Any]:
    """The header, with the types of its fields checked."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("is not a model saved by ravine: the header does not say so")
    version = header.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(
            f"was written by ravine {str(header.get('ravine_version'))[:50]} in format {version}; "
            f"this version reads format {FORMAT_VERSION}: update ravine"
        )
    if header.keys() != FIELDS.keys():
        raise ValueError(f"the header needs the fields {list(FIELDS)}; it has {reprlib.repr(sorted(header))}")
    for name, kind in FIELDS.items():
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise ValueError(f"field {name!r} of the header is {type(header[name]).__name__}")
    if version != FORMAT_VERSION:
        raise ValueError(f"there is no format {version}")
    bounded(header["n_features_in"])
    return header
