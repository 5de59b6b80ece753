import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import ravine
from ravine import HSDC

each = pytest.mark.parametrize("model", [HSDC(), HSDC(inherit=True), HSDC(n_intervals=20)], ids=repr)


def centers_on_a_circle():
    angle = 2 * np.pi * np.arange(5) / 5 + 0.3
    return np.c_[10 * np.cos(angle), 10 * np.sin(angle), np.zeros(5)]


def rows_about(rng, centers, n, first=0):
    y = rng.integers(first, len(centers), n)
    return centers[y] + 0.7 * rng.normal(size=(n, centers.shape[1])), y


def streamed(model, X, sizes):
    model, start, i = clone(model), 0, 0
    while start < len(X):
        stop = start + sizes[i % len(sizes)]
        model.partial_fit(X[start:stop])
        start, i = stop, i + 1
    return model


def assert_same_stream(ours, theirs):
    ours, theirs = ours._stream.state(), theirs._stream.state()
    for name, value in ours.items():
        assert_array_equal(value, theirs[name], err_msg=name)


@pytest.fixture(scope="module")
def drifting():
    """Rows of five blobs; after 1,500 rows the first of them lies where the root cuts."""
    rng, centers = np.random.default_rng(7), centers_on_a_circle()
    X, y = rows_about(rng, centers, 1500)
    root = HSDC().fit(X).tree_
    moved = centers.copy()
    moved[0] = centers.mean(axis=0)
    moved[0] += (root.offset[0] - moved[0] @ root.normal[0]) * root.normal[0]
    later, z = rows_about(rng, moved, 1500)
    return np.concatenate([X, later]), np.concatenate([y, z])


@each
def test_stream_is_the_same_in_any_batches(model, drifting):
    X, _ = drifting
    whole = clone(model).fit(X)
    for sizes in ([1], [17, 250, 1], [1000]):
        parts = streamed(model, X, sizes)
        assert_same_stream(parts, whole)
        assert parts.events_ == whole.events_
        assert parts.tree_ == whole.tree_
        assert parts.n_samples_seen_ == 3000


@each
def test_blobs_are_found(model, drifting):
    X, y = drifting
    fitted = clone(model).fit(X[:1500])
    assert adjusted_rand_score(fitted.predict(X[:1500]), y[:1500]) > 0.9
    assert fitted.n_clusters_ >= 5
    assert not fitted.drift_events_


@each
def test_blob_moved_onto_the_first_cut_is_seen_at_that_cut(model, drifting):
    X, y = drifting
    fitted = clone(model).fit(X)
    drifts = fitted.drift_events_
    assert drifts
    assert 1500 <= drifts[0]["row"] < 2500
    if model.n_intervals == 100 and not model.inherit:
        assert drifts[0]["node"] == 0
    assert adjusted_rand_score(fitted.labels_[2500:], y[2500:]) > 0.8
    for event in drifts:
        assert event["statistic"] > event["limit"] >= 1
        assert 0 < event["p0"] < 1
        assert 0 < event["p1"] < 1
        assert event["region"] > 0


def test_clusters_away_from_a_drift_keep_their_ids(rng):
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [200.0, 0.0], [206.0, 0.0]])
    X, _ = rows_about(rng, centers, 3000)
    model = HSDC().fit(X)
    assert model.n_clusters_ >= 4
    old = dict(zip(model.predict(centers).tolist(), range(4), strict=True))
    assert len(old) == 4
    ids = model.cluster_ids_[model.predict(centers)]
    assert_array_equal(model.partial_fit(rows_about(rng, centers, 2000)[0]).cluster_ids_[model.predict(centers)], ids)
    moved = centers.copy()
    tree = model.tree_
    node = next(n for n in tree.cuts if n and (np.diff(centers[:2] @ tree.normal[n] < tree.offset[n])).any())
    moved[1, 0] = tree.offset[node] / tree.normal[node, 0]  # onto the cut between the first two
    model.partial_fit(rows_about(rng, moved, 1000)[0])
    removed = [e for e in model.drift_events_ + model.withdrawal_events_ if e["row"] >= 5000]
    assert removed
    assert removed[0]["kind"] == "drift"
    assert set(ids[:2]) <= set(removed[0]["clusters"])
    assert removed[0]["node"] != 0
    assert_array_equal(model.cluster_ids_[model.predict(centers)][2:], ids[2:])
    assert not set(ids[:2]) & set(model.cluster_ids_)


