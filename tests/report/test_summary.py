import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from tests.strategies import random_tree, seeds

from ravine import MDH, PDDP, IncrementalMDH, NCutH, SpectralPursuit, SumOfNorms, SupportVectorClustering
from ravine.datasets import make_blobs
from ravine.metrics import contingency_scores
from ravine.report import ReportAccumulator, _count_reason, _nodes, describe_clusters
from ravine.report._format import p_text
from ravine.report._sample import LeafRanges, Sample
from ravine.report._summary import clusters_at, summarize
from ravine.tree._text import sets_apart


def summary_of(model, X, labels=None, n_rows_kept=20_000, **options):
    gatherer = ReportAccumulator(getattr(model, "tree_", model), n_rows_kept)
    gatherer.add(X, labels)
    found = summarize(model, gatherer.rows(), **options)
    json.dumps(found, allow_nan=False)
    return found


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(900, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0], [9, 9, 0]], random_state=1)
    X = X * [1.0, 100.0, 1.0]
    return X, np.array(["north", "east", "south", "west"])[y], PDDP(n_clusters=4, criterion="mean").fit(X)


@given(seeds, st.integers(0, 9))
def test_clusters_of_every_number_are_the_leaves_of_the_cut_tree(seed, n_cuts):
    tree = random_tree(n_cuts, 2, seed)
    X = np.random.default_rng(seed).normal(size=(150, 2))
    labels = np.random.default_rng(seed + 1).integers(0, 4, size=150)
    found = summary_of(tree, X, labels)
    for k in range(1, tree.n_clusters + 1):
        cluster = tree.cut_to(k).predict(X)
        nodes = clusters_at(tree, k)
        expected = np.zeros((k, 4), dtype=int)
        np.add.at(expected, (cluster, labels), 1)
        assert_array_equal([found["classes"]["counts"][node] for node in nodes], expected)
        assert [found["nodes"][node]["rows"] for node in nodes] == expected.sum(axis=1).tolist()
        for name, score in contingency_scores(expected).items():
            assert found["classes"]["scores"][name][k - 1] == pytest.approx(score, rel=1e-3, abs=1e-12)


@given(seeds, st.integers(1, 6))
def test_rows_of_a_node_are_those_that_pass_it(seed, n_cuts):
    tree = random_tree(n_cuts, 2, seed)
    X = np.random.default_rng(seed).normal(size=(60, 2))
    gatherer = ReportAccumulator(tree)
    gatherer.add(X)
    sample = Sample(gatherer.rows(), LeafRanges(tree))
    passes = tree.decision_path(X).toarray()
    for node in range(tree.n_nodes):
        assert set(sample.number[sample.of(node)]) == set(np.flatnonzero(passes[:, node]))
        assert set(sample.some_of(node, 5)) <= set(range(*sample.of(node).indices(60)))
        assert len(set(sample.some_of(node, 5))) == min(5, int(passes[:, node].sum()))


def test_words_spread_and_typical_rows_of_a_cluster(blobs):
    X, _, model = blobs
    found = summary_of(model, X, feature_names=["width", "height", "noise"])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    passes = model.tree_.decision_path(X).toarray()
    for node, moments in enumerate(found["nodes"]):
        rows = np.flatnonzero(passes[:, node])
        mean = Z[rows].mean(axis=0)
        distance = np.linalg.norm(Z[rows] - mean, axis=1)
        assert moments["typical"] == rows[np.argsort(distance, kind="stable")[:3]].tolist()
        assert moments["spread"] == pytest.approx(np.sqrt((distance**2).mean() / 3), rel=1e-3)
    records = describe_clusters(model, X, feature_names=["width", "height", "noise"])
    for cluster, record in enumerate(records):
        mean = Z[model.labels_ == cluster].mean(axis=0)
        assert record["sets_apart"] == sets_apart(mean, ["width", "height", "noise"])


def test_density_and_histogram_of_each_node_hold_all_its_rows(blobs):
    X, _, model = blobs
    for moments in summary_of(model, X)["nodes"]:
        density = moments["along"]["density"]
        assert sum(density["height"]) * density["step"] == pytest.approx(1, abs=2e-3)
        assert sum(moments["along"]["counts"]) == moments["rows"]


def test_no_bin_lies_on_both_sides_of_the_cut(blobs):
    X, _, model = blobs
    tree = model.tree_
    for node in tree.cuts:
        along = summary_of(model, X)["nodes"][node]["along"]
        counts = dict(enumerate(along["counts"], start=along["first"]))
        on_left = sum(count for place, count in counts.items() if place < 0)
        assert on_left == tree.count[tree.left[node]]


