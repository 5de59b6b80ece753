import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine._numbering import from_low_to_high


def test_groups_are_numbered_from_low_to_high_in_the_column_in_which_they_differ_most(rng):
    labels, rows = rng.integers(0, 5, 200), rng.normal(size=(200, 3))
    rows[:, 1] += np.array([30.0, 10.0, 50.0, 0.0, 20.0])[labels]
    numbered = from_low_to_high(labels, rows, np.ones(200))
    assert_array_equal(numbered, np.array([3, 1, 4, 0, 2])[labels])


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
def test_numbers_depend_neither_on_the_order_of_rows_nor_on_unit_and_origin(rng, unit):
    labels, rows, mass = rng.integers(0, 4, 100), rng.normal(size=(100, 2)), rng.uniform(1, 2, 100)
    expected, order = from_low_to_high(labels, rows, mass), rng.permutation(100)
    assert_array_equal(from_low_to_high(labels[order], unit * (rows[order] + 7), mass[order]), expected[order])


def test_groups_that_tie_in_a_column_are_ordered_by_the_next():
    rows = np.array([[0.0, 1.0], [4.0, 2.0], [0.0 + 1e-15, 0.0]])
    assert_array_equal(from_low_to_high(np.arange(3), rows, np.ones(3)), [1, 2, 0])
    assert_array_equal(from_low_to_high(np.zeros(3, dtype=int), rows, np.ones(3)), [0, 0, 0])


def test_groups_with_the_same_means_are_ordered_by_their_smallest_rows(rng):
    angle = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    circle = np.c_[np.cos(angle), np.sin(angle)]
    rows, labels = np.r_[circle, 3 * circle, 2 * circle], np.repeat([0, 1, 2], 36)
    for _ in range(20):
        order = rng.permutation(len(rows))
        noisy = rows[order] * (1 + 1e-15 * rng.normal(size=rows.shape)) + 7
        assert_array_equal(
            from_low_to_high(labels[order], noisy, np.ones(len(rows))), np.array([2, 0, 1])[labels[order]]
        )
