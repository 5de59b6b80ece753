"""Read, encode and decode the cells of one column, as a fitted `TableEncoder` has learned it."""

from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ravine._matrix import Bools, Floats, Ints
from ravine.prepare._cells import Words, days_in, numbers_in, source_of, words_in
from ravine.prepare._column import Column
from ravine.prepare._date_parts import DAYS, MIDDLE, encoded_ring, readable, ring
from ravine.prepare._date_text import days_of
from ravine.prepare._number_text import NumberFormat
from ravine.prepare._scale import Scale
from ravine.prepare._spread import Bits, share_at, spread_numbers, thresholds

TYPE_CHANGED = 10
"""The type of a column has changed if at least this many cells are known, and fewer than half of them can be read as
numbers or dates, or if they are numbers or dates and none of them is a level."""


class TypeChangedError(ValueError):
    """A column holds something else than in the fit."""


def state_of(column: Column) -> dict[str, Any]:
    """Return the column as plain values."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(column).items()}


def cells_of(column: Column, values: pa.ChunkedArray) -> Floats:
    """Return numbers in their own units, or days after 1970-01-01; gaps are NaN."""
    source = source_of(values.type)
    found = _dates(column, values, source) if column.kind == "date" else _numbers(column, values, source)
    if column.gap_values:
        found[np.isin(found, column.gap_values)] = np.nan
    return found


def _numbers(column: Column, values: pa.ChunkedArray, source: str) -> Floats:
    if source in ("number", "boolean"):
        return numbers_in(values)
    if source != "text":
        raise TypeChangedError(f"{values.type} instead of numbers")
    words = words_in(values)
    found = words.spread(NumberFormat(column.decimal, column.grouping, column.unit).read(words.distinct))
    return _checked(found, words, "words instead of numbers")


def _dates(column: Column, values: pa.ChunkedArray, source: str) -> Floats:
    if source == "date":
        return days_in(values)
    if source != "text" and not (source == "number" and column.date_format == "compact"):
        raise TypeChangedError(f"{values.type} instead of dates")
    words = words_in(values)
    return _checked(words.spread(days_of(words.distinct, column.date_format)), words, "words instead of dates")


def words_of(column: Column, values: pa.ChunkedArray) -> Words:
    """Return the words of the cells."""
    if source_of(values.type) == "other":
        raise TypeChangedError(f"{values.type} instead of words")
    return words_in(values)


def places_of(column: Column, values: pa.ChunkedArray) -> Ints:
    """Return the position of the level of each cell; then follow those of other words and of gaps."""
    words = words_of(column, values)
    n_levels = len(column.levels)
    keys = pa.array([level.lower() for level in column.levels], pa.large_string())
    unknown = n_levels if column.shares[-1] > 0 else n_levels + 1  # a word that did not occur in the fit is a gap
    found = pc.index_in(pc.utf8_lower(words.distinct), value_set=keys)
    is_text = source_of(values.type) == "text"
    if not is_text and words.n_known >= TYPE_CHANGED and found.null_count == len(found):
        raise TypeChangedError(f"{values.type} instead of words")
    place = np.asarray(found.fill_null(unknown).to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.append(place, n_levels + 1)[words.codes]


def encoded_cells(column: Column, cells: Floats) -> Floats:
    """Return the encoded column of numbers or days."""
    return scale_of(column).encode(elapsed(column, cells))[:, np.newaxis]


def is_unknown(column: Column, cells: Floats) -> Bools:
    """Return which cells are to be estimated: gaps, and cells far outside."""
    return np.isnan(cells) | scale_of(column).is_far(elapsed(column, cells))


def with_parts(column: Column, parts: tuple[str, ...], days: Floats) -> Column:
    """Return a date of which some parts are used; together they weigh as much as one number at most.

    Parameters
    ----------
    column : Column
        The date.
    parts : tuple of str
        Parts that are used; none are the days alone.
    days : ndarray
        Cells of the column, as days after 1970-01-01.
    """
    if not parts:
        return column
    known = days[~np.isnan(days)]
    cycles = [part for part in parts if part != DAYS]
    means = [float(mean) for part in cycles for mean in ring(known, part).mean(axis=0)]
    treatment = ", ".join([column.treatment] * (DAYS in parts) + cycles)
    weight = float(1 / np.sqrt(len(parts)))
    return replace(column, parts=parts, part_means=tuple(means), treatment=treatment, weight=weight)


def encoded_parts(column: Column, days: Floats, bits: Bits, first: int) -> Floats:
    """Return the encoded columns of the hour, the day of the week or the month, of which the first has a number."""
    means = np.array(column.part_means).reshape(-1, 2)
    drawn = bits if column.encoding == "spread" else None
    found = [
        encoded_ring(days, part, mean, drawn, first + 2 * j)
        for j, (part, mean) in enumerate(zip(column.cycles, means, strict=True))
    ]
    return column.weight * np.column_stack(found)


def encoded_places(column: Column, place: Ints, bits: Bits, first: int) -> Floats:
    """Return the encoded columns of a category, of which the first has a number; `bits` are those of the rows."""
    if column.encoding == "spread":
        return column.weight * spread_numbers(place, bits, first, column.shares, column.role == "boolean")
    return indicators(column)[place]


def indicators(column: Column) -> Floats:
    """Return the encoded row of each level, of other words, and of gaps."""
    shares = np.array(column.shares)
    indicators = np.vstack([np.eye(len(shares)) - shares, np.zeros(len(shares))])
    if shares[-1] == 0:
        indicators = indicators[:, :-1]
    if column.role == "boolean":
        indicators = indicators[:, 1:2]
    return column.weight * indicators


def scale_of(column: Column) -> Scale:
    """Return the part of the column that scales numbers."""
    return Scale(**{field.name: getattr(column, field.name) for field in fields(Scale)})


def elapsed(column: Column, cells: Floats) -> Floats:
    """Return dates as days before the reference, and numbers as they are."""
    return column.reference - cells if column.kind == "date" else cells


def decoded(column: Column, encoded: Floats, which: int) -> NDArray[Any]:
    """Return numbers of an encoded column in the units of the table: dates as datetime64, levels as shares.

    Cosines and sines of parts of a date are mean ones.
    """
    if not column.is_scaled:
        inner, is_boolean = encoded / column.weight, column.role == "boolean"
        if column.encoding == "spread":
            return share_at(inner, thresholds(column.shares, is_boolean)[which][1])
        return inner + column.shares[1 if is_boolean else which]
    if column.parts:
        encoded = encoded / column.weight
    place = which - column.is_counted  # among the cosines and sines
    if place >= 0:
        return encoded + column.part_means[place] * (MIDDLE if column.encoding == "spread" else 1.0)
    cells = scale_of(column).decode(encoded)
    return as_dates(column.reference - cells, column.has_time) if column.role == "date" else cells


def values_of(column: Column, source: pa.ChunkedArray) -> NDArray[Any]:
    """Return the cells as people read them: floats, datetime64, or objects that are str or None."""
    if column.kind == "words":
        return words_of(column, source).objects()
    cells = cells_of(column, source)
    return as_dates(cells, column.has_time) if column.kind == "date" else cells


def parts_of(column: Column, source: pa.ChunkedArray) -> dict[str, NDArray[Any]]:
    """Return the parts of a date as people read them, by the names in `shown_columns`."""
    days = cells_of(column, source) if column.cycles else np.empty(0)
    return {f"{part} of {column.name}": readable(days, part) for part in column.cycles}


def _checked(found: Floats, words: Words, complaint: str) -> Floats:
    n_known = words.n_known
    if n_known >= TYPE_CHANGED and np.isnan(found).sum() - (len(found) - n_known) > n_known / 2:
        raise TypeChangedError(complaint)
    return found


def as_dates(days: Floats, has_time: bool) -> NDArray[Any]:
    """Return days after 1970-01-01 as datetime64, in whole days or seconds."""
    per_day, unit = (86400, "s") if has_time else (1, "D")
    known = np.isfinite(days)
    whole = np.where(known, np.rint(np.where(known, days, 0.0) * per_day), 0).astype(np.int64)
    dates = whole.astype(f"M8[{unit}]")
    dates = np.where(known, dates, np.datetime64("NaT"))
    return dates.astype(f"M8[{unit}]")
