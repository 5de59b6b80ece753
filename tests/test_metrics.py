import tracemalloc
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as sklearn_metrics
from sklearn.metrics import v_measure_score

from ravine.metrics import binary_v_measure, compactness, contingency_scores, purity, regret, success_ratio

PAIR_SCORES = [purity, binary_v_measure, success_ratio]
CUT_SCORES = [binary_v_measure, success_ratio]

rows_of_labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=40).map(np.array)


def tie_is_decided_by_name(labels_true, labels_pred):
    """Is a class halved by a cut whose two sides are of one size?"""
    halved = [2 * np.sum(labels_pred[labels_true == c]) == np.sum(labels_true == c) for c in np.unique(labels_true)]
    return 2 * np.sum(labels_pred) == len(labels_pred) and any(halved)


def entropy(share):
    return -share * np.log(share) - (1 - share) * np.log(1 - share)


def test_purity_of_a_hand_worked_table():
    # cluster 0 holds a, a, b: the commonest class has 2; cluster 1 holds b, b, b, c: 3; cluster 2 holds c: 1.
    labels_true = ["a", "a", "b", "b", "b", "b", "c", "c"]
    labels_pred = [0, 0, 0, 1, 1, 1, 1, 2]
    assert purity(labels_true, labels_pred) == (2 + 3 + 1) / 8


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40).map(np.array))
def test_scores_of_a_table_are_those_of_its_labels(rows):
    classes, clusters = rows.T
    table = np.zeros((4, 5))
    np.add.at(table, (clusters, classes), 1)
    expected = {
        "nmi": sklearn_metrics.normalized_mutual_info_score(classes, clusters),
        "ari": sklearn_metrics.adjusted_rand_score(classes, clusters),
        "purity": purity(classes, clusters),
        "homogeneity": sklearn_metrics.homogeneity_score(classes, clusters),
        "completeness": sklearn_metrics.completeness_score(classes, clusters),
    }
    found = contingency_scores(table)
    assert list(found) == list(expected)
    assert_allclose(list(found.values()), list(expected.values()), atol=1e-12)
    assert_allclose(found["nmi"], v_measure_score(classes, clusters), atol=1e-12)


def test_scores_of_a_table_of_billions_are_those_of_its_shares():
    table = np.array([[3, 1, 0], [0, 2, 2]])
    assert_allclose(
        list(contingency_scores(table * 10**9).values()), list(contingency_scores(table * 10**6).values()), rtol=1e-5
    )


@pytest.mark.parametrize("table", [[[0, 0]], [[2, -1]]])
def test_a_table_without_rows_or_with_negative_counts_is_refused(table):
    with pytest.raises(ValueError, match="no negative entries, and a positive total"):
        contingency_scores(table)


def test_cut_scores_of_a_hand_worked_table():
    # class:       a  b  c         a and c go to side 0, b to side 1:
    # on side 0:   4  1  2         aggregate {a, c}: 6 on side 0, 2 on side 1
    # on side 1:   1  5  1         aggregate {b}:    1 on side 0, 5 on side 1
    labels_true = np.repeat(["a", "b", "c"], [5, 6, 3])
    labels_pred = np.repeat([0, 1, 0, 1, 0, 1], [4, 1, 1, 5, 2, 1])
    # E = 2 + 1, S = min(max(6, 1), max(2, 5)) = 5
    assert success_ratio(labels_true, labels_pred) == 5 / (5 + 3)
    # With h the entropy of two shares: H(C) = h(8/14), H(C|K) = 7/14 h(1/7) + 7/14 h(2/7),
    # H(K) = h(7/14), H(K|C) = 8/14 h(2/8) + 6/14 h(1/6).
    homogeneity = 1 - (entropy(1 / 7) + entropy(2 / 7)) / 2 / entropy(8 / 14)
    completeness = 1 - (8 * entropy(2 / 8) + 6 * entropy(1 / 6)) / 14 / entropy(1 / 2)
    expected = 2 * homogeneity * completeness / (homogeneity + completeness)
    assert_allclose(binary_v_measure(labels_true, labels_pred), expected)


def test_success_counts_the_larger_aggregate_on_each_side():
    # a: 2 rows, all on side 0; b: 3 on side 0 and 6 on side 1, so b goes to side 1.
    # S = min(max(2, 3), max(0, 6)) = 3, though the rows of side 0 that belong there are 2; E = 3.
    assert success_ratio(np.repeat(["a", "b"], [2, 9]), np.repeat([0, 1], [5, 6])) == 3 / (3 + 3)


