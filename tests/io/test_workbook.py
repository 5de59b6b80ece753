"""The table on a sheet of a workbook, wherever it is, and workbooks that cannot be read."""

import datetime as dt
import sys
import zipfile

import openpyxl
import pyarrow as pa
import pytest

from ravine._io import DataError, UsageError, find_files, open_tables
from ravine._io._workbook import _letters, _number_of_column, as_column

HEADER = ["id", "name", "spend"]
ROWS = [[1, "Ann", 2.5], [2, "Bob", None], [3, None, 7]]
TABLE = pa.table({"id": [1, 2, 3], "name": ["Ann", "Bob", None], "spend": [2.5, None, 7.0]})


def book(path, *sheets, merge=(), state=None):
    """Write a workbook: each sheet is a name and its rows; `merge` are ranges of the last one."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets:
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name == state else "visible"
    for cells in merge:
        made.worksheets[-1].merge_cells(cells)
    made.save(path)
    return path


def read(path, **options):
    with open_tables([str(path)], **options) as (table,):
        return pa.Table.from_batches(list(table.batches(table.schema.names)))


LEADING = {
    "nothing": ([], ()),
    "empty rows": ([[], []], ()),
    "a title": ([["Sales of the month"], []], ()),
    "a merged title": ([["Sales of the month"], []], ("A1:C1",)),
    "a title with a date": ([["Report of", dt.date(2024, 5, 1)], []], ()),
    "groups of columns": ([[None, "who", "what"]], ("B1:C1",)),
}


@pytest.mark.parametrize("leading", LEADING)
def test_a_table_begins_below_titles_and_empty_rows(leading, tmp_path):
    above, merge = LEADING[leading]
    path = book(tmp_path / "b.xlsx", ("S", [*above, HEADER, *ROWS]), merge=merge)
    assert read(path).equals(TABLE)


def test_a_table_in_the_middle_of_a_sheet_is_found_and_empty_rows_and_columns_are_left_out(tmp_path):
    rows = [[], *[[None, None, *row[:2], None, *row[2:]] for row in (HEADER, ROWS[0], [], *ROWS[1:])]]
    assert read(book(tmp_path / "b.xlsx", ("S", rows))).equals(TABLE)


def test_merged_rows_of_a_column_have_the_value_of_the_first(tmp_path):
    rows = [["group", "n"], ["a", 1.5], [None, 2], [None, 3], ["b", 4]]
    found = read(book(tmp_path / "b.xlsx", ("S", rows), merge=("A2:A4",)))
    assert found["group"].to_pylist() == ["a", "a", "a", "b"]


def test_a_column_without_a_name_is_named_by_its_letter(tmp_path):
    rows = [[None, "a", "b"], [0, 1.5, 2], [1, 2, 3]]
    assert read(book(tmp_path / "b.xlsx", ("S", rows))).column_names == ["column A", "a", "b"]


def test_numbers_alone_have_no_header_and_years_are_names(tmp_path):
    assert read(book(tmp_path / "a.xlsx", ("S", [[1, 2], [3, 4.5]]))).to_pydict() == {"x0": [1, 3], "x1": [2.0, 4.5]}
    rows = [["country", 2019, 2020], ["A", 1.5, 2], ["B", 3, 4]]
    assert read(book(tmp_path / "b.xlsx", ("S", rows))).column_names == ["country", "2019", "2020"]


CELLS = {
    "whole numbers": ([1.0, None, 3.0], pa.array([1, None, 3])),
    "fractions": ([1.0, 2.5], pa.array([1.0, 2.5])),
    "large numbers": ([1e300, 2.0], pa.array([1e300, 2.0])),
    "Booleans": ([True, None], pa.array([True, None])),
    "days": ([dt.date(2024, 1, 2), None], pa.array([dt.date(2024, 1, 2), None])),
    "days and times": (
        [dt.date(2024, 1, 2), dt.datetime(2024, 1, 3, 4, 5)],
        pa.array([dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 3, 4, 5)], pa.timestamp("us")),
    ),
    "times of the day": (
        [dt.time(1, 30), dt.timedelta(hours=30)],
        pa.array([dt.timedelta(minutes=90), dt.timedelta(hours=30)], pa.duration("us")),
    ),
    "numbers and words": (["00123", 7.0, 1.5, True, None], pa.array(["00123", "7", "1.5", "true", None])),
    "numbers and days": ([3.0, dt.date(2024, 1, 2)], pa.array(["3", "2024-01-02"])),
    "gaps": ([None, None], pa.array([None, None], pa.string())),
}


@pytest.mark.parametrize("kind", CELLS)
def test_cells_have_the_type_of_their_column(kind):
    cells, expected = CELLS[kind]
    found = as_column(cells)
    assert (found.type, found) == (expected.type, expected)


def test_cells_with_an_error_are_gaps(tmp_path):
    found = read(book(tmp_path / "b.xlsx", ("S", [["a", "b"], [1.5, "#N/A"], ["#DIV/0!", 3], [2, "n/a"]])))
    assert found.to_pydict() == {"a": [1.5, None, 2.0], "b": [None, 3, None]}


def test_the_first_sheet_with_a_table_is_read_and_named(tmp_path):
    notes = ("Notes", [["These are the sales."], ["Ask Ann."]])
    hidden = ("Hidden", [["x", "y"], [1, 2]])
    path = book(tmp_path / "b.xlsx", ("Empty", []), hidden, notes, ("Data", [HEADER, *ROWS]), state="Hidden")
    said = []
    with open_tables([str(path)], note=said.append) as (table,):
        assert table.schema.names == HEADER
        assert table.n_rows == 3
        assert table.name == f"{path}, sheet 'Data'"
    assert said == [f"{path}: read the sheet 'Data'; use --sheet for another one ('Empty', 'Hidden', 'Notes')"]
    assert read(path, sheet="Hidden").to_pydict() == {"x": [1], "y": [2]}


def test_a_single_sheet_is_read_without_a_word(tmp_path):
    path = book(tmp_path / "b.xlsx", ("S", [["only"], ["a"], ["b"]]))
    said = []
    assert read(path, note=said.append).to_pydict() == {"only": ["a", "b"]}
    assert said == []


def test_sheets_that_are_not_there_are_named(tmp_path):
    path = book(tmp_path / "b.xlsx", ("One", [HEADER, *ROWS]), ("Two", []))
    with pytest.raises(UsageError, match=r"b\.xlsx: there is no sheet 'Three'; choose from One, Two"):
        read(path, sheet="Three")
    with pytest.raises(DataError, match="the sheet is empty"):
        read(path, sheet="Two")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=r"--sheet One: .*t\.csv is not a workbook"):
        read(tmp_path / "t.csv", sheet="One")


def test_a_workbook_is_known_by_its_first_bytes(tmp_path):
    path = book(tmp_path / "b.xlsx", ("S", [HEADER, *ROWS]))
    assert read(path.rename(tmp_path / "no_extension")).equals(TABLE)


def test_lock_files_of_open_workbooks_are_not_data(tmp_path):
    path = book(tmp_path / "b.xlsx", ("S", [HEADER, *ROWS]))
    (tmp_path / "~$b.xlsx").write_bytes(b"owner")
    assert find_files(str(tmp_path)) == [path]


def test_names_that_occur_twice_are_refused(tmp_path):
    with pytest.raises(DataError, match="the column name 'a' occurs twice"):
        read(book(tmp_path / "b.xlsx", ("S", [["a", "a"], [1, 2]])))


def damaged(path, kind):
    whole = book(path, ("S", [HEADER, *ROWS])).read_bytes()
    if kind == "a sheet that is cut off":
        with zipfile.ZipFile(path) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        with zipfile.ZipFile(path, "w") as new:
            for name, part in parts.items():
                new.writestr(name, part[: len(part) // 2] if "sheet1" in name else part)
        return
    path.write_bytes(
        {
            "text": b"a,b\n1,2\n",
            "half of it": whole[: len(whole) // 2],
            "nothing": b"",
            "another archive": b"PK\x05\x06" + bytes(18),
            "an older workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000),
            "a locked workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
            + bytes(1000)
            + "EncryptedPackage".encode("utf-16-le"),
        }[kind]
    )


@pytest.mark.parametrize(
    "kind", ["text", "half of it", "nothing", "another archive", "an older workbook", "a sheet that is cut off"]
)
def test_damaged_workbooks_are_refused_with_a_remedy(kind, tmp_path):
    damaged(tmp_path / "b.xlsx", kind)
    with pytest.raises(
        DataError, match=r"b\.xlsx: this is no workbook that can be read, or it is damaged .*save it as"
    ):
        read(tmp_path / "b.xlsx")


def test_a_locked_workbook_is_told_from_a_damaged_one(tmp_path):
    damaged(tmp_path / "b.xlsx", "a locked workbook")
    with pytest.raises(DataError, match=r"b\.xlsx: the workbook is protected by a password: save it without"):
        read(tmp_path / "b.xlsx")


def test_a_cell_far_away_is_refused_before_memory_is_used(tmp_path):
    made = openpyxl.Workbook()
    made.active["A1"], made.active["A2"], made.active["XFD1048576"] = "a", 1, 2
    made.save(tmp_path / "b.xlsx")
    with pytest.raises(DataError, match=r"reaches to row 1,048,576 and column 16,384, which is too large"):
        read(tmp_path / "b.xlsx")


def test_without_the_reader_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = book(tmp_path / "b.xlsx", ("S", [HEADER, *ROWS]))
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(UsageError, match=r"needs python-calamine: pip install 'ravine\[excel\]'"):
        read(path)


@pytest.mark.parametrize(
    ("number", "letters"), [(1, "A"), (26, "Z"), (27, "AA"), (702, "ZZ"), (703, "AAA"), (16384, "XFD")]
)
def test_columns_are_counted_as_on_a_sheet(number, letters):
    assert (_letters(number - 1), _number_of_column(letters.encode())) == (letters, number)
