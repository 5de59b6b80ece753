"""What a `TableEncoder` has learned about one column."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ravine._lazy import public
from ravine._names import OTHER
from ravine.prepare._date_parts import DAYS
from ravine.prepare._spread import thresholds

Kind = Literal["number", "date", "words", "none"]
"""How the cells of a column are read, whatever its role; "none" cannot be read."""


@public("ravine.prepare")
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
    parts : tuple of str
        Parts of a date that were asked for: "days", "hour", "weekday" or "month". Without them, days are used.
    part_means : tuple of float
        Mean cosine and mean sine of each part but "days".
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
        Cells that are farther than `reach` from these edges, after the transform, are far outside: they are estimated
        like gaps, or moved to the nearer edge if that is not possible.
    fill : float
        Median of the cells, in their own units. It replaces gaps.
    lowest, highest : float
        Bounds of nearly all cells, in their own units.
    levels : tuple of str
        Levels of a category.
    shares : tuple of float
        Share of each level, and last that of all other levels.
    encoding : {"indicators", "spread"}
        How a category, or a part of a date, becomes numbers, see `TableEncoder`.
    weight : float
        Factor of the numbers of a category, or of the parts of a date.
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
    parts: tuple[str, ...] = ()
    part_means: tuple[float, ...] = ()
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
        """Whether the cells are numbers or dates, and not words."""
        return self.role in ("number", "date")

    @property
    def is_counted(self) -> bool:
        """Whether the column becomes a centered and scaled number: all numbers, and dates whose days are used."""
        return self.is_scaled and (not self.parts or DAYS in self.parts)

    @property
    def cycles(self) -> tuple[str, ...]:
        """Parts of a date that return, such as the hour."""
        return tuple(part for part in self.parts if part != DAYS)

    @property
    def shown_columns(self) -> dict[str, Kind]:
        """Names of the columns in `TableEncoder.values`, and how their cells are read: parts of a date have their own.

        Examples
        --------
        >>> from ravine.prepare import TableEncoder
        >>> table = {"when": ["2024-03-01 09:30", "2024-03-02 17:00", "2024-03-04 08:15"]}
        >>> TableEncoder(roles={"when": "date:hour,weekday"}).fit(table).columns_[0].shown_columns
        {'when': 'date', 'hour of when': 'number', 'weekday of when': 'words'}
        """
        parts: dict[str, Kind] = {
            f"{part} of {self.name}": "number" if part == "hour" else "words" for part in self.cycles
        }
        return {self.name: self.kind, **parts}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        if not self.is_used:
            return ()
        if self.is_scaled:
            rings = [f"{part} of {self.name}={axis}" for part in self.cycles for axis in ("cosine", "sine")]
            return (*([self.name] if self.is_counted else []), *rings)
        return tuple(f"{self.name}={level}" for level in self.shown_levels)

    @property
    def shown_levels(self) -> tuple[str, ...]:
        """Levels with an encoded column: the second of a Boolean, all or all but the last of a category."""
        if self.role == "boolean":
            return self.levels[1:]
        if self.encoding == "spread":
            return tuple(self.levels[j] for j, _ in thresholds(self.shares, is_boolean=False))
        return (*self.levels, OTHER) if self.shares[-1] > 0 else self.levels
