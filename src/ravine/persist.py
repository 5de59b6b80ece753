"""Models in files: a JSON header and plain arrays in a zip archive, from which nothing is ever run.

An estimator gives what it has learned by ``_state(resume)``, as nested dictionaries of numbers, strings, arrays and CSR
matrices, and takes it back by ``_restore(state)``, which checks it. `numpy.load` reads the arrays too.
"""

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ravine import __version__, cluster, semi_supervised
from ravine.files import written_whole

FORMAT, FORMAT_VERSION = "ravine model", 1

ESTIMATORS = {name: getattr(package, name) for package in (cluster, semi_supervised) for name in package.__all__}
"""What can be saved; a file can name nothing else."""

HEADER, MAX_MEMBERS = "header.json", 1000
"""Name of the header in the archive, and most members that an archive has."""

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

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
"""Types of the arrays in a file."""

NPY_MAGIC = b"\x93NUMPY\x01\x00"
NPY_HEADER = re.compile(r"\{'descr': '([^']*)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \} *\n")

FIXED_DATE = (1980, 1, 1, 0, 0, 0)
"""The same model gives the same bytes whenever it is saved."""

LOCAL_HEADER = struct.Struct("<26xHH")
"""Of a member of a zip archive: lengths of its name and of the extra field, which its bytes follow."""

ZIP_START, ZIP_END, ZIP_END_SIZE, PICKLE_START = b"PK\x03\x04", b"PK\x05\x06", 22, b"\x80"

