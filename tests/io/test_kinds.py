"""Files that are no tables, and texts that are not made of lines, are refused with what to do."""

import gzip
import io
import pickle
import sqlite3
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from ravine import PDDP, save
from ravine._io import DataError, TextFormat, UsageError, choose_columns, open_tables, read_blocks
from ravine._io._kinds import BY_SUFFIX, LONGEST_HEADER

CSV = b"a,b\n1,2\n3,4\n"


def read(path, **text):
    with open_tables([str(path)], TextFormat(**text)) as tables:
        return list(read_blocks(tables, choose_columns(tables, warn=print)))


def refusal(path, **text):
    with pytest.raises(DataError) as caught:
        read(path, **text)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def zipped(*members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in members:
            archive.writestr(name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "x")
    return buffer.getvalue()


def database(folder):
    with sqlite3.connect(folder / "made.db") as connection:
        connection.execute("create table t (a)")
    connection.close()
    return (folder / "made.db").read_bytes()


def model(folder):
    save(PDDP().fit(np.eye(3)), folder / "made.ravine")
    return (folder / "made.ravine").read_bytes()


STARTS = {
    "damaged xlsx": (
        lambda folder: zipped("[Content_Types].xml", "xl/workbook.xml"),
        "no workbook that can be read, or it is damaged",
        "save it as .xlsx or CSV",
    ),
    "ods": (lambda folder: zipped("mimetype", "content.xml"), "an OpenDocument spreadsheet", "or the sheet as CSV"),
    "zip": (lambda folder: zipped("data.csv"), "an archive", "unpack it"),
    "xls": (lambda folder: bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504), "an old Office file", "save it as .xlsx"),
    "pdf": (lambda folder: b"%PDF-1.7\n%\xe2\xe3\n", "a PDF document", "export its table"),
    "gzip": (lambda folder: gzip.compress(CSV, mtime=0), "compressed", "add the extension .gz to its name"),
    "html": (lambda folder: b"\n<!DOCTYPE html><html>", "an HTML or XML document", "convert it"),
    "hdf5": (lambda folder: b"\x89HDF\r\n\x1a\n" + bytes(99), "an HDF5 file", "convert it"),
    "pickle": (lambda folder: pickle.dumps([1, 2]), "a pickle, which ravine does not load", "convert it"),
    "png": (lambda folder: b"\x89PNG\r\n\x1a\n", "an image", "give a table"),
    "sqlite": (database, "a database", "export its table"),
    "model": (model, "a saved model", "give a table"),
}


@pytest.mark.parametrize("name", ["data.csv", "data", "data.jsonl", "data.parquet"])
@pytest.mark.parametrize("what", STARTS)
def test_other_files_are_known_by_their_first_bytes(what, name, tmp_path):
    make, said, remedy = STARTS[what]
    (tmp_path / name).write_bytes(make(tmp_path))
    message = refusal(tmp_path / name)
    assert f"this is {said}" in message
    assert remedy in message


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_other_files_are_known_by_their_endings(suffix, tmp_path):
    path = tmp_path / f"data{suffix.upper()}"
    path.write_bytes(CSV)
    what, remedy = BY_SUFFIX[suffix]
    assert refusal(path) == f"{path}: this is {what}, not a table that ravine can read: {remedy}"


