"""Read dates that are written as text, in the format of the whole column, as days after 1970-01-01."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ravine._matrix import Bools, Floats, Ints
from ravine.prepare._cells import Words

TIME = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:[.,]\d+)?))?\s*(?P<half>[aApP][mM])?"
    r"\s*(?P<zone>Z|UTC|[-+]\d{2}:?\d{2})?)?$"
)
"""The time of the day after a date, with a zone."""

MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    *("jän", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez"),
)
"""First letters of the months, in English and German."""

PATTERNS = {
    "ymd": r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + TIME,
    "dmy": r"^(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4}|\d{2})" + TIME,
    "mdy": r"^(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})" + TIME,
    "d month y": r"^(?P<day>\d{1,2})[. /-]*(?P<name>\p{L}{3})\p{L}{0,6}[., /-]*(?P<year>\d{4}|\d{2})" + TIME,
    "month d y": r"^(?P<name>\p{L}{3})\p{L}{0,6}\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4})" + TIME,
    "compact": r"^(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})$",
    "ym": r"^(?P<year>(?:19|20)\d{2})[-/](?P<month>\d{2})$",
}
"""Formats of dates; "dmy" and "mdy" are told apart by the whole column."""

ENOUGH = 0.98
"""A column is a date if this share of its known cells is."""

CENTURY = 70
"""Years of two digits from this number on are in the 20th century."""


@dataclass(frozen=True)
class DateText:
    """A column of text read as dates.

    Attributes
    ----------
    format : str
        A name in `PATTERNS`.
    days : ndarray
        Day of each distinct word, NaN if it is no date.
    share : float
        Share of the known cells that are dates.
    is_guess : bool
        Whether days and months could be exchanged in all cells.
    """

    format: str
    days: Floats
    share: float
    is_guess: bool = False


def read_dates(words: Words) -> DateText | None:
    """Return the column as dates in the format that reads most cells, None if no cell is a date."""
    found: dict[str, tuple[float, Floats]] = {}
    for name in PATTERNS:
        days = days_of(words.distinct, name)
        share = words.share_of(~np.isnan(days))
        if share:
            found[name] = share, days
    if not found:
        return None
    best = max(share for share, _ in found.values())
    name = next(name for name, (share, _) in found.items() if share >= best - 1e-12)
    is_guess = name == "dmy" and "mdy" in found and found["mdy"][0] >= best - 1e-12
    if is_guess and _month_is_first(words, found["dmy"][1], found["mdy"][1]):
        name = "mdy"
    return DateText(name, found[name][1], best, is_guess)


def _month_is_first(words: Words, dmy: Floats, mdy: Floats) -> bool:
    """Decide between two readings that are valid for all cells: the same day of every month, else by the separator."""
    n_days, n_days_mdy = (len(np.unique(_day_of_month(days))) for days in (dmy, mdy))
    if (n_days == 1) != (n_days_mdy == 1):
        return n_days_mdy == 1
    return bool(pc.any(pc.match_substring(words.distinct, "/")).as_py())


def _day_of_month(days: Floats) -> Ints:
    dates = np.floor(days[~np.isnan(days)]).astype("int64").astype("M8[D]")
    return np.asarray((dates - dates.astype("M8[M]")).astype(np.int64))


def days_of(distinct: pa.Array, name: str) -> Floats:
    """Return the day of each word in a format, with its fraction; NaN if it is no date."""
    if not len(distinct):
        return np.empty(0)
    parts = pc.extract_regex(distinct, PATTERNS[name])
    is_date = np.asarray(pc.is_valid(parts))
    names = {field.name for field in parts.type}

    def numbers(field: str, otherwise: float = 0.0) -> Floats:
        return _numbers(parts.field(field), otherwise) if field in names else np.full(len(distinct), otherwise)

    year, month, day = numbers("year"), numbers("month", 1.0), numbers("day", 1.0)
    if "name" in names:
        month = _named_month(parts.field("name"))
    year += np.where(year < 100, np.where(year >= CENTURY, 1900, 2000), 0) if name != "ymd" else 0
    hour, minute, second = numbers("hour"), numbers("minute"), numbers("second")
    seconds = hour * 3600 + minute * 60 + second
    good = is_date & (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60)
    if "zone" in names:
        seconds += _half_day(parts.field("half"), hour) - _zone_seconds(parts.field("zone"))
    first = _months_after_1970(year, month, good).astype("M8[M]")
    length = ((first + 1).astype("M8[D]") - first.astype("M8[D]")).astype(np.int64)
    whole = first.astype("M8[D]").astype(np.int64) + day - 1
    return np.where(good & (day <= length), whole + seconds / 86400.0, np.nan)


def _numbers(texts: pa.Array, otherwise: float = 0.0) -> Floats:
    """Return the numbers of a part of a date, and a default where the part is empty."""
    texts = pc.replace_substring(texts, ",", ".")
    known = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    return np.nan_to_num(np.asarray(known.cast(pa.float64()).to_numpy(zero_copy_only=False)), nan=otherwise)


def _months_after_1970(year: Floats, month: Floats, good: Bools) -> Ints:
    return np.where(good, (year - 1970) * 12 + month - 1, 0).astype(np.int64)


def _named_month(names: pa.Array) -> Floats:
    """Return the number of each month, 0 if the name is unknown."""
    place = pc.index_in(pc.utf8_lower(names), value_set=pa.array(MONTHS, pa.large_string()))
    number = np.asarray(place.fill_null(-1).to_numpy(zero_copy_only=False))
    return np.where(number < 0, 0.0, number % 12 + 1.0)


def _half_day(half: pa.Array, hour: Floats) -> Floats:
    text = np.char.lower(half.to_numpy(zero_copy_only=False).astype(str))
    return np.where(
        text == "pm", np.where(hour < 12, 43200.0, 0.0), np.where((text == "am") & (hour == 12), -43200.0, 0)
    )


def _zone_seconds(zone: pa.Array) -> Floats:
    parts = pc.extract_regex(zone, r"^(?P<sign>[-+])(?P<hour>\d{2}):?(?P<minute>\d{2})$")
    size = _numbers(parts.field("hour")) * 3600 + _numbers(parts.field("minute")) * 60
    return np.where(parts.field("sign").to_numpy(zero_copy_only=False) == "-", -size, size)
