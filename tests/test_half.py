"""Rows of float16, as embeddings are stored: every estimator reads them as float32, without a copy in float64."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from tests.estimators import ALL, ONLINE, SPARSE, TREES, answer, each, fitted

from ravine import IncrementalMDH, NCutH
from ravine.datasets import make_blobs

ROWS = make_blobs(300, centers=[[0, 0, 0], [9, 0, 1], [0, 9, 1]], random_state=0)[0].astype(np.float16)
SINGLE = ROWS.astype(np.float32)


@each(ALL)
def test_rows_of_float16_give_the_model_of_the_same_rows_as_float32(model):
    half = answer(fitted(model, ROWS), ROWS)
    predicted = model.predict(ROWS)
    assert_array_equal(predicted, half)
    assert_array_equal(model.predict(SINGLE), predicted)
    assert_array_equal(answer(fitted(model, SINGLE), SINGLE), half)


@each(ALL)
def test_rows_of_float16_are_read_as_float32(model):
    expected = np.float32 if np.float32 in model._dtypes else np.float64  # of a method that computes in float64 only
    assert model._read(ROWS, reset=True).dtype == expected


@each(TREES)
def test_distances_and_memberships_are_those_of_float32(model):
    fitted(model, ROWS)
    for method in ("transform", "predict_proba", "score_samples"):
        if hasattr(model, method):
            assert_array_equal(getattr(model, method)(ROWS), getattr(model, method)(SINGLE))


@each(ONLINE)
def test_partial_fit_learns_the_same_from_float16(model):
    answers = []
    for rows in (ROWS, SINGLE):
        for name in [name for name in vars(model) if name not in model.get_params()]:
            delattr(model, name)
        for start in range(0, len(rows), 100):
            model.partial_fit(rows[start : start + 100])
        answers.append(model.predict(rows))
    assert_array_equal(*answers)


@each(SPARSE)
def test_sparse_rows_of_float16_are_read_as_float32(model):
    rows = sparse.csr_array(SINGLE)
    rows.data = rows.data.astype(np.float16)
    assert model._read(rows, reset=True).dtype == np.float32


def test_files_frames_and_tensors_of_float16(tmp_path):
    import pandas as pd

    np.save(tmp_path / "rows.npy", ROWS)
    labels = NCutH(3).fit(SINGLE).labels_
    for rows in (np.load(tmp_path / "rows.npy", mmap_mode="r"), pd.DataFrame(ROWS), ROWS[:, ::-1][:, ::-1]):
        assert_array_equal(NCutH(3).fit(rows).labels_, labels)


def test_a_tensor_of_float16():
    torch = pytest.importorskip("torch")
    assert_array_equal(NCutH(3).fit(torch.from_numpy(ROWS)).labels_, NCutH(3).fit(SINGLE).labels_)


def test_there_is_no_copy_in_float64():
    rows = np.tile(ROWS, (400, 1))
    model = IncrementalMDH(3, sample_size=200, assign_labels="tree").fit(rows[:300])
    tracemalloc.start()
    model._read(rows, reset=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * rows.nbytes  # float32 is twice the rows, and float64 four times


def test_dask_chunks_of_float16():
    da = pytest.importorskip("dask.array")
    model = IncrementalMDH(3).fit(da.from_array(ROWS, (100, 3)))
    assert_array_equal(
        model.labels_.compute(), IncrementalMDH(3).fit(da.from_array(SINGLE, (100, 3))).labels_.compute()
    )


def test_a_number_beyond_float16_is_refused():
    rows = np.array([[np.inf], [1.0]], dtype=np.float16)
    with pytest.raises(ValueError, match="infinity"):
        NCutH(2).fit(rows)
