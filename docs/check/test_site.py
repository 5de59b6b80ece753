"""The built site: links lead somewhere, nothing needs a network, pages fit a phone and can be read by everyone."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser import launched, needs_browser

SITE = Path(__file__).parents[1] / "_build" / "html"
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
TASKS = {
    "cluster a file": "start.html",
    "choose the number of clusters": "guide/number-of-clusters.html",
    "explain a cluster": "guide/explain.html",
    "predict new rows": "guide/predict.html",
    "follow a stream": "guide/streams.html",
    "search parameters": "guide/model-selection.html",
    "serve a model": "guide/serving.html",
    "use BERTopic": "guide/bertopic.html",
    "cluster embeddings": "guide/embeddings.html",
    "use Scanpy": "guide/scanpy.html",
    "use MLflow": "guide/mlflow.html",
}
LOOKED_AT = ["index.html", "which-method.html", "guide/ncuth.html", "gallery/index.html", "evidence/index.html"]


class Page(HTMLParser):
    """What a page refers to, and the places in it that may be referred to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.names = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.names.update(known[key] for key in ("id", "name") if known.get(key))
        if tag == "a" and known.get("href"):
            self.links.append(known["href"])
        elif tag == "link" and known.get("rel") in ("stylesheet", "icon", "preload", "search"):
            self.loaded.append(known["href"])
        elif known.get("src"):
            self.loaded.append(known["src"])


read = cache(Page)


def target(page, link):
    """The file and the place in it that a link of a page leads to, or None where it leaves the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return path, unquote(parts.fragment)


def test_site_was_built():
    assert SITE / "index.html" in PAGES, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_links_lead_somewhere_and_nothing_is_loaded_from_elsewhere(page):
    seen = read(page)
    assert not [source for source in seen.loaded if urlsplit(source).netloc], "the page needs a network"
    for link in [*seen.links, *seen.loaded]:
        if (goal := target(page, link)) is None:
            continue
        path, name = goal
        assert path.is_file(), link
        assert not name or path.suffix != ".html" or name in read(path).names, link


def test_links_of_the_readme_lead_somewhere():
    root = SITE.parents[2]
    targets = re.findall(r"\]\(([^)#:]+)\)", (root / "README.md").read_text(encoding="utf-8"))
    assert targets
    assert not [target for target in targets if not (root / target).exists()]


@pytest.mark.parametrize("goal", TASKS.values(), ids=TASKS)
def test_every_task_is_within_two_clicks_of_the_start_page(goal):
    within = {(SITE / "index.html").resolve()}
    for _ in range(2):
        links = [(page, link) for page in within if page.suffix == ".html" for link in read(page).links]
        within |= {there[0] for page, link in links if (there := target(page, link))}
    assert (SITE / goal).resolve() in within


def test_no_example_takes_minutes():
    seconds = [json.loads(path.read_text())["time"] for path in (SITE.parents[1] / "gallery").glob("*.cost.json")]
    assert len(seconds) >= 12
    assert max(seconds) < 120  # each takes 1 to 10 seconds on an idle machine


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def tab(browser):
    context = browser.new_context(offline=True, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def show(tab, name, width, query=""):
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto((SITE / name).as_uri() + query)


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_page_has_no_serious_violation_of_accessibility(tab, name, scheme):
    tab.emulate_media(color_scheme=scheme)
    show(tab, name, 1280)
    violations = Axe().run(tab).response["violations"]
    assert not [
        (violation["id"], [node["html"][:200] for node in violation["nodes"]][:5])
        for violation in violations
        if violation["impact"] in ("serious", "critical")
    ]


@needs_browser
@pytest.mark.parametrize("name", [str(page.relative_to(SITE)) for page in PAGES])
def test_page_fits_a_phone(tab, name):
    show(tab, name, 390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


@needs_browser
def test_search_works_without_a_network(tab):
    show(tab, "search.html", 1280, "?q=valley")
    expect(tab.locator("#search-results li").first).to_be_visible(timeout=20_000)
