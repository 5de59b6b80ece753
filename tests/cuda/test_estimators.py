"""The contract of the estimators that read rows on a device, beside the same rows in memory."""

import pickle

import numpy as np
import pytest
from numba import cuda
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from tests.estimators import ALL, fitted, name_of

from ravine import MDH, PDDP, IncrementalMDH, NCutH, persist
from ravine._outofcore import DeviceChunks, is_on_device, to_host
from ravine.cluster import _base
from ravine.cuts import _chunked, _mdh, _ncut, _pursuit
from ravine.datasets import make_blobs
from ravine.tree import _scout

MODELS = [
    NCutH(3),
    NCutH(),
    MDH(3),
    MDH(),
    PDDP(3),
    PDDP(),
    PDDP(3, criterion="mean"),
    IncrementalMDH(3),
    IncrementalMDH(),
]
OTHERS = [model for model in ALL if name_of(model) not in ("NCutH", "MDH", "PDDP", "IncrementalMDH")]
SOFT = [NCutH(3, assign_labels="mixture"), NCutH(3, assign_labels="mixture", outliers="label")]
CENTERS = [[0, 0, 0], [12, 0, 3], [0, 14, -3]]

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")
each = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=CENTERS, random_state=0)[0].astype(np.float32)


@pytest.fixture
def large(monkeypatch):
    """Few rows are not copied to the host, and their nodes are searched on a sample."""
    monkeypatch.setattr(_base, "FETCHED_CELLS", 0)
    for module in (_chunked, _mdh, _ncut, _pursuit, _scout):
        for name, number in (("COARSE_ABOVE", 50), ("COARSE_ROWS", 40)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, number)


def same_partition(a, b):
    return len(np.unique(a)) == len(np.unique(b)) == len(np.unique(np.c_[a, b], axis=0))


def made(model):
    """A copy of a model; one that keeps a sample keeps few rows."""
    few = {"sample_size": 80} if isinstance(model, IncrementalMDH) else {}
    return clone(model).set_params(**few)


@each
def test_few_rows_give_the_model_of_rows_in_memory(model, blobs):
    X = cuda.to_device(blobs)
    mine, theirs = clone(model).fit(X), clone(model).fit(blobs)
    assert is_on_device(mine.labels_)
    assert_array_equal(to_host(mine.labels_), theirs.labels_)
    assert mine.tree_ == theirs.tree_
    for name in ("predict", "transform", "predict_proba", "score_samples"):
        if hasattr(theirs, name):
            found, expected = getattr(mine, name)(X), getattr(theirs, name)(blobs)
            assert is_on_device(found)
            assert found.dtype == expected.dtype
            assert_allclose(to_host(found), expected, atol=1e-12)
    if hasattr(theirs, "score"):
        assert_allclose(mine.score(X), theirs.score(blobs))


@each
def test_many_rows_give_the_clusters_of_rows_in_memory(model, blobs, large):
    X = cuda.to_device(blobs)
    mine, theirs = made(model).fit(X), made(model).fit(blobs)
    assert is_on_device(mine.labels_)
    assert same_partition(to_host(mine.labels_), theirs.labels_)
    assert mine.n_clusters_ == theirs.n_clusters_
    assert_array_equal(to_host(mine.predict(X)), to_host(mine.labels_))
    assert_array_equal(mine.predict(blobs), to_host(mine.labels_))
    assert_allclose(to_host(mine.transform(X)), mine.transform(blobs), atol=1e-9)
    leaf = mine.tree_.apply(blobs)
    assert_array_equal(mine.tree_.count, [np.isin(leaf, below).sum() for below in leaves_below(mine.tree_)])


def leaves_below(tree):
    """The leaves below each node."""
    below = [[node] for node in range(tree.n_nodes)]
    for node in tree.cuts[::-1]:
        below[node] = below[tree.left[node]] + below[tree.right[node]]
    return below


