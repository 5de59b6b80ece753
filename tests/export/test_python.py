import ast
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from ravine import PDDP, NCutH
from ravine.export import to_python

X = load_iris().data


@pytest.fixture(scope="module")
def model():
    return NCutH(n_clusters=3, assign_labels="mixture").fit(load_iris(as_frame=True).data)


def function_of(source, name="cluster_of"):
    scope = {}
    exec(source, scope)
    return scope[name]


def test_function_of_a_tree_is_short():
    source = to_python(PDDP(n_clusters=3, criterion="mean").fit(X))
    (function,) = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert function.end_lineno - function.lineno < 24


def test_source_needs_only_the_standard_library(model, tmp_path):
    script = tmp_path / "labels.py"
    script.write_text(f"{to_python(model)}\nprint([cluster_of(row) for row in {X[:5].tolist()}])\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", "-S", str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(model.tree_.predict(X[:5]).tolist())


def test_row_can_be_a_dict(model):
    found = function_of(to_python(model))
    names = [str(name) for name in model.feature_names_in_]
    for row, label in zip(X.tolist(), model.labels_, strict=True):
        cells = dict(zip(names, row, strict=True), more="ignored")
        assert found(cells) == found(np.array(row)) == label


def test_rows_that_predict_refuses_are_errors(model):
    found = function_of(to_python(model))
    for cell in (None, np.nan, np.inf):
        with pytest.raises(ValueError, match="missing or infinite"):
            found([cell, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="3 cells, but the model has 4 columns"):
        found([1.0, 1.0, 1.0])


def test_names_of_columns_cannot_run():
    data = load_iris(as_frame=True).data
    data.columns = ["'] + [print(1)] #", "\\", '"""', "a\nimport os"]
    model = PDDP(n_clusters=2).fit(data)
    source = to_python(model)
    (columns,) = [node for node in ast.parse(source).body if isinstance(node, ast.Assign)][:1]
    assert ast.literal_eval(columns.value) == list(data.columns)
    assert [function_of(source)(row) for row in X[::10].tolist()] == model.labels_[::10].tolist()


def test_function_has_the_name_that_is_asked_for():
    model = PDDP(n_clusters=2).fit(X)
    assert function_of(to_python(model, function_name="kind"), "kind")(X[0].tolist()) == model.labels_[0]
    for name in ("def", "a b", "NODES", "isfinite", "len"):
        with pytest.raises(ValueError, match="function_name="):
            to_python(model, function_name=name)


def test_the_same_model_gives_the_same_source(model):
    again = NCutH(n_clusters=3, assign_labels="mixture").fit(load_iris(as_frame=True).data)
    assert to_python(model) == to_python(again)
