import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import clone
from sklearn.datasets import load_iris

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, SupportVectorClustering, load, save
from ravine.cluster import _soft
from ravine.cluster._soft import SoftTreeClusterer
from ravine.datasets import make_blobs

FAR = np.array([[400.0, 400], [-300, 5], [5, 700]])
N_FAR = len(FAR)
METHODS = [
    NCutH(outliers="label"),
    MDH(outliers="label"),
    IncrementalMDH(outliers="label"),
    PDDP(outliers="label", assign_labels="auto"),
    SpectralPursuit(3, outliers="label", assign_labels="mixture"),
]
each = pytest.mark.parametrize("model", METHODS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def rows():
    X, _ = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    return np.concatenate([FAR, X])


def test_outliers_is_the_parameter_of_support_vector_clustering():
    ours, theirs = (inspect.signature(method).parameters["outliers"] for method in (NCutH, SupportVectorClustering))
    assert (ours.default, ours.annotation) == (theirs.default, theirs.annotation)
    assert all(isinstance(model, SoftTreeClusterer) for model in METHODS)


@each
def test_far_rows_are_labeled_in_fit_and_predict_and_every_other_row_has_a_cluster(model, rows):
    fitted = clone(model).fit(rows)
    assert_array_equal(np.flatnonzero(fitted.labels_ < 0), np.arange(N_FAR))
    assert_array_equal(fitted.predict(rows), fitted.labels_)
    assert_array_equal(np.unique(fitted.labels_), np.arange(-1, fitted.n_clusters_))
    assert_array_equal(fitted.predict(FAR + 50), -1)
    assert_allclose(fitted.predict_proba(rows).sum(axis=1), 1)


@each
def test_labels_of_the_other_rows_and_the_tree_are_those_of_outliers_assigned(model, rows):
    fitted, assigned = clone(model).fit(rows), clone(model).set_params(outliers="assign").fit(rows)
    assert assigned.labels_.min() == 0
    assert_array_equal(fitted.labels_[N_FAR:], assigned.labels_[N_FAR:])
    assert_array_equal(fitted.tree_.normal, assigned.tree_.normal)
    assert_array_equal(fitted.predict_proba(rows), assigned.predict_proba(rows))
    assert assigned.tree_.mixture.limit is None


@each
def test_coarser_models_have_the_same_outliers(model, rows):
    fitted = clone(model).fit(rows)
    for coarser in (fitted.cut_to(2), fitted.cut_to(1), fitted.prune(0)):
        assert_array_equal(coarser.predict(rows), coarser.labels_)
        assert_array_equal(coarser.labels_ < 0, fitted.labels_ < 0)
        assert coarser.labels_.max() == coarser.n_clusters_ - 1


@each
@pytest.mark.parametrize("resume", [True, False])
def test_saved_models_have_the_same_outliers(model, resume, rows, tmp_path):
    fitted = clone(model).fit(rows)
    save(fitted, tmp_path / "model.ravine", resume=resume)
    same = load(tmp_path / "model.ravine")
    assert_array_equal(same.predict(rows), fitted.labels_)
    if resume:
        assert_array_equal(same.labels_, fitted.labels_)


def test_one_cluster_has_outliers_too(rows):
    model = NCutH(1, outliers="label").fit(np.concatenate([FAR, rows[N_FAR:][rows[N_FAR:] @ [1, 1] < 5]]))
    assert_array_equal(np.flatnonzero(model.labels_ < 0), np.arange(N_FAR))
    assert model.n_clusters_ == 1


@pytest.mark.filterwarnings("ignore:no outliers are labeled")  # a far row may become a cluster
def test_split_model_predicts_its_labels(rows):
    model = NCutH(2, outliers="label", min_cluster_size=10).fit(rows)
    for leaf in model.tree_.leaves:
        finer = model.split(leaf, rows)
        assert_array_equal(finer.predict(rows), finer.labels_)
        assert finer.n_clusters_ == 3


def test_a_cell_of_999_in_a_scaled_table_is_an_outlier():
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[[3, 77], [0, 2]] = 999
    model = NCutH(1, outliers="label").fit(X)
    assert_array_equal(np.flatnonzero(model.labels_ < 0), [3, 77])


def test_chunks_of_a_stream_give_labels_that_do_not_depend_on_the_batches(rows):
    whole = IncrementalMDH(outliers="label").partial_fit(rows)
    parts = IncrementalMDH(outliers="label")
    for batch in np.array_split(rows, 5):
        parts.partial_fit(batch)
    assert_array_equal(whole.predict(rows), parts.predict(rows))
    assert_array_equal(whole.labels_, whole.predict(rows))
    assert_array_equal(parts.labels_, parts.predict(np.array_split(rows, 5)[-1]))
    assert_array_equal(np.flatnonzero(whole.labels_ < 0), np.arange(N_FAR))


def test_identifiers_of_clusters_ignore_outliers(rows):
    model = IncrementalMDH(outliers="label").partial_fit(rows)
    clusters = model._recent_clusters(rows)
    assert_array_equal(clusters < 0, model.labels_ < 0)
    model.partial_fit(rows[::2])
    assert_array_equal(np.sort(model.cluster_ids_), np.arange(3))
    assert np.mean(model._recent_clusters(rows) == clusters) > 0.99


@pytest.mark.parametrize("kind", ["array", "frame", "files"])
def test_chunks_have_the_outliers_of_rows_in_memory(kind, rows, tmp_path):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pa, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows, columns=["width", "height"])
    X = {
        "array": lambda: da.from_array(rows, chunks=(100, 2)),
        "frame": lambda: dd.from_pandas(frame, npartitions=4),
        "files": lambda: dataset.dataset(pa.Table.from_pandas(frame)),
    }[kind]()
    model = NCutH(outliers="label").fit(X)
    found = model.predict(X)
    assert_array_equal(np.asarray(found), NCutH(outliers="label").fit(rows).labels_)
    if kind != "files":
        assert_array_equal(np.asarray(model.labels_), np.asarray(found))
        assert_array_equal(
            np.asarray(model.cut_to(2).labels_), model.cut_to(2).predict(rows if kind == "array" else frame)
        )


