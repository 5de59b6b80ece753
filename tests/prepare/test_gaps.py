import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from ravine import IncrementalMDH, load, save
from ravine.prepare import TableEncoder
from ravine.prepare._gaps import MOST_GAPS, RIDGE, Gaps


@pytest.fixture
def rows(rng):
    common = rng.normal(size=(500, 1))
    return np.column_stack([common[:, 0], common[:, 0] + 0.1 * rng.normal(size=500), rng.normal(size=500)])


def test_a_gap_gets_its_mean_given_the_other_numbers_of_the_row(rows):
    is_gap = np.zeros(rows.shape, dtype=bool)
    gaps = Gaps.of(rows, is_gap)
    assert_allclose(gaps.covariance, np.cov(rows.T, bias=True) + RIDGE * np.eye(3))
    is_gap[:4, 0] = is_gap[3, 1] = True
    found = gaps.filled(rows, is_gap)
    slope = np.linalg.solve(gaps.covariance[1:, 1:], gaps.covariance[1:, 0])
    assert_allclose(found[:3, 0], gaps.mean[0] + (rows[:3, 1:] - gaps.mean[1:]) @ slope)
    slope = gaps.covariance[2, :2] / gaps.covariance[2, 2]
    assert_allclose(found[3, :2], gaps.mean[:2] + (rows[3, 2] - gaps.mean[2]) * slope)
    assert_array_equal(found[4:], rows[4:])
    assert np.abs(found[:3, 0] - rows[:3, 0]).max() < 0.5


def test_gaps_are_learned_around(rows, rng):
    is_gap = rng.random(rows.shape) < 0.2
    holed = np.where(is_gap, 0.0, rows)
    whole = Gaps.of(rows, np.zeros_like(is_gap)).covariance[0, 1]
    found = Gaps.of(holed, is_gap).covariance[0, 1]
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
    for covariance in (-state["gaps"]["covariance"], np.triu(state["gaps"]["covariance"])):
        broken = {**state, "gaps": {**state["gaps"], "covariance": covariance}}
        with pytest.raises(ValueError, match="covariance"):
            encoder._schema.checked(broken, encoder._sizes())
