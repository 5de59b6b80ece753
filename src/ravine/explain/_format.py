"""Numbers, dates and shares as people write them: few digits, thousands separators, units."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from ravine._names import shown

Units = Mapping[str, tuple[str, str]]
"""Text before and after the numbers of some columns, by name: ``{"spend": ("€", ""), "weight": ("", " kg")}``."""

DIGITS, DIGITS_OF_SPREAD = 3, 2
"""A number has the first number of significant digits, or as many as show the second number of digits of the spread of
its column. It has no more decimals than show the first number of digits of the spread."""

YEARS = 1800, 2100
"""Whole numbers of a column between these two are years, which have no thousands separator."""

EDGE = 0.1
"""The edges of a range are this share of it, on each side."""

DAY = 86_400_000_000
"""Microseconds of a day."""


def number_text(value: float, spread: float = 0.0, is_year: bool = False, unit: tuple[str, str] = ("", "")) -> str:
    """Return a number with three significant digits or, if the spread of its column is smaller, with more.

    Examples
    --------
    >>> number_text(1237.4), number_text(1237.4, spread=30), number_text(0.01234), number_text(-5, unit=("€", ""))
    ('1,240', '1,237', '0.0123', '-€5')
    >>> number_text(0.0096, spread=4.0)
    '0.01'
    >>> number_text(1_234_567), number_text(2015, 6, is_year=True), number_text(1e20), number_text(0, unit=("", " kg"))
    ('1,230,000', '2015', '1e+20', '0 kg')
    """
    before, after = unit
    if math.isnan(value):
        return "missing"
    sign, size = "-" if value < 0 else "", abs(value)
    if not math.isfinite(value):
        return f"{sign}{before}∞{after}"
    if size and not 1e-6 <= size < 1e15:
        text = f"{size:.{DIGITS}g}"
    else:
        decimals = DIGITS - 1 - _magnitude(size) if size else 0
        if spread > 0 and math.isfinite(spread):
            least, most = (digits - 1 - _magnitude(spread) for digits in (DIGITS_OF_SPREAD, DIGITS))
            decimals = min(max(decimals, least), max(most, 0), 14 - _magnitude(size or 1.0))
        rounded = round(size, decimals)
        text = f"{rounded:,.{max(decimals, 0)}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        sign = sign if rounded else ""
    return f"{sign}{before}{text.replace(',', '') if is_year else text}{after}"


def date_text(value: np.datetime64, spread_days: float = math.inf) -> str:
    """Return a date, or a date with a time if the values of its column are within two days.

    Examples
    --------
    >>> date_text(np.datetime64("2024-03-01T12:30")), date_text(np.datetime64("2024-03-01T12:30"), spread_days=0.5)
    ('2024-03-01', '2024-03-01 12:30')
    """
    if np.isnat(value):
        return "missing"
    if spread_days > 2:
        return str(value.astype("datetime64[D]"))
    return str(value.astype("datetime64[m]")).replace("T", " ")


def share_text(share: float) -> str:
    """Return a share in percent; a small share, or all but a small share, is not rounded to nothing or to all.

    Examples
    --------
    >>> [share_text(share) for share in (0.624, 0.0042, 0.00001, 0.0, 0.9996, 1.0)]
    ['62 %', '0.4 %', 'less than 0.1 %', '0 %', 'more than 99 %', '100 %']
    """
    percent = 100 * share
    if percent <= 0 or percent >= 100 - 1e-9:
        return "0 %" if percent <= 0 else "100 %"
    if percent < 0.95:
        return f"{percent:.1f} %" if percent >= 0.05 else "less than 0.1 %"
    return f"{percent:.0f} %" if percent < 99.5 else "more than 99 %"


def plain_number(value: float) -> str:
    """Return a number as code, with the fewest digits that give it back.

    Examples
    --------
    >>> plain_number(820.0), plain_number(0.1), plain_number(-2.5e-7), plain_number(1e22)
    ('820', '0.1', '-2.5e-07', '1e+22')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))


