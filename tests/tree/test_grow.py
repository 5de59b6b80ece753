import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from tests import naive

from ravine import MDH, PDDP, NCutH, _blocks
from ravine._matrix import moments_of
from ravine.cuts import Cut, _pursuit
from ravine.cuts._principal import mean_cut
from ravine.tree._grow import ORDERS, _without, _Workspace, grow

_rng = np.random.default_rng(0)
X = _rng.normal(size=(200, 3)) * [3, 2, 1]


def halve(rows, weights, moments):
    """Cut the first column at its mean; the value is how far right the node lies, the depth how many rows it has."""
    if moments.sum_sq == 0:
        return None
    middle = moments.mean[0]
    return Cut(np.array([1.0, 0.0, 0.0]), middle, value=-middle, relative_depth=moments.count)


def test_counts_means_and_sums_of_squares_are_those_of_the_rows_below():
    tree = grow(X, halve, n_clusters=8)
    path = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.n_nodes):
        count, mean, sum_sq = naive.moments(X[path[:, node]], np.ones(path[:, node].sum()))
        assert tree.count[node] == count
        assert_allclose(tree.mean[node], mean, atol=1e-12)
        assert_allclose(tree.sum_sq[node], sum_sq)


@pytest.mark.parametrize("order", ["size", "value", "relative_depth", "sum_sq"])
def test_the_best_leaf_is_cut_first(order):
    tree = grow(X, halve, n_clusters=6, order=order)
    keys = {
        "size": tree.count,
        "value": tree.mean[:, 0],
        "relative_depth": tree.count,
        "sum_sq": tree.sum_sq,
    }[order]
    for k in range(1, 6):
        cut = np.flatnonzero(tree.rank == k)[0]
        before = tree.cut_to(k)
        candidates = keys[
            [n for n in range(tree.n_nodes) if (before.mean[before.leaves] == tree.mean[n]).all(axis=1).any()]
        ]
        assert keys[cut] == candidates.max()


def test_order_may_be_a_callable():
    smallest_first = grow(X, halve, n_clusters=6, order=lambda cut, rows: rows.count)
    assert smallest_first.depth.max() == 5


def test_growing_less_is_the_same_as_cutting_to_less():
    tree = grow(X, halve, n_clusters=9)
    for k in range(1, 9):
        small = grow(X, halve, n_clusters=k)
        assert_array_equal(small.predict(X), tree.cut_to(k).predict(X))
        assert small == tree.cut_to(k)


def test_growth_stops_where_no_leaf_has_a_cut():
    rows = np.repeat(X[:5], 3, axis=0)
    assert grow(rows, halve).n_clusters == 5


def test_min_cluster_size_holds_on_both_sides_and_in_weight():
    tree = grow(X, halve, min_cluster_size=30)
    assert tree.count.min() >= 30
    weighted = grow(X, halve, sample_weight=np.full(200, 2.0), min_cluster_size=60)
    assert_array_equal(weighted.predict(X), tree.predict(X))


def test_max_depth_holds():
    assert grow(X, halve, max_depth=3).depth.max() == 3
    assert grow(X, halve, max_depth=0).n_clusters == 1


def test_a_cut_with_all_rows_on_one_side_is_not_made():
    assert grow(X, lambda *_: Cut(np.array([1.0, 0.0, 0.0]), 1e9)).n_clusters == 1


def test_sparse_rows_give_the_same_tree():
    dense, csr = grow(X, halve, n_clusters=7), grow(sparse.csr_array(X), halve, n_clusters=7)
    assert_array_equal(dense.predict(X), csr.predict(sparse.csr_array(X)))
    assert_allclose(dense.mean, csr.mean)


def test_order_of_the_rows_does_not_matter(rng):
    order = rng.permutation(200)
    assert_array_equal(grow(X, halve, n_clusters=7).predict(X), grow(X[order], halve, n_clusters=7).predict(X))


def accept_only(*counts):
    def find(rows, weights, moments):
        cut = halve(rows, weights, moments)
        return None if cut is None else Cut(cut.normal, cut.offset, p_value=0.0 if moments.count in counts else 1.0)

    return find


def test_cuts_that_are_not_believed_are_not_made():
    tree = grow(X, accept_only(200), accept=lambda cut, n_not_accepted: cut.p_value < 0.5)
    assert tree.n_clusters == 2
    assert_array_equal(tree.p_value, [0, 1, 1])


