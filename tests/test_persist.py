import io
import json
import os
import pickle
import re
import struct
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler
from tests.cluster.test_common import ESTIMATORS

from ravine import (
    MDH,
    PDDP,
    IncrementalMDH,
    NCutH,
    SpectralPursuit,
    SumOfNorms,
    SupportVectorClustering,
    __version__,
)
from ravine.datasets import make_blobs
from ravine.persist import load, read, save
from ravine.persist._archive import MAX_MEMBERS
from ravine.semi_supervised import MDHClassifier, SpectralPursuitClassifier

STREAMS = [
    IncrementalMDH(sample_size=150),
    IncrementalMDH(sample_size=150, memory_length=80.5),
    IncrementalMDH(n_clusters=2, standardize=False, random_state=np.random.RandomState(3)),
    IncrementalMDH(algorithm="online", max_depth=4),
    IncrementalMDH(algorithm="online", max_depth=3, memory_length=200),
]
SPARSE = [sparse.csr_array, sparse.csr_matrix]
DATA = Path(__file__).parent / "data"

pytestmark = [
    pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
each = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
each_stream = pytest.mark.parametrize("model", STREAMS, ids=range(len(STREAMS)))
each_kind = pytest.mark.parametrize("kind", [np.asarray, *SPARSE], ids=["dense", "array", "matrix"])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(450, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)[0]


@pytest.fixture(scope="module")
def on_blobs(blobs):
    """Gives a model fitted to the blobs. It is fitted once for all tests, which leave it unchanged."""
    return cache(lambda model: clone(model).fit(blobs))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.ravine"


def saved_and_loaded(model, path, **options):
    save(model, path, **options)
    return load(path)


@each
def test_loaded_model_equals_the_saved_one(model, blobs, path):
    frame = pd.DataFrame(blobs, columns=["width", "größe", "$array"])
    fitted = clone(model).fit(frame)
    loaded = saved_and_loaded(fitted, path)
    assert type(loaded) is type(fitted)
    assert loaded.tree_ == fitted.tree_
    assert_array_equal(loaded.labels_, fitted.labels_)
    assert loaded.labels_.dtype == np.int64
    assert_array_equal(loaded.predict(frame), fitted.labels_)
    assert_array_equal(loaded.transform(frame), fitted.transform(frame))
    assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)
    assert loaded.get_params() == fitted.get_params()
    assert (repr(loaded), str(loaded)) == (repr(fitted), str(fitted))
    assert loaded.cut_to(2).tree_ == fitted.cut_to(2).tree_


@each
def test_model_without_resume_does_all_but_learn_on(model, blobs, on_blobs, path):
    fitted = on_blobs(model)
    loaded = saved_and_loaded(fitted, path, resume=False)
    assert not hasattr(loaded, "labels_")
    assert_array_equal(loaded.predict(blobs), fitted.labels_)
    assert_array_equal(loaded.transform(blobs), fitted.transform(blobs))
    assert str(loaded) == str(fitted)
    assert loaded.tree_.describe() == fitted.tree_.describe()
    assert_array_equal(loaded.cut_to(2).predict(blobs), fitted.cut_to(2).labels_)
    assert load_again(loaded, path).tree_ == fitted.tree_
    assert_array_equal(loaded.fit(blobs).labels_, fitted.labels_)


def load_again(model, path):
    return saved_and_loaded(model, path.with_suffix(".again"))


@each
def test_coarser_models_are_saved(model, on_blobs, path):
    fitted = on_blobs(model)
    for coarser in (fitted.cut_to(2), fitted.prune(0)):
        loaded = saved_and_loaded(coarser, path)
        assert loaded.tree_ == coarser.tree_
        assert_array_equal(loaded.labels_, coarser.labels_)


@pytest.mark.parametrize("options", [{}, {"lam": 0.02, "weights": "uniform"}, {"n_clusters": 2, "path": True}])
def test_loaded_sum_of_norms_equals_the_saved_one(options, blobs, path):
    fitted = SumOfNorms(**options).fit(blobs, sample_weight=np.arange(len(blobs)) % 4)
    loaded = saved_and_loaded(fitted, path)
    for name in ("labels_", "centroids_", "cluster_centers_", "lam_", "gap_", "objective_", "strength_", "n_iter_"):
        assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert loaded.certificate_ == fitted.certificate_
    assert loaded.partition_stable_ is fitted.partition_stable_
    assert_array_equal(loaded.predict(blobs + 0.1), fitted.predict(blobs + 0.1))
    if fitted.path_ is not None:
        assert_array_equal(loaded.children_, fitted.children_)
        assert_array_equal(loaded.labels_at(1.0), fitted.labels_at(1.0))
        assert_array_equal(loaded.cut_to(3).labels_, fitted.cut_to(3).labels_)
    with pytest.raises(ValueError, match="SumOfNorms needs its rows to predict"):
        save(fitted, path, resume=False)


@pytest.mark.parametrize("resume", [True, False])
def test_loaded_surfaces_part_rows_as_the_saved_ones_did(resume, blobs, path, rng):
    fitted = SpectralPursuit(n_clusters=4, n_microclusters=30).fit(blobs)
    assert all(surface is not None for surface in fitted.tree_.surface[fitted.tree_.cuts])
    loaded = saved_and_loaded(fitted, path, resume=resume)
    assert loaded.tree_ == fitted.tree_
    assert loaded.approximation_bound_ == fitted.approximation_bound_ > 0
    new = rng.normal(size=(200, 3)) * 8
    assert_array_equal(loaded.predict(new), fitted.predict(new))
    assert_array_equal(loaded.transform(new), fitted.transform(new))


