import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ravine._io import (
    Columns,
    DataError,
    LabelWriter,
    UsageError,
    choose_columns,
    measure_columns,
    open_tables,
    read_blocks,
)


@pytest.fixture
def blocks(tmp_path):
    """Reads the blocks of a table in memory by way of a file; `warned` collects what was said."""

    def read(table, label=None, **choice):
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        warned = []
        with open_tables([str(tmp_path / "t.parquet")]) as tables:
            columns = choose_columns(tables, label=label, warn=warned.append, **choice)
            columns = measure_columns(tables, columns, lambda n_rows: None)
            return columns, list(read_blocks(tables, columns, label)), warned

    return read


def test_numbers_and_truth_values_are_used_and_the_rest_is_named(blocks):
    table = pa.table({"n": [1, 2], "day": pa.array([0, 1], pa.date32()), "w": ["a", "b"], "t": [True, False]})
    columns, (block,), warned = blocks(table)
    assert columns.names == ["n", "t"]
    assert_array_equal(block.X, [[1, 1], [2, 0]])
    assert warned == [
        "columns left out because they are not numbers: day, w; "
        "use --encode to encode words as columns of zeros and ones"
    ]


def test_words_become_columns_of_zeros_and_ones(blocks):
    words = pa.array(["red", "blue", "red"]).dictionary_encode()
    columns, (block,), warned = blocks(pa.table({"n": [1, 2, 3], "w": words, "m": [4, 5, 6]}), encode=True)
    assert columns.names == ["n", "w=blue", "w=red", "m"]
    assert_array_equal(block.X, [[1, 0, 1, 4], [2, 1, 0, 5], [3, 0, 1, 6]])
    assert warned == []


def test_a_column_of_too_many_words_is_refused(blocks):
    table = pa.table({"id": [str(i) for i in range(200)], "n": np.arange(200)})
    with pytest.raises(
        DataError, match="column 'id' has more than 100 different words: leave out the column with --drop id"
    ):
        blocks(table, encode=True)


@given(
    single=st.lists(st.sampled_from([pa.float32(), pa.int8(), pa.uint16(), pa.bool_()]), min_size=1),
    double=st.booleans(),
)
def test_small_types_make_a_float32_matrix(single, double):
    class Single:
        name = "t"
        schema = pa.schema([(str(i), kind) for i, kind in enumerate([*single, *[pa.int64()] * double])])

    assert choose_columns([Single()], warn=print).dtype == (np.float64 if double else np.float32)


LACKING = pa.table({"a": [1.0, None, 3.0, 4.0], "b": [1.0, 2.0, float("inf"), 4.0], "y": ["p", "q", "r", "s"]})


def test_lacking_values_are_counted_and_the_first_is_named(blocks):
    with pytest.raises(DataError) as caught:
        blocks(LACKING, drop=["y"])
    assert str(caught.value).startswith("2 rows have missing or infinite values, first in row 1 (counted from 0) of ")
    assert "a missing or unknown value in column 'a': use --missing drop" in str(caught.value)


def test_rows_that_lack_a_value_are_dropped(blocks):
    _, (block,), _ = blocks(LACKING, label="y", missing="drop")
    assert_array_equal(block.X, [[1, 1], [4, 4]])
    assert_array_equal(block.kept, [True, False, False, True])
    assert block.label == ["p", "s"]


def test_means_stand_for_lacking_values(blocks):
    columns, (block,), _ = blocks(LACKING, label="y", missing="mean")
    assert_array_equal(block.X, [[1, 1], [8 / 3, 2], [3, 7 / 3], [4, 4]])
    assert block.kept.all()
    again = Columns.from_dict(json.loads(json.dumps(columns.to_dict())))
    assert again == columns


def test_a_word_that_the_model_does_not_know_is_a_lacking_value(blocks, tmp_path):
    columns, _, _ = blocks(pa.table({"w": ["x", "y"]}), encode=True)
    pa.parquet.write_table(pa.table({"w": ["y", "z", None]}), tmp_path / "new.parquet")
    with open_tables([str(tmp_path / "new.parquet")]) as tables, pytest.raises(DataError, match="2 rows have missing"):
        list(read_blocks(tables, columns))


def test_whole_numbers_are_classes_without_a_fraction(blocks):
    _, (block,), _ = blocks(pa.table({"n": [1, 2, 3], "y": [1.0, 2.0, None]}), label="y")
    assert list(map(repr, block.label)) == ["1", "2", "None"]


def test_nothing_left_to_read_is_an_error(blocks):
    with pytest.raises(DataError, match="there are no rows"):
        blocks(pa.table({"a": pa.array([], pa.float64())}))
    with pytest.raises(DataError, match="every row has a missing value"):
        blocks(pa.table({"a": [None, float("nan")]}), missing="drop")
    with pytest.raises(DataError, match="none of the columns w contains numbers"):
        blocks(pa.table({"w": ["x"]}))


def test_columns_that_are_not_there_are_bad_usage(blocks):
    table = pa.table({"a": [1], "b": [2]})
    for choice in ({"only": ["c"]}, {"drop": ["c"]}, {"label": "c"}):
        with pytest.raises(UsageError, match="there is no column 'c'; choose from a, b"):
            blocks(table, **choice)


def test_columns_are_chosen_and_dropped(blocks):
    table = pa.table({"a": [1], "b": [2], "c": [3]})
    assert blocks(table, only=["c", "a"])[0].names == ["a", "c"]
    assert blocks(table, drop=["b"])[0].names == ["a", "c"]


def test_all_columns_that_other_files_lack_are_named_in_one_message(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c,d\n1,2,3,4\n")
    (tmp_path / "2.csv").write_text("b,d\n1,2\n")
    (tmp_path / "3.csv").write_text("d,c,b,a\n1,2,x,4\n")
    message = r"as .*1\.csv: .*2\.csv: there are no columns 'a', 'c'; .*3\.csv: there are words in 'b'; leave"
    with open_tables([str(tmp_path)]) as tables, pytest.raises(DataError, match=message):
        choose_columns(tables, warn=print)


def test_all_columns_that_are_not_numbers_are_named_in_one_message():
    columns = Columns(("a", "b", "c"), {})
    batch = pa.RecordBatch.from_pydict({"a": ["x"], "b": [1.0], "c": [[1]]})
    with pytest.raises(DataError, match=r"columns 'a' \(string\), 'c' \(list<item: int64>\) with values that are not"):
        columns.matrix(batch)


@pytest.mark.parametrize("damage", [{"missing": "guess"}, {"fill": [1.0]}, {"used": 3}, {"categories": []}])
def test_damaged_notes_are_refused(damage):
    record = {**Columns(("a", "b"), {}).to_dict(), **damage}
    with pytest.raises(ValueError, match="the description of the columns is damaged"):
        Columns.from_dict(record)
    with pytest.raises(ValueError, match="the description of the columns is damaged"):
        Columns.from_dict(None)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_labels_are_written_with_gaps_where_rows_were_left_out(tmp_path, kind):
    path = tmp_path / f"labels{kind}"
    with LabelWriter(path, kind) as writer:
        writer.add(np.array([4, 5]), np.array([True, False, True]))
        writer.add(np.array([6]), np.array([True]))
    table = pa.parquet.read_table(path) if kind == ".parquet" else pa.csv.read_csv(path)
    assert table.to_pydict() == {"row": [0, 1, 2, 3], "cluster": [4, None, 5, 6]}
