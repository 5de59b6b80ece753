"""What a `TableEncoder` has learned about one column, and how cells become numbers and back."""

import unicodedata
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ravine._matrix import Floats, Ints
from ravine.prepare._cells import Words, days_in, numbers_in, source_of, words_in
from ravine.prepare._date_text import days_of
from ravine.prepare._number_text import NumberFormat
from ravine.prepare._scale import Scale
from ravine.prepare._spread import Bits, share_at, spread_numbers, thresholds

Kind = Literal["number", "date", "words", "none"]
"""How the cells of a column are read, whatever its role; "none" cannot be read."""

OTHER = "other"
"""Name of the level that stands for all rare levels."""

TYPE_CHANGED = 10
"""If fewer than half of at least this many cells can be read as numbers or dates, the type of a column has changed."""


class TypeChangedError(ValueError):
    """A column holds something else than in the fit."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a fitted encoder knows about one column.

    Parameters
    ----------
    name : str
        Name of the column.
    role : str
        "number", "date", "boolean" or "category" if the column is used; "identifier", "constant", "text", "copy",
        "empty" or "ignore" if it is not.
    treatment : str
        What is done with the column, in a few words.
    reason : str
        Why, in a sentence.
    kind : {"number", "date", "words", "none"}
        How the cells are read.
    unit, decimal, grouping : str
        Unit, decimal mark and thousands separator of numbers that are written as text.
    date_format : str
        Format of dates that are written as text: "ymd", "dmy", "mdy", "d month y", "month d y", "compact" or "ym".
    has_time : bool
        Whether dates have a time of the day.
    reference : float
        Date from which days are counted back, as days after 1970-01-01.
    gap_values : tuple of float
        Numbers that stand for a missing value.
    transform : {"none", "log"}
        Transform of numbers, with `offset` and `knee`: the logarithm of the cell plus the offset, below the knee a
        straight line.
    offset, knee : float
        See `transform`.
    center, scale : float
        Mean and deviation after the transform.
    low, high, reach : float
        Cells that are farther than `reach` from these edges are moved to the nearer one, after the transform.
    fill : float
        Median of the cells, in their own units. It replaces gaps.
    lowest, highest : float
        Bounds of nearly all cells, in their own units.
    levels : tuple of str
        Levels of a category.
    shares : tuple of float
        Share of each level, and last that of all other levels.
    encoding : {"indicators", "spread"}
        How a category becomes numbers, see `TableEncoder`.
    weight : float
        Factor of the numbers of a category.
    follows : str or None
        Column of which this one is a copy.
    n_gaps : int
        Number of gaps among the rows that were looked at.

    See Also
    --------
    TableEncoder : Learns the columns of a table.

    Examples
    --------
    >>> from ravine.prepare import TableEncoder
    >>> encoder = TableEncoder().fit({"price": ["€1,250.00", "€890.50", "€1,020.00", None]})
    >>> column = encoder.columns_[0]
    >>> column.role, column.unit, column.fill
    ('number', '€', 1020.0)
    """

    name: str
    role: str
    treatment: str
    reason: str
    kind: Kind
    unit: str = ""
    decimal: str = "."
    grouping: str = ","
    date_format: str = "ymd"
    has_time: bool = False
    reference: float = 0.0
    gap_values: tuple[float, ...] = ()
    transform: str = "none"
    offset: float = 0.0
    knee: float = 0.0
    center: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    reach: float = np.inf
    fill: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    levels: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    encoding: str = "indicators"
    weight: float = 1.0
    follows: str | None = None
    n_gaps: int = 0

    @property
    def is_used(self) -> bool:
        """Whether the column is part of the encoded rows."""
        return self.role in ("number", "date", "boolean", "category")

    @property
    def affixes(self) -> tuple[str, str]:
        """What stands before and after a number that is shown with its unit: currencies come first."""
        if not self.unit:
            return "", ""
        if len(self.unit) == 1 and unicodedata.category(self.unit) == "Sc":
            return self.unit, ""
        return "", f" {self.unit}"

    @property
    def is_scaled(self) -> bool:
        """Whether the column becomes one centered and scaled number."""
        return self.role in ("number", "date")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        if not self.is_used:
            return ()
        if self.is_scaled:
            return (self.name,)
        return tuple(f"{self.name}={level}" for level in self.shown_levels)

    @property
    def shown_levels(self) -> tuple[str, ...]:
        """Levels with an encoded column: the second of a Boolean, all or all but the last of a category."""
        if self.role == "boolean":
            return self.levels[1:]
        if self.encoding == "spread":
            return tuple(self.levels[j] for j, _ in thresholds(self.shares, is_boolean=False))
        return (*self.levels, OTHER) if self.shares[-1] > 0 else self.levels

    def state(self) -> dict[str, Any]:
        """Return the column as plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    def cells(self, values: pa.ChunkedArray) -> Floats:
        """Return numbers in their own units, or days after 1970-01-01; gaps are NaN."""
        source = source_of(values.type)
        found = self._dates(values, source) if self.kind == "date" else self._numbers(values, source)
        if self.gap_values:
            found[np.isin(found, self.gap_values)] = np.nan
        return found

    def _numbers(self, values: pa.ChunkedArray, source: str) -> Floats:
        if source in ("number", "boolean"):
            return numbers_in(values)
        if source != "text":
            raise TypeChangedError(f"{values.type} instead of numbers")
        words = words_in(values)
        found = words.spread(NumberFormat(self.decimal, self.grouping, self.unit).read(words.distinct))
        return _checked(found, words, "words instead of numbers")

    def _dates(self, values: pa.ChunkedArray, source: str) -> Floats:
        if source == "date":
            return days_in(values)
        if source != "text" and not (source == "number" and self.date_format == "compact"):
            raise TypeChangedError(f"{values.type} instead of dates")
        words = words_in(values)
        return _checked(words.spread(days_of(words.distinct, self.date_format)), words, "words instead of dates")

    def words(self, values: pa.ChunkedArray) -> Words:
        """Return the words of the cells."""
        source = source_of(values.type)
        if source == "other":
            raise TypeChangedError(f"{values.type} instead of words")
        if source in ("number", "date") and self.levels and not any(c.isdigit() for c in "".join(self.levels)):
            raise TypeChangedError(f"{values.type} instead of words")
        return words_in(values)

    def places(self, values: pa.ChunkedArray) -> Ints:
        """Return the position of the level of each cell; then follow those of other words and of gaps."""
        words = self.words(values)
        n_levels = len(self.levels)
        keys = pa.array([level.lower() for level in self.levels], pa.large_string())
        unknown = n_levels if self.shares[-1] > 0 else n_levels + 1  # a word that did not occur in the fit is a gap
        place = pc.index_in(pc.utf8_lower(words.distinct), value_set=keys).fill_null(unknown)
        return np.append(np.asarray(place.to_numpy(zero_copy_only=False), dtype=np.int64), n_levels + 1)[words.codes]

    def encoded_cells(self, cells: Floats) -> Floats:
        """Return the encoded column of numbers or days."""
        return self.as_scale().encode(self.elapsed(cells))[:, np.newaxis]

    def encoded_places(self, place: Ints, bits: Bits, first: int) -> Floats:
        """Return the encoded columns of a category, of which the first has a number; `bits` are those of the rows."""
        if self.encoding == "spread":
            return self.weight * spread_numbers(place, bits, first, self.shares, self.role == "boolean")
        return self._table()[place]

    def _table(self) -> Floats:
        """Return the encoded row of each level, of other words, and of gaps."""
        shares = np.array(self.shares)
        indicators = np.vstack([np.eye(len(shares)) - shares, np.zeros(len(shares))])
        if shares[-1] == 0:
            indicators = indicators[:, :-1]
        if self.role == "boolean":
            indicators = indicators[:, 1:2]
        return self.weight * indicators

    def as_scale(self) -> Scale:
        """Return the part of the column that scales numbers."""
        return Scale(**{field.name: getattr(self, field.name) for field in fields(Scale)})

    def elapsed(self, cells: Floats) -> Floats:
        """Return dates as days before the reference, and numbers as they are."""
        return self.reference - cells if self.kind == "date" else cells

    def decode(self, encoded: Floats, which: int) -> NDArray[Any]:
        """Return numbers of an encoded column in the units of the table: dates as datetime64, levels as shares."""
        if not self.is_scaled:
            inner, is_boolean = encoded / self.weight, self.role == "boolean"
            if self.encoding == "spread":
                return share_at(inner, thresholds(self.shares, is_boolean)[which][1])
            return inner + self.shares[1 if is_boolean else which]
        cells = self.as_scale().decode(encoded)
        return as_dates(self.reference - cells, self.has_time) if self.role == "date" else cells

    def values(self, source: pa.ChunkedArray) -> NDArray[Any]:
        """Return the cells as people read them: floats, datetime64, or objects that are str or None."""
        if self.kind == "words":
            return self.words(source).objects()
        cells = self.cells(source)
        return as_dates(cells, self.has_time) if self.kind == "date" else cells


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
