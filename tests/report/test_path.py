from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import PDDP, SumOfNorms, report
from ravine.datasets import make_blobs, make_moons
from ravine.report import ReportAccumulator
from ravine.report._data import gathered
from ravine.report._path import MOST_DRAWN, MOST_LEVELS, MOST_NODES, lambda_text, lines_of, percent_text
from ravine.report._summary import summarize


def summary_of(model, X, labels=None):
    return summarize(model, gathered(model, X, labels))


def rows_at(summary, level):
    """The rows of each cluster of a level, as the page finds them."""
    levels = summary["levels"]
    node = np.array(levels["parts"][level])[levels["part_of"]]
    number = np.array(summary["rows"]["number"])
    return [set(number[node == each].tolist()) for each in levels["nodes"][level]]


def groups_of(labels):
    return [set(np.flatnonzero(labels == cluster).tolist()) for cluster in range(labels.max() + 1)]


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    species = data.target_names[data.target]
    model = SumOfNorms().fit(data.data)
    return model, data.data, species, summary_of(model, data.data, species)


@pytest.fixture(scope="module")
def moons():
    X, _ = make_moons(300, noise=0.07, random_state=0)
    model = SumOfNorms().fit(X)
    return model, X, summary_of(model, X)


def test_clusters_of_a_level_are_those_of_cut_to(iris):
    model, _, _, summary = iris
    numbers = [len(nodes) for nodes in summary["levels"]["nodes"]]
    for number in (2, 3, 4, 5):
        assert rows_at(summary, numbers.index(number)) == groups_of(model.cut_to(number).labels_)


def test_chosen_level_is_the_fit(iris):
    model, _, _, summary = iris
    level = summary["levels"]["chosen"]
    about = summary["path"]["levels"][level]
    assert summary["path"]["chosen"] == level
    assert about["low"] <= model.lam_ <= about["high"]
    assert about["lam"] == pytest.approx(model.lam_, rel=1e-5)
    assert summary["levels"]["nodes"][level] == list(range(1, model.n_clusters_ + 1))
    assert rows_at(summary, level) == groups_of(model.labels_)


def test_levels_are_in_the_order_of_lambda_and_do_not_overlap(moons):
    levels = moons[-1]["path"]["levels"]
    assert len(levels) <= MOST_LEVELS
    assert all(level["low"] <= level["lam"] <= level["high"] for level in levels)
    assert all(first["high"] <= second["low"] for first, second in pairwise(levels))
    assert sum(map(len, moons[-1]["levels"]["nodes"])) <= MOST_NODES


def test_nodes_of_levels_have_their_rows_and_words(iris):
    *_, summary = iris
    for level, nodes in enumerate(summary["levels"]["nodes"]):
        for node, rows in zip(nodes, rows_at(summary, level), strict=True):
            about = summary["nodes"][node]
            assert about["rows"] == len(rows)
            assert set(about["typical"]) <= rows
            assert set(about["scatter"]["row"]) <= rows
            assert about["sentence"]
            assert len(about["cells"]) == 4
            assert len(about["typical_values"]) == len(about["typical"])


def test_clusters_with_the_same_rows_are_one_node(iris):
    *_, summary = iris
    known = {}
    for level, nodes in enumerate(summary["levels"]["nodes"]):
        for node, rows in zip(nodes, rows_at(summary, level), strict=True):
            assert known.setdefault(frozenset(rows), node) == node
    assert len(known) == len(summary["nodes"]) - 1
    assert set(known.values()) == set(range(1, len(summary["nodes"])))


def test_classes_are_counted_at_every_level(iris):
    _, _, species, summary = iris
    classes = summary["classes"]
    names = np.array(classes["names"])
    for level, nodes in enumerate(summary["levels"]["nodes"]):
        label = np.empty(150, dtype=int)
        for cluster, (node, rows) in enumerate(zip(nodes, rows_at(summary, level), strict=True)):
            assert classes["counts"][node] == [int(np.sum(species[list(rows)] == name)) for name in names]
            label[list(rows)] = cluster
        pairs = pd.crosstab(label, species).to_numpy()
        assert classes["scores"]["purity"][level] == pytest.approx(pairs.max(axis=1).sum() / 150, abs=1e-3)


def test_sentences_say_what_the_model_says(iris):
    model, _, _, summary = iris
    found, size, bound, *rest = summary["path"]["sentences"]
    about = summary["path"]["levels"][summary["path"]["chosen"]]
    low, high = lambda_text(about["low"]), lambda_text(about["high"])
    assert (
        found == f"At λ = {lambda_text(model.lam_)}, there are 2 clusters, the same ones from λ = {low} to λ = {high}."
    )
    assert size.startswith(f"A group of fewer than {model.min_cluster_size_:.0f} rows is not a cluster")
    assert bound == f"The solution at this λ is proven to be within {percent_text(model.gap_)} of the best one."
    assert all("left" not in text for text in rest)


