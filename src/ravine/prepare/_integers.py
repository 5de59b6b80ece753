"""Tell whole numbers that count or measure from whole numbers that name something.

A column of identifiers is drawn without replacement: its numbers do not meet, although there are so few to choose from
that measured numbers would. Codes, such as those of stores or postcodes, are told by the name of the column or by their
shape: a few numbers of equal length, each frequent, with large holes between them.
"""

import re

import numpy as np

from ravine._matrix import Floats

UNIQUE = 0.95
"""A column is nearly unique if it has this many distinct values per known cell."""

MEETINGS, FEWER = 10.0, 0.2
"""Numbers are drawn without replacement if at least as many equal pairs as the first number are expected by chance, and
at most this share of them is there."""

CODE_LEVELS, CODE_REPEATS, CODE_DIGITS, CODE_DENSITY = 200, 10, 4, 0.1
"""Codes by their shape: at most so many values, each so often on average, all with the same number of digits and at
least so many, and in at most this share of their range."""

ID_NAMES = frozenset(
    ("id", "ids", "uuid", "guid", "key", "ref", "reference", "index", "idx", "rowid", "serial", "ssn", "imei")
)
"""Last words of names of identifiers."""

NUMBERED = frozenset(("id", "no", "nr", "num", "number", "nummer", "code", "key"))
"""Last words that turn the name of a thing into its number."""

THINGS = frozenset(
    (
        *(
            "zip",
            "zipcode",
            "postcode",
            "postal",
            "plz",
            "cap",
            "area",
            "region",
            "district",
            "county",
            "state",
            "country",
        ),
        *("store", "shop", "branch", "outlet", "warehouse", "plant", "site", "location", "station", "room", "line"),
        *("department", "dept", "division", "team", "segment", "group", "cluster", "class", "category", "type", "kind"),
        *("product", "sku", "article", "item", "brand", "vendor", "supplier", "customer", "client", "user", "account"),
        *("patient", "machine", "device", "sensor", "order", "invoice", "employee", "agent", "ward", "hospital", "icd"),
        *(
            "status",
            "gender",
            "sex",
            "race",
            "ethnicity",
            "marital",
            "religion",
            "occupation",
            "industry",
            "naics",
            "sic",
        ),
        *("code", "flag", "label", "filiale", "kunde", "kundennummer", "artikel", "gruppe", "typ", "art"),
    )
)
"""Things that whole numbers name."""

ALWAYS_CODES = frozenset(
    (
        *("zip", "zipcode", "postcode", "postal", "plz", "region", "district", "county", "state", "country", "store"),
        *(
            "branch",
            "outlet",
            "department",
            "dept",
            "division",
            "segment",
            "cluster",
            "category",
            "type",
            "code",
            "status",
        ),
        *("gender", "sex", "race", "ethnicity", "religion", "occupation", "brand", "vendor", "supplier", "sku", "ward"),
        *("label", "filiale", "gruppe", "typ", "shop", "warehouse", "plant"),
    )
)
"""Names that a column of codes has without "number" behind them."""

COUNTS = frozenset(
    ("n", "count", "counts", "total", "sum", "avg", "mean", "average", "per", "of", "share", "rate", "ratio")
)
"""Words in the name of a column that counts or measures."""

MEASURES = frozenset(
    (
        *("price", "amount", "cost", "costs", "salary", "income", "revenue", "spend", "spending", "value", "balance"),
        *(
            "weight",
            "height",
            "length",
            "width",
            "age",
            "year",
            "years",
            "distance",
            "duration",
            "score",
            "size",
            "speed",
        ),
        *("temperature", "pressure", "population", "sales", "turnover", "profit", "limit", "preis", "betrag", "umsatz"),
    )
)
"""Last words of names of measurements: their shape does not make them codes."""


def tokens_of(name: str) -> list[str]:
    """Split a name into words in lower case, at signs and where a capital letter follows a small one.

    Examples
    --------
    >>> tokens_of("storeNumber"), tokens_of("ZIP code"), tokens_of("n_orders")
    (['store', 'number'], ['zip', 'code'], ['n', 'orders'])
    """
    spaced = re.sub(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])", " ", name)
    return [token for token in re.split(r"[\W_\d]+", spaced.lower()) if token]


def names_rows(name: str) -> bool:
    """Return whether a name is one of identifiers, such as "customer_id" or "Order No."."""
    words = tokens_of(name)
    if not words:
        return False
    if len(words) > 1 and words[-1] in NUMBERED:
        return "of" not in words and words[0] not in COUNTS
    return words[-1] in ID_NAMES


def names_codes(name: str) -> bool:
    """Return whether a name is one of codes, such as "postcode" or "store number"."""
    words = tokens_of(name)
    if not words or COUNTS & set(words):
        return False
    if words[-1] in NUMBERED and len(words) > 1:
        return words[-2] in THINGS or words[-1] in ("code", "id", "key")
    return words[-1] in ALWAYS_CODES


def names_amounts(name: str) -> bool:
    """Return whether a name is one of counts or measurements, such as "n_orders" or "age"."""
    words = tokens_of(name)
    return bool(words) and (words[-1] in MEASURES or bool(COUNTS & set(words)))


def is_sequence(cells: Floats, n_distinct: int) -> bool:
    """Return whether whole numbers are nearly unique and were drawn without replacement."""
    n = len(cells)
    if n < 10 or n_distinct < UNIQUE * n:
        return False
    values = np.unique(cells)
    steps = np.diff(values)
    if n_distinct == n and (steps == steps[0]).all():
        return True
    low, high = np.quantile(values, (0.05, 0.95))
    expected = 0.9 * n**2 / (2 * max(high - low, 1.0) / 0.9)
    return bool(expected >= MEETINGS and n - n_distinct <= FEWER * expected)


def has_equal_digits(cells: Floats, at_least: int) -> bool:
    """Return whether whole numbers have the same number of digits, and at least so many."""
    low, high = float(cells.min()), float(cells.max())
    return low >= 10 ** (at_least - 1) and len(f"{low:.0f}") == len(f"{high:.0f}")


def fills_its_digits(cells: Floats) -> bool:
    """Return whether numbers are spread evenly over all numbers with as many digits."""
    ordered = np.sort(cells)
    power = 10.0 ** (len(f"{ordered[0]:.0f}") - 1)
    even = (ordered - power) / (9 * power)
    return bool(np.abs(even - (np.arange(len(ordered)) + 0.5) / len(ordered)).max() < 0.1)


def has_shape_of_codes(name: str, values: Floats, n_cells: int) -> bool:
    """Return whether the distinct values of a column look like codes."""
    if len(values) > CODE_LEVELS or len(values) < 3 or n_cells < CODE_REPEATS * len(values):
        return False
    if names_amounts(name):
        return False
    step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
    density = len(values) / ((values[-1] - values[0]) / step + 1)
    return has_equal_digits(values, CODE_DIGITS) and density <= CODE_DENSITY and step < 5
