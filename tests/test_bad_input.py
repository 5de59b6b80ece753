"""The matrix of every estimator and every bad input: an error that says what to change, or a documented result.

A new bad input is a line in one of the tables, a new estimator is found by `tests.estimators`.
"""

import datetime
import re
import signal
import warnings
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler
from tests.estimators import ALL, ONLINE, SPARSE, TREES, WEIGHTED, answer, each, fitted, labels_for, learned

from ravine import (
    HSDC,
    MDH,
    PDDP,
    SPDC,
    IncrementalMDH,
    MDHClassifier,
    NCutH,
    SpectralPursuit,
    SpectralPursuitClassifier,
    StreamClusterer,
    SupportVectorClustering,
    datasets,
    load,
    report,
    save,
)
from ravine._checks import checked_sparse
from ravine._outofcore import LocalChunks
from ravine.tree._derived import with_counts_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names"),
]

STREAMS = (StreamClusterer, HSDC, SPDC)
GOOD = np.r_[np.random.default_rng(0).normal(size=(20, 2)), np.random.default_rng(1).normal(size=(20, 2)) + 9]


def with_cell(value, dtype=np.float64):
    X = GOOD.astype(dtype)
    X[3, 1] = value
    return X


class Labeled:
    """Stands for DataArray of xarray: an array behind `__array__`, with names of its dimensions."""

    dims = ("row", "column")

    def __init__(self, array):
        self.shape, self.ndim, self.dtype, self._array = array.shape, array.ndim, array.dtype, array

    def __len__(self):
        return len(self._array)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype, copy=copy)


class AnnData:
    """Stands for the class of that name: a sequence of parts of itself, which NumPy reads forever."""

    __module__ = "anndata._core.anndata"
    shape = GOOD.shape

    def __len__(self):
        return len(GOOD)

    def __getitem__(self, index):
        return self


ARROW = pa.table({"a": GOOD[:, 0], "b": GOOD[:, 1]})


class DuckDBPyRelation:
    """Stands for the class of that name."""

    __module__ = "duckdb._relation"


class SparkFrame:
    """Stands for a frame of Spark."""


SparkFrame.__name__, SparkFrame.__module__ = "DataFrame", "pyspark.sql.classic.dataframe"


def frame_of(value, n=40):
    return pd.DataFrame({"a": np.arange(float(n)), "b": [value] * n})


# Rows

REFUSED_EVERYWHERE = {
    "NaN": (with_cell(np.nan), "contains NaN"),
    "infinity": (with_cell(np.inf), "contains infinity"),
    "minus infinity": (with_cell(-np.inf), "contains infinity"),
    "NaN in float32": (with_cell(np.nan, np.float32), "contains NaN"),
    "None among objects": (with_cell(None, object), "contains NaN"),
    "no rows": (np.empty((0, 2)), "0 sample"),
    "no columns": (np.empty((4, 0)), "0 feature"),
    "one number": (np.float64(3), "Expected 2D array, got scalar"),
    "one dimension": (GOOD[:, 0], "Expected 2D array, got 1D"),
    "three dimensions": (GOOD.reshape(10, 2, 4), "dim 3"),
    "ragged lists": ([[1.0, 2.0], [3.0]], "inhomogeneous"),
    "words": ([["a", "b"], ["c", "d"]], "could not convert string"),
    "words in a frame": (frame_of("red"), "could not convert string"),
    "a word for the table": ("abc", "could not convert string|Expected 2D"),
    "nothing": (None, "Expected 2D array, got scalar"),
    "a dictionary": ({"a": 1}, "not 'dict'"),
    "dictionaries": (np.full((4, 2), {}, dtype=object), "not 'dict'"),
    "complex numbers": (GOOD + 1j, "Complex data not supported"),
    "integers beyond float64": (with_cell(10**400, object), "too large for float64: rescale its column"),
    "a mask": (np.ma.masked_greater(GOOD, 9), "masked entries.*fill them"),
    "dates": (np.full((4, 2), np.datetime64("2020-01-01")), "dates or durations: convert them to numbers"),
    "durations": (np.full((4, 2), np.timedelta64(3, "D")), "dates or durations: convert them to numbers"),
    "dates in a frame": (frame_of(pd.Timestamp("2020-01-01")), "dates or durations: convert them to numbers"),
    "dates in a Polars frame": (pl.from_pandas(frame_of(datetime.date(2020, 1, 1))), "dates or durations"),
    "two columns of one name": (pd.DataFrame(GOOD, columns=["a", "a"]), "two columns named 'a': rename"),
    "dates as objects": ([[datetime.date(2020, 1, 1), 1]] * 4, "not 'datetime.date'"),
    "a frame that is not read yet": (pl.DataFrame(GOOD).lazy(), "LazyFrame.*pass X.collect"),
    "an AnnData": (AnnData(), "AnnData.*pass one of its matrices.*integrations.anndata.cluster"),
    "a reader of Arrow batches": (ARROW.to_reader(), "RecordBatchReader.*pass X.read_all"),
    "a relation of DuckDB": (DuckDBPyRelation(), "DuckDBPyRelation.*pass X.to_arrow_table"),
    "a frame of Spark": (SparkFrame(), "DataFrame.*pass X.toArrow"),
    "words in an Arrow table": (pa.table({"a": ["u", "v"] * 9}), "could not convert string"),
    "a gap in an Arrow table": (pa.table({"a": [1.0, None] * 9}), "contains NaN"),
    "dates in an Arrow table": (pa.table({"a": [datetime.date(2020, 1, 1)] * 9}), "dates or durations"),
    "a gap in a nullable column": (frame_of(pd.NA).astype({"b": "Float64"}), "contains NaN"),
    "a gap in a Polars frame": (pl.DataFrame({"a": [1.0, None] * 9}), "contains NaN"),
    "words as categories": (frame_of("red").astype({"b": "category"}), "could not convert string"),
    "two columns of one name in an Arrow table": (
        pa.table([[1.0] * 9, [2.0] * 9], ["a", "a"]),
        "two columns named 'a'",
    ),
}
"""Rows that no method takes, and what is said of them."""

