import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive

from ravine import _kernels
from ravine._matrix import order_along
from ravine._ties import first_least, is_less, pointing_up, pop_first, round_together, rounded_order, settled_basis


@pytest.mark.parametrize(
    ("value", "other", "less"),
    [
        (1.0, 2.0, True),
        (2.0, 1.0, False),
        (1.0, 1.0 + 1e-9, False),
        (-1.0, -1.0 + 1e-9, False),
        (-2.0, -1.0, True),
        (0.0, 1e-300, True),
        (0.0, 0.0, False),
        (-np.inf, 1.0, True),
        (1.0, np.inf, True),
        (np.inf, np.inf, False),
        (np.nan, 1.0, False),
    ],
)
def test_less_is_less_by_more_than_rounding(value, other, less):
    assert is_less(value, other) is less
    assert _kernels.ties.is_less(value, other) is less


def test_sign_is_that_of_the_first_of_the_largest_entries(rng):
    vectors = rng.normal(size=(50, 3))
    vectors[:, 2] = -vectors[:, 0] * (1 + 1e-10 * rng.normal(size=50))
    up = pointing_up(vectors)
    assert_allclose(np.linalg.norm(up, axis=1), 1)
    leads = np.abs(vectors[:, 0]) > np.abs(vectors[:, 1])
    assert leads.any()
    assert (up[leads, 0] > 0).all()
    assert (up[~leads, 1] > 0).all()


def test_basis_of_equal_eigenvalues_does_not_depend_on_how_it_is_turned(rng):
    vectors = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    values = np.array([5.0, 3.0, 3.0, 3.0, 2.0, 1.0])
    settled = settled_basis(values, vectors)
    for _ in range(20):
        other = vectors * rng.choice([-1.0, 1.0], size=(6, 1))
        other[1:4] = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ other[1:4]
        assert_allclose(settled_basis(values, other), settled, atol=1e-12)
    assert_allclose(settled @ settled.T, np.eye(6), atol=1e-12)
    assert_allclose(np.abs(settled[[0, 4, 5]] @ vectors[[0, 4, 5]].T), np.eye(3), atol=1e-12)
    assert_allclose(settled[1:4].T @ settled[1:4], vectors[1:4].T @ vectors[1:4], atol=1e-12)


def test_first_of_equals_is_taken_from_a_heap_whatever_their_last_digits(rng):
    for _ in range(20):
        ranks = np.array([2.0, 1.0, 1.0, 3.0, 1.0]) * (1 + 1e-12 * rng.normal(size=5))
        heap = sorted(zip(ranks.tolist(), range(5), strict=True))
        assert [pop_first(heap) for _ in range(5)] == [1, 2, 4, 0, 3]


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rows_that_tie_are_ordered_by_their_content(rng, offset):
    X = rng.normal(size=(200, 3))
    values = np.repeat(np.arange(20.0), 10) + offset
    shuffled = rng.permutation(200)
    order = X[order_along(X, values * (1 + 1e-14 * rng.normal(size=200)))]
    again = X[shuffled][order_along(X[shuffled], values[shuffled] * (1 + 1e-14 * rng.normal(size=200)))]
    assert_array_equal(order, again)


def test_order_without_ties_is_that_of_the_values(rng):
    values = rng.normal(size=1000)
    assert_array_equal(rounded_order(values), np.argsort(values))
    assert_array_equal(order_along(values[:, np.newaxis], values), np.argsort(values))
    assert_array_equal(rounded_order(np.zeros(4)), np.arange(4))
    assert len(rounded_order(np.empty(0))) == 0


def test_least_of_a_line_is_the_middle_of_its_first_run(rng):
    for _ in range(50):
        values = rng.integers(3, size=12) + 1.0
        shaken = values * (1 + 1e-13 * rng.normal(size=12))
        assert _kernels.ties.middle_of_least(shaken) == naive.middle_of_least(values)
    assert first_least([2.0, 1.0 + 1e-12, 1.0]) == 1
    assert _kernels.ties.middle_of_least(np.full(3, np.inf)) == 1


def test_least_of_each_row_is_the_first_of_those_that_tie(rng):
    table, added = rng.integers(4, size=(30, 6)) * 1.0, rng.integers(2, size=6) * 1.0
    shaken = table + 1e-13 * rng.normal(size=table.shape)
    found = _kernels.ties.first_least_of_rows(shaken, added, 1e-9)
    assert_array_equal(found, (table + added).argmin(axis=1))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 3.0, 1e200])
def test_numbers_are_rounded_to_multiples_of_one_power_of_two(scale, rng):
    for n_bits, negligible in ((3, 0.0), (20, 0.0), (30, 0.0), (30, 0.01 * scale)):
        numbers = scale * rng.normal(size=9)
        rounded, compiled = numbers.copy(), numbers.copy()
        round_together(rounded, n_bits, negligible)
        _kernels.ties.round_together(compiled, n_bits, negligible)
        assert_array_equal(rounded, naive.rounded_together(numbers, n_bits, negligible))
        assert_array_equal(compiled, rounded)
        assert_allclose(rounded, numbers, rtol=0, atol=max(np.abs(numbers).max() * 2.0**-n_bits, negligible / 2))


@pytest.mark.parametrize("numbers", [[], [0.0, 0.0], [np.inf, 1.0], [5e-324, 0.0]])
def test_numbers_that_have_no_common_power_of_two_stay_as_they_are(numbers):
    rounded = np.array(numbers)
    round_together(rounded, 20)
    assert_array_equal(rounded, numbers)
