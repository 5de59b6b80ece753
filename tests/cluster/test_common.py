"""Checks that run over every estimator there is: scikit-learn's own, and the library's contract."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_clusterer
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.callbacks import TaskCallback
from tests.estimators import ALL, name_of

from ravine import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    NCutH,
    SpectralPursuit,
    StreamClusterer,
    SumOfNorms,
    SupportVectorClustering,
)
from ravine.datasets import make_blobs

ESTIMATORS = [
    PDDP(),
    PDDP(selection="antimode"),
    PDDP(n_clusters=3),
    PDDP(n_clusters=3, criterion="mean"),
    NCutH(),
    NCutH(n_clusters=3),
    NCutH(n_clusters=3, margin=True),
    MDH(),
    MDH(n_clusters=3),
    MDH(n_clusters=3, margin=True),
    SpectralPursuit(n_microclusters=50),
    SpectralPursuit(n_clusters=3, n_microclusters=50),
    SpectralPursuit(n_clusters=3, projection="correlated", n_microclusters=50),
    IncrementalMDH(),
    IncrementalMDH(n_clusters=3),
    IncrementalMDH(selection="evidence"),
]
STREAMS = [StreamClusterer(), HSDC(), HSDC(inherit=True), SPDC()]
"""They take the rows in their order, one at a time, so that much of the contract is not theirs."""

WITHOUT_TREE = [
    SumOfNorms(),
    SumOfNorms(n_clusters=3),
    SumOfNorms(n_clusters=3, weights="uniform", n_lambdas=50),
    SupportVectorClustering(),
    SupportVectorClustering(n_clusters=3, budget=50),
    SupportVectorClustering(solver="exact"),
]
"""They give the same answers, but not from a tree of cuts, and take no sparse rows."""

CENTERS = [[0, 0, 0], [9, 0, 0], [0, 9, 5]]

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")
each = pytest.mark.parametrize("model", ESTIMATORS, ids=repr)
each_and_streams = pytest.mark.parametrize("model", ESTIMATORS + STREAMS, ids=repr)
each_batch = pytest.mark.parametrize("model", ESTIMATORS + WITHOUT_TREE, ids=repr)
each_of_all = pytest.mark.parametrize("model", ESTIMATORS + STREAMS + WITHOUT_TREE, ids=repr)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS + STREAMS + WITHOUT_TREE)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=CENTERS, random_state=1)


@pytest.fixture(scope="module")
def on_blobs(blobs):
    """Gives a model fitted to the blobs. It is fitted once for all tests, which leave it unchanged."""
    return cache(lambda model, dtype=np.float64: clone(model).fit(blobs[0].astype(dtype)))


@pytest.fixture(scope="module")
def sparse_blobs(blobs):
    return sparse.csr_array(blobs[0] * (np.abs(blobs[0]) > 1))


@pytest.fixture(scope="module")
def on_sparse_blobs(sparse_blobs):
    """Gives a model fitted to the sparse blobs, once for all tests."""
    return cache(lambda model: clone(model).fit(sparse_blobs))


def same_partition(a, b):
    return len(np.unique(a)) == len(np.unique(b)) == len(np.unique(np.c_[a, b], axis=0))


@each_batch
def test_blobs_are_found(model, blobs, on_blobs):
    fitted = on_blobs(model)
    coarse = fitted.cut_to(3)
    assert_array_equal(coarse.predict(blobs[0]), coarse.labels_)
    assert adjusted_rand_score(coarse.labels_, blobs[1]) > (0.8 if getattr(model, "criterion", "") == "mean" else 0.97)
    assert fitted.n_clusters_ == 3 or getattr(model, "selection", "") == "antimode"


@each_batch
def test_predict_of_training_rows_equals_labels(model, blobs, on_blobs):
    single, columnwise = blobs[0].astype(np.float32), np.asfortranarray(blobs[0])
    pairs = [(on_blobs(model), blobs[0]), (on_blobs(model, np.float32), single)]
    pairs.append((clone(model).fit(columnwise), columnwise))
    if model.__sklearn_tags__().input_tags.sparse:
        matrix = sparse.csr_matrix(blobs[0])
        pairs.append((clone(model).fit(matrix), matrix))
    for fitted, X in pairs:
        assert_array_equal(fitted.predict(X), fitted.labels_)
        assert_array_equal(np.unique(fitted.labels_), np.arange(fitted.n_clusters_))


@each_of_all
def test_number_of_threads_changes_nothing(model, blobs, monkeypatch):
    from ravine import _blocks

    monkeypatch.setattr(_blocks, "BLOCK_CELLS", 500)
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 50)
    one, four = (clone(model).set_params(n_jobs=n_jobs).fit(blobs[0]) for n_jobs in (1, 4))
    assert_array_equal(one.labels_, four.labels_)
    if hasattr(one, "tree_"):
        assert one.tree_ == four.tree_


@each_batch
def test_order_of_the_rows_changes_nothing(model, blobs, on_blobs, rng):
    X = blobs[0]
    order = rng.permutation(len(X))
    assert_array_equal(clone(model).fit(X[order]).labels_, on_blobs(model).labels_[order])


@each_batch
def test_shift_scale_and_rotation_leave_the_partition(model, blobs, on_blobs, rng):
    X = blobs[0]
    labels = on_blobs(model).labels_
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for other in (X + 1e4, X @ rotation * 1e6, -X * 1e-6):
        assert same_partition(clone(model).fit(other).labels_, labels)


@each_batch
def test_integer_weights_equal_repeated_rows(model, blobs, on_blobs, rng):
    X = blobs[0]
    repeats = rng.integers(1, 4, size=len(X))
    weighted = clone(model).fit(X, sample_weight=repeats)
    if model.n_clusters is None and getattr(model, "selection", "") != "antimode":  # the test counts rows
        assert adjusted_rand_score(weighted.labels_, on_blobs(model).labels_) > 0.95
        return
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0))
    assert_array_equal(np.repeat(weighted.labels_, repeats), repeated.labels_)
    if hasattr(weighted, "tree_"):
        assert_allclose(weighted.tree_.count, repeated.tree_.count)
        assert_allclose(weighted.tree_.mean, repeated.tree_.mean, atol=1e-9)


@each_batch
def test_rows_of_weight_zero_do_not_count(model, blobs, on_blobs, rng):
    X = blobs[0]
    noise = rng.uniform(-5, 14, size=(100, 3))
    weights = np.repeat([1.0, 0.0], [len(X), 100])
    fitted = clone(model).fit(np.concatenate([X, noise]), sample_weight=weights)
    assert same_partition(fitted.labels_[: len(X)], on_blobs(model).labels_)


@each
def test_sparse_and_dense_agree(model, sparse_blobs, on_sparse_blobs):
    dense, csr = clone(model), on_sparse_blobs(model)
    if hasattr(model, "assign_labels"):  # sparse rows have no mixture
        dense.set_params(assign_labels="tree")
    assert same_partition(dense.fit(sparse_blobs.toarray()).labels_, csr.labels_)
    assert_array_equal(csr.predict(sparse_blobs), csr.labels_)


@each
def test_entries_that_stand_twice_in_a_sparse_matrix_are_added_up(model, sparse_blobs, on_sparse_blobs):
    whole = sparse_blobs
    parts = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    halves = sparse.csr_array(parts, whole.shape)
    twice = clone(model).fit(halves)
    assert_array_equal(twice.labels_, on_sparse_blobs(model).labels_)
    assert_array_equal(twice.predict(halves), twice.labels_)
    assert halves.nnz == 2 * whole.nnz


@each_of_all
def test_float32_and_float64_agree(model, on_blobs):
    assert same_partition(on_blobs(model, np.float32).labels_, on_blobs(model).labels_)


@each_batch
def test_integers_and_booleans_are_taken(model, blobs):
    assert clone(model).fit(blobs[0].round().astype(int)).n_clusters_ >= 1
    with pytest.warns(ConvergenceWarning) if model.n_clusters else pytest.MonkeyPatch.context():
        assert clone(model).fit(np.tile([[True, False], [True, True]], (9, 1))).n_clusters_ in (1, 2)


@each_of_all
def test_frames_give_names_and_the_same_labels(model, blobs, on_blobs):
    names = ["width", "height", "depth"]
    plain = on_blobs(model)
    arrow = pa.table(dict(zip(names, blobs[0].T, strict=True)))
    nullable = pd.DataFrame(blobs[0], columns=names).astype("Float64")
    frames = [nullable.astype("float64"), nullable, pl.DataFrame(blobs[0], schema=names), arrow]
    for frame in (*frames, arrow.combine_chunks().to_batches()[0], nullable.convert_dtypes(dtype_backend="pyarrow")):
        fitted = clone(model).fit(frame)
        assert_array_equal(fitted.labels_, plain.labels_)
        assert_array_equal(fitted.feature_names_in_, names)
        assert_array_equal(fitted.predict(frame), plain.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(pd.DataFrame(blobs[0], columns=["a", "b", "c"]))


@each_and_streams
def test_transform_gives_signed_distances_with_names(model, blobs, on_blobs):
    fitted = on_blobs(model)
    distance = fitted.transform(blobs[0])
    assert distance.shape == (len(blobs[0]), fitted.n_clusters_ - 1)
    assert len(fitted.get_feature_names_out()) == distance.shape[1]
    assert_array_equal(distance, fitted.tree_.signed_distance(blobs[0]))


@each_of_all
def test_estimator_works_in_a_pipeline(model, blobs):
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert adjusted_rand_score(pipeline.fit_predict(blobs[0]), blobs[1]) > 0.8


@each_batch
def test_progress_is_reported_to_callbacks(model, blobs, capsys):
    clone(model).set_callbacks(ProgressBar()).fit(blobs[0])
    assert type(model).__name__ in capsys.readouterr().out


@each
def test_callbacks_hear_of_every_cut_also_in_pipelines_and_searches(model, blobs):
    asked, seen = clone(model).set_params(n_clusters=3), TaskCallback()
    make_pipeline(StandardScaler(), asked).set_callbacks(seen).fit(blobs[0])
    assert seen.n_tasks >= 2
    in_search = TaskCallback()
    search = GridSearchCV(asked, {"n_clusters": [2, 3]}, cv=2, scoring=lambda model, X: model.n_clusters_)
    search.set_callbacks(in_search).fit(blobs[0])
    assert in_search.n_tasks >= seen.n_tasks + 2 * (1 + 2)


@each
def test_a_callback_can_stop_the_growth(model, blobs):
    asked = clone(model).set_params(n_clusters=4).set_callbacks(TaskCallback(stop_at=2))
    with pytest.warns(ConvergenceWarning, match="found 3 of the 4 requested clusters.*a callback stopped the fit"):
        asked.fit(blobs[0])
    assert_array_equal(asked.predict(blobs[0]), asked.labels_)


@each_of_all
def test_nothing_is_printed(model, blobs, capfd):
    clone(model).fit(blobs[0])
    assert capfd.readouterr() == ("", "")


@each_of_all
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0], [3.0, 1.0]], "contains NaN"),
        ([[1.0, np.inf], [2.0, 3.0], [3.0, 1.0]], "contains infinity"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((4, 0)), "0 feature"),
        ([1.0, 2.0, 3.0, 4.0], "Expected 2D array, got 1D array"),
        ([["a", "b"], ["c", "d"], ["e", "f"]], "could not convert string|dtype='numeric'"),
        ([[1e200, 0.0], [0.0, 1.0], [3.0, 3.0]], r"largest absolute value in X is 1e\+200.*overflow.*change the unit"),
        ([[1e-200, 0.0], [0.0, 0.0], [0.0, 1e-201]], "largest absolute value in X is 1e-200.*vanish.*change the unit"),
    ],
    ids=["nan", "inf", "no rows", "no columns", "one dimension", "strings", "huge", "tiny"],
)
def test_bad_rows_say_what_to_change(model, X, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X)


@each_of_all
def test_wrong_width_at_predict_is_refused(model, blobs, on_blobs):
    with pytest.raises(ValueError, match=f"X has 2 features, but {type(model).__name__} is expecting 3 features"):
        on_blobs(model).predict(blobs[0][:, :2])


@each_batch
@pytest.mark.parametrize(
    ("weights", "message"), [([0, 0, 0], "at least one non-zero number"), ([-1, 1, 1], "Negative")]
)
def test_bad_weights_say_what_to_change(model, weights, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit([[0.0], [1.0], [5.0]], sample_weight=weights)


@each_of_all
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.* nearly all of the spread of the data")
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((5, 2)),
        np.full((50, 3), 0.1),
        np.c_[np.ones(30), np.repeat([2.0, np.nextafter(2.0, 3.0)], 15)],
        np.c_[np.arange(40.0), np.ones(40)],
        np.repeat([[0.0], [1.0], [5.0]], 20, axis=0),
        np.arange(3.0)[:, None],
        np.r_[np.zeros(99), 1e12][:, None],
        np.r_[np.random.default_rng(0).normal(size=99), 1e100][:, None],
        1e100 * np.random.default_rng(0).normal(size=(40, 2)),
        1e-100 * np.random.default_rng(0).normal(size=(40, 2)),
        1e9 + np.random.default_rng(0).normal(size=(40, 2)),
        np.random.default_rng(0).normal(size=(5, 300)),
    ],
    ids=[
        "zeros", "one distinct row", "differences of one bit", "constant column", "three distinct rows", "three rows",
        "one outlier", "one enormous outlier", "huge", "tiny", "far from the origin", "fewer rows than columns",
    ],
)  # fmt: skip
def test_degenerate_rows_give_finite_attributes(model, X):
    fitted = clone(model).fit(X)
    assert 1 <= fitted.n_clusters_ <= len(X)
    assert_array_equal(fitted.predict(X), fitted.labels_)
    names = ("centroids_", "support_vectors_", "dual_coef_", "equilibria_")
    learned = {name: getattr(fitted, name) for name in names if hasattr(fitted, name)} or fitted.tree_.to_dict()
    mixture = {name: value for name, value in learned.pop("mixture", {}).items() if name != "freedom"}
    learned |= learned.pop("surfaces", {}) | mixture
    for name, array in learned.items():
        assert np.isfinite(array).all(), name


def test_one_row_is_one_cluster():
    assert_array_equal(PDDP().fit([[1.0, 2.0]]).labels_, [0])
    assert_array_equal(PDDP(n_clusters=1, criterion="mean").fit([[1.0, 2.0]]).labels_, [0])


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_samples=2 is fewer than n_clusters=3: set n_clusters to at most 2"):
        PDDP(n_clusters=3).fit([[1.0], [2.0]])


@each_batch
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "X", [[[0.0], [1.0]], [[0.0, 2.0], [1.0, 2.0]], [[3.0], [3.0]]], ids=["line", "plane", "equal"]
)
def test_two_rows_are_one_or_two_clusters(model, X):
    asked = None if model.n_clusters is None else 2
    fitted = clone(model).set_params(n_clusters=asked).fit(X)
    assert fitted.n_clusters_ <= (2 if X[0] != X[1] else 1)
    assert_array_equal(fitted.predict(X), fitted.labels_)


@each_batch
def test_copies_of_every_row_leave_the_clusters(model):
    X, _ = make_blobs(600, centers=CENTERS, random_state=1)
    twice = clone(model).fit(np.repeat(X, 2, axis=0))
    assert adjusted_rand_score(twice.labels_[::2], clone(model).fit(X).labels_) > 0.85
    assert_array_equal(twice.labels_[::2], twice.labels_[1::2])


def test_random_state_and_n_jobs_are_the_same_on_every_clusterer():
    for model in filter(is_clusterer, ALL):
        defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
        assert (defaults["random_state"], defaults["n_jobs"]) == (0, -1), name_of(model)
        assert list(defaults)[-2:] == ["random_state", "n_jobs"], name_of(model)