REFUSED_IN_FIT = {
    "values near the largest": (with_cell(1e200), r"value in X is 1e\+200.*overflow.*change the unit"),
    "values near the smallest": (GOOD * 1e-200, r"value in X is .*e-199.*vanish.*change the unit"),
    "integers near the largest": (with_cell(10**300, object), r"value in X is 1e\+300.*overflow.*change the unit"),
}
"""Rows from which nothing can be learned."""

TAKEN = {
    "a single row": GOOD[:1],
    "two rows": GOOD[[0, -1]],
    "equal rows": np.full((12, 2), 0.1),
    "zeros": np.zeros((12, 2)),
    "a constant column": np.c_[GOOD[:, 0], np.ones(40)],
    "rows one bit apart": np.c_[np.ones(12), np.repeat([2.0, np.nextafter(2.0, 3.0)], 6)],
    "a single column": GOOD[:, :1],
    "more columns than rows": np.random.default_rng(0).normal(size=(6, 30)),
    "huge values": 1e140 * GOOD,
    "tiny values": 1e-140 * GOOD,
    "far from the origin": 1e12 + GOOD,
    "truth values": GOOD > 4,
    "small integers": GOOD.astype(np.int8),
    "large integers": (GOOD * 2.0**55).astype(np.int64),
    "float16": GOOD.astype(np.float16),
    "long doubles": GOOD.astype(np.longdouble),
    "other byte order": GOOD.astype(">f8"),
    "numbers as objects": GOOD.astype(object),
    "every second row backwards": GOOD[::-2],
    "one row in the memory of all": np.broadcast_to(GOOD[0], (12, 2)),
    "no write access": np.frombuffer(GOOD.tobytes()).reshape(40, 2),
    "an empty mask": np.ma.masked_array(GOOD, mask=False),
    "numbered columns": pd.DataFrame(GOOD),
    "lists": GOOD.tolist(),
    "an Arrow table": ARROW,
    "a batch of an Arrow table": ARROW.to_batches()[0],
    "decimals of Polars": pl.DataFrame(GOOD).cast(pl.Decimal(20, 9)),
    "nullable columns": pd.DataFrame(GOOD, columns=["a", "b"]).astype("Float64"),
    "numbers as categories": frame_of(3).astype({"b": "category"}),
    "a labeled array": Labeled(GOOD),
}
"""Rows that are taken by every method; the classifiers may refuse those without two classes."""


def rows_of(table):
    return pytest.mark.parametrize("rows", table.values(), ids=table.keys())


@each(ALL)
@rows_of(REFUSED_EVERYWHERE | REFUSED_IN_FIT)
def test_bad_rows_are_refused_in_words_and_leave_nothing_behind(model, rows):
    model = clone(model)
    with pytest.raises((ValueError, TypeError), match=rows[1]):
        fitted(model, rows[0])
    assert vars(model) == vars(clone(model))


@each(ALL)
def test_bad_rows_are_refused_by_all_that_a_fitted_model_does_with_rows(model):
    model = fitted(clone(model), GOOD)
    for method in ("predict", "transform", "decision_function", "predict_proba"):
        for X, message in REFUSED_EVERYWHERE.values():
            if hasattr(model, method):
                with pytest.raises((ValueError, TypeError), match=f"{message}|X has . features"):
                    getattr(model, method)(X)


@each(ALL)
@rows_of(TAKEN)
def test_odd_rows_give_finite_attributes_and_labels_in_range(model, rows):
    model = clone(model)
    if is_classifier(model) and len(rows) == 1:
        with pytest.raises(ValueError, match="label rows of at least two classes"):
            fitted(model, rows)
        return
    labels = answer(fitted(model, rows), rows)
    n_labels = len(model.classes_) if is_classifier(model) else model.n_clusters_
    assert len(labels) == len(rows)
    assert set(labels) <= set(range(n_labels))
    assert_array_equal(model.predict(rows), labels)
    without = {"gap_", "strength_"}  # NaN where they have no meaning
    for name, values in learned(model).items():
        assert name in without or np.isfinite(values).all(), name


@each(ALL)
def test_rows_of_another_width_are_refused(model):
    model = fitted(clone(model), GOOD)
    for X in (GOOD[:, :1], np.c_[GOOD, GOOD], sparse.csr_array(np.c_[GOOD, GOOD])):
        for method in ("predict", "transform", "decision_function", "predict_proba", "score"):
            if hasattr(model, method):
                with pytest.raises((ValueError, TypeError), match=r"features, but .* is expecting 2|Sparse data"):
                    getattr(model, method)(X, *([labels_for(X)] if method == "score" else []))


@each(ALL)
def test_width_is_that_of_what_was_learned_whatever_the_attribute_says(model):
    model = fitted(clone(model), GOOD)
    wide = np.tile(GOOD, 50)
    for claimed in (100, None):
        model.n_features_in_ = claimed
        if claimed is None:
            del model.n_features_in_
        for method in ("predict", "transform", "decision_function", "predict_proba"):
            if hasattr(model, method):
                with pytest.raises(ValueError, match=r"X has 100 features, but this .* was fitted on 2"):
                    getattr(model, method)(wide)


