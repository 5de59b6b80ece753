"""The loop over a stream against its naive twin, and the parts of it: CUSUM, forgetting, when a dip is computed."""

from dataclasses import replace

import diptest
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine import _kernels
from ravine._kernels import hsdc
from ravine._kernels.hsdc import BOUND, FADE, FORGET, HEAD_START, LENGTH, N_SEEN, SUM_SQ, TOTAL, UNIT
from ravine._kernels.intervals import HIGH, LOW, WEIGHT
from ravine.tree._hsdc import HSDCSettings, HSDCTree, threshold_table

NEVER = 1e9
"""Rows before the first test, where nothing is to split."""


def fresh_dip(tree, node):
    n = tree.n_intervals[node]
    floats, ints = [np.empty(2 * n + 2) for _ in range(3)], [np.empty(2 * n + 2, dtype=np.int64) for _ in range(4)]
    return _kernels.intervals.dip(tree.sample[node], n, *floats, *ints)[0]


def assert_leaf_is(tree, node, twin):
    leaf, n = tree.leaf[node], tree.n_intervals[node]
    rows = np.array(twin.rows)
    assert leaf[N_SEEN] == len(rows)
    assert_allclose(tree.mean[node], rows.mean(axis=0), atol=1e-9)
    assert_allclose(leaf[SUM_SQ], ((rows - rows.mean(axis=0)) ** 2).sum(), rtol=1e-9)
    assert_allclose(tree.direction[node] * leaf[UNIT], twin.u, atol=1e-9)
    assert_allclose(leaf[LENGTH] * leaf[UNIT], np.linalg.norm(twin.u), atol=1e-9)
    assert_allclose(leaf[FORGET], twin.forget, atol=1e-7)  # the cosine of a small angle has half of its digits
    order = np.argsort(twin.projections)
    assert_allclose(tree.sample[node][LOW, :n], np.array(twin.projections)[order], atol=1e-9)
    assert_array_equal(tree.sample[node][HIGH, :n], tree.sample[node][LOW, :n])
    assert_allclose(leaf[TOTAL], sum(twin.weights), rtol=1e-5)
    assert_allclose(leaf[FADE] * tree.sample[node][WEIGHT, :n], np.array(twin.weights)[order], rtol=1e-5, atol=1e-9)
    assert_allclose(leaf[FADE] * tree.sample[node][WEIGHT, :n].sum(), leaf[TOTAL])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("smoothing", "max_forgetting"), [(0.9, 0.5), (0.5, 0.05), (0.0, 0.0), (0.99, 0.9)])
def test_leaf_follows_the_formulas_of_the_paper(smoothing, max_forgetting, dtype, rng):
    X = (rng.normal(size=(300, 4)) * [3, 2, 1, 0.5] + [100, 0, -5, 1]).astype(dtype)
    options = HSDCSettings(True, 300, smoothing=smoothing, max_forgetting=max_forgetting, min_samples_split=NEVER)
    tree, twin = HSDCTree(4, options), naive.StreamLeaf(4, smoothing, max_forgetting)
    for i in (1, 2, 3, 50, 300):
        for x in X[len(twin.rows) : i].astype(np.float64):
            twin.learn(x)
        tree.learn(X[tree.n_rows : i])
        assert_leaf_is(tree, 0, twin)
        assert_allclose(tree.second[0] * tree.leaf[0, UNIT], twin.z, atol=1e-9)


def test_without_inheritance_no_second_direction_is_learned(rng):
    X = rng.normal(size=(200, 3))
    trees = [HSDCTree(3, HSDCSettings(inherit, 200, min_samples_split=NEVER)) for inherit in (False, True)]
    for tree in trees:
        tree.learn(X)
    assert not trees[0].second.any()
    assert_array_equal(trees[0].direction, trees[1].direction)


