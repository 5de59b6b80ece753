"""A saved stream goes on as if never interrupted, at any moment, to the last byte; and what is refused of a state."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.tree.stream.streams import appearing, eventful

from ravine import _kernels
from ravine.tree._stream import STREAM_TREE, StreamSettings, StreamTree, restore, sizes_of_stream, state_of

OPTIONS = StreamSettings(window_size=128)
SIZES = {"n_features": 3, **sizes_of_stream(OPTIONS.window_size)}

kernel = _kernels.stream


def is_changed(tree):
    return (tree.nodes.leaf[tree.nodes.leaves(), kernel.STATE] == kernel.CHANGED).any()


MOMENTS = {
    "first row": lambda tree: tree.n_rows == 1,
    "before the first test": lambda tree: tree.n_rows == 20,
    "after a split": lambda tree: tree.n_events["split"] > 0,
    "alarm of a leaf": is_changed,
    "alarm of a cut": lambda tree: any(tree.nodes.is_filled(node) for node in tree.nodes.below(tree.nodes.root)),
    "rest": lambda tree: bool(tree.registry.resting),
    "new cluster": lambda tree: bool(tree.registry.births),
    "former cluster": lambda tree: bool(tree.registry.former),
    "cluster that moved": lambda tree: bool(tree.registry.changed),
    "drift without enough rows": lambda tree: tree.recovery.retry_at > tree.n_rows,
    "after a drift": lambda tree: tree.n_events["drift"] > 0,
}


def flat(state, prefix=""):
    for name, value in state.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def assert_same_bytes(ours, theirs):
    for (name, value), (_, other) in zip(flat(state_of(ours)), flat(state_of(theirs)), strict=True):
        assert_array_equal(value, other, err_msg=name)
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
            assert value.tobytes() == other.tobytes(), name


def resumed(state):
    """A tree that goes on from a state, after it has passed the checks of a saved model."""
    tree = StreamTree(3, OPTIONS)
    restore(tree, STREAM_TREE.checked(copy.deepcopy(state), SIZES))
    return tree


@pytest.fixture(scope="module")
def saved():
    """For each moment: a stream in which it comes, the tree after all its rows, and the state at that moment."""
    found = {}
    for seed in range(4):
        for X in (eventful(seed), appearing(seed)):
            if MOMENTS.keys() <= found.keys():
                return found
            tree, states = StreamTree(3, OPTIONS), {}
            for row in range(len(X)):
                tree.learn(X[row : row + 1])
                for moment in MOMENTS.keys() - found.keys() - states.keys():
                    if MOMENTS[moment](tree):
                        states[moment] = copy.deepcopy(state_of(tree))
            found |= {moment: (X, tree, state) for moment, state in states.items()}
    return found


@pytest.mark.parametrize("moment", MOMENTS)
def test_stream_that_is_saved_at_any_moment_goes_on_as_if_never_interrupted(moment, saved):
    X, whole, state = saved[moment]
    again = resumed(state)
    assert MOMENTS[moment](again)
    again.learn(X[state["n_rows"] :])
    assert_same_bytes(again, whole)
    assert again.events == whole.events


@pytest.mark.parametrize("seed", range(3))
def test_stream_that_is_saved_again_and_again_at_random_rows_is_the_same(seed):
    X, rng = eventful(seed), np.random.default_rng(seed)
    whole, again = (StreamTree(3, OPTIONS) for _ in range(2))
    whole.learn(X)
    stops = np.unique(np.append(rng.integers(0, len(X), size=12), len(X)))
    start = 0
    for stop in stops:
        again.learn(X[start:stop])
        again, start = resumed(state_of(again)), stop
    assert_same_bytes(again, whole)


def test_restored_tree_has_the_state_that_it_was_given(saved):
    for _, _, state in saved.values():
        for (name, value), (_, other) in zip(flat(state), flat(state_of(resumed(state))), strict=True):
            assert_array_equal(value, other, err_msg=name)


def test_restored_tree_predicts_as_the_saved_one(saved):
    X, whole, _ = saved["rest"]
    (ours, ids), (theirs, others) = whole.snapshot(), resumed(state_of(whole)).snapshot()
    assert ours == theirs
    assert_array_equal(ids, others)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_saved_state_does_not_change_while_the_stream_goes_on(saved):
    X, _, state = saved["alarm of a leaf"]
    tree = resumed(state)
    taken = state_of(tree)
    before = copy.deepcopy(taken)
    tree.learn(X[tree.n_rows :])
    for (name, value), (_, other) in zip(flat(taken), flat(before), strict=True):
        assert_array_equal(value, other, err_msg=name)


def with_stale_rest(state):
    state["resting"] = np.array([[int(state["identity"][state["left"] < 0][0]), 5]])
    return state


def without_a_ring(state):
    state["rows"], state["times"] = state["rows"][1:], state["times"][1:]
    return state


def with_a_cycle(state):
    state["left"][0] = 0
    return state


def with_an_identifier_twice(state):
    state["identity"][state["left"] < 0] = 0
    return state


def with_times_of_the_future(state):
    state["times"][:, 0] = state["n_rows"] + 5
    return state


def with_a_strange_state(state):
    state["leaf"][:, kernel.STATE] = 7.0
    return state


def with_a_cut_outside_its_modes(state):
    state["cut"][:, kernel.LOW] = 1.0
    return state


def with_fewer_events(state):
    state["n_events"]["split"] = 0
    return state


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (with_stale_rest, "resting"),
        (without_a_ring, "rows"),
        (with_a_cycle, "left|node"),
        (with_an_identifier_twice, "identity"),
        (with_times_of_the_future, "times"),
        (with_a_strange_state, "leaf"),
        (with_a_cut_outside_its_modes, "cut"),
        (with_fewer_events, "n_events"),
    ],
)
def test_state_that_cannot_be_is_refused(damage, name, saved):
    state = copy.deepcopy(saved["after a split"][2])
    STREAM_TREE.checked(copy.deepcopy(state), SIZES)
    with pytest.raises(ValueError, match=name):
        STREAM_TREE.checked(damage(state), SIZES)
