import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import naive

from ravine import _kernels


@pytest.mark.parametrize("seed", range(8))
def test_nearest_unimodal_distribution_agrees_with_naive(seed):
    rng = np.random.default_rng(seed)
    density, width = rng.exponential(size=12), rng.uniform(0.1, 1, 12)
    below = np.append(0.0, np.cumsum(density * width))
    below, modes = below / below[-1], np.array([0, 3, 7, 12])
    ours = _kernels.unimodal.nearest(density / below[-1], width, below, modes)
    assert_allclose(ours, naive.nearest_unimodal(density, width, below, modes), atol=1e-12)


def test_a_unimodal_distribution_is_its_own_nearest():
    density, width = np.array([1.0, 2.0, 4.0, 3.0, 1.0]), np.ones(5)
    below = np.append(0.0, np.cumsum(density)) / density.sum()
    assert_allclose(_kernels.unimodal.nearest(density, width, below, np.arange(6)), below)
