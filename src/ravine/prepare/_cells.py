"""Read the cells of one column: as numbers, days or words.

Text is read through its distinct values: a column of a million cells and a hundred words costs a hundred words. Spaces
are put in order, and the usual words for a missing value become gaps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ravine._matrix import LARGEST, Bools, Floats, Ints

Source = Literal["number", "text", "date", "boolean", "other"]
"""What a column of Arrow holds. Times of the day and durations are numbers of seconds."""

GAP_WORDS = (
    *("", "na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "nat", "null", "none", "nil", "missing", "?", "??"),
    *("-", "--", "---", "–", "—", ".", "..", "...", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "\\n", "(null)"),
)
"""Words that stand for a missing value, in lower case."""

LARGEST_WHOLE = 2.0**53
"""Up to this number, floats are exact whole numbers."""

SPACES = r"[\s\x{a0}\x{2007}\x{2009}\x{202f}\x{feff}\x{200b}]+"
"""Spaces of all kinds; each run of them counts as one space."""


@dataclass(frozen=True)
class Words:
    """The distinct words of a column, and the word of each cell.

    Attributes
    ----------
    distinct : pyarrow.Array of large_string
        Words that occur, without gaps.
    codes : ndarray of int64
        Position of the word of each cell; -1 is a gap.
    """

    distinct: pa.Array
    codes: Ints

    @cached_property
    def counts(self) -> Ints:
        """Number of cells of each word."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.distinct))

    @property
    def n_known(self) -> int:
        """Number of cells that are no gaps."""
        return int(self.counts.sum())

    def share_of(self, chosen: Bools) -> float:
        """Return the share of the known cells whose word is chosen."""
        return float(self.counts[chosen].sum()) / max(self.n_known, 1)

    def spread(self, of_distinct: Floats) -> Floats:
        """Return a number for each cell from one for each word; NaN for gaps."""
        return np.append(of_distinct, np.nan)[self.codes]

    def objects(self) -> NDArray[Any]:
        """Return the word of each cell as an object, None for gaps."""
        return np.array([*self.distinct.to_pylist(), None], dtype=object)[self.codes]

    def folded(self) -> "Words":
        """Return the words without regard to case; each is shown in its most frequent spelling."""
        keys = pc.utf8_lower(self.distinct).dictionary_encode()
        place = np.asarray(keys.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        if len(keys.dictionary) == len(self.distinct):
            return self
        first = np.full(len(keys.dictionary), -1)
        for j in np.argsort(-self.counts, kind="stable")[::-1]:
            first[place[j]] = j
        return Words(self.distinct.take(pa.array(first)), np.append(place, -1)[self.codes])


def source_of(kind: pa.DataType) -> Source:
    """Return what columns of this type hold."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_of = pa.types
    if is_of.is_boolean(kind):
        return "boolean"
    if is_of.is_integer(kind) or is_of.is_floating(kind) or is_of.is_decimal(kind):
        return "number"
    if is_of.is_duration(kind) or is_of.is_time(kind):
        return "number"
    if is_of.is_date(kind) or is_of.is_timestamp(kind):
        return "date"
    if is_of.is_string(kind) or is_of.is_large_string(kind) or is_of.is_string_view(kind) or is_of.is_null(kind):
        return "text"
    return "other"


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def numbers_in(values: pa.ChunkedArray) -> Floats:
    """Return the cells of a column of numbers or Booleans; gaps and cells whose square overflows are NaN."""
    values = plain(values)
    kind = values.type
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = values.cast(pa.int32()).cast(pa.int64()) if pa.types.is_time32(kind) else values.cast(pa.int64())
        return _floats(whole) / per_second
    return _floats(values)


def _floats(values: pa.ChunkedArray) -> Floats:
    cells = np.array(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    cells[~(np.abs(cells) <= LARGEST)] = np.nan
    return cells


def days_in(values: pa.ChunkedArray) -> Floats:
    """Return the cells of a column of dates or times as days after 1970-01-01, gaps as NaN."""
    values = plain(values)
    unit = "ms" if pa.types.is_date(values.type) else values.type.unit
    per_day = {"s": 86400.0, "ms": 86400e3, "us": 86400e6, "ns": 86400e9}[unit]
    whole = values.cast(pa.date64()).cast(pa.int64()) if pa.types.is_date(values.type) else values.cast(pa.int64())
    return _floats(whole) / per_day


def words_in(values: pa.ChunkedArray) -> Words:
    """Return the words of a column of any type but nested ones; whole numbers have no decimal point."""
    source = source_of(values.type)
    values = plain(values)
    if source == "number" and not pa.types.is_integer(values.type):
        values = _number_words(numbers_in(values))
    encoded = values.cast(pa.large_string()).combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    tidy = pc.utf8_trim_whitespace(pc.replace_substring_regex(encoded.dictionary, SPACES, " "))
    is_gap = pc.is_in(pc.utf8_lower(tidy), value_set=pa.array(GAP_WORDS, pa.large_string()))
    again = pc.if_else(is_gap, pa.scalar(None, pa.large_string()), tidy).dictionary_encode()
    place = np.append(_positions(again.indices), -1)
    return Words(again.dictionary, place[_positions(encoded.indices)])


def _number_words(cells: Floats) -> pa.ChunkedArray:
    """Return numbers as text, whole ones without a decimal point or an exponent."""
    is_whole = (cells % 1 == 0) & (np.abs(cells) < LARGEST_WHOLE)
    whole = pa.array(np.where(is_whole, cells, 0.0).astype(np.int64)).cast(pa.large_string())
    others = pa.array(cells, from_pandas=True).cast(pa.large_string())
    return pa.chunked_array([pc.if_else(pa.array(is_whole), whole, others)])


def _positions(indices: pa.Array) -> Ints:
    return np.asarray(indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
