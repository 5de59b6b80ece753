"""Declare what a saved state holds, and check a state against its declaration.

A state is a nested dictionary. A `Group` declares its fields as a table: the type of each field, the shape of an array
in named dimensions, and the bounds of its entries. What no table can say is a relation: a function that takes the
checked fields of its group and the sizes of all dimensions, and calls `require`. The checks make no copy of an array.
"""

import math
import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

State: TypeAlias = dict[str, Any]
"""A saved state, or a nested part of it."""

Sizes: TypeAlias = dict[str, int]
"""Lengths of the named dimensions, and numbers that the parameters of the model give."""

Relation: TypeAlias = Callable[[State, Sizes], None]
"""Raises FieldError unless the fields of a group fit together."""

DTYPES = {
    "integer": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "floating": ("float32", "float64"),
}
"""Names for more than one data type. Arrays of "integer" become int64 when they are checked."""

POSITIVE = 5e-324
"""The smallest float above 0, as the lower bound of positive floats."""

MOST = (1 << 62) - 1
"""Upper bound of numbers that count something."""

NAMES = {bool: "true or false", int: "an integer", float: "a float"}

NAME_LENGTH = 50
"""Number of letters of an unknown field that an error shows."""


class FieldError(ValueError):
    """An error that names an invalid field of a saved state, and says what is wrong with it."""

    def __init__(self, name: str, complaint: str) -> None:
        super().__init__(name, complaint)
        self.name, self.complaint = name, complaint

    def __str__(self) -> str:
        return f"field {self.name!r} {self.complaint}"


def require(holds: Any, name: str, complaint: str) -> None:
    """Raise FieldError unless a condition holds."""
    if not holds:
        raise FieldError(name, complaint)


@dataclass
class Found:
    """The sizes that are known while a state is checked, and the field in which each was first seen."""

    sizes: Sizes
    seen_in: dict[str, str] = field(default_factory=dict)

    def match(self, name: str, shape: tuple[int, ...], declared: tuple[int | str, ...]) -> None:
        """Compare a shape with its declaration; a dimension that is not known yet gets its size."""
        needed = ", ".join(map(str, declared)) + ("," if len(declared) == 1 else "")
        require(len(shape) == len(declared), name, f"has shape {shape}, but needs ({needed})")
        for length, dimension in zip(shape, declared, strict=True):
            if isinstance(dimension, str) and dimension not in self.sizes:
                self.set(name, dimension, length)
            expected = self.sizes[dimension] if isinstance(dimension, str) else dimension
            if length != expected:
                known = f" with {dimension} = {expected}" if isinstance(dimension, str) else ""
                where = f" as in field {self.seen_in[dimension]!r}" if dimension in self.seen_in else ""
                raise FieldError(name, f"has shape {shape}, but needs ({needed}){known}{where}")

    def set(self, name: str, dimension: str, size: int) -> None:
        """Set the size of a dimension that a field is the first to have."""
        self.sizes[dimension], self.seen_in[dimension] = size, name


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """What all fields have in common.

    Parameters
    ----------
    optional : bool
        Whether the value may be None.
    required : bool
        Whether the field must be there. If it is not, its checked value is None.
    """

    optional: bool = False
    required: bool = True

    @abstractmethod
    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the checked value; raise FieldError if it is invalid."""


@dataclass(frozen=True)
class Array(Field):
    """An array.

    Parameters
    ----------
    dtype : str
        Data type, or a name in `DTYPES`.
    shape : tuple
        Length of each dimension: a number, or a name that stands for the same length in the whole state.
    low, high : float
        Bounds of the entries. Without them, floats must be finite. NaN is never valid.
    index_of : str
        Dimension in which the entries are positions: they are less than its length, and at least `low`, by default 0.
    empty : bool
        Whether the array may have no entries.
    csr : bool
        Whether the value may also be a CSR matrix.
    """

    dtype: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None
    index_of: str | None = None
    empty: bool = False
    csr: bool = False

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the array, with int64 for any type of integers."""
        is_csr = self.csr and sparse.issparse(value)
        dtypes = DTYPES.get(self.dtype, (self.dtype,))
        if not (isinstance(value, np.ndarray) or is_csr) or value.dtype.name not in dtypes:
            numbers = "integers" if self.dtype == "integer" else " or ".join(dtypes)
            raise FieldError(name, f"must be an array of {numbers}, not {_said(value)}")
        found.match(name, value.shape, self.shape)
        require(self.empty or 0 not in value.shape, name, "is empty")
        entries = value.data if is_csr else value
        if entries.size and self.dtype != "bool":
            self._check_bounds(entries.min().item(), entries.max().item(), name, found)  # a mask would need memory
        return value.astype(np.int64, copy=False) if self.dtype == "integer" else value

    def _check_bounds(self, least: float, most: float, name: str, found: Found) -> None:
        low, high = self.low, self.high
        if self.index_of is not None:
            low, high = low or 0, found.sizes[self.index_of] - 1
        elif high is None and self.dtype == "integer":
            high = MOST  # larger ones may not be int64
        for entry in (least, most):  # both are NaN if there is one
            inside = _is_inside(entry, low, high)
            require(inside, name, f"has the entry {entry:g}, but its entries must be {_range(low, high, type(entry))}")


