import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import ndtri
from tests import naive

from ravine._matrix import moments_of
from ravine.cuts._valley import strongest_valley
from ravine.tree._valley_test import (
    BEYOND_DOUBT,
    CLEAR_SCORE,
    LEAST_SCORE,
    Seen,
    Trial,
    ValleyTest,
    combine,
    cut_with_evidence,
    lattice_steps,
    resolution_along,
    valley_p_value,
)


def two_modes(rng, n=200, gap=6.0, share=0.5):
    right = rng.uniform(size=n) < share
    return rng.normal(size=n) + gap * right


def first_axis(X, weights, moments):
    return np.array([1.0, 0.0])


def cut_of(X, direction, seed):
    weights = np.ones(len(X))
    return cut_with_evidence(X, weights, moments_of(X, weights), direction=direction, bandwidth=1.06, seed=seed)


def evidence(values, seed=0):
    X = np.column_stack([values, np.zeros(len(values))])
    return cut_of(X, first_axis, seed)


def test_p_value_agrees_with_exact_binomial_tests(rng):
    for gap in (0.0, 3.0, 6.0):
        values, held_out = two_modes(rng, 300, gap), two_modes(rng, 300, gap)
        valley = strongest_valley(values, np.ones(300), 1.06)
        if valley is not None:
            exact = naive.valley_p_value(valley.position, valley.left_mode, valley.right_mode, valley.window, held_out)
            assert valley_p_value(valley, held_out, np.ones(300)) == pytest.approx(exact)


def test_integer_weights_count_as_repeated_rows(rng):
    values, repeats = two_modes(rng, 200), rng.integers(1, 4, size=200)
    valley = strongest_valley(values, np.ones(200), 1.06)
    often = np.repeat(values, repeats)
    assert valley_p_value(valley, values, repeats.astype(float)) == pytest.approx(
        valley_p_value(valley, often, np.ones(len(often)))
    )


def test_spread_of_a_lattice_is_the_expected_count_after_jitter(rng):
    values = np.round(two_modes(rng, 400, 12.0))
    valley = strongest_valley(values, np.ones(400), 1.06, resolution=1.0)
    spread = valley_p_value(valley, values, np.ones(400), resolution=1.0)
    jittered = [valley_p_value(valley, values + rng.uniform(-0.5, 0.5, 400), np.ones(400)) for _ in range(200)]
    assert np.log(spread) == pytest.approx(np.mean(np.log(jittered)), rel=0.1)


def test_two_clusters_have_evidence_and_one_has_not(rng):
    assert evidence(two_modes(rng, 400)).p_value < 1e-6
    one = evidence(rng.normal(size=200))
    assert one is None or one.p_value > 0.05


def test_a_small_cluster_has_evidence(rng):
    values = np.concatenate([rng.normal(size=500), rng.normal(8, 1, size=40)])
    cut = evidence(values)
    assert cut.p_value < 1e-3
    assert 3 < cut.offset < 7


@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential", "t"])
@pytest.mark.parametrize("lattice", [0, 1, 0.5])
def test_level_holds_for_one_mode_also_on_a_lattice(shape, lattice, rng):
    alarms = 0
    for seed in range(60):
        values = rng.standard_t(5, size=150) if shape == "t" else getattr(rng, shape)(size=150)
        if lattice:
            values = np.round(values / values.std() / lattice) * lattice
        cut = evidence(values, seed)
        alarms += cut is not None and cut.p_value <= 0.05
    assert alarms <= 6  # 3 expected at most; 7 or more have probability 0.03 even if the level were met exactly


def test_few_rows_are_not_tested():
    values = np.concatenate([np.linspace(0, 0.1, 9), np.linspace(1, 1.1, 9)])
    assert evidence(values) is None


def test_order_of_the_rows_does_not_matter(rng):
    X = np.column_stack([two_modes(rng, 300, 4.0), rng.normal(size=300)])
    order = rng.permutation(300)
    cuts = [cut_of(rows, first_axis, seed=1) for rows in (X, X[order])]
    assert cuts[0].p_value == pytest.approx(cuts[1].p_value, rel=1e-9)
    assert cuts[0].offset == pytest.approx(cuts[1].offset)


def test_same_seed_same_evidence_other_seed_other_halves(rng):
    values = two_modes(rng, 100, 3.5)
    assert evidence(values, seed=1).p_value == evidence(values, seed=1).p_value
    assert len({evidence(values, seed=s).p_value for s in range(5)}) > 1


