"""The two programs of docs/guide/serving.md, taken from the page as they stand there."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import ravine
from ravine import NCutH
from ravine.datasets import make_blobs

pytest.importorskip("fastapi", exc_type=ModuleNotFoundError)

from fastapi.testclient import TestClient

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "serving.md"
NAMES = ["width", "height", "depth"]
JSON = {"content-type": "application/json"}


def program(beginning):
    """Names that the program of the page defines whose first lines have this text."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if beginning in block and not block.startswith(">>>"))
    scope = {"__name__": "program"}
    exec(compile(found, str(PAGE), "exec"), scope)
    return scope


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = make_blobs(300, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)
    table = pd.DataFrame(X, columns=NAMES)
    ravine.save(NCutH(3).fit(table), "model.ravine")
    return table


@pytest.fixture
def client(table):
    with TestClient(program("from fastapi import")["app"]) as client:
        yield client


@pytest.fixture
def label_file(table):
    return program("def label_file")["label_file"]


def test_endpoint_answers_with_the_labels_of_predict(client, table):
    expected = ravine.load("model.ravine").predict(table)
    for rows in (table[:1], table):
        answer = client.post("/predict", json={"rows": rows.to_numpy().tolist()})
        assert answer.status_code == 200
        assert answer.json() == {"labels": expected[: len(rows)].tolist()}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"rows": [[1, 2]]}', "rows must be lists of 3 numbers"),
        ('{"rows": [[1, 2, 3], [1, 2, 3, 4]]}', "rows must be lists of 3 numbers"),
        ('{"rows": [[]]}', "rows must be lists of 3 numbers"),
        ('{"rows": []}', "rows must be lists of 3 numbers"),
        ('{"rows": [[1, NaN, 3]]}', "Input X contains NaN"),
        ('{"rows": [[1, Infinity, 3]]}', "Input X contains infinity"),
        ('{"rows": [[1, 1e999, 3]]}', "Input X contains infinity"),
        ('{"rows": [[1, null, 3]]}', "should be a valid number"),
        ('{"rows": [[1, "red", 3]]}', "should be a valid number"),
        ('{"rows": [1, 2, 3]}', "should be a valid list"),
        ('{"row": [[1, 2, 3]]}', "Field required"),
        ('{"rows": [[1, 2', "JSON decode error"),
        ("", "Field required"),
        ("[]", "valid dictionary"),
    ],
)
def test_endpoint_refuses_bad_requests_with_a_message(client, body, message):
    answer = client.post("/predict", content=body, headers=JSON)
    assert answer.status_code == 422
    assert message in answer.text


def test_endpoint_works_after_a_bad_request(client, table):
    client.post("/predict", content='{"rows": [[NaN, 2, 3]]}', headers=JSON)
    assert client.post("/predict", json={"rows": table[:1].to_numpy().tolist()}).status_code == 200


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_job_writes_all_columns_and_the_labels_of_predict(label_file, table, kind):
    shuffled = table.assign(id=np.arange(len(table)))[["id", "depth", "width", "height"]]
    shuffled.to_csv("rows.csv", index=False)
    pq.write_table(pa.Table.from_pandas(shuffled), "rows.parquet", row_group_size=70)
    label_file("model.ravine", f"rows.{kind}", "labels.parquet")
    labeled = pd.read_parquet("labels.parquet")
    assert labeled.columns.tolist() == ["id", "depth", "width", "height", "cluster"]
    assert_array_equal(labeled["id"], shuffled["id"])
    assert_array_equal(labeled["cluster"], ravine.load("model.ravine").predict(table))


def test_job_that_fails_leaves_the_file_of_before_and_nothing_else(label_file, table, tmp_path):
    table.to_parquet("rows.parquet")
    label_file("model.ravine", "rows.parquet", "labels.parquet")
    before = Path("labels.parquet").read_bytes()
    table.iloc[-1, 0] = np.nan
    pq.write_table(pa.Table.from_pandas(table), "bad.parquet", row_group_size=70)
    files = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="contains NaN"):
        label_file("model.ravine", "bad.parquet", "labels.parquet")
    assert Path("labels.parquet").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == files


def test_job_of_a_file_without_rows_writes_a_file_without_rows(label_file, table):
    table[:0].to_parquet("none.parquet")
    label_file("model.ravine", "none.parquet", "labels.parquet")
    assert pq.read_metadata("labels.parquet").num_rows == 0


def test_job_of_a_file_without_a_column_of_the_model_is_refused(label_file, table):
    table.drop(columns="depth").to_parquet("rows.parquet")
    with pytest.raises(KeyError, match="depth"):
        label_file("model.ravine", "rows.parquet", "labels.parquet")
    assert not Path("labels.parquet").exists()
