import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ravine.explain._format import plain_date, plain_number, roundest, roundest_date, share_text

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(NUMBERS, NUMBERS, st.booleans())
def test_a_round_number_is_in_its_range(one, other, is_whole):
    low, high = min(one, other), max(one, other)
    assume(low < high)
    found = roundest(low, high, low / 2 + high / 2, is_whole)
    assert low < found <= high
    assert float(plain_number(found)) == found


@given(st.integers(0, 4 * 10**15), st.integers(1, 10**14))
def test_a_round_moment_is_in_its_range(low, width):
    found = roundest_date(float(low), float(low + width), low + width / 2)
    assert low < found <= low + width
    assert np.datetime64(plain_date(found).replace(" ", "T"), "us").astype(np.int64) == found


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(math.inf, -math.inf, None), (3.0, math.inf, None), (-math.inf, 3.0, None), (19.0, 23.0, 20.0), (0.98, 1.2, 1.1)],
)
def test_ranges_by_hand(low, high, found):
    if low > high:
        low, high = high, low
    got = roundest(low, high, 1.0)
    assert low < got <= high
    assert found is None or got == found


@given(st.floats(0, 1))
def test_a_share_is_nothing_or_all_only_if_it_is(share):
    assert (share_text(share) == "0 %") == (share == 0)
    assert (share_text(share) == "100 %") == (share > 1 - 1e-11)
