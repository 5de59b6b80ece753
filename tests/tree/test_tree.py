import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests import naive
from tests.strategies import random_tree, seeds, trees

from ravine import _blocks
from ravine.cuts import Cut
from ravine.tree import HyperplaneTree
from ravine.tree._derived import with_counts_of
from ravine.tree._text import shares_of_cut


def rows_for(tree, seed, n=30):
    return np.random.default_rng(seed).normal(size=(n, tree.n_features))


# Rows down the tree


@given(trees, seeds, st.sampled_from([np.float32, np.float64]), st.booleans())
def test_apply_agrees_with_a_naive_walk(tree, seed, dtype, as_csr):
    X = rows_for(tree, seed).astype(dtype)
    expected = [naive.walk(x.astype(float), tree.normal, tree.offset, tree.left, tree.right) for x in X]
    assert_array_equal(tree.apply(sparse.csr_array(X) if as_csr else X), expected)


@given(trees)
def test_labels_have_no_gaps_and_run_from_left_to_right(tree):
    def leaves(node):
        return [node] if tree.left[node] < 0 else leaves(tree.left[node]) + leaves(tree.right[node])

    assert_array_equal(tree.leaves, leaves(0))
    assert_array_equal(tree.label[tree.leaves], np.arange(tree.n_clusters))
    assert (tree.label[tree.cuts] == -1).all()


@given(trees, seeds)
def test_predict_is_the_label_of_the_leaf(tree, seed):
    X = rows_for(tree, seed)
    assert_array_equal(tree.predict(X), tree.label[tree.apply(X)])


@given(trees, seeds)
def test_decision_path_runs_from_the_root_to_the_leaf(tree, seed):
    X = rows_for(tree, seed)
    path = tree.decision_path(X).toarray()
    assert path[:, 0].all()
    for i, leaf in enumerate(tree.apply(X)):
        expected = []
        while leaf >= 0:
            expected.append(leaf)
            leaf = tree.parent[leaf]
        assert_array_equal(np.flatnonzero(path[i]), sorted(expected))


@given(trees, seeds)
def test_signed_distance_is_given_on_the_path_and_zero_elsewhere(tree, seed):
    X = rows_for(tree, seed)
    distance = tree.signed_distance(X)
    on_path = tree.decision_path(X).toarray()[:, tree.cuts].astype(bool)
    everywhere = X @ tree.normal[tree.cuts].T - tree.offset[tree.cuts]
    assert_allclose(distance, np.where(on_path, everywhere, 0), atol=1e-12)


@given(trees, seeds)
def test_sign_of_the_distance_says_the_side(tree, seed):
    X = rows_for(tree, seed)
    path, distance = tree.decision_path(X).toarray().astype(bool), tree.signed_distance(X)
    for column, node in enumerate(tree.cuts):
        here = path[:, node]
        assert_array_equal(distance[here, column] < 0, path[here, tree.left[node]])


@pytest.mark.parametrize("as_csr", [False, True])
def test_threads_and_blocks_do_not_change_the_result(monkeypatch, as_csr):
    tree = random_tree(9, 4, seed=3)
    X = rows_for(tree, 4, n=101)
    X = sparse.csr_array(X) if as_csr else X
    whole = tree.apply(X, n_jobs=1)
    monkeypatch.setattr(_blocks, "BLOCK_CELLS", 20)
    for n_jobs in (1, 2, 5, -1, None):
        assert_array_equal(tree.apply(X, n_jobs=n_jobs), whole)
        assert_array_equal(tree.signed_distance(X, n_jobs), tree.signed_distance(X, 1))


