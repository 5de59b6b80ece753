"""Fits on Dask collections and on datasets of files, beside those on the same rows in memory."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from tests.callbacks import TaskCallback

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, persist
from ravine._outofcore import ChunkedNode, LocalChunks, is_out_of_core
from ravine.cluster import _base
from ravine.cuts import _along, _chunked, _mdh, _ncut, _pursuit
from ravine.datasets import make_blobs
from ravine.tree import _scout

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pa = pytest.importorskip("pyarrow")
dataset = pytest.importorskip("pyarrow.dataset")
pd = pytest.importorskip("pandas")

CENTERS = [[0, 0, 0], [12, 0, 3], [0, 14, -3], [16, 17, 0]]
NAMES = ["height", "width", "depth"]
MODELS = [NCutH(4), MDH(4), PDDP(4, criterion="mean"), PDDP(4), NCutH(), MDH(), PDDP(), PDDP(selection="antimode")]
SAMPLED = [IncrementalMDH(4, sample_size=500), IncrementalMDH(sample_size=500)]
PAPER = IncrementalMDH(4, algorithm="online")

each = pytest.mark.parametrize("model", MODELS, ids=str)
each_sampled = pytest.mark.parametrize("model", SAMPLED, ids=str)
each_kind = pytest.mark.parametrize("kind", ["array", "frame", "files"])


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(2400, centers=CENTERS, random_state=0)
    order = np.random.default_rng(1).permutation(len(X))
    return X[order], y[order]


@pytest.fixture(scope="module")
def known():
    """Labels of the fits on rows in memory that were made."""
    return {}


@pytest.fixture
def in_memory(model, blobs, known):
    """The labels of the fit on rows in memory; to be asked for before `large`."""
    if str(model) not in known:
        known[str(model)] = clone(model).fit(blobs[0]).labels_
    return known[str(model)]


@pytest.fixture(scope="module")
def fitted(blobs):
    return NCutH(4).fit(in_frame(blobs[0]))


@pytest.fixture
def large(monkeypatch):
    """Nodes of a few hundred rows count as large; gives the nodes that were searched or tested out of core."""
    return make_large(monkeypatch)


def make_large(monkeypatch):
    monkeypatch.setattr(_base, "FETCHED_CELLS", 0)
    for module in (_pursuit, _chunked, _mdh, _ncut):
        for name, number in (("COARSE_ABOVE", 300), ("COARSE_ROWS", 200)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(_scout, "TESTED_ROWS", 500)
    nodes = []
    find_directions = _chunked.chunked_directions

    def recorded(node, n_directions):
        nodes.append(node)
        return find_directions(node, n_directions)

    monkeypatch.setattr(_chunked, "chunked_directions", recorded)
    find_cut = _scout.ConfirmedCuts.find_chunked_cut

    def tested(self, node, whole):
        nodes.append(node)
        return find_cut(self, node, whole)

    monkeypatch.setattr(_scout.ConfirmedCuts, "find_chunked_cut", tested)
    return nodes


def whole_numbers(n_rows=3000, seed=0):
    """Rows like readings of sensors: whole numbers, columns that are sums of others, and a few cells far outside."""
    rng = np.random.default_rng(seed)
    level = rng.choice([37, 45, 55, 76], p=[0.1, 0.2, 0.5, 0.2], size=n_rows)
    a, b = level + rng.integers(-2, 3, n_rows), 80 + rng.integers(-4, 25, n_rows)
    c = rng.integers(0, 60, n_rows) * (rng.random(n_rows) < 0.6)
    far = np.where(rng.random(n_rows) < 0.01, rng.integers(-900, 900, n_rows), rng.integers(-1, 2, n_rows))
    others = rng.integers(-1, 2, n_rows), 4 * rng.integers(-3, 4, n_rows)
    X = np.column_stack([a, far, b, c, *others, b - a, b - c, a - c])
    return (X / X.std(axis=0)).astype(np.float32)


def in_array(X, n_rows=500):
    return da.from_array(X, chunks=(n_rows, X.shape[1]))


def in_frame(X, n_chunks=5):
    frame = pd.DataFrame(X, columns=NAMES, index=pd.RangeIndex(100, 100 + len(X), name="key"))
    return dd.from_pandas(frame, npartitions=n_chunks)


def in_files(X, folder, n_files=3):
    for number, rows in enumerate(np.array_split(X, n_files)):
        dataset.write_dataset(table_of(rows), folder / f"{number}", format="parquet")
    return dataset.dataset(folder, format="parquet")


def collection(kind, X, folder):
    return {"array": in_array, "frame": in_frame, "files": lambda X: in_files(X, folder)}[kind](X)


def in_local_chunks(X, weights=None, n_chunks=4):
    rows = np.array_split(X, n_chunks)
    of_rows = [None] * n_chunks if weights is None else np.array_split(weights, n_chunks)
    return LocalChunks(lambda: zip(rows, of_rows, strict=True), X.shape[1])


def table_of(X):
    return pa.table(dict(zip(NAMES, X.T, strict=True)))


def unreadable(X):
    """The same collection, of which no part may be computed."""

    def fail(rows):
        raise AssertionError("computed")

    if hasattr(X, "map_partitions"):
        return X.map_partitions(fail, meta=X._meta)
    return X.map_blocks(fail, dtype=X.dtype, meta=np.empty((0, 0)))


@pytest.mark.parametrize("model", [NCutH(8), MDH(8), NCutH(), MDH(), PDDP()], ids=str)
def test_search_out_of_core_is_that_in_memory_for_large_nodes_too(model, monkeypatch):
    """Large nodes have a start from a column, a sample that is tested and one that is searched, and moved cuts."""
    monkeypatch.setattr(_along, "COARSE_ABOVE", 300)
    nodes, X = make_large(monkeypatch), whole_numbers()
    held = clone(model).fit(X)
    assert not nodes
    found = clone(model).fit(in_local_chunks(X, n_chunks=1))
    assert nodes
    assert held.n_clusters_ > 1
    assert_array_equal(found.tree_.predict(X), held.labels_)
    assert_array_equal(found.tree_.count, held.tree_.count)
    assert_allclose(found.tree_.p_value, held.tree_.p_value, rtol=1e-9)


def test_search_out_of_core_starts_from_a_column_too(monkeypatch, rng):
    y = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 30))
    X[:, 4] += 6.0 * y
    X /= X.std(axis=0)
    make_large(monkeypatch)
    for module in (_pursuit, _chunked):
        monkeypatch.setattr(module, "COARSE_ROWS", 1500)
    for model in (MDH(3), NCutH(3)):
        assert adjusted_rand_score(y, model.fit(in_local_chunks(X)).tree_.predict(X)) > 0.95


@pytest.mark.parametrize(
    ("model", "kind"),
    [*((model, "array") for model in MODELS), *((MODELS[0], kind) for kind in ("frame", "files"))],
    ids=str,
)
def test_partition_is_that_of_rows_in_memory(model, kind, blobs, in_memory, large, tmp_path):
    found = clone(model).fit(collection(kind, blobs[0], tmp_path))
    assert len(large) >= 3
    assert adjusted_rand_score(found.tree_.predict(blobs[0]), in_memory) == 1


@pytest.mark.parametrize("kind", ["array", "files"])
@pytest.mark.parametrize("model", [NCutH(4), MDH()], ids=str)
def test_cells_far_outside_change_no_cut_as_in_memory(model, kind, blobs, large, tmp_path):
    X = blobs[0].copy()
    X[::400, 1] = 1e4
    here = clone(model).fit(X)
    assert here.n_clusters_ == 4
    large.clear()
    found = clone(model).fit(collection(kind, X, tmp_path))
    assert len(large) >= 3
    assert adjusted_rand_score(found.tree_.predict(X), here.labels_) == 1
    assert_array_equal(np.sort(found.tree_.count), np.sort(here.tree_.count))


@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_large_nodes_are_searched_on_all_rows(model, blobs, large, monkeypatch):
    searched = set()
    pull = ChunkedNode.pull
    monkeypatch.setattr(ChunkedNode, "pull", lambda node, *rest: searched.add(node.n_rows) or pull(node, *rest))
    clone(model).fit(in_array(blobs[0]))
    assert 2400 in searched
    assert min(searched) > 300


@pytest.fixture
def asked(monkeypatch):
    """What is asked of chunks."""
    asked = []

    def recorded(name, function):
        def ask(*arguments):
            asked.append(name)
            return function(*arguments)

        return ask

    for name in ("everything", "reduce", "divide"):
        monkeypatch.setattr(LocalChunks, name, recorded(name, getattr(LocalChunks, name)))
    return asked


@pytest.mark.parametrize("model", MODELS[:2], ids=str)
def test_children_are_searched_in_shared_passes(model, blobs, large, asked):
    chunks = in_local_chunks(blobs[0])
    clone(model).fit(chunks)
    assert chunks.n_passes < len(asked)


def test_starts_are_searched_in_shared_passes(blobs, large, asked):
    chunks = in_local_chunks(blobs[0])
    NCutH(2, init=np.eye(3)).fit(chunks)
    assert chunks.n_passes < len(asked)


def test_starts_of_mdh_share_one_sample_as_in_memory(blobs, large, monkeypatch):
    starts, sample = [], ChunkedNode.sample
    monkeypatch.setattr(ChunkedNode, "sample", lambda node, v, *rest: starts.append(v) or sample(node, v, *rest))
    MDH(2, init=np.eye(3)[::-1]).fit(in_local_chunks(blobs[0]))
    assert_array_equal(starts, [[0, 0, 1]])


@pytest.mark.parametrize("model", [*MODELS, *SAMPLED], ids=str)
def test_tree_does_not_depend_on_the_partitions(model, blobs, large, rng):
    X = blobs[0][::2] * [1.0, 0.7, 0.6]
    whole = clone(model).fit(da.from_array(X, chunks=-1))
    labels = whole.labels_.compute()
    order = rng.permutation(len(X))
    places = np.unique(rng.integers(1, len(X), size=6))
    chunks = tuple(np.diff([0, *places, len(X)]).tolist())
    fitted = clone(model).fit(da.from_array(X[order], chunks=(chunks, (3,))))
    assert fitted.tree_ == whole.tree_
    assert_array_equal(fitted.labels_.compute(), labels[order])


def test_arrays_frames_and_files_give_the_same_tree(blobs, large, tmp_path):
    trees = [
        NCutH(4).fit(rows).tree_ for rows in (in_array(blobs[0]), in_frame(blobs[0]), in_files(blobs[0], tmp_path))
    ]
    assert trees[0] == trees[1] == trees[2]


@each
def test_small_nodes_have_the_cuts_of_rows_in_memory(model, blobs):
    ours, theirs = (clone(model).fit(X).tree_ for X in (in_array(blobs[0][:900]), blobs[0][:900]))
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


@pytest.mark.parametrize("model", [NCutH(4), MDH(4), PDDP(4), PDDP(4, criterion="mean")], ids=str)
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


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NCutH(4, margin=True), "margin=True needs in-memory data"),
        (MDH(4, margin=True), "margin=True needs in-memory data"),
        (NCutH(4, init=lambda X: X[0]), "init is a function of all rows"),
        (MDH(4, init=lambda X: X[0]), "init is a function of all rows"),
        (PDDP(criterion="mean"), "criterion='mean' cannot choose n_clusters"),
        (SpectralPursuit(4), "SpectralPursuit needs in-memory data"),
        (PAPER, "algorithm='online' reads the rows in their order: use partial_fit"),
    ],
)
def test_what_cannot_be_done_is_an_error_before_a_part_is_read(model, message, blobs):
    for rows in (in_array(blobs[0]), in_frame(blobs[0])):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(unreadable(rows))


def test_starts_can_be_given(blobs, large):
    model = NCutH(4, init=np.eye(3)).fit(in_array(blobs[0]))
    assert not large
    assert adjusted_rand_score(model.labels_.compute(), blobs[1]) == 1
    with pytest.raises(ValueError, match="init gives directions of shape"):
        NCutH(4, init=np.eye(2)).fit(in_array(blobs[0]))


@pytest.mark.parametrize("make", [lambda X: da.from_array(X[:, 0]), lambda X: in_frame(X)["width"]])
def test_one_column_without_a_second_dimension_is_an_error(make, blobs):
    with pytest.raises(ValueError, match="X has 1 dimension: it needs two, rows and columns"):
        NCutH(2).fit(make(blobs[0]))


def test_weights_of_files_are_an_error(blobs, tmp_path):
    with pytest.raises(ValueError, match="sample_weight is not supported for files or chunks"):
        NCutH(2).fit(in_files(blobs[0], tmp_path), sample_weight=np.ones(2400))


@pytest.mark.parametrize(
    ("chunks", "message"),
    [(800, "sample_weight has 3 partitions and X 5"), (((400, 600, 500, 500, 400),), "chunk 0 has weights")],
)
def test_weights_in_other_partitions_are_an_error(chunks, message, blobs):
    with pytest.raises(ValueError, match=message):
        NCutH(2).fit(in_array(blobs[0]), sample_weight=da.from_array(np.ones(2400), chunks=chunks))


def test_more_clusters_than_rows_are_an_error(blobs):
    with pytest.raises(ValueError, match="n_samples=9 is fewer than n_clusters=10"):
        NCutH(10).fit(in_array(blobs[0][:9], 4))


def test_too_few_clusters_are_reported():
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 requested clusters"):
        NCutH(2).fit(da.ones((50, 2), chunks=(20, 2)))


def test_column_of_strings_in_files_is_an_error_that_names_it(blobs):
    table = table_of(blobs[0]).append_column("name", pa.array(["a"] * 2400))
    with pytest.raises(ValueError, match="column 'name' of the dataset holds string, not numbers"):
        NCutH(2).fit(dataset.dataset(table))


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_error_names_the_partition_with_nan(entry, blobs):
    X = blobs[0].copy()
    X[1600, 1] = entry
    with pytest.raises(ValueError, match="chunk 3 has NaN or infinity"):
        MDH(2).fit(in_array(X))


@pytest.mark.parametrize("model", [NCutH(2), MDH(2), PDDP(2), *SAMPLED], ids=str)
def test_values_whose_squares_vanish_are_an_error(model, blobs):
    with pytest.raises(ValueError, match="its square would vanish"):
        clone(model).fit(in_array(1e-160 * blobs[0]))
    assert_array_equal(clone(model).fit(in_array(1e-120 * blobs[0])).tree_.count[0], 2400)


def test_missing_numbers_in_files_are_an_error(blobs):
    table = table_of(blobs[0]).set_column(1, "width", pa.array([None, *blobs[0][1:, 1]]))
    with pytest.raises(ValueError, match="chunk 0 has NaN or infinity"):
        NCutH(2).fit(dataset.dataset(table))


def test_integers_and_booleans_in_files_are_numbers(rng):
    on = rng.integers(0, 2, size=300).astype(bool)
    table = pa.table({"count": np.where(on, 90, 0) + rng.integers(0, 5, size=300), "on": on})
    labels = NCutH(2).fit(dataset.dataset(table)).predict(dataset.dataset(table))
    assert adjusted_rand_score(labels, on) == 1


@pytest.mark.parametrize("model", [NCutH(4), PDDP(4)], ids=str)
def test_callbacks_hear_of_every_cut_and_can_stop_the_growth(model, blobs, large, capsys):
    seen, impatient = TaskCallback(), TaskCallback(stop_at=2)
    clone(model).set_callbacks(seen, ProgressBar()).fit(in_array(blobs[0]))
    assert seen.n_tasks == 3
    assert type(model).__name__ in capsys.readouterr().out
    with pytest.warns(ConvergenceWarning, match="found 3 of the 4 requested clusters.*a callback stopped the fit"):
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


@pytest.mark.parametrize("model", [MODELS[0], SAMPLED[0]], ids=str)
def test_chunks_can_be_given(model, blobs, in_memory, large):
    chunks = in_local_chunks(blobs[0])
    found = clone(model).fit(chunks)
    assert not hasattr(found, "labels_")
    labels, distances = found.predict(chunks), found.transform(chunks)
    assert adjusted_rand_score(labels, in_memory) == 1
    assert_array_equal(labels, found.predict(blobs[0]))
    assert_array_equal(distances, found.transform(blobs[0]))
    assert found.tree_ == clone(model).fit(in_array(blobs[0])).tree_


def test_rows_in_memory_are_no_chunks(blobs):
    for rows in (blobs[0], pd.DataFrame(blobs[0]), blobs[0].tolist()):
        assert not is_out_of_core(rows)


def test_fits_take_dask_collections_by_the_same_call():
    for method in (NCutH.fit, MDH.fit, PDDP.fit, IncrementalMDH.fit, IncrementalMDH.partial_fit):
        assert list(inspect.signature(method).parameters) == ["self", "X", "y", "sample_weight"]


@each_sampled
@each_kind
def test_sample_of_chunks_gives_the_labels_of_rows_in_memory(model, kind, blobs, in_memory, tmp_path):
    found = clone(model).fit(collection(kind, blobs[0], tmp_path))
    assert_array_equal(found.tree_.predict(blobs[0]), in_memory)
    assert found.selection_ == ("evidence" if model.n_clusters is None else "asked")


def test_sample_of_chunks_has_the_cuts_of_rows_in_memory(blobs):
    ours, theirs = (clone(SAMPLED[0]).fit(X) for X in (in_array(blobs[0]), blobs[0]))
    assert_array_equal(ours._stream.sample()[0], theirs._stream.sample()[0])
    assert_allclose(ours.tree_.normal, theirs.tree_.normal, atol=1e-9)
    assert_allclose(ours.tree_.offset, theirs.tree_.offset, atol=1e-9)


@each_kind
def test_sample_that_holds_all_rows_of_chunks_gives_the_fit_in_memory(kind, blobs, tmp_path):
    X = blobs[0][:600]
    model = IncrementalMDH(sample_size=600)
    ours, theirs = clone(model).fit(collection(kind, X, tmp_path)), clone(model).fit(X)
    for name in ("left", "right", "rank", "normal", "offset", "value", "relative_depth", "p_value", "count"):
        assert_array_equal(getattr(ours.tree_, name), getattr(theirs.tree_, name))
    assert_array_equal(ours.tree_.predict(X), theirs.labels_)


def test_leaves_count_all_rows_of_the_chunks(blobs):
    tree = clone(SAMPLED[0]).fit(in_array(blobs[0])).tree_
    leaf = tree.apply(blobs[0])
    assert_array_equal(tree.count[tree.leaves], [(leaf == node).sum() for node in tree.leaves])
    assert_allclose(tree.mean[tree.leaves], [blobs[0][leaf == node].mean(axis=0) for node in tree.leaves])
    assert tree.count[0] == 2400
    assert_allclose(tree.sum_sq[0], ((blobs[0] - blobs[0].mean(axis=0)) ** 2).sum())


@pytest.mark.parametrize(("sample_size", "n_passes"), [(500, 4), (2399, 4), (2400, 3)])
def test_sample_is_gathered_in_few_passes(sample_size, n_passes, blobs):
    chunks = in_local_chunks(blobs[0])
    model = IncrementalMDH(4, sample_size=sample_size).fit(chunks)
    assert chunks.n_passes == n_passes
    assert model.n_clusters_ == 4


@pytest.mark.parametrize("kind", ["array", "frame", "chunks"])
def test_weights_of_sampled_chunks_are_those_of_rows_in_memory(kind, blobs, rng):
    X, weights = blobs[0], rng.integers(0, 4, size=2400).astype(float)
    model = clone(SAMPLED[0])
    if kind == "array":
        model.fit(in_array(X), sample_weight=da.from_array(weights, chunks=500))
    elif kind == "frame":
        frame = in_frame(X)
        of_rows = dd.from_pandas(pd.Series(weights, index=frame.compute().index), npartitions=frame.npartitions)
        model.fit(frame, sample_weight=of_rows)
    else:
        model.fit(in_local_chunks(X, weights))
    expected = clone(SAMPLED[0]).fit(X, sample_weight=weights)
    assert_array_equal(model.tree_.predict(X), expected.labels_)
    assert_array_equal(model.tree_.count, expected.tree_.count)
    assert_allclose(model.tree_.mean, expected.tree_.mean)


def test_labels_of_sampled_chunks_are_lazy_or_not_kept(blobs, tmp_path):
    model = clone(SAMPLED[0])
    for rows, kind in ((in_array(blobs[0]), da.Array), (in_frame(blobs[0]), dd.Series)):
        assert isinstance(model.fit(rows).labels_, kind)
        assert_array_equal(model.labels_.compute(), model.tree_.predict(blobs[0]))
    assert not hasattr(model.fit(in_files(blobs[0], tmp_path)), "labels_")


def test_sample_of_chunks_can_choose_by_the_elbow(blobs):
    model = IncrementalMDH(selection="elbow", sample_size=500)
    found, expected = clone(model).fit(in_array(blobs[0])), clone(model).fit(blobs[0])
    assert found.selection_ == "elbow"
    assert_allclose(found.elbow_path_, expected.elbow_path_)
    assert_array_equal(found.labels_.compute(), expected.labels_)


def test_model_of_sampled_files_goes_on_learning_once_loaded(blobs, tmp_path):
    model = clone(SAMPLED[0]).fit(in_files(blobs[0], tmp_path / "rows"))
    persist.save(model, tmp_path / "model.ravine")
    same = persist.load(tmp_path / "model.ravine")
    assert same.tree_ == model.tree_
    more = pd.DataFrame(blobs[0][:300], columns=NAMES)
    assert same.partial_fit(more).tree_ == model.partial_fit(more).tree_
    assert model.tree_.count[0] == pytest.approx(2700)


@pytest.fixture(scope="module")
def streamed(blobs):
    """The tree of a stream whose rows come at once."""
    return clone(SAMPLED[0]).partial_fit(blobs[0]).tree_


@each_kind
def test_stream_of_chunks_is_that_of_all_rows(kind, blobs, streamed, tmp_path):
    model = clone(SAMPLED[0]).partial_fit(collection(kind, blobs[0], tmp_path))
    assert model.tree_ == streamed
    if kind == "array":
        assert not hasattr(model, "feature_names_in_")
    else:
        assert_array_equal(model.feature_names_in_, NAMES)


def test_stream_goes_on_over_collections_of_any_kind(blobs, streamed, tmp_path):
    X = blobs[0]
    model = clone(SAMPLED[0]).partial_fit(in_files(X[:900], tmp_path)).partial_fit(in_frame(X[900:1700]))
    model.partial_fit(pd.DataFrame(X[1700:], columns=NAMES))
    assert model.tree_ == streamed
    with pytest.raises(ValueError, match="chunk 0: The feature names should match"):
        model.partial_fit(in_frame(X).rename(columns={"width": "breadth"}))


def test_stream_leaves_out_empty_partitions(blobs, streamed, tmp_path):
    X = blobs[0]
    holes = da.from_array(X, chunks=((0, 1000, 0, 1400, 0), (3,)))
    assert clone(SAMPLED[0]).partial_fit(holes).tree_ == streamed
    chunks = LocalChunks(lambda: ((rows, None) for rows in np.split(X, [0, 700, 700, 1500])), 3)
    assert clone(SAMPLED[0]).partial_fit(chunks).tree_ == streamed
    dataset.write_dataset(table_of(X[:0]), tmp_path / "empty", format="parquet")
    assert clone(SAMPLED[0]).partial_fit(in_files(X, tmp_path)).tree_ == streamed


def test_stream_of_the_paper_takes_chunks(blobs):
    of_chunks, of_rows = (clone(PAPER).partial_fit(X) for X in (in_array(blobs[0]), blobs[0]))
    assert of_chunks.tree_ == of_rows.tree_


def test_stream_of_chunks_takes_weights(blobs, rng):
    X, weights = blobs[0], rng.integers(0, 4, size=2400).astype(float)
    expected = clone(SAMPLED[0]).partial_fit(X, sample_weight=weights).tree_
    lazy = da.from_array(weights, chunks=500)
    assert clone(SAMPLED[0]).partial_fit(in_array(X), sample_weight=lazy).tree_ == expected
    assert clone(SAMPLED[0]).partial_fit(in_local_chunks(X, weights)).tree_ == expected
    with pytest.raises(ValueError, match="sample_weight has 3 partitions and X 5"):
        clone(SAMPLED[0]).partial_fit(in_array(X), sample_weight=da.ones(2400, chunks=800))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: np.where(rows > 0, rows, np.nan), "chunk 2: Input X contains NaN"),
        (lambda rows: 1e160 * rows, "chunk 2: the largest absolute value"),
        (lambda rows: rows[:, :2], "chunk 2: X has 2 features, but IncrementalMDH is expecting 3"),
    ],
    ids=["missing", "large", "narrow"],
)
def test_error_in_a_stream_names_the_part(spoil, message, blobs):
    chunks = [blobs[0][:800], blobs[0][:0], spoil(blobs[0][800:])]
    with pytest.raises(ValueError, match=message):
        clone(SAMPLED[0]).partial_fit(LocalChunks(lambda: ((rows, None) for rows in chunks), 3))


def test_error_in_a_stream_names_the_partition(blobs):
    X = blobs[0].copy()
    X[1600, 1] = np.nan
    for number, rows in ((3, in_array(X)), (4, in_frame(X, n_chunks=6))):
        with pytest.raises(ValueError, match=f"chunk {number}: Input X contains NaN"):
            clone(SAMPLED[0]).partial_fit(rows)


@pytest.mark.parametrize("make", [in_array, in_frame])
@pytest.mark.parametrize("model", [NCutH(4), IncrementalMDH(4)], ids=str)
def test_model_with_lazy_labels_is_saved_without_them(model, make, blobs, tmp_path):
    fitted = clone(model).fit(make(blobs[0]))
    persist.save(fitted, tmp_path / "m.ravine")
    loaded = persist.load(tmp_path / "m.ravine")
    assert not hasattr(loaded, "labels_")
    assert loaded.tree_ == fitted.tree_


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_weights_beside_chunks_are_an_error(method, blobs):
    chunks = LocalChunks(lambda: iter([(blobs[0], None)]), 3)
    for rows in (chunks, dataset.dataset(table_of(blobs[0]))):
        with pytest.raises(ValueError, match="sample_weight is not supported for files or chunks"):
            getattr(IncrementalMDH(4), method)(rows, sample_weight=np.ones(2400))


def test_partial_fit_leaves_out_partitions_without_weight(blobs):
    weights = np.append(np.zeros(1000), np.ones(1400))
    lazy = {"sample_weight": da.from_array(weights, chunks=500)}
    model = IncrementalMDH(4).partial_fit(in_array(blobs[0]), **lazy)
    assert model.tree_ == IncrementalMDH(4).partial_fit(blobs[0], sample_weight=weights).tree_


def test_names_of_chunks_are_kept(blobs):
    chunks = LocalChunks(lambda: ((rows, None) for rows in np.array_split(blobs[0], 3)), 3, NAMES)
    for model in (IncrementalMDH(4).fit(chunks), IncrementalMDH(4).partial_fit(chunks)):
        assert_array_equal(model.feature_names_in_, NAMES)
        assert_array_equal(model.predict(chunks), model.predict(pd.DataFrame(blobs[0], columns=NAMES)))


@each
def test_few_rows_are_fetched_and_fitted_in_memory(model, blobs, in_memory):
    found = clone(model).fit(in_frame(blobs[0]))
    assert isinstance(found.labels_, dd.Series)
    assert_array_equal(found.feature_names_in_, NAMES)
    assert_array_equal(found.labels_.compute(), in_memory)
    chunks = in_local_chunks(blobs[0])
    clone(model).fit(chunks)
    assert chunks.n_passes == 3
