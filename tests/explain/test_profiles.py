import numpy as np
import pandas as pd
import pytest
from tests import naive

from ravine.explain import profile
from ravine.explain._bins import MOST_LEVELS

SPEND = [10.0, 20.0, 30.0, 40.0, np.nan, 900.0, 950.0, 1000.0]
LABELS = [0, 0, 0, 0, 0, 1, 1, -1]


def test_a_number_by_hand():
    column = profile({"spend": SPEND}, LABELS).column("spend")
    assert column.count.tolist() == [4, 2, 7]
    assert column.gaps.tolist() == [1, 0, 1]
    assert column.gap_share.tolist() == [0.2, 0.0, 0.125]
    assert column.quartiles.tolist() == [[15, 25, 35], [900, 925, 950], [20, 40, 950]]
    assert column.mean.tolist() == [25, 925, pytest.approx(2950 / 7)]
    assert column.direction.tolist() == [-1.0, pytest.approx(1 - 2 / 5)]


def test_a_category_by_hand():
    table = {"c": ["app", "app", "web", None, "web", "app", "web", "web"]}
    column = profile(table, LABELS).column("c")
    assert column.levels == ("web", "app")
    assert column.shares.tolist() == [[0.4, 0.4, 0.0, 0.2], [0.5, 0.5, 0.0, 0.0], [0.5, 0.375, 0.0, 0.125]]
    assert column.quartiles.size == column.edges.size == 0


def test_dates_are_dates():
    days = np.array(["2024-01-01", "2024-01-03", "NaT", "2024-05-01"], dtype="datetime64[D]")
    column = profile({"joined": days}, [0, 0, 1, 1]).column("joined")
    assert column.quartiles[0, 1] == np.datetime64("2024-01-02")
    assert column.mean[1] == np.datetime64("2024-05-01")
    assert column.edges.dtype.kind == "M"
    assert column.gaps.tolist() == [0, 1, 1]
    alone = profile({"joined": days}, [0, 0, 1, 0]).column("joined")
    assert np.isnat(alone.quartiles[1]).all()
    assert np.isnat(alone.mean[1])


def test_rows_that_belong_nowhere_count_in_all_rows_only():
    profiles = profile({"a": [1.0, 2.0, 50.0]}, [3, 3, -1])
    assert profiles.clusters.tolist() == [3]
    assert profiles.sizes.tolist() == [2, 3]
    assert profiles.column("a").quartiles[:, 1].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("seed", range(5))
def test_quartiles_of_weighted_rows(seed):
    rng = np.random.default_rng(seed)
    values, weights, labels = rng.integers(0, 9, 40).astype(float), rng.integers(1, 4, 40) * 0.1, rng.integers(0, 3, 40)
    found = profile({"a": values}, labels, sample_weight=weights).column("a").quartiles
    for k, rows in enumerate([labels == 0, labels == 1, labels == 2, labels >= 0]):
        whole = np.rint(weights[rows] * 10)  # where sums are exact
        expected = [naive.quantile(values[rows], whole, share) for share in (0.25, 0.5, 0.75)]
        np.testing.assert_allclose(found[k], expected)


def test_medians_are_those_of_pandas(rng):
    frame = pd.DataFrame({"a": rng.normal(size=301), "label": rng.integers(0, 6, 301)})
    frame.loc[::7, "a"] = np.nan
    found = profile(frame[["a"]], frame["label"]).column("a")
    np.testing.assert_allclose(found.quartiles[:-1, 1], frame.groupby("label")["a"].median())
    np.testing.assert_allclose(found.mean[:-1], frame.groupby("label")["a"].mean())


def test_weights_are_copies_of_rows(rng):
    table = {"a": rng.normal(size=30), "c": rng.choice(["u", "v", "w"], 30)}
    labels, weights = rng.integers(-1, 3, 30), rng.integers(1, 4, 30)
    weighted = profile(table, labels, sample_weight=weights)
    copied = profile({name: np.repeat(values, weights) for name, values in table.items()}, np.repeat(labels, weights))
    for name in ("a", "c"):
        one, other = weighted.column(name), copied.column(name)
        np.testing.assert_allclose(one.quartiles, other.quartiles)
        np.testing.assert_allclose(one.histogram, other.histogram)
        np.testing.assert_allclose(one.shares, other.shares)


def test_one_far_value_does_not_change_the_histogram(rng):
    values, labels = rng.normal(50, 10, 500), rng.integers(0, 2, 500)
    usual = profile({"a": values}, labels).column("a")
    values[0] = 99_999.0
    far = profile({"a": values}, labels).column("a")
    assert far.edges[-1] < 150
    assert abs(len(far.edges) - len(usual.edges)) <= 2
    assert far.beyond[-1].tolist() == [0, 1]
    assert far.histogram[-1].sum() == 500


