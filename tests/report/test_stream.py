import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from tests.report.test_page import HOSTILE, Elements, embedded

from ravine import HSDC, PDDP, StreamClusterer, load, report, save
from ravine.datasets import make_blobs
from ravine.report import _stream
from ravine.report._format import mean_and_spread

NAMES = ["width", "height", "weight"]


@pytest.fixture(scope="module")
def model():
    """Three clusters, and one that begins at about row 4,500; another one ends at about row 5,500."""
    X, y = make_blobs(9000, centers=[[0, 0, 70], [9, 0, 70], [0, 9, 80], [9, 9, 90]], random_state=0)
    row = np.arange(9000)
    X = X[~((y == 1) & (row > 7000)) & ~((y == 3) & (row < 6000))]
    return StreamClusterer().fit(pd.DataFrame(X, columns=NAMES))


@pytest.fixture(scope="module")
def data(model):
    return embedded(report.stream_html(model))


def of(data, cluster):
    (found,) = (about for about in data["clusters"] if about["id"] == cluster)
    return found


def number(text):
    return float(text.replace(",", "").replace("−", "-"))


def test_heading_counts_clusters_events_rows_and_columns(model, data):
    n_events, n_rows = sum(model.n_events_.values()), model.n_samples_seen_
    assert data["finding"] == f"4 clusters and {n_events} events after {n_rows:,} rows × 3 columns"
    assert data["title"] == "Stream report"
    assert data["method"] == {"name": "StreamClusterer", "parameters": []}
    assert data["names"] == NAMES


def test_timeline_has_all_rows_of_all_clusters(model, data):
    timeline, history = data["timeline"], model.history_
    assert len(timeline["start"]) <= _stream.MOST_BINS
    assert sorted(timeline["ids"]) == history["cluster_ids"].tolist()
    for cluster, counts in zip(timeline["ids"], timeline["counts"], strict=True):
        assert sum(counts) == history["counts"][:, history["cluster_ids"] == cluster].sum()
    widths = np.subtract(timeline["stop"], timeline["start"])
    assert np.sum(timeline["counts"], axis=0).tolist() == widths.tolist()


def test_number_of_clusters_follows_the_stream(data):
    start, numbers = np.array(data["timeline"]["start"]), np.array(data["timeline"]["n_clusters"])
    assert set(numbers[(start > 1000) & (start < 4300)]) == {3}
    assert set(numbers[(start > 4800) & (start < 5300)]) == {4}
    assert numbers[-1] == 3


def test_events_are_listed_the_most_recent_first(model, data):
    assert [event["text"] for event in data["events"]] == [event["text"] for event in model.events_[::-1]]
    assert [(event["row"], event["since"]) for event in data["events"][::-1]] == [
        (event["row"], event["since"]) for event in model.events_
    ]
    assert dict(data["kinds"]) == {kind: n for kind, n in model.n_events_.items() if n}


def test_present_clusters_are_those_of_the_model(model, data):
    assert [about["id"] for about in data["clusters"]] == sorted(model.cluster_ids_.tolist())
    assert sum(about["share"] for about in data["clusters"]) == pytest.approx(1, abs=1e-3)
    assert [about["rests"] for about in data["clusters"]].count(True) == 1
    (gone,) = (about for about in data["clusters"] if about["rests"])
    assert gone["share"] == 0
    (event,) = (event for event in model.events_ if event["kind"] == "vanished")
    assert event["clusters"] == [gone["id"]]
    (event,) = (event for event in model.events_ if event["kind"] == "appeared")
    assert of(data, event["clusters"][0])["since"] == event["since"]


def test_shares_are_those_of_the_last_rows(model, data):
    history, n_recent = model.history_, data["n_recent"]
    assert _stream.RECENT_ROWS <= n_recent < _stream.RECENT_ROWS + 64
    recent = history["counts"][history["start"] >= model.n_samples_seen_ - n_recent].sum(axis=0)
    for cluster, count in zip(history["cluster_ids"].tolist(), recent.tolist(), strict=True):
        if count:
            assert of(data, cluster)["share"] == pytest.approx(count / n_recent, abs=1e-4)


def test_columns_are_described_in_their_own_units(model, data):
    nodes = model._stream.nodes
    for leaf in nodes.leaves():
        X, _ = nodes.recent(leaf)
        about = of(data, int(nodes.identity[leaf]))
        assert about["kept"] == len(X)
        assert len(about["columns"]) == 3
        for column in about["columns"]:
            j = column["feature"]
            assert_allclose(number(column["text"][0]), X[:, j].mean(), atol=0.051)
            assert_allclose(number(column["text"][1]), X[:, j].std(), atol=0.051)