def test_clusters_stay_the_same_within_their_stretch(iris):
    model, _, _, summary = iris
    about = summary["path"]["levels"][summary["path"]["chosen"]]
    inside = [lam for lam in model.path_.lambdas if about["low"] * 1.01 < lam < about["high"] * 0.99]
    for lam in (inside[0], inside[-1]):
        group = model.labels_at(lam)
        large = [g for g, count in enumerate(np.bincount(group)) if count >= model.min_cluster_size_]
        assert len(large) == 2
        assert all(len(set(model.labels_[group == g])) == 1 for g in large)


def test_steps_are_the_numbers_of_groups_at_each_lambda(moons):
    model, _, summary = moons
    steps = summary["path"]["steps"]
    assert steps["lam"] == pytest.approx(model.path_.lambdas, rel=1e-3)
    for i in (0, 60, 120, -1):
        sizes = np.bincount(model.labels_at(model.path_.lambdas[i]))
        assert steps["groups"][i] == len(sizes)
        assert steps["clusters"][i] == np.sum(sizes >= model.min_cluster_size_)


def test_lines_lead_from_every_drawn_row_to_the_last_fusion(moons):
    model, X, summary = moons
    picture = summary["path"]["picture"]
    place = np.array(picture["corners"]).T
    assert place[: picture["n_points"]] == pytest.approx(X[picture["row"]], rel=1e-3)
    start, end = np.array(picture["lines"]).reshape(-1, 2).T
    parent = dict(zip(start.tolist(), end.tolist(), strict=True))
    assert len(parent) == len(start)  # a corner has one way on
    ends = set()
    for corner in range(picture["n_points"]):
        while corner in parent:
            assert picture["lam"][parent[corner]] >= picture["lam"][corner]
            corner = parent[corner]
        ends.add(corner)
    assert len(ends) == 1
    assert place[ends.pop()] == pytest.approx(model.path_.centroids[-1], abs=0.03)


def test_two_drawn_rows_are_on_one_line_from_the_lambda_at_which_they_fuse():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    model = SumOfNorms(n_clusters=2, min_cluster_size=2).fit(X)
    path = model.path_
    position = np.concatenate([model.points_, path.centroids])
    corner, start, end = lines_of(path, position, np.array([0, 4]))
    last = {0: 0, 1: 1}
    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        last = {row: b if at == a else at for row, at in last.items()}
    assert last[0] == last[1]
    lam = path.merge_lambdas[corner[last[0]] - 5]
    assert model.labels_at(lam)[0] == model.labels_at(lam)[3]
    assert model.labels_at(lam * 0.999)[0] != model.labels_at(lam * 0.999)[3]


def test_points_have_the_node_of_their_row(moons):
    model, _, summary = moons
    picture, levels = summary["path"]["picture"], summary["levels"]
    assert picture["node"] == (model.labels_[picture["row"]] + 1).tolist()
    for level, nodes in enumerate(levels["nodes"]):
        rows = rows_at(summary, level)
        for row, part in zip(picture["row"], picture["part"], strict=True):
            assert row in rows[nodes.index(levels["parts"][level][part])]


def test_centers_of_the_fit_are_those_of_the_model(moons):
    model, _, summary = moons
    centers = summary["path"]["picture"]["centers"][summary["path"]["chosen"]]
    np.testing.assert_allclose(np.transpose(centers), model.cluster_centers_, rtol=1e-3)


def test_axes_are_columns_in_the_units_of_the_table_after_a_scaler(moons):
    _, X, _ = moons
    frame = pd.DataFrame(X * [1000, 1], columns=["east", "north"])
    pipe = make_pipeline(StandardScaler(), SumOfNorms()).fit(frame)
    summary = summary_of(pipe, frame)
    picture = summary["path"]["picture"]
    assert picture["axes"] == ["east", "north"]
    assert picture["share"] is None
    place = np.array(picture["corners"]).T[: picture["n_points"]]
    assert place == pytest.approx(frame.to_numpy()[picture["row"]], rel=1e-3)
    assert summary["levels"] is not None


def test_more_columns_are_drawn_along_principal_directions(iris):
    _, X, _, summary = iris
    centered = (X - X.mean()).to_numpy()
    values = np.linalg.svd(centered, compute_uv=False) ** 2
    picture = summary["path"]["picture"]
    assert picture["share"] == pytest.approx(values[:2].sum() / values.sum(), abs=2e-3)
    assert picture["axes"][0] == "direction 1, mainly petal length (cm) and sepal length (cm)"


