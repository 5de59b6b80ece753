"""The tree of a stream: batches, bounds, what stays true of it at any time, and streams that do not change."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import seeds
from tests.tree.stream.streams import centers_of, eventful, rows_about, stream

from ravine import _kernels
from ravine.tree._stream import STREAM_TREE, StreamSettings, StreamTree, sizes_of_stream, state_of
from ravine.tree._stream._region import Region
from ravine.tree._stream._tree import FIRST_TEST, GROWTH


def learned(X, **options):
    tree = StreamTree(X.shape[1], StreamSettings(**options))
    tree.learn(X)
    return tree


def assert_same_state(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if isinstance(value, dict):
            assert_same_state(value, theirs[name])
        else:
            assert_array_equal(value, theirs[name], err_msg=name)


def random_stream(seed):
    """Groups that move, come and go at random, some of them rounded."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 6)), int(rng.integers(2, 6))
    centers, parts = rng.choice([4, 8, 20]) * rng.normal(size=(k, d)), []
    for _ in range(4):
        X, _ = rows_about(rng, centers[rng.permutation(k)[: rng.integers(1, k + 1)]], int(rng.integers(60, 500)))
        parts.append(np.round(X) if rng.uniform() < 0.2 else X)
        if rng.uniform() < 0.7:
            centers[rng.integers(k)] += 8 * rng.normal(size=d)
    return np.concatenate(parts)


@settings(max_examples=8)
@given(seeds, st.lists(st.integers(1, 400), min_size=1, max_size=5), st.booleans())
def test_batches_change_no_bit(seed, sizes, single):
    X = eventful(seed).astype(np.float32 if single else np.float64)
    events, trees = ([], []), [StreamTree(3, StreamSettings(window_size=128)) for _ in range(2)]
    trees[0].learn(X, events[0].append)
    start, i = 0, 0
    while start < len(X):
        trees[1].learn(X[start : start + sizes[i % len(sizes)]], events[1].append)
        start, i = start + sizes[i % len(sizes)], i + 1
    assert events[0] == events[1] == trees[0].events
    assert len(events[0]) > 3
    assert_same_state(state_of(trees[0]), state_of(trees[1]))


@settings(max_examples=10)
@given(seeds, st.sampled_from([64, 300]), st.sampled_from([3, 200]))
def test_any_stream_leaves_a_valid_tree_whose_leaves_hold_their_own_rows(seed, window_size, max_clusters):
    X = random_stream(seed)
    options = StreamSettings(window_size=window_size, max_clusters=max_clusters, run_length=1e4)
    tree, heard = StreamTree(X.shape[1], options), []
    sizes = {"n_features": X.shape[1], **sizes_of_stream(window_size)}
    for start in range(0, len(X), 97):
        tree.learn(X[start : start + 97], heard.append)
        STREAM_TREE.checked(copy.deepcopy(state_of(tree)), sizes)
        nodes, registry = tree.nodes, tree.registry
        leaves = nodes.leaves()
        ids = set(nodes.identity[leaves].tolist())
        assert len(ids) == len(leaves) <= max_clusters
        for table in (registry.births, registry.resting, registry.changed):
            assert table.keys() <= ids
        former = [one.identity for one in registry.former]
        assert len(set(former)) == len(former)
        assert not ids & set(former)
        snapshot, identity = tree.snapshot()
        assert set(identity[snapshot.leaves].tolist()) == ids
        for position, leaf in zip(snapshot.leaves, leaves, strict=True):
            rows, t = nodes.recent(leaf)
            assert_array_equal(rows, X[t])
            assert (snapshot.apply(rows) == position).all()
    assert heard == tree.events
    assert [event["row"] for event in heard] == sorted(event["row"] for event in heard)
    for event in heard:
        assert 0 <= event["since"] <= event["row"] < len(X)
        assert max(event["clusters"]) < tree.registry.n_ids


def test_leaves_count_every_row_since_the_tree_has_grown():
    C = centers_of(3)
    tree = learned(stream(3, 0, (800, C)))
    assert len(tree.nodes.leaves()) == 4
    assert tree.nodes.leaf[tree.nodes.leaves(), _kernels.stream.N_SEEN].sum() == 800
    snapshot, _ = tree.snapshot()
    assert snapshot.count[0] == 800
    nearest = ((snapshot.mean[snapshot.leaves][:, None] - C) ** 2).sum(axis=2).min(axis=1)
    assert (nearest < 0.5).all()
    assert_allclose(snapshot.sum_sq[snapshot.leaves] / snapshot.count[snapshot.leaves], 3, rtol=0.3)


@pytest.mark.parametrize("significance", [0.01, 0.05, 0.5])
def test_levels_of_all_tests_of_a_leaf_add_up_to_the_significance(significance):
    tree = StreamTree(1, StreamSettings(significance=significance))
    n_rows, levels = [FIRST_TEST], []
    while n_rows[-1] < 1e12:
        levels.append(tree._level(n_rows[-1], is_root=True))
        n_rows.append(int(np.ceil(GROWTH * n_rows[-1])))
    assert 0.7 * significance < sum(levels) < significance


