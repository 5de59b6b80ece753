"""What is no table, or none that can be read, is told in one line by every command that reads one."""

import zipfile
from itertools import product

import numpy as np
import pytest
from tests.commands import ravine_in_this_process

from ravine import PDDP, save

ROWS = "".join(f"{i % 2 * 9 + i / 50},{i % 7}\n" for i in range(50))
BAD = {
    "lines that end with CR": (
        ("t.csv", ("a,b\n" + ROWS).replace("\n", "\r")),
        "end with CR only, as on old Macs",
    ),
    "an open quote": (("t.csv", 'a,"b\n' + ROWS), "the first line has a quote that is not closed: close or remove it"),
    "a header of 3 MB": (
        ("t.csv", "a" * 3_000_000 + ",b\n" + ROWS),
        "the first line has more than 1,048,576 characters",
    ),
    "large whole numbers": (("t.csv", f"a,b\n{2**60 + 1},2\n" + "5,1\n" * 50), "would be rounded"),
    "nested values": (("t.jsonl", '{"a":1,"b":' + "[" * 10**5 + "]" * 10**5 + "}\n"), "t.jsonl: "),
    "the ending of a workbook": (
        ("t.xlsx", "a,b\n" + ROWS),
        "this is no workbook that can be read, or it is damaged",
    ),
}
COMMANDS = {
    "cluster": ["cluster", "DATA"],
    "cluster by hand": ["cluster", "DATA", "--scale"],
    "cluster in passes": ["cluster", "DATA", "--method", "pddp", "--in-passes", "--scale"],
    "predict": ["predict", "MODEL", "DATA", "--out", "OUT"],
    "report": ["report", "MODEL", "DATA", "--out", "OUT"],
    "compare": ["compare", "DATA", "--methods", "pddp"],
    "stream": ["stream", "DATA", "--out", "OUT"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.ravine"
    save(PDDP(n_clusters=2, criterion="mean").fit(np.random.default_rng(0).normal(size=(50, 2))), path)
    return path


def told(command, data, out, model, capsys, *options):
    words = {"DATA": data, "MODEL": model, "OUT": out}
    code = ravine_in_this_process(*(words.get(word, word) for word in COMMANDS[command]), *options)
    return code, capsys.readouterr().err


APART = (("cluster", "large whole numbers"), ("stream", "the ending of a workbook"))
"""A column of large whole numbers gets a role, unless the table is prepared by hand. A workbook is no stream."""

CASES = [case for case in product(COMMANDS, BAD) if case not in APART]


@pytest.mark.parametrize(("command", "what"), CASES)
def test_bad_tables_are_told_in_a_line(command, what, model, tmp_path, capsys):
    (name, content), message = BAD[what]
    (tmp_path / name).write_text(content, newline="")
    code, said = told(command, tmp_path / name, tmp_path / "out.csv", model, capsys)
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("error: ")
    assert message in said
    assert str(tmp_path / name) in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_workbook_is_known_whatever_its_name(command, model, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "t.csv", "w") as archive:
        at_second_twenty = (2026, 1, 1, 0, 0, 20)  # is stored as the byte of a line end
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml", at_second_twenty), "<Types/>")
    code, said = told(command, tmp_path / "t.csv", tmp_path / "out.csv", model, capsys)
    message = "t.csv: this is no workbook that can be read, or it is damaged"
    if command == "stream":
        message = "t.csv: an Excel workbook is not a stream of rows: cluster it as a table with ravine cluster"
    assert (code, said.count("\n")) == (2 if command == "stream" else 1, 1)
    assert message in said


@pytest.mark.parametrize("command", COMMANDS)
def test_codecs_that_store_no_text_are_bad_usage(command, model, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n" + ROWS)
    code, said = told(command, tmp_path / "t.csv", tmp_path / "out.csv", model, capsys, "--encoding", "rot13")
    assert (code, said.count("\n")) == (2, 1)
    assert "--encoding rot13 is not a text encoding; use for instance utf-8, utf-16, latin-1 or cp1252" in said


@pytest.mark.parametrize("number", [2**53, 2**60, -(2**53)])
def test_a_stream_takes_large_numbers_that_are_exact(number, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + f"{number},1\n" * 30)
    assert ravine_in_this_process("stream", tmp_path / "t.csv", "--out", tmp_path / "out", "--quiet") == 0
