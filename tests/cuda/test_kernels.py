"""Device kernels against their obvious twins."""

import numpy as np
import pytest
from numba import cuda
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import random_tree

from ravine import _kernels
from ravine._kernels.cuda._tile import rint
from ravine._matrix import fingerprint, fingerprint_factors
from ravine._outofcore._launch import launch, row_blocks, to_device, zeros
from ravine._reservoir import GOLDEN, content_numbers
from ravine.tree._mixture import Mixture

NONE = np.empty((3, 0))
KINDS = ["normal", "integers", "single", "one row", "one column", "many columns", "constant"]


def rows_of(kind, rng):
    shape = {"one row": (1, 3), "one column": (24, 1), "many columns": (12, 9)}.get(kind, (24, 3))
    X = rng.normal(size=shape)
    if kind == "integers":
        X = rng.integers(-2, 3, size=shape).astype(float)
    elif kind == "constant":
        X[:] = 0.5
    return X.astype(np.float32) if kind == "single" else X


def given(X, rows=None, edges=NONE):
    """The first arguments of a kernel."""
    listed = np.empty(0, dtype=np.int32) if rows is None else np.asarray(rows, dtype=np.int32)
    return to_device(X), to_device(edges), to_device(listed), len(X) if rows is None else len(rows)


def blocks(X):
    return row_blocks(*X.shape)


def test_rint_rounds_as_numpy_does():
    @cuda.jit
    def rounded(values):
        for k in range(values.shape[0]):
            values[k] = rint(values[k])

    values = np.array([0.5, 1.5, -0.5, -2.5, 0.49999999999999994, 1e15 + 0.5, 2.0**53 + 2, -1e300, np.inf, -np.inf, 7])
    on_device = to_device(values)
    rounded[1, 1](on_device)
    assert_array_equal(on_device.copy_to_host(), np.rint(values))