def test_first_row_that_differs_gives_the_direction():
    tree = HSDCTree(3, HSDCSettings(min_samples_split=NEVER))
    tree.learn(np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert tree.leaf[0, LENGTH] == 0
    assert not tree.direction.any()
    assert tree.n_intervals[0] == 1
    tree.learn(np.array([[1.0, 2.0, 9.0]]))
    assert_allclose(tree.direction[0], [0, 0, 5 / 6])  # from the mean, which has moved by 1: one row of six
    assert tree.leaf[0, LENGTH] == pytest.approx(5 / 6)
    assert tree.leaf[0, UNIT] == pytest.approx(5)
    assert tree.leaf[0, FORGET] == 0


def test_rows_after_a_constant_start_weigh_alike(rng):
    X = rng.normal(size=(100, 3)) * [1, 5, 1]
    X[0] = [0, 0, 1]
    tree = HSDCTree(3, HSDCSettings(min_samples_split=NEVER))
    tree.learn(np.concatenate([np.zeros((1000, 3)), X]))
    direction = tree.direction[0] / tree.leaf[0, LENGTH]
    assert abs(direction[1]) > 0.95  # and not that of the first row that differs


@pytest.mark.parametrize("inherit", [False, True])
@pytest.mark.parametrize("order", [(1e-100, 1e100), (1e100, 1e-100), (1e-149, 1.0, 1e148)])
def test_rows_that_grow_by_any_factor_leave_finite_numbers(order, inherit, rng):
    tree = HSDCTree(4, HSDCSettings(inherit, 30, min_samples_split=NEVER))
    X = np.concatenate([factor * rng.normal(size=(50, 4)) * [9, 3, 1, 1] for factor in order])
    for x in X:
        tree.learn(x[np.newaxis])
        state = tree.state()
        for name in ("mean", "direction", "second", "sample"):
            assert np.isfinite(state[name]).all(), name
        assert not np.isnan(tree.leaf[0]).any()
        assert np.linalg.norm(tree.direction[0]) == pytest.approx(tree.leaf[0, LENGTH])
    restored = HSDCTree(4, tree.settings)
    restored.restore(tree.state())
    largest = X[np.abs(X).max(axis=1) > 1e-3 * np.abs(X).max()]
    u, direction = np.linalg.svd(largest / np.abs(largest).max())[2][0], tree.direction[0] / tree.leaf[0, LENGTH]
    assert abs(u @ direction) > 0.9


def test_larger_unit_changes_no_digit(rng):
    X = np.concatenate([factor * rng.normal(size=(40, 3)) * [5, 2, 1] for factor in (1e-3, 1.0, 1e3)])
    trees = [HSDCTree(3, HSDCSettings(True, 200, min_samples_split=NEVER)) for _ in range(2)]
    trees[0].learn(X)
    trees[1].learn(X[:5])
    hsdc._enlarge_unit(trees[1].leaf[0], trees[1].direction[0], trees[1].second[0], 1e9)
    assert trees[1].leaf[0, UNIT] > 1e8
    trees[1].learn(X[5:])
    assert_array_equal(trees[0].sample, trees[1].sample)
    for name in ("direction", "second"):
        ours, theirs = (getattr(tree, name)[0] * tree.leaf[0, UNIT] for tree in trees)
        assert_array_equal(ours, theirs)


def test_inherited_direction_has_a_head_start_and_stays_across_the_parents(rng):
    X = rng.normal(size=(600, 5)) * [1, 1, 3, 1, 1]
    X[::2, 0] += 14
    tree = HSDCTree(5, HSDCSettings(inherit=True, n_intervals=600))
    seen = 0
    while not tree.events:
        tree.learn(X[seen : seen + 1])
        seen += 1
    assert tree.leaf[0, N_SEEN] == seen
    second, normal = tree.second[0].copy(), tree.direction[0].copy()
    tree.settings = replace(tree.settings, min_samples_split=NEVER)
    node = int(tree.left[0])
    assert_array_equal(tree.direction[node], second)
    assert tree.leaf[node, HEAD_START] == seen
    assert abs(second[2]) > 0.9 * np.linalg.norm(second)
    side = X[seen:] @ normal < tree.cut[0, hsdc.OFFSET]
    twin = naive.StreamLeaf(5, 0.9, 0.5, second * tree.leaf[node, UNIT], seen, normal)
    tree.learn(X[seen:])
    for x in X[seen:][side]:
        twin.learn(x)
    assert len(twin.rows) > 100
    assert_leaf_is(tree, node, twin)
    assert_allclose(tree.second[node] * tree.leaf[node, UNIT], twin.z, atol=1e-9)
    faded = seen / (seen + len(twin.rows))  # nothing is added to what it had along the parent's direction at first
    assert tree.direction[node] @ normal == pytest.approx(faded * (second @ normal), abs=1e-9)


@pytest.mark.parametrize("max_forgetting", [0.0, 0.3, 0.5])
def test_weights_keep_their_meaning_when_the_first_rows_have_faded_to_nothing(max_forgetting, rng):
    tree = HSDCTree(
        1, HSDCSettings(n_intervals=20, smoothing=1.0, max_forgetting=max_forgetting, min_samples_split=NEVER)
    )
    tree.leaf[0, FORGET] = max_forgetting
    tree.learn(rng.normal(size=(2000, 1)))
    n = tree.n_intervals[0]
    expected = 2000 if max_forgetting == 0 else 1 / max_forgetting
    assert tree.leaf[0, TOTAL] == pytest.approx(expected)
    assert tree.leaf[0, FADE] * tree.sample[0][WEIGHT, :n].sum() == pytest.approx(expected)
    assert np.isfinite(tree.sample).all()


@given(seeds, st.integers(4, 15), st.sampled_from([0.0, 0.01, 0.05]), st.booleans())
def test_bound_is_never_below_the_dip(seed, limit, most, ties):
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(150, 1)) < 0.5, rng.normal(0, 1, (150, 1)), rng.normal(5, 1, (150, 1)))
    X = np.round(X) if ties else X
    tree = HSDCTree(1, HSDCSettings(n_intervals=limit, smoothing=1.0, max_forgetting=0.9, min_samples_split=NEVER))
    for i in range(len(X)):
        tree.leaf[0, FORGET] = rng.uniform(0, most)
        tree.learn(X[i : i + 1])
        dip = fresh_dip(tree, 0)
        assert tree.leaf[0, BOUND] >= dip - 1e-12
        if i >= 20 and rng.uniform() < 0.2:
            tree.leaf[0, BOUND] = dip