@pytest.mark.parametrize("content", [b"PK,b\n1,2\n", b"BZhang,Rar\n1,2\n", b"ORC,GIF8\n1,2\n", b"<5,b\n1,2\n"])
def test_words_that_begin_like_other_files_are_read(content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    assert len(read(tmp_path / "t.csv")[0].X) == 1


@pytest.mark.parametrize(("name", "content"), [("t.csv", CSV), ("t.jsonl", b'{"a":1}\n{"a":2}\n')])
def test_lines_that_end_with_cr_alone_are_refused(name, content, tmp_path):
    (tmp_path / name).write_bytes(content.replace(b"\n", b"\r"))
    assert "the lines end with CR only, as on old Macs: convert them to LF, e.g. with tr" in refusal(tmp_path / name)


def test_cr_in_quotes_and_in_wide_letters_is_read(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'"a\rb",c\r\n1,2\r\n')
    assert read(tmp_path / "t.csv")[0].X.tolist() == [[1, 2]]
    (tmp_path / "w.csv").write_bytes("a,b\r\n1,2\r\n".encode("utf-16"))
    assert read(tmp_path / "w.csv", encoding="utf-16")[0].X.tolist() == [[1, 2]]


def test_an_open_quote_in_the_header_is_named(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,"b\n1,2\n3,4\n')
    assert "the first line has a quote that is not closed: close or remove it" in refusal(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "content", [b"a" * 3_000_000 + b",b\n1,2\n", b",".join([b"c"] * 1_500_000) + b"\n1\n", b"1," * 10**6]
)
def test_a_header_of_megabytes_is_refused(content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    assert "the first line has more than 1,048,576 characters: check that the file is a table" in refusal(
        tmp_path / "t.csv"
    )


@pytest.mark.parametrize("header", [True, None])
def test_a_long_first_line_is_read_whole(header, tmp_path):
    n = 6000  # beyond what is read at once
    names = [f"column_{j:05d}" if header else str(j) for j in range(n)]
    rows = "\n".join(",".join(f"{j}.25" for j in range(n)) for _ in range(3))
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + rows + "\n")
    (block,) = read(tmp_path / "t.csv", header=header)
    assert block.X.shape == (3 if header else 4, n)
    assert len(",".join(names)) < LONGEST_HEADER


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "zip"])
def test_codecs_that_store_no_text_are_bad_usage(encoding):
    with pytest.raises(
        UsageError, match=f"--encoding {encoding} is not a text encoding; use for instance utf-8, utf-16"
    ):
        TextFormat(encoding=encoding)


@pytest.mark.parametrize("encoding", ["", "klingon", "a\0b", "undefined"])
def test_encodings_that_are_none_are_bad_usage(encoding):
    with pytest.raises(UsageError, match="use for instance utf-8, utf-16, latin-1 or cp1252"):
        TextFormat(encoding=encoding)


LARGE = 2**60 + 1


def table_with(folder, kind, numbers):
    table, path = pa.table({"a": [0.5] * len(numbers), "id": numbers}), folder / f"t.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "csv":
        path.write_text("a,id\n" + "".join(f"0.5,{number}\n" for number in numbers))
    else:
        path.write_text("".join(f'{{"a":0.5,"id":{number}}}\n' for number in numbers))
    return path


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_whole_numbers_that_would_be_rounded_are_refused(kind, sign, tmp_path):
    message = refusal(table_with(tmp_path, kind, [1, sign * LARGE, 3]))
    assert "column 'id' has whole numbers beyond 2^53, like " in message
    assert "which would be rounded: if they are identifiers, leave them out with --drop id" in message


def test_large_numbers_in_arrays_are_refused(tmp_path):
    for dtype in (np.int64, np.uint64):
        np.save(tmp_path / "t.npy", np.array([[1, LARGE]], dtype=dtype))
        assert "column 'x1' has whole numbers beyond 2^53, like 1152921504606846977" in refusal(tmp_path / "t.npy")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_whole_numbers_that_are_kept_are_read(kind, tmp_path):
    numbers = [2**53, -(2**53), 7]
    (block,) = read(table_with(tmp_path, kind, numbers))
    assert [int(number) for number in block.X[:, 1]] == numbers


def test_large_numbers_that_are_exact_or_left_out_are_read(tmp_path):
    (block,) = read(table_with(tmp_path, "parquet", [2**60, 5]))
    assert [int(number) for number in block.X[:, 1]] == [2**60, 5]
    with open_tables([str(table_with(tmp_path, "parquet", [LARGE]))]) as tables:
        (block,) = read_blocks(tables, choose_columns(tables, drop=["id"], warn=print))
    assert block.X.tolist() == [[0.5]]
    (tmp_path / "t.csv").write_text("a\n1e18\n1152921504606846977\n")
    assert len(read(tmp_path / "t.csv")[0].X) == 2


def test_a_table_of_many_columns_takes_no_time(tmp_path):
    """The names of a schema are a new list each time, which a loop over names must not ask for."""
    n = 2000
    pa.parquet.write_table(pa.table({f"c{j}": [float(j)] for j in range(n)}), tmp_path / "t.parquet")

    class Names(list):
        n_made = 0

    with open_tables([str(tmp_path / "t.parquet")]) as tables:
        schema = tables[0].schema

        class Counting:
            def __iter__(self):
                return iter(schema)

            @property
            def names(self):
                Names.n_made += 1
                return schema.names

        tables[0].__dict__["schema"] = Counting()
        (block,) = read_blocks(tables, choose_columns(tables, warn=print))
    assert block.X[0].tolist() == list(range(n))
    assert Names.n_made < 20
