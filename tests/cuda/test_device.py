"""The reductions on a device against those of the same rows in memory."""

from dataclasses import astuple

import numpy as np
import pytest
from numba import cuda
from numpy.testing import assert_allclose, assert_array_equal
from tests.outofcore.test_chunks import held, leaves_of, make_rows, unit
from tests.strategies import random_tree

from ravine import _kernels
from ravine._outofcore import (
    ChunkedNode,
    DeviceChunks,
    _device_reductions,
    _launch,
    _node,
    is_on_device,
    without_far_cells,
)
from ravine._outofcore._device_arrays import to_host
from ravine._scaling import Scaling
from ravine.cuts import _chunked
from ravine.cuts._density import MAX_BINS

KINDS = ["normal", "integers", "copies", "outliers", "single", "one row", "one column", "many columns", "constant"]


def rows_of(kind, rng):
    if kind == "one row":
        return rng.normal(size=(1, 3))
    if kind == "one column":
        return rng.normal(size=(30, 1))
    if kind == "many columns":
        return rng.normal(size=(13, 7))
    if kind == "constant":
        return np.full((30, 2), 0.3)
    return make_rows(kind, rng, n_rows=24)


def weights_for(X, weighted, rng):
    return rng.choice([0.25, 1.0, 1 / 3], size=len(X)) if weighted else None


def on_device(X, weights=None):
    return DeviceChunks(cuda.to_device(X), weights)


def both_of(X, weights=None):
    """The node of all rows on a device, and in memory."""
    return ChunkedNode.root(on_device(X, weights)), ChunkedNode.root(held(X, weights))


def same_moments(node, other):
    assert node.n_rows == other.n_rows
    for name in ("count", "mean", "sum_sq"):
        assert_array_equal(getattr(node.moments, name), getattr(other.moments, name))
    for name in ("squares", "low", "high"):
        assert_array_equal(getattr(node, name), getattr(other, name))


each = pytest.mark.parametrize("kind", KINDS)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])


@each
@weighted_or_not
def test_sums_are_those_in_memory_to_the_last_bit(kind, weighted, rng):
    X = rows_of(kind, rng)
    node, other = both_of(X, weights_for(X, weighted, rng))
    same_moments(node, other)
    assert_array_equal(node.scatter, other.scatter)
    assert_array_equal(astuple(node.fetch())[0], astuple(other.fetch())[0])
    assert_array_equal(node.fetch().weights, other.fetch().weights)


@each
@weighted_or_not
@pytest.mark.parametrize("with_scatter", [False, True])
def test_sides_of_a_cut_are_those_in_memory(kind, weighted, with_scatter, rng):
    X, v = rows_of(kind, rng), unit(rng, rows_of(kind, rng).shape[1])
    nodes = both_of(X, weights_for(X, weighted, rng))
    if with_scatter:
        assert_array_equal(nodes[0].scatter, nodes[1].scatter)
    mine, theirs = (node.children(v, float(np.median(X @ v)) + 1e-9) for node in nodes)
    assert (mine is None) == (theirs is None)
    for node, other in zip(mine or (), theirs or (), strict=True):
        same_moments(node, other)
        assert_allclose(node.scatter, other.scatter, atol=1e-12 * max(other.moments.sum_sq, 1e-300))
        below = node.children(v, float(v @ node.moments.mean) + 1e-9)
        beside = other.children(v, float(v @ other.moments.mean) + 1e-9)
        for leaf, same in zip(below or (), beside or (), strict=True):
            same_moments(leaf, same)


@pytest.mark.parametrize("kind", ["normal", "single", "one column", "many columns"])
@weighted_or_not
def test_rows_along_a_direction_are_those_in_memory(kind, weighted, rng):
    X, v = rows_of(kind, rng), unit(rng, rows_of(kind, rng).shape[1])
    node, other = both_of(X, weights_for(X, weighted, rng))
    unit_of = other.moments.sum_sq or 1.0
    assert_allclose(node.deviation(v), other.deviation(v), rtol=1e-9, atol=1e-12)
    assert_allclose(node.scatter_times(v), other.scatter_times(v), atol=1e-12 * unit_of)
    on, step = _chunked.along(other, v), other.moments.unit / 10 or 1.0
    for steps in ((step,), (step, step / 7)):
        mine, theirs = node.look(v, steps[0], MAX_BINS, *steps[1:]), other.look(v, steps[0], MAX_BINS, *steps[1:])
        for a, b in zip(mine.lattices, theirs.lattices, strict=True):
            assert (a.first, a.n_points) == (b.first, b.n_points)
            assert_allclose(a.dense(), b.dense(), atol=1e-10 * other.moments.count)
            assert_allclose([a.low, a.high, a.square], [b.low, b.high, b.square], rtol=1e-9, atol=1e-12 * unit_of)
        slopes = np.sin(np.arange(mine.lattices[0].n_points - 1))
        for tilt in (0.0, 0.1):
            assert_allclose(node.pull(v, mine, slopes, tilt), other.pull(v, theirs, slopes, tilt), atol=1e-10 * unit_of)
    assert_array_equal(node.sample(v, 20, on), other.sample(v, 20, on))