def test_clusters_are_compared_with_all_others_by_their_share(model, data):
    means = {}
    for leaf in model._stream.nodes.leaves():
        means[int(model._stream.nodes.identity[leaf])] = model._stream.nodes.recent(leaf)[0].mean(axis=0)
    for about in data["clusters"]:
        others = [other for other in data["clusters"] if other is not about]
        weights = [other["share"] for other in others]
        expected = np.average([means[other["id"]] for other in others], axis=0, weights=weights)
        for column in about["columns"]:
            assert_allclose(number(column["others"]), expected[column["feature"]], atol=0.06)
            side = means[about["id"]][column["feature"]] - expected[column["feature"]]
            assert np.sign(column["difference"]) == np.sign(round(side, 2))
        sizes = [abs(column["difference"]) for column in about["columns"]]
        assert sizes == sorted(sizes, reverse=True)
    high = max(data["clusters"], key=lambda about: means[about["id"]][2])
    assert "weight" in high["words"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.0, 0.0), ["0", "0"]),
        ((-0.5, 0.2), ["−0.50", "0.20"]),
        ((123456.789, 1234.5), ["123,457", "1,234"]),
        ((1.0, 9.99), ["1.0", "10.0"]),
        ((-1e150, 1e140), ["−1e+150", "1e+140"]),
    ],
)
def test_mean_has_the_decimals_that_its_spread_needs(values, texts):
    assert mean_and_spread(*values) == texts


def test_markup_in_names_never_becomes_an_element():
    X = make_blobs(900, centers=9 * np.eye(6)[:3], random_state=0)[0]
    model = StreamClusterer().fit(X)
    hostile = report.stream_html(model, feature_names=HOSTILE, title=HOSTILE[1])
    assert Elements(hostile).tags == Elements(report.stream_html(model, title="plain")).tags
    assert embedded(hostile)["names"] == [*HOSTILE[:-1], r"\u2028\u2029\x00\ud800"]
    assert embedded(hostile)["title"] == HOSTILE[1]
    hostile.encode("utf-8")


def test_page_fetches_nothing(model):
    elements = Elements(report.stream_html(model))
    assert not [name for _, name, _ in elements.attributes if name in {"src", "srcset", "action", "data", "poster"}]
    assert {value for _, name, value in elements.attributes if name in ("href", "xlink:href")} == {"#main"}
    policy = [value for _, name, value in elements.attributes if name == "content" and "default-src" in value]
    assert policy == ["default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"]


def test_loaded_model_has_the_page_of_the_original(model, tmp_path):
    save(model, tmp_path / "model.ravine", resume=True)
    first = report.write_stream(model, tmp_path / "first.html")
    second = report.write_stream(load(tmp_path / "model.ravine"), tmp_path / "second.html")
    assert first.read_bytes() == second.read_bytes() == report.stream_html(model).encode()


def test_page_does_not_depend_on_the_batches(model):
    X = np.concatenate([make_blobs(800, centers=[[0, 0], [9, 0]], random_state=k)[0] for k in range(3)])
    in_batches = StreamClusterer()
    for start in range(0, len(X), 70):
        in_batches.partial_fit(X[start : start + 70])
    assert report.stream_html(in_batches) == report.stream_html(StreamClusterer().fit(X))


def test_what_has_no_stream_is_refused_in_words(model, tmp_path):
    save(model, tmp_path / "model.ravine", resume=False)
    with pytest.raises(AttributeError, match="saved without its stream: save it with resume=True"):
        report.stream_html(load(tmp_path / "model.ravine"))
    with pytest.raises(NotFittedError):
        report.stream_html(StreamClusterer())
    for other in (None, model.tree_, HSDC(), PDDP, "model.ravine"):
        with pytest.raises(TypeError, match="this page shows a fitted StreamClusterer, not an object of type"):
            report.stream_html(other)
    with pytest.raises(ValueError, match="feature_names has 1 entries, but the model has 3 features"):
        report.stream_html(model, feature_names=["a"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", ["one", "few", "constant", "large", "tiny"])
def test_odd_rows_have_a_page(rows):
    X = make_blobs(1200, centers=[[0, 0], [30, 0]], random_state=0)[0]
    X = {"one": X[:1], "few": X[:20], "constant": np.ones((300, 2)), "large": X * 1e148, "tiny": X * 1e-140}[rows]
    data = embedded(report.stream_html(StreamClusterer().fit(X)))
    assert len(data["clusters"]) == (2 if rows in ("large", "tiny") else 1)
    assert data["timeline"]["n_clusters"][-1] == len(data["clusters"])
    assert all(abs(column["difference"]) < 100 for about in data["clusters"] for column in about["columns"])


def test_columns_of_wide_rows_are_those_that_differ_most_and_the_page_stays_small():
    rng = np.random.default_rng(0)
    centers = 8 * rng.normal(size=(12, 300))
    centers[0, 250] = 1e4
    X = centers[rng.integers(12, size=4000)] + rng.normal(size=(4000, 300))
    model = StreamClusterer(window_size=128).fit(X)
    page = report.stream_html(model)
    data = embedded(page)
    assert model.n_clusters_ == 12
    assert all(len(about["columns"]) == _stream.MOST_COLUMNS for about in data["clusters"])
    firsts = [about["columns"][0] for about in data["clusters"]]
    assert sum(column["feature"] == 250 and number(column["text"][0]) > 9000 for column in firsts) == 1
    assert len(page) < 1_500_000
    assert len(json.dumps(data)) < 500_000
    assert re.match("<!doctype html>", page)
