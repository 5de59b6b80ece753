import importlib
import pkgutil
import warnings

import pytest
from packaging.version import Version
from sklearn.base import BaseEstimator, clone

import ravine
from ravine import _deprecation
from ravine._deprecation import deprecated, renamed_parameter

SOON = {"since": "1.1", "removed_in": "1.3"}


@pytest.fixture(autouse=True)
def _no_records(monkeypatch):
    monkeypatch.setattr(_deprecation, "DEPRECATIONS", [])


def import_if_possible(name):
    """Import a module, unless it needs a package that is not installed."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        if "pip install" not in str(error):
            raise


def test_no_name_has_outlived_the_version_that_removes_it(monkeypatch):
    monkeypatch.undo()
    for module in pkgutil.walk_packages(ravine.__path__, "ravine."):
        if not module.name.endswith("__main__"):
            import_if_possible(module.name)
    now = Version(Version(ravine.__version__).base_version)
    assert [found.name for found in _deprecation.DEPRECATIONS if Version(found.removed_in) <= now] == []


def test_an_old_function_works_and_names_the_new_one():
    @deprecated(instead="new()", **SOON)
    def old(a, b=1):
        return a + b

    with pytest.warns(FutureWarning, match=r"old is deprecated since ravine 1\.1 .* removed in 1\.3: use new\(\)"):
        assert old(1, b=2) == 3
    assert [found.removed_in for found in _deprecation.DEPRECATIONS] == ["1.3"]


def test_the_warning_points_to_the_caller():
    @deprecated(instead="new()", **SOON)
    def old():
        return None

    with pytest.warns(FutureWarning) as caught:
        old()
    assert caught[0].filename == __file__


def test_a_property_can_be_deprecated():
    class Model:
        @property
        @deprecated(instead="new_", **SOON)
        def old_(self):
            return 5

    with pytest.warns(FutureWarning, match="use new_ instead"):
        assert Model().old_ == 5


class Estimator(BaseEstimator):
    @renamed_parameter("scale", "gamma", **SOON)
    def __init__(self, n_clusters=None, *, gamma=1.0):
        self.n_clusters = n_clusters
        self.gamma = gamma


def test_an_old_parameter_of_an_estimator_is_passed_on():
    with pytest.warns(FutureWarning, match="parameter 'scale' of Estimator is deprecated .* use 'gamma' instead"):
        model = Estimator(3, scale=2.0)
    assert model.gamma == 2.0


def test_the_new_name_gives_no_warning_and_is_the_only_one_in_the_signature():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(Estimator(3, gamma=2.0))
    assert model.get_params() == {"n_clusters": 3, "gamma": 2.0}


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match="pass only 'gamma'"):
        Estimator(scale=1.0, gamma=2.0)


def test_a_rename_to_a_name_that_does_not_exist_is_found_at_once():
    with pytest.raises(TypeError, match="has no parameter 'width'"):
        renamed_parameter("scale", "width", **SOON)(lambda gamma: gamma)
