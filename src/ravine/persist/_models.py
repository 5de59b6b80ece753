"""Save models and pipelines as a JSON header and plain arrays in a zip archive. No code from a file is ever run.

The method ``_state(resume)`` of an estimator returns what it has learned, as nested dictionaries of numbers, strings,
arrays and CSR matrices. The attribute ``_schema`` declares their fields (`ravine._schema`). A state is checked against
it when it is saved and when it is loaded, before ``_restore(state)``. `numpy.load` can read the arrays, too. The header
of a pipeline has a list of its steps instead, see `_parts`.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine import __version__
from ravine._files import written_whole
from ravine.persist import _archive
from ravine.persist._archive import MAX_MEMBERS
from ravine.persist._header import FORMAT, FORMAT_VERSION, PIPELINE_VERSION, Saved, saved, shortened
from ravine.persist._own import own_model
from ravine.persist._parts import (
    ESTIMATORS,
    UnsavableError,
    own_class,
    own_fields,
    packed_pipeline,
    unpacked_pipeline,
)
from ravine.persist._transformers import difference
from ravine.persist._values import Given


def save(
    model: Any, path: str | os.PathLike[str], *, resume: bool = True, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a fitted model to a file.

    The same model always gives the same bytes. Callbacks and settings of `set_output` are not saved, except between
    the steps of a pipeline.

    Parameters
    ----------
    model : fitted estimator of ravine, or Pipeline
        A clusterer or a classifier, or a pipeline of scikit-learn whose last step is one. Its other steps may be
        `StandardScaler`, `RobustScaler`, `MinMaxScaler`, `MaxAbsScaler`, `Normalizer`, `PowerTransformer`, `PCA`,
        `TruncatedSVD`, `SimpleImputer` of numbers, `OneHotEncoder`, `OrdinalEncoder`, `FunctionTransformer` with a
        function of NumPy such as `log1p`, `ColumnTransformer`, and pipelines of these. The loaded pipeline gives the
        same results, to the last bit. `memory` and `n_jobs` of its steps are not saved.
    path : path-like
        Path of the file. An existing file is replaced once the new one is complete.
    resume : bool, default=True
        If True, save `labels_` (`transduction_` of a classifier) and everything that `partial_fit` needs to continue
        as if it had not been interrupted. For `IncrementalMDH`, this includes its sample of up to `sample_size` **rows
        of the data**. If False, the file contains no rows, only their means: the model can predict, transform, be cut
        and be described, but it cannot continue to learn. `SumOfNorms` needs its rows to predict, so it cannot be
        saved without them. Every file of a `SupportVectorClustering` contains its support vectors and a sample of up
        to 2,000 rows, which it needs to predict.
    notes : mapping, optional
        Notes to save with the model, as values for JSON. `read` returns them.

    See Also
    --------
    load : Load the model.
    ravine.persist.read : Load the model with its notes.

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
    name, arrays = type(model).__name__, dict[str, NDArray[Any]]()
    fields = _fields_of_pipeline(model, resume, arrays) if type(model) is Pipeline else _fields(model, resume, arrays)
    header = {
        "format": FORMAT,
        "format_version": PIPELINE_VERSION if type(model) is Pipeline else FORMAT_VERSION,
        "ravine_version": __version__,
        **fields,
        "notes": _checked_notes(notes),
    }
    if len(arrays) >= MAX_MEMBERS:
        raise ValueError(
            f"the model has {len(arrays)} arrays, more than a file can hold: pass lists of arrays as one array"
        )
    text = json.dumps(header, indent=1, allow_nan=False)
    loaded = _loaded(name, text, arrays)
    if type(model) is Pipeline:
        _check_that_steps_are_equal(model, loaded)
    with written_whole(path) as place:
        _archive.write(place, text, arrays)


def _fields(model: Any, resume: bool, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    name = type(model).__name__
    if ESTIMATORS.get(name) is not type(model):
        raise ValueError(
            f"{name} cannot be saved: ravine can save only its own estimators, {', '.join(sorted(ESTIMATORS))}, and "
            "pipelines of scikit-learn that end with one of them"
        )
    return own_fields(model, resume, arrays)


def _fields_of_pipeline(model: Pipeline, resume: bool, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    check_is_fitted(model, msg="this %(name)s is not fitted yet: call fit before save")
    try:
        return packed_pipeline(model, resume, arrays)
    except UnsavableError as error:
        raise ValueError(f"this Pipeline cannot be saved: {error}") from error.__cause__


def _check_that_steps_are_equal(model: Pipeline, loaded: Pipeline) -> None:
    """Raise ValueError unless the loaded steps before the last one equal the given ones, in all that they know."""
    for (name, step), (_, other) in zip(model.steps[:-1], loaded.steps[:-1], strict=True):
        if (where := difference(step, other)) is not None:
            raise ValueError(
                f"this Pipeline cannot be saved: step {name!r} is a {type(step).__name__} with an attribute that would "
                f"be lost, {where.strip('.') or 'itself'}; fit the pipeline again, or pickle it"
            )


def _loaded(name: str, text: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return what `load` would. Raises ValueError, which names the field, if it would reject the file."""
    try:
        return _saved(text, {key: lambda array=array: array for key, array in arrays.items()}).model  # type: ignore[misc]
    except RecursionError:
        raise ValueError(f"this {name} cannot be saved: a parameter or a note is nested too deeply") from None
    except ValueError as error:
        raise ValueError(
            f"this {name} cannot be saved, because load would reject the file: {shortened(error)}"
        ) from error


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save` wrote.

    No code from the file is run, whatever it contains. A file that `save` did not write raises ValueError.

    Parameters
    ----------
    path : path-like
        Path of the file.

    Returns
    -------
    model : fitted estimator
        The model, with the same predictions as the saved one.

    See Also
    --------
    save : Write the file.
    ravine.persist.read : Load the model with its notes.

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
    """Load a model that `save` wrote, with its notes.

    Parameters
    ----------
    path : path-like
        Path of the file.

    Returns
    -------
    saved : Saved
        The model, its notes, and the version of ravine that wrote the file.

    See Also
    --------
    ravine.load : Load only the model.

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
        raise ValueError(f"{os.fspath(path)}: {shortened(error)}") from error


def _saved(text: str, arrays: Given) -> Saved:
    return saved(text, arrays, lambda fields: _model(fields, arrays))


def _model(fields: dict[str, Any], arrays: Given) -> Any:
    return unpacked_pipeline(fields, arrays) if "steps" in fields else own_model(own_class(fields), fields, arrays)


def _checked_notes(notes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if notes is None:
        return None
    given = dict(notes)
    try:
        same = json.loads(json.dumps(given, allow_nan=False)) == given
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"notes cannot be written as JSON: {error}") from None
    if not same:
        raise ValueError("notes would change in JSON: use strings as keys, and lists instead of tuples")
    return given
