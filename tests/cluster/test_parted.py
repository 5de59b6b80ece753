"""Fits on Dask collections and on datasets of files, beside those on the same rows in memory."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.strategies import seeds

from ravine import MDH, PDDP, NCutH, SpectralPursuit, persist
from ravine.cuts import mdh, ncut, parted, pursuit
from ravine.datasets import make_blobs
from ravine.parts import PartedNode, in_parts

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
pd = pytest.importorskip("pandas")

CENTRES = [[0, 0, 0], [12, 0, 3], [0, 14, -3], [16, 17, 0]]
NAMES = ["height", "width", "depth"]
MODELS = [NCutH(4), MDH(4), PDDP(4, split="mean"), PDDP(4), NCutH(), MDH(), PDDP(), PDDP(selection="antimode")]

each = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(2400, centers=CENTRES, random_state=0)
    order = np.random.default_rng(1).permutation(len(X))
    return X[order], y[order]


@pytest.fixture(scope="module")
def in_memory(blobs):
    """Labels of the fits on rows in memory."""
    return {str(model): clone(model).fit(blobs[0]).labels_ for model in MODELS}


@pytest.fixture(scope="module")
def fitted(blobs):
    return NCutH(4).fit(in_frame(blobs[0]))


@pytest.fixture
def large(monkeypatch):
    """Nodes of a few hundred rows count as large; gives the nodes whose principal directions were asked for."""
    return make_large(monkeypatch)


def make_large(monkeypatch):
    for module in (pursuit, parted, mdh, ncut):
        for name, number in (("COARSE_ABOVE", 300), ("COARSE_ROWS", 200)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(parted, "TESTED_ROWS", 500)
    nodes = []
    find_directions = parted.parted_directions

    def recorded(node, n_directions):
        nodes.append(node)
        return find_directions(node, n_directions)

    monkeypatch.setattr(parted, "parted_directions", recorded)
    return nodes


def in_array(X, n_rows=500):
    return da.from_array(X, chunks=(n_rows, X.shape[1]))


def in_frame(X, n_parts=5):
    frame = pd.DataFrame(X, columns=NAMES, index=pd.RangeIndex(100, 100 + len(X), name="key"))
    return dd.from_pandas(frame, npartitions=n_parts)


def in_files(X, folder, n_files=3):
    for number, rows in enumerate(np.array_split(X, n_files)):
        dataset.write_dataset(table_of(rows), folder / f"{number}", format="parquet")
    return dataset.dataset(folder, format="parquet")


def table_of(X):
    return pa.table(dict(zip(NAMES, X.T, strict=True)))


def unreadable(X):
    """The same collection, of which no part may be computed."""

    def fail(rows):
        raise AssertionError("computed")

    if hasattr(X, "map_partitions"):
        return X.map_partitions(fail, meta=X._meta)
    return X.map_blocks(fail, dtype=X.dtype, meta=np.empty((0, 0)))


@pytest.mark.parametrize(
    ("model", "kind"),
    [*((model, "array") for model in MODELS), *((MODELS[0], kind) for kind in ("frame", "files"))],
    ids=str,
)
def test_partition_is_that_of_rows_in_memory(model, kind, blobs, in_memory, large, tmp_path):
    X = blobs[0]
    rows = {"array": in_array, "frame": in_frame, "files": lambda X: in_files(X, tmp_path)}[kind](X)
    found = clone(model).fit(rows)
    assert len(large) >= 3
    assert adjusted_rand_score(found.tree_.predict(X), in_memory[str(model)]) == 1


@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_large_nodes_are_searched_on_all_rows(model, blobs, large, monkeypatch):
    searched = set()
    pull = PartedNode.pull
    monkeypatch.setattr(PartedNode, "pull", lambda node, *rest: searched.add(node.n_rows) or pull(node, *rest))
    clone(model).fit(in_array(blobs[0]))
    assert 2400 in searched
    assert min(searched) > 300


@each
@given(seed=seeds)
@settings(max_examples=3)
def test_tree_does_not_depend_on_the_partitions(model, blobs, seed):
    rng = np.random.default_rng(seed)
    X = blobs[0][::2] * [1.0, 0.7, 0.6]
    order = rng.permutation(len(X))
    places = np.unique(rng.integers(1, len(X), size=rng.integers(0, 9)))
    chunks = tuple(np.diff([0, *places, len(X)]).tolist())
    with pytest.MonkeyPatch.context() as monkeypatch:
        make_large(monkeypatch)
        whole = clone(model).fit(da.from_array(X, chunks=-1))
        parts = clone(model).fit(da.from_array(X[order], chunks=(chunks, (3,))))
    assert parts.tree_ == whole.tree_
    assert_array_equal(parts.labels_.compute(), whole.labels_.compute()[order])


def test_arrays_frames_and_files_give_the_same_tree(blobs, large, tmp_path):
    trees = [
        NCutH(4).fit(rows).tree_ for rows in (in_array(blobs[0]), in_frame(blobs[0]), in_files(blobs[0], tmp_path))
    ]
    assert trees[0] == trees[1] == trees[2]


@each
def test_small_nodes_have_the_cuts_of_rows_in_memory(model, blobs):
    ours, theirs = (clone(model).fit(X).tree_ for X in (in_array(blobs[0]), blobs[0]))
    for name in ("left", "right", "rank", "normal", "offset", "value", "relative_depth", "p_value"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_single_precision_gives_the_same_partition(blobs, large):
    model = MDH(4).fit(in_array(blobs[0].astype(np.float32)))
    assert adjusted_rand_score(model.labels_.compute(), blobs[1]) == 1


def test_columns_in_chunks_and_rows_of_unknown_number_are_taken(blobs, large):
    expected = NCutH(4).fit(in_array(blobs[0])).tree_
    assert NCutH(4).fit(da.from_array(blobs[0], chunks=(700, 2))).tree_ == expected
    unknown = in_frame(blobs[0]).to_dask_array()
    assert np.isnan(unknown.shape[0])
    model = NCutH(4).fit(unknown)
    assert model.tree_ == expected
    assert_array_equal(model.predict(unknown).compute(), model.tree_.predict(blobs[0]))


def test_integers_are_taken(rng):
    X = np.concatenate([rng.integers(0, 9, size=(200, 2)), rng.integers(50, 59, size=(200, 2))])
    model = NCutH(2).fit(da.from_array(X, chunks=(150, 2)))
    assert_array_equal(model.labels_.compute(), NCutH(2).fit(X).labels_)


def test_predict_and_transform_are_those_of_rows_in_memory(fitted, blobs, tmp_path):
    X = pd.DataFrame(blobs[0], columns=NAMES)
    labels, distances = fitted.predict(X), fitted.transform(X)
    frame, files = in_frame(blobs[0]), in_files(blobs[0], tmp_path)
    assert_array_equal(fitted.predict(frame).compute(), labels)
    assert_array_equal(fitted.transform(frame).compute(), distances)
    assert_array_equal(fitted.predict(files), labels)
    assert_array_equal(fitted.transform(files), distances)
    assert isinstance(fitted.predict(files), np.ndarray)
    on_arrays = NCutH(4).fit(blobs[0])
    assert_array_equal(on_arrays.predict(in_array(blobs[0])).compute(), on_arrays.labels_)
    assert_array_equal(on_arrays.transform(in_array(blobs[0])).compute(), on_arrays.transform(blobs[0]))


def test_predict_and_transform_of_an_array_are_lazy_and_keep_its_chunks(blobs):
    model = NCutH(4).fit(blobs[0])
    X = unreadable(in_array(blobs[0], 700))
    labels, distances = model.predict(X), model.transform(X)
    assert labels.chunks == (X.chunks[0],)
    assert labels.dtype == model.labels_.dtype
    assert distances.chunks == (X.chunks[0], (3,))
    assert distances.dtype == np.float64
    for lazy in (labels, distances):
        with pytest.raises(AssertionError, match="computed"):
            lazy.compute()


def test_predict_and_transform_of_a_frame_are_lazy_and_keep_its_index(fitted, blobs):
    X = in_frame(blobs[0], 4)
    labels, distances = fitted.predict(unreadable(X)), fitted.transform(unreadable(X))
    for lazy in (labels, distances):
        assert lazy.npartitions == X.npartitions
        assert lazy.divisions == X.divisions
        with pytest.raises(AssertionError, match="computed"):
            lazy.compute()
    assert list(distances.columns) == list(fitted.get_feature_names_out())
    assert labels.dtype == np.int64
    assert set(distances.dtypes) == {np.dtype(np.float64)}
    for lazy, method in ((labels, fitted.predict), (distances, fitted.transform)):
        computed = method(X).compute()
        assert computed.index.equals(X.compute().index)
        assert_array_equal(np.asarray(computed.dtypes), np.asarray(lazy.dtypes))


def test_labels_are_lazy_after_a_fit_on_dask(blobs):
    n_reads = 0

    def counted(rows):
        nonlocal n_reads
        n_reads += len(rows) > 0
        return rows

    X = in_array(blobs[0]).map_blocks(counted, dtype=float, meta=np.empty((0, 0)))
    model = NCutH(2).fit(X)
    before = n_reads
    assert isinstance(model.labels_, da.Array)
    assert n_reads == before
    assert_array_equal(model.labels_.compute(), model.predict(blobs[0]))
    assert n_reads == before + X.numblocks[0]


def test_labels_of_files_are_not_kept(blobs, tmp_path):
    model = NCutH(2).fit(blobs[0])
    assert not hasattr(model.fit(in_files(blobs[0], tmp_path)), "labels_")
    assert hasattr(model.fit(blobs[0]), "labels_")


def test_names_of_columns_are_known(fitted, blobs, tmp_path):
    assert_array_equal(fitted.feature_names_in_, NAMES)
    model = NCutH(2).fit(in_files(blobs[0], tmp_path))
    assert_array_equal(model.feature_names_in_, NAMES)
    assert model.n_features_in_ == 3
    assert not hasattr(model.fit(in_array(blobs[0])), "feature_names_in_")


def test_frame_with_other_columns_is_an_error(fitted, blobs):
    other = in_frame(blobs[0]).rename(columns={"width": "breadth"})
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(other).compute()


def test_empty_partitions_are_ignored(blobs, large, tmp_path):
    expected = NCutH(4).fit(in_array(blobs[0]))
    holes = da.from_array(blobs[0], chunks=((0, 1000, 0, 1400, 0), (3,)))
    model = NCutH(4).fit(holes)
    assert model.tree_ == expected.tree_
    assert_array_equal(model.predict(holes).compute(), model.predict(blobs[0]))
    assert_array_equal(model.transform(holes).compute(), model.transform(blobs[0]))
    frame = in_frame(blobs[0])
    short = frame.map_partitions(lambda rows: rows[rows.index >= 1500], meta=frame._meta)
    of_frame = NCutH(4).fit(short)
    assert of_frame.tree_ == NCutH(4).fit(in_array(blobs[0][1400:])).tree_
    assert_array_equal(of_frame.labels_.compute(), of_frame.predict(pd.DataFrame(blobs[0][1400:], columns=NAMES)))
    assert of_frame.transform(short).compute().shape == (1000, 3)
    dataset.write_dataset(table_of(blobs[0][:0]), tmp_path / "empty", format="parquet")
    assert NCutH(4).fit(in_files(blobs[0], tmp_path)).tree_ == expected.tree_


@pytest.mark.parametrize("model", [NCutH(4), MDH(4), PDDP(4), PDDP(4, split="mean")], ids=str)
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_weights_count_as_copies(model, kind, blobs, large, rng):
    X = blobs[0][:1200]
    weights = rng.integers(0, 4, size=len(X)).astype(float)
    copies = clone(model).fit(in_array(np.repeat(X, weights.astype(int), axis=0)))
    if kind == "array":
        found = clone(model).fit(in_array(X), sample_weight=da.from_array(weights, chunks=500))
    else:
        frame = in_frame(X)
        of_rows = dd.from_pandas(pd.Series(weights, index=frame.compute().index), npartitions=frame.npartitions)
        found = clone(model).fit(frame, sample_weight=of_rows)
    assert_array_equal(found.tree_.predict(X), copies.tree_.predict(X))
    assert_allclose(found.tree_.count, copies.tree_.count)
    assert_allclose(found.tree_.mean, copies.tree_.mean, rtol=1e-6)


@pytest.mark.parametrize("model", [NCutH(4, margin=True), MDH(4, margin=True)], ids=str)
def test_margin_needs_rows_in_memory(model, blobs):
    with pytest.raises(ValueError, match="margin=True needs the rows in memory"):
        clone(model).fit(in_array(blobs[0]))


def test_starts_that_are_a_function_need_rows_in_memory(blobs):
    with pytest.raises(ValueError, match="init is a function of all rows"):
        NCutH(4, init=lambda X: X[0]).fit(in_array(blobs[0]))


def test_starts_can_be_given(blobs, large):
    model = NCutH(4, init=np.eye(3)).fit(in_array(blobs[0]))
    assert not large
    assert adjusted_rand_score(model.labels_.compute(), blobs[1]) == 1
    with pytest.raises(ValueError, match="init gives directions of shape"):
        NCutH(4, init=np.eye(2)).fit(in_array(blobs[0]))


def test_spectral_pursuit_needs_rows_in_memory(blobs):
    with pytest.raises(ValueError, match="SpectralPursuit needs its rows in memory"):
        SpectralPursuit(4).fit(in_array(blobs[0]))


@pytest.mark.parametrize("make", [lambda X: da.from_array(X[:, 0]), lambda X: in_frame(X)["width"]])
def test_one_column_without_a_second_dimension_is_an_error(make, blobs):
    with pytest.raises(ValueError, match="X has 1 dimension: rows and columns are needed"):
        NCutH(2).fit(make(blobs[0]))


def test_weights_of_files_are_an_error(blobs, tmp_path):
    with pytest.raises(ValueError, match="sample_weight is not supported for a dataset of files"):
        NCutH(2).fit(in_files(blobs[0], tmp_path), sample_weight=np.ones(2400))


@pytest.mark.parametrize(
    ("chunks", "message"),
    [(800, "sample_weight has 3 partitions and X 5"), (((400, 600, 500, 500, 400),), "part 0 has weights")],
)
def test_weights_in_other_partitions_are_an_error(chunks, message, blobs):
    with pytest.raises(ValueError, match=message):
        NCutH(2).fit(in_array(blobs[0]), sample_weight=da.from_array(np.ones(2400), chunks=chunks))


def test_more_clusters_than_rows_are_an_error(blobs):
    with pytest.raises(ValueError, match="n_samples=9 is fewer than n_clusters=10"):
        NCutH(10).fit(in_array(blobs[0][:9], 4))


def test_too_few_clusters_are_reported():
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 clusters asked for"):
        NCutH(2).fit(da.ones((50, 2), chunks=(20, 2)))


def test_column_of_strings_in_files_is_an_error_that_names_it(blobs):
    table = table_of(blobs[0]).append_column("name", pa.array(["a"] * 2400))
    with pytest.raises(ValueError, match="column 'name' of the dataset holds string, not numbers"):
        NCutH(2).fit(dataset.dataset(table))


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_error_names_the_partition_with_nan(entry, blobs):
    X = blobs[0].copy()
    X[1600, 1] = entry
    with pytest.raises(ValueError, match="part 3 has NaN or infinity"):
        MDH(2).fit(in_array(X))


def test_missing_numbers_in_files_are_an_error(blobs):
    table = table_of(blobs[0]).set_column(1, "width", pa.array([None, *blobs[0][1:, 1]]))
    with pytest.raises(ValueError, match="part 0 has NaN or infinity"):
        NCutH(2).fit(dataset.dataset(table))


def test_integers_and_booleans_in_files_are_numbers(rng):
    on = rng.integers(0, 2, size=300).astype(bool)
    table = pa.table({"count": np.where(on, 90, 0) + rng.integers(0, 5, size=300), "on": on})
    labels = NCutH(2).fit(dataset.dataset(table)).predict(dataset.dataset(table))
    assert adjusted_rand_score(labels, on) == 1


class Recorder:
    """Counts cuts, and wants to stop at so many."""

    max_propagation_depth = None

    def __init__(self, stop_at=None):
        self.n_cuts, self.stop_at = 0, stop_at

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.n_cuts += context.task_name == "cut"
        return self.n_cuts == self.stop_at


@pytest.mark.parametrize("model", [NCutH(4), PDDP(4)], ids=str)
def test_callbacks_hear_of_every_cut_and_can_stop_the_growth(model, blobs, large, capsys):
    seen, impatient = Recorder(), Recorder(stop_at=2)
    clone(model).set_callbacks(seen, ProgressBar()).fit(in_array(blobs[0]))
    assert seen.n_cuts == 3
    assert type(model).__name__ in capsys.readouterr().out
    with pytest.warns(ConvergenceWarning, match="found 3 of the 4 clusters asked for.*a callback stopped the fit"):
        stopped = clone(model).set_callbacks(impatient).fit(in_array(blobs[0]))
    assert stopped.n_clusters_ == 3


def test_model_of_files_is_saved_and_loaded(blobs, tmp_path):
    X = in_files(blobs[0], tmp_path / "rows")
    model = NCutH(4).fit(X)
    persist.save(model, tmp_path / "model.ravine")
    same = persist.load(tmp_path / "model.ravine")
    assert same.tree_ == model.tree_
    assert_array_equal(same.feature_names_in_, NAMES)
    assert_array_equal(same.predict(X), model.predict(X))


def test_model_of_a_dask_array_is_saved_without_labels(blobs, tmp_path):
    model = NCutH(4).fit(in_array(blobs[0]))
    persist.save(model, tmp_path / "model.ravine", resume=False)
    same = persist.load(tmp_path / "model.ravine")
    assert same.tree_ == model.tree_
    assert_array_equal(same.predict(in_array(blobs[0])).compute(), model.labels_.compute())


def test_coarser_models_have_lazy_labels(blobs):
    model = NCutH(4).fit(in_array(blobs[0]))
    coarser = model.cut_to(2)
    assert_array_equal(np.asarray(coarser.labels_), coarser.predict(blobs[0]))


def test_rows_in_memory_are_no_parts(blobs):
    for rows in (blobs[0], pd.DataFrame(blobs[0]), blobs[0].tolist()):
        assert not in_parts(rows)


def test_fits_take_dask_collections_by_the_same_call():
    for method in (NCutH.fit, MDH.fit, PDDP.fit):
        assert list(inspect.signature(method).parameters) == ["self", "X", "y", "sample_weight"]
