"""Every estimator on every surface that people see: it is shown, or an error names the function that shows it."""

import json
import os
import re
from functools import cache

import matplotlib
import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from tests.commands import ravine_in_this_process
from tests.estimators import CLASSES
from tests.strategies import random_tree

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import ravine
from ravine import plot, report
from ravine._names import shown
from ravine.evaluation import evaluate
from ravine.persist._models import ESTIMATORS
from ravine.plot import _map, _panels

NAMES = sorted(member.__name__ for member in CLASSES)
COLUMNS = ["cost_$", "<script>alert(1)</script>\n\u202e"]
CENTERS = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])


def has_tree(name):
    return hasattr(ESTIMATORS[name], "prune")


def fitted(name, X, **options):
    """The estimator of this name with its defaults, fitted; a classifier on labels of three groups in turn."""
    model = ESTIMATORS[name](**options)
    return model.fit(X, np.where(np.arange(len(X)) % 10 < 3, np.arange(len(X)) % 3, -1))


OF_ANY_CLUSTERER = ("distances", "silhouette")
TREE_PICTURES = ("density", "elbow", "node", "panels", "path", "tree")
DRAWS = {
    **dict.fromkeys(TREE_PICTURES, has_tree),
    **dict.fromkeys(("clusterpath", "fusions"), "SumOfNorms".__eq__),
    "support": "SupportVectorClustering".__eq__,
    **dict.fromkeys(("stability", "stream"), lambda name: False),
    "timeline": "StreamClusterer".__eq__,
}
"""Which estimators each picture draws; two more draw whatever predicts, see `tests/test_plot.py`."""

KINDS = {"plain": [], "named": ["png", "svg"], "one cluster": ["png"]}
"""Of files to which a picture is drawn; that of the same clusters under other names is made but not drawn."""

WITH_ROWS = ("density", "node", "panels")
WITHOUT_NAMES = ("elbow", "fusions", "path", "timeline")

pytestmark = pytest.mark.filterwarnings("ignore:held-out rows confirmed no single cut")


def rows():
    """Three groups in turn, so that row i is of group i modulo 3."""
    noise = np.random.default_rng(0).normal(size=(300, 2))
    return CENTERS[np.arange(300) % 3] + noise


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
    assert {*DRAWS, *OF_ANY_CLUSTERER} == set(plot.__all__)


@each
@pytest.mark.parametrize("picture", sorted(DRAWS))
def test_picture_is_drawn_or_an_error_says_what_draws_the_model(name, state, picture):
    model, X = model_of(name, state), rows()
    if not DRAWS[picture](name):
        with pytest.raises(TypeError, match=f"plot.{picture} draws .*, but this is .*{name}") as refused:
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
        else "3 clusters after 300 rows"  # also of a coarser tree: the stream is followed as before
        if picture == "timeline"
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
    assert sum(moments["rows"] for moments in data["nodes"][-1:]) > 0
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
        names = getattr(model, "feature_names_in_", None)
        assert page.endswith(model.tree_.to_html(names))
        text = model.tree_.to_text(names)
        assert len(text.splitlines()) == 1 + model.tree_.n_nodes
        assert any(shown(column) in text for column in COLUMNS) == (state == "named")
        assert str(model.tree_).startswith(f"HyperplaneTree: {n_groups(model)} cluster")


@pytest.mark.parametrize("name", [name for name in NAMES if has_tree(name)])
def test_coarser_and_saved_models_show_the_names_of_the_columns(name, tmp_path):
    model = model_of(name, "named")
    ravine.save(model, tmp_path / "model.ravine")
    for one in (model.cut_to(2), model.prune(0), ravine.load(tmp_path / "model.ravine")):
        assert list(one.feature_names_in_) == COLUMNS
        assert one._repr_html_().endswith(one.tree_.to_html(COLUMNS))


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


def test_outliers_of_a_tree_have_a_record_and_are_counted_in_the_report():
    X = np.vstack([rows(), [[500.0, 500.0]]])
    model = ravine.NCutH(outliers="label").fit(X)
    assert model.labels_[-1] == -1
    n_outliers = int((model.labels_ < 0).sum())
    *clusters, outliers = report.describe_clusters(model, X)
    assert (outliers["cluster"], outliers["rows"]) == (-1, n_outliers)
    assert [record["rows"] for record in clusters] == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
    page = embedded(report.html(model, X, labels=model.labels_))
    assert page["finding"].startswith(f"{model.n_clusters_} clusters and {n_outliers} outlier")
    assert page["nodes"][0]["rows"] == len(X) - n_outliers
    assert page["classes"]["scores"]["ari"][-1] == 1
    assert_array_equal(report.ReportAccumulator(model).add(X), model.labels_)
    inside = X[model.labels_ >= 0]
    assert len(report.describe_clusters(model, inside)) == model.n_clusters_