def test_large_out_of_core_data_has_outliers(rows, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("ravine.cluster._base.FETCHED_CELLS", 0)
    model = NCutH(outliers="label").fit(da.from_array(rows, chunks=(100, 2)))
    assert_array_equal(np.flatnonzero(np.asarray(model.labels_) < 0), np.arange(N_FAR))


def too_wide(X):
    return np.repeat(X[:20], 1025, axis=1)


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (NCutH(outliers="label", assign_labels="tree"), np.asarray, "assign_labels='tree' fits none"),
        (PDDP(outliers="label"), np.asarray, "assign_labels='tree' fits none"),
        (IncrementalMDH(outliers="label", algorithm="online"), np.asarray, "algorithm='online' keeps none"),
        (NCutH(outliers="label"), sparse.csr_array, "a sparse X cannot have"),
        (IncrementalMDH(outliers="label"), sparse.csr_array, "a sparse X cannot have"),
        (MDH(outliers="label"), too_wide, "2050 columns cannot have"),
        (NCutH(outliers="mark"), np.asarray, "'outliers' parameter of NCutH"),
    ],
)
def test_outliers_without_a_mixture_are_an_error_that_says_what_to_do(model, change, message, rows):
    for learn in ("fit", "partial_fit"):
        if hasattr(model, learn):
            with pytest.raises(ValueError, match=message):
                getattr(clone(model), learn)(change(rows))


def test_too_many_columns_out_of_core_are_an_error():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="2049 columns cannot have"):
        NCutH(outliers="label").fit(da.ones((30, 2049)))


def test_a_warning_says_that_no_outliers_are_labeled(rows, monkeypatch):
    monkeypatch.setattr(_soft, "fit_mixture", lambda *_: None)
    with pytest.warns(UserWarning, match="no outliers are labeled"):
        model = NCutH(3, outliers="label").fit(rows)
    assert model.labels_.min() == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NCutH(3).fit(rows)
