import numpy as np

from ravine.report._data import ReportData
from ravine.report._levels import Levels


def rows_of(cluster, classes=None):
    n_rows = len(cluster)
    count = np.bincount(cluster)
    table = None
    if classes is not None:
        table = np.array([[np.sum((cluster == c) & (classes == k)) for k in (0, 1)] for c in range(len(count))])
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2) ** 1.5
    names = None if classes is None else ["a", "b"]
    return ReportData(X, np.arange(n_rows), cluster, classes, names, n_rows, count, table)


FIT, FINER, COARSER = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, 2, 2]), np.zeros(6, dtype=int)


def test_nodes_are_numbered_from_the_clusters_of_the_fit_on():
    levels = Levels.of(rows_of(FIT), [FINER, FIT, COARSER], 1)
    assert levels.nodes == [[3, 4, 2], [1, 2], [5]]
    assert levels.n_nodes == 6
    assert [nodes for _, nodes in levels.others] == [[3, 4, 2], [5]]


def test_entries_are_those_of_the_new_nodes_in_order():
    levels = Levels.of(rows_of(FIT), [FINER, FIT, COARSER], 1)
    entries = levels.describe(rows_of(FIT))
    assert [entry["rows"] for entry in entries] == [2, 1, 6]
    assert [sorted(entry["typical"]) for entry in entries] == [[0, 1], [2], [2, 3, 4]]


def test_parts_are_the_rows_that_are_together_in_all_clusterings():
    levels = Levels.of(rows_of(FIT), [FINER, FIT], 1)
    summary = levels.summary(rows_of(FIT), [5, 0, 2])
    assert [summary["parts"][0][part] for part in summary["part_of"]] == [2, 3, 4]
    assert [summary["parts"][1][part] for part in summary["part_of"]] == [2, 1, 1]
    assert len(summary["parts"][0]) == 3


def test_classes_are_counted_in_new_nodes_and_in_every_table():
    classes = np.array([0, 1, 0, 1, 1, 0])
    rows = rows_of(FIT, classes)
    new, tables = Levels.of(rows, [FINER, FIT, COARSER], 1).class_counts(rows)
    assert new.tolist() == [[1, 1], [1, 0], [3, 3]]
    assert [table.tolist() for table in tables] == [[[1, 1], [1, 0], [1, 2]], [[2, 1], [1, 2]], [[3, 3]]]
