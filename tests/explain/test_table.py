import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ravine.explain._table import column_of, columns_of, labels_of

DAYS = [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 3)]
TABLE = {
    "number": [1.5, None, 3.0],
    "whole": [1, 2, 3],
    "flag": [True, None, False],
    "text": ["b", None, "ä"],
    "day": DAYS,
}


def as_frames():
    yield TABLE
    yield {name: np.array(values, dtype=object) for name, values in TABLE.items()}
    yield pd.DataFrame(TABLE)
    yield pd.DataFrame(TABLE).convert_dtypes()
    yield pl.DataFrame(TABLE)
    yield pa.table(TABLE)


@pytest.mark.parametrize(
    "table", list(as_frames()), ids=["dict", "objects", "pandas", "extension", "polars", "pyarrow"]
)
def test_every_kind_of_table_gives_the_same_columns(table):
    number, whole, flag, text, day = columns_of(table)
    assert [c.kind for c in (number, whole, flag, text, day)] == ["number", "number", "boolean", "category", "date"]
    np.testing.assert_array_equal(number.values, [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(whole.values, [1, 2, 3])
    assert flag.levels == ("no", "yes")
    assert flag.codes.tolist() == [1, -1, 0]
    assert text.levels == ("b", "ä")
    assert text.codes.tolist() == [0, -1, 1]
    seconds = day.values / 1e6
    assert seconds[2] - seconds[0] == 2 * 86_400
    assert day.is_gap.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["u", None, "v"])),
        pl.Series(["u", None, "v"], dtype=pl.Categorical),
        pl.Series(["u", None, "v"], dtype=pl.Enum(["v", "u"])),
        pa.chunked_array([pa.array(["u", None, "v"]).dictionary_encode()]),
        np.ma.array(["u", "?", "v"], mask=[False, True, False]),
        ["u", float("nan"), "v"],
        ["u", pd.NA, "v"],
    ],
    ids=["pandas", "polars", "enum", "pyarrow", "masked", "nan", "NA"],
)
def test_categories_keep_their_gaps(column):
    found = column_of("c", column)
    assert (found.kind, found.levels, found.codes.tolist()) == ("category", ("u", "v"), [0, -1, 1])


def test_a_time_zone_is_read_as_utc():
    here = pd.Series(pd.to_datetime(["2024-01-01", None])).dt.tz_localize("Europe/Berlin")
    noon = np.datetime64("2023-12-31T23:00", "us").astype(np.int64)
    assert column_of("t", here).values[0] == noon
    assert column_of("t", here.astype(object).tolist()).values[0] == noon


def test_categories_of_numbers_stay_categories():
    assert column_of("c", pd.Series(pd.Categorical([3, 1, 3]))).levels == ("1", "3")


def test_mixed_values_are_texts():
    assert column_of("c", [1, "a", None, True]).levels == ("1", "True", "a")


def test_a_column_without_values_has_numbers():
    assert column_of("c", [None, None]).is_gap.all()
    assert column_of("c", []).kind == "number"


def test_a_matrix_has_names():
    assert [c.name for c in columns_of(np.eye(2))] == ["x0", "x1"]
    assert [c.name for c in columns_of(np.eye(2), ["a", "b"])] == ["a", "b"]


@pytest.mark.parametrize(
    ("table", "names", "error", "message"),
    [
        ({"a": [1], "b": [1, 2]}, None, ValueError, "'b' has 2 values, but 'a' has 1"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, ValueError, "two columns named 'a'"),
        (np.eye(2), ["a"], ValueError, "feature_names has 1 entries"),
        ({"a": [1]}, ["a"], TypeError, "names of its own"),
        ([1, 2], None, TypeError, "1 dimensions"),
        ({"a": np.eye(2)}, None, ValueError, "'a' has 2 dimensions"),
        ({"a": np.array([1], dtype="timedelta64[s]")}, None, TypeError, "durations"),
        ({"a": np.array([1j])}, None, TypeError, "complex"),
    ],
)
def test_what_cannot_be_read_is_named(table, names, error, message):
    with pytest.raises(error, match=message):
        columns_of(table, names)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([0], "one label for each"), ([0, -2], "-1 marks"), ([0.5, 1], "integers"), (["a", "b"], "integers")],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        labels_of(labels, 2)


def test_labels_may_be_whole_floats_or_a_series():
    assert labels_of([0.0, 1.0], 2).tolist() == [0, 1]
    assert labels_of(pd.Series([0, -1]), 2).tolist() == [0, -1]
