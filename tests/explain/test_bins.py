import numpy as np

from ravine.explain._bins import bins_of
from ravine.explain._table import column_of


def test_few_values_have_a_bin_each():
    bins = bins_of(column_of("a", [3.0, 1.0, np.nan, 3.0, 2.0]), np.ones(5))
    assert bins.starts.tolist() == [1, 2, 3]
    assert bins.code.tolist() == [2, 0, 3, 2, 1]


def test_many_values_have_bins_of_about_the_same_size(rng):
    values = rng.normal(size=1000)
    bins = bins_of(column_of("a", values), np.ones(1000), most_bins=10)
    assert np.bincount(bins.code).tolist() == [100] * 10
    assert (bins.starts[bins.code] <= values).all()
    assert (values < np.append(bins.starts[1:], np.inf)[bins.code]).all()


def test_levels_are_ordered_by_weight_and_then_by_name():
    bins = bins_of(column_of("c", ["b", "a", None, "c", "c"]), np.array([1.0, 1.0, 1.0, 0.5, 0.1]))
    assert bins.levels == ("a", "b", "c")
    assert bins.code.tolist() == [1, 0, 3, 2, 2]
    assert not bins.has_rest


def test_counts_have_the_gaps_last():
    bins = bins_of(column_of("c", ["b", "a", None, "a"]), np.ones(4))
    counts = bins.counts(np.array([0, 0, 1, -1]), 2, np.array([1.0, 2.0, 4.0, 8.0]))
    assert counts.tolist() == [[2, 1, 0], [0, 0, 4]]