@pytest.mark.parametrize("model", [NCutH(3), MDH(), IncrementalMDH(3)], ids=str)
def test_weights_count_as_copies(model, blobs, large, rng):
    w = rng.integers(0, 3, size=len(blobs)).astype(float)
    mine = made(model).fit(cuda.to_device(blobs), sample_weight=cuda.to_device(w))
    theirs = made(model).fit(blobs, sample_weight=w)
    assert same_partition(to_host(mine.labels_), theirs.labels_)
    assert mine.tree_.count[0] == w.sum()


@pytest.mark.parametrize("model", [NCutH(3)], ids=str)
def test_cell_far_outside_hides_no_cluster(model, blobs, large):
    X = blobs.copy()
    X[7, 1] = 1e6
    mine, theirs = made(model).fit(cuda.to_device(X)), made(model).fit(X)
    assert same_partition(to_host(mine.labels_), theirs.labels_)
    assert_allclose(mine.tree_.mean[0], theirs.tree_.mean[0], rtol=1e-6)


@pytest.mark.parametrize("model", SOFT, ids=str)
def test_mixture_gives_the_same_memberships_and_outliers(model, blobs):
    X = np.vstack([blobs, [[60, 60, 60]]]).astype(np.float32)
    mine = clone(model).fit(X)
    labels = to_host(mine.predict(cuda.to_device(X)))
    assert_array_equal(labels, mine.labels_)
    assert (labels[-1] == -1) == (model.outliers == "label")
    for name in ("predict_proba", "score_samples"):
        assert_array_equal(to_host(getattr(mine, name)(cuda.to_device(X))), getattr(mine, name)(X))


@pytest.mark.parametrize("is_large", [False, True])
def test_stream_on_a_device_gives_the_model_of_one_in_memory(is_large, blobs, request):
    if is_large:
        request.getfixturevalue("large")
    mine, theirs = (IncrementalMDH(sample_size=80) for _ in range(2))
    for start in range(0, len(blobs), 40):
        batch = np.ascontiguousarray(blobs[start : start + 40])
        mine, theirs = mine.partial_fit(cuda.to_device(batch)), theirs.partial_fit(batch)
    assert mine.tree_ == theirs.tree_
    assert is_on_device(mine.labels_)
    assert_array_equal(to_host(mine.labels_), theirs.labels_)


def test_large_nodes_are_searched_on_the_device(blobs, large, monkeypatch):
    asked, reduce = set(), DeviceChunks.reduce

    def noted(self, reduction, *arguments):
        asked.add(reduction.__name__)
        return reduce(self, reduction, *arguments)

    monkeypatch.setattr(DeviceChunks, "reduce", noted)
    NCutH(2).fit(cuda.to_device(blobs))
    assert asked >= {"moments", "scatter", "look", "pull", "nearest"}


@pytest.mark.parametrize("model", [NCutH(2), IncrementalMDH(3)], ids=str)
def test_two_fits_give_the_same_bytes(model, blobs, large):
    X = cuda.to_device(blobs)
    first, second = (pickle.dumps(made(model).fit(X).tree_.to_dict()) for _ in range(2))
    assert first == second


def test_fit_predict_and_transform_stay_on_the_device(blobs):
    X = cuda.to_device(blobs)
    assert_array_equal(to_host(NCutH(3).fit_predict(X)), NCutH(3).fit_predict(blobs))
    assert_allclose(to_host(NCutH(3).fit_transform(X)), NCutH(3).fit_transform(blobs))


def test_labels_stay_on_the_device_in_a_coarser_tree(blobs):
    mine, theirs = NCutH(3).fit(cuda.to_device(blobs)), NCutH(3).fit(blobs)
    assert_array_equal(to_host(mine.cut_to(2).labels_), theirs.cut_to(2).labels_)


def test_saved_model_has_its_labels_on_the_host(blobs, tmp_path):
    model = NCutH(3).fit(cuda.to_device(blobs))
    persist.save(model, tmp_path / "model.ravine")
    loaded = persist.load(tmp_path / "model.ravine")
    assert_array_equal(loaded.labels_, to_host(model.labels_))


