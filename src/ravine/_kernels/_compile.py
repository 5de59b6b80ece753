"""Decorators for all kernels: compiled without the GIL, and cached on disk if possible.

A kernel that only other kernels call is `inner`: it has no entry from Python and no machine code of its own, and is
compiled as a part of each kernel that calls it. This halves what LLVM does at the first use. A call from Python, as in
tests, compiles it again, with an entry.
"""

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit, version_info
from numba.core import event
from numba.core.registry import CPUDispatcher

from ravine._kernels import _watch

Function = TypeVar("Function", bound=Callable[..., object])

OLDEST_TESTED, NEWEST_TESTED = (0, 61), (0, 68)
"""Versions of Numba whose internals are known (`ravine._kernels._compiler`, `_linked`). With others, an inner kernel is
a kernel, and Numba compiles it in its own way: the first use takes longer, and the numbers are the same."""

# Options are set explicitly, since an unset one is inherited from the function whose call is compiled first.
# Division by zero gives infinity, as in NumPy. A check before each division would cost run time and compile time.
# Without no_cfunc_wrapper, each kernel would also get an entry from C, which nobody calls.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

IN_ORDER: dict[str, Any] = {**OPTIONS, "fastmath": False}
IN_ANY_ORDER: dict[str, Any] = {**OPTIONS, "fastmath": {"reassoc", "contract", "nsz"}}


def kernel(function: Function) -> Function:
    """Compile `function`; its floating-point sums keep the order in which they are written."""
    return _compile(function, IN_ORDER)


def reduction(function: Function) -> Function:
    """Compile `function`; its sums may be reordered, so that they can use SIMD."""
    return _compile(function, IN_ANY_ORDER)


def inner(function: Function) -> Function:
    """Compile `function` like `kernel`, as a part of the kernels that call it."""
    if not _knows_numba():
        return kernel(function)
    from ravine._kernels._linked import PartCompiler

    return _as(_Inner, njit(pipeline_class=PartCompiler, **IN_ORDER)(function))


def inner_reduction(function: Function) -> Function:
    """Compile `function` like `reduction`, as a part of the kernels that call it."""
    if not _knows_numba():
        return reduction(function)
    from ravine._kernels._linked import OptimizedPartCompiler

    return _as(_InnerReduction, njit(pipeline_class=OptimizedPartCompiler, **IN_ANY_ORDER)(function))


def _knows_numba() -> bool:
    return OLDEST_TESTED <= version_info.short <= NEWEST_TESTED


def _compile(function: Function, options: dict[str, Any]) -> Function:
    if _knows_numba():
        from ravine._kernels._compiler import KernelCompiler

        options = {**options, "pipeline_class": KernelCompiler}
    try:
        return _as(_Kernel, njit(cache=True, **options)(function))
    except RuntimeError:  # neither the source folder nor the user's cache folder is writable
        return _as(_Kernel, njit(**options)(function))


def _as(kind: type, compiled: Any) -> Any:
    if isinstance(compiled, CPUDispatcher):  # with NUMBA_DISABLE_JIT=1, it is the function itself
        compiled.__class__ = kind
    return compiled


class _Kernel(CPUDispatcher):
    """A compiled function. The garbage collector, which takes a tenth of the time of a compilation, waits for it."""

    def compile(self, sig: Any) -> Any:
        if not gc.isenabled():
            return super().compile(sig)
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            if not gc.get_freeze_count():
                # The compiler keeps most of what it made. Both calls together move it to the oldest generation at once;
                # else the next collection would look at each of these objects.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class _Observer(event.Listener):
    """Passes on when our own kernels are compiled, which is not when they come from the cache."""

    def on_start(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"], _Kernel):
            _watch.begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        if isinstance(event.data["dispatcher"], _Kernel):
            _watch.end()


event.register("numba:compile", _Observer())


class _Inner(_Kernel):
    """A compiled function without an entry from Python. A call from Python compiles one."""

    decorator = staticmethod(kernel)
    entry: Any = None

    def __call__(self, *args: Any) -> Any:
        if self.entry is None:
            self.entry = self.decorator(self.py_func)
        return self.entry(*args)


class _InnerReduction(_Inner):
    decorator = staticmethod(reduction)
