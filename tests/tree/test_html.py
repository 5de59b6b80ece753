from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from tests.strategies import random_tree, trees

from ravine import PDDP, IncrementalMDH
from ravine.cuts import Cut
from ravine.datasets import make_blobs
from ravine.tree import _html
from ravine.tree._text import sets_apart

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('1') & \"2\"</script>"


def parsed(tree, names=None):
    return ElementTree.fromstring(tree.to_html(names))


def cells(page):
    return [["".join(cell.itertext()) for cell in row] for row in page.iterfind(".//tbody/tr")]


def words(page):
    return [text.text for text in page.iter(f"{SVG}text")]


@pytest.fixture
def blobs():
    return make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)[0]


@given(trees)
def test_fragment_is_well_formed_with_a_circle_for_every_node_and_a_row_for_every_cluster(tree):
    page = parsed(tree)
    assert len(list(page.iter(f"{SVG}circle"))) == tree.n_nodes
    assert len(list(page.iter(f"{SVG}path"))) == len(tree.cuts)
    assert [row[0] for row in cells(page)] == [str(label) for label in range(tree.n_clusters)]


@given(trees)
def test_area_of_a_circle_is_in_proportion_to_its_rows(tree):
    radius = np.array([float(circle.get("r")) for circle in parsed(tree).iter(f"{SVG}circle")])
    assert_allclose(radius**2 / radius[0] ** 2, tree.count / tree.count[0], atol=0.002)


def test_lines_are_wider_for_deeper_valleys_and_dashed_for_unknown_ones():
    tree = random_tree(0, 2, seed=0)
    for place, depth in enumerate([0.0, 0.5, 30.0, 1e3, 1e300]):
        tree = tree.split(int(tree.leaves[-1]), Cut(np.array([1.0, 0.0]), float(place), 0.0, depth, 1.0))
    lines = list(parsed(tree).iter(f"{SVG}path"))
    width = [float(line.get("stroke-width")) for line in lines]
    assert width[0] < width[1] < width[2] < width[3] == width[4]
    assert ["stroke-dasharray" in line.attrib for line in lines] == [True, False, False, False, False]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_map_and_table_say_what_the_nodes_are(blobs, kind):
    tree = PDDP().fit(kind(blobs)).tree_
    page = parsed(tree, ["width", "height"])
    shown = words(page)
    for leaf in tree.leaves:
        assert f"cluster {tree.label[leaf]}" in shown
        assert f"{tree.count[leaf]:.0f} rows" in shown
    for cut in tree.cuts:
        assert f"p = {tree.p_value[cut]:.1g}" in shown
    rows = cells(page)
    assert [row[1] for row in rows] == ["100"] * 3
    assert [row[2] for row in rows] == ["33.3%"] * 3
    assert {frozenset(row[3].split(", ")) for row in rows} == {
        frozenset({"width high", "height low"}),
        frozenset({"width low", "height high"}),
        frozenset({"width low", "height low"}),
    }


def test_one_cluster_is_close_to_the_average(blobs):
    page = parsed(PDDP().fit(blobs).tree_.cut_to(1))
    assert cells(page) == [["0", "300", "100.0%", "close to the average"]]


def test_cluster_without_rows_is_shown():
    tree = random_tree(0, 2, seed=0).split(0, Cut(np.array([1.0, 0.0]), 0.0))
    assert [row[1:] for row in cells(parsed(tree))] == [["0", "0.0%", "close to the average"]] * 2


def test_column_that_does_not_vary_sets_nothing_apart(blobs):
    X = np.column_stack([blobs, np.full(300, 0.1)])
    assert not any("x2" in row[3] for row in cells(parsed(PDDP().fit(X).tree_)))


def test_names_are_shown_and_never_run(blobs):
    fragment = PDDP().fit(blobs).tree_.to_html([HOSTILE, "</svg><img src=x onerror=alert(1)>"])
    elements = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: elements.add(tag)
    parser.feed(fragment)
    assert elements == {
        "div",
        "svg",
        "path",
        "g",
        "title",
        "circle",
        "text",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert any(HOSTILE in "".join(row) for row in cells(ElementTree.fromstring(fragment)))


@given(trees)
def test_fragment_names_nothing_on_the_page_and_takes_its_colors_from_it(tree):
    for element in parsed(tree).iter():
        assert not {"id", "class"} & set(element.attrib)
        assert "background" not in element.get("style", "")
        assert element.get("fill", "none") in ("none", "currentColor")
        assert element.get("stroke", "none") in ("none", "currentColor")


def test_of_many_clusters_the_first_are_shown_and_the_fragment_says_so():
    tree = random_tree(34, 3, seed=1)
    page = parsed(tree)
    first = tree.cut_to(_html.MOST_CLUSTERS)
    assert len(list(page.iter(f"{SVG}circle"))) == first.n_nodes
    assert len(cells(page)) == 30
    assert "35 clusters, 34 cuts, 3 features · shown are the first 30 clusters" in "".join(page.itertext())


def test_notebook_shows_the_tree(blobs):
    tree = PDDP().fit(blobs).tree_
    assert tree._repr_html_() == tree.to_html()


# Estimators


def test_fitted_estimator_shows_the_diagram_of_scikit_learn_and_below_it_the_tree(blobs):
    pd = pytest.importorskip("pandas")
    model = PDDP().fit(pd.DataFrame(blobs, columns=["width", "height"]))
    shown = model._repr_html_()
    tree = model.tree_.to_html(["width", "height"])
    assert "sk-top-container" in shown
    assert shown.endswith(tree)
    assert model._repr_mimebundle_()["text/html"].endswith(tree)


def test_estimator_that_is_not_fitted_shows_the_diagram_alone():
    shown = PDDP()._repr_html_()
    assert "sk-top-container" in shown
    assert "Map of the tree" not in shown


def test_text_display_shows_no_tree(blobs):
    with config_context(display="text"):
        model = PDDP().fit(blobs)
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_stream_is_shown_with_the_tree_of_now():
    X, _ = make_blobs(2000, centers=5, random_state=1)
    model = IncrementalMDH().partial_fit(X)
    assert model._repr_html_().endswith(model.tree_.to_html())


# Words


def test_what_sets_apart_is_told_by_size_and_side():
    difference = np.array([0.4, -0.5, 1.9, -2.0, 3.0])
    assert sets_apart(difference, list("abcde")) == "e very high, d very low, c high"
    assert sets_apart(difference, list("abcde"), n=9) == "e very high, d very low, c high, b low"


def test_what_differs_little_is_close_to_the_average():
    assert sets_apart(np.array([0.49, -0.49, 0.0]), list("abc")) == "close to the average"
