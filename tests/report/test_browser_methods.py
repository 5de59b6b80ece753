"""The path of SumOfNorms and the boundary of SupportVectorClustering in Chromium: they are those of the model."""

import csv
import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sklearn.datasets import load_iris
from tests.browser import needs_browser
from tests.report.test_browser import opened

from ravine import SumOfNorms, SupportVectorClustering, report
from ravine.datasets import make_moons
from ravine.evaluation import stability
from ravine.report._data import gathered
from ravine.report._summary import summarize

HOSTILE = "<img src=x onerror=alert(1)>"

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

pytestmark = needs_browser


@pytest.fixture(scope="module")
def path_page(tmp_path_factory):
    iris = load_iris()
    names = [HOSTILE, *iris.feature_names[1:]]
    model = SumOfNorms().fit(iris.data)
    labels = iris.target_names[iris.target]
    file = report.write(
        model, iris.data, tmp_path_factory.mktemp("path") / "path.html", labels=labels, feature_names=names
    )
    return file, model, summarize(model, gathered(model, iris.data, labels), feature_names=names)


@pytest.fixture(scope="module")
def boundary_page(tmp_path_factory):
    X, _ = make_moons(200, noise=0.06, random_state=0)
    model = SupportVectorClustering(outliers="label").fit(X)
    file = report.write(
        model, X, tmp_path_factory.mktemp("boundary") / "boundary.html", feature_names=["east", HOSTILE]
    )
    return file, model, summarize(model, gathered(model, X), feature_names=["east", HOSTILE])


@pytest.fixture(scope="module")
def path_on_desktop(browser, path_page):
    page, troubles = opened(browser, path_page[0], **DESKTOP, color_scheme="light")
    yield page
    page.context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def boundary_on_desktop(browser, boundary_page):
    page, troubles = opened(browser, boundary_page[0], **DESKTOP, color_scheme="light")
    yield page
    page.context.close()
    assert troubles == []


def set_level(page, level):
    page.locator("#k").evaluate(
        "(slider, k) => { slider.value = k; slider.dispatchEvent(new Event('input')); }", level + 1
    )
    page.wait_for_timeout(60)


def test_slider_shows_the_clusters_of_a_stretch_everywhere(path_page, path_on_desktop, tmp_path):
    _, model, summary = path_page
    page = path_on_desktop
    assert page.locator("#granularity label").inner_text() == "Penalty λ"
    level = [len(nodes) for nodes in summary["levels"]["nodes"]].index(3)
    cut = model.cut_to(3)
    set_level(page, level)
    expect(page.locator(".clusters tbody tr")).to_have_count(3)
    shown = page.locator(".clusters td.rows").all_inner_texts()
    assert [int(text) for text in shown] == np.bincount(cut.labels_).tolist()
    assert "3 clusters" in page.locator("#k-value").inner_text()
    assert "3 clusters" in page.locator("#path-at").inner_text()
    assert "they were not tested" in page.locator("#clusters-lead").inner_text()
    assert page.locator("#path-picture .swatches li").count() == 3
    assert page.locator("#contingency tbody tr").count() == 3
    assert page.locator("#scores dd").nth(1).inner_text() == f"{summary['classes']['scores']['ari'][level]:.3f}"
    page.locator("#row-search").fill("120")
    page.locator(".find button").click()
    assert f"is in cluster {cut.labels_[120]}:" in page.locator("#found").inner_text()
    with page.expect_download() as waiting:
        page.locator("#download-csv").click()
    waiting.value.save_as(tmp_path / "clusters.csv")
    with open(tmp_path / "clusters.csv", newline="") as file:
        assert [int(row["cluster"]) for row in csv.DictReader(file)] == cut.labels_.tolist()


def test_chosen_penalty_is_shown_first(path_page, path_on_desktop):
    _, model, summary = path_page
    page = path_on_desktop
    set_level(page, summary["levels"]["chosen"])
    assert [int(text) for text in page.locator(".clusters td.rows").all_inner_texts()] == np.bincount(
        model.labels_
    ).tolist()
    assert page.locator("#path-found").inner_text() == " ".join(summary["path"]["sentences"])
    assert "chosen" in page.locator("#k-value").inner_text()
    assert "not tested" not in page.locator("#clusters-lead").inner_text()
    assert page.locator("#k").get_attribute("aria-valuetext").startswith("chosen: 2 clusters, λ from ")
    assert page.locator("#path-steps svg[role=img]").get_attribute("aria-label").startswith("Number of clusters")