@each([model for model in ALL if "n_clusters" in model.get_params()])
def test_more_clusters_than_rows_are_refused(model):
    with pytest.raises(ValueError, match="n_samples=3 is fewer than n_clusters=4: set "):
        clone(model).set_params(n_clusters=4).fit(GOOD[:3])


TARGETS = {
    "one class": (np.r_[0, np.full(39, -1)], "y has only one class, 0"),
    "no labels": (np.full(40, -1), "y has no labels"),
    "too few": ([0, 1], "inconsistent numbers of samples"),
    "NaN": (np.r_[np.nan, np.ones(39)], "y contains NaN"),
    "two columns": (np.zeros((40, 2)), "1d array"),
    "real numbers": (np.linspace(0, 1, 40), "Unknown label type"),
    "none": (None, "requires y to be passed"),
    "strings and numbers": (np.array(["a", 1] * 20, dtype=object), "mixes strings and other values"),
}


@each([model for model in ALL if is_classifier(model)])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_bad_labels_are_refused_in_words(model, target):
    model = fitted(clone(model), GOOD)
    with pytest.raises((ValueError, TypeError), match=target[1]):
        model.fit(GOOD, target[0])
    assert_array_equal(model.classes_, [0, 1])


# Sparse matrices


def csr(**changes):
    """A matrix whose arrays were changed after it was made."""
    X = sparse.csr_array(GOOD)
    for name, change in changes.items():
        setattr(X, name, change(getattr(X, name)))
    return X


def with_entry(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def tampered(kind, name, place, value):
    X = kind(GOOD)
    getattr(X, name)[place] = value
    return X


def lil_beyond():
    X = sparse.lil_array(GOOD)
    X.rows[3] = [0, 10**6]
    return X


MALFORMED = {
    "index too large": csr(indices=with_entry(5, 2)),
    "index far too large": csr(indices=with_entry(5, 2**31 - 1)),
    "index negative": csr(indices=with_entry(5, -1)),
    "indptr too large": csr(indptr=with_entry(7, 10**6)),
    "indptr ends too late": csr(indptr=with_entry(-1, 10**6)),
    "indptr falls": csr(indptr=with_entry(7, 3)),
    "indptr negative": csr(indptr=with_entry(7, -5)),
    "indptr does not begin with 0": csr(indptr=with_entry(0, 1)),
    "indptr beyond int32 and back": csr(
        indptr=lambda a: np.r_[0, [2**31 - 1, -(2**31)] * 19, 2**31 - 1, 0].astype(np.int32)
    ),
    "indptr that hides all entries": csr(indptr=lambda a: np.r_[0, np.full(39, 10**6), 0].astype(np.int32)),
    "indptr too short": csr(indptr=lambda a: a[:-3]),
    "indptr of floats": csr(indptr=lambda a: a + 0.5),
    "indices too short": csr(indices=lambda a: a[:-3]),
    "data too short": csr(data=lambda a: a[:-3]),
    "indices of floats": csr(indices=lambda a: a + 0.5),
    "indices of two dimensions": csr(indices=lambda a: a.reshape(2, -1)),
    "more rows than there are": csr(_shape=lambda shape: (1000, 2)),
    "csr_matrix": tampered(sparse.csr_matrix, "indices", 5, 10**6),
    "csc": tampered(sparse.csc_array, "indices", 5, 10**6),
    "csc negative": tampered(sparse.csc_matrix, "indptr", 1, -4),
    "coo row": tampered(sparse.coo_matrix, "row", 5, 10**6),
    "coo column": tampered(sparse.coo_array, "col", 5, -3),
    "bsr": tampered(lambda X: sparse.bsr_array(X, blocksize=(2, 2)), "indices", 5, 10**6),
    "lil": lil_beyond(),
}
"""Sparse matrices of which a loop that trusts them reads past the end."""


@each(SPARSE)
def test_malformed_sparse_rows_are_refused_by_fit_predict_and_transform(model):
    good = fitted(clone(model), sparse.csr_array(GOOD))
    methods = [
        good.fit,
        good.predict,
        *(getattr(good, name) for name in ("transform", "partial_fit") if hasattr(good, name)),
    ]
    for X in MALFORMED.values():
        for method in methods:
            with pytest.raises(ValueError, match=r"malformed sparse matrix.*Build it again"):
                method(X, labels_for(X)) if method == good.fit else method(X)
    assert_array_equal(good.predict(GOOD), clone(good).fit(sparse.csr_array(GOOD), labels_for(GOOD)).predict(GOOD))


@pytest.mark.parametrize("X", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_sparse_rows_are_refused_by_trees_and_reports(X):
    model = PDDP(n_clusters=2).fit(GOOD)
    tree, leaf = model.tree_, int(model.tree_.leaves[0])
    takers = [tree.apply, tree.predict, tree.decision_path, tree.signed_distance, report.ReportAccumulator(tree).add]
    takers += [lambda X: with_counts_of(tree, X, np.ones(40)), lambda X: tree.split(leaf, tree.cut(0), X)]
    takers += [lambda X: NCutH(n_clusters=2).fit(GOOD).split(leaf, X)]
    for take in takers:
        with pytest.raises(ValueError, match="malformed sparse matrix"):
            take(X)


def test_sparse_arrays_of_one_dimension_are_refused():
    with pytest.raises(ValueError, match=r"sparse array of shape \(40,\)"):
        PDDP().fit(sparse.coo_array(GOOD[:, 0]))


@each(SPARSE)
def test_what_a_sparse_matrix_says_of_itself_is_not_believed(model):
    whole = sparse.csr_array(GOOD * (np.abs(GOOD) > 1))
    shuffled = sparse.csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), GOOD.shape
    )
    for row in range(40):
        part = slice(*shuffled.indptr[[row, row + 1]])
        shuffled.indices[part], shuffled.data[part] = shuffled.indices[part][::-1], shuffled.data[part][::-1]
    shuffled.has_canonical_format = True
    before = shuffled.indices.copy()
    assert_array_equal(fitted(clone(model), shuffled).predict(whole), fitted(clone(model), whole).predict(whole))
    assert_array_equal(shuffled.indices, before)


