"""Units of the columns: spreads and lattice steps of recent rows, and that no result depends on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.tree.stream.leaves import add_rows, chain

from ravine.tree._stream import StreamSettings, StreamTree
from ravine.tree._stream._units import RECENT_ROWS, Units


def units():
    return Units(np.ones(2), np.zeros(2), np.ones(2))


def leaf_of(X):
    nodes, (leaf,) = chain([0.0], [[]], ring_size=4 * RECENT_ROWS, n_features=2)
    add_rows(nodes, leaf, X, range(len(X)))
    return nodes


def test_spread_is_that_of_the_most_recent_rows_of_all_leaves():
    n = 2 * RECENT_ROWS
    nodes, leaves = chain([0.0, 9.0, 30.0], [range(n), range(n, n + 20), range(600, 650)], n_features=2)
    found = units()
    found.renew(nodes, 700)
    rows = np.concatenate([nodes.recent(leaf)[0][-RECENT_ROWS:] for leaf in leaves])
    assert_allclose(found.spread, rows.std(axis=0))
    assert (found.steps < 0.05 * found.spread).all()


def test_units_are_renewed_only_after_the_stream_has_grown(rng):
    X = rng.normal(size=(100, 2))
    nodes, found = leaf_of(X), units()
    found.renew(nodes, 100)
    before = found.spread
    add_rows(nodes, nodes.root, 1000 * X, range(100, 200))
    found.renew(nodes, 101)
    assert found.spread is before
    found.renew(nodes, int(np.ceil(found.spread_due)))
    assert (found.spread > 10 * before).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e100])
def test_constant_column_has_an_infinite_spread_and_a_finite_least_deviation(value, rng):
    found = units()
    found.renew(leaf_of(np.c_[rng.normal(size=100), np.full(100, value)]), 100)
    assert np.isinf(found.spread[1])
    assert np.isfinite(found.spread[0])
    assert found.steps[1] == 0
    assert (found.least_deviation > 0).all()
    assert np.isfinite(found.least_deviation).all()


def test_steps_of_rounded_columns_are_found_and_those_of_continuous_ones_are_small(rng):
    far = 50 * rng.integers(0, 2, size=300)  # the gaps between rows are small beside the spread
    X = np.c_[np.round(3 * rng.normal(size=300)), rng.normal(size=300) + far]
    found = units()
    found.renew(leaf_of(X), 300)
    assert found.steps[0] == 1
    assert found.steps[1] < 0.02 * found.spread[1]
    assert found.least_deviation[0] >= 1 / np.sqrt(12)


@pytest.mark.parametrize("scale", [[2.0**-20, 1.0, 2.0**30], [1e-3, 1e5, 7.0]], ids=["powers of two", "any"])
def test_shift_and_scale_of_columns_change_neither_labels_nor_events(scale, rng):
    centers = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    X = centers[rng.integers(0, 3, size=2500)] + rng.normal(size=(2500, 3))
    X[1500:] += 5 * (X[1500:, :1] > 5) * np.array([0.0, 0.0, 1.0])
    moved = X * scale + np.array(scale) * [4.0, -8.0, 16.0]
    trees = [StreamTree(3, StreamSettings()) for _ in range(2)]
    for tree, rows in zip(trees, (X, moved), strict=True):
        tree.learn(rows)
    ours, theirs = ([(event["kind"], event["row"], event["clusters"]) for event in tree.events] for tree in trees)
    assert ours == theirs
    assert len(ours) > 2
    labels = [tree.snapshot()[0].predict(rows) for tree, rows in zip(trees, (X, moved), strict=True)]
    pairs = np.unique(np.c_[labels[0], labels[1]], axis=0)
    assert len(pairs) == len(np.unique(labels[0])) == len(np.unique(labels[1]))