def test_rows_in_any_layout_and_type_are_taken():
    tree = random_tree(6, 3, seed=5)
    X = np.random.default_rng(0).integers(-3, 3, size=(40, 3))
    expected = tree.apply(X.astype(float))
    for other in (X, X.astype(np.int8), np.asfortranarray(X, dtype=float), X.astype(float)[::-1][::-1], X.tolist()):
        assert_array_equal(tree.apply(other), expected)
    for make in (sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        assert_array_equal(tree.apply(make(X.astype(float))), expected)
    read_only = X.astype(float)
    read_only.setflags(write=False)
    assert_array_equal(tree.apply(read_only), expected)


def test_no_rows_give_no_labels():
    tree = random_tree(3, 2, seed=0)
    assert tree.apply(np.empty((0, 2))).shape == (0,)
    assert tree.decision_path(np.empty((0, 2))).shape == (0, tree.n_nodes)
    assert tree.signed_distance(sparse.csr_array((0, 2))).shape == (0, 3)


def test_wrong_width_is_refused_with_both_widths():
    with pytest.raises(ValueError, match=r"X has shape \(5, 2\), but the tree was grown on 3 columns"):
        random_tree(2, 3, seed=0).apply(np.zeros((5, 2)))


# Other trees from this one


@given(trees, st.data())
def test_cut_to_gives_that_many_nested_clusters(tree, data):
    k = data.draw(st.integers(1, tree.n_clusters))
    X = rows_for(tree, 1, n=60)
    coarse, fine = tree.cut_to(k).predict(X), tree.predict(X)
    assert tree.cut_to(k).n_clusters == k
    assert (np.diff(coarse[np.argsort(fine, kind="stable")]) >= 0).all()
    for label in np.unique(fine):
        assert len(np.unique(coarse[fine == label])) == 1


@given(trees)
def test_cut_to_all_clusters_is_the_same_tree(tree):
    assert tree.cut_to(tree.n_clusters) == tree


def test_cut_to_says_what_is_possible():
    tree = random_tree(3, 2, seed=0)
    for k in (0, 5):
        with pytest.raises(ValueError, match=f"n_clusters={k} must be an integer between 1 and 4"):
            tree.cut_to(k)


@given(trees, seeds, st.data())
def test_prune_then_cut_to_never_changes_an_untouched_leaf(tree, seed, data):
    if not len(tree.cuts):
        return
    node = data.draw(st.sampled_from(tree.cuts.tolist()))
    X = rows_for(tree, seed, n=60)
    below = tree.decision_path(X).toarray()[:, node].astype(bool)
    pruned = tree.prune(node)
    assert len(np.unique(pruned.apply(X)[below])) <= 1
    same_leaf = tree.apply(X)[~below]
    for other in (pruned, pruned.cut_to(pruned.n_clusters)):
        labels = other.predict(X)[~below]
        for leaf in np.unique(same_leaf):
            assert len(np.unique(labels[same_leaf == leaf])) == 1
        assert len(np.unique(labels)) == len(np.unique(same_leaf))


@given(trees, seeds, st.data())
def test_splitting_a_leaf_changes_only_its_rows(tree, seed, data):
    leaf = data.draw(st.sampled_from(tree.leaves.tolist()))
    X = rows_for(tree, seed, n=60)
    cut = Cut(np.ones(tree.n_features) * 3, 0.5, value=2.0, relative_depth=0.1, p_value=0.3)
    split = tree.split(leaf, cut, X)
    here = tree.apply(X) == leaf
    assert split.n_clusters == tree.n_clusters + 1
    assert split.cut_to(tree.n_clusters) == tree or tree.p_value[leaf] != cut.p_value
    side = split.predict(X)[here] - tree.label[leaf]
    assert_array_equal(side, (X[here].sum(axis=1) * 3 >= 0.5).astype(int))
    node = split.parent[split.leaves[tree.label[leaf]]]
    assert_allclose(split.normal[node], np.ones(tree.n_features) / np.sqrt(tree.n_features))
    for child, rows in ((split.left[node], X[here][side == 0]), (split.right[node], X[here][side == 1])):
        assert split.count[child] == len(rows)
        if len(rows):
            assert_allclose(split.mean[child], rows.mean(axis=0))
            assert_allclose(split.sum_sq[child], ((rows - rows.mean(axis=0)) ** 2).sum(), atol=1e-9)


def test_split_without_rows_knows_nothing_of_the_sides():
    tree = random_tree(0, 2, seed=0).split(0, Cut(np.array([1.0, 0.0]), 0.0))
    assert_array_equal(tree.count, [20, 0, 0])
    assert_array_equal(tree.mean[1], tree.mean[0])


def test_split_takes_sample_weights():
    X = np.array([[-1.0], [1.0], [3.0]])
    tree = random_tree(0, 1, seed=0).split(0, Cut(np.array([1.0]), 0.0), X, sample_weight=[5, 1, 3])
    assert_array_equal(tree.count[1:], [5, 4])
    assert tree.mean[2, 0] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.prune(99), "no node 99; the nodes of the tree are 0 to 6"),
        (lambda t: t.prune(-1), "no node -1"),
        (lambda t: t.prune(int(t.leaves[0])), "is already a leaf; the nodes that can be pruned are"),
        (lambda t: t.split(0, Cut(np.ones(2), 0.0)), "node 0 already has a cut; the leaves are"),
        (lambda t: t.split(int(t.leaves[0]), Cut(np.ones(3), 0.0)), "shape .3,., but the tree has 2 features"),
        (lambda t: t.split(int(t.leaves[0]), Cut(np.zeros(2), 0.0)), "finite, non-zero normal"),
        (lambda t: t.split(int(t.leaves[0]), Cut(np.ones(2), np.nan)), "finite offset"),
        (lambda t: t.describe(["a"]), "feature_names has 1 entries, but the tree has 2 features"),
    ],
)
def test_impossible_edits_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call(random_tree(3, 2, seed=0))