@each(SPARSE)
def test_sparse_rows_in_other_formats_are_taken(model):
    expected = fitted(clone(model), sparse.csr_array(GOOD)).predict(GOOD)
    assert_array_equal(fitted(clone(model), sparse.coo_matrix(GOOD)).predict(GOOD), expected)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_in_any_format_become_csr_of_their_kind(form, kind):
    found = checked_sparse(kind(GOOD).asformat(form))
    assert isinstance(found, kind)
    assert_array_equal(found.toarray(), GOOD)


def test_sparse_rows_in_csr_are_not_copied_and_long_indices_become_short():
    X = sparse.csr_array(GOOD)
    assert np.shares_memory(checked_sparse(X).data, X.data)
    assert np.shares_memory(checked_sparse(X).indices, X.indices)
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    assert checked_sparse(X).indices.dtype == checked_sparse(X).indptr.dtype == np.int32
    spare = csr(data=lambda a: np.r_[a, np.inf], indices=lambda a: np.r_[a, 1])  # SciPy lets there be more than is used
    assert_array_equal(checked_sparse(spare).toarray(), GOOD)
    assert checked_sparse(spare).data.shape == (80,)


def test_trees_refuse_what_has_no_side():
    tree = PDDP(n_clusters=2).fit(GOOD).tree_
    for take in (tree.apply, tree.predict, tree.decision_path, tree.signed_distance):
        for X in (
            with_cell(np.nan),
            with_cell(np.inf, np.float32),
            with_cell(None, object),
            csr(data=with_entry(3, np.nan)),
        ):
            with pytest.raises(ValueError, match="NaN or infinity"):
                take(X)
        for X in (GOOD + 1j, [["a", "b"]], with_cell(10**400, object), np.full((4, 2), np.datetime64("2020-01-01"))):
            with pytest.raises(ValueError, match="X holds"):
                take(X)
        for X in (GOOD[:, :1], GOOD[0], np.float64(3), sparse.csr_array(GOOD[:, :1])):
            with pytest.raises(ValueError, match="grown on 2 columns"):
                take(X)
    for bad in (True, "x", 1.5, None, 10**30, -1):
        with pytest.raises(ValueError, match=r"there is no node"):
            tree.prune(bad)
        with pytest.raises(ValueError, match="must be an integer between 1 and 2"):
            tree.cut_to(bad)


# Weights

MIXED = 10.0 ** np.random.default_rng(0).choice([-12, 12], 40)
TAKEN_WEIGHTS = {
    "1e-12": np.full(40, 1e-12),
    "1e12": np.full(40, 1e12),
    "1e-100": np.full(40, 1e-100),
    "1e100": np.full(40, 1e100),
    "mixed": MIXED,
    "spread": 10.0 ** np.random.default_rng(0).uniform(-12, 12, 40),
    "denormal among ones": np.tile([1.0, 1.0, 1.0, 5e-324], 10),
    "truth values": np.arange(40) % 4 != 3,
    "integers": np.arange(40) % 4,
    "float32": np.linspace(0.5, 2, 40, dtype=np.float32),
    "a list": [1, 2] * 20,
    "a number": 3,
}
REFUSED_WEIGHTS = {
    "1e-300": (np.full(40, 1e-300), "largest of sample_weight is 1e-300, not between 1e-100 and 1e.100"),
    "1e150": (np.full(40, 1e150), r"largest of sample_weight is 1e\+150.*divide them by their mean"),
    "1e300": (np.full(40, 1e300), r"largest of sample_weight is 1e\+300.*divide them by their mean"),
    "denormal": (np.full(40, 5e-324), "largest of sample_weight is 4.94e-324"),
    "too few": (np.ones(39), r"sample_weight has the shape \(39,\): it needs a number for each of 40 rows"),
    "two dimensions": (np.ones((40, 1)), r"sample_weight has the shape \(40, 1\)"),
    "negative": (np.r_[-1.0, np.ones(39)], "Negative values in sample_weight"),
    "NaN": (np.r_[np.nan, np.ones(39)], "sample_weight contains NaN"),
    "infinite": (np.r_[np.inf, np.ones(39)], "sample_weight contains NaN or infinity"),
    "NaN for all": (np.nan, "sample_weight contains NaN"),
    "zero": (np.zeros(40), "sample_weight is zero for all rows"),
    "words": (["a"] * 40, "sample_weight holds something other than numbers"),
    "objects": (np.array([{}] * 40), "sample_weight holds values that are not real numbers"),
    "integers beyond float64": (np.array([10**400] * 40), "sample_weight holds .* exceed float64"),
    "complex": (np.ones(40) * 1j, "sample_weight holds complex numbers"),
    "dates": (np.full(40, np.datetime64("2020-01-01")), "sample_weight holds dates"),
    "a mask": (np.ma.masked_greater(np.arange(40.0), 20), "sample_weight is a masked array"),
    "sparse": (sparse.csr_array(np.ones((1, 40))), "sample_weight is a sparse matrix"),
}


@each(WEIGHTED)
@pytest.mark.parametrize("weights", TAKEN_WEIGHTS.values(), ids=TAKEN_WEIGHTS.keys())
def test_weights_of_any_size_that_has_a_meaning_are_taken(model, weights):
    model = fitted(clone(model), GOOD, sample_weight=weights)
    assert_array_equal(model.predict(GOOD), answer(model, GOOD))
    assert all(
        np.isfinite(values).all() for name, values in learned(model).items() if name not in ("gap_", "strength_")
    )


