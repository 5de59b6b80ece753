import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests import naive
from tests.explain.forms import labels_in_python, labels_in_sqlite

from ravine.explain import rules
from ravine.explain._rules import MOST_ROWS, _sample
from ravine.explain._search import KEPT, PRICE


def customers(rng, n=600):
    """Four kinds of customers, with gaps, and names that need quotes."""
    kind = rng.integers(0, 4, n)
    spend = np.round(np.exp(rng.normal(np.array([3, 5, 6, 7])[kind], 0.4)), 2)
    spend[rng.random(n) < 0.05] = np.nan
    age = rng.integers(18, 40, n).astype(float) + 25 * (kind == 2)
    age[(kind == 1) & (rng.random(n) < 0.8)] = np.nan
    channel = np.array(["app", "it's", 'the "web"', "größe\n2"], dtype=object)[(kind + (rng.random(n) < 0.1)) % 4]
    channel[rng.random(n) < 0.1] = None
    joined = np.datetime64("2021-03-01") + (300 * kind + rng.integers(0, 320, n)).astype("timedelta64[D]")
    joined[rng.random(n) < 0.05] = np.datetime64("NaT")
    flag = np.array([True, False, None], dtype=object)[rng.integers(0, 3, n)]
    flag[kind == 3] = True
    table = {"spend €": spend, "age": age, 'a "channel"': channel, "joined": joined, "flag": flag}
    labels = np.where(rng.random(n) < 0.03, -1, kind)
    return table, labels


@pytest.mark.parametrize("seed", range(4))
def test_sql_python_and_numpy_agree(seed):
    table, labels = customers(np.random.default_rng(seed))
    found = rules(table, labels)
    expected = found.predict(table).tolist()
    assert len(set(expected)) >= 4
    assert labels_in_sqlite(found, table) == expected
    assert labels_in_python(found, table) == expected
    assert found.agreement == np.mean(np.array(expected) == labels)
    names = {0: "it's", 1: "größe", 2: 'say "two"', 3: "--"}
    named = labels_in_sqlite(found, table, 'my "rows"', cluster_names=names, column_name="c'\"")
    assert named == [names.get(label) for label in expected]


def test_a_rule_by_hand():
    """Rows of the cluster have a spend of 820 and more, and so has one other row."""
    table = {"spend": [100, 200, 300, 400, 820, 850, 900, 990], "noise": [1, 2, 1, 2, 1, 2, 1, 2]}
    rule = rules(table, [0, 0, 0, 0, 1, 1, 1, 0]).of(1)
    assert rule.to_text() == "500 <= spend < 950"
    assert (rule.precision, rule.coverage, rule.size) == (1.0, 1.0, 3)
    rule = rules(table, [0, 0, 0, 0, 1, 1, 1, 1]).of(0)
    assert rule.to_text() == "spend < 500"
    assert np.isnan(rule.held_out_precision)


def test_a_set_of_levels_by_hand():
    table = {"channel": ["app"] * 40 + ["web"] * 40 + ["shop"] * 40 + ["phone"] * 40 + [None] * 40}
    labels = np.repeat([1, 1, 0, 0, 0], 40)
    assert rules(table, labels).of(1).to_text() == "channel in ('app', 'web')"
    labels = np.repeat([1, 1, 1, 0, 1], 40)
    assert rules(table, labels).of(1).to_text() == "(channel != 'phone' or channel is missing)"
    labels = np.repeat([0, 0, 0, 0, 1], 40)
    assert rules(table, labels).of(1).to_text() == "channel is missing"
    assert rules(table, labels).of(0).to_text() == "channel is not missing"


def test_gaps_of_numbers_where_they_matter():
    values = np.arange(300.0) % 10
    is_gap = np.arange(300) < 60
    labels = (is_gap | (values >= 7)).astype(int)
    values[is_gap] = np.nan
    assert rules({"a": values}, labels).of(1).to_text() == "(a >= 7 or a is missing)"
    assert rules({"a": values}, is_gap.astype(int)).of(1).to_text() == "a is missing"
    assert rules({"a": values}, labels).of(0).to_text() == "a < 7"


