"""What every semi-supervised classifier promises: scikit-learn's own checks, and the library's contract."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.strategies import seeds

from ravine.datasets import make_blobs
from ravine.semi_supervised import MDHClassifier, SpectralPursuitClassifier
from ravine.semi_supervised._base import read_labels

CLASSIFIERS = [MDHClassifier(), SpectralPursuitClassifier()]
each = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)


@pytest.mark.filterwarnings("ignore:y has only the values -1 and 1")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(n_classes, n=300, n_labels=3):
    """Rows in blobs, their classes, and labels of the first rows of each class."""
    centers = [[0, 0, 0], [9, 0, 0], [0, 9, 5], [9, 9, -5]][:n_classes]
    X, truth = make_blobs(n, centers=centers, random_state=1)
    y = np.full(n, -1)
    for c in range(n_classes):
        first = np.flatnonzero(truth == c)[:n_labels]
        y[first] = c
    return X, truth, y


each_number = pytest.mark.parametrize("n_classes", [2, 3, 4])


@each
@each_number
@pytest.mark.parametrize("n_labels", [1, 3])
def test_blobs_are_told_apart_by_a_few_labels(model, n_classes, n_labels):
    X, truth, y = blobs(n_classes, n_labels=n_labels)
    fitted = clone(model).fit(X, y)
    assert np.mean(fitted.transduction_ == truth) > 0.99
    assert fitted.score(X, truth) > 0.99
    assert len(fitted.cuts_) == len(fitted.slopes_) == n_classes * (n_classes - 1) // 2


@each
@each_number
def test_answers_agree_with_each_other(model, n_classes, rng):
    X, _, y = blobs(n_classes)
    y[:40] = rng.integers(0, n_classes, size=40)
    fitted = clone(model).fit(X, y)
    predicted, decision, probability = fitted.predict(X), fitted.decision_function(X), fitted.predict_proba(X)
    assert_array_equal(fitted.transduction_[y == -1], predicted[y == -1])
    assert_array_equal(fitted.transduction_[y != -1], y[y != -1])
    assert_array_equal(probability.argmax(axis=1), predicted)
    assert_allclose(probability.sum(axis=1), 1)
    if n_classes == 2:
        assert_array_equal(decision >= 0, predicted == 1)
        order = np.argsort(decision)
        assert (np.diff(probability[order, 1]) >= 0).all()
        assert_array_equal(fitted.cuts_[0].goes_left(X), predicted == 0)
    else:
        assert_array_equal(decision.argmax(axis=1), predicted)


@each
@given(seeds, st.sampled_from([2, 3]), st.integers(1, 3))
def test_probability_on_the_cut_is_one_half_and_attributes_are_finite(model, seed, n_columns, n_labels):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, n_columns))
    y = np.full(30, -1)
    y[:n_labels], y[n_labels : 2 * n_labels] = 0, 1
    fitted = clone(model).set_params(n_jobs=1).fit(X, y)
    cut = fitted.cuts_[0]
    on_cut = X - np.outer(X @ cut.normal - cut.offset, cut.normal)
    assert_allclose(fitted.predict_proba(on_cut), 0.5, atol=1e-9)
    assert np.isfinite(fitted.slopes_).all()
    assert (fitted.slopes_ > 0).all()
    assert np.isfinite(cut.normal).all()
    assert np.isfinite(cut.offset)


@each
@pytest.mark.parametrize(
    ("labels", "mark"),
    [
        (np.array([3, 7]), -1),
        (np.array([0.0, 2.0]), -1.0),
        (np.array(["no", "yes"], dtype=object), -1),
        (np.array(["no", "yes"], dtype=object), None),
        (np.array([False, True], dtype=object), None),
        (np.array([5, 9], dtype=object), None),
    ],
    ids=["ints", "floats", "strings and -1", "strings and None", "bools and None", "objects that are ints"],
)
def test_labels_may_be_of_any_kind(model, labels, mark):
    X, truth, y = blobs(2)
    target = labels[truth]
    target[y == -1] = mark
    fitted = clone(model).fit(X, target)
    assert_array_equal(fitted.classes_, labels)
    assert_array_equal(fitted.predict(X), labels[truth])
    assert_array_equal(fitted.transduction_, labels[truth])
    assert fitted.score(X, target) == 1


@each
@pytest.mark.parametrize("labels", [np.array(["a", "b"]), np.array([False, True])])
def test_all_rows_may_be_labeled(model, labels):
    X, truth, _ = blobs(2)
    fitted = clone(model).fit(X, labels[truth])
    assert_array_equal(fitted.transduction_, labels[truth])
    assert fitted.score(X, labels[truth]) == 1


@each
def test_minus_one_and_one_alone_are_two_classes_with_a_warning(model):
    X, truth, _ = blobs(2)
    with pytest.warns(UserWarning, match="only the values -1 and 1: they are taken as two classes"):
        fitted = clone(model).fit(X, 2 * truth - 1)
    assert_array_equal(fitted.classes_, [-1, 1])
    assert fitted.score(X, 2 * truth - 1) == 1
    assert fitted.score(X, np.full(300, -1)) == np.mean(truth == 0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1] * 6, "y has no labels: label rows of at least two classes"),
        ([None] * 6, "y has no labels"),
        ([-1, -1, 4, 4, 4, 4], "y has only one class, 4: label rows of at least two classes"),
        (["a", "b", "-1", "a", "b", "a"], "the string '-1'.*array of objects"),
        (np.array(["a", "b", "-1", "a", "b", None], dtype=object), "the string '-1'.*array of objects"),
        (np.array(["a", 2, -1, "a", "b", "a"], dtype=object), "mixes strings and other values"),
        ([0.5, 1.2, -1, 3.1, 0.2, 0.1], "Unknown label type"),
        ([0, 1, np.nan, 1, 0, 1], "contains NaN"),
        ([0, 1, 0], "inconsistent numbers of samples"),
    ],
    ids=[
        "-1",
        "None",
        "one class",
        "strings",
        "strings among objects",
        "mixed",
        "numbers that are no classes",
        "nan",
        "too few",
    ],
)
@each
def test_bad_labels_say_what_to_change(model, y, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(np.arange(12.0).reshape(6, 2), y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0], [3.0, 1.0]], "contains NaN"),
        ([[1.0, np.inf], [2.0, 3.0], [3.0, 1.0]], "contains infinity"),
        (np.empty((0, 2)), "0 sample"),
        ([["a", "b"], ["c", "d"], ["e", "f"]], "could not convert string|dtype='numeric'"),
        ([[1e200, 0.0], [0.0, 1.0], [3.0, 3.0]], r"largest absolute value in X is 1e\+200.*change the unit"),
        ([[1e-200, 0.0], [0.0, 0.0], [0.0, 1e-201]], "largest absolute value in X is 1e-200.*change the unit"),
    ],
    ids=["nan", "inf", "no rows", "strings", "huge", "tiny"],
)
@each
def test_bad_rows_say_what_to_change(model, X, message):
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, [0, 1, -1][: len(X)])


@each
def test_wrong_width_at_predict_is_refused(model):
    X, _, y = blobs(2)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        clone(model).fit(X, y).predict(X[:, :2])


@each
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 2)),
        np.c_[np.ones(30), np.repeat([2.0, np.nextafter(2.0, 3.0)], 15)],
        np.c_[np.arange(40.0), np.ones(40)],
        np.arange(2.0)[:, None],
        np.r_[np.random.default_rng(0).normal(size=99), 1e100][:, None],
        1e100 * np.random.default_rng(0).normal(size=(40, 2)),
        1e-100 * np.random.default_rng(0).normal(size=(40, 2)),
        1e9 + np.random.default_rng(0).normal(size=(40, 2)),
        np.random.default_rng(0).normal(size=(6, 300)),
        np.arange(40).reshape(20, 2) % 7,
        np.arange(40).reshape(20, 2) % 3 == 1,
    ],
    ids=[
        "zeros", "differences of one bit", "constant column", "two rows", "one enormous outlier", "huge", "tiny",
        "far from the origin", "fewer rows than columns", "integers", "booleans",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:one cell has nearly all of the spread")
def test_degenerate_rows_give_finite_answers(model, X):
    y = np.full(len(X), -1)
    y[0], y[-1] = 0, 1
    fitted = clone(model).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert_array_equal(fitted.transduction_[[0, -1]], [0, 1])


@each
def test_rows_that_are_all_alike_go_to_the_class_with_more_labels(model):
    X = np.ones((6, 2))
    assert_array_equal(clone(model).fit(X, [0, 1, 1, -1, -1, -1]).predict(X), np.ones(6))
    assert_array_equal(clone(model).fit(X, [0, 0, 1, -1, -1, -1]).predict(X), np.zeros(6))


@each
def test_labels_that_contradict_each_other_leave_the_others_their_say(model):
    X, truth, y = blobs(2)
    X[:2] = X[y == 0][0]
    y[:2] = [0, 1]
    fitted = clone(model).fit(X, y)
    assert np.mean(fitted.predict(X)[2:] == truth[2:]) > 0.9
    assert_array_equal(fitted.transduction_[:2], [0, 1])


@each
def test_every_row_may_be_a_class_of_its_own(model, rng):
    X = rng.normal(size=(6, 2))
    fitted = clone(model).fit(X, np.arange(6))
    assert_array_equal(fitted.transduction_, np.arange(6))
    assert fitted.predict_proba(X).shape == (6, 6)


@each
@each_number
def test_number_of_threads_changes_nothing(model, n_classes, monkeypatch):
    from ravine import _blocks

    monkeypatch.setattr(_blocks, "BLOCK_CELLS", 200)
    X, _, y = blobs(n_classes)
    one, four = (clone(model).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 4))
    assert_array_equal(one.decision_function(X), four.decision_function(X))
    assert_array_equal(one.slopes_, four.slopes_)


@each
@each_number
def test_shift_scale_rotation_and_order_leave_the_classes(model, n_classes, rng):
    X, _, y = blobs(n_classes)
    expected = clone(model).fit(X, y).transduction_
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for other in (X + 1e4, X * 1e-6, X * 1e6, X @ rotation, -X):
        assert_array_equal(clone(model).fit(other, y).transduction_, expected)
    order = rng.permutation(len(X))
    assert_array_equal(clone(model).fit(X[order], y[order]).transduction_, expected[order])


@each
@each_number
def test_names_of_the_classes_do_not_matter(model, n_classes):
    X, _, y = blobs(n_classes)
    expected = clone(model).fit(X, y).transduction_
    turned = np.where(y == -1, -1, n_classes - 1 - y)
    assert_array_equal(n_classes - 1 - clone(model).fit(X, turned).transduction_, expected)


@each
def test_float32_sparse_and_frames_agree_with_float64(model):
    X, _, y = blobs(3)
    X = X * (np.abs(X) > 1)
    plain = clone(model).fit(X, y)
    for other in (X.astype(np.float32), sparse.csr_array(X), np.asfortranarray(X)):
        assert_array_equal(clone(model).fit(other, y).transduction_, plain.transduction_)
        assert_array_equal(plain.predict(other), plain.predict(X))
    names = ["width", "height", "depth"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        fitted = clone(model).fit(frame, pd.Series(y) if isinstance(frame, pd.DataFrame) else pl.Series(y))
        assert_array_equal(fitted.transduction_, plain.transduction_)
        assert_array_equal(fitted.feature_names_in_, names)
        assert fitted.score(frame, y) == 1


@each
def test_integer_weights_equal_repeated_rows(model, rng):
    X, _, y = blobs(2, n=80)  # few enough for sums over the rows themselves: bins are not the same for both
    repeats = rng.integers(0, 4, size=80)
    weighted = clone(model).fit(X, y, sample_weight=repeats)
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-5, atol=1e-5)


@each
def test_labels_of_rows_without_weight_do_not_count(model):
    X, truth, y = blobs(2)
    y[:20] = 1 - truth[:20]
    weights = np.repeat([0.0, 1.0], [20, 280])
    y[20:26] = truth[20:26]
    fitted = clone(model).fit(X, y, sample_weight=weights)
    assert_array_equal(fitted.transduction_, truth)
    with pytest.raises(ValueError, match="y has only one class"):
        clone(model).fit(X, y, sample_weight=weights * (y != 0))


@each
def test_rows_without_a_label_do_not_count_for_the_score(model):
    X, truth, y = blobs(2)
    fitted = clone(model).fit(X, y)
    assert fitted.score(X, y) == 1
    wrong = np.where(np.arange(300) < 150, 1 - truth, -1)
    assert fitted.score(X, wrong) == 0
    assert fitted.score(X, wrong, sample_weight=np.ones(300)) == 0
    only_ones = np.where(truth == 1, 1, -1)  # in a fold of a search labels of one class may be missing
    assert fitted.score(X, only_ones) == 1


@each
def test_classifier_works_in_pipelines_and_searches(model):
    X, truth, y = blobs(3, n_labels=6)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert pipeline.fit(X, y).score(X, truth) > 0.99
    name = f"{type(model).__name__.lower()}__bandwidth_factor"
    search = GridSearchCV(pipeline, {name: [0.5, 0.9]}, cv=2).fit(X, y)
    assert search.score(X, truth) > 0.99
    assert (search.cv_results_["mean_test_score"] > 0.9).all()


@each
def test_progress_is_reported_and_nothing_else_is_printed(model, capfd):
    X, _, y = blobs(3)
    clone(model).fit(X, y)
    assert capfd.readouterr() == ("", "")
    clone(model).set_callbacks(ProgressBar()).fit(X, y)
    assert type(model).__name__ in capfd.readouterr().out


def test_reading_labels_keeps_their_type():
    labels, is_labeled = read_labels(np.array(["a", None, -1, "b"], dtype=object))
    assert labels.dtype.kind == "U"
    assert_array_equal(is_labeled, [True, False, False, True])
    labels, is_labeled = read_labels(np.array([4, -1, 6]))
    assert_array_equal(labels[is_labeled], [4, 6])


def many_blobs(n_classes, seed=0, n_columns=4, n_labels=3, each=20):
    """Rows of many classes, their classes, and a few labels of each."""
    X, truth = make_blobs(
        [each] * n_classes, centers=30 * np.random.default_rng(seed).normal(size=(n_classes, n_columns)), random_state=1
    )
    y = np.full(len(X), -1)
    for c in range(n_classes):
        y[np.flatnonzero(truth == c)[:n_labels]] = c
    return X, truth, y


@each
def test_many_classes_are_compared_with_those_near_them(model):
    X, truth, y = many_blobs(40)
    fitted = clone(model).fit(X, y)
    assert np.mean(fitted.transduction_ == truth) > 0.98
    assert len(fitted.pairs_) == len(fitted.cuts_) == len(fitted.slopes_) < 40 * 39 / 4
    assert (fitted.pairs_[:, 0] < fitted.pairs_[:, 1]).all()
    assert_array_equal(np.unique(fitted.pairs_), np.arange(40))
    decision, probability = fitted.decision_function(X), fitted.predict_proba(X)
    assert decision.shape == probability.shape == (len(X), 40)
    assert_array_equal(fitted.classes_[decision.argmax(axis=1)], fitted.predict(X))
    assert_allclose(probability.sum(axis=1), 1)
    right = probability[np.arange(len(X)), truth]
    assert -np.log(np.maximum(right, 1e-15)).mean() < 0.3


@each
def test_answer_for_a_row_does_not_depend_on_the_rows_beside_it(model):
    X, _, y = many_blobs(20)
    fitted = clone(model).fit(X, y)
    by_row = np.concatenate([fitted.decision_function(X[i : i + 1]) for i in range(0, len(X), 7)])
    assert_array_equal(by_row, fitted.decision_function(X)[::7])


@each
def test_many_classes_do_not_depend_on_threads_unit_storage_or_order(model, rng):
    model = clone(model).set_params(use_unlabeled="always")  # every row has a label, and "auto" only takes longer
    X, _, y = many_blobs(16, each=15)
    X = X * (np.abs(X) > 1)
    expected = clone(model).fit(X, y)
    assert_array_equal(clone(model).set_params(n_jobs=3).fit(X, y).decision_function(X), expected.decision_function(X))
    for other in (1e-6 * X, X + 1e4):
        assert np.mean(clone(model).fit(other, y).transduction_ == expected.transduction_) > 0.99
    assert np.mean(clone(model).fit(sparse.csr_array(X), y).transduction_ == expected.transduction_) > 0.97
    order = rng.permutation(len(X))
    assert_array_equal(clone(model).fit(X[order], y[order]).transduction_, expected.transduction_[order])


@each
def test_up_to_fifteen_classes_every_pair_has_a_boundary(model):
    X, _, y = many_blobs(16, each=8)
    some = y < 15
    assert len(clone(model).fit(X[some], y[some]).pairs_) == 15 * 14 / 2
    assert len(clone(model).fit(X, y).pairs_) < 15 * 14 / 2


@each
def test_one_label_of_each_of_many_classes_is_enough(model):
    X, truth, y = many_blobs(30, n_labels=1)
    assert np.mean(clone(model).fit(X, y).transduction_ == truth) > 0.95


@each
def test_a_hundred_classes_are_told_apart_by_some_boundaries_each(model):
    X, truth, y = many_blobs(100, n_columns=6, each=8)
    model = clone(model).fit(X, y)
    assert len(model.cuts_) < 600
    assert np.mean(model.transduction_ == truth) > 0.97


@each
@settings(max_examples=25)
@given(seeds, st.integers(0, 4), st.sampled_from([2, 3, 20]))
def test_few_distinct_rows_give_finite_answers(model, seed, kind, n_classes):
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 4))
    distinct = rng.integers(-2, 3, size=(rng.integers(1, 5), n_columns)).astype(float)
    X = distinct[rng.integers(len(distinct), size=30)]
    if kind == 1:
        X *= 1 + 1e-12 * rng.normal(size=X.shape)
    elif kind == 2:
        X = 1e6 + 1e-9 * X
    elif kind == 3:
        X[:, 0] = 7.0
    elif kind == 4:
        X += 1e12
    y = rng.integers(-1, n_classes, size=30)
    y[:2] = [0, 1]
    fitted = clone(model).set_params(n_jobs=1).fit(X, y)
    probability = fitted.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1)
    assert np.isfinite(fitted.slopes_).all()
    if fitted.decision_function(X).ndim == 2:
        assert_array_equal(fitted.classes_[fitted.decision_function(X).argmax(axis=1)], fitted.predict(X))


@each
def test_rows_that_are_all_alike_go_to_the_most_frequent_of_several_classes(model):
    X = np.full((7, 2), 3.0)
    assert_array_equal(clone(model).fit(X, [0, 1, 1, 1, 2, 2, -1]).predict(X), np.ones(7))


@each
@pytest.mark.parametrize("n_classes", [2, 4, 15, 20])
@pytest.mark.parametrize("size", [1e-100, 1e-12, 1e12, 1e100])
def test_weights_of_any_size_end(model, n_classes, size):
    X, _, y = many_blobs(n_classes, each=8)
    fitted = clone(model).fit(X, y, sample_weight=np.full(len(X), size))
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert fitted.score(X, y) > 0.9


@each
@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_weights_that_differ_by_twelve_powers_of_ten_end(model, n_classes, rng):
    X, _, y = many_blobs(n_classes)
    for weights in (10.0 ** rng.uniform(-12, 0, size=len(X)), np.where(np.arange(len(X)) % 2, 1.0, 1e-12)):
        fitted = clone(model).fit(X, y, sample_weight=weights)
        assert np.isfinite(fitted.predict_proba(X)).all()
        assert np.isfinite(fitted.slopes_).all()
