import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tests import naive
from tests.strategies import seeds

from ravine._kernels import exact
from ravine._lattice import fine_for, grid_for

N_ROWS, N_COLUMNS, N_GROUPS = 120, 3, 7


class Case:
    """Random rows with weights, the point from which they are measured, and bounds of their sums."""

    def __init__(self, seed, heavy, exponent, dtype, weighted):
        rng = np.random.default_rng(seed)
        shape = (N_ROWS, N_COLUMNS)
        self.rng = rng
        self.X = ((rng.standard_t(1, shape) if heavy else rng.normal(size=shape)) * 10.0**exponent).astype(dtype)
        self.w = rng.uniform(0.1, 3.0, size=N_ROWS) if weighted else np.ones(N_ROWS)
        low, high = self.X.min(axis=0).astype(float), self.X.max(axis=0).astype(float)
        self.center, self.reach = (low + high) / 2, high - low
        self.diameter, self.weight = float(np.linalg.norm(self.reach)), N_ROWS * float(self.w.max())
        self.fine = fine_for(N_ROWS)
        v = rng.normal(size=N_COLUMNS)
        self.v = v / np.linalg.norm(v)
        self.origin = float(self.center @ self.v)
        self.step, self.first = self.diameter / 40, -42
        self.slopes, self.tilt = rng.normal(size=85), float(rng.normal()) / self.diameter
        self.group = rng.integers(0, N_GROUPS, size=N_ROWS)

    def apart(self):
        return self.X.astype(float) - self.center

    def values(self, rows):
        out = np.empty(len(rows))
        exact.project(self.X, rows, self.v, self.origin, out)
        return out


def moments(case, rows):
    bounds = (case.weight, case.weight * case.reach, case.weight * case.reach**2)
    return exact.moments(case.X, rows, case.w, case.center, case.fine, *(grid_for(bound) for bound in bounds))


def terms_of_moments(case):
    apart, w = case.apart(), case.w
    return w, w[:, np.newaxis] * apart, w[:, np.newaxis] * apart**2


def scatter(case, rows):
    grid = grid_for(case.weight * np.outer(case.reach, case.reach))
    return (exact.scatter(case.X, rows, case.w, case.center, case.fine, grid),)


def terms_of_scatter(case):
    apart = case.apart()
    return (np.tril(case.w[:, np.newaxis, np.newaxis] * apart[:, :, np.newaxis] * apart[:, np.newaxis, :]),)


def scatter_times(case, rows):
    grid = grid_for(case.weight * case.diameter * case.reach)
    return (exact.scatter_times(case.X, rows, case.w, case.center, case.v, case.fine, grid),)


def terms_of_scatter_times(case):
    apart = case.apart()
    return ((case.w * (apart @ case.v))[:, np.newaxis] * apart,)


def bins(case, rows):
    values, out = case.values(rows), np.zeros((2, 85))
    before = np.floor(values / case.step).astype(np.int64) - case.first
    grids = (grid_for(case.weight), grid_for(case.weight * case.diameter**2))
    square = exact.bins(values, rows, case.w, case.step, before, before + 1, case.fine, *grids, out)
    return out, square


def terms_of_bins(case):
    values = case.values(np.arange(N_ROWS, dtype=np.int32))
    cells = values / case.step - case.first
    before = np.floor(cells).astype(int)
    out = np.zeros((N_ROWS, 85))
    out[np.arange(N_ROWS), before] = case.w * (before + 1 - cells)
    out[np.arange(N_ROWS), before + 1] = case.w * (cells - before)
    return out, case.w * values**2


def groups(case, rows):
    out = np.zeros((2, N_GROUPS, N_COLUMNS))
    grid = grid_for(case.weight * case.reach)
    exact.groups(case.X, rows, case.w, case.center, case.group[rows], case.fine, grid, out)
    return (out,)


def terms_of_groups(case):
    out = np.zeros((N_ROWS, N_GROUPS, N_COLUMNS))
    out[np.arange(N_ROWS), case.group] = case.w[:, np.newaxis] * case.apart()
    return (out,)


def pull(case, rows):
    steepest = np.abs(case.slopes).max() + abs(case.tilt) * case.diameter
    grid = grid_for(case.weight * steepest * case.reach)
    along = (case.v, case.origin, case.step, float(case.first))
    return (exact.pull(case.X, rows, case.w, case.center, *along, case.slopes, case.tilt, case.fine, grid),)


def terms_of_pull(case):
    values = case.values(np.arange(N_ROWS, dtype=np.int32))
    cells = np.floor(values / case.step).astype(int) - case.first
    return ((case.w * (case.slopes[cells] - case.tilt * values))[:, np.newaxis] * case.apart(),)


KERNELS = {
    moments: terms_of_moments,
    scatter: terms_of_scatter,
    scatter_times: terms_of_scatter_times,
    bins: terms_of_bins,
    groups: terms_of_groups,
    pull: terms_of_pull,
}
each = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
cases = st.builds(
    Case, seeds, st.booleans(), st.integers(-6, 12), st.sampled_from([np.float32, np.float64]), st.booleans()
)


@each
@given(case=cases)
def test_pairs_of_sums_add_up_to_the_sum(kernel, case):
    found = kernel(case, np.arange(N_ROWS, dtype=np.int32))
    for pair, terms in zip(found, KERNELS[kernel](case), strict=True):
        columns = terms.reshape(N_ROWS, -1)
        expected = np.array([math.fsum(column) for column in columns.T])
        size = np.abs(columns).sum(axis=0)
        assert (np.abs(pair.sum(axis=0).ravel() - expected) <= 1e-12 * size).all()