def test_look_ahead_keeps_a_cut_for_the_sake_of_one_below_it():
    full = grow(X, halve, max_depth=3)
    child, grandchild = full.count[1], full.count[2]
    accept = {"accept": lambda cut, n_not_accepted: cut.p_value < 0.5}
    assert grow(X, accept_only(child), **accept).n_clusters == 1
    tree = grow(X, accept_only(child), look_ahead=1, **accept)
    assert tree.n_clusters == 3
    assert grow(X, accept_only(grandchild), look_ahead=1, **accept).n_clusters == 1
    assert grow(X, accept_only(grandchild), look_ahead=2, **accept).n_clusters == 4


def test_look_ahead_with_nothing_to_find_leaves_one_cluster():
    tree = grow(X, accept_only(), accept=lambda cut, n_not_accepted: cut.p_value < 0.5, look_ahead=3)
    assert tree.n_clusters == 1


def test_every_cut_is_reported():
    seen = []
    grow(X, halve, n_clusters=5, on_split=seen.append)
    assert seen == [2, 3, 4, 5]


def test_last_leaves_are_not_searched_in_vain():
    searched = []

    def find(rows, weights, moments):
        searched.append(moments.count)
        return halve(rows, weights, moments)

    grow(X, find, n_clusters=2)
    assert searched == [200]


def test_many_rows_are_given_without_copying_the_root(monkeypatch):
    monkeypatch.setattr(_pursuit, "COARSE_ABOVE", len(X) - 1)
    seen = []
    grow(X, lambda rows, *args: seen.append(rows is X) or mean_cut(rows, *args), n_clusters=3)
    assert seen == [True, False, False]


