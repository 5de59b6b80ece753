"""StreamClusterer on small clear streams: what it reports, and what its results do not depend on."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from tests.tree.stream.streams import appearing, centers_of, eventful, rows_about, stream

import ravine
from ravine import StreamClusterer
from ravine.tree._stream import KINDS, state_of
from ravine.tree._stream._nodes import ROOM
from ravine.tree._stream._registry import MOST_FORMER


def streamed(model, X, sizes):
    model, start, i = clone(model), 0, 0
    while start < len(X):
        stop = start + sizes[i % len(sizes)]
        model.partial_fit(X[start:stop])
        start, i = stop, i + 1
    return model


def assert_same_stream(ours, theirs):
    def compare(a, b):
        for name, value in a.items():
            if isinstance(value, dict):
                compare(value, b[name])
            else:
                assert_array_equal(value, b[name], err_msg=name)

    compare(state_of(ours._stream), state_of(theirs._stream))


def same_partition(a, b):
    return len(np.unique(a)) == len(np.unique(b)) == len(np.unique(np.c_[a, b], axis=0))


def ids_at(model, points):
    """Identifiers of the clusters in which some points lie."""
    return model.cluster_ids_[model.predict(np.atleast_2d(points))].tolist()


# Independence of batches


@pytest.mark.parametrize("model", [StreamClusterer(), StreamClusterer(window_size=64, run_length=1e4)], ids=repr)
def test_batches_do_not_matter(model, rng):
    X = eventful(1)
    whole = clone(model).fit(X)
    for sizes in ([1], rng.integers(1, 300, size=50), [1000]):
        parts = streamed(model, X, sizes)
        assert_same_stream(parts, whole)
        assert parts.tree_ == whole.tree_
        assert parts.events_ == whole.events_
        assert_array_equal(parts.cluster_ids_, whole.cluster_ids_)
        assert parts.n_samples_seen_ == len(X)
    assert len(whole.events_) > 3


def test_events_are_heard_when_they_happen_and_are_all_in_events():
    X, heard, model = eventful(2), [], StreamClusterer()
    model.set_params(on_event=heard.append)
    for start in range(0, len(X), 100):
        n_before = len(heard)
        model.partial_fit(X[start : start + 100])
        assert all(start <= event["row"] < start + 100 for event in heard[n_before:])
    assert heard == model.events_
    assert len(heard) > 3
    assert model.n_events_ == {kind: sum(event["kind"] == kind for event in heard) for kind in KINDS}
    assert [event["number"] for event in heard] == list(range(len(heard)))


def test_predict_of_training_rows_equals_labels():
    X, model = eventful(3), StreamClusterer()
    for start in range(0, len(X), 250):
        batch = X[start : start + 250]
        assert_array_equal(model.partial_fit(batch).labels_, model.predict(batch))
        assert len(model.cluster_ids_) == model.n_clusters_
        assert len(set(model.cluster_ids_.tolist())) == model.n_clusters_
    whole = StreamClusterer().fit(X)
    assert_array_equal(whole.predict(X), whole.labels_)
    assert set(whole.labels_) <= set(range(whole.n_clusters_))


# What is reported


def changed(n_features, seed, before, *after):
    """A model that has learned 2,000 rows, and one that learns further rows; the events of these."""
    X = stream(n_features, seed, (2000, before), *after)
    old, model = StreamClusterer().fit(X[:2000]), StreamClusterer().fit(X[:2000])
    assert old.n_clusters_ == len(before)
    n_before = len(old.events_)
    for start in range(2000, len(X), 200):
        model.partial_fit(X[start : start + 200])
    return old, model, model.events_[n_before:]


def assert_soon(event, row=2000):
    assert row < event["row"] < row + 700
    assert abs(event["since"] - row) < 150


@pytest.mark.parametrize(("n_features", "beyond"), [(3, 2), (4, 2), (10, 0)])
def test_new_cluster_is_reported_and_the_others_keep_their_identifiers(n_features, beyond):
    C = centers_of(n_features)
    new = 3 * C[beyond]
    old, model, events = changed(n_features, 0, C[:3], (1200, np.vstack([C[:3], new])))
    (event,) = events
    assert (event["kind"], event["clusters"]) == ("appeared", ids_at(model, new))
    assert_soon(event)
    assert ids_at(model, C[:3]) == ids_at(old, C[:3])
    assert event["clusters"][0] not in old.cluster_ids_


@pytest.mark.parametrize("n_features", [2, 10])
def test_cluster_without_rows_is_reported_and_returns_with_its_identifier(n_features):
    C = centers_of(n_features)
    old, model, events = changed(n_features, 0, C, (1000, C[:3]), (500, C))
    gone = ids_at(old, C[3])
    assert [(event["kind"], event["clusters"]) for event in events] == [("vanished", gone), ("returned", gone)]
    assert_soon(events[0])
    assert 3000 <= events[1]["since"] <= events[1]["row"] < 3200
    assert ids_at(model, C) == ids_at(old, C)


@pytest.mark.parametrize("n_features", [2, 4])
def test_cluster_that_jumps_keeps_its_identifier(n_features):
    C = centers_of(n_features)
    target = 3 * C[3]
    old, model, events = changed(n_features, 0, C[:3], (1200, np.vstack([C[:2], target])))
    assert (events[-1]["kind"], events[-1]["clusters"]) == ("moved", ids_at(old, C[2]))
    assert {event["kind"] for event in events} <= {"vanished", "moved"}
    assert ids_at(model, target) == ids_at(old, C[2])
    assert ids_at(model, C[:2]) == ids_at(old, C[:2])
    assert events[-1]["shift"] > 10


@pytest.mark.parametrize("n_features", [2, 10])
def test_cluster_that_shifts_keeps_its_identifier(n_features):
    C = centers_of(n_features)
    shifted = C[2] * (1 + 5 / np.linalg.norm(C[2]))
    old, model, events = changed(n_features, 0, C[:3], (1200, np.vstack([C[:2], shifted])))
    (event,) = events
    assert (event["kind"], event["clusters"]) == ("moved", ids_at(old, C[2]))
    assert_soon(event)
    assert event["shift"] == pytest.approx(5, rel=0.3)
    assert ids_at(model, np.vstack([C[:2], shifted])) == ids_at(old, C[:3])


def test_clusters_that_become_one_are_reported_and_one_identifier_is_kept():
    C = centers_of(2)
    middle = (C[0] + C[1]) / 2
    old, model, events = changed(2, 0, C[:3], (1200, [middle, middle, C[2]]))
    (event,) = [event for event in events if event["kind"] == "merged"]
    assert sorted(event["clusters"]) == sorted(ids_at(old, C[:2]))
    assert_soon(event)
    assert ids_at(model, middle) == event["clusters"][:1]
    assert ids_at(model, C[2]) == ids_at(old, C[2])
    assert model.n_clusters_ == 2


@pytest.mark.parametrize("n_features", [2, 4, 10])
def test_cluster_that_becomes_two_is_reported_with_the_new_ones(n_features):
    C = centers_of(n_features)
    apart = 8 * np.where(np.arange(n_features) % 2, 1, -1) / np.sqrt(n_features)
    parts = np.vstack([C[2] - apart, C[2] + apart])
    old, model, events = changed(n_features, 0, C[:3], (1200, np.vstack([C[:2], C[:2], parts])))
    (event,) = events
    assert (event["kind"], event["node"]) == ("split", *ids_at(old, C[2]))
    assert sorted(event["clusters"]) == sorted(ids_at(model, parts))
    assert_soon(event)
    assert event["p_value"] < 0.05
    assert ids_at(model, C[:2]) == ids_at(old, C[:2])


@pytest.mark.parametrize("n_features", [2, 10])
def test_change_of_all_clusters_at_once_is_a_drift_and_the_new_ones_are_found(n_features):
    C = centers_of(n_features)
    after = 7 - 2.1 * C
    old, model, events = changed(n_features, 0, C, (1200, after))
    (drift,) = [event for event in events if event["kind"] == "drift"]
    assert set(old.cluster_ids_) <= set(drift["clusters"])
    assert_soon(drift)
    assert len(set(ids_at(model, after))) == 4
    assert not set(ids_at(model, after)) & set(old.cluster_ids_)


def test_growth_is_reported_as_splits_of_the_first_cluster():
    C = centers_of(3)
    model = StreamClusterer().fit(stream(3, 0, (2000, C)))
    assert {event["kind"] for event in model.events_} == {"split"}
    assert model.events_[0]["node"] == 0
    alive = {0}
    for event in model.events_:
        assert event["node"] in alive
        alive = (alive - {event["node"]}) | set(event["clusters"])
    assert alive == set(model.cluster_ids_)


# Streams that do not change

STATIONARY = {
    "four groups": lambda rng: rows_about(rng, centers_of(3), 20_000)[0],
    "many columns": lambda rng: rows_about(rng, centers_of(10), 20_000)[0],
    "one group": lambda rng: rng.normal(size=(20_000, 3)),
    "heavy tails": lambda rng: centers_of(2)[rng.integers(0, 4, 20_000)] * 2 + rng.standard_t(4, size=(20_000, 2)),
    "rare group": lambda rng: 20.0 * (rng.uniform(size=(20_000, 1)) < 0.04) + rng.normal(size=(20_000, 2)),
    "integers": lambda rng: np.round(rows_about(rng, centers_of(2), 20_000)[0]),
}


@pytest.mark.parametrize("kind", STATIONARY)
@pytest.mark.parametrize("seed", [0, 1])
def test_stream_that_does_not_change_has_no_event_after_its_growth(kind, seed):
    X = STATIONARY[kind](np.random.default_rng(seed))
    model = StreamClusterer().fit(X)
    assert [event for event in model.events_ if event["row"] > 10_000] == []
    assert {event["kind"] for event in model.events_} <= {"split"}


def test_groups_are_found_with_chosen_number_of_clusters():
    for n_features in (2, 5, 10):
        X, y = rows_about(np.random.default_rng(n_features), centers_of(n_features), 3000)
        model = StreamClusterer().fit(X)
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(model.labels_, y) > 0.99


def test_memory_does_not_grow_with_the_stream():
    X = stream(3, 0, (20_000, centers_of(3)))
    model = StreamClusterer(window_size=200)

    def n_bytes():
        return sum(value.nbytes for value in vars(model._stream.nodes).values() if isinstance(value, np.ndarray))

    sizes = [(model.partial_fit(X[start : start + 5000]), n_bytes())[1] for start in range(0, 20_000, 5000)]
    assert len(set(sizes)) == 1
    assert sizes[0] < 8 * 200 * 3 * 8 * 4


def test_memory_is_bounded_where_the_stream_never_stops_to_change():
    model, rng = StreamClusterer(window_size=64, max_clusters=6), np.random.default_rng(0)
    for _ in range(60):
        model.partial_fit(rows_about(rng, 20 * rng.normal(size=(4, 3)), 200)[0])
        registry = model._stream.registry
        assert len(model._stream.nodes.rows) <= 16  # rings, which double when they are needed
        assert len(model._stream.nodes.left) <= ROOM
        assert len(registry.former) <= MOST_FORMER
        for table in (registry.births, registry.resting, registry.changed):
            assert len(table) <= model.n_clusters_
    assert registry.n_ids > 6


@pytest.mark.parametrize("most", [1, 2, 3])
def test_number_of_clusters_is_at_most_max_clusters(most):
    X = appearing(0)
    model = StreamClusterer(max_clusters=most)
    for start in range(0, len(X), 100):
        assert model.partial_fit(X[start : start + 100]).n_clusters_ <= most
    assert model.n_clusters_ == most


# What a result does not depend on


def what_happened(model):
    return [(event["kind"], event["row"], event["since"], sorted(event["clusters"])) for event in model.events_]


@pytest.mark.parametrize("scale", [[1e-4, 1.0, 1e5], [2.0**10, 2.0**-5, 1.0]])
def test_units_of_the_columns_do_not_matter(scale):
    X = eventful(0)
    ours, theirs = StreamClusterer().fit(X), StreamClusterer().fit(X * scale + np.array(scale) * [1.0, -20.0, 3.0])
    assert what_happened(ours) == what_happened(theirs)
    assert same_partition(ours.labels_, theirs.labels_)


def test_constant_columns_do_not_matter():
    X, y = rows_about(np.random.default_rng(0), centers_of(3), 2000)
    for value in (0.0, 0.1, 1e6):
        model = StreamClusterer().fit(np.c_[np.full(2000, value), X, np.full(2000, -value)])
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(model.labels_, y) > 0.99
        assert_array_equal(model.tree_.normal[:, [0, 4]], 0)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_equal_rows_are_one_cluster_without_events(value):
    model = StreamClusterer().fit(np.full((3000, 3), value))
    assert model.n_clusters_ == 1
    assert model.events_ == []
    assert_array_equal(model.cluster_ids_, [0])
    assert_allclose(model.tree_.mean, value)


def test_rows_that_come_twice_are_the_same_clusters():
    X, y = rows_about(np.random.default_rng(0), centers_of(3), 1500)
    model = StreamClusterer().fit(np.repeat(X, 2, axis=0))
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_, np.repeat(y, 2)) > 0.99
    assert_array_equal(model.labels_[::2], model.labels_[1::2])


def test_one_column_is_clustered():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=2000)
    X = 10.0 * y[:, np.newaxis] + rng.normal(size=(2000, 1))
    model = StreamClusterer().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, y) > 0.99
    rounded = StreamClusterer().fit(np.round(X).astype(np.int64))
    assert rounded.n_clusters_ == 3


def test_single_precision_gives_the_tree_of_the_same_numbers_in_double():
    X = eventful(0).astype(np.float32)
    single, double = StreamClusterer().fit(X), StreamClusterer().fit(X.astype(np.float64))
    assert what_happened(single) == what_happened(double)
    assert_allclose(single.tree_.normal, double.tree_.normal, atol=1e-6)
    assert_array_equal(single.labels_, double.labels_)


def test_frames_give_names_and_the_same_stream():
    X = eventful(0)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    plain, named = StreamClusterer().fit(X), StreamClusterer()
    for start in range(0, len(X), 400):
        named.partial_fit(frame[start : start + 400])
    assert_array_equal(named.feature_names_in_, ["width", "height", "depth"])
    assert_same_stream(named, plain)
    assert_array_equal(named.predict(frame), plain.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        named.partial_fit(frame[["height", "width", "depth"]])


def test_far_rows_do_not_break_a_stream():
    rng = np.random.default_rng(0)
    X, y = rows_about(rng, centers_of(3), 3000)
    far = rng.choice(3000, size=6, replace=False)
    X[far] = 1e6 * rng.normal(size=(6, 3))
    model = StreamClusterer().fit(X)
    near = np.setdiff1d(np.arange(3000), far)
    assert adjusted_rand_score(model.labels_[near], y[near]) > 0.9
    assert np.isfinite(model.tree_.mean).all()


# Failures, copies and files


def test_error_in_on_event_leaves_the_model_as_it_was():
    X, heard = eventful(0), []

    def fails_once(event):
        heard.append(event)
        if len(heard) == 2:
            raise RuntimeError("no more paper")

    model = StreamClusterer(on_event=fails_once).partial_fit(X[:30])
    before = pickle.dumps(state_of(model._stream))
    with pytest.raises(RuntimeError, match="no more paper"):
        model.partial_fit(X[30:])
    assert pickle.dumps(state_of(model._stream)) == before
    model.partial_fit(X[30:])
    assert_same_stream(model, StreamClusterer().fit(X))
    assert heard[2:] == model.events_


@pytest.mark.parametrize("at", [1, 700, 1100, 2000])
def test_saved_model_goes_on_as_if_never_interrupted(at, tmp_path):
    X = eventful(1)
    first = StreamClusterer().fit(X[:at])
    ravine.save(first, tmp_path / "model", resume=True)
    second = ravine.load(tmp_path / "model")
    assert second.tree_ == first.tree_
    assert_array_equal(second.cluster_ids_, first.cluster_ids_)
    whole = StreamClusterer().fit(X)
    assert_same_stream(second.partial_fit(X[at:]), whole)
    assert second.events_ == whole.events_


def test_coarser_model_goes_on_by_itself():
    X = eventful(0)
    model = StreamClusterer().fit(X[:900])
    ids, coarse = model.cluster_ids_.tolist(), model.cut_to(2)
    assert coarse.n_clusters_ == 2
    coarse.partial_fit(X[900:])
    assert model.cluster_ids_.tolist() == ids
    assert model.n_samples_seen_ == 900
    assert_same_stream(coarse, StreamClusterer().fit(X))


def test_fit_forgets_what_was_learned_before():
    X = eventful(0)
    assert_same_stream(StreamClusterer().fit(X[::-1]).fit(X), StreamClusterer().fit(X))


def test_bad_batch_leaves_the_model_as_it_was():
    X = eventful(0)
    fitted = StreamClusterer().fit(X[:1000])
    before = pickle.dumps(state_of(fitted._stream))
    broken = X[1000:].copy()
    broken[-1, 0] = np.nan
    for bad, message in (
        (broken, "NaN"),
        (X[:, :2], "2 features"),
        (X * 1e200, "change the unit"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.partial_fit(bad)
    assert pickle.dumps(state_of(fitted._stream)) == before
    assert_same_stream(fitted.partial_fit(X[1000:]), StreamClusterer().fit(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"significance": 0.0},
        {"significance": 1.0},
        {"run_length": 10.0},
        {"max_clusters": 0},
        {"window_size": 63},
        {"dependence": 0.5},
        {"dependence": "guess"},
        {"on_event": 3},
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        StreamClusterer(**parameters).fit(np.zeros((10, 2)))


def test_sparse_rows_are_refused_in_words(rng):
    with pytest.raises(TypeError, match="dense data is required"):
        StreamClusterer().partial_fit(sparse.csr_array(rng.normal(size=(20, 3))))
