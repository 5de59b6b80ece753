import os
import subprocess
import sys
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.strategies import random_tree, seeds

from ravine import _matrix, _reservoir
from ravine._lattice import even_rows
from ravine._outofcore import (
    ChunkedNode,
    LocalChunks,
    _node,
    _reductions,
    in_order,
    is_out_of_core,
    tables_of,
)
from ravine.cuts import Cut, _chunked
from ravine.cuts._density import MAX_BINS, Line
from ravine.cuts._mdh import PenalizedDensity
from ravine.cuts._ncut import NormalizedCut
from ravine.tree._derived import with_counts_of, with_leaves

KINDS = ["normal", "integers", "copies", "outliers", "single"]
WITHOUT_COPIES = ["normal", "outliers", "single"]


def make_rows(kind, rng, n_rows=300, n_columns=3):
    X = rng.normal(size=(n_rows, n_columns)) + rng.integers(0, 2, size=(n_rows, 1)) * 4.0
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n_rows, n_columns)).astype(float)
    elif kind == "copies":
        X = X[rng.integers(0, n_rows // 10, size=n_rows)]
    elif kind == "outliers":
        X[:2] *= [[1e7], [-3e4]]
    return X.astype(np.float32) if kind == "single" else X


def held(X, weights=None, places=()):
    """Rows in memory as chunks, cut at some places."""
    rows = np.split(X, places)
    of_rows = [None] * len(rows) if weights is None else np.split(weights, places)
    return LocalChunks(lambda: iter(list(zip(rows, of_rows, strict=True))), X.shape[1])


def shuffled(X, weights, rng):
    """The same rows in another order and in other chunks, some of them empty."""
    order = rng.permutation(len(X))
    places = np.sort(rng.integers(0, len(X) + 1, size=rng.integers(0, 9)))
    return held(X[order], None if weights is None else weights[order], places)


def unit(rng, n_columns):
    v = rng.normal(size=n_columns)
    return v / np.linalg.norm(v)


def leaves_of(tree, node):
    """What `leaf_moments` takes of a tree: its cuts, its leaves, and a point between all rows for each of them."""
    extent = node.whole.extent
    centers = np.clip(tree.mean[tree.leaves], extent.low, extent.high)
    return (tree.normal, tree.offset, tree.left, tree.right), tree.leaves, centers


def all_of(node, v):
    """What the searches ask of a node."""
    yield from (node.n_rows, node.moments.count, node.moments.mean, node.moments.sum_sq, node.squares)
    yield from (node.deviation(v), node.scatter, node.scatter_times(v), node.deviation(v))
    on = _chunked.along(node, v)
    yield from (*astuple(on), on.dense(), node.sample(v, 40, on), *astuple(node.fetch()))
    for looked in (node.look(v, 10 * on.step, MAX_BINS, on.step), node.look(v, on.step / 100, 50)):
        for lattice in looked.lattices:
            yield from astuple(lattice)
        yield from astuple(looked.cells)
        slopes = np.sin(np.arange(looked.lattices[0].n_points - 1))
        for one in (looked, replace(looked, cells=None)):
            yield from (node.pull(v, one, slopes, 0.1), node.pull(v, one, slopes, 0.0))
    yield from node.leaf_moments(*leaves_of(random_tree(3, len(v), 0), node))
    if not _reservoir.has_copies(node.fetch().X, 0):
        yield from drawn_in_order(node, 40)


def drawn_in_order(node, size, seed=1):
    """The numbers, rows and weights of a sample, in the order of the numbers."""
    drawn = node.draw(size, seed)
    order = np.argsort(drawn.number)
    return drawn.number[order], drawn.X[order], drawn.weights[order]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds, weighted=st.booleans(), with_scatter=st.booleans())
@settings(max_examples=8)
def test_chunks_and_their_order_have_no_say(kind, seed, weighted, with_scatter):
    rng = np.random.default_rng(seed)
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.choice([0.25, 1.0, 1 / 3], size=len(X)) if weighted else None
    one, many = ChunkedNode.root(held(X, weights)), ChunkedNode.root(shuffled(X, weights, rng))
    offset = float(np.median(X @ v))
    if with_scatter:
        assert_array_equal(one.scatter, many.scatter)
    pairs = zip([one, *one.children(v, offset)], [many, *many.children(v, offset)], strict=True)
    for node, other in pairs:
        for mine, yours in zip(all_of(node, v), all_of(other, v), strict=True):
            assert_array_equal(mine, yours)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_scatter", [False, True])
def test_root_and_children_agree_with_rows_in_memory(kind, weighted, with_scatter, rng):
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    root = ChunkedNode.root(shuffled(X, weights, rng))
    offset = float(np.median(_matrix.project(X, v)))
    if with_scatter:
        assert root.scatter.shape == (3, 3)
    left, right = root.children(v, offset)
    goes_left = Cut(v, offset).goes_left(X)
    for node, mine in ((root, np.full(len(X), True)), (left, goes_left), (right, ~goes_left)):
        moments = _matrix.moments_of(X[mine], weights[mine])
        assert node.n_rows == mine.sum()
        assert_allclose(node.moments.count, moments.count, rtol=1e-14)
        assert_allclose(node.moments.mean, moments.mean, rtol=1e-9, atol=1e-9 * moments.unit)
        assert_allclose(node.moments.sum_sq, moments.sum_sq, rtol=1e-9)
        squares = weights[mine] @ (X[mine].astype(float) - moments.mean) ** 2
        assert_allclose(node.squares, squares, rtol=1e-9)
        assert ("scatter" in node._kept) == with_scatter
        scatter = _matrix.scatter(X[mine].astype(float), weights[mine], moments.mean)
        size = 1e-9 * np.abs(scatter).max()
        assert_allclose(node.scatter, scatter, atol=size)
        assert_allclose(node.scatter_times(v), scatter @ v, atol=size)


@pytest.mark.parametrize("offset", [-100.0, 100.0])
def test_cut_with_all_rows_on_one_side_has_no_children(offset, rng):
    root = ChunkedNode.root(held(make_rows("normal", rng), places=[100]))
    assert root.children(np.array([1.0, 0, 0]), offset) is None


@pytest.mark.parametrize("kind", KINDS)
def test_lattice_is_the_binned_line_of_rows_in_memory(kind, rng):
    X, weights, v = make_rows(kind, rng), rng.uniform(0.1, 2, size=300), unit(rng, 3)
    node = ChunkedNode.root(shuffled(X, weights, rng))
    values = _matrix.project(X, v) - node.moments.mean @ v
    step = values.std() / 50
    on, line = node.lattice(v, step), Line.around(values, step)
    assert on.step * on.first == pytest.approx(line.low)
    assert on.n_points == line.n_bins
    assert_allclose(on.dense(), line.bin(values, weights), atol=1e-9)
    assert_allclose(on.mass.sum(), weights.sum())
    assert_allclose(on.square, weights @ values**2)
    assert (on.low, on.high) == pytest.approx((values.min(), values.max()))
    assert on.positions.min() >= on.low
    assert on.positions.max() <= on.high


def test_lattice_that_would_be_too_long_is_coarser(rng):
    X, v = make_rows("outliers", rng), np.array([1.0, 0, 0])
    node = ChunkedNode.root(held(X, places=[50, 120]))
    step = (X[:, 0].max() - X[:, 0].min()) / 1e6
    looked = node.look(v, step, MAX_BINS, step)
    on = looked.lattices[0]
    assert on.step > step == looked.lattices[1].step
    assert_array_equal(on.index.min(), looked.cells.index.min())
    assert MAX_BINS - 10 < on.n_points <= MAX_BINS
    assert on.mass.sum() == pytest.approx(len(X))


def test_lattice_of_far_outliers_keeps_only_points_with_weight(rng):
    X = make_rows("outliers", rng)
    on = ChunkedNode.root(held(X, places=[50, 120])).lattice(np.array([1.0, 0, 0]), 100.0)
    assert on.n_points > 1 << 16
    assert len(on.index) <= 2 * len(X)
    assert (on.mass > 0).all()
    assert on.mass.sum() == pytest.approx(len(X))


def test_scatter_of_children_costs_no_pass_where_it_is_small(rng, monkeypatch):
    X, v = make_rows("normal", rng), unit(rng, 3)
    for most_columns, is_given in ((3, True), (2, False)):
        monkeypatch.setattr(_node, "CELL_COLUMNS", most_columns)
        chunks = shuffled(X, None, rng)
        root = ChunkedNode.root(chunks)
        assert root.deviation(v) == pytest.approx((X @ v).std())
        assert root.scatter.shape == (3, 3)
        assert root.deviation(v) == pytest.approx((X @ v).std())
        nodes = root.children(v, float(np.median(X @ v)))
        before = chunks.n_passes
        assert all(np.isfinite(node.scatter).all() for node in nodes)
        assert chunks.n_passes - before == (0 if is_given else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_hold_the_sums_of_their_rows(kind, rng):
    X, weights, v = make_rows(kind, rng), rng.uniform(0.1, 2, size=300), unit(rng, 3)
    root = ChunkedNode.root(shuffled(X, weights, rng))
    offset = float(np.median(_matrix.project(X, v)))
    goes_left = Cut(v, offset).goes_left(X)
    for node, mine in ((root, np.full(len(X), True)), (root.children(v, offset)[0], goes_left)):
        values = _matrix.project(X[mine], v) - node.moments.mean @ v
        step = values.std() / 7
        looked = node.look(v, step, MAX_BINS)
        expected = {}
        for cell, weight, x in zip(np.floor(values / step), weights[mine], X[mine].astype(float), strict=True):
            expected[int(cell)] = expected.get(int(cell), 0) + weight * (x - node.moments.mean)
        assert looked.cells.index.tolist() == sorted(expected)
        size = 1e-9 * np.abs(X).max()
        assert_allclose(looked.cells.sums[0], [expected[cell] for cell in sorted(expected)], atol=size)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_pull_with_cells_is_that_by_a_pass(kind, tilt, rng):
    X, weights, v = make_rows(kind, rng), rng.uniform(0.1, 2, size=300), unit(rng, 3)
    chunks = shuffled(X, weights, rng)
    node = ChunkedNode.root(chunks)
    values = _matrix.project(X, v) - node.moments.mean @ v
    looked = node.look(v, values.std() / 7, MAX_BINS)
    on = looked.lattices[0]
    slopes = rng.normal(size=on.n_points - 1)
    scatter, before = node.scatter, chunks.n_passes
    with_cells = node.pull(v, looked, slopes, tilt)
    assert chunks.n_passes == before
    by_a_pass = node.pull(v, replace(looked, cells=None), slopes, tilt)
    assert chunks.n_passes == before + 1
    c = weights * (slopes[np.floor(values / on.step).astype(int) - on.first] - tilt * values)
    apart = X.astype(float) - node.moments.mean
    size = 1e-9 * (np.abs(c) @ np.abs(apart)).max() + 1e-9 * tilt * np.abs(scatter).max()
    assert_allclose(with_cells, c @ apart, atol=size)
    assert_allclose(by_a_pass, c @ apart, atol=size)


@pytest.mark.parametrize(
    "limit", [(_node, "CELL_COLUMNS", 2), (_reductions, "MOST_SUMS", 30)], ids=lambda limit: limit[1]
)
def test_sums_over_cells_are_left_out_where_they_are_many(limit, rng, monkeypatch):
    X, v = make_rows("normal", rng), unit(rng, 3)
    wanted = ChunkedNode.root(held(X)).look(v, 0.1, MAX_BINS)
    slopes = rng.normal(size=wanted.lattices[0].n_points - 1)
    monkeypatch.setattr(*limit)
    pulls = []
    for chunks in (held(X), held(X, places=range(1, len(X))), shuffled(X, None, rng)):
        node = ChunkedNode.root(chunks)
        looked = node.look(v, 0.1, MAX_BINS)
        assert looked.cells is None or looked.cells.sums is None
        assert_array_equal(looked.lattices[0].masses, wanted.lattices[0].masses)
        pulls.append(node.pull(v, looked, slopes, 0.1))
    assert_array_equal(pulls[0], pulls[1])
    assert_array_equal(pulls[0], pulls[2])


def test_second_look_costs_no_pass_and_one_that_is_finer_does(rng):
    X, v, other = make_rows("normal", rng), unit(rng, 3), unit(rng, 3)
    chunks = shuffled(X, None, rng)
    node = ChunkedNode.root(chunks)

    def passes_of(*arguments):
        before = chunks.n_passes
        looked = node.look(*arguments)
        assert [lattice.step for lattice in looked.lattices][: len(arguments) - 2] == [arguments[1], *arguments[3:]]
        return chunks.n_passes - before

    assert passes_of(v, 0.5, MAX_BINS) == 1
    assert passes_of(v.copy(), 0.5, MAX_BINS) == 0
    assert passes_of(v, 0.5, MAX_BINS, 0.1) == 1
    assert passes_of(v, 0.5, MAX_BINS, 0.1) == passes_of(v, 0.5, MAX_BINS) == 0
    assert passes_of(v, 0.1, MAX_BINS) == 1
    assert passes_of(other, 0.1, MAX_BINS) == 1
    assert passes_of(v, 0.1, MAX_BINS) == 1


@pytest.mark.parametrize(
    "objective",
    [
        NormalizedCut(8.0, 0.02),
        NormalizedCut(0.5, 0.02),
        PenalizedDensity(0.4, 0.9, 1e-6),
        PenalizedDensity(0.4, 0.0, 1e-6, unit=1.7),
        PenalizedDensity(0.4, 0.1, 1e-6),
    ],
)
def test_gradient_is_the_slope_of_the_value(objective, rng, monkeypatch):
    X, weights = make_rows("normal", rng), rng.uniform(0.1, 2, size=300)
    evaluations = []

    def only_evaluate(evaluate, start, tolerance, before=None):
        evaluations.append(evaluate)
        return start, *evaluate(start)[:2]

    monkeypatch.setattr(_chunked, "descend", only_evaluate)
    start = unit(rng, 3)
    found = _chunked.chunked_search(ChunkedNode.root(shuffled(X, weights, rng)), objective, start)
    evaluate = evaluations[0]
    value, place, gradient = evaluate(start)
    assert (found.value, found.position) == (value, place)
    for v in (start, 2.5 * start):  # the value does not change along the direction
        slopes = [(evaluate(v + move)[0] - evaluate(v - move)[0]) / 2e-6 for move in 1e-6 * np.eye(3)]
        assert np.abs(slopes).max() > 1e-4
        assert_allclose(evaluate(v)[2](), slopes, atol=2e-4 * np.abs(slopes).max())
    assert abs(gradient() @ start) < 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_sample_is_spread_evenly_over_the_weight(weighted, rng):
    X, v = make_rows("normal", rng, n_rows=5000), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    node = ChunkedNode.root(shuffled(X, weights, rng))
    sample = node.sample(v, 200, _chunked.along(node, v))
    values = X @ v
    below = np.array([weights[values < value].sum() for value in sample @ v]) / weights.sum()
    assert_allclose(below, (np.arange(200) + 0.5) / 200, atol=1 / 200)
    assert {tuple(row) for row in sample} <= {tuple(row) for row in X}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sample_is_that_of_rows_in_memory(kind, weighted, rng):
    X, v = make_rows(kind, rng), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    node = ChunkedNode.root(shuffled(X, weights, rng))
    on = _chunked.along(node, v)
    values = _matrix.project(X, v) - node.moments.mean @ v
    assert_array_equal(node.sample(v, 50, on), X[even_rows(X, values, weights, on.step, 50)])


def test_sample_of_few_values_has_rows_of_all(rng):
    X = rng.integers(0, 3, size=(90, 1)).astype(float)
    node = ChunkedNode.root(held(X, places=[30, 60]))
    on = _chunked.along(node, np.ones(1))
    assert_array_equal(np.unique(node.sample(np.ones(1), 30, on)), [0, 1, 2])


def test_fetch_gives_all_rows_with_their_weights(rng):
    X, weights = make_rows("copies", rng), rng.integers(1, 4, size=300).astype(float)
    taken = ChunkedNode.root(shuffled(X, weights, rng)).fetch()
    expected, found = np.column_stack([X, weights]), np.column_stack([taken.X, taken.weights])
    assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


@pytest.mark.parametrize("kind", WITHOUT_COPIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [50, 300, 1000])
def test_draw_gives_the_sample_of_rows_in_memory(kind, weighted, size, rng):
    X = make_rows(kind, rng)
    weights = rng.choice([0.25, 1.0, 1 / 3], size=len(X)) if weighted else np.ones(len(X))
    number, rows, its_weights = drawn_in_order(ChunkedNode.root(shuffled(X, weights, rng)), size, seed=5)
    chosen, keys = _reservoir.content_sample(X, weights, size, 5)
    chosen = chosen[np.argsort(-keys)]
    assert len(rows) == min(size, len(X))
    assert_array_equal(rows, X[chosen])
    assert rows.dtype == X.dtype
    assert_array_equal(its_weights, weights[chosen])
    assert_array_equal(_reservoir.keys_of(number), np.sort(keys)[::-1])


def test_draws_differ_by_seed(rng):
    node = ChunkedNode.root(shuffled(make_rows("normal", rng), None, rng))
    assert_array_equal(drawn_in_order(node, 50, seed=1)[1], drawn_in_order(node, 50, seed=1)[1])
    assert (drawn_in_order(node, 50, seed=1)[1] != drawn_in_order(node, 50, seed=2)[1]).any()


@pytest.mark.parametrize("n_chunks", [1, 7])
def test_row_that_stands_often_is_drawn_as_often(n_chunks, rng):
    X = np.concatenate([rng.normal(size=(300, 3)), np.zeros((100, 3))])
    order = rng.permutation(len(X))
    node = ChunkedNode.root(held(X[order], places=np.linspace(0, len(X), n_chunks + 1)[1:-1].astype(int)))
    n_drawn = [(node.draw(100, seed).X == 0).all(axis=1).sum() for seed in range(200)]
    assert np.mean(n_drawn) == pytest.approx(25, abs=3)
    assert (node.draw(400, 0).X == 0).all(axis=1).sum() == 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_leaves_are_those_of_rows_in_memory(kind, weighted, rng):
    X = make_rows(kind, rng)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    chunks = shuffled(X, weights, rng)
    node, tree = ChunkedNode.root(chunks), random_tree(4, 3, 3)
    cuts, leaves, centers = leaves_of(tree, node)
    before = chunks.n_passes
    count, mean, sum_sq = node.leaf_moments(cuts, leaves, centers)
    assert chunks.n_passes == before + 1
    is_empty = count == 0
    assert_array_equal(mean[is_empty], centers[is_empty])
    assert_array_equal(sum_sq[is_empty], 0)
    found, expected = with_leaves(tree, count, mean, sum_sq), with_counts_of(tree, X, weights)
    assert found.n_clusters == expected.n_clusters > 1
    unit = np.abs(X).max()
    assert_allclose(found.count, expected.count, rtol=1e-13)
    assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-9 * unit)
    assert_allclose(found.sum_sq, expected.sum_sq, rtol=1e-9, atol=1e-9 * unit**2)


def test_rows_without_weight_are_left_out(rng):
    X = make_rows("normal", rng)
    weights = rng.integers(0, 2, size=len(X)).astype(float)
    kept = weights > 0
    node, other = ChunkedNode.root(held(X, weights, [70])), ChunkedNode.root(held(X[kept]))
    assert node.n_rows == node.moments.count == kept.sum()
    assert_allclose(node.moments.mean, other.moments.mean, rtol=1e-12)
    assert_array_equal(node.fetch().X, other.fetch().X)


def test_threads_change_nothing(rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    chunks = np.array_split(X, 7)
    nodes = [ChunkedNode.root(LocalChunks(lambda: ((x, None) for x in chunks), 3, n_jobs=n)) for n in (1, 3)]
    for mine, yours in zip(all_of(nodes[0], v), all_of(nodes[1], v), strict=True):
        assert_array_equal(mine, yours)


def test_every_pass_is_counted_and_reads_the_parts_once(rng):
    n_reads = 0

    def read():
        nonlocal n_reads
        n_reads += 1
        yield from ((x, None) for x in np.array_split(X, 3))

    X = make_rows("normal", rng)
    chunks = LocalChunks(read, 3)
    root = ChunkedNode.root(chunks)
    assert 0 < chunks.n_passes == n_reads
    root.children(np.array([1.0, 0, 0]), 2.0)
    root.fetch()
    assert chunks.n_passes == n_reads


def test_what_is_asked_at_once_is_answered_in_one_pass(rng):
    X, v = make_rows("normal", rng), unit(rng, 3)
    chunks = shuffled(X, None, rng)
    nodes = ChunkedNode.root(chunks).children(v, float(np.median(X @ v)))
    before = chunks.n_passes
    both = chunks.at_once(lambda node: [node.scatter_times(v), node.fetch().X], nodes)
    assert chunks.n_passes == before + 2
    for node, (times, rows) in zip(nodes, both, strict=True):
        assert_array_equal(times, node.scatter_times(v))
        assert_array_equal(rows, node.fetch().X)
    with pytest.raises(TypeError, match="no function of a node"):
        chunks.at_once(not_of_a_node, nodes)
    assert_array_equal(nodes[0].fetch().X, both[0][1])


def not_of_a_node(node):
    raise TypeError("no function of a node")


def test_chunks_are_given_in_order_without_those_that_are_empty(rng):
    X, weights = make_rows("normal", rng), rng.uniform(size=300)
    chunks = held(X, weights, [0, 100, 100, 250])
    assert is_out_of_core(chunks)
    assert_array_equal(np.concatenate(list(tables_of(chunks, named=False))), X)
    numbers, rows, its_weights = zip(*in_order(chunks), strict=True)
    assert numbers == (1, 3, 4)
    assert_array_equal(np.concatenate(rows), X)
    assert_array_equal(np.concatenate(its_weights), weights)


def broken(X, entry):
    X = X.copy()
    X[2, 1] = entry
    return X


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: broken(X, np.nan), "chunk 2 has NaN or infinity"),
        (lambda X: broken(X, -np.inf), "chunk 2 has NaN or infinity"),
        (lambda X: X[:, :2], "chunk 2 has 2 columns"),
        (lambda X: X[:, 0], "chunk 2 has 1 dimensions"),
        (lambda X: broken(X, 1e151), "chunk 2 has a number whose square would overflow"),
        (lambda X: broken(X, -1e200), "chunk 2 has a number whose square would overflow"),
    ],
)
def test_what_is_wrong_with_rows_names_their_chunk(spoil, message, rng):
    chunks = np.split(make_rows("normal", rng), [50, 50, 100])
    chunks[2] = spoil(chunks[2])
    with pytest.raises(ValueError, match=message):
        ChunkedNode.root(LocalChunks(lambda: ((x, None) for x in chunks), 3))