@each
@weighted_or_not
def test_sample_is_that_in_memory(kind, weighted, rng):
    X = rows_of(kind, rng)
    node, other = both_of(X, weights_for(X, weighted, rng))
    for size in (13, 2 * len(X)):
        mine, theirs = node.draw(size, 5), other.draw(size, 5)
        order, same = np.argsort(mine.number), np.argsort(theirs.number)
        assert_array_equal(mine.number[order], theirs.number[same])
        assert_array_equal(mine.X[order], theirs.X[same])
        if kind not in ("integers", "copies", "constant"):  # which of two equal rows has which number is not determined
            assert_array_equal(mine.weights[order], theirs.weights[same])


def test_sample_of_a_node_has_rows_of_the_node(rng):
    X, v = rows_of("copies", rng), unit(rng, 3)
    node, other = (root.children(v, float(np.median(X @ v)) + 1e-9)[0] for root in both_of(X))
    mine, theirs = node.draw(9, 1), other.draw(9, 1)
    assert_array_equal(np.sort(mine.number), np.sort(theirs.number))
    assert_array_equal(mine.X[np.argsort(mine.number)], theirs.X[np.argsort(theirs.number)])


@each
@weighted_or_not
def test_moments_of_leaves_are_those_in_memory(kind, weighted, rng):
    X = rows_of(kind, rng)
    node, other = both_of(X, weights_for(X, weighted, rng))
    given = leaves_of(random_tree(5, X.shape[1], 0), other)
    for mine, theirs in zip(node.leaf_moments(*given), other.leaf_moments(*given), strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.simulator
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_columns", [3, 11])
def test_rounded_scatter_is_exact(weighted, n_columns, rng, monkeypatch):
    for name, value in (("SCATTER_WIDTH", 8), ("SCATTER_ROWS", 4), ("SCATTER_SLICE", 8)):
        monkeypatch.setattr(_kernels.cuda.sums, name, value)
        monkeypatch.setattr(_kernels.cuda, name, value, raising=False)
    monkeypatch.setattr(_device_reductions, "SCATTER_THREADS", 8)  # at least one for each square of products
    monkeypatch.setattr(_node, "MANY_ROWS", 1)
    monkeypatch.setattr(_node, "MANY_COLUMNS", 1)
    X = rng.normal(size=(50, n_columns))
    root = ChunkedNode.root(on_device(X, weights_for(X, weighted, rng)))
    rounding = root._rounding()
    mine = root._reduce(_device_reductions._reductions.rounded_scatter, rounding).sums[0]
    w = to_host(root.whole.chunks._rows.w)[:, np.newaxis]
    y = np.rint((X - rounding.center) * np.sqrt(w) / rounding.unit)
    expected = sum(np.outer(row, row).astype(object) for row in y.astype(np.int64).astype(object))
    total = mine[0].astype(object) * 2**31 + mine[1].astype(object)
    assert (total == expected).all()


@pytest.mark.parametrize("kind", ["normal", "copies", "single"])
def test_order_of_rows_and_threads_change_no_bit(kind, rng, monkeypatch):
    X, v = rows_of(kind, rng), unit(rng, 3)
    w = weights_for(X, True, rng)
    order, offset = rng.permutation(len(X)), float(np.median(X @ v)) + 1e-9

    def found(X, w):
        root = ChunkedNode.root(on_device(X, w))
        for node in (root, *root.children(v, offset)):
            yield from (node.moments.mean, node.squares, node.scatter, node.scatter_times(v))
            looked = node.look(v, 0.5, MAX_BINS, 0.1)
            yield from (array for lattice in looked.lattices for array in astuple(lattice))
            yield node.pull(v, looked, np.sin(np.arange(looked.lattices[0].n_points - 1)), 0.1)
            yield node.sample(v, 15, looked.lattices[1])
            yield np.sort(node.draw(20, 3).number)

    first = list(found(X, w))
    for threads, blocks in ((6, 3),):
        monkeypatch.setattr(_kernels.cuda, "THREADS", threads)
        monkeypatch.setattr(_launch, "MOST_BLOCKS", blocks)
        for mine, theirs in zip(first, found(X[order], w[order]), strict=True):
            assert_array_equal(mine, theirs)


def test_rows_far_apart_are_put_on_a_lattice_on_the_host(rng, monkeypatch):
    monkeypatch.setattr(_device_reductions, "MOST_POINTS", 50)
    X, v = rows_of("outliers", rng), unit(rng, 3)
    node, other = both_of(X)
    mine, theirs = (root.lattice(v, 0.1) for root in (node, other))
    assert_array_equal(mine.index, theirs.index)
    assert_allclose(mine.masses.sum(axis=0), theirs.masses.sum(axis=0), atol=1e-7)


def test_corners_of_the_box_farther_than_the_rows_cost_no_memory(rng, monkeypatch):
    t = rng.normal(size=(40, 1))
    X, v = np.hstack([t, -t]), np.array([1.0, 1.0]) / np.sqrt(2)
    monkeypatch.setattr(_device_reductions, "MOST_POINTS", 50)
    node, other = both_of(X + 1e-3 * rng.normal(size=X.shape))
    assert_allclose(node.lattice(v, 1e-3).dense(), other.lattice(v, 1e-3).dense(), atol=1e-9)


def test_rows_without_weight_are_left_out(rng):
    X = rows_of("normal", rng)
    w = np.where(rng.random(len(X)) < 0.5, 0.0, 2.0)
    node, other = ChunkedNode.root(on_device(X, w)), ChunkedNode.root(held(X[w > 0], w[w > 0]))
    same_moments(node, other)
    assert_array_equal(node.fetch().X, other.fetch().X)
    assert on_device(X, np.zeros(len(X))).everything()[1] is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_far_outside_are_moved_as_in_memory(weighted, dtype, rng):
    X = rng.normal(size=(80, 3)).astype(dtype)
    X[5, 1], X[7, 1], X[9, 2] = 999, -5000, 700
    w = rng.uniform(0.5, 2, size=80) if weighted else np.ones(80)
    found = without_far_cells(ChunkedNode.root(on_device(X, w)))
    moved = Scaling.of(X, w).without_far_cells(X)
    assert not np.array_equal(moved, X)
    assert_array_equal(_device_reductions._take(found.whole.chunks._rows, found.handles[0]).X, moved)
    same_moments(found, ChunkedNode.root(held(moved, w)))


def test_without_cells_far_outside_the_rows_are_the_same(rng):
    node = ChunkedNode.root(on_device(rows_of("normal", rng)))
    assert without_far_cells(node) is node


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.astype(np.float16), "float16: convert it to float32"),
        (lambda X: X.astype(np.int64), "int64: convert it to float32"),
        (lambda X: X[:, 0].copy(), "1 dimensions"),
        (lambda X: np.asfortranarray(X), "not contiguous"),
        (lambda X: np.zeros((2, 5000)), "5000 columns, and 1 to 4159 are supported"),
        (lambda X: np.where(X > 1, np.nan, X), "NaN or infinity"),
        (lambda X: np.where(X > 1, np.inf, X), "NaN or infinity"),
        (lambda X: X * 1e200, "overflow"),
    ],
)
def test_rows_that_cannot_be_used_raise_what_to_change(change, message, rng):
    with pytest.raises(ValueError, match=message):
        on_device(change(rng.normal(size=(50, 3)))).everything()