def plain_date(microseconds: float, *, is_short: bool = False) -> str:
    """Return a date as text in the order of time; the time of day is left out at midnight.

    Examples
    --------
    >>> plain_date(1709251200000000.0), plain_date(1709301600000000.0)
    ('2024-03-01', '2024-03-01 14:00:00')
    >>> plain_date(1709301600000000.0, is_short=True)
    '2024-03-01 14'
    """
    moment = np.datetime64(int(microseconds), "us")
    if int(microseconds) % DAY == 0:
        return str(moment.astype("datetime64[D]"))
    text = str(moment).replace("T", " ")
    for end in (".000000", ":00", ":00") if is_short else (".000000",):
        text = text.removesuffix(end)
    return text


def roundest(low: float, high: float, near: float, is_whole: bool = False) -> float:
    """Return a number above `low`, and not above `high`, that has few digits.

    A number that is not at an edge of the range is taken if it has at most one digit more than the roundest number of
    all: a bound beside a row would separate the next rows badly. Steps of 5 come before steps of 1.

    Parameters
    ----------
    low, high : float
        Ends of the range.
    near : float
        Of equally round numbers, the nearest to this one is taken.
    is_whole : bool, default=False
        Whether to take only whole numbers, if there are any.

    Examples
    --------
    >>> roundest(811.3, 872.9, near=820.0), roundest(811.3, 819.2, near=812.0), roundest(0.012, 0.019, near=0.013)
    (850.0, 815.0, 0.015)
    >>> roundest(310, 1180, near=745, is_whole=True), roundest(1.9, 3.0, near=2.45), roundest(-3.0, 8.0, near=2.0)
    (1000.0, 2.5, 0.0)
    >>> roundest(30.0, 31.0, near=30.5), roundest(30.0, 31.0, near=30.5, is_whole=True)
    (30.5, 31.0)
    """
    low, high = _finite(low, high)
    least_step = 1.0 if is_whole else 0.0
    anywhere = _roundest(low, high, near, least_step)
    edge = EDGE * high - EDGE * low
    inside = _roundest(low + edge, high - edge, near, least_step)
    if inside is not None and (anywhere is None or _n_digits(inside) <= _n_digits(anywhere) + 1):
        return inside
    return high if anywhere is None else anywhere


def _roundest(low: float, high: float, near: float, least_step: float) -> float | None:
    if low < 0 <= high:
        return 0.0
    if not low < high:
        return None
    below, above, target = Decimal(low), Decimal(high), Decimal(near if math.isfinite(near) else high)
    exponent = _magnitude(max(abs(low), abs(high))) + 1
    for power in range(exponent, exponent - 20, -1):
        for step in (Decimal(1).scaleb(power), Decimal(5).scaleb(power - 1)):
            last = int((above / step).to_integral_value("ROUND_FLOOR"))
            first = int((below / step).to_integral_value("ROUND_FLOOR")) + 1
            if first <= last and step >= least_step:
                nearest = min(max(int((target / step).to_integral_value("ROUND_HALF_EVEN")), first), last)
                found = float(nearest * step)
                if low < found <= high:
                    return found
    return None


def _n_digits(number: float) -> int:
    """Return the number of significant digits."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits)


def roundest_date(low: float, high: float, near: float) -> float:
    """Return the moment above `low`, and not above `high`, that starts a year, else a month, a day, an hour and so on.

    Examples
    --------
    >>> days = [np.datetime64(day, "us").astype(float) for day in ("2023-11-20", "2024-02-13", "2023-12-12")]
    >>> plain_date(roundest_date(*days)), plain_date(roundest_date(days[2], days[1], days[1] - 1))
    ('2024-01-01', '2024-01-01')
    """
    low, high = _finite(low, high)
    for unit in ("Y", "M", "D", "h", "m", "s"):
        for moment in (near, high):
            found = float(
                np.datetime64(int(min(max(moment, low), high)), "us")
                .astype(f"datetime64[{unit}]")
                .astype("datetime64[us]")
                .astype(np.int64)
            )
            if low < found <= high:
                return found
    return high


def _finite(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range, with numbers in place of infinite ones."""
    if math.isinf(high) and math.isinf(low):
        return -1.0, 1.0
    if math.isinf(high):
        high = low + 10 * max(abs(low), 1.0)
    if math.isinf(low):
        low = high - 10 * max(abs(high), 1.0)
    return low, high


def _magnitude(size: float) -> int:
    """Return the power of ten of the first digit."""
    return int(f"{size:e}".partition("e")[2])


def name_text(name: Any) -> str:
    """Return the name of a column or a level as it is displayed; an empty one is said to be so."""
    return shown(name) or "(empty)"