@pytest.mark.parametrize("bad", [np.full(50, -1.0), np.full(50, np.nan), np.full(50, np.inf), np.ones(49)])
def test_what_is_wrong_with_weights_names_their_chunk(bad, rng):
    chunks = list(zip(np.split(make_rows("normal", rng), 6), [np.ones(50)] * 4 + [bad, np.ones(50)], strict=True))
    with pytest.raises(ValueError, match="chunk 4 has weights"):
        ChunkedNode.root(LocalChunks(lambda: iter(chunks), 3))


@pytest.mark.parametrize(("shape", "weight"), [((0, 3), 1.0), ((5, 3), 0.0)])
def test_no_rows_at_all_are_an_error(shape, weight):
    chunk = np.ones(shape), np.full(shape[0], weight)
    with pytest.raises(ValueError, match="no rows in any chunk"):
        ChunkedNode.root(LocalChunks(lambda: iter([chunk, chunk]), 3))


@pytest.mark.parametrize(
    "change", [lambda chunks: chunks.append(chunks[0]), lambda chunks: chunks.insert(0, chunks.pop()[1:])]
)
def test_chunks_that_change_between_passes_are_an_error(change, rng):
    chunks = np.split(make_rows("normal", rng), [90, 190])
    root = ChunkedNode.root(LocalChunks(lambda: ((x, None) for x in chunks), 3))
    change(chunks)
    with pytest.raises(RuntimeError, match="changed between two passes"):
        root.scatter_times(np.array([1.0, 0, 0]))