def test_a_tied_class_goes_to_the_smaller_side():
    # a: 1 and 1; b: 3 and 0; c: 0 and 1. Side 1 has 2 rows of 6, so a joins c there.
    # {b}: 3 and 0; {a, c}: 1 and 2. E = 1, S = min(3, 2) = 2. With a on side 0: E = 1, S = min(4, 1) = 1.
    labels_true, side = ["a", "a", "b", "b", "b", "c"], np.array([0, 1, 0, 0, 0, 1])
    assert success_ratio(labels_true, side) == 2 / 3
    assert success_ratio(labels_true, 1 - side) == 2 / 3


def test_a_tied_class_goes_to_the_first_side_when_both_are_of_one_size():
    # a: 1 and 1; b: 2 and 0; c: 1 and 3. With a on side 0: {a, b}: 3 and 1, {c}: 1 and 3; E = 2, S = 3.
    # With a on side 1: {b}: 2 and 0, {a, c}: 2 and 4; E = 2, S = min(2, 4) = 2.
    labels_true, side = np.repeat(["a", "b", "c"], [2, 2, 4]), np.array([0, 1, 0, 0, 0, 1, 1, 1])
    assert success_ratio(labels_true, side) == 3 / 5
    assert success_ratio(labels_true, 1 - side) == 2 / 4


@pytest.mark.parametrize("score", CUT_SCORES)
def test_a_cut_that_holds_no_class_apart_scores_zero(score):
    assert score(["a", "b", "b"], [0, 0, 0]) == 0
    assert score(["a", "a", "a"], [0, 0, 0]) == 0
    assert score(["a", "a", "a"], [0, 0, 1]) == 0
    # Both classes have most of their rows on side 0, one more than the other.
    assert score(["a"] * 3 + ["b"] * 5, [0, 0, 1, 0, 0, 0, 0, 1]) == 0


@pytest.mark.parametrize("score", CUT_SCORES)
def test_a_cut_between_whole_classes_scores_one(score):
    assert score(["a", "b", "c", "c", "d"], [1, 0, 0, 0, 1]) == 1


def test_binary_v_measure_of_two_classes_is_their_v_measure():
    labels_true, labels_pred = [0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 1]
    assert_allclose(binary_v_measure(labels_true, labels_pred), v_measure_score(labels_true, labels_pred))


@pytest.mark.parametrize("score", CUT_SCORES)
def test_cut_scores_refuse_more_than_two_sides(score):
    with pytest.raises(ValueError, match=r"3 values.*one at a time"):
        score([0, 1, 2], [0, 1, 2])


