"""Format numbers and names for the page: few digits, shortened names."""

import math
from collections.abc import Iterable
from typing import Any

from ravine._names import shown
from ravine.tree._text import shortened

MAX_NAME = 60
"""Longest name of a column or a class on the page, in characters."""


def rounded(value: float, digits: int = 4) -> float:
    """Round to `digits` significant digits. A whole number becomes an integer, which is shorter in JSON."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def all_rounded(values: Iterable[float], digits: int = 4) -> list[float]:
    """Round each of the numbers."""
    return [rounded(value, digits) for value in values]


def as_given(value: float) -> float:
    """Format a value of the data: integers unchanged, other numbers with six digits."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else rounded(value, 6)


def mean_and_spread(mean: float, deviation: float) -> list[str]:
    """Format a mean and a standard deviation with as many decimals as the second digit of the deviation needs.

    Examples
    --------
    >>> mean_and_spread(1013.2514, 0.0312), mean_and_spread(-48251.3, 871.0), mean_and_spread(3.0, 0.0)
    (['1,013.251', '0.031'], ['−48,251', '871'], ['3', '0'])
    >>> mean_and_spread(2.5e-12, 3.1e-13), mean_and_spread(1.2e30, 4e28)
    (['2.5e-12', '3.1e-13'], ['1.2e+30', '4e+28'])
    """
    size = max(abs(mean), deviation)
    if deviation == 0 or size >= 1e12 or deviation < 1e-9:
        texts = [f"{value:.6g}" for value in (mean, deviation)]
    else:
        decimals = max(1 - math.floor(math.log10(deviation)), 0)
        texts = [f"{value:,.{decimals}f}" for value in (mean, deviation)]
    return [text.replace("-", "−", 1) if text.startswith("-") else text for text in texts]


def p_text(p: float) -> str:
    """Format a p-value for a sentence: p = 0.03, p = 3e-9."""
    if p == 0:
        return "p < 1e-300"
    mantissa, _, exponent = f"{p:.2g}".partition("e")
    return f"p = {mantissa}" + (f"e{int(exponent)}" if exponent else "")


def parameter_text(value: Any) -> str:
    """Format a parameter as Python code. An object whose text would change between runs is shown by its type."""
    if _is_plain(value) or (isinstance(value, tuple | list) and all(map(_is_plain, value))):
        text = shown(repr(value))
    elif hasattr(value, "shape"):
        text = repr(value.item()) if value.shape == () else f"<array of shape {tuple(value.shape)}>"
    else:
        text = f"<{getattr(value, '__name__', type(value).__name__)}>"
    return shortened(text, MAX_NAME)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
