import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas
import polars
import pytest
from jinja2 import UndefinedError
from sklearn.exceptions import NotFittedError

from ravine import PDDP, IncrementalMDH, report
from ravine.report import ReportAccumulator
from ravine.report._page import SCRIPTS, STREAM_SCRIPTS, filled, to_json

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--",
    "\"'><svg onload=alert(1)>",
    "]]>&lt;b&gt;{{ data }}",
    "\u2028\u2029\x00\ud800",
]


class Elements(HTMLParser):
    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        tag = self.tags[-1] if self.tags else ""
        self.texts[tag] = self.texts.get(tag, "") + data


@pytest.fixture(scope="module")
def model_and_rows():
    X = np.random.default_rng(0).normal(size=(120, 6)) + np.repeat([[0.0], [9.0]], 60, axis=0)
    return PDDP(n_clusters=2).fit(X), X


def hostile_page(model, X):
    labels = [HOSTILE[i % 6] for i in range(len(X))]
    return report.html(model, X, labels=labels, feature_names=HOSTILE, title=HOSTILE[1])


def embedded(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def test_markup_in_names_never_becomes_an_element(model_and_rows):
    model, X = model_and_rows
    plain = report.html(model, X, labels=["a", "b"] * 60, title="plain")
    assert Elements(hostile_page(model, X)).tags == Elements(plain).tags


def test_hostile_text_arrives_as_it_was_and_characters_that_are_not_seen_as_escapes(model_and_rows):
    model, X = model_and_rows
    page = hostile_page(model, X)
    data = embedded(page)
    assert data["names"] == [*HOSTILE[:-1], r"\u2028\u2029\x00\ud800"]
    assert set(data["classes"]["names"]) == set(data["names"])
    assert data["title"] == HOSTILE[1]
    page.encode("utf-8")


@pytest.mark.parametrize("text", [*HOSTILE[:-1], "{% raw %}{# #}{{ 1 + 1 }}"])
def test_text_in_a_template_is_escaped_and_never_read_as_a_template(text):
    plain = Elements(filled("compare.html", title="plain", n_rows="1", meanings={}, found=[]))
    found = Elements(filled("compare.html", title=text, n_rows="1", meanings={}, found=[]))
    assert found.tags == plain.tags
    assert found.texts["title"].strip() == found.texts["h1"].strip() == text


def test_part_that_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError, match="n_rows"):
        filled("compare.html", title="plain", meanings={}, found=[])


def test_json_holds_no_character_that_could_end_its_element():
    text = to_json({"text": "".join(HOSTILE)})
    assert text.isascii()
    assert not set(text) & set("<>&")
    assert json.loads(text) == {"text": "".join(HOSTILE)}


def test_page_fetches_nothing(model_and_rows):
    model, X = model_and_rows
    page = report.html(model, X)
    elements = Elements(page)
    fetching = {"src", "srcset", "action", "formaction", "data", "poster", "background", "ping", "manifest"}
    assert not [(tag, name) for tag, name, _ in elements.attributes if name in fetching]
    assert {value for _, name, value in elements.attributes if name in ("href", "xlink:href")} == {"#main"}
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(elements.tags)
    assert not re.search(r"@import|url\(", (resources.files("ravine.report") / "assets" / "page.css").read_text())
    policy = [value for _, name, value in elements.attributes if name == "content" and "default-src" in value]
    assert policy == ["default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"]


def test_scripts_write_text_and_never_markup():
    for name in {*SCRIPTS, *STREAM_SCRIPTS}:
        script = (resources.files("ravine.report") / "assets" / name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.html\(|\beval\b|new Function", script
        )
        assert "</script" not in script


def test_licenses_of_the_charts_are_in_the_page(model_and_rows):
    page = report.html(*model_and_rows)
    assert "Mike Bostock" in page
    assert "Observable, Inc." in page


def test_the_same_model_and_rows_give_the_same_bytes(model_and_rows, tmp_path):
    model, X = model_and_rows
    gatherer = ReportAccumulator(model.tree_)
    for start in range(0, len(X), 7):
        gatherer.add(X[start : start + 7])
    paths = [report.write(model, rows, tmp_path / f"{i}.html") for i, rows in enumerate([X, X, gatherer.rows()])]
    assert len({path.read_bytes() for path in paths}) == 1


def test_a_model_that_is_not_fitted_has_no_report(model_and_rows):
    for model in (PDDP(), IncrementalMDH()):
        with pytest.raises(NotFittedError):
            report.html(model, model_and_rows[1])


def test_columns_of_a_frame_are_named(model_and_rows):
    _, X = model_and_rows
    for frame in (pandas.DataFrame(X, columns=list("uvwxyz")), polars.DataFrame(X, schema=list("uvwxyz"))):
        page = report.html(PDDP(n_clusters=2).fit(frame), frame, labels=frame["u"] > 4)
        assert embedded(page)["names"] == list("uvwxyz")
        assert embedded(page)["classes"]["names"] == ["False", "True"]


def test_labels_of_gathered_rows_are_not_given_twice(model_and_rows):
    model, X = model_and_rows
    gatherer = ReportAccumulator(model.tree_)
    gatherer.add(X)
    with pytest.raises(ValueError, match="pass its labels to ReportAccumulator"):
        report.html(model, gatherer.rows(), labels=["a"] * 120)


def test_a_million_rows_stay_below_five_megabytes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50)) + 8 * rng.integers(0, 4, size=(20_000, 1))
    model = PDDP(n_clusters=60, criterion="mean").fit(X)
    gatherer = ReportAccumulator(model.tree_)
    for _ in range(50):
        gatherer.add(X)
    page = report.html(model, gatherer.rows())
    assert embedded(page)["n_rows"] == 1_000_000
    assert len(page.encode()) < 5e6


def test_five_hundred_clusters_of_wide_rows_stay_below_five_megabytes():
    rng = np.random.default_rng(0)
    X = 5 * rng.normal(size=(520, 784))[rng.integers(0, 520, size=4000)] + rng.normal(size=(4000, 784))
    model = PDDP(n_clusters=500, criterion="mean").fit(X)
    page = report.html(model, X, labels=rng.integers(0, 200, size=4000))
    assert embedded(page)["tree"]["rank"].count(0) == 500
    assert len(page.encode()) < 5e6
