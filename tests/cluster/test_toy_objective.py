"""docs/maintainers/objective.md is enough to add a method: an objective that is not the page's own."""

from math import erf
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.cluster import toy_objective
from tests.cluster.toy_objective import GapOnALine, WidestGap

import ravine
from ravine.datasets import make_blobs

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(900, n_features=5, centers=4, random_state=3)


@pytest.fixture(scope="module")
def model(blobs):
    return WidestGap().fit(blobs[0])


def line(seed, n=30):
    """Rows on a line and their weights, centered as the search centers them."""
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=n) + 3 * (rng.random(n) < 0.4), rng.uniform(1, 2, size=n)
    return values - np.average(values, weights=weights), weights


def test_the_exercise_stays_under_sixty_lines():
    lines = Path(toy_objective.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [1.0, 12.0])
def test_the_gradient_agrees_with_finite_differences(seed, least):
    values, weights = line(seed)
    objective, step = GapOnALine(least), 1e-6

    def at(moved):
        return objective(moved - np.average(moved, weights=weights), weights)[0]

    moves = step * np.eye(len(values))
    differences = [(at(values + move) - at(values - move)) / (2 * step) for move in moves]
    gradient = objective(values, weights)[2]()
    assert np.abs(gradient).max() > 0.01
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


def test_the_value_is_the_formula_at_the_place():
    values, weights = line(0)
    value, place, _ = GapOnALine()(values, weights)
    h = 0.25 * np.sqrt(np.average(values**2, weights=weights))
    near = sum(w * np.exp(-(((place - x) / h) ** 2) / 2) for x, w in zip(values, weights, strict=True))
    left = sum(w * (1 + erf((place - x) / h / np.sqrt(2))) / 2 for x, w in zip(values, weights, strict=True))
    assert value == pytest.approx(near / left + near / (weights.sum() - left), rel=1e-12)


def test_the_value_does_not_change_with_the_unit_or_the_side():
    values, weights = line(1)
    value, place, _ = GapOnALine()(values, weights)
    for factor in (1e-9, 1e9, -1.0):
        scaled_value, scaled_place, _ = GapOnALine()(factor * values, weights)
        np.testing.assert_allclose([scaled_value, scaled_place], [value, factor * place], rtol=1e-9)


def test_there_is_no_cut_of_equal_rows_or_of_too_few():
    for values, weights in ((np.zeros(5), np.ones(5)), (np.array([-0.5, 0.5]), np.full(2, 0.9))):
        value, place, derivatives = GapOnALine()(values, weights)
        assert value == np.inf
        assert np.isfinite(place)
        assert derivatives().tolist() == [0.0] * len(values)


def test_four_blobs_are_found_without_being_told_the_number(blobs, model):
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(blobs[1], model.labels_) > 0.99


def test_predict_of_the_training_rows_is_labels(blobs, model):
    np.testing.assert_array_equal(model.predict(blobs[0]), model.labels_)


@pytest.fixture(scope="module")
def twice(blobs):
    """Some rows, how often each is meant, and the rows written out so often."""
    X = blobs[0][::3]
    times = np.random.default_rng(0).integers(1, 3, size=len(X))
    return X, times, np.repeat(X, times, axis=0)


def test_a_row_of_weight_two_counts_as_two_rows_in_the_objective():
    values, _ = line(2)
    times = np.random.default_rng(2).integers(1, 3, size=len(values))
    values -= np.average(values, weights=times)
    weighted = GapOnALine()(values, times.astype(float))
    repeated = GapOnALine()(np.repeat(values, times), np.ones(times.sum()))
    np.testing.assert_allclose(weighted[:2], repeated[:2])
    np.testing.assert_allclose(np.repeat(weighted[2]() / times, times), repeated[2](), atol=1e-12)


def test_a_row_of_weight_two_counts_as_two_rows_in_the_tree_of_a_given_number(twice):
    X, times, written_out = twice
    weighted, repeated = WidestGap(4).fit(X, sample_weight=times), WidestGap(4).fit(written_out)
    np.testing.assert_array_equal(weighted.tree_.left, repeated.tree_.left)
    np.testing.assert_allclose(weighted.tree_.normal, repeated.tree_.normal, atol=1e-9)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)


def test_a_row_of_weight_two_counts_as_two_rows_in_the_labels_of_blobs_of_unknown_number(twice):
    X, times, written_out = twice
    weighted, repeated = WidestGap().fit(X, sample_weight=times), WidestGap().fit(written_out)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_the_order_of_the_rows_does_not_matter(blobs, n_clusters):
    order = np.random.default_rng(0).permutation(len(blobs[0]))
    straight, shuffled = (WidestGap(n_clusters).fit(X).labels_ for X in (blobs[0], blobs[0][order]))
    assert adjusted_rand_score(straight[order], shuffled) == 1.0


@parametrize_with_checks([WidestGap()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_cut_to_gives_so_many_clusters(blobs, model, n_clusters):
    cut = model.cut_to(n_clusters)
    assert cut.n_clusters_ == len(set(cut.labels_)) == n_clusters
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(cut.predict(blobs[0]), cut.labels_)


def test_the_report_is_a_page(blobs, model):
    page = ravine.report.html(model, blobs[0])
    assert page.startswith("<!doctype html>")
    assert "WidestGap" in page


def test_the_tree_is_drawn(model):
    ax = ravine.plot.tree(model)
    assert ax.has_data()
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_get_an_error(blobs, bad):
    X = blobs[0].copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        WidestGap().fit(X)
