"""The columns of a messy table, and the mess in their cells.

Every column and every kind of mess has a random generator of its own, named after it. So a column does not change if
another one is left out, and its clean cells do not change if a kind of mess is switched off.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ravine.datasets._params import Seed
from ravine.datasets._themes import Category, Number, Theme

Cells = list[str]
Columns = dict[str, Cells]
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Spec = TypeVar("Spec", Number, Category)

GAPS = ("", "NA", "n/a", "-")
"""Spellings of a missing cell."""

MOST_GAPS = (0.7, 0.95)
"""Least and largest share of gaps in a column that is mostly gaps."""

TAX = 1.19
"""Price with tax, divided by the price without."""

ERROR_FACTORS = (999.0, 1e6)
"""How many times too large a wrong number may be."""

ERROR_CODE = "-999"
"""What some systems write if a number is unknown."""

SHAPES = 0.25
"""The logarithm of a segment's standard deviation along a column is uniform up to this, on both sides of 0."""

CORRELATION = 0.35
"""Weight of the random matrix that correlates the columns of a segment."""

EXPORTED = datetime(2025, 6, 30)
"""The day of the export: no date is later."""

MIDDLES, DAYS = (datetime(2016, 6, 30), datetime(2022, 6, 30)), 250.0
"""Middle of the first date column and of the others, and the standard deviation of the dates of a segment in days."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DATE_STYLES: tuple[Callable[[datetime], str], ...] = (
    lambda day: f"{day:%Y-%m-%d}",
    lambda day: f"{day:%d/%m/%Y}",
    lambda day: f"{day:%d.%m.%Y}",
    lambda day: f"{day:%Y-%m-%d %H:%M:%S}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day}, {day.year}",
)


@dataclass(frozen=True)
class Draw:
    """The segment of each row, and where the random generators start."""

    segment: Labels
    n_segments: int
    entropy: tuple[int, ...]

    @classmethod
    def of(cls, n_samples: int, n_segments: int, imbalance: float, random_state: Seed) -> Self:
        """Draw the segments; their sizes fall from the first to the last by a constant factor."""
        entropy = tuple(check_random_state(random_state).randint(0, 2**31 - 1, size=4).tolist())
        share = np.cumsum(np.geomspace(imbalance, 1.0, n_segments))
        ends = np.round(n_samples * share / share[-1])
        segment = np.searchsorted(ends, np.arange(n_samples), side="right").astype(np.int64)
        draw = cls(segment, n_segments, entropy)
        return replace(draw, segment=draw.rng("rows").permutation(segment))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.segment)

    def rng(self, *purpose: str) -> np.random.Generator:
        """Return a generator that depends on the purpose alone."""
        return np.random.default_rng([*self.entropy, crc32(repr(purpose).encode())])


@dataclass(frozen=True)
class NumberColumn:
    """A number column before any mess.

    `scale` has the values in the scale in which segments are Gaussian, `values` those in the unit of the column.
    """

    spec: Number
    scale: Floats
    values: Floats
    gaps: float = 0.0

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.spec.name


def suffixed(names: Sequence[str], n: int) -> list[str]:
    """Return n distinct names: those given, then the same with _2, _3 and so on."""
    again = [place // len(names) + 1 for place in range(n)]
    return [names[place % len(names)] + (f"_{turn}" if turn > 1 else "") for place, turn in enumerate(again)]


def picked(draw: Draw, pool: Sequence[Spec], n: int) -> list[Spec]:
    """Return n random columns of a theme, under distinct names."""
    order = draw.rng("pick", *(spec.name for spec in pool)).permutation(len(pool))
    specs = [pool[place] for place in order]
    names = suffixed([spec.name for spec in specs], n)
    return [replace(specs[place % len(specs)], name=name) for place, name in enumerate(names)]


def number_columns(
    draw: Draw, words: Theme, n_informative: int, n_noise: int, lognormal: float, separation: float
) -> tuple[list[NumberColumn], list[NumberColumn]]:
    """Return the number columns that depend on the segment, and those that do not."""
    rounds = [round(lognormal * n) for n in (n_informative, n_noise)]
    n_even = [n_informative - rounds[0], n_noise - rounds[1]]
    skewed, even = picked(draw, words.skewed, sum(rounds)), picked(draw, words.even, sum(n_even))
    specs = [(spec, True) for spec in skewed[: rounds[0]]] + [(spec, False) for spec in even[: n_even[0]]]
    latent = segments(draw, n_informative, separation)
    informative = [_number(spec, is_skewed, z) for (spec, is_skewed), z in zip(specs, latent.T, strict=True)]
    specs = [(spec, True) for spec in skewed[rounds[0] :]] + [(spec, False) for spec in even[n_even[0] :]]
    noise = [
        _number(spec, is_skewed, draw.rng("noise", spec.name).standard_normal(draw.n_samples))
        for spec, is_skewed in specs
    ]
    return informative, noise


def segments(draw: Draw, n_columns: int, separation: float) -> Floats:
    """Draw Gaussian segments, each with its own correlated columns."""
    rng = draw.rng("segments")
    center = centers(draw.n_segments, n_columns, separation, rng)
    rows = rng.standard_normal((draw.n_samples, n_columns))
    for number in range(draw.n_segments):
        mixing = np.eye(n_columns) + CORRELATION * rng.standard_normal((n_columns, n_columns)) / np.sqrt(n_columns)
        mixing *= np.exp(rng.uniform(-SHAPES, SHAPES, n_columns)) / np.linalg.norm(mixing, axis=0)
        mine = draw.segment == number
        rows[mine] = rows[mine] @ mixing + center[number]
    return rows


def centers(n: int, n_columns: int, separation: float, rng: np.random.Generator) -> Floats:
    """Draw centers one by one in a ball that grows until the next one is far enough from the others."""
    found: list[Floats] = []
    radius = separation / np.sqrt(2 * n_columns)
    while len(found) < n:
        center = radius * rng.standard_normal(n_columns)
        if all(np.linalg.norm(center - other) >= separation for other in found):
            found.append(center)
        else:
            radius *= 1.02
    return np.array(found)


def _number(spec: Number, is_lognormal: bool, latent: Floats) -> NumberColumn:
    """Give latent values the median and the spread of a column."""
    deviation = latent.std() if len(latent) > 1 else 1.0
    relative = (latent - latent.mean()) / (deviation if deviation > 0 else 1.0)
    scale = (np.log(spec.middle) if is_lognormal else spec.middle) + spec.spread * relative
    values = np.clip(np.exp(scale) if is_lognormal else scale, spec.low, spec.high)
    return NumberColumn(spec, scale, np.round(values, spec.decimals))


def copies_of(columns: Sequence[NumberColumn], n: int) -> dict[str, NumberColumn]:
    """Return n columns that are functions of others, by the names of these: without tax, or the same again."""
    money_first = sorted(columns, key=lambda column: column.spec.kind != "money")
    found = {}
    for place in range(min(n, len(columns))):
        source = money_first[place]
        if source.spec.kind == "money":
            spec = replace(source.spec, name=f"{source.name}_net")
            found[source.name] = replace(source, spec=spec, values=np.round(source.values / TAX, spec.decimals))
        else:
            found[source.name] = replace(source, spec=replace(source.spec, name=f"{source.name}_copy"))
    return found


def sparse_columns(draw: Draw, words: Theme, n: int) -> list[NumberColumn]:
    """Return n columns that are mostly gaps and do not depend on the segment."""
    found = []
    for name in suffixed(words.sparse, n):
        rng = draw.rng("sparse", name)
        column = _number(Number(name, "count", 80, 0.6, low=1), True, rng.standard_normal(draw.n_samples))
        found.append(replace(column, gaps=rng.uniform(*MOST_GAPS)))
    return found


def written(draw: Draw, column: NumberColumn, formatted: float, errors: float, stray_spaces: float) -> Cells:
    """Return the cells of a number column, with errors and stray spaces but without gaps."""
    n = draw.n_samples
    style = _style(column.spec, draw.rng("format", column.name), formatted)
    rng = draw.rng("errors", column.name)
    wrong, kind = rng.random(n) < errors, rng.integers(0, len(ERROR_FACTORS) + 1, n)
    factor = np.where(wrong, np.array([*ERROR_FACTORS, 1.0])[kind], 1.0)
    is_code = wrong & (kind == len(ERROR_FACTORS))
    numbers = (column.values * factor).tolist()
    cells = [ERROR_CODE if code else style(number) for code, number in zip(is_code.tolist(), numbers, strict=True)]
    rng = draw.rng("spaces", column.name)
    spaces = np.where(rng.random(n) < stray_spaces, rng.integers(1, 3, n), 0)
    for place in np.flatnonzero(spaces):
        cells[place] = f" {cells[place]}" if spaces[place] == 1 else f"{cells[place]} "
    return cells


def _style(spec: Number, rng: np.random.Generator, formatted: float) -> Callable[[float], str]:
    """Return how the numbers of a column are written."""
    digits = spec.decimals
    plain: Callable[[float], str] = lambda number: f"{number:.{digits}f}"  # noqa: E731
    with_unit: Callable[[float], str] = lambda number: f"{number:.{digits}f} {spec.unit}".strip()  # noqa: E731
    styles: dict[str, tuple[Callable[[float], str], ...]] = {
        "money": (
            lambda number: f"€{number:,.{digits}f}",
            lambda number: f"{number:,.{digits}f} €",
            lambda number: f"${number:,.{digits}f}",
            lambda number: _continental(f"{number:,.{digits}f}"),
            lambda number: _continental(f"{number:,.{digits}f}") + " €",
        ),
        "count": (lambda number: f"{number:,.{digits}f}",),
        "percent": (lambda number: f"{number:.{digits}f} %", lambda number: f"{number:.{digits}f}%"),
        "measure": (with_unit,),
    }
    choices = styles[spec.kind]
    chosen = choices[rng.integers(len(choices))]
    return chosen if rng.random() < formatted else plain


def _continental(text: str) -> str:
    """Write 1,234.50 as 1.234,50."""
    return text.translate({ord(","): ".", ord("."): ","})


def category(draw: Draw, spec: Category, n_levels: int, strength: float, rare_levels: float) -> Cells:
    """Return the cells of a category; a share `strength` of a segment has the level that the segment prefers."""
    rng = draw.rng("category", spec.name)
    levels = spec.levels[:n_levels]
    n_levels = len(levels)
    frequency = 1 / (1 + np.arange(n_levels))
    number = rng.choice(n_levels, draw.n_samples, p=frequency / frequency.sum())
    preferred = rng.permutation(max(n_levels, draw.n_segments))[draw.segment] % n_levels
    chosen = np.where(rng.random(draw.n_samples) < strength, preferred, number)
    cells = [levels[k] for k in chosen.tolist()]
    rng = draw.rng("rare levels", spec.name)
    for place in np.flatnonzero(rng.random(draw.n_samples) < rare_levels):
        cells[place] = _misspelled(cells[place], rng)
    return cells


def _misspelled(level: str, rng: np.random.Generator) -> str:
    """Write a level in other letters, with one letter too few, or as "other"."""
    left_out = rng.integers(len(level))
    shorter = level[:left_out] + level[left_out + 1 :]
    choices = (level.upper(), level.lower(), shorter if len(level) > 2 else level, "other")
    return choices[rng.integers(len(choices))]


def booleans(draw: Draw, words: Theme, n: int, strength: float) -> Columns:
    """Return columns of "yes" and "no"; their shares are 1/2 in the mean, and differ by segment by the strength."""
    found = {}
    for name in suffixed(words.booleans, n):
        rng = draw.rng("boolean", name)
        share = 0.5 + strength * (rng.random(draw.n_segments) - 0.5)
        is_yes = rng.random(draw.n_samples) < share[draw.segment]
        found[name] = np.where(is_yes, "yes", "no").tolist()
    return found


def codes(draw: Draw, words: Theme, n: int) -> Columns:
    """Return columns of codes that look like numbers, with leading zeros; some codes are more frequent."""
    found = {}
    for place, name in enumerate(suffixed([name for name, *_ in words.codes], n)):
        _, digits, n_levels = words.codes[place % len(words.codes)]
        rng = draw.rng("code", name)
        levels = [f"{number:0{digits}d}" for number in rng.choice(10**digits, n_levels, replace=False).tolist()]
        frequency = 1 / np.sqrt(1 + np.arange(n_levels))
        chosen = rng.choice(n_levels, draw.n_samples, p=frequency / frequency.sum())
        found[name] = [levels[number] for number in chosen.tolist()]
    return found


def dates(draw: Draw, words: Theme, n: int, strength: float) -> Columns:
    """Return date columns, each in a format of its own."""
    found = {}
    for place, name in enumerate(suffixed(words.dates, n)):
        rng, start = draw.rng("date", name), MIDDLES[place > 0]
        style = DATE_STYLES[rng.integers(len(DATE_STYLES))]
        middle = strength * rng.standard_normal(draw.n_segments)
        days = DAYS * (middle[draw.segment] + rng.standard_normal(draw.n_samples))
        latest = (EXPORTED - start).days
        days = np.where(days > latest, 2 * latest - days, days)
        found[name] = [style(start + timedelta(seconds=second)) for second in np.round(86_400 * days).tolist()]
    return found


def texts(draw: Draw, words: Theme, n: int) -> Columns:
    """Return columns of free text, one or two sentences a cell."""
    found = {}
    for name in suffixed(words.texts, n):
        rng = draw.rng("text", name)
        size = (2 * draw.n_samples,)
        parts = [rng.integers(len(phrases), size=size).tolist() for phrases in words.phrases]
        fill = rng.integers(2, 900, (*size, 2)).tolist()
        sentences = [
            f"{words.phrases[0][a]} {words.phrases[1][b].format(x)}, {words.phrases[2][c].format(y)}"
            for a, b, c, (x, y) in zip(*parts, fill, strict=True)
        ]
        is_long = (rng.random(draw.n_samples) < 0.5).tolist()
        firsts, seconds = sentences[: draw.n_samples], sentences[draw.n_samples :]
        found[name] = [
            f"{first}. {second}" if both else first
            for first, second, both in zip(firsts, seconds, is_long, strict=True)
        ]
    return found


def constants(draw: Draw, words: Theme, n: int) -> Columns:
    """Return columns in which all cells are equal."""
    names = suffixed([name for name, _ in words.constants], n)
    values = [words.constants[place % len(words.constants)][1] for place in range(n)]
    return {name: [value] * draw.n_samples for name, value in zip(names, values, strict=True)}


def identifiers(draw: Draw, words: Theme, n: int) -> Columns:
    """Return columns in which no cell is there twice."""
    found = {}
    for place, name in enumerate(suffixed([name for name, _ in words.identifiers], n)):
        rng, kind = draw.rng("identifier", name), words.identifiers[place % len(words.identifiers)][1]
        if kind == "sequence":
            found[name] = [str(number) for number in range(1, draw.n_samples + 1)]
        elif kind == "uuid":
            found[name] = [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(draw.n_samples)]
        else:
            numbers = rng.permutation(np.cumsum(rng.integers(1, 9, draw.n_samples))).tolist()
            found[name] = [f"{words.prefix}{number:06d}" for number in numbers]
    return found


def with_gaps(draw: Draw, name: str, cells: Cells, missing: float, gap_spellings: bool) -> Cells:
    """Return the cells with a share of them missing, in one to three spellings."""
    rng = draw.rng("gaps", name)
    is_gap = np.flatnonzero(rng.random(len(cells)) < missing)
    spellings = rng.permutation(GAPS)[: rng.integers(1, 4)].tolist() if gap_spellings else [""]
    result = list(cells)
    for place in is_gap:
        result[place] = spellings[rng.integers(len(spellings))]
    return result


def in_random_order(draw: Draw, names: Sequence[str]) -> list[str]:
    """Return the names in an order that stays the same for those that are left if others are taken away."""
    return sorted(names, key=lambda name: float(draw.rng("order", name).random()))
