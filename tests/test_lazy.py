import subprocess
import sys
from importlib import import_module

import pytest

from ravine._lazy import PIPELINE, is_a, lazy_names

LAZY = ("ravine.cluster", "ravine.persist", "ravine.prepare", "ravine.report", "ravine.tree")


@pytest.mark.parametrize("name", LAZY)
def test_public_names_of_a_package_are_there(name):
    package = import_module(name)
    for each in package.__all__:
        assert getattr(package, each) is not None


@pytest.mark.parametrize("name", LAZY)
def test_unknown_name_of_a_package_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = import_module(name).nothing


def test_names_are_looked_up_once():
    find = lazy_names("ravine.tree", {"tree_of": "_model"})
    assert find("tree_of") is import_module("ravine.tree").tree_of
    assert "tree_of" in vars(import_module("ravine.tree"))


def test_instances_are_recognized_without_an_import():
    code = f"import sys; from ravine._lazy import is_a; print(is_a(1, {PIPELINE!r}), 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_instances_of_a_subclass_are_recognized():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipe = make_pipeline(StandardScaler())
    assert is_a(pipe, PIPELINE)
    assert is_a(pipe, "sklearn.base.BaseEstimator")
    assert not is_a(pipe, "sklearn.preprocessing.StandardScaler", "sklearn.pipeline.FeatureUnion")
