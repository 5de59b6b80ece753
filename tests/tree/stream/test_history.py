from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from ravine import StreamClusterer, load, save
from ravine._schema import FieldError
from ravine.datasets import make_blobs
from ravine.tree._stream import _history
from ravine.tree._stream._history import FIRST_WIDTH, MOST_BINS, MOST_OLD, OTHERS, History

CENTERS = [[0, 0, 0], [12, 0, 0], [0, 12, 5]]


def changing():
    """Three clusters; one of them is gone for a long time, and another one moves when it is back."""
    X, y = make_blobs(9000, centers=CENTERS, random_state=1)
    row = np.arange(9000)
    X[(row > 5000) & (y == 1)] += [6, 0, 0]
    return X[~((row > 1500) & (row < 3000) & (y == 2))]


def in_batches(X, size, **options):
    model = StreamClusterer(**options)
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


def assert_same_history(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert_array_equal(a[name], b[name])


def counted(clusters, width):
    """The slow way: the number of each cluster in each bin, one by one."""
    ids = sorted(set(clusters))
    bins = range(0, len(clusters), width)
    counts = [[clusters[start : start + width].count(cluster) for cluster in ids] for start in bins]
    return ids, np.array(counts)


def followed(clusters):
    history = History()
    for cluster in clusters:
        history.add(np.array([cluster]), np.array([1.0]))
    return history


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 32_767, 32_768, 32_769, 70_000])
def test_rows_are_counted_in_bins_whose_width_doubles(n_rows):
    clusters = np.random.default_rng(0).integers(4, size=n_rows).tolist()
    table = followed(clusters).table()
    width = FIRST_WIDTH * 2 ** int(np.log2(max(n_rows / (MOST_BINS * FIRST_WIDTH), 0.5)) + 1)
    ids, counts = counted(clusters, width)
    assert_array_equal(table["cluster_ids"], ids)
    assert_array_equal(table["counts"], counts)
    assert_array_equal(table["start"], np.arange(0, n_rows, width))
    assert_array_equal(table["stop"], [*table["start"][1:], n_rows])
    assert len(table["start"]) <= MOST_BINS


def test_renamed_cluster_counts_for_the_other_one():
    history = followed([0, 1, 2, 2, 1])
    history.rename(2, 1)
    history.rename(7, 1)
    history.rename(0, 5)
    assert_array_equal(history.table()["cluster_ids"], [1, 5])
    assert_array_equal(history.table()["counts"], [[4, 1]])


def test_small_clusters_that_are_gone_are_summed_up(monkeypatch):
    monkeypatch.setattr(_history, "MOST_OLD", 2)
    history = followed([0, 1, 1, 2, 3, 3, 3, 4, 5, 5])
    history.sum_up(np.array([0, 4]))
    assert_array_equal(history.table()["cluster_ids"], [OTHERS, 0, 3, 4, 5])
    assert_array_equal(history.table()["counts"], [[3, 1, 3, 1, 2]])
    history.sum_up(np.array([4, 5]))
    assert_array_equal(history.table()["cluster_ids"], [OTHERS, 0, 3, 4, 5])
    history.sum_up(np.array([4]))
    assert_array_equal(history.table()["cluster_ids"], [OTHERS, 3, 4, 5])


def test_number_of_clusters_in_a_history_is_bounded():
    history = History()
    for cluster in range(3000):
        history.add(np.array([cluster]), np.array([1.0]))
        history.sum_up(np.array([cluster]))
    table = history.table()
    assert len(table["cluster_ids"]) == MOST_OLD + 2
    assert table["counts"].sum() == 3000
    assert table["cluster_ids"][-1] == 2999


def test_row_counts_for_the_cluster_to_which_it_was_assigned_when_it_came():
    X = make_blobs(700, centers=CENTERS, random_state=1)[0]
    model, clusters = StreamClusterer().partial_fit(X[:1]), [0]
    for row in X[1:]:
        clusters.append(int(model.cluster_ids_[model.predict([row])][0]))
        model.partial_fit([row])
    ids, counts = counted(clusters, FIRST_WIDTH)
    assert model.n_clusters_ == 3
    assert_array_equal(model.history_["cluster_ids"], ids)
    assert_array_equal(model.history_["counts"], counts)


def test_history_does_not_depend_on_the_batches():
    X = changing()
    model = in_batches(X, len(X))
    assert_array_equal(model.history_["counts"].sum(axis=1), model.history_["stop"] - model.history_["start"])
    for size in (1, 700, 1024):
        assert_same_history(in_batches(X, size).history_, model.history_)


def test_cluster_that_moved_keeps_its_rows_and_the_identifier_that_it_had_meanwhile_is_not_listed():
    X, y = make_blobs(8000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X[4000:] += 5 * (y[4000:, np.newaxis] == 0)
    model = StreamClusterer().fit(X)
    (moved,) = (event["clusters"][0] for event in model.events_ if event["kind"] == "moved")
    assert model._stream.registry.n_ids > model.history_["cluster_ids"].max() + 1
    after = model.history_["start"] >= 4300
    shares = model.history_["counts"][after][:, model.history_["cluster_ids"] == moved].sum() / 3700
    assert abs(shares - (y[4300:] == 0).mean()) < 0.02


def test_saved_history_continues(tmp_path):
    X = changing()
    whole, half = StreamClusterer().fit(X), StreamClusterer().fit(X[:4000])
    save(half, tmp_path / "half.ravine", resume=True)
    assert_same_history(load(tmp_path / "half.ravine").history_, half.history_)
    assert_same_history(load(tmp_path / "half.ravine").partial_fit(X[4000:]).history_, whole.history_)


def test_invalid_saved_history_is_refused():
    model = StreamClusterer(window_size=64).fit(changing())
    state, sizes = model._state(resume=True), model._sizes()

    def refused(match, **changes):
        broken = deepcopy(state)
        broken["stream"]["history"].update(changes)
        with pytest.raises(FieldError, match=match):
            model._schema.checked(broken, sizes)

    ids, counts = (state["stream"]["history"][name] for name in ("id", "counts"))
    refused("'stream.history.id' is not in ascending order", id=np.zeros_like(ids))
    refused("'stream.history.id' has an entry that is not the identifier", id=ids + 1000)
    refused("'stream.history.width' must be 64 after", width=32)
    refused("'stream.history.counts' do not add up", counts=counts[:-1])
    refused("'stream.history.counts' do not add up", counts=counts[::-1])
    refused("'stream.history.counts' has an entry with more rows", counts=counts + 100)


def test_model_without_a_stream_has_no_history(tmp_path):
    with pytest.raises(NotFittedError):
        StreamClusterer().history_  # noqa: B018
    save(StreamClusterer().fit(changing()[:100]), tmp_path / "model.ravine", resume=False)
    with pytest.raises(AttributeError, match="saved without its stream: save it with resume=True"):
        load(tmp_path / "model.ravine").history_  # noqa: B018


def test_history_is_a_copy():
    model = StreamClusterer().fit(changing()[:100])
    model.history_["counts"][:] = 0
    assert model.history_["counts"].sum() == 100
