"""A file is followed by its name: through rotation, truncation and removal, and over restarts."""

import os
import time
from itertools import count

import numpy as np
import pytest

from ravine._io import DataError, TextFormat
from ravine.cli import _stream
from ravine.cli._follow import FollowedLines, is_rotated
from ravine.cli._lines import START, Stop, Stopped
from ravine.cli._rows import Rows, StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import Plan, stream
from ravine.datasets import make_blobs

HEADER = "a,b\n"

ROWS = [f"{i},{i % 7}.5\n" for i in range(60)]

SAID_REPLACED = "was replaced by another file: continuing at the beginning of the new file"

SAID_ANEW = "was truncated or rewritten: continuing at its beginning"

SAID_MISSED = "no such file or directory, waiting for it"


class Steps(Stop):
    """Instead of each wait at the end of a file something happens; after the last step the user stops."""

    def __init__(self, *steps):
        super().__init__()
        self._reductions = list(steps)

    def wait_for(self, call, *args):
        if call is not time.sleep:
            return call(*args)
        if not self._reductions:
            self.asked = True
            raise Stopped
        self._reductions.pop(0)()
        return None


def nothing():
    """A look at the file without anything new."""


def put(path, *lines, how="w"):
    def act():
        with open(path, how, encoding="utf-8", newline="") as file:
            file.writelines(lines)

    return act


def append(path, *lines):
    return put(path, *lines, how="a")


def rename(path, to="t.csv.1"):
    return lambda: path.rename(path.with_name(to))


def move_over(path, *lines):
    def act():
        put(path.with_name("new"), *lines)()
        path.with_name("new").replace(path)

    return act


def truncate(path):
    return lambda: os.truncate(path, 0)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "t.csv"


def followed(file, *steps, header=None, skip=False, size=10_000):
    """First column of all rows, and what was said."""
    said = []
    lines = FollowedLines(file, Steps(*steps), 0.1, said.append)
    rows = Rows(lines, str(file), StreamOptions(TextFormat(header=header), (), (), skip), print)
    try:
        batch = rows.next_batch(size)
    finally:
        lines.close()
    return batch.X[:, 0].astype(int).tolist() if batch.X.size else [], said


def assert_said(said, file, expected):
    assert len(said) == len(expected)
    for line, part in zip(said, expected, strict=True):
        assert str(file) in line
        assert part in line


