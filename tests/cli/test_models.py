"""The commands that use a saved pipeline give what the pipeline itself gives."""

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.commands import ravine_in_this_process as ravine

from ravine import PDDP, SumOfNorms, load, save
from ravine._io import UsageError
from ravine.cli._frames import frame_maker
from ravine.datasets import make_blobs


@pytest.fixture(scope="module")
def table():
    X = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)[0]
    frame = pd.DataFrame(X * [1, 100], columns=["width", "größe"])
    return frame.assign(word=np.where(frame["width"] > 5, "big", "small"), gap=frame["width"].where(X[:, 1] > -1))


def labels_of(path):
    return pd.read_csv(path)["cluster"].to_numpy()


PIPES = {
    "numbers": (make_pipeline(StandardScaler(), PDDP(3)), ["width", "größe"]),
    "gaps": (make_pipeline(SimpleImputer(), StandardScaler(), PDDP(3)), ["width", "größe", "gap"]),
    "words": (
        make_pipeline(
            ColumnTransformer([("n", StandardScaler(), ["width"]), ("w", OneHotEncoder(), ["word"])]), PDDP(2)
        ),
        ["width", "word"],
    ),
    "no tree": (make_pipeline(StandardScaler(), SumOfNorms(n_lambdas=5)), ["width", "größe"]),
}


@pytest.mark.parametrize("name", PIPES)
def test_predict_gives_the_labels_of_the_pipeline(name, table, tmp_path):
    pipe, columns = PIPES[name]
    save(pipe.fit(table[columns]), tmp_path / "pipe.ravine")
    table[table.columns[::-1]].to_csv(tmp_path / "rows.csv", index=False)
    assert ravine("predict", tmp_path / "pipe.ravine", tmp_path / "rows.csv", "--out", tmp_path / "out.csv") == 0
    read = pd.read_csv(tmp_path / "rows.csv")[columns]
    assert_array_equal(labels_of(tmp_path / "out.csv"), pipe.predict(read))


def test_a_pipeline_without_names_takes_the_columns_of_numbers(table, tmp_path):
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(table[["width", "größe"]].to_numpy())
    save(pipe, tmp_path / "pipe.ravine")
    table[["width", "größe"]].to_parquet(tmp_path / "rows.parquet")
    assert ravine("predict", tmp_path / "pipe.ravine", tmp_path / "rows.parquet", "--out", tmp_path / "out.csv") == 0
    assert_array_equal(labels_of(tmp_path / "out.csv"), pipe[-1].labels_)


def test_report_inspect_and_cut_take_a_pipeline(table, tmp_path, capsys):
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(table[["width", "größe"]])
    save(pipe, tmp_path / "pipe.ravine")
    table.to_csv(tmp_path / "rows.csv", index=False)
    page = tmp_path / "page.html"
    assert ravine("report", tmp_path / "pipe.ravine", tmp_path / "rows.csv", "--out", page, "--label", "word") == 0
    assert "StandardScaler" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert ravine("inspect", tmp_path / "pipe.ravine", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["columns"] == ["width", "größe"]
    assert shown["estimator"] == "PDDP"
    assert ravine("cut", tmp_path / "pipe.ravine", "--clusters", "2", "--out", tmp_path / "two.ravine") == 0
    assert load(tmp_path / "two.ravine")[-1].n_clusters_ == 2
    out = tmp_path / "out.csv"
    assert ravine("predict", tmp_path / "pipe.ravine", tmp_path / "rows.csv", "--clusters", "2", "--out", out) == 0
    assert_array_equal(labels_of(out), load(tmp_path / "two.ravine").predict(table[["width", "größe"]]))


def test_missing_values_are_the_business_of_the_pipeline(table, tmp_path, capsys):
    pipe = make_pipeline(StandardScaler(), PDDP(3)).fit(table[["width", "größe"]])
    save(pipe, tmp_path / "pipe.ravine")
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert ravine("predict", tmp_path / "pipe.ravine", tmp_path / "rows.csv", "--missing", "drop", "--out", "-") != 0
    assert "leave out --missing" in " ".join(capsys.readouterr().err.split())


def test_polars_is_used_where_pandas_is_not_there(monkeypatch):
    batch = pa.record_batch({"a": [1.0, None], "b": ["x", "y"]})
    assert isinstance(frame_maker()(batch), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(frame_maker()(batch), pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match="install pandas or polars"):
        frame_maker()