def test_two_conditions_where_one_is_not_enough(rng):
    a, b = rng.random(2000) * 100, rng.random(2000) * 100
    labels = ((a >= 40) & (b < 70)).astype(int)
    rule = rules({"a": a, "b": b, "noise": rng.random(2000)}, labels).of(1)
    assert sorted(condition.to_text() for condition in rule.conditions) == ["a >= 40", "b < 70"]
    assert rule.precision > 0.99
    assert rule.coverage > 0.99
    one = rules({"a": a, "b": b}, labels, max_conditions=1).of(1)
    assert len(one.conditions) == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_range_is_about_as_good_as_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=80), 1)
    is_in = np.abs(values - rng.normal()) + 0.3 * rng.normal(size=80) < 0.6
    rule = rules({"a": values}, is_in.astype(int)).of(1)
    f1 = 2 * rule.precision * rule.coverage / (rule.precision + rule.coverage)
    n_bounds = sum(bound is not None for c in rule.conditions for bound in (c.low, c.high))
    assert f1 - PRICE * n_bounds >= naive.best_rule(values, is_in, PRICE) - 2.5 * 2 * KEPT


def test_thresholds_have_few_digits(rng):
    values = rng.normal(1000, 300, 3000)
    rule = rules({"a": values}, (values > 1234.5678).astype(int)).of(1)
    (condition,) = rule.conditions
    assert len(str(condition.low).rstrip("0").rstrip(".")) <= 4
    assert rule.precision > 0.97
    assert rule.coverage > 0.97


def test_rules_of_noise_do_not_look_good_on_held_out_rows(rng):
    table = {f"x{j}": rng.normal(size=1000) for j in range(5)}
    labels = rng.integers(0, 20, 1000)
    frame = rules(table, labels).to_frame()
    assert frame["held_out_precision"].mean() < 0.12


def test_figures_are_those_of_all_rows_and_of_held_out_rows(rng):
    table, labels = customers(rng)
    found = rules(table, labels)
    searched, _ = _sample(labels)
    held_out = np.setdiff1d(np.arange(len(labels)), searched)
    assert len(held_out) > 100
    for rule in found.rules:
        holds = np.all([c.mask(table[c.column]) for c in rule.conditions], axis=0)
        is_in = labels == rule.cluster
        assert rule.precision == pytest.approx(is_in[holds].mean())
        assert rule.coverage == pytest.approx(holds[is_in].mean())
        assert rule.held_out_precision == pytest.approx(is_in[held_out][holds[held_out]].mean())
        assert rule.held_out_coverage == pytest.approx(holds[held_out][is_in[held_out]].mean())


def test_the_sample_is_bounded_and_small_clusters_keep_rows():
    labels = np.repeat([0, 1, 2], [99_000, 900, 100])
    rows, weights = _sample(labels)
    counts = np.bincount(labels[rows])
    assert len(rows) <= MOST_ROWS
    assert counts.tolist()[1:] == [675, 75]
    np.testing.assert_allclose(np.bincount(labels[rows], weights), [99_000, 900, 100])
    assert np.array_equal(rows, _sample(labels)[0])


def test_the_same_table_gives_the_same_rules_in_every_form():
    table, labels = customers(np.random.default_rng(7), 300)
    usual = {"n": table["spend €"], "c": table['a "channel"'], "t": np.where(table["age"] > 40, "old", "young")}
    expected = rules(usual, labels)
    frame = pd.DataFrame(usual)
    for same in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert rules(same, labels) == expected


def test_the_most_precise_rule_comes_first(rng):
    table, labels = customers(rng)
    precisions = [rule.precision for rule in rules(table, labels).rules]
    assert precisions == sorted(precisions, reverse=True)


