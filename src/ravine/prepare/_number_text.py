"""Read numbers that are written as text: "€1,234.50", "12 %", "1.234,50", "3.2 kg", "(12.50)".

The decimal mark, the thousands separator and the unit are those of the whole column. All work is done on distinct words
by compiled functions of pyarrow.
"""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ravine._matrix import LARGEST, Bools, Floats
from ravine.prepare._cells import Words

CURRENCIES = (
    *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "RMB", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN", "ISK"),
    *("TRY", "RUB", "UAH", "INR", "IDR", "KRW", "SGD", "HKD", "TWD", "THB", "AUD", "NZD", "CAD", "MXN", "BRL", "ARS"),
    *("CLP", "COP", "ZAR", "NGN", "EGP", "ILS", "AED", "SAR", "Fr", "kr", "Rs", "zł", "Kč", "R", "S"),
)
"""Words that may be in front of a number, besides the signs of currencies. Other words make it a code."""

PATTERN = (
    r"^(?P<open>\()?(?P<sign>[-+\x{2212}\x{2013}])?\s*"
    rf"(?P<prefix>(?:[A-Z]{{1,3}})?\p{{Sc}}|(?:{'|'.join(CURRENCIES)})\.?)?\s*(?P<inner>[-+\x{{2212}}\x{{2013}}])?\s*"
    r"(?P<body>\d(?:[\d.,'’ ]*\d)?[.]?|[.,]\d+)(?P<power>[eE][-+]?\d{1,3})?\s*"
    r"(?P<suffix>[\p{L}%‰°\p{Sc}\"/][\p{L}\d%‰°\p{Sc}/²³.·^\" ]*?)?(?P<end>[-\x{2212}])?(?P<close>\))?$"
)
"""A number with its sign, its unit in front or behind, and accounting parentheses."""

MARKS = ((".", ","), (".", " "), (".", "'"), (",", "."), (",", " "), (",", "'"))
"""Decimal marks with thousands separators, in the order of preference."""

ENOUGH = 0.98
"""A column is a number if this share of its known cells is."""

LOOKED_AT = 5000
"""The format is decided from at most this many distinct words."""