def test_few_rows_are_given_in_an_order_of_their_own(rng):
    def rows_of(X, **options):
        seen = []
        grow(X, lambda rows, *args: seen.append(rows.copy()) or mean_cut(rows, *args), n_clusters=3, **options)
        return seen

    shuffled = X[rng.permutation(len(X))]
    for one, other in zip(rows_of(X), rows_of(shuffled), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(rows_of(shuffled, keep_order=True)[0], shuffled)


def test_belief_is_told_how_many_cuts_above_were_not_believed():
    asked = []

    def accept(cut, n_not_accepted):
        asked.append(n_not_accepted)
        return False

    grow(X, accept_only(), accept=accept, look_ahead=2)
    assert asked == [0, 1, 1, 2, 2, 2, 2]


def counting(find, searched):
    def find_and_count(rows, weights, moments):
        searched.append(moments.count)
        return find(rows, weights, moments)

    return find_and_count


@pytest.mark.parametrize("order", ["size", "sum_sq"])
@pytest.mark.parametrize("pair_cells", [0, 1e9], ids=["in pairs", "one by one"])
@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_orders_that_do_not_ask_for_the_cut_search_fewer_leaves_and_give_the_same_tree(order, pair_cells, n_jobs):
    lazily, eagerly = [], []
    options = {"pair_cells": pair_cells, "n_jobs": n_jobs}
    lazy = grow(X, counting(halve, lazily), n_clusters=9, order=order, **options)
    key = ORDERS[order]
    eager = grow(X, counting(halve, eagerly), n_clusters=9, order=lambda cut, rows: key(cut, rows), **options)
    assert lazy == eager
    assert len(eagerly) > len(lazily) >= 8
    assert len(lazily) <= 10 < lazy.n_nodes
    assert len(lazily) == 8 or pair_cells == 0


@pytest.mark.parametrize("order", ["size", "sum_sq"])
def test_leaves_are_searched_once_each_and_those_without_a_cut_are_passed_over(order):
    def only_right_of_zero(rows, weights, moments):
        return halve(rows, weights, moments) if moments.count == 200 or moments.mean[0] > 0 else None

    searched = []
    settings = {"n_clusters": 7, "order": order, "pair_cells": 0}
    tree = grow(X, counting(only_right_of_zero, searched), **settings)
    key = ORDERS[order]
    assert tree == grow(X, only_right_of_zero, **{**settings, "order": lambda cut, rows: key(cut, rows)})
    assert len(searched) == len(set(searched))
    assert tree.n_clusters == 7
    assert (tree.mean[tree.cuts[1:], 0] > 0).all()


def test_lazily_searched_leaves_keep_to_size_depth_and_belief():
    assert grow(X, halve, order="size", min_cluster_size=30).count.min() >= 30
    assert grow(X, halve, order="size", max_depth=3).depth.max() == 3
    full = grow(X, halve, max_depth=3)
    accept = {"accept": lambda cut, n_not_accepted: cut.p_value < 0.5, "order": "size"}
    assert grow(X, accept_only(200), **accept).n_clusters == 2
    assert grow(X, accept_only(full.count[1]), look_ahead=1, **accept).n_clusters == 3
    assert grow(X, accept_only(), look_ahead=3, **accept).n_clusters == 1


@pytest.fixture
def sixteen_cores(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
    for least in ("LEAST_CELLS", "LEAST_SHARE"):
        monkeypatch.setattr(_blocks, least, 1 << 10)
    for cached in (_blocks.count_threads, _blocks._helpers):
        cached.cache_clear()
    yield
    for cached in (_blocks.count_threads, _blocks._helpers):
        cached.cache_clear()


@pytest.fixture(scope="module")
def many_rows():
    """Rows of six groups; the nodes of the first cuts are large."""
    rng = np.random.default_rng(5)
    centers = rng.uniform(0, 9, size=(6, 3))
    return (centers[rng.integers(6, size=90_000)] + rng.normal(size=(90_000, 3))).astype(np.float64)


@pytest.mark.parametrize("model", [NCutH(6), MDH(6), PDDP(6), PDDP(6, criterion="mean")], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_number_of_threads_changes_no_bit_of_large_nodes(model, dtype, many_rows, sixteen_cores):
    rows = many_rows.astype(dtype)
    trees = [clone(model).set_params(n_jobs=n_jobs).fit(rows).tree_ for n_jobs in (1, 3, 16)]
    assert trees[0] == trees[1]
    assert trees[0] == trees[2]


@pytest.mark.parametrize("model", [NCutH(6), MDH(6), PDDP(6)], ids=repr)
def test_order_of_the_rows_changes_no_label_of_large_nodes(model, many_rows, rng):
    order = rng.permutation(len(many_rows))
    labels = clone(model).fit(many_rows).labels_
    assert_array_equal(clone(model).fit(many_rows[order]).labels_, labels[order])


def test_moments_of_large_nodes_are_those_of_their_rows(many_rows):
    tree = NCutH(6).fit(many_rows).tree_
    leaf = tree.apply(many_rows)
    for node in np.flatnonzero(tree.left < 0):
        mine = many_rows[leaf == node]
        assert tree.count[node] == len(mine)
        assert_allclose(tree.mean[node], mine.mean(axis=0), rtol=1e-10)
        assert tree.sum_sq[node] == pytest.approx(((mine - mine.mean(axis=0)) ** 2).sum(), rel=1e-9)


def test_scatter_of_the_other_child_is_the_difference_unless_digits_are_lost(rng):
    one, other = rng.normal(size=(300, 3)), 5 + rng.normal(size=(500, 3))
    weights = rng.uniform(1, 2, size=800)
    both, of_one, of_other = (
        moments_of(rows, w, with_scatter=True)
        for rows, w in ((np.vstack([one, other]), weights), (one, weights[:300]), (other, weights[300:]))
    )
    found = _without(both, of_one)
    assert found.count == pytest.approx(of_other.count)
    assert_allclose(found.mean, of_other.mean)
    assert_allclose(found.scatter, of_other.scatter, atol=1e-9)
    assert found.sum_sq == pytest.approx(of_other.sum_sq)
    other[:, 1] = 5 + 1e-6 * rng.normal(size=500)
    both = moments_of(np.vstack([one, other]), weights, with_scatter=True)
    assert _without(both, of_one) is None


def test_memory_of_copies_is_used_again():
    memory = _Workspace(2, np.float64)
    first = memory.borrow(10)
    memory.take_back(first)
    one, two, three = memory.borrow(4), memory.borrow(5), memory.borrow(7)
    assert one.base is two.base is first.base
    assert not np.shares_memory(one, two)
    assert three.base is not one.base
    memory.take_back(one)
    assert np.shares_memory(memory.borrow(3), one)
    memory.take_back(three)  # not from here: ignored


def test_rows_of_a_node_are_valid_until_they_are_released(many_rows):
    seen = []

    def find(rows, weights, moments):
        seen.append((rows.copy(), weights.sum()))
        return mean_cut(rows, weights, moments)

    tree = grow(many_rows, find, n_clusters=3, order="size", n_jobs=1)
    assert [len(rows) for rows, _ in seen] == [count for _, count in seen] == tree.count[tree.left >= 0].tolist()
    second = tree.cuts[1]
    goes_left = Cut(tree.normal[0], tree.offset[0]).goes_left(many_rows)
    assert_array_equal(seen[1][0], many_rows[goes_left if tree.left[0] == second else ~goes_left])
