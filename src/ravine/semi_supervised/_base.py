"""Base class of the semi-supervised classifiers: labels, pairs of classes, votes and probabilities.

The boundary between two classes is a cut. With more than two classes, every pair has a cut, and the pairs vote. For k
classes this takes k(k - 1) / 2 searches, and as many passes to predict. With many classes, only pairs of nearby classes
have a cut (`ravine.semi_supervised._near`), which takes about four searches for each class. Held-out labels decide
whether the unlabeled rows are used (`ravine.semi_supervised._held_out`), which takes up to five times as many searches.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit, log_expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.svm import LinearSVC
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ravine._blocks import count_threads, map_items
from ravine._matrix import (
    Bools,
    Floats,
    Ints,
    Matrix,
    Moments,
    column_deviations,
    fingerprint,
    mix,
    moments_of,
    project,
)
from ravine._schema import Array, Custom, Group, Number, Sizes, State, all_or_none, require
from ravine._sklearn import StrOptions, safe_indexing
from ravine.cluster._arrays import answering, on_host
from ravine.cluster._base import N_JOBS, RowEstimator, fitting, one_blas_thread
from ravine.cuts import Cut
from ravine.cuts._density import depth_at, normal_bandwidth, projected_density
from ravine.semi_supervised._held_out import WRONG, folds_of, mean_of_classes, squared_errors
from ravine.semi_supervised._near import MOST_PAIRED, NearClasses

UNLABELED = -1

PairData = tuple[Matrix, Ints, Floats]
"""Rows of two classes, their sides as in `_find_cut`, and their weights."""

ADDED_LABELS = 10.0
"""Number of pseudo-labels that are added before probabilities are learned: docs/decisions/semi-supervised.md."""

BANDWIDTH = 0.9
"""Bandwidth factor of the density across a cut, which multiplies σ n^(-1/5)."""

SLOPES = (1e-3, 1e3)
"""Smallest and largest slope of the log-odds, per mean distance to the cut."""

LABEL_WEIGHT = (1e-9, 1e9)
"""Smallest and largest total weight of the labeled rows for a support vector machine."""

INTERCEPT_SCALING = 10.0
"""How much less the intercept is penalized than the normal, if the labels alone decide: nearly not at all."""

MOST_TESTED = math.comb(MOST_PAIRED, 2)
"""Maximum number of pairs of classes on which it is measured whether the unlabeled rows help."""

NEAR = ("towards", "least", "nearest")
"""Fields of the nearest classes, as in `NearClasses`."""

CUT_NUMBERS = ("offset", "value", "relative_depth")
"""Numbers of a cut that a file keeps beside its normal."""

MOST_LETTERS, LONG_NAME = 1 << 22, 256
"""Maximum number of letters of all class names in a file. If a name is longer than LONG_NAME, the limit also holds for
the classes of all rows, because NumPy gives each name the memory of the longest."""


def nearest_are_others(state: State, sizes: Sizes) -> None:
    """No class is its own neighbor, or has a neighbor twice."""
    if state["nearest"] is not None:
        ordered = np.sort(np.column_stack([np.arange(sizes["n_classes"]), state["nearest"]]), axis=1)
        is_once = (ordered[:, 1:] != ordered[:, :-1]).all()
        require(is_once, "nearest", "lists a class twice, or as its own neighbor")


def every_pair_has_a_boundary(state: State, sizes: Sizes) -> None:
    """All pairs of classes have a boundary, or all pairs of a class and one of its nearest classes."""
    near = _near_of(state)
    n_pairs = math.comb(sizes["n_classes"], 2) if near is None else len(near.pairs)
    require(sizes["n_pairs"] == n_pairs, "normal", f"has {sizes['n_pairs']} rows for {n_pairs} pairs of classes")
    lengths = np.linalg.norm(state["normal"], axis=1)
    require(np.allclose(lengths, 1.0), "normal", "has a row that is not a unit vector")


def names_of_classes_fit_into_memory(state: State, sizes: Sizes) -> None:
    """The classes of all rows are not much larger than the file."""
    if state["transduction"] is not None:
        size = state["classes"].itemsize
        is_small = size <= 4 * LONG_NAME or size * len(state["transduction"]) <= 4 * MOST_LETTERS
        require(is_small, "classes", "has names that are far too long for this many rows")


def _near_of(state: State) -> NearClasses | None:
    return None if state["nearest"] is None else NearClasses(*(state[name] for name in NEAR))


def _checked_classes(classes: Any) -> NDArray[Any]:
    """Return the classes from a file as an array; in the file they are an array of numbers, or a list of strings."""
    if isinstance(classes, list) and all(isinstance(name, str) for name in classes):
        if len(classes) * max(map(len, classes), default=0) > MOST_LETTERS:
            raise ValueError("has names that are far too long")
        classes = np.array(classes, dtype=str)
    is_list = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1
    if not is_list or not (classes[:-1] < classes[1:]).all():
        raise ValueError("must be a sorted list of at least two different classes")
    return np.asarray(classes)


SAVED = Group(
    {
        "classes": Custom(_checked_classes, length="n_classes"),
        "normal": Array("float64", ("n_pairs", "n_features")),
        "offset": Array("float64", ("n_pairs",)),
        "value": Array("float64", ("n_pairs",)),
        "relative_depth": Array("float64", ("n_pairs",)),
        "slopes": Array("float64", ("n_pairs",), low=0),
        "transduction": Array("integer", ("n_samples",), index_of="n_classes", optional=True),
        "towards": Array("float64", ("n_classes", "n_features"), required=False),
        "least": Array("float64", ("n_classes",), required=False),
        "nearest": Array("integer", ("n_classes", "n_nearest"), index_of="n_classes", required=False),
        "uses_unlabeled": Number(bool, required=False),
        "held_out_errors": Array("float64", (2,), low=0, high=1, required=False),
    },
    (
        all_or_none(*NEAR),
        nearest_are_others,
        every_pair_has_a_boundary,
        names_of_classes_fit_into_memory,
    ),
)
"""What a file keeps of a classifier. The fields of `NEAR` are there if not all pairs of classes have a boundary. In a
file without the last two, the unlabeled rows were used and nothing was measured."""


class CutClassifier(ClassifierMixin, RowEstimator, ABC):
    """Base class of the classifiers whose boundary between two classes is a cut."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "use_unlabeled": [StrOptions({"auto", "always", "never"})],
        "n_jobs": N_JOBS,
    }
    _schema: ClassVar[Group] = SAVED
    _in_state: ClassVar[tuple[str, ...]] = ("cuts_", "_near")

    classes_: NDArray[Any]
    pairs_: Ints
    cuts_: list[Cut]
    slopes_: Floats
    transduction_: NDArray[Any]
    uses_unlabeled_: bool
    held_out_errors_: Floats | None
    use_unlabeled: Literal["auto", "always", "never"]
    random_state: int | np.random.RandomState | None = 0

    @abstractmethod
    def _find_cut(self, X: Matrix, sides: Ints, weights: Floats, seed: int, n_jobs: int | None) -> Cut | None:
        """Find the boundary between two classes.

        Parameters
        ----------
        X : rows
        sides : ndarray of shape (n_samples,)
            -1 for rows labeled with the first class of the pair, 1 for rows labeled with the second, 0 for unlabeled
            rows. Both classes have rows.
        weights : ndarray of shape (n_samples,)
            Positive weights of the rows.
        seed : int
            Seed of everything that is random.
        n_jobs : int or None
            Threads; the result does not depend on it.

        Returns
        -------
        cut : Cut or None
            Cut with the first class on its left, where ``x @ normal < offset``. None if the rows do not vary.
        """

    @fitting
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the boundaries between the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. A CSR matrix is not converted to a dense array.
        y : array-like of shape (n_samples,)
            Class of each row. -1 marks an unlabeled row, and so does None in an array of objects. Use an array of
            objects if the classes are strings. If `y` has only the values -1 and 1, there would be one class only: then
            -1 is a class, all rows are labeled, and a warning says so.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. Only the ratios of the weights count. A row of weight 2 and a row that is given twice
            are the same input. Labels of rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, target = self._validate_with_target(X, y)
        weights, reach = self._admit(rows, sample_weight)
        self._check_outliers(rows, weights, reach)
        labels, is_labeled = read_labels(target)
        is_labeled &= weights > 0
        self.classes_, codes = np.unique(labels[is_labeled], return_inverse=True)
        if len(self.classes_) < 2:
            seen = f"has only one class, {self.classes_[0]!s}" if len(self.classes_) else "has no labels"
            raise ValueError(
                f"y {seen}: label rows of at least two classes, with positive weight; -1 marks an unlabeled row, every "
                "other value is a class"
            )
        code = np.full(len(labels), UNLABELED)
        code[is_labeled] = codes
        distinct, codes, total = without_copies(rows, code, weights)
        total = total / label_unit(codes, total)
        with one_blas_thread():
            self._learn(distinct, codes, total)
        self.transduction_ = self._predict(rows)
        self.transduction_[is_labeled] = labels[is_labeled]
        return self

    @answering
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class of each row, one of `classes_`.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import MDHClassifier
        >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0]])
        >>> model = MDHClassifier().fit(X, [0, -1, -1, -1, -1, 1])
        >>> model.predict([[2.0], [4.0]])
        array([0, 1])
        """
        check_is_fitted(self)
        return self._predict(self._validate(X, reset=False, order="C"))

    @answering
    def decision_function(self, X: ArrayLike) -> Floats:
        """Compute how strongly each row belongs to the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, the signed distance to the cut, positive on the side of ``classes_[1]``. With more
            classes, the logarithm of the probability that the class wins all its pairs, as if these were independent.
            With more than 15 classes, only the pairs of classes near the row count.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import MDHClassifier
        >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0]])
        >>> model = MDHClassifier().fit(X, [0, -1, -1, -1, -1, 1])
        >>> model.decision_function([[0.0], [6.0]]) > 0
        array([False,  True])
        """
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False, order="C"))

    @answering
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``. With two classes, they are a logistic function of the distance
            to the cut, and 1/2 at the cut. With more classes, they are proportional to the probability that the class
            wins all its pairs.

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import MDHClassifier
        >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0]])
        >>> model = MDHClassifier().fit(X, [0, -1, -1, -1, -1, 1])
        >>> model.predict_proba([[0.0], [3.0], [6.0]]).round(2)
        array([[0.77, 0.23],
               [0.5 , 0.5 ],
               [0.23, 0.77]])
        """
        decision = self.decision_function(X)
        if len(self.classes_) == 2:
            right = expit(self.slopes_[0] * decision)
            return np.column_stack([1 - right, right])
        return np.asarray(softmax(decision, axis=1))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the labeled rows; unlabeled rows are ignored.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        y : array-like of shape (n_samples,)
            Class of each row; -1, or None in an array of objects, marks an unlabeled row, as in `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row. Default: 1 for each.

        Returns
        -------
        accuracy : float
            Share of the labeled rows whose class is predicted correctly, in [0, 1].

        Examples
        --------
        >>> import numpy as np
        >>> from ravine import MDHClassifier
        >>> X = np.array([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0]])
        >>> model = MDHClassifier().fit(X, [0, -1, -1, -1, -1, 1])
        >>> model.score(X, [0, 0, -1, -1, 1, 1])
        1.0
        """
        check_is_fitted(self)
        has_minus_one = bool(np.isin(UNLABELED, self.classes_)) if self.classes_.dtype.kind in "if" else False
        X, y, sample_weight = (on_host(array) for array in (X, y, sample_weight))
        labels, is_labeled = read_labels(np.asarray(y), has_minus_one)
        rows = np.flatnonzero(is_labeled)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(super().score(safe_indexing(X, rows), labels[rows], weights))

    def _classes_of(self, decision: Floats) -> NDArray[Any]:
        best = (decision >= 0).astype(np.int64) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _predict(self, rows: Matrix) -> NDArray[Any]:
        if self._near is None:
            return self._classes_of(self._decide(rows))
        return np.asarray(self.classes_[self._near.best(rows, self._log_odds, self.n_jobs)])

    def _log_odds(self, rows: Matrix, number: int) -> Floats:
        """Return the log-odds of the second class of a pair against the first."""
        return np.asarray(self.slopes_[number] * _distance(rows, self.cuts_[number], self.n_jobs))

    def _decide(self, rows: Matrix) -> Floats:
        if len(self.classes_) == 2:
            return _distance(rows, self.cuts_[0], self.n_jobs)
        if self._near is not None:
            return self._near.decide(rows, self._log_odds, self.slopes_, self.n_jobs)
        decision = np.zeros((rows.shape[0], len(self.classes_)))
        for number, (first, second) in enumerate(self.pairs_):
            odds = self._log_odds(rows, number)
            decision[:, second] += log_expit(odds)
            decision[:, first] += log_expit(-odds)
        return decision

    def _plan(self, rows: Matrix, code: Ints, weights: Floats) -> Ints:
        """Choose which pairs of classes have a boundary; return the class whose pairs each row helps to fit."""
        n_classes = len(self.classes_)
        self._near = None
        if n_classes <= MOST_PAIRED:
            self.pairs_ = _all_pairs(n_classes)
            return code if n_classes == 2 else _guess(rows, code, weights, n_classes)
        by_labels = NearClasses.of(rows, code, weights, n_classes)
        guess = np.where(code == UNLABELED, by_labels.nearest_class(rows, self.n_jobs), code)
        self._near = NearClasses.of(rows, np.where(weights > 0, guess, UNLABELED), weights, n_classes)
        self.pairs_ = np.array(self._near.pairs)
        return guess

    def _learn(self, rows: Matrix, code: Ints, weights: Floats) -> None:
        """Find the cut of every pair of classes, and the slope of the log-odds across it."""
        guess = self._plan(rows, code, weights)
        seed, members = self._draw_seed(), _members(np.where(weights > 0, guess, UNLABELED), len(self.classes_))

        def data_of(pair: list[int]) -> PairData:
            first, second = pair
            if len(self.classes_) == 2:
                here = np.flatnonzero(weights > 0)
            else:
                here = np.sort(np.concatenate([members[first], members[second]]))
            pair_rows, pair_weights = (rows, weights) if len(here) == len(weights) else (rows[here], weights[here])
            return pair_rows, np.select([code[here] == first, code[here] == second], [-1, 1], 0), pair_weights

        self.held_out_errors_ = None
        is_auto, is_always = self.use_unlabeled == "auto", self.use_unlabeled == "always"
        self.uses_unlabeled_ = self._choose(data_of, seed) if is_auto else is_always
        if self._near is not None and not self.uses_unlabeled_:
            self._near = NearClasses.of(rows, code, weights, len(self.classes_))
            self.pairs_ = np.array(self._near.pairs)
        pairs = self.pairs_.tolist()
        n_jobs = self.n_jobs if len(pairs) == 1 else 1  # with several pairs, each thread takes whole pairs

        def learn_pair(pair: list[int]) -> tuple[Cut, float]:
            return self._fit_pair(*data_of(pair), seed, n_jobs, self.uses_unlabeled_)

        n_threads, found = count_threads(self.n_jobs), []
        with self._progress(rows, "pair", len(pairs)) as on_pair:
            for start in range(0, len(pairs), n_threads):
                batch = pairs[start : start + n_threads]
                found += map_items(learn_pair, batch, self.n_jobs)
                for _ in batch:
                    on_pair()
        self.cuts_ = [cut for cut, _ in found]
        self.slopes_ = np.array([slope for _, slope in found])

    def _choose(self, data_of: Callable[[list[int]], PairData], seed: int) -> bool:
        """Return whether the boundaries are better with the unlabeled rows, measured on held-out labels.

        They are used unless a held-out label is on the wrong side and the labels alone have a smaller error. If no
        class has two labels, nothing can be held out, and the unlabeled rows are used.
        """
        chosen = np.linspace(0, len(self.pairs_) - 1, min(len(self.pairs_), MOST_TESTED)).round().astype(np.int64)
        pairs = self.pairs_[chosen].tolist()
        folds = map_items(lambda pair: _folds(*data_of(pair)), pairs, self.n_jobs)
        tasks = [(k, f) for k, fold in enumerate(folds) for f in np.unique(fold[fold >= 0]).tolist()]
        if not tasks:
            return True

        def errors_of(task: tuple[int, int]) -> tuple[Floats, Ints, Floats]:
            """Return errors with and without the unlabeled rows, sides and weights, in one fold of one pair."""
            pair, fold = task
            rows, sides, weights = data_of(pairs[pair])
            held_out = np.flatnonzero(folds[pair] == fold)

            def log_odds(use_unlabeled: bool, left: Ints) -> Floats:
                cut, slope = self._fit_pair(rows, left, weights, seed, 1, use_unlabeled)
                return np.asarray(slope * _distance(rows, cut, 1))

            errors = [squared_errors(sides, held_out, partial(log_odds, use)) for use in (True, False)]
            return np.stack(errors), sides[held_out], weights[held_out]

        found = map_items(errors_of, tasks, self.n_jobs)
        means = []
        for pair in sorted({pair for pair, _ in tasks}):
            parts = [part for (other, _), part in zip(tasks, found, strict=True) if other == pair]
            errors, sides, weights = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
            means.append([mean_of_classes(one, sides, weights) for one in errors])
        self.held_out_errors_ = np.mean(means, axis=0)
        is_any_wrong = any((errors[0] > WRONG).any() for errors, _, _ in found)
        return not is_any_wrong or bool(self.held_out_errors_[0] <= self.held_out_errors_[1])

    def _fit_pair(
        self, rows: Matrix, sides: Ints, weights: Floats, seed: int, n_jobs: int | None, use_unlabeled: bool
    ) -> tuple[Cut, float]:
        """Return the cut between two classes, and the slope of the log-odds across it."""
        cut = None
        if column_deviations(rows).any():
            if use_unlabeled:
                cut = self._find_cut(rows, sides, weights, seed, n_jobs)
            else:
                cut = _labels_cut(rows, sides, weights, n_jobs)
        if cut is None or not _distance(rows, cut, n_jobs).any():
            cut = _all_on_one_side(rows, sides, weights)
        return cut, _slope(_distance(rows, cut, n_jobs), sides, weights)

    def _state(self, resume: bool) -> dict[str, Any]:
        """Return what a file keeps of the fitted model; data about single rows is kept only with `resume`."""
        is_text = self.classes_.dtype.kind == "U"
        found = getattr(self, "transduction_", None) if resume else None
        return {
            "classes": self.classes_.tolist() if is_text else self.classes_,
            "normal": np.array([cut.normal for cut in self.cuts_]),
            **{name: np.array([float(getattr(cut, name)) for cut in self.cuts_]) for name in CUT_NUMBERS},
            "slopes": self.slopes_,
            "transduction": None if found is None else np.searchsorted(self.classes_, found),
            **({} if self._near is None else {name: getattr(self._near, name) for name in NEAR}),
            "uses_unlabeled": self.uses_unlabeled_,
            **({} if self.held_out_errors_ is None else {"held_out_errors": self.held_out_errors_}),
        }

    def _restore(self, state: State) -> None:
        """Restore what `_state` returned, after it was checked."""
        self.classes_, self.slopes_ = state["classes"], state["slopes"]
        self.uses_unlabeled_ = state["uses_unlabeled"] is not False
        self.held_out_errors_ = state["held_out_errors"]
        self._near = _near_of(state)
        self.pairs_ = _all_pairs(len(self.classes_)) if self._near is None else np.array(self._near.pairs)
        columns = [state[name].tolist() for name in CUT_NUMBERS]
        self.cuts_ = [Cut(*parts) for parts in zip(state["normal"], *columns, strict=True)]
        if state["transduction"] is not None:
            self.transduction_ = self.classes_[state["transduction"]]

    @property
    def _n_features_learned(self) -> int:
        return len(self.cuts_[0].normal)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._accept_sparse)
        return tags


def _all_pairs(n_classes: int) -> Ints:
    """Return all pairs of classes: (0, 1), (0, 2), …, (1, 2), …"""
    return np.stack(np.triu_indices(n_classes, 1), axis=1).astype(np.int64)


def _members(guess: Ints, n_classes: int) -> list[Ints]:
    """Return the row numbers of each class, in order; rows with a negative class belong to none."""
    order = np.argsort(guess, kind="stable")
    return np.split(order, np.searchsorted(guess[order], np.arange(n_classes)))[1:]


def read_labels(y: NDArray[Any], has_minus_one: bool | None = None) -> tuple[NDArray[Any], Bools]:
    """Return the labels as an array of one type, and which rows are labeled.

    -1 marks an unlabeled row, and so does None in an array of objects. If `has_minus_one` is True, -1 is a class. If it
    is None, -1 is a class if `y` has only the values -1 and 1.
    """
    if y.dtype.kind in "OUS" and any(isinstance(value, str) and value == str(UNLABELED) for value in y):
        raise ValueError(
            "y contains the string '-1': to mark unlabeled rows, put the number -1 into an array of objects, for "
            "instance y.astype(object); a class cannot be named '-1'"
        )
    if y.dtype.kind == "O":
        is_labeled = np.array([value is not None and value != UNLABELED for value in y], dtype=bool)
        if len({isinstance(value, str) for value in y[is_labeled]}) > 1:
            raise ValueError("y mixes strings and other values: pass labels of one type, and -1 for unlabeled rows")
        given = np.array(y[is_labeled].tolist())
        y = np.zeros(len(y), dtype=given.dtype)
        y[is_labeled] = given
    elif y.dtype.kind in "US":
        is_labeled = np.ones(len(y), dtype=bool)
    else:
        is_labeled = np.ones(len(y), dtype=bool) if has_minus_one else y != UNLABELED
        if has_minus_one is None and 0 < is_labeled.sum() < len(y) and (y[is_labeled] == 1).all():
            warnings.warn(
                "y has only the values -1 and 1: they are taken as two classes, not as one class and unlabeled rows",
                UserWarning,
                stacklevel=4,
            )
            is_labeled = np.ones(len(y), dtype=bool)
    with warnings.catch_warnings():
        # There may be only one label for each class, although there are many more rows.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        check_classification_targets(y[is_labeled])
    return y, is_labeled


def without_copies(rows: Matrix, code: Ints, weights: Floats) -> tuple[Matrix, Ints, Floats]:
    """Replace rows with the same content and label by one row with the sum of their weights; drop rows of weight 0.

    So a row of weight 2 and a row that is given twice are the same input, to the last bit. Distinct rows that all have
    the same weight are returned unchanged.
    """
    bits = mix(fingerprint(rows, 0) + code.astype(np.int64).view(np.uint64))
    kept = np.flatnonzero(weights > 0)
    _, first, which = np.unique(bits[kept], return_index=True, return_inverse=True)
    if len(first) == len(bits) and (weights == weights[0]).all():
        return rows, code, weights
    first = kept[first]
    return rows[first], code[first], np.asarray(np.bincount(which, weights[kept]), dtype=np.float64)


def label_unit(code: Ints, weights: Floats) -> float:
    """Return the weight that counts as one label: Σw² / Σw over the labeled rows.

    In this unit, the total weight of the labels is their effective number, and equal weights are 1.
    """
    own = weights[(code != UNLABELED) & (weights > 0)]
    if (own == own[0]).all():
        return float(own[0])
    relative = own / own.max()
    return float(own.max() * (relative @ relative) / relative.sum())


def linear_svm(
    X: Matrix, sides: Ints, weights: Floats, moments: Moments, intercept_scaling: float = 1.0
) -> tuple[Floats, float]:
    """Return the normal and the intercept of a linear support vector machine on the labeled rows.

    The rows are centered and divided by the root mean square deviation of `moments`, so that the machine follows when
    the data is shifted, rotated or scaled. A CSR matrix is not centered. The weights are the costs of errors. A total
    weight outside `LABEL_WEIGHT` would change only the last digits, and the machine would never converge.
    """
    labeled = np.flatnonzero(sides)
    rows, row_weights = X[labeled], weights[labeled]
    unit = moments.unit or 1.0
    center = np.zeros(X.shape[1])
    if not sparse.issparse(X):
        center = moments_of(rows, row_weights).mean
        rows = rows - center
    total = float(row_weights.sum())
    row_weights = row_weights * (min(max(total, LABEL_WEIGHT[0]), LABEL_WEIGHT[1]) / total)
    rows = rows / unit
    span = None
    if not sparse.issparse(rows) and len(labeled) < X.shape[1]:
        span, triangle = np.linalg.qr(rows.T)  # the normal is a sum of rows, so it lies in their span
        rows = triangle.T
    machine = LinearSVC(dual=False, tol=1e-6, intercept_scaling=intercept_scaling)
    machine.fit(rows, sides[labeled], sample_weight=row_weights)
    normal = (machine.coef_[0] if span is None else span @ machine.coef_[0]) / unit
    return normal, float(machine.intercept_[0] - center @ normal)


def _guess(rows: Matrix, code: Ints, weights: Floats, n_classes: int) -> Ints:
    """Guess the class of each row by linear support vector machines of all pairs; labeled rows keep their label."""
    votes = np.zeros((rows.shape[0], n_classes))
    moments = moments_of(rows, weights)
    for first, second in combinations(range(n_classes), 2):
        sides = np.select([code == first, code == second], [-1, 1], 0)
        normal, intercept = linear_svm(rows, sides, weights, moments)
        right = np.clip(project(rows, normal) + intercept, -1, 1)
        votes[:, second] += right
        votes[:, first] -= right
    return np.where(code == UNLABELED, votes.argmax(axis=1), code)


def _labels_cut(rows: Matrix, sides: Ints, weights: Floats, n_jobs: int | None) -> Cut | None:
    """Return the cut of a linear support vector machine on the labeled rows; None if it separates nothing."""
    normal, intercept = linear_svm(rows, sides, weights, moments_of(rows, weights, n_jobs), INTERCEPT_SCALING)
    length = float(np.linalg.norm(normal))
    if not length > 0:
        return None
    cut = Cut(normal / length, -intercept / length)
    return replace(cut, relative_depth=depth_at(0.0, _distance(rows, cut, n_jobs), weights))


def _folds(rows: Matrix, sides: Ints, weights: Floats) -> Ints:
    """Return the fold in which each label of a pair is held out; `folds_of` with positions across the labels' cut."""
    cut = _labels_cut(rows, sides, weights, 1) if column_deviations(rows).any() else None
    position = np.zeros(len(sides)) if cut is None else _distance(rows, cut, 1)
    return folds_of(sides, position, fingerprint(rows, 0).view(np.int64))


def _all_on_one_side(rows: Matrix, sides: Ints, weights: Floats) -> Cut:
    """Return a cut for rows that are all equal: they all go to the side with more labels."""
    normal = np.zeros(rows.shape[1])
    normal[0] = 1.0
    value = float(rows[[0], :][0, 0])
    step = max(abs(value), 1.0)
    return Cut(normal, value - step if weights @ sides >= 0 else value + step)


def _slope(distance: Floats, sides: Ints, weights: Floats) -> float:
    """Return the slope of the log-odds: a logistic regression of the labels on the distance, without intercept.

    The labeled rows were used to find the cut, so they fit it better than other rows do. Therefore pseudo-labels are
    added, spread over all rows. The pseudo-label of a row is correct with the probability of `_trust`.
    """
    unit = float(weights @ np.abs(distance) / weights.sum())
    labeled = np.flatnonzero(sides)
    position, label_weight = sides[labeled] * distance[labeled] / unit, weights[labeled]
    away, added, trust = np.abs(distance) / unit, ADDED_LABELS * weights / weights.sum(), _trust(distance, weights)

    def excess(slope: float) -> float:
        missing = label_weight @ (position * expit(-slope * position))
        return float(added @ (away * (expit(slope * away) - trust)) - missing)

    if excess(SLOPES[0]) >= 0:
        return SLOPES[0] / unit
    if excess(SLOPES[1]) <= 0:
        return SLOPES[1] / unit
    return float(brentq(excess, *SLOPES)) / unit


def _trust(distance: Floats, weights: Floats) -> Floats:
    """Return the probability that a row belongs to its side of a cut, from the density along the normal.

    It is 1 - f(cut) / 2f, where f is the highest density between the cut and the row. It is 1/2 if the density does not
    rise from the cut to the row.
    """
    h = normal_bandwidth(distance, weights, BANDWIDTH)
    if not h > 0:
        return np.full(len(distance), 0.5)
    along = projected_density(distance, weights, h)
    cut, highest = along.index(0.0), along.density.copy()
    highest[cut:] = np.maximum.accumulate(highest[cut:])
    highest[: cut + 1] = np.maximum.accumulate(highest[cut::-1])[::-1]
    at = along.at(np.arange(len(highest)))
    doubt = np.divide(along.density[cut], 2 * highest, out=np.full_like(highest, 0.5), where=highest > 0)
    return np.interp(distance, at, 1 - doubt)


def _distance(rows: Matrix, cut: Cut, n_jobs: int | None) -> Floats:
    return project(rows, cut.normal, n_jobs) - cut.offset