@pytest.mark.parametrize("inherit", [False, True])
def test_dips_that_are_skipped_would_have_changed_nothing(inherit):
    rng = np.random.default_rng(1)
    centers = rng.normal(size=(5, 6)) * 5
    moved = centers.copy()
    moved[1] = (centers[0] + centers[2]) / 2
    X = np.concatenate([c[rng.integers(0, 5, 1200)] for c in (centers, moved)]) + rng.normal(size=(2400, 6))
    lazy, eager = (HSDCTree(6, HSDCSettings(inherit, n_intervals=30)) for _ in range(2))
    lazy.learn(X)
    for i in range(len(X)):
        eager.leaf[:, BOUND] = np.inf
        eager.learn(X[i : i + 1])
    ours, theirs = lazy.state(), eager.state()
    assert ours["n_events"]["split"] > 5
    assert sum(ours["n_events"].values()) > ours["n_events"]["split"]
    for state in (ours, theirs):
        state["leaf"][:, BOUND] = 0
    for name, array in ours.items():
        assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(("p0", "p1"), [(0.05, 0.3), (0.1, 0.3), (0.2, 0.3), (0.02, 0.1)])
def test_runs_of_the_cusum_are_as_long_as_asked(p0, p1, rng):
    lengths = (2000.0, 30.0)
    drag, limit = hsdc.cusum_limit(p0, p1, 2000.0, 1.0 + 1e-9)
    assert mean_run(rng, p0, drag, limit) == pytest.approx(2000, rel=0.25)
    drag, limit = hsdc.cusum_limit(p0, p1, 1.0 + 1e-9, 200.0)
    assert mean_run(rng, p1, drag, limit) == pytest.approx(200, rel=0.25)
    limits = [hsdc.cusum_limit(p0, p1, *one)[1] for one in ((lengths[0], 1.001), (1.001, lengths[1]))]
    assert hsdc.cusum_limit(p0, p1, *lengths)[1] == max(limits)


def mean_run(rng, rate, drag, limit, n_runs=400):
    """Rows until S > limit, on average over runs side by side."""
    s, lengths, n = np.zeros(n_runs), np.zeros(n_runs), 0
    while not lengths.all() and n < 40_000:
        n += 1
        s = np.maximum(s, 0) + (rng.uniform(size=n_runs) < rate) - drag
        lengths[(lengths == 0) & (s > limit)] = n
    assert lengths.all()
    return lengths.mean()


def test_drag_is_that_of_the_likelihood_ratio():
    drag, _ = hsdc.cusum_limit(0.1, 0.3, 1e4, 100.0)
    inside, outside = np.log(0.3 / 0.1), np.log(0.7 / 0.9)
    assert drag == pytest.approx(-outside / (inside - outside))
    assert 0.1 < drag < 0.3


@given(st.floats(0.001, 0.25), st.floats(1e3, 1e9), st.floats(1.1, 100))
def test_longer_runs_need_a_higher_limit(p0, run_before, factor):
    limits = [hsdc.cusum_limit(p0, 0.3, run_before * f, 2.0)[1] for f in (1.0, factor)]
    assert 1.0 <= limits[0] <= limits[1]
    assert limits[0] < limits[1] or limits[1] == 1.0
    after = [hsdc.cusum_limit(p0, 0.3, 2.0, 50.0 * f)[1] for f in (1.0, factor)]
    assert after[0] < after[1] or after[1] == 1.0