def test_bins_are_shared_and_hold_all_rows(rng):
    values, labels = np.exp(rng.normal(5, 1, 400)), rng.integers(-1, 5, 400)
    column = profile({"a": values}, labels).column("a")
    np.testing.assert_allclose(column.histogram.sum(axis=1), column.count)
    assert 5 <= column.histogram.shape[1] <= 20
    inside = (values >= column.edges[0]) & (values < column.edges[-1])
    expected, _ = np.histogram(values[inside], column.edges)
    outer = column.beyond[-1]
    np.testing.assert_allclose(column.histogram[-1][1:-1], expected[1:-1])
    np.testing.assert_allclose(column.histogram[-1][[0, -1]], expected[[0, -1]] + outer)


def test_few_whole_numbers_have_a_bin_each():
    column = profile({"stars": [1, 2, 2, 5]}, [0, 0, 1, 1]).column("stars")
    assert column.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert column.histogram[-1].tolist() == [1, 2, 0, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [3.0] * 5,
        [0.0] * 5,
        [np.nan] * 5,
        [1e308, -1e308, 1e308, 0, 0],
        [np.inf, -np.inf, 0, 1, 2],
        [1e-300] * 4 + [2e-300],
    ],
)
def test_odd_numbers_do_no_harm(values):
    profiles = profile({"a": values}, [0, 0, 1, 1, 1])
    column = profiles.column("a")
    assert np.isfinite(profiles.difference).all()
    assert np.isfinite(profiles.direction).all()
    np.testing.assert_allclose(column.histogram.sum(axis=1), column.count if len(column.edges) else 0)


def test_tables_without_rows_columns_or_clusters():
    assert profile({"a": [], "c": []}, []).difference.shape == (0, 2)
    assert profile({}, [0, 1]).difference.shape == (2, 0)
    assert profile({"a": [1.0, 2.0]}, [-1, -1]).column("a").quartiles.tolist() == [[1.0, 1.5, 2.0]]
    assert len(profile({"a": [], "c": []}, []).to_frame()) == 2
    assert profile({"a": [1.0]}, [0]).column("a").quartiles[0].tolist() == [1.0, 1.0, 1.0]


def test_many_levels_are_counted_together(rng):
    levels = [f"id{i}" for i in range(1000)] + ["often"] * 500
    column = profile({"c": levels}, rng.integers(0, 2, 1500)).column("c")
    assert column.levels[0] == "often"
    assert len(column.levels) == MOST_LEVELS
    np.testing.assert_allclose(column.shares.sum(axis=1), 1)
    assert column.shares[-1, -2] == pytest.approx((1000 - MOST_LEVELS + 1) / 1500)


def test_columns_of_a_cluster_are_ranked(rng):
    labels = np.repeat([0, 1], 200)
    table = {"noise": rng.normal(size=400), "good": labels + rng.normal(size=400), "best": labels * 1.0}
    profiles = profile(table, labels)
    assert [profiles.names[j] for j in profiles.ranked_columns(1)] == ["best", "good", "noise"]


def test_the_order_shows_blocks():
    """Clusters of two kinds, mixed, and columns of two kinds, mixed."""
    rng = np.random.default_rng(0)
    kind = np.array([0, 1, 0, 1, 0, 1])
    labels = np.repeat(np.arange(6), 50)
    table = {f"x{j}": 4.0 * (kind[labels] == j % 2) + rng.normal(size=300) + labels * 0.1 for j in range(4)}
    table["c"] = np.where(kind[labels] == 0, "u", "v")
    profiles = profile(table, labels)
    ordered = kind[profiles.cluster_order]
    assert np.count_nonzero(np.diff(ordered)) == 1
    assert sorted(profiles.cluster_order) == list(range(6))
    assert sorted(profiles.column_order) == list(range(5))
    assert list(profiles.cluster_order).index(0) < 3


def test_the_order_of_one_or_two_clusters():
    assert profile({"a": [1.0, 2.0]}, [0, 1]).cluster_order.tolist() == [0, 1]
    assert profile({"a": [1.0, 2.0]}, [0, 0]).column_order.tolist() == [0]


def test_the_result_does_not_depend_on_the_order_of_the_rows(rng):
    n = 500
    table = {"a": np.round(rng.normal(size=n), 1), "c": rng.choice(["u", "v", "w"], n)}
    labels, order = rng.integers(-1, 4, n), rng.permutation(n)
    one = profile(table, labels).to_frame()
    other = profile({name: values[order] for name, values in table.items()}, labels[order]).to_frame()
    pd.testing.assert_frame_equal(one, other)


def test_unknown_names_are_refused():
    profiles = profile({"a": [1.0]}, [0])
    with pytest.raises(ValueError, match="no column 'b'"):
        profiles.column("b")
    with pytest.raises(ValueError, match="no cluster 7"):
        profiles.position(7)


def test_500_clusters(rng):
    profiles = profile(rng.normal(size=(1500, 20)), np.arange(1500) % 500)
    assert profiles.difference.shape == (500, 20)
    assert len(np.unique(profiles.cluster_order)) == 500
