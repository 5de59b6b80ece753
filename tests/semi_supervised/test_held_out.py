"""What held-out labels decide: whether the unlabeled rows help."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.svm import SVC
from tests.semi_supervised.test_base import blobs, each, many_blobs

from ravine.semi_supervised._held_out import N_FOLDS, WRONG, folds_of, mean_of_classes, squared_errors


def valley_across_classes(n=400, n_labels=100):
    """Two clusters along the first column, two classes along the second, and some labels."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 20))
    X[:, 1:] *= 0.5
    X[:, 0] += 8 * rng.integers(2, size=n)
    truth = (X[:, 1] > 0).astype(int)
    y = np.full(n, -1)
    y[:n_labels] = truth[:n_labels]
    return X, truth, y


@each
def test_classes_that_ignore_the_clusters_are_learned_from_the_labels_alone(model):
    X, truth, y = valley_across_classes()
    fitted = clone(model).fit(X, y)
    assert not fitted.uses_unlabeled_
    assert fitted.held_out_errors_[0] > fitted.held_out_errors_[1]
    alone = SVC(kernel="linear").fit(X[:100], y[:100])
    always = clone(model).set_params(use_unlabeled="always").fit(X, y)
    assert fitted.score(X, truth) > max(alone.score(X, truth) - 0.02, always.score(X, truth) + 0.03)


@each
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_are_clusters_are_learned_with_the_unlabeled_rows(model, n_classes):
    X, _, y = blobs(n_classes, n_labels=4)
    fitted = clone(model).fit(X, y)
    assert fitted.uses_unlabeled_
    assert fitted.held_out_errors_[0] < WRONG
    always = clone(model).set_params(use_unlabeled="always").fit(X, y)
    assert_array_equal(fitted.decision_function(X), always.decision_function(X))


@each
def test_with_one_label_for_each_class_nothing_is_measured_and_the_unlabeled_rows_are_used(model):
    X, _, y = blobs(2, n_labels=1)
    fitted = clone(model).fit(X, y)
    assert fitted.uses_unlabeled_
    assert fitted.held_out_errors_ is None


@each
@pytest.mark.parametrize("use_unlabeled", ["always", "never"])
def test_the_choice_can_be_made_by_the_user(model, use_unlabeled):
    X, _, y = valley_across_classes()
    fitted = clone(model).set_params(use_unlabeled=use_unlabeled).fit(X, y)
    assert fitted.uses_unlabeled_ is (use_unlabeled == "always")
    assert fitted.held_out_errors_ is None
    with pytest.raises(ValueError, match=r"The 'use_unlabeled' parameter of .* must be"):
        clone(model).set_params(use_unlabeled="sometimes").fit(X, y)


@each
@pytest.mark.parametrize("n_classes", [2, 4, 20])
def test_labels_alone_agree_with_a_linear_support_vector_machine(model, n_classes):
    X, _, y = many_blobs(n_classes, n_labels=5)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = clone(model).set_params(use_unlabeled="never").fit(X, y)
    alone = SVC(kernel="linear").fit(X[y >= 0], y[y >= 0])
    assert np.mean(fitted.predict(X) == alone.predict(X)) > 0.9


@each
def test_labels_alone_do_not_depend_on_where_the_unlabeled_rows_lie(model):
    X, _, y = valley_across_classes()
    other = X.copy()
    other[100:, 0] = X[100:, 0].max() - X[100:, 0]
    first, second = (clone(model).set_params(use_unlabeled="never").fit(rows, y).cuts_[0] for rows in (X, other))
    assert abs(first.normal @ second.normal) > 0.995


@each
def test_few_labels_in_many_columns_are_separated_by_the_labels_alone(model, rng):
    X = rng.normal(size=(60, 200))
    y = np.full(60, -1)
    y[:10] = np.arange(10) % 2
    fitted = clone(model).set_params(use_unlabeled="never").fit(X, y)
    assert fitted.score(X, y) == 1
    machine = SVC(kernel="linear", C=1e3).fit(X[:10], y[:10])
    direction = machine.coef_[0] / np.linalg.norm(machine.coef_[0])
    assert fitted.cuts_[0].normal @ direction > 0.99


@each
@pytest.mark.parametrize("n_classes", [2, 15])
def test_the_unit_of_equal_weights_changes_nothing(model, n_classes):
    X, _, y = many_blobs(n_classes, each=8)
    plain = clone(model).fit(X, y)
    assert plain.score(X, y) > 0.95
    for unit in (1e-100, 0.1, 7.0, 1e12) if n_classes == 2 else (0.1,):
        weighted = clone(model).fit(X, y, sample_weight=np.full(len(X), unit))
        assert_array_equal(weighted.decision_function(X), plain.decision_function(X))


@each
def test_the_unit_of_unequal_weights_changes_nothing_but_the_last_digits(model, rng):
    X, _, y = blobs(3, n=90)
    weights = rng.uniform(0.5, 2, size=len(X))
    first, second = (clone(model).fit(X, y, sample_weight=unit * weights) for unit in (1.0, 1e-3))
    assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-3)


@each
def test_number_of_threads_does_not_change_the_held_out_errors(model):
    X, _, y = blobs(3, n_labels=6)
    one, four = (clone(model).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4))
    assert_array_equal(one.held_out_errors_, four.held_out_errors_)


def test_folds_share_the_positions_of_a_class_and_leave_single_labels(rng):
    sides = np.r_[np.full(12, -1), 1, np.zeros(5, dtype=int)]
    position = rng.normal(size=18)
    tie = np.arange(18)
    fold = folds_of(sides, position, tie)
    assert_array_equal(fold[12:], -1)
    assert_array_equal(np.unique(fold[:12]), np.arange(N_FOLDS))
    assert np.bincount(fold[:12]).max() - np.bincount(fold[:12]).min() <= 1
    in_order = fold[:12][np.argsort(position[:12])]
    assert (np.diff(in_order) % N_FOLDS == 1).all()
    order = rng.permutation(18)
    assert_array_equal(folds_of(sides[order], position[order], tie[order]), fold[order])


def test_held_out_labels_are_not_seen():
    sides, seen = np.array([-1, -1, 1, 1, 0]), []

    def log_odds(left):
        seen.append(left.copy())
        return np.array([-1.0, 2.0, 3.0, 0.0, 9.0])

    errors = squared_errors(sides, np.array([1, 2]), log_odds)
    assert_array_equal(seen[0], [-1, 0, 0, 1, 0])
    assert_array_equal(sides, [-1, -1, 1, 1, 0])
    assert_allclose(errors, [expit(2.0) ** 2, expit(-3.0) ** 2])
    assert_array_equal(errors > WRONG, [True, False])


def test_both_classes_count_the_same_in_the_mean_error():
    errors, sides = np.array([0.1, 0.3, 0.8]), np.array([-1, -1, 1])
    assert_allclose(mean_of_classes(errors, sides, np.array([1.0, 3.0, 1.0])), (0.25 + 0.8) / 2)
    assert_allclose(mean_of_classes(errors[:2], sides[:2], np.ones(2)), 0.2)