WORDS_OF_STATE = 624
"""Of the Mersenne twister."""


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
    >>> model = PDDP(n_clusters=2, split="mean").fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.ravine", notes={"unit": "m"})
    ...     saved = read(folder + "/model.ravine")
    >>> saved.notes, saved.model
    ({'unit': 'm'}, PDDP(n_clusters=2, split='mean'))
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
        "state": _encode(model._state(resume), "state", arrays),
        "notes": _checked_notes(notes),
    }
    if len(arrays) >= MAX_MEMBERS:
        raise ValueError(f"{len(arrays)} arrays are more than a file keeps: pass lists of arrays as one array")
    text = json.dumps(header, indent=1, allow_nan=False)
    with written_whole(path) as place, zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(HEADER), text)
        for key, array in arrays.items():
            with archive.open(_member(f"{key}.npy"), "w", force_zip64=array.nbytes >= 1 << 30) as file:
                np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)


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
    >>> model = PDDP(n_clusters=2, split="mean").fit([[0.0], [1.0], [9.0]])
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
    >>> model = PDDP(n_clusters=2, split="mean").fit([[0.0], [1.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, folder + "/model.ravine", notes={"rows": "of May"})
    ...     read(folder + "/model.ravine").notes
    {'rows': 'of May'}
    """
    with open(path, "rb") as file:
        content = file.read(len(ZIP_START))
        if content == ZIP_START:
            file.seek(0)
            content = file.read()
    try:
        return _parsed(content)
    except RecursionError:
        raise ValueError(f"{os.fspath(path)}: the header is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def _parsed(content: bytes) -> Saved:
    if content.startswith(PICKLE_START):
        raise ValueError("looks like a pickle: ravine does not load pickles, which can run any code")
    if content[-ZIP_END_SIZE:][: len(ZIP_END)] != ZIP_END or not content.startswith(ZIP_START):
        raise ValueError("is not a model saved by ravine, or is not whole")
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            header = _read_header(archive)
            _check_places(archive, content)
            members = [info for info in archive.infolist() if info.filename != HEADER]
            arrays = {info.filename.removesuffix(".npy"): _read_array(archive, info) for info in members}
    except RecursionError:
        raise
    except (zipfile.BadZipFile, RuntimeError, EOFError, OverflowError, struct.error) as error:
        raise ValueError(f"is damaged: {error}") from error
    with np.errstate(all="ignore"):  # numbers that make no sense are refused, not warned of
        model = _model(header, arrays)
    if arrays:
        raise ValueError(f"has arrays that the header does not name: {', '.join(sorted(arrays))}")
    return Saved(model, header["notes"], header["ravine_version"])


def _model(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    """Estimator from what the file holds; each array that is used is taken out of `arrays`."""
    estimator = ESTIMATORS.get(header["estimator"])
    if estimator is None:
        raise ValueError(f"holds a {header['estimator']}, and this version of ravine knows {', '.join(ESTIMATORS)}")
    parameters = {name: _decode(node, arrays) for name, node in header["parameters"].items()}
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
        model.feature_names_in_ = np.array(names, dtype=object)
    model._restore(_decode(header["state"], arrays))
    return model


def _parameter(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    try:
        return _encode(value, f"parameters.{name}", arrays)
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


def _encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """JSON for a value; its arrays are put into `arrays`, under `name` and what follows from it.

    A dictionary whose only key begins with one $ stands for what JSON cannot say; other keys with a $ get a second one.
    """
    match value:
        case None | bool() | str():
            return value
        case np.generic() if value.dtype.str in DTYPES:
            return {"$scalar": [value.dtype.str, _encode(value.item(), name, arrays)]}
        case np.ndarray():
            array = np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C")
            if array.dtype.str not in DTYPES:
                raise ValueError(f"a file keeps arrays of numbers, not of {array.dtype}")
            arrays[name] = array
            return {"$array": name}
        case np.generic():
            raise ValueError(f"a file does not keep a {value.dtype}")
        case int():
            return _bounded(int(value))
        case float():
            return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
        case list():
            return [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
        case tuple():
            return {"$tuple": _encode(list(value), name, arrays)}
        case dict():
            return _encode_dict(value, name, arrays)
        case np.random.RandomState():
            return {"$random_state": _encode(_random_state(value), name, arrays)}
    if sparse.issparse(value) and value.format == "csr":
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": list(value.shape)}
        kind = "matrix" if sparse.isspmatrix(value) else "array"
        return {"$csr": _encode({**parts, "kind": kind}, name, arrays)}
    raise ValueError(f"a file keeps numbers, strings, arrays and RandomState, not a {type(value).__name__}")


def _encode_dict(value: dict[Any, Any], name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    out = {}
    for i, (key, item) in enumerate(value.items()):
        if not isinstance(key, str):
            raise ValueError(f"a file keeps dictionaries with strings as keys, not {key!r}")
        is_plain = key.isascii() and key.isidentifier() and len(key) <= 50
        out[f"${key}" if key.startswith("$") else key] = _encode(item, f"{name}.{key if is_plain else i}", arrays)
    return out


def _random_state(generator: np.random.RandomState) -> dict[str, Any]:
    state: Any = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ValueError(f"a file keeps RandomState with MT19937, not with {state['bit_generator']}")
    key, pos = state["state"]["key"], int(state["state"]["pos"])
    return {"key": key, "pos": pos, "has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}


def _decode(node: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value that `_encode` turned into JSON; its arrays are taken out of `arrays`."""
    if isinstance(node, list):
        return [_decode(item, arrays) for item in node]
    if not isinstance(node, dict):
        return _bounded(node) if isinstance(node, int) else node
    if not any(re.match(r"\$(?!\$)", key) for key in node):
        return {key[1:] if key.startswith("$") else key: _decode(item, arrays) for key, item in node.items()}
    match list(node.items()):
        case [("$array", str(name))] if name in arrays:
            return arrays.pop(name)
        case [("$float", "inf" | "-inf" | "nan" as text)]:
            return float(text)
        case [("$tuple", list(items))]:
            return tuple(_decode(items, arrays))
        case [("$scalar", [str(dtype), item])] if dtype in DTYPES:
            return _decoded_scalar(np.dtype(dtype), _decode(item, arrays))
        case [("$csr", dict(parts))]:
            return _decoded_csr(_decode_parts(parts, arrays, "data", "indices", "indptr", "shape", "kind"))
        case [("$random_state", dict(state))]:
            return _decoded_random_state(_decode_parts(state, arrays, "key", "pos", "has_gauss", "gauss"))
    raise ValueError(f"has a value that cannot be read, or an array that is missing or named twice: {str(node)[:100]}")


def _bounded(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError("an integer has more than 64 bits")
    return value


def _decoded_scalar(dtype: np.dtype[Any], item: Any) -> Any:
    if type(item) is not {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]:
        raise ValueError(f"has a {type(item).__name__} for a number of type {dtype}")
    try:
        return dtype.type(item)
    except OverflowError:
        raise ValueError(f"has {item} for a number of type {dtype}") from None


def _decode_parts(node: dict[str, Any], arrays: dict[str, NDArray[Any]], *names: str) -> list[Any]:
    return [_decode(node.get(name), arrays) for name in names]


def _decoded_csr(parts: list[Any]) -> Any:
    data, indices, indptr, shape, kind = parts
    is_whole = (
        all(isinstance(array, np.ndarray) and array.ndim == 1 for array in (data, indices, indptr))
        and indices.dtype == indptr.dtype
        and indices.dtype in (np.int32, np.int64)
        and isinstance(shape, list)
        and len(shape) == 2
        and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)
        and len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and (indptr[1:] >= indptr[:-1]).all()
        and indptr[-1] == len(indices) == len(data)
        and ((indices >= 0) & (indices < shape[1])).all()
        and isinstance(kind, str)
        and kind in ("matrix", "array")
    )
    if not is_whole:
        raise ValueError("has a sparse matrix whose parts do not fit together")
    make = sparse.csr_matrix if kind == "matrix" else sparse.csr_array
    return make((data, indices, indptr), shape=tuple(shape))


def _decoded_random_state(state: list[Any]) -> np.random.RandomState:
    key, pos, has_gauss, gauss = state
    is_whole = (
        isinstance(key, np.ndarray)
        and key.dtype == np.uint32
        and key.shape == (WORDS_OF_STATE,)
        and key[1:].any()  # from zeros only zeros follow
        and type(pos) is int
        and 0 <= pos <= WORDS_OF_STATE
        and type(has_gauss) is int
        and has_gauss in (0, 1)
        and type(gauss) is float
        and math.isfinite(gauss)
    )
    if not is_whole:
        raise ValueError("has a RandomState whose parts do not fit together")
    generator = np.random.RandomState()
    bits = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}
    generator.set_state({**bits, "has_gauss": has_gauss, "gauss": gauss})
    return generator


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, FIXED_DATE)
    info.create_system = 3  # the same bytes on every system
    return info


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The header, with the types of its fields checked."""
    if HEADER not in archive.namelist():
        raise ValueError(f"is not a model saved by ravine: {HEADER} is not in it")
    header = _parsed_json(_read_member(archive, archive.getinfo(HEADER)))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("is not a model saved by ravine: the header does not say so")
    version = header.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(
            f"was written by ravine {header.get('ravine_version')} in format {version}; "
            f"this version reads format {FORMAT_VERSION}: update ravine"
        )
    if header.keys() != FIELDS.keys():
        raise ValueError(f"the header needs the fields {list(FIELDS)}; it has {list(header)}")
    for name, kind in FIELDS.items():
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise ValueError(f"field {name!r} of the header is {type(header[name]).__name__}")
    if version != FORMAT_VERSION:
        raise ValueError(f"there is no format {version}")
    _bounded(header["n_features_in"])
    return header


def _parsed_json(text: bytes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError("a name stands twice in the header")
        return out

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError(f"{number} in the header is not a finite number")
        return float(number)

    try:
        return json.loads(text.decode(), object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
    except ValueError as error:
        raise ValueError(f"the header is not JSON as ravine writes it: {error}") from error


def _check_places(archive: zipfile.ZipFile, content: bytes) -> None:
    """Members fill the file from its start to the directory at its end: no gaps, no overlaps, no name twice."""
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    if len(infos) > MAX_MEMBERS:
        raise ValueError(f"has {len(infos)} members; a model has at most {MAX_MEMBERS}")
    names = {info.filename for info in infos}
    if len(names) < len(infos):
        raise ValueError("has two members of the same name")
    for name in names - {HEADER}:
        if not re.fullmatch(r"[A-Za-z0-9_.]+\.npy", name):
            raise ValueError(f"has a member that is not an array: {name[:100]!r}")
    place = 0
    for info in infos:
        if info.header_offset != place:
            raise ValueError("has members that overlap, or something between them")
        place += LOCAL_HEADER.size + sum(LOCAL_HEADER.unpack_from(content, place)) + info.compress_size
    if place != archive.start_dir:
        raise ValueError("has members that overlap, or something between them")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits or info.file_size != info.compress_size:
        raise ValueError(f"member {info.filename[:100]!r} is compressed or encrypted: ravine stores as it is")
    return archive.read(info)


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array whose header has the one form that NumPy writes; nothing is allocated before its size is known."""
    name, member = info.filename, _read_member(archive, info)
    start = len(NPY_MAGIC) + 2
    if not member.startswith(NPY_MAGIC) or len(member) < start:
        raise ValueError(f"member {name!r} is not an array of NumPy")
    end = start + int.from_bytes(member[start - 2 : start], "little")
    header = NPY_HEADER.fullmatch(member[start:end].decode("latin-1"))
    if header is None:
        raise ValueError(f"the header of array {name!r} cannot be read")
    if header[1] not in DTYPES:
        what = "Python objects: ravine does not load pickles" if "O" in header[1] else f"the type {header[1]!r}"
        raise ValueError(f"array {name!r} holds {what}")
    dtype, shape = np.dtype(header[1]), tuple(int(n) for n in header[2].replace(",", " ").split())
    if math.prod(shape) * dtype.itemsize != len(member) - end:
        raise ValueError(f"array {name!r} has {len(member) - end} bytes, which is not its shape {shape}")
    array = np.frombuffer(member, dtype, offset=end).reshape(shape)
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError(f"array {name!r} has an entry that is neither true nor false")
    return array.astype(dtype.newbyteorder("="))
