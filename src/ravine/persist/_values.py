"""Convert values to JSON and arrays, and back. Values that JSON lacks become dictionaries with one key that has a $."""

import math
import re
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
"""Data types of the arrays in a file."""

WORDS_OF_STATE = 624
"""Number of words in the state of the Mersenne Twister."""

Given = dict[str, Callable[[], NDArray[Any]]]
"""Functions that read the arrays, by name. An array that is not used is never read."""


def encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Convert a value to JSON. Its arrays are stored in `arrays`, under names that start with `name`.

    A dictionary whose only key starts with a single $ represents a value that JSON lacks. In other dictionaries, a key
    that starts with $ gets a second $.
    """
    match value:
        case None | bool() | str():
            return value
        case np.generic() if value.dtype.str in DTYPES:
            return {"$scalar": [value.dtype.str, encode(value.item(), name, arrays)]}
        case np.ndarray():
            array = np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C")
            if array.dtype.str not in DTYPES:
                raise ValueError(f"a file can hold arrays of numbers, not of {array.dtype}")
            arrays[name] = array
            return {"$array": name}
        case np.generic():
            raise ValueError(f"a file cannot hold a {value.dtype}")
        case int():
            return bounded(int(value))
        case float():
            return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
        case list():
            return [encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
        case tuple():
            return {"$tuple": encode(list(value), name, arrays)}
        case dict():
            return _encode_dict(value, name, arrays)
        case np.random.RandomState():
            return {"$random_state": encode(_random_state(value), name, arrays)}
    if sparse.issparse(value) and value.format == "csr":
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": list(value.shape)}
        kind = "matrix" if sparse.isspmatrix(value) else "array"
        return {"$csr": encode({**parts, "kind": kind}, name, arrays)}
    raise ValueError(f"a file can hold numbers, strings, arrays and RandomState, not a {type(value).__name__}")


def _encode_dict(value: dict[Any, Any], name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    out = {}
    for i, (key, item) in enumerate(value.items()):
        if not isinstance(key, str):
            raise ValueError(f"a file can hold dictionaries with strings as keys, not {key!r}")
        is_plain = key.isascii() and key.isidentifier() and len(key) <= 50
        out[f"${key}" if key.startswith("$") else key] = encode(item, f"{name}.{key if is_plain else i}", arrays)
    return out


def _random_state(generator: np.random.RandomState) -> dict[str, Any]:
    state: Any = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise ValueError(f"a file can hold a RandomState with MT19937, not with {state['bit_generator']}")
    key, pos = state["state"]["key"], int(state["state"]["pos"])
    return {"key": key, "pos": pos, "has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}


def decode(node: Any, arrays: Given) -> Any:
    """Restore the value that `encode` converted to JSON. Its arrays are removed from `arrays`."""
    if isinstance(node, list):
        return [decode(item, arrays) for item in node]
    if not isinstance(node, dict):
        return bounded(node) if isinstance(node, int) else node
    if not any(re.match(r"\$(?!\$)", key) for key in node):
        return {key[1:] if key.startswith("$") else key: decode(item, arrays) for key, item in node.items()}
    match list(node.items()):
        case [("$array", str(name))] if name in arrays:
            return arrays.pop(name)()
        case [("$float", "inf" | "-inf" | "nan" as text)]:
            return float(text)
        case [("$tuple", list(items))]:
            return tuple(decode(items, arrays))
        case [("$scalar", [str(dtype), item])] if dtype in DTYPES:
            return _decoded_scalar(np.dtype(dtype), decode(item, arrays))
        case [("$csr", dict(parts))]:
            return _decoded_csr(_decode_parts(parts, arrays, "data", "indices", "indptr", "shape", "kind"))
        case [("$random_state", dict(state))]:
            return _decoded_random_state(_decode_parts(state, arrays, "key", "pos", "has_gauss", "gauss"))
    raise ValueError(
        f"has a value that cannot be read, or an array that is missing or named twice: {reprlib.repr(node)}"
    )


def bounded(value: int) -> int:
    """Return the integer. Raises ValueError if it needs more than 64 bits."""
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError("an integer has more than 64 bits")
    return value


def _decoded_scalar(dtype: np.dtype[Any], item: Any) -> Any:
    if type(item) is not {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]:
        raise ValueError(f"has a {type(item).__name__} instead of a number of type {dtype}")
    try:
        return dtype.type(item)
    except OverflowError:
        raise ValueError(f"has {item}, which is outside the range of {dtype}") from None


def _decode_parts(node: dict[str, Any], arrays: Given, *names: str) -> list[Any]:
    return [decode(node.get(name), arrays) for name in names]


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
        and key[1:].any()  # a state of zeros would give only zeros
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
