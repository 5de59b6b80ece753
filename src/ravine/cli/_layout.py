"""How a line of CSV or of JSON becomes numbers, and why it does not."""

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
"""Letters of a value that are shown."""


class BadRow(ValueError):  # noqa: N818 — it may be left out
    """Why a row cannot be used."""


@dataclass(frozen=True)
class Layout:
    """How a line becomes numbers.

    Attributes
    ----------
    is_json : bool
    fields : tuple of str
        Of every line.
    delimiter : str
    decimal : str
    encoding : str
    used : tuple of str, optional
        The fields that are numbers, once that is known.
    """

    is_json: bool
    fields: tuple[str, ...]
    delimiter: str
    decimal: str
    encoding: str
    used: tuple[str, ...] | None = None

    def values(self, line: bytes) -> list[Any]:
        """The fields of a line as they stand there; BadRow where they are not those of the first line."""
        try:
            text = line.decode(self.encoding)
        except UnicodeDecodeError:
            raise BadRow(f"the text is not {self.encoding}") from None
        return self._json_values(text) if self.is_json else self._csv_values(text)

    def numbers(self, values: Sequence[Any]) -> list[float]:
        """The numbers among the fields; BadRow names a column that has none."""
        out = []
        for place, column in self._places:
            try:
                number = self.number(values[place])
                if number is None:
                    raise BadRow("no value")
                if not abs(number) <= LARGEST:
                    raise BadRow(f"{number:g} is not finite, or too large to be squared")
                if abs(number) > LARGEST_WHOLE and _is_rounded(values[place], number):
                    raise BadRow(
                        f"{shortened(str(values[place]).strip(), LETTERS)} is a whole number that would be rounded (if "
                        f"it is an identifier, leave the column out with --drop {column})"
                    )
            except BadRow as error:
                raise BadRow(f"column {column!r}: {error}") from None
            out.append(number)
        return out

    @cached_property
    def _places(self) -> list[tuple[int, str]]:
        used = set(self.used or ())
        return [(place, field) for place, field in enumerate(self.fields) if field in used]

    def number(self, value: Any) -> float | None:
        """One value as a number, which may be infinite; None where there is no value, BadRow where it is no number."""
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
            raise BadRow(f"not a line of CSV, {error}") from None
        if len(values) < len(self.fields):
            missing = self.fields[len(values)]
            raise BadRow(
                f"column {missing!r} is missing: {counted(len(values), 'field')} instead of {len(self.fields)}"
            )
        if len(values) > len(self.fields):
            raise BadRow(
                f"{counted(len(values), 'field')} instead of {len(self.fields)}, the last column is {self.fields[-1]!r}"
            )
        return values

    def _json_values(self, text: str) -> list[Any]:
        try:
            record = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise BadRow(f"not a JSON object, {error}") from None
        if not isinstance(record, dict):
            raise BadRow("not a JSON object")
        missing = [field for field in self.fields if field not in record]
        if missing:
            raise BadRow(f"column {missing[0]!r} is missing")
        if len(record) > len(self.fields):
            extra = next(field for field in record if field not in self.fields)
            raise BadRow(f"{shortened(extra, LETTERS)!r} is no column")
        return [record[field] for field in self.fields]


def _is_rounded(value: Any, number: float) -> bool:
    """Whether a value is a whole number, written as one, that is not the floating-point number made of it."""
    try:
        return not isinstance(value, float) and int(value) != number
    except ValueError:
        return False


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name stands twice")
    return record


def find_layout(line: bytes, text: TextFormat) -> tuple[Layout, bool]:
    """How the lines are written, from the first one; and whether that is a row itself."""
    layout = Layout(True, (), "", text.decimal, text.encoding)
    try:
        first = line.decode(text.encoding)
    except UnicodeDecodeError:
        raise DataError(f"the text is not {text.encoding}: say which --encoding it has, for instance latin-1") from None
    check_first_line(first)
    if first.lstrip().startswith("{"):
        try:
            record = json.loads(first, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            raise DataError(f"the first line is not a JSON object, {error}") from None
        return replace(layout, fields=tuple(record)), True
    delimiter = text.delimiter or max(DELIMITERS, key=first.count)
    split_first_line(first, delimiter)  # says what is wrong with a quote
    try:
        fields = next(csv.reader([first.rstrip("\r\n")], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"the first line is not CSV, {error}") from None
    layout = replace(layout, is_json=False, delimiter=delimiter)
    has_header = not all(_is_number(layout, field) for field in fields) if text.header is None else text.header
    names = fields if has_header else [f"x{j}" for j in range(len(fields))]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"the column name {twice[0]!r} stands twice: give each its own name")
    return replace(layout, fields=tuple(names)), not has_header


def is_header(line: bytes, layout: Layout, has_header: bool | None) -> bool:
    """Whether the first line of a later file of a stream has the names of the columns, not a row.

    Parameters
    ----------
    line : bytes
    layout : Layout
        Of the first file.
    has_header : bool or None
        What the user says; None: names are those of the first file, or anything without a number.

    Raises
    ------
    DataError
        They are not the names of the first file.
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
            f"the new file begins with the columns {listed(fields)}, and the stream with {listed(layout.fields)}: "
            "give a stream one kind of file, or begin anew"
        )
    return False


def _is_number(layout: Layout, value: Any) -> bool:
    try:
        layout.number(value)
    except BadRow:
        return False
    return True


def mostly_numbers(layout: Layout, values: Sequence[Any]) -> bool:
    """More than half of the values that are there, so that one bad value does not hide a column."""
    n_numbers = n_others = 0
    for value in values:
        try:
            n_numbers += layout.number(value) is not None
        except BadRow:
            n_others += 1
    return n_numbers > n_others
