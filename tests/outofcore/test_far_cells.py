import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.outofcore.test_chunks import held, make_rows

from ravine import NCutH
from ravine._outofcore import ChunkedNode, LocalChunks, _chunks, _far_cells, without_far_cells
from ravine._scaling import Scaling, n_edge_rows
from ravine.cluster import _pursuit


def with_far_cells(rng, dtype=np.float64):
    X = rng.normal(size=(300, 3)).astype(dtype)
    X[5, 1], X[7, 1], X[9, 2] = 999, -5000, 700
    return X


def rows_in(node):
    return np.concatenate([X for X, _ in node.whole.chunks.read()])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_far_outside_are_moved_as_in_memory(weighted, dtype, rng):
    X = with_far_cells(rng, dtype)
    w = rng.uniform(0.5, 2, size=len(X)) if weighted else None
    found = without_far_cells(ChunkedNode.root(held(X, w, [100, 200])))
    moved = Scaling.of(X, np.ones(len(X)) if w is None else w).without_far_cells(X)
    assert not np.array_equal(moved, X)
    assert rows_in(found).dtype == dtype
    assert_array_equal(rows_in(found), moved)
    other = ChunkedNode.root(held(moved, w))
    assert_array_equal(found.moments.mean, other.moments.mean)
    assert_array_equal(found.high, other.high)


def test_cells_far_outside_are_found_in_a_sample_of_many_rows(rng, monkeypatch):
    monkeypatch.setattr(_far_cells, "n_edge_rows", lambda n_columns: 200)
    X = with_far_cells(rng)
    found = rows_in(without_far_cells(ChunkedNode.root(held(X, None, [100, 200]))))
    assert np.abs(found).max() < 5
    assert (found != X).sum() == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_sample_of_many_rows_says_which_cells_are_far_in_memory(weighted, rng, monkeypatch):
    for module in (_far_cells, _pursuit):
        monkeypatch.setattr(module, "n_edge_rows", lambda n_columns: 40)
    X = rng.standard_t(1, size=(300, 3))
    w = rng.uniform(0.5, 2, size=len(X)) if weighted else np.ones(len(X))
    found = rows_in(without_far_cells(ChunkedNode.root(held(X, w, [100, 200]))))
    assert (found != X).any()
    assert_array_equal(NCutH()._searched(X, w), found)
    assert (Scaling.of(X, w).without_far_cells(X) != found).any()


@pytest.mark.parametrize(("n_columns", "expected"), [(1, 1 << 20), (50, 20_971), (784, 5_000)])
def test_edges_are_those_of_many_rows_in_few_columns(n_columns, expected):
    assert n_edge_rows(n_columns) == expected


@pytest.mark.parametrize("kind", ["normal", "integers", "copies", "constant", "one row"])
def test_without_cells_far_outside_the_node_is_the_same(kind, rng):
    rows = {"constant": np.full((30, 2), 0.3), "one row": np.ones((1, 2))}
    node = ChunkedNode.root(held(rows[kind] if kind in rows else make_rows(kind, rng)))
    assert without_far_cells(node) is node


def test_cell_that_is_far_for_its_deviation_alone_is_not_moved(rng):
    X = rng.normal(size=(300, 2))
    X[0, 0] = 9  # nine deviations, but within ten times the range of the central rows
    node = ChunkedNode.root(held(X))
    assert without_far_cells(node) is node


def test_disk_holds_one_copy_of_the_rows(rng, monkeypatch):
    monkeypatch.setattr(_chunks, "LEAST_COPIED", 0)
    X = with_far_cells(rng)
    with LocalChunks(lambda: iter([(X, None)]), 3).copied() as chunks:
        root = ChunkedNode.root(chunks)
        assert chunks._copy is not None
        moved = without_far_cells(root).whole.chunks
        assert chunks._copy is None
        assert moved._copy is not None
        again = ChunkedNode.root(chunks)
        assert moved._copy is None
        assert chunks._copy is None
        assert_allclose(again.moments.mean, X.mean(axis=0))