@pytest.mark.parametrize("value", [7.0, 1e30])
def test_rows_without_weight_have_no_say_in_the_sums(value, rng):
    X, extra = make_rows("normal", rng), np.full((1, 3), value)
    together = held(np.vstack([X, extra]), np.append(np.ones(len(X)), 0.0))
    apart = held(np.vstack([X, extra]), np.append(np.ones(len(X)), 0.0), [len(X)])
    nodes = [ChunkedNode.root(chunks) for chunks in (together, apart, held(X))]
    for node in nodes[:2]:
        assert_array_equal(node.moments.mean, nodes[2].moments.mean)
        assert node.moments.sum_sq == nodes[2].moments.sum_sq


def test_part_that_is_gone_is_noticed(rng):
    chunks = np.array_split(make_rows("normal", rng), 3)
    root = ChunkedNode.root(LocalChunks(lambda: ((x, None) for x in chunks), 3))
    chunks.pop()
    with pytest.raises(RuntimeError, match="changed between two passes"):
        root.fetch()


def test_look_at_another_step_or_length_is_not_the_remembered_one(rng):
    node, v = ChunkedNode.root(held(make_rows("normal", rng))), np.array([1.0, 0, 0])
    assert [on.step for on in node.look(v, 0.5, 1000, 0.1).lattices] == [0.5, 0.1]
    assert [on.step for on in node.look(v, 0.5, 1000, 0.01).lattices] == [0.5, 0.01]
    assert node.look(v, 0.005, 50).lattices[0].step > 0.005
    assert node.look(v, 0.005, 1e6).lattices[0].step == 0.005