@pytest.mark.parametrize("classifier", [MDHClassifier, SpectralPursuitClassifier])
@pytest.mark.parametrize("classes", [[0, 7, 3], [2.0, 0.0, 9.0], ["häuser", "b", "c"], [True, False, True]], ids=str)
def test_loaded_classifiers_equal_the_saved_ones(classifier, classes, blobs, path, rng):
    y = np.full(len(blobs), -1, dtype=object)
    y[:90] = np.array(classes, dtype=object)[PDDP(n_clusters=3).fit_predict(blobs)[:90]]
    fitted = classifier().fit(blobs, y)
    loaded = saved_and_loaded(fitted, path)
    new = rng.normal(size=(200, 3)) * 8
    assert_array_equal(loaded.predict_proba(new), fitted.predict_proba(new))
    assert_array_equal(loaded.predict(new), fitted.predict(new))
    for name in ("classes_", "transduction_"):
        assert_array_equal(getattr(loaded, name), getattr(fitted, name))
        assert getattr(loaded, name).dtype == getattr(fitted, name).dtype
    assert [cut.value for cut in loaded.cuts_] == [cut.value for cut in fitted.cuts_]
    assert loaded.uses_unlabeled_ is fitted.uses_unlabeled_
    assert_array_equal(loaded.held_out_errors_, fitted.held_out_errors_)
    assert not hasattr(saved_and_loaded(fitted, path, resume=False), "transduction_")


def many_classes(rng, n_classes=18):
    """A classifier for so many classes that not all pairs have a boundary, and its rows."""
    X = np.repeat(9 * rng.normal(size=(n_classes, 3)), 4, axis=0) + rng.normal(size=(4 * n_classes, 3))
    return MDHClassifier(n_jobs=None).fit(X, np.repeat(np.arange(n_classes), 4)), X


def test_loaded_classifier_of_many_classes_equals_the_saved_one(path, rng):
    fitted, X = many_classes(rng)
    assert len(fitted.pairs_) < 18 * 17 / 2
    loaded = saved_and_loaded(fitted, path)
    assert_array_equal(loaded.pairs_, fitted.pairs_)
    assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_files_of_many_classes_in_which_all_pairs_have_a_boundary_load(path, rng, monkeypatch):
    monkeypatch.setattr("ravine.semi_supervised._base.MOST_PAIRED", 100)
    fitted, X = many_classes(rng)
    assert len(fitted.pairs_) == 18 * 17 / 2
    monkeypatch.undo()
    assert_array_equal(saved_and_loaded(fitted, path).decision_function(X), fitted.decision_function(X))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("towards", lambda a: a[:, :2], "'towards' has shape"),
        ("towards", lambda a: a * np.nan, "'towards' has the entry nan"),
        ("least", lambda a: a[1:], "'least' has shape"),
        ("nearest", lambda a: a + 9, "'nearest' has the entry 26, but its entries must be from 0 to 17"),
        ("nearest", lambda a: a.ravel(), "'nearest' has shape"),
        ("nearest", lambda a: a[:, :0], "'nearest' is empty"),
        ("nearest", lambda a: a * 0, "'nearest' lists a class twice, or as its own neighbor"),
        ("nearest", lambda a: a[:, :3], "'normal' has .* rows for .* pairs of classes"),
        ("nearest", None, "'nearest' is missing"),
    ],
)
def test_near_classes_that_are_none_are_refused(name, change, message, rng):
    fitted, _ = many_classes(rng)
    state = fitted._state(resume=True)
    if change is None:
        del state[name]
    else:
        state[name] = change(state[name])
    with pytest.raises(ValueError, match=message):
        fitted._schema.checked(state, fitted._sizes())


@pytest.mark.parametrize("classes", [[], ["a"], ["b", "a"], ["a", "a"], ["a", 1], "ab", None, [[0], [1]]], ids=str)
def test_classes_that_are_none_are_refused(classes, contents, path):
    state = json.loads(unpacked(contents[CLASSES])["header.json"])["state"]
    state["classes"] = classes
    assert "field 'classes'" in refusal(changed_header(contents[CLASSES], state=state), path)


@pytest.mark.parametrize("bound", [-1.0, 1, None, True, {"$float": "nan"}, {"$float": "-inf"}, "0", [0.0]], ids=repr)
def test_bounds_that_are_none_are_refused(bound, contents, path):
    state = json.loads(unpacked(contents[BENT])["header.json"])["state"]
    state["approximation_bound"] = bound
    assert "field 'approximation_bound'" in refusal(changed_header(contents[BENT], state=state), path)


def test_split_models_are_saved(blobs, path):
    fitted = NCutH(n_clusters=3).fit(blobs)
    split = fitted.split(int(fitted.tree_.leaves[0]), blobs)
    assert_array_equal(saved_and_loaded(split, path).predict(blobs), split.labels_)


@pytest.mark.parametrize("seen_between", [False, True])
@each_kind
@each_stream
def test_interrupted_stream_equals_one_that_never_was(model, kind, seen_between, blobs, path, rng):
    X, weights = kind(blobs[rng.permutation(len(blobs))]), rng.integers(1, 3, size=len(blobs)).astype(float)
    whole, broken = clone(model), clone(model)
    for start in range(0, len(blobs), 90):
        part = slice(start, start + 90)
        whole.partial_fit(X[part], sample_weight=weights[part])
        broken = broken.partial_fit(X[part], sample_weight=weights[part])
        if seen_between:
            assert broken.n_clusters_ >= 1
        broken = saved_and_loaded(broken, path)
        assert (broken._tree is not None) == seen_between
    assert_same(broken._stream.state(), whole._stream.state())
    assert broken.tree_ == whole.tree_
    assert broken.selection_ == whole.selection_


def assert_same(ours, other):
    """Equal to the last bit, and of the same types."""
    assert type(ours) is type(other)
    if isinstance(ours, dict):
        assert ours.keys() == other.keys()
        for key in ours:
            assert_same(ours[key], other[key])
    elif sparse.issparse(ours):
        assert ours.dtype == other.dtype
        assert_same(ours.toarray(), other.toarray())
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == other.dtype
        assert ours.tobytes() == other.tobytes()
    else:
        assert ours == other


@each_kind
def test_stream_goes_on_after_fit_and_in_single_precision(kind, blobs, path):
    X = kind(blobs.astype(np.float32))
    whole = IncrementalMDH(sample_size=100).fit(X)
    loaded = saved_and_loaded(whole, path)
    assert loaded.partial_fit(X[:50]).tree_ == whole.partial_fit(X[:50]).tree_
    assert loaded._stream.sample()[0].dtype == np.float32


