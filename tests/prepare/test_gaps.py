import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.pipeline import make_pipeline

from ravine import IncrementalMDH, load, save
from ravine.prepare import TableEncoder
from ravine.prepare._gaps import MOST_GAPS, N_COMPONENTS, PRIOR_ROWS, RIDGE, ROWS_PER_COLUMN, Gaps


@pytest.fixture
def rows(rng):
    common = rng.normal(size=(500, 1))
    return np.column_stack([common[:, 0], common[:, 0] + 0.1 * rng.normal(size=500), rng.normal(size=500)])


def conditional_mean(gaps, row, known, gap):
    """The obvious way: densities of the known cells by scipy, and the textbook formula for each component."""
    density = [
        weight * multivariate_normal(mean[known], covariance[np.ix_(known, known)]).pdf(row[known])
        for weight, mean, covariance in zip(gaps.weight, gaps.mean, gaps.covariance, strict=True)
    ]
    means = [
        mean[gap]
        + covariance[np.ix_(gap, known)] @ np.linalg.inv(covariance[np.ix_(known, known)]) @ (row[known] - mean[known])
        for mean, covariance in zip(gaps.mean, gaps.covariance, strict=True)
    ]
    return np.average(means, axis=0, weights=density)


def test_a_gap_gets_its_mean_given_the_other_numbers_of_the_row(rows):
    is_gap = np.zeros(rows.shape, dtype=bool)
    gaps = Gaps.of(rows, is_gap)
    assert len(gaps.weight) == min(N_COMPONENTS, 500 // (3 * ROWS_PER_COLUMN)) > 1
    assert_allclose(gaps.weight.sum(), 1)
    is_gap[:4, 0] = is_gap[3, 1] = True
    found = gaps.filled(rows, is_gap)
    for i in range(3):
        assert_allclose(found[i, [0]], conditional_mean(gaps, rows[i], [1, 2], [0]))
    assert_allclose(found[3, :2], conditional_mean(gaps, rows[3], [2], [0, 1]))
    assert_array_equal(found[4:], rows[4:])
    assert np.abs(found[:3, 0] - rows[:3, 0]).max() < 0.5


def test_few_rows_are_described_by_one_normal_distribution(rows):
    few = rows[: 2 * ROWS_PER_COLUMN]
    gaps = Gaps.of(few, np.zeros(few.shape, dtype=bool))
    assert_allclose(gaps.mean, few.mean(axis=0, keepdims=True))
    n, prior = len(few), PRIOR_ROWS + 3
    scatter = n * np.cov(few.T, bias=True)
    assert_allclose(gaps.covariance[0], (scatter + prior * (scatter / n + RIDGE * np.eye(3))) / (n + prior))


def test_a_gap_in_a_row_of_a_cluster_is_filled_from_that_cluster(rng):
    label = np.arange(1200) % 3
    corner = np.array([[0.0, 0.0, 0.0], [8.0, 0.0, 8.0], [8.0, 8.0, 0.0]])  # columns 0 and 1 tell column 2
    rows = corner[label] + rng.normal(size=(1200, 3))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    is_gap = np.zeros(rows.shape, dtype=bool)
    is_gap[::5, 2] = True
    holed = np.where(is_gap, 0.0, rows)
    found = Gaps.of(holed, is_gap).filled(holed, is_gap)[is_gap]
    one = Gaps.of(holed[:60], is_gap[:60])  # one normal distribution of all rows
    assert len(one.weight) == 1
    error, error_of_one = (np.abs(each - rows[is_gap]).mean() for each in (found, one.filled(holed, is_gap)[is_gap]))
    assert error < 0.22  # as far as rows of one cluster are apart
    assert error < 0.6 * error_of_one


def _covariance(gaps):
    """Covariance of the first two columns of the whole mixture."""
    apart = gaps.mean - gaps.weight @ gaps.mean
    return gaps.weight @ (gaps.covariance[:, 0, 1] + apart[:, 0] * apart[:, 1])


def test_gaps_are_learned_around(rows, rng):
    is_gap = rng.random(rows.shape) < 0.2
    holed = np.where(is_gap, 0.0, rows)
    whole, found = (_covariance(Gaps.of(some, gaps)) for some, gaps in ((rows, np.zeros_like(is_gap)), (holed, is_gap)))
    assert abs(found - whole) < 0.15
    assert abs((holed[:, 0] * holed[:, 1]).mean() - whole) > 0.25  # medians in the gaps


def test_a_row_is_the_same_in_every_batch(rows, rng):
    is_gap = rng.random(rows.shape) < 0.3
    gaps = Gaps.of(rows, is_gap)
    whole = gaps.filled(rows, is_gap)
    parts = [gaps.filled(rows[i : i + 7], is_gap[i : i + 7]) for i in range(0, 500, 7)]
    assert_array_equal(np.concatenate(parts), whole)


def test_rows_with_many_gaps_and_wide_tables_keep_medians(rng):
    rows, is_gap = rng.normal(size=(300, 9)), np.zeros((300, 9), dtype=bool)
    is_gap[0, : MOST_GAPS + 1] = True
    assert_array_equal(Gaps.of(rows, is_gap).filled(rows, is_gap), rows)
    assert Gaps.of(rows[:, :1], is_gap[:, :1]) is None
    assert Gaps.of(rng.normal(size=(300, 201)), np.zeros((300, 201), dtype=bool)) is None


def test_encoder_estimates_gaps_and_a_saved_one_does_the_same(rows, tmp_path):
    holed = rows.copy()
    holed[::10, 0] = np.nan
    pipe = make_pipeline(TableEncoder(), IncrementalMDH()).fit(holed)
    found = pipe[0].transform(holed)
    assert np.corrcoef(found[::10, 0], rows[::10, 0])[0, 1] > 0.95
    save(pipe, tmp_path / "pipe.ravine")
    assert_array_equal(load(tmp_path / "pipe.ravine")[0].transform(holed), found)


def test_a_file_with_a_broken_covariance_is_refused(rows):
    encoder = TableEncoder().fit(rows)
    state = encoder._state(resume=False)
    for covariance in (-state["gaps"]["covariance"], np.array([np.triu(one) for one in state["gaps"]["covariance"]])):
        broken = {**state, "gaps": {**state["gaps"], "covariance": covariance}}
        with pytest.raises(ValueError, match="covariance"):
            encoder._schema.checked(broken, encoder._sizes())


def test_a_cell_far_outside_is_estimated_like_a_gap(rows):
    wrong, holed = rows.copy(), rows.copy()
    wrong[::50, 0], holed[::50, 0] = 1e4, np.nan
    encoder = TableEncoder().fit(wrong)
    assert "10 cells are far outside and estimated" in encoder.columns_[0].reason
    found = encoder.transform(wrong)
    assert_array_equal(found, encoder.transform(holed))
    assert np.corrcoef(found[:, 0], rows[:, 0])[0, 1] > 0.98


def test_a_cell_far_outside_is_moved_in_if_there_is_nothing_to_estimate_it_from(rng):
    cells = rng.normal(size=(300, 1))
    cells[7] = 1e4
    found = TableEncoder().fit_transform(cells)[:, 0]
    assert np.sort(found)[-10] < found[7] <= found.max()
