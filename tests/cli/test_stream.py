import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import sysconfig
import threading
import time
import zipfile
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

import ravine
from ravine._io import DataError, TextFormat
from ravine.cli import _lines, _stream
from ravine.cli._checkpoint import alone_with
from ravine.cli._errors import explain
from ravine.cli._layout import find_layout
from ravine.cli._lines import Lines, Sink, Stop
from ravine.cli._rows import Rows, StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import Plan, stream
from ravine.datasets import make_blobs
from ravine.persist import read

RAVINE = Path(sysconfig.get_path("scripts")) / "ravine"

METHODS = ["imdh", "hsdc", "hsdci", "stream"]


def csv_lines(X):
    return "".join(",".join(map(repr, map(float, row))) + "\n" for row in X)


def json_lines(X):
    return "".join(json.dumps(dict(zip("abc", map(float, row), strict=True))) + "\n" for row in X)


@pytest.fixture(scope="module", name="X")
def rows_of_three_blobs():
    X, _ = make_blobs(450, centers=[[0, 0, 0], [12, 0, 0], [0, 12, 0]], random_state=3)
    return X.round(3)


@pytest.fixture
def text(X):
    return "a,b,c\n" + csv_lines(X)


@pytest.fixture
def file(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def run(data, *, out=None, text=None, columns=(), drop=(), skip=False, quiet=True, **plan):
    """The command in this process; what was written to `out`, as records."""
    choice = StreamOptions(text or TextFormat(), columns, drop, skip)
    stream(str(data), choice, Plan(out=out, **{"method": "imdh", "n_jobs": 1, **plan}), Screen(quiet, False, True))
    return None if out is None else records(out)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def told(call, *args, **options):
    """The line and the exit code with which the command ends."""
    with pytest.raises((ValueError, OSError)) as caught:
        call(*args, **options)
    return explain(caught.value)


@pytest.fixture
def give_stdin(monkeypatch):
    def give(text):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))

    return give


def test_each_row_is_labeled_by_what_was_learned_before_it(file, X, tmp_path):
    found = run(file, out=tmp_path / "out")
    assert [record["row"] for record in found] == list(range(450))
    assert [record["cluster"] for record in found[:100]] == [None] * 100
    model = ravine.IncrementalMDH(n_jobs=1)
    for start, end in pairwise([0, 100, 200, 300, 400, 450]):
        if start:
            ids = model.cluster_ids_[model.predict(X[start:end])]
            assert [record["cluster"] for record in found[start:end]] == ids.tolist()
        model.partial_fit(X[start:end])


@pytest.mark.parametrize("method", METHODS)
def test_a_line_for_a_batch_counts_what_the_lines_for_its_rows_say(file, tmp_path, method):
    rows = run(file, out=tmp_path / "rows", method=method)
    batches = run(file, out=tmp_path / "batches", method=method, per_batch=True)
    assert [batch["rows"] for batch in batches] == [[0, 99], [100, 199], [200, 299], [300, 399], [400, 449]]
    assert batches[0] == {"rows": [0, 99], "clusters": {}, "n_clusters": None}
    for batch in batches[1:]:
        first, last = batch["rows"]
        clusters = [row["cluster"] for row in rows[first : last + 1]]
        assert batch["clusters"] == {str(cluster): clusters.count(cluster) for cluster in sorted(set(clusters))}
        assert batch["n_clusters"] >= len(batch["clusters"])


def test_csv_json_and_standard_input_give_the_same_lines(file, text, X, tmp_path, give_stdin):
    expected = run(file, out=tmp_path / "csv")
    (tmp_path / "t.jsonl").write_text(json_lines(X))
    assert run(tmp_path / "t.jsonl", out=tmp_path / "json") == expected
    (tmp_path / "t.tsv").write_text(csv_lines(X).replace(",", "\t"))
    assert run(tmp_path / "t.tsv", out=tmp_path / "tsv") == expected
    (tmp_path / "comma.csv").write_text(text.replace(",", ";").replace(".", ","))
    assert run(tmp_path / "comma.csv", out=tmp_path / "comma", text=TextFormat(decimal=",")) == expected
    give_stdin("\ufeff" + text.replace("\n", "\r\n\r\n").rstrip())
    assert run("-", out=tmp_path / "stdin") == expected