def test_where_a_cut_bends_bins_hold_the_rows_of_each_side(rng):
    X = rng.normal(size=(200, 2))
    X *= (np.where(rng.uniform(size=200) < 0.5, 1.0, 6.0) / np.linalg.norm(X, axis=1))[:, np.newaxis]  # two rings
    model = SpectralPursuit(2, bandwidth_factor=0.3).fit(X)
    assert model.tree_.surface[0] is not None
    along = summary_of(model, X)["nodes"][0]["along"]
    assert sum(along["counts"][: -along["first"]]) == (model.labels_ == 0).sum()


def test_share_of_a_feature_is_that_of_the_distance_between_the_sides(blobs):
    X, _, model = blobs
    tree = model.tree_
    parts = np.maximum(tree.normal[0] * (tree.mean[tree.right[0]] - tree.mean[tree.left[0]]), 0)
    shares = {moments["feature"]: moments["share"] for moments in summary_of(model, X)["nodes"][0]["features"]}
    assert_allclose([shares.get(j, 0.0) for j in range(3)], parts / parts.sum(), rtol=5e-3, atol=1e-6)


def test_histograms_of_a_feature_count_both_sides(blobs):
    X, _, model = blobs
    tree = model.tree_
    for node in tree.cuts:
        for moments in summary_of(model, X)["nodes"][node]["features"]:
            assert sum(moments["left"]) == tree.count[tree.left[node]]
            assert sum(moments["right"]) == tree.count[tree.right[node]]
            assert len(moments["left"]) == len(moments["right"]) <= 20


@pytest.mark.parametrize(
    ("values", "n_left", "left", "right"),
    [
        ([0.0, 1.0, 3.0, 3.0], 2, [1, 1, 0, 0], [0, 0, 0, 2]),
        ([5.0, 5.0], 1, [1], [1]),
        ([0.5, 0.5, 0.5], 3, [3], [0]),
        ([0.0, 39.0, 40.0], 3, [1] + [0] * 12 + [2], [0] * 14),
    ],
)
def test_bins_of_whole_numbers_hold_as_many_numbers_each(values, n_left, left, right):
    found = _nodes.feature_bins(np.array(values), n_left)
    assert (found["left"], found["right"]) == (left, right)


def test_rows_nearest_to_the_cut_are_the_nearest(blobs):
    X, labels, model = blobs
    tree = model.tree_
    found = summary_of(model, X, labels)
    distance = X @ tree.normal[0] - tree.offset[0]
    nearest = found["nodes"][0]["nearest"]
    assert [moments["row"] for moments in nearest] == np.argsort(np.abs(distance))[:8].tolist()
    features = [moments["feature"] for moments in found["nodes"][0]["features"]]
    for moments in nearest:
        assert moments["distance"] == pytest.approx(distance[moments["row"]], rel=1e-3)
        assert_allclose(moments["values"], X[moments["row"], features[:4]], rtol=1e-5)
        assert found["classes"]["names"][moments["class"]] == labels[moments["row"]]


def test_points_lie_at_their_distances_and_across_them(blobs):
    X, _, model = blobs
    tree = model.tree_
    scatter = summary_of(model, X)["nodes"][0]["scatter"]
    assert len(scatter["x"]) == 300 == len(set(scatter["row"]))
    assert_allclose(scatter["x"], (X @ tree.normal[0] - tree.offset[0])[scatter["row"]], rtol=1e-3)
    along = X[scatter["row"]] @ tree.normal[0]
    assert np.var(scatter["y"]) + np.var(along) <= 1.01 * X[scatter["row"]].var(axis=0).sum()
    assert np.var(scatter["y"]) >= 0.9 * (X[scatter["row"]].var(axis=0).sum() - np.var(along)) / 2


def test_points_of_many_nodes_stay_within_bounds():
    for n_nodes in (1, 31, 400):
        each = _nodes.points_each([1000] * n_nodes)
        assert all(40 <= n <= 300 for n in each)
        assert sum(each) <= 12_000 + 40 * n_nodes
    assert _nodes.points_each([20_000] + [10] * 300)[0] > _nodes.points_each([10] * 301)[0]


def test_integers_of_the_user_keep_all_digits():
    X = np.array([[20_191_231.0], [20_191_230.0], [10_000_007.0], [10_000_003.0]])
    found = summary_of(PDDP(n_clusters=2, criterion="mean").fit(X), X)
    assert {moments["values"][0] for moments in found["nodes"][0]["nearest"]} == set(X[:, 0])


def test_more_than_fifty_classes_are_shown_as_the_commonest_and_others():
    X = np.linspace(0, 1, 600)[:, np.newaxis]
    labels = np.concatenate([np.full(200, 70), np.full(200, 71), np.arange(200) % 70])
    model = PDDP(n_clusters=3, criterion="mean").fit(X)
    found = summary_of(model, X, labels)["classes"]
    assert len(found["shown"]) == 50 == len(found["counts"][0])
    assert found["shown"][-1] == "23 other classes"
    assert sum(found["counts"][0]) == 600
    assert found["names"][found["commonest"][0]] in ("70", "71")
    assert found["commonest_rows"][0] == 200
    table = np.zeros((3, 72))
    np.add.at(table, (model.labels_, labels), 1)
    assert found["scores"]["nmi"][-1] == pytest.approx(contingency_scores(table)["nmi"], rel=1e-3)


