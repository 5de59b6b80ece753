"""No command writes over what it reads, nor one file twice, whatever the files are called."""

import os
import shutil
import socket
import stat
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tests.commands import ravine_in_this_process

from ravine import load
from ravine.cli._app import app
from ravine.cli._labels import kind_of_labels
from ravine.cli._places import COMMANDS, check_files

CSV = "a,b\n" + "".join(f"{i % 7 + 20 * (i % 2)},{i % 5}\n" for i in range(60))


@pytest.fixture(scope="module", name="fitted")
def model_of_a_table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    (folder / "d.csv").write_text(CSV)
    assert ravine_in_this_process("cluster", folder / "d.csv", "--model", folder / "m.ravine", "-q") == 0
    return folder


@pytest.fixture
def folder(fitted, tmp_path, monkeypatch):
    """A table, its model, and other names for them."""
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    for name, path in (("d", "d.csv"), ("m", "m.ravine")):
        (tmp_path / f"{name}-link.csv").symlink_to(path)
        os.link(tmp_path / path, tmp_path / f"{name}-hard.csv")
    (tmp_path / "here").symlink_to(".")
    (tmp_path / "kept").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "d.csv").write_text(CSV)
    (tmp_path / "to-nothing.csv").symlink_to("nothing.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


REFUSED = {
    "cluster d.csv --out d.csv": "--out d.csv is the same file as DATA d.csv: give the name of another file",
    "cluster d.csv --out ./here/d.csv": "is the same file as DATA d.csv",
    "cluster d.csv --out d-link.csv": "is the same file as DATA d.csv",
    "cluster d.csv --out d-hard.csv": "is the same file as DATA d.csv",
    "cluster d-link.csv --out d.csv": "is the same file as DATA d-link.csv",
    "cluster d.csv --model d.csv": "--model d.csv is the same file as DATA",
    "cluster d.csv --report d.csv": "--report d.csv is the same file as DATA",
    "cluster data/d.csv d.csv --model d.csv": "--model d.csv is the same file as DATA d.csv",
    "cluster data --out data/d.csv": "--out data/d.csv is the same file as DATA data/d.csv",
    "cluster data/*.csv --report here/data/d.csv": "is the same file as DATA data/d.csv",
    "cluster data --out data/new.csv": "--out data/new.csv is in the data folder data, so the next run",
    "cluster here/data --out data/new.parquet": "the next run would read it as data",
    "cluster d.csv --model x --report x": "--model x and --report x are the same file: give each its own",
    "cluster d.csv --out x.csv --report here/x.csv": "--out x.csv and --report here/x.csv are the same file",
    "cluster d.csv --out to-nothing.csv --model nothing.csv": "are the same file",
    "predict m.ravine d.csv --out m-hard.csv": "--out m-hard.csv is the same file as MODEL m.ravine",
    "predict m.ravine d.csv --out d.csv": "--out d.csv is the same file as DATA d.csv",
    "report m.ravine d.csv --out m.ravine": "--out m.ravine is the same file as MODEL m.ravine",
    "report m.ravine d.csv --out here/d.csv": "--out here/d.csv is the same file as DATA d.csv",
    "cut m.ravine --clusters 1 --out m.ravine": "--out m.ravine is the same file as MODEL m.ravine",
    "compare d.csv --report d.csv": "--report d.csv is the same file as DATA d.csv",
    "stream d.csv --out d-hard.csv": "--out d-hard.csv is the same file as DATA d.csv",
    "stream d.csv --out x --events d-link.csv": "--events d-link.csv is the same file as DATA d.csv",
    "stream d.csv --out x --events here/x": "--out x and --events here/x are the same file",
    "stream d.csv --checkpoint kept --out kept/checkpoint.json": "is a file of the checkpoint in kept",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_file_is_refused_by_what_it_is_before_anything_is_done(folder, line, capfd):
    before = contents(folder)
    assert ravine_in_this_process(*line.split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert REFUSED[line] in err
    assert contents(folder) == before


def test_demo_refuses_files_that_are_one(folder, capfd):
    (folder / "labels.csv").symlink_to("digits.csv")
    assert ravine_in_this_process("demo", "--folder", folder) == 2
    assert "are the same file" in capfd.readouterr().err
    assert not (folder / "digits.csv").exists()


@contextmanager
def redirected(number, file):
    """As the shell does it."""
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        os.dup2(before, number)
        os.close(before)


def test_redirections_are_seen(folder, capfd):
    with open("d.csv", "rb") as data, redirected(0, data):
        assert ravine_in_this_process("cluster", "-", "--out", "d.csv") == 2
    assert "--out d.csv is the same file as standard input: give the name" in capfd.readouterr().err
    with open("d.csv", "ab") as data, redirected(1, data):
        assert ravine_in_this_process("predict", "m.ravine", "d.csv") == 2
    assert "--out - is the same file as DATA d.csv" in capfd.readouterr().err
    assert Path("d.csv").read_text() == CSV


def test_a_device_may_be_named_twice(folder):
    check_files("cluster", data=["d.csv"], out="/dev/null", model=Path("/dev/null"), report=Path("/dev/null"))
    check_files("stream", data="/dev/null", out="/dev/null", events=Path("/dev/null"))
    assert kind_of_labels("/dev/null") == ".csv"


def test_a_terminal_or_a_socket_may_be_read_and_written(folder):
    controller, terminal = os.openpty()
    ours, its = socket.socketpair()
    with ours, its, os.fdopen(controller), os.fdopen(terminal) as tty:
        for both in (its, tty):
            with redirected(0, both), redirected(1, both):
                check_files("stream", data="-", out="-", events=None)
                check_files("cluster", data=["-"], out="-", model=None, report=None)


ALLOWED = [
    "cluster d.csv --out labels.csv --model model --report page.html",
    "cluster data --model data/model.ravine --report data/page.html",
    "cluster data --out data/.labels.csv",
    "predict m.ravine d.csv --out labels.csv",
]


@pytest.mark.parametrize("line", ALLOWED)
def test_other_places_are_allowed(folder, line):
    assert ravine_in_this_process(*line.split(), "-q") == 0
    assert Path("d.csv").read_text() == CSV


def test_every_parameter_that_names_a_file_is_in_the_table():
    commands = {command.callback.__name__: command.callback for command in app.registered_commands}
    assert set(commands) == set(COMMANDS)
    for name, callback in commands.items():
        files = COMMANDS[name]
        known = {**files.read, **files.written, **files.appended, **files.folders}
        for parameter, kind in get_type_hints(callback).items():
            if kind == Path or Path in get_args(kind) or parameter in ("data", "out"):
                assert parameter in known, (name, parameter)


def read_beside(path):
    content = []
    thread = threading.Thread(target=lambda: content.append(path.read_bytes()))
    thread.start()
    return thread, content


def test_labels_model_and_page_go_into_pipes(folder, capfd):
    assert ravine_in_this_process("cluster", "d.csv", "--out", "labels.csv", "-q") == 0
    readers = {}
    for name in ("labels", "model", "page"):
        os.mkfifo(name)
        readers[name] = read_beside(Path(name))
    args = ["cluster", "d.csv", "--out", "labels", "--model", "model", "--report", "page"]
    assert ravine_in_this_process(*args) == 0
    found = {}
    for name, (thread, content) in readers.items():
        thread.join(20)
        (found[name],) = content
        assert stat.S_ISFIFO(os.stat(name).st_mode)
    assert found["labels"] == Path("labels.csv").read_bytes()
    Path("again.ravine").write_bytes(found["model"])
    assert load("again.ravine")[-1].n_clusters_ >= 1
    assert found["page"].rstrip().endswith(b"</html>")


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_standard_output_by_its_name_has_the_file_and_no_words(folder, option, capfdbinary):
    Path("stdout").symlink_to("/dev/fd/1")
    assert ravine_in_this_process("cluster", "d.csv", option, "stdout") == 0
    out, err = capfdbinary.readouterr()
    assert b"rows \xc3\x97 2 columns" in err
    start, end = {"--out": (b"row,", b"\n"), "--model": (b"PK", b""), "--report": (b"<!", b"</html>")}[option]
    assert out.startswith(start)
    assert out.endswith(end)
    assert Path("stdout").is_symlink()


def test_one_pipe_cannot_take_two_files(folder, capfd):
    os.mkfifo("pipe")
    assert ravine_in_this_process("cluster", "d.csv", "--model", "pipe", "--report", "./pipe") == 2
    assert "--model pipe and --report pipe are the same file" in capfd.readouterr().err


def test_outputs_go_through_links(folder):
    (folder / "far").mkdir()
    Path("far/labels.csv").write_text("old")
    Path("labels.csv").symlink_to("far/labels.csv")
    Path("model").symlink_to("far/model")
    assert ravine_in_this_process("cluster", "d.csv", "--out", "labels.csv", "--model", "model", "-q") == 0
    assert Path("labels.csv").is_symlink()
    assert Path("model").is_symlink()
    assert Path("far/labels.csv").read_text().startswith("row,cluster\n")
    assert load("far/model")[-1].n_clusters_ >= 1
