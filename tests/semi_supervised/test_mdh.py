"""What MDHClassifier promises beyond the common contract."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from ravine.semi_supervised import MDHClassifier


def few_labels(truth, n, seed=0):
    """Labels of `n` rows of each class, -1 for the others."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        chosen = rng.choice(np.flatnonzero(truth == c), n, replace=False)
        y[chosen] = c
    return y


def accuracy(model, X, truth, y):
    return np.mean(model.fit(X, y).predict(X[y == -1]) == truth[y == -1])


def supervised(X, truth, y):
    machine = LinearSVC(random_state=0).fit(X[y != -1], y[y != -1])
    return np.mean(machine.predict(X[y == -1]) == truth[y == -1])


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_breast_cancer, 0.92), (load_wine, 0.94), (load_digits, 0.8)],
    ids=["cancer", "wine", "digits"],
)
def test_unlabeled_rows_help_where_labels_are_few(load, least):
    X, truth = load(return_X_y=True)
    X = scale(X)
    ours, theirs = [], []
    for seed in range(3):
        y = few_labels(truth, 5, seed)
        ours.append(accuracy(MDHClassifier(), X, truth, y))
        theirs.append(supervised(X, truth, y))
    assert np.mean(ours) > max(np.mean(theirs), least)


def test_two_clusters_in_many_dimensions_need_one_label_each(rng):
    X = rng.normal(size=(1000, 50))
    truth = rng.integers(0, 2, size=1000)
    X[:, :10] += 1.5 * truth[:, np.newaxis]
    y = few_labels(truth, 1)
    assert accuracy(MDHClassifier(), X, truth, y) > 0.97
    assert supervised(X, truth, y) < 0.9


def test_small_class_is_found(rng):
    truth = (np.arange(500) < 100).astype(int)
    X = rng.normal(size=(500, 2))
    X[:, 0] += 5 * truth
    assert accuracy(MDHClassifier(), X, truth, few_labels(truth, 3)) > 0.97


def test_many_labels_are_heard_where_density_says_nothing(rng):
    X = rng.normal(size=(800, 5))
    truth = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    assert accuracy(MDHClassifier(), X, truth, few_labels(truth, 100)) > 0.93
    X[:400, 2] += 6  # an empty stretch across the boundary
    assert accuracy(MDHClassifier(), X, truth, few_labels(truth, 100)) > 0.9


def test_moons_are_cut_by_a_line():
    X, truth = make_moons(600, noise=0.1, random_state=0)
    assert 0.8 < accuracy(MDHClassifier(), X, truth, few_labels(truth, 10)) < 0.95


def test_probabilities_are_better_than_certainty_and_than_none(rng):
    X = rng.normal(size=(2000, 3))
    truth = rng.integers(0, 2, size=2000)
    X[:, 0] += 2.5 * truth
    y = few_labels(truth, 15)
    model = MDHClassifier().fit(X, y)
    right = model.predict_proba(X)[:, 1]
    brier = np.mean((right - truth) ** 2)
    assert brier < np.mean((model.predict(X) - truth) ** 2)
    assert brier < 0.12
    sure = np.maximum(right, 1 - right) > 0.9
    assert np.mean(model.predict(X)[sure] == truth[sure]) > 0.9
    unsure = np.maximum(right, 1 - right) < 0.7
    assert 0.4 < np.mean(model.predict(X)[unsure] == truth[unsure]) < 0.85


def test_stronger_labels_leave_fewer_of_them_on_the_wrong_side(rng):
    X = rng.normal(size=(400, 4))
    truth = (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(int)
    y = few_labels(truth, 40)
    models = (MDHClassifier(gammas=gammas, use_unlabeled="always") for gammas in ((0.01,), (10.0, 1000.0)))
    weak, strong = (model.fit(X, y).score(X, y) for model in models)
    assert strong > weak


def test_label_margin_keeps_labeled_rows_away_from_the_cut(rng):
    X = rng.normal(size=(400, 2))
    truth = (X[:, 0] > 0).astype(int)
    y = few_labels(truth, 20)
    gaps = []
    for margin in (0.0, 2.0):
        model = MDHClassifier(label_margin=margin, gammas=(1000.0,), use_unlabeled="always").fit(X, y)
        side = np.where(y == 1, 1, -1) * model.decision_function(X)
        gaps.append(side[y != -1].min())
    assert gaps[1] > gaps[0]


def test_any_start_finds_a_clear_boundary(rng):
    X = rng.normal(size=(300, 4)) * [4, 3, 1, 1]
    X[:150, 2] += 8
    truth = np.repeat([0, 1], 150)
    y = few_labels(truth, 2)
    for init in ("pca", 1, 3, [[0.0, 0.0, 1.0, 0.0]], lambda rows: np.eye(4)[2]):
        assert_array_equal(MDHClassifier(init=init).fit(X, y).transduction_, truth)


def test_bandwidth_may_be_a_callable():
    X, truth = load_wine(return_X_y=True)
    X, y = scale(X), few_labels(truth, 5)
    by_number = MDHClassifier(bandwidth_factor=0.8).fit(X, y)
    by_callable = MDHClassifier(bandwidth_factor=lambda deviation, n: 0.8 * deviation * n**-0.2).fit(X, y)
    assert np.mean(by_number.transduction_ == by_callable.transduction_) > 0.98


def test_very_many_labels_are_taken(rng):
    X = rng.normal(size=(60_000, 4))
    truth = rng.integers(0, 2, size=60_000)
    X[:, 0] += 4 * truth
    model = MDHClassifier().fit(X, truth)
    assert model.score(X, truth) > 0.97


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MDHClassifier(alphas=()), "alphas=.* one or more non-negative numbers"),
        (MDHClassifier(gammas=(-1.0,)), "gammas=.* non-negative"),
        (MDHClassifier(gammas=(0.0,)), "gammas=.* the labels have no effect"),
        (MDHClassifier(bandwidth_factor=0), "The 'bandwidth_factor' parameter of MDHClassifier must be"),
        (MDHClassifier(label_margin=-1), "The 'label_margin' parameter of MDHClassifier must be"),
        (MDHClassifier(init=[[1.0, 2.0]]), "init gives directions of shape"),
        (MDHClassifier(n_jobs=0), "n_jobs=0 is not valid"),
    ],
)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(30.0).reshape(10, 3), [0, 1] * 5)
