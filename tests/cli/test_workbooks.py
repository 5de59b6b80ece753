"""Workbooks through the commands: the same result as from CSV, and a word about the sheet."""

import json
import sys

import openpyxl
import pandas as pd
import pytest

from ravine.datasets import make_messy_table


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A messy table as CSV and on the second sheet of a workbook, below a title, with typed cells."""
    folder = tmp_path_factory.mktemp("books")
    table = make_messy_table(600, n_segments=3, separation=6.0, random_state=5)
    table.to_csv(folder / "shop.csv")
    cells = pd.read_csv(folder / "shop.csv")
    book = openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["The customers of a shop, by Ann"])
    sheet = book.create_sheet("Customers")
    sheet.append(["Customers"])
    sheet.merge_cells("A1:C1")
    sheet.append(list(cells.columns))
    for row in cells.astype(object).where(cells.notna(), None).itertuples(index=False):
        sheet.append(list(row))
    book.save(folder / "shop.xlsx")
    return folder


def test_a_workbook_gives_the_clusters_of_its_csv(files, tmp_path, ravine_here):
    said = {}
    for name in ("shop.csv", "shop.xlsx"):
        options = ("--out", tmp_path / f"{name}.labels.csv", "--model", tmp_path / f"{name}.ravine")
        done = ravine_here("cluster", files / name, *options, "--json")
        assert done.returncode == 0
        said[name] = done.err
        found = json.loads(done.out)
        assert found["n_clusters"] == 3
    assert said["shop.csv"] == ""
    book = files / "shop.xlsx"
    assert said["shop.xlsx"] == f"note: {book}: read the sheet 'Customers'; use --sheet for another one ('About')\n"
    first, second = (pd.read_csv(tmp_path / f"{name}.labels.csv", dtype=str) for name in ("shop.csv", "shop.xlsx"))
    pd.testing.assert_frame_equal(first, second)


def test_a_model_takes_a_sheet_in_every_command(files, tmp_path, ravine_here):
    model, book, out = tmp_path / "m.ravine", files / "shop.xlsx", tmp_path / "labels.csv"
    assert ravine_here("cluster", files / "shop.csv", "--model", model, "--out", out).returncode == 0
    sheet = ("--sheet", "Customers")
    predicted = ravine_here("predict", model, book, *sheet)
    assert (predicted.returncode, predicted.err) == (0, "600 rows labeled\n")
    assert predicted.out.splitlines()[1:] == out.read_text().splitlines()[1:]
    assert ravine_here("report", model, book, *sheet, "--out", tmp_path / "page.html").returncode == 0
    assert ravine_here("explain", model, book, *sheet, "--row", "17").out.startswith("row 17: cluster ")
    assert ravine_here("cluster", book, *sheet, "--scale", "--missing", "mean", "-q").returncode == 0


def test_a_workbook_can_come_from_standard_input(files, ravine_here):
    done = ravine_here("cluster", "-", "--json", stdin=(files / "shop.xlsx").read_bytes())
    assert json.loads(done.out)["n_clusters"] == 3


@pytest.mark.parametrize("command", ["cluster", "predict", "report", "explain"])
def test_a_wrong_sheet_and_a_missing_reader_are_told_in_a_line(command, files, tmp_path, ravine_here, monkeypatch):
    model = tmp_path / "m.ravine"
    ravine_here("cluster", files / "shop.csv", "--model", model)
    extra = ["--row", "1"] if command == "explain" else []
    given = [command, *([] if command == "cluster" else [model]), files / "shop.xlsx", *extra]
    done = ravine_here(*given, "--sheet", "Nothing")
    assert (done.returncode, done.err.count("\n")) == (2, 1)
    assert "there is no sheet 'Nothing'; choose from About, Customers" in done.err
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    done = ravine_here(*given)
    assert (done.returncode, done.err) == (
        2,
        "error: reading a workbook needs python-calamine: pip install 'ravine[excel]'\n",
    )
