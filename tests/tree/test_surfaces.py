"""Trees with cuts that bend: rows down the tree, other trees from it, and files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.strategies import random_tree, seeds

from ravine import _blocks
from ravine.cuts import Cut, Surface
from ravine.tree import HyperplaneTree, _tree
from ravine.tree._coarser import labels_in, nodes_in
from ravine.tree._derived import with_counts_of


def random_surface(rng, n_features, n_directions=None):
    n_directions = n_directions or int(rng.integers(1, 4))
    n_positions = int(rng.integers(2, 9))
    is_left = rng.random(n_positions) < 0.5
    is_left[:2] = True, False
    return Surface(rng.normal(size=(n_directions, n_features)), rng.normal(size=(n_positions, n_directions)), is_left)


def bent_tree(n_cuts, n_features, seed):
    """A random tree, two of three of whose cuts bend."""
    rng = np.random.default_rng(seed)
    tree = random_tree(0, n_features, seed)
    X = rng.normal(size=(60, n_features))
    for i in range(n_cuts):
        surface = random_surface(rng, n_features) if i % 3 else None
        cut = Cut(rng.normal(size=n_features), float(rng.normal()), *rng.uniform(size=3).tolist(), surface=surface)
        tree = tree.split(int(rng.choice(tree.leaves)), cut, X)
    return tree


bent_trees = st.builds(bent_tree, st.integers(2, 9), st.integers(1, 4), seeds)


def rows_for(tree, seed, n=30):
    return np.random.default_rng(seed).normal(size=(n, tree.n_features))


def height(tree, node, x):
    surface = tree.surface[node]
    if surface is None:
        return x @ tree.normal[node] - tree.offset[node]
    apart = np.linalg.norm(surface.positions - surface.directions @ x, axis=1)
    return apart[surface.is_left].min() - apart[~surface.is_left].min()


@given(bent_trees, seeds, st.sampled_from([np.float32, np.float64]), st.sampled_from(["C", "F", "csr"]))
def test_rows_go_where_the_heights_say(tree, seed, dtype, form):
    X = rows_for(tree, seed).astype(dtype)
    leaf, distance = np.zeros(len(X), dtype=int), np.zeros((len(X), len(tree.cuts)))
    for i, x in enumerate(X.astype(float)):
        while tree.left[leaf[i]] >= 0:
            here = height(tree, leaf[i], x)
            distance[i, np.searchsorted(tree.cuts, leaf[i])] = here
            leaf[i] = tree.left[leaf[i]] if here < 0 else tree.right[leaf[i]]
    given_rows = sparse.csr_array(X) if form == "csr" else np.asarray(X, order=form)
    assert_array_equal(tree.apply(given_rows), leaf)
    assert_array_equal(tree.predict(given_rows), tree.label[leaf])
    assert_allclose(tree.signed_distance(given_rows), distance, atol=1e-6)
    path = tree.decision_path(given_rows).toarray().astype(bool)
    for column, node in enumerate(tree.cuts):
        assert_array_equal(distance[path[:, node], column] < 0, path[path[:, node], tree.left[node]])


@pytest.mark.parametrize("cells", [1, 7, 64, 1000])
@pytest.mark.parametrize("as_csr", [False, True])
def test_size_of_the_blocks_and_threads_do_not_matter(cells, as_csr, monkeypatch):
    tree = bent_tree(8, 4, 0)
    X = rows_for(tree, 1, n=50)
    given_rows = sparse.csr_array(X) if as_csr else X
    leaf, distance = tree.apply(X), tree.signed_distance(X)
    monkeypatch.setattr(_blocks, "BLOCK_CELLS", cells)
    monkeypatch.setattr(_tree, "BLOCK_CELLS", cells)
    for n_jobs in (1, 2):
        assert_array_equal(tree.apply(given_rows, n_jobs), leaf)
        assert_allclose(tree.signed_distance(given_rows, n_jobs), distance, atol=1e-12)


@given(bent_trees)
def test_no_rows_have_no_leaves(tree):
    assert tree.apply(np.empty((0, tree.n_features))).shape == (0,)
    assert tree.signed_distance(np.empty((0, tree.n_features))).shape == (0, len(tree.cuts))


@given(bent_trees, st.data())
def test_coarser_trees_join_clusters_and_keep_the_surfaces_above(tree, data):
    X = rows_for(tree, 0, n=80)
    node = data.draw(st.sampled_from(tree.cuts.tolist()))
    for coarser in (tree.cut_to(data.draw(st.integers(1, tree.n_clusters))), tree.prune(node)):
        assert_array_equal(coarser.predict(X), labels_in(tree, coarser)[tree.predict(X)])
        was = nodes_in(tree, coarser)
        for mine, theirs in enumerate(was):
            assert coarser.surface[mine] == (None if coarser.is_leaf[mine] else tree.surface[theirs])


@given(bent_trees, seeds)
def test_splitting_a_leaf_again_by_the_cut_that_was_there_gives_back_the_tree(tree, seed):
    last = int(np.flatnonzero(tree.rank == tree.rank.max())[0])
    X = rows_for(tree, seed, n=200)
    again = tree.prune(last).split(last, tree.cut(last), X)
    assert_array_equal(again.predict(X), tree.predict(X))
    assert again.surface[last] == tree.surface[last]
    leaf = tree.apply(X)
    for child in (again.left[last], again.right[last]):
        assert again.count[child] == (leaf == child).sum()


@given(bent_trees, seeds)
def test_unscaled_tree_parts_the_rows_before_scaling(tree, seed):
    rng = np.random.default_rng(seed)
    center, scale = rng.normal(size=tree.n_features), rng.uniform(0.5, 3, size=tree.n_features)
    Z = rows_for(tree, seed, n=100)
    clear = np.abs(np.where(tree.signed_distance(Z) == 0, 1, tree.signed_distance(Z))).min(axis=1) > 1e-9
    unscaled = tree.unscaled(center, scale)
    assert_array_equal(unscaled.predict(Z * scale + center)[clear], tree.predict(Z)[clear])


@given(bent_trees, seeds)
def test_counted_tree_has_the_moments_of_other_rows_and_the_same_partition(tree, seed):
    X, weights = rows_for(tree, seed, n=100), np.random.default_rng(seed).integers(1, 4, size=100).astype(float)
    counted = with_counts_of(tree, X, weights)
    labels = counted.predict(X)
    assert counted.n_clusters == len(np.unique(tree.predict(X)))
    assert len(np.unique(np.stack([labels, tree.predict(X)]), axis=1).T) == counted.n_clusters
    assert_allclose(counted.count[counted.leaves], np.bincount(labels, weights))
    for label, leaf in enumerate(counted.leaves):
        mine = labels == label
        assert_allclose(counted.mean[leaf], np.average(X[mine], axis=0, weights=weights[mine]), atol=1e-9)


@given(bent_trees)
def test_dictionary_gives_back_the_tree(tree):
    record = tree.to_dict()
    again = HyperplaneTree.from_dict(record)
    assert again == tree
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in record["surfaces"].values())
    assert "surfaces" not in tree.prune(0).to_dict()
    X = rows_for(tree, 0)
    assert_array_equal(again.predict(X), tree.predict(X))


@given(bent_trees)
def test_trees_differ_where_one_surface_does(tree):
    bent = int(np.flatnonzero([surface is not None for surface in tree.surface])[0])
    surface = tree.surface[bent]
    others = [
        surface.turned(),
        Surface(surface.directions * 2, surface.positions, surface.is_left),
        Surface(surface.directions, surface.positions + 1, surface.is_left),
        None,
    ]
    for other in others:
        changed = tree.surface.copy()
        changed[bent] = other
        columns = {**_tree.fields_of(tree), "surface": changed}
        assert HyperplaneTree(**columns) != tree
    assert surface.turned().turned() == surface
    assert surface != "surface"


@given(seeds, st.integers(1, 3))
def test_turned_cut_exchanges_the_sides(seed, n_directions):
    rng = np.random.default_rng(seed)
    cut = Cut(rng.normal(size=3), 0.3, surface=random_surface(rng, 3, n_directions))
    X = rng.normal(size=(40, 3))
    assert_allclose(cut.turned().heights(X), -cut.heights(X), atol=1e-12)
    assert_allclose(cut.turned().normal, -cut.normal)


def test_surfaces_cannot_be_written_to_and_leaves_have_none():
    tree = bent_tree(3, 2, 0)
    with pytest.raises(ValueError, match="read-only"):
        tree.surface[0] = None
    bent = np.flatnonzero([surface is not None for surface in tree.surface])[0]
    at_leaf = tree.surface.copy()
    at_leaf[tree.leaves[0]] = tree.surface[bent]
    with pytest.raises(ValueError, match="field 'surface' is not None at a leaf"):
        HyperplaneTree(**{**_tree.fields_of(tree), "surface": at_leaf})
    with pytest.raises(ValueError, match="field 'surface' has 1 entries for 7 nodes"):
        HyperplaneTree(**{**_tree.fields_of(tree), "surface": tree.surface[:1]})


def changes(record):
    """Every entry of the packed surfaces made wrong, the field that the error names, and what it says."""
    node, positions, is_left = record["node"], record["positions"], record["is_left"]
    counts, n_positions = record["n_directions"], record["n_positions"]
    return [
        ({"node": node + 99}, "node", "has the entry"),
        ({"node": node - 99}, "node", "has the entry"),
        ({"node": np.full_like(node, node[0])}, "node", "has a node twice"),
        ({"node": node[:-1]}, "n_directions", "has shape"),
        ({"node": node.astype(float)}, "node", "must be an array of integers"),
        ({"node": np.int64(1)}, "node", "has shape"),
        ({"n_directions": counts * 0}, "n_directions", "has the entry 0"),
        ({"n_directions": counts + 1}, "directions", "has 7 entries, but needs 11"),
        ({"n_directions": counts[:, np.newaxis]}, "n_directions", "has shape"),
        ({"directions": record["directions"][:-1]}, "directions", "has .* entries, but needs"),
        ({"directions": record["directions"][:, :-1]}, "directions", "has shape"),
        ({"directions": record["directions"] * np.nan}, "directions", "has the entry nan"),
        ({"directions": record["directions"].astype(int)}, "directions", "must be an array of float32 or float64"),
        ({"n_positions": n_positions * 0 + 1}, "n_positions", "has the entry 1"),
        ({"n_positions": n_positions[::-1] + 1}, "is_left", "has .* entries, but needs"),
        ({"n_positions": n_positions.astype(bool)}, "n_positions", "must be an array of integers"),
        ({"positions": positions[:-1]}, "positions", "has .* entries, but needs"),
        ({"positions": positions[:, np.newaxis]}, "positions", "has shape"),
        ({"positions": positions + np.inf}, "positions", "has the entry inf"),
        ({"positions": positions.astype("U9")}, "positions", "must be an array of float32 or float64"),
        ({"is_left": is_left[:-1]}, "is_left", "has .* entries, but needs"),
        ({"is_left": is_left.astype(int)}, "is_left", "must be an array of bool"),
        ({"is_left": is_left | True}, "is_left", "has a surface without positions on one side"),
        ({"is_left": is_left & False}, "is_left", "has a surface without positions on one side"),
        ({"more": is_left}, "more", "is unknown"),
    ]


def test_packed_surfaces_that_fit_nothing_are_refused():
    record = bent_tree(6, 3, 2).to_dict()
    packed = record["surfaces"]
    assert len(packed["node"]) > 1
    for change, name, message in changes(packed):
        with pytest.raises(ValueError, match=f"field 'surfaces.{name}' {message}"):
            HyperplaneTree.from_dict({**record, "surfaces": {**packed, **change}})
    missing = {name: array for name, array in packed.items() if name != "node"}
    with pytest.raises(ValueError, match=r"field 'surfaces\.node' is missing"):
        HyperplaneTree.from_dict({**record, "surfaces": missing})
    for surfaces in ([], 3):
        with pytest.raises(ValueError, match="field 'surfaces' must be a dictionary"):
            HyperplaneTree.from_dict({**record, "surfaces": surfaces})
    leaf = HyperplaneTree.from_dict(record).leaves[0]
    with pytest.raises(ValueError, match=r"field 'surfaces\.node' has a leaf"):
        HyperplaneTree.from_dict({**record, "surfaces": {**packed, "node": np.r_[leaf, packed["node"][1:]]}})


@pytest.mark.parametrize(
    "dtype",
    [
        np.int8,
        np.uint16,
        np.uint64,
    ],
)
@pytest.mark.parametrize("name", ["n_directions", "n_positions"])
def test_counts_may_be_integers_of_any_type(name, dtype):
    tree = bent_tree(6, 3, 2)
    record = tree.to_dict()
    surfaces = {**record["surfaces"], name: record["surfaces"][name].astype(dtype)}
    assert HyperplaneTree.from_dict({**record, "surfaces": surfaces}) == tree


def test_sums_of_counts_that_wrap_around_are_refused():
    record = bent_tree(2, 2, 0).to_dict()
    packed = {**record["surfaces"]}
    assert len(packed["node"]) == 1
    huge = np.array([2**64 - 2, 4], dtype=np.uint64)
    wrapped = {
        "node": np.array([0, 1]),
        "n_directions": np.array([1, 1], dtype=np.uint64),
        "directions": np.ones((2, 2)),
        "n_positions": huge,
        "positions": np.zeros(2),
        "is_left": np.array([True, False]),
    }
    with pytest.raises(ValueError, match=r"field 'surfaces\.n_positions' has the entry"):
        HyperplaneTree.from_dict({**record, "surfaces": wrapped})