def test_arrays_cannot_be_written_to():
    tree = random_tree(2, 2, seed=0)
    with pytest.raises(ValueError, match="read-only"):
        tree.offset[0] = 1


# For files


@given(trees)
def test_dictionary_round_trip_gives_the_same_tree(tree):
    assert HyperplaneTree.from_dict(tree.to_dict()) == tree
    lists = {name: np.asarray(value).tolist() for name, value in tree.to_dict().items()}
    assert HyperplaneTree.from_dict(json.loads(json.dumps(lists))) == tree


def test_copies_and_pickles_are_the_same_tree():
    tree = random_tree(5, 3, seed=0)
    assert copy.deepcopy(tree) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree != random_tree(5, 3, seed=1)
    assert tree != "a tree"


def tamper(field, change):
    record = random_tree(4, 2, seed=0).to_dict()
    record[field] = change(record[field])
    return record


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("left", put(0, 0)),
        ("left", put(0, 2)),
        ("left", put(0, -1)),
        ("left", put(0, 99)),
        ("right", put(0, 1)),
        ("right", put(0, -7)),
        ("right", lambda a: a[:-1]),
        ("right", lambda a: a + 0.5),
        ("parent", put(0, 3)),
        ("parent", lambda a: a + 0.5),
        ("depth", put(1, 5)),
        ("rank", put(0, 2)),
        ("rank", lambda a: a * 0),
        ("normal", lambda a: a * 2),
        ("normal", lambda a: a[:, :0]),
        ("normal", lambda a: a.ravel()),
        ("normal", put((0, 0), np.nan)),
        ("offset", put(0, np.inf)),
        ("offset", lambda a: a + 1),
        ("offset", lambda a: ["left"] * len(a)),
        ("offset", lambda a: None),
        ("offset", lambda a: {"__class__": "os.system"}),
        ("mean", lambda a: a[:, :1]),
        ("mean", lambda a: [[1, 2], [3]]),
        ("count", put(0, -1)),
        ("sum_sq", put(0, np.nan)),
        ("relative_depth", put(0, -1)),
        ("p_value", put(0, 1.5)),
        ("value", lambda a: a[:, None]),
        ("depth", lambda a: a.astype(object) * 10**30),
    ],
)
def test_tampered_field_is_named(field, change):
    with pytest.raises(ValueError, match=f"'{field}'|'left'|'right'") as raised:
        HyperplaneTree.from_dict(tamper(field, change))
    if field not in ("left", "right"):
        assert f"'{field}'" in str(raised.value)


def test_missing_unknown_and_foreign_dictionaries_are_refused():
    record = random_tree(2, 2, seed=0).to_dict()
    for name in list(record):
        with pytest.raises(ValueError, match=f"field '{name}' is missing"):
            HyperplaneTree.from_dict({key: value for key, value in record.items() if key != name})
    with pytest.raises(ValueError, match="field 'color' is unknown"):
        HyperplaneTree.from_dict({**record, "color": 1})
    with pytest.raises(ValueError, match="'format_version' is 99; this version of ravine reads 1"):
        HyperplaneTree.from_dict({**record, "format_version": 99})
    with pytest.raises(ValueError, match="must be a dictionary, not list"):
        HyperplaneTree.from_dict([1, 2])
    with pytest.raises(ValueError, match="'left' is empty"):
        HyperplaneTree.from_dict(
            {name: value if name == "format_version" else value[:0] for name, value in record.items()}
        )


@given(trees, st.data())
def test_any_change_of_the_structure_is_refused(tree, data):
    record = tree.to_dict()
    field = data.draw(st.sampled_from(["left", "right", "parent", "depth", "rank"]))
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    value = data.draw(st.integers(-2, tree.n_nodes + 1))
    if record[field][node] != value:
        record[field][node] = value
        with pytest.raises(ValueError, match="field '"):
            HyperplaneTree.from_dict(record)


# For people


def small_tree():
    X = np.array([[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 4.0]])
    tree = random_tree(0, 2, seed=0)
    return tree.split(0, Cut(np.array([0.8, 0.6]), 5.0, p_value=0.01), X)


