import ast
import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import Validator, validate

import ravine

DOCS = Path(__file__).parents[1] / "docs"

PACKAGES = ["cluster", "cuts", "datasets", "evaluation", "metrics", "plot", "report", "river", "semi_supervised", "tree"]
"""Those whose `__all__` is for users; of the others the reference lists a few names."""

REFERENCE = re.findall(r"^ +(ravine\.[\w.]+)$", (DOCS / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)


def set_in_conf(name):
    """A set that is written in docs/conf.py, which only Sphinx can run."""
    lines = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8")).body
    (found,) = (line for line in lines if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == name)
    return ast.literal_eval(found.value)


def public_objects():
    """What the packages name in `__all__` and define themselves, each by the shortest path to it."""
    found = {}
    for module in (ravine, *(import_module(f"ravine.{package}") for package in PACKAGES)):
        for name in module.__all__:
            public = getattr(module, name)
            if callable(public) and public.__module__.startswith("ravine."):
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
        if owner.__module__.startswith("ravine.") and (callable(attribute) or isinstance(attribute, property)):
            yield f"{name}.{member}"


def test_reference_lists_every_public_object_once():
    assert len(set(REFERENCE)) == len(REFERENCE)
    assert set(public_objects()) <= set(REFERENCE)


@pytest.mark.parametrize("name", REFERENCE)
def test_docstring_is_complete(name):
    taste = set_in_conf("numpydoc_validation_checks") - {"all"}
    errors = [(one, *error) for one in with_methods(name) for error in validate(one)["errors"] if error[0] not in taste]
    assert errors == []


@pytest.mark.parametrize("name", REFERENCE)
def test_docstring_has_an_example(name):
    assert doctest.DocTestParser().get_examples(inspect.getdoc(Validator._load_obj(name)))
