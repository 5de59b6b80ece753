"""The decorators of every kernel: compiled without the GIL, cached on disk where the disk lets us."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile `function`; its floating-point sums keep the order in which they are written."""
    return _compile(function, {})


def reduction(function: Function) -> Function:
    """Compile `function`; its sums may be reordered, which lets them run on all lanes of the processor."""
    return _compile(function, {"fastmath": {"reassoc", "contract", "nsz"}})


def _compile(function: Function, options: dict[str, Any]) -> Function:
    try:
        return njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the source folder nor the user's cache folder is writable
        return njit(nogil=True, **options)(function)
