"""Cells that do not have the type of those above them, and whole numbers with zeros in front, in every command."""

import json

import numpy as np
import pandas as pd
import pytest

from ravine._io._table import Text

N_ROWS = 400


@pytest.fixture
def small_blocks(monkeypatch):
    """Let the first rows alone decide the types of a text file."""
    monkeypatch.setattr(Text, "_block_size", 512)


@pytest.fixture
def table():
    """Two clusters, with an identifier and a class; all columns are numbers."""
    random = np.random.default_rng(0)
    kind = random.permutation(np.arange(N_ROWS) % 2)
    number = random.permutation(np.arange(1000, 1000 + N_ROWS))
    cells = {"id": number, "a": kind * 20 + random.normal(size=N_ROWS), "b": random.normal(size=N_ROWS), "kind": kind}
    return pd.DataFrame(cells).astype({"id": "int64"}).round(3)


def written(table, path, **odd):
    """Write a table with some cells replaced: name=(row, text)."""
    cells = table.astype(object)
    for name, (row, text) in odd.items():
        cells.loc[row, name] = text
    cells.to_csv(path, index=False)
    return path


WARNING = (
    "warning: {file}: column 'a' begins with numbers, but has 'oops' in row 300 (counted from 0): the column is read "
    "as text, and cells that cannot be read are gaps\n"
)


def test_every_command_reads_a_column_as_text_from_an_odd_cell_on(small_blocks, table, tmp_path, ravine_here):
    plain = written(table, tmp_path / "plain.csv")
    odd = written(table, tmp_path / "odd.csv", a=(300, "oops"))
    model, page = tmp_path / "m.ravine", tmp_path / "page.html"
    assert ravine_here("cluster", plain, "--ignore", "kind", "--model", model).returncode == 0
    commands = {
        "cluster": ["cluster", odd, "--ignore", "kind", "--out", tmp_path / "cluster.csv"],
        "predict": ["predict", model, odd, "--out", tmp_path / "predict.csv"],
        "report": ["report", model, odd, "--out", page],
        "explain": ["explain", model, odd, "--row", "17"],
    }
    for name, command in commands.items():
        done = ravine_here(*command)
        assert (name, done.returncode, done.err) == (name, 0, WARNING.format(file=odd))
    found = pd.read_csv(tmp_path / "predict.csv")
    assert found["id"].tolist() == table["id"].tolist()
    others = np.arange(N_ROWS) != 300
    assert pd.crosstab(found["cluster"][others], table["kind"][others]).to_numpy().tolist() in (
        [[199, 0], [0, 200]],
        [[200, 0], [0, 199]],
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_identifier_that_becomes_a_word_is_written_beside_the_labels(
    small_blocks, table, kind, tmp_path, ravine_here
):
    model, out = tmp_path / "m.ravine", tmp_path / f"labels.{kind}"
    ravine_here("cluster", written(table, tmp_path / "t.csv"), "--ignore", "kind", "--model", model)
    odd = written(table, tmp_path / "odd.csv", id=(300, "K-17"))
    assert ravine_here("predict", model, odd, "--out", out).returncode == 0
    found = pd.read_csv(out, dtype=str) if kind == "csv" else pd.read_parquet(out)
    known = table["id"].astype(str)
    known[300] = "K-17"
    assert found["id"].tolist() == known.tolist()


def test_labels_on_standard_output_take_an_identifier_that_becomes_a_word(small_blocks, table, tmp_path, ravine_here):
    model = tmp_path / "m.ravine"
    ravine_here("cluster", written(table, tmp_path / "t.csv"), "--ignore", "kind", "--model", model)
    odd = written(table, tmp_path / "odd.csv", id=(300, "K-17"))
    lines = ravine_here("predict", model, odd).out.splitlines()
    assert (len(lines), lines[0]) == (N_ROWS + 1, "row,id,cluster")
    assert lines[301].split(",")[:2] == ["300", '"K-17"']


def test_classes_keep_their_numbers_after_an_odd_class(small_blocks, table, tmp_path, ravine_here):
    odd = written(table, tmp_path / "odd.csv", kind=(300, "unknown"))
    found = json.loads(ravine_here("cluster", odd, "--label", "kind", "--json").out)
    assert min(found["scores"].values()) > 0.95


def test_an_odd_cell_still_stops_a_table_that_is_prepared_by_hand(small_blocks, table, tmp_path, ravine_here):
    odd = written(table, tmp_path / "odd.csv", a=(300, "oops"))
    done = ravine_here("cluster", odd, "--scale")
    assert done.returncode == 1
    assert "column 'a', line 302: CSV conversion error to double: invalid value 'oops': correct that value" in done.err


def test_two_odd_columns_are_told_in_two_lines(small_blocks, table, tmp_path, ravine_here):
    done = ravine_here("cluster", written(table, tmp_path / "odd.csv", a=(300, "oops"), b=(250, "-9 ?")), "--json")
    assert done.returncode == 0
    assert [line.partition(" begins")[0][-3:] for line in done.err.splitlines()] == ["'b'", "'a'"]


def test_codes_with_zeros_in_front_are_categories(table, tmp_path, ravine_here):
    """The names of the columns say nothing: the zeros alone decide."""
    cells = table.assign(place=np.resize(["01067", "04109", "10115", "80331"], N_ROWS), many=table["id"] * 37)
    cells["many"] = cells["many"].astype(str).str.zfill(8)
    file, model = tmp_path / "t.csv", tmp_path / "m.ravine"
    cells.to_csv(file, index=False)
    found = json.loads(ravine_here("cluster", file, "--ignore", "kind", "--model", model, "--json").out)
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert (roles["place"], roles["many"], roles["a"]) == ("category", "identifier", "number")
    out = tmp_path / "labels.csv"
    ravine_here("cluster", file, "--keep", "many,place", "--out", out)
    assert pd.read_csv(out, dtype=str)["many"].tolist() == cells["many"].tolist()


def test_zeros_in_front_that_come_late_in_a_new_file_are_kept(small_blocks, table, tmp_path, ravine_here):
    places = np.resize(["01067", "04109", "10115", "80331"], N_ROWS)
    fit, new = tmp_path / "fit.csv", tmp_path / "new.csv"
    cells = table.drop(columns=["id", "kind"]).assign(place=places)
    cells.to_csv(fit, index=False)
    cells.sort_values("place", ascending=False, kind="stable").to_csv(new, index=False)
    model = tmp_path / "m.ravine"
    ravine_here("cluster", fit, "--model", model, "--role", "place=category")
    labels = [tmp_path / "fit_labels.csv", tmp_path / "new_labels.csv"]
    for file, out in zip((fit, new), labels, strict=True):
        assert ravine_here("predict", model, file, "--out", out).returncode == 0
    order = cells.sort_values("place", ascending=False, kind="stable").index
    first, second = (pd.read_csv(out)["cluster"].to_numpy() for out in labels)
    assert (first[order] == second).all()