def one_cut(drag=0.2, limit=3.0):
    """A tree of one column cut at 0, with R = (-10, 10), N = (-3, 3) and no renewal of drag and limit."""
    tree = HSDCTree(1, HSDCSettings(min_samples_split=NEVER))
    children = tree._take_node(), tree._take_node()
    tree.left[0], tree.right[0] = children
    for child in children:
        tree._start_leaf(child, parent=0)
    tree.direction[0] = 1.0
    cut = tree.cut[0]
    cut[[hsdc.OUTER_LOW, hsdc.OUTER_HIGH, hsdc.INNER_LOW, hsdc.INNER_HIGH]] = -10, 10, -3, 3
    cut[[hsdc.DRAG, hsdc.LIMIT, hsdc.RENEW, hsdc.RATE]] = drag, limit, np.inf, 0.3
    cut[[hsdc.N_INNER, hsdc.N_OUTER]] = 5, 50
    return tree


@settings(max_examples=30)
@given(seeds)
def test_cusum_adds_up_rows_near_the_cut(seed):
    values = np.random.default_rng(seed).uniform(-14, 14, size=60)
    tree = one_cut(limit=np.inf)
    s, inner, outer = 0.0, 5, 50
    for x in values:
        tree.learn(np.array([[x]]))
        if -10 < x < 10:
            s = max(0, s) + (-3 < x < 3) - 0.2
            inner, outer = inner + (-3 < x < 3), outer + 1
        assert_allclose(tree.cut[0, [hsdc.CUSUM, hsdc.N_INNER, hsdc.N_OUTER]], [s, inner, outer], atol=1e-12)


def test_cut_is_removed_with_the_row_that_lifts_its_cusum_over_the_limit():
    tree = one_cut()
    tree.learn(np.array([[1.0], [20.0], [1.0], [-1.0], [5.0]]))  # 0.8, the same, 1.6, 2.4, 2.2
    assert not tree.events
    tree.learn(np.array([[-1.0], [1.0], [1.0]]))  # 3.0 is not over the limit, 3.8 is
    (event,) = tree.events
    assert (event["row"], event["limit"], event["p1"]) == (6, 3.0, 0.3)
    assert event["statistic"] == pytest.approx(3.8)
    assert event["p0"] == pytest.approx(10 / 56)
    assert event["region"] == 20
    assert tree.left[0] == -1
    assert tree.leaf[0, N_SEEN] == 2  # the row of the alarm is the first of the new leaf


def test_drag_and_limit_follow_the_rate_of_rows_near_the_cut():
    cut = np.zeros(hsdc.N_CUT)
    cut[[hsdc.N_INNER, hsdc.N_OUTER, hsdc.RATE, hsdc.LIMIT]] = 10, 100, 0.3, np.inf
    hsdc.renew_cusum(cut, 1e8, 250.0)
    assert tuple(cut[[hsdc.DRAG, hsdc.LIMIT]]) == hsdc.cusum_limit(0.1, 0.3, 1e8, 250.0)
    assert 100 < cut[hsdc.RENEW] < 110
    before = cut[[hsdc.DRAG, hsdc.LIMIT]].copy()
    cut[hsdc.N_INNER] = 30
    hsdc.renew_cusum(cut, 1e8, 250.0)
    assert_array_equal(cut[[hsdc.DRAG, hsdc.LIMIT]], before)
    cut[hsdc.N_INNER] = 0  # no rate is 0 for certain
    hsdc.renew_cusum(cut, 1e8, 250.0)
    assert tuple(cut[[hsdc.DRAG, hsdc.LIMIT]]) == hsdc.cusum_limit(0.001 * 0.3, 0.3, 1e8, 250.0)


@pytest.mark.parametrize("significance", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("n", [50, 333])
def test_dips_of_gaussian_samples_exceed_the_threshold_as_often_as_asked(n, significance, rng):
    threshold = hsdc.threshold(float(n), *threshold_table(significance))
    dips = np.array([diptest.dipstat(x) for x in rng.normal(size=(4000, n))])
    assert np.mean(dips > threshold) == pytest.approx(significance, rel=0.25)


def test_threshold_falls_with_the_weight_and_with_the_significance():
    weights, levels = np.geomspace(10, 1e7, 60), (0.001, 0.003, 0.05, 0.1, 0.2)
    values = np.array([[hsdc.threshold(w, *threshold_table(level)) for w in weights] for level in levels])
    assert (np.diff(values, axis=1) < 0).all()
    assert (np.diff(values[:, weights < 1e5], axis=0) < 0).all()