def test_long_names_are_short_in_sentences_and_whole_elsewhere(blobs):
    X, _, model = blobs
    names = ["width", "h" * 100, "noise"]
    found = summary_of(model, X, feature_names=names)
    sentences = [moments["sentence"] for moments in found["nodes"][1:]]
    assert any("h" * 39 + "…" in sentence for sentence in sentences)
    assert not any("h" * 41 in sentence for sentence in sentences)
    assert found["names"] == names
    assert names[1] in {column["name"] for column in found["profiles"]["columns"]}
    assert any('"' + names[1] + '"' in line for line in found["rules"]["sql"])


def test_names_must_be_as_many_as_columns(blobs):
    X, _, model = blobs
    with pytest.raises(ValueError, match="feature_names has 2 entries, but the tree has 3 features"):
        summary_of(model, X, feature_names=["a", "b"])


def test_the_same_rows_give_the_same_summary_in_any_batches(blobs):
    X, labels, model = blobs
    gatherer = ReportAccumulator(model.tree_, 300)
    for start in range(0, len(X), 77):
        gatherer.add(X[start : start + 77], labels[start : start + 77])
    in_batches = summarize(model, gatherer.rows())
    assert json.dumps(in_batches) == json.dumps(summary_of(model, X, labels, 300))
    assert in_batches["n_sample"] == 300


def test_sparse_rows_give_the_summary_of_dense_ones(blobs):
    X, labels, model = blobs
    X = np.where(np.abs(X) > 1, X, 0.0)
    assert summary_of(model, sparse.csr_array(X), labels) == summary_of(model, X, labels)


def test_a_number_that_was_asked_for_is_said_to_be(blobs):
    X, _, model = blobs
    found = summary_of(model, X)
    assert found["choice"]["kind"] == "asked"
    assert found["choice"]["sentence"] == "The number of clusters was given: 4."
    assert found["nodes"][0]["evidence"] == "Not tested on held-out rows, because the number of clusters was given."
    assert found["choice"]["evidence"] is None
    path = [sum(model.tree_.cut_to(k).sum_sq[model.tree_.cut_to(k).leaves]) for k in range(1, 5)]
    assert_allclose(found["choice"]["sum_sq"]["left"], np.array(path) / path[0], rtol=1e-3)


def test_evidence_is_told_of_cuts_and_leaves(blobs):
    X, _, _ = blobs
    model = NCutH().fit(X / [1.0, 100.0, 1.0])
    found = summary_of(model, X / [1.0, 100.0, 1.0])
    assert found["choice"]["kind"] == "evidence"
    assert found["choice"]["evidence"]["level"] == 0.05
    for node in model.tree_.cuts:
        assert "Confirmed: held-out rows show a valley at this cut (p = " in found["nodes"][node]["evidence"]
    for node in model.tree_.leaves:
        assert found["nodes"][node]["evidence"].startswith(
            ("Tested on held-out rows: no further valley was confirmed", "No further valley was found")
        )


@pytest.mark.parametrize(
    ("estimator", "level", "upper", "lower"),
    [
        (
            PDDP,
            0.05,
            "Not confirmed by itself (p = 0.4). The cut is kept because a cut below it is confirmed.",
            "Confirmed: held-out rows show a valley at this cut (p = 0.03).",
        ),
        (
            IncrementalMDH,
            0.0125,
            "Not confirmed on held-out rows (p = 0.4).",
            "Not confirmed on held-out rows (p = 0.03).",
        ),
    ],
)
def test_below_a_cut_without_evidence_the_level_shrinks(estimator, level, upper, lower):
    tree = random_tree(2, 2, 3)
    below = int(tree.cuts[1])
    p_value = np.ones(tree.n_nodes)
    p_value[0], p_value[below] = 0.4, 0.03
    tested = replace(tree, p_value=p_value)
    model = estimator(significance=0.05)
    model.tree_ = tested
    choice = _count_reason.CountReason("evidence", "", *model._tested_levels())
    assert choice.level[below] == pytest.approx(level)
    assert [_count_reason.evidence_text(tested, node, choice) for node in (0, below)] == [upper, lower]


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.03, "p = 0.03"), (3e-9, "p = 3e-9"), (1.0, "p = 1"), (0.0, "p < 1e-300"), (2.5e-120, "p = 2.5e-120")],
)
def test_p_values_read_well(p, text):
    assert p_text(p) == text