def test_outliers_that_capture_the_direction_do_not_hide_the_valley(rng):
    X = np.column_stack([two_modes(rng, 400, 10.0), rng.normal(size=400)])
    X[0] = [0.0, 1e4]

    def principal(X, weights, moments):
        kept = weights > 0
        return naive.principal_direction(X[kept], weights[kept])

    cut = cut_of(X, principal, seed=0)
    assert abs(cut.normal[0]) > 0.99
    assert cut.p_value < 1e-6


@given(arrays(float, (3, 9), elements=st.integers(0, 5)))
def test_typical_gaps_agree_with_naive(X):
    assert_allclose(lattice_steps(X), [naive.typical_gap(column) for column in X.T])


def test_lattice_step_of_integers_digits_and_continuous_columns(rng):
    X = np.column_stack(
        [rng.integers(0, 9, 500), np.round(rng.normal(size=500), 1), rng.normal(size=500), np.ones(500)]
    ).astype(float)
    assert_allclose(lattice_steps(X), [1, 0.1, 0, 0], atol=0.01)
    assert_allclose(lattice_steps(sparse.csr_array(X)), lattice_steps(X))


@pytest.mark.parametrize("seed", range(10))
def test_lattice_steps_of_sparse_rows_are_those_of_dense_ones(seed):
    rng = np.random.default_rng(seed)
    unit, filled = rng.choice([0.1, 0.37, 1], 12), rng.random(12)
    X = np.where(rng.random((40, 12)) < filled, unit * rng.integers(-3, 4, size=(40, 12)), 0.0)
    stored = sparse.csr_array(X)
    stored.data[::7] = 0.0
    assert_array_equal(lattice_steps(stored), lattice_steps(stored.toarray()))


def test_lattice_steps_do_not_depend_on_the_order_of_many_rows(rng):
    X = np.column_stack([rng.normal(size=3000), rng.integers(0, 5, size=3000)])
    assert_array_equal(lattice_steps(X, max_rows=100), lattice_steps(X[rng.permutation(3000)], max_rows=100))


def test_resolution_has_the_variance_of_steps_spread_along_the_direction(rng):
    normal, steps = np.array([0.6, -0.8]), np.array([1.0, 2.0])
    spread = rng.uniform(-0.5, 0.5, size=(200_000, 2)) * steps @ normal
    assert resolution_along(normal, steps) == pytest.approx(np.sqrt(12 * spread.var()), rel=0.01)
    assert resolution_along(np.array([0.0, 1.0]), steps) == 2.0


def test_two_values_alone_are_a_lattice_and_no_evidence():
    cut = evidence(np.repeat([0.0, 1.0], 100))
    assert cut is None or cut.p_value == 1


def plain_test(**options):
    return ValleyTest(first_axis, 1.06, np.zeros(2), 0, 1.0, np.ones(2), **options)


def in_plane(values):
    X = np.column_stack([values, np.zeros(len(values))])
    weights = np.ones(len(X))
    return X, weights, moments_of(X, weights)


def from_first_axis(X, weights, moments, normal):
    return np.array([1.0, 0.0])


def test_all_rows_are_searched_only_where_halves_agree(rng):
    asked = []

    def whole(X, weights, moments, normal):
        asked.append((len(X), normal.tolist()))
        return np.array([0.0, 1.0])

    for gap, expected in ((6.0, [(400, [1.0, 0.0])]), (0.0, [])):
        asked.clear()
        X = np.column_stack([two_modes(rng, 400, gap), two_modes(rng, 400, gap)])
        weights = np.ones(400)
        cut = plain_test().cut(X, weights, moments_of(X, weights), whole, 0.05)
        assert asked == expected
        assert (cut is not None and cut.p_value <= 0.05) == (gap > 0)


def test_a_sample_is_tested_and_all_rows_are_cut(rng):
    X, weights, moments = in_plane(two_modes(rng, 2000))
    seen = []

    def scout(rows, weights, moments):
        seen.append(len(rows))
        return np.array([1.0, 0.0])

    test = ValleyTest(scout, 1.06, np.zeros(2), 0, 1.0, np.ones(2))
    cut = test.cut(X, weights, moments, from_first_axis, 0.05, sample=(X[:300], np.full(300, 2000 / 300)))
    assert seen == [150, 150]
    assert cut.p_value < 0.05
    first = np.array([1.0, 0.0])
    alone = test.strongest_cut(moments, lambda normal: (X @ normal - moments.mean @ normal, weights), [first], 1.0)
    assert cut.offset == pytest.approx(alone.offset)


