"""What a file keeps of a `TableEncoder`: the fields of its columns, and how each is checked."""

from typing import Any

import numpy as np

from ravine._schema import MOST, POSITIVE, Array, Custom, Field, Group, Number, Sizes, State, Word, require
from ravine.prepare._column import Column
from ravine.prepare._date_parts import DAYS, PARTS
from ravine.prepare._date_text import PATTERNS
from ravine.prepare._roles import ROLES


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not a {type(value).__name__}")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a list of strings")
    return tuple(value)


def _floats(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(type(one) is float and abs(one) < float("inf") for one in value):
        raise ValueError("must be a list of finite floats")
    return tuple(value)


def levels_have_shares(state: State, sizes: Sizes) -> None:
    """A category has a share for each level, and one for all others; a Boolean has two levels."""
    is_category = state["role"] in ("category", "boolean")
    n_levels, n_shares = len(state["levels"]), len(state["shares"])
    if is_category or n_shares:
        require(n_shares == n_levels + 1, "shares", f"has {n_shares} entries for {n_levels} levels")
    require(not is_category or n_levels > 0, "levels", "is empty")
    require(state["role"] != "boolean" or n_levels == 2, "levels", f"has {n_levels} entries for a boolean")
    require(all(0 <= share <= 1 for share in state["shares"]), "shares", "has an entry that is not from 0 to 1")


def parts_have_means(state: State, sizes: Sizes) -> None:
    """The parts of a date are known, and each but the days has two means."""
    parts, means = state["parts"] or (), state["part_means"] or ()
    require(not parts or state["role"] == "date", "parts", f"is not empty for a {state['role']}")
    require(set(parts) <= set(PARTS) and len(set(parts)) == len(parts), "parts", "has an entry that is not a part")
    n_means = 2 * len(set(parts) - {DAYS})
    require(len(means) == n_means, "part_means", f"has {len(means)} entries, not {n_means}")
    require(all(abs(mean) <= 1 for mean in means), "part_means", "has an entry that is not from -1 to 1")


def kind_fits_role(state: State, sizes: Sizes) -> None:
    """Numbers are read as numbers, dates as dates, and categories as words."""
    needed = {"number": "number", "date": "date", "category": "words", "boolean": "words"}.get(state["role"])
    require(needed in (None, state["kind"]), "kind", f"is {state['kind']!r} for a {state['role']}")


def logarithm_is_defined(state: State, sizes: Sizes) -> None:
    """The logarithm is taken of positive numbers."""
    is_defined = state["transform"] == "none" or state["knee"] + state["offset"] > 0
    require(is_defined, "offset", "must be positive if the knee is 0")


STRING = Custom(_string)
FLOAT = Number(float)

COLUMN_FIELDS: dict[str, Field] = {
    "name": STRING,
    "role": Word((*ROLES, "constant", "copy", "empty")),
    "treatment": STRING,
    "reason": STRING,
    "kind": Word(("number", "date", "words", "none")),
    "unit": STRING,
    "decimal": Word((".", ",")),
    "grouping": Word((".", ",", " ", "'")),
    "date_format": Word(tuple(PATTERNS)),
    "has_time": Number(bool),
    "reference": FLOAT,
    "parts": Custom(_strings, required=False),  # files of earlier versions have no parts
    "part_means": Custom(_floats, required=False),
    "gap_values": Custom(_floats),
    "transform": Word(("none", "log")),
    "offset": Number(float, low=0.0),
    "knee": Number(float, low=0.0),
    "center": FLOAT,
    "scale": Number(float, low=POSITIVE),
    "low": FLOAT,
    "high": FLOAT,
    "reach": Number(float, low=0.0, high=float("inf")),
    "fill": FLOAT,
    "lowest": FLOAT,
    "highest": FLOAT,
    "levels": Custom(_strings),
    "shares": Custom(_floats),
    "encoding": Word(("indicators", "spread")),
    "weight": Number(float, low=POSITIVE),
    "follows": Custom(_string, optional=True),
    "n_gaps": Number(int, low=0, high=MOST),
}

COLUMN = Group(COLUMN_FIELDS, (levels_have_shares, parts_have_means, kind_fits_role, logarithm_is_defined))
"""The fields of one column."""


def _columns(value: Any) -> tuple[Column, ...]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list of columns, not a {type(value).__name__}")
    columns = []
    for number, one in enumerate(value):
        try:
            found = COLUMN.checked(one)
            columns.append(Column(**{key: value for key, value in found.items() if key in one}))
        except ValueError as error:
            raise ValueError(f"has an invalid column {number}: {error}") from None
    if not any(column.is_used for column in columns):
        raise ValueError("has no column that is used")
    return tuple(columns)


COLUMNS = Custom(_columns)
"""The columns of a table, restored as objects of `Column`."""


def covariance_is_usable(state: State, sizes: Sizes) -> None:
    """A covariance matrix is symmetric, and positive definite, so that gaps can be filled."""
    covariance = state["covariance"]
    require(np.array_equal(covariance, covariance.transpose(0, 2, 1)), "covariance", "is not symmetric")
    require((np.linalg.eigvalsh(covariance) > 0).all(), "covariance", "is not positive definite")


GAPS = Group(
    {
        "weight": Array("float64", ("n_components",), low=POSITIVE, high=1.0),
        "mean": Array("float64", ("n_components", "n_numbers"), low=-1e9, high=1e9),
        "covariance": Array("float64", ("n_components", "n_numbers", "n_numbers"), low=-1e9, high=1e9),
    },
    (covariance_is_usable,),
    optional=True,
    required=False,
)
"""The mixture of the numbers from which gaps are filled; None if they get medians."""
