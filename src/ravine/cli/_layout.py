"""Convert lines of CSV or JSON to numbers, and explain why a line cannot be converted."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ravine._io import DataError, TextFormat, check_first_line, split_first_line
from ravine._io._table import DELIMITERS, LARGEST_WHOLE, MISSING, listed
from ravine._matrix import LARGEST
from ravine.tree._text import counted, shortened

LETTERS = 40
"""Longest part of a value that a message shows, in characters."""


class BadRow(ValueError):  # noqa: N818 — bad rows may be skipped
    """A row that cannot be used. The message says why."""


@dataclass(frozen=True)
class Layout:
    """How a line becomes numbers.

    Attributes
    ----------
    is_json : bool
    fields : tuple of str
        Names of the fields of every line.
    delimiter : str
    decimal : str
    encoding : str
    used : tuple of str, optional
        The fields used as numbers, once they are known.
    label : str, optional
        The field with the class of each row. It is not used as a number.
    """

    is_json: bool
    fields: tuple[str, ...]
    delimiter: str
    decimal: str
    encoding: str
    used: tuple[str, ...] | None = None
    label: str | None = None

    def values(self, line: bytes) -> list[Any]:
        """Return the fields of a line. Raises BadRow if they do not match the first line."""
        try:
            text = line.decode(self.encoding)
        except UnicodeDecodeError:
            raise BadRow(f"the text is not {self.encoding}") from None
        return self._json_values(text) if self.is_json else self._csv_values(text)

    def numbers(self, values: Sequence[Any]) -> list[float]:
        """Return the numbers of the used fields. Raises BadRow, which names the column, if one is not a number."""
        out = []
        for place, column in self.places:
            try:
                number = self.number(values[place])
                if number is None:
                    raise BadRow("the value is missing")
                if not abs(number) <= LARGEST:
                    raise BadRow(f"{number:g} is not finite, or its square would overflow")
                if abs(number) >= LARGEST_WHOLE and _is_rounded(values[place], number):
                    raise BadRow(
                        f"{shortened(str(values[place]).strip(), LETTERS)} is a whole number that would be rounded (if "
                        f"it is an identifier, leave out the column with --drop {column})"
                    )
            except BadRow as error:
                raise BadRow(f"column {column!r}: {error}") from None
            out.append(number)
        return out

    def class_of(self, value: Any) -> str | None:
        """Return the class of a row, or None if it has none."""
        if isinstance(value, str):
            name = value.strip()
            return None if name in MISSING else name
        if isinstance(value, float):
            value = None if np.isnan(value) else int(value) if value.is_integer() else value
        return None if value is None else json.dumps(value)

    def record(self, values: Sequence[Any]) -> tuple[list[float], str | None]:
        """Return the numbers and the class of a row. Raises BadRow if one of the numbers is not a number."""
        numbers = self.numbers(values)
        return numbers, None if self.label is None else self.class_of(values[self.fields.index(self.label)])

    @cached_property
    def places(self) -> list[tuple[int, str]]:
        """Position and name of each field that is used as a number."""
        used = set(self.used or ())
        return [(place, field) for place, field in enumerate(self.fields) if field in used]

    def number(self, value: Any) -> float | None:
        """Convert a value to a number, which may be infinite. Missing: None; not a number: raises BadRow."""
        if self.is_json:
            if value is None:
                return None
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise BadRow(f"{shortened(json.dumps(value), LETTERS)} is not a number")
            try:
                return float(value)
            except OverflowError:
                return np.inf
        text = value.strip()
        if text in MISSING:
            return None
        try:
            return float(text.replace("_", "?").replace(self.decimal, "."))
        except ValueError:
            raise BadRow(f"{shortened(text, LETTERS)!r} is not a number") from None

    def _csv_values(self, text: str) -> list[str]:
        try:
            values = next(csv.reader([text.rstrip("\r\n")], delimiter=self.delimiter, strict=True))
        except csv.Error as error:
            raise BadRow(f"this is not a line of CSV ({error})") from None
        if len(values) < len(self.fields):
            missing = self.fields[len(values)]
            raise BadRow(
                f"column {missing!r} is missing: the line has {counted(len(values), 'field')} instead of "
                f"{len(self.fields)}"
            )
        if len(values) > len(self.fields):
            raise BadRow(
                f"the line has {counted(len(values), 'field')} instead of {len(self.fields)}; the last column is "
                f"{self.fields[-1]!r}"
            )
        return values

    def _json_values(self, text: str) -> list[Any]:
        try:
            record = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise BadRow(f"this is not a JSON object ({error})") from None
        if not isinstance(record, dict):
            raise BadRow("this is not a JSON object")
        missing = [field for field in self.fields if field not in record]
        if missing:
            raise BadRow(f"column {missing[0]!r} is missing")
        if len(record) > len(self.fields):
            extra = next(field for field in record if field not in self.fields)
            raise BadRow(f"there is no column {shortened(extra, LETTERS)!r}")
        return [record[field] for field in self.fields]


def _is_rounded(value: Any, number: float) -> bool:
    """Whether a value is an integer that changes when it is converted to a floating-point number."""
    try:
        return not isinstance(value, float) and int(value) != number
    except ValueError:
        return False


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name occurs twice")
    return record


def find_layout(line: bytes, text: TextFormat) -> tuple[Layout, bool]:
    """Detect the layout from the first line; also return whether that line is a row."""
    layout = Layout(True, (), "", text.decimal, text.encoding)
    try:
        first = line.decode(text.encoding)
    except UnicodeDecodeError:
        raise DataError(
            f"the text is not {text.encoding}: give its encoding with --encoding, for instance latin-1"
        ) from None
    check_first_line(first)
    if first.lstrip().startswith("{"):
        try:
            record = json.loads(first, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise DataError(f"the first line is not a JSON object ({error})") from None
        return replace(layout, fields=tuple(record)), True
    delimiter = text.delimiter or max(DELIMITERS, key=first.count)
    split_first_line(first, delimiter)  # explains an unclosed quote
    try:
        fields = next(csv.reader([first.rstrip("\r\n")], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"the first line is not CSV ({error})") from None
    layout = replace(layout, is_json=False, delimiter=delimiter)
    has_header = not all(_is_number(layout, field) for field in fields) if text.header is None else text.header
    names = fields if has_header else [f"x{j}" for j in range(len(fields))]
    if twice := twice_named(names):
        raise DataError(twice)
    return replace(layout, fields=tuple(names)), not has_header


def twice_named(names: Sequence[str]) -> str:
    """Return what is wrong if two columns have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    return f"the column name {twice[0]!r} occurs twice: give each column its own name" if twice else ""