@pytest.fixture
def rounded(monkeypatch):
    """Scatter matrices are those of rounded rows, also of few rows and columns; gives the roundings that are used."""
    monkeypatch.setattr(_node, "MANY_ROWS", 1)
    monkeypatch.setattr(_node, "MANY_COLUMNS", 1)
    used, of = [], _reductions.Rounding.of

    def recorded(*arguments):
        used.append(of(*arguments))
        return used[-1]

    monkeypatch.setattr(_reductions.Rounding, "of", recorded)
    return used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_of_rounded_rows_does_not_depend_on_chunks_and_order(kind, weighted, rng, rounded):
    for _ in range(10):
        X, v = make_rows(kind, rng, n_rows=700), unit(rng, 3)
        weights = rng.uniform(0.1, 2, size=len(X)) if weighted else None
        one, many = ChunkedNode.root(held(X, weights)), ChunkedNode.root(shuffled(X, weights, rng))
        assert_array_equal(one.scatter, many.scatter)
        offset = float(np.median(X @ v))
        for mine, yours in zip(one.children(v, offset), many.children(v, offset), strict=True):
            assert_array_equal(mine.scatter, yours.scatter)
    assert rounded


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scatter_of_rounded_rows_is_near_that_of_the_rows(kind, weighted, rng, rounded):
    X, v = make_rows(kind, rng, n_rows=3000), unit(rng, 3)
    weights = rng.uniform(0.1, 2, size=len(X)) if weighted else np.ones(len(X))
    root = ChunkedNode.root(shuffled(X, weights, rng))
    assert root.scatter.shape == (3, 3)
    offset = float(np.median(_matrix.project(X, v)))
    goes_left = Cut(v, offset).goes_left(X)
    both = root.children(v, offset)
    for node, mine in ((root, np.full(len(X), True)), (both[0], goes_left), (both[1], ~goes_left)):
        mean = np.average(X[mine].astype(float), axis=0, weights=weights[mine])
        scatter = _matrix.scatter(X[mine].astype(float), weights[mine], mean)
        assert_allclose(node.scatter, scatter, atol=2**-16 * np.trace(scatter))
        assert_array_equal(node.scatter, node.scatter.T)
    assert rounded


