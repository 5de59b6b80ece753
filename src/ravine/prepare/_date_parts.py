"""Encode the parts of a date that return: the hour of the day, the day of the week, the month of the year.

A part is an angle, so that 23:59 is near 0:01 and December is near January. Its cosine and its sine are the point of a
ring. A ring has a hole in its middle: an empty valley, like that between the two values of an indicator. So the ring is
filled, as the valley of a category is (`_spread`): the distance of a row from the middle is that of a normal
distribution in the plane. If all hours are equally frequent, and have nothing to do with the other columns, the two
numbers are independent normal noise. The distance is not random: it is a function of the cells of the row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._matrix import Floats
from ravine.prepare._spread import Bits, uniform_of

DAYS = "days"
"""The part of a date that does not return: the days before the latest date."""

CYCLES = ("hour", "weekday", "month")
"""The parts that return."""

PARTS = (DAYS, *CYCLES)
"""Parts of a date that a user can ask for."""

MIDDLE = float(np.sqrt(np.pi) / 2)
"""Mean distance of a filled ring from its middle, if the mean of the squares is 1."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def split_role(role: str) -> tuple[str, tuple[str, ...]]:
    """Return the role and the parts of a date. Raises ValueError if a part is not known.

    Examples
    --------
    >>> split_role("date:hour, weekday"), split_role("number")
    (('date', ('hour', 'weekday')), ('number', ()))
    """
    name, colon, rest = role.partition(":")
    if not colon:
        return role, ()
    parts = tuple(dict.fromkeys(part.strip() for part in rest.split(",")))
    if name.strip() != "date":
        raise ValueError(f"the role {role!r} has parts, but only a date has: for instance 'date:hour,weekday'")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"a date has no part {', '.join(map(repr, unknown))}: choose from {', '.join(PARTS)}")
    return "date", parts


def turns(days: Floats, part: str) -> Floats:
    """Return the place of dates in the cycle of a part, from 0 to 1; NaN for gaps.

    Parameters
    ----------
    days : ndarray
        Days after 1970-01-01, a Thursday.
    part : {"hour", "weekday", "month"}
    """
    if part == "hour":
        return days % 1.0
    if part == "weekday":
        return (np.floor(days) + 3) % 7 / 7
    known = np.isfinite(days)
    months = np.floor(np.where(known, days, 0.0)).astype("M8[D]").astype("M8[M]").astype(np.int64)
    return np.where(known, months % 12 / 12, np.nan)


def ring(days: Floats, part: str) -> Floats:
    """Return the cosine and the sine of a part of some dates, in two columns; NaN for gaps."""
    angle = 2 * np.pi * turns(days, part)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def encoded_ring(days: Floats, part: str, mean: Floats, bits: Bits | None, number: int) -> Floats:
    """Return the two centered numbers of a part of some dates, 0 for gaps.

    Parameters
    ----------
    days : ndarray
        Days after 1970-01-01.
    part : {"hour", "weekday", "month"}
    mean : ndarray of shape (2,)
        Mean of the cosine and the sine in the fit.
    bits : ndarray of uint64 or None
        Bits of each row, with which the ring is filled; None leaves it as it is.
    number : int
        Number of the first encoded column, so that each part has distances of its own.
    """
    distance = np.ones(len(days)) if bits is None else np.sqrt(-np.log(uniform_of(bits, number)))
    middle = 1.0 if bits is None else MIDDLE
    found = ring(days, part) * distance[:, np.newaxis] - middle * mean
    return np.where(np.isnan(found), 0.0, found)


def readable(days: Floats, part: str) -> NDArray[Any]:
    """Return a part of some dates as people read it: hours as numbers, days of the week and months by name."""
    if part == "hour":
        return 24.0 * turns(days, part)
    names = WEEKDAYS if part == "weekday" else MONTHS
    place = np.rint(np.nan_to_num(turns(days, part), nan=1.0) * len(names)).astype(np.int64)
    return np.array([*names, None], dtype=object)[place]
