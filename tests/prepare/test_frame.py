import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from tests.prepare.tables import customers

from ravine.prepare import TableEncoder
from ravine.prepare._frame import columns_of, sampled

TABLE, _ = customers(200)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(TABLE),
        pa.table(TABLE).to_batches()[0],
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).set_index(np.arange(200) * 2),
        pl.DataFrame(TABLE),
        pd.DataFrame(TABLE).assign(country=pd.Categorical(TABLE["country"])),
    ],
    ids=["arrow", "batch", "pandas", "index", "polars", "categorical"],
)
def test_frames_of_all_libraries_give_the_same_rows(frame):
    encoder = TableEncoder().fit(TABLE)
    assert_array_equal(encoder.transform(frame), encoder.transform(TABLE))
    assert TableEncoder().fit(frame).summary() == encoder.summary()


def test_columns_of_mixed_types_become_text():
    columns, _ = columns_of(pd.DataFrame({"a": [1, "n/a", 2.5, None, float("nan")]}))
    assert columns["a"].to_pylist() == ["1", "n/a", "2.5", None, None]


def test_array_has_columns_without_names():
    columns, has_names = columns_of(np.eye(3))
    assert list(columns) == ["x0", "x1", "x2"]
    assert not has_names


def test_names_given_twice_are_an_error():
    with pytest.raises(ValueError, match="more than one column of the name 'a'"):
        columns_of(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_columns_of_different_length_are_an_error():
    with pytest.raises(ValueError, match="same number of rows"):
        columns_of({"a": [1, 2], "b": [1]})


def test_sample_is_the_same_every_time():
    columns, _ = columns_of({"a": np.arange(1000)})
    first, second = (sampled(columns, 50)["a"].to_pylist() for _ in range(2))
    assert first == second
    assert len(first) == 50
    assert first == sorted(first)
