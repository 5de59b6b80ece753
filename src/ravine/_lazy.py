"""Names that are imported at their first use, so that a command or a program waits only for what it needs.

scikit-learn takes more than a second to import, since it imports `scipy.stats` and pandas. A saved tree needs neither.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function ``__getattr__`` of a package whose public names are imported at their first use.

    Parameters
    ----------
    package : str
        Name of the package.
    homes : mapping from str to str
        Module of each name, relative to the package.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find


def public(package: str) -> Callable[[Class], Class]:
    """Return a decorator that gives a class the path by which users import it, in pickles and in messages.

    Parameters
    ----------
    package : str
        Package that has the class among its public names.
    """

    def named(one: Class) -> Class:
        # doctest leaves out classes that seem to come from elsewhere, unless the module names them here
        vars(sys.modules[one.__module__]).setdefault("__test__", {})[one.__name__] = one
        one.__module__ = package
        return one

    return named


def is_of_ravine(kind: type) -> bool:
    """Return whether a class is one of ravine.

    Parameters
    ----------
    kind : type

    Examples
    --------
    >>> from ravine import PDDP
    >>> is_of_ravine(PDDP), is_of_ravine(dict)
    (True, False)
    """
    return kind.__module__.partition(".")[0] == "ravine"


def is_a(thing: Any, *classes: str) -> bool:
    """Return whether a thing is an instance of one of some classes, without importing their modules.

    There is no instance of a class whose module has not been imported.

    Parameters
    ----------
    thing : object
    *classes : str
        Full names, such as "sklearn.pipeline.Pipeline".

    Examples
    --------
    >>> from fractions import Fraction
    >>> is_a(Fraction(1, 2), "fractions.Fraction"), is_a(0.5, "fractions.Fraction"), is_a(0.5, "nowhere.Nothing")
    (True, False, False)
    """
    homes = [name.rpartition(".") for name in classes]
    known = (getattr(sys.modules.get(module), name, None) for module, _, name in homes)
    return any(each is not None and isinstance(thing, each) for each in known)


PIPELINE = "sklearn.pipeline.Pipeline"
"""The class of pipelines, for `is_a`."""
