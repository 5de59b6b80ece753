"""Decorators for all kernels: compiled without the GIL, and cached on disk if possible."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile `function`; its floating-point sums keep the order in which they are written."""
    # Set explicitly, since an unset option is inherited from the function whose call is compiled first.
    return _compile(function, {"fastmath": False})


def reduction(function: Function) -> Function:
    """Compile `function`; its sums may be reordered, so that they can use SIMD."""
    return _compile(function, {"fastmath": {"reassoc", "contract", "nsz"}})


def _compile(function: Function, options: dict[str, Any]) -> Function:
    # Division by zero gives infinity, as in NumPy. A check before each division would cost run time and compile time.
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # neither the source folder nor the user's cache folder is writable
        return njit(**options)(function)