def test_a_tree_that_was_cut_back_says_that_a_valley_is_left():
    X, _ = make_blobs(600, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    model = PDDP().fit(X).cut_to(2)
    texts = [moments["evidence"] for moments in summary_of(model, X)["nodes"]]
    assert sum("Held-out rows confirm another valley in this cluster (p = " in text for text in texts) == 1


def test_elbow_antimode_and_bare_tree_are_told_apart():
    X = load_wine().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        elbow = summary_of(IncrementalMDH().fit(X), X)["choice"]
        batch = summary_of(MDH(selection="elbow").fit(X), X)["choice"]
        chosen = summary_of(NCutH().fit(X / X.std(axis=0)), X / X.std(axis=0))["choice"]
    for choice in (elbow, chosen):
        assert "because no cut was confirmed on held-out rows" in choice["sentence"]
    assert "finds clusters even in data without any" in batch["sentence"]
    assert elbow["sum_sq"]["in_deviations"] is True
    antimode = PDDP(selection="antimode").fit(X)
    assert "had a valley" in summary_of(antimode, X)["choice"]["sentence"]
    bare = summary_of(antimode.tree_, X)
    assert bare["choice"]["kind"] == "unknown"
    assert bare["method"] is None
    assert bare["reproduce"]["lines"] == ["from ravine import report", 'report.write(tree, X, "report.html")']


def test_parameters_that_differ_are_named_and_have_no_address():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = NCutH(
        n_clusters=2, init=np.eye(2), bandwidth_factor=lambda s, n: 1.0, random_state=np.random.RandomState(0), n_jobs=1
    )
    method = summary_of(model.fit(X), X)["method"]
    assert method["name"] == "NCutH"
    assert dict(method["parameters"]) == {
        "n_clusters": "2",
        "init": "<array of shape (2, 2)>",
        "bandwidth_factor": "<<lambda>>",
        "random_state": "<RandomState>",
    }
    assert summary_of(MDH(n_clusters=1).fit(X), X)["method"]["parameters"] == [["n_clusters", "1"]]


def test_preparation_and_command_are_shown_as_given(blobs):
    X, _, model = blobs
    found = summary_of(model, X, preparation="Columns were scaled.", command="ravine cluster t.csv")
    assert found["preparation"] == "Columns were scaled."
    assert found["reproduce"] == {"by": "with this command", "lines": ["ravine cluster t.csv"]}
    assert summary_of(model, X)["reproduce"]["by"] == "in Python"


def test_a_stream_is_reproduced_by_batches():
    X, _ = make_blobs(1000, centers=3, random_state=1)
    model = IncrementalMDH(n_clusters=3).partial_fit(X)
    lines = summary_of(model, X)["reproduce"]["lines"]
    assert lines[1:4] == [
        "model = IncrementalMDH(n_clusters=3)",
        "for batch in batches:",
        "    model.partial_fit(batch)",
    ]


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((1, 2)),
        np.array([[0.0, 1.0], [1.0, 1.0]]),
        np.zeros((5, 2)),
        np.array([[1e140, 0.0], [-1e140, 0.0], [3e139, 1.0]]),
        np.full((4, 2), 1e-300),
        np.empty((0, 2)),
        np.array([[1e9, 0.0], [1e9 + 1e-7, 0.0]]),
    ],
)
@pytest.mark.parametrize("n_cuts", [0, 1, 6])
def test_odd_rows_and_empty_nodes_have_a_summary(X, n_cuts):
    tree = random_tree(n_cuts, 2, 5)
    found = summary_of(tree, X, ["a"] * len(X))
    assert found["nodes"][0]["rows"] == len(X)
    assert (found["classes"] is None) == (len(X) == 0)


@given(seeds, st.integers(0, 6), st.integers(1, 4), st.integers(0, 12), st.integers(0, 3))
def test_any_tree_and_rows_have_a_summary(seed, n_cuts, n_columns, n_rows, n_values):
    tree = random_tree(n_cuts, n_columns, seed)
    X = np.random.default_rng(seed).integers(0, n_values + 1, size=(n_rows, n_columns)).astype(float)
    found = summary_of(tree, X, n_rows_kept=6)
    assert found["n_sample"] == min(n_rows, 6)
    assert sum(found["nodes"][leaf]["rows"] for leaf in tree.leaves) == n_rows


@pytest.mark.parametrize("method", [SumOfNorms, SupportVectorClustering])
def test_reason_says_whether_clusters_are_stronger_than_chance(method, rng):
    one = method().fit(rng.normal(size=(100, 2)))
    assert "no clusters were found that are stronger" in _count_reason.choice_of(one, None).sentence
    two = method().fit(rng.normal(size=(100, 2)) + np.repeat([[0.0], [20.0]], 50, axis=0))
    assert "They are stronger than those that chance produces" in _count_reason.choice_of(two, None).sentence
