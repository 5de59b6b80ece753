import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from ravine import PDDP
from ravine.cuts import Cut, Surface
from ravine.datasets import make_blobs
from ravine.explain import tree_sql
from ravine.explain._sql import identifier


def labels_in_sqlite(sql, X, names, table="rows"):
    with sqlite3.connect(":memory:") as connection:
        columns = ", ".join(f"{identifier(name)} REAL" for name in names)
        connection.execute(f"CREATE TABLE {identifier(table)} ({columns})")
        marks = ", ".join("?" * len(names))
        rows = [[None if np.isnan(value) else float(value) for value in row] for row in np.asarray(X)]
        connection.executemany(f"INSERT INTO {identifier(table)} VALUES ({marks})", rows)
        return [row[-1] for row in connection.execute(sql)]


def grid_around(X, rng, n=500):
    """Rows inside and outside of the range of X."""
    low, high = X.min(axis=0), X.max(axis=0)
    return rng.uniform(low - (high - low) / 2, high + (high - low) / 2, size=(n, X.shape[1]))


def away_from_cuts(tree, X):
    """Rows that are not within rounding of a cut."""
    distance = np.where(tree.signed_distance(X) == 0, np.inf, np.abs(tree.signed_distance(X)))
    return X[distance.min(axis=1, initial=np.inf) > 1e-9 * (1 + np.abs(X).max(axis=1))]


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_sql_of_the_cuts_gives_the_leaves(rng, scale):
    X = load_wine().data[:, :5] * scale
    tree = PDDP(n_clusters=6, criterion="mean").fit(X).tree_
    rows = away_from_cuts(tree, np.vstack([X, grid_around(X, rng)]))
    assert len(rows) > 600
    names = [f"x{j}" for j in range(5)]
    found = labels_in_sqlite(tree_sql(tree), rows, names)
    assert found == tree.label[tree.apply(rows)].tolist()


def test_names_may_have_any_character(rng):
    X = load_iris().data
    names = ['"quoted" name', "semi;colon -- '", "größe\n²", "SELECT"]
    tree = PDDP(n_clusters=3, criterion="mean").fit(X).tree_
    sql = tree_sql(tree, names, 'a "table"', column_name='my "cluster"')
    assert labels_in_sqlite(sql, X, names, 'a "table"') == tree.predict(X).tolist()


def test_names_of_the_fit_are_the_default():
    data = load_iris(as_frame=True).data
    model = PDDP(n_clusters=3, criterion="mean").fit(data)
    sql = tree_sql(model)
    assert labels_in_sqlite(sql, data, list(data.columns)) == model.predict(data).tolist()


def test_a_gap_gives_null():
    tree = PDDP(n_clusters=3, criterion="mean").fit(load_iris().data).tree_
    rows = load_iris().data[:4].copy()
    rows[1, 2] = rows[3, 0] = np.nan
    found = labels_in_sqlite(tree_sql(tree), rows, ["x0", "x1", "x2", "x3"])
    assert [label is None for label in found] == [False, True, False, True]


def test_a_column_with_coefficient_zero_is_left_out():
    leaf = PDDP(n_clusters=1, criterion="mean").fit([[0.0, 0.0], [1.0, 1.0]]).tree_
    sql = tree_sql(leaf.split(0, Cut(np.array([0.0, 2.0]), 1.0)), ["a", "b"])
    assert '"a"' not in sql
    assert labels_in_sqlite(sql, [[np.nan, 0.25], [5.0, 0.5]], ["a", "b"]) == [0, 1]


def test_a_tree_of_one_leaf_is_a_constant():
    tree = PDDP(n_clusters=1, criterion="mean").fit([[0.0], [1.0]]).tree_
    assert labels_in_sqlite(tree_sql(tree), [[3.0]], ["x0"]) == [0]


def test_500_clusters_and_200_columns_are_within_the_limits_of_sqlite(rng):
    X = rng.normal(size=(2000, 2))
    tree = PDDP(n_clusters=500, criterion="mean").fit(X).tree_
    rows = away_from_cuts(tree, X)
    assert labels_in_sqlite(tree_sql(tree), rows, ["x0", "x1"]) == tree.predict(rows).tolist()
    X = rng.normal(size=(300, 200))
    tree = PDDP(n_clusters=20, criterion="mean").fit(X).tree_
    rows = away_from_cuts(tree, X)
    names = [f"x{j}" for j in range(200)]
    assert labels_in_sqlite(tree_sql(tree), rows, names) == tree.predict(rows).tolist()