CHANGES = {
    "renamed": (lambda file, *new: [lambda: (rename(file)(), put(file, *new)())], [SAID_REPLACED]),
    "moved over": (lambda file, *new: [move_over(file, *new)], [SAID_REPLACED]),
    "removed": (lambda file, *new: [file.unlink, nothing, put(file, *new)], [SAID_MISSED, SAID_REPLACED]),
    "truncated": (lambda file, *new: [truncate(file), nothing, append(file, *new)], [SAID_ANEW]),
    "truncated and written at once": (lambda file, *new: [put(file, *new)], [SAID_ANEW]),
    "a folder for a while": (
        lambda file, *new: [lambda: (file.unlink(), file.mkdir()), nothing, file.rmdir, put(file, *new)],
        [SAID_MISSED, SAID_REPLACED],
    ),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("start", [HEADER, "\ufeffa,b\r\n", "\r\n\na,b\r\n", "\ufeff", ""], ids=repr)
def test_no_row_is_lost_and_none_comes_twice(file, what, start):
    change, expected = CHANGES[what]
    put(file, HEADER, *ROWS[:20])()
    found, said = followed(file, *change(file, start, *ROWS[20:]), nothing, nothing)
    assert found == list(range(60))
    assert_said(said, file, expected)


def test_files_can_be_replaced_again_and_again(file):
    put(file, HEADER)()
    steps = [step for i in range(20) for step in (move_over(file, HEADER, *ROWS[3 * i : 3 * i + 3]), nothing)]
    found, said = followed(file, *steps, nothing)
    assert found == list(range(60))
    assert_said(said, file, [SAID_REPLACED] * 20)


def test_a_file_that_is_not_there_is_waited_for(file):
    found, said = followed(file, nothing, put(file, HEADER, *ROWS[:3]))
    assert found == [0, 1, 2]
    assert_said(said, file, [SAID_MISSED])


def test_what_is_written_to_the_old_file_after_the_rename_is_read(file):
    put(file, HEADER, *ROWS[:5], "5,")()
    with open(file, "ab", buffering=0) as old:
        steps = [
            rename(file),
            lambda: old.write(b"1.5\n"),
            put(file, *ROWS[8:]),
            lambda: old.write(ROWS[6].encode()),
            lambda: old.write(b"7,"),
            lambda: old.write(b"0.5\n"),
            nothing,
        ]
        found, said = followed(file, *steps, nothing)
    assert found == list(range(60))
    assert_said(said, file, [SAID_MISSED, SAID_REPLACED])


def test_a_last_line_without_end_counts_in_a_replaced_file(file):
    put(file, HEADER, *ROWS[:5], "5,1.5")()
    found, said = followed(file, move_over(file, *ROWS[6:]), nothing, nothing)
    assert found == list(range(60))
    assert_said(said, file, ["the last line of the old file has no newline; it is read as it is", SAID_REPLACED])


def test_a_last_line_without_end_is_lost_in_a_truncated_file(file):
    put(file, HEADER, *ROWS[:5], "5,1.5")()
    found, said = followed(file, truncate(file), append(file, *ROWS[6:]), nothing)
    assert found == [*range(5), *range(6, 60)]
    assert_said(said, file, [f"{SAID_ANEW}; 5 bytes of an incomplete line are lost"])


STARTS = {
    "other order": ("b,a\n", None, "the new file starts with the columns b, a, but the stream has a, b: all"),
    "no names": ("1,2\n", True, "the new file starts with the columns 1, 2, but the stream has a, b: all"),
    "never names": ("a,b\n", False, "row 5 (counted from 0): column 'x0': 'a' is not a number"),
    "a bad row": ("1,x\n", None, "row 5 (counted from 0): column 'b': 'x' is not a number"),
    "open quote": ('"a,b\n', None, "row 5 (counted from 0): this is not a line of CSV"),
}


@pytest.mark.parametrize("what", STARTS)
def test_a_new_file_begins_with_the_same_columns_or_with_a_row(file, what):
    first, header, message = STARTS[what]
    put(file, "" if header is False else HEADER, *ROWS[:5])()
    steps = (move_over(file, first, *ROWS[5:]), nothing, nothing)
    with pytest.raises(DataError) as caught:
        followed(file, *steps, header=header)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_other_columns_are_refused_also_where_bad_rows_are_left_out(file):
    put(file, HEADER, *ROWS[:5])()
    with pytest.raises(DataError, match="starts with the columns b, a"):
        followed(file, move_over(file, "b,a\n", *ROWS[5:]), nothing, nothing, skip=True)


def test_objects_of_json_have_no_header(file):
    lines = [f'{{"a": {i}, "b": 1}}\n' for i in range(20)]
    put(file, *lines[:10])()
    found, _ = followed(file, move_over(file, *lines[10:]), nothing, nothing)
    assert found == list(range(20))


def marks(file, *steps):
    """All lines with the places after them."""
    lines = FollowedLines(file, Steps(*steps), 0.1, lambda text: None)
    found = []
    try:
        for _ in count():
            found.append((lines.next().decode(), lines.mark))  # noqa: PERF401 — ends by an exception
    except Stopped:
        lines.close()
    return found


def rest(file, mark, *steps):
    """The lines after a place, and what was said."""
    said = []
    lines = FollowedLines(file, Steps(*steps), 0.1, said.append)
    found = []
    try:
        lines.skip_to(mark, seek=True)
        for _ in count():
            found.append(lines.next().decode())  # noqa: PERF401 — ends by an exception
    except Stopped:
        pass
    finally:
        lines.close()
    return found, said


def aged(path, seconds):
    os.utime(path, (1e9 + seconds, 1e9 + seconds))


def test_every_place_is_found_again_whether_its_file_was_rotated_before_or_after(file):
    put(file, HEADER, *ROWS[:20])()
    every = marks(file, move_over(file, HEADER, *ROWS[20:40]), nothing, nothing)
    assert [line for line, _ in every] == [HEADER, *ROWS[:20], HEADER, *ROWS[20:40]]
    old, new = file.with_name("t.csv.1"), file.with_name("t.csv-20260131T10:00")
    put(old, HEADER, *ROWS[:20])()
    file.rename(new)
    put(file, *ROWS[40:])()
    aged(old, 1)
    aged(new, 2)
    whole = [line for line, _ in every] + ROWS[40:]
    for i, (_, mark) in enumerate(every):
        if i not in (0, 21):  # the header alone is the beginning of both files
            found, said = rest(file, mark, nothing, nothing, nothing, nothing, nothing)
            assert found == whole[i + 1 :]
            assert f"{file} was replaced since the checkpoint: continuing in {old if i < 21 else new}" == said[0]
    assert rest(file, START, nothing)[0] == ROWS[40:]


def test_a_place_is_not_looked_for_in_other_files(file):
    put(file, HEADER, *ROWS[:20])()
    _, mark = marks(file)[-1]
    for name in ("t.csv.bak", "t.csv.old", "t.csv~", "t.csv.1.gz", "at.csv.1", "t.csv"):
        put(file.with_name(name), *([HEADER, *ROWS] if name != "t.csv" else ["a,b\n"]))()
    with pytest.raises(DataError, match="ends before the position of the checkpoint"):
        rest(file, mark, nothing)
    put(file, HEADER, *reversed(ROWS))()
    with pytest.raises(DataError, match="is not the input that the checkpoint was made from"):
        rest(file, mark, nothing)
    assert is_rotated(file.with_name("t.csv.12"), file)
    assert not is_rotated(file.parent / "sub" / "t.csv.12", file)


def test_a_checkpoint_waits_for_its_file_or_takes_the_one_that_was_renamed(file):
    put(file, HEADER, *ROWS[:20])()
    _, mark = marks(file)[10]
    file.rename(file.with_name("t.csv.1"))
    found, said = rest(file, mark, nothing, put(file, *ROWS[20:]), nothing, nothing)
    assert found == ROWS[10:]
    assert_said(said, file, ["was replaced since the checkpoint", SAID_MISSED, SAID_REPLACED])
    file.unlink()
    file.with_name("t.csv.1").unlink()
    found, said = rest(file, mark, nothing, put(file, HEADER, *ROWS), nothing)
    assert found == ROWS[10:]
    assert_said(said, file, [SAID_MISSED])
    file.rename(file.with_name("t.csv.1"))
    put(file.with_name("t.csv.1"), HEADER)()
    with pytest.raises(DataError, match="does not exist, nor does the file that the checkpoint was made from"):
        rest(file, mark, nothing)


def test_a_stream_that_is_stopped_again_and_again_while_files_are_rotated_is_as_one_of_a_single_file(
    file, tmp_path, monkeypatch
):
    X, _ = make_blobs(400, centers=[[0, 0], [12, 0], [0, 12]], random_state=3)
    rows = [f"{a},{b}\n" for a, b in X.round(3)]
    put(tmp_path / "whole.csv", HEADER, *rows)()
    plan = {"method": "hsdc", "batch": 20, "n_jobs": 1, "every": 40}
    stream(
        str(tmp_path / "whole.csv"),
        StreamOptions(TextFormat()),
        Plan(out=tmp_path / "whole", **plan),
        Screen(quiet=True),
    )
    rng = np.random.default_rng(0)
    n_written, n_runs = 0, 0
    put(file, HEADER)()
    while n_written < len(rows):
        steps = []
        for _ in range(rng.integers(1, 4)):
            n_new = int(rng.integers(1, 60))
            steps.append(append(file, *rows[n_written : n_written + n_new]))
            n_written = min(n_written + n_new, len(rows))
            if rng.random() < 0.5:
                steps += [lambda n=n_written: (rename(file, f"t.csv.{n}")(), put(file, HEADER)()), nothing, nothing]
        if rng.random() < 0.5:  # all of it happens while nobody follows
            for step in steps:
                step()
            steps = [nothing] * 12
        monkeypatch.setattr(_stream, "Stop", lambda steps=steps: Steps(*steps))
        given = Plan(out=tmp_path / "out", checkpoint=tmp_path / "kept", poll=0.1, **plan)
        stream(str(file), StreamOptions(TextFormat()), given, Screen(quiet=True))
        n_runs += 1
    assert n_runs > 3
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
