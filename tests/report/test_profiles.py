"""Names, sentences, profiles and rules of a report, against the table from which they come."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from tests.strategies import random_tree

from ravine import PDDP, IncrementalMDH, SupportVectorClustering
from ravine.datasets import make_blobs, make_messy_table
from ravine.explain import cluster_names, profile, sentence, tree_sql
from ravine.prepare import TableEncoder
from ravine.report import ReportAccumulator, _profiles
from ravine.report._data import gathered
from ravine.report._profiles import NodeProfiles
from ravine.report._sample import LeafRanges
from ravine.report._summary import clusters_at, summarize
from ravine.report._table import profiled


@pytest.fixture(scope="module")
def messy():
    frame = pd.DataFrame(make_messy_table(900, random_state=1).columns)
    pipe = make_pipeline(TableEncoder(), IncrementalMDH(n_clusters=4, random_state=1)).fit(frame)
    rows = gathered(pipe, frame)
    summary = summarize(pipe, rows)
    json.dumps(summary, allow_nan=False)
    return pipe, frame, rows, summary


def cells_of(pipe, frame):
    """The cells of the columns that the model uses, and of all that are profiled, in the order of the frame."""
    values, columns = pipe[0].values(frame), pipe[0].summary()
    used, others = profiled(values, columns)
    return {name: values[name] for name in used}, {name: values[name] for name in (*used, *others)}


def test_names_and_sentences_of_every_node_are_those_of_its_rows(messy):
    pipe, frame, rows, summary = messy
    used, _ = cells_of(pipe, frame)
    leaf = pipe.predict(frame)
    tree = pipe[-1].tree_
    ranges = LeafRanges(tree)
    for node in range(1, tree.n_nodes):
        inside = (leaf >= ranges.first[node]) & (leaf < ranges.end[node])
        alone = profile(used, np.where(inside, 0, -1))
        assert summary["nodes"][node]["sentence"] == sentence(alone, 0, units=rows.units)
    of_leaves = cluster_names(profile(used, leaf))
    for cluster, node in enumerate(clusters_at(tree, tree.n_clusters)):
        assert summary["nodes"][node]["name"] == of_leaves[cluster].removesuffix(f" (cluster {cluster})")
    assert "name" not in summary["nodes"][0]


def test_cells_have_medians_shares_and_differences_of_the_table(messy):
    pipe, frame, _, summary = messy
    _, cells = cells_of(pipe, frame)
    leaf = pipe.predict(frame)
    tree = pipe[-1].tree_
    found = profile(cells, leaf)
    about = summary["profiles"]["columns"]
    assert {column["name"] for column in about} == set(cells)
    assert summary["profiles"]["left_out"] == 0
    for cluster, node in enumerate(clusters_at(tree, tree.n_clusters)):
        for described, (text, signed, bins) in zip(about, summary["nodes"][node]["cells"], strict=True):
            column = found.column(described["name"])
            assert abs(signed) == round(100 * column.difference[cluster])
            assert (signed < 0) == (column.direction[cluster] < 0 and round(100 * column.difference[cluster]) > 0)
            assert sum(bins) == pytest.approx(1000, abs=len(bins))
            if column.is_ordered:
                assert len(bins) == len(described["edges"]) - 1
                expected = column.histogram[cluster] / column.count[cluster]
                np.testing.assert_allclose(np.array(bins) / 1000, expected, atol=6e-4)
            else:
                assert described["levels"][-2:] == ["other", "missing"]
                assert len(bins) == len(described["levels"])
                assert bins[-1] == pytest.approx(1000 * column.gap_share[cluster], abs=0.6)
            has_gaps = column.gap_share[cluster] >= 0.01
            assert text.endswith(" missing") == has_gaps


def test_text_of_a_cell_says_median_and_quartiles_with_units():
    X = np.array([10.0, 20, 30, 40, 50, 900, 910, 920, 930, 940])[:, np.newaxis]
    model = PDDP(n_clusters=2, criterion="mean").fit(X)
    rows = gathered(model, X)
    table = {
        "spend": rows.X[:, 0],
        "who": [f"c{i}" for i in rows.number],
        "tea": np.array(["yes", "no"])[rows.number % 2],
    }
    rows = rows.with_table(table, "who", {"spend": ("€", "")}, [{"name": "who", "role": "identifier"}])
    found = summarize(model, rows, feature_names=["spend"])
    assert [column["name"] for column in found["profiles"]["columns"]] == ["spend", "tea"]
    assert found["nodes"][1]["cells"][0][0] == "€30 (€20 to €40)"
    assert found["profiles"]["columns"][0]["all"] == "€475 (€30 to €920)"
    assert found["nodes"][1]["cells"][1][0] == "yes 60 %, no 40 %"
    assert found["nodes"][1]["sentence"] == "median spend €30, against €475 for all"
    assert found["rows"]["ids"] == [f"c{number}" for number in found["rows"]["number"]]
    assert found["nodes"][1]["typical"][0] == 2
    assert found["nodes"][1]["typical_values"][0] == ["€30", "yes"]
    assert found["rules"]["list"][0]["text"] == "spend < 500"
    assert found["rules"]["list"][0]["words"].startswith("100 % of the rows that match are in the cluster")


def test_typical_and_nearest_rows_have_the_cells_of_the_table(messy):
    pipe, frame, _, summary = messy
    names = [column["name"] for column in summary["profiles"]["columns"]]
    spelled = pipe[0].values(frame)
    kinds = {name: values.dtype.kind for name, values in spelled.items()}
    for node in summary["nodes"][1:]:
        for number, values in zip(node["typical"], node["typical_values"], strict=True):
            for name, text in zip([names[j] for j in node["top"]], values, strict=True):
                cell = spelled[name][number]
                if kinds[name] == "O":
                    assert text == ("missing" if cell is None else cell)
                elif kinds[name] == "M":
                    assert text == ("missing" if np.isnat(cell) else str(cell))
                else:
                    assert ("missing" if np.isnan(cell) else f"{cell:,.6g}") in text
        for row in node.get("nearest", ()):
            for name, text in zip(node["nearest_columns"], row["values"], strict=True):
                if kinds[name] == "M":
                    assert text in ("missing", str(spelled[name][row["row"]]))


def test_columns_are_listed_and_ignored_ones_are_profiled_but_not_told(messy):
    pipe, _, _, summary = messy
    assert [line["name"] for line in summary["columns"]] == list(messy[1].columns)
    assert summary["finding"] == "4 clusters in 900 rows × 21 columns"
    copies = [line["name"] for line in pipe[0].summary() if line["role"] == "copy"]
    about = {column["name"]: column for column in summary["profiles"]["columns"]}
    for name in copies:
        assert not about[name]["used"]
        assert not any(f"median {name} " in node.get("sentence", "") for node in summary["nodes"])
    assert "is not available as SQL, because it works on encoded columns" in summary["exact"]["reason"]


def test_orders_are_permutations(messy):
    summary = messy[-1]
    assert sorted(summary["profiles"]["order"]) == list(range(len(summary["profiles"]["columns"])))
    assert sorted(summary["profiles"]["nodes"]) == sorted(clusters_at(messy[0][-1].tree_, 4))


def test_rows_are_listed_by_cluster(messy):
    pipe, frame, _, summary = messy
    leaf = pipe.predict(frame)
    start = 0
    for cluster, end in enumerate(summary["rows"]["ends"]):
        numbers = summary["rows"]["number"][start:end]
        assert set(numbers) == set(np.flatnonzero(leaf == cluster))
        assert summary["rows"]["ids"][start:end] == frame["customer_id"].iloc[numbers].tolist()
        start = end


def test_few_columns_are_kept_for_many_nodes(monkeypatch):
    X, _ = make_blobs(400, centers=np.eye(6) * 20, random_state=0)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(400, 9))])
    model = PDDP(n_clusters=6, criterion="mean").fit(X)
    monkeypatch.setattr(_profiles, "MOST_CELLS", 66)
    found = summarize(model, gathered(model, X))
    assert len(found["profiles"]["columns"]) == 6
    assert found["profiles"]["left_out"] == 9
    assert {column["name"] for column in found["profiles"]["columns"]} == {f"x{j}" for j in range(6)}


def test_many_columns_are_reduced_to_those_whose_means_differ(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    X[:100, 7] += 30
    model = PDDP(n_clusters=2).fit(X)
    monkeypatch.setattr(_profiles, "MOST_COMPARED", 5)
    found = summarize(model, gathered(model, X))
    assert len(found["profiles"]["columns"]) == 5
    assert found["profiles"]["left_out"] == 35
    assert found["nodes"][1]["sentence"].startswith("median x7 ")


def test_groups_without_a_tree_have_profiles():
    X, _ = make_blobs(200, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    model = SupportVectorClustering(n_clusters=3).fit(X)
    found = summarize(model, gathered(model, X))
    for group in range(3):
        expected = sentence(profile(X, model.labels_), group)
        assert found["nodes"][group + 1]["sentence"] == expected
    assert found["exact"]["reason"] == "This model has no tree of cuts, so it cannot be written as SQL."


def test_one_cluster_and_no_rows_have_no_profiles():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for model, rows in ((PDDP(n_clusters=1).fit(X), X), (PDDP(n_clusters=2, criterion="mean").fit(X), X[:0])):
        found = summarize(model, gathered(model, rows))
        assert found["profiles"] is None
        assert found["rules"]["list"] == []
        assert found["rules"]["reason"]


@pytest.mark.parametrize("n_cuts", [1, 6, 120])
def test_all_nodes_with_rows_have_a_profile(n_cuts):
    tree = random_tree(n_cuts, 2, 3)
    X = np.random.default_rng(0).normal(size=(300, 2))
    gatherer = ReportAccumulator(tree)
    gatherer.add(X)
    rows = gatherer.rows()
    found = summarize(tree, rows)
    for node in range(1, tree.n_nodes):
        assert ("cells" in found["nodes"][node]) == (found["nodes"][node]["rows"] > 0)
    assert NodeProfiles.of(rows, {"a": rows.X[:, 0]}, tree, LeafRanges(tree)) is not None
    assert (found["rules"]["list"] == []) == (n_cuts == 120)


def test_exact_sql_is_part_of_the_page_unless_it_is_long(monkeypatch):
    X, _ = make_blobs(200, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    model = PDDP().fit(X)
    found = summarize(model, gathered(model, X), feature_names=["a b", 'c"d'])
    assert "\n".join(found["exact"]["sql"]) == tree_sql(model, ["a b", 'c"d'])
    hidden = summarize(model, gathered(model, X), feature_names=["a\u202eb", "c"])
    assert hidden["exact"]["sql"] == hidden["rules"]["sql"] == []
    assert "cannot be seen" in hidden["exact"]["reason"]
    assert len(hidden["rules"]["list"]) == 3
    monkeypatch.setattr("ravine.report._rules.LONGEST_SQL", 10)
    assert "too many for this page" in summarize(model, gathered(model, X))["exact"]["reason"]
