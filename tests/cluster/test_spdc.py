import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import ravine
from ravine import SPDC
from ravine.datasets import make_blobs


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(3000, centers=[[0, 0, 0], [14, 0, 0], [0, 14, 0], [0, 0, 14]], random_state=2)


def arrays_of(model):
    return {name: value for name, value in model._stream.state().items() if isinstance(value, np.ndarray)}


def test_blobs_are_told_apart(blobs):
    X, y = blobs
    model = SPDC().fit(X)
    assert 4 <= model.n_clusters_ <= 8
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.n_events_["split"] >= 3


@pytest.mark.parametrize("size", [1, 7, 500])
def test_batches_change_no_bit(blobs, size):
    X = blobs[0][:600]
    whole, parts = SPDC().partial_fit(X), SPDC()
    for start in range(0, len(X), size):
        parts.partial_fit(X[start : start + size])
    ours = arrays_of(parts)
    for name, value in arrays_of(whole).items():
        assert_array_equal(value, ours[name], err_msg=name)
    assert whole.split_events_ == parts.split_events_


def test_cuts_follow_their_rows(blobs):
    X = blobs[0]
    model = SPDC().partial_fit(X[:1000])
    before = model.tree_
    after = model.partial_fit(X[1000:1010]).tree_
    assert not np.array_equal(before.normal[0], after.normal[0])
    assert_allclose(before.normal[0], after.normal[0], atol=0.05)


def test_cut_is_withdrawn_when_its_density_has_one_mode(rng):
    two = np.concatenate([rng.normal(-6, 1, 300), rng.normal(6, 1, 300)])
    model = SPDC().partial_fit(rng.permutation(two)[:, np.newaxis])
    assert model.n_clusters_ > 1
    n_before, told = model.n_events_["withdrawal"], []
    model.set_params(on_event=told.append).partial_fit(rng.normal(0, 5, 20_000)[:, np.newaxis])
    assert model.n_events_["withdrawal"] > n_before
    assert not model.drift_events_
    assert [event for event in told if event["kind"] == "withdrawal"] == model.withdrawal_events_[n_before:]


def test_saved_model_goes_on_as_if_never_interrupted(blobs, tmp_path):
    X = blobs[0]
    whole = SPDC().partial_fit(X[:900]).partial_fit(X[900:])
    ravine.save(SPDC().partial_fit(X[:900]), tmp_path / "m.ravine")
    again = ravine.load(tmp_path / "m.ravine").partial_fit(X[900:])
    assert whole.tree_ == again.tree_
    assert_array_equal(whole.cluster_ids_, again.cluster_ids_)
