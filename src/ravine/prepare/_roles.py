"""Decide the role of one column from its cells, with the reason in a sentence."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ravine._matrix import Floats
from ravine._names import OTHER
from ravine.prepare import _integers
from ravine.prepare._cells import Words, days_in, numbers_in, source_of, words_in
from ravine.prepare._codec import as_dates
from ravine.prepare._column import Column
from ravine.prepare._date_text import ENOUGH as ENOUGH_DATES
from ravine.prepare._date_text import DateText, read_dates
from ravine.prepare._number_text import ENOUGH, NumberText, read_numbers
from ravine.prepare._scale import GAP_CODES, GAP_DAYS, gap_codes, measured

USED_ROLES = ("number", "category", "boolean", "date")
ROLES = (*USED_ROLES, "identifier", "text", "ignore")
"""Roles that a user can give to a column."""

MOST_GAPS = 0.5
"""A column with a larger share of gaps is empty."""

NEARLY_ALL = 0.995
"""A column is constant if one value has this share of its known cells."""

MOST_LEVELS, RARE, RAREST = 30, 0.01, 5
"""A category has at most so many levels; a level with a smaller share of the known cells, or fewer cells, is rare."""

FREQUENT = 0.2
"""A column of words is a category if levels that are not rare have at least this share of its known cells."""

LONG_TEXT, MANY_WORDS = 40, 4
"""Text is free text if its cells have at least so many letters or words on average."""

WORDS_IN_NUMBERS, MOST_WORDS = 3, 0.2
"""Words among numbers are gaps if there are at most so many of them, in at most this share of the cells."""

YES = frozenset(("yes", "y", "true", "t", "1", "on", "ja", "j", "oui", "si", "sí", "active", "x"))
NO = frozenset(("no", "n", "false", "f", "0", "off", "nein", "non", "inactive"))
"""Words of Booleans, in lower case."""


@dataclass(frozen=True)
class Draft:
    """A column with the cells from which it was decided.

    Attributes
    ----------
    column : Column
    cells : ndarray or None
        Numbers or days of the rows that were looked at.
    words : Words or None
        Words of these rows, if the column is a category.
    """

    column: Column
    cells: Floats | None = None
    words: Words | None = None


@dataclass(frozen=True)
class Given:
    """One column as it comes from the table.

    Attributes
    ----------
    name : str
    values : pyarrow.ChunkedArray
        Rows that are looked at.
    count_all : callable
        Returns the number of distinct values and of known cells in all rows, which may be more.
    """

    name: str
    values: pa.ChunkedArray
    count_all: Callable[[], tuple[int, int]]


def draft(given: Given, asked: str | None) -> Draft:
    """Decide the role of a column; a role that is asked for is taken, if the cells can be read so."""
    if asked is None:
        return _decide(given)
    found = _decide(given)
    if asked not in USED_ROLES:
        reason = "you asked to ignore it" if asked == "ignore" else f"you said that it is {_an(asked)}"
        return replace(found, column=replace(found.column, role=asked, treatment="ignored", reason=reason))
    forced = {"number": _asked_number, "date": _asked_date}.get(asked, _asked_words)(given, asked)
    reason = f"you said that it is {_an(asked)}"
    also = forced.column.reason.partition("; ")[2]
    return replace(forced, column=replace(forced.column, reason=f"{reason}; {also}" if also else reason))


def as_code(given: Given, n_values: int) -> Draft:
    """Return a column of small whole numbers as a category."""
    reason = f"{n_values} small whole numbers whose order says nothing about the other columns: read as codes"
    return _of_words(given, words_in(given.values), f"{reason}; overrule with --role {shlex.quote(given.name)}=number")


def _an(role: str) -> str:
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


def _decide(given: Given) -> Draft:
    source = source_of(given.values.type)
    if source == "other":
        return _ignored(given.name, "text", f"its cells have the type {given.values.type}, which is not read", "none")
    if source == "date":
        return _date(given.name, days_in(given.values), "dates", 0)
    if source == "number":
        return _of_numbers(given, numbers_in(given.values), "numbers")
    words = words_in(given.values)
    if source == "text" and words.n_known:
        numbers = read_numbers(words)
        dates = read_dates(words) if numbers is None or numbers.share < 1 or _may_be_compact(numbers) else None
        if dates is not None and dates.share >= ENOUGH_DATES:
            return _date_text(given, words, dates)
        if numbers is not None and not numbers.is_code and _is_enough(words, numbers):
            return _number_text(given, words, numbers)
        if numbers is not None and len(numbers.units) > 1 and numbers.share < ENOUGH:
            found = _of_words(given, words)
            listed = ", ".join(numbers.units[:3])
            if found.column.role in ("text", "identifier"):
                return _ignored(
                    given.name, "text", f"its numbers have different units ({listed}): convert them to one", "words"
                )
    return _of_words(given, words)


def _may_be_compact(numbers: NumberText) -> bool:
    known = numbers.numbers[~np.isnan(numbers.numbers)]
    return len(known) > 0 and 19000101 <= float(np.median(known)) <= 20991231


def _is_enough(words: Words, numbers: NumberText) -> bool:
    if numbers.share >= ENOUGH:
        return True
    rest = np.flatnonzero(np.isnan(numbers.numbers))
    has_digits = pc.any(pc.match_substring_regex(words.distinct.take(pa.array(rest)), r"\d")).as_py()
    is_few = len(rest) <= WORDS_IN_NUMBERS and numbers.share >= 1 - MOST_WORDS
    return is_few and not has_digits and len(words.distinct) - len(rest) > 10


def _ignored(name: str, role: str, reason: str, kind: Any, **learned: Any) -> Draft:
    return Draft(Column(name=name, role=role, treatment="ignored", reason=reason, kind=kind, **learned))


def _asked_number(given: Given, asked: str) -> Draft:
    source = source_of(given.values.type)
    if source in ("number", "boolean"):
        return _number(given.name, numbers_in(given.values), "")
    if source == "text":
        words = words_in(given.values)
        numbers = read_numbers(words)
        if numbers is not None and numbers.share > 0:
            return _number_text(given, words, numbers, is_asked=True)
    raise ValueError(f"column {given.name!r} cannot be a number: no cell of it can be read as one")


def _asked_date(given: Given, asked: str) -> Draft:
    source = source_of(given.values.type)
    if source == "date":
        return _date(given.name, days_in(given.values), "", 0, is_asked=True)
    if source in ("text", "number"):
        words = words_in(given.values)
        dates = read_dates(words)
        if dates is not None:
            return _date_text(given, words, dates, is_asked=True)
    raise ValueError(f"column {given.name!r} cannot be a date: no cell of it can be read as one")


def _asked_words(given: Given, asked: str) -> Draft:
    if source_of(given.values.type) == "other":
        raise ValueError(f"column {given.name!r} cannot be a {asked}: its type is {given.values.type}")
    words = words_in(given.values).folded()
    if asked == "boolean" and len(words.distinct) != 2:
        raise ValueError(f"column {given.name!r} cannot be a boolean: it has {len(words.distinct)} different values")
    if words.n_known == 0:
        raise ValueError(f"column {given.name!r} cannot be a {asked}: all its cells are gaps")
    return _category(given.name, words, "", asked)


def _empty(name: str, n_gaps: int, n_rows: int, kind: Any, **learned: Any) -> Draft | None:
    if n_gaps <= MOST_GAPS * n_rows and n_gaps < n_rows:
        return None
    share = f"{_percent(n_gaps / n_rows)} of its cells are gaps" if n_gaps < n_rows else "all its cells are gaps"
    return _ignored(name, "empty", share, kind, n_gaps=n_gaps, **learned)


def _number_text(given: Given, words: Words, numbers: NumberText, is_asked: bool = False) -> Draft:
    form = numbers.format
    unit = f" with the unit {form.unit}" if form.unit else ""
    mark = " and a decimal comma" if form.decimal == "," else ""
    n_bad = round((1 - numbers.share) * words.n_known)
    bad = f"; {_cells(n_bad)} no number and {'counts as a gap' if n_bad == 1 else 'count as gaps'}" if n_bad else ""
    learned: dict[str, Any] = {"unit": form.unit, "decimal": form.decimal, "grouping": form.grouping}
    cells = words.spread(numbers.numbers)
    said = f"numbers written as text{unit}{mark}{bad}"
    found = _number(given.name, cells, said) if is_asked or form.unit else _of_numbers(given, cells, said, words)
    return replace(found, column=replace(found.column, **learned)) if found.column.kind == "number" else found


def _of_numbers(given: Given, cells: Floats, said: str, words: Words | None = None) -> Draft:
    """Decide the role of a column of numbers: whole numbers may be identifiers, codes, dates or Booleans."""
    known = cells[~np.isnan(cells)]
    empty = _empty(given.name, len(cells) - len(known), len(cells), "number")
    if empty is not None:
        return empty
    values, counts = np.unique(known, return_counts=True)
    constant = _constant(given.name, values, counts, "number")
    if constant is not None:
        return constant
    if len(values) == 2:
        shown = (words_in(given.values) if words is None else words).folded()
        role = "boolean" if len(shown.distinct) == 2 else "category"
        return _category(given.name, shown, f"it has two values, {values[0]:g} and {values[1]:g}", role)
    if (known % 1 == 0).all():
        named = _named_by_integers(given, known, values, words)
        if named is not None:
            return named
    return _number(given.name, cells, said)


def _named_by_integers(given: Given, known: Floats, values: Floats, words: Words | None) -> Draft | None:
    """Return an identifier, a date or a category if whole numbers are names rather than counts."""
    name = given.name
    if values[0] >= 19000101 and values[-1] <= 20991231:
        dates = read_dates(words_in(given.values) if words is None else words)
        if dates is not None and dates.format == "compact" and dates.share >= ENOUGH_DATES:
            return _date_text(given, words_in(given.values) if words is None else words, dates)
    if len(values) >= _integers.UNIQUE * len(known):
        n_distinct, n_known = given.count_all()
        is_unique = n_distinct >= _integers.UNIQUE * n_known
        if is_unique and _integers.is_sequence(known, len(values)):
            reason = "its whole numbers name the rows: nearly all are different, and hardly any is left out"
            return _ignored(name, "identifier", reason, "words")
        by_name = _integers.names_rows(name) and len(known) >= 3
        by_shape = len(known) >= 100 and _integers.has_equal_digits(known, 6) and _integers.fills_its_digits(known)
        if is_unique and (by_name or by_shape):
            return _ignored(name, "identifier", f"{n_distinct:,} different numbers in {n_known:,} rows", "words")
    if _integers.names_codes(name):
        return _of_words(given, words_in(given.values) if words is None else words, "its name says that they are codes")
    if _integers.has_shape_of_codes(name, values, len(known)):
        reason = f"{len(values)} numbers of equal length with large holes between them: codes"
        return _of_words(given, words_in(given.values) if words is None else words, reason)
    return None


def _constant(name: str, values: Any, counts: Any, kind: Any) -> Draft | None:
    n_known, most = int(counts.sum()), int(counts.max())
    if len(values) > 1 and (most < NEARLY_ALL * n_known or n_known - most >= 100):
        return None
    value = values[int(np.argmax(counts))]
    shown = value.as_py() if isinstance(value, pa.Scalar) else f"{value:g}"
    others = n_known - most
    reason = (
        f"all its cells are {_short(shown)}" if not others else f"all but {others} of its cells are {_short(shown)}"
    )
    return _ignored(name, "constant", reason, kind)


def _short(text: str) -> str:
    return f'"{text[:40]}…"' if len(text) > 40 else f'"{text}"'


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if 0.02 <= share <= 0.98 else f"{100 * share:.2g} %"


def _cells(n_cells: int) -> str:
    return "1 cell is" if n_cells == 1 else f"{n_cells:,} cells are"


def _number(name: str, cells: Floats, said: str) -> Draft:
    known = cells[~np.isnan(cells)]
    n_gaps = len(cells) - len(known)
    empty = _empty(name, n_gaps, len(cells), "number") if said else None
    if empty is not None:
        return empty
    codes = gap_codes(known, GAP_CODES)
    if codes:
        cells = np.where(np.isin(cells, codes), np.nan, cells)
        known = cells[~np.isnan(cells)]
    if not len(known):
        raise ValueError(f"column {name!r} cannot be a number: all its cells are gaps")
    scale, n_far = measured(known)
    reasons = [said]
    if codes:
        reasons.append(f"{' and '.join(f'{code:g}' for code in codes)} stand for gaps")
    treatment = "number"
    if scale.transform == "log":
        treatment = "number, logarithm"
        reasons.append("it has a long tail, so its logarithm is used")
    if n_far:
        reasons.append(f"{_cells(n_far)} far outside and estimated")
    n_gaps = len(cells) - len(known)
    if n_gaps:
        reasons.append(f"{_percent(n_gaps / len(cells))} of its cells are gaps, estimated (median {scale.fill:.4g})")
    reason = "; ".join(reasons)
    learned: dict[str, Any] = {**vars(scale), "gap_values": codes, "n_gaps": n_gaps}
    column = Column(name=name, role="number", treatment=treatment, reason=reason, kind="number", **learned)
    return Draft(column, cells=cells)


def _date_text(given: Given, words: Words, dates: DateText, is_asked: bool = False) -> Draft:
    n_bad = round((1 - dates.share) * words.n_known)
    order = {"dmy": "day first", "mdy": "month first"}.get(dates.format, "")
    said = f"dates written as text{', ' * bool(order)}{order}"
    said += " (the cells do not say which)" * dates.is_guess
    said += f"; {_cells(n_bad)} no date and {'counts as a gap' if n_bad == 1 else 'count as gaps'}" * bool(n_bad)
    found = _date(given.name, words.spread(dates.days), said, n_bad, is_asked)
    return replace(found, column=replace(found.column, date_format=dates.format))


def _date(name: str, days: Floats, said: str, n_bad: int, is_asked: bool = False) -> Draft:
    known = days[~np.isnan(days)]
    n_gaps = len(days) - len(known)
    empty = None if is_asked else _empty(name, n_gaps, len(days), "date")
    if empty is not None:
        return empty
    if not len(known):
        raise ValueError(f"column {name!r} cannot be a date: all its cells are gaps")
    has_time = bool((known % 1 != 0).any())
    if len(np.unique(known)) == 1 and not is_asked:
        day = as_dates(known[:1], has_time)[0]
        return _ignored(name, "constant", f"all its cells are {day}", "date", has_time=has_time)
    codes = gap_codes(known, GAP_DAYS)
    if codes:
        days = np.where(np.isin(days, codes), np.nan, days)
        known = days[~np.isnan(days)]
    first, _ = measured(known)
    inside = known[known <= first.high + first.reach]
    reference = float(inside.max())
    scale, n_far = measured(reference - known)
    n_gaps = len(days) - len(known)
    reasons = [said]
    if codes:
        reasons.append(f"{' and '.join(map(str, as_dates(np.array(codes), False)))} stand for gaps")
    if scale.transform == "log":
        reasons.append("it has a long tail, so its logarithm is used")
    if n_far:
        reasons.append(f"{_cells(n_far)} far outside and estimated")
    if n_gaps:
        middle = as_dates(np.array([reference - scale.fill]), False)[0]
        reasons.append(f"{_percent(n_gaps / len(days))} of its cells are gaps, estimated (median {middle})")
    latest = as_dates(np.array([reference]), False)[0]
    treatment = f"days before {latest}{', logarithm' * (scale.transform == 'log')}"
    learned: dict[str, Any] = {**vars(scale), "gap_values": codes, "n_gaps": n_gaps, "has_time": has_time}
    column = Column(
        name=name,
        role="date",
        treatment=treatment,
        reason="; ".join(reasons),
        kind="date",
        reference=reference,
        **learned,
    )
    return Draft(column, cells=days)


def _of_words(given: Given, words: Words, said: str = "") -> Draft:
    """Decide the role of a column of words: identifier, free text, Boolean or category."""
    name, n_rows, n_known = given.name, len(words.codes), words.n_known
    empty = _empty(name, n_rows - n_known, n_rows, "words")
    if empty is not None:
        return empty
    folded = words.folded()
    constant = _constant(name, folded.distinct, folded.counts, "words")
    if constant is not None:
        return constant
    n_levels = len(folded.distinct)
    lengths = np.asarray(pc.utf8_length(folded.distinct))
    n_words = np.asarray(pc.count_substring(folded.distinct, " ")) + 1
    weights = folded.counts / n_known
    is_long = float(lengths @ weights) >= LONG_TEXT or float(n_words @ weights) >= MANY_WORDS
    if n_levels >= _integers.UNIQUE * n_known:
        n_distinct, n_all = given.count_all()
        if n_distinct >= _integers.UNIQUE * n_all:
            if is_long:
                return _ignored(name, "text", f"free text: {n_distinct:,} different texts in {n_all:,} rows", "words")
            return _ignored(
                name, "identifier", f"{n_distinct:,} different values in {n_all:,} rows name the rows", "words"
            )
    levels = _frequent(folded)
    if is_long and n_levels > MOST_LEVELS:
        return _ignored(name, "text", f"free text: {n_levels:,} different texts", "words")
    if folded.counts[levels].sum() < FREQUENT * n_known:
        return _ignored(name, "text", f"{n_levels:,} different words, nearly all of them rare", "words")
    keys = {word.lower() for word in folded.distinct.to_pylist()} if n_levels == 2 else set()
    is_boolean = len(keys & YES) == 1 and len(keys & NO) == 1
    return _category(name, folded, said, "boolean" if is_boolean else "category")


def _frequent(words: Words) -> Any:
    """Return the positions of the levels that are kept, the most frequent first."""
    order = np.argsort(-words.counts, kind="stable")
    order = order[: MOST_LEVELS + np.count_nonzero(words.counts == words.counts[order[:MOST_LEVELS][-1]])]
    names = words.distinct.take(pa.array(order)).to_pylist()
    order = np.array(sorted(order.tolist(), key=dict(zip(order.tolist(), names, strict=True)).__getitem__))
    order = order[np.argsort(-words.counts[order], kind="stable")]  # equally frequent ones in alphabetical order
    few = len(order) <= 2
    least = 0.0 if few else max(RARE * words.n_known, min(RAREST, words.n_known / len(order)))
    return order[words.counts[order] >= least][:MOST_LEVELS]


def _category(name: str, words: Words, said: str, role: str) -> Draft:
    kept = _frequent(words)
    if not len(kept):
        kept = np.argsort(-words.counts, kind="stable")[:MOST_LEVELS]
    n_rest = len(words.distinct) - len(kept)
    levels = words.distinct.take(pa.array(kept)).to_pylist()
    found = list(zip(levels, (words.counts[kept] / words.n_known).tolist(), strict=True))
    if n_rest and len(found) > 1:  # a level of that name joins the rare ones
        found = [one for one in found if one[0].lower() != OTHER]
    if role == "boolean":
        found.sort(key=lambda one: (one[0].lower() in YES, one[0]))
    levels, shares = tuple(level for level, _ in found), tuple(share for _, share in found)
    n_gaps = len(words.codes) - words.n_known
    reasons = [
        said or (f"{levels[0]} or {levels[1]}" if role == "boolean" else f"{len(words.distinct):,} different words")
    ]
    if n_rest:
        reasons.append(f"{n_rest:,} rare {'level counts' if n_rest == 1 else 'levels count'} as one, {OTHER!r}")
    if n_gaps:
        reasons.append(f"{_percent(n_gaps / len(words.codes))} of its cells are gaps, which favor no level")
    rest = max(0.0, 1.0 - sum(shares)) if n_rest else 0.0
    n_shown = len(levels) + (rest > 0)
    treatment = "two levels" if role == "boolean" else f"{n_shown} levels"
    column = Column(
        name=name,
        role=role,
        treatment=treatment,
        reason="; ".join(reasons),
        kind="words",
        levels=levels,
        shares=(*shares, rest),
        n_gaps=n_gaps,
    )
    return Draft(column, words=words)
