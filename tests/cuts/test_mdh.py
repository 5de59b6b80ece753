"""The penalized density of projected rows: its naive twin, finite differences, and the cuts of least density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.cuts.objectives import (
    ALL_ROWS,
    check_end_of_search,
    check_gradient,
    check_grid,
    check_separates,
    check_weights,
    cloud,
    exact_and_binned,
    separable,
    smallest_distance,
)

from ravine._matrix import moments_of
from ravine.cuts import _mdh, _pursuit
from ravine.cuts._cut import RoughCut
from ravine.cuts._density import Line
from ravine.cuts._mdh import (
    NO_LABELS,
    Labels,
    PenalizedDensity,
    finished_density_cut,
    labeled_density_cut,
    minimum_density_cut,
    rough_density_cut,
)
from ravine.cuts._pursuit import make_starts, search, search_in_passes

OPTIONS = {"bandwidth": 0.9, "alphas": (0.0, 0.9)}


def some_labels(scale):
    """Labels of six of the rows of `cloud`, one of them on the wrong side."""
    pulls = np.array([0.3, -0.2, 0.1, -0.3, 0.2, 0.4])
    return Labels(np.array([1, 5, 44, 50, 61, 70]), pulls, 0.2 * scale, 6.0)


OBJECTIVES = {
    "bound 0": lambda exact, scale: PenalizedDensity(scale, 0.0, 1e-9, exact_rows=exact),
    "bound 0.5": lambda exact, scale: PenalizedDensity(scale, 0.5, 1e-9, exact_rows=exact),
    "labels": lambda exact, scale: PenalizedDensity(scale, 0.5, 1e-9, exact_rows=exact, labels=some_labels(scale)),
}
each_objective = pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES)
each_bound = pytest.mark.parametrize("make", [OBJECTIVES["bound 0"], OBJECTIVES["bound 0.5"]], ids=["0", "0.5"])


@each_objective
@exact_and_binned
@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
def test_gradient_agrees_with_finite_differences(make, exact, scale, rng):
    check_gradient(make(exact, scale), rng)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_penalized_density_agrees_with_naive(alpha, rng):
    values, weights = rng.normal(size=60), rng.integers(1, 3, size=60).astype(float)
    values -= np.average(values, weights=weights)
    ours, place, _ = PenalizedDensity(0.3, alpha, 1e-9)(values, weights)
    assert ours == pytest.approx(naive.least_penalized_density(values, weights, 0.3, alpha), rel=1e-3)
    assert abs(place) <= alpha * np.sqrt(np.average(values**2, weights=weights)) + 0.1 * 0.3


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("strength", [0.1, 1.0, 100.0])
@exact_and_binned
def test_labeled_density_agrees_with_naive_and_stays_within_the_bound(alpha, strength, exact, rng):
    values, weights = rng.normal(size=60), rng.integers(1, 3, size=60).astype(float)
    values -= np.average(values, weights=weights)
    labels = Labels(np.arange(5), strength * np.array([1.0, -1.0, 0.5, -0.7, 2.0]), 0.3, np.abs(values).max())
    objective = PenalizedDensity(0.3, alpha, 1e-9, labels=labels, exact_rows=exact)
    ours, place, _ = objective(values, weights)
    steepness, bound = objective._settings()[0].steepness, alpha * np.sqrt(np.average(values**2, weights=weights))
    slow = naive.labeled_density(values, weights, 0.3, bound, steepness, values[:5], labels.pulls, 0.3)
    assert ours == pytest.approx(slow, rel=2e-3 if exact else 0.03)
    assert abs(place) <= bound + 0.1 * 0.3


@each_objective
def test_grid_changes_little(make, rng):
    check_grid(lambda exact: make(exact, 0.4), rng)


@each_bound
def test_integer_weights_equal_repeated_rows(make, rng):
    check_weights(make(ALL_ROWS, 0.7), rng)


@pytest.mark.parametrize("unit", [1e-3, 40.0])
def test_unit_of_the_data_scales_the_density_and_the_place(unit, rng):
    values = np.concatenate([rng.normal(-2, size=50), rng.normal(2, size=50)])
    values -= values.mean()
    plain = PenalizedDensity(0.4, 0.5, 1e-9)(values, np.ones(100))
    scaled = PenalizedDensity(0.4 * unit, 0.5, 1e-9, unit=unit)(values * unit, np.ones(100))
    assert scaled[0] == pytest.approx(plain[0])
    assert scaled[1] == pytest.approx(plain[1] * unit)
    assert_allclose(scaled[2]() * unit, plain[2](), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_weights_on_a_line_are_cut_as_the_rows_themselves(alpha, rng):
    values = np.concatenate([rng.normal(-2, size=100), rng.normal(3, size=100)])
    values -= values.mean()
    objective = PenalizedDensity(0.5, alpha, 1e-9, exact_rows=0)
    line = Line.around(values, objective.step)
    on_line = objective.on_line(line, line.bin(values, np.ones(200)), values.std())
    value, place, _ = objective(values, np.ones(200))
    assert on_line.value == pytest.approx(value, rel=1e-6)
    assert on_line.position == pytest.approx(place, abs=1e-6)


@each_objective
@pytest.mark.parametrize("as_csr", [False, True])
def test_end_of_a_search_is_no_worse_than_its_neighbors(make, as_csr, rng):
    check_end_of_search(make(ALL_ROWS, 2.0), rng, as_csr)


@pytest.mark.parametrize("alpha", [0.0, 0.9])
@pytest.mark.parametrize("n", [80, 500])
@pytest.mark.parametrize("labels", [NO_LABELS, some_labels(1.5)], ids=["no labels", "labels"])
def test_compiled_search_agrees_with_the_general_one(alpha, n, labels, rng):
    X, weights, moments = cloud(rng, n=n)
    objective = PenalizedDensity(
        1.5, alpha, 1e-7, unit=1.5, labels=labels
    )  # smooth: rounding must not decide between two valleys
    for start in np.eye(4):
        compiled = search(X, weights, moments.mean, objective, start)
        general = search_in_passes(X, weights, moments.mean, objective, start)
        assert_allclose(compiled.direction, general.direction, atol=1e-3)  # about the root of the tolerance
        assert compiled.value == pytest.approx(general.value, rel=1e-5)
        assert compiled.position == pytest.approx(general.position, abs=1e-3)


@pytest.mark.parametrize("margin", [False, True])
def test_cut_separates_what_is_separable(margin, rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    check_separates(minimum_density_cut(X, np.ones(120), moments, starts=make_starts(3), margin=margin, **OPTIONS), X)


def test_shrinking_bandwidth_keeps_or_widens_the_margin(rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    plain, wide = (
        minimum_density_cut(X, np.ones(120), moments, starts=make_starts(3), margin=margin, **OPTIONS)
        for margin in (False, True)
    )
    assert smallest_distance(X, wide) > 0.98 * smallest_distance(X, plain)


def test_density_of_a_cut_is_the_exact_one(rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    cut = minimum_density_cut(X, np.ones(120), moments, starts=make_starts(3), bandwidth=lambda *_: 0.8, alphas=(0.9,))
    exact = naive.density(X @ cut.normal, np.ones(120), 0.8, [cut.offset])
    assert cut.value == pytest.approx(exact[0], rel=0.05)


def test_rows_that_do_not_vary_are_not_cut():
    X = np.ones((10, 2))
    moments, starts = moments_of(X, np.ones(10)), make_starts([[1.0, 0.0]])
    assert minimum_density_cut(X, np.ones(10), moments, starts=starts, **OPTIONS) is None
    assert labeled_cut(X, np.repeat([-1, 1], 5), starts=starts) is None


def test_rough_cut_of_a_large_node_is_finished_on_all_rows(rng, monkeypatch):
    X = rng.normal(size=(3000, 3)) * [1, 2, 2]
    X[1500:, 0] += 6
    weights, moments, starts = np.ones(3000), moments_of(X, np.ones(3000)), make_starts([[1.0, 0.5, 0.0]])
    whole = minimum_density_cut(X, weights, moments, starts=starts, **OPTIONS)
    monkeypatch.setattr(_mdh, "COARSE_ABOVE", 1000)
    rough = rough_density_cut(X, weights, moments, starts=starts, **OPTIONS)
    assert isinstance(rough, RoughCut)
    finished = finished_density_cut(X, weights, moments, rough)
    assert abs(finished.normal @ whole.normal) > 0.999
    assert finished.value <= rough.cut.value + 1e-6


def test_cut_of_a_small_node_is_never_rough(rng):
    X = separable(rng)
    weights, moments, starts = np.ones(120), moments_of(X, np.ones(120)), make_starts(2)
    whole = minimum_density_cut(X, weights, moments, starts=starts, **OPTIONS)
    cut = rough_density_cut(X, weights, moments, starts=starts, **OPTIONS)
    assert_array_equal(cut.normal, whole.normal)
    assert cut.offset == whole.offset


def labeled_cut(X, sides, weights=None, **options):
    weights = np.ones(len(X)) if weights is None else weights
    settings = {**OPTIONS, "gammas": (10.0, 100.0), "margin": 1.0, "starts": make_starts(2), **options}
    return labeled_density_cut(X, weights, moments_of(X, weights), sides, **settings)


def test_labels_choose_between_two_valleys(rng):
    X = rng.normal(size=(400, 2)) * 0.5
    X[:200, 0] += 4
    X[::2, 1] += 3.5
    for column, normal in ((0, [1, 0]), (1, [0, 1])):
        order = np.argsort(X[:, column])
        sides = np.zeros(400, dtype=np.int64)
        sides[order[:3]], sides[order[-3:]] = -1, 1
        cut = labeled_cut(X, sides)
        assert cut.normal @ normal > 0.95
        assert_allclose(np.mean(cut.goes_left(X)), 0.5, atol=0.01)


def test_exchanged_sides_turn_the_cut(rng):
    X = separable(rng)
    sides = np.zeros(120, dtype=np.int64)
    sides[[0, 1, 2]], sides[[70, 80]] = -1, 1
    cut, turned = labeled_cut(X, sides), labeled_cut(X, -sides)
    assert_allclose(turned.normal, -cut.normal, atol=1e-6)
    assert turned.offset == pytest.approx(-cut.offset, abs=1e-6)
    assert (cut.goes_left(X) == (np.arange(120) < 60)).all()


def test_many_rows_are_searched_on_a_sample_that_keeps_the_labels(rng, monkeypatch):
    X = rng.normal(size=(3000, 3)) * [1, 2, 2]
    X[1500:, 0] += 6
    sides = np.zeros(3000, dtype=np.int64)
    sides[[3, 7]], sides[[2000, 2500]] = -1, 1
    whole = labeled_cut(X, sides)
    monkeypatch.setattr(_mdh, "COARSE_ABOVE", 1000)
    monkeypatch.setattr(_pursuit, "COARSE_ROWS", 300)
    monkeypatch.setattr(_mdh, "COARSE_ROWS", 300)
    coarse = labeled_cut(X, sides)
    assert coarse.normal @ whole.normal > 0.99
    sides[:1500], sides[1500:] = -1, 1
    assert labeled_cut(X, sides).normal @ whole.normal > 0.99
