"""Tells the command line which kernel is being compiled: this takes seconds, and happens only at the first use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Listener: TypeAlias = Callable[[str | None], None]
"""Takes the name of a kernel whose compilation begins, or None when no kernel is being compiled any more."""

_listeners: list[Listener] = []
_names: list[str] = []


@contextmanager
def on_compilation(listener: Listener) -> Iterator[None]:
    """Call `listener` whenever a kernel begins to be compiled, and when all are. A kernel from the cache is not."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def begin(name: str) -> None:
    """Tell that the compilation of a kernel begins."""
    _names.append(name)
    _tell(name)


def end() -> None:
    """Tell that a compilation has ended: that of the kernel that began last."""
    _names.pop()
    if not _names:
        _tell(None)


def _tell(name: str | None) -> None:
    for listener in tuple(_listeners):  # another thread may remove its own
        listener(name)
