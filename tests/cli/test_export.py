"""The command export writes what the functions of `ravine.export` give, and destroys no file."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.test_startup import HEAVY, ravine_alone
from tests.commands import ravine_in_this_process as ravine
from tests.export.readers import outputs_of

from ravine import NCutH, SumOfNorms, load, save
from ravine.export import to_json, to_python, to_sql
from ravine.prepare import TableEncoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(0)
    is_far = np.arange(200) % 2 == 0
    spend = np.where(is_far, 300, 100) + 5 * rng.normal(size=200)
    table = pd.DataFrame({"age": np.where(is_far, 60, 20) + rng.normal(size=200), 'spend "€"': spend})
    table.to_csv(folder / "table.csv", index=False)
    save(NCutH(n_clusters=2, assign_labels="mixture").fit(table), folder / "model.ravine")
    save(make_pipeline(TableEncoder(), NCutH(n_clusters=2)).fit(table), folder / "table.ravine", resume=False)
    save(make_pipeline(StandardScaler(), NCutH(n_clusters=2)).fit(table), folder / "scaled.ravine")
    save(SumOfNorms(n_clusters=2).fit(table[:30]), folder / "norms.ravine")
    return folder


MODELS = ["model", "table", "scaled"]


@pytest.mark.parametrize("name", MODELS)
def test_text_is_that_of_the_functions(name, folder, tmp_path):
    model = load(folder / f"{name}.ravine")
    writers = {
        "sql": lambda: to_sql(model, "rows") + ";\n",
        "python": lambda: to_python(model),
        "json": lambda: to_json(model) + "\n",
    }
    for kind, write in writers.items():
        out = tmp_path / f"out.{kind}"
        assert ravine("export", folder / f"{name}.ravine", "--to", kind, "--output", out) == 0
        assert out.read_text(encoding="utf-8") == write()


def test_text_goes_to_standard_output_by_default(folder, capfdbinary):
    assert ravine("export", folder / "model.ravine", "--to", "sql", "--dialect", "sqlite", "--table", "a b") == 0
    sql = capfdbinary.readouterr().out.decode()
    assert sql == to_sql(load(folder / "model.ravine"), "a b", "sqlite") + ";\n"
    table = pd.read_csv(folder / "table.csv")
    with sqlite3.connect(":memory:") as connection:
        table.to_sql("a b", connection, index=False)
        found = [row[-1] for row in connection.execute(sql)]
    assert found == load(folder / "model.ravine").predict(table).tolist()


@pytest.mark.parametrize("input_type", ["float64", "float32"])
def test_onnx_is_a_file_that_runs(input_type, folder, tmp_path):
    out = tmp_path / "model.onnx"
    assert ravine("export", folder / "model.ravine", "--to", "onnx", "--out", out, "--input-type", input_type) == 0
    rows = pd.read_csv(folder / "table.csv").to_numpy(dtype=input_type)
    found = outputs_of(onnx.load(out), {"X": rows})[0]
    assert (found == load(folder / "model.ravine").tree_.predict(rows)).all()


def test_onnx_needs_a_name(folder, capsys):
    assert ravine("export", folder / "model.ravine", "--to", "onnx") == 2
    assert "--to onnx writes a file that is no text: give its name with --out" in capsys.readouterr().err


def test_result_is_json_on_request(folder, tmp_path, capsys):
    out = tmp_path / "model.py"
    assert ravine("export", folder / "model.ravine", "--to", "python", "--out", out, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"columns": ["age", 'spend "€"'], "n_clusters": 2, "files": {"export": str(out)}}


def test_model_is_not_overwritten(folder, capsys):
    before = (folder / "model.ravine").read_bytes()
    for name in (folder / "model.ravine", folder / "." / "model.ravine"):
        assert ravine("export", folder / "model.ravine", "--to", "json", "--out", name) == 2
        assert "is the same file as MODEL" in capsys.readouterr().err
    assert (folder / "model.ravine").read_bytes() == before


def test_file_is_kept_after_an_error(folder, tmp_path, capsys):
    out = tmp_path / "out.sql"
    out.write_text("mine")
    assert ravine("export", folder / "norms.ravine", "--to", "sql", "--out", out) == 1
    assert "SumOfNorms has no tree of cuts" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [out]


def test_means_fill_gaps_as_in_ravine_predict(folder, tmp_path):
    table = pd.read_csv(folder / "table.csv")
    table.loc[::9, "age"] = np.nan
    table.to_csv(tmp_path / "gaps.csv", index=False)
    model, labels, script = (tmp_path / name for name in ("gaps.ravine", "labels.csv", "labels.py"))
    assert ravine("cluster", tmp_path / "gaps.csv", "--missing", "mean", "--model", model, "--out", labels, "-q") == 0
    assert ravine("export", model, "--to", "python", "--out", script, "-q") == 0
    scope = {}
    exec(script.read_text(encoding="utf-8"), scope)
    assert [scope["cluster_of"](row) for row in table.to_numpy().tolist()] == pd.read_csv(labels)["cluster"].tolist()


def test_words_that_were_encoded_by_hand_are_refused(folder, tmp_path, capsys):
    table = pd.read_csv(folder / "table.csv").assign(word=np.where(np.arange(200) % 3, "a", "b"))
    table.to_csv(tmp_path / "words.csv", index=False)
    model = tmp_path / "words.ravine"
    assert (
        ravine("cluster", tmp_path / "words.csv", "--encode", "--model", model, "--out", tmp_path / "l.csv", "-q") == 0
    )
    assert ravine("export", model, "--to", "json") == 1
    assert "its column 'word' has words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "kind"), [("table", "sql"), ("model", "python"), ("model", "json"), ("table", "onnx")]
)
def test_export_of_a_saved_tree_imports_no_estimators(name, kind, folder, tmp_path):
    out = tmp_path / "out"
    code, _, _, modules = ravine_alone("export", folder / f"{name}.ravine", "--to", kind, "--out", out)
    assert code == 0
    assert modules.isdisjoint((*HEAVY, "numba"))


def test_without_onnx_the_command_says_what_to_install(folder, tmp_path):
    code = (
        "import sys; sys.modules['onnx'] = None\nfrom ravine.cli import main\n"
        f"sys.argv = ['ravine', 'export', {str(folder / 'model.ravine')!r}, '--to', 'onnx', '--out', "
        f"{str(tmp_path / 'out.onnx')!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == "error: to_onnx needs onnx: pip install 'ravine[export]'"
