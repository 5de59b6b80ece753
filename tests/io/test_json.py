"""How deep JSON lines are nested is counted before they are parsed."""

import gzip
import io
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import ravine_in_this_process

from ravine._io import DataError
from ravine._io._json import DEEPEST, LONGEST_LINE, ShallowLines


def read(content, sizes=(1 << 20,)):
    lines, parts = ShallowLines(io.BytesIO(content), "it"), []
    while part := lines.read(sizes[len(parts) % len(sizes)]):
        parts.append(part)
    return b"".join(parts)


def depth(line):
    """The slow, obvious twin: letter by letter."""
    deepest = level = 0
    in_string = escaped = False
    for letter in line:
        if in_string:
            in_string = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_string, escaped = True, False
        elif letter in "[{":
            level += 1
            deepest = max(deepest, level)
        elif letter in "]}":
            level -= 1
    return deepest


pieces = st.sampled_from(["[" * 60, "]" * 60, "{", "}", '"', '\\"', "\\\\", "\n", "1,", "a" * 30, "[" * 101, '"[[["'])


@given(st.lists(pieces, max_size=12), st.lists(st.integers(1, 90), min_size=1, max_size=4))
def test_depth_is_that_of_a_reader_letter_by_letter(parts, sizes):
    text = "".join(parts)
    if max(map(depth, text.split("\n"))) > DEEPEST:
        with pytest.raises(
            DataError, match="it: a line nests its values more than 100 deep: each line must be one JSON"
        ):
            read(text.encode(), sizes)
    else:
        assert read(text.encode(), sizes) == text.encode()


@pytest.mark.parametrize("sizes", [(1 << 20,), (7, 1, 300)])
def test_brackets_in_strings_and_beside_each_other_are_not_nested(sizes):
    rows = [{"a": "[" * 500}, {"a": '"[' * 300}, {"a": "\\", "b": "[" * 200}, {"a": [[i] for i in range(400)]}]
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert read(content, sizes) == content


def test_a_line_without_end_is_refused():
    with pytest.raises(DataError, match="a line has more than 16,777,216 bytes"):
        read(b" " * (LONGEST_LINE + 1))


PLAIN = b'{"a":1,"b":2}\n' * 100_000  # more than one block
NESTED = b'{"a":1,"b":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"


def test_nested_lines_end_in_a_message_and_not_in_a_crash(tmp_path):
    (tmp_path / "t.jsonl").write_bytes(NESTED)
    code = "import sys; from ravine._io import open_tables\nwith open_tables(sys.argv[1:]) as tables: tables[0].schema"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "t.jsonl"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "DataError" in done.stderr
    assert "t.jsonl: a line nests its values more than 100 deep" in done.stderr


@pytest.mark.parametrize("options", [[], ["--method", "ncuth", "--in-passes"]], ids=["in memory", "in passes"])
@pytest.mark.parametrize("name", ["2.jsonl", "2.jsonl.gz", "2"])
def test_nested_lines_are_found_wherever_they_stand(name, options, tmp_path, capsys):
    (tmp_path / "1.jsonl").write_bytes(PLAIN)
    content = PLAIN + NESTED
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    assert ravine_in_this_process("cluster", tmp_path / "1.jsonl", tmp_path / name, "--quiet", *options) == 1
    assert f"{name}: a line nests its values more than 100 deep" in capsys.readouterr().err
