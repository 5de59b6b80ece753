"""What is saved is loaded and equal, for every estimator there is and every kind of rows it takes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from tests.estimators import CLASSES

from ravine import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    MDHClassifier,
    NCutH,
    SpectralPursuit,
    SpectralPursuitClassifier,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
    load,
    save,
)
from ravine.datasets import make_blobs

MODELS = [
    PDDP(),
    NCutH(),
    NCutH(outliers="label"),
    MDH(),
    SpectralPursuit(n_microclusters=20),
    SpectralPursuit(n_clusters=3, n_microclusters=20, margin=True),
    IncrementalMDH(max_depth=2),
    IncrementalMDH(algorithm="online", max_depth=3),
    IncrementalMDH(memory_length=20.5, max_depth=3),
    HSDC(),
    HSDC(inherit=True),
    SPDC(),
    StreamClusterer(),
    StreamClusterer(window_size=64, dependence=2),
    SumOfNorms(n_lambdas=20),
    SupportVectorClustering(),
    SupportVectorClustering(budget=20),
    MDHClassifier(),
    SpectralPursuitClassifier(),
]
METHODS = ("predict", "transform", "predict_proba", "decision_function")

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def blobs(n=60, d=3):
    centers = np.zeros((3, d))
    centers[1, 0] = centers[2, 1] = 12
    return make_blobs(n, centers=centers, random_state=1)[0]


def counts(n, d):
    """Rows as of words in texts: most are zero."""
    X = sparse.random_array((n, d), density=20 / d, format="csr", rng=np.random.default_rng(0))
    X.data = np.ceil(9 * X.data)
    return X


ROWS = {
    "dense": blobs(),
    "single precision": blobs().astype(np.float32),
    "wide": blobs(30, 500),
    "sparse": sparse.csr_array(blobs() * (blobs() > 3)),
    "wide sparse": counts(40, 2000),
    "equal": np.full((30, 2), 0.1),
    "one row": blobs()[:1],
    "one column": blobs()[:, :1],
    "in large units": blobs() * 1e30,
    "in small units": blobs() * 1e-30,
}
each_rows = pytest.mark.parametrize("X", ROWS.values(), ids=ROWS)


def fitted(model, X, online=False):
    """The fitted model, or None where it refuses such rows in words."""
    if sparse.issparse(X) and not get_tags(model).input_tags.sparse:
        return None
    if online and not hasattr(model, "partial_fit"):
        return None
    y = np.array(["a", "b"])[np.arange(X.shape[0]) % 2].astype(object) if is_classifier(model) else None
    if y is not None:
        y[len(y) // 2 :] = -1
    try:
        return (model.partial_fit if online else model.fit)(X, y)
    except ValueError:
        return None


def assert_same(ours, other):
    """Equal to the last bit, and of the same types."""
    assert type(ours) is type(other)
    if isinstance(ours, dict):
        assert ours.keys() == other.keys()
        ours, other = list(ours.values()), list(other.values())
    if isinstance(ours, list | tuple):
        assert len(ours) == len(other)
        for one, two in zip(ours, other, strict=True):
            assert_same(one, two)
    elif sparse.issparse(ours):
        assert_same((ours.data, ours.indices, ours.indptr), (other.data, other.indices, other.indptr))
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape, ours.tobytes()) == (other.dtype, other.shape, other.tobytes())
    else:
        assert ours == other or (isinstance(ours, float) and math.isnan(ours) and math.isnan(other))


def check_equal(loaded, model, X, *, resume=True):
    assert_same(loaded._state(resume), model._state(resume))
    assert loaded.get_params().keys() == model.get_params().keys()
    assert repr(loaded) == repr(model)
    for name in METHODS:
        if hasattr(model, name):
            assert_array_equal(getattr(loaded, name)(X), getattr(model, name)(X))


def test_every_public_estimator_is_here():
    assert {type(model) for model in MODELS} == set(CLASSES)


@each_rows
@each
def test_what_is_saved_is_loaded_and_equal(model, X, tmp_path):
    found = fitted(clone(model), X)
    if found is None:
        assert X.shape[0] == 1 or sparse.issparse(X) or X.shape[1] != 3 or np.abs(X).max() > 1e9 or np.abs(X).max() < 1
        return
    save(found, tmp_path / "model")
    check_equal(load(tmp_path / "model"), found, X)
    if not isinstance(model, SumOfNorms):  # it predicts by its rows
        save(found, tmp_path / "model", resume=False)
        check_equal(load(tmp_path / "model"), found, X, resume=False)


@each_rows
@pytest.mark.parametrize("model", [model for model in MODELS if hasattr(model, "partial_fit")], ids=repr)
def test_what_is_saved_goes_on_learning_equally(model, X, tmp_path):
    found = fitted(clone(model), X, online=True)
    if found is None:
        return
    save(found, tmp_path / "model")
    loaded = load(tmp_path / "model")
    for again in (X, X[:7]):
        assert_same(loaded.partial_fit(again)._state(True), found.partial_fit(again)._state(True))
    save(loaded, tmp_path / "model")
    check_equal(load(tmp_path / "model"), found, X)


@pytest.mark.parametrize("model", [model for model in MODELS if "n_clusters" in model.get_params()], ids=repr)
def test_one_cluster_is_saved(model, tmp_path):
    X = ROWS["dense"]
    found = clone(model).set_params(n_clusters=1).fit(X)
    assert found.n_clusters_ == 1
    save(found, tmp_path / "model")
    check_equal(load(tmp_path / "model"), found, X)


@pytest.mark.parametrize("algorithm", ["polished", "online"])
def test_stream_of_wide_sparse_rows_is_saved(algorithm, tmp_path):
    X = counts(400, 2000)
    found = IncrementalMDH(algorithm=algorithm, max_depth=2).partial_fit(X)
    save(found, tmp_path / "model")
    assert_same(load(tmp_path / "model").partial_fit(X)._state(True), found.partial_fit(X)._state(True))


@pytest.mark.parametrize("field", ["normal", "mean", "scalars"])
def test_what_load_would_refuse_is_not_saved(field, tmp_path):
    model = IncrementalMDH(max_depth=2).partial_fit(ROWS["dense"])
    model._stream.online.state()[field][1, 0] = np.nan
    with pytest.raises(
        ValueError,
        match=f"cannot be saved, because load would reject the file: field 'stream.online.{field}'",
    ):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_columns_of_the_same_name_are_not_saved(tmp_path):
    model = PDDP().fit(ROWS["dense"])
    model.feature_names_in_ = np.array(["a", "b", "a"], dtype=object)
    with pytest.raises(ValueError, match="field 'feature_names' has an entry that is not a string or occurs twice"):
        save(model, tmp_path / "model")