@dataclass(frozen=True)
class Number(Field):
    """A number of Python.

    Parameters
    ----------
    kind : type, or tuple of types
        `bool`, `int` or `float`. A NumPy number needs its own type.
    low, high : float
        Bounds. Without them, floats must be finite.
    nan : bool
        Whether NaN is valid.
    """

    kind: type | tuple[type, ...]
    low: float | None = None
    high: float | None = None
    nan: bool = False

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the number."""
        kinds = self.kind if isinstance(self.kind, tuple) else (self.kind,)
        if type(value) in kinds and (_is_inside(value, self.low, self.high) or (self.nan and math.isnan(value))):
            return value
        bounds = _range(self.low, self.high, kinds[0])
        raise FieldError(name, f"must be {NAMES[kinds[0]]}{bounds and ', '}{bounds}, not {_said(value)}")


@dataclass(frozen=True)
class Word(Field):
    """One of some strings."""

    options: tuple[str, ...]

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the string."""
        if isinstance(value, str) and value in self.options:
            return value
        raise FieldError(name, f"must be one of {', '.join(map(repr, self.options))}, not {_said(value)}")


@dataclass(frozen=True)
class Either(Field):
    """A value that fits one of several fields."""

    fields: tuple[Field, ...]

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the value as the first field that it fits returns it."""
        for one in self.fields[:-1]:
            try:
                return one.check(value, name, found)
            except FieldError:
                continue
        return self.fields[-1].check(value, name, found)


@dataclass(frozen=True)
class Custom(Field):
    """A value with a check of its own.

    Parameters
    ----------
    convert : callable
        Returns the checked value, or raises ValueError with a message that continues "field 'name' …".
    length : str
        Name of the dimension whose size is the length of the checked value.
    """

    convert: Callable[[Any], Any]
    length: str | None = None

    def check(self, value: Any, name: str, found: Found) -> Any:
        """Return the result of `convert`."""
        try:
            checked = self.convert(value)
        except ValueError as error:
            raise FieldError(name, str(error)) from None
        if self.length is not None:
            found.set(name, self.length, len(checked))
        return checked


@dataclass(frozen=True)
class Group(Field):
    """A dictionary with exactly these fields.

    Parameters
    ----------
    fields : dict
        The fields by name. They are checked in this order.
    relations : tuple of callables
        They are called in this order after all fields are checked.
    """

    fields: Mapping[str, Field]
    relations: tuple[Relation, ...] = ()

    def checked(self, state: Any, given: Mapping[str, int] | None = None) -> State:
        """Check a whole state.

        Parameters
        ----------
        state : dict
            The state. It is not changed.
        given : dict, optional
            Sizes of dimensions that are known before, for instance from the parameters of the model.

        Returns
        -------
        checked : dict
            All declared fields; fields that are not there are None.
        """
        return self.check(state, "", Found(dict(given or {})))

    def check(self, value: Any, name: str, found: Found) -> State:
        """Return the dictionary of checked values."""
        prefix = f"{name}." if name else ""
        if not isinstance(value, dict):
            raise FieldError(name or "state", f"must be a dictionary, not {_said(value)}")
        for unknown in sorted(map(str, value.keys() - self.fields.keys())):
            raise FieldError(f"{prefix}{unknown[:NAME_LENGTH]}", "is unknown")
        out: State = {}
        for key, declared in self.fields.items():
            here = f"{prefix}{key}"
            require(key in value or not declared.required, here, "is missing")
            is_none = value.get(key) is None and (declared.optional or key not in value)
            out[key] = None if is_none else declared.check(value[key], here, found)
        for relation in self.relations:
            try:
                relation(out, found.sizes)
            except FieldError as error:
                raise FieldError(f"{prefix}{error.name}", error.complaint) from None
        return out


def all_or_none(*names: str) -> Relation:
    """Return the relation that these fields are all there, or none of them is."""

    def fields_come_together(state: State, sizes: Sizes) -> None:
        missing = [name for name in names if state[name] is None]
        require(len(missing) in (0, len(names)), "".join(missing[:1]), "is missing")

    return fields_come_together


def _is_inside(value: float, low: float | None, high: float | None) -> bool:
    """Return whether a number is in the bounds; without bounds, it must be finite."""
    largest = sys.float_info.max
    return (-largest if low is None else low) <= value <= (largest if high is None else high)


def _range(low: float | None, high: float | None, kind: type) -> str:
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    bounds = ["finite"] if kind is float else []
    if low is not None:
        bounds.append("positive" if low == POSITIVE else f"at least {low:g}")
    if high is not None:
        bounds.append(f"at most {high:g}")
    return " and ".join(bounds)


def _said(value: Any) -> str:
    """Describe a wrong value in a few words."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"an array of {value.dtype}"
    return reprlib.repr(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