def test_describe_gives_shares_of_the_distance_between_the_sides_and_their_differences():
    table = pd.DataFrame(small_tree().describe(["width", "height"]))
    cut = table[table.kind == "cut"].set_index("feature")
    share = {"width": 0.8 * 10 / 8.6, "height": 0.6 * 1 / 8.6}
    assert cut.share.to_dict() == pytest.approx(share)
    assert cut.coefficient.to_dict() == pytest.approx({"width": 0.8, "height": 0.6})
    right = table[table.label == 1].set_index("feature")
    assert right.difference.to_dict() == pytest.approx({"width": 10.0, "height": 1.0})
    assert right.share.to_dict() == pytest.approx(share)
    assert set(table.columns) == {
        "node",
        "depth",
        "count",
        "kind",
        "label",
        "feature",
        "coefficient",
        "difference",
        "share",
    }


@given(trees)
def test_describe_lists_every_cut_and_cluster(tree):
    records = tree.describe(n_features=tree.n_features)
    assert {r["node"] for r in records if r["kind"] == "cut"} == set(tree.cuts.tolist())
    for node in tree.cuts:
        assert sum(r["share"] for r in records if r["node"] == node) == pytest.approx(1)


def test_shares_of_a_cut_do_not_depend_on_units_and_fall_back_on_the_normal(rng):
    X, unit = rng.normal(size=(60, 3)), np.array([1e-3, 1.0, 1e5])
    cut, stretched = (Cut(v / np.linalg.norm(v), 0.0) for v in (np.array([1.0, -2.0, 0.5]), [1e3, -2.0, 0.5e-5]))
    tree, other = random_tree(0, 3, seed=0).split(0, cut, X), random_tree(0, 3, seed=0).split(0, stretched, X * unit)
    assert_allclose(shares_of_cut(tree, 0), shares_of_cut(other, 0), rtol=1e-9)
    unknown = random_tree(0, 3, seed=0).split(0, cut)
    assert_allclose(shares_of_cut(unknown, 0), cut.normal**2)


def test_drawing_by_hand():
    assert small_tree().to_text(["width", "height"]).splitlines() == [
        "HyperplaneTree: 2 clusters, 1 cut, 2 features",
        "0: 20 rows, width (93%), height (7%), p = 0.01",
        "├─ 1: 2 rows → cluster 0",
        "└─ 2: 2 rows → cluster 1",
    ]


@given(trees)
def test_drawing_has_a_line_for_every_node(tree):
    assert len(str(tree).splitlines()) == tree.n_nodes + 1
    assert repr(tree) == f"<{str(tree).splitlines()[0]}>"


def test_a_deep_tree_needs_no_recursion():
    tree = random_tree(0, 1, seed=0)
    for depth in range(300):
        tree = tree.split(int(tree.leaves[-1]), Cut(np.array([1.0]), float(depth)))
    assert tree.depth.max() == 300
    assert_array_equal(tree.predict(np.arange(-0.5, 300)[:, None]), np.arange(301))
    assert len(str(tree).splitlines()) == 602


# Rows of another time, other coordinates


@given(trees, seeds, st.booleans())
def test_counted_tree_has_the_moments_of_the_rows_at_each_node(tree, seed, as_csr):
    X, weights = rows_for(tree, seed), np.random.default_rng(seed).uniform(0.1, 1, size=30)
    counted = with_counts_of(tree, sparse.csr_array(X) if as_csr else X, weights)
    path = counted.decision_path(X).toarray().astype(bool)
    for node in range(counted.n_nodes):
        count, mean, sum_sq = naive.moments(X[path[:, node]], weights[path[:, node]])
        assert_allclose(counted.count[node], count)
        assert_allclose(counted.mean[node], mean, atol=1e-9)
        assert_allclose(counted.sum_sq[node], sum_sq, atol=1e-8)


@given(trees, seeds)
def test_counting_leaves_out_the_cuts_with_nothing_on_one_side_and_no_others(tree, seed):
    X = rows_for(tree, seed, n=8)
    counted = with_counts_of(tree, X, np.ones(8))
    assert (counted.count > 0).all()
    before, after = tree.predict(X), counted.predict(X)
    assert len(np.unique(before)) == counted.n_clusters
    assert_array_equal(before[:, None] == before, after[:, None] == after)


@given(trees, seeds)
def test_unscaled_tree_takes_rows_as_they_were_before_scaling(tree, seed):
    rng = np.random.default_rng(seed)
    center, scale = rng.normal(size=tree.n_features), rng.uniform(0.5, 2, size=tree.n_features)
    X = rows_for(tree, seed)
    other = tree.unscaled(center, scale)
    near = np.abs(tree.signed_distance(X)).min(axis=1, initial=1, where=tree.signed_distance(X) != 0) < 1e-9
    assert_array_equal(other.apply(X * scale + center)[~near], tree.apply(X)[~near])
    assert_allclose(other.mean, tree.mean * scale + center)