@each(WEIGHTED)
@pytest.mark.parametrize("weights", REFUSED_WEIGHTS.values(), ids=REFUSED_WEIGHTS.keys())
def test_bad_weights_are_refused_in_words(model, weights):
    with pytest.raises(ValueError, match=weights[1]):
        fitted(clone(model), GOOD, sample_weight=weights[0])


@each([model for model in WEIGHTED if hasattr(model, "partial_fit")])
def test_bad_weights_are_refused_in_a_stream(model):
    model = clone(model).partial_fit(GOOD)
    before = deepcopy(model)
    for name, (weights, message) in REFUSED_WEIGHTS.items():
        if name != "zero":
            with pytest.raises(ValueError, match=message):
                model.partial_fit(GOOD, sample_weight=weights)
    assert_array_equal(model.partial_fit(GOOD).predict(GOOD), before.partial_fit(GOOD).predict(GOOD))
    assert_array_equal(model.partial_fit(GOOD, sample_weight=np.zeros(40)).predict(GOOD), before.predict(GOOD))


@each(WEIGHTED)
def test_a_weight_that_is_lost_in_rounding_counts_as_none(model):
    weights = np.where(np.arange(40) % 4 == 1, 1e-16, 1.0)
    light, without = (fitted(clone(model), GOOD, sample_weight=w) for w in (weights, np.where(weights < 1, 0, weights)))
    assert_array_equal(light.predict(GOOD), without.predict(GOOD))


@each(WEIGHTED)
def test_weights_and_rows_that_are_too_large_together_are_refused(model):
    for scale, weight, what in ((1e140, 1e90, "overflow"), (1e-140, 1e-90, "vanish")):
        with pytest.raises(ValueError, match=f"sample_weight reaches .*{what} in float64: divide the weights"):
            fitted(clone(model), GOOD * scale, sample_weight=np.full(40, weight))


def test_weights_of_rows_in_parts_are_those_of_rows_in_memory():
    weights = np.where(np.arange(40) % 4 == 1, 1e-3, 1e14)
    parts = LocalChunks(lambda: ((GOOD[i : i + 10], weights[i : i + 10]) for i in range(0, 40, 10)), 2)
    is_out_of_core, in_memory = PDDP(n_clusters=2).fit(parts), PDDP(n_clusters=2).fit(GOOD, sample_weight=weights)
    assert_array_equal(is_out_of_core.predict(GOOD), in_memory.labels_)
    assert is_out_of_core.tree_.count[0] == in_memory.tree_.count[0] == 30 * 1e14
    heavy = LocalChunks(lambda: iter([(GOOD, np.full(40, 1e150))]), 2)
    with pytest.raises(ValueError, match=r"largest of sample_weight is 1e\+150"):
        PDDP().fit(heavy)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (sparse.csr_array(GOOD), "chunk 0 holds csr_array: each chunk must be an array"),
        (GOOD.astype(int), "chunk 0 holds int64"),
        (with_cell(np.nan), "chunk 0 has NaN"),
        (GOOD[:, :1], "chunk 0 has 1 columns"),
        (with_cell(1e200), "chunk 0 has a number whose square would overflow"),
    ],
    ids=["sparse", "integers", "NaN", "narrow", "huge"],
)
def test_bad_parts_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        PDDP().fit(LocalChunks(lambda: iter([(rows, None)]), 2))


# Parameters

HOSTILE = [True, np.True_, 10**30, 10**400, 1e39, -1, 0, np.nan, np.inf, 1e-300, "x", None, [], ["x"], [None], object()]
"""Values for any parameter."""


@each(ALL)
def test_parameters_take_or_name_any_value(model):
    for name in model.get_params():
        for value in HOSTILE:
            asked = clone(model)
            setattr(asked, name, value)  # set_params does the same, with a copy of the model's parameters
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                try:
                    fitted(asked, GOOD[::5])
                except (ValueError, TypeError) as error:
                    assert name in str(error), (name, value, error)  # noqa: PT017 — most values are refused
                    continue
            assert set(answer(asked, GOOD[::5])) <= set(range(getattr(asked, "n_clusters_", 2))), (name, value)
            is_bool_asked = isinstance(getattr(model, name), bool)
            assert not isinstance(value, bool | np.bool_) or is_bool_asked or isinstance(model, STREAMS), (
                name,
                value,
            )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MDH(n_clusters=True), "'n_clusters' parameter of MDH must be a number, not True"),
        (MDH(min_cluster_size=10**30), "'min_cluster_size' parameter of MDH must be at most 2.14748e.09 in size"),
        (IncrementalMDH(n_passes=10**30), "'n_passes' parameter of IncrementalMDH"),
        (MDH(bandwidth_factor=1e-300), "'bandwidth_factor' parameter of MDH must be a float in the range"),
        (MDH(random_state=True), "'random_state' parameter of MDH must be a number, not True"),
        (SupportVectorClustering(gamma=1e39), "gamma=1e.39 gives a kernel of width .*set gamma to about"),
        (SupportVectorClustering(gamma=1e-39), "gamma=1e-39 gives a kernel of width .*set gamma to about"),
        (SupportVectorClustering(C=1e39), "'C' parameter of SupportVectorClustering must be at most 1e.30"),
        (HSDC(run_lengths=["a", 1]), "run_lengths=.* is not a list of numbers"),
        (HSDC(n_intervals=10**9), "'n_intervals' parameter of HSDC"),
        (MDH(alphas=[[1], [2]]), "alphas=.* is not a list of numbers"),
        (MDH(init=[["a", "b"]]), "init holds"),
        (MDH(outliers="label", assign_labels="tree"), "outliers='label' needs a mixture, .*use assign_labels='auto'"),
    ],
    ids=repr,
)
def test_parameters_that_nothing_can_work_with_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(GOOD)