def test_many_rows_are_drawn_in_part_and_the_page_says_so():
    X, _ = make_blobs(700, centers=[[0, 0], [9, 0]], random_state=0)
    model = SumOfNorms().fit(X)
    summary = summary_of(model, X)
    assert summary["path"]["picture"]["n_points"] == MOST_DRAWN
    assert f"The lines of {MOST_DRAWN} of 700 distinct rows are drawn." in summary["path"]["sentences"]
    assert len(report.html(model, X)) < 2_000_000


def test_copies_of_rows_are_in_the_same_cluster_at_every_level():
    X, _ = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X = np.concatenate([X, X[:40]])
    model = SumOfNorms().fit(X)
    summary = summary_of(model, X)
    assert [node["rows"] for node in summary["nodes"][1:4]] == np.bincount(model.labels_).tolist()
    part = dict(zip(summary["rows"]["number"], summary["levels"]["part_of"], strict=True))
    assert all(part[i] == part[120 + i] for i in range(40))


def test_one_cluster_that_was_not_confirmed_has_the_groups_of_the_path():
    X = np.random.default_rng(0).random((300, 2))
    model = SumOfNorms().fit(X)
    assert model.n_clusters_ == 1
    summary = summary_of(model, X)
    chosen = summary["levels"]["chosen"]
    assert len(summary["levels"]["nodes"][chosen]) == 1
    assert summary["path"]["sentences"][0] == f"At λ = {lambda_text(model.lam_)}, there is 1 cluster."
    other = next(nodes for nodes in summary["levels"]["nodes"] if len(nodes) > 1)
    assert all(summary["nodes"][node]["sentence"] for node in other)
    assert summary["profiles"] is not None


def test_given_lambda_without_a_path_says_how_to_get_one(moons):
    _, X, _ = moons
    model = SumOfNorms(lam=50.0).fit(X)
    summary = summary_of(model, X)
    assert summary["path"] is None
    assert summary["levels"] is None
    assert summary["no_path"] == (
        "The model was fitted for one λ, 50, so it has no path. To see how the rows meet as λ grows, fit it with "
        "path=True, or without lam."
    )


def test_given_lambda_with_a_path_is_a_level_of_its_own(moons):
    _, X, _ = moons
    model = SumOfNorms(lam=3.0, path=True).fit(X)
    summary = summary_of(model, X)
    assert summary["path"]["levels"][summary["path"]["chosen"]] == {"low": 3, "high": 3, "lam": 3}
    assert rows_at(summary, summary["levels"]["chosen"]) == groups_of(model.labels_)


def test_other_rows_have_the_path_of_the_fit_but_no_levels(moons):
    model, X, _ = moons
    for rows in (X[:200], X[::-1], X + 0.5):
        summary = summary_of(model, rows)
        assert summary["levels"] is None
        assert any("the clusters of one λ only" in text for text in summary["path"]["sentences"])
        assert summary["path"]["picture"]["row"] is None


def test_levels_need_all_rows_in_the_sample(moons):
    model, X, _ = moons
    gatherer = ReportAccumulator(model, n_rows_kept=100)
    gatherer.add(X)
    summary = summarize(model, gatherer.rows())
    assert summary["levels"] is None
    assert summary["path"] is not None


def test_batches_and_numbers_of_rows_do_not_change_the_levels(moons):
    model, X, whole = moons
    gatherer = ReportAccumulator(model)
    for part in np.array_split(np.arange(300), 3):
        gatherer.add(X[part], numbers=part)
    assert summarize(model, gatherer.rows())["levels"] == whole["levels"]


def test_equal_rows_have_no_path():
    model = SumOfNorms().fit(np.ones((20, 3)))
    summary = summary_of(model, np.ones((20, 3)))
    assert summary["path"] is None
    assert summary["no_path"] == "All rows are equal, so there is no path."


def test_no_rows_have_a_page(moons):
    assert summary_of(moons[0], moons[1][:0])["levels"] is None


def test_rows_of_weight_zero_have_no_levels(moons):
    _, X, _ = moons
    weight = np.ones(300)
    weight[:3] = 0
    model = SumOfNorms().fit(X, sample_weight=weight)
    assert summary_of(model, X)["levels"] is None


def test_other_methods_have_no_path():
    X, _ = make_blobs(100, random_state=0)
    summary = summary_of(PDDP(selection="evidence").fit(X), X)
    assert summary["path"] is summary["levels"] is None
    assert summary["no_path"] == ""