def test_model_of_the_host_predicts_on_a_device(blobs):
    model = NCutH(3).fit(blobs)
    assert_array_equal(to_host(model.predict(cuda.to_device(blobs))), model.labels_)


def test_later_fit_on_the_host_has_its_labels_there(blobs):
    model = IncrementalMDH(3).fit(cuda.to_device(blobs)).fit(blobs)
    assert isinstance(model.labels_, np.ndarray)


@pytest.mark.parametrize("model", OTHERS, ids=name_of)
def test_other_estimators_say_that_they_read_rows_of_the_host(model, blobs):
    X = cuda.to_device(blobs[:40])
    with pytest.raises(TypeError, match=rf"{name_of(model)} does not read rows: pass X\.cpu\(\) or X\.get\(\)"):
        fitted(clone(model), X)
    model = fitted(clone(model), blobs[:40])
    for name in ("predict", "transform", "predict_proba", "decision_function"):
        if hasattr(model, name):
            with pytest.raises(TypeError, match="on a CUDA device"):
                getattr(model, name)(X)


def test_methods_that_search_again_say_so(blobs):
    model = NCutH(3).fit(blobs)
    for method in (lambda X: model.split(1, X), model.directions):
        with pytest.raises(TypeError, match="this method reads rows of the host"):
            method(cuda.to_device(blobs))


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.astype(np.float16), "float16: convert it to float32"),
        (lambda X: X[:, 0].copy(), "1 dimensions"),
        (lambda X: X[:0], r"0 sample\(s\)|no rows"),
        (lambda X: np.where(X > 3, np.nan, X).astype(np.float32), "NaN or infinity"),
    ],
)
def test_rows_that_cannot_be_used_raise(is_large, change, message, blobs, request):
    if is_large:
        request.getfixturevalue("large")
    with pytest.raises(ValueError, match=message):
        NCutH(3).fit(cuda.to_device(change(blobs)))


def test_rows_of_another_width_raise(blobs):
    model = NCutH(3).fit(blobs)
    with pytest.raises(ValueError, match="X has 2 features, but NCutH is expecting 3 features"):
        model.predict(cuda.to_device(blobs[:, :2].copy()))


def test_weights_elsewhere_raise(blobs):
    with pytest.raises(ValueError, match="X is in the memory of the host, and y or sample_weight on a CUDA device"):
        NCutH(3).fit(blobs, sample_weight=cuda.to_device(np.ones(len(blobs))))


class Tensor:
    """As much of a torch tensor on a device as a check looks at."""

    __module__ = "torch"

    def __init__(self, requires_grad=False, dtype="torch.float32", index=0):
        self.requires_grad, self.dtype, self.shape = requires_grad, dtype, (5, 2)
        self.device = type("Device", (), {"type": "cuda", "index": index})


def test_tensor_with_gradients_or_half_precision_raises():
    with pytest.raises(ValueError, match=r"requires gradients.*X\.detach\(\)"):
        NCutH(2).fit(Tensor(requires_grad=True))
    with pytest.raises(ValueError, match="bfloat16: convert it to float32"):
        NCutH(2).fit(Tensor(dtype="torch.bfloat16"))


def test_weights_on_another_device_raise(blobs, large, monkeypatch):
    from ravine._outofcore import _device_arrays

    monkeypatch.setattr(_device_arrays, "device_of", lambda X: 1 if isinstance(X, Tensor) else 0)
    with pytest.raises(ValueError, match="on different devices"):
        NCutH(2).fit(cuda.to_device(blobs), sample_weight=Tensor(index=1))


def test_without_a_device_the_error_says_what_to_install(blobs, monkeypatch):
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"no device: pip install 'ravine\[gpu\]', and check the driver"):
        NCutH(2).fit(cuda.to_device(blobs))
