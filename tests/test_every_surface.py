"""Every estimator on every surface that people see: it is shown, or an error names the function that shows it."""

import json
import os
import re
from functools import cache

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from tests.commands import ravine_in_this_process
from tests.estimators import CLASSES

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import ravine
from ravine import plot, report
from ravine.names import shown
from ravine.persist import ESTIMATORS
from ravine.stream import evaluate

NAMES = sorted(member.__name__ for member in CLASSES)
COLUMNS = ["cost_$", "<script>alert(1)</script>\n\u202e"]
CENTRES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])


def has_tree(name):
    return hasattr(ESTIMATORS[name], "prune")


def fitted(name, X, **options):
    """The estimator of this name with its defaults, fitted; a classifier on labels of three groups in turn."""
    model = ESTIMATORS[name](**options)
    return model.fit(X, np.where(np.arange(len(X)) % 10 < 3, np.arange(len(X)) % 3, -1))


TREE_PICTURES = ("density", "elbow", "node", "panels", "path", "tree")
DRAWS = {
    **dict.fromkeys(TREE_PICTURES, has_tree),
    **dict.fromkeys(("clusterpath", "fusions"), "SumOfNorms".__eq__),
    "support": "SupportVectorClustering".__eq__,
    "stream": lambda name: False,
}
"""Which estimators each picture draws."""

KINDS = {"plain": [], "named": ["png", "svg"], "one cluster": ["png"]}
"""Of files to which a picture is drawn; that of the same clusters under other names is made but not drawn."""

WITH_ROWS = ("density", "node", "panels")
WITHOUT_NAMES = ("elbow", "fusions", "path")

pytestmark = pytest.mark.filterwarnings("ignore:no cut was confirmed")


def rows():
    """Three groups in turn, so that row i is of group i modulo 3."""
    noise = np.random.default_rng(0).normal(size=(300, 2))
    return CENTRES[np.arange(300) % 3] + noise


@cache
def model_of(name, state):
    """A fitted model: on named columns or on others, with one cluster, or as a file gives it back."""
    X = rows()
    if state == "plain":
        return fitted(name, X)
    model = fitted(name, pd.DataFrame(X, columns=COLUMNS))
    return model.cut_to(1) if state == "one cluster" else model


def n_groups(model):
    return len(model.classes_) if hasattr(model, "classes_") else model.n_clusters_


def states():
    for name in NAMES:
        yield name, "plain"
        yield name, "named"
        if hasattr(ESTIMATORS[name], "cut_to"):
            yield name, "one cluster"


each = pytest.mark.parametrize(("name", "state"), list(states()))


def drawn(picture, model, X, kinds=("png",)):
    """What a picture says, once it is drawn."""
    figure = getattr(plot, picture)(*([model, X] if picture in WITH_ROWS else [model]))
    figure = figure if isinstance(figure, Figure) else figure.figure
    for kind in kinds:
        figure.savefig(os.devnull, format=kind, dpi=20)
    said = " ".join(text.get_text() for text in figure.findobj(Text))
    plt.close("all")
    return said


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def test_every_picture_is_in_the_table():
    assert set(DRAWS) == set(plot.__all__)


@each
@pytest.mark.parametrize("picture", sorted(DRAWS))
def test_picture_is_drawn_or_an_error_says_what_draws_the_model(name, state, picture):
    model, X = model_of(name, state), rows()
    if not DRAWS[picture](name):
        with pytest.raises(TypeError, match=f"plot.{picture} draws .* and this is of type {name}: ") as refused:
            drawn(picture, model, X)
        module, function = re.findall(r"(plot|report)\.(\w+)", str(refused.value))[-1]
        shows = getattr(getattr(ravine, module), function)
        assert shows is report.write or DRAWS[function](name)
        return
    if state == "one cluster" and picture in ("density", "node"):
        with pytest.raises(ValueError, match="the tree has one cluster and no cut"):
            drawn(picture, model, X)
        return
    said = drawn(picture, model, X, KINDS[state])
    assert (
        "cluster 0, "
        if picture == "path"
        else "node 0: 300 rows"
        if picture in ("density", "node")
        else f"{n_groups(model)} cluster"
    ) in said
    if state == "named" and picture not in WITHOUT_NAMES:
        assert r"cost_\$" in said or shown(COLUMNS[1]) in said


@each
def test_report_shows_the_groups_and_the_names(name, state):
    model, X = model_of(name, state), rows()
    page = report.html(model, X, labels=np.arange(300) % 3)
    data = embedded(page)
    noun = "classes" if hasattr(model, "classes_") else "cluster" if n_groups(model) == 1 else "clusters"
    assert data["finding"] == f"{n_groups(model)} {noun} in 300 rows × 2 columns"
    assert data["names"] == (["x0", "x1"] if state == "plain" else [shown(column) for column in COLUMNS])
    assert data["choice"]["sentence"].endswith(".")
    assert data["method"]["name"] == name
    groups = data["groups"] or [node for node in data["nodes"] if not node["cut"]]
    assert len(groups) == n_groups(model)
    assert sum(about["rows"] for about in data["nodes"][-1:]) > 0
    assert "<script>alert" not in page


