"""Numbers and names as the page shows them: few digits, no endless names."""

from collections.abc import Iterable
from typing import Any

from ravine._names import shown
from ravine.tree._text import shortened

MAX_NAME = 60
"""Characters of a feature's or a class's name on the page."""


def rounded(value: float, digits: int = 4) -> float:
    """The number with so many significant digits; an integer where nothing is lost by it, which is shorter to write."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def all_rounded(values: Iterable[float], digits: int = 4) -> list[float]:
    """Each of the numbers, rounded."""
    return [rounded(value, digits) for value in values]


def as_given(value: float) -> float:
    """A number of the user's: integers as they are, others with six digits."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else rounded(value, 6)


def p_text(p: float) -> str:
    """A p-value in words for a sentence: p = 0.03, p = 3e-9."""
    if p == 0:
        return "p < 1e-300"
    mantissa, _, exponent = f"{p:.2g}".partition("e")
    return f"p = {mantissa}" + (f"e{int(exponent)}" if exponent else "")


def parameter_text(value: Any) -> str:
    """A parameter as one would write it; an object whose text would change from run to run by its kind."""
    if _is_plain(value) or (isinstance(value, tuple | list) and all(map(_is_plain, value))):
        text = shown(repr(value))
    elif hasattr(value, "shape"):
        text = repr(value.item()) if value.shape == () else f"<array of shape {tuple(value.shape)}>"
    else:
        text = f"<{getattr(value, '__name__', type(value).__name__)}>"
    return shortened(text, MAX_NAME)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