def test_integers_are_not_rounded(rng, rounded):
    X = rng.integers(-1000, 1000, size=(3000, 3)).astype(float)
    root = ChunkedNode.root(shuffled(X, None, rng))
    apart = X - root.moments.mean
    assert_allclose(root.scatter, apart.T @ apart, rtol=1e-12, atol=1e-12 * (apart**2).sum())
    assert len(rounded) == 1


def test_rounding_that_is_too_coarse_for_a_side_is_not_used(rng, rounded):
    X = rng.normal(size=(4000, 3))
    X[:2000, 0] += 1e6  # both sides are tiny compared with the distance between them
    chunks = shuffled(X, None, rng)
    root, v = ChunkedNode.root(chunks), np.array([1.0, 0, 0])
    assert root.scatter[0, 0] > 1e14
    left, right = root.children(v, 5e5)
    for node, mine in ((left, X[2000:]), (right, X[:2000])):
        before = chunks.n_passes
        apart = mine - mine.mean(axis=0)
        assert_allclose(node.scatter, apart.T @ apart, atol=1e-5 * (apart**2).sum())
        assert chunks.n_passes == before + 1


def test_few_far_rows_make_scatter_matrices_slow_but_not_coarse(rng, rounded):
    X = rng.normal(size=(4000, 3))
    X[0] = 1e-3, 3e5, 0.0
    root = ChunkedNode.root(shuffled(X, None, rng))
    assert root._rounding() is None
    apart = X - X.mean(axis=0)
    assert_allclose(root.scatter, apart.T @ apart, rtol=1e-9, atol=1e-9 * (apart[:, 0] ** 2).sum())
    assert rounded


