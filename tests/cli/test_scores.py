import json

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

import ravine
from ravine._io import DataError, TextFormat, UsageError
from ravine.cli import _scores
from ravine.cli._layout import Layout
from ravine.cli._plan import Plan
from ravine.cli._rows import StreamOptions
from ravine.cli._scores import Scores, batch_scores
from ravine.cli._screen import Screen
from ravine.cli._stream import stream
from ravine.datasets import make_blobs
from ravine.evaluation import evaluate
from ravine.metrics import purity

CLASSES = np.array(["low", "high", "far"])


@pytest.fixture(scope="module", name="rows")
def rows_and_classes():
    X, y = make_blobs(1200, centers=[[0, 0], [4, 0], [0, 9]], random_state=0)
    return X.round(4), CLASSES[y]


def write(path, X, y):
    path.write_text("a,kind,b\n" + "".join(f"{a},{kind},{b}\n" for (a, b), kind in zip(X, y, strict=True)))


def run(folder, *, skip=False, label="kind", quiet=True, **plan):
    plan = Plan(out=folder / "out", events=folder / "events", n_jobs=1, **plan)
    stream(str(folder / "t.csv"), StreamOptions(TextFormat(), (), (), skip, label), plan, Screen(quiet))
    return [json.loads(line) for line in (folder / "out").read_text().splitlines()]


def test_scores_of_batches_are_those_of_an_evaluation_with_segments_of_that_length(rows, tmp_path):
    X, y = rows
    write(tmp_path / "t.csv", X, y)
    found = run(tmp_path, per_batch=True)
    assert found[0].items() >= {"purity": None, "v_measure": None}.items()
    expected = evaluate(ravine.StreamClusterer(), X, y, segment=100, every=100, metrics=["purity", "v_measure"])
    assert len(expected.records) == 11
    for line, record in zip(found[1:], expected.records, strict=True):
        assert (line["purity"], line["v_measure"]) == (record["purity"], record["v_measure"])


def test_scores_at_the_end_are_those_of_all_rows_that_were_labeled(rows, tmp_path, capsys):
    write(tmp_path / "t.csv", *rows)
    found = [record["cluster"] for record in run(tmp_path, quiet=False)][100:]
    y = rows[1][100:]
    said = f"purity {purity(y, found):.3f}, V-measure {v_measure_score(y, found):.3f} on 1,100 rows that were labeled"
    assert said in capsys.readouterr().out


def test_the_scores_on_the_page_about_streams_are_those_of_its_rows(tmp_path, capsys):
    rng = np.random.default_rng(5)
    state = rng.integers(4, size=12_000)
    before = np.array([[20, 1.0, 300], [32, 1.0, 300], [20, 2.2, 300], [20, 1.0, 420]])
    after = np.vstack([before[0], [26, 1.3, 330], before[2:]])
    centers = np.where(np.arange(12_000)[:, None] < 6_000, before[state], after[state])
    readings = centers + [1, 0.1, 10] * rng.normal(size=(12_000, 3))
    np.savetxt(tmp_path / "t.csv", np.column_stack([readings, state]), delimiter=",", header="t,p,s,state", comments="")
    run(tmp_path, per_batch=True, quiet=False, label="state")
    assert "\npurity 0.993, V-measure 0.968 on 11,900 rows that were" in capsys.readouterr().out


def test_the_classes_are_not_learned_even_if_they_are_numbers(rows, tmp_path):
    X, y = rows
    write(tmp_path / "t.csv", X, np.unique(y, return_inverse=True)[1])
    run(tmp_path, checkpoint=tmp_path / "kept")
    (saved,) = (tmp_path / "kept").glob("*.ravine")
    assert ravine.load(saved).feature_names_in_.tolist() == ["a", "b"]


