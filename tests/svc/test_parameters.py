import numpy as np
import pytest

from ravine._svc import Sample, WidthChoice, choose, choose_parameters, confirmed_or_one, least_share, least_size
from ravine._svc._parameters import even_strength
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


def test_clusters_stronger_than_chance_are_confirmed(blobs):
    choice = choose(blobs, 0.1)
    tested = confirmed_or_one(choice, blobs, 120.0, 0.1, None, 0)
    assert tested.confirmed is True
    assert (tested.gamma, tested.C, tested.strength) == (choice.gamma, choice.C, choice.strength)


def test_clusters_by_chance_become_one_with_the_same_parameters(rng):
    sample = Sample(rng.normal(size=(150, 2)), np.ones(150))
    choice = choose(sample, 0.05)
    assert choice.labels is not None
    tested = confirmed_or_one(choice, sample, 150.0, 0.05, None, 0)
    assert tested == WidthChoice(choice.gamma, choice.C, None, 0.0, confirmed=False)


def test_one_cluster_is_not_confirmed(blobs):
    assert confirmed_or_one(WidthChoice(1.0, 1.0, None, 0.0), blobs, 120.0, 0.1, None, 0).confirmed is False


def test_strength_counts_by_the_probability_that_two_rows_are_in_different_clusters():
    choice = WidthChoice(1.0, 1.0, np.array([0, 0, 1, -1]), 8.0)
    assert even_strength(choice, np.full(4, 0.25)) == pytest.approx(8.0 * (1 - 0.75**2 - 0.25**2))
    assert even_strength(WidthChoice(1.0, 1.0, None, 0.0), np.full(4, 0.25)) == 0.0


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