def test_a_parameter_that_was_set_after_the_first_rows_is_checked_when_it_is_used():
    for model in (IncrementalMDH(), SupportVectorClustering()):
        model.partial_fit(GOOD).set_params(n_clusters="x")
        with pytest.raises(ValueError, match="'n_clusters' parameter"):
            model.predict(GOOD)
        assert model.set_params(n_clusters=2).predict(GOOD).max() == 1


NO_BANDWIDTH = [0, -1.0, np.nan, np.inf, 1e-300, np.ones(2), "wide", None, [1.0], 1j]


@pytest.mark.parametrize("answer", NO_BANDWIDTH, ids=repr)
@pytest.mark.parametrize("model", [MDH(), NCutH(), MDHClassifier()], ids=repr)
def test_a_function_that_gives_no_bandwidth_is_named(model, answer):
    model = clone(model).set_params(bandwidth_factor=lambda deviation, count: answer)
    with pytest.raises(ValueError, match=r"bandwidth_factor\(.*\) returned .*: it must return a number"):
        fitted(model, GOOD)


@pytest.mark.parametrize(
    "answer", [0, np.nan, np.inf * np.ones((1, 2)), np.zeros((1, 2)), np.ones((1, 3)), "x", 1j], ids=repr
)
@pytest.mark.parametrize(
    "model", [MDH(), NCutH(), SpectralPursuit(), MDHClassifier(), SpectralPursuitClassifier()], ids=repr
)
def test_a_function_that_gives_no_directions_is_named(model, answer):
    with pytest.raises(ValueError, match=r"init gives|the result of init"):
        fitted(clone(model).set_params(init=lambda rows: answer), GOOD)


@pytest.mark.parametrize("answer", [np.nan, "x", None, np.ones(2), 1j], ids=repr)
def test_a_function_that_gives_no_order_is_named(answer):
    for model in (PDDP(3), MDH(3), NCutH(3), SpectralPursuit(3)):
        with pytest.raises(ValueError, match=r"split_order returned .* it must return a number"):
            model.set_params(split_order=lambda cut, moments: answer).fit(GOOD)


def test_functions_that_give_numbers_are_taken():
    given = MDH(
        bandwidth_factor=lambda s, n: np.array(0.9 * s * n**-0.2), split_order=lambda cut, moments: -moments.sum_sq
    )
    assert_array_equal(given.fit(GOOD).labels_, MDH(split_order="sum_sq").fit(GOOD).labels_)


# Failed fits


class Raising:
    """A callback that fails."""

    max_propagation_depth = None

    def __init__(self, error):
        self.error = error

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        raise self.error


WIDER = np.tile(GOOD, 3)
FAILURES = {
    **{name: lambda model, X=X: fitted(model, X) for name, (X, _) in (REFUSED_EVERYWHERE | REFUSED_IN_FIT).items()},
    "bad cells in a wider table": lambda model: fitted(model, np.where(WIDER > 9, np.nan, WIDER)),
    "huge cells in a wider table": lambda model: fitted(model, WIDER * 1e200),
    "bad cells in a frame": lambda model: fitted(model, pd.DataFrame(WIDER * 1e200, columns=list("abcdef"))),
    "a bad parameter": lambda model: fitted(model.set_params(n_jobs="x"), WIDER),
    "threads that are none": lambda model: fitted(model.set_params(n_jobs=0), WIDER),
    "a callback": lambda model: fitted(model.set_callbacks(Raising(RuntimeError("of a callback"))), WIDER),
    "Ctrl-C": lambda model: fitted(model.set_callbacks(Raising(KeyboardInterrupt())), WIDER),
    **{
        f"weights: {name}": lambda model, w=weights: fitted(model, WIDER, sample_weight=w)
        for name, (weights, _) in REFUSED_WEIGHTS.items()
    },
}
FOR_WEIGHTED = {"a callback", "Ctrl-C", *(name for name in FAILURES if name.startswith("weights"))}
"""The methods that take no weights follow streams: they know no callbacks either."""


@each(ALL)
def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    model = fitted(clone(model), pd.DataFrame(GOOD, columns=["a", "b"]))
    parameters, before = model.get_params(), dict(vars(model))
    frame = pd.DataFrame(GOOD, columns=["a", "b"])
    labels = model.predict(frame)
    for name, fail in FAILURES.items():
        if name in FOR_WEIGHTED and model not in WEIGHTED and type(model) in STREAMS:
            continue
        with pytest.raises((ValueError, TypeError, RuntimeError, KeyboardInterrupt)):
            fail(model)
        model.set_params(**parameters).__dict__.pop("_skl_callbacks", None)
        assert vars(model).keys() == before.keys(), name
        assert all(vars(model)[key] is before[key] for key in before if key not in parameters), name
    assert_array_equal(model.predict(frame), labels)
    assert_array_equal(model.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match=r"features, but .* is expecting 2|feature names should match"):
        model.predict(WIDER)


@each(ALL)
def test_a_fit_that_fails_leaves_no_model_where_there_was_none(model):
    model = clone(model)
    for name in ("bad cells in a wider table", "huge cells in a wider table", "threads that are none"):
        with pytest.raises(ValueError):  # noqa: PT011 — the messages are tested above
            FAILURES[name](model)
        model.n_jobs = None
        assert not [key for key in vars(model) if key not in model.get_params()], name


