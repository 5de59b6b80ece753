import ast
import doctest
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import Validator, validate

import ravine
from ravine._lazy import is_of_ravine

pytest.importorskip("river", exc_type=ModuleNotFoundError)  # of which one of the objects is a part

DOCS = Path(__file__).parents[1] / "docs"

REFERENCE = re.findall(r"^ +(ravine\.[\w.]+)$", (DOCS / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)


def set_in_conf(name):
    """A set that is written in docs/conf.py, which only Sphinx can run."""
    lines = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8")).body
    (found,) = (line for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == name)
    return ast.literal_eval(found.value)


def public_modules():
    """Every module whose path has no underscore."""
    yield ravine
    for module in pkgutil.walk_packages(ravine.__path__, "ravine."):
        if not any(name.startswith("_") for name in module.name.split(".")):
            yield import_module(module.name)


def public_objects():
    """What the public modules name in `__all__`, each by the shortest path to it, and with an underscore nothing."""
    found = {}
    for module in sorted(public_modules(), key=lambda module: module.__name__.count(".")):
        for name in module.__all__:
            public = getattr(module, name)
            if callable(public) and is_of_ravine(public):
                found.setdefault(public, f"{module.__name__}.{name}")
    return found.values()


def with_methods(name):
    """The name of an object and, of a class, those of its methods and properties; what other packages give it aside."""
    yield name
    public = Validator._load_obj(name)
    for member in dir(public) if inspect.isclass(public) else ():
        if member.startswith(("_", "set_")):
            continue
        owner = next(base for base in public.__mro__ if member in vars(base))
        attribute = getattr(owner, member)
        if is_of_ravine(owner) and (callable(attribute) or isinstance(attribute, property)):
            yield f"{name}.{member}"


def test_reference_lists_every_public_object_once():
    assert len(set(REFERENCE)) == len(REFERENCE)
    assert set(public_objects()) - {"ravine.cli.main", "ravine.cli.run"} == set(REFERENCE)


@pytest.mark.parametrize("module", list(public_modules()), ids=lambda module: module.__name__)
def test_names_without_underscore_are_public(module):
    """A module that is public defines nothing that only looks so; modules, and what it imports, aside."""
    defined = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }
    assert defined <= set(module.__all__)


@pytest.mark.parametrize("name", REFERENCE)
def test_docstring_is_complete(name):
    taste = set_in_conf("numpydoc_validation_checks") - {"all"}
    errors = [(one, *error) for one in with_methods(name) for error in validate(one)["errors"] if error[0] not in taste]
    assert errors == []


@pytest.mark.parametrize("name", REFERENCE)
def test_docstring_has_an_example(name):
    assert doctest.DocTestParser().get_examples(inspect.getdoc(Validator._load_obj(name)))
