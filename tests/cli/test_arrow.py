import io
import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ravine
from ravine._io import DataError, TextFormat, UsageError
from ravine.cli._arrow import ArrowStream
from ravine.cli._lines import Stop
from ravine.cli._plan import Plan
from ravine.cli._rows import StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import stream
from ravine.datasets import make_blobs

RAVINE = Path(sysconfig.get_path("scripts")) / "ravine"


@pytest.fixture(scope="module", name="table")
def rows_of_three_blobs_with_their_classes():
    X, y = make_blobs(950, centers=[[0, 0], [12, 0], [0, 12]], random_state=3)
    X = X.round(3)
    return pa.table({"a": X[:, 0], "kind": np.array(["x", "y", "z"])[y], "b": X[:, 1]})


def as_stream(table, size=170, end=True):
    """The bytes of an Arrow stream in record batches of some size, with or without its end."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=size):
            writer.write_batch(batch)
        without_end = sink.getvalue()
    return sink.getvalue() if end else without_end


def as_csv(table):
    lines = [",".join(table.column_names)]
    lines += [",".join("" if value is None else str(value) for value in row.values()) for row in table.to_pylist()]
    return "\n".join(lines) + "\n"


def run(data, folder, *, quiet=True, skip=False, columns=(), drop=(), label="kind", **plan):
    """What the command writes, and its events."""
    folder.mkdir(exist_ok=True)
    out, events = folder / "out", folder / "events"
    options = StreamOptions(TextFormat(), columns, drop, skip, label)
    stream(str(data), options, Plan(out=out, events=events, n_jobs=1, **plan), Screen(quiet))
    return out.read_text(), events.read_text()


@pytest.fixture
def give_stdin(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return give


def test_every_kind_of_arrow_input_gives_what_csv_gives(table, tmp_path, give_stdin):
    (tmp_path / "t.csv").write_text(as_csv(table))
    expected = run(tmp_path / "t.csv", tmp_path / "csv", per_batch=True)
    assert expected[0].count("\n") == 10
    for name, size in (("t.arrows", 170), ("t.arrow", 1), ("t.ipc", 10_000), ("stream", 300)):
        (tmp_path / name).write_bytes(as_stream(table, size))
        assert run(tmp_path / name, tmp_path / f"of {name}", per_batch=True) == expected
    with pa.ipc.new_file(tmp_path / "t.feather", table.schema) as writer:
        writer.write_table(table, 100)
    assert run(tmp_path / "t.feather", tmp_path / "feather", per_batch=True) == expected
    for n, content in enumerate((as_stream(table), (tmp_path / "t.feather").read_bytes(), as_stream(table, end=False))):
        give_stdin(content)
        assert run("-", tmp_path / f"stdin {n}", per_batch=True) == expected


def test_columns_of_all_kinds_of_numbers_are_used_and_others_left_out(tmp_path, capsys):
    n = 100
    columns = {
        "half": pa.array(np.arange(n, dtype=np.float16)),
        "byte": pa.array(np.arange(n, dtype=np.uint8)),
        "price": pa.array([Decimal(i) / 8 for i in range(n)]),
        "flag": pa.array([True] * n),
        "day": pa.array([date(2026, 1, 1)] * n),
        "word": pa.array(["w"] * n).dictionary_encode(),
    }
    (tmp_path / "t.arrows").write_bytes(as_stream(pa.table(columns)))
    run(tmp_path / "t.arrows", tmp_path, checkpoint=tmp_path / "kept", label="word", quiet=False)
    assert "warning: columns left out because they are not numbers: flag, day" in capsys.readouterr().err
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    assert ravine.load(saved).feature_names_in_.tolist() == ["half", "byte", "price"]


BAD = {
    "null": (None, pa.float64(), "column 'a': the value is missing"),
    "nan": (np.nan, pa.float64(), "column 'a': nan is not finite, or its square would overflow"),
    "large": (1e200, pa.float64(), "column 'a': 1e+200 is not finite, or its square would overflow"),
    "null integer": (None, pa.int64(), "column 'a': the value is missing"),
    "rounded": (2**53 + 1, pa.int64(), "column 'a': 9007199254740993 is a whole number that would be rounded"),
    "null decimal": (None, pa.decimal128(12, 3), "column 'a': the value is missing"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("row", [0, 240])
def test_a_bad_row_stops_the_stream_or_is_skipped_as_in_csv(tmp_path, what, row):
    value, kind, why = BAD[what]
    a, b = [i % 7 for i in range(300)], [float(i % 5) for i in range(300)]
    a[row] = value
    (tmp_path / "t.arrows").write_bytes(as_stream(pa.table({"a": pa.array(a, kind), "b": b})))
    with pytest.raises(DataError, match=f"row {row} ") as caught:
        run(tmp_path / "t.arrows", tmp_path / "stopped", label=None)
    assert f": {why}" in str(caught.value)
    out, events = run(tmp_path / "t.arrows", tmp_path / "skipped", label=None, skip=True, checkpoint=tmp_path / "kept")
    assert json.loads(out.splitlines()[row]) == {"row": row, "cluster": None}
    bad = [event for event in map(json.loads, events.splitlines()) if event["kind"] == "bad row"]
    assert [(event["row"], event["why"].startswith(why)) for event in bad] == [(row, True)]
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    assert ravine.load(saved).n_samples_seen_ == 299


def test_large_numbers_that_are_exact_are_used(tmp_path):
    values = [float(2**60), 1e100, -1e149] * 50
    whole = [2**60, 2**53, -(2**61)] * 50
    (tmp_path / "t.arrows").write_bytes(as_stream(pa.table({"a": values, "b": whole})))
    out, _ = run(tmp_path / "t.arrows", tmp_path / "arrow", label=None, method="imdh")
    (tmp_path / "t.csv").write_text(as_csv(pa.table({"a": values, "b": whole})))
    assert out == run(tmp_path / "t.csv", tmp_path / "csv", label=None, method="imdh")[0]


@pytest.mark.parametrize(("values", "names"), [([1, 2, None], {"1", "2"}), ([1.0, 2.5, np.nan], {"1", "2.5"})])
def test_classes_may_be_numbers(tmp_path, values, names):
    table = pa.table({"a": np.arange(300.0), "kind": values * 100})
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    run(tmp_path / "t.arrows", tmp_path, checkpoint=tmp_path / "kept")
    content = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["content"]
    assert {name for _, classes in content["counts"] for name in classes} == names


@pytest.mark.parametrize("by_stdin", [False, True])
@pytest.mark.parametrize("now", [170, 23])
def test_a_stream_that_was_cut_off_continues_exactly(table, tmp_path, give_stdin, by_stdin, now):
    def run_on(content, folder):
        (tmp_path / "t.arrows").write_bytes(content)
        give_stdin(content)
        options = {"batch": 50, "every": 100, "checkpoint": tmp_path / folder / "kept"}
        (tmp_path / folder).mkdir(exist_ok=True)
        return run("-" if by_stdin else tmp_path / "t.arrows", tmp_path / folder, **options)

    whole = run_on(as_stream(table), "whole")
    with pytest.raises(DataError, match="this is not a complete Arrow stream"):
        run_on(as_stream(table)[:-2000], "parts")
    n_lines = (tmp_path / "parts" / "out").read_text().count("\n")
    assert 700 <= n_lines < 950
    assert run_on(as_stream(table, now), "parts") == whole
    kept = [sorted((p.name, p.read_bytes()) for p in (tmp_path / f / "kept").iterdir()) for f in ("whole", "parts")]
    assert kept[0] == kept[1]


def test_a_file_that_has_grown_since_the_checkpoint_continues_at_its_new_rows(table, tmp_path):
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    whole = run(tmp_path / "t.arrows", tmp_path / "whole")
    options = {"checkpoint": tmp_path / "kept"}
    (tmp_path / "t.arrows").write_bytes(as_stream(table.slice(0, 500), end=False))
    run(tmp_path / "t.arrows", tmp_path / "parts", **options)
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    assert run(tmp_path / "t.arrows", tmp_path / "parts", **options) == whole


OTHER = {
    "other rows": (lambda table: table.slice(1), "is not the input that the checkpoint was made from"),
    "fewer rows": (lambda table: table.slice(0, 900), "ends before the position of the checkpoint, row 950: give"),
    "other columns": (lambda table: table.rename_columns(["a", "kind", "c"]), "does not have the columns of the input"),
}


@pytest.mark.parametrize("what", OTHER)
def test_another_input_is_refused(table, tmp_path, what):
    change, line = OTHER[what]
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    before = run(tmp_path / "t.arrows", tmp_path, checkpoint=tmp_path / "kept")
    new = pa.concat_tables([change(table), table.slice(0, 1).rename_columns(change(table).column_names)])
    (tmp_path / "t.arrows").write_bytes(as_stream(change(table) if what == "fewer rows" else new))
    with pytest.raises(DataError, match=line):
        run(tmp_path / "t.arrows", tmp_path, checkpoint=tmp_path / "kept")
    assert ((tmp_path / "out").read_text(), (tmp_path / "events").read_text()) == before


def test_a_checkpoint_of_arrow_is_not_continued_with_csv(table, tmp_path):
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    run(tmp_path / "t.arrows", tmp_path, checkpoint=tmp_path / "kept")
    (tmp_path / "t.csv").write_text(as_csv(table))
    with pytest.raises(DataError, match="is not the input that the checkpoint was made from"):
        run(tmp_path / "t.csv", tmp_path, checkpoint=tmp_path / "kept")


def test_what_is_not_a_stream_is_refused_with_advice(table, tmp_path, give_stdin):
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", np.ones((3, 2)))
    for name, what in (("t.parquet", "a Parquet file"), ("t.npy", "a NumPy array")):
        advice = f"{what} is not a stream of rows: cluster it as a table with ravine cluster, or write it as "
        with pytest.raises(UsageError, match=advice):
            run(tmp_path / name, tmp_path / "refused")
        assert not (tmp_path / "refused" / "out").exists()
        give_stdin((tmp_path / name).read_bytes())
        with pytest.raises(UsageError, match=f"standard input: {advice}"):
            run("-", tmp_path)
    (tmp_path / "t.arrow").write_text(as_csv(table))
    with pytest.raises(DataError, match=r"t\.arrow: this is not a complete Arrow stream"):
        run(tmp_path / "t.arrow", tmp_path)


@pytest.mark.parametrize("name", ["t.arrows", "t.log"])
def test_an_arrow_file_cannot_be_followed(table, tmp_path, name):
    (tmp_path / name).write_bytes(as_stream(table))
    with pytest.raises(UsageError, match=r"--follow reads lines of text, but .* is in Arrow format: pipe the Arrow"):
        run(tmp_path / name, tmp_path / "refused", poll=0.1)
    with pytest.raises(UsageError, match="--follow reads lines of text"):
        run(tmp_path / "not yet there.arrows", tmp_path / "refused", poll=0.1)


def test_columns_that_cannot_be_used_are_refused(table, tmp_path):
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    with pytest.raises(UsageError, match="there is no column 'c'; choose from a, kind, b"):
        run(tmp_path / "t.arrows", tmp_path, columns=("c",))
    with pytest.raises(DataError, match="the column 'kind' has the type string, which is not a number"):
        run(tmp_path / "t.arrows", tmp_path, columns=("kind", "a"), label=None)
    with pytest.raises(DataError, match="none of the columns a, kind, b contains numbers"):
        run(tmp_path / "t.arrows", tmp_path, drop=("a", "b"))
    nested = pa.table({"a": [1.0, 2.0], "kind": [[1], [2]]})
    (tmp_path / "t.arrows").write_bytes(as_stream(nested))
    with pytest.raises(DataError, match=r"the column 'kind' has the type list<.*>: give a column of texts"):
        run(tmp_path / "t.arrows", tmp_path)
    (tmp_path / "t.arrows").write_bytes(as_stream(pa.Table.from_arrays([pa.array([1.0])] * 2, ["a", "a"])))
    with pytest.raises(DataError, match="the column name 'a' occurs twice"):
        run(tmp_path / "t.arrows", tmp_path, label=None)


def test_rows_behind_the_end_of_the_stream_are_reported(table, tmp_path, capsys):
    (tmp_path / "t.arrows").write_bytes(as_stream(table) + as_stream(table))
    run(tmp_path / "t.arrows", tmp_path, quiet=False)
    told = capsys.readouterr()
    assert "there are data behind the end of the Arrow stream, which are not read" in told.err
    assert "950 rows read" in told.out


def test_a_stream_without_rows_is_no_error(table, tmp_path):
    (tmp_path / "t.arrows").write_bytes(as_stream(table.slice(0, 0)))
    assert run(tmp_path / "t.arrows", tmp_path) == ("", "")


def test_a_signal_while_waiting_for_rows_is_heeded(table, tmp_path):
    reading, writing = os.pipe()
    os.write(writing, as_stream(table.slice(0, 100), 100, end=False))
    stop = Stop()
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with stop.on_signals(), open(reading, "rb") as file:
        rows = ArrowStream(file, "pipe", stop, print)
        timer.start()
        taken = rows.take(150)
    os.close(writing)
    assert (len(taken), rows.stopped) == (100, True)


def test_the_command_reads_arrow_from_a_pipe_is_killed_and_continues(table, tmp_path):
    args = [RAVINE, "stream", "-", "--jobs", "1", "--label", "kind", "--out", tmp_path / "out", "--every", "200"]
    args += ["--events", tmp_path / "events", "--checkpoint", tmp_path / "kept"]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(as_stream(table.slice(0, 680), end=False))
        process.stdin.flush()
        end = time.monotonic() + 60
        while time.monotonic() < end and not (tmp_path / "kept" / "model-600.ravine").exists():
            time.sleep(0.05)
        process.kill()
    subprocess.run(args, input=as_stream(table, 99), check=True, stderr=subprocess.DEVNULL, timeout=120)
    (tmp_path / "t.arrows").write_bytes(as_stream(table))
    assert run(tmp_path / "t.arrows", tmp_path / "whole") == tuple(
        (tmp_path / f).read_text() for f in ("out", "events")
    )
