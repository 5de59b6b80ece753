"""Compiled loops over arrays: the only compiled layer of the library.

Kernels take and return arrays and numbers, or named tuples of them; there are no other classes. Submodules are imported
on first use (``_kernels.rows``), so importing ravine does not import Numba.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ravine._kernels import (
        along,
        bfgs,
        bisect,
        convex,
        cuda,
        density,
        elementary,
        exact,
        hsdc,
        imdh,
        intervals,
        means,
        mixture,
        ncut,
        pairs,
        penalty,
        pursuit,
        rounded,
        rows,
        spectral,
        stream,
        svc,
        ties,
        unimodal,
    )

__all__ = [
    "along",
    "bfgs",
    "bisect",
    "convex",
    "cuda",
    "density",
    "elementary",
    "exact",
    "hsdc",
    "imdh",
    "intervals",
    "means",
    "mixture",
    "ncut",
    "pairs",
    "penalty",
    "pursuit",
    "rounded",
    "rows",
    "spectral",
    "stream",
    "svc",
    "ties",
    "unimodal",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"ravine._kernels.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