def test_a_cluster_that_no_column_tells_has_no_rule():
    found = rules({"a": [1.0] * 6, "c": ["u"] * 6}, [0, 0, 0, 1, 1, 1])
    assert [rule.conditions for rule in found.rules] == [(), ()]
    assert found.to_text() == "cluster 0: no rule found\ncluster 1: no rule found"
    assert found.predict({"a": [1.0]}).tolist() == [-1]
    assert labels_in_sqlite(found, {"a": [1.0]}) == [-1]
    assert labels_in_python(found, {"a": [1.0]}) == [-1]


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        ({"a": [], "c": []}, []),
        ({}, [0, 1]),
        ({"a": [1.0]}, [0]),
        ({"a": [1.0, 2.0]}, [-1, -1]),
        ({"a": [np.nan] * 3}, [0, 1, 1]),
        ({"a": [np.inf, -np.inf, 0.0, 1.0]}, [0, 1, 1, 0]),
        ({"a": [1e308, -1e308, 1e308, -1e308]}, [0, 1, 0, 1]),
        ({"a": [5e-324, 0.0, 5e-324, 0.0]}, [0, 1, 0, 1]),
        ({"c": [None, "", None, ""]}, [0, 1, 0, 1]),
    ],
)
def test_odd_tables_do_no_harm(table, labels):
    found = rules(table, labels)
    expected = found.predict(table).tolist()
    if table and len(labels):
        assert labels_in_sqlite(found, table) == expected
        assert labels_in_python(found, table) == expected
    assert len(found.rules) == len(set(labels) - {-1})


def test_many_levels_of_which_most_are_rare(rng):
    levels = np.array([f"id{i}" for i in range(800)] + ["hot"] * 400, dtype=object)
    labels = np.append(np.zeros(800, dtype=int), np.ones(400, dtype=int))
    found = rules({"c": levels}, labels)
    assert found.of(1).to_text() == "c = 'hot'"
    assert found.of(0).to_text() == "c != 'hot'"
    assert found.agreement == 1.0


def test_200_columns_and_many_clusters(rng):
    labels = np.arange(500) % 50
    X = rng.normal(size=(500, 200))
    X[:, 17] = labels
    found = rules(X, labels)
    assert found.agreement == 1.0
    assert all(len(rule.conditions) == 1 for rule in found.rules)


def test_python_source_needs_only_a_row():
    table, labels = customers(np.random.default_rng(0), 200)
    found = rules(table, labels)
    frame = pd.DataFrame(table)
    scope = {}
    exec(found.to_python(), scope)
    assert frame.apply(scope["cluster_of"], axis=1).tolist() == found.predict(frame).tolist()
    extension = frame.convert_dtypes()
    assert extension.apply(scope["cluster_of"], axis=1).tolist() == found.predict(frame).tolist()


def test_bad_arguments_are_named():
    found = rules({"a": [1.0, 2.0]}, [0, 1])
    with pytest.raises(ValueError, match="no column 'a'"):
        found.predict({"b": [1.0]})
    with pytest.raises(ValueError, match="'a' is a category"):
        found.predict({"a": ["x"]})
    with pytest.raises(ValueError, match="no cluster 5"):
        found.of(5)
    with pytest.raises(ValueError, match="function_name"):
        found.to_python("not a name")
    for number in (0, 1.5, True):
        with pytest.raises(ValueError, match="max_conditions"):
            rules({"a": [1.0, 2.0]}, [0, 1], max_conditions=number)


def test_frames_and_texts_are_in_the_order_of_the_labels(rng):
    table, labels = customers(rng)
    found = rules(table, labels)
    frame = found.to_frame()
    assert frame["cluster"].tolist() == [0, 1, 2, 3]
    assert frame["n_conditions"].max() <= 3
    assert [line.partition(":")[0] for line in found.to_text({k: f"kind {k}" for k in range(4)}).splitlines()] == [
        f"kind {k}" for k in range(4)
    ]