def test_stream_saved_without_resume_refuses_to_learn(blobs, path):
    loaded = saved_and_loaded(IncrementalMDH().partial_fit(blobs), path, resume=False)
    for model in (loaded, loaded.cut_to(2), load_again(loaded, path)):
        with pytest.raises(ValueError, match=r"was saved without its sample of rows.*resume=True"):
            model.partial_fit(blobs)
    assert_array_equal(loaded.fit(blobs).partial_fit(blobs).predict(blobs[:2]), loaded.predict(blobs[:2]))


@each_kind
def test_file_without_resume_holds_no_row(kind, rng, path):
    X = rng.normal(size=(300, 4))
    X[::2] += 9
    model = IncrementalMDH().fit(kind(X))
    holds = {}
    for resume in (True, False):
        save(model, path, resume=resume)
        content = path.read_bytes()
        holds[resume] = [value.tobytes() in content for value in X.ravel()]
    assert all(holds[True])
    assert not any(holds[False])


def test_changed_parameters_of_a_stream_are_not_saved_silently(blobs, path):
    model = IncrementalMDH().partial_fit(blobs).set_params(max_depth=3)
    with pytest.raises(ValueError, match="changed after its first rows"):
        save(model, path)
    assert not path.exists()
    assert_array_equal(saved_and_loaded(model, path, resume=False).predict(blobs), model.predict(blobs))


@pytest.mark.parametrize("model", [PDDP(), IncrementalMDH()], ids=repr)
def test_same_model_gives_the_same_bytes(model, blobs, tmp_path):
    fitted = clone(model).fit(blobs)
    save(fitted, tmp_path / "a")
    save(clone(model).fit(blobs), tmp_path / "b")
    save(load(tmp_path / "a"), tmp_path / "c")
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b == c


def test_numpy_reads_the_arrays(blobs, path):
    model = PDDP().fit(blobs)
    save(model, path)
    with np.load(path, allow_pickle=False) as file:
        assert_array_equal(file["state.tree.normal"], model.tree_.normal)
        assert file["state.labels"].dtype == np.uint8
        assert json.loads(file["header.json"])["estimator"] == "PDDP"
    with zipfile.ZipFile(path) as archive:
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())


@pytest.mark.parametrize(
    "parameters",
    [
        {"init": np.eye(3)},
        {"init": np.asfortranarray(np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3))},
        {"init": [[1, 0, 0.1], (0.0, np.float32(0.1), np.float64(1.0))]},
        {"init": np.int8(2), "n_clusters": np.int64(3), "margin": np.True_},
        {"bandwidth_factor": 0.1 / 3, "significance": np.nextafter(0.05, 1)},
        {"init": [[np.inf, -np.inf, np.nan]]},
        {"init": np.eye(3).astype(">f8")},
    ],
    ids=["array", "fortran", "lists", "scalars", "floats", "infinity", "big endian"],
)
def test_parameters_come_back_as_they_were(parameters, blobs, path):
    model = NCutH(n_clusters=3).fit(blobs).set_params(**parameters)
    loaded = saved_and_loaded(model, path)
    for name, value in model.get_params().items():
        same = getattr(loaded, name)
        assert type(same) is type(value)
        assert_array_equal(same, value, strict=isinstance(value, np.ndarray) and value.dtype.isnative)
        assert repr(same) == repr(value) or not getattr(value, "dtype", np.dtype(float)).isnative


def test_random_state_goes_on_where_it_was(blobs, path):
    generator = np.random.RandomState(5)
    generator.normal()
    loaded = saved_and_loaded(MDH(3, random_state=generator).fit(blobs), path)
    assert loaded.random_state is not generator
    assert_array_equal(loaded.random_state.normal(size=999), generator.normal(size=999))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"split_order": max}, "parameter 'split_order' cannot be saved.*not a builtin.*set_params"),
        ({"random_state": np.random.default_rng(0)}, "The 'random_state' parameter of NCutH must be"),
        ({"random_state": np.random.RandomState(np.random.PCG64(0))}, "MT19937, not with PCG64"),
        ({"bandwidth_factor": lambda deviation, count: 1.0}, "'bandwidth_factor' cannot be saved.*not a function"),
        ({"init": np.array([[None]])}, "'init' cannot be saved.*not of object"),
        ({"init": np.longdouble(1)}, "'init' cannot be saved.*float128|longdouble"),
        ({"max_depth": 10**30}, "The 'max_depth' parameter of NCutH must be at most"),
        ({"init": [np.zeros(1)] * MAX_MEMBERS}, "more than a file can hold"),
        ({"init": {1: 2}}, "strings as keys"),
    ],
)
def test_parameters_that_a_file_cannot_keep_are_named(parameters, message, blobs, path):
    model = NCutH(n_clusters=3).fit(blobs).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        save(model, path)
    assert not path.exists()


def test_dictionaries_of_the_user_are_not_taken_for_arrays(blobs, path, monkeypatch):
    monkeypatch.setitem(NCutH._parameter_constraints, "init", "no_validation")
    odd = {"$array": "state.labels", "$$csr": {}, "a/b": np.arange(2), "": {"0": np.arange(3), "$": (1,)}}
    loaded = saved_and_loaded(NCutH(n_clusters=3).fit(blobs).set_params(init=odd), path)
    assert repr(loaded.init) == repr(odd)


def test_notes_come_back_as_they_were(blobs, path):
    model = PDDP().fit(blobs)
    notes = {"columns": ["größe", "\ud800"], "fill": {"a": 0.1 + 0.2, "$array": None}, "n": 10**40, "flag": True}
    save(model, path, notes=notes)
    saved = read(path)
    assert saved.notes == notes
    assert list(saved.notes) == list(notes)
    assert saved.ravine_version == __version__
    assert saved.model.tree_ == model.tree_
    save(model, path)
    assert read(path).notes is None


@pytest.mark.parametrize("notes", [{"a": np.nan}, {"a": (1, 2)}, {1: 2}, {"a": np.arange(2)}, {"a": {2}}], ids=repr)
def test_notes_that_are_not_json_are_refused(notes, blobs, path):
    with pytest.raises(ValueError, match="notes"):
        save(PDDP().fit(blobs), path, notes=notes)
    assert not path.exists()


