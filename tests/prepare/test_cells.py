import datetime

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from ravine.prepare._cells import days_in, numbers_in, source_of, words_in


def column(cells, kind=None):
    return pa.chunked_array([pa.array(cells, kind)])


def test_words_are_put_in_order():
    words = words_in(column(["  DE", "DE", "D  E", None, "n/a"]))
    assert words.distinct.to_pylist() == ["DE", "D E"]
    assert words.codes.tolist() == [0, 0, 1, -1, -1]
    assert words.objects().tolist() == ["DE", "DE", "D E", None, None]


def test_case_is_folded_to_the_most_frequent_spelling():
    folded = words_in(column(["de", "DE", "DE", "fr", "De"])).folded()
    assert folded.distinct.to_pylist() == ["DE", "fr"]
    assert folded.counts.tolist() == [4, 1]


def test_whole_numbers_have_no_decimal_point():
    assert words_in(column([1.0, 2.0, None])).objects().tolist() == ["1", "2", None]
    assert words_in(column([1.5, 2.0])).objects().tolist() == ["1.5", "2"]
    assert words_in(column([True, False])).objects().tolist() == ["true", "false"]


def test_infinite_cells_are_gaps():
    assert_array_equal(numbers_in(column([1.0, np.inf, -np.inf, np.nan, None])), [1, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    ("cells", "kind", "source"),
    [
        ([1], pa.int8(), "number"),
        ([1], pa.decimal128(5, 2), "number"),
        (["a"], pa.string_view(), "text"),
        (["a"], pa.large_string(), "text"),
        ([None], pa.null(), "text"),
        (["a"], pa.dictionary(pa.int8(), pa.string()), "text"),
        ([datetime.date(2024, 1, 1)], pa.date32(), "date"),
        ([datetime.timedelta(seconds=90)], pa.duration("ms"), "number"),
        ([datetime.time(0, 1, 30)], pa.time32("s"), "number"),
        ([[1]], pa.list_(pa.int8()), "other"),
        ([b"a"], pa.binary(), "other"),
    ],
)
def test_source_follows_the_type(cells, kind, source):
    values = column(cells, kind)
    assert source_of(values.type) == source
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        assert numbers_in(values).tolist() == [90.0]


def test_dates_and_times_are_days():
    assert days_in(column([datetime.date(1970, 1, 3), None])).tolist()[0] == 2
    assert days_in(column([datetime.datetime(1970, 1, 2, 12)], pa.timestamp("us", "UTC"))).tolist() == [1.5]