def test_rows_without_a_class_are_labeled_and_learned_but_not_scored(rows, tmp_path, capsys):
    X, y = rows
    write(tmp_path / "t.csv", X, y)
    all_known = run(tmp_path)
    (tmp_path / "out").unlink()
    known = np.arange(1200) % 3 == 0
    write(tmp_path / "t.csv", X, np.where(known, y, ["", " ", "NA"] * 400))
    found = run(tmp_path, quiet=False)
    assert found == all_known
    clusters = np.array([record["cluster"] for record in found[100:]])[known[100:]]
    said = f"purity {purity(y[100:][known[100:]], clusters):.3f}, V-measure "
    assert said in (printed := capsys.readouterr().out)
    assert f" on {known[100:].sum()} rows that were labeled before they were learned" in printed
    write(tmp_path / "t.csv", X, [""] * 1200)
    run(tmp_path, quiet=False, per_batch=True)
    assert "no scores: no row with a class in 'kind' was labeled" in capsys.readouterr().out


def test_bad_rows_are_not_scored(rows, tmp_path, capsys):
    X, y = rows
    write(tmp_path / "t.csv", X, y)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    (tmp_path / "t.csv").write_text("\n".join([*lines[:500], "oops,low,1", "1", *lines[500:]]))
    run(tmp_path, skip=True, quiet=False)
    assert " on 1,102 rows" not in (printed := capsys.readouterr().out)
    assert " on 1,100 rows" in printed


def test_scores_are_the_same_after_a_run_that_was_stopped(rows, tmp_path, capsys):
    write(tmp_path / "t.csv", *rows)
    whole = (tmp_path / "t.csv").read_text()
    run(tmp_path, quiet=False, per_batch=True)
    expected, lines = capsys.readouterr().out, (tmp_path / "out").read_text()
    (tmp_path / "out").unlink()
    kept = {"checkpoint": tmp_path / "kept", "every": 200}
    (tmp_path / "t.csv").write_text("".join([*whole.splitlines(keepends=True)[:777], "stop,it,here\n"]))
    for _ in range(2):
        with pytest.raises(DataError, match="row 776 "):
            run(tmp_path, per_batch=True, **kept)
    (tmp_path / "t.csv").write_text(whole)
    run(tmp_path, quiet=False, per_batch=True, **kept)
    assert (tmp_path / "out").read_text() == lines
    assert capsys.readouterr().out == expected


def test_a_checkpoint_with_another_column_of_classes_is_refused(rows, tmp_path):
    write(tmp_path / "t.csv", *rows)
    run(tmp_path, checkpoint=tmp_path / "kept")
    with pytest.raises(UsageError, match="was made with --label kind, but this command has no --label"):
        run(tmp_path, checkpoint=tmp_path / "kept", label=None)


def test_a_column_that_does_not_exist_or_has_no_classes_is_refused(rows, tmp_path):
    X, _ = rows
    write(tmp_path / "t.csv", X, [f"id {i}" for i in range(1200)])
    with pytest.raises(UsageError, match="there is no column 'class'; choose from a, kind, b"):
        run(tmp_path, label="class")
    with pytest.raises(DataError, match="the column 'kind' has more than 1,000 different values: give a column of cl"):
        run(tmp_path)


def test_the_table_is_bounded_and_forgets_the_cluster_without_rows_for_longest(monkeypatch):
    monkeypatch.setattr(_scores, "MOST_CLUSTERS", 3)
    scores = Scores("kind")
    for clusters in ([0, 1], [2], [0], [3], [0, 0]):
        scores.add(clusters, ["x"] * len(clusters))
    assert scores.counts == [(2, {"x": 1}), (3, {"x": 1}), (0, {"x": 4})]
    assert Scores("kind", json.loads(json.dumps(scores.counts))).counts == scores.counts


def test_scores_of_a_batch_by_hand():
    assert batch_scores([0, 0, 0, 1, 1], ["a", "a", "b", "b", None])["purity"] == 0.75
    assert batch_scores([], []) == batch_scores([1], [None]) == {"purity": None, "v_measure": None}


@pytest.mark.parametrize(
    ("value", "name"),
    [(" a ", "a"), ("", None), ("?", None), (None, None), (float("nan"), None), (1, "1"), (1.0, "1"), (True, "true")],
)
def test_classes_of_json_and_csv_are_texts(value, name):
    assert Layout(True, (), "", ".", "utf-8").class_of(value) == name
