import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine.prepare._cells import words_in
from ravine.prepare._number_text import read_numbers


def read(cells):
    words = words_in(pa.chunked_array([pa.array(cells, pa.string())]))
    found = read_numbers(words)
    return None if found is None else (words.spread(found.numbers), found)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["€1,234.50", "€ 12", "(12.50)", "-€3"], [1234.5, 12, -12.5, -3]),
        (["1.234,50", "12", "3,5"], [1234.5, 12, 3.5]),
        (["1.234.567", "12"], [1234567, 12]),
        (["1 234,5", "2\u00a0000", "3\u202f000,25"], [1234.5, 2000, 3000.25]),
        (["1'234.5", "12’000"], [1234.5, 12000]),
        (["12 %", "13%", " 7,5 % "], [12, 13, 7.5]),
        (["3.2 kg", "4 kg", "5"], [3.2, 4, 5]),
        (["R$ 1.234,00", "R$ 5,10"], [1234, 5.1]),
        (["12.50-", "3", "−4", "+5"], [-12.5, 3, -4, 5]),
        (["1e5", "2.5E-3"], [1e5, 2.5e-3]),
        ([".5", "1.", "0"], [0.5, 1, 0]),
        (["12 m2", "13 m2"], [12, 13]),
        (["4.23 /5", "2.5 /5", "3/5"], [4.23, 2.5, 3]),
        (["EUR 12", "15.3 EUR"], [12, 15.3]),
    ],
)
def test_numbers_are_read_in_the_format_of_their_column(cells, numbers):
    assert_allclose(read(cells)[0], numbers, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,234", "12,500", "3"], [1234, 12500, 3]),
        (["0,123", "0,456"], [0.123, 0.456]),
        (["1.234", "12.500", "999"], [1234, 12500, 999]),
        (["1.234", "12.500", "0.5"], [1.234, 12.5, 0.5]),
        (["1.234", "12.500"], [1.234, 12.5]),
    ],
)
def test_decimal_mark_is_decided_by_the_whole_column(cells, numbers):
    assert_array_equal(read(cells)[0], numbers)


@pytest.mark.parametrize("cell", ["", "NA", "n/a", "-", "null", "None", "?", "NaN", "  ", "#N/A", "\u00a0"])
def test_missing_words_are_gaps(cell):
    numbers, found = read(["1", "2", cell, cell.upper()])
    assert_array_equal(numbers, [1, 2, np.nan, np.nan])
    assert found.share == 1


@pytest.mark.parametrize("cells", [["C-004711", "C-004712"], ["abc"], ["12-34", "56-78"], ["10:30"], ["1,2,3"]])
def test_codes_and_words_are_no_numbers(cells):
    found = read(cells)
    assert found is None or found[1].share == 0


def test_zeros_in_front_make_codes():
    assert read(["00123", "45678"])[1].is_code
    assert not read(["0.5", "0", "10"])[1].is_code


def test_other_units_do_not_parse():
    numbers, found = read(["3 kg"] * 99 + ["3 g"])
    assert np.isnan(numbers[-1])
    assert found.share == pytest.approx(0.99)
    assert found.units == ("kg", "g")


@pytest.mark.parametrize("cell", ["1€50", "(12", "12)", "--3", "1..2", "€", "5+", "<3"])
def test_cells_that_only_look_like_numbers_are_gaps(cell):
    numbers, _ = read(["€1.50", "€2.50", cell])
    assert np.isnan(numbers[-1])
    assert_array_equal(numbers[:2], [1.5, 2.5])