def test_command_writes_the_outliers_of_a_saved_tree(tmp_path, capsys):
    frame = pd.DataFrame(np.vstack([rows(), [[500.0, 500.0]]]), columns=COLUMNS)
    model = ravine.NCutH(outliers="label").fit(frame)
    ravine.save(model, tmp_path / "model.ravine")
    frame.to_parquet(tmp_path / "rows.parquet")
    out = tmp_path / "labels.csv"
    for cut in (model, model.cut_to(1)):
        options = ("--clusters", cut.n_clusters_, "--out", out)
        assert ravine_in_this_process("predict", tmp_path / "model.ravine", tmp_path / "rows.parquet", *options) == 0
        assert_array_equal(pd.read_csv(out)["cluster"], cut.labels_)
    assert ravine_in_this_process("inspect", tmp_path / "model.ravine") == 0


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
    "an evaluation": (evaluated, TypeError, r"of type Evaluation: use plot\.stream"),
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
    model = ravine.SumOfNorms(lam=1.0).fit(rows())
    for picture in (plot.clusterpath, plot.fusions):
        with pytest.raises(ValueError, match="this model has only one λ: fit it with path=True"):
            picture(model)


# Rows that do not go with the model


def named_frame(columns):
    return pd.DataFrame(rows(), columns=columns)


BAD_ROWS = {
    "too wide": (lambda: np.column_stack([rows(), rows()]), "X has 4 columns, but the model was fitted on 2"),
    "too narrow": (lambda: rows()[:, :1], "X has 1 column, but the model was fitted on 2"),
    "NaN": (lambda: np.where(np.arange(300)[:, np.newaxis] == 3, np.nan, rows()), "Input X contains NaN"),
    "infinite": (lambda: np.where(np.arange(300)[:, np.newaxis] == 3, np.inf, rows()), "Input X contains infinity"),
    "too large": (lambda: rows() * 1e160, "beyond 1e\\+150, whose square would overflow: rescale X"),
    "none": (lambda: None, "X is None: pass the rows to show"),
    "one dimension": (lambda: rows()[:, 0], "Expected 2D array, got 1D array"),
    "words": (lambda: np.full((300, 2), "a"), "could not convert string to float"),
    "columns in another order": (lambda: named_frame(COLUMNS[::-1]), "same order as they were in fit"),
    "other columns": (lambda: named_frame(["a", "b"]), "feature names should match those that were passed during fit"),
    "columns of one name": (lambda: named_frame(["a", "a"]), "unique column names"),
}
GOOD_ROWS = {
    "no rows": lambda: rows()[:0],
    "one row": lambda: rows()[:1],
    "equal rows": lambda: np.repeat(rows()[:1], 50, axis=0),
    "large": lambda: rows() * 1e140,
    "tiny": lambda: rows() * 1e-140,
    "float32": lambda: rows().astype(np.float32),
    "integers": lambda: rows().astype(np.int64),
    "a list": lambda: rows().tolist(),
    "numbers as names": lambda: named_frame([1, 2]),
    "Polars": lambda: polars.DataFrame(rows(), schema=COLUMNS),
}
SHOWING = {
    "report": (report.html, NAMES),
    "clusters": (report.describe_clusters, NAMES),
    **{picture: (getattr(plot, picture), ["PDDP"]) for picture in WITH_ROWS},
    "support": (plot.support, ["SupportVectorClustering"]),
}


@pytest.mark.parametrize("showing", SHOWING)
@pytest.mark.parametrize("bad", BAD_ROWS)
def test_rows_that_do_not_go_with_the_model_are_refused_in_words(showing, bad):
    make, message = BAD_ROWS[bad]
    show, names = SHOWING[showing]
    if showing == "support" and bad == "none":
        return  # it draws the rows that the model keeps
    for name in names:
        with pytest.raises((ValueError, TypeError), match=message):
            show(model_of(name, "named"), make())
    assert not plt.get_fignums()


@pytest.mark.parametrize("showing", SHOWING)
@pytest.mark.parametrize("good", GOOD_ROWS)
def test_rows_of_any_kind_and_number_are_shown(showing, good):
    show, names = SHOWING[showing]
    X = GOOD_ROWS[good]()
    for name in names[:1] if len(names) == 1 else ("PDDP", "SumOfNorms", "SupportVectorClustering", "MDHClassifier"):
        made = show(model_of(name, "named"), X)
        if showing not in ("report", "clusters"):
            (made if isinstance(made, Figure) else made.figure).savefig(os.devnull, format="png", dpi=20)
        elif showing == "clusters":
            assert sum(record["rows"] for record in made) == len(X)
        else:
            assert embedded(made)["n_rows"] == len(X)
    plt.close("all")


@pytest.mark.parametrize("name", ["PDDP", "MDHClassifier"])
def test_sparse_rows_are_shown_where_the_model_takes_them(name):
    records = [report.describe_clusters(model_of(name, "plain"), kind(rows())) for kind in (np.asarray, csr_array)]
    assert records[0] == records[1]


@pytest.mark.parametrize("name", ["SumOfNorms", "SupportVectorClustering"])
def test_sparse_rows_are_refused_in_words_where_it_does_not(name):
    with pytest.raises(TypeError, match="dense data is required"):
        report.html(model_of(name, "plain"), csr_array(rows()))


