import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._kernels import rounded

LARGEST = 1 << 22


def some_rows(seed, n_rows=None):
    """Integers of up to 23 bits as rows, and a direction whose products with them are exact."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 700)) if n_rows is None else n_rows
    Y = rng.integers(-LARGEST, LARGEST + 1, size=(n_rows, 3)).astype(np.float32)
    return rng, Y, rng.integers(-8, 9, size=3) * 2.0**-20


@given(seed=seeds, dtype=st.sampled_from([np.float32, np.float64]))
def test_rows_are_rounded_about_the_center(seed, dtype):
    rng = np.random.default_rng(seed)
    X, rows = rng.normal(size=(50, 3)).astype(dtype), rng.permutation(50)[:20].astype(np.int32)
    center, scale, out = rng.normal(size=3), 2.0 ** rng.integers(0, 18, size=3), np.empty((20, 3), dtype=np.float32)
    rounded.round_rows(X, rows, center, scale, out)
    assert_array_equal(out, naive.rounded_rows(X[rows], np.ones(20), center, scale))


@given(seed=seeds, step=st.sampled_from([0.5, 0.3, 2.0]))
def test_look_is_a_projection_with_masses_and_sums(seed, step):
    _, Y, u = some_rows(seed)
    expected, on, sums = naive.look_at_rounded(Y, u, 0.25, step)
    values, again = np.empty(len(Y)), np.empty(len(Y))
    first, masses, found = rounded.look(Y, u, 0.25, step, 10_000, values)
    rounded.project(Y, u, 0.25, again)
    assert_array_equal(values, expected)
    assert_array_equal(again, expected)
    assert {first + g: masses[g] for g in np.flatnonzero(masses)} == {g: mass for g, mass in on.items() if mass}
    assert_array_equal(found[[g - first for g in sorted(sums)]], [sums[g] for g in sorted(sums)])
    assert found[:, -1].sum() == len(Y)
    alone = np.zeros(len(masses))
    rounded.masses(values, step, first, alone)
    assert_array_equal(alone, masses)
    by_cell = np.zeros(found.shape)
    rounded.cell_sums(Y, np.floor(values / step).astype(np.int64) - first, by_cell)
    assert_array_equal(by_cell, found)


@given(seed=seeds)
def test_masses_and_sums_do_not_depend_on_groups_and_order_of_rows(seed):
    rng, Y, _ = some_rows(seed)
    u = rng.normal(size=3) * 2.0**-20
    parts = np.split(Y[rng.permutation(len(Y))], np.sort(rng.integers(0, len(Y) + 1, size=3)))
    cells = []
    for rows in [Y, *(part for part in parts if len(part))]:
        first, masses, sums = rounded.look(rows, u, 0.1, 0.3, 10_000, np.empty(len(rows)))
        cells.append(({first + g: masses[g] for g in np.flatnonzero(masses)}, first, sums))
    together, first, sums = cells[0]
    assert together == {g: sum(on.get(g, 0) for on, _, _ in cells[1:]) for g in together}
    for g in range(len(sums)):
        apart = [other[first + g - begin] for _, begin, other in cells[1:] if 0 <= first + g - begin < len(other)]
        assert_array_equal(sum(apart, np.zeros(4)), sums[g])


def test_look_at_too_many_cells_returns_none_of_them():
    _, Y, u = some_rows(0, 300)
    values = np.empty(300)
    rounded.project(Y, u, 0.0, values)
    n_cells = int(np.floor(values.max()) - np.floor(values.min())) + 1
    assert len(rounded.look(Y, u, 0.0, 1.0, n_cells, values)[2])
    assert not len(rounded.look(Y, u, 0.0, 1.0, n_cells - 1, values)[2])


@given(seed=seeds)
def test_total_and_range_are_those_of_the_columns(seed):
    _, Y, _ = some_rows(seed)
    total, low, high = np.zeros(3), np.full(3, np.inf, np.float32), np.full(3, -np.inf, np.float32)
    rounded.total_and_range(Y, total, low, high)
    assert_array_equal(total, Y.astype(np.int64).sum(axis=0))
    assert_array_equal(low, Y.min(axis=0))
    assert_array_equal(high, Y.max(axis=0))


@given(seed=seeds, share=st.floats(0, 1))
def test_partition_moves_rows_with_their_numbers(seed, share):
    rng, Y, _ = some_rows(seed)
    is_left, order, before = rng.random(len(Y)) < share, rng.permutation(len(Y)), Y.copy()
    of_number = {number: (tuple(row), side) for number, row, side in zip(order, Y, is_left, strict=True)}
    n_left = rounded.partition(Y, order, is_left)
    assert n_left == is_left.sum()
    for k, number in enumerate(order):
        assert of_number[number] == (tuple(Y[k]), k < n_left)
    assert_allclose(Y[np.lexsort(Y.T)], before[np.lexsort(before.T)], rtol=0)