@each
def test_models_that_are_not_fitted_are_not_saved(model, path):
    with pytest.raises(NotFittedError, match=f"this {type(model).__name__} is not fitted yet: call fit before"):
        save(clone(model), path)


def test_estimators_of_others_are_not_saved(blobs, path):
    class Mine(PDDP):
        pass

    for model in (Mine().fit(blobs), StandardScaler().fit(blobs), "PDDP"):
        with pytest.raises(
            ValueError, match="cannot be saved: ravine can save only its own estimators, HSDC, IncrementalMDH"
        ):
            save(model, path)


def test_errors_of_the_system_are_its_own(blobs, tmp_path):
    model = PDDP().fit(blobs)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(IsADirectoryError):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "no" / "folder")


def test_format_1_is_still_read():
    model = load(DATA / "model_format_1.ravine")
    X = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    assert list(model.feature_names_in_) == ["width", "height"]
    labels = model.predict(pd.DataFrame(X, columns=model.feature_names_in_))
    assert_array_equal(labels, model.labels_)
    assert_array_equal(model.predict(pd.DataFrame([[0, 0], [9, 0], [0, 9]], columns=["width", "height"])), [0, 1, 2])


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array))
    return buffer.getvalue()


class Contents(list):
    def __repr__(self):  # not all the bytes when a property fails
        return f"<{len(self)} files>"


@pytest.fixture(scope="module")
def contents(blobs, tmp_path_factory):
    """Files of small models of all kinds."""
    path = tmp_path_factory.mktemp("contents") / "model"
    X = blobs[:60]
    random_state, small = np.random.RandomState(0), {"max_depth": 2, "sample_size": 40, "n_jobs": None}
    models = [
        PDDP(n_clusters=3).fit(pd.DataFrame(X, columns=["a", "b", "c"])),
        NCutH(n_clusters=3, init=np.eye(3), bandwidth_factor=np.float64(90), random_state=random_state).fit(X),
        IncrementalMDH(**small).partial_fit(X),
        IncrementalMDH(n_clusters=2, **small).fit(X),
        IncrementalMDH(**small, memory_length=30).partial_fit(sparse.csr_array(X)),
        IncrementalMDH(**{**small, "algorithm": "online"}).partial_fit(X),
        IncrementalMDH(**{**small, "algorithm": "online"}).partial_fit(sparse.csr_array(X)),
        SumOfNorms(n_lambdas=20, n_jobs=None).fit(X, sample_weight=np.arange(60) % 5),
        SumOfNorms(lam=0.02, weights="uniform", n_jobs=None).fit(X),
        SupportVectorClustering(budget=20, gamma=0.5).fit(X),
        SupportVectorClustering(budget=30, gamma=0.5).partial_fit(X),
        SpectralPursuit(n_clusters=4, n_microclusters=12, n_jobs=None).fit(X),
        MDHClassifier(n_jobs=None).fit(X, np.array(["a", "b"])[(X[:, 0] > 6).astype(int)]),
    ]
    out = Contents()
    for model in models:
        save(model, path, notes={"columns": ["a"]})
        out.append(path.read_bytes())
    return out


def refusal(content, path):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        load(path)
    return str(error.value)


