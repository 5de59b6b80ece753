"""The compiler of all kernels: that of Numba, without what takes time and changes nothing. This reaches into Numba.

Numba looks up its answers about types by the options of the function that is being compiled, among others. To compare
two sets of options, it reads each of them, a million times in a first fit. Here, equal sets are one object. Steps that
look for what no kernel has are left out. This module is used only with versions of Numba that it was tested with, see
`_compile`.
"""

from typing import Any

from numba.core.compiler import Compiler, Flags
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

NEEDLESS = {InlineClosureLikes, NopythonRewrites}
"""Steps for closures and comprehensions, and for arithmetic with whole arrays. Kernels have loops instead."""


class _Known(Flags):
    """Options that do not change any more; equal ones are one object."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def copy(self) -> "_Changing":
        """Return options that can be changed."""
        return _Changing(self)


class _Changing(Flags):
    """Options of the function that is being compiled. Numba puts a copy where it looks for them."""

    __slots__ = ()

    def copy(self) -> _Known:
        """Return the known options that are equal to these; no two threads compile at the same time."""
        for known in _all_known:
            if known.values() == self.values():
                return known
        _all_known.append(_Known(self))
        return _all_known[-1]


_all_known: list[_Known] = []


class KernelCompiler(Compiler):
    """Compiles a kernel."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Flags, locals: Any
    ) -> None:
        super().__init__(typingctx, targetctx, library, args, return_type, _Changing(flags), locals)

    def define_pipelines(self) -> Any:
        """Return Numba's pipelines without the needless steps."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [(step, why) for step, why in pipeline.passes if step not in NEEDLESS]
        return pipelines