@pytest.mark.parametrize("seed", range(3))
def test_blobs_that_stay_do_not_drift(seed):
    rng = np.random.default_rng(seed)
    model = HSDC().fit(rows_about(rng, centers_on_a_circle(), 5000)[0])
    assert not model.drift_events_


@each
def test_ids_live_as_long_as_their_clusters_and_never_come_back(model, drifting):
    X, _ = drifting
    heard = []
    model = clone(model).set_params(on_event=heard.append)
    ids, ever, n_heard = {0}, {0}, 0
    for start in range(0, 3000, 100):
        model.partial_fit(X[start : start + 100])
        gone, new = set(), set()
        for event in heard[n_heard:]:
            assert start <= event["row"] < start + 100
            if event["kind"] == "split":
                assert not set(event["clusters"]) & ever
                gone |= {event["node"]}
                new |= set(event["clusters"])
            else:
                assert event["node"] in ever
                gone |= set(event["clusters"])
            ever |= new
        now = set(model.cluster_ids_.tolist())
        unnamed = now - ids - new  # what a removed cut leaves has a new number too
        assert len(unnamed) <= sum(event["kind"] != "split" for event in heard[n_heard:])
        assert not unnamed & ever
        assert now == (ids | new | unnamed) - gone
        ids, ever, n_heard = now, ever | now, len(heard)
        assert_array_equal(model.predict(X[start : start + 100]), model.labels_)
    assert len(heard) > 5
    assert [event["row"] for event in heard] == sorted(event["row"] for event in heard)
    assert heard == model.events_
    for kind in ("split", "drift", "withdrawal"):
        of_kind = [event for event in heard if event["kind"] == kind]
        assert getattr(model, f"{kind}_events_") == of_kind
        assert model.n_events_[kind] == len(of_kind)


@each
@pytest.mark.parametrize("at", [1, 40, 700, 1600])
def test_saved_stream_goes_on_as_if_never_interrupted(model, at, drifting, tmp_path):
    X, _ = drifting
    whole, first = clone(model).fit(X), clone(model).fit(X[:at])
    ravine.save(first, tmp_path / "model", resume=True)
    second = ravine.load(tmp_path / "model")
    assert_same_stream(first, second)
    assert second.tree_ == first.tree_
    assert_array_equal(second.cluster_ids_, first.cluster_ids_)
    second.partial_fit(X[at:])
    assert_same_stream(second, whole)
    assert second.events_ == whole.events_
    assert second.tree_ == whole.tree_


def test_model_saved_without_its_stream_predicts_but_does_not_learn(drifting, tmp_path):
    X, _ = drifting
    model = HSDC().fit(X)
    ravine.save(model, tmp_path / "model", resume=False)
    loaded = ravine.load(tmp_path / "model")
    assert_array_equal(loaded.predict(X), model.labels_)
    assert_array_equal(loaded.cluster_ids_, model.cluster_ids_)
    with pytest.raises(ValueError, match="saved without its stream"):
        loaded.partial_fit(X)
    with pytest.raises(AttributeError):
        loaded.labels_  # noqa: B018
    assert loaded.fit(X).tree_ == model.tree_


