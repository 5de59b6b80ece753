"""Keep an old name working for a while, with a warning: see docs/compatibility.md for what is promised.

Each use is recorded in `DEPRECATIONS`. A test fails once the version has come in which the old name must be removed.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Deprecation(NamedTuple):
    """An old name, the version that deprecated it, and the version that removes it."""

    name: str
    since: str
    removed_in: str

    def warn(self, advice: str) -> None:
        """Warn whoever called the function that calls this method."""
        text = f"{self.name} is deprecated since ravine {self.since} and will be removed in {self.removed_in}: {advice}"
        warnings.warn(text, FutureWarning, stacklevel=3)


DEPRECATIONS: list[Deprecation] = []
"""All deprecations in the package."""


def deprecated(*, instead: str, since: str, removed_in: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function, a method or the getter of a property that users should no longer call.

    Examples
    --------
    >>> @deprecated(instead="new_name()", since="1.1", removed_in="1.3")
    ... def old_name():
    ...     return 3
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     old_name()
    3
    >>> print(caught[0].message)
    old_name is deprecated since ravine 1.1 and will be removed in 1.3: use new_name() instead
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        deprecation = _recorded(function.__qualname__, since, removed_in)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            deprecation.warn(f"use {instead} instead")
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_parameter(
    old: str, new: str, *, since: str, removed_in: str
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a function, or the `__init__` of an estimator, one of whose parameters has a new name.

    The signature has only the new name, so `get_params` and `clone` know nothing of the old one.

    Examples
    --------
    >>> @renamed_parameter("colour", "color", since="1.1", removed_in="1.3")
    ... def draw(*, color="black"):
    ...     return color
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     draw(colour="red")
    'red'
    >>> print(caught[0].message)
    the parameter 'colour' of draw is deprecated since ravine 1.1 and will be removed in 1.3: use 'color' instead
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        if new not in inspect.signature(function).parameters:
            raise TypeError(f"{function.__qualname__} has no parameter {new!r}")
        owner = function.__qualname__.removesuffix(".__init__")
        deprecation = _recorded(f"the parameter {old!r} of {owner}", since, removed_in)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> T:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{owner} got {new!r} and its old name {old!r}: pass only {new!r}")
                deprecation.warn(f"use {new!r} instead")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def _recorded(name: str, since: str, removed_in: str) -> Deprecation:
    deprecation = Deprecation(name, since, removed_in)
    DEPRECATIONS.append(deprecation)
    return deprecation
