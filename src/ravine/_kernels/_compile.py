"""The decorators of every kernel: compiled without the GIL, cached on disk where the disk lets us."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile `function`; its floating-point sums keep the order in which they are written."""
    # Said, since what is left open is taken from the function whose call is compiled first.
    return _compile(function, {"fastmath": False})


def reduction(function: Function) -> Function:
    """Compile `function`; its sums may be reordered, which lets them run on all lanes of the processor."""
    return _compile(function, {"fastmath": {"reassoc", "contract", "nsz"}})


def _compile(function: Function, options: dict[str, Any]) -> Function:
    # Division by zero gives infinity, as in NumPy: a check before each division costs time, also to compile.
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # neither the source folder nor the user's cache folder is writable
        return njit(**options)(function)
