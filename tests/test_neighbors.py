import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine import _neighbors
from ravine._neighbors import neighbor_graph
from ravine._numbering import renumber


def blobs(n_blobs, n_rows, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, d)) + 30 * rng.normal(size=(n_blobs, d))[rng.integers(0, n_blobs, n_rows)]


def neighbor_pairs(rows, n_neighbors):
    length = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(length, np.inf)
    nearest = length.argsort(axis=1)[:, :n_neighbors]
    return {(min(i, int(k)), max(i, int(k))) for i in range(len(rows)) for k in nearest[i]}


def assert_is_the_neighbor_graph(rows, n_neighbors):
    a, b, length = neighbor_graph(rows, n_neighbors)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    near = neighbor_pairs(rows, min(n_neighbors, len(rows) - 1))
    assert pairs == sorted(set(pairs))
    assert (a < b).all()
    assert_allclose(length, np.linalg.norm(rows[a] - rows[b], axis=1))
    assert not naive.components(len(rows), pairs).any()
    assert set(pairs) - near == naive.spanning_edges(rows, naive.components(len(rows), near))
    assert near <= set(pairs)


@given(st.integers(1, 8), st.integers(2, 40), st.integers(1, 3), st.integers(1, 5), seeds)
def test_graph_has_the_nearest_neighbors_and_the_spanning_tree_of_its_components(n_blobs, n_rows, d, n_neighbors, seed):
    assert_is_the_neighbor_graph(blobs(n_blobs, n_rows, d, seed), n_neighbors)


@pytest.mark.parametrize("few", [0, 1, 4])
def test_components_too_large_for_a_search_among_all_rows_are_joined_the_same(few, monkeypatch):
    monkeypatch.setattr(_neighbors, "FEW", few)
    for seed in range(10):
        assert_is_the_neighbor_graph(blobs(6, 40, 2, seed), 2)


def test_many_components_are_joined():
    rows = np.repeat(10.0 * np.arange(40) ** 1.5, 2)[:, None] + np.tile([0.0, 0.5], 40)[:, None]
    assert_is_the_neighbor_graph(rows, 1)


def test_two_rows_have_one_edge_and_one_row_has_none():
    a, b, length = neighbor_graph(np.array([[0.0, 0.0], [3.0, 4.0]]), 10)
    assert (a.tolist(), b.tolist(), length.tolist()) == ([0], [1], [5.0])
    assert [len(part) for part in neighbor_graph(np.zeros((1, 2)), 10)] == [0, 0, 0]


def test_graph_does_not_depend_on_the_number_of_threads(rng):
    rows = rng.normal(size=(60, 3))
    for one, two in zip(neighbor_graph(rows, 4, 1), neighbor_graph(rows, 4, 2), strict=True):
        assert_array_equal(one, two)


def test_renumbered_groups_come_in_order():
    assert_array_equal(renumber(np.array([7, 2, 7, 0, 2])), [0, 1, 0, 2, 1])