def changed_header(content, **fields):
    members = unpacked(content)
    return packed({**members, "header.json": json.dumps({**json.loads(members["header.json"]), **fields})})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: b"", "not a model saved by ravine"),
        (lambda c: b"a,b\n1,2\n", "not a model saved by ravine"),
        (lambda c: pickle.dumps([1]), "looks like a pickle: ravine does not load pickles"),
        (lambda c: c[: len(c) // 2], "incomplete"),
        (lambda c: c[:-1], "incomplete"),
        (lambda c: c + b"more", "incomplete"),
        (lambda c: packed({"a.npy": npy([1])}), "it has no header.json"),
        (lambda c: packed(unpacked(c), zipfile.ZIP_DEFLATED), "compressed"),
        (lambda c: packed({**unpacked(c), "header.json": b"{"}), "not JSON"),
        (lambda c: packed({**unpacked(c), "header.json": b"\xff"}), "not JSON"),
        (lambda c: packed({**unpacked(c), "header.json": b"[]"}), "its header has another format"),
        (lambda c: packed({**unpacked(c), "header.json": b"[" * 10**5}), "nested too deeply"),
        (lambda c: packed({**unpacked(c), "header.json": b"9" * 10**5}), "not JSON"),
        (lambda c: packed({**unpacked(c), "header.json": b'{"format": NaN}'}), "not a finite number"),
        (lambda c: packed({**unpacked(c), "header.json": b'{"format": 1e999}'}), "not a finite number"),
        (lambda c: packed({**unpacked(c), "header.json": b'{"a": 1, "a": 2}'}), "occurs twice"),
        (lambda c: changed_header(c, format="other"), "its header has another format"),
        (
            lambda c: changed_header(c, format_version=3, ravine_version="9.1", more=1),
            "was written by ravine 9.1 in format 3; this version reads formats up to 2: update ravine",
        ),
        (lambda c: changed_header(c, format_version=0), "has the unknown format 0"),
        (lambda c: changed_header(c, format_version=True), "'format_version' of the header has the wrong type bool"),
        (lambda c: changed_header(c, more=1), "the header must have the fields"),
        (lambda c: changed_header(c, estimator="KMeans"), "contains a KMeans, but this version"),
        (lambda c: changed_header(c, estimator="os.system"), "contains a os.system"),
        (lambda c: changed_header(c, parameters={"n_clusters": -1}), "'n_clusters' parameter of PDDP must be"),
        (lambda c: changed_header(c, parameters={"n_clusters": 10**30}), "more than 64 bits"),
        (lambda c: changed_header(c, parameters={"bomb": 1}), "PDDP has no parameter 'bomb'"),
        (lambda c: changed_header(c, parameters={"n_jobs": 0}), "n_jobs=0 is not valid"),
        (lambda c: changed_header(c, parameters={"n_clusters": {"$eval": "1"}}), "cannot be read"),
        (lambda c: changed_header(c, parameters={"n_clusters": {"$scalar": ["|i1", 300]}}), "outside the range"),
        (lambda c: changed_header(c, parameters={"n_clusters": {"$csr": {"$tuple": []}}}), "do not fit together"),
        (lambda c: changed_header(c, parameters={"random_state": {"$random_state": {}}}), "do not fit together"),
        (lambda c: changed_header(c, n_features_in=2, feature_names=None), "'tree.normal' has shape (5, 3)"),
        (lambda c: changed_header(c, n_features_in=2), "does not match the length of 'feature_names'"),
        (lambda c: changed_header(c, feature_names=["a", "b", 3]), "'feature_names' has an entry"),
        (lambda c: changed_header(c, feature_names=["a", "b", "a"]), "or occurs twice"),
        (lambda c: changed_header(c, state={}), "field 'tree' is missing"),
        (lambda c: packed([*unpacked(c).items(), ("more.npy", npy([1]))]), "does not mention: more"),
        (lambda c: packed([*unpacked(c).items(), ("../up.npy", npy([1]))]), "not an array: '../up.npy'"),
        (lambda c: packed([*unpacked(c).items(), ("code.py", b"1")]), "not an array: 'code.py'"),
        (
            lambda c: packed([*unpacked(c).items(), *((f"{i}.npy", b"") for i in range(MAX_MEMBERS))]),
            "a model has at most 1000",
        ),
    ],
)  # fmt: skip
def test_files_that_are_no_models_say_so(change, message, contents, path):
    assert message in refusal(change(contents[0]), path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(contents, path):
    twice = packed([*unpacked(contents[0]).items(), ("state.labels.npy", npy([1]))])
    assert "two members of the same name" in refusal(twice, path)


def test_overlapping_members_are_refused(contents, path):
    content = contents[0]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start, last = archive.start_dir, max(archive.infolist(), key=lambda info: info.header_offset)
    entry = content.rindex(struct.pack("<I", last.header_offset), start)
    moved = content[:entry] + struct.pack("<I", 0) + content[entry + 4 :]
    assert "overlap" in refusal(moved, path) or "damaged" in refusal(moved, path)
    gap = bytearray(content[:start] + b"hidden" + content[start:])
    place = len(gap) - 6
    gap[place : place + 4] = struct.pack("<I", start + 6)
    assert "something between them" in refusal(bytes(gap), path)


def test_tampering_is_found_by_the_checksum(contents, path):
    content = bytearray(contents[0])
    content[content.index(b"NUMPY") + 200] ^= 1
    assert "damaged: the checksum of array" in refusal(bytes(content), path)


def with_array(content, name, member):
    members = unpacked(content)
    assert name in members
    return packed({**members, name: member})


@pytest.mark.parametrize(
    ("name", "member", "message"),
    [
        ("offset", b"", "not a NumPy array"),
        ("offset", npy(np.zeros(5))[:40], "header of array"),
        ("offset", npy(np.zeros(5))[:-1], "has 39 bytes, which does not match its shape (5,)"),
        ("offset", npy(np.zeros(5)).replace(b"(5,), }", b"(10**9,), }"), "header of array"),
        ("offset", npy(np.zeros(5)).replace(b"(5,), }" + 11 * b" ", b"(999999999999,), }"), "has 40 bytes"),
        ("offset", npy(np.zeros(5, dtype=">f8")), "holds the type '>f8'"),
        ("offset", npy(np.zeros(5, dtype=complex)), "holds the type '<c16'"),
        ("offset", npy(np.zeros(5, dtype="U3")), "holds the type '<U3'"),
        ("offset", npy(np.zeros((5, 5)).T[:, :]).replace(b"True", b"1   "), "header of array"),
        ("offset", npy(np.full(5, np.nan)), "'tree.offset' has the entry nan, but its entries must be finite"),
        (
            "offset",
            npy(np.zeros(4)),
            "'tree.offset' has shape (4,), but needs (n_nodes,) with n_nodes = 5",
        ),
        ("left", npy([1, 0, -1, -1, -1]), "field 'tree.left'"),
        ("left", npy([0, 2, -1, -1, -1]), "field 'tree.left' of node 0 is 0"),
        ("left", npy([1.0, np.nan, 3, -1, -1]), "'tree.left' must be an array of int64, not an array of float64"),
        ("left", npy(np.zeros(5, dtype=bool)), "'tree.left' must be an array of int64, not an array of bool"),
        ("normal", npy(np.zeros((5, 2))), "'tree.normal' has shape (5, 2)"),
        ("rank", npy([7, 0, 0, 0, 0]), "field 'tree.rank'"),
        (
            "count",
            npy([-1.0, 1, 1, 1, 1]),
            "'tree.count' has the entry -1",
        ),
    ],
)
def test_arrays_that_make_no_tree_are_refused(name, member, message, contents, path):
    assert message in refusal(with_array(contents[0], f"state.tree.{name}.npy", member), path)


@pytest.mark.parametrize("labels", [[3] * 60, [-1] * 60, [0.5] * 60, [[0]] * 60, [True] * 60])
def test_labels_that_are_no_clusters_are_refused(labels, contents, path):
    assert "field 'labels'" in refusal(with_array(contents[0], "state.labels.npy", npy(labels)), path)


CSR, DENSE, PATH, PAIRS, SUPPORT, ONLINE, BENT, CLASSES = 4, 2, 7, 8, 9, 10, 11, 12


@pytest.mark.parametrize(
    ("which", "name", "change", "message"),
    [
        (PATH, "rows", lambda a: a[::-1], "'rows' has duplicate rows, or rows in the wrong order"),
        (PATH, "rows", lambda a: a[:, :2], "'rows' has shape"),
        (PATH, "rows", lambda a: a.astype(np.float32), "'rows' must be an array of float64"),
        (PATH, "rows", lambda a: a * np.nan, "'rows' has the entry nan, but its entries must be finite"),
        (PATH, "mass", lambda a: -a, "'mass' has the entry -4, but its entries must be finite and at least"),
        (PATH, "weightless", lambda a: a[:-1], "'weightless' must have 12 rows"),
        (PATH, "point_labels", lambda a: a + 9, "'point_labels' has the entry 9, but its entries must be from 0 to"),
        (PATH, "point_labels", lambda a: a[:-1], "'point_labels' has"),
        (PATH, "member", lambda a: a * 99, "'member' has the entry -99, but its entries must be from -1 to 47"),
        (PATH, "path.children", lambda a: a[::-1], "'path.children' has a node that does not exist yet"),
        (PATH, "path.children", lambda a: a.ravel(), "'path.children' has shape (94,), but needs (n_fusions, 2)"),
        (PATH, "path.children", lambda a: a[:, :1], "'path.children' has shape (47, 1), but needs (n_fusions, 2)"),
        (PATH, "path.merge_lambdas", lambda a: a[::-1], "'path.merge_lambdas' is not in order"),
        (
            PATH,
            "path.lambdas",
            lambda a: a * np.inf,
            "'path.lambdas' has the entry inf",
        ),
        (PATH, "path.centroids", lambda a: a[:-1], "'path.centroids' has shape (46, 3)"),
        (SUPPORT, "vectors", lambda a: a[:0], "'vectors' is empty"),
        (
            SUPPORT,
            "vectors",
            lambda a: a * 1e200,
            "'vectors' has the entry -2.79309e+200",
        ),
        (SUPPORT, "coefficients", lambda a: -a, "'coefficients' has the entry -0.686163"),
        (SUPPORT, "coefficients", lambda a: 0 * a, "'coefficients' has no entry above 0"),
        (SUPPORT, "mode_labels", lambda a: a + 1, "'mode_labels' has a cluster without rows"),
        (SUPPORT, "mode_labels", lambda a: a[1:], "'mode_labels' has shape (59,)"),
        (
            SUPPORT,
            "rows.nearest",
            lambda a: a + 60,
            "'rows.nearest' has the entry 60",
        ),
        (SUPPORT, "rows.outlier", lambda a: a[1:], "'rows.outlier' has shape (59,)"),
        (SUPPORT, "stream.sample.keys", lambda a: a[::-1], "'stream.sample.keys' is not sorted"),
        (SUPPORT, "stream.sample.keys", lambda a: a[1:], "'stream.sample.keys' has shape (59,)"),
        (SUPPORT, "stream.sample.weights", lambda a: 0 * a, "'stream.sample.weights' has the entry 0"),
        (SUPPORT, "stream.sample.weights", lambda a: a * 1e308, "'stream.sample.weights' has a sum that is not finite"),
        (SUPPORT, "stream.learner.sums", lambda a: -a, "'stream.learner.sums' has the entry -2799.55"),
        (
            SUPPORT,
            "stream.learner.vectors",
            lambda a: np.tile(a, (2, 1)),
            "'stream.learner.sums' has shape (20,), but needs (n_learned,) with n_learned = 40",
        ),
        (
            PAIRS,
            "cluster_centers",
            lambda a: a[:1],
            "'point_labels' has the entry 59",
        ),
        (CLASSES, "normal", lambda a: a[:, :2], "'normal' has shape"),
        (CLASSES, "normal", lambda a: 2 * a, "'normal' has a row that is not a unit vector"),
        (CLASSES, "offset", lambda a: a * np.nan, "'offset' has the entry nan"),
        (CLASSES, "slopes", lambda a: -a, "'slopes' has the entry -0.7139"),
        (CLASSES, "slopes", lambda a: np.r_[a, a], "'slopes' has shape"),
        (
            CLASSES,
            "transduction",
            lambda a: a + 2,
            "'transduction' has the entry 2",
        ),
        (BENT, "tree.surfaces.node", lambda a: a + 9, "'tree.surfaces.node' has the entry 9"),
        (BENT, "tree.surfaces.node", lambda a: a * 0, "'tree.surfaces.node' has a node twice"),
        (BENT, "tree.surfaces.node", lambda a: np.r_[a[:-1], 6], "'tree.surfaces.node' has a leaf"),
        (BENT, "tree.surfaces.n_directions", lambda a: a + 2**62, "'tree.surfaces.n_directions' has the entry"),
        (BENT, "tree.surfaces.n_directions", lambda a: a[1:], "'tree.surfaces.n_directions' has shape (2,)"),
        (BENT, "tree.surfaces.directions", lambda a: a[:, :2], "'tree.surfaces.directions' has shape (6, 2)"),
        (BENT, "tree.surfaces.directions", lambda a: a * np.inf, "'tree.surfaces.directions' has the entry"),
        (BENT, "tree.surfaces.n_positions", lambda a: a * 0, "'tree.surfaces.n_positions' has the entry 0"),
        (BENT, "tree.surfaces.n_positions", lambda a: a + 2**62, "'tree.surfaces.n_positions' has the entry"),
        (BENT, "tree.surfaces.positions", lambda a: a[:-2], "'tree.surfaces.positions' has 70 entries, but needs 72"),
        (BENT, "tree.surfaces.positions", lambda a: a * np.nan, "'tree.surfaces.positions' has the entry nan"),
        (BENT, "tree.surfaces.is_left", lambda a: a[:-1], "'tree.surfaces.is_left' has 35 entries, but needs 36"),
        (
            BENT,
            "tree.surfaces.is_left",
            lambda a: a.astype(np.int8),
            "is_left' must be an array of bool",
        ),
        (
            BENT,
            "tree.surfaces.is_left",
            lambda a: a | True,
            "is_left' has a surface without positions on one side",
        ),
    ],
)
def test_arrays_that_make_no_model_are_refused(which, name, change, message, contents, path):
    member = f"state.{name}.npy"
    array = np.load(io.BytesIO(unpacked(contents[which])[member]))
    assert message in refusal(with_array(contents[which], member, npy(np.ascontiguousarray(change(array)))), path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("numbers", {"lam_": 1.0}, "field 'numbers.objective_' is missing"),
        ("certificate", {"lam": 1.0}, "field 'certificate.lower' is missing"),
        (
            "certificate",
            {"lam": 1.0, "lower": 0.1, "upper": -1.0, "upper_any": 0.0},
            "'certificate.upper' must be a float",
        ),
        ("path", {"n_points": 3}, "field 'path.lambdas' is missing"),
    ],
)
def test_fields_of_a_sum_of_norms_are_checked(field, value, message, contents, path):
    state = json.loads(unpacked(contents[PAIRS])["header.json"])["state"]
    state[field] = value
    assert message in refusal(changed_header(contents[PAIRS], state=state), path)


