"""Identifiers and labels of the online estimators, which follow a cluster from batch to batch."""

import numpy as np
import pytest
from sklearn.base import clone

from ravine import HSDC, SPDC, IncrementalMDH, SupportVectorClustering, load, save
from ravine.cluster._identity import Identities
from ravine.datasets import make_blobs

CENTERS = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
SUPPORT = SupportVectorClustering(gamma=0.1)  # to choose it takes seconds
ONLINE = [IncrementalMDH(), IncrementalMDH(algorithm="online"), SUPPORT, HSDC(), SPDC()]


def each_online(models=ONLINE):
    return pytest.mark.parametrize("model", models, ids=str)


def batches(n_batches=6, n_rows=400, centers=CENTERS):
    return [make_blobs(n_rows, centers=centers, random_state=seed)[0] for seed in range(n_batches)]


def test_identifiers_are_those_of_the_pairs_that_share_most_rows():
    before = np.repeat([0, 0, 1, 2], [50, 10, 40, 30])
    after = np.repeat([1, 0, 0, 2], [50, 10, 40, 30])
    carried = Identities(np.array([7, 4, 5]), 8).carried_over(before, after, np.ones(130), 3)
    assert carried.ids.tolist() == [4, 7, 5]
    assert carried.next_id == 8


def test_weights_decide_which_part_keeps_the_identifier():
    before, after = np.zeros(3, dtype=int), np.array([0, 0, 1])
    one = Identities.of_new_clusters(1)
    assert one.carried_over(before, after, np.array([1.0, 1.0, 1.0]), 2).ids.tolist() == [0, 1]
    assert one.carried_over(before, after, np.array([1.0, 1.0, 3.0]), 2).ids.tolist() == [1, 0]


def test_a_cluster_that_shares_no_row_gets_a_new_identifier():
    carried = Identities(np.array([3, 6]), 9).carried_over(np.array([0, 0]), np.array([0, 0]), np.ones(2), 2)
    assert carried == Identities(pytest.approx([3, 9]), 10)


def test_an_identifier_is_never_used_again():
    labels = np.array([0, 0, 1, 1])
    two = Identities.of_new_clusters(2)
    one = two.carried_over(labels, np.zeros(4, dtype=int), np.ones(4), 1)
    again = one.carried_over(np.zeros(4, dtype=int), labels, np.ones(4), 2)
    assert one.ids.tolist() == [0]
    assert again.ids.tolist() == [0, 2]


@each_online()
def test_labels_after_partial_fit_are_those_of_the_last_batch(model):
    model = clone(model)
    for batch in batches(3):
        model.partial_fit(batch)
        np.testing.assert_array_equal(model.labels_, model.predict(batch))


@each_online()
def test_each_cluster_has_one_identifier(model):
    model = clone(model)
    for batch in batches():
        ids = model.partial_fit(batch).cluster_ids_
        assert len(ids) == model.n_clusters_ == len(np.unique(ids))


@each_online()
def test_number_of_rows_seen(model):
    model = clone(model)
    for n, batch in enumerate(batches(3), start=1):
        assert model.partial_fit(batch).n_samples_seen_ == 400 * n
    assert model.fit(batches(1)[0]).n_samples_seen_ == 400


@each_online(ONLINE[:-1])  # SPDC removes and relearns cuts of a stationary stream too
def test_clusters_of_a_stationary_stream_keep_their_identifiers(model):
    model, seen = clone(model), []
    for batch in batches(12)[2:]:
        model.partial_fit(batch)
        seen.append(model.cluster_ids_[model.predict(CENTERS)])
    assert len(set(seen[-1])) == 3
    np.testing.assert_array_equal(seen[2:], np.broadcast_to(seen[-1], (8, 3)))


@pytest.mark.parametrize("algorithm", ["polished", "online"])
def test_old_clusters_keep_their_identifiers_when_a_new_one_appears(algorithm):
    model = IncrementalMDH(n_clusters=3, algorithm=algorithm).partial_fit(batches(1)[0])
    before = model.cluster_ids_[model.predict(CENTERS)]
    fourth = np.array([[6.0, 20.0]])
    model.set_params(n_clusters=4).partial_fit(batches(1, 2000, np.vstack([CENTERS, fourth]))[0])
    np.testing.assert_array_equal(model.cluster_ids_[model.predict(CENTERS)], before)
    assert model.cluster_ids_[model.predict(fourth)] == [3]


def test_fit_starts_with_new_identifiers():
    model = IncrementalMDH()
    for batch in batches(3):
        model.partial_fit(batch)
    assert model.fit(batches(1)[0]).cluster_ids_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("grown", [True, False])
@pytest.mark.parametrize("algorithm", ["polished", "online"])
def test_a_loaded_model_goes_on_with_its_identifiers(tmp_path, algorithm, grown):
    first, second, third, *_ = batches()
    model = IncrementalMDH(n_clusters=3, algorithm=algorithm).partial_fit(first)
    assert len(model.cluster_ids_) == 3
    model.partial_fit(second)
    if grown:
        assert model.n_clusters_ == 3
    save(model, tmp_path / "model.ravine", resume=True)
    same = load(tmp_path / "model.ravine")
    for each in (model, same):
        each.set_params(n_clusters=4).partial_fit(third)
    np.testing.assert_array_equal(same.cluster_ids_, model.cluster_ids_)


def test_a_coarser_model_keeps_the_identifier_of_the_larger_part():
    X, _ = make_blobs([300, 200, 100], centers=[[0, 0], [12, 0], [12, 4]], random_state=0)
    model = IncrementalMDH(n_clusters=3).fit(X)
    coarser = model.cut_to(2)
    of_center = dict(zip(model.predict([[0, 0], [12, 0], [12, 4]]), "abc", strict=True))
    named = {identifier: of_center[label] for label, identifier in enumerate(model.cluster_ids_)}
    assert sorted(named[identifier] for identifier in coarser.cluster_ids_) == ["a", "b"]
    assert model.cluster_ids_.tolist() == [0, 1, 2]


def test_labels_of_chunks_learned_one_after_the_other_are_not_kept():
    da = pytest.importorskip("dask.array")
    model = IncrementalMDH().partial_fit(da.from_array(batches(1)[0], chunks=(100, 2)))
    with pytest.raises(AttributeError, match="use predict"):
        model.labels_  # noqa: B018


def test_support_vectors_keep_identifiers_in_files_and_in_coarser_models(tmp_path):
    first, second, third, *_ = batches()
    model = clone(SUPPORT).set_params(n_clusters=3).partial_fit(first)
    assert model.cluster_ids_.tolist() == [0, 1, 2]
    save(model.partial_fit(second), tmp_path / "model.ravine", resume=True)
    same = load(tmp_path / "model.ravine")
    for each in (model, same):
        each.partial_fit(third)
    np.testing.assert_array_equal(same.cluster_ids_, model.cluster_ids_)
    two = model.cut_to(2)
    assert set(two.cluster_ids_) < set(model.cluster_ids_)
    np.testing.assert_array_equal(two.labels_, two.predict(third))


def test_outliers_after_partial_fit_are_those_of_the_last_batch():
    model = clone(SUPPORT)
    for batch in batches(2):
        model.partial_fit(batch)
        np.testing.assert_array_equal(model.outlier_, model.decision_function(batch) < 0)