@each
def test_groups_are_described(name, state):
    model, X = model_of(name, state), rows()
    records = report.describe_clusters(model, X)
    assert [record["cluster"] for record in records] == list(range(n_groups(model)))
    assert sum(record["rows"] for record in records) == 300
    counts = np.bincount(_predicted(model, X), minlength=n_groups(model))
    assert [record["rows"] for record in records] == counts.tolist()


def _predicted(model, X):
    return model.predict(pd.DataFrame(X, columns=COLUMNS) if hasattr(model, "feature_names_in_") else X)


@each
def test_notebook_and_text_show_the_model(name, state):
    model = model_of(name, state)
    page = model._repr_html_()
    assert name in page
    assert "<script>alert" not in page
    assert repr(model).startswith(name)
    if has_tree(name):
        assert f"HyperplaneTree: {n_groups(model)} cluster" in page
        text = model.tree_.to_text(getattr(model, "feature_names_in_", None))
        assert len(text.splitlines()) == 1 + model.tree_.n_nodes
        assert str(model.tree_).startswith(f"HyperplaneTree: {n_groups(model)} cluster")


@each
def test_saved_model_has_the_report_of_the_original(name, state, tmp_path):
    model, X = model_of(name, state), rows()
    ravine.save(model, tmp_path / "model.ravine")
    loaded = ravine.load(tmp_path / "model.ravine")
    assert report.describe_clusters(loaded, X) == report.describe_clusters(model, X)
    first, second = (embedded(report.html(one, X)) for one in (model, loaded))
    for data in (first, second):
        del data["reproduce"]  # a stream that was loaded has no labels of its last batch
    assert first == second


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("state", ["plain", "named"])
def test_command_writes_the_report_of_a_saved_model(name, state, tmp_path, capsys):
    model, X = model_of(name, state), rows()
    ravine.save(model, tmp_path / "model.ravine")
    pd.DataFrame(X, columns=COLUMNS).to_parquet(tmp_path / "rows.parquet")
    page = tmp_path / "report.html"
    assert ravine_in_this_process("report", tmp_path / "model.ravine", tmp_path / "rows.parquet", "--out", page) == 0
    noun = "classes" if hasattr(model, "classes_") else "clusters"
    assert embedded(page.read_text())["finding"].startswith(f"{n_groups(model)} {noun} in 300 rows")


def test_outliers_are_a_group_of_their_own_and_left_out_where_there_are_none():
    X = np.vstack([rows(), [[500.0, 500.0]]])
    model = ravine.SupportVectorClustering(outliers="label").fit(X)
    n_outliers = int((model.labels_ < 0).sum())
    assert n_outliers > 0
    *clusters, outliers = report.describe_clusters(model, X)
    assert (outliers["cluster"], outliers["rows"]) == (-1, n_outliers)
    assert [record["cluster"] for record in clusters] == list(range(model.n_clusters_))
    assert embedded(report.html(model, X))["groups"][-1] == "outliers"
    inside = X[model.labels_ >= 0]
    assert len(report.describe_clusters(model, inside)) == model.n_clusters_


# What is not a model that the picture draws


@cache
def evaluated():
    return evaluate(ravine.HSDC(), rows(), np.arange(300) % 3)


WRONG = {
    "nothing": (lambda: None, TypeError, "this is None"),
    "an array": (rows, TypeError, "of type ndarray"),
    "a string": (lambda: "model.ravine", TypeError, "of type str"),
    "a class": (lambda: ravine.PDDP, TypeError, "of type ABCMeta|of type type"),
    "an estimator of scikit-learn": (lambda: KMeans(2).fit(rows()), TypeError, "of type KMeans"),
    "a tree of scikit-learn": (
        lambda: DecisionTreeClassifier().fit(rows(), np.arange(300) % 3),
        TypeError,
        "of type DecisionTreeClassifier",
    ),
    "a tree that is not fitted": (lambda: ravine.PDDP(), (NotFittedError, TypeError), "not fitted|of type PDDP"),
    "a stream that is not fitted": (lambda: ravine.HSDC(), (NotFittedError, TypeError), "not fitted|of type HSDC"),
    "a path that is not fitted": (lambda: ravine.SumOfNorms(), (NotFittedError, TypeError), "not fitted|of type SumOf"),
    "a region that is not fitted": (
        lambda: ravine.SupportVectorClustering(),
        (NotFittedError, TypeError),
        "not fitted|of type SupportVector",
    ),
    "an evaluation": (evaluated, TypeError, r"of type Evaluation: plot\.stream draws it"),
}


@pytest.mark.parametrize("picture", sorted(DRAWS))
@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_picture_of_the_wrong_thing_is_refused_in_words(picture, wrong):
    make, error, message = WRONG[wrong]
    if picture == "stream" and wrong == "an evaluation":
        assert drawn(picture, make(), rows())
        return
    with pytest.raises(error, match=message):
        drawn(picture, make(), rows())
    assert not plt.get_fignums()


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_report_of_the_wrong_thing_is_refused_in_words(wrong):
    make, _, _ = WRONG[wrong]
    for explain in (report.html, report.describe_clusters):
        with pytest.raises((TypeError, NotFittedError), match="fitted"):
            explain(make(), rows())


def test_path_of_a_model_that_has_one_lambda_is_refused_in_words():
    model = ravine.SumOfNorms(1.0).fit(rows())
    for picture in (plot.clusterpath, plot.fusions):
        with pytest.raises(ValueError, match="this model has one λ: fit with path=True"):
            picture(model)