def sure(tree, X):
    """Rows whose two largest memberships differ, and which are not at the limit for outliers."""
    membership = np.sort(tree.membership(X), axis=1)
    is_sure = membership[:, -1] - membership[:, -2] > 1e-6 if membership.shape[1] > 1 else np.ones(len(X), dtype=bool)
    return X[is_sure]


@pytest.mark.parametrize("outliers", ["assign", "label"])
def test_sql_of_a_mixture_gives_the_labels_of_predict(rng, outliers):
    X, _ = make_blobs(600, centers=[[0, 0, 0], [6, 0, 3], [0, 6, 0]], cluster_std=[1.0, 1.6, 0.8], random_state=0)
    X = X * [1, 100, 0.01] + [2000, 0, 5]
    model = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture", outliers=outliers).fit(X)
    assert model.tree_.has_soft_labels
    rows = sure(model.tree_, np.vstack([X, grid_around(X, rng)]))
    expected = model.predict(rows)
    assert (outliers == "label") == (-1 in expected)
    assert labels_in_sqlite(tree_sql(model), rows, ["x0", "x1", "x2"]) == expected.tolist()


def test_sql_of_outliers_by_a_mixture_that_does_not_decide(rng):
    X, _ = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    tree = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture", outliers="label").fit(X).tree_
    tree = replace(tree, mixture=replace(tree.mixture, decides=False))
    rows = away_from_cuts(tree, sure(tree, np.vstack([X, grid_around(X, rng)])))
    expected = tree.predict(rows)
    assert set(expected) == {-1, 0, 1, 2}
    assert labels_in_sqlite(tree_sql(tree), rows, ["x0", "x1"]) == expected.tolist()


@pytest.mark.parametrize("outliers", ["assign", "label"])
def test_sql_of_components_that_share_a_covariance(rng, outliers):
    X, _ = make_blobs(60, n_features=30, centers=3, cluster_std=4.0, random_state=0)
    model = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture", outliers=outliers).fit(X)
    assert np.isinf(model.tree_.mixture.freedom)
    rows = sure(model.tree_, np.vstack([X, grid_around(X, rng, 100)]))
    names = [f"x{j}" for j in range(30)]
    assert labels_in_sqlite(tree_sql(model), rows, names) == model.predict(rows).tolist()


def test_the_cuts_of_a_model_with_a_mixture_on_request():
    X = load_iris().data
    model = PDDP(n_clusters=3, criterion="mean", assign_labels="mixture").fit(X)
    sql = tree_sql(model, assign_labels="tree")
    assert sql.startswith("-- Labels by the cuts")
    tree = model.tree_
    assert labels_in_sqlite(sql, X, ["x0", "x1", "x2", "x3"]) == tree.label[tree.apply(X)].tolist()
    assert (tree.label[tree.apply(X)] != model.labels_).any()


def test_a_cut_that_bends_is_refused():
    corner = Surface(np.eye(2), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), np.array([True, False, False]))
    leaf = PDDP(n_clusters=1, criterion="mean").fit([[0.0, 0.0], [1.0, 1.0]]).tree_
    tree = leaf.split(0, Cut(np.array([1.0, 1.0]), 2.0, surface=corner))
    with pytest.raises(ValueError, match="the cut of node 0 bends"):
        tree_sql(tree)


def test_bad_arguments_are_named():
    model = PDDP(n_clusters=2).fit(load_iris().data)
    with pytest.raises(ValueError, match="assign_labels='soft'"):
        tree_sql(model, assign_labels="soft")
    with pytest.raises(ValueError, match="feature_names has 2 entries"):
        tree_sql(model, ["a", "b"])
    with pytest.raises(ValueError, match="null character"):
        tree_sql(model, ["a", "b", "c", "d\0"])
    with pytest.raises(TypeError, match="pass a fitted model or its tree"):
        tree_sql("model")


def test_a_query_that_no_database_accepts_is_refused(rng):
    X, _ = make_blobs(3000, n_features=60, centers=30, random_state=0)
    model = PDDP(n_clusters=30, criterion="mean", assign_labels="mixture").fit(X)
    assert not np.isinf(model.tree_.mixture.freedom)
    with pytest.raises(ValueError, match="assign_labels='tree'"):
        tree_sql(model)
