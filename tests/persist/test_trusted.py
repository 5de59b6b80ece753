"""skops loads every model if its user trusts the listed types, and the list has no other types."""

import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators import fitted
from tests.test_pickles import MODELS, ONLINE, X

from ravine import PDDP, NCutH
from ravine._lazy import is_of_ravine
from ravine.persist import trusted_types
from ravine.prepare import TableEncoder

skops = pytest.importorskip("skops.io")


def through_skops(model):
    return skops.loads(skops.dumps(model), trusted=trusted_types())


def untrusted(model):
    return set(skops.get_untrusted_types(data=skops.dumps(model)))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_skops_loads_every_model(model):
    model = fitted(clone(model), X)
    assert untrusted(model) == {f"ravine.{type(model).__name__}"}
    assert_array_equal(through_skops(model).predict(X), model.predict(X))


@pytest.mark.parametrize("model", ONLINE, ids=repr)
def test_model_from_skops_goes_on_learning(model):
    model = clone(model).partial_fit(X[:70])
    same = through_skops(model).partial_fit(X[70:])
    assert_array_equal(same.predict(X), model.partial_fit(X[70:]).predict(X))


def test_skops_loads_pipelines_and_trees():
    pipe = make_pipeline(StandardScaler(), NCutH(3)).fit(X)
    assert_array_equal(through_skops(pipe).predict(X), pipe.predict(X))
    table = {"amount": X[:, 0].tolist(), "width": X[:, 2].tolist()}
    pipe = make_pipeline(TableEncoder(), PDDP(2)).fit(table)
    assert_array_equal(through_skops(pipe).predict(table), pipe.predict(table))
    assert through_skops(NCutH(3).fit(X).tree_) == NCutH(3).fit(X).tree_


def test_list_has_every_type_and_no_other():
    others = {"ravine.prepare.TableEncoder", "ravine.tree.HyperplaneTree", "ravine.river.RiverClusterer"}
    assert set(trusted_types()) == {f"ravine.{type(model).__name__}" for model in MODELS} | others
    assert trusted_types() == sorted(trusted_types())
    assert trusted_types() is not trusted_types()


def test_adapter_for_river_is_trusted():
    river = pytest.importorskip("ravine.river", exc_type=ImportError)
    adapter = river.RiverClusterer()
    for row in X:
        adapter.learn_one(dict(enumerate(row)))
    same = through_skops(adapter)
    assert untrusted(adapter) <= set(trusted_types())
    assert [same.predict_one(dict(enumerate(row))) for row in X] == [
        adapter.predict_one(dict(enumerate(row))) for row in X
    ]


def test_listed_types_are_public():
    from importlib import import_module

    for name in trusted_types():
        if not name.startswith("ravine.river"):
            module, _, kind = name.rpartition(".")
            found = getattr(import_module(module), kind)
            assert is_of_ravine(found)
            assert f"{found.__module__}.{found.__name__}" == name