@each
def test_bad_batch_leaves_the_model_as_it_was(model, drifting):
    X, _ = drifting
    fitted = clone(model).fit(X[:1000])
    before = pickle.dumps(fitted._stream)
    broken = X[1000:].copy()
    broken[-1, 0] = np.nan
    for bad, message in (
        (broken, "NaN"),
        (np.where(np.isnan(broken), np.inf, broken), "infinity"),
        (X[:, :2], "2 features"),
        (X * 1e200, "change the unit"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(bad)
    assert pickle.dumps(fitted._stream) == before
    assert_same_stream(fitted.partial_fit(X[1000:]), clone(model).fit(X))


def test_float32_rows_give_nearly_the_same_tree(drifting):
    X, _ = drifting
    single = HSDC().fit(X[:1500].astype(np.float32))
    double = HSDC().fit(X[:1500].astype(np.float32).astype(np.float64))
    assert single.split_events_ == double.split_events_
    assert_allclose(single.tree_.normal, double.tree_.normal, atol=1e-6)
    assert_array_equal(single.labels_, double.labels_)


def test_place_of_the_origin_does_not_matter(drifting):
    X = np.round(drifting[0] * 1024) / 1024
    near, far = HSDC().fit(X), HSDC().fit(X + 2.0**15)
    assert [event["row"] for event in far.events_] == [event["row"] for event in near.events_]
    assert_array_equal(far.labels_, near.labels_)
    assert_allclose(far.tree_.normal, near.tree_.normal, atol=1e-5)


@each
@pytest.mark.parametrize(
    "X",
    [
        np.full((300, 3), 0.1),
        np.zeros((300, 2)),
        np.ones((1, 4)),
        np.arange(6.0).reshape(2, 3),
    ],
    ids=["equal", "zero", "one row", "two rows"],
)
def test_rows_without_clusters_are_one_cluster_with_finite_numbers(model, X):
    fitted = clone(model).fit(X)
    assert fitted.n_clusters_ == 1
    assert_array_equal(fitted.labels_, np.zeros(len(X)))
    assert_array_equal(fitted.cluster_ids_, [0])
    assert fitted.events_ == []
    stream = fitted._stream.state()
    for name in ("mean", "direction", "second", "sample"):
        assert np.isfinite(stream[name]).all()


@each
def test_one_column_constant_columns_and_integers_are_clustered(model, rng):
    y = rng.integers(0, 2, 800)
    column = np.round(100 * y + 10 * rng.normal(size=800)).astype(int)[:, np.newaxis]
    constant = np.full_like(column, 7)
    for X in (column, np.hstack([constant, column, constant]), column.astype(np.int16)):
        fitted = clone(model).fit(X)
        first = fitted.split_events_[0]["row"]
        side = fitted.cut_to(2).predict(X)
        assert first < 150
        assert adjusted_rand_score(side, y) > 0.98
        assert abs(fitted.tree_.normal[0]).max() == pytest.approx(1)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_unit_of_the_rows_does_not_matter(unit, rng):
    X, y = rows_about(rng, np.array([[0.0, 0.0], [200.0, 0.0]]), 500)
    model, scaled = HSDC().fit(X), HSDC().fit(X * unit)
    assert [event["row"] for event in scaled.split_events_] == [event["row"] for event in model.split_events_]
    assert_array_equal(scaled.labels_, model.labels_)
    assert adjusted_rand_score(model.cut_to(2).labels_, y) == 1


@each
def test_two_values_that_come_again_and_again_are_two_clusters(model):
    X = np.tile([[0.0], [1.0]], (100, 1))
    fitted = clone(model).fit(X)
    assert fitted.n_clusters_ == 2
    assert_array_equal(fitted.labels_ == fitted.labels_[0], X[:, 0] == 0)


def test_ids_are_those_of_the_tree_after_the_last_row(drifting):
    X, _ = drifting
    model = HSDC().partial_fit(X[:10])
    assert_array_equal(model.cluster_ids_, [0])
    model.partial_fit(X[10:])
    assert len(model.cluster_ids_) == model.n_clusters_ > 1


def test_far_rows_do_not_break_a_stream(drifting, rng):
    X = drifting[0][:1500].copy()
    X[rng.choice(1500, 5, replace=False)] = 1e6
    model = HSDC().fit(X)
    assert np.isfinite(model.tree_.mean).all()
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_intervals": 3},
        {"significance": 0.5},
        {"smoothing": 1.5},
        {"max_forgetting": 1.0},
        {"min_weight": 0.5},
        {"inner_share": 1.0},
        {"run_lengths": (1.0, 250.0)},
        {"run_lengths": (1e8,)},
        {"run_lengths": (np.nan, 2.0)},
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters, drifting):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        HSDC(**parameters).fit(drifting[0][:10])


def test_fit_forgets_what_was_learned_before(drifting):
    X, _ = drifting
    again = HSDC().fit(X[1500:]).fit(X[:1500])
    assert_same_stream(again, HSDC().fit(X[:1500]))


def test_coarser_model_goes_on_by_itself(drifting):
    X, _ = drifting
    model = HSDC().fit(X[:1500])
    ids, coarse = set(model.cluster_ids_), model.cut_to(2)
    assert coarse.n_clusters_ == 2
    assert_array_equal(np.unique(coarse.labels_), [0, 1])
    assert set(coarse.cluster_ids_) == set(model.split_events_[0]["clusters"])
    coarse.partial_fit(X[1500:])
    assert set(model.cluster_ids_) == ids
    assert model.n_samples_seen_ == 1500
    assert_same_stream(coarse, HSDC().fit(X))


def test_sparse_rows_are_refused_in_words(rng):
    with pytest.raises(TypeError, match="dense data is required"):
        HSDC().partial_fit(sparse.csr_array(rng.normal(size=(20, 3))))
