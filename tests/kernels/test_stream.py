"""The loop over the rows of a stream against a twin that keeps everything, and the parts of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from tests import naive
from tests.strategies import seeds

from ravine._kernels import stream
from ravine._kernels.stream import (
    BORN,
    CUSUM,
    DEPENDENCE,
    DEPENDENT,
    DUE,
    END,
    EVERY,
    EXPONENTS,
    FILL,
    FILL_ONSET,
    FILLED_AT,
    INNER_SINCE,
    LAST,
    LONGER,
    LONGEST_GAP,
    MEDIAN,
    MIDDLE,
    MISFIT,
    N_BINS,
    N_INNER,
    N_LEAF,
    N_OUTER,
    N_SCORES,
    N_SEEN,
    N_SINCE,
    N_STORED,
    N_VISITS,
    NEXT_BET,
    NEXT_PROFILE,
    NEXT_TEST,
    ONSET,
    PATIENCE,
    PER_OCTAVE,
    PROFILE,
    REACH,
    REST_UNTIL,
    RETURNED,
    STATE,
    TEST,
    WATCHED,
)
from ravine.tree._stream._nodes import Nodes
from ravine.tree._stream._profile import Profile, profile_of
from ravine.tree._stream._search import Split

NO_ROWS = np.empty((0, 2)), np.empty(0, dtype=np.int64)


def numbers(**limits):
    """No limit is ever reached, but for those that are given."""
    given = [np.inf] * 5
    given[DEPENDENT] = 1.0
    for name, value in limits.items():
        given[getattr(stream, name)] = value
    return tuple(given)


def three_leaves(ring_size=16):
    """A tree of two columns, cut at 0 of the first, and its right part at 0 of the second."""
    nodes = Nodes(2, ring_size)
    root = nodes.take()
    nodes.make_leaf(root, -1, *NO_ROWS, 0)
    left, right = nodes.make_cut(root, Split(0.01, np.array([1.0, 0.0]), 0.0, -5.0, 5.0), np.linspace(-9, 9, 20))
    nodes.make_leaf(left, root, *NO_ROWS, 0)
    nodes.make_leaf(right, root, *NO_ROWS, 0)
    down, up = nodes.make_cut(right, Split(0.01, np.array([0.0, 1.0]), 0.0, -4.0, 5.0), np.linspace(-9, 9, 30))
    for leaf in (down, up):
        nodes.make_leaf(leaf, right, *NO_ROWS, 0)
    return nodes, (left, down, up), (root, right)


def one_leaf(ring_size=16, n_features=1):
    nodes = Nodes(n_features, ring_size)
    leaf = nodes.take()
    nodes.make_leaf(leaf, -1, np.empty((0, n_features)), np.empty(0, dtype=np.int64), 0)
    return nodes, leaf


def learn(nodes, X, limits, first=0):
    """Follow all rows, whatever is due on the way; return where the loop stopped, why, and at which node."""
    row, stops = 0, []
    while row < len(X):
        row, why, node = stream.follow(X, row, first, nodes.root, nodes.arrays(), limits)
        stops.append((row, why, node))
    return stops


# Bins, ranks and bets


@given(
    st.one_of(st.just(0.0), st.integers(-400, 800).map(lambda k: 2.0 ** ((k + 0.5) / 16)), st.just(1e300)),
    st.sampled_from([0.0, 1e-100, 0.25, 1.0, 8.0, 1e100]),
)
def test_bin_of_a_score_agrees_with_naive(factor, median):
    score = factor * median if median else factor
    ours = stream.bin_of(score, median)
    assert ours == naive.bin_of(score, median, N_BINS, MIDDLE, PER_OCTAVE)


def test_median_is_in_the_middle_bin_and_the_ends_hold_all_others():
    assert stream.bin_of(3.0, 3.0) == MIDDLE
    assert stream.bin_of(6.0, 3.0) == MIDDLE + PER_OCTAVE
    assert stream.bin_of(1.5, 3.0) == MIDDLE - PER_OCTAVE
    for score, expected in ((0.0, 0), (5e-324, 0), (1e308, N_BINS - 1), (np.inf, N_BINS - 1)):
        assert stream.bin_of(score, 3.0) == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bins_of_rows_are_those_of_their_squared_distances_in_deviations(dtype, rng):
    X, mean, inverse = rng.normal(size=(50, 3)).astype(dtype), rng.normal(size=3), rng.uniform(0, 2, size=3)
    scores = (((X.astype(float) - mean) * inverse) ** 2).sum(axis=1)
    expected = [naive.bin_of(score, 1.3, N_BINS, MIDDLE, PER_OCTAVE) for score in scores]
    assert_array_equal(stream.bins_of(X, mean, inverse, 1.3), expected)


def test_expected_gain_of_a_bet_on_a_uniform_rank_is_1():
    gain, _ = quad(lambda p: np.mean([e * p ** (e - 1) for e in EXPONENTS]), 0, 1)
    assert gain == pytest.approx(1, abs=1e-6)
    leaf, counts = np.zeros(N_LEAF), np.zeros(N_BINS)
    leaf[MEDIAN] = 1.0
    gains = [np.exp(stream._bet(leaf, counts, 1.0)) for _ in range(20_000)]  # equal scores have evenly spread ranks
    assert np.mean(gains) == pytest.approx(1, abs=0.1)


@given(seeds, st.integers(0, 60), st.booleans())
def test_bet_is_the_mixture_at_the_rank_among_all_scores_before(seed, n, ties):
    rng = np.random.default_rng(seed)
    scores = rng.chisquare(3, size=n + 1)
    scores = np.round(scores) if ties else scores
    leaf, counts = np.zeros(N_LEAF), np.zeros(N_BINS)
    leaf[MEDIAN] = 2.4
    twin = naive.WatchedLeaf([], 1, lambda score: naive.bin_of(score, 2.4, N_BINS, MIDDLE, PER_OCTAVE))
    for row, score in enumerate(scores):
        win = stream._bet(leaf, counts, score)
        twin.learn(score, row)
        assert win == pytest.approx(twin.wins[-1], rel=1e-9)
    assert leaf[N_SCORES] == n + 1
    assert_array_equal(counts, np.bincount(twin.bins, minlength=N_BINS))


# Leaves and their rings


@given(seeds, st.integers(1, 60), st.integers(1, 20), st.floats(0.05, 1.0))
def test_ring_has_the_last_rows_and_their_times(seed, n, ring_size, share):
    rng = np.random.default_rng(seed)
    nodes, leaf = one_leaf(ring_size)
    X = rng.normal(size=(n, 1))
    times = np.flatnonzero(rng.uniform(size=200) < share)[:n]
    times = times if len(times) else np.array([3])
    for x, row in zip(X, times, strict=False):
        stream.follow(x[np.newaxis], 0, row, nodes.root, nodes.arrays(), numbers())
    kept, t = nodes.recent(leaf)
    n = min(n, len(times))
    assert_array_equal(t, times[:n][-ring_size:])
    assert_array_equal(kept, X[:n][-ring_size:])
    L = nodes.leaf[leaf]
    gaps = np.diff(times[:n])
    assert_array_equal(L[[N_SEEN, N_STORED, N_SINCE]], n)
    assert L[LAST] == times[n - 1]
    assert L[LONGEST_GAP] == gaps.max(initial=0)
    assert L[N_VISITS] == 1 + (gaps > 1).sum()


@pytest.mark.parametrize(
    ("visits", "age", "longest", "gap"), [(10, 100, 20, 90), (10, 100, 20, 81), (10, 100, 30, 110), (2, 1000, 5, 500)]
)
def test_leaf_is_over_after_a_gap_that_is_long_and_unlikely(visits, age, longest, gap):
    leaf = np.zeros(N_LEAF)
    leaf[[BORN, LAST, LONGEST_GAP, N_VISITS]] = 50, 50 + age, longest, visits
    odds = -visits * np.log(age / (age + gap))
    for limit in (odds - 1e-6, odds + 1e-6):
        expected = gap > LONGER * longest and odds > limit
        assert stream.is_over(leaf, float(50 + age + gap), limit) == expected


def test_leaf_that_rests_is_over_when_its_rest_is():
    leaf = np.zeros(N_LEAF)
    leaf[[REST_UNTIL, LAST]] = 700, 100
    assert not stream.is_over(leaf, 699.0, 0.0)
    assert stream.is_over(leaf, 700.0, 1e9)


# Cuts


@settings(max_examples=15)
@given(seeds, st.sampled_from([1.0, 3.0]), st.floats(0.1, 1.0))
def test_cut_is_the_twin_that_adds_up_rows_near_it(seed, dependence, spread):
    rng = np.random.default_rng(seed)
    cut = np.zeros(stream.N_CUT)
    cut[[stream.LOW, stream.HIGH, REACH, N_INNER, N_OUTER, FILLED_AT]] = -5, 4, 1.5, 2, 40, -1
    cut[stream.RATE] = 2 * 1.5 / 9
    twin = naive.WatchedCut(-5, 4, 1.5, 2, 40, 4.0, dependence)
    for row, distance in enumerate(rng.normal(size=100) * 6 * spread):
        stream._pass_cut(cut, distance, float(row), numbers(CUT_LIMIT=4.0, DEPENDENT=dependence))
        twin.learn(distance, row)
        expected = twin.n_inner, twin.n_outer, twin.fill, twin.onset, twin.inner_since, twin.filled_at
        assert_allclose(cut[[N_INNER, N_OUTER, FILL, FILL_ONSET, INNER_SINCE, FILLED_AT]], expected, atol=1e-9)


def test_rows_that_fill_a_valley_raise_an_alarm_and_rows_beside_it_do_not(rng):
    for spread, expected in ((0.5, True), (None, False)):
        nodes, _, (root, _) = three_leaves()
        nodes.cut[root, [N_INNER, N_OUTER]] = 1, 100
        x = 3 * np.sign(rng.normal(size=400)) if spread is None else spread * rng.normal(size=400)
        learn(nodes, np.c_[x, np.full(400, 50.0)], numbers(CUT_LIMIT=10.0))
        assert (nodes.cut[root, FILLED_AT] >= 0) == expected


# The loop


def watched(nodes, leaf, X, dependence):
    nodes.set_profile(leaf, profile_of(X, np.full(X.shape[1], 1e-3)))
    nodes.leaf[leaf, DEPENDENCE] = dependence
    profile = nodes.profile(leaf)
    bins = np.repeat(np.arange(N_BINS), profile.counts.astype(int))

    def bin_of_row(x):
        score = (((x - profile.mean) * profile.inverse) ** 2).sum()
        return naive.bin_of(score, profile.median, N_BINS, MIDDLE, PER_OCTAVE)

    return naive.WatchedLeaf(bins, dependence, bin_of_row)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dependence", [1.0, 2.5])
def test_loop_is_the_twin_that_learns_row_by_row(dependence, dtype, rng):
    centers = np.array([[-5.0, 0.0], [5.0, -4.0], [5.0, 5.0]])
    nodes, leaves, cuts = three_leaves()
    twins = {
        leaf: watched(nodes, leaf, center + rng.normal(size=(40, 2)), dependence)
        for leaf, center in zip(leaves, centers, strict=True)
    }
    places = nodes.cut[:, [stream.LOW, stream.HIGH, REACH, N_INNER, N_OUTER]]
    twin_cuts = [naive.WatchedCut(*places[cut], 8.0, 1.5) for cut in cuts]
    X = (centers[rng.integers(0, 3, 300)] + 1.5 * rng.normal(size=(300, 2))).astype(dtype)
    X[200:] = (2 * rng.normal(size=(100, 2))).astype(dtype)
    stops = learn(nodes, X, numbers(CUT_LIMIT=8.0, DEPENDENT=1.5), first=1000)
    assert {why for _, why, _ in stops} <= {END, DUE}
    for row, x in enumerate(X.astype(float), start=1000):
        twin_cuts[0].learn(x[0], row)
        if x[0] >= 0:
            twin_cuts[1].learn(x[1], row)
        twins[leaves[0] if x[0] < 0 else leaves[1] if x[1] < 0 else leaves[2]].learn(x, row)
    assert any(twin.filled_at >= 0 for twin in twin_cuts)
    for cut, twin in zip(cuts, twin_cuts, strict=True):
        expected = twin.n_inner, twin.n_outer, twin.fill, twin.onset, twin.inner_since, twin.filled_at
        assert_allclose(nodes.cut[cut, [N_INNER, N_OUTER, FILL, FILL_ONSET, INNER_SINCE, FILLED_AT]], expected)
    for leaf, twin in twins.items():
        L = nodes.leaf[leaf]
        assert_array_equal(L[[N_SEEN, N_STORED, N_SINCE]], len(twin.rows))
        assert (L[LAST], L[N_VISITS]) == (twin.times[-1], twin.n_visits)
        assert L[LONGEST_GAP] == max(twin.longest_gap, 0)
        assert_array_equal(nodes.counts[leaf], np.bincount(twin.bins, minlength=N_BINS))
        assert_allclose(L[[CUSUM, ONSET, NEXT_BET]], [twin.cusum, twin.onset, twin.next_bet], rtol=1e-9)
        kept, t = nodes.recent(leaf)
        assert_array_equal(kept, twin.rows[-16:])
        assert_array_equal(t, twin.times[-16:])


def test_single_precision_rows_are_learned_as_the_double_ones_that_they_are(rng):
    X = (4 * rng.normal(size=(500, 2))).astype(np.float32)
    trees = []
    for rows in (X, X.astype(np.float64)):
        nodes, leaves, _ = three_leaves()
        sample = np.random.default_rng(1)
        for leaf in leaves:
            nodes.set_profile(leaf, profile_of(4 * sample.normal(size=(40, 2)), np.full(2, 1e-3)))
        learn(nodes, rows, numbers(CUT_LIMIT=8.0))
        trees.append(nodes)
    for name in ("leaf", "cut", "counts"):
        assert_allclose(getattr(trees[0], name), getattr(trees[1], name), rtol=1e-12, err_msg=name)
    assert_array_equal(trees[0].rows, trees[1].rows)
    assert_array_equal(trees[0].times, trees[1].times)


def test_loop_stops_after_the_row_at_which_a_test_or_a_profile_is_due(rng):
    X = rng.normal(size=(50, 1))
    for column, why in ((NEXT_TEST, TEST), (NEXT_PROFILE, PROFILE)):
        nodes, leaf = one_leaf()
        nodes.leaf[leaf, column] = 7
        assert stream.follow(X, 0, 0, nodes.root, nodes.arrays(), numbers()) == (7, why, leaf)
        nodes.leaf[leaf, column] = np.inf
        assert stream.follow(X, 7, 0, nodes.root, nodes.arrays(), numbers()) == (50, END, -1)
        assert nodes.leaf[leaf, N_SEEN] == 50


def test_loop_stops_at_the_row_that_lifts_the_bets_over_their_limit(rng):
    nodes, leaf = one_leaf(64)
    twin = watched(nodes, leaf, rng.normal(size=(60, 1)), 1.0)
    X = 6 + rng.normal(size=(200, 1))
    row, why, node = stream.follow(X, 0, 0, nodes.root, nodes.arrays(), numbers(LEAF_LIMIT=6.0))
    assert (why, node) == (MISFIT, leaf)
    for i in range(row):
        assert twin.cusum <= 6.0
        twin.learn(X[i], i)
    assert twin.cusum > 6.0
    assert nodes.leaf[leaf, CUSUM] == pytest.approx(twin.cusum)
    assert nodes.leaf[leaf, ONSET] == twin.onset


def test_leaf_without_a_profile_does_not_bet(rng):
    nodes, leaf = one_leaf()
    assert learn(nodes, 1e6 * rng.normal(size=(100, 1)), numbers(LEAF_LIMIT=0.0)) == [(100, END, -1)]
    assert nodes.leaf[leaf, STATE] != WATCHED
    assert nodes.leaf[leaf, CUSUM] == 0


def test_loop_stops_at_every_row_of_a_resting_leaf(rng):
    nodes, (left, *_), _ = three_leaves()
    nodes.leaf[left, REST_UNTIL] = 1e6
    X = np.array([[1.0, 1.0], [-1.0, 0.0], [1.0, -1.0], [-2.0, 0.0]])
    assert learn(nodes, X, numbers()) == [(2, RETURNED, left), (4, RETURNED, left)]


def test_loop_stops_when_the_next_look_is_due(rng):
    nodes, _ = one_leaf()
    X = rng.normal(size=(30, 1))
    assert stream.follow(X, 0, 100, nodes.root, nodes.arrays(), numbers(NEXT_LOOK=112.0)) == (13, DUE, -1)


@pytest.mark.parametrize("first", [0, 5, 1000])
def test_loop_looks_for_silent_leaves_and_filled_cuts_at_rows_that_do_not_depend_on_batches(first, rng):
    nodes, (left, _, _), (root, _) = three_leaves()
    nodes.leaf[:, LAST] = nodes.leaf[:, BORN] = first
    nodes.leaf[left, [LAST, N_VISITS]] = first + 1, 50
    X = 5 + rng.uniform(size=(300, 2))
    stop, why, node = stream.follow(X, 0, first, nodes.root, nodes.arrays(), numbers(SILENCE_LIMIT=1.0))
    assert (why, node) == (DUE, -1)
    assert (first + stop) % EVERY == 0
    nodes.leaf[left, N_VISITS] = 0
    nodes.cut[root, FILLED_AT] = first + stop
    stops = learn(nodes, X[stop:], numbers(), first + stop)
    due = [first + stop + row for row, why, _ in stops if why == DUE]
    assert due[0] % EVERY == 0
    assert 0 <= due[0] - 1 - (first + stop) - PATIENCE < EVERY


def test_profile_without_spread_puts_every_other_row_into_the_last_bin():
    nodes, leaf = one_leaf()
    nodes.set_profile(leaf, Profile(np.zeros(1), np.ones(1), 0.0, np.bincount([0] * 40, minlength=N_BINS) * 1.0, 40))
    learn(nodes, np.array([[0.0], [1.0], [1e-200]]), numbers())
    assert nodes.counts[leaf, 0] == 42  # the square of the last one vanishes
    assert nodes.counts[leaf, N_BINS - 1] == 1
    assert np.isfinite(nodes.leaf[leaf, CUSUM])


# The leaf of one row


def random_tree(rng, n_cuts, n_features):
    """Return arrays of a tree whose nodes are in no order, and its root."""
    n_nodes = 2 * n_cuts + 1
    number = rng.permutation(n_nodes)
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    leaves, used = [int(number[0])], 1
    for _ in range(n_cuts):
        node = leaves.pop(int(rng.integers(len(leaves))))
        left[node], right[node] = number[used], number[used + 1]
        leaves += [int(left[node]), int(right[node])]
        used += 2
    cut = np.zeros((n_nodes, stream.N_CUT))
    cut[:, stream.OFFSET] = rng.integers(-2, 3, size=n_nodes)
    return int(number[0]), left, right, rng.integers(-2, 3, size=(n_nodes, n_features)).astype(float), cut


@given(seeds)
@settings(max_examples=50)
def test_leaf_of_a_row_equals_naive_even_if_the_row_is_on_a_cut(seed):
    rng = np.random.default_rng(seed)
    root, left, right, normal, cut = random_tree(rng, int(rng.integers(6)), int(rng.integers(1, 5)))
    for x in rng.integers(-2, 3, size=(20, normal.shape[1])).astype(float):
        expected = naive.walk(x, normal, cut[:, stream.OFFSET], left, right, root)
        assert stream.leaf_of(x[np.newaxis], root, left, right, normal, cut) == expected


def test_counts_of_scores_are_those_of_their_bins(rng):
    scores = rng.chisquare(5, size=200)
    counts = stream.counts_of(scores, 4.0)
    bins = [naive.bin_of(score, 4.0, N_BINS, stream.MIDDLE, stream.PER_OCTAVE) for score in scores]
    assert_array_equal(counts, np.bincount(bins, minlength=N_BINS))


def test_correlation_of_successive_rows_is_that_of_the_sums(rng):
    Z = rng.normal(size=(50, 4)).cumsum(axis=0)
    center, scale = Z.mean(axis=0), np.array([1.0, 2.0, 0.5, 0.0])
    found = stream.correlation(Z, center, scale)
    Z = (Z - center) * scale
    assert found == pytest.approx((Z[1:] * Z[:-1]).sum() / (Z**2).sum())


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (60, 5)])
def test_extent_has_the_mean_and_the_ends_of_each_column(n, d, rng):
    X = rng.normal(size=(n, d))
    X[:, 0] = 0.1  # three times 0.1 is not 0.3
    mean, low, high = stream.extent(X)
    assert_allclose(mean, X.mean(axis=0), atol=1e-12)
    assert_array_equal(low, X.min(axis=0))
    assert_array_equal(high, X.max(axis=0))
    assert mean[0] == 0.1


def test_parts_of_scores_are_those_of_the_twin_that_leaves_each_row_out(rng):
    X, floor = rng.normal(size=(12, 3)) * [1.0, 2.0, 0.0], np.array([0.1, 2.0, 0.5])
    variance, parts = stream.parts_of_scores(X, X.mean(axis=0), floor)
    assert_allclose(variance, X.var(axis=0, ddof=1))
    assert_allclose(parts, naive.parts_of_scores(X, floor), atol=1e-12)


@given(seeds, st.booleans())
def test_watched_rows_are_those_in_the_rings_below(seed, all_watched):
    rng = np.random.default_rng(seed)
    root, left, right, *_ = random_tree(rng, int(rng.integers(6)), 1)
    leaf = np.zeros((len(left), stream.N_LEAF))
    leaf[:, stream.N_STORED] = rng.integers(1, 20, size=len(left))
    leaf[:, stream.STATE] = stream.WATCHED if all_watched else rng.choice([stream.WATCHED, stream.CHANGED], len(left))
    expected = naive.n_watched(root, left, right, leaf[:, stream.N_STORED], leaf[:, stream.STATE] == stream.WATCHED, 9)
    assert stream.n_watched(root, left, right, leaf, 9) == expected
