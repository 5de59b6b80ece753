"""Compiled loops over arrays: the only compiled layer of the library.

Arrays in, arrays out; no classes. The submodules are imported at their first use (``kernels.rows``), so importing
ravine does not import Numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ravine.kernels import (
        bfgs,
        density,
        elementary,
        exact,
        fusion,
        intervals,
        ncut,
        online,
        pairs,
        penalty,
        rows,
        spectral,
        stream,
        support,
        ties,
    )

__all__ = [
    "bfgs",
    "density",
    "elementary",
    "exact",
    "fusion",
    "intervals",
    "ncut",
    "online",
    "pairs",
    "penalty",
    "rows",
    "spectral",
    "stream",
    "support",
    "ties",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"ravine.kernels.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
