"""The table of a report: the cells of the sampled rows, in the columns and units of the user."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline

from ravine import PDDP
from ravine.datasets import make_messy_table
from ravine.prepare import TableEncoder
from ravine.report import ReportAccumulator
from ravine.report._data import gathered
from ravine.report._table import Sources, numeric_table, profiled, unit_of


@pytest.fixture(scope="module")
def messy():
    frame = pd.DataFrame(make_messy_table(400, random_state=3).columns)
    return make_pipeline(TableEncoder(), PDDP(n_clusters=3)).fit(frame), frame


def test_table_has_the_cells_of_the_sampled_rows(messy):
    pipe, frame = messy
    gatherer = ReportAccumulator(pipe, n_rows_kept=150)
    for start in range(0, 400, 90):
        gatherer.add(frame.iloc[start : start + 90])
    rows = gatherer.rows()
    expected = pipe[0].values(frame)
    assert rows.identifier == "customer_id"
    assert rows.columns == pipe[0].summary()
    assert list(rows.table) == list(expected)
    assert len(rows.number) == 150
    for name, values in expected.items():
        assert_array_equal(rows.table[name], values[rows.number])


def test_table_does_not_depend_on_batches(messy):
    pipe, frame = messy
    whole = gathered(pipe, frame)
    gatherer = ReportAccumulator(pipe)
    for start in range(0, 400, 70):
        gatherer.add(frame.iloc[start : start + 70])
    for name, values in gatherer.rows().table.items():
        assert_array_equal(values, whole.table[name])


def test_no_rows_have_no_table(messy):
    pipe, frame = messy
    assert gathered(pipe, frame.iloc[:0]).table is None


def test_units_are_those_of_the_cells(messy):
    pipe, frame = messy
    units = {column.name: column.unit for column in pipe[0].columns_ if column.unit}
    assert units
    assert gathered(pipe, frame).units == {name: unit_of(unit) for name, unit in units.items()}


def test_model_without_an_encoder_has_no_table():
    X = np.arange(12.0)[:, np.newaxis]
    rows = gathered(PDDP(n_clusters=2, criterion="mean").fit(X), X)
    assert rows.table is None
    assert rows.columns is None


def test_table_is_added_to_rows_that_were_sampled_before():
    X = np.arange(12.0)[:, np.newaxis]
    rows = gathered(PDDP(n_clusters=2, criterion="mean").fit(X), X)
    found = rows.with_table({"age": rows.X[:, 0] + 20, "who": [f"p{i}" for i in rows.number]}, "who")
    assert found.table["who"].tolist() == [f"p{i}" for i in rows.number]
    assert found.identifier == "who"
    assert found.leaf_count is rows.leaf_count
    with pytest.raises(ValueError, match="one value for each row of the sample"):
        rows.with_table({"age": [1, 2]})
    with pytest.raises(ValueError, match="no column 'id'"):
        rows.with_table({"age": rows.X[:, 0]}, "id")


def test_equal_names_of_columns_get_numbers():
    assert list(numeric_table(np.zeros((2, 4)), ["a", "b", "a", "a"])) == ["a", "b", "a (2)", "a (3)"]


def test_identifiers_texts_and_constants_are_not_profiled(messy):
    pipe, frame = messy
    rows = gathered(pipe, frame)
    used, others = profiled(rows.table, rows.columns)
    roles = {line["name"]: line["role"] for line in rows.columns}
    assert {roles[name] for name in used} <= {"number", "category", "boolean", "date"}
    assert {roles[name] for name in others} <= {"copy", "empty", "ignore"}
    assert len(used) + len(others) == sum(roles[name] not in ("identifier", "text", "constant") for name in rows.table)


def test_a_level_that_drives_a_split_is_counted_in_the_cells_of_the_table(rng):
    """Rows with the level, also if the encoder has made other numbers of it."""
    cells = rng.choice(["coffee", "milk", "tea", "Tea"], 600).astype(object)
    cells[::50] = [f"rare {i}" for i in range(12)]
    cells[5] = None
    names = ["drink=Tea", "drink=coffee", "drink=milk", "drink=other", "age"]
    table = {"drink": cells, "age": rng.normal(size=600)}
    sources = Sources(names, rng.normal(size=(600, 5)), table)
    words = np.array([str(word).lower() for word in cells])
    levels = {"drink=Tea": words == "tea", "drink=coffee": words == "coffee", "drink=milk": words == "milk"}
    levels["drink=other"] = ~np.any(list(levels.values()), axis=0)
    for feature, name in enumerate(names[:4]):
        values, kind = sources.values(feature, slice(None))
        assert kind == "number"
        assert np.flatnonzero(np.isnan(values)).tolist() == [5]
        assert_array_equal(np.delete(values, 5), np.delete(levels[name], 5))
    assert_array_equal(sources.values(4, slice(10, 20))[0], table["age"][10:20])