@pytest.mark.parametrize(
    ("which", "name", "change", "message"),
    [
        (DENSE, "sample.keys", lambda a: a[::-1], "keys' is not sorted"),
        (DENSE, "sample.keys", lambda a: a * np.nan, "keys' has the entry nan"),
        (DENSE, "sample.keys", lambda a: np.abs(a) * np.inf, "keys' has the entry inf"),
        (DENSE, "sample.keys", lambda a: a[:-1], "keys' has shape (39,)"),
        (
            DENSE,
            "sample.weights",
            lambda a: a * 0,
            "weights' has the entry 0",
        ),
        (DENSE, "sample.weights", lambda a: a * 1e307, "sum that is not finite"),
        (
            DENSE,
            "sample.weights",
            lambda a: a.astype(np.float32),
            "weights' must be an array of float64",
        ),
        (DENSE, "sample.rows", lambda a: a * np.nan, "rows' has the entry nan"),
        (DENSE, "sample.rows", lambda a: a * 1e160, "rows' has the entry -3.05376e+160"),
        (DENSE, "sample.rows", lambda a: a[:, :2], "rows' has shape (40, 2)"),
        (
            DENSE,
            "sample.rows",
            lambda a: a.astype(int),
            "rows' must be an array of float32 or float64",
        ),
        (DENSE, "mean", lambda a: a + 1e200, "mean' has the entry 1e+200"),
        (DENSE, "mean", lambda a: a[:2], "mean' has shape (2,), but needs (n_features,)"),
        (DENSE, "square", lambda a: -a, "square' has the entry -2213.42"),
        (DENSE, "square", lambda a: a * 1e-320, "square' has an entry that is far too small"),
        (DENSE, "seen", lambda a: np.ones(1), "seen' has 1 entries, but needs 0"),
        (
            DENSE,
            "online.normal",
            lambda a: a[:-1],
            "normal' has shape (3, 3), but needs (n_cuts, n_features)",
        ),
        (DENSE, "online.mean", lambda a: a * np.inf, "mean' has the entry nan"),
        (DENSE, "online.mean", lambda a: a + 1e200, "mean' has an entry that is far too large"),
        (DENSE, "online.scalars", lambda a: a - 1e9, "scalars' has a negative weight"),
        (CSR, "online.scalars", lambda a: a * 1e200, "normal' has an entry that is far too large"),
        (CSR, "seen", lambda a: a + 1e9, "seen' has an entry that is more than the weight of all rows"),
        (CSR, "sample.rows.indices", lambda a: a + 1, "parts do not fit together"),
        (CSR, "sample.rows.indices", lambda a: a - 1, "parts do not fit together"),
        (CSR, "sample.rows.indices", lambda a: a.astype(float), "parts do not fit together"),
        (CSR, "sample.rows.indptr", lambda a: a[::-1], "parts do not fit together"),
        (CSR, "sample.rows.indptr", lambda a: np.r_[a[:-1], a[-1] + 1].astype(a.dtype), "parts do not fit together"),
        (CSR, "sample.rows.indptr", lambda a: np.r_[a[:1], a[-1] + 1, a[2:]].astype(a.dtype), "do not fit together"),
        (CSR, "sample.rows.data", lambda a: a[:-1], "parts do not fit together"),
        (CSR, "sample.rows.data", lambda a: a * np.inf, "rows' has the entry -inf"),
    ],
)
def test_streams_that_cannot_have_been_are_refused(which, name, change, message, contents, path):
    content, member = contents[which], f"state.stream.{name}.npy"
    array = np.load(io.BytesIO(unpacked(content)[member]))
    with np.errstate(all="ignore"):
        changed = np.ascontiguousarray(change(array))
    refused = refusal(with_array(content, member, npy(changed)), path)
    assert "'stream." in refused or "do not fit together" in message
    assert message in refused


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1), ("seed", 2**31), ("seed", True), ("is_sparse", 0), ("n_rows", 39), ("n_rows", 0), ("n_rows", 2.0),
        ("count", 0.0), ("count", 60), ("count", None), ("sample", None), ("online", []), ("mean", [0.0, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_fields_of_a_stream_are_checked(field, value, contents, path):
    state = json.loads(unpacked(contents[DENSE])["header.json"])["state"]
    state["stream"][field] = value
    assert f"field 'stream.{field}" in refusal(changed_header(contents[DENSE], state=state), path)


def test_width_that_the_arrays_do_not_have_is_refused_before_memory_is_taken(contents, path):
    for width in (2**40, 2**62):
        assert "field 'stream.mean' has shape" in refusal(changed_header(contents[DENSE], n_features_in=width), path)


def test_sizes_of_a_stream_are_those_of_its_parameters(contents, path):
    for change in ({"max_depth": 20}, {"sample_size": 39}, {"algorithm": "online"}, {"sample_size": 30}):
        parameters = json.loads(unpacked(contents[DENSE])["header.json"])["parameters"]
        message = refusal(changed_header(contents[DENSE], parameters={**parameters, **change}), path)
        assert any(f"field 'stream.{name}" in message for name in ("online.normal'", "sample.keys' has 40", "sample'"))


class Bomb:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def test_no_code_from_a_file_is_run(contents, path, tmp_path):
    target = tmp_path / "exploded"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refusal(pickle.dumps(Bomb(target), protocol), path)
        refusal(with_array(contents[0], "state.labels.npy", pickle.dumps(Bomb(target), protocol)), path)
    array = np.empty(1, dtype=object)
    array[0] = Bomb(target)
    message = refusal(with_array(contents[0], "state.labels.npy", npy(array)), path)
    assert "Python objects: ravine does not load pickles" in message
    assert not target.exists()
    pickle.loads(pickle.dumps(Bomb(target)))
    assert target.exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile") / "model"


def is_to_be_grown(model):
    """Rows of a sample may be absurd: that shows when the tree is grown from them, as it would without a file."""
    return isinstance(model, IncrementalMDH) and model.algorithm == "polished" and model._tree is None


def check_harmless(content, place, blobs):
    """Refused by a ValueError that names the file, or a model that predicts."""
    place.write_bytes(content)
    try:
        model = load(place)
    except ValueError as error:
        if not str(error).startswith(str(place)):
            raise
        return
    columns = getattr(model, "feature_names_in_", None)
    rows = blobs[:9] if columns is None else pd.DataFrame(blobs[:9], columns=columns)
    try:
        labels = model.predict(rows)
    except ValueError:
        if not is_to_be_grown(model):
            raise
        return
    assert labels.shape == (9,)
    assert ((labels >= 0) & (labels < model.n_clusters_)).all()


fuzzed = settings(max_examples=100)
which_file = st.integers(0, 11)
ignore_warnings = pytest.mark.filterwarnings("ignore")


@ignore_warnings
@fuzzed
@given(which_file, st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_are_harmless(contents, place, blobs, which, flips):
    content = bytearray(contents[which])
    for at, value in flips:
        content[int(at * len(content))] = value
    check_harmless(bytes(content), place, blobs)


@ignore_warnings
@fuzzed
@given(which_file, st.integers(-700, -1), st.integers(0, 255))
def test_flipped_bytes_of_the_directory_are_harmless(contents, place, blobs, which, at, value):
    content = bytearray(contents[which])
    content[at] = value
    check_harmless(bytes(content), place, blobs)


@ignore_warnings
@fuzzed
@given(which_file, which_file, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_truncated_and_spliced_files_are_harmless(contents, place, blobs, which, other, places):
    ours, theirs = contents[which], contents[other]
    a, b, c = (int(share * len(content)) for share, content in zip(places, (ours, theirs, theirs), strict=True))
    for content in (ours[:a], ours[a:], ours[:a] + theirs[b:], ours[:a] + theirs[min(b, c) : max(b, c)] + ours[a:]):
        check_harmless(content, place, blobs)


@ignore_warnings
@fuzzed
@given(which_file, which_file, st.data())
def test_missing_and_exchanged_members_are_harmless(contents, place, blobs, which, other, data):
    ours, theirs = unpacked(contents[which]), unpacked(contents[other])
    name = data.draw(st.sampled_from(sorted(ours)))
    check_harmless(packed({key: value for key, value in ours.items() if key != name}), place, blobs)
    check_harmless(packed({**ours, name: theirs[data.draw(st.sampled_from(sorted(theirs)))]}), place, blobs)


numbers = st.one_of(
    st.integers(-3, 70), st.floats(), st.sampled_from([2**31, 2**63, -(2**63), 10**400, 1e308, -1e308, 5e-324, 1e-160])
)
words = st.sampled_from(["", "auto", "paper", "polished", "elbow", "asked", "inf", "<f8", "PDDP", "MDH", "array"])
tags = st.sampled_from(["$array", "$csr", "$tuple", "$scalar", "$float", "$random_state", "$$x", "$", "tree", "seed"])
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(tags, inner, max_size=2)),
    max_leaves=5,
)


def paths_of(node, path=()):
    if path:
        yield path
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from paths_of(item, (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


@ignore_warnings
@fuzzed
@given(which_file, st.data())
def test_changed_headers_are_harmless(contents, place, blobs, which, data):
    members = unpacked(contents[which])
    header = json.loads(members["header.json"])
    for _ in range(data.draw(st.integers(1, 3))):
        paths = list(paths_of(header))
        path = data.draw(st.sampled_from(paths))
        how = data.draw(st.sampled_from(["replace", "delete", "copy", "rename"]))
        parent, key = at(header, path[:-1]), path[-1]
        if how == "replace":
            parent[key] = data.draw(values)
        elif how == "delete" or isinstance(parent, list):
            del parent[key]
        elif how == "copy":
            parent[key] = json.loads(json.dumps(at(header, data.draw(st.sampled_from(paths)))))
        else:
            parent[data.draw(tags)] = parent.pop(key)
    check_harmless(packed({**members, "header.json": json.dumps(header)}), place, blobs)


@ignore_warnings
@fuzzed
@given(which_file, st.data())
def test_changed_arrays_are_harmless(contents, place, blobs, which, data):
    members = unpacked(contents[which])
    for name in data.draw(st.lists(st.sampled_from(sorted(set(members) - {"header.json"})), min_size=1, max_size=2)):
        members[name] = npy(data.draw(changed(np.load(io.BytesIO(members[name])))))
    check_harmless(packed(members), place, blobs)


@st.composite
def changed(draw, array):
    how = draw(st.sampled_from(["entry", "all", "dtype", "shape"]))
    if how == "entry" and array.size:
        real = st.one_of(st.floats(), st.sampled_from([1e200, 1e-200, -1e150, 1e9]))
        array.flat[draw(st.integers(0, array.size - 1))] = draw(real if array.dtype.kind == "f" else st.integers(0, 70))
        return array
    if how == "dtype":
        return array.astype(draw(st.sampled_from(["b1", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8"])))
    if how == "shape":
        return draw(st.sampled_from([array[:-1], array[:0], array[..., np.newaxis], array.ravel(), array.T.copy()]))
    return array * array.dtype.type(draw(st.sampled_from([0, 2, 3, 100])))


@ignore_warnings
@fuzzed
@given(which_file, st.data(), st.integers(0, 255))
def test_flipped_bytes_of_arrays_with_good_checksums_are_harmless(contents, place, blobs, which, data, value):
    members = unpacked(contents[which])
    name = data.draw(st.sampled_from(sorted(members)))
    member = bytearray(members[name])
    member[data.draw(st.integers(0, len(member) - 1))] = value
    check_harmless(packed({**members, name: bytes(member)}), place, blobs)
