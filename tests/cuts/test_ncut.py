"""The normalized cut of projected rows against its naive twin and finite differences, and the cuts that minimise it."""

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
from ravine.cuts import _ncut
from ravine.cuts._cut import RoughCut
from ravine.cuts._density import Line
from ravine.cuts._ncut import NormalizedCut, finished_ncut, ncut_cut, rough_ncut_cut
from ravine.cuts._pursuit import make_starts, search, search_in_passes


@exact_and_binned
@pytest.mark.parametrize("scale", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("log", [False, True])
def test_gradient_agrees_with_finite_differences(exact, scale, log, rng):
    check_gradient(NormalizedCut(scale, 0.01, exact_rows=exact, log=log), rng)


@pytest.mark.parametrize("scale", [0.01, 0.5, 30.0])
def test_value_agrees_with_naive(scale, rng):
    values, weights = rng.normal(size=40), rng.integers(1, 3, size=40).astype(float)
    assert NormalizedCut(scale, 0.01)(values, weights)[0] == pytest.approx(naive.best_ncut(values, weights, scale))


@pytest.mark.parametrize("least", [1.0, 8.0, 20.0])
def test_place_is_the_best_one_with_enough_weight_on_either_side(least, rng):
    values = np.sort(rng.normal(size=40))
    value, place, _ = NormalizedCut(0.2, 0.01, least=least)(values, np.ones(40))
    n_left = np.sum(values < place)
    assert least <= n_left <= 40 - least
    allowed = range(int(least) - 1, 40 - int(least))
    assert value == pytest.approx(min(naive.ncut(values, np.ones(40), 0.2, k) for k in allowed))
    assert value == pytest.approx(naive.ncut(values, np.ones(40), 0.2, n_left - 1))


def test_grid_changes_little(rng):
    check_grid(lambda exact: NormalizedCut(0.4, 0.01, exact_rows=exact), rng)


def test_integer_weights_equal_repeated_rows(rng):
    check_weights(NormalizedCut(0.7, 0.01, exact_rows=ALL_ROWS), rng)


def test_weights_on_a_line_are_cut_as_the_rows_themselves(rng):
    values = np.concatenate([rng.normal(-2, size=100), rng.normal(2, size=100)])
    objective = NormalizedCut(0.5, 0.01, exact_rows=0)
    line = Line.around(values, objective.step)
    on_line = objective.on_line(line, line.bin(values, np.ones(200)), values.std())
    value, place, _ = objective(values, np.ones(200))
    assert (on_line.value, on_line.position) == pytest.approx((value, place))


def test_logarithm_has_a_slope_where_the_cut_itself_has_vanished():
    values = np.concatenate([np.linspace(-1, 0, 20), np.linspace(50, 51, 20)])
    plain, log = (NormalizedCut(0.1, 0.01, log=log)(values, np.ones(40)) for log in (False, True))
    assert plain[0] < 1e-200
    assert log[0] == pytest.approx(np.log(plain[0]))
    assert_allclose(np.abs(plain[2]()).max(), 0, atol=1e-200)
    assert np.abs(log[2]()).max() > 1


@pytest.mark.parametrize(("n", "exact"), [(2000, 0), (80, ALL_ROWS), (500, ALL_ROWS)], ids=["binned", "few", "exact"])
@pytest.mark.parametrize("log", [False, True])
def test_compiled_search_agrees_with_the_general_one(n, exact, log, rng):
    X, weights, moments = cloud(rng, n=n)
    objective = NormalizedCut(8.0, 0.01, least=2.0, exact_rows=exact, log=log)  # smooth: rounding must not decide
    for start in np.eye(4):
        compiled = search(X, weights, moments.mean, objective, start)
        general = search_in_passes(X, weights, moments.mean, objective, start)
        apart = 1e-4 if exact else 1e-2  # a grid has small steps, and rounding decides where a search stops among them
        assert_allclose(compiled.direction, general.direction, atol=apart)
        assert compiled.value == pytest.approx(general.value, rel=apart / 100)
        assert compiled.position == pytest.approx(general.position, abs=apart)


def test_compiled_search_without_a_valid_cut_ends_at_its_start(rng):
    X, weights, moments = cloud(rng, n=30)
    start = np.eye(4)[1]
    for log in (False, True):
        found = search(X, weights, moments.mean, NormalizedCut(1.0, 0.01, least=weights.sum(), log=log), start)
        assert found.value == np.inf
        assert_array_equal(found.direction, start)


@pytest.mark.parametrize("as_csr", [False, True])
def test_end_of_a_search_is_no_worse_than_its_neighbors(as_csr, rng):
    check_end_of_search(NormalizedCut(2.0, 0.01, exact_rows=ALL_ROWS), rng, as_csr)


@pytest.mark.parametrize("margin", [False, True])
def test_cut_separates_what_is_separable(margin, rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    check_separates(ncut_cut(X, np.ones(120), moments, starts=make_starts(3), scale=100.0, margin=margin), X)


def test_shrinking_scale_widens_the_margin(rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    plain, wide = (
        ncut_cut(X, np.ones(120), moments, starts=make_starts(3), scale=100.0, margin=margin)
        for margin in (False, True)
    )
    assert smallest_distance(X, wide) > smallest_distance(X, plain)


def test_either_side_has_the_smallest_cluster_asked_for(rng):
    X = np.concatenate([rng.normal(size=(95, 2)), rng.normal(20, 1, size=(5, 2))])
    moments = moments_of(X, np.ones(100))
    for least in (1, 30):
        cut = ncut_cut(X, np.ones(100), moments, starts=make_starts("pca"), scale=1.0, min_cluster_size=least)
        assert least <= cut.goes_left(X).sum() <= 100 - least
    few = moments_of(X[:3], np.ones(3))
    assert ncut_cut(X[:3], np.ones(3), few, starts=make_starts("pca"), scale=1.0, min_cluster_size=2) is None


def test_rows_that_do_not_vary_are_not_cut():
    X = np.ones((10, 2))
    starts = make_starts([[1.0, 0.0]])
    assert ncut_cut(X, np.ones(10), moments_of(X, np.ones(10)), starts=starts, scale=1.0) is None


def test_scale_may_be_a_function_of_deviation_and_count(rng):
    X = separable(rng)
    moments = moments_of(X, np.ones(120))
    given = []

    def scale(deviation, count):
        given.append((deviation, count))
        return 100.0 * deviation * count**-0.2

    cuts = [ncut_cut(X, np.ones(120), moments, starts=make_starts(1), scale=one) for one in (100.0, scale)]
    assert_array_equal(cuts[0].normal, cuts[1].normal)
    assert given[0][1] == 120


def test_cut_of_a_small_node_is_never_rough(rng):
    X = separable(rng)
    weights, moments, starts = np.ones(120), moments_of(X, np.ones(120)), make_starts(2)
    whole = ncut_cut(X, weights, moments, starts=starts, scale=10.0)
    cut = rough_ncut_cut(X, weights, moments, starts=starts, scale=10.0)
    assert_array_equal(cut.normal, whole.normal)
    assert cut.offset == whole.offset


def test_rough_cut_of_a_large_node_is_finished_on_all_rows(rng, monkeypatch):
    X = rng.normal(size=(3000, 3)) * [1, 2, 2]
    X[1500:, 0] += 6
    weights, moments = np.ones(3000), moments_of(X, np.ones(3000))
    whole = ncut_cut(X, weights, moments, starts=make_starts([[1.0, 0.5, 0.0]]), scale=10.0)
    monkeypatch.setattr(_ncut, "COARSE_ABOVE", 1000)
    rough = rough_ncut_cut(X, weights, moments, starts=make_starts([[1.0, 0.5, 0.0]]), scale=10.0)
    assert isinstance(rough, RoughCut)
    finished = finished_ncut(X, weights, moments, rough)
    assert abs(finished.normal @ whole.normal) > 0.999
    assert finished.value <= rough.cut.value + 1e-6
