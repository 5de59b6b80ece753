import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from ravine._kernels import elementary
from ravine._kernels._compile import reduction

ULP = np.finfo(np.float64).eps
sizes = st.integers(0, 40)


def of(function, x):
    out = np.empty_like(x)
    function(x, np.empty_like(x), out)
    return out


@given(sizes.flatmap(lambda n: arrays(np.float64, n, elements=st.floats(np.finfo(np.float64).tiny, 1e308))))
def test_logarithms_agree_with_numpy(x):
    assert_allclose(of(elementary.log, x), np.log(x), rtol=2 * ULP)


@given(sizes.flatmap(lambda n: arrays(np.float64, n, elements=st.floats(-708, 700))))
def test_exponentials_agree_with_numpy(x):
    assert_allclose(of(elementary.exp, x), np.exp(x), rtol=2 * ULP)


def test_logarithms_near_one_keep_their_digits():
    x = 1 + np.concatenate([np.linspace(-0.3, 0.5, 101), 2.0 ** -np.arange(20, 53), -(2.0 ** -np.arange(20, 54))])
    assert_allclose(of(elementary.log, x), np.log(x), rtol=2 * ULP)


def test_exponentials_of_very_small_numbers_are_zero():
    assert_array_equal(of(elementary.exp, np.array([-708.5, -1e5, -1e300, -np.inf])), 0)


def test_sums_are_not_reordered_in_a_kernel_that_a_reduction_calls():
    """The order of the sums in `exp` is its meaning, and which call was compiled first must not decide on it."""

    @reduction
    def call(x, scratch, out):
        elementary.exp(x, scratch, out)

    x = np.linspace(-3, 3, 50)
    assert_allclose(of(call, x), np.exp(x), rtol=2 * ULP)
