import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine._matrix import moments_of
from ravine.cuts._pursuit import make_starts
from ravine.datasets import make_blobs
from ravine.tree import _sampled, _scout
from ravine.tree._imdh import IMDHTree, Settings
from ravine.tree._prune import sum_sq_path, vote_elbow
from ravine.tree._sampled import StreamSample, elbow_leaves, grow_confirmed, grow_to_elbow, grow_to_number

X, y = make_blobs(600, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 5]], random_state=1)


@pytest.fixture(scope="module")
def sample():
    online = IMDHTree(3, 3, Settings(warm_up=100))
    online.learn(X, np.ones(600), 1)
    return StreamSample(X, np.ones(600), online)


def accept(cut, n_not_accepted):
    return cut.p_value <= 0.05


def same_side(cut, rows, other):
    left = rows @ cut.normal < cut.offset
    return (left == other).all() or (left != other).all()


def test_number_of_clusters_that_is_given_is_found(sample):
    for n_clusters in (1, 2, 3, 7):
        assert grow_to_number(sample, n_clusters, 1.0).n_clusters == n_clusters


def test_confirmed_cuts_are_those_between_the_blobs(sample):
    tree = grow_confirmed(sample, 0.05, 2.0, 0, accept, 2)
    assert tree.n_clusters == 3
    assert (tree.p_value[tree.cuts] <= 0.05).all()
    for leaf in range(3):
        assert len(np.unique(y[tree.predict(X) == leaf])) == 1


def test_no_cut_is_confirmed_in_rows_without_a_valley(rng):
    rows = rng.normal(size=(300, 2))
    online = IMDHTree(2, 2, Settings())
    online.learn(rows, np.ones(300), 1)
    assert grow_confirmed(StreamSample(rows, np.ones(300), online), 0.05, 2.0, 0, accept, 2).n_clusters == 1


def test_tree_at_the_elbow_has_the_sums_of_squares_of_the_larger_tree(sample, monkeypatch):
    monkeypatch.setattr(_sampled, "ELBOW_LEAVES", 8)
    tree, path = grow_to_elbow(sample, 5)
    assert len(path) == 8
    assert tree.n_clusters == vote_elbow(path)
    assert_allclose(sum_sq_path(tree), path[: tree.n_clusters])


def test_rows_of_weight_zero_are_left_out(sample):
    weights = np.where(y == 2, 0.0, 1.0)
    without = StreamSample(X[y < 2], np.ones((y < 2).sum()), sample.online)
    assert grow_to_number(StreamSample(X, weights, sample.online), 2, 1.0) == grow_to_number(without, 2, 1.0)


def test_cut_of_the_stream_is_one_of_the_starts(sample, monkeypatch):
    starts_seen = []

    def record(X, weights, moments, *, starts, **options):
        starts_seen.append(starts(X, weights, moments))

    monkeypatch.setattr(_scout, "minimum_density_cut", record)
    moments = moments_of(X, np.ones(600))
    sample.refined_cut(X, np.ones(600), moments)
    components = make_starts(_sampled.N_COMPONENTS)(X, np.ones(600), moments)
    assert_allclose(np.abs(starts_seen[0][:2]), np.abs(components), atol=1e-4)
    proposal = sample.online.normal_for(X, np.ones(600))
    assert proposal is None or (starts_seen[0][2] == proposal).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_largest_entry_of_a_normal_is_positive(sign):
    rows = sign * X[y < 2]
    weights = np.ones(len(rows))
    cut = _scout.density_cut(rows, weights, moments_of(rows, weights), make_starts(2))
    assert cut.normal[np.abs(cut.normal).argmax()] > 0
    assert same_side(cut, rows, y[y < 2] == 0)


def test_small_data_has_a_small_tree_for_the_elbow():
    assert [elbow_leaves(n) for n in (1, 2, 20, 100, 640, 10_000)] == [1, 2, 3, 10, 64, 64]
