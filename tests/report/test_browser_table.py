"""The page of a table in Chromium: names, sentences, profiles, rules and rows are those of the summary."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from sklearn.pipeline import make_pipeline
from tests.browser import needs_browser
from tests.report.test_browser import opened, set_clusters

from ravine import PDDP, IncrementalMDH, report
from ravine.datasets import make_messy_table
from ravine.prepare import TableEncoder
from ravine.report._data import gathered
from ravine.report._summary import clusters_at, summarize

HOSTILE = "<img src=x onerror=alert(1)>"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def messy():
    frame = pd.DataFrame(make_messy_table(900, random_state=1).columns)
    frame["country"] = frame["country"].replace("Germany", HOSTILE)
    pipe = make_pipeline(TableEncoder(), IncrementalMDH(n_clusters=4, random_state=1)).fit(frame)
    return pipe, frame, summarize(pipe, gathered(pipe, frame))


@pytest.fixture(scope="module")
def path(messy, tmp_path_factory):
    pipe, frame, _ = messy
    return report.write(pipe, frame, tmp_path_factory.mktemp("table") / "report.html")


@pytest.fixture(scope="module")
def desktop(browser, path):
    page, troubles = opened(browser, path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield page
    page.context.close()
    assert troubles == []


@pytest.fixture
def page(desktop):
    set_clusters(desktop, 4)
    desktop.locator(".clusters tbody tr").first.click()
    return desktop


def plain(text):
    return text.replace("\xa0", " ").replace("\n", "; ")


def test_first_screen_has_the_banner_and_the_clusters_in_words(messy, page):
    tree, summary = messy[0][-1].tree_, messy[-1]
    assert summary["trust"]["text"] in page.locator("#trust").inner_text()
    for k in (4, 2):
        set_clusters(page, k)
        for number, node in enumerate(clusters_at(tree, k)):
            row = page.locator(f'.clusters tr[data-node="{node}"]')
            about = summary["nodes"][node]
            assert plain(row.locator(".words").inner_text()) == about["sentence"]
            assert row.locator(".cluster-number").inner_text() == str(number)
            assert row.locator(".cluster-name").inner_text().startswith(about["name"])
            ids = [messy[1]["customer_id"].iloc[i] for i in about["typical"]]
            assert row.locator(".typical").inner_text().split() == ids
    assert page.locator("img").count() == 0


def test_selected_cluster_shows_its_profile(messy, page):
    tree, summary = messy[0][-1].tree_, messy[-1]
    node = int(clusters_at(tree, 4)[2])
    page.locator(f'.clusters tr[data-node="{node}"]').click()
    about, columns = summary["nodes"][node], summary["profiles"]["columns"]
    cards = page.locator("#profile .card")
    assert cards.count() == 6
    for i, j in enumerate(about["top"]):
        assert cards.nth(i).locator(".name b").inner_text() == columns[j]["name"]
        assert cards.nth(i).locator(".figures b").inner_text() == about["cells"][j][0]
        assert columns[j]["all"] in cards.nth(i).locator(".figures").inner_text()
    values = page.locator("#profile .typical tbody tr").first.locator("td").all_inner_texts()
    assert values[1:] == about["typical_values"][0]
    page.locator("#all-columns").click()
    assert cards.count() == len(columns)
    page.locator("#all-columns").click()


def test_two_clusters_are_compared(messy, page):
    tree, summary = messy[0][-1].tree_, messy[-1]
    first, other = (int(node) for node in clusters_at(tree, 4)[[0, 3]])
    page.locator("#compare").select_option(str(other))
    card = page.locator("#profile .card").first
    j = [column["name"] for column in summary["profiles"]["columns"]].index(card.locator(".name b").inner_text())
    assert card.locator(".figures b").inner_text() == summary["nodes"][first]["cells"][j][0]
    assert card.locator(".figures span").inner_text() == f"cluster 3: {summary['nodes'][other]['cells'][j][0]}"
    page.locator("#compare").select_option("")


def test_heat_map_is_read_by_keyboard_and_as_a_table(messy, page):
    summary = messy[-1]
    page.locator("#heat canvas").focus()
    page.keyboard.press("ArrowRight")
    column = summary["profiles"]["columns"][summary["profiles"]["order"][1]]
    assert f"{column['name']}: " in page.locator("#heat-readout").inner_text()
    assert f"all rows: {column['all']}" in page.locator("#heat-readout").inner_text()
    page.locator("#heat-table summary").click()
    expect(page.locator("#heat-cells tbody tr")).to_have_count(5)
    page.locator("#heat-table summary").click()


def test_rules_and_columns_are_listed(messy, page):
    summary = messy[-1]
    rules = page.locator(".rules tbody tr")
    assert rules.count() == 4
    for i, rule in enumerate(summary["rules"]["list"]):
        assert rules.nth(i).locator("code").inner_text() == rule["text"]
        assert rule["words"] in rules.nth(i).inner_text()
    assert summary["exact"]["reason"] in page.locator("#rules").inner_text()
    assert page.locator("#columns tbody tr").count() == len(messy[1].columns)


def test_rules_are_copied(messy, page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as SQL").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").endswith("\n".join(messy[-1]["rules"]["sql"]))


def test_row_is_found_by_its_identifier(messy, page):
    pipe, frame, _ = messy
    label = pipe.predict(frame)
    for row in (0, 17):
        page.locator("#row-search").fill(frame["customer_id"].iloc[row].lower())
        page.keyboard.press("Enter")
        found = page.locator("#found").inner_text()
        assert f"(row {row}) is in cluster {label[row]}: " in found
        assert (
            page.locator("#found .way li").count() == pipe[-1].tree_.depth[clusters_at(pipe[-1].tree_, 4)[label[row]]]
        )
    page.locator("#row-search").fill("nobody")
    page.keyboard.press("Enter")
    assert page.locator("#found").inner_text() == "There is no such row."


def test_new_name_is_in_the_page_and_in_the_files(messy, page, tmp_path):
    pipe, frame, _ = messy
    page.locator(".clusters [data-rename]").first.click()
    page.keyboard.type(f'{HOSTILE}, "best"')
    page.keyboard.press("Enter")
    name = f'{HOSTILE}, "best"'
    assert page.locator(".clusters .cluster-name").first.inner_text() == name
    assert name in page.locator("#profile-title").inner_text()
    assert name in page.locator(".rules tbody th").first.inner_text()
    assert page.locator("img").count() == 0
    with page.expect_download() as download:
        page.locator("#download-csv").click()
    download.value.save_as(tmp_path / "clusters.csv")
    with Path(tmp_path / "clusters.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    label = pipe.predict(frame)
    assert [int(line["cluster"]) for line in lines] == label.tolist()
    assert [line["customer_id"] for line in lines] == frame["customer_id"].tolist()
    assert {line["cluster_name"] for line in lines if line["cluster"] == "0"} == {name}
    with page.expect_download() as download:
        page.locator("#download-json").click()
    found = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [cluster["rows"] for cluster in found["clusters"]] == np.bincount(label).tolist()
    assert found["clusters"][0]["name"] == name
    page.locator(".clusters [data-rename]").first.click()
    page.locator(".name-field").fill("")
    page.keyboard.press("Enter")
    assert page.locator(".clusters .cluster-name").first.inner_text() != name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_of_a_table_fits_and_has_no_fault_of_accessibility(browser, path, scheme, width):
    page, troubles = opened(browser, path, viewport={"width": width, "height": 760}, color_scheme=scheme)
    page.locator(".clusters tbody tr").first.click()
    page.locator("#heat-table summary").click()
    page.locator("#row-search").fill("5")
    page.keyboard.press("Enter")
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    faults = [
        (fault["id"], [node["html"][:200] for node in fault["nodes"][:3]])
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] != "minor"
    ]
    page.context.close()
    assert faults == []
    assert troubles == []


def test_hundreds_of_clusters_are_drawn_when_they_are_seen(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))[rng.integers(0, 200, 4000)] * 30 + rng.normal(size=(4000, 3))
    model = PDDP(n_clusters=200, criterion="mean").fit(X)
    page, troubles = opened(
        browser, report.write(model, X, tmp_path / "report.html"), viewport={"width": 1280, "height": 900}
    )
    assert page.locator(".clusters tbody tr").count() == 150
    page.locator("#all-clusters").click()
    assert page.locator(".clusters tbody tr").count() == 200
    page.locator("#map").scroll_into_view_if_needed()
    expect(page.locator('.node[data-node="0"]')).to_have_count(1)
    assert 0 < page.locator(".node").count() < 399
    page.locator("#k").evaluate("(slider) => { slider.value = 10; slider.dispatchEvent(new Event('input')); }")
    expect(page.locator(".clusters tbody tr")).to_have_count(10)
    assert page.locator(".node").count() == 19
    page.context.close()
    assert troubles == []


def test_rules_and_columns_are_lists_on_a_phone(messy, browser, path):
    page, troubles = opened(browser, path, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    for place in ("#columns", "#rules .scroll"):
        region = page.locator(place)
        assert region.evaluate("one => one.scrollWidth - one.clientWidth") == 0
        assert not region.locator("thead").is_visible() or region.locator("thead").bounding_box()["width"] <= 1
    first = messy[-1]["columns"][0]
    assert page.locator("#columns tbody tr").first.inner_text().split("\n") == [
        *(first["name"], first["role"], first["treatment"], first["reason"])
    ]
    page.context.close()
    assert troubles == []
