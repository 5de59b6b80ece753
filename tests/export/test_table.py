"""Exports of a model of a table: numbers with gaps and logarithms, and categories."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from tests.export.readers import NONE, in_duckdb, label_of, outputs_of

from ravine import NCutH
from ravine.export import to_json, to_onnx, to_python, to_sql
from ravine.prepare import TableEncoder

N = 400
TRICKY = 'a"; DROP TABLE x; --'


def table_of(seed=0):
    rng = np.random.default_rng(seed)
    is_far = np.arange(N) % 2 == 0
    table = pd.DataFrame(
        {
            "id": [f"C-{i:04d}" for i in range(N)],
            "age": np.where(is_far, 60, 20) + rng.normal(size=N),
            TRICKY: np.exp(rng.normal(size=N) * 0.8 + 3),
            "city": np.where(is_far, rng.choice(["Bonn", "it's"], N), rng.choice(["Trier", "Bonn"], N)),
            "member": np.where(rng.random(N) < 0.3, "yes", "no"),
        }
    )
    table.loc[::13, "city"] = None
    return table


def changed(table):
    """The table with odd cells: far and missing numbers, unknown and oddly written words."""
    table = table.copy()
    table.loc[0, "age"], table.loc[1, "age"], table.loc[2, "age"], table.loc[3, "age"] = np.nan, 1e9, -1e150, 1e151
    table.loc[[4, 5], ["age", TRICKY]] = np.nan
    table.loc[6, TRICKY], table.loc[7, TRICKY] = 0.0, -5.0
    table.loc[8, "city"], table.loc[9, "city"], table.loc[10, "city"] = "Paris", "bonn", "NA"
    table.loc[11, "member"] = "YES"
    return table


@pytest.fixture(scope="module", params=["numbers", "one number", "words"])
def model_and_rows(request):
    columns = {"numbers": ["age", TRICKY, "city"], "one number": ["age", "city", "member"], "words": ["city", "member"]}
    table = table_of()[columns[request.param]]
    model = make_pipeline(TableEncoder(category_encoding="indicators"), NCutH(n_clusters=2, assign_labels="mixture"))
    return model.fit(table), changed(table_of())[columns[request.param]]


def expected_of(model, rows):
    """The labels of `predict`, with -2 where the encoder estimates a number from others."""
    encoder, labels = model[0], model.predict(rows)
    found = {
        column.name: pd.to_numeric(rows[column.name]).to_numpy() for column in encoder.columns_ if column.is_scaled
    }
    if encoder._gaps is None:
        return labels
    n_unknown = encoder._numbers(found)[1].sum(axis=1)
    return np.where((n_unknown >= 1) & (n_unknown < len(found)), NONE, labels)


def records(rows):
    return rows.astype(object).where(rows.notna(), None).to_numpy().tolist()


def test_onnx_gives_the_labels_of_predict(model_and_rows):
    model, rows = model_and_rows
    feed = {name: rows[[name]].to_numpy() for name in rows if rows[name].dtype.kind == "f"}
    feed |= {name: rows[[name]].fillna("").to_numpy(dtype=object) for name in rows if name not in feed}
    label, share = outputs_of(to_onnx(model), feed)
    expected = expected_of(model, rows)
    assert (label == expected).all()
    np.testing.assert_allclose(share[label != NONE], model.predict_proba(rows)[label != NONE], atol=1e-9)


def test_python_gives_the_labels_of_predict(model_and_rows):
    model, rows = model_and_rows
    scope = {}
    exec(to_python(model), scope)
    found = [scope["cluster_of"](row) for row in records(rows)]
    assert [NONE if label is None else label for label in found] == expected_of(model, rows).tolist()


def test_json_gives_the_labels_of_predict(model_and_rows):
    model, rows = model_and_rows
    document = json.loads(to_json(model))
    assert [label_of(document, row) for row in records(rows)] == expected_of(model, rows).tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "standard"])
def test_duckdb_gives_the_labels_of_predict(model_and_rows, dialect):
    model, rows = model_and_rows
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    assert (in_duckdb(to_sql(model, "rows", dialect), arrow) == expected_of(model, rows)).all()


def has_logarithm():
    with sqlite3.connect(":memory:") as connection:
        return connection.execute("SELECT sqlite_compileoption_used('ENABLE_MATH_FUNCTIONS')").fetchone()[0] == 1


def test_sqlite_gives_the_labels_of_predict(model_and_rows):
    model, rows = model_and_rows
    sql = to_sql(model, "rows", "sqlite")
    if "LN(" in sql and not has_logarithm():
        pytest.skip("this SQLite was built without LN")
    with sqlite3.connect(":memory:") as connection:
        rows.to_sql("rows", connection, index=False)
        found = [row[-1] for row in connection.execute(sql)]
    assert [NONE if label is None else label for label in found] == expected_of(model, rows).tolist()


def test_logarithms_are_among_the_cases():
    encoder = TableEncoder(category_encoding="indicators").fit(table_of())
    kinds = {column.name: (column.role, column.transform) for column in encoder.columns_}
    assert kinds[TRICKY] == ("number", "log")
    assert kinds["age"] == ("number", "none")


def test_columns_that_are_not_used_are_no_inputs():
    model = make_pipeline(TableEncoder(category_encoding="indicators"), NCutH(n_clusters=2)).fit(table_of())
    names = ["age", TRICKY, "city", "member"]
    assert [node.name for node in to_onnx(model).graph.input] == names
    assert [column["name"] for column in json.loads(to_json(model))["columns"]] == names


def test_spread_categories_and_dates_are_named():
    table = table_of()
    spread = make_pipeline(TableEncoder(category_encoding="spread"), NCutH(n_clusters=2)).fit(table)
    with pytest.raises(ValueError, match=r"column 'city' of step 'tableencoder' is a category that is spread"):
        to_sql(spread, "rows")
    dated = table.assign(since=pd.date_range("2024-01-01", periods=N, freq="7h"))
    model = make_pipeline(TableEncoder(category_encoding="indicators"), NCutH(n_clusters=2)).fit(dated)
    with pytest.raises(ValueError, match=r"column 'since' of step 'tableencoder' is a date"):
        to_python(model)


def test_column_with_the_name_of_an_output_is_refused():
    table = table_of().rename(columns={"age": "label"})
    model = make_pipeline(TableEncoder(category_encoding="indicators"), NCutH(n_clusters=2)).fit(table)
    with pytest.raises(ValueError, match="column 'label' has no name, or that of an output"):
        to_onnx(model)
