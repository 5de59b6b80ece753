import numpy as np
import pytest

from ravine._svc import Sample, WidthChoice, choose, choose_parameters, least_share, least_size
from ravine._svc._parameters import is_by_chance
from ravine.datasets import make_blobs


@pytest.fixture(scope="module")
def blobs():
    X, _ = make_blobs(120, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    return Sample(X, np.ones(len(X)))


def test_given_parameters_are_kept(blobs):
    assert choose_parameters(blobs, 0.1, 0.5, 2.0, None) == WidthChoice(0.5, 2.0, None, 0.0)


def test_strong_clusters_are_those_of_the_grid(blobs):
    chosen, expected = choose_parameters(blobs, 0.1, None, None, None), choose(blobs, 0.1)
    assert (chosen.gamma, chosen.C, chosen.strength) == (expected.gamma, expected.C, expected.strength)
    np.testing.assert_array_equal(chosen.labels, expected.labels)


def test_weak_clusters_are_one_unless_their_number_is_given(rng):
    rows = rng.normal(size=(150, 2))
    sample = Sample(rows, np.ones(150))
    weak = choose(sample, 0.05)
    assert is_by_chance(weak.strength, 150, 2)
    chosen = choose_parameters(sample, 0.05, None, None, None)
    assert chosen == WidthChoice(weak.gamma, weak.C, None, 0.0)
    if choose(sample, 0.05, n_clusters=2).labels is not None:
        assert choose_parameters(sample, 0.05, None, None, 2).labels is not None


def test_clusters_by_chance_are_weaker_in_more_columns_and_more_rows():
    assert is_by_chance(199 / (2 * np.sqrt(400)), 400, 2)
    assert not is_by_chance(201 / (2 * np.sqrt(400)), 400, 2)
    assert is_by_chance(7.0, 10, 2) == is_by_chance(7.0, 200, 2)


@pytest.mark.parametrize("gamma", [1e-30, 1e30])
def test_width_far_from_the_extent_of_the_rows_is_refused(blobs, gamma):
    with pytest.raises(ValueError, match=r"gives a kernel of width .* set gamma to about"):
        choose_parameters(blobs, 0.1, gamma, 1.0, None)


def test_any_width_is_accepted_for_a_single_row():
    one = Sample(np.ones((1, 2)), np.ones(1))
    assert choose_parameters(one, 0.1, 1e30, 1.0, None).gamma == 1e30


def test_least_share_is_of_all_rows_if_a_size_is_given_and_of_the_sample_otherwise():
    assert least_share(50, 1000.0, np.ones(100)) == 0.05
    assert least_share(None, 1000.0, np.ones(100)) == least_size(100.0) / 100
    assert least_share(None, 1000.0, np.full(100, 3.0)) == least_size(300.0) / 300
    assert least_share(None, 10.0, np.full(100, 0.1)) == least_size(100.0) / 100
