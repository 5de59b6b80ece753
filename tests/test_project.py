"""The files around the code agree with each other."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lines_of(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def requirements(*extras):
    """What the package needs, and what some of its extras do, by name."""
    listed = PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    return {one.name: one.specifier for one in map(Requirement, listed) if one.name != "ravine"}


def pinned(name):
    return dict(line.split("==") for line in lines_of(ROOT / name))


def test_every_slow_test_is_there():
    for line in lines_of(ROOT / "tests" / "slow.txt"):
        file, _, test = line.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"^def {test.partition('[')[0]}\(", source, re.MULTILINE), line


def test_oldest_versions_are_those_that_the_package_allows():
    allowed = requirements("cli", "plot", "dask", "bench", "export", "test-oldest")
    oldest = pinned("constraints-oldest.txt")
    assert oldest.keys() >= allowed.keys()
    for name, specifier in allowed.items():
        (floor,) = (one.version for one in specifier if one.operator == ">=")
        assert oldest[name] == floor or oldest[name].startswith(f"{floor}."), name


def test_versions_of_the_tests_are_allowed():
    newest = {name.lower().replace("_", "-"): version for name, version in pinned("constraints.txt").items()}
    for name, specifier in requirements(*PROJECT["optional-dependencies"]).items():
        assert specifier.contains(newest[name]), name


def test_versions_in_the_table_of_other_tools_are_those_of_the_tests():
    page = (ROOT / "docs" / "guide" / "clients.md").read_text(encoding="utf-8")
    table = page.partition("## ")[0]
    newest = {name.lower(): version for name, version in pinned("constraints.txt").items()}
    named = [(name.lower(), version) for name, version in re.findall(r"([\w-]+) (\d+(?:\.\d+)+)", table)]
    assert {name for name, _ in named} >= {"scikit-learn", "pandas", "polars", "pyarrow", "fastapi", "river", "dask"}
    for name, version in named:
        assert newest.get(name, version) == version, name