def test_gathered_rows_of_another_model_are_refused():
    gatherer = report.ReportAccumulator(model_of("PDDP", "one cluster"))
    gatherer.add(rows())
    message = "with 2 columns and 1 clusters, but this model has 2 columns and 3 clusters: collect them with"
    with pytest.raises(ValueError, match=message):
        report.html(model_of("PDDP", "plain"), gatherer.rows())


@pytest.mark.parametrize(
    ("module", "picture"), [(_map, plot.tree), (_panels, lambda tree, **options: plot.panels(tree, [[0.0]], **options))]
)
def test_picture_without_room_for_all_clusters_says_so_and_draws_the_first(module, picture, monkeypatch):
    monkeypatch.setattr(module, "MOST_CLUSTERS", 3)
    tree = random_tree(3, 1, seed=0)
    with pytest.raises(ValueError, match="4 clusters are too many for this plot: pass n_clusters=3 or fewer"):
        picture(tree)
    assert not plt.get_fignums()
    assert picture(tree, n_clusters=3)
    plt.close("all")


def test_parameters_that_are_sequences_are_in_the_report_where_they_differ():
    model = ravine.HSDC(run_lengths=(1e6, 100.0)).fit(rows())
    assert embedded(report.html(model, rows()))["method"]["parameters"] == [["run_lengths", "(1000000.0, 100.0)"]]


def malformed(**changes):
    X = csr_array(rows())
    for name, value in changes.items():
        array = getattr(X, name).copy()
        array[5] = value
        setattr(X, name, array)
    return X


@pytest.mark.parametrize("changes", [{"indices": 10**6}, {"indices": -9}, {"indptr": 10**6}])
def test_sparse_rows_whose_indices_point_elsewhere_are_refused(changes):
    for show in (report.html, report.describe_clusters, plot.density, plot.node, plot.panels):
        with pytest.raises(ValueError, match=r"indices|indptr"):
            show(model_of("PDDP", "plain"), malformed(**changes))


# Options

NOWHERE = "no folder/compared.html"


def tree_of_three():
    return model_of("PDDP", "plain")


WRONG_OPTIONS = {
    "a node by its share": (lambda: plot.density(tree_of_three(), rows(), 0.0), "node=0.0 is not an integer"),
    "a node by its name": (lambda: plot.node(tree_of_three(), rows(), "a"), "pass one of tree_.cuts"),
    "two nodes": (lambda: plot.node(tree_of_three(), rows(), [0]), r"node=\[0\] is not an integer"),
    "a node that is none": (
        lambda: plot.node(tree_of_three(), rows(), -1),
        r"node -1 is not a cut; the cuts are \[0, ",
    ),
    "half a cluster": (lambda: plot.tree(tree_of_three(), n_clusters=2.5), "cannot be interpreted as an integer"),
    "no clusters": (lambda: plot.tree(tree_of_three(), n_clusters=0), "n_clusters=0 must be an integer"),
    "half a column": (
        lambda: plot.clusterpath(model_of("SumOfNorms", "plain"), features=[0.5]),
        "features has the entry",
    ),
    "a column by truth": (lambda: plot.clusterpath(model_of("SumOfNorms", "plain"), features=True), "entry True"),
    "one label": (lambda: report.html(tree_of_three(), rows(), labels=5), "labels is of type int: pass a sequence"),
    "lists as labels": (lambda: report.html(tree_of_three(), rows(), labels=[[1]] * 300), "cannot be hashed"),
    "nothing compared": (lambda: report.write_comparison([], NOWHERE, title=""), "found is empty"),
    "no rows compared": (lambda: compared([0] * 0), "pass clusterings of the same rows, with at least one row"),
    "other rows compared": (lambda: compared([0, 1], [0, 1, 1]), "'b' has 3 labels and 'a' has 2"),
    "an unknown score": (
        lambda: compared([0, 1], scores={"luck": 1.0}),
        "scores has the unknown entry 'luck': the known scores are silhouette",
    ),
}


def compared(*labels, scores=None):
    found = [report.Compared("ab"[i], np.array(one), None, 0.1, scores or {}) for i, one in enumerate(labels)]
    return report.write_comparison(found, NOWHERE, title="")


@pytest.mark.parametrize("wrong", WRONG_OPTIONS)
def test_option_that_cannot_be_is_refused_in_words(wrong):
    ask, message = WRONG_OPTIONS[wrong]
    with pytest.raises((TypeError, ValueError), match=message):
        ask()


def test_scores_of_all_that_is_compared_are_the_same():
    found = [
        report.Compared(name, np.array([0, 1]), None, 0.1, scores) for name, scores in (("a", {"ari": 1.0}), ("b", {}))
    ]
    with pytest.raises(ValueError, match="'b' and 'a' have different scores: give all methods the same scores"):
        report.write_comparison(found, NOWHERE, title="")


def test_classes_may_be_numbers_of_any_size():
    page = report.html(tree_of_three(), rows(), labels=[10**400, 1, float("inf")] * 100)
    assert [name[:4] for name in embedded(page)["classes"]["names"]] == ["1", "1000", "inf"]
