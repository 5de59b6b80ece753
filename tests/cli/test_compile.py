import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import ravine_in_this_process

from ravine._kernels._watch import begin, end, on_compilation
from ravine.cli import _compile

ROOT = Path(__file__).parents[2]

FIT_ALL = """
import warnings
import numpy as np
from ravine._kernels._watch import on_compilation
from sklearn.base import is_classifier
import ravine
from tests.estimators import CLASSES

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
X = np.vstack([rng.normal(center, 1, size=(250, 10)) for center in (0, 4, 8, 12)])
y = np.where(np.arange(len(X)) % 10 == 0, (np.arange(len(X)) >= 500).astype(int), -1)
for Estimator in CLASSES:
    for params in ({}, {"n_clusters": 4}):
        if set(params) <= set(Estimator().get_params()):
            for dtype in (np.float64, np.float32):
                model = Estimator(**params)
                n_rows = 200 if Estimator.__name__ in ("SumOfNorms", "SupportVectorClustering") else len(X)
                table = X[:: len(X) // n_rows].astype(dtype)
                with on_compilation(lambda name: name and print(Estimator.__name__, params, dtype.__name__, name)):
                    model.fit(table, y[:: len(X) // n_rows]) if is_classifier(model) else model.fit(table)
                    model.predict(table)
"""


def run(*args, folder):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, *args], cwd=ROOT, env=env, capture_output=True, text=True, check=True)


def test_no_fit_compiles_after_the_command(tmp_path):
    command = "from ravine.cli import main; import sys; sys.argv = ['ravine', 'compile', '--json']; main()"
    told = json.loads(run("-c", command, folder=tmp_path).stdout)
    assert told["n_kernels"] > 100
    assert all(folder.startswith(str(tmp_path)) for folder in told["folders"])
    assert run("-c", FIT_ALL, folder=tmp_path).stdout == ""
    assert json.loads(run("-c", command, folder=tmp_path).stdout)["n_kernels"] == 0


def test_a_fit_compiles_without_the_command(tmp_path):
    code = """
import numpy as np, ravine
from ravine._kernels._watch import on_compilation
with on_compilation(print):
    ravine.PDDP(2).fit(np.eye(20, 3))
"""
    lines = run("-c", code, folder=tmp_path).stdout.split()
    assert "walk" in lines
    assert lines[-1] == "None"


def test_no_writable_folder_is_an_error_that_says_what_to_set(monkeypatch, capsys):
    monkeypatch.setattr(_compile, "cache_folders", list)
    assert ravine_in_this_process("compile") == 2
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err


@pytest.mark.parametrize("quiet", [True, False])
def test_command_says_where_the_kernels_are(monkeypatch, capsys, tmp_path, quiet):
    monkeypatch.setattr(_compile, "cache_folders", lambda: [tmp_path])
    monkeypatch.setattr(_compile, "all_fits", lambda: iter([lambda: (begin("walk"), end())]))
    assert ravine_in_this_process("compile", *(["--quiet"] if quiet else [])) == 0
    said = capsys.readouterr().out
    assert said == ("" if quiet else f"Compiled 1 kernel in 0 s.\nThey are in {tmp_path}\n")


def test_kernels_without_a_cache_have_no_folder(monkeypatch):
    monkeypatch.setattr(_compile._kernels, "__all__", ["_watch"])
    assert _compile.cache_folders() == []


def test_listeners_hear_the_first_and_the_last_of_nested_compilations():
    heard = []
    with on_compilation(heard.append):
        begin("outer")
        begin("inner")
        end()
        assert heard == ["outer", "inner"]
        end()
    begin("unheard")
    end()
    assert heard == ["outer", "inner", None]