@each(ONLINE)
def test_a_batch_that_is_refused_leaves_the_stream_as_it_was(model):
    model, other = clone(model).partial_fit(GOOD), clone(model).partial_fit(GOOD)
    model.predict(GOOD)
    for X in (*(X for X, _ in REFUSED_EVERYWHERE.values()), with_cell(1e200), WIDER, WIDER * 1e200):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(X)
    assert model.n_features_in_ == 2
    assert_array_equal(model.predict(GOOD), other.predict(GOOD))
    assert_array_equal(model.partial_fit(GOOD[::-1]).predict(GOOD), other.partial_fit(GOOD[::-1]).predict(GOOD))


def test_parts_before_one_that_is_refused_have_been_learned():
    rows = [GOOD[:20], GOOD[20:], with_cell(np.nan)]
    model, other = IncrementalMDH(n_clusters=2).partial_fit(GOOD), IncrementalMDH(n_clusters=2)
    model.predict(GOOD)
    with pytest.raises(ValueError, match=r"chunk 2: .*NaN"):
        model.partial_fit(LocalChunks(lambda: ((part, None) for part in rows), 2))
    for batch in (GOOD, *rows[:2]):
        other.partial_fit(batch)
    assert model.tree_ == other.tree_


@pytest.mark.parametrize("cls", STREAMS)
@pytest.mark.parametrize("error", [RuntimeError("told"), KeyboardInterrupt()], ids=repr)
def test_an_event_handler_that_raises_leaves_the_stream_as_before_the_batch(cls, error):
    X, _ = datasets.make_blobs(800, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)

    def refuse(event):
        raise error

    model, other = cls(on_event=refuse), cls()
    for start in range(0, 800, 40):
        batch = X[start : start + 40]
        with pytest.MonkeyPatch.context() as patch:
            try:
                model.partial_fit(batch)
            except type(error):
                patch.setattr(model, "on_event", None)
                model.partial_fit(batch)
        other.partial_fit(batch)
    assert model.n_events_["split"] == other.n_events_["split"] > 0
    assert model.n_samples_seen_ == other.n_samples_seen_ == 800
    assert model.tree_ == other.tree_


@each(ONLINE)
def test_an_interruption_waits_until_a_batch_is_learned(model, monkeypatch):
    model, other = clone(model).partial_fit(GOOD), clone(model).partial_fit(GOOD)
    learn = model._stream.learn

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        learn(*arguments)

    monkeypatch.setattr(model._stream, "learn", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(GOOD[::-1])
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert_array_equal(model.predict(GOOD), other.partial_fit(GOOD[::-1]).predict(GOOD))


def test_a_stream_that_fails_to_begin_is_as_before_the_batch(monkeypatch):
    X, _ = datasets.make_blobs(2100, centers=[[0, 0], [9, 0]], random_state=0)
    model = SupportVectorClustering().partial_fit(X[:1000])
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_choose", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(X[1000:])
    assert model._stream.n_rows == 1000


def test_asking_for_directions_does_not_make_a_model_of_their_width():
    model = NCutH()
    assert model.directions(GOOD).shape == model.directions(np.c_[GOOD, GOOD[:, :1]])[:, :2].shape
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="n_components=0"):
        model.directions(GOOD, 0)
    with pytest.raises(ValueError, match="largest absolute value"):
        model.directions(GOOD * 1e200)


# One cluster


@each(TREES)
def test_one_cluster_is_one_column_of_zeros(model, tmp_path):
    one = clone(model).fit(np.zeros((12, 2)))
    assert one.n_clusters_ == 1
    assert_array_equal(one.transform(GOOD), np.zeros((40, 1)))
    assert_array_equal(one.get_feature_names_out(), [f"{type(model).__name__.lower()}0"])
    save(one, tmp_path / "one.ravine")
    assert_array_equal(load(tmp_path / "one.ravine").transform(GOOD), np.zeros((40, 1)))
    assert list(one.set_output(transform="pandas").transform(GOOD).columns) == list(one.get_feature_names_out())


def test_one_cluster_goes_through_a_pipeline():
    model = make_pipeline(PDDP(n_clusters=1), RandomForestClassifier(2, random_state=0)).fit(GOOD, np.arange(40) % 2)
    assert model.predict(GOOD).shape == (40,)


def test_one_cluster_is_one_lazy_column():
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    one = PDDP(n_clusters=1).fit(GOOD)
    lazy = one.transform(da.from_array(GOOD, chunks=(10, 2)))
    assert lazy.shape == (40, 1)
    assert_array_equal(lazy.compute(), np.zeros((40, 1)))
    frame = pd.DataFrame(GOOD, columns=["a", "b"])
    found = PDDP(n_clusters=1).fit(frame).transform(dd.from_pandas(frame, npartitions=3)).compute()
    assert list(found.columns) == ["pddp0"]
    assert not found.to_numpy().any()
    files = LocalChunks(lambda: iter([(GOOD, None)]), 2)
    assert_array_equal(one.transform(files), np.zeros((40, 1)))


# One large cell

PROTECTED = [MDH(), NCutH(), SpectralPursuit(n_microclusters=20)]
"""In dense rows they move cells that are far outside of their column."""

SWAYED = [PDDP(), IncrementalMDH(2, standardize=False), MDHClassifier()]
"""Beside one large cell they find nothing, or less."""


def spoiled(X, value=1e12):
    X = np.array(X, dtype=np.float64)
    X[7, 1] = value
    return X


