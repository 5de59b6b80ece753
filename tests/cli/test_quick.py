import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine._io import DataError, TextFormat
from ravine.cli import _quick, _rows
from ravine.cli._layout import BadRow, Layout
from ravine.cli._lines import Lines, Stop
from ravine.cli._quick import FEWEST_LINES, quick_rows
from ravine.cli._rows import Rows, StreamOptions

CSV = Layout(False, ("a", "kind", "b"), ",", ".", "utf-8", ("a", "b"), "kind")
JSON = replace(CSV, is_json=True)
N = FEWEST_LINES


def careful_rows(layout, lines):
    """What the careful conversion gives; None if a row is bad."""
    try:
        records = [layout.record(layout.values(line)) for line in lines]
    except BadRow:
        return None
    return np.array([numbers for numbers, _ in records]), [name for _, name in records]


def assert_same(layout, lines):
    """The quick conversion gives what the careful one gives, or nothing. Returns whether it gives something."""
    quick, careful = quick_rows(layout, lines), careful_rows(layout, lines)
    if quick is not None:
        assert careful is not None
        assert quick[0].tobytes() == careful[0].tobytes()
        assert quick[1] == careful[1]
    return quick is not None


FIELDS = st.one_of(
    st.text("0123456789.,eE+-_ \"'{}[]:naif\r\t\u00e4\u2028\x85\x00"),
    st.floats().map(repr),
    st.floats().map("{:.3f}".format),
    st.integers().map(str),
)


@given(
    st.lists(st.lists(FIELDS, min_size=1, max_size=4).map(",".join), max_size=4),
    st.sampled_from(["utf-8", "latin-1", "cp1252", "utf-7", "utf-8-sig"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_whatever_comes_in_csv_gives_the_same_or_is_left_to_the_careful_conversion(odd, encoding, end):
    lines = [*(f"{i},x,{i}.5" for i in range(N)), *(line.replace("\n", "") for line in odd)]
    lines = [f"{line}{end}".encode(encoding, "replace") for line in lines if not line.isspace() and line]
    assert_same(replace(CSV, encoding=encoding), lines)


@given(st.lists(st.tuples(st.floats(-9e15, 9e15), st.text("abc \u00e4"), st.floats(-9e15, 9e15)), min_size=N))
def test_usual_rows_are_converted_quickly_to_the_last_bit(rows):
    csv = [f"{a!r},{kind},{b!r}\n".encode() for a, kind, b in rows]
    assert assert_same(CSV, csv)
    assert assert_same(JSON, [json.dumps({"a": a, "kind": kind, "b": b}).encode() for a, kind, b in rows])
    with_commas = [line.replace(b",", b";").replace(b".", b",") for line in csv]
    assert assert_same(replace(CSV, delimiter=";", decimal=","), with_commas)


NUMBERS = ["+1", "+-1", "++1", "1e5", "1E+5", ".5", "5.", "-.5", "1e", "0x10", "1_0", "1d5", "1f", "nan(1)", "infinity"]
NUMBERS += ["-0", " 1 ", "\t1", "1\x0b", "1 2", "1e-400", "4.9e-324", "1e400", "\u0663", "0.1000000000000000055", "007"]
NUMBERS += ["2.2250738585072011e-308", "9007199254740991", "123456789012345678.9e-9", "1.", "-", "", "NA", "true"]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_that_is_written_in_an_unusual_way_is_the_same(text):
    assert_same(CSV, [b"1,x,2\n"] * N + [f"{text},x,2\n".encode()])


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers(), max_size=2))


@given(st.lists(st.dictionaries(st.sampled_from(["a", "kind", "b", "c"]), VALUES), max_size=3))
def test_whatever_comes_in_json_gives_the_same_or_is_left_to_the_careful_conversion(odd):
    records = [*({"a": i, "kind": "x", "b": i + 0.5} for i in range(N)), *odd]
    assert_same(JSON, [json.dumps(record).encode() for record in records])


ODD = {
    "quote": b'1,"x",2\n',
    "quoted newline, and a line in two": b'1,"x,2\n',
    "lone CR": b"1,x,2\r3,y,4\n",
    "infinite": b"inf,x,2\n",
    "missing": b",x,2\n",
    "rounded": b"9007199254740993,x,2\n",
    "fields": b"1,x\n",
    "not utf-8": b"1,\xe4,2\n",
    "long field": b"1," + 200_000 * b"x" + b",2\n",
    "no newline": b"1,x,2",
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_line_leaves_its_batch_to_the_careful_conversion(what):
    usual = [b"1,x,2\n"] * N
    assert quick_rows(CSV, usual) is not None
    assert quick_rows(CSV, [usual[0], ODD[what], *usual[1:]]) is None


def test_a_few_lines_and_other_encodings_are_left_to_the_careful_conversion():
    assert quick_rows(CSV, [b"1,x,2\n"] * (N - 1)) is None
    assert quick_rows(replace(CSV, encoding="iso2022_jp"), [b"1,x,2\n"] * N) is None


def test_the_last_line_may_have_no_newline():
    X, classes = quick_rows(CSV, [b"1,x,2\n"] * N + [b"3,,4"])
    assert X[-1].tolist() == [3, 4]
    assert classes == ["x"] * N + [None]


@pytest.mark.parametrize("skip", [False, True])
def test_batches_are_the_same_without_the_quick_conversion(monkeypatch, rng, skip):
    lines = [f"{a!r},k{i % 3},{b!r}\n" for i, (a, b) in enumerate(rng.normal(size=(400, 2)).tolist())]
    if skip:
        lines[70] = lines[333] = "1,oops\n"
    raw = ("a,kind,b\n" + "".join(lines)).encode()

    def batches():
        options = StreamOptions(TextFormat(), skip_bad=skip, label="kind")
        rows = Rows(Lines(io.BytesIO(raw), "it", Stop()), "it", options, print)
        while (batch := rows.next_batch(50)).n_rows:
            yield batch.first, batch.n_rows, batch.good, batch.X.tobytes(), batch.bad, batch.end, batch.classes

    n_quick = []
    quick = _quick.quick_rows
    monkeypatch.setattr(_rows, "quick_rows", lambda *args: n_quick.append(quick(*args) is not None) or quick(*args))
    found = list(batches())
    expected = [False, True, True, True, True, False, True] if skip else [True] * 7
    assert n_quick == [*expected, False]  # there are no lines at the end
    monkeypatch.setattr(_rows, "quick_rows", lambda layout, lines: None)
    assert list(batches()) == found


def test_a_bad_row_that_comes_slowly_is_reported_before_the_batch_is_full(monkeypatch):
    monkeypatch.setattr(_rows, "PATIENCE", 0.0)
    lines = Lines(io.BytesIO(b"a,b\n1,2\n3,4\n5,oops\n" + b"7,8\n" * 50), "it", Stop())
    rows = Rows(lines, "it", StreamOptions(TextFormat()), print)
    rows.next_batch(2)
    with pytest.raises(DataError, match="row 2 "):
        rows.next_batch(50)
    assert lines.next() == b"7,8\n"
    assert lines.mark.length == len(b"a,b\n1,2\n3,4\n5,oops\n7,8\n")