def test_points_and_lines_of_the_path_are_drawn(path_page, path_on_desktop):
    picture = path_page[-1]["path"]["picture"]
    set_level(path_on_desktop, path_page[-1]["levels"]["chosen"])
    marks = path_on_desktop.locator("#path-picture .chart svg")
    assert marks.locator("title").count() == picture["n_points"] + 2  # with the centers of both clusters
    met, unmet = (marks.locator(f'g[stroke="var({color})"] path').count() for color in ("--text", "--strong-line"))
    lam = np.array(picture["lam"])[picture["lines"][1::2]]
    assert (met, unmet) == (np.sum(lam <= path_page[1].lam_), np.sum(lam > path_page[1].lam_))
    assert path_on_desktop.locator("img").count() == 0


def test_names_and_profiles_follow_the_slider(path_page, path_on_desktop):
    summary = path_page[-1]
    page = path_on_desktop
    for level in (2, summary["levels"]["chosen"]):
        set_level(page, level)
        nodes = summary["levels"]["nodes"][level]
        page.locator(f'.clusters tr[data-node="{nodes[-1]}"]').click()
        assert page.locator("#profile-title").inner_text().startswith(f"Cluster {len(nodes) - 1}: ")
        assert page.locator(".clusters .cluster-name").count() == len(nodes)
        assert page.locator("#panel").inner_text().startswith(f"Cluster {len(nodes) - 1}")


def test_boundary_is_drawn_where_the_decision_function_is_zero(boundary_page, boundary_on_desktop):
    model = boundary_page[1]
    corners = boundary_on_desktop.evaluate("""() => {
      const svg = document.querySelector("#boundary-picture .chart svg");
      const [x, y] = [svg.scale("x"), svg.scale("y")];
      const pairs = svg.querySelector('g[stroke-width="1.8"] path').getAttribute("d").match(/[-\\d.e]+,[-\\d.e]+/g);
      return pairs.map((pair) => pair.split(",").map(Number)).map(([a, b]) => [x.invert(a), y.invert(b)]);
    }""")
    height = model.decision_function(np.array(corners))
    assert len(corners) > 100
    assert np.abs(height).max() < 0.02


def test_sentences_and_outliers_of_the_boundary_are_those_of_the_summary(boundary_page, boundary_on_desktop):
    _, model, summary = boundary_page
    page, boundary = boundary_on_desktop, summary["boundary"]
    assert page.locator("#boundary-section > .lead").all_inner_texts() == boundary["sentences"]
    rows = page.locator(".row-table.outliers tbody tr")
    assert rows.count() == np.sum(model.labels_ == -1) == boundary["n_outliers"]
    assert rows.first.locator("td").first.inner_text() == str(boundary["outliers"]["rows"][0]["row"])
    assert rows.first.locator("td").nth(3).inner_text() == boundary["outliers"]["rows"][0]["values"][0]
    assert re.match(r"\d", page.locator("#boundary-section .facts dd").first.inner_text())
    assert page.locator("img").count() == 0


def test_selected_cluster_shows_its_slice(browser, tmp_path):
    X = load_iris().data
    model = SupportVectorClustering().fit(X)
    page, troubles = opened(browser, report.write(model, X, tmp_path / "slice.html"), **DESKTOP)
    for cluster in (1, 0):
        page.locator(f'.clusters tr[data-node="{cluster + 1}"]').click()
        assert f"through the row of cluster {cluster} " in page.locator("#slice-note").inner_text()
    page.context.close()
    assert troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("method", ["path", "boundary"])
def test_views_are_accessible_and_as_wide_as_the_screen(request, browser, method, device, scheme):
    file = request.getfixturevalue(f"{method}_page")[0]
    page, troubles = opened(browser, file, **device, color_scheme=scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(f"#{method}-section .chart svg").first.bounding_box()["width"] > 250
    page.context.close()
    assert troubles == []


def test_clusters_that_the_model_did_not_choose_are_not_called_found_again(browser, tmp_path):
    iris = load_iris()
    model = SumOfNorms().fit(iris.data)
    refits = stability(model, iris.data, n_resamples=3)
    file = report.write(model, iris.data, tmp_path / "path.html", stability=refits)
    levels = summarize(model, gathered(model, iris.data))["levels"]
    page, troubles = opened(browser, file, **DESKTOP)
    cells = page.locator('[data-label="found again"]')
    assert all(re.match(r"\d of 3", text) for text in cells.all_inner_texts())
    other = next(
        k for k, nodes in enumerate(levels["nodes"]) if not set(nodes) & set(levels["nodes"][levels["chosen"]])
    )
    set_level(page, other)
    assert set(cells.all_inner_texts()) == {"–"}
    page.context.close()
    assert troubles == []
