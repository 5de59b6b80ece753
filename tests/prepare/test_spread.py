import numpy as np
import pytest
from scipy.stats import kstest

from ravine.prepare._spread import bits_of, share_at, spread_numbers, thresholds


def drawn(n=20_000, shares=(0.5, 0.3, 0.15, 0.05, 0.0), seed=0, gaps=0.0):
    r = np.random.default_rng(seed)
    place = r.choice(len(shares), n, p=shares)
    place[r.random(n) < gaps] = len(shares)
    bits = bits_of([r.normal(size=n)], [place], n)
    return place, spread_numbers(place, bits, 0, shares, is_boolean=False)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_category_alone_is_independent_normal_noise(gaps):
    _, numbers = drawn(gaps=gaps)
    assert numbers.shape == (20_000, 3)
    for column in (*numbers.T, (numbers @ [1, 1, 1]) / np.sqrt(3), (numbers @ [1, -2, 1]) / np.sqrt(6)):
        assert kstest(column, "norm").pvalue > 0.001
    assert np.abs(np.corrcoef(numbers.T) - np.eye(3)).max() < 0.03


def test_number_exceeds_its_threshold_where_the_row_has_the_level():
    place, numbers = drawn()
    assert numbers[place == 0, 0].min() > 0
    assert numbers[place > 0, 0].max() < 0
    later = place >= 1
    assert numbers[place == 1, 1].min() > numbers[later & (place != 1), 1].max()


def test_boolean_has_one_number():
    assert thresholds((0.7, 0.3, 0.0), is_boolean=True) == [(1, 0.3)]
    place = np.array([0, 1, 3])
    numbers = spread_numbers(place, np.arange(3, dtype=np.uint64), 0, (0.7, 0.3, 0.0), is_boolean=True)
    assert numbers.shape == (3, 1)
    assert numbers[1, 0] > numbers[0, 0]


def test_rare_levels_leave_a_number_to_every_level():
    assert [level for level, _ in thresholds((0.5, 0.3, 0.2), is_boolean=False)] == [0, 1]


def test_mean_of_the_numbers_gives_the_share_of_the_level():
    place, numbers = drawn()
    some = np.concatenate([np.flatnonzero(place == 0)[:3000], np.flatnonzero(place > 0)[:1000]])
    assert share_at(numbers[some, 0].mean(), 0.5) == pytest.approx(0.75, abs=0.02)


def test_bits_depend_on_each_cell_of_the_row_only():
    cells, places = np.array([1.0, 1.0, 2.0, np.nan, -0.0, 0.0]), np.array([0, 1, 0, 0, 0, 0])
    bits = bits_of([cells], [places], 6)
    assert len(set(bits.tolist())) == 5
    assert bits[4] == bits[5]
    assert bits_of([cells[2:3]], [places[2:3]], 1)[0] == bits[2]
