import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests import naive
from tests.strategies import seeds

from ravine import kernels


@given(seeds, st.floats(-2, 2), st.floats(0, 1))
def test_derivatives_agree_with_finite_differences(seed, b, bound):
    rng = np.random.default_rng(seed)
    positions, mass = rng.normal(size=8), rng.uniform(size=8)
    arguments = (positions, mass, 0.4, bound, 2.0, 1.5)
    first, second = kernels.penalty.derivatives_at(b, *arguments)
    f = [naive.penalised(b + step, *arguments) for step in (1e-5, 0, -1e-5)]
    if abs(abs(b) - bound) > 1e-3 and abs(b) > 1e-3:  # away from the kinks
        assert_allclose(first, (f[0] - f[2]) / 2e-5, rtol=1e-4, atol=1e-5)
        slopes = [kernels.penalty.derivatives_at(b + step, *arguments)[0] for step in (1e-6, -1e-6)]
        assert_allclose(second, (slopes[0] - slopes[1]) / 2e-6, rtol=1e-4, atol=1e-4)


@given(seeds, st.floats(0, 1))
def test_refined_minimum_is_no_worse_than_a_fine_grid(seed, bound):
    rng = np.random.default_rng(seed)
    positions, mass = rng.normal(size=8), rng.uniform(size=8)
    arguments = (positions, mass, 0.4, bound, 2.0, 1.5)
    grid = np.linspace(-3, 3, 121)
    j = int(np.argmin([naive.penalised(b, *arguments) for b in grid]))
    j = min(max(j, 1), 119)
    b = kernels.penalty.refine(grid[j - 1], grid[j + 1], *arguments)
    fine = min(naive.penalised(x, *arguments) for x in np.linspace(grid[j - 1], grid[j + 1], 500))
    assert naive.penalised(b, *arguments) <= fine + 1e-9
