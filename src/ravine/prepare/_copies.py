"""Find columns that say the same as an earlier one: a number in another unit, or categories under other names."""

from dataclasses import replace

import numpy as np

from ravine._matrix import Bools, Floats
from ravine._scaling import EDGE
from ravine.prepare._cells import Words
from ravine.prepare._roles import Draft

SAME = 0.005
"""A number follows another one if nearly all cells are within this share of a deviation of a straight line."""

ROUNDED = 0.1
"""Rounding of both numbers is allowed for, up to this share of a deviation."""

NEARLY_ALL = 0.95
"""Share of the rows in which a number must follow; typing errors are in the others."""

NEARLY_ALL_WORDS = 0.995
"""Share of the rows in which a word must follow."""

MINOR = 0.05
"""Rows in which a word does not follow are at most this share of the rows without the most frequent word."""

FEWEST, FEWEST_WORDS = 10, 30
"""Numbers and words are compared if they are known together in at least so many rows."""

SCREEN, NEAR = 2000, 0.98
"""Pairs of numbers are compared if their correlation on so many rows is at least this."""


def without_copies(drafts: list[Draft]) -> list[Draft]:
    """Return the columns, with those that follow an earlier one ignored."""
    out = list(drafts)
    numbers = [j for j, one in enumerate(drafts) if one.column.is_scaled and one.cells is not None]
    for j, k in _candidates(drafts, numbers):
        if out[j].column.follows is None and out[k].column.follows is None:
            x, y = drafts[j].cells, drafts[k].cells
            assert x is not None
            assert y is not None
            if _is_line(x, y):
                out[k] = _copy(out[k], out[j].column.name, "a straight-line function of it")
    words = [j for j, one in enumerate(drafts) if one.words is not None]
    for position, k in enumerate(words):
        for j in words[:position]:
            a, b = drafts[j].words, drafts[k].words
            if out[j].column.follows is None and a is not None and b is not None and _is_renamed(a, b):
                out[k] = _copy(out[k], out[j].column.name, "the same categories")
                break
    return out


def _copy(found: Draft, name: str, how: str) -> Draft:
    reason = f"it says the same as {name!r}: {how}"
    return replace(found, column=replace(found.column, role="copy", treatment="ignored", reason=reason, follows=name))


def _candidates(drafts: list[Draft], numbers: list[int]) -> list[tuple[int, int]]:
    """Return pairs of columns that are nearly proportional on a sample of the rows, the earlier one first."""
    if len(numbers) < 2:
        return []
    n_rows = len(drafts[numbers[0]].cells)  # type: ignore[arg-type]
    chosen = np.linspace(0, n_rows - 1, min(n_rows, SCREEN)).astype(np.int64)
    ranks = np.column_stack([_screened(drafts[j].cells[chosen]) for j in numbers])  # type: ignore[index]
    known = ~np.isnan(ranks)
    filled = np.where(known, ranks, 0.0)
    squares = filled**2
    length = np.sqrt((squares.T @ known) * (known.T @ squares))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.abs(filled.T @ filled) / length
    return [(numbers[j], numbers[k]) for j, k in np.argwhere(np.triu(alike >= NEAR, 1))]


def _screened(cells: Floats) -> Floats:
    """Return centered cells without those at the edges."""
    if np.isnan(cells).all():
        return cells
    low, high = np.nanquantile(cells, (EDGE, 1 - EDGE))
    inside = np.where((cells >= low) & (cells <= high), cells, np.nan)
    if np.isnan(inside).all():
        return cells
    inside = inside - np.nanmean(inside)
    return inside / (np.nanstd(inside) or 1.0)


def _is_line(x: Floats, y: Floats) -> bool:
    """Return whether two numbers are straight-line functions of each other, but for rounding and typing errors."""
    both = ~np.isnan(x) & ~np.isnan(y)
    if both.sum() < max(FEWEST, 0.5 * (~np.isnan(x)).sum(), 0.5 * (~np.isnan(y)).sum()):
        return False
    x, y = x[both], y[both]
    inside = _central(x) & _central(y)
    if inside.sum() < FEWEST // 2:
        return False
    x_in, y_in = x[inside], y[inside]
    spread_x, spread_y = float(x_in.std()), float(y_in.std())
    if not spread_x or not spread_y or min(len(np.unique(x_in)), len(np.unique(y_in))) < FEWEST // 2:
        return False
    slope = float(((x_in - x_in.mean()) * (y_in - y_in.mean())).mean()) / spread_x**2
    rest = np.abs(y - y_in.mean() - slope * (x - x_in.mean()))
    rounding = min(_resolution(y_in), ROUNDED * spread_y) + min(abs(slope) * _resolution(x_in), ROUNDED * spread_y)
    return bool((rest <= max(SAME * spread_y, 0.5 * rounding)).mean() >= NEARLY_ALL)


def _central(cells: Floats) -> Bools:
    low, high = np.quantile(cells, (EDGE, 1 - EDGE))
    return (cells >= low) & (cells <= high)


def _resolution(cells: Floats) -> float:
    """Return the smallest distance of two different cells, the unit to which they are rounded."""
    values = np.unique(cells)
    return float(np.diff(values).min()) if len(values) > 1 else 0.0


def _is_renamed(a: Words, b: Words) -> bool:
    """Return whether two categories have the same levels under other names."""
    if len(a.distinct) < 2 or len(b.distinct) < 2:
        return False
    both = (a.codes >= 0) & (b.codes >= 0)
    n_both = int(both.sum())
    if n_both < max(FEWEST_WORDS, 0.5 * a.n_known, 0.5 * b.n_known):
        return False
    pairs, counts = np.unique(a.codes[both] * len(b.distinct) + b.codes[both], return_counts=True)
    order = np.lexsort([pairs, -counts])
    left, right = pairs[order] // len(b.distinct), pairs[order] % len(b.distinct)
    taken_a, taken_b, agreed = set(), set(), 0
    for i, (level, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        if level not in taken_a and other not in taken_b:
            taken_a.add(level)
            taken_b.add(other)
            agreed += int(counts[order[i]])
    n_minor = n_both - max(np.bincount(codes[both]).max() for codes in (a.codes, b.codes))
    return bool(n_both - agreed <= (1 - NEARLY_ALL_WORDS) * n_both and n_both - agreed <= MINOR * n_minor)