LEADING_ZEROS = 0.01
"""Whole numbers are codes if this share of the cells starts with a zero that is not needed."""


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes its numbers.

    Attributes
    ----------
    decimal, grouping : str
        Decimal mark and thousands separator.
    unit : str
        Unit or currency in front of the number or behind it; cells without it are read too.
    """

    decimal: str = "."
    grouping: str = ","
    unit: str = ""

    def read(self, distinct: pa.Array) -> Floats:
        """Return the number of each word, NaN where the word is none in this format."""
        if not len(distinct):
            return np.empty(0)
        minus, unit = r"[-+\x{2212}\x{2013}]?", f"(?:{re.escape(self.unit)})?" if self.unit else ""
        front, back = (
            rf"\s*(?:{minus}\s*{unit}|{unit}\s*{minus})\s*",
            rf"(?:[eE][-+]?\d{{1,3}})?\s*{unit}\s*[-\x{{2212}}]?",
        )
        number = rf"{front}{_body(self.decimal, self.grouping)}{back}"
        good = pc.match_substring_regex(distinct, rf"^(?:{number}|\({number}\))$")
        text = pc.if_else(good, distinct, pa.scalar(None, pa.large_string()))
        for extra in (self.unit, " ", self.grouping, *("’" * (self.grouping == "'"))):
            text = pc.replace_substring(text, extra, "") if extra else text
        is_minus = pc.match_substring_regex(text, r"^[-(\x{2212}\x{2013}]|[-\x{2212}]$")
        text = pc.utf8_trim(text, "()+-−–")
        text = pc.replace_substring(text, self.decimal, ".") if self.decimal != "." else text
        size = np.array(pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        size[~(size <= LARGEST)] = np.nan
        return np.where(np.asarray(is_minus.fill_null(False)), -size, size)


@dataclass(frozen=True)
class NumberText:
    """A column of text read as numbers.

    Attributes
    ----------
    format : NumberFormat
    numbers : ndarray
        Number of each distinct word, NaN if it is none.
    share : float
        Share of the known cells that are numbers.
    is_code : bool
        Whether the numbers are codes, because they have zeros in front.
    units : tuple of str
        Units that occur, the most frequent first.
    """

    format: NumberFormat
    numbers: Floats
    share: float
    is_code: bool
    units: tuple[str, ...]


def read_numbers(words: Words) -> NumberText | None:
    """Return the column as numbers in the format that reads most cells, None if no cell is a number."""
    if not len(words.distinct):
        return None
    some = _some(words)
    parts = pc.extract_regex(some.distinct, PATTERN)
    has_parts = np.asarray(pc.is_valid(parts))
    if not has_parts.any():
        return None
    units = _units(parts, some, has_parts)
    decimal, grouping = _marks(parts.field("body"), some, has_parts)
    chosen = NumberFormat(decimal, grouping, units[0] if units else "")
    numbers = chosen.read(words.distinct)
    zeros = np.asarray(pc.fill_null(pc.match_substring_regex(parts.field("body"), r"^0\d"), False))
    return NumberText(chosen, numbers, words.share_of(~np.isnan(numbers)), some.share_of(zeros) >= LEADING_ZEROS, units)


def _some(words: Words) -> Words:
    """Return at most `LOOKED_AT` of the distinct words, with the cells that have them."""
    if len(words.distinct) <= LOOKED_AT:
        return words
    chosen = np.linspace(0, len(words.distinct) - 1, LOOKED_AT).astype(np.int64)
    place = np.full(len(words.distinct) + 1, -1)
    place[chosen] = np.arange(LOOKED_AT)
    return Words(words.distinct.take(pa.array(chosen)), place[words.codes])


def _units(parts: pa.StructArray, words: Words, has_parts: Bools) -> tuple[str, ...]:
    weight: dict[str, int] = {}
    for side in ("prefix", "suffix"):
        encoded = pc.utf8_trim_whitespace(parts.field(side)).dictionary_encode()
        codes = np.asarray(encoded.indices.fill_null(0).to_numpy(zero_copy_only=False))
        totals = np.bincount(codes[has_parts], words.counts[has_parts], len(encoded.dictionary))
        for unit, total in zip(encoded.dictionary.to_pylist(), totals, strict=True):
            if unit and total:
                weight[unit] = weight.get(unit, 0) + int(total)
    return tuple(sorted(weight, key=lambda unit: (-weight[unit], unit)))


def _marks(bodies: pa.Array, words: Words, has_parts: Bools) -> tuple[str, str]:
    """Return the decimal mark and the thousands separator that read most cells."""

    def share(pattern: str) -> float:
        return words.share_of(np.asarray(pc.fill_null(pc.match_substring_regex(bodies, pattern), False)) & has_parts)

    shares = [share(f"^{_body(*marks)}$") for marks in MARKS]
    best = MARKS[int(np.argmax(np.array(shares) >= max(shares) - 1e-12))]
    if best[0] == "." and best[1] == "," and shares[3] >= max(shares) - 1e-12:
        dotted = share(r"\.")
        three, short = share(r"^[1-9]\d{0,2}(\.\d{3})+$"), share(r"^\d{1,3}$")
        if dotted and three >= dotted - 1e-12 and short >= 0.01 and short + three >= shares[3] - 1e-12:
            return ".,"[1], ".,"[0]  # 999 and 1.234, but no 0.5 and no 1234: points separate thousands
    return best


def _body(decimal: str, grouping: str) -> str:
    """Return the pattern of digits with these marks. A group of thousands does not start with 0."""
    mark, group = rf"\{decimal}", "['’]" if grouping == "'" else rf"\{grouping}" if grouping in ".," else grouping
    return rf"(?:(?:\d+|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)(?:{mark}\d*)?|{mark}\d+)"