def is_header(line: bytes, layout: Layout, has_header: bool | None) -> bool:
    """Whether the first line of a later file contains column names instead of a row.

    Parameters
    ----------
    line : bytes
    layout : Layout
        Layout of the first file.
    has_header : bool or None
        What the user says. None: a line with the names of the first file, or without any number, is a header.

    Raises
    ------
    DataError
        If the names differ from those of the first file.
    """
    if layout.is_json or has_header is False:
        return False
    try:
        fields = next(
            csv.reader([line.decode(layout.encoding).rstrip("\r\n")], delimiter=layout.delimiter, strict=True)
        )
    except (UnicodeDecodeError, csv.Error):
        return False  # a bad row
    if tuple(fields) == layout.fields:
        return True
    if has_header or not any(_is_number(layout, field) for field in fields):
        raise DataError(
            f"the new file starts with the columns {listed(fields)}, but the stream has {listed(layout.fields)}: all "
            "files of a stream must have the same columns; start a new stream for other columns"
        )
    return False


def _is_number(layout: Layout, value: Any) -> bool:
    try:
        layout.number(value)
    except BadRow:
        return False
    return True


def mostly_numbers(layout: Layout, values: Sequence[Any]) -> bool:
    """Whether more than half of the present values are numbers. One bad value does not exclude a column."""
    n_numbers = n_others = 0
    for value in values:
        try:
            n_numbers += layout.number(value) is not None
        except BadRow:
            n_others += 1
    return n_numbers > n_others