def test_directions_are_found_on_few_rows_of_a_half(rng):
    seen = []

    def scout(rows, weights, moments):
        seen.append(len(rows))
        return np.array([1.0, 0.0])

    X, weights, _ = in_plane(two_modes(rng, 5000))
    ValleyTest(scout, 1.06, np.zeros(2), 0, 1.0, np.ones(2)).run(X, weights, 3, True, 0.05)
    assert set(seen) == {750}


def test_p_values_are_combined_by_simes_rule():
    for p_values in ([0.001, 0.5, 0.9, 0.2, 1.0, 1.0], [0.03, 0.02, 0.04], [1.0, 1.0], []):
        trials = [Trial(p, np.array([1.0, 0.0])) for p in p_values]
        assert combine(trials, 3) == pytest.approx(naive.simes(p_values + [1.0] * (6 - len(p_values))))


def test_halvings_end_where_there_is_no_hope_unless_the_test_is_patient(rng):
    def run(values, is_patient=True, n_halvings=3):
        X, weights, _ = in_plane(values)
        return plain_test().run(X, weights, n_halvings, is_patient, 0.05)

    hopeless = next(v for v in rng.normal(size=(50, 3000)) if run(v)[0].p_value > 0.5)
    assert len(run(hopeless)) == 6
    assert len(run(hopeless, n_halvings=2)) == 4
    assert len(run(hopeless, is_patient=False)) == 2
    assert plain_test().cut(*in_plane(hopeless), from_first_axis, 0.05) is None


def test_halvings_end_once_the_p_value_is_far_below_the_level(rng):
    X, weights, _ = in_plane(two_modes(rng, 80))

    def run(significance):
        return plain_test().run(X, weights, 3, True, significance)

    first = combine(run(1.0)[:2], 3)
    assert len(run(1.01 * first / BEYOND_DOUBT)) == 2
    assert len(run(0.99 * first / BEYOND_DOUBT)) > 2


def test_only_large_nodes_are_halved_three_times(rng):
    drawn = []

    class Counted(ValleyTest):
        def run(self, X, weights, n_halvings, is_patient, significance):
            drawn.append((n_halvings, is_patient))
            return super().run(X, weights, n_halvings, is_patient, significance)

    options = {"look": lambda *rows: Seen(LEAST_SCORE, None)}
    for patient_count in (400.0, 400.1):
        test = Counted(first_axis, 1.06, np.zeros(2), 0, 1.0, np.ones(2), patient_count=patient_count, **options)
        test.cut(*in_plane(two_modes(rng, 400)), from_first_axis, 0.05)
    assert drawn == [(3, True), (2, False)]


def test_rows_without_a_valley_to_see_are_not_tested(rng):
    def scout(rows, weights, moments):
        raise AssertionError("the rows must not be searched")

    test = ValleyTest(scout, 1.06, np.zeros(2), 0, 1.0, np.ones(2), look=lambda *rows: Seen(LEAST_SCORE - 0.01, None))
    assert test.cut(*in_plane(two_modes(rng, 400)), from_first_axis, 0.05) is None


def test_a_clear_valley_that_no_trial_confirms_is_cut_on_trial(rng):
    one_mode = ndtri((rng.permutation(400) + 0.5) / 400)  # as even as can be
    X = np.column_stack([one_mode, two_modes(rng, 400)])
    weights, second = np.ones(400), np.array([0.0, 1.0])
    for score, is_cut in ((CLEAR_SCORE, True), (CLEAR_SCORE - 0.01, False)):
        test = plain_test(look=lambda *rows, score=score: Seen(score, second))
        cut = test.cut(X, weights, moments_of(X, weights), from_first_axis, 0.05)
        assert (cut is not None) == is_cut
        if cut is not None:
            assert cut.p_value == 1
            assert_array_equal(cut.normal, second)


def test_axis_of_the_halves_does_not_depend_on_units(rng):
    X, factors = rng.normal(size=(60, 3)), np.array([1e-6, 1.0, 1e9])
    first, second = (ValleyTest.of_rows(rows, np.ones(60), first_axis, 1.06, 0, 1.0).axis for rows in (X, X * factors))
    assert_allclose(second * factors, first)


def test_values_that_differ_by_rounding_are_no_steps_of_a_lattice(rng):
    X = np.repeat(rng.normal(size=(40, 2)), 5, axis=0)
    assert_allclose(lattice_steps(X * (1 + 1e-15 * rng.normal(size=X.shape))), lattice_steps(X), rtol=1e-9)
