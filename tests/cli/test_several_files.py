"""Several files of one table: columns are matched by name, and those that some files lack are gaps."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def months(tmp_path):
    """Two clusters in the numbers a and b, in three files."""
    random = np.random.default_rng(1)
    a = random.permutation(np.arange(300) % 2) * 20 + random.normal(size=300)
    table = pd.DataFrame({"a": a, "b": random.normal(size=300), "c": random.normal(size=300)}).round(4)
    folder = tmp_path / "months"
    folder.mkdir()
    for month, start in zip(("1jan", "2feb", "3mar"), (0, 100, 200), strict=True):
        table[start : start + 100].to_csv(folder / f"{month}.csv", index=False)
    return folder


def rewritten(path, change):
    change(pd.read_csv(path, dtype=str)).to_csv(path, index=False)


def test_columns_in_another_order_are_matched_by_name(months, tmp_path, ravine_here):
    labels = [tmp_path / "before.csv", tmp_path / "after.csv"]
    assert ravine_here("cluster", months, "--out", labels[0]).err == ""
    rewritten(months / "2feb.csv", lambda table: table[["c", "a", "b"]])
    done = ravine_here("cluster", months, "--out", labels[1])
    assert (done.returncode, done.err) == (0, "")
    assert labels[0].read_bytes() == labels[1].read_bytes()


def test_columns_that_some_files_lack_are_gaps_with_a_word(months, tmp_path, ravine_here):
    model = tmp_path / "m.ravine"
    rewritten(months / "2feb.csv", lambda table: table.drop(columns="b"))
    rewritten(months / "3mar.csv", lambda table: table.drop(columns=["b", "c"]).assign(late="x"))
    done = ravine_here("cluster", months, "--json", "--model", model)
    assert done.returncode == 0
    assert done.err.count("\n") == 1
    assert "warning: columns are missing in some files, and their cells are gaps: 'b' in " in done.err
    assert f"'c' in {months / '3mar.csv'}, 'late' in {months / '1jan.csv'}, {months / '2feb.csv'}" in done.err
    found = json.loads(done.out)
    assert found["n_clusters"] == 2
    reasons = {column["name"]: column["reason"] for column in found["columns"]}
    assert "67 % of its cells are gaps" in reasons["b"]
    assert "33 % of its cells are gaps" in reasons["c"]
    new = ravine_here("predict", model, months, "--out", tmp_path / "new.csv")
    assert (new.returncode, new.err) == (0, done.err)
    report = ravine_here("report", model, months, "--out", tmp_path / "page.html")
    assert (report.returncode, report.err) == (0, done.err)


def test_files_that_share_no_column_are_refused(months, ravine_here):
    rewritten(months / "2feb.csv", lambda table: table.set_axis(["x", "y", "z"], axis=1))
    done = ravine_here("cluster", months)
    assert (done.returncode, done.err.count("\n")) == (1, 1)
    assert (
        f"{months / '2feb.csv'} shares no column with {months / '1jan.csv'}: it has x, y, z, and not a, b, c"
        in done.err
    )


def test_all_unknown_columns_are_named_in_one_message(months, ravine_here):
    done = ravine_here("cluster", months, "--columns", "a,d", "--ignore", "e", "--role", "f=text")
    assert (done.returncode, done.err.count("\n")) == (2, 1)
    assert "there are no columns 'd', 'e', 'f'; choose from a, b, c" in done.err


def test_all_columns_that_a_new_table_lacks_are_named_in_one_message(months, tmp_path, ravine_here):
    model = tmp_path / "m.ravine"
    ravine_here("cluster", months, "--model", model)
    (tmp_path / "new.csv").write_text("a,z\n1,2\n3,4\n")
    done = ravine_here("predict", model, tmp_path / "new.csv")
    assert (done.returncode, done.err.count("\n")) == (1, 1)
    assert "new.csv: there are no columns 'b', 'c'; the columns are a, z" in done.err


def test_a_column_of_numbers_in_one_file_and_of_amounts_in_another_is_one_column(months, ravine_here):
    rewritten(months / "2feb.csv", lambda table: table.assign(a="€" + table["a"]))
    found = json.loads(ravine_here("cluster", months, "--json").out)
    column = found["columns"][0]
    assert (column["role"], found["n_clusters"]) == ("number", 2)
    assert "numbers written as text with the unit €" in column["reason"]


def test_identifiers_of_different_types_are_written_as_text(months, tmp_path, ravine_here):
    rewritten(months / "1jan.csv", lambda table: table.assign(key=range(100)))
    rewritten(months / "2feb.csv", lambda table: table.assign(key=[f"K{i}" for i in range(100)]))
    out = tmp_path / "labels.parquet"
    assert ravine_here("cluster", months, "--keep", "key", "--out", out).returncode == 0
    found = pd.read_parquet(out)["key"]
    assert (found[5], found[105], found.isna().sum()) == ("5", "K5", 100)