@pytest.mark.parametrize("model", [*SWAYED, *PROTECTED], ids=repr)
def test_one_large_cell_is_warned_of_with_its_column_and_row(model):
    clouds, _ = datasets.make_blobs(120, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 9]], random_state=0)
    message = re.escape(
        "one cell has nearly all of the spread of the data and would hide every cluster: the largest is "
    )
    for value in (1e12, -1e6):
        X = spoiled(clouds, value)
        shown = re.escape(f"{value:.3g} in column ")
        for rows, name in ((X, "1"), (sparse.csr_array(X), "1"), (pd.DataFrame(X, columns=["a", "b b", "c"]), "'b b'")):
            if sparse.issparse(rows) and not model.__sklearn_tags__().input_tags.sparse:
                continue
            if not sparse.issparse(rows) and type(model) in map(type, PROTECTED):
                continue
            with pytest.warns(UserWarning, match=f"{message}{shown}{name}, in row 7. Drop the row, or clip"):
                fitted(clone(model), rows)


@pytest.mark.parametrize("model", PROTECTED, ids=repr)
@pytest.mark.parametrize("value", [999.0, -1e12])
def test_one_large_cell_does_not_hide_the_clusters(model, value):
    clouds, truth = datasets.make_blobs(300, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 9]], random_state=0)
    X = spoiled(clouds, value)
    for parameters in ({}, {"n_clusters": 3}):
        found = clone(model).set_params(**parameters).fit(X)
        assert_array_equal(found.predict(X), found.labels_)
        assert adjusted_rand_score(np.delete(found.labels_, 7), np.delete(truth, 7)) > 0.95
        assert_array_equal(found.tree_.count[found.tree_.leaves].sum(), len(X))
        assert_allclose(found.tree_.mean[0], X.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("model", PROTECTED, ids=repr)
def test_a_cluster_beside_a_large_cell_can_be_split(model):
    clouds, truth = datasets.make_blobs(300, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 9]], random_state=0)
    X = spoiled(clouds)
    whole = clone(model).set_params(n_clusters=1).fit(X)
    assert adjusted_rand_score(whole.split(0, X).labels_, truth) > 0.5


def test_the_warning_shows_the_line_of_the_user():
    with pytest.warns(UserWarning, match="one cell has") as caught:
        make_pipeline(SpectralPursuit(n_microclusters=20)).fit(spoiled(GOOD))
    assert [warning.filename for warning in caught if "one cell" in str(warning.message)] == [__file__]
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2") as caught:
        SpectralPursuit(2).fit(np.zeros((12, 2)))
    assert {warning.filename for warning in caught} == {__file__}


def test_one_large_cell_in_parts_is_warned_of_with_its_column():
    X = spoiled(GOOD)
    parts = LocalChunks(lambda: ((X[i : i + 10], None) for i in range(0, 40, 10)), 2, ["a", "b"])
    for model in (PDDP(), NCutH(), MDH()):
        with pytest.warns(UserWarning, match=r"one cell has .* 1e\+12 in column 'b', in one of 40 rows"):
            clone(model).fit(parts)


def test_a_few_large_cells_in_several_columns_are_one_finding():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    X[3, 1], X[5, 2], X[9, 2] = 1e12, -3e12, 2e12
    with pytest.warns(UserWarning, match=r"3 cells have .*the largest is -3e\+12 in column 2, in row 5"):
        PDDP().fit(X)


def ordinary():
    rng = np.random.default_rng(0)
    for load_data in (load_iris, load_wine, load_breast_cancer, load_digits, load_diabetes):
        yield load_data.__name__, load_data().data
    for name in ("make_blobs", "make_moons", "make_rings"):
        yield name, getattr(datasets, name)(300, random_state=0)[0]
    for sigma in (0.5, 1, 2, 3):
        yield f"lognormal {sigma}", rng.lognormal(0, sigma, size=(2000, 8))
    yield "Student 2", rng.standard_t(2, size=(2000, 4))
    yield (
        "prices, years and shares",
        np.c_[rng.lognormal(12, 1, 2000), rng.integers(1900, 2024, 2000), rng.random(2000)],
    )
    yield "mostly zero", (rng.random((500, 20)) < 0.02).astype(float)
    yield "one row of a kind", np.eye(50)[:, :3] + rng.normal(size=(50, 1))
    yield "times", np.c_[1.7e9 + rng.uniform(0, 1e5, 2000), rng.normal(size=2000)]
    yield "a single row apart from equal ones", np.r_[np.zeros((99, 1)), [[1e12]]]
    yield "a tenth of the rows", np.r_[rng.normal(size=(90, 2)), 1e9 + rng.normal(size=(10, 2))]
    yield "three rows", np.array([[0.0, 1.0], [1.0, 1.0], [1e12, 1.0]])


@pytest.mark.parametrize("X", [pytest.param(X, id=name) for name, X in ordinary()])
def test_ordinary_rows_are_not_warned_of(X):
    PDDP(max_depth=1).fit(X)
    PDDP(max_depth=1).fit(sparse.csr_array(X))


def test_the_advice_helps():
    clouds, truth = datasets.make_blobs(120, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 9]], random_state=0)
    X = np.clip(RobustScaler().fit_transform(spoiled(clouds)), -5, 5)
    for model in (MDH(), PDDP(), NCutH()):
        assert adjusted_rand_score(clone(model).fit(X).labels_, truth) > 0.95


def test_rows_without_weight_and_scaled_columns_are_not_warned_of():
    X, weights = spoiled(GOOD), np.ones(40)
    weights[7] = 0
    MDH().fit(X, sample_weight=weights)
    IncrementalMDH().fit(X)


def test_tables_name_each_case_once():
    names = [*REFUSED_EVERYWHERE, *REFUSED_IN_FIT, *TAKEN]
    assert all(a != b for a, b in pairwise(sorted(names)))
