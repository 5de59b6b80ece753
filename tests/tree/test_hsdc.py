"""The tree of a stream: where a sample is cut, what a state holds, and what is refused of one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from tests.strategies import seeds

from ravine import _kernels
from ravine._kernels.hsdc import (
    CUSUM,
    INNER_HIGH,
    INNER_LOW,
    N_SEEN,
    OFFSET,
    OUTER_HIGH,
    OUTER_LOW,
    TOTAL,
    WAIT,
)
from ravine._kernels.intervals import HIGH, LOW, WEIGHT
from ravine.tree import _hsdc
from ravine.tree._hsdc import HSDCSettings, HSDCTree


def two_gaussians(rng, n=2000, share=0.5, distance=5.0, scale=1.0):
    return np.where(rng.uniform(size=n) < share, rng.normal(0, 1, n), rng.normal(distance, scale, n))


def five_blobs(rng, n, moved=None):
    """Rows of five blobs on a circle of radius 10, in three columns; `moved` maps blobs to other centers."""
    angle = 2 * np.pi * np.arange(5) / 5 + 0.3
    centers = np.c_[10 * np.cos(angle), 10 * np.sin(angle), np.zeros(5)]
    for blob, center in (moved or {}).items():
        centers[blob] = center
    y = rng.integers(0, 5, n)
    return centers[y] + rng.normal(size=(n, 3)), y


def assert_same_state(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert_array_equal(value, theirs[name], err_msg=name)


@given(seeds, st.lists(st.integers(1, 400), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_batches_change_no_bit(seed, sizes, inherit, single):
    rng = np.random.default_rng(seed)
    X = np.concatenate([five_blobs(rng, 500)[0], five_blobs(rng, 500, {0: [0.0, 0.0, 0.0]})[0]])
    X = X.astype(np.float32 if single else np.float64)
    options = HSDCSettings(inherit, 30)
    whole, parts, events = HSDCTree(3, options), HSDCTree(3, options), ([], [])
    whole.learn(X, events[0].append)
    start, i = 0, 0
    while start < len(X):
        stop = start + sizes[i % len(sizes)]
        parts.learn(X[start:stop], events[1].append)
        start, i = stop, i + 1
    assert events[0] == events[1]
    assert len(events[0]) > 0
    assert_same_state(whole.state(), parts.state())


def test_one_row_at_a_time_changes_no_bit(rng):
    X, _ = five_blobs(rng, 1500)
    whole, parts = (HSDCTree(3, HSDCSettings(True)) for _ in range(2))
    whole.learn(X)
    for i in range(len(X)):
        parts.learn(X[i : i + 1])
    assert_same_state(whole.state(), parts.state())


@pytest.fixture(scope="module")
def learned():
    tree = HSDCTree(3, HSDCSettings(True, 30))
    tree.learn(five_blobs(np.random.default_rng(5), 2000)[0])
    return tree


SIZES = {"n_features": 3, "n_slots": 31, "n_cut_numbers": _kernels.hsdc.N_CUT, "n_sample_numbers": 5}


def restored(tree, **changes):
    other = HSDCTree(3, tree.settings)
    other.restore(_hsdc.STREAM.checked({**tree.state(), **changes}, SIZES))
    return other


def test_restored_tree_goes_on_as_if_never_interrupted(learned, rng):
    X = np.concatenate([five_blobs(rng, 500)[0], rng.uniform(-12, 12, size=(1500, 3))])
    one, two = restored(learned), restored(learned)
    assert_same_state(one.state(), learned.state())
    one.learn(X)
    two.learn(X[:700])
    two = restored(two)
    two.learn(X[700:])
    assert n_removed(one) > 0
    assert_same_state(one.state(), two.state())


def test_state_of_an_older_version_goes_on_as_it_was_learned(learned, rng):
    state = learned.state()
    for name in _hsdc.NEW_FIELDS:
        del state[name]
    state["leaf"] = state["leaf"][:, : _kernels.hsdc.UNIT]
    old = HSDCTree(3, learned.settings)
    old.restore(_hsdc.STREAM.checked(state, SIZES))
    assert_array_equal(old.leaf[: len(state["leaf"]), _kernels.hsdc.UNIT], 1.0)
    old.learn(five_blobs(rng, 500)[0])
    assert old.n_rows == learned.n_rows + 500
    assert not old.repeats.look(np.ones((600, 3)), 600, True)


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


def damaged(learned):
    state = learned.state()
    leaf = int(np.flatnonzero(state["left"] < 0)[-1])
    sample = state["sample"]
    return [
        ("left", changed(state["left"], 0, 0)),
        ("left", changed(state["left"], 0, -1)),
        ("left", changed(state["left"], leaf, 1)),
        ("right", changed(state["right"], 0, 1)),
        ("right", changed(state["right"], 0, 10**9)),
        ("parent", changed(state["parent"], leaf, leaf)),
        ("parent", changed(state["parent"], 0, 0)),
        ("left", state["left"][:-1]),
        ("left", state["left"][:0]),
        ("left", None),
        ("left", state["left"][np.newaxis]),
        ("parent", state["parent"].astype(np.int32)),
        ("mean", state["mean"][:, :2]),
        ("mean", state["mean"].astype(np.float32)),
        ("sample", sample[:, :, :-1]),
        ("sample", None),
        ("n_intervals", changed(state["n_intervals"], leaf, 31)),
        ("n_intervals", changed(state["n_intervals"], leaf, -1)),
        ("n_intervals", changed(state["n_intervals"], leaf, 30) if state["n_intervals"][leaf] < 30 else None),
        ("identity", changed(state["identity"], 0, -1)),
        ("identity", changed(state["identity"], 0, learned.n_ids)),
        ("mean", changed(state["mean"], (leaf, 0), np.nan)),
        ("mean", changed(state["mean"], (leaf, 0), np.inf)),
        ("direction", changed(state["direction"], (0, 0), 1e300)),
        ("leaf", changed(state["leaf"], (leaf, TOTAL), np.nan)),
        ("cut", changed(state["cut"], (0, CUSUM), np.nan)),
        ("sample", changed(sample, (leaf, LOW, 0), np.nan)),
        ("sample", changed(sample, (leaf, LOW, 0), sample[leaf, HIGH, 0] + 1)),
        ("sample", changed(sample, leaf, sample[leaf][:, ::-1])),
        ("sample", changed(sample, (leaf, WEIGHT, 0), 0.0)),
        ("sample", changed(sample, (leaf, WEIGHT, 0), -1.0)),
        ("n_rows", -1),
        ("n_rows", 2.0),
        ("n_ids", 1 << 62),
        ("n_events", True),
        ("n_events", {"split": 1}),
        ("n_events", {"split": True, "drift": 0, "withdrawal": 0}),
        ("events", None),
        ("events", [1]),
        ("events", [{}]),
        ("events", [{"kind": "other"}]),
        ("largest", None),
        ("largest", -1.0),
        ("largest", 1e200),
        ("first_rows", None),
        ("first_rows", np.zeros((513, 3))),
        ("first_rows", np.full((1, 3), np.nan)),
        ("first_rows", np.zeros((1, 2))),
        ("repeats_due", None),
        ("repeats_due", -2),
        ("repeats_due", 700),
        ("leaf", changed(state["leaf"], (leaf, _kernels.hsdc.UNIT), -1.0)),
    ]


@pytest.mark.parametrize("i", range(52))
def test_damaged_state_is_refused(learned, i):
    cases = damaged(learned)
    assert len(cases) == 52
    name, value = cases[i]
    with pytest.raises(ValueError, match="field '"):
        restored(learned, **{name: value})


def test_leaf_that_cannot_be_cut_waits(monkeypatch, rng):
    asked = []
    monkeypatch.setattr(_hsdc, "find_valley", lambda parts, share: asked.append(tree.leaf[0, TOTAL]))
    tree = HSDCTree(1, HSDCSettings())
    tree.learn(two_gaussians(rng, 2000, distance=8.0)[:, np.newaxis])
    assert tree.n_events["split"] == 0
    assert len(asked) > 5
    assert (np.diff(asked) >= (_hsdc.PATIENCE - 1) * np.array(asked[:-1]) - 1e-6).all()
    assert tree.leaf[0, WAIT] == pytest.approx(_hsdc.PATIENCE * asked[-1])


def learn_in_turns(tree, rng, on_event=None):
    """Two blobs, another two far away, and so on, with rows all over each two: cuts come and fall."""
    for i in range(6):
        position = [0, 40 * (-1) ** i * i]
        blobs = np.array([[-8.0, 0.0], [8.0, 0.0]])[rng.integers(0, 2, 900)] + rng.normal(size=(900, 2))
        tree.learn(position + blobs, on_event)
        tree.learn(position + np.c_[rng.uniform(-10, 10, 400), rng.normal(size=400)], on_event)


def test_nodes_are_used_again_after_a_fall(rng):
    tree = HSDCTree(2, HSDCSettings(n_intervals=20))
    learn_in_turns(tree, rng)
    assert n_removed(tree) > 3
    assert len(tree.left) == _hsdc.ROOM
    alive = tree._below(0)
    assert sorted([*alive, *tree._free]) == list(range(_hsdc.ROOM))
    assert tree.n_ids == 1 + 2 * tree.n_events["split"] + n_removed(tree)
    assert len(set(tree.identity[alive])) == len(alive)


def n_removed(tree):
    return tree.n_events["drift"] + tree.n_events["withdrawal"]


def test_room_grows_with_the_tree(monkeypatch, rng):
    monkeypatch.setattr(_hsdc, "ROOM", 4)
    X, _ = five_blobs(rng, 2000)
    small = HSDCTree(3, HSDCSettings())
    small.learn(X)
    monkeypatch.undo()
    large = HSDCTree(3, HSDCSettings())
    large.learn(X)
    assert small.n_events["split"] >= 4
    assert_same_state(small.state(), large.state())


def test_events_are_bounded(monkeypatch, rng):
    monkeypatch.setattr(_hsdc, "MOST_EVENTS", 3)
    events, tree = [], HSDCTree(2, HSDCSettings(n_intervals=20))
    learn_in_turns(tree, rng, events.append)
    by_kind = {kind: [event for event in events if event["kind"] == kind] for kind in _hsdc.KINDS}
    assert tree.n_events == {kind: len(of_kind) for kind, of_kind in by_kind.items()}
    assert min(len(by_kind["split"]), n_removed(tree)) > 3
    kept = [event for of_kind in by_kind.values() for event in of_kind[-3:]]
    assert tree.events == sorted(kept, key=lambda event: event["row"])


def test_tests_wait_for_the_rows_and_the_weight_asked_for(rng):
    X = two_gaussians(rng, 1000, distance=12.0)[:, np.newaxis]
    for changes, least in (
        ({"min_samples_split": 300}, 300),
        ({"min_weight": 200}, 200),
        ({"min_samples_split": 1, "min_weight": 1}, 1),
    ):
        tree = HSDCTree(1, replace(HSDCSettings(), **changes))
        tree.learn(X)
        assert tree.events[0]["row"] + 1 >= least
        assert tree.events[0]["row"] < least + 100


def test_snapshot_has_the_moments_of_the_rows_since_each_leaf_began(rng):
    X, _ = five_blobs(rng, 1500)
    tree = HSDCTree(3, HSDCSettings())
    tree.learn(X)
    snapshot, ids = tree.snapshot()
    assert snapshot.n_clusters >= 5
    began = {c: event["row"] + 1 for event in tree.events for c in event["clusters"]}
    where = snapshot.predict(X)
    for label, node in enumerate(snapshot.leaves):
        start = began[int(ids[node])]
        rows = X[start:][where[start:] == label]
        assert snapshot.count[node] == len(rows)
        assert_allclose(snapshot.mean[node], rows.mean(axis=0))
        assert_allclose(snapshot.sum_sq[node], ((rows - rows.mean(axis=0)) ** 2).sum())
    assert tree.leaf[0, N_SEEN] == tree.events[0]["row"] + 1


def test_p_value_is_the_chance_of_so_few_rows_near_the_cut_since_it_was_made(rng):
    X = two_gaussians(rng, 300, distance=6.0)[:, np.newaxis]
    tree = HSDCTree(1, HSDCSettings())
    tree.learn(X)
    after = X[tree.events[0]["row"] + 1 :, 0] * tree.direction[0, 0] - tree.cut[0, OFFSET]
    n_inner, n_outer = (
        np.sum((tree.cut[0, low] < after) & (after < tree.cut[0, high]))
        for low, high in ((INNER_LOW, INNER_HIGH), (OUTER_LOW, OUTER_HIGH))
    )
    assert n_outer > n_inner > 0
    inner, outer = tree.cut[0, [INNER_LOW, INNER_HIGH]], tree.cut[0, [OUTER_LOW, OUTER_HIGH]]
    assert outer[0] < inner[0] < 0 < inner[1] < outer[1]
    rate = np.ptp(inner) / np.ptp(outer)
    assert tree.snapshot()[0].p_value[0] == pytest.approx(binom.cdf(n_inner, n_outer, rate))