@pytest.mark.parametrize("weights", [[1.0, -1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0]])
def test_weights_that_cannot_be_used_raise(weights, rng):
    with pytest.raises(ValueError, match="sample_weight has"):
        on_device(rng.normal(size=(3, 2)), np.array(weights)).everything()


def test_weights_may_be_on_the_device_and_of_any_type(rng):
    X, w = rng.normal(size=(9, 2)), rng.integers(1, 3, size=9)
    expected = ChunkedNode.root(on_device(X, w.astype(float)))
    for weights in (w, cuda.to_device(w), cuda.to_device(w.astype(np.float32)), cuda.to_device(w.astype(float))):
        same_moments(ChunkedNode.root(on_device(X, weights)), expected)


def test_too_little_memory_says_how_much_is_needed(rng, monkeypatch):
    class Context:
        device = None

        def get_memory_info(self):
            return type("Info", (), {"free": 1000})

    monkeypatch.setattr(cuda, "current_context", Context)
    with pytest.raises(MemoryError, match=r"0\.5 GiB of the memory of the device .* fit from the memory of the host"):
        on_device(rng.normal(size=(9, 2)))


def test_rows_are_never_changed(rng):
    X = cuda.to_device(rows_of("outliers", rng))
    before = X.copy_to_host()
    root = without_far_cells(ChunkedNode.root(DeviceChunks(X)))
    root.children(unit(rng, 3), 0.0)
    assert_array_equal(X.copy_to_host(), before)


def test_only_arrays_on_a_device_are_taken_for_such():
    assert is_on_device(cuda.to_device(np.ones((2, 2))))
    for other in (np.ones(2), [1.0], None, "cuda"):
        assert not is_on_device(other)
