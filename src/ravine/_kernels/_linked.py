"""Kernels that are compiled as parts of the kernels that call them. This reaches into Numba.

Numba gives every function an entry from Python and machine code of its own, and then optimizes it again in each
function that calls it. A part is only translated to LLVM's code, which is linked into the kernels that Python calls.
This module is used only with versions of Numba that it was tested with, see `_compile`.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from ravine._kernels._compiler import KernelCompiler


class _Part(JITCodeLibrary):
    """Code that is linked into other code, and is optimized and translated there."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _OptimizedPart(_Part):
    """A part that is optimized before it is linked, so that its sums have the same order in all kernels."""

    def _optimize_final_module(self) -> None:
        JITCodeLibrary._optimize_final_module(self)


class _NoEnvironment:
    """Takes the place of the object through which Numba tells machine code where its constants are: there is none."""

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        pass


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerPart(NativeLowering):
    _name = "ravine_lower_part"
    _library = _Part

    def run_pass(self, state: Any) -> bool:
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_cpython_wrapper = True
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerOptimizedPart(_LowerPart):
    _name = "ravine_lower_optimized_part"
    _library = _OptimizedPart


class PartCompiler(KernelCompiler):
    """Compiles a part."""

    lowering = _LowerPart

    def define_pipelines(self) -> Any:
        """Return Numba's pipelines with another last step."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (self.lowering if step is NativeLowering else step, why) for step, why in pipeline.passes
            ]
        return pipelines


class OptimizedPartCompiler(PartCompiler):
    """Compiles a part that is optimized before it is linked."""

    lowering = _LowerOptimizedPart