SCATTER = """
import numpy as np
from ravine._outofcore import _reductions

rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 40)) @ rng.normal(size=(40, 40))
rounding = _reductions.Rounding.of(X.min(axis=0), X.max(axis=0), X.mean(axis=0), 1.0)
(pair,) = _reductions.rounded_scatter(X, np.ones(5000), np.arange(5000, dtype=np.int32), rounding).sums
plain = X.T @ X
print(hash(pair.tobytes()), hash(plain.tobytes()))
"""


def test_scatter_of_rounded_rows_is_the_same_with_the_blas_kernels_of_all_processors():
    found = []
    for kernels in ("Haswell", "Prescott", None):
        environment = {**os.environ, "PYTHONHASHSEED": "0"} | (
            {} if kernels is None else {"OPENBLAS_CORETYPE": kernels}
        )
        run = subprocess.run(
            [sys.executable, "-c", SCATTER], env=environment, capture_output=True, text=True, check=True
        )
        found.append(run.stdout.split())
    rounded, plain = zip(*found, strict=True)
    assert len(set(rounded)) == 1
    if len(set(plain)) == 1:
        pytest.skip("this BLAS adds in the same order for all processors")


def test_sample_does_not_depend_on_chunks_where_many_rows_are_almost_equally_near(rng):
    line = np.repeat(rng.normal(size=60), 10)
    X = np.stack([line + 1e-11 * rng.normal(size=600), rng.normal(size=600)], axis=1)
    v = np.array([1.0, 0.0])
    samples = []
    for _ in range(5):
        node = ChunkedNode.root(shuffled(X, None, rng))
        samples.append(node.sample(v, 50, node.lattice(v, 0.01)))
    for sample in samples[1:]:
        assert_array_equal(sample, samples[0])