@pytest.mark.parametrize("kind", KINDS)
def test_extent(kind, rng):
    X = rows_of(kind, rng)
    for rows in (None, [0], np.arange(len(X))[::2]):
        low, high, strange = to_device(np.full(X.shape[1], np.inf)), to_device(np.full(X.shape[1], -np.inf)), zeros(1)
        launch(_kernels.cuda.extent, (2, -(-X.shape[1] // 4)), *given(X, rows), low, high, strange)
        mine = X if rows is None else X[rows]
        assert_array_equal(low.copy_to_host(), mine.min(axis=0))
        assert_array_equal(high.copy_to_host(), mine.max(axis=0))
        assert strange.copy_to_host()[0] == 0


def test_extent_counts_what_is_no_number(rng):
    X = rows_of("normal", rng)
    X[3, 1] = np.nan
    low, high, strange = (zeros(3) for _ in range(3))
    launch(_kernels.cuda.extent, (2, 1), *given(X), low, high, strange)
    assert strange.copy_to_host()[0] == 1


def test_cells_far_outside_are_moved_to_the_edge():
    X = np.array([[-100.0, 0.0], [0.0, 3.0], [100.0, 9.0]])
    edges = np.array([[-1.0, -np.inf], [1.0, np.inf], [5.0, np.inf]])
    out = zeros((3, 2))
    launch(_kernels.cuda.gather, 2, *given(X, edges=edges)[:3], out)
    assert_array_equal(out.copy_to_host(), [[-1, 0], [0, 3], [1, 9]])
    launch(_kernels.cuda.positions, 2, *given(X, edges=edges), to_device(np.array([1.0, 0.0])), 0.5, values := zeros(3))
    assert_array_equal(values.copy_to_host(), [-1.5, -0.5, 0.5])


@pytest.mark.parametrize("kind", KINDS)
def test_positions(kind, rng):
    X, v = rows_of(kind, rng), rng.normal(size=rows_of(kind, rng).shape[1])
    out = zeros(len(X))
    launch(_kernels.cuda.positions, blocks(X), *given(X), to_device(v), 0.25, out)
    assert_allclose(out.copy_to_host(), X.astype(float) @ v - 0.25, atol=1e-12)


@pytest.mark.parametrize("n_leaves", [5, 400])  # the cuts of the larger tree do not fit into the memory of a block
@pytest.mark.parametrize("kind", KINDS)
def test_walk_and_leaves(kind, n_leaves, rng):
    X = rows_of(kind, rng)
    tree = random_tree(n_leaves, X.shape[1], 0)
    column = np.cumsum(~tree.is_leaf) - 1
    cuts = [to_device(array) for array in (tree.normal, tree.offset, tree.left, tree.right, column)]
    expected = [naive.walk(x, tree.normal, tree.offset, tree.left, tree.right) for x in X]
    leaf = zeros(len(X), np.int32)
    launch(_kernels.cuda.leaves, blocks(X), *given(X), *cuts, leaf)
    assert_array_equal(leaf.copy_to_host(), expected)
    label, rows, distance = zeros(len(X), np.int64), given(X), zeros((len(X), len(tree.cuts)))
    settings = to_device(tree.label), label, distance
    launch(_kernels.cuda.walk, blocks(X), *rows[:2], len(X), *cuts, *settings)
    assert_array_equal(label.copy_to_host(), tree.label[expected])
    assert_allclose(distance.copy_to_host(), tree.signed_distance(X), atol=1e-12)


@pytest.mark.parametrize("n", [1, 40, 1024, 2500])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_partition_keeps_the_order(n, share, rng):
    numbers, is_left = rng.permutation(n).astype(np.int32), rng.random(n) < share
    span = _kernels.cuda.SPAN
    counts = np.add.reduceat(is_left.astype(np.int64), np.arange(0, n, span))
    left, right = zeros(int(is_left.sum()), np.int32), zeros(int((~is_left).sum()), np.int32)
    starts = np.append(0, np.cumsum(counts)[:-1])
    for rows, expected in ((numbers, numbers), (np.empty(0, np.int32), np.arange(n))):
        sides = to_device(is_left), to_device(starts), left, right
        launch(_kernels.cuda.partition, -(-n // span), to_device(rows), n, *sides)
        assert_array_equal(left.copy_to_host(), expected[is_left])
        assert_array_equal(right.copy_to_host(), expected[~is_left])


def test_sides_and_equals_count_what_they_find(rng):
    X, normal = rng.normal(size=(1100, 2)), np.array([1.0, -1.0])
    is_left, counts = zeros(1100, np.bool_), zeros(2, np.int32)
    launch(_kernels.cuda.sides, 2, *given(X), to_device(normal), 0.1, is_left, counts)
    expected = X @ normal < 0.1
    assert_array_equal(is_left.copy_to_host(), expected)
    assert_array_equal(counts.copy_to_host(), [expected[:1024].sum(), expected[1024:].sum()])
    values = rng.integers(0, 3, size=1100)
    launch(_kernels.cuda.equals, 2, to_device(values), 2, is_left, counts)
    assert_array_equal(is_left.copy_to_host(), values == 2)
    assert counts.copy_to_host().sum() == (values == 2).sum()


def test_row_on_the_cut_goes_right():
    is_left, counts = zeros(2, np.bool_), zeros(1, np.int32)
    launch(_kernels.cuda.sides, 1, *given(np.array([[1.0], [2.0]])), to_device(np.ones(1)), 1.0, is_left, counts)
    assert_array_equal(is_left.copy_to_host(), [False, False])


def test_values_are_gathered_looked_up_filled_and_added(rng):
    values = rng.normal(size=30)
    out = zeros(5)
    launch(_kernels.cuda.gather_values, 2, to_device(values), 1, to_device(np.array([3, 3, 0, 29, 7], np.int32)), out)
    assert_array_equal(out.copy_to_host(), values[[3, 3, 0, 29, 7]])
    launch(_kernels.cuda.gather_values, 2, to_device(values[:1]), 0, to_device(np.empty(0, np.int32)), out)
    assert_array_equal(out.copy_to_host(), np.full(5, values[0]))
    places, found = np.array([2, 0, 2, 1]), zeros(4, np.int64)
    launch(_kernels.cuda.look_up, 1, to_device(np.array([5, 6, 7])), to_device(places), found)
    assert_array_equal(found.copy_to_host(), [7, 5, 7, 6])
    launch(_kernels.cuda.fill, 2, out, 2.5)
    assert_array_equal(out.copy_to_host(), np.full(5, 2.5))
    lines = to_device(np.arange(60).reshape(3, 20))
    launch(_kernels.cuda.add_lines, 2, lines)
    assert_array_equal(lines.copy_to_host()[0], np.arange(60).reshape(3, 20).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_weight", [False, True])
def test_numbers_of_rows_are_those_of_the_host(kind, by_weight, rng):
    X, w = rows_of(kind, rng), rng.choice([0.5, 2.0], size=len(rows_of(kind, rng)))
    X[0, 0] = -0.0
    factors, salt = fingerprint_factors(X.shape[1], 3)
    out = zeros(len(X), np.uint64)
    settings = to_device(w), 1, to_device(factors), salt, by_weight, out
    launch(_kernels.cuda.fingerprints, blocks(X), *given(X), *settings)
    if not by_weight:
        assert_array_equal(out.copy_to_host(), fingerprint(X, 3))
    n_parts, slots, copies = 2, 256, zeros(len(X), np.int8)
    for part in range(n_parts):
        table = zeros(slots, np.uint64), zeros(slots, np.int32)
        launch(_kernels.cuda.tell_copies_apart, 2, out, part, n_parts, GOLDEN, *table, copies)
    assert_array_equal(np.sort(out.copy_to_host()), np.sort(content_numbers(X, w, 3, by_weight)))


def test_largest_numbers_are_selected(rng):
    numbers = rng.integers(0, 2**63, size=50, dtype=np.uint64) * np.uint64(2)
    counts = zeros(16, np.int64)
    launch(_kernels.cuda.count_upper_bits, 2, to_device(numbers), 60, counts)
    assert_array_equal(counts.copy_to_host(), np.bincount((numbers >> np.uint64(60)).astype(int), minlength=16))
    least = np.sort(numbers)[-7]
    n_found, places, found = zeros(1, np.int64), zeros(7, np.int64), zeros(7, np.uint64)
    launch(_kernels.cuda.select, 2, to_device(numbers), least, n_found, places, found)
    assert n_found.copy_to_host()[0] == 7
    assert_array_equal(numbers[places.copy_to_host()], found.copy_to_host())
    assert_array_equal(np.sort(found.copy_to_host()), np.sort(numbers)[-7:])


def make_mixture(n_columns, rng, shared, **options):
    n = 1 if shared else 3
    factor = np.tril(rng.normal(size=(n, n_columns, n_columns)))
    factor[:, np.arange(n_columns), np.arange(n_columns)] = rng.uniform(0.5, 2, size=(n, n_columns))
    mean = rng.normal(size=(3, n_columns))
    freedom = np.inf if shared else 4.0
    return Mixture(np.array([0.5, 0.3, 0.2]), mean, factor, np.array([0, 1, 1]), freedom, **options)


@pytest.mark.parametrize("kind", ["normal", "single", "one row", "one column", "many columns"])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("decides", [False, True])
@pytest.mark.parametrize("limit", [None, 1.5])
def test_labels_by_a_mixture(kind, shared, decides, limit, rng):
    from ravine.tree._device import _label_by_mixture

    X = rows_of(kind, rng)
    limits = None if limit is None else limit * np.sqrt(X.shape[1]) * np.array([1.0, 0.5, 2.0])
    mixture = make_mixture(X.shape[1], rng, shared, decides=decides, limit=limits)
    by_cuts = rng.integers(0, 2, size=len(X))
    label = to_device(by_cuts)
    _label_by_mixture(mixture, to_device(X), label)
    assert_array_equal(label.copy_to_host(), mixture.labels(X, by_cuts) if mixture.has_labels else by_cuts)
