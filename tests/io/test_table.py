import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from ravine._io import DataError, TextFormat, UsageError, find_files, open_tables

TABLE = pa.table({"a": [1.0, 2.5, 3.0], "word": ["x", "y", "x"], "yes": [True, False, True]})
CSV = b"a,word,yes\n1,x,true\n2.5,y,false\n3,x,true\n"
JSON = b'{"a":1,"word":"x","yes":true}\n{"a":2.5,"word":"y","yes":false}\n{"a":3,"word":"x","yes":true}\n'


def read(path, columns=("a", "word", "yes"), **text):
    with open_tables([str(path)], TextFormat(**text)) as tables:
        return pa.Table.from_batches([batch for table in tables for batch in table.batches(columns)])


def written(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV),
        ("t.csv", b"\xef\xbb\xbf" + CSV),
        ("t.csv", CSV.replace(b"\n", b"\r\n")),
        ("t.csv", CSV.replace(b",", b";")),
        ("t.txt", CSV.replace(b",", b"|")),
        ("t.tsv", CSV.replace(b",", b"\t")),
        ("t.csv.gz", gzip.compress(CSV, mtime=0)),
        ("t.jsonl", JSON),
        ("t.json", JSON),
        ("t.ndjson.gz", gzip.compress(JSON, mtime=0)),
        ("without_suffix", CSV),
        ("without_suffix", JSON),
    ],
)
def test_text_in_many_forms_is_the_same_table(tmp_path, name, content):
    assert read(written(tmp_path, name, content)).equals(TABLE)


def test_binary_formats_are_the_same_table(tmp_path):
    pa.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pa.feather.write_feather(TABLE, tmp_path / "t.feather")
    with pa.ipc.new_stream(tmp_path / "t.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    for name in ("t.parquet", "t.feather", "t.arrow"):
        assert read(tmp_path / name).equals(TABLE)
        (tmp_path / name).rename(tmp_path / "known_by_its_first_bytes")
        assert read(tmp_path / "known_by_its_first_bytes").equals(TABLE)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_arrays_have_numbered_columns(tmp_path, dtype):
    array = np.arange(12).reshape(4, 3).astype(dtype)
    for i, stored in enumerate((array, np.asfortranarray(array))):
        np.save(tmp_path / f"{i}.npy", stored)
        table = read(tmp_path / f"{i}.npy", ["x2", "x0"])
        np.testing.assert_array_equal(np.column_stack([table["x2"], table["x0"]]), array[:, [2, 0]])
    np.save(tmp_path / "line.npy", array[:, 0])
    assert read(tmp_path / "line.npy", ["x0"]).num_rows == 4


def test_first_line_of_numbers_is_no_header(tmp_path):
    path = written(tmp_path, "t.csv", b"1,2\n3,?\n")
    assert read(path, ["x0", "x1"]).to_pydict() == {"x0": [1.0, 3.0], "x1": [2.0, None]}
    assert read(path, ["1"], header=True).to_pydict() == {"1": [3.0]}
    assert read(written(tmp_path, "u.csv", b"a,b\n1,2\n"), ["x0"], header=False).to_pydict() == {"x0": ["a", "1"]}


def test_a_fraction_after_many_whole_numbers_is_read(tmp_path):
    path = written(tmp_path, "t.csv", b"a,b\n" + b"1,\n" * 600_000 + b"1.5,2.5\n")
    table = read(path, ["a", "b"])
    assert table.num_rows == 600_001
    assert table["a"][-1].as_py() == 1.5
    assert table["b"][-1].as_py() == 2.5
    json = written(tmp_path, "t.jsonl", b'{"a":1}\n' * 300_000 + b'{"a":1.5,"new":3}\n')
    assert read(json, ["a"])["a"][-1].as_py() == 1.5


def test_decimal_commas_and_encodings_are_read_when_told(tmp_path):
    path = written(tmp_path, "t.csv", "größe;b\n1,5;ü\n".encode("latin-1"))
    assert read(path, ["größe", "b"], decimal=",", encoding="latin-1").to_pydict() == {"größe": [1.5], "b": ["ü"]}


def test_long_files_come_in_batches(tmp_path):
    pa.parquet.write_table(pa.table({"a": np.arange(200_000.0)}), tmp_path / "t.parquet", row_group_size=200_000)
    with open_tables([str(tmp_path / "t.parquet")]) as (table,):
        assert table.n_rows == 200_000
        sizes = [batch.num_rows for batch in table.batches(["a"])]
    assert sum(sizes) == 200_000
    assert max(sizes) <= 1 << 16


def test_bytes_read_are_told(tmp_path):
    path = written(tmp_path, "t.csv", CSV * 1)
    told = []
    with open_tables([str(path)]) as (table,):
        list(table.batches(["a"], told.append))
    assert sum(told) == len(CSV)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b" \n\n", "the file is empty"),
        ("t.csv", b"a,b\n1,2\n3\n", "line 3: Expected 2 columns, got 1: 3: correct that line"),
        ("t.csv", b"a,a\n1,2\n", "the column name 'a' occurs twice"),
        ("t.csv", b"a,b\n1,\xfc\n", "not utf-8: give its encoding with --encoding"),
        ("t.csv", b"a\n" + b"1\n" * 600_000 + b"x\n", "column 'a', line 600002: CSV conversion error"),
        ("t.csv.gz", CSV, "t.csv.gz: "),
        ("t.jsonl", b"", "the file is empty"),
        ("t.jsonl", b'[{"a":1}]', "each line must be one JSON object"),
        ("t.jsonl", b'{"a":1}\n{"a":', "each line must be one JSON object"),
        ("t.jsonl", b'{"a":1}\n{"a":"x"}\n', "changed from number to string in row 1"),
        ("t.parquet", b"PAR1 and no more", "t.parquet: "),
        ("t.arrow", b"ARROW1 and no more", "t.arrow: "),
        ("t.npy", b"\x93NUMPY", "t.npy: "),
    ],
)
def test_damaged_files_are_named_with_what_to_do(tmp_path, name, content, complaint):
    with pytest.raises(DataError) as caught:
        read(written(tmp_path, name, content), ["a"])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_arrays_that_are_no_tables_are_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="3 dimensions: save a two-dimensional array of numbers"):
        read(tmp_path / "t.npy", ["x0"])
    np.save(tmp_path / "o.npy", np.array([{}, {}]), allow_pickle=True)
    with pytest.raises(DataError, match=r"o\.npy"):
        read(tmp_path / "o.npy", ["x0"])


def test_folders_and_patterns_give_files_in_order(tmp_path):
    for name in ("b.csv", "a.csv", "_skipped.csv", ".hidden.csv", "notes.md", "sub/c.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CSV)
    assert [file.name for file in find_files(str(tmp_path))] == ["a.csv", "b.csv", "c.parquet"]
    assert [file.name for file in find_files(str(tmp_path / "[ab].csv"))] == ["a.csv", "b.csv"]
    with pytest.raises(UsageError, match="there is no such file"):
        find_files(str(tmp_path / "*.tsv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no data files"):
        find_files(str(tmp_path / "empty"))


def test_unknown_encoding_is_bad_usage(tmp_path):
    with pytest.raises(UsageError, match="no encoding 'klingon'"):
        read(written(tmp_path, "t.csv", CSV), encoding="klingon")