def test_renewed_profile_is_that_of_recent_rows_and_the_bets_go_on(rng):
    kernel, tree = _kernels.stream, learned(rng.normal(size=(300, 2)))
    (leaf,) = tree.nodes.leaves()
    L, before = tree.nodes.leaf[leaf], tree.nodes.profile(leaf)
    tree.learn(rng.normal(size=(50, 2)))
    L[[kernel.CUSUM, kernel.ONSET]] = 1.5, 340
    tree._renew_profile(leaf)
    assert_array_equal(L[[kernel.CUSUM, kernel.ONSET]], [1.5, 340])
    profile = tree.nodes.profile(leaf)
    assert_allclose(profile.mean, tree.nodes.recent(leaf)[0].mean(axis=0))
    assert before.n_rows < profile.n_rows == 350


ONE_MODE = {
    "gaussian": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size=size),
    "rounded": lambda rng, size: np.round(2 * rng.normal(size=size)),
    "skewed": lambda rng, size: rng.exponential(size=size),
}


@pytest.mark.parametrize("kind", ONE_MODE)
def test_stream_of_one_mode_stays_one_cluster(kind):
    n_events = [
        len(learned(ONE_MODE[kind](np.random.default_rng(seed), (3000, 1 + seed % 4))).events) for seed in range(12)
    ]
    assert sum(n > 0 for n in n_events) <= 1


def test_stream_whose_rows_follow_each_other_is_one_cluster_where_the_dependence_is_estimated():
    splits = {None: 0, 1.0: 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 2))
        for i in range(1, len(X)):
            X[i] = 0.98 * X[i - 1] + 0.2 * X[i]
        for dependence in splits:
            splits[dependence] += learned(X, dependence=dependence).n_events["split"]
    assert splits[None] < splits[1.0] / 4


def test_given_dependence_delays_every_decision():
    X = stream(2, 0, (1500, centers_of(2)))
    first = [learned(X, dependence=dependence).events[0]["row"] for dependence in (1.0, 8.0)]
    assert first[0] < first[1]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_number_of_clusters_is_bounded(most):
    X = eventful()
    tree = StreamTree(3, StreamSettings(max_clusters=most))
    for start in range(0, len(X), 50):
        tree.learn(X[start : start + 50])
        assert len(tree.nodes.leaves()) <= most
    assert len(tree.nodes.leaves()) == most


def test_no_rows_change_nothing():
    tree = learned(stream(2, 0, (300, centers_of(2))))
    before = copy.deepcopy(state_of(tree))
    tree.learn(np.empty((0, 2)))
    assert_same_state(state_of(tree), before)


def test_rows_are_not_changed_and_not_kept_by_reference():
    X = stream(2, 0, (500, centers_of(2)))
    before = X.copy()
    tree = learned(X)
    assert_array_equal(X, before)
    saved = copy.deepcopy(state_of(tree))
    X[:] = 0
    assert_same_state(state_of(tree), saved)


def test_smaller_run_length_notices_a_change_sooner():
    C = centers_of(3)
    X = stream(3, 0, (1500, C[:3]), (1500, np.vstack([C[:2], C[2] + 4.0])))
    moved = []
    for run_length in (1e3, 1e12):
        tree = learned(X, run_length=run_length)
        moved.append(next(event["row"] for event in tree.events if event["row"] >= 1500))
    assert 1500 <= moved[0] <= moved[1]


def test_resting_leaf_that_is_learned_again_does_not_rest():
    C = centers_of(3)
    tree = learned(stream(3, 0, (1500, C[:3]), (1500, C[:2])))
    (identity,) = tree.registry.resting
    leaf = tree.nodes.leaf_of(identity)
    X, t = tree.nodes.recent(leaf)
    tree._settle(leaf, Region.with_owner(X, t, identity), float(t[0]), has_changed=False)
    assert tree.registry.resting == {}
    STREAM_TREE.checked(state_of(tree), {"n_features": 3, **sizes_of_stream(tree.settings.window_size)})


# What takes its time


def test_old_cuts_stay_after_a_drift_until_there_are_rows_for_new_ones(rng):
    before, after = 9 * rng.normal(size=(2, 8, 10))
    X = np.concatenate([rows_about(rng, before, 3000)[0], rows_about(rng, after, 2000)[0]])
    tree = learned(X[:3000])
    assert len(tree.nodes.leaves()) == 8
    for row in range(3000, 5000, 20):
        tree.learn(X[row : row + 20])
        if tree.recovery.retry_at > tree.n_rows:
            assert len(tree.nodes.leaves()) == 8
            assert tree.n_events["drift"] == 0
    assert tree.n_events["drift"] == 1
    assert tree.recovery.n_clusters == 8
    assert len(tree.nodes.leaves()) == 8


@pytest.mark.parametrize("seed", range(3))
def test_a_new_cluster_across_several_cuts_is_reported_once(seed):
    rng = np.random.default_rng(seed)
    centers = 6 * np.linalg.qr(rng.normal(size=(20, 20)))[0]
    new = centers.mean(axis=0)  # in the middle of all others
    X = np.concatenate(
        [rows_about(rng, centers[:12], 6000)[0], rows_about(rng, np.vstack([centers[:12], new]), 12000)[0]]
    )
    tree, heard = StreamTree(20, StreamSettings()), []
    tree.learn(X, heard.append)
    late = [event["kind"] for event in heard if event["row"] > 5000]
    assert late.count("appeared") + late.count("split") == 1
    assert len(tree.nodes.leaves()) == 13