@each
@given(case=cases)
def test_sums_do_not_depend_on_groups_and_order_of_rows(kernel, case):
    together = kernel(case, np.arange(N_ROWS, dtype=np.int32))
    order = case.rng.permutation(N_ROWS).astype(np.int32)
    places = np.sort(case.rng.integers(0, N_ROWS + 1, size=case.rng.integers(1, 12)))
    apart = [kernel(case, rows) for rows in np.split(order, places)]
    case.rng.shuffle(apart)
    for k, pair in enumerate(together):
        assert_array_equal(sum(found[k] for found in apart), pair)


def test_plain_sums_would_depend_on_the_order(rng):
    X = rng.standard_t(1, size=(N_ROWS, N_COLUMNS))
    assert (X.cumsum(axis=0)[-1] != X[::-1].cumsum(axis=0)[-1]).any()


@given(seed=seeds, exponent=st.integers(-100, 100), share=st.floats(0.5, 1.0))
def test_grid_rounds_terms_so_that_sums_up_to_the_bound_are_exact(seed, exponent, share):
    bound = share * 2.0**exponent
    grid = grid_for(bound)
    unit = np.spacing(grid)
    assert 2.0**50 <= bound / unit <= 2.0**52
    terms = np.append(np.random.default_rng(seed).uniform(-bound, bound, size=20), [-bound, bound])
    rounded = (terms + grid) - grid
    assert_array_equal(rounded % unit, 0)
    assert (np.abs(terms - rounded) <= unit / 2).all()


def test_grid_of_no_extent_leaves_zeros():
    assert grid_for(0.0) == 0
    assert_array_equal(grid_for(np.array([[0.0, 1.0]])), [[0.0, grid_for(1.0)]])


@given(n_rows=st.integers(1, 10**9), exponent=st.integers(-100, 100))
def test_second_grid_holds_what_the_first_leaves_of_all_rows(n_rows, exponent):
    bound = 2.0**exponent
    grid = grid_for(bound)
    second, left = grid * fine_for(n_rows), np.spacing(grid) / 2
    assert n_rows * left <= 2.0**52 * np.spacing(second)
    assert np.spacing(second) == np.spacing(second + left)
    assert n_rows * np.spacing(second) / 2 <= 2.0**-40 * bound


def look(case, rows, most=1 << 12, step=None):
    step = case.step / 3 if step is None else step
    grids = (grid_for(case.weight), grid_for(case.weight * case.diameter**2))
    cell_grid, values = grid_for(case.weight * case.reach), np.empty(len(rows))
    found = exact.look(
        case.X, rows, case.w, case.v, case.origin, step, most, case.center, case.fine, *grids, cell_grid, values
    )
    return *found, values


@given(case=cases)
def test_look_is_a_projection_with_bins_and_groups(case):
    rows = case.rng.permutation(N_ROWS)[: case.rng.integers(1, N_ROWS)].astype(np.int32)
    first, occurs, masses, sums, square, values = look(case, rows)
    expected = case.values(rows)
    assert_array_equal(values, expected)
    cell = np.floor(expected / (case.step / 3)).astype(np.int64) - first
    assert_array_equal(np.flatnonzero(occurs), np.unique(cell))
    out, by_group = np.zeros(masses.shape), np.zeros(sums.shape)
    grids = (grid_for(case.weight), grid_for(case.weight * case.diameter**2))
    binned = exact.bins(expected, rows, case.w, case.step / 3, cell, cell + 1, case.fine, *grids, out)
    exact.groups(case.X, rows, case.w, case.center, cell, case.fine, grid_for(case.weight * case.reach), by_group)
    assert_array_equal(square, binned)
    assert_array_equal(masses, out)
    assert_array_equal(sums, by_group)


def test_look_at_too_many_cells_returns_none_of_them():
    case = Case(0, True, 0, np.float64, False)
    rows = np.arange(N_ROWS, dtype=np.int32)
    values = case.values(rows)
    n_cells = int(np.floor(values.max() / 0.01) - np.floor(values.min() / 0.01)) + 1
    assert len(look(case, rows, most=n_cells, step=0.01)[1])
    assert not len(look(case, rows, most=n_cells - 1, step=0.01)[1])


@given(case=cases)
def test_rows_are_rounded_about_the_center(case):
    rows = case.rng.permutation(N_ROWS)[:50].astype(np.int32)
    scale, out = 1000.0 / case.reach, np.empty((50, N_COLUMNS))
    exact.rounded(case.X, rows, case.w, case.center, scale, out)
    assert_array_equal(out, naive.rounded_rows(case.X[rows], case.w[rows], case.center, scale))


@given(case=cases)
def test_extent_is_the_range_of_the_columns(case):
    rows = case.rng.permutation(N_ROWS)[:50].astype(np.int32)
    low, high = np.full(N_COLUMNS, np.inf), np.full(N_COLUMNS, -np.inf)
    assert not exact.extent(case.X, rows, low, high)
    assert_array_equal(low, case.X[rows].min(axis=0))
    assert_array_equal(high, case.X[rows].max(axis=0))
    case.X[rows[7], 1] = np.nan
    assert exact.extent(case.X, rows, low, high)
    assert not exact.extent(case.X, rows[8:], low, high)