def test_lines_go_to_standard_output_and_events_to_standard_error(give_stdin, capfdbinary):
    give_stdin("a,b\n1,2\n3,x\n5,6\n")
    run("-", batch=2, columns=("a", "b"), skip=True, quiet=False)
    out, err = capfdbinary.readouterr()
    assert [json.loads(line)["cluster"] for line in out.splitlines()] == [None, None, 0]
    event, *_, said = err.decode().splitlines()
    assert json.loads(event) == {"kind": "bad row", "row": 1, "why": "column 'b': 'x' is not a number"}
    assert said == "3 rows read, 1 bad row skipped"


def test_quiet_prints_lines_only(give_stdin, capfdbinary):
    give_stdin("a,b\n1,2\n3,x\n")
    run("-", columns=("a", "b"), skip=True)
    assert capfdbinary.readouterr() == (b'{"row": 0, "cluster": null}\n{"row": 1, "cluster": null}\n', b"")


@pytest.mark.parametrize("content", ["", "\n\n", "a,b\n"])
def test_a_stream_without_rows_is_no_error(tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    assert run(tmp_path / "t.csv", out=tmp_path / "out", checkpoint=tmp_path / "kept") == []


def test_a_warning_that_is_raised_with_every_batch_is_shown_once(tmp_path, rng, capsys):
    (tmp_path / "t.csv").write_text(csv_lines(np.tile(load_wine().data, (3, 1))))
    run(tmp_path / "t.csv", out=tmp_path / "out", batch=178, quiet=False)
    assert capsys.readouterr().err.count("held-out rows confirmed no single cut") == 1


BAD_CSV = {
    "1,2": "column 'c' is missing: the line has 2 fields instead of 3",
    "1,2,3,4": "the line has 4 fields instead of 3; the last column is 'c'",
    "1,x,3": "column 'b': 'x' is not a number",
    "1,1_0,3": "column 'b': '1_0' is not a number",
    "1,,3": "column 'b': the value is missing",
    "1,nan,3": "column 'b': the value is missing",
    "1,2,-inf": "column 'c': -inf is not finite, or its square would overflow",
    "1,2,9007199254740993": "column 'c': 9007199254740993 is a whole number that would be rounded",
    "1,2,1e200": "column 'c': 1e+200 is not finite, or its square would overflow",
    '1,2,"3': "this is not a line of CSV (unexpected end of data",
    "1,2,\udce4": "the text is not utf-8",
}

BAD_JSON = {
    '{"a": 1, "b": 2}': "column 'c' is missing",
    '{"a": 1, "b": 2, "c": 3, "d": 4}': "there is no column 'd'",
    '{"a": 1, "b": "2", "c": 3}': "column 'b': \"2\" is not a number",
    '{"a": 1, "b": true, "c": 3}': "column 'b': true is not a number",
    '{"a": 1, "b": null, "c": 3}': "column 'b': the value is missing",
    '{"a": 1, "b": NaN, "c": 3}': "column 'b': nan is not finite, or its square would overflow",
    '{"a": 1, "b": 1' + 400 * "0" + ', "c": 3}': "column 'b': inf is not finite, or its square would overflow",
    '{"a": 1, "a": 1, "b": 2, "c": 3}': "this is not a JSON object (a name occurs twice",
    "[1, 2, 3]": "this is not a JSON object",
    '{"a": 1': "this is not a JSON object (Expecting ',' delimiter: line 2 column 1 (char 8)",
    200_000 * "[": "this is not a JSON object (maximum recursion depth exceeded",
}

BAD = [
    pytest.param(write, line, why, place, id=f"{line[:30]}-{place}")
    for write, bad, places in ((csv_lines, BAD_CSV, (0, 40, 250)), (json_lines, BAD_JSON, (40, 250)))
    for line, why in bad.items()
    for place in places
]


@pytest.fixture(scope="module")
def tree_of_good_rows(X):
    return ravine.IncrementalMDH(n_jobs=1).partial_fit(X[:300]).tree_


@pytest.mark.parametrize(("write", "line", "why", "place"), BAD)
def test_a_bad_row_stops_the_stream_or_is_told_and_never_learned(
    X, tree_of_good_rows, tmp_path, write, line, why, place
):
    good = write(X[:300]).splitlines()
    header = ["a,b,c"] if write is csv_lines else []
    with_bad = "\n".join([*header, *good[:place], line, *good[place:]]) + "\n"
    path, events = tmp_path / "t", tmp_path / "events"
    path.write_bytes(with_bad.encode(errors="surrogateescape"))
    message, code = told(run, path, out=tmp_path / "stopped")
    assert code == 1
    assert message.startswith(f"error: {path}: row {place} (counted from 0): {why}")
    assert message.endswith("; correct it, or skip such rows with --bad-rows skip")
    assert len(records(tmp_path / "stopped")) == place // 100 * 100
    found = run(path, out=tmp_path / "out", events=events, skip=True, checkpoint=tmp_path / "kept")
    assert found[place] == {"row": place, "cluster": None}
    (event,) = records(events)
    assert event.pop("why").startswith(why)
    assert event == {"kind": "bad row", "row": place}
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    assert ravine.load(saved).tree_ == tree_of_good_rows


def test_columns_are_those_that_mostly_are_numbers_in_the_first_batch(X, tmp_path, capsys):
    lines = [f"{a},w{i},{b},\n" for i, (a, b) in enumerate(X[:250, :2])]
    lines[7] = "oops,w,1,\n"
    (tmp_path / "t.csv").write_text("width,word,height,none\n" + "".join(lines))
    run(tmp_path / "t.csv", out=tmp_path / "out", skip=True, checkpoint=tmp_path / "kept", quiet=False)
    assert "warning: columns left out because they are not numbers: word, none" in capsys.readouterr().err
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    assert ravine.load(saved).feature_names_in_.tolist() == ["width", "height"]


def test_columns_can_be_chosen_and_dropped(file, tmp_path):
    for folder, options in (("only", {"columns": ("c", "a")}), ("drop", {"drop": ("b",)})):
        run(file, out=tmp_path / "out", checkpoint=tmp_path / folder, **options)
        (saved,) = (tmp_path / folder).glob("*.ravine")
        assert ravine.load(saved).feature_names_in_.tolist() == ["a", "c"]


def test_a_chosen_column_is_taken_for_numbers_whatever_it_is(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    message, _ = told(run, tmp_path / "t.csv", out=tmp_path / "out", columns=("b",))
    assert "row 0 (counted from 0): column 'b': 'x' is not a number" in message


REFUSED = {
    "no numbers": ("a,b\nx,y\n", {}, 1, "{file}: none of the columns a, b contains numbers: check --delimiter"),
    "names twice": ("a,a\n1,2\n", {}, 1, "{file}: the column name 'a' occurs twice"),
    "first object": ('{"a": \n', {}, 1, "{file}: the first line is not a JSON object"),
    "open quote": ('"a,b\n', {}, 1, "{file}: the first line has a quote that is not closed"),
    "encoding": ("\udce4,b\n", {}, 1, "{file}: the text is not utf-8: give its encoding with --encoding"),
    "wide encoding": (
        "a\n1\n",
        {"text": TextFormat(encoding="utf-16")},
        2,
        "cannot be split into lines in this encoding",
    ),
    "no such column": ("a,b\n1,2\n", {"columns": ("a", "z")}, 2, "{file}: there is no column 'z'; choose from a, b"),
    "nothing to drop": ("a,b\n1,2\n", {"drop": ("z",)}, 2, "{file}: there is no column 'z'; choose from a, b"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_streamed_is_told_in_a_line(tmp_path, what):
    content, options, code, line = REFUSED[what]
    file = tmp_path / "t.csv"
    file.write_bytes(content.encode(errors="surrogateescape"))
    message, found = told(run, file, out=tmp_path / "out", **options)
    assert (found, message.count("\n")) == (code, 0)
    assert line.format(file=file) in message


def test_places_that_cannot_be_used_are_told_in_a_line(file, tmp_path):
    assert told(run, tmp_path / "none.csv") == (f"error: {tmp_path}/none.csv: there is no such file or folder", 2)
    assert told(run, tmp_path)[1] == 1
    assert "decompress the file" in told(run, tmp_path / "t.csv.gz")[0]
    assert told(run, "-", poll=0.1)[1] == 2
    assert told(run, tmp_path, poll=0.1)[1] == 2
    assert f"--out {file} is the same file as DATA" in told(run, file, out=file)[0]
    (tmp_path / "link").symlink_to("out")
    assert "are the same file" in told(run, file, out=tmp_path / "out", events=tmp_path / "link")[0]
    for name in ("checkpoint.json", "checkpoint.lock", "model-7.ravine"):
        for option in ("out", "events"):
            message, code = told(run, file, checkpoint=tmp_path, **{option: tmp_path / name})
            assert code == 2
            assert f"--{option} {tmp_path / name} is a file of the checkpoint in {tmp_path}" in message
    assert "looks like a rotated" in told(run, file, poll=0.1, events=tmp_path / "t.csv.1")[0]
    assert "is a file: give the name of a folder" in told(run, file, checkpoint=file)[0]
    assert told(run, file, out=tmp_path / "none" / "out")[1] == 2
    if Path("/dev/full").exists():
        message = "error: /dev/full: the disk is full: free some space or write to another disk"
        assert told(run, file, out=Path("/dev/full")) == (message, 1)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "LONGEST", 1000)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n" + 2000 * "1")
    assert "a line has more than 1,000 bytes" in told(run, tmp_path / "t.csv", skip=True)[0]


class Watchful:
    """A model with names for its clusters that last, and with events."""

    def __init__(self, random_state=0, n_jobs=-1):
        self.n_clusters_, self.events_, self._n_rows = 2, [], 0

    def partial_fit(self, X):
        for value in X[:, 0]:
            if value == 7:
                self.events_.append({"kind": "drift", "row": np.int64(self._n_rows), "node": 3, "p": np.nan})
            if value == 8:
                self.events_.append({"kind": "split", "row": self._n_rows, "node": np.int32(4)})
            self._n_rows += 1

    @property
    def n_events_(self):
        return {kind: sum(event["kind"] == kind for event in self.events_) for kind in ("drift", "split")}

    def predict(self, X):
        return (X[:, 0] > 5).astype(int)

    @property
    def cluster_ids_(self):
        return [17, 40 + self._n_rows]


def test_clusters_have_ids_that_last_and_events_have_the_number_of_the_row_in_the_stream(tmp_path, monkeypatch):
    monkeypatch.setitem(_stream.METHODS, "watchful", ("Watchful", {}))
    monkeypatch.setattr(ravine, "Watchful", Watchful, raising=False)
    (tmp_path / "t.csv").write_text("a\n1\n?\n8\n7\nx\n1\n7\n9\n2\n8")
    events = tmp_path / "events"
    found = run(tmp_path / "t.csv", out=tmp_path / "out", events=events, method="watchful", batch=4, skip=True)
    assert [record["cluster"] for record in found] == [None, None, None, None, None, 17, 43, 43, 17, 46]
    assert [(event["kind"], event["row"]) for event in records(events)] == [
        ("bad row", 1),
        ("split", 2),
        ("drift", 3),
        ("bad row", 4),
        ("drift", 6),
        ("split", 9),
    ]
    assert records(events)[2] == {"kind": "drift", "row": 3, "node": 3, "p": None}


def kept(folder):
    """All files of a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by_stdin", [False, True])
def test_a_run_that_failed_goes_on_as_if_it_never_had(text, tmp_path, method, by_stdin, give_stdin):
    def run_on(content, folder):
        (tmp_path / "t.csv").write_text(content)
        give_stdin(content)
        out, checkpoint = tmp_path / f"{folder}.out", tmp_path / folder
        run("-" if by_stdin else tmp_path / "t.csv", out=out, checkpoint=checkpoint, method=method, batch=50, every=200)

    run_on(text, "whole")
    lines = text.splitlines(keepends=True)
    for _ in range(2):
        with pytest.raises(DataError, match="row 333 "):
            run_on("".join([*lines[:334], "mend me\n", *lines[334:]]), "parts")
        assert len(records(tmp_path / "parts.out")) == 300
        assert (tmp_path / "parts" / "model-200.ravine").exists()
    run_on(text, "parts")
    assert (tmp_path / "parts.out").read_bytes() == (tmp_path / "whole.out").read_bytes()
    assert kept(tmp_path / "parts") == kept(tmp_path / "whole")
    run_on(text, "parts")
    assert (tmp_path / "parts.out").read_bytes() == (tmp_path / "whole.out").read_bytes()


def test_what_was_in_the_files_before_the_stream_stays(file, tmp_path):
    out = tmp_path / "out"
    out.write_text('{"before": 1}\n')
    run(file, out=out, checkpoint=tmp_path / "kept")
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert len(records(out)) == 451
    assert records(out)[0] == {"before": 1}
    run(file, out=out)
    assert len(records(out)) == 901


def test_a_file_that_has_grown_goes_on_at_its_new_rows(text, tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "out"
    lines = text.splitlines(keepends=True)
    file.write_text("".join(lines[:301]))
    run(file, out=out, checkpoint=tmp_path / "kept")
    with open(file, "a") as growing:
        growing.writelines(lines[301:])
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert out.read_bytes() == _whole_output(text, tmp_path)


def test_a_last_line_without_newline_may_be_ended_later_but_not_lengthened(text, tmp_path):
    file, out, lines = tmp_path / "t.csv", tmp_path / "out", text.splitlines(keepends=True)
    file.write_text("".join(lines[:301])[:-1])
    run(file, out=out, checkpoint=tmp_path / "kept")
    append(file, ["9"])()
    message, code = told(run, file, out=out, checkpoint=tmp_path / "kept")
    assert code == 1
    assert "the last line before the checkpoint has grown since" in message
    file.write_text(text)
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert out.read_bytes() == _whole_output(text, tmp_path)


def _whole_output(text, tmp_path):
    (tmp_path / "whole.csv").write_text(text)
    run(tmp_path / "whole.csv", out=tmp_path / "whole.out")
    return (tmp_path / "whole.out").read_bytes()


def test_standard_input_can_go_on_as_a_file(text, file, tmp_path, give_stdin):
    out, lines = tmp_path / "out", text.splitlines(keepends=True)
    give_stdin("".join(lines[:301]))
    run("-", out=out, checkpoint=tmp_path / "kept")
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert out.read_bytes() == _whole_output(text, tmp_path)


OTHER = {
    "method": ({"method": "hsdc"}, "was made with --method imdh, but this command has --method hsdc"),
    "batch": ({"batch": 50}, "was made with --batch 100, but this command has --batch 50"),
    "per": ({"per_batch": True}, "was made with --per row, but this command has --per batch"),
    "columns": ({"columns": ("a", "b")}, "was made with no --columns, but this command has --columns a,b"),
    "header": ({"text": TextFormat(header=False)}, "was made with no --header, but this command has --no-header"),
}


@pytest.mark.parametrize("what", OTHER)
def test_a_checkpoint_made_with_other_options_is_refused(file, tmp_path, what):
    options, line = OTHER[what]
    run(file, out=tmp_path / "out", checkpoint=tmp_path / "kept")
    before = (tmp_path / "out").read_bytes()
    message, code = told(run, file, out=tmp_path / "out", checkpoint=tmp_path / "kept", **options)
    assert code == 2
    assert f"{tmp_path / 'kept'} {line}: give the same options" in message
    assert (tmp_path / "out").read_bytes() == before


def _damage_model(path):
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda member: member.compress_size)
    _damage(path, largest.header_offset + 100 + largest.compress_size // 2)


def _damage(path, place=-40):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "bit of the model": (lambda kept, out, file: _damage_model(kept / "model-450.ravine"), "the checkpoint is damaged"),
    "end of the model": (lambda kept, out, file: os.truncate(kept / "model-450.ravine", 999), "checkpoint is damaged"),
    "no model": (lambda kept, out, file: (kept / "model-450.ravine").unlink(), "model-450.ravine is missing"),
    "a number": (lambda kept, out, file: _replace(kept, '"n_rows": 450', '"n_rows": 451'), "checkpoint is damaged"),
    "half a file": (lambda kept, out, file: os.truncate(kept / "checkpoint.json", 99), "the checkpoint is damaged"),
    "empty file": (lambda kept, out, file: os.truncate(kept / "checkpoint.json", 0), "the checkpoint is damaged"),
    "not ours": (lambda kept, out, file: (kept / "checkpoint.json").write_text("[1]"), "the checkpoint is damaged"),
    "version": (
        lambda kept, out, file: _replace(kept, '"version": 1', '"version": 2'),
        "has format version 2, but this",
    ),
    "output": (lambda kept, out, file: _damage(out), "out has changed since the checkpoint, when it had "),
    "short output": (lambda kept, out, file: os.truncate(out, 100), "out has changed since the checkpoint"),
    "no output": (lambda kept, out, file: out.unlink(), "out has changed since the checkpoint"),
    "input": (lambda kept, out, file: _damage(file), "is not the input that the checkpoint was made from"),
    "short input": (lambda kept, out, file: os.truncate(file, 100), "ends before the position of the checkpoint"),
}


def _replace(folder, old, new):
    path = folder / "checkpoint.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_told_in_a_line_and_nothing_is_touched(file, tmp_path, what):
    damage, line = DAMAGE[what]
    out, checkpoint = tmp_path / "out", tmp_path / "kept"
    run(file, out=out, checkpoint=checkpoint)
    damage(checkpoint, out, file)
    before = kept(checkpoint), out.exists() and out.read_bytes()
    message, code = told(run, file, out=out, checkpoint=checkpoint)
    assert (code, message.count("\n")) == (1, 0)
    assert line in message
    assert (kept(checkpoint), bool(before[1]) and out.read_bytes()) == before


def test_new_rows_alone_are_not_taken_for_the_old_ones(text, tmp_path, give_stdin):
    give_stdin(text)
    run("-", out=tmp_path / "out", checkpoint=tmp_path / "kept")
    for new in (text[:500], text.replace("1", "2")):
        give_stdin(new)
        message, code = told(run, "-", out=tmp_path / "out", checkpoint=tmp_path / "kept")
        assert code == 1
        assert "give the same input again, from its start" in message


def test_a_full_disk_leaves_the_checkpoint_before_in_place(file, tmp_path):
    out, checkpoint = tmp_path / "out", tmp_path / "kept"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (47_000, limit[1]))
    try:
        message, code = told(run, file, out=out, checkpoint=checkpoint, batch=50, every=100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (message, code) == (f"error: {checkpoint}: File too large", 1)
    assert sorted(kept(checkpoint)) == ["checkpoint.json", "model-100.ravine"]
    run(file, out=out, checkpoint=checkpoint, batch=50, every=100)
    run(file, out=tmp_path / "whole.out", batch=50)
    assert out.read_bytes() == (tmp_path / "whole.out").read_bytes()


class Follower:
    """Something that happens beside a run that follows a file, step by step, each when the output is that long."""

    def __init__(self, out, *steps):
        self._out, self._reductions = out, steps
        self._thread = threading.Thread(target=self._go)

    def _go(self):
        for n_lines, act in self._reductions:
            end = time.monotonic() + 20
            while time.monotonic() < end and self._out.read_bytes().count(b"\n") < n_lines:
                time.sleep(0.01)
            time.sleep(0.1)
            act()

    def __enter__(self):
        self._out.touch()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._thread.join()


def append(path, lines):
    def act():
        with open(path, "a") as file:
            file.write("".join(lines))

    return act


def ask(number):
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_growing_file_is_followed_by_whole_lines_until_a_signal(text, tmp_path, number):
    file, out = tmp_path / "t.csv", tmp_path / "out"
    lines = text.splitlines(keepends=True)
    file.write_text("a,")
    steps = (
        (0, append(file, ["b,c\n", *lines[1:101], lines[101][:3]])),
        (100, append(file, [lines[101][3:], *lines[102:260]])),
        (200, ask(number)),
    )
    with Follower(out, *steps):
        run(file, out=out, poll=0.02, checkpoint=tmp_path / "kept")
    assert len(records(out)) == 200
    with Follower(out, (200, append(file, lines[260:])), (400, ask(number))):
        run(file, out=out, poll=0.02, checkpoint=tmp_path / "kept")
    assert len(records(out)) == 400
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert out.read_bytes() == _whole_output(text, tmp_path)


def test_rows_of_a_batch_that_is_not_full_are_labeled_at_a_signal_if_nobody_comes_back(file, tmp_path):
    with Follower(tmp_path / "out", (400, ask(signal.SIGTERM))):
        assert len(run(file, out=tmp_path / "out", poll=0.02)) == 450


def test_a_signal_while_a_batch_is_learned_lets_it_be_finished(file, tmp_path, monkeypatch):
    learn = ravine.IncrementalMDH.partial_fit

    def interrupted(self, X):
        os.kill(os.getpid(), signal.SIGTERM)
        return learn(self, X)

    monkeypatch.setattr(ravine.IncrementalMDH, "partial_fit", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    assert len(run(file, out=tmp_path / "out", checkpoint=tmp_path / "kept")) == 100
    assert (tmp_path / "kept" / "model-100.ravine").exists()
    assert signal.getsignal(signal.SIGTERM) == before


def test_files_that_another_process_uses_are_refused_and_left_alone(file, text, tmp_path):
    out, kept = tmp_path / "out", tmp_path / "kept"
    run(file, out=out, checkpoint=kept)
    append(file, text.splitlines(keepends=True)[1:])()
    before = out.read_bytes()
    with alone_with(kept):
        message, code = told(run, file, out=tmp_path / "other", checkpoint=kept)
        assert code == 1
        assert message.startswith(f"error: {kept / 'checkpoint.lock'}: in use by process {os.getpid()} on ")
        assert message.endswith(": wait until it ends, or give another --checkpoint")
        assert not (tmp_path / "other").exists()
    used = Sink(out)
    for options in ({"out": out, "checkpoint": kept}, {"out": out}, {"out": tmp_path / "other", "events": out}):
        message, code = told(run, file, **options)
        assert (message, code) == (f"error: {out}: in use by another process: wait until that process ends", 1)
    used.close()
    assert out.read_bytes() == before
    assert len(run(file, out=out, checkpoint=kept)) == 900
    assert not (kept / "checkpoint.lock").exists()


def test_where_there_are_no_locks_the_user_is_warned_and_the_stream_runs(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ravine._files.lock_file", lambda descriptor: "none")
    assert len(run(file, out=tmp_path / "out", checkpoint=tmp_path / "kept", quiet=False)) == 450
    assert (
        "kept: this file system has no locks: make sure that no other process uses the folder"
        in capsys.readouterr().err
    )


def test_lines_go_into_a_pipe_and_to_standard_output_by_its_name(file, tmp_path, capfd):
    run(file, out=tmp_path / "whole")
    fifo, content = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reading = threading.Thread(target=lambda: content.append(fifo.read_text()))
    reading.start()
    stream(str(file), StreamOptions(TextFormat()), Plan("imdh", out=fifo, n_jobs=1), Screen(True))
    reading.join(20)
    assert content == [(tmp_path / "whole").read_text()]
    stream(str(file), StreamOptions(TextFormat()), Plan("imdh", out=Path("/dev/fd/1"), n_jobs=1), Screen(True))
    assert capfd.readouterr().out == content[0]


def test_a_pipe_that_nobody_reads_can_be_stopped(file, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with Follower(tmp_path / "out", (0, ask(signal.SIGTERM))):
        stream(str(file), StreamOptions(TextFormat()), Plan("imdh", out=tmp_path / "fifo"), Screen(True))
    assert stat.S_ISFIFO(os.stat(tmp_path / "fifo").st_mode)


def test_the_model_of_a_checkpoint_predicts_the_columns_by_their_names(file, tmp_path):
    run(file, out=tmp_path / "out", columns=("a", "c"), checkpoint=tmp_path / "kept")
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    notes = read(saved).notes
    assert notes["columns"]["used"] == ["a", "c"]


FIELDS = st.one_of(st.text("0123456789.,eE+-_ \"'{}[]:naif\r\u00e4"), st.floats().map(repr), st.integers().map(str))


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=4).map(",".join), max_size=8), st.integers(1, 4))
def test_whatever_comes_is_a_row_of_finite_numbers_or_a_bad_row(lines, size):
    raw = "\n".join(["a,b", "1,2", *lines]).encode()
    rows = Rows(Lines(io.BytesIO(raw), "it", Stop()), "it", StreamOptions(TextFormat(), ("a", "b"), (), True), print)
    n_rows = 0
    while (batch := rows.next_batch(size)).n_rows:
        assert batch.first == n_rows
        n_rows += batch.n_rows
        assert sorted([*batch.good, *batch.bad]) == list(range(batch.first, n_rows))
        assert batch.X.shape == (len(batch.good), 2)
        assert np.isfinite(batch.X).all()
    assert n_rows == 1 + sum(not line.isspace() and line != "" for line in lines)
    assert batch.end.length == len(raw)


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=5))
def test_numbers_come_through_csv_and_json_to_the_last_bit(row):
    names = [f"x{j}" for j in range(len(row))]
    for line in (",".join(map(repr, row)), json.dumps(dict(zip(names, row, strict=True)))):
        layout, is_row = find_layout(line.encode(), TextFormat())
        assert is_row
        assert layout.fields == tuple(names)
        assert [layout.number(value) for value in layout.values(line.encode())] == row


def test_the_command_follows_a_file_is_killed_and_goes_on(text, tmp_path):
    file, out, lines = tmp_path / "t.csv", tmp_path / "out", text.splitlines(keepends=True)
    file.write_text("".join(lines[:251]))
    args = ["stream", file, "--follow", "--poll", "0.05", "--method", "imdh", "--jobs", "1", "--out", out]
    args += ["--checkpoint", tmp_path / "kept", "--every", "100"]
    for number, more, n_lines in ((signal.SIGKILL, [], 200), (signal.SIGTERM, lines[251:], 400)):
        with subprocess.Popen([RAVINE, *args], stderr=subprocess.PIPE) as process:
            append(file, more)()
            end = time.monotonic() + 60
            while not (out.exists() and out.read_bytes().count(b"\n") >= n_lines) and time.monotonic() < end:
                time.sleep(0.05)
            message, _ = told(run, file, out=tmp_path / "other", checkpoint=tmp_path / "kept", every=100)
            assert f"in use by process {process.pid} on" in message
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert err.decode() == "400 rows read, 0 bad rows skipped\n"
    run(file, out=out, checkpoint=tmp_path / "kept")
    assert out.read_bytes() == _whole_output(text, tmp_path)


def test_the_command_reads_a_pipe_and_tells_of_a_bad_row_in_one_line():
    rows = b"a,b\n1,2\n3,4\n5,oops\n"
    args = [RAVINE, "stream", "--method", "imdh", "--batch", "2"]
    done = subprocess.run(args, input=rows, capture_output=True, timeout=120)
    assert done.returncode == 1
    assert done.stdout == b'{"row": 0, "cluster": null}\n{"row": 1, "cluster": null}\n'
    assert done.stderr.decode() == (
        "error: standard input: row 2 (counted from 0): column 'b': 'oops' is not a number; correct it, or skip such "
        "rows with --bad-rows skip\n"
    )
