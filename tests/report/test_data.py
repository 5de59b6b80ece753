import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from tests.strategies import random_tree, seeds

from ravine.report import ReportAccumulator
from ravine.report import _data as module


def some_rows(seed, n_rows=200, n_columns=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)), rng.choice(["a", "b", "c"], size=n_rows)


def gathered(tree, X, labels=None, batch=None, **options):
    gatherer = ReportAccumulator(tree, **options)
    for start in range(0, X.shape[0], batch or max(X.shape[0], 1)):
        part = slice(start, start + (batch or X.shape[0]))
        gatherer.add(X[part], None if labels is None else labels[part])
    return gatherer.rows()


@given(seeds, st.integers(0, 8), st.integers(1, 70), st.booleans())
def test_batches_and_storage_change_nothing(seed, n_cuts, batch, as_csr):
    tree = random_tree(n_cuts, 3, seed)
    X, labels = some_rows(seed)
    whole = gathered(tree, X, labels, n_rows_kept=50)
    parts = gathered(tree, sparse.csr_array(X) if as_csr else X, labels, batch, n_rows_kept=50)
    for name in ("X", "number", "cluster", "classes", "leaf_count", "contingency"):
        assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert (parts.class_names, parts.n_rows) == (whole.class_names, whole.n_rows) == (["a", "b", "c"], 200)


@given(seeds, st.integers(0, 8))
def test_counts_are_of_all_rows_and_the_sample_is_of_them(seed, n_cuts):
    tree = random_tree(n_cuts, 3, seed)
    X, labels = some_rows(seed)
    rows = gathered(tree, X, labels, n_rows_kept=30)
    cluster = tree.predict(X)
    assert_array_equal(rows.leaf_count, np.bincount(cluster, minlength=tree.n_clusters))
    for leaf in range(tree.n_clusters):
        for code, name in enumerate(rows.class_names):
            assert rows.contingency[leaf, code] == np.sum((cluster == leaf) & (labels == name))
    assert len(set(rows.number)) == 30
    assert_array_equal(rows.X, X[rows.number])
    assert_array_equal(rows.cluster, cluster[rows.number])
    assert_array_equal(np.array(rows.class_names)[rows.classes], labels[rows.number])


def test_few_rows_are_all_kept_and_wide_ones_are_fewer(monkeypatch):
    tree = random_tree(2, 3, 0)
    X, _ = some_rows(0)
    assert sorted(gathered(tree, X).number) == list(range(200))
    monkeypatch.setattr(module, "MAX_CELLS", 60)
    monkeypatch.setattr(module, "FEWEST_KEPT", 5)
    assert len(gathered(tree, X).X) == 20


def test_no_rows_at_all_are_rows():
    tree = random_tree(2, 3, 0)
    for rows in (ReportAccumulator(tree).rows(), gathered(tree, np.empty((0, 3)))):
        assert rows.X.shape == (0, 3)
        assert rows.n_rows == rows.leaf_count.sum() == 0


def test_classes_stand_in_order_numbers_first_and_missing_ones_last():
    tree = random_tree(1, 1, 0)
    labels = [10, "b", 9, None, float("nan"), "a", 9.5, float("nan")]
    rows = gathered(tree, np.zeros((8, 1)), labels)
    assert rows.class_names == ["9", "9.5", "10", "a", "b", "missing"]
    assert rows.contingency.sum(axis=0).tolist() == [1, 1, 1, 1, 1, 3]
    assert [rows.class_names[code] for code in rows.classes[np.argsort(rows.number)]][:4] == ["10", "b", "9", "missing"]


def test_more_classes_than_the_first_table_has_columns_are_counted():
    rows = gathered(random_tree(1, 1, 0), np.zeros((300, 1)), np.arange(300) % 100, batch=7)
    assert rows.contingency.sum(axis=0).tolist() == [3] * 100


def test_labels_that_cannot_be_classes_are_refused():
    tree = random_tree(1, 1, 0)
    with pytest.raises(ValueError, match="labels has 2 entries for 3 rows"):
        ReportAccumulator(tree).add(np.zeros((3, 1)), [0, 1])
    with pytest.raises(ValueError, match="more than 1,000 distinct values"):
        ReportAccumulator(tree).add(np.zeros((1001, 1)), np.arange(1001))


@pytest.mark.parametrize(("first", "second"), [(["a"], None), (None, ["a"])])
def test_labels_are_given_for_every_batch_or_for_none(first, second):
    gatherer = ReportAccumulator(random_tree(1, 1, 0))
    gatherer.add(np.zeros((1, 1)), first)
    with pytest.raises(ValueError, match="give labels for every batch, or for none"):
        gatherer.add(np.zeros((1, 1)), second)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 4)), "X has 4 columns, but the model was fitted on 3"),
        (np.full((2, 3), np.nan), "NaN"),
        (np.full((2, 3), 1e200), "rescale X"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        ReportAccumulator(random_tree(1, 3, 0)).add(X)


def test_single_precision_rows_are_taken_without_a_warning():
    rows = gathered(random_tree(3, 3, 0), some_rows(0)[0].astype(np.float32))
    assert rows.X.dtype == np.float64
