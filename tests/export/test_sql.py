import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.export.readers import by_duckdb, by_sqlite, in_duckdb

from ravine import PDDP, NCutH, SpectralPursuit
from ravine.explain import tree_sql
from ravine.export import to_sql

X = load_iris().data
NAMES = ['a"; DROP TABLE x; --', "b'; DELETE FROM rows; --", "SELECT", "größe\n²"]


@pytest.fixture(scope="module")
def model():
    return NCutH(n_clusters=3, assign_labels="mixture", outliers="label", min_cluster_size=5).fit(X)


@pytest.mark.parametrize("read", [by_sqlite, by_duckdb])
@pytest.mark.parametrize("table", ["rows", 'x"; DROP TABLE rows; --', "a.b"])
def test_names_cannot_run(model, read, table):
    assert (read(model, X, NAMES, table) == model.predict(X)).all()


@pytest.mark.parametrize("read", [by_sqlite, by_duckdb])
def test_name_of_the_label_cannot_run(model, read):
    assert (read(model, X, column_name='c", (SELECT 1) AS "d') == model.predict(X)).all()


def test_names_that_no_sql_can_have_are_refused(model):
    for name, said in (("a\0b", "null character"), ("\ud800", "no valid Unicode")):
        with pytest.raises(ValueError, match=said):
            to_sql(model, "rows", feature_names=[name, "b", "c", "d"])
        with pytest.raises(ValueError, match=said):
            to_sql(model, name)


def test_query_is_one_case_of_the_columns_of_the_table(model):
    sql = to_sql(PDDP(n_clusters=2).fit(X), ("sales", "flowers"), feature_names=["a", "b", "c", "d"])
    assert sql.startswith("SELECT t.*,\n  CASE\n")
    assert sql.endswith('END AS "cluster"\nFROM "sales"."flowers" AS t')
    assert ";" not in sql
    assert sql.count("SELECT") == 1


def test_standard_sql_runs_in_duckdb(model):
    assert (by_duckdb(model, X, dialect="standard") == model.predict(X)).all()


def test_missing_column_is_an_error_in_sqlite(model):
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE rows (x0 REAL, x1 REAL, x2 REAL)")
        connection.execute("INSERT INTO rows VALUES (1, 2, 3)")
        with pytest.raises(sqlite3.OperationalError, match=r"no such column: t\.x3"):
            connection.execute(to_sql(model, "rows", "sqlite")).fetchall()


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.float32(), pa.decimal128(25, 3)], ids=str)
def test_columns_may_have_any_type_of_numbers(kind):
    rows = np.round(X * 3)
    model = PDDP(n_clusters=4, criterion="mean").fit(rows)
    table = pa.table([pa.array(column.astype(int)).cast(kind) for column in rows.T], [f"x{j}" for j in range(4)])
    assert (in_duckdb(to_sql(model, "rows", "duckdb"), table) == model.labels_).all()


def test_large_integers_do_not_overflow():
    rows = np.array([[2.0**62, 2.0**62], [2.0**62, 2.0**61], [-(2.0**62), 1.0], [-(2.0**62), 2.0]])
    model = PDDP(n_clusters=2, criterion="mean").fit(rows)
    table = pa.table([pa.array([int(cell) for cell in column]) for column in rows.T], ["x0", "x1"])
    assert (in_duckdb(to_sql(model, "rows", "duckdb"), table) == model.labels_).all()


def test_cuts_on_request(model):
    tree = model.tree_
    found = by_sqlite(model, X, assign_labels="tree")
    assert (found == tree.label[tree.apply(X)]).all()
    assert (found != model.predict(X)).any()


def test_tree_alone_gives_the_case_of_tree_sql():
    tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
    case = tree_sql(tree, table_name="rows").replace('"x', 't."x').splitlines()[1:-1]
    assert to_sql(tree, "rows").splitlines()[1:-1] == case


def test_pipeline_is_folded_into_the_units_of_the_table():
    rows = load_wine().data
    model = make_pipeline(StandardScaler(), PDDP(n_clusters=2, criterion="mean")).fit(rows)
    moved = make_pipeline(StandardScaler(), PDDP(n_clusters=2, criterion="mean")).fit(rows * 1000)
    assert (by_sqlite(moved, rows * 1000) == by_sqlite(model, rows)).all()


def test_gaps_after_a_projection_are_refused():
    model = make_pipeline(PCA(2), SimpleImputer(), PDDP(n_clusters=2)).fit(X)
    with pytest.raises(ValueError, match="after a projection"):
        to_sql(model, "rows")


def test_a_cut_that_bends_is_refused():
    model = SpectralPursuit(n_clusters=3, n_microclusters=20).fit(X)
    with pytest.raises(ValueError, match="bends"):
        to_sql(model, "rows")


def test_bad_arguments_are_named(model):
    with pytest.raises(ValueError, match="dialect='oracle'"):
        to_sql(model, "rows", "oracle")
    with pytest.raises(ValueError, match="feature_names has 2 entries"):
        to_sql(model, "rows", feature_names=["a", "b"])
    with pytest.raises(ValueError, match="assign_labels='soft'"):
        to_sql(model, "rows", assign_labels="soft")


def test_names_of_a_frame_are_the_default():
    data = pd.DataFrame(X, columns=NAMES)
    model = make_pipeline(StandardScaler(), PDDP(n_clusters=3, criterion="mean")).fit(data)
    assert (by_duckdb(model, X) == model.predict(data)).all()
    assert 't."a""; DROP TABLE x; --"' in to_sql(model, "rows")
