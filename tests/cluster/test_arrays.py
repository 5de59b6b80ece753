"""scikit-learn's array API dispatch: arrays of other libraries give the results of NumPy arrays, in their library."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import clone, config_context
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import check_array_api_input
from tests.estimators import ALL, ONLINE, WEIGHTED, each, fitted, labels_for

from ravine import MDH, PDDP, NCutH, SpectralPursuit, persist
from ravine.cluster._arrays import to_numpy
from ravine.datasets import make_blobs

METHODS = ["predict", "transform", "predict_proba", "score_samples", "decision_function"]

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 5]], random_state=1)[0]


@pytest.fixture(params=["array_api_strict", "array_api_strict:device1", "torch"])
def given(request):
    """Make arrays of a library; the libraries that are not installed are skipped."""
    name, _, device = request.param.partition(":")
    library = pytest.importorskip(name)
    with config_context(array_api_dispatch=True):
        if device:
            yield lambda array: library.asarray(array, device=library.Device(device))
        else:
            yield library.asarray


def same(found, expected, like):
    assert type(found) is type(like)
    assert found.device == like.device
    assert_array_equal(to_numpy(found), expected)


@each(ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_those_of_numpy_in_the_library_of_the_rows(model, dtype, blobs, given):
    rows = blobs.astype(dtype)
    X, y = given(rows), labels_for(rows)
    mine = clone(model).fit(X, given(y)) if is_classifier(model) else clone(model).fit(X)
    theirs = fitted(clone(model), rows)
    if hasattr(theirs, "labels_"):
        same(mine.labels_, theirs.labels_, X)
        same(clone(model).fit_predict(X), theirs.labels_, X)
    for name in METHODS:
        if hasattr(theirs, name):
            same(getattr(mine, name)(X), getattr(theirs, name)(rows), X)
    if hasattr(theirs, "score"):
        target = (y,) if is_classifier(model) else ()
        assert mine.score(X, *map(given, target)) == theirs.score(rows, *target)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("model", [NCutH(), MDH(), PDDP(), SpectralPursuit(n_microclusters=20)], ids=str)
def test_check_of_scikit_learn_for_arrays_of_a_library(model, library):
    pytest.importorskip(library)
    check_array_api_input(type(model).__name__, model, library, check_values=True, check_sample_weight=True)


@each(WEIGHTED)
def test_weights_may_be_of_the_library_or_of_numpy(model, blobs, given):
    w = np.random.default_rng(0).uniform(0.5, 2, size=len(blobs))
    theirs = fitted(clone(model), blobs, sample_weight=w).predict(blobs)
    for weights in (w, given(w)):
        assert_array_equal(fitted(clone(model), blobs, sample_weight=weights).predict(blobs), theirs)
    assert_array_equal(to_numpy(fitted(clone(model), given(blobs), sample_weight=w).predict(given(blobs))), theirs)


@each(ONLINE)
def test_batches_give_the_model_of_numpy(model, blobs, given):
    if not hasattr(clone(model), "partial_fit"):
        pytest.skip("this solver has no partial_fit")
    mine, theirs = clone(model), clone(model)
    for start in range(0, len(blobs), 40):
        batch = blobs[start : start + 40]
        mine, theirs = mine.partial_fit(given(batch)), theirs.partial_fit(batch)
    same(mine.labels_, theirs.labels_, given(blobs))
    same(mine.predict(given(blobs)), theirs.predict(blobs), given(blobs))


def test_model_predicts_for_rows_of_any_library(blobs, given):
    model = NCutH(3).fit(given(blobs))
    labels = to_numpy(model.labels_)
    assert_array_equal(model.predict(blobs), labels)
    assert_array_equal(to_numpy(NCutH(3).fit(blobs).predict(given(blobs))), labels)


def test_labels_of_a_coarser_tree_stay_in_the_library(blobs, given):
    model = NCutH(3).fit(given(blobs))
    same(model.cut_to(2).labels_, NCutH(3).fit(blobs).cut_to(2).labels_, given(blobs))


def test_model_is_saved_with_labels_of_numpy(blobs, given, tmp_path):
    model = NCutH(3).fit(given(blobs))
    persist.save(model, tmp_path / "model.ravine")
    assert_array_equal(persist.load(tmp_path / "model.ravine").labels_, to_numpy(model.labels_))


def test_later_fit_with_numpy_has_labels_of_numpy(blobs, given):
    assert isinstance(NCutH(3).fit(given(blobs)).fit(blobs).labels_, np.ndarray)


def test_names_of_classes_stay_in_numpy(blobs, given):
    from ravine import MDHClassifier

    y = np.array([None] * len(blobs), dtype=object)
    y[:20], y[-20:] = "a", "b"
    model = MDHClassifier().fit(given(blobs), y)
    assert_array_equal(model.predict(given(blobs)), MDHClassifier().fit(blobs, y).predict(blobs))


def test_without_dispatch_a_tensor_gives_results_of_numpy(blobs):
    torch = pytest.importorskip("torch")
    model = NCutH(3).fit(torch.asarray(blobs))
    assert isinstance(model.labels_, np.ndarray)
    assert isinstance(model.predict(torch.asarray(blobs)), np.ndarray)


def test_tensor_with_gradients_says_what_to_do(blobs):
    torch = pytest.importorskip("torch")
    X = torch.asarray(blobs).requires_grad_()
    with config_context(array_api_dispatch=True), pytest.raises(ValueError, match=r"requires gradients.*X\.detach\(\)"):
        NCutH(3).fit(X)
