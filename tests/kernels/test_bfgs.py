import numpy as np
from numpy.testing import assert_allclose
from tests import naive

from ravine import _kernels


def test_product_agrees_with_the_inverse_hessian_as_a_matrix(rng):
    root = rng.normal(size=(5, 5))
    hessian = root @ root.T + np.eye(5)
    steps = rng.normal(size=(4, 5))
    changes, g = steps @ hessian, rng.normal(size=5)
    for n in range(5):
        ours = _kernels.bfgs.inverse_hessian_times(g, steps, changes, n)
        assert_allclose(ours, naive.bfgs_inverse_hessian(steps[:n], changes[:n]) @ g, rtol=1e-9)
