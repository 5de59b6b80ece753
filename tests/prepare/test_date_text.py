import datetime

import numpy as np
import pyarrow as pa
import pytest

from ravine.prepare._cells import words_in
from ravine.prepare._codec import as_dates
from ravine.prepare._date_text import read_dates


def read(cells):
    words = words_in(pa.chunked_array([pa.array(cells, pa.string())]))
    found = read_dates(words)
    return None if found is None else (words.spread(found.days), found)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2024-03-01", "2024-03-15"], "2024-03-01"),
        (["01.03.2024", "15.03.2024"], "2024-03-01"),
        (["03/01/2024", "03/15/2024"], "2024-03-01"),
        (["01/03/2024", "15/03/2024"], "2024-03-01"),
        (["1 Mar 2024", "2 Okt 2024"], "2024-03-01"),
        (["01-Mar-24", "02-Feb-99"], "2024-03-01"),
        (["March 1, 2024", "May 2nd, 2024"], "2024-03-01"),
        (["20240301", "20241231"], "2024-03-01"),
        (["2024-03", "2024-04"], "2024-03-01"),
        (["2024-03-01T00:00:00Z", "2024-03-01T02:00:00+02:00"], "2024-03-01"),
    ],
)
def test_common_formats_are_read(cells, first):
    days, found = read(cells)
    assert found.share == 1
    assert str(as_dates(days[:1], has_time=False)[0]) == first


def test_same_day_of_every_month_decides_the_order():
    assert read(["01/03/2024", "01/04/2024"])[1].format == "dmy"
    assert read(["03/01/2024", "04/01/2024"])[1].format == "mdy"


def test_order_that_no_cell_decides_is_a_guess():
    _, found = read(["01/02/2024", "03/04/2024"])
    assert found.is_guess
    assert found.format == "mdy"
    assert read(["01.02.2024", "03.04.2024"])[1].format == "dmy"


@pytest.mark.parametrize(
    "cell", ["2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "2024-01-01 25:00"]
)
def test_days_that_do_not_exist_are_gaps(cell):
    days, _ = read(["2024-01-01", cell])
    assert np.isnan(days[1])


def test_days_agree_with_the_calendar_of_python():
    dates = [datetime.date(1900, 1, 1) + datetime.timedelta(days=37 * i) for i in range(2000)]
    days, _ = read([date.isoformat() for date in dates])
    assert days.tolist() == [(date - datetime.date(1970, 1, 1)).days for date in dates]


def test_times_are_fractions_of_days():
    days, _ = read(["2024-03-01 12:00", "2024-03-01 18:00:00", "2024-03-01 06:00 PM", "2024-03-01 12:00 AM"])
    assert (days - days[3]).tolist() == [0.5, 0.75, 0.75, 0.0]


def test_words_are_no_dates():
    assert read(["hello", "12 apples"]) is None
