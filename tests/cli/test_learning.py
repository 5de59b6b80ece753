import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.commands import ravine_in_this_process

from ravine import MDH, IncrementalMDH, NCutH
from ravine._io import DataError, TextFormat
from ravine.cli import _cluster, _data
from ravine.cli._cluster import fit_scaled, learn
from ravine.cli._data import TableOptions, open_data
from ravine.cli._screen import Screen
from ravine.datasets import make_blobs

CHOICE = TableOptions((), (), None, False, "error", TextFormat())


@pytest.fixture
def rows():
    X, _ = make_blobs(900, centers=[[0, 0], [12, 0], [0, 12]], random_state=3)
    return X


@pytest.fixture
def data(rows, tmp_path):
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "t.parquet")
    with open_data([str(tmp_path / "t.parquet")], CHOICE, Screen(quiet=True)) as data:
        yield data


def test_few_rows_are_fitted_at_once(data, rows):
    model = IncrementalMDH()
    learn(model, data, scale=True)
    assert model.tree_ == IncrementalMDH().fit(rows).tree_
    assert_array_equal(model.feature_names_in_, ["a", "b"])


def test_many_rows_are_learned_in_batches(data, rows, monkeypatch):
    monkeypatch.setattr(_cluster, "AT_ONCE", 100)
    model = IncrementalMDH()
    learn(model, data, scale=True)
    assert model.tree_ == IncrementalMDH().partial_fit(rows).tree_


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_rows_that_do_not_fit_in_memory_are_read_in_passes(scale, kind, rows, tmp_path, monkeypatch):
    frame, path = pd.DataFrame(rows * [1, 100], columns=["a", "b"]), tmp_path / f"t.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    with open_data([str(path)], CHOICE, Screen(quiet=True)) as data:
        models = [NCutH(3), NCutH(3), NCutH(3)]
        learn(models[0], data, scale)
        learn(models[1], data, scale, in_passes=True)
        monkeypatch.setattr(_data, "memory_of_the_machine", lambda: 20_000)
        learn(models[2], data, scale)
    labels = [model.tree_.predict(frame.to_numpy()) for model in models]
    assert_array_equal(labels[1], labels[0])
    assert models[2].tree_ == models[1].tree_
    assert not hasattr(models[2], "labels_")
    assert_allclose(models[1].tree_.mean[0], frame.mean(), rtol=1e-9)
    assert_array_equal(models[1].feature_names_in_, ["a", "b"])


def test_comparison_says_plainly_that_memory_is_too_small(data, monkeypatch):
    monkeypatch.setattr(_data, "memory_of_the_machine", lambda: 20_000)
    with pytest.raises(DataError, match=r"t\.parquet has more than 0\.0 GB.*which can read the files in passes"):
        data.matrix("reading")


def test_memory_is_watched_where_the_number_of_rows_is_not_known(rows, tmp_path, monkeypatch):
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(_data, "memory_of_the_machine", lambda: 20_000)
    with open_data([str(tmp_path / "t.csv")], CHOICE, Screen(quiet=True)) as data, pytest.raises(DataError, match="GB"):
        data.matrix("reading")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scaled_fits_have_cuts_in_the_units_of_the_data(rows, dtype):
    unit = np.array([1e-3, 1e4])
    stretched = (rows * unit).astype(dtype)
    model, plain = MDH(), MDH().fit((rows - rows.mean(axis=0)) / rows.std(axis=0))
    fit_scaled(model, stretched.copy(), True, Screen(quiet=True))
    assert_array_equal(model.tree_.predict(stretched), plain.labels_)
    assert_allclose(model.tree_.mean[0], (rows * unit).mean(axis=0), rtol=1e-5)


def test_constant_columns_survive_scaling(rows):
    model = NCutH()
    X = np.column_stack([rows, np.full(len(rows), 7.0)])
    fit_scaled(model, X.copy(), True, Screen(quiet=True))
    assert len(np.unique(model.tree_.predict(X))) == 3
    assert np.isfinite(model.tree_.normal).all()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_command_gives_the_labels_of_the_estimator_with_its_defaults(rows, kind, tmp_path):
    table, path, out = pd.DataFrame(rows * [1, 100], columns=["a", "b"]), tmp_path / f"t.{kind}", tmp_path / "l.csv"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    assert ravine_in_this_process("cluster", path, "--out", out, "--quiet") == 0
    read = pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
    model = IncrementalMDH().fit(read)
    assert model.n_clusters_ == 3
    assert_array_equal(pd.read_csv(out)["cluster"], model.labels_)
