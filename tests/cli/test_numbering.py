import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ravine
from ravine._io import TextFormat
from ravine.cli import _numbering
from ravine.cli._numbering import Numbering
from ravine.cli._plan import Plan
from ravine.cli._rows import StreamOptions
from ravine.cli._screen import Screen
from ravine.cli._stream import stream
from ravine.datasets import make_blobs


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 60))
def test_a_learned_row_has_its_number_in_the_input_also_after_a_checkpoint(is_bad, stop):
    numbering = Numbering()
    numbering.skip(row for row, bad in enumerate(is_bad) if bad and row < stop)
    numbering = Numbering(json.loads(json.dumps(numbering.runs)))
    numbering.skip(row for row, bad in enumerate(is_bad) if bad and row >= stop)
    learned = [row for row, bad in enumerate(is_bad) if not bad]
    assert [numbering.row(n) for n in range(len(learned))] == learned


def test_memory_is_bounded_recent_numbers_are_exact_and_old_ones_a_little_early(monkeypatch, rng):
    monkeypatch.setattr(_numbering, "MOST_RUNS", 64)
    is_bad = rng.random(20_000) < 0.3
    numbering = Numbering()
    for start in range(0, 20_000, 100):
        numbering.skip(start + np.flatnonzero(is_bad[start : start + 100]))
        assert len(numbering.runs) <= 64
    learned = np.flatnonzero(~is_bad)
    found = np.array([numbering.row(n) for n in range(len(learned))])
    recent = numbering.runs[-32][0]
    assert (found[recent:] == learned[recent:]).all()
    assert (found <= learned).all()
    assert (found >= np.arange(len(learned))).all()
    assert (np.diff(found) >= 1).all()


def test_events_without_since_and_words_keep_their_keys():
    numbering = Numbering([(2, 3)])
    assert numbering.renumbered({"kind": "drift", "row": np.int64(4), "node": 1}) == {
        "kind": "drift",
        "row": 7,
        "node": 1,
    }


@pytest.fixture(scope="module")
def learned():
    """Rows of which a cluster vanishes, and the model that learned them."""
    X, y = make_blobs(6000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X = X[(y != 0) | (np.arange(6000) < 3000)].round(4)
    model = ravine.StreamClusterer()
    for start in range(0, len(X), 100):
        model.partial_fit(X[start : start + 100])
    return X, model


@pytest.mark.parametrize("every", [200, 100_000])
def test_rows_in_events_and_their_words_are_those_of_the_input(learned, tmp_path, every):
    X, model = learned
    is_bad = np.random.default_rng(1).random(2 * len(X)) < 0.2
    lines, row_of = ["a,b"], []
    rows = iter(X.tolist())
    for row, bad in enumerate(is_bad):
        values = None if bad else next(rows, None)
        if values is None and not bad:
            break
        lines.append("oops,1" if bad else f"{values[0]},{values[1]}")
        row_of += [] if bad else [row]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    plan = Plan(out=tmp_path / "out", events=tmp_path / "events", checkpoint=tmp_path / "kept", every=every)
    options = StreamOptions(TextFormat(), skip_bad=True)
    assert is_bad[[2, 9]].all()
    lines[1 + 9] = "1,2,3"  # found before row 2, which is found to be bad only when the columns are chosen
    for n_lines in (5000, len(lines)) if every == 200 else (len(lines),):
        (tmp_path / "t.csv").write_text("\n".join(lines[: n_lines + 1]) + "\n")
        stream(str(tmp_path / "t.csv"), options, plan, Screen(quiet=True))
    found = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    found = [event for event in found if event["kind"] != "bad row"]
    assert [event["kind"] for event in found] == [event["kind"] for event in model.events_]
    assert "vanished" in [event["kind"] for event in found]
    for event, expected in zip(found, model.events_, strict=True):
        assert event.keys() == expected.keys()
        assert event["row"] == row_of[expected["row"]]
        assert event["since"] == row_of[expected["since"]]
        old, new = str(expected["since"]), str(event["since"])
        assert event["text"] == (expected["text"].replace(f"row {old}", f"row {new}"))
