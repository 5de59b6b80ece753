"""Names that came from a user, on every surface: seen as they are, or as escapes, and never at work."""

import os
import re
from functools import cache
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from tests.commands import ravine_in_this_process

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ravine import PDDP, MDHClassifier, SumOfNorms, SupportVectorClustering, plot, report
from ravine._names import shown
from ravine.evaluation import Evaluation
from ravine.report import Compared, write_comparison

UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff\ud800-\udfff]")

NAMES = {
    "formulas and control": ("cost_$\n\t", "\x00\x1b[31m\x9b\x7f $\\frac{1}$ \\$_a"),
    "direction and halves": ("\u202eabc\u2066", "\u200f\u061c\ufeff\ud800d\u2028"),
    "markup": ("<script>alert(1)</script>", "&amp;{{ data }}%s{0}"),
    "empty": ("", " "),
}
each = pytest.mark.parametrize("names", list(NAMES.values()), ids=list(NAMES))


@cache
def rows():
    return np.array([[0.0, 0.0], [30.0, 20.0]])[np.arange(60) % 2] + np.random.default_rng(0).normal(size=(60, 2))


@cache
def models():
    return PDDP(n_clusters=2).fit(rows()), SumOfNorms().fit(rows()), SupportVectorClustering().fit(rows())


# The function


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("petal width (cm)", "petal width (cm)"),
        ("größe λ 花 🙂", "größe λ 花 🙂"),
        ("a b", "a b"),
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),  # joiners are part of the word and of the picture
        ("non\u00a0breaking", "non\u00a0breaking"),
        (r"already \n escaped", r"already \n escaped"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x00\x1b\x7f\x9b", r"\x00\x1b\x7f\x9b"),
        ("\u202e\u2066\u200e\u061c", r"\u202e\u2066\u200e\u061c"),
        ("\ufeff\u200b\u00ad", r"\ufeff\u200b\xad"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("\ud800", r"\ud800"),
        (3, "3"),
        (("a", 1), "('a', 1)"),
    ],
)
def test_what_cannot_be_seen_is_escaped_and_all_else_stays(name, text):
    assert shown(name) == text
    assert shown(shown(name)) == text


# Pictures


def pictures(names):
    tree, path, region = models()
    options = {"feature_names": names}
    yield "tree", plot.tree(tree, **options)
    yield "density", plot.density(tree, rows(), **options)
    yield "node", plot.node(tree, rows(), **options)
    yield "panels", plot.panels(tree, rows(), **options)
    yield "clusterpath", plot.clusterpath(path, **options)
    yield "one column", plot.clusterpath(path, features=[names[0]], **options)
    yield "support", plot.support(region, **options)
    score = names[0] or "score"  # a line without a name is in no legend
    yield "stream", plot.stream(Evaluation([{"row": i, score: 0.5} for i in range(3)], []), metrics=[score])


def words_of(figure, path):
    """The text of a figure as its file has it, drawn as letters."""
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(path, format="svg")
    return "\n".join(ElementTree.parse(path).getroot().itertext())


@each
def test_pictures_show_names_as_they_are(names, tmp_path):
    for picture, axes in pictures(names):
        figure = axes if isinstance(axes, Figure) else axes.figure
        figure.savefig(os.devnull, format="png", dpi=20)
        words = words_of(figure, tmp_path / "figure.svg")
        assert any(shown(name) in words for name in names), picture
        assert not UNSEEN.search(words.replace("\n", "")), picture
        plt.close("all")


def test_a_title_that_the_user_sets_later_may_have_a_formula(tmp_path):
    ax = plot.density(models()[0], rows(), feature_names=["cost_$", "b"])
    ax.set_title(r"$\alpha$")
    assert "α" in words_of(ax.figure, tmp_path / "figure.svg")
    plt.close("all")


def test_names_have_no_backslash_where_formulas_are_turned_off(tmp_path):
    with matplotlib.rc_context({"text.parse_math": False}):
        words = words_of(plot.density(models()[0], rows(), feature_names=["cost_$"] * 2).figure, tmp_path / "a.svg")
    assert "cost_$" in words
    assert r"\$" not in words
    plt.close("all")


# Text and pages


@each
def test_lines_of_a_printed_tree_are_its_nodes(names):
    tree = models()[0].tree_
    text = tree.to_text(names)
    assert len(text.split("\n")) == 1 + tree.n_nodes
    assert not UNSEEN.search(text.replace("\n", ""))
    assert any(shown(name) in text for name in names)
    assert {record["feature"] for record in tree.describe(names)} == set(names)  # records are data, and stay as given


@each
def test_pages_have_no_unseen_characters_and_no_element_of_a_name(names, tmp_path):
    tree, path, region = models()
    labels = np.array(names)[np.arange(60) % 2] if names[0].isascii() else [names[i % 2] for i in range(60)]
    fragment = tree.tree_.to_html(names)
    ElementTree.fromstring(fragment)
    compared = [Compared(names[0], tree.labels_, tree.tree_, 0.1, {"ari": 1.0})]
    page = write_comparison(compared, tmp_path / "page.html", title=names[1], feature_names=names).read_text()
    for text in (fragment, page.replace("\n", "")):
        assert not UNSEEN.search(text)
        assert "<script>alert" not in text
    for model in (tree, path, region):
        report.write(model, rows(), tmp_path / "report.html", labels=labels, feature_names=names, title=names[0])
        data = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert "<script>alert" not in data
        told = re.search(r'id="data">(.*?)</script>', data, re.S)[1]
        assert not re.search(
            r"\\u00[01]|\\u007f|\\u20(2[89a-e]|6[6-9]|0[ef])|\\ud[89a-f]|\\ufeff|\\[nrt]", told.replace(r"\\", "")
        )


def test_classes_of_a_classifier_are_shown_in_its_report():
    labels = np.array(["<b>\u202e", "cost_$\n"], dtype=object)[np.arange(60) % 2]
    model = MDHClassifier().fit(rows(), labels)
    page = report.html(model, rows())
    assert r'"class \\u003cb' not in page
    assert r'"groups":["class \u003cb\u003e\\u202e","class cost_$\\n"]' in page
    assert [record["cluster"] for record in report.describe_clusters(model, rows())] == ["<b>\u202e", "cost_$\n"]


@pytest.mark.parametrize("kind", ["formulas and control", "markup"])
def test_command_line_shows_names_on_their_line(kind, tmp_path, capfd):
    names = NAMES[kind]
    pd.DataFrame(rows(), columns=names).assign(left_out=["\x1b[1m"] * 60).to_parquet(tmp_path / "rows.parquet")
    model = tmp_path / "model.ravine"
    assert ravine_in_this_process("cluster", tmp_path / "rows.parquet", "--method", "pddp", "--model", model) == 0
    assert ravine_in_this_process("inspect", model) == 0
    assert ravine_in_this_process("cluster", tmp_path / "rows.parquet", "--columns", "none") != 0
    out, err = capfd.readouterr()
    assert not UNSEEN.search((out + err).replace("\n", ""))
    assert any(shown(name).strip() in out for name in names)