@given(rows_of_labels, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_pair_scores_ignore_the_order_of_rows_and_stay_in_bounds(rows, random):
    order = random.sample(range(len(rows)), len(rows))
    for score in PAIR_SCORES:
        value = score(*rows.T)
        assert 0 <= value <= 1
        assert_allclose(score(*rows[order].T), value, atol=1e-12)


@given(rows_of_labels, st.permutations(range(5)))
@settings(max_examples=50, deadline=None)
def test_pair_scores_ignore_the_names_of_labels(rows, names):
    labels_true, labels_pred = rows.T
    assume(not tie_is_decided_by_name(labels_true, labels_pred))
    for score in PAIR_SCORES:
        renamed = score(np.array(list("vwxyz"))[list(names)][labels_true], 7 - 3 * labels_pred)
        assert_allclose(renamed, score(labels_true, labels_pred), atol=1e-12)


@pytest.mark.parametrize("score", PAIR_SCORES)
def test_perfect_clustering_scores_one(score):
    assert score(["x", "y", "y", "x"], [3, 8, 8, 3]) == 1


def test_purity_of_singletons_is_one():
    n = 20_000  # a dense table of classes and clusters would take 3 GB
    assert purity(np.arange(n), np.arange(n)) == 1


@pytest.mark.parametrize("score", PAIR_SCORES)
@pytest.mark.parametrize(
    ("labels_true", "labels_pred", "message"),
    [
        ([0, 1], [0, 1, 1], "labels_pred has 3 labels for 2 rows"),
        ([], [], "labels_true has shape .*one label for each row"),
        ([[0], [1]], [0, 1], "labels_true has shape .*one-dimensional"),
        ([0, 1], [[0, 1]], "labels_pred has shape .*one-dimensional"),
        ([0, 1], [0, np.nan], "labels_pred contains NaN"),
    ],
)
def test_pair_scores_say_what_is_wrong_with_the_labels(score, labels_true, labels_pred, message):
    with pytest.raises(ValueError, match=message):
        score(labels_true, labels_pred)


def naive_compactness(X, labels):
    total = 0.0
    for label in set(labels):
        cluster = [x for x, other in zip(X, labels, strict=True) if other == label]
        distances = [np.linalg.norm(x - y) for x, y in combinations(cluster, 2)]
        total += len(cluster) * np.mean(distances) if distances else 0.0
    return total / len(X)


def test_compactness_of_a_hand_worked_example():
    # Cluster 0 is the triangle 3-4-5: mean distance 4, three rows. Cluster 1: distance 2, two rows. Cluster -1: alone.
    X = [[0, 0], [3, 0], [0, 4], [9, 9], [9, 11], [50, 50]]
    assert_allclose(compactness(X, [0, 0, 0, 1, 1, -1]), (3 * 4 + 2 * 2 + 1 * 0) / 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("origin", [0.0, 1e7])
def test_compactness_agrees_with_the_sum_over_pairs(dtype, origin):
    rng = np.random.default_rng(0)
    X, labels = (origin + rng.normal(size=(60, 3))).astype(dtype), rng.integers(0, 5, 60)
    assert_allclose(compactness(X, labels), naive_compactness(X.astype(np.float64), labels), rtol=1e-6)


def test_compactness_ignores_row_order_and_names_and_follows_scale():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    order = rng.permutation(40)
    expected = compactness(X, labels)
    assert_allclose(compactness(X[order], labels[order]), expected)
    assert_allclose(compactness(X, np.array(["u", "v", "w"])[labels]), expected)
    assert_allclose(compactness(10 * X + 5, labels), 10 * expected)


def test_compactness_of_singletons_and_of_equal_rows_is_zero():
    assert compactness([[1.0], [2.0], [5.0]], [0, 1, 2]) == 0
    assert compactness(np.full((5, 3), 0.1), np.zeros(5)) == 0


def test_compactness_never_holds_all_distances():
    X = np.random.default_rng(2).normal(size=(6000, 2))  # all distances: 288 MB
    tracemalloc.start()
    compactness(X, np.zeros(6000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6


def test_compactness_says_what_is_wrong():
    with pytest.raises(ValueError, match="labels has 1 labels for 2 rows"):
        compactness([[0.0], [1.0]], [0])
    with pytest.raises(ValueError, match="0 sample"):
        compactness(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="X contains NaN"):
        compactness([[np.nan]], [0])


def test_regret_of_a_hand_worked_table():
    nan = np.nan
    scores = [[0.5, 0.25, 1.0], [-2.0, nan, -6.0], [0.7, 0.7, 0.7], [nan, nan, nan], [nan, 0.3, nan]]
    # best: 1.0, -2.0, 0.7, none, 0.3
    expected = [[0.5, 0.75, 0.0], [0.0, nan, 4.0], [0.0, 0.0, 0.0], [nan, nan, nan], [nan, 0.0, nan]]
    # widest: 0.75, 4.0, 0, none, 0
    stretched = [[2 / 3, 1.0, 0.0], [0.0, nan, 1.0], [0.0, 0.0, 0.0], [nan, nan, nan], [nan, 0.0, nan]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(regret(scores), expected)
        assert_allclose(regret(scores, normalize=True), stretched)


def test_normalized_regret_ignores_scale_and_shift_of_a_row():
    scores = np.random.default_rng(3).normal(size=(6, 4))
    moved = scores * np.arange(1, 7)[:, None] - 10
    assert_allclose(regret(moved, normalize=True), regret(scores, normalize=True), atol=1e-12)


def test_regret_leaves_its_input_alone():
    scores = np.array([[1.0, 2.0]])
    regret(scores, normalize=True)
    assert_array_equal(scores, [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, 0.2], "2D array"), (np.empty((0, 3)), "0 sample"), ([[0.1, np.inf]], "infinity")],
)
def test_regret_says_what_is_wrong(scores, message):
    with pytest.raises(ValueError, match=message):
        regret(scores)
