"""Convert many lines at once. Whatever is unusual is left to the careful conversion, one line at a time, in `_layout`.

A result is the same as that of the careful conversion, to the last bit. So a batch may be converted either way.
"""

import codecs
import csv
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from ravine._io._table import LARGEST_WHOLE
from ravine._matrix import Floats
from ravine.cli._layout import BadRow, Layout

FEWEST_LINES = 32
"""Number of lines below which the careful conversion is faster."""

LARGEST_BLOCK = 1 << 30
"""Largest number of bytes that are converted at once."""

ENCODINGS = ("utf-8", "ascii", "iso8859-1", "cp1252")
"""Encodings in which lines can be decoded together, since no character depends on those before it."""

Rows = tuple[Floats, list[str | None]]


def quick_rows(layout: Layout, lines: list[bytes]) -> Rows | None:
    """Return the numbers and the classes of the lines; None if any line needs the careful conversion."""
    if len(lines) < FEWEST_LINES:
        return None
    found = _json_rows(layout, lines) if layout.is_json else _csv_rows(layout, lines)
    # The careful conversion says what is wrong with NaN and large numbers, and checks whether integers were rounded.
    return found if found is not None and (np.abs(found[0]) < LARGEST_WHOLE).all() else None


def _csv_rows(layout: Layout, lines: list[bytes]) -> Rows | None:
    block = b"".join(lines)
    if not _is_plain(block, lines) or codecs.lookup(layout.encoding).name not in ENCODINGS:
        return None
    try:
        if not block.isascii():
            block = block.decode(layout.encoding).encode()
        names, parse, convert = _csv_options(layout)
        # Whole blocks of the default size would be allocated for a few lines.
        read = pa.csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=names)
        table = pa.csv.read_csv(pa.BufferReader(block), read, parse, convert)
    except (pa.ArrowException, ValueError, TypeError):
        return None
    if len(table) != len(lines):
        return None
    classes: list[Any] = [None] * len(lines) if layout.label is None else table.columns[-1].to_pylist()
    return numbers_of(table, table.column_names[: len(layout.places)]), [layout.class_of(value) for value in classes]


@lru_cache(maxsize=8)
def _csv_options(layout: Layout) -> tuple[list[str], Any, Any]:
    """Return names of the fields, and options to read those that are used as numbers, and then the label as text."""
    types = {str(place): pa.float64() for place, _ in layout.places}
    if layout.label is not None:
        types[str(layout.fields.index(layout.label))] = pa.string()
    return (
        [str(place) for place in range(len(layout.fields))],
        pa.csv.ParseOptions(delimiter=layout.delimiter, quote_char=False),
        pa.csv.ConvertOptions(column_types=types, include_columns=list(types), decimal_point=layout.decimal),
    )


def _is_plain(block: bytes, lines: list[bytes]) -> bool:
    """Whether each line of the block is a row: no quotes, no CR without LF, and no line without LF but the last."""
    n_ends = len(lines) - (not lines[-1].endswith(b"\n"))
    return (
        b'"' not in block
        and block.count(b"\n") == n_ends
        and (b"\r" not in block or block.count(b"\r") == block.count(b"\r\n"))
        and max(map(len, lines)) <= csv.field_size_limit()
        and len(block) < LARGEST_BLOCK
    )


def _json_rows(layout: Layout, lines: list[bytes]) -> Rows | None:
    places = [place for place, _ in layout.places]
    try:
        records: list[list[Any]] = [layout.values(line) for line in lines]
        values = [[record[place] for place in places] for record in records]
        if not set(map(type, chain.from_iterable(values))) <= {int, float}:
            return None
        X = np.array(values, dtype=np.float64).reshape(len(lines), len(places))
    except (BadRow, OverflowError):
        return None
    if layout.label is None:
        return X, [None] * len(lines)
    place = layout.fields.index(layout.label)
    return X, [layout.class_of(record[place]) for record in records]


def numbers_of(table: Any, columns: Any) -> Floats:
    """Return the columns as floating-point numbers; a missing value is NaN."""
    out = np.empty((len(table), len(columns)))
    for j, column in enumerate(columns):
        values = table[column]
        out[:, j] = (values if values.type == pa.float64() else values.cast(pa.float64(), safe=False)).to_numpy()
    return out
