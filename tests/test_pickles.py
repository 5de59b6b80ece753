"""Pickles of estimators have public classes and plain arrays only, and what is read from them is the same model."""

import copy
import io
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.estimators import CLASSES, QUICK, each, fitted, name_of
from tests.test_persist_every import assert_same

from ravine import (
    HSDC,
    MDH,
    PDDP,
    IncrementalMDH,
    MDHClassifier,
    NCutH,
    SpectralPursuit,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
)
from ravine._lazy import is_of_ravine
from ravine._pickles import LEARNED
from ravine._schema import FieldError
from ravine.cuts import Cut, Surface
from ravine.datasets import make_blobs
from ravine.persist import trusted_types

X, _ = make_blobs(120, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=0)

MODELS = [
    *(member(**QUICK.get(member.__name__, {})) for member in CLASSES),
    NCutH(3, outliers="label"),
    IncrementalMDH(algorithm="online", max_depth=3),
    HSDC(inherit=True),
    SumOfNorms(lam=0.5),
    SpectralPursuit(n_clusters=3, n_microclusters=20, margin=True),
]
ONLINE = [model for model in MODELS if hasattr(model, "partial_fit")]


class Reader(pickle.Unpickler):
    """Notes the classes and functions that a pickle names."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.names = set()

    def find_class(self, module, name):
        self.names.add(f"{module}.{name}")
        return super().find_class(module, name)


def names_in(model):
    reader = Reader(pickle.dumps(model))
    reader.load()
    return {name for name in reader.names if name.partition(".")[0] not in ("numpy", "builtins", "scipy", "copyreg")}


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pickle_has_public_classes_only(model):
    model = fitted(clone(model), X)
    assert names_in(model) == {f"ravine.{type(model).__name__}"} <= set(trusted_types())


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pickled_model_is_the_same(model):
    model = fitted(clone(model), X)
    same = through_pickle(model)
    assert vars(same).keys() - {"_last_modes"} == vars(model).keys() - {"_last_modes"}
    assert_same(same._state(True), model._state(True))
    assert_array_equal(same.predict(X), model.predict(X))
    for name in ("labels_", "transduction_"):
        if hasattr(model, name):
            assert_same(getattr(same, name), getattr(model, name))
    assert repr(same) == repr(model)


@pytest.mark.parametrize("model", ONLINE, ids=repr)
def test_pickled_model_goes_on_learning(model):
    model = clone(model).partial_fit(X[:70])
    before = through_pickle(model)
    assert names_in(model) == {f"ravine.{name_of(model)}"}
    assert_same(before.partial_fit(X[70:])._state(True), model.partial_fit(X[70:])._state(True))
    assert_array_equal(through_pickle(model).labels_, model.labels_)


def test_rows_in_single_precision_are_checked_without_a_warning_of_numpy():
    model = IncrementalMDH(standardize=False).partial_fit(X.astype(np.float32))
    assert through_pickle(model).tree_ == model.tree_


@each([member(**QUICK.get(member.__name__, {})) for member in CLASSES])
def test_model_that_is_not_fitted_can_be_pickled(model):
    assert repr(through_pickle(model)) == repr(model)
    assert LEARNED not in model.__getstate__()


def test_copy_shares_what_was_learned_and_deep_copy_does_not():
    model = MDH().fit(X)
    model.note = "of May"
    shallow, deep, read = copy.copy(model), copy.deepcopy(model), through_pickle(model)
    assert shallow.tree_ is model.tree_
    assert deep.tree_ is not model.tree_
    assert shallow.tree_ == deep.tree_ == read.tree_ == model.tree_
    assert {each.note for each in (shallow, deep, read)} == {"of May"}


def test_pickle_is_checked_when_it_is_read():
    model = PDDP(3).fit(X)
    state = model.__getstate__()
    state[LEARNED]["tree"]["left"][0] = 10**6
    with pytest.raises(FieldError, match="tree"):
        PDDP.__new__(PDDP).__setstate__(state)


def test_model_whose_parameters_were_changed_can_be_pickled():
    """Its stream could not continue in another model, but it can still predict."""
    model = IncrementalMDH(max_depth=3).fit(X).set_params(max_depth=4)
    assert_array_equal(through_pickle(model).predict(X), model.labels_)


def test_settings_of_the_output_and_callbacks_stay():
    model = NCutH(3).set_output(transform="pandas").fit(X)
    assert through_pickle(model).transform(X).shape == (120, 2)
    assert list(through_pickle(model).transform(X)) == list(model.transform(X))


def test_lazy_labels_stay_lazy():
    array = pytest.importorskip("dask.array")
    model = PDDP(3).fit(array.from_array(X, chunks=(40, 3)))
    assert_array_equal(through_pickle(model).labels_.compute(), model.labels_.compute())


def test_table_encoder_is_pickled_in_a_pipeline():
    prepare = pytest.importorskip("ravine.prepare")
    table = {"amount": X[:, 0].tolist(), "kind": ["a" if x > 6 else "b" for x in X[:, 1]], "width": X[:, 2].tolist()}
    pipe = make_pipeline(prepare.TableEncoder(), PDDP(2)).fit(table)
    found = {name for name in names_in(pipe) if name.startswith("ravine.")}
    assert found == {"ravine.PDDP", "ravine.prepare.TableEncoder"} <= set(trusted_types())
    same = through_pickle(pipe)
    assert_array_equal(same.predict(table), pipe.predict(table))
    assert same[0].summary() == pipe[0].summary()


@pytest.mark.parametrize("model", [NCutH(3), SpectralPursuit(3, n_microclusters=20)], ids=name_of)
def test_tree_is_pickled_as_plain_arrays(model):
    tree = model.fit(X).tree_
    assert names_in(tree) == {"ravine.tree.HyperplaneTree"} <= set(trusted_types())
    assert through_pickle(tree) == copy.deepcopy(tree) == tree


def test_parts_of_models_have_public_paths():
    corner = Surface(np.eye(2), np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([True, False]))
    assert names_in(Cut(np.array([0.6, 0.8]), 1.0, surface=corner)) == {"ravine.cuts.Cut", "ravine.cuts.Surface"}
    model = SumOfNorms(n_lambdas=5).fit(X)
    assert names_in(model.path_) == {"ravine.cluster.FusionTree"}


def test_examples_of_public_classes_are_still_run():
    """doctest would leave out a class that seems to come from another module."""
    from ravine.cluster import _ncuth

    assert _ncuth.__test__ == {"NCutH": NCutH}
    assert is_of_ravine(NCutH)


def test_pickles_are_small():
    """What can be computed again is not stored, such as the search tree of a support vector model."""
    for model in (SupportVectorClustering(), StreamClusterer(), MDHClassifier()):
        assert len(pickle.dumps(fitted(model, X))) < 300_000
