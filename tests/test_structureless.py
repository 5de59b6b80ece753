import numpy as np
import pytest
from scipy.stats import kstest, spearmanr
from tests.naive import is_unimodal

from ravine._structureless import (
    N_DRAWS,
    N_FIRST,
    Structureless,
    _distinct_columns,
    is_stronger_than_chance,
    unimodal_margin,
)


def like(X):
    return Structureless.like(X, np.ones(len(X)))


def margin_of(x):
    values, count = np.unique(x, return_counts=True)
    return unimodal_margin(values, count / count.sum(), len(x))


@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform", "lognormal", "standard_cauchy"])
def test_margin_of_a_unimodal_column_is_close_to_it(rng, kind):
    x = getattr(rng, kind)(size=1000)
    drawn = margin_of(x).at(np.linspace(0, 1, 20_001))
    assert kstest(drawn, x).statistic < 0.02


def test_margin_of_two_groups_is_unimodal_and_has_their_range(rng):
    x = np.concatenate([rng.normal(0, 1, 300), rng.normal(12, 1, 300)])
    margin = margin_of(x)
    assert is_unimodal(np.diff(margin.below) / np.diff(margin.positions))
    drawn = margin.at(np.linspace(0, 1, 1001))
    assert (drawn.min(), drawn.max()) == pytest.approx((x.min(), x.max()))
    assert ((drawn > 4) & (drawn < 8)).mean() > 0.15  # hardly any row of x is there


def test_margin_of_a_decreasing_and_of_an_increasing_column_has_its_mode_at_an_end(rng):
    x = rng.exponential(size=2000)
    for values in (x, -x):
        density = np.diff(margin_of(values).below) / np.diff(margin_of(values).positions)
        steps = np.diff(density if values[0] < 0 else density[::-1])
        assert (steps > -1e-6 * density.max()).mean() > 0.95


def test_draws_are_rounded_as_the_column_is(rng):
    X = np.column_stack([rng.poisson(3.0, 500), np.round(rng.normal(size=500), 1), rng.normal(size=500)])
    drawn = like(X).draw(2000, rng)
    np.testing.assert_allclose(drawn[:, 0], np.round(drawn[:, 0]), atol=1e-9)
    np.testing.assert_allclose(10 * drawn[:, 1], np.round(10 * drawn[:, 1]), atol=1e-6)
    assert len(np.unique(drawn[:, 2])) == 2000
    share = [np.bincount(np.round(column).astype(int), minlength=20) / len(column) for column in (X[:, 0], drawn[:, 0])]
    np.testing.assert_allclose(*share, atol=0.05)


def test_draws_have_the_rank_correlations_of_the_rows(rng):
    x = rng.normal(size=2000)
    X = np.column_stack([np.exp(x), x + rng.normal(size=2000), -x + 0.5 * rng.normal(size=2000)])
    drawn = like(X).draw(5000, rng)
    np.testing.assert_allclose(spearmanr(drawn).statistic, spearmanr(X).statistic, atol=0.05)


def test_copies_of_a_column_and_constant_columns_stay_so(rng):
    x = rng.normal(size=(100, 1))
    drawn = like(np.hstack([x, x, 3 * x + 1, np.full((100, 1), 7.0)])).draw(50, rng)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 1])
    np.testing.assert_allclose(drawn[:, 2], 3 * drawn[:, 0] + 1)
    assert (drawn[:, 3] == 7).all()


def test_more_columns_than_rows_can_be_drawn(rng):
    drawn = like(rng.normal(size=(8, 30))).draw(12, rng)
    assert drawn.shape == (12, 30)
    assert np.isfinite(drawn).all()


def test_far_values_leave_draws_finite(rng):
    X = rng.normal(size=(60, 2))
    X[0] = 1e150
    assert np.isfinite(like(X).draw(100, rng)).all()


def test_a_weight_is_as_many_copies(rng):
    X = rng.normal(size=(40, 2))
    mass = rng.integers(1, 4, size=40)
    rows, total = np.unique(np.repeat(X, mass, axis=0), axis=0, return_counts=True)
    by_weight = Structureless.like(X[np.lexsort(X.T[::-1])], mass[np.lexsort(X.T[::-1])].astype(float))
    by_copies = Structureless.like(rows, total.astype(float))
    for a, b in zip(by_weight.margins, by_copies.margins, strict=True):
        np.testing.assert_array_equal(a.below, b.below)
    np.testing.assert_array_equal(by_weight.factor, by_copies.factor)


class Strengths:
    """Returns given strengths, one for each draw, and keeps the draws."""

    def __init__(self, *strengths):
        self.strengths, self.draws = list(strengths), []

    def __call__(self, rows):
        self.draws.append(rows)
        return self.strengths[len(self.draws) - 1]


def passes(strength, strengths, rng, most_rows=1000, seed=0):
    X = rng.normal(size=(30, 2))
    return is_stronger_than_chance(strength, strengths, X, np.ones(30), most_rows, seed)


def test_all_draws_must_be_weaker(rng):
    assert passes(1.0, Strengths(*[0.9] * N_DRAWS), rng)
    assert not passes(1.0, Strengths(*[0.9] * (N_DRAWS - 1), 1.0), rng)


def test_the_test_ends_with_the_first_draw_that_is_as_strong(rng):
    strengths = Strengths(0.2, 1.0)
    assert not passes(1.0, strengths, rng)
    assert len(strengths.draws) == 2


def test_few_draws_suffice_for_clusters_three_times_as_strong_but_not_if_draws_have_none(rng):
    clear, none = Strengths(*[0.3] * N_FIRST), Strengths(*[0.0] * N_DRAWS)
    assert passes(1.0, clear, rng)
    assert passes(1.0, none, rng)
    assert (len(clear.draws), len(none.draws)) == (N_FIRST, N_DRAWS)


def test_without_strength_nothing_is_drawn(rng):
    assert not passes(0.0, Strengths(), rng)


def test_draws_have_as_many_rows_as_the_data_up_to_a_maximum_and_depend_on_the_seed(rng):
    state = rng.bit_generator.state
    found = []
    for seed, most_rows in ((0, 1000), (0, 1000), (1, 1000), (0, 10)):
        rng.bit_generator.state = state
        strengths = Strengths(2.0)
        passes(1.0, strengths, rng, most_rows, seed)
        found.append(strengths.draws[0])
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].shape == (30, 2)
    assert (found[0] != found[2]).any()
    assert found[3].shape == (10, 2)


def test_distinct_columns_agree_with_numpy(rng):
    X = rng.normal(size=(30, 6)).round(1)[:, [0, 1, 2, 1, 3, 0, 4, 5]]
    X[:3] = X[0, 0]  # columns that begin alike
    expected, place = np.unique(X, axis=1, return_inverse=True)
    found, of_column = _distinct_columns(X)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(of_column, place.ravel())
